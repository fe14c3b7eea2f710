/* Block points of one process over all orders that its dependencies allow: where it can be blocked,
 * and which starts can precede. See event_orders.c. */
#ifndef CHECK_EVENT_ORDERS_H
#define CHECK_EVENT_ORDERS_H

#include "check/check_engine.h"

/* A chain: the starts of one process on one side of a channel, in one collective, or at regions of
 * one signature. */
typedef struct check_chain {
  const void *match; /* check_channel_t, check_collective_t or check_barrier_t */
  int side;
  HR_VEC(uint32_t) starts; /* events in planned order */
  bool ordered; /* totally ordered by dependencies: the n-th start is the same event in every order
                 */
} check_chain_t;

/* A completion at which the process can block, in one downset of its partial order. */
typedef struct check_block_point {
  uint32_t event;
  uint32_t number;        /* number of its start in its chain */
  const uint32_t *counts; /* per chain: number of starts that precede it; NULL: those that
                             dependencies require */
} check_block_point_t;

typedef struct check_orders { /* orders of one process */
  const comm_trace_t *trace;
  check_range_t range;
  HR_VEC(check_chain_t) chains;
  HR_VEC(check_block_point_t) block_points;
  bool ordered; /* all chains are ordered */
} check_orders_t;

hr_status_t check_orders_init(check_orders_t *orders, const comm_trace_t *trace,
                              check_range_t range);
void check_orders_deinit(check_orders_t *orders);
hr_status_t check_orders_add_start(check_orders_t *orders, const void *match, int side,
                                   uint32_t event, uint32_t *out_number);
check_chain_t *check_orders_chain(const check_orders_t *orders, const void *match, int side);
/* Fills in `ordered` and the block points. `numbers`: per event of the range, number of a start
 * in planned order. *out_exact: false if there are more than `limit` downsets or too many events.
 * Owner:   counts live in `arena`.
 * Errors:  NO_MEMORY. */
hr_status_t check_orders_find_block_points(check_orders_t *orders, hr_arena_t *arena,
                                           const uint32_t *numbers, uint64_t limit,
                                           bool *out_exact);
/* Can the process be at `point` before start number `need` of the chain? This is an edge of the
 * wait-for graph. */
bool check_block_point_comes_before(const check_orders_t *orders, const check_block_point_t *point,
                                    const check_chain_t *chain, uint32_t need);

#endif
