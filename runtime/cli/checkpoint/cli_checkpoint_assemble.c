/* Carried arrays of a checkpoint that was written on another mesh. Each file has the box of each of
 * its arrays in the global array; a process copies the overlaps with its own box. Equal parts of
 * several partitions are copied once, so that the number of copied elements must equal the box. */
#include <stdio.h>
#include <string.h>

#include "cli/checkpoint/cli_checkpoint_parts.h"
#include "cli/arrays/cli_part.h"

typedef struct assembly { /* one parameter */
  int param;
  hr_dtype_t dtype;
  cli_part_t part; /* part of this process */
  int64_t *starts; /* starts of the files so far, by partition and dimension */
  int64_t copied;  /* elements */
  hlo_value_t *value;
} assembly_t;

/* The numbers of "in3.part"; *out_found false: the file has none. */
static hr_status_t read_part(const npz_t *npz, const char *path, int param, int rank,
                             bool *out_found, int64_t *whole, int64_t *starts) {
  char name[40];
  npy_t npy;
  hlo_value_t *value;
  snprintf(name, sizeof name, "in%d" CLI_PART, param);
  HR_TRY(npz_find(npz, name, out_found, &npy));
  if (!*out_found) return NULL;
  bool fits =
      npy_is(&npy, HR_S64) && npy.rank == 2 && npy.dims[0] == 2 && npy.dims[1] == (int64_t)rank;
  hr_status_t st =
      fits ? hlo_value_from_npy(&npy, HR_S64, &value)
           : hr_error(HR_USAGE, "%s: %s is of an array of another rank than %d", path, name, rank);
  npy_deinit(&npy);
  HR_TRY(st);
  const int64_t *numbers = value->data;
  for (int d = 0; d < rank; d++) {
    whole[d] = numbers[d];
    starts[d] = numbers[rank + d];
  }
  hlo_value_release(value);
  return NULL;
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
  int64_t whole[HLO_MAX_RANK], starts[HLO_MAX_RANK];
  cli_part_t part;
  bool found;
  cli_part_of(&(cli_arg_t){checkpoint->from.signature, false, param, false}, checkpoint->rank,
              &part);
  size_t bytes = (size_t)part.rank * sizeof *starts;
  HR_TRY(read_part(npz, "the checkpoint", param, part.rank, &found, whole, starts));
  *out_has = !found || (!memcmp(whole, part.whole, bytes) && !memcmp(starts, part.starts, bytes));
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

/* True if an earlier file has the same part. */
static bool is_repeated(const assembly_t *assembly, int partition) {
  int rank = assembly->part.rank;
  const int64_t *own = assembly->starts + (int64_t)partition * rank;
  for (int p = 0; p < partition; p++)
    if (!memcmp(assembly->starts + (int64_t)p * rank, own, (size_t)rank * sizeof *own)) return true;
  return false;
}

/* Copies the common elements of the file's box and the wanted one. */
static void copy_overlap(assembly_t *assembly, const npy_t *npy, const hlo_value_t *from,
                         const int64_t *starts) {
  const cli_part_t *part = &assembly->part;
  int64_t sizes[HLO_MAX_RANK], to_at[HLO_MAX_RANK], from_at[HLO_MAX_RANK], count = 1;
  for (int d = 0; d < part->rank; d++) {
    int64_t low = part->starts[d] > starts[d] ? part->starts[d] : starts[d];
    int64_t end = part->starts[d] + part->sizes[d], other = starts[d] + npy->dims[d];
    sizes[d] = (end < other ? end : other) - low;
    if (sizes[d] <= 0) return;
    to_at[d] = low - part->starts[d];
    from_at[d] = low - starts[d];
    count *= sizes[d];
  }
  cli_box_copy(part->rank, sizes, hr_dtype_bytes(assembly->dtype), assembly->value->data,
               (cli_box_side_t){part->sizes, to_at}, from->data,
               (cli_box_side_t){npy->dims, from_at});
  assembly->copied += count;
}

/* The array, and what box of the whole it is; a single partition may not say so. */
static hr_status_t check_box(const assembly_t *assembly, const char *path, const npy_t *npy,
                             bool has_part, const int64_t *whole, const int64_t *starts) {
  const cli_part_t *part = &assembly->part;
  bool fits = npy_is(npy, assembly->dtype) && npy->rank == part->rank;
  for (int d = 0; fits && d < part->rank; d++) {
    int64_t size = has_part ? whole[d] : npy->dims[d];
    fits = size == part->whole[d] && starts[d] >= 0 && npy->dims[d] <= size - starts[d];
  }
  return fits ? NULL
              : hr_error(HR_USAGE, "%s: array in%d is no part of what parameter %d is", path,
                         assembly->param, assembly->param);
}

/* Copies what one partition's file has of an array into this process's part of it. A file without
 * a part's place is read in a world of one partition only. */
static hr_status_t take_from(assembly_t *assembly, const npz_t *npz, const char *path,
                             int partition, int partitions) {
  int64_t whole[HLO_MAX_RANK] = {0};
  int64_t *starts = assembly->starts + (int64_t)partition * assembly->part.rank;
  char name[32];
  npy_t npy;
  hlo_value_t *value;
  bool found, has_part;
  snprintf(name, sizeof name, "in%d", assembly->param);
  HR_TRY(read_part(npz, path, assembly->param, assembly->part.rank, &has_part, whole, starts));
  if (!has_part && partitions > 1)
    return hr_error(HR_USAGE,
                    "the checkpoint is of %d partitions and does not say what %s of %s is a part "
                    "of: go on with as many",
                    partitions, name, path);
  if (has_part && is_repeated(assembly, partition)) return NULL;
  HR_TRY(npz_find(npz, name, &found, &npy));
  if (!found)
    return hr_error(HR_INVALID,
                    "%s has no array %s: it is of another program, or of another --carry", path,
                    name);
  hr_status_t st = check_box(assembly, path, &npy, has_part, whole, starts);
  if (!st) st = hlo_value_from_npy(&npy, assembly->dtype, &value);
  if (!st) {
    copy_overlap(assembly, &npy, value, starts);
    hlo_value_release(value);
  }
  npy_deinit(&npy);
  return st;
}

/* Makes an empty array for each carried parameter and room for the places of all partitions'
 * parts. */
static hr_status_t begin(const cli_checkpoint_t *checkpoint, int partitions, hr_arena_t *arena,
                         assembly_t *assemblies) {
  const cli_signature_t *signature = checkpoint->from.signature;
  for (size_t i = 0; i < checkpoint->from.carry->count; i++) {
    assembly_t *assembly = &assemblies[i];
    assembly->param = checkpoint->from.carry->data[i].in;
    assembly->dtype = signature->params[assembly->param]->dtype;
    cli_part_of(&(cli_arg_t){signature, false, assembly->param, false}, checkpoint->rank,
                &assembly->part);
    HR_TRY(HR_NEW_ARRAY(arena, (int64_t)partitions * assembly->part.rank + 1, &assembly->starts));
    HR_TRY(hlo_value_array(assembly->dtype, assembly->part.rank, assembly->part.sizes,
                           &assembly->value));
  }
  return NULL;
}

/* Takes the parts of all carried arrays from the file of one partition, which is opened once. */
static hr_status_t read_file(const cli_checkpoint_t *checkpoint, const char *step_path,
                             int partition, int partitions, hr_arena_t *arena,
                             assembly_t *assemblies) {
  char file[CLI_STEP_NAME];
  const char *path;
  npz_t npz;
  cli_rank_file(file, partition);
  HR_TRY(hr_arena_printf(arena, &path, "%s/%s", step_path, file));
  HR_TRY(npz_open(path, &npz));
  hr_status_t st = NULL;
  for (size_t i = 0; i < checkpoint->from.carry->count && !st; i++)
    st = take_from(&assemblies[i], &npz, path, partition, partitions);
  npz_deinit(&npz);
  return st;
}

/* As many elements must have been copied as the part has: fewer mean a gap. */
static hr_status_t finish(const cli_checkpoint_t *checkpoint, const char *step_path,
                          assembly_t *assemblies, hlo_value_t **values) {
  size_t count = checkpoint->from.carry->count;
  for (size_t i = 0; i < count; i++)
    if (assemblies[i].copied != assemblies[i].value->count)
      return hr_error(HR_INVALID, "%s has %lld of the %lld elements of array in%d for this process",
                      step_path, (long long)assemblies[i].copied,
                      (long long)assemblies[i].value->count, assemblies[i].param);
  for (size_t i = 0; i < count; i++) {
    hlo_value_release(values[assemblies[i].param]);
    values[assemblies[i].param] = assemblies[i].value;
    assemblies[i].value = NULL;
  }
  return NULL;
}

hr_status_t cli_checkpoint_assemble(const cli_checkpoint_t *checkpoint, const char *step_path,
                                    const cli_manifest_t *manifest, hr_arena_t *arena,
                                    hlo_value_t **values) {
  int partitions = manifest->num_partitions;
  assembly_t *assemblies;
  HR_TRY(HR_NEW_ARRAY(arena, checkpoint->from.carry->count, &assemblies));
  hr_status_t st = begin(checkpoint, partitions, arena, assemblies);
  for (int p = 0; p < partitions && !st; p++)
    st = read_file(checkpoint, step_path, p, partitions, arena, assemblies);
  if (!st) st = finish(checkpoint, step_path, assemblies, values);
  for (size_t i = 0; i < checkpoint->from.carry->count; i++) hlo_value_release(assemblies[i].value);
  return st;
}
