/* The padded loop of dot_small.c: a small b is copied to whole vectors of columns, and rows of
 * results are cut. dot_small_tiles.h includes this file once for each vector width and type. */
#include "ops/kernels/simd/simd_square.h"

SIMD_DEFINE_SQUARE(SIMD_NAME(square), SIMD_INLINE, SIMD_NAME(acc))

/* Terms [p, p + terms) of column `j` of b, whose columns are dense; zeros beyond the last one. */
SIMD_INLINE SIMD_NAME(acc)
    SIMD_NAME(column_part)(const dot_small_job_t *job, int64_t j, int64_t p, int64_t terms) {
  const SIMD_REAL *from = (const SIMD_REAL *)job->b + j * job->b_col + p;
  if (j >= job->n) return (SIMD_NAME(acc)){0};
#if SIMD_BYTES == 64
  if (terms < LANES) return SIMD_NAME(load_first)(terms, from);
#else
  (void)terms;
#endif
  return *(const SIMD_NAME(vec) *)from;
}

/* Copies b, whose columns are dense, to rows of `width` columns, by squares. Terms fill vectors, or
 * there are masks. */
SIMD_TARGET static void SIMD_NAME(copy_transposed)(const dot_small_job_t *job, int64_t width,
                                                   SIMD_REAL *to) {
  SIMD_NAME(acc) x[LANES];
  for (int64_t j = 0; j < width; j += LANES)
    for (int64_t p = 0; p < job->k; p += LANES) {
      int64_t terms = hr_min(LANES, job->k - p);
#pragma GCC unroll 16
      for (int i = 0; i < LANES; i++) x[i] = SIMD_NAME(column_part)(job, j + i, p, terms);
      SIMD_NAME(square_transpose)(x);
      for (int i = 0; i < terms; i++) *(SIMD_NAME(vec) *)(to + (p + i) * width + j) = x[i];
    }
}

/* Copies b to rows of `width` columns. Surplus elements are never written to c: zeros, or elements
 * of the next rows if rows of b are dense and shorter than a vector. */
SIMD_TARGET static void SIMD_NAME(copy_padded)(const dot_small_job_t *job, int64_t width,
                                               SIMD_REAL *to) {
  const SIMD_REAL *b = job->b;
  int64_t p = 0;
  if (job->b_row == 1 && job->b_col != 1 && (SIMD_BYTES == 64 || job->k % LANES == 0)) {
    SIMD_NAME(copy_transposed)(job, width, to);
    return;
  }
  for (; job->b_col == 1 && (job->k - 1 - p) * job->b_row + job->n >= LANES; p++)
    *(SIMD_NAME(vec) *)(to + p * width) = *(const SIMD_NAME(vec) *)(b + p * job->b_row);
  memset(to + p * width, 0, (size_t)((job->k - p) * width) * sizeof *to);
  for (; p < job->k; p++)
    for (int64_t j = 0; j < job->n; j++) to[p * width + j] = b[p * job->b_row + j * job->b_col];
}

/* Writes rows of results, `width` apart, to c, of which `reals` remain from here on. Vectors reach
 * into the next row, which is written later; at the end they do not. */
SIMD_TARGET static void SIMD_NAME(write_padded)(const dot_small_job_t *job, const SIMD_REAL *from,
                                                int64_t rows, int64_t width, int64_t reals,
                                                SIMD_REAL *c) {
  for (int64_t r = 0; r < rows; r++, from += width, c += job->c_row, reals -= job->c_row)
    if (reals < width)
      memcpy(c, from, (size_t)job->n * sizeof *c);
    else
      for (int64_t j = 0; j < width; j += LANES)
        *(SIMD_NAME(vec) *)(c + j) = *(const SIMD_NAME(vec) *)(from + j);
}

/* Rows [begin, end) with a small b whose columns are dense or do not fill vectors. Rows of c are
 * dense. */
SIMD_TARGET static void SIMD_NAME(padded)(const dot_small_job_t *job, int64_t begin, int64_t end) {
  SIMD_REAL copy[PADDED_REALS], results[PADDED_ROWS * PADDED_COLUMNS];
  int64_t width = hr_round_up(job->n, LANES);
  dot_small_job_t some = *job;
  SIMD_NAME(copy_padded)(job, width, copy);
  some.b = copy;
  some.b_row = width;
  some.c = results;
  some.c_row = width;
  for (int64_t i = begin; i < end; i += PADDED_ROWS) {
    some.m = hr_min(PADDED_ROWS, end - i);
    some.a = (const SIMD_REAL *)job->a + i * job->a_row;
    SIMD_NAME(panels)(&some, GEMM_SET, width);
    SIMD_NAME(write_padded)
    (job, results, some.m, width, (end - i) * job->c_row, (SIMD_REAL *)job->c + i * job->c_row);
  }
}
