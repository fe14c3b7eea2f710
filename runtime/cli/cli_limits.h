/* --max-memory and --max-time: what a run may take of the machine. */
#ifndef CLI_LIMITS_H
#define CLI_LIMITS_H

#include "base/options.h"

/* In the process that was started by the user: from now on counts the time of --max-time, for all
 * processes and restarts of the run. Errors: USAGE for limits that are none. */
hr_status_t cli_limits_begin(const hr_options_t *options);
/* In each process that runs the program: allocations beyond --max-memory fail; when the time is
 * over the process ends with exit code 6, whatever it is doing. Errors: UNAVAILABLE. */
hr_status_t cli_limits_apply(const hr_options_t *options);
/* The same for a process that reads the program and then starts others, whose limits these are:
 * until cli_limits_lift. */
hr_status_t cli_limits_apply_for_now(const hr_options_t *options);
void cli_limits_lift(void);
/* Is the time of --max-time over? */
bool cli_limits_is_over(void);
/* Seconds until it is over, 0 at least; about thirty years without --max-time. */
double cli_limits_left_s(void);

#endif
