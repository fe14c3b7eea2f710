/* The wait-for report: which rank waits for which. The lowest living rank asks all ranks for
 * their state, on request (a signal to any process), when a rank times out, or after a stall, and
 * reports within two seconds, a cycle first. A rank answers while it waits and while it iterates
 * in a loop; otherwise it is silent.
 * Cost:    a probe for messages now and then while a process waits; nothing for short waits.
 * Thread:  the one that waits, unless stated. */
#ifndef EXEC_WAIT_FOR_GRAPH_H
#define EXEC_WAIT_FOR_GRAPH_H

#include "comm/peers/process_comm.h"

/* Requests the report. The reporting rank prints it to standard error during its next wait. Thread:
 * any, on any rank. */
void exec_wait_query(exec_comm_t *comm);
/* Serves the protocol; to be called repeatedly while the process waits or iterates in a loop.
 * `often`: thousands of times a second, so that most calls return at once. Errors: DEADLINE on the
 * asking rank, with the report, if another rank has timed out. */
hr_status_t exec_wait_poll(exec_comm_t *comm, bool often);
/* Requests the report as a warning that this rank has waited `waited_s` seconds. No effect if
 * another rank has asked since the wait began. */
hr_status_t exec_wait_warn(exec_comm_t *comm, double waited_s);
/* Seconds that processes may take to start, in addition to a time limit. */
#define EXEC_START_GRACE_S 3
/* Length in seconds of a wait after which a process warns, from HLORUN_WATCHDOG; 0: never. */
double exec_wait_stall_s(void);
/* Returns DEADLINE for this rank after `waited_s` seconds; on the asking rank with the report. */
hr_status_t exec_wait_cancel(exec_comm_t *comm, double waited_s);
/* Describes the present activity of this process, as text of at most `size` bytes; `current`: its
 * current instruction, NULL outside of programs. Thread: any; the text may be slightly out of
 * date. */
void exec_wait_describe(const exec_comm_t *comm, const hlo_instr_t *current, char *into,
                        size_t size);

#endif
