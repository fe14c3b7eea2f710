/* Repairs: moves an awaited start before the completion that blocks its own process. Each repair is
 * tried by changing the program in place, checking it again, and restoring it. */
#include "check/proof.h"
#include "ir/print.h"

typedef struct change { /* undo information of apply() */
  hlo_computation_t *computation;
  hlo_instr_t *moved, *before;
  uint32_t from, to;
  hlo_instr_t **operands; /* operands before the change */
  const hlo_extra_t *extra, *done_extra;
  hlo_instr_t *done; /* done of `moved`; NULL: it has none */
} change_t;

/* --- changes --- */

static void renumber(hlo_computation_t *computation, uint32_t first, uint32_t last) {
  for (uint32_t i = first; i <= last; i++) computation->instrs.data[i]->id = i;
}

/* Moves the instruction at `from` to `to`; those between are shifted. */
static void shift(hlo_computation_t *computation, uint32_t from, uint32_t to) {
  hlo_instr_t **list = computation->instrs.data, *instr = list[from];
  for (; from > to; from--) list[from] = list[from - 1];
  for (; from < to; from++) list[from] = list[from + 1];
  list[to] = instr;
}

static int token_operand(const hlo_instr_t *instr) {
  for (int k = 0; k < instr->operand_count; k++)
    if (instr->operands[k]->shape->dtype == HR_TOKEN) return k;
  return -1;
}

/* If the moved instruction's token comes from a later instruction, replaces it by the token that
 * the blocked transfer started with. */
static hr_status_t take_earlier_token(hlo_instr_t *moved, const hlo_instr_t *before, uint32_t to,
                                      bool *out_possible) {
  const hlo_instr_t *start = before->operand_count ? before->operands[0] : NULL;
  int k = token_operand(moved), from = start ? token_operand(start) : -1;
  *out_possible = true;
  for (int i = 0; i < moved->operand_count; i++)
    if (i != k && moved->operands[i]->id >= to) *out_possible = false;
  if (k < 0 || moved->operands[k]->id < to || !*out_possible) return NULL;
  *out_possible = from >= 0 && start->operands[from]->id < to;
  if (!*out_possible) return NULL;
  void *copy;
  HR_TRY(hr_arena_copy(&moved->parent->module->arena, moved->operands,
                       (size_t)moved->operand_count * sizeof *moved->operands, &copy));
  moved->operands = copy;
  moved->operands[k] = start->operands[from];
  return NULL;
}

/* Makes `first` a control predecessor of `second`, so that every runtime keeps the order. */
static hr_status_t keep_order(hlo_instr_t *first, hlo_instr_t *second) {
  hr_arena_t *arena = &second->parent->module->arena;
  hlo_extra_t *extra;
  HR_TRY(HR_NEW(arena, &extra));
  if (second->extra) *extra = *second->extra;
  int count = extra->control_count;
  hlo_instr_t **list;
  HR_TRY(HR_NEW_ARRAY(arena, count + 1, &list));
  for (int i = 0; i < count; i++) list[i] = extra->control_predecessors[i];
  list[count] = first;
  extra->control_predecessors = list;
  extra->control_count = count + 1;
  second->extra = extra;
  return NULL;
}

static hlo_instr_t *done_of(const hlo_instr_t *start) {
  for (size_t i = start->id + 1; i < start->parent->instrs.count; i++) {
    hlo_instr_t *instr = start->parent->instrs.data[i];
    if (hlo_op_is(instr->op, OP_DONE) && instr->operands[0] == start) return instr;
  }
  return NULL;
}

/* Recv < Send < RecvDone, Send < SendDone: both starts come before both waits. */
static hr_status_t keep_all_orders(const change_t *change) {
  hlo_instr_t *start = change->before->operand_count ? change->before->operands[0] : NULL;
  HR_TRY(keep_order(change->moved, change->before));
  bool both = start && change->done && hlo_op_is(start->op, OP_START);
  return both ? keep_order(start, change->done) : NULL;
}

static void undo(const change_t *change) {
  change->moved->operands = change->operands;
  if (change->done) change->done->extra = change->done_extra;
  change->before->extra = change->extra;
  shift(change->computation, change->to, change->from);
  renumber(change->computation, change->to, change->from);
}

static hr_status_t apply(const check_fix_t *fix, change_t *change, bool *out_possible) {
  hlo_instr_t *moved = (hlo_instr_t *)fix->moved, *before = (hlo_instr_t *)fix->before;
  *out_possible = false;
  if (moved->parent != before->parent || moved->id <= before->id) return NULL;
  if (moved->extra && moved->extra->control_count) return NULL;
  *change = (change_t){moved->parent,   moved,         before, moved->id,     before->id,
                       moved->operands, before->extra, NULL,   done_of(moved)};
  if (change->done) change->done_extra = change->done->extra;
  HR_TRY(take_earlier_token(moved, before, before->id, out_possible));
  if (!*out_possible) return NULL;
  shift(change->computation, change->from, change->to);
  renumber(change->computation, change->to, change->from);
  hr_status_t st = keep_all_orders(change);
  if (st) undo(change);
  return st;
}

/* --- attempts --- */

static hr_status_t is_sound(const check_program_t *programs, int program_count,
                            const check_options_t *options, bool any_order, bool *out_sound) {
  check_options_t again = *options;
  check_result_t *result;
  again.any_order = any_order;
  HR_TRY(check_schedule(programs, program_count, &again, &result));
  *out_sound = check_result_verdict(result) == CHECK_SOUND;
  check_result_destroy(result);
  return NULL;
}

static hr_status_t try_fix(const check_program_t *programs, int program_count,
                           const check_options_t *options, check_fix_t *fix, bool *out_found) {
  change_t change;
  bool possible;
  *out_found = false;
  HR_TRY(apply(fix, &change, &possible));
  if (!possible) return NULL;
  hr_status_t st = is_sound(programs, program_count, options, true, &fix->all_orders);
  *out_found = !st && fix->all_orders;
  if (!st && !fix->all_orders && !options->any_order)
    st = is_sound(programs, program_count, options, false, out_found);
  undo(&change);
  return st;
}

hr_status_t check_find_fix(const check_program_t *programs, int program_count,
                           const check_options_t *options, const check_result_t *result,
                           check_fix_t *out_fix, bool *out_found) {
  check_fix_t best = {.moved = NULL};
  *out_found = false;
  for (int i = 0; i < result->cycle_length && !(*out_found && best.all_orders); i++) {
    const check_wait_t *wait = &result->waits.data[i],
                       *next = &result->waits.data[(i + 1) % result->cycle_length];
    const comm_trace_t *trace = result->of[next->rank];
    check_fix_t fix = {.program = trace->program};
    bool found;
    if (wait->awaited == CHECK_NEVER) continue;
    fix.moved = trace->events.data[wait->awaited].instr;
    fix.before = trace->events.data[next->event].instr;
    HR_TRY(try_fix(programs, program_count, options, &fix, &found));
    if (found && (!*out_found || fix.all_orders)) best = fix;
    *out_found |= found;
  }
  if (*out_found) *out_fix = best;
  return NULL;
}

hr_status_t check_fixed_text(const check_program_t *programs, const check_fix_t *fix,
                             hr_strbuf_t *text) {
  change_t change;
  bool possible = false;
  if (fix->moved) HR_TRY(apply(fix, &change, &possible));
  hlo_print_module(text, programs[fix->program].module, HLO_PRINT_LONG);
  if (possible) undo(&change);
  return hr_strbuf_finish(text);
}
