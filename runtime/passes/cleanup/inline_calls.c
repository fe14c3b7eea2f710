#include "passes/cleanup/inline_calls.h"

#include "passes/lib/pass_rewrite.h"
#include "passes/passes.h"

static bool is_call(const hlo_instr_t *instr) {
  return instr->op == HLO_CALL || instr->op == HLO_FUSION;
}

static int control_count(const hlo_instr_t *instr) {
  return instr->extra ? instr->extra->control_count : 0;
}

/* Calls that others wait for, by id. */
static hr_status_t find_awaited(pass_rewrite_t *rewrite, bool **out_awaited) {
  const hlo_computation_t *computation = rewrite->computation;
  HR_TRY(HR_NEW_ARRAY(&rewrite->scratch, rewrite->old_count, out_awaited));
  for (uint32_t i = 0; i < rewrite->old_count; i++) {
    const hlo_instr_t *instr = computation->instrs.data[i];
    for (int k = 0; k < control_count(instr); k++)
      (*out_awaited)[instr->extra->control_predecessors[k]->id] = true;
  }
  return NULL;
}

/* The order of effects inside would come apart from the order of the call. */
static bool is_ordered(const hlo_instr_t *call, const bool *awaited) {
  return (control_count(call) || awaited[call->id]) && pass_has_effect(call);
}

static hr_status_t inline_round(hlo_computation_t *computation, pass_inline_fn wanted,
                                const void *context, bool *out_changed) {
  pass_rewrite_t rewrite;
  bool *awaited;
  HR_TRY(pass_rewrite_begin(&rewrite, computation));
  hr_status_t st = find_awaited(&rewrite, &awaited);
  for (uint32_t i = 0; i < rewrite.old_count && !st; i++) {
    hlo_instr_t *instr = pass_rewrite_visit(&rewrite, i);
    if (instr && is_call(instr) && wanted(instr, context) && !is_ordered(instr, awaited))
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

/* Instructions that calls may add to a module, besides four times what it has: bodies that each
 * call the next one twice would have no end. */
#define MOST_ADDED 100000

/* Takes what the call adds from what may still be added. */
static bool is_affordable(const hlo_instr_t *call, const void *context) {
  int64_t *left = *(int64_t *const *)context, added = (int64_t)call->called[0]->instrs.count;
  if (added > *left) return false;
  *left -= added;
  return true;
}

static bool has_calls(const hlo_computation_t *computation) {
  for (size_t i = 0; i < computation->instrs.count; i++)
    if (is_call(computation->instrs.data[i])) return true;
  return false;
}

/* Fusions that a program brings along are another compiler's: they are taken apart, and made anew
 * for this one. Callees come first, so what is put in has no calls any more but those that must
 * stay. */
hr_status_t pass_inline_calls(hlo_module_t *module, bool *out_changed) {
  int64_t left = MOST_ADDED, *context = &left;
  for (size_t c = 0; c < module->computations.count; c++)
    left += 4 * (int64_t)module->computations.data[c]->instrs.count;
  for (size_t c = 0; c < module->computations.count; c++) {
    hlo_computation_t *computation = module->computations.data[c];
    if (!has_calls(computation)) continue;
    *out_changed = true;
    HR_TRY(pass_inline(computation, is_affordable, &context));
  }
  return *out_changed ? pass_computations_order(module) : NULL;
}
