/* The exit code of a run that -n started, past mpirun: processes that fail leave theirs in a file, and the first one
 * counts. mpirun's own exit code is another where it crashes while several processes give up, and it may never end where
 * the network to another host is cut. */
#ifndef CLI_VERDICT_H
#define CLI_VERDICT_H

#include "base/status.h"

/* Makes the file, and tells the processes to come where it is (HLORUN_VERDICT). Without one all goes on as mpirun says. */
void cli_verdict_open(void);
/* By a process that is about to end with a failure of its own. Does nothing if -n did not start it. */
void cli_verdict_tell(int exit_code);
/* What was told first; 0: nothing yet. */
int cli_verdict_read(void);
void cli_verdict_close(void);

#endif
