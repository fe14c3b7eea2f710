/* Optimisation barriers kept the passes before this one from moving and joining what is on their
 * sides; what comes after needs them no more. */
#include "passes/lib/pass_rewrite.h"
#include "passes/passes.h"

static bool has_barriers(const hlo_computation_t *computation) {
  for (size_t i = 0; i < computation->instrs.count; i++)
    if (computation->instrs.data[i]->op == HLO_OPT_BARRIER) return true;
  return false;
}

/* Elements of the tuples that barriers pass on are taken directly. */
static hlo_instr_t *without_barrier(const hlo_instr_t *instr) {
  if (instr->op == HLO_OPT_BARRIER) return instr->operands[0];
  bool of_tuple = instr->op == HLO_GET_TUPLE_ELEMENT && instr->operands[0]->op == HLO_TUPLE;
  return of_tuple ? instr->operands[0]->operands[hlo_attr_int(instr, HLO_ATTR_INDEX)] : NULL;
}

static hr_status_t remove_barriers(hlo_computation_t *computation, bool *out_changed) {
  pass_rewrite_t rewrite;
  hr_status_t st = NULL;
  if (!has_barriers(computation)) return NULL;
  HR_TRY(pass_rewrite_begin(&rewrite, computation));
  for (uint32_t i = 0; i < rewrite.old_count && !st; i++) {
    hlo_instr_t *instr = pass_rewrite_visit(&rewrite, i),
                *by = instr ? without_barrier(instr) : NULL;
    if (by) st = pass_replace(&rewrite, instr, by);
  }
  *out_changed = true;
  return pass_rewrite_end(&rewrite, st);
}

hr_status_t pass_remove_opt_barriers(hlo_module_t *module, bool *out_changed) {
  for (size_t c = 0; c < module->computations.count; c++)
    HR_TRY(remove_barriers(module->computations.data[c], out_changed));
  return NULL;
}
