/* Register tile of a matrix product, included once for every vector width and element type, with
 *   SIMD_NAME(x)   the name of function x in this instance
 *   SIMD_TARGET    attributes of the functions
 *   SIMD_REAL      float or double
 *   SIMD_BYTES     size of a vector
 *   SIMD_SUMS      vectors of sums that the registers hold: 8 or 16 */
#include "ops/kernels/gemm/gemm.h"

#ifndef PREFETCH_ROWS
#define PREFETCH_ROWS 24 /* rows of B prefetched ahead, about a miss of the last-level cache */
#endif
#define LANES (SIMD_BYTES / (int)sizeof(SIMD_REAL))
#define SIMD_INLINE SIMD_TARGET static inline __attribute__((always_inline))

typedef SIMD_REAL SIMD_NAME(vec)
    __attribute__((vector_size(SIMD_BYTES), aligned(sizeof(SIMD_REAL)), may_alias));
typedef SIMD_REAL SIMD_NAME(acc) __attribute__((vector_size(SIMD_BYTES)));

/* Depth and strides of a tile, in reals. */
typedef struct SIMD_NAME(target) {
  int64_t k, a_row, a_col, b_row, c_row;
} SIMD_NAME(target_t);

/* C[rows][vecs * LANES] = A B, or as the mode says; rows and vecs are constants at each call, so
 * all loops over them unroll. `prefetch_rows`: elements of B prefetched ahead, or 0. `keep`: NULL,
 * or where B is packed on the way, for the next rows of A. */
SIMD_INLINE void SIMD_NAME(tile_keeping)(int rows, int vecs, gemm_mode_t mode,
                                         const SIMD_NAME(target_t) * at, const SIMD_REAL *a,
                                         const SIMD_REAL *b, int64_t prefetch_rows, SIMD_REAL *keep,
                                         SIMD_REAL *c) {
  SIMD_NAME(acc) sums[8][16] = {0};
#pragma GCC unroll 8
  for (int r = 0; r < rows; r++)
#pragma GCC unroll 16
    for (int v = 0; v < vecs; v++) __builtin_prefetch(c + r * at->c_row + v * LANES, 1);
  for (int64_t p = 0; p < at->k; p++, a += at->a_col, b += at->b_row) {
    SIMD_NAME(acc) line[16];
#pragma GCC unroll 16
    for (int v = 0; v < vecs; v++) line[v] = ((const SIMD_NAME(vec) *)b)[v];
    if (prefetch_rows)
#pragma GCC unroll 16
      for (int v = 0; v < vecs; v++) __builtin_prefetch(b + prefetch_rows + v * LANES);
    if (keep) {
#pragma GCC unroll 16
      for (int v = 0; v < vecs; v++) {
        __builtin_prefetch(b + PREFETCH_ROWS * at->b_row + v * LANES);
        ((SIMD_NAME(vec) *)keep)[v] = line[v];
      }
      keep += vecs * LANES;
    }
#pragma GCC unroll 8
    for (int r = 0; r < rows; r++) {
      SIMD_REAL factor = a[r * at->a_row];
#pragma GCC unroll 16
      for (int v = 0; v < vecs; v++) sums[r][v] += factor * line[v];
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < rows; r++)
#pragma GCC unroll 16
    for (int v = 0; v < vecs; v++) {
      SIMD_NAME(vec) *to = (SIMD_NAME(vec) *)(c + r * at->c_row) + v;
      if (mode == GEMM_ADD) sums[r][v] += *to;
      if (mode == GEMM_SUBTRACT) sums[r][v] = *to - sums[r][v];
      *to = sums[r][v];
    }
}

SIMD_INLINE void SIMD_NAME(tile)(int rows, int vecs, gemm_mode_t mode,
                                 const SIMD_NAME(target_t) * at, const SIMD_REAL *a,
                                 const SIMD_REAL *b, SIMD_REAL *c) {
  SIMD_NAME(tile_keeping)(rows, vecs, mode, at, a, b, 0, NULL, c);
}
