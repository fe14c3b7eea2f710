/* Products of 8-bit integers in f32, for processors that multiply those faster than integers: a
 * term has at most 16 bits, so sums of a few hundred terms fit the 24 bits of a mantissa and are
 * exact in any order. Longer sums are divided into parts, whose sums are added as integers. */
#include "base/arith.h"
#include "ops/kernels/dot/native_dot.h"

#define MANTISSA (1 << 24)   /* integers up to this one are exact in f32 */
#define LEAST_TERMS 8        /* least terms for which conversions are a small part */
#define GRAIN_ELEMENTS 16384 /* sums that a task converts */

typedef struct dot_exact {
  dot_strategy_t strategy;
  dot_problem_t problem; /* with f32 as the type of the products */
  gemm_job_t job;        /* one part of a sum, without addresses */
  gemm_partition_t partition;
  dot_conversion_t a, b;
  int workers;
  size_t sums_at, space_at;
} dot_exact_t;

/* Sums of one part: to be written, or added, to the result as integers. */
typedef struct part_sums {
  const float *sums;
  uint32_t *to;
  bool adds;
} part_sums_t;

static void take_sums(void *context, int64_t begin, int64_t end, int worker) {
  const part_sums_t *part = context;
  (void)worker;
  if (part->adds)
    for (int64_t i = begin; i < end; i++) part->to[i] += (uint32_t)(int32_t)part->sums[i];
  else
    for (int64_t i = begin; i < end; i++) part->to[i] = (uint32_t)(int32_t)part->sums[i];
}

/* The job of terms [first, first + count) of one matrix. */
static gemm_job_t part_job(const dot_exact_t *plan, int64_t first, int64_t count, const float *a,
                           const float *b, float *sums) {
  gemm_job_t job = plan->job;
  job.k = count;
  job.a = job.a_cols ? a : a + first * job.a_col;
  job.b = job.b_rows ? b : b + first * job.b_row;
  if (job.a_cols) job.a_cols += first;
  if (job.b_rows) job.b_rows += first;
  job.c = sums;
  return job;
}

static hr_status_t run_exact(const op_native_run_t *run, const dot_strategy_t *strategy,
                             void *const *in, void *const *out) {
  const dot_exact_t *plan = (const dot_exact_t *)strategy;
  const dot_problem_t *p = &plan->problem;
  char *scratch = run->scratch;
  hr_workers_t *workers = native_workers(run, plan->workers);
  const float *a = dot_convert_operand(run, p, &p->a, &plan->a, in[0]);
  const float *b = dot_convert_operand(run, p, &p->b, &plan->b, in[1]);
  float *sums = (float *)(scratch + plan->sums_at);
  for (int64_t i = 0; i < p->batch; i++)
    for (int64_t first = 0; first < p->k; first += plan->job.k) {
      gemm_job_t job = part_job(plan, first, hr_min(plan->job.k, p->k - first), a + p->a.offsets[i],
                                b + p->b.offsets[i], sums);
      part_sums_t part = {sums, (uint32_t *)out[0] + i * p->m * p->n, first > 0};
      gemm_run(workers, &job, &plan->partition, scratch + plan->space_at);
      hr_workers_split(workers, p->m * p->n, GRAIN_ELEMENTS, take_sums, &part);
    }
  return NULL;
}

/* Largest size of an element; 0: the type has more than 8 bits. */
static int64_t largest(hr_dtype_t dtype) {
  if (dtype == HR_S8) return 128;
  return dtype == HR_U8 ? 255 : 0;
}

hr_status_t dot_prepare_exact(const op_native_target_t *target, const dot_problem_t *problem,
                              op_native_step_t *out) {
  const matmul_types_t *types = &problem->types;
  int64_t term = largest(types->lhs) * largest(types->rhs);
  dot_exact_t *plan;
  size_t total = 0;
  bool is_tiny = dot_is_tiny(problem, DOT_TINY_INTEGER_PRODUCTS) || problem->k < LEAST_TERMS;
  if (!term || types->is_complex || types->real != HR_U32 || is_tiny ||
      !matmul_is_widened(types, types->out))
    return NULL;
  HR_TRY(HR_NEW(target->arena, &plan));
  plan->strategy = (dot_strategy_t){"exact", run_exact};
  plan->problem = *problem;
  plan->problem.types.real = HR_F32;
  plan->workers = target->workers;
  plan->job = dot_gemm_job(&plan->problem);
  plan->job.whole_depth = true;
  plan->job.k = hr_min(problem->k, MANTISSA / term);
  plan->partition = gemm_partition_choose(&plan->job, target->workers);
  dot_conversion_init(&plan->problem, &problem->a, false, true, &total, &plan->a);
  dot_conversion_init(&plan->problem, &problem->b, false, true, &total, &plan->b);
  plan->sums_at = scratch_reserve(&total, (size_t)(problem->m * problem->n) * sizeof(float));
  plan->space_at =
      scratch_reserve(&total, gemm_scratch_bytes(&plan->job, &plan->partition, target->workers));
  out->scratch_bytes = total;
  out->plan = plan;
  return NULL;
}
