/* Minimum, maximum, division and common divisor of sizes, counts and offsets. `unit` is positive,
 * `value` not negative. */
#ifndef HR_BASE_ARITH_H
#define HR_BASE_ARITH_H

#include <stdint.h>

static inline int64_t hr_min(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t hr_max(int64_t a, int64_t b) { return a > b ? a : b; }
/* The number of units that cover `value`. */
static inline int64_t hr_div_ceil(int64_t value, int64_t unit) { return (value + unit - 1) / unit; }
/* The smallest multiple of `unit` that is not below `value`. */
static inline int64_t hr_round_up(int64_t value, int64_t unit) {
  return hr_div_ceil(value, unit) * unit;
}

/* The greatest common divisor, not negative; of 0 and b: |b|. Euclid's algorithm. */
static inline int64_t hr_gcd(int64_t a, int64_t b) {
  while (b) {
    int64_t remainder = a % b;
    a = b;
    b = remainder;
  }
  return a < 0 ? -a : a;
}

#endif
