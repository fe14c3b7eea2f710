/* The meaning of elementwise ops on complex numbers. c64 does plain arithmetic in f32 and
 * everything else in c128, rounded once. Multiply is the textbook formula, without recovery of
 * infinities: (inf + 0i) * (0 + 1i) = NaN + inf i. Divide scales by Smith's method and treats zero
 * and infinite operands like C's Annex G. Functions have Annex G's special values and branch cuts.
 * abs is NaN if either part is. maximum, minimum and clamp order by real, then imaginary part, and
 * return an operand that has a NaN. */
#ifndef HLO_OPS_COMPLEX_MATH_H
#define HLO_OPS_COMPLEX_MATH_H

#include "ops/kernels/elementwise/scalar.h"

typedef struct c64 {
  float re, im;
} c64_t;
typedef struct c128 {
  double re, im;
} c128_t;

static inline c128_t c64_widen(c64_t z) { return (c128_t){z.re, z.im}; }
static inline c64_t c128_narrow(c128_t z) { return (c64_t){(float)z.re, (float)z.im}; }

#define SCALAR_COMPLEX(p, C, T)                                                                  \
  static inline C p##_add(C a, C b) { return (C){a.re + b.re, a.im + b.im}; }                    \
  static inline C p##_subtract(C a, C b) { return (C){a.re - b.re, a.im - b.im}; }               \
  static inline C p##_multiply(C a, C b) {                                                       \
    return (C){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};                            \
  }                                                                                              \
  static inline C p##_negate(C a) { return (C){-a.re, -a.im}; }                                  \
  static inline C p##_complex(T re, T im) { return (C){re, im}; }                                \
  static inline T p##_real(C a) { return a.re; }                                                 \
  static inline T p##_imag(C a) { return a.im; }                                                 \
  static inline bool p##_is_nan(C a) { return a.re != a.re || a.im != a.im; }                    \
  static inline bool p##_less(C a, C b) { return a.re < b.re || (a.re == b.re && a.im < b.im); } \
  static inline C p##_maximum(C a, C b) {                                                        \
    return p##_is_nan(a) || (!p##_is_nan(b) && p##_less(b, a)) ? a : b;                          \
  }                                                                                              \
  static inline C p##_minimum(C a, C b) {                                                        \
    return p##_is_nan(a) || (!p##_is_nan(b) && p##_less(a, b)) ? a : b;                          \
  }                                                                                              \
  static inline C p##_clamp(C low, C x, C high) { return p##_minimum(p##_maximum(low, x), high); }

SCALAR_COMPLEX(c64, c64_t, float)
SCALAR_COMPLEX(c128, c128_t, double)

double c128_abs(c128_t z);
c128_t c128_divide(c128_t a, c128_t b);

/* Squares of floats neither overflow nor underflow in double; an infinite and a NaN part give
 * NaN. */
static inline float c64_abs(c64_t z) {
  return (float)sqrt((double)z.re * z.re + (double)z.im * z.im);
}

/* Products of floats are exact in double: the textbook formula is correctly rounded except for
 * special operands. */
static inline c64_t c64_divide(c64_t a, c64_t b) {
  c128_t x = c64_widen(a), y = c64_widen(b);
  double squares = y.re * y.re + y.im * y.im;
  if (!(squares > 0 && squares < INFINITY && fabs(x.re) < INFINITY && fabs(x.im) < INFINITY))
    return c128_narrow(c128_divide(x, y));
  return (c64_t){(float)((x.re * y.re + x.im * y.im) / squares),
                 (float)((x.im * y.re - x.re * y.im) / squares)};
}

c128_t c128_power(c128_t base, c128_t exponent);
c128_t c128_atan2(c128_t y, c128_t x); /* -i log((x + iy) / sqrt(x^2 + y^2)) */
c128_t c128_acos(c128_t z);
c128_t c128_acosh(c128_t z);
c128_t c128_asin(c128_t z);
c128_t c128_asinh(c128_t z);
c128_t c128_atan(c128_t z);
c128_t c128_atanh(c128_t z);
c128_t c128_cbrt(c128_t z); /* the principal root */
c128_t c128_cosine(c128_t z);
c128_t c128_cosh(c128_t z);
c128_t c128_exponential(c128_t z);
c128_t c128_exponential_minus_one(c128_t z);
c128_t c128_log(c128_t z);
c128_t c128_log_plus_one(c128_t z);
c128_t c128_logistic(c128_t z);
c128_t c128_rsqrt(c128_t z);
c128_t c128_sign(c128_t z); /* z / abs(z), or z if that is 0 */
c128_t c128_sine(c128_t z);
c128_t c128_sinh(c128_t z);
c128_t c128_sqrt(c128_t z);
c128_t c128_tan(c128_t z);
c128_t c128_tanh(c128_t z);

/* Numbers as two arrays of `count` parts, for generated code: the result overwrites the operand, or
 * the first operand; abs writes the real parts. */
#define COMPLEX_LANES_1(op) void c128_lanes_##op(int64_t count, double *re, double *im);
#define COMPLEX_LANES_2(op)                                                       \
  void c128_lanes_##op(int64_t count, double *re, double *im, const double *re_2, \
                       const double *im_2);
#define COMPLEX_LANES                    \
  COMPLEX_LANES_1(acos)                  \
  COMPLEX_LANES_1(acosh)                 \
  COMPLEX_LANES_1(asin)                  \
  COMPLEX_LANES_1(asinh)                 \
  COMPLEX_LANES_1(atan)                  \
  COMPLEX_LANES_1(atanh)                 \
  COMPLEX_LANES_1(cbrt)                  \
  COMPLEX_LANES_1(cosine)                \
  COMPLEX_LANES_1(cosh)                  \
  COMPLEX_LANES_1(exponential)           \
  COMPLEX_LANES_1(exponential_minus_one) \
  COMPLEX_LANES_1(log)                   \
  COMPLEX_LANES_1(log_plus_one)          \
  COMPLEX_LANES_1(logistic)              \
  COMPLEX_LANES_1(rsqrt)                 \
  COMPLEX_LANES_1(sign)                  \
  COMPLEX_LANES_1(sine)                  \
  COMPLEX_LANES_1(sinh)                  \
  COMPLEX_LANES_1(sqrt)                  \
  COMPLEX_LANES_1(tan)                   \
  COMPLEX_LANES_1(tanh)                  \
  COMPLEX_LANES_2(atan2)                 \
  COMPLEX_LANES_2(divide)                \
  COMPLEX_LANES_2(power)
COMPLEX_LANES_1(abs)
COMPLEX_LANES
#undef COMPLEX_LANES_1
#undef COMPLEX_LANES_2

#endif
