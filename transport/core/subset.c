/* Every function of the table calls that of the whole world, with the peer's rank there, and with
 * both lanes in the upper bits of the tag. Lanes of one process take turns under one lock, as an
 * endpoint is used by one thread at a time. */
#include "transport/core/subset.h"

#include <pthread.h>

#include "base/mem.h"
#include "transport/core/backoff.h"
#include "transport/core/group.h"

#define PUSH_POLLS 64 /* failed polls of a wait between polls of the whole world's transport */

typedef struct subset {
  tp_endpoint_t endpoint; /* first member: a pointer to it is a pointer to subset_t */
  tp_endpoint_t *whole;
  int lane;
  tp_member_t members[]; /* by rank in the subset */
} subset_t;

/* A process has one world, which all of its subsets share. */
static pthread_mutex_t whole_lock = PTHREAD_MUTEX_INITIALIZER;

static subset_t *subset_of(tp_endpoint_t *endpoint) { return (subset_t *)endpoint; }

static uint32_t lane_tag(uint32_t tag, int from, int to) {
  return tag | (uint32_t)from << TP_TAG_BITS | (uint32_t)to << (TP_TAG_BITS + TP_LANE_BITS);
}

static uint32_t tag_to(const subset_t *subset, int to, uint32_t tag) {
  return lane_tag(tag, subset->lane, subset->members[to].lane);
}

static uint32_t tag_from(const subset_t *subset, int from, uint32_t tag) {
  return lane_tag(tag, subset->members[from].lane, subset->lane);
}

typedef hr_status_t (*send_fn)(tp_endpoint_t *endpoint, int to, uint32_t tag, const void *data,
                               size_t size_bytes, tp_message_t **out_message);

/* `send`: one of the whole world's functions. */
static hr_status_t send_by(subset_t *subset, send_fn send, int to, uint32_t tag, const void *data,
                           size_t size_bytes, tp_message_t **out_message) {
  pthread_mutex_lock(&whole_lock);
  hr_status_t st = send(subset->whole, subset->members[to].rank, tag_to(subset, to, tag), data,
                        size_bytes, out_message);
  pthread_mutex_unlock(&whole_lock);
  return st;
}

static hr_status_t subset_send(tp_endpoint_t *endpoint, int to, uint32_t tag, const void *data,
                               size_t size_bytes, tp_message_t **out_message) {
  subset_t *subset = subset_of(endpoint);
  return send_by(subset, subset->whole->vtable->send, to, tag, data, size_bytes, out_message);
}

static hr_status_t subset_ssend(tp_endpoint_t *endpoint, int to, uint32_t tag, const void *data,
                                size_t size_bytes, tp_message_t **out_message) {
  subset_t *subset = subset_of(endpoint);
  return send_by(subset, subset->whole->vtable->ssend, to, tag, data, size_bytes, out_message);
}

static hr_status_t subset_recv(tp_endpoint_t *endpoint, int from, uint32_t tag, void *data,
                               size_t size_bytes, tp_message_t **out_message) {
  subset_t *subset = subset_of(endpoint);
  pthread_mutex_lock(&whole_lock);
  hr_status_t st =
      subset->whole->vtable->recv(subset->whole, subset->members[from].rank,
                                  tag_from(subset, from, tag), data, size_bytes, out_message);
  pthread_mutex_unlock(&whole_lock);
  return st;
}

static hr_status_t subset_test(tp_endpoint_t *endpoint, tp_message_t *message, bool *out_done) {
  subset_t *subset = subset_of(endpoint);
  pthread_mutex_lock(&whole_lock);
  hr_status_t st = subset->whole->vtable->test(subset->whole, message, out_done);
  pthread_mutex_unlock(&whole_lock);
  return st;
}

static hr_status_t subset_probe(tp_endpoint_t *endpoint, int from, uint32_t tag, bool *out_come) {
  subset_t *subset = subset_of(endpoint);
  pthread_mutex_lock(&whole_lock);
  hr_status_t st = subset->whole->vtable->probe(subset->whole, subset->members[from].rank,
                                                tag_from(subset, from, tag), out_come);
  pthread_mutex_unlock(&whole_lock);
  return st;
}

static void subset_cancel(tp_endpoint_t *endpoint, tp_message_t *message) {
  subset_t *subset = subset_of(endpoint);
  endpoint->desynchronized = true;
  pthread_mutex_lock(&whole_lock);
  subset->whole->vtable->cancel(subset->whole, message);
  pthread_mutex_unlock(&whole_lock);
}

/* Sleeps without the lock. MPI advances messages only inside its functions: a probe for any message
 * drives it. */
static void subset_backoff(tp_endpoint_t *endpoint, uint32_t polls) {
  bool come;
  bool is_far = endpoint->local_size < endpoint->world_size;
  if (is_far || polls % PUSH_POLLS == PUSH_POLLS - 1)
    hr_status_release(subset_probe(endpoint, endpoint->rank, 0, &come));
  tp_backoff(endpoint->oversubscribed, endpoint->local_size, polls);
}

/* The whole world continues, or ends separately. Other subsets of this process may close at the
 * same time. */
static void subset_close(tp_endpoint_t *endpoint, bool failed) {
  subset_t *subset = subset_of(endpoint);
  pthread_mutex_lock(&whole_lock);
  subset->whole->desynchronized |= endpoint->desynchronized || failed;
  pthread_mutex_unlock(&whole_lock);
  hr_free(subset);
}

static const tp_vtable_t subset_vtable = {.name = "subset",
                                          .send = subset_send,
                                          .recv = subset_recv,
                                          .ssend = subset_ssend,
                                          .test = subset_test,
                                          .probe = subset_probe,
                                          .cancel = subset_cancel,
                                          .backoff = subset_backoff,
                                          .close = subset_close};

static hr_status_t check_member(const tp_endpoint_t *whole, const tp_member_t *members, int k) {
  tp_member_t member = members[k];
  if (member.rank < 0 || member.rank >= whole->world_size)
    return hr_error(HR_INVALID, "part of a world lists rank %d, want ranks below %d", member.rank,
                    whole->world_size);
  if (member.lane < 0 || member.lane >= TP_LANES)
    return hr_error(HR_UNSUPPORTED, "part of a world lists thread %d of rank %d, want below %d",
                    member.lane, member.rank, TP_LANES);
  if (member.lane && whole->tag_bits < TP_LANE_TAG_BITS)
    return hr_error(HR_UNSUPPORTED,
                    "several threads of a process are ranks, and tags of %s have %d bits, want %d",
                    whole->vtable->name, whole->tag_bits, TP_LANE_TAG_BITS);
  for (int i = 0; i < k; i++)
    if (members[i].rank == member.rank && members[i].lane == member.lane)
      return hr_error(HR_INVALID, "part of a world lists thread %d of rank %d twice", member.lane,
                      member.rank);
  return NULL;
}

/* Members of this machine, if the whole world knows machines; *out_rank: those before this rank. */
static int count_locals(const tp_endpoint_t *whole, int count, const tp_member_t *members, int self,
                        int *out_rank) {
  const int *machine_of = whole->groups ? whole->groups->machine_of : NULL;
  int locals = 0;
  for (int k = 0; k < count; k++) {
    if (k == self) *out_rank = locals;
    locals += !machine_of || machine_of[members[k].rank] == machine_of[whole->rank];
  }
  return locals;
}

hr_status_t tp_subset_open(tp_endpoint_t *whole, int count, const tp_member_t *members, int self,
                           tp_endpoint_t **out_endpoint) {
  void *memory;
  for (int k = 0; k < count; k++) HR_TRY(check_member(whole, members, k));
  if (self < 0 || self >= count || members[self].rank != whole->rank)
    return hr_error(HR_INVALID, "rank %d is not member %d of the part", whole->rank, self);
  HR_TRY(hr_alloc_zeroed(sizeof(subset_t) + (size_t)count * sizeof *members, &memory));
  subset_t *subset = memory;
  subset->whole = whole;
  subset->lane = members[self].lane;
  for (int k = 0; k < count; k++) subset->members[k] = members[k];
  tp_endpoint_t *endpoint = &subset->endpoint;
  *endpoint = (tp_endpoint_t){.vtable = &subset_vtable,
                              .rank = self,
                              .world_size = count,
                              .tag_bits = TP_TAG_BITS,
                              .host = whole->host,
                              .oversubscribed = whole->oversubscribed,
                              .single_threaded = whole->single_threaded,
                              .shares_memory = whole->shares_memory};
  endpoint->local_size = count_locals(whole, count, members, self, &endpoint->local_rank);
  *out_endpoint = endpoint;
  return NULL;
}
