/* Elementwise ops on integers and pred. Types narrower than 8 bits are computed in 8 bits; ops
 * whose meaning depends on the width read params->bits, and elementwise.c wraps the others'
 * results. */
#include "ops/kernels/elementwise/elementwise_loops.h"
#include "ops/kernels/elementwise/scalar.h"

#define UNARY(p, T, op, ...) EW_UNARY(p##_##op##_loop, T, T, p##_##op(a __VA_ARGS__))
#define BINARY(p, T, op) EW_BINARY(p##_##op##_loop, T, T, p##_##op(a, b))
#define COSTLY(p, T, op, ...) EW_BINARY_COSTLY(p##_##op##_loop, T, T, T, p##_##op(a, b __VA_ARGS__))

#define INTEGER_LOOPS(p, T)                                           \
  UNARY(p, T, negate)                                                 \
  UNARY(p, T, abs)                                                    \
  UNARY(p, T, sign)                                                   \
  UNARY(p, T, not )                                                   \
  UNARY(p, T, popcnt, , params->bits)                                 \
  UNARY(p, T, count_leading_zeros, , params->bits)                    \
  BINARY(p, T, add)                                                   \
  BINARY(p, T, subtract)                                              \
  BINARY(p, T, multiply)                                              \
  BINARY(p, T, maximum)                                               \
  BINARY(p, T, minimum)                                               \
  BINARY(p, T, and)                                                   \
  BINARY(p, T, or)                                                    \
  BINARY(p, T, xor)                                                   \
  COSTLY(p, T, divide)                                                \
  COSTLY(p, T, remainder)                                             \
  COSTLY(p, T, power)                                                 \
  COSTLY(p, T, shift_left, , params->bits)                            \
  COSTLY(p, T, shift_right_arithmetic, , params->bits)                \
  COSTLY(p, T, shift_right_logical, , params->bits)                   \
  COSTLY(p, T, mulhi, , params->bits)                                 \
  static const ew_loop_fn p##_loops[HLO_OPCODE_COUNT] = {             \
      [HLO_NEGATE] = p##_negate_loop,                                 \
      [HLO_ABS] = p##_abs_loop,                                       \
      [HLO_SIGN] = p##_sign_loop,                                     \
      [HLO_NOT] = p##_not_loop,                                       \
      [HLO_POPCNT] = p##_popcnt_loop,                                 \
      [HLO_COUNT_LEADING_ZEROS] = p##_count_leading_zeros_loop,       \
      [HLO_ADD] = p##_add_loop,                                       \
      [HLO_SUBTRACT] = p##_subtract_loop,                             \
      [HLO_MULTIPLY] = p##_multiply_loop,                             \
      [HLO_MAXIMUM] = p##_maximum_loop,                               \
      [HLO_MINIMUM] = p##_minimum_loop,                               \
      [HLO_AND] = p##_and_loop,                                       \
      [HLO_OR] = p##_or_loop,                                         \
      [HLO_XOR] = p##_xor_loop,                                       \
      [HLO_DIVIDE] = p##_divide_loop,                                 \
      [HLO_REMAINDER] = p##_remainder_loop,                           \
      [HLO_POWER] = p##_power_loop,                                   \
      [HLO_SHIFT_LEFT] = p##_shift_left_loop,                         \
      [HLO_SHIFT_RIGHT_ARITHMETIC] = p##_shift_right_arithmetic_loop, \
      [HLO_SHIFT_RIGHT_LOGICAL] = p##_shift_right_logical_loop,       \
      [HLO_MULHI] = p##_mulhi_loop,                                   \
  };

INTEGER_LOOPS(s8, int8_t)
INTEGER_LOOPS(s16, int16_t)
INTEGER_LOOPS(s32, int32_t)
INTEGER_LOOPS(s64, int64_t)
INTEGER_LOOPS(u8, uint8_t)
INTEGER_LOOPS(u16, uint16_t)
INTEGER_LOOPS(u32, uint32_t)
INTEGER_LOOPS(u64, uint64_t)

/* Pred as a ring of two values: addition is `or`, multiplication is `and`. */
EW_UNARY(pred_not_loop, uint8_t, uint8_t, !a)

static ew_loop_fn pred_loop(hlo_opcode_t op) {
  switch (op) {
    case HLO_NOT:
      return pred_not_loop;
    case HLO_ADD:
    case HLO_MAXIMUM:
    case HLO_OR:
      return u8_loops[HLO_OR];
    case HLO_MULTIPLY:
    case HLO_MINIMUM:
    case HLO_AND:
      return u8_loops[HLO_AND];
    case HLO_XOR:
      return u8_loops[HLO_XOR];
    default:
      return NULL;
  }
}

/* `type` is the compute type: s8 or u8 for 2- and 4-bit integers. */
ew_loop_fn ew_integer_loop(hlo_opcode_t op, hr_dtype_t type) {
  switch (type) {
    case HR_PRED:
      return pred_loop(op);
    case HR_S8:
      return s8_loops[op];
    case HR_S16:
      return s16_loops[op];
    case HR_S32:
      return s32_loops[op];
    case HR_S64:
      return s64_loops[op];
    case HR_U8:
      return u8_loops[op];
    case HR_U16:
      return u16_loops[op];
    case HR_U32:
      return u32_loops[op];
    case HR_U64:
      return u64_loops[op];
    default:
      return NULL;
  }
}
