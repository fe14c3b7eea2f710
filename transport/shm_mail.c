#include "transport/shm_mail.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/vec.h"
#include "transport/rest.h"
#include "transport/shm_group.h"

#define INSIDE_BYTES 208              /* that fit into a letter */
#define LETTERS_AT_ONCE 64            /* are made */
#define PARCEL_CLASSES 3
#define BUCKETS 512
/* Copying so few bytes into shared memory costs less than having the kernel read them. */
static const size_t parcel_bytes[PARCEL_CLASSES] = {4 << 10, 16 << 10, 64 << 10};
#define CALL_BACK_NS 50000

/* Written by the sender before SENT, from then on by the receiver until it is the sender's again: READ, and what ends
 * a transfer otherwise. */
typedef enum letter_state { SENT, BEING_READ, READ, WRONG_SIZE, UNREADABLE, CALLED_BACK } letter_state_t;
typedef enum letter_way {
  INSIDE,  /* the bytes are in the letter, */
  SHARED,  /* in shared memory, */
  PRIVATE, /* in the sender's own memory, */
  BESIDE   /* or in a message over the endpoint */
} letter_way_t;

typedef struct letter { /* in shared memory */
  uint64_t next;        /* place of the letter below, or behind, it; 0: none */
  _Atomic uint32_t state;
  uint32_t tag;
  int32_t from;
  uint32_t way;
  uint64_t size_bytes, wanted_bytes;
  uint64_t place; /* of the bytes: in shared memory, or an address of the sender's */
  char data[INSIDE_BYTES];
} letter_t;

struct tp_message {
  tp_message_t *next; /* of its bucket, or of the free ones */
  int peer;
  uint32_t tag;
  bool is_send, arrived;
  char *data;
  size_t size_bytes;
  letter_t *letter;     /* of a send; of a receive one that was found and not read yet */
  uint64_t parcel;      /* place of a copy for the receiver to read; 0: none */
  tp_message_t *beside; /* the bytes, over the endpoint */
  hr_status_t status;   /* how the receive ended */
  tp_shm_watch_t watch;
};

/* What waits for its other half, by sender and tag, in order. */
typedef struct bucket {
  tp_message_t *receives;
  uint64_t first, last; /* places of letters */
} bucket_t;

typedef struct mail {
  tp_endpoint_t endpoint; /* first: the addresses are the same */
  tp_endpoint_t *beside;
  tp_shm_t *shm;
  tp_message_t *free_messages;
  uint64_t free_letters; /* places, linked */
  uint64_t free_parcels[PARCEL_CLASSES]; /* places, linked */
  HR_VEC(void *) pieces; /* of memory, in which this process's letters and parcels are */
  bucket_t buckets[BUCKETS];
} mail_t;

static mail_t *mail_of(tp_endpoint_t *endpoint) { return (mail_t *)endpoint; }
static letter_t *letter_at(const mail_t *mail, uint64_t place) { return (letter_t *)tp_shm_at(mail->shm, place); }
static bucket_t *bucket_of(mail_t *mail, int from, uint32_t tag) {
  return &mail->buckets[((uint32_t)from * 0x9E3779B1u ^ tag * 0x85EBCA6Bu) >> 16 & (BUCKETS - 1)];
}

/* --- memory --- */

static hr_status_t message_new(mail_t *mail, tp_message_t **out_message) {
  tp_message_t *message = mail->free_messages;
  if (message) {
    mail->free_messages = message->next;
  } else {
    void *memory;
    HR_TRY(hr_alloc(sizeof *message, &memory));
    message = memory;
  }
  *out_message = message;
  return NULL;
}

static void letter_free(mail_t *mail, letter_t *letter) {
  letter->next = mail->free_letters;
  mail->free_letters = tp_shm_place(mail->shm, letter);
}

/* A piece of shared memory, kept until the end. NULL: there is no more. */
static void *new_piece(mail_t *mail, size_t size_bytes) {
  hr_status_t st = HR_VEC_RESERVE(&mail->pieces, mail->pieces.count + 1);
  void *piece = st ? NULL : tp_shm_alloc(mail->shm, size_bytes);
  hr_status_release(st);
  if (piece) mail->pieces.data[mail->pieces.count++] = piece;
  return piece;
}

static hr_status_t make_letters(mail_t *mail) {
  letter_t *letters = new_piece(mail, LETTERS_AT_ONCE * sizeof *letters);
  if (!letters) return tp_shm_used_up(mail->shm);
  for (int i = LETTERS_AT_ONCE; i-- > 0;) letter_free(mail, &letters[i]);
  return NULL;
}

static hr_status_t letter_new(mail_t *mail, letter_t **out_letter) {
  if (!mail->free_letters) HR_TRY(make_letters(mail));
  *out_letter = letter_at(mail, mail->free_letters);
  mail->free_letters = (*out_letter)->next;
  return NULL;
}

static int parcel_class(size_t size_bytes) {
  int class_ = 0;
  while (class_ < PARCEL_CLASSES && size_bytes > parcel_bytes[class_]) class_++;
  return class_;
}

/* Memory for it; one that is larger than any class has memory of its own. 0: there is no room. */
static uint64_t parcel_room(mail_t *mail, size_t size_bytes) {
  int class_ = parcel_class(size_bytes);
  uint64_t place = class_ < PARCEL_CLASSES ? mail->free_parcels[class_] : 0;
  if (place) {
    mail->free_parcels[class_] = *(uint64_t *)tp_shm_at(mail->shm, place);
    return place;
  }
  void *memory = class_ < PARCEL_CLASSES ? new_piece(mail, parcel_bytes[class_]) : tp_shm_alloc(mail->shm, size_bytes);
  return memory ? tp_shm_place(mail->shm, memory) : 0;
}

/* A copy in shared memory: of small messages, and of large ones that would find no other way. 0: there is none. */
static uint64_t parcel_new(mail_t *mail, const void *data, size_t size_bytes) {
  bool other_way = mail->beside || mail->shm->reads_directly;
  if (parcel_class(size_bytes) == PARCEL_CLASSES && other_way) return 0;
  uint64_t place = parcel_room(mail, size_bytes);
  if (place) memcpy(tp_shm_at(mail->shm, place), data, size_bytes);
  return place;
}

static void parcel_free(mail_t *mail, const tp_message_t *message) {
  int class_ = parcel_class(message->size_bytes);
  if (!message->parcel) return;
  if (class_ == PARCEL_CLASSES) {
    tp_shm_free(mail->shm, tp_shm_at(mail->shm, message->parcel));
    return;
  }
  *(uint64_t *)tp_shm_at(mail->shm, message->parcel) = mail->free_parcels[class_];
  mail->free_parcels[class_] = message->parcel;
}

static void message_free(mail_t *mail, tp_message_t *message) {
  parcel_free(mail, message);
  message->next = mail->free_messages;
  mail->free_messages = message;
}

/* --- what is under way on this side --- */

static tp_message_t **find_receive(mail_t *mail, int from, uint32_t tag) {
  tp_message_t **link = &bucket_of(mail, from, tag)->receives;
  while (*link && ((*link)->peer != from || (*link)->tag != tag)) link = &(*link)->next;
  return link;
}

static void append_receive(mail_t *mail, tp_message_t *message) {
  tp_message_t **link = &bucket_of(mail, message->peer, message->tag)->receives;
  while (*link) link = &(*link)->next;
  message->next = NULL;
  *link = message;
}

static void remove_receive(mail_t *mail, tp_message_t *message) {
  tp_message_t **link = &bucket_of(mail, message->peer, message->tag)->receives;
  while (*link && *link != message) link = &(*link)->next;
  if (*link) *link = message->next;
}

static void append_letter(mail_t *mail, letter_t *letter) {
  bucket_t *bucket = bucket_of(mail, letter->from, letter->tag);
  uint64_t place = tp_shm_place(mail->shm, letter);
  letter->next = 0;
  if (bucket->last)
    letter_at(mail, bucket->last)->next = place;
  else
    bucket->first = place;
  bucket->last = place;
}

/* Takes a letter that has not been called back out of its bucket, or leaves it there. NULL: there is none. */
static letter_t *find_letter(mail_t *mail, int from, uint32_t tag, bool take) {
  bucket_t *bucket = bucket_of(mail, from, tag);
  letter_t *before = NULL;
  for (uint64_t place = bucket->first; place;) {
    letter_t *letter = letter_at(mail, place);
    uint64_t next = letter->next;
    bool dead = atomic_load(&letter->state) == CALLED_BACK;
    bool found = !dead && letter->from == from && letter->tag == tag;
    if (found && !take) return letter;
    if (dead || found) {
      *(before ? &before->next : &bucket->first) = next;
      if (!next) bucket->last = before ? tp_shm_place(mail->shm, before) : 0;
      if (found) return letter;
    } else {
      before = letter;
    }
    place = next;
  }
  return NULL;
}

/* --- receiving --- */

static hr_status_t gone(const mail_t *mail, int rank) { return tp_shm_gone(mail->shm, rank, mail->endpoint.host); }

static hr_status_t read_private(const mail_t *mail, const tp_message_t *message, const letter_t *letter) {
  if (letter->from == mail->endpoint.rank) {
    memmove(message->data, (const void *)(uintptr_t)letter->place, message->size_bytes);
    return NULL;
  }
  int error = tp_shm_read(mail->shm, letter->from, message->data, letter->place, message->size_bytes);
  if (error == ESRCH) return gone(mail, letter->from);
  return error ? hr_error(HR_UNAVAILABLE, "cannot read what rank %d sends: %s", letter->from, strerror(error)) : NULL;
}

static hr_status_t take_bytes(mail_t *mail, tp_message_t *message, const letter_t *letter) {
  size_t size = message->size_bytes;
  switch (letter->way) {
    case INSIDE: memcpy(message->data, letter->data, size); return NULL;
    case SHARED:
      tp_shm_copy(message->data, tp_shm_at(mail->shm, letter->place), size,
                  tp_shm_streams(size, mail->shm->local_size));
      return NULL;
    case PRIVATE: return read_private(mail, message, letter);
    default: return NULL; /* since it was found, they are on their way */
  }
}

static void drop_beside(mail_t *mail, tp_message_t *message) {
  if (message->beside) mail->beside->vtable->cancel(mail->beside, message->beside);
  message->beside = NULL;
}

/* The letter that a receive waited for. Receives are found theirs in order, as messages beside want it; they may be
 * read in another. */
static void found_letter(mail_t *mail, tp_message_t *message, letter_t *letter) {
  message->letter = letter;
  if (letter->way == BESIDE && letter->size_bytes == message->size_bytes)
    message->status = mail->beside->vtable->recv(mail->beside, message->peer, message->tag, message->data,
                                                 message->size_bytes, &message->beside);
}

/* Takes what the letter of a receive sends, unless its sender has called it back: then it waits for another. */
static void read_letter(mail_t *mail, tp_message_t *message) {
  letter_t *letter = message->letter;
  uint32_t state = SENT;
  message->letter = NULL;
  if (!atomic_compare_exchange_strong(&letter->state, &state, BEING_READ)) {
    drop_beside(mail, message);
    append_receive(mail, message);
    return;
  }
  state = READ;
  if (letter->size_bytes != message->size_bytes) {
    message->status = hr_error(HR_DISAGREE, "rank %d sent %llu bytes, want %zu", letter->from,
                               (unsigned long long)letter->size_bytes, message->size_bytes);
    letter->wanted_bytes = message->size_bytes;
    state = WRONG_SIZE;
  } else if (message->size_bytes && !message->status) {
    message->status = take_bytes(mail, message, letter);
  }
  if (message->status && state == READ) state = UNREADABLE;
  message->arrived = true;
  atomic_store_explicit(&letter->state, state, memory_order_release);
}

/* The pile has the last letter on top: turned over, each sender's are in the order in which they were sent. */
static uint64_t turn_over(const mail_t *mail, uint64_t top) {
  uint64_t turned = 0;
  while (top) {
    letter_t *letter = letter_at(mail, top);
    uint64_t below = letter->next;
    letter->next = turned;
    turned = top;
    top = below;
  }
  return turned;
}

static void sort_pile(mail_t *mail) {
  _Atomic uint64_t *pile = &tp_shm_desk(mail->shm, mail->shm->my_local)->pile;
  if (!atomic_load_explicit(pile, memory_order_relaxed)) return;
  uint64_t place = turn_over(mail, atomic_exchange_explicit(pile, 0, memory_order_acquire));
  while (place) {
    letter_t *letter = letter_at(mail, place);
    place = letter->next;
    tp_message_t **link = find_receive(mail, letter->from, letter->tag), *message = *link;
    if (message) {
      *link = message->next;
      found_letter(mail, message, letter);
    } else {
      append_letter(mail, letter);
    }
  }
}

static hr_status_t mail_recv(tp_endpoint_t *endpoint, int from, uint32_t tag, void *data, size_t size_bytes,
                             tp_message_t **out_message) {
  mail_t *mail = mail_of(endpoint);
  tp_message_t *message;
  HR_TRY(message_new(mail, &message));
  *message = (tp_message_t){.peer = from, .tag = tag, .data = data, .size_bytes = size_bytes};
  sort_pile(mail);
  letter_t *letter = find_letter(mail, from, tag, true);
  if (letter)
    found_letter(mail, message, letter);
  else
    append_receive(mail, message);
  *out_message = message;
  return NULL;
}

/* --- sending --- */

/* Where the receiver will find the bytes. */
static hr_status_t fill_letter(mail_t *mail, tp_message_t *message, letter_t *letter) {
  const void *data = message->data;
  size_t size = message->size_bytes;
  if (size <= INSIDE_BYTES) {
    letter->way = INSIDE;
    if (size) memcpy(letter->data, data, size);
    return NULL;
  }
  bool shared = tp_shm_has(mail->shm, data);
  if (!shared) message->parcel = parcel_new(mail, data, size);
  if (shared || message->parcel) {
    letter->way = SHARED;
    letter->place = shared ? tp_shm_place(mail->shm, data) : message->parcel;
    return NULL;
  }
  letter->way = mail->shm->reads_directly || message->peer == mail->endpoint.rank ? PRIVATE : BESIDE;
  letter->place = (uint64_t)(uintptr_t)data;
  if (letter->way == PRIVATE) return NULL;
  if (!mail->beside) return tp_shm_used_up(mail->shm);
  return mail->beside->vtable->send(mail->beside, message->peer, message->tag, data, size, &message->beside);
}

static void put_on_pile(mail_t *mail, letter_t *letter, int to) {
  _Atomic uint64_t *pile = &tp_shm_desk(mail->shm, mail->shm->local_of[to])->pile;
  uint64_t place = tp_shm_place(mail->shm, letter);
  letter->next = atomic_load_explicit(pile, memory_order_relaxed);
  while (!atomic_compare_exchange_weak_explicit(pile, &letter->next, place, memory_order_release, memory_order_relaxed))
    continue;
}

static hr_status_t mail_send(tp_endpoint_t *endpoint, int to, uint32_t tag, const void *data, size_t size_bytes,
                             tp_message_t **out_message) {
  mail_t *mail = mail_of(endpoint);
  tp_message_t *message;
  letter_t *letter;
  HR_TRY(letter_new(mail, &letter));
  hr_status_t st = message_new(mail, &message);
  if (st) {
    letter_free(mail, letter);
    return st;
  }
  *message = (tp_message_t){.peer = to, .tag = tag, .is_send = true, .data = (char *)data, .size_bytes = size_bytes,
                            .letter = letter};
  letter->tag = tag, letter->from = endpoint->rank, letter->size_bytes = size_bytes;
  atomic_store_explicit(&letter->state, SENT, memory_order_relaxed);
  st = fill_letter(mail, message, letter);
  if (st) {
    letter_free(mail, letter);
    message_free(mail, message);
    return st;
  }
  put_on_pile(mail, letter, to);
  *out_message = message;
  return NULL;
}

/* --- waiting --- */

static hr_status_t test_beside(mail_t *mail, tp_message_t *message, bool *out_done) {
  *out_done = true;
  if (!message->beside) return NULL;
  hr_status_t st = mail->beside->vtable->test(mail->beside, message->beside, out_done);
  if (st || *out_done) message->beside = NULL;
  return st;
}

static hr_status_t outcome(const tp_message_t *message, uint32_t state) {
  if (state == READ) return NULL;
  if (state == UNREADABLE) return hr_error(HR_UNAVAILABLE, "rank %d cannot read what it is sent", message->peer);
  return hr_error(HR_DISAGREE, "%zu bytes sent to rank %d, which wants %llu", message->size_bytes, message->peer,
                  (unsigned long long)message->letter->wanted_bytes);
}

static hr_status_t test_send(mail_t *mail, tp_message_t *message, bool *out_done) {
  letter_t *letter = message->letter;
  if (letter) {
    uint32_t state = atomic_load_explicit(&letter->state, memory_order_acquire);
    *out_done = false;
    if (state == SENT || state == BEING_READ) return NULL;
    hr_status_t st = outcome(message, state);
    letter_free(mail, letter);
    message->letter = NULL;
    if (st) return st;
  }
  return test_beside(mail, message, out_done);
}

static hr_status_t test_recv(mail_t *mail, tp_message_t *message, bool *out_done) {
  if (!message->arrived && !message->letter) sort_pile(mail);
  if (message->letter) read_letter(mail, message);
  *out_done = false;
  if (!message->arrived) return NULL;
  hr_status_t st = message->status;
  message->status = NULL;
  return st ? st : test_beside(mail, message, out_done);
}

static hr_status_t test_half(mail_t *mail, tp_message_t *message, bool *out_done) {
  return message->is_send ? test_send(mail, message, out_done) : test_recv(mail, message, out_done);
}

static void mail_cancel(tp_endpoint_t *endpoint, tp_message_t *message);

/* A peer that was seen to be gone may have done its part before. */
static hr_status_t mail_test(tp_endpoint_t *endpoint, tp_message_t *message, bool *out_done) {
  mail_t *mail = mail_of(endpoint);
  hr_status_t st = test_half(mail, message, out_done);
  if (!st && !*out_done && tp_shm_watch_is_due(&message->watch) && !tp_shm_lives(mail->shm, message->peer)) {
    st = test_half(mail, message, out_done);
    if (!st && !*out_done) st = gone(mail, message->peer);
  }
  if (st)
    mail_cancel(endpoint, message);
  else if (*out_done)
    message_free(mail, message);
  *out_done = *out_done || st;
  return st;
}

static hr_status_t mail_probe(tp_endpoint_t *endpoint, int from, uint32_t tag, bool *out_come) {
  mail_t *mail = mail_of(endpoint);
  sort_pile(mail);
  *out_come = find_letter(mail, from, tag, false) != NULL;
  return NULL;
}

/* After this the receiver does not read any more. The letter stays with it. */
static void call_back(mail_t *mail, tp_message_t *message) {
  uint32_t state = SENT;
  letter_t *letter = message->letter;
  if (!letter || atomic_compare_exchange_strong(&letter->state, &state, CALLED_BACK)) return;
  while (atomic_load_explicit(&letter->state, memory_order_acquire) == BEING_READ &&
         tp_shm_lives(mail->shm, message->peer))
    nanosleep(&(struct timespec){.tv_nsec = CALL_BACK_NS}, NULL);
}

static void mail_cancel(tp_endpoint_t *endpoint, tp_message_t *message) {
  mail_t *mail = mail_of(endpoint);
  (mail->beside ? mail->beside : endpoint)->out_of_step = true;
  if (message->is_send)
    call_back(mail, message);
  else if (!message->arrived && !message->letter)
    remove_receive(mail, message);
  drop_beside(mail, message);
  hr_status_release(message->status);
  message_free(mail, message);
}

static void mail_rest(tp_endpoint_t *endpoint, uint32_t polls) {
  tp_endpoint_t *beside = mail_of(endpoint)->beside;
  if (beside)
    beside->vtable->rest(beside, polls);
  else
    tp_rest(endpoint->crowded, endpoint->local_size, polls);
}

/* --- life --- */

static bool has_left(const tp_shm_t *shm, int local) {
  return atomic_load(&tp_shm_desk(shm, local)->state) >= TP_SHM_FAILED;
}

/* Nobody leaves while another may still be on its way here, unless it would wait in vain. */
static void leave(mail_t *mail) {
  tp_shm_t *shm = mail->shm;
  atomic_store(&tp_shm_desk(shm, shm->my_local)->state, TP_SHM_LEFT);
  for (int rank = 0; rank < mail->endpoint.world_size && !mail->endpoint.out_of_step; rank++) {
    tp_shm_watch_t watch = {0};
    for (uint32_t polls = 0; !has_left(shm, shm->local_of[rank]); polls++) {
      if (tp_shm_watch_is_due(&watch) && !tp_shm_lives(shm, rank)) break;
      tp_rest(mail->endpoint.crowded, mail->endpoint.local_size, polls);
    }
  }
}

static _Noreturn void give_up(const mail_t *mail) {
  int code = mail->endpoint.exit_code;
  atomic_store(&tp_shm_desk(mail->shm, mail->shm->my_local)->state, TP_SHM_FAILED);
  fflush(NULL);
  _exit(code ? code : 1);
}

static void mail_close(tp_endpoint_t *endpoint, bool failed) {
  mail_t *mail = mail_of(endpoint);
  if (!mail->beside && failed) give_up(mail);
  if (!mail->beside) leave(mail);
  for (size_t i = 0; i < mail->pieces.count; i++) tp_shm_free(mail->shm, mail->pieces.data[i]);
  HR_VEC_FREE(&mail->pieces);
  for (tp_message_t *message; (message = mail->free_messages);) {
    mail->free_messages = message->next;
    hr_free(message);
  }
  tp_shm_let_go(mail->shm);
  hr_free(mail);
}

static const tp_vtable_t mail_vtable = {.name = "mail", .send = mail_send, .send_meeting = mail_send,
                                        .recv = mail_recv, .test = mail_test, .probe = mail_probe,
                                        .cancel = mail_cancel, .rest = mail_rest, .close = mail_close};

hr_status_t tp_shm_mail_open(tp_shm_t *shm, tp_endpoint_t *beside, const tp_endpoint_t *place,
                             tp_endpoint_t **out_endpoint) {
  void *memory;
  HR_TRY(hr_alloc_zeroed(sizeof(mail_t), &memory));
  mail_t *mail = memory;
  mail->endpoint = *place;
  mail->endpoint.vtable = &mail_vtable;
  mail->endpoint.groups = NULL;
  mail->beside = beside;
  mail->shm = shm;
  tp_shm_hold(shm);
  *out_endpoint = &mail->endpoint;
  return NULL;
}

void tp_shm_mail_close(tp_endpoint_t *endpoint) {
  if (endpoint) endpoint->vtable->close(endpoint, false);
}
