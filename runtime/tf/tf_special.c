/* Special functions that need a loop or a long series: incomplete gamma and beta functions with
 * their derivatives, and the Bessel function I0. Types narrower than f32 are computed in f32.
 *
 *   P(a, x) = x^a e^-x / gamma(a + 1) * series      for x <= 1 or x <= a
 *   Q(a, x) = x^a e^-x / gamma(a) * fraction        otherwise, P = 1 - Q
 *
 * Series and continued fraction run until no element changes any more; the derivatives by a are
 * carried through the same recurrences.
 * Source: Numerical Recipes, 6.2 and 6.4; Cephes (igam, igamc). */
#include <float.h>
#include <math.h>

#include "stablehlo/import/import_formula.h"
#include "tf/tf_elementwise.h"
#include "tf/tf_loops.h"

#define GAMMA_TRIPS 2000
#define BETA_TRIPS 600

/* --- operands --- */

/* Inputs at their joint shape, in a type of at least 32 bits; *out_dtype is that of the inputs. */
static bool take_wide(tf_op_t *op, int count, expr_t *x, hr_dtype_t *out_dtype) {
  for (int k = 0; k < count; k++) x[k] = tf_in(op, k);
  for (int k = 1; k < count; k++) tf_broadcast_pair(op->b, &x[0], &x[k]);
  for (int k = 1; k < count; k++) tf_broadcast_pair(op->b, &x[0], &x[k]);
  for (int k = 0; k < count; k++)
    if (!x[k]) return false;
  *out_dtype = x[0]->shape->dtype;
  bool narrow = hr_dtype_is_float(*out_dtype) && hr_dtype_table[*out_dtype].bits < 32;
  for (int k = 0; k < count && narrow; k++) x[k] = hlo_build_convert(op->b, x[k], HR_F32);
  return x[count - 1] != NULL;
}

static hr_status_t give_narrow(tf_op_t *op, expr_t y, hr_dtype_t dtype) {
  if (y && y->shape->dtype != dtype) y = hlo_build_convert(op->b, y, dtype);
  return tf_out(op, 0, y);
}

/* Distance of 1 to the next number. */
static double epsilon_of(expr_t x) { return x->shape->dtype == HR_F64 ? DBL_EPSILON : FLT_EPSILON; }

static expr_t lgamma_of(hlo_builder_t *b, expr_t x) { return x ? formula_lgamma(b, &x) : NULL; }

static expr_t digamma_of(hlo_builder_t *b, expr_t x) { return x ? formula_digamma(b, &x) : NULL; }

/* --- the lower incomplete gamma function by its series --- */

/* State: active, r, term, sum, x, d term / da, d sum / da. Each term is the one before times
 * x / r with r = a + 1, a + 2, ... */
static void series_step(tf_op_t *op, const void *context, expr_t trip, expr_t *s) {
  hlo_builder_t *b = op->b;
  (void)context;
  (void)trip;
  expr_t r = e_add(b, s[1], e_number(b, 1, s[1])), ratio = e_div(b, s[4], r);
  if (!ratio) return;
  expr_t slope = e_sub(b, e_mul(b, s[5], ratio), e_div(b, e_mul(b, s[2], ratio), r));
  expr_t term = e_mul(b, s[2], ratio);
  expr_t sum = e_add(b, s[3], term), sum_slope = e_add(b, s[6], slope);
  if (!sum || !sum_slope) return;
  expr_t eps = e_number(b, epsilon_of(sum), sum);
  expr_t goes_on = e_or(b, e_gt(b, e_abs(b, term), e_mul(b, e_abs(b, sum), eps)),
                        e_gt(b, e_abs(b, slope), e_mul(b, e_abs(b, sum_slope), eps)));
  expr_t next[] = {NULL, r, term, sum, NULL, slope, sum_slope};
  for (int i = 1; i < 7; i++)
    if (next[i]) s[i] = e_select(b, s[0], next[i], s[i]);
  s[0] = e_and(b, s[0], goes_on);
}

/* The sum and its derivative by a. `active` tells which elements are wanted. */
static hr_status_t gamma_series(tf_op_t *op, expr_t a, expr_t x, expr_t active, expr_t *out_sum,
                                expr_t *out_slope) {
  hlo_builder_t *b = op->b;
  expr_t one = e_number(b, 1, a), zero = e_number(b, 0, a);
  expr_t state[] = {active, a, one, one, x, zero, zero};
  tf_steps_t steps = {.count = 7, .trips = GAMMA_TRIPS, .while_any = true, .step = series_step};
  HR_TRY(tf_repeat(op, &steps, state));
  *out_sum = state[3];
  *out_slope = state[6];
  return NULL;
}

/* --- the upper one by its continued fraction --- */

enum { ACTIVE, P1, P2, Q1, Q2, Y, Z, C, ANSWER, DP1, DP2, DQ1, DQ2, DANSWER, FRACTION_STATE };

/* Whether the value or its derivative still changes by more than the type's epsilon, or the
 * convergent cannot be used. */
static expr_t fraction_continues(hlo_builder_t *b, expr_t *s, expr_t answer, expr_t slope,
                                 expr_t usable) {
  expr_t epsilon = e_number(b, epsilon_of(answer), answer);
  expr_t change = e_abs(b, e_div(b, e_sub(b, s[ANSWER], answer), answer));
  expr_t slope_change = e_abs(b, e_sub(b, slope, s[DANSWER]));
  expr_t changes = e_or(b, e_gt(b, change, epsilon), e_gt(b, slope_change, epsilon));
  return e_or(b, changes, e_not(b, usable));
}

/* Numerator and denominator of the next convergent, with derivatives; both are scaled down when
 * they grow large. */
static void fraction_step(tf_op_t *op, const void *context, expr_t trip, expr_t *s) {
  hlo_builder_t *b = op->b;
  (void)context;
  (void)trip;
  expr_t one = e_number(b, 1, s[C]);
  expr_t c = e_add(b, s[C], one), y = e_add(b, s[Y], one);
  expr_t z = e_add(b, s[Z], e_number(b, 2, s[Z])), yc = e_mul(b, y, c);
  expr_t p = e_sub(b, e_mul(b, s[P1], z), e_mul(b, s[P2], yc));
  expr_t q = e_sub(b, e_mul(b, s[Q1], z), e_mul(b, s[Q2], yc));
  expr_t dp = e_sub(b, e_sub(b, e_mul(b, s[DP1], z), s[P1]),
                    e_sub(b, e_mul(b, s[DP2], yc), e_mul(b, s[P2], c)));
  expr_t dq = e_sub(b, e_sub(b, e_mul(b, s[DQ1], z), s[Q1]),
                    e_sub(b, e_mul(b, s[DQ2], yc), e_mul(b, s[Q2], c)));
  if (!p || !q || !dp || !dq) return;
  expr_t usable = e_ne(b, q, e_number(b, 0, q)), answer = e_div(b, p, q);
  answer = e_select(b, usable, answer, s[ANSWER]);
  expr_t slope = e_div(b, e_sub(b, dp, e_mul(b, answer, dq)), q);
  slope = e_select(b, usable, slope, s[DANSWER]);
  if (!answer || !slope) return;
  double eps = epsilon_of(p);
  expr_t goes_on = fraction_continues(b, s, answer, slope, usable);
  expr_t large = e_gt(b, e_abs(b, p), e_number(b, 1 / eps, p));
  expr_t scale = e_select(b, large, e_number(b, eps, p), e_number(b, 1, p));
  expr_t next[FRACTION_STATE] = {[P1] = e_mul(b, p, scale),
                                 [P2] = e_mul(b, s[P1], scale),
                                 [Q1] = e_mul(b, q, scale),
                                 [Q2] = e_mul(b, s[Q1], scale),
                                 [Y] = y,
                                 [Z] = z,
                                 [C] = c,
                                 [ANSWER] = answer,
                                 [DP1] = e_mul(b, dp, scale),
                                 [DP2] = e_mul(b, s[DP1], scale),
                                 [DQ1] = e_mul(b, dq, scale),
                                 [DQ2] = e_mul(b, s[DQ1], scale),
                                 [DANSWER] = slope};
  for (int i = 1; i < FRACTION_STATE; i++) s[i] = e_select(b, s[ACTIVE], next[i], s[i]);
  s[ACTIVE] = e_and(b, s[ACTIVE], goes_on);
}

/* The continued fraction for the upper incomplete gamma function, for x > 1 and x > a, and its
 * derivative by a. */
static hr_status_t gamma_fraction(tf_op_t *op, expr_t a, expr_t x, expr_t active,
                                  expr_t *out_answer, expr_t *out_slope) {
  hlo_builder_t *b = op->b;
  expr_t s[FRACTION_STATE] = {[ACTIVE] = active};
  expr_t one = e_number(b, 1, a), zero = e_number(b, 0, a);
  s[Y] = e_sub(b, one, a);
  s[Z] = e_add(b, e_add(b, x, s[Y]), one);
  s[C] = zero;
  s[P2] = one;
  s[Q2] = x;
  s[P1] = e_add(b, x, one);
  s[Q1] = e_mul(b, s[Z], x);
  s[ANSWER] = e_div(b, s[P1], s[Q1]);
  s[DP2] = zero;
  s[DQ2] = zero;
  s[DP1] = zero;
  s[DQ1] = e_neg(b, x);
  s[DANSWER] = e_div(b, e_mul(b, s[ANSWER], x), s[Q1]);
  tf_steps_t steps = {
      .count = FRACTION_STATE, .trips = GAMMA_TRIPS, .while_any = true, .step = fraction_step};
  HR_TRY(tf_repeat(op, &steps, s));
  *out_answer = s[ANSWER];
  *out_slope = s[DANSWER];
  return NULL;
}

/* --- operations on both --- */

typedef struct gamma_parts {
  expr_t by_fraction;      /* where Q is computed, and P elsewhere */
  expr_t sum, sum_slope;   /* series */
  expr_t answer, slope;    /* continued fraction */
  expr_t front;            /* x^a e^-x / gamma(a) */
  expr_t log_x;            /* log(x) */
  expr_t invalid, at_zero; /* outside the domain; x is 0 */
} gamma_parts_t;

/* Both expansions, each evaluated only where it converges fast. */
static hr_status_t gamma_parts(tf_op_t *op, expr_t a, expr_t x, gamma_parts_t *out) {
  hlo_builder_t *b = op->b;
  expr_t zero = e_number(b, 0, a), one = e_number(b, 1, a);
  out->at_zero = e_eq(b, x, zero);
  expr_t is_nan = e_or(b, e_ne(b, x, x), e_ne(b, a, a));
  out->invalid = e_or(b, e_or(b, e_lt(b, x, zero), e_le(b, a, zero)), is_nan);
  expr_t endless = e_eq(b, x, e_number(b, INFINITY, x));
  out->by_fraction = e_and(b, e_gt(b, x, one), e_gt(b, x, a));
  expr_t wanted = e_not(b, e_or(b, e_or(b, out->invalid, out->at_zero), endless));
  out->log_x = e_log(b, x);
  expr_t log_front = e_sub(b, e_sub(b, e_mul(b, a, out->log_x), x), lgamma_of(b, a));
  out->front = e_select(b, endless, zero, e_exp(b, log_front));
  HR_TRY(hlo_builder_finish(b));
  HR_TRY(gamma_series(op, a, x, e_and(b, wanted, e_not(b, out->by_fraction)), &out->sum,
                      &out->sum_slope));
  return gamma_fraction(op, a, x, e_and(b, wanted, out->by_fraction), &out->answer, &out->slope);
}

/* variant 0: Igamma, P(a, x); 1: Igammac, Q(a, x). A front of 0 means a value that is too small,
 * whatever the loops' results are. */
hr_status_t tf_lower_igamma(tf_op_t *op) {
  hlo_builder_t *b = op->b;
  gamma_parts_t g;
  expr_t in[2];
  hr_dtype_t dtype;
  if (!take_wide(op, 2, in, &dtype)) return hlo_builder_finish(b);
  HR_TRY(gamma_parts(op, in[0], in[1], &g));
  expr_t zero = e_number(b, 0, in[0]), one = e_number(b, 1, in[0]);
  expr_t vanishes = e_eq(b, g.front, zero);
  expr_t p = e_select(b, vanishes, zero, e_div(b, e_mul(b, g.front, g.sum), in[0]));
  expr_t q = e_select(b, vanishes, zero, e_mul(b, g.front, g.answer));
  expr_t lower = e_select(b, g.by_fraction, e_sub(b, one, q), p);
  expr_t upper = e_select(b, g.by_fraction, q, e_sub(b, one, p));
  expr_t y = op->row->variant ? upper : lower;
  y = e_select(b, g.invalid, e_number(b, NAN, in[0]), y);
  return give_narrow(op, e_select(b, g.at_zero, op->row->variant ? one : zero, y), dtype);
}

/* variant 0: IgammaGradA, dP / da; 1: RandomGammaGrad, the derivative of a sample by a, which is
 * -(dP / da) over the density front / x. */
hr_status_t tf_lower_igamma_grad(tf_op_t *op) {
  hlo_builder_t *b = op->b;
  gamma_parts_t g;
  expr_t in[2];
  hr_dtype_t dtype;
  if (!take_wide(op, 2, in, &dtype)) return hlo_builder_finish(b);
  HR_TRY(gamma_parts(op, in[0], in[1], &g));
  expr_t a = in[0], x = in[1], zero = e_number(b, 0, a), one = e_number(b, 1, a);
  expr_t by_series =
      e_add(b, g.sum_slope, e_mul(b, g.sum, e_sub(b, g.log_x, digamma_of(b, e_add(b, a, one)))));
  by_series = e_div(b, by_series, a);
  expr_t by_fraction =
      e_neg(b, e_add(b, g.slope, e_mul(b, g.answer, e_sub(b, g.log_x, digamma_of(b, a)))));
  expr_t y = e_select(b, g.by_fraction, by_fraction, by_series);
  y = op->row->variant ? e_neg(b, e_mul(b, y, x)) : e_mul(b, y, g.front);
  y = e_select(b, g.at_zero, zero, y);
  return give_narrow(op, e_select(b, g.invalid, e_number(b, NAN, a), y), dtype);
}

/* --- incomplete beta function --- */

/* 1 / x, of a number that is kept away from 0. */
static expr_t safe_inverse(hlo_builder_t *b, expr_t x) {
  if (!x) return NULL;
  expr_t least = e_number(b, x->shape->dtype == HR_F64 ? 1e-300 : 1e-30, x);
  return e_div(b, e_number(b, 1, x), e_select(b, e_lt(b, e_abs(b, x), least), least, x));
}

/* One half step of Lentz's method: d = 1 / (1 + t d), c = 1 + t / c, h = h d c. */
static expr_t lentz(hlo_builder_t *b, expr_t t, expr_t *c, expr_t *d, expr_t *h) {
  expr_t one = e_number(b, 1, t);
  *d = safe_inverse(b, e_add(b, one, e_mul(b, t, *d)));
  *c = e_add(b, one, e_mul(b, t, safe_inverse(b, *c)));
  expr_t change = e_mul(b, *d, *c);
  *h = e_mul(b, *h, change);
  return change;
}

/* State: active, a, b, x, c, d, h. */
static void beta_step(tf_op_t *op, const void *context, expr_t trip, expr_t *s) {
  hlo_builder_t *b = op->b;
  (void)context;
  if (!trip || !s[3]) return;
  expr_t m = hlo_build_convert(b, trip, s[3]->shape->dtype);
  m = tf_broadcast_like(b, m, s[3]);
  if (!m) return;
  expr_t one = e_number(b, 1, m);
  m = e_add(b, m, one);
  expr_t c = s[4], d = s[5], h = s[6], even = e_add(b, s[1], e_mul(b, m, e_number(b, 2, m)));
  expr_t t = e_mul(b, e_mul(b, m, e_sub(b, s[2], m)), s[3]);
  t = e_div(b, t, e_mul(b, e_sub(b, even, one), even));
  lentz(b, t, &c, &d, &h);
  t = e_mul(b, e_add(b, s[1], m), e_mul(b, e_add(b, e_add(b, s[1], s[2]), m), s[3]));
  t = e_neg(b, e_div(b, t, e_mul(b, even, e_add(b, even, one))));
  expr_t change = t ? lentz(b, t, &c, &d, &h) : NULL;
  if (!change) return;
  expr_t eps = e_number(b, epsilon_of(m), m);
  expr_t goes_on = e_gt(b, e_abs(b, e_sub(b, change, one)), eps);
  s[4] = e_select(b, s[0], c, s[4]);
  s[5] = e_select(b, s[0], d, s[5]);
  s[6] = e_select(b, s[0], h, s[6]);
  s[0] = e_and(b, s[0], goes_on);
}

/* Betainc(a, b, x): the fraction converges fast for x < (a + 1) / (a + b + 2), else the symmetry
 * I(a, b, x) = 1 - I(b, a, 1 - x) is used. */
hr_status_t tf_lower_betainc(tf_op_t *op) {
  hlo_builder_t *b = op->b;
  expr_t in[3];
  hr_dtype_t dtype;
  if (!take_wide(op, 3, in, &dtype)) return hlo_builder_finish(b);
  expr_t zero = e_number(b, 0, in[0]), one = e_number(b, 1, in[0]), two = e_number(b, 2, in[0]);
  expr_t both = e_add(b, in[0], in[1]);
  expr_t direct = e_lt(b, in[2], e_div(b, e_add(b, in[0], one), e_add(b, both, two)));
  expr_t p = e_select(b, direct, in[0], in[1]), q = e_select(b, direct, in[1], in[0]);
  expr_t x = e_select(b, direct, in[2], e_sub(b, one, in[2]));
  expr_t invalid = e_or(b, e_le(b, in[0], zero), e_le(b, in[1], zero));
  invalid = e_or(b, invalid, e_not(b, e_and(b, e_ge(b, in[2], zero), e_le(b, in[2], one))));
  expr_t d = e_sub(b, one, e_div(b, e_mul(b, both, x), e_add(b, p, one)));
  d = safe_inverse(b, d);
  expr_t state[] = {e_not(b, invalid), p, q, x, one, d, d};
  tf_steps_t steps = {.count = 7, .trips = BETA_TRIPS, .while_any = true, .step = beta_step};
  HR_TRY(tf_repeat(op, &steps, state));
  expr_t log_front = e_sub(b, lgamma_of(b, both), e_add(b, lgamma_of(b, p), lgamma_of(b, q)));
  expr_t log_rest = hlo_build_unary(b, HLO_LOG_PLUS_ONE, e_neg(b, x));
  log_front = e_add(b, log_front, e_add(b, e_mul(b, p, e_log(b, x)), e_mul(b, q, log_rest)));
  expr_t y = e_div(b, e_mul(b, e_exp(b, log_front), state[6]), p);
  y = e_select(b, e_le(b, x, zero), zero, y);
  y = e_select(b, direct, y, e_sub(b, one, y));
  return give_narrow(op, e_select(b, invalid, e_number(b, NAN, in[0]), y), dtype);
}

/* --- Bessel function --- */

/* Sum of Chebyshev polynomials at y / 2 by Clenshaw's recurrence; the first coefficient counts
 * half. Coefficients that the type cannot see are left out. */
static expr_t chebyshev(hlo_builder_t *b, expr_t y, int count, const double *coefficients) {
  if (!y) return NULL;
  double least = y->shape->dtype == HR_F64 ? 0 : 1e-9;
  while (count > 1 && fabs(coefficients[count - 1]) < least) count--;
  expr_t next = e_number(b, 0, y), after = next, now = next;
  for (int i = count - 1; i >= 0; i--) {
    after = next;
    next = now;
    now = e_sub(b, e_mul(b, y, next), after);
    now = e_add(b, now, e_number(b, coefficients[i] * (i ? 1 : 2), y));
  }
  return e_mul(b, e_sub(b, now, after), e_number(b, 0.5, y));
}

/* e^-|x| I0(x): one expansion up to 8, and one in 1 / x above it. The coefficients were found by
 * interpolation at 60 Chebyshev points. */
static expr_t bessel_i0e(formula_t *b, expr_t const *in) {
  static const double near[] = {
      0.33839763720473803,     -0.30468267234319835,   0.17162090152220866,
      -0.09490109704804756,    0.0493052842396706,     -0.02373741480589942,
      0.010546460394594982,    -0.0043243099950506176, 0.0016394756169414303,
      -0.0005763755745386508,  0.00018850288509594159, -5.754195010083698e-05,
      1.6448448070681465e-05,  -4.416738358362173e-06, 1.1173875389531062e-06,
      -2.670793852751227e-07,  6.046995008400219e-08,  -1.3000250029149197e-08,
      2.6598236692709656e-09,  -5.189795312201744e-10, 9.675806236777058e-11,
      -1.7268247165649802e-11, 2.955065940785614e-12,  -4.855811785382392e-13,
      7.655592029008407e-14,   -1.140938391257896e-14, 1.2002317736975124e-15};
  static const double far[] = {
      0.40224520550705434,     0.003369116478255694,    6.889758346908841e-05,
      2.8913705208239447e-06,  2.0489185887242103e-07,  2.266668990530124e-08,
      3.3962320029531785e-09,  4.940602365184181e-10,   1.1889231149577118e-11,
      -3.149915250605489e-11,  -1.3215691472587112e-11, -1.7941744135350854e-12,
      7.17974971934253e-13,    3.85270579984385e-13,    1.5237364063287973e-14,
      -4.1505600751626905e-14, -9.672323931960893e-15,  3.812447344733349e-15,
      1.7438040615005366e-15};
  expr_t x = e_abs(b, in[0]);
  if (!x) return NULL;
  expr_t two = e_number(b, 2, x), is_near = e_le(b, x, e_number(b, 8, x));
  expr_t low = e_sub(b, e_mul(b, x, e_number(b, 0.5, x)), two);
  expr_t high = e_sub(b, e_div(b, e_number(b, 32, x), x), two);
  expr_t behind = e_mul(b, chebyshev(b, high, (int)(sizeof far / sizeof *far), far), e_rsqrt(b, x));
  return e_select(b, is_near, chebyshev(b, low, (int)(sizeof near / sizeof *near), near), behind);
}

/* BesselI0e. */
hr_status_t tf_lower_bessel_i0e(tf_op_t *op) {
  expr_t x = tf_in(op, 0);
  return tf_out(op, 0, x ? f_in_wide_type(op->b, bessel_i0e, 1, &x) : NULL);
}
