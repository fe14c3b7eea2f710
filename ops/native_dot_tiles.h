/* The loops of native_dot_small.c for one width of vectors. Included once per width, after what gemm_tile.h asks for is
 * defined. */
#include "ops/gemm_tile.h"

typedef TILES_REAL TILES_NAME(part) __attribute__((vector_size(16), aligned(sizeof(TILES_REAL)), may_alias));
typedef TILES_REAL TILES_NAME(few) __attribute__((vector_size(16)));
#define FEW (16 / (int)sizeof(TILES_REAL))

/* FEW columns, `rows` rows, a constant where this is called. */
TILES_INLINE void TILES_NAME(narrow)(int rows, const dot_small_job_t *job,
                                                                                  const TILES_REAL *a,
                                                                                  const TILES_REAL *b, TILES_REAL *c) {
  TILES_NAME(few) sums[4] = {0};
  for (int64_t p = 0; p < job->k; p++, a += job->a_col, b += job->b_row) {
    TILES_NAME(few) line = *(const TILES_NAME(part) *)b;
#pragma GCC unroll 4
    for (int r = 0; r < rows; r++) sums[r] += a[r * job->a_row] * line;
  }
#pragma GCC unroll 4
  for (int r = 0; r < rows; r++) *(TILES_NAME(part) *)(c + r * job->c_row) = sums[r];
}

/* One column: sums over several rows side by side. */
TILES_INLINE void TILES_NAME(single)(int rows, const dot_small_job_t *job,
                                                                                  const TILES_REAL *a,
                                                                                  const TILES_REAL *b, TILES_REAL *c) {
  TILES_REAL sums[4] = {0};
  for (int64_t p = 0; p < job->k; p++, a += job->a_col, b += job->b_row)
#pragma GCC unroll 4
    for (int r = 0; r < rows; r++) sums[r] += a[r * job->a_row] * *b;
#pragma GCC unroll 4
  for (int r = 0; r < rows; r++) c[r * job->c_row] = sums[r];
}

/* Columns that do not fill a vector. */
TILES_TARGET static void TILES_NAME(rest)(int64_t rows, int64_t columns, const dot_small_job_t *job,
                                          const TILES_REAL *a, const TILES_REAL *b, TILES_REAL *c) {
  for (int64_t j = 0; j < columns; j += columns - j >= FEW ? FEW : 1) {
    const TILES_REAL *x = a;
    TILES_REAL *to = c + j;
    bool is_narrow = columns - j >= FEW;
    int64_t left = rows;
    for (; left >= 4; left -= 4, x += 4 * job->a_row, to += 4 * job->c_row)
      if (is_narrow)
        TILES_NAME(narrow)(4, job, x, b + j, to);
      else
        TILES_NAME(single)(4, job, x, b + j, to);
    for (; left > 0; left--, x += job->a_row, to += job->c_row)
      if (is_narrow)
        TILES_NAME(narrow)(1, job, x, b + j, to);
      else
        TILES_NAME(single)(1, job, x, b + j, to);
  }
}

/* All rows for `vecs` vectors of columns. */
#define STRIP(VECS, ROWS)                                                                                       \
  TILES_TARGET static void TILES_NAME(strip##VECS)(const dot_small_job_t *job, gemm_mode_t mode,                \
                                                   const TILES_REAL *a, const TILES_REAL *b, TILES_REAL *c) {   \
    if (mode == GEMM_SUBTRACT) __builtin_unreachable();                                                         \
    const TILES_NAME(place_t) at = {job->k, job->a_row, job->a_col, job->b_row, job->c_row};                    \
    int64_t left = job->m;                                                                                      \
    for (; left >= ROWS; left -= ROWS, a += ROWS * job->a_row, c += ROWS * job->c_row)                          \
      TILES_NAME(tile_keeping)(ROWS, VECS, mode, &at, a, b, job->ahead, NULL, c);                               \
    for (; left >= 4 && ROWS > 4; left -= 4, a += 4 * job->a_row, c += 4 * job->c_row)                          \
      TILES_NAME(tile_keeping)(4, VECS, mode, &at, a, b, job->ahead, NULL, c);                                  \
    for (; left >= 2 && ROWS > 2; left -= 2, a += 2 * job->a_row, c += 2 * job->c_row)                          \
      TILES_NAME(tile_keeping)(2, VECS, mode, &at, a, b, job->ahead, NULL, c);                                  \
    for (; left >= 1; left--, a += job->a_row, c += job->c_row)                                                 \
      TILES_NAME(tile_keeping)(1, VECS, mode, &at, a, b, job->ahead, NULL, c);                                  \
  }
#if TILES_SUMS == 16
STRIP(16, 1)
STRIP(8, 2)
STRIP(6, 4)
STRIP(4, 4)
STRIP(2, 8)
#else
STRIP(8, 1)
STRIP(4, 2)
STRIP(2, 4)
#endif
STRIP(1, 8)

/* Whole vectors of columns. Few rows: wide strips, so that long stretches of b are read; many: narrow ones, which use
 * every element of b more often. Gives how many columns are left. */
TILES_TARGET static int64_t TILES_NAME(strips)(const dot_small_job_t *job, gemm_mode_t mode, int64_t left) {
  const TILES_REAL *a = job->a, *b = job->b;
  TILES_REAL *c = job->c;
#define STRIPS(VECS, MAX_ROWS)                                                                                   \
  for (; left >= VECS * LANES && job->m <= MAX_ROWS; left -= VECS * LANES, b += VECS * LANES, c += VECS * LANES) \
    TILES_NAME(strip##VECS)(job, mode, a, b, c);
#if TILES_SUMS == 16
  STRIPS(16, 1)
  STRIPS(6, 4)
#endif
  STRIPS(8, TILES_SUMS / 8)
  STRIPS(4, TILES_SUMS / 4)
  STRIPS(2, INT64_MAX)
  STRIPS(1, INT64_MAX)
#undef STRIPS
  return left;
}

/* Columns [begin, end) of the product of a with rows of b that are dense, `depth` of them at a time. */
TILES_TARGET static void TILES_NAME(columns)(const dot_small_job_t *job, int64_t begin, int64_t end) {
  const TILES_REAL *a = job->a, *b = (const TILES_REAL *)job->b + begin;
  TILES_REAL *c = (TILES_REAL *)job->c + begin;
  int64_t left = 0;
  for (int64_t p = 0; p < job->k; p += job->depth) {
    dot_small_job_t some = *job;
    some.k = job->k - p < job->depth ? job->k - p : job->depth;
    some.a = a + p * job->a_col, some.b = b + p * job->b_row, some.c = c;
    left = TILES_NAME(strips)(&some, p ? GEMM_ADD : GEMM_SET, end - begin);
  }
  int64_t done = end - begin - left;
  if (left) TILES_NAME(rest)(job->m, left, job, a, b + done, c + done);
}

/* The lanes of x, added up until those of 16 bytes are left: halves to halves, so that no long chain waits. */
TILES_INLINE TILES_NAME(few) TILES_NAME(fold)(TILES_NAME(acc) x) {
  union {
    TILES_NAME(acc) whole;
    TILES_NAME(few) parts[TILES_BYTES / 16];
  } lanes = {x};
#pragma GCC unroll 4
  for (int half = TILES_BYTES / 32; half; half /= 2)
#pragma GCC unroll 4
    for (int i = 0; i < half; i++) lanes.parts[i] += lanes.parts[i + half];
  return lanes.parts[0];
}

TILES_INLINE TILES_REAL TILES_NAME(sum)(TILES_NAME(few) x) {
  TILES_REAL low = x[0], high = x[FEW / 2];
  if (FEW == 4) low += x[1], high += x[FEW - 1];
  return low + high;
}

/* `count` rows, a constant where this is called: the sums of one do not wait for those of another. */
TILES_INLINE void TILES_NAME(row_group)(int count,
                                                                                     const dot_small_job_t *job,
                                                                                     const TILES_REAL *row,
                                                                                     TILES_REAL *c) {
  const TILES_REAL *x = job->b;
  TILES_NAME(acc) sums[4][2] = {0};
  TILES_NAME(few) ends[4];
  int64_t p = 0;
  for (; p + 2 * LANES <= job->k; p += 2 * LANES)
#pragma GCC unroll 4
    for (int r = 0; r < count; r++)
#pragma GCC unroll 2
      for (int v = 0; v < 2; v++)
        sums[r][v] +=
            ((const TILES_NAME(vec) *)(row + r * job->a_row + p))[v] * ((const TILES_NAME(vec) *)(x + p))[v];
  for (; p + LANES <= job->k; p += LANES)
#pragma GCC unroll 4
    for (int r = 0; r < count; r++)
      sums[r][0] += *(const TILES_NAME(vec) *)(row + r * job->a_row + p) * *(const TILES_NAME(vec) *)(x + p);
#pragma GCC unroll 4
  for (int r = 0; r < count; r++) ends[r] = TILES_NAME(fold)(sums[r][0] + sums[r][1]);
  for (; p + FEW <= job->k; p += FEW)
#pragma GCC unroll 4
    for (int r = 0; r < count; r++)
      ends[r] += *(const TILES_NAME(part) *)(row + r * job->a_row + p) * *(const TILES_NAME(part) *)(x + p);
#pragma GCC unroll 4
  for (int r = 0; r < count; r++) {
    TILES_REAL total = TILES_NAME(sum)(ends[r]);
    for (int64_t q = p; q < job->k; q++) total += row[r * job->a_row + q] * x[q];
    c[r * job->c_row] = total;
  }
}

/* c[i] = row i of a, dense, times the dense vector b, for rows [begin, end). */
TILES_TARGET static void TILES_NAME(rows)(const dot_small_job_t *job, int64_t begin, int64_t end) {
  const TILES_REAL *row = (const TILES_REAL *)job->a + begin * job->a_row;
  TILES_REAL *c = (TILES_REAL *)job->c + begin * job->c_row;
  int64_t left = end - begin;
  for (; left >= 4; left -= 4, row += 4 * job->a_row, c += 4 * job->c_row) TILES_NAME(row_group)(4, job, row, c);
  for (; left > 0; left--, row += job->a_row, c += job->c_row) TILES_NAME(row_group)(1, job, row, c);
}

/* PAIR_ROWS rows with `columns` columns, a constant where this is called: all as it is read goes into several sums. */
TILES_INLINE void TILES_NAME(pair_group)(int columns, const dot_small_job_t *job, const TILES_REAL *a,
                                         const TILES_REAL *b, TILES_REAL *c) {
  TILES_NAME(acc) sums[PAIR_ROWS][PAIR_COLUMNS] = {0};
  int64_t p = 0;
  for (; p + LANES <= job->k; p += LANES) {
    TILES_NAME(acc) line[PAIR_COLUMNS];
#pragma GCC unroll 4
    for (int j = 0; j < columns; j++) line[j] = *(const TILES_NAME(vec) *)(b + j * job->b_col + p);
#pragma GCC unroll 4
    for (int r = 0; r < PAIR_ROWS; r++)
#pragma GCC unroll 4
      for (int j = 0; j < columns; j++) sums[r][j] += *(const TILES_NAME(vec) *)(a + r * job->a_row + p) * line[j];
#pragma GCC unroll 4
    for (int r = 0; r < PAIR_ROWS; r++) __builtin_prefetch((const char *)(a + r * job->a_row + p) + PAIRS_AHEAD);
  }
#pragma GCC unroll 4
  for (int r = 0; r < PAIR_ROWS; r++)
#pragma GCC unroll 4
    for (int j = 0; j < columns; j++) {
      TILES_REAL total = TILES_NAME(sum)(TILES_NAME(fold)(sums[r][j]));
      for (int64_t q = p; q < job->k; q++) total += a[r * job->a_row + q] * b[j * job->b_col + q];
      c[r * job->c_row + j * job->c_col] = total;
    }
}

TILES_TARGET static void TILES_NAME(pair_columns)(int columns, const dot_small_job_t *job, const TILES_REAL *a,
                                                  const TILES_REAL *b, TILES_REAL *c) {
  switch (columns) {
    case 1: TILES_NAME(pair_group)(1, job, a, b, c); break;
    case 2: TILES_NAME(pair_group)(2, job, a, b, c); break;
    case 3: TILES_NAME(pair_group)(3, job, a, b, c); break;
    default: TILES_NAME(pair_group)(PAIR_COLUMNS, job, a, b, c);
  }
}

/* Rows [begin, end) of the product of a, whose rows are dense, with b, whose columns are: some rows with every column,
 * so that a is read once. */
TILES_TARGET static void TILES_NAME(pairs)(const dot_small_job_t *job, int64_t begin, int64_t end) {
  const TILES_REAL *a = (const TILES_REAL *)job->a + begin * job->a_row, *b = job->b;
  TILES_REAL *c = (TILES_REAL *)job->c + begin * job->c_row;
  int64_t left = end - begin;
  for (; left >= PAIR_ROWS; left -= PAIR_ROWS, a += PAIR_ROWS * job->a_row, c += PAIR_ROWS * job->c_row)
    for (int64_t j = 0; j < job->n; j += PAIR_COLUMNS)
      TILES_NAME(pair_columns)(job->n - j < PAIR_COLUMNS ? (int)(job->n - j) : PAIR_COLUMNS, job, a,
                               b + j * job->b_col, c + j * job->c_col);
  for (int64_t j = 0; j < job->n; j++) {
    dot_small_job_t one = *job;
    one.a = a, one.b = b + j * job->b_col, one.c = c + j * job->c_col;
    TILES_NAME(rows)(&one, 0, left);
  }
}

/* A few columns, a constant where this is called, of whatever lies anyhow. */
TILES_INLINE void TILES_NAME(tiny_rows)(int columns, const dot_small_job_t *job, int64_t begin, int64_t end) {
  const TILES_REAL *a = (const TILES_REAL *)job->a + begin * job->a_row;
  TILES_REAL *c = (TILES_REAL *)job->c + begin * job->c_row;
  for (int64_t i = begin; i < end; i++, a += job->a_row, c += job->c_row) {
    const TILES_REAL *b = job->b;
    TILES_REAL sums[4] = {0};
    for (int64_t p = 0; p < job->k; p++, b += job->b_row)
#pragma GCC unroll 4
      for (int j = 0; j < columns; j++) sums[j] += a[p * job->a_col] * b[j * job->b_col];
#pragma GCC unroll 4
    for (int j = 0; j < columns; j++) c[j] = sums[j];
  }
}

/* One column, rows one behind the other: the compiler takes several rows at a time if it knows their terms. */
#define TINY_COLUMN(TERMS)                                                                                          \
  ROWS_AT_A_TIME TILES_TARGET static void TILES_NAME(tiny_column##TERMS)(const dot_small_job_t *job, int64_t begin, \
                                                                         int64_t end) {                             \
    const TILES_REAL *restrict a = job->a, *b = job->b;                                                             \
    TILES_REAL *restrict c = job->c, factors[TERMS];                                                                \
    for (int p = 0; p < TERMS; p++) factors[p] = b[p * job->b_row];                                                 \
    for (int64_t i = begin; i < end; i++) {                                                                         \
      TILES_REAL sum = 0;                                                                                           \
      for (int p = 0; p < TERMS; p++) sum += a[i * TERMS + p] * factors[p];                                         \
      c[i] = sum;                                                                                                   \
    }                                                                                                               \
  }
TINY_COLUMN(1)
TINY_COLUMN(2)
TINY_COLUMN(3)
TINY_COLUMN(4)
#undef TINY_COLUMN

static void (*const TILES_NAME(tiny_columns)[])(const dot_small_job_t *job, int64_t begin, int64_t end) = {
    TILES_NAME(tiny_column1), TILES_NAME(tiny_column2), TILES_NAME(tiny_column3), TILES_NAME(tiny_column4)};

TILES_TARGET static void TILES_NAME(tiny)(const dot_small_job_t *job, int64_t begin, int64_t end) {
  if (job->n == 1 && job->c_row == 1 && job->a_col == 1 && job->a_row == job->k) {
    TILES_NAME(tiny_columns)[job->k - 1](job, begin, end);
    return;
  }
  switch (job->n) {
    case 1: TILES_NAME(tiny_rows)(1, job, begin, end); break;
    case 2: TILES_NAME(tiny_rows)(2, job, begin, end); break;
    case 3: TILES_NAME(tiny_rows)(3, job, begin, end); break;
    default: TILES_NAME(tiny_rows)(4, job, begin, end);
  }
}

#undef STRIP
#undef TILES_INLINE
#undef LANES
#undef FEW
