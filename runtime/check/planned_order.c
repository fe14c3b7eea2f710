/* The planned order: one run decides. Where control flow depends on data, all branches and one
 * iteration of each loop are proved separately.
 *
 * A region is sound for all data under three conditions: all processes that communicate inside
 * decide alike (equal signatures); each alternative, run separately by those processes, completes
 * and leaves no message or collective half done; and the rest is sound with the region replaced by
 * a barrier of those processes. A region, passed any number of times, then orders no more events
 * than the barrier does. */
#include "check/any_order.h"
#include "check/proved_regions.h"

/* --- the cycle --- */

/* The process that each blocked process waits for, by rank. -1 in `other`: not blocked, or blocked
 * without a partner. */
static hr_status_t find_waits(check_engine_t *engine, check_wait_t *waits) {
  for (int rank = 0; rank < engine->result->world; rank++) {
    waits[rank] = (check_wait_t){rank, CHECK_NEVER, -1, CHECK_NEVER};
    if (engine->processes[rank].at < engine->ranges[rank].end)
      HR_TRY(check_engine_waits_for(engine, rank, &waits[rank]));
  }
  return NULL;
}

static bool is_stuck(const check_wait_t *wait) { return wait->event != CHECK_NEVER; }
static bool can_follow(const check_wait_t *wait) {
  return is_stuck(wait) && wait->awaited != CHECK_NEVER;
}

/* Length of the cycle through `rank` of the map "waits for"; 0: it is on no cycle. */
static int cycle_length(const check_wait_t *waits, int rank, int limit) {
  int length = 1, at = waits[rank].other;
  for (; at >= 0 && at != rank && can_follow(&waits[at]) && length < limit; length++)
    at = waits[at].other;
  return at == rank && length <= limit ? length : 0;
}

/* A rank on the shortest cycle, or -1. Each rank has one outgoing edge; every rank is marked once.
 * Cost: linear. */
static int find_cycle(const check_wait_t *waits, int world, int *seen, int *out_length) {
  int best = -1;
  *out_length = 0;
  for (int rank = 0; rank < world; rank++) {
    int at = rank;
    while (at >= 0 && !seen[at] && can_follow(&waits[at])) {
      seen[at] = rank + 1;
      at = waits[at].other;
    }
    if (at < 0 || seen[at] != rank + 1 || !can_follow(&waits[at])) continue;
    int length = cycle_length(waits, at, world);
    if (length && (!*out_length || length < *out_length)) {
      best = at;
      *out_length = length;
    }
  }
  return best;
}

static hr_status_t record_waits(check_result_t *result, const check_wait_t *waits, int from,
                                int length) {
  int at = from;
  bool *recorded;
  HR_TRY(HR_NEW_ARRAY(&result->arena, result->world, &recorded));
  result->waits.count = 0;
  result->cycle_length = length;
  for (int i = 0; i < length; i++, at = waits[at].other) {
    HR_VEC_PUSH(&result->waits, waits[at]);
    recorded[at] = true;
  }
  for (int never = 1; never >= 0; never--) /* waits that can never end come first */
    for (int rank = 0; rank < result->world; rank++)
      if (is_stuck(&waits[rank]) && !recorded[rank] &&
          (waits[rank].awaited == CHECK_NEVER) == never)
        HR_VEC_PUSH(&result->waits, waits[rank]);
  return NULL;
}

/* Records all blocked processes and their waits in the result. */
static hr_status_t record_stuck(check_engine_t *engine) {
  check_result_t *result = engine->result;
  check_wait_t *waits;
  int *seen, length;
  HR_TRY(HR_NEW_ARRAY(&engine->matching.arena, result->world, &waits));
  HR_TRY(HR_NEW_ARRAY(&engine->matching.arena, result->world, &seen));
  HR_TRY(HR_NEW_ARRAY(&result->arena, result->world, &result->reached));
  HR_TRY(find_waits(engine, waits));
  for (int rank = 0; rank < result->world; rank++)
    result->reached[rank] = engine->processes[rank].at;
  int from = find_cycle(waits, result->world, seen, &length);
  return record_waits(result, waits, from, length);
}

/* --- regions --- */

/* State of the proof. */
typedef struct planned {
  check_result_t *result;
  proved_regions_t proved;
} planned_t;

static hr_status_t report_unproved(check_result_t *result, const region_instance_t *instance,
                                   const char *why) {
  const check_region_t *region = instance->region;
  const hlo_instr_t *cause = region->cause;
  check_problem_t problem = {NULL, region->instr, cause == region->instr ? NULL : cause,
                             instance->first_rank, -1};
  const char *what =
                 region->instr->op == HLO_WHILE ? "condition of while" : "choice of conditional",
             *depends = "";
  if (cause && cause->op == HLO_PARAMETER)
    HR_TRY(check_printf(result, &depends, ": depends on parameter %ld (line %u)",
                        (long)hlo_parameter_number(cause), cause->line));
  else if (cause)
    HR_TRY(check_printf(result, &depends, ": depends on %%%.*s at line %u",
                        HR_STR_ARGS(cause->name), cause->line));
  HR_TRY(check_printf(result, &problem.text, "%s %%%.*s at line %u %s%s", what,
                      HR_STR_ARGS(region->instr->name), region->instr->line, why, depends));
  return check_add_problem(result, CHECK_UNPROVED, problem);
}

/* Are all channels and collectives used inside balanced before the region? Otherwise an operation
 * inside could match one outside. */
static bool is_balanced_before(const check_engine_t *inside, check_engine_t *before) {
  for (size_t i = 0; i < inside->matching.all_channels.count; i++) {
    const check_channel_t *used = inside->matching.all_channels.data[i], *channel;
    channel = hr_map_get(&before->matching.channels,
                         (hr_str_t){(const char *)&used->key, sizeof used->key});
    if (channel && channel->started[0] != channel->started[1]) return false;
  }
  for (size_t i = 0; i < inside->matching.all_collectives.count; i++) {
    const check_collective_t *used = inside->matching.all_collectives.data[i], *collective;
    collective = hr_map_get(&before->matching.collectives,
                            (hr_str_t){(const char *)&used->key, sizeof used->key});
    for (int k = 1; collective && k < collective->group->size; k++)
      if (collective->counts[k] != collective->counts[0]) return false;
  }
  return true;
}

/* Events started before an instance. Counted incrementally while all processes pass the regions in
 * this order, else from the beginning. */
typedef struct prefix {
  const check_range_t *outer; /* per rank: the events being proved */
  check_range_t *ranges; /* the part of `outer` before the instance, or all of it for ranks without
                            the instance */
  check_engine_t engine;
  bool is_open;
} prefix_t;

static void close_prefix(prefix_t *prefix) {
  if (prefix->is_open) check_engine_deinit(&prefix->engine);
  prefix->is_open = false;
}

static hr_status_t open_prefix(const planned_t *planned, prefix_t *prefix) {
  check_engine_options_t options = {.mode = CHECK_REGION_BARRIER, .count_only = true};
  int world = planned->result->world;
  close_prefix(prefix);
  for (int rank = 0; rank < world; rank++) prefix->ranges[rank] = prefix->outer[rank];
  prefix->is_open = true;
  return check_engine_init(&prefix->engine, planned->result, prefix->ranges, &options);
}

static hr_status_t count_before(const planned_t *planned, prefix_t *prefix,
                                const region_instance_t *instance) {
  int world = planned->result->world;
  bool goes_back = !prefix->is_open;
  for (int rank = 0; !goes_back && rank < world; rank++)
    goes_back = prefix->engine.processes[rank].at > instance->at[rank];
  if (goes_back) HR_TRY(open_prefix(planned, prefix));
  for (int rank = 0; rank < world; rank++) {
    uint32_t at = instance->at[rank];
    prefix->ranges[rank].end = at == CHECK_NEVER ? prefix->outer[rank].end : at;
  }
  return check_engine_run(&prefix->engine);
}

static hr_status_t report_unmatched(check_result_t *result, const region_instance_t *instance) {
  return report_unproved(result, instance,
                         instance->region->varies
                             ? "may differ between ranks"
                             : "controls communication that does not match inside it");
}

/* Runs one alternative separately. It must complete and be balanced; else *out_proved is NULL and
 * the failure is reported. */
static hr_status_t run_alternative(planned_t *planned, const region_instance_t *instance,
                                   const check_range_t *ranges,
                                   const proved_alternative_t **out_proved) {
  check_engine_options_t options = {.mode = CHECK_REGION_BARRIER};
  check_engine_t engine;
  hr_status_t st = check_engine_init(&engine, planned->result, ranges, &options);
  if (!st) st = check_engine_run(&engine);
  if (!st && check_engine_is_complete(&engine) && check_engine_is_balanced(&engine))
    return proved_regions_add(&planned->proved, planned->result, instance, ranges, &engine,
                              out_proved);
  check_engine_deinit(&engine);
  *out_proved = NULL;
  return st ? st : report_unmatched(planned->result, instance);
}

static hr_status_t prove_ranges(planned_t *planned, const check_range_t *ranges, int depth);

/* Proves one alternative separately: it must complete, be balanced, and use channels that are
 * balanced before. */
static hr_status_t prove_alternative(planned_t *planned, prefix_t *prefix,
                                     const region_instance_t *instance, uint32_t alternative,
                                     check_range_t *ranges, int depth) {
  check_result_t *result = planned->result;
  region_alternative(result, instance, alternative, ranges);
  const proved_alternative_t *proved =
      proved_regions_find(&planned->proved, result, instance, ranges);
  bool is_known = proved;
  if (!is_known) HR_TRY(run_alternative(planned, instance, ranges, &proved));
  if (!proved) return NULL;
  HR_TRY(count_before(planned, prefix, instance));
  if (!is_balanced_before(&proved->engine, &prefix->engine))
    return report_unproved(result, instance, "controls channels that are in use around it");
  return is_known ? NULL : prove_ranges(planned, ranges, depth + 1);
}

static hr_status_t prove_passages(planned_t *planned, region_instances_t *instances,
                                  const check_range_t *outer, int depth) {
  prefix_t prefix = {.outer = outer};
  check_range_t *ranges;
  int world = planned->result->world;
  HR_TRY(HR_NEW_ARRAY(&instances->arena, world, &ranges));
  HR_TRY(HR_NEW_ARRAY(&instances->arena, world, &prefix.ranges));
  hr_status_t st = NULL;
  for (size_t i = 0; i < instances->list.count && !st; i++)
    for (uint32_t a = 0; a < instances->list.data[i].region->alternative_count && !st; a++)
      st = prove_alternative(planned, &prefix, &instances->list.data[i], a, ranges, depth);
  close_prefix(&prefix);
  return st;
}

static hr_status_t prove_regions(planned_t *planned, const check_range_t *ranges, int depth) {
  region_instances_t instances;
  hr_status_t st = region_instances_collect(&instances, planned->result, ranges);
  if (!st) st = prove_passages(planned, &instances, ranges, depth);
  region_instances_deinit(&instances);
  return st;
}

/* --- the proof --- */

/* Without regions a blocked run is a deadlock. With regions it is only unproved, since barriers are
 * stronger than the regions. */
static hr_status_t classify_blocked(check_engine_t *engine, const check_range_t *ranges,
                                    int depth) {
  check_result_t *result = engine->result;
  region_instances_t instances;
  hr_status_t st = region_instances_collect(&instances, result, ranges);
  if (!st && !instances.list.count && !depth) {
    if (result->verdict < CHECK_DEADLOCK) result->verdict = CHECK_DEADLOCK;
    st = record_stuck(engine);
  }
  for (size_t i = 0; !st && i < instances.list.count; i++)
    st = report_unproved(result, &instances.list.data[i],
                         "controls communication that may not complete");
  region_instances_deinit(&instances);
  return st;
}

static hr_status_t prove_ranges(planned_t *planned, const check_range_t *ranges, int depth) {
  check_result_t *result = planned->result;
  check_engine_options_t options = {.mode = CHECK_REGION_BARRIER};
  check_engine_t engine;
  hr_status_t st = check_engine_init(&engine, result, ranges, &options);
  if (!st) st = check_engine_run(&engine);
  bool complete = !st && check_engine_is_complete(&engine);
  if (!st && !complete) st = classify_blocked(&engine, ranges, depth);
  check_engine_deinit(&engine);
  if (!st && complete && result->options.any_order && result->verdict == CHECK_SOUND)
    st = check_any_order_ranges(result, ranges);
  return !st && complete ? prove_regions(planned, ranges, depth) : st;
}

static bool has_regions(const check_result_t *result) {
  for (size_t b = 0; b < result->traces.count; b++)
    if (result->traces.data[b]->regions.count) return true;
  return false;
}

/* Follows one choice everywhere: branch `branch` of all conditionals, `iterations` iterations of
 * all loops. */
static hr_status_t try_choice(check_result_t *result, const check_range_t *ranges, uint32_t branch,
                              uint32_t iterations, bool *out_stuck) {
  check_engine_options_t options = {
      .mode = CHECK_REGION_FOLLOW, .branch = branch, .iterations = iterations};
  check_engine_t engine;
  hr_status_t st = check_engine_init(&engine, result, ranges, &options);
  if (!st) st = check_engine_run(&engine);
  *out_stuck = !st && !check_engine_is_complete(&engine);
  if (*out_stuck) st = record_stuck(&engine);
  check_engine_deinit(&engine);
  return st;
}

/* The only decision of the schedule, if all regions have one signature and depend on a parameter;
 * else NULL. */
static const check_region_t *only_decision(const check_result_t *result) {
  const check_region_t *only = NULL;
  for (size_t b = 0; b < result->traces.count; b++)
    for (size_t r = 0; r < result->traces.data[b]->regions.count; r++) {
      const check_region_t *region = &result->traces.data[b]->regions.data[r];
      if (only && only->signature != region->signature) return NULL;
      only = region;
    }
  return only && !only->varies && only->cause && only->cause->op == HLO_PARAMETER ? only : NULL;
}

/* For unproved schedules with a single decision: follows every outcome, and shows a deadlock. */
static hr_status_t try_choices(check_result_t *result, const check_range_t *ranges) {
  const check_region_t *only = only_decision(result);
  if (!only) return NULL;
  bool loops = only->instr->op == HLO_WHILE, stuck = false;
  uint32_t choices = loops ? (uint32_t)result->world + 2 : only->alternative_count;
  for (uint32_t choice = 0; choice < choices && !stuck; choice++) {
    HR_TRY(try_choice(result, ranges, choice, choice, &stuck));
    if (!stuck) continue;
    result->verdict = CHECK_DEADLOCK;
    result->problems.count = 0;
    HR_TRY(check_printf(result, &result->region,
                        loops ? "if %%%.*s runs %u iterations" : "if %%%.*s takes branch %u",
                        HR_STR_ARGS(only->instr->name), choice));
  }
  return NULL;
}

hr_status_t check_planned(check_result_t *result) {
  check_range_t *ranges;
  HR_TRY(HR_NEW_ARRAY(&result->arena, result->world, &ranges));
  for (int rank = 0; rank < result->world; rank++)
    ranges[rank] = (check_range_t){0, (uint32_t)result->of[rank]->events.count};
  planned_t planned = {.result = result};
  proved_regions_init(&planned.proved);
  hr_status_t st = prove_ranges(&planned, ranges, 0);
  proved_regions_deinit(&planned.proved);
  if (st) return st;
  return result->verdict == CHECK_UNPROVED && has_regions(result) ? try_choices(result, ranges)
                                                                  : NULL;
}
