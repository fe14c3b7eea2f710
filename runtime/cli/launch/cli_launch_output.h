/* Standard error of the processes of one machine, merged by their launcher. */
#ifndef CLI_LAUNCH_OUTPUT_H
#define CLI_LAUNCH_OUTPUT_H

#include <signal.h>

#include "base/status.h"

typedef struct cli_launch_output cli_launch_output_t;

/* Makes a pipe for each rank but the first, which writes to standard error itself. Where
 * descriptors run out, the remaining ranks write there too. Errors: NO_MEMORY. */
hr_status_t cli_launch_output_create(int processes, cli_launch_output_t **out_output);
/* In the child, before exec: standard error becomes its pipe. */
void cli_launch_output_enter(const cli_launch_output_t *output, int rank);
/* In the parent, once the child has started: closes the child's end. */
void cli_launch_output_started(cli_launch_output_t *output, int rank);

/* Waits for output, for a signal that `mask` lets through, or for wait_ms; then shows whole lines
 * that have been held long enough. */
void cli_launch_output_wait(cli_launch_output_t *output, int wait_ms, const sigset_t *mask);
/* Shows the rest and frees the output. Accepts NULL. */
void cli_launch_output_finish(cli_launch_output_t *output);

#endif
