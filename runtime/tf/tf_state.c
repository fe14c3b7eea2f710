/* Resource variables, reference variables of TensorFlow 1, and TensorLists.
 * A variable is looked up by its name among the arguments; writing one replaces its value in the
 * current computation, and XlaCompiler returns the last one. A TensorList is an array whose first
 * dimension counts the elements; its elements must have one static shape. */
#include <string.h>

#include "tf/tensor_bundle.h"
#include "tf/tf_lower.h"

/* --- variables --- */

static hr_status_t variable_name(tf_op_t *op, hr_str_t *out_name) {
  HR_TRY(tf_attr_str(op->arena, op->node, "shared_name", "", out_name));
  if (!out_name->size) *out_name = op->node->name;
  return NULL;
}

hr_status_t tf_lower_var_handle(tf_op_t *op) {
  tf_compiler_t *compiler = op->scope->compiler;
  tf_resource_t *resource = NULL;
  hr_str_t name;
  HR_TRY(variable_name(op, &name));
  for (size_t i = 0; i < compiler->resources.count && !resource; i++)
    if (hr_str_equal(compiler->resources.data[i]->name, name))
      resource = compiler->resources.data[i];
  if (!resource) {
    HR_TRY(HR_NEW(op->arena, &resource));
    *resource = (tf_resource_t){.name = name, .argument = -1, .node = op->node};
    HR_VEC_PUSH(&compiler->resources, resource);
  }
  HR_TRY(tf_need_outputs(op, 1));
  op->outputs[0] = (tf_value_t){.kind = TF_VALUE_RESOURCE, .resource = resource};
  return NULL;
}

static hr_status_t resource_of(tf_op_t *op, int k, tf_resource_t **out_resource) {
  if (k >= op->input_count || op->inputs[k]->kind != TF_VALUE_RESOURCE)
    return tf_error(op, "input %d is no variable", k);
  *out_resource = op->inputs[k]->resource;
  return NULL;
}

hr_status_t tf_lower_read_variable(tf_op_t *op) { return tf_out(op, 0, tf_in(op, 0)); }

hr_status_t tf_lower_is_initialized(tf_op_t *op) {
  tf_resource_t *resource;
  HR_TRY(resource_of(op, 0, &resource));
  int64_t known = resource->value != NULL;
  return tf_out_ints(op, 0, HR_PRED, true, 1, &known);
}

/* Reference variables return themselves. */
static hr_status_t set_variable(tf_op_t *op, tf_resource_t *resource, expr_t value) {
  if (value && resource->value && !hlo_shape_equal(value->shape, resource->value->shape)) {
    char found[HLO_SHAPE_TEXT], want[HLO_SHAPE_TEXT];
    return tf_error(op, "variable %.*s gets %s, want %s", HR_STR_ARGS(resource->name),
                    hlo_shape_text(value->shape, found),
                    hlo_shape_text(resource->value->shape, want));
  }
  if (value) resource->value = value;
  HR_TRY(tf_need_outputs(op, 1));
  op->outputs[0] = (tf_value_t){.kind = TF_VALUE_RESOURCE, .resource = resource};
  return hlo_builder_finish(op->b);
}

/* variant: HLO_COPY assigns, HLO_ADD and HLO_SUBTRACT update. */
hr_status_t tf_lower_assign(tf_op_t *op) {
  tf_resource_t *resource;
  HR_TRY(resource_of(op, 0, &resource));
  expr_t value = tf_in(op, 1);
  if (op->row->variant != HLO_COPY)
    value = hlo_build_binary(op->b, (hlo_opcode_t)op->row->variant, tf_in(op, 0), value);
  return set_variable(op, resource, value);
}

hr_status_t tf_lower_variable_shape(tf_op_t *op) {
  const hlo_shape_t *shape = tf_in_shape(op, 0);
  hr_dtype_t dtype;
  HR_TRY(hlo_builder_finish(op->b));
  HR_TRY(tf_attr_dtype(op->arena, op->node, "out_type", &dtype));
  return tf_out_ints(op, 0, dtype == HR_TUPLE ? HR_S32 : dtype, false, shape->rank, shape->dims);
}

hr_status_t tf_lower_resource_gather(tf_op_t *op) {
  return tf_out(op, 0, tf_gather_rows(op->b, tf_in(op, 0), tf_in(op, 1), 0, 0));
}

/* Name i of a constant of strings; a constant that is shorter repeats its last. */
static hr_str_t string_at(const tf_value_t *value, int i) {
  int64_t count = value->strings.count;
  if (value->kind != TF_VALUE_STRINGS || !count) return (hr_str_t){0};
  return value->strings.items[i < count ? i : count - 1];
}

/* inputs: prefix, tensor names, slices. Tensors of strings have no value. */
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
    if (value)
      HR_TRY(tf_out_value(op, i, value));
    else
      op->outputs[i] = (tf_value_t){.kind = TF_VALUE_STRINGS};
  }
  return NULL;
}

/* --- optimisers --- */

/* Variables v[0..count) in front of the scalars and the gradient. */
static hr_status_t take_variables(tf_op_t *op, int count, tf_resource_t **v) {
  for (int i = 0; i < count; i++) {
    HR_TRY(resource_of(op, i, &v[i]));
    if (!v[i]->value) return tf_error(op, "variable %d has no value", i);
  }
  return NULL;
}

/* Input k as a scalar spread over the shape of the first variable. */
static expr_t spread(tf_op_t *op, int k) {
  const hlo_shape_t *shape = tf_in_shape(op, 0);
  return tf_broadcast(op->b, tf_in(op, k), shape->rank, shape->dims);
}

/* v -= alpha * delta */
hr_status_t tf_lower_apply_gradient_descent(tf_op_t *op) {
  tf_resource_t *v;
  HR_TRY(take_variables(op, 1, &v));
  expr_t step = e_mul(op->b, tf_in(op, 2), spread(op, 1));
  return set_variable(op, v, e_sub(op->b, v->value, step));
}

/* variant 1: ResourceApplyKerasMomentum, whose accumulator holds -lr * gradient. */
hr_status_t tf_lower_apply_momentum(tf_op_t *op) {
  tf_resource_t *v[2];
  hlo_builder_t *b = op->b;
  bool nesterov;
  HR_TRY(tf_attr_bool(op->arena, op->node, "use_nesterov", false, &nesterov));
  HR_TRY(take_variables(op, 2, v));
  expr_t rate = spread(op, 2);
  expr_t gradient = tf_in(op, 3);
  expr_t momentum = spread(op, 4);
  expr_t scaled = e_mul(b, rate, gradient);
  expr_t accumulated = e_mul(b, v[1]->value, momentum);
  if (op->row->variant) {
    accumulated = e_sub(b, accumulated, scaled);
    expr_t step = nesterov ? e_sub(b, e_mul(b, accumulated, momentum), scaled) : accumulated;
    HR_TRY(set_variable(op, v[1], accumulated));
    return set_variable(op, v[0], e_add(b, v[0]->value, step));
  }
  accumulated = e_add(b, accumulated, gradient);
  expr_t step = e_mul(b, rate, accumulated);
  if (nesterov) step = e_add(b, scaled, e_mul(b, e_mul(b, accumulated, momentum), rate));
  HR_TRY(set_variable(op, v[1], accumulated));
  return set_variable(op, v[0], e_sub(b, v[0]->value, step));
}

/* inputs: var, m, v, beta1_power, beta2_power, lr, beta1, beta2, epsilon, grad */
hr_status_t tf_lower_apply_adam(tf_op_t *op) {
  tf_resource_t *v[3];
  hlo_builder_t *b = op->b;
  bool nesterov;
  HR_TRY(tf_attr_bool(op->arena, op->node, "use_nesterov", false, &nesterov));
  HR_TRY(take_variables(op, 3, v));
  expr_t beta1_power = spread(op, 3);
  expr_t beta2_power = spread(op, 4);
  expr_t beta1 = spread(op, 6);
  expr_t beta2 = spread(op, 7);
  expr_t gradient = tf_in(op, 9);
  expr_t one = e_number(b, 1, gradient);
  expr_t rate = e_div(b, e_mul(b, spread(op, 5), e_sqrt(b, e_sub(b, one, beta2_power))),
                      e_sub(b, one, beta1_power));
  expr_t m = e_add(b, v[1]->value, e_mul(b, e_sub(b, gradient, v[1]->value), e_sub(b, one, beta1)));
  expr_t squares = e_sub(b, e_mul(b, gradient, gradient), v[2]->value);
  expr_t second = e_add(b, v[2]->value, e_mul(b, squares, e_sub(b, one, beta2)));
  expr_t numerator = m;
  if (nesterov) numerator = e_add(b, e_mul(b, m, beta1), e_mul(b, e_sub(b, one, beta1), gradient));
  expr_t step = e_div(b, e_mul(b, numerator, rate), e_add(b, e_sqrt(b, second), spread(op, 8)));
  HR_TRY(set_variable(op, v[1], m));
  HR_TRY(set_variable(op, v[2], second));
  return set_variable(op, v[0], e_sub(b, v[0]->value, step));
}

/* inputs: var, accum, lr, [epsilon,] grad; variant: number of the gradient's input */
hr_status_t tf_lower_apply_adagrad(tf_op_t *op) {
  tf_resource_t *v[2];
  hlo_builder_t *b = op->b;
  int at = op->row->variant;
  HR_TRY(take_variables(op, 2, v));
  expr_t gradient = tf_in(op, at);
  expr_t sum = e_add(b, v[1]->value, e_mul(b, gradient, gradient));
  expr_t root = e_sqrt(b, sum);
  if (at == 4) root = e_add(b, root, spread(op, 3));
  HR_TRY(set_variable(op, v[1], sum));
  return set_variable(op, v[0],
                      e_sub(b, v[0]->value, e_div(b, e_mul(b, spread(op, 2), gradient), root)));
}

/* inputs: var, ms, mom, lr, rho, momentum, epsilon, grad */
hr_status_t tf_lower_apply_rms_prop(tf_op_t *op) {
  tf_resource_t *v[3];
  hlo_builder_t *b = op->b;
  HR_TRY(take_variables(op, 3, v));
  expr_t gradient = tf_in(op, 7);
  expr_t one = e_number(b, 1, gradient);
  expr_t squares = e_sub(b, e_mul(b, gradient, gradient), v[1]->value);
  expr_t mean = e_add(b, v[1]->value, e_mul(b, squares, e_sub(b, one, spread(op, 4))));
  expr_t scaled =
      e_div(b, e_mul(b, spread(op, 3), gradient), e_sqrt(b, e_add(b, mean, spread(op, 6))));
  expr_t momentum = e_add(b, e_mul(b, v[2]->value, spread(op, 5)), scaled);
  HR_TRY(set_variable(op, v[1], mean));
  HR_TRY(set_variable(op, v[2], momentum));
  return set_variable(op, v[0], e_sub(b, v[0]->value, momentum));
}

/* --- lists --- */

static hr_status_t set_list(tf_op_t *op, int k, const tf_value_t *list) {
  HR_TRY(tf_need_outputs(op, k + 1));
  op->outputs[k] = *list;
  op->outputs[k].kind = TF_VALUE_LIST;
  return hlo_builder_finish(op->b);
}

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

/* inputs: element_shape, num_elements */
hr_status_t tf_lower_list_reserve(tf_op_t *op) {
  tf_value_t list = {.kind = TF_VALUE_LIST};
  hr_ints_t dims;
  hlo_value_t *shape;
  HR_TRY(tf_attr_dtype(op->arena, op->node, "element_dtype", &list.list_dtype));
  HR_TRY(tf_const_int(op, 1, &list.list_size));
  HR_TRY(tf_const(op, 0, &shape));
  HR_TRY(tf_const_ints(op, 0, &dims));
  fill_list(op, &list, shape->rank ? (int)dims.count : -1, dims.data);
  return set_list(op, 0, &list);
}

hr_status_t tf_lower_list_from_tensor(tf_op_t *op) {
  expr_t x = tf_in(op, 0);
  if (!x || !x->shape->rank) return tf_error(op, "a list from a scalar");
  tf_value_t list = {.instr = x, .list_size = x->shape->dims[0], .list_dtype = x->shape->dtype};
  return set_list(op, 0, &list);
}

hr_status_t tf_lower_list_stack(tf_op_t *op) {
  tf_value_t list;
  HR_TRY(list_of(op, 0, &list));
  if (!list.instr) return tf_unsupported(op, "a list whose elements have no known shape");
  return tf_out(op, 0, list.instr);
}

hr_status_t tf_lower_list_length(tf_op_t *op) {
  tf_value_t list;
  HR_TRY(list_of(op, 0, &list));
  return tf_out_ints(op, 0, HR_S32, true, 1, &list.list_size);
}

/* Start indices of element `index`. */
static void element_starts(tf_op_t *op, expr_t index, int rank, expr_t *starts) {
  for (int d = 0; d < rank; d++) starts[d] = d ? tf_scalar_int(op->b, 0, HR_S32) : index;
}

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

hr_status_t tf_lower_list_set(tf_op_t *op) {
  tf_value_t list;
  expr_t starts[HLO_MAX_RANK];
  int64_t sizes[HLO_MAX_RANK] = {1};
  HR_TRY(list_of(op, 0, &list));
  expr_t item = tf_in(op, 2);
  if (!item) return hlo_builder_finish(op->b);
  if (item->shape->rank >= HLO_MAX_RANK) return tf_error(op, "too many dimensions");
  if (!list.instr) fill_list(op, &list, item->shape->rank, item->shape->dims);
  if (!list.instr) return tf_unsupported(op, "a list whose length is not known");
  for (int d = 0; d < item->shape->rank; d++) sizes[d + 1] = item->shape->dims[d];
  element_starts(op, tf_in(op, 1), list.instr->shape->rank, starts);
  expr_t row = tf_reshape(op->b, item, item->shape->rank + 1, sizes);
  list.instr = tf_dynamic_update(op->b, list.instr, row, starts);
  return set_list(op, 0, &list);
}
