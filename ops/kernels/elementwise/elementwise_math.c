/* Transcendental functions and roots of f32 and f64, element by element. */
#include "ops/kernels/elementwise/elementwise_loops.h"
#include "ops/kernels/elementwise/scalar.h"

#define UNARY(p, T, op) EW_UNARY(p##_##op##_loop, T, T, p##_##op(a))
#define BINARY(p, T, op) EW_BINARY_COSTLY(p##_##op##_loop, T, T, T, p##_##op(a, b))

#define MATH_LOOPS(p, T)                                                    \
  UNARY(p, T, acos)                                                         \
  UNARY(p, T, acosh)                                                        \
  UNARY(p, T, asin)                                                         \
  UNARY(p, T, asinh)                                                        \
  UNARY(p, T, atan)                                                         \
  UNARY(p, T, atanh)                                                        \
  UNARY(p, T, cbrt)                                                         \
  UNARY(p, T, cosine)                                                       \
  UNARY(p, T, cosh)                                                         \
  UNARY(p, T, erf)                                                          \
  UNARY(p, T, exponential)                                                  \
  UNARY(p, T, exponential_minus_one)                                        \
  UNARY(p, T, log)                                                          \
  UNARY(p, T, log_plus_one)                                                 \
  UNARY(p, T, logistic)                                                     \
  UNARY(p, T, rsqrt)                                                        \
  UNARY(p, T, sine)                                                         \
  UNARY(p, T, sinh)                                                         \
  UNARY(p, T, sqrt)                                                         \
  UNARY(p, T, tan)                                                          \
  UNARY(p, T, tanh)                                                         \
  BINARY(p, T, atan2)                                                       \
  BINARY(p, T, power)                                                       \
  static const ew_row_t p##_rows[HLO_OPCODE_COUNT] = {                      \
      [HLO_ACOS] = {p##_acos_loop, NULL},                                   \
      [HLO_ACOSH] = {p##_acosh_loop, NULL},                                 \
      [HLO_ASIN] = {p##_asin_loop, NULL},                                   \
      [HLO_ASINH] = {p##_asinh_loop, NULL},                                 \
      [HLO_ATAN] = {p##_atan_loop, NULL},                                   \
      [HLO_ATANH] = {p##_atanh_loop, NULL},                                 \
      [HLO_CBRT] = {p##_cbrt_loop, NULL},                                   \
      [HLO_COSINE] = {p##_cosine_loop, NULL},                               \
      [HLO_COSH] = {p##_cosh_loop, NULL},                                   \
      [HLO_ERF] = {p##_erf_loop, NULL},                                     \
      [HLO_EXPONENTIAL] = {p##_exponential_loop, NULL},                     \
      [HLO_EXPONENTIAL_MINUS_ONE] = {p##_exponential_minus_one_loop, NULL}, \
      [HLO_LOG] = {p##_log_loop, NULL},                                     \
      [HLO_LOG_PLUS_ONE] = {p##_log_plus_one_loop, NULL},                   \
      [HLO_LOGISTIC] = {p##_logistic_loop, NULL},                           \
      [HLO_RSQRT] = {p##_rsqrt_loop, NULL},                                 \
      [HLO_SINE] = {p##_sine_loop, NULL},                                   \
      [HLO_SINH] = {p##_sinh_loop, NULL},                                   \
      [HLO_SQRT] = {p##_sqrt_loop, NULL},                                   \
      [HLO_TAN] = {p##_tan_loop, NULL},                                     \
      [HLO_TANH] = {p##_tanh_loop, NULL},                                   \
      [HLO_ATAN2] = {p##_atan2_loop, NULL},                                 \
      [HLO_POWER] = {p##_power_loop, NULL},                                 \
  };

MATH_LOOPS(f32, float)
MATH_LOOPS(f64, double)

ew_row_t ew_math_row(hlo_opcode_t op, hr_dtype_t type) {
  return type == HR_F32 ? f32_rows[op] : type == HR_F64 ? f64_rows[op] : (ew_row_t){NULL, NULL};
}
