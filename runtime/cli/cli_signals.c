/* Signals are handled on the event loop's thread: the first one cancels the client's executions and
 * starts a grace period; its end, or a second signal, exits at once. SIGUSR1 prints the state. */
#include "cli/cli_signals.h"

#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "transport/core/event_loop.h"
#include "transport/core/transport.h"

#define GRACE_MS 2000
#define SAME_MS 500
#define EXIT_INTERRUPTED 5

static const int watched[] = {SIGINT, SIGTERM, SIGHUP};
#define WATCHED_COUNT (sizeof watched / sizeof *watched)

static struct {
  tp_loop_t *loop;
  tp_source_t *sources[WATCHED_COUNT], *grace, *state_printer;
  hlorun_client_t *client;
  atomic_int caught;
  int64_t caught_ms; /* of the loop thread */
} watcher;

/* On the loop thread, whatever the program is doing. */
static void print_state(void *context) { hlorun_client_print_state(context); }

static void end_now(void *context) {
  (void)context;
  static const char text[] = "hlorun: interrupted\n";
  if (write(STDERR_FILENO, text, sizeof text - 1) < 0) _exit(EXIT_INTERRUPTED);
  cli_signals_end_by(cli_signals_caught());
  _exit(EXIT_INTERRUPTED);
}

/* On the loop thread. The first signal starts an orderly end with a grace period; a later one ends
 * the process. A repetition within SAME_MS counts as the same signal, sent by the terminal and by
 * the parent process. */
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

/* Signals reach the loop's thread alone. */
hr_status_t cli_signals_watch(hlorun_client_t *client) {
  watcher.client = client;
  HR_TRY(tp_loop_acquire(&watcher.loop));
  for (size_t i = 0; i < WATCHED_COUNT; i++)
    HR_TRY(tp_loop_signal(watcher.loop, watched[i], on_signal, (void *)&watched[i],
                          &watcher.sources[i]));
  return tp_loop_signal(watcher.loop, SIGUSR1, print_state, client, &watcher.state_printer);
}

/* Sources that were never made are NULL. */
void cli_signals_unwatch(void) {
  for (size_t i = 0; i < WATCHED_COUNT; i++) {
    tp_source_stop(watcher.sources[i]);
    watcher.sources[i] = NULL;
  }
  tp_source_stop(watcher.state_printer);
  watcher.state_printer = NULL;
  tp_source_stop(watcher.grace);
  watcher.grace = NULL;
  tp_loop_release(watcher.loop);
  watcher.loop = NULL;
}

/* As if nobody had caught it: what was written is flushed first. */
void cli_signals_end_by(int signal_number) {
  sigset_t set;
  if (!signal_number || tp_launcher_world_size() > 0) return;
  fflush(NULL);
  sigemptyset(&set);
  sigaddset(&set, signal_number);
  signal(signal_number, SIG_DFL);
  pthread_sigmask(SIG_UNBLOCK, &set, NULL);
  raise(signal_number);
}

int cli_signals_caught(void) { return atomic_load(&watcher.caught); }
