/* Reduce-window and select-and-scatter.
 *
 * Both iterate over the taps of the window in row-major order. For each tap, the results for which
 * it lies over an input element form a strided box, and so do these elements (window_range.h): the
 * two boxes are walked together, row by row. Taps over padding or holes are skipped. Windows of
 * more than MAX_DIRECT taps in reduce-window, such as cumulative sums, are computed by doubling
 * (window_doubling.h) if the body may be a tree (reduce_order.h), or if all else would take too
 * long: it then counts as associative, as the specification allows, and the initial value is
 * combined last.
 *
 * Sums and products of types narrower than f32 are accumulated in f32 and rounded once.
 * Source: StableHLO spec, reduce_window, select_and_scatter. */
#include <string.h>

#include "base/arith.h"
#include "ops/kernels/common/outputs.h"
#include "ops/kernels/elementwise/promote_operands.h"
#include "ops/kernels/common/strided_loops.h"
#include "ops/kernels/elementwise/accumulate.h"
#include "ops/query/few_terms.h"
#include "ops/query/reduce_order.h"
#include "ops/kernels/reference/window_doubling.h"
#include "ops/query/window_range.h"

#define MAX_DIRECT 64                        /* most taps of a window that is reduced tap by tap */
#define MAX_COMBINATIONS ((double)(1 << 26)) /* most combinations, for bodies that are no trees */

/* The boxes of one tap: a nest over results (operand 0) and input elements (operand 1), and
 * their offsets. */
typedef struct window_box {
  loop_nest_t nest;
  int64_t results, elements;
} window_box_t;

/* `tap` has an index per dimension. False if the box is empty. */
static bool tap_box(const hlo_window_t *window, const int64_t *tap, const int64_t *in_dims,
                    const int64_t *out_dims, window_box_t *box) {
  int64_t in_strides[HLO_MAX_RANK], out_strides[HLO_MAX_RANK], counts[HLO_MAX_RANK];
  box->results = 0;
  box->elements = 0;
  loop_dense_strides(window->rank, in_dims, 1, in_strides);
  loop_dense_strides(window->rank, out_dims, 1, out_strides);
  for (int d = 0; d < window->rank; d++) {
    window_tap_range_t hits = window_tap_range(&window->dims[d], tap[d], in_dims[d], out_dims[d]);
    if (hits.count == 0) return false;
    counts[d] = hits.count;
    box->results += hits.out_first * out_strides[d];
    box->elements += hits.in_first * in_strides[d];
    out_strides[d] *= hits.out_step;
    in_strides[d] *= hits.in_step;
  }
  loop_nest_init(&box->nest, window->rank, counts, 2, (const int64_t *[]){out_strides, in_strides},
                 LOOP_ANY_ORDER);
  return true;
}

/* Advances to the next tap in row-major order; false at the end. */
static bool next_tap(const hlo_window_t *window, int64_t *tap) {
  for (int d = window->rank - 1; d >= 0; d--) {
    if (++tap[d] < window->dims[d].size) return true;
    tap[d] = 0;
  }
  return false;
}

/* The instruction's window; empty for scalars. */
static hlo_window_t instr_window(const hlo_instr_t *instr) {
  const hlo_window_t *window = hlo_attr_window(instr);
  return window ? *window : (hlo_window_t){0, NULL};
}

/* Reduce-window */
typedef struct reduce_window_plan {
  accumulate_plan_t body;
  promote_plan_t promote;
  hlo_window_t window;
  bool slides;
} reduce_window_plan_t;

/* The product of window sizes may overflow, which also counts as large. */
static bool is_large(const hlo_window_t *window) {
  int64_t count = 1;
  for (int d = 0; d < window->rank; d++)
    if (__builtin_mul_overflow(count, window->dims[d].size, &count) || count > MAX_DIRECT)
      return true;
  return false;
}

/* True if the windows are computed by doubling. */
static bool slides(const op_step_t *step, const hlo_window_t *window) {
  double combinations = (double)hlo_shape_elements(op_outputs_shape(step, 0));
  if (!is_large(window)) return false;
  for (int d = 0; d < window->rank; d++) combinations *= (double)window->dims[d].size;
  return combinations > MAX_COMBINATIONS ||
         op_reducer_is_tree(step->instr->called[0], step->instr->operand_count / 2);
}

/* Narrow types are widened unless each window has few terms (few_terms.h). */
static hr_status_t prepare_reduce_window(hr_arena_t *arena, const op_step_t *step,
                                         const void **out_plan) {
  reduce_window_plan_t *plan;
  int *param_of;
  HR_TRY(HR_NEW(arena, &plan));
  bool widen = !op_has_few_terms(step);
  HR_TRY(accumulate_prepare(arena, step->instr->called[0], step->instr->operand_count / 2, widen,
                            &plan->body));
  HR_TRY(HR_NEW_ARRAY(arena, 2 * plan->body.count, &param_of));
  for (int k = 0; k < 2 * plan->body.count; k++) param_of[k] = k;
  plan->window = instr_window(step->instr);
  plan->slides = slides(step, &plan->window);
  *out_plan = plan;
  return promote_prepare(arena, step, plan->body.body, param_of, &plan->promote);
}

/* Values, initial values and results in the body's types: the arrays themselves, or f32 copies. */
typedef struct window_run {
  op_env_t *env;
  const reduce_window_plan_t *plan;
  accumulate_t acc;
  const char **in, **init;
  char **out;
  const int64_t *in_dims, *out_dims;
  int64_t in_count, out_count;
} window_run_t;

/* Converts a narrow operand to f32 and gives the results f32 memory. */
static hr_status_t widen(window_run_t *run, hlo_value_t *const *in, hlo_value_t *const *out) {
  const reduce_window_plan_t *plan = run->plan;
  hr_arena_t *arena = run->env->scratch;
  float *values, *init;
  if (!plan->body.kernel || plan->body.work == in[0]->dtype) return NULL;
  HR_TRY(HR_NEW_ARRAY(arena, in[0]->count, &values));
  HR_TRY(HR_NEW(arena, &init));
  HR_TRY(hr_arena_array(arena, (size_t)out[0]->count, sizeof(float), (void **)&run->out[0]));
  hr_floats_to_f32(in[0]->dtype, in[0]->data, values, in[0]->count);
  hr_floats_to_f32(in[0]->dtype, in[1]->data, init, 1);
  run->in[0] = (const char *)values;
  run->init[0] = (const char *)init;
  return NULL;
}

/* Operands are the `count` inputs followed by their initial values. */
static hr_status_t init_window_run(window_run_t *run, hlo_value_t *const *in,
                                   hlo_value_t *const *out) {
  const reduce_window_plan_t *plan = run->plan;
  int count = plan->body.count;
  hr_arena_t *arena = run->env->scratch;
  HR_TRY(HR_NEW_ARRAY(arena, count, &run->in));
  HR_TRY(HR_NEW_ARRAY(arena, count, &run->init));
  HR_TRY(HR_NEW_ARRAY(arena, count, &run->out));
  for (int k = 0; k < count; k++) {
    run->in[k] = in[k]->data;
    run->init[k] = in[count + k]->data;
    run->out[k] = out[k]->data;
  }
  run->in_dims = in[0]->dims;
  run->out_dims = out[0]->dims;
  run->in_count = in[0]->count;
  run->out_count = out[0]->count;
  HR_TRY(accumulate_init(&run->acc, run->env, &plan->body));
  return widen(run, in, out);
}

/* result = body(result, element) for every result, tap by tap. */
static hr_status_t reduce_taps(window_run_t *run) {
  const reduce_window_plan_t *plan = run->plan;
  int64_t tap[HLO_MAX_RANK] = {0};
  run->acc.to = run->out;
  run->acc.from = run->in;
  do {
    window_box_t box;
    HR_TRY(run->env->engine_ops->check_cancelled(run->env));
    if (!tap_box(&plan->window, tap, run->in_dims, run->out_dims, &box)) continue;
    const loop_nest_t *nest = &box.nest;
    for (loop_walk_t walk = loop_walk_first(nest); walk.live; loop_walk_next(nest, &walk))
      HR_TRY(accumulate_row(&run->acc, nest->row_count, box.results + walk.at[0],
                            nest->row_strides[0], box.elements + walk.at[1], nest->row_strides[1]));
  } while (next_tap(&plan->window, tap));
  return NULL;
}

/* True if the window of result `index` covers any element. */
static bool covers_any_element(const window_run_t *run, const int64_t *index) {
  const hlo_window_t *window = &run->plan->window;
  for (int d = 0; d < window->rank; d++)
    if (window_result_inputs(&window->dims[d], index[d], run->in_dims[d]).count == 0) return false;
  return true;
}

/* results = body(initial value, sum) if the window covers any element. Without dilation all windows
 * do if the first and last of each dimension do. */
static hr_status_t combine_with_init(window_run_t *run, char **sums) {
  const reduce_window_plan_t *plan = run->plan;
  int64_t index[HLO_MAX_RANK] = {0}, last[HLO_MAX_RANK];
  bool dilated = false;
  for (int d = 0; d < plan->window.rank; d++) {
    last[d] = run->out_dims[d] - 1;
    dilated |= plan->window.dims[d].base_dilation > 1 || plan->window.dims[d].window_dilation > 1;
  }
  run->acc.to = run->out;
  run->acc.from = (const char **)sums;
  if (!dilated && covers_any_element(run, index) && covers_any_element(run, last))
    return accumulate_row(&run->acc, run->out_count, 0, 1, 0, 1);
  for (int64_t i = 0; i < run->out_count; i++) {
    if (covers_any_element(run, index)) HR_TRY(accumulate_row(&run->acc, 1, i, 1, i, 1));
    for (int d = plan->window.rank - 1; d >= 0 && ++index[d] == run->out_dims[d]; d--) index[d] = 0;
  }
  return NULL;
}

/* Computes all windows by doubling; the initial value is combined at the end. */
static hr_status_t reduce_sliding(window_run_t *run) {
  const reduce_window_plan_t *plan = run->plan;
  window_doubling_t sliding = {&plan->window, run->in_dims, run->out_dims, &run->acc, run->env};
  char **sums;
  HR_TRY(HR_NEW_ARRAY(run->env->scratch, plan->body.count, &sums));
  HR_TRY(window_doubling_run(&sliding, run->in, sums));
  return combine_with_init(run, sums);
}

/* Every result starts as the initial value. */
static hr_status_t reduce_windows(window_run_t *run, hlo_value_t *const *in,
                                  hlo_value_t *const *out) {
  const reduce_window_plan_t *plan = run->plan;
  HR_TRY(init_window_run(run, in, out));
  for (int k = 0; k < plan->body.count; k++)
    loop_fill(run->out[k], run->init[k], (int)plan->body.bytes[k], run->out_count);
  if (run->in_count && run->out_count)
    HR_TRY(plan->slides ? reduce_sliding(run) : reduce_taps(run));
  if (run->out[0] != out[0]->data)
    hr_floats_from_f32(out[0]->dtype, (const float *)run->out[0], out[0]->data, run->out_count);
  return NULL;
}

static hr_status_t reduce_window(op_env_t *env, const op_step_t *step, hlo_value_t *const *in,
                                 hlo_value_t **out_value) {
  window_run_t run = {.env = env, .plan = step->plan};
  hlo_value_t **out;
  HR_TRY(op_outputs_create(env, step, &out));
  hr_status_t st = reduce_windows(&run, in, out);
  return op_outputs_finish(step, st, run.plan->body.count, out, out_value);
}

static hr_status_t run_reduce_window(op_env_t *env, const op_step_t *step, hlo_value_t *const *in,
                                     hlo_value_t **out_value) {
  const promote_plan_t *promote = &((const reduce_window_plan_t *)step->plan)->promote;
  hlo_value_t **promoted;
  if (!promote->needed) return reduce_window(env, step, in, out_value);
  HR_TRY(promote_run(env, promote, in, &promoted));
  hr_status_t st = reduce_window(env, step, promoted, out_value);
  promote_release(promote, promoted);
  return st;
}
const op_kernel_t kernel_reduce_window = {prepare_reduce_window, run_reduce_window};

/* Select-and-scatter. For each source element the window is traversed in row-major order; the
 * selected element stays as long as select(selected, next) holds. The source element is then
 * combined into the result at the selected index, in row-major order of the source. */
#define SELECT_BLOCK 512

typedef struct select_plan {
  hlo_window_t window;
  const op_body_t *select;
  accumulate_plan_t scatter;
  promote_plan_t promote; /* promotion of source and initial value */
} select_plan_t;

/* Promotion maps the scatter body's parameters: 0 the initial value, 1 the source. */
static hr_status_t prepare_select_and_scatter(hr_arena_t *arena, const op_step_t *step,
                                              const void **out_plan) {
  select_plan_t *plan;
  HR_TRY(HR_NEW(arena, &plan));
  plan->window = instr_window(step->instr);
  HR_TRY(op_body_prepare(arena, step->instr->called[0], &plan->select));
  HR_TRY(accumulate_prepare(arena, step->instr->called[1], 1, false, &plan->scatter));
  *out_plan = plan;
  return promote_prepare(arena, step, plan->scatter.body, (int[]){-1, 1, 0}, &plan->promote);
}

typedef struct select_run {
  op_env_t *env;
  const select_plan_t *plan;
  const char *operand;
  int64_t bytes;     /* element size of the operand */
  int64_t *selected; /* selected operand index per source element; -1: none yet */
  char *current;     /* selected elements of a block */
  uint8_t *keeps;    /* results of select */
} select_run_t;

/* Compares the selection of `count` source elements with one more element each. */
static hr_status_t select_block(select_run_t *run, int64_t count, int64_t source,
                                int64_t source_step, int64_t element, int64_t element_step) {
  int64_t bytes = run->bytes, *selected = run->selected + source;
  for (int64_t i = 0; i < count; i++) {
    if (selected[i * source_step] < 0) selected[i * source_step] = element + i * element_step;
    loop_copy_row(run->current + i * bytes, run->operand + selected[i * source_step] * bytes, 1,
                  bytes, bytes, (int)bytes);
  }
  const void *ins[] = {run->current, run->operand + element * bytes};
  void *outs[] = {run->keeps};
  HR_TRY(op_body_run(run->env, run->plan->select, count, ins, (int64_t[]){1, element_step}, outs));
  for (int64_t i = 0; i < count; i++)
    if (!run->keeps[i]) selected[i * source_step] = element + i * element_step;
  return NULL;
}

/* Blocks bound the memory of the comparisons' results. */
static hr_status_t select_row(select_run_t *run, const loop_nest_t *nest, int64_t source,
                              int64_t element) {
  for (int64_t i = 0; i < nest->row_count; i += SELECT_BLOCK) {
    int64_t count = hr_min(nest->row_count - i, SELECT_BLOCK);
    HR_TRY(select_block(run, count, source + i * nest->row_strides[0], nest->row_strides[0],
                        element + i * nest->row_strides[1], nest->row_strides[1]));
  }
  return NULL;
}

/* Tap by tap, so that the first of equal elements in window order stays selected. */
static hr_status_t select_all(select_run_t *run, const hlo_value_t *operand,
                              const hlo_value_t *source) {
  int64_t tap[HLO_MAX_RANK] = {0};
  if (operand->count == 0 || source->count == 0) return NULL;
  do {
    window_box_t box;
    HR_TRY(run->env->engine_ops->check_cancelled(run->env));
    if (!tap_box(&run->plan->window, tap, operand->dims, source->dims, &box)) continue;
    for (loop_walk_t walk = loop_walk_first(&box.nest); walk.live; loop_walk_next(&box.nest, &walk))
      HR_TRY(select_row(run, &box.nest, box.results + walk.at[0], box.elements + walk.at[1]));
  } while (next_tap(&run->plan->window, tap));
  return NULL;
}

/* Sources are combined in their order, one by one, as two may have chosen the same element. */
static hr_status_t scatter_chosen(select_run_t *run, const hlo_value_t *source, hlo_value_t *out) {
  accumulate_t acc;
  HR_TRY(accumulate_init(&acc, run->env, &run->plan->scatter));
  acc.to[0] = out->data;
  acc.from[0] = source->data;
  for (int64_t i = 0; i < source->count; i++)
    if (run->selected[i] >= 0) HR_TRY(accumulate_row(&acc, 1, run->selected[i], 1, i, 1));
  return NULL;
}

/* selected[i] is the operand element that window i has chosen, -1: none yet. */
static hr_status_t select_and_scatter(select_run_t *run, hlo_value_t *const *in, hlo_value_t *out) {
  hr_arena_t *arena = run->env->scratch;
  HR_TRY(HR_NEW_ARRAY(arena, in[1]->count, &run->selected));
  HR_TRY(hr_arena_array(arena, SELECT_BLOCK, (size_t)run->bytes, (void **)&run->current));
  HR_TRY(HR_NEW_ARRAY(arena, SELECT_BLOCK, &run->keeps));
  for (int64_t i = 0; i < in[1]->count; i++) run->selected[i] = -1;
  loop_fill(out->data, in[2]->data, (int)hr_dtype_bytes(out->dtype), out->count);
  HR_TRY(select_all(run, in[0], in[1]));
  return scatter_chosen(run, in[1], out);
}

/* Source and initial value are promoted if the scatter body's type is wider; the operand is not,
 * since select only compares it. */
static hr_status_t run_select_and_scatter(op_env_t *env, const op_step_t *step,
                                          hlo_value_t *const *in, hlo_value_t **out_value) {
  select_run_t run = {.env = env, .plan = step->plan, .operand = in[0]->data};
  hlo_value_t **promoted, *out;
  run.bytes = (int64_t)hr_dtype_bytes(in[0]->dtype);
  HR_TRY(promote_run(env, &run.plan->promote, in, &promoted));
  hr_status_t st = op_output(env, step, &out);
  if (!st && (st = select_and_scatter(&run, promoted, out))) hlo_value_release(out);
  promote_release(&run.plan->promote, promoted);
  if (!st) *out_value = out;
  return st;
}
const op_kernel_t kernel_select_and_scatter = {prepare_select_and_scatter, run_select_and_scatter};
