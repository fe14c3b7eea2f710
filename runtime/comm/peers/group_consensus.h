/* Do the processes of a collective's group, which may run different programs, have the same
 * collectives? Asked once, before the first step. */
#ifndef EXEC_GROUP_CONSENSUS_H
#define EXEC_GROUP_CONSENSUS_H

#include "comm/peers/process_comm.h"
#include "plan/plan.h"

/* Each member of a group must have the collectives that the others have with it, as often in the
 * text or not: same op, operands, reduction, channel. All ranks call it together. Errors: DISAGREE
 * naming both places, on all ranks alike; also for different grids. */
hr_status_t group_consensus(exec_comm_t *comm, const plan_t *plan);

#endif
