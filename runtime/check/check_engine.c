/* Executes a schedule symbolically: a worklist of runnable processes, each advanced until it
 * blocks. Starts update counters of channels and collectives and wake the processes that wait for
 * them; a done passes if the counter has reached the needed value. Regions are barriers of all
 * processes that pass the same signature, or one alternative of them is followed
 * (CHECK_REGION_FOLLOW).
 *
 * Confluence: events are never undone and starts never block, so the final state does not depend
 *             on the order of the worklist. Cost: constant time per event, plus a wake-up per
 *             waiter of a collective. */
#include "check/check_engine.h"

#include "base/map.h"

/* --- life cycle --- */

/* Every process is before its first event. */
static hr_status_t make_processes(check_engine_t *engine) {
  hr_arena_t *arena = &engine->matching.arena;
  HR_TRY(HR_NEW_ARRAY(arena, engine->result->world, &engine->processes));
  for (int rank = 0; rank < engine->result->world; rank++) {
    const check_range_t *range = &engine->ranges[rank];
    check_process_t *process = &engine->processes[rank];
    process->at = range->begin;
    process->next_waiter = CHECK_NOBODY;
    HR_TRY(HR_NEW_ARRAY(arena, range->end - range->begin, &process->numbers));
  }
  return NULL;
}

/* Regions of equal signature share one barrier on all ranks. */
static hr_status_t find_barrier(check_engine_t *engine, uint64_t signature,
                                check_barrier_t **out_barrier) {
  check_barrier_t *barrier =
      hr_map_get(&engine->barriers, (hr_str_t){(const char *)&signature, sizeof signature});
  *out_barrier = barrier;
  if (barrier) return NULL;
  HR_TRY(HR_NEW(&engine->matching.arena, &barrier));
  barrier->signature = signature;
  barrier->waiters = CHECK_NOBODY;
  HR_VEC_PUSH(&engine->all_barriers, barrier);
  *out_barrier = barrier;
  return hr_map_put(&engine->barriers,
                    (hr_str_t){(const char *)&barrier->signature, sizeof signature}, barrier, NULL);
}

/* Counts the processes that pass each region, before the run starts. */
static hr_status_t expect_regions(check_engine_t *engine, int rank, hr_arena_t *scratch) {
  const comm_trace_t *trace = engine->result->of[rank];
  hr_map_t passed;
  hr_status_t st = NULL;
  if (!trace->regions.count) return NULL;
  hr_map_init(&passed);
  for (uint32_t at = engine->ranges[rank].begin; at < engine->ranges[rank].end && !st; at++) {
    const check_event_t *event = &trace->events.data[at];
    if (event->kind != CHECK_REGION) continue;
    const check_region_t *region = &trace->regions.data[event->start];
    check_barrier_t *barrier;
    uint32_t *count;
    hr_str_t key = {(const char *)&region->signature, sizeof region->signature};
    st = find_barrier(engine, region->signature, &barrier);
    count = st ? NULL : hr_map_get(&passed, key);
    if (!st && !count && !(st = HR_NEW(scratch, &count)))
      st = hr_map_put(&passed, key, count, NULL);
    if (!st) st = HR_VEC_RESERVE(&barrier->expected, *count + 1);
    if (st) break;
    if (*count == barrier->expected.count) barrier->expected.data[barrier->expected.count++] = 0;
    barrier->expected.data[(*count)++]++;
    engine->processes[rank].numbers[at - engine->ranges[rank].begin] = *count;
    at = region->end - 1;
  }
  hr_map_deinit(&passed);
  return st;
}

hr_status_t check_engine_init(check_engine_t *engine, check_result_t *result,
                              const check_range_t *ranges, const check_engine_options_t *options) {
  *engine = (check_engine_t){.result = result, .options = *options, .ranges = ranges};
  check_matching_init(&engine->matching);
  hr_map_init(&engine->barriers);
  HR_TRY(make_processes(engine));
  bool has_barriers = options->mode == CHECK_REGION_BARRIER && !options->count_only;
  for (int rank = 0; has_barriers && rank < result->world; rank++)
    HR_TRY(expect_regions(engine, rank, &engine->matching.arena));
  return NULL;
}

void check_engine_deinit(check_engine_t *engine) {
  for (size_t i = 0; i < engine->all_barriers.count; i++) {
    HR_VEC_FREE(&engine->all_barriers.data[i]->instances);
    HR_VEC_FREE(&engine->all_barriers.data[i]->expected);
  }
  HR_VEC_FREE(&engine->all_barriers);
  HR_VEC_FREE(&engine->ready);
  hr_map_deinit(&engine->barriers);
  check_matching_deinit(&engine->matching);
}

/* --- wake-ups --- */

/* A blocked process tries its event again. */
static hr_status_t wake(check_engine_t *engine, int rank) {
  engine->processes[rank].blocked = false;
  HR_VEC_PUSH(&engine->ready, rank);
  return NULL;
}

/* Wakes the end that waits on `side` if the counter has reached what it needs. */
static hr_status_t wake_channel(check_engine_t *engine, check_channel_t *channel, int side) {
  int rank = channel->waiting[side];
  if (rank == CHECK_NOBODY || channel->started[side] < channel->need[side]) return NULL;
  channel->waiting[side] = CHECK_NOBODY;
  return wake(engine, rank);
}

/* Wakes all waiters of a list; those that wait for another instance block again. */
static hr_status_t wake_list(check_engine_t *engine, int *list) {
  int rank = *list;
  *list = CHECK_NOBODY;
  while (rank != CHECK_NOBODY) {
    int next = engine->processes[rank].next_waiter;
    HR_TRY(wake(engine, rank));
    rank = next;
  }
  return NULL;
}

/* Always false, for the caller to return. */
static bool block_on_list(check_engine_t *engine, int rank, int *list) {
  engine->processes[rank].blocked = true;
  engine->processes[rank].next_waiter = *list;
  *list = rank;
  return false;
}

/* --- starts --- */

/* A collective whose groups omit the rank is misuse, except for broadcasts, which give zeros
 * there. */
static hr_status_t report_missing_member(check_engine_t *engine, int rank,
                                         const check_event_t *event) {
  check_problem_t problem = {NULL, event->instr, NULL, rank, -1};
  if (event->site->kind != COMM_GROUP || event->site->instr->op == HLO_COLLECTIVE_BROADCAST)
    return NULL;
  HR_TRY(check_printf(engine->result, &problem.text,
                      "rank %d executes the %s, but is in none of its replica groups", rank,
                      hlo_op_name(event->site->instr->op)));
  return check_add_problem(engine->result, CHECK_MISUSE, problem);
}

/* The number of the start on its side is the count that its done needs from the other side. */
static hr_status_t start_on_channel(check_engine_t *engine, check_channel_t *channel, int side,
                                    int rank, const check_event_t *event, uint32_t *number) {
  HR_TRY(check_channel_start(engine->result, channel, side, rank, event));
  *number = channel->started[side];
  return wake_channel(engine, channel, side);
}

/* Starts never block: they count, compare with waiting partners, and wake the processes that wait
 * for them. */
static hr_status_t start(check_engine_t *engine, int rank, const check_event_t *event,
                         uint32_t *numbers) {
  check_ends_t ends;
  uint32_t number = 0;
  HR_TRY(check_ends_of(engine->result, &engine->matching, rank, event, &ends));
  if (ends.collective) {
    HR_TRY(check_collective_start(engine->result, ends.collective, rank, event, &number));
    *numbers = number + 1;
    if ((int)ends.collective->instances.data[number].arrived < ends.collective->group->size)
      return NULL;
    return wake_list(engine, &ends.collective->waiters);
  }
  if (!ends.channel[0] && !ends.channel[1]) return report_missing_member(engine, rank, event);
  for (int side = 0; side < 2; side++)
    if (ends.channel[side])
      HR_TRY(start_on_channel(engine, ends.channel[side], side, rank, event, numbers));
  return NULL;
}

/* --- dones --- */

/* Number of starts that the other side of a channel must have made for start `number` of this side
 * to complete. */
static uint32_t partner_need(const check_engine_t *engine, const check_event_t *event,
                             uint32_t number) {
  uint32_t buffered = event->kind == CHECK_SEND_DONE ? engine->result->options.buffered : 0;
  return number > buffered ? number - buffered : 0;
}

/* A done passes if the other side has made enough starts; at most one process waits on a side. */
static bool can_pass_channel(check_engine_t *engine, check_channel_t *channel, int other_side,
                             uint32_t need, int rank) {
  if (channel->started[other_side] >= need) return true;
  channel->waiting[other_side] = rank;
  channel->need[other_side] = need;
  engine->processes[rank].blocked = true;
  return false;
}

/* *out_passed false: the process is blocked. Trying a done repeatedly has no further effect. */
static hr_status_t try_done(check_engine_t *engine, int rank, const check_event_t *event,
                            uint32_t number, bool *out_passed) {
  check_ends_t ends;
  HR_TRY(check_ends_of(engine->result, &engine->matching, rank, event, &ends));
  *out_passed = true;
  if (ends.collective) {
    bool all =
        (int)ends.collective->instances.data[number - 1].arrived == ends.collective->group->size;
    *out_passed = all || block_on_list(engine, rank, &ends.collective->waiters);
    return NULL;
  }
  for (int side = 0; side < 2 && *out_passed; side++)
    if (ends.channel[side])
      *out_passed = can_pass_channel(engine, ends.channel[side], !side,
                                     partner_need(engine, event, number), rank);
  return NULL;
}

/* --- regions --- */

/* Flag in the number of a region: this process waits at it. */
#define HAS_ARRIVED (UINT32_C(1) << 31)

/* A region is passed when all processes whose traces contain it have arrived. A flag in the number
 * keeps arrivals from being counted twice. */
static hr_status_t pass_barrier(check_engine_t *engine, int rank, const check_region_t *region,
                                uint32_t *number, bool *out_passed) {
  check_barrier_t *barrier;
  uint32_t instance = (*number & ~HAS_ARRIVED) - 1;
  HR_TRY(find_barrier(engine, region->signature, &barrier));
  while (barrier->instances.count <= instance)
    HR_VEC_PUSH(&barrier->instances, (check_instance_t){.arrived = 0});
  if (!(*number & HAS_ARRIVED)) barrier->instances.data[instance].arrived++;
  *number |= HAS_ARRIVED;
  *out_passed = barrier->instances.data[instance].arrived == barrier->expected.data[instance];
  if (*out_passed) return wake_list(engine, &barrier->waiters);
  block_on_list(engine, rank, &barrier->waiters);
  return NULL;
}

/* Position at which branch `branch` of a region begins. */
static uint32_t branch_begin(const comm_trace_t *trace, uint32_t at, uint32_t branch) {
  uint32_t number = trace->events.data[at].start;
  const check_region_t *region = &trace->regions.data[number];
  if (branch >= region->alternative_count) branch = region->alternative_count - 1;
  for (at++; branch; at++)
    if (trace->events.data[at].kind == CHECK_REGION_END && trace->events.data[at].start == number)
      branch--;
  return at;
}

/* Follows one branch, or a loop for a bounded number of iterations. */
static void enter_region(check_engine_t *engine, int rank, const check_region_t *region) {
  check_process_t *process = &engine->processes[rank];
  bool loops = region->instr->op == HLO_WHILE;
  if (loops && !engine->options.iterations) {
    process->at = region->end;
    return;
  }
  if (loops && !region->parent) process->iterations_left = engine->options.iterations - 1;
  process->at =
      branch_begin(engine->result->of[rank], process->at, loops ? 0 : engine->options.branch);
}

/* At the end of an iteration, returns to the region's head, which is found by searching
 * backwards. */
static void leave_region(check_engine_t *engine, int rank, const check_event_t *event) {
  check_process_t *process = &engine->processes[rank];
  const check_region_t *region = &engine->result->of[rank]->regions.data[event->start];
  bool again = region->instr->op == HLO_WHILE && !region->parent && process->iterations_left;
  if (!again) {
    process->at = region->end;
    return;
  }
  process->iterations_left--;
  while (engine->result->of[rank]->events.data[process->at].kind != CHECK_REGION ||
         engine->result->of[rank]->events.data[process->at].start != event->start)
    process->at--;
  process->at++;
}

/* Regions are barriers, or followed, or only counted, as the options say. */
static hr_status_t step_region(check_engine_t *engine, int rank, const check_event_t *event,
                               bool *out_passed) {
  check_process_t *process = &engine->processes[rank];
  *out_passed = true;
  if (event->kind == CHECK_REGION_END) {
    leave_region(engine, rank, event);
    return NULL;
  }
  const check_region_t *region = &engine->result->of[rank]->regions.data[event->start];
  if (engine->options.mode == CHECK_REGION_FOLLOW && !engine->options.count_only) {
    enter_region(engine, rank, region);
    return NULL;
  }
  uint32_t *number = &process->numbers[process->at - engine->ranges[rank].begin];
  if (!engine->options.count_only) HR_TRY(pass_barrier(engine, rank, region, number, out_passed));
  if (*out_passed) process->at = region->end;
  return NULL;
}

/* --- running --- */

/* One event of one process; *out_passed false: the process is blocked. */
static hr_status_t step(check_engine_t *engine, int rank, bool *out_passed) {
  check_process_t *process = &engine->processes[rank];
  uint32_t begin = engine->ranges[rank].begin;
  const check_event_t *event = &engine->result->of[rank]->events.data[process->at];
  *out_passed = true;
  if (check_is_start(event)) {
    HR_TRY(start(engine, rank, event, &process->numbers[process->at - begin]));
  } else if (!check_is_done(event)) {
    return step_region(engine, rank, event, out_passed);
  } else if (!engine->options.count_only) {
    HR_TRY(try_done(engine, rank, event, process->numbers[event->start - begin], out_passed));
  }
  process->at += *out_passed;
  return NULL;
}

/* Any order of processes gives the same final state, since enabled events stay enabled
 * (confluence): one order suffices. */
hr_status_t check_engine_run(check_engine_t *engine) {
  for (int rank = 0; rank < engine->result->world; rank++)
    if (!engine->processes[rank].blocked && engine->processes[rank].at < engine->ranges[rank].end)
      HR_VEC_PUSH(&engine->ready, rank);
  while (engine->ready.count) {
    int rank = engine->ready.data[--engine->ready.count];
    bool passed = true;
    while (passed && engine->processes[rank].at < engine->ranges[rank].end)
      HR_TRY(step(engine, rank, &passed));
  }
  return NULL;
}

/* --- results --- */

bool check_engine_is_complete(const check_engine_t *engine) {
  for (int rank = 0; rank < engine->result->world; rank++)
    if (engine->processes[rank].at < engine->ranges[rank].end) return false;
  return true;
}

/* Does every message have both ends, and every collective all members? Only then may a loop's body
 * be repeated. */
bool check_engine_is_balanced(const check_engine_t *engine) {
  for (size_t i = 0; i < engine->matching.all_channels.count; i++)
    if (engine->matching.all_channels.data[i]->started[0] !=
        engine->matching.all_channels.data[i]->started[1])
      return false;
  for (size_t i = 0; i < engine->matching.all_collectives.count; i++) {
    const check_collective_t *collective = engine->matching.all_collectives.data[i];
    if (collective->instances.count &&
        (int)collective->instances.data[collective->instances.count - 1].arrived <
            collective->group->size)
      return false;
  }
  return true;
}

/* Finds the remaining start of a process that makes its count on a channel or collective reach
 * `need`. */
static hr_status_t find_awaited(check_engine_t *engine, int rank, const check_channel_t *channel,
                                int side, const check_collective_t *collective, uint32_t have,
                                uint32_t need, uint32_t *out_event) {
  const comm_trace_t *trace = engine->result->of[rank];
  *out_event = CHECK_NEVER;
  for (uint32_t at = engine->processes[rank].at; at < engine->ranges[rank].end; at++) {
    check_ends_t ends;
    if (!check_is_start(&trace->events.data[at])) continue;
    HR_TRY(check_ends_of(engine->result, &engine->matching, rank, &trace->events.data[at], &ends));
    if (channel ? ends.channel[side] != channel : ends.collective != collective) continue;
    if (++have < need) continue;
    *out_event = at;
    return NULL;
  }
  return NULL;
}

/* The first member that has not started the instance and still can. */
static hr_status_t collective_wait(check_engine_t *engine, check_collective_t *collective,
                                   uint32_t number, check_wait_t *wait) {
  const check_group_t *group = collective->group;
  for (int k = 0; k < group->size; k++) {
    int member = group->ranks[k];
    if (collective->counts[k] >= number) continue;
    wait->other = member;
    HR_TRY(find_awaited(engine, member, NULL, 0, collective, collective->counts[k], number,
                        &wait->awaited));
    if (wait->awaited != CHECK_NEVER) return NULL;
  }
  return NULL;
}

/* For reports: the event that would release a blocked process, if there is one. */
hr_status_t check_engine_waits_for(check_engine_t *engine, int rank, check_wait_t *out_wait) {
  const check_process_t *process = &engine->processes[rank];
  const check_event_t *event = &engine->result->of[rank]->events.data[process->at];
  check_ends_t ends;
  *out_wait = (check_wait_t){rank, process->at, -1, CHECK_NEVER};
  if (!check_is_done(event)) return NULL;
  uint32_t number = process->numbers[event->start - engine->ranges[rank].begin];
  HR_TRY(check_ends_of(engine->result, &engine->matching, rank, event, &ends));
  if (ends.collective) return collective_wait(engine, ends.collective, number, out_wait);
  for (int side = 0; side < 2; side++) {
    check_channel_t *channel = ends.channel[side];
    uint32_t need = partner_need(engine, event, number);
    if (!channel || channel->started[!side] >= need) continue;
    out_wait->other = side ? channel->key.from : channel->key.to;
    return find_awaited(engine, out_wait->other, channel, !side, NULL, channel->started[!side],
                        need, &out_wait->awaited);
  }
  return NULL;
}
