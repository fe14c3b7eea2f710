/* Values that cross into a branch or a loop are packed: arrays, lists and the values of resources
 * get a slot of one tuple; inside, each slot is an element of the tuple parameter. Constants are
 * not packed where they stay the same, so that shapes and axes remain known at compile time inside.
 *
 *   values:  [array a] [constant 3] [variable v] [list l]
 *   tuple:   (a,                     v,           l)                                             */
#include "tf/compile/tf_packing.h"

/* Slot of a resource that an earlier value packed already; -1: none. Resources are compared by
 * identity, as VarHandleOp gives one object per name. */
static int resource_slot(const tf_packing_t *packing, int index) {
  for (int i = 0; i < index; i++)
    if (packing->values[i].kind == TF_VALUE_RESOURCE &&
        packing->values[i].resource == packing->values[index].resource)
      return packing->slots[i];
  return -1;
}

/* A new slot for an array; -1 if there is none. */
static int add_slot(tf_packing_t *packing, expr_t instr) {
  if (!instr) return -1;
  packing->instrs[packing->slot_count] = instr;
  return packing->slot_count++;
}

hr_status_t tf_pack_values(tf_op_t *op, int count, const tf_value_t *values, const bool *keep,
                           tf_packing_t *packing) {
  *packing = (tf_packing_t){.count = count, .values = values};
  HR_TRY(HR_NEW_ARRAY(op->arena, count, &packing->slots));
  HR_TRY(HR_NEW_ARRAY(op->arena, count, &packing->counts));
  HR_TRY(HR_NEW_ARRAY(op->arena, count, &packing->element_counts));
  HR_TRY(HR_NEW_ARRAY(op->arena, count, &packing->written));
  HR_TRY(HR_NEW_ARRAY(op->arena, 3 * count, &packing->instrs));
  for (int i = 0; i < count; i++) {
    tf_value_t value = values[i];
    packing->slots[i] = -1;
    packing->counts[i] = packing->element_counts[i] = -1;
    if (value.kind == TF_VALUE_NONE || value.kind == TF_VALUE_STRINGS || keep[i]) continue;
    if (value.kind == TF_VALUE_RESOURCE && value.resource->gradients)
      return tf_unsupported(op, "a TensorArray with gradients that crosses into a loop or branch");
    if (value.kind == TF_VALUE_RESOURCE) packing->slots[i] = resource_slot(packing, i);
    if (packing->slots[i] >= 0) continue;
    expr_t instr = tf_value_instr(op->scope->compiler, op->b, &value);
    if (!instr && value.kind == TF_VALUE_RESOURCE) continue;
    if (!instr)
      return op->b->status ? hlo_builder_finish(op->b)
                           : tf_unsupported(op, "a list without elements or sizes");
    packing->slots[i] = add_slot(packing, instr);
    if (value.kind != TF_VALUE_LIST) continue;
    packing->counts[i] = add_slot(packing, value.count);
    packing->element_counts[i] = add_slot(packing, value.element_counts);
  }
  return NULL;
}

void tf_unpack_counts(hlo_builder_t *b, const tf_packing_t *packing, int i, expr_t tuple,
                      tf_value_t *out_list) {
  int count = packing->counts[i], elements = packing->element_counts[i];
  if (count >= 0) out_list->count = hlo_build_element(b, tuple, count);
  if (elements >= 0) out_list->element_counts = hlo_build_element(b, tuple, elements);
}

hr_status_t tf_unpack_values(tf_op_t *op, hlo_builder_t *b, const tf_packing_t *packing,
                             expr_t tuple, tf_value_t *out_values) {
  for (int i = 0; i < packing->count; i++) {
    int slot = packing->slots[i];
    out_values[i] = packing->values[i];
    out_values[i].live = NULL;
    out_values[i].instr = slot < 0 ? NULL : hlo_build_element(b, tuple, slot);
    if (slot >= 0 && out_values[i].kind == TF_VALUE_ARRAY) out_values[i].constant = NULL;
    tf_unpack_counts(b, packing, i, tuple, &out_values[i]);
    if (packing->values[i].kind != TF_VALUE_RESOURCE) continue;
    int first = i;
    for (int k = 0; k < i; k++)
      if (packing->values[k].resource == packing->values[i].resource) first = k;
    if (first < i) {
      out_values[i].resource = out_values[first].resource;
      continue;
    }
    tf_resource_t *copy;
    HR_TRY(HR_NEW(op->arena, &copy));
    *copy = *packing->values[i].resource;
    copy->value = out_values[i].instr;
    copy->initial = copy->value;
    out_values[i].resource = copy;
    out_values[i].instr = NULL;
  }
  return hlo_builder_finish(b);
}

expr_t tf_packed_resource(const tf_packing_t *packing, int i, const tf_value_t *inside) {
  packing->written[i] |= inside[i].resource->value != inside[i].resource->initial;
  return inside[i].resource->value;
}

#define KEPT_ELEMENTS_MAX 64

hr_status_t tf_keep_constants(tf_op_t *op, int count, tf_value_t *values, bool *keep) {
  for (int i = 0; i < count; i++) {
    tf_value_t *value = &values[i];
    keep[i] &= value->kind == TF_VALUE_ARRAY;
    if (!keep[i]) continue;
    const hlo_shape_t *shape = value->instr ? value->instr->shape : NULL;
    if (!value->constant && shape && hr_dtype_is_integer(shape->dtype) &&
        hlo_shape_elements(shape) <= KEPT_ELEMENTS_MAX)
      HR_TRY(tf_evaluate(op->scope->compiler, value->instr, &value->constant));
    keep[i] = value->constant != NULL;
  }
  return NULL;
}

hr_status_t tf_packing_shape(tf_op_t *op, const tf_packing_t *packing,
                             const hlo_shape_t **out_shape) {
  const hlo_shape_t **shapes;
  HR_TRY(HR_NEW_ARRAY(op->arena, packing->slot_count, &shapes));
  for (int i = 0; i < packing->slot_count; i++) shapes[i] = packing->instrs[i]->shape;
  return hlo_shape_tuple(op->arena, packing->slot_count, shapes, out_shape);
}
