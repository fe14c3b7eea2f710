/* Clients of a part of a world: an endpoint for each member of this process. All are opened at the
 * same time, each in its thread, as opening is collective over the part. */
#include <pthread.h>

#include "api_check.h"
#include "api_client.h"
#include "base/mem.h"
#include "transport/core/subset.h"

/* --- calls by all ranks of this process --- */

typedef struct rank_call {
  hr_status_t (*fn)(void *context, int k);
  void *context;
  int k;
  pthread_t thread;
  bool has_thread;
  hr_status_t status;
} rank_call_t;

static void *call_rank(void *context) {
  rank_call_t *call = context;
  call->status = call->fn(call->context, call->k);
  return NULL;
}

/* If a thread cannot be started, its rank fails, and the others end by time-outs of their waits. */
hr_status_t api_each_rank(int count, hr_status_t (*fn)(void *context, int k), void *context) {
  void *memory;
  HR_TRY(hr_alloc_zeroed((size_t)count * sizeof(rank_call_t), &memory));
  rank_call_t *calls = memory;
  hr_status_t st = NULL;
  for (int k = 0; k < count; k++) {
    calls[k] = (rank_call_t){.fn = fn, .context = context, .k = k};
    calls[k].has_thread = k && !pthread_create(&calls[k].thread, NULL, call_rank, &calls[k]);
    if (k && !calls[k].has_thread && !st)
      st = hr_error(HR_UNAVAILABLE, "cannot start thread %d of %d", k, count);
  }
  if (!st) call_rank(&calls[0]);
  for (int k = 1; k < count; k++)
    if (calls[k].has_thread) pthread_join(calls[k].thread, NULL);
  for (int k = 0; k < count; k++) st = hr_status_join(st, calls[k].status);
  hr_free(calls);
  return st;
}

/* --- the part --- */

typedef struct part {
  hlorun_client_t *whole;
  int count;
  tp_member_t *members; /* by rank of the part */
  int *own;             /* ranks of the part in this process */
  int own_count;
  hlorun_client_t **clients; /* clients of the ranks in `own` */
} part_t;

/* Signature of api_each_rank's function. */
static hr_status_t join_part(void *context, int k) {
  part_t *part = context;
  hlorun_client_options_t options = part->whole->options;
  tp_endpoint_t *endpoint;
  options.bind = HLORUN_BIND_NONE;
  HR_TRY(
      tp_subset_open(part->whole->endpoint, part->count, part->members, part->own[k], &endpoint));
  hr_status_t st = api_client_over(&options, endpoint, &part->clients[k]);
  if (st) {
    tp_close(endpoint, true, hr_status_exit_code(st));
    return st;
  }
  part->clients[k]->whole = part->whole;
  api_client_retain(part->whole);
  return NULL;
}

/* Members are numbered by process, and by lane within it. */
static hr_status_t list_members(part_t *part, int ranks_per_process, const int *members) {
  for (int k = 0; k < part->count; k++) {
    part->members[k] = (tp_member_t){members[k] < 0 ? -1 : members[k] / ranks_per_process,
                                     members[k] < 0 ? 0 : members[k] % ranks_per_process};
    if (part->members[k].rank == part->whole->endpoint->rank) part->own[part->own_count++] = k;
  }
  if (part->own_count) return NULL;
  return hr_error(HR_USAGE, "rank %d is not a member of the part", part->whole->endpoint->rank);
}

static hr_status_t open_part(part_t *part, int ranks_per_process, const int *members) {
  HR_TRY(list_members(part, ranks_per_process, members));
  hr_status_t st = api_each_rank(part->own_count, join_part, part);
  for (int k = 0; st && k < part->own_count; k++)
    hlorun_client_release(part->clients[k], hr_status_exit_code(st));
  return st;
}

hlorun_status_t hlorun_clients_create_part(hlorun_client_t *whole, int ranks_per_process, int count,
                                           const int *members, hlorun_client_t **out_clients) {
  API_NOT_NULL(whole);
  API_NOT_NULL(members);
  API_NOT_NULL(out_clients);
  if (ranks_per_process < 1 || ranks_per_process > TP_LANES)
    return hr_error(HR_USAGE, "%d ranks for each process, want 1 to %d", ranks_per_process,
                    TP_LANES);
  long long most = (long long)ranks_per_process * whole->endpoint->world_size;
  if (count < 1 || count > most)
    return hr_error(HR_USAGE, "a part of %d ranks, want 1 to %lld", count, most);
  void *memory;
  HR_TRY(hr_alloc_zeroed(
      (size_t)count * (sizeof(hlorun_client_t *) + sizeof(tp_member_t) + sizeof(int)), &memory));
  part_t part = {.whole = whole, .count = count, .clients = memory};
  part.members = (tp_member_t *)(part.clients + count);
  part.own = (int *)(part.members + count);
  hr_status_t st = open_part(&part, ranks_per_process, members);
  for (int k = 0; !st && k < part.own_count; k++) out_clients[k] = part.clients[k];
  hr_free(memory);
  return st;
}
