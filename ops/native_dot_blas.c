/* Products of f64 and of complex numbers by BLAS, kept to one thread a call. Matrices lie as BLAS wants them, one of
 * their two steps being 1; rows or columns of the result, or matrices of the batch, are split over the workers. */
#include <limits.h>

#include "base/dl.h"
#include "ops/native_dot.h"

enum { ROW_MAJOR = 101, AS_IT_LIES = 111, TURNED = 112 }; /* of the C interface of BLAS */

typedef void (*gemm_real_fn)(int, int, int, int, int, int, double, const double *, int, const double *, int, double,
                             double *, int);
typedef void (*gemm_single_fn)(int, int, int, int, int, int, float, const float *, int, const float *, int, float,
                               float *, int);
typedef void (*gemm_complex_fn)(int, int, int, int, int, int, const void *, const void *, int, const void *, int,
                                const void *, void *, int);

typedef struct dot_blas {
  dot_way_t way;
  const dot_problem_t *problem;
  void *gemm;
  int64_t element_bytes;
  int64_t row_unit, col_unit, row_parts, col_parts; /* of a matrix's tasks */
  size_t a_ordered_at, b_ordered_at;
} dot_blas_t;

typedef struct dot_blas_run {
  const dot_blas_t *plan;
  const char *a, *b;
  char *c;
} dot_blas_run_t;

static void call_gemm(const dot_blas_t *plan, int m, int n, const void *a, const void *b, void *c) {
  static const double one[2] = {1, 0}, zero[2] = {0, 0};
  static const float one_single[2] = {1, 0}, zero_single[2] = {0, 0};
  const dot_problem_t *p = plan->problem;
  int a_form = p->a.col_step == 1 ? AS_IT_LIES : TURNED, b_form = p->b.col_step == 1 ? AS_IT_LIES : TURNED;
  int a_step = (int)(p->a.col_step == 1 ? p->a.row_step : p->a.col_step), k = (int)p->k;
  int b_step = (int)(p->b.col_step == 1 ? p->b.row_step : p->b.col_step), c_step = (int)p->n;
  switch (p->types.out) {
    case HR_F32:
      ((gemm_single_fn)plan->gemm)(ROW_MAJOR, a_form, b_form, m, n, k, 1, a, a_step, b, b_step, 0, c, c_step);
      return;
    case HR_F64:
      ((gemm_real_fn)plan->gemm)(ROW_MAJOR, a_form, b_form, m, n, k, 1, a, a_step, b, b_step, 0, c, c_step);
      return;
    case HR_C64:
      ((gemm_complex_fn)plan->gemm)(ROW_MAJOR, a_form, b_form, m, n, k, one_single, a, a_step, b, b_step, zero_single,
                                    c, c_step);
      return;
    default:
      ((gemm_complex_fn)plan->gemm)(ROW_MAJOR, a_form, b_form, m, n, k, one, a, a_step, b, b_step, zero, c, c_step);
  }
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
    call_gemm(plan, (int)least(plan->row_unit, p->m - row), (int)least(plan->col_unit, p->n - column),
              r->a + a * plan->element_bytes, r->b + b * plan->element_bytes, r->c + c * plan->element_bytes);
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
  hr_dtype_t type = problem->types.out;
  const char *name = type == HR_F32   ? "cblas_sgemm"
                     : type == HR_F64 ? "cblas_dgemm"
                     : type == HR_C64 ? "cblas_cgemm"
                                      : "cblas_zgemm";
  hr_status_t missing = hr_dl_symbol(HR_LIBRARY_LAPACK, name, &plan->gemm);
  if (missing) {
    hr_status_release(missing);
    return NULL;
  }
  choose_parts(target->workers, plan);
  plan->a_ordered_at = native_take(&total, dot_order_bytes(&problem->a));
  plan->b_ordered_at = native_take(&total, dot_order_bytes(&problem->b));
  out->scratch_bytes = total;
  out->plan = plan;
  return NULL;
}
