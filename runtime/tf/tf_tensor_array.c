/* TensorArrays of TensorFlow 1, and the rest of TensorLists. The flow value of a TensorArray, which
 * every operation takes and gives, is the list itself; its handle has no meaning. A gradient array
 * starts as zeros, and writes add to it, so that sums of flows are sums of arrays. */
#include <string.h>

#include "base/arith.h"
#include "tf/tf_trips.h"

/* Output k becomes a list. The list of an argument is the value of its resource; its flow stays a
 * scalar without meaning. */
static hr_status_t put_list(tf_op_t *op, int k, const tf_value_t *list) {
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

/* The flow of a TensorArray is declared as a float scalar, but carries the list here. */
static hr_status_t take_list(tf_op_t *op, int k, tf_value_t *out_list) {
  if (k >= op->input_count || op->inputs[k]->kind != TF_VALUE_LIST)
    return tf_error(op, "input %d is no array of tensors", k);
  *out_list = *op->inputs[k];
  return NULL;
}

/* An array without element_shape has none until its first write. */
static hr_status_t check_filled(tf_op_t *op, const tf_value_t *list) {
  if (list->instr) return NULL;
  return tf_unsupported(op, "an array of tensors whose elements have no known shape");
}

static hr_status_t take_filled(tf_op_t *op, int k, tf_value_t *out_list) {
  HR_TRY(take_list(op, k, out_list));
  return check_filled(op, out_list);
}

/* Whether input k is the handle of a TensorArray argument. */
static bool is_argument(tf_op_t *op, int k) {
  return k < op->input_count && op->inputs[k]->kind == TF_VALUE_RESOURCE &&
         op->inputs[k]->resource->kind == XLA_RESOURCE_TENSOR_ARRAY;
}

/* The array of a resource; writing to a gradient adds. */
static void list_of_argument(tf_op_t *op, int k, tf_value_t *out_list) {
  tf_resource_t *array = op->inputs[k]->resource;
  *out_list = (tf_value_t){.kind = TF_VALUE_LIST,
                           .resource = array,
                           .instr = array->value,
                           .list_size = array->size,
                           .list_dtype = array->dtype,
                           .list_adds = op->inputs[k]->list_adds};
}

/* The array behind handle and flow. The first use of a gradient's handle gets the flow of the array
 * itself, which stands for zeros then. */
static hr_status_t take_flow(tf_op_t *op, int handle, int flow, tf_value_t *out_list) {
  if (is_argument(op, handle)) {
    list_of_argument(op, handle, out_list);
    return NULL;
  }
  HR_TRY(take_list(op, flow, out_list));
  bool is_gradient = op->inputs[handle]->list_adds;
  if (!is_gradient || out_list->list_adds) return NULL;
  out_list->list_adds = true;
  if (!out_list->instr) return NULL;
  const hlo_shape_t *shape = out_list->instr->shape;
  out_list->instr = tf_fill(op->b, 0, out_list->list_dtype, shape->rank, shape->dims);
  return hlo_builder_finish(op->b);
}

/* Zeros of a list's elements, if all sizes are known. */
static void fill_zeros(tf_op_t *op, tf_value_t *list, int rank, const int64_t *dims) {
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

static void element_starts(tf_op_t *op, expr_t index, int rank, expr_t *starts) {
  for (int d = 0; d < rank; d++) starts[d] = d ? tf_scalar_int(op->b, 0, HR_S32) : index;
}

/* The element loses the first dimension, by which the list counts. */
static expr_t read_element(tf_op_t *op, const tf_value_t *list, expr_t index) {
  expr_t starts[HLO_MAX_RANK];
  int64_t sizes[HLO_MAX_RANK];
  const hlo_shape_t *shape = list->instr->shape;
  if (index && index->shape->dtype != HR_S32) index = hlo_build_convert(op->b, index, HR_S32);
  element_starts(op, index, shape->rank, starts);
  for (int d = 0; d < shape->rank; d++) sizes[d] = d ? shape->dims[d] : 1;
  expr_t row = tf_dynamic_slice(op->b, list->instr, starts, sizes);
  return tf_reshape(op->b, row, shape->rank - 1, shape->dims + 1);
}

/* Replaces element `index`, or adds to it. */
static hr_status_t write_element(tf_op_t *op, tf_value_t *list, expr_t index, expr_t item) {
  expr_t starts[HLO_MAX_RANK];
  int64_t sizes[HLO_MAX_RANK] = {1};
  if (!item || !index) return hlo_builder_finish(op->b);
  if (item->shape->rank >= HLO_MAX_RANK) return tf_error(op, "too many dimensions");
  if (list->list_dtype == HR_TUPLE) list->list_dtype = item->shape->dtype;
  if (!list->instr) fill_zeros(op, list, item->shape->rank, item->shape->dims);
  if (!list->instr) return tf_unsupported(op, "an array of tensors whose length is not known");
  if (!list->instr->shape->dims[0])
    return tf_unsupported(op, "an array of size 0 is written: it does not grow");
  if (list->list_adds) item = e_add(op->b, item, read_element(op, list, index));
  if (!item) return hlo_builder_finish(op->b);
  for (int d = 0; d < item->shape->rank; d++) sizes[d + 1] = item->shape->dims[d];
  element_starts(op, index, list->instr->shape->rank, starts);
  expr_t row = tf_reshape(op->b, item, item->shape->rank + 1, sizes);
  list->instr = tf_dynamic_update(op->b, list->instr, row, starts);
  return hlo_builder_finish(op->b);
}

/* --- TensorArrays --- */

/* A handle is a value of kind STRINGS without content; only its list_adds is looked at. */
static hr_status_t put_handle_and_flow(tf_op_t *op, const tf_value_t *list) {
  HR_TRY(put_list(op, 1, list));
  op->outputs[0] = (tf_value_t){.kind = TF_VALUE_STRINGS};
  return NULL;
}

/* TensorArrayV3(size), attributes dtype and element_shape. Outputs: handle, flow. */
hr_status_t tf_lower_array(tf_op_t *op) {
  tf_value_t list = {.kind = TF_VALUE_LIST};
  int64_t dims[HLO_MAX_RANK];
  int rank;
  HR_TRY(tf_attr_dtype(op->arena, op->node, "dtype", &list.list_dtype));
  HR_TRY(tf_attr_shape(op->arena, op->node, "element_shape", &rank, dims));
  HR_TRY(tf_const_int(op, 0, &list.list_size));
  HR_TRY(tf_attr_bool(op->arena, op->node, "dynamic_size", false, &list.list_grows));
  if (list.list_size < 0) return tf_error(op, "an array of %ld tensors", (long)list.list_size);
  if (list.list_dtype == HR_TUPLE) return tf_unsupported(op, "an array of tensors without numbers");
  fill_zeros(op, &list, rank, dims);
  return put_handle_and_flow(op, &list);
}

/* TensorArrayWriteV3, which gives the new flow. Inputs: handle, index, value, flow. */
hr_status_t tf_lower_array_write(tf_op_t *op) {
  tf_value_t list;
  expr_t index = tf_in(op, 1);
  HR_TRY(take_flow(op, 0, 3, &list));
  if ((list.list_grows || list.list_writes) && !list.list_adds) HR_TRY(tf_list_reach(op, &list, 1));
  HR_TRY(write_element(op, &list, index, tf_in(op, 2)));
  return put_list(op, 0, &list);
}

/* TensorArrayReadV3. Inputs: handle, index, flow. */
hr_status_t tf_lower_array_read(tf_op_t *op) {
  tf_value_t list;
  HR_TRY(take_flow(op, 0, 2, &list));
  HR_TRY(check_filled(op, &list));
  return tf_out(op, 0, read_element(op, &list, tf_in(op, 1)));
}

/* TensorArrayGatherV3. Inputs: handle, indices, flow; variant 1, TensorListGather: list, indices,
 * element shape. */
hr_status_t tf_lower_array_gather(tf_op_t *op) {
  tf_value_t list;
  HR_TRY(op->row->variant ? take_list(op, 0, &list) : take_flow(op, 0, 2, &list));
  HR_TRY(check_filled(op, &list));
  return tf_out(op, 0, tf_gather_rows(op->b, list.instr, tf_in(op, 1), 0, 0));
}

/* Whether indices are 0, 1, 2, ... for all elements. */
static bool is_range(const hlo_value_t *indices, int64_t size) {
  if (!indices || indices->count != size) return false;
  for (int64_t i = 0; i < size; i++)
    if (hlo_value_int_at(indices, i) != i) return false;
  return true;
}

/* TensorArrayScatterV3. Inputs: handle, indices, values, flow. Values for all places in order are
 * the whole array; others are written one after another. */
hr_status_t tf_lower_array_scatter(tf_op_t *op) {
  tf_value_t list;
  hlo_value_t *indices;
  expr_t values = tf_in(op, 2), places = tf_in(op, 1);
  HR_TRY(take_flow(op, 0, 3, &list));
  HR_TRY(tf_const_if_known(op, 1, &indices));
  if (!values || !places) return hlo_builder_finish(op->b);
  if (!values->shape->rank) return tf_error(op, "values without a first dimension");
  if (is_range(indices, list.list_size) && values->shape->dims[0] == list.list_size) {
    bool adds = list.list_adds && list.instr;
    list.instr = adds ? e_add(op->b, list.instr, values) : values;
    return put_list(op, 0, &list);
  }
  if (places->shape->rank != 1)
    return tf_error(op, "indices of %d dimensions", places->shape->rank);
  for (int64_t i = 0; i < places->shape->dims[0] && i < values->shape->dims[0]; i++) {
    expr_t at = tf_reshape(op->b, tf_slice_dim(op->b, places, 0, i, i + 1), 0, NULL);
    expr_t item = tf_reshape(op->b, tf_slice_dim(op->b, values, 0, i, i + 1),
                             values->shape->rank - 1, values->shape->dims + 1);
    HR_TRY(write_element(op, &list, at, item));
  }
  return put_list(op, 0, &list);
}

/* TensorArraySizeV3(handle, flow). */
hr_status_t tf_lower_array_size(tf_op_t *op) {
  tf_value_t list;
  HR_TRY(take_flow(op, 0, 1, &list));
  if (list.count) return tf_out(op, 0, list.count);
  return tf_out_ints(op, 0, HR_S32, true, 1, &list.list_size);
}

/* TensorArrayConcatV3. Elements one after another along their first dimension. Outputs: value,
 * lengths. Inputs: handle, flow; variant 1, TensorListConcatV2: list. Elements have one shape, so
 * that all lengths are equal. */
hr_status_t tf_lower_array_concat(tf_op_t *op) {
  tf_value_t list;
  int64_t *lengths;
  HR_TRY(op->row->variant ? take_list(op, 0, &list) : take_flow(op, 0, 1, &list));
  HR_TRY(check_filled(op, &list));
  const hlo_shape_t *shape = list.instr->shape;
  if (shape->rank < 2) return tf_error(op, "elements without a first dimension");
  HR_TRY(HR_NEW_ARRAY(op->arena, shape->dims[0], &lengths));
  for (int64_t i = 0; i < shape->dims[0]; i++) lengths[i] = shape->dims[1];
  int64_t dims[HLO_MAX_RANK];
  dims[0] = shape->dims[0] * shape->dims[1];
  for (int d = 2; d < shape->rank; d++) dims[d - 1] = shape->dims[d];
  HR_TRY(tf_out(op, 0, tf_reshape(op->b, list.instr, shape->rank - 1, dims)));
  return tf_out_ints(op, 1, HR_S64, false, shape->dims[0], lengths);
}

/* TensorArraySplitV3. Equal parts of the first dimension. Inputs: handle, value, lengths, flow;
 * variant 1, TensorListSplit: value, element shape, lengths. Equal parts are a reshape of the
 * value. */
hr_status_t tf_lower_array_split(tf_op_t *op) {
  tf_value_t list = {.kind = TF_VALUE_LIST};
  hr_ints_t lengths;
  bool own = op->row->variant;
  int64_t dims[HLO_MAX_RANK];
  expr_t value = tf_in(op, own ? 0 : 1);
  HR_TRY(tf_const_ints(op, 2, &lengths));
  if (!value) return hlo_builder_finish(op->b);
  if (!own) HR_TRY(take_flow(op, 0, 3, &list));
  for (int64_t i = 1; i < lengths.count; i++)
    if (lengths.data[i] != lengths.data[0]) return tf_unsupported(op, "parts of unequal lengths");
  if (!lengths.count || !value->shape->rank || value->shape->rank >= HLO_MAX_RANK ||
      lengths.data[0] * lengths.count != value->shape->dims[0])
    return tf_error(op, "the lengths do not fit the value");
  dims[0] = lengths.count;
  dims[1] = lengths.data[0];
  for (int d = 1; d < value->shape->rank; d++) dims[d + 1] = value->shape->dims[d];
  expr_t parts = tf_reshape(op->b, value, value->shape->rank + 1, dims);
  bool adds = list.list_adds && list.instr;
  list.instr = adds ? e_add(op->b, list.instr, parts) : parts;
  list.list_size = lengths.count;
  list.list_dtype = value->shape->dtype;
  return put_list(op, 0, &list);
}

/* The gradient `source` of a TensorArray that is an argument, of zeros if it is new. The set is
 * sorted by name. */
static hr_status_t gradient_of_argument(tf_op_t *op, tf_resource_t *array, tf_resource_t **out) {
  hr_str_t source;
  tf_resource_t **at = &array->gradients;
  HR_TRY(tf_attr_str(op->arena, op->node, "source", "", &source));
  for (; *at; at = &(*at)->gradients) {
    size_t common = (*at)->name.size < source.size ? (*at)->name.size : source.size;
    int order = memcmp((*at)->name.data, source.data, common);
    if (hr_str_equal((*at)->name, source)) {
      *out = *at;
      return NULL;
    }
    if (order > 0 || (!order && (*at)->name.size > source.size)) break;
  }
  if (!array->value) return tf_error(op, "a gradient of an array without a value");
  HR_TRY(HR_NEW(op->arena, out));
  **out = *array;
  (*out)->name = source;
  (*out)->gradients = *at;
  (*out)->initial = NULL;
  const hlo_shape_t *shape = array->value->shape;
  (*out)->value = tf_fill(op->b, 0, shape->dtype, shape->rank, shape->dims);
  *at = *out;
  return hlo_builder_finish(op->b);
}

/* TensorArrayGradV3. Inputs: handle, flow; outputs: handle, flow of the gradient. The flow may
 * still be that of the array itself: take_flow makes zeros of it. The mark list_adds on the handle
 * tells later writes that they add. */
hr_status_t tf_lower_array_grad(tf_op_t *op) {
  tf_value_t list;
  if (is_argument(op, 0)) {
    tf_resource_t *gradient;
    HR_TRY(gradient_of_argument(op, op->inputs[0]->resource, &gradient));
    HR_TRY(tf_out(op, 1, tf_scalar(op->b, 0, HR_F32)));
    op->outputs[0] =
        (tf_value_t){.kind = TF_VALUE_RESOURCE, .resource = gradient, .list_adds = true};
    return NULL;
  }
  HR_TRY(take_list(op, 1, &list));
  HR_TRY(put_list(op, 1, &list));
  op->outputs[0] = (tf_value_t){.kind = TF_VALUE_STRINGS, .list_adds = true};
  return NULL;
}

/* --- sums --- */

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
    if (before && list->instr) sum.instr = e_add(op->b, before, list->instr);
  }
  return put_list(op, 0, &sum);
}

/* --- TensorLists that grow --- */

/* EmptyTensorList. Inputs: element shape, most elements. max_num_elements bounds the capacity, as
 * XLA's shapes are static; without it each push makes the list larger. `count` says how many
 * elements are in use. */
hr_status_t tf_lower_list_empty(tf_op_t *op) {
  tf_value_t list = {.kind = TF_VALUE_LIST};
  hr_ints_t dims;
  tf_sizes_t most;
  hlo_value_t *shape;
  HR_TRY(tf_attr_dtype(op->arena, op->node, "element_dtype", &list.list_dtype));
  HR_TRY(tf_sizes_in(op, 1, &most));
  list.list_size = most.dims[0];
  HR_TRY(tf_const(op, 0, &shape));
  HR_TRY(tf_const_ints(op, 0, &dims));
  list.list_grows = list.list_size < 0;
  if (list.list_grows) list.list_size = 0;
  list.count = tf_scalar_int(op->b, 0, HR_S32);
  fill_zeros(op, &list, shape->rank ? (int)dims.count : -1, dims.data);
  HR_TRY(put_list(op, 0, &list));
  op->outputs[0].list_pushed = true;
  op->outputs[0].list_bound = -1;
  return NULL;
}

/* A list without its own count is full. */
static expr_t count_of(tf_op_t *op, const tf_value_t *list) {
  return list->count ? list->count : tf_scalar_int(op->b, list->list_size, HR_S32);
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

void tf_list_grow(tf_op_t *op, tf_value_t *list, int64_t more) {
  list->list_size += more;
  list->instr = tf_grow(op->b, list->instr, more);
  list->element_counts = tf_grow(op->b, list->element_counts, more);
}

/* Whether the graph or one of its functions resizes lists. */
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
static bool is_trial(const tf_op_t *op) {
  const tf_states_t *states = op->scope->compiler->states;
  while (states && !states->is_trial) states = states->up;
  return states != NULL;
}

/* The source behind conversions, which TensorFlow puts between a counter and an index. */
static expr_t source_of(expr_t x) {
  while (x && (x->op == HLO_CONVERT || x->op == HLO_COPY)) x = x->operands[0];
  return x;
}

/* If the index is not known, one more element is noted, and tf_trial.c finds the number of
 * elements. */
hr_status_t tf_list_reach(tf_op_t *op, tf_value_t *list, int k) {
  hlo_builder_t *b = op->b;
  hlo_value_t *known;
  HR_TRY(tf_const_if_known(op, k, &known));
  int64_t size = known ? hlo_value_int_at(known, 0) + 1 : list->list_size + list->list_grows;
  if (known && size <= list->list_size && !list->count) return NULL;
  if (known && size > list->list_size && !list->list_grows)
    return tf_error(op, "element %ld of a list of %ld is written", (long)size - 1,
                    (long)list->list_size);
  expr_t index = known ? tf_scalar_int(b, size - 1, HR_S32) : tf_in(op, k);
  if (index && index->shape->dtype != HR_S32) index = hlo_build_convert(b, index, HR_S32);
  bool appends = list->count && source_of(index) == source_of(list->count);
  bool jumps = list->list_grows && !known && !appends;
  if (jumps && !is_trial(op))
    return tf_unsupported(op, "a list grows by a write at an index that is not known");
  list->list_jumps |= jumps;
  list->list_writes = true;
  expr_t end = e_add(b, index, tf_scalar_int(b, 1, HR_S32));
  bool is_full = known && size > list->list_size && !list->count;
  list->count = is_full ? NULL : e_max(b, count_of(op, list), end);
  if (list->list_grows && size > list->list_size) tf_list_grow(op, list, size - list->list_size);
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
  HR_TRY(take_list(op, 0, &list));
  if (op->inputs[1]->kind == TF_VALUE_NONE) return put_list(op, 0, &list);
  if (op->inputs[1]->kind == TF_VALUE_ARRAY) HR_TRY(tf_const_if_known(op, 1, &element));
  expr_t count = count_of(op, &list);
  list.list_adds = false;
  if (list.list_grows) tf_list_grow(op, &list, 1);
  if (op->inputs[1]->kind == TF_VALUE_LIST || op->inputs[1]->alternatives)
    HR_TRY(push_special(op, &list, count, op->inputs[1]));
  HR_TRY(write_element(op, &list, count, tf_in(op, 1)));
  list.count = e_add(op->b, count, tf_scalar_int(op->b, 1, HR_S32));
  HR_TRY(put_list(op, 0, &list));
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
    count = e_min(op->b, tf_reshape(op->b, count, 0, NULL), most);
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
  HR_TRY(take_list(op, 0, &list));
  if (!list.instr && list.list_dtype == HR_TUPLE) {
    HR_TRY(put_list(op, 0, &list));
    return tf_need_outputs(op, 2);
  }
  HR_TRY(check_filled(op, &list));
  list.count = e_sub(op->b, count_of(op, &list), tf_scalar_int(op->b, 1, HR_S32));
  HR_TRY(put_list(op, 0, &list));
  op->outputs[0].list_pushed = op->inputs[0]->list_pushed;
  op->outputs[0].constant = op->inputs[0]->constant;
  expr_t element = read_element(op, &list, list.count);
  if (list.list_pushed && list.list_bound >= 0)
    element = e_min(op->b, element, tf_scalar_int(op->b, list.list_bound, list.list_dtype));
  HR_TRY(tf_out(op, 1, element));
  if (op->inputs[0]->list_pushed) op->outputs[1].constant = op->inputs[0]->constant;
  return list.element ? pop_special(op, &list) : NULL;
}

/* TensorListElementShape, attribute shape_type. */
hr_status_t tf_lower_list_element_shape(tf_op_t *op) {
  tf_value_t list;
  hr_dtype_t dtype;
  HR_TRY(take_filled(op, 0, &list));
  HR_TRY(tf_attr_dtype(op->arena, op->node, "shape_type", &dtype));
  return tf_out_ints(op, 0, dtype == HR_TUPLE ? HR_S32 : dtype, false, list.instr->shape->rank - 1,
                     list.instr->shape->dims + 1);
}
