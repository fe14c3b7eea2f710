#include "passes/pass_evaluate.h"

#include "ops/op.h"

static hr_status_t no_cancel(op_env_t *env) {
  (void)env;
  return NULL;
}

static hr_status_t no_call(op_env_t *env, const hlo_computation_t *computation, hlo_value_t **args, int arg_count,
                           hlo_value_t **out_value) {
  (void)env, (void)computation, (void)out_value;
  for (int k = 0; k < arg_count; k++) hlo_value_release(args[k]);
  return hr_error(HR_UNSUPPORTED, "bodies that are not of scalars are not evaluated ahead of time");
}

static bool is_plain(const hlo_shape_t *shape) { return hlo_shape_is_array(shape) && !hlo_shape_is_dynamic(shape); }

bool pass_can_evaluate(const hlo_instr_t *instr) {
  const uint32_t never = OP_CONTROL | OP_EFFECT | OP_COMM | OP_RANDOM | OP_START | OP_DONE;
  if ((hlo_op_table[instr->op].traits & never) || !op_kernels[instr->op] || !op_kernels[instr->op]->run) return false;
  if (instr->op == HLO_CUSTOM_CALL || instr->op == HLO_CONSTANT || instr->op == HLO_PARAMETER ||
      instr->op == HLO_REPLICA_ID || instr->op == HLO_PARTITION_ID || !is_plain(instr->shape))
    return false;
  for (int k = 0; k < instr->operand_count; k++)
    if (!is_plain(instr->operands[k]->shape)) return false;
  return true;
}

static hr_status_t run_kernel(hr_arena_t *scratch, const hlo_instr_t *instr, hlo_value_t *const *in,
                              hlo_value_t **out_value) {
  op_env_t env = {.scratch = scratch, .check_cancelled = no_cancel, .call = no_call, .num_replicas = 1,
                  .num_partitions = 1};
  const op_kernel_t *kernel = op_kernels[instr->op];
  const hlo_shape_t **shapes;
  HR_TRY(HR_NEW_ARRAY(scratch, instr->operand_count, &shapes));
  for (int k = 0; k < instr->operand_count; k++) shapes[k] = instr->operands[k]->shape;
  op_step_t step = {.instr = instr, .in_shapes = shapes, .out_shape = instr->shape};
  if (kernel->prepare) HR_TRY(kernel->prepare(scratch, &step, &step.plan));
  return kernel->run(&env, &step, in, out_value);
}

hr_status_t pass_evaluate(const hlo_instr_t *instr, hlo_value_t *const *in, hlo_value_t **out_value) {
  hr_arena_t scratch;
  hr_arena_init(&scratch);
  *out_value = NULL;
  hr_status_t st = run_kernel(&scratch, instr, in, out_value);
  hr_arena_deinit(&scratch);
  if (!st || hr_status_code(st) == HR_NO_MEMORY) return st;
  hr_status_release(st);
  *out_value = NULL;
  return NULL;
}
