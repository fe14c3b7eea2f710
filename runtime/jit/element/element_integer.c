/* Integer ops: wrapping arithmetic, total functions, as scalar.h defines them.
 *
 * Division by zero gives -1 (all ones) and the remainder the dividend; the smallest integer
 * divided by -1 gives itself; shifts by the width or more give 0, or the sign for arithmetic
 * shifts. The divisor is replaced by 1 in those lanes before dividing, since the instruction
 * would trap. Types below 8 bits are computed in i8 and wrapped. Powers use exponentiation by
 * squaring. */
#include <stdio.h>

#include "jit/element/element.h"

static kir_value_t *is_less(jit_code_t *code, bool is_signed, kir_value_t *a, kir_value_t *b) {
  return kir_icmp(code->builder, is_signed ? KIR_ICMP_SLT : KIR_ICMP_ULT, a, b);
}

static kir_value_t *is_equal(jit_code_t *code, kir_value_t *a, int64_t b) {
  return kir_icmp(code->builder, KIR_ICMP_EQ, a, jit_int(kir_type_of(a), b));
}

/* --- functions -------------------------------------------------------------------------------- */

/* True if the condition holds in any lane. */
static kir_value_t *any_lane(jit_code_t *code, kir_value_t *condition) {
  kir_type_t *type = kir_type_of(condition);
  return jit_lanes(type) == 1 ? condition : jit_intrinsic(code, KIR_REDUCE_OR, type, &condition, 1);
}

typedef struct lane_function {
  const char *name;
  void (*write)(jit_code_t *code, kir_value_t *function);
} lane_function_t;

/* One function per type and module. */
static kir_value_t *call_on_register(jit_code_t *code, const void *context, kir_value_t **args) {
  const lane_function_t *called = context;
  char name[64];
  kir_type_t *type = kir_type_of(args[0]);
  kir_type_t *signature = kir_function_type(type, (kir_type_t *[]){type, type}, 2);
  snprintf(name, sizeof name, "%s.i%d.%d", called->name, jit_element_bits(type), jit_lanes(type));
  kir_value_t *function = kir_find_function(code->module, name);
  if (!function) {
    jit_code_t inner;
    function = jit_inner_function(code, name, signature, &inner);
    called->write(&inner, function);
  }
  return kir_call(code->builder, signature, function, args, 2);
}

static kir_value_t *call_function(jit_code_t *code, const lane_function_t *function, kir_value_t *x,
                                  kir_value_t *y) {
  return jit_by_vectors(code, call_on_register, function, (kir_value_t *[]){x, y}, 2, 1);
}

/* --- division --------------------------------------------------------------------------------- */

#define F64_MANTISSA 52

/* The value as f64, for numbers below 2^52: as the mantissa of 2^52 + x. */
static kir_value_t *small_as_f64(jit_code_t *code, kir_value_t *x) {
  kir_type_t *type = kir_type_of(x);
  kir_type_t *real = jit_type_like(kir_double_type(code->module), type);
  kir_value_t *base = jit_real(real, 0x1p52);
  kir_value_t *sum = kir_or(code->builder, x, kir_bitcast(code->builder, base, type));
  return kir_fsub(code->builder, kir_bitcast(code->builder, sum, real), base);
}

/* Unsigned lanes of 64 bits. Numbers below 2^52 are exact in f64, and their quotient never rounds
 * up to an integer; if any is larger:
 *
 *   entry:  any (x | y) >> 52 ? large : small
 *   large:  x / y as kir_divide.c has it */
static void write_wide_division(jit_code_t *code, kir_value_t *function) {
  kir_builder_t *b = code->builder;
  kir_value_t *x = kir_param(function, 0), *y = kir_param(function, 1);
  kir_type_t *type = kir_type_of(x);
  kir_block_t *large = kir_append_block(function, "large");
  kir_block_t *small = kir_append_block(function, "small");
  kir_value_t *high = kir_lshr(b, kir_or(b, x, y), jit_int(type, F64_MANTISSA));
  kir_value_t *is_large = kir_icmp(b, KIR_ICMP_NE, high, jit_int(type, 0));
  kir_cond_br(b, any_lane(code, is_large), large, small);
  kir_position_at_end(b, large);
  kir_ret(b, kir_udiv(b, x, y));
  kir_position_at_end(b, small);
  kir_value_t *quotient = kir_fdiv(b, small_as_f64(code, x), small_as_f64(code, y));
  quotient = jit_intrinsic(code, KIR_FTRUNC, kir_type_of(quotient), &quotient, 1);
  kir_value_t *base = jit_real(kir_type_of(quotient), 0x1p52);
  kir_value_t *sum = kir_bitcast(b, kir_fadd(b, quotient, base), type);
  kir_ret(b, kir_xor(b, sum, kir_bitcast(b, base, type)));
}

/* All ones in negative lanes. */
static kir_value_t *sign_of(jit_code_t *code, kir_value_t *a) {
  return kir_ashr(code->builder, a, jit_int(kir_type_of(a), jit_element_bits(kir_type_of(a)) - 1));
}

/* Negates the lanes whose sign is all ones. */
static kir_value_t *apply_sign(jit_code_t *code, kir_value_t *a, kir_value_t *sign) {
  return kir_sub(code->builder, kir_xor(code->builder, a, sign), sign);
}

static kir_value_t *divide_wide(jit_code_t *code, bool is_signed, kir_value_t *a, kir_value_t *b) {
  static const lane_function_t division = {"divide", write_wide_division};
  if (!is_signed) return call_function(code, &division, a, b);
  kir_value_t *a_sign = sign_of(code, a), *b_sign = sign_of(code, b);
  kir_value_t *quotient =
      call_function(code, &division, apply_sign(code, a, a_sign), apply_sign(code, b, b_sign));
  return apply_sign(code, quotient, kir_xor(code->builder, a_sign, b_sign));
}

/* Vectors have no integer division. The quotient of integers of n <= 32 bits, computed in floats
 * with more than 2 n bits and truncated, is exact. */
static kir_value_t *divide_as_floats(jit_code_t *code, bool is_signed, kir_value_t *a,
                                     kir_value_t *b) {
  kir_type_t *type = kir_type_of(a);
  kir_type_t *real =
      jit_element_bits(type) > 16 ? kir_double_type(code->module) : kir_float_type(code->module);
  real = jit_type_like(real, type);
  if (!is_signed) {
    kir_value_t *x = kir_uitofp(code->builder, a, real), *y = kir_uitofp(code->builder, b, real);
    return kir_fptoui(code->builder, kir_fdiv(code->builder, x, y), type);
  }
  kir_value_t *x = kir_sitofp(code->builder, a, real), *y = kir_sitofp(code->builder, b, real);
  return kir_fptosi(code->builder, kir_fdiv(code->builder, x, y), type);
}

/* Divisions by constants become multiplications in kir_divide.c and need no floats. */
static kir_value_t *plain_divide(jit_code_t *code, bool is_signed, bool is_constant, kir_value_t *a,
                                 kir_value_t *b) {
  kir_type_t *type = kir_type_of(a);
  if (!is_constant && jit_lanes(type) > 1)
    return jit_element_bits(type) <= 32 ? divide_as_floats(code, is_signed, a, b)
                                        : divide_wide(code, is_signed, a, b);
  return is_signed ? kir_sdiv(code->builder, a, b) : kir_udiv(code->builder, a, b);
}

/* The quotient of the last division, as of a remainder of the same operands; NULL: of others. */
static kir_value_t *known_quotient(const jit_code_t *code, bool is_signed, const kir_value_t *a,
                                   const kir_value_t *b) {
  const jit_division_t *last = &code->division;
  bool is_same = last->a == a && last->b == b && last->is_signed == is_signed;
  return is_same && last->block == kir_insert_block(code->builder) ? last->quotient : NULL;
}

/* a / b and a % b; divisors 0 and -1, which have rules of their own, are replaced by 1 first, which
 * leaves the remainder 0. With op->safe_divisor the divisor is a constant that is neither. */
static kir_value_t *divide(jit_code_t *code, const jit_element_op_t *op, kir_value_t *a,
                           kir_value_t *b) {
  bool is_signed = hr_dtype_class(op->from) == HR_CLASS_SIGNED, remainder = op->op == HLO_REMAINDER;
  kir_builder_t *builder = code->builder;
  kir_type_t *type = kir_type_of(a);
  kir_value_t *is_zero = is_equal(code, b, 0), *is_minus = is_signed ? is_equal(code, b, -1) : NULL,
              *safe = b;
  if (!op->safe_divisor) {
    kir_value_t *special = is_signed ? kir_or(builder, is_zero, is_minus) : is_zero;
    safe = kir_select(builder, special, jit_int(type, 1), b);
  }
  kir_value_t *result = known_quotient(code, is_signed, a, b);
  if (remainder && !result && !op->safe_divisor && jit_lanes(type) == 1) {
    result = is_signed ? kir_srem(builder, a, safe) : kir_urem(builder, a, safe);
    return kir_select(builder, is_zero, a, result);
  }
  if (!result) result = plain_divide(code, is_signed, op->safe_divisor, a, safe);
  code->division = (jit_division_t){a, b, result, kir_insert_block(builder), is_signed};
  if (remainder) result = kir_sub(builder, a, kir_mul(builder, result, safe));
  if (op->safe_divisor) return result;
  if (remainder) return kir_select(builder, is_zero, a, result);
  if (is_signed) result = kir_select(builder, is_minus, kir_neg(builder, a), result);
  return kir_select(builder, is_zero, jit_int(type, -1), result);
}

/* The bits of the type itself, zero-extended; registers hold narrow types sign-extended. */
static kir_value_t *low_bits(jit_code_t *code, hr_dtype_t dtype, kir_value_t *a) {
  kir_type_t *type = kir_type_of(a);
  int bits = hr_dtype_table[dtype].bits;
  if (bits == jit_element_bits(type)) return a;
  return kir_and(code->builder, a, jit_int(type, ((int64_t)1 << bits) - 1));
}

/* The same bits, extended by the type's sign bit. */
static kir_value_t *with_sign(jit_code_t *code, hr_dtype_t dtype, kir_value_t *a) {
  kir_type_t *type = kir_type_of(a);
  int unused = jit_element_bits(type) - hr_dtype_table[dtype].bits;
  if (!unused) return a;
  kir_value_t *high = kir_shl(code->builder, a, jit_int(type, unused));
  return kir_ashr(code->builder, high, jit_int(type, unused));
}

/* Shift counts are compared as unsigned, so negative ones exceed the width. */
static kir_value_t *shift(jit_code_t *code, hlo_opcode_t op, hr_dtype_t dtype, kir_value_t *a,
                          kir_value_t *b) {
  kir_builder_t *builder = code->builder;
  kir_type_t *type = kir_type_of(a);
  int bits = hr_dtype_table[dtype].bits;
  if (op == HLO_SHIFT_RIGHT_LOGICAL) a = low_bits(code, dtype, a);
  if (op == HLO_SHIFT_RIGHT_ARITHMETIC) a = with_sign(code, dtype, a);
  kir_value_t *fits = is_less(code, false, b, jit_int(type, bits));
  kir_value_t *most = jit_int(type, op == HLO_SHIFT_RIGHT_ARITHMETIC ? bits - 1 : 0);
  kir_value_t *amount = kir_select(builder, fits, b, most);
  if (op == HLO_SHIFT_RIGHT_ARITHMETIC) return kir_ashr(builder, a, amount);
  kir_value_t *moved =
      op == HLO_SHIFT_LEFT ? kir_shl(builder, a, amount) : kir_lshr(builder, a, amount);
  return kir_select(builder, fits, moved, jit_int(type, 0));
}

/* The upper half of the product, computed in twice the register's width. */
static kir_value_t *multiply_high(jit_code_t *code, hr_dtype_t dtype, kir_value_t *a,
                                  kir_value_t *b) {
  kir_builder_t *builder = code->builder;
  kir_type_t *type = kir_type_of(a);
  bool is_signed = hr_dtype_class(dtype) == HR_CLASS_SIGNED;
  int bits = hr_dtype_table[dtype].bits;
  kir_type_t *double_width = kir_int_type(code->module, (unsigned)(2 * jit_element_bits(type)));
  kir_type_t *wide = jit_type_like(double_width, type);
  kir_value_t *x = is_signed ? kir_sext(builder, a, wide) : kir_zext(builder, a, wide);
  kir_value_t *y = is_signed ? kir_sext(builder, b, wide) : kir_zext(builder, b, wide);
  kir_value_t *product = kir_lshr(builder, kir_mul(builder, x, y), jit_int(wide, bits));
  return kir_trunc(builder, product, type);
}

static kir_value_t *extreme(jit_code_t *code, const jit_element_op_t *op, kir_value_t *a,
                            kir_value_t *b) {
  bool is_signed = hr_dtype_class(op->from) == HR_CLASS_SIGNED;
  kir_op_t max = is_signed ? KIR_SMAX : KIR_UMAX;
  kir_op_t min = is_signed ? KIR_SMIN : KIR_UMIN;
  return jit_intrinsic(code, op->op == HLO_MAXIMUM ? max : min, kir_type_of(a),
                       (kir_value_t *[]){a, b}, 2);
}

/* -1, 0 or 1; unsigned types have no -1. */
static kir_value_t *sign(jit_code_t *code, bool is_signed, kir_value_t *a) {
  kir_type_t *type = kir_type_of(a);
  kir_value_t *zero = jit_int(type, 0);
  kir_value_t *is_zero = kir_icmp(code->builder, KIR_ICMP_EQ, a, zero);
  kir_value_t *sized = jit_int(type, 1);
  if (is_signed)
    sized = kir_select(code->builder, is_less(code, true, a, zero), jit_int(type, -1), sized);
  return kir_select(code->builder, is_zero, zero, sized);
}

static kir_value_t *absolute(jit_code_t *code, bool is_signed, kir_value_t *a) {
  if (!is_signed) return a;
  kir_value_t *negative = is_less(code, true, a, jit_int(kir_type_of(a), 0));
  return kir_select(code->builder, negative, kir_neg(code->builder, a), a);
}

/* --- powers ----------------------------------------------------------------------------------- */

/* Exponentiation by squaring, one bit of the exponent an iteration, until all lanes are done:
 *
 *   loop:  result *= left odd ? square : 1
 *          square *= square
 *          left >>= 1 */
static void write_power_loop(jit_code_t *code, kir_value_t *function) {
  kir_builder_t *b = code->builder;
  kir_value_t *base = kir_param(function, 0), *exponent = kir_param(function, 1);
  kir_type_t *type = kir_type_of(base);
  kir_block_t *entry = kir_insert_block(b);
  kir_block_t *loop = kir_append_block(function, "loop");
  kir_block_t *done = kir_append_block(function, "done");
  kir_br(b, loop);
  kir_position_at_end(b, loop);
  kir_value_t *result = kir_phi(b, type), *square = kir_phi(b, type), *left = kir_phi(b, type);
  kir_value_t *one = jit_int(type, 1), *zero = jit_int(type, 0);
  kir_value_t *odd = kir_icmp(b, KIR_ICMP_NE, kir_and(b, left, one), zero);
  kir_value_t *factor = kir_select(b, odd, square, one);
  kir_value_t *next[] = {kir_mul(b, result, factor), kir_mul(b, square, square),
                         kir_lshr(b, left, one)};
  kir_value_t *more = any_lane(code, kir_icmp(b, KIR_ICMP_NE, next[2], zero));
  kir_cond_br(b, more, loop, done);
  kir_block_t *from[] = {entry, loop};
  kir_add_incoming(result, (kir_value_t *[]){one, next[0]}, from, 2);
  kir_add_incoming(square, (kir_value_t *[]){base, next[1]}, from, 2);
  kir_add_incoming(left, (kir_value_t *[]){exponent, next[2]}, from, 2);
  kir_position_at_end(b, done);
  kir_ret(b, next[0]);
}

/* A negative exponent gives 1 for base 1, 1 or -1 for base -1, else 0. */
static kir_value_t *power(jit_code_t *code, bool is_signed, kir_value_t *base,
                          kir_value_t *exponent) {
  kir_builder_t *b = code->builder;
  static const lane_function_t power_function = {"power", write_power_loop};
  kir_type_t *type = kir_type_of(base);
  kir_value_t *result = call_function(code, &power_function, base, exponent);
  if (!is_signed) return result;
  kir_value_t *odd = is_equal(code, kir_and(b, exponent, jit_int(type, 1)), 1);
  kir_value_t *of_minus = kir_select(b, odd, jit_int(type, -1), jit_int(type, 1));
  kir_value_t *fraction = kir_select(b, is_equal(code, base, -1), of_minus, jit_int(type, 0));
  fraction = kir_select(b, is_equal(code, base, 1), jit_int(type, 1), fraction);
  return kir_select(b, is_less(code, true, exponent, jit_int(type, 0)), fraction, result);
}

/* Registers of narrow types have extra leading bits, which are subtracted. */
static kir_value_t *leading_zeros(jit_code_t *code, hr_dtype_t dtype, kir_value_t *a) {
  kir_type_t *type = kir_type_of(a);
  kir_value_t *no = kir_const_int(kir_int_type(code->module, 1), 0);
  kir_value_t *zeros =
      jit_intrinsic(code, KIR_CTLZ, type, (kir_value_t *[]){low_bits(code, dtype, a), no}, 2);
  int unused = jit_element_bits(type) - hr_dtype_table[dtype].bits;
  return unused ? kir_sub(code->builder, zeros, jit_int(type, unused)) : zeros;
}

static kir_value_t *compute(jit_code_t *code, const jit_element_op_t *op, kir_value_t **args) {
  kir_builder_t *b = code->builder;
  kir_type_t *type = kir_type_of(args[0]);
  bool is_signed = hr_dtype_class(op->from) == HR_CLASS_SIGNED;
  switch (op->op) {
    case HLO_ADD:
      return kir_add(b, args[0], args[1]);
    case HLO_SUBTRACT:
      return kir_sub(b, args[0], args[1]);
    case HLO_MULTIPLY:
      return kir_mul(b, args[0], args[1]);
    case HLO_AND:
      return kir_and(b, args[0], args[1]);
    case HLO_OR:
      return kir_or(b, args[0], args[1]);
    case HLO_XOR:
      return kir_xor(b, args[0], args[1]);
    case HLO_NOT:
      return kir_not(b, args[0]);
    case HLO_NEGATE:
      return kir_neg(b, args[0]);
    case HLO_ABS:
      return absolute(code, is_signed, args[0]);
    case HLO_SIGN:
      return sign(code, is_signed, args[0]);
    case HLO_POPCNT: {
      kir_value_t *low = low_bits(code, op->from, args[0]);
      return jit_intrinsic(code, KIR_CTPOP, type, &low, 1);
    }
    case HLO_COUNT_LEADING_ZEROS:
      return leading_zeros(code, op->from, args[0]);
    case HLO_DIVIDE:
    case HLO_REMAINDER:
      return divide(code, op, args[0], args[1]);
    case HLO_POWER:
      return power(code, is_signed, args[0], args[1]);
    case HLO_MULHI:
      return multiply_high(code, op->from, args[0], args[1]);
    case HLO_MAXIMUM:
    case HLO_MINIMUM:
      return extreme(code, op, args[0], args[1]);
    default:
      return shift(code, op->op, op->from, args[0], args[1]);
  }
}

kir_value_t *jit_integer_emit(jit_code_t *code, const jit_element_op_t *op, kir_value_t **args) {
  return jit_round(code, op->to, compute(code, op, args));
}
