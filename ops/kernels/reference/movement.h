/* Shared by the reference kernels of movement ops and their native counterparts. */
#ifndef HLO_OPS_REFERENCE_MOVEMENT_H
#define HLO_OPS_REFERENCE_MOVEMENT_H

#include "ops/kernels/kernel.h"

/* Byte strides of operand 0, dense and row-major. out_strides has HLO_MAX_RANK entries. */
void movement_operand_strides(const op_step_t *step, int64_t *out_strides);

#endif
