/* All ranks are threads of one process. A send and a receive match when the second of them is
 * posted: the thread that posts it copies the bytes from the sender's memory to the receiver's,
 * outside the lock, and wakes the other. A waiting rank sleeps on its own condition variable, so
 * that idle ranks cost nothing.
 *
 *   WAITING --match--> COPYING --copied--> DONE
 *      |        \--sizes differ-----------> WRONG_SIZE
 *      +--peer closed, or cancelled: unlinked and freed
 *
 * All states are written with world->lock held. In state COPYING neither message may be freed. */
#include <pthread.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/mem.h"
#include "transport/core/transport.h"

#define SLEEP_MS 5 /* longest sleep of a waiting rank, in ms; it then checks for interruption */

typedef enum message_state { WAITING, COPYING, DONE, WRONG_SIZE } message_state_t;

struct tp_message {
  tp_message_t *next; /* in its rank's list of unmatched messages, or in the free list */
  int peer;
  uint32_t tag;
  bool is_send;
  message_state_t state;
  char *data;
  size_t size_bytes, peer_size_bytes;
};

/* A singly linked queue; `last` is the link to append to. */
typedef struct message_list {
  tp_message_t *first, **last;
} message_list_t;

typedef struct self_world self_world_t;
/* One rank's side. `events` counts the rank's events, so that no wake-up is lost between a test and
 * the sleep that follows it. */
typedef struct self_rank {
  tp_endpoint_t endpoint; /* first member: a pointer to it is a pointer to self_rank_t */
  self_world_t *world;
  pthread_cond_t changed;
  uint64_t events, seen_events;
  bool closed;
  message_list_t receives; /* unmatched receives of this rank, in order of posting */
  message_list_t sends;    /* unmatched sends, likewise */
  tp_message_t *free_messages;
} self_rank_t;

/* All ranks; freed by the last one that closes. */
struct self_world {
  pthread_mutex_t lock; /* guards everything but endpoints and payloads */
  int size, open_count;
  int failed_rank; /* -1: none */
  self_rank_t ranks[];
};

/* The endpoint is the first member. */
static self_rank_t *rank_of(tp_endpoint_t *endpoint) { return (self_rank_t *)endpoint; }

static void list_init(message_list_t *list) {
  list->first = NULL;
  list->last = &list->first;
}

static void list_append(message_list_t *list, tp_message_t *message) {
  message->next = NULL;
  *list->last = message;
  list->last = &message->next;
}

/* O(length); no effect if the message is not in the list. */
static void list_remove(message_list_t *list, tp_message_t *message) {
  tp_message_t **link = &list->first;
  while (*link && *link != message) link = &(*link)->next;
  if (!*link) return;
  *link = message->next;
  if (list->last == &message->next) list->last = link;
}

/* The oldest message of this peer and tag: messages match in the order of posting. */
static tp_message_t *list_find(const message_list_t *list, int peer, uint32_t tag) {
  tp_message_t *message = list->first;
  while (message && (message->peer != peer || message->tag != tag)) message = message->next;
  return message;
}

static message_list_t *list_of(self_rank_t *rank, bool is_send) {
  return is_send ? &rank->sends : &rank->receives;
}

/* Called with the lock held. Only the rank itself waits on its condition, so one signal is
 * enough. */
static void wake(self_rank_t *rank) {
  rank->events++;
  pthread_cond_signal(&rank->changed);
}

/* Called with the lock held, which is released while the payload is copied. Both messages stay
 * COPYING meanwhile, so neither rank frees its memory. If sizes differ nothing is copied, and both
 * sides get DISAGREE. */
static void copy_between(self_world_t *world, tp_message_t *send, tp_message_t *recv) {
  send->peer_size_bytes = recv->size_bytes;
  recv->peer_size_bytes = send->size_bytes;
  message_state_t end = send->size_bytes == recv->size_bytes ? DONE : WRONG_SIZE;
  send->state = COPYING;
  recv->state = COPYING;
  if (end == DONE && send->size_bytes) {
    pthread_mutex_unlock(&world->lock);
    memmove(recv->data, send->data, send->size_bytes);
    pthread_mutex_lock(&world->lock);
  }
  send->state = end;
  recv->state = end;
}

/* Messages are recycled per rank: only its own thread posts and frees them, so no lock is
 * needed. */
static hr_status_t message_new(self_rank_t *rank, tp_message_t **out_message) {
  tp_message_t *message = rank->free_messages;
  if (message) {
    rank->free_messages = message->next;
  } else {
    void *memory;
    HR_TRY(hr_alloc(sizeof *message, &memory));
    message = memory;
  }
  *out_message = message;
  return NULL;
}

static void message_free(self_rank_t *rank, tp_message_t *message) {
  message->next = rank->free_messages;
  rank->free_messages = message;
}

/* Matches the oldest posted counterpart or queues the message. The poster always makes the copy;
 * its peer learns of it by the state and a wake-up. */
static hr_status_t post(tp_endpoint_t *endpoint, bool is_send, int peer, uint32_t tag,
                        const void *data, size_t size_bytes, tp_message_t **out_message) {
  self_rank_t *rank = rank_of(endpoint);
  self_world_t *world = rank->world;
  hr_assert(peer >= 0 && peer < world->size);
  tp_message_t *message;
  HR_TRY(message_new(rank, &message));
  *message = (tp_message_t){.peer = peer,
                            .tag = tag,
                            .is_send = is_send,
                            .state = WAITING,
                            .data = (char *)data,
                            .size_bytes = size_bytes};
  self_rank_t *other = &world->ranks[peer];
  pthread_mutex_lock(&world->lock);
  message_list_t *waiting = list_of(other, !is_send);
  tp_message_t *match = list_find(waiting, endpoint->rank, tag);
  if (match) {
    list_remove(waiting, match);
    if (is_send)
      copy_between(world, message, match);
    else
      copy_between(world, match, message);
    wake(other);
  } else {
    list_append(list_of(rank, is_send), message);
  }
  pthread_mutex_unlock(&world->lock);
  *out_message = message;
  return NULL;
}

static hr_status_t self_send(tp_endpoint_t *endpoint, int to, uint32_t tag, const void *data,
                             size_t size_bytes, tp_message_t **out_message) {
  return post(endpoint, true, to, tag, data, size_bytes, out_message);
}

static hr_status_t self_recv(tp_endpoint_t *endpoint, int from, uint32_t tag, void *data,
                             size_t size_bytes, tp_message_t **out_message) {
  return post(endpoint, false, from, tag, data, size_bytes, out_message);
}

/* The result of a message in a final state, or of one whose peer has ended. Called with the lock
 * held. */
static hr_status_t outcome(const self_world_t *world, const tp_message_t *message) {
  if (message->state == DONE) return NULL;
  if (message->state == WRONG_SIZE)
    return hr_error(HR_DISAGREE, "%zu bytes %s rank %d, which %s %zu", message->size_bytes,
                    message->is_send ? "sent to" : "wanted from", message->peer,
                    message->is_send ? "wants" : "sent", message->peer_size_bytes);
  if (world->failed_rank >= 0)
    return hr_error(HR_CANCELLED, "because rank %d failed", world->failed_rank);
  return hr_error(HR_UNAVAILABLE, "rank %d has ended", message->peer);
}

/* A peer that has closed, or a rank that failed, ends a message that is still WAITING. A final
 * state frees the message. */
static hr_status_t self_test(tp_endpoint_t *endpoint, tp_message_t *message, bool *out_done) {
  self_rank_t *rank = rank_of(endpoint);
  self_world_t *world = rank->world;
  pthread_mutex_lock(&world->lock);
  bool peer_is_gone = world->failed_rank >= 0 || world->ranks[message->peer].closed;
  if (message->state == COPYING || (message->state == WAITING && !peer_is_gone)) {
    pthread_mutex_unlock(&world->lock);
    *out_done = false;
    return NULL;
  }
  if (message->state == WAITING) list_remove(list_of(rank, message->is_send), message);
  hr_status_t st = outcome(world, message);
  pthread_mutex_unlock(&world->lock);
  message_free(rank, message);
  *out_done = true;
  return st;
}

/* Only unmatched sends are listed; a matched send already has a receive. */
static hr_status_t self_probe(tp_endpoint_t *endpoint, int from, uint32_t tag, bool *out_come) {
  self_world_t *world = rank_of(endpoint)->world;
  pthread_mutex_lock(&world->lock);
  *out_come = list_find(&world->ranks[from].sends, endpoint->rank, tag) != NULL;
  pthread_mutex_unlock(&world->lock);
  return NULL;
}

/* Waits for a copy under way, as its memory must stay valid. */
static void self_cancel(tp_endpoint_t *endpoint, tp_message_t *message) {
  self_rank_t *rank = rank_of(endpoint);
  self_world_t *world = rank->world;
  pthread_mutex_lock(&world->lock);
  while (message->state == COPYING) pthread_cond_wait(&rank->changed, &world->lock);
  if (message->state == WAITING) list_remove(list_of(rank, message->is_send), message);
  pthread_mutex_unlock(&world->lock);
  message_free(rank, message);
}

/* Sleeps unless an event has come since the last call; at most SLEEP_MS, to notice interrupts. */
static void self_backoff(tp_endpoint_t *endpoint, uint32_t polls) {
  (void)polls;
  self_rank_t *rank = rank_of(endpoint);
  struct timespec until = hr_clock_deadline(CLOCK_MONOTONIC, SLEEP_MS);
  pthread_mutex_lock(&rank->world->lock);
  if (rank->events == rank->seen_events)
    pthread_cond_timedwait(&rank->changed, &rank->world->lock, &until);
  rank->seen_events = rank->events;
  pthread_mutex_unlock(&rank->world->lock);
}

static void world_free(self_world_t *world) {
  for (int r = 0; r < world->size; r++) {
    self_rank_t *rank = &world->ranks[r];
    for (tp_message_t *message; (message = rank->free_messages);) {
      rank->free_messages = message->next;
      hr_free(message);
    }
    pthread_cond_destroy(&rank->changed);
  }
  pthread_mutex_destroy(&world->lock);
  hr_free(world);
}

/* Wakes all ranks, as their waits for this one end. The last rank to close frees the world. */
static void self_close(tp_endpoint_t *endpoint, bool failed) {
  self_rank_t *rank = rank_of(endpoint);
  self_world_t *world = rank->world;
  pthread_mutex_lock(&world->lock);
  rank->closed = true;
  if (failed && world->failed_rank < 0) world->failed_rank = endpoint->rank;
  bool last = --world->open_count == 0;
  for (int r = 0; r < world->size; r++) wake(&world->ranks[r]);
  pthread_mutex_unlock(&world->lock);
  if (last) world_free(world);
}

/* Sends complete only when matched, so send and synchronous send are the same. */
static const tp_vtable_t self_vtable = {.name = "self",
                                        .send = self_send,
                                        .recv = self_recv,
                                        .ssend = self_send,
                                        .test = self_test,
                                        .probe = self_probe,
                                        .cancel = self_cancel,
                                        .backoff = self_backoff,
                                        .close = self_close};

static void rank_init(self_world_t *world, int number) {
  self_rank_t *rank = &world->ranks[number];
  rank->endpoint = (tp_endpoint_t){.vtable = &self_vtable,
                                   .rank = number,
                                   .world_size = world->size,
                                   .tag_bits = 31,
                                   .host = "this process",
                                   .local_rank = number,
                                   .local_size = world->size};
  rank->world = world;
  list_init(&rank->receives);
  list_init(&rank->sends);
  pthread_condattr_t attributes;
  pthread_condattr_init(&attributes);
  pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  pthread_cond_init(&rank->changed, &attributes);
  pthread_condattr_destroy(&attributes);
}

/* One allocation holds the world and its ranks. */
hr_status_t tp_self_open(int world_size, tp_endpoint_t **endpoints) {
  hr_assert(world_size > 0);
  size_t bytes;
  HR_TRY(hr_size_product((size_t)world_size, sizeof(self_rank_t), &bytes));
  void *memory;
  HR_TRY(hr_alloc_zeroed(sizeof(self_world_t) + bytes, &memory));
  self_world_t *world = memory;
  world->size = world_size;
  world->open_count = world_size;
  world->failed_rank = -1;
  pthread_mutex_init(&world->lock, NULL);
  for (int r = 0; r < world_size; r++) {
    rank_init(world, r);
    endpoints[r] = &world->ranks[r].endpoint;
  }
  return NULL;
}

hr_status_t tp_single_open(tp_endpoint_t **out_endpoint) { return tp_self_open(1, out_endpoint); }
