/* Dead code elimination: instructions that neither the root nor an effect needs, and computations
 * that the entry does not reach. Unused loop state is removed by pass_simplify_while_state. Linear.
 */
#include "passes/lib/pass_rewrite.h"
#include "passes/passes.h"

hr_status_t pass_dce(hlo_module_t *module, bool *out_changed) {
  size_t count = module->computations.count;
  HR_TRY(pass_computations_order(module));
  if (module->computations.count != count) *out_changed = true;
  for (size_t c = 0; c < module->computations.count; c++) {
    hlo_computation_t *computation = module->computations.data[c];
    count = computation->instrs.count;
    HR_TRY(pass_remove_dead(computation));
    if (computation->instrs.count != count) *out_changed = true;
  }
  return NULL;
}
