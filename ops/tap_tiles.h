/* The loops of native_convolution_taps.c for one width of vectors and one type. Included once for each; see
 * each_width.h. */
#define LANES (TILES_BYTES / (int)sizeof(TILES_REAL))
#define TILES_INLINE TILES_TARGET static inline __attribute__((always_inline))

typedef TILES_REAL TILES_NAME(vec) __attribute__((vector_size(TILES_BYTES), aligned(sizeof(TILES_REAL)), may_alias));
typedef TILES_REAL TILES_NAME(acc) __attribute__((vector_size(TILES_BYTES)));

/* `rows` results times `vecs` vectors of columns: constants where this is called. */
TILES_INLINE void TILES_NAME(sum_tile)(int rows, int vecs, const tap_strip_t *at, const int32_t *live,
                                       const void *const *places, void *const *results) {
  TILES_NAME(acc) sums[8][4] = {0};
#pragma GCC unroll 8
  for (int r = 0; r < rows; r++)
#pragma GCC unroll 4
    for (int v = 0; v < vecs; v++) __builtin_prefetch((TILES_REAL *)results[r] + at->column + v * LANES, 1);
  for (int32_t t = 1; t <= live[0]; t++, places += rows) {
    const TILES_REAL *a[8], *weights = (const TILES_REAL *)at->weights + live[t] * at->tap_step;
#pragma GCC unroll 8
    for (int r = 0; r < rows; r++) a[r] = (const TILES_REAL *)places[r] + at->first;
    for (int64_t p = 0; p < at->count; p++, weights += at->width) {
      TILES_NAME(acc) line[4];
#pragma GCC unroll 4
      for (int v = 0; v < vecs; v++) line[v] = ((const TILES_NAME(vec) *)weights)[v];
#pragma GCC unroll 8
      for (int r = 0; r < rows; r++) {
        TILES_REAL factor = a[r][p];
#pragma GCC unroll 4
        for (int v = 0; v < vecs; v++) sums[r][v] += factor * line[v];
      }
    }
  }
  if (at->adds) {
#pragma GCC unroll 8
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 4
      for (int v = 0; v < vecs; v++) sums[r][v] += ((TILES_NAME(vec) *)((TILES_REAL *)results[r] + at->column))[v];
  }
#pragma GCC unroll 8
  for (int r = 0; r < rows; r++)
#pragma GCC unroll 4
    for (int v = 0; v < vecs; v++) ((TILES_NAME(vec) *)((TILES_REAL *)results[r] + at->column))[v] = sums[r][v];
}

#define TILES(ROWS, VECS)                                                                                      \
  TILES_TARGET static void TILES_NAME(sum_##ROWS##x##VECS)(const tap_strip_t *at) {                            \
    for (int64_t i = 0; i < at->tiles; i++)                                                                    \
      TILES_NAME(sum_tile)(ROWS, VECS, at, at->live + i * (at->taps + 1), at->places + i * at->taps * ROWS, \
                           at->results + i * ROWS);                                                            \
  }
#if TILES_SUMS == 16
TILES(8, 1)
TILES(8, 2)
TILES(6, 1)
TILES(6, 2)
TILES(6, 3)
TILES(6, 4)

TILES_TARGET static void TILES_NAME(sum_strip)(const tap_strip_t *at) {
  static void (*const sums[2][4])(const tap_strip_t *) = {
      {TILES_NAME(sum_8x1), TILES_NAME(sum_8x2)},
      {TILES_NAME(sum_6x1), TILES_NAME(sum_6x2), TILES_NAME(sum_6x3), TILES_NAME(sum_6x4)}};
  sums[at->rows == 6][at->vectors - 1](at);
}
#else
TILES(4, 1)
TILES(4, 2)

TILES_TARGET static void TILES_NAME(sum_strip)(const tap_strip_t *at) {
  (at->vectors == 1 ? TILES_NAME(sum_4x1) : TILES_NAME(sum_4x2))(at);
}
#endif
#undef TILES

/* Weights of one strip of columns and one tap, as tiles read them; the columns that there are not become 0. */
TILES_TARGET static void TILES_NAME(pack)(const tap_weights_t *w, const void *from_, void *to_) {
  const TILES_REAL *from = from_;
  TILES_REAL *to = to_;
  if (w->columns < w->width) memset(to, 0, (size_t)(w->terms * w->width) * sizeof *to);
  if (w->column_step == 1) {
    for (int64_t p = 0; p < w->terms; p++)
      memcpy(to + p * w->width, from + p * w->term_step, (size_t)w->columns * sizeof *to);
    return;
  }
  for (int64_t j = 0; j < w->columns; j++)
    for (int64_t p = 0; p < w->terms; p++) to[p * w->width + j] = from[p * w->term_step + j * w->column_step];
}

#undef LANES
#undef TILES_INLINE
