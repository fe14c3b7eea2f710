/* Creates the state of --checkpoint, locks its folder, and starts a background write when a step is
 * due. Writing is in cli_checkpoint_write.c, reading in cli_checkpoint_resume.c; the format is that
 * of cli_checkpoint.h (folders, arrays) and cli_manifest.h (manifest). */
#include "cli/checkpoint/cli_checkpoint.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "cli/checkpoint/cli_checkpoint_parts.h"
#include "cli/cli_agree.h"

#define EVERY 100 /* default of --every, in steps */
#define KEEP 2    /* default of --keep, in checkpoints */
/* attempts 0.1 s apart, as processes of a killed run may take a moment to end */
#define LOCK_TRIES 100

/* On a worker thread. Rank 0 learns at once that another one has failed, and may end before that
 * one asks for the status: it is reported here. */
static void write_behind(void *context) {
  cli_checkpoint_t *checkpoint = context;
  hr_status_t st = cli_checkpoint_write(checkpoint);
  st = hr_status_note(st, "while writing the checkpoint of step %" PRIu64, checkpoint->step);
  checkpoint->status = checkpoint->rank ? cli_report_now(st) : st;
}

/* --- steps --- */

/* Releases the data being written. */
static void release_values(cli_checkpoint_t *checkpoint) {
  for (size_t i = 0; checkpoint->values && i < checkpoint->from.carry->count; i++) {
    hlo_value_release(checkpoint->values[i]);
    checkpoint->values[i] = NULL;
  }
  hlo_value_release(checkpoint->state);
  checkpoint->state = NULL;
}

/* Waits for the write under way, if any, and returns its status. */
hr_status_t cli_checkpoint_finish(cli_checkpoint_t *checkpoint) {
  if (!checkpoint || !checkpoint->work) return NULL;
  tp_work_wait(checkpoint->work);
  checkpoint->work = NULL;
  release_values(checkpoint);
  hr_status_t st = checkpoint->status;
  checkpoint->status = NULL;
  return st;
}

/* Called after every step; steps_done counts from the start of the training. A write that is still
 * under way is waited for, so that one at most holds values. Retained results cannot be
 * overwritten by the steps that follow. */
hr_status_t cli_checkpoint_step(cli_checkpoint_t *checkpoint, uint64_t steps_done,
                                hlo_value_t *const *results) {
  if (!checkpoint || steps_done % checkpoint->every) return NULL;
  HR_TRY(cli_checkpoint_finish(checkpoint));
  HR_TRY(hlorun_program_save_state(checkpoint->from.program, &checkpoint->state));
  for (size_t i = 0; i < checkpoint->from.carry->count; i++)
    checkpoint->values[i] = hlo_value_retain(results[checkpoint->from.carry->data[i].out]);
  checkpoint->step = steps_done;
  return tp_loop_work(checkpoint->loop, write_behind, checkpoint, &checkpoint->work);
}

/* --- the folder --- */

/* Only one run at a time may use the folder: two would remove each other's files. */
static hr_status_t lock_folder(cli_checkpoint_t *checkpoint) {
  const char *path = checkpoint->folder.path;
  struct stat info;
  checkpoint->lock = openat(checkpoint->folder.fd, "lock",
                            O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0666);
  if (checkpoint->lock < 0)
    return hr_error(HR_UNAVAILABLE, "%s/lock: cannot be made: %s", path, strerror(errno));
  if (fstat(checkpoint->lock, &info) || !S_ISREG(info.st_mode))
    return hr_error(HR_UNAVAILABLE, "%s/lock is no regular file", path);
  for (int tries = 0; flock(checkpoint->lock, LOCK_EX | LOCK_NB); tries++) {
    if (errno != EWOULDBLOCK && errno != EINTR) {
      fprintf(stderr, "warning: %s cannot be locked (%s): no second run may use it\n", path,
              strerror(errno));
      return NULL;
    }
    if (tries == LOCK_TRIES)
      return hr_error(HR_UNAVAILABLE, "another run writes its checkpoints to %s", path);
    nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
  }
  return NULL;
}

/* Names of the folder begin with what they are (cli_checkpoint_parts.h). */
static bool has_prefix(const char *name, const char *prefix) {
  return !strncmp(name, prefix, strlen(prefix));
}

bool cli_checkpoint_is_aside(const char *name) {
  return has_prefix(name, CLI_TORN) || has_prefix(name, CLI_REPLACED);
}

/* Refuses a folder with checkpoints unless the caller says whether to continue or to overwrite. */
static hr_status_t check_empty(const cli_checkpoint_t *checkpoint, const char *const *names,
                               int count) {
  const char *newest = NULL;
  uint64_t step, newest_step = 0;
  for (int i = 0; i < count; i++) {
    bool is_step = cli_step_parse(names[i], &step);
    if (is_step ? step < newest_step : newest || !cli_checkpoint_is_aside(names[i])) continue;
    newest = names[i];
    if (is_step) newest_step = step;
  }
  if (!newest) return NULL;
  return hr_error(
      HR_USAGE,
      "%s has checkpoints, such as %s: go on after the newest with --resume, or begin anew with "
      "--overwrite, which removes them once there is a new one",
      checkpoint->folder.path, newest);
}

/* Removes partly written and partly removed checkpoints of a killed run. */
static void remove_halves(const cli_checkpoint_t *checkpoint, const char *const *names, int count) {
  for (int i = 0; i < count; i++)
    if (has_prefix(names[i], "writing-") || has_prefix(names[i], "gone-"))
      cli_folder_remove(&checkpoint->folder, names[i]);
}

/* Renames a replaced checkpoint back if its run was killed before the new checkpoint of the same
 * step had its name. */
static void restore_replaced(const cli_checkpoint_t *checkpoint, const char **names, int count) {
  const size_t prefix = strlen(CLI_REPLACED);
  char name[CLI_STEP_NAME];
  uint64_t step;
  for (int i = 0; i < count; i++) {
    if (!has_prefix(names[i], CLI_REPLACED)) continue;
    snprintf(name, sizeof name, "%s", names[i] + prefix);
    char *dash = strchr(name, '-');
    if (dash) dash = strchr(dash + 1, '-'); /* before the number of a run */
    if (dash) *dash = 0;
    if (!cli_step_parse(name, &step) || cli_folder_has(&checkpoint->folder, name)) continue;
    hr_status_t st = cli_folder_rename(&checkpoint->folder, names[i], name);
    if (st) fprintf(stderr, "warning: %s\n", hr_status_message(st));
    hr_status_release(st);
  }
}

/* On rank 0, once, before the first step. Partly written files are removed only after the folder is
 * locked. */
static hr_status_t clean_folder(const cli_checkpoint_t *checkpoint) {
  const hr_options_t *options = checkpoint->from.options;
  bool anew = !hr_option_is_given(options, HR_OPTION_RESUME) &&
              !hr_option_is_given(options, HR_OPTION_OVERWRITE);
  const char **names;
  int count;
  hr_arena_t arena;
  hr_arena_init(&arena);
  hr_status_t st = cli_folder_list(&checkpoint->folder, &arena, &names, &count);
  if (!st) restore_replaced(checkpoint, names, count);
  if (!st) st = cli_folder_list(&checkpoint->folder, &arena, &names, &count);
  if (!st && anew) st = check_empty(checkpoint, names, count);
  if (!st) remove_halves(checkpoint, names, count);
  hr_arena_deinit(&arena);
  return st;
}

/* --- life --- */

/* Refuses contradictory options, and runs without carried values. */
static hr_status_t check_usage(const cli_checkpoint_options_t *options) {
  if (!options->carry->count)
    return hr_error(HR_USAGE, "--checkpoint keeps what --carry carries, and nothing is carried");
  if (hr_option_int(options->options, HR_OPTION_REPEAT, 1) > 1)
    return hr_error(HR_USAGE, "--checkpoint and --repeat do not go together");
  if (hr_option_is_given(options->options, HR_OPTION_RESUME) &&
      hr_option_is_given(options->options, HR_OPTION_OVERWRITE))
    return hr_error(HR_USAGE, "--resume goes on, --overwrite begins anew: give one");
  return NULL;
}

/* Rank 0 owns the folder: it locks and cleans; the others only write their files into it. */
static hr_status_t set_up(cli_checkpoint_t *checkpoint) {
  void *values;
  HR_TRY(check_usage(&checkpoint->from));
  HR_TRY(cli_checkpoint_bundle_init(checkpoint));
  HR_TRY(cli_identity_of(checkpoint->from.program_path, &checkpoint->program));
  HR_TRY(cli_folder_open(hr_option_text(checkpoint->from.options, HR_OPTION_CHECKPOINT),
                         &checkpoint->folder));
  if (checkpoint->rank == 0) HR_TRY(lock_folder(checkpoint));
  if (checkpoint->rank == 0) HR_TRY(clean_folder(checkpoint));
  HR_TRY(hr_alloc_zeroed(checkpoint->from.carry->count * sizeof(hlo_value_t *), &values));
  checkpoint->values = values;
  return tp_loop_acquire(&checkpoint->loop);
}

/* Refuses options that have no meaning without --checkpoint. */
static hr_status_t check_unused(const hr_options_t *options) {
  static const hr_option_id_t ids[] = {HR_OPTION_RESUME, HR_OPTION_OVERWRITE, HR_OPTION_EVERY,
                                       HR_OPTION_KEEP, HR_OPTION_CHECKPOINT_FORMAT};
  for (size_t i = 0; i < sizeof ids / sizeof *ids; i++)
    if (hr_option_is_given(options, ids[i]))
      return hr_error(HR_USAGE, "--%s is about checkpoints: say with --checkpoint where they are",
                      hr_option_name(ids[i]));
  return NULL;
}

/* *out_checkpoint NULL: none is wanted. */
hr_status_t cli_checkpoint_create(const cli_checkpoint_options_t *options,
                                  cli_checkpoint_t **out_checkpoint) {
  *out_checkpoint = NULL;
  if (!hr_option_is_given(options->options, HR_OPTION_CHECKPOINT))
    return check_unused(options->options);
  void *memory;
  HR_TRY(hr_alloc_zeroed(sizeof(cli_checkpoint_t), &memory));
  cli_checkpoint_t *checkpoint = memory;
  checkpoint->from = *options;
  hr_arena_init(&checkpoint->names_arena);
  checkpoint->lock = -1;
  checkpoint->folder.fd = -1;
  checkpoint->every = hr_option_int(options->options, HR_OPTION_EVERY, EVERY);
  checkpoint->keep = hr_option_int(options->options, HR_OPTION_KEEP, KEEP);
  checkpoint->replaces = hr_option_is_given(options->options, HR_OPTION_OVERWRITE);
  checkpoint->rank = hlorun_client_rank(options->client);
  checkpoint->world = hlorun_client_world_size(options->client);
  checkpoint->num_replicas = hlorun_program_num_replicas(options->program);
  checkpoint->num_partitions = hlorun_program_num_partitions(options->program);
  hr_status_t st = set_up(checkpoint);
  if (st)
    cli_checkpoint_destroy(checkpoint);
  else
    *out_checkpoint = checkpoint;
  return st;
}

/* `stop` lets a write under way end early; it leaves a half, which the next run removes. */
void cli_checkpoint_destroy(cli_checkpoint_t *checkpoint) {
  if (!checkpoint) return;
  atomic_store(&checkpoint->stop, true);
  hr_status_release(cli_checkpoint_finish(checkpoint));
  release_values(checkpoint);
  tp_loop_release(checkpoint->loop);
  if (checkpoint->lock >= 0) close(checkpoint->lock);
  cli_folder_close(&checkpoint->folder);
  hr_arena_deinit(&checkpoint->names_arena);
  HR_VEC_FREE(&checkpoint->retained);
  hr_free(checkpoint->values);
  hr_free(checkpoint);
}
