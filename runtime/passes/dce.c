/* Removes what nothing needs. Unused carries of loops are the business of the pass on loops. */
#include "passes/pass_rewrite.h"
#include "passes/passes.h"

/* Opening and closing a rewrite is what removes them. */
static hr_status_t clean(hlo_computation_t *computation, bool *out_changed) {
  pass_rewrite_t rewrite;
  HR_TRY(pass_rewrite_begin(&rewrite, computation));
  HR_TRY(pass_rewrite_end(&rewrite, NULL));
  if (computation->instrs.count != rewrite.old_count) *out_changed = true;
  return NULL;
}

hr_status_t pass_dce(hlo_module_t *module, bool *out_changed) {
  size_t count = module->computations.count;
  HR_TRY(pass_computations_order(module));
  if (module->computations.count != count) *out_changed = true;
  for (size_t c = 0; c < module->computations.count; c++) HR_TRY(clean(module->computations.data[c], out_changed));
  return NULL;
}
