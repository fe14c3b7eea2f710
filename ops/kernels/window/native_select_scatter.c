/* Select-and-scatter with a comparison and a sum: the gradient of max-pooling.
 *
 * Source elements are processed in their order; those of trailing dimensions without a window are
 * lanes side by side. If there are none, lanes are neighbours along the last dimension whose
 * windows have equally many elements. For each, the input element of its window is selected as in
 * the reference kernel (the earlier one wins ties), and the source element is added to the result
 * there. Workers
 * share planes (leading dimensions without a window) and ranges of lanes, whose results do not
 * overlap, so that sums are taken in source order whatever the number of workers. Other bodies are
 * left to the reference kernel. */
#include "base/arith.h"
#include "ops/kernels/common/native_copy.h"
#include "ops/kernels/elementwise/accumulate.h"
#include "ops/kernels/native.h"
#include "ops/kernels/simd/simd_target.h"
#include "ops/kernels/window/window_cells.h"

NATIVE_OPTIMIZE

enum {
  LANES = 64,     /* lanes per call of a loop */
  GRAIN = 1 << 13 /* least source elements per worker */
};

typedef struct select_block {
  const void *operand, *source;
  void *out;
  const int64_t *offsets; /* offsets of the window's elements, in operand and out */
  int64_t count, lanes;
  int64_t stride; /* elements of operand and out from one lane to the next */
  bool is_apart;  /* true if no two lanes can select the same element */
} select_block_t;

typedef struct native_select_plan {
  window_cells_t cells;
  int64_t planes, per_plane; /* source elements before, and within, the windowed dimensions */
  int64_t lanes, chunk; /* source elements after the windowed dimensions; lanes per unit of work */
  const int64_t *runs;  /* lanes from each index of the last dimension on; NULL: trailing lanes */
  int64_t run_stride;   /* elements between these lanes */
  int64_t bytes, out_count; /* element size; elements of the result */
  void (*select_loop)(const select_block_t *block);
} native_select_plan_t;

#define TILES_FILE "ops/kernels/window/select_scatter_steps.h"
#include "ops/kernels/simd/simd_foreach_real.h"

#define F32_STEPS(direction, block) SIMD_FOREACH_REAL_OF(f32, steps_##direction)(block)
#define F64_STEPS(direction, block) SIMD_FOREACH_REAL_OF(f64, steps_##direction)(block)
/* Other types: one lane after the other. */
#define NO_STEPS(direction, block) 0

/* Copies lanes that are `stride` elements apart. */
#define DEFINE_COPY(name, T)                                                                  \
  NATIVE_INLINE void copy_##name(const T *from, int64_t stride, int64_t first, int64_t lanes, \
                                 T *restrict to) {                                            \
    if (stride == 1)                                                                          \
      for (int64_t l = first; l < lanes; l++) to[l] = from[l];                                \
    else if (stride == 2)                                                                     \
      for (int64_t l = first; l < lanes; l++) to[l] = from[2 * l];                            \
    else                                                                                      \
      for (int64_t l = first; l < lanes; l++) to[l] = from[l * stride];                       \
  }

/* Per lane: the selected element is kept as long as `keeps` holds between it and the next one. */
#define DEFINE_SELECT(name, T, direction, steps, holds, add, keeps)                  \
  NATIVE_CLONES static void pick_##name##_##direction(const select_block_t *block) { \
    const T *operand = block->operand, *source = block->source;                      \
    T best[LANES], next[LANES], *out = block->out;                                   \
    int32_t chosen[LANES];                                                           \
    int64_t stride = block->stride, lanes = block->lanes;                            \
    int64_t first = block->is_apart ? steps(direction, block) : 0;                   \
    copy_##name(operand + block->offsets[0], stride, first, lanes, best);            \
    for (int64_t l = first; l < lanes; l++) chosen[l] = 0;                           \
    for (int64_t p = 1; p < block->count; p++) {                                     \
      copy_##name(operand + block->offsets[p], stride, first, lanes, next);          \
      for (int64_t l = first; l < lanes; l++) {                                      \
        bool kept = holds(best[l], keeps, next[l]);                                  \
        best[l] = kept ? best[l] : next[l];                                          \
        chosen[l] = kept ? chosen[l] : (int32_t)p;                                   \
      }                                                                              \
    }                                                                                \
    for (int64_t l = first; l < lanes; l++) {                                        \
      T *to = out + block->offsets[chosen[l]] + l * stride;                          \
      *to = add(*to, source[l]);                                                     \
    }                                                                                \
  }
#define DEFINE_SELECTS(name, T, steps, holds, add)  \
  DEFINE_COPY(name, T)                              \
  DEFINE_SELECT(name, T, ge, steps, holds, add, >=) \
  DEFINE_SELECT(name, T, gt, steps, holds, add, >)  \
  DEFINE_SELECT(name, T, le, steps, holds, add, <=) \
  DEFINE_SELECT(name, T, lt, steps, holds, add, <)

#define HOLDS(a, keeps, b) ((a)keeps(b))
#define SUM(a, b) ((a) + (b))
#define S32_SUM(a, b) ((int32_t)((uint32_t)(a) + (uint32_t)(b)))
DEFINE_SELECTS(f32, float, F32_STEPS, HOLDS, SUM)
DEFINE_SELECTS(f64, double, F64_STEPS, HOLDS, SUM)
DEFINE_SELECTS(s32, int32_t, NO_STEPS, HOLDS, S32_SUM)

/* Floats of 16 bits are compared as integers of the same order; NaN is in none. */
enum { HALF_MAGNITUDE = 0x7fff, BF16_INFINITY = 0x7f80, F16_INFINITY = 0x7c00 };

NATIVE_INLINE int32_t half_key(uint16_t bits) {
  int32_t magnitude = bits & HALF_MAGNITUDE;
  return bits > HALF_MAGNITUDE ? -magnitude : magnitude;
}

NATIVE_INLINE bool half_is_number(uint16_t bits, int32_t infinity) {
  return (bits & HALF_MAGNITUDE) <= infinity;
}

#define HALF_HOLDS(a, keeps, b, infinity) \
  ((half_key(a) keeps half_key(b)) & (half_is_number(a, infinity)) & (half_is_number(b, infinity)))
#define BF16_HOLDS(a, keeps, b) HALF_HOLDS(a, keeps, b, BF16_INFINITY)
#define F16_HOLDS(a, keeps, b) HALF_HOLDS(a, keeps, b, F16_INFINITY)
#define BF16_SUM(a, b) hr_f32_to_bf16(hr_bf16_to_f32(a) + hr_bf16_to_f32(b))

/* The sum with a positive zero, which most elements start as, is the other term. */
NATIVE_INLINE uint16_t f16_sum(uint16_t a, uint16_t b) {
  if (a == 0 && b <= F16_INFINITY) return b;
  return hr_f32_to_f16(hr_f16_to_f32(a) + hr_f16_to_f32(b));
}
DEFINE_SELECTS(bf16, uint16_t, NO_STEPS, BF16_HOLDS, BF16_SUM)
DEFINE_SELECTS(f16, uint16_t, NO_STEPS, F16_HOLDS, f16_sum)

typedef struct select_row {
  hr_dtype_t dtype;
  int direction;
  void (*select_loop)(const select_block_t *block);
} select_row_t;

#define SELECT_ROWS(dtype, name)                          \
  {HR_##dtype, HLO_DIRECTION_GE, pick_##name##_ge},       \
      {HR_##dtype, HLO_DIRECTION_GT, pick_##name##_gt},   \
      {HR_##dtype, HLO_DIRECTION_LE, pick_##name##_le}, { \
    HR_##dtype, HLO_DIRECTION_LT, pick_##name##_lt        \
  }
static const select_row_t table[] = {SELECT_ROWS(F32, f32), SELECT_ROWS(F64, f64),
                                     SELECT_ROWS(BF16, bf16), SELECT_ROWS(F16, f16),
                                     SELECT_ROWS(S32, s32)};

typedef struct select_job {
  const native_select_plan_t *plan;
  const char *operand, *source;
  char *out;
} select_job_t;

/* Processes `lanes` lanes from `first` on, for all source elements of a plane. */
static void select_unit(const select_job_t *job, int64_t plane, int64_t first, int64_t lanes) {
  const native_select_plan_t *plan = job->plan;
  int64_t offsets[WINDOW_MAX_RESULTS], index[HLO_MAX_RANK], at = plane * plan->per_plane;
  int last = plan->cells.rank - 1;
  window_cells_at(&plan->cells, at, index);
  for (int64_t end = at + plan->per_plane, run = 1; at < end; at += run) {
    select_block_t block = {.offsets = offsets,
                            .count = window_cells_list(&plan->cells, index, offsets),
                            .lanes = lanes,
                            .stride = 1,
                            .is_apart = true};
    if (plan->runs) {
      run = plan->runs[index[last]];
      index[last] += run - 1;
      block.lanes = run;
      block.stride = plan->run_stride;
      block.is_apart = false;
    }
    window_cells_next(&plan->cells, index);
    if (block.count == 0) continue;
    block.operand = job->operand + first * plan->bytes;
    block.source = job->source + (at * plan->lanes + first) * plan->bytes;
    block.out = job->out + first * plan->bytes;
    plan->select_loop(&block);
  }
}

/* A unit is a range of lanes of one plane. */
static void select_units(void *context, int64_t begin, int64_t end, int worker) {
  const select_job_t *job = context;
  const native_select_plan_t *plan = job->plan;
  int64_t chunks = hr_div_ceil(plan->lanes, plan->chunk);
  (void)worker;
  for (int64_t unit = begin; unit < end; unit++) {
    int64_t first = unit % chunks * plan->chunk, left = plan->lanes - first;
    select_unit(job, unit / chunks, first, hr_min(left, plan->chunk));
  }
}

/* The result starts as the initial value everywhere. */
static hr_status_t run_select(const op_native_run_t *run, const void *plan_, void *const *in,
                              void *const *out) {
  const native_select_plan_t *plan = plan_;
  select_job_t job = {plan, in[0], in[1], out[0]};
  native_fill(run->workers, out[0], in[2], (int)plan->bytes, plan->out_count);
  if (plan->out_count == 0 || plan->cells.count * plan->lanes == 0) return NULL;
  int64_t chunks = hr_div_ceil(plan->lanes, plan->chunk);
  hr_workers_for(run->workers, plan->planes * chunks, GRAIN / (plan->per_plane * plan->chunk) + 1,
                 select_units, &job);
  return NULL;
}

/* --- planning --------------------------------------------------------------------------------- */

/* The direction of a plain comparison of (selected, next); -1 for another computation. */
static int select_direction(const hlo_computation_t *computation) {
  const hlo_instr_t *root = computation->root;
  int order = hlo_attr_enum(root, HLO_ATTR_TYPE);
  if (root->op != HLO_COMPARE || order == HLO_COMPARISON_TOTALORDER ||
      order == HLO_COMPARISON_WEAKORDER)
    return -1;
  for (int k = 0; k < 2; k++)
    if (root->operands[k]->op != HLO_PARAMETER || hlo_parameter_number(root->operands[k]) != k)
      return -1;
  return hlo_attr_enum(root, HLO_ATTR_DIRECTION);
}

/* Leaves plan->select_loop NULL for other comparators or types. */
static void find_select_loop(native_select_plan_t *plan, const hlo_computation_t *select,
                             hr_dtype_t dtype) {
  int direction = select_direction(select);
  if (direction < 0 || select->params.data[0]->shape->dtype != dtype) return;
  for (size_t i = 0; i < sizeof table / sizeof *table; i++)
    if (table[i].dtype == dtype && table[i].direction == direction)
      plan->select_loop = table[i].select_loop;
}

/* True for a scatter body of one addition on the array's type. */
static hr_status_t is_sum(hr_arena_t *arena, const hlo_computation_t *computation, hr_dtype_t dtype,
                          bool *out_is_sum) {
  const op_body_t *body;
  const ew_kernel_t *kernel;
  hlo_opcode_t op;
  HR_TRY(op_body_prepare(arena, computation, &body));
  *out_is_sum = op_body_is_binary(body, &op, &kernel) && op == HLO_ADD &&
                op_body_param_dtype(body, 0) == dtype;
  return NULL;
}

/* Divides the dimensions before `last` into planes without a window and the windowed ones. */
static void plan_units(native_select_plan_t *plan, const hlo_window_t *window,
                       const hlo_shape_t *source, int last) {
  int first = 0;
  plan->planes = 1;
  plan->per_plane = 1;
  while (first < last && window_is_trivial(&window->dims[first]))
    plan->planes *= source->dims[first++];
  for (int d = first; d < last; d++) plan->per_plane *= source->dims[d];
  plan->chunk = hr_min(plan->lanes, LANES);
}

/* Finds the lanes along the last dimension, if no dimension after it has any. */
static hr_status_t plan_runs(hr_arena_t *arena, native_select_plan_t *plan,
                             const hlo_window_t *window) {
  int last = plan->cells.rank - 1;
  int64_t *runs;
  if (plan->lanes > 1 || last < 0 || !plan->cells.covers[last] || !plan->cells.dims[last])
    return NULL;
  const window_input_range_t *covers = plan->cells.covers[last];
  HR_TRY(HR_NEW_ARRAY(arena, plan->cells.dims[last], &runs));
  plan->run_stride = window->dims[last].stride;
  for (int64_t o = plan->cells.dims[last] - 1; o >= 0; o--) {
    runs[o] = 1;
    if (o + 1 < plan->cells.dims[last] && covers[o].count == covers[o + 1].count &&
        covers[o + 1].first - covers[o].first == plan->run_stride)
      runs[o] = hr_min(runs[o + 1] + 1, LANES);
  }
  plan->runs = runs;
  return NULL;
}

/* Declines other bodies, mixed types, and windows of too many elements. */
static hr_status_t prepare_select(const op_native_target_t *target, const op_step_t *step,
                                  op_native_step_t *out) {
  const hlo_shape_t *operand = step->in_shapes[0], *source = step->in_shapes[1];
  const hlo_window_t *window = hlo_attr_window(step->instr);
  native_select_plan_t *plan;
  bool possible;
  if (!window || source->dtype != operand->dtype || step->out_shape->dtype != operand->dtype ||
      step->in_shapes[2]->dtype != operand->dtype)
    return NULL;
  HR_TRY(HR_NEW(target->arena, &plan));
  find_select_loop(plan, step->instr->called[0], operand->dtype);
  HR_TRY(is_sum(target->arena, step->instr->called[1], operand->dtype, &possible));
  if (!plan->select_loop || !possible) return NULL;
  int last = window->rank;
  plan->lanes = 1;
  while (last > 0 && window_is_trivial(&window->dims[last - 1]))
    plan->lanes *= source->dims[--last];
  HR_TRY(window_cells_plan(target->arena, window, last, operand, source, &plan->cells, &possible));
  if (!possible) return NULL;
  HR_TRY(plan_runs(target->arena, plan, window));
  plan_units(plan, window, source, last);
  plan->bytes = (int64_t)hr_dtype_bytes(operand->dtype);
  HR_TRY(hlo_shape_count(step->out_shape, &plan->out_count));
  out->plan = plan;
  out->bytes =
      (double)(2 * plan->out_count + plan->cells.count * plan->lanes) * (double)plan->bytes;
  return NULL;
}

const op_native_t native_select_and_scatter = {"select and scatter", prepare_select, run_select};
