/* Control flow of the trace walk. A decision known from constants or from rank ids is followed. A
 * decision that depends on data opens a region: all branches, or one iteration of the loop, are
 * walked as alternatives.
 *
 * A region carries a signature, equal in two processes only if they provably decide alike. The
 * proof for a loop is an induction: two processes always decide equally if they enter with equal
 * symbols of the relevant state elements, decide equally at first, and map equal elements to equal
 * elements in each iteration. For the induction step, the body is walked once with placeholders for
 * the state; `deps` bits record the placeholders that each value derives from. */
#include "comm/model/comm_trace_walk.h"

/* --- regions --- */

/* Begins a region, nested in the open one, with its REGION event. Alternatives: branches, or 1 for
 * a loop. */
static hr_status_t open_region(check_invocation_t *in, const hlo_instr_t *instr,
                               uint32_t alternatives, uint32_t *out_region) {
  check_walk_t *walk = in->walk;
  check_region_t region = {.instr = instr,
                           .parent = walk->region,
                           .alternative_count = alternatives,
                           .frame = in->frame};
  *out_region = (uint32_t)walk->out->regions.count;
  HR_VEC_PUSH(&walk->out->regions, region);
  walk->region = *out_region + 1;
  return check_walk_event(in, instr, NULL, CHECK_REGION, *out_region);
}

/* Ends the innermost region. `decision` is the value to report as the cause if the signatures of
 * two processes differ; 91 keeps signatures distinct from other symbols. */
static void close_region(check_walk_t *walk, uint32_t number, uint64_t signature,
                         const check_value_t *decision) {
  check_region_t *region = &walk->out->regions.data[number];
  region->signature = check_mix(signature, 91);
  region->cause = decision->cause;
  region->varies = decision->varies;
  region->end = (uint32_t)walk->out->events.count;
  walk->region = region->parent;
}

/* --- conditionals --- */

/* The argument of branch b is operand 1 + b; the frame's iteration is the branch. */
static hr_status_t walk_branch(check_invocation_t *in, const hlo_instr_t *instr, int branch,
                               check_value_t *out_value) {
  uint32_t frame;
  const hlo_computation_t *computation = instr->called[branch];
  HR_TRY(check_walk_frame(in, computation, instr, (uint32_t)branch, &frame));
  return check_walk_computation(in->walk, computation, &in->values[instr->operands[1 + branch]->id],
                                frame, out_value);
}

/* By the op's definition: pred true is branch 0; an index out of range selects the last branch. */
static int branch_of(const check_value_t *selector, int count) {
  if (selector->dtype == HR_PRED) return selector->integer ? 0 : 1;
  return selector->integer < 0 || selector->integer >= count ? count - 1 : (int)selector->integer;
}

/* Walks all branches, each ended by REGION_END, and merges their results into the value. */
static hr_status_t follow_branches(check_invocation_t *in, const hlo_instr_t *instr,
                                   bool communicates, uint32_t region, check_value_t *result) {
  for (int branch = 0; branch < instr->called_count; branch++) {
    check_value_t value = {.kind = CHECK_UNKNOWN};
    hr_status_t st = walk_branch(in, instr, branch, &value);
    if (!st && communicates) st = check_walk_event(in, instr, NULL, CHECK_REGION_END, region);
    check_value_blame(result, &value);
    check_value_release(&value);
    if (st) return st;
  }
  return NULL;
}

/* The selected branch is unknown: all branches are followed. The result is a symbol of the decision
 * and the branches. */
static hr_status_t walk_undecided(check_invocation_t *in, const hlo_instr_t *instr,
                                  check_value_t *out_value) {
  check_walk_t *walk = in->walk;
  bool communicates = check_communicates(walk->analysis, instr);
  const check_value_t *decision = &in->values[instr->operands[0]->id];
  check_value_t result = {.kind = CHECK_UNKNOWN, .symbol = 31};
  uint32_t region = 0;
  check_value_blame(&result, decision);
  if (communicates) HR_TRY(open_region(in, instr, (uint32_t)instr->called_count, &region));
  HR_TRY(follow_branches(in, instr, communicates, region, &result));
  if (communicates) {
    close_region(walk, region, check_value_symbol(decision), decision);
    walk->region_deps |= check_value_deps(decision);
  }
  *out_value = result;
  return NULL;
}

/* A known selector is followed as in a run; any other opens a region. */
hr_status_t check_walk_conditional(check_invocation_t *in, const hlo_instr_t *instr,
                                   check_value_t *out_value) {
  const check_value_t *selector = &in->values[instr->operands[0]->id];
  if (selector->kind != CHECK_INT) return walk_undecided(in, instr, out_value);
  return walk_branch(in, instr, branch_of(selector, instr->called_count), out_value);
}

/* --- loops --- */

typedef struct loop {
  check_invocation_t *in;
  const hlo_instr_t *instr;
  check_value_t state, condition; /* loop-carried state, and the last value of the condition */
  uint32_t iteration;
} loop_t;

/* Walks the condition in a frame of iteration 2 * n, and run_body the body in one of 2 * n + 1, so
 * that frames of one loop compare in the order of time. */
static hr_status_t test_condition(loop_t *loop) {
  uint32_t frame;
  HR_TRY(
      check_walk_frame(loop->in, loop->instr->called[0], loop->instr, 2 * loop->iteration, &frame));
  check_value_release(&loop->condition);
  return check_walk_computation(loop->in->walk, loop->instr->called[0], &loop->state, frame,
                                &loop->condition);
}

static hr_status_t run_body(loop_t *loop) {
  uint32_t frame;
  check_value_t next = {.kind = CHECK_UNKNOWN};
  HR_TRY(check_walk_frame(loop->in, loop->instr->called[1], loop->instr, 2 * loop->iteration + 1,
                          &frame));
  HR_TRY(
      check_walk_computation(loop->in->walk, loop->instr->called[1], &loop->state, frame, &next));
  check_value_release(&loop->state);
  loop->state = next;
  loop->iteration++;
  return NULL;
}

/* True if the body returns element k of the state unchanged. */
static bool is_loop_invariant(const hlo_computation_t *body, int k) {
  if (body->root->op != HLO_TUPLE) return body->root == body->params.data[0];
  if (k >= body->root->operand_count) return false;
  const hlo_instr_t *element = body->root->operands[k];
  return element->op == HLO_GET_TUPLE_ELEMENT && element->operands[0] == body->params.data[0] &&
         hlo_attr_int(element, HLO_ATTR_INDEX) == k;
}

/* The state in any iteration: elements that the body changes become the placeholder "element k". */
static hr_status_t make_placeholders(const loop_t *loop, check_value_t *out_state) {
  const hlo_shape_t *shape = loop->instr->shape;
  if (!hlo_shape_is_tuple(shape)) {
    *out_state =
        (check_value_t){.kind = CHECK_UNKNOWN, .symbol = 1000, .deps = 1, .cause = loop->instr};
    return NULL;
  }
  check_value_t *elements;
  hr_arena_t arena;
  hr_arena_init(&arena);
  hr_status_t st = HR_NEW_ARRAY(&arena, shape->element_count, &elements);
  for (int k = 0; k < shape->element_count && !st; k++) {
    elements[k] = check_value_element(&loop->state, k);
    if (is_loop_invariant(loop->instr->called[1], k) && check_value_is_known(&elements[k]))
      continue;
    check_value_t was = elements[k];
    elements[k] = (check_value_t){
        .kind = CHECK_UNKNOWN, .symbol = 1000 + (uint64_t)k, .deps = check_need_bit(k)};
    elements[k].cause = was.kind == CHECK_UNKNOWN ? was.cause : loop->instr;
    elements[k].varies = was.kind == CHECK_UNKNOWN && was.varies;
    check_value_release(&was);
  }
  if (!st) st = check_value_tuple(shape->element_count, elements, out_state);
  for (int k = 0; k < shape->element_count && !st; k++) check_value_release(&elements[k]);
  hr_arena_deinit(&arena);
  return st;
}

/* Elements of the loop state; a state that is no tuple is one element. */
static int state_count(const loop_t *loop) {
  return hlo_shape_is_tuple(loop->instr->shape) ? loop->instr->shape->element_count : 1;
}

static check_value_t state_element(const loop_t *loop, const check_value_t *state, int k) {
  return hlo_shape_is_tuple(loop->instr->shape) ? check_value_element(state, k)
                                                : check_value_retain(*state);
}

/* By induction, two processes always decide equally if they enter with equal values of the relevant
 * elements, decide equally at first, and map equal elements to equal elements in each iteration.
 * Hashes all of these. `decision` gets the value to report as the cause. */
static uint64_t loop_signature(const loop_t *loop, const check_value_t *entered,
                               const check_value_t *first, uint64_t deps, check_value_t *decision) {
  uint64_t signature = check_mix(check_value_symbol(first), check_value_symbol(&loop->condition)),
           seen = 0;
  check_value_blame(decision, first);
  check_value_blame(decision, &loop->condition);
  decision->deps = check_value_deps(first);
  for (deps |= check_value_deps(&loop->condition); deps & ~seen;) {
    uint64_t now = deps & ~seen;
    seen |= now;
    for (int k = 0; k < state_count(loop); k++) {
      if (!(check_need_bit(k) & now)) continue;
      check_value_t before = state_element(loop, entered, k),
                    after = state_element(loop, &loop->state, k);
      uint64_t pair = check_mix(check_value_symbol(&before), check_value_symbol(&after));
      signature = check_mix(signature, check_mix((uint64_t)k, pair));
      deps |= check_value_deps(&after);
      uint64_t outer = decision->deps | check_value_deps(&before);
      check_value_blame(decision, &before);
      check_value_blame(decision, &after);
      decision->deps = outer;
      check_value_release(&before);
      check_value_release(&after);
    }
  }
  return signature;
}

/* Every element may depend on all elements of the previous iteration. */
static void merge_state(const loop_t *loop, const check_value_t *state, check_value_t *into) {
  for (int k = 0; k < state_count(loop); k++) {
    check_value_t element = state_element(loop, state, k);
    check_value_blame(into, &element);
    check_value_release(&element);
  }
}

/* Walks the body and the condition once on placeholders. `region_deps` collects the dependencies of
 * decisions in nested regions, for this loop only; dependencies on values from outside are passed
 * to the enclosing loop. */
static hr_status_t follow_one_iteration(loop_t *loop, const check_value_t *entered,
                                        const check_value_t *first, check_value_t *decision,
                                        uint64_t *out_signature) {
  check_walk_t *walk = loop->in->walk;
  bool communicates = check_communicates(walk->analysis, loop->instr);
  uint64_t outer_deps = walk->region_deps;
  uint32_t region = 0;
  check_value_t placeholders;
  walk->region_deps = 0;
  if (communicates) HR_TRY(open_region(loop->in, loop->instr, 1, &region));
  HR_TRY(make_placeholders(loop, &placeholders));
  check_value_release(&loop->state);
  loop->state = placeholders;
  HR_TRY(run_body(loop));
  HR_TRY(test_condition(loop));
  *out_signature = loop_signature(loop, entered, first, walk->region_deps, decision);
  if (communicates) {
    HR_TRY(check_walk_event(loop->in, loop->instr, NULL, CHECK_REGION_END, region));
    close_region(walk, region, *out_signature, decision);
  }
  walk->region_deps = outer_deps | (communicates ? decision->deps : 0);
  return NULL;
}

/* The trip count depends on data: one iteration is walked with placeholders for the state. */
static hr_status_t walk_unknown_loop(loop_t *loop) {
  check_value_t entered = check_value_retain(loop->state), first = loop->condition;
  check_value_t decision = {.kind = CHECK_UNKNOWN, .symbol = 3};
  uint64_t signature = 0;
  loop->condition = (check_value_t){.kind = CHECK_UNKNOWN};
  hr_status_t st = follow_one_iteration(loop, &entered, &first, &decision, &signature);
  decision.symbol = check_mix(signature, 5);
  decision.deps |= check_value_deps(&entered);
  merge_state(loop, &entered, &decision);
  check_value_release(&loop->state);
  check_value_release(&entered);
  check_value_release(&first);
  loop->state = decision;
  return st;
}

/* Follows iterations while the condition is known. From the first iteration with an unknown
 * condition, the rest of the loop is one region; the known iterations before it stay. */
static hr_status_t follow_iterations(loop_t *loop) {
  check_walk_t *walk = loop->in->walk;
  HR_TRY(test_condition(loop));
  while (!walk->reason && loop->condition.kind == CHECK_INT && loop->condition.integer) {
    if (!check_walk_step(walk))
      return check_walk_abandon(walk, loop->instr, "turns too often to be followed");
    HR_TRY(run_body(loop));
    HR_TRY(test_condition(loop));
  }
  if (walk->reason || loop->condition.kind == CHECK_INT) return NULL;
  return walk_unknown_loop(loop);
}

/* The loop owns its state until it becomes the value. */
hr_status_t check_walk_while(check_invocation_t *in, const hlo_instr_t *instr,
                             check_value_t *out_value) {
  loop_t loop = {
      .in = in, .instr = instr, .state = check_value_retain(in->values[instr->operands[0]->id])};
  hr_status_t st = follow_iterations(&loop);
  check_value_release(&loop.condition);
  if (st)
    check_value_release(&loop.state);
  else
    *out_value = loop.state;
  return st;
}
