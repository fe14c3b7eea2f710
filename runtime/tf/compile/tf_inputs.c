/* Inputs and outputs of one operation, as instructions and as compile-time values. */
#include <string.h>

#include "tf/compile/tf_lower.h"

/* The text of the failure says what the input was instead of an array. */
expr_t tf_in(tf_op_t *op, int k) {
  if (op->b->status) return NULL;
  if (k < op->input_count) {
    expr_t instr = tf_value_instr(op->scope->compiler, op->b, op->inputs[k]);
    if (instr || op->b->status) return instr;
  }
  if (k >= op->input_count)
    op->b->status = hr_error(HR_INVALID, "there is no input %d", k);
  else if (op->inputs[k]->kind == TF_VALUE_RESOURCE)
    op->b->status = hr_error(HR_INVALID, "variable %.*s is read before it has a value",
                             HR_STR_ARGS(op->inputs[k]->resource->name));
  else
    op->b->status = hr_error(HR_UNSUPPORTED, "input %d is no array", k);
  return NULL;
}

/* After a failure the result is a shape of rank 0 without type, so that callers need no check of
 * their own before hlo_builder_finish(). */
const hlo_shape_t *tf_in_shape(tf_op_t *op, int k) {
  static const hlo_shape_t none;
  expr_t x = tf_in(op, k);
  return x ? x->shape : &none;
}

hr_dtype_t tf_in_dtype(tf_op_t *op, int k) { return tf_in_shape(op, k)->dtype; }

/* A value that was found is kept on the edge: other readers do not evaluate again. */
hr_status_t tf_const_if_known(tf_op_t *op, int k, hlo_value_t **out_value) {
  *out_value = NULL;
  if (k >= op->input_count) return tf_error(op, "there is no input %d", k);
  tf_value_t *input = op->inputs[k];
  if (input->kind == TF_VALUE_ARRAY && input->constant) {
    *out_value = input->constant;
    return NULL;
  }
  expr_t instr = tf_in(op, k);
  if (!instr) return hlo_builder_finish(op->b);
  HR_TRY(tf_evaluate(op->scope->compiler, instr, out_value));
  if (input->kind == TF_VALUE_ARRAY) input->constant = *out_value;
  return NULL;
}

/* The text is that of XlaCompiler, for its most common user error. */
hr_status_t tf_const(tf_op_t *op, int k, hlo_value_t **out_value) {
  HR_TRY(tf_const_if_known(op, k, out_value));
  if (*out_value) return NULL;
  return tf_error(op, "input %d must be a compile-time constant", k);
}

/* pred counts as integer, as flags of Reverse come in this way. */
hr_status_t tf_const_ints(tf_op_t *op, int k, hr_ints_t *out_ints) {
  hlo_value_t *value;
  int64_t *ints;
  HR_TRY(tf_const(op, k, &value));
  if (!hr_dtype_is_integer(value->dtype) && value->dtype != HR_PRED)
    return tf_error(op, "input %d is %s, want integers", k, hr_dtype_name(value->dtype));
  HR_TRY(HR_NEW_ARRAY(op->arena, value->count, &ints));
  for (int64_t i = 0; i < value->count; i++) ints[i] = hlo_value_int_at(value, i);
  *out_ints = (hr_ints_t){ints, value->count};
  return NULL;
}

/* A vector of one element is accepted for a scalar, as TensorFlow's kernels do for axes. */
hr_status_t tf_const_int(tf_op_t *op, int k, int64_t *out_value) {
  hr_ints_t ints;
  HR_TRY(tf_const_ints(op, k, &ints));
  if (ints.count != 1)
    return tf_error(op, "input %d has %ld elements, want 1", k, (long)ints.count);
  *out_value = ints.data[0];
  return NULL;
}

/* Integers are taken, too. */
hr_status_t tf_const_float(tf_op_t *op, int k, double *out_value) {
  hlo_value_t *value;
  HR_TRY(tf_const(op, k, &value));
  if (value->count != 1) return tf_error(op, "input %d is no scalar", k);
  if (value->dtype == HR_F32)
    *out_value = *(const float *)value->data;
  else if (value->dtype == HR_F64)
    *out_value = *(const double *)value->data;
  else if (hr_dtype_is_integer(value->dtype))
    *out_value = (double)hlo_value_int_at(value, 0);
  else
    return tf_error(op, "input %d is %s, want f32 or f64", k, hr_dtype_name(value->dtype));
  return NULL;
}

/* Outputs that are there already keep their values; new ones are of kind NONE. */
hr_status_t tf_need_outputs(tf_op_t *op, int count) {
  if (count <= op->output_count) return NULL;
  tf_value_t *outputs;
  HR_TRY(HR_NEW_ARRAY(op->arena, count, &outputs));
  if (op->output_count) memcpy(outputs, op->outputs, (size_t)op->output_count * sizeof *outputs);
  op->outputs = outputs;
  op->output_count = count;
  return NULL;
}

hr_status_t tf_out(tf_op_t *op, int k, expr_t instr) {
  HR_TRY(tf_need_outputs(op, k + 1));
  op->outputs[k] = (tf_value_t){.kind = TF_VALUE_ARRAY, .instr = instr};
  return hlo_builder_finish(op->b);
}

hr_status_t tf_out_value(tf_op_t *op, int k, hlo_value_t *value) {
  HR_TRY(hlo_module_adopt_value(op->scope->compiler->module, value));
  HR_TRY(tf_need_outputs(op, k + 1));
  op->outputs[k] = (tf_value_t){.kind = TF_VALUE_ARRAY, .constant = value};
  return NULL;
}

/* Each value is cut to the bytes of `dtype`, from the low end. `scalar` with count 1 gives rank
 * 0. */
hr_status_t tf_out_ints(tf_op_t *op, int k, hr_dtype_t dtype, bool scalar, int64_t count,
                        const int64_t *values) {
  hlo_value_t *value;
  size_t each = hr_dtype_bytes(dtype);
  HR_TRY(hlo_value_array(dtype, scalar ? 0 : 1, &count, &value));
  for (int64_t i = 0; i < count; i++)
    memcpy((char *)value->data + (size_t)i * each, &values[i], each);
  return tf_out_value(op, k, value);
}
