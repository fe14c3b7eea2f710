/* The rules of every opcode, as named in ops.def: shape inference, which the builder of
 * instructions uses, and the constraints that the verifier adds. Callers outside this folder use
 * hlo_infer_shape and hlo_verify (ir/module.h), which check the preconditions of these functions.
 * Thread: any. */
#ifndef HLO_OPS_BUILD_RULES_H
#define HLO_OPS_BUILD_RULES_H

#include "ir/module.h"

/* Infers the result shape from the operands' shapes and the attributes. `in` has operand_count
 * shapes, which may be actual ones; results are allocated in the arena. Errors: INVALID with the
 * label of the specification's constraint. */
typedef hr_status_t (*op_infer_fn)(hr_arena_t *arena, const hlo_instr_t *instr,
                                   const hlo_shape_t *const *in, const hlo_shape_t **out_shape);
/* Checks the constraints that inference does not check. The shape of the instruction is the
 * inferred one, or one that a program may declare instead. Errors: INVALID, as above. */
typedef hr_status_t (*op_verify_fn)(const hlo_instr_t *instr);

extern const op_infer_fn op_infers[HLO_OPCODE_COUNT];
extern const op_verify_fn op_verifiers[HLO_OPCODE_COUNT];

/* True if the result shape follows from operands and attributes. If not, programs must declare
 * it. */
bool op_has_inference(hlo_opcode_t op);

#endif
