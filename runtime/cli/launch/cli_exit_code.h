/* The exit code of a run that -n started. Processes append their exit codes to a file, and the
 * first failure counts. mpirun's own exit code is not reliable: it may crash when several processes
 * abort, and may never end if the network to another host is cut. */
#ifndef CLI_EXIT_CODE_H
#define CLI_EXIT_CODE_H

#include "base/status.h"

/* In the launcher: makes the file and passes its path to later processes (HLORUN_VERDICT). Without
 * the file mpirun's exit code is used. `has_name`: the file needs a name, as processes on this
 * machine may not be children of this one. */
void cli_exit_code_open(bool has_name);
/* In a process that runs the program: opens the file that the launcher made, for a report after
 * files can no longer be opened. */
void cli_exit_code_keep(void);
/* In such a process: true if -n started it on this machine and so watches it. */
bool cli_exit_code_is_wanted(void);
/* In a process that is about to end: reports its exit code. No effect if -n did not start it. */
void cli_exit_code_report(int exit_code);
/* In a process that is about to execute another program, which will not report. */
void cli_exit_code_report_exec(void);
/* The same in a handler of SIGTERM, after cli_exit_code_keep: mpirun ends it while MPI is starting.
 */
void cli_exit_code_report_termination(int rank);
/* In the launcher: true if that rank has reported so; number of ranks that have. */
bool cli_exit_code_has_terminated(int rank);
int cli_exit_code_terminated(void);
/* The first failure that was reported; 0: none yet. */
int cli_exit_code_read(void);
/* Number of processes that have reported; INT_MAX if any has executed another program. */
int cli_exit_code_told(void);
/* The exit code for a process under mpirun. A process on another host cannot reach the file, and
 * mpirun's own failures have exit code 1, too: there 1 is replaced by another code. */
int cli_exit_code_for_mpirun(int code);
/* The processes' exit code that mpirun's exit code stands for; 0: a failure of mpirun itself. */
int cli_exit_code_of_mpirun(int code);
/* A status, already reported, for such an exit code; NULL for another code. */
hr_status_t cli_exit_code_status(int exit_code);
void cli_exit_code_close(void);

#endif
