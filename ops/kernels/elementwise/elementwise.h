/* Elementwise kernels: one typed loop per op and type, looked up once, run on arrays of any stride.
 * Each op on one element is a static inline function of scalar.h or complex_math.h, which code
 * generation shares. Thread: kernels never change; any number of threads may run one. */
#ifndef HLO_OPS_ELEMENTWISE_H
#define HLO_OPS_ELEMENTWISE_H

#include "ops/kernels/kernel.h"

#define EW_MAX_OPERANDS 3

typedef struct ew_kernel ew_kernel_t;

/* Looks up the kernel of an elementwise instruction (any op with OP_ELEMENTWISE).
 * Errors: UNSUPPORTED for types that the op does not have; INVALID for parameters out of range.
 * Owner:  lives in the arena. */
hr_status_t ew_kernel_prepare(hr_arena_t *arena, const hlo_instr_t *instr,
                              const ew_kernel_t **out_kernel);
/* The same for a bare binary op on one type, for reductions. */
hr_status_t ew_kernel_binary(hr_arena_t *arena, hlo_opcode_t op, hr_dtype_t dtype,
                             const ew_kernel_t **out_kernel);

/* out[i] = op(in[0][i * in_steps[0]], ...) for i < count. Strides in elements; 0 repeats one
 * element. out is dense; it may alias a dense operand of the same element size, and must not
 * overlap operands otherwise. */
void ew_kernel_run(const ew_kernel_t *kernel, int64_t count, const void *const *in,
                   const int64_t *in_steps, void *out);

#endif
