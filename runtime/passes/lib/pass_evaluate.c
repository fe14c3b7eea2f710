/* Compile-time evaluation with the kernels of the reference engine. A kernel that fails (other than
 * for lack of memory) means that the instruction is not folded: the error then occurs at run time.
 */
#include "passes/lib/pass_evaluate.h"

#include "ops/kernels/pure.h"

static bool is_static_array(const hlo_shape_t *shape) {
  return hlo_shape_is_array(shape) && !hlo_shape_is_dynamic(shape);
}

bool pass_can_evaluate(const hlo_instr_t *instr) {
  if (!op_is_pure(instr) || instr->op == HLO_CONSTANT || instr->op == HLO_PARAMETER ||
      instr->op == HLO_REPLICA_ID || instr->op == HLO_PARTITION_ID ||
      !is_static_array(instr->shape))
    return false;
  for (int k = 0; k < instr->operand_count; k++)
    if (!is_static_array(instr->operands[k]->shape)) return false;
  return true;
}

static hr_status_t run_kernel(hr_arena_t *scratch, const hlo_instr_t *instr, hlo_value_t *const *in,
                              hlo_value_t **out_value) {
  op_step_t step;
  HR_TRY(op_pure_prepare(scratch, instr, &step));
  return op_pure_run(&step, scratch, in, out_value);
}

hr_status_t pass_evaluate(const hlo_instr_t *instr, hlo_value_t *const *in,
                          hlo_value_t **out_value) {
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
