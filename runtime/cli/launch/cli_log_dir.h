/* --log-dir: a file for the standard error of each process. */
#ifndef CLI_LOG_DIR_H
#define CLI_LOG_DIR_H

#include <sys/uio.h>

#include "base/options.h"

/* If --log-dir is given, creates the folder and redirects standard error to FOLDER/rankN.log.
 * Errors:  UNAVAILABLE.
 * Thread:  before other threads exist. */
hr_status_t cli_log_dir_open(const hr_options_t *options, int rank);
/* The original standard error. */
FILE *cli_log_dir_terminal(void);
/* Writes the last words of a process to standard error, and with --log-dir to the original one,
 * too. Async-signal-safe. */
void cli_log_dir_write(const struct iovec *parts, int count);

#endif
