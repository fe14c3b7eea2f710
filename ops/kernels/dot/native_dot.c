/* dot in the compiled engine: operands as matrices, and the choice of a strategy.
 *
 * The dimensions of an operand fall into three groups: batch, free, contracting. If each group has
 * a single stride, the operand is a batch of strided matrices and is read in place. Otherwise the
 * plan has a list of offsets for each group, and a copy that makes the operand dense. Terms may be
 * summed in any order, so the contracting dimensions are ordered such that the innermost dimension
 * of an operand is contiguous. Floating-point sums therefore depend on the operands' layout, but
 * not on the number of workers.
 *
 * Denormal numbers count as zeros in products (see dot.c of the reference).
 *
 * The reference computes sparse operands and products without terms. */
#include "ops/kernels/dot/native_dot.h"

#include <string.h>

#include "base/fp_mode.h"
#include "base/log.h"
#include "ops/kernels/dot/dot_symmetric.h"

/* Product of the sizes of a group; 1 for an empty group. */
static int64_t group_size(const hlo_shape_t *shape, const dims_group_t *group) {
  int64_t size = 1;
  for (int i = 0; i < group->count; i++) size *= shape->dims[group->dims[i]];
  return size;
}

/* Lists the offset of every entry of a group, last dimension fastest. */
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

/* Plans the copy that brings all dimensions into the order of the groups. Dimensions of size 1
 * are left out. Workers divide the outermost dimension that remains; each entry of this dimension
 * is one loop copy. */
static void plan_reorder(const hlo_shape_t *shape, const int64_t *strides,
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

/* Sets starts and strides of the matrices after the copy of plan_reorder. */
static hr_status_t plan_dense_matrices(hr_arena_t *arena, int64_t batch, int64_t rows,
                                       int64_t columns, dot_matrices_t *side) {
  int64_t *starts;
  HR_TRY(HR_NEW_ARRAY(arena, batch, &starts));
  for (int64_t i = 0; i < batch; i++) starts[i] = i * rows * columns;
  side->starts = starts;
  side->batch_step = batch == 1 ? 0 : rows * columns;
  side->row_step = columns;
  side->col_step = 1;
  return NULL;
}

/* Describes an operand as a batch of matrices. groups: batch, rows, columns. A matrix of one row or
 * one column has a stride that no element uses; this stride is chosen such that the other one is 1.
 * An operand is read in place (`starts`) if rows and columns have single strides and one of these
 * is 1. Other operands get both descriptions: lists of offsets, and the copy that makes the operand
 * dense. */
static hr_status_t plan_matrices(hr_arena_t *arena, const hlo_shape_t *shape,
                                 const dims_group_t *const *groups, dot_matrices_t *side) {
  int64_t strides[HLO_MAX_RANK];
  int64_t rows = group_size(shape, groups[1]);
  int64_t columns = group_size(shape, groups[2]);
  side->dtype = shape->dtype;
  HR_TRY(hlo_shape_count(shape, &side->count));
  loop_dense_strides(shape->rank, shape->dims, 1, strides);
  bool fits = dot_group_stride(shape, strides, groups[1], &side->row_step) &
              dot_group_stride(shape, strides, groups[2], &side->col_step);
  if (columns == 1) side->col_step = side->row_step == 1 ? rows : 1;
  if (rows == 1) side->row_step = side->col_step == 1 ? columns : 1;
  HR_TRY(list_offsets(arena, shape, strides, groups[0], &side->offsets));
  if (fits && (side->row_step == 1 || side->col_step == 1)) {
    if (!dot_group_stride(shape, strides, groups[0], &side->batch_step)) side->batch_step = -1;
    side->starts = side->offsets;
    return NULL;
  }
  HR_TRY(list_offsets(arena, shape, strides, groups[1], &side->rows));
  HR_TRY(list_offsets(arena, shape, strides, groups[2], &side->cols));
  plan_reorder(shape, strides, groups, side);
  return plan_dense_matrices(arena, group_size(shape, groups[0]), rows, columns, side);
}

/* Copies entries [begin, end) of the outermost dimension. context: the struct of
 * reorder_operand. */
static void reorder_slices(void *context, int64_t begin, int64_t end, int worker) {
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

/* Copies an operand to its dense order. A task copies about 16,384 elements or more, as a smaller
 * copy costs less than waking a worker. */
static const void *reorder_operand(hr_workers_t *workers, const dot_matrices_t *side,
                                   const void *from, void *to) {
  struct {
    const dot_matrices_t *side;
    const char *from;
    char *to;
  } work = {side, from, to};
  int64_t each = side->count / (side->slices ? side->slices : 1);
  hr_workers_split(workers, side->slices, 1 + 16384 / (each + 1), reorder_slices, &work);
  return to;
}

const void *dot_convert_operand(const op_native_run_t *run, const dot_problem_t *problem,
                                const dot_matrices_t *side, const dot_conversion_t *conversion,
                                const void *from) {
  char *scratch = run->scratch;
  if (conversion->ordered)
    from = reorder_operand(run->workers, side, from, scratch + conversion->ordered_at);
  if (!conversion->widened) return from;
  native_widen(run->workers, &problem->types, side->dtype, from, side->count,
               scratch + conversion->wide_at);
  return scratch + conversion->wide_at;
}

void dot_conversion_init(const dot_problem_t *problem, const dot_matrices_t *side, bool ordered,
                         bool widened, size_t *total_bytes, dot_conversion_t *out_conversion) {
  size_t count = (size_t)side->count;
  out_conversion->ordered = ordered;
  out_conversion->widened = widened;
  out_conversion->ordered_at =
      scratch_reserve(total_bytes, ordered ? count * hr_dtype_bytes(side->dtype) : 0);
  out_conversion->wide_at =
      scratch_reserve(total_bytes, widened ? count * (size_t)problem->types.element_bytes : 0);
}

/* Exchanges two dimensions of a group. */
static void swap_dims(dims_group_t *group, int i, int j) {
  int dim = group->dims[i];
  group->dims[i] = group->dims[j];
  group->dims[j] = dim;
}

/* Sorts the contracting dimensions by their position in the operand of `by`. `other`: the
 * contracting dimensions of the other operand, which get the same order. */
static void sort_contracting_dims(dims_group_t *by, dims_group_t *other) {
  for (int i = 1; i < by->count; i++)
    for (int j = i; j > 0 && by->dims[j - 1] > by->dims[j]; j--) {
      swap_dims(by, j, j - 1);
      swap_dims(other, j, j - 1);
    }
}

/* Chooses the operand that determines the order of contracting dimensions: the one whose innermost
 * dimension is contracting, which is then read in long runs. If this holds for both operands, the
 * right one determines the order, because it is packed for each block of the left one. side: 0 or 1
 * if this operand has to determine the order; -1: no operand has to. */
static void choose_contracting_order(const hlo_shape_t *rhs, int side, dot_groups_t *g) {
  bool by_rhs = side == 1;
  for (int i = 0; i < g->rhs_contracting.count && side < 0; i++)
    by_rhs |= g->rhs_contracting.dims[i] == rhs->rank - 1;
  if (by_rhs)
    sort_contracting_dims(&g->rhs_contracting, &g->lhs_contracting);
  else
    sort_contracting_dims(&g->lhs_contracting, &g->rhs_contracting);
}

hr_status_t dot_plan_problem(hr_arena_t *arena, const op_step_t *step, int side,
                             dot_problem_t *problem) {
  dot_groups_t g;
  const hlo_shape_t *lhs = step->in_shapes[0];
  const hlo_shape_t *rhs = step->in_shapes[1];
  HR_TRY(matmul_types_init(step->instr, lhs->dtype, rhs->dtype, step->out_shape->dtype,
                           &problem->types));
  HR_TRY(dot_read_groups(step->instr, lhs, rhs, -1, &g));
  choose_contracting_order(rhs, side, &g);
  problem->batch = group_size(lhs, &g.lhs_batch);
  problem->m = group_size(lhs, &g.lhs_free);
  problem->k = group_size(lhs, &g.lhs_contracting);
  problem->n = group_size(rhs, &g.rhs_free);
  HR_TRY(dot_check_result(step, problem->batch, problem->m, problem->n));
  problem->flops =
      2.0 * (double)problem->batch * (double)problem->m * (double)problem->n * (double)problem->k;
  if (problem->flops == 0) return NULL;
  HR_TRY(plan_matrices(arena, lhs,
                       (const dims_group_t *[]){&g.lhs_batch, &g.lhs_free, &g.lhs_contracting},
                       &problem->a));
  HR_TRY(plan_matrices(arena, rhs,
                       (const dims_group_t *[]){&g.rhs_batch, &g.rhs_contracting, &g.rhs_free},
                       &problem->b));
  problem->constant_a = op_constant_data(step->instr->operands[0]);
  problem->constant_b = op_constant_data(step->instr->operands[1]);
  problem->symmetric = dot_is_symmetric(step->instr);
  return NULL;
}

/* Least bytes that the step must move, for the roofline of --explain. */
static double operand_and_result_bytes(const op_step_t *step, const dot_problem_t *problem) {
  int64_t results = problem->batch * problem->m * problem->n;
  return (double)problem->a.count * (double)hr_dtype_bytes(problem->a.dtype) +
         (double)problem->b.count * (double)hr_dtype_bytes(problem->b.dtype) +
         (double)results * (double)hr_dtype_bytes(step->out_shape->dtype);
}

/* Strategies in order of preference. Each makes a plan or declines. The first plan is taken, so the
 * choice follows from problem, processor and libraries alone.
 *
 *   strategy        accepts
 *   thin            few rows times a large matrix of f32, bf16, f16, s8 or u8, limited by memory
 *                   bandwidth; of integers of 8 and 16 bits with AVX2
 *   small           small products, and thin ones that are limited by memory; packs nothing
 *   small complex   small and thin products of c64
 *   complex as real few rows or columns, dense, with long sums of complex numbers
 *   low precision   bf16 and int8 with VNNI or fast AVX-512 BF16, as a convolution of one tap
 *   pairs           small products of integers of 8 and 16 bits, with AVX-512
 *   pairs in blocks products of integers of 8 and 16 bits, with AVX2
 *   oneDNN          bf16 and int8 with AMX, int8 without VNNI
 *   gemm            all floats and complex numbers
 *   exact           8-bit integers, in f32
 *   integer         all integers, by the blocks of the reference */
static const dot_prepare_fn strategies[] = {dot_prepare_thin,          dot_prepare_small,
                                            dot_prepare_small_complex, dot_prepare_complex_as_real,
                                            dot_prepare_low_precision, dot_prepare_pairs,
                                            dot_prepare_pairs_blocked, dot_prepare_onednn,
                                            dot_prepare_gemm,          dot_prepare_exact,
                                            dot_prepare_integer};

static hr_status_t prepare_native_dot(const op_native_target_t *target, const op_step_t *step,
                                      op_native_step_t *out) {
  dot_problem_t *problem;
  if (hlo_attr_has(step->instr, HLO_ATTR_SPARSITY_CONFIG)) return NULL;
  HR_TRY(HR_NEW(target->arena, &problem));
  HR_TRY(dot_plan_problem(target->arena, step, -1, problem));
  if (problem->flops == 0) return NULL; /* no terms: the reference kernel writes zeros */
  out->flops = problem->flops * (problem->types.is_complex ? 4 : 1);
  out->bytes = operand_and_result_bytes(step, problem);
  for (size_t i = 0; i < sizeof strategies / sizeof *strategies && !out->plan; i++)
    HR_TRY(strategies[i](target, problem, out));
  const dot_strategy_t *chosen = out->plan;
  hr_log(HR_LOG_PLAN, HR_LOG_DEBUG, "product %ld x [%ld,%ld] x [%ld,%ld] of %s by %s",
         (long)problem->batch, (long)problem->m, (long)problem->k, (long)problem->k,
         (long)problem->n, hr_dtype_name(problem->types.lhs),
         chosen ? chosen->name : "the reference kernel: no strategy takes its types");
  return dot_plan_prepack(target, problem, &out->prepack);
}

static hr_status_t run_native_dot(const op_native_run_t *run, const void *plan, void *const *in,
                                  void *const *out) {
  const dot_strategy_t *strategy = plan;
  hr_fp_mode_t mode = hr_fp_mode_flush();
  hr_status_t st = strategy->run(run, strategy, in, out);
  hr_fp_mode_set(mode);
  return st;
}

const op_native_t native_dot = {"dot", prepare_native_dot, run_native_dot};
