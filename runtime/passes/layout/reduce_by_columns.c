/* A reduction whose elements must be combined in order, along the last dimension, waits for each
 * element of a row. With the reduced dimensions first, as many rows as a vector has lanes are
 * reduced at once, in the same order:
 *
 *   reduce(x[M,K], dimensions={1})   ->   reduce(transpose(x)[K,M], dimensions={0})
 *
 * The transposition costs less than one combination. Exact in every bit. After `simplify`, which
 * would remove it. */
#include "ops/query/gather_dims.h"
#include "ops/query/reduce_order.h"
#include "passes/lib/pass_match.h"
#include "passes/passes.h"

#define LEAST_ROWS 16       /* lanes of f32 */
#define LEAST_TERMS 8       /* elements of a row; fewer are unrolled */
#define LEAST_ELEMENTS 2048 /* less to do than what a call of a kernel costs */
#define MOST_ARRAYS 8
#define MOST_BYTES ((int64_t)64 << 20) /* most bytes of an operand, whose copy takes memory */

static bool has_static_shapes(const hlo_instr_t *reduce) {
  for (int k = 0; k < reduce->operand_count; k++)
    if (!hlo_shape_is_array(reduce->operands[k]->shape) ||
        hlo_shape_is_dynamic(reduce->operands[k]->shape))
      return false;
  return !hlo_shape_is_dynamic(reduce->shape);
}

static bool suits(const hlo_instr_t *instr) {
  if (instr->op != HLO_REDUCE || instr->operand_count > 2 * MOST_ARRAYS ||
      !has_static_shapes(instr))
    return false;
  const hlo_shape_t *x = instr->operands[0]->shape;
  hr_ints_t dims = hlo_attr_ints(instr, HLO_ATTR_DIMENSIONS);
  int64_t count = hlo_shape_elements(x), rows = hlo_shape_elements(hlo_shape_leaf(instr->shape, 0));
  if (!op_dims_contain(dims, x->rank - 1) || count < LEAST_ELEMENTS || rows < LEAST_ROWS)
    return false;
  if (count * (int64_t)hr_dtype_bytes(x->dtype) > MOST_BYTES) return false;
  return count >= LEAST_TERMS * rows && op_reduce_order(instr) >= OP_REDUCE_ASCENDING;
}

static hlo_instr_t *transposed(pass_rewrite_t *rewrite, hlo_instr_t *x, hr_ints_t order) {
  return pass_transpose_is_free(rewrite, x, order) ? pass_build_transposed(rewrite, x, order)
                                                   : pass_build_transpose(rewrite, x, order.data);
}

static hlo_instr_t *turn(pass_rewrite_t *rewrite, hlo_instr_t *reduce) {
  hr_ints_t dims = hlo_attr_ints(reduce, HLO_ATTR_DIMENSIONS);
  int rank = reduce->operands[0]->shape->rank, next = 0, count = reduce->operand_count;
  int64_t order[HLO_MAX_RANK], first[HLO_MAX_RANK];
  hlo_instr_t *operands[2 * MOST_ARRAYS];
  hlo_attr_t changed = {.key = HLO_ATTR_DIMENSIONS};
  hlo_builder_t *builder = &rewrite->builder;
  for (int wanted = 1; wanted >= 0; wanted--)
    for (int d = 0; d < rank; d++)
      if (op_dims_contain(dims, d) == wanted) order[next++] = d;
  for (int64_t i = 0; i < dims.count; i++) first[i] = i;
  builder->status =
      hr_arena_ints(&rewrite->computation->module->arena, first, dims.count, &changed.ints);
  for (int k = 0; k < count; k++) {
    operands[k] = reduce->operands[k];
    if (k < count / 2 && !builder->status)
      operands[k] = transposed(rewrite, operands[k], (hr_ints_t){order, rank});
  }
  return builder->status ? NULL
                         : pass_build_with(rewrite, reduce, operands, reduce->shape, &changed);
}

static hr_status_t visit(pass_rewrite_t *rewrite, hlo_instr_t *instr, void *context) {
  (void)context;
  return suits(instr) ? pass_replace(rewrite, instr, turn(rewrite, instr)) : NULL;
}

hr_status_t pass_reduce_by_columns(hlo_module_t *module, bool *out_changed) {
  return pass_rewrite_module(module, visit, NULL, out_changed);
}
