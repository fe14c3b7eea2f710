/* interpreter.run_parallel: the called computations, one process each on a grid of their own, then
 * those that fill the infeed. The operands are those of all processes, one after the other, replica
 * by replica; so are the results. Source: StableHLO's interpreter dialect. */
#include "ops/kernels/custom/custom_call.h"
#include "ops/rules/constraint.h"

/* Checks that the parameters of all processes, one after the other, are the operands of the
 * call. */
static hr_status_t check_arguments(const hlo_instr_t *instr, int count) {
  int next = 0;
  for (int p = 0; p < count; p++)
    for (size_t k = 0; k < instr->called[p]->params.count; k++, next++) {
      OP_WANT(instr, next < instr->operand_count, NULL, "%d operands, but its programs take more",
              instr->operand_count);
      const hlo_shape_t *operand = instr->operands[next]->shape,
                        *param = instr->called[p]->params.data[k]->shape;
      OP_WANT(instr, hlo_shape_compatible(operand, param), NULL, "operand %d is %s, want %s", next,
              OP_TEXT(operand), OP_TEXT(param));
    }
  OP_WANT(instr, next == instr->operand_count, NULL, "%d operands, want %d", instr->operand_count,
          next);
  return NULL;
}

/* Checks that the leaves of all processes' results, one after the other, are the leaves of the
 * call's result. */
static hr_status_t check_results(const hlo_instr_t *instr, int count) {
  int next = 0, wanted = hlo_shape_leaf_count(instr->shape);
  for (int p = 0; p < count; p++) {
    const hlo_shape_t *result = instr->called[p]->root->shape;
    for (int leaf = 0; leaf < hlo_shape_leaf_count(result); leaf++, next++)
      OP_WANT(instr,
              next < wanted && hlo_shape_compatible(hlo_shape_leaf(result, leaf),
                                                    hlo_shape_leaf(instr->shape, next)),
              NULL, "result %d is %s, which is not what its program returns", next,
              next < wanted ? OP_TEXT(hlo_shape_leaf(instr->shape, next)) : "missing");
  }
  OP_WANT(instr, next == wanted, NULL, "%d results, want %d", wanted, next);
  return NULL;
}

/* Computations beyond replicas * partitions fill the infeed, and have no parameters. */
static hr_status_t prepare_parallel(hr_arena_t *arena, const op_step_t *step,
                                    const void **out_plan) {
  const hlo_instr_t *instr = step->instr;
  int replicas, partitions;
  (void)arena, (void)out_plan;
  op_parallel_grid(instr, &replicas, &partitions);
  OP_WANT(instr, replicas > 0, NULL, "want a grid, and a computation for each of its processes");
  for (int p = replicas * partitions; p < instr->called_count; p++)
    OP_WANT(instr, instr->called[p]->params.count == 0, NULL,
            "%%%.*s fills the infeed, but takes parameters", HR_STR_ARGS(instr->called[p]->name));
  HR_TRY(check_arguments(instr, replicas * partitions));
  return check_results(instr, replicas * partitions);
}

/* The engine runs the processes (engine_ops); the reference engine of one process has no such
 * hook. */
static hr_status_t run_parallel(op_env_t *env, const op_step_t *step, hlo_value_t *const *in,
                                hlo_value_t **out_value) {
  int replicas, partitions;
  if (!env->engine_ops->run_parallel)
    return hlo_unsupported(step->instr, "this engine runs one process only");
  op_parallel_grid(step->instr, &replicas, &partitions);
  return env->engine_ops->run_parallel(env, step->instr, replicas, partitions, in, out_value);
}

const op_kernel_t custom_parallel = {prepare_parallel, run_parallel};
