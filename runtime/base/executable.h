/* The file that this process runs. Thread: any. */
#ifndef HR_BASE_EXECUTABLE_H
#define HR_BASE_EXECUTABLE_H

#include <limits.h>
#include <stdbool.h>

/* Absolute, without symbolic links: the kernel's name of the file, whatever argv[0] says; without a
 * /proc what execve was given, which must be called for before the working directory changes. False
 * with errno if neither can be had. */
bool hr_executable_path(char path[PATH_MAX]);

#endif
