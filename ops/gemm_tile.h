/* A tile of a product, in registers. Included once for every width of vectors and type of elements, with
 *   TILES_NAME(x)   the name of function x in this instance
 *   TILES_TARGET    attributes of the functions
 *   TILES_REAL      float or double
 *   TILES_BYTES     of a vector
 *   TILES_SUMS      vectors of sums that the registers hold: 8 or 16 */
#include "ops/gemm.h"

#ifndef PREFETCH_ROWS
#define PREFETCH_ROWS 24 /* rows of b, ahead of their use: as long as a line takes from the last cache */
#endif
#define LANES (TILES_BYTES / (int)sizeof(TILES_REAL))
#define TILES_INLINE TILES_TARGET static inline __attribute__((always_inline))

typedef TILES_REAL TILES_NAME(vec) __attribute__((vector_size(TILES_BYTES), aligned(sizeof(TILES_REAL)), may_alias));
typedef TILES_REAL TILES_NAME(acc) __attribute__((vector_size(TILES_BYTES)));

/* Where the operands of a tile lie. Steps in reals. */
typedef struct TILES_NAME(place) {
  int64_t k, a_row, a_col, b_row, c_row;
} TILES_NAME(place_t);

/* c[rows][vecs * LANES] = a b, or what the mode says: rows and vecs are constants where this is called. `ahead`: 0, or
 * how many elements past those that are used b is asked for. `keep`: NULL, or where b is packed on the way, for the
 * next rows of a. */
TILES_INLINE void TILES_NAME(tile_keeping)(int rows, int vecs, gemm_mode_t mode, const TILES_NAME(place_t) * at,
                                           const TILES_REAL *a, const TILES_REAL *b, int64_t ahead, TILES_REAL *keep,
                                           TILES_REAL *c) {
  TILES_NAME(acc) sums[8][16] = {0};
#pragma GCC unroll 8
  for (int r = 0; r < rows; r++)
#pragma GCC unroll 16
    for (int v = 0; v < vecs; v++) __builtin_prefetch(c + r * at->c_row + v * LANES, 1);
  for (int64_t p = 0; p < at->k; p++, a += at->a_col, b += at->b_row) {
    TILES_NAME(acc) line[16];
#pragma GCC unroll 16
    for (int v = 0; v < vecs; v++) line[v] = ((const TILES_NAME(vec) *)b)[v];
    if (ahead)
#pragma GCC unroll 16
      for (int v = 0; v < vecs; v++) __builtin_prefetch(b + ahead + v * LANES);
    if (keep) {
#pragma GCC unroll 16
      for (int v = 0; v < vecs; v++) {
        __builtin_prefetch(b + PREFETCH_ROWS * at->b_row + v * LANES);
        ((TILES_NAME(vec) *)keep)[v] = line[v];
      }
      keep += vecs * LANES;
    }
#pragma GCC unroll 8
    for (int r = 0; r < rows; r++) {
      TILES_REAL factor = a[r * at->a_row];
#pragma GCC unroll 16
      for (int v = 0; v < vecs; v++) sums[r][v] += factor * line[v];
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < rows; r++)
#pragma GCC unroll 16
    for (int v = 0; v < vecs; v++) {
      TILES_NAME(vec) *to = (TILES_NAME(vec) *)(c + r * at->c_row) + v;
      if (mode == GEMM_ADD) sums[r][v] += *to;
      if (mode == GEMM_SUBTRACT) sums[r][v] = *to - sums[r][v];
      *to = sums[r][v];
    }
}

TILES_INLINE void TILES_NAME(tile)(int rows, int vecs, gemm_mode_t mode, const TILES_NAME(place_t) * at,
                                   const TILES_REAL *a, const TILES_REAL *b, TILES_REAL *c) {
  TILES_NAME(tile_keeping)(rows, vecs, mode, at, a, b, 0, NULL, c);
}
