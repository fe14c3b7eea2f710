/* One pass over the events of each process: the n-th region of a signature is one passage for all
 * processes. */
#include "check/passages.h"

static hr_status_t find_series(passages_t *passages, uint64_t signature,
                               passage_series_t **out_series) {
  passage_series_t *series =
      hr_map_get(&passages->by_signature, (hr_str_t){(const char *)&signature, sizeof signature});
  *out_series = series;
  if (series) return NULL;
  HR_TRY(HR_NEW(&passages->arena, &series));
  series->signature = signature;
  HR_VEC_PUSH(&passages->series, series);
  *out_series = series;
  return hr_map_put(&passages->by_signature,
                    (hr_str_t){(const char *)&series->signature, sizeof signature}, series, NULL);
}

static hr_status_t add_passage(passages_t *passages, int world, int rank,
                               const check_region_t *region) {
  passage_t made = {.region = region, .first_rank = rank};
  HR_TRY(HR_NEW_ARRAY(&passages->arena, world, &made.at));
  for (int other = 0; other < world; other++) made.at[other] = CHECK_NEVER;
  HR_VEC_PUSH(&passages->list, made);
  return NULL;
}

static hr_status_t collect_of_rank(passages_t *passages, const check_result_t *result, int rank,
                                   check_range_t range) {
  const comm_trace_t *trace = result->of[rank];
  for (size_t i = 0; i < passages->series.count; i++) passages->series.data[i]->passed = 0;
  for (uint32_t at = range.begin; trace->regions.count && at < range.end; at++) {
    if (trace->events.data[at].kind != CHECK_REGION) continue;
    const check_region_t *region = &trace->regions.data[trace->events.data[at].start];
    passage_series_t *series;
    HR_TRY(find_series(passages, region->signature, &series));
    if (series->passed == series->instances.count) {
      HR_VEC_PUSH(&series->instances, passages->list.count);
      HR_TRY(add_passage(passages, result->world, rank, region));
    }
    passages->list.data[series->instances.data[series->passed++]].at[rank] = at;
    at = region->end - 1;
  }
  return NULL;
}

hr_status_t passages_collect(passages_t *passages, const check_result_t *result,
                             const check_range_t *ranges) {
  *passages = (passages_t){.list = {0}};
  hr_arena_init(&passages->arena);
  hr_map_init(&passages->by_signature);
  for (int rank = 0; rank < result->world; rank++)
    HR_TRY(collect_of_rank(passages, result, rank, ranges[rank]));
  return NULL;
}

void passages_deinit(passages_t *passages) {
  for (size_t i = 0; i < passages->series.count; i++)
    HR_VEC_FREE(&passages->series.data[i]->instances);
  HR_VEC_FREE(&passages->series);
  HR_VEC_FREE(&passages->list);
  hr_map_deinit(&passages->by_signature);
  hr_arena_deinit(&passages->arena);
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

void passage_alternative(const check_result_t *result, const passage_t *passage,
                         uint32_t alternative, check_range_t *ranges) {
  for (int rank = 0; rank < result->world; rank++) {
    uint32_t at = passage->at[rank];
    ranges[rank] = (check_range_t){0, 0};
    if (at != CHECK_NEVER) ranges[rank] = find_alternative(result->of[rank], at, alternative);
  }
}
