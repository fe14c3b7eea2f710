/* The loops of native_convolution_gradient.c for one width of vectors and one type. Included once for each; see
 * each_width.h. */
#define LANES (TILES_BYTES / (int)sizeof(TILES_REAL))

typedef TILES_REAL TILES_NAME(vec) __attribute__((vector_size(TILES_BYTES), aligned(sizeof(TILES_REAL)), may_alias));
typedef TILES_REAL TILES_NAME(acc) __attribute__((vector_size(TILES_BYTES)));

/* Adds to the sums of `rows` terms times `vecs` vectors of columns, constants where this is called, what all places
 * give. */
TILES_TARGET static inline __attribute__((always_inline)) void TILES_NAME(add_places)(int rows, int vecs,
                                                                                      const gradient_tile_t *at) {
  TILES_NAME(acc) sums[8][4] = {0};
  TILES_REAL *to = (TILES_REAL *)at->sums;
  int64_t terms[8];
#pragma GCC unroll 8
  for (int r = 0; r < rows; r++) terms[r] = at->terms[r];
  for (const gradient_place_t *place = at->places, *end = place + at->count; place < end; place++) {
    const TILES_REAL *from = place->from, *results = (const TILES_REAL *)at->results + place->result;
    TILES_NAME(acc) line[4];
#pragma GCC unroll 4
    for (int v = 0; v < vecs; v++) line[v] = ((const TILES_NAME(vec) *)results)[v];
#pragma GCC unroll 8
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 4
      for (int v = 0; v < vecs; v++) sums[r][v] += from[terms[r]] * line[v];
  }
#pragma GCC unroll 8
  for (int r = 0; r < rows; r++, to += at->sums_step)
#pragma GCC unroll 4
    for (int v = 0; v < vecs; v++) ((TILES_NAME(vec) *)to)[v] += sums[r][v];
}

#define TILES(ROWS, VECS)                                                                    \
  TILES_TARGET static void TILES_NAME(add_##ROWS##x##VECS)(const gradient_tile_t *at) {      \
    TILES_NAME(add_places)(ROWS, VECS, at);                                                  \
  }
#if TILES_SUMS == 16
TILES(8, 1)
TILES(8, 2)
TILES(6, 1)
TILES(6, 2)
TILES(6, 3)
TILES(6, 4)

TILES_TARGET static void TILES_NAME(add_tile)(const gradient_tile_t *at) {
  static void (*const adds[2][4])(const gradient_tile_t *) = {
      {TILES_NAME(add_8x1), TILES_NAME(add_8x2)},
      {TILES_NAME(add_6x1), TILES_NAME(add_6x2), TILES_NAME(add_6x3), TILES_NAME(add_6x4)}};
  adds[at->rows == 6][at->vectors - 1](at);
}
#else
TILES(4, 1)
TILES(4, 2)

TILES_TARGET static void TILES_NAME(add_tile)(const gradient_tile_t *at) {
  (at->vectors == 1 ? TILES_NAME(add_4x1) : TILES_NAME(add_4x2))(at);
}
#endif
#undef TILES
#undef LANES
