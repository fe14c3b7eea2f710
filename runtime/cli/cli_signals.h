/* Ctrl-C, termination, hang-up: executions are cancelled, the run ends in order and exits with 5. A
 * second signal, or two seconds without an end, end it at once. */
#ifndef CLI_SIGNALS_H
#define CLI_SIGNALS_H

#include "hlorun.h"

#include "base/status.h"

hr_status_t cli_signals_watch(hlorun_client_t *client);
/* Before the client is released. */
void cli_signals_unwatch(void);
/* The signal that arrived; 0: none. */
int cli_signals_caught(void);

#endif
