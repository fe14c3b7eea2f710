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

/* What a tile asks for early of the A that the next tile reads, where that comes from memory: its
 * rows, or, if columns of A are dense, the next cache line of each column. */
#ifndef GEMM_AHEAD
#define GEMM_AHEAD
typedef enum gemm_ahead { GEMM_AHEAD_NONE, GEMM_AHEAD_ROWS, GEMM_AHEAD_COLUMNS } gemm_ahead_t;
#endif

/* One step of k: a line of A for each of the next rows, once per vector of terms. */
SIMD_INLINE void SIMD_NAME(ask_ahead)(int rows, gemm_ahead_t ahead, int64_t p, int64_t a_row,
                                      const SIMD_REAL *a) {
  if (ahead == GEMM_AHEAD_COLUMNS) __builtin_prefetch(a + 2 * rows);
  if (ahead != GEMM_AHEAD_ROWS || p % LANES) return;
#pragma GCC unroll 8
  for (int r = 0; r < rows; r++) __builtin_prefetch(a + (rows + r) * a_row);
}

/* Operands of a tile at the current term of the sums. */
typedef struct SIMD_NAME(place) {
  const SIMD_REAL *a, *b;
  SIMD_REAL *keep; /* where B is packed on the way; or NULL */
  int64_t p;       /* number of the term */
} SIMD_NAME(place_t);

/* Adds terms up to number `end` to the sums. `c`: NULL, or C, of which each term asks for a line:
 * all of it at once would keep loads of A and B waiting. */
SIMD_INLINE void SIMD_NAME(add_terms)(int rows, int vecs, gemm_ahead_t ahead,
                                      const SIMD_NAME(target_t) * at, int64_t end,
                                      int64_t prefetch_rows, const SIMD_REAL *c,
                                      SIMD_NAME(place_t) * now, SIMD_NAME(acc) sums[8][16]) {
  const SIMD_REAL *a = now->a, *b = now->b;
  SIMD_REAL *keep = now->keep;
  int64_t p = now->p;
#pragma GCC unroll 4
  for (; p < end; p++, a += at->a_col, b += at->b_row) {
    SIMD_NAME(acc) line[16];
    SIMD_NAME(ask_ahead)(rows, ahead, p, at->a_row, a);
    if (c) {
      __builtin_prefetch(c + p % vecs * LANES, 1);
      if (p % vecs == vecs - 1) c += at->c_row;
    }
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
  *now = (SIMD_NAME(place_t)){a, b, keep, p};
}

/* C[rows][vecs * LANES] = A B, or as the mode says; rows and vecs are constants at each call, so
 * all loops over them unroll. `prefetch_rows`: elements of B prefetched ahead, or 0. `keep`: NULL,
 * or where B is packed on the way, for the next rows of A. */
SIMD_INLINE void SIMD_NAME(tile_keeping)(int rows, int vecs, gemm_mode_t mode, gemm_ahead_t ahead,
                                         const SIMD_NAME(target_t) * at, const SIMD_REAL *a,
                                         const SIMD_REAL *b, int64_t prefetch_rows, SIMD_REAL *keep,
                                         SIMD_REAL *c) {
  SIMD_NAME(acc) sums[8][16] = {0};
  SIMD_NAME(place_t) now = {a, b, keep, 0};
  int64_t asking = at->k < rows * vecs ? at->k : rows * vecs;
  SIMD_NAME(add_terms)(rows, vecs, ahead, at, asking, prefetch_rows, c, &now, sums);
  SIMD_NAME(add_terms)(rows, vecs, ahead, at, at->k, prefetch_rows, NULL, &now, sums);
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
  SIMD_NAME(tile_keeping)(rows, vecs, mode, GEMM_AHEAD_NONE, at, a, b, 0, NULL, c);
}
