/* Requests: their pool, rounds of messages, progress, completion.
 *
 * A request advances (advance_request) in one of two ways: by rounds, in which the messages posted
 * by the algorithm are awaited in order and hooks.next posts the next round; or by polling an
 * algorithm in shared memory (hooks.poll). All active requests are in a list, which every wait
 * advances, so that a rank that waits for one transfer still does its part of the others. A failure
 * cancels the request's messages; its status is kept until the request is waited for.
 * All of this runs with the lock of progress.h held. `completion.over` alone may be read
 * without. */
#include "transport/core/request.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "transport/core/progress.h"
#include "transport/shm/shm_group.h"

/* --- random delays, for tests --- */

static uint32_t delay_most_ms;

void tp_delay_starts(uint32_t most_ms) { delay_most_ms = most_ms; }

static void delay_start(int rank) {
  static _Thread_local unsigned seed;
  if (!seed) seed = (unsigned)getpid() * 31 + (unsigned)rank + 1;
  uint64_t us = (uint64_t)delay_most_ms * 1000 * (uint64_t)rand_r(&seed) / RAND_MAX;
  nanosleep(&(struct timespec){(time_t)(us / 1000000), (long)(us % 1000000) * 1000}, NULL);
}

/* --- the pool --- */

/* Prepares a request for a new transfer; it keeps its memory. */
static void clear_request(tp_request_t *request, tp_groups_t *groups, tp_group_t *group) {
  tp_rounds_t rounds = {.posted = request->rounds.posted,
                        .posted_capacity = request->rounds.posted_capacity};
  tp_request_memory_t memory = request->memory;
  hr_clear(request, offsetof(tp_request_t, shm_ops));
  request->shm_ops[0].group = NULL;
  request->shm_ops[1].group = NULL;
  request->groups = groups;
  request->group = group;
  request->rounds = rounds;
  request->memory = memory;
  request->tag = TP_TAG_CLASS_PERMUTE;
}

static hr_status_t acquire_request(tp_groups_t *groups, tp_group_t *group,
                                   tp_request_t **out_request) {
  tp_request_t *request = groups->free_requests;
  if (delay_most_ms) delay_start(groups->endpoint->rank);
  if (request) {
    groups->free_requests = request->links.next_free;
  } else {
    void *memory;
    HR_TRY(hr_alloc_zeroed(sizeof *request, &memory));
    request = memory;
  }
  clear_request(request, groups, group);
  request->links.next_active = groups->active;
  request->links.link = &groups->active;
  if (request->links.next_active)
    request->links.next_active->links.link = &request->links.next_active;
  groups->active = request;
  if (group) request->tag = group->tag_base | group->transfers++ % (1u << TP_TAG_COUNT_BITS);
  *out_request = request;
  return NULL;
}

hr_status_t tp_request_new(tp_groups_t *groups, tp_group_t *group, tp_request_t **out_request) {
  tp_progress_lock(groups);
  hr_status_t st = acquire_request(groups, group, out_request);
  if (st) tp_progress_unlock(groups);
  return st;
}

static void advance_request(tp_request_t *request);

/* Runs the part of a shared-memory transfer that needs no other rank, since peers may already wait
 * for it. A failure is reported when the transfer is waited for. */
static void advance_at_start(tp_request_t *request) {
  tp_groups_t *groups = request->groups;
  bool was_polling = groups->is_polling;
  if (!request->hooks.poll) return;
  groups->is_polling = true;
  advance_request(request);
  groups->is_polling = was_polling;
}

hr_status_t tp_request_started(hr_status_t st, tp_request_t *request, tp_request_t **out_request) {
  tp_groups_t *groups = request->groups;
  if (st)
    tp_request_cancel(request);
  else
    *out_request = request;
  if (!st) advance_at_start(request);
  tp_progress_unlock(groups);
  return st;
}

static void request_free(tp_request_t *request) {
  *request->links.link = request->links.next_active;
  if (request->links.next_active) request->links.next_active->links.link = request->links.link;
  request->links.next_free = request->groups->free_requests;
  request->groups->free_requests = request;
}

void tp_requests_deinit(tp_groups_t *groups) {
  for (tp_request_t *request; (request = groups->free_requests);) {
    groups->free_requests = request->links.next_free;
    hr_free(request->rounds.posted);
    hr_free(request->memory.scratch.data);
    hr_free(request->memory.gathered.data);
    hr_free(request);
  }
}

hr_status_t tp_space_reserve(tp_space_t *space, size_t count, size_t each) {
  size_t bytes;
  HR_TRY(hr_size_product(count, each, &bytes));
  if (bytes <= space->size_bytes) return NULL;
  void *memory;
  HR_TRY(hr_alloc(bytes, &memory));
  hr_free(space->data);
  *space = (tp_space_t){memory, bytes};
  return NULL;
}

/* --- rounds --- */

static hr_status_t reserve_posted(tp_request_t *request) {
  if (request->rounds.posted_count < request->rounds.posted_capacity) return NULL;
  int capacity = request->rounds.posted_capacity ? 2 * request->rounds.posted_capacity : 16;
  void *memory = request->rounds.posted;
  HR_TRY(hr_realloc(&memory, (size_t)request->rounds.posted_count * sizeof(tp_posted_t),
                    (size_t)capacity * sizeof(tp_posted_t)));
  request->rounds.posted = memory;
  request->rounds.posted_capacity = capacity;
  return NULL;
}

/* The endpoint for a rank: messages to ranks of this machine go through shared memory. */
static tp_endpoint_t *endpoint_to(const tp_request_t *request, int rank) {
  const tp_groups_t *groups = request->groups;
  return groups->p2p && groups->shm->local_of[rank] >= 0 ? groups->p2p : groups->endpoint;
}

typedef hr_status_t (*send_fn)(tp_endpoint_t *endpoint, int to, uint32_t tag, const void *data,
                               size_t size_bytes, tp_message_t **out_message);

static bool has_check_sum(const tp_request_t *request, size_t size_bytes) {
  return request->groups->checks_messages && size_bytes;
}

/* Adds a posted checksum to the request's list, or frees it after a failure. */
static hr_status_t keep_posted_sum(tp_request_t *request, const tp_posted_t *posted,
                                   hr_status_t st) {
  if (st)
    hr_free(posted->check);
  else
    request->rounds.posted[request->rounds.posted_count++] = *posted;
  return st;
}

/* Sends the checksum of the previous message, with the same tag: the two match in order. */
static hr_status_t post_sum_send(tp_request_t *request, tp_endpoint_t *endpoint, int rank,
                                 const void *data, size_t size_bytes) {
  tp_posted_t posted = {.endpoint = endpoint, .part = -1};
  HR_TRY(reserve_posted(request));
  HR_TRY(tp_message_sum_new(rank, data, size_bytes, &posted.check));
  posted.check->sum = tp_message_sum(data, size_bytes);
  hr_status_t st = endpoint->vtable->send(endpoint, rank, request->tag, &posted.check->sum,
                                          sizeof posted.check->sum, &posted.message);
  return keep_posted_sum(request, &posted, st);
}

/* Receives the checksum of the previous message; `part` has arrived when both have. */
static hr_status_t post_sum_recv(tp_request_t *request, tp_endpoint_t *endpoint, int rank,
                                 const void *data, size_t size_bytes, int part) {
  tp_posted_t posted = {.endpoint = endpoint, .part = part};
  HR_TRY(reserve_posted(request));
  HR_TRY(tp_message_sum_new(rank, data, size_bytes, &posted.check));
  posted.check->is_received = true;
  hr_status_t st = endpoint->vtable->recv(endpoint, rank, request->tag, &posted.check->sum,
                                          sizeof posted.check->sum, &posted.message);
  return keep_posted_sum(request, &posted, st);
}

static hr_status_t post_send(tp_request_t *request, tp_endpoint_t *endpoint, send_fn send, int rank,
                             const void *data, size_t size_bytes) {
  tp_posted_t posted = {.endpoint = endpoint, .part = -1};
  HR_TRY(reserve_posted(request));
  HR_TRY(send(endpoint, rank, request->tag, data, size_bytes, &posted.message));
  request->rounds.posted[request->rounds.posted_count++] = posted;
  if (!has_check_sum(request, size_bytes)) return NULL;
  return post_sum_send(request, endpoint, rank, data, size_bytes);
}

static hr_status_t post_recv(tp_request_t *request, int rank, void *data, size_t size_bytes,
                             int part) {
  bool checks = has_check_sum(request, size_bytes);
  tp_posted_t posted = {.endpoint = endpoint_to(request, rank),
                        .part = checks ? -1 : part,
                        .received = data,
                        .size_bytes = size_bytes};
  HR_TRY(reserve_posted(request));
  HR_TRY(posted.endpoint->vtable->recv(posted.endpoint, rank, request->tag, data, size_bytes,
                                       &posted.message));
  request->rounds.posted[request->rounds.posted_count++] = posted;
  if (!checks) return NULL;
  return post_sum_recv(request, posted.endpoint, rank, data, size_bytes, part);
}

hr_status_t tp_request_send_to(tp_request_t *request, int rank, const void *data,
                               size_t size_bytes) {
  tp_endpoint_t *endpoint = endpoint_to(request, rank);
  return size_bytes ? post_send(request, endpoint, endpoint->vtable->send, rank, data, size_bytes)
                    : NULL;
}

hr_status_t tp_request_ssend(tp_request_t *request, int rank, const void *data, size_t size_bytes) {
  tp_endpoint_t *endpoint = endpoint_to(request, rank);
  return post_send(request, endpoint, endpoint->vtable->ssend, rank, data, size_bytes);
}

hr_status_t tp_request_recv_ssend(tp_request_t *request, int rank, void *data, size_t size_bytes) {
  return post_recv(request, rank, data, size_bytes, -1);
}

hr_status_t tp_request_recv_from(tp_request_t *request, int rank, void *data, size_t size_bytes,
                                 int part) {
  return size_bytes ? post_recv(request, rank, data, size_bytes, part) : NULL;
}

hr_status_t tp_request_send(tp_request_t *request, int member, const void *data,
                            size_t size_bytes) {
  return tp_request_send_to(request, request->group->ranks[member], data, size_bytes);
}

hr_status_t tp_request_recv(tp_request_t *request, int member, void *data, size_t size_bytes,
                            int part) {
  return tp_request_recv_from(request, request->group->ranks[member], data, size_bytes, part);
}

/* Handles a message that has arrived: a payload, which fault injection may damage, or a
 * checksum. */
static hr_status_t take_message(const tp_posted_t *posted) {
  if (posted->received) tp_flip_received(posted->received, posted->size_bytes);
  return posted->check ? tp_message_sum_compare(posted->check) : NULL;
}

/* Tests the messages of this round in order; *out_done: all have arrived. */
static hr_status_t test_round(tp_request_t *request, bool *out_done) {
  while (request->rounds.awaited < request->rounds.posted_count) {
    tp_posted_t *posted = &request->rounds.posted[request->rounds.awaited];
    bool arrived = false;
    hr_status_t st = posted->endpoint->vtable->test(posted->endpoint, posted->message, &arrived);
    if (!st && !arrived) {
      *out_done = false;
      return NULL;
    }
    request->rounds.awaited++;
    request->groups->progress_count++;
    if (!st) st = take_message(posted);
    hr_free(posted->check);
    HR_TRY(st);
    if (posted->part >= 0 && request->hooks.arrived)
      HR_TRY(request->hooks.arrived(request, posted->part));
  }
  request->rounds.awaited = 0;
  request->rounds.posted_count = 0;
  *out_done = true;
  return NULL;
}

static hr_status_t advance_rounds(tp_request_t *request, bool *out_done) {
  if (request->hooks.poll) {
    bool shared;
    HR_TRY(request->hooks.poll(request, &shared));
    HR_TRY(test_round(request, out_done));
    *out_done = *out_done && shared;
    return *out_done && request->hooks.finish ? request->hooks.finish(request) : NULL;
  }
  for (;;) {
    HR_TRY(test_round(request, out_done));
    if (!*out_done) return NULL;
    if (!request->hooks.next) return request->hooks.finish ? request->hooks.finish(request) : NULL;
    request->rounds.number++;
    HR_TRY(request->hooks.next(request));
  }
}

static void cancel_messages(tp_request_t *request) {
  for (int i = request->rounds.awaited; i < request->rounds.posted_count; i++) {
    tp_posted_t *posted = &request->rounds.posted[i];
    posted->endpoint->vtable->cancel(posted->endpoint, posted->message);
    hr_free(posted->check);
  }
  request->rounds.awaited = 0;
  request->rounds.posted_count = 0;
  tp_shm_cancel(request);
  if (request->state.nested) tp_request_cancel(request->state.nested);
  request->state.nested = NULL;
}

uint64_t tp_request_over_ns(const tp_request_t *request) {
  return request->completion.over ? request->completion.over_ns : 0;
}

/* Advances a request without blocking. Release order: threads that read `over` without the lock see
 * status and time. */
static void advance_request(tp_request_t *request) {
  bool over = false;
  if (request->completion.over) return;
  request->completion.status = advance_rounds(request, &over);
  if (request->completion.status) cancel_messages(request);
  if (!over && !request->completion.status) return;
  if (request->groups->notes_times) request->completion.over_ns = hr_clock_ns();
  atomic_store_explicit(&request->completion.over, true, memory_order_release);
}

static hr_status_t test_request(tp_request_t *request, bool *out_done) {
  advance_request(request);
  *out_done = request->completion.over;
  if (!request->completion.over) return NULL;
  hr_status_t st = request->completion.status;
  request->completion.status = NULL;
  request_free(request);
  return st;
}

hr_status_t tp_request_test(tp_request_t *request, bool *out_done) {
  tp_groups_t *groups = request->groups;
  tp_progress_lock(groups);
  hr_status_t st = test_request(request, out_done);
  tp_progress_unlock(groups);
  return st;
}

void tp_request_cancel(tp_request_t *request) {
  if (!request) return;
  tp_groups_t *groups = request->groups;
  tp_progress_lock(groups);
  cancel_messages(request);
  hr_status_release(request->completion.status);
  request->completion.status = NULL;
  request_free(request);
  tp_progress_unlock(groups);
}

void tp_requests_progress_from(tp_groups_t *groups, bool endpoint_thread_only) {
  for (tp_request_t *request = groups->active; request; request = request->links.next_active)
    if (endpoint_thread_only || !request->endpoint_thread_only) advance_request(request);
}

void tp_requests_poll(tp_groups_t *groups) {
  if (groups->progress) return;
  groups->is_polling = true;
  tp_requests_progress_from(groups, true);
  groups->is_polling = false;
}

static hr_status_t wait_for(tp_request_t *request) {
  tp_groups_t *groups = request->groups;
  tp_endpoint_t *endpoint = groups->endpoint;
  bool done = false;
  for (uint32_t polls = 0;; polls++) {
    HR_TRY(test_request(request, &done));
    if (done) return NULL;
    hr_status_t st =
        endpoint->interrupted ? endpoint->interrupted(endpoint->interrupted_context) : NULL;
    if (st) {
      tp_request_cancel(request);
      return st;
    }
    tp_requests_progress_from(groups, true);
    endpoint->vtable->backoff(endpoint, polls);
  }
}

hr_status_t tp_request_wait(tp_request_t *request) {
  if (!request) return NULL;
  tp_groups_t *groups = request->groups;
  tp_progress_lock(groups);
  hr_status_t st = wait_for(request);
  tp_progress_unlock(groups);
  return st;
}
