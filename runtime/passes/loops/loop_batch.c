/* Batching of the products of a loop's inputs with its weights. Where each iteration multiplies row
 * i of an invariant array by an invariant matrix, all rows are multiplied at once and the iteration
 * reads row i of the product; loop_hoist then moves the large product before the loop:
 *
 *   dot(x[i], w)                   ->   dot(x, w)[i]
 *   dot(concatenate(x[i], h), w)   ->   dot(x[i], w[:k]) + dot(h, w[k:])
 *
 * In a recurrent network this is half of the work, and one large product runs faster than many
 * small ones. The second form adds its terms in another order; only plain floats. */
#include "passes/loops/loop_shape.h"
#include "passes/passes.h"

#define MIN_MULTIPLICATIONS 2048            /* per iteration */
#define MAX_BATCH_BYTES ((int64_t)64 << 20) /* size of the batched product */
#define MAX_CONCATENATED 4
enum { MAX_DEPTH = 6 };

typedef struct batcher {
  pass_rewrite_t *rewrite;
  const loop_t *loop;
  int64_t trips;
} batcher_t;

static hr_ints_t attr_ints(const hlo_instr_t *instr, hlo_attr_key_t key) {
  return hlo_attr_ints(instr, key);
}

static bool is_invariant(const batcher_t *batcher, const hlo_instr_t *instr, int depth) {
  int element = loop_element_read(instr);
  if (element >= 0) return loop_is_invariant(batcher->loop, element);
  if (depth == 0 || instr->op == HLO_PARAMETER || hlo_op_is(instr->op, OP_CONTROL) ||
      !pass_is_pure(instr))
    return false;
  for (int k = 0; k < instr->operand_count; k++)
    if (!is_invariant(batcher, instr->operands[k], depth - 1)) return false;
  return instr->operand_count > 0 || instr->op == HLO_CONSTANT;
}

/* The dynamic-slice that reads row i of an invariant array, if `instr` is such a row, possibly
 * reshaped. */
static hlo_instr_t *find_row_slice(const batcher_t *batcher, hlo_instr_t *instr) {
  hlo_instr_t *slice = instr;
  while (slice->op == HLO_RESHAPE) slice = slice->operands[0];
  if (slice->op != HLO_DYNAMIC_SLICE || !is_invariant(batcher, slice->operands[0], MAX_DEPTH))
    return NULL;
  const hlo_shape_t *whole = slice->operands[0]->shape;
  if (!whole->rank || slice->shape->dims[0] != 1 || slice->operand_count != 1 + whole->rank)
    return NULL;
  for (int d = 1; d < whole->rank; d++)
    if (slice->shape->dims[d] != whole->dims[d]) return NULL;
  return whole->dims[0] <= 2 * batcher->trips ? slice : NULL;
}

static bool is_plain_dot(const hlo_instr_t *dot) {
  return dot->op == HLO_DOT && !attr_ints(dot, HLO_ATTR_LHS_BATCH_DIMS).count &&
         attr_ints(dot, HLO_ATTR_LHS_CONTRACTING_DIMS).count == 1 &&
         attr_ints(dot, HLO_ATTR_RHS_CONTRACTING_DIMS).count == 1 &&
         !hlo_shape_is_dynamic(dot->shape);
}

static int64_t contracting_dim(const hlo_instr_t *dot, int side) {
  return attr_ints(dot, side ? HLO_ATTR_RHS_CONTRACTING_DIMS : HLO_ATTR_LHS_CONTRACTING_DIMS)
      .data[0];
}

/* A dot without batch dimensions, with the precision of `like`. */
static hlo_instr_t *build_dot(batcher_t *batcher, const hlo_instr_t *like, hlo_instr_t *a,
                              int64_t a_dim, hlo_instr_t *b, int64_t b_dim) {
  static const hlo_attr_key_t kept[] = {HLO_ATTR_OPERAND_PRECISION, HLO_ATTR_ALGORITHM};
  hlo_builder_t *builder = &batcher->rewrite->builder;
  int64_t dims[HLO_MAX_RANK];
  int rank = 0, count = 2;
  hlo_attr_t attrs[4] = {hlo_attr_of_ints(builder, HLO_ATTR_LHS_CONTRACTING_DIMS, 1, &a_dim),
                         hlo_attr_of_ints(builder, HLO_ATTR_RHS_CONTRACTING_DIMS, 1, &b_dim)};
  if (a->shape->rank + b->shape->rank - 2 > HLO_MAX_RANK) return NULL;
  for (int d = 0; d < a->shape->rank; d++)
    if (d != a_dim) dims[rank++] = a->shape->dims[d];
  for (int d = 0; d < b->shape->rank; d++)
    if (d != b_dim) dims[rank++] = b->shape->dims[d];
  for (int i = 0; i < 2; i++) {
    const hlo_attr_t *attr = hlo_attr_find(like, kept[i]);
    if (attr) attrs[count++] = *attr;
  }
  const hlo_shape_t *shape = pass_shape(batcher->rewrite, like->shape->dtype, rank, dims);
  return shape
             ? hlo_build(builder, HLO_DOT, shape, 2, (hlo_instr_t *[]){a, b}, count, attrs, 0, NULL)
             : NULL;
}

/* --- rows ------------------------------------------------------------------------------------- */

/* The whole array, with rows in the shape of `row`. */
static hlo_instr_t *build_all_rows(batcher_t *batcher, const hlo_instr_t *slice,
                                   const hlo_instr_t *row) {
  hlo_instr_t *all = slice->operands[0];
  int64_t dims[HLO_MAX_RANK] = {all->shape->dims[0]};
  if (row->shape->rank + 1 > HLO_MAX_RANK) return NULL;
  for (int d = 0; d < row->shape->rank; d++) dims[d + 1] = row->shape->dims[d];
  const hlo_shape_t *shape =
      pass_shape(batcher->rewrite, all->shape->dtype, row->shape->rank + 1, dims);
  return shape ? hlo_build_reshape(&batcher->rewrite->builder, all, shape) : NULL;
}

/* Row i of the batched product, in the shape of `like`. */
static hlo_instr_t *build_row_slice(batcher_t *batcher, hlo_instr_t *all, const hlo_instr_t *slice,
                                    const hlo_instr_t *like) {
  hlo_builder_t *builder = &batcher->rewrite->builder;
  hlo_instr_t *operands[1 + HLO_MAX_RANK] = {all, slice->operands[1]};
  int64_t sizes[HLO_MAX_RANK];
  int rank = all->shape->rank;
  for (int d = 0; d < rank; d++) sizes[d] = d ? all->shape->dims[d] : 1;
  for (int d = 1; d < rank; d++)
    operands[1 + d] = hlo_build_number_like(builder, 0, slice->operands[1]);
  const hlo_shape_t *shape = pass_shape(batcher->rewrite, all->shape->dtype, rank, sizes);
  hlo_attr_t attr = hlo_attr_of_ints(builder, HLO_ATTR_DYNAMIC_SLICE_SIZES, rank, sizes);
  hlo_instr_t *row =
      shape ? hlo_build(builder, HLO_DYNAMIC_SLICE, shape, 1 + rank, operands, 1, &attr, 0, NULL)
            : NULL;
  return row ? hlo_build_reshape(builder, row, like->shape) : NULL;
}

static bool is_profitable(const hlo_instr_t *dot, const hlo_instr_t *slice, int side) {
  int64_t terms = dot->operands[side]->shape->dims[contracting_dim(dot, side)];
  int64_t rows = slice->operands[0]->shape->dims[0];
  return !loop_is_large_product(dot) &&
         hlo_shape_elements(dot->shape) * terms >= MIN_MULTIPLICATIONS && rows > 1 &&
         rows * hlo_shape_elements(dot->shape) * (int64_t)hr_dtype_bytes(dot->shape->dtype) <=
             MAX_BATCH_BYTES;
}

/* Only if the rows are vectors are they, as second operand, the first dimension of the result. */
static hlo_instr_t *batch_rows(batcher_t *batcher, hlo_instr_t *dot) {
  for (int side = 0; side < 2; side++) {
    hlo_instr_t *slice = find_row_slice(batcher, dot->operands[side]),
                *other = dot->operands[1 - side];
    if (!slice || !is_invariant(batcher, other, MAX_DEPTH) || !is_profitable(dot, slice, side))
      continue;
    if (side == 1 && dot->operands[1]->shape->rank != 1) continue;
    hlo_instr_t *all = build_all_rows(batcher, slice, dot->operands[side]);
    if (!all) return NULL;
    all = build_dot(batcher, dot, all, contracting_dim(dot, side) + 1, other,
                    contracting_dim(dot, 1 - side));
    return all ? build_row_slice(batcher, all, slice, dot) : NULL;
  }
  return NULL;
}

/* --- concatenations --------------------------------------------------------------------------- */

static bool has_row_operand(const batcher_t *batcher, const hlo_instr_t *pieces) {
  for (int k = 0; k < pieces->operand_count; k++)
    if (find_row_slice(batcher, pieces->operands[k])) return true;
  return false;
}

/* The concatenation of which the operand is the result or a flattened view; NULL: none. */
static hlo_instr_t *find_concatenation(const hlo_instr_t *dot, int side) {
  hlo_instr_t *x = dot->operands[side], *pieces = x;
  while (x->shape->rank == 1 && pieces->op == HLO_RESHAPE) pieces = pieces->operands[0];
  if (pieces->op != HLO_CONCATENATE) return NULL;
  int64_t d = attr_ints(pieces, HLO_ATTR_DIMENSIONS).data[0];
  bool is_line = x->shape->rank == 1 && pieces->shape->dims[d] == x->shape->dims[0];
  return is_line || (pieces == x && d == contracting_dim(dot, side)) ? pieces : NULL;
}

/* Concatenated operand k, flattened if the dot's operand is. */
static hlo_instr_t *reshape_concatenated(batcher_t *batcher, const hlo_instr_t *dot, int side,
                                         const hlo_instr_t *pieces, int k) {
  hlo_instr_t *piece = pieces->operands[k];
  if (dot->operands[side] == pieces) return piece;
  int64_t count = hlo_shape_elements(piece->shape);
  const hlo_shape_t *line = pass_shape(batcher->rewrite, piece->shape->dtype, 1, &count);
  return line ? hlo_build_reshape(&batcher->rewrite->builder, piece, line) : NULL;
}

static bool can_split_concatenation(const batcher_t *batcher, const hlo_instr_t *dot, int side) {
  const hlo_instr_t *pieces = find_concatenation(dot, side);
  return pieces && pieces->operand_count <= MAX_CONCATENATED &&
         pass_is_plain_float(dot->shape->dtype) && has_row_operand(batcher, pieces) &&
         is_invariant(batcher, dot->operands[1 - side], MAX_DEPTH);
}

/* Rows of the weights that multiply one concatenated operand. */
static hlo_instr_t *slice_weights(batcher_t *batcher, hlo_instr_t *x, int64_t d, int64_t from,
                                  int64_t to) {
  hlo_slice_dim_t dims[HLO_MAX_RANK];
  for (int i = 0; i < x->shape->rank; i++) dims[i] = (hlo_slice_dim_t){0, x->shape->dims[i], 1};
  dims[d] = (hlo_slice_dim_t){from, to, 1};
  return pass_build_slice(batcher->rewrite, x, dims);
}

static hlo_instr_t *split_concatenation(batcher_t *batcher, hlo_instr_t *dot, int side) {
  hlo_instr_t *pieces = find_concatenation(dot, side), *other = dot->operands[1 - side],
              *sum = NULL;
  int64_t d = contracting_dim(dot, side), other_d = contracting_dim(dot, 1 - side), from = 0;
  for (int k = 0; k < pieces->operand_count; k++) {
    hlo_instr_t *piece = reshape_concatenated(batcher, dot, side, pieces, k);
    if (!piece) return NULL;
    hlo_instr_t *part = slice_weights(batcher, other, other_d, from, from + piece->shape->dims[d]);
    if (!part) return NULL;
    hlo_instr_t *product = side ? build_dot(batcher, dot, part, other_d, piece, d)
                                : build_dot(batcher, dot, piece, d, part, other_d);
    from += piece->shape->dims[d];
    sum = sum && product ? hlo_build_binary(&batcher->rewrite->builder, HLO_ADD, sum, product)
                         : product;
  }
  return sum;
}

/* --- bodies ----------------------------------------------------------------------------------- */

static hr_status_t rewrite_dot(batcher_t *batcher, hlo_instr_t *dot) {
  hlo_instr_t *replacement = batch_rows(batcher, dot);
  for (int side = 0; side < 2 && !replacement; side++)
    if (can_split_concatenation(batcher, dot, side))
      replacement = split_concatenation(batcher, dot, side);
  return replacement || batcher->rewrite->builder.status
             ? pass_replace(batcher->rewrite, dot, replacement)
             : NULL;
}

static hr_status_t batch_body(const loop_t *loop, int64_t trips, bool *out_changed) {
  pass_rewrite_t rewrite;
  batcher_t batcher = {&rewrite, loop, trips};
  hr_status_t st = NULL;
  HR_TRY(pass_rewrite_begin(&rewrite, loop->body));
  for (uint32_t i = 0; i < rewrite.old_count && !st; i++) {
    hlo_instr_t *instr = pass_rewrite_visit(&rewrite, i);
    if (instr && is_plain_dot(instr)) st = rewrite_dot(&batcher, instr);
  }
  *out_changed |= rewrite.changed;
  return pass_rewrite_end(&rewrite, st);
}

hr_status_t pass_loop_batch(hlo_module_t *module, bool *out_changed) {
  for (size_t c = 0; c < module->computations.count; c++) {
    hlo_computation_t *computation = module->computations.data[c];
    for (size_t i = 0; i < computation->instrs.count; i++) {
      loop_t loop;
      loop_counter_t counter;
      if (loop_match(computation->instrs.data[i], &loop) && loop_find_counter(&loop, &counter))
        HR_TRY(batch_body(&loop, counter.trips, out_changed));
    }
  }
  return NULL;
}
