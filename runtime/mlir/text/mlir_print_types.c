/* Names, strings, numbers and types as MLIR text, in the notation of MLIR's own printer. A float
 * is printed as the first of these that is read back with the same bits: six digits with an
 * exponent; all digits that its type may need (9; f64: 17); its bit pattern in hexadecimal. */
#include "mlir/text/mlir_print.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/decimal.h"
#include "mlir/text/mlir_parser.h"

#define MAX_PADDING 3 /* most zeros that pad digits before an exponent is used */

/* --- names and strings --- */

/* Letters, digits, _ $ and . after a letter or _. */
bool mlir_is_bare(hr_str_t name) {
  if (!name.size || !(isalpha((unsigned char)name.data[0]) || name.data[0] == '_')) return false;
  for (size_t i = 1; i < name.size; i++) {
    unsigned char c = (unsigned char)name.data[i];
    if (!isalnum(c) && c != '_' && c != '$' && c != '.') return false;
  }
  return true;
}

/* Backslashes are doubled; quotation marks and unprintable bytes become two hexadecimal digits. */
void mlir_print_string(hr_strbuf_t *text, hr_str_t string) {
  hr_strbuf_add_char(text, '"');
  for (size_t i = 0; i < string.size; i++) {
    unsigned char c = (unsigned char)string.data[i];
    if (c == '\\')
      hr_strbuf_add_str(text, "\\\\");
    else if (isprint(c) && c != '"')
      hr_strbuf_add_char(text, (char)c);
    else
      hr_strbuf_printf(text, "\\%02X", c);
  }
  hr_strbuf_add_char(text, '"');
}

void mlir_print_name(hr_strbuf_t *text, hr_str_t name) {
  if (mlir_is_bare(name))
    hr_strbuf_add(text, name.data, name.size);
  else
    mlir_print_string(text, name);
}

/* @root::@nested */
void mlir_print_symbol(hr_strbuf_t *text, const mlir_attr_t *attr) {
  hr_strbuf_add_char(text, '@');
  mlir_print_name(text, attr->text);
  for (int i = 0; i < attr->count; i++) {
    hr_strbuf_add_str(text, "::@");
    mlir_print_name(text, attr->nested[i]);
  }
}

/* --- numbers --- */

/* Six digits with an exponent: "1.500000e+00". */
static void scientific_digits(double value, char into[64]) {
  char digits[MLIR_DECIMAL_DIGITS];
  int power;
  int count = mlir_decimal_digits(value, 6, digits, &power);
  snprintf(into, 64, "%s%c.%.*s%.*se%c%02d", signbit(value) ? "-" : "", digits[0], count - 1,
           digits + 1, 7 - count, "000000", power < 0 ? '-' : '+', abs(power));
}

/* Up to `wanted` digits, with an exponent only if more than MAX_PADDING zeros would be needed.
 * False, with nothing printed, for a whole number without a point, which would be read as an
 * integer. */
static bool print_all_digits(hr_strbuf_t *text, double value, int wanted) {
  char digits[MLIR_DECIMAL_DIGITS];
  int power;
  int count = mlir_decimal_digits(value, wanted, digits, &power);
  int whole = power + 1;
  bool integral = count <= whole;
  bool scientific = integral ? whole - count > MAX_PADDING || whole > wanted : power < -MAX_PADDING;
  if (integral && !scientific) return false;
  if (signbit(value)) hr_strbuf_add_char(text, '-');
  if (scientific) {
    hr_strbuf_printf(text, "%c.%.*sE%+d", digits[0], count > 1 ? count - 1 : 1,
                     count > 1 ? digits + 1 : "0", power);
    return true;
  }
  if (whole > 0)
    hr_strbuf_printf(text, "%.*s.%.*s", whole, digits, count - whole, digits + whole);
  else
    hr_strbuf_printf(text, "0.%.*s%.*s", -whole, "000", count, digits);
  return true;
}

/* Tries the three notations of the file's head in turn; NaNs and infinities have only the bit
 * pattern. */
void mlir_print_float(hr_strbuf_t *text, const mlir_type_t *type, double value, uint64_t bits) {
  hr_dtype_t dtype = HR_F64;
  char digits[64];
  mlir_float_dtype(type, &dtype);
  if (isfinite(value)) {
    scientific_digits(value, digits);
    if (hr_float_encode(dtype, hr_strtod(digits, NULL)) == bits) {
      hr_strbuf_add_str(text, digits);
      return;
    }
    if (print_all_digits(text, value, dtype == HR_F64 ? 17 : 9)) return;
  }
  hr_strbuf_printf(text, "0x%0*lX", (mlir_float_bits(type->name) + 3) / 4, (unsigned long)bits);
}

/* i1 prints as true and false. */
void mlir_print_integer(hr_strbuf_t *text, const mlir_type_t *type, int64_t value) {
  if (type && type->kind == MLIR_TYPE_INTEGER && type->width == 1)
    hr_strbuf_add_str(text, value ? "true" : "false");
  else if (type && type->signedness == MLIR_UNSIGNED)
    hr_strbuf_printf(text, "%lu", (unsigned long)value);
  else
    hr_strbuf_add_int(text, value);
}

/* --- types --- */

/* 4x?x[8]x: sizes, unknown sizes, scalable sizes. */
static void print_dims(hr_strbuf_t *text, const mlir_type_t *type) {
  for (int d = 0; d < type->rank; d++) {
    bool scalable = type->scalable && type->scalable[d];
    if (scalable) hr_strbuf_add_char(text, '[');
    if (type->dims[d] == HR_UNBOUNDED)
      hr_strbuf_add_char(text, '?');
    else
      hr_strbuf_add_int(text, type->dims[d]);
    hr_strbuf_add_str(text, scalable ? "]x" : "x");
  }
}

/* word<dims x element, encoding, space> */
static void print_shaped(hr_strbuf_t *text, const char *word, const mlir_type_t *type) {
  hr_strbuf_printf(text, "%s<", word);
  if (type->kind == MLIR_TYPE_UNRANKED_TENSOR) hr_strbuf_add_str(text, "*x");
  print_dims(text, type);
  mlir_print_type(text, type->element);
  if (type->encoding) {
    hr_strbuf_add_str(text, ", ");
    mlir_print_attr(text, type->encoding);
  }
  if (type->space) {
    hr_strbuf_add_str(text, ", ");
    mlir_print_attr(text, type->space);
  }
  hr_strbuf_add_char(text, '>');
}

static void print_types(hr_strbuf_t *text, int count, const mlir_type_t *const *types) {
  for (int i = 0; i < count; i++) {
    if (i) hr_strbuf_add_str(text, ", ");
    mlir_print_type(text, types[i]);
  }
}

/* A single result has no parentheses unless it is a function type. */
static void print_function(hr_strbuf_t *text, const mlir_type_t *type) {
  bool bare = type->result_count == 1 && type->results[0]->kind != MLIR_TYPE_FUNCTION;
  hr_strbuf_add_char(text, '(');
  print_types(text, type->input_count, type->inputs);
  hr_strbuf_add_str(text, bare ? ") -> " : ") -> (");
  print_types(text, type->result_count, type->results);
  if (!bare) hr_strbuf_add_char(text, ')');
}

/* Scales and ranges of quantised types are f64. */
static void print_double(hr_strbuf_t *text, double value) {
  static const mlir_type_t f64 = {.kind = MLIR_TYPE_FLOAT, .name = {"f64", 3}};
  mlir_print_float(text, &f64, value, hr_float_encode(HR_F64, value));
}

/* i8 or u8, with the range if it is not that of the whole type. */
static void print_storage(hr_strbuf_t *text, const mlir_quant_t *quant) {
  int width = quant->storage->width;
  int64_t low = quant->storage_signed ? -(INT64_C(1) << (width - 1)) : 0;
  int64_t high =
      quant->storage_signed ? (INT64_C(1) << (width - 1)) - 1 : (INT64_C(1) << width) - 1;
  hr_strbuf_printf(text, "%c%d", quant->storage_signed ? 'i' : 'u', width);
  if (quant->min != low || quant->max != high)
    hr_strbuf_printf(text, "<%ld:%ld>", (long)quant->min, (long)quant->max);
}

/* scale, or scale:zero_point. */
static void print_scale(hr_strbuf_t *text, const mlir_quant_t *quant, int i) {
  print_double(text, quant->scales[i]);
  if (quant->zero_points[i]) hr_strbuf_printf(text, ":%ld", (long)quant->zero_points[i]);
}

/* Nested lists of scales, one level per block dimension. */
static void print_scales(hr_strbuf_t *text, const mlir_quant_t *quant, int level, int *next) {
  if (level == quant->scale_rank) {
    print_scale(text, quant, (*next)++);
    return;
  }
  hr_strbuf_add_char(text, '{');
  for (int64_t i = 0; i < quant->scale_dims[level]; i++) {
    if (i) hr_strbuf_add_char(text, ',');
    print_scales(text, quant, level + 1, next);
  }
  hr_strbuf_add_char(text, '}');
}

/* !quant.uniform<storage:expressed:axis, scales> */
static void print_uniform(hr_strbuf_t *text, const mlir_quant_t *quant) {
  int next = 0;
  hr_strbuf_add_str(text, "!quant.uniform<");
  print_storage(text, quant);
  hr_strbuf_add_char(text, ':');
  mlir_print_type(text, quant->expressed);
  if (quant->axis >= 0) hr_strbuf_printf(text, ":%ld", (long)quant->axis);
  for (int i = 0; i < quant->block_count; i++)
    hr_strbuf_printf(text, "%s%ld:%ld%s", i ? ", " : ":{", (long)quant->block_axes[i],
                     (long)quant->block_sizes[i], i + 1 == quant->block_count ? "}" : "");
  hr_strbuf_add_str(text, ", ");
  print_scales(text, quant, 0, &next);
  hr_strbuf_add_char(text, '>');
}

/* The three forms: uniform, any (storage known, scales not), calibrated (range of values only). */
static void print_quant(hr_strbuf_t *text, const mlir_quant_t *quant) {
  switch (quant->form) {
    case MLIR_QUANT_UNIFORM:
      print_uniform(text, quant);
      return;
    case MLIR_QUANT_ANY:
      hr_strbuf_add_str(text, "!quant.any<");
      print_storage(text, quant);
      if (quant->expressed) {
        hr_strbuf_add_char(text, ':');
        mlir_print_type(text, quant->expressed);
      }
      break;
    case MLIR_QUANT_CALIBRATED:
      hr_strbuf_add_str(text, "!quant.calibrated<");
      mlir_print_type(text, quant->expressed);
      hr_strbuf_add_char(text, '<');
      print_double(text, quant->calibrated_min);
      hr_strbuf_add_char(text, ':');
      print_double(text, quant->calibrated_max);
      hr_strbuf_add_char(text, '>');
      break;
  }
  hr_strbuf_add_char(text, '>');
}

/* Opaque types are printed as read. */
void mlir_print_type(hr_strbuf_t *text, const mlir_type_t *type) {
  static const char *const signs[] = {"i", "si", "ui"};
  switch (type->kind) {
    case MLIR_TYPE_INTEGER:
      hr_strbuf_printf(text, "%s%d", signs[type->signedness], type->width);
      break;
    case MLIR_TYPE_FLOAT:
      hr_strbuf_add(text, type->name.data, type->name.size);
      break;
    case MLIR_TYPE_INDEX:
      hr_strbuf_add_str(text, "index");
      break;
    case MLIR_TYPE_NONE:
      hr_strbuf_add_str(text, "none");
      break;
    case MLIR_TYPE_COMPLEX:
      hr_strbuf_add_str(text, "complex<");
      mlir_print_type(text, type->element);
      hr_strbuf_add_char(text, '>');
      break;
    case MLIR_TYPE_TENSOR:
    case MLIR_TYPE_UNRANKED_TENSOR:
      print_shaped(text, "tensor", type);
      break;
    case MLIR_TYPE_MEMREF:
      print_shaped(text, "memref", type);
      break;
    case MLIR_TYPE_VECTOR:
      print_shaped(text, "vector", type);
      break;
    case MLIR_TYPE_TUPLE:
    case MLIR_TYPE_FUTURE:
      hr_strbuf_add_str(text, type->kind == MLIR_TYPE_TUPLE ? "tuple<" : "!stablehlo.future<");
      print_types(text, type->result_count, type->results);
      hr_strbuf_add_char(text, '>');
      break;
    case MLIR_TYPE_FUNCTION:
      print_function(text, type);
      break;
    case MLIR_TYPE_TOKEN:
      hr_strbuf_add_str(text, "!stablehlo.token");
      break;
    case MLIR_TYPE_QUANT:
      print_quant(text, type->quant);
      break;
    case MLIR_TYPE_OPAQUE:
      hr_strbuf_printf(text, "!%.*s", HR_STR_ARGS(type->name));
      break;
  }
}
