/* Products of few rows with a matrix that comes from memory: what dot_thin.c, which plans them, and
 * the loops over integers in dot_thin_pairs.c share. */
#ifndef HLO_OPS_DOT_THIN_H
#define HLO_OPS_DOT_THIN_H

#include <stdint.h>

#include "base/dtype.h"

#define THIN_ROWS 8          /* most rows of a */
#define THIN_COLUMNS_AHEAD 8 /* prefetch distance of loops by columns, in columns */

/* c[m][n] = a[m][k] b[k][n]. Sums of floats have a and c of f32; sums of integers have a of s16,
 * whose rows are padded with zeros to whole pairs, and c of 32 bits. */
typedef struct thin_job {
  union {
    const float *a;
    const int16_t *a_pairs;
  };
  const char *b;
  union {
    float *c;
    int32_t *c_sums;
  };
  int64_t m, k, a_row, c_row; /* elements */
  int64_t b_bytes;            /* size of an element */
  int64_t b_row_bytes, b_col_bytes;
} thin_job_t;

/* Computes columns [begin, end). */
typedef void (*thin_fn)(const thin_job_t *job, int64_t begin, int64_t end);

#define THIN_PAIR_COLUMNS 16 /* least columns of the loops by rows of dot_thin_pairs_loop */
/* The loop for b of a type that dot_fits_16_bits, by its dense columns or rows; NULL if the
 * processor has none. */
thin_fn dot_thin_pairs_loop(hr_dtype_t type, bool by_columns);

#endif
