/* syevd (Hermitian eigenproblem) and sytrd (reduction alone) for LAPACK's custom calls. The
 * reduction to tridiagonal form is tridiagonal.h, which uses all workers; eigenvalues and vectors
 * of the tridiagonal matrix come from LAPACK (stedc divide and conquer, sterf without vectors);
 * vectors are transformed back by reflectors.h. Matrices whose squares would overflow or underflow
 * are scaled by a power of two first. Small matrices with vectors are solved as a whole
 * (solve_whole), by small_eigen.h or LAPACK's syevd. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "base/dl.h"
#include "ops/kernels/linalg/native_linalg.h"
#include "ops/kernels/linalg/small_eigen.h"
#include "ops/kernels/linalg/tridiagonal.h"

extern const op_kernel_t custom_syevd, custom_sytrd;

typedef struct eigen_native {
  native_matrices_t matrices;
  split_matrix_kind_t kind;
  int64_t n;
  bool vectors; /* compute eigenvectors */
  bool whole;   /* LAPACK's syevd solves the whole problem */
  lapack_fn stedc, sterf, syevd, sytd2;
  /* Byte offsets in a matrix's scratch memory; the reflectors come first. */
  size_t split_at, work_at, diagonal_at, off_diagonal_at, basis_at, reals_at, ints_at;
} eigen_native_t;

typedef struct eigen_run {
  const eigen_native_t *plan;
  const char *in;
  char *a, *diagonal, *off_diagonal, *taus; /* results */
  int32_t *info;
} eigen_run_t;

static char *array_at(const eigen_native_t *p, const char *data, int64_t i, int64_t count) {
  return (char *)data + i * count * p->kind.bytes * p->kind.parts;
}

static reflectors_t lay_out_reflectors(const eigen_native_t *p, char *memory) {
  return reflectors_init(&p->kind, p->n - 1, p->n, 1, memory);
}

/* A split copy of the input, which the reduction destroys. */
static split_matrix_t load_matrix(const eigen_native_t *p, const char *data, char *memory) {
  split_matrix_t a = split_matrix_init(&p->kind, p->n, p->n, memory + p->split_at, true);
  split_matrix_load(&p->kind, data, p->n, p->n, p->n, a);
  return a;
}

/* Largest magnitude in the lower triangle; NaN if there is a NaN or an infinity. */
static double largest_magnitude(const eigen_native_t *p, split_matrix_t a) {
  double most = 0;
  for (int part = 0; part < p->kind.parts; part++)
    for (int64_t i = 0; i < p->n; i++)
      most = split_matrix_largest(&p->kind, split_matrix_at(&p->kind, a, i, 0).part[part], i + 1,
                                  most);
  return most;
}

static void scale_rows(const eigen_native_t *p, split_matrix_t a, double factor) {
  for (int64_t i = 0; i < p->n; i++) {
    split_matrix_t row = split_matrix_at(&p->kind, a, i, 0);
    p->kind.loops->scale(split_matrix_ceil(p->n), row.part[0], row.part[1], factor, 0);
  }
}

/* Eigenvalues, ascending, overwrite the diagonal; vectors are written to `basis` by columns.
 * Returns LAPACK's info. */
static int32_t solve_tridiagonal(const eigen_native_t *p, char *memory) {
  int n = (int)p->n, info = 0, reals = 1 + 4 * n + n * n, ints = 3 + 5 * n;
  void *d = memory + p->diagonal_at, *e = memory + p->off_diagonal_at;
  if (p->vectors)
    p->stedc("I", &n, d, e, memory + p->basis_at, &n, memory + p->reals_at, &reals,
             memory + p->ints_at, &ints, &info, ONE_CHAR);
  else
    p->sterf(&n, d, e, &info);
  return info;
}

static int64_t whole_work(const eigen_native_t *p) { return 1 + 40 * p->n + 2 * p->n * p->n; }

/* Q times the eigenvectors of the tridiagonal matrix, which LAPACK returns by columns. */
static void finish_vectors(const eigen_native_t *p, hr_workers_t *workers, const reflectors_t *r,
                           split_matrix_t a, char *memory, char *space, char *out) {
  split_matrix_kind_t real = p->kind;
  split_matrix_t basis = {{memory + p->basis_at, NULL}, 1, p->n}, result = a;
  real.parts = 1;
  if (p->kind.parts == 1)
    result = (split_matrix_t){{out, NULL}, p->n, 1};
  else
    split_matrix_clear(&p->kind, a, p->n, p->n);
  split_matrix_copy(&real, basis, p->n, p->n, result);
  reflectors_compute_triangles(workers, r);
  reflectors_apply(workers, r, REFLECTORS_LEFT, false, result, p->n, space);
  if (p->kind.parts == 2) split_matrix_store(&p->kind, result, p->n, p->n, out, p->n);
}

/* Largest size for which LAPACK solves the whole problem with vectors: rounding in another order
 * would sometimes flip the sign of a vector relative to LAPACK's. */
#define WHOLE_SIZE 25

/* A small real matrix. False: it is left to the other algorithms. */
static bool solve_small(const eigen_run_t *run, int64_t i) {
  const eigen_native_t *p = run->plan;
  if (p->kind.parts != 1 || p->n > SMALL_EIGEN_SIZE) return false;
  run->info[i] = 0;
  return small_eigen(p->kind.dtype == HR_F64, p->sytd2, (int)p->n,
                     array_at(p, run->in, i, p->n * p->n), run->diagonal + i * p->n * p->kind.bytes,
                     p->vectors ? array_at(p, run->a, i, p->n * p->n) : NULL);
}

static void solve_whole(const void *context, int64_t i, hr_workers_t *workers, char *memory,
                        char *space) {
  const eigen_run_t *run = context;
  const eigen_native_t *p = run->plan;
  int n = (int)p->n, size = (int)whole_work(p), reals = 1 + 5 * n + 2 * n * n, ints = 3 + 5 * n,
      info = 0;
  void *values = run->diagonal + i * p->n * p->kind.bytes, *a = memory + p->split_at,
       *work = memory + p->work_at;
  void *real_work = memory + p->reals_at, *int_work = memory + p->ints_at;
  (void)workers, (void)space;
  if (solve_small(run, i)) return;
  native_transpose_small(p->kind.dtype, array_at(p, run->in, i, p->n * p->n), p->n, p->n, a);
  if (p->kind.parts == 2)
    p->syevd("V", "L", &n, a, &n, values, work, &size, real_work, &reals, int_work, &ints, &info,
             ONE_CHAR, ONE_CHAR);
  else
    p->syevd("V", "L", &n, a, &n, values, work, &size, int_work, &ints, &info, ONE_CHAR, ONE_CHAR);
  native_transpose_small(p->kind.dtype, a, p->n, p->n, array_at(p, run->a, i, p->n * p->n));
  run->info[i] = info;
}

/* One eigenproblem: scale, reduce, solve the tridiagonal problem, undo the scale, transform
 * back. */
static void solve_matrix(const void *context, int64_t i, hr_workers_t *workers, char *memory,
                         char *space) {
  const eigen_run_t *run = context;
  const eigen_native_t *p = run->plan;
  if (solve_small(run, i)) return;
  split_matrix_t a = load_matrix(p, array_at(p, run->in, i, p->n * p->n), memory);
  reflectors_t r = lay_out_reflectors(p, memory);
  double most = largest_magnitude(p, a), factor = split_matrix_scale_factor(&p->kind, most);
  split_matrix_t values = {{run->diagonal + i * p->n * p->kind.bytes, NULL}, p->n, 1};
  if (!isfinite(most)) { /* LAPACK's code for an invalid fourth argument */
    run->info[i] = -4;
    return;
  }
  if (factor != 1) scale_rows(p, a, factor);
  tridiagonal_reduce(workers, &r, a, memory + p->diagonal_at, memory + p->off_diagonal_at,
                     memory + p->work_at, space);
  run->info[i] = solve_tridiagonal(p, memory);
  memcpy(values.part[0], memory + p->diagonal_at, (size_t)(p->n * p->kind.bytes));
  for (int64_t k = 0; k < p->n && factor != 1; k++)
    split_matrix_set(&p->kind, values, 0, k, split_matrix_get(&p->kind, values, 0, k) / factor);
  if (p->vectors)
    finish_vectors(p, workers, &r, a, memory, space, array_at(p, run->a, i, p->n * p->n));
}

static hr_status_t run_syevd(const op_native_run_t *run, const void *plan, void *const *in,
                             void *const *out) {
  eigen_run_t r = {.plan = plan, .in = in[0], .a = out[0], .diagonal = out[1], .info = out[2]};
  native_matrices_run(&r.plan->matrices, run, r.plan->whole ? solve_whole : solve_matrix, &r);
  return NULL;
}

/* --- reduction only --- */

/* sytrd's output: vectors below the subdiagonal, the tridiagonal elements, and the input above. */
static void reduce_matrix(const void *context, int64_t i, hr_workers_t *workers, char *memory,
                          char *space) {
  const eigen_run_t *run = context;
  const eigen_native_t *p = run->plan;
  const split_matrix_kind_t *kind = &p->kind;
  int64_t n = p->n;
  const char *in = array_at(p, run->in, i, n * n);
  char *d = run->diagonal + i * n * kind->bytes, *e = run->off_diagonal + i * (n - 1) * kind->bytes;
  split_matrix_t a = load_matrix(p, in, memory), reals[2] = {{{d, NULL}, n, 1}, {{e, NULL}, n, 1}};
  reflectors_t r = lay_out_reflectors(p, memory);
  tridiagonal_reduce(workers, &r, a, d, e, memory + p->work_at, space);
  split_matrix_copy(kind, split_matrix_transposed(r.vectors), n, n - 1, a);
  for (int64_t row = 0; row < n; row++) {
    split_matrix_load(kind, array_at(p, in, row * n + row, 1), n, 1, n - row,
                      split_matrix_at(kind, a, row, row));
    split_matrix_set(kind, a, row, row, split_matrix_get(kind, reals[0], 0, row));
    if (row) split_matrix_set(kind, a, row, row - 1, split_matrix_get(kind, reals[1], 0, row - 1));
  }
  split_matrix_store(kind, a, n, n, array_at(p, run->a, i, n * n), n);
  split_matrix_store(kind, r.taus, 1, n - 1, array_at(p, run->taus, i, n - 1), n);
  run->info[i] = 0;
}

static hr_status_t run_sytrd(const op_native_run_t *run, const void *plan, void *const *in,
                             void *const *out) {
  eigen_run_t r = {plan, in[0], out[0], out[1], out[2], out[3], out[4]};
  native_matrices_run(&r.plan->matrices, run, reduce_matrix, &r);
  return NULL;
}

/* --- planning --- */

static bool find_eigen_routines(eigen_native_t *plan) {
  return native_lapack_find(plan->kind.real, "", "stedc_", (void **)&plan->stedc) &&
         native_lapack_find(plan->kind.real, "", "sterf_", (void **)&plan->sterf) &&
         native_lapack_find(plan->kind.real, "", "sytd2_", (void **)&plan->sytd2);
}

static size_t plan_whole_memory(eigen_native_t *plan) {
  size_t total = 0, n = (size_t)plan->n, bytes = hr_dtype_bytes(plan->kind.dtype);
  plan->split_at = scratch_reserve(&total, n * n * bytes);
  plan->work_at = scratch_reserve(&total, (size_t)whole_work(plan) * bytes);
  plan->reals_at = scratch_reserve(&total, (1 + 5 * n + 2 * n * n) * (size_t)plan->kind.bytes);
  plan->ints_at = scratch_reserve(&total, (3 + 5 * n) * sizeof(int32_t));
  return total;
}

/* Lays out a matrix's scratch memory. solves: true for syevd, false for the reduction only. */
static size_t plan_memory(eigen_native_t *plan, bool solves) {
  size_t total = 0, n = (size_t)plan->n, bytes = (size_t)plan->kind.bytes;
  if (plan->whole) return plan_whole_memory(plan);
  scratch_reserve(&total, reflectors_bytes(&plan->kind, plan->n - 1, plan->n));
  plan->split_at = scratch_reserve(&total, split_matrix_bytes(&plan->kind, plan->n, plan->n));
  plan->work_at = scratch_reserve(&total, tridiagonal_bytes(&plan->kind, plan->n));
  if (!solves) return total;
  plan->diagonal_at = scratch_reserve(&total, n * bytes);
  plan->off_diagonal_at = scratch_reserve(&total, n * bytes);
  plan->basis_at = scratch_reserve(&total, plan->vectors ? n * n * bytes : 0);
  plan->reals_at = scratch_reserve(&total, plan->vectors ? (1 + 4 * n + n * n) * bytes : 0);
  plan->ints_at = scratch_reserve(&total, (3 + 5 * n) * sizeof(int32_t));
  return total;
}

/* Only uplo L is native; custom_eigen.c calls LAPACK for other calls. Products: the reduction takes
 * 4/3 n^3 flops, vectors with their transformation about 4 n^3. */
static hr_status_t plan_eigen(const op_native_target_t *target, const op_step_t *step,
                              const op_kernel_t *kernel, int results, op_native_step_t *out) {
  const lapack_plan_t *lapack;
  eigen_native_t *plan;
  bool solves = kernel == &custom_syevd;
  HR_TRY(native_lapack_check(target, step, kernel, 2, &lapack));
  if (!lapack || lapack->batch == 0 || lapack->n < 2 ||
      mlir_dict_int(lapack->options, "uplo", 0) != 'L' ||
      custom_result_count(step->out_shape) != results)
    return NULL;
  HR_TRY(HR_NEW(target->arena, &plan));
  if (!split_matrix_kind(lapack->dtype, &plan->kind) || (solves && !find_eigen_routines(plan)))
    return NULL;
  plan->n = lapack->n;
  plan->vectors = mlir_dict_int(lapack->options, "mode", 0) == 'V';
  plan->whole = solves && plan->vectors && plan->n <= WHOLE_SIZE;
  plan->syevd = lapack->routine;
  double n = (double)plan->n, products = n * n * n * (plan->vectors ? 4 : 4.0 / 3) / 2;
  size_t bytes = plan_memory(plan, solves);
  size_t space = plan->whole ? 0 : reflectors_space_bytes(&plan->kind);
  out->scratch_bytes =
      native_matrices_plan(target, lapack->batch, products, bytes, space, &plan->matrices);
  out->flops = 2 * (double)lapack->batch * products;
  out->bytes = 2 * (double)lapack->batch * n * n * (double)hr_dtype_bytes(lapack->dtype);
  out->plan = plan;
  return NULL;
}

static hr_status_t prepare_syevd(const op_native_target_t *target, const op_step_t *step,
                                 op_native_step_t *out) {
  static const uint64_t in_place[] = {1, 0, 0};
  out->reuse = in_place;
  out->nondeterministic_results = 1; /* the vectors */
  return plan_eigen(target, step, &custom_syevd, 3, out);
}

static hr_status_t prepare_sytrd(const op_native_target_t *target, const op_step_t *step,
                                 op_native_step_t *out) {
  out->nondeterministic_results =
      1 | 1 << 1 | 1 << 2 | 1 << 3; /* the tridiagonal form is not unique */
  return plan_eigen(target, step, &custom_sytrd, 5, out);
}

const op_native_t native_custom_syevd = {"syevd", prepare_syevd, run_syevd};
const op_native_t native_custom_sytrd = {"sytrd", prepare_sytrd, run_sytrd};
