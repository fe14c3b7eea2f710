/* Complex products of few rows or columns with long sums, whose operands have their free dimension
 * dense: numbers that follow each other are twice as many reals, so that one product of reals, of
 * twice the rows and twice the columns, has all four products of parts. Nothing is split or packed,
 * and there are no more multiplications:
 *
 *   p = a_reals b_reals,  c_re = p[2i][2j] - p[2i+1][2j+1],  c_im = p[2i][2j+1] + p[2i+1][2j] */
#include "base/arith.h"
#include "ops/kernels/dot/native_dot.h"

#define MAX_FEW 16       /* most rows or columns that count as few */
#define LEAST_TERMS 64   /* fewest terms: the parts are put together after that many products */
#define MOST_RESULTS 256 /* most results of one product */

typedef struct dot_complex_as_real {
  dot_strategy_t strategy;
  dot_problem_t reals;
  const dot_strategy_t *product; /* that of the reals */
  size_t product_at;             /* its result in scratch memory */
} dot_complex_as_real_t;

#define DEFINE_COMBINE(T)                                                     \
  static void combine_##T(const dot_problem_t *reals, const T *from, T *to) { \
    int64_t rows = reals->batch * reals->m / 2, width = reals->n;             \
    for (int64_t i = 0; i < rows; i++) {                                      \
      const T *re = from + 2 * i * width, *im = re + width;                   \
      for (int64_t j = 0; j < width; j += 2) {                                \
        to[i * width + j] = re[j] - im[j + 1];                                \
        to[i * width + j + 1] = re[j + 1] + im[j];                            \
      }                                                                       \
    }                                                                         \
  }
DEFINE_COMBINE(float)
DEFINE_COMBINE(double)

static hr_status_t run_complex_as_real(const op_native_run_t *run, const dot_strategy_t *strategy,
                                       void *const *in, void *const *out) {
  const dot_complex_as_real_t *plan = (const dot_complex_as_real_t *)strategy;
  void *product = (char *)run->scratch + plan->product_at;
  HR_TRY(plan->product->run(run, plan->product, in, &product));
  if (plan->reals.types.real == HR_F64)
    combine_double(&plan->reals, product, out[0]);
  else
    combine_float(&plan->reals, product, out[0]);
  return NULL;
}

/* Offsets in reals, of those in complex numbers. */
static hr_status_t double_offsets(hr_arena_t *arena, int64_t count, const int64_t **offsets) {
  int64_t *doubled;
  if (!*offsets) return NULL;
  HR_TRY(HR_NEW_ARRAY(arena, count, &doubled));
  for (int64_t i = 0; i < count; i++) doubled[i] = 2 * (*offsets)[i];
  *offsets = doubled;
  return NULL;
}

/* The operand as an array of reals; the stride of its free dimension stays 1. */
static hr_status_t as_reals(hr_arena_t *arena, int64_t batch, hr_dtype_t real, int64_t *term_step,
                            dot_matrices_t *side) {
  side->dtype = real;
  side->count *= 2;
  if (side->batch_step > 0) side->batch_step *= 2;
  *term_step *= 2;
  HR_TRY(double_offsets(arena, batch, &side->starts));
  return double_offsets(arena, batch, &side->offsets);
}

static hr_status_t plan_reals(hr_arena_t *arena, const dot_problem_t *complex,
                              dot_problem_t *reals) {
  hr_dtype_t real = complex->types.real;
  *reals = *complex;
  reals->types.lhs = reals->types.rhs = reals->types.out = real;
  reals->types.is_complex = false;
  reals->types.parts = 1;
  reals->types.element_bytes /= 2;
  reals->m *= 2;
  reals->n *= 2;
  reals->flops *= 4;
  reals->constant_a = reals->constant_b = NULL;
  HR_TRY(as_reals(arena, reals->batch, real, &reals->a.col_step, &reals->a));
  return as_reals(arena, reals->batch, real, &reals->b.row_step, &reals->b);
}

static bool suits(const dot_problem_t *p) {
  const matmul_types_t *t = &p->types;
  const dot_matrices_t *a = &p->a, *b = &p->b;
  if (!t->is_complex || t->lhs != t->rhs || t->lhs != t->out || p->packed_b) return false;
  if (a->ordered || b->ordered || a->row_step != 1 || b->col_step != 1) return false;
  return hr_min(p->m, p->n) <= MAX_FEW && p->m * p->n <= MOST_RESULTS && p->k >= LEAST_TERMS;
}

/* Declines operands whose free dimension is not dense, short sums, and what no strategy of reals
 * takes. */
hr_status_t dot_prepare_complex_as_real(const op_native_target_t *target,
                                        const dot_problem_t *problem, op_native_step_t *out) {
  dot_complex_as_real_t *plan;
  op_native_step_t product = {.plan = NULL};
  if (!suits(problem)) return NULL;
  HR_TRY(HR_NEW(target->arena, &plan));
  HR_TRY(plan_reals(target->arena, problem, &plan->reals));
  HR_TRY(dot_prepare_small(target, &plan->reals, &product));
  if (!product.plan) HR_TRY(dot_prepare_gemm(target, &plan->reals, &product));
  if (!product.plan) return NULL;
  plan->strategy = (dot_strategy_t){"complex as reals", run_complex_as_real};
  plan->product = product.plan;
  size_t total = product.scratch_bytes;
  const dot_problem_t *r = &plan->reals;
  plan->product_at =
      scratch_reserve(&total, (size_t)(r->batch * r->m * r->n * r->types.element_bytes));
  out->scratch_bytes = total;
  out->plan = plan;
  return NULL;
}
