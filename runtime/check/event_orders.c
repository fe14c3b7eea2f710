#include "check/event_orders.h"

#include "base/map.h"

#define EVENTS_MOST \
  64 /* of a process whose orders are enumerated: sets of events are bits of one word */

hr_status_t check_orders_init(check_orders_t *orders, const comm_trace_t *trace,
                              check_range_t range) {
  *orders = (check_orders_t){.trace = trace, .range = range, .ordered = true};
  return NULL;
}

void check_orders_deinit(check_orders_t *orders) {
  for (size_t i = 0; i < orders->chains.count; i++) HR_VEC_FREE(&orders->chains.data[i].starts);
  HR_VEC_FREE(&orders->chains);
  HR_VEC_FREE(&orders->block_points);
}

check_chain_t *check_orders_chain(const check_orders_t *orders, const void *match, int side) {
  for (size_t i = 0; i < orders->chains.count; i++)
    if (orders->chains.data[i].match == match && orders->chains.data[i].side == side)
      return &orders->chains.data[i];
  return NULL;
}

hr_status_t check_orders_add_start(check_orders_t *orders, const void *match, int side,
                                   uint32_t event, uint32_t *out_number) {
  check_chain_t *chain = check_orders_chain(orders, match, side);
  if (!chain) {
    HR_VEC_PUSH(&orders->chains, (check_chain_t){.match = match, .side = side, .ordered = true});
    chain = &orders->chains.data[orders->chains.count - 1];
  }
  HR_VEC_PUSH(&chain->starts, event);
  *out_number = (uint32_t)chain->starts.count;
  return NULL;
}

static bool is_stop(const check_event_t *event) {
  return check_is_done(event) || event->kind == CHECK_REGION;
}

/* Position of the next event of this level behind `at`: what is inside a region is not looked at.
 */
static uint32_t next_event(const check_orders_t *orders, uint32_t at) {
  const check_event_t *event = &orders->trace->events.data[at];
  return event->kind == CHECK_REGION ? orders->trace->regions.data[event->start].end : at + 1;
}

/* --- one order of the starts in each lane: what must come before a stop is known --- */

static bool is_lane_ordered(const check_orders_t *orders, const check_chain_t *chain) {
  for (size_t i = 1; i < chain->starts.count; i++)
    if (!check_event_is_before(orders->trace, chain->starts.data[i - 1], chain->starts.data[i]))
      return false;
  return true;
}

static uint32_t number_of(const check_orders_t *orders, const uint32_t *numbers, uint32_t event) {
  const check_event_t *at = &orders->trace->events.data[event];
  return numbers[(at->kind == CHECK_REGION ? event : at->start) - orders->range.begin];
}

static hr_status_t add_plain_block_points(check_orders_t *orders, const uint32_t *numbers) {
  for (uint32_t at = orders->range.begin; at < orders->range.end; at = next_event(orders, at)) {
    if (!is_stop(&orders->trace->events.data[at])) continue;
    uint32_t number = number_of(orders, numbers, at);
    if (number) HR_VEC_PUSH(&orders->block_points, (check_block_point_t){at, number, NULL});
  }
  return NULL;
}

/* --- several orders: all sets of events that can have happened are enumerated --- */

typedef struct state {          /* of one process, under way */
  uint64_t done;                /* events that have happened */
  uint8_t numbers[EVENTS_MOST]; /* of the starts among them */
} state_t;

typedef struct local { /* the events of the level, numbered from 0 */
  check_orders_t *orders;
  hr_arena_t *arena;
  hr_map_t seen;
  HR_VEC(state_t) open;
  uint32_t events[EVENTS_MOST];
  int chain_of[EVENTS_MOST][2]; /* of starts, and of regions; -1: none */
  int start_of[EVENTS_MOST];    /* of stops */
  uint64_t before[EVENTS_MOST];
  HR_VEC(uint64_t) blocks; /* sets of events that run as a whole, in one call */
  int count;
} local_t;

static int local_number(const local_t *local, uint32_t event) {
  for (int i = 0; i < local->count; i++)
    if (local->events[i] == event) return i;
  return -1;
}

static void find_lanes(local_t *local) {
  for (int i = 0; i < local->count; i++) local->chain_of[i][0] = local->chain_of[i][1] = -1;
  for (size_t l = 0; l < local->orders->chains.count; l++) {
    const check_chain_t *chain = &local->orders->chains.data[l];
    for (size_t k = 0; k < chain->starts.count; k++) {
      int *chains = local->chain_of[local_number(local, chain->starts.data[k])];
      chains[chains[0] >= 0] = (int)l;
    }
  }
}

/* The events inside frame `f`, or inside all frames of the call that made it. */
static uint64_t events_inside(const local_t *local, uint32_t f, bool whole_call) {
  const comm_trace_t *trace = local->orders->trace;
  const check_frame_t *frames = trace->frames.data;
  uint64_t block = 0;
  for (int i = 0; i < local->count; i++)
    for (uint32_t at = trace->events.data[local->events[i]].frame; at; at = frames[at].parent) {
      bool same_call =
          frames[at].parent == frames[f].parent && frames[at].caller == frames[f].caller;
      if (at == f || (whole_call && same_call)) block |= UINT64_C(1) << i;
    }
  return block;
}

/* Every call that has events is a block, and each iteration of a loop; so are the halves of a
 * synchronous collective.
 */
static hr_status_t find_blocks(local_t *local) {
  const comm_trace_t *trace = local->orders->trace;
  for (uint32_t f = 1; f < trace->frames.count; f++)
    for (int whole_call = 0; whole_call < 2; whole_call++) {
      uint64_t block = events_inside(local, f, whole_call);
      if (block & (block - 1)) HR_VEC_PUSH(&local->blocks, block);
    }
  for (int i = 0; i + 1 < local->count; i++) {
    const check_event_t *a = &trace->events.data[local->events[i]];
    if (a->kind == CHECK_JOIN && a[1].kind == CHECK_JOIN_DONE && a[1].instr == a->instr)
      HR_VEC_PUSH(&local->blocks, UINT64_C(3) << i);
  }
  return NULL;
}

static hr_status_t fill_local(local_t *local) {
  const comm_trace_t *trace = local->orders->trace;
  for (uint32_t at = local->orders->range.begin; at < local->orders->range.end;
       at = next_event(local->orders, at))
    local->events[local->count++] = at;
  for (int i = 0; i < local->count; i++) {
    const check_event_t *event = &trace->events.data[local->events[i]];
    local->start_of[i] = check_is_done(event) ? local_number(local, event->start) : i;
    for (int k = 0; k < local->count; k++)
      if (k != i && check_event_is_before(trace, local->events[k], local->events[i]))
        local->before[i] |= UINT64_C(1) << k;
  }
  find_lanes(local);
  return find_blocks(local);
}

/* May event i be the next one? Its predecessors have happened, and no block is left half done. */
static bool can_come_next(const local_t *local, const state_t *state, int i) {
  if (state->done >> i & 1 || (local->before[i] & ~state->done)) return false;
  for (size_t b = 0; b < local->blocks.count; b++) {
    uint64_t block = local->blocks.data[b], part = block & state->done;
    if (part && part != block && !(block >> i & 1)) return false;
  }
  return true;
}

static uint32_t count_lane(const local_t *local, const state_t *state, int chain) {
  uint32_t count = 0;
  for (int i = 0; i < local->count; i++)
    count += (state->done >> i & 1) &&
             (local->chain_of[i][0] == chain || local->chain_of[i][1] == chain);
  return count;
}

/* The process is before its stop i, with what has happened: a stop of its own. */
static hr_status_t add_stop(local_t *local, const state_t *state, int i) {
  check_orders_t *orders = local->orders;
  uint32_t *counts;
  uint32_t number = state->numbers[local->start_of[i]];
  if (orders->trace->events.data[local->events[i]].kind == CHECK_REGION)
    number = local->chain_of[i][0] < 0 ? 0 : count_lane(local, state, local->chain_of[i][0]) + 1;
  if (!number) return NULL;
  HR_TRY(HR_NEW_ARRAY(local->arena, orders->chains.count, &counts));
  for (size_t l = 0; l < orders->chains.count; l++) counts[l] = count_lane(local, state, (int)l);
  HR_VEC_PUSH(&orders->block_points, (check_block_point_t){local->events[i], number, counts});
  return NULL;
}

static hr_status_t visit(local_t *local, const state_t *state) {
  state_t *stored;
  void *old;
  hr_str_t key = {(const char *)state, sizeof *state};
  if (hr_map_get(&local->seen, key)) return NULL;
  HR_TRY(HR_NEW(local->arena, &stored));
  *stored = *state;
  key.data = (const char *)stored;
  HR_TRY(hr_map_put(&local->seen, key, stored, &old));
  HR_VEC_PUSH(&local->open, *state);
  return NULL;
}

static hr_status_t expand(local_t *local, const state_t *state) {
  for (int i = 0; i < local->count; i++) {
    state_t next = *state;
    if (!can_come_next(local, state, i)) continue;
    const check_event_t *event = &local->orders->trace->events.data[local->events[i]];
    if (is_stop(event)) HR_TRY(add_stop(local, state, i));
    next.done |= UINT64_C(1) << i;
    if (check_is_start(event) && local->chain_of[i][0] >= 0)
      next.numbers[i] = (uint8_t)(count_lane(local, state, local->chain_of[i][0]) + 1);
    if (check_is_done(event)) next.numbers[local->start_of[i]] = 0; /* does not matter any more */
    HR_TRY(visit(local, &next));
  }
  return NULL;
}

static hr_status_t enumerate(local_t *local, uint64_t limit, bool *out_exact) {
  state_t first = {0};
  HR_TRY(fill_local(local));
  HR_TRY(visit(local, &first));
  while (local->open.count) {
    state_t state = local->open.data[--local->open.count];
    if (local->seen.count > limit) {
      *out_exact = false;
      return NULL;
    }
    HR_TRY(expand(local, &state));
  }
  return NULL;
}

static hr_status_t add_enumerated_stops(check_orders_t *orders, hr_arena_t *arena, uint64_t limit,
                                        bool *out_exact) {
  uint32_t count = 0;
  for (uint32_t at = orders->range.begin; at < orders->range.end; at = next_event(orders, at))
    count++;
  if (count > EVENTS_MOST) {
    *out_exact = false;
    return NULL;
  }
  void *memory;
  HR_TRY(hr_alloc_zeroed(sizeof(local_t), &memory));
  local_t *local = memory;
  local->orders = orders;
  local->arena = arena;
  hr_map_init(&local->seen);
  hr_status_t st = enumerate(local, limit, out_exact);
  hr_map_deinit(&local->seen);
  HR_VEC_FREE(&local->open);
  HR_VEC_FREE(&local->blocks);
  hr_free(local);
  return st;
}

/* --- both --- */

hr_status_t check_orders_find_block_points(check_orders_t *orders, hr_arena_t *arena,
                                           const uint32_t *numbers, uint64_t limit,
                                           bool *out_exact) {
  *out_exact = true;
  for (size_t l = 0; l < orders->chains.count; l++) {
    orders->chains.data[l].ordered = is_lane_ordered(orders, &orders->chains.data[l]);
    orders->ordered &= orders->chains.data[l].ordered;
  }
  return orders->ordered ? add_plain_block_points(orders, numbers)
                         : add_enumerated_stops(orders, arena, limit, out_exact);
}

bool check_block_point_comes_before(const check_orders_t *orders, const check_block_point_t *point,
                                    const check_chain_t *chain, uint32_t need) {
  if (need > chain->starts.count) return true;
  if (point->counts) return point->counts[chain - orders->chains.data] < need;
  uint32_t start = chain->starts.data[need - 1];
  return start != point->event && !check_event_is_before(orders->trace, start, point->event);
}
