/* What the stages of a proof hand to each other. */
#ifndef CHECK_PROOF_H
#define CHECK_PROOF_H

#include "check/check.h"
#include "comm/model/comm_trace.h"

#define CHECK_NEVER UINT32_MAX

/* A process that is stuck: its event `event` waits for event `awaited` of process `other`, which
 * has not happened. */
typedef struct check_wait {
  int rank;
  uint32_t event;
  int other;        /* -1: nobody could end this wait */
  uint32_t awaited; /* CHECK_NEVER: there is no such event */
} check_wait_t;

/* Something that is wrong, or could not be shown, with the places it is about (NULL: none). */
typedef struct check_problem {
  const char *text;
  const hlo_instr_t *first, *second;
  int first_rank, second_rank; /* -1: of no rank in particular */
} check_problem_t;

struct check_result {
  hr_arena_t arena;
  check_options_t options;
  int world, program_count;
  const check_program_t *programs;
  comm_participant_sets_t sites;
  comm_analysis_t *analysis;     /* per program */
  HR_VEC(comm_trace_t *) traces; /* the different ones */
  const comm_trace_t **of;       /* per rank */
  hr_map_t ends;                 /* of channels whose instructions do not name them */
  check_verdict_t verdict;
  const char *headline;
  HR_VEC(check_problem_t) problems;
  HR_VEC(check_wait_t) waits; /* the cycle first */
  int cycle_length;           /* waits that form a cycle; 0: the first waits for what never comes */
  uint32_t *reached;          /* per rank: events that happened before it got stuck, or all */
  const char *region;         /* in which the run gets stuck; NULL: in none */
  uint64_t event_count;
};

/* Records a problem, unless there are many already, and makes the verdict at least as bad. */
hr_status_t check_add_problem(check_result_t *result, check_verdict_t verdict,
                              check_problem_t problem);
hr_status_t check_printf(check_result_t *result, const char **out_text, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* channel_peers.c: finds the ends of channels that do not name them. */
hr_status_t check_match_channels(check_result_t *result);
/* The other end of a channel for `rank`; -1: it takes no part. `sends`: rank is the sender. */
int check_channel_peer(const check_result_t *result, const comm_participants_t *site, int rank,
                       bool sends);

/* planned_order.c: the decision. Sets verdict, waits and problems. */
hr_status_t check_planned(check_result_t *result);

#endif
