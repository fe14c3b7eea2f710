/* Parts of global arrays (boxes). The innermost dimensions that both sides have whole, and the
 * next outer one, are copied as one run; the outer dimensions are iterated with an index vector. */
#include "cli/arrays/cli_part.h"

#include <string.h>

void cli_part_of(const cli_arg_t *slot, int process, cli_part_t *out_part) {
  const cli_signature_t *signature = slot->interface;
  const hlo_shape_t *shape =
      slot->is_result ? signature->results[slot->index] : signature->params[slot->index];
  out_part->rank = shape->rank;
  for (int d = 0; d < shape->rank; d++) out_part->sizes[d] = shape->dims[d];
  out_part->is_cut =
      signature->program && hlorun_program_part(signature->program, slot->is_result, slot->index,
                                                process, out_part->whole, out_part->starts);
  if (out_part->is_cut) return;
  for (int d = 0; d < shape->rank; d++) {
    out_part->whole[d] = shape->dims[d];
    out_part->starts[d] = 0;
  }
}

/* Position of the box's element `index`; only the first `outer` dimensions of index count. */
static int64_t offset_of(int rank, cli_box_side_t side, const int64_t *index, int outer) {
  int64_t offset = 0;
  for (int d = 0; d < rank; d++) {
    offset = offset * side.dims[d] + side.at[d];
    if (d < outer) offset += index[d];
  }
  return offset;
}

void cli_box_copy(int rank, const int64_t *sizes, size_t each, void *to, cli_box_side_t to_side,
                  const void *from, cli_box_side_t from_side) {
  int64_t index[HLO_MAX_RANK] = {0};
  size_t run = each;
  int outer = rank, d;
  for (d = 0; d < rank; d++)
    if (!sizes[d]) return;
  while (outer && sizes[outer - 1] == to_side.dims[outer - 1] &&
         sizes[outer - 1] == from_side.dims[outer - 1])
    run *= (size_t)sizes[--outer];
  if (outer) run *= (size_t)sizes[--outer];
  do {
    memcpy((char *)to + (size_t)offset_of(rank, to_side, index, outer) * each,
           (const char *)from + (size_t)offset_of(rank, from_side, index, outer) * each, run);
    for (d = outer - 1; d >= 0 && ++index[d] == sizes[d]; d--) index[d] = 0;
  } while (d >= 0);
}

hr_status_t cli_part_cut(const cli_part_t *part, const hlo_value_t *whole,
                         hlo_value_t **out_value) {
  static const int64_t zeros[HLO_MAX_RANK];
  HR_TRY(hlo_value_array(whole->dtype, part->rank, part->sizes, out_value));
  cli_box_copy(part->rank, part->sizes, hr_dtype_bytes(whole->dtype), (*out_value)->data,
               (cli_box_side_t){part->sizes, zeros}, whole->data,
               (cli_box_side_t){part->whole, part->starts});
  return NULL;
}
