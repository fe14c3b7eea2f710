/* e^x and functions based on it. */
#include <math.h>

#include "jit/math/jit_math.h"
#include "jit/math/math_emit.h"
#include "jit/math/math_parts.h"

math_value_t jit_emit_exponential(jit_code_t *c, math_value_t x) { return math_exp(c, x, false); }

/* (e^x - 1) / 4 for |x| < 711 (f32: 90), without overflow: 2^n (1 + q) - 1 = 4 (2^(n-2) q +
 * (2^(n-2) - 1/4)). In f64 the rounding errors of q and of the sum are added. */
static math_value_t quarter_expm1(jit_code_t *c, math_value_t x, bool fast) {
  math_exp_parts_t parts = math_expm1_parts(c, x, fast);
  math_value_t scale = math_power_of_two(c, bits_add(c, parts.n.bits, bits_k(parts.n.bits, -2)), x);
  math_value_t rest = add_k(c, scale, -0.25), sum = multiply_add(c, scale, parts.q, rest);
  if (!parts.q_low) return sum;
  math_value_t lost = multiply_add(c, scale, parts.q, sub(c, rest, sum));
  return add(c, sum, multiply_add(c, scale, parts.q_low, lost));
}

math_value_t jit_emit_exponential_minus_one(jit_code_t *c, math_value_t x) {
  math_value_t limited = is_f64(x) ? limit(c, x, -40, 710) : limit(c, x, -20, 89);
  math_value_t result = mul_k(c, quarter_expm1(c, limited, false), 4);
  return choose(c, is_less_k(c, magnitude(c, x), is_f64(x) ? 0x1p-54 : 0x1p-25), x, result);
}

/* With e = e^-|x|: 1 / (1 + e) or e / (1 + e), so that neither tail overflows or cancels. The
 * rounding errors of e and 1 + e are added. */
math_value_t jit_emit_logistic(jit_code_t *c, math_value_t x) {
  math_value_t one = real(x, 1), below = negate(c, magnitude(c, x)), is_left = is_less_k(c, x, 0);
  math_value_t is_zero = math_is_exp_zero(c, below);
  math_exp_parts_t parts = math_exp_parts(c, choose_k(c, is_zero, 0, below), false);
  math_value_t power = add_k(c, parts.q, 1), power_low = sub(c, parts.q, add_k(c, power, -1));
  math_value_t e = choose_k(c, is_zero, 0, math_scale(c, power, parts.n)),
               e_low = math_scale(c, power_low, parts.n); /* zero where e is zero */
  math_value_t bottom = add_k(c, e, 1), bottom_low = add(c, sub(c, e, add_k(c, bottom, -1)), e_low);
  math_value_t top = choose(c, is_left, e, one), top_low = choose(c, is_left, e_low, real(x, 0));
  return math_quotient_of_sums(c, top, top_low, bottom, bottom_low);
}

/* 2|x|, at most 40; NaN stays. */
static math_value_t limited_double(jit_code_t *c, math_value_t x) {
  math_value_t a = magnitude(c, x), twice = add(c, a, a);
  return choose_k(c, is_more_k(c, twice, 40), 40, twice);
}

/* Near zero a polynomial, else 1 - 2 / (e^2|x| + 1). */
math_value_t jit_emit_tanh(jit_code_t *c, math_value_t x) {
  math_value_t a = magnitude(c, x), z = mul(c, x, x);
  math_value_t p = is_f64(x) ? POLYNOMIAL(c, z, math_tanh_f64) : POLYNOMIAL(c, z, math_tanh_f32);
  math_value_t near = multiply_add(c, mul(c, z, x), p, x);
  math_exp_parts_t parts = math_exp_parts(c, limited_double(c, x), false);
  math_value_t scale = math_power_of_two(c, parts.n.bits, x),
               e = multiply_add(c, scale, parts.q, scale);
  math_value_t far = k_sub(c, 1, k_divide(c, 2, add_k(c, e, 1)));
  return with_sign_of(c, choose(c, is_less_k(c, a, 0.5625), near, far), x);
}

/* With e = e^2|x| - 1: e / (e + 2). */
math_value_t jit_math_tanh_for_narrow(jit_code_t *c, math_value_t x) {
  math_exp_parts_t parts = math_expm1_parts(c, limited_double(c, x), false);
  math_value_t scale = math_power_of_two(c, parts.n.bits, x);
  math_value_t e = multiply_add(c, scale, parts.q, add_k(c, scale, -1));
  return with_sign_of(c, divide(c, e, add_k(c, e, 2)), x);
}

/* With e = e^|x| - 1: (e + e / (e + 1)) / 2, for small e written as e - e^2 / (e + 1) / 2. */
static math_value_t hyperbolic_sine(jit_code_t *c, math_value_t x, bool fast) {
  math_value_t a = limit(c, magnitude(c, x), 0, 710.6), quarter = quarter_expm1(c, a, fast);
  math_value_t rest = divide(c, quarter, add_k(c, mul_k(c, quarter, 4), 1));
  math_value_t small = multiply_add(c, mul_k(c, quarter, -4), rest, add(c, quarter, quarter));
  math_value_t sum = choose(c, is_less_k(c, a, 0.5), small, add(c, quarter, rest)),
               result = add(c, sum, sum);
  return choose(c, is_less_k(c, a, 0x1p-27), x, with_sign_of(c, result, x));
}

math_value_t jit_emit_sinh(jit_code_t *c, math_value_t x) {
  return is_f64(x) ? hyperbolic_sine(c, x, false)
                   : math_narrow(c, hyperbolic_sine(c, math_widen(c, x), true));
}

/* With e = e^|x| / 4: 2 e + 1 / (8 e). */
static math_value_t hyperbolic_cosine(jit_code_t *c, math_value_t x, bool fast) {
  math_exp_parts_t parts = math_exp_parts(c, limit(c, magnitude(c, x), 0, 710.6), fast);
  math_value_t scale = math_power_of_two(c, bits_add(c, parts.n.bits, bits_k(parts.n.bits, -2)), x);
  math_value_t e = multiply_add(c, scale, parts.q, scale);
  return add(c, add(c, e, e), k_divide(c, 0.125, e));
}

math_value_t jit_emit_cosh(jit_code_t *c, math_value_t x) {
  return is_f64(x) ? hyperbolic_cosine(c, x, false)
                   : math_narrow(c, hyperbolic_cosine(c, math_widen(c, x), true));
}
