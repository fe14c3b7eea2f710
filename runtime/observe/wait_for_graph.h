/* Who waits for whom. Rank 0 asks all others where they are, when it is asked to (a signal to any
 * process) or when some process has waited too long, and reports what they say within a second, a
 * cycle first. A process answers while it waits, and while it iterates in a loop: one that computes
 * otherwise is silent. Cost: a look for messages now and then while a process waits; nothing for
 * short waits. */
#ifndef EXEC_WAIT_FOR_GRAPH_H
#define EXEC_WAIT_FOR_GRAPH_H

#include "comm/peers/process_comm.h"

/* Asks for the report, which rank 0 prints to standard error when it waits next. From any thread of
 * any rank. */
void exec_wait_query(exec_comm_t *comm);
/* Called again and again while the process waits or iterates in a loop, by the thread that does;
 * `often`: thousands of times a second. Errors: DEADLINE on rank 0 when another process has waited
 * too long, with the report. */
hr_status_t exec_wait_poll(exec_comm_t *comm, bool often);
/* The failure of a process that has waited too long, with what it waits for; on rank 0 with the
 * report. Called as exec_wait_poll. */
hr_status_t exec_wait_cancel(exec_comm_t *comm, double waited_s);
/* In words: what a process does whose current instruction is `current` (NULL: none yet). From any
 * thread: what it reads may be a moment old. */
void exec_wait_describe(const exec_comm_t *comm, const hlo_instr_t *current, char *into,
                        size_t size);

#endif
