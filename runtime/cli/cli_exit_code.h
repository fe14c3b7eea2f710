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
/* By a process that is about to end with a failure of its own. Does nothing if -n did not start it.
 */
void cli_exit_code_report(int exit_code);
/* What was told first; 0: nothing yet. */
int cli_exit_code_read(void);
/* The failure that such an exit code stands for, reported already; NULL for another code. */
hr_status_t cli_exit_code_status(int exit_code);
void cli_exit_code_close(void);

#endif
