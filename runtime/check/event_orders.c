/* The orders of one process. Where every chain (the starts of one side of a channel, or of one
 * member of a collective) is totally ordered by dependencies, a block point needs no enumeration:
 * the starts that precede it in some order follow from the dependency relation. Otherwise the
 * downsets of the partial order are enumerated as bit sets of at most MAX_EVENTS events, by a
 * depth-first search with memoization; each reachable downset before a block point is one node for
 * any_order.c.
 *
 * Atomic sets: a called computation runs as a whole, and so do the two halves of a synchronous
 * collective; a downset that splits an atomic set is first extended inside it.
 * Cost:  linear for ordered chains; up to 2^n sets of n events otherwise, bounded by `limit`. */
#include "check/event_orders.h"

#include "base/map.h"

#define MAX_EVENTS 64 /* events of a process whose orders are enumerated: one word of bits */

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

static bool is_block_point(const check_event_t *event) {
  return check_is_done(event) || event->kind == CHECK_REGION;
}

/* Position of the next event after `at`; a region counts as one event. */
static uint32_t next_event(const check_orders_t *orders, uint32_t at) {
  const check_event_t *event = &orders->trace->events.data[at];
  return event->kind == CHECK_REGION ? orders->trace->regions.data[event->start].end : at + 1;
}

/* --- ordered chains: the dependency relation decides --- */

static bool is_chain_ordered(const check_orders_t *orders, const check_chain_t *chain) {
  for (size_t i = 1; i < chain->starts.count; i++)
    if (!check_event_is_before(orders->trace, chain->starts.data[i - 1], chain->starts.data[i]))
      return false;
  return true;
}

static uint32_t number_of(const check_orders_t *orders, const uint32_t *numbers, uint32_t event) {
  const check_event_t *at = &orders->trace->events.data[event];
  return numbers[(at->kind == CHECK_REGION ? event : at->start) - orders->range.begin];
}

static hr_status_t add_ordered_block_points(check_orders_t *orders, const uint32_t *numbers) {
  for (uint32_t at = orders->range.begin; at < orders->range.end; at = next_event(orders, at)) {
    if (!is_block_point(&orders->trace->events.data[at])) continue;
    uint32_t number = number_of(orders, numbers, at);
    if (number) HR_VEC_PUSH(&orders->block_points, (check_block_point_t){at, number, NULL});
  }
  return NULL;
}

/* --- unordered chains: downsets are enumerated --- */

typedef struct state {         /* a downset: the events of one process that have happened */
  uint64_t done;               /* bit set of events */
  uint8_t numbers[MAX_EVENTS]; /* per start in the set: its number in its chain */
} state_t;

typedef struct search { /* enumeration of downsets; events are numbered from 0 */
  check_orders_t *orders;
  hr_arena_t *arena;
  hr_map_t seen;
  HR_VEC(state_t) open;
  uint32_t events[MAX_EVENTS];
  int chain_of[MAX_EVENTS][2]; /* chains of a start or region, one per side; -1: none */
  int start_of[MAX_EVENTS];    /* per block point: number of its start */
  uint64_t before[MAX_EVENTS];
  HR_VEC(uint64_t) atomic_sets; /* sets of events that are not interleaved with other events */
  int count;
} downset_search_t;

static int event_number(const downset_search_t *search, uint32_t event) {
  for (int i = 0; i < search->count; i++)
    if (search->events[i] == event) return i;
  return -1;
}

static void find_chains(downset_search_t *search) {
  for (int i = 0; i < search->count; i++) search->chain_of[i][0] = search->chain_of[i][1] = -1;
  for (size_t l = 0; l < search->orders->chains.count; l++) {
    const check_chain_t *chain = &search->orders->chains.data[l];
    for (size_t k = 0; k < chain->starts.count; k++) {
      int *chains = search->chain_of[event_number(search, chain->starts.data[k])];
      chains[chains[0] >= 0] = (int)l;
    }
  }
}

/* Bit set of the events inside frame `f`, or (`whole_call`) inside all frames of the call that
 * created it. */
static uint64_t events_inside(const downset_search_t *search, uint32_t f, bool whole_call) {
  const comm_trace_t *trace = search->orders->trace;
  const check_frame_t *frames = trace->frames.data;
  uint64_t atomic = 0;
  for (int i = 0; i < search->count; i++)
    for (uint32_t at = trace->events.data[search->events[i]].frame; at; at = frames[at].parent) {
      bool same_call =
          frames[at].parent == frames[f].parent && frames[at].caller == frames[f].caller;
      if (at == f || (whole_call && same_call)) atomic |= UINT64_C(1) << i;
    }
  return atomic;
}

/* Atomic sets: every call with events, each iteration of a loop, and the halves of a synchronous
 * collective. */
static hr_status_t find_atomic_sets(downset_search_t *search) {
  const comm_trace_t *trace = search->orders->trace;
  for (uint32_t f = 1; f < trace->frames.count; f++)
    for (int whole_call = 0; whole_call < 2; whole_call++) {
      uint64_t atomic = events_inside(search, f, whole_call);
      if (atomic & (atomic - 1)) HR_VEC_PUSH(&search->atomic_sets, atomic);
    }
  for (int i = 0; i + 1 < search->count; i++) {
    const check_event_t *a = &trace->events.data[search->events[i]];
    if (a->kind == CHECK_JOIN && a[1].kind == CHECK_JOIN_DONE && a[1].instr == a->instr)
      HR_VEC_PUSH(&search->atomic_sets, UINT64_C(3) << i);
  }
  return NULL;
}

static hr_status_t init_search(downset_search_t *search) {
  const comm_trace_t *trace = search->orders->trace;
  for (uint32_t at = search->orders->range.begin; at < search->orders->range.end;
       at = next_event(search->orders, at))
    search->events[search->count++] = at;
  for (int i = 0; i < search->count; i++) {
    const check_event_t *event = &trace->events.data[search->events[i]];
    search->start_of[i] = check_is_done(event) ? event_number(search, event->start) : i;
    for (int k = 0; k < search->count; k++)
      if (k != i && check_event_is_before(trace, search->events[k], search->events[i]))
        search->before[i] |= UINT64_C(1) << k;
  }
  find_chains(search);
  return find_atomic_sets(search);
}

/* Can event i be next? Its predecessors have happened, and no other atomic set is half done. */
static bool can_come_next(const downset_search_t *search, const state_t *state, int i) {
  if (state->done >> i & 1 || (search->before[i] & ~state->done)) return false;
  for (size_t b = 0; b < search->atomic_sets.count; b++) {
    uint64_t atomic = search->atomic_sets.data[b], part = atomic & state->done;
    if (part && part != atomic && !(atomic >> i & 1)) return false;
  }
  return true;
}

static uint32_t count_chain(const downset_search_t *search, const state_t *state, int chain) {
  uint32_t count = 0;
  for (int i = 0; i < search->count; i++)
    count += (state->done >> i & 1) &&
             (search->chain_of[i][0] == chain || search->chain_of[i][1] == chain);
  return count;
}

/* Adds the block point at event i after this downset. */
static hr_status_t add_block_point(downset_search_t *search, const state_t *state, int i) {
  check_orders_t *orders = search->orders;
  uint32_t *counts;
  uint32_t number = state->numbers[search->start_of[i]];
  if (orders->trace->events.data[search->events[i]].kind == CHECK_REGION)
    number =
        search->chain_of[i][0] < 0 ? 0 : count_chain(search, state, search->chain_of[i][0]) + 1;
  if (!number) return NULL;
  HR_TRY(HR_NEW_ARRAY(search->arena, orders->chains.count, &counts));
  for (size_t l = 0; l < orders->chains.count; l++) counts[l] = count_chain(search, state, (int)l);
  HR_VEC_PUSH(&orders->block_points, (check_block_point_t){search->events[i], number, counts});
  return NULL;
}

static hr_status_t visit(downset_search_t *search, const state_t *state) {
  state_t *stored;
  void *old;
  hr_str_t key = {(const char *)state, sizeof *state};
  if (hr_map_get(&search->seen, key)) return NULL;
  HR_TRY(HR_NEW(search->arena, &stored));
  *stored = *state;
  key.data = (const char *)stored;
  HR_TRY(hr_map_put(&search->seen, key, stored, &old));
  HR_VEC_PUSH(&search->open, *state);
  return NULL;
}

static hr_status_t expand(downset_search_t *search, const state_t *state) {
  for (int i = 0; i < search->count; i++) {
    state_t next = *state;
    if (!can_come_next(search, state, i)) continue;
    const check_event_t *event = &search->orders->trace->events.data[search->events[i]];
    if (is_block_point(event)) HR_TRY(add_block_point(search, state, i));
    next.done |= UINT64_C(1) << i;
    if (check_is_start(event) && search->chain_of[i][0] >= 0)
      next.numbers[i] = (uint8_t)(count_chain(search, state, search->chain_of[i][0]) + 1);
    if (check_is_done(event))
      next.numbers[search->start_of[i]] =
          0; /* irrelevant from now on; zero keeps the number of distinct states small */
    HR_TRY(visit(search, &next));
  }
  return NULL;
}

static hr_status_t enumerate(downset_search_t *search, uint64_t limit, bool *out_exact) {
  state_t first = {0};
  HR_TRY(init_search(search));
  HR_TRY(visit(search, &first));
  while (search->open.count) {
    state_t state = search->open.data[--search->open.count];
    if (search->seen.count > limit) {
      *out_exact = false;
      return NULL;
    }
    HR_TRY(expand(search, &state));
  }
  return NULL;
}

static hr_status_t add_enumerated_block_points(check_orders_t *orders, hr_arena_t *arena,
                                               uint64_t limit, bool *out_exact) {
  uint32_t count = 0;
  for (uint32_t at = orders->range.begin; at < orders->range.end; at = next_event(orders, at))
    count++;
  if (count > MAX_EVENTS) {
    *out_exact = false;
    return NULL;
  }
  void *memory;
  HR_TRY(hr_alloc_zeroed(sizeof(downset_search_t), &memory));
  downset_search_t *search = memory;
  search->orders = orders;
  search->arena = arena;
  hr_map_init(&search->seen);
  hr_status_t st = enumerate(search, limit, out_exact);
  hr_map_deinit(&search->seen);
  HR_VEC_FREE(&search->open);
  HR_VEC_FREE(&search->atomic_sets);
  hr_free(search);
  return st;
}

/* --- all chains --- */

hr_status_t check_orders_find_block_points(check_orders_t *orders, hr_arena_t *arena,
                                           const uint32_t *numbers, uint64_t limit,
                                           bool *out_exact) {
  *out_exact = true;
  for (size_t l = 0; l < orders->chains.count; l++) {
    orders->chains.data[l].ordered = is_chain_ordered(orders, &orders->chains.data[l]);
    orders->ordered &= orders->chains.data[l].ordered;
  }
  return orders->ordered ? add_ordered_block_points(orders, numbers)
                         : add_enumerated_block_points(orders, arena, limit, out_exact);
}

bool check_block_point_comes_before(const check_orders_t *orders, const check_block_point_t *point,
                                    const check_chain_t *chain, uint32_t need) {
  if (need > chain->starts.count) return true;
  if (point->counts) return point->counts[chain - orders->chains.data] < need;
  uint32_t start = chain->starts.data[need - 1];
  return start != point->event && !check_event_is_before(orders->trace, start, point->event);
}
