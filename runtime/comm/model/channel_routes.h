/* Routes of channels, resolved at load from the ends of all processes, so that a channel without a
 * receiver is a load error and not a hang. */
#ifndef EXEC_CHANNEL_ROUTES_H
#define EXEC_CHANNEL_ROUTES_H

#include "base/arena.h"
#include "base/vec.h"
#include "plan/plan.h"

#define EXEC_ANY_PEER (-1) /* the program does not name the peer */

/* A send or recv that process `rank` may execute. */
typedef struct exec_channel_endpoint {
  int64_t channel; /* 0: none */
  int rank, peer;
  bool sends;
  const char *shape;    /* shape of the data, as text */
  const char *location; /* for messages: "a.hlo:12: %send.3" */
} exec_channel_endpoint_t;
typedef HR_VEC(exec_channel_endpoint_t) exec_channel_endpoints_t;

/* A channel from one process to another. */
typedef struct exec_channel_route {
  int64_t channel;
  int from, to;
  uint32_t number; /* index among the routes of this pair, by channel; equal on all ranks */
} exec_channel_route_t;
typedef struct exec_channel_routes {
  size_t count;
  const exec_channel_route_t *list; /* sorted by from, to and channel */
} exec_channel_routes_t;

/* Sorts `ends`, fills in their peers, and lists the routes in `arena`. Ends without a named peer
 * are matched with ends that can match on the grid (check_can_match).
 * Errors: DISAGREE with both source locations: no receiver, no sender, several candidates, or data
 *         of different shapes. */
hr_status_t exec_channel_routes_find(hr_arena_t *arena, const plan_grid_t *grid,
                                     exec_channel_endpoint_t *ends, size_t count,
                                     exec_channel_routes_t *out_routes);
/* Binary search; NULL: no such route. */
const exec_channel_route_t *exec_channel_routes_get(const exec_channel_routes_t *routes,
                                                    int64_t channel, int from, int to);

#endif
