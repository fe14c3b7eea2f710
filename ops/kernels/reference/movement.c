/* Reference kernels of ops that only move elements: transpose, broadcast, reverse, slice, reshape,
 * concatenate, pad, bitcast, iota. Each is planned once as a strided copy (loop_copy_t) that is
 * independent of the element type. Slices that are contiguous in their operand become views. */
#include <string.h>

#include "ops/kernels/common/strided_loops.h"
#include "ops/kernels/kernel.h"
#include "ops/query/pad_range.h"

/* Transpose, broadcast, reverse and slice: one strided copy of operand 0 in the order of the
 * result. */
typedef struct move_plan {
  loop_copy_t copy;
  int64_t from_offset; /* bytes into the operand */
  bool is_view;        /* the result is a contiguous part of the operand's buffer */
} move_plan_t;

/* True if the part is large enough: a view keeps the whole buffer alive and prevents in-place
 * updates, so small parts are copied. */
static bool worth_a_view(const loop_copy_t *copy, int64_t from_count) {
  return loop_copy_is_run(copy) && copy->nest.row_count >= from_count / 4;
}

/* Returns 0 as soon as one size is 0, before a product of the others could overflow. */
static int64_t dense_count(const hlo_shape_t *shape) {
  int64_t count = 1;
  for (int d = 0; d < shape->rank; d++)
    if (shape->dims[d] == 0) return 0;
  for (int d = 0; d < shape->rank; d++) count *= shape->dims[d];
  return count;
}

/* from_strides (per dimension of the result) and from_offset in bytes. */
static hr_status_t plan_move(hr_arena_t *arena, const op_step_t *step, const int64_t *from_strides,
                             int64_t from_offset, const void **out_plan) {
  const hlo_shape_t *out = step->out_shape;
  int bytes = (int)hr_dtype_bytes(out->dtype);
  int64_t to_strides[HLO_MAX_RANK];
  move_plan_t *plan;
  HR_TRY(HR_NEW(arena, &plan));
  loop_dense_strides(out->rank, out->dims, bytes, to_strides);
  loop_copy_init(&plan->copy, bytes, out->rank, out->dims, to_strides, from_strides);
  plan->from_offset = plan->copy.nest.empty ? 0 : from_offset;
  plan->is_view = worth_a_view(&plan->copy, dense_count(step->in_shapes[0]));
  *out_plan = plan;
  return NULL;
}

/* A view shares the operand's buffer at another offset. */
static hr_status_t run_move(op_env_t *env, const op_step_t *step, hlo_value_t *const *in,
                            hlo_value_t **out_value) {
  const move_plan_t *plan = step->plan;
  if (plan->is_view) {
    size_t offset =
        (size_t)((char *)in[0]->data - (char *)hr_buffer_data(in[0]->buffer) + plan->from_offset);
    return hlo_value_over(step->out_shape->dtype, step->out_shape->rank, step->out_shape->dims,
                          in[0]->buffer, offset, out_value);
  }
  HR_TRY(op_output(env, step, out_value));
  loop_copy_run(&plan->copy, (*out_value)->data, (const char *)in[0]->data + plan->from_offset);
  return NULL;
}

/* Dimension d of the result walks dimension permutation[d] of the operand. */
static hr_status_t prepare_transpose(hr_arena_t *arena, const op_step_t *step,
                                     const void **out_plan) {
  hr_ints_t permutation = hlo_attr_ints(step->instr, HLO_ATTR_DIMENSIONS);
  int64_t in_strides[HLO_MAX_RANK], strides[HLO_MAX_RANK];
  loop_shape_strides(step->in_shapes[0], in_strides);
  for (int d = 0; d < step->out_shape->rank; d++) strides[d] = in_strides[permutation.data[d]];
  return plan_move(arena, step, strides, 0, out_plan);
}
const op_kernel_t kernel_transpose = {prepare_transpose, run_move};

/* Operand dimension i becomes result dimension dimensions[i]; size 1 is repeated like missing
 * dimensions. */
static hr_status_t prepare_broadcast(hr_arena_t *arena, const op_step_t *step,
                                     const void **out_plan) {
  hr_ints_t dimensions = hlo_attr_ints(step->instr, HLO_ATTR_DIMENSIONS);
  int64_t in_strides[HLO_MAX_RANK], strides[HLO_MAX_RANK] = {0};
  loop_shape_strides(step->in_shapes[0], in_strides);
  for (int i = 0; i < step->in_shapes[0]->rank; i++)
    if (step->in_shapes[0]->dims[i] != 1) strides[dimensions.data[i]] = in_strides[i];
  return plan_move(arena, step, strides, 0, out_plan);
}
const op_kernel_t kernel_broadcast = {prepare_broadcast, run_move};

/* Reversed dimensions have negative strides and start at their last element. */
static hr_status_t prepare_reverse(hr_arena_t *arena, const op_step_t *step,
                                   const void **out_plan) {
  hr_ints_t dimensions = hlo_attr_ints(step->instr, HLO_ATTR_DIMENSIONS);
  int64_t strides[HLO_MAX_RANK], offset = 0;
  loop_shape_strides(step->in_shapes[0], strides);
  for (int64_t i = 0; i < dimensions.count; i++) {
    int64_t d = dimensions.data[i];
    if (step->out_shape->dims[d] == 0) continue;
    offset += (step->out_shape->dims[d] - 1) * strides[d];
    strides[d] = -strides[d];
  }
  return plan_move(arena, step, strides, offset, out_plan);
}
const op_kernel_t kernel_reverse = {prepare_reverse, run_move};

/* Slice starts become an offset, slice strides multiply the operand's. */
static hr_status_t prepare_slice(hr_arena_t *arena, const op_step_t *step, const void **out_plan) {
  const hlo_slice_t *slice = hlo_attr_slice(step->instr);
  int64_t strides[HLO_MAX_RANK], offset = 0;
  loop_shape_strides(step->in_shapes[0], strides);
  for (int d = 0; d < step->out_shape->rank && dense_count(step->out_shape); d++) {
    offset += slice->dims[d].start * strides[d];
    if (step->out_shape->dims[d] > 1) strides[d] *= slice->dims[d].stride;
  }
  return plan_move(arena, step, strides, offset, out_plan);
}
const op_kernel_t kernel_slice = {prepare_slice, run_move};

/* Values are dense, so a reshape is a view. */
static hr_status_t run_reshape(op_env_t *env, const op_step_t *step, hlo_value_t *const *in,
                               hlo_value_t **out_value) {
  (void)env;
  return hlo_value_view(in[0], step->out_shape->dtype, step->out_shape->rank, step->out_shape->dims,
                        out_value);
}
const op_kernel_t kernel_reshape = {NULL, run_reshape};

/* Concatenate: one copy per operand. */
typedef struct concatenate_part {
  loop_copy_t copy;
  int64_t to_offset; /* bytes */
} concatenate_part_t;

/* One strided copy per operand, each further along dimension d. */
static hr_status_t prepare_concatenate(hr_arena_t *arena, const op_step_t *step,
                                       const void **out_plan) {
  int64_t d = hlo_attr_ints(step->instr, HLO_ATTR_DIMENSIONS).data[0], start = 0;
  int bytes = (int)hr_dtype_bytes(step->out_shape->dtype), rank = step->out_shape->rank;
  int64_t to_strides[HLO_MAX_RANK], from_strides[HLO_MAX_RANK];
  concatenate_part_t *parts;
  HR_TRY(HR_NEW_ARRAY(arena, step->instr->operand_count, &parts));
  loop_dense_strides(rank, step->out_shape->dims, bytes, to_strides);
  for (int k = 0; k < step->instr->operand_count; k++) {
    const int64_t *dims = step->in_shapes[k]->dims;
    loop_dense_strides(rank, dims, bytes, from_strides);
    loop_copy_init(&parts[k].copy, bytes, rank, dims, to_strides, from_strides);
    parts[k].to_offset = parts[k].copy.nest.empty ? 0 : start * to_strides[d];
    start += dims[d];
  }
  *out_plan = parts;
  return NULL;
}

/* Each operand's copy is planned with its offset in bytes; a single operand is returned itself. */
static hr_status_t run_concatenate(op_env_t *env, const op_step_t *step, hlo_value_t *const *in,
                                   hlo_value_t **out_value) {
  const concatenate_part_t *parts = step->plan;
  if (step->instr->operand_count == 1) {
    *out_value = hlo_value_retain(in[0]);
    return NULL;
  }
  HR_TRY(op_output(env, step, out_value));
  for (int k = 0; k < step->instr->operand_count; k++)
    loop_copy_run(&parts[k].copy, (char *)(*out_value)->data + parts[k].to_offset, in[k]->data);
  return NULL;
}
const op_kernel_t kernel_concatenate = {prepare_concatenate, run_concatenate};

/* Pad: the result is filled with the padding value, then the part of the operand that is not
 * cropped is copied. */
typedef struct pad_plan {
  loop_copy_t copy;
  int64_t from_offset, to_offset; /* bytes */
  bool fill;                      /* some elements are padding */
} pad_plan_t;

/* Interior padding is a larger stride in the result; negative edges drop elements, so the copy
 * starts within the operand (pad_range.h). The fill is omitted if the copy writes every element. */
static hr_status_t prepare_pad(hr_arena_t *arena, const op_step_t *step, const void **out_plan) {
  const hlo_padding_t *padding = hlo_attr_padding(step->instr);
  const hlo_shape_t *in = step->in_shapes[0], *out = step->out_shape;
  int bytes = (int)hr_dtype_bytes(out->dtype);
  int64_t to_strides[HLO_MAX_RANK], from_strides[HLO_MAX_RANK], counts[HLO_MAX_RANK];
  pad_plan_t *plan;
  HR_TRY(HR_NEW(arena, &plan));
  loop_dense_strides(out->rank, out->dims, bytes, to_strides);
  loop_dense_strides(in->rank, in->dims, bytes, from_strides);
  bool empty = dense_count(in) == 0 || dense_count(out) == 0;
  for (int d = 0; d < out->rank; d++) {
    int64_t first, start, pad_step;
    pad_range(in->dims[d], out->dims[d], &padding->dims[d], &first, &counts[d], &pad_step, &start);
    empty |= counts[d] == 0;
    plan->fill |= counts[d] < out->dims[d];
    if (empty) continue;
    plan->from_offset += first * from_strides[d];
    plan->to_offset += start * to_strides[d];
    to_strides[d] *= pad_step;
  }
  if (empty) {
    plan->from_offset = 0;
    plan->to_offset = 0;
  }
  loop_copy_init(&plan->copy, bytes, out->rank, counts, to_strides, from_strides);
  *out_plan = plan;
  return NULL;
}

/* Fills the whole result first: simpler than the borders alone, and only in the reference. */
static hr_status_t run_pad(op_env_t *env, const op_step_t *step, hlo_value_t *const *in,
                           hlo_value_t **out_value) {
  const pad_plan_t *plan = step->plan;
  HR_TRY(op_output(env, step, out_value));
  char *to = (*out_value)->data;
  if (plan->fill) loop_fill(to, in[1]->data, plan->copy.element_bytes, (*out_value)->count);
  loop_copy_run(&plan->copy, to + plan->to_offset, (const char *)in[0]->data + plan->from_offset);
  return NULL;
}
const op_kernel_t kernel_pad = {prepare_pad, run_pad};

/* Bitcast: the operand's elements in the order of its layout are the result's elements in the
 * order of its layout. A default layout needs no copy; if both are default the result is a view. */
typedef struct bitcast_plan {
  loop_copy_t pack, unpack; /* operand to physical order, physical order to result */
  bool packs, unpacks;
} bitcast_plan_t;

/* Byte strides of the logical dimensions in memory ordered by `layout`. */
static hr_status_t physical_strides(const hlo_instr_t *instr, const hlo_layout_t *layout,
                                    const hlo_shape_t *shape, int64_t *out_strides) {
  hr_ints_t order = layout->minor_to_major;
  if (order.count != shape->rank)
    return hlo_error(instr, NULL, "layout of %ld dimensions, want %d", (long)order.count,
                     shape->rank);
  int64_t stride = (int64_t)hr_dtype_bytes(shape->dtype);
  for (int64_t i = 0; i < order.count; i++) {
    if (order.data[i] < 0 || order.data[i] >= shape->rank)
      return hlo_error(instr, NULL, "layout names dimension %ld of %d", (long)order.data[i],
                       shape->rank);
    out_strides[order.data[i]] = stride;
    stride = (int64_t)((uint64_t)stride * (uint64_t)shape->dims[order.data[i]]);
  }
  return NULL;
}

/* True if the layout is not row-major, the order in which values are stored. */
static bool is_permuted(const hlo_layout_t *layout) {
  for (int64_t i = 0; layout && i < layout->minor_to_major.count; i++)
    if (layout->minor_to_major.data[i] != layout->minor_to_major.count - 1 - i) return true;
  return false;
}

/* Layouts that are no permutation count as row-major and need no copy. */
static hr_status_t prepare_bitcast(hr_arena_t *arena, const op_step_t *step,
                                   const void **out_plan) {
  const hlo_shape_t *in = step->in_shapes[0], *out = step->out_shape;
  const hlo_layout_t *from = step->instr->operands[0]->shape->layout,
                     *to = step->instr->shape->layout;
  int64_t dense[HLO_MAX_RANK], physical[HLO_MAX_RANK];
  bitcast_plan_t *plan;
  HR_TRY(HR_NEW(arena, &plan));
  plan->packs = is_permuted(from);
  plan->unpacks = is_permuted(to);
  if (plan->packs) {
    HR_TRY(physical_strides(step->instr, from, in, physical));
    loop_dense_strides(in->rank, in->dims, (int64_t)hr_dtype_bytes(in->dtype), dense);
    loop_copy_init(&plan->pack, (int)hr_dtype_bytes(in->dtype), in->rank, in->dims, physical,
                   dense);
  }
  if (plan->unpacks) {
    HR_TRY(physical_strides(step->instr, to, out, physical));
    loop_dense_strides(out->rank, out->dims, (int64_t)hr_dtype_bytes(out->dtype), dense);
    loop_copy_init(&plan->unpack, (int)hr_dtype_bytes(out->dtype), out->rank, out->dims, dense,
                   physical);
  }
  *out_plan = plan;
  return NULL;
}

/* Goes through the physical order of the bytes: the operand is copied to its layout, read as the
 * result's type, and copied out of the result's layout. */
static hr_status_t run_bitcast(op_env_t *env, const op_step_t *step, hlo_value_t *const *in,
                               hlo_value_t **out_value) {
  const bitcast_plan_t *plan = step->plan;
  if (!plan->packs && !plan->unpacks) return run_reshape(env, step, in, out_value);
  const void *physical = in[0]->data;
  size_t out_bytes;
  HR_TRY(hlo_shape_bytes(step->out_shape, &out_bytes));
  if (out_bytes != hlo_value_bytes(in[0]))
    return hlo_error(step->instr, NULL, "%zu bytes become %zu", hlo_value_bytes(in[0]), out_bytes);
  if (plan->packs && plan->unpacks) {
    void *packed;
    HR_TRY(hr_arena_alloc(env->scratch, hlo_value_bytes(in[0]), &packed));
    loop_copy_run(&plan->pack, packed, physical);
    physical = packed;
  }
  HR_TRY(op_output(env, step, out_value));
  loop_copy_run(plan->unpacks ? &plan->unpack : &plan->pack, (*out_value)->data, physical);
  return NULL;
}
const op_kernel_t kernel_bitcast = {prepare_bitcast, run_bitcast};

/* Iota: one line of numbers, repeated along the other dimensions. */
typedef struct iota_plan {
  loop_copy_t copy; /* from the line to the result */
  int64_t count;    /* elements of the line */
} iota_plan_t;

/* One line of numbers is broadcast along all other dimensions. */
static hr_status_t prepare_iota(hr_arena_t *arena, const op_step_t *step, const void **out_plan) {
  int64_t d = hlo_attr_int(step->instr, HLO_ATTR_IOTA_DIMENSION);
  const hlo_shape_t *out = step->out_shape;
  int bytes = (int)hr_dtype_bytes(out->dtype);
  int64_t to_strides[HLO_MAX_RANK], from_strides[HLO_MAX_RANK] = {0};
  iota_plan_t *plan;
  HR_TRY(HR_NEW(arena, &plan));
  loop_dense_strides(out->rank, out->dims, bytes, to_strides);
  from_strides[d] = bytes;
  loop_copy_init(&plan->copy, bytes, out->rank, out->dims, to_strides, from_strides);
  plan->count = plan->copy.nest.empty ? 0 : out->dims[d];
  *out_plan = plan;
  return NULL;
}

#define FILL_IOTA(T) \
  for (int64_t i = 0; i < count; i++) ((T *)line)[i] = (T)i
#define FILL_IOTA_COMPLEX(T)            \
  for (int64_t i = 0; i < count; i++) { \
    ((T *)line)[2 * i] = (T)i;          \
    ((T *)line)[2 * i + 1] = 0;         \
  }

/* Integers narrower than a byte wrap at their width and are extended to their byte. */
static void fill_iota_narrow(hr_dtype_t dtype, int8_t *line, int64_t count) {
  int unused_bits = 8 - hr_dtype_table[dtype].bits;
  bool is_signed = hr_dtype_class(dtype) == HR_CLASS_SIGNED;
  for (int64_t i = 0; i < count; i++) {
    uint8_t low = (uint8_t)((uint64_t)i << unused_bits);
    line[i] = is_signed ? (int8_t)((int8_t)low >> unused_bits) : (int8_t)(low >> unused_bits);
  }
}

/* Floats of 16 bits and fewer, rounded from exact integers. */
static void fill_iota_float(hr_dtype_t dtype, void *line, int64_t count) {
  for (int64_t i = 0; i < count; i++) {
    uint64_t bits = hr_float_encode(dtype, (double)i);
    if (hr_dtype_bytes(dtype) == 1)
      ((uint8_t *)line)[i] = (uint8_t)bits;
    else
      ((uint16_t *)line)[i] = (uint16_t)bits;
  }
}

/* Numbers beyond an integer type's range wrap. */
static void fill_iota(hr_dtype_t dtype, void *line, int64_t count) {
  switch (dtype) {
    case HR_S8:
    case HR_U8:
      FILL_IOTA(uint8_t);
      break;
    case HR_S16:
    case HR_U16:
      FILL_IOTA(uint16_t);
      break;
    case HR_S32:
    case HR_U32:
      FILL_IOTA(uint32_t);
      break;
    case HR_S64:
    case HR_U64:
      FILL_IOTA(uint64_t);
      break;
    case HR_F32:
      FILL_IOTA(float);
      break;
    case HR_F64:
      FILL_IOTA(double);
      break;
    case HR_C64:
      FILL_IOTA_COMPLEX(float);
      break;
    case HR_C128:
      FILL_IOTA_COMPLEX(double);
      break;
    default:
      if (hr_dtype_is_float(dtype))
        fill_iota_float(dtype, line, count);
      else
        fill_iota_narrow(dtype, line, count);
  }
}

/* Along the only dimension with more than one element, the line is the result. */
static hr_status_t run_iota(op_env_t *env, const op_step_t *step, hlo_value_t *const *in,
                            hlo_value_t **out_value) {
  (void)in;
  const iota_plan_t *plan = step->plan;
  hr_dtype_t dtype = step->out_shape->dtype;
  HR_TRY(op_output(env, step, out_value));
  if (plan->count == (*out_value)->count) {
    fill_iota(dtype, (*out_value)->data, plan->count);
    return NULL;
  }
  void *line;
  hr_status_t st = hr_arena_array(env->scratch, (size_t)plan->count, hr_dtype_bytes(dtype), &line);
  if (st) {
    hlo_value_release(*out_value);
    return st;
  }
  fill_iota(dtype, line, plan->count);
  loop_copy_run(&plan->copy, (*out_value)->data, line);
  return NULL;
}
const op_kernel_t kernel_iota = {prepare_iota, run_iota};
