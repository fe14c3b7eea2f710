#include "check/behaviour.h"

#include <string.h>

#include "check/evaluate.h"
#include "ops/placement.h"
#include "ops/transfers.h"

#define EVENTS_MOST 50000000   /* of one process, unless the caller wants fewer */
#define STEPS_MOST 20000000    /* turns of loops and calls followed in one process, as above */
#define DEPTH_MOST 500         /* of calls */
#define NO_FRAME UINT32_MAX

typedef struct walk {
  const check_facts_t *facts;
  check_walk_options_t options;
  check_evaluator_t evaluator;
  check_behaviour_t *out;
  hr_map_t instances;   /* how often each collective was passed: by its symbol's key */
  uint64_t region_deps; /* elements of the innermost unrolled state that decide about regions inside */
  uint32_t region;      /* 1 + the innermost open region; 0: none */
  uint64_t steps;
  int depth;
  bool is_split;        /* by device */
  const char *reason;   /* why it was given up */
} walk_t;

typedef struct invocation { /* a computation at work */
  walk_t *walk;
  const check_body_t *body;
  check_value_t *values;   /* by instruction */
  uint32_t *starts;        /* by instruction: position of its event */
  uint32_t frame;          /* NO_FRAME: it does not communicate */
} invocation_t;

static hr_status_t walk_computation(walk_t *walk, const hlo_computation_t *computation, const check_value_t *args,
                                    uint32_t frame, check_value_t *out_root);

static uint64_t most_steps(const walk_t *walk) {
  return walk->options.event_limit ? 4 * walk->options.event_limit : STEPS_MOST;
}

/* --- events --- */

static hr_status_t give_up(walk_t *walk, const hlo_instr_t *instr, const char *why) {
  if (walk->reason) return NULL;
  return hr_arena_printf(walk->options.sites->arena, &walk->reason, "%s %%%.*s at line %u %s", hlo_op_name(instr->op),
                         HR_STR_ARGS(instr->name), instr->line, why);
}

static hr_status_t add_event(invocation_t *in, const hlo_instr_t *instr, const check_site_t *site,
                             check_event_kind_t kind, uint32_t start) {
  check_behaviour_t *out = in->walk->out;
  uint64_t limit = in->walk->options.event_limit ? in->walk->options.event_limit : EVENTS_MOST;
  if (out->events.count >= limit) return give_up(in->walk, instr, "is passed too often to be followed");
  HR_VEC_PUSH(&out->events,
              (check_event_t){.instr = instr, .site = site, .kind = kind, .frame = in->frame, .start = start});
  return NULL;
}

static hr_status_t add_start(invocation_t *in, const hlo_instr_t *instr, const hlo_instr_t *communicates,
                             check_event_kind_t kind) {
  const check_site_t *site;
  HR_TRY(check_site_of(in->walk->options.sites, communicates, &site));
  in->starts[instr->id] = (uint32_t)in->walk->out->events.count;
  return add_event(in, instr, site, kind, 0);
}

static hr_status_t add_done(invocation_t *in, const hlo_instr_t *instr, const hlo_instr_t *start,
                            check_event_kind_t kind) {
  if (in->walk->reason) return NULL;
  uint32_t position = in->starts[start->id];
  return add_event(in, instr, in->walk->out->events.data[position].site, kind, position);
}

static hr_status_t add_frame(invocation_t *in, const hlo_computation_t *computation, const hlo_instr_t *caller,
                             uint32_t turn, uint32_t *out_frame) {
  *out_frame = NO_FRAME;
  if (!in->walk->facts->communicates[computation->id]) return NULL;
  *out_frame = (uint32_t)in->walk->out->frames.count;
  check_frame_t frame = {computation, caller, in->frame, turn};
  HR_VEC_PUSH(&in->walk->out->frames, frame);
  return NULL;
}

/* --- results of communication --- */

static hr_status_t count_instance(walk_t *walk, uint64_t key, uint64_t *out_count) {
  uint64_t *counter = hr_map_get(&walk->instances, (hr_str_t){(const char *)&key, sizeof key}), *stored;
  if (!counter) {
    HR_TRY(HR_NEW_ARRAY(&walk->evaluator.scratch, 2, &stored));
    stored[0] = key;
    counter = stored + 1;
    HR_TRY(hr_map_put(&walk->instances, (hr_str_t){(const char *)stored, sizeof key}, counter, NULL));
  }
  *out_count = ++*counter;
  return NULL;
}

static bool is_equal_in_all_members(const hlo_instr_t *instr) {
  switch (instr->op) {
    case HLO_ALL_REDUCE:
    case HLO_ALL_REDUCE_START:
    case HLO_ALL_GATHER:
    case HLO_ALL_GATHER_START: return true;
    case HLO_COLLECTIVE_BROADCAST: return !hlo_attr_bool(instr, HLO_ATTR_HAS_DYNAMIC_ROOT);
    default: return false;
  }
}

/* The result of the n-th instance in this group stands for the same value in all members; of a group of one it is a
 * function of the operands, but that is not looked into. */
static hr_status_t collective_value(invocation_t *in, const hlo_instr_t *instr, bool needed, check_value_t *out_value) {
  walk_t *walk = in->walk;
  const check_site_t *site;
  uint64_t count;
  HR_TRY(check_site_of(walk->options.sites, instr, &site));
  const check_group_t *group = site->kind == CHECK_SITE_GROUP ? site->groups[walk->options.rank] : NULL;
  uint64_t key = check_mix(check_mix(group ? group->id : 0, (uint64_t)site->channel), (uint64_t)site->kind);
  HR_TRY(count_instance(walk, key, &count));
  if (!needed) return NULL;
  uint64_t symbol = check_mix(check_mix(key, count), 4711);
  if (!group || !is_equal_in_all_members(instr)) {
    *out_value = check_private_value(&walk->evaluator, instr, symbol);
    return NULL;
  }
  bool all = group->size == walk->options.sites->world;
  walk->evaluator.by_rank |= !all;
  *out_value = (check_value_t){.kind = CHECK_UNKNOWN, .varies = !all, .symbol = symbol, .cause = instr};
  return NULL;
}

static hr_status_t start_value(invocation_t *in, const hlo_instr_t *instr, bool needed, check_value_t *out_value) {
  check_value_t pair[2] = {{.kind = CHECK_UNKNOWN, .cause = instr}};
  if (!needed || instr->op != HLO_ALL_GATHER_START) return collective_value(in, instr, needed, out_value);
  HR_TRY(collective_value(in, instr, true, &pair[1]));
  return check_value_tuple(2, pair, out_value);
}

static hr_status_t received_value(invocation_t *in, const hlo_instr_t *instr, check_value_t *out_value) {
  uint64_t count;
  HR_TRY(count_instance(in->walk, 1, &count));
  *out_value = check_private_value(&in->walk->evaluator, instr, check_mix(count, 12));
  return NULL;
}

static hr_status_t walk_collective(invocation_t *in, const hlo_instr_t *instr, bool needed) {
  check_value_t *value = &in->values[instr->id];
  if (hlo_op_is(instr->op, OP_DONE)) {
    bool second = instr->op != HLO_ALL_REDUCE_DONE;
    *value = second ? check_value_element(&in->values[instr->operands[0]->id], 1)
                    : check_value_retain(in->values[instr->operands[0]->id]);
    return add_done(in, instr, instr->operands[0], CHECK_JOIN_DONE);
  }
  HR_TRY(add_start(in, instr, instr, CHECK_JOIN));
  if (!hlo_op_is(instr->op, OP_START)) HR_TRY(add_done(in, instr, instr, CHECK_JOIN_DONE));
  return start_value(in, instr, needed, value);
}

/* --- transfers --- */

/* The state between the halves, which may travel through tuples and loops: beside the data it tells the position of the
 * start, and in which region it was. */
static hr_status_t transfer_state(invocation_t *in, const hlo_instr_t *instr) {
  check_value_t parts[3] = {{.kind = CHECK_UNKNOWN, .cause = instr},
                            {.kind = CHECK_INT, .dtype = HR_U32, .integer = in->starts[instr->id]},
                            {.kind = CHECK_INT, .dtype = HR_U32, .integer = in->walk->region}};
  return check_value_tuple(3, parts, &in->values[instr->id]);
}

static hr_status_t walk_transfer(invocation_t *in, const hlo_instr_t *instr, bool needed, check_event_kind_t kind) {
  if (in->walk->reason) return NULL;
  HR_TRY(add_start(in, instr, instr, kind));
  return needed && !in->walk->reason ? transfer_state(in, instr) : NULL;
}

/* A part of a state that is known; false if it is not. */
static bool state_part(const check_value_t *state, int k, uint32_t *out_number) {
  check_value_t part = check_value_element(state, k);
  bool known = part.kind == CHECK_INT && part.dtype == HR_U32;
  *out_number = known ? (uint32_t)part.integer : 0;
  check_value_release(&part);
  return known;
}

/* The channel that an instruction names; 0: it names none. */
static int64_t named_channel(const hlo_instr_t *instr) { return hlo_attr_int(instr, HLO_ATTR_CHANNEL_ID); }

static hr_status_t walk_transfer_done(invocation_t *in, const hlo_instr_t *instr, check_event_kind_t kind) {
  walk_t *walk = in->walk;
  uint32_t position, region;
  const check_value_t *state = &in->values[instr->operands[0]->id];
  if (walk->reason) return NULL;
  if (!state_part(state, 1, &position) || !state_part(state, 2, &region))
    return give_up(walk, instr, "ends a transfer of which data decide where it was started");
  if (region != walk->region)
    return give_up(walk, instr, "ends a transfer that was started outside of its loop or branch");
  const check_event_t *start = &walk->out->events.data[position];
  bool fits = position < walk->out->events.count &&
              start->kind == (kind == CHECK_SEND_DONE ? CHECK_SEND : CHECK_RECV) &&
              (!named_channel(instr) || !named_channel(start->instr) ||
               named_channel(instr) == named_channel(start->instr));
  if (!fits)
    return hlo_error(instr, NULL, "what it ends is not a %s on its channel",
                     kind == CHECK_SEND_DONE ? "send" : "recv");
  return add_event(in, instr, start->site, kind, position);
}

static hr_status_t walk_communication(invocation_t *in, const hlo_instr_t *instr, bool needed) {
  switch (instr->op) {
    case HLO_SEND: return walk_transfer(in, instr, needed, CHECK_SEND);
    case HLO_RECV: return walk_transfer(in, instr, needed, CHECK_RECV);
    case HLO_SEND_DONE: return walk_transfer_done(in, instr, CHECK_SEND_DONE);
    case HLO_RECV_DONE:
      HR_TRY(walk_transfer_done(in, instr, CHECK_RECV_DONE));
      return needed ? received_value(in, instr, &in->values[instr->id]) : NULL;
    default: return walk_collective(in, instr, needed);
  }
}

/* --- regions --- */

static hr_status_t open_region(invocation_t *in, const hlo_instr_t *instr, uint32_t alternatives,
                               uint32_t *out_region) {
  walk_t *walk = in->walk;
  check_region_t region = {
      .instr = instr, .parent = walk->region, .alternative_count = alternatives, .frame = in->frame};
  *out_region = (uint32_t)walk->out->regions.count;
  HR_VEC_PUSH(&walk->out->regions, region);
  walk->region = *out_region + 1;
  return add_event(in, instr, NULL, CHECK_REGION, *out_region);
}

static void close_region(walk_t *walk, uint32_t number, uint64_t signature, const check_value_t *decision) {
  check_region_t *region = &walk->out->regions.data[number];
  region->signature = check_mix(signature, 91);
  region->cause = decision->cause;
  region->varies = decision->varies;
  region->end = (uint32_t)walk->out->events.count;
  walk->region = region->parent;
}

/* --- conditionals --- */

static hr_status_t walk_branch(invocation_t *in, const hlo_instr_t *instr, int branch, check_value_t *out_value) {
  uint32_t frame;
  const hlo_computation_t *computation = instr->called[branch];
  HR_TRY(add_frame(in, computation, instr, (uint32_t)branch, &frame));
  return walk_computation(in->walk, computation, &in->values[instr->operands[1 + branch]->id], frame, out_value);
}

static int branch_of(const check_value_t *selector, int count) {
  if (selector->dtype == HR_PRED) return selector->integer ? 0 : 1;
  return selector->integer < 0 || selector->integer >= count ? count - 1 : (int)selector->integer;
}

static hr_status_t follow_branches(invocation_t *in, const hlo_instr_t *instr, bool communicates, uint32_t region,
                                   check_value_t *result) {
  for (int branch = 0; branch < instr->called_count; branch++) {
    check_value_t value = {.kind = CHECK_UNKNOWN};
    hr_status_t st = walk_branch(in, instr, branch, &value);
    if (!st && communicates) st = add_event(in, instr, NULL, CHECK_REGION_END, region);
    check_value_blame(result, &value);
    check_value_release(&value);
    if (st) return st;
  }
  return NULL;
}

/* Which branch is taken is not known: all of them are followed. The result stands for what the decision makes of it. */
static hr_status_t walk_undecided(invocation_t *in, const hlo_instr_t *instr, check_value_t *out_value) {
  walk_t *walk = in->walk;
  bool communicates = check_communicates(walk->facts, instr);
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

static hr_status_t walk_conditional(invocation_t *in, const hlo_instr_t *instr, check_value_t *out_value) {
  const check_value_t *selector = &in->values[instr->operands[0]->id];
  if (selector->kind != CHECK_INT) return walk_undecided(in, instr, out_value);
  return walk_branch(in, instr, branch_of(selector, instr->called_count), out_value);
}

/* --- loops --- */

typedef struct loop {
  invocation_t *in;
  const hlo_instr_t *instr;
  check_value_t state, met; /* what the last test of the condition gave */
  uint32_t turn;
} loop_t;

static hr_status_t test_condition(loop_t *loop) {
  uint32_t frame;
  HR_TRY(add_frame(loop->in, loop->instr->called[0], loop->instr, 2 * loop->turn, &frame));
  check_value_release(&loop->met);
  return walk_computation(loop->in->walk, loop->instr->called[0], &loop->state, frame, &loop->met);
}

static hr_status_t run_body(loop_t *loop) {
  uint32_t frame;
  check_value_t next = {.kind = CHECK_UNKNOWN};
  HR_TRY(add_frame(loop->in, loop->instr->called[1], loop->instr, 2 * loop->turn + 1, &frame));
  HR_TRY(walk_computation(loop->in->walk, loop->instr->called[1], &loop->state, frame, &next));
  check_value_release(&loop->state);
  loop->state = next;
  loop->turn++;
  return NULL;
}

/* Does the body hand element k of the state on as it is? */
static bool is_passed_on(const hlo_computation_t *body, int k) {
  if (body->root->op != HLO_TUPLE) return body->root == body->params.data[0];
  if (k >= body->root->operand_count) return false;
  const hlo_instr_t *element = body->root->operands[k];
  return element->op == HLO_GET_TUPLE_ELEMENT && element->operands[0] == body->params.data[0] &&
         hlo_attr_int(element, HLO_ATTR_INDEX) == k;
}

/* The state in some turn of which nothing more is known: what the body changes becomes "element k". */
static hr_status_t make_placeholders(const loop_t *loop, check_value_t *out_state) {
  const hlo_shape_t *shape = loop->instr->shape;
  if (!hlo_shape_is_tuple(shape)) {
    *out_state = (check_value_t){.kind = CHECK_UNKNOWN, .symbol = 1000, .deps = 1, .cause = loop->instr};
    return NULL;
  }
  check_value_t *elements;
  hr_arena_t arena;
  hr_arena_init(&arena);
  hr_status_t st = HR_NEW_ARRAY(&arena, shape->element_count, &elements);
  for (int k = 0; k < shape->element_count && !st; k++) {
    elements[k] = check_value_element(&loop->state, k);
    if (is_passed_on(loop->instr->called[1], k) && check_value_is_known(&elements[k])) continue;
    check_value_t was = elements[k];
    elements[k] = (check_value_t){.kind = CHECK_UNKNOWN, .symbol = 1000 + (uint64_t)k, .deps = check_need_bit(k)};
    elements[k].cause = was.kind == CHECK_UNKNOWN ? was.cause : loop->instr;
    elements[k].varies = was.kind == CHECK_UNKNOWN && was.varies;
    check_value_release(&was);
  }
  if (!st) st = check_value_tuple(shape->element_count, elements, out_state);
  for (int k = 0; k < shape->element_count && !st; k++) check_value_release(&elements[k]);
  hr_arena_deinit(&arena);
  return st;
}

static int state_count(const loop_t *loop) {
  return hlo_shape_is_tuple(loop->instr->shape) ? loop->instr->shape->element_count : 1;
}

static check_value_t state_element(const loop_t *loop, const check_value_t *state, int k) {
  return hlo_shape_is_tuple(loop->instr->shape) ? check_value_element(state, k) : check_value_retain(*state);
}

/* By induction: if two processes enter with equal values of the elements that matter, decide equally at first, and make
 * equal things of equal elements in each turn, then they decide equally for ever. Gathers all that into one number.
 * `decision` gets what is to blame. */
static uint64_t sign_loop(const loop_t *loop, const check_value_t *entered, const check_value_t *first, uint64_t deps,
                          check_value_t *decision) {
  uint64_t signature = check_mix(check_value_symbol(first), check_value_symbol(&loop->met)), seen = 0;
  check_value_blame(decision, first);
  check_value_blame(decision, &loop->met);
  decision->deps = check_value_deps(first);
  for (deps |= check_value_deps(&loop->met); deps & ~seen;) {
    uint64_t now = deps & ~seen;
    seen |= now;
    for (int k = 0; k < state_count(loop); k++) {
      if (!(check_need_bit(k) & now)) continue;
      check_value_t before = state_element(loop, entered, k), after = state_element(loop, &loop->state, k);
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

/* What every element becomes depends on what all of them were. */
static void blame_state(const loop_t *loop, const check_value_t *state, check_value_t *into) {
  for (int k = 0; k < state_count(loop); k++) {
    check_value_t element = state_element(loop, state, k);
    check_value_blame(into, &element);
    check_value_release(&element);
  }
}

static hr_status_t follow_one_turn(loop_t *loop, const check_value_t *entered, const check_value_t *first,
                                   check_value_t *decision, uint64_t *out_signature) {
  walk_t *walk = loop->in->walk;
  bool communicates = check_communicates(walk->facts, loop->instr);
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
  *out_signature = sign_loop(loop, entered, first, walk->region_deps, decision);
  if (communicates) {
    HR_TRY(add_event(loop->in, loop->instr, NULL, CHECK_REGION_END, region));
    close_region(walk, region, *out_signature, decision);
  }
  walk->region_deps = outer_deps | (communicates ? decision->deps : 0);
  return NULL;
}

/* Data decide how often it turns: one turn is followed, with nothing known of the state but where it came from. */
static hr_status_t walk_unknown_loop(loop_t *loop) {
  check_value_t entered = check_value_retain(loop->state), first = loop->met;
  check_value_t decision = {.kind = CHECK_UNKNOWN, .symbol = 3};
  uint64_t signature = 0;
  loop->met = (check_value_t){.kind = CHECK_UNKNOWN};
  hr_status_t st = follow_one_turn(loop, &entered, &first, &decision, &signature);
  decision.symbol = check_mix(signature, 5);
  decision.deps |= check_value_deps(&entered);
  blame_state(loop, &entered, &decision);
  check_value_release(&loop->state);
  check_value_release(&entered);
  check_value_release(&first);
  loop->state = decision;
  return st;
}

static hr_status_t turn_loop(loop_t *loop) {
  walk_t *walk = loop->in->walk;
  HR_TRY(test_condition(loop));
  while (!walk->reason && loop->met.kind == CHECK_INT && loop->met.integer) {
    if (++walk->steps > most_steps(walk)) return give_up(walk, loop->instr, "turns too often to be followed");
    HR_TRY(run_body(loop));
    HR_TRY(test_condition(loop));
  }
  if (walk->reason || loop->met.kind == CHECK_INT) return NULL;
  return walk_unknown_loop(loop);
}

static hr_status_t walk_while(invocation_t *in, const hlo_instr_t *instr, check_value_t *out_value) {
  loop_t loop = {.in = in, .instr = instr, .state = check_value_retain(in->values[instr->operands[0]->id])};
  hr_status_t st = turn_loop(&loop);
  check_value_release(&loop.met);
  if (st)
    check_value_release(&loop.state);
  else
    *out_value = loop.state;
  return st;
}

/* --- calls --- */

static hr_status_t walk_call(invocation_t *in, const hlo_instr_t *instr, check_value_t *out_value) {
  check_value_t *args;
  uint32_t frame;
  hr_arena_t arena;
  hr_arena_init(&arena);
  hr_status_t st = HR_NEW_ARRAY(&arena, instr->operand_count, &args);
  for (int k = 0; !st && k < instr->operand_count; k++) args[k] = in->values[instr->operands[k]->id];
  if (!st) st = add_frame(in, instr->called[0], instr, 0, &frame);
  if (!st) st = walk_computation(in->walk, instr->called[0], args, frame, out_value);
  hr_arena_deinit(&arena);
  return st;
}

/* (operands, result): what an asynchronous start gives. */
static hr_status_t walk_async_start(invocation_t *in, const hlo_instr_t *instr, check_value_t *out_value) {
  const hlo_instr_t *collective = op_wrapped_collective(instr);
  check_value_t pair[2] = {{.kind = CHECK_UNKNOWN, .cause = instr}, {.kind = CHECK_UNKNOWN}};
  if (collective) {
    HR_TRY(add_start(in, instr, collective, CHECK_JOIN));
    HR_TRY(collective_value(in, collective, in->body->needs[instr->id] != 0, &pair[1]));
  } else {
    HR_TRY(walk_call(in, instr, &pair[1]));
  }
  hr_status_t st = check_value_tuple(2, pair, out_value);
  check_value_release(&pair[1]);
  return st;
}

static const hlo_instr_t *async_start_of(const hlo_instr_t *instr) {
  while (instr->op != HLO_ASYNC_START) instr = instr->operands[0];
  return instr;
}

static hr_status_t walk_control(invocation_t *in, const hlo_instr_t *instr) {
  check_value_t *value = &in->values[instr->id];
  switch (instr->op) {
    case HLO_WHILE: return walk_while(in, instr, value);
    case HLO_CONDITIONAL: return walk_conditional(in, instr, value);
    case HLO_ASYNC_START: return walk_async_start(in, instr, value);
    case HLO_ASYNC_DONE:
      HR_TRY(add_done(in, instr, async_start_of(instr), CHECK_JOIN_DONE));
      *value = check_value_element(&in->values[instr->operands[0]->id], 1);
      return NULL;
    default: return walk_call(in, instr, value);
  }
}

/* --- computations --- */

static hr_status_t evaluate(invocation_t *in, const hlo_instr_t *instr) {
  check_value_t *operands;
  hr_arena_t *scratch = &in->walk->evaluator.scratch;
  hr_arena_mark_t mark = hr_arena_mark(scratch);
  HR_TRY(HR_NEW_ARRAY(scratch, instr->operand_count, &operands));
  for (int k = 0; k < instr->operand_count; k++) operands[k] = in->values[instr->operands[k]->id];
  hr_status_t st = check_evaluate(&in->walk->evaluator, instr, operands, &in->values[instr->id]);
  hr_arena_rewind(scratch, mark);
  return st;
}

/* In a program that is split by device, an instruction of another one; a done belongs where its start is. */
static bool is_elsewhere(invocation_t *in, const hlo_instr_t *instr) {
  walk_t *walk = in->walk;
  if (!walk->is_split) return false;
  if (hlo_op_is(instr->op, OP_DONE) && op_device_of(instr) < 0) instr = instr->operands[0];
  int64_t device = op_device_of(instr);
  if (device < 0) return false;
  walk->evaluator.by_rank = true;
  return device != op_device_of_rank(walk->evaluator.rank, walk->evaluator.num_partitions);
}

static hr_status_t walk_instr(invocation_t *in, const hlo_instr_t *instr, const check_value_t *args) {
  if (is_elsewhere(in, instr)) return NULL;
  uint64_t needed = in->body->needs[instr->id];
  bool is_item = in->body->item[instr->id] >= 0;
  if (!is_item && !needed) return NULL;
  if (instr->op == HLO_PARAMETER) {
    in->values[instr->id] = args ? check_value_retain(args[hlo_parameter_number(instr)])
                                 : check_entry_parameter(&in->walk->evaluator, instr);
    return NULL;
  }
  if (check_is_communication(instr)) return walk_communication(in, instr, needed);
  bool calls = hlo_op_is(instr->op, OP_CONTROL) && instr->op != HLO_ASYNC_UPDATE;
  if (calls && (is_item || instr->op != HLO_ASYNC_DONE)) return walk_control(in, instr);
  return evaluate(in, instr);
}

static hr_status_t walk_instrs(invocation_t *in, const hlo_computation_t *computation, const check_value_t *args,
                               check_value_t *out_root) {
  for (int i = 0; i < in->body->count && !in->walk->reason; i++) {
    hr_status_t st = walk_instr(in, in->body->order[i], args);
    if (st) return st;
  }
  *out_root = check_value_retain(in->values[computation->root->id]);
  return NULL;
}

static hr_status_t walk_computation(walk_t *walk, const hlo_computation_t *computation, const check_value_t *args,
                                    uint32_t frame, check_value_t *out_root) {
  size_t count = computation->instrs.count;
  void *memory;
  *out_root = (check_value_t){.kind = CHECK_UNKNOWN};
  if (walk->reason) return NULL;
  if (walk->depth >= DEPTH_MOST || ++walk->steps > most_steps(walk))
    return give_up(walk, computation->root, "is reached by more calls than can be followed");
  HR_TRY(hr_alloc_zeroed(count * (sizeof(check_value_t) + sizeof(uint32_t)), &memory));
  invocation_t in = {.walk = walk, .body = &walk->facts->bodies[computation->id], .values = memory, .frame = frame};
  in.starts = (uint32_t *)(in.values + count);
  walk->depth++;
  hr_status_t st = walk_instrs(&in, computation, args, out_root);
  walk->depth--;
  for (size_t i = 0; i < count; i++) check_value_release(&in.values[i]);
  hr_free(memory);
  return st;
}

/* --- the whole --- */

static void hash_behaviour(check_behaviour_t *out) {
  uint64_t hash = hr_hash_bytes(out->events.data, out->events.count * sizeof *out->events.data, 1);
  for (size_t r = 0; r < out->regions.count; r++) hash = check_mix(hash, out->regions.data[r].signature);
  out->hash = hr_hash_bytes(out->frames.data, out->frames.count * sizeof *out->frames.data, hash);
}

static hr_status_t walk_entry(walk_t *walk) {
  check_value_t root = {.kind = CHECK_UNKNOWN};
  check_frame_t entry = {.computation = walk->facts->module->entry};
  HR_VEC_PUSH(&walk->out->frames, entry);
  HR_TRY(walk_computation(walk, walk->facts->module->entry, NULL, 0, &root));
  check_value_release(&root);
  hash_behaviour(walk->out);
  return NULL;
}

static hr_status_t walk_into(walk_t *walk, check_behaviour_t **out_behaviour) {
  void *memory;
  HR_TRY(hr_alloc_zeroed(sizeof(check_behaviour_t), &memory));
  walk->out = memory;
  walk->out->facts = walk->facts;
  walk->out->program = walk->options.program;
  walk->out->first_rank = walk->options.rank;
  hr_status_t st = walk_entry(walk);
  if (st)
    check_behaviour_destroy(walk->out);
  else
    *out_behaviour = walk->out;
  return st;
}

hr_status_t check_walk(const check_facts_t *facts, const check_walk_options_t *options,
                       check_behaviour_t **out_behaviour, bool *out_by_rank, const char **out_reason) {
  walk_t walk = {.facts = facts, .options = *options};
  check_evaluator_init(&walk.evaluator, options->sites->arena, options->plans);
  walk.evaluator.rank = options->rank;
  walk.evaluator.num_replicas = options->sites->num_replicas;
  walk.evaluator.num_partitions = options->sites->num_partitions;
  walk.evaluator.program = options->program;
  walk.is_split = op_is_split_by_device(facts->module);
  hr_map_init(&walk.instances);
  hr_status_t st = walk_into(&walk, out_behaviour);
  *out_by_rank = walk.evaluator.by_rank;
  *out_reason = walk.reason;
  hr_map_deinit(&walk.instances);
  check_evaluator_deinit(&walk.evaluator);
  return st;
}

void check_behaviour_destroy(check_behaviour_t *behaviour) {
  if (!behaviour) return;
  HR_VEC_FREE(&behaviour->events);
  HR_VEC_FREE(&behaviour->frames);
  HR_VEC_FREE(&behaviour->regions);
  hr_free(behaviour);
}

static bool is_same(const void *a, const void *b, size_t bytes) { return !bytes || !memcmp(a, b, bytes); }

bool check_behaviour_equal(const check_behaviour_t *a, const check_behaviour_t *b) {
  if (a->hash != b->hash || a->program != b->program || a->events.count != b->events.count) return false;
  if (a->frames.count != b->frames.count || a->regions.count != b->regions.count) return false;
  for (size_t r = 0; r < a->regions.count; r++)
    if (a->regions.data[r].signature != b->regions.data[r].signature) return false;
  return is_same(a->events.data, b->events.data, a->events.count * sizeof *a->events.data) &&
         is_same(a->frames.data, b->frames.data, a->frames.count * sizeof *a->frames.data);
}

/* --- order --- */

static int depth_of(const check_behaviour_t *behaviour, uint32_t frame) {
  int depth = 0;
  for (; frame; frame = behaviour->frames.data[frame].parent) depth++;
  return depth;
}

/* Climbs to the computation that holds both and asks there: what is called runs as a whole, in its caller's place. */
bool check_event_is_before(const check_behaviour_t *behaviour, uint32_t a, uint32_t b) {
  const check_event_t *x = &behaviour->events.data[a], *y = &behaviour->events.data[b];
  const check_frame_t *frames = behaviour->frames.data;
  const hlo_instr_t *p = x->instr, *q = y->instr;
  uint32_t f = x->frame, g = y->frame, turn_f = 0, turn_g = 0;
  int depth_f = depth_of(behaviour, f), depth_g = depth_of(behaviour, g);
  for (; depth_f > depth_g; depth_f--) p = frames[f].caller, turn_f = frames[f].turn, f = frames[f].parent;
  for (; depth_g > depth_f; depth_g--) q = frames[g].caller, turn_g = frames[g].turn, g = frames[g].parent;
  while (f != g) {
    p = frames[f].caller, turn_f = frames[f].turn, f = frames[f].parent;
    q = frames[g].caller, turn_g = frames[g].turn, g = frames[g].parent;
  }
  if (p != q) return check_is_before(behaviour->facts, p, q);
  return turn_f != turn_g ? turn_f < turn_g : a < b; /* turns of one loop, or the halves of one collective */
}
