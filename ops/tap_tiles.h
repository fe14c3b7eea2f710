/* The loops of native_convolution_taps.c for one width of vectors and one type. Included once for each; see
 * each_width.h. */
#define LANES (TILES_BYTES / (int)sizeof(TILES_REAL))
#define ROWS (TILES_SUMS / 2)
#define WIDTH (2 * LANES)
#define TILES_INLINE TILES_TARGET static inline __attribute__((always_inline))

typedef TILES_REAL TILES_NAME(vec) __attribute__((vector_size(TILES_BYTES), aligned(sizeof(TILES_REAL)), may_alias));
typedef TILES_REAL TILES_NAME(acc) __attribute__((vector_size(TILES_BYTES)));

/* ROWS results times `vecs` vectors of columns, over some terms of some taps. */
TILES_INLINE void TILES_NAME(sum_tile)(int vecs, const tap_tile_t *at, const void *const *places, const TILES_REAL *b,
                                       void *const *results, int64_t column) {
  TILES_NAME(acc) sums[ROWS][2] = {0};
#pragma GCC unroll 8
  for (int r = 0; r < ROWS; r++)
#pragma GCC unroll 2
    for (int v = 0; v < vecs; v++) __builtin_prefetch((TILES_REAL *)results[r] + column + v * LANES, 1);
  for (int64_t t = 0; t < at->taps; t++, places += ROWS, b += at->step) {
    const TILES_REAL *a[ROWS], *weights = b;
#pragma GCC unroll 8
    for (int r = 0; r < ROWS; r++) a[r] = (const TILES_REAL *)places[r] + at->first;
    for (int64_t p = 0; p < at->count; p++, weights += WIDTH) {
      TILES_NAME(acc) line[2];
#pragma GCC unroll 2
      for (int v = 0; v < vecs; v++) line[v] = ((const TILES_NAME(vec) *)weights)[v];
#pragma GCC unroll 8
      for (int r = 0; r < ROWS; r++) {
        TILES_REAL factor = a[r][p];
#pragma GCC unroll 2
        for (int v = 0; v < vecs; v++) sums[r][v] += factor * line[v];
      }
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < ROWS; r++)
#pragma GCC unroll 2
    for (int v = 0; v < vecs; v++) {
      TILES_NAME(vec) *to = (TILES_NAME(vec) *)((TILES_REAL *)results[r] + column) + v;
      if (at->adds) sums[r][v] += *to;
      *to = sums[r][v];
    }
}

TILES_TARGET static void TILES_NAME(tile1)(const tap_tile_t *at, const void *const *places, const void *b,
                                           void *const *results, int64_t column) {
  TILES_NAME(sum_tile)(1, at, places, b, results, column);
}
TILES_TARGET static void TILES_NAME(tile2)(const tap_tile_t *at, const void *const *places, const void *b,
                                           void *const *results, int64_t column) {
  TILES_NAME(sum_tile)(2, at, places, b, results, column);
}

/* Weights of one strip of columns and one tap, as tiles read them; the columns that there are not become 0. */
TILES_TARGET static void TILES_NAME(pack)(const tap_weights_t *w, const void *from_, void *to_) {
  const TILES_REAL *from = from_;
  TILES_REAL *to = to_;
  if (w->columns < WIDTH) memset(to, 0, (size_t)(w->terms * WIDTH) * sizeof *to);
  if (w->column_step == 1) {
    for (int64_t p = 0; p < w->terms; p++)
      memcpy(to + p * WIDTH, from + p * w->term_step, (size_t)w->columns * sizeof *to);
    return;
  }
  for (int64_t j = 0; j < w->columns; j++)
    for (int64_t p = 0; p < w->terms; p++) to[p * WIDTH + j] = from[p * w->term_step + j * w->column_step];
}

#undef LANES
#undef ROWS
#undef WIDTH
#undef TILES_INLINE
