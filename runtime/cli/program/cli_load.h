/* Loads a program in all processes; a failure that all of them have is reported once. */
#ifndef CLI_LOAD_H
#define CLI_LOAD_H

#include "base/options.h"
#include "hlorun.h"

/* Collective. *out_of_step: only this process failed, and no agreement is possible afterwards. */
hr_status_t cli_load_program(hlorun_client_t *client, const char *path,
                             const hlorun_program_options_t *options,
                             hlorun_program_t **out_program, bool *out_of_step);

#endif
