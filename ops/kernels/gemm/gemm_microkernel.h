/* Register tile of a matrix product. gemm_loops.h includes this file once for every vector width
 * and element type, with these macros defined:
 *
 *   SIMD_NAME(x)   name of function x in this instance
 *   SIMD_TARGET    attributes of the functions
 *   SIMD_REAL      float or double
 *   SIMD_BYTES     bytes of a vector: 16, 32 or 64
 *
 * For each term of the sums a tile loads its vectors of a row of B, and multiplies them by the
 * elements of a column of A, one after the other. A processor that starts four instructions a cycle
 * keeps its two multiply-add units busy only if most instructions are multiply-adds. Address
 * arithmetic is therefore kept out of the loop (`bases`), and an element of A is used for up to
 * three vectors. */
#include "ops/kernels/gemm/gemm.h"

#ifndef PREFETCH_ROWS
#define PREFETCH_ROWS 24 /* prefetch distance in rows of B: the time of a miss in all caches */
#define BASE_ROWS 3      /* rows of A that one address reaches with the stride times 0, 1 and 2 */
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

/* Operands of a tile at the current term of the sums. */
typedef struct SIMD_NAME(place) {
  const SIMD_REAL *bases[BASE_ROWS], *b; /* bases: rows 0, 3 and 6 of A */
  const SIMD_REAL *ahead; /* elements of A that the next tile reads, prefetched; or NULL */
} SIMD_NAME(place_t);

/* The operands at the first term. The assembler statement keeps the compiler from computing the
 * bases from each other in the loop; a constant stride of 1 needs no statement. */
SIMD_INLINE SIMD_NAME(place_t)
    SIMD_NAME(place_of)(int rows, const SIMD_NAME(target_t) * at, const SIMD_REAL *a,
                        const SIMD_REAL *b, const SIMD_REAL *ahead) {
  SIMD_NAME(place_t) now = {{a, a, a}, b, ahead};
#pragma GCC unroll 3
  for (int g = 1; g * BASE_ROWS < rows; g++) {
    now.bases[g] = a + g * BASE_ROWS * at->a_row;
    if (at->a_row != 1) __asm__("" : "+r"(now.bases[g]));
  }
  return now;
}

/* Adds the term `u` after the current one to the sums. */
SIMD_INLINE void SIMD_NAME(add_term)(int rows, int vecs, const SIMD_NAME(target_t) * at, int64_t u,
                                     int64_t prefetch_rows, const SIMD_NAME(place_t) * now,
                                     SIMD_NAME(acc) sums[8][16]) {
  SIMD_NAME(acc) line[16];
  const SIMD_REAL *b = now->b + u * at->b_row;
#pragma GCC unroll 16
  for (int v = 0; v < vecs; v++) line[v] = ((const SIMD_NAME(vec) *)b)[v];
  if (prefetch_rows)
#pragma GCC unroll 16
    for (int v = 0; v < vecs; v++) __builtin_prefetch(b + prefetch_rows + v * LANES);
#pragma GCC unroll 8
  for (int r = 0; r < rows; r++) {
    SIMD_REAL factor = now->bases[r / BASE_ROWS][r % BASE_ROWS * at->a_row + u * at->a_col];
#pragma GCC unroll 16
    for (int v = 0; v < vecs; v++) sums[r][v] += factor * line[v];
  }
}

/* Advances by `terms` terms. */
SIMD_INLINE void SIMD_NAME(pass_terms)(int rows, const SIMD_NAME(target_t) * at, int64_t terms,
                                       SIMD_NAME(place_t) * now) {
#pragma GCC unroll 3
  for (int g = 0; g * BASE_ROWS < rows; g++) now->bases[g] += terms * at->a_col;
  now->b += terms * at->b_row;
  if (now->ahead) now->ahead += terms * at->a_col;
}

/* Adds all terms, `unroll` per iteration. The first iterations add single terms, and each of them
 * prefetches a row of C, as prefetching all rows at once would delay loads of A and B. */
SIMD_INLINE void SIMD_NAME(add_terms)(int rows, int vecs, int unroll,
                                      const SIMD_NAME(target_t) * at, int64_t prefetch_rows,
                                      const SIMD_REAL *c, SIMD_NAME(place_t) * now,
                                      SIMD_NAME(acc) sums[8][16]) {
  int64_t p = 0, asking = at->k < rows ? at->k : rows;
  for (; p < asking; p++, c += at->c_row) {
#pragma GCC unroll 16
    for (int v = 0; v < vecs; v++) __builtin_prefetch(c + v * LANES, 1);
    SIMD_NAME(add_term)(rows, vecs, at, 0, prefetch_rows, now, sums);
    SIMD_NAME(pass_terms)(rows, at, 1, now);
  }
  for (; unroll > 1 && p + unroll <= at->k; p += unroll) {
#pragma GCC unroll 4
    for (int u = 0; u < unroll; u++) {
      SIMD_NAME(add_term)(rows, vecs, at, u, prefetch_rows, now, sums);
      if (now->ahead && u % 2 == 0)
        __builtin_prefetch(now->ahead + (at->a_row == 1 ? u * at->a_col : u / 2 * at->a_row));
    }
    SIMD_NAME(pass_terms)(rows, at, unroll, now);
  }
#pragma GCC unroll 4
  for (; p < at->k; p++) {
    SIMD_NAME(add_term)(rows, vecs, at, 0, prefetch_rows, now, sums);
    if (now->ahead && unroll == 1) __builtin_prefetch(now->ahead);
    SIMD_NAME(pass_terms)(rows, at, 1, now);
  }
}

/* Computes C[rows][vecs * LANES] = A B, += or -= as the mode says. rows, vecs and unroll are
 * constants at each call, so all loops over them are unrolled. prefetch_rows: prefetch distance in
 * elements of B; 0: no prefetch. */
SIMD_INLINE void SIMD_NAME(tile)(int rows, int vecs, int unroll, gemm_mode_t mode,
                                 const SIMD_NAME(target_t) * at, int64_t prefetch_rows,
                                 SIMD_NAME(place_t) now, SIMD_REAL *c) {
  SIMD_NAME(acc) sums[8][16] = {0};
  SIMD_NAME(add_terms)(rows, vecs, unroll, at, prefetch_rows, c, &now, sums);
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
