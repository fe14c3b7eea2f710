/* Types of the builtin, StableHLO and VHLO dialects, by the codes of their encodings
 * (bytecode_format.h, vhlo.h, floats in bytecode_attrs.def). VHLO's types become their StableHLO
 * and builtin counterparts. Each function reads the fields after the code; types within types are
 * decoded once for each entry of the table (bytecode_values.c). Checked here, as the rest of the
 * reader relies on them: ranks and numeric element types. */
#include <string.h>

#include "mlir/bytecode/bytecode_reader.h"
#include "mlir/text/mlir_parser.h"

hr_status_t bytecode_new_type(bytecode_reader_t *reader, mlir_type_kind_t kind,
                              mlir_type_t **out_type) {
  HR_TRY(HR_NEW(reader->arena, out_type));
  (*out_type)->kind = kind;
  return NULL;
}

/* A type without fields. */
static hr_status_t plain_type(bytecode_reader_t *reader, mlir_type_kind_t kind,
                              const mlir_type_t **out_type) {
  mlir_type_t *type;
  HR_TRY(bytecode_new_type(reader, kind, &type));
  *out_type = type;
  return NULL;
}

/* A float of a name from the table. */
static hr_status_t float_type(bytecode_reader_t *reader, const char *name,
                              const mlir_type_t **out_type) {
  mlir_type_t *type;
  HR_TRY(bytecode_new_type(reader, MLIR_TYPE_FLOAT, &type));
  type->name = hr_str_from(name);
  *out_type = type;
  return NULL;
}

hr_status_t bytecode_unknown_type(bytecode_reader_t *reader, bytecode_cursor_t *cursor,
                                  uint64_t code) {
  return bytecode_error(reader, cursor, "the type of code %lu is not known", (unsigned long)code);
}

/* Sizes as signed numbers; HR_UNBOUNDED is an unknown size on the wire, too. */
static hr_status_t take_dims(bytecode_reader_t *reader, bytecode_cursor_t *cursor,
                             mlir_type_t *type) {
  hr_ints_t dims;
  HR_TRY(bytecode_take_ints(reader, cursor, &dims));
  if (dims.count > HR_MAX_RANK)
    return bytecode_error(reader, cursor, "%ld dimensions, want at most 32", (long)dims.count);
  for (int64_t d = 0; d < dims.count; d++)
    if (dims.data[d] < 0 && dims.data[d] != HR_UNBOUNDED)
      return bytecode_error(reader, cursor, "a size below 0");
  type->rank = (int)dims.count;
  type->dims = dims.data;
  return NULL;
}

/* Whether a tensor can have elements of this type. */
static bool is_element(const mlir_type_t *type) {
  switch (type->kind) {
    case MLIR_TYPE_INTEGER:
    case MLIR_TYPE_FLOAT:
    case MLIR_TYPE_INDEX:
    case MLIR_TYPE_QUANT:
    case MLIR_TYPE_OPAQUE:
      return true;
    case MLIR_TYPE_COMPLEX:
      return type->element->kind == MLIR_TYPE_INTEGER || type->element->kind == MLIR_TYPE_FLOAT;
    default:
      return false;
  }
}

/* An element type, checked. */
static hr_status_t take_element(bytecode_reader_t *reader, bytecode_cursor_t *cursor,
                                mlir_type_t *type) {
  HR_TRY(bytecode_take_type(reader, cursor, &type->element));
  return is_element(type->element)
             ? NULL
             : bytecode_error(reader, cursor, "elements of a type that has none");
}

/* Sizes, then the element type. */
static hr_status_t bytecode_take_shape(bytecode_reader_t *reader, bytecode_cursor_t *cursor,
                                       mlir_type_t *type) {
  HR_TRY(take_dims(reader, cursor, type));
  return take_element(reader, cursor, type);
}

/* Width and signedness in one number: width << 2 | signedness, 0 to 2 as in `signs`. */
static hr_status_t take_integer_type(bytecode_reader_t *reader, bytecode_cursor_t *cursor,
                                     const mlir_type_t **out_type) {
  static const mlir_signedness_t signs[] = {MLIR_SIGNLESS, MLIR_SIGNED, MLIR_UNSIGNED};
  uint64_t bits;
  HR_TRY(bytecode_take_var(reader, cursor, &bits));
  if ((bits & 3) == 3 || bits >> 2 < 1 || bits >> 2 > 64)
    return bytecode_error(reader, cursor, "an integer type of %lu bits, want 1 to 64",
                          (unsigned long)(bits >> 2));
  return mlir_make_integer_type(reader->arena, (int)(bits >> 2), signs[bits & 3], out_type);
}

static hr_status_t check_parts(bytecode_reader_t *reader, bytecode_cursor_t *cursor,
                               mlir_type_t *type) {
  if (mlir_type_count_parts(type)) return NULL;
  return bytecode_error(reader, cursor, "a type of more than %d parts", MLIR_MOST_PARTS);
}

/* Types of inputs, then those of results. */
static hr_status_t take_function(bytecode_reader_t *reader, bytecode_cursor_t *cursor,
                                 const mlir_type_t **out_type) {
  mlir_type_t *type;
  HR_TRY(bytecode_new_type(reader, MLIR_TYPE_FUNCTION, &type));
  HR_TRY(bytecode_take_types(reader, cursor, &type->input_count, &type->inputs));
  HR_TRY(bytecode_take_types(reader, cursor, &type->result_count, &type->results));
  *out_type = type;
  return check_parts(reader, cursor, type);
}

/* A tuple or a future. */
static hr_status_t take_list(bytecode_reader_t *reader, bytecode_cursor_t *cursor,
                             mlir_type_kind_t kind, const mlir_type_t **out_type) {
  mlir_type_t *type;
  HR_TRY(bytecode_new_type(reader, kind, &type));
  HR_TRY(bytecode_take_types(reader, cursor, &type->result_count, &type->results));
  *out_type = type;
  return check_parts(reader, cursor, type);
}

/* The type of both parts. */
static hr_status_t take_complex(bytecode_reader_t *reader, bytecode_cursor_t *cursor,
                                const mlir_type_t **out_type) {
  mlir_type_t *type;
  HR_TRY(bytecode_new_type(reader, MLIR_TYPE_COMPLEX, &type));
  HR_TRY(bytecode_take_type(reader, cursor, &type->element));
  if (type->element->kind != MLIR_TYPE_FLOAT && type->element->kind != MLIR_TYPE_INTEGER)
    return bytecode_error(reader, cursor, "a complex type of what is no number");
  *out_type = type;
  return NULL;
}

/* Encoding if there is one, sizes, element type. */
static hr_status_t take_tensor(bytecode_reader_t *reader, bytecode_cursor_t *cursor, bool encoded,
                               const mlir_type_t **out_type) {
  mlir_type_t *type;
  HR_TRY(bytecode_new_type(reader, MLIR_TYPE_TENSOR, &type));
  if (encoded) HR_TRY(bytecode_take_attr(reader, cursor, &type->encoding));
  HR_TRY(bytecode_take_shape(reader, cursor, type));
  *out_type = type;
  return NULL;
}

/* The element type alone. */
static hr_status_t take_unranked(bytecode_reader_t *reader, bytecode_cursor_t *cursor,
                                 const mlir_type_t **out_type) {
  mlir_type_t *type;
  HR_TRY(bytecode_new_type(reader, MLIR_TYPE_UNRANKED_TENSOR, &type));
  HR_TRY(take_element(reader, cursor, type));
  *out_type = type;
  return NULL;
}

/* Memory space, shape and layout, each if the code says so. Only "strided" layouts are kept: the
 * others are affine maps, mostly the identity, which the tree omits. */
static hr_status_t take_memref(bytecode_reader_t *reader, bytecode_cursor_t *cursor, bool spaced,
                               bool unranked, const mlir_type_t **out_type) {
  mlir_type_t *type;
  HR_TRY(bytecode_new_type(reader, MLIR_TYPE_MEMREF, &type));
  if (spaced) HR_TRY(bytecode_take_attr(reader, cursor, &type->space));
  if (unranked) {
    HR_TRY(take_element(reader, cursor, type));
  } else {
    const mlir_attr_t *layout;
    HR_TRY(bytecode_take_shape(reader, cursor, type));
    HR_TRY(bytecode_take_attr(reader, cursor, &layout));
    if (layout->kind == MLIR_ATTR_OPAQUE && layout->text.size >= 7 &&
        memcmp(layout->text.data, "strided", 7) == 0)
      type->encoding = layout;
  }
  *out_type = type;
  return NULL;
}

/* If the code says so, one flag byte per dimension for scalable ones; then the shape. */
static hr_status_t take_vector(bytecode_reader_t *reader, bytecode_cursor_t *cursor, bool scalable,
                               const mlir_type_t **out_type) {
  mlir_type_t *type;
  HR_TRY(bytecode_new_type(reader, MLIR_TYPE_VECTOR, &type));
  if (scalable) {
    bytecode_cursor_t flags;
    bool *copy;
    HR_TRY(bytecode_take_blob(reader, cursor, &flags));
    HR_TRY(HR_NEW_ARRAY(reader->arena, HR_MAX_RANK, &copy));
    for (size_t i = 0; i < bytecode_left(&flags) && i < HR_MAX_RANK; i++)
      copy[i] = flags.at[i] != 0;
    type->scalable = copy;
  }
  HR_TRY(bytecode_take_shape(reader, cursor, type));
  *out_type = type;
  return NULL;
}

/* Decodes the type with this code of the builtin dialect. */
hr_status_t bytecode_builtin_type(bytecode_reader_t *reader, bytecode_cursor_t *cursor,
                                  uint64_t code, const mlir_type_t **out_type) {
  for (int i = 0; i < bytecode_float_count; i++)
    if ((int64_t)code == bytecode_floats[i].builtin_code)
      return float_type(reader, bytecode_floats[i].name, out_type);
  switch (code) {
    case BUILTIN_TYPE_INTEGER:
      return take_integer_type(reader, cursor, out_type);
    case BUILTIN_TYPE_INDEX:
      return plain_type(reader, MLIR_TYPE_INDEX, out_type);
    case BUILTIN_TYPE_FUNCTION:
      return take_function(reader, cursor, out_type);
    case BUILTIN_TYPE_COMPLEX:
      return take_complex(reader, cursor, out_type);
    case BUILTIN_TYPE_MEMREF:
      return take_memref(reader, cursor, false, false, out_type);
    case BUILTIN_TYPE_MEMREF_SPACE:
      return take_memref(reader, cursor, true, false, out_type);
    case BUILTIN_TYPE_NONE:
      return plain_type(reader, MLIR_TYPE_NONE, out_type);
    case BUILTIN_TYPE_TENSOR:
      return take_tensor(reader, cursor, false, out_type);
    case BUILTIN_TYPE_TENSOR_ENCODED:
      return take_tensor(reader, cursor, true, out_type);
    case BUILTIN_TYPE_TUPLE:
      return take_list(reader, cursor, MLIR_TYPE_TUPLE, out_type);
    case BUILTIN_TYPE_UNRANKED_MEMREF:
      return take_memref(reader, cursor, false, true, out_type);
    case BUILTIN_TYPE_UNRANKED_MEMREF_SPACE:
      return take_memref(reader, cursor, true, true, out_type);
    case BUILTIN_TYPE_UNRANKED_TENSOR:
      return take_unranked(reader, cursor, out_type);
    case BUILTIN_TYPE_VECTOR:
      return take_vector(reader, cursor, false, out_type);
    case BUILTIN_TYPE_SCALABLE_VECTOR:
      return take_vector(reader, cursor, true, out_type);
    default:
      return bytecode_unknown_type(reader, cursor, code);
  }
}

/* Types of StableHLO itself, in files without VHLO: token, and futures of a list of types. */
hr_status_t bytecode_stablehlo_type(bytecode_reader_t *reader, bytecode_cursor_t *cursor,
                                    uint64_t code, const mlir_type_t **out_type) {
  if (code == STABLEHLO_TYPE_TOKEN) return plain_type(reader, MLIR_TYPE_TOKEN, out_type);
  if (code == STABLEHLO_TYPE_FUTURE) return take_list(reader, cursor, MLIR_TYPE_FUTURE, out_type);
  return bytecode_unknown_type(reader, cursor, code);
}

/* --- VHLO --- */

/* VHLO has a code per integer type. */
static hr_status_t vhlo_integer(bytecode_reader_t *reader, uint64_t code,
                                const mlir_type_t **out_type) {
  int width;
  bool is_unsigned;
  if (!vhlo_integer_type(code, &width, &is_unsigned)) return NULL;
  return mlir_make_integer_type(reader->arena, width, is_unsigned ? MLIR_UNSIGNED : MLIR_SIGNLESS,
                                out_type);
}

/* VHLO's memref: sizes and element type, no layout. */
static hr_status_t take_buffer(bytecode_reader_t *reader, bytecode_cursor_t *cursor,
                               const mlir_type_t **out_type) {
  mlir_type_t *type;
  HR_TRY(bytecode_new_type(reader, MLIR_TYPE_MEMREF, &type));
  HR_TRY(bytecode_take_shape(reader, cursor, type));
  *out_type = type;
  return NULL;
}

/* Decodes the type with this code of VHLO. */
hr_status_t bytecode_vhlo_type(bytecode_reader_t *reader, bytecode_cursor_t *cursor, uint64_t code,
                               const mlir_type_t **out_type) {
  mlir_type_t *type;
  *out_type = NULL;
  HR_TRY(vhlo_integer(reader, code, out_type));
  if (*out_type) return NULL;
  for (int i = 0; i < bytecode_float_count; i++)
    if ((int64_t)code == bytecode_floats[i].vhlo_code)
      return float_type(reader, bytecode_floats[i].name, out_type);
  switch (code) {
    case VHLO_TYPE_COMPLEX:
      return take_complex(reader, cursor, out_type);
    case VHLO_TYPE_FUNCTION:
      return take_function(reader, cursor, out_type);
    case VHLO_TYPE_INDEX:
      return plain_type(reader, MLIR_TYPE_INDEX, out_type);
    case VHLO_TYPE_TENSOR:
      return take_tensor(reader, cursor, false, out_type);
    case VHLO_TYPE_TENSOR_ENCODED:
      return take_tensor(reader, cursor, true, out_type);
    case VHLO_TYPE_TOKEN:
      return plain_type(reader, MLIR_TYPE_TOKEN, out_type);
    case VHLO_TYPE_TUPLE:
      return take_list(reader, cursor, MLIR_TYPE_TUPLE, out_type);
    case VHLO_TYPE_QUANT:
      return bytecode_take_uniform(reader, cursor, false, out_type);
    case VHLO_TYPE_UNRANKED:
      return take_unranked(reader, cursor, out_type);
    case VHLO_TYPE_WITNESS:
      HR_TRY(bytecode_new_type(reader, MLIR_TYPE_OPAQUE, &type));
      type->name = HR_STR("shape.witness");
      *out_type = type;
      return NULL;
    case VHLO_TYPE_QUANT_AXIS:
      return bytecode_take_uniform(reader, cursor, true, out_type);
    case VHLO_TYPE_NONE:
      return plain_type(reader, MLIR_TYPE_NONE, out_type);
    case VHLO_TYPE_BUFFER:
      return take_buffer(reader, cursor, out_type);
    case VHLO_TYPE_FUTURE:
      return take_list(reader, cursor, MLIR_TYPE_FUTURE, out_type);
    default:
      return bytecode_unknown_type(reader, cursor, code);
  }
}
