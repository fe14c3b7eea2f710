/* A file that holds the exit codes of processes, a digit each, in the order of their ends: the
 * launcher creates it, processes append to it (O_APPEND), and the first failure counts. A process
 * that mpirun ends while MPI is starting appends its rank between two marks, in letters. */
#include "cli/launch/cli_exit_code.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli_agree.h"

#define VARIABLE "HLORUN_VERDICT"
#define PREFIX "hlorun-verdict-" /* begin of the file's name */
#define PROC "/proc/"            /* where a file without a name is found */
#define MOST_CODE 9              /* a digit each */
#define EXEC_MARK 'x'
#define RANK_MARK 't'     /* begin of the rank of a process that mpirun ended */
#define RANK_DIGIT 'a'    /* its digits: a to j */
#define RANK_END_MARK '.' /* its end */
#define RANK_DIGITS 10    /* at most */
#define EXIT_MISMATCH 1
#define EXIT_MISMATCH_ELSEWHERE 65 /* in its place, by a process that cannot reach the file */

static char path[PATH_MAX]; /* name of the file that this process made */
static int file = -1;
static bool unlinks;
static int kept = -1; /* the launcher's file, opened beforehand; -1: not */

void cli_exit_code_open(bool has_name) {
  const char *folder = getenv("TMPDIR");
  if (has_name) {
    snprintf(path, sizeof path, "%s/" PREFIX "XXXXXX", folder && *folder ? folder : "/tmp");
    file = mkostemp(path, O_CLOEXEC);
    unlinks = true;
  } else {
    file = memfd_create("hlorun-verdict", MFD_CLOEXEC);
    snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)getpid(), file);
  }
  if (file >= 0) setenv(VARIABLE, path, 1);
}

/* True if cli_exit_code_open made the file: it has no name, or such a name and this user as owner.
 * Excludes other values of the variable, and files that others made after the launcher's end. */
static bool is_launchers_file(int fd, const char *where) {
  struct stat info;
  const char *slash = strrchr(where, '/');
  if (fstat(fd, &info) || !S_ISREG(info.st_mode) || info.st_uid != geteuid()) return false;
  if (!strncmp(where, PROC, strlen(PROC))) return info.st_nlink == 0;
  return info.st_nlink == 1 && slash && !strncmp(slash + 1, PREFIX, strlen(PREFIX));
}

/* -1: there is none, as on another host. */
static int open_launchers_file(void) {
  const char *where = getenv(VARIABLE);
  if (!where) return -1;
  int follows = strncmp(where, PROC, strlen(PROC)) ? O_NOFOLLOW : 0;
  int fd = open(where, O_WRONLY | O_APPEND | O_NONBLOCK | O_NOCTTY | O_CLOEXEC | follows);
  if (fd < 0 || is_launchers_file(fd, where)) return fd;
  close(fd);
  return -1;
}

void cli_exit_code_keep(void) { kept = open_launchers_file(); }

bool cli_exit_code_is_wanted(void) {
  int fd = kept >= 0 ? kept : open_launchers_file();
  if (fd >= 0 && fd != kept) close(fd);
  return fd >= 0;
}

void cli_exit_code_report_termination(int rank) {
  char text[RANK_DIGITS + 2];
  size_t at = sizeof text;
  text[--at] = RANK_END_MARK;
  for (int rest = rank; at == sizeof text - 1 || rest; rest /= 10)
    text[--at] = (char)(RANK_DIGIT + rest % 10);
  text[--at] = RANK_MARK;
  if (kept >= 0 && write(kept, text + at, sizeof text - at) < 0) return;
}

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

typedef struct marks {
  int told;    /* number of exit codes */
  int failure; /* the first that is not 0 */
  bool execs;
  int terminated;      /* number of ranks that mpirun ended */
  bool has_terminated; /* the rank that is asked for is among them */
  int number;          /* rank that is being read */
} marks_t;

static void read_mark(marks_t *marks, char mark, int rank) {
  if (mark >= '0' && mark <= '9') {
    marks->told++;
    if (!marks->failure) marks->failure = mark - '0';
  } else if (mark == EXEC_MARK) {
    marks->execs = true;
  } else if (mark == RANK_MARK) {
    marks->number = 0;
  } else if (mark == RANK_END_MARK) {
    marks->terminated++;
    if (marks->number == rank) marks->has_terminated = true;
  } else {
    marks->number = marks->number * 10 + mark - RANK_DIGIT;
  }
}

static marks_t read_all(int rank) {
  char text[256];
  off_t offset = 0;
  marks_t marks = {0};
  for (int count; (count = read_marks(text, sizeof text, offset)) > 0; offset += count)
    for (int i = 0; i < count; i++) read_mark(&marks, text[i], rank);
  return marks;
}

int cli_exit_code_read(void) { return read_all(-1).failure; }

int cli_exit_code_told(void) {
  marks_t marks = read_all(-1);
  return marks.execs ? INT_MAX : marks.told;
}

bool cli_exit_code_has_terminated(int rank) { return read_all(rank).has_terminated; }
int cli_exit_code_terminated(void) { return read_all(-1).terminated; }

/* The file of the own launcher is in /proc. */
int cli_exit_code_for_mpirun(int code) {
  const char *where = getenv(VARIABLE);
  if (code != EXIT_MISMATCH || !where || !strncmp(where, PROC, strlen(PROC))) return code;
  return cli_exit_code_is_wanted() ? code : EXIT_MISMATCH_ELSEWHERE;
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
