/* Transcendental functions and roots of f32 and f64. The most used functions of f32 are branch-free
 * (scalar.h), so that their loops vectorise; the others call the C
 * library. */
#include "ops/kernels/elementwise/elementwise_loops.h"
#include "ops/kernels/elementwise/scalar.h"

#define UNARY(OP, op, p, T) EW_UNARY(p##_##op##_loop, T, T, p##_##op(a))
#define UNARY_ROW(OP, op, p) [HLO_##OP] = p##_##op##_loop,
#define BINARY(p, T, op) EW_BINARY_COSTLY(p##_##op##_loop, T, T, T, p##_##op(a, b))

#define MATH_LOOPS(p, T)                                                              \
  EW_MATH_UNARY(UNARY, p, T)                                                          \
  UNARY(ERF, erf, p, T)                                                               \
  BINARY(p, T, atan2)                                                                 \
  BINARY(p, T, power)                                                                 \
  static const ew_loop_fn p##_loops[HLO_OPCODE_COUNT] = {                             \
      EW_MATH_UNARY(UNARY_ROW, p) UNARY_ROW(ERF, erf, p)[HLO_ATAN2] = p##_atan2_loop, \
      [HLO_POWER] = p##_power_loop,                                                   \
  };

MATH_LOOPS(f32, float)
MATH_LOOPS(f64, double)

ew_loop_fn ew_math_loop(hlo_opcode_t op, hr_dtype_t type) {
  if (type == HR_F32) return f32_loops[op];
  return type == HR_F64 ? f64_loops[op] : NULL;
}
