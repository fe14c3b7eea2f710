/* Sine, cosine, tangent. */
#include <math.h>

#include "jit/math/math_emit.h"
#include "jit/math/math_parts.h"

/* Limits of arguments that are reduced by subtracting multiples of pi/2, in three parts, exactly
 * except for the last rounding. Larger arguments branch to the C library. */
#define REDUCED_F32 0x1p18
#define REDUCED_F64 0x1p30

typedef struct reduced {
  math_value_t high;    /* x - n pi/2, rounded once */
  math_value_t low;     /* rounding error of `high`; NULL unless requested */
  math_value_t quarter; /* n, in the low bits */
} reduced_t;

/* Only the last steps round: x - n P1 is a multiple of P1's ulp. */
static reduced_t reduce(jit_code_t *c, math_value_t x, bool with_low) {
  static const double parts_f32[3] = {0x1.921fb6p0, -0x1.777a5cp-25, -0x1.ee59dap-50};
  static const double parts_f64[3] = {0x1.921fb54442d18p0, 0x1.1a62633145c07p-54,
                                      -0x1.f1976b7ed8fbcp-110};
  const double *parts = is_f64(x) ? parts_f64 : parts_f32;
  math_nearest_t n = math_nearest(c, x, 0x1.45f306dc9c883p-1);
  math_value_t second = real(x, -parts[1]), third = real(x, -parts[2]);
  math_value_t a = fused(c, n.real, real(x, -parts[0]), x);
  math_value_t b = fused(c, n.real, second, a);
  reduced_t reduced = {.high = fused(c, n.real, third, b), .quarter = n.bits};
  if (with_low)
    reduced.low = add(c, fused(c, n.real, second, sub(c, a, b)),
                      fused(c, n.real, third, sub(c, b, reduced.high)));
  return reduced;
}

static math_value_t bit_is_set(jit_code_t *c, math_value_t bits, int bit) {
  math_value_t masked = bits_and_k(c, bits, bit);
  return kir_icmp(c->builder, KIR_ICMP_NE, masked, bits_k(bits, 0));
}

/* sin(x) for shift 0, cos(x) = sin(x + pi/2) for shift 1, in the reduced range. */
static math_value_t poly_sine(jit_code_t *c, math_value_t x, int shift) {
  reduced_t reduced = reduce(c, x, false);
  math_value_t r = reduced.high, z = mul(c, r, r),
               quarter = bits_add(c, reduced.quarter, bits_k(reduced.quarter, shift));
  math_value_t s = is_f64(x) ? POLYNOMIAL(c, z, math_sin_f64) : POLYNOMIAL(c, z, math_sin_f32);
  math_value_t k = is_f64(x) ? POLYNOMIAL(c, z, math_cos_f64) : POLYNOMIAL(c, z, math_cos_f32);
  math_value_t sine = multiply_add(c, mul(c, z, r), s, r);
  math_value_t cosine = multiply_add(c, z, multiply_add(c, z, k, real(x, -0.5)), real(x, 1));
  math_value_t result = choose(c, bit_is_set(c, quarter, 1), cosine, sine);
  int sign_from = (is_f64(x) ? 64 : 32) - 2;
  math_value_t sign = bits_left(c, bits_and_k(c, quarter, 2), sign_from);
  return from_bits(c, bits_xor(c, bits_of(c, result), sign), x);
}

typedef math_value_t (*small_fn)(jit_code_t *c, math_value_t x);

/* quick(x), except where x is large and finite; quick turns infinities and NaN into NaN. */
static math_value_t with_large(jit_code_t *c, math_value_t x, small_fn quick,
                               const char *library_name) {
  math_value_t a = magnitude(c, x), near = quick(c, x);
  math_value_t reach = real(x, is_f64(x) ? REDUCED_F64 : REDUCED_F32);
  math_value_t is_large = both(c, compare(c, KIR_FCMP_OGE, a, reach), is_less_k(c, a, INFINITY));
  math_branch_t branch = math_branch_if_any(c, is_large);
  return math_branch_end(c, branch, near, math_call_by_lane(c, library_name, x, NULL));
}

/* Tiny arguments are their own sine; the polynomial would lose the sign of -0. */
static math_value_t reduced_sine(jit_code_t *c, math_value_t x) {
  math_value_t is_tiny = is_less_k(c, magnitude(c, x), is_f64(x) ? 0x1p-27 : 0x1p-13);
  return choose(c, is_tiny, x, poly_sine(c, x, 0));
}
static math_value_t reduced_cosine(jit_code_t *c, math_value_t x) { return poly_sine(c, x, 1); }

math_value_t jit_emit_sine(jit_code_t *c, math_value_t x) {
  return with_large(c, x, reduced_sine, is_f64(x) ? "sin" : "sinf");
}
math_value_t jit_emit_cosine(jit_code_t *c, math_value_t x) {
  return with_large(c, x, reduced_cosine, is_f64(x) ? "cos" : "cosf");
}

/* tan r = r + w, or in odd quarters -1 / (r + w); both include the rounding error of r + w. */
static math_value_t poly_tangent(jit_code_t *c, math_value_t x, bool fast) {
  reduced_t reduced = reduce(c, x, !fast);
  math_value_t r = reduced.high, z = mul(c, r, r);
  math_value_t p = fast ? POLYNOMIAL(c, z, math_tan_fast) : POLYNOMIAL(c, z, math_tan_f64);
  math_value_t w = mul(c, mul(c, z, r), p), is_odd = bit_is_set(c, reduced.quarter, 1),
               one = real(x, 1);
  if (reduced.low) { /* the derivative is 1 + tan^2 */
    math_value_t t = add(c, r, w);
    w = multiply_add(c, reduced.low, multiply_add(c, t, t, one), w);
  }
  math_value_t sum = add(c, r, w), lost = sub(c, w, sub(c, sum, r));
  math_value_t inverse = k_divide(c, -1, choose(c, is_odd, sum, one));
  math_value_t wrong = fused(c, inverse, lost, fused(c, inverse, sum, one));
  math_value_t other = multiply_add(c, inverse, wrong, inverse);
  math_value_t is_tiny = is_less_k(c, magnitude(c, x), 0x1p-27);
  return choose(c, is_tiny, x, choose(c, is_odd, other, sum));
}
static math_value_t reduced_tangent(jit_code_t *c, math_value_t x) {
  return poly_tangent(c, x, false);
}
static math_value_t fast_tangent(jit_code_t *c, math_value_t x) { return poly_tangent(c, x, true); }

math_value_t jit_emit_tan(jit_code_t *c, math_value_t x) {
  if (is_f64(x)) return with_large(c, x, reduced_tangent, "tan");
  return math_narrow(c, with_large(c, math_widen(c, x), fast_tangent, "tan"));
}
