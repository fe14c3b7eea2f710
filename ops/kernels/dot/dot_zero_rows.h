/* Products with many rows, or terms, of zeros: gradients of a loss that reads few rows of its
 * operand (a class token, masked or last tokens, places that are no padding). The others alone are
 * multiplied. */
#ifndef HLO_OPS_DOT_ZERO_ROWS_H
#define HLO_OPS_DOT_ZERO_ROWS_H

#include "ops/kernels/gemm/gemm.h"

/* True if type, sizes and strides of a product are suitable, for plans. */
bool dot_zero_rows_suits(const gemm_job_t *job);

/* Bytes of the scratch memory of dot_zero_rows_run, in which `partition` is that of the whole
 * product. */
size_t dot_zero_rows_scratch_bytes(const gemm_job_t *job, const gemm_partition_t *partition,
                                   int workers);

/* Computes the product of a job with addresses if at least three quarters of the rows of the left
 * matrix, or half of the terms, are zeros, and what they are multiplied by is finite (0 * infinity
 * is not 0).
 * False: nothing is written. The decision and the order of sums depend on the data only, not on the
 * workers. workers: may be NULL. */
bool dot_zero_rows_run(hr_workers_t *workers, const gemm_job_t *job,
                       const gemm_partition_t *partition, void *scratch);

#endif
