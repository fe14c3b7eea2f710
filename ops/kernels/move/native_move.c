/* Ops that copy rows without changing elements: copy, slice, reverse, concatenate, dynamic-slice
 * and dynamic-update-slice. Each is reduced to strided copies (native_copy_strided) of one source
 * each; the plan holds their loop nests with offsets in bytes.
 *
 *   copy, slice, reverse              one source with changed strides and offset
 *   concatenate                       a source per operand, at its offset in the result
 *   dynamic (update) slice            offset from the start indices, clamped at run time
 *
 * Only copies of mostly long rows are accepted (native_moves_rows). Strided single elements are
 * left to generated code, unless the array is so small that compiling would cost more than it
 * saves. */
#include "ops/kernels/move/native_move.h"

#include <string.h>

#include "base/arith.h"
#include "ops/kernels/common/native_copy.h"

enum { MAX_STARTS = HLO_MAX_RANK };

/* One operand's copy into the result. */
typedef struct move_source {
  loop_copy_t copy;
  int64_t to_offset, from_offset; /* bytes from the result's and the operand's start */
} move_source_t;

typedef struct native_move_plan {
  int source_count;
  move_source_t *sources;
  int element_bytes;
  int64_t count; /* elements of the result */
} native_move_plan_t;

enum {
  MIN_ROW_BYTES = 32,   /* shortest row that is copied as a row */
  SMALL_BYTES = 1 << 14 /* arrays up to this size are copied with rows of any length */
};

bool native_moves_rows(const loop_copy_t *copy) {
  const loop_nest_t *nest = &copy->nest;
  int64_t bytes = copy->element_bytes, rows = loop_row_total(nest);
  if (nest->empty || copy->cross_count || rows * nest->row_count * bytes <= SMALL_BYTES)
    return true;
  bool dense =
      nest->row_strides[0] == bytes && (nest->row_strides[1] == bytes || nest->row_strides[1] == 0);
  return dense && nest->row_count * bytes >= MIN_ROW_BYTES;
}

static hr_status_t new_move_plan(const op_native_target_t *target, const op_step_t *step,
                                 int source_count, native_move_plan_t **out_plan) {
  native_move_plan_t *plan;
  HR_TRY(HR_NEW(target->arena, &plan));
  HR_TRY(HR_NEW_ARRAY(target->arena, source_count, &plan->sources));
  HR_TRY(hlo_shape_count(step->out_shape, &plan->count));
  plan->source_count = source_count;
  plan->element_bytes = (int)hr_dtype_bytes(step->out_shape->dtype);
  *out_plan = plan;
  return NULL;
}

/* Declines if a quarter or more is moved by single elements: generated code is faster there. */
static void accept_plan(const native_move_plan_t *plan, op_native_step_t *out) {
  int64_t singly = 0;
  for (int k = 0; k < plan->source_count; k++) {
    const loop_copy_t *copy = &plan->sources[k].copy;
    if (!native_moves_rows(copy)) singly += loop_row_total(&copy->nest) * copy->nest.row_count;
  }
  if (4 * singly > plan->count) return;
  out->plan = plan;
  out->bytes = 2.0 * (double)plan->count * plan->element_bytes;
}

/* Sources are copied one after the other, each by all workers. */
static hr_status_t run_move(const op_native_run_t *run, const void *plan_, void *const *in,
                            void *const *out) {
  const native_move_plan_t *plan = plan_;
  for (int k = 0; k < plan->source_count; k++) {
    const move_source_t *source = &plan->sources[k];
    if (source->copy.nest.empty) continue;
    native_copy_strided(run->workers, &source->copy, (char *)out[0] + source->to_offset,
                        (const char *)in[k] + source->from_offset);
  }
  return NULL;
}

/* --- copies, slices, reversals ---------------------------------------------------------------- */

/* Plans the copy of operand 0. from_strides (per dimension of the result) and from_offset in
 * bytes. */
static hr_status_t plan_single_source(const op_native_target_t *target, const op_step_t *step,
                                      const int64_t *from_strides, int64_t from_offset,
                                      op_native_step_t *out) {
  const hlo_shape_t *shape = step->out_shape;
  int64_t to_strides[HLO_MAX_RANK];
  native_move_plan_t *plan;
  HR_TRY(new_move_plan(target, step, 1, &plan));
  loop_dense_strides(shape->rank, shape->dims, plan->element_bytes, to_strides);
  loop_copy_init(&plan->sources[0].copy, plan->element_bytes, shape->rank, shape->dims, to_strides,
                 from_strides);
  plan->sources[0].from_offset = from_offset;
  accept_plan(plan, out);
  return NULL;
}

/* In place the copy does nothing. */
static hr_status_t prepare_copy(const op_native_target_t *target, const op_step_t *step,
                                op_native_step_t *out) {
  static const uint64_t in_place[] = {1};
  int64_t strides[HLO_MAX_RANK];
  if (!hlo_shape_is_array(step->out_shape)) return NULL;
  loop_shape_strides(step->in_shapes[0], strides);
  out->reuse = in_place;
  return plan_single_source(target, step, strides, 0, out);
}

/* The offset is that of the first element; strides are multiplied. */
static hr_status_t prepare_slice(const op_native_target_t *target, const op_step_t *step,
                                 op_native_step_t *out) {
  const hlo_slice_t *slice = hlo_attr_slice(step->instr);
  int64_t strides[HLO_MAX_RANK], offset = 0;
  loop_shape_strides(step->in_shapes[0], strides);
  for (int d = 0; d < step->out_shape->rank; d++) {
    offset += slice->dims[d].start * strides[d];
    if (step->out_shape->dims[d] > 1) strides[d] *= slice->dims[d].stride;
  }
  return plan_single_source(target, step, strides, offset, out);
}

/* Starts at the last element and walks backwards. */
static hr_status_t prepare_reverse(const op_native_target_t *target, const op_step_t *step,
                                   op_native_step_t *out) {
  hr_ints_t dimensions = hlo_attr_ints(step->instr, HLO_ATTR_DIMENSIONS);
  int64_t strides[HLO_MAX_RANK], offset = 0;
  loop_shape_strides(step->in_shapes[0], strides);
  for (int64_t i = 0; i < dimensions.count; i++) {
    int64_t d = dimensions.data[i];
    offset += (step->out_shape->dims[d] - 1) * strides[d];
    strides[d] = -strides[d];
  }
  return plan_single_source(target, step, strides, offset, out);
}

const op_native_t native_whole_copy = {"copy", prepare_copy, run_move};
const op_native_t native_slice = {"slice", prepare_slice, run_move};
const op_native_t native_reverse = {"reverse", prepare_reverse, run_move};

/* --- concatenate ------------------------------------------------------------------------------ */

/* Source k is copied to its offset along dimension d. */
static hr_status_t prepare_concatenate(const op_native_target_t *target, const op_step_t *step,
                                       op_native_step_t *out) {
  int64_t d = hlo_attr_ints(step->instr, HLO_ATTR_DIMENSIONS).data[0], start = 0;
  int64_t to_strides[HLO_MAX_RANK], from_strides[HLO_MAX_RANK];
  int rank = step->out_shape->rank;
  native_move_plan_t *plan;
  HR_TRY(new_move_plan(target, step, step->instr->operand_count, &plan));
  loop_dense_strides(rank, step->out_shape->dims, plan->element_bytes, to_strides);
  for (int k = 0; k < plan->source_count; k++) {
    const int64_t *dims = step->in_shapes[k]->dims;
    loop_dense_strides(rank, dims, plan->element_bytes, from_strides);
    loop_copy_init(&plan->sources[k].copy, plan->element_bytes, rank, dims, to_strides,
                   from_strides);
    plan->sources[k].to_offset = start * to_strides[d];
    start += dims[d];
  }
  accept_plan(plan, out);
  return NULL;
}

const op_native_t native_concatenate = {"concatenate", prepare_concatenate, run_move};

/* --- dynamic slices --------------------------------------------------------------------------- */

typedef struct native_block_plan {
  loop_copy_t copy;
  int rank;
  int first_start; /* operand number of the first start index */
  bool is_vector;  /* one operand holds all start indices */
  hr_dtype_t dtypes[MAX_STARTS];
  int64_t limits[MAX_STARTS];  /* largest start index per dimension; starts are clamped to it */
  int64_t strides[MAX_STARTS]; /* strides of the sliced array, bytes */
  int64_t array_bytes;         /* size of the array */
  int64_t block_bytes;         /* size of what is read or written of it */
} native_block_plan_t;

/* Reads a start index of any integer type; u64 values beyond int64_t saturate. */
static int64_t read_start(hr_dtype_t dtype, const char *at) {
  switch (dtype) {
    case HR_U64:
      return *(const int64_t *)at < 0 ? INT64_MAX : *(const int64_t *)at;
    case HR_S64:
      return *(const int64_t *)at;
    case HR_S32:
      return *(const int32_t *)at;
    case HR_U32:
      return *(const uint32_t *)at;
    case HR_S16:
      return *(const int16_t *)at;
    case HR_U16:
      return *(const uint16_t *)at;
    default:
      return hr_dtype_class(dtype) == HR_CLASS_SIGNED ? *(const int8_t *)at : *(const uint8_t *)at;
  }
}

/* The block's offset in bytes: start indices are clamped so that the block lies inside the array
 * (StableHLO spec, dynamic_slice and dynamic_update_slice). */
static int64_t block_offset(const native_block_plan_t *plan, void *const *in) {
  int64_t offset = 0;
  for (int d = 0; d < plan->rank; d++) {
    const char *at = plan->is_vector ? (const char *)in[plan->first_start] +
                                           d * (int64_t)hr_dtype_bytes(plan->dtypes[d])
                                     : in[plan->first_start + d];
    int64_t start = read_start(plan->dtypes[d], at);
    offset += hr_min(hr_max(start, 0), plan->limits[d]) * plan->strides[d];
  }
  return offset;
}

/* Plans the copy of a block. `updates`: the block is written into the array (operand 1), else read
 * from it. *out_plan stays NULL if the kernel does not apply. */
static hr_status_t plan_block(const op_native_target_t *target, const op_step_t *step, bool updates,
                              native_block_plan_t **out_plan) {
  const hlo_shape_t *array = step->in_shapes[0],
                    *block = updates ? step->in_shapes[1] : step->out_shape;
  int64_t bytes = (int64_t)hr_dtype_bytes(array->dtype), dense[HLO_MAX_RANK];
  native_block_plan_t *plan;
  HR_TRY(HR_NEW(target->arena, &plan));
  plan->rank = array->rank;
  plan->first_start = updates ? 2 : 1;
  plan->is_vector = step->instr->operand_count == plan->first_start + 1 &&
                    step->in_shapes[plan->first_start]->rank == 1;
  HR_TRY(hlo_shape_count(array, &plan->array_bytes));
  HR_TRY(hlo_shape_count(block, &plan->block_bytes));
  plan->array_bytes *= bytes;
  plan->block_bytes *= bytes;
  loop_dense_strides(array->rank, array->dims, bytes, plan->strides);
  loop_dense_strides(block->rank, block->dims, bytes, dense);
  for (int d = 0; d < array->rank; d++) {
    plan->dtypes[d] = step->in_shapes[plan->first_start + (plan->is_vector ? 0 : d)]->dtype;
    plan->limits[d] = array->dims[d] - block->dims[d];
    if (plan->limits[d] < 0) return NULL;
  }
  loop_copy_init(&plan->copy, (int)bytes, block->rank, block->dims, updates ? plan->strides : dense,
                 updates ? dense : plan->strides);
  *out_plan = native_moves_rows(&plan->copy) ? plan : NULL;
  return NULL;
}

static hr_status_t prepare_dynamic_slice(const op_native_target_t *target, const op_step_t *step,
                                         op_native_step_t *out) {
  native_block_plan_t *plan = NULL;
  HR_TRY(plan_block(target, step, false, &plan));
  out->plan = plan;
  if (plan) out->bytes = 2.0 * (double)plan->block_bytes;
  return NULL;
}

/* The start indices are read and clamped at run time. */
static hr_status_t run_dynamic_slice(const op_native_run_t *run, const void *plan_, void *const *in,
                                     void *const *out) {
  const native_block_plan_t *plan = plan_;
  if (!plan->copy.nest.empty)
    native_copy_strided(run->workers, &plan->copy, out[0],
                        (const char *)in[0] + block_offset(plan, in));
  return NULL;
}

static hr_status_t prepare_dynamic_update_slice(const op_native_target_t *target,
                                                const op_step_t *step, op_native_step_t *out) {
  static const uint64_t in_place[] = {1};
  native_block_plan_t *plan = NULL;
  HR_TRY(plan_block(target, step, true, &plan));
  out->plan = plan;
  out->reuse = in_place;
  if (!plan) return NULL;
  out->bytes = 2.0 * (double)plan->block_bytes;
  out->copied_bytes = 2.0 * (double)plan->array_bytes;
  return NULL;
}

/* In place, the copy of the array does nothing. */
static hr_status_t run_dynamic_update_slice(const op_native_run_t *run, const void *plan_,
                                            void *const *in, void *const *out) {
  const native_block_plan_t *plan = plan_;
  native_copy(run->workers, out[0], in[0], plan->array_bytes);
  if (!plan->copy.nest.empty)
    native_copy_strided(run->workers, &plan->copy, (char *)out[0] + block_offset(plan, in), in[1]);
  return NULL;
}

int64_t native_dynamic_slice_offset(const void *plan, void *const *in) {
  return block_offset(plan, in);
}

const op_native_t native_dynamic_slice = {"dynamic slice", prepare_dynamic_slice,
                                          run_dynamic_slice};
const op_native_t native_dynamic_update_slice = {
    "dynamic update slice", prepare_dynamic_update_slice, run_dynamic_update_slice};
