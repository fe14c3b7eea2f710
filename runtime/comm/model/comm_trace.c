/* Builds the communication trace of one process by walking its program in planned order with
 * abstract values. Calls are followed; instructions that neither communicate nor decide control
 * flow are skipped (comm_analysis.c). comm_trace_events.c records events, comm_trace_control.c
 * follows branches and loops. Frames form the tree of calls and iterations that each event
 * belongs to.
 *
 * Cost: linear in the instructions walked, bounded by CHECK_MAX_STEPS and MAX_DEPTH; a walk that
 *       is too long ends with a reason, and the schedule is unproved. */
#include "comm/model/comm_trace.h"

#include <string.h>

#include "comm/model/comm_trace_walk.h"
#include "ops/query/async_collective.h"
#include "ops/query/device_assignment.h"

#define MAX_DEPTH 500 /* nested calls */

/* --- calls --- */

/* Follows a call with the caller's values as arguments. The callee gets a frame only if it
 * communicates (check_walk_frame). */
static hr_status_t walk_call(check_invocation_t *in, const hlo_instr_t *instr,
                             check_value_t *out_value) {
  check_value_t *args;
  uint32_t frame;
  hr_arena_t arena;
  hr_arena_init(&arena);
  hr_status_t st = HR_NEW_ARRAY(&arena, instr->operand_count, &args);
  for (int k = 0; !st && k < instr->operand_count; k++)
    args[k] = in->values[instr->operands[k]->id];
  if (!st) st = check_walk_frame(in, instr->called[0], instr, 0, &frame);
  if (!st) st = check_walk_computation(in->walk, instr->called[0], args, frame, out_value);
  hr_arena_deinit(&arena);
  return st;
}

/* The value of an async-start: (operands, result). */
static hr_status_t walk_async_start(check_invocation_t *in, const hlo_instr_t *instr,
                                    check_value_t *out_value) {
  const hlo_instr_t *collective = op_wrapped_collective(instr);
  check_value_t pair[2] = {{.kind = CHECK_UNKNOWN, .cause = instr}, {.kind = CHECK_UNKNOWN}};
  if (collective) {
    HR_TRY(check_walk_start(in, instr, collective, CHECK_JOIN));
    HR_TRY(check_walk_result(in, collective, in->body->needs[instr->id] != 0, &pair[1]));
  } else {
    HR_TRY(walk_call(in, instr, &pair[1]));
  }
  hr_status_t st = check_value_tuple(2, pair, out_value);
  check_value_release(&pair[1]);
  return st;
}

/* Finds the async-start of a done or an update. */
static const hlo_instr_t *async_start_of(const hlo_instr_t *instr) {
  while (instr->op != HLO_ASYNC_START) instr = instr->operands[0];
  return instr;
}

/* Follows an instruction that calls computations, or that ends an async-start, and sets its
 * value. */
static hr_status_t walk_control(check_invocation_t *in, const hlo_instr_t *instr) {
  check_value_t *value = &in->values[instr->id];
  switch (instr->op) {
    case HLO_WHILE:
      return check_walk_while(in, instr, value);
    case HLO_CONDITIONAL:
      return check_walk_conditional(in, instr, value);
    case HLO_ASYNC_START:
      return walk_async_start(in, instr, value);
    case HLO_ASYNC_DONE:
      HR_TRY(check_walk_done(in, instr, async_start_of(instr), CHECK_JOIN_DONE));
      *value = check_value_element(&in->values[instr->operands[0]->id], 1);
      return NULL;
    default:
      return walk_call(in, instr, value);
  }
}

/* --- computations --- */

/* The value of an instruction that neither communicates nor calls, computed by check_evaluate. The
 * list of operands is scratch memory, released at once. */
static hr_status_t evaluate(check_invocation_t *in, const hlo_instr_t *instr) {
  check_value_t *operands;
  hr_arena_t *scratch = &in->walk->evaluator.scratch;
  hr_arena_mark_t mark = hr_arena_mark(scratch);
  HR_TRY(HR_NEW_ARRAY(scratch, instr->operand_count, &operands));
  for (int k = 0; k < instr->operand_count; k++) operands[k] = in->values[instr->operands[k]->id];
  hr_status_t st = check_evaluate(&in->walk->evaluator, instr, operands, &in->values[instr->id]);
  hr_arena_rewind(scratch, mark);
  return st;
}

/* True if the instruction is placed on another device; a done is placed where its start is. */
static bool is_elsewhere(check_invocation_t *in, const hlo_instr_t *instr) {
  check_walk_t *walk = in->walk;
  if (!walk->is_split) return false;
  if (hlo_op_is(instr->op, OP_DONE) && op_device_of(instr) < 0) instr = instr->operands[0];
  int64_t device = op_device_of(instr);
  if (device < 0) return false;
  walk->evaluator.by_rank = true;
  return device != op_device_of_rank(walk->evaluator.rank, walk->evaluator.num_partitions);
}

/* Skips instructions that are no item and whose value no decision needs (comm_analysis.c). These
 * are most of a program, so that a walk is cheap compared to a run. Their values stay UNKNOWN with
 * symbol 0. `args`: the invocation's arguments; NULL: the entry, whose parameters are symbols. */
static hr_status_t walk_instr(check_invocation_t *in, const hlo_instr_t *instr,
                              const check_value_t *args) {
  if (is_elsewhere(in, instr)) return NULL;
  uint64_t needed = in->body->needs[instr->id];
  bool is_item = in->body->item[instr->id] >= 0;
  if (!is_item && !needed) return NULL;
  if (instr->op == HLO_PARAMETER) {
    in->values[instr->id] = args ? check_value_retain(args[hlo_parameter_number(instr)])
                                 : check_entry_parameter(&in->walk->evaluator, instr);
    return NULL;
  }
  if (check_is_communication(instr)) return check_walk_communication(in, instr, needed);
  bool calls = hlo_op_is(instr->op, OP_CONTROL) && instr->op != HLO_ASYNC_UPDATE;
  if (calls && (is_item || instr->op != HLO_ASYNC_DONE)) return walk_control(in, instr);
  return evaluate(in, instr);
}

/* Walks in the planned order, in which the engine runs the computation. */
static hr_status_t walk_instrs(check_invocation_t *in, const hlo_computation_t *computation,
                               const check_value_t *args, check_value_t *out_root) {
  for (int i = 0; i < in->body->count && !in->walk->reason; i++) {
    hr_status_t st = walk_instr(in, in->body->order[i], args);
    if (st) return st;
  }
  *out_root = check_value_retain(in->values[computation->root->id]);
  return NULL;
}

/* One allocation holds the invocation's values and, after them, the positions of its start
 * events. */
hr_status_t check_walk_computation(check_walk_t *walk, const hlo_computation_t *computation,
                                   const check_value_t *args, uint32_t frame,
                                   check_value_t *out_root) {
  size_t count = computation->instrs.count;
  void *memory;
  *out_root = (check_value_t){.kind = CHECK_UNKNOWN};
  if (walk->reason) return NULL;
  if (walk->depth >= MAX_DEPTH || !check_walk_step(walk))
    return check_walk_abandon(walk, computation->root,
                              "is reached by more calls than can be followed");
  HR_TRY(hr_alloc_zeroed(count * (sizeof(check_value_t) + sizeof(uint32_t)), &memory));
  check_invocation_t in = {.walk = walk,
                           .body = &walk->analysis->bodies[computation->id],
                           .values = memory,
                           .frame = frame};
  in.starts = (uint32_t *)(in.values + count);
  walk->depth++;
  hr_status_t st = walk_instrs(&in, computation, args, out_root);
  walk->depth--;
  for (size_t i = 0; i < count; i++) check_value_release(&in.values[i]);
  hr_free(memory);
  return st;
}

/* --- the entry point --- */

/* Hashes the fields that comm_trace_equal compares; only traces with equal hashes are compared in
 * full. */
static void hash_trace(comm_trace_t *out) {
  uint64_t hash = hr_hash_bytes(out->events.data, out->events.count * sizeof *out->events.data, 1);
  for (size_t r = 0; r < out->regions.count; r++)
    hash = check_mix(hash, out->regions.data[r].signature);
  out->hash = hr_hash_bytes(out->frames.data, out->frames.count * sizeof *out->frames.data, hash);
}

/* Frame 0 is the entry: it exists even if nothing communicates. */
static hr_status_t walk_entry(check_walk_t *walk) {
  check_value_t root = {.kind = CHECK_UNKNOWN};
  check_frame_t entry = {.computation = walk->analysis->module->entry};
  HR_VEC_PUSH(&walk->out->frames, entry);
  HR_TRY(check_walk_computation(walk, walk->analysis->module->entry, NULL, 0, &root));
  check_value_release(&root);
  hash_trace(walk->out);
  return NULL;
}

static hr_status_t walk_into(check_walk_t *walk, comm_trace_t **out_trace) {
  void *memory;
  HR_TRY(hr_alloc_zeroed(sizeof(comm_trace_t), &memory));
  walk->out = memory;
  walk->out->analysis = walk->analysis;
  walk->out->program = walk->options.program;
  walk->out->first_rank = walk->options.rank;
  hr_status_t st = walk_entry(walk);
  if (st)
    comm_trace_destroy(walk->out);
  else
    *out_trace = walk->out;
  return st;
}

/* The entry point: one walk of one process. *out_by_rank is true if anything depended on the rank;
 * if not, the trace is valid for all ranks of the program, and the caller walks once. */
hr_status_t check_walk(const comm_analysis_t *analysis, const check_walk_options_t *options,
                       comm_trace_t **out_trace, bool *out_by_rank, const char **out_reason) {
  check_walk_t walk = {.analysis = analysis, .options = *options};
  check_evaluator_init(&walk.evaluator, options->sites->arena, options->plans);
  walk.evaluator.rank = options->rank;
  walk.evaluator.num_replicas = options->sites->num_replicas;
  walk.evaluator.num_partitions = options->sites->num_partitions;
  walk.evaluator.program = options->program;
  walk.is_split = op_is_split_by_device(analysis->module);
  hr_map_init(&walk.instances);
  hr_status_t st = walk_into(&walk, out_trace);
  *out_by_rank = walk.evaluator.by_rank;
  *out_reason = walk.reason;
  hr_map_deinit(&walk.instances);
  check_evaluator_deinit(&walk.evaluator);
  return st;
}

void comm_trace_destroy(comm_trace_t *trace) {
  if (!trace) return;
  HR_VEC_FREE(&trace->events);
  HR_VEC_FREE(&trace->frames);
  HR_VEC_FREE(&trace->regions);
  hr_free(trace);
}

static bool is_same(const void *a, const void *b, size_t bytes) {
  return !bytes || !memcmp(a, b, bytes);
}

bool comm_trace_equal(const comm_trace_t *a, const comm_trace_t *b) {
  if (a->hash != b->hash || a->program != b->program || a->events.count != b->events.count)
    return false;
  if (a->frames.count != b->frames.count || a->regions.count != b->regions.count) return false;
  for (size_t r = 0; r < a->regions.count; r++)
    if (a->regions.data[r].signature != b->regions.data[r].signature) return false;
  return is_same(a->events.data, b->events.data, a->events.count * sizeof *a->events.data) &&
         is_same(a->frames.data, b->frames.data, a->frames.count * sizeof *a->frames.data);
}

/* --- order --- */

/* Frame 0 is the entry, its depth is 0. */
static int depth_of(const comm_trace_t *trace, uint32_t frame) {
  int depth = 0;
  for (; frame; frame = trace->frames.data[frame].parent) depth++;
  return depth;
}

/* An event or one of its callers, with the iteration it belongs to. */
typedef struct position {
  const hlo_instr_t *instr;
  uint32_t frame, iteration;
} position_t;

/* One step up the tree of frames: the calling instruction, and its iteration. */
static position_t caller_of(const comm_trace_t *trace, position_t at) {
  const check_frame_t *frame = &trace->frames.data[at.frame];
  return (position_t){frame->caller, frame->parent, frame->iteration};
}

/* Climbs to the innermost common computation and compares the callers there: a callee runs as a
 * whole, at the position of its caller. */
bool check_event_is_before(const comm_trace_t *trace, uint32_t a, uint32_t b) {
  const check_event_t *first = &trace->events.data[a], *second = &trace->events.data[b];
  position_t x = {first->instr, first->frame, 0}, y = {second->instr, second->frame, 0};
  int depth_x = depth_of(trace, x.frame), depth_y = depth_of(trace, y.frame);
  for (; depth_x > depth_y; depth_x--) x = caller_of(trace, x);
  for (; depth_y > depth_x; depth_y--) y = caller_of(trace, y);
  while (x.frame != y.frame) {
    x = caller_of(trace, x);
    y = caller_of(trace, y);
  }
  if (x.instr != y.instr) return check_is_before(trace->analysis, x.instr, y.instr);
  /* Two iterations of one loop, or start and done of one collective. */
  return x.iteration != y.iteration ? x.iteration < y.iteration : a < b;
}
