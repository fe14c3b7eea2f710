/* Who takes part in an instruction's communication, on a grid: sites. What is the same for several
 * instructions (lists of groups, of pairs) is worked out once, for all ranks. */
#ifndef CHECK_PARTICIPANTS_H
#define CHECK_PARTICIPANTS_H

#include "comm/model/comm_analysis.h"

typedef struct check_group {
  uint32_t id;    /* equal for equal sets of ranks */
  uint64_t order; /* hash of the ranks as listed */
  int size;
  const int *ranks; /* ascending */
} check_group_t;

typedef enum comm_kind {
  COMM_CHANNEL, /* send and recv */
  COMM_PAIRS,   /* collective-permute */
  COMM_GROUP    /* other collectives */
} comm_kind_t;

/* May two processes be the ends of a channel that does not name them? On a grid of several rows and
 * columns a channel joins partitions of one replica, or without an id replicas. */
static inline bool check_can_match(int num_replicas, int num_partitions, int64_t channel, int a,
                                   int b) {
  if (num_partitions == 1 || num_replicas == 1) return true;
  return channel > 0 ? a / num_partitions == b / num_partitions
                     : a % num_partitions == b % num_partitions;
}

typedef struct comm_participants {
  const hlo_instr_t *instr;
  comm_kind_t kind;
  int64_t channel;      /* 0: none */
  uint32_t list;        /* number of the list of pairs */
  const int *to, *from; /* per rank; -1: none; NULL: the channel says nothing of its ends */
  const check_group_t *const *groups; /* GROUP: per rank; NULL: in none */
  bool covers;                        /* GROUP: every rank is in one */
  uint64_t meaning;                   /* GROUP: equal if the op and the reduction are */
} comm_participants_t;

typedef struct comm_participant_sets {
  hr_arena_t *arena;
  int num_replicas, num_partitions, world;
  hr_map_t lists;  /* text of pairs and groups, with their mode, to what they mean */
  hr_map_t groups; /* sets of ranks */
  hr_map_t sites;  /* by instruction */
  uint32_t list_count;
} comm_participant_sets_t;

void comm_participant_sets_init(comm_participant_sets_t *sites, hr_arena_t *arena, int num_replicas,
                                int num_partitions);
void comm_participant_sets_deinit(comm_participant_sets_t *sites);
/* Errors: INVALID for ids that the grid does not have. */
hr_status_t comm_participants_of(comm_participant_sets_t *sites, const hlo_instr_t *instr,
                                 const comm_participants_t **out_site);

#endif
