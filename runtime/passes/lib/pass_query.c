/* Queries of passes on instructions: effects, users, equal elements. */
#include <string.h>

#include "ops/rules/builder.h"
#include "passes/lib/pass_rewrite.h"

/* ---- effects ---- */

enum { PURITY_UNKNOWN, PURITY_PURE, PURITY_IMPURE, PURITY_EFFECT };

/* Custom calls declare their effects; other ops have them by trait. */
static int purity_of_op(const hlo_instr_t *instr) {
  bool declares = instr->op == HLO_CUSTOM_CALL;
  if (declares ? hlo_attr_bool(instr, HLO_ATTR_CUSTOM_CALL_HAS_SIDE_EFFECT)
               : hlo_op_is(instr->op, OP_EFFECT))
    return PURITY_EFFECT;
  uint32_t traits = hlo_op_table[instr->op].traits;
  bool ordered =
      instr->op == HLO_AFTER_ALL || instr->op == HLO_ADD_DEPENDENCY || instr->op == HLO_OPT_BARRIER;
  return ordered || (traits & (OP_RANDOM | OP_COMM | OP_START | OP_DONE)) ||
                 instr->op == HLO_ASYNC_UPDATE
             ? PURITY_IMPURE
             : PURITY_PURE;
}

static int instr_purity(const hlo_instr_t *instr);

/* Computed once: no pass adds effects to a computation. */
static int purity_of_computation(hlo_computation_t *computation) {
  int worst = PURITY_PURE;
  if (computation->purity) return computation->purity;
  for (size_t i = 0; i < computation->instrs.count && worst != PURITY_EFFECT; i++) {
    int purity = instr_purity(computation->instrs.data[i]);
    if (purity > worst) worst = purity;
  }
  computation->purity = (uint8_t)worst;
  return worst;
}

static int instr_purity(const hlo_instr_t *instr) {
  int worst = purity_of_op(instr);
  for (int c = 0; c < instr->called_count && worst != PURITY_EFFECT; c++) {
    int purity = purity_of_computation(instr->called[c]);
    if (purity > worst) worst = purity;
  }
  return worst;
}

bool pass_has_effect(const hlo_instr_t *instr) { return instr_purity(instr) == PURITY_EFFECT; }
bool pass_is_pure(const hlo_instr_t *instr) { return instr_purity(instr) == PURITY_PURE; }
bool pass_must_stay(const hlo_instr_t *instr) {
  bool all_drop = hlo_op_is(instr->op, OP_COLLECTIVE) && instr->parent->module->was_global;
  return !all_drop && pass_has_effect(instr);
}

/* ---- users ---- */

hr_status_t pass_users_find(hr_arena_t *arena, const hlo_computation_t *computation,
                            pass_users_t *out_users) {
  size_t count = computation->instrs.count;
  uint32_t *first;
  HR_TRY(HR_NEW_ARRAY(arena, count + 2, &first));
  for (size_t i = 0; i < count; i++)
    for (int k = 0; k < computation->instrs.data[i]->operand_count; k++)
      first[computation->instrs.data[i]->operands[k]->id + 2]++;
  for (size_t i = 0; i < count; i++) first[i + 2] += first[i + 1];
  hlo_instr_t **users;
  HR_TRY(HR_NEW_ARRAY(arena, first[count + 1], &users));
  for (size_t i = 0; i < count; i++)
    for (int k = 0; k < computation->instrs.data[i]->operand_count; k++)
      users[first[computation->instrs.data[i]->operands[k]->id + 1]++] =
          computation->instrs.data[i];
  *out_users = (pass_users_t){first, users};
  return NULL;
}

/* ---- values ---- */

static bool is_uniform(const hlo_value_t *value) {
  const char *bytes = value->data;
  size_t element_bytes = hr_dtype_bytes(value->dtype), total = hlo_value_bytes(value);
  return value->count > 0 && total <= 65536 &&
         !memcmp(bytes, bytes + element_bytes, total - element_bytes);
}

const void *pass_splat_of(const hlo_instr_t *instr) {
  while (instr->op == HLO_BROADCAST || instr->op == HLO_RESHAPE) instr = instr->operands[0];
  if (instr->op != HLO_CONSTANT || !instr->literal || !hlo_shape_is_array(instr->shape))
    return NULL;
  return is_uniform(instr->literal) ? instr->literal->data : NULL;
}
