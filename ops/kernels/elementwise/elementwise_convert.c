/* Conversions between element types: one loop per pair of compute types. Narrow types are converted
 * by way of their compute type (elementwise.c); a conversion to a narrow float from a type that is
 * not exact in f32 rounds to odd first, so that both roundings together equal one (Boldo and
 * Melquiond). Floats to integers truncate and saturate. stochastic-convert computes in f64. */
#include "base/arith.h"
#include "ops/kernels/elementwise/complex_math.h"
#include "ops/kernels/elementwise/elementwise_loops.h"
#include "ops/kernels/elementwise/scalar.h"

#define LOOP(from, A, to, T, EXPRESSION) EW_UNARY(from##_to_##to##_loop, T, A, EXPRESSION)

/* All loops from one type. x: the number to convert; as_pred: true if it is nonzero; the last four
 * convert x to integers of up to 32 bits, or of more. */
#define CONVERT_LOOPS(p, A, x, as_pred, SHORT_S, SHORT_U, LONG_S, LONG_U) \
  LOOP(p, A, pred, uint8_t, as_pred)                                      \
  LOOP(p, A, s8, int8_t, (int8_t)SHORT_S(x))                              \
  LOOP(p, A, s16, int16_t, (int16_t)SHORT_S(x))                           \
  LOOP(p, A, s32, int32_t, (int32_t)SHORT_S(x))                           \
  LOOP(p, A, s64, int64_t, (int64_t)LONG_S(x))                            \
  LOOP(p, A, u8, uint8_t, (uint8_t)SHORT_U(x))                            \
  LOOP(p, A, u16, uint16_t, (uint16_t)SHORT_U(x))                         \
  LOOP(p, A, u32, uint32_t, (uint32_t)SHORT_U(x))                         \
  LOOP(p, A, u64, uint64_t, (uint64_t)LONG_U(x))                          \
  LOOP(p, A, f32, float, (float)(x))                                      \
  LOOP(p, A, f64, double, (double)(x))                                    \
  static ew_loop_fn p##_convert(hr_dtype_t to) {                          \
    switch (to) {                                                         \
      case HR_PRED:                                                       \
        return p##_to_pred_loop;                                          \
      case HR_S8:                                                         \
        return p##_to_s8_loop;                                            \
      case HR_S16:                                                        \
        return p##_to_s16_loop;                                           \
      case HR_S32:                                                        \
        return p##_to_s32_loop;                                           \
      case HR_S64:                                                        \
        return p##_to_s64_loop;                                           \
      case HR_U8:                                                         \
        return p##_to_u8_loop;                                            \
      case HR_U16:                                                        \
        return p##_to_u16_loop;                                           \
      case HR_U32:                                                        \
        return p##_to_u32_loop;                                           \
      case HR_U64:                                                        \
        return p##_to_u64_loop;                                           \
      case HR_F32:                                                        \
        return p##_to_f32_loop;                                           \
      case HR_F64:                                                        \
        return p##_to_f64_loop;                                           \
      case HR_C64:                                                        \
        return p##_to_c64_loop;                                           \
      case HR_C128:                                                       \
        return p##_to_c128_loop;                                          \
      default:                                                            \
        return NULL;                                                      \
    }                                                                     \
  }

#define REAL_LOOPS(p, A, SHORT_S, SHORT_U, LONG_S, LONG_U) \
  LOOP(p, A, c64, c64_t, ((c64_t){(float)a, 0}))           \
  LOOP(p, A, c128, c128_t, ((c128_t){(double)a, 0}))       \
  CONVERT_LOOPS(p, A, a, a != 0, SHORT_S, SHORT_U, LONG_S, LONG_U)
#define INTEGER_LOOPS(p, A) REAL_LOOPS(p, A, , , , )

/* Conversions of floats saturate at the true width of the result. */
#define TO_SHORT_S(x) f64_to_short_signed(x, params->bits)
#define TO_SHORT_U(x) f64_to_short_unsigned(x, params->bits)
#define TO_LONG_S(x) f64_to_signed(x, params->bits)
#define TO_LONG_U(x) f64_to_unsigned(x, params->bits)
#define FLOAT_LOOPS(p, A) REAL_LOOPS(p, A, TO_SHORT_S, TO_SHORT_U, TO_LONG_S, TO_LONG_U)

/* The real part is converted; for pred, either part counts. */
#define COMPLEX_LOOPS(p, A)                                   \
  LOOP(p, A, c64, c64_t, ((c64_t){(float)a.re, (float)a.im})) \
  LOOP(p, A, c128, c128_t, ((c128_t){a.re, a.im}))            \
  CONVERT_LOOPS(p, A, a.re, (a.re != 0) | (a.im != 0), TO_SHORT_S, TO_SHORT_U, TO_LONG_S, TO_LONG_U)

INTEGER_LOOPS(s8, int8_t)
INTEGER_LOOPS(s16, int16_t)
INTEGER_LOOPS(s32, int32_t)
INTEGER_LOOPS(s64, int64_t)
INTEGER_LOOPS(u8, uint8_t)
INTEGER_LOOPS(u16, uint16_t)
INTEGER_LOOPS(u32, uint32_t)
INTEGER_LOOPS(u64, uint64_t)
FLOAT_LOOPS(f32, float)
FLOAT_LOOPS(f64, double)
COMPLEX_LOOPS(c64, c64_t)
COMPLEX_LOOPS(c128, c128_t)

/* f32 rounded to odd, as a step to a narrower float. Types that are not listed are exact in f32. */
EW_UNARY(s32_to_odd_loop, float, int32_t, s64_to_odd_f32(a))
EW_UNARY(s64_to_odd_loop, float, int64_t, s64_to_odd_f32(a))
EW_UNARY(u32_to_odd_loop, float, uint32_t, u64_to_odd_f32(a))
EW_UNARY(u64_to_odd_loop, float, uint64_t, u64_to_odd_f32(a))
EW_UNARY(f64_to_odd_loop, float, double, f64_to_odd_f32(a))
EW_UNARY(c128_to_odd_loop, float, c128_t, f64_to_odd_f32(a.re))

/* NULL: the type is exact in f32. */
static ew_loop_fn odd_loop(hr_dtype_t from) {
  switch (from) {
    case HR_S32:
      return s32_to_odd_loop;
    case HR_S64:
      return s64_to_odd_loop;
    case HR_U32:
      return u32_to_odd_loop;
    case HR_U64:
      return u64_to_odd_loop;
    case HR_F64:
      return f64_to_odd_loop;
    case HR_C128:
      return c128_to_odd_loop;
    default:
      return NULL;
  }
}

/* to_odd: the result is an intermediate that is rounded once more. */
ew_loop_fn ew_convert_loop(hr_dtype_t from, hr_dtype_t to, bool to_odd) {
  if (to_odd && odd_loop(from)) return odd_loop(from);
  switch (from) {
    case HR_S8:
      return s8_convert(to);
    case HR_S16:
      return s16_convert(to);
    case HR_S32:
      return s32_convert(to);
    case HR_S64:
      return s64_convert(to);
    case HR_PRED:
    case HR_U8:
      return u8_convert(to);
    case HR_U16:
      return u16_convert(to);
    case HR_U32:
      return u32_convert(to);
    case HR_U64:
      return u64_convert(to);
    case HR_F32:
      return f32_convert(to);
    case HR_F64:
      return f64_convert(to);
    case HR_C64:
      return c64_convert(to);
    case HR_C128:
      return c128_convert(to);
    default:
      return NULL;
  }
}

/* Truncates the magnitude to a multiple of `unit`, and rounds up if the random integer of
 * `random_bits` bits, as a fraction of its range, is below the truncated part. */
static double round_stochastic(double x, double unit, double random, int random_bits) {
  double strides = fabs(x) / unit, kept = floor(strides);
  bool up = random < floor(ldexp(strides - kept, random_bits));
  return copysign((kept + up) * unit, x);
}

/* The distance of neighbouring results around x: 1 for integers, for floats a power of 2 given
 * by the exponent of x. */
static double result_unit(double x, const hr_float_format_t *format) {
  if (!format) return 1;
  int exponent, least = 1 - format->bias;
  frexp(x, &exponent);
  if (--exponent < least) exponent = least;
  return ldexp(1, exponent - format->mantissa_bits);
}

/* All types are converted by way of f64, in which the rounded number is exact: the last conversion
 * only saturates. */
static void stochastic_loop(EW_ARGUMENTS) {
  enum { BLOCK = 64 };
  double x[BLOCK], random[BLOCK];
  hr_dtype_t from = params->operands[0], bits = params->operands[1], to = params->result;
  const hr_float_format_t *format = hr_float_format(to);
  hr_dtype_t wide = hr_dtype_table[to].compute;
  ew_loop_fn widen_x = ew_convert_loop(hr_dtype_table[from].compute, HR_F64, false);
  ew_loop_fn widen_random = ew_convert_loop(hr_dtype_table[bits].compute, HR_F64, false);
  ew_loop_fn finish = ew_convert_loop(HR_F64, wide, false);
  for (int64_t base = 0; base < count; base += BLOCK) {
    int64_t n = hr_min(count - base, BLOCK);
    int64_t x_bytes = (int64_t)hr_dtype_bytes(hr_dtype_table[from].compute);
    int64_t random_bytes = (int64_t)hr_dtype_bytes(bits);
    const void *x_at = (const char *)in[0] + base * strides[0] * x_bytes;
    const void *random_at = (const char *)in[1] + base * strides[1] * random_bytes, *rounded = x;
    widen_x(params, n, &x_at, &strides[0], x);
    widen_random(params, n, &random_at, &strides[1], random);
    for (int64_t i = 0; i < n; i++)
      if (isfinite(x[i]))
        x[i] =
            round_stochastic(x[i], result_unit(x[i], format), random[i], hr_dtype_table[bits].bits);
    finish(params, n, &rounded, (const int64_t[]){1},
           (char *)out + base * (int64_t)hr_dtype_bytes(wide));
  }
}

/* Operand 1 holds the random bits. */
ew_loop_fn ew_stochastic_loop(const ew_params_t *params) {
  hr_dtype_class_t to = hr_dtype_class(params->result);
  bool known = hr_dtype_is_float(params->operands[0]) &&
               hr_dtype_class(params->operands[1]) == HR_CLASS_UNSIGNED &&
               (to == HR_CLASS_SIGNED || to == HR_CLASS_UNSIGNED || to == HR_CLASS_FLOAT);
  return known ? stochastic_loop : NULL;
}
