/* Checks before the first step that all ranks run the same plan, so that a difference is an error
 * with the lines that differ, not a hang. */
#ifndef EXEC_PLAN_CONSENSUS_H
#define EXEC_PLAN_CONSENSUS_H

#include "comm/peers/process_comm.h"

/* Collective. `texts`: `count` lines that must be equal on all ranks. `title`: name of this rank's
 * program in messages; may be "", and may differ between ranks.
 * Cost:   one all-gather of a digest if they are equal.
 * Errors: DISAGREE on all ranks alike, with the first line that differs from rank 0's. */
hr_status_t plan_consensus(exec_comm_t *comm, const char *title, const char *const *texts,
                           int count);

#endif
