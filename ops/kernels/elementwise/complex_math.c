/* Complex functions in f64. Those with good implementations in the C library are forwarded to it;
 * power, cbrt and atan2 use the 64-bit mantissa of long double, because the product with the
 * exponent magnifies the logarithm's error; expm1 and log1p avoid cancellation near 0. */
#include "ops/kernels/elementwise/complex_math.h"

#include <complex.h>

/* C's complex types have the layout of an array of their two parts. */
typedef union builtin_complex {
  c128_t parts;
  double complex value;
} builtin_complex_t;
typedef union long_complex {
  struct {
    long double re, im;
  };
  long double complex value;
} long_complex_t;

#define DEFINE_LIBC_FUNCTION(op, function) \
  c128_t c128_##op(c128_t z) {             \
    builtin_complex_t u = {.parts = z};    \
    u.value = function(u.value);           \
    return u.parts;                        \
  }
DEFINE_LIBC_FUNCTION(acos, cacos)
DEFINE_LIBC_FUNCTION(acosh, cacosh)
DEFINE_LIBC_FUNCTION(asin, casin)
DEFINE_LIBC_FUNCTION(asinh, casinh)
DEFINE_LIBC_FUNCTION(atan, catan)
DEFINE_LIBC_FUNCTION(atanh, catanh)
DEFINE_LIBC_FUNCTION(cosine, ccos)
DEFINE_LIBC_FUNCTION(cosh, ccosh)
DEFINE_LIBC_FUNCTION(log, clog)
DEFINE_LIBC_FUNCTION(sine, csin)
DEFINE_LIBC_FUNCTION(sinh, csinh)
DEFINE_LIBC_FUNCTION(sqrt, csqrt)
DEFINE_LIBC_FUNCTION(tan, ctan)
DEFINE_LIBC_FUNCTION(tanh, ctanh)

/* e^x (cos y + i sin y). NaN where the angle y is not finite, even at x = -inf, where C's cexp
 * returns zeros. */
c128_t c128_exponential(c128_t z) {
  builtin_complex_t u = {.parts = z};
  if (!isfinite(z.im)) return (c128_t){NAN, NAN};
  u.value = cexp(u.value);
  return u.parts;
}

double c128_abs(c128_t z) { return z.re != z.re || z.im != z.im ? NAN : hypot(z.re, z.im); }

/* +-1 if x is infinite, else +-0, with the sign of x (Annex G). */
static double infinite_part(double x) { return copysign(isinf(x) ? 1 : 0, x); }

/* Cases in which Smith's formula gives NaN for both parts although the quotient is defined. */
static bool divide_special(c128_t a, c128_t b, c128_t *out) {
  bool a_finite = isfinite(a.re) && isfinite(a.im), b_finite = isfinite(b.re) && isfinite(b.im);
  if (b.re == 0 && b.im == 0) {
    double infinity = copysign(INFINITY, b.re);
    *out = (c128_t){infinity * a.re, infinity * a.im};
    return true;
  }
  if ((isinf(a.re) || isinf(a.im)) && b_finite) {
    double re = infinite_part(a.re), im = infinite_part(a.im);
    *out = (c128_t){INFINITY * (re * b.re + im * b.im), INFINITY * (im * b.re - re * b.im)};
    return true;
  }
  if (a_finite && (isinf(b.re) || isinf(b.im))) {
    double re = infinite_part(b.re), im = infinite_part(b.im);
    *out = (c128_t){0 * (a.re * re + a.im * im), 0 * (a.im * re - a.re * im)};
    return true;
  }
  return false;
}

/* Smith's algorithm: dividing both parts by the larger part of b avoids the overflow of |b|^2. */
c128_t c128_divide(c128_t a, c128_t b) {
  c128_t special;
  if (divide_special(a, b, &special)) return special;
  if (fabs(b.re) < fabs(b.im)) {
    double ratio = b.re / b.im, denominator = b.re * ratio + b.im;
    return (c128_t){(a.re * ratio + a.im) / denominator, (a.im * ratio - a.re) / denominator};
  }
  double ratio = b.im / b.re, denominator = b.re + b.im * ratio;
  return (c128_t){(a.re + a.im * ratio) / denominator, (a.im - a.re * ratio) / denominator};
}

/* e^(w log z) in long double. */
static c128_t power_by_log(c128_t z, c128_t w) {
  long_complex_t log = {.value = clogl((long_complex_t){{z.re, z.im}}.value)};
  long_complex_t product = {{w.re * log.re - w.im * log.im, w.re * log.im + w.im * log.re}};
  long_complex_t result = {.value = cexpl(product.value)};
  return (c128_t){(double)result.re, (double)result.im};
}

/* z^0 and 1^w are 1; 0^w is 0 for positive real w, else NaN. */
c128_t c128_power(c128_t z, c128_t w) {
  if (w.re == 0 && w.im == 0) return (c128_t){1, 0};
  if (z.re == 1 && z.im == 0) return (c128_t){1, 0};
  if (z.re == 0 && z.im == 0) return w.re > 0 && w.im == 0 ? (c128_t){0, 0} : (c128_t){NAN, NAN};
  if (z.im == 0 && z.re > 0 && w.im == 0) return (c128_t){pow(z.re, w.re), 0};
  return power_by_log(z, w);
}

/* Positive reals give the real root; others the principal one. */
c128_t c128_cbrt(c128_t z) {
  if (z.re == 0 && z.im == 0) return z;
  if (z.im == 0 && z.re > 0) return (c128_t){cbrt(z.re), z.im};
  return power_by_log(z, (c128_t){1.0 / 3, 0});
}

/* -i log((x + iy) / sqrt(x^2 + y^2)), in long double. */
c128_t c128_atan2(c128_t y, c128_t x) {
  if (y.im == 0 && x.im == 0) return (c128_t){atan2(y.re, x.re), 0};
  long_complex_t ly = {{y.re, y.im}}, lx = {{x.re, x.im}};
  long_complex_t sum = {{lx.re - ly.im, lx.im + ly.re}}; /* x + iy */
  long_complex_t squares = {{lx.re * lx.re - lx.im * lx.im + ly.re * ly.re - ly.im * ly.im,
                             2 * (lx.re * lx.im + ly.re * ly.im)}};
  long_complex_t log = {.value = clogl(sum.value / csqrtl(squares.value))};
  return (c128_t){(double)log.im, (double)-log.re};
}

/* e^x cos y - 1 without cancellation near 0: (e^x - 1) cos y - 2 sin(y/2)^2. */
c128_t c128_exponential_minus_one(c128_t z) {
  if (z.im == 0) return (c128_t){expm1(z.re), z.im};
  double half = sin(z.im / 2);
  c128_t e = c128_exponential(z);
  double re = expm1(z.re) * cos(z.im) - 2 * half * half;
  return (c128_t){isfinite(re) ? re : e.re - 1, e.im};
}

/* Near 0 the modulus of 1 + z is sqrt(1 + u) for a small u. */
c128_t c128_log_plus_one(c128_t z) {
  double angle = atan2(z.im, 1 + z.re);
  if (!(fabs(z.re) < 0.5 && fabs(z.im) < 0.5)) {
    c128_t log = c128_log((c128_t){1 + z.re, z.im});
    return (c128_t){log.re, log.im};
  }
  return (c128_t){0.5 * log1p(z.re * (2 + z.re) + z.im * z.im), angle};
}

/* e^z / (1 + e^z) on the left half plane and 1 / (1 + e^-z) on the right: e stays below 1. */
c128_t c128_logistic(c128_t z) {
  if (z.re < 0) {
    c128_t e = c128_exponential(z);
    return c128_divide(e, (c128_t){1 + e.re, e.im});
  }
  c128_t e = c128_exponential((c128_t){-z.re, -z.im});
  return c128_divide((c128_t){1, 0}, (c128_t){1 + e.re, e.im});
}

c128_t c128_rsqrt(c128_t z) { return c128_divide((c128_t){1, 0}, c128_sqrt(z)); }

/* z / |z|; zeros keep their signs. */
c128_t c128_sign(c128_t z) {
  long double modulus = hypotl(z.re, z.im); /* cannot overflow */
  if (modulus == 0) return z;
  return (c128_t){(double)(z.re / modulus), (double)(z.im / modulus)};
}

/* --- arrays ----------------------------------------------------------------------------------- */

static inline c128_t c128_of_abs(c128_t z) { return (c128_t){c128_abs(z), 0}; }
#define DEFINE_LANES_1(op, function)                            \
  void c128_lanes_##op(int64_t count, double *re, double *im) { \
    for (int64_t i = 0; i < count; i++) {                       \
      c128_t result = function((c128_t){re[i], im[i]});         \
      re[i] = result.re, im[i] = result.im;                     \
    }                                                           \
  }
#define COMPLEX_LANES_1(op) DEFINE_LANES_1(op, c128_##op)
#define COMPLEX_LANES_2(op)                                                          \
  void c128_lanes_##op(int64_t count, double *re, double *im, const double *re_2,    \
                       const double *im_2) {                                         \
    for (int64_t i = 0; i < count; i++) {                                            \
      c128_t result = c128_##op((c128_t){re[i], im[i]}, (c128_t){re_2[i], im_2[i]}); \
      re[i] = result.re, im[i] = result.im;                                          \
    }                                                                                \
  }
DEFINE_LANES_1(abs, c128_of_abs)
COMPLEX_LANES
