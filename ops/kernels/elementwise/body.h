/* Scalar computations applied to many elements: bodies of reduce, map, sort, scatter and
 * collectives. A body of elementwise ops is flattened and vectorised: each of its instructions is
 * evaluated for a block of elements by its elementwise kernel, so that its cost per element is
 * about that of the same ops on arrays. Any other body (loops, slices, other ops) is called element
 * by element through op_env_t.call. */
#ifndef HLO_OPS_BODY_H
#define HLO_OPS_BODY_H

#include "ops/kernels/elementwise/elementwise.h"

typedef struct op_body op_body_t;

/* Prepares a computation whose parameters and results (the root, or the elements of its tuple)
 * are scalars. Nested calls, fusions, tuples, constants and identities are flattened.
 * Owner:   immutable; lives in the arena.
 * Errors:  INVALID for parameters that are not scalars. */
hr_status_t op_body_prepare(hr_arena_t *arena, const hlo_computation_t *computation,
                            const op_body_t **out_body);

/* True if the body is vectorised. op_body_run then needs no environment, cannot fail, and may be
 * called from several threads. */
bool op_body_is_flat(const op_body_t *body);
const hlo_computation_t *op_body_computation(const op_body_t *body);
int op_body_param_count(const op_body_t *body);
int op_body_result_count(const op_body_t *body);
hr_dtype_t op_body_param_dtype(const op_body_t *body, int k);
hr_dtype_t op_body_result_dtype(const op_body_t *body, int k);

/* outs[r][i] = result r of the body on (ins[0][i * strides[0]], ...) for i < count.
 * Shape:  strides in elements; 0 repeats one element. outs are dense, and may alias dense inputs of
 * the same element size: they are written after all reads of a block. */
hr_status_t op_body_run(op_env_t *env, const op_body_t *body, int64_t count, const void *const *ins,
                        const int64_t *strides, void *const *outs);

/* True if the body is one commutative, associative binary op of its two parameters. */
bool op_body_is_binary(const op_body_t *body, hlo_opcode_t *out_op, const ew_kernel_t **out_kernel);
/* True if the body returns one of its parameters, as the body of an overwriting scatter does. */
bool op_body_is_parameter(const op_body_t *body, int *out_parameter);

#endif
