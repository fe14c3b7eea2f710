/* Checks that the given options have an effect, together and on the program: no option is ignored
 * silently. */
#ifndef CLI_USES_H
#define CLI_USES_H

#include "base/options.h"
#include "hlorun.h"

/* Refuses options that have no meaning without another one, or contradict one. Errors: USAGE. */
hr_status_t cli_uses_check(hr_command_t command, const hr_options_t *options);

/* Warns on standard error about options that have no effect beside others. One process calls it;
 * silent with --quiet. */
void cli_uses_warn(hr_command_t command, const hr_options_t *options);

/* Warns about one option, if it is given; `why` ends the sentence. */
void cli_uses_warn_idle(const hr_options_t *options, hr_option_id_t id, const char *why);

/* Warns about options that have no effect on the loaded program. `world`: number of processes. */
void cli_uses_warn_of_program(const hr_options_t *options, const hlorun_program_t *program,
                              int world);

/* Warns about results that are parts of arrays and are not gathered. */
void cli_uses_warn_of_parts(const hr_options_t *options, const hlorun_program_t *program);

/* Applies --platform to all programs that are read later. Errors: USAGE. */
hr_status_t cli_uses_choose_platform(const hr_options_t *options);

/* Refuses options that do not fit the program that was read: --fetch and --feed of tensors, unless
 * it is a TensorFlow graph; --platform, if the program is for one or names its platforms. Errors:
 * USAGE. */
hr_status_t cli_uses_check_read(const hr_options_t *options, const char *program);

#endif
