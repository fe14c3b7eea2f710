/* dot in the compiled engine: where the matrices lie, and by which way they are multiplied.
 *
 *   floats and complex numbers   built-in kernels: for what is small or thin, else in blocks; bf16
 * as such by oneDNN integers                     oneDNN for bytes, else the reference's blocks
 *
 * Each is split over the workers, by matrices of the batch or within one. */
#include "ops/kernels/dot/native_dot.h"

#include <string.h>

/* One step for all dimensions of a group, if there is one; 0 where only dimensions of size 1 are.
 */
static bool group_step(const hlo_shape_t *shape, const int64_t *strides, const dims_group_t *group,
                       int64_t *out_step) {
  int64_t next = 0; /* stride that the next dimension outwards must have; 0: none seen yet */
  *out_step = 0;
  for (int i = group->count - 1; i >= 0; i--) {
    int d = group->dims[i];
    if (shape->dims[d] == 1) continue;
    if (next && strides[d] != next) return false;
    if (!next) *out_step = strides[d];
    next = strides[d] * shape->dims[d];
  }
  return true;
}

static int64_t group_size(const hlo_shape_t *shape, const dims_group_t *group) {
  int64_t size = 1;
  for (int i = 0; i < group->count; i++) size *= shape->dims[group->dims[i]];
  return size;
}

/* Where every entry of a group starts: the last dimension varies fastest. */
static hr_status_t list_offsets(hr_arena_t *arena, const hlo_shape_t *shape, const int64_t *strides,
                                const dims_group_t *group, const int64_t **out_offsets) {
  int64_t count = group_size(shape, group), *offsets;
  HR_TRY(HR_NEW_ARRAY(arena, count, &offsets));
  for (int64_t i = 0; i < count; i++) {
    int64_t rest = i;
    for (int g = group->count - 1; g >= 0; g--) {
      int64_t size = shape->dims[group->dims[g]];
      offsets[i] += rest % size * strides[group->dims[g]];
      rest /= size;
    }
  }
  *out_offsets = offsets;
  return NULL;
}

/* Brings all dimensions into the order of the groups. */
static void plan_order(const hlo_shape_t *shape, const int64_t *strides,
                       const dims_group_t *const *groups, dot_matrices_t *side) {
  int64_t dims[HLO_MAX_RANK];
  int64_t from[HLO_MAX_RANK];
  int64_t to[HLO_MAX_RANK];
  int64_t bytes = (int64_t)hr_dtype_bytes(side->dtype);
  int rank = 0;
  for (int g = 0; g < 3; g++)
    for (int i = 0; i < groups[g]->count; i++) {
      int d = groups[g]->dims[i];
      if (shape->dims[d] == 1) continue;
      dims[rank] = shape->dims[d];
      from[rank++] = strides[d] * bytes;
    }
  loop_dense_strides(rank, dims, bytes, to);
  side->ordered = true;
  side->slices = rank ? dims[0] : 1;
  side->slice_to_bytes = rank ? to[0] : 0;
  side->slice_from_bytes = rank ? from[0] : 0;
  loop_copy_init(&side->slice, (int)bytes, rank > 0 ? rank - 1 : 0, dims + 1, to + 1, from + 1);
}

/* Where the matrices will lie then. */
static hr_status_t plan_ordered(hr_arena_t *arena, int64_t batch, int64_t rows, int64_t columns,
                                dot_matrices_t *side) {
  int64_t *starts;
  HR_TRY(HR_NEW_ARRAY(arena, batch, &starts));
  for (int64_t i = 0; i < batch; i++) starts[i] = i * rows * columns;
  side->starts = starts;
  side->batch_step = batch == 1 ? 0 : rows * columns;
  side->row_step = columns;
  side->col_step = 1;
  return NULL;
}

/* groups: batch, rows, columns. */
static hr_status_t plan_side(hr_arena_t *arena, const hlo_shape_t *shape,
                             const dims_group_t *const *groups, dot_matrices_t *side) {
  int64_t strides[HLO_MAX_RANK];
  int64_t rows = group_size(shape, groups[1]);
  int64_t columns = group_size(shape, groups[2]);
  side->dtype = shape->dtype;
  HR_TRY(hlo_shape_count(shape, &side->count));
  loop_dense_strides(shape->rank, shape->dims, 1, strides);
  bool fits = group_step(shape, strides, groups[1], &side->row_step) &
              group_step(shape, strides, groups[2], &side->col_step);
  if (columns == 1) side->col_step = side->row_step == 1 ? rows : 1;
  if (rows == 1) side->row_step = side->col_step == 1 ? columns : 1;
  HR_TRY(list_offsets(arena, shape, strides, groups[0], &side->offsets));
  if (fits && (side->row_step == 1 || side->col_step == 1)) {
    if (!group_step(shape, strides, groups[0], &side->batch_step)) side->batch_step = -1;
    side->starts = side->offsets;
    return NULL;
  }
  HR_TRY(list_offsets(arena, shape, strides, groups[1], &side->rows));
  HR_TRY(list_offsets(arena, shape, strides, groups[2], &side->cols));
  plan_order(shape, strides, groups, side);
  return plan_ordered(arena, group_size(shape, groups[0]), rows, columns, side);
}

static void order_slices(void *context, int64_t begin, int64_t end, int worker) {
  (void)worker;
  const struct {
    const dot_matrices_t *side;
    const char *from;
    char *to;
  } *work = context;
  for (int64_t i = begin; i < end; i++)
    loop_copy_run(&work->side->slice, work->to + i * work->side->slice_to_bytes,
                  work->from + i * work->side->slice_from_bytes);
}

static const void *order(hr_workers_t *workers, const dot_matrices_t *side, const void *from,
                         void *to) {
  struct {
    const dot_matrices_t *side;
    const char *from;
    char *to;
  } work = {side, from, to};
  int64_t each = side->count / (side->slices ? side->slices : 1);
  hr_workers_split(workers, side->slices, 1 + 16384 / (each + 1), order_slices, &work);
  return to;
}

const void *dot_ready_run(const op_native_run_t *run, const dot_problem_t *problem,
                          const dot_matrices_t *side, const dot_ready_t *ready, const void *from) {
  char *scratch = run->scratch;
  if (ready->ordered) from = order(run->workers, side, from, scratch + ready->ordered_at);
  if (!ready->widened) return from;
  native_widen(run->workers, &problem->types, side->dtype, from, side->count,
               scratch + ready->wide_at);
  return scratch + ready->wide_at;
}

void dot_ready_layout(const dot_problem_t *problem, const dot_matrices_t *side, bool ordered,
                      bool widened, size_t *total_bytes, dot_ready_t *out_ready) {
  size_t count = (size_t)side->count;
  out_ready->ordered = ordered;
  out_ready->widened = widened;
  out_ready->ordered_at =
      scratch_reserve(total_bytes, ordered ? count * hr_dtype_bytes(side->dtype) : 0);
  out_ready->wide_at =
      scratch_reserve(total_bytes, widened ? count * (size_t)problem->types.element_bytes : 0);
}

static void swap_dims(dims_group_t *group, int i, int j) {
  int dim = group->dims[i];
  group->dims[i] = group->dims[j];
  group->dims[j] = dim;
}

/* Terms may be summed in any order: that in which they lie in `by`. */
static void sort_terms(dims_group_t *by, dims_group_t *other) {
  for (int i = 1; i < by->count; i++)
    for (int j = i; j > 0 && by->dims[j - 1] > by->dims[j]; j--)
      swap_dims(by, j, j - 1), swap_dims(other, j, j - 1);
}

/* The order of the side whose terms are its innermost dimension: it is read in long stretches then.
 * Where both are, that of the right side, which is packed for each block of the left one. */
static void order_terms(const hlo_shape_t *rhs, dot_groups_t *g) {
  bool by_rhs = false;
  for (int i = 0; i < g->rhs_contracting.count; i++)
    by_rhs |= g->rhs_contracting.dims[i] == rhs->rank - 1;
  if (by_rhs)
    sort_terms(&g->rhs_contracting, &g->lhs_contracting);
  else
    sort_terms(&g->lhs_contracting, &g->rhs_contracting);
}

static hr_status_t plan_problem(hr_arena_t *arena, const op_step_t *step, dot_problem_t *problem) {
  dot_groups_t g;
  const hlo_shape_t *lhs = step->in_shapes[0];
  const hlo_shape_t *rhs = step->in_shapes[1];
  HR_TRY(matmul_types_init(step->instr, lhs->dtype, rhs->dtype, step->out_shape->dtype,
                           &problem->types));
  HR_TRY(dot_read_groups(step->instr, lhs, rhs, -1, &g));
  order_terms(rhs, &g);
  problem->batch = group_size(lhs, &g.lhs_batch);
  problem->m = group_size(lhs, &g.lhs_free);
  problem->k = group_size(lhs, &g.lhs_contracting);
  problem->n = group_size(rhs, &g.rhs_free);
  HR_TRY(dot_check_result(step, problem->batch, problem->m, problem->n));
  problem->flops =
      2.0 * (double)problem->batch * (double)problem->m * (double)problem->n * (double)problem->k;
  if (problem->flops == 0) return NULL;
  HR_TRY(plan_side(arena, lhs,
                   (const dims_group_t *[]){&g.lhs_batch, &g.lhs_free, &g.lhs_contracting},
                   &problem->a));
  HR_TRY(plan_side(arena, rhs,
                   (const dims_group_t *[]){&g.rhs_batch, &g.rhs_contracting, &g.rhs_free},
                   &problem->b));
  problem->constant_a = op_constant_data(step->instr->operands[0]);
  problem->constant_b = op_constant_data(step->instr->operands[1]);
  return NULL;
}

static double bytes_of(const op_step_t *step, const dot_problem_t *problem) {
  int64_t results = problem->batch * problem->m * problem->n;
  return (double)problem->a.count * (double)hr_dtype_bytes(problem->a.dtype) +
         (double)problem->b.count * (double)hr_dtype_bytes(problem->b.dtype) +
         (double)results * (double)hr_dtype_bytes(step->out_shape->dtype);
}

static hr_status_t prepare_native_dot(const op_native_target_t *target, const op_step_t *step,
                                      op_native_step_t *out) {
  static const dot_prepare_fn strategies[] = {dot_prepare_small, dot_prepare_low_precision,
                                              dot_prepare_onednn, dot_prepare_gemm,
                                              dot_prepare_integer};
  dot_problem_t *problem;
  if (hlo_attr_has(step->instr, HLO_ATTR_SPARSITY_CONFIG)) return NULL;
  HR_TRY(HR_NEW(target->arena, &problem));
  HR_TRY(plan_problem(target->arena, step, problem));
  if (problem->flops == 0) return NULL; /* nothing to sum: the reference kernel does it */
  out->flops = problem->flops * (problem->types.is_complex ? 4 : 1);
  out->bytes = bytes_of(step, problem);
  for (size_t i = 0; i < sizeof strategies / sizeof *strategies && !out->plan; i++)
    HR_TRY(strategies[i](target, problem, out));
  return dot_plan_prepack(target, problem, &out->prepack);
}

static hr_status_t run_native_dot(const op_native_run_t *run, const void *plan, void *const *in,
                                  void *const *out) {
  const dot_strategy_t *strategy = plan;
  return strategy->run(run, strategy, in, out);
}

const op_native_t native_dot = {"dot", prepare_native_dot, run_native_dot};
