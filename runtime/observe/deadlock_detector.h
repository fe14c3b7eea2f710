/* Deadlock detection at run time, without a time limit, for --verify-comm. Every process counts its
 * starts and knows, while it waits, whose starts it waits for. Rank 0 asks the others when it has
 * waited for some time itself. A process that computes does not answer and is never reported.
 * Memory: 16 bytes per group, channel end and pair of a permute, on every rank.
 * Cost:   a read of the clock for waits shorter than a fifth of a second.
 * Owner:  one per client.
 * Thread: that of the execution. */
#ifndef EXEC_DEADLOCK_DETECTOR_H
#define EXEC_DEADLOCK_DETECTOR_H

#include "comm/peers/process_comm.h"

typedef struct exec_watch exec_watch_t;

/* A condition of a wait: each of `ranks` has started `what` at least `count` times. */
typedef struct exec_need {
  uint64_t what; /* hash of group and stream, or of a channel end; equal on all ranks */
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

/* Counts a start of `what`. *out_number: its number, from 1. Errors: NO_MEMORY. */
hr_status_t exec_watch_count(exec_watch_t *watch, uint64_t what, uint64_t *out_number);
/* Waits for a request and releases it. `wait`: its conditions, borrowed. Errors: as
 * tp_request_wait; DISAGREE as exec_watch_poll. */
hr_status_t exec_watch_wait(exec_watch_t *watch, const exec_wait_t *wait, tp_request_t *request);
/* Collective, after an execution: waits for all ranks and completes the detector's messages. */
hr_status_t exec_watch_finish(exec_watch_t *watch);
/* Serves the protocol; to be called repeatedly while the process waits (tp_endpoint_t.interrupted).
 * Accepts NULL. Errors: DISAGREE on rank 0 for a deadlock, with all waits, those of a cycle
 * first. */
hr_status_t exec_watch_poll(exec_watch_t *watch);

#endif
