#include "ops/native_custom_call.h"

#include "ops/custom_call.h"

static const struct {
  const op_kernel_t *kernel;
  const op_native_t *native;
} natives[] = {{&custom_potrf, &native_potrf}, {&custom_trsm, &native_trsm}};

typedef struct custom_native {
  const op_native_t *native;
  const void *plan;
} custom_native_t;

static hr_status_t prepare_custom_call(const op_native_target_t *target, const op_step_t *step, op_native_step_t *out) {
  const op_custom_call_t *call = op_custom_call_find(op_custom_call_target(step->instr));
  custom_native_t *plan;
  for (size_t i = 0; call && i < sizeof natives / sizeof *natives; i++) {
    if (natives[i].kernel != call->kernel) continue;
    HR_TRY(natives[i].native->prepare(target, step, out));
    if (!out->plan) return NULL;
    HR_TRY(HR_NEW(target->arena, &plan));
    *plan = (custom_native_t){natives[i].native, out->plan};
    out->plan = plan;
    return NULL;
  }
  return NULL;
}

static hr_status_t run_custom_call(const op_native_run_t *run, const void *plan_, void *const *in, void *const *out) {
  const custom_native_t *plan = plan_;
  return plan->native->run(run, plan->plan, in, out);
}

const op_native_t native_custom_call = {"custom call", prepare_custom_call, run_custom_call};
