/* Types of the builtin, quant, StableHLO and VHLO dialects, by the codes of their encodings
 * (bytecode_format.h, vhlo.h, floats in bytecode_attrs.def). VHLO's types become their StableHLO
 * and builtin counterparts. Each function reads the fields after the code; types within types are
 * decoded once for each entry of the table (bytecode_values.c). Checked here, as the rest of the
 * reader relies on them: ranks, numeric element types, storage of quantised types. */
#include <string.h>

#include "mlir/bytecode/bytecode_reader.h"
#include "mlir/text/mlir_parser.h"

/* A type of this kind, all other fields zero. */
static hr_status_t bytecode_new_type(bytecode_reader_t *reader, mlir_type_kind_t kind,
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

/* INVALID: a code that the supported versions of the dialect do not have. */
static hr_status_t unknown_type(bytecode_reader_t *reader, bytecode_cursor_t *cursor,
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

/* Types of inputs, then those of results. */
static hr_status_t take_function(bytecode_reader_t *reader, bytecode_cursor_t *cursor,
                                 const mlir_type_t **out_type) {
  mlir_type_t *type;
  HR_TRY(bytecode_new_type(reader, MLIR_TYPE_FUNCTION, &type));
  HR_TRY(bytecode_take_types(reader, cursor, &type->input_count, &type->inputs));
  HR_TRY(bytecode_take_types(reader, cursor, &type->result_count, &type->results));
  *out_type = type;
  return NULL;
}

/* A tuple or a future. */
static hr_status_t take_list(bytecode_reader_t *reader, bytecode_cursor_t *cursor,
                             mlir_type_kind_t kind, const mlir_type_t **out_type) {
  mlir_type_t *type;
  HR_TRY(bytecode_new_type(reader, kind, &type));
  HR_TRY(bytecode_take_types(reader, cursor, &type->result_count, &type->results));
  *out_type = type;
  return NULL;
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
      return unknown_type(reader, cursor, code);
  }
}

/* Types of StableHLO itself, in files without VHLO: token, and futures of a list of types. */
hr_status_t bytecode_stablehlo_type(bytecode_reader_t *reader, bytecode_cursor_t *cursor,
                                    uint64_t code, const mlir_type_t **out_type) {
  if (code == STABLEHLO_TYPE_TOKEN) return plain_type(reader, MLIR_TYPE_TOKEN, out_type);
  if (code == STABLEHLO_TYPE_FUTURE) return take_list(reader, cursor, MLIR_TYPE_FUTURE, out_type);
  return unknown_type(reader, cursor, code);
}

/* --- quantised types --- */

/* Flags (bit 0: signed) and the storage type, which is signless on the wire. Unsigned storage
 * becomes an unsigned type, as in the text form. */
static hr_status_t take_storage(bytecode_reader_t *reader, bytecode_cursor_t *cursor,
                                mlir_quant_t *quant) {
  uint64_t flags;
  HR_TRY(bytecode_take_var(reader, cursor, &flags));
  HR_TRY(bytecode_take_type(reader, cursor, &quant->storage));
  quant->storage_signed = flags & 1;
  if (quant->storage->kind != MLIR_TYPE_INTEGER || quant->storage->width > 32)
    return bytecode_error(
        reader, cursor,
        "a quantised type that is stored as something else than an integer of 1 to 32 bits");
  mlir_signedness_t sign = quant->storage_signed ? MLIR_SIGNLESS : MLIR_UNSIGNED;
  return mlir_make_integer_type(reader->arena, quant->storage->width, sign, &quant->storage);
}

/* Smallest and largest stored value. */
static hr_status_t take_range(bytecode_reader_t *reader, bytecode_cursor_t *cursor,
                              mlir_quant_t *quant) {
  HR_TRY(bytecode_take_svar(reader, cursor, &quant->min));
  return bytecode_take_svar(reader, cursor, &quant->max);
}

/* The float type that quantised values represent. */
static hr_status_t take_expressed(bytecode_reader_t *reader, bytecode_cursor_t *cursor,
                                  mlir_quant_t *quant) {
  HR_TRY(bytecode_take_type(reader, cursor, &quant->expressed));
  return quant->expressed->kind == MLIR_TYPE_FLOAT
             ? NULL
             : bytecode_error(reader, cursor, "a quantised type that expresses no float");
}

/* A quantised type without values; `axis` is -1 until one is read. */
static hr_status_t new_quant(bytecode_reader_t *reader, int form, mlir_quant_t **out_quant,
                             const mlir_type_t **out_type) {
  mlir_type_t *type;
  HR_TRY(HR_NEW(reader->arena, out_quant));
  HR_TRY(bytecode_new_type(reader, MLIR_TYPE_QUANT, &type));
  (*out_quant)->form = form;
  (*out_quant)->axis = -1;
  type->quant = *out_quant;
  *out_type = type;
  return NULL;
}

/* Scale and zero point of a type per tensor. */
static hr_status_t take_one_scale(bytecode_reader_t *reader, bytecode_cursor_t *cursor,
                                  mlir_quant_t *quant) {
  double *scale;
  int64_t *zero;
  HR_TRY(HR_NEW(reader->arena, &scale));
  HR_TRY(HR_NEW(reader->arena, &zero));
  HR_TRY(bytecode_take_f64(reader, cursor, scale));
  HR_TRY(bytecode_take_svar(reader, cursor, zero));
  quant->scale_count = 1;
  quant->scales = scale;
  quant->zero_points = zero;
  return NULL;
}

/* Scales, then as many zero points, of a type per axis. */
static hr_status_t take_scales(bytecode_reader_t *reader, bytecode_cursor_t *cursor,
                               mlir_quant_t *quant) {
  double *scales;
  hr_ints_t zeros;
  int64_t *dims;
  HR_TRY(bytecode_take_count(reader, cursor, &quant->scale_count));
  HR_TRY(HR_NEW_ARRAY(reader->arena, quant->scale_count, &scales));
  for (int i = 0; i < quant->scale_count; i++)
    HR_TRY(bytecode_take_f64(reader, cursor, &scales[i]));
  HR_TRY(bytecode_take_ints(reader, cursor, &zeros));
  if (zeros.count != quant->scale_count)
    return bytecode_error(reader, cursor, "%d scales, but %ld zero points", quant->scale_count,
                          (long)zeros.count);
  HR_TRY(HR_NEW(reader->arena, &dims));
  *dims = quant->scale_count;
  quant->scales = scales;
  quant->zero_points = zeros.data;
  quant->scale_rank = 1;
  quant->scale_dims = dims;
  return NULL;
}

/* Per tensor: scale, zero point, range. Per axis: axis, range, scales, zero points. Both begin
 * with storage and expressed type, in quant and in VHLO alike. */
static hr_status_t bytecode_take_uniform(bytecode_reader_t *reader, bytecode_cursor_t *cursor,
                                         bool per_axis, const mlir_type_t **out_type) {
  mlir_quant_t *quant;
  uint64_t axis;
  HR_TRY(new_quant(reader, MLIR_QUANT_UNIFORM, &quant, out_type));
  HR_TRY(take_storage(reader, cursor, quant));
  HR_TRY(take_expressed(reader, cursor, quant));
  if (!per_axis) {
    HR_TRY(take_one_scale(reader, cursor, quant));
    return take_range(reader, cursor, quant);
  }
  HR_TRY(bytecode_take_var(reader, cursor, &axis));
  if (axis >= HR_MAX_RANK)
    return bytecode_error(reader, cursor, "the axis %lu of a quantised type", (unsigned long)axis);
  quant->axis = (int64_t)axis;
  HR_TRY(take_range(reader, cursor, quant));
  return take_scales(reader, cursor, quant);
}

/* Decodes the scales and zero points of blocks. Zero points are extended by their sign from the
 * width that they are stored with. */
static hr_status_t decode_blocks(bytecode_reader_t *reader, bytecode_cursor_t *cursor,
                                 const mlir_attr_t *scales, const mlir_attr_t *zeros,
                                 mlir_quant_t *quant) {
  size_t scale_bytes = mlir_element_bytes(scales->type->element);
  size_t zero_bytes = mlir_element_bytes(zeros->type->element);
  hr_dtype_t dtype;
  double *values;
  int64_t *points;
  if (!mlir_float_dtype(scales->type->element, &dtype) || zero_bytes > 8)
    return bytecode_error(reader, cursor, "scales of a type without arithmetic");
  HR_TRY(HR_NEW_ARRAY(reader->arena, scales->element_count, &values));
  HR_TRY(HR_NEW_ARRAY(reader->arena, scales->element_count, &points));
  for (int64_t i = 0; i < scales->element_count; i++) {
    uint64_t bits = 0;
    memcpy(&bits, (const char *)scales->data + (size_t)i * scale_bytes, scale_bytes);
    values[i] = hr_float_decode(dtype, bits);
    memcpy(&points[i], (const char *)zeros->data + (size_t)i * zero_bytes, zero_bytes);
    if (zero_bytes)
      points[i] = (int64_t)((uint64_t)points[i] << (64 - 8 * zero_bytes)) >> (64 - 8 * zero_bytes);
  }
  quant->scale_rank = scales->type->rank;
  quant->scale_dims = scales->type->dims;
  quant->scale_count = (int)scales->element_count;
  quant->scales = values;
  quant->zero_points = points;
  return NULL;
}

/* Sub-channels: axes and block sizes, then scales and zero points as dense attributes of one
 * shape. */
static hr_status_t take_blocks(bytecode_reader_t *reader, bytecode_cursor_t *cursor,
                               mlir_quant_t *quant) {
  hr_ints_t axes, sizes;
  const mlir_attr_t *scales, *zeros;
  HR_TRY(bytecode_take_ints(reader, cursor, &axes));
  HR_TRY(bytecode_take_ints(reader, cursor, &sizes));
  HR_TRY(bytecode_take_attr(reader, cursor, &scales));
  HR_TRY(bytecode_take_attr(reader, cursor, &zeros));
  bool fits = axes.count == sizes.count && axes.count <= HR_MAX_RANK &&
              scales->kind == MLIR_ATTR_DENSE && zeros->kind == MLIR_ATTR_DENSE && scales->data &&
              zeros->data && scales->type->element->kind == MLIR_TYPE_FLOAT;
  if (!fits || scales->element_count > 1 << 20 || scales->splat || zeros->splat ||
      zeros->element_count != scales->element_count)
    return bytecode_error(reader, cursor, "scales of blocks that do not fit each other");
  quant->block_count = (int)axes.count;
  quant->block_axes = axes.data;
  quant->block_sizes = sizes.data;
  return decode_blocks(reader, cursor, scales, zeros, quant);
}

/* Decodes the type with this code of the quant dialect. */
hr_status_t bytecode_quant_type(bytecode_reader_t *reader, bytecode_cursor_t *cursor, uint64_t code,
                                const mlir_type_t **out_type) {
  mlir_quant_t *quant;
  switch (code) {
    case QUANT_TYPE_ANY:
    case QUANT_TYPE_ANY_EXPRESSED:
      HR_TRY(new_quant(reader, MLIR_QUANT_ANY, &quant, out_type));
      HR_TRY(take_storage(reader, cursor, quant));
      if (code == QUANT_TYPE_ANY_EXPRESSED) HR_TRY(take_expressed(reader, cursor, quant));
      return take_range(reader, cursor, quant);
    case QUANT_TYPE_CALIBRATED:
      HR_TRY(new_quant(reader, MLIR_QUANT_CALIBRATED, &quant, out_type));
      HR_TRY(take_expressed(reader, cursor, quant));
      HR_TRY(bytecode_take_f64(reader, cursor, &quant->calibrated_min));
      return bytecode_take_f64(reader, cursor, &quant->calibrated_max);
    case QUANT_TYPE_UNIFORM:
      return bytecode_take_uniform(reader, cursor, false, out_type);
    case QUANT_TYPE_UNIFORM_AXIS:
      return bytecode_take_uniform(reader, cursor, true, out_type);
    case QUANT_TYPE_UNIFORM_BLOCKS:
      HR_TRY(new_quant(reader, MLIR_QUANT_UNIFORM, &quant, out_type));
      HR_TRY(take_storage(reader, cursor, quant));
      HR_TRY(take_expressed(reader, cursor, quant));
      HR_TRY(take_range(reader, cursor, quant));
      return take_blocks(reader, cursor, quant);
    default:
      return unknown_type(reader, cursor, code);
  }
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
      return unknown_type(reader, cursor, code);
  }
}
