/* Arguments that a program's file contains. */
#ifndef CLI_SNAPSHOT_H
#define CLI_SNAPSHOT_H

#include "cli/arrays/cli_signature.h"

/* Fills values[k] that are NULL from the arguments of an HloSnapshot; other programs, and arguments
 * that do not fit, leave them as they are. Errors: UNAVAILABLE; INVALID for a damaged one. */
hr_status_t cli_inputs_from_snapshot(const char *program_path, const cli_signature_t *signature,
                                     hlo_value_t **values);

#endif
