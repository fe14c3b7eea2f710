/* Reduce: combines the elements along some dimensions by a body.
 *
 * Order. Row-major for each result, from the initial value on, with two exceptions that use
 * associativity, which the specification allows:
 *   - a body that is one commutative, associative op: pairwise summation (pairwise_sum.h), with the
 *     initial value last;
 *   - long runs under any other body that may be a tree (ops/query/reduce_order.h): cut into pieces
 * that keep their order, reduced side by side and then pairwise.
 * The result depends on shapes and values only.
 *
 * Vectorisation. Lanes are adjacent results (kept dimensions), or elements of one run of reduced
 * dimensions (lanes_reduced), whichever gives longer contiguous rows.
 *
 * Precision. Sums and products of types narrower than f32 are accumulated in f32 and rounded once.
 * Source: StableHLO spec, reduce. */
#include <string.h>

#include "base/arith.h"
#include "ops/kernels/common/outputs.h"
#include "ops/kernels/elementwise/promote_operands.h"
#include "ops/kernels/common/strided_loops.h"
#include "ops/kernels/elementwise/accumulate.h"
#include "ops/kernels/elementwise/pairwise_sum.h"
#include "ops/query/reduce_order.h"

#define LANES 512           /* most adjacent results reduced together */
#define MIN_FOLD 64         /* least run of reduced elements for which lanes are its elements */
#define MIN_PIECES_RUN 1024 /* least run for bodies that are not one op */
#define MAX_PIECES 256      /* most pieces of a run */

typedef struct reduce_plan {
  accumulate_plan_t body;
  promote_plan_t promote;
  bool lanes_reduced;  /* lanes are elements of a reduced run; else adjacent results */
  loop_nest_t kept;    /* dimensions of the result; operands: 0 result, 1 input; elements */
  loop_nest_t reduced; /* reduced dimensions; operand 0: input; elements */
} reduce_plan_t;

static bool is_reduced(hr_ints_t dimensions, int d) {
  for (int64_t i = 0; i < dimensions.count; i++)
    if (dimensions.data[i] == d) return true;
  return false;
}

/* Two nests over the operand: kept dimensions (with the results' offsets) and reduced ones. */
static void plan_nests(reduce_plan_t *plan, const op_step_t *step) {
  const hlo_shape_t *in = step->in_shapes[0], *out = op_outputs_shape(step, 0);
  hr_ints_t dimensions = hlo_attr_ints(step->instr, HLO_ATTR_DIMENSIONS);
  int64_t in_strides[HLO_MAX_RANK], out_strides[HLO_MAX_RANK], kept_strides[HLO_MAX_RANK];
  int64_t reduced_dims[HLO_MAX_RANK], reduced_strides[HLO_MAX_RANK];
  int kept = 0, reduced = 0;
  loop_dense_strides(in->rank, in->dims, 1, in_strides);
  loop_dense_strides(out->rank, out->dims, 1, out_strides);
  for (int d = 0; d < in->rank; d++) {
    if (is_reduced(dimensions, d)) {
      reduced_dims[reduced] = in->dims[d];
      reduced_strides[reduced++] = in_strides[d];
    } else {
      kept_strides[kept++] = in_strides[d];
    }
  }
  loop_nest_init(&plan->kept, out->rank, out->dims, 2,
                 (const int64_t *[]){out_strides, kept_strides}, LOOP_PROGRAM_ORDER);
  loop_nest_init(&plan->reduced, reduced, reduced_dims, 1, (const int64_t *[]){reduced_strides},
                 LOOP_PROGRAM_ORDER);
}

/* Parameter k of the body belongs to operand k, so promotion maps them one to one. */
static hr_status_t plan_body(hr_arena_t *arena, const op_step_t *step, reduce_plan_t *plan) {
  int *param_of;
  HR_TRY(accumulate_prepare(arena, step->instr->called[0], step->instr->operand_count / 2, true,
                            &plan->body));
  HR_TRY(HR_NEW_ARRAY(arena, 2 * plan->body.count, &param_of));
  for (int k = 0; k < 2 * plan->body.count; k++) param_of[k] = k;
  return promote_prepare(arena, step, plan->body.body, param_of, &plan->promote);
}

/* Chooses whether lanes are terms of one result or neighbouring results: terms if they are
 * contiguous and many, or if there are too few results to fill the lanes. */
static hr_status_t prepare_reduce(hr_arena_t *arena, const op_step_t *step, const void **out_plan) {
  reduce_plan_t *plan;
  HR_TRY(HR_NEW(arena, &plan));
  HR_TRY(plan_body(arena, step, plan));
  plan_nests(plan, step);
  int64_t run = plan->reduced.row_count, neighbours = plan->kept.row_count;
  if (plan->body.kernel)
    plan->lanes_reduced = plan->reduced.row_strides[0] == 1 && (run >= MIN_FOLD || neighbours < 8);
  else
    plan->lanes_reduced = run >= MIN_PIECES_RUN && neighbours < 16 &&
                          op_reducer_is_tree(step->instr->called[0], plan->body.count);
  *out_plan = plan;
  return NULL;
}

/* One execution. */
typedef struct reduce_run {
  op_env_t *env;
  const reduce_plan_t *plan;
  hlo_value_t *const *in; /* values, then initial values */
  hlo_value_t **out;
  hr_dtype_t dtype;    /* type of operand 0 */
  int64_t in_bytes;    /* element size of operand 0 */
  pairwise_sum_t sum;  /* accumulators of a single-op body */
  void *narrow, *wide; /* scratch rows: made dense; converted to the accumulators' type */
  float wide_init;
  accumulate_t acc;             /* accumulators of any other body */
  char **pieces, **next_pieces; /* partial results of a run, and the next round's; per operand */
} reduce_run_t;

/* A row of the input in the accumulators' type; *step becomes its stride. */
static const void *widen_row(reduce_run_t *run, const void *row, int64_t count, int64_t *step) {
  if (run->plan->body.work == run->dtype) return row;
  int64_t bytes = run->in_bytes;
  if (*step != 1) {
    loop_copy_row(run->narrow, row, count, bytes, *step * bytes, (int)bytes);
    row = run->narrow;
  }
  hr_floats_to_f32(run->dtype, row, run->wide, count);
  *step = 1;
  return run->wide;
}

/* out = init op total, for `count` lanes, rounded to the operand's type. */
static void finish_lanes(reduce_run_t *run, const void *total, int64_t count, void *out) {
  bool is_wide = run->plan->body.work != run->dtype;
  const void *ins[] = {is_wide ? &run->wide_init : run->in[1]->data, total};
  ew_kernel_run(run->plan->body.kernel, count, ins, (int64_t[]){0, 1}, is_wide ? run->wide : out);
  if (is_wide) hr_floats_from_f32(run->dtype, run->wide, out, count);
}

/* Adjacent results as lanes: each reduced index adds a row of them. */
static hr_status_t sum_kept_lanes(reduce_run_t *run, const char *from, int64_t lanes,
                                  int64_t lane_stride, char *out) {
  const loop_nest_t *reduced = &run->plan->reduced;
  pairwise_sum_clear(&run->sum, lanes);
  for (loop_walk_t walk = loop_walk_first(reduced); walk.live; loop_walk_next(reduced, &walk))
    for (int64_t i = 0; i < reduced->row_count; i++) {
      int64_t offset = walk.at[0] + i * reduced->row_strides[0], step = lane_stride;
      const void *row = widen_row(run, from + offset * run->in_bytes, lanes, &step);
      HR_TRY(pairwise_sum_add(&run->sum, row, lanes, step));
    }
  finish_lanes(run, pairwise_sum_total(&run->sum), lanes, out);
  return NULL;
}

/* One result: its runs of reduced elements are added row by row, and the lanes combined at the
 * end. */
static hr_status_t sum_reduced_lanes(reduce_run_t *run, const char *from, char *out) {
  const loop_nest_t *reduced = &run->plan->reduced;
  int64_t lanes = run->sum.max_lanes, bytes = run->in_bytes;
  pairwise_sum_clear(&run->sum, lanes);
  for (loop_walk_t walk = loop_walk_first(reduced); walk.live; loop_walk_next(reduced, &walk))
    for (int64_t i = 0; i < reduced->row_count; i += lanes) {
      int64_t count = hr_min(reduced->row_count - i, lanes), step = 1;
      const void *row = widen_row(run, from + (walk.at[0] + i) * bytes, count, &step);
      HR_TRY(pairwise_sum_add(&run->sum, row, count, step));
    }
  void *total = pairwise_sum_total(&run->sum);
  pairwise_sum_fold_lanes(&run->sum);
  finish_lanes(run, total, 1, out);
  return NULL;
}

/* Initialises `count` results from `offset` on. */
static void init_results(reduce_run_t *run, int64_t offset, int64_t count) {
  int operands = run->plan->body.count;
  for (int k = 0; k < operands; k++) {
    int64_t bytes = (int64_t)hr_dtype_bytes(run->out[k]->dtype);
    loop_fill((char *)run->out[k]->data + offset * bytes, run->in[operands + k]->data, (int)bytes,
              count);
  }
}

/* Adjacent results as lanes, each from its initial value on, in row-major order. */
static hr_status_t body_kept_lanes(reduce_run_t *run, int64_t from, int64_t lanes,
                                   int64_t lane_stride, int64_t out) {
  const loop_nest_t *reduced = &run->plan->reduced;
  init_results(run, out, lanes);
  for (loop_walk_t walk = loop_walk_first(reduced); walk.live; loop_walk_next(reduced, &walk))
    for (int64_t i = 0; i < reduced->row_count; i++)
      HR_TRY(accumulate_row(&run->acc, lanes, out, 1,
                            from + walk.at[0] + i * reduced->row_strides[0], lane_stride));
  return NULL;
}

/* Combines neighbouring pieces, in order, until one remains in run->pieces. */
static hr_status_t combine_pieces(reduce_run_t *run, int64_t pieces) {
  accumulate_t *acc = &run->acc;
  int operands = run->plan->body.count;
  for (int64_t half; pieces > 1; pieces -= half) {
    half = pieces / 2;
    for (int k = 0; k < 2 * operands; k++) {
      size_t bytes = run->plan->body.bytes[k % operands];
      acc->ins[k] = run->pieces[k % operands] + (k < operands ? 0 : bytes);
      acc->strides[k] = 2;
    }
    HR_TRY(op_body_run(run->env, run->plan->body.body, half, acc->ins, acc->strides,
                       (void *const *)run->next_pieces));
    for (int k = 0; k < operands && pieces % 2; k++) {
      size_t bytes = run->plan->body.bytes[k];
      memcpy(run->next_pieces[k] + (size_t)half * bytes,
             run->pieces[k] + (size_t)(pieces - 1) * bytes, bytes);
    }
    char **swap = run->pieces;
    run->pieces = run->next_pieces;
    run->next_pieces = swap;
  }
  return NULL;
}

/* Reduces a run of elements to one, in run->pieces: equal pieces side by side, then combined in
 * order, then the remainder. */
static hr_status_t body_run_pieces(reduce_run_t *run, int64_t from, int64_t count, int64_t step) {
  accumulate_t *acc = &run->acc;
  int64_t pieces = hr_min(count / 8, MAX_PIECES), length = count / pieces;
  acc->to = run->pieces;
  for (int k = 0; k < run->plan->body.count; k++) {
    int64_t bytes = (int64_t)run->plan->body.bytes[k];
    loop_copy_row(run->pieces[k], acc->from[k] + from * bytes, pieces, bytes, length * step * bytes,
                  (int)bytes);
  }
  for (int64_t i = 1; i < length; i++)
    HR_TRY(accumulate_row(acc, pieces, 0, 1, from + i * step, length * step));
  HR_TRY(combine_pieces(run, pieces));
  acc->to = run->pieces;
  for (int64_t i = pieces * length; i < count; i++)
    HR_TRY(accumulate_row(acc, 1, 0, 1, from + i * step, 1));
  return NULL;
}

/* One result, run after run: result = body(result, run). */
static hr_status_t body_reduced_lanes(reduce_run_t *run, int64_t from, int64_t out) {
  const loop_nest_t *reduced = &run->plan->reduced;
  accumulate_t *acc = &run->acc;
  char **results = acc->to;
  const char **values = acc->from;
  init_results(run, out, 1);
  for (loop_walk_t walk = loop_walk_first(reduced); walk.live; loop_walk_next(reduced, &walk)) {
    HR_TRY(body_run_pieces(run, from + walk.at[0], reduced->row_count, reduced->row_strides[0]));
    acc->to = results;
    acc->from = (const char **)run->pieces;
    HR_TRY(accumulate_row(acc, 1, out, 1, 0, 1));
    acc->from = values;
  }
  return NULL;
}

/* `lanes` adjacent results; offsets in elements. */
static hr_status_t reduce_lanes(reduce_run_t *run, int64_t from, int64_t lanes, int64_t lane_stride,
                                int64_t out) {
  const reduce_plan_t *plan = run->plan;
  if (!plan->body.kernel)
    return plan->lanes_reduced ? body_reduced_lanes(run, from, out)
                               : body_kept_lanes(run, from, lanes, lane_stride, out);
  const char *in_at = (const char *)run->in[0]->data + from * run->in_bytes;
  char *out_at = (char *)run->out[0]->data + out * run->in_bytes;
  return plan->lanes_reduced ? sum_reduced_lanes(run, in_at, out_at)
                             : sum_kept_lanes(run, in_at, lanes, lane_stride, out_at);
}

/* Up to LANES neighbouring results at a time, unless lanes are terms. */
static hr_status_t reduce_all(reduce_run_t *run) {
  const loop_nest_t *kept = &run->plan->kept;
  int64_t max_lanes = run->plan->lanes_reduced ? 1 : LANES;
  for (loop_walk_t walk = loop_walk_first(kept); walk.live; loop_walk_next(kept, &walk)) {
    HR_TRY(run->env->engine_ops->check_cancelled(run->env));
    for (int64_t i = 0; i < kept->row_count; i += max_lanes) {
      int64_t lanes = hr_min(kept->row_count - i, max_lanes);
      HR_TRY(reduce_lanes(run, walk.at[1] + i * kept->row_strides[1], lanes, kept->row_strides[1],
                          walk.at[0] + i));
    }
  }
  return NULL;
}

/* Narrow floats are widened in blocks and summed in f32. */
static hr_status_t init_kernel(reduce_run_t *run) {
  const reduce_plan_t *plan = run->plan;
  hr_arena_t *arena = run->env->scratch;
  int64_t lanes = plan->lanes_reduced ? plan->reduced.row_count : plan->kept.row_count;
  if (lanes > LANES) lanes = LANES;
  HR_TRY(pairwise_sum_init(&run->sum, arena, plan->body.kernel, lanes,
                           hr_dtype_bytes(plan->body.work)));
  if (plan->body.work == run->dtype) return NULL;
  HR_TRY(hr_arena_array(arena, (size_t)lanes, (size_t)run->in_bytes, &run->narrow));
  HR_TRY(hr_arena_array(arena, (size_t)lanes, sizeof(float), &run->wide));
  hr_floats_to_f32(run->dtype, run->in[1]->data, &run->wide_init, 1);
  return NULL;
}

/* Each piece of a long run has an accumulator, for every result of the body. */
static hr_status_t init_body(reduce_run_t *run) {
  const accumulate_plan_t *body = &run->plan->body;
  hr_arena_t *arena = run->env->scratch;
  HR_TRY(accumulate_init(&run->acc, run->env, body));
  HR_TRY(HR_NEW_ARRAY(arena, body->count, &run->pieces));
  HR_TRY(HR_NEW_ARRAY(arena, body->count, &run->next_pieces));
  for (int k = 0; k < body->count; k++) {
    run->acc.from[k] = run->in[k]->data;
    run->acc.to[k] = run->out[k]->data;
    HR_TRY(hr_arena_array(arena, MAX_PIECES, body->bytes[k], (void **)&run->pieces[k]));
    HR_TRY(hr_arena_array(arena, MAX_PIECES, body->bytes[k], (void **)&run->next_pieces[k]));
  }
  return NULL;
}

/* Without terms every result is its initial value. */
static hr_status_t reduce(op_env_t *env, const op_step_t *step, hlo_value_t *const *in,
                          hlo_value_t **out_value) {
  const reduce_plan_t *plan = step->plan;
  reduce_run_t run = {.env = env, .plan = plan, .in = in, .dtype = in[0]->dtype};
  run.in_bytes = (int64_t)hr_dtype_bytes(run.dtype);
  HR_TRY(op_outputs_create(env, step, &run.out));
  hr_status_t st = NULL;
  if (plan->reduced.empty)
    init_results(&run, 0, run.out[0]->count);
  else
    st = plan->body.kernel ? init_kernel(&run) : init_body(&run);
  if (!st && !plan->reduced.empty) st = reduce_all(&run);
  return op_outputs_finish(step, st, plan->body.count, run.out, out_value);
}

static hr_status_t run_reduce(op_env_t *env, const op_step_t *step, hlo_value_t *const *in,
                              hlo_value_t **out_value) {
  const promote_plan_t *promote = &((const reduce_plan_t *)step->plan)->promote;
  hlo_value_t **promoted;
  if (!promote->needed) return reduce(env, step, in, out_value);
  HR_TRY(promote_run(env, promote, in, &promoted));
  hr_status_t st = reduce(env, step, promoted, out_value);
  promote_release(promote, promoted);
  return st;
}
const op_kernel_t kernel_reduce = {prepare_reduce, run_reduce};
