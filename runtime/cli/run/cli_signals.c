/* Signals are handled on the event loop's thread: the first one cancels the client's executions and
 * starts a grace period; its end, or a second signal, exits at once. SIGUSR1 prints the state.
 * Processes that only start others have handlers in cli_launch.c and cli_launch_local.c. */
#include "cli/run/cli_signals.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mapped_files.h"
#include "cli/launch/cli_exit_code.h"
#include "cli/launch/cli_log_dir.h"
#include "transport/core/event_loop.h"
#include "transport/core/transport.h"

#define EXIT_FILE 5 /* exit code of a mapped file that was truncated */
#define GRACE_MS 2000
#define SAME_MS 500
#define EXIT_INTERRUPTED 5
#define EXIT_SIGNAL 128 /* base of exit codes of signals, as in shells */

static const int ignored[] = {SIGPIPE, SIGXFSZ, SIGUSR1};
static const int watched[] = {SIGINT, SIGTERM, SIGHUP};
#define WATCHED_COUNT (sizeof watched / sizeof *watched)

/* Origin of a signal, stored before the event loop's handler runs. */
static struct {
  struct sigaction loop_action;  /* handler of the event loop */
  volatile sig_atomic_t is_ours; /* sent to this process alone, not by its launcher or terminal */
} senders[NSIG];

static struct {
  tp_loop_t *loop;
  tp_source_t *sources[WATCHED_COUNT], *grace;
  _Atomic(tp_source_t *) state_printer;
  atomic_int waking; /* handlers that may still use state_printer */
  hlorun_client_t *client;
  atomic_int caught;
  int64_t caught_ms; /* used by the loop thread only */
} watcher;

static void set_ignored(void (*handler)(int)) {
  for (size_t i = 0; i < sizeof ignored / sizeof *ignored; i++) signal(ignored[i], handler);
}

void cli_signals_ignore(void) { set_ignored(SIG_IGN); }
void cli_signals_restore(void) { set_ignored(SIG_DFL); }

/* Runs on the loop thread, at any point of the program. */
static void print_state(void *context) { hlorun_client_print_state(context); }

/* Handler of SIGUSR1. It is not libuv's: removing a handler of libuv restores the default action,
 * which ends the process, before the signal can be ignored. */
static void wake_state_printer(int signal_number) {
  int error = errno;
  (void)signal_number;
  atomic_fetch_add(&watcher.waking, 1);
  tp_source_t *printer = atomic_load(&watcher.state_printer);
  if (printer) tp_source_wake(printer);
  atomic_fetch_sub(&watcher.waking, 1);
  errno = error;
}

static hr_status_t watch_state(hlorun_client_t *client) {
  struct sigaction action = {.sa_handler = wake_state_printer, .sa_flags = SA_RESTART};
  tp_source_t *printer;
  HR_TRY(tp_loop_waker(watcher.loop, print_state, client, &printer));
  atomic_store(&watcher.state_printer, printer);
  sigaction(SIGUSR1, &action, NULL);
  return NULL;
}

static void unwatch_state(void) {
  signal(SIGUSR1, SIG_IGN);
  tp_source_t *printer = atomic_exchange(&watcher.state_printer, NULL);
  while (atomic_load(&watcher.waking)) sched_yield();
  tp_source_stop(printer);
}

/* Uses write(), since the main thread may hold the locks of streams. */
static void end_now(void *context) {
  (void)context;
  char text[80], who[32] = "";
  if (hlorun_client_world_size(watcher.client) > 1)
    snprintf(who, sizeof who, "rank %d was ", hlorun_client_rank(watcher.client));
  int size = snprintf(text, sizeof text, "error: %sinterrupted by SIG%s\n", who,
                      sigabbrev_np(cli_signals_caught()));
  cli_log_dir_write(&(struct iovec){text, (size_t)size}, 1);
  cli_signals_end_by(cli_signals_caught());
  _exit(cli_signals_exit_code(EXIT_INTERRUPTED));
}

/* Handler of SIGBUS: a mapped file was truncated. Only async-signal-safe functions are allowed. A
 * signal of another cause ends the process when the handler returns. */
static void on_bus_error(int signal_number, siginfo_t *info, void *context) {
  const char *path = info->si_code == BUS_ADRERR ? hr_mapped_file_at(info->si_addr) : NULL;
  (void)context;
  if (!path) {
    signal(signal_number, SIG_DFL);
    raise(signal_number);
    return;
  }
  struct iovec parts[] = {
      {"error: ", 7}, {(char *)path, strlen(path)}, {" was cut off while it was read\n", 31}};
  cli_log_dir_write(parts, 3);
  cli_exit_code_report(EXIT_FILE);
  _exit(EXIT_FILE);
}

void cli_signals_catch_cut_files(void) {
  struct sigaction action = {.sa_sigaction = on_bus_error, .sa_flags = SA_SIGINFO};
  sigaction(SIGBUS, &action, NULL);
}

static void note_sender(int signal_number, siginfo_t *info, void *context) {
  (void)context;
  senders[signal_number].is_ours = info->si_code <= 0 && info->si_pid != getppid();
  senders[signal_number].loop_action.sa_handler(signal_number);
}

static void watch_sender(int signal_number) {
  struct sigaction action;
  if (sigaction(signal_number, NULL, &action) || action.sa_flags & SA_SIGINFO) return;
  if (action.sa_handler == SIG_DFL || action.sa_handler == SIG_IGN) return;
  senders[signal_number].loop_action = action;
  action.sa_sigaction = note_sender;
  action.sa_flags |= SA_SIGINFO;
  sigaction(signal_number, &action, NULL);
}

/* Runs on the loop thread. The first signal starts an orderly end with a grace period; a later one
 * ends the process. A repetition within SAME_MS counts as the same signal, sent by both the
 * terminal and the parent process. */
static void on_signal(void *context) {
  int signal_number = *(const int *)context;
  if (atomic_exchange(&watcher.caught, signal_number)) {
    if (hr_clock_ms() - watcher.caught_ms >= SAME_MS) end_now(NULL);
    return;
  }
  watcher.caught_ms = hr_clock_ms();
  char reason[64];
  snprintf(reason, sizeof reason, "interrupted by SIG%s", sigabbrev_np(signal_number));
  hlorun_client_cancel(watcher.client, reason);
  hr_status_release(tp_loop_timer(watcher.loop, GRACE_MS, 0, end_now, NULL, &watcher.grace));
}

bool cli_signals_is_ignored(int signal_number) {
  struct sigaction action;
  return signal_number == SIGHUP && !sigaction(SIGHUP, NULL, &action) &&
         action.sa_handler == SIG_IGN;
}

/* Signals are delivered to the loop's thread only. */
hr_status_t cli_signals_watch(hlorun_client_t *client) {
  watcher.client = client;
  HR_TRY(tp_loop_acquire(&watcher.loop));
  for (size_t i = 0; i < WATCHED_COUNT; i++) {
    if (cli_signals_is_ignored(watched[i])) continue;
    HR_TRY(tp_loop_signal(watcher.loop, watched[i], on_signal, (void *)&watched[i],
                          &watcher.sources[i]));
    watch_sender(watched[i]);
  }
  return watch_state(client);
}

/* Sources that were not created are NULL. */
void cli_signals_unwatch(void) {
  for (size_t i = 0; i < WATCHED_COUNT; i++) {
    tp_source_stop(watcher.sources[i]);
    watcher.sources[i] = NULL;
  }
  unwatch_state();
  tp_source_stop(watcher.grace);
  watcher.grace = NULL;
  tp_loop_release(watcher.loop);
  watcher.loop = NULL;
}

bool cli_signals_is_alone(void) {
  int caught = cli_signals_caught();
  return caught && senders[caught].is_ours;
}

/* Ends the process by the signal's default action, after flushing streams. The first process of a
 * container has no default actions. */
void cli_signals_end_by(int signal_number) {
  sigset_t set;
  if (!signal_number || tp_launcher_world_size() > 0) return;
  fflush(NULL);
  sigemptyset(&set);
  sigaddset(&set, signal_number);
  signal(signal_number, SIG_DFL);
  pthread_sigmask(SIG_UNBLOCK, &set, NULL);
  raise(signal_number);
  _exit(EXIT_SIGNAL + signal_number);
}

/* The code is unchanged for this command's own launcher, which sees the signal itself; mpirun and
 * srun see only exit codes. */
int cli_signals_exit_code(int code) {
  int caught = cli_signals_caught();
  bool is_ours = getenv("HLORUN_LAUNCHED") || getenv("HLORUN_VERDICT");
  if (!caught || is_ours || tp_launcher_world_size() == 0) return code;
  return EXIT_SIGNAL + caught;
}

int cli_signals_caught(void) { return atomic_load(&watcher.caught); }
