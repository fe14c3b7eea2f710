/* Elementwise ops on complex numbers, which code is not generated for: the reference engine's loops, by all workers. */
#include "ops/elementwise.h"
#include "ops/native.h"

enum { GRAIN_ELEMENTS = 8192 };

typedef struct native_elementwise_plan {
  const ew_kernel_t *kernel;
  int64_t count;
  int operand_count;
  int64_t steps[EW_MAX_OPERANDS]; /* 0: one element for all */
  int64_t bytes[EW_MAX_OPERANDS]; /* from one element to the next */
  int64_t result_bytes;
  uint64_t reuse[1];
} native_elementwise_plan_t;

typedef struct elementwise_job {
  const native_elementwise_plan_t *plan;
  void *const *in;
  char *out;
} elementwise_job_t;

static void run_part(void *context, int64_t begin, int64_t end, int worker) {
  const elementwise_job_t *job = context;
  const native_elementwise_plan_t *plan = job->plan;
  const void *in[EW_MAX_OPERANDS];
  (void)worker;
  for (int k = 0; k < plan->operand_count; k++) in[k] = (const char *)job->in[k] + begin * plan->bytes[k];
  ew_kernel_run(plan->kernel, end - begin, in, plan->steps, job->out + begin * plan->result_bytes);
}

static hr_status_t run_elementwise(const op_native_run_t *run, const void *plan_, void *const *in, void *const *out) {
  const native_elementwise_plan_t *plan = plan_;
  elementwise_job_t job = {plan, in, out[0]};
  hr_workers_for(run->workers, plan->count, GRAIN_ELEMENTS, run_part, &job);
  return NULL;
}

static bool has_complex(const op_step_t *step) {
  bool found = hlo_shape_is_array(step->out_shape) && hr_dtype_is_complex(step->out_shape->dtype);
  for (int k = 0; k < step->instr->operand_count; k++)
    found = found || (hlo_shape_is_array(step->in_shapes[k]) && hr_dtype_is_complex(step->in_shapes[k]->dtype));
  return found && hlo_op_is(step->instr->op, OP_ELEMENTWISE) && step->instr->operand_count <= EW_MAX_OPERANDS;
}

/* Operands that are one element for all are read to the end: the result may not lie over them. */
static hr_status_t plan_operand(const op_step_t *step, int k, native_elementwise_plan_t *plan, bool *out_fits) {
  int64_t count, bytes = (int64_t)hr_dtype_bytes(step->in_shapes[k]->dtype);
  HR_TRY(hlo_shape_count(step->in_shapes[k], &count));
  *out_fits = count == plan->count || count == 1;
  plan->steps[k] = count == plan->count ? 1 : 0;
  plan->bytes[k] = plan->steps[k] * bytes;
  if (plan->steps[k] && bytes == plan->result_bytes) plan->reuse[0] |= UINT64_C(1) << k;
  return NULL;
}

static hr_status_t prepare_elementwise(const op_native_target_t *target, const op_step_t *step, op_native_step_t *out) {
  native_elementwise_plan_t *plan;
  if (!has_complex(step)) return NULL;
  HR_TRY(HR_NEW(target->arena, &plan));
  HR_TRY(ew_kernel_prepare(target->arena, step->instr, &plan->kernel));
  HR_TRY(hlo_shape_count(step->out_shape, &plan->count));
  plan->result_bytes = (int64_t)hr_dtype_bytes(step->out_shape->dtype);
  plan->operand_count = step->instr->operand_count;
  bool fits = true;
  for (int k = 0; k < plan->operand_count && fits; k++) HR_TRY(plan_operand(step, k, plan, &fits));
  if (!fits) return NULL;
  out->reuse = plan->reuse;
  out->flops = (double)plan->count;
  out->bytes = (double)plan->count * (double)plan->result_bytes;
  for (int k = 0; k < plan->operand_count; k++) out->bytes += (double)plan->count * (double)plan->bytes[k];
  out->plan = plan;
  return NULL;
}

const op_native_t native_elementwise = {"elementwise", prepare_elementwise, run_elementwise};
