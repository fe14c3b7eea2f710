/* --max-restarts N: after a failure, the process that started a run with --checkpoint starts it
 * again from the newest whole checkpoint. */
#ifndef CLI_RESTART_H
#define CLI_RESTART_H

#include "cli/cli.h"

/* *out_wanted: this process starts and watches the run instead of running the program itself.
 * Errors: USAGE without --checkpoint, for a program that can be read only once, or under a
 * launcher.
 */
hr_status_t cli_restart_is_wanted(const hr_options_t *options, bool *out_wanted);

/* Starts the run on so many processes, also on one, and again after failures that may be transient:
 * a rank that died, a peer or file that failed, a stall (exit codes 5 and 6). Errors: those of the
 * last run. */
hr_status_t cli_restart_run(const cli_arguments_t *arguments, int processes);

/* True in a process of such a run. */
bool cli_restart_is_run(void);
/* In a process of such a run: number of restarts so far. */
int cli_restart_number(void);

#endif
