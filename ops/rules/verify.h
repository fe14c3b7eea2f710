/* The rules for valid programs: inferred shapes and the constraints of every op. Rules of single
 * ops are in infer_*.c and verify_*.c, those of whole modules in verify_module.c. Thread: any, as
 * long as nobody changes the module. */
#ifndef HLO_OPS_VERIFY_H
#define HLO_OPS_VERIFY_H

#include "ir/module.h"

/* The result shape from operand shapes and attributes; the declared shape for ops without
 * inference. `in` has instr->operand_count shapes. Errors: INVALID with the label of the
 * specification. */
hr_status_t hlo_infer_shape(hr_arena_t *arena, const hlo_instr_t *instr,
                            const hlo_shape_t *const *in, const hlo_shape_t **out_shape);
/* Verifies one instruction whose operands are verified: the inferred against the declared shape,
 * then the op's own constraints. Inferred shapes are allocated in `scratch`. Part of hlo_verify. */
hr_status_t hlo_verify_instr(hr_arena_t *scratch, const hlo_instr_t *instr);
/* Checks a whole module: structure, inferred against declared shapes, every op's constraints, by
 * the labels of the StableHLO specification. Reports the first failure in program order. */
hr_status_t hlo_verify(const hlo_module_t *module);

#endif
