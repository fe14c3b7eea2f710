/* Standard error is replaced at the level of file descriptors, so that output of libraries goes to
 * the file too. The old descriptor is kept for progress and reports of failures. */
#include "cli/launch/cli_log_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "cli/launch/cli_restart.h"

static FILE *terminal;
static int terminal_fd = -1; /* descriptor of `terminal` */

FILE *cli_log_dir_terminal(void) { return terminal ? terminal : stderr; }

void cli_log_dir_write(const struct iovec *parts, int count) {
  ssize_t written = writev(STDERR_FILENO, parts, count);
  if (terminal_fd >= 0) written = writev(terminal_fd, parts, count);
  (void)written; /* nothing is left to tell it to */
}

/* Moves the old descriptor to a number above the standard ones. */
static hr_status_t replace(const char *path) {
  int file = -1, kept = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
  hr_status_t st = hr_file_open_in_place(path, cli_restart_number() ? O_APPEND : O_TRUNC, &file);
  if (!st && (kept < 0 || dup2(file, STDERR_FILENO) < 0))
    st = hr_error(HR_UNAVAILABLE, "cannot write %s: %s", path, strerror(errno));
  st = hr_status_note(st, "of --log-dir");
  if (file >= 0) close(file);
  if (!st) terminal = fdopen(kept, "w");
  if (terminal) terminal_fd = kept;
  if (!terminal && kept >= 0) close(kept);
  return st;
}

/* Overwrites the file of an earlier run; a restarted run appends to its own. */
hr_status_t cli_log_dir_open(const hr_options_t *options, int rank) {
  const char *folder = hr_option_text(options, HR_OPTION_LOG_DIR);
  char path[PATH_MAX];
  if (!folder) return NULL;
  HR_TRY(hr_folder_make(folder));
  if (snprintf(path, sizeof path, "%s/rank%d.log", folder, rank) >= (int)sizeof path)
    return hr_error(HR_USAGE, "--log-dir %s: the path is too long", folder);
  return replace(path);
}
