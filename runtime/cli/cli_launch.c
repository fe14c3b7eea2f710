#include "cli/cli_launch.h"

#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/cli_agree.h"
#include "transport/transport.h"

#define EXIT_NOT_STARTED 5

hr_status_t cli_launch_needed(const hr_options_t *options, int *out_processes) {
  *out_processes = 0;
  const hr_option_given_t *given = hr_option_find(options, HR_OPTION_PROCESSES);
  if (!given) return NULL;
  int world = tp_launcher_world_size();
  if (world > 0) {
    if ((int)given->integer == world) return NULL;
    return hr_error(HR_USAGE, "-n %d, but the launcher started %d processes; leave -n out", (int)given->integer, world);
  }
  if (given->integer > 1) *out_processes = (int)given->integer;
  return NULL;
}

static bool find_in_path(const char *name, char into[PATH_MAX]) {
  const char *path = getenv("PATH");
  for (const char *at = path ? path : "/usr/bin:/bin"; *at;) {
    size_t size = strcspn(at, ":");
    if (snprintf(into, PATH_MAX, "%.*s/%s", (int)size, at, name) < PATH_MAX && access(into, X_OK) == 0) return true;
    at += size + (at[size] == ':');
  }
  return false;
}

static int usable_cores(void) {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set)) return (int)sysconf(_SC_NPROCESSORS_ONLN);
  return CPU_COUNT(&set);
}

/* mpirun wants to be told twice that root is meant. */
static void allow_root(void) {
  if (geteuid() != 0) return;
  setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 0);
  setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 0);
}

hr_status_t cli_launch_command(hr_arena_t *arena, int processes, int argument_count, const char *const *arguments,
                               char *const **out_words) {
  char mpirun[PATH_MAX], self[PATH_MAX];
  if (!find_in_path("mpirun", mpirun))
    return hr_error(HR_UNAVAILABLE, "-n %d needs mpirun, which is not in PATH; install the package openmpi-bin",
                    processes);
  ssize_t size = readlink("/proc/self/exe", self, sizeof self - 1);
  if (size < 0) return hr_error(HR_UNAVAILABLE, "cannot find this program's own file: %s", strerror(errno));
  self[size] = 0;
  allow_root();
  const char **words, *count;
  HR_TRY(HR_NEW_ARRAY(arena, argument_count + 10, &words));
  HR_TRY(hr_arena_printf(arena, &count, "%d", processes));
  int n = 0;
  HR_TRY(hr_arena_cstr(arena, hr_str_from(mpirun), &words[n++]));
  words[n++] = "--quiet";
  if (processes > usable_cores()) words[n++] = "--oversubscribe";
  words[n++] = "--bind-to"; /* hlorun pins its workers itself */
  words[n++] = "none";
  words[n++] = "-n";
  words[n++] = count;
  HR_TRY(hr_arena_cstr(arena, hr_str_from(self), &words[n++]));
  for (int i = 0; i < argument_count; i++) words[n++] = arguments[i];
  *out_words = (char *const *)words;
  return NULL;
}

/* --- waiting for mpirun --- */

static volatile sig_atomic_t launched_pid, interrupted;

/* What a terminal sends reaches mpirun as well; what somebody sent to this process alone is handed on. */
static void hand_on(int signal_number, siginfo_t *info, void *context) {
  (void)context;
  if (signal_number != SIGUSR1) interrupted = signal_number;
  if (info->si_code <= 0 && launched_pid > 0) kill(launched_pid, signal_number);
}

static void catch_signals(void) {
  struct sigaction action = {.sa_sigaction = hand_on, .sa_flags = SA_SIGINFO};
  sigaction(SIGINT, &action, NULL);
  sigaction(SIGTERM, &action, NULL);
  sigaction(SIGHUP, &action, NULL);
  sigaction(SIGUSR1, &action, NULL); /* mpirun passes it on: each process says what it waits for */
}

static _Noreturn void become(char *const *words) {
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  signal(SIGPIPE, SIG_DFL);
  execv(words[0], words);
  fprintf(stderr, "error: cannot start %s: %s\n", words[0], strerror(errno));
  _exit(EXIT_NOT_STARTED);
}

/* mpirun's exit code is that of the first process that failed; what a signal did to it is this command's own affair. */
static hr_status_t status_of(int status) {
  static const hr_code_t codes[] = {[1] = HR_MISMATCH,  [2] = HR_USAGE,       [3] = HR_INVALID,
                                    [4] = HR_DISAGREE, [5] = HR_UNAVAILABLE, [6] = HR_DEADLINE};
  if (interrupted) return cli_reported(HR_CANCELLED);
  if (WIFSIGNALED(status)) return hr_error(HR_UNAVAILABLE, "mpirun ended by SIG%s", sigabbrev_np(WTERMSIG(status)));
  int code = WEXITSTATUS(status);
  if (code == 0) return NULL;
  if (code < (int)(sizeof codes / sizeof *codes)) return cli_reported(codes[code]);
  if (code > 128 && code < 128 + NSIG)
    return hr_error(HR_UNAVAILABLE, "a process ended by SIG%s", sigabbrev_np(code - 128));
  return hr_error(HR_UNAVAILABLE, "mpirun ended with exit code %d", code);
}

static hr_status_t run_words(char *const *words) {
  catch_signals();
  pid_t pid = fork();
  if (pid == 0) become(words);
  if (pid < 0) return hr_error(HR_UNAVAILABLE, "cannot start a process: %s", strerror(errno));
  launched_pid = pid;
  int status;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) continue;
  return status_of(status);
}

/* -n itself goes along too: it agrees with the launcher then. */
hr_status_t cli_launch_run(int processes, int argc, char *const *argv) {
  hr_arena_t arena;
  hr_arena_init(&arena);
  char *const *words;
  hr_status_t st = cli_launch_command(&arena, processes, argc, (const char *const *)argv, &words);
  if (!st) st = run_words(words);
  hr_arena_deinit(&arena);
  return st;
}
