/* Elementwise ops on c64 and c128, and those that separate or combine real and imaginary parts.
 * Functions of c64 are computed in c128 and rounded once (complex_math.h). */
#include "ops/kernels/elementwise/complex_math.h"
#include "ops/kernels/elementwise/elementwise_loops.h"
#include "ops/kernels/simd/simd_target.h"

#define UNARY(OP, op, unused)                                                   \
  EW_UNARY(c64_##op##_loop, c64_t, c64_t, c128_narrow(c128_##op(c64_widen(a)))) \
  EW_UNARY(c128_##op##_loop, c128_t, c128_t, c128_##op(a))
#define UNARY_ROW(OP, op, p) [HLO_##OP] = p##_##op##_loop,
#define BINARY(op)                                                     \
  EW_BINARY_COSTLY(c64_##op##_loop, c64_t, c64_t, c64_t,               \
                   c128_narrow(c128_##op(c64_widen(a), c64_widen(b)))) \
  EW_BINARY_COSTLY(c128_##op##_loop, c128_t, c128_t, c128_t, c128_##op(a, b))

EW_MATH_UNARY(UNARY, )
UNARY(SIGN, sign, )
BINARY(atan2)
EW_BINARY_COSTLY(c64_divide_loop, c64_t, c64_t, c64_t, c64_divide(a, b))
EW_BINARY_COSTLY(c128_divide_loop, c128_t, c128_t, c128_t, c128_divide(a, b))
BINARY(power)
EW_UNARY(c128_abs_loop, double, c128_t, c128_abs(a))

/* Vector loops for the machine that runs them. AVX2 without FMA: gcc would contract complex
 * products in the vector loop, but not in its remainder, and rounding would depend on the
 * element's position. */
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
  EW_BINARY(p##_minimum_loop, C, C, p##_minimum(a, b))

#define COMPLEX_TABLE(p)                                                      \
  static const ew_loop_fn p##_loops[HLO_OPCODE_COUNT] = {                     \
      [HLO_ABS] = p##_abs_loop,           [HLO_IMAG] = p##_imag_loop,         \
      [HLO_NEGATE] = p##_negate_loop,     [HLO_REAL] = p##_real_loop,         \
      [HLO_SIGN] = p##_sign_loop,         [HLO_ADD] = p##_add_loop,           \
      [HLO_SUBTRACT] = p##_subtract_loop, [HLO_MULTIPLY] = p##_multiply_loop, \
      [HLO_MAXIMUM] = p##_maximum_loop,   [HLO_MINIMUM] = p##_minimum_loop,   \
      [HLO_DIVIDE] = p##_divide_loop,     [HLO_POWER] = p##_power_loop,       \
      [HLO_ATAN2] = p##_atan2_loop,       EW_MATH_UNARY(UNARY_ROW, p)};

PLAIN_LOOPS(c64, c64_t, float)
PLAIN_LOOPS(c128, c128_t, double)
COMPLEX_TABLE(c64)
COMPLEX_TABLE(c128)

/* Loops by the type of the parts. */
static ew_loop_fn complex_op_loop(hr_dtype_t real) {
  if (real == HR_F32) return c64_complex_loop;
  return real == HR_F64 ? c128_complex_loop : NULL;
}

ew_loop_fn ew_complex_loop(hlo_opcode_t op, hr_dtype_t type) {
  if (op == HLO_COMPLEX) /* the only op here whose operands are real */
    return complex_op_loop(type);
  if (type == HR_C64) return c64_loops[op];
  return type == HR_C128 ? c128_loops[op] : NULL;
}
