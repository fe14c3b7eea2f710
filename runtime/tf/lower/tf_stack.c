/* Stacks of TensorFlow 1, which the gradients of its loops use: a resource whose value is the tuple
 * (elements [size, entry...], s32[] count), as XlaCompiler passes it. Without a bound it grows with
 * each push, and before a loop by the pushes of all iterations. The shape of an entry is that of
 * the first push. Handles and flows of TensorArrays are entries, too: their place in the stack has
 * the number 0, and what is popped is known when the graph is compiled. The gradient of an array
 * takes its shape from the flow and nothing else, so that the flow is an array of zeros then. */
#include "tf/compile/tf_lower.h"

/* StackV2(max_size), attribute elem_type: a stack without a value, as the entry is not known. */
hr_status_t tf_lower_stack(tf_op_t *op) {
  tf_resource_t *stack;
  HR_TRY(HR_NEW(op->arena, &stack));
  *stack = (tf_resource_t){
      .kind = XLA_RESOURCE_STACK, .name = op->node->name, .argument = -1, .node = op->node};
  HR_TRY(tf_const_int(op, 0, &stack->size));
  HR_TRY(tf_attr_dtype(op->arena, op->node, "elem_type", &stack->dtype));
  stack->unbounded = stack->size < 0 || stack->size > INT32_MAX;
  if (stack->unbounded) stack->size = 0;
  HR_TRY(tf_need_outputs(op, 1));
  op->outputs[0] = (tf_value_t){.kind = TF_VALUE_RESOURCE, .resource = stack};
  return NULL;
}

static hr_status_t stack_of(tf_op_t *op, tf_resource_t **out_stack) {
  HR_TRY(tf_resource_of(op, 0, out_stack));
  if ((*out_stack)->kind == XLA_RESOURCE_STACK) return NULL;
  return tf_error(op, "%.*s is no stack", HR_STR_ARGS((*out_stack)->name));
}

/* The empty stack for entries of this shape. */
hr_status_t tf_stack_start(hlo_builder_t *b, tf_resource_t *stack, const hlo_shape_t *entry) {
  int64_t dims[HLO_MAX_RANK] = {stack->size};
  if (entry->rank >= HLO_MAX_RANK) return hr_error(HR_INVALID, "too many dimensions");
  for (int d = 0; d < entry->rank; d++) dims[d + 1] = entry->dims[d];
  expr_t parts[] = {tf_fill(b, 0, entry->dtype, entry->rank + 1, dims),
                    tf_scalar_int(b, 0, HR_S32)};
  stack->value = hlo_build_tuple(b, 2, parts);
  return hlo_builder_finish(b);
}

expr_t tf_grow(hlo_builder_t *b, expr_t x, int64_t count) {
  int64_t low[HLO_MAX_RANK] = {0}, high[HLO_MAX_RANK] = {count};
  return x ? tf_pad(b, x, tf_scalar(b, 0, x->shape->dtype), low, high, NULL) : NULL;
}

void tf_stack_grow(hlo_builder_t *b, tf_resource_t *stack, int64_t count) {
  stack->size += count;
  if (!stack->value) return;
  expr_t parts[] = {tf_grow(b, hlo_build_element(b, stack->value, 0), count),
                    hlo_build_element(b, stack->value, 1)};
  stack->value = hlo_build_tuple(b, 2, parts);
}

/* Starts of the entry at place `at`. */
static void entry_starts(hlo_builder_t *b, expr_t at, int rank, expr_t *out) {
  for (int d = 0; d < rank; d++) out[d] = d ? tf_scalar_int(b, 0, HR_S32) : at;
}

/* A new value, unless the node is in a branch that is not taken. */
static void set_stack(tf_op_t *op, tf_resource_t *stack, expr_t elements, expr_t count) {
  hlo_builder_t *b = op->b;
  if (op->live && elements && count) {
    expr_t pred = tf_live_pred(b, op->live);
    expr_t old = hlo_build_element(b, stack->value, 0);
    expr_t wide = tf_broadcast_like(b, pred, elements);
    elements = f_select(b, wide, elements, old);
    count = f_select(b, pred, count, hlo_build_element(b, stack->value, 1));
  }
  expr_t parts[] = {elements, count};
  stack->value = hlo_build_tuple(b, 2, parts);
}

/* Notes an entry that is a list, a handle or a variable. */
static hr_status_t push_special(tf_op_t *op, tf_resource_t *stack, const tf_value_t *item) {
  tf_value_t *entry;
  if (stack->entry &&
      (stack->entry->kind != item->kind || stack->entry->resource != item->resource))
    return tf_unsupported(op, "variables or arrays of several kinds in one stack");
  if (item->instr) stack->entry_shape = item->instr->shape;
  HR_TRY(HR_NEW(op->arena, &entry));
  *entry = *item;
  entry->live = NULL;
  entry->instr = entry->count = entry->element_counts = NULL;
  entry->constant = NULL;
  stack->entry = entry;
  return NULL;
}

/* StackPushV2(stack, x) -> x. */
hr_status_t tf_lower_stack_push(tf_op_t *op) {
  hlo_builder_t *b = op->b;
  tf_resource_t *stack;
  bool is_array = op->inputs[1]->kind == TF_VALUE_ARRAY;
  expr_t starts[HLO_MAX_RANK], x = is_array ? tf_in(op, 1) : tf_scalar(b, 0, HR_F32);
  int64_t dims[HLO_MAX_RANK] = {1};
  HR_TRY(stack_of(op, &stack));
  if (!is_array) HR_TRY(push_special(op, stack, op->inputs[1]));
  if (!x) return hlo_builder_finish(b);
  if (stack->unbounded) tf_stack_grow(b, stack, 1);
  if (!stack->value) HR_TRY(tf_stack_start(b, stack, x->shape));
  expr_t elements = hlo_build_element(b, stack->value, 0);
  expr_t count = hlo_build_element(b, stack->value, 1);
  if (!elements || elements->shape->rank != x->shape->rank + 1)
    return tf_error(op, "an entry of %d dimensions that does not fit the stack", x->shape->rank);
  for (int d = 0; d < x->shape->rank; d++) {
    dims[d + 1] = x->shape->dims[d];
    if (elements->shape->dims[d + 1] != dims[d + 1])
      return tf_error(op, "entries of two shapes in one stack");
  }
  entry_starts(b, count, elements->shape->rank, starts);
  elements = tf_dynamic_update(b, elements, tf_reshape(b, x, x->shape->rank + 1, dims), starts);
  set_stack(op, stack, elements, f_add(b, count, tf_scalar_int(b, 1, HR_S32)));
  HR_TRY(tf_out(op, 0, x));
  if (!is_array) op->outputs[0] = *op->inputs[1];
  return NULL;
}

static hr_status_t pop_special(tf_op_t *op, const tf_resource_t *stack) {
  const hlo_shape_t *shape = stack->entry_shape;
  op->outputs[0] = *stack->entry;
  if (shape && stack->entry->kind == TF_VALUE_LIST)
    op->outputs[0].instr = tf_fill(op->b, 0, shape->dtype, shape->rank, shape->dims);
  return hlo_builder_finish(op->b);
}

/* StackPopV2(stack) -> the entry that was pushed last; 0 of an empty stack. */
hr_status_t tf_lower_stack_pop(tf_op_t *op) {
  hlo_builder_t *b = op->b;
  tf_resource_t *stack;
  expr_t starts[HLO_MAX_RANK];
  int64_t sizes[HLO_MAX_RANK] = {1};
  HR_TRY(stack_of(op, &stack));
  if (!stack->value)
    return tf_error(op, "stack %.*s is popped before anything is pushed", HR_STR_ARGS(stack->name));
  expr_t elements = hlo_build_element(b, stack->value, 0);
  expr_t count = hlo_build_element(b, stack->value, 1);
  count = f_sub(b, count, tf_scalar_int(b, 1, HR_S32));
  if (!elements || !count) return hlo_builder_finish(b);
  const hlo_shape_t *shape = elements->shape;
  for (int d = 1; d < shape->rank; d++) sizes[d] = shape->dims[d];
  entry_starts(b, count, shape->rank, starts);
  expr_t entry = tf_dynamic_slice(b, elements, starts, sizes);
  set_stack(op, stack, elements, count);
  HR_TRY(tf_out(op, 0, tf_reshape(b, entry, shape->rank - 1, shape->dims + 1)));
  return stack->entry ? pop_special(op, stack) : NULL;
}
