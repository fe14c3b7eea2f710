/* Broadcast down a binomial tree, and a barrier by dissemination.
 *
 *   members counted from the root:  0 -> 4, 0 -> 2, 0 -> 1;  4 -> 6, 4 -> 5;  2 -> 3;  6 -> 7
 *
 * Cost: log2(p) messages one after the other. */
#include "transport/core/request.h"

/* Distance of member `relative` (counted from the root) to its parent: its lowest bit; p rounded up
 * for the root. */
static int distance_to_parent(int relative, int size) {
  if (relative) return relative & -relative;
  int distance = 1;
  while (distance < size) distance *= 2;
  return distance;
}

static hr_status_t send_to_children(tp_request_t *request) {
  int size = request->group->size, root = request->args.root;
  int relative = (request->group->my_index - root + size) % size;
  request->hooks.next = NULL;
  for (int distance = distance_to_parent(relative, size) / 2; distance; distance /= 2)
    if (relative + distance < size)
      HR_TRY(tp_request_send(request, (relative + distance + root) % size, request->args.out,
                             request->args.size_bytes));
  return NULL;
}

hr_status_t tp_broadcast_tree(tp_request_t *request) {
  int size = request->group->size, root = request->args.root;
  int relative = (request->group->my_index - root + size) % size;
  if (relative == 0) return send_to_children(request);
  int parent = relative - distance_to_parent(relative, size);
  request->hooks.next = send_to_children;
  return tp_request_recv(request, (parent + root) % size, request->args.out,
                         request->args.size_bytes, -1);
}

/* Round k: sends a byte to the member 2^k further on and receives one from the member 2^k before;
 * after the last round every member has heard, directly or not, from all. */
static hr_status_t synchronize(tp_request_t *request) {
  int size = request->group->size, mine = request->group->my_index,
      distance = 1 << request->rounds.number;
  if (distance >= size) {
    request->hooks.next = NULL;
    return NULL;
  }
  HR_TRY(tp_request_recv(request, (mine - distance + size) % size, request->memory.scratch.data, 1,
                         -1));
  return tp_request_send(request, (mine + distance) % size, request->memory.scratch.data + 1, 1);
}

static hr_status_t start_barrier(tp_request_t *request) {
  HR_TRY(tp_space_reserve(&request->memory.scratch, 2, 1));
  request->memory.scratch.data[1] = 0;
  request->hooks.next = synchronize;
  return synchronize(request);
}

hr_status_t tp_broadcast(tp_group_t *group, int root, void *data, size_t size_bytes,
                         tp_request_t **out_request) {
  hr_assert(group->my_index >= 0 && root >= 0 && root < group->size);
  tp_request_t *request;
  HR_TRY(tp_request_new(group->owner, group, &request));
  request->args.out = data;
  request->args.size_bytes = size_bytes;
  request->args.root = root;
  hr_status_t st = group->size > 1 ? tp_algorithm_start(TP_BROADCAST, request, size_bytes) : NULL;
  return tp_request_started(st, request, out_request);
}

hr_status_t tp_barrier(tp_group_t *group, tp_request_t **out_request) {
  hr_assert(group->my_index >= 0);
  tp_request_t *request;
  HR_TRY(tp_request_new(group->owner, group, &request));
  hr_status_t st = start_barrier(request);
  return tp_request_started(st, request, out_request);
}
