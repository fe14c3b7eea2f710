/* Starts mpirun with this command, forwards signals to it, and returns the first failing exit code
 * even where mpirun itself crashes or hangs. */
#include "cli/launch/cli_launch.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/executable.h"
#include "base/processors.h"
#include "base/signal_name.h"
#include "cli/cli_agree.h"
#include "cli/launch/cli_exit_code.h"
#include "cli/program/cli_grid.h"
#include "cli/launch/cli_hosts.h"
#include "cli/launch/cli_launch_local.h"
#include "cli/launch/cli_rank_watch.h"
#include "cli/launch/cli_restart.h"
#include "cli/launch/cli_session_folder.h"
#include "cli/run/cli_signals.h"
#include "transport/core/transport.h"

#define LOOK_MS 200    /* milliseconds between polls for a failed process */
#define END_MS 2500    /* grace period for mpirun after a failure; it takes 1 s to end ranks */
#define HOSTS_MS 1000  /* more of it if there are other hosts */
#define LAST_MS 1000   /* grace period after SIGTERM */
#define STATE_MS 10000 /* most time that SIGUSR1 waits for ranks that are starting */

/* --- number of processes --- */

static hr_status_t count_slots(const char *text, int *out_slots) {
  hr_arena_t arena;
  cli_hosts_t hosts = {0};
  hr_arena_init(&arena);
  hr_status_t st = cli_hosts_parse(&arena, text, &hosts);
  hr_arena_deinit(&arena);
  *out_slots = hosts.slots;
  return st;
}

/* The number that the program names. With --sandbox the program is not read here, outside of the
 * sandbox: 1. */
static int default_processes(const hr_options_t *options) {
  return hr_option_is_given(options, HR_OPTION_SANDBOX) ? 1 : cli_grid_world(options);
}

/* -n, else the number of slots of the hosts, else the number that the program names. */
static hr_status_t count_processes(const hr_options_t *options, int *out_processes) {
  const hr_option_given_t *given = hr_option_find(options, HR_OPTION_PROCESSES);
  const char *hosts = hr_option_text(options, HR_OPTION_HOSTS);
  int slots = 0;
  if (hosts) HR_TRY(count_slots(hosts, &slots));
  if (given)
    *out_processes = (int)given->integer;
  else
    *out_processes = hosts ? slots : default_processes(options);
  return NULL;
}

/* In a process that a launcher started, -n is only compared with the launcher's world size. */
hr_status_t cli_launch_needed(const hr_options_t *options, int *out_processes) {
  const hr_option_given_t *given = hr_option_find(options, HR_OPTION_PROCESSES);
  int world = tp_launcher_world_size(), wanted;
  *out_processes = 0;
  bool is_elastic = hr_option_is_given(options, HR_OPTION_ELASTIC) && cli_restart_is_run();
  if (world > 0 && given && (int)given->integer != world && !is_elastic)
    return hr_error(HR_USAGE, "-n %d, but the launcher started %d processes; leave -n out",
                    (int)given->integer, world);
  if (world > 0) return NULL;
  HR_TRY(count_processes(options, &wanted));
  if (wanted > 1 || hr_option_is_given(options, HR_OPTION_HOSTS)) *out_processes = wanted;
  return NULL;
}

/* --- mpirun's command --- */

/* Searches PATH as execvp() does; messages need the path. */
static bool find_in_path(const char *name, char into[PATH_MAX]) {
  const char *path = getenv("PATH");
  for (const char *at = path ? path : "/usr/bin:/bin"; *at;) {
    size_t size = strcspn(at, ":");
    if (snprintf(into, PATH_MAX, "%.*s/%s", (int)size, at, name) < PATH_MAX &&
        access(into, X_OK) == 0)
      return true;
    at += size + (at[size] == ':');
  }
  return false;
}

/* mpirun requires two variables to run as root. */
static void allow_root(void) {
  if (geteuid() != 0) return;
  setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 0);
  setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 0);
}

/* Shortens TCP timeouts for hosts that do not answer; the defaults are minutes. */
static void watch_connections(void) {
  setenv("OMPI_MCA_oob_tcp_keepalive_time", "5", 0);
  setenv("OMPI_MCA_oob_tcp_keepalive_intvl", "2", 0);
  setenv("OMPI_MCA_oob_tcp_keepalive_probes", "5", 0);
}

/* Number of HLORUN_* variables, each of which takes two words. */
static int hlorun_variable_count(void) {
  int count = 0;
  for (char **at = environ; *at; at++) count += strncmp(*at, "HLORUN_", 7) == 0;
  return count;
}

/* Adds "-x NAME" for each HLORUN_* variable: mpirun does not export them to other hosts by
 * itself. */
static hr_status_t add_variables(hr_arena_t *arena, const char **words, int *n) {
  for (char **at = environ; *at; at++) {
    if (strncmp(*at, "HLORUN_", 7) != 0) continue;
    words[(*n)++] = "-x";
    HR_TRY(hr_arena_printf(arena, &words[(*n)++], "%.*s", (int)strcspn(*at, "="), *at));
  }
  return NULL;
}

hr_status_t cli_launch_this_executable(char into[PATH_MAX]) {
  if (hr_executable_path(into)) return NULL;
  return hr_error(HR_UNAVAILABLE, "cannot find this program's own file: %s", strerror(errno));
}

/* Order: fixed words, hosts, this command. */
static hr_status_t mpirun_command(hr_arena_t *arena, int processes, const char *hosts,
                                  int argument_count, const char *const *arguments,
                                  char *const **out_words) {
  char mpirun[PATH_MAX], self[PATH_MAX];
  if (!find_in_path("mpirun", mpirun))
    return hr_error(HR_UNAVAILABLE,
                    "-n %d needs mpirun, which is not in PATH; install the package openmpi-bin",
                    processes);
  HR_TRY(cli_launch_this_executable(self));
  allow_root();
  watch_connections();
  const char **words, *count;
  HR_TRY(HR_NEW_ARRAY(arena, argument_count + 2 * hlorun_variable_count() + 12, &words));
  HR_TRY(hr_arena_printf(arena, &count, "%d", processes));
  int n = 0;
  HR_TRY(hr_arena_cstr(arena, hr_str_from(mpirun), &words[n++]));
  words[n++] = "--quiet";
  if (hosts) {
    words[n++] = "--host";
    words[n++] = hosts;
  }
  if (processes > hr_processor_count()) words[n++] = "--oversubscribe";
  words[n++] = "--bind-to"; /* hlorun pins its workers itself */
  words[n++] = "none";
  HR_TRY(add_variables(arena, words, &n));
  words[n++] = "-n";
  words[n++] = count;
  HR_TRY(hr_arena_cstr(arena, hr_str_from(self), &words[n++]));
  for (int i = 0; i < argument_count; i++) words[n++] = arguments[i];
  *out_words = (char *const *)words;
  return NULL;
}

/* Without other hosts, this command starts the processes itself. */
hr_status_t cli_launch_command(hr_arena_t *arena, int processes, int argument_count,
                               const char *const *arguments, char *const **out_words) {
  char self[PATH_MAX];
  const char **words;
  if (!cli_launch_is_local())
    return mpirun_command(arena, processes, NULL, argument_count, arguments, out_words);
  HR_TRY(cli_launch_this_executable(self));
  HR_TRY(HR_NEW_ARRAY(arena, argument_count + 2, &words));
  HR_TRY(hr_arena_cstr(arena, hr_str_from(self), &words[0]));
  for (int i = 0; i < argument_count; i++) words[i + 1] = arguments[i];
  *out_words = (char *const *)words;
  return NULL;
}

/* --- waiting for mpirun --- */

static volatile sig_atomic_t launched_pid, interrupted, wants_state;

/* Signals that would end this process before it has removed its files; real-time signals, whose
 * numbers are no constants, are others. */
static const int ending[] = {SIGINT,    SIGTERM, SIGHUP,  SIGQUIT, SIGALRM, SIGUSR2,
                             SIGVTALRM, SIGPROF, SIGXCPU, SIGIO,   SIGPWR,  SIGSTKFLT};
#define ENDING_COUNT (sizeof ending / sizeof *ending)

/* mpirun ends its processes on these signals; on others it would leave files. */
static bool mpirun_handles(int signal_number) {
  return signal_number == SIGINT || signal_number == SIGTERM || signal_number == SIGHUP;
}

/* True under nohup, whose effect mpirun does not keep: it gets a process group of its own, which
 * neither the terminal nor the shell sends signals to. */
static bool is_apart;

/* Signals from the terminal reach mpirun as well; signals sent to this process alone are
 * forwarded. */
static void hand_on(int signal_number, siginfo_t *info, void *context) {
  (void)context;
  interrupted = signal_number;
  if ((info->si_code <= 0 || is_apart) && launched_pid > 0)
    kill(launched_pid, mpirun_handles(signal_number) ? signal_number : SIGTERM);
}

static void note_state(int signal_number) {
  (void)signal_number;
  wants_state = 1;
}

/* The action of all signals that end this process and that its parent does not ignore. */
static void set_ending(const struct sigaction *action) {
  for (size_t i = 0; i < ENDING_COUNT; i++)
    if (!cli_signals_is_ignored(ending[i])) sigaction(ending[i], action, NULL);
  for (int number = SIGRTMIN; number <= SIGRTMAX; number++)
    if (!cli_signals_is_ignored(number)) sigaction(number, action, NULL);
}

static void catch_signals(void) {
  is_apart = cli_signals_is_ignored(SIGHUP);
  set_ending(&(struct sigaction){.sa_sigaction = hand_on, .sa_flags = SA_SIGINFO});
  sigaction(SIGUSR1, &(struct sigaction){.sa_handler = note_state}, NULL);
}

/* Runs in the child. Resets signals to their defaults. A signal that arrived since the fork is
 * delivered when the mask is restored, and ends the child. */
static _Noreturn void become(char *const *words, const sigset_t *mask) {
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (is_apart) setpgid(0, 0);
  cli_signals_restore();
  set_ending(&(struct sigaction){.sa_handler = SIG_DFL});
  sigprocmask(SIG_SETMASK, mask, NULL);
  execv(words[0], words);
  fprintf(stderr, "error: cannot start %s: %s\n", words[0], strerror(errno));
  _exit(CLI_LAUNCH_NOT_STARTED);
}

/* Status from mpirun's exit status if no process reported a failure. `lost`: rank that ended
 * without a report; -1: none. */
static hr_status_t status_without_word(int status, int lost) {
  bool by_signal = WIFSIGNALED(status);
  int signal_number = by_signal ? WTERMSIG(status) : WEXITSTATUS(status) - 128;
  bool is_signal = signal_number > 0 && signal_number < NSIG;
  char name[HR_SIGNAL_NAME];
  hr_signal_name(signal_number, name);
  if (lost >= 0 && is_signal && !by_signal)
    return hr_error(HR_UNAVAILABLE, "rank %d ended by %s", lost, name);
  if (lost >= 0)
    return hr_error(HR_UNAVAILABLE, "rank %d ended without a word, and mpirun %s", lost,
                    by_signal ? "had to be ended" : "failed");
  if (by_signal) return hr_error(HR_UNAVAILABLE, "mpirun ended by %s", name);
  if (is_signal) return hr_error(HR_UNAVAILABLE, "a process ended by %s", name);
  return hr_error(HR_UNAVAILABLE,
                  "mpirun could not start the processes, or lost a host: its exit code is %d",
                  WEXITSTATUS(status));
}

/* Status of the exit code that the first failing process reported; without a report, of mpirun's
 * exit code. An end by a signal is reported by this command. */
static hr_status_t status_of(int status, int lost) {
  if (interrupted) return cli_reported(HR_CANCELLED);
  hr_status_t told = cli_exit_code_status(cli_exit_code_read());
  if (told) return told;
  if (status == 0) return NULL;
  if (WIFEXITED(status)) told = cli_exit_code_status(cli_exit_code_of_mpirun(WEXITSTATUS(status)));
  return told ? told : status_without_word(status, lost);
}

/* Waits at most `ms` milliseconds; true if the process has ended. */
static bool wait_for(pid_t pid, cli_rank_watch_t *watch, int *out_status, int ms) {
  for (int64_t until = hr_clock_ms() + ms;;) {
    if (waitpid(pid, out_status, WNOHANG) == pid) return true;
    if (hr_clock_ms() > until) return false;
    cli_rank_watch_wait(watch, LOOK_MS);
  }
}

/* On SIGUSR1 mpirun has each rank print what it waits for. mpirun and ranks that are just starting
 * would be ended by it, so they get some time. */
static void hand_on_state(pid_t pid, const cli_rank_watch_t *watch) {
  static int64_t since_ms;
  if (!wants_state) return;
  if (!since_ms) since_ms = hr_clock_ms();
  if (!cli_rank_watch_takes(watch, SIGUSR1) && hr_clock_ms() - since_ms < STATE_MS) return;
  wants_state = 0;
  since_ms = 0;
  kill(pid, SIGUSR1);
}

/* True as soon as the end of a rank is known, or mpirun is ending the ranks. */
static bool is_ending(const cli_rank_watch_t *watch) {
  return interrupted || cli_exit_code_read() || cli_rank_watch_lost(watch) >= 0 ||
         cli_exit_code_terminated();
}

/* mpirun ends soon after a rank has failed or died, or a signal was forwarded. Exceptions: it
 * waits for a host that does not answer, or for a rank that died while MPI was starting. */
static int wait_for_mpirun(pid_t pid, cli_rank_watch_t *watch, int end_ms) {
  int status;
  bool ended = false;
  while (!ended && !is_ending(watch)) {
    hand_on_state(pid, watch);
    ended = wait_for(pid, watch, &status, 0);
  }
  if (ended || wait_for(pid, watch, &status, end_ms)) return status;
  fprintf(stderr, "hlorun: mpirun does not end; processes may be left on other hosts\n");
  kill(pid, SIGTERM);
  if (wait_for(pid, watch, &status, LAST_MS)) return status;
  kill(pid, SIGKILL);
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) continue;
  return status;
}

static hr_status_t watch_over(pid_t pid, int end_ms) {
  cli_rank_watch_t *watch = cli_rank_watch_create(pid);
  int status = wait_for_mpirun(pid, watch, end_ms);
  launched_pid = 0;
  hr_status_t st = status_of(status, cli_rank_watch_lost(watch));
  if (hr_status_code(st) == HR_DEADLINE) cli_rank_watch_tell_stopped(watch);
  cli_rank_watch_finish(watch, LAST_MS);
  cli_rank_watch_destroy(watch);
  return st;
}

/* Forks with all signals blocked, so that handlers see the child's process number. A signal
 * between two runs of a restarted training ends the next run before it starts. */
static hr_status_t start_words(char *const *words, pid_t *out_pid) {
  sigset_t all, before;
  sigfillset(&all);
  sigprocmask(SIG_BLOCK, &all, &before);
  pid_t pid = interrupted ? 0 : fork();
  if (pid == 0 && !interrupted) become(words, &before);
  int reason = errno;
  launched_pid = pid;
  sigprocmask(SIG_SETMASK, &before, NULL);
  *out_pid = pid;
  if (pid < 0) return hr_error(HR_UNAVAILABLE, "cannot start a process: %s", strerror(reason));
  return pid == 0 ? cli_reported(HR_CANCELLED) : NULL;
}

static hr_status_t run_words(char *const *words, int end_ms) {
  pid_t pid;
  catch_signals();
  HR_TRY(start_words(words, &pid));
  return watch_over(pid, end_ms);
}

/* --- the whole run --- */

/* The session folder and the list of exit codes exist while mpirun runs. */
static hr_status_t launch_by_mpirun(int processes, const char *hosts, int argc, char *const *argv) {
  hr_arena_t arena;
  hr_arena_init(&arena);
  char *const *words;
  char folder[PATH_MAX];
  bool has_folder = !hosts && !cli_launch_knows_hosts() && cli_session_folder_make(folder);
  cli_exit_code_open(true);
  hr_status_t st =
      mpirun_command(&arena, processes, hosts, argc, (const char *const *)argv, &words);
  int end_ms = END_MS + (hosts || cli_launch_knows_hosts() ? HOSTS_MS : 0);
  if (!st) st = run_words(words, end_ms);
  cli_exit_code_close();
  if (has_folder) {
    unsetenv(CLI_SESSION_VARIABLE);
    cli_session_folder_remove(folder);
  }
  hr_arena_deinit(&arena);
  return st;
}

void cli_launch_end(void) {
  if (launched_pid > 0) kill(launched_pid, SIGTERM);
}

/* At most one of the two launchers ran. */
int cli_launch_interrupted(void) {
  return interrupted ? interrupted : cli_launch_locally_interrupted();
}

/* The processes get -n, too; it equals the launcher's world size. */
hr_status_t cli_launch_run(int processes, const char *hosts, int argc, char *const *argv) {
  if (!hosts && cli_launch_is_local()) return cli_launch_locally(processes, argc, argv);
  return launch_by_mpirun(processes, hosts, argc, argv);
}
