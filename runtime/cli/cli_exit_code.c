/* A file that holds the exit codes of failing processes in the order of their failures: the
 * launcher creates it, processes append to it (O_APPEND), and the first entry counts. */
#include "cli/cli_exit_code.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cli/cli_agree.h"

#define VARIABLE "HLORUN_VERDICT"
#define MOST_CODE 9 /* a digit each */

static char path[PATH_MAX]; /* of the file that this process made */
static int file = -1;
static bool unlinks;

void cli_exit_code_open(bool has_name) {
  const char *folder = getenv("TMPDIR");
  if (has_name) {
    snprintf(path, sizeof path, "%s/hlorun-verdict-XXXXXX", folder && *folder ? folder : "/tmp");
    file = mkostemp(path, O_CLOEXEC);
    unlinks = true;
  } else {
    file = memfd_create("hlorun-verdict", MFD_CLOEXEC);
    snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)getpid(), file);
  }
  if (file >= 0) setenv(VARIABLE, path, 1);
}

void cli_exit_code_report(int exit_code) {
  const char *where = getenv(VARIABLE);
  char digit = (char)('0' + exit_code);
  if (!where || exit_code < 1 || exit_code > MOST_CODE) return;
  int fd = open(where, O_WRONLY | O_APPEND | O_CLOEXEC); /* not there on another host */
  if (fd < 0) return;
  if (write(fd, &digit, 1) != 1) fprintf(stderr, "hlorun: cannot write %s\n", where);
  close(fd);
}

int cli_exit_code_read(void) {
  char digit;
  return file >= 0 && pread(file, &digit, 1, 0) == 1 && digit >= '1' && digit <= '9' ? digit - '0'
                                                                                     : 0;
}

hr_status_t cli_exit_code_status(int exit_code) {
  static const hr_code_t codes[] = {[1] = HR_MISMATCH, [2] = HR_USAGE,       [3] = HR_INVALID,
                                    [4] = HR_DISAGREE, [5] = HR_UNAVAILABLE, [6] = HR_DEADLINE};
  bool known = exit_code > 0 && exit_code < (int)(sizeof codes / sizeof *codes);
  return known ? cli_reported(codes[exit_code]) : NULL;
}

void cli_exit_code_close(void) {
  if (file < 0) return;
  close(file);
  if (unlinks) unlink(path);
  unsetenv(VARIABLE);
  file = -1;
}
