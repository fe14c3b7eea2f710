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
#include "tf/lower/tf_elementwise.h"
#include "tf/lower/tf_loops.h"

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
  expr_t r = f_add(b, s[1], f_number(b, 1, s[1])), ratio = f_div(b, s[4], r);
  if (!ratio) return;
  expr_t slope = f_sub(b, f_mul(b, s[5], ratio), f_div(b, f_mul(b, s[2], ratio), r));
  expr_t term = f_mul(b, s[2], ratio);
  expr_t sum = f_add(b, s[3], term), sum_slope = f_add(b, s[6], slope);
  if (!sum || !sum_slope) return;
  expr_t eps = f_number(b, epsilon_of(sum), sum);
  expr_t goes_on = f_or(b, f_gt(b, f_abs(b, term), f_mul(b, f_abs(b, sum), eps)),
                        f_gt(b, f_abs(b, slope), f_mul(b, f_abs(b, sum_slope), eps)));
  expr_t next[] = {NULL, r, term, sum, NULL, slope, sum_slope};
  for (int i = 1; i < 7; i++)
    if (next[i]) s[i] = f_select(b, s[0], next[i], s[i]);
  s[0] = f_and(b, s[0], goes_on);
}

/* The sum and its derivative by a. `active` tells which elements are wanted. */
static hr_status_t gamma_series(tf_op_t *op, expr_t a, expr_t x, expr_t active, expr_t *out_sum,
                                expr_t *out_slope) {
  hlo_builder_t *b = op->b;
  expr_t one = f_number(b, 1, a), zero = f_number(b, 0, a);
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
  expr_t epsilon = f_number(b, epsilon_of(answer), answer);
  expr_t change = f_abs(b, f_div(b, f_sub(b, s[ANSWER], answer), answer));
  expr_t slope_change = f_abs(b, f_sub(b, slope, s[DANSWER]));
  expr_t changes = f_or(b, f_gt(b, change, epsilon), f_gt(b, slope_change, epsilon));
  return f_or(b, changes, f_not(b, usable));
}

/* Numerator and denominator of the next convergent, with derivatives; both are scaled down when
 * they grow large. */
static void fraction_step(tf_op_t *op, const void *context, expr_t trip, expr_t *s) {
  hlo_builder_t *b = op->b;
  (void)context;
  (void)trip;
  expr_t one = f_number(b, 1, s[C]);
  expr_t c = f_add(b, s[C], one), y = f_add(b, s[Y], one);
  expr_t z = f_add(b, s[Z], f_number(b, 2, s[Z])), yc = f_mul(b, y, c);
  expr_t p = f_sub(b, f_mul(b, s[P1], z), f_mul(b, s[P2], yc));
  expr_t q = f_sub(b, f_mul(b, s[Q1], z), f_mul(b, s[Q2], yc));
  expr_t dp = f_sub(b, f_sub(b, f_mul(b, s[DP1], z), s[P1]),
                    f_sub(b, f_mul(b, s[DP2], yc), f_mul(b, s[P2], c)));
  expr_t dq = f_sub(b, f_sub(b, f_mul(b, s[DQ1], z), s[Q1]),
                    f_sub(b, f_mul(b, s[DQ2], yc), f_mul(b, s[Q2], c)));
  if (!p || !q || !dp || !dq) return;
  expr_t usable = f_ne(b, q, f_number(b, 0, q)), answer = f_div(b, p, q);
  answer = f_select(b, usable, answer, s[ANSWER]);
  expr_t slope = f_div(b, f_sub(b, dp, f_mul(b, answer, dq)), q);
  slope = f_select(b, usable, slope, s[DANSWER]);
  if (!answer || !slope) return;
  double eps = epsilon_of(p);
  expr_t goes_on = fraction_continues(b, s, answer, slope, usable);
  expr_t large = f_gt(b, f_abs(b, p), f_number(b, 1 / eps, p));
  expr_t scale = f_select(b, large, f_number(b, eps, p), f_number(b, 1, p));
  expr_t next[FRACTION_STATE] = {[P1] = f_mul(b, p, scale),
                                 [P2] = f_mul(b, s[P1], scale),
                                 [Q1] = f_mul(b, q, scale),
                                 [Q2] = f_mul(b, s[Q1], scale),
                                 [Y] = y,
                                 [Z] = z,
                                 [C] = c,
                                 [ANSWER] = answer,
                                 [DP1] = f_mul(b, dp, scale),
                                 [DP2] = f_mul(b, s[DP1], scale),
                                 [DQ1] = f_mul(b, dq, scale),
                                 [DQ2] = f_mul(b, s[DQ1], scale),
                                 [DANSWER] = slope};
  for (int i = 1; i < FRACTION_STATE; i++) s[i] = f_select(b, s[ACTIVE], next[i], s[i]);
  s[ACTIVE] = f_and(b, s[ACTIVE], goes_on);
}

/* The continued fraction for the upper incomplete gamma function, for x > 1 and x > a, and its
 * derivative by a. */
static hr_status_t gamma_fraction(tf_op_t *op, expr_t a, expr_t x, expr_t active,
                                  expr_t *out_answer, expr_t *out_slope) {
  hlo_builder_t *b = op->b;
  expr_t s[FRACTION_STATE] = {[ACTIVE] = active};
  expr_t one = f_number(b, 1, a), zero = f_number(b, 0, a);
  s[Y] = f_sub(b, one, a);
  s[Z] = f_add(b, f_add(b, x, s[Y]), one);
  s[C] = zero;
  s[P2] = one;
  s[Q2] = x;
  s[P1] = f_add(b, x, one);
  s[Q1] = f_mul(b, s[Z], x);
  s[ANSWER] = f_div(b, s[P1], s[Q1]);
  s[DP2] = zero;
  s[DQ2] = zero;
  s[DP1] = zero;
  s[DQ1] = f_neg(b, x);
  s[DANSWER] = f_div(b, f_mul(b, s[ANSWER], x), s[Q1]);
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
  expr_t zero = f_number(b, 0, a), one = f_number(b, 1, a);
  out->at_zero = f_eq(b, x, zero);
  expr_t is_nan = f_or(b, f_ne(b, x, x), f_ne(b, a, a));
  out->invalid = f_or(b, f_or(b, f_lt(b, x, zero), f_le(b, a, zero)), is_nan);
  expr_t endless = f_eq(b, x, f_number(b, INFINITY, x));
  out->by_fraction = f_and(b, f_gt(b, x, one), f_gt(b, x, a));
  expr_t wanted = f_not(b, f_or(b, f_or(b, out->invalid, out->at_zero), endless));
  out->log_x = f_log(b, x);
  expr_t log_front = f_sub(b, f_sub(b, f_mul(b, a, out->log_x), x), lgamma_of(b, a));
  out->front = f_select(b, endless, zero, f_exp(b, log_front));
  HR_TRY(hlo_builder_finish(b));
  HR_TRY(gamma_series(op, a, x, f_and(b, wanted, f_not(b, out->by_fraction)), &out->sum,
                      &out->sum_slope));
  return gamma_fraction(op, a, x, f_and(b, wanted, out->by_fraction), &out->answer, &out->slope);
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
  expr_t zero = f_number(b, 0, in[0]), one = f_number(b, 1, in[0]);
  expr_t vanishes = f_eq(b, g.front, zero);
  expr_t p = f_select(b, vanishes, zero, f_div(b, f_mul(b, g.front, g.sum), in[0]));
  expr_t q = f_select(b, vanishes, zero, f_mul(b, g.front, g.answer));
  expr_t lower = f_select(b, g.by_fraction, f_sub(b, one, q), p);
  expr_t upper = f_select(b, g.by_fraction, q, f_sub(b, one, p));
  expr_t y = op->row->variant ? upper : lower;
  y = f_select(b, g.invalid, f_number(b, NAN, in[0]), y);
  return give_narrow(op, f_select(b, g.at_zero, op->row->variant ? one : zero, y), dtype);
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
  expr_t a = in[0], x = in[1], zero = f_number(b, 0, a), one = f_number(b, 1, a);
  expr_t by_series =
      f_add(b, g.sum_slope, f_mul(b, g.sum, f_sub(b, g.log_x, digamma_of(b, f_add(b, a, one)))));
  by_series = f_div(b, by_series, a);
  expr_t by_fraction =
      f_neg(b, f_add(b, g.slope, f_mul(b, g.answer, f_sub(b, g.log_x, digamma_of(b, a)))));
  expr_t y = f_select(b, g.by_fraction, by_fraction, by_series);
  y = op->row->variant ? f_neg(b, f_mul(b, y, x)) : f_mul(b, y, g.front);
  y = f_select(b, g.at_zero, zero, y);
  return give_narrow(op, f_select(b, g.invalid, f_number(b, NAN, a), y), dtype);
}

/* --- incomplete beta function --- */

/* 1 / x, of a number that is kept away from 0. */
static expr_t safe_inverse(hlo_builder_t *b, expr_t x) {
  if (!x) return NULL;
  expr_t least = f_number(b, x->shape->dtype == HR_F64 ? 1e-300 : 1e-30, x);
  return f_div(b, f_number(b, 1, x), f_select(b, f_lt(b, f_abs(b, x), least), least, x));
}

/* One half step of Lentz's method: d = 1 / (1 + t d), c = 1 + t / c, h = h d c. */
static expr_t lentz(hlo_builder_t *b, expr_t t, expr_t *c, expr_t *d, expr_t *h) {
  expr_t one = f_number(b, 1, t);
  *d = safe_inverse(b, f_add(b, one, f_mul(b, t, *d)));
  *c = f_add(b, one, f_mul(b, t, safe_inverse(b, *c)));
  expr_t change = f_mul(b, *d, *c);
  *h = f_mul(b, *h, change);
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
  expr_t one = f_number(b, 1, m);
  m = f_add(b, m, one);
  expr_t c = s[4], d = s[5], h = s[6], even = f_add(b, s[1], f_mul(b, m, f_number(b, 2, m)));
  expr_t t = f_mul(b, f_mul(b, m, f_sub(b, s[2], m)), s[3]);
  t = f_div(b, t, f_mul(b, f_sub(b, even, one), even));
  lentz(b, t, &c, &d, &h);
  t = f_mul(b, f_add(b, s[1], m), f_mul(b, f_add(b, f_add(b, s[1], s[2]), m), s[3]));
  t = f_neg(b, f_div(b, t, f_mul(b, even, f_add(b, even, one))));
  expr_t change = t ? lentz(b, t, &c, &d, &h) : NULL;
  if (!change) return;
  expr_t eps = f_number(b, epsilon_of(m), m);
  expr_t goes_on = f_gt(b, f_abs(b, f_sub(b, change, one)), eps);
  s[4] = f_select(b, s[0], c, s[4]);
  s[5] = f_select(b, s[0], d, s[5]);
  s[6] = f_select(b, s[0], h, s[6]);
  s[0] = f_and(b, s[0], goes_on);
}

/* Betainc(a, b, x): the fraction converges fast for x < (a + 1) / (a + b + 2), else the symmetry
 * I(a, b, x) = 1 - I(b, a, 1 - x) is used. */
hr_status_t tf_lower_betainc(tf_op_t *op) {
  hlo_builder_t *b = op->b;
  expr_t in[3];
  hr_dtype_t dtype;
  if (!take_wide(op, 3, in, &dtype)) return hlo_builder_finish(b);
  expr_t zero = f_number(b, 0, in[0]), one = f_number(b, 1, in[0]), two = f_number(b, 2, in[0]);
  expr_t both = f_add(b, in[0], in[1]);
  expr_t direct = f_lt(b, in[2], f_div(b, f_add(b, in[0], one), f_add(b, both, two)));
  expr_t p = f_select(b, direct, in[0], in[1]), q = f_select(b, direct, in[1], in[0]);
  expr_t x = f_select(b, direct, in[2], f_sub(b, one, in[2]));
  expr_t invalid = f_or(b, f_le(b, in[0], zero), f_le(b, in[1], zero));
  invalid = f_or(b, invalid, f_not(b, f_and(b, f_ge(b, in[2], zero), f_le(b, in[2], one))));
  expr_t d = f_sub(b, one, f_div(b, f_mul(b, both, x), f_add(b, p, one)));
  d = safe_inverse(b, d);
  expr_t state[] = {f_not(b, invalid), p, q, x, one, d, d};
  tf_steps_t steps = {.count = 7, .trips = BETA_TRIPS, .while_any = true, .step = beta_step};
  HR_TRY(tf_repeat(op, &steps, state));
  expr_t log_front = f_sub(b, lgamma_of(b, both), f_add(b, lgamma_of(b, p), lgamma_of(b, q)));
  expr_t log_rest = hlo_build_unary(b, HLO_LOG_PLUS_ONE, f_neg(b, x));
  log_front = f_add(b, log_front, f_add(b, f_mul(b, p, f_log(b, x)), f_mul(b, q, log_rest)));
  expr_t y = f_div(b, f_mul(b, f_exp(b, log_front), state[6]), p);
  y = f_select(b, f_le(b, x, zero), zero, y);
  y = f_select(b, direct, y, f_sub(b, one, y));
  return give_narrow(op, f_select(b, invalid, f_number(b, NAN, in[0]), y), dtype);
}

/* --- Bessel function --- */

/* Sum of Chebyshev polynomials at y / 2 by Clenshaw's recurrence; the first coefficient counts
 * half. Coefficients that the type cannot see are left out. */
static expr_t chebyshev(hlo_builder_t *b, expr_t y, int count, const double *coefficients) {
  if (!y) return NULL;
  double least = y->shape->dtype == HR_F64 ? 0 : 1e-9;
  while (count > 1 && fabs(coefficients[count - 1]) < least) count--;
  expr_t next = f_number(b, 0, y), after = next, now = next;
  for (int i = count - 1; i >= 0; i--) {
    after = next;
    next = now;
    now = f_sub(b, f_mul(b, y, next), after);
    now = f_add(b, now, f_number(b, coefficients[i] * (i ? 1 : 2), y));
  }
  return f_mul(b, f_sub(b, now, after), f_number(b, 0.5, y));
}

/* e^-|x| I0(x): one expansion up to 8, and one in 1 / x above it. The coefficients were found by
 * interpolation at 60 Chebyshev points. */
static expr_t bessel_i0e(hlo_builder_t *b, expr_t const *in) {
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
  expr_t x = f_abs(b, in[0]);
  if (!x) return NULL;
  expr_t two = f_number(b, 2, x), is_near = f_le(b, x, f_number(b, 8, x));
  expr_t low = f_sub(b, f_mul(b, x, f_number(b, 0.5, x)), two);
  expr_t high = f_sub(b, f_div(b, f_number(b, 32, x), x), two);
  expr_t behind = f_mul(b, chebyshev(b, high, (int)(sizeof far / sizeof *far), far), f_rsqrt(b, x));
  return f_select(b, is_near, chebyshev(b, low, (int)(sizeof near / sizeof *near), near), behind);
}

/* BesselI0e. */
hr_status_t tf_lower_bessel_i0e(tf_op_t *op) {
  expr_t x = tf_in(op, 0);
  return tf_out(op, 0, x ? f_in_wide_type(op->b, bessel_i0e, 1, &x) : NULL);
}
