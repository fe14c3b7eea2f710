/* Logarithms, and inverse hyperbolic functions, which are based on them. */
#include <math.h>

#include "jit/math/jit_math.h"
#include "jit/math/math_emit.h"
#include "jit/math/math_parts.h"

math_value_t jit_emit_log(jit_code_t *c, math_value_t x) { return math_log(c, x, false); }

math_value_t jit_emit_log_plus_one(jit_code_t *c, math_value_t x) {
  return math_log1p(c, x, NULL, false);
}

kir_value_t *jit_math_log1p_of_unit(jit_code_t *c, kir_value_t *x) {
  if (is_f64(x)) return jit_math_emit(c, HLO_LOG_PLUS_ONE, x, NULL);
  return multiply_add(c, mul(c, x, x), POLYNOMIAL(c, x, math_log1p_unit_f32), x);
}

/* a + b for |a| >= |b|. *out_lost: its rounding error. */
static math_value_t sum_exactly(jit_code_t *c, math_value_t a, math_value_t b,
                                math_value_t *out_lost) {
  math_value_t sum = add(c, a, b);
  *out_lost = add(c, sub(c, a, sum), b);
  return sum;
}

/* log(1 + high + low), or for large arguments its limit log(x) + log 2. */
static math_value_t log_or_double(jit_code_t *c, math_value_t x, math_value_t is_large,
                                  math_value_t high, math_value_t low, bool fast) {
  math_value_t log = math_log1p(c, choose(c, is_large, add_k(c, x, -1), high),
                                choose_k(c, is_large, 0, low), fast);
  return choose(c, is_large, add_k(c, log, 0x1.62e42fefa39efp-1), log);
}

/* log(a + sqrt(a^2 + 1)) = log(1 + (a + a^2 / (1 + sqrt(a^2 + 1)))). */
static math_value_t inverse_sinh(jit_code_t *c, math_value_t x, bool fast) {
  math_value_t a = magnitude(c, x), square = mul(c, a, a), low;
  math_value_t root = square_root(c, add_k(c, square, 1));
  math_value_t high = sum_exactly(c, a, divide(c, square, add_k(c, root, 1)), &low);
  math_value_t log = log_or_double(c, a, is_more_k(c, a, 0x1p28), high, low, fast);
  return with_sign_of(c, log, x);
}

math_value_t jit_emit_asinh(jit_code_t *c, math_value_t x) {
  return is_f64(x) ? inverse_sinh(c, x, false)
                   : math_narrow(c, inverse_sinh(c, math_widen(c, x), true));
}

/* Rounding error of `root` as the root of square + square_low. */
static math_value_t rest_of_root(jit_code_t *c, math_value_t root, math_value_t square,
                                 math_value_t square_low) {
  math_value_t left = add(c, fused(c, negate(c, root), root, square), square_low);
  math_value_t bottom = choose_k(c, is_equal_k(c, root, 0), 1, root);
  return choose_k(c, is_equal_k(c, root, INFINITY), 0, divide(c, mul_k(c, left, 0.5), bottom));
}

/* With t = x - 1: log(1 + t + sqrt(2 t + t^2)). */
static math_value_t inverse_cosh(jit_code_t *c, math_value_t x, bool fast) {
  math_value_t t = add_k(c, x, -1), twice = add(c, t, t), square = multiply_add(c, t, t, twice),
               low;
  math_value_t root = square_root(c, square);
  math_value_t sum = add(c, t, root), is_root_larger = is_less(c, t, root);
  math_value_t larger = choose(c, is_root_larger, root, t),
               smaller = choose(c, is_root_larger, t, root);
  sum_exactly(c, larger, smaller, &low);
  if (!fast)
    low = add(c, low, rest_of_root(c, root, square, multiply_add(c, t, t, sub(c, twice, square))));
  math_value_t result = log_or_double(c, x, is_more_k(c, x, 0x1p28), sum, low, fast);
  return choose_k(c, is_less_k(c, x, 1), NAN, result);
}

math_value_t jit_emit_acosh(jit_code_t *c, math_value_t x) {
  return is_f64(x) ? inverse_cosh(c, x, false)
                   : math_narrow(c, inverse_cosh(c, math_widen(c, x), true));
}

/* log(1 + 2 a / (1 - a)) / 2. The quotient's error is found by multiplying back. */
static math_value_t inverse_tanh(jit_code_t *c, math_value_t x, bool fast) {
  math_value_t a = magnitude(c, x), twice = add(c, a, a), below = k_sub(c, 1, a);
  math_value_t lost = sub(c, sub(c, real(x, 1), below), a), high = divide(c, twice, below);
  math_value_t rest = sub(c, fused(c, negate(c, high), below, twice), mul(c, high, lost));
  math_value_t low = divide(c, rest, below), is_end = is_equal_k(c, a, 1);
  math_value_t half = mul_k(c, math_log1p(c, high, choose_k(c, is_end, 0, low), fast), 0.5);
  math_value_t result = choose(c, is_less_k(c, a, 0x1p-30), x, with_sign_of(c, half, x));
  return choose_k(c, is_more_k(c, a, 1), NAN, result);
}

math_value_t jit_emit_atanh(jit_code_t *c, math_value_t x) {
  return is_f64(x) ? inverse_tanh(c, x, false)
                   : math_narrow(c, inverse_tanh(c, math_widen(c, x), true));
}
