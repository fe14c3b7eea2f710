/* Resumes from a checkpoint: all processes search for the newest one that is whole for all of them.
 * Rank 0 lists the checkpoints; each process compares its share of the files, and those that it
 * will read, with the manifest. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/cli_agree.h"
#include "cli/checkpoint/cli_checkpoint_parts.h"
#include "cli/arrays/cli_part.h"

typedef struct candidate {
  uint64_t step, began;
  bool torn;
} candidate_t;

typedef struct resume {
  cli_checkpoint_t *checkpoint;
  hr_arena_t *arena;
  candidate_t *candidates; /* rank 0's, the oldest first */
  int count, aside;        /* checkpoints, and those that were put aside before */
  cli_manifest_t manifest; /* manifest of the one that is tried, or was found */
  hr_buffer_t *bytes;      /* content of the file in it that this process reads */
} resume_t;

static hlorun_client_t *client_of(const resume_t *resume) {
  return resume->checkpoint->from.client;
}

/* Rank 0 tells the others. */
static hr_status_t share(const cli_checkpoint_t *checkpoint, uint64_t *value) {
  hlorun_client_t *client = checkpoint->from.client;
  if (checkpoint->rank) return hlorun_client_recv(client, 0, value, sizeof *value);
  for (int r = 1; r < checkpoint->world; r++)
    HR_TRY(hlorun_client_send(client, r, value, sizeof *value));
  return NULL;
}

/* Reports a failure before the next agreement, which may return that of another process. */
static hr_status_t say(hr_status_t status) {
  bool said = !status || cli_is_reported(status) || hr_status_code(status) == HR_CANCELLED;
  return said ? status : cli_report_now(status);
}

static hr_status_t agree(const resume_t *resume, hr_status_t status) {
  return say(cli_agree(client_of(resume), status));
}

/* --- list of checkpoints --- */

static int oldest_first(const void *a, const void *b) {
  const candidate_t *x = a, *y = b;
  if (x->began != y->began) return x->began < y->began ? -1 : 1;
  return x->step < y->step ? -1 : x->step > y->step;
}

static void warn(const resume_t *resume, uint64_t step, hr_status_t why) {
  char name[CLI_STEP_NAME];
  cli_step_name(name, step);
  fprintf(stderr, "warning: %s/%s is not used: %s\n", resume->checkpoint->folder.path, name,
          hr_status_message(why));
}

static hr_status_t read_manifest(const resume_t *resume, uint64_t step, cli_manifest_t *manifest) {
  char name[CLI_STEP_NAME];
  cli_folder_t folder;
  cli_step_name(name, step);
  HR_TRY(cli_folder_enter(&resume->checkpoint->folder, name, &folder));
  hr_status_t st = cli_manifest_read(resume->arena, &folder, step, manifest);
  cli_folder_close(&folder);
  return st;
}

/* Damaged checkpoints are listed, too, so that the newest whole one can be named beside them. */
static hr_status_t add_candidate(resume_t *resume, uint64_t step) {
  cli_manifest_t manifest;
  candidate_t *candidate = &resume->candidates[resume->count];
  hr_status_t st = read_manifest(resume, step, &manifest);
  *candidate = (candidate_t){step, st ? 0 : manifest.began, st != NULL};
  if (st && !cli_checkpoint_is_damage(st)) return st;
  if (st && !resume->checkpoint->replaces) warn(resume, step, st);
  hr_status_release(st);
  resume->count++;
  return NULL;
}

/* Lists the steps in the folder, the oldest first, and counts entries that were put aside. */
static hr_status_t list_candidates(resume_t *resume) {
  const char **names;
  int count;
  uint64_t step;
  HR_TRY(cli_folder_list(&resume->checkpoint->folder, resume->arena, &names, &count));
  HR_TRY(HR_NEW_ARRAY(resume->arena, count, &resume->candidates));
  for (int i = 0; i < count; i++) {
    if (cli_step_parse(names[i], &step)) HR_TRY(add_candidate(resume, step));
    resume->aside += cli_checkpoint_is_aside(names[i]);
  }
  if (resume->count)
    qsort(resume->candidates, (size_t)resume->count, sizeof *resume->candidates, oldest_first);
  return NULL;
}

/* --- search for a whole checkpoint --- */

static bool replicas_agree(const cli_manifest_t *manifest) {
  int partitions = manifest->num_partitions;
  for (int r = partitions; r < manifest->num_replicas * partitions; r++)
    if (manifest->sums[r].values_hash != manifest->sums[r % partitions].values_hash) return false;
  return true;
}

/* True if the parts of all partitions may be assembled; a single process has whole arrays. */
static bool takes_any_parts(const cli_checkpoint_t *checkpoint) {
  cli_part_t part;
  if (checkpoint->num_partitions == 1) return true;
  cli_arg_t slot = {checkpoint->from.signature, false, checkpoint->from.carry->data[0].in, false};
  cli_part_of(&slot, checkpoint->rank, &part);
  return part.is_cut;
}

/* The rank of the old grid whose values this process takes; with another number of partitions, the
 * first of its replica. */
static hr_status_t find_old_rank(const cli_checkpoint_t *checkpoint, const cli_manifest_t *manifest,
                                 int *out_rank) {
  int partitions = checkpoint->num_partitions, replica = checkpoint->rank / partitions;
  bool other_mesh = manifest->num_partitions != partitions;
  if (other_mesh && !takes_any_parts(checkpoint))
    return hr_error(HR_USAGE, "the checkpoint is of %d partitions, the program has %d",
                    manifest->num_partitions, partitions);
  if (manifest->num_replicas != checkpoint->num_replicas && !replicas_agree(manifest))
    return hr_error(
        HR_USAGE,
        "the replicas of the checkpoint hold different values: go on with %d of them, not %d",
        manifest->num_replicas, checkpoint->num_replicas);
  *out_rank = replica % manifest->num_replicas * manifest->num_partitions;
  if (!other_mesh) *out_rank += checkpoint->rank % partitions;
  return NULL;
}

/* The rank whose file this process will read; whether the grid fits is checked later. */
static int own_file(const resume_t *resume) {
  int rank = -1;
  hr_status_release(find_old_rank(resume->checkpoint, &resume->manifest, &rank));
  return rank;
}

/* Checks the sums of this process's share of the files, and keeps the bytes of the file that it
 * resumes from. */
static hr_status_t check_share(resume_t *resume, uint64_t step) {
  const cli_checkpoint_t *checkpoint = resume->checkpoint;
  char name[CLI_STEP_NAME];
  cli_folder_t folder;
  HR_TRY(read_manifest(resume, step, &resume->manifest));
  int files = resume->manifest.num_replicas * resume->manifest.num_partitions,
      own = own_file(resume);
  cli_step_name(name, step);
  HR_TRY(cli_folder_enter(&checkpoint->folder, name, &folder));
  hr_status_t st = NULL;
  for (int r = 0; r < files && !st; r++)
    if (r == own || r % checkpoint->world == checkpoint->rank)
      st = cli_manifest_check(&folder, &resume->manifest, r, r == own ? &resume->bytes : NULL);
  cli_folder_close(&folder);
  return st;
}

static hr_status_t agree_same(const resume_t *resume, uint64_t value) {
  bool same;
  HR_TRY(cli_agree_same(client_of(resume), value, &same));
  if (same) return NULL;
  if (resume->checkpoint->rank) return cli_reported(HR_UNAVAILABLE);
  return hr_error(HR_UNAVAILABLE, "the processes do not see the same checkpoints in %s",
                  resume->checkpoint->folder.path);
}

/* A checkpoint that is torn for one process is torn for all; the finder reports it. */
static hr_status_t try_step(resume_t *resume, uint64_t step, bool *out_whole) {
  char name[CLI_STEP_NAME];
  *out_whole = false;
  cli_step_name(name, step);
  HR_TRY(agree_same(resume, cli_folder_has(&resume->checkpoint->folder, name)));
  hr_status_t st = cli_agree(client_of(resume), check_share(resume, step));
  *out_whole = st == NULL;
  if (!st) return agree_same(resume, resume->manifest.text_hash);
  hr_buffer_release(resume->bytes);
  resume->bytes = NULL;
  if (cli_agree_failed() || !cli_checkpoint_is_damage(st)) return st;
  if (!cli_is_reported(st)) warn(resume, step, st);
  hr_status_release(st);
  return NULL;
}

/* Rank 0 chooses the checkpoint to try, the newest first; 0: none is left. */
static hr_status_t find_newest(resume_t *resume, bool *out_found) {
  int left = resume->count;
  *out_found = false;
  while (!*out_found) {
    while (left > 0 && resume->candidates[left - 1].torn) left--;
    uint64_t step = left > 0 ? resume->candidates[left - 1].step : 0;
    HR_TRY(share(resume->checkpoint, &step));
    if (!step) return NULL;
    HR_TRY(try_step(resume, step, out_found));
    if (left > 0) resume->candidates[--left].torn = !*out_found;
  }
  return NULL;
}

/* --- values --- */

static hr_status_t find_array(const npz_t *npz, const char *path, const char *name,
                              npy_t *out_npy) {
  bool found;
  HR_TRY(npz_find(npz, name, &found, out_npy));
  return found ? NULL
               : hr_error(HR_INVALID,
                          "%s has no array %s: it is of another program, or of another --carry",
                          path, name);
}

/* Replaces a carried value by the array of the checkpoint, which must have its type and shape. */
static hr_status_t read_value(const cli_checkpoint_t *checkpoint, const npz_t *npz,
                              const char *path, int param, hlo_value_t **values) {
  char name[32];
  npy_t npy;
  hlo_value_t *value;
  cli_arg_t slot = {checkpoint->from.signature, false, param, true};
  snprintf(name, sizeof name, "in%d", param);
  HR_TRY(find_array(npz, path, name, &npy));
  hr_status_t st = cli_value_from_npy(name, &npy, &slot, &value);
  npy_deinit(&npy);
  HR_TRY(hr_status_note(st, "in %s: it is of another program, or of another --carry", path));
  hlo_value_release(values[param]);
  values[param] = value;
  return NULL;
}

/* Restores the state of random generators. */
static hr_status_t read_state(const cli_checkpoint_t *checkpoint, const npz_t *npz,
                              const char *path) {
  npy_t npy;
  hlo_value_t *state = NULL;
  HR_TRY(find_array(npz, path, "state", &npy));
  hr_status_t st = npy_is(&npy, HR_U8)
                       ? hlo_value_from_npy(&npy, HR_U8, &state)
                       : hr_error(HR_INVALID, "%s: the state is no list of bytes", path);
  npy_deinit(&npy);
  if (!st) st = hlorun_program_load_state(checkpoint->from.program, state);
  hlo_value_release(state);
  return st;
}

/* Whether a name in the archive is that of a carried value, of a part of one, or of the state. */
static bool is_carried(const cli_checkpoint_t *checkpoint, hr_str_t name) {
  const size_t ending = sizeof CLI_PART - 1;
  char carried[32];
  if (name.size > ending && !memcmp(name.data + name.size - ending, CLI_PART, ending))
    name.size -= ending;
  for (size_t i = 0; i < checkpoint->from.carry->count; i++) {
    snprintf(carried, sizeof carried, "in%d", checkpoint->from.carry->data[i].in);
    if (hr_str_is(name, carried)) return true;
  }
  return hr_str_is(name, "state");
}

/* Warns of values in the checkpoint that are not carried: they start from --input. */
static void warn_of_unused(const cli_checkpoint_t *checkpoint, const npz_t *npz, const char *path) {
  for (size_t i = 0; i < npz_count(npz) && checkpoint->rank == 0; i++) {
    hr_str_t name = npz_name(npz, i);
    if (!is_carried(checkpoint, name))
      fprintf(stderr, "warning: %s has %.*s, which --carry does not name: it is not used\n", path,
              HR_STR_ARGS(name));
  }
}

/* Reads from this process's file if the mesh is the same, else from all files. */
static hr_status_t read_carried(const resume_t *resume, const npz_t *npz, const char *step_path,
                                const char *path, hlo_value_t **values) {
  const cli_checkpoint_t *checkpoint = resume->checkpoint;
  bool same_mesh = resume->manifest.num_partitions == checkpoint->num_partitions;
  if (same_mesh) HR_TRY(cli_checkpoint_has_parts(checkpoint, npz, &same_mesh));
  if (!same_mesh)
    return cli_checkpoint_assemble(checkpoint, step_path, &resume->manifest, resume->arena, values);
  for (size_t i = 0; i < checkpoint->from.carry->count; i++)
    HR_TRY(read_value(checkpoint, npz, path, checkpoint->from.carry->data[i].in, values));
  return NULL;
}

/* Reads the file of the rank whose program this process continues. */
static hr_status_t read_values(resume_t *resume, hlo_value_t **values) {
  const cli_checkpoint_t *checkpoint = resume->checkpoint;
  char step[CLI_STEP_NAME], file[CLI_STEP_NAME];
  const char *folder, *path;
  npz_t npz;
  int rank;
  HR_TRY(find_old_rank(checkpoint, &resume->manifest, &rank));
  cli_step_name(step, resume->manifest.step);
  cli_rank_file(file, rank);
  HR_TRY(hr_arena_printf(resume->arena, &folder, "%s/%s", checkpoint->folder.path, step));
  HR_TRY(hr_arena_printf(resume->arena, &path, "%s/%s", folder, file));
  hr_status_t st = npz_open_bytes(path, resume->bytes, &npz);
  if (!st) st = read_carried(resume, &npz, folder, path, values);
  if (!st) st = read_state(checkpoint, &npz, path);
  if (!st) warn_of_unused(checkpoint, &npz, path);
  npz_deinit(&npz);
  return st;
}

/* --- program --- */

typedef struct program_of_rank {
  int old_rank;
  cli_identity_t now;
} program_of_rank_t;

static bool is_equal(const cli_identity_t *a, const cli_identity_t *b) {
  return !strcmp(a->digest, b->digest) && !strcmp(a->name, b->name);
}

/* Tells each pair of different programs once, however many ranks run them. */
static void warn_of_changes(const resume_t *resume, const program_of_rank_t *ranks) {
  const cli_identity_t *said_old = NULL, *said_new = NULL;
  for (int r = 0; r < resume->checkpoint->world; r++) {
    const cli_identity_t *old = &resume->manifest.sums[ranks[r].old_rank].program,
                         *now = &ranks[r].now;
    if (!old->digest[0] || !strcmp(old->digest, now->digest)) continue;
    if (said_old && is_equal(said_old, old) && is_equal(said_new, now)) continue;
    fprintf(stderr,
            "warning: the checkpoint of step %" PRIu64
            " is of program %s (digest %.*s), this one is %s (%.*s)\n",
            resume->manifest.step, old->name, CLI_IDENTITY_SHOWN, old->digest, now->name,
            CLI_IDENTITY_SHOWN, now->digest);
    said_old = old;
    said_new = now;
  }
}

static hr_status_t compare_programs(resume_t *resume) {
  const cli_checkpoint_t *checkpoint = resume->checkpoint;
  program_of_rank_t mine = {.now = checkpoint->program}, *all;
  HR_TRY(HR_NEW_ARRAY(resume->arena, checkpoint->world, &all));
  HR_TRY(find_old_rank(checkpoint, &resume->manifest, &mine.old_rank));
  HR_TRY(hlorun_client_gather(checkpoint->from.client, &mine, sizeof mine, all));
  if (checkpoint->rank == 0) warn_of_changes(resume, all);
  return NULL;
}

/* --- the whole resumption --- */

/* On rank 0: renames checkpoints that were not whole, and lists older ones for --keep. */
static hr_status_t settle(resume_t *resume) {
  cli_checkpoint_t *checkpoint = resume->checkpoint;
  char name[CLI_STEP_NAME];
  for (int i = 0; i < resume->count; i++) {
    const candidate_t *candidate = &resume->candidates[i];
    cli_step_name(name, candidate->step);
    if (candidate->torn)
      cli_checkpoint_put_torn(checkpoint, name, NULL);
    else
      HR_VEC_PUSH(&checkpoint->retained,
                  (cli_retained_t){candidate->step, candidate->step == resume->manifest.step});
  }
  checkpoint->began = resume->manifest.began;
  return NULL;
}

static hr_status_t none_is_whole(const resume_t *resume) {
  if (!resume->count && !resume->aside) return NULL;
  return hr_error(
      HR_UNAVAILABLE,
      "none of the %d checkpoints in %s is whole: nothing to go on from; --overwrite begins "
      "anew",
      resume->count + resume->aside, resume->checkpoint->folder.path);
}

/* Collective. Rank 0 lists the checkpoints; all agree on the newest one that is whole, and read
 * it. *out_step stays as it is if there is none. */
static hr_status_t go_on(resume_t *resume, hlo_value_t **values, uint64_t *out_step) {
  bool found, first = resume->checkpoint->rank == 0;
  HR_TRY(agree(resume, first ? list_candidates(resume) : NULL));
  HR_TRY(say(find_newest(resume, &found)));
  if (!found) return agree(resume, first ? none_is_whole(resume) : NULL);
  HR_TRY(agree(resume, read_values(resume, values)));
  HR_TRY(compare_programs(resume));
  if (first) HR_TRY(settle(resume));
  *out_step = resume->manifest.step;
  return NULL;
}

/* A training that replaces another one counts as newer, whatever the clock says. */
static hr_status_t begin_after_all(resume_t *resume) {
  cli_checkpoint_t *checkpoint = resume->checkpoint;
  if (checkpoint->replaces) HR_TRY(list_candidates(resume));
  for (int i = 0; i < resume->count; i++)
    if (resume->candidates[i].began >= checkpoint->began)
      checkpoint->began = resume->candidates[i].began + 1;
  return NULL;
}

hr_status_t cli_checkpoint_resume(cli_checkpoint_t *checkpoint, hlo_value_t **values,
                                  uint64_t *out_step) {
  *out_step = 0;
  if (!checkpoint) return NULL;
  hr_arena_t arena;
  hr_arena_init(&arena);
  resume_t resume = {.checkpoint = checkpoint, .arena = &arena};
  checkpoint->began = hr_clock_realtime_ns();
  checkpoint->run = checkpoint->began ^ (uint64_t)getpid() << 40;
  hr_status_t st = share(checkpoint, &checkpoint->run);
  if (!st && hr_option_is_given(checkpoint->from.options, HR_OPTION_RESUME))
    st = go_on(&resume, values, out_step);
  else if (!st && checkpoint->rank == 0)
    st = begin_after_all(&resume);
  hr_buffer_release(resume.bytes);
  hr_arena_deinit(&arena);
  return st;
}
