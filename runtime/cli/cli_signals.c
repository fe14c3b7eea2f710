#include "cli/cli_signals.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#define GRACE_S 2
#define EXIT_INTERRUPTED 5

static struct {
  pthread_t thread;
  bool runs;
  hlorun_client_t *client;
  atomic_int caught;
} watcher;

static void watched_signals(sigset_t *out_set) {
  sigemptyset(out_set);
  sigaddset(out_set, SIGINT);
  sigaddset(out_set, SIGTERM);
  sigaddset(out_set, SIGHUP);
  sigaddset(out_set, SIGUSR2); /* ends the watcher */
}

void cli_signals_block(void) {
  sigset_t set;
  watched_signals(&set);
  pthread_sigmask(SIG_BLOCK, &set, NULL);
}

static void end_now(void) {
  static const char text[] = "hlorun: interrupted\n";
  if (write(STDERR_FILENO, text, sizeof text - 1) < 0) _exit(EXIT_INTERRUPTED);
  _exit(EXIT_INTERRUPTED);
}

static void *watch(void *context) {
  (void)context;
  sigset_t set;
  watched_signals(&set);
  int signal_number;
  if (sigwait(&set, &signal_number) || signal_number == SIGUSR2) return NULL;
  atomic_store(&watcher.caught, signal_number);
  char reason[64];
  snprintf(reason, sizeof reason, "interrupted by SIG%s", sigabbrev_np(signal_number));
  hlorun_client_cancel(watcher.client, reason);
  struct timespec grace = {GRACE_S, 0};
  if (sigtimedwait(&set, NULL, &grace) != SIGUSR2) end_now();
  return NULL;
}

hr_status_t cli_signals_watch(hlorun_client_t *client) {
  watcher.client = client;
  watcher.runs = pthread_create(&watcher.thread, NULL, watch, NULL) == 0;
  return watcher.runs ? NULL : hr_error(HR_UNAVAILABLE, "cannot start a thread for signals");
}

void cli_signals_unwatch(void) {
  if (!watcher.runs) return;
  pthread_kill(watcher.thread, SIGUSR2);
  pthread_join(watcher.thread, NULL);
  watcher.runs = false;
}

int cli_signals_caught(void) { return atomic_load(&watcher.caught); }
