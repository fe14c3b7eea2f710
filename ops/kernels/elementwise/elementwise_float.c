/* Elementwise arithmetic on f32 and f64; elementwise_math.c has the transcendental functions.
 * Narrow floats are computed here in f32 and rounded by elementwise.c. */
#include "ops/kernels/elementwise/elementwise_loops.h"
#include "ops/kernels/elementwise/scalar.h"

#define UNARY(p, T, op) EW_UNARY(p##_##op##_loop, T, T, p##_##op(a))
#define BINARY(p, T, op) EW_BINARY(p##_##op##_loop, T, T, p##_##op(a, b))

/* The imaginary part of a real number is 0, its real part itself. */
#define FLOAT_LOOPS(p, T)                                                         \
  UNARY(p, T, negate)                                                             \
  UNARY(p, T, abs)                                                                \
  UNARY(p, T, sign)                                                               \
  UNARY(p, T, floor)                                                              \
  UNARY(p, T, ceil)                                                               \
  UNARY(p, T, round_nearest_afz)                                                  \
  UNARY(p, T, round_nearest_even)                                                 \
  EW_UNARY(p##_real_loop, T, T, a)                                                \
  EW_UNARY(p##_imag_loop, T, T, ((void)a, (T)0))                                  \
  EW_UNARY(p##_is_finite_loop, uint8_t, T, p##_is_finite(a))                      \
  EW_UNARY(p##_reduce_precision_loop, T, T,                                       \
           p##_reduce_precision(a, params->exponent_bits, params->mantissa_bits)) \
  BINARY(p, T, add)                                                               \
  BINARY(p, T, subtract)                                                          \
  BINARY(p, T, multiply)                                                          \
  BINARY(p, T, divide)                                                            \
  EW_BINARY_COSTLY(p##_remainder_loop, T, T, T, p##_remainder(a, b))              \
  BINARY(p, T, maximum)                                                           \
  BINARY(p, T, minimum)                                                           \
  static const ew_loop_fn p##_loops[HLO_OPCODE_COUNT] = {                         \
      [HLO_NEGATE] = p##_negate_loop,                                             \
      [HLO_ABS] = p##_abs_loop,                                                   \
      [HLO_SIGN] = p##_sign_loop,                                                 \
      [HLO_FLOOR] = p##_floor_loop,                                               \
      [HLO_CEIL] = p##_ceil_loop,                                                 \
      [HLO_ROUND_NEAREST_AFZ] = p##_round_nearest_afz_loop,                       \
      [HLO_ROUND_NEAREST_EVEN] = p##_round_nearest_even_loop,                     \
      [HLO_REAL] = p##_real_loop,                                                 \
      [HLO_IMAG] = p##_imag_loop,                                                 \
      [HLO_IS_FINITE] = p##_is_finite_loop,                                       \
      [HLO_ADD] = p##_add_loop,                                                   \
      [HLO_SUBTRACT] = p##_subtract_loop,                                         \
      [HLO_MULTIPLY] = p##_multiply_loop,                                         \
      [HLO_DIVIDE] = p##_divide_loop,                                             \
      [HLO_REMAINDER] = p##_remainder_loop,                                       \
      [HLO_MAXIMUM] = p##_maximum_loop,                                           \
      [HLO_MINIMUM] = p##_minimum_loop,                                           \
  };

FLOAT_LOOPS(f32, float)
FLOAT_LOOPS(f64, double)

EW_UNARY(narrow_reduce_precision_loop, float, float,
         f32_reduce_narrow(a, params->least_normal, params->exponent_bits, params->mantissa_bits))

/* Types narrower than f32 are passed as f32, with the limits of their format in params. */
ew_loop_fn ew_reduce_precision_loop(hr_dtype_t type) {
  if (type == HR_F64) return f64_reduce_precision_loop;
  return type == HR_F32 ? f32_reduce_precision_loop : narrow_reduce_precision_loop;
}

ew_loop_fn ew_float_loop(hlo_opcode_t op, hr_dtype_t type) {
  if (type == HR_F32) return f32_loops[op];
  return type == HR_F64 ? f64_loops[op] : NULL;
}
