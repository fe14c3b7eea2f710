/* Removes elements of a loop's state that the loop does not need:
 *
 *   dead elements           nothing reads them in the end          removed (liveness fixed point)
 *   constants               invariant, initial value constant      rematerialised in the body
 *   duplicate counters      equal start and step                   one of them is read for all
 *   invariant elements      passed through unchanged               users read the initial value
 *   duplicate invariants    equal initial value                    one of them is read for all
 *
 *   while(a, dead, 0, 0) -> (a', dead', i + 1, j + 1)   ->   while(a, 0) -> (a', i + 1)
 *
 * Exact. Linear in the body per round of liveness; after 64 rounds all elements are kept. */
#include <string.h>

#include "passes/loops/loop_shape.h"
#include "passes/passes.h"

typedef struct state {
  pass_rewrite_t *rewrite;
  const pass_users_t *users;
  bool *live; /* by element */
  int *same, *to;
} loop_state_t;

/* ---- liveness ---- */

/* Marks the elements that users of the loop read; false if a user takes the whole state. */
static bool mark_read_outside(const loop_state_t *state, const loop_t *loop) {
  const hlo_instr_t *instr = loop->instr;
  bool by_elements = true;
  for (uint32_t u = state->users->first[instr->id]; u < state->users->first[instr->id + 1]; u++) {
    const hlo_instr_t *user = state->users->users[u];
    if (user->op != HLO_GET_TUPLE_ELEMENT)
      by_elements = false;
    else if (!loop_is_invariant(loop, (int)hlo_attr_int(user, HLO_ATTR_INDEX)))
      state->live[hlo_attr_int(user, HLO_ATTR_INDEX)] = true;
  }
  return by_elements && instr->parent->root != instr;
}

/* Is the element a constant, which is rematerialised in the body? */
static bool is_rematerialised(const loop_t *loop, int k) {
  const hlo_instr_t *init = loop_init_operand(loop, k);
  return init && loop_is_invariant(loop, k) && loop_is_rematerialisable(init);
}

static void mark_read_by(const loop_state_t *state, const loop_t *loop,
                         const hlo_computation_t *computation, const bool *wanted, bool *changed) {
  for (size_t i = 0; i < computation->instrs.count; i++) {
    int k = wanted[i] ? loop_element_read(computation->instrs.data[i]) : -1;
    if (k < 0) continue;
    k = state->same[k];
    if (state->live[k] || is_rematerialised(loop, k)) continue;
    state->live[k] = true;
    *changed = true;
  }
}

/* Marks the elements needed by the condition, by effects of the body, and by live elements, in
 * rounds until nothing is added. */
static hr_status_t mark_live(const loop_state_t *state, const loop_t *loop) {
  bool *wanted, changed = true;
  const hlo_computation_t *body = loop->body;
  size_t max_count = body->instrs.count > loop->condition->instrs.count
                         ? body->instrs.count
                         : loop->condition->instrs.count;
  HR_TRY(HR_NEW_ARRAY(&state->rewrite->scratch, max_count, &wanted));
  memset(wanted, true, max_count);
  mark_read_by(state, loop, loop->condition, wanted, &changed);
  memset(wanted, false, max_count);
  for (size_t i = 0; i < body->instrs.count; i++) wanted[i] = pass_must_stay(body->instrs.data[i]);
  for (int round = 0; round < 64 && changed; round++) {
    changed = false;
    for (int k = 0; k < loop->count; k++) wanted[loop->next->operands[k]->id] |= state->live[k];
    loop_mark_operands(body, wanted);
    mark_read_by(state, loop, body, wanted, &changed);
  }
  if (changed)
    memset(state->live, true, (size_t)loop->count); /* a long dependence chain: all elements stay */
  return NULL;
}

/* ---- equal elements ---- */

/* The next value of element k if it is element k + a constant and starts from a constant; else
 * NULL. */
static const hlo_instr_t *counter_step(const loop_t *loop, int k) {
  const hlo_instr_t *next = loop->next->operands[k], *init = loop_init_operand(loop, k);
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
         hlo_value_equal(loop_init_operand(loop, a)->literal, loop_init_operand(loop, b)->literal);
}

enum { MAX_COUNTERS = 16 };

static void find_same_counters(const loop_state_t *state, const loop_t *loop) {
  int counters[MAX_COUNTERS], count = 0;
  for (int k = 0; k < loop->count; k++) {
    const hlo_instr_t *step = counter_step(loop, k);
    state->same[k] = k;
    if (!step) continue;
    for (int c = 0; c < count && state->same[k] == k; c++)
      if (same_counter(loop, k, step, counters[c])) state->same[k] = counters[c];
    if (state->same[k] == k && count < MAX_COUNTERS) counters[count++] = k;
  }
}

/* Finds invariant elements with the initial value of an earlier one, by a hash table of the initial
 * values. */
static hr_status_t find_same_invariants(const loop_state_t *state, const loop_t *loop) {
  size_t slots = 2;
  int *elements; /* number of an element + 1; 0: free */
  while (slots < 2 * (size_t)loop->count) slots *= 2;
  HR_TRY(HR_NEW_ARRAY(&state->rewrite->scratch, slots, &elements));
  memset(elements, 0, slots * sizeof *elements);
  for (int k = 0; k < loop->count; k++) {
    const hlo_instr_t *init = loop_init_operand(loop, k);
    if (!init || !loop_is_invariant(loop, k)) continue;
    size_t slot = (size_t)((uintptr_t)init * UINT64_C(0x9E3779B97F4A7C15) >> 32) % slots;
    while (elements[slot] && loop_init_operand(loop, elements[slot] - 1) != init)
      slot = (slot + 1) % slots;
    if (elements[slot])
      state->same[k] = elements[slot] - 1;
    else
      elements[slot] = k + 1;
  }
  return NULL;
}

/* Equal elements are live together, represented by the first. */
static void merge_live(const loop_state_t *state, const loop_t *loop) {
  for (int k = 0; k < loop->count; k++) {
    int same = state->same[k];
    if (same == k) continue;
    state->live[same] |= state->live[k];
    state->live[k] = false;
  }
}

/* ---- the pass ---- */

static hr_status_t find_kept_elements(loop_state_t *state, const loop_t *loop, bool *out_profitable,
                                      int *out_kept) {
  hr_arena_t *scratch = &state->rewrite->scratch;
  HR_TRY(HR_NEW_ARRAY(scratch, loop->count, &state->live));
  HR_TRY(HR_NEW_ARRAY(scratch, loop->count, &state->same));
  HR_TRY(HR_NEW_ARRAY(scratch, loop->count, &state->to));
  find_same_counters(state, loop);
  HR_TRY(find_same_invariants(state, loop));
  *out_profitable = mark_read_outside(state, loop);
  merge_live(state, loop);
  HR_TRY(mark_live(state, loop));
  merge_live(state, loop);
  *out_kept = 0;
  for (int k = 0; k < loop->count; k++) state->to[k] = state->live[k] ? (*out_kept)++ : -1;
  *out_profitable &= *out_kept<loop->count && * out_kept> 0;
  return NULL;
}

static hr_status_t simplify_loop(loop_state_t *state, const loop_t *loop) {
  bool profitable;
  int kept;
  HR_TRY(find_kept_elements(state, loop, &profitable, &kept));
  loop_change_t change = {.to = state->to, .same = state->same, .kept_count = kept};
  return profitable ? loop_rebuild(state->rewrite, loop, &change) : NULL;
}

static bool has_loops(const hlo_computation_t *computation) {
  for (size_t i = 0; i < computation->instrs.count; i++)
    if (computation->instrs.data[i]->op == HLO_WHILE) return true;
  return false;
}

static hr_status_t simplify_computation(hlo_computation_t *computation, bool *out_changed) {
  pass_rewrite_t rewrite;
  pass_users_t users;
  hr_status_t st = NULL;
  if (!has_loops(computation)) return NULL;
  HR_TRY(pass_rewrite_begin(&rewrite, computation));
  st = pass_users_find(&rewrite.scratch, computation, &users);
  for (uint32_t i = 0; i < rewrite.old_count && !st; i++) {
    hlo_instr_t *instr = pass_rewrite_visit(&rewrite, i);
    loop_state_t state = {.rewrite = &rewrite, .users = &users};
    loop_t loop;
    if (instr && loop_match(instr, &loop)) st = simplify_loop(&state, &loop);
  }
  *out_changed |= rewrite.changed;
  return pass_rewrite_end(&rewrite, st);
}

hr_status_t pass_simplify_while_state(hlo_module_t *module, bool *out_changed) {
  size_t count = module->computations.count; /* bodies created here need no visit */
  bool changed = false;
  for (size_t c = 0; c < count; c++)
    HR_TRY(simplify_computation(module->computations.data[c], &changed));
  *out_changed |= changed;
  return changed ? pass_computations_order(module) : NULL;
}
