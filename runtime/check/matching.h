/* Matching of communication operations: channels, which count sends and recvs from one process to
 * another, and collectives, which count the instances of a group. Owner: the arena of
 * check_matching_t, except the vectors. */
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
  uint32_t list; /* number of a collective-permute's list of pairs; 0: a channel */
  int from, to;
  uint32_t unused; /* always zero: keys are hashed as bytes */
} check_channel_key_t;

/* Side 0 sends, side 1 receives. */
typedef struct check_channel {
  check_channel_key_t key;
  uint32_t started[2];
  int waiting[2]; /* per side: rank that waits until started[side] reaches need[side] */
  uint32_t need[2];
  HR_VEC(check_arrival_t)
  unmatched; /* queue of starts without a partner, from `first` on; all of one side */
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
  uint32_t *counts; /* per member: number of instances started */
  HR_VEC(check_instance_t) instances;
  int waiters; /* head of the list of waiting ranks, which ends with CHECK_NOBODY */
} check_collective_t;

typedef struct check_matching {
  hr_arena_t arena;
  hr_map_t channels, collectives;
  HR_VEC(check_channel_t *) all_channels;
  HR_VEC(check_collective_t *) all_collectives;
} check_matching_t;

void check_matching_init(check_matching_t *matching);
void check_matching_deinit(check_matching_t *matching);

/* Counts a start and compares it with its partner, or with the first arrival of its instance. A
 * disagreement is recorded as misuse. Errors: NO_MEMORY. */
hr_status_t check_channel_start(check_result_t *result, check_channel_t *channel, int side,
                                int rank, const check_event_t *event);
hr_status_t check_collective_start(check_result_t *result, check_collective_t *collective, int rank,
                                   const check_event_t *event, uint32_t *out_number);

/* Compares two unordered starts of one process, which must be interchangeable; else records misuse.
 */
hr_status_t check_starts_agree(check_result_t *result, const check_event_t *a,
                               const check_event_t *b, int rank);

/* Endpoints of an event: channel[0] to send, channel[1] to receive, or a collective; NULL: none. */
typedef struct check_ends {
  check_channel_t *channel[2];
  check_collective_t *collective;
} check_ends_t;
/* Finds the endpoints of `event`, a start or a done; all NULL for a process in no group. Errors:
 * NO_MEMORY. */
hr_status_t check_ends_of(const check_result_t *result, check_matching_t *matching, int rank,
                          const check_event_t *event, check_ends_t *out_ends);

#endif
