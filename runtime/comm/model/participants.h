/* Participants of communication instructions on a grid ("sites"). Lists of groups and pairs that
 * several instructions share are expanded to ranks once.
 * Owner:   everything lives in the arena.
 * Thread:  one. */
#ifndef CHECK_PARTICIPANTS_H
#define CHECK_PARTICIPANTS_H

#include "comm/model/comm_analysis.h"

typedef struct check_group {
  uint32_t id;    /* id of the set of ranks, from 1 */
  uint64_t order; /* hash of the ranks in listed order */
  int size;
  const int *ranks; /* ascending */
} check_group_t;

typedef enum comm_kind {
  COMM_CHANNEL, /* send and recv */
  COMM_PAIRS,   /* collective-permute */
  COMM_GROUP    /* other collectives */
} comm_kind_t;

/* True if ranks a and b can be the ends of a channel that does not name them. On a grid of several
 * replicas and partitions a channel with an id joins partitions of one replica, a channel without
 * an id joins replicas. */
static inline bool check_can_match(int num_replicas, int num_partitions, int64_t channel, int a,
                                   int b) {
  if (num_partitions == 1 || num_replicas == 1) return true;
  return channel > 0 ? a / num_partitions == b / num_partitions
                     : a % num_partitions == b % num_partitions;
}

typedef struct comm_participants {
  const hlo_instr_t *instr;
  comm_kind_t kind;
  int64_t channel;                    /* 0: none */
  uint32_t list;                      /* PAIRS: number of the list of pairs */
  const int *to, *from;               /* peer per rank; -1: none; NULL: not given */
  const check_group_t *const *groups; /* GROUP: per rank; NULL: in no group */
  bool covers;                        /* GROUP: every rank is in a group */
  uint64_t meaning;                   /* GROUP: hash of op, reduction and dimensions */
} comm_participants_t;

typedef struct comm_participant_sets {
  hr_arena_t *arena;
  int num_replicas, num_partitions, world;
  hr_map_t lists;  /* expanded pairs and groups, by ids and mode */
  hr_map_t shared; /* expanded groups by the address of their lists and mode */
  hr_map_t groups; /* check_group_t by set of ranks */
  hr_map_t sites;  /* comm_participants_t by instruction */
  uint32_t list_count;
} comm_participant_sets_t;

void comm_participant_sets_init(comm_participant_sets_t *sites, hr_arena_t *arena, int num_replicas,
                                int num_partitions);
void comm_participant_sets_deinit(comm_participant_sets_t *sites);
/* The participants of an instruction, cached. Errors: INVALID for ids outside of the grid or listed
 * twice; NO_MEMORY. */
hr_status_t comm_participants_of(comm_participant_sets_t *sites, const hlo_instr_t *instr,
                                 const comm_participants_t **out_site);

#endif
