/* The file that this process runs. Thread: any. */
#ifndef HR_BASE_EXECUTABLE_H
#define HR_BASE_EXECUTABLE_H

#include <limits.h>
#include <stdbool.h>

/* Absolute path without symbolic links, from /proc/self/exe; without a /proc from the path given to
 * execve, which may be relative: call it before the working directory changes. False: errno is
 * set. */
bool hr_executable_path(char path[PATH_MAX]);

#endif
