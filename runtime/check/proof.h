/* Internal: the result under construction, shared by the stages of a proof. */
#ifndef CHECK_PROOF_H
#define CHECK_PROOF_H

#include "check/check.h"
#include "comm/model/comm_trace.h"

#define CHECK_NEVER UINT32_MAX

/* A blocked process: its event `event` waits for event `awaited` of process `other`. */
typedef struct check_wait {
  int rank;
  uint32_t event;
  int other;        /* -1: no process can end the wait */
  uint32_t awaited; /* CHECK_NEVER: no such event exists */
} check_wait_t;

/* A misuse or an open question, with up to two instructions (NULL: none). */
typedef struct check_problem {
  const char *text;
  const hlo_instr_t *first, *second;
  int first_rank, second_rank; /* -1: no particular rank */
} check_problem_t;

struct check_result {
  hr_arena_t arena;
  check_options_t options;
  int world, program_count;
  const check_program_t *programs;
  comm_participant_sets_t sites;
  comm_analysis_t *analysis;     /* per program */
  HR_VEC(comm_trace_t *) traces; /* distinct traces; owned */
  const comm_trace_t **of;       /* per rank */
  hr_map_t ends;                 /* peers of channels without source_target_pairs */
  check_verdict_t verdict;
  const char *headline;
  HR_VEC(check_problem_t) problems;
  HR_VEC(check_wait_t) waits; /* the cycle first */
  int cycle_length;           /* leading waits that form a cycle; 0: the first wait can never end */
  uint32_t *reached;          /* per rank: events completed before the deadlock, or all */
  const char *region;         /* decision that leads to the deadlock; NULL: none */
  uint64_t event_count;
};

/* Records a problem, up to a maximum number, and raises the verdict. Errors: NO_MEMORY. */
hr_status_t check_add_problem(check_result_t *result, check_verdict_t verdict,
                              check_problem_t problem);
hr_status_t check_printf(check_result_t *result, const char **out_text, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* channel_peers.c: resolves the peers of channels without source_target_pairs. */
hr_status_t check_match_channels(check_result_t *result);
/* The peer of `rank` on a channel; -1: none. `sends`: rank is the sender. */
int check_channel_peer(const check_result_t *result, const comm_participants_t *site, int rank,
                       bool sends);

/* planned_order.c: the decision. Sets verdict, waits and problems. */
hr_status_t check_planned(check_result_t *result);

#endif
