/* The derivative of softplus(x) = log(1 + e^x), in the form that derivatives of logaddexp(x, 0)
 * have:
 *
 *   e^(finite(x) - finite(softplus(x)))   ->   logistic(x)
 *
 *   softplus(x)   max(x, 0) + log1p(e^-|x|), where x is NaN x
 *   finite(y)     0 where y is +infinity, else y
 *
 * Equal at infinities and NaN. The original difference loses digits, logistic does not. */
#include "passes/simplify/simplify.h"

#include <math.h>

/* The other operand of a binary op with an operand equal to this number; NULL: none. */
static hlo_instr_t *beside_number(const hlo_instr_t *instr, double number) {
  for (int k = 0; k < 2; k++)
    if (pass_is_number(instr->operands[k], number)) return instr->operands[1 - k];
  return NULL;
}

static bool compares(const hlo_instr_t *instr, int direction) {
  return instr->op == HLO_COMPARE && (int)hlo_attr_enum(instr, HLO_ATTR_DIRECTION) == direction;
}

/* y, if `instr` is finite(y); else NULL. */
static hlo_instr_t *finite_of(hlo_instr_t *instr) {
  if (instr->op != HLO_SELECT || !pass_is_number(instr->operands[1], 0)) return NULL;
  hlo_instr_t *y = instr->operands[2];
  const hlo_instr_t *is_infinite = instr->operands[0];
  bool fits = compares(is_infinite, HLO_DIRECTION_EQ) && beside_number(is_infinite, INFINITY) == y;
  return fits ? y : NULL;
}

/* x without negations and additions of zero. */
static const hlo_instr_t *bare(const hlo_instr_t *x) {
  while (x->op == HLO_NEGATE || x->op == HLO_ADD || x->op == HLO_SUBTRACT) {
    const hlo_instr_t *next = x->op == HLO_NEGATE ? x->operands[0] : beside_number(x, 0);
    if (!next) break;
    x = next;
  }
  return x;
}

/* Is it log1p(e^-|x|)? */
static bool is_tail(const hlo_instr_t *instr, const hlo_instr_t *x) {
  static const hlo_opcode_t ops[] = {HLO_LOG_PLUS_ONE, HLO_EXPONENTIAL, HLO_NEGATE, HLO_ABS};
  for (size_t i = 0; i < sizeof ops / sizeof *ops; i++, instr = instr->operands[0])
    if (instr->op != ops[i]) return false;
  return bare(instr) == bare(x);
}

/* Is it max(x, 0) + log1p(e^-|x|)? */
static bool is_sum(const hlo_instr_t *instr, const hlo_instr_t *x) {
  for (int k = 0; k < 2 && instr->op == HLO_ADD; k++) {
    const hlo_instr_t *most = instr->operands[1 - k];
    if (most->op == HLO_MAXIMUM && beside_number(most, 0) == x && is_tail(instr->operands[k], x))
      return true;
  }
  return false;
}

static bool is_softplus(const hlo_instr_t *instr, const hlo_instr_t *x) {
  if (instr->op != HLO_SELECT) return is_sum(instr, x);
  const hlo_instr_t *is_nan = instr->operands[0];
  return compares(is_nan, HLO_DIRECTION_NE) && is_nan->operands[0] == is_nan->operands[1] &&
         bare(is_nan->operands[0]) == bare(x) && bare(instr->operands[1]) == bare(x) &&
         is_sum(instr->operands[2], x);
}

hlo_instr_t *simplify_softplus(pass_rewrite_t *rewrite, hlo_instr_t *instr) {
  if (instr->op != HLO_EXPONENTIAL || instr->operands[0]->op != HLO_SUBTRACT) return NULL;
  hlo_instr_t *x = finite_of(instr->operands[0]->operands[0]);
  hlo_instr_t *y = finite_of(instr->operands[0]->operands[1]);
  bool fits = x && y && pass_is_plain_float(instr->shape->dtype) && is_softplus(y, x);
  return fits ? hlo_build_unary(&rewrite->builder, HLO_LOGISTIC, x) : NULL;
}
