/* A transfer under way, as algorithms see it: rounds of messages. An algorithm posts the messages
 * of a round; when all have arrived, its `next` function posts another round or ends the transfer.
 * Nothing blocks, so that several transfers can be under way on one thread. Within a round the
 * messages are awaited in the order in which they were posted. */
#ifndef TP_REQUEST_H
#define TP_REQUEST_H

#include "transport/core/collective.h"
#include "transport/core/message_sum.h"
#include "transport/shm/shm.h"

/* Tags, from the highest bits: the class of transfer, the group, the number of the group's
 * transfer. */
#define TP_TAG_CLASS_PERMUTE (1u << (TP_TAG_BITS - 2))
#define TP_TAG_CLASS_GROUP (2u << (TP_TAG_BITS - 2))
#define TP_TAG_CLASS_CHANNEL (3u << (TP_TAG_BITS - 2))
#define TP_TAG_REPORT 1u   /* tags without a class: reports of waits, */
#define TP_TAG_QUESTION 2u /* questions of rank 0 about the ranks' positions, */
#define TP_TAG_ANSWER 3u   /* and the answers */
#define TP_TAG_GROUP_BITS 12
#define TP_TAG_COUNT_BITS 8

typedef struct tp_posted {
  tp_endpoint_t *endpoint; /* endpoint that carries the message */
  tp_message_t *message;
  int part;                /* argument of hooks.arrived; -1: no call */
  void *received;          /* destination of the payload; NULL: a send, or a checksum */
  size_t size_bytes;       /* size of the payload */
  tp_message_sum_t *check; /* checksum that this message carries, owned; NULL: a payload */
} tp_posted_t;

/* Reserves `count` times `each` bytes; old contents are lost. */
hr_status_t tp_space_reserve(tp_space_t *space, size_t count, size_t each);

/* A reduction in listed order, member by member as elements arrive. */
typedef struct tp_fold {
  const hr_reducer_t *reducer;
  int size, my_index;
  const char *local; /* this rank's elements */
  char *slots; /* elements of the others: member k's at slots + k * slot_bytes; member 0's may be
                  overwritten */
  size_t slot_bytes;
  char *out; /* may be the same memory as `own` */
  char *acc;
  int64_t count;
  int folded; /* members folded in so far */
} tp_fold_t;

/* One direction of a permute: a block sent to a rank, or received from one. */
typedef struct tp_p2p {
  bool sends; /* false: receives */
  int peer;
  const hr_block_t *block;
  struct tp_shm_group *pipe; /* memory shared with the peer; NULL: none */
} tp_p2p_t;

/* The part of a request that runs in shared memory: this process's view of one transfer of a
 * tp_shm_group_t (shm_group.h). Members of the group advance through numbered steps and wait for
 * each other's step counts; `step` is called until it reports the end. Step counts are totals since
 * the creation of the group: those of this op begin at `base`. */
typedef struct tp_shm_op tp_shm_op_t;
struct tp_shm_op {
  tp_request_t *request;
  struct tp_shm_group *group; /* NULL: the request does not use shared memory */
  hr_status_t (*step)(tp_shm_op_t *op, bool *out_done);
  uint32_t number; /* number among the group's transfers */
  bool is_started; /* all earlier transfers of the group have ended */
  bool is_done;
  /* An earlier transfer may still read the slot: the step function publishes the size. */
  bool is_early;
  bool in_slot;    /* payload lies in the slot, which peers may read longer than staging memory */
  uint64_t base;   /* group's step count when the op started */
  uint64_t steps;  /* steps done by this process in this op */
  uint64_t wanted; /* step count last waited for */
  size_t size_bytes;
  size_t chunk_bytes;
  struct tp_shm_staging *stage; /* staging memory; NULL: none */
  char *stage_memory;           /* first byte of the staging memory, in this process's mapping */
  int64_t round;                /* position in the algorithm's rounds */
  int64_t rounds;
  /* Work divided into `pieces` pieces, each for any member; 0: each member has its own share. */
  hr_status_t (*work)(tp_shm_op_t *op, int member, int64_t piece);
  int64_t pieces;
  uint64_t first;   /* step of the first chunk */
  int members_seen; /* members, in listed order, known to have done seen_steps */
  uint64_t seen_steps;
  tp_shm_watch_t watch; /* when to check whether the peers live */
};

/* Links of a request in the lists of its tp_groups_t. */
typedef struct tp_request_links {
  tp_request_t *next_free;   /* in the pool of free requests */
  tp_request_t *next_active; /* in the list of active requests, newest first */
  tp_request_t **link;       /* pointer to this request in that list */
} tp_request_links_t;

/* The end of a request. `over` is stored with release order after the others and may be loaded by
 * any thread; the others are read after it, or under the lock of progress.h. */
typedef struct tp_completion {
  atomic_bool over;   /* nothing remains but to report `status` */
  hr_status_t status; /* NULL: success; owned until tp_request_wait or tp_request_test returns it */
  uint64_t over_ns;   /* time of the end by hr_clock_ns, if groups->notes_times */
} tp_completion_t;

/* The messages of the current round, awaited in the order in which they were posted. */
typedef struct tp_rounds {
  tp_posted_t *posted; /* owned; reused by later transfers */
  int posted_count;
  int posted_capacity;
  int awaited; /* messages of the round that have arrived */
  int number;  /* number of the current round, from 0 */
} tp_rounds_t;

/* The algorithm's functions, called with the lock of progress.h held. A failure ends the
 * request. */
typedef struct tp_request_hooks {
  hr_status_t (*arrived)(tp_request_t *request,
                         int part);             /* per message with a part; may be NULL */
  hr_status_t (*next)(tp_request_t *request);   /* posts a round; NULL: no further rounds */
  hr_status_t (*finish)(tp_request_t *request); /* called once at the end; may be NULL */
  /* Polls a transfer in shared memory, instead of `next`; NULL: the transfer uses rounds. */
  hr_status_t (*poll)(tp_request_t *request, bool *out_done);
} tp_request_hooks_t;

/* Arguments of the call; those set depend on the collective (collective.h). */
typedef struct tp_request_args {
  const char *in;
  char *out;
  size_t size_bytes;       /* per member: all-gather, all-to-all of equal blocks, broadcast */
  const hr_block_t *sends; /* all-to-all: valid only while the transfer is being started */
  const hr_block_t *recvs;
  tp_p2p_t p2p;  /* permute: the direction being started */
  int root;      /* broadcast: index of the member with the data */
  int64_t count; /* reductions: elements per member */
  hr_reducer_t reducer;
} tp_request_args_t;

/* Scratch space, reused by later transfers. */
typedef struct tp_request_memory {
  tp_space_t scratch;
  tp_space_t gathered; /* gathering all-reduce: its result; the all-gather inside uses `scratch` */
} tp_request_memory_t;

/* State of an algorithm across rounds. */
typedef struct tp_request_state {
  char *result;         /* gathering all-reduce: the caller's `out` while args.out is `gathered` */
  int64_t segment;      /* elements, or blocks, per round */
  tp_request_t *nested; /* transfer under way within this one, e.g. within a machine; or NULL */
} tp_request_state_t;

struct tp_request {
  tp_groups_t *groups;
  tp_group_t *group; /* NULL for permutes */
  uint32_t tag;
  uint32_t op_number;        /* number among the group's staged transfers over several machines */
  int algorithm;             /* row of algorithms.def, from 1; 0: permute or barrier */
  bool endpoint_thread_only; /* the progress thread does not advance this request */
  tp_request_links_t links;
  tp_completion_t completion;
  tp_rounds_t rounds;
  tp_request_hooks_t hooks;
  tp_request_args_t args;
  tp_request_state_t state;
  tp_request_memory_t memory;

  /* Not cleared for a new transfer, except for the ops' groups: large, and set before use. */
  tp_shm_op_t shm_ops[2]; /* [0]: the collective, or the send of a permute; [1]: its receive */
  tp_fold_t fold;
};

/* A new request is active until it is freed. The call takes the lock of progress.h;
 * tp_request_started releases it. */
hr_status_t tp_request_new(tp_groups_t *groups, tp_group_t *group, tp_request_t **out_request);
/* Hands the request to the caller, or frees it if the start failed. */
hr_status_t tp_request_started(hr_status_t st, tp_request_t *request, tp_request_t **out_request);
/* Posts a message from or to a member; messages of 0 bytes are skipped. */
hr_status_t tp_request_send(tp_request_t *request, int member, const void *data, size_t size_bytes);
hr_status_t tp_request_recv(tp_request_t *request, int member, void *data, size_t size_bytes,
                            int part);
/* The same by rank. */
hr_status_t tp_request_send_to(tp_request_t *request, int rank, const void *data,
                               size_t size_bytes);
hr_status_t tp_request_recv_from(tp_request_t *request, int rank, void *data, size_t size_bytes,
                                 int part);
/* Synchronous send and its receive: the send is done only when the receiver has started. Messages
 * of 0 bytes are sent, too. */
hr_status_t tp_request_ssend(tp_request_t *request, int rank, const void *data, size_t size_bytes);
hr_status_t tp_request_recv_ssend(tp_request_t *request, int rank, void *data, size_t size_bytes);
/* Advances every transfer without blocking; a thread that is not the endpoint's own skips those
 * that are `endpoint_thread_only`. The progress lock is held. */
void tp_requests_progress_from(tp_groups_t *groups, bool endpoint_thread_only);
/* Frees the memory of all requests of the pool. */
void tp_requests_deinit(tp_groups_t *groups);

/* Starts a reduction into fold->out; `wide` is memory for wide accumulators, if the reducer has
 * them. */
void tp_fold_begin(tp_fold_t *fold, char *wide);
/* Folds in the members up to `member`; all of them have arrived. */
hr_status_t tp_fold_up_to(tp_fold_t *fold, int member);
/* Folds in the remaining members and stores the result. */
hr_status_t tp_fold_end(tp_fold_t *fold);

/* Starts an algorithm for `request`, whose arguments are set. */
typedef hr_status_t (*tp_algorithm_fn)(tp_request_t *request);
#define ALGORITHM(collective, name, start, where, most_bytes, cost) \
  hr_status_t start(tp_request_t *request);
#include "transport/algorithms/algorithms.def"
#undef ALGORITHM
/* Reads the variables HLORUN_ALLREDUCE etc. and HLORUN_COLL_INFO. */
void tp_algorithms_from_environment(tp_groups_t *groups);
const char *tp_collective_name(tp_collective_t collective); /* e.g. "all-reduce" */
/* Rows of algorithms.def, by number. */
int tp_algorithm_count(void);
const char *tp_algorithm_name(int algorithm, tp_collective_t *out_collective);
bool tp_algorithm_fits(int algorithm, tp_group_t *group,
                       size_t bytes); /* true if the group can use it */
/* Chooses and starts an algorithm for a transfer of so many bytes, as algorithms.def counts them;
 * for a permute: of one direction. */
hr_status_t tp_algorithm_start(tp_collective_t collective, tp_request_t *request, size_t bytes);

#endif
