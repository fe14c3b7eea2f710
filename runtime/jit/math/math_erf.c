/* The error function. */
#include <math.h>

#include "jit/math/math_emit.h"
#include "jit/math/math_parts.h"

#define FAR 0.9375 /* below it x + x P(x^2), above it 1 - erfc */

/* erfc(a) = exp(-a P(a)); from 3.93 on the result is 1. */
static math_value_t far_f32(jit_code_t *c, math_value_t a) {
  math_value_t limited = limit(c, a, 0, 3.93), p = POLYNOMIAL(c, limited, math_erf_far_f32);
  math_exp_parts_t parts = math_exp_parts(c, negate(c, mul(c, limited, p)), false);
  math_value_t scale = math_power_of_two(c, parts.n.bits, a);
  return sub(c, k_sub(c, 1, scale), mul(c, scale, parts.q));
}

/* erfc(a) = exp(-a^2) P((a - 2) / (a + 2)); from 6 on the result is 1. */
static math_value_t far_f64(jit_code_t *c, math_value_t a) {
  math_value_t limited = limit(c, a, 0, 6),
               t = math_quotient(c, add_k(c, limited, -2), add_k(c, limited, 2));
  math_exp_parts_t parts = math_exp_parts(c, negate(c, mul(c, limited, limited)), false);
  math_value_t scale = math_power_of_two(c, parts.n.bits, a);
  math_value_t power = multiply_add(c, scale, parts.q, scale);
  return k_sub(c, 1, mul(c, power, POLYNOMIAL(c, t, math_erf_far_f64)));
}

math_value_t jit_emit_erf(jit_code_t *c, math_value_t x) {
  math_value_t a = magnitude(c, x), z = mul(c, x, x);
  math_value_t p =
      is_f64(x) ? POLYNOMIAL(c, z, math_erf_near_f64) : POLYNOMIAL(c, z, math_erf_near_f32);
  math_value_t near = multiply_add(c, x, p, x), far = is_f64(x) ? far_f64(c, a) : far_f32(c, a);
  return choose(c, is_less_k(c, a, FAR), near, with_sign_of(c, far, x));
}
