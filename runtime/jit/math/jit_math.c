#include "jit/math/jit_math.h"

#include <stdio.h>

#include "jit/math/math_emit.h"

/* The most vectors of math_ops.def, with 32 registers; with fewer as many fewer fit. */
#define MOST_VECTORS 4

typedef enum math_form { IN_PLACE, AS_FUNCTION } math_form_t;

typedef struct math_op {
  const char *name; /* NULL: not in the table */
  kir_value_t *(*emit_1)(jit_code_t *code, kir_value_t *x);
  kir_value_t *(*emit_2)(jit_code_t *code, kir_value_t *x, kir_value_t *y);
  double cost_f32, cost_f64;
  int vectors_f32, vectors_f64;
  math_form_t form;
} math_op_t;

static const math_op_t math_ops[HLO_OPCODE_COUNT] = {
#define MATH_1(op, name, f32, f64, vectors_f32, vectors_f64, form) \
  [HLO_##op] = {#name, jit_emit_##name, NULL, f32, f64, vectors_f32, vectors_f64, form},
#define MATH_2(op, name, f32, f64, vectors_f32, vectors_f64, form) \
  [HLO_##op] = {#name, NULL, jit_emit_##name, f32, f64, vectors_f32, vectors_f64, form},
#include "jit/math/math_ops.def"
#undef MATH_1
#undef MATH_2
};

bool jit_math_supports(hlo_opcode_t op) { return math_ops[op].name != NULL; }

double jit_math_cost(hlo_opcode_t op, bool is_f64) {
  return is_f64 ? math_ops[op].cost_f64 : math_ops[op].cost_f32;
}

int jit_math_vectors(const jit_target_t *target, hlo_opcode_t op, bool is_f64) {
  int vectors = is_f64 ? math_ops[op].vectors_f64 : math_ops[op].vectors_f32;
  vectors = vectors * target->interleave_count / MOST_VECTORS;
  return vectors > 1 ? vectors : 1;
}

static kir_value_t *emit_body(jit_code_t *code, const math_op_t *op, kir_value_t *x,
                              kir_value_t *y) {
  return op->emit_1 ? op->emit_1(code, x) : op->emit_2(code, x, y);
}

static kir_value_t *write_function(jit_code_t *code, const math_op_t *op, const char *name,
                                   kir_type_t *signature) {
  jit_code_t inner;
  kir_value_t *function = jit_inner_function(code, name, signature, &inner);
  kir_value_t *y = op->emit_2 ? kir_param(function, 1) : NULL;
  kir_ret(inner.builder, emit_body(&inner, op, kir_param(function, 0), y));
  return function;
}

static kir_value_t *emit_call(jit_code_t *code, const void *row, kir_value_t **in) {
  const math_op_t *op = row;
  kir_type_t *type = kir_type_of(in[0]), *types[2] = {type, type};
  kir_type_t *signature = kir_function_type(type, types, op->emit_2 ? 2 : 1);
  char name[64];
  snprintf(name, sizeof name, "math.%s.%dxf%d", op->name, jit_lanes(type), jit_element_bits(type));
  kir_value_t *function = kir_find_function(code->module, name);
  if (!function) function = write_function(code, op, name, signature);
  return kir_call(code->builder, signature, function, in, op->emit_2 ? 2 : 1);
}

bool jit_math_is_called(hlo_opcode_t op, kir_value_t *y) {
  return math_ops[op].form == AS_FUNCTION && !(op == HLO_POWER && jit_power_is_short(y));
}

kir_value_t *jit_math_emit(jit_code_t *code, hlo_opcode_t op, kir_value_t *x, kir_value_t *y) {
  const math_op_t *row = &math_ops[op];
  hr_assert(row->name);
  if (!jit_math_is_called(op, y)) return emit_body(code, row, x, y);
  int vectors = jit_math_vectors(code->target, op, jit_element_bits(kir_type_of(x)) == 64);
  return jit_by_vectors(code, emit_call, row, (kir_value_t *[]){x, y}, row->emit_2 ? 2 : 1,
                        vectors);
}
