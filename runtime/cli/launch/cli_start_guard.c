#include "cli/launch/cli_start_guard.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli/launch/cli_exit_code.h"
#include "cli/launch/cli_rank_watch.h"
#include "transport/core/transport.h"
#include "transport/shm/local_launch.h"

#define LOOK_MS 20           /* time between two looks at the ranks */
#define LINGER_NS 150000000  /* time between SIGTERM and the end */
#define LAUNCHER_END_MS 3000 /* grace period for mpirun; it takes 1 s to end ranks by SIGKILL */
#define SYS_CLOSE_RANGE 436  /* Linux 5.9; missing in older C libraries */

#define RANK_VARIABLE "OMPI_COMM_WORLD_RANK"
#define HIDDEN '_' /* its first letter in the guard */

/* What a rank tells its guard. */
#define BEGIN_MARK 'b'
#define TERMINATION_MARK 't'
#define CLOSE_MARK 'c'

static int guard_fd = -1; /* the pipe to the guard; -1: there is none */
static int rank;

/* --- in the rank --- */

static void tell_guard(char mark) {
  if (guard_fd >= 0 && write(guard_fd, &mark, 1) < 0) return;
}

/* Signals of others than mpirun end the process at once. */
static void on_termination(int signal_number, siginfo_t *info, void *context) {
  (void)context;
  if (info->si_pid == getppid()) {
    cli_exit_code_report_termination(rank);
    tell_guard(TERMINATION_MARK);
    nanosleep(&(struct timespec){.tv_nsec = LINGER_NS}, NULL);
  }
  signal(signal_number, SIG_DFL);
  raise(signal_number); /* delivered when this function returns */
}

static bool is_under_mpi(void) { return !tp_local_launch_is_set() && tp_launcher_world_size() > 1; }

void cli_start_guard_linger(void) {
  struct sigaction before, action = {.sa_sigaction = on_termination, .sa_flags = SA_SIGINFO};
  if (!is_under_mpi()) return;
  rank = tp_launcher_rank();
  if (sigaction(SIGTERM, NULL, &before) || before.sa_handler != SIG_DFL) return;
  cli_exit_code_keep();
  sigaction(SIGTERM, &action, NULL);
}

/* --- the guard --- */

typedef struct guard {
  cli_rank_watch_t *ranks;
  pid_t launcher;
  bool is_watching, is_terminated, is_closed;
} guard_t;

static bool is_mpirun(pid_t process) {
  static const char *const names[] = {"mpirun", "mpiexec", "orterun"};
  char path[32], name[32] = "";
  snprintf(path, sizeof path, "/proc/%d/comm", (int)process);
  FILE *file = fopen(path, "re");
  if (!file) return false;
  bool is_read = fgets(name, sizeof name, file);
  fclose(file);
  name[strcspn(name, "\n")] = '\0';
  for (size_t i = 0; is_read && i < sizeof names / sizeof *names; i++)
    if (!strcmp(name, names[i])) return true;
  return false;
}

/* Reads the marks that have arrived. False: the rank has ended. */
static bool read_marks(guard_t *guard) {
  char marks[8];
  struct pollfd told = {.fd = guard_fd, .events = POLLIN};
  if (poll(&told, 1, LOOK_MS) <= 0) return true;
  ssize_t count = read(guard_fd, marks, sizeof marks);
  for (ssize_t i = 0; i < count; i++) {
    guard->is_watching |= marks[i] == BEGIN_MARK;
    guard->is_terminated |= marks[i] == TERMINATION_MARK;
    guard->is_closed |= marks[i] == CLOSE_MARK;
  }
  return count > 0;
}

/* mpirun was killed while MPI was starting: nobody ends the ranks or removes their files. */
static bool is_orphaned(const guard_t *guard) {
  return guard->is_watching && cli_rank_watch_launcher_ended(guard->ranks);
}

/* A rank that has ended without closing its guard was killed. */
static int find_lost(const guard_t *guard, bool is_rank_alive) {
  if (!is_rank_alive) return rank;
  if (!guard->is_watching && !guard->is_terminated) return -1;
  int lost = cli_rank_watch_find_lost(guard->ranks);
  if (guard->is_terminated) cli_rank_watch_note_termination(guard->ranks);
  return lost < 0 ? cli_rank_watch_lost(guard->ranks) : lost;
}

/* True for one guard of a job. The lock on mpirun's folder ends with the process; the first guard
 * may have removed the folder. */
static bool is_first_guard(const guard_t *guard) {
  const char *folder = cli_rank_watch_session(guard->ranks);
  int fd = folder ? open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
  if (fd >= 0) return flock(fd, LOCK_EX | LOCK_NB) == 0;
  return rank == 0 && (!folder || errno != ENOENT);
}

static void tell_launcher_hangs(void) {
  static const char text[] = "hlorun: mpirun does not end, and is killed\n";
  if (write(STDERR_FILENO, text, sizeof text - 1) < 0) return;
}

/* The guard lets go of the rank's standard error, for whose end mpirun waits, and takes that of
 * mpirun itself. */
static void end_launcher(const guard_t *guard) {
  char path[32];
  snprintf(path, sizeof path, "/proc/%d/fd/2", (int)guard->launcher);
  int error = open(path, O_WRONLY | O_APPEND | O_NOCTTY | O_CLOEXEC);
  dup2(error >= 0 ? error : STDOUT_FILENO, STDERR_FILENO);
  cli_rank_watch_end_launcher(guard->ranks, LAUNCHER_END_MS, tell_launcher_hangs);
}

static void look_after_ranks(guard_t *guard) {
  int lost = -1;
  while (lost < 0 && !guard->is_terminated && !is_orphaned(guard)) {
    bool is_rank_alive = read_marks(guard);
    if (guard->is_closed) return;
    lost = find_lost(guard, is_rank_alive);
  }
  if (!is_first_guard(guard)) return;
  if (lost >= 0) fprintf(stderr, "hlorun: rank %d ended while MPI was starting\n", lost);
  end_launcher(guard);
  cli_rank_watch_finish(guard->ranks, LAUNCHER_END_MS);
}

/* A process outside of the job, so that mpirun does not end it. */
static _Noreturn void be_guard(pid_t launcher) {
  setsid();
  signal(SIGTERM, SIG_IGN);
  signal(SIGPIPE, SIG_IGN); /* standard error ends with mpirun */
  int null = open("/dev/null", O_RDWR);
  dup2(null, STDIN_FILENO);
  dup2(null, STDOUT_FILENO);
  guard_fd = dup2(guard_fd, STDERR_FILENO + 1);
  if (syscall(SYS_CLOSE_RANGE, guard_fd + 1, ~0U, 0)) _exit(0);
  guard_t guard = {.ranks = cli_rank_watch_create(launcher), .launcher = launcher};
  look_after_ranks(&guard);
  _exit(0);
}

/* The guard is no child of the rank, which need not wait for it. Whoever searches for the process
 * of a rank by its variables (/proc) must not find the guard. */
static void start_guard(int from_rank) {
  pid_t launcher = getppid();
  char *name = getenv(RANK_VARIABLE) - sizeof RANK_VARIABLE, first = *name;
  *name = HIDDEN;
  pid_t child = fork();
  if (child) *name = first;
  if (child > 0) waitpid(child, NULL, 0);
  if (child) return;
  if (fork()) _exit(0);
  guard_fd = from_rank;
  be_guard(launcher);
}

void cli_start_guard_open(void) {
  int ends[2];
  bool is_watched = tp_launcher_machines() > 1 || cli_exit_code_is_wanted();
  if (!is_under_mpi() || is_watched || rank > 1) return;
  if (!getenv(RANK_VARIABLE) || !is_mpirun(getppid())) return;
  if (pipe2(ends, O_CLOEXEC)) return;
  start_guard(ends[0]);
  close(ends[0]);
  guard_fd = ends[1];
}

void cli_start_guard_begin(void) { tell_guard(BEGIN_MARK); }

void cli_start_guard_close(void) {
  tell_guard(CLOSE_MARK);
  if (guard_fd >= 0) close(guard_fd);
  guard_fd = -1;
}
