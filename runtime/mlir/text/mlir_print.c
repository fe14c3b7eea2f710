/* Attributes as MLIR text that reads back the same. Dense attributes of more than LIST_LIMIT
 * elements print as a hexadecimal blob, as MLIR's own printer does; structures leave out fields
 * with default values; numbers in arrays leave out the types i64 and f64. */
#include "mlir/text/mlir_print.h"

#include <math.h>
#include <string.h>

#include "mlir/text/mlir_parser.h"

#define DRAIN_BYTES 4096 /* bytes of a blob between checks of the size of the text */
#define LIST_LIMIT 100   /* elements; longer dense attributes print as a hexadecimal blob */

/* --- elements --- */

static const mlir_type_t *scalar_of(const mlir_type_t *element) {
  if (element->kind == MLIR_TYPE_COMPLEX) return scalar_of(element->element);
  return element->kind == MLIR_TYPE_QUANT ? element->quant->storage : element;
}

/* `bytes` is at most 8; the machine is little-endian. */
static uint64_t load_bits(const char *at, size_t bytes) {
  uint64_t bits = 0;
  memcpy(&bits, at, bytes);
  return bits;
}

/* An element in memory: floats by their bits, integers extended by their sign unless unsigned. */
static void print_scalar(hr_strbuf_t *text, const mlir_type_t *scalar, const char *at) {
  size_t bytes = mlir_element_bytes(scalar);
  uint64_t bits = load_bits(at, bytes);
  hr_dtype_t dtype;
  if (scalar->kind == MLIR_TYPE_FLOAT) {
    double value = mlir_float_dtype(scalar, &dtype) ? hr_float_decode(dtype, bits) : NAN;
    mlir_print_float(text, scalar, value, bits);
    return;
  }
  bool is_signed = scalar->signedness != MLIR_UNSIGNED && bytes < 8;
  int shift = 64 - 8 * (int)bytes;
  mlir_print_integer(text, scalar, is_signed ? (int64_t)(bits << shift) >> shift : (int64_t)bits);
}

/* A scalar, or (re,im). */
static void print_element(hr_strbuf_t *text, const mlir_type_t *element, const char *at) {
  const mlir_type_t *scalar = scalar_of(element);
  if (element->kind != MLIR_TYPE_COMPLEX) {
    print_scalar(text, scalar, at);
    return;
  }
  hr_strbuf_add_char(text, '(');
  print_scalar(text, scalar, at);
  hr_strbuf_add_char(text, ',');
  print_scalar(text, scalar, at + mlir_element_bytes(scalar));
  hr_strbuf_add_char(text, ')');
}

/* Brackets as deep as the rank; *at moves on by one element each. */
static void print_nested(hr_strbuf_t *text, const mlir_attr_t *attr, int level, const char **at) {
  const mlir_type_t *type = attr->type;
  if (level == type->rank) {
    print_element(text, type->element, *at);
    *at += mlir_element_bytes(type->element);
    return;
  }
  hr_strbuf_add_char(text, '[');
  for (int64_t i = 0; i < type->dims[level]; i++) {
    if (i) hr_strbuf_add_str(text, ", ");
    print_nested(text, attr, level + 1, at);
  }
  hr_strbuf_add_char(text, ']');
}

/* Elements as they lie in memory, narrow ones with their unused bits cleared. */
static void print_blob(hr_strbuf_t *text, const mlir_attr_t *attr, hr_text_sink_t *sink) {
  const mlir_type_t *scalar = scalar_of(attr->type->element);
  const unsigned char *bytes = attr->data;
  size_t size = (size_t)attr->element_count * mlir_element_bytes(attr->type->element);
  int width = scalar->kind == MLIR_TYPE_INTEGER ? scalar->width : 8;
  unsigned char mask = width < 8 ? (unsigned char)((1u << width) - 1) : 0xff;
  hr_strbuf_add_str(text, "\"0x");
  for (size_t i = 0; i < size; i++) {
    static const char digits[] = "0123456789ABCDEF";
    unsigned char byte = bytes[i] & mask;
    hr_strbuf_add_char(text, digits[byte >> 4]);
    hr_strbuf_add_char(text, digits[byte & 15]);
    if (i % DRAIN_BYTES == 0) hr_text_drain(text, sink);
  }
  hr_strbuf_add_char(text, '"');
}

/* A splat prints one element, an attribute without data the key of its resource. */
static void print_dense(hr_strbuf_t *text, const mlir_attr_t *attr, hr_text_sink_t *sink) {
  if (!attr->data) {
    hr_strbuf_add_str(text, "dense_resource<");
    mlir_print_name(text, attr->resource);
  } else {
    const char *at = attr->data;
    hr_strbuf_add_str(text, "dense<");
    if (attr->splat || (attr->element_count == 1 && attr->type->rank))
      print_element(text, attr->type->element, at);
    else if (attr->element_count > LIST_LIMIT)
      print_blob(text, attr, sink);
    else if (attr->element_count || !attr->type->rank)
      print_nested(text, attr, 0, &at);
  }
  hr_strbuf_add_str(text, "> : ");
  mlir_print_type(text, attr->type);
}

static void print_dense_array(hr_strbuf_t *text, const mlir_attr_t *attr) {
  size_t each = mlir_element_bytes(attr->type);
  hr_strbuf_add_str(text, "array<");
  mlir_print_type(text, attr->type);
  for (int64_t i = 0; i < attr->element_count; i++) {
    hr_strbuf_add_str(text, i ? ", " : ": ");
    print_scalar(text, attr->type, (const char *)attr->data + (size_t)i * each);
  }
  hr_strbuf_add_char(text, '>');
}

/* --- structures --- */

void mlir_print_entry(hr_strbuf_t *text, const mlir_named_attr_t *entry) {
  mlir_print_name(text, entry->name);
  if (entry->value->kind == MLIR_ATTR_UNIT) return;
  hr_strbuf_add_str(text, " = ");
  mlir_print_attr(text, entry->value);
}

/* {name = value, ...} of a dictionary. */
static void print_fields(hr_strbuf_t *text, const mlir_attr_t *attr) {
  hr_strbuf_add_char(text, '{');
  for (int i = 0; i < attr->count; i++) {
    if (i) hr_strbuf_add_str(text, ", ");
    mlir_print_entry(text, &attr->fields[i]);
  }
  hr_strbuf_add_char(text, '}');
}

void mlir_print_ints(hr_strbuf_t *text, const mlir_attr_t *attr) {
  hr_strbuf_add_char(text, '[');
  for (int64_t i = 0; i < attr->element_count; i++) {
    if (i) hr_strbuf_add_str(text, ", ");
    hr_strbuf_add_int(text, ((const int64_t *)attr->data)[i]);
  }
  hr_strbuf_add_char(text, ']');
}

/* [b, 0, 1, f] from the positions of two labels and the spatial dimensions. */
static void print_conv_side(hr_strbuf_t *text, const mlir_attr_t *attr, const char *const names[3],
                            const char labels[2]) {
  const mlir_attr_t *first = mlir_attr_field(attr, names[0]);
  const mlir_attr_t *second = mlir_attr_field(attr, names[1]);
  const mlir_attr_t *spatial = mlir_attr_field(attr, names[2]);
  int64_t rank = spatial ? spatial->element_count + 2 : 2;
  hr_strbuf_add_char(text, '[');
  for (int64_t d = 0; d < rank; d++) {
    if (d) hr_strbuf_add_str(text, ", ");
    if (first && first->integer == d) hr_strbuf_add_char(text, labels[0]);
    if (second && second->integer == d) hr_strbuf_add_char(text, labels[1]);
    for (int64_t i = 0; i < rank - 2; i++)
      if (((const int64_t *)spatial->data)[i] == d) hr_strbuf_add_int(text, i);
  }
  hr_strbuf_add_char(text, ']');
}

/* Fields of input, kernel and output: two labels, and the spatial dimensions. */
static const char *const conv_sides[3][3] = {
    {"input_batch_dimension", "input_feature_dimension", "input_spatial_dimensions"},
    {"kernel_input_feature_dimension", "kernel_output_feature_dimension",
     "kernel_spatial_dimensions"},
    {"output_batch_dimension", "output_feature_dimension", "output_spatial_dimensions"}};

/* Counts a position that is within the rank; the positions seen so far are bits. */
static bool take_position(uint64_t *seen, int64_t rank, int64_t position) {
  bool is_new = position >= 0 && position < rank && !(*seen >> position & 1);
  if (is_new) *seen |= UINT64_C(1) << position;
  return is_new;
}

/* True if the two labels and the spatial dimensions have a position each. */
static bool conv_side_fits(const mlir_attr_t *attr, const char *const names[3]) {
  const mlir_attr_t *spatial = mlir_attr_field(attr, names[2]);
  int64_t rank = spatial ? spatial->element_count + 2 : 2;
  uint64_t seen = 0;
  if (rank > HR_MAX_RANK) return false;
  for (int i = 0; i < 2; i++) {
    const mlir_attr_t *label = mlir_attr_field(attr, names[i]);
    if (!label || label->kind != MLIR_ATTR_INTEGER || !take_position(&seen, rank, label->integer))
      return false;
  }
  for (int64_t i = 0; i < rank - 2; i++)
    if (!take_position(&seen, rank, ((const int64_t *)spatial->data)[i])) return false;
  return true;
}

bool mlir_print_conv_fits(const mlir_attr_t *attr) {
  for (int side = 0; side < 3; side++)
    if (!conv_side_fits(attr, conv_sides[side])) return false;
  return true;
}

void mlir_print_conv_dims(hr_strbuf_t *text, const mlir_attr_t *attr) {
  print_conv_side(text, attr, conv_sides[0], "bf");
  hr_strbuf_add_char(text, 'x');
  print_conv_side(text, attr, conv_sides[1], "io");
  hr_strbuf_add_str(text, "->");
  print_conv_side(text, attr, conv_sides[2], "bf");
}

/* Bounds of dynamic dimensions; "?" for the others. */
static void print_bounds(hr_strbuf_t *text, const mlir_attr_t *attr) {
  const mlir_attr_t *bounds = mlir_attr_field(attr, "bounds");
  for (int64_t i = 0; bounds && i < bounds->element_count; i++) {
    int64_t bound = ((const int64_t *)bounds->data)[i];
    if (i) hr_strbuf_add_str(text, ", ");
    if (bound == HR_UNBOUNDED)
      hr_strbuf_add_char(text, '?');
    else
      hr_strbuf_add_int(text, bound);
  }
}

/* Five structures print only what differs from 0 and from an empty list, as their parsers assume
 * these. */
bool mlir_print_leaves_out(const mlir_attr_t *attr, const mlir_attr_t *value) {
  static const char *const sparse[] = {"dot", "gather", "scatter", "ragged_dot", "result_accuracy"};
  bool lists = value->kind == MLIR_ATTR_DENSE_ARRAY && !value->element_count;
  bool zero = value->kind == MLIR_ATTR_INTEGER
                  ? value->integer == 0
                  : value->kind == MLIR_ATTR_FLOAT && value->number == 0;
  for (size_t i = 0; i < sizeof sparse / sizeof *sparse; i++)
    if (hr_str_is(attr->text, sparse[i])) return lists || zero;
  return false;
}

/* Values inside of structures print without their types, which the structure knows. */
static void print_field_value(hr_strbuf_t *text, const mlir_attr_t *value) {
  if (value->kind == MLIR_ATTR_DENSE_ARRAY && value->type->width == 64) {
    mlir_print_ints(text, value);
  } else if (value->kind == MLIR_ATTR_INTEGER) {
    hr_strbuf_add_int(text, value->integer);
  } else if (value->kind == MLIR_ATTR_FLOAT) {
    mlir_print_float(text, value->type, value->number, value->bits);
  } else if (value->kind == MLIR_ATTR_STRUCT && hr_str_is(value->text, "sub_axis_info")) {
    hr_strbuf_printf(text, "(%ld)%ld", (long)mlir_attr_field(value, "pre_size")->integer,
                     (long)mlir_attr_field(value, "size")->integer);
  } else {
    mlir_print_attr(text, value);
  }
}

static void print_struct_fields(hr_strbuf_t *text, const mlir_attr_t *attr);

/* An array, not empty, of structures that all have this mnemonic. */
static bool is_list_of(const mlir_attr_t *attr, const char *name) {
  bool is = attr->kind == MLIR_ATTR_ARRAY && attr->count;
  for (int i = 0; is && i < attr->count; i++)
    is = attr->items[i]->kind == MLIR_ATTR_STRUCT && hr_str_is(attr->items[i]->text, name);
  return is;
}

/* axes=[<name = "x", size = 2>, ...], device_ids=dense<...>; '=' without blanks, as MLIR prints
 * it. */
static void print_mesh(hr_strbuf_t *text, const mlir_attr_t *attr) {
  for (int i = 0; i < attr->count; i++) {
    const mlir_attr_t *value = attr->fields[i].value;
    hr_strbuf_printf(text, "%s%.*s=", i ? ", " : "", HR_STR_ARGS(attr->fields[i].name));
    if (!is_list_of(value, "mesh_axis")) {
      print_field_value(text, value);
      continue;
    }
    for (int a = 0; a < value->count; a++) {
      hr_strbuf_add_str(text, a ? ", <" : "[<");
      print_struct_fields(text, value->items[a]);
      hr_strbuf_add_char(text, '>');
    }
    hr_strbuf_add_char(text, ']');
  }
}

/* Fields as "name = value"; conv, mesh and bounds have notations of their own. "raw" says that
 * fields of conv follow. */
static void print_struct_fields(hr_strbuf_t *text, const mlir_attr_t *attr) {
  bool is_conv = hr_str_is(attr->text, "conv");
  bool is_raw = is_conv && !mlir_print_conv_fits(attr);
  if (is_raw) hr_strbuf_add_str(text, "raw ");
  if (is_conv && !is_raw) {
    mlir_print_conv_dims(text, attr);
  } else if (hr_str_is(attr->text, "mesh")) {
    print_mesh(text, attr);
  } else if (hr_str_is(attr->text, "bounds")) {
    print_bounds(text, attr);
  } else {
    bool any = false;
    for (int i = 0; i < attr->count; i++) {
      if (mlir_print_leaves_out(attr, attr->fields[i].value)) continue;
      hr_strbuf_printf(text, "%s%.*s = ", any ? ", " : "", HR_STR_ARGS(attr->fields[i].name));
      print_field_value(text, attr->fields[i].value);
      any = true;
    }
  }
}

/* #dialect.mnemonic<fields> */
static void print_struct(hr_strbuf_t *text, const mlir_attr_t *attr) {
  hr_strbuf_printf(text, "#%.*s.%.*s<", HR_STR_ARGS(attr->dialect), HR_STR_ARGS(attr->text));
  print_struct_fields(text, attr);
  hr_strbuf_add_char(text, '>');
}

/* "5 : i32"; i1 prints as true or false and needs no type, nor does an item with the default
 * type. */
static void print_number(hr_strbuf_t *text, const mlir_attr_t *attr, bool typed) {
  if (attr->kind == MLIR_ATTR_FLOAT)
    mlir_print_float(text, attr->type, attr->number, attr->bits);
  else
    mlir_print_integer(text, attr->type, attr->integer);
  bool is_bool = attr->type && attr->type->kind == MLIR_TYPE_INTEGER && attr->type->width == 1;
  if (!attr->type || is_bool || !typed) return;
  hr_strbuf_add_str(text, " : ");
  mlir_print_type(text, attr->type);
}

/* Whether a number's type is the one that its text has in an array: i64 for integers, f64 for
 * floats with a point (NaNs and infinities print as hexadecimal patterns, which would read as
 * integers). */
static bool has_default_type(const mlir_attr_t *attr) {
  const mlir_type_t *type = attr->type;
  if (!type) return false;
  if (attr->kind == MLIR_ATTR_INTEGER)
    return type->kind == MLIR_TYPE_INTEGER && type->width == 64 &&
           type->signedness == MLIR_SIGNLESS;
  return attr->kind == MLIR_ATTR_FLOAT && hr_str_is(type->name, "f64") && isfinite(attr->number);
}

/* Items of an array; numbers of the default types leave their types out. */
static void print_items(hr_strbuf_t *text, const mlir_attr_t *attr) {
  hr_strbuf_add_char(text, '[');
  for (int i = 0; i < attr->count; i++) {
    if (i) hr_strbuf_add_str(text, ", ");
    if (has_default_type(attr->items[i]))
      print_number(text, attr->items[i], false);
    else
      mlir_print_attr(text, attr->items[i]);
  }
  hr_strbuf_add_char(text, ']');
}

static void print_sparse(hr_strbuf_t *text, const mlir_attr_t *attr) {
  hr_strbuf_add_str(text, "sparse<");
  if (attr->indices) {
    mlir_print_attr(text, attr->indices);
    hr_strbuf_add_str(text, ", ");
    mlir_print_attr(text, attr->values);
  }
  hr_strbuf_add_str(text, "> : ");
  mlir_print_type(text, attr->type);
}

/* "#stablehlo<precision HIGH>"; "#stablehlo.precision<HIGH>" where MLIR writes that, and for names
 * other than words. */
static void print_enum(hr_strbuf_t *text, const mlir_attr_t *attr) {
  hr_str_t name = attr->enum_name;
  bool dotted = hr_str_is(name, "result_accuracy_mode") || !mlir_is_bare(name);
  hr_strbuf_printf(text, dotted ? "#%.*s.%.*s<%.*s>" : "#%.*s<%.*s %.*s>",
                   HR_STR_ARGS(attr->dialect), HR_STR_ARGS(name), HR_STR_ARGS(attr->text));
}

/* "text", or "text" : type. */
static void print_string_attr(hr_strbuf_t *text, const mlir_attr_t *attr) {
  mlir_print_string(text, attr->text);
  if (!attr->type) return;
  hr_strbuf_add_str(text, " : ");
  mlir_print_type(text, attr->type);
}

/* By kind; opaque attributes print as they were read. */
void mlir_print_attr(hr_strbuf_t *text, const mlir_attr_t *attr) {
  switch (attr->kind) {
    case MLIR_ATTR_UNIT:
      hr_strbuf_add_str(text, "unit");
      break;
    case MLIR_ATTR_BOOL:
      hr_strbuf_add_str(text, attr->integer ? "true" : "false");
      break;
    case MLIR_ATTR_INTEGER:
    case MLIR_ATTR_FLOAT:
      print_number(text, attr, true);
      break;
    case MLIR_ATTR_STRING:
      print_string_attr(text, attr);
      break;
    case MLIR_ATTR_ARRAY:
      print_items(text, attr);
      break;
    case MLIR_ATTR_DICT:
      print_fields(text, attr);
      break;
    case MLIR_ATTR_SYMBOL:
      mlir_print_symbol(text, attr);
      break;
    case MLIR_ATTR_TYPE:
      mlir_print_type(text, attr->type);
      break;
    case MLIR_ATTR_DENSE_ARRAY:
      print_dense_array(text, attr);
      break;
    case MLIR_ATTR_DENSE:
      print_dense(text, attr, NULL);
      break;
    case MLIR_ATTR_SPARSE:
      print_sparse(text, attr);
      break;
    case MLIR_ATTR_ENUM:
      print_enum(text, attr);
      break;
    case MLIR_ATTR_STRUCT:
      print_struct(text, attr);
      break;
    case MLIR_ATTR_LOCATION:
      hr_strbuf_printf(text, "loc(%.*s)", HR_STR_ARGS(attr->text));
      break;
    case MLIR_ATTR_OPAQUE:
      hr_strbuf_add(text, attr->text.data, attr->text.size);
      break;
  }
}

void mlir_print_attr_to(hr_strbuf_t *text, const mlir_attr_t *attr, hr_text_sink_t *sink) {
  if (attr->kind == MLIR_ATTR_DENSE)
    print_dense(text, attr, sink);
  else
    mlir_print_attr(text, attr);
}
