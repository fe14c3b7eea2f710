/* Endings of file names, which choose the format of a written file. */
#ifndef CLI_EXTENSIONS_H
#define CLI_EXTENSIONS_H

#include "base/options.h"

bool cli_ends_with(const char *path, const char *ending);
/* Checks that the path of this option has one of these endings (the list ends with NULL) or none:
 * "-", a name without a dot, or a device. Errors: USAGE with the list. */
hr_status_t cli_check_extension(const hr_options_t *options, hr_option_id_t id,
                                const char *const *endings);

#endif
