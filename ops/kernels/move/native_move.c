/* Ops that only move elements, where they move them in runs: parts of arrays in and out, at places
 * known or found at run time, several arrays into one, one repeated. What moves single elements
 * about is left to generated code, unless there are so few that compiling it would take longer. */
#include <string.h>

#include "ops/kernels/common/native_copy.h"
#include "ops/kernels/native.h"

enum { MIN_ROW_BYTES = 32, FEW_BYTES = 1 << 14, MAX_STARTS = HLO_MAX_RANK };

/* A result made of up to `part_count` operands, each copied to its place. */
typedef struct move_part {
  loop_copy_t copy;
  int64_t to_offset, from_offset; /* bytes */
} move_part_t;

typedef struct native_move_plan {
  int part_count;
  move_part_t *parts;
  int element_bytes;
  int64_t count;
} native_move_plan_t;

static bool moves_runs(const loop_copy_t *copy) {
  const loop_nest_t *nest = &copy->nest;
  int64_t bytes = copy->element_bytes, rows = loop_row_total(nest);
  if (nest->empty || copy->cross_count || rows * nest->row_count * bytes <= FEW_BYTES) return true;
  bool dense =
      nest->row_strides[0] == bytes && (nest->row_strides[1] == bytes || nest->row_strides[1] == 0);
  return dense && nest->row_count * bytes >= MIN_ROW_BYTES;
}

static hr_status_t new_plan(const op_native_target_t *target, const op_step_t *step, int part_count,
                            native_move_plan_t **out_plan) {
  native_move_plan_t *plan;
  HR_TRY(HR_NEW(target->arena, &plan));
  HR_TRY(HR_NEW_ARRAY(target->arena, part_count, &plan->parts));
  HR_TRY(hlo_shape_count(step->out_shape, &plan->count));
  plan->part_count = part_count;
  plan->element_bytes = (int)hr_dtype_bytes(step->out_shape->dtype);
  *out_plan = plan;
  return NULL;
}

static void accept(const native_move_plan_t *plan, op_native_step_t *out) {
  bool good = true;
  for (int k = 0; k < plan->part_count; k++) good &= moves_runs(&plan->parts[k].copy);
  if (!good) return;
  out->plan = plan;
  out->bytes = 2.0 * (double)plan->count * plan->element_bytes;
}

static hr_status_t run_move(const op_native_run_t *run, const void *plan_, void *const *in,
                            void *const *out) {
  const native_move_plan_t *plan = plan_;
  for (int k = 0; k < plan->part_count; k++) {
    const move_part_t *part = &plan->parts[k];
    if (part->copy.nest.empty) continue;
    native_copy_strided(run->workers, &part->copy, (char *)out[0] + part->to_offset,
                        (const char *)in[k] + part->from_offset);
  }
  return NULL;
}

/* --- copies, slices, broadcasts, reversals ---------------------------------------------------- */

static void operand_strides(const op_step_t *step, int64_t *out_strides) {
  const hlo_shape_t *in = step->in_shapes[0];
  loop_dense_strides(in->rank, in->dims, (int64_t)hr_dtype_bytes(in->dtype), out_strides);
}

/* from_strides and from_offset in bytes, per dimension of the result. */
static hr_status_t plan_one(const op_native_target_t *target, const op_step_t *step,
                            const int64_t *from_strides, int64_t from_offset,
                            op_native_step_t *out) {
  const hlo_shape_t *shape = step->out_shape;
  int64_t to_strides[HLO_MAX_RANK];
  native_move_plan_t *plan;
  HR_TRY(new_plan(target, step, 1, &plan));
  loop_dense_strides(shape->rank, shape->dims, plan->element_bytes, to_strides);
  loop_copy_init(&plan->parts[0].copy, plan->element_bytes, shape->rank, shape->dims, to_strides,
                 from_strides);
  plan->parts[0].from_offset = from_offset;
  accept(plan, out);
  return NULL;
}

static hr_status_t prepare_copy(const op_native_target_t *target, const op_step_t *step,
                                op_native_step_t *out) {
  static const uint64_t in_place[] = {1};
  int64_t strides[HLO_MAX_RANK];
  if (!hlo_shape_is_array(step->out_shape)) return NULL;
  operand_strides(step, strides);
  out->reuse = in_place;
  return plan_one(target, step, strides, 0, out);
}

static hr_status_t prepare_slice(const op_native_target_t *target, const op_step_t *step,
                                 op_native_step_t *out) {
  const hlo_slice_t *slice = hlo_attr_slice(step->instr);
  int64_t strides[HLO_MAX_RANK], offset = 0;
  operand_strides(step, strides);
  for (int d = 0; d < step->out_shape->rank; d++) {
    offset += slice->dims[d].start * strides[d];
    if (step->out_shape->dims[d] > 1) strides[d] *= slice->dims[d].stride;
  }
  return plan_one(target, step, strides, offset, out);
}

static hr_status_t prepare_reverse(const op_native_target_t *target, const op_step_t *step,
                                   op_native_step_t *out) {
  hr_ints_t dimensions = hlo_attr_ints(step->instr, HLO_ATTR_DIMENSIONS);
  int64_t strides[HLO_MAX_RANK], offset = 0;
  operand_strides(step, strides);
  for (int64_t i = 0; i < dimensions.count; i++) {
    int64_t d = dimensions.data[i];
    offset += (step->out_shape->dims[d] - 1) * strides[d];
    strides[d] = -strides[d];
  }
  return plan_one(target, step, strides, offset, out);
}

static hr_status_t prepare_broadcast(const op_native_target_t *target, const op_step_t *step,
                                     op_native_step_t *out) {
  hr_ints_t dimensions = hlo_attr_ints(step->instr, HLO_ATTR_DIMENSIONS);
  int64_t in_strides[HLO_MAX_RANK], strides[HLO_MAX_RANK] = {0};
  operand_strides(step, in_strides);
  for (int i = 0; i < step->in_shapes[0]->rank; i++)
    if (step->in_shapes[0]->dims[i] != 1) strides[dimensions.data[i]] = in_strides[i];
  return plan_one(target, step, strides, 0, out);
}

const op_native_t native_whole_copy = {"copy", prepare_copy, run_move};
const op_native_t native_slice = {"slice", prepare_slice, run_move};
const op_native_t native_reverse = {"reverse", prepare_reverse, run_move};
const op_native_t native_broadcast = {"broadcast", prepare_broadcast, run_move};

/* --- several into one ------------------------------------------------------------------------- */

static hr_status_t prepare_concatenate(const op_native_target_t *target, const op_step_t *step,
                                       op_native_step_t *out) {
  int64_t d = hlo_attr_ints(step->instr, HLO_ATTR_DIMENSIONS).data[0], start = 0;
  int64_t to_strides[HLO_MAX_RANK], from_strides[HLO_MAX_RANK];
  int rank = step->out_shape->rank;
  native_move_plan_t *plan;
  HR_TRY(new_plan(target, step, step->instr->operand_count, &plan));
  loop_dense_strides(rank, step->out_shape->dims, plan->element_bytes, to_strides);
  for (int k = 0; k < plan->part_count; k++) {
    const int64_t *dims = step->in_shapes[k]->dims;
    loop_dense_strides(rank, dims, plan->element_bytes, from_strides);
    loop_copy_init(&plan->parts[k].copy, plan->element_bytes, rank, dims, to_strides, from_strides);
    plan->parts[k].to_offset = start * to_strides[d];
    start += dims[d];
  }
  accept(plan, out);
  return NULL;
}

const op_native_t native_concatenate = {"concatenate", prepare_concatenate, run_move};

/* --- places known at run time ----------------------------------------------------------------- */

typedef struct native_block_plan {
  loop_copy_t copy;
  int rank, first; /* operand of the first start */
  bool is_vector;  /* one operand has all starts */
  hr_dtype_t dtypes[MAX_STARTS];
  int64_t limits[MAX_STARTS], strides[MAX_STARTS]; /* of the starts; bytes */
  int64_t whole_bytes;                             /* of the updated array */
} native_block_plan_t;

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

static int64_t block_offset(const native_block_plan_t *plan, void *const *in) {
  int64_t offset = 0;
  for (int d = 0; d < plan->rank; d++) {
    const char *at = plan->is_vector ? (const char *)in[plan->first] +
                                           d * (int64_t)hr_dtype_bytes(plan->dtypes[d])
                                     : in[plan->first + d];
    int64_t start = read_start(plan->dtypes[d], at);
    offset += (start < 0                 ? 0
               : start > plan->limits[d] ? plan->limits[d]
                                         : start) *
              plan->strides[d];
  }
  return offset;
}

/* `updates`: the block is written into the array, not read from it. */
static hr_status_t plan_block(const op_native_target_t *target, const op_step_t *step, bool updates,
                              native_block_plan_t **out_plan) {
  const hlo_shape_t *whole = step->in_shapes[0],
                    *block = updates ? step->in_shapes[1] : step->out_shape;
  int64_t bytes = (int64_t)hr_dtype_bytes(whole->dtype), dense[HLO_MAX_RANK];
  native_block_plan_t *plan;
  HR_TRY(HR_NEW(target->arena, &plan));
  plan->rank = whole->rank;
  plan->first = updates ? 2 : 1;
  plan->is_vector =
      step->instr->operand_count == plan->first + 1 && step->in_shapes[plan->first]->rank == 1;
  HR_TRY(hlo_shape_count(whole, &plan->whole_bytes));
  plan->whole_bytes *= bytes;
  loop_dense_strides(whole->rank, whole->dims, bytes, plan->strides);
  loop_dense_strides(block->rank, block->dims, bytes, dense);
  for (int d = 0; d < whole->rank; d++) {
    plan->dtypes[d] = step->in_shapes[plan->first + (plan->is_vector ? 0 : d)]->dtype;
    plan->limits[d] = whole->dims[d] - block->dims[d];
    if (plan->limits[d] < 0) return NULL;
  }
  loop_copy_init(&plan->copy, (int)bytes, block->rank, block->dims, updates ? plan->strides : dense,
                 updates ? dense : plan->strides);
  *out_plan = moves_runs(&plan->copy) ? plan : NULL;
  return NULL;
}

static hr_status_t prepare_dynamic_slice(const op_native_target_t *target, const op_step_t *step,
                                         op_native_step_t *out) {
  native_block_plan_t *plan = NULL;
  HR_TRY(plan_block(target, step, false, &plan));
  out->plan = plan;
  return NULL;
}

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
  return NULL;
}

static hr_status_t run_dynamic_update_slice(const op_native_run_t *run, const void *plan_,
                                            void *const *in, void *const *out) {
  const native_block_plan_t *plan = plan_;
  native_copy(run->workers, out[0], in[0], plan->whole_bytes);
  if (!plan->copy.nest.empty)
    native_copy_strided(run->workers, &plan->copy, (char *)out[0] + block_offset(plan, in), in[1]);
  return NULL;
}

const op_native_t native_dynamic_slice = {"dynamic slice", prepare_dynamic_slice,
                                          run_dynamic_slice};
const op_native_t native_dynamic_update_slice = {
    "dynamic update slice", prepare_dynamic_update_slice, run_dynamic_update_slice};
