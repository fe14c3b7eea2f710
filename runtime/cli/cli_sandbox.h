/* --sandbox: what the text of a program can reach. The options say which files are its inputs and
 * outputs; everything else is refused by the kernel (base/sandbox.h), in code of libraries and
 * plugins, too. */
#ifndef CLI_SANDBOX_H
#define CLI_SANDBOX_H

#include "base/options.h"

/* None has an effect without --sandbox.
 *
 * Before the first thread starts: confines the process to the files that the options name, others
 * that are read (`inputs` ends with NULL, or is NULL), the system's libraries, and what describes
 * the machine. Output folders are made.
 * Errors: USAGE options that need more; UNAVAILABLE. */
hr_status_t cli_sandbox_open(const hr_options_t *options, const char *const *inputs);
/* After peers are connected, before the program is read: filters the system calls of all threads.
 * Errors: UNAVAILABLE. */
hr_status_t cli_sandbox_close(const hr_options_t *options);
/* A part of cli_sandbox_open, for a process that starts those that are confined. Errors: USAGE. */
hr_status_t cli_sandbox_forbid_cache(const hr_options_t *options);
/* Both at once, for a process without threads and peers. */
hr_status_t cli_sandbox_enter(const hr_options_t *options);

#endif
