/* Matches the ends of channels of all processes into routes (channel, from, to). The ends are
 * sorted by channel; within one channel each end without source_target_pairs must find exactly
 * one possible partner. Then they are sorted by route, and each route must have senders and
 * receivers with data of one shape. Routes between two processes are numbered in the order of
 * their channels: as all ranks sort the same list, the numbers agree and serve as the transport's
 * channel numbers.
 *
 * Cost: n log n in the ends, and quadratic in the ends of one channel. */
#include "comm/model/channel_routes.h"

#include <stdlib.h>
#include <string.h>

#include "comm/model/participants.h"

/* --- ends without a named peer --- */

/* Order by channel, then senders first, then by rank. */
static int compare_ends(const void *a, const void *b) {
  const exec_channel_endpoint_t *x = a, *y = b;
  if (x->channel != y->channel) return x->channel < y->channel ? -1 : 1;
  if (x->sends != y->sends) return x->sends ? -1 : 1;
  return x->rank < y->rank ? -1 : x->rank > y->rank;
}

/* "channel 5", for messages. */
static const char *channel_text(int64_t channel, char into[48]) {
  if (channel > 0)
    snprintf(into, 48, "channel %ld", (long)channel);
  else
    snprintf(into, 48, "the channel without a number");
  return into;
}

/* Reports an end without a counterpart, at its place in the program. */
static hr_status_t report_missing_end(const exec_channel_endpoint_t *end) {
  char text[48];
  hr_status_t st = hr_error(
      HR_DISAGREE, "rank %d %s %s, but %s %s", end->rank, end->sends ? "sends on" : "receives from",
      channel_text(end->channel, text), end->peer < 0 ? "no process" : "its peer never",
      end->sends ? "receives from it" : "sends on it");
  if (end->peer >= 0) st = hr_status_note(st, "the peer is rank %d", end->peer);
  return hr_status_note(st, "rank %d: %s", end->rank, end->location);
}

/* Reports a channel with several possible processes at the other end. */
static hr_status_t report_ambiguous_ends(const exec_channel_endpoint_t *a,
                                         const exec_channel_endpoint_t *b) {
  char text[48];
  hr_status_t st = hr_error(
      HR_DISAGREE,
      "%s has several %s, rank %d and rank %d, and no source_target_pairs to choose one",
      channel_text(a->channel, text), a->sends ? "senders" : "receivers", a->rank, b->rank);
  st = hr_status_note(st, "rank %d: %s", a->rank, a->location);
  return hr_status_note(st, "rank %d: %s", b->rank, b->location);
}

/* Finds the only end of a channel that can be on the other side. */
static hr_status_t find_partner(const plan_grid_t *grid, const exec_channel_endpoint_t *ends,
                                size_t count, const exec_channel_endpoint_t *end,
                                const exec_channel_endpoint_t **out_other) {
  const exec_channel_endpoint_t *found = NULL;
  for (size_t i = 0; i < count; i++) {
    const exec_channel_endpoint_t *other = &ends[i];
    if (other->sends == end->sends || (found && found->rank == other->rank)) continue;
    if (other->peer == EXEC_ANY_PEER ? !check_can_match(grid->num_replicas, grid->num_partitions,
                                                        end->channel, end->rank, other->rank)
                                     : other->peer != end->rank)
      continue;
    if (found) return report_ambiguous_ends(found, other);
    found = other;
  }
  *out_other = found;
  return found ? NULL : report_missing_end(end);
}

/* Sets the peers of the ends of one channel, senders first, that do not name them. */
static hr_status_t fill_peers(const plan_grid_t *grid, exec_channel_endpoint_t *ends,
                              size_t count) {
  for (size_t i = 0; i < count; i++) {
    const exec_channel_endpoint_t *other;
    if (ends[i].peer != EXEC_ANY_PEER) continue;
    HR_TRY(find_partner(grid, ends, count, &ends[i], &other));
    ends[i].peer = other->rank;
  }
  return NULL;
}

/* Sorts the ends, and sets the peers of each channel. */
static hr_status_t fill_all_peers(const plan_grid_t *grid, exec_channel_endpoint_t *ends,
                                  size_t count) {
  if (count) qsort(ends, count, sizeof *ends, compare_ends);
  for (size_t first = 0, end; first < count; first = end) {
    for (end = first + 1; end < count && ends[end].channel == ends[first].channel;) end++;
    HR_TRY(fill_peers(grid, ends + first, end - first));
  }
  return NULL;
}

/* --- routes --- */

/* The route of an end whose peer is known. */
static exec_channel_route_t endpoint_route(const exec_channel_endpoint_t *end) {
  return (exec_channel_route_t){.channel = end->channel,
                                .from = end->sends ? end->rank : end->peer,
                                .to = end->sends ? end->peer : end->rank};
}

/* Order by pair of processes, then by channel: the channels between two processes are neighbours,
 * and the position among them is the route's number. */
static int compare_routes(const void *a, const void *b) {
  const exec_channel_route_t *x = a, *y = b;
  if (x->from != y->from) return x->from < y->from ? -1 : 1;
  if (x->to != y->to) return x->to < y->to ? -1 : 1;
  return x->channel < y->channel ? -1 : x->channel > y->channel;
}

/* Ends of one route are neighbours, senders first. */
static int compare_by_route(const void *a, const void *b) {
  exec_channel_route_t x = endpoint_route(a), y = endpoint_route(b);
  int order = compare_routes(&x, &y);
  return order ? order
               : ((const exec_channel_endpoint_t *)b)->sends -
                     ((const exec_channel_endpoint_t *)a)->sends;
}

static hr_status_t report_shape_mismatch(const exec_channel_endpoint_t *a,
                                         const exec_channel_endpoint_t *b) {
  char text[48];
  hr_status_t st = hr_error(HR_DISAGREE, "%s carries %s in one instruction and %s in another",
                            channel_text(a->channel, text), a->shape, b->shape);
  st = hr_status_note(st, "rank %d %s: %s", a->rank, a->sends ? "sends" : "receives", a->location);
  return hr_status_note(st, "rank %d %s: %s", b->rank, b->sends ? "sends" : "receives",
                        b->location);
}

/* Checks all ends of one route, senders first. */
static hr_status_t check_route(const exec_channel_endpoint_t *ends, size_t count) {
  if (ends[0].sends == ends[count - 1].sends) return report_missing_end(&ends[0]);
  for (size_t i = 1; i < count; i++)
    if (strcmp(ends[i].shape, ends[0].shape)) return report_shape_mismatch(&ends[0], &ends[i]);
  return NULL;
}

static bool same_pair(const exec_channel_route_t *a, const exec_channel_route_t *b) {
  return a->from == b->from && a->to == b->to;
}

hr_status_t exec_channel_routes_find(hr_arena_t *arena, const plan_grid_t *grid,
                                     exec_channel_endpoint_t *ends, size_t count,
                                     exec_channel_routes_t *out_routes) {
  exec_channel_route_t *list;
  HR_TRY(fill_all_peers(grid, ends, count));
  HR_TRY(HR_NEW_ARRAY(arena, count, &list));
  if (count) qsort(ends, count, sizeof *ends, compare_by_route);
  size_t routes = 0;
  for (size_t first = 0, end; first < count; first = end) {
    exec_channel_route_t route = endpoint_route(&ends[first]);
    for (end = first + 1; end < count; end++) {
      exec_channel_route_t other = endpoint_route(&ends[end]);
      if (compare_routes(&route, &other)) break;
    }
    HR_TRY(check_route(ends + first, end - first));
    if (routes && same_pair(&list[routes - 1], &route)) route.number = list[routes - 1].number + 1;
    list[routes++] = route;
  }
  *out_routes = (exec_channel_routes_t){routes, list};
  return NULL;
}

/* Binary search in the list, sorted by compare_routes. */
const exec_channel_route_t *exec_channel_routes_get(const exec_channel_routes_t *routes,
                                                    int64_t channel, int from, int to) {
  exec_channel_route_t key = {.channel = channel, .from = from, .to = to};
  if (!routes->count) return NULL;
  return bsearch(&key, routes->list, routes->count, sizeof key, compare_routes);
}
