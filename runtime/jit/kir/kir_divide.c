/* Division of vectors of integers, which processors have no instruction for.
 *
 *     32 bits, constant d   s = ceil(log2 d), m = floor(2^32 (2^s - d) / d) + 1
 *                           t = floor(v m / 2^32)
 *                           v / d = floor((t + floor((v - t) / 2)) / 2^(s - 1))
 *     16 bits, constant d   as f32, by 1 / d rounded away from 0: what the product is too large by
 * is less than the 1 / d that separates it from the next integer 32 bits, else         as f64: a
 * quotient of such integers never rounds up to an integer 64 bits, constant d   as 32 bits, by
 * products of halves 64 bits, else         by the inverse as f64, rounded down, twice: the second
 * time for the remainder
 *
 * The first form is exact for every v below 2^32 (Granlund and Montgomery 1994); it multiplies
 * every second lane at a time, in 64 bits. The last one is too small by 2^-48 of itself and less
 * than 1 after the first quotient, so by at most 1 after the second. */
#include <math.h>

#include "jit/kir/kir.h"

#define JUST_BELOW_1 UINT64_C(0x3feffffffffffff0) /* as f64: 1 - 2^-49 */

static kir_value_t *all(kir_type_t *type, uint64_t lane) { return kir_splat_constant(type, lane); }

static kir_value_t *build(kir_builder_t *b, kir_op_t op, kir_value_t *x, kir_value_t *y) {
  return kir_expand_or_build(b, op, x->type, 0, (kir_value_t *[]){x, y}, 2);
}

/* --- by a constant ---------------------------------------------------------------------------- */

/* Quotients of 64-bit lanes with values below 2^32. */
static kir_value_t *divide_lanes(kir_builder_t *b, kir_type_t *type, kir_value_t *v,
                                 uint64_t divisor) {
  unsigned shift = 1;
  while (shift < 32 && (UINT64_C(1) << shift) < divisor) shift++;
  uint64_t factor = (((UINT64_C(1) << shift) - divisor) << 32) / divisor + 1;
  kir_value_t *t = build(b, KIR_LSHR, build(b, KIR_MUL, v, all(type, factor)), all(type, 32));
  kir_value_t *rest = build(b, KIR_LSHR, build(b, KIR_SUB, v, t), all(type, 1));
  return build(b, KIR_LSHR, build(b, KIR_ADD, t, rest), all(type, shift - 1));
}

/* Unsigned division of 32-bit lanes. */
static kir_value_t *by_constant(kir_builder_t *b, kir_value_t *x, uint64_t divisor) {
  kir_type_t *type = x->type, *wide = kir_int_type(type->module, 64);
  if (!(divisor & (divisor - 1)))
    return build(b, KIR_LSHR, x, all(type, (uint64_t)__builtin_ctzll(divisor)));
  kir_type_t *pairs = kir_vector_type(wide, type->lanes / 2);
  kir_value_t *both = kir_bitcast(b, x, pairs), *half = all(pairs, 32);
  kir_value_t *low = build(b, KIR_AND, both, all(pairs, UINT32_MAX)),
              *high = build(b, KIR_LSHR, both, half);
  low = divide_lanes(b, pairs, low, divisor);
  high = divide_lanes(b, pairs, high, divisor);
  return kir_bitcast(b, build(b, KIR_OR, low, build(b, KIR_SHL, high, half)), type);
}

/* Upper halves of the products of 64-bit lanes and a constant, from products of their halves. */
static kir_value_t *multiply_high(kir_builder_t *b, kir_value_t *x, uint64_t factor) {
  kir_type_t *type = x->type;
  kir_value_t *mask = all(type, UINT32_MAX), *half = all(type, 32);
  kir_value_t *low = build(b, KIR_AND, x, mask), *high = build(b, KIR_LSHR, x, half);
  kir_value_t *f_low = all(type, factor & UINT32_MAX), *f_high = all(type, factor >> 32);
  kir_value_t *carry = build(b, KIR_LSHR, build(b, KIR_MUL, low, f_low), half);
  kir_value_t *a = build(b, KIR_ADD, build(b, KIR_MUL, high, f_low), carry);
  kir_value_t *c = build(b, KIR_ADD, build(b, KIR_MUL, low, f_high), build(b, KIR_AND, a, mask));
  kir_value_t *sum = build(b, KIR_ADD, build(b, KIR_LSHR, a, half), build(b, KIR_LSHR, c, half));
  return build(b, KIR_ADD, build(b, KIR_MUL, high, f_high), sum);
}

/* Unsigned division of 64-bit lanes. */
static kir_value_t *by_wide_constant(kir_builder_t *b, kir_value_t *x, uint64_t divisor) {
  kir_type_t *type = x->type;
  if (!(divisor & (divisor - 1)))
    return build(b, KIR_LSHR, x, all(type, (uint64_t)__builtin_ctzll(divisor)));
  unsigned shift = 64 - (unsigned)__builtin_clzll(divisor - 1);
  uint64_t above = (shift < 64 ? UINT64_C(1) << shift : 0) - divisor;
  kir_value_t *t = multiply_high(b, x, (uint64_t)(((unsigned __int128)above << 64) / divisor) + 1);
  kir_value_t *rest = build(b, KIR_LSHR, build(b, KIR_SUB, x, t), all(type, 1));
  return build(b, KIR_LSHR, build(b, KIR_ADD, t, rest), all(type, shift - 1));
}

/* All ones in negative lanes. */
static kir_value_t *sign_of(kir_builder_t *b, kir_value_t *x) {
  return build(b, KIR_ASHR, x, all(x->type, x->type->bits - 1));
}

/* Negates the lanes whose `sign` is all ones. */
static kir_value_t *apply_sign(kir_builder_t *b, kir_value_t *x, kir_value_t *sign) {
  return build(b, KIR_SUB, build(b, KIR_XOR, x, sign), sign);
}

static kir_value_t *divide_unsigned(kir_builder_t *b, kir_value_t *x, uint64_t divisor) {
  return x->type->bits == 64 ? by_wide_constant(b, x, divisor) : by_constant(b, x, divisor);
}

/* Signed division: negative lanes are divided by magnitude. */
static kir_value_t *by_signed_constant(kir_builder_t *b, kir_value_t *x, int64_t divisor) {
  kir_value_t *sign = sign_of(b, x), *size = apply_sign(b, x, sign);
  if (divisor < 0) sign = build(b, KIR_XOR, sign, all(x->type, UINT64_MAX));
  uint64_t by = divisor < 0 ? -(uint64_t)divisor : (uint64_t)divisor;
  return apply_sign(b, divide_unsigned(b, size, by), sign);
}

static bool is_known(const kir_value_t *divisor) {
  return kir_is_constant(divisor) && kir_is_splat(divisor) && divisor->lanes[0];
}

/* 1 / divisor, not below it in magnitude, as f32 or f64. */
static double reciprocal_of(int64_t divisor, bool is_double) {
  double inverse = 1 / (double)divisor, away = divisor < 0 ? -1 : 1;
  if (is_double)
    return fabs(fma(inverse, (double)divisor, -1)) == 0 ? inverse : nextafter(inverse, away);
  float narrow = (float)inverse;
  bool is_below = fabs((double)narrow * (double)divisor) < 1;
  return (double)(is_below ? nextafterf(narrow, (float)away) : narrow);
}

/* Values of at most 16 bits by f32, signed ones of 32 bits by f64. */
static kir_value_t *by_reciprocal(kir_builder_t *b, kir_value_t *x, int64_t divisor,
                                  bool is_double) {
  kir_module_t *module = x->type->module;
  kir_type_t *real =
      kir_type_like(x->type, is_double ? kir_double_type(module) : kir_float_type(module));
  double inverse = reciprocal_of(divisor, is_double);
  kir_value_t *factor = kir_splat_constant(real, kir_encode_float(inverse, real->bits));
  return kir_fptosi(b, build(b, KIR_FMUL, kir_sitofp(b, x, real), factor), x->type);
}

/* --- by a variable ---------------------------------------------------------------------------- */

static kir_value_t *as_f64(kir_builder_t *b, kir_value_t *x, kir_value_t *y, bool is_signed) {
  kir_type_t *f64 = kir_type_like(x->type, kir_double_type(x->type->module));
  x = (is_signed ? kir_sitofp : kir_uitofp)(b, x, f64);
  kir_value_t *quotient = build(b, KIR_FDIV, x, (is_signed ? kir_sitofp : kir_uitofp)(b, y, f64));
  return (is_signed ? kir_fptosi : kir_fptoui)(b, quotient, y->type);
}

/* More than 0 and less than 2^16, from a lower bound of the quotient: the nearest integer to what
 * is 1/2 less. */
static kir_value_t *small_quotient(kir_builder_t *b, kir_value_t *rest, kir_value_t *inverse) {
  kir_type_t *type = rest->type, *f64 = inverse->type;
  kir_value_t *below = kir_splat_constant(f64, kir_encode_float(0x1p52 - 0.5, 64));
  kir_value_t *in[] = {kir_uitofp(b, rest, f64), inverse, below};
  kir_value_t *sum = kir_bitcast(b, kir_intrinsic(b, KIR_FMA, f64, in, 3), type);
  sum = build(b, KIR_SUB, sum, all(type, kir_encode_float(0x1p52, 64)));
  return kir_select(b, kir_icmp(b, KIR_ICMP_SGT, sum, kir_null(type)), sum, kir_null(type));
}

/* Unsigned 64-bit lanes. */
static kir_value_t *divide_wide(kir_builder_t *b, kir_value_t *x, kir_value_t *y) {
  kir_type_t *f64 = kir_type_like(x->type, kir_double_type(x->type->module));
  kir_value_t *below = kir_splat_constant(f64, JUST_BELOW_1);
  kir_value_t *inverse = build(b, KIR_FDIV, below, kir_uitofp(b, y, f64));
  kir_value_t *quotient = build(b, KIR_FMUL, kir_uitofp(b, x, f64), inverse);
  quotient = kir_fptoui(b, quotient, x->type);
  kir_value_t *rest = build(b, KIR_SUB, x, build(b, KIR_MUL, quotient, y));
  kir_value_t *more = small_quotient(b, rest, inverse);
  rest = build(b, KIR_SUB, rest, build(b, KIR_MUL, more, y));
  kir_value_t *is_short = kir_sext(b, kir_icmp(b, KIR_ICMP_UGE, rest, y), x->type);
  return build(b, KIR_SUB, build(b, KIR_ADD, quotient, more), is_short);
}

static kir_value_t *wide_quotient_of(kir_builder_t *b, kir_value_t *x, kir_value_t *y,
                                     bool is_signed) {
  const kir_value_t *divisor = y;
  if (is_known(divisor))
    return is_signed ? by_signed_constant(b, x, (int64_t)divisor->lanes[0])
                     : by_wide_constant(b, x, divisor->lanes[0]);
  if (!is_signed) return divide_wide(b, x, y);
  kir_value_t *x_sign = sign_of(b, x), *y_sign = sign_of(b, y);
  kir_value_t *quotient = divide_wide(b, apply_sign(b, x, x_sign), apply_sign(b, y, y_sign));
  return apply_sign(b, quotient, build(b, KIR_XOR, x_sign, y_sign));
}

static bool is_power_of_two(const kir_value_t *divisor) {
  return !(divisor->lanes[0] & (divisor->lanes[0] - 1));
}

/* bits: of the integers, which may be narrower than their lanes. */
static kir_value_t *quotient_of(kir_builder_t *b, kir_value_t *x, kir_value_t *y, unsigned bits,
                                bool is_signed) {
  const kir_value_t *divisor = y;
  if (bits == 64) return wide_quotient_of(b, x, y, is_signed);
  if (is_known(divisor) && !is_power_of_two(divisor) && (is_signed || bits <= 16))
    return by_reciprocal(b, x, (int32_t)divisor->lanes[0], bits > 16);
  if (!is_known(divisor) || x->type->lanes < 4 || x->type->lanes % 2)
    return as_f64(b, x, y, is_signed);
  return is_signed ? by_signed_constant(b, x, (int32_t)divisor->lanes[0])
                   : by_constant(b, x, divisor->lanes[0]);
}

kir_value_t *kir_divide_vectors(kir_builder_t *b, kir_op_t op, kir_value_t *x, kir_value_t *y) {
  kir_type_t *type = x->type;
  bool is_signed = op == KIR_SDIV || op == KIR_SREM, is_rest = op == KIR_UREM || op == KIR_SREM;
  if (type->kind != KIR_TYPE_VECTOR) return build(b, op, x, y);
  kir_type_t *wide = kir_type_like(type, kir_int_type(type->module, type->bits == 64 ? 64 : 32));
  x = kir_int_cast(b, x, wide, is_signed);
  y = kir_int_cast(b, y, wide, is_signed);
  kir_value_t *result = quotient_of(b, x, y, type->bits, is_signed);
  if (is_rest) result = build(b, KIR_SUB, x, build(b, KIR_MUL, result, y));
  return kir_int_cast(b, result, type, false);
}
