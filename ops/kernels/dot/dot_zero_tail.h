/* Matrices of a batch whose last rows or terms are zeros, such as the places of an expert that no
 * token took: the terms are left out, and one row stands for all rows of zeros. */
#ifndef HLO_OPS_DOT_ZERO_TAIL_H
#define HLO_OPS_DOT_ZERO_TAIL_H

#include "ops/kernels/gemm/gemm.h"

/* Lowers m and k of a job with addresses, of a real type and without offset lists. Gives the rows
 * of c after the last one of the job, which are equal to it (dot_repeat_last_row). Sums keep their
 * bits. Depends on the data alone. */
int64_t dot_leave_out_zeros(gemm_job_t *job);

/* Copies the job's last row of c to the `count` rows after it. */
void dot_repeat_last_row(const gemm_job_t *job, int64_t count);

#endif
