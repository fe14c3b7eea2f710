/* A transfer under way, as the algorithms see it: rounds of messages. An algorithm posts the
 * messages of a round; when all have arrived, its `next` function is called, which posts another
 * round or says that it is finished. Nothing blocks, so that several transfers can be under way on
 * one thread. Within a round the messages are awaited in the order in which they were posted. */
#ifndef TP_REQUEST_H
#define TP_REQUEST_H

#include "transport/core/collective.h"
#include "transport/shm/shm.h"

/* Tags, from the top: what kind of transfer, which group, how many transfers the group has done. */
#define TP_TAG_CLASS_PERMUTE (1u << (TP_TAG_BITS - 2))
#define TP_TAG_CLASS_GROUP (2u << (TP_TAG_BITS - 2))
#define TP_TAG_CLASS_CHANNEL (3u << (TP_TAG_BITS - 2))
#define TP_TAG_REPORT 1u   /* of no kind: what processes say of their waits, */
#define TP_TAG_QUESTION 2u /* rank 0 asks where they are, */
#define TP_TAG_ANSWER 3u   /* and what they answer */
#define TP_TAG_GROUP_BITS 12
#define TP_TAG_COUNT_BITS 8

typedef struct tp_posted {
  tp_endpoint_t *endpoint; /* over which it travels */
  tp_message_t *message;
  int part; /* given to `arrived`; -1: nobody wants to know */
} tp_posted_t;

/* Room for `count` times `each` bytes; what was there is lost. */
hr_status_t tp_space_reserve(tp_space_t *space, size_t count, size_t each);

/* A reduction in listed order, one member at a time, as their elements come in. */
typedef struct tp_fold {
  const hr_reducer_t *reducer;
  int size, my_index;
  const char *local; /* this rank's elements */
  char
      *slots; /* the others': member k's at slots + k * slot_bytes; member 0's may be overwritten */
  size_t slot_bytes;
  char *out; /* may be the same memory as `own` */
  char *acc;
  int64_t count;
  int folded; /* members so far */
} tp_fold_t;

/* What a permute sends to a rank, or receives from one. */
typedef struct tp_p2p {
  bool sends;
  int peer;
  const hr_block_t *block;
  struct tp_shm_group *pipe; /* NULL: the two share no memory */
} tp_p2p_t;

/* A transfer's place in shared memory (shm_group.h). */
typedef struct tp_shm_op tp_shm_op_t;
struct tp_shm_op {
  tp_request_t *request;
  struct tp_shm_group *group; /* NULL: not in shared memory */
  hr_status_t (*step)(tp_shm_op_t *op, bool *out_done);
  uint32_t number; /* of the group's transfers */
  bool is_started, is_done;
  bool is_early; /* its note may still be read: it tells its size later */
  bool
      in_slot; /* what it gives is in its note, which may be read longer than what lies elsewhere */
  uint64_t base;   /* the group's steps before it */
  uint64_t steps;  /* done by this process */
  uint64_t wanted; /* what it waits for last */
  size_t size_bytes, chunk_bytes;
  struct tp_shm_staging *stage;
  char *stage_memory;
  int64_t round, rounds; /* the algorithm's */
  hr_status_t (*work)(tp_shm_op_t *op, int member,
                      int64_t piece); /* rounds pieces for each member, */
  int64_t pieces;   /* so many in all, which any member does; 0: each does its own */
  uint64_t first;   /* step of its first chunk */
  int members_seen; /* members that have done seen_steps */
  uint64_t seen_steps;
  tp_shm_watch_t watch;
};

struct tp_request {
  tp_groups_t *groups;
  tp_group_t *group; /* NULL for permutes */
  uint32_t tag;
  int algorithm; /* number of its row in algorithms.def, from 1; 0: of a permute or a barrier */
  tp_request_t *next_free;
  tp_request_t *next_active, **link; /* among the active ones */
  bool endpoint_thread_only;         /* only the endpoint's thread moves it on */
  tp_request_t *part;                /* of a transfer made of several: the one under way */
  uint32_t op_number;                /* among those of the group */
  atomic_bool over;                  /* nothing is left to do but to tell */
  hr_status_t status;                /* how it ended */
  uint64_t over_ns;                  /* when, if groups->notes_times */

  tp_posted_t *posted;
  int posted_count, posted_capacity;
  int awaited; /* messages of the round that have arrived */
  int round;
  hr_status_t (*arrived)(tp_request_t *request, int part); /* may be NULL */
  hr_status_t (*next)(tp_request_t *request);              /* NULL: the rounds are finished */
  hr_status_t (*finish)(tp_request_t *request);            /* called once at the end; may be NULL */
  hr_status_t (*poll)(tp_request_t *request,
                      bool *out_done); /* instead of rounds of messages; may be NULL */
  tp_space_t scratch;
  tp_space_t gathered; /* what all-reduce gathers: the all-gather inside it has the scratch space */

  /* The call's arguments and the algorithm's place in it. */
  const char *in;
  char *out, *result; /* the second: of an all-reduce that gathers first */
  size_t size_bytes;
  const hr_block_t *sends, *recvs; /* valid while the transfer is being started */
  tp_p2p_t p2p;                    /* of a permute: the one that is being started */
  int64_t count, segment;
  hr_reducer_t reducer;

  /* What follows is not cleared for a new transfer, but for the turns' groups. */
  tp_shm_op_t shm_ops[2]; /* the second: of a permute that also receives */
  tp_fold_t fold;
};

/* A new request is active until it is freed. It comes with the lock of progress.h, which
 * tp_request_started gives back. */
hr_status_t tp_request_new(tp_groups_t *groups, tp_group_t *group, tp_request_t **out_request);
/* Hands the request to the caller, or undoes it if it could not be started. */
hr_status_t tp_request_started(hr_status_t st, tp_request_t *request, tp_request_t **out_request);
/* Posts a message from or to a member; one of 0 bytes is none. */
hr_status_t tp_request_send(tp_request_t *request, int member, const void *data, size_t size_bytes);
hr_status_t tp_request_recv(tp_request_t *request, int member, void *data, size_t size_bytes,
                            int part);
/* The same by rank. */
hr_status_t tp_request_send_to(tp_request_t *request, int rank, const void *data,
                               size_t size_bytes);
hr_status_t tp_request_recv_from(tp_request_t *request, int rank, void *data, size_t size_bytes,
                                 int part);
/* The two ends of a message whose sender is done only when the receiver has started. One of 0 bytes
 * travels too. */
hr_status_t tp_request_ssend(tp_request_t *request, int rank, const void *data, size_t size_bytes);
hr_status_t tp_request_recv_ssend(tp_request_t *request, int rank, void *data, size_t size_bytes);
/* tp_requests_progress, by the endpoint's own thread or by another. */
void tp_requests_progress_from(tp_groups_t *groups, bool endpoint_thread_only);
/* Frees the memory of all requests of the pool. */
void tp_requests_deinit(tp_groups_t *groups);

/* Starts a reduction into fold->out; `wide` is memory for the accumulators if the reducer has wide
 * ones. */
void tp_fold_begin(tp_fold_t *fold, char *wide);
/* Folds in the members up to `member`; those before it have arrived. */
hr_status_t tp_fold_up_to(tp_fold_t *fold, int member);
/* Folds in what is left and stores the result. */
hr_status_t tp_fold_end(tp_fold_t *fold);

/* An algorithm starts `request`, whose arguments are set. */
typedef hr_status_t (*tp_algorithm_fn)(tp_request_t *request);
#define ALGORITHM(collective, name, start, where, most_bytes, cost) \
  hr_status_t start(tp_request_t *request);
#include "transport/algorithms/algorithms.def"
#undef ALGORITHM
/* What HLORUN_ALLREDUCE and its like, and HLORUN_COLL_INFO, say. */
void tp_algorithms_from_environment(tp_groups_t *groups);
const char *tp_collective_name(tp_collective_t collective); /* as in "all-reduce" */
/* The rows of algorithms.def, by number. */
int tp_algorithm_count(void);
const char *tp_algorithm_name(int algorithm, tp_collective_t *out_collective);
bool tp_algorithm_fits(int algorithm, tp_group_t *group, size_t bytes); /* can the group use it? */
/* Starts the algorithm for a transfer of so many bytes, as algorithms.def counts them; of a
 * permute: for a half. */
hr_status_t tp_algorithm_start(tp_collective_t collective, tp_request_t *request, size_t bytes);

#endif
