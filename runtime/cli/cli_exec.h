/* `hlorun -n 8 python train.py`: what is started is not a program of XLA but an executable file
 * with arguments, which finds its peers by the plugin for JAX. */
#ifndef CLI_EXEC_H
#define CLI_EXEC_H

#include <stdbool.h>

#include "base/status.h"

/* If the first word that is no option names an executable (by path, or in PATH; machine code or a
 * script): starts it as often as -n says, or, in a process that a launcher started, becomes it.
 * Sets *out_is_done unless there is no such word; it does not return where it becomes the file.
 * Errors: USAGE for wrong options before the word; UNAVAILABLE. */
hr_status_t cli_exec(int argc, char *const *argv, bool *out_is_done);

#endif
