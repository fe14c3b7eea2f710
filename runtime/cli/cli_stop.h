/* `hlorun run --stop-after STAGE`: the program as it is on its way, instead of its results. */
#ifndef CLI_STOP_H
#define CLI_STOP_H

#include "base/options.h"

/* Prints to standard output or --output: HLO text that reads back, of `plan` the plan. Runs
 * nothing, talks to no peer. Errors: those of the stages; USAGE for a stage that does not exist. */
hr_status_t cli_stop(const hr_options_t *options);

#endif
