/* Checks before the first step that ranks with different programs have matching collectives. */
#ifndef EXEC_GROUP_CONSENSUS_H
#define EXEC_GROUP_CONSENSUS_H

#include "comm/peers/process_comm.h"
#include "plan/plan.h"

/* Collective. Every member of a group must have each collective of the other members: same op,
 * operand shapes, reduction and channel; the number of executions is not compared. Errors: DISAGREE
 * on all ranks alike, with both source locations; also for different grids. */
hr_status_t group_consensus(exec_comm_t *comm, const plan_t *plan);

#endif
