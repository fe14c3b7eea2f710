/* Products of floats and complex numbers by gemm.h. Types below f32 are widened before, and the
 * result is narrowed after. Operands are read in any order of their dimensions, by offsets.
 *
 * Partition: whole matrices of the batch if there are enough of them for the workers, else each
 * matrix is divided (gemm_partition_choose). A constant b is packed once if it is used for few
 * rows. A left matrix with few nonzero elements is multiplied by dot_sparse.h. Rows and terms of
 * zeros are left out if they are many (dot_zero_rows.h), or at the ends of the matrices of a batch
 * (dot_zero_tail.h). Symmetric results are computed by half (dot_symmetric.h). Epilogues run on
 * finished rows or columns while they are cached, if that costs the partition little (ROWS_COST,
 * COLUMNS_COST). */
#include "ops/kernels/dot/dot_sparse.h"
#include "ops/kernels/dot/dot_symmetric.h"
#include "ops/kernels/dot/dot_zero_rows.h"
#include "ops/kernels/dot/dot_zero_tail.h"
#include "ops/kernels/dot/native_dot.h"

#include <math.h>

#define GRAIN_PRODUCTS 50000
#define LEAST_ROWS 16  /* least rows of a matrix that is checked for zeros at its end */
#define ROWS_COST 1.25 /* cost ratio up to which an epilogue on whole rows pays */
#define COLUMNS_COST 1.01

typedef struct dot_gemm {
  dot_strategy_t strategy;
  const dot_problem_t *problem;
  gemm_job_t job;             /* without addresses */
  gemm_partition_t partition; /* partition of one product among the workers */
  dot_conversion_t a, b;
  bool narrowed, by_matrices;
  bool may_be_sparse;    /* runs check whether the left matrix is sparse */
  bool may_have_zeros;   /* runs check whether many rows or terms are zeros */
  bool may_end_in_zeros; /* runs check whether its last rows and columns are zeros */
  bool symmetric;        /* results are symmetric matrices, of which half is computed */
  int workers;
  int64_t grain; /* matrices per task */
  size_t sums_at, space_at, space_bytes;
} dot_gemm_t;

typedef struct dot_gemm_run {
  const dot_gemm_t *plan;
  const char *a, *b;
  char *c, *space;
  const op_native_epilogue_t *epilogue;
} dot_gemm_run_t;

/* The job of one matrix of the batch. */
static gemm_job_t matrix_job(const dot_gemm_run_t *r, int64_t matrix) {
  const dot_problem_t *p = r->plan->problem;
  gemm_job_t job = r->plan->job;
  int64_t each = p->types.element_bytes;
  job.a = r->a + p->a.offsets[matrix] * each;
  if (p->packed_b) job.packed_b = r->b;
  if (!job.packed_b) job.b = r->b + p->b.offsets[matrix] * each;
  job.c = r->c + matrix * p->m * p->n * each;
  return job;
}

/* Epilogue that is called for each finished range of rows. */
typedef struct dot_finish {
  const op_native_epilogue_t *epilogue;
  int64_t first_row;
} dot_finish_t;

/* Reports to the epilogue which rows and columns of the result are final, counted over the whole
 * batch. */
static void finish_part(const void *context, int worker, int64_t row, int64_t rows, int64_t column,
                        int64_t columns) {
  const dot_finish_t *finish = context;
  op_native_part_t part = {finish->first_row + row, rows, column, columns};
  finish->epilogue->run(finish->epilogue, &part, worker);
}

/* Multiplies whole matrices on one worker, each worker with its own packing space. */
static void run_matrices(void *context, int64_t begin, int64_t end, int worker) {
  const dot_gemm_run_t *r = context;
  for (int64_t i = begin; i < end; i++) {
    gemm_job_t job = matrix_job(r, i);
    dot_finish_t finish = {r->epilogue, i * job.m};
    job.finish_context = &finish;
    char *space = r->space + (size_t)worker * r->plan->space_bytes;
    if (r->plan->symmetric) {
      dot_symmetric_run(NULL, &job, worker, space);
      continue;
    }
    int64_t zeros = r->plan->may_end_in_zeros ? dot_leave_out_zeros(&job) : 0;
    gemm_run_serial(&job, worker, space);
    dot_repeat_last_row(&job, zeros);
  }
}

/* Divides either the matrices among the workers, or each product. */
static hr_status_t run_gemm(const op_native_run_t *run, const dot_strategy_t *strategy,
                            void *const *in, void *const *out) {
  const dot_gemm_t *plan = (const dot_gemm_t *)strategy;
  const dot_problem_t *p = plan->problem;
  char *scratch = run->scratch;
  hr_workers_t *workers = native_workers(run, plan->workers);
  dot_gemm_run_t r = {
      plan,
      dot_convert_operand(run, p, &p->a, &plan->a, in[0]),
      plan->job.packed_b ? in[1] : dot_convert_operand(run, p, &p->b, &plan->b, in[1]),
      plan->narrowed ? scratch + plan->sums_at : out[0],
      scratch + plan->space_at,
      run->epilogue};
  if (plan->by_matrices) hr_workers_for(workers, p->batch, plan->grain, run_matrices, &r);
  for (int64_t i = 0; !plan->by_matrices && i < p->batch; i++) {
    gemm_job_t job = matrix_job(&r, i);
    dot_finish_t finish = {r.epilogue, i * job.m};
    job.finish_context = &finish;
    if (plan->may_be_sparse && dot_sparse_run(workers, &job)) continue;
    if (plan->may_have_zeros && dot_zero_rows_run(workers, &job, &plan->partition, r.space))
      continue;
    if (plan->symmetric) {
      dot_symmetric_run(workers, &job, 0, r.space);
      continue;
    }
    int64_t zeros = plan->may_end_in_zeros ? dot_leave_out_zeros(&job) : 0;
    gemm_run(workers, &job, &plan->partition, r.space);
    dot_repeat_last_row(&job, zeros);
  }
  if (plan->narrowed) native_narrow(run->workers, &p->types, r.c, p->batch * p->m * p->n, out[0]);
  return NULL;
}

/* Reserves widened operands, sums to be narrowed, and the blocks of the product. */
static void plan_scratch(dot_gemm_t *plan, op_native_step_t *out) {
  const dot_problem_t *p = plan->problem;
  size_t total = 0, workers = (size_t)plan->workers;
  dot_conversion_init(p, &p->a, false, !matmul_is_widened(&p->types, p->types.lhs), &total,
                      &plan->a);
  dot_conversion_init(p, &p->b, false, !matmul_is_widened(&p->types, p->types.rhs), &total,
                      &plan->b);
  plan->narrowed = !matmul_is_widened(&p->types, p->types.out);
  size_t results = (size_t)(p->batch * p->m * p->n) * (size_t)p->types.element_bytes;
  plan->sums_at = scratch_reserve(&total, plan->narrowed ? results : 0);
  plan->space_bytes =
      plan->symmetric ? dot_symmetric_space_bytes(&plan->job) : gemm_space_bytes(&plan->job);
  size_t space = plan->by_matrices || plan->symmetric
                     ? plan->space_bytes * workers
                     : gemm_scratch_bytes(&plan->job, &plan->partition, plan->workers);
  size_t listed = plan->may_have_zeros
                      ? dot_zero_rows_scratch_bytes(&plan->job, &plan->partition, plan->workers)
                      : 0;
  if (listed > space) space = listed;
  plan->space_at = scratch_reserve(&total, space);
  out->scratch_bytes = total;
}

/* Constant weights are packed in the plan, if products read them often enough. */
static hr_status_t pack_constant(const op_native_target_t *target, const dot_problem_t *p,
                                 gemm_job_t *job) {
  void *packed;
  gemm_job_t known = *job;
  if (p->packed_b) job->packed_b = p; /* not NULL; the run sets the address */
  if (!p->constant_b || p->packed_b || !dot_packs_once(p)) return NULL;
  known.b = (const char *)p->constant_b + p->b.offsets[0] * p->types.element_bytes;
  HR_TRY(hr_arena_alloc(target->arena, gemm_packed_bytes(&known), &packed));
  gemm_pack(&known, packed);
  job->packed_b = packed;
  return NULL;
}

/* The type in which gemm computes: complex products have their own micro-kernels. */
static hr_dtype_t product_type(const matmul_types_t *types) {
  if (types->is_complex) return types->real == HR_F32 ? HR_C64 : HR_C128;
  return types->real;
}

/* Strides and sizes of one product; addresses are set by the run. */
gemm_job_t dot_gemm_job(const dot_problem_t *p) {
  return (gemm_job_t){.dtype = product_type(&p->types),
                      .m = p->m,
                      .n = p->n,
                      .k = p->k,
                      .a_row = p->a.row_step,
                      .a_col = p->a.col_step,
                      .b_row = p->b.row_step,
                      .b_col = p->b.col_step,
                      .c_row = p->n,
                      .whole_depth = p->batch > 1,
                      .a_rows = p->a.rows,
                      .a_cols = p->a.cols,
                      .b_rows = p->b.rows,
                      .b_cols = p->b.cols};
}

/* A batch that the workers divide evenly, or that is long, needs no partition of single
 * products. */
static void plan_partition(const op_native_target_t *target, dot_gemm_t *plan) {
  const dot_problem_t *p = plan->problem;
  plan->partition = gemm_partition_choose(&plan->job, target->workers);
  plan->by_matrices =
      p->batch > 1 &&
      (p->batch % target->workers == 0 || p->batch >= 4 * target->workers ||
       plan->partition.row_parts * plan->partition.col_parts * plan->partition.depth_parts == 1);
  plan->grain = 1 + (int64_t)(GRAIN_PRODUCTS * (double)p->batch / p->flops);
}

/* Signature of op_native_parts_t.fuse. */
static hr_status_t fuse_epilogue(const op_native_target_t *target, const void *before,
                                 const op_native_grid_t *grid, op_native_step_t *out) {
  dot_gemm_t *plan;
  HR_TRY(HR_NEW(target->arena, &plan));
  *plan = *(const dot_gemm_t *)before;
  plan->job.finish = finish_part;
  plan->job.finish_unit = grid->unit;
  plan_partition(target, plan);
  plan_scratch(plan, out);
  out->plan = plan;
  return NULL;
}

/* Describes the parts of the result for epilogues. by_rows: rows of a, stored in the order of those
 * of the result, are read only for these. */
static void plan_parts(const op_native_target_t *target, const dot_gemm_t *plan,
                       op_native_step_t *out) {
  const dot_problem_t *p = plan->problem;
  gemm_job_t by_rows = plan->job;
  if (plan->narrowed || p->types.is_complex || gemm_depth_parts(&plan->job) > 1) return;
  if (plan->symmetric) {
    out->parts.grid = (op_native_grid_t){p->batch * p->m, p->n, 0, true, false};
    out->parts.fuse = fuse_epilogue;
    return;
  }
  by_rows.finish = finish_part;
  double most = plan->by_matrices ? INFINITY : plan->partition.cost;
  bool whole_rows = gemm_partition_choose(&by_rows, target->workers).cost <= ROWS_COST * most;
  int64_t unit = gemm_finish_unit(&by_rows, target->workers, COLUMNS_COST * most);
  if (unit || whole_rows)
    out->parts.grid = (op_native_grid_t){p->batch * p->m, p->n, unit, whole_rows, false};
  bool in_order = p->batch == 1 || p->a.batch_step == p->m * p->k;
  out->parts.by_rows =
      !plan->a.widened && !p->a.rows && p->a.row_step == p->k && p->a.col_step == 1 && in_order;
  out->parts.fuse = fuse_epilogue;
}

/* Accepts all types of gemm.h, so it declines integers only. */
hr_status_t dot_prepare_gemm(const op_native_target_t *target, const dot_problem_t *problem,
                             op_native_step_t *out) {
  dot_gemm_t *plan;
  if (!gemm_has_type(product_type(&problem->types))) return NULL;
  HR_TRY(HR_NEW(target->arena, &plan));
  plan->strategy = (dot_strategy_t){"gemm", run_gemm};
  plan->problem = problem;
  plan->workers = target->workers;
  plan->job = dot_gemm_job(problem);
  HR_TRY(pack_constant(target, problem, &plan->job));
  plan_partition(target, plan);
  plan->may_be_sparse = problem->batch == 1 && !plan->by_matrices && dot_sparse_suits(&plan->job);
  plan->may_end_in_zeros = problem->batch > 1 && !problem->types.is_complex && !plan->job.a_rows &&
                           !plan->job.b_rows && problem->m >= LEAST_ROWS;
  plan->symmetric = problem->symmetric && dot_symmetric_suits(&plan->job);
  plan->may_have_zeros = problem->batch == 1 && !plan->by_matrices && !plan->symmetric &&
                         dot_zero_rows_suits(&plan->job);
  if (plan->symmetric) out->flops /= 2;
  plan_scratch(plan, out);
  plan_parts(target, plan, out);
  out->plan = plan;
  return NULL;
}
