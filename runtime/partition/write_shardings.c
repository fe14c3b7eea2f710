/* Writes the shardings of a propagated program into its instructions, for --stop-after propagate.
 * Cost: linear. */
#include "ir/sharding.h"
#include "partition/program.h"

static hr_status_t sharding_of_leaves(hr_arena_t *arena, const spmd_value_t *values, int count,
                                      const hlo_sharding_t **out_sharding) {
  const hlo_sharding_t **elements;
  hlo_sharding_t *tuple;
  HR_TRY(HR_NEW_ARRAY(arena, count + 1, &elements));
  for (int i = 0; i < count; i++)
    HR_TRY(spmd_sharding_to_hlo(arena, values[i].sharding, &elements[i]));
  HR_TRY(HR_NEW(arena, &tuple));
  *tuple =
      (hlo_sharding_t){.kind = HLO_TILE_KIND_TUPLE, .element_count = count, .elements = elements};
  *out_sharding = tuple;
  return NULL;
}

/* All frontend attributes but the annotation. */
static hr_status_t without_annotation(hr_arena_t *arena, hlo_name_values_t *list) {
  hlo_name_value_t *items;
  int count = 0;
  HR_TRY(HR_NEW_ARRAY(arena, list->count + 1, &items));
  for (int i = 0; i < list->count; i++)
    if (!hr_str_is(list->items[i].name, "xla.sdy.sharding")) items[count++] = list->items[i];
  *list = (hlo_name_values_t){count, items};
  return NULL;
}

static hr_status_t write_instr(spmd_program_t *program, hlo_instr_t *instr) {
  const spmd_value_t *values = program->computations[instr->parent->id].values[instr->id];
  int count = hlo_shape_leaf_count(instr->shape);
  hlo_extra_t *extra;
  bool any = false;
  for (int leaf = 0; leaf < count; leaf++) any |= values[leaf].sharding != NULL;
  if (!any && !instr->extra) return NULL;
  HR_TRY(HR_NEW(program->arena, &extra));
  if (instr->extra) *extra = *instr->extra;
  extra->sharding = NULL;
  if (any && hlo_shape_is_tuple(instr->shape))
    HR_TRY(sharding_of_leaves(program->arena, values, count, &extra->sharding));
  else if (any)
    HR_TRY(spmd_sharding_to_hlo(program->arena, values[0].sharding, &extra->sharding));
  instr->extra = extra;
  return without_annotation(program->arena, &extra->frontend_attributes);
}

hr_status_t spmd_write_shardings(spmd_program_t *program) {
  const hlo_module_t *module = program->module;
  for (size_t c = 0; c < module->computations.count; c++) {
    const hlo_computation_t *computation = module->computations.data[c];
    for (size_t i = 0; i < computation->instrs.count && program->computations[c].values; i++)
      HR_TRY(write_instr(program, computation->instrs.data[i]));
  }
  return NULL;
}
