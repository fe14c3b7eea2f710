/* The loop around a run: start, wait, and start again with --resume. A run with --overwrite keeps
 * that option until it has written a checkpoint of its own, which began later than all that were
 * there before, by the manifests: the replaced training must not be continued. A folder that was
 * renamed meanwhile ends the run, which would otherwise begin anew. Restarts are reported on
 * standard error, in the log of the run. A run shorter than SHORT_S is followed by a pause, which
 * doubles each time. A signal to this process ends all. This applies only to processes that this
 * process started; launchers such as Slurm have their own restarts. */
#include "cli/launch/cli_restart.h"

#include <math.h>
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

/* When the training of a checkpoint began; 0 if its manifest cannot be read. */
static uint64_t began_of(const cli_folder_t *folder, const char *name, uint64_t step,
                         hr_arena_t *arena) {
  cli_folder_t step_folder;
  cli_manifest_t manifest = {0};
  hr_status_t torn = cli_folder_enter(folder, name, &step_folder);
  if (!torn) {
    torn = cli_manifest_read(arena, &step_folder, step, &manifest);
    cli_folder_close(&step_folder);
  }
  uint64_t began = torn ? 0 : manifest.began;
  hr_status_release(torn);
  return began;
}

/* The beginning of the newest training in the folder; 0 without a checkpoint. */
static hr_status_t find_newest_began(const cli_folder_t *folder, hr_arena_t *arena,
                                     uint64_t *out_began) {
  const char **names;
  int count;
  uint64_t step;
  *out_began = 0;
  HR_TRY(cli_folder_list(folder, arena, &names, &count));
  for (int i = 0; i < count; i++) {
    uint64_t began = cli_step_parse(names[i], &step) ? began_of(folder, names[i], step, arena) : 0;
    if (began > *out_began) *out_began = began;
  }
  return NULL;
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
  cli_elastic_t *elastic;  /* NULL: the grid does not change */
  cli_folder_t folder;     /* folder of --checkpoint */
  uint64_t replaced_began; /* newest beginning of a training that --overwrite replaces */
  int processes;
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
  if (resumes && hr_option_is_given(options, HR_OPTION_OVERWRITE)) {
    uint64_t began;
    HR_TRY(find_newest_began(&r->folder, arena, &began));
    resumes = began > r->replaced_began;
  }
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

static void sleep_s(double seconds) {
  double whole_s = floor(seconds);
  nanosleep(&(struct timespec){(time_t)whole_s, (long)(1e9 * (seconds - whole_s))}, NULL);
}

/* Pauses if the run was short, until --max-time is over at most, and doubles the next pause. A long
 * run resets the pause. */
static void pause_after_short_run(restarts_t *r, double ran_s) {
  if (ran_s >= SHORT_S) {
    r->pause_s = FIRST_PAUSE_S;
    return;
  }
  sleep_s(fmin(r->pause_s, cli_limits_left_s()));
  if (r->pause_s < LONGEST_PAUSE_S) r->pause_s *= 2;
}

static bool may_pass(hr_status_t st) {
  int code = hr_status_exit_code(st);
  return st && !cli_launch_interrupted() && hr_status_code(st) != HR_CANCELLED &&
         !cli_limits_is_over() && (code == EXIT_PEER || code == EXIT_STALL);
}

/* Errors: UNAVAILABLE if the next run would not find the checkpoints of the last one. */
static hr_status_t check_place(const restarts_t *r) {
  char place[PATH_MAX];
  if (cli_folder_is_in_place(&r->folder)) return NULL;
  cli_folder_place(&r->folder, place);
  return hr_error(HR_UNAVAILABLE,
                  "%s was renamed, removed or replaced; checkpoints are in %s: the run is not "
                  "started again, as it would begin anew",
                  r->folder.path, place);
}

/* The failure of a run after which none follows; also says that of the run itself. */
static hr_status_t end_with(hr_status_t last, hr_status_t st) {
  if (last && !cli_is_reported(last)) last = cli_report_now(last);
  hr_status_release(last);
  return st;
}

/* Runs until success, a failure that a restart cannot cure, a lack of hosts, or the largest number
 * of restarts. A run that was ended to use more hosts, or that could not be run on those that are
 * left, does not count. */
static hr_status_t run_again_and_again(restarts_t *r) {
  for (;;) {
    bool has_hosts;
    double from_s = hr_clock_s();
    hr_status_t st = run_once(r, &has_hosts);
    bool grew = r->elastic && cli_elastic_end(r->elastic);
    r->resumes = true;
    bool refused = st && r->elastic && has_hosts && cli_elastic_refuses(r->elastic, st);
    bool goes_on = st && (grew || refused) && !cli_launch_interrupted();
    if (!goes_on && (!has_hosts || !may_pass(st) || r->done == r->most)) return st;
    hr_status_t moved = check_place(r);
    if (moved) return end_with(st, moved);
    if (goes_on) {
      hr_status_release(st);
      continue;
    }
    r->done++;
    double ran_s = hr_clock_s() - from_s;
    report_restart(r, st, ran_s);
    pause_after_short_run(r, ran_s);
    hr_status_release(st);
  }
}

/* May read the program. */
static hr_status_t create_elastic(restarts_t *r, hr_arena_t *arena) {
  const hr_options_t *options = &r->arguments->options;
  hr_status_t st = cli_limits_apply_for_now(options);
  if (!st) st = cli_elastic_create(arena, options, &r->elastic);
  cli_limits_lift();
  return st;
}

static hr_status_t run_with(restarts_t *r, hr_arena_t *arena) {
  const hr_options_t *options = &r->arguments->options;
  HR_TRY(create_elastic(r, arena));
  HR_TRY(cli_folder_open(hr_option_text(options, HR_OPTION_CHECKPOINT), &r->folder));
  if (hr_option_is_given(options, HR_OPTION_OVERWRITE))
    HR_TRY(find_newest_began(&r->folder, arena, &r->replaced_began));
  return run_again_and_again(r);
}

hr_status_t cli_restart_run(const cli_arguments_t *arguments, int processes) {
  restarts_t r = {.arguments = arguments,
                  .folder = {.fd = -1},
                  .processes = processes,
                  .most = hr_option_int(&arguments->options, HR_OPTION_MAX_RESTARTS, 0),
                  .pause_s = FIRST_PAUSE_S};
  hr_arena_t arena;
  hr_arena_init(&arena);
  hr_status_t st = run_with(&r, &arena);
  cli_folder_close(&r.folder);
  hr_arena_deinit(&arena);
  return st;
}
