/* Inlining of calls and fusions.
 *
 *   call(x, y), to_apply=f   ->   the body of f with x and y for its parameters
 *
 * Fusions of the input program were formed for another compiler; they are inlined here and formed
 * anew by pass_fuse. Rounds are repeated until no call is left, since inlined bodies may contain
 * calls. Calls with effects that take part in control dependencies stay. MAX_ADDED bounds the
 * growth: bodies that call the next one twice would grow exponentially. Exact. */
#include "passes/cleanup/inline_calls.h"

#include "passes/lib/pass_rewrite.h"
#include "passes/passes.h"

static bool is_call(const hlo_instr_t *instr) {
  return instr->op == HLO_CALL || instr->op == HLO_FUSION;
}

static int control_count(const hlo_instr_t *instr) {
  return instr->extra ? instr->extra->control_count : 0;
}

/* By id: is the instruction a control predecessor of another? */
static hr_status_t find_control_predecessors(pass_rewrite_t *rewrite, bool **out_is_predecessor) {
  const hlo_computation_t *computation = rewrite->computation;
  HR_TRY(HR_NEW_ARRAY(&rewrite->scratch, rewrite->old_count, out_is_predecessor));
  for (uint32_t i = 0; i < rewrite->old_count; i++) {
    const hlo_instr_t *instr = computation->instrs.data[i];
    for (int k = 0; k < control_count(instr); k++)
      (*out_is_predecessor)[instr->extra->control_predecessors[k]->id] = true;
  }
  return NULL;
}

/* Would inlining lose an order between effects inside and the call's control dependencies? */
static bool has_ordered_effect(const hlo_instr_t *call, const bool *is_predecessor) {
  return (control_count(call) || is_predecessor[call->id]) && pass_has_effect(call);
}

static hr_status_t inline_round(hlo_computation_t *computation, pass_inline_fn wanted,
                                const void *context, bool *out_changed) {
  pass_rewrite_t rewrite;
  bool *is_predecessor;
  HR_TRY(pass_rewrite_begin(&rewrite, computation));
  hr_status_t st = find_control_predecessors(&rewrite, &is_predecessor);
  for (uint32_t i = 0; i < rewrite.old_count && !st; i++) {
    hlo_instr_t *instr = pass_rewrite_visit(&rewrite, i);
    if (instr && is_call(instr) && wanted(instr, context) &&
        !has_ordered_effect(instr, is_predecessor))
      st = pass_replace(&rewrite, instr,
                        pass_clone_body(&rewrite, instr->called[0], instr->operands));
  }
  *out_changed = rewrite.changed;
  return pass_rewrite_end(&rewrite, st);
}

hr_status_t pass_inline(hlo_computation_t *computation, pass_inline_fn wanted,
                        const void *context) {
  for (bool changed = true; changed;) HR_TRY(inline_round(computation, wanted, context, &changed));
  return NULL;
}

/* Instructions that inlining may add to a module, besides four times its own. */
#define MAX_ADDED 100000

/* Deducts the size of the callee from the budget. */
static bool fits_budget(const hlo_instr_t *call, const void *context) {
  int64_t *budget = *(int64_t *const *)context, added = (int64_t)call->called[0]->instrs.count;
  if (added > *budget) return false;
  *budget -= added;
  return true;
}

static bool has_calls(const hlo_computation_t *computation) {
  for (size_t i = 0; i < computation->instrs.count; i++)
    if (is_call(computation->instrs.data[i])) return true;
  return false;
}

/* Callees come first, so an inlined body contains only calls that must stay. */
hr_status_t pass_inline_calls(hlo_module_t *module, bool *out_changed) {
  int64_t budget = MAX_ADDED, *context = &budget;
  for (size_t c = 0; c < module->computations.count; c++)
    budget += 4 * (int64_t)module->computations.data[c]->instrs.count;
  for (size_t c = 0; c < module->computations.count; c++) {
    hlo_computation_t *computation = module->computations.data[c];
    if (!has_calls(computation)) continue;
    *out_changed = true;
    HR_TRY(pass_inline(computation, fits_budget, &context));
  }
  return *out_changed ? pass_computations_order(module) : NULL;
}
