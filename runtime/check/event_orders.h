/* Where one process can be stuck, over all orders that its dependencies allow. */
#ifndef CHECK_EVENT_ORDERS_H
#define CHECK_EVENT_ORDERS_H

#include "check/check_engine.h"

/* One side of a link, one member of a gather, or one region's signature, as a process uses it. */
typedef struct check_chain {
  const void *match; /* the link, the gather or the barrier */
  int side;
  HR_VEC(uint32_t) starts; /* its events, as planned */
  bool ordered;            /* in every order of the process the same one is the n-th */
} check_chain_t;

/* A completion that the process may come to: `number` is what its start counts; `counts` says how
 * many starts of each lane come before it at least, NULL: those that must come before it. */
typedef struct check_block_point {
  uint32_t event;
  uint32_t number;
  const uint32_t *counts;
} check_block_point_t;

typedef struct check_orders { /* of one process */
  const comm_trace_t *trace;
  check_range_t range;
  HR_VEC(check_chain_t) chains;
  HR_VEC(check_block_point_t) block_points;
  bool ordered; /* all lanes are */
} check_orders_t;

hr_status_t check_orders_init(check_orders_t *orders, const comm_trace_t *trace,
                              check_range_t range);
void check_orders_deinit(check_orders_t *orders);
hr_status_t check_orders_add_start(check_orders_t *orders, const void *match, int side,
                                   uint32_t event, uint32_t *out_number);
check_chain_t *check_orders_chain(const check_orders_t *orders, const void *match, int side);
/* Fills in `ordered` of the lanes, and the stops. numbers: per event of the range, of starts as
 * planned. *out_exact is false if there are too many orders to look at. */
hr_status_t check_orders_find_block_points(check_orders_t *orders, hr_arena_t *arena,
                                           const uint32_t *numbers, uint64_t limit,
                                           bool *out_exact);
/* Can the process be at `point` before it has made start number `need` of the lane? */
bool check_block_point_comes_before(const check_orders_t *orders, const check_block_point_t *point,
                                    const check_chain_t *chain, uint32_t need);

#endif
