/* Finds waits that can never end, while the program runs and without a time limit: every process
 * counts what it starts, and knows while it waits whose starts it waits for. Rank 0, when it has
 * waited for a while itself, asks the others where they are. A process that computes does not
 * answer and so is never taken for stuck. What the answers say is believed when all who are stuck
 * were so at one and the same moment. Memory: that of the counts, which all processes keep: 16
 * bytes for each group, channel end and pair of a permute. Cost:   nothing but a look at the clock
 * for waits shorter than a fifth of a second. Thread: that of the machine. One per client. */
#ifndef EXEC_DEADLOCK_DETECTOR_H
#define EXEC_DEADLOCK_DETECTOR_H

#include "comm/peers/process_comm.h"

typedef struct exec_watch exec_watch_t;

/* What must happen first: each of these ranks has started `what` `count` times. */
typedef struct exec_need {
  uint64_t what; /* a hash of the group and its stream, or of the end of a channel: the same number
                    everywhere */
  uint64_t count;
  const int *ranks;
  int rank_count;
} exec_need_t;

#define EXEC_WAIT_NEEDS 2

typedef struct exec_wait {
  const hlo_instr_t *instr;
  exec_need_t needs[EXEC_WAIT_NEEDS];
  int need_count;
} exec_wait_t;

hr_status_t exec_watch_create(exec_comm_t *comm, exec_watch_t **out_watch);
void exec_watch_destroy(exec_watch_t *watch); /* accepts NULL */

/* Counts one more start of `what`; gives its number, from 1. */
hr_status_t exec_watch_count(exec_watch_t *watch, uint64_t what, uint64_t *out_number);
/* Waits for a request, and frees it. `wait` says what for. Errors: as tp_request_wait; DISAGREE as
 * exec_watch_poll. */
hr_status_t exec_watch_wait(exec_watch_t *watch, const exec_wait_t *wait, tp_request_t *request);
/* All ranks together, when they have come to the end of an execution. */
hr_status_t exec_watch_finish(exec_watch_t *watch);
/* Called again and again while the process waits, for anything (tp_endpoint_t.interrupted). Accepts
 * NULL. Errors: DISAGREE on rank 0 when somebody waits for what can never come, with who waits for
 * whom, a cycle first. */
hr_status_t exec_watch_poll(exec_watch_t *watch);

#endif
