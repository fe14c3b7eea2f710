/* Elementwise ops on c64 and c128, and those that take complex numbers apart and together. */
#include "ops/kernels/elementwise/complex_math.h"
#include "ops/kernels/elementwise/elementwise_loops.h"
#include "ops/kernels/simd/simd_target.h"

#define UNARY(op)                                                               \
  EW_UNARY(c64_##op##_loop, c64_t, c64_t, c128_narrow(c128_##op(c64_widen(a)))) \
  EW_UNARY(c128_##op##_loop, c128_t, c128_t, c128_##op(a))
#define BINARY(op)                                                     \
  EW_BINARY_COSTLY(c64_##op##_loop, c64_t, c64_t, c64_t,               \
                   c128_narrow(c128_##op(c64_widen(a), c64_widen(b)))) \
  EW_BINARY_COSTLY(c128_##op##_loop, c128_t, c128_t, c128_t, c128_##op(a, b))

UNARY(acos)
UNARY(acosh)
UNARY(asin)
UNARY(asinh)
UNARY(atan)
UNARY(atanh)
UNARY(cbrt)
UNARY(cosine)
UNARY(cosh)
UNARY(exponential)
UNARY(exponential_minus_one)
UNARY(log)
UNARY(log_plus_one)
UNARY(logistic)
UNARY(rsqrt)
UNARY(sign)
UNARY(sine)
UNARY(sinh)
UNARY(sqrt)
UNARY(tan)
UNARY(tanh)
BINARY(atan2)
EW_BINARY_COSTLY(c64_divide_loop, c64_t, c64_t, c64_t, c64_divide(a, b))
EW_BINARY_COSTLY(c128_divide_loop, c128_t, c128_t, c128_t, c128_divide(a, b))
BINARY(power)
EW_UNARY(c128_abs_loop, double, c128_t, c128_abs(a))

/* The loops that are vector code, for the machine that they will run on. AVX2 without FMA, which
 * gcc would use in products of complex numbers whatever it is told, but not at the end of an array:
 * rounding would depend on the place. */
#if HR_HAS_CLONES
#undef EW_OPTIMIZE
#define EW_OPTIMIZE __attribute__((optimize("O3"))) HR_CLONES("avx2", "default")
#endif
EW_UNARY(c64_abs_loop, float, c64_t, c64_abs(a))

#define PLAIN_LOOPS(p, C, T)                             \
  EW_UNARY(p##_negate_loop, C, C, p##_negate(a))         \
  EW_UNARY(p##_real_loop, T, C, p##_real(a))             \
  EW_UNARY(p##_imag_loop, T, C, p##_imag(a))             \
  EW_BINARY(p##_complex_loop, C, T, p##_complex(a, b))   \
  EW_BINARY(p##_add_loop, C, C, p##_add(a, b))           \
  EW_BINARY(p##_subtract_loop, C, C, p##_subtract(a, b)) \
  EW_BINARY(p##_multiply_loop, C, C, p##_multiply(a, b)) \
  EW_BINARY(p##_maximum_loop, C, C, p##_maximum(a, b))   \
  EW_BINARY(p##_minimum_loop, C, C, p##_minimum(a, b))   \
  EW_FOLD(p##_add_fold, C, p##_add(a, b))                \
  EW_FOLD(p##_maximum_fold, C, p##_maximum(a, b))        \
  EW_FOLD(p##_minimum_fold, C, p##_minimum(a, b))        \
  EW_FOLD(p##_multiply_fold, C, p##_multiply(a, b))

#define COMPLEX_ROWS(p)                                                     \
  static const ew_row_t p##_rows[HLO_OPCODE_COUNT] = {                      \
      [HLO_ABS] = {p##_abs_loop, NULL},                                     \
      [HLO_ACOS] = {p##_acos_loop, NULL},                                   \
      [HLO_ACOSH] = {p##_acosh_loop, NULL},                                 \
      [HLO_ASIN] = {p##_asin_loop, NULL},                                   \
      [HLO_ASINH] = {p##_asinh_loop, NULL},                                 \
      [HLO_ATAN] = {p##_atan_loop, NULL},                                   \
      [HLO_ATANH] = {p##_atanh_loop, NULL},                                 \
      [HLO_CBRT] = {p##_cbrt_loop, NULL},                                   \
      [HLO_COSINE] = {p##_cosine_loop, NULL},                               \
      [HLO_COSH] = {p##_cosh_loop, NULL},                                   \
      [HLO_EXPONENTIAL] = {p##_exponential_loop, NULL},                     \
      [HLO_EXPONENTIAL_MINUS_ONE] = {p##_exponential_minus_one_loop, NULL}, \
      [HLO_IMAG] = {p##_imag_loop, NULL},                                   \
      [HLO_LOG] = {p##_log_loop, NULL},                                     \
      [HLO_LOG_PLUS_ONE] = {p##_log_plus_one_loop, NULL},                   \
      [HLO_LOGISTIC] = {p##_logistic_loop, NULL},                           \
      [HLO_NEGATE] = {p##_negate_loop, NULL},                               \
      [HLO_REAL] = {p##_real_loop, NULL},                                   \
      [HLO_RSQRT] = {p##_rsqrt_loop, NULL},                                 \
      [HLO_SIGN] = {p##_sign_loop, NULL},                                   \
      [HLO_SINE] = {p##_sine_loop, NULL},                                   \
      [HLO_SINH] = {p##_sinh_loop, NULL},                                   \
      [HLO_SQRT] = {p##_sqrt_loop, NULL},                                   \
      [HLO_TAN] = {p##_tan_loop, NULL},                                     \
      [HLO_TANH] = {p##_tanh_loop, NULL},                                   \
      [HLO_ADD] = {p##_add_loop, p##_add_fold},                             \
      [HLO_SUBTRACT] = {p##_subtract_loop, NULL},                           \
      [HLO_MULTIPLY] = {p##_multiply_loop, p##_multiply_fold},              \
      [HLO_MAXIMUM] = {p##_maximum_loop, p##_maximum_fold},                 \
      [HLO_MINIMUM] = {p##_minimum_loop, p##_minimum_fold},                 \
      [HLO_DIVIDE] = {p##_divide_loop, NULL},                               \
      [HLO_POWER] = {p##_power_loop, NULL},                                 \
      [HLO_ATAN2] = {p##_atan2_loop, NULL},                                 \
  };

PLAIN_LOOPS(c64, c64_t, float)
PLAIN_LOOPS(c128, c128_t, double)
COMPLEX_ROWS(c64)
COMPLEX_ROWS(c128)

ew_row_t ew_complex_row(hlo_opcode_t op, hr_dtype_t type) {
  if (op == HLO_COMPLEX) /* the only op here whose operands are real */
    return (ew_row_t){type == HR_F32   ? c64_complex_loop
                      : type == HR_F64 ? c128_complex_loop
                                       : NULL,
                      NULL};
  return type == HR_C64 ? c64_rows[op] : type == HR_C128 ? c128_rows[op] : (ew_row_t){NULL, NULL};
}
