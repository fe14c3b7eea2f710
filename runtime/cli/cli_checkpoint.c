#include "cli/cli_checkpoint.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "base/map.h"
#include "base/mem.h"
#include "cli/cli_agree.h"
#include "cli/cli_manifest.h"
#include "transport/loop.h"

#define EVERY 100      /* steps, unless --every says so */
#define KEEP 2         /* checkpoints, unless --keep says so */
#define LOCK_TRIES 100 /* times 0.1 s: what is left of a run that was killed may take a moment to end */
#define PATIENCE_S 120 /* for the other processes' files to appear */

struct cli_checkpoint {
  cli_checkpoint_options_t from;
  const char *folder;
  uint64_t every, keep;
  int rank, num_replicas, num_partitions;
  int lock;     /* rank 0's: the folder is this run's; -1: none */
  uint64_t run; /* a number that no other run has */
  tp_loop_t *loop;
  tp_work_t *work; /* the writing under way */
  atomic_bool stop;
  /* What is being written; the worker's until it is done. */
  uint64_t step;
  hlo_value_t **values; /* as many as are carried */
  hlo_value_t *state;
  hr_status_t status;
};

typedef char path_t[PATH_MAX];

static void final_folder(const cli_checkpoint_t *checkpoint, uint64_t step, path_t path) {
  snprintf(path, PATH_MAX, "%s/step-%012" PRIu64, checkpoint->folder, step);
}

static void writing_folder(const cli_checkpoint_t *checkpoint, path_t path) {
  snprintf(path, PATH_MAX, "%s/writing-%012" PRIu64 "-%016" PRIx64, checkpoint->folder, checkpoint->step,
           checkpoint->run);
}

static hr_status_t failed(const char *path, const char *what) {
  return hr_error(HR_UNAVAILABLE, "%s: %s: %s", path, what, strerror(errno));
}

/* --- a worker writes this process's part --- */

static hr_status_t add_arrays(const cli_checkpoint_t *checkpoint, read_zip_writer_t *writer, uint64_t *out_hash) {
  char name[32];
  *out_hash = 0;
  for (size_t i = 0; i < checkpoint->from.carry->count; i++) {
    const hlo_value_t *value = checkpoint->values[i];
    snprintf(name, sizeof name, "in%d", checkpoint->from.carry->data[i].in);
    *out_hash = hr_hash_bytes(value->data, hlo_value_bytes(value), *out_hash + 1);
    HR_TRY(read_npz_add(writer, name, value->dtype, value->rank, value->dims, value->data, hlo_value_bytes(value)));
  }
  const hlo_value_t *state = checkpoint->state;
  return read_npz_add(writer, "state", state->dtype, state->rank, state->dims, state->data, hlo_value_bytes(state));
}

static hr_status_t write_own(const cli_checkpoint_t *checkpoint, const char *folder) {
  path_t path;
  char text[64];
  cli_sum_t sum = {0};
  read_zip_writer_t *writer;
  snprintf(path, sizeof path, "%.4000s/rank%d.npz", folder, checkpoint->rank);
  HR_TRY(read_zip_create(path, &writer));
  HR_TRY(read_zip_finish(writer, add_arrays(checkpoint, writer, &sum.values_hash)));
  HR_TRY(cli_flush_path(path));
  HR_TRY(cli_sum_of(path, &sum));
  int size = snprintf(text, sizeof text, "%" PRIu64 " %" PRIx64 " %" PRIx64 "\n", sum.size_bytes, sum.hash,
                      sum.values_hash);
  snprintf(path, sizeof path, "%.4000s/rank%d.sum", folder, checkpoint->rank);
  return hr_file_write_all(path, text, (size_t)size);
}

/* --- and rank 0's makes a checkpoint of all parts --- */

static bool read_sum(const char *path, cli_sum_t *sum) {
  FILE *file = fopen(path, "r");
  bool whole = file && fscanf(file, "%" SCNu64 " %" SCNx64 " %" SCNx64, &sum->size_bytes, &sum->hash,
                              &sum->values_hash) == 3;
  if (file) fclose(file);
  return whole;
}

static hr_status_t await_sum(const cli_checkpoint_t *checkpoint, const char *folder, int rank, cli_sum_t *sum) {
  path_t path;
  snprintf(path, sizeof path, "%.4000s/rank%d.sum", folder, rank);
  for (int tries = 0; !read_sum(path, sum); tries++) {
    if (atomic_load(&checkpoint->stop)) return hr_error(HR_CANCELLED, "the checkpoint was given up");
    if (tries > PATIENCE_S * 500)
      return hr_error(HR_UNAVAILABLE, "%s does not appear: do all processes see the folder of --checkpoint?", path);
    nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
  }
  unlink(path);
  return NULL;
}

static void remove_old(const cli_checkpoint_t *checkpoint, hr_arena_t *arena) {
  uint64_t *steps;
  int count;
  path_t path;
  hr_status_t st = cli_list_steps(arena, checkpoint->folder, &steps, &count);
  for (int i = (int)checkpoint->keep; !st && i < count; i++) {
    final_folder(checkpoint, steps[i], path);
    cli_remove_folder(path);
  }
  hr_status_release(st); /* room that is not won back now is won back later */
}

static hr_status_t put_in_place(const cli_checkpoint_t *checkpoint, const char *folder) {
  path_t path;
  HR_TRY(cli_flush_path(folder));
  final_folder(checkpoint, checkpoint->step, path);
  cli_remove_folder(path); /* a torn one of an earlier run */
  if (rename(folder, path)) return failed(path, "cannot be made");
  return cli_flush_path(checkpoint->folder);
}

static hr_status_t collect(const cli_checkpoint_t *checkpoint, const char *folder, hr_arena_t *arena) {
  cli_manifest_t manifest = {checkpoint->step, checkpoint->num_replicas, checkpoint->num_partitions, NULL};
  int ranks = manifest.num_replicas * manifest.num_partitions;
  HR_TRY(HR_NEW_ARRAY(arena, ranks, &manifest.sums));
  for (int r = 0; r < ranks; r++) HR_TRY(await_sum(checkpoint, folder, r, &manifest.sums[r]));
  HR_TRY(cli_manifest_write(folder, &manifest));
  HR_TRY(put_in_place(checkpoint, folder));
  remove_old(checkpoint, arena);
  return NULL;
}

static hr_status_t write_checkpoint(const cli_checkpoint_t *checkpoint) {
  path_t folder;
  hr_arena_t arena;
  writing_folder(checkpoint, folder);
  HR_TRY(hr_folder_make(checkpoint->folder));
  HR_TRY(hr_folder_make(folder));
  HR_TRY(write_own(checkpoint, folder));
  if (checkpoint->rank) return NULL;
  hr_arena_init(&arena);
  hr_status_t st = collect(checkpoint, folder, &arena);
  hr_arena_deinit(&arena);
  return st;
}

/* On a worker thread. */
static void write_behind(void *context) {
  cli_checkpoint_t *checkpoint = context;
  checkpoint->status = hr_status_note(write_checkpoint(checkpoint), "while writing the checkpoint of step %" PRIu64,
                                      checkpoint->step);
}

/* --- steps --- */

static void release_values(cli_checkpoint_t *checkpoint) {
  for (size_t i = 0; checkpoint->values && i < checkpoint->from.carry->count; i++) {
    hlo_value_release(checkpoint->values[i]);
    checkpoint->values[i] = NULL;
  }
  hlo_value_release(checkpoint->state);
  checkpoint->state = NULL;
}

hr_status_t cli_checkpoint_finish(cli_checkpoint_t *checkpoint) {
  if (!checkpoint || !checkpoint->work) return NULL;
  tp_work_wait(checkpoint->work);
  checkpoint->work = NULL;
  release_values(checkpoint);
  hr_status_t st = checkpoint->status;
  checkpoint->status = NULL;
  return st;
}

hr_status_t cli_checkpoint_step(cli_checkpoint_t *checkpoint, uint64_t steps_done, hlo_value_t *const *results) {
  if (!checkpoint || steps_done % checkpoint->every) return NULL;
  HR_TRY(cli_checkpoint_finish(checkpoint));
  HR_TRY(hlorun_program_save_state(checkpoint->from.program, &checkpoint->state));
  for (size_t i = 0; i < checkpoint->from.carry->count; i++)
    checkpoint->values[i] = hlo_value_retain(results[checkpoint->from.carry->data[i].out]);
  checkpoint->step = steps_done;
  return tp_loop_work(checkpoint->loop, write_behind, checkpoint, &checkpoint->work);
}

/* --- going on --- */

/* The newest one that is whole. All processes look for themselves; rank 0 says what is wrong with newer ones. */
static hr_status_t find_newest(const cli_checkpoint_t *checkpoint, hr_arena_t *arena, cli_manifest_t *out_manifest) {
  uint64_t *steps;
  int count;
  path_t path;
  out_manifest->step = 0;
  HR_TRY(cli_list_steps(arena, checkpoint->folder, &steps, &count));
  for (int i = 0; i < count; i++) {
    cli_manifest_t manifest;
    final_folder(checkpoint, steps[i], path);
    hr_status_t st = cli_manifest_check(arena, path, &manifest);
    if (!st) {
      *out_manifest = manifest;
      return NULL;
    }
    if (checkpoint->rank == 0) fprintf(stderr, "warning: %s is not used: %s\n", path, hr_status_message(st));
    hr_status_release(st);
  }
  return NULL;
}

/* The rank of the old grid whose values this process takes. */
static hr_status_t find_old_rank(const cli_checkpoint_t *checkpoint, const cli_manifest_t *manifest, int *out_rank) {
  int partitions = checkpoint->num_partitions, replica = checkpoint->rank / partitions;
  int partition = checkpoint->rank % partitions;
  if (manifest->num_partitions != partitions)
    return hr_error(HR_USAGE, "the checkpoint is of %d partitions, the program has %d", manifest->num_partitions,
                    partitions);
  bool same = true;
  for (int r = 1; r < manifest->num_replicas; r++)
    same = same && manifest->sums[r * partitions + partition].values_hash == manifest->sums[partition].values_hash;
  if (manifest->num_replicas != checkpoint->num_replicas && !same)
    return hr_error(HR_USAGE, "the replicas of the checkpoint hold different values: go on with %d of them, not %d",
                    manifest->num_replicas, checkpoint->num_replicas);
  *out_rank = replica % manifest->num_replicas * partitions + partition;
  return NULL;
}

static hr_status_t find_array(const read_npz_t *npz, const char *path, const char *name, read_npy_t *out_npy) {
  bool found;
  HR_TRY(read_npz_find(npz, name, &found, out_npy));
  return found ? NULL : hr_error(HR_INVALID, "%s has no array %s: it is of another program, or of another --carry",
                                 path, name);
}

static hr_status_t read_value(const cli_checkpoint_t *checkpoint, const read_npz_t *npz, const char *path, int param,
                              hlo_value_t **values) {
  char name[32];
  read_npy_t npy;
  hlo_value_t *value;
  cli_slot_t slot = {checkpoint->from.interface, false, param};
  snprintf(name, sizeof name, "in%d", param);
  HR_TRY(find_array(npz, path, name, &npy));
  hr_status_t st = cli_value_from_npy(name, &npy, &slot, &value);
  read_npy_deinit(&npy);
  HR_TRY(st);
  hlo_value_release(values[param]);
  values[param] = value;
  return NULL;
}

static hr_status_t read_state(const cli_checkpoint_t *checkpoint, const read_npz_t *npz, const char *path) {
  read_npy_t npy;
  hlo_value_t *state = NULL;
  HR_TRY(find_array(npz, path, "state", &npy));
  hr_status_t st = read_npy_is(&npy, HR_U8) ? read_npy_value(&npy, HR_U8, &state)
                                            : hr_error(HR_INVALID, "%s: the state is no list of bytes", path);
  read_npy_deinit(&npy);
  if (!st) st = hlorun_program_load_state(checkpoint->from.program, state);
  hlo_value_release(state);
  return st;
}

static hr_status_t read_values(const cli_checkpoint_t *checkpoint, const cli_manifest_t *manifest,
                               hlo_value_t **values) {
  path_t path;
  read_npz_t npz;
  int rank;
  HR_TRY(find_old_rank(checkpoint, manifest, &rank));
  final_folder(checkpoint, manifest->step, path);
  snprintf(path + strlen(path), sizeof path - strlen(path), "/rank%d.npz", rank);
  HR_TRY(read_npz_open(path, &npz));
  hr_status_t st = NULL;
  for (size_t i = 0; i < checkpoint->from.carry->count && !st; i++)
    st = read_value(checkpoint, &npz, path, checkpoint->from.carry->data[i].in, values);
  if (!st) st = read_state(checkpoint, &npz, path);
  read_npz_deinit(&npz);
  return st;
}

/* One run at a time: two of them would take each other's files away. */
static hr_status_t lock_folder(cli_checkpoint_t *checkpoint) {
  path_t path;
  snprintf(path, sizeof path, "%.4000s/lock", checkpoint->folder);
  checkpoint->lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (checkpoint->lock < 0) return failed(path, "cannot be made");
  for (int tries = 0; flock(checkpoint->lock, LOCK_EX | LOCK_NB); tries++) {
    if (errno != EWOULDBLOCK && errno != EINTR) return NULL; /* a file system without locks */
    if (tries == LOCK_TRIES)
      return hr_error(HR_UNAVAILABLE, "another run writes its checkpoints to %s", checkpoint->folder);
    nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
  }
  return NULL;
}

/* Rank 0 tells the others its number for this run. */
static hr_status_t share_run(cli_checkpoint_t *checkpoint) {
  hlorun_client_t *client = checkpoint->from.client;
  struct timespec now;
  if (checkpoint->rank) return hlorun_client_recv(client, 0, &checkpoint->run, sizeof checkpoint->run);
  clock_gettime(CLOCK_REALTIME, &now);
  checkpoint->run = ((uint64_t)now.tv_sec << 30 | (uint64_t)now.tv_nsec) ^ (uint64_t)getpid() << 40;
  for (int r = 1; r < hlorun_client_world_size(client); r++)
    HR_TRY(hlorun_client_send(client, r, &checkpoint->run, sizeof checkpoint->run));
  return NULL;
}

hr_status_t cli_checkpoint_resume(cli_checkpoint_t *checkpoint, hlo_value_t **values, uint64_t *out_step) {
  *out_step = 0;
  if (!checkpoint) return NULL;
  HR_TRY(share_run(checkpoint));
  if (!hr_option_is_given(checkpoint->from.options, HR_OPTION_RESUME)) return NULL;
  cli_manifest_t manifest;
  hr_arena_t arena;
  bool same;
  hr_arena_init(&arena);
  hr_status_t st = cli_agree(checkpoint->from.client, find_newest(checkpoint, &arena, &manifest));
  if (!st) st = cli_agree_same(checkpoint->from.client, manifest.step, &same);
  if (!st && !same)
    st = hr_error(HR_UNAVAILABLE, "the processes do not see the same checkpoints in %s", checkpoint->folder);
  if (!st && manifest.step) st = read_values(checkpoint, &manifest, values);
  if (!st) *out_step = manifest.step;
  hr_arena_deinit(&arena);
  return st;
}

/* --- life --- */

/* What a run that was killed has left half written. */
static void remove_halves(const char *folder) {
  path_t path;
  for (int tries = 0; tries < 1000 && cli_find_writing(folder, path); tries++) cli_remove_folder(path);
}

static hr_status_t check_usage(const cli_checkpoint_options_t *options) {
  if (!options->carry->count)
    return hr_error(HR_USAGE, "--checkpoint keeps what --carry carries, and nothing is carried");
  if (hr_option_int(options->options, HR_OPTION_REPEAT, 1) > 1)
    return hr_error(HR_USAGE, "--checkpoint and --repeat do not go together");
  return NULL;
}

static hr_status_t set_up(cli_checkpoint_t *checkpoint) {
  void *values;
  HR_TRY(check_usage(&checkpoint->from));
  HR_TRY(hr_folder_make(checkpoint->folder));
  if (checkpoint->rank == 0) HR_TRY(lock_folder(checkpoint));
  if (checkpoint->rank == 0) remove_halves(checkpoint->folder);
  HR_TRY(hr_alloc_zeroed(checkpoint->from.carry->count * sizeof(hlo_value_t *), &values));
  checkpoint->values = values;
  return tp_loop_acquire(&checkpoint->loop);
}

/* Options that say nothing without --checkpoint. */
static hr_status_t check_unused(const hr_options_t *options) {
  static const hr_option_id_t ids[] = {HR_OPTION_RESUME, HR_OPTION_EVERY, HR_OPTION_KEEP};
  for (size_t i = 0; i < sizeof ids / sizeof *ids; i++)
    if (hr_option_is_given(options, ids[i]))
      return hr_error(HR_USAGE, "--%s is about checkpoints: say with --checkpoint where they are",
                      hr_option_name(ids[i]));
  return NULL;
}

hr_status_t cli_checkpoint_create(const cli_checkpoint_options_t *options, cli_checkpoint_t **out_checkpoint) {
  const char *folder = hr_option_text(options->options, HR_OPTION_CHECKPOINT);
  *out_checkpoint = NULL;
  if (!folder) return check_unused(options->options);
  void *memory;
  HR_TRY(hr_alloc_zeroed(sizeof(cli_checkpoint_t), &memory));
  cli_checkpoint_t *checkpoint = memory;
  checkpoint->from = *options;
  checkpoint->lock = -1;
  checkpoint->folder = folder;
  checkpoint->every = hr_option_int(options->options, HR_OPTION_EVERY, EVERY);
  checkpoint->keep = hr_option_int(options->options, HR_OPTION_KEEP, KEEP);
  checkpoint->rank = hlorun_client_rank(options->client);
  checkpoint->num_replicas = hlorun_program_num_replicas(options->program);
  checkpoint->num_partitions = hlorun_program_num_partitions(options->program);
  hr_status_t st = set_up(checkpoint);
  if (st)
    cli_checkpoint_destroy(checkpoint);
  else
    *out_checkpoint = checkpoint;
  return st;
}

void cli_checkpoint_destroy(cli_checkpoint_t *checkpoint) {
  if (!checkpoint) return;
  atomic_store(&checkpoint->stop, true);
  hr_status_release(cli_checkpoint_finish(checkpoint));
  release_values(checkpoint);
  tp_loop_release(checkpoint->loop);
  if (checkpoint->lock >= 0) close(checkpoint->lock);
  hr_free(checkpoint->values);
  hr_free(checkpoint);
}
