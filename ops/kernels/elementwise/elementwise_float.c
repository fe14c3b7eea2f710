/* Elementwise arithmetic on f32 and f64; elementwise_math.c has the transcendental functions.
 * Narrow floats are computed here in f32 and rounded by elementwise.c; only their folds round after
 * each step. */
#include "ops/kernels/elementwise/elementwise_loops.h"
#include "ops/kernels/elementwise/scalar.h"

#define UNARY(p, T, op) EW_UNARY(p##_##op##_loop, T, T, p##_##op(a))
#define BINARY(p, T, op) EW_BINARY(p##_##op##_loop, T, T, p##_##op(a, b))
#define REDUCER(p, T, op) BINARY(p, T, op) EW_FOLD(p##_##op##_fold, T, p##_##op(a, b))

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
  REDUCER(p, T, add)                                                              \
  BINARY(p, T, subtract)                                                          \
  REDUCER(p, T, multiply)                                                         \
  BINARY(p, T, divide)                                                            \
  EW_BINARY_COSTLY(p##_remainder_loop, T, T, T, p##_remainder(a, b))              \
  REDUCER(p, T, maximum)                                                          \
  REDUCER(p, T, minimum)                                                          \
  static const ew_row_t p##_rows[HLO_OPCODE_COUNT] = {                            \
      [HLO_NEGATE] = {p##_negate_loop, NULL},                                     \
      [HLO_ABS] = {p##_abs_loop, NULL},                                           \
      [HLO_SIGN] = {p##_sign_loop, NULL},                                         \
      [HLO_FLOOR] = {p##_floor_loop, NULL},                                       \
      [HLO_CEIL] = {p##_ceil_loop, NULL},                                         \
      [HLO_ROUND_NEAREST_AFZ] = {p##_round_nearest_afz_loop, NULL},               \
      [HLO_ROUND_NEAREST_EVEN] = {p##_round_nearest_even_loop, NULL},             \
      [HLO_REAL] = {p##_real_loop, NULL},                                         \
      [HLO_IMAG] = {p##_imag_loop, NULL},                                         \
      [HLO_IS_FINITE] = {p##_is_finite_loop, NULL},                               \
      [HLO_ADD] = {p##_add_loop, p##_add_fold},                                   \
      [HLO_SUBTRACT] = {p##_subtract_loop, NULL},                                 \
      [HLO_MULTIPLY] = {p##_multiply_loop, p##_multiply_fold},                    \
      [HLO_DIVIDE] = {p##_divide_loop, NULL},                                     \
      [HLO_REMAINDER] = {p##_remainder_loop, NULL},                               \
      [HLO_MAXIMUM] = {p##_maximum_loop, p##_maximum_fold},                       \
      [HLO_MINIMUM] = {p##_minimum_loop, p##_minimum_fold},                       \
  };

FLOAT_LOOPS(f32, float)
FLOAT_LOOPS(f64, double)

EW_UNARY(narrow_reduce_precision_loop, float, float,
         f32_reduce_narrow(a, params->least_normal, params->exponent_bits, params->mantissa_bits))

/* Folds over 16-bit floats, widened: the accumulator is rounded to the narrow type after each
 * step. */
static inline float to_bf16(float x) { return hr_bf16_to_f32(hr_f32_to_bf16(x)); }
static inline float to_f16(float x) { return hr_f16_to_f32(hr_f32_to_f16(x)); }
EW_FOLD(bf16_add_fold, float, to_bf16(f32_add(a, b)))
EW_FOLD(bf16_multiply_fold, float, to_bf16(f32_multiply(a, b)))
EW_FOLD(f16_add_fold, float, to_f16(f32_add(a, b)))
EW_FOLD(f16_multiply_fold, float, to_f16(f32_multiply(a, b)))

ew_fold_fn ew_rounding_fold(hlo_opcode_t op, hr_dtype_t type) {
  if (type != HR_BF16 && type != HR_F16) return NULL;
  if (op == HLO_ADD) return type == HR_BF16 ? bf16_add_fold : f16_add_fold;
  if (op == HLO_MULTIPLY) return type == HR_BF16 ? bf16_multiply_fold : f16_multiply_fold;
  return NULL;
}

ew_loop_fn ew_reduce_precision_loop(hr_dtype_t type) {
  if (type == HR_F64) return f64_reduce_precision_loop;
  return type == HR_F32 ? f32_reduce_precision_loop : narrow_reduce_precision_loop;
}

ew_row_t ew_float_row(hlo_opcode_t op, hr_dtype_t type) {
  if (type == HR_F32) return f32_rows[op];
  return type == HR_F64 ? f64_rows[op] : (ew_row_t){NULL, NULL};
}
