/* Optimisers: each updates variables, which come first, by scalars and a gradient. Formulas are
 * those of TensorFlow's training operations, in its order of rounding where that is known. All
 * formulas are elementwise. The variables get their new values together, from the old values of all
 * of them; attribute use_locking has no meaning, as nothing else runs at the same time. */
#include "tf/compile/tf_lower.h"

/* Variables v[0..count) in front of the scalars and the gradient. */
static hr_status_t take_variables(tf_op_t *op, int count, tf_resource_t **v) {
  for (int i = 0; i < count; i++) {
    HR_TRY(tf_resource_of(op, i, &v[i]));
    if (!v[i]->value) return tf_error(op, "variable %d has no value", i);
  }
  return NULL;
}

/* Input k as a scalar spread over the shape of the first variable. */
static expr_t spread(tf_op_t *op, int k) {
  expr_t variable = tf_in(op, 0);
  return variable ? tf_broadcast_like(op->b, tf_in(op, k), variable) : NULL;
}

/* v -= alpha * delta.
 * Inputs: var, alpha, delta. */
hr_status_t tf_lower_apply_gradient_descent(tf_op_t *op) {
  tf_resource_t *v;
  HR_TRY(take_variables(op, 1, &v));
  expr_t step = f_mul(op->b, tf_in(op, 2), spread(op, 1));
  return tf_set_variable(op, v, f_sub(op->b, v->value, step));
}

/* variant 1: ResourceApplyKerasMomentum, whose accumulator holds -lr * gradient.
 * Inputs: var, accum, lr, grad, momentum. accum = accum momentum + grad; var -= lr accum, or
 * with use_nesterov var -= lr grad + lr momentum accum. */
hr_status_t tf_lower_apply_momentum(tf_op_t *op) {
  tf_resource_t *v[2];
  hlo_builder_t *b = op->b;
  bool nesterov;
  HR_TRY(tf_attr_bool(op->arena, op->node, "use_nesterov", false, &nesterov));
  HR_TRY(take_variables(op, 2, v));
  expr_t rate = spread(op, 2);
  expr_t gradient = tf_in(op, 3);
  expr_t momentum = spread(op, 4);
  expr_t scaled = f_mul(b, rate, gradient);
  expr_t accumulated = f_mul(b, v[1]->value, momentum);
  if (op->row->variant) {
    accumulated = f_sub(b, accumulated, scaled);
    expr_t step = nesterov ? f_sub(b, f_mul(b, accumulated, momentum), scaled) : accumulated;
    HR_TRY(tf_set_variable(op, v[1], accumulated));
    return tf_set_variable(op, v[0], f_add(b, v[0]->value, step));
  }
  accumulated = f_add(b, accumulated, gradient);
  expr_t step = f_mul(b, rate, accumulated);
  if (nesterov) step = f_add(b, scaled, f_mul(b, f_mul(b, accumulated, momentum), rate));
  HR_TRY(tf_set_variable(op, v[1], accumulated));
  return tf_set_variable(op, v[0], f_sub(b, v[0]->value, step));
}

/* Inputs: var, m, v, beta1_power, beta2_power, lr, beta1, beta2, epsilon, grad
 * rate = lr sqrt(1 - beta2_power) / (1 - beta1_power); m and v are moving averages of grad and
 * grad^2; var -= rate m / (sqrt(v) + epsilon). With use_nesterov m is replaced by m beta1 + (1 -
 * beta1) grad. */
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
  expr_t one = f_number(b, 1, gradient);
  expr_t rate = f_div(b, f_mul(b, spread(op, 5), f_sqrt(b, f_sub(b, one, beta2_power))),
                      f_sub(b, one, beta1_power));
  expr_t m = f_add(b, v[1]->value, f_mul(b, f_sub(b, gradient, v[1]->value), f_sub(b, one, beta1)));
  expr_t squares = f_sub(b, f_mul(b, gradient, gradient), v[2]->value);
  expr_t second = f_add(b, v[2]->value, f_mul(b, squares, f_sub(b, one, beta2)));
  expr_t numerator = m;
  if (nesterov) numerator = f_add(b, f_mul(b, m, beta1), f_mul(b, f_sub(b, one, beta1), gradient));
  expr_t step = f_div(b, f_mul(b, numerator, rate), f_add(b, f_sqrt(b, second), spread(op, 8)));
  HR_TRY(tf_set_variable(op, v[1], m));
  HR_TRY(tf_set_variable(op, v[2], second));
  return tf_set_variable(op, v[0], f_sub(b, v[0]->value, step));
}

/* Inputs: var, accum, lr, [epsilon,] grad; variant: number of the gradient's input
 * accum += grad^2; var -= lr grad / sqrt(accum). AdagradV2 adds epsilon to the root. */
hr_status_t tf_lower_apply_adagrad(tf_op_t *op) {
  tf_resource_t *v[2];
  hlo_builder_t *b = op->b;
  int at = op->row->variant;
  HR_TRY(take_variables(op, 2, v));
  expr_t gradient = tf_in(op, at);
  expr_t sum = f_add(b, v[1]->value, f_mul(b, gradient, gradient));
  expr_t root = f_sqrt(b, sum);
  if (at == 4) root = f_add(b, root, spread(op, 3));
  HR_TRY(tf_set_variable(op, v[1], sum));
  return tf_set_variable(op, v[0],
                         f_sub(b, v[0]->value, f_div(b, f_mul(b, spread(op, 2), gradient), root)));
}

/* Inputs: var, ms, mom, lr, rho, momentum, epsilon, grad
 * ms is the moving average of grad^2; mom = momentum mom + lr grad / sqrt(ms + epsilon); var -=
 * mom. */
hr_status_t tf_lower_apply_rms_prop(tf_op_t *op) {
  tf_resource_t *v[3];
  hlo_builder_t *b = op->b;
  HR_TRY(take_variables(op, 3, v));
  expr_t gradient = tf_in(op, 7);
  expr_t one = f_number(b, 1, gradient);
  expr_t squares = f_sub(b, f_mul(b, gradient, gradient), v[1]->value);
  expr_t mean = f_add(b, v[1]->value, f_mul(b, squares, f_sub(b, one, spread(op, 4))));
  expr_t scaled =
      f_div(b, f_mul(b, spread(op, 3), gradient), f_sqrt(b, f_add(b, mean, spread(op, 6))));
  expr_t momentum = f_add(b, f_mul(b, v[2]->value, spread(op, 5)), scaled);
  HR_TRY(tf_set_variable(op, v[1], mean));
  HR_TRY(tf_set_variable(op, v[2], momentum));
  return tf_set_variable(op, v[0], f_sub(b, v[0]->value, momentum));
}

static expr_t square(hlo_builder_t *b, expr_t x) { return f_mul(b, x, x); }

/* old + (new - old) (1 - rate).
 * A moving average in the order of TensorFlow's rounding, not as rate old + (1 - rate) new. */
static expr_t average(hlo_builder_t *b, expr_t old, expr_t value, expr_t rate) {
  if (!rate) return NULL;
  return f_add(b, old, f_mul(b, f_sub(b, value, old), f_sub(b, f_number(b, 1, rate), rate)));
}

/* Inputs: var, m, v, beta1_power, lr, beta1, beta2, epsilon, grad
 * v = max(beta2 v, |grad|); var -= lr / (1 - beta1_power) m / (v + epsilon). */
hr_status_t tf_lower_apply_ada_max(tf_op_t *op) {
  tf_resource_t *v[3];
  hlo_builder_t *b = op->b;
  HR_TRY(take_variables(op, 3, v));
  expr_t gradient = tf_in(op, 8), power = spread(op, 3);
  if (!power) return hlo_builder_finish(b);
  expr_t m = average(b, v[1]->value, gradient, spread(op, 5));
  expr_t largest = f_max(b, f_mul(b, spread(op, 6), v[2]->value), f_abs(b, gradient));
  expr_t rate = f_div(b, spread(op, 4), f_sub(b, f_number(b, 1, power), power));
  expr_t step = f_mul(b, rate, f_div(b, m, f_add(b, largest, spread(op, 7))));
  HR_TRY(tf_set_variable(op, v[1], m));
  HR_TRY(tf_set_variable(op, v[2], largest));
  return tf_set_variable(op, v[0], f_sub(b, v[0]->value, step));
}

/* Inputs: var, accum, accum_update, lr, rho, epsilon, grad
 * accum averages grad^2 and accum_update averages update^2, both with rho; update = grad
 * sqrt(accum_update + epsilon) / sqrt(accum + epsilon) uses the old accum_update; var -= lr
 * update. */
hr_status_t tf_lower_apply_adadelta(tf_op_t *op) {
  tf_resource_t *v[3];
  hlo_builder_t *b = op->b;
  HR_TRY(take_variables(op, 3, v));
  expr_t rho = spread(op, 4), epsilon = spread(op, 5), gradient = tf_in(op, 6);
  if (!rho) return hlo_builder_finish(b);
  expr_t rest = f_sub(b, f_number(b, 1, rho), rho);
  expr_t sum = f_add(b, f_mul(b, rho, v[1]->value), f_mul(b, rest, square(b, gradient)));
  expr_t update =
      f_mul(b, f_sqrt(b, f_add(b, v[2]->value, epsilon)), f_rsqrt(b, f_add(b, sum, epsilon)));
  update = f_mul(b, update, gradient);
  expr_t updates = f_add(b, f_mul(b, rho, v[2]->value), f_mul(b, rest, square(b, update)));
  HR_TRY(tf_set_variable(op, v[1], sum));
  HR_TRY(tf_set_variable(op, v[2], updates));
  return tf_set_variable(op, v[0], f_sub(b, v[0]->value, f_mul(b, spread(op, 3), update)));
}

/* sign(x) max(|x| - by, 0).
 * The proximal operator of the L1 norm: small values become 0. */
static expr_t shrink(hlo_builder_t *b, expr_t x, expr_t by) {
  if (!x) return NULL;
  expr_t left = f_max(b, f_sub(b, f_abs(b, x), by), f_number(b, 0, x));
  return f_mul(b, hlo_build_unary(b, HLO_SIGN, x), left);
}

/* Inputs: var, sum of gradients, of their squares, grad, lr, l1, l2, global step.
 * Dual averaging: var = -lr shrink(sum, l1 step) / (l2 step lr + sqrt(squares)); the old var is
 * not used. */
hr_status_t tf_lower_apply_adagrad_da(tf_op_t *op) {
  tf_resource_t *v[3];
  hlo_builder_t *b = op->b;
  HR_TRY(take_variables(op, 3, v));
  expr_t gradient = tf_in(op, 3), rate = spread(op, 4), count = tf_in(op, 7);
  if (!gradient || !count) return hlo_builder_finish(b);
  count = hlo_build_convert(b, count, gradient->shape->dtype);
  expr_t steps = tf_broadcast_like(b, count, gradient);
  expr_t sum = f_add(b, v[1]->value, gradient);
  expr_t squares = f_add(b, v[2]->value, square(b, gradient));
  expr_t numerator = f_mul(b, rate, shrink(b, sum, f_mul(b, spread(op, 5), steps)));
  expr_t denominator = f_add(b, f_mul(b, f_mul(b, spread(op, 6), steps), rate), f_sqrt(b, squares));
  HR_TRY(tf_set_variable(op, v[1], sum));
  HR_TRY(tf_set_variable(op, v[2], squares));
  return tf_set_variable(op, v[0], f_neg(b, f_div(b, numerator, denominator)));
}

/* Inputs: var, m, lr, alpha or log of the base, sign decay, beta, grad. variant 0: AddSign, whose
 * factor is alpha + decay signs; 1: PowerSign, e^(alpha decay signs). */
hr_status_t tf_lower_apply_sign(tf_op_t *op) {
  tf_resource_t *v[2];
  hlo_builder_t *b = op->b;
  HR_TRY(take_variables(op, 2, v));
  expr_t gradient = tf_in(op, 6);
  expr_t m = average(b, v[1]->value, gradient, spread(op, 5));
  expr_t signs = f_mul(b, hlo_build_unary(b, HLO_SIGN, gradient), hlo_build_unary(b, HLO_SIGN, m));
  expr_t decayed = f_mul(b, spread(op, 4), signs);
  expr_t factor = op->row->variant ? f_exp(b, f_mul(b, spread(op, 3), decayed))
                                   : f_add(b, spread(op, 3), decayed);
  expr_t step = f_mul(b, f_mul(b, spread(op, 2), factor), gradient);
  HR_TRY(tf_set_variable(op, v[1], m));
  return tf_set_variable(op, v[0], f_sub(b, v[0]->value, step));
}

/* Inputs: var, mean, mean square, momentum, lr, rho, momentum rate, epsilon, grad.
 * The denominator is the root of the variance: mean square - mean^2 + epsilon. */
hr_status_t tf_lower_apply_centered_rms_prop(tf_op_t *op) {
  tf_resource_t *v[4];
  hlo_builder_t *b = op->b;
  HR_TRY(take_variables(op, 4, v));
  expr_t gradient = tf_in(op, 8), rho = spread(op, 5);
  expr_t squares = average(b, v[2]->value, square(b, gradient), rho);
  expr_t mean = average(b, v[1]->value, gradient, rho);
  expr_t denominator = f_add(b, f_sub(b, squares, square(b, mean)), spread(op, 7));
  expr_t scaled = f_mul(b, f_mul(b, spread(op, 4), gradient), f_rsqrt(b, denominator));
  expr_t momentum = f_add(b, f_mul(b, v[3]->value, spread(op, 6)), scaled);
  HR_TRY(tf_set_variable(op, v[1], mean));
  HR_TRY(tf_set_variable(op, v[2], squares));
  HR_TRY(tf_set_variable(op, v[3], momentum));
  return tf_set_variable(op, v[0], f_sub(b, v[0]->value, momentum));
}

/* Inputs: var, accum, linear, grad, lr, l1, l2, [l2_shrinkage,] lr_power; variant 1: with it.
 * With p = -lr_power: sigma = (accum'^p - accum^p) / lr; linear += grad - sigma var; var =
 * (sign(linear) l1 - linear) / (accum'^p / lr + 2 l2) where |linear| > l1, else 0. V2 adds 2
 * l2_shrinkage var to the gradient. multiply_linear_by_lr keeps the linear term times lr, so
 * that lr = 0 does not divide. */
hr_status_t tf_lower_apply_ftrl(tf_op_t *op) {
  tf_resource_t *v[3];
  hlo_builder_t *b = op->b;
  bool scaled;
  HR_TRY(take_variables(op, 3, v));
  HR_TRY(tf_attr_bool(op->arena, op->node, "multiply_linear_by_lr", false, &scaled));
  expr_t gradient = tf_in(op, 3), rate = spread(op, 4), l1 = spread(op, 5), l2 = spread(op, 6);
  expr_t power = f_neg(b, spread(op, op->row->variant ? 8 : 7)), used = gradient;
  if (!gradient || !power || !l2) return hlo_builder_finish(b);
  expr_t two = f_number(b, 2, gradient);
  if (op->row->variant)
    used = f_add(b, gradient, f_mul(b, f_mul(b, two, spread(op, 7)), v[0]->value));
  expr_t sum = f_add(b, v[1]->value, square(b, gradient));
  expr_t root = f_pow(b, sum, power);
  expr_t drift = f_mul(b, f_sub(b, root, f_pow(b, v[1]->value, power)), v[0]->value);
  expr_t quadratic = f_mul(b, two, l2), linear;
  if (scaled) {
    linear = f_sub(b, f_add(b, v[2]->value, f_mul(b, used, rate)), drift);
    quadratic = f_add(b, root, f_mul(b, quadratic, rate));
    l1 = f_mul(b, l1, rate);
  } else {
    linear = f_sub(b, f_add(b, v[2]->value, used), f_div(b, drift, rate));
    quadratic = f_add(b, f_div(b, root, rate), quadratic);
  }
  if (!linear) return hlo_builder_finish(b);
  expr_t pull = f_sub(b, f_mul(b, hlo_build_unary(b, HLO_SIGN, linear), l1), linear);
  expr_t moved =
      f_select(b, f_gt(b, f_abs(b, linear), l1), f_div(b, pull, quadratic), f_number(b, 0, linear));
  HR_TRY(tf_set_variable(op, v[1], sum));
  HR_TRY(tf_set_variable(op, v[2], linear));
  return tf_set_variable(op, v[0], moved);
}

/* Inputs: var, [accum,] lr, l1, l2, grad; variant 1: with the sum of squares.
 * ProximalGradientDescent and ProximalAdagrad: a step of gradient descent, then shrinking by lr
 * l1 and division by 1 + lr l2. Adagrad divides lr by the root of the sum of squares first. */
hr_status_t tf_lower_apply_proximal(tf_op_t *op) {
  tf_resource_t *v[2];
  hlo_builder_t *b = op->b;
  int more = op->row->variant;
  HR_TRY(take_variables(op, 1 + more, v));
  expr_t gradient = tf_in(op, 4 + more), rate = spread(op, 1 + more);
  if (!rate) return hlo_builder_finish(b);
  expr_t sum = more ? f_add(b, v[1]->value, square(b, gradient)) : NULL;
  if (more) rate = f_mul(b, rate, f_rsqrt(b, sum));
  expr_t near = f_sub(b, v[0]->value, f_mul(b, rate, gradient));
  expr_t left = shrink(b, near, f_mul(b, rate, spread(op, 2 + more)));
  expr_t scale = f_add(b, f_number(b, 1, rate), f_mul(b, spread(op, 3 + more), rate));
  if (more) HR_TRY(tf_set_variable(op, v[1], sum));
  return tf_set_variable(op, v[0], f_div(b, left, scale));
}
