/* Quantised types: storage type, range, expressed type, and scales for the whole, along an axis or
 * by blocks. Their storage is checked here, as the rest of the reader relies on it. */
#include <string.h>

#include "mlir/bytecode/bytecode_reader.h"
#include "mlir/text/mlir_parser.h"

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
hr_status_t bytecode_take_uniform(bytecode_reader_t *reader, bytecode_cursor_t *cursor,
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
      return bytecode_unknown_type(reader, cursor, code);
  }
}
