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
#if defined(__x86_64__)
#include <immintrin.h>
#endif
#define PREFETCH_ROWS 24 /* prefetch distance in rows of B: the time of a miss in all caches */
#define PANEL_WIDTH (GEMM_TILE_VECTORS(SIMD_BYTES) * LANES) /* reals in a row of packed B */
#define BASE_ROWS 3 /* rows of A that one address reaches with the stride times 0, 1 and 2 */
/* How a tile treats the last vector of its rows: all lanes are columns of C; only the first ones
 * are stored (MASKED); or at most half of the lanes are columns, and the vector holds those of two
 * rows (HALVES), which saves a multiply-add for every two rows. */
typedef enum gemm_last { LAST_WHOLE, LAST_MASKED, LAST_HALVES } gemm_last_t;
#endif
#define LANES (SIMD_BYTES / (int)sizeof(SIMD_REAL))
#define SIMD_INLINE SIMD_TARGET static inline __attribute__((always_inline))

typedef SIMD_REAL SIMD_NAME(vec)
    __attribute__((vector_size(SIMD_BYTES), aligned(sizeof(SIMD_REAL)), may_alias));
typedef SIMD_REAL SIMD_NAME(acc) __attribute__((vector_size(SIMD_BYTES)));

/* Depth and strides of a tile, in reals, and the columns of its last vector unless it is whole. */
typedef struct SIMD_NAME(target) {
  int64_t k, a_row, a_col, b_row, c_row, last;
} SIMD_NAME(target_t);

/* Operands of a tile at the first term of the sums, and what else it moves. */
typedef struct SIMD_NAME(operands) {
  const SIMD_REAL *a, *b;
  const SIMD_REAL *ahead; /* elements of A that the next tile reads, prefetched; or NULL */
  const SIMD_REAL *next;  /* elements of B that a later group packs, prefetched */
  int64_t next_step;      /* distance between them; 0: none, and `next` is any address */
  SIMD_REAL *packed;      /* panel that the rows of B are copied to; or NULL */
} SIMD_NAME(operands_t);

/* The same at the current term. */
typedef struct SIMD_NAME(place) {
  const SIMD_REAL *bases[BASE_ROWS]; /* rows 0, 3 and 6 of A */
  SIMD_NAME(operands_t) in;
} SIMD_NAME(place_t);

/* The operands at the first term. The assembler statement keeps the compiler from computing the
 * bases from each other in the loop; a constant stride of 1 needs no statement. */
SIMD_INLINE SIMD_NAME(place_t)
    SIMD_NAME(place_of)(int rows, const SIMD_NAME(target_t) * at, SIMD_NAME(operands_t) in) {
  SIMD_NAME(place_t) now = {{in.a, in.a, in.a}, in};
#pragma GCC unroll 3
  for (int g = 1; g * BASE_ROWS < rows; g++) {
    now.bases[g] = in.a + g * BASE_ROWS * at->a_row;
    if (at->a_row != 1) __asm__("" : "+r"(now.bases[g]));
  }
  return now;
}

#if SIMD_BYTES == 64
/* A vector of `low` in its lower and of `high` in its upper half. Subtracting zeros only makes
 * vectors of the two. */
SIMD_INLINE SIMD_NAME(acc) SIMD_NAME(halves)(SIMD_REAL low, SIMD_REAL high) {
  const SIMD_NAME(acc) zeros = {0};
  return (SIMD_NAME(acc))_mm512_mask_blend_ps(0xff00, (__m512)(low - zeros),
                                              (__m512)(high - zeros));
}

/* Bits of the first `count` columns, one for every four bytes. */
SIMD_INLINE unsigned SIMD_NAME(column_bits)(int64_t count) {
  return (1u << (count * (int64_t)sizeof(SIMD_REAL) / 4)) - 1;
}

/* A last vector of B that is not whole: its columns, followed by zeros, or by the columns again. */
SIMD_INLINE SIMD_NAME(acc)
    SIMD_NAME(load_last)(gemm_last_t last, const SIMD_NAME(target_t) * at, const SIMD_REAL *from) {
  unsigned bits = SIMD_NAME(column_bits)(at->last);
  if (last == LAST_MASKED) return (SIMD_NAME(acc))_mm512_maskz_loadu_ps((__mmask16)bits, from);
  __m256 half = _mm256_maskz_loadu_ps((__mmask8)bits, from);
  return (SIMD_NAME(acc))_mm512_broadcast_f32x8(half);
}

/* Stores the columns of a last vector that is not whole, or adds them to C as `mode` says. */
SIMD_INLINE void SIMD_NAME(store_first)(gemm_mode_t mode, int64_t count, SIMD_NAME(acc) sums,
                                        SIMD_REAL *c) {
  __mmask16 bits = (__mmask16)SIMD_NAME(column_bits)(count);
  SIMD_NAME(acc) old = {0};
  if (mode != GEMM_SET) old = (SIMD_NAME(acc))_mm512_maskz_loadu_ps(bits, c);
  if (mode == GEMM_ADD) sums += old;
  if (mode == GEMM_SUBTRACT) sums = old - sums;
  _mm512_mask_storeu_ps(c, bits, (__m512)sums);
}

/* Stores the last vector of row `r`, which shares it with the next row, in both. */
SIMD_INLINE void SIMD_NAME(store_halves)(gemm_mode_t mode, const SIMD_NAME(target_t) * at,
                                         SIMD_NAME(acc) sums, SIMD_REAL *c) {
  __m512 high = _mm512_shuffle_f32x4((__m512)sums, (__m512)sums, 0xee);
  SIMD_NAME(store_first)(mode, at->last, sums, c);
  SIMD_NAME(store_first)(mode, at->last, (SIMD_NAME(acc))high, c + at->c_row);
}
#endif

/* Adds the term `u` after the current one to the sums. With LAST_HALVES the sums of the last vector
 * of rows 2 r and 2 r + 1 are those of row 2 r. */
SIMD_INLINE void SIMD_NAME(add_term)(int rows, int vecs, gemm_last_t last,
                                     const SIMD_NAME(target_t) * at, int64_t u,
                                     int64_t prefetch_rows, const SIMD_NAME(place_t) * now,
                                     SIMD_NAME(acc) sums[8][16]) {
  SIMD_NAME(acc) line[16];
  SIMD_REAL factors[8];
  const SIMD_REAL *b = now->in.b + u * at->b_row;
  int whole = last == LAST_WHOLE ? vecs : vecs - 1;
  int of_one_row = last == LAST_HALVES ? whole : vecs;
#pragma GCC unroll 16
  for (int v = 0; v < whole; v++) line[v] = ((const SIMD_NAME(vec) *)b)[v];
#if SIMD_BYTES == 64
  if (last != LAST_WHOLE) line[whole] = SIMD_NAME(load_last)(last, at, b + whole * LANES);
#endif
  if (now->in.packed)
#pragma GCC unroll 16
    for (int v = 0; v < vecs; v++)
      ((SIMD_NAME(vec) *)(now->in.packed + u * PANEL_WIDTH))[v] = line[v];
  if (prefetch_rows)
#pragma GCC unroll 16
    for (int v = 0; v < vecs; v++) __builtin_prefetch(b + prefetch_rows + v * LANES);
#pragma GCC unroll 8
  for (int r = 0; r < rows; r++) {
    factors[r] = now->bases[r / BASE_ROWS][r % BASE_ROWS * at->a_row + u * at->a_col];
#pragma GCC unroll 16
    for (int v = 0; v < of_one_row; v++) sums[r][v] += factors[r] * line[v];
#if SIMD_BYTES == 64
    if (last == LAST_HALVES && r % 2)
      sums[r - 1][whole] += SIMD_NAME(halves)(factors[r - 1], factors[r]) * line[whole];
#endif
  }
}

/* Advances by `terms` terms. */
SIMD_INLINE void SIMD_NAME(pass_terms)(int rows, const SIMD_NAME(target_t) * at, int64_t terms,
                                       SIMD_NAME(place_t) * now) {
#pragma GCC unroll 3
  for (int g = 0; g * BASE_ROWS < rows; g++) now->bases[g] += terms * at->a_col;
  now->in.b += terms * at->b_row;
  if (now->in.ahead) now->in.ahead += terms * at->a_col;
  if (now->in.packed) now->in.packed += terms * PANEL_WIDTH;
}

/* Adds all terms, `unroll` per iteration. The first iterations add single terms, and each of them
 * prefetches a row of C, as prefetching all rows at once would delay loads of A and B. */
SIMD_INLINE void SIMD_NAME(add_terms)(int rows, int vecs, gemm_last_t last, int unroll,
                                      const SIMD_NAME(target_t) * at, int64_t prefetch_rows,
                                      const SIMD_REAL *c, SIMD_NAME(place_t) * now,
                                      SIMD_NAME(acc) sums[8][16]) {
  int64_t p = 0, asking = at->k < rows ? at->k : rows;
  for (; p < asking; p++, c += at->c_row) {
#pragma GCC unroll 16
    for (int v = 0; v < vecs; v++) __builtin_prefetch(c + v * LANES, 1);
    SIMD_NAME(add_term)(rows, vecs, last, at, 0, prefetch_rows, now, sums);
    SIMD_NAME(pass_terms)(rows, at, 1, now);
  }
  for (; unroll > 1 && p + unroll <= at->k; p += unroll) {
#pragma GCC unroll 4
    for (int u = 0; u < unroll; u++) {
      SIMD_NAME(add_term)(rows, vecs, last, at, u, prefetch_rows, now, sums);
      if (now->in.ahead && u % 2 == 0)
        __builtin_prefetch(now->in.ahead + (at->a_row == 1 ? u * at->a_col : u / 2 * at->a_row));
    }
    __builtin_prefetch(now->in.next, 0, 2);
    now->in.next += now->in.next_step;
    SIMD_NAME(pass_terms)(rows, at, unroll, now);
  }
#pragma GCC unroll 4
  for (; p < at->k; p++) {
    SIMD_NAME(add_term)(rows, vecs, last, at, 0, prefetch_rows, now, sums);
    if (now->in.ahead && unroll == 1) __builtin_prefetch(now->in.ahead);
    SIMD_NAME(pass_terms)(rows, at, 1, now);
  }
}

/* Stores the sums of a vector, or adds them to C as `mode` says. */
SIMD_INLINE void SIMD_NAME(store)(gemm_mode_t mode, SIMD_NAME(acc) sums, SIMD_REAL *c) {
  SIMD_NAME(vec) *to = (SIMD_NAME(vec) *)c;
  if (mode == GEMM_ADD) sums += *to;
  if (mode == GEMM_SUBTRACT) sums = *to - sums;
  *to = sums;
}

/* Computes C[rows][vecs * LANES] = A B, += or -= as the mode says; of the last vector only what
 * `last` says, which is LAST_WHOLE unless vectors have 64 bytes. rows, vecs, last and unroll are
 * constants at each call, so all loops over them are unrolled. prefetch_rows: prefetch distance in
 * elements of B; 0: no prefetch. */
SIMD_INLINE void SIMD_NAME(tile)(int rows, int vecs, gemm_last_t last, int unroll, gemm_mode_t mode,
                                 const SIMD_NAME(target_t) * at, int64_t prefetch_rows,
                                 SIMD_NAME(place_t) now, SIMD_REAL *c) {
  SIMD_NAME(acc) sums[8][16] = {0};
  int whole = last == LAST_WHOLE ? vecs : vecs - 1;
  SIMD_NAME(add_terms)(rows, vecs, last, unroll, at, prefetch_rows, c, &now, sums);
#pragma GCC unroll 8
  for (int r = 0; r < rows; r++, c += at->c_row) {
#pragma GCC unroll 16
    for (int v = 0; v < whole; v++) SIMD_NAME(store)(mode, sums[r][v], c + v * LANES);
#if SIMD_BYTES == 64
    if (last == LAST_MASKED)
      SIMD_NAME(store_first)(mode, at->last, sums[r][whole], c + whole * LANES);
    if (last == LAST_HALVES && r % 2 == 0)
      SIMD_NAME(store_halves)(mode, at, sums[r][whole], c + whole * LANES);
#endif
  }
}
