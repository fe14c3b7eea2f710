/* Starts the processes of one machine by fork and exec, forwards signals, and ends all of them some
 * seconds after the first failure. */
#include "cli/launch/cli_launch_local.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/signal_name.h"
#include "cli/cli_agree.h"
#include "cli/launch/cli_exit_code.h"
#include "cli/launch/cli_launch.h"
#include "cli/launch/cli_launch_output.h"
#include "cli/run/cli_signals.h"
#include "transport/shm/local_launch.h"

#define MOST_PROCESSES 4096 /* processes on one machine: each maps the memory of all */
#define LOOK_MS 50
#define END_MS 2000  /* grace period for the others after a failure */
#define LAST_MS 1000 /* grace period after SIGTERM */

typedef struct launch {
  int count, left;
  pid_t *pids;     /* 0: ended */
  int failed_rank; /* first rank that failed; -1: none */
  int failed_status;
  bool handed_on;              /* interrupting signal was forwarded */
  int64_t failed_ms, told_ms;  /* 0: not yet */
  cli_launch_output_t *output; /* standard error of the processes */
} launch_t;

/* Only signs of batch systems and host files count, not MPI itself. */
bool cli_launch_knows_hosts(void) {
  static const char *const signs[] = {"OMPI_MCA_orte_default_hostfile",
                                      "SLURM_JOB_ID",
                                      "PBS_JOBID",
                                      "LSB_JOBID",
                                      "PE_HOSTFILE",
                                      "HLORUN_NODE_SIZE"};
  for (size_t i = 0; i < sizeof signs / sizeof *signs; i++)
    if (getenv(signs[i])) return true;
  return false;
}

/* HLORUN_LAUNCHER decides, else what is known of hosts. */
bool cli_launch_is_local(void) {
  const char *wanted = getenv("HLORUN_LAUNCHER");
  return wanted && *wanted ? strcmp(wanted, "mpirun") != 0 : !cli_launch_knows_hosts();
}

/* --- signals --- */

static volatile sig_atomic_t interrupted, wants_state;

/* Only flags are set here. */
static void note_signal(int signal_number) {
  if (signal_number == SIGUSR1)
    wants_state = 1;
  else if (signal_number != SIGCHLD)
    interrupted = signal_number;
}

int cli_launch_locally_interrupted(void) { return interrupted; }

/* SIGCHLD only has to end a wait. */
static void catch_signals(void) {
  static const int caught[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGCHLD};
  struct sigaction action = {.sa_handler = note_signal};
  for (size_t i = 0; i < sizeof caught / sizeof *caught; i++)
    if (!cli_signals_is_ignored(caught[i])) sigaction(caught[i], &action, NULL);
}

/* Processes that have ended are left out. */
static void notify_all(const launch_t *launch, int signal_number) {
  for (int rank = 0; rank < launch->count; rank++)
    if (launch->pids[rank]) kill(launch->pids[rank], signal_number);
}

/* --- processes --- */

/* Runs in the child, between fork and exec. */
static _Noreturn void become(const launch_t *launch, char *const *words, int rank, int fd,
                             pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(CLI_LAUNCH_NOT_STARTED);
  signal(SIGUSR1, SIG_IGN); /* until this program, started again, catches it */
  int null = rank ? open("/dev/null", O_RDONLY | O_CLOEXEC) : -1;
  if (null >= 0) dup2(null, STDIN_FILENO);
  cli_launch_output_enter(launch->output, rank);
  tp_local_launch_export(launch->count, rank, fd);
  execv(words[0], words);
  if (errno == ENOENT)
    execv("/proc/self/exe", words); /* the program's file was replaced or removed */
  fprintf(stderr, "error: cannot start this program again: %s\n", strerror(errno));
  _exit(CLI_LAUNCH_NOT_STARTED);
}

/* Processes that were started before a failure are killed by the caller. */
static hr_status_t start_all(launch_t *launch, char *const *words, int fd, const sigset_t *mask) {
  pid_t parent = getpid();
  for (int rank = 0; rank < launch->count; rank++) {
    pid_t pid = fork();
    if (pid == 0) {
      sigprocmask(SIG_SETMASK, mask, NULL);
      become(launch, words, rank, fd, parent);
    }
    if (pid < 0)
      return hr_error(HR_UNAVAILABLE, "cannot start process %d of %d: %s", rank, launch->count,
                      strerror(errno));
    launch->pids[rank] = pid;
    launch->left++;
    cli_launch_output_started(launch->output, rank);
  }
  return NULL;
}

/* Records the first failure and its time, from which the others get a grace period. */
static void note_end(launch_t *launch, pid_t pid, int status) {
  int rank = 0;
  while (rank < launch->count && launch->pids[rank] != pid) rank++;
  if (rank == launch->count) return;
  launch->pids[rank] = 0;
  launch->left--;
  if (!status || launch->failed_rank >= 0) return;
  launch->failed_rank = rank;
  launch->failed_status = status;
  launch->failed_ms = hr_clock_ms();
}

/* All that have ended, as signals of the same kind merge. */
static void take_ended(launch_t *launch) {
  int status;
  for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG)) > 0;) note_end(launch, pid, status);
}

/* Prints stopped processes, which cannot report that others wait for them. */
static void tell_stopped(const launch_t *launch) {
  for (int rank = 0; rank < launch->count; rank++) {
    siginfo_t info = {0};
    bool is_stopped = launch->pids[rank] &&
                      !waitid(P_PID, (id_t)launch->pids[rank], &info, WSTOPPED | WNOHANG | WNOWAIT);
    if (is_stopped && info.si_pid)
      fprintf(stderr, "hlorun: rank %d was stopped by SIG%s\n", rank, sigabbrev_np(info.si_status));
  }
}

/* Forwards signals, which may have reached this process alone, and ends processes after the grace
 * periods. */
static void look_after(launch_t *launch) {
  int64_t now = hr_clock_ms();
  if (wants_state) {
    wants_state = 0;
    notify_all(launch, SIGUSR1);
  }
  if (interrupted && !launch->handed_on) {
    notify_all(launch, interrupted);
    launch->handed_on = true;
    launch->failed_ms = now;
  }
  if (!launch->told_ms && launch->failed_ms && now - launch->failed_ms >= END_MS) {
    tell_stopped(launch);
    notify_all(launch, SIGTERM);
    launch->told_ms = now;
  }
  if (launch->told_ms && now - launch->told_ms >= LAST_MS) notify_all(launch, SIGKILL);
}

/* SIGCHLD is let through only while this waits, so that none is missed between two looks. */
static void wait_for_all(launch_t *launch, const sigset_t *mask) {
  for (take_ended(launch); launch->left; take_ended(launch)) {
    look_after(launch);
    cli_launch_output_wait(launch->output, LOOK_MS, mask);
  }
}

/* --- outcome --- */

/* The code that the first failing process left wins over that of the first that ended. */
static hr_status_t outcome(const launch_t *launch) {
  int verdict = cli_exit_code_read();
  char name[HR_SIGNAL_NAME];
  if (interrupted) return cli_reported(HR_CANCELLED);
  if (launch->failed_rank < 0) return NULL;
  if (WIFSIGNALED(launch->failed_status))
    return hr_error(HR_UNAVAILABLE, "rank %d ended by %s", launch->failed_rank,
                    hr_signal_name(WTERMSIG(launch->failed_status), name));
  hr_status_t told = cli_exit_code_status(verdict ? verdict : WEXITSTATUS(launch->failed_status));
  if (told) return told;
  return hr_error(HR_UNAVAILABLE, "rank %d ended with exit code %d", launch->failed_rank,
                  WEXITSTATUS(launch->failed_status));
}

/* The mask of the start is restored in children and while waiting. */
static hr_status_t run_words(launch_t *launch, char *const *words, int fd) {
  sigset_t child, before;
  HR_TRY(cli_launch_output_create(launch->count, &launch->output));
  sigemptyset(&child);
  sigaddset(&child, SIGCHLD);
  catch_signals();
  sigprocmask(SIG_BLOCK, &child, &before);
  hr_status_t st = start_all(launch, words, fd, &before);
  if (st) notify_all(launch, SIGKILL);
  wait_for_all(launch, &before);
  cli_launch_output_finish(launch->output);
  sigprocmask(SIG_SETMASK, &before, NULL);
  return st ? st : outcome(launch);
}

/* The words of the command, with this executable in front. */
hr_status_t cli_launch_locally(int processes, int argc, char *const *argv) {
  hr_arena_t arena;
  launch_t launch = {.count = processes, .failed_rank = -1};
  char **words, own_file[PATH_MAX];
  int fd = -1;
  if (processes > MOST_PROCESSES)
    return hr_error(HR_USAGE,
                    "-n %d: one machine starts %d processes at most; mpirun starts them on several",
                    processes, MOST_PROCESSES);
  hr_arena_init(&arena);
  cli_exit_code_open(false);
  hr_status_t st = HR_NEW_ARRAY(&arena, processes, &launch.pids);
  if (!st) st = HR_NEW_ARRAY(&arena, argc + 2, &words);
  if (!st) st = cli_launch_this_executable(own_file);
  if (!st) st = tp_local_launch_memory(processes, &fd);
  if (!st) {
    words[0] = own_file;
    for (int i = 0; i < argc; i++) words[i + 1] = argv[i];
    st = run_words(&launch, words, fd);
  }
  if (fd >= 0) close(fd);
  cli_exit_code_close();
  hr_arena_deinit(&arena);
  return st;
}
