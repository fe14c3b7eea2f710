#include "transport/shm/shm_p2p.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/vec.h"
#include "transport/core/backoff.h"
#include "transport/shm/shm_group.h"

#define INLINE_BYTES 208 /* that fit into a message slot */
#define MSGS_AT_ONCE 64  /* are made */
#define EAGER_CLASSES 3
#define BUCKETS 512
/* Copying so few bytes into shared memory costs less than having the kernel read them. */
static const size_t eager_bytes[EAGER_CLASSES] = {4 << 10, 16 << 10, 64 << 10};
#define RECALL_NS 50000

/* Written by the sender before SENT, from then on by the receiver until it is the sender's again:
 * READ, and what ends a transfer otherwise. */
typedef enum msg_state { SENT, IN_READ, READ, WRONG_SIZE, UNREADABLE, RECALLED } msg_state_t;
typedef enum msg_protocol {
  MSG_INLINE,         /* the bytes are in the message slot, */
  MSG_EAGER,          /* in shared memory, */
  MSG_RENDEZVOUS_CMA, /* in the sender's own memory, */
  MSG_FALLBACK        /* or in a message over the endpoint */
} msg_protocol_t;

typedef struct msg { /* in shared memory */
  uint64_t next;     /* place of the message slot below, or behind, it; 0: none */
  _Atomic uint32_t state;
  uint32_t tag;
  int32_t from;
  uint32_t protocol;
  uint64_t size_bytes, wanted_bytes;
  uint64_t address; /* of the bytes: in shared memory, or an address of the sender's */
  char data[INLINE_BYTES];
} shm_msg_t;

struct tp_message {
  tp_message_t *next; /* of its bucket, or of the free ones */
  int peer;
  uint32_t tag;
  bool is_send, arrived;
  char *data;
  size_t size_bytes;
  shm_msg_t *msg;         /* of a send; of a receive one that was found and not read yet */
  uint64_t eager_buffer;  /* place of a copy for the receiver to read; 0: none */
  tp_message_t *fallback; /* the bytes, over the endpoint */
  hr_status_t status;     /* how the receive ended */
  tp_shm_watch_t watch;
};

/* What waits for its other half, by sender and tag, in order. */
typedef struct bucket {
  tp_message_t *receives;
  uint64_t first, last; /* places of message slots */
} bucket_t;

typedef struct p2p {
  tp_endpoint_t endpoint; /* first: the addresses are the same */
  tp_endpoint_t *fallback;
  tp_shm_t *shm;
  tp_message_t *free_messages;
  uint64_t free_msgs;                 /* places, linked */
  uint64_t free_eager[EAGER_CLASSES]; /* places, linked */
  HR_VEC(void *)
  blocks; /* of memory, in which this process's message slots and eager buffers are */
  bucket_t buckets[BUCKETS];
} p2p_t;

static p2p_t *p2p_of(tp_endpoint_t *endpoint) { return (p2p_t *)endpoint; }
static shm_msg_t *shm_msg_at(const p2p_t *p2p, uint64_t offset) {
  return (shm_msg_t *)tp_shm_at(p2p->shm, offset);
}
static bucket_t *bucket_of(p2p_t *p2p, int from, uint32_t tag) {
  return &p2p->buckets[((uint32_t)from * 0x9E3779B1u ^ tag * 0x85EBCA6Bu) >> 16 & (BUCKETS - 1)];
}

/* --- memory --- */

static hr_status_t message_new(p2p_t *p2p, tp_message_t **out_message) {
  tp_message_t *message = p2p->free_messages;
  if (message) {
    p2p->free_messages = message->next;
  } else {
    void *memory;
    HR_TRY(hr_alloc(sizeof *message, &memory));
    message = memory;
  }
  *out_message = message;
  return NULL;
}

static void shm_msg_free(p2p_t *p2p, shm_msg_t *msg) {
  msg->next = p2p->free_msgs;
  p2p->free_msgs = tp_shm_offset(p2p->shm, msg);
}

/* A piece of shared memory, kept until the end. NULL: there is no more. */
static void *new_piece(p2p_t *p2p, size_t size_bytes) {
  hr_status_t st = HR_VEC_RESERVE(&p2p->blocks, p2p->blocks.count + 1);
  void *piece = st ? NULL : tp_shm_alloc(p2p->shm, size_bytes);
  hr_status_release(st);
  if (piece) p2p->blocks.data[p2p->blocks.count++] = piece;
  return piece;
}

static hr_status_t make_msgs(p2p_t *p2p) {
  shm_msg_t *msgs = new_piece(p2p, MSGS_AT_ONCE * sizeof *msgs);
  if (!msgs) return tp_shm_used_up(p2p->shm);
  for (int i = MSGS_AT_ONCE; i-- > 0;) shm_msg_free(p2p, &msgs[i]);
  return NULL;
}

static hr_status_t shm_msg_new(p2p_t *p2p, shm_msg_t **out_msg) {
  if (!p2p->free_msgs) HR_TRY(make_msgs(p2p));
  *out_msg = shm_msg_at(p2p, p2p->free_msgs);
  p2p->free_msgs = (*out_msg)->next;
  return NULL;
}

static int eager_class(size_t size_bytes) {
  int class_ = 0;
  while (class_ < EAGER_CLASSES && size_bytes > eager_bytes[class_]) class_++;
  return class_;
}

/* Memory for it; one that is larger than any class has memory of its own. 0: there is no room. */
static uint64_t eager_capacity(p2p_t *p2p, size_t size_bytes) {
  int class_ = eager_class(size_bytes);
  uint64_t offset = class_ < EAGER_CLASSES ? p2p->free_eager[class_] : 0;
  if (offset) {
    p2p->free_eager[class_] = *(uint64_t *)tp_shm_at(p2p->shm, offset);
    return offset;
  }
  void *memory = class_ < EAGER_CLASSES ? new_piece(p2p, eager_bytes[class_])
                                        : tp_shm_alloc(p2p->shm, size_bytes);
  return memory ? tp_shm_offset(p2p->shm, memory) : 0;
}

/* A copy in shared memory: of small messages, and of large ones that would find no other way. 0:
 * there is none. */
static uint64_t eager_new(p2p_t *p2p, const void *data, size_t size_bytes) {
  bool other_protocol = p2p->fallback || p2p->shm->reads_directly;
  if (eager_class(size_bytes) == EAGER_CLASSES && other_protocol) return 0;
  uint64_t offset = eager_capacity(p2p, size_bytes);
  if (offset) memcpy(tp_shm_at(p2p->shm, offset), data, size_bytes);
  return offset;
}

static void eager_free(p2p_t *p2p, const tp_message_t *message) {
  int class_ = eager_class(message->size_bytes);
  if (!message->eager_buffer) return;
  if (class_ == EAGER_CLASSES) {
    tp_shm_free(p2p->shm, tp_shm_at(p2p->shm, message->eager_buffer));
    return;
  }
  *(uint64_t *)tp_shm_at(p2p->shm, message->eager_buffer) = p2p->free_eager[class_];
  p2p->free_eager[class_] = message->eager_buffer;
}

static void message_free(p2p_t *p2p, tp_message_t *message) {
  eager_free(p2p, message);
  message->next = p2p->free_messages;
  p2p->free_messages = message;
}

/* --- what is under way on this side --- */

static tp_message_t **find_receive(p2p_t *p2p, int from, uint32_t tag) {
  tp_message_t **link = &bucket_of(p2p, from, tag)->receives;
  while (*link && ((*link)->peer != from || (*link)->tag != tag)) link = &(*link)->next;
  return link;
}

static void append_receive(p2p_t *p2p, tp_message_t *message) {
  tp_message_t **link = &bucket_of(p2p, message->peer, message->tag)->receives;
  while (*link) link = &(*link)->next;
  message->next = NULL;
  *link = message;
}

static void remove_receive(p2p_t *p2p, tp_message_t *message) {
  tp_message_t **link = &bucket_of(p2p, message->peer, message->tag)->receives;
  while (*link && *link != message) link = &(*link)->next;
  if (*link) *link = message->next;
}

static void append_msg(p2p_t *p2p, shm_msg_t *msg) {
  bucket_t *bucket = bucket_of(p2p, msg->from, msg->tag);
  uint64_t offset = tp_shm_offset(p2p->shm, msg);
  msg->next = 0;
  if (bucket->last)
    shm_msg_at(p2p, bucket->last)->next = offset;
  else
    bucket->first = offset;
  bucket->last = offset;
}

/* Takes a message slot that has not been called back out of its bucket, or leaves it there. NULL:
 * there is none. */
static shm_msg_t *find_msg(p2p_t *p2p, int from, uint32_t tag, bool take) {
  bucket_t *bucket = bucket_of(p2p, from, tag);
  shm_msg_t *before = NULL;
  for (uint64_t offset = bucket->first; offset;) {
    shm_msg_t *msg = shm_msg_at(p2p, offset);
    uint64_t next = msg->next;
    bool dead = atomic_load(&msg->state) == RECALLED;
    bool found = !dead && msg->from == from && msg->tag == tag;
    if (found && !take) return msg;
    if (dead || found) {
      *(before ? &before->next : &bucket->first) = next;
      if (!next) bucket->last = before ? tp_shm_offset(p2p->shm, before) : 0;
      if (found) return msg;
    } else {
      before = msg;
    }
    offset = next;
  }
  return NULL;
}

/* --- receiving --- */

static hr_status_t gone(const p2p_t *p2p, int rank) {
  return tp_shm_peer_failed(p2p->shm, rank, p2p->endpoint.host);
}

static hr_status_t read_private(const p2p_t *p2p, const tp_message_t *message,
                                const shm_msg_t *msg) {
  if (msg->from == p2p->endpoint.rank) {
    memmove(message->data, (const void *)(uintptr_t)msg->address, message->size_bytes);
    return NULL;
  }
  int error = tp_shm_read(p2p->shm, msg->from, message->data, msg->address, message->size_bytes);
  if (error == ESRCH) return gone(p2p, msg->from);
  return error ? hr_error(HR_UNAVAILABLE, "cannot read what rank %d sends: %s", msg->from,
                          strerror(error))
               : NULL;
}

static hr_status_t take_bytes(p2p_t *p2p, tp_message_t *message, const shm_msg_t *msg) {
  size_t size = message->size_bytes;
  switch (msg->protocol) {
    case MSG_INLINE:
      memcpy(message->data, msg->data, size);
      return NULL;
    case MSG_EAGER:
      tp_shm_copy(message->data, tp_shm_at(p2p->shm, msg->address), size,
                  tp_shm_streams(size, p2p->shm->local_size));
      return NULL;
    case MSG_RENDEZVOUS_CMA:
      return read_private(p2p, message, msg);
    default:
      return NULL; /* since it was found, they are on their way */
  }
}

static void drop_fallback(p2p_t *p2p, tp_message_t *message) {
  if (message->fallback) p2p->fallback->vtable->cancel(p2p->fallback, message->fallback);
  message->fallback = NULL;
}

/* The message slot that a receive waited for. Receives are found theirs in order, as messages
 * beside want it; they may be read in another. */
static void found_msg(p2p_t *p2p, tp_message_t *message, shm_msg_t *msg) {
  message->msg = msg;
  if (msg->protocol == MSG_FALLBACK && msg->size_bytes == message->size_bytes)
    message->status =
        p2p->fallback->vtable->recv(p2p->fallback, message->peer, message->tag, message->data,
                                    message->size_bytes, &message->fallback);
}

/* Consumes the matched message, unless the sender has cancelled it: then the receive waits for
 * another. */
static void read_msg(p2p_t *p2p, tp_message_t *message) {
  shm_msg_t *msg = message->msg;
  uint32_t state = SENT;
  message->msg = NULL;
  if (!atomic_compare_exchange_strong(&msg->state, &state, IN_READ)) {
    drop_fallback(p2p, message);
    append_receive(p2p, message);
    return;
  }
  state = READ;
  if (msg->size_bytes != message->size_bytes) {
    message->status = hr_error(HR_DISAGREE, "rank %d sent %llu bytes, want %zu", msg->from,
                               (unsigned long long)msg->size_bytes, message->size_bytes);
    msg->wanted_bytes = message->size_bytes;
    state = WRONG_SIZE;
  } else if (message->size_bytes && !message->status) {
    message->status = take_bytes(p2p, message, msg);
  }
  if (message->status && state == READ) state = UNREADABLE;
  message->arrived = true;
  atomic_store_explicit(&msg->state, state, memory_order_release);
}

/* The inbox has the last message slot on top: turned over, each sender's are in the order in which
 * they were sent. */
static uint64_t reverse_list(const p2p_t *p2p, uint64_t top) {
  uint64_t turned = 0;
  while (top) {
    shm_msg_t *msg = shm_msg_at(p2p, top);
    uint64_t below = msg->next;
    msg->next = turned;
    turned = top;
    top = below;
  }
  return turned;
}

static void drain_inbox(p2p_t *p2p) {
  _Atomic uint64_t *inbox = &tp_shm_rank_state(p2p->shm, p2p->shm->my_local)->inbox;
  if (!atomic_load_explicit(inbox, memory_order_relaxed)) return;
  uint64_t offset = reverse_list(p2p, atomic_exchange_explicit(inbox, 0, memory_order_acquire));
  while (offset) {
    shm_msg_t *msg = shm_msg_at(p2p, offset);
    offset = msg->next;
    tp_message_t **link = find_receive(p2p, msg->from, msg->tag), *message = *link;
    if (message) {
      *link = message->next;
      found_msg(p2p, message, msg);
    } else {
      append_msg(p2p, msg);
    }
  }
}

static hr_status_t p2p_recv(tp_endpoint_t *endpoint, int from, uint32_t tag, void *data,
                            size_t size_bytes, tp_message_t **out_message) {
  p2p_t *p2p = p2p_of(endpoint);
  tp_message_t *message;
  HR_TRY(message_new(p2p, &message));
  *message = (tp_message_t){.peer = from, .tag = tag, .data = data, .size_bytes = size_bytes};
  drain_inbox(p2p);
  shm_msg_t *msg = find_msg(p2p, from, tag, true);
  if (msg)
    found_msg(p2p, message, msg);
  else
    append_receive(p2p, message);
  *out_message = message;
  return NULL;
}

/* --- sending --- */

/* Where the receiver will find the bytes. */
static hr_status_t fill_msg(p2p_t *p2p, tp_message_t *message, shm_msg_t *msg) {
  const void *data = message->data;
  size_t size = message->size_bytes;
  if (size <= INLINE_BYTES) {
    msg->protocol = MSG_INLINE;
    if (size) memcpy(msg->data, data, size);
    return NULL;
  }
  bool shared = tp_shm_has(p2p->shm, data);
  if (!shared) message->eager_buffer = eager_new(p2p, data, size);
  if (shared || message->eager_buffer) {
    msg->protocol = MSG_EAGER;
    msg->address = shared ? tp_shm_offset(p2p->shm, data) : message->eager_buffer;
    return NULL;
  }
  msg->protocol = p2p->shm->reads_directly || message->peer == p2p->endpoint.rank
                      ? MSG_RENDEZVOUS_CMA
                      : MSG_FALLBACK;
  msg->address = (uint64_t)(uintptr_t)data;
  if (msg->protocol == MSG_RENDEZVOUS_CMA) return NULL;
  if (!p2p->fallback) return tp_shm_used_up(p2p->shm);
  return p2p->fallback->vtable->send(p2p->fallback, message->peer, message->tag, data, size,
                                     &message->fallback);
}

static void push_inbox(p2p_t *p2p, shm_msg_t *msg, int to) {
  _Atomic uint64_t *inbox = &tp_shm_rank_state(p2p->shm, p2p->shm->local_of[to])->inbox;
  uint64_t offset = tp_shm_offset(p2p->shm, msg);
  msg->next = atomic_load_explicit(inbox, memory_order_relaxed);
  while (!atomic_compare_exchange_weak_explicit(inbox, &msg->next, offset, memory_order_release,
                                                memory_order_relaxed))
    continue;
}

static hr_status_t p2p_send(tp_endpoint_t *endpoint, int to, uint32_t tag, const void *data,
                            size_t size_bytes, tp_message_t **out_message) {
  p2p_t *p2p = p2p_of(endpoint);
  tp_message_t *message;
  shm_msg_t *msg;
  HR_TRY(shm_msg_new(p2p, &msg));
  hr_status_t st = message_new(p2p, &message);
  if (st) {
    shm_msg_free(p2p, msg);
    return st;
  }
  *message = (tp_message_t){.peer = to,
                            .tag = tag,
                            .is_send = true,
                            .data = (char *)data,
                            .size_bytes = size_bytes,
                            .msg = msg};
  msg->tag = tag, msg->from = endpoint->rank, msg->size_bytes = size_bytes;
  atomic_store_explicit(&msg->state, SENT, memory_order_relaxed);
  st = fill_msg(p2p, message, msg);
  if (st) {
    shm_msg_free(p2p, msg);
    message_free(p2p, message);
    return st;
  }
  push_inbox(p2p, msg, to);
  *out_message = message;
  return NULL;
}

/* --- waiting --- */

static hr_status_t test_beside(p2p_t *p2p, tp_message_t *message, bool *out_done) {
  *out_done = true;
  if (!message->fallback) return NULL;
  hr_status_t st = p2p->fallback->vtable->test(p2p->fallback, message->fallback, out_done);
  if (st || *out_done) message->fallback = NULL;
  return st;
}

static hr_status_t outcome(const tp_message_t *message, uint32_t state) {
  if (state == READ) return NULL;
  if (state == UNREADABLE)
    return hr_error(HR_UNAVAILABLE, "rank %d cannot read what it is sent", message->peer);
  return hr_error(HR_DISAGREE, "%zu bytes sent to rank %d, which wants %llu", message->size_bytes,
                  message->peer, (unsigned long long)message->msg->wanted_bytes);
}

static hr_status_t test_send(p2p_t *p2p, tp_message_t *message, bool *out_done) {
  shm_msg_t *msg = message->msg;
  if (msg) {
    uint32_t state = atomic_load_explicit(&msg->state, memory_order_acquire);
    *out_done = false;
    if (state == SENT || state == IN_READ) return NULL;
    hr_status_t st = outcome(message, state);
    shm_msg_free(p2p, msg);
    message->msg = NULL;
    if (st) return st;
  }
  return test_beside(p2p, message, out_done);
}

static hr_status_t test_recv(p2p_t *p2p, tp_message_t *message, bool *out_done) {
  if (!message->arrived && !message->msg) drain_inbox(p2p);
  if (message->msg) read_msg(p2p, message);
  *out_done = false;
  if (!message->arrived) return NULL;
  hr_status_t st = message->status;
  message->status = NULL;
  return st ? st : test_beside(p2p, message, out_done);
}

static hr_status_t test_half(p2p_t *p2p, tp_message_t *message, bool *out_done) {
  return message->is_send ? test_send(p2p, message, out_done) : test_recv(p2p, message, out_done);
}

static void p2p_cancel(tp_endpoint_t *endpoint, tp_message_t *message);

/* A peer that was seen to be gone may have done its part before. */
static hr_status_t p2p_test(tp_endpoint_t *endpoint, tp_message_t *message, bool *out_done) {
  p2p_t *p2p = p2p_of(endpoint);
  hr_status_t st = test_half(p2p, message, out_done);
  if (!st && !*out_done && tp_shm_watch_is_due(&message->watch) &&
      !tp_shm_is_alive(p2p->shm, message->peer)) {
    st = test_half(p2p, message, out_done);
    if (!st && !*out_done) st = gone(p2p, message->peer);
  }
  if (st)
    p2p_cancel(endpoint, message);
  else if (*out_done)
    message_free(p2p, message);
  *out_done = *out_done || st;
  return st;
}

static hr_status_t p2p_probe(tp_endpoint_t *endpoint, int from, uint32_t tag, bool *out_come) {
  p2p_t *p2p = p2p_of(endpoint);
  drain_inbox(p2p);
  *out_come = find_msg(p2p, from, tag, false) != NULL;
  return NULL;
}

/* After this the receiver does not read any more. The message slot stays with it. */
static void call_back(p2p_t *p2p, tp_message_t *message) {
  uint32_t state = SENT;
  shm_msg_t *msg = message->msg;
  if (!msg || atomic_compare_exchange_strong(&msg->state, &state, RECALLED)) return;
  while (atomic_load_explicit(&msg->state, memory_order_acquire) == IN_READ &&
         tp_shm_is_alive(p2p->shm, message->peer))
    nanosleep(&(struct timespec){.tv_nsec = RECALL_NS}, NULL);
}

static void p2p_cancel(tp_endpoint_t *endpoint, tp_message_t *message) {
  p2p_t *p2p = p2p_of(endpoint);
  (p2p->fallback ? p2p->fallback : endpoint)->desynchronized = true;
  if (message->is_send)
    call_back(p2p, message);
  else if (!message->arrived && !message->msg)
    remove_receive(p2p, message);
  drop_fallback(p2p, message);
  hr_status_release(message->status);
  message_free(p2p, message);
}

static void p2p_backoff(tp_endpoint_t *endpoint, uint32_t polls) {
  tp_endpoint_t *fallback = p2p_of(endpoint)->fallback;
  if (fallback)
    fallback->vtable->backoff(fallback, polls);
  else
    tp_backoff(endpoint->oversubscribed, endpoint->local_size, polls);
}

/* --- life --- */

static bool has_left(const tp_shm_t *shm, int local) {
  return atomic_load(&tp_shm_rank_state(shm, local)->state) >= TP_SHM_FAILED;
}

/* Nobody leaves while another may still be on its way here, unless it would wait in vain. */
static void leave(p2p_t *p2p) {
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

static _Noreturn void give_up(const p2p_t *p2p) {
  int code = p2p->endpoint.exit_code;
  atomic_store(&tp_shm_rank_state(p2p->shm, p2p->shm->my_local)->state, TP_SHM_FAILED);
  fflush(NULL);
  _exit(code ? code : 1);
}

static void p2p_close(tp_endpoint_t *endpoint, bool failed) {
  p2p_t *p2p = p2p_of(endpoint);
  if (!p2p->fallback && failed) give_up(p2p);
  if (!p2p->fallback) leave(p2p);
  for (size_t i = 0; i < p2p->blocks.count; i++) tp_shm_free(p2p->shm, p2p->blocks.data[i]);
  HR_VEC_FREE(&p2p->blocks);
  for (tp_message_t *message; (message = p2p->free_messages);) {
    p2p->free_messages = message->next;
    hr_free(message);
  }
  tp_shm_release(p2p->shm);
  hr_free(p2p);
}

static const tp_vtable_t p2p_vtable = {.name = "mail",
                                       .send = p2p_send,
                                       .ssend = p2p_send,
                                       .recv = p2p_recv,
                                       .test = p2p_test,
                                       .probe = p2p_probe,
                                       .cancel = p2p_cancel,
                                       .backoff = p2p_backoff,
                                       .close = p2p_close};

hr_status_t tp_shm_p2p_open(tp_shm_t *shm, tp_endpoint_t *fallback, const tp_endpoint_t *offset,
                            tp_endpoint_t **out_endpoint) {
  void *memory;
  HR_TRY(hr_alloc_zeroed(sizeof(p2p_t), &memory));
  p2p_t *p2p = memory;
  p2p->endpoint = *offset;
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
