/* The deadlock proof for processes that run different programs: rank 0 collects all programs and
 * proves them together. */
#ifndef HLORUN_PROVE_H
#define HLORUN_PROVE_H

#include "comm/peers/process_comm.h"
#include "plan/plan.h"

/* Collective over the world: every process passes the plan of its own program, after the grid was
 * agreed. Programs that are too long to be sent run without a proof. Errors: DISAGREE on every
 * rank; rank 0 has the report. */
hr_status_t prove_together(exec_comm_t *comm, const plan_t *plan);

#endif
