/* Gradients of activations, with the inputs in TensorFlow's order: (dy, features), (dy, outputs)
 * for ELU and SELU, and (y, dy) where the derivative is a function of the result y. */
#include "tf/tf_elementwise.h"
#include "tf/tf_lower.h"

/* 0 where `x` is not positive or not below 6. */
static expr_t relu6_gradient(hlo_builder_t *b, expr_t dy, expr_t x) {
  expr_t zero = e_number(b, 0, x);
  expr_t inside = e_and(b, e_gt(b, x, zero), e_lt(b, x, e_number(b, 6, x)));
  return e_select(b, inside, dy, zero);
}

/* The factors are scale and scale * alpha of TF_SELU; `outputs` are negative where features are. */
static expr_t selu_gradient(hlo_builder_t *b, expr_t dy, expr_t outputs) {
  expr_t negative = e_add(b, outputs, e_number(b, 1.7580993408473768, outputs));
  return e_select(b, e_gt(b, outputs, e_number(b, 0, outputs)),
                  e_mul(b, e_number(b, 1.0507009873554805, dy), dy), e_mul(b, dy, negative));
}

static expr_t softsign_gradient(hlo_builder_t *b, expr_t dy, expr_t x) {
  expr_t sum = e_add(b, e_number(b, 1, dy), e_abs(b, x));
  return e_div(b, dy, e_mul(b, sum, sum));
}

/* Gradients from dy and `x`, the features of the operation or its outputs (ELU, SELU). */
static expr_t gradient_by_features(hlo_builder_t *b, tf_formula_t formula, expr_t dy, expr_t x) {
  expr_t zero = e_number(b, 0, x);
  switch (formula) {
    case TF_RELU:
      return e_select(b, e_gt(b, x, zero), dy, zero);
    case TF_RELU6:
      return relu6_gradient(b, dy, x);
    case TF_ELU:
      return e_select(b, e_gt(b, x, zero), dy, e_mul(b, e_add(b, x, e_number(b, 1, dy)), dy));
    case TF_SELU:
      return selu_gradient(b, dy, x);
    case TF_SOFTPLUS:
      return e_mul(b, dy, hlo_build_unary(b, HLO_LOGISTIC, x));
    case TF_SOFTSIGN:
      return softsign_gradient(b, dy, x);
    default:
      return NULL;
  }
}

/* Gradients from the operation's result y. */
static expr_t gradient_by_result(hlo_builder_t *b, tf_formula_t formula, expr_t y, expr_t dy) {
  expr_t one = e_number(b, 1, y);
  switch (formula) {
    case TF_SIGMOID: /* y (1 - y) */
      return e_mul(b, e_mul(b, dy, y), e_sub(b, one, y));
    case TF_TANH: /* 1 - y^2 */
      return e_mul(b, dy, e_sub(b, one, e_mul(b, y, y)));
    case TF_SQRT: /* 1 / (2 y) */
      return e_div(b, e_mul(b, dy, e_number(b, 0.5, dy)), y);
    case TF_RSQRT: /* -y^3 / 2 */
      return e_mul(b, e_mul(b, e_mul(b, y, y), y), e_mul(b, dy, e_number(b, -0.5, dy)));
    case TF_RECIPROCAL: /* -y^2 */
      return e_neg(b, e_mul(b, dy, e_mul(b, y, y)));
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
