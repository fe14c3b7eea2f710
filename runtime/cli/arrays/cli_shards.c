#include "cli/arrays/cli_shards.h"

#include <string.h>

typedef struct shards {
  const array_file_t *file;
  const char *prefix;
  int k;
} shards_t;

const char *cli_shard_place_name(const char *prefix, int k, int rank, char into[CLI_SHARD_NAME]) {
  snprintf(into, CLI_SHARD_NAME, "%s%d" CLI_PART "@%d", prefix, k, rank);
  return into;
}

/* *out_found false: the file does not say where this part lies. */
static hr_status_t read_place(const shards_t *shards, int rank, int dimensions, bool *out_found,
                              cli_place_t *out_place) {
  char name[CLI_SHARD_NAME], label[512];
  npy_t npy;
  cli_shard_place_name(shards->prefix, shards->k, rank, name);
  HR_TRY(array_file_find(shards->file, name, out_found, &npy));
  if (!*out_found) return NULL;
  snprintf(label, sizeof label, "%s of %s", name, shards->file->path);
  hr_status_t st = cli_place_read(label, &npy, dimensions, out_place);
  npy_deinit(&npy);
  return st;
}

/* The number of processes whose parts are in the file. */
static hr_status_t count_places(const shards_t *shards, int *out_count) {
  char name[CLI_SHARD_NAME];
  npy_t npy;
  bool found = true;
  for (*out_count = -1; found; ++*out_count) {
    cli_shard_place_name(shards->prefix, shards->k, *out_count + 1, name);
    HR_TRY(array_file_find(shards->file, name, &found, &npy));
    if (found) npy_deinit(&npy);
  }
  return NULL;
}

/* *out_found false: there is no array of this rank. */
static hr_status_t find_part(const shards_t *shards, int rank, char name[CLI_SHARD_NAME],
                             bool *out_found, npy_t *out_npy) {
  snprintf(name, CLI_SHARD_NAME, "%s%d@%d", shards->prefix, shards->k, rank);
  return array_file_find(shards->file, name, out_found, out_npy);
}

/* True if array and place are those of this process's part. */
static bool is_own(const cli_part_t *part, const npy_t *npy, const cli_place_t *place) {
  size_t bytes = (size_t)part->rank * sizeof *part->sizes;
  return npy->rank == part->rank && !memcmp(npy->dims, part->sizes, bytes) &&
         !memcmp(place->whole, part->whole, bytes) && !memcmp(place->starts, part->starts, bytes);
}

/* Whether the file has this process's part under its number. */
static hr_status_t has_own(const shards_t *shards, const cli_part_t *part, int rank,
                           bool *out_has) {
  char name[CLI_SHARD_NAME];
  cli_place_t place;
  npy_t npy;
  HR_TRY(read_place(shards, rank, part->rank, out_has, &place));
  if (*out_has) HR_TRY(find_part(shards, rank, name, out_has, &npy));
  if (!*out_has) return NULL;
  *out_has = is_own(part, &npy, &place);
  npy_deinit(&npy);
  return NULL;
}

static hr_status_t no_part(const shards_t *shards, const char *name, const npy_t *npy,
                           const cli_arg_t *slot) {
  const cli_signature_t *signature = slot->interface;
  const hlo_shape_t *whole = slot->is_result ? signature->whole_results[slot->index]
                                             : signature->whole_params[slot->index];
  char found[NPY_TEXT], wanted[HLO_SHAPE_TEXT];
  return hr_error(HR_USAGE, "%s of %s is %s, and no part of %s", name, shards->file->path,
                  npy_text(npy, found), hlo_shape_text(whole, wanted));
}

/* Copies what the part of one process has of this process's part. */
static hr_status_t take_part(const shards_t *shards, const cli_arg_t *slot, int rank,
                             cli_assembly_t *assembly) {
  char name[CLI_SHARD_NAME];
  cli_place_t place;
  bool found;
  npy_t npy;
  HR_TRY(read_place(shards, rank, assembly->part.rank, &found, &place));
  if (!cli_assembly_take_place(assembly, &place)) return NULL;
  HR_TRY(find_part(shards, rank, name, &found, &npy));
  if (!found)
    return hr_error(HR_USAGE, "%s has the place of %s and not the array", shards->file->path, name);
  hr_status_t st = cli_assembly_fits(assembly, &npy, &place)
                       ? cli_assembly_add(assembly, &npy, &place)
                       : no_part(shards, name, &npy, slot);
  npy_deinit(&npy);
  return st;
}

static hr_status_t take_all(const shards_t *shards, const cli_arg_t *slot, int count,
                            cli_assembly_t *assembly) {
  for (int rank = 0; rank < count; rank++) HR_TRY(take_part(shards, slot, rank, assembly));
  if (assembly->copied == assembly->value->count) return NULL;
  return hr_error(HR_USAGE, "%s has %lld of the %lld elements of %s%d for this process",
                  shards->file->path, (long long)assembly->copied,
                  (long long)assembly->value->count, shards->prefix, shards->k);
}

hr_status_t cli_shards_assemble(const array_file_t *file, const cli_arg_t *slot, const char *prefix,
                                int k, int rank, hlo_value_t **out_value) {
  shards_t shards = {file, prefix, k};
  cli_assembly_t assembly;
  hr_arena_t arena;
  cli_part_t part;
  int count;
  bool found;
  *out_value = NULL;
  HR_TRY(count_places(&shards, &count));
  if (!count) return NULL;
  cli_part_of(slot, rank, &part);
  HR_TRY(has_own(&shards, &part, rank, &found));
  if (found) return NULL;
  hr_arena_init(&arena);
  hr_status_t st = cli_assembly_init(&arena, slot, rank, count, &assembly);
  if (!st) st = take_all(&shards, slot, count, &assembly);
  if (st)
    hlo_value_release(assembly.value);
  else
    *out_value = assembly.value;
  hr_arena_deinit(&arena);
  return st;
}
