/* Products of bf16 and int8 on processors that multiply several terms at once (AVX-512 BF16, VNNI):
 * a matrix product is a direct convolution with one tap and one spatial axis, whose positions are
 * the rows. See conv_direct.h. Either the matrices of a batch are divided among the workers, or
 * each product is. */
#include "ops/kernels/conv/native_convolution.h"
#include "ops/kernels/dot/native_dot.h"
#include "ops/kernels/simd/simd_target.h"

typedef struct dot_low_precision {
  dot_strategy_t strategy;
  const dot_problem_t *problem;
  conv_problem_t
      product;      /* the product as a convolution of matrices at the start of their arrays */
  const void *plan; /* plan of `product` */
  bool by_matrices; /* a worker runs whole products */
  int workers;
  size_t space_bytes; /* scratch memory of one product */
} dot_low_precision_t;

typedef struct dot_taps_run {
  const dot_low_precision_t *plan;
  op_native_run_t run;
  const char *a, *b;
  char *c;
} dot_low_precision_run_t;

/* One matrix of the batch as a convolution of one image. */
static hr_status_t run_matrix(const dot_low_precision_run_t *r, int64_t matrix,
                              hr_workers_t *workers, char *scratch) {
  const dot_problem_t *p = r->plan->problem;
  op_native_run_t run = r->run;
  run.workers = workers;
  run.scratch = scratch;
  void *in[] = {(char *)r->a + p->a.offsets[matrix] * (int64_t)hr_dtype_bytes(p->types.lhs),
                (char *)r->b + p->b.offsets[matrix] * (int64_t)hr_dtype_bytes(p->types.rhs)};
  void *out[] = {r->c + matrix * p->m * p->n * (int64_t)hr_dtype_bytes(p->types.out)};
  return conv_run_direct(&run, r->plan->plan, in, out);
}

/* A direct convolution cannot fail, so the status is NULL. */
static void run_matrices(void *context, int64_t begin, int64_t end, int worker) {
  const dot_low_precision_run_t *r = context;
  char *scratch = (char *)r->run.scratch + (size_t)worker * r->plan->space_bytes;
  for (int64_t i = begin; i < end; i++) hr_status_release(run_matrix(r, i, NULL, scratch));
}

/* By matrices: each worker runs whole products with its own scratch memory. */
static hr_status_t run_low_precision(const op_native_run_t *run, const dot_strategy_t *strategy,
                                     void *const *in, void *const *out) {
  const dot_low_precision_t *plan = (const dot_low_precision_t *)strategy;
  dot_low_precision_run_t r = {plan, *run, in[0], in[1], out[0]};
  hr_workers_t *workers = native_workers(run, plan->workers);
  if (plan->by_matrices) hr_workers_for(workers, plan->problem->batch, 1, run_matrices, &r);
  for (int64_t i = 0; !plan->by_matrices && i < plan->problem->batch; i++)
    HR_TRY(run_matrix(&r, i, workers, run->scratch));
  return NULL;
}

/* Rows of a are positions, k the input channels, columns of b the output channels. */
static conv_problem_t product_of(const dot_problem_t *p) {
  conv_problem_t product = {
      .kind = CONV_FORWARD, .types = p->types, .spatial = 1, .batch = 1, .groups = 1};
  product.in_channels = p->k;
  product.out_channels = p->n;
  product.out[0] = p->m;
  product.in[0] = product.out[0];
  product.window[0] = 1;
  product.stride[0] = 1;
  product.dilation[0] = 1;
  product.base[0] = 1;
  product.arrays[CONV_SRC] = (conv_array_t){.dtype = p->types.lhs,
                                            .count = p->m * p->k,
                                            .inner = p->a.col_step,
                                            .spatial = {p->a.row_step}};
  product.arrays[CONV_WEI] = (conv_array_t){
      .dtype = p->types.rhs, .count = p->k * p->n, .inner = p->b.row_step, .outer = p->b.col_step};
  product.arrays[CONV_DST] =
      (conv_array_t){.dtype = p->types.out, .count = p->m * p->n, .inner = 1, .spatial = {p->n}};
  if (p->batch == 1 && p->constant_b)
    product.constant_weights =
        (const char *)p->constant_b + p->b.offsets[0] * (int64_t)hr_dtype_bytes(p->types.rhs);
  product.flops = p->flops / (double)p->batch;
  return product;
}

/* Rows below which packing b is most of the work. Packing int8 also sums its columns, to correct
 * the sign. */
#define MIN_ROWS 8
#define MIN_ROWS_INT8 48

/* k must be a multiple of the terms of one instruction: 2 of bf16, 4 of int8. With few rows packing
 * does not pay, unless b is constant. */
static bool is_supported(const dot_problem_t *p) {
  const matmul_types_t *t = &p->types;
  bool halves = t->real == HR_F32 && t->lhs == HR_BF16 && t->rhs == HR_BF16;
  bool bytes = (t->lhs == HR_S8 || t->lhs == HR_U8) && t->rhs == HR_S8 && t->out == HR_S32;
  int64_t terms = halves ? 2 : 4;
  return !t->is_complex && (halves || bytes) && p->k % terms == 0 && !p->a.ordered &&
         !p->b.ordered && (p->m >= (halves ? MIN_ROWS : MIN_ROWS_INT8) || p->constant_b);
}

/* Processors with AMX are left to oneDNN, which uses it. */
hr_status_t dot_prepare_low_precision(const op_native_target_t *target,
                                      const dot_problem_t *problem, op_native_step_t *out) {
  dot_low_precision_t *plan;
  op_native_target_t one = *target;
  op_native_step_t step = {0};
  bool bytes = problem->types.real == HR_U32;
  if (!is_supported(problem) || !(bytes ? cpu_has_avx512_vnni() : cpu_has_fast_bf16()) ||
      cpu_has_amx())
    return NULL;
  HR_TRY(HR_NEW(target->arena, &plan));
  plan->strategy = (dot_strategy_t){"taps", run_low_precision};
  plan->problem = problem;
  plan->workers = target->workers;
  plan->product = product_of(problem);
  plan->by_matrices =
      problem->batch >= 2 * target->workers || problem->batch % target->workers == 0;
  if (problem->batch == 1) plan->by_matrices = false;
  if (plan->by_matrices) one.workers = 1;
  HR_TRY(conv_prepare_direct(&one, &plan->product, &step));
  if (!step.plan) return NULL;
  plan->plan = step.plan;
  plan->space_bytes = (step.scratch_bytes + 63) / 64 * 64;
  out->scratch_bytes = plan->space_bytes * (size_t)(plan->by_matrices ? target->workers : 1);
  out->plan = plan;
  return NULL;
}
