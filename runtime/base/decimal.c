/* Correctly rounded decimals. A decimal of at most 19 digits and a power of ten up to 10^22 takes a
 * single multiplication or division of two exact doubles; all others go to strtod_l. A thread that
 * formats a text has the C locale meanwhile (uselocale, which swaps one pointer). Where the C
 * locale cannot be made, for want of memory, the thread's own locale is used. */
#include "base/decimal.h"

#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define EXACT_POWERS 22 /* 10^22 is the largest power of ten that a double holds exactly */

static const double powers[EXACT_POWERS + 1] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                                1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                                1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

/* --- the C locale --- */

static locale_t c_locale; /* 0: there is none */

static void make_c_locale(void) { c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0); }

static locale_t get_c_locale(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, make_c_locale);
  return c_locale;
}

double hr_strtod(const char *text, char **out_end) {
  locale_t locale = get_c_locale();
  return locale ? strtod_l(text, out_end, locale) : strtod(text, out_end);
}

float hr_strtof(const char *text, char **out_end) {
  locale_t locale = get_c_locale();
  return locale ? strtof_l(text, out_end, locale) : strtof(text, out_end);
}

int hr_vsnprintf(char *into, size_t size, const char *format, va_list args) {
  locale_t before = uselocale(get_c_locale());
  int written = vsnprintf(into, size, format, args);
  uselocale(before);
  return written;
}

int hr_snprintf(char *into, size_t size, const char *format, ...) {
  va_list args;
  va_start(args, format);
  int written = hr_vsnprintf(into, size, format, args);
  va_end(args);
  return written;
}

int hr_vasprintf(char **out_text, const char *format, va_list args) {
  locale_t before = uselocale(get_c_locale());
  int written = vasprintf(out_text, format, args);
  uselocale(before);
  return written;
}

/* --- decimals --- */

/* False if the decimal needs more than one rounding. */
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
  if (digits > UINT64_C(1) << 53 || exponent < -EXACT_POWERS || exponent > EXACT_POWERS)
    return false;
  double value =
      exponent < 0 ? (double)digits / powers[-exponent] : (double)digits * powers[exponent];
  *out_exact = exponent == 0;
  *out_value = negative ? -value : value;
  return true;
}

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
  double value = hr_strtod(cstr, NULL);
  if (cstr != small) hr_free(cstr);
  return value;
}

double hr_decimal_read(const char *text, size_t size, bool *out_exact) {
  double value;
  bool exact = false;
  if (!easy_double(text, size, &value, &exact)) value = slow_double(text, size);
  if (out_exact) *out_exact = exact;
  return value;
}
