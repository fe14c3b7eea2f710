/* Local arithmetic of a partition's program: its coordinates, tables by coordinate, slices, pads
 * and masks. Coordinates are computed from partition-id by division and remainder, for a mesh with
 * a device list after a table lookup. Tables that are linear in the coordinate become arithmetic.
 */
#include "partition/lower/emit.h"

#include <string.h>

/* Coordinates made so far in this computation, so that each is computed once. */
typedef struct spmd_coordinate {
  spmd_axes_t axes;
  hlo_instr_t *instr;
  struct spmd_coordinate *next;
} spmd_coordinate_t;

/* The first failure stays; later ones are released. */
bool spmd_emit_failed(spmd_emit_t *emit, hr_status_t status) {
  if (status && emit->b.status)
    hr_status_release(status);
  else if (status)
    emit->b.status = status;
  return emit->b.status != NULL;
}

const hlo_shape_t *spmd_emit_shape(spmd_emit_t *emit, hr_dtype_t dtype, int rank,
                                   const int64_t *dims) {
  const hlo_shape_t *shape = NULL;
  spmd_emit_failed(emit, hlo_shape_array(emit->shared->arena, dtype, rank, dims, &shape));
  return shape;
}

const hlo_shape_t *spmd_emit_resized(spmd_emit_t *emit, const hlo_instr_t *x, int d, int64_t size) {
  int64_t dims[HLO_MAX_RANK];
  if (!x) return NULL;
  memcpy(dims, x->shape->dims, (size_t)x->shape->rank * sizeof *dims);
  dims[d] = size;
  return spmd_emit_shape(emit, x->shape->dtype, x->shape->rank, dims);
}

hlo_instr_t *spmd_emit_like(spmd_emit_t *emit, const hlo_instr_t *from,
                            hlo_instr_t *const *operands, const hlo_shape_t *shape) {
  return spmd_emit_with(emit, from, operands, shape, NULL);
}

/* Replaces the attribute of the same key, or appends the attribute. */
hlo_instr_t *spmd_emit_with(spmd_emit_t *emit, const hlo_instr_t *from,
                            hlo_instr_t *const *operands, const hlo_shape_t *shape,
                            const hlo_attr_t *changed) {
  hlo_attr_t *attrs;
  int count = from->attr_count;
  if (spmd_emit_failed(emit, HR_NEW_ARRAY(emit->shared->arena, count + 1, &attrs))) return NULL;
  memcpy(attrs, from->attrs, (size_t)count * sizeof *attrs);
  int at = 0;
  while (changed && at < count && attrs[at].key != changed->key) at++;
  if (changed) attrs[at] = *changed;
  if (changed && at == count) count++;
  hlo_instr_t *made = hlo_build(&emit->b, from->op, shape, from->operand_count, operands, count,
                                attrs, from->called_count, from->called);
  if (made) made->extra = spmd_emit_extra(emit, from);
  return made;
}

const hlo_extra_t *spmd_emit_extra(spmd_emit_t *emit, const hlo_instr_t *from) {
  hlo_extra_t *extra;
  if (!from->extra || spmd_emit_failed(emit, HR_NEW(emit->shared->arena, &extra))) return NULL;
  *extra = (hlo_extra_t){.frontend_attributes = from->extra->frontend_attributes,
                         .metadata = from->extra->metadata,
                         .backend_config = from->extra->backend_config};
  return extra;
}

hlo_instr_t *spmd_emit_index(spmd_emit_t *emit, int64_t value) {
  return hlo_build_number(&emit->b, (double)value, emit->shared->index_type);
}

hlo_instr_t *spmd_emit_add(spmd_emit_t *emit, hlo_instr_t *x, int64_t value) {
  return value ? hlo_build_binary(&emit->b, HLO_ADD, x, spmd_emit_index(emit, value)) : x;
}

/* x * factor, without a product by 1. */
static hlo_instr_t *scaled(spmd_emit_t *emit, hlo_instr_t *x, int64_t factor) {
  return factor == 1 ? x
                     : hlo_build_binary(&emit->b, HLO_MULTIPLY, x, spmd_emit_index(emit, factor));
}

/* A constant list of indices. */
static hlo_instr_t *constant_list(spmd_emit_t *emit, int64_t count, const int64_t *values) {
  hlo_value_t *value;
  hr_dtype_t type = emit->shared->index_type;
  if (spmd_emit_failed(emit, hlo_value_array(type, 1, &count, &value))) return NULL;
  for (int64_t i = 0; i < count; i++)
    if (type == HR_S64)
      ((int64_t *)value->data)[i] = values[i];
    else
      ((int32_t *)value->data)[i] = (int32_t)values[i];
  return hlo_build_constant(&emit->b, value);
}

/* values[at], as a slice of one element. */
static hlo_instr_t *look_up(spmd_emit_t *emit, hlo_instr_t *at, int64_t count,
                            const int64_t *values) {
  hlo_instr_t *list = constant_list(emit, count, values);
  hlo_instr_t *one = spmd_emit_dynamic_slice(emit, list, 0, at, 1);
  return spmd_emit_reshape(emit, one, 0, NULL);
}

/* Position of this partition in the mesh: its number, or the index of its number in the device
 * list.
 */
static hlo_instr_t *position_of(spmd_emit_t *emit) {
  const spmd_mesh_t *mesh = emit->mesh;
  int64_t *positions;
  if (emit->position) return emit->position;
  hlo_instr_t *id =
      hlo_build(&emit->b, HLO_PARTITION_ID, hlo_shape_scalar(HR_U32), 0, NULL, 0, NULL, 0, NULL);
  id = hlo_build_convert(&emit->b, id, emit->shared->index_type);
  if (mesh->device_ids) {
    if (spmd_emit_failed(emit, HR_NEW_ARRAY(emit->shared->arena, mesh->device_count, &positions)))
      return NULL;
    for (int64_t q = 0; q < mesh->device_count; q++) positions[spmd_mesh_device(mesh, q)] = q;
    id = look_up(emit, id, mesh->device_count, positions);
  }
  return emit->position = id;
}

/* Product of the sizes that are less significant than the axis. */
static int64_t stride_of(const spmd_mesh_t *mesh, spmd_axis_t axis) {
  int64_t stride = mesh->axis_sizes[axis.axis] / (axis.pre * axis.size);
  for (int k = axis.axis + 1; k < mesh->axis_count; k++) stride *= mesh->axis_sizes[k];
  return stride;
}

/* position / stride % size; the most significant axis needs no remainder. */
static hlo_instr_t *coordinate_of_axis(spmd_emit_t *emit, spmd_axis_t axis) {
  const spmd_mesh_t *mesh = emit->mesh;
  int64_t stride = stride_of(mesh, axis);
  hlo_instr_t *at = position_of(emit);
  if (stride > 1) at = hlo_build_binary(&emit->b, HLO_DIVIDE, at, spmd_emit_index(emit, stride));
  if (stride * axis.size < mesh->device_count)
    at = hlo_build_binary(&emit->b, HLO_REMAINDER, at, spmd_emit_index(emit, axis.size));
  return at;
}

/* Horner's scheme over the axes, the most significant first. */
static hlo_instr_t *make_coordinate(spmd_emit_t *emit, spmd_axes_t axes) {
  hlo_instr_t *sum = NULL;
  for (int i = 0; i < axes.count; i++) {
    hlo_instr_t *at = coordinate_of_axis(emit, axes.items[i]);
    sum = sum ? hlo_build_binary(&emit->b, HLO_ADD, scaled(emit, sum, axes.items[i].size), at) : at;
  }
  return sum ? sum : spmd_emit_index(emit, 0);
}

/* Emits each coordinate once per computation; canonical lists can be compared by value. */
hlo_instr_t *spmd_emit_coordinate(spmd_emit_t *emit, spmd_axes_t axes) {
  spmd_coordinate_t *known = emit->coordinates;
  while (known && !spmd_axes_equal(known->axes, axes)) known = known->next;
  if (known) return known->instr;
  if (spmd_emit_failed(emit, HR_NEW(emit->shared->arena, &known))) return NULL;
  *known = (spmd_coordinate_t){axes, make_coordinate(emit, axes), emit->coordinates};
  emit->coordinates = known;
  return known->instr;
}

/* {0, 3, 6, 9} is 3 * coordinate; {0, 3, 6, 8} is a table. */
hlo_instr_t *spmd_emit_table(spmd_emit_t *emit, spmd_axes_t axes, const int64_t *values) {
  int64_t parts = spmd_axes_parts(axes);
  int64_t step = parts > 1 ? values[1] - values[0] : 0;
  bool linear = true;
  for (int64_t j = 2; j < parts && linear; j++) linear = values[j] - values[j - 1] == step;
  if (linear && !step) return spmd_emit_index(emit, values[0]);
  hlo_instr_t *at = spmd_emit_coordinate(emit, axes);
  return linear ? spmd_emit_add(emit, scaled(emit, at, step), values[0])
                : look_up(emit, at, parts, values);
}

bool spmd_lacks_zero(hr_dtype_t dtype) { return dtype == HR_F8E8M0FNU; }

/* -0.0 for sums of floats: x + -0.0 is x for every x, 0.0 would lose the sign of -0.0. The smallest
 * value of a type without zero. */
hlo_instr_t *spmd_emit_identity(spmd_emit_t *emit, hlo_opcode_t op, hr_dtype_t dtype) {
  double number = op == HLO_MULTIPLY ? 1 : 0;
  if (op == HLO_ADD && (hr_dtype_is_float(dtype) || hr_dtype_is_complex(dtype))) number = -0.0;
  if (op == HLO_ADD && spmd_lacks_zero(dtype)) number = 0x1p-127;
  return hlo_build_number(&emit->b, number, dtype);
}

bool spmd_is_idempotent(hlo_opcode_t op) {
  return op == HLO_MAXIMUM || op == HLO_MINIMUM || op == HLO_AND || op == HLO_OR;
}

hlo_instr_t *spmd_emit_slice(spmd_emit_t *emit, hlo_instr_t *x, int d, int64_t start,
                             int64_t size) {
  return spmd_emit_strided(emit, x, d, start, start + size, 1);
}

/* Other dimensions are taken whole; a slice of everything makes no instruction. */
hlo_instr_t *spmd_emit_strided(spmd_emit_t *emit, hlo_instr_t *x, int d, int64_t start,
                               int64_t limit, int64_t stride) {
  hlo_slice_dim_t *dims;
  hlo_slice_t *slice;
  if (!x) return NULL;
  if (start == 0 && limit == x->shape->dims[d] && stride == 1) return x;
  if (spmd_emit_failed(emit, HR_NEW_ARRAY(emit->shared->arena, x->shape->rank, &dims)) ||
      spmd_emit_failed(emit, HR_NEW(emit->shared->arena, &slice)))
    return NULL;
  for (int i = 0; i < x->shape->rank; i++) dims[i] = (hlo_slice_dim_t){0, x->shape->dims[i], 1};
  dims[d] = (hlo_slice_dim_t){start, limit, stride};
  *slice = (hlo_slice_t){x->shape->rank, dims};
  hlo_attr_t attr = {.key = HLO_ATTR_SLICE, .slice = slice};
  return hlo_build(&emit->b, HLO_SLICE, NULL, 1, &x, 1, &attr, 0, NULL);
}

/* Operands x, [update], and an index per dimension: zero but for d. */
static int with_indices(spmd_emit_t *emit, hlo_instr_t **operands, int count, int rank, int d,
                        hlo_instr_t *start) {
  hlo_instr_t *zero = NULL;
  if (rank > 1 && start) zero = hlo_build_number(&emit->b, 0, start->shape->dtype);
  for (int i = 0; i < rank; i++) operands[count++] = i == d ? start : zero;
  return count;
}

hlo_instr_t *spmd_emit_dynamic_slice(spmd_emit_t *emit, hlo_instr_t *x, int d, hlo_instr_t *start,
                                     int64_t size) {
  hlo_instr_t *operands[HLO_MAX_RANK + 1] = {x};
  int64_t sizes[HLO_MAX_RANK];
  if (!x || !start) return NULL;
  for (int i = 0; i < x->shape->rank; i++) sizes[i] = i == d ? size : x->shape->dims[i];
  int count = with_indices(emit, operands, 1, x->shape->rank, d, start);
  hlo_attr_t attr = hlo_attr_of_ints(&emit->b, HLO_ATTR_DYNAMIC_SLICE_SIZES, x->shape->rank, sizes);
  return hlo_build(&emit->b, HLO_DYNAMIC_SLICE, NULL, count, operands, 1, &attr, 0, NULL);
}

hlo_instr_t *spmd_emit_update(spmd_emit_t *emit, hlo_instr_t *x, hlo_instr_t *update, int d,
                              hlo_instr_t *start) {
  hlo_instr_t *operands[HLO_MAX_RANK + 2] = {x, update};
  if (!x || !start) return NULL;
  int count = with_indices(emit, operands, 2, x->shape->rank, d, start);
  return hlo_build(&emit->b, HLO_DYNAMIC_UPDATE_SLICE, NULL, count, operands, 0, NULL, 0, NULL);
}

hlo_instr_t *spmd_emit_pad(spmd_emit_t *emit, hlo_instr_t *x, int d, int64_t low, int64_t high,
                           int64_t interior, hlo_instr_t *with) {
  hlo_padding_dim_t *dims;
  hlo_padding_t *padding;
  if (!x || (low == 0 && high == 0 && interior == 0)) return x;
  if (spmd_emit_failed(emit, HR_NEW_ARRAY(emit->shared->arena, x->shape->rank, &dims)) ||
      spmd_emit_failed(emit, HR_NEW(emit->shared->arena, &padding)))
    return NULL;
  dims[d] = (hlo_padding_dim_t){low, high, interior};
  *padding = (hlo_padding_t){x->shape->rank, dims};
  hlo_attr_t attr = {.key = HLO_ATTR_PADDING, .padding = padding};
  if (!with) with = hlo_build_number(&emit->b, 0, x->shape->dtype);
  return hlo_build(&emit->b, HLO_PAD, NULL, 2, (hlo_instr_t *[]){x, with}, 1, &attr, 0, NULL);
}

hlo_instr_t *spmd_emit_concat(spmd_emit_t *emit, int count, hlo_instr_t *const *parts, int d) {
  int64_t dim = d;
  if (count == 1) return parts[0];
  hlo_attr_t attr = hlo_attr_of_ints(&emit->b, HLO_ATTR_DIMENSIONS, 1, &dim);
  return hlo_build(&emit->b, HLO_CONCATENATE, NULL, count, parts, 1, &attr, 0, NULL);
}

/* An identity permutation makes no instruction. */
hlo_instr_t *spmd_emit_transpose(spmd_emit_t *emit, hlo_instr_t *x, const int64_t *permutation) {
  if (!x) return NULL;
  bool same = true;
  for (int d = 0; d < x->shape->rank; d++) same &= permutation[d] == d;
  if (same) return x;
  hlo_attr_t attr = hlo_attr_of_ints(&emit->b, HLO_ATTR_DIMENSIONS, x->shape->rank, permutation);
  return hlo_build(&emit->b, HLO_TRANSPOSE, NULL, 1, &x, 1, &attr, 0, NULL);
}

hlo_instr_t *spmd_emit_reshape(spmd_emit_t *emit, hlo_instr_t *x, int rank, const int64_t *dims) {
  if (!x) return NULL;
  const hlo_shape_t *shape = spmd_emit_shape(emit, x->shape->dtype, rank, dims);
  return shape ? hlo_build_reshape(&emit->b, x, shape) : NULL;
}

/* For a scalar x, returns `scalar`. */
hlo_instr_t *spmd_emit_fill_like(spmd_emit_t *emit, hlo_instr_t *scalar, const hlo_instr_t *x) {
  if (!x || !scalar) return NULL;
  const hlo_shape_t *shape =
      spmd_emit_shape(emit, scalar->shape->dtype, x->shape->rank, x->shape->dims);
  if (!x->shape->rank) return scalar;
  return shape ? hlo_build_broadcast(&emit->b, scalar, shape, (hr_ints_t){NULL, 0}) : NULL;
}

/* offset + 0, 1, ... as a list as long as dimension d. */
static hlo_instr_t *position_list(spmd_emit_t *emit, const hlo_instr_t *x, int d,
                                  hlo_instr_t *offset) {
  hr_dtype_t type = emit->shared->index_type;
  const hlo_shape_t *shape = spmd_emit_shape(emit, type, 1, &x->shape->dims[d]);
  hlo_attr_t attr = hlo_attr_of_int(HLO_ATTR_IOTA_DIMENSION, 0);
  hlo_instr_t *list = hlo_build(&emit->b, HLO_IOTA, shape, 0, NULL, 1, &attr, 0, NULL);
  if (!offset) return list;
  return hlo_build_binary(&emit->b, HLO_ADD, list, spmd_emit_fill_like(emit, offset, list));
}

/* Broadcasts a list along dimension d to the sizes of x. */
static hlo_instr_t *spread(spmd_emit_t *emit, hlo_instr_t *list, const hlo_instr_t *x, int d) {
  int64_t dim = d;
  if (!list) return NULL;
  const hlo_shape_t *shape =
      spmd_emit_shape(emit, list->shape->dtype, x->shape->rank, x->shape->dims);
  return shape ? hlo_build_broadcast(&emit->b, list, shape, (hr_ints_t){&dim, 1}) : NULL;
}

hlo_instr_t *spmd_emit_positions(spmd_emit_t *emit, const hlo_instr_t *x, int d,
                                 hlo_instr_t *offset) {
  return x ? spread(emit, position_list(emit, x, d, offset), x, d) : NULL;
}

/* The condition is made for one row of positions and repeated along the other dimensions. */
hlo_instr_t *spmd_emit_mask(spmd_emit_t *emit, hlo_instr_t *x, int d, hlo_instr_t *offset,
                            int64_t low, int64_t high, hlo_instr_t *fill) {
  if (!x || (low == INT64_MIN && high == INT64_MAX)) return x;
  hlo_instr_t *list = position_list(emit, x, d, offset), *keep = NULL;
  if (low != INT64_MIN)
    keep = hlo_build_compare(&emit->b, HLO_DIRECTION_GE, list,
                             spmd_emit_fill_like(emit, spmd_emit_index(emit, low), list));
  if (high != INT64_MAX) {
    hlo_instr_t *below =
        hlo_build_compare(&emit->b, HLO_DIRECTION_LT, list,
                          spmd_emit_fill_like(emit, spmd_emit_index(emit, high), list));
    keep = keep ? hlo_build_binary(&emit->b, HLO_AND, keep, below) : below;
  }
  return hlo_build_select(&emit->b, spread(emit, keep, x, d), x,
                          spmd_emit_fill_like(emit, fill, x));
}
