/* Scatter, in place in its first operands. Updates of one element are applied in index order
 * whatever the number of workers, because no two workers access the same element. Division of the
 * work:
 *
 *   columns    windows with long rows: each worker takes all windows, but its range of every row
 *   offsets    windows either equal or disjoint: each worker takes the offsets that hash to it
 *   elements   windows interleaved in memory: each worker takes a range of element positions within
 *              the window, for all windows
 *   batches    windows in batches with disjoint parts of the operand: each worker takes batches
 *   copies     operand small beside the updates: ranges of windows are combined into privatised
 *              copies of the operand, which are added at the end; as many copies as the sizes
 *              justify, independent of the number of workers for ops whose order matters
 *   serial     else one worker does everything
 *
 * A row is combined by the loops of scatter_rows.h, by the elementwise kernel of the body's single
 * op, or by the body itself, vectorised (op_body_run); short rows of different windows together
 * (scatter_groups.h). Bodies that need calls, and operands that need conversion, are left to the
 * reference kernel. */
#include <string.h>

#include "base/arith.h"
#include "ops/kernels/common/native_copy.h"
#include "ops/kernels/elementwise/promote_operands.h"
#include "ops/kernels/indexed/native_scatter.h"
#include "ops/kernels/indexed/scatter_groups.h"
#include "ops/kernels/simd/simd_target.h"

NATIVE_OPTIMIZE

enum {
  BLOCK = 64,            /* elements of a strided row combined per call */
  MIN_PART_BYTES = 256,  /* least bytes of a row per worker */
  MIN_WINDOW_BYTES = 64, /* least bytes of a window that is divided by owner */
  GRAIN = 1 << 14,       /* least updates per worker */
  LONG_RUN = 8,          /* updates of an element, on average, in a run that is worth a branch */
  PREFETCH_DISTANCE = 4
};

typedef struct scatter_job {
  const native_scatter_plan_t *plan;
  const void *indices;
  char *const *to;
  char *const *from;
  int parts;
} scatter_job_t;

/* --- rows ------------------------------------------------------------------------------------- */

/* to[k][i] = body(to..., from...)[k] for a row of dense accumulators. */
static void combine_dense(const scatter_job_t *job, int64_t count, int64_t to, int64_t from,
                          int64_t from_step) {
  const accumulate_plan_t *body = &job->plan->body;
  const void *ins[2 * SCATTER_ARRAYS_MAX];
  int64_t steps[2 * SCATTER_ARRAYS_MAX];
  void *outs[SCATTER_ARRAYS_MAX];
  for (int k = 0; k < body->count; k++) {
    outs[k] = job->to[k] + to * (int64_t)body->bytes[k];
    ins[k] = outs[k];
    ins[body->count + k] = job->from[k] + from * (int64_t)body->bytes[k];
    steps[k] = 1;
    steps[body->count + k] = from_step;
  }
  scatter_combine(body, count, ins, steps, outs);
}

/* The same for strided accumulators: results are computed into dense rows, then scattered. */
static void combine_strided(const scatter_job_t *job, int64_t count, int64_t to, int64_t to_step,
                            int64_t from, int64_t from_step) {
  const accumulate_plan_t *body = &job->plan->body;
  char rows[SCATTER_ARRAYS_MAX][BLOCK * 16] __attribute__((aligned(64)));
  const void *ins[2 * SCATTER_ARRAYS_MAX];
  int64_t steps[2 * SCATTER_ARRAYS_MAX];
  void *outs[SCATTER_ARRAYS_MAX];
  for (int k = 0; k < body->count; k++) {
    ins[k] = job->to[k] + to * (int64_t)body->bytes[k];
    ins[body->count + k] = job->from[k] + from * (int64_t)body->bytes[k];
    steps[k] = to_step;
    steps[body->count + k] = from_step;
    outs[k] = rows[k];
  }
  scatter_combine(body, count, ins, steps, outs);
  for (int k = 0; k < body->count; k++) {
    int64_t bytes = (int64_t)body->bytes[k];
    loop_copy_row(job->to[k] + to * bytes, rows[k], count, to_step * bytes, bytes, (int)bytes);
  }
}

/* Overwriting bodies copy; dense rows run through the vector kernel; strided ones in blocks. */
static void combine_row(const scatter_job_t *job, int64_t count, int64_t to, int64_t to_step,
                        int64_t from, int64_t from_step) {
  if (job->plan->overwrite) {
    int64_t bytes = (int64_t)job->plan->body.bytes[0];
    loop_copy_row(job->to[0] + to * bytes, job->from[0] + from * bytes, count, to_step * bytes,
                  from_step * bytes, (int)bytes);
    return;
  }
  if (to_step == 1 || count == 1) {
    combine_dense(job, count, to, from, from_step);
    return;
  }
  for (int64_t i = 0; i < count; i += BLOCK)
    combine_strided(job, hr_min(count - i, BLOCK), to + i * to_step, to_step, from + i * from_step,
                    from_step);
}

/* Combines columns begin .. end - 1 of every row of a window. */
static void scatter_window(const scatter_job_t *job, int64_t to, int64_t from, int64_t begin,
                           int64_t end) {
  const loop_nest_t *window = &job->plan->window;
  int64_t to_step = window->row_strides[0], from_step = window->row_strides[1];
  to += begin * to_step;
  from += begin * from_step;
  if (window->rank == 0) {
    combine_row(job, end - begin, to, to_step, from, from_step);
    return;
  }
  for (loop_walk_t walk = loop_walk_first(window); walk.live; loop_walk_next(window, &walk))
    combine_row(job, end - begin, to + walk.at[0], to_step, from + walk.at[1], from_step);
}

/* --- all windows ------------------------------------------------------------------------------ */

/* Rows come in random order: prefetches the next ones while this one is combined. */
static void prefetch_row(const scatter_job_t *job, int64_t at, int64_t elements) {
  if (at < 0) return;
  int64_t bytes = (int64_t)job->plan->body.bytes[0];
  const char *row = job->to[0] + at * bytes;
  for (int64_t b = 0; b < elements * bytes && b < 1024; b += 64) __builtin_prefetch(row + b, 1);
}

/* Fibonacci hashing of the offset: equal offsets have one owner, neighbouring ones different
 * owners. */
static bool is_owner(const scatter_job_t *job, int64_t offset, int part) {
  uint64_t mixed = (uint64_t)offset * 0x9e3779b97f4a7c15u;
  return (int)((mixed >> 32) * (uint64_t)job->parts >> 32) == part;
}

/* --- rows, divided among the workers ---------------------------------------------------------- */

/* Computes one part of the columns, or the rows that belong to a part. */
static void scatter_part_rows(const scatter_job_t *job, int part) {
  const native_scatter_plan_t *plan = job->plan;
  scatter_rows_job_t rows = plan->rows_job;
  rows.indices = job->indices;
  rows.to = job->to[0];
  rows.from = job->from[0];
  if (plan->split == SPLIT_COLUMNS) {
    rows.begin = rows.width * part / job->parts;
    rows.end = rows.width * (part + 1) / job->parts;
  } else {
    rows.part = (uint32_t)part;
    rows.parts = (uint32_t)job->parts;
  }
  scatter_rows_run(&rows);
}

/* Computes element positions begin .. end - 1 of all windows, which no other worker accesses. */
static void scatter_elements(void *context, int64_t begin, int64_t end, int worker) {
  const scatter_job_t *job = context;
  const loop_nest_t *window = &job->plan->window;
  int64_t bytes = (int64_t)job->plan->body.bytes[0], in_row = begin % window->row_count;
  loop_walk_t walk = loop_walk_at(window, begin / window->row_count);
  scatter_rows_job_t rows = job->plan->rows_job;
  rows.indices = job->indices;
  (void)worker;
  for (int64_t i = begin; i < end; i++) {
    rows.to = job->to[0] + (walk.at[0] + in_row * window->row_strides[0]) * bytes;
    rows.from = job->from[0] + (walk.at[1] + in_row * window->row_strides[1]) * bytes;
    scatter_rows_run(&rows);
    if (++in_row < window->row_count) continue;
    in_row = 0;
    loop_walk_next(window, &walk);
  }
}

/* Batches do not overlap, so that each belongs to one worker. */
static void scatter_batches(void *context, int64_t begin, int64_t end, int worker) {
  const scatter_job_t *job = context;
  const gather_offsets_t *offsets = &job->plan->offsets;
  int64_t bytes = (int64_t)job->plan->body.bytes[0],
          index_bytes = (int64_t)hr_dtype_bytes(offsets->index_dtype);
  loop_walk_t walk = loop_walk_at(&offsets->starts.batch, begin);
  scatter_rows_job_t rows = job->plan->rows_job;
  (void)worker;
  for (int64_t batch = begin; batch < end; batch++) {
    rows.from = job->from[0] + walk.at[0] * bytes;
    rows.indices = (const char *)job->indices + walk.at[1] * index_bytes;
    rows.to = job->to[0] + walk.at[2] * bytes;
    scatter_rows_run(&rows);
    loop_walk_next(&offsets->starts.batch, &walk);
  }
}

/* Combines columns [begin, end) of the windows, one after the other. An offset of -1: no window. */
static void scatter_windows(const scatter_job_t *job, int64_t count, const int64_t *to,
                            const int64_t *from, int64_t begin, int64_t end) {
  for (int64_t i = 0; i < count; i++) {
    int64_t ahead = i + PREFETCH_DISTANCE;
    if (ahead < count) prefetch_row(job, to[ahead] + (to[ahead] < 0 ? 0 : begin), end - begin);
    if (to[i] >= 0) scatter_window(job, to[i], from[i], begin, end);
  }
}

static void add_to_group(scatter_group_t *group, int64_t count, const int64_t *to,
                         const int64_t *from) {
  for (int64_t i = 0; i < count; i++)
    if (to[i] >= 0) scatter_group_add(group, to[i], from[i]);
}

/* All updates; this part combines only its columns or its windows, but every worker reads all
 * indices. */
static void scatter_part(const scatter_job_t *job, int part) {
  const native_scatter_plan_t *plan = job->plan;
  int64_t operand_at[GATHER_OFFSETS_BLOCK], other_at[GATHER_OFFSETS_BLOCK];
  int64_t begin = 0, end = plan->window.row_count;
  scatter_group_t group;
  if (plan->by_groups) scatter_group_init(plan, job->to, job->from, &group);
  if (plan->split == SPLIT_COLUMNS) {
    begin = plan->window.row_count * part / job->parts;
    end = plan->window.row_count * (part + 1) / job->parts;
  }
  for (int64_t first = 0; first < plan->offsets.count; first += GATHER_OFFSETS_BLOCK) {
    int64_t count = plan->offsets.count - first < GATHER_OFFSETS_BLOCK ? plan->offsets.count - first
                                                                       : GATHER_OFFSETS_BLOCK;
    gather_offsets_find(&plan->offsets, job->indices, first, count, operand_at, other_at);
    if (plan->split == SPLIT_OFFSETS && job->parts > 1)
      for (int64_t i = 0; i < count; i++)
        if (!is_owner(job, operand_at[i], part)) operand_at[i] = -1;
    if (plan->by_groups)
      add_to_group(&group, count, operand_at, other_at);
    else
      scatter_windows(job, count, operand_at, other_at, begin, end);
  }
  if (plan->by_groups) scatter_group_flush(&group);
}

/* Parts access disjoint elements, so workers need no locks. */
static void scatter_parts(void *context, int64_t begin, int64_t end, int worker) {
  (void)worker;
  const scatter_job_t *job = context;
  for (int64_t part = begin; part < end; part++)
    if (job->plan->has_row_loop)
      scatter_part_rows(job, (int)part);
    else
      scatter_part(job, (int)part);
}

/* By copies, elements, batches or parts, as planned. The operand is first copied to the result
 * unless they are the same buffer. */
static hr_status_t run_scatter(const op_native_run_t *run, const void *plan_, void *const *in,
                               void *const *out) {
  const native_scatter_plan_t *plan = plan_;
  int arrays = plan->body.count;
  scatter_job_t job = {plan, in[arrays], (char *const *)out, (char *const *)in + arrays + 1, 1};
  for (int k = 0; k < arrays; k++)
    native_copy(run->workers, out[k], in[k], plan->counts[k] * (int64_t)plan->body.bytes[k]);
  if (plan->window.empty) return NULL;
  if (plan->copies) {
    scatter_copies_run(run, plan, in, out[0]);
    return NULL;
  }
  if (plan->by_elements) {
    hr_workers_for(run->workers, plan->window_elements, GRAIN / (plan->offsets.count + 1) + 1,
                   scatter_elements, &job);
    return NULL;
  }
  if (plan->by_batches) {
    int64_t updates = plan->offsets.starts.batch.row_count * plan->window_elements;
    hr_workers_for(run->workers, plan->offsets.count / plan->offsets.starts.batch.row_count,
                   GRAIN / updates + 1, scatter_batches, &job);
    return NULL;
  }
  if (plan->split != SPLIT_NOTHING) job.parts = hr_workers_count(run->workers);
  hr_workers_split(run->workers, job.parts, 1, scatter_parts, &job);
  return NULL;
}

/* --- planning --------------------------------------------------------------------------------- */

/* True if windows with different starts never overlap: windows have size 1 along each indexed
 * dimension. */
static bool windows_are_disjoint(const gather_offsets_t *offsets, const int64_t *sizes) {
  for (int i = 0; i < offsets->starts.vector_size; i++)
    if (sizes[offsets->starts.operand_dim[i]] != 1) return false;
  return true;
}

/* True if columns of rows may be divided among workers. False if a row runs along an indexed
 * dimension: two windows may then overlap at different columns, and updates of one element would
 * belong to different workers. */
static bool rows_may_be_split(const gather_offsets_t *offsets, const hlo_shape_t *operand,
                              const int64_t *sizes, int64_t row_count) {
  int64_t row = 1;
  for (int d = operand->rank - 1; d >= 0 && row < row_count; d--) {
    row *= sizes[d];
    for (int i = 0; i < offsets->starts.vector_size; i++)
      if (offsets->starts.operand_dim[i] == d && sizes[d] != 1) return false;
    if (sizes[d] != operand->dims[d] && row < row_count) return false;
  }
  return row == row_count;
}

/* Divides by columns if rows are long, by windows if these are large and do not overlap; a small
 * scatter is not divided. */
static void plan_split(native_scatter_plan_t *plan, const hlo_shape_t *operand,
                       const int64_t *sizes) {
  int64_t row_bytes = plan->window.row_count * (int64_t)plan->body.bytes[0];
  int64_t window_bytes = plan->window_elements * (int64_t)plan->body.bytes[0];
  plan->has_long_rows = plan->window.row_strides[0] == 1 && row_bytes >= 2 * MIN_PART_BYTES &&
                        rows_may_be_split(&plan->offsets, operand, sizes, plan->window.row_count);
  if (plan->workers == 1 || window_bytes * plan->offsets.count < SCATTER_BYTES_MIN) return;
  if (plan->has_long_rows && row_bytes / plan->workers >= MIN_PART_BYTES)
    plan->split = SPLIT_COLUMNS;
  else if (window_bytes >= MIN_WINDOW_BYTES && plan->are_disjoint)
    plan->split = SPLIT_OFFSETS;
}

/* *out_possible is false if the body needs calls or operands need conversion. */
static hr_status_t plan_body(hr_arena_t *arena, const op_step_t *step, int count,
                             native_scatter_plan_t *plan, bool *out_possible) {
  const ew_kernel_t *kernel;
  int parameter;
  *out_possible = false;
  HR_TRY(accumulate_prepare(arena, step->instr->called[0], count, false, &plan->body));
  for (int k = 0; k < count; k++)
    if (step->in_shapes[k]->dtype != op_body_param_dtype(plan->body.body, k) ||
        step->in_shapes[count + 1 + k]->dtype != op_body_param_dtype(plan->body.body, count + k) ||
        op_body_result_dtype(plan->body.body, k) != step->in_shapes[k]->dtype)
      return NULL;
  plan->overwrite =
      count == 1 && op_body_is_parameter(plan->body.body, &parameter) && parameter == 1;
  op_body_is_binary(plan->body.body, &plan->op, &kernel);
  *out_possible = op_body_is_flat(plan->body.body);
  return NULL;
}

/* Plans the offsets of the windows, and finds whether two windows can overlap. */
static void plan_windows(const op_step_t *step, int count, native_scatter_plan_t *plan) {
  const hlo_shape_t *operand = step->in_shapes[0], *updates = step->in_shapes[count + 1];
  op_gather_dims_t dims = op_scatter_dims(step->instr);
  int64_t sizes[HLO_MAX_RANK], to[HLO_MAX_RANK], from[HLO_MAX_RANK], window[HLO_MAX_RANK];
  int rank = window_strides(&dims, operand, updates, sizes, to, from), next = 0;
  bool never_fits = false;
  plan->window_elements = 1;
  for (int d = 0; d < operand->rank; d++) {
    bool dropped = op_dims_contain(dims.dropped, d) || op_dims_contain(dims.batching, d);
    window[d] = dropped ? 1 : sizes[next++];
    plan->window_elements *= window[d];
    never_fits |= window[d] > operand->dims[d];
  }
  window_starts_init(&plan->offsets.starts, &dims, operand, step->in_shapes[count], updates,
                     window);
  plan->offsets.index_dtype = step->in_shapes[count]->dtype;
  plan->offsets.count =
      loop_row_total(&plan->offsets.starts.batch) * plan->offsets.starts.batch.row_count;
  loop_nest_init(&plan->window, rank, sizes, 2, (const int64_t *[]){to, from}, LOOP_ANY_ORDER);
  plan->window.empty |= never_fits;
  plan->are_disjoint = windows_are_disjoint(&plan->offsets, window);
  plan_split(plan, operand, window);
}

/* True if each row of the batch nest has its own part of the operand. */
static bool batches_are_disjoint(const loop_nest_t *batch) {
  for (int d = 0; d < batch->rank; d++)
    if (!batch->strides[2][d]) return false;
  return true;
}

/* Prepares the loop for windows of one dense row, or for one element position of each window, if
 * the body is one op on the element type. */
static void plan_row_loops(const op_step_t *step, native_scatter_plan_t *plan) {
  const loop_nest_t *window = &plan->window, *batch = &plan->offsets.starts.batch;
  hr_dtype_t dtype = step->in_shapes[0]->dtype;
  bool is_dense =
      plan->window_elements == 1 || (window->row_strides[0] == 1 && window->row_strides[1] == 1);
  if (plan->body.count != 1 || window->empty ||
      (!plan->overwrite && (!plan->body.kernel || plan->body.work != dtype)))
    return;
  bool are_rows = is_dense && !window->rank && batches_are_disjoint(batch) &&
                  scatter_rows_init(&plan->offsets, plan->window_elements, &plan->rows_job);
  plan->by_elements = !are_rows && !batch->rank && plan->are_disjoint &&
                      scatter_rows_init(&plan->offsets, 1, &plan->rows_job);
  if (!are_rows && !plan->by_elements) return;
  plan->rows_job.has_runs =
      hlo_attr_bool(step->instr, HLO_ATTR_INDICES_ARE_SORTED) &&
      plan->offsets.count * plan->window_elements >= LONG_RUN * plan->counts[0];
  plan->has_row_loop =
      scatter_rows_choose(plan->overwrite ? HLO_COPY : plan->op, dtype, &plan->rows_job);
  plan->by_elements &= plan->has_row_loop;
  plan->by_batches = plan->has_row_loop && batch->rank;
}

/* Declines bodies that no kernel supports, and more arrays than SCATTER_ARRAYS_MAX. */
static hr_status_t prepare_scatter(const op_native_target_t *target, const op_step_t *step,
                                   op_native_step_t *out) {
  int count = (step->instr->operand_count - 1) / 2;
  native_scatter_plan_t *plan;
  uint64_t *reuse;
  bool possible;
  if (count > SCATTER_ARRAYS_MAX) return NULL;
  HR_TRY(HR_NEW(target->arena, &plan));
  HR_TRY(HR_NEW_ARRAY(target->arena, count, &reuse));
  HR_TRY(plan_body(target->arena, step, count, plan, &possible));
  if (!possible) return NULL;
  plan->workers = target->workers;
  plan_windows(step, count, plan);
  for (int k = 0; k < count; k++) {
    HR_TRY(hlo_shape_count(step->in_shapes[k], &plan->counts[k]));
    reuse[k] = (uint64_t)1 << k;
    double bytes = (double)plan->body.bytes[k];
    out->bytes += 3.0 * (double)(plan->window_elements * plan->offsets.count) * bytes;
    out->copied_bytes += 2.0 * (double)plan->counts[k] * bytes;
  }
  plan_row_loops(step, plan);
  plan->by_groups = scatter_groups_suit(plan);
  out->scratch_bytes = scatter_copies_plan(plan);
  out->plan = plan;
  out->reuse = reuse;
  return NULL;
}

const op_native_t native_scatter = {"scatter of windows", prepare_scatter, run_scatter};
