/* Plans of whole loops, and their running. */
#include <string.h>

#include "jit/jit_parts.h"

#define TURN_NS 2e6 /* between looks at whether to stop */

typedef struct loop_plan {
  const jit_kernel_t *kernel;
  jit_buffer_list_t buffers;
  int leaf_count;
  size_t *bytes;
  int64_t turns;
} loop_plan_t;

static hr_status_t fill_plan(hr_arena_t *arena, const hlo_instr_t *instr, loop_plan_t *plan, op_native_step_t *out) {
  uint64_t *reuse;
  plan->leaf_count = instr->shape->element_count;
  plan->turns = (int64_t)(TURN_NS / plan->kernel->phases[0].unit_ns) + 1;
  HR_TRY(HR_NEW_ARRAY(arena, plan->leaf_count, &plan->bytes));
  HR_TRY(HR_NEW_ARRAY(arena, plan->leaf_count, &reuse));
  for (int k = 0; k < plan->leaf_count; k++) {
    const hlo_shape_t *shape = instr->shape->elements[k];
    plan->bytes[k] = (size_t)fusion_count(shape) * hr_dtype_bytes(shape->dtype);
    if (k < 64) reuse[k] = (uint64_t)1 << k;
  }
  *out = (op_native_step_t){.plan = plan, .reuse = reuse};
  out->scratch_bytes = HR_ALIGNMENT + (size_t)(plan->kernel->buffer_count + 1) * sizeof(void *);
  return NULL;
}

hr_status_t jit_loop_prepare(const op_native_target_t *target, const op_step_t *step, op_native_step_t *out) {
  jit_t *jit = target->emitter;
  jit_kernel_t *kernel;
  loop_plan_t *plan;
  HR_TRY(HR_NEW(&jit->arena, &kernel));
  HR_TRY(HR_NEW(target->arena, &plan));
  HR_TRY(HR_VEC_RESERVE(&jit->pending, jit->pending.count + 1));
  HR_TRY(jit_loop_key(step->instr, &kernel->key));
  HR_TRY(jit_while_plan(target->arena, jit_target_host(), step->instr, kernel, &plan->buffers));
  if (kernel->is_declined) return NULL;
  jit->pending.data[jit->pending.count++] = kernel;
  jit->counts.requests++;
  kernel->uses = 1;
  plan->kernel = kernel;
  return fill_plan(target->arena, step->instr, plan, out);
}

static hr_status_t run(const op_native_run_t *env, const void *opaque, void *const *in, void *const *out) {
  const loop_plan_t *plan = opaque;
  int64_t *is_over = env->scratch;
  void **buffers = (void **)((char *)env->scratch + HR_ALIGNMENT);
  for (int k = 0; k < plan->leaf_count; k++)
    if (in[k] != out[k]) memcpy(out[k], in[k], plan->bytes[k]);
  for (int k = 0; k < plan->buffers.count; k++) {
    const jit_buffer_t *buffer = &plan->buffers.items[k];
    buffers[k] = buffer->literal ? buffer->literal->data : out[buffer->param];
  }
  for (;;) {
    plan->kernel->phases[0].run(buffers, out, is_over, 0, plan->turns);
    if (*is_over) return NULL;
    HR_TRY(env->env->check_cancelled(env->env));
  }
}

const op_native_t jit_loop_native = {"generated loop", jit_loop_prepare, run};
