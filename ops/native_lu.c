/* getrf by own loops (lu.h): the matrices of a batch are shared out to the workers, or each matrix is. */
#include <string.h>

#include "ops/lu.h"
#include "ops/native_linalg.h"

extern const op_kernel_t custom_getrf;

typedef struct lu_native {
  hr_dtype_t dtype;
  int64_t batch, m, n, grain;
  bool by_matrices;
  int workers;
  size_t space_bytes;
} lu_native_t;

typedef struct lu_native_run {
  const lu_native_t *plan;
  char *a, *space;
  int32_t *pivots, *info;
} lu_native_run_t;

static lu_matrix_t matrix_of(const lu_native_run_t *r, int64_t i) {
  const lu_native_t *p = r->plan;
  int64_t fewer = p->m < p->n ? p->m : p->n;
  return (lu_matrix_t){p->dtype, p->m, p->n, r->a + i * p->m * p->n * (int64_t)hr_dtype_bytes(p->dtype), p->n,
                       r->pivots + i * fewer};
}

static void factor_matrices(void *context, int64_t begin, int64_t end, int worker) {
  const lu_native_run_t *r = context;
  for (int64_t i = begin; i < end; i++) {
    lu_matrix_t matrix = matrix_of(r, i);
    r->info[i] = (int32_t)lu_factor_alone(&matrix, r->space + (size_t)worker * r->plan->space_bytes);
  }
}

static hr_status_t run_getrf(const op_native_run_t *run, const void *plan_, void *const *in, void *const *out) {
  const lu_native_t *plan = plan_;
  hr_workers_t *workers = native_workers(run, plan->workers);
  lu_native_run_t r = {plan, out[0], run->scratch, out[1], out[2]};
  if (in[0] != out[0])
    memcpy(out[0], in[0], (size_t)(plan->batch * plan->m * plan->n) * hr_dtype_bytes(plan->dtype));
  if (plan->by_matrices) {
    hr_workers_split(workers, plan->batch, plan->grain, factor_matrices, &r);
    return NULL;
  }
  for (int64_t i = 0; i < plan->batch; i++) {
    lu_matrix_t matrix = matrix_of(&r, i);
    r.info[i] = (int32_t)lu_factor(workers, &matrix, r.space, plan->space_bytes);
  }
  return NULL;
}

static bool is_by_rows(const hlo_layout_t *layout, int rank) {
  for (int d = 0; layout && d < rank; d++)
    if (layout->minor_to_major.count != rank || layout->minor_to_major.data[d] != rank - 1 - d) return false;
  return true;
}

static hr_status_t prepare_getrf(const op_native_target_t *target, const op_step_t *step, op_native_step_t *out) {
  static const uint64_t in_place[] = {1, 0, 0};
  const lapack_plan_t *lapack;
  const hlo_shape_t *a = step->in_shapes[0];
  lu_native_t *plan;
  HR_TRY(native_lapack_check(target, step, &custom_getrf, 1, &lapack));
  if (!lapack || !lapack->batch || !lapack->m || !lapack->n) return NULL;
  for (int k = 1; k < 3; k++)
    if (!is_by_rows(custom_result_layout(step->instr, k), a->rank - k)) return NULL;
  HR_TRY(HR_NEW(target->arena, &plan));
  double m = a->dims[a->rank - 2], n = a->dims[a->rank - 1], fewer = m < n ? m : n;
  *plan = (lu_native_t){.dtype = a->dtype, .batch = lapack->batch, .m = a->dims[a->rank - 2],
                        .n = a->dims[a->rank - 1], .workers = target->workers};
  plan->by_matrices = plan->batch >= 2 * target->workers || m * n * fewer < 1e5;
  plan->grain = 1 + (int64_t)(100000 / (m * n * fewer));
  plan->space_bytes = lu_space_bytes(plan->dtype, plan->m);
  out->scratch_bytes = plan->space_bytes * (size_t)target->workers;
  out->flops = (double)plan->batch * fewer * fewer * (m > n ? m - n / 3 : n - m / 3);
  out->bytes = 2 * (double)plan->batch * m * n * (double)hr_dtype_bytes(plan->dtype);
  out->reuse = in_place;
  out->plan = plan;
  return NULL;
}

const op_native_t native_custom_getrf = {"getrf", prepare_getrf, run_getrf};
