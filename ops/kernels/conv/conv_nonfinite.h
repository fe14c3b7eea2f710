/* Convolutions whose weights (right operand) are not finite at padding or holes, where fast kernels
 * skip the product 0 * infinity = NaN. See conv_nonfinite.c. Thread: a check is immutable; a run is
 * one thread's. */
#ifndef HLO_OPS_CONV_NONFINITE_H
#define HLO_OPS_CONV_NONFINITE_H

#include "ops/kernels/conv/native_convolution.h"

typedef struct conv_nonfinite conv_nonfinite_t;

/* Makes the check of a convolution. *out_check is NULL if none is needed: no padding, no holes,
 * weights that are integers, or constants and finite. grid: the result's, for epilogues; all zero
 * if there are none. Owner: target->arena. */
hr_status_t conv_nonfinite_prepare(const op_native_target_t *target, const op_step_t *step,
                                   const op_native_grid_t *grid, conv_nonfinite_t **out_check);

/* To be called around a run of a fast kernel: before it, in case the weights have to be read
 * (*out_done: the results have been computed), and after it. check: may be NULL. Errors:
 * NO_MEMORY. */
hr_status_t conv_nonfinite_before(const conv_nonfinite_t *check, const op_native_run_t *run,
                                  void *const *in, void *const *out, bool *out_done);
hr_status_t conv_nonfinite_after(const conv_nonfinite_t *check, const op_native_run_t *run,
                                 void *const *in, void *const *out);

/* True if all numbers are finite; true for integers. dtype: real. count in elements. */
bool conv_are_finite(hr_workers_t *workers, hr_dtype_t dtype, const void *data, int64_t count);

#endif
