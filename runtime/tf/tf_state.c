/* Resource variables, reference variables of TensorFlow 1, and TensorLists.
 * A variable is looked up by its name among the arguments; writing one replaces its value in the
 * current computation, and XlaCompiler returns the last one. A TensorList is an array whose first
 * dimension counts the elements; its elements must have one static shape. */
#include <string.h>

#include "tf/tensor_bundle.h"
#include "tf/tf_lower.h"

/* --- variables --- */

/* Attribute shared_name; a variable without one is shared by nobody and has its node's name. */
static hr_status_t variable_name(hr_arena_t *arena, const tf_node_t *node, hr_str_t *out_name) {
  HR_TRY(tf_attr_str(arena, node, "shared_name", "", out_name));
  if (!out_name->size) *out_name = node->name;
  return NULL;
}

/* A variable that is no argument is created without a value; it gets one by the first assignment,
 * or from the checkpoint. */
hr_status_t tf_variable(tf_compiler_t *compiler, const tf_node_t *node,
                        tf_resource_t **out_resource) {
  tf_resource_t *resource = NULL;
  hr_str_t name;
  HR_TRY(variable_name(compiler->arena, node, &name));
  for (size_t i = 0; i < compiler->resources.count && !resource; i++)
    if (hr_str_equal(compiler->resources.data[i]->name, name))
      resource = compiler->resources.data[i];
  if (!resource) {
    HR_TRY(HR_NEW(compiler->arena, &resource));
    *resource = (tf_resource_t){.name = name, .argument = -1, .node = node};
    HR_VEC_PUSH(&compiler->resources, resource);
  }
  *out_resource = resource;
  return NULL;
}

/* VarHandleOp and VariableV2. */
hr_status_t tf_lower_var_handle(tf_op_t *op) {
  tf_resource_t *resource;
  HR_TRY(tf_variable(op->scope->compiler, op->node, &resource));
  HR_TRY(tf_need_outputs(op, 1));
  op->outputs[0] = (tf_value_t){.kind = TF_VALUE_RESOURCE, .resource = resource};
  return NULL;
}

hr_status_t tf_resource_of(tf_op_t *op, int k, tf_resource_t **out_resource) {
  if (k >= op->input_count || op->inputs[k]->kind != TF_VALUE_RESOURCE)
    return tf_error(op, "input %d is no variable", k);
  *out_resource = op->inputs[k]->resource;
  return NULL;
}

/* ReadVariableOp: tf_in gives the present value, or fails if there is none. */
hr_status_t tf_lower_read_variable(tf_op_t *op) { return tf_out(op, 0, tf_in(op, 0)); }

/* VarIsInitializedOp: known at compile time. */
hr_status_t tf_lower_is_initialized(tf_op_t *op) {
  tf_resource_t *resource;
  HR_TRY(tf_resource_of(op, 0, &resource));
  int64_t known = resource->value != NULL;
  return tf_out_ints(op, 0, HR_PRED, true, 1, &known);
}

/* Reference variables return themselves.
 * The shape of a variable never changes, as its parameter and its result must have one type. */
hr_status_t tf_set_variable(tf_op_t *op, tf_resource_t *resource, expr_t value) {
  if (value && resource->value && !hlo_shape_equal(value->shape, resource->value->shape)) {
    char found[HLO_SHAPE_TEXT], want[HLO_SHAPE_TEXT];
    return tf_error(op, "variable %.*s gets %s, want %s", HR_STR_ARGS(resource->name),
                    hlo_shape_text(value->shape, found),
                    hlo_shape_text(resource->value->shape, want));
  }
  /* In a branch that is not taken it keeps its value. */
  if (value && resource->value && op->live) {
    expr_t pred = tf_live_pred(op->b, op->live);
    pred = tf_broadcast_like(op->b, pred, value);
    value = e_select(op->b, pred, value, resource->value);
  }
  if (value) resource->value = value;
  HR_TRY(tf_need_outputs(op, 1));
  op->outputs[0] = (tf_value_t){.kind = TF_VALUE_RESOURCE, .resource = resource};
  return hlo_builder_finish(op->b);
}

/* Assign, AssignVariableOp and their Add and Sub forms. Variant: HLO_COPY assigns, HLO_ADD and
 * HLO_SUBTRACT update. */
hr_status_t tf_lower_assign(tf_op_t *op) {
  tf_resource_t *resource;
  HR_TRY(tf_resource_of(op, 0, &resource));
  expr_t value = tf_in(op, 1);
  if (op->row->variant != HLO_COPY)
    value = hlo_build_binary(op->b, (hlo_opcode_t)op->row->variant, tf_in(op, 0), value);
  return tf_set_variable(op, resource, value);
}

/* VariableShape, attribute out_type. */
hr_status_t tf_lower_variable_shape(tf_op_t *op) {
  const hlo_shape_t *shape = tf_in_shape(op, 0);
  hr_dtype_t dtype;
  HR_TRY(hlo_builder_finish(op->b));
  HR_TRY(tf_attr_dtype(op->arena, op->node, "out_type", &dtype));
  return tf_out_ints(op, 0, dtype == HR_TUPLE ? HR_S32 : dtype, false, shape->rank, shape->dims);
}

/* ResourceGather(resource, indices): rows along the first dimension. */
hr_status_t tf_lower_resource_gather(tf_op_t *op) {
  return tf_out(op, 0, tf_gather_rows(op->b, tf_in(op, 0), tf_in(op, 1), 0, 0));
}

/* Name i of a constant of strings; a constant that is shorter repeats its last. */
static hr_str_t string_at(const tf_value_t *value, int i) {
  int64_t count = value->strings.count;
  if (value->kind != TF_VALUE_STRINGS || !count) return (hr_str_t){0};
  return value->strings.items[i < count ? i : count - 1];
}

/* The name that a value has in the checkpoint, under the value's address. */
static hr_status_t keep_name(tf_compiler_t *compiler, hlo_value_t *value, hr_str_t name) {
  hlo_value_t **key;
  hr_str_t *copy;
  HR_TRY(HR_NEW(compiler->arena, &key));
  HR_TRY(HR_NEW(compiler->arena, &copy));
  *key = value;
  *copy = name;
  return hr_map_put(&compiler->restored, (hr_str_t){(const char *)key, sizeof *key}, copy, NULL);
}

hr_status_t tf_restore_variable(tf_compiler_t *compiler, hlo_builder_t *builder,
                                tf_resource_t *resource, hr_str_t name) {
  tf_value_t value = {.kind = TF_VALUE_ARRAY};
  HR_TRY(tensor_bundle_read(compiler->bundle, name, &value.constant));
  if (!value.constant) return hr_error(HR_INVALID, "tensor %.*s is no array", HR_STR_ARGS(name));
  HR_TRY(hlo_module_adopt_value(compiler->module, value.constant));
  HR_TRY(keep_name(compiler, value.constant, name));
  resource->value = tf_value_instr(compiler, builder, &value);
  return hlo_builder_finish(builder);
}

/* RestoreV2. Inputs: prefix, tensor names, slices. Tensors of strings have no value. The prefix is
 * ignored: the bundle was opened by the reader of the SavedModel. A slice specification that is not
 * empty would ask for a part of a tensor. */
hr_status_t tf_lower_restore(tf_op_t *op) {
  tensor_bundle_t *bundle = op->scope->compiler->bundle;
  hr_ints_t types;
  if (!bundle || op->input_count < 3) return tf_error(op, "there is no checkpoint to restore from");
  HR_TRY(tf_attr_types(op->arena, op->node, "dtypes", &types));
  HR_TRY(tf_need_outputs(op, (int)types.count));
  for (int i = 0; i < (int)types.count; i++) {
    hlo_value_t *value;
    if (string_at(op->inputs[2], i).size) return tf_unsupported(op, "a slice of a tensor");
    HR_TRY(tensor_bundle_read(bundle, string_at(op->inputs[1], i), &value));
    if (value) {
      HR_TRY(tf_out_value(op, i, value));
      HR_TRY(keep_name(op->scope->compiler, value, string_at(op->inputs[1], i)));
    } else
      op->outputs[i] = (tf_value_t){.kind = TF_VALUE_STRINGS};
  }
  return NULL;
}

/* ResourceScatterUpdate, Add, Mul and others. Rows of a variable, by indices of any shape. Variant:
 * how updates combine; COPY overwrites. A scalar update goes to every row. */
hr_status_t tf_lower_resource_scatter(tf_op_t *op) {
  hlo_builder_t *b = op->b;
  tf_resource_t *resource;
  int64_t wide[HLO_MAX_RANK], dims[HLO_MAX_RANK];
  expr_t x = tf_in(op, 0), indices = tf_in(op, 1), updates = tf_in(op, 2), changed;
  HR_TRY(tf_resource_of(op, 0, &resource));
  if (!x || !indices || !updates) return hlo_builder_finish(b);
  int rank = indices->shape->rank, all = rank + x->shape->rank - 1;
  if (!x->shape->rank || all > HLO_MAX_RANK || rank >= HLO_MAX_RANK)
    return tf_error(op, "indices of %d dimensions", rank);
  for (int d = 0; d < rank; d++) wide[d] = indices->shape->dims[d];
  wide[rank] = 1;
  for (int d = 0; d < all; d++)
    dims[d] = d < rank ? indices->shape->dims[d] : x->shape->dims[d - rank + 1];
  if (!updates->shape->rank) updates = tf_broadcast(b, updates, all, dims);
  HR_TRY(tf_scatter_nd(op, x, tf_reshape(b, indices, rank + 1, wide), updates,
                       (hlo_opcode_t)op->row->variant, &changed));
  HR_TRY(tf_set_variable(op, resource, changed));
  return NULL;
}

/* Elements of a variable, by indices whose last dimension addresses it. */
hr_status_t tf_lower_resource_scatter_nd(tf_op_t *op) {
  tf_resource_t *resource;
  expr_t changed;
  HR_TRY(tf_resource_of(op, 0, &resource));
  HR_TRY(tf_scatter_nd(op, tf_in(op, 0), tf_in(op, 1), tf_in(op, 2), (hlo_opcode_t)op->row->variant,
                       &changed));
  return tf_set_variable(op, resource, changed);
}

/* --- lists --- */

/* Output k becomes a list with the array and the facts of `list`. */
static hr_status_t set_list(tf_op_t *op, int k, const tf_value_t *list) {
  HR_TRY(tf_need_outputs(op, k + 1));
  op->outputs[k] = *list;
  op->outputs[k].kind = TF_VALUE_LIST;
  op->outputs[k].list_pushed = false;
  op->outputs[k].constant = NULL;
  return hlo_builder_finish(op->b);
}

/* A copy: a list is a value, and changing it gives a new one. */
static hr_status_t list_of(tf_op_t *op, int k, tf_value_t *out_list) {
  if (k >= op->input_count || op->inputs[k]->kind != TF_VALUE_LIST)
    return tf_error(op, "input %d is no list of tensors", k);
  *out_list = *op->inputs[k];
  return NULL;
}

/* Zeros of the list's elements; unknown sizes are learnt from the first element that is set. */
static void fill_list(tf_op_t *op, tf_value_t *list, int rank, const int64_t *dims) {
  int64_t sizes[HLO_MAX_RANK];
  if (list->list_size < 0 || rank < 0 || rank + 1 > HLO_MAX_RANK) return;
  sizes[0] = list->list_size;
  for (int d = 0; d < rank; d++) {
    if (dims[d] < 0) return;
    sizes[d + 1] = dims[d];
  }
  list->instr = tf_fill(op->b, 0, list->list_dtype, rank + 1, sizes);
}

/* inputs: element_shape, num_elements.
 * A scalar element_shape (-1) means that nothing is known of it. */
hr_status_t tf_lower_list_reserve(tf_op_t *op) {
  tf_value_t list = {.kind = TF_VALUE_LIST};
  hr_ints_t dims;
  tf_sizes_t length;
  hlo_value_t *shape;
  HR_TRY(tf_attr_dtype(op->arena, op->node, "element_dtype", &list.list_dtype));
  HR_TRY(tf_sizes_in(op, 1, &length));
  list.list_size = length.dims[0];
  list.count = length.exprs[0];
  HR_TRY(tf_const(op, 0, &shape));
  HR_TRY(tf_const_ints(op, 0, &dims));
  list.list_grows = tf_lists_resize(op);
  fill_list(op, &list, shape->rank ? (int)dims.count : -1, dims.data);
  return set_list(op, 0, &list);
}

/* TensorListFromTensor: rows of the array are the elements. */
hr_status_t tf_lower_list_from_tensor(tf_op_t *op) {
  expr_t x = tf_in(op, 0);
  if (!x || !x->shape->rank) return tf_error(op, "a list from a scalar");
  tf_value_t list = {.list_size = x->shape->dims[0], .list_dtype = x->shape->dtype};
  list.count = tf_sizes_of(op->b, x).exprs[0];
  list.instr = tf_fill_dynamic(op, x, 0, tf_scalar(op->b, 0, x->shape->dtype));
  return set_list(op, 0, &list);
}

/* ZerosLike. A list of zeros is the start of a gradient: writes add to it. */
hr_status_t tf_lower_zeros_like(tf_op_t *op) {
  expr_t x = tf_in(op, 0);
  expr_t zeros = x ? hlo_build_number_like(op->b, 0, x) : NULL;
  if (op->inputs[0]->kind != TF_VALUE_LIST) return tf_out(op, 0, zeros);
  tf_value_t list = *op->inputs[0];
  list.instr = zeros;
  list.list_adds = true;
  return set_list(op, 0, &list);
}

/* TensorListStack: the array itself, or the part that is in use. */
hr_status_t tf_lower_list_stack(tf_op_t *op) {
  tf_value_t list;
  HR_TRY(list_of(op, 0, &list));
  if (!list.instr) return tf_unsupported(op, "a list whose elements have no known shape");
  expr_t x = list.instr;
  if (list.count) HR_TRY(tf_cut_to(op, x, 0, list.count, &x));
  return tf_out(op, 0, x);
}

/* TensorListLength: the capacity, which is static, if all elements are in use; else it is a bound,
 * by which a loop sees that the length may be a size. */
hr_status_t tf_lower_list_length(tf_op_t *op) {
  tf_value_t list;
  HR_TRY(list_of(op, 0, &list));
  if (!list.count) return tf_out_ints(op, 0, HR_S32, true, 1, &list.list_size);
  if (list.list_grows) return tf_out(op, 0, list.count);
  return tf_out(op, 0, e_min(op->b, list.count, tf_scalar_int(op->b, list.list_size, HR_S32)));
}

/* TensorListResize(list, size). The list has room for a size that is not known, such as that of a
 * gradient, which gets the length of the list that it belongs to. */
hr_status_t tf_lower_list_resize(tf_op_t *op) {
  tf_value_t list;
  hlo_value_t *known;
  HR_TRY(list_of(op, 0, &list));
  HR_TRY(tf_const_if_known(op, 1, &known));
  int64_t size = known ? hlo_value_int_at(known, 0) : list.list_size;
  if (size < 0) return tf_error(op, "a list of %ld elements", (long)size);
  list.count = known ? NULL : tf_in(op, 1);
  if (size > list.list_size) tf_list_grow(op, &list, size - list.list_size);
  if (size < list.list_size && list.instr) list.instr = tf_slice_dim(op->b, list.instr, 0, 0, size);
  list.list_size = size;
  return set_list(op, 0, &list);
}

/* Start indices of element `index`. */
static void element_starts(tf_op_t *op, expr_t index, int rank, expr_t *starts) {
  for (int d = 0; d < rank; d++) starts[d] = d ? tf_scalar_int(op->b, 0, HR_S32) : index;
}

/* TensorListGetItem(list, index, element_shape). An index outside is clamped. */
hr_status_t tf_lower_list_get(tf_op_t *op) {
  tf_value_t list;
  expr_t starts[HLO_MAX_RANK];
  int64_t sizes[HLO_MAX_RANK];
  HR_TRY(list_of(op, 0, &list));
  if (!list.instr) return tf_unsupported(op, "an element of a list without known shapes");
  const hlo_shape_t *shape = list.instr->shape;
  if (!shape->rank) return tf_error(op, "a list without elements");
  element_starts(op, tf_in(op, 1), shape->rank, starts);
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
  HR_TRY(list_of(op, 0, &list));
  expr_t item = tf_in(op, 2);
  if (!item) return hlo_builder_finish(op->b);
  if (item->shape->rank >= HLO_MAX_RANK) return tf_error(op, "too many dimensions");
  HR_TRY(tf_attr_bool(op->arena, op->node, "resize_if_index_out_of_bounds", false, &resizes));
  if (resizes) HR_TRY(tf_list_reach(op, &list, 1));
  if (!list.instr) fill_list(op, &list, item->shape->rank, item->shape->dims);
  if (!list.instr) return tf_unsupported(op, "a list whose length is not known");
  for (int d = 0; d < item->shape->rank; d++) sizes[d + 1] = item->shape->dims[d];
  element_starts(op, tf_in(op, 1), list.instr->shape->rank, starts);
  expr_t row = tf_reshape(op->b, item, item->shape->rank + 1, sizes);
  list.instr = tf_dynamic_update(op->b, list.instr, row, starts);
  return set_list(op, 0, &list);
}
