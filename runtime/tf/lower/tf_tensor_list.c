/* TensorLists. max_num_elements bounds their capacity, as XLA's shapes are static; without it a
 * list grows with each push, and before a loop by the pushes of all iterations (tf_loop_dry_run.c).
 */
#include "base/arith.h"
#include "tf/lower/tf_list.h"

/* --- whole lists --- */

/* ZerosLike. A list of zeros is the start of a gradient: writes add to it. */
hr_status_t tf_lower_zeros_like(tf_op_t *op) {
  expr_t x = tf_in(op, 0);
  expr_t zeros = x ? hlo_build_number_like(op->b, 0, x) : NULL;
  if (op->inputs[0]->kind != TF_VALUE_LIST) return tf_out(op, 0, zeros);
  tf_value_t list = *op->inputs[0];
  list.instr = zeros;
  list.list_accumulates = true;
  return tf_list_put(op, 0, &list);
}

/* Reads element type, element shape (input 0) and size (input 1) of a new list. *out_rank: -1 for
 * the scalar element shape -1, which means that nothing is known of it. */
static hr_status_t read_list_type(tf_op_t *op, tf_value_t *list, tf_sizes_t *out_size,
                                  int *out_rank, hr_ints_t *out_dims) {
  hlo_value_t *shape;
  *list = (tf_value_t){.kind = TF_VALUE_LIST};
  HR_TRY(tf_attr_dtype(op->arena, op->node, "element_dtype", &list->list_dtype));
  HR_TRY(tf_sizes_in(op, 1, out_size));
  list->list_size = out_size->dims[0];
  HR_TRY(tf_const(op, 0, &shape));
  HR_TRY(tf_const_ints(op, 0, out_dims));
  *out_rank = shape->rank ? (int)out_dims->count : -1;
  return NULL;
}

/* TensorListReserve. Inputs: element_shape, num_elements. */
hr_status_t tf_lower_list_reserve(tf_op_t *op) {
  tf_value_t list;
  hr_ints_t dims;
  tf_sizes_t length;
  int rank;
  HR_TRY(read_list_type(op, &list, &length, &rank, &dims));
  list.count = length.exprs[0];
  list.list_unbounded = tf_lists_resize(op);
  tf_list_zeros(op, &list, rank, dims.data);
  return tf_list_put(op, 0, &list);
}

/* TensorListFromTensor: rows of the array are the elements. */
hr_status_t tf_lower_list_from_tensor(tf_op_t *op) {
  expr_t x = tf_in(op, 0);
  if (!x || !x->shape->rank) return tf_error(op, "a list from a scalar");
  tf_value_t list = {.list_size = x->shape->dims[0], .list_dtype = x->shape->dtype};
  list.count = tf_sizes_of(op->b, x).exprs[0];
  list.instr = tf_fill_dynamic(op, x, 0, tf_scalar(op->b, 0, x->shape->dtype));
  return tf_list_put(op, 0, &list);
}

/* TensorListStack: the array itself, or the part that is in use. */
hr_status_t tf_lower_list_stack(tf_op_t *op) {
  tf_value_t list;
  HR_TRY(tf_list_take(op, 0, &list));
  if (!list.instr) return tf_unsupported(op, "a list whose elements have no known shape");
  expr_t x = list.instr;
  if (list.count) HR_TRY(tf_cut_to(op, x, 0, list.count, &x));
  return tf_out(op, 0, x);
}

/* TensorListLength: the capacity, which is static, if all elements are in use; else it is a bound,
 * by which a loop sees that the length may be a size. */
hr_status_t tf_lower_list_length(tf_op_t *op) {
  tf_value_t list;
  HR_TRY(tf_list_take(op, 0, &list));
  if (!list.count) return tf_out_ints(op, 0, HR_S32, true, 1, &list.list_size);
  if (list.list_unbounded) return tf_out(op, 0, list.count);
  return tf_out(op, 0, f_min(op->b, list.count, tf_scalar_int(op->b, list.list_size, HR_S32)));
}

/* TensorListResize(list, size). The list has room for a size that is not known, such as that of a
 * gradient, which gets the length of the list that it belongs to. */
hr_status_t tf_lower_list_resize(tf_op_t *op) {
  tf_value_t list;
  hlo_value_t *known;
  HR_TRY(tf_list_take(op, 0, &list));
  HR_TRY(tf_const_if_known(op, 1, &known));
  int64_t size = known ? hlo_value_int_at(known, 0) : list.list_size;
  if (size < 0) return tf_error(op, "a list of %ld elements", (long)size);
  list.count = known ? NULL : tf_in(op, 1);
  if (size > list.list_size) tf_list_grow(op, &list, size - list.list_size);
  if (size < list.list_size && list.instr) list.instr = tf_slice_dim(op->b, list.instr, 0, 0, size);
  list.list_size = size;
  return tf_list_put(op, 0, &list);
}

/* TensorListGetItem(list, index, element_shape). An index outside is clamped. */
hr_status_t tf_lower_list_get(tf_op_t *op) {
  tf_value_t list;
  expr_t starts[HLO_MAX_RANK];
  int64_t sizes[HLO_MAX_RANK];
  HR_TRY(tf_list_take(op, 0, &list));
  if (!list.instr) return tf_unsupported(op, "an element of a list without known shapes");
  const hlo_shape_t *shape = list.instr->shape;
  if (!shape->rank) return tf_error(op, "a list without elements");
  tf_list_starts(op, tf_in(op, 1), shape->rank, starts);
  for (int d = 0; d < shape->rank; d++) sizes[d] = d ? shape->dims[d] : 1;
  expr_t row = tf_dynamic_slice(op->b, list.instr, starts, sizes);
  return tf_out(op, 0, tf_reshape(op->b, row, shape->rank - 1, shape->dims + 1));
}

/* TensorListSetItem(list, index, item). */
hr_status_t tf_lower_list_set(tf_op_t *op) {
  tf_value_t list;
  expr_t starts[HLO_MAX_RANK];
  int64_t sizes[HLO_MAX_RANK] = {1};
  bool resizes;
  HR_TRY(tf_list_take(op, 0, &list));
  expr_t item = tf_in(op, 2);
  if (!item) return hlo_builder_finish(op->b);
  if (item->shape->rank >= HLO_MAX_RANK) return tf_error(op, "too many dimensions");
  HR_TRY(tf_attr_bool(op->arena, op->node, "resize_if_index_out_of_bounds", false, &resizes));
  if (resizes) HR_TRY(tf_list_extend(op, &list, 1));
  if (!list.instr) tf_list_zeros(op, &list, item->shape->rank, item->shape->dims);
  if (!list.instr) return tf_unsupported(op, "a list whose length is not known");
  for (int d = 0; d < item->shape->rank; d++) sizes[d + 1] = item->shape->dims[d];
  tf_list_starts(op, tf_in(op, 1), list.instr->shape->rank, starts);
  expr_t row = tf_reshape(op->b, item, item->shape->rank + 1, sizes);
  list.instr = tf_dynamic_update(op->b, list.instr, row, starts);
  return tf_list_put(op, 0, &list);
}

/* --- stacks of elements --- */

/* EmptyTensorList. Inputs: element shape, most elements. max_num_elements bounds the capacity, as
 * XLA's shapes are static; without it each push makes the list larger. `count` says how many
 * elements are in use. */
hr_status_t tf_lower_list_empty(tf_op_t *op) {
  tf_value_t list;
  hr_ints_t dims;
  tf_sizes_t most;
  int rank;
  HR_TRY(read_list_type(op, &list, &most, &rank, &dims));
  list.list_unbounded = list.list_size < 0;
  if (list.list_unbounded) list.list_size = 0;
  list.count = tf_scalar_int(op->b, 0, HR_S32);
  tf_list_zeros(op, &list, rank, dims.data);
  HR_TRY(tf_list_put(op, 0, &list));
  op->outputs[0].list_pushed = true;
  op->outputs[0].list_bound = -1;
  return NULL;
}

/* Updates the facts about a list's elements when one more is pushed: gradients of loops push the
 * sizes of arrays in every iteration, and need them as constants or bounds when they pop them. */
static void push_known(tf_op_t *op, tf_value_t *list, const tf_value_t *before,
                       hlo_value_t *element) {
  bool is_first = !before->constant && before->list_bound < 0;
  expr_t number = element ? NULL : op->inputs[1]->instr;
  bool is_scalar = number && !number->shape->rank;
  int64_t bound = is_scalar ? tf_upper_bound(op->scope->compiler, number) : -1;
  if (!before->list_pushed || (!element && bound < 0)) return;
  if (!is_first && !element != !before->constant) return;
  if (!is_first && element && !hlo_value_equal(before->constant, element)) return;
  list->list_pushed = true;
  list->list_bound = hr_max(bound, before->list_bound);
  list->constant = is_first ? element : before->constant;
}

/* Whether two lists were pushed the same constant, or numbers with the same bound. */
static bool same_facts(const tf_value_t *x, const tf_value_t *y) {
  if (!tf_list_is_known(x) || !tf_list_is_known(y)) return false;
  if (!x->constant || !y->constant)
    return x->constant == y->constant && x->list_bound == y->list_bound;
  return hlo_value_equal(x->constant, y->constant);
}

/* Notes that element `at` is this list or optional. What is known of the elements of all lists that
 * were pushed is known of each list that is popped. */
static hr_status_t push_special(tf_op_t *op, tf_value_t *list, expr_t at, const tf_value_t *item) {
  tf_value_t *element;
  if (item->element_counts)
    return tf_unsupported(op, "a list of lists of lists, as gradients of three nested loops push");
  HR_TRY(HR_NEW(op->arena, &element));
  *element = *item;
  element->instr = element->count = NULL;
  element->list_pushed = list->element ? same_facts(list->element, item) : tf_list_is_known(item);
  if (!element->list_pushed) element->constant = NULL;
  list->element = element;
  if (!item->count) return NULL;
  if (!list->element_counts)
    list->element_counts = tf_fill(op->b, (double)item->list_size, HR_S32, 1, &list->list_size);
  int64_t one = 1;
  expr_t count = tf_reshape(op->b, item->count, 1, &one);
  if (count && list->element_counts)
    list->element_counts = tf_dynamic_update(op->b, list->element_counts, count, &at);
  return NULL;
}

/* TensorListPushBack: writes at place `count`. An optional without value leaves no trace. Inputs:
 * list, element. */
hr_status_t tf_lower_list_push(tf_op_t *op) {
  tf_value_t list;
  hlo_value_t *element = NULL;
  HR_TRY(tf_list_take(op, 0, &list));
  if (op->inputs[1]->kind == TF_VALUE_NONE) return tf_list_put(op, 0, &list);
  if (op->inputs[1]->kind == TF_VALUE_ARRAY) HR_TRY(tf_const_if_known(op, 1, &element));
  expr_t count = tf_list_count(op, &list);
  list.list_accumulates = false;
  if (list.list_unbounded) tf_list_grow(op, &list, 1);
  if (op->inputs[1]->kind == TF_VALUE_LIST || op->inputs[1]->alternatives)
    HR_TRY(push_special(op, &list, count, op->inputs[1]));
  HR_TRY(tf_list_write(op, &list, count, tf_in(op, 1)));
  list.count = f_add(op->b, count, tf_scalar_int(op->b, 1, HR_S32));
  HR_TRY(tf_list_put(op, 0, &list));
  push_known(op, &op->outputs[0], op->inputs[0], element);
  return NULL;
}

/* Output 1, the array of an element, becomes a list or optional. */
static hr_status_t pop_special(tf_op_t *op, const tf_value_t *list) {
  int64_t one = 1;
  expr_t array = op->outputs[1].instr, count = NULL;
  hlo_value_t *constant = op->outputs[1].constant;
  if (list->element_counts) {
    count = tf_dynamic_slice(op->b, list->element_counts, &list->count, &one);
    expr_t most = tf_scalar_int(op->b, list->element->list_size, HR_S32);
    count = f_min(op->b, tf_reshape(op->b, count, 0, NULL), most);
  }
  op->outputs[1] = *list->element;
  op->outputs[1].instr = array;
  op->outputs[1].count = count;
  if (op->outputs[1].kind == TF_VALUE_ARRAY) op->outputs[1].constant = constant;
  return hlo_builder_finish(op->b);
}

/* TensorListPopBack: the element stays in the array, behind the new count. Outputs: list,
 * element. */
hr_status_t tf_lower_list_pop(tf_op_t *op) {
  tf_value_t list;
  HR_TRY(tf_list_take(op, 0, &list));
  if (!list.instr && list.list_dtype == HR_TUPLE) {
    HR_TRY(tf_list_put(op, 0, &list));
    return tf_need_outputs(op, 2);
  }
  HR_TRY(tf_list_check_shape(op, &list));
  list.count = f_sub(op->b, tf_list_count(op, &list), tf_scalar_int(op->b, 1, HR_S32));
  HR_TRY(tf_list_put(op, 0, &list));
  op->outputs[0].list_pushed = op->inputs[0]->list_pushed;
  op->outputs[0].constant = op->inputs[0]->constant;
  expr_t element = tf_list_read(op, &list, list.count);
  if (list.list_pushed && list.list_bound >= 0)
    element = f_min(op->b, element, tf_scalar_int(op->b, list.list_bound, list.list_dtype));
  HR_TRY(tf_out(op, 1, element));
  if (op->inputs[0]->list_pushed) op->outputs[1].constant = op->inputs[0]->constant;
  return list.element ? pop_special(op, &list) : NULL;
}

/* TensorListElementShape, attribute shape_type. */
hr_status_t tf_lower_list_element_shape(tf_op_t *op) {
  tf_value_t list;
  hr_dtype_t dtype;
  HR_TRY(tf_list_take_shaped(op, 0, &list));
  HR_TRY(tf_attr_dtype(op->arena, op->node, "shape_type", &dtype));
  return tf_out_ints(op, 0, dtype == HR_TUPLE ? HR_S32 : dtype, false, list.instr->shape->rank - 1,
                     list.instr->shape->dims + 1);
}
