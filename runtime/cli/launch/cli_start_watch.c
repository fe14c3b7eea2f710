/* Timers of the event loop's thread, which runs while MPI_Init() blocks the main thread.
 *
 * Open MPI's mpirun does not name a rank that ends before MPI has started, and its own end may be a
 * deadlock then (4.1.4, in PMIx_server_finalize). Under an mpirun that this command did not start,
 * ranks 0 and 1 look after the others: rank 1 only after rank 0. mpirun ends all ranks by SIGTERM
 * as soon as one has ended. Each lingers, so that the first two still see who was first. */
#include "cli/launch/cli_start_watch.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/launch/cli_exit_code.h"
#include "cli/launch/cli_rank_watch.h"
#include "observe/wait_for_graph.h"
#include "transport/core/event_loop.h"
#include "transport/core/transport.h"
#include "transport/shm/local_launch.h"

#define EXIT_DEADLINE 6
#define MS_PER_S 1000
#define LOOK_S 0.02          /* time between two looks at the other ranks */
#define LINGER_S 0.15        /* time between SIGTERM and the end */
#define LAUNCHER_END_MS 3000 /* grace period for mpirun; it takes 1 s to end ranks by SIGKILL */

typedef struct start_watch {
  tp_loop_t *loop; /* NULL: MPI is not used */
  tp_source_t *warning, *limit, *look, *termination, *end;
  double warning_s, limit_s; /* 0: none */
  cli_rank_watch_t *ranks;   /* NULL: the others are not watched */
  bool is_terminated;
} start_watch_t;

static start_watch_t start;

static void tell_waiting(const char *kind, double waited_s) {
  fprintf(stderr, "%s: rank %d has waited %.3g s for its peers to start\n", kind,
          tp_launcher_rank(), waited_s);
}

/* Prints once per host: the first running rank names the stopped ones. */
static void tell_stopped(void) {
  cli_rank_watch_t *ranks = cli_rank_watch_create(getppid());
  int rank = tp_launcher_rank();
  cli_rank_watch_look(ranks);
  if (cli_rank_watch_first_running(ranks) == rank) cli_rank_watch_tell_stopped(ranks);
  cli_rank_watch_destroy(ranks);
}

static void warn(void *context) {
  (void)context;
  tell_waiting("warning", start.warning_s);
  tell_stopped();
}

/* If hlorun -n started this process, it names the stopped ranks itself. */
static void end_now(void *context) {
  (void)context;
  tell_waiting("error", start.limit_s);
  if (!cli_exit_code_is_wanted()) tell_stopped();
  cli_exit_code_report(EXIT_DEADLINE);
  _exit(EXIT_DEADLINE);
}

static bool starts_mpi(void) {
  int world_size, rank;
  return tp_launcher_world_size() > 1 && !tp_local_launch(&world_size, &rank);
}

static hr_status_t start_timer(double seconds, bool repeats, tp_loop_fn fn,
                               tp_source_t **out_source) {
  if (seconds <= 0) return NULL;
  uint64_t ms = (uint64_t)(seconds * MS_PER_S);
  return tp_loop_timer(start.loop, ms, repeats ? ms : 0, fn, NULL, out_source);
}

/* --- other ranks under mpirun --- */

static void end_by_signal(void *context) {
  (void)context;
  signal(SIGTERM, SIG_DFL);
  raise(SIGTERM);
}

static void on_termination(void *context) {
  (void)context;
  if (start.is_terminated) return;
  start.is_terminated = true;
  if (start_timer(LINGER_S, false, end_by_signal, &start.end)) end_by_signal(NULL);
}

/* An ignored signal stays ignored. */
static hr_status_t linger_at_end(void) {
  struct sigaction before;
  if (sigaction(SIGTERM, NULL, &before) || before.sa_handler != SIG_DFL) return NULL;
  return tp_loop_signal(start.loop, SIGTERM, on_termination, NULL, &start.termination);
}

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

static void tell_launcher_hangs(void) {
  static const char text[] = "hlorun: mpirun does not end, and is killed\n";
  if (write(STDERR_FILENO, text, sizeof text - 1) < 0) return;
}

/* A process outside of the job, which holds nothing for whose end mpirun waits: standard error is
 * that of mpirun itself. */
static void guard_launcher(void) {
  char path[32];
  pid_t launcher = getppid();
  snprintf(path, sizeof path, "/proc/%d/fd/2", (int)launcher);
  if (!is_mpirun(launcher) || fork()) return;
  setsid();
  signal(SIGTERM, SIG_IGN);
  int null = open("/dev/null", O_RDWR), error = open(path, O_WRONLY | O_APPEND | O_NOCTTY);
  dup2(null, STDIN_FILENO);
  dup2(null, STDOUT_FILENO);
  dup2(error >= 0 ? error : null, STDERR_FILENO);
  cli_rank_watch_end_launcher(start.ranks, LAUNCHER_END_MS, tell_launcher_hangs);
  _exit(0);
}

static int find_lost(void) {
  int lost = cli_rank_watch_find_lost(start.ranks);
  if (lost >= 0 || !start.is_terminated) return lost;
  return cli_rank_watch_missing(start.ranks, tp_launcher_world_size());
}

static void look_at_ranks(void *context) {
  (void)context;
  int lost = find_lost();
  if (lost < 0) return;
  if (tp_launcher_rank() == 0 || lost == 0) {
    fprintf(stderr, "hlorun: rank %d ended while MPI was starting\n", lost);
    guard_launcher();
  }
  tp_source_stop(start.look);
  start.look = NULL;
}

/* On several hosts mpirun ends ranks by processes of its own. */
static hr_status_t watch_ranks(void) {
  if (tp_launcher_machines() > 1 || cli_exit_code_is_wanted()) return NULL;
  HR_TRY(linger_at_end());
  if (tp_launcher_rank() > 1) return NULL;
  start.ranks = cli_rank_watch_create(getppid());
  return start_timer(LOOK_S, true, look_at_ranks, &start.look);
}

/* --- begin and end --- */

hr_status_t cli_start_watch_begin(const hr_options_t *options) {
  double timeout_s = hr_option_real(options, HR_OPTION_TIMEOUT, 0);
  if (!starts_mpi()) return NULL;
  start = (start_watch_t){.warning_s = exec_wait_stall_s(),
                          .limit_s = timeout_s > 0 ? timeout_s + EXEC_START_GRACE_S : 0};
  HR_TRY(tp_loop_acquire(&start.loop));
  HR_TRY(start_timer(start.warning_s, false, warn, &start.warning));
  HR_TRY(start_timer(start.limit_s, false, end_now, &start.limit));
  return watch_ranks();
}

void cli_start_watch_end(void) {
  tp_source_stop(start.warning);
  tp_source_stop(start.limit);
  tp_source_stop(start.look);
  tp_source_stop(start.termination);
  if (start.is_terminated) end_by_signal(NULL);
  tp_loop_release(start.loop);
  cli_rank_watch_destroy(start.ranks);
  start = (start_watch_t){0};
}
