/* Any order: a deadlock is a ring of processes, each at a stop (a completion that it has come to)
 * which waits for a start that the next process makes only behind its own stop. Conversely, if each
 * process of such a ring takes an order in which its stop comes before the start that is waited
 * for, which is a question about that process alone, then the first of them to pass its stop would
 * need another to have passed its own before: none can. Other processes do not matter.
 *
 * So stops are nodes, with an edge from a stop to each stop of the awaited process that can come
 * before the awaited start; the schedule is sound if and only if no cycle of the graph visits each
 * process at most once. (A cycle that comes back to a process is cut short where the two stops fit
 * into one order; it may be no cycle otherwise.)
 *
 * First a filter: a stop is safe if all that it may wait for are safe. Then a look at likely
 * cycles. What is left is searched exactly, short cycles first. */
#include "base/map.h"
#include "check/event_orders.h"
#include "check/any_order.h"

#define DEFAULT_LIMIT 30000000

typedef struct await {       /* one start that a stop waits for */
  int rank;                  /* who makes it */
  const check_chain_t *lane; /* NULL: it has none */
  uint32_t need;
  size_t owner;        /* the node that waits */
  size_t first_unsafe; /* stops of `rank` before this one are safe, or come behind the start */
  size_t next_watcher; /* of the stop at first_unsafe */
  uint32_t last_event; /* stops behind this event come behind the start in every order */
} await_t;
#define NO_AWAIT SIZE_MAX

typedef struct node {
  int rank;
  const check_block_point_t *stop;
  size_t first_await, await_count;
  size_t unsafe_count; /* awaits that may wait for an unsafe stop */
  size_t watchers;     /* list of awaits that have come to this node */
  size_t reached_from; /* in a search for a cycle: 1 + the node before it */
  bool safe;
} node_t;

typedef struct search {
  check_result_t *result;
  hr_arena_t arena;
  check_engine_t engine; /* for its meetings */
  const check_range_t *ranges;
  check_orders_t *orders;
  uint32_t **numbers; /* per rank and event */
  HR_VEC(node_t) nodes;
  size_t *first_node;   /* per rank, and one more */
  size_t *safe_prefix;  /* per rank: so many of its first stops are safe */
  hr_map_t last_events; /* by behaviour: 1 + last_event of awaits of each of its starts; 0: not
                           known yet */
  HR_VEC(await_t) awaits;
  uint64_t steps, limit; /* of the searches: edges that were looked at */
  bool *visited;         /* processes on the path */
  HR_VEC(size_t) path;   /* nodes */
  bool was_cut;          /* some path was longer than allowed */
} search_t;

/* --- lanes --- */

static hr_status_t add_starts(search_t *search, int rank, uint32_t at) {
  const check_event_t *event = &search->orders[rank].trace->events.data[at];
  uint32_t *number = &search->numbers[rank][at - search->ranges[rank].begin];
  check_ends_t ends;
  if (event->kind == CHECK_REGION) {
    const check_region_t *region = &search->orders[rank].trace->regions.data[event->start];
    const void *match =
        hr_map_get(&search->engine.barriers,
                   (hr_str_t){(const char *)&region->signature, sizeof region->signature});
    return check_orders_add_start(&search->orders[rank], match, 0, at, number);
  }
  HR_TRY(check_ends_of(search->result, &search->engine.matching, rank, event, &ends));
  if (ends.gather) return check_orders_add_start(&search->orders[rank], ends.gather, 0, at, number);
  for (int side = 0; side < 2; side++)
    if (ends.link[side])
      HR_TRY(check_orders_add_start(&search->orders[rank], ends.link[side], side, at, number));
  return NULL;
}

static uint32_t next_event(const comm_trace_t *trace, uint32_t at) {
  const check_event_t *event = &trace->events.data[at];
  return event->kind == CHECK_REGION ? trace->regions.data[event->start].end : at + 1;
}

static hr_status_t find_stops(search_t *search, int rank, bool *out_exact) {
  check_range_t range = search->ranges[rank];
  const comm_trace_t *trace = search->result->of[rank];
  HR_TRY(check_orders_init(&search->orders[rank], trace, range));
  HR_TRY(HR_NEW_ARRAY(&search->arena, range.end - range.begin, &search->numbers[rank]));
  for (uint32_t at = range.begin; at < range.end; at = next_event(trace, at))
    if (check_is_start(&trace->events.data[at]) || trace->events.data[at].kind == CHECK_REGION)
      HR_TRY(add_starts(search, rank, at));
  return check_orders_find_block_points(&search->orders[rank], &search->arena,
                                        search->numbers[rank], search->limit / 100, out_exact);
}

/* --- awaited starts --- */

static hr_status_t last_events_of(search_t *search, const comm_trace_t *trace,
                                  uint32_t **out_events) {
  const comm_trace_t **key;
  *out_events = hr_map_get(&search->last_events, (hr_str_t){(const char *)&trace, sizeof trace});
  if (*out_events) return NULL;
  HR_TRY(HR_NEW(&search->arena, &key));
  HR_TRY(HR_NEW_ARRAY(&search->arena, trace->events.count + 1, out_events));
  *key = trace;
  return hr_map_put(&search->last_events, (hr_str_t){(const char *)key, sizeof *key}, *out_events,
                    NULL);
}

/* The last event of a process, as planned, that does not come behind a start of it in every order.
 */
static hr_status_t find_last_event(search_t *search, int rank, const check_chain_t *chain,
                                   uint32_t need, uint32_t *out_event) {
  const check_orders_t *orders = &search->orders[rank];
  uint32_t *known, at = orders->range.end;
  *out_event = UINT32_MAX;
  if (!orders->ordered || !chain || need > chain->starts.count) return NULL;
  uint32_t start = chain->starts.data[need - 1];
  HR_TRY(last_events_of(search, orders->trace, &known));
  if (!known[start]) {
    while (at > orders->range.begin + 1 && check_event_is_before(orders->trace, start, at - 1))
      at--;
    known[start] = at;
  }
  *out_event = known[start] - 1;
  return NULL;
}

static hr_status_t add_await(search_t *search, int rank, const void *match, int side,
                             uint32_t need) {
  if (!need) return NULL;
  const check_chain_t *chain = check_orders_chain(&search->orders[rank], match, side);
  uint32_t last;
  HR_TRY(find_last_event(search, rank, chain, need, &last));
  HR_VEC_PUSH(&search->awaits,
              (await_t){rank, chain, need, search->nodes.count, 0, NO_AWAIT, last});
  return NULL;
}

static hr_status_t await_link(search_t *search, check_channel_t *channel, int side, bool buffers,
                              uint32_t number) {
  uint32_t held = buffers ? search->result->options.buffered : 0;
  return add_await(search, side ? channel->key.from : channel->key.to, channel, !side,
                   number > held ? number - held : 0);
}

static hr_status_t await_region(search_t *search, int rank, const check_event_t *event,
                                uint32_t number) {
  uint64_t signature = search->orders[rank].trace->regions.data[event->start].signature;
  const void *barrier =
      hr_map_get(&search->engine.barriers, (hr_str_t){(const char *)&signature, sizeof signature});
  for (int other = 0; other < search->result->world; other++) {
    const check_chain_t *chain = check_orders_chain(&search->orders[other], barrier, 0);
    if (other != rank && chain && chain->starts.count >= number)
      HR_TRY(add_await(search, other, barrier, 0, number));
  }
  return NULL;
}

static hr_status_t add_awaits(search_t *search, int rank, const check_block_point_t *point) {
  const check_event_t *event = &search->orders[rank].trace->events.data[point->event];
  check_ends_t ends;
  if (event->kind == CHECK_REGION) return await_region(search, rank, event, point->number);
  HR_TRY(check_ends_of(search->result, &search->engine.matching, rank, event, &ends));
  for (int k = 0; ends.gather && k < ends.gather->group->size; k++)
    if (ends.gather->group->ranks[k] != rank)
      HR_TRY(add_await(search, ends.gather->group->ranks[k], ends.gather, 0, point->number));
  for (int side = 0; side < 2; side++)
    if (ends.link[side])
      HR_TRY(
          await_link(search, ends.link[side], side, event->kind == CHECK_SEND_DONE, point->number));
  return NULL;
}

static hr_status_t add_nodes(search_t *search, int rank) {
  const check_orders_t *orders = &search->orders[rank];
  search->first_node[rank] = search->nodes.count;
  for (size_t i = 0; i < orders->block_points.count; i++) {
    size_t first = search->awaits.count;
    HR_TRY(add_awaits(search, rank, &orders->block_points.data[i]));
    HR_VEC_PUSH(&search->nodes, (node_t){rank, &orders->block_points.data[i], first,
                                         search->awaits.count - first, 0, NO_AWAIT, 0, false});
  }
  search->first_node[rank + 1] = search->nodes.count;
  return NULL;
}

/* --- the filter --- */

static bool is_edge(const search_t *search, const await_t *await, const node_t *to) {
  return !await->lane || check_block_point_comes_before(&search->orders[await->rank], to->stop,
                                                        await->lane, await->need);
}

/* Goes on to the next unsafe stop that can come before the awaited start, and watches it; false if
 * there is none. Never looks twice at what is safe or cannot come before. */
static bool watch_next(search_t *search, size_t number) {
  await_t *await = &search->awaits.data[number];
  const node_t *from = &search->nodes.data[await->owner];
  size_t first = search->first_node[await->rank],
         count = search->first_node[await->rank + 1] - first;
  size_t *prefix = &search->safe_prefix[await->rank];
  while (*prefix < count && search->nodes.data[first + *prefix].safe) ++*prefix;
  if (await->first_unsafe < *prefix) await->first_unsafe = *prefix;
  for (; await->first_unsafe < count; await->first_unsafe++) {
    node_t *to = &search->nodes.data[first + await->first_unsafe];
    if (to->stop->event > await->last_event) await->first_unsafe = count;
    if (await->first_unsafe == count) break;
    if (to->safe || (to->rank == from->rank && to != from) || !is_edge(search, await, to)) continue;
    await->next_watcher = to->watchers;
    to->watchers = number;
    return true;
  }
  return false;
}

/* A node is safe: those that watch it look for another. The vector holds nodes whose watchers are
 * to be told. */
static hr_status_t propagate_safety(search_t *search) {
  while (search->path.count) {
    node_t *node = &search->nodes.data[search->path.data[--search->path.count]];
    size_t number = node->watchers;
    node->watchers = NO_AWAIT;
    while (number != NO_AWAIT) {
      size_t next = search->awaits.data[number].next_watcher,
             owner = search->awaits.data[number].owner;
      if (!watch_next(search, number) && --search->nodes.data[owner].unsafe_count == 0) {
        search->nodes.data[owner].safe = true;
        HR_VEC_PUSH(&search->path, owner);
      }
      number = next;
    }
  }
  return NULL;
}

static hr_status_t filter(search_t *search) {
  for (size_t i = 0; i < search->nodes.count; i++) {
    node_t *node = &search->nodes.data[i];
    for (size_t a = 0; a < node->await_count; a++)
      node->unsafe_count += watch_next(search, node->first_await + a);
    node->safe = node->unsafe_count == 0;
    if (node->safe) HR_VEC_PUSH(&search->path, i);
    HR_TRY(propagate_safety(search));
  }
  return NULL;
}

/* --- likely cycles: short ones, which mostly visit each process once --- */

static bool is_simple(search_t *search) {
  bool simple = true;
  for (size_t i = 0; i < search->path.count; i++) {
    int rank = search->nodes.data[search->path.data[i]].rank;
    simple &= !search->visited[rank];
    search->visited[rank] = true;
  }
  for (size_t i = 0; i < search->path.count; i++)
    search->visited[search->nodes.data[search->path.data[i]].rank] = false;
  return simple;
}

static hr_status_t write_path(search_t *search, size_t start, size_t last) {
  search->path.count = 0;
  for (size_t at = last;; at = search->nodes.data[at].reached_from - 1) {
    HR_VEC_PUSH(&search->path, at);
    if (at == start) break;
  }
  for (size_t i = 0, k = search->path.count; i + 1 < k; i++, k--) {
    size_t swap = search->path.data[i];
    search->path.data[i] = search->path.data[k - 1];
    search->path.data[k - 1] = swap;
  }
  return NULL;
}

/* Breadth first: the shortest cycle through `start` as a path, or an empty one. */
static hr_status_t shortest_cycle(search_t *search, size_t start, size_t *queue) {
  size_t count = 1, last = SIZE_MAX;
  search->path.count = 0;
  for (size_t i = 0; i < search->nodes.count; i++) search->nodes.data[i].reached_from = 0;
  queue[0] = start;
  for (size_t at = 0; at < count && last == SIZE_MAX; at++) {
    const node_t *from = &search->nodes.data[queue[at]];
    for (size_t a = from->first_await;
         a < from->first_await + from->await_count && last == SIZE_MAX; a++) {
      const await_t *await = &search->awaits.data[a];
      size_t first = search->first_node[await->rank], end = search->first_node[await->rank + 1];
      for (size_t to = first; to < end && last == SIZE_MAX; to++) {
        node_t *node = &search->nodes.data[to];
        if (node->safe || node->reached_from || (node->rank == from->rank && node != from))
          continue;
        search->steps++;
        if (!is_edge(search, await, node)) continue;
        if (to == start) last = queue[at];
        node->reached_from = queue[at] + 1;
        if (to != start) queue[count++] = to;
      }
    }
  }
  return last == SIZE_MAX ? NULL : write_path(search, start, last);
}

/* Every unsafe node leads to others: walking on comes to a node that is on a cycle. */
static size_t node_on_cycle(search_t *search, size_t at) {
  for (size_t i = 0; i < search->nodes.count; i++) search->nodes.data[i].reached_from = 0;
  while (!search->nodes.data[at].reached_from) {
    node_t *from = &search->nodes.data[at];
    from->reached_from = 1;
    for (size_t a = from->first_await; a < from->first_await + from->await_count; a++) {
      const await_t *await = &search->awaits.data[a];
      size_t first = search->first_node[await->rank], end = search->first_node[await->rank + 1];
      if (await->first_unsafe >= end - first) continue;
      at = first + await->first_unsafe;
      break;
    }
  }
  return at;
}

/* Looks at the shortest cycle through some nodes on cycles. Leaves one that is real on the path, or
 * none. */
static hr_status_t find_likely(search_t *search, bool *out_found) {
  size_t *queue, tried = 0;
  *out_found = false;
  HR_TRY(HR_NEW_ARRAY(&search->arena, search->nodes.count + 1, &queue));
  for (size_t i = 0; i < search->nodes.count && !*out_found && tried < 64; i++) {
    if (search->nodes.data[i].safe) continue;
    if (search->steps > search->limit) break;
    HR_TRY(shortest_cycle(search, tried++ ? i : node_on_cycle(search, i), queue));
    *out_found = search->path.count && is_simple(search);
  }
  if (!*out_found) search->path.count = 0;
  return NULL;
}

/* --- the exact search --- */

typedef enum outcome { OUTCOME_NONE, OUTCOME_CYCLE, OUTCOME_LIMIT } outcome_t;

static hr_status_t extend(search_t *search, size_t at, size_t start, size_t longest,
                          outcome_t *out_outcome);

static hr_status_t follow_await(search_t *search, size_t at, const await_t *await, size_t start,
                                size_t longest, outcome_t *out_outcome) {
  size_t first = search->first_node[await->rank], end = search->first_node[await->rank + 1];
  const node_t *from = &search->nodes.data[at];
  if (await->rank == search->nodes.data[start].rank) {
    search->steps++;
    if (is_edge(search, await, &search->nodes.data[start])) *out_outcome = OUTCOME_CYCLE;
    return NULL;
  }
  if (await->rank == from->rank || await->rank < search->nodes.data[start].rank ||
      search->visited[await->rank])
    return NULL;
  if (search->path.count >= longest) {
    search->was_cut = true;
    return NULL;
  }
  for (size_t to = first; to < end && *out_outcome == OUTCOME_NONE; to++) {
    if (++search->steps > search->limit) *out_outcome = OUTCOME_LIMIT;
    if (search->nodes.data[to].safe || !is_edge(search, await, &search->nodes.data[to])) continue;
    HR_TRY(extend(search, to, start, longest, out_outcome));
  }
  return NULL;
}

/* Extends the path by node `at`; the path stays as it is when a cycle is found. Its first process
 * is its lowest. */
static hr_status_t extend(search_t *search, size_t at, size_t start, size_t longest,
                          outcome_t *out_outcome) {
  const node_t *node = &search->nodes.data[at];
  HR_VEC_PUSH(&search->path, at);
  search->visited[node->rank] = true;
  for (size_t a = 0; a < node->await_count && *out_outcome == OUTCOME_NONE; a++)
    HR_TRY(follow_await(search, at, &search->awaits.data[node->first_await + a], start, longest,
                        out_outcome));
  search->visited[node->rank] = false;
  if (*out_outcome != OUTCOME_CYCLE) search->path.count--;
  return NULL;
}

static hr_status_t find_ring(search_t *search, outcome_t *out_outcome) {
  *out_outcome = OUTCOME_NONE;
  for (size_t longest = 1; *out_outcome == OUTCOME_NONE; longest++) {
    search->was_cut = false;
    for (size_t start = 0; start < search->nodes.count && *out_outcome == OUTCOME_NONE; start++)
      if (!search->nodes.data[start].safe)
        HR_TRY(extend(search, start, start, longest, out_outcome));
    if (!search->was_cut) break;
  }
  return NULL;
}

/* --- what was found --- */

/* The start that the stop before waits for, as far as this process has not made it at its own stop.
 */
static uint32_t awaited_event(const search_t *search, const node_t *from, const node_t *to) {
  for (size_t a = 0; a < from->await_count; a++) {
    const await_t *await = &search->awaits.data[from->first_await + a];
    if (await->rank != to->rank || !is_edge(search, await, to)) continue;
    if (!await->lane || await->need > await->lane->starts.count) return CHECK_NEVER;
    if (!to->stop->counts) return await->lane->starts.data[await->need - 1];
    for (size_t k = 0; k < await->lane->starts.count; k++)
      if (!check_event_is_before(search->orders[to->rank].trace, await->lane->starts.data[k],
                                 to->stop->event))
        return await->lane->starts.data[k];
  }
  return CHECK_NEVER;
}

/* A region makes all that pass it wait for each other, which is more than they do when they run. */
static hr_status_t doubt_region(check_result_t *result, const node_t *node) {
  const hlo_instr_t *instr = result->of[node->rank]->events.data[node->stop->event].instr;
  check_problem_t problem = {NULL, instr, NULL, node->rank, -1};
  HR_TRY(check_printf(result, &problem.text,
                      "in some order, what %%%.*s at line %u decides about may not complete",
                      HR_STR_ARGS(instr->name), instr->line));
  return check_add_problem(result, CHECK_UNPROVED, problem);
}

static hr_status_t record_ring(search_t *search) {
  check_result_t *result = search->result;
  for (size_t i = 0; i < search->path.count; i++) {
    const node_t *node = &search->nodes.data[search->path.data[i]];
    if (result->of[node->rank]->events.data[node->stop->event].kind == CHECK_REGION)
      return doubt_region(result, node);
  }
  result->verdict = CHECK_DEADLOCK;
  result->waits.count = 0;
  result->cycle_length = (int)search->path.count;
  for (size_t i = 0; i < search->path.count; i++) {
    const node_t *node = &search->nodes.data[search->path.data[i]];
    const node_t *next = &search->nodes.data[search->path.data[(i + 1) % search->path.count]];
    check_wait_t wait = {node->rank, node->stop->event, next->rank,
                         awaited_event(search, node, next)};
    HR_VEC_PUSH(&result->waits, wait);
  }
  return NULL;
}

static hr_status_t too_many(check_result_t *result) {
  check_problem_t problem = {"search limit: there are too many orders to look at all of them", NULL,
                             NULL, -1, -1};
  return check_add_problem(result, CHECK_UNPROVED, problem);
}

/* Starts that may swap places must carry the same: else some order pairs what does not belong
 * together. */
static hr_status_t check_swaps(search_t *search, int rank) {
  const check_orders_t *orders = &search->orders[rank];
  for (size_t l = 0; l < orders->chains.count; l++) {
    const check_chain_t *chain = &orders->chains.data[l];
    for (size_t i = 0; i < chain->starts.count && !chain->ordered; i++)
      for (size_t k = i + 1; k < chain->starts.count; k++) {
        const check_event_t *a = &orders->trace->events.data[chain->starts.data[i]];
        const check_event_t *b = &orders->trace->events.data[chain->starts.data[k]];
        if (a->kind == CHECK_REGION ||
            check_event_is_before(orders->trace, chain->starts.data[i], chain->starts.data[k]))
          continue;
        HR_TRY(check_starts_agree(search->result, a, b, rank));
      }
  }
  return NULL;
}

/* --- the decision --- */

static hr_status_t prepare(search_t *search, bool *out_exact) {
  int world = search->result->world;
  HR_TRY(HR_NEW_ARRAY(&search->arena, world, &search->orders));
  HR_TRY(HR_NEW_ARRAY(&search->arena, world, &search->numbers));
  HR_TRY(HR_NEW_ARRAY(&search->arena, world, &search->visited));
  HR_TRY(HR_NEW_ARRAY(&search->arena, world + 1, &search->first_node));
  HR_TRY(HR_NEW_ARRAY(&search->arena, world, &search->safe_prefix));
  *out_exact = true;
  for (int rank = 0; rank < world && *out_exact; rank++) {
    HR_TRY(find_stops(search, rank, out_exact));
    if (*out_exact && !search->orders[rank].ordered) HR_TRY(check_swaps(search, rank));
  }
  for (int rank = 0; rank < world && *out_exact; rank++) HR_TRY(add_nodes(search, rank));
  return NULL;
}

static hr_status_t decide(search_t *search) {
  outcome_t outcome;
  bool exact, found;
  HR_TRY(prepare(search, &exact));
  if (search->result->verdict != CHECK_SOUND) return NULL;
  if (!exact) return too_many(search->result);
  HR_TRY(filter(search));
  HR_TRY(find_likely(search, &found));
  if (found) return record_ring(search);
  search->steps = 0;
  HR_TRY(find_ring(search, &outcome));
  if (outcome == OUTCOME_LIMIT) return too_many(search->result);
  return outcome == OUTCOME_CYCLE ? record_ring(search) : NULL;
}

/* Does every process have but one order? Then the planned one is it. */
static bool is_one_order(const check_result_t *result, const check_range_t *ranges) {
  const comm_trace_t *last = NULL;
  for (int rank = 0; rank < result->world; rank++) {
    const comm_trace_t *trace = result->of[rank];
    if (trace == last) continue;
    last = trace;
    for (uint32_t at = ranges[rank].begin, next; at < ranges[rank].end; at = next) {
      next = next_event(trace, at);
      if (next < ranges[rank].end && !check_event_is_before(trace, at, next)) return false;
    }
  }
  return true;
}

hr_status_t check_any_order_ranges(check_result_t *result, const check_range_t *ranges) {
  check_engine_options_t options = {.mode = CHECK_REGION_BARRIER};
  search_t search = {.result = result, .ranges = ranges, .limit = result->options.search_limit};
  if (is_one_order(result, ranges)) return NULL;
  if (!search.limit) search.limit = DEFAULT_LIMIT;
  hr_arena_init(&search.arena);
  hr_map_init(&search.last_events);
  hr_status_t st = check_engine_init(&search.engine, result, ranges, &options);
  if (!st) st = decide(&search);
  for (int rank = 0; rank < result->world && search.orders; rank++)
    check_orders_deinit(&search.orders[rank]);
  HR_VEC_FREE(&search.nodes);
  HR_VEC_FREE(&search.awaits);
  HR_VEC_FREE(&search.path);
  hr_map_deinit(&search.last_events);
  check_engine_deinit(&search.engine);
  hr_arena_deinit(&search.arena);
  return st;
}
