/* The prover's driver: walks every program for every rank (ranks whose walk never asked for the
 * rank share one trace), rejects unfinished transfers, matches channels, and then decides
 * planned_order.c and, on request, any_order.c. A program whose ranks all pass the same
 * collectives in the same order, without channels, is sound by induction over the list and skips
 * the decision.
 *
 * Misuse outranks deadlock, which outranks unproved; at most MAX_PROBLEMS problems are kept. */
#include "check/check.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/decimal.h"
#include "base/map.h"
#include "check/proof.h"

#define MAX_PROBLEMS 20

/* --- problems --- */

hr_status_t check_printf(check_result_t *result, const char **out_text, const char *format, ...) {
  hr_strbuf_t text;
  char line[1024];
  va_list args;
  va_start(args, format);
  hr_vsnprintf(line, sizeof line, format, args);
  va_end(args);
  hr_strbuf_init(&text);
  hr_strbuf_add_str(&text, line);
  hr_status_t st = hr_strbuf_finish(&text);
  if (!st) st = hr_arena_cstr(&result->arena, (hr_str_t){text.data, text.size}, out_text);
  hr_strbuf_deinit(&text);
  return st;
}

/* Has a problem of the same two instructions been reported? */
static bool is_known_problem(const check_result_t *result, const check_problem_t *problem) {
  for (size_t i = 0; i < result->problems.count; i++) {
    const check_problem_t *old = &result->problems.data[i];
    if (old->first == problem->first && old->second == problem->second &&
        (problem->first || strcmp(old->text, problem->text) == 0))
      return true;
  }
  return false;
}

/* MISUSE replaces lesser verdicts and their problems; UNPROVED counts only if nothing worse is
 * known. */
hr_status_t check_add_problem(check_result_t *result, check_verdict_t verdict,
                              check_problem_t problem) {
  bool worse = verdict == CHECK_MISUSE && result->verdict != CHECK_MISUSE;
  if (worse) result->problems.count = 0;
  if (verdict == CHECK_UNPROVED && result->verdict != CHECK_SOUND &&
      result->verdict != CHECK_UNPROVED)
    return NULL;
  if (worse || result->verdict == CHECK_SOUND) result->verdict = verdict;
  if (result->problems.count >= MAX_PROBLEMS || is_known_problem(result, &problem)) return NULL;
  HR_VEC_PUSH(&result->problems, problem);
  return NULL;
}

/* --- traces of all processes --- */

/* INVALID becomes the verdict CHECK_MISUSE; other errors are returned. */
static hr_status_t status_to_misuse(check_result_t *result, hr_status_t st) {
  check_problem_t problem = {NULL, NULL, NULL, -1, -1};
  if (hr_status_code(st) != HR_INVALID) return st;
  char *message = hr_status_format(st);
  hr_status_release(st);
  if (!message) return hr_error(HR_NO_MEMORY, "out of memory");
  size_t length = strlen(message);
  while (length && message[length - 1] == '\n') length--;
  st = hr_arena_cstr(&result->arena, (hr_str_t){message, length}, &problem.text);
  free(message);
  return st ? st : check_add_problem(result, CHECK_MISUSE, problem);
}

/* Keeps one of several equal traces; ranks with equal traces share it. */
static hr_status_t keep_trace(check_result_t *result, hr_map_t *by_hash, comm_trace_t *trace,
                              int rank) {
  hr_str_t key = {(const char *)&trace->hash, sizeof trace->hash};
  comm_trace_t *same = hr_map_get(by_hash, key);
  if (same && comm_trace_equal(same, trace)) {
    comm_trace_destroy(trace);
    trace = same;
  } else {
    hr_status_t st = HR_VEC_RESERVE(&result->traces, result->traces.count + 1);
    if (!st && !same) st = hr_map_put(by_hash, key, trace, NULL);
    if (st) {
      comm_trace_destroy(trace);
      return st;
    }
    result->traces.data[result->traces.count++] = trace;
  }
  result->of[rank] = trace;
  trace->process_count++;
  return NULL;
}

/* Reports a process whose control flow the analysis cannot follow. */
static hr_status_t report_unfollowed(check_result_t *result, int rank, const char *reason) {
  check_problem_t problem = {reason, NULL, NULL, rank, -1};
  return check_add_problem(result, CHECK_UNPROVED, problem);
}

/* One walk serves all ranks of a program if it did not depend on the rank. */
static hr_status_t walk_program(check_result_t *result, int number, hr_map_t *by_hash,
                                hr_map_t *plans) {
  const check_program_t *program = &result->programs[number];
  check_walk_options_t options = {.sites = &result->sites,
                                  .plans = plans,
                                  .program = number,
                                  .event_limit = result->options.event_limit};
  bool by_rank = true;
  for (int rank = program->first_rank; rank <= program->last_rank; rank++) {
    comm_trace_t *trace;
    const char *reason;
    if (!by_rank) {
      result->of[rank] = result->of[program->first_rank];
      ((comm_trace_t *)result->of[rank])->process_count++;
      continue;
    }
    options.rank = rank;
    HR_TRY(check_walk(&result->analysis[number], &options, &trace, &by_rank, &reason));
    HR_TRY(keep_trace(result, by_hash, trace, rank));
    if (reason) HR_TRY(report_unfollowed(result, rank, reason));
    if (reason) return NULL;
  }
  return NULL;
}

/* Traces of all programs, until one is misused. */
static hr_status_t walk_all(check_result_t *result) {
  hr_map_t by_hash, plans;
  hr_status_t st = NULL;
  hr_map_init(&by_hash);
  hr_map_init(&plans);
  for (int p = 0; p < result->program_count && !st && result->verdict == CHECK_SOUND; p++) {
    st = comm_analysis_init(&result->arena, result->programs[p].module, result->options.any_order,
                            &result->analysis[p]);
    if (!st) st = status_to_misuse(result, walk_program(result, p, &by_hash, &plans));
  }
  hr_map_deinit(&by_hash);
  hr_map_deinit(&plans);
  return st;
}

/* --- starts and dones --- */

/* Reports a start without a done, or a done without a start. */
static hr_status_t add_unfinished(check_result_t *result, const hlo_instr_t *instr,
                                  const char *format) {
  check_problem_t problem = {NULL, instr, NULL, -1, -1};
  HR_TRY(check_printf(result, &problem.text, format, HR_STR_ARGS(instr->name),
                      hlo_op_name(instr->op)));
  return check_add_problem(result, CHECK_MISUSE, problem);
}

/* A send or recv without a done has no defined completion. A start may have dones in different
 * branches, but only one per path. */
static hr_status_t find_unfinished_in(check_result_t *result, const comm_trace_t *trace) {
  uint32_t count = (uint32_t)trace->events.count;
  uint8_t *dones;
  HR_TRY(HR_NEW_ARRAY(&result->arena, count, &dones));
  for (uint32_t at = 0; at < count; at++) {
    const check_event_t *event = &trace->events.data[at];
    if (event->kind != CHECK_SEND_DONE && event->kind != CHECK_RECV_DONE) continue;
    if (dones[event->start]++)
      HR_TRY(add_unfinished(result, event->instr, "%%%.*s is a second %s of one transfer"));
  }
  for (uint32_t at = 0; at < count; at++) {
    const check_event_t *event = &trace->events.data[at];
    if ((event->kind == CHECK_SEND || event->kind == CHECK_RECV) && !dones[at])
      HR_TRY(add_unfinished(result, event->instr,
                            "the token of %%%.*s is not threaded: no %s-done takes it"));
  }
  return NULL;
}

static hr_status_t find_unfinished(check_result_t *result) {
  for (size_t b = 0; b < result->traces.count; b++)
    HR_TRY(find_unfinished_in(result, result->traces.data[b]));
  return NULL;
}

/* --- the proof --- */

/* USAGE unless the programs' ranks are 0 to world - 1, each once. */
static hr_status_t check_cover(const check_result_t *result) {
  int next = 0;
  for (int p = 0; p < result->program_count; p++) {
    const check_program_t *program = &result->programs[p];
    if (program->first_rank != next || program->last_rank < program->first_rank)
      return hr_error(HR_USAGE, "rank %d is missing from the programs, or named twice", next);
    next = program->last_rank + 1;
  }
  if (next != result->world)
    return hr_error(
        HR_USAGE,
        "the programs are for %d processes, but the grid of %d x %d (replicas x partitions) has %d",
        next, result->options.num_replicas, result->options.num_partitions, result->world);
  return NULL;
}

static hr_status_t headline(check_result_t *result) {
  static const char *const meanings[] = {"completes", "can deadlock", "misuses channels or groups",
                                         "could not be proved to complete"};
  return check_printf(result, &result->headline, "%s: the schedule of %d process%s %s%s",
                      check_verdict_name(result->verdict), result->world,
                      result->world == 1 ? "" : "es", meanings[result->verdict],
                      result->options.any_order ? ", in any order" : ", as planned");
}

/* Do all processes pass the same collectives in the same order, without channels? By induction over
 * the list, each collective is then reached by its whole group. */
static bool is_lockstep(const check_result_t *result) {
  if (result->traces.count != 1) return false;
  const comm_trace_t *trace = result->traces.data[0];
  for (size_t i = 0; i < trace->events.count; i++) {
    const check_event_t *event = &trace->events.data[i];
    if (event->kind != CHECK_JOIN && event->kind != CHECK_JOIN_DONE) return false;
    if (event->kind == CHECK_JOIN && event->site->kind == COMM_GROUP && !event->site->covers)
      return false;
  }
  return true;
}

/* Stages from cheap to costly: traces, unfinished transfers, channel ends. A run in lockstep needs
 * no more; others go through the engine. */
static hr_status_t prove(check_result_t *result) {
  HR_TRY(check_cover(result));
  HR_TRY(walk_all(result));
  if (result->verdict == CHECK_SOUND) HR_TRY(find_unfinished(result));
  if (result->verdict == CHECK_SOUND) HR_TRY(check_match_channels(result));
  for (int rank = 0; rank < result->world && result->verdict == CHECK_SOUND; rank++)
    result->event_count += result->of[rank]->events.count;
  bool trivial =
      result->verdict == CHECK_SOUND && !result->options.any_order && is_lockstep(result);
  if (result->verdict == CHECK_SOUND && !trivial) HR_TRY(check_planned(result));
  return headline(result);
}

/* The result owns everything; the programs' modules must outlive it. */
hr_status_t check_schedule(const check_program_t *programs, int program_count,
                           const check_options_t *options, check_result_t **out_result) {
  void *memory;
  HR_TRY(hr_alloc_zeroed(sizeof(check_result_t), &memory));
  check_result_t *result = memory;
  hr_arena_init(&result->arena);
  result->options = *options;
  result->world = options->num_replicas * options->num_partitions;
  result->program_count = program_count;
  hr_map_init(&result->ends);
  comm_participant_sets_init(&result->sites, &result->arena, options->num_replicas,
                             options->num_partitions);
  check_program_t *copy = NULL;
  hr_status_t st = HR_NEW_ARRAY(&result->arena, program_count, &copy);
  if (!st) memcpy(copy, programs, (size_t)program_count * sizeof *copy);
  result->programs = copy;
  if (!st) st = HR_NEW_ARRAY(&result->arena, program_count, &result->analysis);
  if (!st) st = HR_NEW_ARRAY(&result->arena, result->world, &result->of);
  if (!st) st = prove(result);
  if (st)
    check_result_destroy(result);
  else
    *out_result = result;
  return st;
}

void check_result_destroy(check_result_t *result) {
  if (!result) return;
  for (size_t i = 0; i < result->traces.count; i++) comm_trace_destroy(result->traces.data[i]);
  HR_VEC_FREE(&result->traces);
  HR_VEC_FREE(&result->problems);
  HR_VEC_FREE(&result->waits);
  hr_map_deinit(&result->ends);
  comm_participant_sets_deinit(&result->sites);
  hr_arena_deinit(&result->arena);
  hr_free(result);
}

check_verdict_t check_result_verdict(const check_result_t *result) { return result->verdict; }

const char *check_verdict_name(check_verdict_t verdict) {
  static const char *const names[] = {"SOUND", "DEADLOCK", "MISUSE", "UNPROVED"};
  return names[verdict];
}

/* --- sound by inspection --- */

/* Does the computation run exactly once, in a fixed position? True for the entry and for async
 * wrappers. */
static bool runs_in_place(const hlo_computation_t *computation) {
  const hlo_module_t *module = computation->module;
  return computation == module->entry || computation->is_async_wrapper;
}

/* Sound if there are only collectives that every process runs in place: no order can create a cycle
 * of waits. */
bool check_is_trivially_sound(const hlo_module_t *module) {
  for (size_t c = 0; c < module->computations.count; c++) {
    const hlo_computation_t *computation = module->computations.data[c];
    for (size_t i = 0; i < computation->instrs.count; i++) {
      const hlo_instr_t *instr = computation->instrs.data[i];
      if (instr->op == HLO_ASYNC_START && computation != module->entry) return false;
      if (!check_is_communication(instr)) continue;
      if (instr->op == HLO_SEND || instr->op == HLO_RECV || !runs_in_place(computation))
        return false;
      if (!hlo_op_is(instr->op, OP_COLLECTIVE) && !hlo_op_is(instr->op, OP_DONE)) return false;
    }
  }
  return true;
}
