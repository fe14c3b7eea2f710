/* Replaces each shape that has a buffer by a new one, as shapes are shared and immutable. */
#include "ir/buffer_types.h"

static bool has_buffer(const hlo_shape_t *shape) {
  for (int k = 0; hlo_shape_is_tuple(shape) && k < shape->element_count; k++)
    if (has_buffer(shape->elements[k])) return true;
  return shape->dtype == HR_BUFFER;
}

static hr_status_t lower_shape(hr_arena_t *arena, const hlo_shape_t **shape);

static hr_status_t lower_list(hr_arena_t *arena, int count, const hlo_shape_t *const *from,
                              const hlo_shape_t *const **out_list) {
  const hlo_shape_t **list;
  HR_TRY(HR_NEW_ARRAY(arena, count, &list));
  for (int k = 0; k < count; k++) {
    list[k] = from[k];
    HR_TRY(lower_shape(arena, &list[k]));
  }
  *out_list = list;
  return NULL;
}

static hr_status_t lower_shape(hr_arena_t *arena, const hlo_shape_t **shape) {
  const hlo_shape_t *const *elements;
  if (!*shape || !has_buffer(*shape)) return NULL;
  if ((*shape)->dtype == HR_BUFFER) {
    *shape = hlo_shape_contents(*shape);
    return NULL;
  }
  HR_TRY(lower_list(arena, (*shape)->element_count, (*shape)->elements, &elements));
  return hlo_shape_tuple(arena, (*shape)->element_count, elements, shape);
}

/* operand_layout_constraints */
static hr_status_t lower_attr(hr_arena_t *arena, hlo_attr_t *attr) {
  hlo_shapes_t *lowered;
  if (hlo_attr_table[attr->key].kind != HLO_KIND_SHAPES) return NULL;
  HR_TRY(HR_NEW(arena, &lowered));
  *lowered = *attr->shapes;
  attr->shapes = lowered;
  return lower_list(arena, lowered->count, lowered->shapes, &lowered->shapes);
}

/* Copies the list of attributes, which may be shared, too. */
static hr_status_t lower_instr(hr_arena_t *arena, hlo_instr_t *instr) {
  hlo_attr_t *attrs;
  HR_TRY(lower_shape(arena, &instr->shape));
  HR_TRY(HR_NEW_ARRAY(arena, instr->attr_count, &attrs));
  for (int k = 0; k < instr->attr_count; k++) {
    attrs[k] = instr->attrs[k];
    HR_TRY(lower_attr(arena, &attrs[k]));
  }
  instr->attrs = attrs;
  return NULL;
}

static bool uses_buffers(const hlo_module_t *module) {
  for (size_t c = 0; c < module->computations.count; c++)
    for (size_t i = 0; i < module->computations.data[c]->instrs.count; i++)
      if (has_buffer(module->computations.data[c]->instrs.data[i]->shape)) return true;
  return false;
}

hr_status_t hlo_lower_buffer_types(hlo_module_t *module) {
  if (!uses_buffers(module)) return NULL;
  for (size_t c = 0; c < module->computations.count; c++)
    for (size_t i = 0; i < module->computations.data[c]->instrs.count; i++)
      HR_TRY(lower_instr(&module->arena, module->computations.data[c]->instrs.data[i]));
  HR_TRY(lower_list(&module->arena, module->entry_params.count, module->entry_params.shapes,
                    &module->entry_params.shapes));
  return lower_shape(&module->arena, &module->entry_result);
}
