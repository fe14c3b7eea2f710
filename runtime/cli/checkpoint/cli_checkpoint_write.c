/* Writes a checkpoint and removes old ones. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/map.h"
#include "cli/checkpoint/cli_checkpoint_parts.h"
#include "cli/arrays/cli_part.h"

#define PATIENCE_S 120 /* seconds until the files of other processes must appear */

/* --- part of this process --- */

/* For a global array: its sizes and where this process's part begins, so that it can be put
 * together on another mesh. */
static hr_status_t add_part(const cli_checkpoint_t *checkpoint, zip_writer_t *writer, int param) {
  char name[40];
  int64_t numbers[2 * HLO_MAX_RANK];
  cli_part_t part;
  cli_part_of(&(cli_arg_t){checkpoint->from.signature, false, param, false}, checkpoint->rank,
              &part);
  if (!part.is_cut) return NULL;
  cli_place_numbers(&part, numbers);
  snprintf(name, sizeof name, "in%d" CLI_PART, param);
  return npz_add(writer, name, HR_S64, 2, (int64_t[]){2, part.rank}, numbers,
                 2 * (size_t)part.rank * sizeof *numbers);
}

/* Writes the carried values and the state; *out_hash covers the values, so that equal ones can
 * be recognised on resume. */
static hr_status_t add_arrays(const cli_checkpoint_t *checkpoint, zip_writer_t *writer,
                              uint64_t *out_hash) {
  char name[32];
  *out_hash = 0;
  for (size_t i = 0; i < checkpoint->from.carry->count; i++) {
    const hlo_value_t *value = checkpoint->values[i];
    snprintf(name, sizeof name, "in%d", checkpoint->from.carry->data[i].in);
    *out_hash = hr_hash_bytes(value->data, hlo_value_bytes(value), *out_hash + 1);
    HR_TRY(npz_add(writer, name, value->dtype, value->rank, value->dims, value->data,
                   hlo_value_bytes(value)));
    HR_TRY(add_part(checkpoint, writer, checkpoint->from.carry->data[i].in));
  }
  const hlo_value_t *state = checkpoint->state;
  return npz_add(writer, "state", state->dtype, state->rank, state->dims, state->data,
                 hlo_value_bytes(state));
}

/* Writes this process's file, and reads it back for its check sum. */
static hr_status_t write_arrays(const cli_checkpoint_t *checkpoint, const cli_folder_t *folder,
                                cli_sum_t *sum) {
  char name[CLI_STEP_NAME];
  hr_file_writer_t *file;
  zip_writer_t *writer;
  hr_buffer_t *written;
  cli_rank_file(name, checkpoint->rank);
  HR_TRY(cli_folder_create(folder, name, true, &file));
  HR_TRY(zip_begin(file, &writer));
  HR_TRY(zip_finish(writer, add_arrays(checkpoint, writer, &sum->values_hash)));
  HR_TRY(cli_folder_map(folder, name, &written));
  cli_sum_of(written, sum);
  hr_buffer_release(written);
  return NULL;
}

static void sum_file(char into[CLI_STEP_NAME], int rank) {
  snprintf(into, CLI_STEP_NAME, "rank%d.sum", rank);
}

static hr_status_t write_local(const cli_checkpoint_t *checkpoint, const cli_folder_t *folder) {
  char name[CLI_STEP_NAME], text[256];
  cli_sum_t sum = {.program = checkpoint->program};
  HR_TRY(write_arrays(checkpoint, folder, &sum));
  int size =
      snprintf(text, sizeof text, "%" PRIu64 " %" PRIx64 " %" PRIx64 " %s %s\n", sum.size_bytes,
               sum.hash, sum.values_hash, sum.program.digest, sum.program.name);
  sum_file(name, checkpoint->rank);
  return cli_folder_write(folder, name, false, text, (size_t)size); /* read once, and removed */
}

/* --- checkpoint of all parts, on rank 0 --- */

static bool parse_sum(const hr_buffer_t *bytes, cli_sum_t *sum) {
  char text[256];
  size_t size = hr_buffer_size(bytes);
  if (size >= sizeof text) return false;
  memcpy(text, hr_buffer_data(bytes), size);
  text[size] = 0;
  *sum = (cli_sum_t){.size_bytes = 0};
  return sscanf(text, "%" SCNu64 " %" SCNx64 " %" SCNx64 " %32s %63s", &sum->size_bytes, &sum->hash,
                &sum->values_hash, sum->program.digest, sum->program.name) == 5;
}

static bool read_sum(const cli_folder_t *folder, const char *name, cli_sum_t *sum) {
  hr_buffer_t *bytes;
  if (!cli_folder_has(folder, name)) return false;
  hr_status_t st = cli_folder_map(folder, name, &bytes);
  bool whole = !st && parse_sum(bytes, sum);
  if (!st) hr_buffer_release(bytes);
  hr_status_release(st);
  return whole;
}

/* Waits until a rank has written its file and the sum beside it; on shared file systems that may
 * take a while to appear. A rank that fails renames the folder (give_up). */
static hr_status_t await_sum(const cli_checkpoint_t *checkpoint, const cli_folder_t *folder,
                             const char *writing, int rank, cli_sum_t *sum) {
  char name[CLI_STEP_NAME];
  sum_file(name, rank);
  for (int tries = 0; !read_sum(folder, name, sum); tries++) {
    if (atomic_load(&checkpoint->stop))
      return hr_error(HR_CANCELLED, "the checkpoint was given up");
    if (!cli_folder_has(&checkpoint->folder, writing))
      return hr_error(HR_UNAVAILABLE,
                      "the folder %s is gone: another process could not write to it", folder->path);
    if (tries > PATIENCE_S * 500)
      return hr_error(HR_UNAVAILABLE,
                      "%s/%s does not appear: do all processes see the folder of --checkpoint?",
                      folder->path, name);
    nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
  }
  cli_folder_remove(folder, name);
  return NULL;
}

/* --- older checkpoints --- */

bool cli_checkpoint_is_damage(hr_status_t status) {
  hr_code_t code = hr_status_code(status);
  return code == HR_INVALID || code == HR_UNAVAILABLE;
}

/* Renames an entry of the folder to `prefix` and its name, plus a number if that name is taken. */
static hr_status_t put_aside(const cli_checkpoint_t *checkpoint, const char *name,
                             const char *prefix, cli_name_t out_aside) {
  snprintf(out_aside, sizeof(cli_name_t), "%s%.200s", prefix, name);
  if (cli_folder_has(&checkpoint->folder, out_aside))
    snprintf(out_aside, sizeof(cli_name_t), "%s%.200s-%016" PRIx64, prefix, name, checkpoint->run);
  return cli_folder_rename(&checkpoint->folder, name, out_aside);
}

void cli_checkpoint_put_torn(const cli_checkpoint_t *checkpoint, const char *name,
                             hr_status_t why) {
  const char *path = checkpoint->folder.path;
  cli_name_t aside;
  if (why) fprintf(stderr, "warning: %s/%s is not used: %s\n", path, name, hr_status_message(why));
  hr_status_release(why);
  hr_status_t st = put_aside(checkpoint, name, CLI_TORN, aside);
  if (st)
    fprintf(stderr, "warning: %s\n", hr_status_message(st));
  else
    fprintf(stderr, "warning: %s/%s is kept as %s\n", path, name, aside);
  hr_status_release(st);
}

/* Renames before removing, so that an interruption leaves no torn checkpoint. */
static void discard(const cli_checkpoint_t *checkpoint, const char *name) {
  cli_name_t gone;
  snprintf(gone, sizeof gone, "gone-%.200s", name);
  hr_status_t st = cli_folder_rename(&checkpoint->folder, name, gone);
  cli_folder_remove(&checkpoint->folder, st ? name : gone);
  hr_status_release(st); /* a later run removes the rest */
}

/* Reads all files again and compares their sums with the manifest. */
static hr_status_t check_files(const cli_checkpoint_t *checkpoint, hr_arena_t *arena,
                               const cli_folder_t *folder, uint64_t step) {
  cli_manifest_t manifest;
  HR_TRY(cli_manifest_read(arena, folder, step, &manifest));
  for (int r = 0; r < manifest.num_replicas * manifest.num_partitions; r++) {
    if (atomic_load(&checkpoint->stop))
      return hr_error(HR_CANCELLED, "the checkpoint was given up");
    HR_TRY(cli_manifest_check(folder, &manifest, r, NULL));
  }
  return NULL;
}

static hr_status_t check_step(const cli_checkpoint_t *checkpoint, const char *name, uint64_t step) {
  cli_folder_t folder;
  hr_arena_t arena;
  HR_TRY(cli_folder_enter(&checkpoint->folder, name, &folder));
  hr_arena_init(&arena);
  hr_status_t st = check_files(checkpoint, &arena, &folder, step);
  hr_arena_deinit(&arena);
  cli_folder_close(&folder);
  return st;
}

/* An earlier run's checkpoint is read when it has to be known whether it counts: at most once. Its
 * step becomes 0 when it is put aside. */
static bool is_whole(const cli_checkpoint_t *checkpoint, cli_retained_t *entry) {
  char name[CLI_STEP_NAME];
  if (entry->whole) return true;
  cli_step_name(name, entry->step);
  hr_status_t st = check_step(checkpoint, name, entry->step);
  entry->whole = st == NULL;
  if (st && cli_checkpoint_is_damage(st)) {
    cli_checkpoint_put_torn(checkpoint, name, st);
    entry->step = 0;
    return false;
  }
  hr_status_release(st);
  return entry->whole;
}

/* Removes all checkpoints older than the newest --keep whole ones. */
static void remove_old(cli_checkpoint_t *checkpoint) {
  char name[CLI_STEP_NAME];
  size_t first = checkpoint->retained.count, left = 0;
  for (uint64_t whole = 0; first && whole < checkpoint->keep;)
    whole += is_whole(checkpoint, &checkpoint->retained.data[--first]);
  for (size_t i = 0; i < checkpoint->retained.count; i++) {
    cli_retained_t entry = checkpoint->retained.data[i];
    cli_step_name(name, entry.step);
    if (i < first) discard(checkpoint, name);
    if (i >= first && entry.step) checkpoint->retained.data[left++] = entry;
  }
  checkpoint->retained.count = left;
}

/* Removes the replaced training's checkpoints once the first one of --overwrite is whole. */
static hr_status_t remove_replaced(cli_checkpoint_t *checkpoint, hr_arena_t *arena) {
  const char **names;
  int count;
  uint64_t step;
  checkpoint->replaces = false;
  HR_TRY(cli_folder_list(&checkpoint->folder, arena, &names, &count));
  for (int i = 0; i < count; i++) {
    bool is_old = cli_step_parse(names[i], &step) && step != checkpoint->step;
    if (is_old || cli_checkpoint_is_aside(names[i])) discard(checkpoint, names[i]);
  }
  return NULL;
}

/* --- the whole write --- */

/* Checkpoints follow a folder that is renamed, as what takes its name may be another's; but who
 * goes on by the old name would begin anew, and is told once. */
static void warn_if_moved(cli_checkpoint_t *checkpoint) {
  char place[PATH_MAX];
  if (checkpoint->is_moved || cli_folder_is_in_place(&checkpoint->folder)) return;
  checkpoint->is_moved = true;
  cli_folder_place(&checkpoint->folder, place);
  fprintf(stderr,
          "warning: %s was renamed or replaced: checkpoints are written to %s, go on from there\n",
          checkpoint->folder.path, place);
}

/* Makes the folder visible under its final name. An older checkpoint of that step is put aside
 * first, as a rename cannot replace a folder. */
static hr_status_t put_in_place(cli_checkpoint_t *checkpoint, const cli_folder_t *folder,
                                const char *writing) {
  char name[CLI_STEP_NAME];
  cli_name_t aside;
  HR_TRY(cli_folder_flush(folder));
  HR_TRY(HR_VEC_RESERVE(&checkpoint->retained, checkpoint->retained.count + 1));
  cli_step_name(name, checkpoint->step);
  if (cli_folder_has(&checkpoint->folder, name))
    HR_TRY(put_aside(checkpoint, name, CLI_REPLACED, aside));
  HR_TRY(cli_folder_rename(&checkpoint->folder, writing, name));
  checkpoint->retained.data[checkpoint->retained.count++] =
      (cli_retained_t){checkpoint->step, true};
  return cli_folder_flush(&checkpoint->folder);
}

/* Rank 0: waits for all files, writes the manifest, and removes what is too old. */
static hr_status_t collect(cli_checkpoint_t *checkpoint, const cli_folder_t *folder,
                           const char *writing, hr_arena_t *arena) {
  cli_manifest_t manifest = {.step = checkpoint->step,
                             .began = checkpoint->began,
                             .num_replicas = checkpoint->num_replicas,
                             .num_partitions = checkpoint->num_partitions};
  int ranks = manifest.num_replicas * manifest.num_partitions;
  HR_TRY(HR_NEW_ARRAY(arena, ranks, &manifest.sums));
  for (int r = 0; r < ranks; r++)
    HR_TRY(await_sum(checkpoint, folder, writing, r, &manifest.sums[r]));
  HR_TRY(cli_manifest_write(folder, &manifest));
  HR_TRY(put_in_place(checkpoint, folder, writing));
  warn_if_moved(checkpoint);
  if (checkpoint->replaces) HR_TRY(remove_replaced(checkpoint, arena));
  remove_old(checkpoint);
  return NULL;
}

/* Every rank writes its file; rank 0 completes the checkpoint. */
static hr_status_t write_parts(cli_checkpoint_t *checkpoint, const cli_folder_t *folder,
                               const char *writing) {
  hr_arena_t arena;
  HR_TRY(write_local(checkpoint, folder));
  if (checkpoint->rank) return NULL;
  HR_TRY(cli_checkpoint_bundle_write(checkpoint, folder));
  hr_arena_init(&arena);
  hr_status_t st = collect(checkpoint, folder, writing, &arena);
  hr_arena_deinit(&arena);
  return st;
}

/* Tells rank 0 that this rank's file will not come. A rename needs no room on a full disk; what
 * others write goes to the renamed folder, which the next run removes. */
static void give_up(const cli_checkpoint_t *checkpoint, const char *writing) {
  cli_name_t gone;
  snprintf(gone, sizeof gone, "gone-%.200s", writing);
  hr_status_release(cli_folder_rename(&checkpoint->folder, writing, gone));
}

static hr_status_t write_all(cli_checkpoint_t *checkpoint) {
  cli_name_t writing;
  cli_folder_t folder;
  snprintf(writing, sizeof writing, "writing-%012" PRIu64 "-%016" PRIx64, checkpoint->step,
           checkpoint->run);
  HR_TRY(cli_folder_make(&checkpoint->folder, writing, &folder));
  hr_status_t st = write_parts(checkpoint, &folder, writing);
  cli_folder_close(&folder);
  if (st && checkpoint->rank) give_up(checkpoint, writing);
  return st;
}

/* INVALID, which means an invalid program, becomes UNAVAILABLE, as for a missing folder. */
hr_status_t cli_checkpoint_write(cli_checkpoint_t *checkpoint) {
  hr_status_t st = write_all(checkpoint);
  if (hr_status_code(st) != HR_INVALID) return st;
  hr_status_t unavailable = hr_error(HR_UNAVAILABLE, "%s", hr_status_message(st));
  hr_status_release(st);
  return unavailable;
}
