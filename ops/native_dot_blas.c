/* Products of f64 and of complex numbers by BLAS, kept to one thread a call. Matrices lie as BLAS wants them, one of
 * their two steps being 1; rows or columns of the result, or matrices of the batch, are split over the workers. */
#include <limits.h>

#include "ops/blas.h"
#include "ops/native_dot.h"

typedef struct dot_blas {
  dot_way_t way;
  const dot_problem_t *problem;
  blas_gemm_t gemm;
  int64_t element_bytes;
  int64_t row_unit, col_unit, row_parts, col_parts; /* of a matrix's tasks */
  size_t a_ordered_at, b_ordered_at;
} dot_blas_t;

typedef struct dot_blas_run {
  const dot_blas_t *plan;
  const char *a, *b;
  char *c;
} dot_blas_run_t;

static blas_matrix_t as_it_lies(const dot_matrices_t *side, const void *data) {
  bool turned = side->col_step != 1;
  return (blas_matrix_t){data, (int)(turned ? side->col_step : side->row_step), turned};
}

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

static void run_tasks(void *context, int64_t begin, int64_t end, int worker) {
  const dot_blas_run_t *r = context;
  const dot_blas_t *plan = r->plan;
  const dot_problem_t *p = plan->problem;
  int64_t parts = plan->row_parts * plan->col_parts;
  (void)worker;
  for (int64_t task = begin; task < end; task++) {
    int64_t matrix = task / parts, row = task % parts / plan->col_parts * plan->row_unit;
    int64_t column = task % plan->col_parts * plan->col_unit;
    int64_t a = p->a.starts[matrix] + row * p->a.row_step, b = p->b.starts[matrix] + column * p->b.col_step;
    int64_t c = (matrix * p->m + row) * p->n + column;
    blas_gemm_run(&plan->gemm, (int)least(plan->row_unit, p->m - row), (int)least(plan->col_unit, p->n - column),
                  (int)p->k, as_it_lies(&p->a, r->a + a * plan->element_bytes),
                  as_it_lies(&p->b, r->b + b * plan->element_bytes), r->c + c * plan->element_bytes, (int)p->n);
  }
}

static hr_status_t run_blas(const op_native_run_t *run, const dot_way_t *way, void *const *in, void *const *out) {
  const dot_blas_t *plan = (const dot_blas_t *)way;
  const dot_problem_t *p = plan->problem;
  char *scratch = run->scratch;
  dot_blas_run_t r = {plan, dot_order_run(run->workers, &p->a, in[0], scratch + plan->a_ordered_at),
                      dot_order_run(run->workers, &p->b, in[1], scratch + plan->b_ordered_at), out[0]};
  int64_t tasks = p->batch * plan->row_parts * plan->col_parts;
  hr_workers_for(run->workers, tasks, 1 + (int64_t)(1e5 * (double)tasks / p->flops), run_tasks, &r);
  return NULL;
}

static bool fits(const dot_problem_t *p) {
  const matmul_types_t *t = &p->types;
  bool known = t->out == HR_F32 || t->out == HR_F64 || t->out == HR_C64 || t->out == HR_C128;
  int64_t a_step = p->a.col_step == 1 ? p->a.row_step : p->a.col_step;
  int64_t b_step = p->b.col_step == 1 ? p->b.row_step : p->b.col_step;
  if (!known || t->lhs != t->out || t->rhs != t->out) return false;
  return p->m <= INT_MAX && p->n <= INT_MAX && p->k <= INT_MAX && a_step <= INT_MAX && b_step <= INT_MAX &&
         a_step >= (p->a.col_step == 1 ? p->k : p->m) && b_step >= (p->b.col_step == 1 ? p->n : p->k);
}

static void choose_parts(int workers, dot_blas_t *plan) {
  const dot_problem_t *p = plan->problem;
  bool split = workers > 1 && p->flops > 2e5 && p->batch % workers && p->batch < 4 * workers;
  bool rows = p->m >= p->n;
  int64_t units = rows ? p->m : p->n, unit = units;
  if (split) unit = least(units, ((units + workers - 1) / workers + 7) / 8 * 8);
  plan->row_unit = rows ? unit : p->m, plan->col_unit = rows ? p->n : unit;
  plan->row_parts = (p->m + plan->row_unit - 1) / plan->row_unit;
  plan->col_parts = (p->n + plan->col_unit - 1) / plan->col_unit;
}

hr_status_t dot_prepare_blas(const op_native_target_t *target, const dot_problem_t *problem, op_native_step_t *out) {
  dot_blas_t *plan;
  size_t total = 0;
  if (!fits(problem)) return NULL;
  HR_TRY(HR_NEW(target->arena, &plan));
  plan->way = (dot_way_t){"BLAS", run_blas};
  plan->problem = problem;
  plan->element_bytes = (int64_t)hr_dtype_bytes(problem->types.out);
  if (!blas_gemm_open(problem->types.out, &plan->gemm)) return NULL;
  choose_parts(target->workers, plan);
  plan->a_ordered_at = native_take(&total, dot_order_bytes(&problem->a));
  plan->b_ordered_at = native_take(&total, dot_order_bytes(&problem->b));
  out->scratch_bytes = total;
  out->plan = plan;
  return NULL;
}
