/* Where processes meet while a schedule is followed: links, which count the sends and the recvs
 * from one process to another, and gathers, which count the instances of a group's collectives. */
#ifndef CHECK_MATCHING_H
#define CHECK_MATCHING_H

#include "check/proof.h"

#define CHECK_NOBODY (-1)

typedef struct check_arrival { /* an event of a process */
  const check_event_t *event;
  int rank;
} check_arrival_t;

typedef struct check_channel_key {
  int64_t channel;
  uint32_t list; /* of a collective-permute's pairs; 0: a channel */
  int from, to;
  uint32_t unused; /* keys are compared as bytes */
} check_channel_key_t;

/* Side 0 sends, side 1 receives. */
typedef struct check_channel {
  check_channel_key_t key;
  uint32_t started[2];
  int waiting[2]; /* who waits until started[side] reaches need[side] */
  uint32_t need[2];
  HR_VEC(check_arrival_t)
  unmatched; /* starts that have no partner yet, from `first` on: all of one side */
  size_t first;
} check_channel_t;

typedef struct check_collective_key {
  uint32_t group, unused;
  int64_t channel;
} check_collective_key_t;

typedef struct check_instance {
  uint32_t arrived;
  check_arrival_t first;
} check_instance_t;

typedef struct check_collective {
  check_collective_key_t key;
  const check_group_t *group;
  uint32_t *counts; /* per member: instances that it has started */
  HR_VEC(check_instance_t) instances;
  int waiters; /* the first of a list of processes; CHECK_NOBODY ends it */
} check_collective_t;

typedef struct check_matching {
  hr_arena_t arena;
  hr_map_t channels, collectives;
  HR_VEC(check_channel_t *) all_channels;
  HR_VEC(check_collective_t *) all_collectives;
} check_matching_t;

void check_matching_init(check_matching_t *matching);
void check_matching_deinit(check_matching_t *matching);

/* Counts a start, and compares it with its partner or with the first that came: a difference is
 * misuse. */
hr_status_t check_channel_start(check_result_t *result, check_channel_t *channel, int side,
                                int rank, const check_event_t *event);
hr_status_t check_collective_start(check_result_t *result, check_collective_t *collective, int rank,
                                   const check_event_t *event, uint32_t *out_number);

/* Two starts of one process that may swap places must carry the same; else that is misuse. */
hr_status_t check_starts_agree(check_result_t *result, const check_event_t *a,
                               const check_event_t *b, int rank);

/* The links of an event: link[0] is what the process sends on, link[1] what it receives on; NULL:
 * none. */
typedef struct check_ends {
  check_channel_t *channel[2];
  check_collective_t *collective;
} check_ends_t;
/* `event` is a start, or a done whose site is its start's. A process that no group names leaves all
 * NULL. */
hr_status_t check_ends_of(const check_result_t *result, check_matching_t *matching, int rank,
                          const check_event_t *event, check_ends_t *out_ends);

#endif
