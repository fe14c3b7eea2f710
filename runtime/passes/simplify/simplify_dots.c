/* Dots in the forms that kernels prefer:
 *
 *   dot(transpose(x), y), transpose(dot(x, y))   ->   other dimension numbers, or operands swapped
 *   dot over dimensions of size 1                ->   without them
 *   dot that contracts nothing                   ->   multiply of broadcasts
 *   dot with one result, or many tiny ones       ->   reduce(multiply(..)), which fuses
 *   convolution with a 1x1 or a full window      ->   dot (simplify_conv_dot.c)
 *
 * Sums may be added in another order. */
#include "passes/simplify/simplify_dots.h"

/* ---- dimension numbers ---- */

void dot_sides_read(const hlo_instr_t *dot, dot_side_t sides[2]) {
  sides[0] = (dot_side_t){dot->operands[0], hlo_attr_ints(dot, HLO_ATTR_LHS_BATCH_DIMS),
                          hlo_attr_ints(dot, HLO_ATTR_LHS_CONTRACTING_DIMS)};
  sides[1] = (dot_side_t){dot->operands[1], hlo_attr_ints(dot, HLO_ATTR_RHS_BATCH_DIMS),
                          hlo_attr_ints(dot, HLO_ATTR_RHS_CONTRACTING_DIMS)};
}

static bool has_dim(hr_ints_t dims, int64_t d) {
  for (int64_t i = 0; i < dims.count; i++)
    if (dims.data[i] == d) return true;
  return false;
}

dot_role_t dot_dim_role(const dot_side_t *side, int64_t d) {
  if (has_dim(side->batch, d)) return BATCH;
  return has_dim(side->contracting, d) ? CONTRACTING : FREE;
}

int dot_free_count(const dot_side_t *side) {
  return side->x->shape->rank - (int)side->batch.count - (int)side->contracting.count;
}

static bool has_algorithm(const hlo_instr_t *dot) {
  return hlo_attr_enum(dot, HLO_ATTR_ALGORITHM) != 0;
}

bool dot_may_swap(const hlo_instr_t *dot) {
  const hlo_attr_t *precision = hlo_attr_find(dot, HLO_ATTR_OPERAND_PRECISION);
  bool differs =
      precision && precision->ints.count == 2 && precision->ints.data[0] != precision->ints.data[1];
  return !differs && !has_algorithm(dot);
}

hlo_instr_t *dot_build(pass_rewrite_t *rewrite, const hlo_instr_t *like, const dot_side_t sides[2],
                       const hlo_shape_t *shape) {
  static const hlo_attr_key_t kept[] = {HLO_ATTR_OPERAND_PRECISION, HLO_ATTR_ALGORITHM};
  hlo_attr_t attrs[6];
  int count = 0;
  hlo_builder_t *builder = &rewrite->builder;
  if (!sides[0].x || !sides[1].x || !shape) return NULL;
  if (sides[0].batch.count) {
    attrs[count++] = hlo_attr_of_ints(builder, HLO_ATTR_LHS_BATCH_DIMS, sides[0].batch.count,
                                      sides[0].batch.data);
    attrs[count++] = hlo_attr_of_ints(builder, HLO_ATTR_RHS_BATCH_DIMS, sides[1].batch.count,
                                      sides[1].batch.data);
  }
  attrs[count++] = hlo_attr_of_ints(builder, HLO_ATTR_LHS_CONTRACTING_DIMS,
                                    sides[0].contracting.count, sides[0].contracting.data);
  attrs[count++] = hlo_attr_of_ints(builder, HLO_ATTR_RHS_CONTRACTING_DIMS,
                                    sides[1].contracting.count, sides[1].contracting.data);
  for (int i = 0; i < 2; i++) {
    const hlo_attr_t *attr = like->op == HLO_DOT ? hlo_attr_find(like, kept[i]) : NULL;
    if (attr) attrs[count++] = *attr;
  }
  return hlo_build(builder, HLO_DOT, shape, 2, (hlo_instr_t *[]){sides[0].x, sides[1].x}, count,
                   attrs, 0, NULL);
}

/* ---- transposes ---- */

typedef struct mapped_dims {
  int64_t batch[HLO_MAX_RANK], contracting[HLO_MAX_RANK];
} mapped_dims_t;

bool dot_makes_batch_innermost(const dot_side_t *side, hr_ints_t permutation) {
  for (int64_t d = 0; d + 1 < permutation.count; d++)
    if (permutation.data[d] == permutation.count - 1)
      return dot_dim_role(side, d) == BATCH && side->x->shape->dims[d] > 1;
  return false;
}

void dot_side_map(dot_side_t *side, hr_ints_t permutation, int64_t *batch, int64_t *contracting) {
  for (int64_t i = 0; i < side->batch.count; i++)
    batch[i] = permutation.data[side->batch.data[i]];
  for (int64_t i = 0; i < side->contracting.count; i++)
    contracting[i] = permutation.data[side->contracting.data[i]];
  *side = (dot_side_t){side->x->operands[0],
                       {batch, side->batch.count},
                       {contracting, side->contracting.count}};
}

/* Replaces a transposed operand by the untransposed one, if its free dimensions keep their order.
 */
static bool fold_transpose(dot_side_t *side, mapped_dims_t *mapped) {
  hr_ints_t permutation = hlo_attr_ints(side->x, HLO_ATTR_DIMENSIONS);
  int64_t last = -1;
  if (side->x->op != HLO_TRANSPOSE || dot_makes_batch_innermost(side, permutation)) return false;
  for (int64_t d = 0; d < permutation.count; d++) {
    if (dot_dim_role(side, d) != FREE) continue;
    if (permutation.data[d] < last) return false;
    last = permutation.data[d];
  }
  dot_side_map(side, permutation, mapped->batch, mapped->contracting);
  return true;
}

/* Reads a transposed operand in place under other dimension numbers. */
static hlo_instr_t *fold_operand_transposes(pass_rewrite_t *rewrite, hlo_instr_t *dot) {
  dot_side_t sides[2];
  mapped_dims_t mapped[2];
  dot_sides_read(dot, sides);
  bool left = fold_transpose(&sides[0], &mapped[0]), right = fold_transpose(&sides[1], &mapped[1]);
  return left || right ? dot_build(rewrite, dot, sides, dot->shape) : NULL;
}

/* The dimension order in which a dot reads this side contiguously: contracted dimensions together,
 * in the order of the other side. False: the side already has this order. */
static bool find_contiguous_order(const dot_side_t *side, const dot_side_t *other, int64_t *order) {
  int rank = side->x->shape->rank, count = 0;
  bool free_last = rank && dot_dim_role(side, rank - 1) == FREE, in_line = true;
  for (int64_t i = 0; i < side->batch.count; i++) order[count++] = side->batch.data[i];
  for (int d = 0; d < rank && !free_last; d++)
    if (dot_dim_role(side, d) == FREE) order[count++] = d;
  for (int d = 0; d < other->x->shape->rank; d++)
    for (int64_t i = 0; i < side->contracting.count; i++)
      if (other->contracting.data[i] == d) order[count++] = side->contracting.data[i];
  for (int d = 0; d < rank && free_last; d++)
    if (dot_dim_role(side, d) == FREE) order[count++] = d;
  for (int d = 0; d < rank; d++) in_line &= order[d] == d;
  return !in_line;
}

/* The dimension of a dot's result that is dimension d after its operands are swapped. */
static int swapped_dim(int d, int batch, int left, int right) {
  if (d < batch) return d;
  return d < batch + right ? d + left : d - right;
}

/* Is the side a product with a batch dimension innermost that has this order if its operands are
 * swapped? Read as it is, each element is in another cache line. */
static bool is_free_swap(pass_rewrite_t *rewrite, const dot_side_t *side, const int64_t *order) {
  const hlo_instr_t *x = side->x;
  int rank = x->shape->rank;
  dot_side_t sides[2];
  if (x->op != HLO_DOT || pass_use_count(rewrite, x) > 1 || has_algorithm(x)) return false;
  if (dot_dim_role(side, rank - 1) != BATCH) return false;
  dot_sides_read(x, sides);
  int batch = (int)sides[0].batch.count, left = dot_free_count(&sides[0]);
  int right = dot_free_count(&sides[1]);
  for (int d = 0; d < rank; d++)
    if (order[d] != swapped_dim(d, batch, left, right)) return false;
  return true;
}

#define COPY_EXTENT_MIN 8 /* least rows, columns and terms for which a copy of the operand pays */

static int64_t size_of_role(const dot_side_t *side, dot_role_t role) {
  int64_t size = 1;
  for (int d = 0; d < side->x->shape->rank; d++)
    if (dot_dim_role(side, d) == role) size *= side->x->shape->dims[d];
  return size;
}

/* Is each element of the side's matrices in another cache line, as a batch dimension is innermost,
 * and read often enough for a copy? */
static bool is_worth_copy(const dot_side_t *side, const dot_side_t *other) {
  int rank = side->x->shape->rank;
  return dot_dim_role(side, rank - 1) == BATCH && side->x->shape->dims[rank - 1] > 1 &&
         size_of_role(side, FREE) >= COPY_EXTENT_MIN &&
         size_of_role(other, FREE) >= COPY_EXTENT_MIN &&
         size_of_role(side, CONTRACTING) >= COPY_EXTENT_MIN;
}

/* Computes a side in this order, if it can be computed in any order, or if that is worth a copy. */
static bool transpose_side(pass_rewrite_t *rewrite, dot_side_t *side, const dot_side_t *other,
                           mapped_dims_t *mapped) {
  int64_t order[HLO_MAX_RANK], to[HLO_MAX_RANK];
  int rank = side->x->shape->rank;
  if (!find_contiguous_order(side, other, order)) return false;
  if (!pass_transpose_is_free(rewrite, side->x, (hr_ints_t){order, rank}) &&
      !is_free_swap(rewrite, side, order) && !is_worth_copy(side, other))
    return false;
  for (int d = 0; d < rank; d++) to[order[d]] = d;
  for (int64_t i = 0; i < side->batch.count; i++) mapped->batch[i] = to[side->batch.data[i]];
  for (int64_t i = 0; i < side->contracting.count; i++)
    mapped->contracting[i] = to[side->contracting.data[i]];
  *side = (dot_side_t){pass_build_transposed(rewrite, side->x, (hr_ints_t){order, rank}),
                       {mapped->batch, side->batch.count},
                       {mapped->contracting, side->contracting.count}};
  return true;
}

/* Moves a transposition to the side where it is free. */
static hlo_instr_t *transpose_operand(pass_rewrite_t *rewrite, hlo_instr_t *dot) {
  dot_side_t sides[2];
  mapped_dims_t mapped;
  dot_sides_read(dot, sides);
  bool turned = transpose_side(rewrite, &sides[1], &sides[0], &mapped) ||
                transpose_side(rewrite, &sides[0], &sides[1], &mapped);
  return turned ? dot_build(rewrite, dot, sides, dot->shape) : NULL;
}

#define INNERMOST_MIN 16 /* least elements in line for which a transpose decides the operands */

/* Would the transpose of a dot read its result in line if the operands were swapped? `to`: the
 * permutation that would be left. */
static bool is_in_line_if_swapped(const hlo_shape_t *shape, hr_ints_t to) {
  int64_t last = to.count - 1;
  return to.data[last] == last && shape->dims[last] >= INNERMOST_MIN;
}

/* Swaps the operands if the two groups of free dimensions are swapped afterwards, or if what is
 * left of the transpose keeps the innermost dimension. */
static hlo_instr_t *fold_result_transpose(pass_rewrite_t *rewrite, hlo_instr_t *transpose) {
  hlo_instr_t *dot = transpose->operands[0];
  hr_ints_t permutation = hlo_attr_ints(transpose, HLO_ATTR_DIMENSIONS);
  dot_side_t sides[2];
  dot_sides_read(dot, sides);
  int batch = (int)sides[0].batch.count, left = dot_free_count(&sides[0]),
      right = dot_free_count(&sides[1]);
  int64_t to[HLO_MAX_RANK], sizes[HLO_MAX_RANK];
  bool is_exact = true;
  if (pass_use_count(rewrite, dot) > 1 || !dot_may_swap(dot) || !left || !right) return NULL;
  for (int d = 0; d < batch + left + right; d++) {
    int64_t from = permutation.data[d];
    to[d] = from;
    if (from >= batch) to[d] = from < batch + left ? from + right : from - left;
    sizes[to[d]] = transpose->shape->dims[d];
    is_exact &= to[d] == d;
  }
  hr_ints_t rest = {to, permutation.count};
  if (!is_exact && !is_in_line_if_swapped(transpose->shape, rest)) return NULL;
  dot_side_t swapped[] = {sides[1], sides[0]};
  hlo_instr_t *product = dot_build(rewrite, dot, swapped,
                                   pass_shape(rewrite, dot->shape->dtype, dot->shape->rank, sizes));
  return is_exact ? product : pass_build_transpose(rewrite, product, to);
}

/* ---- dimensions of size 1 ---- */

typedef struct kept_dims {
  int64_t sizes[HLO_MAX_RANK],
      numbers[HLO_MAX_RANK]; /* remaining sizes; and by old dimension its new number, or -1 */
  int64_t batch[HLO_MAX_RANK], contracting[HLO_MAX_RANK];
  int rank, batch_count, contracting_count;
} kept_dims_t;

/* Numbers the dimensions larger than 1. */
static void keep_dims(const dot_side_t *side, kept_dims_t *kept) {
  *kept = (kept_dims_t){.rank = 0};
  for (int d = 0; d < side->x->shape->rank; d++) {
    kept->numbers[d] = side->x->shape->dims[d] == 1 ? -1 : kept->rank;
    if (side->x->shape->dims[d] != 1) kept->sizes[kept->rank++] = side->x->shape->dims[d];
  }
  for (int64_t i = 0; i < side->batch.count; i++)
    if (kept->numbers[side->batch.data[i]] >= 0)
      kept->batch[kept->batch_count++] = kept->numbers[side->batch.data[i]];
  for (int64_t i = 0; i < side->contracting.count; i++)
    if (kept->numbers[side->contracting.data[i]] >= 0)
      kept->contracting[kept->contracting_count++] = kept->numbers[side->contracting.data[i]];
}

static void narrow_side(pass_rewrite_t *rewrite, dot_side_t *side, kept_dims_t *kept) {
  keep_dims(side, kept);
  const hlo_shape_t *shape = pass_shape(rewrite, side->x->shape->dtype, kept->rank, kept->sizes);
  hlo_instr_t *x = side->x;
  if (kept->rank < x->shape->rank)
    x = shape ? hlo_build_reshape(&rewrite->builder, x, shape) : NULL;
  *side = (dot_side_t){
      x, {kept->batch, kept->batch_count}, {kept->contracting, kept->contracting_count}};
}

static bool has_ones(const hlo_shape_t *shape) {
  for (int d = 0; d < shape->rank; d++)
    if (shape->dims[d] == 1) return true;
  return false;
}

/* A dot of fewer dimensions, with reshapes around it. */
static hlo_instr_t *drop_unit_dims(pass_rewrite_t *rewrite, hlo_instr_t *dot) {
  dot_side_t sides[2];
  kept_dims_t kept[2];
  int64_t sizes[HLO_MAX_RANK];
  int rank = 0;
  if (!has_ones(dot->operands[0]->shape) && !has_ones(dot->operands[1]->shape)) return NULL;
  dot_sides_read(dot, sides);
  for (int s = 0; s < 2; s++) narrow_side(rewrite, &sides[s], &kept[s]);
  for (int d = 0; d < dot->shape->rank; d++)
    if (dot->shape->dims[d] != 1) sizes[rank++] = dot->shape->dims[d];
  const hlo_shape_t *shape = pass_shape(rewrite, dot->shape->dtype, rank, sizes);
  hlo_instr_t *narrow = dot_build(rewrite, dot, sides, shape);
  if (!narrow || rank == dot->shape->rank) return narrow;
  return hlo_build_reshape(&rewrite->builder, narrow, dot->shape);
}

/* ---- products of few terms ---- */

#define MAX_FEW_TERMS 4

static bool is_float(hr_dtype_t dtype) {
  return pass_is_plain_float(dtype) || hr_dtype_is_complex(dtype);
}

hlo_instr_t *dot_broadcast_operand(pass_rewrite_t *rewrite, hlo_instr_t *x, const int64_t *dims,
                                   const hlo_shape_t *all) {
  int64_t order[HLO_MAX_RANK], sorted[HLO_MAX_RANK];
  int rank = x->shape->rank;
  bool in_order = true;
  for (int d = 0; d < rank; d++) {
    int at = d;
    for (; at > 0 && sorted[at - 1] > dims[d]; at--) {
      sorted[at] = sorted[at - 1];
      order[at] = order[at - 1];
    }
    sorted[at] = dims[d];
    order[at] = d;
    in_order &= at == d;
  }
  if (!in_order) x = pass_build_transpose(rewrite, x, order);
  x = hlo_build_convert(&rewrite->builder, x, all->dtype);
  return hlo_build_broadcast(&rewrite->builder, x, all, (hr_ints_t){sorted, rank});
}

/* Positions of a product's dimensions in the array of all its terms: batch, left and right
 * dimensions as in the result; contracted dimensions before or after the free ones, as in the
 * operands. */
typedef struct term_dims {
  int64_t numbers[2][HLO_MAX_RANK]; /* positions by side and dimension */
  int64_t sizes[HLO_MAX_RANK], contracted[HLO_MAX_RANK];
  int rank, first, count; /* rank; range of the contracted dimensions */
} term_dims_t;

/* Do the terms of a side lie outside its free dimensions? */
static bool terms_come_first(const dot_side_t *side) {
  for (int d = 0; d < side->x->shape->rank; d++)
    if (dot_dim_role(side, d) != BATCH)
      return dot_dim_role(side, d) == CONTRACTING && dot_free_count(side);
  return false;
}

static void map_side_dims(const dot_side_t *side, int s, int free, term_dims_t *terms) {
  for (int64_t i = 0; i < side->batch.count; i++) terms->numbers[s][side->batch.data[i]] = i;
  for (int64_t i = 0; i < side->contracting.count; i++)
    terms->numbers[s][side->contracting.data[i]] = terms->first + i;
  for (int d = 0; d < side->x->shape->rank; d++) {
    if (dot_dim_role(side, d) == FREE)
      terms->numbers[s][d] = free < terms->first ? free : free + terms->count, free++;
    terms->sizes[terms->numbers[s][d]] = side->x->shape->dims[d];
  }
}

/* False: more dimensions than an array can have. */
static bool map_term_dims(const dot_side_t sides[2], term_dims_t *terms) {
  int batch = (int)sides[0].batch.count, left = dot_free_count(&sides[0]),
      right = dot_free_count(&sides[1]);
  terms->count = (int)sides[0].contracting.count;
  terms->rank = batch + left + right + terms->count;
  if (terms->rank > HLO_MAX_RANK) return false;
  terms->first = batch;
  if (!terms_come_first(&sides[0]))
    terms->first += left + (terms_come_first(&sides[1]) ? 0 : right);
  for (int i = 0; i < terms->count; i++) terms->contracted[i] = terms->first + i;
  map_side_dims(&sides[0], 0, batch, terms);
  map_side_dims(&sides[1], 1, batch + left, terms);
  return true;
}

/* The array of all terms of a product. */
static hlo_instr_t *multiply_all(pass_rewrite_t *rewrite, const dot_side_t sides[2],
                                 const term_dims_t *terms, hr_dtype_t dtype) {
  const hlo_shape_t *all = pass_shape(rewrite, dtype, terms->rank, terms->sizes);
  if (!all) return NULL;
  hlo_instr_t *left = dot_broadcast_operand(rewrite, sides[0].x, terms->numbers[0], all);
  hlo_instr_t *right = dot_broadcast_operand(rewrite, sides[1].x, terms->numbers[1], all);
  return left && right ? hlo_build_binary(&rewrite->builder, HLO_MULTIPLY, left, right) : NULL;
}

/* An outer product, which contracts no dimension. */
static hlo_instr_t *expand_to_multiply(pass_rewrite_t *rewrite, hlo_instr_t *dot) {
  dot_side_t sides[2];
  term_dims_t terms;
  dot_sides_read(dot, sides);
  if (sides[0].contracting.count || has_algorithm(dot) || !map_term_dims(sides, &terms))
    return NULL;
  if (!is_float(dot->shape->dtype) && !hr_dtype_is_integer(dot->shape->dtype)) return NULL;
  return multiply_all(rewrite, sides, &terms, dot->shape->dtype);
}

#define MAX_SMALL_RESULTS 16
#define MAX_SMALL_TERMS 8
#define MIN_SMALL_BATCH 256

/* Is it a batch of tiny products? If the contracted dimension is not innermost, only sums of few
 * terms are expanded. */
static bool is_batch_of_small(const dot_side_t sides[2], const term_dims_t *terms) {
  int64_t count = 1, results = 1, sum = 1,
          max_free_sides =
              terms->first + terms->count == terms->rank ? MAX_SMALL_TERMS : MAX_FEW_TERMS;
  for (int d = 0; d < terms->rank; d++) {
    bool is_term = d >= terms->first && d < terms->first + terms->count;
    int64_t *product = is_term ? &sum : &results;
    if (d < sides[0].batch.count) product = &count;
    *product *= terms->sizes[d];
  }
  return count >= MIN_SMALL_BATCH && results <= MAX_SMALL_RESULTS && sum <= max_free_sides;
}

bool dot_is_summed(const dot_side_t sides[2], hr_dtype_t dtype) {
  hr_dtype_t left = sides[0].x->shape->dtype, right = sides[1].x->shape->dtype;
  if (hr_dtype_is_integer(dtype)) return left == dtype && right == dtype;
  return is_float(dtype) && is_float(left) && is_float(right);
}

/* One result in total or per batch element: a sum of products, which fuses with its neighbours. The
 * same for many tiny products, and for vectors times matrices of complex numbers; for other types
 * kernels are as fast. */
static hlo_instr_t *expand_to_sum(pass_rewrite_t *rewrite, hlo_instr_t *dot) {
  dot_side_t sides[2];
  term_dims_t terms;
  dot_sides_read(dot, sides);
  hr_dtype_t dtype = dot->shape->dtype, wide = dot_sum_dtype(dtype);
  if (!dot_is_summed(sides, dtype)) return NULL;
  if (has_algorithm(dot) || !map_term_dims(sides, &terms)) return NULL;
  int max_free_sides = hr_dtype_is_complex(dtype) ? 1 : 0; /* sides that have free dimensions */
  bool is_sum = (dot_free_count(&sides[0]) > 0) + (dot_free_count(&sides[1]) > 0) <= max_free_sides;
  if (!is_sum && !is_batch_of_small(sides, &terms)) return NULL;
  hlo_instr_t *product = multiply_all(rewrite, sides, &terms, wide);
  hlo_instr_t *reduced = pass_build_sum(rewrite, product, terms.count, terms.contracted);
  return reduced ? hlo_build_convert(&rewrite->builder, reduced, dtype) : NULL;
}

#define MIN_FEW_TERM_SUMS 4096

/* Element `at` of the contracted dimension, which is dropped. */
static hlo_instr_t *build_term(pass_rewrite_t *rewrite, const dot_side_t *side, int64_t at,
                               hr_dtype_t dtype) {
  hlo_instr_t *part = pass_build_element_slice(rewrite, side->x, side->contracting.data[0], at);
  return part ? hlo_build_convert(&rewrite->builder, part, dtype) : NULL;
}

static bool is_converted_integer(const hlo_instr_t *x) {
  return x->op == HLO_CONVERT && hr_dtype_is_integer(x->operands[0]->shape->dtype);
}

/* Many sums of a few terms with common factors (a point to a depth): they fuse with their
 * neighbours. Not for integers converted to floats, such as the colors of an image: depending on
 * how each product is rounded, their sums are integers or just below, and many programs truncate
 * them. */
static hlo_instr_t *expand_few_terms(pass_rewrite_t *rewrite, hlo_instr_t *dot) {
  dot_side_t sides[2];
  dot_sides_read(dot, sides);
  hr_dtype_t dtype = dot->shape->dtype, wide = dot_sum_dtype(dtype);
  int many = dot_free_count(&sides[0]) ? 0 : 1;
  hlo_instr_t *sum = NULL;
  if (sides[0].batch.count || sides[0].contracting.count != 1 || dot_free_count(&sides[1 - many]) ||
      has_algorithm(dot))
    return NULL;
  int64_t terms = sides[0].x->shape->dims[sides[0].contracting.data[0]];
  if (!pass_is_plain_float(dtype) || !pass_is_plain_float(sides[0].x->shape->dtype) ||
      terms > MAX_FEW_TERMS || hlo_shape_elements(dot->shape) < MIN_FEW_TERM_SUMS ||
      is_converted_integer(sides[many].x))
    return NULL;
  for (int64_t i = 0; i < terms; i++) {
    hlo_instr_t *x = build_term(rewrite, &sides[many], i, wide),
                *factor = build_term(rewrite, &sides[1 - many], i, wide);
    if (!x || !factor) return NULL;
    hlo_instr_t *product = hlo_build_binary(&rewrite->builder, HLO_MULTIPLY, x,
                                            pass_build_fill(rewrite, factor, x->shape));
    sum = sum ? hlo_build_binary(&rewrite->builder, HLO_ADD, sum, product) : product;
  }
  return sum ? hlo_build_convert(&rewrite->builder, sum, dtype) : NULL;
}

hlo_instr_t *simplify_dots(pass_rewrite_t *rewrite, hlo_instr_t *instr) {
  hlo_instr_t *replacement = NULL;
  if (instr->op == HLO_TRANSPOSE && instr->operands[0]->op == HLO_DOT)
    return fold_result_transpose(rewrite, instr);
  if (instr->op == HLO_CONVOLUTION) return dot_of_convolution(rewrite, instr);
  if (instr->op != HLO_DOT) return NULL;
  replacement = drop_unit_dims(rewrite, instr);
  if (!replacement) replacement = fold_operand_transposes(rewrite, instr);
  if (!replacement) replacement = transpose_operand(rewrite, instr);
  if (!replacement) replacement = expand_to_multiply(rewrite, instr);
  if (!replacement) replacement = expand_few_terms(rewrite, instr);
  return replacement ? replacement : expand_to_sum(rewrite, instr);
}
