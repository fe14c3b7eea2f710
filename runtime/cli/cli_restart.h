/* --max-restarts N: a run with --checkpoint that a failure ends is started again, from the newest
 * whole checkpoint, by the process that started it. */
#ifndef CLI_RESTART_H
#define CLI_RESTART_H

#include "cli/cli.h"

/* Should this process start and watch the run, and not run itself? Errors: USAGE without
 * --checkpoint, for a program that can be read but once, or under a launcher. */
hr_status_t cli_restart_is_wanted(const hr_options_t *options, bool *out_wanted);

/* Starts the run on so many processes, also on one, and again after failures that may pass: a rank
 * that died, a peer or file that failed, a stall (exit codes 5 and 6). `arguments` as main's.
 * Errors: those of the last run. */
hr_status_t cli_restart_run(const cli_arguments_t *arguments, int processes);

/* Is this a process of such a run? */
bool cli_restart_is_run(void);
/* In a process of such a run: how often it was started again. */
int cli_restart_number(void);

#endif
