/* Gradients of activations, with the inputs in TensorFlow's order: (dy, features), (dy, outputs)
 * for ELU and SELU, and (y, dy) where the derivative is a function of the result y. */
#include "tf/lower/tf_elementwise.h"
#include "tf/compile/tf_lower.h"

/* 0 where `x` is not positive or not below 6. */
static expr_t relu6_gradient(hlo_builder_t *b, expr_t dy, expr_t x) {
  expr_t zero = f_number(b, 0, x);
  expr_t inside = f_and(b, f_gt(b, x, zero), f_lt(b, x, f_number(b, 6, x)));
  return f_select(b, inside, dy, zero);
}

/* The factors are scale and scale * alpha of TF_SELU; `outputs` are negative where features are. */
static expr_t selu_gradient(hlo_builder_t *b, expr_t dy, expr_t outputs) {
  expr_t negative = f_add(b, outputs, f_number(b, 1.7580993408473768, outputs));
  return f_select(b, f_gt(b, outputs, f_number(b, 0, outputs)),
                  f_mul(b, f_number(b, 1.0507009873554805, dy), dy), f_mul(b, dy, negative));
}

static expr_t softsign_gradient(hlo_builder_t *b, expr_t dy, expr_t x) {
  expr_t sum = f_add(b, f_number(b, 1, dy), f_abs(b, x));
  return f_div(b, dy, f_mul(b, sum, sum));
}

/* Gradients from dy and `x`, the features of the operation or its outputs (ELU, SELU). */
static expr_t gradient_by_features(hlo_builder_t *b, tf_formula_t formula, expr_t dy, expr_t x) {
  expr_t zero = f_number(b, 0, x);
  switch (formula) {
    case TF_RELU:
      return f_select(b, f_gt(b, x, zero), dy, zero);
    case TF_RELU6:
      return relu6_gradient(b, dy, x);
    case TF_ELU:
      return f_select(b, f_gt(b, x, zero), dy, f_mul(b, f_add(b, x, f_number(b, 1, dy)), dy));
    case TF_SELU:
      return selu_gradient(b, dy, x);
    case TF_SOFTPLUS:
      return f_mul(b, dy, hlo_build_unary(b, HLO_LOGISTIC, x));
    case TF_SOFTSIGN:
      return softsign_gradient(b, dy, x);
    default:
      return NULL;
  }
}

/* Gradients from the operation's result y. */
static expr_t gradient_by_result(hlo_builder_t *b, tf_formula_t formula, expr_t y, expr_t dy) {
  expr_t one = f_number(b, 1, y);
  switch (formula) {
    case TF_SIGMOID: /* y (1 - y) */
      return f_mul(b, f_mul(b, dy, y), f_sub(b, one, y));
    case TF_TANH: /* 1 - y^2 */
      return f_mul(b, dy, f_sub(b, one, f_mul(b, y, y)));
    case TF_SQRT: /* 1 / (2 y) */
      return f_div(b, f_mul(b, dy, f_number(b, 0.5, dy)), y);
    case TF_RSQRT: /* -y^3 / 2 */
      return f_mul(b, f_mul(b, f_mul(b, y, y), y), f_mul(b, dy, f_number(b, -0.5, dy)));
    case TF_RECIPROCAL: /* -y^2 */
      return f_neg(b, f_mul(b, dy, f_mul(b, y, y)));
    default:
      return NULL;
  }
}

/* ReluGrad, EluGrad, ... SigmoidGrad, TanhGrad, ...: the variant is the activation. */
hr_status_t tf_lower_activation_gradient(tf_op_t *op) {
  const tf_formula_t formula = (tf_formula_t)op->row->variant;
  expr_t first = tf_in(op, 0);
  expr_t second = tf_in(op, 1);
  if (!first || !second) return hlo_builder_finish(op->b);
  expr_t result = gradient_by_features(op->b, formula, first, second);
  if (!result) result = gradient_by_result(op->b, formula, first, second);
  return tf_out(op, 0, result);
}
