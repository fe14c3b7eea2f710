/* Identities of bits, comparisons and selects:
 *
 *   and(p, true) -> p          not(x < y) -> x >= y   (integers)      x < y || x == y -> x <= y
 *   select(true, a, b) -> a    select(p, a, a) -> a                   shift by all bits -> 0
 *   convert(x) < 3 -> x < 3    x: narrower integers
 *
 * Exact. With NaN the negation of "less" is no comparison, so floats negate only equality. */
#include "passes/lib/pass_range.h"
#include "passes/simplify/simplify.h"

static bool is_pred(const hlo_instr_t *instr) { return instr->shape->dtype == HR_PRED; }

/* Are all bits set (pred: true)? */
static bool is_full(const hlo_instr_t *instr) {
  int64_t value;
  if (!pass_splat_int(instr, &value)) return false;
  int bits = hr_dtype_table[instr->shape->dtype].bits;
  if (is_pred(instr)) return value == 1;
  uint64_t mask = UINT64_MAX >> (64 - bits);
  return ((uint64_t)value & mask) == mask;
}

/* ---- and, or, xor, not ---- */

static hlo_instr_t *compare_with(pass_rewrite_t *rewrite, const hlo_instr_t *compare,
                                 hlo_enum_DIRECTION_t direction) {
  hlo_attr_t attrs[2] = {hlo_attr_of_int(HLO_ATTR_DIRECTION, direction)};
  const hlo_attr_t *type = hlo_attr_find(compare, HLO_ATTR_TYPE);
  if (type) attrs[1] = *type;
  return hlo_build(&rewrite->builder, HLO_COMPARE, compare->shape, 2, compare->operands,
                   type ? 2 : 1, attrs, 0, NULL);
}

static bool are_same_comparison(const hlo_instr_t *a, const hlo_instr_t *b) {
  if (a->op != HLO_COMPARE || b->op != HLO_COMPARE) return false;
  const hlo_attr_t *s = hlo_attr_find(a, HLO_ATTR_TYPE), *t = hlo_attr_find(b, HLO_ATTR_TYPE);
  bool same_type = s && t ? s->integer == t->integer : !s && !t;
  return same_type && a->operands[0] == b->operands[0] && a->operands[1] == b->operands[1];
}

/* Two comparisons of the same operands: each holds for a subset of {less, equal, greater,
 * unordered}. Their intersection or union may be the set of another comparison. */
static hlo_instr_t *join_comparisons(pass_rewrite_t *rewrite, hlo_instr_t *instr) {
  enum { LESS = 1, EQUAL = 2, GREATER = 4, NEITHER = 8 };
  static const int holds[] = {
      [HLO_DIRECTION_EQ] = EQUAL,           [HLO_DIRECTION_NE] = LESS | GREATER | NEITHER,
      [HLO_DIRECTION_GE] = GREATER | EQUAL, [HLO_DIRECTION_GT] = GREATER,
      [HLO_DIRECTION_LE] = LESS | EQUAL,    [HLO_DIRECTION_LT] = LESS};
  const hlo_instr_t *a = instr->operands[0], *b = instr->operands[1];
  if (!are_same_comparison(a, b)) return NULL;
  int can = hr_dtype_is_float(a->operands[0]->shape->dtype) ? LESS | EQUAL | GREATER | NEITHER
                                                            : LESS | EQUAL | GREATER;
  int x = holds[hlo_attr_enum(a, HLO_ATTR_DIRECTION)],
      y = holds[hlo_attr_enum(b, HLO_ATTR_DIRECTION)];
  int both = (instr->op == HLO_AND ? x & y : x | y) & can;
  for (int d = 0; d < (int)(sizeof holds / sizeof *holds); d++)
    if ((holds[d] & can) == both) return compare_with(rewrite, a, d);
  if (both && both != can) return NULL;
  return pass_build_fill(rewrite, hlo_build_number(&rewrite->builder, both != 0, HR_PRED),
                         instr->shape);
}

static hlo_instr_t *simplify_and_or(pass_rewrite_t *rewrite, hlo_instr_t *instr) {
  bool is_and = instr->op == HLO_AND;
  if (instr->operands[0] == instr->operands[1]) return instr->operands[0];
  for (int k = 0; k < 2; k++) {
    hlo_instr_t *x = instr->operands[k], *y = instr->operands[1 - k];
    if (is_and ? is_full(y) : pass_is_number(y, 0)) return x;
    if (is_and ? pass_is_number(y, 0) : is_full(y)) return y;
  }
  return join_comparisons(rewrite, instr);
}

static hlo_instr_t *simplify_xor(pass_rewrite_t *rewrite, hlo_instr_t *instr) {
  hlo_instr_t *x = instr->operands[0], *y = instr->operands[1];
  if (x == y) return hlo_build_number_like(&rewrite->builder, 0, x);
  for (int k = 0; k < 2; k++) {
    if (pass_is_number(instr->operands[1 - k], 0)) return instr->operands[k];
    if (is_full(instr->operands[1 - k]))
      return hlo_build_unary(&rewrite->builder, HLO_NOT, instr->operands[k]);
  }
  return NULL;
}

/* With NaN the negation of an ordering is no comparison: floats negate only equality. */
static bool opposite(const hlo_instr_t *compare, hlo_enum_DIRECTION_t *out_direction) {
  static const hlo_enum_DIRECTION_t opposites[] = {
      [HLO_DIRECTION_EQ] = HLO_DIRECTION_NE, [HLO_DIRECTION_NE] = HLO_DIRECTION_EQ,
      [HLO_DIRECTION_GE] = HLO_DIRECTION_LT, [HLO_DIRECTION_LT] = HLO_DIRECTION_GE,
      [HLO_DIRECTION_GT] = HLO_DIRECTION_LE, [HLO_DIRECTION_LE] = HLO_DIRECTION_GT};
  int direction = hlo_attr_enum(compare, HLO_ATTR_DIRECTION);
  hr_dtype_t dtype = compare->operands[0]->shape->dtype;
  bool ordered = hr_dtype_is_integer(dtype) || dtype == HR_PRED;
  *out_direction = opposites[direction];
  return ordered || direction == HLO_DIRECTION_EQ || direction == HLO_DIRECTION_NE;
}

static hlo_instr_t *simplify_not(pass_rewrite_t *rewrite, hlo_instr_t *instr) {
  hlo_instr_t *x = instr->operands[0];
  hlo_enum_DIRECTION_t direction;
  if (x->op == HLO_NOT) return x->operands[0];
  return x->op == HLO_COMPARE && opposite(x, &direction) ? compare_with(rewrite, x, direction)
                                                         : NULL;
}

/* Does the shift move out all bits of an iota? Its values are small, so its upper bits are zero. */
static bool shifts_all_out(const hlo_instr_t *instr) {
  const hlo_instr_t *x = instr->operands[0];
  int64_t bits;
  if (x->op != HLO_IOTA || instr->op == HLO_SHIFT_LEFT ||
      !pass_splat_int(instr->operands[1], &bits))
    return false;
  int64_t size = x->shape->dims[hlo_attr_int(x, HLO_ATTR_IOTA_DIMENSION)];
  bool fits =
      hr_dtype_table[x->shape->dtype].bits == 64 || hr_dtype_table[x->shape->dtype].bits == 32;
  return fits && size <= INT64_C(1) << 31 && bits >= 31 && bits < 64;
}

static hlo_instr_t *simplify_shift(pass_rewrite_t *rewrite, hlo_instr_t *instr) {
  if (pass_is_number(instr->operands[1], 0)) return instr->operands[0];
  if (shifts_all_out(instr)) return hlo_build_number_like(&rewrite->builder, 0, instr->operands[0]);
  bool arithmetic = instr->op == HLO_SHIFT_RIGHT_ARITHMETIC;
  return !arithmetic && pass_is_number(instr->operands[0], 0) ? instr->operands[0] : NULL;
}

/* ---- compare ---- */

/* Narrower integers of which this is the conversion, with their order; NULL: it is none. */
static hlo_instr_t *narrower(const hlo_instr_t *wide) {
  hlo_instr_t *x = wide->op == HLO_CONVERT ? wide->operands[0] : NULL;
  if (!x || !hr_dtype_is_integer(x->shape->dtype)) return NULL;
  bool keeps_sign = hr_dtype_class(x->shape->dtype) == HR_CLASS_UNSIGNED ||
                    hr_dtype_class(wide->shape->dtype) == HR_CLASS_SIGNED;
  return keeps_sign &&
                 hr_dtype_table[x->shape->dtype].bits < hr_dtype_table[wide->shape->dtype].bits
             ? x
             : NULL;
}

static bool represents(hr_dtype_t dtype, int64_t value) {
  int bits = hr_dtype_table[dtype].bits;
  bool is_unsigned = hr_dtype_class(dtype) == HR_CLASS_UNSIGNED;
  int64_t most = INT64_MAX >> (63 - bits + !is_unsigned);
  return value <= most && value >= (is_unsigned ? 0 : -most - 1);
}

/* The comparison of what was widened for it; vectors hold more of these. */
static hlo_instr_t *compare_narrower(pass_rewrite_t *rewrite, hlo_instr_t *instr) {
  hlo_builder_t *b = &rewrite->builder;
  hlo_instr_t *x = narrower(instr->operands[0]), *wide = instr->operands[1], *y = narrower(wide);
  int64_t value;
  if (!x || (!y && !pass_splat_int(wide, &value))) return NULL;
  hr_dtype_t dtype = x->shape->dtype;
  if (y ? y->shape->dtype != dtype : !represents(dtype, value)) return NULL;
  if (!y) y = hlo_build_number_like(b, (double)value, x);
  return hlo_build_compare(b, hlo_attr_enum(instr, HLO_ATTR_DIRECTION), x, y);
}

/* Comparisons of a value with itself, and of integers with the limits of their type. */
static hlo_instr_t *simplify_compare(pass_rewrite_t *rewrite, hlo_instr_t *instr) {
  hlo_instr_t *x = instr->operands[0], *y = instr->operands[1];
  int direction = hlo_attr_enum(instr, HLO_ATTR_DIRECTION);
  if (!hr_dtype_is_integer(x->shape->dtype) && !is_pred(x)) return NULL;
  bool with_equal = direction == HLO_DIRECTION_EQ || direction == HLO_DIRECTION_GE ||
                    direction == HLO_DIRECTION_LE;
  int known = x == y ? with_equal : pass_range_compare(instr, NULL, NULL);
  if (pass_is_lowest(y) && direction == HLO_DIRECTION_GE) known = 1;
  if (pass_is_lowest(y) && direction == HLO_DIRECTION_LT) known = 0;
  if (pass_is_highest(y) && direction == HLO_DIRECTION_LE) known = 1;
  if (pass_is_highest(y) && direction == HLO_DIRECTION_GT) known = 0;
  if (known >= 0)
    return pass_build_fill(rewrite, hlo_build_number(&rewrite->builder, known, HR_PRED),
                           instr->shape);
  if (is_pred(x) && direction == HLO_DIRECTION_NE && pass_is_number(y, 0)) return x;
  if (is_pred(x) && direction == HLO_DIRECTION_EQ && pass_is_number(y, 1)) return x;
  return compare_narrower(rewrite, instr);
}

/* ---- select, clamp ---- */

static hlo_instr_t *simplify_select(pass_rewrite_t *rewrite, hlo_instr_t *instr) {
  hlo_instr_t *pred = instr->operands[0], *x = instr->operands[1], *y = instr->operands[2];
  hlo_instr_t *swapped[] = {pred->op == HLO_NOT ? pred->operands[0] : NULL, y, x};
  if (x == y || is_full(pred)) return x;
  if (pass_is_number(pred, 0)) return y;
  if (swapped[0]) return pass_build_like(rewrite, instr, swapped, instr->shape);
  if (!is_pred(x) || !hlo_shape_same_dims(pred->shape, x->shape)) return NULL;
  if (is_full(x) && pass_is_number(y, 0)) return pred;
  if (pass_is_number(x, 0) && is_full(y)) return hlo_build_unary(&rewrite->builder, HLO_NOT, pred);
  return NULL;
}

static hlo_instr_t *simplify_clamp(hlo_instr_t *instr) {
  bool open = pass_is_lowest(instr->operands[0]) && pass_is_highest(instr->operands[2]);
  return open ? instr->operands[1] : NULL;
}

hlo_instr_t *simplify_logic(pass_rewrite_t *rewrite, hlo_instr_t *instr) {
  switch (instr->op) {
    case HLO_AND:
    case HLO_OR:
      return simplify_and_or(rewrite, instr);
    case HLO_XOR:
      return simplify_xor(rewrite, instr);
    case HLO_NOT:
      return simplify_not(rewrite, instr);
    case HLO_SHIFT_LEFT:
    case HLO_SHIFT_RIGHT_LOGICAL:
    case HLO_SHIFT_RIGHT_ARITHMETIC:
      return simplify_shift(rewrite, instr);
    case HLO_COMPARE:
      return simplify_compare(rewrite, instr);
    case HLO_SELECT:
      return simplify_select(rewrite, instr);
    case HLO_CLAMP:
      return simplify_clamp(instr);
    default:
      return NULL;
  }
}
