/* Arithmetic identities:
 *
 *   x + 0, x * 1, x / 1   ->   x                  (x + c) + d   ->   x + (c + d)      integers
 *   x / 4                 ->   x * 0.25           x ^ 2, x ^ 3  ->   x * x, x * x * x
 *   x / 8, x % 8          ->   x >> 3, x & 7      unsigned
 *
 * Exact in every bit, NaN payloads aside, except powers, whose last place may differ from pow().
 * Signed zeros are respected: x + 0 is not x where x is -0. */
#include <math.h>

#include "passes/simplify/simplify.h"

static bool is_integer(const hlo_instr_t *instr) {
  return hr_dtype_is_integer(instr->shape->dtype);
}
static bool is_float(const hlo_instr_t *instr) { return pass_is_plain_float(instr->shape->dtype); }

static hlo_instr_t *number_like(pass_rewrite_t *rewrite, double number, hlo_instr_t *like) {
  return hlo_build_number_like(&rewrite->builder, number, like);
}

static hlo_instr_t *build(pass_rewrite_t *rewrite, hlo_opcode_t op, hlo_instr_t *x,
                          hlo_instr_t *y) {
  return hlo_build_binary(&rewrite->builder, op, x, y);
}

static hlo_instr_t *negate(pass_rewrite_t *rewrite, hlo_instr_t *x) {
  return hlo_build_unary(&rewrite->builder, HLO_NEGATE, x);
}

/* (x op c) op d is x op (c op d) for integers, which wrap around. */
static hlo_instr_t *reassociate_constants(pass_rewrite_t *rewrite, hlo_instr_t *instr) {
  for (int k = 0; k < 2; k++) {
    hlo_instr_t *inner = instr->operands[k], *outer = instr->operands[1 - k];
    if (inner->op != instr->op || !pass_splat_of(outer)) continue;
    for (int j = 0; j < 2; j++)
      if (pass_splat_of(inner->operands[j]) && !pass_splat_of(inner->operands[1 - j]))
        return build(rewrite, instr->op, inner->operands[1 - j],
                     build(rewrite, instr->op, inner->operands[j], outer));
  }
  return NULL;
}

/* ---- sums ---- */

/* x + -0 is x; x + 0 is not x if x is -0. */
static hlo_instr_t *simplify_add(pass_rewrite_t *rewrite, hlo_instr_t *instr) {
  for (int k = 0; k < 2; k++) {
    hlo_instr_t *x = instr->operands[k], *y = instr->operands[1 - k];
    if (pass_is_number(y, is_float(instr) ? -0.0 : 0.0)) return x;
    if (is_float(instr) && pass_is_number(y, 0.0) && pass_never_minus_zero(x)) return x;
    bool is_folded =
        y->op == HLO_NEGATE &&
        pass_splat_of(y->operands[0]); /* folded soon; otherwise the rules would alternate */
    if (y->op == HLO_NEGATE && !is_folded && (is_integer(instr) || is_float(instr)))
      return build(rewrite, HLO_SUBTRACT, x, y->operands[0]);
  }
  return is_integer(instr) ? reassociate_constants(rewrite, instr) : NULL;
}

/* 0 - y is -y for integers; for floats only -0 - y is, since 0 - 0 is +0. */
static hlo_instr_t *simplify_subtract(pass_rewrite_t *rewrite, hlo_instr_t *instr) {
  hlo_instr_t *x = instr->operands[0], *y = instr->operands[1];
  if (pass_is_number(y, 0.0)) return x;
  if (pass_is_number(x, is_float(instr) ? -0.0 : 0.0)) return negate(rewrite, y);
  if (y->op == HLO_NEGATE && (is_integer(instr) || is_float(instr)))
    return build(rewrite, HLO_ADD, x, y->operands[0]);
  if (!is_integer(instr)) return NULL;
  if (x == y) return number_like(rewrite, 0, x);
  return pass_splat_of(y) && !pass_splat_of(x) ? build(rewrite, HLO_ADD, x, negate(rewrite, y))
                                               : NULL;
}

/* -(x - y) is y - x for integers; for floats the sign of a zero would change. */
static hlo_instr_t *simplify_negate(pass_rewrite_t *rewrite, hlo_instr_t *instr) {
  hlo_instr_t *x = instr->operands[0];
  if (x->op == HLO_NEGATE) return x->operands[0];
  if (is_integer(instr) && x->op == HLO_SUBTRACT)
    return build(rewrite, HLO_SUBTRACT, x->operands[1], x->operands[0]);
  return NULL;
}

/* ---- products ---- */

/* x * 0 is 0 only for integers: floats may be NaN or infinite. */
static hlo_instr_t *simplify_multiply(pass_rewrite_t *rewrite, hlo_instr_t *instr) {
  for (int k = 0; k < 2; k++) {
    hlo_instr_t *x = instr->operands[k], *y = instr->operands[1 - k];
    if (pass_is_number(y, 1)) return x;
    if (is_integer(instr) && pass_is_number(y, 0)) return y;
    if (is_float(instr) && pass_is_number(y, -1)) return negate(rewrite, x);
  }
  hlo_instr_t *x = instr->operands[0], *y = instr->operands[1];
  if (is_float(instr) && x->op == HLO_NEGATE && y->op == HLO_NEGATE)
    return build(rewrite, HLO_MULTIPLY, x->operands[0], y->operands[0]);
  return is_integer(instr) ? reassociate_constants(rewrite, instr) : NULL;
}

/* Is x a power of two with a normal inverse? Multiplying by the inverse is then exact. */
static bool has_exact_inverse(hr_dtype_t dtype, double x) {
  int exponent;
  const hr_float_format_t *format = hr_float_format(dtype);
  if (!format || !isfinite(x) || fabs(frexp(x, &exponent)) != 0.5) return false;
  return 1 - exponent > 1 - format->bias && 1 - exponent < format->bias;
}

/* Division by a power of two becomes a shift. */
static hlo_instr_t *divide_unsigned(pass_rewrite_t *rewrite, hlo_instr_t *instr, uint64_t divisor) {
  if (!divisor || (divisor & (divisor - 1))) return NULL;
  hlo_instr_t *bits = number_like(rewrite, __builtin_ctzll(divisor), instr->operands[0]);
  return build(rewrite, HLO_SHIFT_RIGHT_LOGICAL, instr->operands[0], bits);
}

/* The inverse of a number is exact for powers of two within the type's range. */
static hlo_instr_t *simplify_divide(pass_rewrite_t *rewrite, hlo_instr_t *instr) {
  hlo_instr_t *x = instr->operands[0], *y = instr->operands[1];
  double number;
  int64_t integer;
  if (pass_is_number(y, 1)) return x;
  if (pass_splat_float(y, &number) && number == -1) return negate(rewrite, x);
  if (pass_splat_float(y, &number) && has_exact_inverse(instr->shape->dtype, number))
    return build(rewrite, HLO_MULTIPLY, x, number_like(rewrite, 1 / number, x));
  if (hr_dtype_class(instr->shape->dtype) == HR_CLASS_UNSIGNED && pass_splat_int(y, &integer))
    return divide_unsigned(rewrite, instr, (uint64_t)integer);
  return NULL;
}

/* x % 2^k is x & (2^k - 1). */
static hlo_instr_t *simplify_remainder(pass_rewrite_t *rewrite, hlo_instr_t *instr) {
  hlo_instr_t *x = instr->operands[0], *y = instr->operands[1];
  int64_t integer;
  if (hr_dtype_class(instr->shape->dtype) != HR_CLASS_UNSIGNED || !pass_splat_int(y, &integer))
    return NULL;
  if (integer <= 0 || integer >= 1 << 24 || (integer & (integer - 1))) return NULL;
  return build(rewrite, HLO_AND, x, number_like(rewrite, (double)(integer - 1), x));
}

/* pow(x, 0.5) is not the square root: they differ at -0 and at minus infinity. */
static hlo_instr_t *simplify_power(pass_rewrite_t *rewrite, hlo_instr_t *instr) {
  hlo_instr_t *x = instr->operands[0], *y = instr->operands[1];
  bool real = is_float(instr);
  if (!real && !is_integer(instr)) return NULL;
  if (pass_is_number(y, 1)) return x;
  if (pass_is_number(y, 0)) return number_like(rewrite, 1, x);
  if (pass_is_number(y, 2)) return build(rewrite, HLO_MULTIPLY, x, x);
  if (pass_is_number(y, 3))
    return build(rewrite, HLO_MULTIPLY, build(rewrite, HLO_MULTIPLY, x, x), x);
  return real && pass_is_number(y, -1) ? build(rewrite, HLO_DIVIDE, number_like(rewrite, 1, x), x)
                                       : NULL;
}

/* ---- extremes ---- */

/* The extremes of a type are neutral for one op; for the other they are the result, but only for
 * integers. */
static hlo_instr_t *simplify_extreme(pass_rewrite_t *rewrite, hlo_instr_t *instr) {
  bool (*is_neutral)(const hlo_instr_t *) =
      instr->op == HLO_MAXIMUM ? pass_is_lowest : pass_is_highest;
  bool (*is_final)(const hlo_instr_t *) =
      instr->op == HLO_MAXIMUM ? pass_is_highest : pass_is_lowest;
  (void)rewrite;
  if (instr->operands[0] == instr->operands[1]) return instr->operands[0];
  for (int k = 0; k < 2; k++) {
    hlo_instr_t *y = instr->operands[1 - k];
    if (is_neutral(y)) return instr->operands[k];
    if (is_integer(instr) && is_final(y)) return y;
  }
  return NULL;
}

/* |-x| is |x|. */
static hlo_instr_t *simplify_abs(pass_rewrite_t *rewrite, hlo_instr_t *instr) {
  hlo_instr_t *x = instr->operands[0];
  hr_dtype_class_t kind = hr_dtype_class(x->shape->dtype);
  if (x->op == HLO_ABS || kind == HR_CLASS_UNSIGNED)
    return x->shape->dtype == instr->shape->dtype ? x : NULL;
  bool symmetric = x->op == HLO_NEGATE && is_float(instr) && kind == HR_CLASS_FLOAT;
  return symmetric ? hlo_build_unary(&rewrite->builder, HLO_ABS, x->operands[0]) : NULL;
}

hlo_instr_t *simplify_arithmetic(pass_rewrite_t *rewrite, hlo_instr_t *instr) {
  switch (instr->op) {
    case HLO_ADD:
      return simplify_add(rewrite, instr);
    case HLO_SUBTRACT:
      return simplify_subtract(rewrite, instr);
    case HLO_NEGATE:
      return simplify_negate(rewrite, instr);
    case HLO_MULTIPLY:
      return simplify_multiply(rewrite, instr);
    case HLO_DIVIDE:
      return simplify_divide(rewrite, instr);
    case HLO_REMAINDER:
      return simplify_remainder(rewrite, instr);
    case HLO_POWER:
      return simplify_power(rewrite, instr);
    case HLO_MAXIMUM:
    case HLO_MINIMUM:
      return simplify_extreme(rewrite, instr);
    case HLO_ABS:
      return simplify_abs(rewrite, instr);
    default:
      return NULL;
  }
}
