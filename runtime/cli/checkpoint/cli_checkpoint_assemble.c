/* Carried arrays of a checkpoint that was written on another mesh. Each file has the box of each of
 * its arrays in the global array; a process copies the overlaps with its own box. */
#include <stdio.h>
#include <string.h>

#include "cli/checkpoint/cli_checkpoint_parts.h"

/* The numbers of "in3.part"; *out_found false: the file has none. */
static hr_status_t read_place(const npz_t *npz, const char *path, int param, int rank,
                              bool *out_found, cli_place_t *out_place) {
  char name[40], label[512];
  npy_t npy;
  snprintf(name, sizeof name, "in%d" CLI_PART, param);
  HR_TRY(npz_find(npz, name, out_found, &npy));
  if (!*out_found) return NULL;
  snprintf(label, sizeof label, "%s: %s", path, name);
  hr_status_t st = cli_place_read(label, &npy, rank, out_place);
  npy_deinit(&npy);
  return st;
}

/* *out_has: the file's array has the sizes of the part. */
static hr_status_t has_sizes(const npz_t *npz, int param, const cli_part_t *part, bool *out_has) {
  char name[32];
  npy_t npy;
  snprintf(name, sizeof name, "in%d", param);
  HR_TRY(npz_find(npz, name, out_has, &npy));
  if (!*out_has) return NULL;
  *out_has = npy.rank == part->rank &&
             !memcmp(npy.dims, part->sizes, (size_t)part->rank * sizeof *part->sizes);
  npy_deinit(&npy);
  return NULL;
}

/* A file without places of parts has the parts of its rank. */
static hr_status_t has_part(const cli_checkpoint_t *checkpoint, const npz_t *npz, int param,
                            bool *out_has) {
  cli_place_t place;
  cli_part_t part;
  bool found;
  cli_part_of(&(cli_arg_t){checkpoint->from.signature, false, param, false}, checkpoint->rank,
              &part);
  size_t bytes = (size_t)part.rank * sizeof *part.starts;
  HR_TRY(read_place(npz, "the checkpoint", param, part.rank, &found, &place));
  *out_has = !found ||
             (!memcmp(place.whole, part.whole, bytes) && !memcmp(place.starts, part.starts, bytes));
  return found && *out_has ? has_sizes(npz, param, &part, out_has) : NULL;
}

/* Whether the file says of every carried array where its part lies; the first without ends the
 * search. */
hr_status_t cli_checkpoint_has_parts(const cli_checkpoint_t *checkpoint, const npz_t *npz,
                                     bool *out_has) {
  *out_has = true;
  for (size_t i = 0; i < checkpoint->from.carry->count && *out_has; i++)
    HR_TRY(has_part(checkpoint, npz, checkpoint->from.carry->data[i].in, out_has));
  return NULL;
}

/* Copies what one partition's file has of an array into this process's part of it. A file without
 * a part's place is read in a world of one partition only. */
static hr_status_t take_from(cli_assembly_t *assembly, int param, const npz_t *npz,
                             const char *path, int partitions) {
  cli_place_t place = {.starts = {0}};
  char name[32];
  npy_t npy;
  bool found, has_place;
  snprintf(name, sizeof name, "in%d", param);
  HR_TRY(read_place(npz, path, param, assembly->part.rank, &has_place, &place));
  if (!has_place && partitions > 1)
    return hr_error(HR_USAGE,
                    "the checkpoint is of %d partitions and does not say what %s of %s is a part "
                    "of: go on with as many",
                    partitions, name, path);
  if (!cli_assembly_take_place(assembly, &place)) return NULL;
  HR_TRY(npz_find(npz, name, &found, &npy));
  if (!found)
    return hr_error(HR_INVALID,
                    "%s has no array %s: it is of another program, or of another --carry", path,
                    name);
  for (int d = 0; !has_place && d < npy.rank; d++) place.whole[d] = npy.dims[d];
  hr_status_t st = cli_assembly_fits(assembly, &npy, &place)
                       ? cli_assembly_add(assembly, &npy, &place)
                       : hr_error(HR_USAGE, "%s: array in%d is no part of what parameter %d is",
                                  path, param, param);
  npy_deinit(&npy);
  return st;
}

static int param_of(const cli_checkpoint_t *checkpoint, size_t i) {
  return checkpoint->from.carry->data[i].in;
}

/* Makes an empty array for each carried parameter. */
static hr_status_t begin(const cli_checkpoint_t *checkpoint, int partitions, hr_arena_t *arena,
                         cli_assembly_t *assemblies) {
  for (size_t i = 0; i < checkpoint->from.carry->count; i++) {
    cli_arg_t slot = {checkpoint->from.signature, false, param_of(checkpoint, i), false};
    HR_TRY(cli_assembly_init(arena, &slot, checkpoint->rank, partitions, &assemblies[i]));
  }
  return NULL;
}

/* Takes the parts of all carried arrays from the file of one partition, which is opened once. */
static hr_status_t read_file(const cli_checkpoint_t *checkpoint, const char *step_path,
                             int partition, int partitions, hr_arena_t *arena,
                             cli_assembly_t *assemblies) {
  char file[CLI_STEP_NAME];
  const char *path;
  npz_t npz;
  cli_rank_file(file, partition);
  HR_TRY(hr_arena_printf(arena, &path, "%s/%s", step_path, file));
  HR_TRY(npz_open(path, &npz));
  hr_status_t st = NULL;
  for (size_t i = 0; i < checkpoint->from.carry->count && !st; i++)
    st = take_from(&assemblies[i], param_of(checkpoint, i), &npz, path, partitions);
  npz_deinit(&npz);
  return st;
}

/* As many elements must have been copied as the part has: fewer mean a gap. */
static hr_status_t finish(const cli_checkpoint_t *checkpoint, const char *step_path,
                          cli_assembly_t *assemblies, hlo_value_t **values) {
  size_t count = checkpoint->from.carry->count;
  for (size_t i = 0; i < count; i++)
    if (assemblies[i].copied != assemblies[i].value->count)
      return hr_error(HR_INVALID, "%s has %lld of the %lld elements of array in%d for this process",
                      step_path, (long long)assemblies[i].copied,
                      (long long)assemblies[i].value->count, param_of(checkpoint, i));
  for (size_t i = 0; i < count; i++) {
    hlo_value_release(values[param_of(checkpoint, i)]);
    values[param_of(checkpoint, i)] = assemblies[i].value;
    assemblies[i].value = NULL;
  }
  return NULL;
}

hr_status_t cli_checkpoint_assemble(const cli_checkpoint_t *checkpoint, const char *step_path,
                                    const cli_manifest_t *manifest, hr_arena_t *arena,
                                    hlo_value_t **values) {
  int partitions = manifest->num_partitions;
  cli_assembly_t *assemblies;
  HR_TRY(HR_NEW_ARRAY(arena, checkpoint->from.carry->count, &assemblies));
  hr_status_t st = begin(checkpoint, partitions, arena, assemblies);
  for (int p = 0; p < partitions && !st; p++)
    st = read_file(checkpoint, step_path, p, partitions, arena, assemblies);
  if (!st) st = finish(checkpoint, step_path, assemblies, values);
  for (size_t i = 0; i < checkpoint->from.carry->count; i++) hlo_value_release(assemblies[i].value);
  return st;
}
