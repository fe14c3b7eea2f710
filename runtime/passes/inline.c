#include "passes/inline.h"

typedef struct inliner {
  hlo_computation_t *into;
  hr_arena_t *arena;
  HR_VEC(hlo_instr_t *) list; /* the new body */
} inliner_t;

/* Ids stay positions in the old bodies while these are read: take_over gives the new ones. */
static hr_status_t append(inliner_t *inliner, hlo_instr_t *instr) {
  HR_VEC_PUSH(&inliner->list, instr);
  return NULL;
}

static hr_status_t map_operands(inliner_t *inliner, hlo_instr_t *instr, hlo_instr_t *const *mapped) {
  hlo_instr_t **operands;
  HR_TRY(HR_NEW_ARRAY(inliner->arena, instr->operand_count, &operands));
  for (int k = 0; k < instr->operand_count; k++) operands[k] = mapped[instr->operands[k]->id];
  instr->operands = operands;
  return NULL;
}

/* Control predecessors inside the callee hold by data flow or were only hints: a clone has none. */
static hr_status_t drop_control_edges(inliner_t *inliner, hlo_instr_t *instr) {
  if (!instr->extra || !instr->extra->control_count) return NULL;
  hlo_extra_t *extra;
  HR_TRY(HR_NEW(inliner->arena, &extra));
  *extra = *instr->extra;
  extra->control_predecessors = NULL;
  extra->control_count = 0;
  instr->extra = extra;
  return NULL;
}

static hr_status_t clone_into(inliner_t *inliner, const hlo_instr_t *call, const hlo_instr_t *instr,
                              hlo_instr_t *const *mapped, hlo_instr_t **out_clone) {
  hlo_instr_t *clone;
  const char *name;
  HR_TRY(HR_NEW(inliner->arena, &clone));
  HR_TRY(hr_arena_printf(inliner->arena, &name, "%.*s.%.*s", HR_STR_ARGS(call->name), HR_STR_ARGS(instr->name)));
  *clone = *instr;
  clone->name = hr_str_from(name);
  clone->parent = inliner->into;
  HR_TRY(map_operands(inliner, clone, mapped));
  HR_TRY(drop_control_edges(inliner, clone));
  HR_TRY(append(inliner, clone));
  *out_clone = clone;
  return NULL;
}

/* `operands` are the call's, in the new body. */
static hr_status_t inline_call(inliner_t *inliner, const hlo_instr_t *call, hlo_instr_t *const *operands,
                               hlo_instr_t **out_result) {
  const hlo_computation_t *callee = call->called[0];
  hlo_instr_t **mapped;
  HR_TRY(HR_NEW_ARRAY(inliner->arena, callee->instrs.count, &mapped));
  for (size_t i = 0; i < callee->instrs.count; i++) {
    const hlo_instr_t *instr = callee->instrs.data[i];
    if (instr->op == HLO_PARAMETER)
      mapped[i] = operands[hlo_parameter_number(instr)];
    else
      HR_TRY(clone_into(inliner, call, instr, mapped, &mapped[i]));
  }
  *out_result = mapped[callee->root->id];
  return NULL;
}

static bool is_wanted(const hlo_instr_t *instr, pass_inline_fn wanted, const void *context) {
  return instr->op == HLO_CALL && !hlo_attr_bool(instr, HLO_ATTR_IS_COMPOSITE) && wanted(instr->called[0], context);
}

/* One round: calls of the body as it is. */
static hr_status_t rebuild(inliner_t *inliner, pass_inline_fn wanted, const void *context, bool *out_changed) {
  hlo_computation_t *into = inliner->into;
  hlo_instr_t **mapped;
  size_t count = into->instrs.count;
  HR_TRY(HR_NEW_ARRAY(inliner->arena, count, &mapped));
  for (size_t i = 0; i < count; i++) {
    hlo_instr_t *instr = into->instrs.data[i];
    HR_TRY(map_operands(inliner, instr, mapped));
    if (is_wanted(instr, wanted, context)) {
      HR_TRY(inline_call(inliner, instr, instr->operands, &mapped[i]));
      *out_changed = true;
    } else {
      HR_TRY(append(inliner, instr));
      mapped[i] = instr;
    }
  }
  into->root = mapped[into->root->id];
  return NULL;
}

static void take_over(inliner_t *inliner) {
  HR_VEC_FREE(&inliner->into->instrs);
  inliner->into->instrs.data = inliner->list.data;
  inliner->into->instrs.count = inliner->list.count;
  inliner->into->instrs.capacity = inliner->list.capacity;
  for (size_t i = 0; i < inliner->list.count; i++) inliner->list.data[i]->id = (uint32_t)i;
}

hr_status_t pass_inline(hlo_computation_t *computation, pass_inline_fn wanted, const void *context) {
  for (bool changed = true; changed;) {
    inliner_t inliner = {.into = computation, .arena = &computation->module->arena};
    changed = false;
    hr_status_t st = rebuild(&inliner, wanted, context, &changed);
    if (st) {
      HR_VEC_FREE(&inliner.list);
      return st;
    }
    take_over(&inliner);
  }
  return NULL;
}
