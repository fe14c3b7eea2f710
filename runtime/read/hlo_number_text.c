#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "read/hlo_reader.h"

/* Reading decimals. A decimal of at most 19 digits and a small power of ten is one multiplication or division of two
 * exact doubles, hence rounded right; others go through strtod. A type narrower than double would be rounded twice;
 * that is wrong only where the double lies exactly between two values of the type while the decimal does not, and
 * there the double is first moved one step towards the decimal. */

#define EXACT_POWERS 22 /* 10^22 is the largest power of ten that a double holds exactly */

static const double powers[EXACT_POWERS + 1] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                                1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

/* False if the decimal is not of the easy kind. */
static bool easy_double(const char *text, size_t size, double *out_value, bool *out_exact) {
  size_t at = 0;
  bool negative = *text == '-';
  uint64_t digits = 0;
  int count = 0, exponent = 0;
  for (at = negative; at < size && (unsigned)(text[at] - '0') < 10; at++, count++)
    digits = digits * 10 + (uint64_t)(text[at] - '0');
  if (at < size && text[at] == '.')
    for (at++; at < size && (unsigned)(text[at] - '0') < 10; at++, count++, exponent--)
      digits = digits * 10 + (uint64_t)(text[at] - '0');
  if (count > 19) return false;
  if (at < size) { /* 'e' */
    bool minus = text[++at] == '-';
    int written = 0;
    for (at += minus || text[at] == '+'; at < size; at++)
      if ((written = written * 10 + text[at] - '0') > 9999) return false;
    exponent += minus ? -written : written;
  }
  if (digits > UINT64_C(1) << 53 || exponent < -EXACT_POWERS || exponent > EXACT_POWERS) return false;
  double value = exponent < 0 ? (double)digits / powers[-exponent] : (double)digits * powers[exponent];
  *out_exact = exponent == 0;
  *out_value = negative ? -value : value;
  return true;
}

/* A decimal as 0.d1d2d3... * 10^exponent, without leading zeros; its digits may have a point among them. */
typedef struct decimal {
  const char *at, *end;
  int64_t exponent;
} decimal_t;

static decimal_t parse_decimal(const char *text, size_t size) {
  decimal_t d = {text + (*text == '-'), text + size, 0};
  bool point = false, leading = true;
  const char *at = d.at;
  for (; at < d.end && *at != 'e' && *at != 'E'; at++) {
    if (*at == '.') {
      point = true;
      continue;
    }
    if (leading && *at != '0') d.at = at, leading = false;
    d.exponent += leading ? -point : !point;
  }
  if (leading) d.at = at;
  if (at < d.end) {
    bool minus = at[1] == '-';
    int64_t written = 0;
    for (const char *digit = at + 1 + (minus || at[1] == '+'); digit < d.end && written < 1000000; digit++)
      written = written * 10 + *digit - '0';
    d.exponent += minus ? -written : written;
  }
  d.end = at;
  return d;
}

static int next_digit(decimal_t *d) {
  while (d->at < d->end && *d->at == '.') d->at++;
  return d->at < d->end ? *d->at++ - '0' : -1;
}

/* The sign of decimal - value, digit by digit: a double has at most 767 of them. Rarely needed. */
static int side_of(const char *text, size_t size, double value) {
  char digits[800];
  int written = snprintf(digits, sizeof digits, "%.770e", fabs(value));
  decimal_t a = parse_decimal(text, size), b = parse_decimal(digits, (size_t)written);
  int sign = value < 0 ? -1 : 1;
  if (a.exponent != b.exponent) return a.exponent < b.exponent ? -sign : sign;
  for (;;) {
    int x = next_digit(&a), y = next_digit(&b);
    if (x < 0 && y < 0) return 0;
    if ((x < 0 ? 0 : x) != (y < 0 ? 0 : y)) return x < y ? -sign : sign;
  }
}

/* NAN when memory runs out. */
static double slow_double(const char *text, size_t size) {
  char small[128];
  void *memory = small;
  if (size >= sizeof small) {
    hr_status_t st = hr_alloc(size + 1, &memory);
    hr_status_release(st);
    if (st) return NAN;
  }
  char *cstr = memory;
  memcpy(cstr, text, size);
  cstr[size] = 0;
  double value = strtod(cstr, NULL);
  if (cstr != small) hr_free(cstr);
  return value;
}

/* Does the double lie exactly between two values of the type? */
static bool is_between(const hr_float_format_t *f, double value) {
  if (fabs(value) < ldexp(1.0, 1 - f->bias)) { /* subnormal in the type: count in its smallest steps */
    double steps = ldexp(fabs(value), f->bias - 1 + f->mantissa_bits);
    return steps - floor(steps) == 0.5;
  }
  uint64_t bits, below = (UINT64_C(1) << (52 - f->mantissa_bits)) - 1;
  memcpy(&bits, &value, sizeof bits);
  return (bits & below) == (below >> 1) + 1;
}

bool read_decimal(const char *text, size_t size, hr_dtype_t type, uint64_t *out_bits) {
  double value;
  bool exact = false;
  const hr_float_format_t *f = hr_float_format(type);
  if (!easy_double(text, size, &value, &exact)) value = slow_double(text, size);
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
