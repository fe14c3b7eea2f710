/* Inverses of the trigonometric functions. */
#include <math.h>

#include "jit/math/math_emit.h"
#include "jit/math/math_parts.h"

#define PI_HIGH 0x1.921fb54442d18p1
#define PI_LOW 0x1.1a62633145c07p-53
#define TAN_8TH 0x1.a827999fcef32p-2   /* tan(pi/8) */
#define TAN_3_8THS 0x1.3504f333f9de6p1 /* tan(3 pi/8) */

/* Precision of an angle: f32, f64, or more bits than f64. */
typedef enum { ARC_FAST, ARC_USUAL, ARC_LONG } arc_precision_t;

static math_value_t arc_polynomial(jit_code_t *c, math_value_t t, bool fast) {
  math_value_t z = mul(c, t, t);
  math_value_t p = fast ? POLYNOMIAL(c, z, math_atan_fast) : POLYNOMIAL(c, z, math_atan_f64);
  return mul(c, mul(c, z, t), p);
}

/* The same with error 2^-61: the first coefficient, which dominates p, and all products are
 * exact. */
static math_sum_t long_arc_polynomial(jit_code_t *c, math_value_t t) {
  int others = (int)(sizeof math_atan_f64 / sizeof *math_atan_f64) - 1;
  math_sum_t z = math_times_sum(c, t, (math_sum_t){t, real(t, 0)}), p;
  math_value_t s = mul(c, z.high, math_polynomial(c, z.high, math_atan_f64 + 1, others));
  math_value_t first = real(t, math_atan_f64[0]);
  p.high = add(c, first, s);
  p.low = add(c, sub(c, first, p.high), s);
  math_sum_t product = math_times_sum(c, z.high, p);
  product.low = multiply_add(c, z.low, p.high, product.low);
  return math_times_sum(c, t, product);
}

/* Error of t as the quotient of top.high and bottom, including the low parts of both: the quotient
 * is t + the result. */
static math_value_t rest_of_quotient(jit_code_t *c, math_value_t t, math_sum_t top,
                                     math_value_t bottom, math_value_t bottom_low) {
  math_value_t left =
      sub(c, fused(c, negate(c, t), bottom, top.high), fused(c, t, bottom_low, negate(c, top.low)));
  return choose_k(c, is_equal_k(c, bottom, INFINITY), 0, divide(c, left, bottom));
}

/* Rounding error of sum = y + x, for positive numbers. */
static math_value_t rest_of_sum(jit_code_t *c, math_value_t y, math_value_t x, math_value_t sum) {
  math_value_t is_y_larger = is_less(c, x, y), larger = choose(c, is_y_larger, y, x),
               smaller = choose(c, is_y_larger, x, y);
  return sub(c, smaller, sub(c, sum, larger));
}

/* Sum of the large part of an angle and its small parts. */
static math_sum_t sum_of_angle(jit_code_t *c, math_value_t large, math_value_t small,
                               math_sum_t rest) {
  math_value_t sum = add(c, large, small), lost = add(c, sub(c, large, sum), small);
  if (!rest.low) return (math_sum_t){sum, add(c, lost, rest.high)};
  math_sum_t result = {.high = math_exact_sum(c, sum, rest.high, &result.low)};
  result.low = add(c, result.low, add(c, lost, rest.low));
  return result;
}

/* The angle of the point (x, y), both positive. Its distance from the nearest of 0, pi/4 and pi/2
 * has the tangent t = y / x, (y - x) / (y + x) or -x / y, which takes one division. The result is
 * subtracted from pi where `is_left`. Unless the angle is ARC_LONG, the second number of the sum is
 * up to a tenth of the first. */
static math_sum_t angle(jit_code_t *c, math_value_t y, math_value_t x, math_value_t is_left,
                        arc_precision_t precision) {
  math_value_t is_low = compare(c, KIR_FCMP_OLE, y, mul_k(c, x, TAN_8TH));
  math_value_t is_high = compare(c, KIR_FCMP_OGT, y, mul_k(c, x, TAN_3_8THS));
  math_value_t top = choose(c, is_low, y, choose(c, is_high, negate(c, x), sub(c, y, x)));
  math_value_t sum_of_both = add(c, y, x),
               bottom = choose(c, is_low, x, choose(c, is_high, y, sum_of_both));
  bottom = choose_k(c, is_equal_k(c, bottom, 0), 1, bottom);
  math_value_t t = divide(c, top, bottom), eighths, high, low;
  math_sum_t rest = {NULL, NULL};
  if (precision == ARC_LONG)
    rest = long_arc_polynomial(c, t);
  else
    rest.high = arc_polynomial(c, t, precision == ARC_FAST);
  math_value_t *lowest = rest.low ? &rest.low : &rest.high;
  if (precision != ARC_FAST) {
    math_value_t is_end = either(c, is_low, is_high);
    math_value_t bottom_low = choose_k(c, is_end, 0, rest_of_sum(c, y, x, sum_of_both)), top_low;
    math_exact_sum(c, y, negate(c, x), &top_low);
    math_sum_t whole_top = {top, choose_k(c, is_end, 0, top_low)};
    *lowest = add(c, *lowest, rest_of_quotient(c, t, whole_top, bottom, bottom_low));
  }
  eighths = choose(c, is_low, real(y, 0), choose(c, is_high, real(y, 0.5), real(y, 0.25)));
  if (is_left) {
    eighths = choose(c, is_left, k_sub(c, 1, eighths), eighths);
    t = choose(c, is_left, negate(c, t), t);
    rest.high = choose(c, is_left, negate(c, rest.high), rest.high);
    if (rest.low) rest.low = choose(c, is_left, negate(c, rest.low), rest.low);
  }
  high = mul_k(c, eighths, PI_HIGH);
  low = mul_k(c, eighths, PI_LOW);
  /* 3 pi/4 has no short multiple: adds the rounding error of the product */
  if (is_left) low = add(c, low, fused(c, eighths, real(y, PI_HIGH), negate(c, high)));
  *lowest = add(c, low, *lowest);
  return sum_of_angle(c, high, t, rest);
}

static math_value_t rounded(jit_code_t *c, math_sum_t sum) { return add(c, sum.high, sum.low); }

static math_value_t arc_tangent(jit_code_t *c, math_value_t x, bool fast) {
  math_value_t a =
      rounded(c, angle(c, magnitude(c, x), real(x, 1), NULL, fast ? ARC_FAST : ARC_USUAL));
  return choose(c, is_less_k(c, magnitude(c, x), 0x1p-27), x, with_sign_of(c, a, x));
}

math_value_t jit_emit_atan(jit_code_t *c, math_value_t x) {
  return is_f64(x) ? arc_tangent(c, x, false)
                   : math_narrow(c, arc_tangent(c, math_widen(c, x), true));
}

static math_value_t has_sign(jit_code_t *c, math_value_t x) {
  math_value_t bits = bits_of(c, x);
  return kir_icmp(c->builder, KIR_ICMP_SLT, bits, bits_k(bits, 0));
}

math_sum_t math_long_angle(jit_code_t *c, math_value_t y, math_value_t x) {
  math_sum_t size = angle(c, magnitude(c, y), magnitude(c, x), has_sign(c, x), ARC_LONG);
  math_value_t is_below = has_sign(c, y);
  return (math_sum_t){choose(c, is_below, negate(c, size.high), size.high),
                      choose(c, is_below, negate(c, size.low), size.low)};
}

/* Huge points are scaled down, so that y + x stays finite; two infinities count as equal. */
static math_value_t arc_tangent_2(jit_code_t *c, math_value_t y, math_value_t x, bool fast) {
  math_value_t top = magnitude(c, y), right = magnitude(c, x);
  math_value_t is_huge = either(c, is_more_k(c, top, 0x1p1000), is_more_k(c, right, 0x1p1000));
  top = choose(c, is_huge, mul_k(c, top, 0x1p-60), top);
  right = choose(c, is_huge, mul_k(c, right, 0x1p-60), right);
  math_value_t is_corner = both(c, is_equal_k(c, top, INFINITY), is_equal_k(c, right, INFINITY));
  top = choose_k(c, is_corner, 1, top);
  right = choose_k(c, is_corner, 1, right);
  math_value_t size = rounded(c, angle(c, top, right, has_sign(c, x), fast ? ARC_FAST : ARC_USUAL));
  math_value_t result = with_sign_of(c, size, y);
  math_value_t is_any_nan = compare(c, KIR_FCMP_UNO, y, x);
  return choose_k(c, is_any_nan, NAN, result);
}

math_value_t jit_emit_atan2(jit_code_t *c, math_value_t y, math_value_t x) {
  if (is_f64(x)) return arc_tangent_2(c, y, x, false);
  return math_narrow(c, arc_tangent_2(c, math_widen(c, y), math_widen(c, x), true));
}

/* `rest` is asin(s) - s, where s is small: s = |x|, or from 1/2 on s = sqrt((1 - |x|) / 2), with
 * asin(x) = pi/2 - 2 asin(s) and acos(x) = 2 asin(s). `rest` includes the rounding error of the
 * root. */
typedef struct arc_parts {
  math_value_t is_far;
  math_value_t s, rest;
} arc_parts_t;

static arc_parts_t arc_parts(jit_code_t *c, math_value_t x, bool fast) {
  math_value_t a = magnitude(c, x), far_z = mul_k(c, k_sub(c, 1, a), 0.5),
               root = square_root(c, far_z);
  arc_parts_t parts = {.is_far = compare(c, KIR_FCMP_UGE, a, real(x, 0.5))};
  math_value_t z = choose(c, parts.is_far, far_z, mul(c, x, x));
  math_value_t p = fast ? POLYNOMIAL(c, z, math_asin_fast) : POLYNOMIAL(c, z, math_asin_f64);
  parts.s = choose(c, parts.is_far, root, a);
  parts.rest = mul(c, mul(c, z, parts.s), p);
  if (fast) return parts;
  math_value_t wrong = fused(c, negate(c, root), root, far_z);
  math_value_t bottom = choose_k(c, is_equal_k(c, root, 0), 1, add(c, root, root));
  math_value_t lost = choose(c, parts.is_far, divide(c, wrong, bottom), real(x, 0));
  parts.rest = add(c, parts.rest, lost);
  return parts;
}

/* high + low - (s + rest), including the rounding error of high - s; |high| > |s|. */
static math_value_t reflect_sign(jit_code_t *c, math_value_t turns, math_value_t s,
                                 math_value_t rest) {
  math_value_t high = mul_k(c, turns, PI_HIGH), low = mul_k(c, turns, PI_LOW);
  math_value_t difference = sub(c, high, s), lost = sub(c, sub(c, high, difference), s);
  return add(c, difference, add(c, lost, sub(c, low, rest)));
}

static math_value_t arc_sine(jit_code_t *c, math_value_t x, bool fast) {
  arc_parts_t parts = arc_parts(c, x, fast);
  math_value_t far =
      reflect_sign(c, real(x, 0.5), add(c, parts.s, parts.s), add(c, parts.rest, parts.rest));
  math_value_t result = choose(c, parts.is_far, far, add(c, parts.s, parts.rest));
  return choose(c, is_less_k(c, magnitude(c, x), 0x1p-27), x, with_sign_of(c, result, x));
}

math_value_t jit_emit_asin(jit_code_t *c, math_value_t x) {
  return is_f64(x) ? arc_sine(c, x, false) : math_narrow(c, arc_sine(c, math_widen(c, x), true));
}

static math_value_t arc_cosine(jit_code_t *c, math_value_t x, bool fast) {
  arc_parts_t parts = arc_parts(c, x, fast);
  math_value_t is_left = is_less_k(c, x, 0), sign = choose(c, is_left, real(x, -1), real(x, 1));
  math_value_t twice = add(c, parts.s, parts.s), twice_rest = add(c, parts.rest, parts.rest);
  math_value_t s = choose(c, parts.is_far, twice, mul(c, sign, parts.s));
  math_value_t rest = choose(c, parts.is_far, twice_rest, mul(c, sign, parts.rest));
  math_value_t turned = reflect_sign(c, choose(c, parts.is_far, real(x, 1), real(x, 0.5)), s, rest);
  return choose(c, both(c, parts.is_far, compare(c, KIR_FCMP_UGE, x, real(x, 0))), add(c, s, rest),
                turned);
}

math_value_t jit_emit_acos(jit_code_t *c, math_value_t x) {
  return is_f64(x) ? arc_cosine(c, x, false)
                   : math_narrow(c, arc_cosine(c, math_widen(c, x), true));
}
