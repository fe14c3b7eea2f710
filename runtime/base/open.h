/* Opening what may keep a process waiting: a FIFO whose other end nobody has opened, a terminal on
 * which nobody types. The wait has a limit (--timeout), and is told about when it is long. Regular
 * files are opened as by open(). Thread: any; the limit is set once. */
#ifndef HR_BASE_OPEN_H
#define HR_BASE_OPEN_H

#include "base/status.h"

/* Seconds that each wait may take from now on; 0, as at the start: any time. */
void hr_open_limit(double seconds);

/* `flags`: O_RDONLY, or O_WRONLY with others of open(); O_CLOEXEC and O_NOCTTY are added. A FIFO is
 * open when it has its other end. Errors: UNAVAILABLE with the path and the system's reason;
 * DEADLINE. */
hr_status_t hr_open(const char *path, int flags, int *out_fd);
/* Waits until a read does not: there is input, or its end. `path` is for messages.
 * Errors: DEADLINE. */
hr_status_t hr_open_await_input(int fd, const char *path);

#endif
