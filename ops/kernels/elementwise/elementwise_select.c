/* Compare, select and clamp. Compare has one loop per direction and type, the total and weak orders
 * being comparisons of integer keys (scalar.h: f32_order, f32_weak_order). Select moves bits and
 * has one loop per element size. */
#include <limits.h>

#include "ops/kernels/elementwise/complex_math.h"
#include "ops/kernels/elementwise/elementwise_loops.h"
#include "ops/kernels/elementwise/scalar.h"

/* Six loops in the order of hlo_enum_DIRECTION_t; `key` maps an element to the compared value. */
#define COMPARE_LOOPS(p, T, key)                               \
  EW_BINARY(p##_eq_loop, uint8_t, T, key(a) == key(b))         \
  EW_BINARY(p##_ne_loop, uint8_t, T, key(a) != key(b))         \
  EW_BINARY(p##_ge_loop, uint8_t, T, key(a) >= key(b))         \
  EW_BINARY(p##_gt_loop, uint8_t, T, key(a) > key(b))          \
  EW_BINARY(p##_le_loop, uint8_t, T, key(a) <= key(b))         \
  EW_BINARY(p##_lt_loop, uint8_t, T, key(a) < key(b))          \
  static const ew_loop_fn p##_compare[HLO_DIRECTION_COUNT] = { \
      p##_eq_loop, p##_ne_loop, p##_ge_loop, p##_gt_loop, p##_le_loop, p##_lt_loop};

COMPARE_LOOPS(s8, int8_t, )
COMPARE_LOOPS(s16, int16_t, )
COMPARE_LOOPS(s32, int32_t, )
COMPARE_LOOPS(s64, int64_t, )
COMPARE_LOOPS(u8, uint8_t, )
COMPARE_LOOPS(u16, uint16_t, )
COMPARE_LOOPS(u32, uint32_t, )
COMPARE_LOOPS(u64, uint64_t, )
COMPARE_LOOPS(f32, float, )
COMPARE_LOOPS(f64, double, )
COMPARE_LOOPS(f32_total, float, f32_order)
COMPARE_LOOPS(f64_total, double, f64_order)
COMPARE_LOOPS(f32_weak, float, f32_weak_order)
COMPARE_LOOPS(f64_weak, double, f64_weak_order)

/* Total order of narrow floats by sign and magnitude in the low params->bits bits. In formats
 * without -0 its pattern is a negative NaN, which is below everything. */
static inline int narrow_order(unsigned element, int bits, bool has_minus_zero) {
  int sign = 1 << (bits - 1), magnitude = (int)element & (sign - 1);
  int negative = magnitude == 0 && !has_minus_zero ? INT_MIN : -1 - magnitude;
  return (int)element & sign ? negative : magnitude;
}
#define NARROW_KEY(x) narrow_order(x, params->bits, params->has_minus_zero)
COMPARE_LOOPS(narrow_8, uint8_t, NARROW_KEY)
COMPARE_LOOPS(narrow_16, uint16_t, NARROW_KEY)

static ew_loop_fn narrow_total_loop(hlo_enum_DIRECTION_t direction, hr_dtype_t type) {
  if (type == HR_F8E8M0FNU) return u8_compare[direction]; /* has no sign */
  return (hr_dtype_bytes(type) == 1 ? narrow_8_compare : narrow_16_compare)[direction];
}

/* Complex numbers are equal or not; they have no order. */
EW_BINARY_COSTLY(c64_eq_loop, uint8_t, c64_t, c64_t, (a.re == b.re) & (a.im == b.im))
EW_BINARY_COSTLY(c64_ne_loop, uint8_t, c64_t, c64_t, (a.re != b.re) | (a.im != b.im))
EW_BINARY_COSTLY(c128_eq_loop, uint8_t, c128_t, c128_t, (a.re == b.re) & (a.im == b.im))
EW_BINARY_COSTLY(c128_ne_loop, uint8_t, c128_t, c128_t, (a.re != b.re) | (a.im != b.im))
static const ew_loop_fn c64_compare[HLO_DIRECTION_COUNT] = {c64_eq_loop, c64_ne_loop};
static const ew_loop_fn c128_compare[HLO_DIRECTION_COUNT] = {c128_eq_loop, c128_ne_loop};

/* All orders except the total order of narrow floats are those of f32 and f64. */
static ew_loop_fn float_compare_loop(hlo_enum_DIRECTION_t direction, hlo_enum_COMPARISON_t order,
                                     bool is_double) {
  switch (order) {
    case HLO_COMPARISON_TOTALORDER:
      return (is_double ? f64_total_compare : f32_total_compare)[direction];
    case HLO_COMPARISON_WEAKORDER:
      return (is_double ? f64_weak_compare : f32_weak_compare)[direction];
    default:
      return (is_double ? f64_compare : f32_compare)[direction];
  }
}

/* Narrow floats compare as f32, except in total order, which distinguishes NaNs by their payload
 * and so compares the element's own bits. Booleans and narrow integers compare in 8 bits. */
ew_loop_fn ew_compare_loop(hlo_enum_DIRECTION_t direction, hlo_enum_COMPARISON_t order,
                           hr_dtype_t type) {
  if (order == HLO_COMPARISON_TOTALORDER && hr_dtype_is_float(type) &&
      hr_dtype_table[type].compute != type)
    return narrow_total_loop(direction, type);
  switch (hr_dtype_table[type].compute) {
    case HR_S8:
      return s8_compare[direction];
    case HR_S16:
      return s16_compare[direction];
    case HR_S32:
      return s32_compare[direction];
    case HR_S64:
      return s64_compare[direction];
    case HR_PRED:
    case HR_U8:
      return u8_compare[direction];
    case HR_U16:
      return u16_compare[direction];
    case HR_U32:
      return u32_compare[direction];
    case HR_U64:
      return u64_compare[direction];
    case HR_F32:
      return float_compare_loop(direction, order, false);
    case HR_F64:
      return float_compare_loop(direction, order, true);
    case HR_C64:
      return c64_compare[direction];
    case HR_C128:
      return c128_compare[direction];
    default:
      return NULL;
  }
}

#define CLAMP_LOOP(p, T) EW_TERNARY(p##_clamp_loop, T, T, T, T, p##_clamp(a, b, c))

CLAMP_LOOP(s8, int8_t)
CLAMP_LOOP(s16, int16_t)
CLAMP_LOOP(s32, int32_t)
CLAMP_LOOP(s64, int64_t)
CLAMP_LOOP(u8, uint8_t)
CLAMP_LOOP(u16, uint16_t)
CLAMP_LOOP(u32, uint32_t)
CLAMP_LOOP(u64, uint64_t)
CLAMP_LOOP(f32, float)
CLAMP_LOOP(f64, double)
CLAMP_LOOP(c64, c64_t)
CLAMP_LOOP(c128, c128_t)

ew_loop_fn ew_clamp_loop(hr_dtype_t type) {
  switch (type) {
    case HR_S8:
      return s8_clamp_loop;
    case HR_S16:
      return s16_clamp_loop;
    case HR_S32:
      return s32_clamp_loop;
    case HR_S64:
      return s64_clamp_loop;
    case HR_PRED:
    case HR_U8:
      return u8_clamp_loop;
    case HR_U16:
      return u16_clamp_loop;
    case HR_U32:
      return u32_clamp_loop;
    case HR_U64:
      return u64_clamp_loop;
    case HR_F32:
      return f32_clamp_loop;
    case HR_F64:
      return f64_clamp_loop;
    case HR_C64:
      return c64_clamp_loop;
    case HR_C128:
      return c128_clamp_loop;
    default:
      return NULL;
  }
}

/* Select moves bits of any type: one loop for each size. */
EW_TERNARY(select_1_loop, uint8_t, uint8_t, uint8_t, uint8_t, a ? b : c)
EW_TERNARY(select_2_loop, uint16_t, uint8_t, uint16_t, uint16_t, a ? b : c)
EW_TERNARY(select_4_loop, uint32_t, uint8_t, uint32_t, uint32_t, a ? b : c)
EW_TERNARY(select_8_loop, uint64_t, uint8_t, uint64_t, uint64_t, a ? b : c)
EW_TERNARY(select_16_loop, c128_t, uint8_t, c128_t, c128_t, a ? b : c)

ew_loop_fn ew_select_loop(size_t element_bytes) {
  switch (element_bytes) {
    case 1:
      return select_1_loop;
    case 2:
      return select_2_loop;
    case 4:
      return select_4_loop;
    case 8:
      return select_8_loop;
    case 16:
      return select_16_loop;
    default:
      return NULL;
  }
}
