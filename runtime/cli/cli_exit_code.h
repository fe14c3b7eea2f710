/* The exit code of a run that -n started, past mpirun: processes that fail leave theirs in a file,
 * and the first one counts. mpirun's own exit code is another where it crashes while several
 * processes give up, and it may never end where the network to another host is cut. */
#ifndef CLI_EXIT_CODE_H
#define CLI_EXIT_CODE_H

#include "base/status.h"

/* Makes the file, and tells the processes to come where it is (HLORUN_VERDICT). Without one all
 * goes on as mpirun says. `has_name`: processes on this machine may not be children of this one,
 * who can do without. */
void cli_exit_code_open(bool has_name);
/* In a process that runs the program: opens the file that the launcher made, for a report after
 * files can no longer be opened. */
void cli_exit_code_keep(void);
/* In such a process: did -n start it, on this machine, and so watches over it? */
bool cli_exit_code_is_wanted(void);
/* By a process that is about to end, with a failure of its own or with 0. Does nothing if -n did
 * not start it. */
void cli_exit_code_report(int exit_code);
/* By a process that is about to become another program, which will tell nothing. */
void cli_exit_code_report_exec(void);
/* The first failure that was told; 0: none yet. */
int cli_exit_code_read(void);
/* How many processes have told theirs; INT_MAX if any has become another program. */
int cli_exit_code_told(void);
/* A process on another host cannot reach the file, and mpirun's own failures have exit code 1, too:
 * such a process ends with another code in place of 1. Gives other codes back. */
int cli_exit_code_for_mpirun(int code);
/* The exit code of processes that mpirun's stands for; 0: the failure is mpirun's own. */
int cli_exit_code_of_mpirun(int code);
/* The failure that such an exit code stands for, reported already; NULL for another code. */
hr_status_t cli_exit_code_status(int exit_code);
void cli_exit_code_close(void);

#endif
