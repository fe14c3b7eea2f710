/* Message slots of the point-to-point transport through shared memory (shm_p2p.c): their layout,
 * their states, and the pools and matching queues that hold them. Private to shm_p2p*.c.
 *
 * A slot is a header of four cache lines in the sender's heap, which all processes of the machine
 * map. Sender S and receiver R drive it through these states; every transition has one writer, and
 * both transitions out of SENT are compare-and-swaps, so that exactly one of them happens:
 *
 *             S: fill, push into R's inbox
 *      free -----------------------------> SENT
 *       ^                                  |  \
 *       |              R: compare-and-swap |   \ S: compare-and-swap (cancel)
 *       |                                  v    v
 *       |                           IN_READ    RECALLED   R drops the slot when it meets it; it is
 *       |                              |                  not used again before S closes
 *       |      R: store, release       |
 *       |     +----------+-------------+---+
 *       |     v          v                 v
 *       |   READ    WRONG_SIZE        UNREADABLE
 *       |     |          |                 |
 *       +-----+----------+-----------------+
 *             S: test finds one of these by a load with acquire
 *
 * Who may write the plain members follows from the state: S until it has pushed the slot, R from
 * then until its release store, S again after its acquire load. In state RECALLED, S no longer
 * touches the slot, and R only unlinks it. `next` links, in this order, S's free list, R's inbox
 * (written by S), and R's queue of unexpected messages (written by R).
 *
 * Thread: the endpoint's, in each process; processes meet only in `state` and in the inbox. */
#ifndef TP_SHM_P2P_MSG_H
#define TP_SHM_P2P_MSG_H

#include "base/vec.h"
#include "transport/shm/shm.h"

#define INLINE_BYTES 208 /* payload bytes in a slot, which fill it up to four cache lines */
#define EAGER_CLASSES 3
#define BUCKETS 512 /* buckets of the matching table; a power of two */

typedef enum msg_state {
  SENT,       /* waits for its receive */
  IN_READ,    /* R copies the payload; S can no longer cancel */
  READ,       /* payload copied: S may reuse its buffer */
  WRONG_SIZE, /* sizes differ: nothing copied, wanted_bytes set */
  UNREADABLE, /* R failed to read the payload */
  RECALLED    /* cancelled by S before R began to read */
} msg_state_t;

/* Where the receiver finds the payload; chosen by the sender (choose_protocol). */
typedef enum msg_protocol {
  MSG_INLINE,         /* in the slot itself */
  MSG_EAGER,          /* in shared memory: a copy in an eager buffer, or the array itself */
  MSG_RENDEZVOUS_CMA, /* in S's private memory, read by cross-memory attach (process_vm_readv) */
  MSG_FALLBACK        /* in a message of the same tag over the fallback endpoint */
} msg_protocol_t;

typedef struct shm_msg {
  uint64_t next;          /* offset of the next slot in a list; 0: the last one */
  _Atomic uint32_t state; /* msg_state_t */
  uint32_t tag;
  int32_t from;      /* sending rank */
  uint32_t protocol; /* msg_protocol_t */
  uint64_t size_bytes;
  uint64_t wanted_bytes; /* size of the receive, in state WRONG_SIZE */
  uint64_t address;      /* EAGER: offset in shared memory; RENDEZVOUS_CMA: address in the sender */
  char data[INLINE_BYTES];
} shm_msg_t;
_Static_assert(sizeof(shm_msg_t) == 256, "a message slot is four cache lines");

/* A send or a receive under way, in private memory. */
struct tp_message {
  tp_message_t *next; /* in the queue of posted receives, or in the free list */
  int peer;
  uint32_t tag;
  bool is_send;
  char *data;
  size_t size_bytes;
  shm_msg_t *slot;        /* send: its slot until READ; receive: slot matched and not read yet */
  uint64_t eager_buffer;  /* send: offset of the payload's copy; 0: none */
  bool arrived;           /* receive: read or refused; `status` says which */
  hr_status_t status;     /* receive: its failure; NULL: none */
  tp_message_t *fallback; /* payload's message over the fallback endpoint; NULL: none, or done */
  tp_shm_watch_t watch;   /* when to check whether the peer lives */
};

/* Matching queues of the (sender, tag) pairs of one hash value, in order of posting and of arrival.
 * A pair has entries in only one of the queues: a message is queued when no receive is posted for
 * it. */
typedef struct bucket {
  tp_message_t *receives;   /* posted receives without a message */
  uint64_t unexpected;      /* offset of the first message without a receive; 0: none */
  uint64_t last_unexpected; /* offset of the last one; 0: none */
} bucket_t;

typedef struct p2p {
  tp_endpoint_t endpoint; /* first member: a pointer to it is a pointer to p2p_t */
  tp_endpoint_t
      *fallback; /* borrowed; NULL: the ranks reach each other through shared memory only */
  tp_shm_t *shm; /* retained */
  tp_message_t *free_messages;
  uint64_t free_slots;                /* offset of the first free slot; 0: none */
  uint64_t free_eager[EAGER_CLASSES]; /* offsets of the first free eager buffers; 0: none */
  HR_VEC(void *) blocks;              /* shared memory of slots and eager buffers, until close */
  bucket_t buckets[BUCKETS];
} p2p_t;

static inline shm_msg_t *shm_msg_at(const p2p_t *p2p, uint64_t offset) {
  return (shm_msg_t *)tp_shm_at(p2p->shm, offset);
}

/* --- pools: freed entries are kept for reuse until p2p_pools_free --- */

/* Uninitialised. Errors: NO_MEMORY. */
hr_status_t p2p_message_new(p2p_t *p2p, tp_message_t **out_message);
/* Also frees its eager buffer. */
void p2p_message_free(p2p_t *p2p, tp_message_t *message);
/* Uninitialised. Errors: NO_MEMORY where shared memory is used up. */
hr_status_t p2p_slot_new(p2p_t *p2p, shm_msg_t **out_slot);
void p2p_slot_free(p2p_t *p2p, shm_msg_t *slot);
/* Copies a payload into shared memory: small payloads, and large ones that no other protocol can
 * carry. Returns the copy's offset; 0: no copy was made. */
uint64_t p2p_eager_new(p2p_t *p2p, const void *data, size_t size_bytes);
void p2p_pools_free(p2p_t *p2p);

/* --- matching --- */

void p2p_post_receive(p2p_t *p2p, tp_message_t *message); /* at the end of its queue */
void p2p_unpost_receive(p2p_t *p2p, tp_message_t *message);
/* Unlinks the oldest posted receive of a sender and tag; NULL: none. */
tp_message_t *p2p_match_receive(p2p_t *p2p, int from, uint32_t tag);
void p2p_queue_unexpected(p2p_t *p2p, shm_msg_t *slot);
/* The oldest unexpected message of a sender and tag that is not recalled; NULL: none. `unlink`
 * removes it from the queue. Recalled messages on the way are dropped. */
shm_msg_t *p2p_match_unexpected(p2p_t *p2p, int from, uint32_t tag, bool unlink);

#endif
