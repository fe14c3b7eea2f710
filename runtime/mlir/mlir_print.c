/* Types and attributes as text. */
#include "mlir/mlir_print.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mlir/mlir_parser.h"

#define MAX_PADDING 3  /* zeros that digits may be padded with before an exponent is written */
#define LIST_LIMIT 100 /* elements; longer dense attributes print as a hexadecimal blob */

/* --- names and strings --- */

static bool is_bare(hr_str_t name) {
  if (!name.size || !(isalpha((unsigned char)name.data[0]) || name.data[0] == '_')) return false;
  for (size_t i = 1; i < name.size; i++) {
    unsigned char c = (unsigned char)name.data[i];
    if (!isalnum(c) && c != '_' && c != '$' && c != '.') return false;
  }
  return true;
}

static void print_string(hr_text_t *text, hr_str_t string) {
  hr_text_add_char(text, '"');
  for (size_t i = 0; i < string.size; i++) {
    unsigned char c = (unsigned char)string.data[i];
    if (c == '\\')
      hr_text_add_str(text, "\\\\");
    else if (isprint(c) && c != '"')
      hr_text_add_char(text, (char)c);
    else
      hr_text_printf(text, "\\%02X", c);
  }
  hr_text_add_char(text, '"');
}

static void print_name(hr_text_t *text, hr_str_t name) {
  if (is_bare(name))
    hr_text_add(text, name.data, name.size);
  else
    print_string(text, name);
}

static void print_symbol(hr_text_t *text, const mlir_attr_t *attr) {
  hr_text_add_char(text, '@');
  print_name(text, attr->text);
  for (int i = 0; i < attr->count; i++) {
    hr_text_add_str(text, "::@");
    print_name(text, attr->nested[i]);
  }
}

/* --- numbers --- */

/* Six digits, with an exponent: "1.500000e+00". */
static void scientific_digits(double value, char into[64]) {
  char digits[MLIR_DECIMAL_DIGITS];
  int power, count = mlir_decimal_digits(value, 6, digits, &power);
  snprintf(into, 64, "%s%c.%.*s%.*se%c%02d", signbit(value) ? "-" : "", digits[0], count - 1, digits + 1, 7 - count,
           "000000", power < 0 ? '-' : '+', abs(power));
}

/* As many digits as the type may need, without an exponent for numbers that are not too small; false if that shows no
 * point, and would read as an integer. */
static bool print_all_digits(hr_text_t *text, double value, int wanted) {
  char digits[MLIR_DECIMAL_DIGITS];
  int power, count = mlir_decimal_digits(value, wanted, digits, &power), whole = power + 1;
  bool integral = count <= whole;
  bool scientific = integral ? whole - count > MAX_PADDING || whole > wanted : power < -MAX_PADDING;
  if (integral && !scientific) return false;
  if (signbit(value)) hr_text_add_char(text, '-');
  if (scientific) {
    hr_text_printf(text, "%c.%.*sE%+d", digits[0], count > 1 ? count - 1 : 1, count > 1 ? digits + 1 : "0", power);
    return true;
  }
  if (whole > 0)
    hr_text_printf(text, "%.*s.%.*s", whole, digits, count - whole, digits + whole);
  else
    hr_text_printf(text, "0.%.*s%.*s", -whole, "000", count, digits);
  return true;
}

/* A float with six digits if that reads back, else with all its digits if they have a point, else its pattern. */
static void print_float(hr_text_t *text, const mlir_type_t *type, double value, uint64_t bits) {
  hr_dtype_t dtype = HR_F64;
  char digits[64];
  mlir_float_dtype(type, &dtype);
  if (isfinite(value)) {
    scientific_digits(value, digits);
    if (hr_float_encode(dtype, strtod(digits, NULL)) == bits) {
      hr_text_add_str(text, digits);
      return;
    }
    if (print_all_digits(text, value, dtype == HR_F64 ? 17 : 9)) return;
  }
  hr_text_printf(text, "0x%0*lX", (mlir_float_bits(type->name) + 3) / 4, (unsigned long)bits);
}

static void print_integer(hr_text_t *text, const mlir_type_t *type, int64_t value) {
  if (type && type->kind == MLIR_TYPE_INTEGER && type->width == 1)
    hr_text_add_str(text, value ? "true" : "false");
  else if (type && type->signedness == MLIR_UNSIGNED)
    hr_text_printf(text, "%lu", (unsigned long)value);
  else
    hr_text_add_int(text, value);
}

/* --- types --- */

static void print_dims(hr_text_t *text, const mlir_type_t *type) {
  for (int d = 0; d < type->rank; d++) {
    bool scalable = type->scalable && type->scalable[d];
    if (scalable) hr_text_add_char(text, '[');
    if (type->dims[d] == HLO_UNBOUNDED)
      hr_text_add_char(text, '?');
    else
      hr_text_add_int(text, type->dims[d]);
    hr_text_add_str(text, scalable ? "]x" : "x");
  }
}

static void print_shaped(hr_text_t *text, const char *word, const mlir_type_t *type) {
  hr_text_printf(text, "%s<", word);
  if (type->kind == MLIR_TYPE_UNRANKED_TENSOR) hr_text_add_str(text, "*x");
  print_dims(text, type);
  mlir_print_type(text, type->element);
  if (type->encoding) {
    hr_text_add_str(text, ", ");
    mlir_print_attr(text, type->encoding);
  }
  if (type->space) {
    hr_text_add_str(text, ", ");
    mlir_print_attr(text, type->space);
  }
  hr_text_add_char(text, '>');
}

static void print_types(hr_text_t *text, int count, const mlir_type_t *const *types) {
  for (int i = 0; i < count; i++) {
    if (i) hr_text_add_str(text, ", ");
    mlir_print_type(text, types[i]);
  }
}

static void print_function(hr_text_t *text, const mlir_type_t *type) {
  bool bare = type->result_count == 1 && type->results[0]->kind != MLIR_TYPE_FUNCTION;
  hr_text_add_char(text, '(');
  print_types(text, type->input_count, type->inputs);
  hr_text_add_str(text, bare ? ") -> " : ") -> (");
  print_types(text, type->result_count, type->results);
  if (!bare) hr_text_add_char(text, ')');
}

static void print_double(hr_text_t *text, double value) {
  static const mlir_type_t f64 = {.kind = MLIR_TYPE_FLOAT, .name = {"f64", 3}};
  print_float(text, &f64, value, hr_float_encode(HR_F64, value));
}

static void print_storage(hr_text_t *text, const mlir_quant_t *quant) {
  int width = quant->storage->width;
  int64_t low = quant->storage_signed ? -(INT64_C(1) << (width - 1)) : 0;
  int64_t high = quant->storage_signed ? (INT64_C(1) << (width - 1)) - 1 : (INT64_C(1) << width) - 1;
  hr_text_printf(text, "%c%d", quant->storage_signed ? 'i' : 'u', width);
  if (quant->min != low || quant->max != high) hr_text_printf(text, "<%ld:%ld>", (long)quant->min, (long)quant->max);
}

static void print_scale(hr_text_t *text, const mlir_quant_t *quant, int i) {
  print_double(text, quant->scales[i]);
  if (quant->zero_points[i]) hr_text_printf(text, ":%ld", (long)quant->zero_points[i]);
}

static void print_scales(hr_text_t *text, const mlir_quant_t *quant, int level, int *next) {
  if (level == quant->scale_rank) {
    print_scale(text, quant, (*next)++);
    return;
  }
  hr_text_add_char(text, '{');
  for (int64_t i = 0; i < quant->scale_dims[level]; i++) {
    if (i) hr_text_add_char(text, ',');
    print_scales(text, quant, level + 1, next);
  }
  hr_text_add_char(text, '}');
}

static void print_uniform(hr_text_t *text, const mlir_quant_t *quant) {
  int next = 0;
  hr_text_add_str(text, "!quant.uniform<");
  print_storage(text, quant);
  hr_text_add_char(text, ':');
  mlir_print_type(text, quant->expressed);
  if (quant->axis >= 0) hr_text_printf(text, ":%ld", (long)quant->axis);
  for (int i = 0; i < quant->block_count; i++)
    hr_text_printf(text, "%s%ld:%ld%s", i ? ", " : ":{", (long)quant->block_axes[i], (long)quant->block_sizes[i],
                   i + 1 == quant->block_count ? "}" : "");
  hr_text_add_str(text, ", ");
  print_scales(text, quant, 0, &next);
  hr_text_add_char(text, '>');
}

static void print_quant(hr_text_t *text, const mlir_quant_t *quant) {
  switch (quant->form) {
    case MLIR_QUANT_UNIFORM: print_uniform(text, quant); return;
    case MLIR_QUANT_ANY:
      hr_text_add_str(text, "!quant.any<");
      print_storage(text, quant);
      if (quant->expressed) {
        hr_text_add_char(text, ':');
        mlir_print_type(text, quant->expressed);
      }
      break;
    case MLIR_QUANT_CALIBRATED:
      hr_text_add_str(text, "!quant.calibrated<");
      mlir_print_type(text, quant->expressed);
      hr_text_add_char(text, '<');
      print_double(text, quant->calibrated_min);
      hr_text_add_char(text, ':');
      print_double(text, quant->calibrated_max);
      hr_text_add_char(text, '>');
      break;
  }
  hr_text_add_char(text, '>');
}

void mlir_print_type(hr_text_t *text, const mlir_type_t *type) {
  static const char *const signs[] = {"i", "si", "ui"};
  switch (type->kind) {
    case MLIR_TYPE_INTEGER: hr_text_printf(text, "%s%d", signs[type->signedness], type->width); break;
    case MLIR_TYPE_FLOAT: hr_text_add(text, type->name.data, type->name.size); break;
    case MLIR_TYPE_INDEX: hr_text_add_str(text, "index"); break;
    case MLIR_TYPE_NONE: hr_text_add_str(text, "none"); break;
    case MLIR_TYPE_COMPLEX:
      hr_text_add_str(text, "complex<");
      mlir_print_type(text, type->element);
      hr_text_add_char(text, '>');
      break;
    case MLIR_TYPE_TENSOR:
    case MLIR_TYPE_UNRANKED_TENSOR: print_shaped(text, "tensor", type); break;
    case MLIR_TYPE_MEMREF: print_shaped(text, "memref", type); break;
    case MLIR_TYPE_VECTOR: print_shaped(text, "vector", type); break;
    case MLIR_TYPE_TUPLE:
    case MLIR_TYPE_FUTURE:
      hr_text_add_str(text, type->kind == MLIR_TYPE_TUPLE ? "tuple<" : "!stablehlo.future<");
      print_types(text, type->result_count, type->results);
      hr_text_add_char(text, '>');
      break;
    case MLIR_TYPE_FUNCTION: print_function(text, type); break;
    case MLIR_TYPE_TOKEN: hr_text_add_str(text, "!stablehlo.token"); break;
    case MLIR_TYPE_QUANT: print_quant(text, type->quant); break;
    case MLIR_TYPE_OPAQUE: hr_text_printf(text, "!%.*s", HR_STR_ARGS(type->name)); break;
  }
}

/* --- elements --- */

static const mlir_type_t *scalar_of(const mlir_type_t *element) {
  if (element->kind == MLIR_TYPE_COMPLEX) return scalar_of(element->element);
  return element->kind == MLIR_TYPE_QUANT ? element->quant->storage : element;
}

static uint64_t load(const char *at, size_t bytes) {
  uint64_t bits = 0;
  memcpy(&bits, at, bytes);
  return bits;
}

static void print_scalar(hr_text_t *text, const mlir_type_t *scalar, const char *at) {
  size_t bytes = mlir_element_bytes(scalar);
  uint64_t bits = load(at, bytes);
  hr_dtype_t dtype;
  if (scalar->kind == MLIR_TYPE_FLOAT) {
    double value = mlir_float_dtype(scalar, &dtype) ? hr_float_decode(dtype, bits) : NAN;
    print_float(text, scalar, value, bits);
    return;
  }
  bool is_signed = scalar->signedness != MLIR_UNSIGNED && bytes < 8;
  int unused = 64 - 8 * (int)bytes;
  print_integer(text, scalar, is_signed ? (int64_t)(bits << unused) >> unused : (int64_t)bits);
}

static void print_element(hr_text_t *text, const mlir_type_t *element, const char *at) {
  const mlir_type_t *scalar = scalar_of(element);
  if (element->kind != MLIR_TYPE_COMPLEX) {
    print_scalar(text, scalar, at);
    return;
  }
  hr_text_add_char(text, '(');
  print_scalar(text, scalar, at);
  hr_text_add_char(text, ',');
  print_scalar(text, scalar, at + mlir_element_bytes(scalar));
  hr_text_add_char(text, ')');
}

static void print_nested(hr_text_t *text, const mlir_attr_t *attr, int level, const char **at) {
  const mlir_type_t *type = attr->type;
  if (level == type->rank) {
    print_element(text, type->element, *at);
    *at += mlir_element_bytes(type->element);
    return;
  }
  hr_text_add_char(text, '[');
  for (int64_t i = 0; i < type->dims[level]; i++) {
    if (i) hr_text_add_str(text, ", ");
    print_nested(text, attr, level + 1, at);
  }
  hr_text_add_char(text, ']');
}

/* Narrow elements with their unused bits cleared, as blobs have them. */
static void print_blob(hr_text_t *text, const mlir_attr_t *attr) {
  const mlir_type_t *scalar = scalar_of(attr->type->element);
  const unsigned char *bytes = attr->data;
  size_t size = (size_t)attr->element_count * mlir_element_bytes(attr->type->element);
  int width = scalar->kind == MLIR_TYPE_INTEGER ? scalar->width : 8;
  unsigned char mask = width < 8 ? (unsigned char)((1u << width) - 1) : 0xff;
  hr_text_add_str(text, "\"0x");
  for (size_t i = 0; i < size; i++) {
    static const char digits[] = "0123456789ABCDEF";
    unsigned char byte = bytes[i] & mask;
    hr_text_add_char(text, digits[byte >> 4]);
    hr_text_add_char(text, digits[byte & 15]);
  }
  hr_text_add_char(text, '"');
}

static void print_dense(hr_text_t *text, const mlir_attr_t *attr) {
  if (!attr->data) {
    hr_text_add_str(text, "dense_resource<");
    print_name(text, attr->resource);
  } else {
    const char *at = attr->data;
    hr_text_add_str(text, "dense<");
    if (attr->splat || (attr->element_count == 1 && attr->type->rank))
      print_element(text, attr->type->element, at);
    else if (attr->element_count > LIST_LIMIT)
      print_blob(text, attr);
    else if (attr->element_count || !attr->type->rank)
      print_nested(text, attr, 0, &at);
  }
  hr_text_add_str(text, "> : ");
  mlir_print_type(text, attr->type);
}

static void print_dense_array(hr_text_t *text, const mlir_attr_t *attr) {
  size_t each = mlir_element_bytes(attr->type);
  hr_text_add_str(text, "array<");
  mlir_print_type(text, attr->type);
  for (int64_t i = 0; i < attr->element_count; i++) {
    hr_text_add_str(text, i ? ", " : ": ");
    print_scalar(text, attr->type, (const char *)attr->data + (size_t)i * each);
  }
  hr_text_add_char(text, '>');
}

/* --- structures --- */

void mlir_print_entry(hr_text_t *text, const mlir_named_attr_t *entry) {
  print_name(text, entry->name);
  if (entry->value->kind == MLIR_ATTR_UNIT) return;
  hr_text_add_str(text, " = ");
  mlir_print_attr(text, entry->value);
}

static void print_fields(hr_text_t *text, const mlir_attr_t *attr) {
  hr_text_add_char(text, '{');
  for (int i = 0; i < attr->count; i++) {
    if (i) hr_text_add_str(text, ", ");
    mlir_print_entry(text, &attr->fields[i]);
  }
  hr_text_add_char(text, '}');
}

void mlir_print_ints(hr_text_t *text, const mlir_attr_t *attr) {
  hr_text_add_char(text, '[');
  for (int64_t i = 0; i < attr->element_count; i++) {
    if (i) hr_text_add_str(text, ", ");
    hr_text_add_int(text, ((const int64_t *)attr->data)[i]);
  }
  hr_text_add_char(text, ']');
}

/* [b, 0, 1, f] from the positions of two letters and the spatial dimensions. */
static void print_conv_side(hr_text_t *text, const mlir_attr_t *attr, const char *const names[3],
                            const char letters[2]) {
  const mlir_attr_t *first = mlir_attr_field(attr, names[0]), *second = mlir_attr_field(attr, names[1]),
                    *spatial = mlir_attr_field(attr, names[2]);
  int64_t rank = spatial ? spatial->element_count + 2 : 2;
  hr_text_add_char(text, '[');
  for (int64_t d = 0; d < rank; d++) {
    if (d) hr_text_add_str(text, ", ");
    if (first && first->integer == d) hr_text_add_char(text, letters[0]);
    if (second && second->integer == d) hr_text_add_char(text, letters[1]);
    for (int64_t i = 0; i < rank - 2; i++)
      if (((const int64_t *)spatial->data)[i] == d) hr_text_add_int(text, i);
  }
  hr_text_add_char(text, ']');
}

void mlir_print_conv_dims(hr_text_t *text, const mlir_attr_t *attr) {
  static const char *const input[] = {"input_batch_dimension", "input_feature_dimension", "input_spatial_dimensions"};
  static const char *const kernel[] = {"kernel_input_feature_dimension", "kernel_output_feature_dimension",
                                       "kernel_spatial_dimensions"};
  static const char *const output[] = {"output_batch_dimension", "output_feature_dimension",
                                       "output_spatial_dimensions"};
  print_conv_side(text, attr, input, "bf");
  hr_text_add_char(text, 'x');
  print_conv_side(text, attr, kernel, "io");
  hr_text_add_str(text, "->");
  print_conv_side(text, attr, output, "bf");
}

static void print_bounds(hr_text_t *text, const mlir_attr_t *attr) {
  const mlir_attr_t *bounds = mlir_attr_field(attr, "bounds");
  for (int64_t i = 0; bounds && i < bounds->element_count; i++) {
    int64_t bound = ((const int64_t *)bounds->data)[i];
    if (i) hr_text_add_str(text, ", ");
    if (bound == HLO_UNBOUNDED)
      hr_text_add_char(text, '?');
    else
      hr_text_add_int(text, bound);
  }
}

/* Structures leave out empty lists, and zeros where only some fields are usual. */
static bool is_left_out(const mlir_attr_t *attr, const mlir_attr_t *value) {
  static const char *const sparse[] = {"dot", "gather", "scatter", "ragged_dot", "result_accuracy"};
  bool lists = value->kind == MLIR_ATTR_DENSE_ARRAY && !value->element_count;
  bool zero =
      value->kind == MLIR_ATTR_INTEGER ? value->integer == 0 : value->kind == MLIR_ATTR_FLOAT && value->number == 0;
  for (size_t i = 0; i < sizeof sparse / sizeof *sparse; i++)
    if (hr_str_is(attr->text, sparse[i])) return lists || zero;
  return false;
}

static void print_field_value(hr_text_t *text, const mlir_attr_t *value) {
  if (value->kind == MLIR_ATTR_DENSE_ARRAY && value->type->width == 64) {
    mlir_print_ints(text, value);
  } else if (value->kind == MLIR_ATTR_INTEGER) {
    hr_text_add_int(text, value->integer);
  } else if (value->kind == MLIR_ATTR_FLOAT) {
    print_float(text, value->type, value->number, value->bits);
  } else if (value->kind == MLIR_ATTR_STRUCT && hr_str_is(value->text, "sub_axis_info")) {
    hr_text_printf(text, "(%ld)%ld", (long)mlir_attr_field(value, "pre_size")->integer,
                   (long)mlir_attr_field(value, "size")->integer);
  } else {
    mlir_print_attr(text, value);
  }
}

static void print_struct_fields(hr_text_t *text, const mlir_attr_t *attr);

static bool is_list_of(const mlir_attr_t *attr, const char *name) {
  bool is = attr->kind == MLIR_ATTR_ARRAY && attr->count;
  for (int i = 0; is && i < attr->count; i++)
    is = attr->items[i]->kind == MLIR_ATTR_STRUCT && hr_str_is(attr->items[i]->text, name);
  return is;
}

/* axes=[<name = "x", size = 2>, ...], device_ids=dense<...> */
static void print_mesh(hr_text_t *text, const mlir_attr_t *attr) {
  for (int i = 0; i < attr->count; i++) {
    const mlir_attr_t *value = attr->fields[i].value;
    hr_text_printf(text, "%s%.*s=", i ? ", " : "", HR_STR_ARGS(attr->fields[i].name));
    if (!is_list_of(value, "mesh_axis")) {
      print_field_value(text, value);
      continue;
    }
    for (int a = 0; a < value->count; a++) {
      hr_text_add_str(text, a ? ", <" : "[<");
      print_struct_fields(text, value->items[a]);
      hr_text_add_char(text, '>');
    }
    hr_text_add_char(text, ']');
  }
}

static void print_struct_fields(hr_text_t *text, const mlir_attr_t *attr) {
  if (hr_str_is(attr->text, "conv")) {
    mlir_print_conv_dims(text, attr);
  } else if (hr_str_is(attr->text, "mesh")) {
    print_mesh(text, attr);
  } else if (hr_str_is(attr->text, "bounds")) {
    print_bounds(text, attr);
  } else {
    bool any = false;
    for (int i = 0; i < attr->count; i++) {
      if (is_left_out(attr, attr->fields[i].value)) continue;
      hr_text_printf(text, "%s%.*s = ", any ? ", " : "", HR_STR_ARGS(attr->fields[i].name));
      print_field_value(text, attr->fields[i].value);
      any = true;
    }
  }
}

static void print_struct(hr_text_t *text, const mlir_attr_t *attr) {
  hr_text_printf(text, "#%.*s.%.*s<", HR_STR_ARGS(attr->dialect), HR_STR_ARGS(attr->text));
  print_struct_fields(text, attr);
  hr_text_add_char(text, '>');
}

/* "5 : i32" or "5"; an i1 needs no type. */
static void print_number(hr_text_t *text, const mlir_attr_t *attr, bool typed) {
  if (attr->kind == MLIR_ATTR_FLOAT)
    print_float(text, attr->type, attr->number, attr->bits);
  else
    print_integer(text, attr->type, attr->integer);
  bool is_bool = attr->type && attr->type->kind == MLIR_TYPE_INTEGER && attr->type->width == 1;
  if (!attr->type || is_bool || !typed) return;
  hr_text_add_str(text, " : ");
  mlir_print_type(text, attr->type);
}

/* Is it a number that says its type by default, as the items of an array may: i64 and f64 but for hexadecimal ones? */
static bool has_default_type(const mlir_attr_t *attr) {
  const mlir_type_t *type = attr->type;
  if (!type) return false;
  if (attr->kind == MLIR_ATTR_INTEGER)
    return type->kind == MLIR_TYPE_INTEGER && type->width == 64 && type->signedness == MLIR_SIGNLESS;
  return attr->kind == MLIR_ATTR_FLOAT && hr_str_is(type->name, "f64") && isfinite(attr->number);
}

static void print_items(hr_text_t *text, const mlir_attr_t *attr) {
  hr_text_add_char(text, '[');
  for (int i = 0; i < attr->count; i++) {
    if (i) hr_text_add_str(text, ", ");
    if (has_default_type(attr->items[i]))
      print_number(text, attr->items[i], false);
    else
      mlir_print_attr(text, attr->items[i]);
  }
  hr_text_add_char(text, ']');
}

static void print_sparse(hr_text_t *text, const mlir_attr_t *attr) {
  hr_text_add_str(text, "sparse<");
  if (attr->indices) {
    mlir_print_attr(text, attr->indices);
    hr_text_add_str(text, ", ");
    mlir_print_attr(text, attr->values);
  }
  hr_text_add_str(text, "> : ");
  mlir_print_type(text, attr->type);
}

/* "#stablehlo<precision HIGH>"; "#stablehlo.precision<HIGH>" where MLIR writes that, and for names other than words. */
static void print_enum(hr_text_t *text, const mlir_attr_t *attr) {
  hr_str_t name = attr->enum_name;
  bool dotted = hr_str_is(name, "result_accuracy_mode") || !is_bare(name);
  hr_text_printf(text, dotted ? "#%.*s.%.*s<%.*s>" : "#%.*s<%.*s %.*s>", HR_STR_ARGS(attr->dialect), HR_STR_ARGS(name),
                 HR_STR_ARGS(attr->text));
}

void mlir_print_attr(hr_text_t *text, const mlir_attr_t *attr) {
  switch (attr->kind) {
    case MLIR_ATTR_UNIT: hr_text_add_str(text, "unit"); break;
    case MLIR_ATTR_BOOL: hr_text_add_str(text, attr->integer ? "true" : "false"); break;
    case MLIR_ATTR_INTEGER:
    case MLIR_ATTR_FLOAT: print_number(text, attr, true); break;
    case MLIR_ATTR_STRING:
      print_string(text, attr->text);
      if (!attr->type) break;
      hr_text_add_str(text, " : ");
      mlir_print_type(text, attr->type);
      break;
    case MLIR_ATTR_ARRAY: print_items(text, attr); break;
    case MLIR_ATTR_DICT: print_fields(text, attr); break;
    case MLIR_ATTR_SYMBOL: print_symbol(text, attr); break;
    case MLIR_ATTR_TYPE: mlir_print_type(text, attr->type); break;
    case MLIR_ATTR_DENSE_ARRAY: print_dense_array(text, attr); break;
    case MLIR_ATTR_DENSE: print_dense(text, attr); break;
    case MLIR_ATTR_SPARSE: print_sparse(text, attr); break;
    case MLIR_ATTR_ENUM: print_enum(text, attr); break;
    case MLIR_ATTR_STRUCT: print_struct(text, attr); break;
    case MLIR_ATTR_LOCATION: hr_text_printf(text, "loc(%.*s)", HR_STR_ARGS(attr->text)); break;
    case MLIR_ATTR_OPAQUE: hr_text_add(text, attr->text.data, attr->text.size); break;
  }
}
