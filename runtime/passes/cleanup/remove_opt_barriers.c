/* Removes optimisation barriers, which kept the passes before this one from moving code across
 * them:
 *
 *   t = opt-barrier(tuple(a, b)), gte(t, 0)   ->   a
 *
 * Later passes only fuse and schedule, which barriers do not restrict here. Exact. */
#include "passes/lib/pass_rewrite.h"
#include "passes/passes.h"

/* The value behind a barrier, or the tuple element passed through one; NULL: it is neither. */
static hlo_instr_t *without_barrier(const hlo_instr_t *instr) {
  if (instr->op == HLO_OPT_BARRIER) return instr->operands[0];
  bool of_tuple = instr->op == HLO_GET_TUPLE_ELEMENT && instr->operands[0]->op == HLO_TUPLE;
  return of_tuple ? instr->operands[0]->operands[hlo_attr_int(instr, HLO_ATTR_INDEX)] : NULL;
}

static hr_status_t visit(pass_rewrite_t *rewrite, hlo_instr_t *instr, void *context) {
  (void)context;
  hlo_instr_t *value = without_barrier(instr);
  return value ? pass_replace(rewrite, instr, value) : NULL;
}

static bool has_barriers(const hlo_computation_t *computation) {
  for (size_t i = 0; i < computation->instrs.count; i++)
    if (computation->instrs.data[i]->op == HLO_OPT_BARRIER) return true;
  return false;
}

hr_status_t pass_remove_opt_barriers(hlo_module_t *module, bool *out_changed) {
  for (size_t c = 0; c < module->computations.count; c++)
    if (has_barriers(module->computations.data[c]))
      HR_TRY(pass_rewrite_each(module->computations.data[c], visit, NULL, out_changed));
  return NULL;
}
