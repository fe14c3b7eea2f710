/* What the flat planner must know of computations before it lays them out: computations are listed callees first, so
 * one sweep finds everything. */
#include "plan/flat_build.h"

int flat_leaf_start(const hlo_shape_t *shape, int index) {
  int start = 0;
  for (int i = 0; i < index; i++) start += hlo_shape_leaf_count(shape->elements[i]);
  return start;
}

static bool has_kept_leaf(const hlo_shape_t *shape) {
  for (int i = 0; i < shape->element_count; i++)
    if (has_kept_leaf(shape->elements[i])) return true;
  return shape->dtype == HR_OPAQUE || shape->dtype == HR_BUFFER;
}

static bool passes_values_on(const hlo_instr_t *instr) {
  return instr->op == HLO_TUPLE || instr->op == HLO_GET_TUPLE_ELEMENT || instr->op == HLO_WHILE ||
         instr->op == HLO_CALL || instr->op == HLO_CONDITIONAL || instr->op == HLO_FUSION ||
         hlo_op_is(instr->op, OP_IDENTITY);
}

static bool has_kept_operand(const hlo_instr_t *instr, const bool *kept) {
  for (int k = 0; k < instr->operand_count; k++)
    if (kept[instr->operands[k]->id]) return true;
  return false;
}

/* A pair whose operands are kept cannot be laid out after all. */
static bool is_kept(const hlo_instr_t *instr, const bool *kept, const flat_facts_t *facts) {
  const hlo_instr_t **done = &facts[instr->parent->id].done[instr->id];
  if (has_kept_operand(instr, kept)) *done = NULL;
  if (*done) return false;
  if (hlo_op_is(instr->op, OP_START) || instr->op == HLO_ASYNC_UPDATE || has_kept_leaf(instr->shape)) return true;
  if (!passes_values_on(instr)) return false;
  if (has_kept_operand(instr, kept)) return true;
  for (int c = 0; c < instr->called_count; c++) {
    const hlo_computation_t *called = instr->called[c];
    if (facts[called->id].kept && facts[called->id].kept[called->root->id]) return true;
  }
  return false;
}

/* Goes from a leaf of a value to the operand that it is taken from; false at its origin. */
static bool step_back(const flat_facts_t *facts, const hlo_instr_t **instr, int *leaf) {
  const hlo_instr_t *at = *instr;
  int k = 0, from = *leaf;
  if (at->op == HLO_GET_TUPLE_ELEMENT) {
    from += flat_leaf_start(at->operands[0]->shape, (int)hlo_attr_int(at, HLO_ATTR_INDEX));
  } else if (at->op == HLO_WHILE) {
    const flat_facts_t *body = &facts[at->called[1]->id];
    if (!body->passed || body->passed[from] != from) return false;
  } else if (at->op == HLO_CALL || at->op == HLO_TUPLE) {
    if (at->op == HLO_CALL && !facts[at->called[0]->id].passed) return false;
    if (at->op == HLO_CALL) from = facts[at->called[0]->id].passed[from];
    if (from < 0) return false;
    for (int count; from >= (count = hlo_shape_leaf_count(at->operands[k]->shape)); k++) from -= count;
  } else if (!hlo_op_is(at->op, OP_IDENTITY)) {
    return false;
  }
  *instr = at->operands[k];
  *leaf = from;
  return true;
}

static int trace(const flat_facts_t *facts, const hlo_computation_t *computation, int leaf) {
  const hlo_instr_t *instr = computation->root;
  while (step_back(facts, &instr, &leaf)) continue;
  if (instr->op != HLO_PARAMETER) return -1;
  for (int64_t p = 0; p < hlo_parameter_number(instr); p++)
    leaf += hlo_shape_leaf_count(computation->params.data[p]->shape);
  return leaf;
}

static hr_status_t find_facts(hr_arena_t *arena, const plan_t *plan, const hlo_computation_t *computation,
                              flat_facts_t *facts) {
  flat_facts_t *mine = &facts[computation->id];
  bool *kept;
  HR_TRY(flat_find_pairs(arena, plan, computation, &mine->done));
  HR_TRY(flat_find_channel_pairs(arena, computation, mine->done));
  HR_TRY(HR_NEW_ARRAY(arena, computation->instrs.count, &kept));
  for (size_t i = 0; i < computation->instrs.count; i++) {
    const hlo_instr_t *instr = computation->instrs.data[i];
    kept[i] = is_kept(instr, kept, facts);
    mine->is_dynamic |= hlo_shape_is_dynamic(instr->shape);
  }
  int count = hlo_shape_leaf_count(computation->root->shape), *passed;
  HR_TRY(HR_NEW_ARRAY(arena, count, &passed));
  for (int leaf = 0; leaf < count; leaf++) passed[leaf] = trace(facts, computation, leaf);
  mine->kept = kept;
  mine->passed = passed;
  return NULL;
}

hr_status_t flat_find_facts(hr_arena_t *arena, const plan_t *plan, const flat_facts_t **out_facts) {
  flat_facts_t *facts;
  HR_TRY(HR_NEW_ARRAY(arena, plan->module->computations.count, &facts));
  for (size_t c = 0; c < plan->module->computations.count; c++)
    if (plan->bodies[c]) HR_TRY(find_facts(arena, plan, plan->module->computations.data[c], facts));
  *out_facts = facts;
  return NULL;
}

bool flat_can_inline(const flat_facts_t *facts, const hlo_instr_t *instr) {
  for (int c = 0; c < instr->called_count; c++) {
    const hlo_computation_t *called = instr->called[c];
    const flat_facts_t *its = &facts[called->id];
    if (!its->kept || its->is_dynamic || its->kept[called->root->id]) return false;
  }
  return true;
}
