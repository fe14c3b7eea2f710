/* Options that make processes communicate while a program runs. All processes must get the same
 * ones, or some wait for messages that the others never send. */
#ifndef CLI_COLLECTIVE_OPTIONS_H
#define CLI_COLLECTIVE_OPTIONS_H

#include "base/options.h"
#include "hlorun.h"

/* Collective. Errors: USAGE on rank 0 for the first option that differs on another rank. */
hr_status_t cli_collective_options_check(hlorun_client_t *client, const hr_options_t *options);

#endif
