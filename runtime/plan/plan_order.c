/* Order of instructions: live ones (needed by the root or by an effect) in program order, with each
 * get-tuple-element moved up to its operand. One backward sweep for liveness, one list of elements
 * per tuple; linear. */
#include "plan/plan_order.h"

/* Custom calls declare their effects; other ops have them by trait. */
static bool op_has_effect(const hlo_instr_t *instr) {
  if (instr->op == HLO_CUSTOM_CALL)
    return hlo_attr_bool(instr, HLO_ATTR_CUSTOM_CALL_HAS_SIDE_EFFECT);
  return hlo_op_is(instr->op, OP_EFFECT);
}

/* Does the instruction, or a computation that it calls, have an effect? */
static bool has_effect_with(const hlo_instr_t *instr, const bool *has_effect) {
  if (op_has_effect(instr)) return true;
  for (int i = 0; i < instr->called_count; i++)
    if (has_effect[instr->called[i]->id]) return true;
  return false;
}

/* Computations are listed callees first, so one sweep is enough. */
hr_status_t plan_find_effects(hr_arena_t *arena, const hlo_module_t *module,
                              const bool **out_has_effect) {
  bool *has_effect;
  HR_TRY(HR_NEW_ARRAY(arena, module->computations.count, &has_effect));
  for (size_t c = 0; c < module->computations.count; c++) {
    const hlo_computation_t *computation = module->computations.data[c];
    for (size_t i = 0; i < computation->instrs.count && !has_effect[computation->id]; i++)
      has_effect[computation->id] = has_effect_with(computation->instrs.data[i], has_effect);
  }
  *out_has_effect = has_effect;
  return NULL;
}

/* Liveness in one backward sweep: users come after operands. */
static hr_status_t find_live(hr_arena_t *arena, const hlo_computation_t *computation,
                             const bool *has_effect, bool **out_live) {
  bool *live;
  HR_TRY(HR_NEW_ARRAY(arena, computation->instrs.count, &live));
  live[computation->root->id] = true;
  for (size_t i = computation->instrs.count; i-- > 0;) {
    const hlo_instr_t *instr = computation->instrs.data[i];
    if (!live[i] && !has_effect_with(instr, has_effect)) continue;
    live[i] = true;
    for (int k = 0; k < instr->operand_count; k++) live[instr->operands[k]->id] = true;
  }
  *out_live = live;
  return NULL;
}

typedef struct order {
  const hlo_computation_t *computation;
  bool *live;
  const int *first_gte,
      *next_gte; /* lists of the get-tuple-elements of each instruction; -1 ends */
  hlo_instr_t **list;
  int count;
} order_t;

/* Appends an instruction and, directly after it, its live get-tuple-elements. Recursion depth:
 * nesting of tuples. */
static void append(order_t *order, int id) {
  order->list[order->count++] = order->computation->instrs.data[id];
  for (int gte = order->first_gte[id]; gte >= 0; gte = order->next_gte[gte])
    if (order->live[gte]) append(order, gte);
}

/* Links every get-tuple-element to its operand, in program order. */
static hr_status_t link_elements(hr_arena_t *arena, order_t *order) {
  size_t count = order->computation->instrs.count;
  int *first, *next;
  HR_TRY(HR_NEW_ARRAY(arena, count, &first));
  HR_TRY(HR_NEW_ARRAY(arena, count, &next));
  for (size_t i = 0; i < count; i++) first[i] = next[i] = -1;
  for (size_t i = count; i-- > 0;) {
    const hlo_instr_t *instr = order->computation->instrs.data[i];
    if (instr->op != HLO_GET_TUPLE_ELEMENT) continue;
    next[i] = first[instr->operands[0]->id];
    first[instr->operands[0]->id] = (int)i;
  }
  order->first_gte = first;
  order->next_gte = next;
  return NULL;
}

/* The list may be shorter than the computation. An element directly follows its tuple, so that a
 * tuple dies at once if only its elements are used. */
hr_status_t plan_order(hr_arena_t *arena, const hlo_computation_t *computation,
                       const bool *has_effect, hlo_instr_t *const **out_order, int *out_count) {
  order_t order = {.computation = computation};
  HR_TRY(find_live(arena, computation, has_effect, &order.live));
  HR_TRY(link_elements(arena, &order));
  HR_TRY(HR_NEW_ARRAY(arena, computation->instrs.count, &order.list));
  for (size_t i = 0; i < computation->instrs.count; i++)
    if (order.live[i] && computation->instrs.data[i]->op != HLO_GET_TUPLE_ELEMENT)
      append(&order, (int)i);
  *out_order = order.list;
  *out_count = order.count;
  return NULL;
}
