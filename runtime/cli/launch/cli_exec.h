/* `hlorun -n 8 python train.py`: starts an executable file with arguments instead of an XLA
 * program; it finds its peers through the plugin for JAX. */
#ifndef CLI_EXEC_H
#define CLI_EXEC_H

#include <stdbool.h>

#include "base/status.h"

/* If the first word that is no option names an executable (by path, or in PATH; machine code or a
 * script): starts as many processes of it as -n says. In a process that a launcher started,
 * executes the file instead and does not return. Sets *out_is_done unless there is no such word.
 * Errors: USAGE for wrong options before the word; UNAVAILABLE. */
hr_status_t cli_exec(int argc, char *const *argv, bool *out_is_done);

#endif
