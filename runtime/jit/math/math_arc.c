/* Inverses of the trigonometric functions. */
#include <math.h>

#include "jit/math/math_emit.h"
#include "jit/math/math_parts.h"

#define PI_HIGH 0x1.921fb54442d18p1
#define PI_LOW 0x1.1a62633145c07p-53
#define TAN_8TH 0x1.a827999fcef32p-2   /* tan(pi/8) */
#define TAN_3_8THS 0x1.3504f333f9de6p1 /* tan(3 pi/8) */

static math_value_t arc_polynomial(jit_code_t *c, math_value_t t, bool fast) {
  math_value_t z = mul(c, t, t);
  math_value_t p = fast ? POLYNOMIAL(c, z, math_atan_fast) : POLYNOMIAL(c, z, math_atan_f64);
  return mul(c, mul(c, z, t), p);
}

/* What the quotient t of two numbers lacks, those being y - x and y + x or exact. */
static math_value_t rest_of_quotient(jit_code_t *c, math_value_t t, math_value_t top,
                                     math_value_t bottom, math_value_t bottom_low) {
  math_value_t left = sub(c, fused(c, negate(c, t), bottom, top), mul(c, t, bottom_low));
  return choose_k(c, is_equal_k(c, bottom, INFINITY), 0, divide(c, left, bottom));
}

/* y + x - sum, for positive numbers. */
static math_value_t rest_of_sum(jit_code_t *c, math_value_t y, math_value_t x, math_value_t sum) {
  math_value_t is_y_larger = is_less(c, x, y), larger = choose(c, is_y_larger, y, x),
               smaller = choose(c, is_y_larger, x, y);
  return sub(c, smaller, sub(c, sum, larger));
}

/* The angle of the point (x, y), both positive: its distance from the nearest of 0, pi/4 and pi/2
 * has the tangent t, that of y / x, (y - x) / (y + x) or -x / y. Taken from pi where `is_left`. One
 * division. */
static math_value_t angle(jit_code_t *c, math_value_t y, math_value_t x, math_value_t is_left,
                          bool fast) {
  math_value_t is_low = compare(c, KIR_FCMP_OLE, y, mul_k(c, x, TAN_8TH));
  math_value_t is_high = compare(c, KIR_FCMP_OGT, y, mul_k(c, x, TAN_3_8THS));
  math_value_t top = choose(c, is_low, y, choose(c, is_high, negate(c, x), sub(c, y, x)));
  math_value_t sum_of_both = add(c, y, x),
               bottom = choose(c, is_low, x, choose(c, is_high, y, sum_of_both));
  bottom = choose_k(c, is_equal_k(c, bottom, 0), 1, bottom);
  math_value_t t = divide(c, top, bottom), rest = arc_polynomial(c, t, fast), eighths, high, low;
  if (!fast) {
    math_value_t is_end = either(c, is_low, is_high);
    math_value_t bottom_low = choose_k(c, is_end, 0, rest_of_sum(c, y, x, sum_of_both));
    rest = add(c, rest, rest_of_quotient(c, t, top, bottom, bottom_low));
  }
  eighths = choose(c, is_low, real(y, 0), choose(c, is_high, real(y, 0.5), real(y, 0.25)));
  if (is_left) {
    eighths = choose(c, is_left, k_sub(c, 1, eighths), eighths);
    t = choose(c, is_left, negate(c, t), t);
    rest = choose(c, is_left, negate(c, rest), rest);
  }
  high = mul_k(c, eighths, PI_HIGH);
  low = mul_k(c, eighths, PI_LOW);
  /* 3 pi/4 has no such short multiple: what the product loses. */
  if (is_left) low = add(c, low, fused(c, eighths, real(y, PI_HIGH), negate(c, high)));
  math_value_t sum = add(c, high, t);
  math_value_t lost = add(c, sub(c, high, sum), t);
  return add(c, sum, add(c, lost, add(c, low, rest)));
}

static math_value_t arc_tangent(jit_code_t *c, math_value_t x, bool fast) {
  math_value_t a = angle(c, magnitude(c, x), real(x, 1), NULL, fast);
  return choose(c, is_less_k(c, magnitude(c, x), 0x1p-27), x, with_sign_of(c, a, x));
}

math_value_t jit_emit_atan(jit_code_t *c, math_value_t x) {
  return is_f64(x) ? arc_tangent(c, x, false)
                   : math_narrow(c, arc_tangent(c, math_widen(c, x), true));
}

/* Huge points are drawn nearer, so that y + x stays finite; two infinities count as equal. */
static math_value_t arc_tangent_2(jit_code_t *c, math_value_t y, math_value_t x, bool fast) {
  math_value_t top = magnitude(c, y), right = magnitude(c, x);
  math_value_t is_huge = either(c, is_more_k(c, top, 0x1p1000), is_more_k(c, right, 0x1p1000));
  top = choose(c, is_huge, mul_k(c, top, 0x1p-60), top);
  right = choose(c, is_huge, mul_k(c, right, 0x1p-60), right);
  math_value_t is_corner = both(c, is_equal_k(c, top, INFINITY), is_equal_k(c, right, INFINITY));
  top = choose_k(c, is_corner, 1, top);
  right = choose_k(c, is_corner, 1, right);
  math_value_t bits = bits_of(c, x);
  math_value_t is_left = kir_icmp(c->builder, KIR_ICMP_SLT, bits, bits_k(bits, 0));
  math_value_t result = with_sign_of(c, angle(c, top, right, is_left, fast), y);
  math_value_t is_any_nan = compare(c, KIR_FCMP_UNO, y, x);
  return choose_k(c, is_any_nan, NAN, result);
}

math_value_t jit_emit_atan2(jit_code_t *c, math_value_t y, math_value_t x) {
  if (is_f64(x)) return arc_tangent_2(c, y, x, false);
  return math_narrow(c, arc_tangent_2(c, math_widen(c, y), math_widen(c, x), true));
}

/* asin(s) - s for the smaller s: x itself, or from 1/2 on s = sqrt((1 - |x|) / 2), where
 * asin(x) = pi/2 - 2 asin(s) and acos(x) = 2 asin(s). What the root loses is in `rest` too. */
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

/* high + low - (s + rest), with what the first sum loses; |high| > |s|. */
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
