/* One pass over the events of each process: the n-th region of a signature is one instance for all
 * processes. */
#include "check/region_instances.h"

static hr_status_t find_series(region_instances_t *instances, uint64_t signature,
                               region_series_t **out_series) {
  region_series_t *series =
      hr_map_get(&instances->by_signature, (hr_str_t){(const char *)&signature, sizeof signature});
  *out_series = series;
  if (series) return NULL;
  HR_TRY(HR_NEW(&instances->arena, &series));
  series->signature = signature;
  HR_VEC_PUSH(&instances->series, series);
  *out_series = series;
  return hr_map_put(&instances->by_signature,
                    (hr_str_t){(const char *)&series->signature, sizeof signature}, series, NULL);
}

static hr_status_t add_instance(region_instances_t *instances, int world, int rank,
                                const check_region_t *region) {
  region_instance_t made = {.region = region, .first_rank = rank};
  HR_TRY(HR_NEW_ARRAY(&instances->arena, world, &made.at));
  for (int other = 0; other < world; other++) made.at[other] = CHECK_NEVER;
  HR_VEC_PUSH(&instances->list, made);
  return NULL;
}

static hr_status_t collect_of_rank(region_instances_t *instances, const check_result_t *result,
                                   int rank, check_range_t range) {
  const comm_trace_t *trace = result->of[rank];
  for (size_t i = 0; i < instances->series.count; i++) instances->series.data[i]->passed = 0;
  for (uint32_t at = range.begin; trace->regions.count && at < range.end; at++) {
    if (trace->events.data[at].kind != CHECK_REGION) continue;
    const check_region_t *region = &trace->regions.data[trace->events.data[at].start];
    region_series_t *series;
    HR_TRY(find_series(instances, region->signature, &series));
    if (series->passed == series->instances.count) {
      HR_VEC_PUSH(&series->instances, instances->list.count);
      HR_TRY(add_instance(instances, result->world, rank, region));
    }
    instances->list.data[series->instances.data[series->passed++]].at[rank] = at;
    at = region->end - 1;
  }
  return NULL;
}

hr_status_t region_instances_collect(region_instances_t *instances, const check_result_t *result,
                                     const check_range_t *ranges) {
  *instances = (region_instances_t){.list = {0}};
  hr_arena_init(&instances->arena);
  hr_map_init(&instances->by_signature);
  for (int rank = 0; rank < result->world; rank++)
    HR_TRY(collect_of_rank(instances, result, rank, ranges[rank]));
  return NULL;
}

void region_instances_deinit(region_instances_t *instances) {
  for (size_t i = 0; i < instances->series.count; i++)
    HR_VEC_FREE(&instances->series.data[i]->instances);
  HR_VEC_FREE(&instances->series);
  HR_VEC_FREE(&instances->list);
  hr_map_deinit(&instances->by_signature);
  hr_arena_deinit(&instances->arena);
}

/* The events of an alternative of region `number`, from `at` to its end, which is `left` ends
 * further on. */
static check_range_t find_alternative(const comm_trace_t *trace, uint32_t at, uint32_t left) {
  uint32_t number = trace->events.data[at].start;
  uint32_t begin = ++at;
  for (;; at++) {
    const check_event_t *event = &trace->events.data[at];
    if (event->kind != CHECK_REGION_END || event->start != number) continue;
    if (!left--) return (check_range_t){begin, at};
    begin = at + 1;
  }
}

void region_alternative(const check_result_t *result, const region_instance_t *instance,
                        uint32_t alternative, check_range_t *ranges) {
  for (int rank = 0; rank < result->world; rank++) {
    uint32_t at = instance->at[rank];
    ranges[rank] = (check_range_t){0, 0};
    if (at != CHECK_NEVER) ranges[rank] = find_alternative(result->of[rank], at, alternative);
  }
}
