/* Schedules out of programs: each entry computation is walked in its planned order; values keep
 * their instructions' names. */
#include <string.h>

#include "comm/model/participants.h"
#include "ir/print.h"
#include "ops/query/device_assignment.h"
#include "ops/query/replica_groups.h"
#include "plan/plan_order.h"
#include "schedule/schedule.h"

typedef struct ends { /* ends of a channel without pairs; -1: not found */
  int sender, receiver;
} ends_t;

typedef struct walk {
  schedule_t *schedule;
  hr_arena_t *arena; /* memory of the walk */
  const hlo_module_t *module;
  const bool *has_effect;
  int rank;
  comm_participant_sets_t *sites;
  hr_map_t *channels; /* ends_t by number */
  hr_map_t names;     /* used in this program */
  hr_map_t values;    /* names, by instruction */
  schedule_block_t *block;
} walk_t;

static hr_str_t key_of(const hlo_instr_t *const *instr) {
  return (hr_str_t){(const char *)instr, sizeof *instr};
}

/* Records the name of an instruction's value. */
static hr_status_t name_value(walk_t *walk, const hlo_instr_t *instr, const char *name) {
  const hlo_instr_t **key;
  void *old;
  HR_TRY(HR_NEW(walk->arena, &key));
  *key = instr;
  return hr_map_put(&walk->values, key_of(key), (void *)name, &old);
}

/* The instruction's own name, or a variant of it: loops may have instructions of the same name. */
static hr_status_t new_name(walk_t *walk, const hlo_instr_t *instr, const char **out_name) {
  const char *name;
  HR_TRY(hr_arena_printf(&walk->schedule->arena, &name, "%.*s", HR_STR_ARGS(instr->name)));
  for (int n = 2; hr_map_get(&walk->names, hr_str_from(name)); n++)
    HR_TRY(hr_arena_printf(&walk->schedule->arena, &name, "%.*s_%d", HR_STR_ARGS(instr->name), n));
  *out_name = name;
  return hr_map_put(&walk->names, hr_str_from(name), (void *)name, NULL);
}

static hr_status_t add_step(walk_t *walk, schedule_kind_t kind, const char *value,
                            schedule_step_t **out_step) {
  schedule_step_t *step;
  HR_TRY(schedule_add(walk->schedule, walk->block, kind, &step));
  step->value = value;
  if (out_step) *out_step = step;
  return NULL;
}

/* Adds a step that defines the instruction's value under a new name. */
static hr_status_t give(walk_t *walk, const hlo_instr_t *instr, schedule_kind_t kind,
                        schedule_step_t **out_step) {
  const char *name;
  HR_TRY(new_name(walk, instr, &name));
  HR_TRY(add_step(walk, kind, name, out_step));
  return name_value(walk, instr, name);
}

/* --- values --- */

/* The number of a constant, through broadcasts; "0" for other instructions. */
static hr_status_t number_of(walk_t *walk, const hlo_instr_t *instr, const char **out_number) {
  while (instr->op == HLO_BROADCAST) instr = instr->operands[0];
  *out_number = "0";
  if (instr->op != HLO_CONSTANT || !instr->literal || instr->literal->count != 1) return NULL;
  hr_strbuf_t text;
  hr_strbuf_init(&text);
  hlo_print_number(&text, instr->literal->dtype, instr->literal->data);
  hr_status_t st = hr_strbuf_finish(&text);
  if (!st) st = hr_arena_cstr(&walk->schedule->arena, (hr_str_t){text.data, text.size}, out_number);
  hr_strbuf_deinit(&text);
  return st;
}

/* The name of the value that an instruction computes. A value that the schedule cannot compute
 * becomes a constant of the right kind. */
static hr_status_t value_of(walk_t *walk, const hlo_instr_t *instr, const char **out_name) {
  while (instr->op == HLO_ADD_DEPENDENCY || instr->op == HLO_COPY) instr = instr->operands[0];
  const char *name = hr_map_get(&walk->values, key_of(&instr));
  if (!name) {
    schedule_step_t *step;
    HR_TRY(give(walk, instr, SCHEDULE_CONST, &step));
    HR_TRY(number_of(walk, instr, &step->number));
    name = step->value;
  }
  *out_name = name;
  return NULL;
}

/* Does the language of schedules have the op? */
static bool has_word(hlo_opcode_t op) {
  return op == HLO_ADD || op == HLO_SUBTRACT || op == HLO_MULTIPLY || op == HLO_MAXIMUM ||
         op == HLO_MINIMUM;
}

/* Does the array have the schedule's shape? Others (counters, predicates) are omitted. */
static bool is_value(const walk_t *walk, const hlo_shape_t *shape) {
  char text[HLO_SHAPE_TEXT];
  return hlo_shape_is_array(shape) && !strcmp(hlo_shape_text(shape, text), walk->schedule->shape);
}

/* A binary op of two values. */
static hr_status_t walk_compute(walk_t *walk, const hlo_instr_t *instr) {
  const char *a, *b;
  schedule_step_t *step;
  HR_TRY(value_of(walk, instr->operands[0], &a));
  HR_TRY(value_of(walk, instr->operands[1], &b));
  HR_TRY(give(walk, instr, SCHEDULE_COMPUTE, &step));
  step->op = instr->op;
  step->a = a;
  step->b = b;
  return NULL;
}

/* --- transfers --- */

/* The peer is the other end in the instruction's pairs, or the only other program with the channel.
 * A rank outside the pairs has no statement. */
static hr_status_t walk_transfer(walk_t *walk, const hlo_instr_t *instr, const hlo_instr_t *start,
                                 const char *value, schedule_kind_t kind) {
  const comm_participants_t *site;
  schedule_step_t *step;
  bool sends = start->op == HLO_SEND;
  HR_TRY(comm_participants_of(walk->sites, start, &site));
  const int *peers = sends ? site->to : site->from;
  const ends_t *ends =
      hr_map_get(walk->channels, (hr_str_t){(const char *)&site->channel, sizeof site->channel});
  int peer = -1;
  if (peers)
    peer = peers[walk->rank];
  else if (ends)
    peer = sends ? ends->receiver : ends->sender;
  if (peers && peer < 0) return NULL;
  if (peer < 0 || peer >= walk->schedule->rank_count)
    return hlo_error(instr, NULL, "no program has the other end of channel %ld",
                     (long)site->channel);
  HR_TRY(add_step(walk, kind, value, &step));
  step->peer = peer;
  return hr_arena_printf(&walk->schedule->arena, &step->channel, "c%ld", (long)site->channel);
}

/* Both halves of a transfer share one name: the name of the value sent or received. */
static hr_status_t walk_channel(walk_t *walk, const hlo_instr_t *instr) {
  const char *value;
  if (instr->op == HLO_SEND) {
    HR_TRY(value_of(walk, instr->operands[0], &value));
    HR_TRY(name_value(walk, instr, value));
    return walk_transfer(walk, instr, instr, value, SCHEDULE_SEND_START);
  }
  if (instr->op == HLO_RECV) {
    HR_TRY(new_name(walk, instr, &value));
    HR_TRY(name_value(walk, instr, value));
    return walk_transfer(walk, instr, instr, value, SCHEDULE_RECV_START);
  }
  const hlo_instr_t *start = instr->operands[0];
  if (start->op != HLO_SEND && start->op != HLO_RECV)
    return hlo_unsupported(instr, "a schedule has no words for transfers that go through tuples");
  value = hr_map_get(&walk->values, key_of(&start));
  HR_TRY(name_value(walk, instr, value));
  return walk_transfer(walk, instr, start, value,
                       instr->op == HLO_SEND_DONE ? SCHEDULE_SEND_DONE : SCHEDULE_RECV_DONE);
}

/* The members of the all-reduce's group that contains this rank, in listed order. */
static hr_status_t group_of(walk_t *walk, const hlo_instr_t *instr, hr_ints_t *out_ranks) {
  op_members_t members;
  int64_t *ranks;
  HR_TRY(op_group_members(walk->arena, instr, walk->sites->num_replicas,
                          walk->sites->num_partitions, walk->rank, &members));
  HR_TRY(HR_NEW_ARRAY(walk->arena, members.size, &ranks));
  for (int i = 0; i < members.size; i++) ranks[i] = members.ranks[i];
  return hr_arena_ints(&walk->schedule->arena, ranks, members.size, out_ranks);
}

/* The language reduces in place, so the value is copied first. */
static hr_status_t walk_all_reduce(walk_t *walk, const hlo_instr_t *instr) {
  const char *value;
  schedule_step_t *step;
  bool is_done = instr->op == HLO_ALL_REDUCE_DONE;
  const hlo_instr_t *start = is_done ? instr->operands[0] : instr;
  if (start->op != HLO_ALL_REDUCE && start->op != HLO_ALL_REDUCE_START)
    return hlo_unsupported(instr, "a schedule has no words for this done");
  if (!is_done) {
    HR_TRY(value_of(walk, instr->operands[0], &value));
    HR_TRY(give(walk, instr, SCHEDULE_COPY, &step));
    step->a = value;
  }
  value = hr_map_get(&walk->values, key_of(&start));
  if (is_done) HR_TRY(name_value(walk, instr, value));
  HR_TRY(add_step(walk,
                  is_done                       ? SCHEDULE_ALL_REDUCE_DONE
                  : instr->op == HLO_ALL_REDUCE ? SCHEDULE_ALL_REDUCE
                                                : SCHEDULE_ALL_REDUCE_START,
                  value, &step));
  return group_of(walk, start, &step->ranks);
}

/* --- loops --- */

/* A scalar integer constant. */
static bool int_constant(const hlo_instr_t *instr, int64_t *out_value) {
  if (instr->op != HLO_CONSTANT || !instr->literal || instr->literal->count != 1 ||
      !hr_dtype_is_integer(instr->literal->dtype))
    return false;
  *out_value = hlo_value_int_at(instr->literal, 0);
  return true;
}

/* Is it a get-tuple-element, *out_index, of an instruction of op `of`? */
static bool is_element(const hlo_instr_t *instr, hlo_opcode_t of, int64_t *out_index) {
  if (instr->op != HLO_GET_TUPLE_ELEMENT || instr->operands[0]->op != of) return false;
  *out_index = hlo_attr_int(instr, HLO_ATTR_INDEX);
  return true;
}

/* Iterations of a counting loop: compare(element k, constant) LT, element k + constant, from a
 * constant. */
static bool count_iterations(const hlo_instr_t *loop, int64_t *out_count) {
  const hlo_instr_t *test = loop->called[0]->root, *body = loop->called[1]->root,
                    *init = loop->operands[0];
  int64_t k, limit, first, step, same;
  if (test->op != HLO_COMPARE || hlo_attr_enum(test, HLO_ATTR_DIRECTION) != HLO_DIRECTION_LT ||
      !is_element(test->operands[0], HLO_PARAMETER, &k) ||
      !int_constant(test->operands[1], &limit) || body->op != HLO_TUPLE || init->op != HLO_TUPLE ||
      !int_constant(init->operands[k], &first))
    return false;
  const hlo_instr_t *next = body->operands[k];
  if (next->op != HLO_ADD || !is_element(next->operands[0], HLO_PARAMETER, &same) || same != k ||
      !int_constant(next->operands[1], &step) || step <= 0)
    return false;
  *out_count = limit > first ? (limit - first + step - 1) / step : 0;
  return true;
}

static hr_status_t walk_computation(walk_t *walk, const hlo_computation_t *computation);

/* Values carried by a loop have one name throughout: they are copied before the loop and at the end
 * of each iteration. */
static hr_status_t copy_to(walk_t *walk, const char *to, const hlo_instr_t *from) {
  const char *value;
  schedule_step_t *step;
  HR_TRY(value_of(walk, from, &value));
  if (!strcmp(value, to)) return NULL;
  HR_TRY(add_step(walk, SCHEDULE_COPY, to, &step));
  step->a = value;
  return NULL;
}

/* Gives the elements of a tuple the names of the loop's values. */
static hr_status_t name_elements(walk_t *walk, const hlo_computation_t *computation,
                                 const hlo_instr_t *of, const char *const *names) {
  for (size_t i = 0; i < computation->instrs.count; i++) {
    const hlo_instr_t *instr = computation->instrs.data[i];
    if (instr->op != HLO_GET_TUPLE_ELEMENT || instr->operands[0] != of) continue;
    const char *name = names[hlo_attr_int(instr, HLO_ATTR_INDEX)];
    if (name) HR_TRY(name_value(walk, instr, name));
  }
  return NULL;
}

/* Walks the body once, then copies its results to the next iteration's values. Results that another
 * carried value still needs are first copied to fresh names, as in parallel copies of SSA
 * destruction. */
static hr_status_t walk_iteration(walk_t *walk, const hlo_computation_t *body, int count,
                                  const char *const *names) {
  const char **results;
  HR_TRY(HR_NEW_ARRAY(walk->arena, count, &results));
  HR_TRY(name_elements(walk, body, body->params.data[0], names));
  HR_TRY(walk_computation(walk, body));
  /* all are read before the first is written, since they may be permuted */
  for (int i = 0; i < count; i++) {
    const char *value, *fresh;
    schedule_step_t *step;
    if (!names[i]) continue;
    HR_TRY(value_of(walk, body->root->operands[i], &value));
    results[i] = value;
    if (!strcmp(value, names[i])) continue;
    bool carried = false;
    for (int j = 0; j < count; j++) carried |= names[j] && !strcmp(names[j], value);
    if (!carried) continue;
    HR_TRY(new_name(walk, body->root->operands[i], &fresh));
    HR_TRY(add_step(walk, SCHEDULE_COPY, fresh, &step));
    step->a = value;
    results[i] = fresh;
  }
  for (int i = 0; i < count; i++) {
    schedule_step_t *step;
    if (!names[i] || !strcmp(results[i], names[i])) continue;
    HR_TRY(add_step(walk, SCHEDULE_COPY, names[i], &step));
    step->a = results[i];
  }
  return NULL;
}

/* Only values of the schedule's shape are carried by name; counters and tokens follow from
 * `repeat`. */
static hr_status_t walk_loop(walk_t *walk, const hlo_instr_t *loop) {
  const hlo_instr_t *init = loop->operands[0];
  int64_t iterations;
  const char **names;
  schedule_step_t *step;
  if (!count_iterations(loop, &iterations))
    return hlo_unsupported(
        loop, "a schedule has loops that count up to a constant only, from a tuple to a tuple");
  HR_TRY(HR_NEW_ARRAY(walk->arena, init->operand_count, &names));
  for (int i = 0; i < init->operand_count; i++) {
    if (!is_value(walk, init->operands[i]->shape)) continue;
    HR_TRY(new_name(walk, init->operands[i], &names[i]));
    HR_TRY(copy_to(walk, names[i], init->operands[i]));
  }
  HR_TRY(add_step(walk, SCHEDULE_REPEAT, NULL, &step));
  step->count = iterations;
  schedule_block_t *outer = walk->block;
  walk->block = &step->body;
  HR_TRY(walk_iteration(walk, loop->called[1], init->operand_count, names));
  walk->block = outer;
  return name_elements(walk, loop->parent, loop, names);
}

/* --- programs --- */

static bool communicates(const hlo_instr_t *instr) { return hlo_op_is(instr->op, OP_COMM); }

/* Does the computation, or one that it calls at any depth, communicate? */
static bool any_communicates(const hlo_computation_t *computation) {
  for (size_t i = 0; i < computation->instrs.count; i++) {
    const hlo_instr_t *instr = computation->instrs.data[i];
    if (communicates(instr)) return true;
    for (int c = 0; c < instr->called_count; c++)
      if (any_communicates(instr->called[c])) return true;
  }
  return false;
}

/* Instructions that neither communicate nor compute values of the schedule have no statement. */
static hr_status_t walk_instr(walk_t *walk, const hlo_instr_t *instr) {
  if (op_is_channel_end(instr) || instr->op == HLO_SEND_DONE || instr->op == HLO_RECV_DONE)
    return walk_channel(walk, instr);
  if (instr->op == HLO_ALL_REDUCE || instr->op == HLO_ALL_REDUCE_START ||
      instr->op == HLO_ALL_REDUCE_DONE)
    return walk_all_reduce(walk, instr);
  if (instr->op == HLO_WHILE) return walk_loop(walk, instr);
  if (communicates(instr)) return hlo_unsupported(instr, "a schedule has no word for it");
  for (int c = 0; c < instr->called_count; c++)
    if (any_communicates(instr->called[c]))
      return hlo_unsupported(instr, "a schedule has no words for communication inside it");
  int64_t index;
  if (is_element(instr, HLO_RECV_DONE, &index) && index == 0) {
    const hlo_instr_t *done = instr->operands[0];
    return name_value(walk, instr, hr_map_get(&walk->values, key_of(&done)));
  }
  if (!is_value(walk, instr->shape)) return NULL;
  if (instr->op == HLO_PARAMETER && instr->parent == walk->module->entry)
    return give(walk, instr, SCHEDULE_INPUT, NULL);
  return has_word(instr->op) ? walk_compute(walk, instr) : NULL;
}

/* Walks the instructions in planned order, in which a process runs them. */
static hr_status_t walk_computation(walk_t *walk, const hlo_computation_t *computation) {
  hlo_instr_t *const *order;
  int count;
  HR_TRY(plan_order(walk->arena, computation, walk->has_effect, &order, &count));
  for (int i = 0; i < count; i++) HR_TRY(walk_instr(walk, order[i]));
  return NULL;
}

/* Outputs the elements of the entry's result that are values of the schedule. */
static hr_status_t add_outputs(walk_t *walk, const hlo_instr_t *root) {
  const char *name;
  int count = root->op == HLO_TUPLE ? root->operand_count : 1;
  for (int i = 0; i < count; i++) {
    const hlo_instr_t *result = root->op == HLO_TUPLE ? root->operands[i] : root;
    if (!is_value(walk, result->shape)) continue;
    HR_TRY(value_of(walk, result, &name));
    HR_TRY(add_step(walk, SCHEDULE_OUTPUT, name, NULL));
  }
  return NULL;
}

/* Names are per rank; channels are shared by all ranks. */
static hr_status_t walk_program(walk_t *walk) {
  walk->block = &walk->schedule->ranks[walk->rank];
  hr_map_init(&walk->names);
  hr_map_init(&walk->values);
  hr_status_t st = plan_find_effects(walk->arena, walk->module, &walk->has_effect);
  if (!st) st = walk_computation(walk, walk->module->entry);
  if (!st) st = add_outputs(walk, walk->module->entry->root);
  hr_map_deinit(&walk->names);
  hr_map_deinit(&walk->values);
  return st;
}

/* --- channels and shape --- */

/* Records the programs with the sending and the receiving end of a channel. */
static hr_status_t note_end(hr_arena_t *arena, hr_map_t *channels, const hlo_instr_t *instr,
                            int rank) {
  int64_t channel = hlo_attr_int(instr, HLO_ATTR_CHANNEL_ID), *key;
  ends_t *ends = hr_map_get(channels, (hr_str_t){(const char *)&channel, sizeof channel});
  if (!ends) {
    HR_TRY(HR_NEW(arena, &ends));
    HR_TRY(HR_NEW(arena, &key));
    *ends = (ends_t){-1, -1};
    *key = channel;
    HR_TRY(hr_map_put(channels, (hr_str_t){(const char *)key, sizeof *key}, ends, NULL));
  }
  *(instr->op == HLO_SEND ? &ends->sender : &ends->receiver) = rank;
  return NULL;
}

/* All values of a schedule have one shape: the shape of the first message. */
static hr_status_t note_shape(schedule_t *schedule, const hlo_shape_t *shape) {
  char text[HLO_SHAPE_TEXT];
  if (schedule->shape || !hlo_shape_is_array(shape)) return NULL;
  return hr_arena_cstr(&schedule->arena, hr_str_from(hlo_shape_text(shape, text)),
                       &schedule->shape);
}

/* First pass over a program: channel ends and the shape of its messages. */
static hr_status_t note_module(hr_arena_t *arena, hr_map_t *channels, schedule_t *schedule,
                               const hlo_module_t *module, int rank) {
  for (size_t c = 0; c < module->computations.count; c++) {
    const hlo_computation_t *computation = module->computations.data[c];
    for (size_t i = 0; i < computation->instrs.count; i++) {
      const hlo_instr_t *instr = computation->instrs.data[i];
      if (op_is_channel_end(instr)) HR_TRY(note_end(arena, channels, instr, rank));
      if (instr->op == HLO_SEND || instr->op == HLO_ALL_REDUCE)
        HR_TRY(note_shape(schedule, instr->operands[0]->shape));
    }
  }
  return NULL;
}

/* Visits all programs first, since a channel's name must not depend on the rank being walked. */
hr_status_t schedule_from_hlo(const hlo_module_t *const *modules, int count,
                              schedule_t *out_schedule) {
  hr_arena_t arena;
  hr_map_t channels;
  comm_participant_sets_t sites;
  hr_status_t st = schedule_init(out_schedule, count, NULL);
  hr_arena_init(&arena);
  hr_map_init(&channels);
  comm_participant_sets_init(&sites, &arena, count, 1);
  for (int r = 0; r < count && !st; r++)
    st = note_module(&arena, &channels, out_schedule, modules[r], r);
  if (!out_schedule->shape) out_schedule->shape = "f32[4]";
  for (int r = 0; r < count && !st; r++) {
    walk_t walk = {.schedule = out_schedule,
                   .arena = &arena,
                   .module = modules[r],
                   .rank = r,
                   .sites = &sites,
                   .channels = &channels};
    st = walk_program(&walk);
  }
  comm_participant_sets_deinit(&sites);
  hr_map_deinit(&channels);
  hr_arena_deinit(&arena);
  return st;
}
