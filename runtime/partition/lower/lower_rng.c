/* Parts of rng arrays. The instruction gives the kernel the sizes of the global array and the start
 * of each partition's part (ops/query/random_part.h). The kernel skips to these numbers of the
 * stream and leaves the stream at the end of the global array. */
#include "base/arith.h"
#include "ir/frontend_attributes.h"
#include "ops/query/random_part.h"
#include "partition/lower/lower_ops.h"

/* First element of a partition's part along d; a part beyond the end is empty. */
static int64_t start_of(const spmd_mesh_t *mesh, const spmd_choice_t *choice, int64_t partition,
                        int d) {
  const spmd_sharding_t *sharding = choice->tensors[choice->rule->operand_count];
  int64_t size = choice->instr->shape->dims[d], parts = spmd_sharding_parts(sharding, d);
  int64_t position = spmd_mesh_position(mesh, partition);
  int64_t start =
      spmd_axes_coordinate(mesh, sharding->dims[d].axes, position) * hr_div_ceil(size, parts);
  return start < size ? start : size;
}

static void write_part(hr_strbuf_t *text, const spmd_mesh_t *mesh, const spmd_choice_t *choice) {
  const hlo_shape_t *whole = choice->instr->shape;
  for (int d = 0; d < whole->rank; d++)
    hr_strbuf_printf(text, "%s%ld", d ? "," : "", (long)whole->dims[d]);
  for (int64_t p = 0; p < mesh->device_count; p++)
    for (int d = 0; d < whole->rank; d++)
      hr_strbuf_printf(text, "%c%ld", d ? ',' : ':', (long)start_of(mesh, choice, p, d));
}

static hr_status_t add_part(spmd_lower_t *lower, const spmd_choice_t *choice, hlo_instr_t *drawn) {
  hr_strbuf_t text;
  hr_str_t value;
  hr_strbuf_init(&text);
  write_part(&text, lower->emit.mesh, choice);
  hr_status_t st = hr_strbuf_finish(&text);
  if (!st) st = hr_arena_str(lower->arena, (hr_str_t){text.data, text.size}, &value);
  hr_strbuf_deinit(&text);
  HR_TRY(st);
  hlo_name_value_t part = {.name = hr_str_from(OP_RANDOM_PART), .value = value};
  return hlo_extra_with_frontend_attribute(lower->arena, drawn->extra, part, &drawn->extra);
}

hlo_instr_t *spmd_lower_rng(spmd_lower_t *lower, const spmd_choice_t *choice) {
  hlo_instr_t *drawn = spmd_emit_local(lower, choice);
  if (drawn && !spmd_sharding_is_replicated(choice->tensors[choice->rule->operand_count]))
    spmd_emit_failed(&lower->emit, add_part(lower, choice, drawn));
  return drawn;
}
