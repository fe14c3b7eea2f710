/* The error function. */
#include <math.h>

#include "jit/math/math_emit.h"
#include "jit/math/math_parts.h"

#define FAR 0.9375 /* f64 limit: x + x P(x^2) below, 1 - erfc above */

/* erf(a) = -expm1(-(a + a P(a))): with e^t = 2^n (1 + q) it is (1 - 2^n) - 2^n q. The terms do not
 * cancel: near 0 n is 0, and elsewhere q is small relative to 1 - 2^n. From 3.93 on the result is
 * 1. */
static math_value_t erf_f32(jit_code_t *c, math_value_t x) {
  math_value_t size = magnitude(c, x);
  math_value_t a = choose_k(c, is_more_k(c, size, 3.93), 3.93, size);
  math_value_t t = multiply_add(c, a, POLYNOMIAL(c, a, math_erf_f32), a);
  math_exp_parts_t parts = math_expm1_parts(c, negate(c, t), false);
  math_value_t scale = math_power_of_two(c, parts.n.bits, a);
  return with_sign_of(c, sub(c, k_sub(c, 1, scale), mul(c, scale, parts.q)), x);
}

/* erfc(a) = exp(-a^2) P((a - 2) / (a + 2)); from 6 on the result is 1. */
static math_value_t far_f64(jit_code_t *c, math_value_t a) {
  math_value_t limited = limit(c, a, 0, 6),
               t = divide(c, add_k(c, limited, -2), add_k(c, limited, 2));
  math_exp_parts_t parts = math_exp_parts(c, negate(c, mul(c, limited, limited)), false);
  math_value_t scale = math_power_of_two(c, parts.n.bits, a);
  math_value_t power = multiply_add(c, scale, parts.q, scale);
  return k_sub(c, 1, mul(c, power, POLYNOMIAL(c, t, math_erf_far_f64)));
}

static math_value_t erf_f64(jit_code_t *c, math_value_t x) {
  math_value_t a = magnitude(c, x), z = mul(c, x, x);
  math_value_t near = multiply_add(c, x, POLYNOMIAL(c, z, math_erf_near_f64), x);
  return choose(c, is_less_k(c, a, FAR), near, with_sign_of(c, far_f64(c, a), x));
}

math_value_t jit_emit_erf(jit_code_t *c, math_value_t x) {
  return is_f64(x) ? erf_f64(c, x) : erf_f32(c, x);
}
