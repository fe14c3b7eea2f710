/* geqrf, orgqr and ormqr for LAPACK's custom calls, by reflectors.h. Real matrices are factored in
 * place in the result; complex ones are split into real and imaginary parts first and merged after.
 * Batches of small matrices are interleaved over vector lanes (batched_small.h), except for
 * groups with values out of its range. */
#include <string.h>

#include "base/arith.h"
#include "ops/kernels/linalg/batched_small.h"
#include "ops/kernels/linalg/native_linalg.h"
#include "ops/kernels/linalg/reflectors.h"

extern const op_kernel_t custom_geqrf, custom_orgqr, custom_ormqr;

typedef struct qr_native {
  native_matrices_t matrices;
  split_matrix_kind_t kind;
  int64_t batch, m, n;   /* matrices and their sizes */
  int64_t count, length; /* reflectors and their length */
  size_t split_at;       /* offset of the split matrix after the reflectors; complex only */
  bool left, adjoint;
  const batched_small_loops_t *batched; /* NULL: matrices one by one */
} qr_native_t;

typedef struct qr_run {
  const qr_native_t *plan;
  const char *vectors; /* input of orgqr and ormqr */
  char *a, *taus, *info;
} qr_run_t;

static char *array_at(const qr_native_t *p, const char *data, int64_t i, int64_t count) {
  return (char *)data + i * count * p->kind.bytes * p->kind.parts;
}

/* The matrix at `data`, or a split copy of it, which store_matrix writes back. */
static split_matrix_t load_matrix(const qr_native_t *p, char *data, char *memory, bool empty) {
  if (p->kind.parts == 1) return (split_matrix_t){{data, NULL}, p->n, 1};
  split_matrix_t a = split_matrix_init(&p->kind, p->m, p->n, memory + p->split_at, false);
  if (!empty) split_matrix_load(&p->kind, data, p->n, p->m, p->n, a);
  return a;
}

static void store_matrix(const qr_native_t *p, split_matrix_t a, char *data) {
  if (p->kind.parts == 2) split_matrix_store(&p->kind, a, p->m, p->n, data, p->n);
}

static void factor_matrix(const void *context, int64_t i, hr_workers_t *workers, char *memory,
                          char *space) {
  const qr_run_t *run = context;
  const qr_native_t *p = run->plan;
  char *data = array_at(p, run->a, i, p->m * p->n);
  split_matrix_t a = load_matrix(p, data, memory, false);
  reflectors_t r = reflectors_init(&p->kind, p->count, p->length, 0, memory);
  reflectors_factor(workers, &r, a, p->n, space);
  store_matrix(p, a, data);
  split_matrix_store(&p->kind, r.taus, 1, p->count, array_at(p, run->taus, i, p->count), p->count);
}

/* Reflectors from geqrf's output: vectors below a unit diagonal. */
static reflectors_t read_reflectors(const qr_native_t *p, const char *data, int64_t step,
                                    const char *taus, char *memory) {
  reflectors_t r = reflectors_init(&p->kind, p->count, p->length, 0, memory);
  split_matrix_load(&p->kind, data, step, p->length, p->count, split_matrix_transposed(r.vectors));
  for (int64_t i = 0; i < p->count; i++) {
    split_matrix_clear(&p->kind, split_matrix_at(&p->kind, r.vectors, i, 0), 1, i);
    split_matrix_set(&p->kind, r.vectors, i, i, 1);
  }
  split_matrix_load(&p->kind, taus, p->count, 1, p->count, r.taus);
  return r;
}

static void form_matrix(const void *context, int64_t i, hr_workers_t *workers, char *memory,
                        char *space) {
  const qr_run_t *run = context;
  const qr_native_t *p = run->plan;
  char *data = array_at(p, run->a, i, p->m * p->n);
  reflectors_t r = read_reflectors(p, array_at(p, run->vectors, i, p->m * p->n), p->n,
                                   array_at(p, run->taus, i, p->count), memory);
  if (!reflectors_are_few(&r)) reflectors_compute_triangles(workers, &r);
  split_matrix_t q = load_matrix(p, data, memory, true);
  reflectors_form(workers, &r, q, p->n, space);
  store_matrix(p, q, data);
}

static void multiply_matrix(const void *context, int64_t i, hr_workers_t *workers, char *memory,
                            char *space) {
  const qr_run_t *run = context;
  const qr_native_t *p = run->plan;
  char *data = array_at(p, run->a, i, p->m * p->n);
  reflectors_t r = read_reflectors(p, array_at(p, run->vectors, i, p->length * p->count), p->count,
                                   array_at(p, run->taus, i, p->count), memory);
  reflectors_compute_triangles(workers, &r);
  split_matrix_t c = load_matrix(p, data, memory, false);
  reflectors_apply(workers, &r, p->left ? REFLECTORS_LEFT : REFLECTORS_RIGHT, p->adjoint, c,
                   p->left ? p->n : p->m, space);
  store_matrix(p, c, data);
}

/* --- batches of small matrices --- */

/* Size of the interleaved matrices and their taus. */
static size_t batched_small_bytes(const qr_native_t *p) {
  return (size_t)((p->m * p->n + p->count) * p->batched->lanes * p->kind.bytes * p->kind.parts);
}

/* geqrf of `lanes` interleaved matrices; matrices of groups out of range are factored one by
 * one. */
static void factor_group(const void *context, int64_t group, hr_workers_t *workers, char *memory,
                         char *space) {
  const qr_run_t *run = context;
  const qr_native_t *p = run->plan;
  int64_t first = group * p->batched->lanes, size = p->m * p->n;
  int64_t count = hr_min(p->batch - first, p->batched->lanes);
  char *a = array_at(p, run->a, first, size), *taus = array_at(p, space, p->batched->lanes, size);
  if (!batched_small_in_range(p->kind.dtype, a, size, count)) {
    for (int64_t i = first; i < first + count; i++)
      factor_matrix(context, i, workers, memory, space);
    return;
  }
  p->batched->load(a, size, count, space);
  p->batched->geqrf(p->m, p->n, space, taus);
  p->batched->store(space, size, count, a);
  p->batched->store(taus, p->count, count, array_at(p, run->taus, first, p->count));
}

/* orgqr of `lanes` interleaved matrices. Vectors of unit reflectors are always in range. */
static void form_group(const void *context, int64_t group, hr_workers_t *workers, char *memory,
                       char *space) {
  const qr_run_t *run = context;
  const qr_native_t *p = run->plan;
  int64_t first = group * p->batched->lanes, size = p->m * p->n;
  int64_t count = hr_min(p->batch - first, p->batched->lanes);
  char *taus = array_at(p, space, p->batched->lanes, size);
  (void)workers, (void)memory;
  p->batched->load(array_at(p, run->vectors, first, size), size, count, space);
  p->batched->load(array_at(p, run->taus, first, p->count), p->count, count, taus);
  p->batched->orgqr(p->m, p->n, space, taus);
  p->batched->store(space, size, count, array_at(p, run->a, first, size));
}

static void copy_matrices(const qr_native_t *p, const void *from, void *to) {
  size_t bytes = (size_t)(p->batch * p->m * p->n * p->kind.bytes * p->kind.parts);
  if (from != to) memcpy(to, from, bytes);
}

static hr_status_t run_geqrf(const op_native_run_t *run, const void *plan, void *const *in,
                             void *const *out) {
  const qr_native_t *p = plan;
  qr_run_t r = {.plan = p, .a = out[0], .taus = out[1]};
  copy_matrices(p, in[0], out[0]);
  native_matrices_run(&p->matrices, run, p->batched ? factor_group : factor_matrix, &r);
  return NULL;
}

static hr_status_t run_orgqr(const op_native_run_t *run, const void *plan, void *const *in,
                             void *const *out) {
  qr_run_t r = {.plan = plan, .vectors = in[0], .a = out[0], .taus = in[1]};
  native_matrices_run(&r.plan->matrices, run, r.plan->batched ? form_group : form_matrix, &r);
  return NULL;
}

static hr_status_t run_ormqr(const op_native_run_t *run, const void *plan, void *const *in,
                             void *const *out) {
  qr_run_t r = {.plan = plan, .vectors = in[0], .a = out[0], .taus = in[1]};
  copy_matrices(r.plan, in[2], out[0]);
  native_matrices_run(&r.plan->matrices, run, multiply_matrix, &r);
  return NULL;
}

static size_t plan_matrices(const op_native_target_t *target, double products, qr_native_t *plan) {
  size_t bytes = plan->split_at = reflectors_bytes(&plan->kind, plan->count, plan->length);
  size_t space = reflectors_space_bytes(&plan->kind);
  int64_t lanes = plan->batched ? plan->batched->lanes : 1,
          groups = hr_div_ceil(plan->batch, lanes);
  if (plan->kind.parts == 2) bytes += split_matrix_bytes(&plan->kind, plan->m, plan->n);
  if (plan->batched && space < batched_small_bytes(plan)) space = batched_small_bytes(plan);
  return native_matrices_plan(target, groups, products * (plan->batched ? 4 : 1), bytes, space,
                              &plan->matrices);
}

/* Copies `sizes`, whose `matrices` and `kind` are not yet set, into a plan. */
static hr_status_t plan_qr(const op_native_target_t *target, const lapack_plan_t *lapack,
                           qr_native_t sizes, const uint64_t *reuse, op_native_step_t *out) {
  qr_native_t *plan;
  double products = (double)sizes.m * (double)sizes.n * (double)sizes.count;
  if (lapack->batch == 0 || products == 0 || !split_matrix_kind(lapack->dtype, &sizes.kind))
    return NULL;
  HR_TRY(HR_NEW(target->arena, &plan));
  *plan = sizes;
  plan->batch = lapack->batch;
  out->scratch_bytes = plan_matrices(target, products, plan);
  out->flops = 2 * (double)lapack->batch * products;
  out->bytes =
      2 * (double)(lapack->batch * sizes.m * sizes.n) * (double)hr_dtype_bytes(lapack->dtype);
  out->reuse = reuse;
  out->plan = plan;
  return NULL;
}

static hr_status_t prepare_geqrf(const op_native_target_t *target, const op_step_t *step,
                                 op_native_step_t *out) {
  static const uint64_t in_place[] = {1, 0};
  const lapack_plan_t *lapack;
  HR_TRY(native_lapack_check(target, step, &custom_geqrf, 2, &lapack));
  if (!lapack || custom_result_count(step->out_shape) != 2) return NULL;
  int64_t m = lapack->m, n = lapack->n, count = hr_min(m, n);
  const batched_small_loops_t *batched = batched_small_find(lapack->dtype, lapack->batch, m, n);
  return plan_qr(target, lapack,
                 (qr_native_t){.m = m, .n = n, .count = count, .length = m, .batched = batched},
                 in_place, out);
}

static hr_status_t prepare_orgqr(const op_native_target_t *target, const op_step_t *step,
                                 op_native_step_t *out) {
  const lapack_plan_t *lapack;
  HR_TRY(native_lapack_check(target, step, &custom_orgqr, 2, &lapack));
  if (!lapack || lapack->k != lapack->n || custom_result_count(step->out_shape) != 1) return NULL;
  qr_native_t sizes = {.m = lapack->m, .n = lapack->n, .count = lapack->k, .length = lapack->m};
  sizes.batched = batched_small_find(lapack->dtype, lapack->batch, lapack->m, lapack->n);
  return plan_qr(target, lapack, sizes, NULL, out);
}

static hr_status_t prepare_ormqr(const op_native_target_t *target, const op_step_t *step,
                                 op_native_step_t *out) {
  static const uint64_t in_place[] = {4};
  const lapack_plan_t *lapack;
  HR_TRY(native_lapack_check(target, step, &custom_ormqr, 2, &lapack));
  if (!lapack || custom_result_count(step->out_shape) != 1) return NULL;
  bool left = mlir_dict_int(lapack->options, "left", 0);
  qr_native_t sizes = {.m = lapack->m,
                       .n = lapack->n,
                       .count = lapack->k,
                       .length = left ? lapack->m : lapack->n,
                       .left = left,
                       .adjoint = mlir_dict_int(lapack->options, "transpose", 0)};
  return plan_qr(target, lapack, sizes, in_place, out);
}

const op_native_t native_custom_geqrf = {"geqrf", prepare_geqrf, run_geqrf};
const op_native_t native_custom_orgqr = {"orgqr", prepare_orgqr, run_orgqr};
const op_native_t native_custom_ormqr = {"ormqr", prepare_ormqr, run_ormqr};
