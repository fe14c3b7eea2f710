#include "jit/jit_math.h"

#include <stdio.h>

#include "jit/math_emit.h"

typedef enum math_form { IN_PLACE, AS_FUNCTION } math_form_t;

typedef struct math_op {
  const char *name; /* NULL: not in the table */
  LLVMValueRef (*emit_1)(jit_code_t *code, LLVMValueRef x);
  LLVMValueRef (*emit_2)(jit_code_t *code, LLVMValueRef x, LLVMValueRef y);
  double cost_f32, cost_f64;
  math_form_t form;
} math_op_t;

static const math_op_t math_ops[HLO_OPCODE_COUNT] = {
#define MATH_1(op, name, f32, f64, form) [HLO_##op] = {#name, jit_emit_##name, NULL, f32, f64, form},
#define MATH_2(op, name, f32, f64, form) [HLO_##op] = {#name, NULL, jit_emit_##name, f32, f64, form},
#include "jit/math_ops.def"
#undef MATH_1
#undef MATH_2
};

bool jit_math_knows(hlo_opcode_t op) { return math_ops[op].name != NULL; }

double jit_math_cost(hlo_opcode_t op, bool is_f64) {
  return is_f64 ? math_ops[op].cost_f64 : math_ops[op].cost_f32;
}

static LLVMValueRef emit_body(jit_code_t *code, const math_op_t *op, LLVMValueRef x, LLVMValueRef y) {
  return op->emit_1 ? op->emit_1(code, x) : op->emit_2(code, x, y);
}

static LLVMValueRef write_function(jit_code_t *code, const math_op_t *op, const char *name, LLVMTypeRef signature) {
  jit_code_t inner;
  LLVMValueRef function = jit_inner_function(code, name, signature, &inner);
  LLVMValueRef y = op->emit_2 ? llvm()->GetParam(function, 1) : NULL;
  llvm()->BuildRet(inner.builder, emit_body(&inner, op, llvm()->GetParam(function, 0), y));
  llvm()->DisposeBuilder(inner.builder);
  return function;
}

static LLVMValueRef emit_call(jit_code_t *code, const void *row, LLVMValueRef *in) {
  const math_op_t *op = row;
  LLVMTypeRef type = llvm()->TypeOf(in[0]), types[2] = {type, type};
  LLVMTypeRef signature = llvm()->FunctionType(type, types, op->emit_2 ? 2 : 1, false);
  char name[64];
  snprintf(name, sizeof name, "math.%s.%dxf%d", op->name, jit_lanes(type), jit_element_bits(type));
  LLVMValueRef function = llvm()->GetNamedFunction(code->module, name);
  if (!function) function = write_function(code, op, name, signature);
  return llvm()->BuildCall2(code->builder, signature, function, in, op->emit_2 ? 2 : 1, "");
}

LLVMValueRef jit_math_emit(jit_code_t *code, hlo_opcode_t op, LLVMValueRef x, LLVMValueRef y) {
  const math_op_t *row = &math_ops[op];
  hr_assert(row->name);
  if (row->form == IN_PLACE) return emit_body(code, row, x, y);
  return jit_by_vectors(code, emit_call, row, (LLVMValueRef[]){x, y}, row->emit_2 ? 2 : 1);
}
