/* Timers of the event loop's thread, which runs while MPI_Init() blocks the main thread. */
#include "cli/launch/cli_start_watch.h"

#include <stdio.h>
#include <unistd.h>

#include "cli/launch/cli_exit_code.h"
#include "cli/launch/cli_rank_watch.h"
#include "cli/launch/cli_start_guard.h"
#include "observe/wait_for_graph.h"
#include "transport/core/event_loop.h"
#include "transport/core/transport.h"
#include "transport/shm/local_launch.h"

#define EXIT_DEADLINE 6
#define MS_PER_S 1000

typedef struct start_watch {
  tp_loop_t *loop; /* NULL: MPI is not used */
  tp_source_t *warning, *limit;
  double warning_s, limit_s; /* 0: none */
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
  cli_start_guard_close();
  _exit(EXIT_DEADLINE);
}

static bool starts_mpi(void) {
  int world_size, rank;
  return tp_launcher_world_size() > 1 && !tp_local_launch(&world_size, &rank);
}

static hr_status_t start_timer(double seconds, tp_loop_fn fn, tp_source_t **out_source) {
  if (seconds <= 0) return NULL;
  return tp_loop_timer(start.loop, (uint64_t)(seconds * MS_PER_S), 0, fn, NULL, out_source);
}

/* --- begin and end --- */

hr_status_t cli_start_watch_begin(const hr_options_t *options) {
  double timeout_s = hr_option_real(options, HR_OPTION_TIMEOUT, 0);
  if (!starts_mpi()) return NULL;
  start = (start_watch_t){.warning_s = exec_wait_stall_s(),
                          .limit_s = timeout_s > 0 ? timeout_s + EXEC_START_GRACE_S : 0};
  HR_TRY(tp_loop_acquire(&start.loop));
  HR_TRY(start_timer(start.warning_s, warn, &start.warning));
  HR_TRY(start_timer(start.limit_s, end_now, &start.limit));
  cli_start_guard_begin();
  return NULL;
}

void cli_start_watch_end(void) {
  cli_start_guard_close();
  tp_source_stop(start.warning);
  tp_source_stop(start.limit);
  tp_loop_release(start.loop);
  start = (start_watch_t){0};
}
