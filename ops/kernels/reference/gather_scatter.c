/* Gather and scatter. Both iterate over an index array; each index vector gives the start of a
 * window of the operand (window_starts.h). Gather copies windows out, with starts clamped; scatter
 * combines updates into windows that fit, in index order. Source: StableHLO spec, gather,
 * scatter. */
#include "ops/kernels/common/outputs.h"
#include "ops/kernels/elementwise/promote_operands.h"
#include "ops/kernels/common/window_starts.h"
#include "ops/kernels/elementwise/accumulate.h"
#include "ops/query/index_values.h"
#include "ops/rules/constraint.h"

/* Gather: one strided copy per window. */
typedef struct gather_plan {
  window_starts_t starts;
  loop_copy_t copy; /* one window to the result */
} gather_plan_t;

/* One strided copy is planned for all windows, as they differ only in their starts. */
static hr_status_t prepare_gather(hr_arena_t *arena, const op_step_t *step, const void **out_plan) {
  const hlo_shape_t *operand = step->in_shapes[0], *out = step->out_shape;
  op_gather_dims_t dims = op_gather_dims(step->instr);
  int bytes = (int)hr_dtype_bytes(out->dtype);
  gather_plan_t *plan;
  int64_t slice[HLO_MAX_RANK], sizes[HLO_MAX_RANK], from[HLO_MAX_RANK], to[HLO_MAX_RANK];
  HR_TRY(HR_NEW(arena, &plan));
  for (int d = 0; d < operand->rank; d++) slice[d] = op_gather_slice_size(step->instr, operand, d);
  window_starts_init(&plan->starts, &dims, operand, step->in_shapes[1], out, slice);
  int rank = window_strides(&dims, operand, out, sizes, from, to);
  for (int d = 0; d < rank; d++) {
    from[d] *= bytes;
    to[d] *= bytes;
  }
  loop_copy_init(&plan->copy, bytes, rank, sizes, to, from);
  *out_plan = plan;
  return NULL;
}

/* A window of one row needs no nest. */
static void copy_window(const loop_copy_t *copy, char *to, const char *from) {
  const loop_nest_t *nest = &copy->nest;
  if (nest->rank || copy->cross_count)
    loop_copy_run(copy, to, from);
  else
    loop_copy_row(to, from, nest->row_count, nest->row_strides[0], nest->row_strides[1],
                  copy->element_bytes);
}

/* Gathers the windows of one row of the batch nest. */
static void gather_row(const gather_plan_t *plan, const loop_walk_t *walk, char *to,
                       const int64_t *indices, const char *from) {
  const loop_nest_t *batch = &plan->starts.batch;
  int64_t bytes = plan->copy.element_bytes;
  for (int64_t i = 0; i < batch->row_count; i++) {
    const int64_t *vector = indices + walk->at[1] + i * batch->row_strides[1];
    int64_t offset =
        window_clamped_offset(&plan->starts, vector) + walk->at[2] + i * batch->row_strides[2];
    copy_window(&plan->copy, to + (walk->at[0] + i * batch->row_strides[0]) * bytes,
                from + offset * bytes);
  }
}

/* Starts are clamped so that each window lies within the operand (StableHLO gather). */
static hr_status_t run_gather(op_env_t *env, const op_step_t *step, hlo_value_t *const *in,
                              hlo_value_t **out_value) {
  const gather_plan_t *plan = step->plan;
  const int64_t *indices;
  HR_TRY(op_indices_load(env->scratch, in[1], &indices));
  HR_TRY(op_output(env, step, out_value));
  if (plan->copy.nest.empty) return NULL;
  for (loop_walk_t walk = loop_walk_first(&plan->starts.batch); walk.live;
       loop_walk_next(&plan->starts.batch, &walk))
    gather_row(plan, &walk, (*out_value)->data, indices, in[0]->data);
  return NULL;
}
const op_kernel_t kernel_gather = {prepare_gather, run_gather};

/* Scatter: windows in the order of the index array, so that a later update of an element sees the
 * earlier one. Elements of one window are distinct: each of its rows is one call of the body. */
typedef struct scatter_plan {
  window_starts_t starts;
  loop_nest_t window; /* operands: 0 operand, 1 updates; elements */
  accumulate_plan_t body;
  promote_plan_t promote;
  bool overwrite; /* the body returns the update: rows are copied */
  bool never_fits;
} scatter_plan_t;

/* A body that returns its second parameter overwrites and is a copy. Operands narrower than the
 * body's types are promoted first, as XLA allows. */
static hr_status_t plan_scatter_body(hr_arena_t *arena, const op_step_t *step,
                                     scatter_plan_t *plan) {
  int parameter, count = (step->instr->operand_count - 1) / 2, *param_of;
  HR_TRY(accumulate_prepare(arena, step->instr->called[0], count, false, &plan->body));
  plan->overwrite =
      count == 1 && op_body_is_parameter(plan->body.body, &parameter) && parameter == 1;
  HR_TRY(HR_NEW_ARRAY(arena, 2 * count + 1, &param_of));
  param_of[count] = -1;
  for (int k = 0; k < count; k++) {
    param_of[k] = k;
    param_of[count + 1 + k] = count + k;
  }
  return promote_prepare(arena, step, plan->body.body, param_of, &plan->promote);
}

/* Dropped and batching dimensions have windows of size 1. never_fits: a window larger than the
 * operand writes nothing. */
static hr_status_t prepare_scatter(hr_arena_t *arena, const op_step_t *step,
                                   const void **out_plan) {
  int count = (step->instr->operand_count - 1) / 2;
  const hlo_shape_t *operand = step->in_shapes[0], *updates = step->in_shapes[count + 1];
  op_gather_dims_t dims = op_scatter_dims(step->instr);
  int64_t sizes[HLO_MAX_RANK], to[HLO_MAX_RANK], from[HLO_MAX_RANK], window[HLO_MAX_RANK];
  scatter_plan_t *plan;
  HR_TRY(HR_NEW(arena, &plan));
  int rank = window_strides(&dims, operand, updates, sizes, to, from), next = 0;
  for (int d = 0; d < operand->rank; d++) {
    window[d] =
        op_dims_contain(dims.dropped, d) || op_dims_contain(dims.batching, d) ? 1 : sizes[next++];
    plan->never_fits |= window[d] > operand->dims[d];
  }
  window_starts_init(&plan->starts, &dims, operand, step->in_shapes[count], updates, window);
  loop_nest_init(&plan->window, rank, sizes, 2, (const int64_t *[]){to, from}, LOOP_ANY_ORDER);
  *out_plan = plan;
  return plan_scatter_body(arena, step, plan);
}

/* One row of a window: copied, or combined with the elements there. */
static hr_status_t scatter_row(const scatter_plan_t *plan, accumulate_t *acc, int64_t to,
                               int64_t from) {
  const loop_nest_t *window = &plan->window;
  if (!plan->overwrite)
    return accumulate_row(acc, window->row_count, to, window->row_strides[0], from,
                          window->row_strides[1]);
  int64_t bytes = (int64_t)plan->body.bytes[0];
  loop_copy_row(acc->to[0] + to * bytes, acc->from[0] + from * bytes, window->row_count,
                window->row_strides[0] * bytes, window->row_strides[1] * bytes, (int)bytes);
  return NULL;
}

/* Windows are combined in the order of the index array, so that equal indices give equal bits. */
static hr_status_t scatter_window(const scatter_plan_t *plan, accumulate_t *acc, int64_t to,
                                  int64_t from) {
  const loop_nest_t *window = &plan->window;
  if (window->rank == 0) return scatter_row(plan, acc, to, from);
  for (loop_walk_t walk = loop_walk_first(window); walk.live; loop_walk_next(window, &walk))
    HR_TRY(scatter_row(plan, acc, to + walk.at[0], from + walk.at[1]));
  return NULL;
}

/* All windows that fit, in index order. */
static hr_status_t scatter_all(const scatter_plan_t *plan, accumulate_t *acc,
                               const int64_t *indices) {
  const loop_nest_t *batch = &plan->starts.batch;
  if (plan->never_fits || plan->window.empty) return NULL;
  for (loop_walk_t walk = loop_walk_first(batch); walk.live; loop_walk_next(batch, &walk))
    for (int64_t i = 0; i < batch->row_count; i++) {
      int64_t offset;
      if (!window_strict_offset(&plan->starts, indices + walk.at[1] + i * batch->row_strides[1],
                                &offset))
        continue;
      offset += walk.at[2] + i * batch->row_strides[2];
      HR_TRY(scatter_window(plan, acc, offset, walk.at[0] + i * batch->row_strides[0]));
    }
  return NULL;
}

/* In place in the operands at their last use, else in copies of them. */
static hr_status_t scatter(op_env_t *env, const op_step_t *step, hlo_value_t *const *in,
                           hlo_value_t **out_value) {
  const scatter_plan_t *plan = step->plan;
  int count = plan->body.count;
  const int64_t *indices;
  hlo_value_t **out;
  accumulate_t acc;
  hr_status_t st = NULL;
  HR_TRY(op_indices_load(env->scratch, in[count], &indices));
  HR_TRY(HR_NEW_ARRAY(env->scratch, count, &out));
  HR_TRY(accumulate_init(&acc, env, &plan->body));
  for (int k = 0; k < count && !st; k++) {
    st = op_reuse_or_copy(env, step, in, k, &out[k]);
    if (!st) acc.to[k] = out[k]->data;
    acc.from[k] = in[count + 1 + k]->data;
  }
  if (!st) st = scatter_all(plan, &acc, indices);
  return op_outputs_finish(step, st, count, out, out_value);
}

/* Operands are promoted to the body's types first, if these are wider. */
static hr_status_t run_scatter(op_env_t *env, const op_step_t *step, hlo_value_t *const *in,
                               hlo_value_t **out_value) {
  const scatter_plan_t *plan = step->plan;
  hlo_value_t **promoted;
  if (!plan->promote.needed) return scatter(env, step, in, out_value);
  HR_TRY(promote_run(env, &plan->promote, in, &promoted));
  hr_status_t st = scatter(env, step, promoted, out_value);
  promote_release(&plan->promote, promoted);
  return st;
}
const op_kernel_t kernel_scatter = {prepare_scatter, run_scatter};
