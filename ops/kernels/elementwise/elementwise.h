/* Elementwise kernels: one typed loop per (op, type), found once, run on rows of any stride.
 * The scalar meaning of each op is one static inline function of scalar.h, which code generation
 * can share. */
#ifndef HLO_OPS_ELEMENTWISE_H
#define HLO_OPS_ELEMENTWISE_H

#include "ops/kernels/kernel.h"

#define EW_MAX_OPERANDS 3

typedef struct ew_kernel ew_kernel_t;

/* The loop body for an elementwise instruction (any op with OP_ELEMENTWISE) as its operand and
 * result types say. Immutable, lives in the arena. Errors: UNSUPPORTED for a type the op does not
 * have. */
hr_status_t ew_kernel_prepare(hr_arena_t *arena, const hlo_instr_t *instr,
                              const ew_kernel_t **out_kernel);
/* The same for a bare binary op on one type (add, maximum, ... of reductions). */
hr_status_t ew_kernel_binary(hr_arena_t *arena, hlo_opcode_t op, hr_dtype_t dtype,
                             const ew_kernel_t **out_kernel);

/* out[i] = op(in0[i], ...) for i < count. Steps in elements: 1, 0 (one element for all) or anything
 * else. `out` is dense; it may be the same memory as a dense operand of the same element size, not
 * overlap otherwise. */
void ew_kernel_run(const ew_kernel_t *kernel, int64_t count, const void *const *in,
                   const int64_t *in_steps, void *out);

/* acc = op(acc, in[0]), op(acc, in[1]), ... in this order, for a kernel from ew_kernel_binary: one
 * accumulator element. */
void ew_kernel_fold(const ew_kernel_t *kernel, int64_t count, const void *in, int64_t in_step,
                    void *acc);

#endif
