/* Carries that a loop does not need: those that nothing reads in the end, constants, which the body
 * gets as its own, and counters that another counter equals. What the body hands on as it is, users
 * take from before the loop. */
#include <string.h>

#include "passes/loops/loop_shape.h"
#include "passes/passes.h"

typedef struct carries {
  pass_rewrite_t *rewrite;
  const pass_users_t *users;
  bool *live; /* by element */
  int *same, *to;
} carries_t;

/* ---- which ones stay ---- */

/* Elements that users of the loop read; false if one of them takes the whole. */
static bool mark_read_outside(const carries_t *carries, const loop_t *loop) {
  const hlo_instr_t *instr = loop->instr;
  bool by_elements = true;
  for (uint32_t u = carries->users->first[instr->id]; u < carries->users->first[instr->id + 1];
       u++) {
    const hlo_instr_t *user = carries->users->users[u];
    if (user->op != HLO_GET_TUPLE_ELEMENT)
      by_elements = false;
    else if (!loop_is_invariant(loop, (int)hlo_attr_int(user, HLO_ATTR_INDEX)))
      carries->live[hlo_attr_int(user, HLO_ATTR_INDEX)] = true;
  }
  return by_elements && instr->parent->root != instr;
}

/* Constants are read from a copy inside. */
static bool is_unshared_constant(const loop_t *loop, int k) {
  const hlo_instr_t *init = loop_init_known(loop, k);
  return init && loop_is_invariant(loop, k) && loop_is_easy(init);
}

static void mark_read_by(const carries_t *carries, const loop_t *loop,
                         const hlo_computation_t *computation, const bool *wanted, bool *changed) {
  for (size_t i = 0; i < computation->instrs.count; i++) {
    int k = wanted[i] ? loop_element_read(computation->instrs.data[i]) : -1;
    if (k < 0) continue;
    k = carries->same[k];
    if (carries->live[k] || is_unshared_constant(loop, k)) continue;
    carries->live[k] = *changed = true;
  }
}

/* What the condition reads, what effects of the body need, and what live elements are made of,
 * until nothing is added: each round adds an element or is the last. */
static hr_status_t mark_live(const carries_t *carries, const loop_t *loop) {
  bool *wanted, changed = true;
  const hlo_computation_t *body = loop->body;
  size_t most = body->instrs.count > loop->condition->instrs.count ? body->instrs.count
                                                                   : loop->condition->instrs.count;
  HR_TRY(HR_NEW_ARRAY(&carries->rewrite->scratch, most, &wanted));
  memset(wanted, true, most);
  mark_read_by(carries, loop, loop->condition, wanted, &changed);
  memset(wanted, false, most);
  for (size_t i = 0; i < body->instrs.count; i++) wanted[i] = pass_has_effect(body->instrs.data[i]);
  for (int round = 0; round < 64 && changed; round++) {
    changed = false;
    for (int k = 0; k < loop->count; k++) wanted[loop->next->operands[k]->id] |= carries->live[k];
    loop_want_needs(body, wanted);
    mark_read_by(carries, loop, body, wanted, &changed);
  }
  if (changed) memset(carries->live, true, (size_t)loop->count); /* a long chain: another time */
  return NULL;
}

/* ---- counters ---- */

/* Element k + a constant, from a constant on? */
static const hlo_instr_t *counter_step(const loop_t *loop, int k) {
  const hlo_instr_t *next = loop->next->operands[k], *init = loop_init_known(loop, k);
  if (!init || !pass_is_scalar_constant(init) || next->op != HLO_ADD ||
      !hr_dtype_is_integer(init->shape->dtype))
    return NULL;
  for (int j = 0; j < 2; j++)
    if (loop_element_read(next->operands[j]) == k && pass_is_scalar_constant(next->operands[1 - j]))
      return next->operands[1 - j];
  return NULL;
}

static bool same_counter(const loop_t *loop, int a, const hlo_instr_t *step_a, int b) {
  const hlo_instr_t *step_b = counter_step(loop, b);
  return step_b && hlo_value_equal(step_a->literal, step_b->literal) &&
         hlo_value_equal(loop_init_known(loop, a)->literal, loop_init_known(loop, b)->literal);
}

enum { MAX_COUNTERS = 16 };

static void find_same_counters(const carries_t *carries, const loop_t *loop) {
  int counters[MAX_COUNTERS], count = 0;
  for (int k = 0; k < loop->count; k++) {
    const hlo_instr_t *step = counter_step(loop, k);
    carries->same[k] = k;
    if (!step) continue;
    for (int c = 0; c < count && carries->same[k] == k; c++)
      if (same_counter(loop, k, step, counters[c])) carries->same[k] = counters[c];
    if (carries->same[k] == k && count < MAX_COUNTERS) counters[count++] = k;
  }
}

/* Elements that are the same are live together, in the place of the first. */
static void merge_live(const carries_t *carries, const loop_t *loop) {
  for (int k = 0; k < loop->count; k++) {
    int same = carries->same[k];
    if (same == k) continue;
    carries->live[same] |= carries->live[k];
    carries->live[k] = false;
  }
}

/* ---- the pass ---- */

static hr_status_t decide(carries_t *carries, const loop_t *loop, bool *out_worth, int *out_kept) {
  hr_arena_t *scratch = &carries->rewrite->scratch;
  HR_TRY(HR_NEW_ARRAY(scratch, loop->count, &carries->live));
  HR_TRY(HR_NEW_ARRAY(scratch, loop->count, &carries->same));
  HR_TRY(HR_NEW_ARRAY(scratch, loop->count, &carries->to));
  find_same_counters(carries, loop);
  *out_worth = mark_read_outside(carries, loop);
  merge_live(carries, loop);
  HR_TRY(mark_live(carries, loop));
  merge_live(carries, loop);
  *out_kept = 0;
  for (int k = 0; k < loop->count; k++) carries->to[k] = carries->live[k] ? (*out_kept)++ : -1;
  *out_worth &= *out_kept<loop->count && * out_kept> 0;
  return NULL;
}

static hr_status_t clean_loop(carries_t *carries, const loop_t *loop) {
  bool worth;
  int kept;
  HR_TRY(decide(carries, loop, &worth, &kept));
  loop_change_t change = {.to = carries->to, .same = carries->same, .kept_count = kept};
  return worth ? loop_rebuild(carries->rewrite, loop, &change) : NULL;
}

static bool has_loops(const hlo_computation_t *computation) {
  for (size_t i = 0; i < computation->instrs.count; i++)
    if (computation->instrs.data[i]->op == HLO_WHILE) return true;
  return false;
}

static hr_status_t clean_computation(hlo_computation_t *computation, bool *out_changed) {
  pass_rewrite_t rewrite;
  pass_users_t users;
  hr_status_t st = NULL;
  if (!has_loops(computation)) return NULL;
  HR_TRY(pass_rewrite_begin(&rewrite, computation));
  st = pass_users_find(&rewrite.scratch, computation, &users);
  for (uint32_t i = 0; i < rewrite.old_count && !st; i++) {
    hlo_instr_t *instr = pass_rewrite_visit(&rewrite, i);
    carries_t carries = {.rewrite = &rewrite, .users = &users};
    loop_t loop;
    if (instr && loop_match(instr, &loop)) st = clean_loop(&carries, &loop);
  }
  *out_changed |= rewrite.changed;
  return pass_rewrite_end(&rewrite, st);
}

hr_status_t pass_simplify_while_state(hlo_module_t *module, bool *out_changed) {
  size_t count = module->computations.count; /* bodies that are made here are clean */
  bool changed = false;
  for (size_t c = 0; c < count; c++)
    HR_TRY(clean_computation(module->computations.data[c], &changed));
  *out_changed |= changed;
  return changed ? pass_computations_order(module) : NULL;
}
