/* Opens files that may block: a FIFO without its other end, a terminal without input. The wait is
 * limited (--timeout), and a long one causes a message. Regular files are opened as by open().
 * Thread: any; the limit is set once. */
#ifndef HR_BASE_OPEN_H
#define HR_BASE_OPEN_H

#include "base/status.h"

/* Sets the limit of each later wait, in seconds; 0, the initial value: no limit. */
void hr_open_limit(double seconds);

/* `flags`: O_RDONLY, or O_WRONLY with other flags of open(); adds O_CLOEXEC and O_NOCTTY. For a
 * FIFO, waits until the other end is open. Errors: UNAVAILABLE with the path and the system's
 * reason; DEADLINE. */
hr_status_t hr_open(const char *path, int flags, int *out_fd);
/* Waits until read() would not block: input or end of file. `path` is for messages.
 * Errors: DEADLINE. */
hr_status_t hr_open_await_input(int fd, const char *path);

#endif
