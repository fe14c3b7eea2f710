/* Compile-time evaluation with the kernels of the reference engine. A kernel that fails (other than
 * for lack of memory) means that the instruction is not folded: the error then occurs at run time.
 */
#include "passes/lib/pass_evaluate.h"

#include "ops/kernels/pure.h"
#include "passes/lib/pass_match.h"

/* Pure ops on static arrays; ids of the process are not known at compile time. */
bool pass_can_evaluate(const hlo_instr_t *instr) {
  bool is_leaf = instr->op == HLO_CONSTANT || instr->op == HLO_PARAMETER;
  bool is_id = instr->op == HLO_REPLICA_ID || instr->op == HLO_PARTITION_ID;
  return op_is_pure(instr) && !is_leaf && !is_id && pass_has_static_arrays(instr);
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
