/* The loops of dot_small.c for one width of vectors. Included once per width, after the macros that
 * gemm_microkernel.h needs. SIMD_NAME(x) adds type and width, such as f32_v256_x.
 *
 *   panel<V>    V vectors of columns by ROWS rows of c in registers, over all of k
 *
 *                <- V * LANES columns of b ->
 *       k        [ b row p:  v0 | v1 | ... ]      each element of b is loaded once per ROWS rows,
 *       a  ROWS  [ sums in ROWS * V registers ]   each element of a is broadcast to V vectors
 *
 *   narrow, single   the remaining columns, without masks: 16 bytes of them, then one by one
 *   transposed       panels of few rows that are columns of c
 *   row_group        dot products of dense rows with one vector: two accumulators per row
 *   pair_group       PAIR_ROWS x PAIR_COLUMNS dot products at once
 *   padded           panels of a copy of b, in whole vectors
 *
 * `few` is a vector of 16 bytes, `part` the same without alignment. */
#include "ops/kernels/gemm/gemm_microkernel.h"

typedef SIMD_REAL SIMD_NAME(part)
    __attribute__((vector_size(16), aligned(sizeof(SIMD_REAL)), may_alias));
typedef SIMD_REAL SIMD_NAME(few) __attribute__((vector_size(16)));
#define FEW (16 / (int)sizeof(SIMD_REAL))

#if SIMD_SUMS < 16
/* FEW columns, `rows` rows, a constant at each call. */
SIMD_INLINE void SIMD_NAME(narrow)(int rows, const dot_small_job_t *job, const SIMD_REAL *a,
                                   const SIMD_REAL *b, SIMD_REAL *c) {
  SIMD_NAME(few) sums[4] = {0};
  for (int64_t p = 0; p < job->k; p++, a += job->a_col, b += job->b_row) {
    SIMD_NAME(few) line = *(const SIMD_NAME(part) *)b;
#pragma GCC unroll 4
    for (int r = 0; r < rows; r++) sums[r] += a[r * job->a_row] * line;
  }
#pragma GCC unroll 4
  for (int r = 0; r < rows; r++) *(SIMD_NAME(part) *)(c + r * job->c_row) = sums[r];
}

/* One column: sums over several rows side by side. */
SIMD_INLINE void SIMD_NAME(single)(int rows, const dot_small_job_t *job, const SIMD_REAL *a,
                                   const SIMD_REAL *b, SIMD_REAL *c) {
  SIMD_REAL sums[4] = {0};
  for (int64_t p = 0; p < job->k; p++, a += job->a_col, b += job->b_row)
#pragma GCC unroll 4
    for (int r = 0; r < rows; r++) sums[r] += a[r * job->a_row] * *b;
#pragma GCC unroll 4
  for (int r = 0; r < rows; r++) c[r * job->c_row] = sums[r];
}

/* Columns that do not fill a vector. */
SIMD_TARGET static void SIMD_NAME(rest)(int64_t rows, int64_t columns, const dot_small_job_t *job,
                                        const SIMD_REAL *a, const SIMD_REAL *b, SIMD_REAL *c) {
  for (int64_t j = 0; j < columns; j += columns - j >= FEW ? FEW : 1) {
    const SIMD_REAL *x = a;
    SIMD_REAL *to = c + j;
    bool is_narrow = columns - j >= FEW;
    int64_t left = rows;
    for (; left >= 4; left -= 4, x += 4 * job->a_row, to += 4 * job->c_row)
      if (is_narrow)
        SIMD_NAME(narrow)(4, job, x, b + j, to);
      else
        SIMD_NAME(single)(4, job, x, b + j, to);
    for (; left > 0; left--, x += job->a_row, to += job->c_row)
      if (is_narrow)
        SIMD_NAME(narrow)(1, job, x, b + j, to);
      else
        SIMD_NAME(single)(1, job, x, b + j, to);
  }
}
#endif

SIMD_INLINE void SIMD_NAME(whole_sums)(int rows, int vecs, gemm_last_t last, gemm_mode_t mode,
                                       const SIMD_NAME(target_t) * at, const SIMD_REAL *a,
                                       const SIMD_REAL *b, int64_t prefetch_rows, SIMD_REAL *c) {
  SIMD_NAME(tile)
  (rows, vecs, last, 1, mode, at, prefetch_rows,
   SIMD_NAME(place_of)(rows, at, (SIMD_NAME(operands_t)){.a = a, .b = b}), c);
}

/* All rows for VECS vectors of columns. ROWS is the largest block of rows that leaves registers for
 * the sums; blocks of 4, 3, 2 and 1 rows do the rest. The mode says whether c is set or added to
 * (passes over k after the first). last: columns of the last vector, if it is not whole. */
#define PANEL(NAME, VECS, ROWS, LAST)                                                          \
  SIMD_TARGET static void SIMD_NAME(panel##NAME)(const dot_small_job_t *job, gemm_mode_t mode, \
                                                 int64_t last, const SIMD_REAL *a,             \
                                                 const SIMD_REAL *b, SIMD_REAL *c) {           \
    if (mode == GEMM_SUBTRACT) __builtin_unreachable();                                        \
    const SIMD_NAME(target_t) at = {.k = job->k,                                               \
                                    .a_row = job->a_row,                                       \
                                    .a_col = job->a_col,                                       \
                                    .b_row = job->b_row,                                       \
                                    .c_row = job->c_row,                                       \
                                    .last = last};                                             \
    int64_t left = job->m;                                                                     \
    for (; left >= ROWS; left -= ROWS, a += ROWS * job->a_row, c += ROWS * job->c_row)         \
      SIMD_NAME(whole_sums)(ROWS, VECS, LAST, mode, &at, a, b, job->prefetch_rows, c);         \
    for (; left >= 4 && ROWS > 4; left -= 4, a += 4 * job->a_row, c += 4 * job->c_row)         \
      SIMD_NAME(whole_sums)(4, VECS, LAST, mode, &at, a, b, job->prefetch_rows, c);            \
    for (; left == 3 && ROWS > 3; left -= 3, a += 3 * job->a_row, c += 3 * job->c_row)         \
      SIMD_NAME(whole_sums)(3, VECS, LAST, mode, &at, a, b, job->prefetch_rows, c);            \
    for (; left >= 2 && ROWS > 2; left -= 2, a += 2 * job->a_row, c += 2 * job->c_row)         \
      SIMD_NAME(whole_sums)(2, VECS, LAST, mode, &at, a, b, job->prefetch_rows, c);            \
    for (; left >= 1; left--, a += job->a_row, c += job->c_row)                                \
      SIMD_NAME(whole_sums)(1, VECS, LAST, mode, &at, a, b, job->prefetch_rows, c);            \
  }
#if SIMD_SUMS == 16
PANEL(16, 16, 1, LAST_WHOLE)
PANEL(8, 8, 2, LAST_WHOLE)
PANEL(6, 6, 4, LAST_WHOLE)
PANEL(4, 4, 4, LAST_WHOLE)
PANEL(2, 2, 8, LAST_WHOLE)
PANEL(1_masked, 1, 8, LAST_MASKED)
PANEL(2_masked, 2, 8, LAST_MASKED)
PANEL(3_masked, 3, 8, LAST_MASKED)
#else
PANEL(8, 8, 1, LAST_WHOLE)
PANEL(4, 4, 2, LAST_WHOLE)
PANEL(2, 2, 6, LAST_WHOLE)
#endif
PANEL(1, 1, 8, LAST_WHOLE)

/* Whole vectors of columns, and those before the remaining columns. Few rows: wide strips, so that
 * long stretches of b are read; many: narrow ones, which reuse every element of b more often.
 * Returns the number of remaining columns: with masks none. */
SIMD_TARGET static int64_t SIMD_NAME(panels)(const dot_small_job_t *job, gemm_mode_t mode,
                                             int64_t left) {
  const SIMD_REAL *a = job->a, *b = job->b;
  SIMD_REAL *c = job->c;
#define PANELS(VECS, MAX_ROWS)                                     \
  for (; left >= VECS * LANES && job->m <= MAX_ROWS;               \
       left -= VECS * LANES, b += VECS * LANES, c += VECS * LANES) \
    SIMD_NAME(panel##VECS)(job, mode, 0, a, b, c);
#if SIMD_SUMS == 16
  PANELS(16, 1)
  PANELS(6, 4)
#endif
  PANELS(8, SIMD_SUMS / 8)
  PANELS(4, SIMD_SUMS / 4)
#if SIMD_SUMS == 16
  for (; left > 3 * LANES; left -= 2 * LANES, b += 2 * LANES, c += 2 * LANES)
    SIMD_NAME(panel2)(job, mode, 0, a, b, c);
  if (left % LANES) {
    (left < LANES       ? SIMD_NAME(panel1_masked)
     : left < 2 * LANES ? SIMD_NAME(panel2_masked)
                        : SIMD_NAME(panel3_masked))(job, mode, left % LANES, a, b, c);
    return 0;
  }
#endif
  PANELS(2, INT64_MAX)
  PANELS(1, INT64_MAX)
#undef PANELS
  return left;
}

/* Columns [begin, end) of the product of a with dense rows of b, `depth` of them at a time. */
SIMD_TARGET static void SIMD_NAME(columns)(const dot_small_job_t *job, int64_t begin, int64_t end) {
  const SIMD_REAL *a = job->a;
  const SIMD_REAL *b = (const SIMD_REAL *)job->b + begin;
  SIMD_REAL *c = (SIMD_REAL *)job->c + begin;
  int64_t left = 0;
  for (int64_t p = 0; p < job->k; p += job->depth) {
    dot_small_job_t some = *job;
    some.k = job->k - p < job->depth ? job->k - p : job->depth;
    some.a = a + p * job->a_col;
    some.b = b + p * job->b_row;
    some.c = c;
    left = SIMD_NAME(panels)(&some, p ? GEMM_ADD : GEMM_SET, end - begin);
  }
#if SIMD_SUMS < 16
  int64_t done = end - begin - left;
  if (left) SIMD_NAME(rest)(job->m, left, job, a, b + done, c + done);
#else
  (void)left;
#endif
}

/* Columns [begin, end), as rows of at most TURNED_ROWS sums that are written to columns of c. */
SIMD_TARGET static void SIMD_NAME(transposed)(const dot_small_job_t *job, int64_t begin,
                                              int64_t end) {
  SIMD_REAL results[TURNED_ROWS * TURNED_COLUMNS];
  for (int64_t i = begin; i < end; i += TURNED_COLUMNS) {
    int64_t count = hr_min(TURNED_COLUMNS, end - i);
    dot_small_job_t some = *job;
    some.b = (const SIMD_REAL *)job->b + i;
    some.c = results;
    some.c_row = TURNED_COLUMNS;
    SIMD_NAME(columns)(&some, 0, count);
    for (int64_t j = 0; j < count; j++)
      for (int64_t r = 0; r < job->m; r++)
        ((SIMD_REAL *)job->c)[(i + j) * job->c_col + r * job->c_row] =
            results[r * TURNED_COLUMNS + j];
  }
}

/* Adds the lanes of x by halves until 16 bytes are left, so that no long dependency chain
 * arises. */
SIMD_INLINE SIMD_NAME(few) SIMD_NAME(fold)(SIMD_NAME(acc) x) {
  union {
    SIMD_NAME(acc) whole;
    SIMD_NAME(few) parts[SIMD_BYTES / 16];
  } lanes = {x};
#pragma GCC unroll 4
  for (int half = SIMD_BYTES / 32; half; half /= 2)
#pragma GCC unroll 4
    for (int i = 0; i < half; i++) lanes.parts[i] += lanes.parts[i + half];
  return lanes.parts[0];
}

SIMD_INLINE SIMD_REAL SIMD_NAME(sum)(SIMD_NAME(few) x) {
  SIMD_REAL low = x[0];
  SIMD_REAL high = x[FEW / 2];
  if (FEW == 4) {
    low += x[1];
    high += x[FEW - 1];
  }
  return low + high;
}

/* `count` rows, a constant at each call: the sums of different rows are independent. Two
 * accumulators per row hide the latency of multiply-adds; then vectors, 16 bytes and single
 * elements do the end of the row, in this order, so that a sum does not depend on `count`. */
SIMD_INLINE void SIMD_NAME(row_group)(int count, const dot_small_job_t *job, const SIMD_REAL *row,
                                      SIMD_REAL *c) {
  const SIMD_REAL *x = job->b;
  SIMD_NAME(acc) sums[4][2] = {0};
  SIMD_NAME(few) ends[4];
  int64_t p = 0;
  for (; p + 2 * LANES <= job->k; p += 2 * LANES)
#pragma GCC unroll 4
    for (int r = 0; r < count; r++)
#pragma GCC unroll 2
      for (int v = 0; v < 2; v++)
        sums[r][v] += ((const SIMD_NAME(vec) *)(row + r * job->a_row + p))[v] *
                      ((const SIMD_NAME(vec) *)(x + p))[v];
  for (; p + LANES <= job->k; p += LANES)
#pragma GCC unroll 4
    for (int r = 0; r < count; r++)
      sums[r][0] +=
          *(const SIMD_NAME(vec) *)(row + r * job->a_row + p) * *(const SIMD_NAME(vec) *)(x + p);
#pragma GCC unroll 4
  for (int r = 0; r < count; r++) ends[r] = SIMD_NAME(fold)(sums[r][0] + sums[r][1]);
  for (; p + FEW <= job->k; p += FEW)
#pragma GCC unroll 4
    for (int r = 0; r < count; r++)
      ends[r] +=
          *(const SIMD_NAME(part) *)(row + r * job->a_row + p) * *(const SIMD_NAME(part) *)(x + p);
#pragma GCC unroll 4
  for (int r = 0; r < count; r++) {
    SIMD_REAL total = SIMD_NAME(sum)(ends[r]);
    for (int64_t q = p; q < job->k; q++) total += row[r * job->a_row + q] * x[q];
    c[r * job->c_row] = total;
  }
}

/* c[i] = row i of a, dense, times the dense vector b, for rows [begin, end). */
SIMD_TARGET static void SIMD_NAME(rows)(const dot_small_job_t *job, int64_t begin, int64_t end) {
  const SIMD_REAL *row = (const SIMD_REAL *)job->a + begin * job->a_row;
  SIMD_REAL *c = (SIMD_REAL *)job->c + begin * job->c_row;
  int64_t left = end - begin;
  for (; left >= 4; left -= 4, row += 4 * job->a_row, c += 4 * job->c_row)
    SIMD_NAME(row_group)(4, job, row, c);
  for (; left > 0; left--, row += job->a_row, c += job->c_row) SIMD_NAME(row_group)(1, job, row, c);
}

/* Sums of the lanes of FEW vectors, as a vector of 16 bytes: halves of pairs of vectors are
 * interleaved and added, until the lanes of all of them are side by side. */
SIMD_INLINE SIMD_NAME(few) SIMD_NAME(sums_of)(const SIMD_NAME(acc) x[FEW]) {
  typedef __typeof__((SIMD_NAME(acc)){0} == (SIMD_NAME(acc)){0}) mask_t;
  SIMD_NAME(acc) pairs[FEW / 2];
  mask_t low, high;
#pragma GCC unroll 16
  for (int i = 0; i < LANES; i++) {
    low[i] = i / FEW * FEW + i % FEW / 2 + i % 2 * LANES;
    high[i] = low[i] + FEW / 2;
  }
#pragma GCC unroll 2
  for (int i = 0; i < FEW / 2; i++)
    pairs[i] =
        SIMD_SHUFFLE_2(x[2 * i], x[2 * i + 1], low) + SIMD_SHUFFLE_2(x[2 * i], x[2 * i + 1], high);
  if (FEW == 2) return SIMD_NAME(fold)(pairs[0]);
#pragma GCC unroll 16
  for (int i = 0; i < LANES; i++) {
    low[i] = i / FEW * FEW + i % 2 + i % FEW / 2 * LANES;
    high[i] = low[i] + 2;
  }
  return SIMD_NAME(fold)(SIMD_SHUFFLE_2(pairs[0], pairs[FEW / 2 - 1], low) +
                         SIMD_SHUFFLE_2(pairs[0], pairs[FEW / 2 - 1], high));
}

/* Adds the terms from `p` on that do not fill a vector: under a mask, if there are masks. Returns
 * the number of terms that are added. */
SIMD_INLINE int64_t SIMD_NAME(pair_rest)(int columns, const dot_small_job_t *job,
                                         const SIMD_REAL *a, const SIMD_REAL *b, int64_t p,
                                         SIMD_NAME(acc) sums[PAIR_COLUMNS][PAIR_ROWS]) {
#if SIMD_BYTES == 64
  const int64_t count = job->k - p;
  SIMD_NAME(acc) line[PAIR_COLUMNS];
  if (p == job->k) return p;
#pragma GCC unroll 4
  for (int j = 0; j < columns; j++) line[j] = SIMD_NAME(load_first)(count, b + j * job->b_col + p);
#pragma GCC unroll 4
  for (int r = 0; r < PAIR_ROWS; r++) {
    SIMD_NAME(acc) x = SIMD_NAME(load_first)(count, a + r * job->a_row + p);
#pragma GCC unroll 4
    for (int j = 0; j < columns; j++) sums[j][r] += x * line[j];
  }
  return job->k;
#else
  (void)columns, (void)job, (void)a, (void)b, (void)sums;
  return p;
#endif
}

/* PAIR_ROWS rows with `columns` columns, a constant at each call: each loaded vector is used in
 * several sums. */
SIMD_INLINE void SIMD_NAME(pair_group)(int columns, const dot_small_job_t *job, const SIMD_REAL *a,
                                       const SIMD_REAL *b, SIMD_REAL *c) {
  SIMD_NAME(acc) sums[PAIR_COLUMNS][PAIR_ROWS] = {0};
  int64_t p = 0;
  for (; p + LANES <= job->k; p += LANES) {
    SIMD_NAME(acc) line[PAIR_COLUMNS];
#pragma GCC unroll 4
    for (int j = 0; j < columns; j++) line[j] = *(const SIMD_NAME(vec) *)(b + j * job->b_col + p);
#pragma GCC unroll 4
    for (int r = 0; r < PAIR_ROWS; r++)
#pragma GCC unroll 4
      for (int j = 0; j < columns; j++)
        sums[j][r] += *(const SIMD_NAME(vec) *)(a + r * job->a_row + p) * line[j];
#pragma GCC unroll 4
    for (int r = 0; r < PAIR_ROWS; r++)
      __builtin_prefetch((const char *)(a + r * job->a_row + p) + PREFETCH_PAIRS);
  }
  p = SIMD_NAME(pair_rest)(columns, job, a, b, p, sums);
#pragma GCC unroll 4
  for (int j = 0; j < columns; j++)
#pragma GCC unroll 4
    for (int i = 0; i < PAIR_ROWS; i += FEW) {
      SIMD_NAME(few) total = SIMD_NAME(sums_of)(&sums[j][i]);
#pragma GCC unroll 4
      for (int r = i; r < i + FEW; r++) {
        for (int64_t q = p; q < job->k; q++)
          total[r - i] += a[r * job->a_row + q] * b[j * job->b_col + q];
        c[r * job->c_row + j * job->c_col] = total[r - i];
      }
    }
}

/* Dispatches to constant counts, so that the compiler unrolls and keeps sums in registers. */
SIMD_TARGET static void SIMD_NAME(pair_columns)(int columns, const dot_small_job_t *job,
                                                const SIMD_REAL *a, const SIMD_REAL *b,
                                                SIMD_REAL *c) {
  switch (columns) {
    case 1:
      SIMD_NAME(pair_group)(1, job, a, b, c);
      break;
    case 2:
      SIMD_NAME(pair_group)(2, job, a, b, c);
      break;
    case 3:
      SIMD_NAME(pair_group)(3, job, a, b, c);
      break;
    default:
      SIMD_NAME(pair_group)(PAIR_COLUMNS, job, a, b, c);
  }
}

/* Rows [begin, end) of the product of dense rows of a with dense columns of b: some rows with every
 * column, so that a is read once. */
SIMD_TARGET static void SIMD_NAME(pairs)(const dot_small_job_t *job, int64_t begin, int64_t end) {
  const SIMD_REAL *a = (const SIMD_REAL *)job->a + begin * job->a_row;
  const SIMD_REAL *b = job->b;
  SIMD_REAL *c = (SIMD_REAL *)job->c + begin * job->c_row;
  int64_t left = end - begin;
  for (; left >= PAIR_ROWS;
       left -= PAIR_ROWS, a += PAIR_ROWS * job->a_row, c += PAIR_ROWS * job->c_row)
    for (int64_t j = 0; j < job->n; j += PAIR_COLUMNS) SIMD_NAME(pair_columns)
  (job->n - j < PAIR_COLUMNS ? (int)(job->n - j) : PAIR_COLUMNS, job, a, b + j * job->b_col,
   c + j * job->c_col);
  for (int64_t j = 0; j < job->n; j++) {
    dot_small_job_t one = *job;
    one.a = a;
    one.b = b + j * job->b_col;
    one.c = c + j * job->c_col;
    SIMD_NAME(rows)(&one, 0, left);
  }
}

#include "ops/kernels/dot/dot_small_padded.h"

/* At most 4 columns, a constant at each call, with any strides of a and b. */
SIMD_INLINE void SIMD_NAME(tiny_rows)(int columns, const dot_small_job_t *job, int64_t begin,
                                      int64_t end) {
  const SIMD_REAL *a = (const SIMD_REAL *)job->a + begin * job->a_row;
  SIMD_REAL *c = (SIMD_REAL *)job->c + begin * job->c_row;
  for (int64_t i = begin; i < end; i++, a += job->a_row, c += job->c_row) {
    const SIMD_REAL *b = job->b;
    SIMD_REAL sums[4] = {0};
    for (int64_t p = 0; p < job->k; p++, b += job->b_row)
#pragma GCC unroll 4
      for (int j = 0; j < columns; j++) sums[j] += a[p * job->a_col] * b[j * job->b_col];
#pragma GCC unroll 4
    for (int j = 0; j < columns; j++) c[j] = sums[j];
  }
}

/* One column, contiguous rows of TERMS elements: with a constant number of terms the compiler
 * vectorises over rows. */
#define TINY_COLUMN(TERMS)                                                  \
  ROWS_AT_A_TIME SIMD_TARGET static void SIMD_NAME(tiny_column##TERMS)(     \
      const dot_small_job_t *job, int64_t begin, int64_t end) {             \
    const SIMD_REAL *restrict a = job->a, *b = job->b;                      \
    SIMD_REAL *restrict c = job->c, factors[TERMS];                         \
    for (int p = 0; p < TERMS; p++) factors[p] = b[p * job->b_row];         \
    for (int64_t i = begin; i < end; i++) {                                 \
      SIMD_REAL sum = 0;                                                    \
      for (int p = 0; p < TERMS; p++) sum += a[i * TERMS + p] * factors[p]; \
      c[i] = sum;                                                           \
    }                                                                       \
  }
TINY_COLUMN(1)
TINY_COLUMN(2)
TINY_COLUMN(3)
TINY_COLUMN(4)
#undef TINY_COLUMN

static void (*const SIMD_NAME(tiny_columns)[])(const dot_small_job_t *job, int64_t begin,
                                               int64_t end) = {
    SIMD_NAME(tiny_column1), SIMD_NAME(tiny_column2), SIMD_NAME(tiny_column3),
    SIMD_NAME(tiny_column4)};

/* The dense single column has its own loops; k is 1 .. 4 here (plan_job). */
SIMD_TARGET static void SIMD_NAME(tiny)(const dot_small_job_t *job, int64_t begin, int64_t end) {
  if (job->n == 1 && job->c_row == 1 && job->a_col == 1 && job->a_row == job->k) {
    SIMD_NAME(tiny_columns)[job->k - 1](job, begin, end);
    return;
  }
  switch (job->n) {
    case 1:
      SIMD_NAME(tiny_rows)(1, job, begin, end);
      break;
    case 2:
      SIMD_NAME(tiny_rows)(2, job, begin, end);
      break;
    case 3:
      SIMD_NAME(tiny_rows)(3, job, begin, end);
      break;
    default:
      SIMD_NAME(tiny_rows)(4, job, begin, end);
  }
}

#undef PANEL
#undef SIMD_INLINE
#undef LANES
#undef FEW
