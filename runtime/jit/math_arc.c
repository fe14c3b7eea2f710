/* Inverses of the trigonometric functions. */
#include <math.h>

#include "jit/math_emit.h"
#include "jit/math_parts.h"

#define PI_HIGH 0x1.921fb54442d18p1
#define PI_LOW 0x1.1a62633145c07p-53
#define TAN_8TH 0x1.a827999fcef32p-2      /* tan(pi/8) */
#define TAN_3_8THS 0x1.3504f333f9de6p1    /* tan(3 pi/8) */

static value_t arc_polynomial(jit_code_t *c, value_t t, bool brief) {
  value_t z = mul(c, t, t);
  value_t p = brief ? POLYNOMIAL(c, z, math_atan_brief) : POLYNOMIAL(c, z, math_atan_f64);
  return mul(c, mul(c, z, t), p);
}

/* What the quotient t of two numbers lacks, those being y - x and y + x or exact. */
static value_t rest_of_quotient(jit_code_t *c, value_t t, value_t top, value_t bottom, value_t bottom_low) {
  value_t left = sub(c, fused(c, negate(c, t), bottom, top), mul(c, t, bottom_low));
  return choose_k(c, is_equal_k(c, bottom, INFINITY), 0, divide(c, left, bottom));
}

/* y + x - sum, for positive numbers. */
static value_t rest_of_sum(jit_code_t *c, value_t y, value_t x, value_t sum) {
  value_t is_y_larger = is_less(c, x, y), larger = choose(c, is_y_larger, y, x), smaller = choose(c, is_y_larger, x, y);
  return sub(c, smaller, sub(c, sum, larger));
}

/* The angle of the point (x, y), both positive: its distance from the nearest of 0, pi/4 and pi/2 has the tangent t,
 * that of y / x, (y - x) / (y + x) or -x / y. Taken from pi where `is_left`. One division. */
static value_t angle(jit_code_t *c, value_t y, value_t x, value_t is_left, bool brief) {
  value_t is_low = compare(c, KIR_FCMP_OLE, y, mul_k(c, x, TAN_8TH));
  value_t is_high = compare(c, KIR_FCMP_OGT, y, mul_k(c, x, TAN_3_8THS));
  value_t top = choose(c, is_low, y, choose(c, is_high, negate(c, x), sub(c, y, x)));
  value_t sum_of_both = add(c, y, x), bottom = choose(c, is_low, x, choose(c, is_high, y, sum_of_both));
  bottom = choose_k(c, is_equal_k(c, bottom, 0), 1, bottom);
  value_t t = divide(c, top, bottom), rest = arc_polynomial(c, t, brief), eighths, high, low;
  if (!brief) {
    value_t is_end = either(c, is_low, is_high);
    value_t bottom_low = choose_k(c, is_end, 0, rest_of_sum(c, y, x, sum_of_both));
    rest = add(c, rest, rest_of_quotient(c, t, top, bottom, bottom_low));
  }
  eighths = choose(c, is_low, real(y, 0), choose(c, is_high, real(y, 0.5), real(y, 0.25)));
  if (is_left) {
    eighths = choose(c, is_left, k_sub(c, 1, eighths), eighths);
    t = choose(c, is_left, negate(c, t), t);
    rest = choose(c, is_left, negate(c, rest), rest);
  }
  high = mul_k(c, eighths, PI_HIGH), low = mul_k(c, eighths, PI_LOW);
  /* 3 pi/4 has no such short multiple: what the product loses. */
  if (is_left) low = add(c, low, fused(c, eighths, real(y, PI_HIGH), negate(c, high)));
  value_t sum = add(c, high, t);
  value_t lost = add(c, sub(c, high, sum), t);
  return add(c, sum, add(c, lost, add(c, low, rest)));
}

static value_t arc_tangent(jit_code_t *c, value_t x, bool brief) {
  value_t a = angle(c, magnitude(c, x), real(x, 1), NULL, brief);
  return choose(c, is_less_k(c, magnitude(c, x), 0x1p-27), x, with_sign_of(c, a, x));
}

value_t jit_emit_atan(jit_code_t *c, value_t x) {
  return is_f64(x) ? arc_tangent(c, x, false) : math_narrow(c, arc_tangent(c, math_widen(c, x), true));
}

/* Huge points are drawn nearer, so that y + x stays finite; two infinities count as equal. */
static value_t arc_tangent_2(jit_code_t *c, value_t y, value_t x, bool brief) {
  value_t top = magnitude(c, y), right = magnitude(c, x);
  value_t is_huge = either(c, is_more_k(c, top, 0x1p1000), is_more_k(c, right, 0x1p1000));
  top = choose(c, is_huge, mul_k(c, top, 0x1p-60), top);
  right = choose(c, is_huge, mul_k(c, right, 0x1p-60), right);
  value_t is_corner = both(c, is_equal_k(c, top, INFINITY), is_equal_k(c, right, INFINITY));
  top = choose_k(c, is_corner, 1, top);
  right = choose_k(c, is_corner, 1, right);
  value_t bits = bits_of(c, x);
  value_t is_left = kir_icmp(c->builder, KIR_ICMP_SLT, bits, bits_k(bits, 0));
  value_t result = with_sign_of(c, angle(c, top, right, is_left, brief), y);
  value_t is_any_nan = compare(c, KIR_FCMP_UNO, y, x);
  return choose_k(c, is_any_nan, NAN, result);
}

value_t jit_emit_atan2(jit_code_t *c, value_t y, value_t x) {
  if (is_f64(x)) return arc_tangent_2(c, y, x, false);
  return math_narrow(c, arc_tangent_2(c, math_widen(c, y), math_widen(c, x), true));
}

/* asin(s) - s for the smaller s: x itself, or from 1/2 on s = sqrt((1 - |x|) / 2), where
 * asin(x) = pi/2 - 2 asin(s) and acos(x) = 2 asin(s). What the root loses is in `rest` too. */
typedef struct arc_parts {
  value_t is_far;
  value_t s, rest;
} arc_parts_t;

static arc_parts_t arc_parts(jit_code_t *c, value_t x, bool brief) {
  value_t a = magnitude(c, x), far_z = mul_k(c, k_sub(c, 1, a), 0.5), root = square_root(c, far_z);
  arc_parts_t parts = {.is_far = compare(c, KIR_FCMP_UGE, a, real(x, 0.5))};
  value_t z = choose(c, parts.is_far, far_z, mul(c, x, x));
  value_t p = brief ? POLYNOMIAL(c, z, math_asin_brief) : POLYNOMIAL(c, z, math_asin_f64);
  parts.s = choose(c, parts.is_far, root, a);
  parts.rest = mul(c, mul(c, z, parts.s), p);
  if (brief) return parts;
  value_t wrong = fused(c, negate(c, root), root, far_z);
  value_t bottom = choose_k(c, is_equal_k(c, root, 0), 1, add(c, root, root));
  value_t lost = choose(c, parts.is_far, divide(c, wrong, bottom), real(x, 0));
  parts.rest = add(c, parts.rest, lost);
  return parts;
}

/* high + low - (s + rest), with what the first sum loses; |high| > |s|. */
static value_t turn_minus(jit_code_t *c, value_t turns, value_t s, value_t rest) {
  value_t high = mul_k(c, turns, PI_HIGH), low = mul_k(c, turns, PI_LOW);
  value_t difference = sub(c, high, s), lost = sub(c, sub(c, high, difference), s);
  return add(c, difference, add(c, lost, sub(c, low, rest)));
}

static value_t arc_sine(jit_code_t *c, value_t x, bool brief) {
  arc_parts_t parts = arc_parts(c, x, brief);
  value_t far = turn_minus(c, real(x, 0.5), add(c, parts.s, parts.s), add(c, parts.rest, parts.rest));
  value_t result = choose(c, parts.is_far, far, add(c, parts.s, parts.rest));
  return choose(c, is_less_k(c, magnitude(c, x), 0x1p-27), x, with_sign_of(c, result, x));
}

value_t jit_emit_asin(jit_code_t *c, value_t x) {
  return is_f64(x) ? arc_sine(c, x, false) : math_narrow(c, arc_sine(c, math_widen(c, x), true));
}

static value_t arc_cosine(jit_code_t *c, value_t x, bool brief) {
  arc_parts_t parts = arc_parts(c, x, brief);
  value_t is_left = is_less_k(c, x, 0), sign = choose(c, is_left, real(x, -1), real(x, 1));
  value_t twice = add(c, parts.s, parts.s), twice_rest = add(c, parts.rest, parts.rest);
  value_t s = choose(c, parts.is_far, twice, mul(c, sign, parts.s));
  value_t rest = choose(c, parts.is_far, twice_rest, mul(c, sign, parts.rest));
  value_t turned = turn_minus(c, choose(c, parts.is_far, real(x, 1), real(x, 0.5)), s, rest);
  return choose(c, both(c, parts.is_far, compare(c, KIR_FCMP_UGE, x, real(x, 0))), add(c, s, rest),
                turned);
}

value_t jit_emit_acos(jit_code_t *c, value_t x) {
  return is_f64(x) ? arc_cosine(c, x, false) : math_narrow(c, arc_cosine(c, math_widen(c, x), true));
}
