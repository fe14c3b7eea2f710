/* getrf (LU with partial pivoting) by lu.h, for LAPACK's custom call. Many matrices are distributed
 * over the workers; for few, the workers share each matrix (native_matrices_t). */
#include <string.h>

#include "base/arith.h"
#include "ops/kernels/linalg/batched_small.h"
#include "ops/kernels/linalg/lu.h"
#include "ops/kernels/linalg/native_linalg.h"

extern const op_kernel_t custom_getrf;

typedef struct lu_native {
  native_matrices_t matrices;
  hr_dtype_t dtype;
  int64_t batch, m, n;
  const batched_small_loops_t *batched; /* NULL: matrices one by one */
} lu_native_t;

typedef struct lu_native_run {
  const lu_native_t *plan;
  char *a;
  int32_t *pivots, *info;
} lu_native_run_t;

static void factor_matrix(const void *context, int64_t i, hr_workers_t *workers, char *memory,
                          char *space) {
  const lu_native_run_t *r = context;
  const lu_native_t *p = r->plan;
  int64_t fewer = p->m < p->n ? p->m : p->n;
  lu_matrix_t matrix = {p->dtype, p->m,
                        p->n,     r->a + i * p->m * p->n * (int64_t)hr_dtype_bytes(p->dtype),
                        p->n,     r->pivots + i * fewer};
  (void)memory;
  r->info[i] = (int32_t)lu_factor(workers, &matrix, space, p->matrices.worker_bytes);
}

/* Factors `lanes` interleaved matrices; groups with a zero pivot are factored one by one. */
static void factor_group(const void *context, int64_t group, hr_workers_t *workers, char *memory,
                         char *space) {
  const lu_native_run_t *r = context;
  const lu_native_t *p = r->plan;
  int64_t lanes = p->batched->lanes, first = group * lanes, count = hr_min(p->batch - first, lanes);
  int64_t fewer = hr_min(p->m, p->n), size = p->m * p->n,
          bytes = size * (int64_t)hr_dtype_bytes(p->dtype);
  int32_t *pivots = (int32_t *)(space + lanes * bytes);
  p->batched->load(r->a + first * bytes, size, count, space);
  if (!p->batched->getrf(p->m, p->n, space, pivots)) {
    for (int64_t i = first; i < first + count; i++) factor_matrix(r, i, workers, memory, space);
    return;
  }
  p->batched->store(space, size, count, r->a + first * bytes);
  for (int64_t l = 0; l < count; l++) {
    r->info[first + l] = 0;
    for (int64_t i = 0; i < fewer; i++) r->pivots[(first + l) * fewer + i] = pivots[i * lanes + l];
  }
}

static hr_status_t run_getrf(const op_native_run_t *run, const void *plan_, void *const *in,
                             void *const *out) {
  const lu_native_t *plan = plan_;
  lu_native_run_t r = {plan, out[0], out[1], out[2]};
  if (in[0] != out[0])
    memcpy(out[0], in[0], (size_t)(plan->batch * plan->m * plan->n) * hr_dtype_bytes(plan->dtype));
  native_matrices_run(&plan->matrices, run, plan->batched ? factor_group : factor_matrix, &r);
  return NULL;
}

static size_t plan_matrices(const op_native_target_t *target, double products, lu_native_t *plan) {
  int64_t lanes = plan->batched ? plan->batched->lanes : 1;
  size_t one = lu_space_bytes(plan->dtype, plan->m, plan->n);
  size_t group = (size_t)lanes * ((size_t)(plan->m * plan->n) * hr_dtype_bytes(plan->dtype) +
                                  (size_t)plan->n * sizeof(int32_t));
  return native_matrices_plan(target, hr_div_ceil(plan->batch, lanes), products * (double)lanes, 0,
                              group > one ? group : one, &plan->matrices);
}

/* flops: with f the smaller size, f^2 (m - n / 3) for m > n, 2/3 n^3 for square matrices; the
 * operand's buffer may become the result's. */
static hr_status_t prepare_getrf(const op_native_target_t *target, const op_step_t *step,
                                 op_native_step_t *out) {
  static const uint64_t in_place[] = {1, 0, 0};
  const lapack_plan_t *lapack;
  const hlo_shape_t *a = step->in_shapes[0];
  lu_native_t *plan;
  HR_TRY(native_lapack_check(target, step, &custom_getrf, 2, &lapack));
  if (!lapack || !lapack->batch || !lapack->m || !lapack->n) return NULL;
  HR_TRY(HR_NEW(target->arena, &plan));
  double m = lapack->m, n = lapack->n, fewer = m < n ? m : n;
  plan->dtype = a->dtype;
  plan->batch = lapack->batch;
  plan->m = lapack->m;
  plan->n = lapack->n;
  if (hr_max(plan->m, plan->n) <= BATCHED_FACTOR_SIZE)
    plan->batched = batched_small_find(plan->dtype, plan->batch, plan->m, plan->n);
  out->scratch_bytes = plan_matrices(target, m * n * fewer, plan);
  out->flops = (double)lapack->batch * fewer * fewer * (m > n ? m - n / 3 : n - m / 3);
  out->bytes = 2 * (double)lapack->batch * m * n * (double)hr_dtype_bytes(plan->dtype);
  out->reuse = in_place;
  out->plan = plan;
  return NULL;
}

const op_native_t native_custom_getrf = {"getrf", prepare_getrf, run_getrf};
