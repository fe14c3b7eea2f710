/* FIFOs are opened without blocking. A reader then waits by poll(), which reports no end of the
 * input before the first writer. Opening for writing fails with ENXIO until there is a reader, and
 * is tried again. */
#include "base/open.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"

#define MODE 0666
#define LOOK_MS 20
#define WARN_MS 60000

typedef struct wait {
  const char *path, *wanted;
  int64_t start_ms;
  bool has_warned;
} wait_t;

static int64_t limit_ms; /* 0: none */

void hr_open_limit(double seconds) {
  limit_ms = seconds > 0 && seconds < 1e12 ? (int64_t)(seconds * 1000) : 0;
}

static wait_t begin_wait(const char *path, const char *wanted) {
  return (wait_t){.path = path, .wanted = wanted, .start_ms = hr_clock_ms()};
}

static hr_status_t check_wait(wait_t *wait) {
  int64_t waited_ms = hr_clock_ms() - wait->start_ms;
  if (limit_ms && waited_ms >= limit_ms)
    return hr_error(HR_DEADLINE, "waited %g s for %s %s", 1e-3 * (double)limit_ms, wait->wanted,
                    wait->path);
  if (waited_ms < WARN_MS || wait->has_warned) return NULL;
  wait->has_warned = true;
  hr_log(HR_LOG_CLI, HR_LOG_WARN, "waiting for %s %s, for %d s by now", wait->wanted, wait->path,
         WARN_MS / 1000);
  return NULL;
}

/* The time until the wait has to look at the clock again. */
static int patience_ms(const wait_t *wait) {
  int64_t until_ms = limit_ms && (wait->has_warned || limit_ms < WARN_MS) ? limit_ms : WARN_MS;
  int64_t left_ms = wait->start_ms + until_ms - hr_clock_ms();
  if (wait->has_warned && !limit_ms) return -1;
  if (left_ms >= INT_MAX) return INT_MAX;
  return left_ms > 0 ? (int)left_ms + 1 : 0;
}

/* What poll() cannot watch, such as a regular file, never waits. */
hr_status_t hr_open_await_input(int fd, const char *path) {
  wait_t wait = begin_wait(path, "input from");
  struct pollfd watched = {.fd = fd, .events = POLLIN};
  for (;;) {
    int ready = poll(&watched, 1, patience_ms(&wait));
    if (ready > 0 || (ready < 0 && errno != EINTR)) return NULL;
    HR_TRY(check_wait(&wait));
  }
}

static bool is_fifo(const char *path) {
  struct stat info;
  return stat(path, &info) == 0 && S_ISFIFO(info.st_mode);
}

/* From now on reads and writes wait as usual. */
static hr_status_t make_blocking(int fd, const char *path) {
  int flags = fcntl(fd, F_GETFL);
  if (flags >= 0 && fcntl(fd, F_SETFL, flags & ~O_NONBLOCK) == 0) return NULL;
  return hr_error(HR_UNAVAILABLE, "cannot open %s: %s", path, strerror(errno));
}

/* errno says why there is none yet. */
static hr_status_t open_now(const char *path, int flags, int *out_fd) {
  wait_t wait = begin_wait(path, "a reader of");
  for (;;) {
    *out_fd = open(path, flags | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, MODE);
    if (*out_fd >= 0) return NULL;
    bool has_no_reader = errno == ENXIO && (flags & O_ACCMODE) == O_WRONLY && is_fifo(path);
    if (!has_no_reader && errno != EINTR)
      return hr_error(HR_UNAVAILABLE, "cannot open %s: %s", path, strerror(errno));
    HR_TRY(check_wait(&wait));
    poll(NULL, 0, LOOK_MS);
  }
}

hr_status_t hr_open(const char *path, int flags, int *out_fd) {
  int fd = -1;
  struct stat info;
  HR_TRY(open_now(path, flags, &fd));
  bool is_input = (flags & O_ACCMODE) == O_RDONLY;
  bool waits = is_input && fstat(fd, &info) == 0 && S_ISFIFO(info.st_mode);
  hr_status_t st = waits ? hr_open_await_input(fd, path) : NULL;
  if (!st) st = make_blocking(fd, path);
  if (!st)
    *out_fd = fd;
  else
    close(fd);
  return st;
}
