/* Deadlocks over all orders that the dependencies of each process allow.
 *
 * The states of a schedule are the interleavings of all processes, each in any topological order of
 * its events. Two reductions avoid enumerating them. Within one process, only its block points
 * matter: the completions at which it can wait, each with the sets of its starts that can precede
 * it (event_orders.c). Between processes no interleaving matters at all (partial-order reduction):
 * starts never block and nothing is undone, so all enabled events commute.
 *
 * A deadlock is then a cycle p1 -> p2 -> ... -> p1 of processes, each blocked at a block point that
 * waits for a start which the next process makes only after its own block point. Conversely, let
 * each process of such a cycle take an order in which its block point precedes the awaited start.
 * That order exists independently of the other processes. The first process to pass its block point
 * would need another to have passed its own before: none can. Processes off the cycle do not
 * matter.
 *
 * So this file builds a wait-for graph whose nodes are block points, and order_search.c looks for a
 * cycle that visits each process at most once. A cycle that returns to a process proves a deadlock
 * only if both block points fit into one order, and can be shortened then.
 *
 * Cost:   building is events times chains, or exponential in the events of a process that has
 *         unordered chains (event_orders.c, at most 64); see order_search.h for the search.
 * Limits: results past options.search_limit are CHECK_UNPROVED. Data-dependent regions are barriers
 *         here; planned_order.c proves them one by one. */
#include "check/any_order.h"

#include "check/order_search.h"

#define DEFAULT_LIMIT 30000000 /* most edges examined */

/* --- chains of starts and block points --- */

/* Adds a start to the chain that it belongs to: a region's barrier, a collective, or the ends of a
 * channel (a permute has two). */
static hr_status_t add_start(check_cycle_search_t *search, int rank, uint32_t at) {
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
  if (ends.collective)
    return check_orders_add_start(&search->orders[rank], ends.collective, 0, at, number);
  for (int side = 0; side < 2; side++)
    if (ends.channel[side])
      HR_TRY(check_orders_add_start(&search->orders[rank], ends.channel[side], side, at, number));
  return NULL;
}

/* The next event; a region counts as one event, so its inside is skipped. */
static uint32_t next_event(const comm_trace_t *trace, uint32_t at) {
  const check_event_t *event = &trace->events.data[at];
  return event->kind == CHECK_REGION ? trace->regions.data[event->start].end : at + 1;
}

/* *out_exact false: too many sets of starts, more than a hundredth of the search limit. */
static hr_status_t find_block_points(check_cycle_search_t *search, int rank, bool *out_exact) {
  check_range_t range = search->ranges[rank];
  const comm_trace_t *trace = search->result->of[rank];
  HR_TRY(check_orders_init(&search->orders[rank], trace, range));
  HR_TRY(HR_NEW_ARRAY(&search->arena, range.end - range.begin, &search->numbers[rank]));
  for (uint32_t at = range.begin; at < range.end; at = next_event(trace, at))
    if (check_is_start(&trace->events.data[at]) || trace->events.data[at].kind == CHECK_REGION)
      HR_TRY(add_start(search, rank, at));
  return check_orders_find_block_points(&search->orders[rank], &search->arena,
                                        search->numbers[rank], search->limit / 100, out_exact);
}

/* --- dependencies --- */

/* Memo of find_last_event, per trace since ranks share traces; 0: not computed. */
static hr_status_t last_events_of_trace(check_cycle_search_t *search, const comm_trace_t *trace,
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

/* The last event of a process, in planned order, that does not follow start `need` of the chain in
 * every order. Later block points are no edges, which bounds the scan in order_search.c. UINT32_MAX
 * unless all chains are ordered. */
static hr_status_t find_last_event(check_cycle_search_t *search, int rank,
                                   const check_chain_t *chain, uint32_t need, uint32_t *out_event) {
  const check_orders_t *orders = &search->orders[rank];
  uint32_t *by_start, at = orders->range.end;
  *out_event = UINT32_MAX;
  if (!orders->ordered || !chain || need > chain->starts.count) return NULL;
  uint32_t start = chain->starts.data[need - 1];
  HR_TRY(last_events_of_trace(search, orders->trace, &by_start));
  if (!by_start[start]) {
    while (at > orders->range.begin + 1 && check_event_is_before(orders->trace, start, at - 1))
      at--;
    by_start[start] = at;
  }
  *out_event = by_start[start] - 1;
  return NULL;
}

/* The current node waits for start `need` of a chain of `rank`; 0: it does not wait. NULL chain:
 * the rank never makes such a start. */
static hr_status_t add_dependency(check_cycle_search_t *search, int rank, const void *match,
                                  int side, uint32_t need) {
  if (!need) return NULL;
  const check_chain_t *chain = check_orders_chain(&search->orders[rank], match, side);
  uint32_t last;
  HR_TRY(find_last_event(search, rank, chain, need, &last));
  HR_VEC_PUSH(&search->dependencies, (check_dependency_t){rank, chain, need, search->nodes.count, 0,
                                                          CHECK_NO_DEPENDENCY, last});
  return NULL;
}

/* With `buffers`, a send completes while at most options.buffered messages are undelivered. */
static hr_status_t add_channel_dependency(check_cycle_search_t *search, check_channel_t *channel,
                                          int side, bool buffers, uint32_t number) {
  uint32_t capacity = buffers ? search->result->options.buffered : 0;
  return add_dependency(search, side ? channel->key.from : channel->key.to, channel, !side,
                        number > capacity ? number - capacity : 0);
}

/* A region is a barrier of all processes that pass its n-th instance. */
static hr_status_t add_region_dependencies(check_cycle_search_t *search, int rank,
                                           const check_event_t *event, uint32_t number) {
  uint64_t signature = search->orders[rank].trace->regions.data[event->start].signature;
  const void *barrier =
      hr_map_get(&search->engine.barriers, (hr_str_t){(const char *)&signature, sizeof signature});
  for (int other = 0; other < search->result->world; other++) {
    const check_chain_t *chain = check_orders_chain(&search->orders[other], barrier, 0);
    if (other != rank && chain && chain->starts.count >= number)
      HR_TRY(add_dependency(search, other, barrier, 0, number));
  }
  return NULL;
}

/* Adds what a block point waits for: at a region or collective the same instance in all other
 * processes, at a channel the start of the other end. */
static hr_status_t add_dependencies(check_cycle_search_t *search, int rank,
                                    const check_block_point_t *point) {
  const check_event_t *event = &search->orders[rank].trace->events.data[point->event];
  check_ends_t ends;
  if (event->kind == CHECK_REGION)
    return add_region_dependencies(search, rank, event, point->number);
  HR_TRY(check_ends_of(search->result, &search->engine.matching, rank, event, &ends));
  for (int k = 0; ends.collective && k < ends.collective->group->size; k++)
    if (ends.collective->group->ranks[k] != rank)
      HR_TRY(add_dependency(search, ends.collective->group->ranks[k], ends.collective, 0,
                            point->number));
  for (int side = 0; side < 2; side++)
    if (ends.channel[side])
      HR_TRY(add_channel_dependency(search, ends.channel[side], side,
                                    event->kind == CHECK_SEND_DONE, point->number));
  return NULL;
}

/* The nodes of one rank and their edges; nodes of a rank are neighbours. */
static hr_status_t add_nodes(check_cycle_search_t *search, int rank) {
  const check_orders_t *orders = &search->orders[rank];
  search->first_node[rank] = search->nodes.count;
  for (size_t i = 0; i < orders->block_points.count; i++) {
    size_t first = search->dependencies.count;
    HR_TRY(add_dependencies(search, rank, &orders->block_points.data[i]));
    HR_VEC_PUSH(&search->nodes, (check_wait_node_t){rank, &orders->block_points.data[i], first,
                                                    search->dependencies.count - first, 0,
                                                    CHECK_NO_DEPENDENCY, 0, false});
  }
  search->first_node[rank + 1] = search->nodes.count;
  return NULL;
}

/* --- results --- */

/* The event of `to`'s process that `from` waits for: the first start of the awaited chain that the
 * process has not made when it blocks at `to`. CHECK_NEVER: it makes none. */
static uint32_t awaited_event(const check_cycle_search_t *search, const check_wait_node_t *from,
                              const check_wait_node_t *to) {
  for (size_t a = 0; a < from->dependency_count; a++) {
    const check_dependency_t *dependency = &search->dependencies.data[from->first_dependency + a];
    if (dependency->rank != to->rank || !check_is_wait_edge(search, dependency, to)) continue;
    if (!dependency->chain || dependency->need > dependency->chain->starts.count)
      return CHECK_NEVER;
    if (!to->point->counts) return dependency->chain->starts.data[dependency->need - 1];
    for (size_t k = 0; k < dependency->chain->starts.count; k++)
      if (!check_event_is_before(search->orders[to->rank].trace, dependency->chain->starts.data[k],
                                 to->point->event))
        return dependency->chain->starts.data[k];
  }
  return CHECK_NEVER;
}

/* The barrier model of a region is stronger than its run, so a cycle through a region proves no
 * deadlock. */
static hr_status_t report_unproved_region(check_result_t *result, const check_wait_node_t *node) {
  const hlo_instr_t *instr = result->of[node->rank]->events.data[node->point->event].instr;
  check_problem_t problem = {NULL, instr, NULL, node->rank, -1};
  HR_TRY(check_printf(
      result, &problem.text,
      "in some order, a branch or iteration that %%%.*s at line %u decides may not complete",
      HR_STR_ARGS(instr->name), instr->line));
  return check_add_problem(result, CHECK_UNPROVED, problem);
}

/* Turns the path into waits for the report, each process waiting for the next one. */
static hr_status_t record_cycle(check_cycle_search_t *search) {
  check_result_t *result = search->result;
  for (size_t i = 0; i < search->path.count; i++) {
    const check_wait_node_t *node = &search->nodes.data[search->path.data[i]];
    if (result->of[node->rank]->events.data[node->point->event].kind == CHECK_REGION)
      return report_unproved_region(result, node);
  }
  result->verdict = CHECK_DEADLOCK;
  result->waits.count = 0;
  result->cycle_length = (int)search->path.count;
  for (size_t i = 0; i < search->path.count; i++) {
    const check_wait_node_t *node = &search->nodes.data[search->path.data[i]];
    const check_wait_node_t *next =
        &search->nodes.data[search->path.data[(i + 1) % search->path.count]];
    check_wait_t wait = {node->rank, node->point->event, next->rank,
                         awaited_event(search, node, next)};
    HR_VEC_PUSH(&result->waits, wait);
  }
  return NULL;
}

/* The verdict is unproved, not unsound: the planned order has been proved in any case. */
static hr_status_t report_search_limit(check_result_t *result) {
  check_problem_t problem = {"search limit: too many orders to examine all of them", NULL, NULL, -1,
                             -1};
  return check_add_problem(result, CHECK_UNPROVED, problem);
}

static hr_status_t check_chain_starts(check_cycle_search_t *search, int rank,
                                      const check_chain_t *chain) {
  const comm_trace_t *trace = search->orders[rank].trace;
  for (size_t i = 0; i < chain->starts.count; i++)
    for (size_t k = i + 1; k < chain->starts.count; k++) {
      size_t first = chain->starts.data[i], second = chain->starts.data[k];
      const check_event_t *a = &trace->events.data[first], *b = &trace->events.data[second];
      if (a->kind == CHECK_REGION || check_event_is_before(trace, first, second)) continue;
      HR_TRY(check_starts_agree(search->result, a, b, rank));
    }
  return NULL;
}

/* Unordered starts of one chain must be interchangeable; otherwise some order matches operations
 * that do not agree. */
static hr_status_t check_reordered_starts(check_cycle_search_t *search, int rank) {
  const check_orders_t *orders = &search->orders[rank];
  for (size_t l = 0; l < orders->chains.count; l++)
    if (!orders->chains.data[l].ordered)
      HR_TRY(check_chain_starts(search, rank, &orders->chains.data[l]));
  return NULL;
}

/* --- the decision --- */

/* Finds the orders of all processes first, since an edge needs the chains of both ends. */
static hr_status_t build_wait_graph(check_cycle_search_t *search, bool *out_exact) {
  int world = search->result->world;
  HR_TRY(HR_NEW_ARRAY(&search->arena, world, &search->orders));
  HR_TRY(HR_NEW_ARRAY(&search->arena, world, &search->numbers));
  HR_TRY(HR_NEW_ARRAY(&search->arena, world, &search->visited));
  HR_TRY(HR_NEW_ARRAY(&search->arena, world + 1, &search->first_node));
  HR_TRY(HR_NEW_ARRAY(&search->arena, world, &search->safe_prefix));
  *out_exact = true;
  for (int rank = 0; rank < world && *out_exact; rank++) {
    HR_TRY(find_block_points(search, rank, out_exact));
    if (*out_exact && !search->orders[rank].ordered) HR_TRY(check_reordered_starts(search, rank));
  }
  for (int rank = 0; rank < world && *out_exact; rank++) HR_TRY(add_nodes(search, rank));
  return NULL;
}

/* Builds and searches the graph, and records a cycle or the limit; misuse found on the way is
 * kept. */
static hr_status_t decide(check_cycle_search_t *search) {
  check_search_outcome_t outcome;
  bool exact;
  HR_TRY(build_wait_graph(search, &exact));
  if (search->result->verdict != CHECK_SOUND) return NULL;
  if (!exact) return report_search_limit(search->result);
  HR_TRY(check_search_cycle(search, &outcome));
  if (outcome == CHECK_SEARCH_LIMIT) return report_search_limit(search->result);
  return outcome == CHECK_SEARCH_CYCLE ? record_cycle(search) : NULL;
}

/* Does each process have exactly one order? It is the planned one, which has been proved. */
static bool has_single_order(const check_result_t *result, const check_range_t *ranges) {
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
  check_cycle_search_t search = {
      .result = result, .ranges = ranges, .limit = result->options.search_limit};
  if (has_single_order(result, ranges)) return NULL;
  if (!search.limit) search.limit = DEFAULT_LIMIT;
  hr_arena_init(&search.arena);
  hr_map_init(&search.last_events);
  hr_status_t st = check_engine_init(&search.engine, result, ranges, &options);
  if (!st) st = decide(&search);
  for (int rank = 0; rank < result->world && search.orders; rank++)
    check_orders_deinit(&search.orders[rank]);
  HR_VEC_FREE(&search.nodes);
  HR_VEC_FREE(&search.dependencies);
  HR_VEC_FREE(&search.path);
  hr_map_deinit(&search.last_events);
  check_engine_deinit(&search.engine);
  hr_arena_deinit(&search.arena);
  return st;
}
