/* Process groups: ordered lists of ranks that do collectives together. Made once and kept: equal
 * lists give the same group. A group's messages carry tags of their own, made from the list, its
 * stream and a count of its transfers, so transfers of different groups do not mix even when they
 * are under way at the same time. Thread: that of the endpoint. */
#ifndef TP_GROUP_H
#define TP_GROUP_H

#include "base/map.h"
#include "transport/core/transport.h"

typedef struct tp_request tp_request_t;

/* Memory that is kept from transfer to transfer. */
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

/* The algorithm of the last transfer by some collective, and what it was chosen for. */
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
  uint32_t transfers; /* started so far */
  int64_t stream;
  uint64_t explained[TP_COLLECTIVE_COUNT]; /* bit k: the choice for sizes of k bits was told */
  tp_choice_t choices[TP_COLLECTIVE_COUNT];
  bool probed_shm;
  int machines; /* on which its members sit, once it has looked for shared memory; 0 before */
  uint32_t next_op, done_ops; /* of transfers in stages over several machines: started, and over */
  const struct tp_machines *parts; /* of such a group; NULL: not made yet */
  struct tp_shm_group *shm;        /* NULL: it has no memory in common */
} tp_group_t;

/* All groups of one endpoint, and the memory that its transfers reuse. */
struct tp_groups {
  tp_endpoint_t *endpoint;
  hr_map_t by_ranks;
  tp_space_t key; /* of the group that is looked for */
  hr_arena_t arena;
  tp_group_t *world;            /* all ranks in order */
  struct tp_progress *progress; /* NULL: nothing moves by itself */
  const int *machine_of;        /* a number of the machine of each rank; NULL: there is only one */
  bool notes_times;             /* when transfers are over */
  bool is_polling;         /* nobody waits: what is not there is not waited for, however shortly */
  uint64_t progress_count; /* counts what moved, of any transfer */
  struct tp_shm *shm;      /* NULL: this rank shares no memory with others */
  tp_endpoint_t *p2p;      /* messages to ranks of this machine go through it; NULL: as to others */
  hr_map_t pipes;          /* tp_shm_group_t of two ranks, by pipe_key_t */
  struct tp_shm_group *last_pipes[2]; /* those used last: to receive, and to send */
  tp_choice_t permute_choices[2];     /* the same */
  uint64_t explained_permutes;        /* bit k: the choice for sizes of k bits was told */
  tp_request_t *free_requests;
  tp_request_t *active; /* all that have not been waited for: any wait moves all of them on */
  /* For tests and measurements: the name of the algorithm to use whatever the size (NULL: choose),
   * and what direct reductions do in one round (0: choose; at least one element). */
  const char *forced[TP_COLLECTIVE_COUNT];
  size_t segment_bytes;
  struct tp_tuning *tuning; /* what was measured; NULL: nothing */
  bool explains;            /* HLORUN_COLL_INFO */
};

/* Is it spread over several machines, one of them with several members? */
static inline bool tp_group_spans_machines(const tp_group_t *group) {
  return group->machines > 1 && group->machines < group->size;
}

/* Made on the first call; they end with the endpoint. */
hr_status_t tp_groups_of(tp_endpoint_t *endpoint, tp_groups_t **out_groups);

/* `stream`: transfers of one stream start in the same order on all members; those of different
 * streams (an instruction's channel id) need not. Errors: INVALID for a rank outside the world or
 * listed twice. */
hr_status_t tp_group_get(tp_groups_t *groups, int size, const int *ranks, int64_t stream,
                         tp_group_t **out_group);

#endif
