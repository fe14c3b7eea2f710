/* Events of the trace walk, and the abstract results of communication. The n-th result of an
 * all-reduce or all-gather in one group gets one symbol in all members, since they hold equal
 * values; a received value is private to the rank. The state of a send or recv is a tuple (data,
 * position of its start, region), which travels through tuples and loops to the done. */
#include "comm/model/comm_trace_walk.h"

#define MAX_TRACE_EVENTS 50000000 /* per process, unless options.event_limit is lower */

/* --- events --- */

hr_status_t check_walk_abandon(check_walk_t *walk, const hlo_instr_t *instr, const char *why) {
  if (walk->reason) return NULL;
  return hr_arena_printf(walk->options.sites->arena, &walk->reason, "%s %%%.*s at line %u %s",
                         hlo_op_name(instr->op), HR_STR_ARGS(instr->name), instr->line, why);
}

hr_status_t check_walk_event(check_invocation_t *in, const hlo_instr_t *instr,
                             const comm_participants_t *site, check_event_kind_t kind,
                             uint32_t start) {
  comm_trace_t *out = in->walk->out;
  uint64_t limit = in->walk->options.event_limit ? in->walk->options.event_limit : MAX_TRACE_EVENTS;
  if (out->events.count >= limit)
    return check_walk_abandon(in->walk, instr, "is passed too often to be followed");
  HR_VEC_PUSH(&out->events,
              (check_event_t){
                  .instr = instr, .site = site, .kind = kind, .frame = in->frame, .start = start});
  return NULL;
}

hr_status_t check_walk_start(check_invocation_t *in, const hlo_instr_t *instr,
                             const hlo_instr_t *communicates, check_event_kind_t kind) {
  const comm_participants_t *site;
  HR_TRY(comm_participants_of(in->walk->options.sites, communicates, &site));
  in->starts[instr->id] = (uint32_t)in->walk->out->events.count;
  return check_walk_event(in, instr, site, kind, 0);
}

/* Records the end of the operation that `start` began in the same invocation; both events name the
 * same site. */
hr_status_t check_walk_done(check_invocation_t *in, const hlo_instr_t *instr,
                            const hlo_instr_t *start, check_event_kind_t kind) {
  if (in->walk->reason) return NULL;
  uint32_t position = in->starts[start->id];
  return check_walk_event(in, instr, in->walk->out->events.data[position].site, kind, position);
}

/* A frame for a computation that communicates; CHECK_NO_FRAME for others, whose events cannot
 * exist. */
hr_status_t check_walk_frame(check_invocation_t *in, const hlo_computation_t *computation,
                             const hlo_instr_t *caller, uint32_t iteration, uint32_t *out_frame) {
  *out_frame = CHECK_NO_FRAME;
  if (!in->walk->analysis->communicates[computation->id]) return NULL;
  *out_frame = (uint32_t)in->walk->out->frames.count;
  check_frame_t frame = {computation, caller, in->frame, iteration};
  HR_VEC_PUSH(&in->walk->out->frames, frame);
  return NULL;
}

/* --- results of communication --- */

/* Counts the instances of one key in the walk, from 1. Keys and counters live in the evaluator's
 * scratch memory until the walk ends. */
static hr_status_t count_instance(check_walk_t *walk, uint64_t key, uint64_t *out_count) {
  uint64_t *counter = hr_map_get(&walk->instances, (hr_str_t){(const char *)&key, sizeof key}),
           *stored;
  if (!counter) {
    HR_TRY(HR_NEW_ARRAY(&walk->evaluator.scratch, 2, &stored));
    stored[0] = key;
    counter = stored + 1;
    HR_TRY(
        hr_map_put(&walk->instances, (hr_str_t){(const char *)stored, sizeof key}, counter, NULL));
  }
  *out_count = ++*counter;
  return NULL;
}

/* True if all members get the same bytes. A reduce-scatter or an all-to-all gives each its own
 * part; a broadcast from a dynamic root depends on a value. */
static bool is_equal_in_all_members(const hlo_instr_t *instr) {
  switch (instr->op) {
    case HLO_ALL_REDUCE:
    case HLO_ALL_REDUCE_START:
    case HLO_ALL_GATHER:
    case HLO_ALL_GATHER_START:
      return true;
    case HLO_COLLECTIVE_BROADCAST:
      return !hlo_attr_bool(instr, HLO_ATTR_HAS_DYNAMIC_ROOT);
    default:
      return false;
  }
}

/* The result of the n-th instance in this group is the same value in all members. The result of a
 * group of one is a function of the operands, which is not analysed. */
hr_status_t check_walk_result(check_invocation_t *in, const hlo_instr_t *instr, bool needed,
                              check_value_t *out_value) {
  check_walk_t *walk = in->walk;
  const comm_participants_t *site;
  uint64_t count;
  HR_TRY(comm_participants_of(walk->options.sites, instr, &site));
  const check_group_t *group = site->kind == COMM_GROUP ? site->groups[walk->options.rank] : NULL;
  uint64_t key =
      check_mix(check_mix(group ? group->id : 0, (uint64_t)site->channel), (uint64_t)site->kind);
  HR_TRY(count_instance(walk, key, &count));
  if (!needed) return NULL;
  uint64_t symbol = check_mix(check_mix(key, count), 4711);
  if (!group || !is_equal_in_all_members(instr)) {
    *out_value = check_private_value(&walk->evaluator, instr, symbol);
    return NULL;
  }
  bool all = group->size == walk->options.sites->world;
  walk->evaluator.by_rank |= !all;
  *out_value =
      (check_value_t){.kind = CHECK_UNKNOWN, .varies = !all, .symbol = symbol, .cause = instr};
  return NULL;
}

/* The value of an all-gather-start is (operands, result); that of other starts is the result, an
 * unknown value. */
static hr_status_t start_value(check_invocation_t *in, const hlo_instr_t *instr, bool needed,
                               check_value_t *out_value) {
  check_value_t pair[2] = {{.kind = CHECK_UNKNOWN, .cause = instr}};
  if (!needed || instr->op != HLO_ALL_GATHER_START)
    return check_walk_result(in, instr, needed, out_value);
  HR_TRY(check_walk_result(in, instr, true, &pair[1]));
  return check_value_tuple(2, pair, out_value);
}

/* A received value is a symbol of this rank: sent values are not traced through messages. */
static hr_status_t received_value(check_invocation_t *in, const hlo_instr_t *instr,
                                  check_value_t *out_value) {
  uint64_t count;
  HR_TRY(count_instance(in->walk, 1, &count));
  *out_value = check_private_value(&in->walk->evaluator, instr, check_mix(count, 12));
  return NULL;
}

/* A done takes its value from its start's; a synchronous collective is a start and a done in one
 * place. */
static hr_status_t walk_collective(check_invocation_t *in, const hlo_instr_t *instr, bool needed) {
  check_value_t *value = &in->values[instr->id];
  if (hlo_op_is(instr->op, OP_DONE)) {
    bool second = instr->op != HLO_ALL_REDUCE_DONE;
    *value = second ? check_value_element(&in->values[instr->operands[0]->id], 1)
                    : check_value_retain(in->values[instr->operands[0]->id]);
    return check_walk_done(in, instr, instr->operands[0], CHECK_JOIN_DONE);
  }
  HR_TRY(check_walk_start(in, instr, instr, CHECK_JOIN));
  if (!hlo_op_is(instr->op, OP_START)) HR_TRY(check_walk_done(in, instr, instr, CHECK_JOIN_DONE));
  return start_value(in, instr, needed, value);
}

/* --- transfers --- */

/* The state between start and done, which may be passed through tuples and loops: the data, the
 * position of the start, and its region. */
static hr_status_t transfer_state(check_invocation_t *in, const hlo_instr_t *instr) {
  check_value_t parts[3] = {{.kind = CHECK_UNKNOWN, .cause = instr},
                            {.kind = CHECK_INT, .dtype = HR_U32, .integer = in->starts[instr->id]},
                            {.kind = CHECK_INT, .dtype = HR_U32, .integer = in->walk->region}};
  return check_value_tuple(3, parts, &in->values[instr->id]);
}

/* A send or recv: the start event, and the state by which its done finds it. */
static hr_status_t walk_transfer(check_invocation_t *in, const hlo_instr_t *instr, bool needed,
                                 check_event_kind_t kind) {
  if (in->walk->reason) return NULL;
  HR_TRY(check_walk_start(in, instr, instr, kind));
  return needed && !in->walk->reason ? transfer_state(in, instr) : NULL;
}

/* A known part of a state; false if it is unknown. */
static bool state_part(const check_value_t *state, int k, uint32_t *out_number) {
  check_value_t part = check_value_element(state, k);
  bool known = part.kind == CHECK_INT && part.dtype == HR_U32;
  *out_number = known ? (uint32_t)part.integer : 0;
  check_value_release(&part);
  return known;
}

/* The channel of an instruction; 0: none. */
static int64_t named_channel(const hlo_instr_t *instr) {
  return hlo_attr_int(instr, HLO_ATTR_CHANNEL_ID);
}

/* The done of a send or recv finds its start through the state's value. Refused are a state whose
 * origin depends on data, and a start outside of the innermost region, since a region's
 * alternatives may run or not. */
static hr_status_t walk_transfer_done(check_invocation_t *in, const hlo_instr_t *instr,
                                      check_event_kind_t kind) {
  check_walk_t *walk = in->walk;
  uint32_t position, region;
  const check_value_t *state = &in->values[instr->operands[0]->id];
  if (walk->reason) return NULL;
  if (!state_part(state, 1, &position) || !state_part(state, 2, &region))
    return check_walk_abandon(walk, instr,
                              "ends a transfer of which data decide where it was started");
  if (region != walk->region)
    return check_walk_abandon(walk, instr,
                              "ends a transfer that was started outside of its loop or branch");
  const check_event_t *start = &walk->out->events.data[position];
  bool fits = position < walk->out->events.count &&
              start->kind == (kind == CHECK_SEND_DONE ? CHECK_SEND : CHECK_RECV) &&
              (!named_channel(instr) || !named_channel(start->instr) ||
               named_channel(instr) == named_channel(start->instr));
  if (!fits)
    return hlo_error(instr, NULL, "what it ends is not a %s on its channel",
                     kind == CHECK_SEND_DONE ? "send" : "recv");
  return check_walk_event(in, instr, start->site, kind, position);
}

hr_status_t check_walk_communication(check_invocation_t *in, const hlo_instr_t *instr,
                                     bool needed) {
  switch (instr->op) {
    case HLO_SEND:
      return walk_transfer(in, instr, needed, CHECK_SEND);
    case HLO_RECV:
      return walk_transfer(in, instr, needed, CHECK_RECV);
    case HLO_SEND_DONE:
      return walk_transfer_done(in, instr, CHECK_SEND_DONE);
    case HLO_RECV_DONE:
      HR_TRY(walk_transfer_done(in, instr, CHECK_RECV_DONE));
      return needed ? received_value(in, instr, &in->values[instr->id]) : NULL;
    default:
      return walk_collective(in, instr, needed);
  }
}
