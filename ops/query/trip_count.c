/* All directions are reduced to counting up below a limit. Limits are kept within a quarter of the
 * range of int64_t, so that negation and the increment for <= cannot overflow. */
#include "ops/query/trip_count.h"

#include "ir/module.h"

static int64_t largest(hr_dtype_t dtype) {
  bool is_signed = hr_dtype_class(dtype) == HR_CLASS_SIGNED;
  int bits = hr_dtype_table[dtype].bits - is_signed;
  return bits >= 63 ? INT64_MAX : (INT64_C(1) << bits) - 1;
}

/* Trip count while start + n * step < limit; -1 if the counter would leave the range of its type
 * before. */
static int64_t count_up(hr_dtype_t dtype, int64_t start, int64_t step, int64_t limit) {
  int64_t last, distance;
  if (start >= limit) return 0;
  if (step <= 0 || __builtin_sub_overflow(limit, start, &distance)) return -1;
  int64_t trips = (distance - 1) / step + 1;
  bool overflow =
      __builtin_mul_overflow(trips, step, &last) || __builtin_add_overflow(last, start, &last);
  return overflow || last > largest(dtype) ? -1 : trips;
}

/* Counting down is counting up of the negated numbers. */
int64_t loop_trip_count(hr_dtype_t dtype, int direction, int64_t start, int64_t step,
                        int64_t limit) {
  bool is_signed = hr_dtype_class(dtype) == HR_CLASS_SIGNED;
  if (start < INT64_MIN / 4 || start > INT64_MAX / 4 || limit < INT64_MIN / 4 ||
      limit > INT64_MAX / 4)
    return -1;
  if (!is_signed && (start < 0 || limit < 0 || step < 0)) return -1;
  switch (direction) {
    case HLO_DIRECTION_LT:
      return count_up(dtype, start, step, limit);
    case HLO_DIRECTION_LE:
      return count_up(dtype, start, step, limit + 1);
    case HLO_DIRECTION_GT:
      return is_signed && step > INT64_MIN ? count_up(dtype, -start, -step, -limit) : -1;
    case HLO_DIRECTION_GE:
      return is_signed && step > INT64_MIN ? count_up(dtype, -start, -step, 1 - limit) : -1;
    case HLO_DIRECTION_NE:
      return step > 0 && limit >= start && (limit - start) % step == 0 ? (limit - start) / step
                                                                       : -1;
    default:
      return -1;
  }
}

int op_direction_mirrored(int direction) {
  switch (direction) {
    case HLO_DIRECTION_LT:
      return HLO_DIRECTION_GT;
    case HLO_DIRECTION_GT:
      return HLO_DIRECTION_LT;
    case HLO_DIRECTION_LE:
      return HLO_DIRECTION_GE;
    case HLO_DIRECTION_GE:
      return HLO_DIRECTION_LE;
    default:
      return direction;
  }
}
