/* The number of instructions when each call and each body of control flow has a copy of its own.
 * Callees come first, so one pass over the instructions adds up their callees' numbers; bodies that
 * call the next one twice make it grow exponentially, hence the type double. Cost: linear. */
#include "partition/annotations/normalize.h"

/* A program of so many instructions takes about 2 GiB. */
#define MOST_EXPANDED (1 << 20)

static bool is_copied(const hlo_instr_t *instr) {
  return instr->op == HLO_CALL || instr->op == HLO_FUSION || instr->op == HLO_WHILE ||
         instr->op == HLO_CONDITIONAL;
}

static hr_status_t too_many(const hlo_instr_t *instr, double count) {
  hr_where_t where = {.pos = hlo_instr_pos(instr)};
  hr_where_push(&where);
  hr_status_t st = hr_error(HR_UNSUPPORTED,
                            "computations that are called several times are copied to be cut: "
                            "here to %.3g instructions, want at most %d",
                            count, MOST_EXPANDED);
  hr_where_pop(&where);
  return st;
}

static hr_status_t expand(const hlo_computation_t *computation, double *counts) {
  double count = (double)computation->instrs.count;
  for (size_t i = 0; i < computation->instrs.count; i++) {
    const hlo_instr_t *instr = computation->instrs.data[i];
    for (int k = 0; k < instr->called_count && is_copied(instr); k++)
      count += counts[instr->called[k]->id];
    if (instr->called_count && count > MOST_EXPANDED) return too_many(instr, count);
  }
  counts[computation->id] = count;
  return NULL;
}

hr_status_t spmd_check_expanded_size(hr_arena_t *scratch, const hlo_module_t *module) {
  double *counts;
  HR_TRY(HR_NEW_ARRAY(scratch, module->computations.count, &counts));
  for (size_t c = 0; c < module->computations.count; c++)
    HR_TRY(expand(module->computations.data[c], counts));
  return NULL;
}
