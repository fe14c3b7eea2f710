/* Decimal numbers as values of narrow float types, rounded once. strtod rounds to f64; rounding
 * that again to a narrower type is wrong only where the double lies exactly between two values of
 * the type while the decimal does not. There the double is first moved one step towards the
 * decimal, whose digits are compared with those of the double. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/decimal.h"
#include "read/hlo_reader.h"

/* A decimal as 0.d1d2d3... * 10^exponent, without leading zeros; its digits may have a point among
 * them. */
typedef struct decimal {
  const char *at, *end;
  int64_t exponent;
} decimal_t;

/* Digits without leading zeros, and the power of ten. */
static decimal_t parse_decimal(const char *text, size_t size) {
  decimal_t d = {text + (*text == '-'), text + size, 0};
  bool point = false, leading = true;
  const char *at = d.at;
  for (; at < d.end && *at != 'e' && *at != 'E'; at++) {
    if (*at == '.') {
      point = true;
      continue;
    }
    if (leading && *at != '0') {
      d.at = at;
      leading = false;
    }
    d.exponent += leading ? -point : !point;
  }
  if (leading) d.at = at;
  if (at < d.end) {
    bool minus = at[1] == '-';
    int64_t written = 0;
    for (const char *digit = at + 1 + (minus || at[1] == '+'); digit < d.end && written < 1000000;
         digit++)
      written = written * 10 + *digit - '0';
    d.exponent += minus ? -written : written;
  }
  d.end = at;
  return d;
}

/* The next digit, past the point; -1 at the end. */
static int next_digit(decimal_t *d) {
  while (d->at < d->end && *d->at == '.') d->at++;
  return d->at < d->end ? *d->at++ - '0' : -1;
}

/* The sign of decimal - value, digit by digit; a double has at most 767 digits. Rarely needed. */
static int side_of(const char *text, size_t size, double value) {
  char digits[800];
  int written = hr_snprintf(digits, sizeof digits, "%.770e", fabs(value));
  decimal_t a = parse_decimal(text, size);
  decimal_t b = parse_decimal(digits, (size_t)written);
  int sign = value < 0 ? -1 : 1;
  if (a.exponent != b.exponent) return a.exponent < b.exponent ? -sign : sign;
  for (;;) {
    int x = next_digit(&a);
    int y = next_digit(&b);
    if (x < 0 && y < 0) return 0;
    if (x < 0) x = 0; /* digits that are not written */
    if (y < 0) y = 0;
    if (x != y) return x < y ? -sign : sign;
  }
}

/* Whether the double lies exactly between two values of the type: its mantissa, cut to the type's,
 * leaves exactly one half. */
static bool is_between(const hr_float_format_t *f, double value) {
  if (fabs(value) <
      ldexp(1.0, 1 - f->bias)) { /* subnormal in the type: count in its smallest steps */
    double steps = ldexp(fabs(value), f->bias - 1 + f->mantissa_bits);
    return steps - floor(steps) == 0.5;
  }
  uint64_t bits;
  uint64_t below = (UINT64_C(1) << (52 - f->mantissa_bits)) - 1;
  memcpy(&bits, &value, sizeof bits);
  return (bits & below) == (below >> 1) + 1;
}

/* f64 and f32 use strtod and strtof, which round correctly. */
bool read_decimal(const char *text, size_t size, hr_dtype_t type, uint64_t *out_bits) {
  bool exact;
  const hr_float_format_t *f = hr_float_format(type);
  double value = hr_decimal_read(text, size, &exact);
  if (!isfinite(value)) return false;
  if (!exact && type != HR_F64 && is_between(f, value)) {
    int side = side_of(text, size, value);
    if (side) value = nextafter(value, side * (double)INFINITY);
  }
  if (type == HR_F32) { /* the usual case, made fast */
    float narrow = (float)value;
    uint32_t bits;
    memcpy(&bits, &narrow, sizeof bits);
    *out_bits = bits;
    return isfinite(narrow);
  }
  *out_bits = hr_float_encode(type, value);
  return isfinite(hr_float_decode(type, *out_bits));
}
