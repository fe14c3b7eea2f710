/* Ctrl-C, termination, hang-up: executions are cancelled and the run ends in order, the command by
 * the signal, as shells expect (130, 143), a process of a launcher with 5. A second signal, or two
 * seconds without an end, end it at once. */
#ifndef CLI_SIGNALS_H
#define CLI_SIGNALS_H

#include <stdbool.h>

#include "hlorun.h"

#include "base/status.h"

/* A mapped file that others cut ends this process with a message and exit code 5, not by SIGBUS. */
void cli_signals_catch_cut_files(void);

hr_status_t cli_signals_watch(hlorun_client_t *client);
/* Before the client is released. */
void cli_signals_unwatch(void);
/* Ends this process by the signal, unless it is 0 or a launcher watches this process, which takes
 * that for a crash. */
void cli_signals_end_by(int signal_number);
/* The exit code of this process: 128 and the signal's number after a signal under mpirun or srun,
 * else `code`. */
int cli_signals_exit_code(int code);
/* The signal that arrived; 0: none. */
int cli_signals_caught(void);
/* Was it sent to this process alone? A signal of the terminal, or one that the launcher hands on,
 * is not; the latter takes a moment. */
bool cli_signals_is_alone(void);

#endif
