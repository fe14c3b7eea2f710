/* LAPACK custom calls for eigenvalues: syevd, geev, gees, gehrd, sytrd. Operands and results are
 * listed above each; B is the batch, one call of the routine per matrix: syevd divides the batch
 * among the workers, the others run on the caller's thread.
 *
 * Each call has three parts, as in custom_factor.c and custom_svd.c:
 *   prepare_x   checks operand and result shapes and the options against the form of the call
 *   x_spaces    asks the routine for its workspace (LWORK = -1) and reserves it in step scratch
 *   run_x       loads the operands column-major, calls the routine per matrix, returns the results
 *
 * Matrices that are empty, and empty batches, are not passed to LAPACK: some routines refuse n =
 * 0. Signs and phases of eigenvectors are those of the LAPACK in use. */
#include <math.h>
#include <string.h>

#include "ops/kernels/custom/custom_lapack.h"

/* syevd, heevd: a[B,n,n] -> v[B,n,n], w real[B,n], info[B] (, workspaces); mode V or N, uplo. Old:
 * lower, batch, n,
 * a. */
static hr_status_t prepare_syevd(hr_arena_t *arena, const op_step_t *step, const void **out_plan) {
  static const lapack_form_t form = {3, 1, 0, 2, {"syevd", "heevd"}};
  lapack_plan_t *plan;
  HR_TRY(lapack_begin(arena, step, &form, &plan));
  HR_TRY(lapack_check_operand(step, plan, 0, plan->dtype, 2, plan->n, plan->n));
  HR_TRY(lapack_check_result(step, plan, 0, plan->dtype, 2, plan->n, plan->n));
  HR_TRY(lapack_check_result(step, plan, 1, plan->real, 1, plan->n, 0));
  HR_TRY(lapack_check_result(step, plan, 2, HR_S32, 0, 0, 0));
  HR_TRY(lapack_check_char_option(step, plan, "mode", "VN"));
  *out_plan = plan;
  return lapack_check_char_option(step, plan, "uplo", "LU");
}

/* Arguments of one call of syevd or heevd; sizes are in elements of their workspace's type. */
typedef struct eigen_call {
  char mode, uplo;
  int n, size, real_size, int_size;
  void *a, *w, *work, *real_work, *ints;
  int32_t *info;
} eigen_call_t;

/* Shared by the workers: each copies `first` and moves its pointers to its matrix. */
typedef struct eigen_batch {
  const lapack_plan_t *plan;
  eigen_call_t first; /* call for matrix 0 by worker 0 */
} eigen_batch_t;

/* Complex routines (heevd) have an additional real workspace. The hidden lengths of the two
 * characters come last, by Fortran's calling convention. */
static void call_syevd(const lapack_plan_t *plan, eigen_call_t *c) {
  if (plan->is_complex)
    plan->routine(&c->mode, &c->uplo, &c->n, c->a, &c->n, c->w, c->work, &c->size, c->real_work,
                  &c->real_size, c->ints, &c->int_size, c->info, ONE_CHAR, ONE_CHAR);
  else
    plan->routine(&c->mode, &c->uplo, &c->n, c->a, &c->n, c->w, c->work, &c->size, c->ints,
                  &c->int_size, c->info, ONE_CHAR, ONE_CHAR);
}

/* The sizes of LAPACK's documentation for mode V, which are enough for N, unless the query asks for
 * more. */
static hr_status_t syevd_spaces(const lapack_run_t *run, eigen_call_t *c) {
  int64_t n = c->n, reals = 1 + 5 * n + 2 * n * n;
  double query[2], real_query[2];
  int32_t int_query[1];
  if (reals > INT32_MAX / 2)
    return hlo_unsupported(run->step->instr, "a matrix of size %ld", (long)n);
  c->size = -1;
  c->real_size = -1;
  c->int_size = -1;
  c->work = query;
  c->real_work = real_query;
  c->ints = int_query;
  call_syevd(run->plan, c);
  HR_TRY(lapack_queried(run, query, run->plan->is_complex ? 2 * n + n * n : 1 + 6 * n + 2 * n * n,
                        &c->size, &c->work));
  c->real_size = (int)reals;
  c->int_size = (int)(3 + 5 * n);
  HR_TRY(lapack_space(run, run->real, c->real_size, &c->real_work));
  return lapack_space(run, HR_S32, c->int_size, &c->ints);
}

/* Matrix i with the workspaces of its worker. */
static void call_syevd_of_batch(const void *call, int64_t i, int worker) {
  const eigen_batch_t *batch = call;
  const lapack_plan_t *plan = batch->plan;
  eigen_call_t c = batch->first;
  c.a = lapack_at(c.a, i, (int64_t)c.n * c.n, plan->dtype);
  c.w = lapack_at(c.w, i, c.n, plan->real);
  c.info += i;
  c.work = lapack_at(c.work, worker, c.size, plan->dtype);
  c.real_work = lapack_at(c.real_work, worker, c.real_size, plan->real);
  c.ints = lapack_at(c.ints, worker, c.int_size, HR_S32);
  call_syevd(plan, &c);
}

/* The operand is loaded into result 0, in which the routine returns the eigenvectors. The old form
 * always returns vectors, so its mode is V. The cost estimate of 10 n^3 determines how many
 * matrices are a task. */
static hr_status_t run_syevd(op_env_t *env, const op_step_t *step, hlo_value_t *const *in,
                             hlo_value_t **out_value) {
  const lapack_plan_t *plan = step->plan;
  lapack_run_t run;
  void *a, *w, *info;
  int n = plan->n;
  HR_TRY(lapack_run_init(env, step, in, &run));
  HR_TRY(lapack_load_into(&run, 0, 0, &a));
  HR_TRY(lapack_new_result(&run, 1, &w));
  HR_TRY(lapack_new_result(&run, 2, &info));
  if (n == 0 || plan->batch == 0) return lapack_finish(&run, out_value);
  eigen_call_t c = {.mode = 'V', .n = n, .a = a, .w = w, .info = info};
  c.uplo = lapack_uplo(&run, 0);
  if (!plan->scalars) c.mode = lapack_char_option(&run, "mode");
  HR_TRY(syevd_spaces(&run, &c));
  eigen_batch_t batch = {plan, c};
  lapack_batch(&run, 10.0 * n * n * n, call_syevd_of_batch, &batch);
  return lapack_finish(&run, out_value);
}

const op_kernel_t custom_syevd = {prepare_syevd, run_syevd};

/* geev: a[B,n,n] -> real: wr, wi real[B,n], complex: w[B,n]; then vl, vr complex[B,n,n], info[B];
 * compute_left, compute_right V or N. Old: batch, n, jobvl, jobvr, a, and workspaces before the
 * other results. */
enum { EV_W, EV_WI, EV_VL, EV_VR, EV_INFO };

/* Real matrices have eigenvalues in two arrays, real and imaginary parts; complex ones in one
 * array, which shifts the later roles. */
static hr_status_t prepare_geev(hr_arena_t *arena, const op_step_t *step, const void **out_plan) {
  static const lapack_form_t form = {4, 1, 0, 2, {"geev", "geev"}};
  lapack_plan_t *plan;
  HR_TRY(lapack_begin(arena, step, &form, &plan));
  hr_dtype_t complex_ = plan->is_double ? HR_C128 : HR_C64;
  int workspaces = plan->is_complex ? 2 : 3;
  int skipped = plan->scalars ? workspaces : 0;
  int n = plan->n;
  for (int role = 0; role < LAPACK_ROLES; role++)
    plan->results[role] = role + skipped - (plan->is_complex && role >= EV_WI);
  HR_TRY(lapack_check_operand(step, plan, 0, plan->dtype, 2, n, n));
  HR_TRY(lapack_check_result(step, plan, EV_W, plan->dtype, 1, n, 0));
  if (!plan->is_complex) HR_TRY(lapack_check_result(step, plan, EV_WI, plan->dtype, 1, n, 0));
  HR_TRY(lapack_check_result(step, plan, EV_VL, complex_, 2, n, n));
  HR_TRY(lapack_check_result(step, plan, EV_VR, complex_, 2, n, n));
  HR_TRY(lapack_check_result(step, plan, EV_INFO, HR_S32, 0, 0, 0));
  HR_TRY(lapack_check_char_option(step, plan, "compute_left", "VN"));
  *out_plan = plan;
  return lapack_check_char_option(step, plan, "compute_right", "VN");
}

/* Arguments of one call; the routine writes vl and vr: packed reals for a real matrix, complex
 * vectors for a complex one. */
typedef struct geev_call {
  char left, right;
  int n, size;
  void *a, *w, *wi, *vl, *vr, *work, *real_work;
  int32_t *info;
} geev_call_t;

/* Complex routines have a real workspace instead of wi. */
static void call_geev(const lapack_plan_t *plan, geev_call_t *c) {
  if (plan->is_complex)
    plan->routine(&c->left, &c->right, &c->n, c->a, &c->n, c->w, c->vl, &c->n, c->vr, &c->n,
                  c->work, &c->size, c->real_work, c->info, ONE_CHAR, ONE_CHAR);
  else
    plan->routine(&c->left, &c->right, &c->n, c->a, &c->n, c->w, c->wi, c->vl, &c->n, c->vr, &c->n,
                  c->work, &c->size, c->info, ONE_CHAR, ONE_CHAR);
}

/* geev may not terminate for a matrix with a NaN: such a matrix gets info -4, as in JAX, without a
 * call. */
static bool all_finite(const lapack_plan_t *plan, const void *data, int64_t count) {
  count *= plan->is_complex ? 2 : 1;
  for (int64_t i = 0; i < count; i++)
    if (!isfinite(plan->is_double ? ((const double *)data)[i] : ((const float *)data)[i]))
      return false;
  return true;
}

/* Real geev returns the vectors of a conjugate pair as (real part, imaginary part) in two columns.
 * Expands them to interleaved complex columns. Column j belongs to a real eigenvalue (wi = 0), or
 * to the first of a pair, whose imaginary parts are column j + 1. Results are column-major, so a
 * column is contiguous.
 *
 *   packed columns      j: re          j + 1: im
 *   complex columns     j: re + i im   j + 1: re - i im */
#define UNPACK(T)                                                          \
  for (int j = 0; j < n; j++) {                                            \
    const T *re = (const T *)packed + (int64_t)j * n,                      \
            *imag = ((const T *)wi)[j] == 0 || j + 1 == n ? NULL : re + n; \
    T *to = (T *)vectors + 2 * (int64_t)j * n;                             \
    for (int i = 0; i < n; i++) {                                          \
      to[2 * i] = re[i];                                                   \
      to[2 * i + 1] = imag ? imag[i] : 0;                                  \
      if (!imag) continue;                                                 \
      to[2 * (n + i)] = re[i];                                             \
      to[2 * (n + i) + 1] = -imag[i];                                      \
    }                                                                      \
    if (imag) j++;                                                         \
  }

/* Calls UNPACK for the real type of the matrices. */
static void unpack_vectors(const lapack_plan_t *plan, const void *packed, const void *wi,
                           void *vectors) {
  int n = plan->n;
  if (plan->is_double)
    UNPACK(double)
  else
    UNPACK(float)
}

/* One matrix; vl and vr are the complex vectors of the result, those of `c` are what the routine
 * writes. */
static void geev_one(const lapack_plan_t *plan, geev_call_t *c, void *vl, void *vr) {
  if (!all_finite(plan, c->a, (int64_t)c->n * c->n)) {
    *c->info = -4;
    return;
  }
  if (plan->is_complex) {
    c->vl = vl;
    c->vr = vr;
  }
  call_geev(plan, c);
  if (plan->is_complex) return;
  if (c->left == 'V') unpack_vectors(plan, c->vl, c->wi, vl);
  if (c->right == 'V') unpack_vectors(plan, c->vr, c->wi, vr);
}

/* Workspaces of one matrix at a time; vl and vr hold the packed vectors of real matrices. */
static hr_status_t geev_spaces(const lapack_run_t *run, geev_call_t *c) {
  int64_t n = c->n;
  double query[2];
  HR_TRY(lapack_space(run, run->real, 2 * n, &c->real_work));
  HR_TRY(lapack_space(run, run->dtype, n * n, &c->vl));
  HR_TRY(lapack_space(run, run->dtype, n * n, &c->vr));
  c->size = -1;
  c->work = query;
  call_geev(run->plan, c);
  return lapack_queried(run, query, 4 * n, &c->size, &c->work);
}

/* The routine overwrites its matrix, which is no result here: lapack_load returns a copy in scratch
 * memory. */
static hr_status_t run_geev(op_env_t *env, const op_step_t *step, hlo_value_t *const *in,
                            hlo_value_t **out_value) {
  const lapack_plan_t *plan = step->plan;
  lapack_run_t run;
  void *a, *w, *wi = NULL, *vl, *vr, *info;
  int n = plan->n;
  hr_dtype_t complex_ = plan->is_double ? HR_C128 : HR_C64;
  HR_TRY(lapack_run_init(env, step, in, &run));
  HR_TRY(lapack_load(&run, 0, &a));
  HR_TRY(lapack_new_result(&run, EV_W, &w));
  if (!plan->is_complex) HR_TRY(lapack_new_result(&run, EV_WI, &wi));
  HR_TRY(lapack_new_result(&run, EV_VL, &vl));
  HR_TRY(lapack_new_result(&run, EV_VR, &vr));
  HR_TRY(lapack_new_result(&run, EV_INFO, &info));
  if (n == 0 || plan->batch == 0) return lapack_finish(&run, out_value);
  geev_call_t c = {.n = n, .a = a, .w = w, .wi = wi, .info = info};
  c.left = lapack_vectors_mode(&run, 2, "compute_left");
  c.right = lapack_vectors_mode(&run, 3, "compute_right");
  HR_TRY(geev_spaces(&run, &c));
  for (int64_t i = 0; i < plan->batch; i++) {
    int64_t size = (int64_t)n * n;
    c.a = lapack_at(a, i, size, run.dtype);
    c.w = lapack_at(w, i, n, run.dtype);
    c.info = (int32_t *)info + i;
    if (wi) c.wi = lapack_at(wi, i, n, run.dtype);
    geev_one(plan, &c, lapack_at(vl, i, size, complex_), lapack_at(vr, i, size, complex_));
  }
  return lapack_finish(&run, out_value);
}

const op_kernel_t custom_geev = {prepare_geev, run_geev};

/* gees: a[B,n,n] -> t, vs [B,n,n], real: wr, wi [B,n], complex: w[B,n]; then sdim[B], info[B]; mode
 * V or N, sort N. Old: batch, n, jobvs, sort, a -> t (, rwork if complex), wr, wi or w, vs, sdim,
 * info. */
enum { ES_T, ES_VS, ES_W, ES_WI, ES_SDIM, ES_INFO };

/* Results by role in the typed and the old form, real and complex. */
static void place_gees_results(lapack_plan_t *plan) {
  static const int typed[2][LAPACK_ROLES] = {{0, 1, 2, 3, 4, 5}, {0, 1, 2, -1, 3, 4}};
  static const int old[2][LAPACK_ROLES] = {{0, 3, 1, 2, 4, 5}, {0, 3, 2, -1, 4, 5}};
  memcpy(plan->results, (plan->scalars ? old : typed)[plan->is_complex], sizeof plan->results);
}

/* Schur form; sorting is not supported, as it calls back into the program. */
static hr_status_t prepare_gees(hr_arena_t *arena, const op_step_t *step, const void **out_plan) {
  static const lapack_form_t form = {4, 1, 0, 2, {"gees", "gees"}};
  lapack_plan_t *plan;
  HR_TRY(lapack_begin(arena, step, &form, &plan));
  int n = plan->n;
  place_gees_results(plan);
  HR_TRY(lapack_check_operand(step, plan, 0, plan->dtype, 2, n, n));
  HR_TRY(lapack_check_result(step, plan, ES_T, plan->dtype, 2, n, n));
  HR_TRY(lapack_check_result(step, plan, ES_VS, plan->dtype, 2, n, n));
  HR_TRY(lapack_check_result(step, plan, ES_W, plan->dtype, 1, n, 0));
  if (!plan->is_complex) HR_TRY(lapack_check_result(step, plan, ES_WI, plan->dtype, 1, n, 0));
  HR_TRY(lapack_check_result(step, plan, ES_SDIM, HR_S32, 0, 0, 0));
  HR_TRY(lapack_check_result(step, plan, ES_INFO, HR_S32, 0, 0, 0));
  HR_TRY(lapack_check_char_option(step, plan, "mode", "VN"));
  *out_plan = plan;
  return lapack_check_char_option(step, plan, "sort", "N");
}

/* Arguments of one call; `flags` is the logical workspace of sorting, which LAPACK needs even if
 * nothing is sorted. */
typedef struct gees_call {
  char mode, sort;
  int n, size;
  void *a, *vs, *w, *wi, *work, *real_work, *flags;
  int32_t *sdim, *info;
} gees_call_t;

/* Without a selection function. LAPACK ignores the pointer if SORT is N. */
static void call_gees(const lapack_plan_t *plan, gees_call_t *c) {
  if (plan->is_complex)
    plan->routine(&c->mode, &c->sort, NULL, &c->n, c->a, &c->n, c->sdim, c->w, c->vs, &c->n,
                  c->work, &c->size, c->real_work, c->flags, c->info, ONE_CHAR, ONE_CHAR);
  else
    plan->routine(&c->mode, &c->sort, NULL, &c->n, c->a, &c->n, c->sdim, c->w, c->wi, c->vs, &c->n,
                  c->work, &c->size, c->flags, c->info, ONE_CHAR, ONE_CHAR);
}

/* Real routines have no additional real workspace, but n reals are reserved for both types. */
static hr_status_t gees_spaces(const lapack_run_t *run, gees_call_t *c) {
  double query[2];
  HR_TRY(lapack_space(run, run->real, c->n, &c->real_work));
  HR_TRY(lapack_space(run, HR_S32, c->n, &c->flags));
  c->size = -1;
  c->work = query;
  call_gees(run->plan, c);
  return lapack_queried(run, query, 3 * (int64_t)c->n, &c->size, &c->work);
}

/* The Schur form replaces the operand (ES_T). sdim stays 0, as nothing is sorted. */
static hr_status_t run_gees(op_env_t *env, const op_step_t *step, hlo_value_t *const *in,
                            hlo_value_t **out_value) {
  const lapack_plan_t *plan = step->plan;
  lapack_run_t run;
  void *a, *vs, *w, *wi = NULL, *sdim, *info;
  int n = plan->n;
  HR_TRY(lapack_run_init(env, step, in, &run));
  HR_TRY(lapack_load_into(&run, 0, ES_T, &a));
  HR_TRY(lapack_new_result(&run, ES_VS, &vs));
  HR_TRY(lapack_new_result(&run, ES_W, &w));
  if (!plan->is_complex) HR_TRY(lapack_new_result(&run, ES_WI, &wi));
  HR_TRY(lapack_new_result(&run, ES_SDIM, &sdim));
  HR_TRY(lapack_new_result(&run, ES_INFO, &info));
  if (n == 0 || plan->batch == 0) return lapack_finish(&run, out_value);
  gees_call_t c = {
      .sort = 'N', .n = n, .a = a, .vs = vs, .w = w, .wi = wi, .sdim = sdim, .info = info};
  c.mode = lapack_vectors_mode(&run, 2, "mode");
  HR_TRY(gees_spaces(&run, &c));
  for (int64_t i = 0; i < plan->batch; i++) {
    int64_t size = (int64_t)n * n;
    c.a = lapack_at(a, i, size, run.dtype);
    c.vs = lapack_at(vs, i, size, run.dtype);
    c.w = lapack_at(w, i, n, run.dtype);
    c.sdim = (int32_t *)sdim + i;
    c.info = (int32_t *)info + i;
    if (wi) c.wi = lapack_at(wi, i, n, run.dtype);
    call_gees(plan, &c);
  }
  return lapack_finish(&run, out_value);
}

const op_kernel_t custom_gees = {prepare_gees, run_gees};

/* gehrd: a[B,n,n] -> a, tau[B,n-1], info[B] (, work); low, high. Old: n, ilo, ihi, lda, batch,
 * lwork, a. */
static hr_status_t prepare_gehrd(hr_arena_t *arena, const op_step_t *step, const void **out_plan) {
  static const lapack_form_t form = {6, 1, 0, 2, {"gehrd", "gehrd"}};
  lapack_plan_t *plan;
  HR_TRY(lapack_begin(arena, step, &form, &plan));
  int n = plan->n;
  HR_TRY(lapack_check_operand(step, plan, 0, plan->dtype, 2, n, n));
  HR_TRY(lapack_check_result(step, plan, 0, plan->dtype, 2, n, n));
  HR_TRY(lapack_check_result(step, plan, 1, plan->dtype, 1, n ? n - 1 : 0, 0));
  HR_TRY(lapack_check_result(step, plan, 2, HR_S32, 0, 0, 0));
  *out_plan = plan;
  return NULL;
}

/* Rows low to high, counted from 1, are reduced; rows outside are assumed to be triangular
 * already. */
static hr_status_t gehrd_range(const lapack_run_t *run, int *low, int *high) {
  const lapack_plan_t *plan = run->plan;
  int64_t first = plan->scalars ? lapack_scalar(run, 1) : mlir_dict_int(plan->options, "low", 1);
  int64_t last =
      plan->scalars ? lapack_scalar(run, 2) : mlir_dict_int(plan->options, "high", plan->n);
  if (first < 1 || last > plan->n || first > last)
    return hlo_error(run->step->instr, NULL, "rows %ld to %ld of %d", (long)first, (long)last,
                     plan->n);
  *low = (int)first;
  *high = (int)last;
  return NULL;
}

/* The workspace is queried with the first matrix: the answer depends on the sizes only. LAPACK
 * writes zeros to entries of tau outside of low .. high. */
static hr_status_t run_gehrd(op_env_t *env, const op_step_t *step, hlo_value_t *const *in,
                             hlo_value_t **out_value) {
  const lapack_plan_t *plan = step->plan;
  lapack_run_t run;
  void *a, *tau, *info, *work;
  int n = plan->n, low, high, size = -1;
  double query[2];
  HR_TRY(lapack_run_init(env, step, in, &run));
  HR_TRY(lapack_load_into(&run, 0, 0, &a));
  HR_TRY(lapack_new_result(&run, 1, &tau));
  HR_TRY(lapack_new_result(&run, 2, &info));
  if (n == 0 || plan->batch == 0) return lapack_finish(&run, out_value);
  HR_TRY(gehrd_range(&run, &low, &high));
  plan->routine(&n, &low, &high, a, &n, tau, query, &size, info);
  HR_TRY(lapack_queried(&run, query, n, &size, &work));
  for (int64_t i = 0; i < plan->batch; i++)
    plan->routine(&n, &low, &high, lapack_at(a, i, (int64_t)n * n, run.dtype), &n,
                  lapack_at(tau, i, n - 1, run.dtype), work, &size, (int32_t *)info + i);
  return lapack_finish(&run, out_value);
}

const op_kernel_t custom_gehrd = {prepare_gehrd, run_gehrd};

/* sytrd, hetrd: a[B,n,n] -> a, d real[B,n], e real[B,n-1], tau[B,n-1], info[B] (, work); uplo.
 * Old: n, lower, lda, batch, lwork, a. */
static hr_status_t prepare_sytrd(hr_arena_t *arena, const op_step_t *step, const void **out_plan) {
  static const lapack_form_t form = {5, 1, 0, 2, {"sytrd", "hetrd"}};
  lapack_plan_t *plan;
  HR_TRY(lapack_begin(arena, step, &form, &plan));
  int n = plan->n, less = n ? n - 1 : 0;
  HR_TRY(lapack_check_operand(step, plan, 0, plan->dtype, 2, n, n));
  HR_TRY(lapack_check_result(step, plan, 0, plan->dtype, 2, n, n));
  HR_TRY(lapack_check_result(step, plan, 1, plan->real, 1, n, 0));
  HR_TRY(lapack_check_result(step, plan, 2, plan->real, 1, less, 0));
  HR_TRY(lapack_check_result(step, plan, 3, plan->dtype, 1, less, 0));
  HR_TRY(lapack_check_result(step, plan, 4, HR_S32, 0, 0, 0));
  *out_plan = plan;
  return lapack_check_char_option(step, plan, "uplo", "LU");
}

/* `a` returns the triangle selected by uplo and the reflectors; d and e are real for both types. */
static hr_status_t run_sytrd(op_env_t *env, const op_step_t *step, hlo_value_t *const *in,
                             hlo_value_t **out_value) {
  const lapack_plan_t *plan = step->plan;
  lapack_run_t run;
  void *a, *d, *e, *tau, *info, *work;
  int n = plan->n, size = -1;
  double query[2];
  HR_TRY(lapack_run_init(env, step, in, &run));
  HR_TRY(lapack_load_into(&run, 0, 0, &a));
  HR_TRY(lapack_new_result(&run, 1, &d));
  HR_TRY(lapack_new_result(&run, 2, &e));
  HR_TRY(lapack_new_result(&run, 3, &tau));
  HR_TRY(lapack_new_result(&run, 4, &info));
  char uplo = lapack_uplo(&run, 1);
  if (n == 0 || plan->batch == 0) return lapack_finish(&run, out_value);
  plan->routine(&uplo, &n, a, &n, d, e, tau, query, &size, info, ONE_CHAR);
  HR_TRY(lapack_queried(&run, query, n, &size, &work));
  for (int64_t i = 0; i < plan->batch; i++)
    plan->routine(&uplo, &n, lapack_at(a, i, (int64_t)n * n, run.dtype), &n,
                  lapack_at(d, i, n, run.real), lapack_at(e, i, n - 1, run.real),
                  lapack_at(tau, i, n - 1, run.dtype), work, &size, (int32_t *)info + i, ONE_CHAR);
  return lapack_finish(&run, out_value);
}

const op_kernel_t custom_sytrd = {prepare_sytrd, run_sytrd};
