/* The driver of the rules: each instruction, in order, gets the first rule that knows something
 * better; what comes out is asked again. */
#include "passes/simplify/simplify.h"

#include "passes/passes.h"

enum { MAX_STEPS = 32 }; /* of one instruction in one round */

static const simplify_fn families[] = {
    simplify_arithmetic, simplify_logic, simplify_convert, simplify_splats,
    simplify_movement,   simplify_parts, simplify_reduce,  simplify_reshape_sink,
    simplify_int8_dot,   simplify_dots,  simplify_conv,    simplify_gather,
    simplify_window};

static bool is_static(const hlo_instr_t *instr) {
  if (!hlo_shape_is_array(instr->shape) || hlo_shape_is_dynamic(instr->shape)) return false;
  for (int k = 0; k < instr->operand_count; k++)
    if (!hlo_shape_is_array(instr->operands[k]->shape) ||
        hlo_shape_is_dynamic(instr->operands[k]->shape))
      return false;
  return true;
}

static hlo_instr_t *better_than(pass_rewrite_t *rewrite, hlo_instr_t *instr) {
  hlo_instr_t *better = simplify_structure(rewrite, instr);
  if (better || !is_static(instr)) return better;
  for (size_t i = 0; i < sizeof families / sizeof *families && !better && !rewrite->builder.status;
       i++)
    better = families[i](rewrite, instr);
  return better;
}

static hr_status_t simplify_instr(pass_rewrite_t *rewrite, hlo_instr_t *instr) {
  for (int step = 0; step < MAX_STEPS; step++) {
    if (instr->extra && instr->extra->control_count) return NULL;
    hlo_instr_t *better = better_than(rewrite, instr);
    if (!better) return hlo_builder_finish(&rewrite->builder);
    HR_TRY(pass_replace(rewrite, instr, better));
    instr = pass_resolve(rewrite, better);
    if (instr->id < rewrite->old_count) return NULL; /* it was asked already */
  }
  return NULL;
}

static hr_status_t simplify_computation(hlo_computation_t *computation, bool *out_changed) {
  pass_rewrite_t rewrite;
  hr_status_t st = NULL;
  HR_TRY(pass_rewrite_begin(&rewrite, computation));
  for (uint32_t i = 0; i < rewrite.old_count && !st; i++) {
    hlo_instr_t *instr = pass_rewrite_visit(&rewrite, i);
    if (instr) st = simplify_instr(&rewrite, instr);
  }
  *out_changed |= rewrite.changed;
  return pass_rewrite_end(&rewrite, st);
}

hr_status_t pass_simplify(hlo_module_t *module, bool *out_changed) {
  size_t count = module->computations.count;
  for (size_t c = 0; c < count; c++)
    HR_TRY(simplify_computation(module->computations.data[c], out_changed));
  return module->computations.count > count ? pass_computations_order(module) : NULL;
}
