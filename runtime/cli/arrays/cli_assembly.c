#include "cli/arrays/cli_assembly.h"

#include <string.h>

void cli_place_numbers(const cli_part_t *part, int64_t *out_numbers) {
  size_t bytes = (size_t)part->rank * sizeof *out_numbers;
  memcpy(out_numbers, part->whole, bytes);
  memcpy(out_numbers + part->rank, part->starts, bytes);
}

hr_status_t cli_place_read(const char *label, const npy_t *npy, int rank, cli_place_t *out_place) {
  hlo_value_t *value;
  bool fits =
      npy_is(npy, HR_S64) && npy->rank == 2 && npy->dims[0] == 2 && npy->dims[1] == (int64_t)rank;
  if (!fits) return hr_error(HR_USAGE, "%s is of an array of another rank than %d", label, rank);
  HR_TRY(hlo_value_from_npy(npy, HR_S64, &value));
  const int64_t *numbers = value->data;
  for (int d = 0; d < rank; d++) {
    out_place->whole[d] = numbers[d];
    out_place->starts[d] = numbers[rank + d];
  }
  hlo_value_release(value);
  return NULL;
}

hr_status_t cli_assembly_init(hr_arena_t *arena, const cli_arg_t *slot, int process, int most,
                              cli_assembly_t *assembly) {
  const cli_signature_t *signature = slot->interface;
  const hlo_shape_t *shape =
      slot->is_result ? signature->results[slot->index] : signature->params[slot->index];
  *assembly = (cli_assembly_t){.dtype = shape->dtype};
  cli_part_of(slot, process, &assembly->part);
  HR_TRY(HR_NEW_ARRAY(arena, (int64_t)most * assembly->part.rank + 1, &assembly->starts));
  return hlo_value_array(assembly->dtype, assembly->part.rank, assembly->part.sizes,
                         &assembly->value);
}

bool cli_assembly_take_place(cli_assembly_t *assembly, const cli_place_t *place) {
  int rank = assembly->part.rank;
  size_t bytes = (size_t)rank * sizeof *place->starts;
  for (int p = 0; p < assembly->count; p++)
    if (!memcmp(assembly->starts + (int64_t)p * rank, place->starts, bytes)) return false;
  memcpy(assembly->starts + (int64_t)assembly->count++ * rank, place->starts, bytes);
  return true;
}

bool cli_assembly_fits(const cli_assembly_t *assembly, const npy_t *npy, const cli_place_t *place) {
  const cli_part_t *part = &assembly->part;
  bool fits = npy_is(npy, assembly->dtype) && npy->rank == part->rank;
  for (int d = 0; fits && d < part->rank; d++)
    fits = place->whole[d] == part->whole[d] && place->starts[d] >= 0 &&
           npy->dims[d] <= place->whole[d] - place->starts[d];
  return fits;
}

hr_status_t cli_assembly_add(cli_assembly_t *assembly, const npy_t *npy, const cli_place_t *place) {
  const cli_part_t *part = &assembly->part;
  int64_t sizes[HLO_MAX_RANK], to_at[HLO_MAX_RANK], from_at[HLO_MAX_RANK], count = 1;
  hlo_value_t *from;
  for (int d = 0; d < part->rank; d++) {
    int64_t low = part->starts[d] > place->starts[d] ? part->starts[d] : place->starts[d];
    int64_t end = part->starts[d] + part->sizes[d], other = place->starts[d] + npy->dims[d];
    sizes[d] = (end < other ? end : other) - low;
    if (sizes[d] <= 0) return NULL;
    to_at[d] = low - part->starts[d];
    from_at[d] = low - place->starts[d];
    count *= sizes[d];
  }
  HR_TRY(hlo_value_from_npy(npy, assembly->dtype, &from));
  cli_box_copy(part->rank, sizes, hr_dtype_bytes(assembly->dtype), assembly->value->data,
               (cli_box_side_t){part->sizes, to_at}, from->data,
               (cli_box_side_t){npy->dims, from_at});
  hlo_value_release(from);
  assembly->copied += count;
  return NULL;
}
