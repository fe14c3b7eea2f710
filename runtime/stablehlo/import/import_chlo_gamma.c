/* lgamma, digamma, polygamma and the Hurwitz zeta function as formulas.
 * Source: C. Lanczos, "A Precision Approximation of the Gamma Function" (g = 7, 9 coefficients); F.
 * Johansson, "Rigorous high-precision computation of the Hurwitz zeta function and its
 * derivatives". */
#include <math.h>

#include "stablehlo/import/import_formula.h"

#define LANCZOS_G 7
#define LANCZOS_BASE 0.99999999999980993227684700473478
static const double lanczos[] = {
    676.520368121885098567009190444019, -1259.13921672240287047156078755283,
    771.3234287776530788486528258894,   -176.61502916214059906584551354,
    12.507343278686904814458936853,     -0.13857109526572011689554707,
    9.984369578019570859563e-6,         1.50563273514931155834e-7};
#define LANCZOS_COUNT (int)(sizeof lanczos / sizeof *lanczos)

/* Below 1/2 both functions are reflected. Common terms, for z = x - 1, or -x if reflected:
 *   a(z) = base + sum c_k / (z + k),  its derivative,  t = z + g + 1/2 and its logarithm. */
typedef struct lanczos {
  expr_t reflected, z, a, a_derivative, t, log_t;
} lanczos_t;

/* Partial fractions of the approximation, and their derivative for digamma. */
static lanczos_t lanczos_terms(hlo_builder_t *f, expr_t x) {
  lanczos_t terms = {.reflected = f_lt(f, x, f_number(f, 0.5, x))};
  terms.z = f_select(f, terms.reflected, f_neg(f, x), f_sub_number(f, x, 1));
  terms.a = f_number(f, LANCZOS_BASE, x);
  terms.a_derivative = f_number(f, 0, x);
  for (int k = 0; k < LANCZOS_COUNT; k++) {
    expr_t c = f_number(f, lanczos[k], x);
    expr_t distance = f_add_number(f, terms.z, k + 1);
    terms.a = f_add(f, terms.a, f_div(f, c, distance));
    terms.a_derivative = f_sub(f, terms.a_derivative, f_div(f, c, f_mul(f, distance, distance)));
  }
  expr_t shift = f_number(f, LANCZOS_G + 0.5, x);
  terms.t = f_add(f, shift, terms.z);
  /* log1p preserves the digits of a small z */
  terms.log_t =
      f_add(f, f_number(f, log(LANCZOS_G + 0.5), x), f_log1p(f, f_div(f, terms.z, shift)));
  return terms;
}

/* log |sin(pi x)|, by the distance to the nearest integer, so that integers give exactly -inf. */
static expr_t log_sine(hlo_builder_t *f, expr_t x) {
  expr_t magnitude = f_abs(f, x);
  expr_t fraction = f_sub(f, magnitude, f_floor(f, magnitude));
  expr_t upper = f_gt(f, fraction, f_number(f, 0.5, x));
  fraction = f_select(f, upper, f_sub(f, f_number(f, 1, x), fraction), fraction);
  return f_log(f, f_sin(f, f_mul_number(f, fraction, M_PI)));
}

/* lgamma(z + 1) = log(2 pi) / 2 + (z + 1/2) log t - t + log a; lgamma(x) = log pi - log|sin(pi x)|
 * - lgamma(1 - x). */
expr_t formula_lgamma(hlo_builder_t *f, expr_t const *operands) {
  expr_t x = operands[0];
  if (!x) return NULL;
  lanczos_t terms = lanczos_terms(f, x);
  /* the product with log t comes last: its factors do not overflow before the result does */
  expr_t factor = f_sub(f, f_add_number(f, terms.z, 0.5), f_div(f, terms.t, terms.log_t));
  expr_t direct = f_add(f, f_number(f, (log(2) + log(M_PI)) / 2, x), f_mul(f, factor, terms.log_t));
  direct = f_add(f, direct, f_log(f, terms.a));
  expr_t sine = log_sine(f, x);
  expr_t reflected = f_sub(f, f_sub(f, f_number(f, log(M_PI), x), sine), direct);
  reflected = f_select(f, f_finite(f, sine), reflected,
                       f_neg(f, sine)); /* at a pole the result is infinite */
  expr_t result = f_select(f, terms.reflected, reflected, direct);
  expr_t infinity = f_number(f, INFINITY, x);
  return f_select(f, f_eq(f, f_abs(f, x), infinity), infinity, result);
}

/* digamma(z + 1) = log t + a'/a - g/t; digamma(x) = digamma(1 - x) - pi cot(pi x). */
expr_t formula_digamma(hlo_builder_t *f, expr_t const *operands) {
  expr_t x = operands[0];
  if (!x) return NULL;
  lanczos_t terms = lanczos_terms(f, x);
  expr_t direct = f_sub(f, f_add(f, terms.log_t, f_div(f, terms.a_derivative, terms.a)),
                        f_div(f, f_number(f, LANCZOS_G, x), terms.t));
  /* cot has period 1: its argument is reduced to [-1/2, 1/2], where pi x is accurate enough */
  expr_t periods = f_abs(f, f_floor(f, f_add_number(f, x, 0.5)));
  expr_t angle = f_mul(f, f_number(f, M_PI, x), f_add(f, x, periods));
  expr_t cotangent = f_div(f, f_mul_number(f, f_cos(f, angle), M_PI), f_sin(f, angle));
  expr_t result = f_select(f, terms.reflected, f_sub(f, direct, cotangent), direct);
  expr_t zero = f_number(f, 0, x);
  expr_t negative_integer = f_and(f, f_lt(f, x, zero), f_eq(f, x, f_floor(f, x)));
  result = f_select(f, negative_integer, f_number(f, NAN, x), result);
  return f_select(f, f_eq(f, x, zero), f_number(f, -INFINITY, x), result);
}

/* --- zeta(x, q) = sum over k >= 0 of (q + k)^-x --- */

#define DIRECT_TERMS \
  9 /* terms after the first; the rest of the sum is approximated (Euler-Maclaurin) */

/* The tail of the sum from `a` on, `power` = a^-x:
 *   power a / (x - 1) + power (1/2 + (x/a) (1/12 + sum over j of c_j x' (x + 1)' ... / a^(2j))). */
static expr_t zeta_tail(hlo_builder_t *f, expr_t x, expr_t a, expr_t power, expr_t so_far) {
  /* (2j)! / B_2j, j = 12 ... 1 */
  static const double factors[] = {-7.1661652561756670113e18,
                                   1.8152105401943546773e17,
                                   -4.5979787224074726105e15,
                                   1.1646782814350067249e14,
                                   -2.950130727918164224e12,
                                   7.47242496e10,
                                   -1.8924375803183791606e9,
                                   47900160,
                                   -1209600,
                                   30240,
                                   -720,
                                   12};
  enum { TERMS = sizeof factors / sizeof *factors };
  expr_t inverse_square = f_div(f, f_number(f, 1, a), f_mul(f, a, a));
  expr_t sum = f_number(f, 0, a);
  for (int i = 0; i < TERMS - 1; i++) {
    int order = 2 * (TERMS - 1 - i);
    expr_t rising = f_mul(f, f_add_number(f, x, order), f_add_number(f, x, order - 1));
    sum = f_mul(f, rising, f_mul(f, inverse_square, f_add_number(f, sum, 1 / factors[i])));
  }
  sum = f_mul(f, f_div(f, x, a), f_add(f, f_number(f, 1 / factors[TERMS - 1], a), sum));
  expr_t boundary = f_mul(f, power, f_add(f, f_number(f, 0.5, power), sum));
  expr_t integral = f_div(f, f_mul(f, power, a), f_sub_number(f, x, 1));
  return f_add(f, f_add(f, so_far, integral), boundary);
}

/* Arguments for which the series has no value, or an infinite one. */
static expr_t zeta_specials(hlo_builder_t *f, expr_t x, expr_t q, expr_t value) {
  expr_t zero = f_number(f, 0, q);
  expr_t one = f_number(f, 1, x);
  expr_t nan = f_number(f, NAN, x);
  expr_t infinity = f_number(f, INFINITY, x);
  expr_t q_not_positive = f_le(f, q, zero);
  expr_t x_integer = f_eq(f, x, f_floor(f, x));
  expr_t x_even = f_and(f, x_integer, f_eq(f, f_rem(f, x, f_number(f, 2, x)), zero));
  expr_t at_pole = f_and(f, q_not_positive, f_eq(f, q, f_floor(f, q)));
  value = f_select(f, f_lt(f, x, one), nan, value);
  value = f_select(f, f_and(f, q_not_positive, f_not(f, x_integer)), nan, value);
  value = f_select(f, at_pole, f_select(f, x_even, infinity, nan), value);
  return f_select(f, f_eq(f, x, one), infinity, value);
}

/* Euler-Maclaurin summation: terms, tail integral, Bernoulli corrections. */
expr_t formula_zeta(hlo_builder_t *f, expr_t const *operands) {
  expr_t x = operands[0];
  expr_t q = operands[1];
  if (!x || !q) return NULL;
  expr_t exponent = f_neg(f, x);
  expr_t sum = f_pow(f, q, exponent);
  expr_t a = q;
  expr_t power = NULL;
  for (int k = 0; k <= DIRECT_TERMS; k++) {
    a = f_add_number(f, a, 1);
    power = f_pow(f, a, exponent);
    if (k < DIRECT_TERMS) sum = f_add(f, sum, power);
  }
  double least = x->shape->dtype == HR_F64 ? 0x1p-1074 : 0x1p-149;
  expr_t negligible = f_lt(f, f_abs(f, power), f_mul_number(f, f_abs(f, sum), least));
  expr_t value = f_select(f, negligible, sum, zeta_tail(f, x, a, power, sum));
  return zeta_specials(f, x, q, value);
}

/* polygamma(n, x) = (-1)^(n + 1) n! zeta(n + 1, x). */
expr_t formula_polygamma(hlo_builder_t *f, expr_t const *operands) {
  expr_t n = operands[0];
  expr_t x = operands[1];
  if (!n || !x) return NULL;
  expr_t next = f_add_number(f, n, 1);
  expr_t zero = f_number(f, 0, n);
  expr_t sign = f_sub_number(f, f_mul_number(f, f_rem(f, n, f_number(f, 2, n)), 2), 1);
  expr_t factorial = f_exp(f, formula_lgamma(f, &next));
  expr_t value = f_mul(f, f_mul(f, sign, factorial), formula_zeta(f, (expr_t[]){next, x}));
  value = f_select(f, f_eq(f, n, zero), formula_digamma(f, &x), value);
  expr_t no_order = f_or(f, f_ne(f, n, f_floor(f, n)), f_lt(f, n, zero));
  return f_select(f, no_order, f_number(f, NAN, x), value);
}
