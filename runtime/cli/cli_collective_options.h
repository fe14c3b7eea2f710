/* Options for which processes talk to each other while a program runs: all of them have to be given
 * the same ones, or some wait for a word that the others never send. */
#ifndef CLI_COLLECTIVE_OPTIONS_H
#define CLI_COLLECTIVE_OPTIONS_H

#include "base/options.h"
#include "hlorun.h"

/* Collective. Errors: USAGE on rank 0 for the first option that another rank was given otherwise.
 */
hr_status_t cli_collective_options_check(hlorun_client_t *client, const hr_options_t *options);

#endif
