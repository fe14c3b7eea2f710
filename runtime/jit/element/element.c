/* Element types and ops in generated code: types in memory and in registers, and dispatch of each
 * op to integers, floats or complex numbers.
 *
 *     type              memory        register
 *     pred              i8            i1
 *     s4, u4, s2, u2    i8            i8, wrapped after each op
 *     bf16, f16, f8*    i8, i16       f32, rounded after each op
 *     f32, f64          float         float
 *     c64, c128         integer pair  interleaved real and imaginary lanes
 *
 * jit_element_supports lists the ops with code; all others are left to native and reference
 * kernels. The meaning of each op is that of ops/kernels/elementwise/scalar.h, to the bit where the
 * reference is exact. */
#include "jit/element/element.h"

#include <string.h>

#include "jit/element/element_complex.h"
#include "jit/math/jit_math.h"
#include "ops/query/codegen_support.h"

/* --- types ------------------------------------------------------------------------------------ */

static kir_type_t *integer_type(jit_code_t *code, size_t bytes) {
  return kir_int_type(code->module, (unsigned)(8 * bytes));
}

/* f16 and bf16 are integers in memory: not every target has arithmetic on them. */
kir_type_t *jit_memory_type(jit_code_t *code, hr_dtype_t dtype) {
  switch (dtype) {
    case HR_F32:
      return kir_float_type(code->module);
    case HR_F64:
      return kir_double_type(code->module);
    default:
      return integer_type(code, hr_dtype_bytes(dtype));
  }
}

/* The type that ops compute in (dtypes.def's column `compute`). */
kir_type_t *jit_register_type(jit_code_t *code, hr_dtype_t dtype) {
  if (dtype == HR_PRED) return kir_int_type(code->module, 1);
  if (hr_dtype_is_complex(dtype))
    return kir_vector_type(jit_memory_type(code, hr_dtype_real(dtype)), 2);
  return jit_memory_type(code, hr_dtype_table[dtype].compute);
}

/* --- memory ----------------------------------------------------------------------------------- */

/* A vector of the element type with as many lanes as the value. */
static kir_type_t *like(kir_type_t *element, kir_value_t *value) {
  return jit_type_like(element, kir_type_of(value));
}

/* bf16 is the upper half of an f32. */
static kir_value_t *bf16_bits_to_float(jit_code_t *code, kir_value_t *bits) {
  kir_type_t *wide = like(kir_int_type(code->module, 32), bits);
  kir_value_t *word = kir_zext(code->builder, bits, wide);
  word = kir_shl(code->builder, word, jit_int(wide, 16));
  return kir_bitcast(code->builder, word, like(kir_float_type(code->module), bits));
}

/* Splits complex numbers, which memory has as integers of two parts each, into adjacent parts. */
static kir_value_t *complex_from_memory(jit_code_t *code, hr_dtype_t dtype, kir_value_t *value) {
  kir_type_t *part = jit_memory_type(code, hr_dtype_real(dtype));
  unsigned count = 2 * (unsigned)jit_lanes(kir_type_of(value));
  return kir_bitcast(code->builder, value, kir_vector_type(part, count));
}

static kir_value_t *complex_to_memory(jit_code_t *code, hr_dtype_t dtype, kir_value_t *value) {
  kir_type_t *type = jit_vector_type(jit_memory_type(code, dtype), jit_element_lanes(dtype, value));
  return kir_bitcast(code->builder, value, type);
}

/* Converts from the element's own format to the type of its arithmetic. */
kir_value_t *jit_from_memory(jit_code_t *code, hr_dtype_t dtype, kir_value_t *value) {
  kir_type_t *type = kir_type_of(value);
  if (jit_is_narrow_float(dtype)) return jit_narrow_decode(code, dtype, value);
  if (hr_dtype_is_complex(dtype)) return complex_from_memory(code, dtype, value);
  switch (dtype) {
    case HR_PRED:
      return kir_icmp(code->builder, KIR_ICMP_NE, value, kir_null(type));
    case HR_BF16:
      return bf16_bits_to_float(code, value);
    case HR_F16: {
      kir_type_t *half = like(kir_half_type(code->module), value);
      kir_value_t *narrow = kir_bitcast(code->builder, value, half);
      return kir_fpext(code->builder, narrow, like(kir_float_type(code->module), value));
    }
    default:
      return value;
  }
}

/* The value has been rounded to the type, so truncation to bf16 cuts off only zeros. */
kir_value_t *jit_to_memory(jit_code_t *code, hr_dtype_t dtype, kir_value_t *value) {
  if (jit_is_narrow_float(dtype)) return jit_narrow_encode(code, dtype, value);
  if (hr_dtype_is_complex(dtype)) return complex_to_memory(code, dtype, value);
  kir_type_t *memory = like(jit_memory_type(code, dtype), value);
  switch (dtype) {
    case HR_PRED:
      return kir_zext(code->builder, value, memory);
    case HR_BF16: {
      kir_value_t *word = kir_bitcast(code->builder, value, jit_integer_like(kir_type_of(value)));
      word = kir_lshr(code->builder, word, jit_int(kir_type_of(word), 16));
      return kir_trunc(code->builder, word, memory);
    }
    case HR_F16: {
      kir_type_t *half = like(kir_half_type(code->module), value);
      kir_value_t *narrow = kir_fptrunc(code->builder, value, half);
      return kir_bitcast(code->builder, narrow, memory);
    }
    default:
      return value;
  }
}

static kir_value_t *complex_constant(jit_code_t *code, hr_dtype_t dtype, const void *bytes) {
  hr_dtype_t part = hr_dtype_real(dtype);
  kir_value_t *parts[] = {
      jit_element_constant(code, part, bytes),
      jit_element_constant(code, part, (const char *)bytes + hr_dtype_bytes(part))};
  return kir_const_vector(parts, 2);
}

kir_value_t *jit_element_constant(jit_code_t *code, hr_dtype_t dtype, const void *bytes) {
  if (hr_dtype_is_complex(dtype)) return complex_constant(code, dtype, bytes);
  kir_type_t *type = jit_register_type(code, dtype);
  uint64_t bits = 0;
  memcpy(&bits, bytes, hr_dtype_bytes(dtype));
  if (dtype == HR_PRED) return kir_const_int(type, bits != 0);
  if (!hr_dtype_is_float(dtype)) return kir_const_int(type, bits);
  if (hr_dtype_table[dtype].compute != dtype) {
    float wide;
    hr_floats_to_f32(dtype, bytes, &wide, 1);
    bits = 0;
    memcpy(&bits, &wide, sizeof wide);
  }
  return kir_const_int(type, bits);
}

/* Rounds to nearest even in the upper half of the word. A NaN must have zeros in the lower half: it
 * stays as it is. */
static kir_value_t *round_to_upper_half(jit_code_t *code, kir_value_t *bits) {
  kir_builder_t *b = code->builder;
  kir_type_t *word = kir_type_of(bits);
  kir_value_t *odd = kir_and(b, kir_lshr(b, bits, jit_int(word, 16)), jit_int(word, 1));
  kir_value_t *up = kir_add(b, kir_add(b, bits, jit_int(word, 0x7fff)), odd);
  return kir_and(b, up, jit_int(word, (int32_t)0xffff0000));
}

/* A NaN keeps only its sign. */
static kir_value_t *round_bf16(jit_code_t *code, kir_value_t *value) {
  kir_builder_t *b = code->builder;
  kir_type_t *type = kir_type_of(value), *word = jit_integer_like(type);
  kir_value_t *bits = kir_bitcast(b, value, word);
  kir_value_t *rounded = round_to_upper_half(code, bits);
  kir_value_t *sign = kir_and(b, bits, jit_int(word, (int32_t)0x80000000));
  kir_value_t *nan = kir_or(b, sign, jit_int(word, 0x7fc00000));
  kir_value_t *is_nan = kir_fcmp(b, KIR_FCMP_UNO, value, value);
  return kir_bitcast(b, kir_select(b, is_nan, nan, rounded), type);
}

/* Wraps an integer held in a wider one: keeps the low bits and extends them. */
static kir_value_t *wrap(jit_code_t *code, hr_dtype_t dtype, kir_value_t *value) {
  kir_type_t *type = kir_type_of(value);
  int unused = jit_element_bits(type) - hr_dtype_table[dtype].bits;
  if (hr_dtype_class(dtype) == HR_CLASS_UNSIGNED)
    return kir_and(code->builder, value, jit_int(type, (1 << hr_dtype_table[dtype].bits) - 1));
  kir_value_t *high = kir_shl(code->builder, value, jit_int(type, unused));
  return kir_ashr(code->builder, high, jit_int(type, unused));
}

kir_value_t *jit_round(jit_code_t *code, hr_dtype_t dtype, kir_value_t *value) {
  if (hr_dtype_table[dtype].compute == dtype) return value;
  if (hr_dtype_is_integer(dtype)) return wrap(code, dtype, value);
  if (dtype == HR_BF16) return round_bf16(code, value);
  if (dtype != HR_F16) return jit_narrow_decode(code, dtype, jit_narrow_encode(code, dtype, value));
  kir_type_t *half = like(kir_half_type(code->module), value);
  kir_value_t *narrow = kir_fptrunc(code->builder, value, half);
  return kir_fpext(code->builder, narrow, kir_type_of(value));
}

kir_value_t *jit_round_result(jit_code_t *code, hr_dtype_t dtype, kir_value_t *value) {
  kir_type_t *type = kir_type_of(value), *word = jit_integer_like(type);
  if (dtype != HR_BF16) return jit_round(code, dtype, value);
  value = kir_bitcast(code->builder, value, word);
  return kir_bitcast(code->builder, round_to_upper_half(code, value), type);
}

/* --- ops -------------------------------------------------------------------------------------- */

/* Integer key whose signed order is the total order of floats: negative numbers have all bits
 * except the sign flipped. */
static kir_value_t *total_order_key(jit_code_t *code, kir_value_t *value) {
  kir_type_t *word = jit_integer_like(kir_type_of(value));
  int bits = jit_element_bits(word);
  kir_value_t *plain = kir_bitcast(code->builder, value, word);
  kir_value_t *sign = kir_ashr(code->builder, plain, jit_int(word, bits - 1));
  kir_value_t *flip = kir_lshr(code->builder, sign, jit_int(word, 1));
  return kir_xor(code->builder, plain, flip);
}

/* The same with -0 equal to +0 (adding 0 makes it +0), and all NaNs equal and above infinity. */
static kir_value_t *weak_order_key(jit_code_t *code, kir_value_t *value) {
  kir_type_t *type = kir_type_of(value), *word = jit_integer_like(type);
  kir_value_t *key = total_order_key(code, kir_fadd(code->builder, value, jit_real(type, 0)));
  kir_value_t *most = jit_int(word, (int64_t)(~(uint64_t)0 >> (65 - jit_element_bits(word))));
  kir_value_t *is_nan = kir_fcmp(code->builder, KIR_FCMP_UNO, value, value);
  return kir_select(code->builder, is_nan, most, key);
}

kir_value_t *jit_compare_reals(jit_code_t *code, const jit_element_op_t *op, kir_value_t *a,
                               kir_value_t *b) {
  /* In the order of hlo_enum_DIRECTION_t: EQ NE GE GT LE LT. */
  static const kir_fcmp_t reals[] = {KIR_FCMP_OEQ, KIR_FCMP_UNE, KIR_FCMP_OGE,
                                     KIR_FCMP_OGT, KIR_FCMP_OLE, KIR_FCMP_OLT};
  return kir_fcmp(code->builder, reals[JIT_DETAIL_DIRECTION(op->detail)], a, b);
}

static kir_value_t *compare(jit_code_t *code, const jit_element_op_t *op, kir_value_t *a,
                            kir_value_t *b) {
  /* In the order of hlo_enum_DIRECTION_t, too. */
  static const kir_icmp_t signeds[] = {KIR_ICMP_EQ,  KIR_ICMP_NE,  KIR_ICMP_SGE,
                                       KIR_ICMP_SGT, KIR_ICMP_SLE, KIR_ICMP_SLT};
  static const kir_icmp_t unsigneds[] = {KIR_ICMP_EQ,  KIR_ICMP_NE,  KIR_ICMP_UGE,
                                         KIR_ICMP_UGT, KIR_ICMP_ULE, KIR_ICMP_ULT};
  hlo_enum_DIRECTION_t direction = JIT_DETAIL_DIRECTION(op->detail);
  hlo_enum_COMPARISON_t order = JIT_DETAIL_ORDER(op->detail);
  bool is_signed = hr_dtype_class(op->from) == HR_CLASS_SIGNED;
  if (hr_dtype_is_float(op->from)) {
    bool is_weak = order == HLO_COMPARISON_WEAKORDER;
    if (order != HLO_COMPARISON_TOTALORDER && !is_weak) return jit_compare_reals(code, op, a, b);
    a = is_weak ? weak_order_key(code, a) : total_order_key(code, a);
    b = is_weak ? weak_order_key(code, b) : total_order_key(code, b);
    is_signed = true;
  }
  return kir_icmp(code->builder, (is_signed ? signeds : unsigneds)[direction], a, b);
}

static kir_value_t *bitcast_convert(jit_code_t *code, const jit_element_op_t *op,
                                    kir_value_t *value) {
  kir_value_t *memory = jit_to_memory(code, op->from, value);
  kir_type_t *type = like(jit_memory_type(code, op->to), memory);
  value = jit_from_memory(code, op->to, kir_bitcast(code->builder, memory, type));
  return hr_dtype_is_integer(op->to) ? jit_round(code, op->to, value)
                                     : value; /* registers hold other types extended */
}

/* maximum, then minimum: if the lower limit exceeds the upper one, the result is the upper one. */
static kir_value_t *clamp(jit_code_t *code, const jit_element_op_t *op, kir_value_t **args) {
  jit_element_op_t step = *op;
  step.op = HLO_MAXIMUM;
  kir_value_t *above = jit_element_emit(code, &step, (kir_value_t *[]){args[0], args[1]});
  step.op = HLO_MINIMUM;
  return jit_element_emit(code, &step, (kir_value_t *[]){above, args[2]});
}

/* pred as a number of one bit: addition and maximum are or, product and minimum are and. */
static kir_value_t *pred_op(jit_code_t *code, hlo_opcode_t op, kir_value_t **args) {
  switch (op) {
    case HLO_NOT:
      return kir_not(code->builder, args[0]);
    case HLO_ADD:
    case HLO_MAXIMUM:
    case HLO_OR:
      return kir_or(code->builder, args[0], args[1]);
    case HLO_XOR:
      return kir_xor(code->builder, args[0], args[1]);
    default:
      return kir_and(code->builder, args[0], args[1]);
  }
}

static bool is_complex(hr_dtype_t from, hr_dtype_t to) {
  return hr_dtype_is_complex(from) || hr_dtype_is_complex(to);
}

kir_value_t *jit_element_emit(jit_code_t *code, const jit_element_op_t *op, kir_value_t **args) {
  kir_value_t *half = op->from == HR_F16 ? jit_half_emit(code, op, args) : NULL;
  if (half) return half;
  if (op->op == HLO_SELECT) return jit_element_choose(code, op->from, args[0], args[1], args[2]);
  if (op->op == HLO_CLAMP) return clamp(code, op, args);
  if (is_complex(op->from, op->to)) return jit_complex_emit(code, op, args);
  switch (op->op) {
    case HLO_COMPARE:
      return compare(code, op, args[0], args[1]);
    case HLO_CONVERT:
      return jit_convert_emit(code, op->from, op->to, args[0]);
    case HLO_BITCAST_CONVERT:
      return bitcast_convert(code, op, args[0]);
    default:
      break;
  }
  if (op->from == HR_PRED) return pred_op(code, op->op, args);
  return hr_dtype_is_float(op->from) ? jit_float_emit(code, op, args)
                                     : jit_integer_emit(code, op, args);
}

/* --- supported ops ---------------------------------------------------------------------------- */

static bool supports_type(const jit_target_t *target, hr_dtype_t dtype) {
  return op_can_codegen_dtype(dtype) && (dtype != HR_F16 || target->has_f16);
}

static bool supports_pred_op(hlo_opcode_t op) {
  switch (op) {
    case HLO_NOT:
    case HLO_ADD:
    case HLO_MAXIMUM:
    case HLO_OR:
    case HLO_XOR:
    case HLO_MULTIPLY:
    case HLO_MINIMUM:
    case HLO_AND:
    case HLO_CLAMP:
      return true;
    default:
      return false;
  }
}

static bool supports_integer_op(hlo_opcode_t op) {
  switch (op) {
    case HLO_NEGATE:
    case HLO_ABS:
    case HLO_SIGN:
    case HLO_NOT:
    case HLO_POPCNT:
    case HLO_COUNT_LEADING_ZEROS:
    case HLO_ADD:
    case HLO_SUBTRACT:
    case HLO_MULTIPLY:
    case HLO_MAXIMUM:
    case HLO_MINIMUM:
    case HLO_AND:
    case HLO_OR:
    case HLO_XOR:
    case HLO_DIVIDE:
    case HLO_REMAINDER:
    case HLO_POWER:
    case HLO_SHIFT_LEFT:
    case HLO_SHIFT_RIGHT_ARITHMETIC:
    case HLO_SHIFT_RIGHT_LOGICAL:
    case HLO_MULHI:
    case HLO_CLAMP:
      return true;
    default:
      return false;
  }
}

static bool supports_float_op(hlo_opcode_t op) {
  switch (op) {
    case HLO_NEGATE:
    case HLO_ABS:
    case HLO_ADD:
    case HLO_SUBTRACT:
    case HLO_MULTIPLY:
    case HLO_DIVIDE:
    case HLO_REDUCE_PRECISION:
    case HLO_REAL:
    case HLO_IMAG:
    case HLO_CLAMP:
      return true;
    default:
      return jit_math_supports(op);
  }
}

bool jit_element_supports(const jit_target_t *target, hlo_opcode_t op, hr_dtype_t from,
                          hr_dtype_t to) {
  if (!supports_type(target, from) || !supports_type(target, to)) return false;
  if (is_complex(from, to)) return jit_complex_supports(op, from, to);
  switch (op) {
    case HLO_COMPARE:
    case HLO_SELECT:
    case HLO_CONVERT:
    case HLO_BITCAST_CONVERT:
      return true;
    default:
      break;
  }
  if (from == HR_PRED) return supports_pred_op(op);
  return hr_dtype_is_float(from) ? supports_float_op(op) : supports_integer_op(op);
}
