/* Limits the time that MPI may take to start. MPI_Init() waits until every process of the job has
 * called it, and cannot be cancelled: a process that is stopped, or hangs, while it starts would
 * hold up the others for ever. Processes of hlorun's own launcher have that limit in the client. */
#ifndef CLI_START_WATCH_H
#define CLI_START_WATCH_H

#include "base/options.h"

/* Called before the client is created. A process that MPI starts with others then warns of a long
 * start (HLORUN_WATCHDOG), and ends with exit code 6 some seconds after --timeout; both messages
 * name stopped processes of this machine. Meanwhile the end of a process is reported
 * (cli_start_guard.h). No effect in other processes.
 * Errors: UNAVAILABLE without an event loop. */
hr_status_t cli_start_watch_begin(const hr_options_t *options);
/* Called after the creation of the client has succeeded or failed. */
void cli_start_watch_end(void);

#endif
