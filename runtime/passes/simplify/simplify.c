/* The driver of the simplification rules: each instruction, in program order, gets the first rule
 * that applies, and its replacement is simplified again, up to MAX_STEPS times. Rules are grouped
 * in families by op (simplify.h). The pass repeats until nothing changes, so a rule must not undo
 * another. */
#include "passes/simplify/simplify.h"

#include "passes/lib/pass_match.h"
#include "passes/passes.h"

#define MAX_STEPS 32 /* rewrites of one instruction in one round */
#define MAX_ROUNDS 4

static const simplify_fn families[] = {
    simplify_arithmetic,     simplify_logic,       simplify_convert, simplify_splats,
    simplify_movement,       simplify_parts,       simplify_reduce,  simplify_reshape_sink,
    simplify_int8_dot,       simplify_softmax_dot, simplify_dots,    simplify_dot_order,
    simplify_grouped_dot,    simplify_gates,       simplify_conv,    simplify_gather,
    simplify_known_gather,   simplify_window,      simplify_sparse,  simplify_softplus,
    simplify_transpose_sink, simplify_slice_sink};

/* Structural rules apply to all shapes, the families to static arrays only. */
static hlo_instr_t *apply_rules(pass_rewrite_t *rewrite, hlo_instr_t *instr) {
  hlo_instr_t *better = simplify_structure(rewrite, instr);
  if (better || !pass_has_static_arrays(instr)) return better;
  for (size_t i = 0; i < sizeof families / sizeof *families && !better && !rewrite->builder.status;
       i++)
    better = families[i](rewrite, instr);
  return better;
}

static hr_status_t simplify_instr(pass_rewrite_t *rewrite, hlo_instr_t *instr, void *context) {
  (void)context;
  for (int step = 0; step < MAX_STEPS; step++) {
    if (instr->extra && instr->extra->control_count) return NULL;
    hlo_instr_t *better = apply_rules(rewrite, instr);
    if (!better) return hlo_builder_finish(&rewrite->builder);
    HR_TRY(pass_replace(rewrite, instr, better));
    instr = pass_resolve(rewrite, better);
    if (instr->id < rewrite->old_count)
      return NULL; /* an old instruction: has been visited, or will be */
  }
  return NULL;
}

/* Rounds until nothing changes: the operands that a rule builds are visited in the next one. Other
 * passes would take them as they are, as a transposition that a product can absorb for one that is
 * worth moving out of a loop. */
hr_status_t pass_simplify(hlo_module_t *module, bool *out_changed) {
  bool changed = true;
  for (int round = 0; round < MAX_ROUNDS && changed; round++) {
    changed = false;
    HR_TRY(pass_rewrite_module(module, simplify_instr, NULL, &changed));
    *out_changed |= changed;
  }
  return NULL;
}
