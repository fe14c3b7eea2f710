/* Finds the instructions whose values are results of the program and leave the caches before
 * anybody reads them. Nontemporal stores to such results save reading the lines that they
 * overwrite. Conditions: the program's parameters and results are larger than the caches, and only
 * the result's tuple reads the instruction. */
#include "jit/jit_parts.h"

#define PROGRAM_BYTES ((double)(32 << 20)) /* size of a last-level cache */

static bool exceeds_caches(const hlo_computation_t *entry) {
  double bytes = jit_shape_bytes(entry->root->shape);
  for (size_t k = 0; k < entry->params.count; k++)
    bytes += jit_shape_bytes(entry->params.data[k]->shape);
  return bytes >= PROGRAM_BYTES;
}

/* Is the instruction's value its operand's, or a part of it? */
static bool is_view(const hlo_instr_t *instr) {
  return instr->op == HLO_GET_TUPLE_ELEMENT || instr->op == HLO_BITCAST || instr->op == HLO_RESHAPE;
}

/* Users follow their operands, so a walk from the end knows the users of each instruction. */
static void find_results(const hlo_computation_t *entry, bool *is_result) {
  for (size_t i = 0; i < entry->instrs.count; i++) is_result[i] = true;
  for (size_t i = entry->instrs.count; i-- > 0;) {
    const hlo_instr_t *user = entry->instrs.data[i];
    bool keeps = (user == entry->root && user->op == HLO_TUPLE) || (is_view(user) && is_result[i]);
    for (int k = 0; k < user->operand_count && !keeps; k++)
      is_result[user->operands[k]->id] = false;
  }
}

hr_status_t jit_leaves_caches(jit_t *jit, const hlo_instr_t *instr, bool *out_leaves) {
  const hlo_computation_t *entry = instr->parent ? instr->parent->module->entry : NULL;
  *out_leaves = false;
  if (!entry || instr->parent != entry) return NULL;
  if (jit->entry != entry) {
    HR_TRY(HR_NEW_ARRAY(&jit->arena, entry->instrs.count, &jit->is_result));
    if (exceeds_caches(entry)) find_results(entry, jit->is_result);
    jit->entry = entry;
  }
  *out_leaves = jit->is_result[instr->id];
  return NULL;
}
