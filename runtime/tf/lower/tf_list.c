/* TensorLists, and TensorArrays of TensorFlow 1, are one array whose first dimension counts the
 * elements, all of one static shape; unused elements at the end are zeros. What is known of the
 * elements (a common constant, a bound) is kept beside the array: gradients of loops push the sizes
 * of arrays in every iteration, and need them at compile time when they pop them. */
#include "tf/lower/tf_list.h"

#include "tf/compile/tf_trips.h"

hr_status_t tf_list_put(tf_op_t *op, int k, const tf_value_t *list) {
  HR_TRY(tf_need_outputs(op, k + 1));
  if (list->resource) {
    list->resource->value = list->instr;
    return tf_out(op, k, tf_scalar(op->b, 0, HR_F32));
  }
  op->outputs[k] = *list;
  op->outputs[k].kind = TF_VALUE_LIST;
  op->outputs[k].list_pushed = false;
  op->outputs[k].constant = NULL;
  return hlo_builder_finish(op->b);
}

hr_status_t tf_list_take(tf_op_t *op, int k, tf_value_t *out_list) {
  if (k >= op->input_count || op->inputs[k]->kind != TF_VALUE_LIST)
    return tf_error(op, "input %d is no array of tensors", k);
  *out_list = *op->inputs[k];
  return NULL;
}

hr_status_t tf_list_check_shape(tf_op_t *op, const tf_value_t *list) {
  if (list->instr) return NULL;
  return tf_unsupported(op, "an array of tensors whose elements have no known shape");
}

hr_status_t tf_list_take_shaped(tf_op_t *op, int k, tf_value_t *out_list) {
  HR_TRY(tf_list_take(op, k, out_list));
  return tf_list_check_shape(op, out_list);
}

void tf_list_zeros(tf_op_t *op, tf_value_t *list, int rank, const int64_t *dims) {
  int64_t sizes[HLO_MAX_RANK];
  if (list->list_size < 0 || rank < 0 || rank + 1 > HLO_MAX_RANK || list->list_dtype == HR_TUPLE)
    return;
  sizes[0] = list->list_size;
  for (int d = 0; d < rank; d++) {
    if (dims[d] < 0) return;
    sizes[d + 1] = dims[d];
  }
  list->instr = tf_fill(op->b, 0, list->list_dtype, rank + 1, sizes);
}

void tf_list_starts(tf_op_t *op, expr_t index, int rank, expr_t *starts) {
  for (int d = 0; d < rank; d++) starts[d] = d ? tf_scalar_int(op->b, 0, HR_S32) : index;
}

expr_t tf_list_read(tf_op_t *op, const tf_value_t *list, expr_t index) {
  expr_t starts[HLO_MAX_RANK];
  int64_t sizes[HLO_MAX_RANK];
  const hlo_shape_t *shape = list->instr->shape;
  if (index && index->shape->dtype != HR_S32) index = hlo_build_convert(op->b, index, HR_S32);
  tf_list_starts(op, index, shape->rank, starts);
  for (int d = 0; d < shape->rank; d++) sizes[d] = d ? shape->dims[d] : 1;
  expr_t row = tf_dynamic_slice(op->b, list->instr, starts, sizes);
  return tf_reshape(op->b, row, shape->rank - 1, shape->dims + 1);
}

hr_status_t tf_list_write(tf_op_t *op, tf_value_t *list, expr_t index, expr_t item) {
  expr_t starts[HLO_MAX_RANK];
  int64_t sizes[HLO_MAX_RANK] = {1};
  if (!item || !index) return hlo_builder_finish(op->b);
  if (item->shape->rank >= HLO_MAX_RANK) return tf_error(op, "too many dimensions");
  if (list->list_dtype == HR_TUPLE) list->list_dtype = item->shape->dtype;
  if (!list->instr) tf_list_zeros(op, list, item->shape->rank, item->shape->dims);
  if (!list->instr) return tf_unsupported(op, "an array of tensors whose length is not known");
  if (!list->instr->shape->dims[0])
    return tf_unsupported(op, "an array of size 0 is written: it does not grow");
  if (list->list_accumulates) item = f_add(op->b, item, tf_list_read(op, list, index));
  if (!item) return hlo_builder_finish(op->b);
  for (int d = 0; d < item->shape->rank; d++) sizes[d + 1] = item->shape->dims[d];
  tf_list_starts(op, index, list->instr->shape->rank, starts);
  expr_t row = tf_reshape(op->b, item, item->shape->rank + 1, sizes);
  list->instr = tf_dynamic_update(op->b, list->instr, row, starts);
  return hlo_builder_finish(op->b);
}

bool tf_has_list(const tf_op_t *op) {
  for (int k = 0; k < op->input_count; k++)
    if (op->inputs[k]->kind == TF_VALUE_LIST) return true;
  return false;
}

hr_status_t tf_add_lists(tf_op_t *op) {
  tf_value_t sum = {.kind = TF_VALUE_NONE};
  for (int k = 0; k < op->input_count; k++) {
    const tf_value_t *list = op->inputs[k];
    if (list->kind != TF_VALUE_LIST) continue;
    expr_t before = sum.instr;
    if (!before) sum = *list;
    if (before && list->instr) sum.instr = f_add(op->b, before, list->instr);
  }
  return tf_list_put(op, 0, &sum);
}

expr_t tf_list_count(tf_op_t *op, const tf_value_t *list) {
  return list->count ? list->count : tf_scalar_int(op->b, list->list_size, HR_S32);
}

void tf_list_grow(tf_op_t *op, tf_value_t *list, int64_t more) {
  list->list_size += more;
  list->instr = tf_grow(op->b, list->instr, more);
  list->element_counts = tf_grow(op->b, list->element_counts, more);
}

bool tf_lists_resize(tf_op_t *op) {
  const tf_graph_t *graph = op->scope->compiler->graph;
  bool resizes = false;
  for (int f = -1; f < graph->function_count && !resizes; f++) {
    const tf_body_t *body = f < 0 ? &graph->main : &graph->functions[f];
    for (int i = 0; i < body->node_count && !resizes; i++)
      if (hr_str_is(body->nodes[i].op, "TensorListSetItem"))
        hr_status_release(tf_attr_bool(op->arena, &body->nodes[i], "resize_if_index_out_of_bounds",
                                       false, &resizes));
  }
  return resizes;
}

/* Whether this is a trial, which is built again once the sizes of lists are known. */
static bool is_dry_run(const tf_op_t *op) {
  const tf_states_t *states = op->scope->compiler->states;
  while (states && !states->is_dry_run) states = states->up;
  return states != NULL;
}

/* The source behind conversions, which TensorFlow puts between a counter and an index. */
static expr_t source_of(expr_t x) {
  while (x && (x->op == HLO_CONVERT || x->op == HLO_COPY)) x = x->operands[0];
  return x;
}

hr_status_t tf_list_extend(tf_op_t *op, tf_value_t *list, int k) {
  hlo_builder_t *b = op->b;
  hlo_value_t *known;
  HR_TRY(tf_const_if_known(op, k, &known));
  int64_t size = known ? hlo_value_int_at(known, 0) + 1 : list->list_size + list->list_unbounded;
  if (known && size <= list->list_size && !list->count) return NULL;
  if (known && size > list->list_size && !list->list_unbounded)
    return tf_error(op, "element %ld of a list of %ld is written", (long)size - 1,
                    (long)list->list_size);
  expr_t index = known ? tf_scalar_int(b, size - 1, HR_S32) : tf_in(op, k);
  if (index && index->shape->dtype != HR_S32) index = hlo_build_convert(b, index, HR_S32);
  bool appends = list->count && source_of(index) == source_of(list->count);
  bool jumps = list->list_unbounded && !known && !appends;
  if (jumps && !is_dry_run(op))
    return tf_unsupported(op, "a list grows by a write at an index that is not known");
  list->list_sparse_write |= jumps;
  list->list_grown_by_write = true;
  expr_t end = f_add(b, index, tf_scalar_int(b, 1, HR_S32));
  bool is_full = known && size > list->list_size && !list->count;
  list->count = is_full ? NULL : f_max(b, tf_list_count(op, list), end);
  if (list->list_unbounded && size > list->list_size)
    tf_list_grow(op, list, size - list->list_size);
  return hlo_builder_finish(b);
}

bool tf_list_is_known(const tf_value_t *list) {
  return list->kind == TF_VALUE_LIST && list->list_pushed &&
         (list->constant || list->list_bound >= 0);
}

bool tf_has_known_lists(const tf_value_t *list) {
  return list->kind == TF_VALUE_LIST && list->element && tf_list_is_known(list->element);
}

hr_status_t tf_forget_lists(hr_arena_t *arena, tf_value_t *list) {
  tf_value_t *element;
  if (!tf_has_known_lists(list)) return NULL;
  HR_TRY(HR_NEW(arena, &element));
  *element = *list->element;
  element->list_pushed = false;
  element->constant = NULL;
  list->element = element;
  return NULL;
}
