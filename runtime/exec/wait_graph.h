/* Who waits for whom, when nothing moves any more: each process that gives up tells rank 0 what it waits for, and
 * rank 0 reports all of it, the cycle first. */
#ifndef EXEC_WAIT_GRAPH_H
#define EXEC_WAIT_GRAPH_H

#include "exec/comm.h"

/* The failure of a process that has waited too long, with what it waits for; on rank 0 with what the others said within
 * a second. Called while it waits, by the thread that does. */
hr_status_t exec_wait_give_up(exec_comm_t *comm, double waited_s);
/* In words: what a process does whose current instruction is `current` (NULL: none yet). From any thread: what it reads
 * may be a moment old. */
void exec_wait_describe(const exec_comm_t *comm, const hlo_instr_t *current, char *into, size_t size);

#endif
