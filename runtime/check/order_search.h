/* The wait-for graph over all orders of a schedule, and the search for a deadlock in it.
 *
 * Node:  a block point, that is a completion (done or region) at which one process can block, in
 *        one of the orders that its dependencies allow.
 * Edge:  from block point b of process p to block point b' of process q, if b waits for a start of
 *        q that some order of q places after b'. Edges are implicit: a dependency has the awaited
 *        start, and check_is_wait_edge decides per pair.
 * A schedule deadlocks if and only if a cycle visits each process at most once; any_order.c has the
 * argument.
 * Thread: one.
 * Owner:  the arena of the search, except the vectors. */
#ifndef CHECK_ORDER_SEARCH_H
#define CHECK_ORDER_SEARCH_H

#include "base/map.h"
#include "check/check_engine.h"
#include "check/event_orders.h"

/* One start that a block point waits for: the common head of its outgoing edges. */
typedef struct check_dependency {
  int rank;                   /* process that makes the start */
  const check_chain_t *chain; /* chain of the start; NULL: the process never makes such a start */
  uint32_t need;              /* number of the start in the chain, from 1 */
  size_t waiter;              /* node that waits */
  size_t
      first_unsafe; /* block points of `rank` before this one are safe or not reached by an edge */
  size_t next_watcher; /* next in the list of the block point at first_unsafe */
  uint32_t last_event; /* later events of `rank` follow the start in every order */
} check_dependency_t;
#define CHECK_NO_DEPENDENCY SIZE_MAX

typedef struct check_wait_node {
  int rank;
  const check_block_point_t *point;
  size_t first_dependency, dependency_count; /* range in check_cycle_search_t.dependencies */
  size_t unsafe_count; /* dependencies with an edge to a node not known to be safe */
  size_t watchers;     /* list of dependencies whose first_unsafe is this node */
  size_t reached_from; /* breadth-first search: 1 + predecessor; 0: not reached */
  bool safe;           /* on no cycle: all its edges lead to safe nodes */
} check_wait_node_t;

typedef struct check_cycle_search {
  check_result_t *result;
  hr_arena_t arena;
  check_engine_t engine;           /* provides channels, collectives and barriers; never run */
  const check_range_t *ranges;     /* per rank */
  check_orders_t *orders;          /* per rank */
  uint32_t **numbers;              /* per rank and event of its range: number of the start */
  HR_VEC(check_wait_node_t) nodes; /* by rank, then as planned */
  size_t *first_node;              /* per rank, and one more: its range of nodes */
  size_t *safe_prefix;             /* per rank: number of leading nodes known to be safe */
  hr_map_t last_events;            /* per trace: 1 + last_event by start; 0: not computed yet */
  HR_VEC(check_dependency_t) dependencies;
  uint64_t steps, limit; /* edges examined, and their maximum */
  bool *visited;         /* per rank: on the current path */
  HR_VEC(size_t) path;   /* nodes; holds the cycle once one is found */
  bool depth_limited;    /* a path was cut at the current maximum length */
} check_cycle_search_t;

typedef enum check_search_outcome {
  CHECK_SEARCH_NO_CYCLE,
  CHECK_SEARCH_CYCLE,
  CHECK_SEARCH_LIMIT /* undecided: more than `limit` edges */
} check_search_outcome_t;

/* Can `to` come before the awaited start? This is an edge from the dependency's waiter. */
bool check_is_wait_edge(const check_cycle_search_t *search, const check_dependency_t *dependency,
                        const check_wait_node_t *to);
/* Decides whether a cycle visits each process at most once, and leaves it in search->path, which is
 * empty otherwise.
 * Cost:   linear in nodes plus examined edges for safe schedules; exponential in the number of
 *         processes at worst, bounded by search->limit.
 * Errors: NO_MEMORY. */
hr_status_t check_search_cycle(check_cycle_search_t *search, check_search_outcome_t *out_outcome);

#endif
