/* The watch is a thread of the process that started the run: it sleeps, probes the missing hosts,
 * and compares what the run could have with what it has. A run is ended by SIGTERM to mpirun, which
 * hands it on. Steps since the last checkpoint would be lost: the watch waits for a new one first.
 *
 * The number of replicas follows the number of processes; partitions stay as they are, for the
 * program was partitioned for them. A global program is partitioned at each start: it runs on the
 * largest number of processes to which its mesh can be reduced. */
#include "cli/launch/cli_elastic.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/options.h"
#include "cli/cli_agree.h"
#include "cli/checkpoint/cli_folder.h"
#include "cli/program/cli_grid.h"
#include "cli/launch/cli_hosts.h"
#include "cli/launch/cli_launch.h"
#include "cli/cli_limits.h"
#include "cli/checkpoint/cli_manifest.h"

#define PERIOD_MS 3000 /* time between two probes */
#define SLICE_MS 100   /* time between two checks whether the run has ended */
#define TELL_MS 60000  /* time between two messages about missing hosts */
#define EXIT_USAGE 2   /* EXIT_*: exit codes of a grid that does not fit an option or the program */
#define EXIT_INVALID 3

struct cli_elastic {
  int least, most; /* processes */
  int partitions;
  const int *worlds;       /* numbers of processes of a global program, descending */
  int world_count;         /* 0: another program, which runs on all multiples of `partitions` */
  const char *checkpoints; /* folder */
  uint64_t first_step;     /* newest checkpoint before the first run; 0: none */
  bool *is_refused;        /* by number of processes, up to `most` */
  double timeout_s;        /* limit of a wait for hosts; 0: none */
  cli_hosts_t hosts;
  int running; /* processes of the current run */
  pthread_t thread;
  bool has_thread;
  atomic_bool ends; /* the run has ended: so does the watch */
  atomic_bool grew; /* the watch has ended the run */
};

/* --- creation --- */

/* The newest step of the folder; 0: none. */
static uint64_t newest_step(const char *path) {
  cli_folder_t folder;
  hr_arena_t arena;
  const char **names;
  uint64_t newest = 0, step;
  int count = 0;
  hr_arena_init(&arena);
  hr_status_t st = cli_folder_open(path, &folder);
  if (!st) {
    st = cli_folder_list(&folder, &arena, &names, &count);
    for (int i = 0; i < count && !st; i++)
      if (cli_step_parse(names[i], &step) && step > newest) newest = step;
    cli_folder_close(&folder);
  }
  hr_status_release(st);
  hr_arena_deinit(&arena);
  return newest;
}

/* LEAST:MOST, both from 1 on. */
static bool parse_range(const char *text, int *out_least, int *out_most) {
  char least[12];
  uint64_t low, high;
  const char *colon = strchr(text, ':');
  if (!colon || colon - text >= (int)sizeof least) return false;
  snprintf(least, sizeof least, "%.*s", (int)(colon - text), text);
  if (!hr_parse_u64(least, &low) || !hr_parse_u64(colon + 1, &high)) return false;
  *out_least = (int)low;
  *out_most = (int)high;
  return low >= 1 && low <= high && high <= INT16_MAX;
}

static hr_status_t check_usage(const hr_options_t *options) {
  if (!hr_option_is_given(options, HR_OPTION_HOSTS))
    return hr_error(HR_USAGE, "--elastic goes on with the hosts that are there: give --hosts");
  if (hr_option_is_given(options, HR_OPTION_NUM_REPLICAS))
    return hr_error(HR_USAGE, "--elastic chooses the number of replicas: leave --num-replicas out");
  return NULL;
}

/* With --sandbox the program is not read here, outside of the sandbox. */
static int partitions_of(const hr_options_t *options) {
  if (hr_option_is_given(options, HR_OPTION_NUM_PARTITIONS))
    return (int)hr_option_int(options, HR_OPTION_NUM_PARTITIONS, 1);
  bool reads = options->operands.count && !hr_option_is_given(options, HR_OPTION_SANDBOX);
  return reads ? cli_grid_of_file(options->operands.data[0]).partitions : 1;
}

/* The largest number of processes that run on `slots` slots and was not refused; 0: none. */
static int world_in(const cli_elastic_t *elastic, int slots) {
  int most = slots < elastic->most ? slots : elastic->most;
  if (!elastic->world_count) {
    most -= most % elastic->partitions;
    while (most && elastic->is_refused[most]) most -= elastic->partitions;
    return most;
  }
  for (int i = 0; i < elastic->world_count; i++)
    if (elastic->worlds[i] <= most && !elastic->is_refused[elastic->worlds[i]])
      return elastic->worlds[i];
  return 0;
}

hr_status_t cli_elastic_create(hr_arena_t *arena, const hr_options_t *options,
                               cli_elastic_t **out_elastic) {
  const char *range = hr_option_text(options, HR_OPTION_ELASTIC);
  cli_elastic_t *elastic;
  *out_elastic = NULL;
  if (!range) return NULL;
  HR_TRY(check_usage(options));
  HR_TRY(HR_NEW(arena, &elastic));
  if (!parse_range(range, &elastic->least, &elastic->most))
    return hr_error(HR_USAGE, "--elastic: found '%s', want MIN:MAX processes, such as 4:16", range);
  HR_TRY(cli_hosts_parse(arena, hr_option_text(options, HR_OPTION_HOSTS), &elastic->hosts));
  HR_TRY(HR_NEW_ARRAY(arena, elastic->most + 1, &elastic->is_refused));
  if (!hr_option_is_given(options, HR_OPTION_SANDBOX))
    HR_TRY(cli_grid_worlds(arena, options, &elastic->worlds, &elastic->world_count));
  elastic->partitions = elastic->world_count ? 1 : partitions_of(options);
  elastic->checkpoints = hr_option_text(options, HR_OPTION_CHECKPOINT);
  elastic->timeout_s = hr_option_real(options, HR_OPTION_TIMEOUT, 0);
  if (elastic->hosts.slots < elastic->least)
    return hr_error(HR_USAGE, "--elastic %s: --hosts have %d processes in all", range,
                    elastic->hosts.slots);
  if (world_in(elastic, elastic->hosts.slots) < elastic->least)
    return hr_error(HR_USAGE, "--elastic %s: with %d processes of --hosts the program runs on %d",
                    range, elastic->hosts.slots, world_in(elastic, elastic->hosts.slots));
  elastic->first_step = newest_step(elastic->checkpoints);
  *out_elastic = elastic;
  return NULL;
}

/* --- the watch --- */

static void pause_ms(long ms) {
  nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000}, NULL);
}

/* False: the run has ended meanwhile. */
static bool sleep_while_running(cli_elastic_t *elastic, long ms) {
  for (long slept = 0; slept < ms && !atomic_load(&elastic->ends); slept += SLICE_MS)
    pause_ms(SLICE_MS);
  return !atomic_load(&elastic->ends);
}

static bool has_run_ended(void *context) {
  const cli_elastic_t *elastic = context;
  return atomic_load(&elastic->ends);
}

/* Whether the program runs on more of the slots that can be reached now. */
static bool could_grow(cli_elastic_t *elastic) {
  bool has_shell;
  cli_hosts_probe(&elastic->hosts, true, has_run_ended, elastic, &has_shell);
  return world_in(elastic, cli_hosts_slots(&elastic->hosts)) > elastic->running;
}

/* Thread beside a run that has too few hosts: waits until there are more, then for the next
 * checkpoint, so that little is computed again, and ends the run. */
static void *watch(void *context) {
  cli_elastic_t *elastic = context;
  do {
    if (!sleep_while_running(elastic, PERIOD_MS)) return NULL;
  } while (!could_grow(elastic));
  uint64_t step = newest_step(elastic->checkpoints);
  while (newest_step(elastic->checkpoints) == step)
    if (!sleep_while_running(elastic, SLICE_MS)) return NULL;
  atomic_store(&elastic->grew, true);
  fprintf(stderr, "hlorun: hosts are back: the run is started again with them\n");
  cli_launch_end();
  return NULL;
}

/* Without a thread the run goes on as it is. */
static void start_watch(cli_elastic_t *elastic) {
  sigset_t all, before;
  atomic_store(&elastic->ends, false);
  atomic_store(&elastic->grew, false);
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  elastic->has_thread = pthread_create(&elastic->thread, NULL, watch, elastic) == 0;
  pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* --- a run --- */

/* Prints the hosts that cannot be reached, and why. */
static void tell_missing(const cli_elastic_t *elastic) {
  const char *before = " (not there: ", *after = "";
  for (int i = 0; i < elastic->hosts.count; i++) {
    if (elastic->hosts.hosts[i].is_reachable) continue;
    fprintf(stderr, "%s%s: %s", before, elastic->hosts.hosts[i].name,
            elastic->hosts.hosts[i].fault);
    before = ", ";
    after = ")";
  }
  fprintf(stderr, "%s\n", after);
}

/* Prints a message at once, and again every minute. */
static void tell_waiting(const cli_elastic_t *elastic, int processes, int64_t *told_ms) {
  int64_t now_ms = hr_clock_ms();
  if (*told_ms && now_ms - *told_ms < TELL_MS) return;
  *told_ms = now_ms;
  fprintf(stderr, "hlorun: waiting for hosts: found %d processes, want at least %d", processes,
          elastic->least);
  tell_missing(elastic);
}

/* The reason to end the wait; NULL: none. */
static hr_status_t check_wait(const cli_elastic_t *elastic, bool has_shell, int64_t start_ms) {
  double waited_s = 1e-3 * (double)(hr_clock_ms() - start_ms);
  if (cli_launch_interrupted()) return cli_reported(HR_CANCELLED);
  if (cli_limits_is_over()) return hr_error(HR_DEADLINE, "the time of --max-time is over");
  if (!has_shell)
    return hr_error(HR_UNAVAILABLE,
                    "hosts cannot be reached: there is no remote shell here (ssh, or "
                    "OMPI_MCA_plm_rsh_agent)");
  if (!(elastic->timeout_s > 0 && waited_s > elastic->timeout_s)) return NULL;
  return hr_error(HR_DEADLINE, "waited %g s for hosts", elastic->timeout_s);
}

static bool must_end(void *context) {
  (void)context;
  return cli_launch_interrupted() || cli_limits_is_over();
}

/* Probes until there are hosts for the least number of processes. Errors: DEADLINE, CANCELLED
 * from check_wait. */
static hr_status_t wait_for_hosts(cli_elastic_t *elastic, hr_arena_t *arena,
                                  cli_elastic_share_t *share) {
  bool has_shell;
  for (int64_t told_ms = 0, start_ms = hr_clock_ms();;) {
    cli_hosts_probe(&elastic->hosts, false, must_end, NULL, &has_shell);
    share->processes = world_in(elastic, cli_hosts_slots(&elastic->hosts));
    if (share->processes >= elastic->least)
      return cli_hosts_choose(arena, &elastic->hosts, share->processes, &share->hosts);
    tell_waiting(elastic, share->processes, &told_ms);
    HR_TRY(check_wait(elastic, has_shell, start_ms));
    pause_ms(PERIOD_MS);
  }
}

hr_status_t cli_elastic_begin(cli_elastic_t *elastic, hr_arena_t *arena,
                              cli_elastic_share_t *out_share) {
  HR_TRY(wait_for_hosts(elastic, arena, out_share));
  int replicas = elastic->world_count ? 1 : out_share->processes / elastic->partitions;
  HR_TRY(hr_arena_printf(arena, &out_share->replicas, "%d", replicas));
  elastic->running = out_share->processes;
  fprintf(stderr, "hlorun: %d processes on %s", out_share->processes, out_share->hosts);
  tell_missing(elastic);
  bool could_be_more = world_in(elastic, elastic->hosts.slots) > elastic->running;
  elastic->has_thread = false;
  if (could_be_more) start_watch(elastic);
  return NULL;
}

bool cli_elastic_end(cli_elastic_t *elastic) {
  if (!elastic->has_thread) return false;
  atomic_store(&elastic->ends, true);
  pthread_join(elastic->thread, NULL);
  elastic->has_thread = false;
  return atomic_load(&elastic->grew);
}

bool cli_elastic_refuses(cli_elastic_t *elastic, hr_status_t failure) {
  int code = hr_status_exit_code(failure);
  if (code != EXIT_USAGE && code != EXIT_INVALID) return false;
  if (newest_step(elastic->checkpoints) == elastic->first_step) return false;
  elastic->is_refused[elastic->running] = true;
  fprintf(stderr, "hlorun: this cannot be run on %d processes\n", elastic->running);
  return world_in(elastic, elastic->hosts.slots) >= elastic->least;
}
