/* Prepacking of b for products of few rows: constant operands in the plan, loop-invariant ones
 * before the loop. Packing reads and writes k * n elements once; a product of m rows has m * k * n
 * terms. */
#include <string.h>

#include "ops/kernels/dot/native_dot.h"

#define MIN_ROWS 4           /* fewest rows; with fewer b is read faster in place */
#define MAX_ROWS 512         /* most rows; with more packing costs little */
#define FEW_ROWS 16          /* most rows for which b is otherwise not packed */
#define FEW_PRODUCTS 1000000 /* products below which b stays in the caches */
#define MIN_PRODUCTS 100000
#define MAX_PADDED_BYTES (1 << 20) /* half of a second-level cache */

/* Few rows reuse each packed element m times only, so packing pays for constants of enough work. */
bool dot_packs_once(const dot_problem_t *p) {
  int64_t least = p->m <= FEW_ROWS ? FEW_PRODUCTS : MIN_PRODUCTS;
  return p->batch == 1 && !p->symmetric && !p->types.is_complex && gemm_has_type(p->types.real) &&
         p->types.rhs == p->types.real && p->m >= MIN_ROWS && p->m <= MAX_ROWS &&
         p->m * p->n * p->k >= least;
}

/* The packer's step: packs operand 1 of the loop's product. */
static hr_status_t run_pack(const op_native_run_t *run, const void *plan, void *const *in,
                            void *const *out) {
  const dot_problem_t *p = plan;
  gemm_job_t job = dot_gemm_job(p);
  (void)run;
  job.b = (const char *)in[0] + p->b.offsets[0] * p->types.element_bytes;
  gemm_pack(&job, out[0]);
  return NULL;
}

static const op_native_t native_pack = {"packing", NULL, run_pack};

static bool are_equal_lists(const int64_t *a, const int64_t *b, int64_t count) {
  if (!a || !b) return a == b;
  return !memcmp(a, b, (size_t)count * sizeof *a);
}

/* Signature of op_native_prepack_t.has_same_form. The form does not depend on the rows of the
 * product. */
static bool has_same_form(const void *packer_plan, const void *other_plan) {
  const dot_problem_t *p = packer_plan, *q = other_plan;
  return p->types.real == q->types.real && p->k == q->k && p->n == q->n &&
         p->b.offsets[0] == q->b.offsets[0] && p->b.row_step == q->b.row_step &&
         p->b.col_step == q->b.col_step && are_equal_lists(p->b.rows, q->b.rows, p->k) &&
         are_equal_lists(p->b.cols, q->b.cols, p->n);
}

/* Signature of op_native_prepack_t.prepare. */
static hr_status_t prepare_packed(const op_native_target_t *target,
                                  const op_native_prepack_t *prepack, op_native_step_t *out) {
  dot_problem_t *problem;
  HR_TRY(HR_NEW(target->arena, &problem));
  *problem = *(const dot_problem_t *)prepack->context;
  problem->packed_b = true;
  return dot_prepare_gemm(target, problem, out);
}

/* True if large panels are mostly padding, as b has fewer columns than half a panel: reading them
 * from memory takes longer than packing the dense rows of b each time. */
static bool pads_too_much(const dot_problem_t *p, size_t packed_bytes) {
  double own = (double)(p->k * p->n) * (double)p->types.element_bytes;
  return p->b.col_step == 1 && packed_bytes > MAX_PADDED_BYTES && (double)packed_bytes > 2 * own;
}

/* Constants are packed when the program is planned, not here. */
hr_status_t dot_plan_prepack(const op_native_target_t *target, const dot_problem_t *problem,
                             const op_native_prepack_t **out_prepack) {
  op_native_prepack_t *prepack;
  if (problem->constant_b || !dot_packs_once(problem)) return NULL;
  gemm_job_t job = dot_gemm_job(problem);
  if (pads_too_much(problem, gemm_packed_bytes(&job))) return NULL;
  HR_TRY(HR_NEW(target->arena, &prepack));
  *prepack = (op_native_prepack_t){.leaf = 1,
                                   .bytes = gemm_packed_bytes(&job),
                                   .pays_if_cached = problem->m <= FEW_ROWS,
                                   .packer = &native_pack,
                                   .packer_plan = problem,
                                   .has_same_form = has_same_form,
                                   .prepare = prepare_packed,
                                   .context = problem};
  *out_prepack = prepack;
  return NULL;
}
