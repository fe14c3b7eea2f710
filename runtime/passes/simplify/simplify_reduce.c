/* Reductions:
 *
 *   reduce over dimensions of size 1      ->   reshape
 *   reduce(transpose(x))                  ->   reduce(x) over the permuted dimensions
 *   reduce(reduce(x, dims 1), dims 2)     ->   reduce(x, both)         one op, neutral inner start
 *   reduce(pad(x, neutral value))         ->   reduce(x), and the sum of a negated pad alike
 *   sum(convert(narrow integers))         ->   convert(sum(convert(x)))      in less wide integers
 *   reduce(x[many, kept, n], dims 0, 2)   ->   reduce(reduce(x, dims 0), dims 1)      the same
 *
 * The last rule is for group norms, which sum over pixels and neighbouring channels: the first sum
 * runs over rows in memory order, and the second one over few elements. Bodies must be one
 * commutative op. The order of sums may change, so floats may round differently. */
#include "passes/simplify/simplify.h"

static bool is_reduced(const hlo_instr_t *reduce, int64_t d) {
  hr_ints_t dims = hlo_attr_ints(reduce, HLO_ATTR_DIMENSIONS);
  for (int64_t i = 0; i < dims.count; i++)
    if (dims.data[i] == d) return true;
  return false;
}

static hlo_instr_t *build_reduce(pass_rewrite_t *rewrite, const hlo_instr_t *from, hlo_instr_t *x,
                                 const hlo_shape_t *shape, int count, const int64_t *dims) {
  hlo_instr_t *operands[] = {x, from->operands[1]};
  hlo_attr_t attrs[] = {hlo_attr_of_ints(&rewrite->builder, HLO_ATTR_DIMENSIONS, count, dims),
                        hlo_attr_of_called(HLO_ATTR_TO_APPLY, 1)};
  return hlo_build(&rewrite->builder, HLO_REDUCE, shape, 2, operands, 2, attrs, 1, from->called);
}

/* Drops reduced dimensions of size 1. If none is left, applies the body once to each element and
 * the initial value. */
static hlo_instr_t *drop_unit_dims(pass_rewrite_t *rewrite, hlo_instr_t *instr) {
  hlo_instr_t *x = instr->operands[0];
  int64_t sizes[HLO_MAX_RANK], dims[HLO_MAX_RANK];
  hlo_opcode_t op;
  int rank = 0, count = 0;
  for (int d = 0; d < x->shape->rank; d++) {
    bool reduced = is_reduced(instr, d);
    if (reduced && x->shape->dims[d] == 1) continue;
    if (reduced) dims[count++] = rank;
    sizes[rank++] = x->shape->dims[d];
  }
  if (rank == x->shape->rank || (!count && !pass_body_is_binary(instr->called[0], &op)))
    return NULL;
  const hlo_shape_t *shape = pass_shape(rewrite, x->shape->dtype, rank, sizes);
  hlo_instr_t *flat = shape ? hlo_build_reshape(&rewrite->builder, x, shape) : NULL;
  if (!flat) return NULL;
  if (count) return build_reduce(rewrite, instr, flat, instr->shape, count, dims);
  return hlo_build_binary(&rewrite->builder, op,
                          pass_build_fill(rewrite, instr->operands[1], flat->shape), flat);
}

/* The kept dimensions must stay in order. */
static hlo_instr_t *fold_transpose(pass_rewrite_t *rewrite, hlo_instr_t *instr) {
  hlo_instr_t *transpose = instr->operands[0];
  hr_ints_t permutation = hlo_attr_ints(transpose, HLO_ATTR_DIMENSIONS);
  int64_t dims[HLO_MAX_RANK], last = -1;
  int count = 0;
  hlo_opcode_t op;
  if (!pass_body_is_binary(instr->called[0], &op)) return NULL;
  for (int64_t d = 0; d < permutation.count; d++) {
    if (is_reduced(instr, d)) continue;
    if (permutation.data[d] < last) return NULL;
    last = permutation.data[d];
  }
  for (int64_t p = 0; p < permutation.count; p++)
    for (int64_t d = 0; d < permutation.count; d++)
      if (permutation.data[d] == p && is_reduced(instr, d)) dims[count++] = p;
  return build_reduce(rewrite, instr, transpose->operands[0], instr->shape, count, dims);
}

#define LEADING_MIN 8       /* least factor by which the first of two sums shrinks its operand */
#define APART_ELEMENTS 4096 /* fewer elements are as fast in one step */

/* First of the reduced trailing dimensions, if a kept dimension precedes them and other reduced
 * ones precede that; -1: another form, not worth two sums, or the intermediate result would be
 * rounded to a narrow type. */
static int trailing_dims(const hlo_shape_t *shape, const bool *reduced) {
  int first = shape->rank, kept;
  int64_t leading = 1;
  while (first > 0 && reduced[first - 1]) first--;
  for (kept = first; kept > 0 && !reduced[kept - 1];) kept--;
  for (int d = 0; d < kept; d++)
    if (reduced[d]) leading *= shape->dims[d];
  bool apart = first < shape->rank && leading >= LEADING_MIN && hr_dtype_bytes(shape->dtype) >= 4;
  return apart && hlo_shape_elements(shape) >= APART_ELEMENTS ? first : -1;
}

/* Do both apply the same single op, with the inner one starting from its neutral element? */
static bool have_same_op(const hlo_instr_t *outer, const hlo_instr_t *inner) {
  hlo_opcode_t a, b;
  const hlo_instr_t *init = inner->operands[1];
  if (inner->operand_count != 2 || !pass_body_is_binary(outer->called[0], &a) ||
      !pass_body_is_binary(inner->called[0], &b) || a != b)
    return false;
  return pass_is_neutral(a, init);
}

static hlo_instr_t *merge_reduces(pass_rewrite_t *rewrite, hlo_instr_t *instr) {
  hlo_instr_t *inner = instr->operands[0], *x = inner->operands[0];
  int64_t dims[HLO_MAX_RANK];
  bool reduced[HLO_MAX_RANK];
  int count = 0, outer_dim = 0;
  if (!have_same_op(instr, inner) || pass_use_count(rewrite, inner) > 1) return NULL;
  for (int d = 0; d < x->shape->rank; d++) {
    bool inside = is_reduced(inner, d);
    reduced[d] = inside || is_reduced(instr, outer_dim);
    if (reduced[d]) dims[count++] = d;
    outer_dim += !inside;
  }
  if (trailing_dims(x->shape, reduced) >= 0) return NULL;
  return build_reduce(rewrite, instr, x, instr->shape, count, dims);
}

static hlo_instr_t *split_reduce(pass_rewrite_t *rewrite, hlo_instr_t *instr) {
  const hlo_shape_t *x = instr->operands[0]->shape;
  int64_t first[HLO_MAX_RANK], second[HLO_MAX_RANK], sizes[HLO_MAX_RANK];
  bool reduced[HLO_MAX_RANK];
  int first_count = 0, second_count = 0, rank = 0;
  hlo_opcode_t op;
  for (int d = 0; d < x->rank; d++) reduced[d] = is_reduced(instr, d);
  int trailing = trailing_dims(x, reduced);
  if (trailing < 0 || !pass_body_is_binary(instr->called[0], &op) ||
      !pass_is_neutral(op, instr->operands[1]))
    return NULL;
  for (int d = 0; d < x->rank; d++) {
    if (reduced[d] && d < trailing) {
      first[first_count++] = d;
      continue;
    }
    if (reduced[d]) second[second_count++] = rank;
    sizes[rank++] = x->dims[d];
  }
  const hlo_shape_t *shape = pass_shape(rewrite, x->dtype, rank, sizes);
  hlo_instr_t *part =
      shape ? build_reduce(rewrite, instr, instr->operands[0], shape, first_count, first) : NULL;
  return part ? build_reduce(rewrite, instr, part, instr->shape, second_count, second) : NULL;
}

/* Are all amounts non-negative, and those of the kept dimensions 0? */
static bool pads_reduced(const hlo_instr_t *reduce, const hlo_instr_t *pad) {
  for (int d = 0; d < pad->shape->rank; d++) {
    const hlo_padding_dim_t *edge = &hlo_attr_padding(pad)->dims[d];
    bool is_kept = !edge->low && !edge->high && !edge->interior;
    if (!is_kept && (!is_reduced(reduce, d) || edge->low < 0 || edge->high < 0)) return false;
  }
  return true;
}

/* May zeros of either sign be left out? A sum that starts at +0 is never -0, and integers have one
 * zero. */
static bool drops_zeros(const hlo_instr_t *reduce) {
  return hr_dtype_is_integer(reduce->shape->dtype) || pass_is_number(reduce->operands[1], 0);
}

/* Leaves out padding that changes nothing. */
static hlo_instr_t *drop_padding(pass_rewrite_t *rewrite, hlo_instr_t *instr) {
  hlo_instr_t *x = instr->operands[0], *pad = x->op == HLO_NEGATE ? x->operands[0] : x;
  hlo_opcode_t op;
  if (pad->op != HLO_PAD || !pads_reduced(instr, pad) ||
      !pass_body_is_binary(instr->called[0], &op) || !pass_is_neutral(op, pad->operands[1]))
    return NULL;
  hlo_instr_t *inner = pad->operands[0];
  if (op == HLO_ADD ? !drops_zeros(instr) : x != pad) return NULL;
  if (hlo_shape_elements(inner->shape) == 0) return NULL;
  if (x != pad) inner = hlo_build_unary(&rewrite->builder, HLO_NEGATE, inner);
  hr_ints_t dims = hlo_attr_ints(instr, HLO_ATTR_DIMENSIONS);
  return inner ? build_reduce(rewrite, instr, inner, instr->shape, (int)dims.count, dims.data)
               : NULL;
}

#define WRITTEN_OUT 32 /* terms up to which each sum has its own lane, so narrower types help */

static int bits_of(hr_dtype_t dtype) { return hr_dtype_table[dtype].bits; }

/* The narrowest integer type, narrower than `wide`, that holds every sum of `terms` numbers of type
 * `from`; `wide`: none. */
static hr_dtype_t sum_type(hr_dtype_t from, hr_dtype_t wide, int64_t terms) {
  static const hr_dtype_t types[2][3] = {{HR_U8, HR_U16, HR_U32}, {HR_S8, HR_S16, HR_S32}};
  bool is_signed = hr_dtype_class(from) == HR_CLASS_SIGNED;
  for (int t = terms > WRITTEN_OUT ? 2 : 0; t < 3; t++) {
    hr_dtype_t type = types[is_signed][t];
    int spare = bits_of(type) - bits_of(from);
    if (bits_of(type) >= bits_of(wide)) break;
    if (spare > 0 && terms <= INT64_C(1) << spare) return type;
  }
  return wide;
}

static bool is_sum(const hlo_instr_t *reduce) {
  hlo_opcode_t op;
  return pass_body_is_binary(reduce->called[0], &op) && op == HLO_ADD;
}

/* Narrows a sum of numbers that were widened for it. */
static hlo_instr_t *narrow_sum(pass_rewrite_t *rewrite, hlo_instr_t *instr) {
  hlo_instr_t *x = instr->operands[0], *source = x->operands[0];
  hr_dtype_t wide = instr->shape->dtype, from = source->shape->dtype;
  hr_ints_t dims = hlo_attr_ints(instr, HLO_ATTR_DIMENSIONS);
  bool are_integers = hr_dtype_is_integer(wide) && (hr_dtype_is_integer(from) || from == HR_PRED);
  int64_t results = hlo_shape_elements(instr->shape), all = hlo_shape_elements(x->shape);
  if (!are_integers || !is_sum(instr) || results < 1 || all < 2 * results) return NULL;
  hr_dtype_t type = sum_type(from, wide, all / results);
  if (type == wide) return NULL;
  hlo_builder_t *b = &rewrite->builder;
  hlo_instr_t *sum =
      pass_build_sum(rewrite, hlo_build_convert(b, source, type), (int)dims.count, dims.data);
  sum = sum ? hlo_build_convert(b, sum, wide) : NULL;
  if (!sum || pass_is_neutral(HLO_ADD, instr->operands[1])) return sum;
  return hlo_build_binary(b, HLO_ADD, pass_build_fill(rewrite, instr->operands[1], instr->shape),
                          sum);
}

hlo_instr_t *simplify_reduce(pass_rewrite_t *rewrite, hlo_instr_t *instr) {
  if (instr->op != HLO_REDUCE || instr->operand_count != 2) return NULL;
  hlo_instr_t *x = instr->operands[0], *replacement = drop_unit_dims(rewrite, instr);
  if (replacement) return replacement;
  if (x->op == HLO_TRANSPOSE) return fold_transpose(rewrite, instr);
  if (x->op == HLO_PAD || x->op == HLO_NEGATE) replacement = drop_padding(rewrite, instr);
  if (x->op == HLO_CONVERT) replacement = narrow_sum(rewrite, instr);
  if (x->op == HLO_REDUCE) replacement = merge_reduces(rewrite, instr);
  return replacement ? replacement : split_reduce(rewrite, instr);
}
