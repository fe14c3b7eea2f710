/* LAPACK custom calls for singular values: gesdd (divide and conquer) and gesvd (QR iteration), one
 * call per matrix of the batch B, divided among the workers. Signs of singular vectors are those of
 * the LAPACK in use. */
#include <string.h>

#include "base/arith.h"
#include "ops/kernels/custom/custom_lapack.h"

/* gesdd, gesvd: a[B,m,n] -> a, s real[B,min], u[B,m,m or min], vt[B,n or min,n], info[B] (,
 * workspaces); mode A, S or N. Old: full_matrices, compute_uv, batch, m, n, lwork, a. */
enum { SVD_A, SVD_S, SVD_U, SVD_VT, SVD_INFO };

/* True if the target's name contains the routine's; both names may have the suffix _ffi. */
static bool target_has(const op_step_t *step, const char *word) {
  hr_str_t target = op_custom_call_target(step->instr);
  return memmem(target.data, target.size, word, strlen(word)) != NULL;
}

/* The mode of an old call is an operand and not known yet, so the shapes of u and vt determine
 * their columns and rows; svd_mode compares them with the mode at run time. plan->k holds the rows
 * of vt. */
static hr_status_t prepare_gesdd(hr_arena_t *arena, const op_step_t *step, const void **out_plan) {
  static const lapack_form_t sdd = {6, 1, 0, 2, {"gesdd", "gesdd"}},
                             svd = {0, 1, 0, 2, {"gesvd", "gesvd"}};
  lapack_plan_t *plan;
  HR_TRY(lapack_begin(arena, step, target_has(step, "gesvd") ? &svd : &sdd, &plan));
  int m = plan->m, n = plan->n, k = (int)hr_min(m, n);
  const hlo_shape_t *u = custom_result_shape(step->out_shape, SVD_U),
                    *vt = custom_result_shape(step->out_shape, SVD_VT);
  int64_t mode = mlir_dict_int(plan->options, "mode", 0);
  int64_t columns = u && u->rank ? u->dims[u->rank - 1] : 0,
          rows = vt && vt->rank > 1 ? vt->dims[vt->rank - 2] : 0;
  HR_TRY(lapack_check_char_option(step, plan, "mode", "ASN"));
  if (mode == 'A' || columns != k) columns = m;
  if (mode == 'A' || rows != k) rows = n;
  if (mode == 'S') columns = rows = k;
  HR_TRY(lapack_check_result(step, plan, SVD_A, plan->dtype, 2, m, n));
  HR_TRY(lapack_check_result(step, plan, SVD_S, plan->real, 1, k, 0));
  HR_TRY(lapack_check_result(step, plan, SVD_U, plan->dtype, 2, m, columns));
  HR_TRY(lapack_check_result(step, plan, SVD_VT, plan->dtype, 2, rows, n));
  plan->k = (int)rows;
  *out_plan = plan;
  return lapack_check_result(step, plan, SVD_INFO, HR_S32, 0, 0, 0);
}

/* Arguments of one call; u_rows and vt_rows are the leading dimensions of u and vt. */
typedef struct svd_call {
  char mode;
  bool divide; /* gesdd */
  int m, n, u_rows, vt_rows;
  void *a, *s, *u, *vt, *work, *real_work, *ints;
  int size;
  int32_t *info;
} svd_call_t;

/* gesvd has a mode for u and one for vt, which are equal here; complex types have an additional
 * real workspace, and gesdd one of 8 min(m, n) integers. */
static void call_svd(const lapack_plan_t *plan, svd_call_t *c) {
  if (c->divide && plan->is_complex)
    plan->routine(&c->mode, &c->m, &c->n, c->a, &c->m, c->s, c->u, &c->u_rows, c->vt, &c->vt_rows,
                  c->work, &c->size, c->real_work, c->ints, c->info, ONE_CHAR);
  else if (c->divide)
    plan->routine(&c->mode, &c->m, &c->n, c->a, &c->m, c->s, c->u, &c->u_rows, c->vt, &c->vt_rows,
                  c->work, &c->size, c->ints, c->info, ONE_CHAR);
  else if (plan->is_complex)
    plan->routine(&c->mode, &c->mode, &c->m, &c->n, c->a, &c->m, c->s, c->u, &c->u_rows, c->vt,
                  &c->vt_rows, c->work, &c->size, c->real_work, c->info, ONE_CHAR, ONE_CHAR);
  else
    plan->routine(&c->mode, &c->mode, &c->m, &c->n, c->a, &c->m, c->s, c->u, &c->u_rows, c->vt,
                  &c->vt_rows, c->work, &c->size, c->info, ONE_CHAR, ONE_CHAR);
}

/* Old calls have two flags instead of the letter of typed calls; the shapes must allow the mode. */
static hr_status_t svd_mode(const lapack_run_t *run, char *out_mode) {
  const lapack_plan_t *plan = run->plan;
  *out_mode = plan->scalars == 0       ? lapack_char_option(run, "mode")
              : !lapack_scalar(run, 1) ? 'N'
              : lapack_scalar(run, 0)  ? 'A'
                                       : 'S';
  int64_t u_columns = custom_result_shape(run->step->out_shape, SVD_U)->dims[plan->batch_rank + 1];
  int k = (int)hr_min(plan->m, plan->n);
  bool fits = *out_mode == 'A' ? u_columns == plan->m && plan->k == plan->n
                               : u_columns == k && plan->k == k;
  if (*out_mode == 'N' || fits) return NULL;
  return hlo_error(run->step->instr, NULL, "the results' sizes do not go with mode %c", *out_mode);
}

/* Size of the real workspace: LAPACK's documentation of zgesdd for modes other than N, the
 * larger of the two formulas. */
static int64_t svd_reals(const svd_call_t *c) {
  int64_t k = (int)hr_min(c->m, c->n), longer = (int)hr_max(c->m, c->n);
  int64_t reals = 5 * k * k + 7 * k, other = 2 * longer * k + 2 * k * k + k;
  return reals > other ? reals : other;
}

static int64_t svd_ints(const svd_call_t *c) { return 8 * hr_min(c->m, c->n); }

/* At least 2 min + max elements, the documented minimum of gesvd, whatever the query returns. */
static hr_status_t svd_spaces(const lapack_run_t *run, svd_call_t *c) {
  int64_t k = (int)hr_min(c->m, c->n), longer = (int)hr_max(c->m, c->n);
  double query[2];
  HR_TRY(lapack_space(run, run->real, svd_reals(c), &c->real_work));
  HR_TRY(lapack_space(run, HR_S32, svd_ints(c), &c->ints));
  c->size = -1;
  c->work = query;
  call_svd(run->plan, c);
  return lapack_queried(run, query, 2 * k + longer, &c->size, &c->work);
}

typedef struct svd_batch {
  const lapack_plan_t *plan;
  svd_call_t first; /* call for matrix 0 by worker 0 */
  int64_t columns;  /* columns of u */
  int64_t reals, ints;
} svd_batch_t;

/* Matrix i with the workspaces of its worker. */
static void call_svd_of_batch(const void *call, int64_t i, int worker) {
  const svd_batch_t *batch = call;
  const lapack_plan_t *plan = batch->plan;
  svd_call_t c = batch->first;
  c.a = lapack_at(c.a, i, (int64_t)c.m * c.n, plan->dtype),
  c.s = lapack_at(c.s, i, (int)hr_min(c.m, c.n), plan->real);
  c.u = lapack_at(c.u, i, c.m * batch->columns, plan->dtype);
  c.vt = lapack_at(c.vt, i, (int64_t)plan->k * c.n, plan->dtype);
  c.info += i;
  c.work = lapack_at(c.work, worker, c.size, plan->dtype);
  c.real_work = lapack_at(c.real_work, worker, batch->reals, plan->real);
  c.ints = lapack_at(c.ints, worker, batch->ints, HR_S32);
  call_svd(plan, &c);
}

/* A matrix without rows or columns has no singular values: results stay zeros. */
static hr_status_t run_gesdd(op_env_t *env, const op_step_t *step, hlo_value_t *const *in,
                             hlo_value_t **out_value) {
  const lapack_plan_t *plan = step->plan;
  lapack_run_t run;
  void *a, *s, *u, *vt, *info;
  svd_call_t c = {.divide = !target_has(step, "gesvd"), .m = plan->m, .n = plan->n};
  HR_TRY(lapack_run_init(env, step, in, &run));
  HR_TRY(lapack_load_into(&run, 0, SVD_A, &a));
  HR_TRY(lapack_new_result(&run, SVD_S, &s));
  HR_TRY(lapack_new_result(&run, SVD_U, &u));
  HR_TRY(lapack_new_result(&run, SVD_VT, &vt));
  HR_TRY(lapack_new_result(&run, SVD_INFO, &info));
  if (c.m == 0 || c.n == 0 || plan->batch == 0) return lapack_finish(&run, out_value);
  HR_TRY(svd_mode(&run, &c.mode));
  int64_t columns = custom_result_shape(step->out_shape, SVD_U)->dims[plan->batch_rank + 1];
  c.u_rows = c.m;
  c.vt_rows = plan->k;
  c.a = a;
  c.s = s;
  c.u = u;
  c.vt = vt;
  c.info = info;
  HR_TRY(svd_spaces(&run, &c));
  svd_batch_t batch = {plan, c, columns, svd_reals(&c), svd_ints(&c)};
  lapack_batch(&run, 10.0 * c.m * c.n * (int)hr_min(c.m, c.n), call_svd_of_batch, &batch);
  return lapack_finish(&run, out_value);
}

const op_kernel_t custom_gesdd = {prepare_gesdd, run_gesdd};
