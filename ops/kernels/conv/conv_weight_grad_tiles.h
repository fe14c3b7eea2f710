/* The loops of conv_weight_grad.c for one width of vectors and one type. Included once for each;
 * see simd_foreach_real.h. */
#define LANES (SIMD_BYTES / (int)sizeof(SIMD_REAL))

typedef SIMD_REAL SIMD_NAME(vec)
    __attribute__((vector_size(SIMD_BYTES), aligned(sizeof(SIMD_REAL)), may_alias));
typedef SIMD_REAL SIMD_NAME(acc) __attribute__((vector_size(SIMD_BYTES)));

/* Adds the products of all positions to the sums of `rows` terms times `vecs` vectors of columns,
 * which are constants at each call. */
SIMD_TARGET static inline __attribute__((always_inline)) void SIMD_NAME(add_positions)(
    int rows, int vecs, const grad_tile_t *at) {
  SIMD_NAME(acc) sums[8][4] = {0};
  SIMD_REAL *to = (SIMD_REAL *)at->sums;
  int64_t terms[8];
#pragma GCC unroll 8
  for (int r = 0; r < rows; r++) terms[r] = at->k_offsets[r];
  for (const grad_position_t *position = at->positions, *end = position + at->count; position < end;
       position++) {
    const SIMD_REAL *from = position->from;
    const SIMD_REAL *results = (const SIMD_REAL *)at->results + position->result;
    SIMD_NAME(acc) line[4];
#pragma GCC unroll 4
    for (int v = 0; v < vecs; v++) line[v] = ((const SIMD_NAME(vec) *)results)[v];
#pragma GCC unroll 8
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 4
      for (int v = 0; v < vecs; v++) sums[r][v] += from[terms[r]] * line[v];
  }
#pragma GCC unroll 8
  for (int r = 0; r < rows; r++, to += at->sums_step)
#pragma GCC unroll 4
    for (int v = 0; v < vecs; v++) ((SIMD_NAME(vec) *)to)[v] += sums[r][v];
}

#define TILES(ROWS, VECS)                                                         \
  SIMD_TARGET static void SIMD_NAME(add_##ROWS##x##VECS)(const grad_tile_t *at) { \
    SIMD_NAME(add_positions)(ROWS, VECS, at);                                     \
  }
#define ADDS_OF(VECS)                                                        \
  SIMD_NAME(add_1x##VECS), SIMD_NAME(add_2x##VECS), SIMD_NAME(add_3x##VECS), \
      SIMD_NAME(add_4x##VECS), SIMD_NAME(add_5x##VECS), SIMD_NAME(add_6x##VECS)
#define TILES_OF(VECS) \
  TILES(1, VECS) TILES(2, VECS) TILES(3, VECS) TILES(4, VECS) TILES(5, VECS) TILES(6, VECS)
TILES_OF(1)
TILES_OF(2)
#if SIMD_SUMS == 16
TILES_OF(3)
TILES_OF(4)
TILES(7, 1)
TILES(7, 2)
TILES(8, 1)
TILES(8, 2)

SIMD_TARGET static void SIMD_NAME(add_tile)(const grad_tile_t *at) {
  static void (*const adds[4][8])(const grad_tile_t *) = {
      {ADDS_OF(1), SIMD_NAME(add_7x1), SIMD_NAME(add_8x1)},
      {ADDS_OF(2), SIMD_NAME(add_7x2), SIMD_NAME(add_8x2)},
      {ADDS_OF(3)},
      {ADDS_OF(4)}};
  adds[at->vectors - 1][at->rows - 1](at);
}
#else

SIMD_TARGET static void SIMD_NAME(add_tile)(const grad_tile_t *at) {
  static void (*const adds[2][6])(const grad_tile_t *) = {{ADDS_OF(1)}, {ADDS_OF(2)}};
  adds[at->vectors - 1][at->rows - 1](at);
}
#endif
#undef TILES_OF
#undef ADDS_OF
#undef TILES
#undef LANES
