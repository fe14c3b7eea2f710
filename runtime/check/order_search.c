/* Search for a deadlock in the wait-for graph of any_order.c: a cycle that visits each process at
 * most once. Three stages, from cheap to exact:
 *
 *   1. Elimination. A node all of whose edges lead to safe nodes is safe; nodes without edges come
 *      first. Every remaining node has an edge to another unsafe node, hence reaches a cycle.
 *   2. Shortest cycles through some of these nodes, by breadth-first search. Short cycles mostly
 *      visit each process once, and then are the answer.
 *   3. Depth-first search with iterative deepening, so that the shortest cycle is reported.
 *
 * Stage 1 is linear in the pairs of dependency and block point. Stage 3 is exponential at worst
 * (the question is NP-hard: a cycle with distinct colours) and stops at search->limit edges. */
#include "check/order_search.h"

/* --- elimination of safe nodes --- */

bool check_is_wait_edge(const check_cycle_search_t *search, const check_dependency_t *dependency,
                        const check_wait_node_t *to) {
  return !dependency->chain ||
         check_block_point_comes_before(&search->orders[dependency->rank], to->point,
                                        dependency->chain, dependency->need);
}

/* Advances first_unsafe to the next edge to an unsafe node and enters the dependency in that node's
 * list of watchers; false if no such edge is left. first_unsafe only grows, so that each pair is
 * examined once (as with watched literals in SAT solvers). */
static bool advance_watch(check_cycle_search_t *search, size_t number) {
  check_dependency_t *dependency = &search->dependencies.data[number];
  const check_wait_node_t *from = &search->nodes.data[dependency->waiter];
  size_t first = search->first_node[dependency->rank],
         count = search->first_node[dependency->rank + 1] - first;
  size_t *prefix = &search->safe_prefix[dependency->rank];
  while (*prefix < count && search->nodes.data[first + *prefix].safe) ++*prefix;
  if (dependency->first_unsafe < *prefix) dependency->first_unsafe = *prefix;
  for (; dependency->first_unsafe < count; dependency->first_unsafe++) {
    check_wait_node_t *to = &search->nodes.data[first + dependency->first_unsafe];
    if (to->point->event > dependency->last_event) dependency->first_unsafe = count;
    if (dependency->first_unsafe == count) break;
    if (to->safe || (to->rank == from->rank && to != from) ||
        !check_is_wait_edge(search, dependency, to))
      continue;
    dependency->next_watcher = to->watchers;
    to->watchers = number;
    return true;
  }
  return false;
}

/* Propagates safety along reversed edges: the watchers of a node that became safe advance, and a
 * waiter without an edge to an unsafe node becomes safe itself. search->path is the worklist. */
static hr_status_t propagate_safety(check_cycle_search_t *search) {
  while (search->path.count) {
    check_wait_node_t *node = &search->nodes.data[search->path.data[--search->path.count]];
    size_t number = node->watchers;
    node->watchers = CHECK_NO_DEPENDENCY;
    while (number != CHECK_NO_DEPENDENCY) {
      size_t next = search->dependencies.data[number].next_watcher,
             waiter = search->dependencies.data[number].waiter;
      if (!advance_watch(search, number) && --search->nodes.data[waiter].unsafe_count == 0) {
        search->nodes.data[waiter].safe = true;
        HR_VEC_PUSH(&search->path, waiter);
      }
      number = next;
    }
  }
  return NULL;
}

static hr_status_t eliminate_safe_nodes(check_cycle_search_t *search) {
  for (size_t i = 0; i < search->nodes.count; i++) {
    check_wait_node_t *node = &search->nodes.data[i];
    for (size_t a = 0; a < node->dependency_count; a++)
      node->unsafe_count += advance_watch(search, node->first_dependency + a);
    node->safe = node->unsafe_count == 0;
    if (node->safe) HR_VEC_PUSH(&search->path, i);
    HR_TRY(propagate_safety(search));
  }
  return NULL;
}

/* --- shortest cycles: a heuristic that finds most deadlocks --- */

#define MAX_START_NODES 64 /* breadth-first searches tried */

static bool visits_ranks_once(check_cycle_search_t *search) {
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

static hr_status_t trace_path(check_cycle_search_t *search, size_t start, size_t last) {
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

/* Queue of a breadth-first search. */
typedef struct node_queue {
  size_t *nodes;
  size_t count;
} node_queue_t;

/* Adds the nodes that `from` reaches by a dependency and that are new. True if `start` is one. */
static bool reach_nodes(check_cycle_search_t *search, size_t from, size_t start,
                        const check_dependency_t *dependency, node_queue_t *queue) {
  const check_wait_node_t *origin = &search->nodes.data[from];
  size_t end = search->first_node[dependency->rank + 1];
  for (size_t to = search->first_node[dependency->rank]; to < end; to++) {
    check_wait_node_t *node = &search->nodes.data[to];
    if (node->safe || node->reached_from || (node->rank == origin->rank && node != origin))
      continue;
    search->steps++;
    if (!check_is_wait_edge(search, dependency, node)) continue;
    node->reached_from = from + 1;
    if (to == start) return true;
    queue->nodes[queue->count++] = to;
  }
  return false;
}

/* Breadth-first search: leaves the shortest cycle through `start` on the path, or an empty path.
 * `nodes`: memory for the queue. */
static hr_status_t shortest_cycle(check_cycle_search_t *search, size_t start, size_t *nodes) {
  node_queue_t queue = {nodes, 1};
  nodes[0] = start;
  search->path.count = 0;
  for (size_t i = 0; i < search->nodes.count; i++) search->nodes.data[i].reached_from = 0;
  for (size_t at = 0; at < queue.count; at++) {
    const check_wait_node_t *from = &search->nodes.data[nodes[at]];
    size_t end = from->first_dependency + from->dependency_count;
    for (size_t a = from->first_dependency; a < end; a++)
      if (reach_nodes(search, nodes[at], start, &search->dependencies.data[a], &queue))
        return trace_path(search, start, nodes[at]);
  }
  return NULL;
}

/* Follows edges between unsafe nodes from `at` until a node repeats. Each unsafe node has an edge
 * to another, so the walk ends on a cycle. */
static size_t node_on_cycle(check_cycle_search_t *search, size_t at) {
  for (size_t i = 0; i < search->nodes.count; i++) search->nodes.data[i].reached_from = 0;
  while (!search->nodes.data[at].reached_from) {
    check_wait_node_t *from = &search->nodes.data[at];
    from->reached_from = 1;
    for (size_t a = from->first_dependency; a < from->first_dependency + from->dependency_count;
         a++) {
      const check_dependency_t *dependency = &search->dependencies.data[a];
      size_t first = search->first_node[dependency->rank],
             end = search->first_node[dependency->rank + 1];
      if (dependency->first_unsafe >= end - first) continue;
      at = first + dependency->first_unsafe;
      break;
    }
  }
  return at;
}

/* Tries the shortest cycles through a few unsafe nodes. A cycle that visits some process twice
 * proves nothing and is dropped. */
static hr_status_t find_short_cycle(check_cycle_search_t *search, bool *out_found) {
  size_t *queue, tries = 0;
  *out_found = false;
  HR_TRY(HR_NEW_ARRAY(&search->arena, search->nodes.count + 1, &queue));
  for (size_t i = 0; i < search->nodes.count && !*out_found && tries < MAX_START_NODES; i++) {
    if (search->nodes.data[i].safe) continue;
    if (search->steps > search->limit) break;
    HR_TRY(shortest_cycle(search, tries++ ? i : node_on_cycle(search, i), queue));
    *out_found = search->path.count && visits_ranks_once(search);
  }
  if (!*out_found) search->path.count = 0;
  return NULL;
}

/* --- exact search: iterative deepening over simple paths --- */

static hr_status_t extend_path(check_cycle_search_t *search, size_t at, size_t start,
                               size_t max_length, check_search_outcome_t *out_outcome);

static hr_status_t follow_dependency(check_cycle_search_t *search, size_t at,
                                     const check_dependency_t *dependency, size_t start,
                                     size_t max_length, check_search_outcome_t *out_outcome) {
  size_t first = search->first_node[dependency->rank],
         end = search->first_node[dependency->rank + 1];
  const check_wait_node_t *from = &search->nodes.data[at];
  if (dependency->rank == search->nodes.data[start].rank) {
    search->steps++;
    if (check_is_wait_edge(search, dependency, &search->nodes.data[start]))
      *out_outcome = CHECK_SEARCH_CYCLE;
    return NULL;
  }
  if (dependency->rank == from->rank || dependency->rank < search->nodes.data[start].rank ||
      search->visited[dependency->rank])
    return NULL;
  if (search->path.count >= max_length) {
    search->depth_limited = true;
    return NULL;
  }
  for (size_t to = first; to < end && *out_outcome == CHECK_SEARCH_NO_CYCLE; to++) {
    if (++search->steps > search->limit) *out_outcome = CHECK_SEARCH_LIMIT;
    if (search->nodes.data[to].safe ||
        !check_is_wait_edge(search, dependency, &search->nodes.data[to]))
      continue;
    HR_TRY(extend_path(search, to, start, max_length, out_outcome));
  }
  return NULL;
}

/* Extends the path by node `at`, depth first; keeps the path if a cycle is found. The first node
 * has the lowest rank of its cycle, so that each cycle is enumerated from one start only. */
static hr_status_t extend_path(check_cycle_search_t *search, size_t at, size_t start,
                               size_t max_length, check_search_outcome_t *out_outcome) {
  const check_wait_node_t *node = &search->nodes.data[at];
  HR_VEC_PUSH(&search->path, at);
  search->visited[node->rank] = true;
  for (size_t a = 0; a < node->dependency_count && *out_outcome == CHECK_SEARCH_NO_CYCLE; a++)
    HR_TRY(follow_dependency(search, at, &search->dependencies.data[node->first_dependency + a],
                             start, max_length, out_outcome));
  search->visited[node->rank] = false;
  if (*out_outcome != CHECK_SEARCH_CYCLE) search->path.count--;
  return NULL;
}

static hr_status_t search_cycles(check_cycle_search_t *search,
                                 check_search_outcome_t *out_outcome) {
  *out_outcome = CHECK_SEARCH_NO_CYCLE;
  for (size_t max_length = 1; *out_outcome == CHECK_SEARCH_NO_CYCLE; max_length++) {
    search->depth_limited = false;
    for (size_t start = 0; start < search->nodes.count && *out_outcome == CHECK_SEARCH_NO_CYCLE;
         start++)
      if (!search->nodes.data[start].safe)
        HR_TRY(extend_path(search, start, start, max_length, out_outcome));
    if (!search->depth_limited) break;
  }
  return NULL;
}

/* --- the decision --- */

hr_status_t check_search_cycle(check_cycle_search_t *search, check_search_outcome_t *out_outcome) {
  bool found;
  HR_TRY(eliminate_safe_nodes(search));
  HR_TRY(find_short_cycle(search, &found));
  *out_outcome = CHECK_SEARCH_CYCLE;
  if (found) return NULL;
  search->steps = 0;
  return search_cycles(search, out_outcome);
}
