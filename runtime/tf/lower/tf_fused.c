/* Operations that TensorFlow's optimisers fuse out of others, and a few more that are composed of
 * others here: each is lowered by the rows of its parts. */
#include <math.h>

#include "tf/lower/tf_elementwise.h"
#include "tf/lower/tf_loops.h"

/* --- parts --- */

/* Lowers the operation `name` on these values, with the attributes of the node itself; *out_value
 * is its first output. */
static hr_status_t apply(tf_op_t *op, const char *name, int count, tf_value_t **values,
                         expr_t *out_value) {
  tf_op_t part = *op;
  part.row = tf_op_find(hr_str_from(name));
  if (!part.row) return tf_unsupported(op, "the operation %s in a fused one", name);
  part.input_count = count;
  part.inputs = values;
  part.output_count = 0;
  part.outputs = NULL;
  HR_TRY(part.row->lower(&part));
  HR_TRY(hlo_builder_finish(part.b));
  if (part.output_count < 1) return tf_error(op, "%s has no output", name);
  *out_value = tf_value_instr(op->scope->compiler, op->b, &part.outputs[0]);
  return hlo_builder_finish(op->b);
}

/* Applies the operation `name` to *x, and replaces it by the result. */
static hr_status_t apply_to(tf_op_t *op, const char *name, expr_t *x) {
  tf_value_t value = {.kind = TF_VALUE_ARRAY, .instr = *x}, *values[] = {&value};
  return apply(op, name, 1, values, x);
}

/* Whether a list of names has this one. */
static bool is_part(hr_str_t name, const char *const *names, size_t count) {
  for (size_t i = 0; i < count; i++)
    if (hr_str_is(name, names[i])) return true;
  return false;
}

/* x + bias by channel. */
static hr_status_t add_bias(tf_op_t *op, tf_value_t *bias, expr_t *x) {
  tf_value_t value = {.kind = TF_VALUE_ARRAY, .instr = *x}, *values[] = {&value, bias};
  return apply(op, "BiasAdd", 2, values, x);
}

/* Normalisation by given means and variances: arguments are scale, offset, mean, variance. */
static hr_status_t normalise(tf_op_t *op, tf_value_t *const *args, expr_t *x) {
  hlo_builder_t *b = op->b;
  double epsilon;
  expr_t v[4];
  HR_TRY(tf_attr_float(op->arena, op->node, "epsilon", 1e-4, &epsilon));
  for (int i = 0; i < 4; i++) v[i] = tf_value_instr(op->scope->compiler, b, args[i]);
  if (!v[3]) return hlo_builder_finish(b);
  expr_t slope = f_mul(b, v[0], f_rsqrt(b, f_add(b, v[3], f_number(b, epsilon, v[3]))));
  tf_value_t factor = {.kind = TF_VALUE_ARRAY, .instr = slope};
  tf_value_t shift = {.kind = TF_VALUE_ARRAY, .instr = f_sub(b, v[1], f_mul(b, v[2], slope))};
  /* BiasAdd of the factor over zeros spreads it along the channels in any layout. */
  expr_t spread = *x ? f_number(b, 0, *x) : NULL;
  HR_TRY(add_bias(op, &factor, &spread));
  *x = f_mul(b, *x, spread);
  return add_bias(op, &shift, x);
}

/* An activation by its name. */
static hr_status_t activate(tf_op_t *op, hr_str_t name, expr_t *x) {
  static const char *const names[] = {"Relu", "Relu6", "Elu", "Tanh", "Sigmoid", "Selu"};
  double alpha;
  char text[16];
  if (hr_str_is(name, "LeakyRelu")) {
    HR_TRY(tf_attr_float(op->arena, op->node, "leakyrelu_alpha", 0.2, &alpha));
    if (!*x) return hlo_builder_finish(op->b);
    expr_t scaled = f_mul(op->b, *x, f_number(op->b, alpha, *x));
    *x = f_select(op->b, f_gt(op->b, *x, f_number(op->b, 0, *x)), *x, scaled);
    return hlo_builder_finish(op->b);
  }
  if (!is_part(name, names, sizeof names / sizeof *names))
    return tf_unsupported(op, "the part %.*s of a fused operation", HR_STR_ARGS(name));
  snprintf(text, sizeof text, "%.*s", HR_STR_ARGS(name));
  return apply_to(op, text, x);
}

/* _FusedConv2D and _FusedMatMul (variant 1): inputs 0 and 1, then the arguments of the parts that
 * the attribute fused_ops names. */
hr_status_t tf_lower_fused(tf_op_t *op) {
  int count, next = 2;
  hr_str_t *names;
  expr_t x;
  HR_TRY(tf_attr_strings(op->arena, op->node, "fused_ops", &count, &names));
  if (op->input_count < 2) return tf_error(op, "%d inputs", op->input_count);
  HR_TRY(apply(op, op->row->variant ? "MatMul" : "Conv2D", 2, op->inputs, &x));
  for (int i = 0; i < count; i++) {
    bool bias = hr_str_is(names[i], "BiasAdd"), norm = hr_str_is(names[i], "FusedBatchNorm");
    int needed = norm ? 4 : bias;
    if (next + needed > op->input_count) return tf_error(op, "part %d has no arguments", i);
    if (bias) HR_TRY(add_bias(op, op->inputs[next], &x));
    if (norm) HR_TRY(normalise(op, op->inputs + next, &x));
    if (!needed) HR_TRY(activate(op, names[i], &x));
    next += needed;
  }
  return tf_out(op, 0, x);
}

/* _FusedBatchNormEx(x, scale, offset, mean, variance[, side]): FusedBatchNormV3, then the side
 * input is added and attribute activation_mode applied. */
hr_status_t tf_lower_fused_batch_norm(tf_op_t *op) {
  hr_str_t mode;
  int64_t sides;
  HR_TRY(tf_attr_str(op->arena, op->node, "activation_mode", "Identity", &mode));
  HR_TRY(tf_attr_int(op->arena, op->node, "num_side_inputs", 0, &sides));
  HR_TRY(tf_lower_batch_norm(op));
  expr_t y = tf_value_instr(op->scope->compiler, op->b, &op->outputs[0]);
  if (sides > 0) y = f_add(op->b, y, tf_in(op, 5));
  if (!hr_str_is(mode, "Identity")) HR_TRY(activate(op, mode, &y));
  return tf_out(op, 0, y);
}

/* _UnaryOpsComposition: the operations of attribute op_names, one after another. */
hr_status_t tf_lower_composition(tf_op_t *op) {
  int count;
  hr_str_t *names;
  char text[64];
  expr_t x = tf_in(op, 0);
  HR_TRY(tf_attr_strings(op->arena, op->node, "op_names", &count, &names));
  for (int i = 0; i < count; i++) {
    if (names[i].size >= sizeof text || hr_str_is(names[i], "_UnaryOpsComposition"))
      return tf_error(op, "the operation %.*s in a composition", HR_STR_ARGS(names[i]));
    snprintf(text, sizeof text, "%.*s", HR_STR_ARGS(names[i]));
    HR_TRY(apply_to(op, text, &x));
  }
  return tf_out(op, 0, x);
}

/* --- others --- */

/* DeviceIndex: the length of the list, which stands for "none of these devices". */
hr_status_t tf_lower_device_index(tf_op_t *op) {
  int count;
  hr_str_t *names;
  HR_TRY(tf_attr_strings(op->arena, op->node, "device_names", &count, &names));
  int64_t index = count;
  return tf_out_ints(op, 0, HR_S32, true, 1, &index);
}

/* Exchanges dimension d with the last one. */
static expr_t to_last(hlo_builder_t *b, expr_t x, int d) {
  int64_t order[HLO_MAX_RANK];
  if (!x) return NULL;
  int last = x->shape->rank - 1;
  for (int i = 0; i <= last; i++) order[i] = i;
  order[d] = last;
  order[last] = d;
  return tf_transpose(b, x, order);
}

/* ApproxTopK: the exact k greatest, or least, along reduction_dimension, and their indices. */
hr_status_t tf_lower_approx_top_k(tf_op_t *op) {
  int64_t k, dim;
  bool greatest, whole;
  int at;
  expr_t x = tf_in(op, 0);
  HR_TRY(tf_attr_int(op->arena, op->node, "k", 1, &k));
  HR_TRY(tf_attr_int(op->arena, op->node, "reduction_dimension", -1, &dim));
  HR_TRY(tf_attr_bool(op->arena, op->node, "is_max_k", true, &greatest));
  HR_TRY(tf_attr_bool(op->arena, op->node, "aggregate_to_topk", true, &whole));
  if (!x) return hlo_builder_finish(op->b);
  if (!whole) return tf_unsupported(op, "aggregate_to_topk=false");
  HR_TRY(tf_axis(op, dim, x->shape->rank, &at));
  x = to_last(op->b, x, at);
  hlo_attr_t attrs[] = {hlo_attr_of_int(HLO_ATTR_K, k),
                        hlo_attr_of_bool(HLO_ATTR_LARGEST, greatest),
                        hlo_attr_of_bool(HLO_ATTR_IS_STABLE, true)};
  expr_t pair = hlo_build(op->b, HLO_TOPK, NULL, 1, &x, 3, attrs, 0, NULL);
  HR_TRY(tf_out(op, 0, to_last(op->b, hlo_build_element(op->b, pair, 0), at)));
  return tf_out(op, 1, to_last(op->b, hlo_build_element(op->b, pair, 1), at));
}

/* (x, y) -> log(e^x + e^y), by the greater one and the difference. */
static hr_status_t log_add(tf_op_t *op, hr_dtype_t dtype, hlo_computation_t **out) {
  hlo_builder_t b;
  HR_TRY(tf_computation_begin(op->scope->compiler, "log_add_exp", &b));
  expr_t x = hlo_build_parameter(&b, 0, hlo_shape_scalar(dtype));
  expr_t y = hlo_build_parameter(&b, 1, hlo_shape_scalar(dtype));
  expr_t most = f_max(&b, x, y), distance = f_neg(&b, f_abs(&b, f_sub(&b, x, y)));
  expr_t sum = f_add(&b, most, hlo_build_unary(&b, HLO_LOG_PLUS_ONE, f_exp(&b, distance)));
  /* Two equal infinities have no difference. */
  expr_t same = f_eq(&b, x, y);
  expr_t twice = x ? f_add(&b, x, f_number(&b, M_LN2, x)) : NULL;
  *out = b.computation;
  return tf_computation_end(op->scope->compiler, &b, f_select(&b, same, twice, sum));
}

/* CumulativeLogsumexp(x, axis), attributes exclusive and reverse; the value for no elements is the
 * lowest finite number. */
hr_status_t tf_lower_cumulative_logsumexp(tf_op_t *op) {
  int64_t axis, dim;
  bool exclusive, reverse;
  int at;
  hlo_window_t *window;
  hlo_window_dim_t *dims;
  hlo_computation_t *reducer;
  expr_t x = tf_in(op, 0);
  HR_TRY(tf_const_int(op, 1, &axis));
  if (!x) return hlo_builder_finish(op->b);
  HR_TRY(tf_axis(op, axis, x->shape->rank, &at));
  HR_TRY(tf_attr_bool(op->arena, op->node, "exclusive", false, &exclusive));
  HR_TRY(tf_attr_bool(op->arena, op->node, "reverse", false, &reverse));
  int64_t size = x->shape->dims[at];
  if (!size) return tf_out(op, 0, x);
  dim = at;
  HR_TRY(HR_NEW(op->arena, &window));
  HR_TRY(HR_NEW_ARRAY(op->arena, x->shape->rank, &dims));
  for (int d = 0; d < x->shape->rank; d++)
    dims[d] = (hlo_window_dim_t){.size = 1, .stride = 1, .base_dilation = 1, .window_dilation = 1};
  dims[at].size = size;
  dims[at].pad_low = exclusive ? size : size - 1;
  dims[at].pad_high = exclusive ? -1 : 0;
  *window = (hlo_window_t){x->shape->rank, dims};
  HR_TRY(log_add(op, x->shape->dtype, &reducer));
  if (reverse) HR_TRY(tf_reverse(op, x, 1, &dim, &x));
  hlo_attr_t attrs[] = {{.key = HLO_ATTR_WINDOW, .window = window},
                        hlo_attr_of_called(HLO_ATTR_TO_APPLY, 1)};
  expr_t operands[] = {x, x ? tf_scalar(op->b, -INFINITY, x->shape->dtype) : NULL};
  x = hlo_build(op->b, HLO_REDUCE_WINDOW, NULL, 2, operands, 2, attrs, 1, &reducer);
  if (reverse) HR_TRY(tf_reverse(op, x, 1, &dim, &x));
  return tf_out(op, 0, x);
}
