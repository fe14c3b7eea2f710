/* Products whose left matrix is almost all zeros, such as the one-hot masks that send tokens to
 * experts and back, or look up rows of a table: only nonzero elements are multiplied. */
#ifndef HLO_OPS_DOT_SPARSE_H
#define HLO_OPS_DOT_SPARSE_H

#include "ops/kernels/gemm/gemm.h"

/* True if type, sizes and strides of a product are suitable, for plans. */
bool dot_sparse_suits(const gemm_job_t *job);

/* Computes the product of a job with addresses if samples show that its left matrix is sparse, and
 * its right one is finite (0 * infinity is not 0). False: nothing is written. The decision and the
 * order of sums depend on the data only, not on the workers. workers: may be NULL. */
bool dot_sparse_run(hr_workers_t *workers, const gemm_job_t *job);

#endif
