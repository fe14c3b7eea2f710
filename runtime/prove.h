/* The proof for processes that run different programs: each knows its own only, so rank 0 collects
 * them when they meet. */
#ifndef HLORUN_PROVE_H
#define HLORUN_PROVE_H

#include "comm/peers/process_comm.h"
#include "plan/plan.h"

/* Collective: all processes of the world call it with their programs, after they have agreed on the
 * grid. Programs that are too long to send around run without a proof. Errors: DISAGREE on every
 * rank; rank 0 has the report. */
hr_status_t prove_together(exec_comm_t *comm, const plan_t *plan);

#endif
