/* Attributes as bytes, in the encoding of their own dialects or of VHLO. Parts of an attribute are
 * numbered before it, so that equal attributes have equal bytes and share a number. Attributes
 * without an encoding here (affine maps, sdy's, sparse elements, locations, CHLO's structures) are
 * written as text. */
#include <string.h>

#include "mlir/bytecode/bytecode_writer.h"
#include "mlir/text/mlir_parser.h"
#include "mlir/text/mlir_print.h"

#define LARGE_ELEMENTS (1 << 20) /* bytes; elements from this size on are not copied */

/* Count, then the number of each attribute. */
static hr_status_t put_attrs(bytecode_writer_t *writer, hr_strbuf_t *text, int count,
                             const mlir_attr_t *const *items, bool in_vhlo) {
  bytecode_put_var(text, (uint64_t)count);
  for (int i = 0; i < count; i++) HR_TRY(bytecode_put_attr(writer, text, items[i], in_vhlo));
  return NULL;
}

/* Writes the attribute's number in the file; a new one is encoded and numbered first. */
hr_status_t bytecode_put_attr(bytecode_writer_t *writer, hr_strbuf_t *text, const mlir_attr_t *attr,
                              bool in_vhlo) {
  uint32_t number;
  HR_TRY(bytecode_number_attr(writer, attr, in_vhlo, &number));
  bytecode_put_var(text, number);
  return NULL;
}

/* Text entries have a NUL at their end and are not flagged as binary; readers parse them. */
hr_status_t bytecode_number_text(bytecode_writer_t *writer, bytecode_numbers_t *numbers,
                                 hr_str_t dialect, const hr_strbuf_t *text, uint32_t *out_number) {
  uint32_t number;
  hr_strbuf_t ended;
  HR_TRY(bytecode_number_dialect(writer, dialect, &number));
  hr_strbuf_init(&ended);
  hr_strbuf_add(&ended, text->data ? text->data : "", text->size);
  hr_strbuf_add_char(&ended, 0);
  hr_status_t st = bytecode_number_bytes(writer, numbers, number, false, &ended, out_number);
  hr_strbuf_deinit(&ended);
  return st;
}

/* --- numbers and elements --- */

/* The bits of a number: a byte up to 8 bits, else a signed number. */
static void put_pattern(hr_strbuf_t *text, int width, uint64_t bits) {
  if (width < 64) bits &= (UINT64_C(1) << width) - 1;
  if (width <= 8)
    bytecode_put_byte(text, (uint8_t)bits);
  else
    bytecode_put_svar(text, (int64_t)bits);
}

static const mlir_type_t i1 = {.kind = MLIR_TYPE_INTEGER, .width = 1};
static const mlir_type_t i64 = {.kind = MLIR_TYPE_INTEGER, .width = 64};

/* Type and bits; an integer without a type is an i64. */
static hr_status_t put_integer(bytecode_writer_t *writer, hr_strbuf_t *text,
                               const mlir_attr_t *attr, bool in_vhlo) {
  const mlir_type_t *given = attr->type ? attr->type : &i64;
  const mlir_type_t *type = attr->kind == MLIR_ATTR_BOOL ? &i1 : given;
  HR_TRY(bytecode_put_type(writer, text, type, in_vhlo));
  put_pattern(text, type->kind == MLIR_TYPE_INDEX ? 64 : type->width, (uint64_t)attr->integer);
  return NULL;
}

/* Type and bits, which are exact for all types. */
static hr_status_t put_float(bytecode_writer_t *writer, hr_strbuf_t *text, const mlir_attr_t *attr,
                             bool in_vhlo) {
  HR_TRY(bytecode_put_type(writer, text, attr->type, in_vhlo));
  put_pattern(text, mlir_float_bits(attr->type->name), attr->bits);
  return NULL;
}

/* The scalar that elements are made of: parts of complex ones, storage of quantised ones. */
static const mlir_type_t *scalar_of(const mlir_type_t *element) {
  if (element->kind == MLIR_TYPE_COMPLEX) return scalar_of(element->element);
  return element->kind == MLIR_TYPE_QUANT ? element->quant->storage : element;
}

/* Truth values as bits, lowest first; a splat as one byte 0xff or 0. */
static void put_bools(hr_strbuf_t *text, const mlir_attr_t *attr) {
  const uint8_t *values = attr->data;
  int64_t count = attr->element_count;
  if (attr->splat) {
    bytecode_put_var(text, 1);
    bytecode_put_byte(text, values[0] ? 0xff : 0);
    return;
  }
  bytecode_put_var(text, ((uint64_t)count + 7) / 8);
  for (int64_t i = 0; i < count; i += 8) {
    uint8_t byte = 0;
    for (int64_t k = 0; k < 8 && i + k < count; k++)
      byte = (uint8_t)(byte | (values[i + k] ? 1 << k : 0));
    bytecode_put_byte(text, byte);
  }
}

/* Equal truth values must be written as a splat: a reader could take a single byte of packed bits
 * for one. */
static bool bools_alike(const mlir_attr_t *attr) {
  const uint8_t *values = attr->data;
  for (int64_t i = 1; i < attr->element_count; i++)
    if (!values[i] != !values[0]) return false;
  return attr->element_count > 0;
}

static bool is_narrow(const mlir_type_t *scalar) {
  return scalar->kind == MLIR_TYPE_INTEGER && scalar->width < 8;
}

/* Elements that are written as stored, if they are large; else empty. */
static hr_str_t large_elements(const mlir_attr_t *attr) {
  if (attr->kind != MLIR_ATTR_DENSE || is_narrow(scalar_of(attr->type->element)))
    return (hr_str_t){0};
  size_t size = (size_t)attr->element_count * mlir_element_bytes(attr->type->element);
  return size < LARGE_ELEMENTS ? (hr_str_t){0} : (hr_str_t){attr->data, size};
}

/* Elements as stored; i1 packed to bits, other narrow integers with their high bits cleared. For
 * large elements only the size is written here. */
static void put_elements(hr_strbuf_t *text, const mlir_attr_t *attr, const mlir_type_t *element) {
  const mlir_type_t *scalar = scalar_of(element);
  bool narrow = is_narrow(scalar);
  size_t size = (size_t)attr->element_count * mlir_element_bytes(element);
  if (scalar->kind == MLIR_TYPE_INTEGER && scalar->width == 1) {
    mlir_attr_t copy = *attr;
    copy.splat |= bools_alike(attr);
    put_bools(text, &copy);
    return;
  }
  bytecode_put_var(text, size);
  if (large_elements(attr).size) return;
  if (!narrow) {
    hr_strbuf_add(text, attr->data, size);
    return;
  }
  for (size_t i = 0; i < size; i++)
    bytecode_put_byte(text, ((const uint8_t *)attr->data)[i] & ((1u << scalar->width) - 1));
}

/* Type, size, elements. A resource without its blob has no elements to write. */
static hr_status_t put_dense(bytecode_writer_t *writer, hr_strbuf_t *text, const mlir_attr_t *attr,
                             bool in_vhlo) {
  if (!attr->data && attr->element_count)
    return hr_error(HR_UNSUPPORTED, "the elements of resource %.*s are not there to be written",
                    HR_STR_ARGS(attr->resource));
  HR_TRY(bytecode_put_type(writer, text, attr->type, in_vhlo));
  put_elements(text, attr, attr->type->element);
  return NULL;
}

/* A list: array<T> in builtin, a tensor of one dimension in VHLO, where i1 is packed. */
static hr_status_t put_dense_array(bytecode_writer_t *writer, hr_strbuf_t *text,
                                   const mlir_attr_t *attr, bool in_vhlo) {
  const mlir_type_t *type;
  if (in_vhlo) {
    HR_TRY(mlir_make_tensor_type(&writer->arena, attr->type, 1, &attr->element_count, &type));
    bytecode_put_var(text, VHLO_ATTR_TENSOR);
    HR_TRY(bytecode_put_type(writer, text, type, true));
    put_elements(text, attr, attr->type);
    return NULL;
  }
  size_t size = (size_t)attr->element_count * mlir_element_bytes(attr->type);
  bytecode_put_var(text, BUILTIN_ATTR_DENSE_ARRAY);
  HR_TRY(bytecode_put_type(writer, text, attr->type, false));
  bytecode_put_var(text, (uint64_t)attr->element_count);
  bytecode_put_var(text, size);
  hr_strbuf_add(text, attr->data, size);
  return NULL;
}

/* --- lists and names --- */

/* A name as the number of a string attribute. */
static hr_status_t put_name(bytecode_writer_t *writer, hr_strbuf_t *text, hr_str_t name,
                            bool in_vhlo) {
  const mlir_attr_t *attr;
  HR_TRY(mlir_make_string(&writer->arena, name, &attr));
  return bytecode_put_attr(writer, text, attr, in_vhlo);
}

/* The entries of a dictionary: count, then name and value of each. Names are attributes as well. */
static hr_status_t put_fields(bytecode_writer_t *writer, hr_strbuf_t *text, int count,
                              const mlir_named_attr_t *fields, bool names_in_vhlo, bool in_vhlo) {
  bytecode_put_var(text, (uint64_t)count);
  for (int i = 0; i < count; i++) {
    HR_TRY(put_name(writer, text, fields[i].name, names_in_vhlo));
    HR_TRY(bytecode_put_attr(writer, text, fields[i].value, in_vhlo));
  }
  return NULL;
}

/* Writes the number of a string in the table of strings. */
static hr_status_t put_string(bytecode_writer_t *writer, hr_strbuf_t *text, hr_str_t string) {
  uint32_t number;
  HR_TRY(bytecode_number_string(writer, string, &number));
  bytecode_put_var(text, number);
  return NULL;
}

/* The root's name; nested references follow as symbols of their own. */
static hr_status_t put_symbol(bytecode_writer_t *writer, hr_strbuf_t *text,
                              const mlir_attr_t *attr) {
  bytecode_put_var(text, attr->count ? BUILTIN_ATTR_NESTED_SYMBOL : BUILTIN_ATTR_SYMBOL);
  HR_TRY(put_name(writer, text, attr->text, false));
  if (!attr->count) return NULL;
  bytecode_put_var(text, (uint64_t)attr->count);
  for (int i = 0; i < attr->count; i++) {
    const mlir_attr_t *flat;
    HR_TRY(mlir_make_symbol(&writer->arena, attr->nested[i], &flat));
    HR_TRY(bytecode_put_attr(writer, text, flat, false));
  }
  return NULL;
}

/* --- enumerations and structures --- */

static int code_in(const bytecode_enum_t *row, hr_str_t dialect) {
  if (hr_str_is(dialect, "vhlo")) return row->vhlo_code;
  if (hr_str_is(dialect, "chlo")) return row->chlo_code;
  return hr_str_is(dialect, "mhlo") ? row->mhlo_code : row->stablehlo_code;
}

/* The enumeration's code in the dialect, then the number of the word. */
static hr_status_t put_enum(hr_strbuf_t *text, const mlir_attr_t *attr, bool in_vhlo) {
  const bytecode_enum_t *row = bytecode_enum_named(attr->enum_name);
  if (!row)
    return hr_error(HR_UNSUPPORTED, "the enumeration %.*s has no encoding",
                    HR_STR_ARGS(attr->enum_name));
  int code = code_in(row, in_vhlo ? HR_STR("vhlo") : attr->dialect);
  if (code < 0)
    return hr_error(HR_UNSUPPORTED, "the enumeration %s has no encoding in %.*s", row->name,
                    HR_STR_ARGS(in_vhlo ? HR_STR("vhlo") : attr->dialect));
  for (size_t i = 0; i < sizeof row->words / sizeof *row->words; i++) {
    if (!row->words[i] || !hr_str_is(attr->text, row->words[i])) continue;
    bytecode_put_var(text, (uint64_t)code);
    bytecode_put_var(text, i);
    return NULL;
  }
  return hr_error(HR_INVALID, "%s %.*s does not exist", row->name, HR_STR_ARGS(attr->text));
}

/* A field that is an attribute. Only `mode` of #stablehlo.result_accuracy may be absent; it means
 * DEFAULT. */
static hr_status_t put_struct_attr(bytecode_writer_t *writer, hr_strbuf_t *text,
                                   const bytecode_struct_t *row, const bytecode_field_t *field,
                                   const mlir_attr_t *value, bool in_vhlo) {
  const mlir_attr_t *mode;
  if (value) return bytecode_put_attr(writer, text, value, in_vhlo);
  if (strcmp(field->name, "mode"))
    return hr_error(HR_INVALID, "#stablehlo.%s without %s", row->mnemonic, field->name);
  HR_TRY(mlir_make_enum(&writer->arena, "stablehlo", "result_accuracy_mode", HR_STR("DEFAULT"),
                        &mode));
  return bytecode_put_attr(writer, text, mode, in_vhlo);
}

/* A field in the encoding of its kind; fields absent in the structure are 0 or empty. */
static hr_status_t put_field(bytecode_writer_t *writer, hr_strbuf_t *text,
                             const bytecode_struct_t *row, const bytecode_field_t *field,
                             const mlir_attr_t *value, bool in_vhlo) {
  switch (field->kind) {
    case BYTECODE_INT:
      bytecode_put_svar(text, value ? value->integer : 0);
      return NULL;
    case BYTECODE_INTS:
    case BYTECODE_NEW_INTS:
      if (value && (value->kind != MLIR_ATTR_DENSE_ARRAY || mlir_element_bytes(value->type) != 8))
        return hr_error(HR_INVALID, "the field %s of #stablehlo.%s is no list of integers",
                        field->name, row->mnemonic);
      if (value)
        bytecode_put_ints(text, value->element_count, value->data);
      else
        bytecode_put_ints(text, 0, NULL);
      return NULL;
    case BYTECODE_TYPE:
      if (!value || value->kind != MLIR_ATTR_TYPE)
        return hr_error(HR_INVALID, "the field %s is no type", field->name);
      return bytecode_put_type(writer, text, value->type, in_vhlo);
    case BYTECODE_BOOL:
      bytecode_put_byte(text, value && value->integer);
      return NULL;
    case BYTECODE_F64:
      bytecode_put_f64(text, value ? value->number : 0);
      return NULL;
    case BYTECODE_ATTR:
      return put_struct_attr(writer, text, row, field, value, in_vhlo);
    case BYTECODE_ATTRS:
      if (!value) return put_attrs(writer, text, 0, NULL, in_vhlo);
      return put_attrs(writer, text, value->count, value->items, in_vhlo);
    case BYTECODE_STRING:
      return put_string(writer, text, value ? value->text : (hr_str_t){"", 0});
    case BYTECODE_MAYBE:
      bytecode_put_var(text, value != NULL);
      return value ? bytecode_put_attr(writer, text, value, in_vhlo) : NULL;
  }
  return NULL;
}

/* Code, then the fields in wire order. */
static hr_status_t put_struct(bytecode_writer_t *writer, hr_strbuf_t *text,
                              const bytecode_struct_t *row, const mlir_attr_t *attr, bool in_vhlo) {
  bytecode_put_var(text, (uint64_t)row->code);
  for (const bytecode_field_t *field = row->fields; field->name; field++)
    HR_TRY(put_field(writer, text, row, field, mlir_attr_field(attr, field->name), in_vhlo));
  return NULL;
}

/* --- attributes --- */

/* Encoding of builtin. */
static hr_status_t put_builtin_attr(bytecode_writer_t *writer, hr_strbuf_t *text,
                                    const mlir_attr_t *attr) {
  switch (attr->kind) {
    case MLIR_ATTR_UNIT:
      bytecode_put_var(text, BUILTIN_ATTR_UNIT);
      return NULL;
    case MLIR_ATTR_BOOL:
    case MLIR_ATTR_INTEGER:
      bytecode_put_var(text, BUILTIN_ATTR_INTEGER);
      return put_integer(writer, text, attr, false);
    case MLIR_ATTR_FLOAT:
      bytecode_put_var(text, BUILTIN_ATTR_FLOAT);
      return put_float(writer, text, attr, false);
    case MLIR_ATTR_STRING:
      bytecode_put_var(text, attr->type ? BUILTIN_ATTR_TYPED_STRING : BUILTIN_ATTR_STRING);
      HR_TRY(put_string(writer, text, attr->text));
      return attr->type ? bytecode_put_type(writer, text, attr->type, false) : NULL;
    case MLIR_ATTR_ARRAY:
      bytecode_put_var(text, BUILTIN_ATTR_ARRAY);
      return put_attrs(writer, text, attr->count, attr->items, false);
    case MLIR_ATTR_DICT:
      bytecode_put_var(text, BUILTIN_ATTR_DICT);
      return put_fields(writer, text, attr->count, attr->fields, false, false);
    case MLIR_ATTR_SYMBOL:
      return put_symbol(writer, text, attr);
    case MLIR_ATTR_TYPE:
      bytecode_put_var(text, BUILTIN_ATTR_TYPE);
      return bytecode_put_type(writer, text, attr->type, false);
    case MLIR_ATTR_DENSE_ARRAY:
      return put_dense_array(writer, text, attr, false);
    case MLIR_ATTR_DENSE:
      bytecode_put_var(text, BUILTIN_ATTR_DENSE);
      return put_dense(writer, text, attr, false);
    default:
      return hr_error(HR_UNSUPPORTED, "an attribute that bytecode has no encoding for");
  }
}

/* Encoding of VHLO, which represents units as true and symbols as strings. */
static hr_status_t put_vhlo_attr(bytecode_writer_t *writer, hr_strbuf_t *text,
                                 const mlir_attr_t *attr) {
  switch (attr->kind) {
    case MLIR_ATTR_UNIT: /* VHLO has no units */
    case MLIR_ATTR_BOOL:
      bytecode_put_var(text, VHLO_ATTR_BOOL);
      bytecode_put_var(text, attr->kind == MLIR_ATTR_UNIT || attr->integer);
      return NULL;
    case MLIR_ATTR_INTEGER:
      bytecode_put_var(text, VHLO_ATTR_INTEGER);
      return put_integer(writer, text, attr, true);
    case MLIR_ATTR_FLOAT:
      bytecode_put_var(text, VHLO_ATTR_FLOAT);
      return put_float(writer, text, attr, true);
    case MLIR_ATTR_STRING:
    case MLIR_ATTR_SYMBOL:
      bytecode_put_var(text, VHLO_ATTR_STRING);
      return put_string(writer, text, attr->text);
    case MLIR_ATTR_ARRAY:
      bytecode_put_var(text, VHLO_ATTR_ARRAY);
      return put_attrs(writer, text, attr->count, attr->items, true);
    case MLIR_ATTR_DICT:
      bytecode_put_var(text, VHLO_ATTR_DICT);
      return put_fields(writer, text, attr->count, attr->fields, true, true);
    case MLIR_ATTR_TYPE:
      bytecode_put_var(text, VHLO_ATTR_TYPE);
      return bytecode_put_type(writer, text, attr->type, true);
    case MLIR_ATTR_DENSE_ARRAY:
      return put_dense_array(writer, text, attr, true);
    case MLIR_ATTR_DENSE:
      bytecode_put_var(text, VHLO_ATTR_TENSOR);
      return put_dense(writer, text, attr, true);
    case MLIR_ATTR_ENUM:
      if (writer->vhlo < VHLO_SINCE_WEAK_ORDER && hr_str_is(attr->text, "WEAKORDER"))
        return hr_error(HR_UNSUPPORTED, "comparison_type WEAKORDER in VHLO before version 1.22");
      return put_enum(text, attr, true);
    default:
      return hr_error(HR_UNSUPPORTED, "an attribute that VHLO has no form for");
  }
}

/* True for CHLO's structures and for its precision enumeration. */
static bool is_chlo_text(const mlir_attr_t *attr) {
  if (!hr_str_is(attr->dialect, "chlo")) return false;
  if (attr->kind == MLIR_ATTR_STRUCT) return true;
  const bytecode_enum_t *row =
      attr->kind == MLIR_ATTR_ENUM ? bytecode_enum_named(attr->enum_name) : NULL;
  return row && row->chlo_code < 0;
}

/* True if an attribute has an encoding as text only. *out_dialect: dialect of the text. */
static bool is_attr_text(const mlir_attr_t *attr, bool in_vhlo, hr_str_t *out_dialect) {
  bool bare = attr->kind == MLIR_ATTR_OPAQUE && attr->text.size && attr->text.data[0] == '#';
  *out_dialect = HR_STR("builtin");
  if (bare)
    *out_dialect = bytecode_dialect_of((hr_str_t){attr->text.data + 1, attr->text.size - 1});
  if (is_chlo_text(attr)) *out_dialect = HR_STR("chlo");
  bool no_blob = attr->kind == MLIR_ATTR_DENSE && !attr->data && !in_vhlo;
  return attr->kind == MLIR_ATTR_OPAQUE || attr->kind == MLIR_ATTR_LOCATION ||
         attr->kind == MLIR_ATTR_SPARSE || no_blob || hr_str_is(*out_dialect, "chlo");
}

/* Binary encoding if there is one, else text, which VHLO allows since FOREIGN_OPS. */
static hr_status_t encode_attr(bytecode_writer_t *writer, const mlir_attr_t *attr, bool in_vhlo,
                               hr_strbuf_t *text, uint32_t *out_number) {
  hr_str_t dialect;
  uint32_t number;
  if (is_attr_text(attr, in_vhlo, &dialect)) {
    if (in_vhlo && writer->vhlo < VHLO_SINCE_FOREIGN_OPS)
      return hr_error(HR_UNSUPPORTED, "attributes of the dialect %.*s in VHLO before version 1.11",
                      HR_STR_ARGS(dialect));
    mlir_print_attr(text, attr);
    return bytecode_number_text(writer, &writer->attrs, dialect, text, out_number);
  }
  bool is_struct = attr->kind == MLIR_ATTR_STRUCT;
  bool is_enum = attr->kind == MLIR_ATTR_ENUM;
  dialect = is_struct || is_enum ? attr->dialect : HR_STR("builtin");
  if (in_vhlo) dialect = HR_STR("vhlo");
  if (is_struct) {
    const bytecode_struct_t *row =
        bytecode_struct_named(in_vhlo ? "vhlo" : "stablehlo", attr->text);
    if (!row)
      return hr_error(HR_UNSUPPORTED, "the attribute %.*s has no encoding",
                      HR_STR_ARGS(attr->text));
    HR_TRY(put_struct(writer, text, row, attr, in_vhlo));
  } else if (is_enum && !in_vhlo) {
    HR_TRY(put_enum(text, attr, false));
  } else {
    HR_TRY(in_vhlo ? put_vhlo_attr(writer, text, attr) : put_builtin_attr(writer, text, attr));
  }
  HR_TRY(bytecode_number_dialect(writer, dialect, &number));
  hr_str_t elements = large_elements(attr);
  return elements.size
             ? bytecode_number_elements(writer, &writer->attrs, number, text, elements, out_number)
             : bytecode_number_bytes(writer, &writer->attrs, number, true, text, out_number);
}

/* The number of an attribute; encodes it if neither its address nor its bytes are known. */
hr_status_t bytecode_number_attr(bytecode_writer_t *writer, const mlir_attr_t *attr, bool in_vhlo,
                                 uint32_t *out_number) {
  hr_strbuf_t text;
  if (bytecode_find_number(&writer->attrs, attr, in_vhlo, out_number)) return NULL;
  if (++writer->depth > BYTECODE_WRITE_MAX_DEPTH)
    return hr_error(HR_UNSUPPORTED, "an attribute nested more than %d levels deep",
                    BYTECODE_WRITE_MAX_DEPTH);
  hr_strbuf_init(&text);
  hr_status_t st = encode_attr(writer, attr, in_vhlo, &text, out_number);
  if (!st) st = bytecode_cache_number(writer, &writer->attrs, attr, in_vhlo, *out_number);
  hr_strbuf_deinit(&text);
  writer->depth--;
  return st;
}

/* The API version of a custom call: a number in StableHLO, an enumeration in VHLO. */
hr_status_t bytecode_number_api(bytecode_writer_t *writer, const mlir_attr_t *attr,
                                uint32_t *out_number) {
  hr_strbuf_t text;
  uint32_t dialect;
  if (attr->integer < 0 || attr->integer > 4)
    return hr_error(HR_INVALID, "the interface %ld of custom calls", (long)attr->integer);
  if (attr->integer == 4 && writer->vhlo < VHLO_SINCE_API_TYPED)
    return hr_error(HR_UNSUPPORTED, "the interface 4 of custom calls in VHLO before version 1.3");
  HR_TRY(bytecode_number_dialect(writer, HR_STR("vhlo"), &dialect));
  hr_strbuf_init(&text);
  bytecode_put_var(&text, VHLO_ATTR_API_VERSION);
  bytecode_put_var(&text, (uint64_t)attr->integer);
  hr_status_t st = bytecode_number_bytes(writer, &writer->attrs, dialect, true, &text, out_number);
  hr_strbuf_deinit(&text);
  return st;
}

/* A dictionary of builtin with values of VHLO, the form of discardable attributes of VHLO's ops. */
hr_status_t bytecode_number_mixed_dict(bytecode_writer_t *writer, int count,
                                       const mlir_named_attr_t *fields, uint32_t *out_number) {
  hr_strbuf_t text;
  uint32_t dialect;
  HR_TRY(bytecode_number_dialect(writer, HR_STR("builtin"), &dialect));
  hr_strbuf_init(&text);
  bytecode_put_var(&text, BUILTIN_ATTR_DICT);
  hr_status_t st = put_fields(writer, &text, count, fields, false, true);
  if (!st) st = bytecode_number_bytes(writer, &writer->attrs, dialect, true, &text, out_number);
  hr_strbuf_deinit(&text);
  return st;
}
