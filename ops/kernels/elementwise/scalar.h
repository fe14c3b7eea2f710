/* What each elementwise op means on one element, per class of compute type: integers, f32, f64.
 * (Complex numbers are in complex_math.h.) These definitions are the only ones: the reference loops
 * apply them, and generated code may inline them.
 *
 * Functions are called <type>_<op>: s8_divide, f32_maximum. Types narrower than a compute type have
 * no functions of their own: they are widened, computed, and rounded or wrapped back. `bits` is the
 * number of bits of an integer that is held in a wider type (4 for u4 in uint8_t), for the ops
 * whose result depends on this number.
 *
 * Source: StableHLO specification. XLA:CPU decides cases that the specification leaves open. These
 * definitions follow the specification where XLA:CPU departs from it:
 *
 *   op                   here                           XLA:CPU
 *   denormal numbers     kept, but for products of      flushed to zero
 *                        matrices
 *   a product in a sum   two operations, each rounded   one fused operation
 *   conversion of f64    rounded once                   rounded to f32 first
 *   and 64-bit integers
 *   to 16 bits or fewer
 *   integer power        all bits of the exponent       six bits of the exponent
 *   popcnt of s4         four bits are counted          other bits count, too
 *   expm1, tanh, erf,    error of about one unit in     larger errors
 *   logistic             the last place
 */
#ifndef HLO_OPS_SCALAR_H
#define HLO_OPS_SCALAR_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

/* --- integers --------------------------------------------------------------------------------- */

/* The ops of a signed type S (prefix s) and the unsigned type U (prefix u) of the same width. P: an
 * unsigned type of at least 32 bits, in which C wraps sums and products. WS, WU: types of twice the
 * width. Arithmetic wraps. Division and remainder are total: x / 0 has all bits set, x % 0 is x,
 * MIN / -1 is MIN. Shifts by the width or more, negative amounts included, shift all bits out. */
#define SCALAR_INTEGERS(s, S, u, U, P, WS, WU)                                                     \
  static inline S s##_add(S a, S b) { return (S)((P)a + (P)b); }                                   \
  static inline U u##_add(U a, U b) { return (U)((P)a + (P)b); }                                   \
  static inline S s##_subtract(S a, S b) { return (S)((P)a - (P)b); }                              \
  static inline U u##_subtract(U a, U b) { return (U)((P)a - (P)b); }                              \
  static inline S s##_multiply(S a, S b) { return (S)((P)a * (P)b); }                              \
  static inline U u##_multiply(U a, U b) { return (U)((P)a * (P)b); }                              \
  static inline S s##_negate(S a) { return (S)(0 - (P)a); }                                        \
  static inline U u##_negate(U a) { return (U)(0 - (P)a); }                                        \
  static inline S s##_abs(S a) { return a < 0 ? s##_negate(a) : a; }                               \
  static inline U u##_abs(U a) { return a; }                                                       \
  static inline S s##_sign(S a) { return (S)((a > 0) - (a < 0)); }                                 \
  static inline U u##_sign(U a) { return a != 0; }                                                 \
  static inline S s##_divide(S a, S b) {                                                           \
    if (b == 0) return (S)-1;                                                                      \
    return b == -1 ? s##_negate(a) : (S)(a / b);                                                   \
  }                                                                                                \
  static inline U u##_divide(U a, U b) { return b == 0 ? (U)-1 : (U)(a / b); }                     \
  static inline S s##_remainder(S a, S b) {                                                        \
    if (b == 0) return a;                                                                          \
    return b == -1 ? (S)0 : (S)(a % b);                                                            \
  }                                                                                                \
  static inline U u##_remainder(U a, U b) { return b == 0 ? a : (U)(a % b); }                      \
  static inline U u##_power(U base, U exponent) {                                                  \
    P result = 1, square = base;                                                                   \
    for (; exponent; exponent = (U)(exponent >> 1), square *= square)                              \
      if (exponent & 1) result *= square;                                                          \
    return (U)result;                                                                              \
  }                                                                                                \
  static inline S s##_power(S base, S exponent) {                                                  \
    if (exponent >= 0) return (S)u##_power((U)base, (U)exponent);                                  \
    if (base == -1) return (S)(exponent & 1 ? -1 : 1);                                             \
    return base == 1;                                                                              \
  }                                                                                                \
  /* The low `bits` bits, zero-extended and sign-extended. */                                      \
  static inline U u##_low(U a, int bits) {                                                         \
    return (U)(a & (U)((U)-1 >> (8 * (int)sizeof(U) - bits)));                                     \
  }                                                                                                \
  static inline S s##_low(S a, int bits) {                                                         \
    int unused = 8 * (int)sizeof(S) - bits;                                                        \
    return (S)((S)((P)a << unused) >> unused);                                                     \
  }                                                                                                \
  static inline U u##_shift_left(U a, U b, int bits) { return b >= (U)bits ? 0 : (U)((P)a << b); } \
  static inline S s##_shift_left(S a, S b, int bits) {                                             \
    return (S)u##_shift_left((U)a, (U)b, bits);                                                    \
  }                                                                                                \
  static inline U u##_shift_right_logical(U a, U b, int bits) {                                    \
    return b >= (U)bits ? 0 : (U)(u##_low(a, bits) >> b);                                          \
  }                                                                                                \
  static inline S s##_shift_right_logical(S a, S b, int bits) {                                    \
    return (S)u##_shift_right_logical((U)a, (U)b, bits);                                           \
  }                                                                                                \
  static inline S s##_shift_right_arithmetic(S a, S b, int bits) {                                 \
    return (S)(s##_low(a, bits) >> ((U)b >= (U)bits ? bits - 1 : (int)b));                         \
  }                                                                                                \
  static inline U u##_shift_right_arithmetic(U a, U b, int bits) {                                 \
    return (U)s##_shift_right_arithmetic((S)a, (S)b, bits);                                        \
  }                                                                                                \
  static inline U u##_popcnt(U a, int bits) { return (U)__builtin_popcountll(u##_low(a, bits)); }  \
  static inline S s##_popcnt(S a, int bits) { return (S)u##_popcnt((U)a, bits); }                  \
  static inline U u##_count_leading_zeros(U a, int bits) {                                         \
    uint64_t low = u##_low(a, bits);                                                               \
    return (U)(low ? __builtin_clzll(low) - (64 - bits) : bits);                                   \
  }                                                                                                \
  static inline S s##_count_leading_zeros(S a, int bits) {                                         \
    return (S)u##_count_leading_zeros((U)a, bits);                                                 \
  }                                                                                                \
  static inline U u##_mulhi(U a, U b, int bits) { return (U)(((WU)a * (WU)b) >> bits); }           \
  static inline S s##_mulhi(S a, S b, int bits) { return (S)(((WS)a * (WS)b) >> bits); }           \
  SCALAR_ORDERED(s, S)                                                                             \
  SCALAR_ORDERED(u, U)

#define SCALAR_ORDERED(p, T)                                      \
  static inline T p##_not(T a) { return (T)~a; }                  \
  static inline T p##_and(T a, T b) { return (T)(a & b); }        \
  static inline T p##_or(T a, T b) { return (T)(a | b); }         \
  static inline T p##_xor(T a, T b) { return (T)(a ^ b); }        \
  static inline T p##_maximum(T a, T b) { return a > b ? a : b; } \
  static inline T p##_minimum(T a, T b) { return a < b ? a : b; } \
  static inline T p##_clamp(T low, T x, T high) { return p##_minimum(p##_maximum(low, x), high); }

SCALAR_INTEGERS(s8, int8_t, u8, uint8_t, uint32_t, int16_t, uint16_t)
SCALAR_INTEGERS(s16, int16_t, u16, uint16_t, uint32_t, int32_t, uint32_t)
SCALAR_INTEGERS(s32, int32_t, u32, uint32_t, uint32_t, int64_t, uint64_t)
SCALAR_INTEGERS(s64, int64_t, u64, uint64_t, uint64_t, __int128, unsigned __int128)

/* --- floats ----------------------------------------------------------------------------------- */

static inline uint32_t f32_bits(float x) {
  return ((union {
           float f;
           uint32_t u;
         }){.f = x})
      .u;
}
static inline float f32_from_bits(uint32_t bits) {
  return ((union {
           uint32_t u;
           float f;
         }){.u = bits})
      .f;
}
static inline uint64_t f64_bits(double x) {
  return ((union {
           double f;
           uint64_t u;
         }){.f = x})
      .u;
}
static inline double f64_from_bits(uint64_t bits) {
  return ((union {
           uint64_t u;
           double f;
         }){.u = bits})
      .f;
}

/* The ops that f32 and f64 share. U, I: integers of the same width. M, E: bits of mantissa and
 * exponent. suffix: suffix of C's math functions for the type. Maximum and minimum return NaN if
 * either operand is NaN, and order -0 below +0: the bits of equal numbers are combined, which
 * changes only the sign of zeros. p_order maps numbers to integers in the total order: the integer
 * with the same bits, of which a negative one has all bits but the sign complemented. p_weak_order
 * is numeric, with -0 equal to +0, and all NaNs equal and above all numbers. */
#define SCALAR_FLOAT(p, T, U, I, M, E, suffix)                                                     \
  static inline T p##_add(T a, T b) { return a + b; }                                              \
  static inline T p##_subtract(T a, T b) { return a - b; }                                         \
  static inline T p##_multiply(T a, T b) { return a * b; }                                         \
  static inline T p##_divide(T a, T b) { return a / b; }                                           \
  static inline T p##_remainder(T a, T b) { return fmod##suffix(a, b); }                           \
  static inline T p##_power(T a, T b) { return pow##suffix(a, b); }                                \
  static inline T p##_negate(T a) { return -a; }                                                   \
  static inline T p##_abs(T a) { return fabs##suffix(a); }                                         \
  static inline T p##_sign(T a) {                                                                  \
    T negative_or_same = a < 0 ? -1 : a;                                                           \
    return a > 0 ? 1 : negative_or_same;                                                           \
  }                                                                                                \
  static inline T p##_maximum(T a, T b) {                                                          \
    T larger = ((a > b) | (a != a)) ? a : b;                                                       \
    return a == b ? p##_from_bits(p##_bits(a) & p##_bits(b)) : larger;                             \
  }                                                                                                \
  static inline T p##_minimum(T a, T b) {                                                          \
    T smaller = ((a < b) | (a != a)) ? a : b;                                                      \
    return a == b ? p##_from_bits(p##_bits(a) | p##_bits(b)) : smaller;                            \
  }                                                                                                \
  static inline T p##_clamp(T low, T x, T high) { return p##_minimum(p##_maximum(low, x), high); } \
  static inline T p##_floor(T a) { return floor##suffix(a); }                                      \
  static inline T p##_ceil(T a) { return ceil##suffix(a); }                                        \
  static inline T p##_round_nearest_afz(T a) { return round##suffix(a); }                          \
  static inline T p##_round_nearest_even(T a) { return rint##suffix(a); }                          \
  static inline T p##_sqrt(T a) { return sqrt##suffix(a); }                                        \
  static inline bool p##_is_finite(T a) { return a - a == 0; }                                     \
  static inline I p##_order(T a) {                                                                 \
    I bits = (I)p##_bits(a);                                                                       \
    return bits ^ (I)((U)(bits >> (M + E)) >> 1);                                                  \
  }                                                                                                \
  static inline I p##_weak_order(T a) { return a == a ? p##_order(a + 0) : (I)(~(U)0 >> 1); }      \
  /* Rounds to `mantissa` bits, to nearest even. A result above the range of `exponent` bits       \
   * becomes infinity; a result that would be denormal in that format becomes zero. NaN stays.     \
   * A denormal number of T is rounded at the same bit of its mantissa. */                         \
  static inline T p##_reduce_precision(T a, int exponent, int mantissa) {                          \
    U sign = p##_bits(a) & (U)1 << (M + E), bits = p##_bits(a) ^ sign,                             \
      infinity = (((U)1 << E) - 1) << M;                                                           \
    if (bits > infinity) return a;                                                                 \
    if (mantissa < M) {                                                                            \
      U unit = (U)1 << (M - mantissa);                                                             \
      bits += (unit >> 1) - 1 + (bits >> (M - mantissa) & 1);                                      \
      bits &= ~(unit - 1);                                                                         \
    }                                                                                              \
    if (exponent < E) {                                                                            \
      U bias = ((U)1 << (E - 1)) - 1, reduced_bias = ((U)1 << (exponent - 1)) - 1;                 \
      if (bits >> M > bias + reduced_bias) bits = infinity;                                        \
      if (bits >> M <= bias - reduced_bias) bits = 0;                                              \
    }                                                                                              \
    return p##_from_bits(sign | bits);                                                             \
  }

SCALAR_FLOAT(f32, float, uint32_t, int32_t, 23, 8, f)
SCALAR_FLOAT(f64, double, uint64_t, int64_t, 52, 11, )

/* Rounds f32 to a narrower format with denormal numbers. least: smallest normal number of the
 * format. Numbers below it are normal in f32, so adding `shifter` rounds them to the unit of the
 * format's denormal numbers. */
static inline float f32_reduce_narrow(float a, float least, int exponent, int mantissa) {
  float shifter = least * f32_from_bits((uint32_t)(127 + 23 - mantissa) << 23) * 1.5f;
  float magnitude = fabsf(a), rounded = copysignf((magnitude + shifter) - shifter, a);
  return f32_reduce_precision(magnitude < least && mantissa < 23 ? rounded : a, exponent, mantissa);
}

/* Transcendental functions of f64: those of the C library, with errors of about one ulp. */
static inline double f64_acos(double x) { return acos(x); }
static inline double f64_acosh(double x) { return acosh(x); }
static inline double f64_asin(double x) { return asin(x); }
static inline double f64_asinh(double x) { return asinh(x); }
static inline double f64_atan(double x) { return atan(x); }
static inline double f64_atan2(double y, double x) { return atan2(y, x); }
static inline double f64_atanh(double x) { return atanh(x); }
static inline double f64_cbrt(double x) { return cbrt(x); }
static inline double f64_cosine(double x) { return cos(x); }
static inline double f64_cosh(double x) { return cosh(x); }
static inline double f64_erf(double x) { return erf(x); }
static inline double f64_exponential(double x) { return exp(x); }
static inline double f64_exponential_minus_one(double x) { return expm1(x); }
static inline double f64_log(double x) { return log(x); }
static inline double f64_log_plus_one(double x) { return log1p(x); }
/* Each sign has its own formula, so that neither tail overflows or cancels. The left tail goes
 * through denormal numbers to 0. */
static inline double f64_logistic(double x) {
  if (x >= 0) return 1 / (1 + exp(-x));
  double e = exp(x);
  return e / (1 + e);
}
static inline double f64_rsqrt(double x) { return 1 / sqrt(x); }
static inline double f64_sine(double x) { return sin(x); }
static inline double f64_sinh(double x) { return sinh(x); }
static inline double f64_tan(double x) { return tan(x); }
static inline double f64_tanh(double x) { return tanh(x); }

/* Transcendental functions of f32. The frequent ones (exp, expm1, logistic, tanh, sinh, cosh, log,
 * log1p) are computed in double without branches, so that the compiler vectorises loops over them.
 * Their result is rounded once, so it is nearly always the nearest number. sinf, cosf and powf of
 * the C library are as exact. All others are double functions of the C library, rounded to f32. */

/* e^x = 2^n (1 + q) for |x| < 700, with x = n ln 2 + r and |r| <= ln 2 / 2. Sets *out_scale to 2^n
 * and returns q = e^r - 1, with a relative error of 1e-11. */
static inline double f64_short_expm1(double x, double *out_scale) {
  const double shifter = 0x1.8p52; /* adding it leaves the nearest integer in the low bits */
  double shifted = x * 0x1.71547652b82fep0 + shifter, n = shifted - shifter;
  double r = (x - n * 0x1.62e42fefa38p-1) - n * 0x1.ef35793c7673p-45;
  double tail = 1.0 / 5040 + r * (1.0 / 40320 + r * (1.0 / 362880));
  tail = 1.0 / 24 + r * (1.0 / 120 + r * (1.0 / 720 + r * tail));
  *out_scale = f64_from_bits((f64_bits(shifted) + 1023) << 52);
  return r + r * r * (1.0 / 2 + r * (1.0 / 6 + r * tail));
}
static inline double f64_limit(double x, double low, double high) {
  double above = x < low ? low : x; /* NaN passes both comparisons */
  return above > high ? high : above;
}
static inline double f64_short_exp(double x) {
  double scale, q = f64_short_expm1(f64_limit(x, -120, 120), &scale);
  return scale + scale * q;
}

static inline float f32_exponential(float x) { return (float)f64_short_exp(x); }
static inline float f32_exponential_minus_one(float x) {
  double scale, q = f64_short_expm1(f64_limit(x, -120, 120), &scale);
  float result = (float)((scale - 1) + scale * q);
  return x == 0 ? x : result;
}
static inline float f32_logistic(float x) { return (float)(1 / (1 + f64_short_exp(-(double)x))); }
static inline float f32_tanh(float x) {
  double scale, q = f64_short_expm1(f64_limit(2 * fabs((double)x), 0, 60), &scale),
                e = (scale - 1) + scale * q;
  return copysignf((float)(e / (e + 2)), x);
}
static inline float f32_sinh(float x) {
  double scale, q = f64_short_expm1(f64_limit(fabs((double)x), 0, 120), &scale),
                e = (scale - 1) + scale * q;
  return copysignf((float)(0.5 * (e + e / (e + 1))), x);
}
static inline float f32_cosh(float x) {
  double e = f64_short_exp(fabs((double)x));
  return (float)(0.5 * (e + 1 / e));
}

/* log(x) = k ln 2 + 2 artanh((m - 1) / (m + 1)) for a positive normal number x = 2^k m with
 * sqrt(1/2) <= m < sqrt(2). */
static inline double f64_short_log(double x) {
  const uint64_t half_root = 0x3fe6a09e667f3bcd; /* sqrt(1/2) */
  uint64_t shifted = f64_bits(x) - half_root;
  double k = f64_from_bits(0x4330000000000000 | (shifted + ((uint64_t)1024 << 52)) >> 52) -
             (0x1p52 + 1024);
  double m = f64_from_bits(f64_bits(x) - (shifted & 0xfff0000000000000));
  double s = (m - 1) / (m + 1), t = s * s;
  double tail = 1.0 / 9 + t * (1.0 / 11 + t * (1.0 / 13 + t * (1.0 / 15)));
  return k * 0x1.62e42fefa39efp-1 +
         2 * s * (1 + t * (1.0 / 3 + t * (1.0 / 5 + t * (1.0 / 7 + t * tail))));
}
/* The logarithm of any x. log: f64_short_log(x), which is right for positive finite numbers. */
static inline float f32_log_specials(double x, double log) {
  float outside = x == 0 ? -INFINITY : NAN;
  float result = x > 0 ? (float)log : outside;
  return x > 0x1p1000 ? INFINITY : result;
}
static inline float f32_log(float x) { return f32_log_specials(x, f64_short_log(x)); }
static inline float f32_log_plus_one(float x) {
  double y = 1 + (double)x, lost = x - (y - 1);
  float result = f32_log_specials(y, f64_short_log(y) + lost / y);
  return x == 0 ? x : result;
}

static inline float f32_acos(float x) { return (float)acos(x); }
static inline float f32_acosh(float x) { return (float)acosh(x); }
static inline float f32_asin(float x) { return (float)asin(x); }
static inline float f32_asinh(float x) { return (float)asinh(x); }
static inline float f32_atan(float x) { return (float)atan(x); }
static inline float f32_atan2(float y, float x) { return (float)atan2(y, x); }
static inline float f32_atanh(float x) { return (float)atanh(x); }
static inline float f32_cbrt(float x) { return (float)cbrt(x); }
static inline float f32_cosine(float x) { return cosf(x); }
static inline float f32_erf(float x) { return (float)erf(x); }
static inline float f32_rsqrt(float x) { return (float)(1 / sqrt((double)x)); }
static inline float f32_sine(float x) { return sinf(x); }
static inline float f32_tan(float x) { return (float)tan(x); }

/* --- conversions ------------------------------------------------------------------------------ */

/* Converts to an integer of `bits` bits: truncated, then saturated; NaN gives 0. */
static inline int64_t f64_to_signed(double x, int bits) {
  uint64_t beyond = (uint64_t)1 << (bits - 1);
  if (x >= (double)beyond) return (int64_t)(beyond - 1);
  if (x < -(double)beyond) return -(int64_t)(beyond - 1) - 1;
  return x == x ? (int64_t)x : 0;
}
static inline uint64_t f64_to_unsigned(double x, int bits) {
  if (x >= 2 * (double)((uint64_t)1 << (bits - 1))) return ~(uint64_t)0 >> (64 - bits);
  return x > -1 ? (uint64_t)x : 0; /* also 0 for NaN, as the comparison is false */
}
/* f64_to_signed and f64_to_unsigned for bits <= 32, without branches. */
static inline int32_t f64_to_short_signed(double x, int bits) {
  double beyond = (double)((uint64_t)1 << (bits - 1));
  double limited = f64_limit(x, -beyond, beyond - 1);
  return (int32_t)(limited == limited ? limited : 0);
}
static inline uint32_t f64_to_short_unsigned(double x, int bits) {
  double limited = f64_limit(x, 0, (double)((uint64_t)1 << bits) - 1);
  return (uint32_t)(int64_t)(limited == limited ? limited : 0);
}

/* Converts to f32 with rounding to odd: an inexact result gets an odd mantissa. Rounding this
 * result to a format of at most 22 mantissa bits gives the same as rounding the original number. */
static inline float f64_to_odd_f32(double x) {
  float nearest = (float)x;
  if ((double)nearest == x || nearest != nearest) return nearest;
  if (isinf(nearest)) return copysignf(0x1.fffffep127f, nearest);
  double error = x - (double)nearest;
  uint32_t bits = f32_bits(nearest);
  if (bits & 1) return nearest;
  /* The nearest mantissa is even: the neighbour on the side of x has an odd one. */
  bool outward = (error > 0) == !signbit(x);
  return copysignf(f32_from_bits((bits & 0x7fffffff) + (outward ? 1 : -1)), (float)x);
}
static inline float u64_to_odd_f32(uint64_t x) {
  int extra = x >> 24 ? 40 - __builtin_clzll(x) : 0; /* bits beyond the 24 of a mantissa */
  uint64_t kept = x >> extra << extra;
  return (float)(kept != x ? kept | (uint64_t)1 << extra : kept);
}
static inline float s64_to_odd_f32(int64_t x) {
  return x < 0 ? -u64_to_odd_f32(0 - (uint64_t)x) : u64_to_odd_f32((uint64_t)x);
}

#endif
