/* The loop around a run: start, wait, and start again with --resume. A run with --overwrite keeps
 * that option until it has written a checkpoint of its own, recognised by the time in its
 * manifest: the replaced training must not be continued. Restarts are reported on standard error,
 * in the log of the run. A run shorter than SHORT_S is followed by a pause, which doubles each
 * time. A signal to this process ends all. This applies only to processes that this process
 * started; launchers such as Slurm have their own restarts. */
#include "cli/launch/cli_restart.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "cli/cli_agree.h"
#include "cli/launch/cli_elastic.h"
#include "cli/launch/cli_launch.h"
#include "cli/launch/cli_launch_local.h"
#include "cli/cli_limits.h"
#include "cli/checkpoint/cli_manifest.h"
#include "transport/core/transport.h"

#define NUMBER_VARIABLE "HLORUN_RESTARTS" /* number of restarts, for the processes of a run */
#define SHORT_S 10.0                      /* runs below this time are followed by a pause */
#define FIRST_PAUSE_S 0.25                /* pause after the first short run */
#define LONGEST_PAUSE_S 30.0              /* pauses from this length on do not double */
#define EXIT_PEER 5 /* EXIT_*: exit codes after which a run is started again */
#define EXIT_STALL 6

bool cli_restart_is_run(void) { return getenv(NUMBER_VARIABLE) != NULL; }

int cli_restart_number(void) {
  const char *text = getenv(NUMBER_VARIABLE);
  return text ? atoi(text) : 0;
}

hr_status_t cli_restart_is_wanted(const hr_options_t *options, bool *out_wanted) {
  *out_wanted = false;
  if (hr_option_is_given(options, HR_OPTION_ELASTIC) &&
      !hr_option_is_given(options, HR_OPTION_MAX_RESTARTS))
    return hr_error(HR_USAGE, "--elastic starts the run again: give --max-restarts");
  if (!hr_option_is_given(options, HR_OPTION_MAX_RESTARTS)) return NULL;
  if (!hr_option_is_given(options, HR_OPTION_CHECKPOINT))
    return hr_error(HR_USAGE, "--max-restarts goes on from checkpoints: give --checkpoint");
  for (size_t i = 0; i < options->operands.count; i++)
    if (strcmp(options->operands.data[i], "-") == 0)
      return hr_error(HR_USAGE, "--max-restarts reads the program again, which - cannot be");
  if (getenv(NUMBER_VARIABLE)) return NULL;
  if (tp_launcher_world_size() > 0)
    return hr_error(HR_USAGE,
                    "--max-restarts is for the process that starts the others: use -n, or --hosts, "
                    "instead of mpirun or srun");
  *out_wanted = true;
  return NULL;
}

/* --- arguments of the next run --- */

/* *out_found: the folder has a checkpoint of a training that began at `since_ns` or later. */
static hr_status_t find_own_checkpoint(const char *path, uint64_t since_ns, hr_arena_t *arena,
                                       bool *out_found) {
  cli_folder_t folder, step_folder;
  const char **names;
  int count;
  *out_found = false;
  HR_TRY(cli_folder_open(path, &folder));
  hr_status_t st = cli_folder_list(&folder, arena, &names, &count);
  for (int i = 0; i < count && !st && !*out_found; i++) {
    cli_manifest_t manifest;
    uint64_t step;
    if (!cli_step_parse(names[i], &step)) continue;
    hr_status_t torn = cli_folder_enter(&folder, names[i], &step_folder);
    if (!torn) {
      torn = cli_manifest_read(arena, &step_folder, step, &manifest);
      cli_folder_close(&step_folder);
    }
    *out_found = !torn && manifest.began >= since_ns;
    hr_status_release(torn);
  }
  cli_folder_close(&folder);
  return st;
}

/* The words of the first run, with --resume and --num-replicas inserted after the command's name.
 * replicas NULL: unchanged. */
static hr_status_t words_of_run(hr_arena_t *arena, const cli_arguments_t *arguments, bool resumes,
                                const char *replicas, int *out_argc, char ***out_argv) {
  int skip = arguments->all_argc - arguments->argc, count = 0;
  char **words;
  HR_TRY(HR_NEW_ARRAY(arena, arguments->all_argc + 3, &words));
  for (int i = 0; i < skip; i++) words[count++] = arguments->all_argv[i];
  if (resumes) words[count++] = "--resume";
  if (replicas) {
    words[count++] = "--num-replicas";
    words[count++] = (char *)replicas;
  }
  for (int i = skip; i < arguments->all_argc; i++) {
    bool is_left_out = resumes && (!strcmp(arguments->all_argv[i], "--overwrite") ||
                                   !strcmp(arguments->all_argv[i], "--resume"));
    if (!is_left_out) words[count++] = arguments->all_argv[i];
  }
  *out_argc = count;
  *out_argv = words;
  return NULL;
}

/* --- the loop --- */

typedef struct restarts {
  const cli_arguments_t *arguments;
  cli_elastic_t *elastic; /* NULL: the grid does not change */
  int processes;
  uint64_t began_ns;   /* start of the first run, by the realtime clock */
  uint64_t most, done; /* most restarts, and restarts so far */
  bool resumes;        /* true from the second run on */
  double pause_s;      /* length of the next pause after a short run */
} restarts_t;

/* Starts the run, or starts it again from its newest checkpoint, and waits for its end. */
static hr_status_t start(const restarts_t *r, const cli_elastic_share_t *share, hr_arena_t *arena) {
  const cli_arguments_t *arguments = r->arguments;
  const hr_options_t *options = &arguments->options;
  int argc = arguments->all_argc;
  char **argv = (char **)arguments->all_argv, number[24];
  bool resumes = r->resumes;
  if (resumes && hr_option_is_given(options, HR_OPTION_OVERWRITE))
    HR_TRY(find_own_checkpoint(hr_option_text(options, HR_OPTION_CHECKPOINT), r->began_ns, arena,
                               &resumes));
  hr_status_t st = NULL;
  if (resumes || share->replicas)
    st = words_of_run(arena, arguments, resumes, share->replicas, &argc, &argv);
  snprintf(number, sizeof number, "%d", (int)r->done);
  setenv(NUMBER_VARIABLE, number, 1);
  if (!st && (r->processes > 1 || r->elastic))
    st = cli_launch_run(share->processes, share->hosts, argc, argv);
  else if (!st)
    st = cli_launch_locally(1, argc, argv);
  unsetenv(NUMBER_VARIABLE);
  return st;
}

/* Waits for the hosts of an elastic run, then runs. */
static hr_status_t run_once(const restarts_t *r, bool *out_has_hosts) {
  hr_arena_t arena;
  const char *hosts = hr_option_text(&r->arguments->options, HR_OPTION_HOSTS);
  cli_elastic_share_t share = {hosts, r->processes, NULL};
  hr_arena_init(&arena);
  hr_status_t st = r->elastic ? cli_elastic_begin(r->elastic, &arena, &share) : NULL;
  *out_has_hosts = !st;
  if (!st) st = start(r, &share, &arena);
  hr_arena_deinit(&arena);
  return st;
}

/* Prints the number of the restart, how long the run took, and why it ended. */
static void report_restart(const restarts_t *r, hr_status_t st, double ran_s) {
  bool is_told = cli_is_reported(st);
  int code = hr_status_exit_code(st);
  fprintf(stderr, "hlorun: restart %d of %d after %.0f s: ", (int)r->done, (int)r->most, ran_s);
  if (is_told)
    fprintf(stderr, "the run ended with exit code %d\n", code);
  else
    fprintf(stderr, "%s\n", hr_status_message(st));
}

/* Pauses if the run was short, and doubles the next pause. A long run resets the pause. */
static void pause_after_short_run(restarts_t *r, double ran_s) {
  if (ran_s >= SHORT_S) {
    r->pause_s = FIRST_PAUSE_S;
    return;
  }
  struct timespec pause = {(time_t)r->pause_s,
                           (long)(1e9 * (r->pause_s - (double)(long)r->pause_s))};
  nanosleep(&pause, NULL);
  if (r->pause_s < LONGEST_PAUSE_S) r->pause_s *= 2;
}

static bool may_pass(hr_status_t st) {
  int code = hr_status_exit_code(st);
  return st && !cli_launch_interrupted() && hr_status_code(st) != HR_CANCELLED &&
         !cli_limits_is_over() && (code == EXIT_PEER || code == EXIT_STALL);
}

/* Runs until success, a failure that a restart cannot cure, a lack of hosts, or the largest number
 * of restarts. A run that was ended to use more hosts does not count. */
static hr_status_t run_again_and_again(restarts_t *r) {
  for (;;) {
    bool has_hosts;
    double from_s = hr_clock_s();
    hr_status_t st = run_once(r, &has_hosts);
    bool grew = r->elastic && cli_elastic_end(r->elastic);
    r->resumes = true;
    if (st && grew && !cli_launch_interrupted()) {
      hr_status_release(st);
      continue;
    }
    if (!has_hosts || !may_pass(st) || r->done == r->most) return st;
    r->done++;
    double ran_s = hr_clock_s() - from_s;
    report_restart(r, st, ran_s);
    pause_after_short_run(r, ran_s);
    hr_status_release(st);
  }
}

hr_status_t cli_restart_run(const cli_arguments_t *arguments, int processes) {
  restarts_t r = {.arguments = arguments,
                  .processes = processes,
                  .began_ns = hr_clock_realtime_ns(),
                  .most = hr_option_int(&arguments->options, HR_OPTION_MAX_RESTARTS, 0),
                  .pause_s = FIRST_PAUSE_S};
  hr_arena_t arena;
  hr_arena_init(&arena);
  hr_status_t st = cli_elastic_create(&arena, &arguments->options, &r.elastic);
  if (!st) st = run_again_and_again(&r);
  hr_arena_deinit(&arena);
  return st;
}
