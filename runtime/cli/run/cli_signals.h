/* SIGINT, SIGTERM, SIGHUP: executions are cancelled and the run ends in order. The command then
 * ends by the signal, as shells expect (130, 143), a process of a launcher with exit code 5. A
 * second signal, or two seconds, end the process at once. */
#ifndef CLI_SIGNALS_H
#define CLI_SIGNALS_H

#include <stdbool.h>

#include "hlorun.h"

#include "base/status.h"

/* Signals that this process ignores at first: writes fail instead where nobody reads or files are
 * too large, and SIGUSR1 does no harm before and after there is a state to print. Programs that it
 * starts get them back. */
void cli_signals_ignore(void);
void cli_signals_restore(void);

/* If a mapped file is truncated, ends this process with a message and exit code 5 instead of
 * SIGBUS.
 */
void cli_signals_catch_cut_files(void);

/* True for SIGHUP if the parent process had it ignored, as nohup does: it stays so. Shells have
 * SIGINT ignored by background commands, which end by it nevertheless when it is sent to them. */
bool cli_signals_is_ignored(int signal_number);

hr_status_t cli_signals_watch(hlorun_client_t *client);
/* Before the client is released. */
void cli_signals_unwatch(void);
/* Ends this process by the signal. No effect if the signal is 0, or if a launcher watches this
 * process, which would report a crash. */
void cli_signals_end_by(int signal_number);
/* The exit code of this process: 128 and the signal's number after a signal under mpirun or srun,
 * else `code`. */
int cli_signals_exit_code(int code);
/* The signal that arrived; 0: none. */
int cli_signals_caught(void);
/* True if the signal was sent to this process alone: neither by the terminal, nor forwarded by the
 * launcher. May wait for a moment to find out. */
bool cli_signals_is_alone(void);

#endif
