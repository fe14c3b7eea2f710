/* Attributes of the builtin dialect, and functions that other dialects share with it. Elements of
 * tensors and resources are used in place in the file if their alignment allows it, so that models
 * of gigabytes are not copied; everything else is copied to the arena. */
#include <string.h>

#include "mlir/bytecode/bytecode_reader.h"
#include "mlir/text/mlir_parser.h"

/* An attribute of this kind, all other fields zero. */
static hr_status_t new_attr(bytecode_reader_t *reader, mlir_attr_kind_t kind,
                            mlir_attr_t **out_attr) {
  HR_TRY(HR_NEW(reader->arena, out_attr));
  (*out_attr)->kind = kind;
  return NULL;
}

/* INVALID: codes are numbers of a dialect, and an unknown one (of a newer version) cannot be
 * skipped, since the length of its fields is unknown. */
hr_status_t bytecode_unknown_attr(bytecode_reader_t *reader, bytecode_cursor_t *cursor,
                                  uint64_t code) {
  return bytecode_error(reader, cursor, "the attribute of code %lu is not known",
                        (unsigned long)code);
}

/* --- numbers --- */

/* The bits of a number of `width` bits: one byte up to 8 bits, else a signed number, whose high
 * bits are cut off. */
static hr_status_t take_pattern(bytecode_reader_t *reader, bytecode_cursor_t *cursor, int width,
                                uint64_t *out_bits) {
  uint8_t byte = 0;
  int64_t word;
  if (width > 64)
    return bytecode_error(reader, cursor, "a number of %d bits, want at most 64", width);
  if (width <= 8) {
    HR_TRY(bytecode_take_byte(reader, cursor, &byte));
    *out_bits = byte & ((UINT64_C(1) << width) - 1);
    return NULL;
  }
  HR_TRY(bytecode_take_svar(reader, cursor, &word));
  *out_bits = width == 64 ? (uint64_t)word : (uint64_t)word & ((UINT64_C(1) << width) - 1);
  return NULL;
}

/* Type, then the bits. i1 becomes a bool; all but unsigned types are extended by their sign. */
hr_status_t bytecode_take_integer(bytecode_reader_t *reader, bytecode_cursor_t *cursor,
                                  const mlir_attr_t **out_attr) {
  const mlir_type_t *type;
  uint64_t bits;
  HR_TRY(bytecode_take_type(reader, cursor, &type));
  if (type->kind != MLIR_TYPE_INTEGER && type->kind != MLIR_TYPE_INDEX)
    return bytecode_error(reader, cursor, "an integer of another type");
  int width = type->kind == MLIR_TYPE_INDEX ? 64 : type->width;
  HR_TRY(take_pattern(reader, cursor, width, &bits));
  if (width == 1 && type->signedness == MLIR_SIGNLESS)
    return mlir_make_bool(reader->arena, bits, out_attr);
  if (type->signedness != MLIR_UNSIGNED)
    bits = (uint64_t)((int64_t)(bits << (64 - width)) >> (64 - width));
  return mlir_make_integer(reader->arena, (int64_t)bits, type, out_attr);
}

/* Type, then the bits; `number` stays 0 for types without arithmetic here (tf32, f80, f128). */
hr_status_t bytecode_take_float(bytecode_reader_t *reader, bytecode_cursor_t *cursor,
                                const mlir_attr_t **out_attr) {
  mlir_attr_t *attr;
  hr_dtype_t dtype;
  HR_TRY(new_attr(reader, MLIR_ATTR_FLOAT, &attr));
  HR_TRY(bytecode_take_type(reader, cursor, &attr->type));
  if (attr->type->kind != MLIR_TYPE_FLOAT)
    return bytecode_error(reader, cursor, "a float of another type");
  HR_TRY(take_pattern(reader, cursor, mlir_float_bits(attr->type->name), &attr->bits));
  if (mlir_float_dtype(attr->type, &dtype)) attr->number = hr_float_decode(dtype, attr->bits);
  *out_attr = attr;
  return NULL;
}

/* --- elements --- */

/* The scalar that elements are made of: parts of complex ones, storage of quantised ones. */
static const mlir_type_t *scalar_of(const mlir_type_t *element) {
  if (element->kind == MLIR_TYPE_COMPLEX) return scalar_of(element->element);
  return element->kind == MLIR_TYPE_QUANT ? element->quant->storage : element;
}

/* True if the bytes of the file can be elements of the tree without a copy: scalars have a power
 * of two of whole bytes and are aligned, and are not narrow integers, whose high bits must be
 * set. */
static bool usable_in_place(const mlir_type_t *element, const uint8_t *bytes) {
  const mlir_type_t *scalar = scalar_of(element);
  size_t size = mlir_element_bytes(scalar);
  bool narrow = scalar->kind == MLIR_TYPE_INTEGER && scalar->width < 8;
  return !narrow && size && (size & (size - 1)) == 0 && ((uintptr_t)bytes & (size - 1)) == 0;
}

/* Elements of a tensor: in place if usable and complete, else a copy (splats, packed i1, narrow
 * types). */
static hr_status_t set_dense(bytecode_reader_t *reader, const bytecode_cursor_t *bytes,
                             mlir_attr_t *attr) {
  const mlir_type_t *type = attr->type;
  int64_t count = 1;
  size_t total;
  size_t each = mlir_element_bytes(type->element);
  size_t size = bytecode_left(bytes);
  for (int d = 0; d < type->rank; d++)
    if (type->dims[d] < 0 || __builtin_mul_overflow(count, type->dims[d], &count))
      return bytecode_error(reader, bytes, "elements of a shape that is not static or too large");
  bool whole = !__builtin_mul_overflow((size_t)count, each, &total) && total == size;
  if (!whole || !size || !usable_in_place(type->element, bytes->at))
    return mlir_dense_from_bytes(reader->arena, type, bytes->at, size, attr);
  attr->data = bytes->at;
  attr->element_count = count;
  attr->buffer = reader->module->source_buffer;
  return NULL;
}

/* The type of elements: a tensor or a vector. */
static hr_status_t take_elements_type(bytecode_reader_t *reader, bytecode_cursor_t *cursor,
                                      mlir_attr_t *attr) {
  HR_TRY(bytecode_take_type(reader, cursor, &attr->type));
  bool shaped = attr->type->kind == MLIR_TYPE_TENSOR || attr->type->kind == MLIR_TYPE_VECTOR;
  return shaped ? NULL : bytecode_error(reader, cursor, "elements of what is no tensor");
}

/* type, then a blob of elements. */
hr_status_t bytecode_take_dense(bytecode_reader_t *reader, bytecode_cursor_t *cursor,
                                const mlir_attr_t **out_attr) {
  mlir_attr_t *attr;
  bytecode_cursor_t bytes;
  HR_TRY(new_attr(reader, MLIR_ATTR_DENSE, &attr));
  HR_TRY(take_elements_type(reader, cursor, attr));
  HR_TRY(bytecode_take_blob(reader, cursor, &bytes));
  HR_TRY(set_dense(reader, &bytes, attr));
  *out_attr = attr;
  return NULL;
}

/* Type, then the number of a resource. Its blob may be missing, as in text. */
static hr_status_t take_resource(bytecode_reader_t *reader, bytecode_cursor_t *cursor,
                                 const mlir_attr_t **out_attr) {
  mlir_attr_t *attr;
  uint64_t index;
  HR_TRY(new_attr(reader, MLIR_ATTR_DENSE, &attr));
  HR_TRY(take_elements_type(reader, cursor, attr));
  HR_TRY(bytecode_take_var(reader, cursor, &index));
  if (index >= reader->resources.count)
    return bytecode_error(reader, cursor, "resource %lu of %zu", (unsigned long)index,
                          reader->resources.count);
  const bytecode_resource_t *resource = &reader->resources.data[index];
  bytecode_cursor_t bytes = {resource->bytes, resource->bytes + resource->size};
  attr->resource = resource->key;
  *out_attr = attr;
  return resource->bytes ? set_dense(reader, &bytes, attr) : NULL;
}

/* array<T: ...>: element type, count, bytes; i1 takes a byte each. */
static hr_status_t take_dense_array(bytecode_reader_t *reader, bytecode_cursor_t *cursor,
                                    const mlir_attr_t **out_attr) {
  mlir_attr_t *attr;
  uint64_t count;
  bytecode_cursor_t bytes;
  void *copy;
  HR_TRY(new_attr(reader, MLIR_ATTR_DENSE_ARRAY, &attr));
  HR_TRY(bytecode_take_type(reader, cursor, &attr->type));
  HR_TRY(bytecode_take_var(reader, cursor, &count));
  HR_TRY(bytecode_take_blob(reader, cursor, &bytes));
  size_t each = mlir_element_bytes(attr->type);
  size_t size = bytecode_left(&bytes);
  bool plain = attr->type->kind == MLIR_TYPE_INTEGER || attr->type->kind == MLIR_TYPE_FLOAT;
  if (!plain || size % each || size / each != count)
    return bytecode_error(reader, cursor, "%zu bytes for a list of %lu", size,
                          (unsigned long)count);
  HR_TRY(hr_arena_copy(reader->arena, bytes.at, size, &copy));
  attr->data = copy;
  attr->element_count = (int64_t)count;
  *out_attr = attr;
  return NULL;
}

/* Elements that are strings have no place in the tree: the entry is skipped and named. */
static hr_status_t take_dense_strings(bytecode_reader_t *reader, bytecode_cursor_t *cursor,
                                      const mlir_attr_t **out_attr) {
  mlir_attr_t *attr;
  HR_TRY(new_attr(reader, MLIR_ATTR_OPAQUE, &attr));
  attr->text = HR_STR("dense<strings>");
  cursor->at = cursor->end;
  *out_attr = attr;
  return NULL;
}

/* type, indices, values. */
static hr_status_t take_sparse(bytecode_reader_t *reader, bytecode_cursor_t *cursor,
                               const mlir_attr_t **out_attr) {
  mlir_attr_t *attr;
  HR_TRY(new_attr(reader, MLIR_ATTR_SPARSE, &attr));
  HR_TRY(take_elements_type(reader, cursor, attr));
  HR_TRY(bytecode_take_attr(reader, cursor, &attr->indices));
  HR_TRY(bytecode_take_attr(reader, cursor, &attr->values));
  *out_attr = attr;
  return NULL;
}

/* --- names and lists --- */

/* An attribute that must be a string. */
hr_status_t bytecode_take_text(bytecode_reader_t *reader, bytecode_cursor_t *cursor,
                               hr_str_t *out_text) {
  const mlir_attr_t *attr;
  HR_TRY(bytecode_take_attr(reader, cursor, &attr));
  *out_text = attr->text;
  return attr->kind == MLIR_ATTR_STRING ? NULL : bytecode_error(reader, cursor, "want a string");
}

static hr_status_t check_parts(bytecode_reader_t *reader, bytecode_cursor_t *cursor,
                               const mlir_attr_t *attr) {
  if (attr->part_count <= MLIR_MOST_ATTR_PARTS) return NULL;
  return bytecode_error(reader, cursor, "an attribute of more than %d parts", MLIR_MOST_ATTR_PARTS);
}

/* Count, then attributes. */
hr_status_t bytecode_take_array(bytecode_reader_t *reader, bytecode_cursor_t *cursor,
                                const mlir_attr_t **out_attr) {
  int count;
  const mlir_attr_t **items;
  HR_TRY(bytecode_take_attrs(reader, cursor, &count, &items));
  HR_TRY(mlir_make_array(reader->arena, count, items, out_attr));
  return check_parts(reader, cursor, *out_attr);
}

/* Names are string attributes; entries may come in any order and are sorted here. */
hr_status_t bytecode_take_dict(bytecode_reader_t *reader, bytecode_cursor_t *cursor,
                               const mlir_attr_t **out_attr) {
  int count;
  mlir_named_attr_t *fields;
  HR_TRY(bytecode_take_count(reader, cursor, &count));
  HR_TRY(HR_NEW_ARRAY(reader->arena, count, &fields));
  for (int i = 0; i < count; i++) {
    HR_TRY(bytecode_take_text(reader, cursor, &fields[i].name));
    HR_TRY(bytecode_take_attr(reader, cursor, &fields[i].value));
  }
  HR_TRY(mlir_make_dict(reader->arena, count, fields, out_attr));
  HR_TRY(check_parts(reader, cursor, *out_attr));
  for (int i = 1; i < count; i++)
    if (hr_str_equal((*out_attr)->fields[i].name, (*out_attr)->fields[i - 1].name))
      return bytecode_error(reader, cursor, "the attribute %.*s is given twice",
                            HR_STR_ARGS((*out_attr)->fields[i].name));
  return NULL;
}

/* A string, and a type if `typed`; the type none is the same as no type. */
hr_status_t bytecode_take_string_attr(bytecode_reader_t *reader, bytecode_cursor_t *cursor,
                                      bool typed, const mlir_attr_t **out_attr) {
  mlir_attr_t *attr;
  HR_TRY(new_attr(reader, MLIR_ATTR_STRING, &attr));
  HR_TRY(bytecode_take_string(reader, cursor, &attr->text));
  if (typed) HR_TRY(bytecode_take_type(reader, cursor, &attr->type));
  if (typed && attr->type->kind == MLIR_TYPE_NONE) attr->type = NULL;
  *out_attr = attr;
  return NULL;
}

/* The root's name; with `nested`, nested references follow, each an attribute. */
static hr_status_t take_symbol(bytecode_reader_t *reader, bytecode_cursor_t *cursor, bool nested,
                               const mlir_attr_t **out_attr) {
  mlir_attr_t *attr;
  const mlir_attr_t **items;
  HR_TRY(new_attr(reader, MLIR_ATTR_SYMBOL, &attr));
  HR_TRY(bytecode_take_text(reader, cursor, &attr->text));
  if (nested) {
    hr_str_t *names;
    HR_TRY(bytecode_take_attrs(reader, cursor, &attr->count, &items));
    HR_TRY(HR_NEW_ARRAY(reader->arena, attr->count, &names));
    for (int i = 0; i < attr->count; i++) names[i] = items[i]->text;
    attr->nested = names;
  }
  *out_attr = attr;
  return NULL;
}

/* A type as an attribute. */
hr_status_t bytecode_take_type_attr(bytecode_reader_t *reader, bytecode_cursor_t *cursor,
                                    const mlir_attr_t **out_attr) {
  const mlir_type_t *type;
  HR_TRY(bytecode_take_type(reader, cursor, &type));
  return mlir_make_type_attr(reader->arena, type, out_attr);
}

/* distinct[n]<attribute>: only the attribute is kept; identity has no meaning in the tree. */
static hr_status_t take_distinct(bytecode_reader_t *reader, bytecode_cursor_t *cursor,
                                 const mlir_attr_t **out_attr) {
  return bytecode_take_attr(reader, cursor, out_attr);
}

/* Decodes the attribute with this code of the builtin dialect. */
hr_status_t bytecode_builtin_attr(bytecode_reader_t *reader, bytecode_cursor_t *cursor,
                                  uint64_t code, const mlir_attr_t **out_attr) {
  switch (code) {
    case BUILTIN_ATTR_ARRAY:
      return bytecode_take_array(reader, cursor, out_attr);
    case BUILTIN_ATTR_DICT:
      return bytecode_take_dict(reader, cursor, out_attr);
    case BUILTIN_ATTR_STRING:
      return bytecode_take_string_attr(reader, cursor, false, out_attr);
    case BUILTIN_ATTR_TYPED_STRING:
      return bytecode_take_string_attr(reader, cursor, true, out_attr);
    case BUILTIN_ATTR_SYMBOL:
      return take_symbol(reader, cursor, false, out_attr);
    case BUILTIN_ATTR_NESTED_SYMBOL:
      return take_symbol(reader, cursor, true, out_attr);
    case BUILTIN_ATTR_TYPE:
      return bytecode_take_type_attr(reader, cursor, out_attr);
    case BUILTIN_ATTR_UNIT:
      return mlir_make_unit(reader->arena, out_attr);
    case BUILTIN_ATTR_INTEGER:
      return bytecode_take_integer(reader, cursor, out_attr);
    case BUILTIN_ATTR_FLOAT:
      return bytecode_take_float(reader, cursor, out_attr);
    case BUILTIN_ATTR_CALL_SITE_LOC:
    case BUILTIN_ATTR_FILE_LOC:
    case BUILTIN_ATTR_FUSED_LOC:
    case BUILTIN_ATTR_FUSED_METADATA_LOC:
    case BUILTIN_ATTR_NAME_LOC:
    case BUILTIN_ATTR_UNKNOWN_LOC:
    case BUILTIN_ATTR_FILE_RANGE_LOC:
      return bytecode_take_location(reader, cursor, code, out_attr);
    case BUILTIN_ATTR_RESOURCE:
      return take_resource(reader, cursor, out_attr);
    case BUILTIN_ATTR_DENSE_ARRAY:
      return take_dense_array(reader, cursor, out_attr);
    case BUILTIN_ATTR_DENSE:
      return bytecode_take_dense(reader, cursor, out_attr);
    case BUILTIN_ATTR_DENSE_STRINGS:
      return take_dense_strings(reader, cursor, out_attr);
    case BUILTIN_ATTR_SPARSE:
      return take_sparse(reader, cursor, out_attr);
    case BUILTIN_ATTR_DISTINCT:
      return take_distinct(reader, cursor, out_attr);
    default:
      return bytecode_unknown_attr(reader, cursor, code);
  }
}
