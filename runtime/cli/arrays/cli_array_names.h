/* Names of arrays in files: in3, in3@2, out0. */
#ifndef CLI_ARRAY_NAMES_H
#define CLI_ARRAY_NAMES_H

#include "cli/arrays/cli_signature.h"

/* Which arrays of a file a process looks at. */
typedef struct cli_array_names {
  const cli_signature_t *signature;
  bool is_result; /* outK instead of inK */
  int rank;       /* number of the process */
} cli_array_names_t;

/* Checks that arrays inK and inK@RANK are those of a parameter and of a process; *out_named: how
 * many there are. What arrays of other processes hold is not checked, as their programs may differ.
 * Errors: USAGE with the name and what was wanted. */
hr_status_t cli_array_names_check(const array_file_t *file, const cli_array_names_t *names,
                                  int *out_named);

/* Reads the RANK after '@'; -1: it is not a number of at most nine digits, up to `end`. */
int cli_array_rank(const char *text, const char *end);
/* Error USAGE: `what` has `name`, whose RANK is no process of the run. */
hr_status_t cli_array_error_rank(const cli_signature_t *signature, const char *what, hr_str_t name);

#endif
