/* The end of a rewrite: a stable topological sort. It marks live instructions from the root, from
 * parameters and from effects, sorts them by position (counting sort), and lists each after its
 * operands, control predecessors and the previous instruction with an effect. The depth-first
 * search has an explicit stack, since chains of operands may be long. A cycle is an error of a
 * pass. Cost: linear in the instructions, old and new. */
#include "passes/lib/pass_rewrite_own.h"

typedef struct sorter {
  pass_rewrite_t *rewrite;
  uint8_t *states;   /* by id */
  uint32_t *effects; /* by id of an instruction with effects: 1 + id of the previous one with
                        effects; 0: none */
  HR_VEC(hlo_instr_t *) stack;
  HR_VEC(hlo_instr_t *) list; /* in the new order */
} sorter_t;

enum { STATE_DEAD, STATE_LIVE, STATE_OPEN, STATE_LISTED };

static hr_status_t push_live(sorter_t *sorter, hlo_instr_t *instr) {
  if (sorter->states[instr->id] != STATE_DEAD) return NULL;
  sorter->states[instr->id] = STATE_LIVE;
  HR_VEC_PUSH(&sorter->stack, instr);
  return NULL;
}

static int control_count(const hlo_instr_t *instr) {
  return instr->extra ? instr->extra->control_count : 0;
}

/* Marks everything on which the stack depends, and resolves operands. */
static hr_status_t mark_operands(sorter_t *sorter) {
  while (sorter->stack.count) {
    hlo_instr_t *instr = sorter->stack.data[--sorter->stack.count];
    pass_resolve_operands(sorter->rewrite, instr);
    for (int k = 0; k < instr->operand_count; k++) HR_TRY(push_live(sorter, instr->operands[k]));
    for (int k = 0; k < control_count(instr); k++) {
      hlo_instr_t **before = &instr->extra->control_predecessors[k];
      *before = pass_resolve(sorter->rewrite, *before);
      HR_TRY(push_live(sorter, *before));
    }
  }
  return NULL;
}

static bool is_live_root(const pass_rewrite_t *rewrite, const hlo_instr_t *instr) {
  return !rewrite->notes.data[instr->id].replacement &&
         (instr->op == HLO_PARAMETER || pass_must_stay(instr));
}

static hr_status_t mark_live(sorter_t *sorter) {
  pass_rewrite_t *rewrite = sorter->rewrite;
  hlo_computation_t *computation = rewrite->computation;
  computation->root = pass_resolve(rewrite, computation->root);
  HR_TRY(push_live(sorter, computation->root));
  HR_TRY(mark_operands(sorter));
  for (size_t i = 0; i < computation->instrs.count; i++) {
    if (!is_live_root(rewrite, computation->instrs.data[i])) continue;
    HR_TRY(push_live(sorter, computation->instrs.data[i]));
    HR_TRY(mark_operands(sorter));
  }
  return NULL;
}

/* Counting sort by position: new instructions come before the old one with their position. */
static hr_status_t sort_by_position(pass_rewrite_t *rewrite, hlo_instr_t ***out_sorted) {
  hlo_computation_t *computation = rewrite->computation;
  size_t count = computation->instrs.count;
  uint32_t *next;
  hlo_instr_t **sorted;
  HR_TRY(HR_NEW_ARRAY(&rewrite->scratch, rewrite->old_count + 2, &next));
  HR_TRY(HR_NEW_ARRAY(&rewrite->scratch, count, &sorted));
  for (size_t i = 0; i < count; i++) next[rewrite->notes.data[i].position + 1]++;
  for (uint32_t p = 0; p < rewrite->old_count; p++) next[p + 1] += next[p];
  for (size_t i = rewrite->old_count; i < count; i++)
    sorted[next[rewrite->notes.data[i].position]++] = computation->instrs.data[i];
  for (size_t i = 0; i < rewrite->old_count; i++) sorted[next[i]] = computation->instrs.data[i];
  *out_sorted = sorted;
  return NULL;
}

static void chain_effects(sorter_t *sorter, hlo_instr_t *const *sorted, size_t count) {
  uint32_t last = 0;
  for (size_t i = 0; i < count; i++) {
    const hlo_instr_t *instr = sorted[i];
    if (sorter->states[instr->id] == STATE_DEAD || !pass_has_effect(instr)) continue;
    sorter->effects[instr->id] = last;
    last = instr->id + 1;
  }
}

/* A predecessor of `instr` that is not listed yet; NULL: none. */
static hlo_instr_t *next_predecessor(const sorter_t *sorter, const hlo_instr_t *instr) {
  uint32_t effect = sorter->effects[instr->id];
  for (int k = 0; k < instr->operand_count; k++)
    if (sorter->states[instr->operands[k]->id] != STATE_LISTED) return instr->operands[k];
  for (int k = 0; k < control_count(instr); k++)
    if (sorter->states[instr->extra->control_predecessors[k]->id] != STATE_LISTED)
      return instr->extra->control_predecessors[k];
  if (effect && sorter->states[effect - 1] != STATE_LISTED)
    return sorter->rewrite->computation->instrs.data[effect - 1];
  return NULL;
}

/* Lists an instruction after all its predecessors: depth-first, with an explicit stack. */
static hr_status_t list_after_predecessors(sorter_t *sorter, hlo_instr_t *instr) {
  HR_VEC_PUSH(&sorter->stack, instr);
  while (sorter->stack.count) {
    hlo_instr_t *top = sorter->stack.data[sorter->stack.count - 1],
                *need = next_predecessor(sorter, top);
    if (need && sorter->states[need->id] == STATE_OPEN)
      return hlo_error_from(__FILE__, __LINE__, HR_INTERNAL, need, NULL,
                            "a pass made it depend on itself");
    sorter->states[top->id] = need ? STATE_OPEN : STATE_LISTED;
    if (need) {
      HR_VEC_PUSH(&sorter->stack, need);
    } else {
      sorter->stack.count--;
      HR_VEC_PUSH(&sorter->list, top);
    }
  }
  return NULL;
}

static hr_status_t list_all(sorter_t *sorter) {
  hlo_instr_t **sorted;
  size_t count = sorter->rewrite->computation->instrs.count;
  HR_TRY(sort_by_position(sorter->rewrite, &sorted));
  chain_effects(sorter, sorted, count);
  HR_TRY(HR_VEC_RESERVE(&sorter->list, count));
  for (size_t i = 0; i < count; i++)
    if (sorter->states[sorted[i]->id] == STATE_LIVE)
      HR_TRY(list_after_predecessors(sorter, sorted[i]));
  return NULL;
}

static void store_list(sorter_t *sorter) {
  hlo_computation_t *computation = sorter->rewrite->computation;
  for (size_t i = 0; i < sorter->list.count; i++) {
    computation->instrs.data[i] = sorter->list.data[i];
    sorter->list.data[i]->id = (uint32_t)i;
  }
  computation->instrs.count = sorter->list.count;
}

hr_status_t pass_rewrite_sort(pass_rewrite_t *rewrite) {
  sorter_t sorter = {.rewrite = rewrite};
  size_t count = rewrite->computation->instrs.count;
  HR_TRY(HR_NEW_ARRAY(&rewrite->scratch, count, &sorter.states));
  HR_TRY(HR_NEW_ARRAY(&rewrite->scratch, count, &sorter.effects));
  hr_status_t st = mark_live(&sorter);
  if (!st) st = list_all(&sorter);
  if (!st) store_list(&sorter);
  HR_VEC_FREE(&sorter.stack);
  HR_VEC_FREE(&sorter.list);
  return st;
}
