/* Ops on vectors of f16 by the processor's own arithmetic (AVX512-FP16): twice the lanes of f32,
 * and no conversions between ops.
 *
 * The results are those of f32 rounded to f16, to the bit: f32 has two bits more than twice the
 * bits of f16, so sums, products, quotients and roots that are rounded twice are rounded as once.
 * Values stay f32 between ops (element.h); an f16 that was only widened is taken back as it was. */
#include "jit/element/element.h"

static bool was_widened(const kir_value_t *value) {
  return value->op == KIR_FPEXT && jit_element_bits(kir_type_of(value->args[0])) == 16;
}

static kir_value_t *narrow_constant(const kir_value_t *value, kir_type_t *type) {
  uint64_t lanes[KIR_LANES_MAX];
  for (unsigned i = 0; i < type->lanes; i++)
    lanes[i] = kir_encode_float(kir_decode_float(value->lanes[i], 32), 16);
  return kir_constant(type, lanes);
}

static kir_value_t *narrow(jit_code_t *code, kir_value_t *value) {
  kir_type_t *half = jit_type_like(kir_half_type(code->module), kir_type_of(value));
  return kir_is_constant(value) && !value->is_poison ? narrow_constant(value, half)
                                                     : kir_fptrunc(code->builder, value, half);
}

static kir_value_t *widen(jit_code_t *code, kir_value_t *value) {
  kir_type_t *wide = jit_type_like(kir_float_type(code->module), kir_type_of(value));
  return kir_fpext(code->builder, value, wide);
}

static bool is_rounded(hlo_opcode_t op) {
  switch (op) {
    case HLO_ADD:
    case HLO_SUBTRACT:
    case HLO_MULTIPLY:
    case HLO_DIVIDE:
    case HLO_SQRT:
      return true;
    default:
      return false;
  }
}

static bool is_exact(hlo_opcode_t op) {
  switch (op) {
    case HLO_NEGATE:
    case HLO_ABS:
    case HLO_MAXIMUM:
    case HLO_MINIMUM:
    case HLO_CLAMP:
    case HLO_COMPARE:
    case HLO_SELECT:
      return true;
    default:
      return false;
  }
}

bool jit_half_supports(const jit_target_t *target, hlo_opcode_t op) {
  return target->has_f16_arithmetic && (is_rounded(op) || is_exact(op));
}

/* Are floats compared by a key of their bits? */
static bool compares_keys(const jit_element_op_t *op) {
  hlo_enum_COMPARISON_t order = JIT_DETAIL_ORDER(op->detail);
  return op->op == HLO_COMPARE &&
         (order == HLO_COMPARISON_TOTALORDER || order == HLO_COMPARISON_WEAKORDER);
}

/* Clamping is a maximum and a minimum. Exact ops gain if no operand is converted for them. */
static bool gains(const jit_code_t *code, const jit_element_op_t *op, kir_value_t *const *args,
                  int first, int count) {
  if (!jit_half_supports(code->target, op->op) || compares_keys(op) || op->op == HLO_CLAMP)
    return false;
  if (!kir_is_vector(kir_type_of(args[first]))) return false;
  for (int k = first; k < count; k++)
    if (!is_rounded(op->op) && !was_widened(args[k]) && !kir_is_constant(args[k])) return false;
  return true;
}

kir_value_t *jit_half_emit(jit_code_t *code, const jit_element_op_t *op, kir_value_t **args) {
  int count = hlo_op_table[op->op].operands, first = op->op == HLO_SELECT ? 1 : 0;
  kir_value_t *half[3] = {args[0]};
  if (!gains(code, op, args, first, count)) return NULL;
  for (int k = first; k < count; k++) half[k] = narrow(code, args[k]);
  if (op->op == HLO_SELECT)
    return widen(code, kir_select(code->builder, half[0], half[1], half[2]));
  if (op->op == HLO_COMPARE) return jit_compare_reals(code, op, half[0], half[1]);
  return widen(code, jit_float_compute(code, op, half));
}
