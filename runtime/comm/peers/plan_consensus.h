/* Do all processes run the same plan? Asked once, before the first step, so that a difference is an
 * error with the two lines that differ, not a hang. */
#ifndef EXEC_PLAN_CONSENSUS_H
#define EXEC_PLAN_CONSENSUS_H

#include "comm/peers/process_comm.h"

/* `texts`: what must be the same everywhere, line by line. All ranks call it together. In agreement
 * it costs one exchange of 16 bytes. Errors: DISAGREE, on every rank alike, with the first line
 * that differs from rank 0's. */
hr_status_t plan_consensus(exec_comm_t *comm, const char *const *texts, int count);

#endif
