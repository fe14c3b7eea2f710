/* TensorArrays of TensorFlow 1. The flow value of a TensorArray, which every operation takes and
 * gives, is the list itself; its handle has no meaning. A gradient array starts as zeros, and
 * writes add to it, so that sums of flows are sums of arrays. */
#include <string.h>

#include "tf/lower/tf_list.h"

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
                           .list_accumulates = op->inputs[k]->list_accumulates};
}

/* The array of a handle and its flow. The first use of a gradient's handle gets the flow of the
 * array itself, which stands for zeros then. */
static hr_status_t take_flow(tf_op_t *op, int handle, int flow, tf_value_t *out_list) {
  if (is_argument(op, handle)) {
    list_of_argument(op, handle, out_list);
    return NULL;
  }
  HR_TRY(tf_list_take(op, flow, out_list));
  bool is_gradient = op->inputs[handle]->list_accumulates;
  if (!is_gradient || out_list->list_accumulates) return NULL;
  out_list->list_accumulates = true;
  if (!out_list->instr) return NULL;
  const hlo_shape_t *shape = out_list->instr->shape;
  out_list->instr = tf_fill(op->b, 0, out_list->list_dtype, shape->rank, shape->dims);
  return hlo_builder_finish(op->b);
}

/* --- TensorArrays --- */

/* A handle is a value of kind STRINGS without content; only its list_accumulates is looked at. */
static hr_status_t put_handle_and_flow(tf_op_t *op, const tf_value_t *list) {
  HR_TRY(tf_list_put(op, 1, list));
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
  HR_TRY(tf_attr_bool(op->arena, op->node, "dynamic_size", false, &list.list_unbounded));
  if (list.list_size < 0) return tf_error(op, "an array of %ld tensors", (long)list.list_size);
  if (list.list_dtype == HR_TUPLE) return tf_unsupported(op, "an array of tensors without numbers");
  tf_list_zeros(op, &list, rank, dims);
  return put_handle_and_flow(op, &list);
}

/* TensorArrayWriteV3, which gives the new flow. Inputs: handle, index, value, flow. */
hr_status_t tf_lower_array_write(tf_op_t *op) {
  tf_value_t list;
  expr_t index = tf_in(op, 1);
  HR_TRY(take_flow(op, 0, 3, &list));
  if ((list.list_unbounded || list.list_grown_by_write) && !list.list_accumulates)
    HR_TRY(tf_list_extend(op, &list, 1));
  HR_TRY(tf_list_write(op, &list, index, tf_in(op, 2)));
  return tf_list_put(op, 0, &list);
}

/* TensorArrayReadV3. Inputs: handle, index, flow. */
hr_status_t tf_lower_array_read(tf_op_t *op) {
  tf_value_t list;
  HR_TRY(take_flow(op, 0, 2, &list));
  HR_TRY(tf_list_check_shape(op, &list));
  return tf_out(op, 0, tf_list_read(op, &list, tf_in(op, 1)));
}

/* TensorArrayGatherV3. Inputs: handle, indices, flow; variant 1, TensorListGather: list, indices,
 * element shape. */
hr_status_t tf_lower_array_gather(tf_op_t *op) {
  tf_value_t list;
  HR_TRY(op->row->variant ? tf_list_take(op, 0, &list) : take_flow(op, 0, 2, &list));
  HR_TRY(tf_list_check_shape(op, &list));
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
    bool adds = list.list_accumulates && list.instr;
    list.instr = adds ? f_add(op->b, list.instr, values) : values;
    return tf_list_put(op, 0, &list);
  }
  if (places->shape->rank != 1)
    return tf_error(op, "indices of %d dimensions", places->shape->rank);
  for (int64_t i = 0; i < places->shape->dims[0] && i < values->shape->dims[0]; i++) {
    expr_t at = tf_reshape(op->b, tf_slice_dim(op->b, places, 0, i, i + 1), 0, NULL);
    expr_t item = tf_reshape(op->b, tf_slice_dim(op->b, values, 0, i, i + 1),
                             values->shape->rank - 1, values->shape->dims + 1);
    HR_TRY(tf_list_write(op, &list, at, item));
  }
  return tf_list_put(op, 0, &list);
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
  HR_TRY(op->row->variant ? tf_list_take(op, 0, &list) : take_flow(op, 0, 1, &list));
  HR_TRY(tf_list_check_shape(op, &list));
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
  bool adds = list.list_accumulates && list.instr;
  list.instr = adds ? f_add(op->b, list.instr, parts) : parts;
  list.list_size = lengths.count;
  list.list_dtype = value->shape->dtype;
  return tf_list_put(op, 0, &list);
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
 * still be that of the array itself: take_flow makes zeros of it. The mark list_accumulates on the
 * handle tells later writes that they add. */
hr_status_t tf_lower_array_grad(tf_op_t *op) {
  tf_value_t list;
  if (is_argument(op, 0)) {
    tf_resource_t *gradient;
    HR_TRY(gradient_of_argument(op, op->inputs[0]->resource, &gradient));
    HR_TRY(tf_out(op, 1, tf_scalar(op->b, 0, HR_F32)));
    op->outputs[0] =
        (tf_value_t){.kind = TF_VALUE_RESOURCE, .resource = gradient, .list_accumulates = true};
    return NULL;
  }
  HR_TRY(tf_list_take(op, 1, &list));
  HR_TRY(tf_list_put(op, 1, &list));
  op->outputs[0] = (tf_value_t){.kind = TF_VALUE_STRINGS, .list_accumulates = true};
  return NULL;
}

/* --- sums --- */

/* --- TensorLists that grow --- */
