/* The column `emit` of ops.def is the kind of an op; the functions here add conditions on types,
 * static sizes and called computations. A fusion is accepted if each instruction of its body is,
 * and the body as a whole has a form (fusion_form.c). */
#include "ops/query/codegen_support.h"

#include "ops/query/fusion_form.h"

const op_codegen_t op_codegens[HLO_OPCODE_COUNT] = {
#define OP(id, name, stablehlo, operands, traits, attrs, infer, verify, kernel, emit, native) \
  CODEGEN_##emit,
#include "ops/table/ops.def"
#undef OP
};

bool op_can_codegen_dtype(hr_dtype_t dtype) { return hr_dtype_is_array(dtype); }

static bool shape_is_emitted(const hlo_shape_t *shape) {
  for (int i = 0; i < shape->element_count; i++)
    if (!shape_is_emitted(shape->elements[i])) return false;
  return hlo_shape_is_tuple(shape) ||
         (op_can_codegen_dtype(shape->dtype) && !hlo_shape_is_dynamic(shape));
}

static bool computation_is_emitted(const hlo_computation_t *computation, bool of_scalars) {
  for (size_t i = 0; i < computation->instrs.count; i++) {
    const hlo_instr_t *instr = computation->instrs.data[i];
    op_codegen_t kind = op_codegens[instr->op];
    if (of_scalars && kind != CODEGEN_ELEMENTWISE && kind != CODEGEN_STRUCTURE) return false;
    if (!op_can_codegen(instr)) return false;
  }
  return true;
}

/* longest row for generated code, in bytes and in elements; the native kernel copies longer rows
 * and prefetches the next ones */
#define MAX_ROW_BYTES 512
#define MAX_ROW 128

static bool gather_is_emitted(const hlo_instr_t *instr) {
  const hlo_shape_t *operand = instr->operands[0]->shape;
  hr_ints_t sizes = hlo_attr_ints(instr, HLO_ATTR_SLICE_SIZES);
  int64_t row = 1, bytes = (int64_t)hr_dtype_bytes(operand->dtype);
  bool is_whole = true;
  for (int d = operand->rank; d-- > 0 && is_whole;) {
    row *= sizes.data[d];
    is_whole = sizes.data[d] == operand->dims[d];
    if (sizes.data[d] > operand->dims[d]) return false;
  }
  return row < MAX_ROW && row * bytes < MAX_ROW_BYTES &&
         hr_dtype_is_integer(instr->operands[1]->shape->dtype);
}

/* Generated code does not reinterpret complex numbers or elements of another size. */
static bool is_real_bitcast(const hlo_shape_t *from, const hlo_shape_t *to) {
  return from->rank == to->rank && !hr_dtype_is_complex(from->dtype) &&
         !hr_dtype_is_complex(to->dtype);
}

/* Conditions in addition to the kind of the op. */
static bool form_is_emitted(const hlo_instr_t *instr) {
  fusion_space_t space;
  switch (instr->op) {
    case HLO_BITCAST:
      return instr->shape->dtype == instr->operands[0]->shape->dtype &&
             hlo_layout_is_default(instr->shape->layout) &&
             hlo_layout_is_default(instr->operands[0]->shape->layout);
    case HLO_BITCAST_CONVERT:
      return is_real_bitcast(instr->operands[0]->shape, instr->shape);
    case HLO_CONSTANT:
      return instr->literal != NULL;
    case HLO_GATHER:
      return gather_is_emitted(instr);
    case HLO_REDUCE:
      return fusion_space_of(instr, &space);
    default:
      return op_codegens[instr->op] != CODEGEN_NONE;
  }
}

static bool fusion_has_form(const hlo_computation_t *body) {
  hr_arena_t arena;
  fusion_form_t form;
  hr_arena_init(&arena);
  hr_status_t st = fusion_form_find(&arena, body, &form);
  bool found = !st && form.space.kind != FUSION_NONE;
  hr_status_release(st);
  hr_arena_deinit(&arena);
  return found;
}

bool op_can_codegen(const hlo_instr_t *instr) {
  if (!shape_is_emitted(instr->shape)) return false;
  for (int k = 0; k < instr->operand_count; k++)
    if (!shape_is_emitted(instr->operands[k]->shape)) return false;
  if (instr->op == HLO_FUSION)
    return computation_is_emitted(instr->called[0], false) && fusion_has_form(instr->called[0]);
  for (int c = 0; c < instr->called_count; c++)
    if (!computation_is_emitted(instr->called[c], true)) return false;
  return form_is_emitted(instr);
}
