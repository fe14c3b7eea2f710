/* z^w of f64 parts as e^(w log z). The product magnifies the error of the logarithm, so log z and
 * the product are sums of two numbers each. */
#include "jit/math/math_complex_power.h"

#include <math.h>

#include "jit/math/jit_math.h"
#include "jit/math/math_parts.h"

/* Largest exponent for which the angle's error, 2^-61, times the exponent stays below the rounding
 * of the result. */
#define LARGEST_EXPONENT 64

typedef struct long_complex {
  math_sum_t re, im;
} long_complex_t;

static math_sum_t negated(jit_code_t *c, math_sum_t a) {
  return (math_sum_t){negate(c, a.high), negate(c, a.low)};
}

static math_sum_t add_sums(jit_code_t *c, math_sum_t a, math_sum_t b) {
  math_sum_t sum;
  sum.high = math_exact_sum(c, a.high, b.high, &sum.low);
  sum.low = add(c, sum.low, add(c, a.low, b.low));
  return sum;
}

/* x^2 and its rounding error. */
static math_sum_t square(jit_code_t *c, math_value_t x) {
  math_value_t high = mul(c, x, x);
  return (math_sum_t){high, fused(c, x, x, negate(c, high))};
}

/* log(a + b) = log a + b / a, since |b| is below the rounding of a. */
static math_sum_t log_of_sum(jit_code_t *c, math_sum_t x) {
  math_sum_t rest = {divide(c, x.low, x.high), real(x.high, 0)};
  return add_sums(c, math_long_log(c, x.high), rest);
}

static long_complex_t long_log(jit_code_t *c, jit_pair_t z, math_sum_t squares) {
  math_sum_t twice = log_of_sum(c, squares);
  return (long_complex_t){{mul_k(c, twice.high, 0.5), mul_k(c, twice.low, 0.5)},
                          math_long_angle(c, z.im, z.re)};
}

static long_complex_t multiply(jit_code_t *c, jit_pair_t w, long_complex_t log) {
  return (long_complex_t){
      add_sums(c, math_times_sum(c, w.re, log.re), negated(c, math_times_sum(c, w.im, log.im))),
      add_sums(c, math_times_sum(c, w.re, log.im), math_times_sum(c, w.im, log.re))};
}

/* sin(a + b) = sin a + b cos a, and likewise for the cosine. */
static jit_pair_t exponential(jit_code_t *c, long_complex_t x) {
  math_value_t size = math_exp_of_sum(c, x.re);
  math_value_t cosine = jit_math_emit(c, HLO_COSINE, x.im.high, NULL),
               sine = jit_math_emit(c, HLO_SINE, x.im.high, NULL);
  return (jit_pair_t){mul(c, size, fused(c, negate(c, x.im.low), sine, cosine)),
                      mul(c, size, fused(c, x.im.low, cosine, sine))};
}

static math_value_t is_within(jit_code_t *c, math_value_t x, double bound) {
  return is_less_k(c, magnitude(c, x), bound);
}

jit_pair_t math_complex_power(jit_code_t *c, jit_pair_t z, jit_pair_t w, math_value_t *out_rare) {
  math_sum_t squares = add_sums(c, square(c, z.re), square(c, z.im));
  long_complex_t product = multiply(c, w, long_log(c, z, squares));
  jit_pair_t result = exponential(c, product);
  math_value_t is_usual =
      both(c, is_more_k(c, squares.high, 0x1p-900), is_less_k(c, squares.high, 0x1p900));
  is_usual =
      both(c, is_usual,
           both(c, is_within(c, w.re, LARGEST_EXPONENT), is_within(c, w.im, LARGEST_EXPONENT)));
  *out_rare = kir_not(c->builder, both(c, is_usual, is_within(c, product.re.high, 708)));
  math_value_t is_real = both(c, is_equal_k(c, z.im, 0), is_equal_k(c, w.im, 0));
  result.im = choose_k(c, both(c, is_real, is_more_k(c, z.re, 0)), 0, result.im);
  return result;
}
