/* Select-and-scatter by a comparison and a sum: the gradient of max-pooling. Source elements are
 * gone over in their order, those of the last dimensions without a window side by side; for each
 * the place of its window is chosen as the reference kernel does, and the source added there.
 * Workers share the planes (dimensions before those with windows) and the lanes (those behind), of
 * which each has its own results. */
#include "base/arith.h"
#include "ops/kernels/common/native_copy.h"
#include "ops/kernels/elementwise/accumulate.h"
#include "ops/kernels/native.h"
#include "ops/kernels/simd/simd_target.h"
#include "ops/kernels/window/window_cells.h"

NATIVE_OPTIMIZE

enum {
  LANES = 64,     /* that are worked on together */
  GRAIN = 1 << 13 /* source elements that are worth a worker */
};

typedef struct pick_block {
  const void *operand, *source;
  void *out;
  const int64_t *offsets; /* of the places, in operand and out */
  int64_t count, lanes;
} pick_block_t;

typedef struct native_select_plan {
  window_cells_t cells;
  int64_t planes, per_plane; /* results before, and in, the dimensions with windows */
  int64_t lanes, chunk;      /* behind them; of one unit of work */
  int64_t bytes, out_count;
  void (*pick)(const pick_block_t *block);
} native_select_plan_t;

/* Of each lane: the choice stays as long as `keeps` holds for it and the next. */
#define PICK(name, T, value, add, keeps)                             \
  NATIVE_CLONES static void pick_##name(const pick_block_t *block) { \
    const T *operand = block->operand, *source = block->source;      \
    T best[LANES], *out = block->out;                                \
    int32_t chosen[LANES];                                           \
    for (int64_t l = 0; l < block->lanes; l++) {                     \
      best[l] = operand[block->offsets[0] + l];                      \
      chosen[l] = 0;                                                 \
    }                                                                \
    for (int64_t p = 1; p < block->count; p++) {                     \
      const T *next = operand + block->offsets[p];                   \
      for (int64_t l = 0; l < block->lanes; l++) {                   \
        bool kept = value(best[l]) keeps value(next[l]);             \
        best[l] = kept ? best[l] : next[l];                          \
        chosen[l] = kept ? chosen[l] : (int32_t)p;                   \
      }                                                              \
    }                                                                \
    for (int64_t l = 0; l < block->lanes; l++) {                     \
      T *to = out + block->offsets[chosen[l]] + l;                   \
      *to = add(*to, source[l]);                                     \
    }                                                                \
  }
#define PICKS(name, T, value, add)   \
  PICK(name##_ge, T, value, add, >=) \
  PICK(name##_gt, T, value, add, >)  \
  PICK(name##_le, T, value, add, <=) \
  PICK(name##_lt, T, value, add, <)

#define ITSELF(x) (x)
#define SUM(a, b) ((a) + (b))
#define BF16_SUM(a, b) hr_f32_to_bf16(hr_bf16_to_f32(a) + hr_bf16_to_f32(b))
#define F16_SUM(a, b) hr_f32_to_f16(hr_f16_to_f32(a) + hr_f16_to_f32(b))
PICKS(f32, float, ITSELF, SUM)
PICKS(f64, double, ITSELF, SUM)
PICKS(bf16, uint16_t, hr_bf16_to_f32, BF16_SUM)
PICKS(f16, uint16_t, hr_f16_to_f32, F16_SUM)
#define S32_SUM(a, b) ((int32_t)((uint32_t)(a) + (uint32_t)(b)))
PICKS(s32, int32_t, ITSELF, S32_SUM)

typedef struct pick_row {
  hr_dtype_t dtype;
  int direction;
  void (*pick)(const pick_block_t *block);
} pick_row_t;

#define PICK_ROWS(dtype, name)                            \
  {HR_##dtype, HLO_DIRECTION_GE, pick_##name##_ge},       \
      {HR_##dtype, HLO_DIRECTION_GT, pick_##name##_gt},   \
      {HR_##dtype, HLO_DIRECTION_LE, pick_##name##_le}, { \
    HR_##dtype, HLO_DIRECTION_LT, pick_##name##_lt        \
  }
static const pick_row_t table[] = {PICK_ROWS(F32, f32), PICK_ROWS(F64, f64), PICK_ROWS(BF16, bf16),
                                   PICK_ROWS(F16, f16), PICK_ROWS(S32, s32)};

typedef struct select_job {
  const native_select_plan_t *plan;
  const char *operand, *source;
  char *out;
} select_job_t;

/* Lanes `first` .. of all source elements of a plane. */
static void select_unit(const select_job_t *job, int64_t plane, int64_t first, int64_t lanes) {
  const native_select_plan_t *plan = job->plan;
  int64_t offsets[WINDOW_MAX_RESULTS], index[HLO_MAX_RANK], at = plane * plan->per_plane;
  window_cells_at(&plan->cells, at, index);
  for (int64_t n = 0; n < plan->per_plane; n++, at++, window_cells_next(&plan->cells, index)) {
    pick_block_t block = {.offsets = offsets,
                          .count = window_cells_list(&plan->cells, index, offsets),
                          .lanes = lanes};
    if (block.count == 0) continue;
    block.operand = job->operand + first * plan->bytes;
    block.source = job->source + (at * plan->lanes + first) * plan->bytes;
    block.out = job->out + first * plan->bytes;
    plan->pick(&block);
  }
}

static void select_units(void *context, int64_t begin, int64_t end, int worker) {
  const select_job_t *job = context;
  const native_select_plan_t *plan = job->plan;
  int64_t chunks = (plan->lanes + plan->chunk - 1) / plan->chunk;
  (void)worker;
  for (int64_t unit = begin; unit < end; unit++) {
    int64_t first = unit % chunks * plan->chunk, left = plan->lanes - first;
    select_unit(job, unit / chunks, first, hr_min(left, plan->chunk));
  }
}

static hr_status_t run_select(const op_native_run_t *run, const void *plan_, void *const *in,
                              void *const *out) {
  const native_select_plan_t *plan = plan_;
  select_job_t job = {plan, in[0], in[1], out[0]};
  native_fill(run->workers, out[0], in[2], (int)plan->bytes, plan->out_count);
  if (plan->out_count == 0 || plan->cells.count * plan->lanes == 0) return NULL;
  int64_t chunks = (plan->lanes + plan->chunk - 1) / plan->chunk;
  hr_workers_for(run->workers, plan->planes * chunks, GRAIN / (plan->per_plane * plan->chunk) + 1,
                 select_units, &job);
  return NULL;
}

/* --- planning --------------------------------------------------------------------------------- */

/* compare(choice, next) of a plain order: its direction; -1: it is another computation. */
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

static void find_pick(native_select_plan_t *plan, const hlo_computation_t *select,
                      hr_dtype_t dtype) {
  int direction = select_direction(select);
  if (direction < 0 || select->params.data[0]->shape->dtype != dtype) return;
  for (size_t i = 0; i < sizeof table / sizeof *table; i++)
    if (table[i].dtype == dtype && table[i].direction == direction) plan->pick = table[i].pick;
}

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

static void plan_units(native_select_plan_t *plan, const hlo_window_t *window,
                       const hlo_shape_t *source, int last) {
  int first = 0;
  plan->planes = plan->per_plane = 1;
  while (first < last && window_is_trivial(&window->dims[first]))
    plan->planes *= source->dims[first++];
  for (int d = first; d < last; d++) plan->per_plane *= source->dims[d];
  plan->chunk = hr_min(plan->lanes, LANES);
}

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
  find_pick(plan, step->instr->called[0], operand->dtype);
  HR_TRY(is_sum(target->arena, step->instr->called[1], operand->dtype, &possible));
  if (!plan->pick || !possible) return NULL;
  int last = window->rank;
  plan->lanes = 1;
  while (last > 0 && window_is_trivial(&window->dims[last - 1]))
    plan->lanes *= source->dims[--last];
  HR_TRY(window_cells_plan(target->arena, window, last, operand, source, &plan->cells, &possible));
  if (!possible) return NULL;
  plan_units(plan, window, source, last);
  plan->bytes = (int64_t)hr_dtype_bytes(operand->dtype);
  HR_TRY(hlo_shape_count(step->out_shape, &plan->out_count));
  out->plan = plan;
  out->bytes =
      (double)(2 * plan->out_count + plan->cells.count * plan->lanes) * (double)plan->bytes;
  return NULL;
}

const op_native_t native_select_and_scatter = {"select and scatter", prepare_select, run_select};
