/* A file that holds the exit codes of processes, a digit each, in the order of their ends: the
 * launcher creates it, processes append to it (O_APPEND), and the first failure counts. */
#include "cli/cli_exit_code.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cli/cli_agree.h"

#define VARIABLE "HLORUN_VERDICT"
#define MOST_CODE 9 /* a digit each */
#define EXEC_MARK 'x'
#define EXIT_MISMATCH 1
#define EXIT_MISMATCH_ELSEWHERE 65 /* in its place, by a process that cannot reach the file */

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

static void append(char mark) {
  int fd = kept >= 0 ? kept : open_launchers_file();
  if (fd < 0) return;
  if (write(fd, &mark, 1) != 1) fprintf(stderr, "hlorun: cannot report the exit code\n");
  if (fd != kept) close(fd);
}

void cli_exit_code_report(int exit_code) {
  if (exit_code >= 0 && exit_code <= MOST_CODE) append((char)('0' + exit_code));
}

void cli_exit_code_report_exec(void) { append(EXEC_MARK); }

/* The marks from `offset` on; how many there are, `room` at most. */
static int read_marks(char *into, int room, off_t offset) {
  ssize_t size = file >= 0 ? pread(file, into, (size_t)room, offset) : 0;
  return size > 0 ? (int)size : 0;
}

int cli_exit_code_read(void) {
  char marks[256];
  off_t offset = 0;
  for (int count; (count = read_marks(marks, sizeof marks, offset)) > 0; offset += count)
    for (int i = 0; i < count; i++)
      if (marks[i] >= '1' && marks[i] <= '9') return marks[i] - '0';
  return 0;
}

int cli_exit_code_told(void) {
  char marks[256];
  off_t offset = 0;
  for (int count; (count = read_marks(marks, sizeof marks, offset)) > 0; offset += count)
    if (memchr(marks, EXEC_MARK, (size_t)count)) return INT_MAX;
  return (int)offset;
}

/* The file of the own launcher is in /proc. */
int cli_exit_code_for_mpirun(int code) {
  const char *where = getenv(VARIABLE);
  if (code != EXIT_MISMATCH || !where || !strncmp(where, "/proc/", 6)) return code;
  return kept >= 0 || access(where, W_OK) == 0 ? code : EXIT_MISMATCH_ELSEWHERE;
}

/* Other programs tell nothing, and may end with 1. */
int cli_exit_code_of_mpirun(int code) {
  if (code == EXIT_MISMATCH_ELSEWHERE) return EXIT_MISMATCH;
  return code == EXIT_MISMATCH && cli_exit_code_told() < INT_MAX ? 0 : code;
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
