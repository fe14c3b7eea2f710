/* Tiles of a product in all their forms, for one vector width and type: gemm_loops.h includes this
 * file. Rows are all of a tile or fewer, the last vector is whole, masked or in pairs, and B is
 * packed, in place, or packed while it is read in place (gemm_microkernel.h). */

/* Computes a tile of `rows` rows, BLOCK_ROWS or a part of them. The strides of packed B are
 * constants here, and so are those of A if its columns are packed, or if its rows are dense and
 * vectors long: with shorter vectors dense rows gain nothing from constants. */
SIMD_INLINE void SIMD_NAME(whole_tile)(int rows, int vecs, gemm_last_t last, gemm_mode_t mode,
                                       const SIMD_NAME(target_t) * at, SIMD_NAME(operands_t) in,
                                       SIMD_REAL *c) {
  SIMD_NAME(target_t) steps = *at;
  steps.b_row = WIDTH;
  int64_t prefetch = vecs == 3 ? PREFETCH_ROWS * WIDTH : 0;
  in.packed = NULL;
  if (SIMD_BYTES == 64 && last != LAST_ROW_PAIRS && at->a_col == 1) {
    steps.a_col = 1;
    SIMD_NAME(tile)
    (rows, vecs, last, 4, mode, &steps, prefetch, SIMD_NAME(place_of)(rows, &steps, in), c);
  } else if (last != LAST_TERM_PAIRS && at->a_row == 1 && at->a_col == BLOCK_ROWS) {
    steps.a_row = 1;
    steps.a_col = BLOCK_ROWS;
    SIMD_NAME(tile)
    (rows, vecs, last, PACKED_UNROLL, mode, &steps, prefetch, SIMD_NAME(place_of)(rows, &steps, in),
     c);
  } else if (last != LAST_TERM_PAIRS) {
    SIMD_NAME(tile)
    (rows, vecs, last, 1, mode, &steps, prefetch, SIMD_NAME(place_of)(rows, &steps, in), c);
  }
}

/* Computes a tile of `rows` rows with B in place, and packs B if `in.packed` says where to.
 * Either rows or columns of A are dense. */
SIMD_INLINE void SIMD_NAME(place_tile)(int rows, int vecs, gemm_last_t last, gemm_mode_t mode,
                                       const SIMD_NAME(target_t) * at, SIMD_NAME(operands_t) in,
                                       SIMD_REAL *c) {
  SIMD_NAME(target_t) steps = *at;
  if (last != LAST_ROW_PAIRS && at->a_col == 1) {
    steps.a_col = 1;
    SIMD_NAME(tile)
    (rows, vecs, last, 4, mode, &steps, PREFETCH_ROWS * at->b_row,
     SIMD_NAME(place_of)(rows, &steps, in), c);
  } else if (last != LAST_TERM_PAIRS && in.packed && at->a_col == BLOCK_ROWS) {
    steps.a_row = 1;
    steps.a_col = BLOCK_ROWS;
    SIMD_NAME(tile)
    (rows, vecs, last, PACKED_UNROLL, mode, &steps, PREFETCH_ROWS * at->b_row,
     SIMD_NAME(place_of)(rows, &steps, in), c);
  } else if (last != LAST_TERM_PAIRS) {
    steps.a_row = 1;
    in.packed = NULL;
    SIMD_NAME(tile)
    (rows, vecs, last, 2, mode, &steps, PREFETCH_ROWS * at->b_row,
     SIMD_NAME(place_of)(rows, &steps, in), c);
  }
}

/* Cases of few_rows for tiles of fewer than BLOCK_ROWS rows. */
#define ROWS(COUNT, VECS, LAST)                                                    \
  case COUNT:                                                                      \
    SIMD_NAME(tile)                                                                \
    (COUNT, VECS, LAST, 1, mode, at, 0, SIMD_NAME(place_of)(COUNT, at, plain), c); \
    break;
#if SIMD_SUMS == 16
#define FEW_ROWS(VECS, LAST) \
  ROWS(1, VECS, LAST)        \
  ROWS(2, VECS, LAST)        \
  ROWS(3, VECS, LAST)        \
  ROWS(4, VECS, LAST) ROWS(5, VECS, LAST) ROWS(6, VECS, LAST) ROWS(7, VECS, LAST)
#else
#define FEW_ROWS(VECS, LAST) \
  ROWS(1, VECS, LAST)        \
  ROWS(2, VECS, LAST) ROWS(3, VECS, LAST) ROWS(4, VECS, LAST) ROWS(5, VECS, LAST)
#endif
#define FEW_ROWS_OF(VECS, NAME, LAST, GAPS)                                                        \
  SIMD_TARGET static void SIMD_NAME(few_rows##VECS##NAME)(                                         \
      int64_t rows, gemm_mode_t mode, const SIMD_NAME(target_t) * target,                          \
      const SIMD_NAME(operands_t) * in, SIMD_REAL * c) {                                           \
    const SIMD_NAME(target_t) steps = *target, *at = &steps;                                       \
    const SIMD_NAME(operands_t) plain = {.a = in->a, .b = in->b, .b_gap = (GAPS) ? in->b_gap : 0}; \
    switch (rows) { FEW_ROWS(VECS, LAST) }                                                         \
  }
FEW_ROWS_OF(1, , LAST_WHOLE, false)
FEW_ROWS_OF(2, , LAST_WHOLE, false)
FEW_ROWS_OF(3, , LAST_WHOLE, false)
/* Tiles of COUNT rows. The loops are compiled for each of their forms. GAPS: whether the last
 * vector may be in the next panel. */
#define ROWS_OF(COUNT, NAME, VECS, LAST, GAPS)                                                     \
  SIMD_TARGET static void SIMD_NAME(NAME)(gemm_mode_t mode, const SIMD_NAME(target_t) * at,        \
                                          const SIMD_NAME(operands_t) * operands, SIMD_REAL * c) { \
    SIMD_NAME(operands_t) in = *operands, bare;                                                    \
    if (!(GAPS)) in.b_gap = in.packed_gap = 0;                                                     \
    bare = in;                                                                                     \
    bare.ahead = NULL;                                                                             \
    bare.packed = NULL;                                                                            \
    if (in.packed)                                                                                 \
      SIMD_NAME(place_tile)(COUNT, VECS, LAST, mode, at, in, c);                                   \
    else if (at->b_row != WIDTH)                                                                   \
      SIMD_NAME(place_tile)(COUNT, VECS, LAST, mode, at, bare, c);                                 \
    else if (in.ahead)                                                                             \
      SIMD_NAME(whole_tile)(COUNT, VECS, LAST, mode, at, in, c);                                   \
    else                                                                                           \
      SIMD_NAME(whole_tile)(COUNT, VECS, LAST, mode, at, bare, c);                                 \
  }
#define ALL_ROWS_OF(VECS, NAME, LAST, GAPS) \
  ROWS_OF(BLOCK_ROWS, all_rows##VECS##NAME, VECS, LAST, GAPS)
ALL_ROWS_OF(1, , LAST_WHOLE, false)
ALL_ROWS_OF(2, , LAST_WHOLE, false)
ALL_ROWS_OF(3, , LAST_WHOLE, false)
#if SIMD_BYTES == 64
FEW_ROWS_OF(1, _masked, LAST_MASKED, false)
FEW_ROWS_OF(2, _masked, LAST_MASKED, false)
FEW_ROWS_OF(3, _masked, LAST_MASKED, false)
ALL_ROWS_OF(1, _masked, LAST_MASKED, false)
ALL_ROWS_OF(2, _masked, LAST_MASKED, false)
ALL_ROWS_OF(3, _masked, LAST_MASKED, false)
ALL_ROWS_OF(2, _across, LAST_WHOLE, true)
FEW_ROWS_OF(1, _term_pairs, LAST_TERM_PAIRS, false)
FEW_ROWS_OF(2, _term_pairs, LAST_TERM_PAIRS, false)
FEW_ROWS_OF(3, _term_pairs, LAST_TERM_PAIRS, false)
ALL_ROWS_OF(1, _term_pairs, LAST_TERM_PAIRS, false)
ALL_ROWS_OF(2, _term_pairs, LAST_TERM_PAIRS, false)
ALL_ROWS_OF(3, _term_pairs, LAST_TERM_PAIRS, false)
ALL_ROWS_OF(1, _row_pairs, LAST_ROW_PAIRS, false)
ALL_ROWS_OF(2, _row_pairs, LAST_ROW_PAIRS, false)
ALL_ROWS_OF(3, _row_pairs, LAST_ROW_PAIRS, false)
#else
ROWS_OF(BASE_ROWS, half_rows3_across, 3, LAST_WHOLE, true)
FEW_ROWS_OF(3, _across, LAST_WHOLE, true)
#endif
#undef ALL_ROWS_OF
#undef ROWS_OF
#undef FEW_ROWS_OF
#undef FEW_ROWS
#undef ROWS

/* Computes a tile. What it prefetches and packs counts for BLOCK_ROWS rows only. */
SIMD_TARGET static void SIMD_NAME(any_tile)(int64_t rows, int64_t vecs, gemm_mode_t mode,
                                            const SIMD_NAME(target_t) * at,
                                            const SIMD_NAME(operands_t) * in, SIMD_REAL *c) {
  if (rows == BLOCK_ROWS)
    (vecs == 1   ? SIMD_NAME(all_rows1)
     : vecs == 2 ? SIMD_NAME(all_rows2)
                 : SIMD_NAME(all_rows3))(mode, at, in, c);
  else
    (vecs == 1   ? SIMD_NAME(few_rows1)
     : vecs == 2 ? SIMD_NAME(few_rows2)
                 : SIMD_NAME(few_rows3))(rows, mode, at, in, c);
}

#if SIMD_BYTES == 64
#define BY_VECTORS(NAME, LAST)            \
  (vecs == 1   ? SIMD_NAME(NAME##1##LAST) \
   : vecs == 2 ? SIMD_NAME(NAME##2##LAST) \
               : SIMD_NAME(NAME##3##LAST))

/* Computes a tile whose columns do not fill its vectors. Sums of pairs of rows have the order of
 * those of single rows. Sums of pairs of terms have another one, so all tiles have it. */
SIMD_TARGET static void SIMD_NAME(edge)(int64_t rows, int64_t columns, gemm_mode_t mode,
                                        const SIMD_NAME(target_t) * at,
                                        const SIMD_NAME(operands_t) * in, SIMD_REAL *c) {
  int64_t vecs = hr_div_ceil(columns, LANES);
  SIMD_NAME(target_t) to = *at;
  to.last = columns % LANES;
  gemm_last_t last = to.last <= LANES / 2 ? to.narrow : LAST_MASKED;
  if (rows < BLOCK_ROWS && last == LAST_TERM_PAIRS)
    BY_VECTORS(few_rows, _term_pairs)(rows, mode, &to, in, c);
  else if (rows < BLOCK_ROWS)
    BY_VECTORS(few_rows, _masked)(rows, mode, &to, in, c);
  else if (last == LAST_TERM_PAIRS)
    BY_VECTORS(all_rows, _term_pairs)(mode, &to, in, c);
  else if (last == LAST_ROW_PAIRS)
    BY_VECTORS(all_rows, _row_pairs)(mode, &to, in, c);
  else
    BY_VECTORS(all_rows, _masked)(mode, &to, in, c);
}
#undef BY_VECTORS
#else
/* A vector of sums, combined with the vector at c as `mode` says. */
SIMD_INLINE SIMD_NAME(acc)
    SIMD_NAME(merge)(gemm_mode_t mode, const SIMD_REAL *c, const SIMD_REAL *sums) {
  SIMD_NAME(acc) sum = *(const SIMD_NAME(vec) *)sums;
  if (mode == GEMM_SET) return sum;
  SIMD_NAME(acc) old = *(const SIMD_NAME(vec) *)c;
  return mode == GEMM_ADD ? old + sum : old - sum;
}

/* Stores a row whose columns do not fill its vectors. The last vector ends with the row and
 * overlaps the vector before it. */
SIMD_INLINE void SIMD_NAME(merge_row)(gemm_mode_t mode, int64_t columns, const SIMD_REAL *sums,
                                      SIMD_REAL *c) {
  int64_t last = columns - LANES;
  if (last >= 0) {
    SIMD_NAME(acc) end = SIMD_NAME(merge)(mode, c + last, sums + last);
    for (int64_t j = 0; j < last; j += LANES)
      *(SIMD_NAME(vec) *)(c + j) = SIMD_NAME(merge)(mode, c + j, sums + j);
    *(SIMD_NAME(vec) *)(c + last) = end;
    return;
  }
  for (int64_t j = 0; j < columns; j++) {
    if (mode == GEMM_SET)
      c[j] = sums[j];
    else
      c[j] = mode == GEMM_ADD ? c[j] + sums[j] : c[j] - sums[j];
  }
}

/* Computes a tile whose columns do not fill its vectors in `spare`, then stores it to C. */
SIMD_TARGET static void SIMD_NAME(edge)(int64_t rows, int64_t columns, gemm_mode_t mode,
                                        const SIMD_NAME(target_t) * at,
                                        const SIMD_NAME(operands_t) * in, SIMD_REAL *c) {
  SIMD_REAL spare[BLOCK_ROWS * WIDTH];
  SIMD_NAME(target_t) strides = *at;
  strides.c_row = WIDTH;
  SIMD_NAME(any_tile)(rows, hr_div_ceil(columns, LANES), GEMM_SET, &strides, in, spare);
  for (int64_t i = 0; i < rows; i++) {
    const SIMD_REAL *sums = spare + i * WIDTH;
    if (mode == GEMM_SET)
      SIMD_NAME(merge_row)(GEMM_SET, columns, sums, c + i * at->c_row);
    else
      SIMD_NAME(merge_row)(mode, columns, sums, c + i * at->c_row);
  }
}
#endif
