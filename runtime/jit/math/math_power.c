/* Powers and roots. */
#include <math.h>

#include "jit/math/math_emit.h"
#include "jit/math/math_parts.h"

typedef math_sum_t pair_t;

/* Product without the term of the low parts. */
static pair_t multiply_pairs(jit_code_t *c, pair_t a, pair_t b) {
  pair_t product = {.high = mul(c, a.high, b.high)};
  math_value_t lost = fused(c, a.high, b.high, negate(c, product.high));
  product.low = multiply_add(c, a.high, b.low, multiply_add(c, a.low, b.high, lost));
  return product;
}

/* a + b with |a| >= |b.high|, or a = 0. */
static pair_t add_to(jit_code_t *c, math_value_t a, pair_t b) {
  pair_t sum = {.high = add(c, a, b.high)};
  sum.low = add(c, add(c, sub(c, a, sum.high), b.high), b.low);
  return sum;
}

/* log(m) for m between sqrt(1/2) and sqrt(2): with s = (m - 1) / (m + 1), 2 s + 2/3 s^3 + s^5
 * P(s^2). */
static pair_t log_of_mantissa(jit_code_t *c, math_value_t m) {
  math_value_t f = add_k(c, m, -1), bottom = add_k(c, m, 1),
               bottom_low = sub(c, m, add_k(c, bottom, -1));
  math_value_t inverse = k_divide(c, 1, bottom);
  pair_t s = {.high = mul(c, f, inverse)};
  math_value_t left = fused(c, negate(c, s.high), bottom, f);
  s.low = mul(c, fused(c, negate(c, s.high), bottom_low, left), inverse);
  pair_t z = multiply_pairs(c, s, s);
  math_value_t tail = mul(c, z.high, POLYNOMIAL(c, z.high, math_log_tail_f64));
  pair_t third =
      add_to(c, real(m, 0x1.5555555555555p-1), (pair_t){tail, real(m, 0x1.5555555555555p-55)});
  pair_t sum = add_to(c, real(m, 2), multiply_pairs(c, z, third));
  return multiply_pairs(c, s, sum);
}

math_sum_t math_long_log(jit_code_t *c, math_value_t a) {
  math_log_parts_t parts = math_log_parts(c, a);
  pair_t log = log_of_mantissa(c, parts.m);
  log.low = multiply_add_k(c, parts.k, 0x1.ef35793c7673p-45, log.low);
  return add_to(c, mul_k(c, parts.k, 0x1.62e42fefa38p-1), log);
}

math_sum_t math_times_sum(jit_code_t *c, math_value_t a, math_sum_t b) {
  return multiply_pairs(c, (pair_t){a, real(a, 0)}, b);
}

math_value_t math_exp_of_sum(jit_code_t *c, math_sum_t exponent) {
  math_exp_parts_t parts = math_exp_parts(c, limit(c, exponent.high, -748, 712), false);
  math_value_t low = limit(c, exponent.low, -0.5, 0.5), one = real(low, 1);
  math_value_t q = multiply_add(c, low, add(c, parts.q, one), parts.q);
  return math_scale(c, add(c, q, one), parts.n);
}

/* a^y for positive finite a; |y| < 2^80. */
static math_value_t exact_power(jit_code_t *c, math_value_t a, math_value_t y) {
  return math_exp_of_sum(c, math_times_sum(c, y, math_long_log(c, a)));
}

static math_value_t fast_power(jit_code_t *c, math_value_t a, math_value_t y) {
  return math_exp(c, mul(c, y, math_log(c, a, true)), true);
}

/* Powers of the bases 0 and infinity, without the sign. */
static math_value_t power_of_end(jit_code_t *c, math_value_t a, math_value_t y) {
  math_value_t is_zero = is_equal_k(c, a, 0), is_down = is_less_k(c, y, 0);
  math_value_t is_huge = kir_xor(c->builder, is_zero, kir_not(c->builder, is_down));
  return choose(c, is_huge, real(a, INFINITY), real(a, 0));
}

/* |x|^y without special cases; f32 in f64. */
static math_value_t usual_power(jit_code_t *c, math_value_t x, math_value_t y) {
  math_value_t a = magnitude(c, x), limited = limit(c, y, -0x1p70, 0x1p70);
  if (is_f64(x)) return exact_power(c, a, limited);
  return math_narrow(c, fast_power(c, math_widen(c, a), math_widen(c, limited)));
}

/* With the special cases of C's pow. */
static math_value_t power(jit_code_t *c, math_value_t x, math_value_t y) {
  math_value_t result = usual_power(c, x, y), a = magnitude(c, x), half = mul_k(c, y, 0.5);
  math_value_t is_end = either(c, is_equal_k(c, a, 0), is_equal_k(c, a, INFINITY));
  result = choose(c, is_end, power_of_end(c, a, y), result);
  math_value_t is_whole = compare(c, KIR_FCMP_OEQ, intrinsic_1(c, KIR_FTRUNC, y), y);
  math_value_t is_odd =
      both(c, is_whole, compare(c, KIR_FCMP_UNE, intrinsic_1(c, KIR_FTRUNC, half), half));
  math_value_t is_undefined = both(c, both(c, is_less_k(c, x, 0), is_less_k(c, a, INFINITY)),
                                   kir_not(c->builder, is_whole));
  result = choose(c, is_odd, with_sign_of(c, result, x), result);
  result = choose_k(c, either(c, is_undefined, compare(c, KIR_FCMP_UNO, x, y)), NAN, result);
  return choose_k(c, either(c, is_equal_k(c, y, 0), is_equal_k(c, x, 1)), 1, result);
}

/* Is the exponent a constant, the same in all lanes, and a small multiple of 1/2? In f64 only those
 * whose power is as accurate as the general one. */
static bool is_simple_exponent(math_value_t y, double *out_exponent) {
  bool wide = is_f64(y);
  if (!kir_is_constant(y)) return false;
  math_value_t one = jit_lanes(kir_type_of(y)) > 1 ? kir_const_lane(y, 0) : y;
  if (!one || jit_splat_constant(kir_type_of(y), one) != y || kir_is_null(y)) return false;
  double exponent = kir_const_as_double(one);
  *out_exponent = exponent;
  if (wide && (exponent < 0 || exponent > 2.5)) return false;
  return fabs(exponent) <= 4 && trunc(2 * exponent) == 2 * exponent;
}

bool jit_power_is_short(math_value_t y) {
  double exponent;
  return is_simple_exponent(y, &exponent);
}

/* a^y for a >= 0 and y = whole + 1/2 or -(whole + 1/2), by the root or the inverse root. */
static math_value_t half_power(jit_code_t *c, math_value_t a, double y) {
  math_value_t root = y < 0 ? jit_emit_rsqrt(c, a) : square_root(c, a);
  math_value_t result = root, factor = y < 0 ? mul(c, root, root) : a;
  for (int k = 0; k < (int)fabs(y); k++) result = mul(c, result, factor);
  return result;
}

static math_value_t whole_power(jit_code_t *c, math_value_t a, double y) {
  math_value_t result = real(a, 1);
  for (int k = 0; k < (int)fabs(y); k++) result = mul(c, result, a);
  return y < 0 ? k_divide(c, 1, result) : result;
}

/* |x|^y by multiplications and a root, for numbers whose powers do not overflow or lose digits
 * before the result does: f32 in f64, or a positive y up to 2.5. */
static math_value_t simple_power(jit_code_t *c, math_value_t x, double y) {
  math_value_t a = magnitude(c, x),
               result = fmod(y, 1) ? half_power(c, a, y) : whole_power(c, a, y);
  if (fmod(y, 2) == 1 || fmod(y, 2) == -1) return with_sign_of(c, result, x);
  math_value_t is_undefined = both(c, is_less_k(c, x, 0), is_more_k(c, x, -INFINITY));
  return fmod(y, 1) ? choose_k(c, is_undefined, NAN, result) : result;
}

math_value_t jit_emit_power(jit_code_t *c, math_value_t x, math_value_t y) {
  double exponent;
  if (is_simple_exponent(y, &exponent))
    return is_f64(x) ? simple_power(c, x, exponent)
                     : math_narrow(c, simple_power(c, math_widen(c, x), exponent));
  return power(c, x, y);
}

/* A Newton step towards 1 / cbrt(m): w (4 - m w^3) / 3. */
static math_value_t better_inverse_root(jit_code_t *c, math_value_t w, math_value_t m) {
  math_value_t cube = mul(c, mul(c, w, w), w), wrong = fused(c, negate(c, m), cube, real(m, 1));
  return multiply_add(c, mul_k(c, w, 0x1.5555555555555p-2), wrong, w);
}

/* x = 2^(3 j + rest) m. The estimate for m, times 2^(-rest/3), is an inverse root with 14 correct
 * bits, and m w^2 is the root. The last step corrects y by the error of y^3, whose rounding is
 * known. */
static math_value_t cube_root(jit_code_t *c, math_value_t x, bool fast) {
  math_value_t a = magnitude(c, x);
  math_log_parts_t parts = math_log_parts(c, a);
  math_value_t is_low = is_less_k(c, parts.m, 1);
  math_value_t k = choose(c, is_low, add_k(c, parts.k, -1), parts.k),
               m = choose(c, is_low, mul_k(c, parts.m, 2), parts.m);
  math_value_t j = intrinsic_1(c, KIR_FLOOR, mul_k(c, add_k(c, k, 0.5), 0x1.5555555555555p-2));
  math_value_t rest = multiply_add_k(c, j, -3, k), is_one = is_equal_k(c, rest, 1),
               is_two = is_equal_k(c, rest, 2);
  math_value_t one = real(x, 1),
               fourth = choose_k(c, is_two, 0x1.428a2f98d728bp-1, one);  /* 4^(-1/3) */
  math_value_t down = choose_k(c, is_one, 0x1.965fea53d6e3dp-1, fourth); /* 2^(-1/3) */
  math_value_t whole = mul(c, m, choose(c, is_one, real(x, 2), choose(c, is_two, real(x, 4), one)));
  math_value_t w = mul(c, POLYNOMIAL(c, m, math_cbrt_guess), down);
  w = better_inverse_root(c, better_inverse_root(c, w, whole), whole);
  math_value_t square = mul(c, w, w), y = mul(c, whole, square);
  if (!fast) {
    pair_t root = {y, real(y, 0)}, cube = multiply_pairs(c, multiply_pairs(c, root, root), root);
    math_value_t wrong = sub(c, sub(c, whole, cube.high), cube.low);
    y = multiply_add(c, mul_k(c, square, 0x1.5555555555555p-2), wrong, y);
  }
  math_value_t result = mul(c, y, math_power_of_two(c, math_nearest(c, j, 1).bits, x));
  math_value_t is_usual = both(c, is_more_k(c, a, 0), is_less_k(c, a, INFINITY));
  return choose(c, is_usual, with_sign_of(c, result, x), x);
}

math_value_t jit_emit_cbrt(jit_code_t *c, math_value_t x) {
  return is_f64(x) ? cube_root(c, x, false) : math_narrow(c, cube_root(c, math_widen(c, x), true));
}

/* The processor's estimate, which handles zeros, infinities and denormals, improved by a Newton
 * step for other values. */
math_value_t jit_emit_rsqrt(jit_code_t *c, math_value_t x) {
  math_value_t guess = math_guess_rsqrt(c, x);
  if (!guess) return k_divide(c, 1, square_root(c, x));
  math_value_t y = guess;
  for (int round = 0; round < (is_f64(x) ? 2 : 1); round++) {
    math_value_t wrong = fused(c, negate(c, mul(c, x, y)), y, real(x, 1));
    y = fused(c, mul_k(c, y, 0.5), wrong, y);
  }
  return choose(c, both(c, is_more_k(c, x, 0), is_less_k(c, x, INFINITY)), y, guess);
}
