/* The entry points: arguments go into a request, the table says which algorithm starts it. */
#include "transport/collective.h"

#include <limits.h>
#include <string.h>

#include "transport/request.h"

typedef struct algorithm {
  tp_collective_t collective;
  const char *name;
  tp_algorithm_fn start;
  size_t max_bytes;
  int max_ranks;
} algorithm_t;

static const algorithm_t algorithms[] = {
#define ALGORITHM(collective, name, start, max_bytes, max_ranks) {TP_##collective, name, start, max_bytes, max_ranks},
#include "transport/algorithms.def"
#undef ALGORITHM
};

hr_status_t tp_algorithm_start(tp_collective_t collective, tp_request_t *request, size_t bytes) {
  const char *forced = request->groups->forced[collective];
  for (size_t i = 0; i < sizeof algorithms / sizeof *algorithms; i++) {
    const algorithm_t *row = &algorithms[i];
    if (row->collective != collective) continue;
    bool fits = forced ? strcmp(forced, row->name) == 0
                       : bytes <= row->max_bytes && request->group->size <= row->max_ranks;
    if (fits) return row->start(request);
  }
  return hr_error(HR_USAGE, "there is no algorithm \"%s\" for this collective", forced ? forced : "");
}

/* Hands the request to the caller, or undoes it if it could not be started. */
static hr_status_t started(hr_status_t st, tp_request_t *request, tp_request_t **out_request) {
  if (st)
    tp_request_cancel(request);
  else
    *out_request = request;
  return st;
}

/* Bytes that a rank meets when everybody sends `size_bytes` to everybody. */
static size_t bytes_met(const tp_group_t *group, size_t size_bytes) {
  size_t bytes;
  return __builtin_mul_overflow((size_t)group->size, size_bytes, &bytes) ? SIZE_MAX : bytes;
}

hr_status_t tp_all_gather(tp_group_t *group, const void *in, size_t size_bytes, void *out, tp_request_t **out_request) {
  hr_assert(group->my_index >= 0);
  tp_request_t *request;
  HR_TRY(tp_request_new(group->owner, group, &request));
  request->in = in;
  request->size_bytes = size_bytes;
  request->out = out;
  hr_status_t st = size_bytes ? tp_algorithm_start(TP_ALL_GATHER, request, bytes_met(group, size_bytes)) : NULL;
  return started(st, request, out_request);
}

hr_status_t tp_all_reduce(tp_group_t *group, void *inout, int64_t count, const tp_reducer_t *reducer,
                          tp_request_t **out_request) {
  hr_assert(group->my_index >= 0);
  tp_request_t *request;
  HR_TRY(tp_request_new(group->owner, group, &request));
  request->in = inout;
  request->out = inout;
  request->count = count;
  request->reducer = *reducer;
  hr_status_t st = NULL;
  if (group->size > 1 && count)
    st = tp_algorithm_start(TP_ALL_REDUCE, request, bytes_met(group, (size_t)count * reducer->element_bytes));
  return started(st, request, out_request);
}

hr_status_t tp_reduce_scatter(tp_group_t *group, const void *in, int64_t count, const tp_reducer_t *reducer, void *out,
                              tp_request_t **out_request) {
  hr_assert(group->my_index >= 0);
  tp_request_t *request;
  HR_TRY(tp_request_new(group->owner, group, &request));
  request->in = in;
  request->out = out;
  request->count = count;
  request->reducer = *reducer;
  size_t bytes = (size_t)count * reducer->element_bytes;
  hr_status_t st = NULL;
  if (group->size > 1 && count)
    st = tp_algorithm_start(TP_REDUCE_SCATTER, request, bytes_met(group, bytes));
  else if (bytes)
    memmove(out, in, bytes);
  return started(st, request, out_request);
}

hr_status_t tp_all_to_all(tp_group_t *group, const tp_block_t *sends, const tp_block_t *recvs,
                          tp_request_t **out_request) {
  hr_assert(group->my_index >= 0);
  tp_request_t *request;
  HR_TRY(tp_request_new(group->owner, group, &request));
  request->sends = sends;
  request->recvs = recvs;
  return started(tp_algorithm_start(TP_ALL_TO_ALL, request, SIZE_MAX), request, out_request);
}

static hr_status_t start_permute(tp_request_t *request, int to, const tp_block_t *send, int from,
                                 const tp_block_t *recv) {
  int self = request->groups->endpoint->rank;
  if (to == self && from == self) {
    if (send->size_bytes != recv->size_bytes)
      return hr_error(HR_DISAGREE, "%zu bytes sent to itself, %zu wanted", send->size_bytes, recv->size_bytes);
    if (send->size_bytes) memmove(recv->data, send->data, send->size_bytes);
    return NULL;
  }
  if (from >= 0) HR_TRY(tp_request_recv_from(request, from, recv->data, recv->size_bytes, -1));
  if (to >= 0) HR_TRY(tp_request_send_to(request, to, send->data, send->size_bytes));
  return NULL;
}

hr_status_t tp_permute(tp_groups_t *groups, int64_t stream, int to, const tp_block_t *send, int from,
                       const tp_block_t *recv, tp_request_t **out_request) {
  tp_request_t *request;
  HR_TRY(tp_request_new(groups, NULL, &request));
  if (stream) request->tag |= (uint32_t)(hr_hash_bytes(&stream, sizeof stream, 7) >> 9) % TP_TAG_CLASS_PERMUTE;
  return started(start_permute(request, to, send, from, recv), request, out_request);
}
