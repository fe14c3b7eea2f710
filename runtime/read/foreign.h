/* Files that are no programs but may be mistaken for one. */
#ifndef READ_FOREIGN_H
#define READ_FOREIGN_H

#include "base/arena.h"
#include "base/status.h"

/* Recognises such a file by its first bytes, and a Python script by its statements. Errors: INVALID
 * with the path, the kind of file, and the Python or shell lines that convert it to a program. */
hr_status_t read_foreign(const char *path, hr_str_t bytes);

#endif
