/* The tables of rules, made from the columns `infer` and `verify` of ops.def. A function that a row
 * names and no file defines is a linker error. */
#include "ops/rules/build_rules.h"

#define OP(id, name, stablehlo, operands, traits, attrs, infer, verify, kernel, emit, native) \
  hr_status_t infer_##infer(hr_arena_t *, const hlo_instr_t *, const hlo_shape_t *const *,    \
                            const hlo_shape_t **);                                            \
  hr_status_t verify_##verify(const hlo_instr_t *);
#include "ops/table/ops.def"
#undef OP

const op_infer_fn op_infers[HLO_OPCODE_COUNT] = {
#define OP(id, name, stablehlo, operands, traits, attrs, infer, verify, kernel, emit, native) \
  infer_##infer,
#include "ops/table/ops.def"
#undef OP
};

const op_verify_fn op_verifiers[HLO_OPCODE_COUNT] = {
#define OP(id, name, stablehlo, operands, traits, attrs, infer, verify, kernel, emit, native) \
  verify_##verify,
#include "ops/table/ops.def"
#undef OP
};

bool op_has_inference(hlo_opcode_t op) { return op_infers[op] != infer_none; }
