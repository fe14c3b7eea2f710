/* Ops whose offsets or sizes come from operands: dynamic slices, get- and set-dimension-size,
 * dynamic reshape. Start indices are clamped so that the block fits; sizes are checked against
 * bounds. */
#include <string.h>

#include "base/arith.h"
#include "ops/kernels/common/strided_loops.h"
#include "ops/kernels/kernel.h"
#include "ops/query/index_values.h"
#include "ops/rules/dynamic_shape.h"

/* A block of operand 0 at an offset known at run time. */
typedef struct block_plan {
  loop_copy_t copy;
  int64_t strides[HLO_MAX_RANK]; /* strides of operand 0, bytes */
  bool whole;                    /* the block is the whole operand */
} block_plan_t;

/* Start of the block in dimension d, clamped. Starts are operands `first` and later: a scalar
 * per dimension or, in old programs, one vector. */
static int64_t clamped_start(const op_step_t *step, hlo_value_t *const *in, int first, int d,
                             int64_t block_size) {
  bool is_vector = step->instr->operand_count == first + 1 && in[first]->rank == 1;
  int64_t start = is_vector ? op_index_at(in[first], d) : op_index_at(in[first + d], 0);
  int64_t last = step->in_shapes[0]->dims[d] - block_size;
  return hr_min(hr_max(start, 0), last);
}

/* Byte offset of the block, from clamped starts. */
static int64_t block_offset(const op_step_t *step, hlo_value_t *const *in, int first,
                            const hlo_shape_t *block) {
  const block_plan_t *plan = step->plan;
  int64_t offset = 0;
  if (plan->copy.nest.empty) return 0;
  for (int d = 0; d < block->rank; d++)
    offset += clamped_start(step, in, first, d, block->dims[d]) * plan->strides[d];
  return offset;
}

/* A block must fit the operand, or no start would be valid. */
static hr_status_t plan_block(hr_arena_t *arena, const op_step_t *step, const hlo_shape_t *block,
                              block_plan_t **out_plan) {
  const hlo_shape_t *in = step->in_shapes[0];
  for (int d = 0; d < in->rank; d++)
    if (block->dims[d] > in->dims[d])
      return hlo_error(step->instr, NULL, "a block of %ld along dimension %d, want at most %ld",
                       (long)block->dims[d], d, (long)in->dims[d]);
  HR_TRY(HR_NEW(arena, out_plan));
  (*out_plan)->whole = hlo_shape_same_dims(in, block);
  loop_dense_strides(in->rank, in->dims, (int64_t)hr_dtype_bytes(in->dtype), (*out_plan)->strides);
  return NULL;
}

/* The result is dense; the operand is read with its own strides from a start known at run time. */
static hr_status_t prepare_dynamic_slice(hr_arena_t *arena, const op_step_t *step,
                                         const void **out_plan) {
  const hlo_shape_t *out = step->out_shape;
  int bytes = (int)hr_dtype_bytes(out->dtype);
  int64_t dense[HLO_MAX_RANK];
  block_plan_t *plan;
  HR_TRY(plan_block(arena, step, out, &plan));
  loop_dense_strides(out->rank, out->dims, bytes, dense);
  loop_copy_init(&plan->copy, bytes, out->rank, out->dims, dense, plan->strides);
  *out_plan = plan;
  return NULL;
}

/* The whole array is shared instead of copied. */
static hr_status_t run_dynamic_slice(op_env_t *env, const op_step_t *step, hlo_value_t *const *in,
                                     hlo_value_t **out_value) {
  const block_plan_t *plan = step->plan;
  if (plan->whole) {
    *out_value = hlo_value_retain(in[0]);
    return NULL;
  }
  HR_TRY(op_output(env, step, out_value));
  int64_t offset = block_offset(step, in, 1, step->out_shape);
  loop_copy_run(&plan->copy, (*out_value)->data, (const char *)in[0]->data + offset);
  return NULL;
}
const op_kernel_t kernel_dynamic_slice = {prepare_dynamic_slice, run_dynamic_slice};

/* The copy goes from the dense update into the operand's strides. */
static hr_status_t prepare_dynamic_update_slice(hr_arena_t *arena, const op_step_t *step,
                                                const void **out_plan) {
  const hlo_shape_t *update = step->in_shapes[1];
  int bytes = (int)hr_dtype_bytes(update->dtype);
  int64_t dense[HLO_MAX_RANK];
  block_plan_t *plan;
  HR_TRY(plan_block(arena, step, update, &plan));
  loop_dense_strides(update->rank, update->dims, bytes, dense);
  loop_copy_init(&plan->copy, bytes, update->rank, update->dims, plan->strides, dense);
  *out_plan = plan;
  return NULL;
}

/* The operand is updated in place at its last use. */
static hr_status_t run_dynamic_update_slice(op_env_t *env, const op_step_t *step,
                                            hlo_value_t *const *in, hlo_value_t **out_value) {
  const block_plan_t *plan = step->plan;
  if (plan->whole) {
    *out_value = hlo_value_retain(in[1]);
    return NULL;
  }
  HR_TRY(op_reuse_or_copy(env, step, in, 0, out_value));
  int64_t offset = block_offset(step, in, 2, step->in_shapes[1]);
  loop_copy_run(&plan->copy, (char *)(*out_value)->data + offset, in[1]->data);
  return NULL;
}
const op_kernel_t kernel_dynamic_update_slice = {prepare_dynamic_update_slice,
                                                 run_dynamic_update_slice};

/* Values carry their actual sizes. */
static hr_status_t run_get_dimension_size(op_env_t *env, const op_step_t *step,
                                          hlo_value_t *const *in, hlo_value_t **out_value) {
  (void)env;
  HR_TRY(hlo_value_array(HR_S32, 0, NULL, out_value));
  *(int32_t *)(*out_value)->data =
      (int32_t)in[0]->dims[hlo_attr_ints(step->instr, HLO_ATTR_DIMENSIONS).data[0]];
  return NULL;
}
const op_kernel_t kernel_get_dimension_size = {NULL, run_get_dimension_size};

/* A copy with another size along d: truncated, or extended by zeros. */
hr_status_t op_resize_dimension(const hlo_value_t *value, int64_t d, int64_t size,
                                hlo_value_t **out_value) {
  int bytes = (int)hr_dtype_bytes(value->dtype);
  int64_t dims[HLO_MAX_RANK], common[HLO_MAX_RANK], to_strides[HLO_MAX_RANK],
      from_strides[HLO_MAX_RANK];
  for (int i = 0; i < value->rank; i++) {
    common[i] = value->dims[i];
    dims[i] = common[i];
  }
  dims[d] = size;
  if (size < common[d]) common[d] = size;
  HR_TRY(hlo_value_array(value->dtype, value->rank, dims, out_value));
  memset((*out_value)->data, 0, hlo_value_bytes(*out_value));
  loop_dense_strides(value->rank, dims, bytes, to_strides);
  loop_dense_strides(value->rank, value->dims, bytes, from_strides);
  loop_copy_t copy;
  loop_copy_init(&copy, bytes, value->rank, common, to_strides, from_strides);
  loop_copy_run(&copy, (*out_value)->data, value->data);
  return NULL;
}

/* The size must lie within the declared bound. */
static hr_status_t run_set_dimension_size(op_env_t *env, const op_step_t *step,
                                          hlo_value_t *const *in, hlo_value_t **out_value) {
  (void)env;
  int64_t d = hlo_attr_ints(step->instr, HLO_ATTR_DIMENSIONS).data[0], size = op_index_at(in[1], 0);
  int64_t bound = step->instr->shape->dims[d];
  if (size < 0 || (bound != HLO_UNBOUNDED && size > bound))
    return hlo_error(step->instr, NULL, "size %ld of dimension %ld, want 0 to its bound %ld",
                     (long)size, (long)d, (long)bound);
  if (size != in[0]->dims[d]) return op_resize_dimension(in[0], d, size, out_value);
  *out_value = hlo_value_retain(in[0]);
  return NULL;
}
const op_kernel_t kernel_set_dimension_size = {NULL, run_set_dimension_size};

/* Sizes are one scalar per dimension, or one vector. */
static hr_status_t run_dynamic_reshape(op_env_t *env, const op_step_t *step, hlo_value_t *const *in,
                                       hlo_value_t **out_value) {
  (void)env;
  const hlo_shape_t *shape = step->instr->shape;
  bool is_vector = step->instr->operand_count == 2 && in[1]->rank == 1;
  int64_t dims[HLO_MAX_RANK], count;
  for (int d = 0; d < shape->rank; d++) {
    dims[d] = is_vector ? op_index_at(in[1], d) : op_index_at(in[1 + d], 0);
    if (dims[d] < 0)
      return hlo_error(step->instr, NULL, "size %ld of dimension %d", (long)dims[d], d);
  }
  HR_TRY(hlo_dims_count(shape->rank, dims, shape->dtype, &count));
  if (count != in[0]->count)
    return hlo_error(step->instr, "dynamic_reshape C2", "%ld elements become %ld",
                     (long)in[0]->count, (long)count);
  return hlo_value_view(in[0], shape->dtype, shape->rank, dims, out_value);
}
const op_kernel_t kernel_dynamic_reshape = {NULL, run_dynamic_reshape};
