/* Algorithms of all-gather. */
#include <string.h>

#include "transport/core/request.h"

static char *position_of(const tp_request_t *request, int member) {
  return request->args.out + (size_t)member * request->args.size_bytes;
}

static void copy_self_block_in(tp_request_t *request) {
  char *dst = position_of(request, request->group->my_index);
  if (dst != request->args.in) memcpy(dst, request->args.in, request->args.size_bytes);
}

/* Every rank sends to all others at once: one round, p - 1 messages. Each rank starts with its next
 * neighbour, so that not all send to the same rank first. */
hr_status_t tp_all_gather_direct(tp_request_t *request) {
  int size = request->group->size, mine = request->group->my_index;
  for (int k = 1; k < size; k++) {
    int from = (mine - k + size) % size;
    HR_TRY(
        tp_request_recv(request, from, position_of(request, from), request->args.size_bytes, -1));
  }
  for (int k = 1; k < size; k++)
    HR_TRY(tp_request_send(request, (mine + k) % size, request->args.in, request->args.size_bytes));
  copy_self_block_in(request);
  return NULL;
}

/* Around a ring: p - 1 rounds, in each of which every rank passes a block on to its next neighbour.
 * Every link carries each block once, so large messages do not compete. */
static hr_status_t pass_on(tp_request_t *request) {
  int size = request->group->size, mine = request->group->my_index, round = request->rounds.number;
  if (round == size - 1) {
    request->hooks.next = NULL;
    return NULL;
  }
  int arriving = (mine - round - 1 + size) % size, leaving = (mine - round + size) % size;
  HR_TRY(tp_request_recv(request, (mine + size - 1) % size, position_of(request, arriving),
                         request->args.size_bytes, -1));
  return tp_request_send(request, (mine + 1) % size, position_of(request, leaving),
                         request->args.size_bytes);
}

hr_status_t tp_all_gather_ring(tp_request_t *request) {
  copy_self_block_in(request);
  request->hooks.next = pass_on;
  return pass_on(request);
}

/* Bruck's algorithm: ceil(log2 p) rounds. The scratch space numbers members from this rank on:
 * block i is that of member (mine + i) mod p. In round k the first min(2^k, p - 2^k) blocks go to
 * the member 2^k before, which doubles the known blocks; at the end they are rotated into place. */
static hr_status_t double_known(tp_request_t *request) {
  int size = request->group->size, mine = request->group->my_index,
      known = 1 << request->rounds.number;
  size_t bytes = request->args.size_bytes;
  if (known >= size) {
    request->hooks.next = NULL;
    memcpy(position_of(request, mine), request->memory.scratch.data, (size_t)(size - mine) * bytes);
    memcpy(request->args.out, request->memory.scratch.data + (size_t)(size - mine) * bytes,
           (size_t)mine * bytes);
    return NULL;
  }
  size_t moving = (size_t)(known < size - known ? known : size - known) * bytes;
  HR_TRY(tp_request_recv(request, (mine + known) % size,
                         request->memory.scratch.data + (size_t)known * bytes, moving, -1));
  return tp_request_send(request, (mine - known + size) % size, request->memory.scratch.data,
                         moving);
}

hr_status_t tp_all_gather_bruck(tp_request_t *request) {
  HR_TRY(tp_space_reserve(&request->memory.scratch, (size_t)request->group->size,
                          request->args.size_bytes));
  memcpy(request->memory.scratch.data, request->args.in, request->args.size_bytes);
  request->hooks.next = double_known;
  return double_known(request);
}
