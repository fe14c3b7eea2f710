/* Constants, shapes and reshapes. Shapes, axes and sizes must be compile-time constants; Shape,
 * Size and Rank give such. */
#include "tf/compile/tf_lower.h"

static hr_status_t check_dtype(tf_op_t *op, const hlo_value_t *value) {
  hr_dtype_t dtype;
  HR_TRY(tf_attr_dtype(op->arena, op->node, "dtype", &dtype));
  if (dtype == HR_TUPLE || dtype == value->dtype) return NULL;
  return tf_error(op, "the value is %s, attribute dtype %s", hr_dtype_name(value->dtype),
                  hr_dtype_name(dtype));
}

/* Const, attribute value: a TensorProto. Strings stay on the edge as they are, for names of
 * files. */
hr_status_t tf_lower_const(tf_op_t *op) {
  tf_attr_proto_t attr;
  bool found;
  hlo_value_t *value;
  proto_list_t strings;
  HR_TRY(tf_attr_find(op->arena, op->node, "value", &attr, &found));
  if (!found) return tf_error(op, "the constant has no value");
  HR_TRY(tf_read_tensor(op->scope->compiler->graph, op->arena, attr.tensor, &value, &strings));
  if (value) {
    HR_TRY(tf_out_value(op, 0, value));
    return check_dtype(op, value);
  }
  HR_TRY(tf_need_outputs(op, 1));
  op->outputs[0] = (tf_value_t){.kind = TF_VALUE_STRINGS, .strings = strings};
  return NULL;
}

/* --- facts about shapes --- */

/* Attribute out_type, s32 by default. */
static hr_status_t out_dtype(tf_op_t *op, hr_dtype_t *out_dtype) {
  HR_TRY(tf_attr_dtype(op->arena, op->node, "out_type", out_dtype));
  if (*out_dtype == HR_TUPLE) *out_dtype = HR_S32;
  return NULL;
}

/* Shape and ShapeN: one output per input, which is a constant unless a dimension is dynamic. */
hr_status_t tf_lower_shape(tf_op_t *op) {
  hr_dtype_t dtype;
  HR_TRY(out_dtype(op, &dtype));
  for (int k = 0; k < op->input_count; k++) {
    const hlo_shape_t *shape = tf_in_shape(op, k);
    HR_TRY(hlo_builder_finish(op->b));
    tf_sizes_t sizes = tf_sizes_of(op->b, tf_in(op, k));
    if (hlo_shape_is_dynamic(shape))
      HR_TRY(tf_out(op, k, tf_sizes_vector(op->b, &sizes, dtype)));
    else
      HR_TRY(tf_out_ints(op, k, dtype, false, shape->rank, shape->dims));
  }
  return NULL;
}

/* Size: the number of elements. */
hr_status_t tf_lower_size(tf_op_t *op) {
  hr_dtype_t dtype;
  HR_TRY(out_dtype(op, &dtype));
  const hlo_shape_t *shape = tf_in_shape(op, 0);
  int64_t count = hlo_shape_elements(shape);
  HR_TRY(hlo_builder_finish(op->b));
  if (!hlo_shape_is_dynamic(shape)) return tf_out_ints(op, 0, dtype, true, 1, &count);
  return tf_out(op, 0, hlo_build_convert(op->b, tf_element_count(op->b, tf_in(op, 0)), dtype));
}

/* Rank: the number of dimensions. */
hr_status_t tf_lower_rank(tf_op_t *op) {
  int64_t rank = tf_in_shape(op, 0)->rank;
  HR_TRY(hlo_builder_finish(op->b));
  return tf_out_ints(op, 0, HR_S32, true, 1, &rank);
}

/* BroadcastGradientArgs(s0, s1). Axes along which each operand was broadcast, for gradients. r0
 * lists the dimensions of the joint shape along which operand 0 has size 1 or none, over which its
 * gradient is summed. */
hr_status_t tf_lower_broadcast_gradient_args(tf_op_t *op) {
  tf_sizes_t shapes[2];
  int64_t axes[2][HLO_MAX_RANK];
  int64_t counts[2] = {0, 0};
  HR_TRY(tf_sizes_in(op, 0, &shapes[0]));
  HR_TRY(tf_sizes_in(op, 1, &shapes[1]));
  hr_dtype_t dtype = tf_in_dtype(op, 0);
  int rank = shapes[0].rank > shapes[1].rank ? shapes[0].rank : shapes[1].rank;
  for (int d = 0; d < rank; d++) {
    int64_t sizes[2];
    for (int s = 0; s < 2; s++) {
      int at = d - (rank - shapes[s].rank);
      sizes[s] = at < 0 ? 1 : shapes[s].dims[at];
    }
    for (int s = 0; s < 2; s++)
      if (sizes[s] == 1) axes[s][counts[s]++] = d;
  }
  HR_TRY(tf_out_ints(op, 0, dtype, false, counts[0], axes[0]));
  return tf_out_ints(op, 1, dtype, false, counts[1], axes[1]);
}

/* BroadcastArgs(s0, s1): the joint shape of both. */
hr_status_t tf_lower_broadcast_args(tf_op_t *op) {
  hr_ints_t x, y;
  hlo_value_t *value;
  int64_t dims[HLO_MAX_RANK];
  HR_TRY(tf_const_ints(op, 0, &x));
  HR_TRY(tf_const_ints(op, 1, &y));
  HR_TRY(tf_const(op, 0, &value));
  int64_t rank = x.count > y.count ? x.count : y.count;
  if (rank > HLO_MAX_RANK) return tf_error(op, "%ld dimensions", (long)rank);
  for (int64_t d = 0; d < rank; d++) {
    int64_t xd = d - (rank - x.count);
    int64_t yd = d - (rank - y.count);
    int64_t xn = xd < 0 ? 1 : x.data[xd];
    int64_t yn = yd < 0 ? 1 : y.data[yd];
    if (xn != yn && xn != 1 && yn != 1) return tf_error(op, "the shapes do not broadcast");
    dims[d] = xn == 1 ? yn : xn;
  }
  return tf_out_ints(op, 0, value->dtype, false, rank, dims);
}

/* --- reshapes --- */

/* Whether both are the same size of the same array. */
static bool same_size(expr_t x, expr_t y) {
  while (x && x->op == HLO_CONVERT) x = x->operands[0];
  while (y && y->op == HLO_CONVERT) y = y->operands[0];
  if (!x || !y || x->op != HLO_GET_DIMENSION_SIZE || y->op != HLO_GET_DIMENSION_SIZE) return x == y;
  return x->operands[0] == y->operands[0] && hlo_attr_ints(x, HLO_ATTR_DIMENSIONS).data[0] ==
                                                 hlo_attr_ints(y, HLO_ATTR_DIMENSIONS).data[0];
}

/* The size that the others leave, of dynamic arrays; sizes on both sides cancel each other. */
static void open_size(tf_op_t *op, expr_t x, tf_sizes_t *sizes, int open) {
  hlo_builder_t *b = op->b;
  tf_sizes_t have = tf_sizes_of(b, x);
  bool used[HLO_MAX_RANK] = {false};
  int64_t total = 1, fixed = 1;
  expr_t left = NULL, others = NULL;
  for (int d = 0; d < sizes->rank; d++) {
    int k = 0;
    if (d == open) continue;
    while (k < have.rank && (used[k] || !same_size(have.exprs[k], sizes->exprs[d]))) k++;
    if (!sizes->exprs[d]) {
      fixed *= sizes->dims[d];
    } else if (k < have.rank) {
      used[k] = true;
    } else {
      others = others ? f_mul(b, others, sizes->exprs[d]) : sizes->exprs[d];
    }
  }
  for (int k = 0; k < have.rank; k++) {
    if (used[k]) continue;
    total *= have.dims[k];
    if (have.exprs[k]) left = left ? f_mul(b, left, have.exprs[k]) : have.exprs[k];
  }
  sizes->dims[open] = fixed ? total / fixed : 0;
  if (!left && !others) return;
  int64_t still = 1;
  for (int k = 0; k < have.rank; k++) still *= have.exprs[k] ? 1 : have.dims[k];
  expr_t count = tf_scalar_int(b, still, HR_S32), by = tf_scalar_int(b, fixed, HR_S32);
  if (left) count = f_mul(b, count, left);
  if (others) by = f_mul(b, by, others);
  sizes->exprs[open] = f_div(b, count, f_max(b, by, tf_scalar_int(b, 1, HR_S32)));
}

/* Reshape(tensor, shape): one size may be -1 and follows from the number of elements. */
hr_status_t tf_lower_reshape(tf_op_t *op) {
  tf_sizes_t sizes;
  int64_t known = 1;
  int open = -1;
  bool is_dynamic = false;
  expr_t x = tf_in(op, 0);
  if (!x) return hlo_builder_finish(op->b);
  HR_TRY(tf_sizes_in(op, 1, &sizes));
  for (int d = 0; d < sizes.rank; d++) {
    is_dynamic |= sizes.exprs[d] != NULL;
    if (sizes.dims[d] == -1 && open >= 0) return tf_error(op, "two sizes are -1");
    if (sizes.dims[d] == -1)
      open = d;
    else
      known *= sizes.dims[d];
  }
  int64_t total = hlo_shape_elements(x->shape);
  if (is_dynamic || hlo_shape_is_dynamic(x->shape)) {
    if (open >= 0) open_size(op, x, &sizes, open);
    return tf_out(op, 0, tf_reshape_sized(op->b, x, &sizes));
  }
  if (open >= 0) sizes.dims[open] = known ? total / known : 0;
  if ((open >= 0 ? known * sizes.dims[open] : known) != total)
    return tf_error(op, "%ld elements cannot have the new shape", (long)total);
  return tf_out(op, 0, tf_reshape(op->b, x, sizes.rank, sizes.dims));
}

hr_status_t tf_expand_dim(tf_op_t *op, expr_t x, int64_t axis, int *out_at, expr_t *out_x) {
  int64_t dims[HLO_MAX_RANK];
  int rank = x->shape->rank;
  if (rank >= HLO_MAX_RANK) return tf_error(op, "too many dimensions");
  HR_TRY(tf_axis(op, axis, rank + 1, out_at));
  for (int d = 0; d < rank; d++) dims[d < *out_at ? d : d + 1] = x->shape->dims[d];
  dims[*out_at] = 1;
  *out_x = tf_reshape(op->b, x, rank + 1, dims);
  return NULL;
}

/* ExpandDims(input, dim): a size of 1 is put in front of dimension `dim`; -1 appends it. */
hr_status_t tf_lower_expand_dims(tf_op_t *op) {
  int64_t axis;
  int at;
  expr_t x = tf_in(op, 0);
  if (!x) return hlo_builder_finish(op->b);
  HR_TRY(tf_const_int(op, 1, &axis));
  HR_TRY(tf_expand_dim(op, x, axis, &at, &x));
  return tf_out(op, 0, x);
}

/* Squeeze: drops the sizes of 1 that squeeze_dims lists, or all of them. */
hr_status_t tf_lower_squeeze(tf_op_t *op) {
  hr_ints_t listed;
  bool drop[HLO_MAX_RANK] = {false};
  int64_t dims[HLO_MAX_RANK];
  int rank = 0, at;
  expr_t x = tf_in(op, 0);
  if (!x) return hlo_builder_finish(op->b);
  HR_TRY(tf_attr_ints(op->arena, op->node, "squeeze_dims", &listed));
  for (int64_t i = 0; i < listed.count; i++) {
    HR_TRY(tf_axis(op, listed.data[i], x->shape->rank, &at));
    if (x->shape->dims[at] != 1) return tf_error(op, "dimension %d has not the size 1", at);
    drop[at] = true;
  }
  for (int d = 0; d < x->shape->rank; d++)
    if (listed.count ? !drop[d] : x->shape->dims[d] != 1) dims[rank++] = x->shape->dims[d];
  return tf_out(op, 0, tf_reshape(op->b, x, rank, dims));
}

/* BroadcastTo(input, shape), aligned to the right. */
hr_status_t tf_lower_broadcast_to(tf_op_t *op) {
  tf_sizes_t sizes;
  HR_TRY(tf_sizes_in(op, 1, &sizes));
  return tf_out(op, 0, tf_broadcast_sized(op->b, tf_in(op, 0), &sizes));
}
