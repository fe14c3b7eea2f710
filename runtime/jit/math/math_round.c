/* Ops with exact results: rounding, signs, minimum and maximum, remainders. */
#include <math.h>

#include "jit/math/math_emit.h"
#include "jit/math/math_parts.h"

math_value_t jit_emit_ceil(jit_code_t *c, math_value_t x) { return intrinsic_1(c, KIR_CEIL, x); }
math_value_t jit_emit_floor(jit_code_t *c, math_value_t x) { return intrinsic_1(c, KIR_FLOOR, x); }
math_value_t jit_emit_round_nearest_even(jit_code_t *c, math_value_t x) {
  return intrinsic_1(c, KIR_RINT, x);
}
math_value_t jit_emit_sqrt(jit_code_t *c, math_value_t x) { return square_root(c, x); }

/* Truncates and adds one if the fraction was a half or more. */
math_value_t jit_emit_round_nearest_afz(jit_code_t *c, math_value_t x) {
  math_value_t whole = intrinsic_1(c, KIR_FTRUNC, x), cut = magnitude(c, sub(c, x, whole));
  math_value_t is_up = compare(c, KIR_FCMP_OGE, cut, real(x, 0.5));
  math_value_t more = with_sign_of(c, choose(c, is_up, real(x, 1), real(x, 0)), x);
  return with_sign_of(c, add(c, whole, more), x);
}

math_value_t jit_emit_sign(jit_code_t *c, math_value_t x) {
  math_value_t one = with_sign_of(c, real(x, 1), x);
  return choose(c, either(c, is_equal_k(c, x, 0), is_nan(c, x)), x, one);
}

math_value_t jit_emit_is_finite(jit_code_t *c, math_value_t x) {
  return is_less_k(c, magnitude(c, x), INFINITY);
}

/* The comparisons x < y and y < x give equal results except for -0 and +0, whose bits are
 * combined. */
math_value_t jit_math_minmax_number(jit_code_t *c, math_value_t x, math_value_t y, bool most) {
  math_value_t extreme = math_minmax(c, x, y, most);
  if (extreme) return extreme;
  kir_fcmp_t is = most ? KIR_FCMP_OGT : KIR_FCMP_OLT;
  math_value_t one = bits_of(c, choose(c, compare(c, is, x, y), x, y));
  math_value_t other = bits_of(c, choose(c, compare(c, is, y, x), y, x));
  return from_bits(c, most ? both(c, one, other) : either(c, one, other), x);
}

/* A constant that is the same number, not NaN, in all lanes. */
static bool is_number(math_value_t k, double *out_number) {
  if (!kir_is_constant(k) || !kir_is_splat(k)) return false;
  *out_number = kir_decode_float(k->lanes[0], (unsigned)jit_element_bits(type_of(k)));
  return !isnan(*out_number);
}

/* The extreme of x and the number k. k > x ? k : x is the maximum, also if x is NaN; of two zeros
 * it is x. If that may be the wrong one, as k is the larger zero, x > k ? x : k takes its place,
 * which is not NaN. */
static math_value_t extreme_of_number(jit_code_t *c, math_value_t x, math_value_t k, double number,
                                      bool most) {
  kir_fcmp_t is = most ? KIR_FCMP_OGT : KIR_FCMP_OLT;
  bool is_extreme_zero = number == 0 && !signbit(number) == most;
  if (!is_extreme_zero) return choose(c, compare(c, is, k, x), k, x);
  return choose(c, is_nan(c, x), x, choose(c, compare(c, is, x, k), x, k));
}

static math_value_t extreme(jit_code_t *c, math_value_t x, math_value_t y, bool most) {
  double number;
  if (is_number(y, &number)) return extreme_of_number(c, x, y, number, most);
  if (is_number(x, &number)) return extreme_of_number(c, y, x, number, most);
  math_value_t extreme = jit_math_minmax_number(c, x, y, most);
  return choose_k(c, compare(c, KIR_FCMP_UNO, x, y), NAN, extreme);
}

math_value_t jit_emit_maximum(jit_code_t *c, math_value_t x, math_value_t y) {
  return extreme(c, x, y, true);
}
math_value_t jit_emit_minimum(jit_code_t *c, math_value_t x, math_value_t y) {
  return extreme(c, x, y, false);
}

/* x - trunc(x / y) y is exact if the quotient is no longer than a mantissa. A quotient rounded up
 * to the next integer leaves a remainder of the wrong sign, which is corrected by one divisor. */
static math_value_t near_remainder(jit_code_t *c, math_value_t a, math_value_t b) {
  math_value_t whole = intrinsic_1(c, KIR_FTRUNC, divide(c, a, b));
  math_value_t left = fused(c, negate(c, whole), b, a);
  left = choose(c, is_less_k(c, left, 0), add(c, left, b), left);
  return choose(c, compare(c, KIR_FCMP_OGE, left, b), sub(c, left, b), left);
}

/* Other lanes call the C library. */
math_value_t jit_emit_remainder(jit_code_t *c, math_value_t x, math_value_t y) {
  bool wide = is_f64(x);
  math_value_t a = magnitude(c, x), b = magnitude(c, y),
               near = with_sign_of(c, near_remainder(c, a, b), x);
  math_value_t is_middling = both(c, is_more_k(c, b, wide ? 0x1p-960 : 0x1p-100),
                                  is_less_k(c, b, wide ? 0x1p900 : 0x1p90));
  math_value_t is_near = both(c, is_middling, is_less(c, a, mul_k(c, b, wide ? 0x1p52 : 0x1p23)));
  math_branch_t branch = math_branch_if_any(c, kir_not(c->builder, is_near));
  return math_branch_end(c, branch, near, math_call_by_lane(c, wide ? "fmod" : "fmodf", x, y));
}
