/* Computations on scalars that are applied to many elements: bodies of reduce, map, sort, scatter,
 * collectives. A body of elementwise ops runs in lanes: each of its instructions is done for a
 * block of elements at once by its elementwise kernel, so a body costs about as much per element as
 * the same ops on arrays. Any other body (with loops, slices, calls of non-elementwise ops) is
 * called element by element through op_env_t.call. */
#ifndef HLO_OPS_BODY_H
#define HLO_OPS_BODY_H

#include "ops/kernels/elementwise/elementwise.h"

typedef struct op_body op_body_t;

/* Immutable; lives in the arena. Parameters and results (the elements of its tuple, or the one) are
 * scalars. Nested calls, fusions, tuples, constants and identities inside it are flattened away. */
hr_status_t op_body_prepare(hr_arena_t *arena, const hlo_computation_t *computation,
                            const op_body_t **out_body);

/* Does it run in lanes? Then op_body_run needs no environment, and may be called from several
 * threads. */
bool op_body_is_flat(const op_body_t *body);
const hlo_computation_t *op_body_computation(const op_body_t *body);
int op_body_param_count(const op_body_t *body);
int op_body_result_count(const op_body_t *body);
hr_dtype_t op_body_param_dtype(const op_body_t *body, int k);
hr_dtype_t op_body_result_dtype(const op_body_t *body, int k);

/* outs[r][i] = result r of the body on (ins[0][i * steps[0]], ...) for i < count. Steps in
 * elements; 0: the same element for all i. `outs` are dense, and may be the same memory as dense
 * inputs of the same element size (they are written after all reads of a block). */
hr_status_t op_body_run(op_env_t *env, const op_body_t *body, int64_t count, const void *const *ins,
                        const int64_t *strides, void *const *outs);

/* True if the body is one commutative, associative binary op of its two parameters; gives the op
 * and a kernel for it. */
bool op_body_is_binary(const op_body_t *body, hlo_opcode_t *out_op, const ew_kernel_t **out_kernel);
/* True if the body returns one of its parameters (the update of a plain scatter); gives its number.
 */
bool op_body_is_parameter(const op_body_t *body, int *out_parameter);

#endif
