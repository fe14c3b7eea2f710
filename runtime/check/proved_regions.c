/* Two alternatives are equal if each rank has equal events there: the same instructions and
 * participants, reached by the same calls, in the same iterations within the region. */
#include "check/proved_regions.h"

#include <string.h>

#include "comm/model/abstract_value.h"

void proved_regions_init(proved_regions_t *proved) {
  *proved = (proved_regions_t){.list = {0}};
  hr_arena_init(&proved->arena);
  hr_map_init(&proved->by_hash);
}

void proved_regions_deinit(proved_regions_t *proved) {
  for (size_t i = 0; i < proved->list.count; i++)
    check_engine_deinit(&proved->list.data[i]->engine);
  HR_VEC_FREE(&proved->list);
  hr_map_deinit(&proved->by_hash);
  hr_arena_deinit(&proved->arena);
}

/* --- equality --- */

static uint64_t hash_events(const check_result_t *result, const check_range_t *ranges) {
  uint64_t hash = 1;
  for (int rank = 0; rank < result->world; rank++) {
    const check_event_t *events = result->of[rank]->events.data;
    hash = check_mix(hash, ranges[rank].end - ranges[rank].begin);
    for (uint32_t at = ranges[rank].begin; at < ranges[rank].end; at++)
      hash = check_mix(hash, (uintptr_t)events[at].instr ^ events[at].kind);
  }
  return hash;
}

/* Are frames `a` and `b` reached in the same way from root_a and root_b? */
static bool same_calls(const comm_trace_t *trace, uint32_t a, uint32_t root_a, uint32_t b,
                       uint32_t root_b) {
  while (a && b && a != root_a && b != root_b) {
    const check_frame_t *x = &trace->frames.data[a], *y = &trace->frames.data[b];
    if (x->computation != y->computation || x->caller != y->caller || x->iteration != y->iteration)
      return false;
    a = x->parent;
    b = y->parent;
  }
  return a == root_a && b == root_b;
}

static bool same_region(const check_region_t *a, const check_region_t *b) {
  return a->signature == b->signature && a->varies == b->varies &&
         a->alternative_count == b->alternative_count;
}

/* Compares `start` of a done relative to the range, and the ends of regions by position. */
static bool same_event(const comm_trace_t *trace, uint32_t at, uint32_t begin, uint32_t other_at,
                       uint32_t other_begin) {
  const check_event_t *a = &trace->events.data[at], *b = &trace->events.data[other_at];
  if (a->instr != b->instr || a->site != b->site || a->kind != b->kind) return false;
  if (check_is_done(a)) return a->start - begin == b->start - other_begin;
  if (a->kind != CHECK_REGION && a->kind != CHECK_REGION_END) return true;
  const check_region_t *x = &trace->regions.data[a->start], *y = &trace->regions.data[b->start];
  return same_region(x, y) && x->end - at == y->end - other_at;
}

static const check_region_t *region_at(const comm_trace_t *trace, uint32_t at) {
  return &trace->regions.data[trace->events.data[at].start];
}

static bool same_on_rank(const comm_trace_t *trace, uint32_t region_a, check_range_t a,
                         uint32_t region_b, check_range_t b) {
  if (a.end - a.begin != b.end - b.begin) return false;
  if (a.begin == a.end) return (region_a == CHECK_NEVER) == (region_b == CHECK_NEVER);
  uint32_t root_a = region_at(trace, region_a)->frame, root_b = region_at(trace, region_b)->frame;
  for (uint32_t i = 0; i < a.end - a.begin; i++) {
    const check_event_t *x = &trace->events.data[a.begin + i];
    const check_event_t *y = &trace->events.data[b.begin + i];
    if (!same_event(trace, a.begin + i, a.begin, b.begin + i, b.begin) ||
        !same_calls(trace, x->frame, root_a, y->frame, root_b))
      return false;
  }
  return true;
}

const proved_alternative_t *proved_regions_find(const proved_regions_t *proved,
                                                const check_result_t *result,
                                                const region_instance_t *instance,
                                                const check_range_t *ranges) {
  uint64_t hash = hash_events(result, ranges);
  const proved_alternative_t *known =
      hr_map_get(&proved->by_hash, (hr_str_t){(const char *)&hash, sizeof hash});
  for (; known; known = known->next) {
    bool same = true;
    for (int rank = 0; same && rank < result->world; rank++)
      same = same_on_rank(result->of[rank], known->at[rank], known->ranges[rank],
                          instance->at[rank], ranges[rank]);
    if (same) return known;
  }
  return NULL;
}

/* --- additions --- */

static hr_status_t copy(hr_arena_t *arena, const void *from, size_t size_bytes,
                        const void **out_copy) {
  void *to;
  HR_TRY(hr_arena_alloc(arena, size_bytes, &to));
  memcpy(to, from, size_bytes);
  *out_copy = to;
  return NULL;
}

/* Appends an alternative to those of equal hash. */
static hr_status_t enter(proved_regions_t *proved, proved_alternative_t *made) {
  hr_str_t key = {(const char *)&made->hash, sizeof made->hash};
  proved_alternative_t *first = hr_map_get(&proved->by_hash, key);
  if (!first) return hr_map_put(&proved->by_hash, key, made, NULL);
  made->next = first->next;
  first->next = made;
  return NULL;
}

hr_status_t proved_regions_add(proved_regions_t *proved, const check_result_t *result,
                               const region_instance_t *instance, const check_range_t *ranges,
                               check_engine_t *engine, const proved_alternative_t **out_added) {
  proved_alternative_t *made;
  const void *at, *range_copy;
  size_t world = (size_t)result->world;
  hr_status_t st = HR_NEW(&proved->arena, &made);
  if (!st) st = HR_VEC_RESERVE(&proved->list, proved->list.count + 1);
  if (!st) st = copy(&proved->arena, instance->at, world * sizeof *instance->at, &at);
  if (!st) st = copy(&proved->arena, ranges, world * sizeof *ranges, &range_copy);
  if (st) {
    check_engine_deinit(engine);
    return st;
  }
  made->hash = hash_events(result, ranges);
  made->at = at;
  made->ranges = range_copy;
  made->engine = *engine;
  made->engine.ranges = made->ranges;
  proved->list.data[proved->list.count++] = made;
  *out_added = made;
  return enter(proved, made);
}
