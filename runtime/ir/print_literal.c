/* Printer of literals. Numbers read back bit by bit: f32 and f64 try the number of digits that
 * every decimal preserves (6, 15) and fall back to the number that distinguishes all values (9,
 * 17); narrow types use the latter. NaN payloads that are not the default print in hexadecimal.
 * Arrays print as XLA does: { { 1, 2 }, { 3, 4 } }, with the index of a part as a comment from
 * rank 4 on.
 * Cost: linear in the elements; whole numbers of up to five digits and f32 from 1e-14 to 1e6, the
 * most frequent cases, avoid printf. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ir/print_parts.h"
#include "base/decimal.h"

/* Numbers -------------------------------------------------------------------------------------- */

/* Decimal digits that distinguish any two values of a type: ceil(1 + p log10(2)), p bits of
 * precision. */
static int digits_needed(const hr_float_format_t *f) {
  return (int)ceil(1 + (f->mantissa_bits + 1) * 0.30102999566398120);
}

/* nan, -nan, and the payload if it is not the quiet default. Types without payloads print nan. */
static void print_nan(hr_strbuf_t *text, const hr_float_format_t *f, uint64_t bits) {
  uint64_t payload = bits & ((UINT64_C(1) << f->mantissa_bits) - 1);
  bool quiet = f->specials != HR_SPECIALS_IEEE || payload == UINT64_C(1) << (f->mantissa_bits - 1);
  bool sign = f->specials != HR_SPECIALS_E8M0 && bits >> (f->bits - 1) & 1;
  hr_strbuf_add_str(text, sign ? "-nan" : "nan");
  if (!quiet) hr_strbuf_printf(text, "(0x%lx)", (unsigned long)payload);
}

/* Prints an integer of at most five digits; false for other numbers. Avoids printf. */
static bool print_small_integer(hr_strbuf_t *text, double value) {
  if (!(fabs(value) < 100000) || value != (double)(int)value || (value == 0 && signbit(value)))
    return false;
  hr_strbuf_add_int(text, (int)value);
  return true;
}

#define SCALE_MAX 22 /* largest exponent of ten that a double represents exactly */

/* A positive number of `count` decimal digits: digits 10^(exponent - count + 1). */
typedef struct decimal {
  uint32_t digits;
  int count, exponent;
} decimal_t;

static uint32_t power_of_ten(int exponent) {
  uint32_t power = 1;
  while (exponent-- > 0) power *= 10;
  return power;
}

/* mantissa 2^-shift 10^scale, rounded to nearest, ties to even, like printf. The product has less
 * than 24 + 74 bits. */
static uint64_t round_scaled(uint32_t mantissa, int shift, int scale) {
  unsigned __int128 product = mantissa;
  for (int i = 0; i < scale; i++) product *= 10;
  if (shift <= 0) return (uint64_t)(product << -shift);
  unsigned __int128 unit = (unsigned __int128)1 << shift, rest = product & (unit - 1);
  uint64_t whole = (uint64_t)(product >> shift);
  return whole + (rest * 2 > unit || (rest * 2 == unit && whole & 1));
}

/* False: the number is out of range and left to printf. */
static bool round_f32(float value, int count, decimal_t *out) {
  int binary;
  float fraction = frexpf(value, &binary); /* from 0.5 to 1 */
  uint32_t mantissa = (uint32_t)ldexpf(fraction, 24), power = power_of_ten(count);
  int exponent = (int)floor((binary - 1) * 0.30102999566398120); /* or one more */
  for (; count - 1 - exponent >= 0; exponent++) {
    int scale = count - 1 - exponent;
    if (scale > SCALE_MAX || 24 - binary > 126) return false;
    uint64_t digits = round_scaled(mantissa, 24 - binary, scale);
    if (digits >= power) continue;
    *out = (decimal_t){(uint32_t)digits, count, exponent};
    return true;
  }
  return false;
}

/* True if the digits read back as the value. *out_sure is false if the digits, as a double, are
 * halfway between two floats, so that the rounding to double would decide. */
static bool reads_back(const decimal_t *d, float value, bool *out_sure) {
  static const double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                  1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                  1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
  int scale = d->exponent - d->count + 1;
  double number = scale < 0 ? d->digits / powers[-scale] : d->digits * powers[scale];
  uint64_t bits;
  memcpy(&bits, &number, sizeof bits);
  *out_sure = (bits & ((UINT64_C(1) << 29) - 1)) != UINT64_C(1) << 28;
  return (float)number == value;
}

/* Prints like %g: without trailing zeros; with an exponent below 1e-4 and for numbers of more
 * integer digits than `count`. */
static void print_decimal(hr_strbuf_t *text, decimal_t d) {
  char digits[12], all[24];
  int size = 0, exponent = d.exponent;
  bool is_fixed = exponent >= -4 && exponent < d.count;
  for (; d.digits % 10 == 0; d.count--) d.digits /= 10;
  for (int i = d.count; i-- > 0; d.digits /= 10) digits[i] = (char)('0' + d.digits % 10);
  if (is_fixed && exponent < 0) {
    memcpy(all, "0.000", 5);
    size = 1 - exponent;
  }
  int before = is_fixed && exponent >= 0 ? exponent + 1 : 1;
  for (int i = 0; i < d.count || i < before; i++) {
    if (i == before && (!is_fixed || exponent >= 0)) all[size++] = '.';
    all[size++] = i < d.count ? digits[i] : '0';
  }
  hr_strbuf_add(text, all, (size_t)size);
  if (is_fixed) return;
  hr_strbuf_add_str(text, exponent < 0 ? "e-" : "e+");
  if (abs(exponent) < 10) hr_strbuf_add_char(text, '0');
  hr_strbuf_add_int(text, abs(exponent));
}

/* False: the number is left to printf. */
static bool print_short_f32(hr_strbuf_t *text, float value) {
  decimal_t few, all;
  bool is_sure, is_same;
  if (!round_f32(fabsf(value), 6, &few) || !round_f32(fabsf(value), 9, &all)) return false;
  is_same = reads_back(&few, fabsf(value), &is_sure);
  if (!is_sure) return false;
  if (value < 0) hr_strbuf_add_char(text, '-');
  print_decimal(text, is_same ? few : all);
  return true;
}

static void print_f32(hr_strbuf_t *text, float value) {
  char digits[32];
  if (value != 0 && print_short_f32(text, value)) return;
  int size = hr_snprintf(digits, sizeof digits, "%.6g", (double)value);
  if (hr_strtof(digits, NULL) != value)
    size = hr_snprintf(digits, sizeof digits, "%.9g", (double)value);
  hr_strbuf_add(text, digits, (size_t)size);
}

static void print_f64(hr_strbuf_t *text, double value) {
  char digits[40];
  int size = hr_snprintf(digits, sizeof digits, "%.15g", value);
  if (hr_strtod(digits, NULL) != value) size = hr_snprintf(digits, sizeof digits, "%.17g", value);
  hr_strbuf_add(text, digits, (size_t)size);
}

static void print_float(hr_strbuf_t *text, hr_dtype_t dtype, uint64_t bits) {
  const hr_float_format_t *f = hr_float_format(dtype);
  double value = hr_float_decode(dtype, bits);
  if (isnan(value))
    print_nan(text, f, bits);
  else if (isinf(value))
    hr_strbuf_add_str(text, value < 0 ? "-inf" : "inf");
  else if (f->mantissa_bits >= 10 && print_small_integer(text, value))
    return; /* types with fewer bits may need fewer digits: 448 is 4.5e+02 */
  else if (dtype == HR_F32)
    print_f32(text, (float)value);
  else if (dtype == HR_F64)
    print_f64(text, value);
  else
    hr_strbuf_printf(text, "%.*g", digits_needed(f), value);
}

/* An element sign-extended; *out_bits is zero-extended. `shift` shifts the sign up. */
static int64_t load_integer(hr_dtype_t dtype, const void *element, uint64_t *out_bits) {
  size_t size = hr_dtype_bytes(dtype);
  *out_bits = 0;
  memcpy(out_bits, element, size < 8 ? size : 8);
  unsigned shift = 64 - 8 * (unsigned)size;
  return (int64_t)(*out_bits << shift) >> shift;
}

void hlo_print_double(hr_strbuf_t *text, double value) { hlo_print_number(text, HR_F64, &value); }

void hlo_print_number(hr_strbuf_t *text, hr_dtype_t dtype, const void *element) {
  uint64_t bits;
  switch (hr_dtype_class(dtype)) {
    case HR_CLASS_PRED:
      hr_strbuf_add_str(text, *(const uint8_t *)element ? "true" : "false");
      break;
    case HR_CLASS_SIGNED:
      hr_strbuf_add_int(text, load_integer(dtype, element, &bits));
      break;
    case HR_CLASS_UNSIGNED:
      if (load_integer(dtype, element, &bits) < 0 && dtype == HR_U64)
        hr_strbuf_printf(text, "%lu", (unsigned long)bits);
      else
        hr_strbuf_add_int(text, (int64_t)bits);
      break;
    case HR_CLASS_FLOAT:
      load_integer(dtype, element, &bits);
      print_float(text, dtype, bits);
      break;
    case HR_CLASS_COMPLEX: {
      hr_dtype_t part = hr_dtype_real(dtype);
      hr_strbuf_add_char(text, '(');
      hlo_print_number(text, part, element);
      hr_strbuf_add_str(text, ", ");
      hlo_print_number(text, part, (const char *)element + hr_dtype_bytes(part));
      hr_strbuf_add_char(text, ')');
      break;
    }
    case HR_CLASS_OTHER:
      break;
  }
}

/* Arrays --------------------------------------------------------------------------------------- */

#define EMPTY_ROWS_MAX 4096 /* most rows of an array without elements whose braces are written */

typedef struct printer {
  hr_strbuf_t *text;
  const hlo_value_t *value;
  const char *next; /* next element to print */
  size_t element_bytes;
  hr_text_sink_t *sink; /* NULL: none */
} printer_t;

static void print_element(printer_t *p) {
  if (p->value->dtype == HR_PRED && p->value->rank)
    hr_strbuf_add_char(p->text, *p->next ? '1' : '0');
  else
    hlo_print_number(p->text, p->value->dtype, p->next);
  p->next += p->element_bytes;
}

/* A row of the innermost dimension: {1, 2, 3} alone, { 1, 2 } within others; {1} and {} never have
 * blanks. */
static void print_row(printer_t *p, int64_t size) {
  bool wide = p->value->rank > 1 && size > 1;
  hr_strbuf_add_str(p->text, wide ? "{ " : "{");
  for (int64_t i = 0; i < size; i++) {
    if (i) hr_strbuf_add_str(p->text, ", ");
    print_element(p);
  }
  hr_strbuf_add_str(p->text, wide ? " }" : "}");
  hr_text_drain(p->text, p->sink);
}

/* Part `index` of dimension depth - 1. From rank 4 on, parts that are neither outermost nor
 * innermost print their index as a comment. */
static void print_part(printer_t *p, int depth, int64_t index) {
  int64_t size = p->value->dims[depth];
  if (depth == p->value->rank - 1) {
    print_row(p, size);
    return;
  }
  bool comment = p->value->rank > 3 && depth;
  hr_strbuf_add_str(p->text, "{ ");
  if (comment) hr_strbuf_printf(p->text, "/*i%d=%ld*/%s", depth - 1, (long)index, size ? " " : "");
  for (int64_t i = 0; i < size; i++) {
    if (i) hr_strbuf_add_str(p->text, ", ");
    print_part(p, depth + 1, i);
  }
  hr_strbuf_add_str(p->text, " }");
}

/* True if braces alone would make a long text: f32[1000000000000,0] has a pair for each row. */
static bool has_many_empty_rows(const hlo_value_t *value) {
  int64_t rows = 1;
  for (int d = 0; d < value->rank && value->dims[d]; d++)
    if (__builtin_mul_overflow(rows, value->dims[d], &rows)) return true;
  return !value->count && rows > EMPTY_ROWS_MAX;
}

/* Many rows without elements are written as the number 0, which readers take for any array. */
static void print_array(hr_strbuf_t *text, const hlo_value_t *value, hr_text_sink_t *sink) {
  static const double zero[2] = {0}; /* the bytes of 0 in every type */
  printer_t p = {text, value, value->data, hr_dtype_bytes(value->dtype), sink};
  if (has_many_empty_rows(value)) {
    p.next = (const char *)zero;
    print_element(&p);
  } else if (value->rank) {
    print_part(&p, 0, 0);
  } else {
    print_element(&p);
  }
}

static void print_elements(hr_strbuf_t *text, const hlo_value_t *tuple,
                           void (*print)(hr_strbuf_t *, const hlo_value_t *)) {
  hr_strbuf_add_str(text, "( ");
  for (int i = 0; i < tuple->element_count; i++) {
    if (i) hr_strbuf_add_str(text, ", ");
    print(text, tuple->elements[i]);
  }
  hr_strbuf_add_str(text, " )");
}

void hlo_print_literal_to(hr_strbuf_t *text, const hlo_value_t *value, hr_text_sink_t *sink) {
  if (value->dtype == HR_TUPLE)
    print_elements(text, value, hlo_print_literal);
  else if (value->data)
    print_array(text, value, sink);
}

void hlo_print_literal(hr_strbuf_t *text, const hlo_value_t *value) {
  hlo_print_literal_to(text, value, NULL);
}

void hlo_print_typed_literal(hr_strbuf_t *text, const hlo_value_t *value) {
  if (value->dtype == HR_TUPLE) {
    print_elements(text, value, hlo_print_typed_literal);
    return;
  }
  hlo_shape_t shape = {.dtype = value->dtype, .rank = value->rank, .dims = value->dims};
  hlo_shape_print(text, &shape, true);
  hr_strbuf_add_char(text, ' ');
  hlo_print_literal(text, value);
}
