/* Elementwise operations. Binary ones broadcast as NumPy does. Division by zero, NaN and integer
 * rules are TensorFlow's: FloorDiv and FloorMod round to minus infinity, TruncateDiv to zero. */
#include "tf/lower/tf_elementwise.h"

#include <math.h>

#include "stablehlo/import/import_formula.h"
#include "tf/lower/tf_list.h"
#include "tf/compile/tf_lower.h"

/* --- one operand --- */

/* Operations that HLO has too: Abs, Exp, Tanh, Sign, Floor and others; the variant is the
 * opcode. */
hr_status_t tf_lower_unary(tf_op_t *op) {
  return tf_out(op, 0, hlo_build_unary(op->b, (hlo_opcode_t)op->row->variant, tf_in(op, 0)));
}

/* Round of integers changes nothing.
 * Round and Rint of floats: halves go to the even neighbour. */
hr_status_t tf_lower_round(tf_op_t *op) {
  expr_t x = tf_in(op, 0);
  bool is_float = x && hr_dtype_is_float(x->shape->dtype);
  return tf_out(op, 0, is_float ? hlo_build_unary(op->b, HLO_ROUND_NEAREST_EVEN, x) : x);
}

/* Selu(x) = s x for x > 0, else s a (e^x - 1), with s = 1.0507... and s a = 1.7580..., the fixed
 * constants of Klambauer et al., which keep mean and variance of a network's layers. */
static expr_t selu(hlo_builder_t *b, expr_t x) {
  expr_t negative = hlo_build_unary(b, HLO_EXPONENTIAL_MINUS_ONE, x);
  negative = f_mul(b, f_number(b, 1.7580993408473768599402175208123, x), negative);
  expr_t positive = f_mul(b, f_number(b, 1.0507009873554804934193349852946, x), x);
  return f_select(b, f_gt(b, x, f_number(b, 0, x)), positive, negative);
}

/* log(1 + e^x) = max(x, 0) + log1p(e^-|x|), which does not overflow. */
static expr_t softplus(hlo_builder_t *b, expr_t x) {
  expr_t tail = hlo_build_unary(b, HLO_LOG_PLUS_ONE, f_exp(b, f_neg(b, f_abs(b, x))));
  return f_add(b, f_max(b, x, f_number(b, 0, x)), tail);
}

/* Angle of TensorFlow: atan2(imag, real), in radians within [-pi, pi]. */
static expr_t angle(hlo_builder_t *b, expr_t x) {
  return hlo_build_binary(b, HLO_ATAN2, hlo_build_unary(b, HLO_IMAG, x),
                          hlo_build_unary(b, HLO_REAL, x));
}

/* The quantile of the normal distribution, by the inverse of the error function.
 * ndtri(p) = sqrt(2) erfinv(2 p - 1). */
static expr_t ndtri(hlo_builder_t *b, expr_t x) {
  expr_t at = f_sub(b, f_mul(b, x, f_number(b, 2, x)), f_number(b, 1, x));
  expr_t y = at ? f_in_wide_type(b, formula_erf_inv, 1, &at) : NULL;
  return y ? f_mul(b, y, f_number(b, 1.4142135623730950488, y)) : NULL;
}

/* Constants take the type of x. IsNan is x != x, as NaN alone differs from itself. */
static expr_t unary_formula(hlo_builder_t *b, int which, expr_t x) {
  switch ((tf_formula_t)which) {
    case TF_SQUARE:
      return f_mul(b, x, x);
    case TF_RECIPROCAL:
      return f_div(b, f_number(b, 1, x), x);
    case TF_RELU:
      return f_max(b, x, f_number(b, 0, x));
    case TF_RELU6:
      return f_min(b, f_max(b, x, f_number(b, 0, x)), f_number(b, 6, x));
    case TF_ELU:
      return f_select(b, f_gt(b, x, f_number(b, 0, x)), x,
                      hlo_build_unary(b, HLO_EXPONENTIAL_MINUS_ONE, x));
    case TF_SELU:
      return selu(b, x);
    case TF_SOFTPLUS:
      return softplus(b, x);
    case TF_SOFTSIGN:
      return f_div(b, x, f_add(b, f_number(b, 1, x), f_abs(b, x)));
    case TF_IS_INF:
      return f_eq(b, f_abs(b, x), f_number(b, INFINITY, x));
    case TF_IS_NAN:
      return f_ne(b, x, x);
    case TF_ONES:
      return f_number(b, 1, x);
    case TF_CONJ:
      return tf_conjugate(b, x);
    case TF_ANGLE:
      return angle(b, x);
    case TF_TO_BOOL:
      if (x->shape->rank) return tf_scalar(b, hlo_shape_elements(x->shape) > 0, HR_PRED);
      return f_ne(b, x, f_number(b, 0, x));
    case TF_NDTRI:
      return ndtri(b, x);
    default:
      return NULL;
  }
}

hr_status_t tf_lower_formula(tf_op_t *op) {
  expr_t x = tf_in(op, 0);
  return tf_out(op, 0, x ? unary_formula(op->b, op->row->variant, x) : NULL);
}

/* Special functions, in f32 for narrower types.
 * Zeta, Polygamma and others of two operands broadcast like binary operations. */
hr_status_t tf_lower_special(tf_op_t *op) {
  static const formula_fn formulas[] = {
      [TF_ERFC] = formula_erfc,     [TF_ERFINV] = formula_erf_inv,
      [TF_LGAMMA] = formula_lgamma, [TF_DIGAMMA] = formula_digamma,
      [TF_ZETA] = formula_zeta,     [TF_POLYGAMMA] = formula_polygamma,
      [TF_I1E] = formula_bessel_i1e};
  expr_t x[2] = {tf_in(op, 0), NULL};
  if (op->input_count > 1) {
    x[1] = tf_in(op, 1);
    tf_broadcast_pair(op->b, &x[0], &x[1]);
  }
  if (!x[0]) return hlo_builder_finish(op->b);
  return tf_out(op, 0, f_in_wide_type(op->b, formulas[op->row->variant], op->input_count, x));
}

/* max(x, alpha x) for alpha of at most 1, as TensorFlow defines LeakyRelu.
 * LeakyRelu has input x. LeakyReluGrad (variant 1) has gradients and features: the gradient
 * passes where the feature is positive and is scaled by alpha elsewhere. */
hr_status_t tf_lower_leaky_relu(tf_op_t *op) {
  double alpha;
  HR_TRY(tf_attr_float(op->arena, op->node, "alpha", 0.2, &alpha));
  bool is_gradient = op->row->variant;
  expr_t x = tf_in(op, is_gradient ? 1 : 0);
  expr_t y = is_gradient ? tf_in(op, 0) : x;
  if (!x || !y) return hlo_builder_finish(op->b);
  expr_t scaled = f_mul(op->b, y, f_number(op->b, alpha, y));
  return tf_out(op, 0, f_select(op->b, f_gt(op->b, x, f_number(op->b, 0, x)), y, scaled));
}

/* --- gradients of activations: inputs as TensorFlow has them --- */

/* --- two operands --- */

/* Both operands at their joint shape; false after a failure, which the builder has. */
static bool take_pair(tf_op_t *op, expr_t *x, expr_t *y) {
  *x = tf_in(op, 0);
  *y = tf_in(op, 1);
  tf_broadcast_pair(op->b, x, y);
  return *x && *y;
}

/* Add, Mul, Pow and others; the variant is the opcode. Integer Div rounds to zero. */
hr_status_t tf_lower_binary(tf_op_t *op) {
  expr_t x, y;
  if (op->row->variant == HLO_ADD && tf_has_list(op)) return tf_add_lists(op);
  if (!take_pair(op, &x, &y)) return hlo_builder_finish(op->b);
  return tf_out(op, 0, hlo_build_binary(op->b, (hlo_opcode_t)op->row->variant, x, y));
}

/* Less, Equal and others; the variant is the direction. The result is pred. */
hr_status_t tf_lower_compare(tf_op_t *op) {
  expr_t x, y;
  if (!take_pair(op, &x, &y)) return hlo_builder_finish(op->b);
  return tf_out(op, 0, hlo_build_compare(op->b, (hlo_enum_DIRECTION_t)op->row->variant, x, y));
}

/* FloorDiv. Quotient rounded down: one less than truncated if the signs differ and there is a
 * remainder. Unsigned quotients are rounded down already; complex ones are left as they are. */
static expr_t floor_div(hlo_builder_t *b, expr_t x, expr_t y) {
  if (hr_dtype_is_complex(x->shape->dtype)) return f_div(b, x, y);
  if (hr_dtype_is_float(x->shape->dtype)) return f_floor(b, f_div(b, x, y));
  expr_t quotient = f_div(b, x, y);
  if (hr_dtype_class(x->shape->dtype) == HR_CLASS_UNSIGNED) return quotient;
  expr_t zero = f_number(b, 0, x);
  expr_t inexact = f_ne(b, f_mul(b, quotient, y), x);
  expr_t opposite = f_ne(b, f_lt(b, x, zero), f_lt(b, y, zero));
  return f_select(b, f_and(b, inexact, opposite), f_sub(b, quotient, f_number(b, 1, x)), quotient);
}

/* Quotient rounded to zero, which integers have by themselves. */
static expr_t truncate_div(hlo_builder_t *b, expr_t x, expr_t y) {
  expr_t quotient = f_div(b, x, y);
  if (!hr_dtype_is_float(x->shape->dtype)) return quotient;
  expr_t below = f_floor(b, quotient), above = hlo_build_unary(b, HLO_CEIL, quotient);
  return f_select(b, f_lt(b, quotient, f_number(b, 0, x)), above, below);
}

/* FloorMod. Remainder with the sign of the divisor: x - floor(x / y) y. It is the truncated
 * remainder plus y if the signs differ. */
static expr_t floor_mod(hlo_builder_t *b, expr_t x, expr_t y) {
  expr_t remainder = f_rem(b, x, y);
  if (hr_dtype_class(x->shape->dtype) == HR_CLASS_UNSIGNED) return remainder;
  expr_t zero = f_number(b, 0, x);
  expr_t opposite = f_ne(b, f_lt(b, remainder, zero), f_lt(b, y, zero));
  expr_t adjust = f_and(b, f_ne(b, remainder, zero), opposite);
  return f_select(b, adjust, f_add(b, remainder, y), remainder);
}

/* 0 where x is 0, else the other factor's value times x.
 * The limits of x log(y) and x / y for x = 0 are 0 here by definition, also where y gives NaN. */
static expr_t x_times(hlo_builder_t *b, expr_t x, expr_t value) {
  expr_t zero = f_number(b, 0, x);
  return f_select(b, f_eq(b, x, zero), zero, value);
}

/* RightShift keeps the sign of signed numbers. SquaredDifference of complex numbers is |x -
 * y|^2. */
static expr_t binary_formula(tf_op_t *op, expr_t x, expr_t y) {
  hlo_builder_t *b = op->b;
  expr_t zero = f_number(b, 0, y);
  switch ((tf_formula_t)op->row->variant) {
    case TF_FLOOR_DIV:
      return floor_div(b, x, y);
    case TF_TRUNCATE_DIV:
      return truncate_div(b, x, y);
    case TF_FLOOR_MOD:
      return floor_mod(b, x, y);
    case TF_SQUARED_DIFFERENCE: {
      expr_t difference = f_sub(b, x, y);
      return f_mul(b, difference,
                   hr_dtype_is_complex(x->shape->dtype) ? tf_conjugate(b, difference) : difference);
    }
    case TF_DIV_NO_NAN:
      return f_select(b, f_eq(b, y, zero), zero, f_div(b, x, y));
    case TF_MUL_NO_NAN:
      return f_select(b, f_eq(b, y, zero), zero, f_mul(b, x, y));
    case TF_XDIVY:
      return x_times(b, x, f_div(b, x, y));
    case TF_XLOGY:
      return x_times(b, x, f_mul(b, x, f_log(b, y)));
    case TF_XLOG1PY:
      return x_times(b, x, f_mul(b, x, hlo_build_unary(b, HLO_LOG_PLUS_ONE, y)));
    case TF_RIGHT_SHIFT:
      return hlo_build_binary(b,
                              hr_dtype_class(x->shape->dtype) == HR_CLASS_UNSIGNED
                                  ? HLO_SHIFT_RIGHT_LOGICAL
                                  : HLO_SHIFT_RIGHT_ARITHMETIC,
                              x, y);
    default:
      return NULL;
  }
}

hr_status_t tf_lower_binary_formula(tf_op_t *op) {
  expr_t x, y;
  if (!take_pair(op, &x, &y)) return hlo_builder_finish(op->b);
  return tf_out(op, 0, binary_formula(op, x, y));
}

/* |x - y| < tolerance, attribute tolerance. */
hr_status_t tf_lower_approximate_equal(tf_op_t *op) {
  double tolerance;
  expr_t x, y;
  HR_TRY(tf_attr_float(op->arena, op->node, "tolerance", 1e-5, &tolerance));
  if (!take_pair(op, &x, &y)) return hlo_builder_finish(op->b);
  expr_t distance = f_abs(op->b, f_sub(op->b, x, y));
  if (!distance) return hlo_builder_finish(op->b);
  return tf_out(op, 0, f_lt(op->b, distance, f_number(op->b, tolerance, distance)));
}

/* AddN: the sum of n arrays of one shape, or of lists. */
hr_status_t tf_lower_add_n(tf_op_t *op) {
  if (tf_has_list(op)) return tf_add_lists(op);
  expr_t sum = tf_in(op, 0);
  for (int k = 1; k < op->input_count; k++) sum = f_add(op->b, sum, tf_in(op, k));
  return tf_out(op, 0, sum);
}

/* --- types and choices --- */

/* Select: a condition of rank 1 chooses whole rows. SelectV2: all three broadcast. */
hr_status_t tf_lower_select(tf_op_t *op) {
  hlo_builder_t *b = op->b;
  expr_t pred = tf_in(op, 0);
  expr_t x = tf_in(op, 1);
  expr_t y = tf_in(op, 2);
  if (!pred || !x || !y) return hlo_builder_finish(b);
  /* Select with a vector condition means row i of x or of y: the vector becomes a column. */
  if (!op->row->variant && pred->shape->rank == 1 && x->shape->rank > 1) {
    int64_t dims[HLO_MAX_RANK] = {pred->shape->dims[0]};
    for (int d = 1; d < x->shape->rank; d++) dims[d] = 1;
    pred = tf_reshape(b, pred, x->shape->rank, dims);
  }
  tf_broadcast_pair(b, &x, &y);
  tf_broadcast_pair(b, &pred, &x);
  tf_broadcast_pair(b, &pred, &y);
  return tf_out(op, 0, f_select(b, pred, x, y));
}

/* ClipByValue: min(max(x, low), high); bounds are scalars or arrays. */
hr_status_t tf_lower_clip(tf_op_t *op) {
  expr_t x = tf_in(op, 0);
  expr_t low = tf_in(op, 1);
  expr_t high = tf_in(op, 2);
  tf_broadcast_pair(op->b, &x, &low);
  expr_t result = f_max(op->b, x, low);
  tf_broadcast_pair(op->b, &result, &high);
  return tf_out(op, 0, f_min(op->b, result, high));
}

/* Identity, StopGradient, CheckNumerics and their like. All inputs pass through, of any kind.
 * Constants, lists and resources keep the facts about them. */
hr_status_t tf_lower_identity(tf_op_t *op) {
  HR_TRY(tf_need_outputs(op, op->input_count));
  for (int k = 0; k < op->input_count; k++) op->outputs[k] = *op->inputs[k];
  /* Reading a reference variable gives its present value. */
  if (op->row->variant && op->inputs[0]->kind == TF_VALUE_RESOURCE &&
      op->inputs[0]->resource->node && hr_str_is(op->inputs[0]->resource->node->op, "VariableV2"))
    return tf_out(op, 0, tf_in(op, 0));
  return NULL;
}

/* NoOp, Assert and others that have effects on the host only: they have no output value. */
hr_status_t tf_lower_nothing(tf_op_t *op) {
  (void)op;
  return NULL;
}

/* StringFormat, AsString, StringJoin: texts of messages, which only PrintV2, Assert and their like
 * may take. */
hr_status_t tf_lower_text(tf_op_t *op) {
  HR_TRY(tf_need_outputs(op, 1));
  op->outputs[0] = (tf_value_t){.kind = TF_VALUE_STRINGS};
  return NULL;
}

/* Placeholder without a feed.
 * Fed placeholders are never lowered, as a fed node counts as executed. */
hr_status_t tf_lower_placeholder(tf_op_t *op) {
  return tf_error(op, "the placeholder %.*s is not fed", HR_STR_ARGS(op->node->name));
}

/* --- bits of numbers --- */

/* PopulationCount. Set bits of each number, as u8. */
hr_status_t tf_lower_popcount(tf_op_t *op) {
  expr_t x = hlo_build_unary(op->b, HLO_POPCNT, tf_in(op, 0));
  return tf_out(op, 0, x ? hlo_build_convert(op->b, x, HR_U8) : NULL);
}

/* The bits of x read as another type of the same size. */
static expr_t same_bits(hlo_builder_t *b, expr_t x, hr_dtype_t dtype) {
  const hlo_shape_t *shape = x ? tf_shape(b, dtype, x->shape->rank, x->shape->dims) : NULL;
  return shape ? hlo_build(b, HLO_BITCAST_CONVERT, shape, 1, &x, 0, NULL, 0, NULL) : NULL;
}

/* NextAfter. The neighbouring number of x towards y. The bit patterns of finite floats of one sign
 * are ordered like their magnitudes, so that the neighbour differs by 1. Away from zero the pattern
 * grows. From 0 the neighbour is the least subnormal with the sign of y. Equal operands give y, and
 * NaN gives NaN. */
hr_status_t tf_lower_next_after(tf_op_t *op) {
  hlo_builder_t *b = op->b;
  expr_t x, y;
  if (!take_pair(op, &x, &y)) return hlo_builder_finish(b);
  hr_dtype_t dtype = x->shape->dtype;
  if (dtype != HR_F64 && dtype != HR_F32) return tf_unsupported(op, "this type");
  expr_t bits = same_bits(b, x, dtype == HR_F64 ? HR_S64 : HR_S32);
  if (!bits) return hlo_builder_finish(b);
  expr_t one = f_number(b, 1, bits), zero = f_number(b, 0, x);
  expr_t away = f_eq(b, f_gt(b, y, x), f_gt(b, x, zero));
  expr_t moved = f_select(b, away, f_add(b, bits, one), f_sub(b, bits, one));
  expr_t least = same_bits(b, one, dtype);
  expr_t from_zero = f_select(b, f_gt(b, y, zero), least, f_neg(b, least));
  expr_t result = f_select(b, f_eq(b, x, zero), from_zero, same_bits(b, moved, dtype));
  result = f_select(b, f_eq(b, x, y), y, result);
  expr_t is_nan = f_or(b, f_ne(b, x, x), f_ne(b, y, y));
  return tf_out(op, 0, f_select(b, is_nan, f_add(b, x, y), result));
}
