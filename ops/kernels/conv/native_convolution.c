/* convolution in the compiled engine: the choice of a kernel. conv_problem_read says which of the
 * three kinds an HLO convolution is: forward, data gradient or weight gradient. The first kernel of
 * a fixed order that accepts the problem computes it, and im2col is the last one. The choice
 * therefore follows from problem, processor and libraries alone. conv_nonfinite.c handles weights
 * that are not finite where they meet padding or holes. */
#include "ops/kernels/conv/native_convolution.h"

#include "base/fp_mode.h"
#include "ops/kernels/conv/conv_nonfinite.h"

/* One of the kernels, with its plan. */
typedef struct conv_strategy {
  hr_status_t (*run)(const op_native_run_t *run, const void *plan, void *const *in,
                     void *const *out);
  const void *plan;
  size_t scratch_bytes;
  conv_nonfinite_t *nonfinite; /* NULL: the kernel needs no check of the weights */
} conv_strategy_t;

typedef hr_status_t (*conv_prepare_fn)(const op_native_target_t *target,
                                       const conv_problem_t *problem, op_native_step_t *out);
typedef hr_status_t (*conv_run_fn)(const op_native_run_t *run, const void *plan, void *const *in,
                                   void *const *out);

/* Kernels in order of preference. Each makes a plan or declines. */
static const struct {
  conv_prepare_fn prepare;
  conv_run_fn run;
  bool takes_holes; /* see conv_has_holes */
} kernels[] = {{conv_prepare_winograd, conv_run_winograd, false},
               {conv_prepare_direct_narrow, conv_run_direct_narrow, false},
               {conv_prepare_direct, conv_run_direct, true},
               {conv_prepare_weight_grad, conv_run_weight_grad, false},
               {conv_prepare_depthwise_grad, conv_run_depthwise_grad, false},
               {conv_prepare_onednn, conv_run_onednn, false}};

/* Takes the first kernel that makes a plan. */
static hr_status_t prepare_problem(const op_native_target_t *target, const op_step_t *step,
                                   conv_strategy_t *strategy, op_native_step_t *out) {
  conv_problem_t *problem;
  bool fits;
  HR_TRY(HR_NEW(target->arena, &problem));
  HR_TRY(conv_problem_read(step, problem, &fits));
  if (!fits) return NULL;
  out->flops = problem->flops;
  for (size_t i = 0; i < sizeof kernels / sizeof *kernels && !out->plan; i++) {
    if (!kernels[i].takes_holes && conv_has_holes(problem)) continue;
    strategy->run = kernels[i].run;
    HR_TRY(kernels[i].prepare(target, problem, out));
  }
  return NULL;
}

static double array_bytes(const hlo_shape_t *shape) {
  double bytes = (double)hr_dtype_bytes(shape->dtype);
  for (int d = 0; d < shape->rank; d++) bytes *= (double)shape->dims[d];
  return bytes;
}

/* Signature of op_native_parts_t.fuse. The plan with an epilogue is the plan without. */
static hr_status_t follow_convolution(const op_native_target_t *target, const void *before,
                                      const op_native_grid_t *grid, op_native_step_t *out) {
  (void)target, (void)grid;
  out->plan = before;
  out->scratch_bytes = ((const conv_strategy_t *)before)->scratch_bytes;
  return NULL;
}

/* True if the kernel multiplies padding and holes as the reference does. im2col has them as terms;
 * Winograd recomputes tiles with results that are not finite by the direct sums. */
static bool multiplies_padding(const conv_strategy_t *strategy) {
  return strategy->run == conv_run_im2col || strategy->run == conv_run_winograd;
}

static hr_status_t prepare_native_convolution(const op_native_target_t *target,
                                              const op_step_t *step, op_native_step_t *out) {
  conv_strategy_t *strategy;
  if (!conv_has_labels(step->instr)) return NULL;
  HR_TRY(HR_NEW(target->arena, &strategy));
  HR_TRY(prepare_problem(target, step, strategy, out));
  if (!out->plan) {
    strategy->run = conv_run_im2col;
    HR_TRY(conv_prepare_im2col(target, step, out));
  }
  if (!out->plan) return NULL;
  if (!multiplies_padding(strategy))
    HR_TRY(conv_nonfinite_prepare(target, step, &out->parts.grid, &strategy->nonfinite));
  strategy->plan = out->plan;
  strategy->scratch_bytes = out->scratch_bytes;
  out->plan = strategy;
  if (out->parts.grid.rows) out->parts.fuse = follow_convolution;
  out->bytes = array_bytes(step->in_shapes[0]) + array_bytes(step->in_shapes[1]) +
               array_bytes(step->out_shape);
  return NULL;
}

static hr_status_t run_strategy(const op_native_run_t *run, const conv_strategy_t *strategy,
                                void *const *in, void *const *out) {
  bool is_done;
  HR_TRY(conv_nonfinite_before(strategy->nonfinite, run, in, out, &is_done));
  if (is_done) return NULL;
  HR_TRY(strategy->run(run, strategy->plan, in, out));
  return conv_nonfinite_after(strategy->nonfinite, run, in, out);
}

/* Denormal numbers count as zeros here, as in products (see dot.c of the reference). */
static hr_status_t run_native_convolution(const op_native_run_t *run, const void *plan,
                                          void *const *in, void *const *out) {
  hr_fp_mode_t mode = hr_fp_mode_flush();
  hr_status_t st = run_strategy(run, plan, in, out);
  hr_fp_mode_set(mode);
  return st;
}

const op_native_t native_convolution = {"convolution", prepare_native_convolution,
                                        run_native_convolution};
