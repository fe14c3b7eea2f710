/* Resource variables, and reference variables of TensorFlow 1. A variable is looked up by its name
 * among the arguments; writing one replaces its value in the current computation, and XlaCompiler
 * returns the last one. */
#include <string.h>

#include "tf/file/tensor_bundle.h"
#include "tf/compile/tf_lower.h"

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
    value = f_select(op->b, pred, value, resource->value);
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
