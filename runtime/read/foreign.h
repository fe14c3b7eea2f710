/* Files that are no programs, but that people take for some. */
#ifndef READ_FOREIGN_H
#define READ_FOREIGN_H

#include "base/arena.h"
#include "base/status.h"

/* NULL, or an error that says by the first bytes what the file is, with the lines of Python (or of
 * the shell) that make a program of it. Errors: INVALID with the path. */
hr_status_t read_foreign(const char *path, hr_str_t bytes);

#endif
