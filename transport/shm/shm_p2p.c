/* Point-to-point messages between processes of one machine: header slots in shared memory, a
 * lock-free inbox of each process, and three protocols for the payload.
 *
 *   sender                                        receiver
 *   ------                                        --------
 *   p2p_send: takes a slot, fills in the header,  p2p_recv: looks among unexpected messages; posts
 *     puts the payload where the receiver can       the receive if there is none
 *     read it, pushes the slot into the inbox     p2p_test: drains the inbox: each slot goes to its
 *   p2p_test: polls slot->state                     posted receive, or is queued as unexpected;
 *                                                   then reads the payload, sets slot->state
 *
 * Payload (choose_protocol): up to 208 bytes in the slot (inline); in shared memory already, or
 * small enough to be copied there (eager); else read by the receiver straight from the sender's
 * memory by cross-memory attach, as UCX and Open MPI do (rendezvous); where the kernel forbids
 * that, in a message over the fallback endpoint. Every byte is copied once, eager payloads twice.
 *
 * Inbox: a stack of many producers and one consumer. Senders push with compare-and-swap; the owner
 * takes the whole stack with one exchange and reverses it. The order of a sender's messages is thus
 * kept. Entries are never popped singly, so the ABA problem cannot occur: if the top changes and
 * changes back between a producer's load and its compare-and-swap, its link is still right.
 *
 * Memory orders: two chains carry all data between processes.
 *   header and payload   push_inbox (release)  ->  drain_inbox (acquire). Pushes are
 *                        read-modify-writes, so that each continues the release sequences of those
 *                        below it: one acquire sees the slots of all producers.
 *   outcome, and reuse   read_slot (release)   ->  test_send (acquire). The receiver's reads of
 *   of the memory        the payload precede the sender's next writes to it.
 * Slot states and their writers: shm_p2p_msg.h.
 *
 * Completion: a send of any size is done when its receive has read it (which makes each a
 * synchronous send), so that a sender never runs ahead of its receiver by more than its requests.
 * A dead peer is noticed by its file lock (tp_shm_is_alive), asked after some fruitless polls. */
#include "transport/shm/shm_p2p.h"

#include <sched.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "transport/core/backoff.h"
#include "transport/shm/shm_group.h"
#include "transport/shm/shm_p2p_msg.h"

#define YIELDS 8 /* polls before the first sleep: peers often arrive soon */
#define SLEEPS \
  480 /* a sleep is as long as tp_backoff's after so many polls; most are ended earlier */
#define RECALL_NS 50000 /* period of polls for the end of a read that can no longer be recalled */

static p2p_t *p2p_of(tp_endpoint_t *endpoint) { return (p2p_t *)endpoint; }

static hr_status_t peer_gone(const p2p_t *p2p, int rank) {
  return tp_shm_peer_failed(p2p->shm, rank, p2p->endpoint.host);
}

/* --- receiving --- */

static hr_status_t read_by_cma(const p2p_t *p2p, const tp_message_t *message,
                               const shm_msg_t *slot) {
  if (slot->from == p2p->endpoint.rank) {
    memmove(message->data, (const void *)(uintptr_t)slot->address, message->size_bytes);
    return NULL;
  }
  int error = tp_shm_read(p2p->shm, slot->from, message->data, slot->address, message->size_bytes);
  if (!error) return NULL;
  if (error == ESRCH) return peer_gone(p2p, slot->from);
  return hr_error(HR_UNAVAILABLE, "cannot read what rank %d sends: %s", slot->from,
                  strerror(error));
}

static hr_status_t read_payload(p2p_t *p2p, tp_message_t *message, const shm_msg_t *slot) {
  size_t size = message->size_bytes;
  switch (slot->protocol) {
    case MSG_INLINE:
      memcpy(message->data, slot->data, size);
      return NULL;
    case MSG_EAGER:
      tp_shm_copy(message->data, tp_shm_at(p2p->shm, slot->address), size,
                  tp_shm_streams(size, p2p->shm->local_size));
      return NULL;
    case MSG_RENDEZVOUS_CMA:
      return read_by_cma(p2p, message, slot);
    default:
      return NULL; /* MSG_FALLBACK: match_slot has posted its receive; test_fallback waits for it */
  }
}

static void cancel_fallback(p2p_t *p2p, tp_message_t *message) {
  if (message->fallback) p2p->fallback->vtable->cancel(p2p->fallback, message->fallback);
  message->fallback = NULL;
}

/* Assigns a message to its receive. A payload over the fallback endpoint is received from here on:
 * matching follows the order of sending, as that endpoint's messages of equal tag do, while slots
 * may be read in any order. */
static void match_slot(p2p_t *p2p, tp_message_t *message, shm_msg_t *slot) {
  message->slot = slot;
  if (slot->protocol != MSG_FALLBACK || slot->size_bytes != message->size_bytes) return;
  message->status =
      p2p->fallback->vtable->recv(p2p->fallback, message->peer, message->tag, message->data,
                                  message->size_bytes, &message->fallback);
}

/* Reads the payload, or records the reason of a refusal. Returns the slot's final state. */
static msg_state_t read_or_refuse(p2p_t *p2p, tp_message_t *message, shm_msg_t *slot) {
  if (slot->size_bytes != message->size_bytes) {
    message->status = hr_error(HR_DISAGREE, "rank %d sent %llu bytes, want %zu", slot->from,
                               (unsigned long long)slot->size_bytes, message->size_bytes);
    slot->wanted_bytes = message->size_bytes;
    return WRONG_SIZE;
  }
  if (message->size_bytes && !message->status) message->status = read_payload(p2p, message, slot);
  return message->status ? UNREADABLE : READ;
}

/* Wakes a process that may sleep until it has a message, or until its own has been read. */
static void wake(const p2p_t *p2p, int rank) {
  if (!p2p->endpoint.oversubscribed) return;
  atomic_thread_fence(memory_order_seq_cst);
  tp_shm_wake(p2p->shm, rank);
}

/* Consumes the matched message, unless its sender has cancelled it: the receive is then posted
 * again. */
static void read_slot(p2p_t *p2p, tp_message_t *message) {
  shm_msg_t *slot = message->slot;
  uint32_t sent = SENT;
  message->slot = NULL;
  /* Decides between this receiver and recall(). Only atomicity is needed: the header came with the
   * acquire in drain_inbox, and the sender writes nothing in state SENT. */
  if (!atomic_compare_exchange_strong(&slot->state, &sent, IN_READ)) {
    cancel_fallback(p2p, message);
    p2p_post_receive(p2p, message);
    return;
  }
  msg_state_t state = read_or_refuse(p2p, message, slot);
  message->arrived = true;
  /* Release: the payload has been read, and wanted_bytes written, before the sender sees the state
   * and reuses slot and payload. The sender owns the slot after this. */
  int sender = slot->from;
  atomic_store_explicit(&slot->state, state, memory_order_release);
  wake(p2p, sender);
}

/* The newest message is on top of the stack; reversed, the messages of each sender are in order of
 * sending. */
static uint64_t reverse_stack(const p2p_t *p2p, uint64_t top) {
  uint64_t reversed = 0;
  while (top) {
    shm_msg_t *slot = shm_msg_at(p2p, top);
    uint64_t below = slot->next;
    slot->next = reversed;
    reversed = top;
    top = below;
  }
  return reversed;
}

static void drain_inbox(p2p_t *p2p) {
  _Atomic uint64_t *inbox = &tp_shm_rank_state(p2p->shm, p2p->shm->my_local)->inbox;
  /* Relaxed: a hint, so that empty polls do not take the cache line away from the senders. */
  if (!atomic_load_explicit(inbox, memory_order_relaxed)) return;
  /* Acquire: pairs with the release of every push that this exchange takes. */
  uint64_t top = atomic_exchange_explicit(inbox, 0, memory_order_acquire);
  for (uint64_t offset = reverse_stack(p2p, top); offset;) {
    shm_msg_t *slot = shm_msg_at(p2p, offset);
    offset = slot->next; /* p2p_queue_unexpected overwrites it */
    tp_message_t *message = p2p_match_receive(p2p, slot->from, slot->tag);
    if (message)
      match_slot(p2p, message, slot);
    else
      p2p_queue_unexpected(p2p, slot);
  }
}

static hr_status_t p2p_recv(tp_endpoint_t *endpoint, int from, uint32_t tag, void *data,
                            size_t size_bytes, tp_message_t **out_message) {
  p2p_t *p2p = p2p_of(endpoint);
  tp_message_t *message;
  HR_TRY(p2p_message_new(p2p, &message));
  *message = (tp_message_t){.peer = from, .tag = tag, .data = data, .size_bytes = size_bytes};
  drain_inbox(p2p);
  shm_msg_t *slot = p2p_match_unexpected(p2p, from, tag, true);
  if (slot)
    match_slot(p2p, message, slot);
  else
    p2p_post_receive(p2p, message);
  *out_message = message;
  return NULL;
}

/* --- sending --- */

/* The cheapest protocol that can carry the payload; makes the eager copy if it is chosen. */
static msg_protocol_t choose_protocol(p2p_t *p2p, tp_message_t *message, bool is_shared) {
  if (message->size_bytes <= INLINE_BYTES) return MSG_INLINE;
  if (is_shared) return MSG_EAGER;
  message->eager_buffer = p2p_eager_new(p2p, message->data, message->size_bytes);
  if (message->eager_buffer) return MSG_EAGER;
  bool can_read = p2p->shm->reads_directly || message->peer == p2p->endpoint.rank;
  return can_read ? MSG_RENDEZVOUS_CMA : MSG_FALLBACK;
}

/* Makes the payload accessible to the receiver, and records its place in the slot. */
static hr_status_t expose_payload(p2p_t *p2p, tp_message_t *message, shm_msg_t *slot) {
  const void *data = message->data;
  bool is_shared = message->size_bytes > INLINE_BYTES && tp_shm_has(p2p->shm, data);
  slot->protocol = choose_protocol(p2p, message, is_shared);
  switch (slot->protocol) {
    case MSG_INLINE:
      if (message->size_bytes) memcpy(slot->data, data, message->size_bytes);
      return NULL;
    case MSG_EAGER:
      slot->address = is_shared ? tp_shm_offset(p2p->shm, data) : message->eager_buffer;
      return NULL;
    case MSG_RENDEZVOUS_CMA:
      slot->address = (uint64_t)(uintptr_t)data;
      return NULL;
    default:
      if (!p2p->fallback) return tp_shm_used_up(p2p->shm);
      return p2p->fallback->vtable->send(p2p->fallback, message->peer, message->tag, data,
                                         message->size_bytes, &message->fallback);
  }
}

static void push_inbox(p2p_t *p2p, shm_msg_t *slot, int to) {
  _Atomic uint64_t *inbox = &tp_shm_rank_state(p2p->shm, p2p->shm->local_of[to])->inbox;
  uint64_t offset = tp_shm_offset(p2p->shm, slot);
  /* Relaxed: a producer only links to the top and never follows it; a stale value makes the
   * compare-and-swap fail and reload it. */
  slot->next = atomic_load_explicit(inbox, memory_order_relaxed);
  /* Release: publishes the slot, its payload and its link. The receiver owns the slot after
   * success. */
  while (!atomic_compare_exchange_weak_explicit(inbox, &slot->next, offset, memory_order_release,
                                                memory_order_relaxed))
    continue;
  wake(p2p, to);
}

static hr_status_t p2p_send(tp_endpoint_t *endpoint, int to, uint32_t tag, const void *data,
                            size_t size_bytes, tp_message_t **out_message) {
  p2p_t *p2p = p2p_of(endpoint);
  tp_message_t *message;
  shm_msg_t *slot;
  HR_TRY(p2p_slot_new(p2p, &slot));
  hr_status_t st = p2p_message_new(p2p, &message);
  if (st) {
    p2p_slot_free(p2p, slot);
    return st;
  }
  *message = (tp_message_t){.peer = to,
                            .tag = tag,
                            .is_send = true,
                            .data = (char *)data,
                            .size_bytes = size_bytes,
                            .slot = slot};
  slot->tag = tag;
  slot->from = endpoint->rank;
  slot->size_bytes = size_bytes;
  /* Relaxed: push_inbox publishes it with the rest of the slot. */
  atomic_store_explicit(&slot->state, SENT, memory_order_relaxed);
  st = expose_payload(p2p, message, slot);
  if (st) {
    p2p_slot_free(p2p, slot);
    p2p_message_free(p2p, message);
    return st;
  }
  push_inbox(p2p, slot, to);
  *out_message = message;
  return NULL;
}

/* --- completion --- */

static hr_status_t test_fallback(p2p_t *p2p, tp_message_t *message, bool *out_done) {
  *out_done = true;
  if (!message->fallback) return NULL;
  hr_status_t st = p2p->fallback->vtable->test(p2p->fallback, message->fallback, out_done);
  if (st || *out_done) message->fallback = NULL;
  return st;
}

/* The sender's error for a final state of its slot. */
static hr_status_t send_error(const tp_message_t *message, uint32_t state) {
  if (state == READ) return NULL;
  if (state == UNREADABLE)
    return hr_error(HR_UNAVAILABLE, "rank %d cannot read what it is sent", message->peer);
  return hr_error(HR_DISAGREE, "%zu bytes sent to rank %d, which wants %llu", message->size_bytes,
                  message->peer, (unsigned long long)message->slot->wanted_bytes);
}

static hr_status_t test_send(p2p_t *p2p, tp_message_t *message, bool *out_done) {
  shm_msg_t *slot = message->slot;
  if (slot) {
    /* Acquire: pairs with the release in read_slot; wanted_bytes is readable, slot and payload may
     * be written again. */
    uint32_t state = atomic_load_explicit(&slot->state, memory_order_acquire);
    *out_done = false;
    if (state == SENT || state == IN_READ) return NULL;
    hr_status_t st = send_error(message, state);
    p2p_slot_free(p2p, slot);
    message->slot = NULL;
    if (st) return st;
  }
  return test_fallback(p2p, message, out_done);
}

static hr_status_t test_recv(p2p_t *p2p, tp_message_t *message, bool *out_done) {
  if (!message->arrived && !message->slot) drain_inbox(p2p);
  if (message->slot) read_slot(p2p, message);
  *out_done = false;
  if (!message->arrived) return NULL;
  hr_status_t st = message->status;
  message->status = NULL;
  return st ? st : test_fallback(p2p, message, out_done);
}

static hr_status_t test_message(p2p_t *p2p, tp_message_t *message, bool *out_done) {
  return message->is_send ? test_send(p2p, message, out_done) : test_recv(p2p, message, out_done);
}

static void p2p_cancel(tp_endpoint_t *endpoint, tp_message_t *message);

/* A peer found dead may have completed the transfer before it died: one more test decides. */
static hr_status_t p2p_test(tp_endpoint_t *endpoint, tp_message_t *message, bool *out_done) {
  p2p_t *p2p = p2p_of(endpoint);
  hr_status_t st = test_message(p2p, message, out_done);
  if (!st && !*out_done && tp_shm_watch_is_due(&message->watch) &&
      !tp_shm_is_alive(p2p->shm, message->peer)) {
    st = test_message(p2p, message, out_done);
    if (!st && !*out_done) st = peer_gone(p2p, message->peer);
  }
  if (st)
    p2p_cancel(endpoint, message);
  else if (*out_done)
    p2p_message_free(p2p, message);
  *out_done = *out_done || st;
  return st;
}

static hr_status_t p2p_probe(tp_endpoint_t *endpoint, int from, uint32_t tag, bool *out_come) {
  p2p_t *p2p = p2p_of(endpoint);
  drain_inbox(p2p);
  *out_come = p2p_match_unexpected(p2p, from, tag, false) != NULL;
  return NULL;
}

/* Ends a send so that the receiver no longer reads the payload: the slot is recalled, or, if its
 * receiver has begun to read, this waits for the end of the read or of the receiver. A recalled
 * slot stays in the receiver's queue and is not reused. */
static void recall(p2p_t *p2p, tp_message_t *message) {
  uint32_t sent = SENT;
  shm_msg_t *slot = message->slot;
  /* The counterpart of the decision in read_slot; failure means that the receiver was first. */
  if (!slot || atomic_compare_exchange_strong(&slot->state, &sent, RECALLED)) return;
  /* Acquire: the payload has been read before its owner writes or frees it. */
  while (atomic_load_explicit(&slot->state, memory_order_acquire) == IN_READ &&
         tp_shm_is_alive(p2p->shm, message->peer))
    nanosleep(&(struct timespec){.tv_nsec = RECALL_NS}, NULL);
}

static void p2p_cancel(tp_endpoint_t *endpoint, tp_message_t *message) {
  p2p_t *p2p = p2p_of(endpoint);
  (p2p->fallback ? p2p->fallback : endpoint)->desynchronized = true;
  if (message->is_send)
    recall(p2p, message);
  else if (!message->arrived && !message->slot)
    p2p_unpost_receive(p2p, message);
  cancel_fallback(p2p, message);
  hr_status_release(message->status);
  p2p_message_free(p2p, message);
}

static void p2p_backoff(tp_endpoint_t *endpoint, uint32_t polls) {
  p2p_t *p2p = p2p_of(endpoint);
  if (p2p->fallback)
    p2p->fallback->vtable->backoff(p2p->fallback, polls);
  else if (endpoint->oversubscribed && polls < YIELDS)
    sched_yield();
  else if (endpoint->oversubscribed)
    tp_shm_sleep(p2p->shm, tp_backoff_ns(endpoint->local_size, SLEEPS));
  else
    tp_backoff(false, endpoint->local_size, polls);
}

/* --- opening and closing --- */

static bool has_left(const tp_shm_t *shm, int local) {
  return atomic_load(&tp_shm_rank_state(shm, local)->state) >= TP_SHM_FAILED;
}

/* Waits until all ranks have left, failed or died: a peer that is still opening the memory, or
 * testing a transfer with this rank, would mistake an earlier end for a failure. After a failed
 * transfer peers may wait for a message that never comes, so this rank does not wait for them. */
static void leave_world(p2p_t *p2p) {
  tp_shm_t *shm = p2p->shm;
  atomic_store(&tp_shm_rank_state(shm, shm->my_local)->state, TP_SHM_LEFT);
  for (int rank = 0; rank < p2p->endpoint.world_size && !p2p->endpoint.desynchronized; rank++) {
    tp_shm_watch_t watch = {0};
    for (uint32_t polls = 0; !has_left(shm, shm->local_of[rank]); polls++) {
      if (tp_shm_watch_is_due(&watch) && !tp_shm_is_alive(shm, rank)) break;
      tp_backoff(p2p->endpoint.oversubscribed, p2p->endpoint.local_size, polls);
    }
  }
}

/* Peers see the state FAILED and end with CANCELLED. */
static void note_failure(const p2p_t *p2p) {
  atomic_store(&tp_shm_rank_state(p2p->shm, p2p->shm->my_local)->state, TP_SHM_FAILED);
}

/* The parent reports the exit code. */
static _Noreturn void fail_and_exit(const p2p_t *p2p) {
  int code = p2p->endpoint.exit_code;
  note_failure(p2p);
  fflush(NULL);
  _exit(code ? code : 1);
}

static void p2p_close(tp_endpoint_t *endpoint, bool failed) {
  p2p_t *p2p = p2p_of(endpoint);
  if (!p2p->fallback && failed && !endpoint->defers_error_report) fail_and_exit(p2p);
  if (!p2p->fallback && failed) note_failure(p2p);
  if (!p2p->fallback && !failed) leave_world(p2p);
  p2p_pools_free(p2p);
  tp_shm_release(p2p->shm);
  hr_free(p2p);
}

static const tp_vtable_t p2p_vtable = {.name = "shm",
                                       .send = p2p_send,
                                       .ssend = p2p_send,
                                       .recv = p2p_recv,
                                       .test = p2p_test,
                                       .probe = p2p_probe,
                                       .cancel = p2p_cancel,
                                       .backoff = p2p_backoff,
                                       .close = p2p_close};

hr_status_t tp_shm_p2p_open(tp_shm_t *shm, tp_endpoint_t *fallback, const tp_endpoint_t *identity,
                            tp_endpoint_t **out_endpoint) {
  void *memory;
  HR_TRY(hr_alloc_zeroed(sizeof(p2p_t), &memory));
  p2p_t *p2p = memory;
  p2p->endpoint = *identity;
  p2p->endpoint.vtable = &p2p_vtable;
  p2p->endpoint.groups = NULL;
  p2p->fallback = fallback;
  p2p->shm = shm;
  tp_shm_retain(shm);
  *out_endpoint = &p2p->endpoint;
  return NULL;
}

void tp_shm_p2p_close(tp_endpoint_t *endpoint) {
  if (endpoint) endpoint->vtable->close(endpoint, false);
}
