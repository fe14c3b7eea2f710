/* Softmax and the cross entropies. The maximum is subtracted first, so that no exponential
 * overflows. */
#include "tf/compile/tf_lower.h"

/* x minus its maximum along the last dimension.
 * The exponentials of the differences are at most 1 and do not overflow; the quotient is the
 * same. */
static expr_t shifted_logits(tf_op_t *op, expr_t x) {
  int64_t last = x->shape->rank - 1;
  expr_t top = tf_reduce(op, HLO_MAXIMUM, x, 1, &last, true);
  return f_sub(op->b, x, tf_broadcast_like(op->b, top, x));
}

/* `spread`: the sum is repeated over the shape of x. */
static expr_t sum_last(tf_op_t *op, expr_t x, bool spread) {
  if (!x) return NULL;
  int64_t last = x->shape->rank - 1;
  expr_t sum = tf_reduce(op, HLO_ADD, x, 1, &last, spread);
  return spread ? tf_broadcast_like(op->b, sum, x) : sum;
}

static hr_status_t check_logits(tf_op_t *op, expr_t x) {
  if (x && x->shape->rank < 1) return tf_error(op, "logits without classes");
  return NULL;
}

/* Softmax: e^x / sum e^x along the last dimension. LogSoftmax (variant 1): x - log(sum e^x),
 * from the shifted logits and not from the logarithm of a quotient, which may be 0. */
hr_status_t tf_lower_softmax(tf_op_t *op) {
  hlo_builder_t *b = op->b;
  expr_t x = tf_in(op, 0);
  HR_TRY(check_logits(op, x));
  if (!x) return hlo_builder_finish(b);
  hr_dtype_t dtype = x->shape->dtype;
  if (tf_is_narrow_float(dtype)) x = hlo_build_convert(b, x, HR_F32);
  expr_t shifted = x ? shifted_logits(op, x) : NULL;
  expr_t powers = f_exp(b, shifted);
  expr_t sum = sum_last(op, powers, true);
  x = op->row->variant ? f_sub(b, shifted, f_log(b, sum)) : f_div(b, powers, sum);
  return tf_out(op, 0, x && x->shape->dtype != dtype ? hlo_build_convert(b, x, dtype) : x);
}

/* SoftmaxCrossEntropyWithLogits(features, labels): loss = sum labels (log(sum e^x) - x), backprop =
 * softmax - labels. Sparse labels are turned into rows with a single 1. Outputs: loss by row, and
 * the gradient with respect to the logits. Variant 1: labels are classes. */
hr_status_t tf_lower_cross_entropy(tf_op_t *op) {
  hlo_builder_t *b = op->b;
  expr_t x = tf_in(op, 0);
  expr_t labels = tf_in(op, 1);
  HR_TRY(check_logits(op, x));
  if (!x || !labels) return hlo_builder_finish(b);
  if (op->row->variant) {
    if (x->shape->rank != 2) return tf_error(op, "logits of %d dimensions", x->shape->rank);
    int64_t wide[] = {x->shape->dims[0], 1};
    expr_t classes = tf_broadcast_like(b, tf_reshape(b, labels, 2, wide), x);
    expr_t index = tf_iota_like(b, labels->shape->dtype, x, 1);
    expr_t hit = f_eq(b, classes, index);
    labels = hit ? hlo_build_convert(b, hit, x->shape->dtype) : NULL;
  } else {
    tf_broadcast_pair(b, &x, &labels);
    if (!x) return hlo_builder_finish(b);
  }
  expr_t shifted = shifted_logits(op, x);
  expr_t powers = f_exp(b, shifted);
  expr_t sum = sum_last(op, powers, true);
  expr_t terms = f_mul(b, labels, f_sub(b, f_log(b, sum), shifted));
  HR_TRY(tf_out(op, 0, sum_last(op, terms, false)));
  return tf_out(op, 1, f_sub(b, f_div(b, powers, sum), labels));
}
