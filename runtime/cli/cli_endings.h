/* Endings of file names, which say in what form a file is written. */
#ifndef CLI_ENDINGS_H
#define CLI_ENDINGS_H

#include "base/options.h"

bool cli_ends_with(const char *path, const char *ending);
/* Has the path of this option one of these endings (the list ends with NULL), or none: "-", a name
 * without a dot, or a device? Errors: USAGE with the list. */
hr_status_t cli_check_ending(const hr_options_t *options, hr_option_id_t id,
                             const char *const *endings);

#endif
