/* What the native kernels of LAPACK's custom calls share. */
#ifndef HLO_OPS_NATIVE_LINALG_H
#define HLO_OPS_NATIVE_LINALG_H

#include "ops/custom_lapack.h"
#include "ops/native_common.h"

/* The typed form, on matrices by columns, which then mean what the program means by rows; then the checks are those of
 * the reference kernel, whose plan it is. NULL: another form. */
hr_status_t native_lapack_check(const op_native_target_t *target, const op_step_t *step, const op_kernel_t *kernel,
                                int operands, const lapack_plan_t **out_plan);

#endif
