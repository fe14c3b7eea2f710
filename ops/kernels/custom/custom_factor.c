/* LAPACK custom calls that factor and solve: potrf, getrf, geqrf, geqp3, orgqr, ormqr, trsm,
 * gtsv. Operands and results are listed above each; B is the batch, one call of the routine per
 * matrix, divided among the workers if the batch is large. `info` is a result, as in LAPACK:
 * a matrix that cannot be factored is no error of the program.
 *
 * "Old" forms pass sizes and options as scalar operands before the arrays, typed ones pass
 * options in backend_config; lapack_begin tells which one it is. Routines work in place on a
 * copy of the operand that becomes the result (lapack_load_into). A query call with LWORK = -1
 * gives the workspace. */
#include <string.h>

#include "base/arith.h"
#include "ops/kernels/custom/custom_lapack.h"

/* potrf: a[B,n,n] -> a, info[B]; uplo. Old: lower, batch, n, a. The scalars of the old form are not
 * compared with the shapes: sizes come from the shapes only. */
static hr_status_t prepare_potrf(hr_arena_t *arena, const op_step_t *step, const void **out_plan) {
  static const lapack_form_t form = {3, 1, 0, 2, {"potrf", "potrf"}};
  lapack_plan_t *plan;
  HR_TRY(lapack_begin(arena, step, &form, &plan));
  HR_TRY(lapack_check_operand(step, plan, 0, plan->dtype, 2, plan->n, plan->n));
  HR_TRY(lapack_check_result(step, plan, 0, plan->dtype, 2, plan->n, plan->n));
  HR_TRY(lapack_check_result(step, plan, 1, HR_S32, 0, 0, 0));
  *out_plan = plan;
  return lapack_check_char_option(step, plan, "uplo", "LU");
}

/* The other triangle of the result is the operand's, as LAPACK leaves it. */
static hr_status_t run_potrf(op_env_t *env, const op_step_t *step, hlo_value_t *const *in,
                             hlo_value_t **out_value) {
  const lapack_plan_t *plan = step->plan;
  lapack_run_t run;
  void *a, *info;
  HR_TRY(lapack_run_init(env, step, in, &run));
  HR_TRY(lapack_load_into(&run, 0, 0, &a));
  HR_TRY(lapack_new_result(&run, 1, &info));
  char uplo = lapack_uplo(&run, 0);
  int n = plan->n;
  for (int64_t i = 0; i < plan->batch && n; i++)
    plan->routine(&uplo, &n, lapack_at(a, i, (int64_t)n * n, run.dtype), &n, (int32_t *)info + i,
                  ONE_CHAR);
  return lapack_finish(&run, out_value);
}

const op_kernel_t custom_potrf = {prepare_potrf, run_potrf};

/* getrf: a[B,m,n] -> lu[B,m,n], pivots[B,min], info[B]. Old: batch, m, n, a. Pivots are
 * LAPACK's: row i was exchanged with row pivots[i], which counts from 1. */
static hr_status_t prepare_getrf(hr_arena_t *arena, const op_step_t *step, const void **out_plan) {
  static const lapack_form_t form = {3, 1, 0, 2, {"getrf", "getrf"}};
  lapack_plan_t *plan;
  HR_TRY(lapack_begin(arena, step, &form, &plan));
  HR_TRY(lapack_check_result(step, plan, 0, plan->dtype, 2, plan->m, plan->n));
  HR_TRY(lapack_check_result(step, plan, 1, HR_S32, 1, (int)hr_min(plan->m, plan->n), 0));
  *out_plan = plan;
  return lapack_check_result(step, plan, 2, HR_S32, 0, 0, 0);
}

/* Shared by the workers; pointers are those of matrix 0. */
typedef struct getrf_call {
  const lapack_plan_t *plan;
  void *a, *pivots;
  int32_t *info;
} getrf_call_t;

/* Matrix i of the batch; pivots count from 1. */
static void call_getrf(const void *call, int64_t i, int worker) {
  const getrf_call_t *c = call;
  const lapack_plan_t *plan = c->plan;
  (void)worker;
  plan->routine(&plan->m, &plan->n, lapack_at(c->a, i, (int64_t)plan->m * plan->n, plan->dtype),
                &plan->m, lapack_at(c->pivots, i, (int)hr_min(plan->m, plan->n), HR_S32),
                c->info + i);
}

/* The cost estimate m n min(m, n) determines how many matrices are a task. */
static hr_status_t run_getrf(op_env_t *env, const op_step_t *step, hlo_value_t *const *in,
                             hlo_value_t **out_value) {
  const lapack_plan_t *plan = step->plan;
  lapack_run_t run;
  void *a, *pivots, *info;
  int m = plan->m, n = plan->n;
  HR_TRY(lapack_run_init(env, step, in, &run));
  HR_TRY(lapack_load_into(&run, 0, 0, &a));
  HR_TRY(lapack_new_result(&run, 1, &pivots));
  HR_TRY(lapack_new_result(&run, 2, &info));
  getrf_call_t call = {plan, a, pivots, info};
  if (m && n) lapack_batch(&run, (double)m * n * (int)hr_min(m, n), call_getrf, &call);
  return lapack_finish(&run, out_value);
}

const op_kernel_t custom_getrf = {prepare_getrf, run_getrf};

/* geqrf: a[B,m,n] -> a, tau[B,min] (, info[B], work). Old: batch, m, n, lwork, a. info and work, if
 * the form has them, stay zero: geqrf fails on wrong arguments only. */
static hr_status_t prepare_geqrf(hr_arena_t *arena, const op_step_t *step, const void **out_plan) {
  static const lapack_form_t form = {4, 1, 0, 2, {"geqrf", "geqrf"}};
  lapack_plan_t *plan;
  HR_TRY(lapack_begin(arena, step, &form, &plan));
  HR_TRY(lapack_check_result(step, plan, 0, plan->dtype, 2, plan->m, plan->n));
  HR_TRY(lapack_check_result(step, plan, 1, plan->dtype, 1, (int)hr_min(plan->m, plan->n), 0));
  *out_plan = plan;
  return NULL;
}

/* Shared by the workers, for geqrf and orgqr; `size` is the workspace of one worker in elements. */
typedef struct geqrf_call {
  const lapack_plan_t *plan;
  void *a, *tau, *work;
  int size;
} geqrf_call_t;

/* Matrix i with the workspace of its worker. */
static void call_geqrf(const void *call, int64_t i, int worker) {
  const geqrf_call_t *c = call;
  const lapack_plan_t *plan = c->plan;
  int info;
  plan->routine(&plan->m, &plan->n, lapack_at(c->a, i, (int64_t)plan->m * plan->n, plan->dtype),
                &plan->m, lapack_at(c->tau, i, (int)hr_min(plan->m, plan->n), plan->dtype),
                lapack_at(c->work, worker, c->size, plan->dtype), &c->size, &info);
}

/* Each worker has its own workspace, of the size from the query for matrix 0. */
static hr_status_t run_geqrf(op_env_t *env, const op_step_t *step, hlo_value_t *const *in,
                             hlo_value_t **out_value) {
  const lapack_plan_t *plan = step->plan;
  lapack_run_t run;
  void *a, *tau, *work;
  int m = plan->m, n = plan->n, size = -1, info;
  double query[2];
  HR_TRY(lapack_run_init(env, step, in, &run));
  HR_TRY(lapack_load_into(&run, 0, 0, &a));
  HR_TRY(lapack_new_result(&run, 1, &tau));
  if (m == 0 || n == 0) return lapack_finish(&run, out_value);
  plan->routine(&m, &n, a, &m, tau, query, &size, &info);
  HR_TRY(lapack_queried(&run, query, n, &size, &work));
  geqrf_call_t call = {plan, a, tau, work, size};
  lapack_batch(&run, 2.0 * m * n * (int)hr_min(m, n), call_geqrf, &call);
  return lapack_finish(&run, out_value);
}

const op_kernel_t custom_geqrf = {prepare_geqrf, run_geqrf};

/* geqp3: a[B,m,n], pivots[B,n] (0: free) -> a, pivots, tau[B,min]. It exists in the typed form
 * only. */
static hr_status_t prepare_geqp3(hr_arena_t *arena, const op_step_t *step, const void **out_plan) {
  static const lapack_form_t form = {0, 2, 0, 2, {"geqp3", "geqp3"}};
  lapack_plan_t *plan;
  HR_TRY(lapack_begin(arena, step, &form, &plan));
  HR_TRY(lapack_check_operand(step, plan, 1, HR_S32, 1, plan->n, 0));
  HR_TRY(lapack_check_result(step, plan, 0, plan->dtype, 2, plan->m, plan->n));
  HR_TRY(lapack_check_result(step, plan, 1, HR_S32, 1, plan->n, 0));
  HR_TRY(lapack_check_result(step, plan, 2, plan->dtype, 1, (int)hr_min(plan->m, plan->n), 0));
  *out_plan = plan;
  return NULL;
}

/* Complex types have an additional real workspace. */
static void call_geqp3(const lapack_plan_t *plan, void *a, void *pivots, void *tau, void *work,
                       const int *size, void *real_work) {
  int info, m = (int)hr_max(1, plan->m);
  if (plan->is_complex)
    plan->routine(&plan->m, &plan->n, a, &m, pivots, tau, work, size, real_work, &info);
  else
    plan->routine(&plan->m, &plan->n, a, &m, pivots, tau, work, size, &info);
}

/* Pivots are zeros for free columns as an operand and the permutation as a result. */
static hr_status_t run_geqp3(op_env_t *env, const op_step_t *step, hlo_value_t *const *in,
                             hlo_value_t **out_value) {
  const lapack_plan_t *plan = step->plan;
  lapack_run_t run;
  void *a, *pivots, *tau, *work, *real_work;
  int size = -1, m = plan->m, n = plan->n;
  double query[2];
  HR_TRY(lapack_run_init(env, step, in, &run));
  HR_TRY(lapack_load_into(&run, 0, 0, &a));
  HR_TRY(lapack_load_into(&run, 1, 1, &pivots));
  HR_TRY(lapack_new_result(&run, 2, &tau));
  HR_TRY(lapack_space(&run, run.real, 2 * (int64_t)n, &real_work));
  if (m == 0 || n == 0) return lapack_finish(&run, out_value);
  call_geqp3(plan, a, pivots, tau, query, &size, real_work);
  HR_TRY(lapack_queried(&run, query, 3 * (int64_t)n + 1, &size, &work));
  for (int64_t i = 0; i < plan->batch; i++)
    call_geqp3(plan, lapack_at(a, i, (int64_t)m * n, run.dtype), lapack_at(pivots, i, n, HR_S32),
               lapack_at(tau, i, (int)hr_min(m, n), run.dtype), work, &size, real_work);
  return lapack_finish(&run, out_value);
}

const op_kernel_t custom_geqp3 = {prepare_geqp3, run_geqp3};

/* orgqr, ungqr: a[B,m,n], tau[B,k] -> q[B,m,n] (, info[B], work). Old: batch, m, n, k, lwork, a,
 * tau. */
static hr_status_t prepare_orgqr(hr_arena_t *arena, const op_step_t *step, const void **out_plan) {
  static const lapack_form_t form = {5, 2, 0, 2, {"orgqr", "ungqr"}};
  lapack_plan_t *plan;
  HR_TRY(lapack_begin(arena, step, &form, &plan));
  const hlo_shape_t *tau = lapack_array_shape(step, plan, 1);
  int64_t k = tau->rank ? tau->dims[tau->rank - 1] : 0;
  HR_TRY(lapack_check_operand(step, plan, 1, plan->dtype, 1, k, 0));
  HR_TRY(lapack_check_result(step, plan, 0, plan->dtype, 2, plan->m, plan->n));
  if (plan->n > plan->m || k > plan->n)
    return hlo_error(step->instr, NULL,
                     "%ld reflectors make %d columns of %d rows, want them not to increase",
                     (long)k, plan->n, plan->m);
  plan->k = (int)k;
  *out_plan = plan;
  return NULL;
}

/* Matrix i: k reflectors below the diagonal of a become m x n columns of Q, in place. */
static void call_orgqr(const void *call, int64_t i, int worker) {
  const geqrf_call_t *c = call;
  const lapack_plan_t *plan = c->plan;
  int info;
  plan->routine(&plan->m, &plan->n, &plan->k,
                lapack_at(c->a, i, (int64_t)plan->m * plan->n, plan->dtype), &plan->m,
                lapack_at(c->tau, i, plan->k, plan->dtype),
                lapack_at(c->work, worker, c->size, plan->dtype), &c->size, &info);
}

/* tau is only read, so it is loaded as a copy that is no result. */
static hr_status_t run_orgqr(op_env_t *env, const op_step_t *step, hlo_value_t *const *in,
                             hlo_value_t **out_value) {
  const lapack_plan_t *plan = step->plan;
  lapack_run_t run;
  void *a, *tau, *work;
  int m = plan->m, n = plan->n, k = plan->k, size = -1, info;
  double query[2];
  HR_TRY(lapack_run_init(env, step, in, &run));
  HR_TRY(lapack_load_into(&run, 0, 0, &a));
  HR_TRY(lapack_load(&run, 1, &tau));
  if (m == 0 || n == 0) return lapack_finish(&run, out_value);
  plan->routine(&m, &n, &k, a, &m, tau, query, &size, &info);
  HR_TRY(lapack_queried(&run, query, n, &size, &work));
  geqrf_call_t call = {plan, a, tau, work, size};
  lapack_batch(&run, 2.0 * m * n * k, call_orgqr, &call);
  return lapack_finish(&run, out_value);
}

const op_kernel_t custom_orgqr = {prepare_orgqr, run_orgqr};

/* ormqr, unmqr: a[B,r,k], tau[B,k], c[B,m,n] -> c; left, transpose. r is m on the left, n on the
 * right. */
static hr_status_t prepare_ormqr(hr_arena_t *arena, const op_step_t *step, const void **out_plan) {
  static const lapack_form_t form = {0, 3, 0, 2, {"ormqr", "unmqr"}};
  lapack_plan_t *plan;
  HR_TRY(lapack_begin(arena, step, &form, &plan));
  const hlo_shape_t *c = lapack_array_shape(step, plan, 2);
  int64_t r = plan->m, k = plan->n;
  if (c->rank < 2) return hlo_error(step->instr, NULL, "operand 2 must be a matrix");
  int64_t m = c->dims[c->rank - 2], n = c->dims[c->rank - 1];
  HR_TRY(lapack_check_operand(step, plan, 1, plan->dtype, 1, k, 0));
  HR_TRY(lapack_check_operand(step, plan, 2, plan->dtype, 2, m, n));
  HR_TRY(lapack_check_result(step, plan, 0, plan->dtype, 2, m, n));
  if (r != (mlir_dict_int(plan->options, "left", 0) ? m : n) || k > r)
    return hlo_error(step->instr, NULL, "%ld reflectors of size %ld do not fit a %ld x %ld matrix",
                     (long)k, (long)r, (long)m, (long)n);
  if (m > INT32_MAX || n > INT32_MAX) return hlo_unsupported(step->instr, "a matrix of this size");
  plan->m = (int)m;
  plan->n = (int)n;
  plan->k = (int)k;
  *out_plan = plan;
  return NULL;
}

/* Multiplies by Q without forming it; complex matrices use the conjugate transpose. */
static hr_status_t run_ormqr(op_env_t *env, const op_step_t *step, hlo_value_t *const *in,
                             hlo_value_t **out_value) {
  const lapack_plan_t *plan = step->plan;
  lapack_run_t run;
  void *a, *tau, *c, *work;
  bool left = mlir_dict_int(plan->options, "left", 0),
       transpose = mlir_dict_int(plan->options, "transpose", 0);
  char side = left ? 'L' : 'R';
  char transposed = plan->is_complex ? 'C' : 'T';
  char trans = transpose ? transposed : 'N';
  int m = plan->m, n = plan->n, k = plan->k, rows = left ? m : n, size = -1, info;
  double query[2];
  HR_TRY(lapack_run_init(env, step, in, &run));
  HR_TRY(lapack_load(&run, 0, &a));
  HR_TRY(lapack_load(&run, 1, &tau));
  HR_TRY(lapack_load_into(&run, 2, 0, &c));
  if (m == 0 || n == 0 || k == 0) return lapack_finish(&run, out_value);
  plan->routine(&side, &trans, &m, &n, &k, a, &rows, tau, c, &m, query, &size, &info, ONE_CHAR,
                ONE_CHAR);
  HR_TRY(lapack_queried(&run, query, left ? n : m, &size, &work));
  for (int64_t i = 0; i < plan->batch; i++)
    plan->routine(&side, &trans, &m, &n, &k, lapack_at(a, i, (int64_t)rows * k, run.dtype), &rows,
                  lapack_at(tau, i, k, run.dtype), lapack_at(c, i, (int64_t)m * n, run.dtype), &m,
                  work, &size, &info, ONE_CHAR, ONE_CHAR);
  return lapack_finish(&run, out_value);
}

const op_kernel_t custom_ormqr = {prepare_ormqr, run_ormqr};

/* trsm: a[B,k,k], b[B,m,n] (, alpha) -> x[B,m,n]; side, uplo, trans_x, diag.
 * Old: left, lower, trans, unit, m, n, batch, alpha, a, b. */
enum { OLD_LEFT, OLD_LOWER, OLD_TRANS, OLD_UNIT, OLD_ALPHA = 7 };

/* The optional factor is a scalar of the matrices' type. */
static hr_status_t check_alpha(const op_step_t *step, const lapack_plan_t *plan) {
  int at = plan->scalars ? OLD_ALPHA : 2;
  if (at >= step->instr->operand_count) return NULL;
  if (step->in_shapes[at]->dtype == plan->dtype && step->in_shapes[at]->rank == 0) return NULL;
  return hlo_error(step->instr, NULL, "operand %d must be a scalar factor of type %s", at,
                   hr_dtype_name(plan->dtype));
}

/* plan->k is the size of the triangle, m and n those of the right-hand sides. The side of an old
 * call is an operand, so the size of the triangle is checked at run time. */
static hr_status_t prepare_trsm(hr_arena_t *arena, const op_step_t *step, const void **out_plan) {
  static const lapack_form_t form = {8, 2, 1, 2, {"trsm", "trsm"}};
  lapack_plan_t *plan;
  HR_TRY(lapack_begin(arena, step, &form, &plan));
  const hlo_shape_t *b = lapack_array_shape(step, plan, 1);
  int64_t k = plan->n, m = b->rank < 2 ? 0 : b->dims[b->rank - 2],
          n = b->rank < 2 ? 0 : b->dims[b->rank - 1];
  if (m > INT32_MAX / 2 || n > INT32_MAX / 2)
    return hlo_unsupported(step->instr, "a matrix of this size");
  plan->k = (int)k;
  plan->m = (int)m;
  plan->n = (int)n;
  HR_TRY(lapack_check_operand(step, plan, 0, plan->dtype, 2, k, k));
  HR_TRY(lapack_check_operand(step, plan, 1, plan->dtype, 2, m, n));
  HR_TRY(lapack_check_result(step, plan, 0, plan->dtype, 2, m, n));
  HR_TRY(check_alpha(step, plan));
  HR_TRY(lapack_check_char_option(step, plan, "side", "LR"));
  HR_TRY(lapack_check_char_option(step, plan, "uplo", "LU"));
  HR_TRY(lapack_check_char_option(step, plan, "trans_x", "NTC"));
  HR_TRY(lapack_check_char_option(step, plan, "diag", "UN"));
  if (!plan->scalars && k != (mlir_dict_int(plan->options, "side", 0) == 'L' ? m : n))
    return hlo_error(step->instr, NULL, "a %ld x %ld triangle does not fit a %ld x %ld matrix",
                     (long)k, (long)k, (long)m, (long)n);
  *out_plan = plan;
  return NULL;
}

typedef struct trsm_options {
  char side, uplo, trans, diag;
} trsm_options_t;

static hr_status_t trsm_options(const lapack_run_t *run, trsm_options_t *out) {
  if (!run->plan->scalars) {
    *out = (trsm_options_t){lapack_char_option(run, "side"), lapack_char_option(run, "uplo"),
                            lapack_char_option(run, "trans_x"), lapack_char_option(run, "diag")};
    return NULL;
  }
  int64_t trans = lapack_scalar(run, OLD_TRANS);
  out->side = lapack_scalar(run, OLD_LEFT) ? 'L' : 'R';
  out->uplo = lapack_scalar(run, OLD_LOWER) ? 'L' : 'U';
  char adjoint = trans == 1 ? 'T' : 'C';
  out->trans = trans == 0 ? 'N' : adjoint;
  out->diag = lapack_scalar(run, OLD_UNIT) ? 'U' : 'N';
  if (run->plan->k == (out->side == 'L' ? run->plan->m : run->plan->n)) return NULL;
  return hlo_error(run->step->instr, NULL, "the triangle does not fit the matrix on side %c",
                   out->side);
}

typedef struct trsm_call {
  const lapack_plan_t *plan;
  trsm_options_t letters;
  const void *alpha;
  void *a, *b;
} trsm_call_t;

/* Solves one matrix of the batch. Character arguments have hidden lengths at the end of the list
 * (the ABI of gfortran), ONE_CHAR each. */
static void call_trsm(const void *call, int64_t i, int worker) {
  const trsm_call_t *c = call;
  const lapack_plan_t *plan = c->plan;
  const trsm_options_t *l = &c->letters;
  (void)worker;
  plan->routine(&l->side, &l->uplo, &l->trans, &l->diag, &plan->m, &plan->n, c->alpha,
                lapack_at(c->a, i, (int64_t)plan->k * plan->k, plan->dtype), &plan->k,
                lapack_at(c->b, i, (int64_t)plan->m * plan->n, plan->dtype), &plan->m, ONE_CHAR,
                ONE_CHAR, ONE_CHAR, ONE_CHAR);
}

/* A missing alpha is one, in the type of the routine; the solution overwrites b. */
static hr_status_t run_trsm(op_env_t *env, const op_step_t *step, hlo_value_t *const *in,
                            hlo_value_t **out_value) {
  const lapack_plan_t *plan = step->plan;
  lapack_run_t run;
  trsm_call_t call = {.plan = plan};
  double one[2] = {1, 0};
  float float_one[2] = {1, 0};
  int at = plan->scalars ? OLD_ALPHA : 2;
  call.alpha = plan->is_double ? (void *)one : float_one;
  if (at < step->instr->operand_count) call.alpha = in[at]->data;
  HR_TRY(lapack_run_init(env, step, in, &run));
  HR_TRY(lapack_load(&run, 0, &call.a));
  HR_TRY(lapack_load_into(&run, 1, 0, &call.b));
  HR_TRY(trsm_options(&run, &call.letters));
  if (plan->m && plan->n) lapack_batch(&run, (double)plan->m * plan->n * plan->k, call_trsm, &call);
  return lapack_finish(&run, out_value);
}

const op_kernel_t custom_trsm = {prepare_trsm, run_trsm};

/* gtsv: dl[B,n], d[B,n], du[B,n], b[B,n,k] -> dl, d, du, x, info[B]. dl[0] and du[n-1] are outside
 * the matrix. */
static hr_status_t prepare_gtsv(hr_arena_t *arena, const op_step_t *step, const void **out_plan) {
  static const lapack_form_t form = {0, 4, 0, 1, {"gtsv", "gtsv"}};
  lapack_plan_t *plan;
  HR_TRY(lapack_begin(arena, step, &form, &plan));
  const hlo_shape_t *b = lapack_array_shape(step, plan, 3);
  int64_t k = b->rank ? b->dims[b->rank - 1] : 0;
  for (int i = 0; i < 3; i++) {
    HR_TRY(lapack_check_operand(step, plan, i, plan->dtype, 1, plan->n, 0));
    HR_TRY(lapack_check_result(step, plan, i, plan->dtype, 1, plan->n, 0));
  }
  HR_TRY(lapack_check_operand(step, plan, 3, plan->dtype, 2, plan->n, k));
  HR_TRY(lapack_check_result(step, plan, 3, plan->dtype, 2, plan->n, k));
  HR_TRY(lapack_check_result(step, plan, 4, HR_S32, 0, 0, 0));
  if (k > INT32_MAX / 2) return hlo_unsupported(step->instr, "%ld right-hand sides", (long)k);
  plan->k = (int)k;
  *out_plan = plan;
  return NULL;
}

/* v: the diagonals below, on and above the main one, and the right-hand sides. LAPACK's lower
 * diagonal has no dl[0], hence the offset of one element. */
static hr_status_t run_gtsv(op_env_t *env, const op_step_t *step, hlo_value_t *const *in,
                            hlo_value_t **out_value) {
  const lapack_plan_t *plan = step->plan;
  lapack_run_t run;
  void *v[4], *info;
  int n = plan->n, k = plan->k;
  HR_TRY(lapack_run_init(env, step, in, &run));
  for (int j = 0; j < 4; j++) HR_TRY(lapack_load_into(&run, j, j, &v[j]));
  HR_TRY(lapack_new_result(&run, 4, &info));
  for (int64_t i = 0; i < plan->batch && n; i++)
    plan->routine(&n, &k, lapack_at(v[0], i * n + 1, 1, run.dtype),
                  lapack_at(v[1], i, n, run.dtype), lapack_at(v[2], i, n, run.dtype),
                  lapack_at(v[3], i, (int64_t)n * k, run.dtype), &n, (int32_t *)info + i);
  return lapack_finish(&run, out_value);
}

const op_kernel_t custom_gtsv = {prepare_gtsv, run_gtsv};
