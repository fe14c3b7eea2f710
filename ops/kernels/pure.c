/* The environment of such a step is one process that cannot be cancelled, without peers, channels,
 * feeds, probes or state. Computations cannot be called, so that reductions and sorts by bodies
 * that are not scalar are UNSUPPORTED. Cost: that of the reference kernel, without threads. */
#include "ops/kernels/pure.h"

#include "ops/kernels/kernel.h"

bool op_is_pure(const hlo_instr_t *instr) {
  const uint32_t never = OP_CONTROL | OP_EFFECT | OP_COMM | OP_RANDOM | OP_START | OP_DONE;
  const op_kernel_t *kernel = op_kernels[instr->op];
  return !(hlo_op_table[instr->op].traits & never) && kernel && kernel->run &&
         instr->op != HLO_CUSTOM_CALL;
}

hr_status_t op_pure_prepare(hr_arena_t *arena, const hlo_instr_t *instr, op_step_t *out_step) {
  const op_kernel_t *kernel = op_kernels[instr->op];
  *out_step = (op_step_t){.instr = instr, .out_shape = instr->shape};
  HR_TRY(hlo_operand_shapes(arena, instr, &out_step->in_shapes));
  return kernel->prepare ? kernel->prepare(arena, out_step, &out_step->plan) : NULL;
}

static hr_status_t never_cancelled(op_env_t *env) {
  (void)env;
  return NULL;
}

static hr_status_t call_nothing(op_env_t *env, const hlo_computation_t *computation,
                                hlo_value_t **args, int arg_count, hlo_value_t **out_value) {
  (void)env, (void)computation, (void)out_value;
  for (int k = 0; k < arg_count; k++) hlo_value_release(args[k]);
  return hr_error(HR_UNSUPPORTED, "bodies that are not of scalars are not evaluated ahead of time");
}

static const op_engine_ops_t local_ops = {.call = call_nothing, .check_cancelled = never_cancelled};

hr_status_t op_pure_run(const op_step_t *step, hr_arena_t *scratch, hlo_value_t *const *in,
                        hlo_value_t **out_value) {
  op_env_t env = {
      .scratch = scratch, .engine_ops = &local_ops, .num_replicas = 1, .num_partitions = 1};
  return op_kernels[step->instr->op]->run(&env, step, in, out_value);
}
