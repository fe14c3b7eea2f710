/* Whether the options that were given have an effect beside each other, and on the program: no
 * option is passed over silently. */
#ifndef CLI_USES_H
#define CLI_USES_H

#include "base/options.h"
#include "hlorun.h"

/* Refuses options that mean nothing without another one, or contradict it. Errors: USAGE. */
hr_status_t cli_uses_check(hr_command_t command, const hr_options_t *options);

/* Warns on standard error about options that have no effect beside others. One process calls it;
 * silent with --quiet. */
void cli_uses_warn(hr_command_t command, const hr_options_t *options);

/* The same about one option, if it is given; `why` ends the sentence. */
void cli_uses_warn_idle(const hr_options_t *options, hr_option_id_t id, const char *why);

/* The same about what the program has no use for, once it is loaded. `world`: processes of the run.
 */
void cli_uses_warn_of_program(const hr_options_t *options, const hlorun_program_t *program,
                              int world);

/* The same about results that are parts of arrays, and stay parts. */
void cli_uses_warn_of_parts(const hr_options_t *options, const hlorun_program_t *program);

/* --platform is for all programs that are read from now on. Errors: USAGE. */
hr_status_t cli_uses_choose_platform(const hr_options_t *options);

/* Refuses what the program that was read cannot take: --fetch, and --feed of tensors, unless it is
 * a TensorFlow graph, --platform if it is for one, or names them. Errors: USAGE. */
hr_status_t cli_uses_check_read(const hr_options_t *options, const char *program);

#endif
