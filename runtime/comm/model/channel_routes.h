/* Who is at the other end of each channel: worked out at load from the ends that all processes
 * have, so that a channel without a receiver is an error then and not a process that waits for
 * ever. */
#ifndef EXEC_CHANNEL_ROUTES_H
#define EXEC_CHANNEL_ROUTES_H

#include "base/arena.h"
#include "base/vec.h"
#include "plan/plan.h"

#define EXEC_ANY_PEER \
  (-1) /* the program does not say who is at the other end: whoever else has the channel */

/* A send or recv that process `rank` may come to. */
typedef struct exec_channel_endpoint {
  int64_t channel; /* 0: none given */
  int rank, peer;
  bool sends;
  const char *shape;    /* of the data, as text */
  const char *location; /* for messages: "a.hlo:12: %send.3" */
} exec_channel_endpoint_t;
typedef HR_VEC(exec_channel_endpoint_t) exec_channel_endpoints_t;

/* A channel from one process to another. */
typedef struct exec_channel_route {
  int64_t channel;
  int from, to;
  uint32_t number; /* among the routes between these two, in the order of their channels: the same
                      everywhere */
} exec_channel_route_t;
typedef struct exec_channel_routes {
  size_t count;
  const exec_channel_route_t *list; /* by from, to and channel */
} exec_channel_routes_t;

/* Sorts `ends`, fills in their peers, and lists the routes in `arena`. Of ends that name nobody
 * those are meant that may meet on the grid (check_can_match). Errors: DISAGREE naming both places:
 * no receiver, no sender, several of them where the program does not say who is meant, data of
 * different shapes. */
hr_status_t exec_channel_routes_find(hr_arena_t *arena, const plan_grid_t *grid,
                                     exec_channel_endpoint_t *ends, size_t count,
                                     exec_channel_routes_t *out_routes);
/* NULL: there is none. */
const exec_channel_route_t *exec_channel_routes_get(const exec_channel_routes_t *routes,
                                                    int64_t channel, int from, int to);

#endif
