/* Matrices of a batch whose last rows or terms are zeros, such as the free places of an expert:
 * these terms are skipped, and one row is computed for all rows of zeros. */
#ifndef HLO_OPS_DOT_ZERO_TAIL_H
#define HLO_OPS_DOT_ZERO_TAIL_H

#include "ops/kernels/gemm/gemm.h"

/* Reduces m and k of a job with addresses, of a real type and without offset lists. Returns the
 * number of rows of c after the job's last one that are equal to it (dot_repeat_last_row). Sums
 * keep their bits. Depends on the data only. */
int64_t dot_leave_out_zeros(gemm_job_t *job);

/* Copies the job's last row of c to the `count` rows after it. */
void dot_repeat_last_row(const gemm_job_t *job, int64_t count);

#endif
