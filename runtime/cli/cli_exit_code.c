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

static char path[PATH_MAX]; /* name of the file that this process made */
static int file = -1;
static bool unlinks;
static int kept = -1; /* the launcher's file, opened beforehand; -1: not */

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

/* -1: there is none, as on another host. */
static int open_launchers_file(void) {
  const char *where = getenv(VARIABLE);
  return where ? open(where, O_WRONLY | O_APPEND | O_CLOEXEC) : -1;
}

void cli_exit_code_keep(void) { kept = open_launchers_file(); }

void cli_exit_code_report(int exit_code) {
  char digit = (char)('0' + exit_code);
  if (exit_code < 1 || exit_code > MOST_CODE) return;
  int fd = kept >= 0 ? kept : open_launchers_file();
  if (fd < 0) return;
  if (write(fd, &digit, 1) != 1) fprintf(stderr, "hlorun: cannot report the exit code\n");
  if (fd != kept) close(fd);
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
