/* `hlorun run --stop-after STAGE`: prints the program after a stage, instead of running it. */
#ifndef CLI_STOP_H
#define CLI_STOP_H

#include "base/options.h"

/* Prints HLO text that reads back, or for stage `plan` the plan, to standard output or --output.
 * Runs no program and needs no peers. Errors: those of the stages; USAGE for an unknown stage. */
hr_status_t cli_stop(const hr_options_t *options);

#endif
