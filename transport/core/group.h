/* Process groups: ordered lists of ranks for collectives, like MPI's communicators. Equal lists and
 * streams give the same group, which lives as long as the endpoint. Tags of a group's messages are
 * made of list, stream and a count of its transfers, so that concurrent transfers of different
 * groups do not match each other's messages.
 * Thread:  that of the endpoint. */
#ifndef TP_GROUP_H
#define TP_GROUP_H

#include "base/map.h"
#include "transport/core/transport.h"

typedef struct tp_request tp_request_t;

/* A buffer that grows on demand and is reused by later transfers (tp_space_reserve). */
typedef struct tp_space {
  char *data;
  size_t size_bytes;
} tp_space_t;

typedef enum tp_collective {
  TP_ALL_REDUCE,
  TP_REDUCE_SCATTER,
  TP_ALL_GATHER,
  TP_ALL_TO_ALL,
  TP_BROADCAST,
  TP_PERMUTE,
  TP_COLLECTIVE_COUNT
} tp_collective_t;

/* The last choice of an algorithm for a collective, and the inputs of that choice: the cache of
 * tp_algorithm_start. */
typedef struct tp_choice {
  const struct tp_algorithm *algorithm; /* NULL: none yet */
  size_t bytes;
  const char *forced;
  const struct tp_tuning *tuning;
  bool shares_memory, is_reorderable;
} tp_choice_t;

typedef struct tp_group {
  tp_groups_t *owner;
  int size;
  int my_index;     /* position of this rank; -1: not a member */
  const int *ranks; /* in listed order */
  uint32_t tag_base;
  uint32_t transfers; /* transfers started so far */
  int64_t stream;
  uint64_t explained[TP_COLLECTIVE_COUNT]; /* bit k: the choice for sizes of k bits was printed */
  tp_choice_t choices[TP_COLLECTIVE_COUNT];
  bool probed_shm;          /* `machines` and `shm` are set */
  int machines;             /* number of machines of the members */
  struct tp_shm_group *shm; /* NULL: the members share no memory */

  /* Groups over several machines, some of them with several members (hierarchy.h). */
  const struct tp_machines *parts; /* NULL: not made yet */
  uint32_t next_op;                /* staged transfers (hierarchy.h) that were started */
  uint32_t done_ops;               /* staged transfers that have ended */
} tp_group_t;

/* All groups of one endpoint, its requests, and the memory that its transfers reuse. */
struct tp_groups {
  tp_endpoint_t *endpoint;
  hr_map_t by_ranks;
  tp_space_t key; /* scratch space of tp_group_get */
  hr_arena_t arena;
  tp_group_t *world;     /* all ranks in order */
  const int *machine_of; /* by rank: number of its machine; NULL: unknown */

  /* Progress. */
  struct tp_progress *progress; /* progress thread; NULL: transfers advance in waits only */
  uint64_t progress_count;      /* events of any transfer: messages arrived, steps done */
  bool is_polling;              /* no caller waits: step functions do not spin */
  bool notes_times;             /* record tp_completion_t.over_ns */
  bool checks_messages;         /* a checksum follows every message (tp_groups_check_messages) */
  tp_request_t *free_requests;  /* pool */
  tp_request_t *active;         /* requests not freed yet; every wait advances all of them */

  /* Shared memory. */
  struct tp_shm *shm; /* NULL: this rank shares no memory with others */
  tp_endpoint_t *p2p; /* transport to ranks of this machine (shm_p2p.h); NULL: `endpoint` */
  hr_map_t pipes;     /* tp_shm_group_t of two ranks, by pipe_key_t */
  struct tp_shm_group *last_pipes[2]; /* groups used last: [0] to receive, [1] to send */

  /* Choice of algorithms. */
  tp_choice_t permute_choices[2]; /* [0] to receive, [1] to send */
  uint64_t explained_permutes;    /* bit k: the choice for sizes of k bits was printed */
  /* For tests and measurements: the algorithm for all sizes (NULL: choose), and the bytes of a
   * segment of direct reductions and of a chunk in shared memory (0: choose). */
  const char *forced[TP_COLLECTIVE_COUNT];
  size_t segment_bytes;
  struct tp_tuning *tuning; /* measured costs; NULL: none */
  bool explains;            /* HLORUN_COLL_INFO: print choices */
};

/* True for a group over several machines, one of them with several members. */
static inline bool tp_group_spans_machines(const tp_group_t *group) {
  return group->machines > 1 && group->machines < group->size;
}

/* The groups of an endpoint; created, collectively over the world, by the first call. */
hr_status_t tp_groups_of(tp_endpoint_t *endpoint, tp_groups_t **out_groups);

/* After this call a checksum follows every message, and transfers within a machine are messages
 * instead of accesses to shared memory. Results keep their bits. All ranks call it at the same
 * place of their order of transfers. A damaged message fails its transfer (UNAVAILABLE). */
void tp_groups_check_messages(tp_groups_t *groups);

/* Finds or creates a group. Not collective. `stream`: transfers of one stream start in the same
 * order on all members; those of different streams (channel ids of instructions) need not. Errors:
 * INVALID a rank outside the world or listed twice. */
hr_status_t tp_group_get(tp_groups_t *groups, int size, const int *ranks, int64_t stream,
                         tp_group_t **out_group);

#endif
