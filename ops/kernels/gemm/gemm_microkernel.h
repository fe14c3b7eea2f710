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
 * are stored (MASKED); or at most half of the lanes are columns, and each has two neighbouring
 * lanes: for an even and an odd term of the sums (TERM_PAIRS), or for two rows (ROW_PAIRS). Pairs
 * save a multiply-add for every two of them. One load broadcasts the pair of elements of A, which
 * are neighbours in memory; a blend would take a slot of the multiply-add units. */
typedef enum gemm_last { LAST_WHOLE, LAST_MASKED, LAST_TERM_PAIRS, LAST_ROW_PAIRS } gemm_last_t;
#endif
#define LANES (SIMD_BYTES / (int)sizeof(SIMD_REAL))
#define SIMD_INLINE SIMD_TARGET static inline __attribute__((always_inline))

typedef SIMD_REAL SIMD_NAME(vec)
    __attribute__((vector_size(SIMD_BYTES), aligned(sizeof(SIMD_REAL)), may_alias));
typedef SIMD_REAL SIMD_NAME(acc) __attribute__((vector_size(SIMD_BYTES)));

/* Depth and strides of a tile, in reals, the columns of its last vector unless it is whole, and how
 * the tile treats a last vector with at most half of its lanes. */
typedef struct SIMD_NAME(target) {
  int64_t k, a_row, a_col, b_row, c_row, last;
  gemm_last_t narrow;
} SIMD_NAME(target_t);

/* Operands of a tile at the first term of the sums, and what else it moves. */
typedef struct SIMD_NAME(operands) {
  const SIMD_REAL *a, *b;
  const SIMD_REAL *ahead; /* elements of A that the next tile reads, prefetched; or NULL */
  const SIMD_REAL *next;  /* elements of B that a later group packs, prefetched */
  int64_t next_step;      /* distance between them; 0: none, and `next` is any address */
  SIMD_REAL *packed;      /* panel that the rows of B are copied to; or NULL */
  /* Gaps before the last vector of a row of B, and of `packed`, which is in the next panel; 0: the
   * vector follows the others. */
  int64_t b_gap, packed_gap;
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
/* Selects lanes of `low` (numbers from 0) and `high` (from LANES). */
#define SELECT_LANES(low, high, singles, doubles) \
  (SIMD_NAME(acc)) _mm512_permutex2var_epi32(     \
      (__m512i)(low), sizeof(SIMD_REAL) == 4 ? singles : doubles, (__m512i)(high))

/* The lower halves of two vectors: low[0], high[0], low[1], high[1] ... */
SIMD_INLINE SIMD_NAME(acc) SIMD_NAME(interleave)(SIMD_NAME(acc) low, SIMD_NAME(acc) high) {
  return SELECT_LANES(low, high,
                      _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23),
                      _mm512_setr_epi32(0, 1, 16, 17, 2, 3, 18, 19, 4, 5, 20, 21, 6, 7, 22, 23));
}

/* The even lanes, followed by the odd ones. */
SIMD_INLINE SIMD_NAME(acc) SIMD_NAME(separate)(SIMD_NAME(acc) pairs) {
  return SELECT_LANES(pairs, pairs,
                      _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 1, 3, 5, 7, 9, 11, 13, 15),
                      _mm512_setr_epi32(0, 1, 4, 5, 8, 9, 12, 13, 2, 3, 6, 7, 10, 11, 14, 15));
}
#undef SELECT_LANES

SIMD_INLINE SIMD_NAME(acc) SIMD_NAME(upper_half)(SIMD_NAME(acc) x) {
  return (SIMD_NAME(acc))_mm512_shuffle_f32x4((__m512)x, (__m512)x, 0xee);
}

/* Two neighbouring elements, repeated. */
SIMD_INLINE SIMD_NAME(acc) SIMD_NAME(broadcast_pair)(const SIMD_REAL *pair) {
  if (sizeof(SIMD_REAL) == 8)
    return (SIMD_NAME(acc))_mm512_broadcast_f64x2(_mm_loadu_pd((const double *)pair));
  double both;
  memcpy(&both, pair, sizeof both);
  return (SIMD_NAME(acc))_mm512_set1_pd(both);
}

/* Bits of the first `count` columns, one for every four bytes. */
SIMD_INLINE unsigned SIMD_NAME(column_bits)(int64_t count) {
  return (1u << (count * (int64_t)sizeof(SIMD_REAL) / 4)) - 1;
}

/* The first `count` elements at `from`, followed by zeros. */
SIMD_INLINE SIMD_NAME(acc) SIMD_NAME(load_first)(int64_t count, const SIMD_REAL *from) {
  return (SIMD_NAME(acc))_mm512_maskz_loadu_ps((__mmask16)SIMD_NAME(column_bits)(count), from);
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

/* Stores the last vector of a row. Its sums are in pairs of lanes as `last` says. */
SIMD_INLINE void SIMD_NAME(store_last)(gemm_last_t last, gemm_mode_t mode, bool is_odd_row,
                                       const SIMD_NAME(target_t) * at, SIMD_NAME(acc) sums,
                                       SIMD_REAL *c) {
  if (last != LAST_MASKED) {
    SIMD_NAME(acc) even = SIMD_NAME(separate)(sums);
    SIMD_NAME(acc) odd = (SIMD_NAME(acc))_mm512_shuffle_f32x4((__m512)even, (__m512)even, 0xee);
    if (last == LAST_TERM_PAIRS)
      sums = even + odd;
    else
      sums = is_odd_row ? odd : even;
  }
  SIMD_NAME(store_first)(mode, at->last, sums, c);
}

/* Adds the term `u` to the sums of the last vector; TERM_PAIRS: the terms u - 1 and u. */
SIMD_INLINE void SIMD_NAME(add_last)(int rows, int whole, gemm_last_t last,
                                     const SIMD_NAME(target_t) * at, int64_t u,
                                     const SIMD_NAME(place_t) * now, SIMD_NAME(acc) sums[8][16]) {
  const SIMD_REAL *b = now->in.b + u * at->b_row + whole * LANES;
  int64_t first = last == LAST_TERM_PAIRS ? u - 1 : u;
  int row_step = last == LAST_ROW_PAIRS ? 2 : 1;
  SIMD_NAME(acc) line = SIMD_NAME(load_first)(at->last, b);
  if (last == LAST_ROW_PAIRS) line = SIMD_NAME(interleave)(line, line);
  if (last == LAST_TERM_PAIRS)
    line = SIMD_NAME(interleave)(SIMD_NAME(load_first)(at->last, b - at->b_row), line);
#pragma GCC unroll 8
  for (int r = 0; r < rows; r += row_step) {
    const SIMD_REAL *a = now->bases[r / BASE_ROWS] + r % BASE_ROWS * at->a_row + first * at->a_col;
    if (last == LAST_MASKED)
      sums[r][whole] += *a * line;
    else
      sums[r][whole] += SIMD_NAME(broadcast_pair)(a) * line;
  }
}

/* Adds the term after the current one as the even term of TERM_PAIRS. The odd lanes of both factors
 * are zero: the other factor may be infinite. */
SIMD_INLINE void SIMD_NAME(add_last_alone)(int rows, int whole, const SIMD_NAME(target_t) * at,
                                           const SIMD_NAME(place_t) * now,
                                           SIMD_NAME(acc) sums[8][16]) {
  const SIMD_NAME(acc) zeros = {0};
  SIMD_NAME(acc) line = SIMD_NAME(load_first)(at->last, now->in.b + whole * LANES);
  line = SIMD_NAME(interleave)(line, zeros);
#pragma GCC unroll 8
  for (int r = 0; r < rows; r++) {
    SIMD_REAL factor = now->bases[r / BASE_ROWS][r % BASE_ROWS * at->a_row];
    sums[r][whole] += SIMD_NAME(interleave)(factor - zeros, zeros) * line;
  }
}
#endif

/* Adds the term `u` after the current one to the sums. With ROW_PAIRS the sums of the last vector
 * of rows 2 r and 2 r + 1 are those of row 2 r. With TERM_PAIRS an even `u` leaves the last vector
 * to the next term. */
SIMD_INLINE void SIMD_NAME(add_term)(int rows, int vecs, gemm_last_t last,
                                     const SIMD_NAME(target_t) * at, int64_t u,
                                     int64_t prefetch_rows, const SIMD_NAME(place_t) * now,
                                     SIMD_NAME(acc) sums[8][16]) {
  SIMD_NAME(acc) line[16];
  const SIMD_REAL *b = now->in.b + u * at->b_row;
  SIMD_REAL *packed = now->in.packed + u * PANEL_WIDTH;
  int whole = last == LAST_WHOLE ? vecs : vecs - 1;
#pragma GCC unroll 16
  for (int v = 0; v < whole; v++)
    line[v] = *(const SIMD_NAME(vec) *)(b + v * LANES + (v == vecs - 1 ? now->in.b_gap : 0));
  if (now->in.packed)
#pragma GCC unroll 16
    for (int v = 0; v < whole; v++)
      *(SIMD_NAME(vec) *)(packed + v * LANES + (v == vecs - 1 ? now->in.packed_gap : 0)) = line[v];
  if (prefetch_rows)
#pragma GCC unroll 16
    for (int v = 0; v < vecs; v++) __builtin_prefetch(b + prefetch_rows + v * LANES);
#pragma GCC unroll 8
  for (int r = 0; r < rows; r++) {
    SIMD_REAL factor = now->bases[r / BASE_ROWS][r % BASE_ROWS * at->a_row + u * at->a_col];
#pragma GCC unroll 16
    for (int v = 0; v < whole; v++) sums[r][v] += factor * line[v];
  }
#if SIMD_BYTES == 64
  if (last == LAST_WHOLE) return;
  __asm__ volatile("" : : : "memory"); /* no load moves up here: the registers are taken */
  if (now->in.packed)
    *(SIMD_NAME(vec) *)(packed + whole * LANES) =
        SIMD_NAME(load_first)(at->last, b + whole * LANES);
  if (last != LAST_TERM_PAIRS || u % 2) SIMD_NAME(add_last)(rows, whole, last, at, u, now, sums);
#endif
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

/* Adds all terms, `unroll` per iteration. The first iterations add single terms or pairs of them,
 * and prefetch as many rows of C, as prefetching all rows at once would delay loads of A and B. */
SIMD_INLINE void SIMD_NAME(add_terms)(int rows, int vecs, gemm_last_t last, int unroll,
                                      const SIMD_NAME(target_t) * at, int64_t prefetch_rows,
                                      const SIMD_REAL *c, SIMD_NAME(place_t) * now,
                                      SIMD_NAME(acc) sums[8][16]) {
  const int unit = last == LAST_TERM_PAIRS ? 2 : 1;
  int64_t p = 0, asking = at->k < rows ? at->k : rows;
  for (; p + unit <= asking; p += unit) {
#pragma GCC unroll 2
    for (int u = 0; u < unit; u++, c += at->c_row) {
#pragma GCC unroll 16
      for (int v = 0; v < vecs; v++) __builtin_prefetch(c + v * LANES, 1);
      SIMD_NAME(add_term)(rows, vecs, last, at, u, prefetch_rows, now, sums);
    }
    SIMD_NAME(pass_terms)(rows, at, unit, now);
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
  for (; p + unit <= at->k; p += unit) {
#pragma GCC unroll 2
    for (int u = 0; u < unit; u++)
      SIMD_NAME(add_term)(rows, vecs, last, at, u, prefetch_rows, now, sums);
    if (now->in.ahead && unroll == 1) __builtin_prefetch(now->in.ahead);
    SIMD_NAME(pass_terms)(rows, at, unit, now);
  }
#if SIMD_BYTES == 64
  if (last != LAST_TERM_PAIRS || p == at->k) return;
  SIMD_NAME(add_term)(rows, vecs, last, at, 0, prefetch_rows, now, sums);
  SIMD_NAME(add_last_alone)(rows, vecs - 1, at, now, sums);
#endif
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
    int row = last == LAST_ROW_PAIRS ? r / 2 * 2 : r; /* that has the sums */
    if (last != LAST_WHOLE)
      SIMD_NAME(store_last)(last, mode, r % 2, at, sums[row][whole], c + whole * LANES);
#endif
  }
}
