/* A scatter of one value into each row of a constant array, or of any array of short rows, becomes
 * a select by position:
 *
 *   scatter(broadcast(c)[B,K], index[B], v[B])   ->   select(iota == index, body(c, v), c)
 *   scatter(x[B,K], index[B], v[B]), K small     ->   select(iota == index, body(x, v), x)
 *
 * JAX emits it as the gradient of reading one element per row (the loss of a classifier), and for
 * the permutations of small LU factorisations. The select fuses with its users, and the array of
 * zeros is never written. An index out of bounds matches no position, as the scatter drops it.
 * Exact in every bit. */
#include "passes/lib/pass_match.h"
#include "passes/passes.h"

/* Longest row of an array that is not constant: about what one scattered element costs. */
#define SHORT_ROW 16

typedef struct scatter_rows {
  hlo_builder_t *builder;
  const hlo_instr_t *scatter;
  hlo_instr_t *start;       /* the operand, or the value of all its elements */
  hr_ints_t batch;          /* dimensions of the operand: all but one */
  int64_t scatter_dim;      /* the remaining dimension */
  const hlo_shape_t *sizes; /* shape of the batch, in the type of the operand */
} scatter_rows_t;

static bool is_strictly_increasing(hr_ints_t ints) {
  for (int64_t i = 1; i < ints.count; i++)
    if (ints.data[i] <= ints.data[i - 1]) return false;
  return true;
}

/* The scalar that an array is a broadcast of. */
static hlo_instr_t *find_fill_scalar(hlo_instr_t *instr) {
  while ((instr->op == HLO_BROADCAST || instr->op == HLO_RESHAPE) && instr->shape->rank)
    instr = instr->operands[0];
  return instr->op == HLO_CONSTANT && hlo_shape_is_scalar(instr->shape) ? instr : NULL;
}

/* Is the body one binary op of its two parameters, or parameter 1? */
static bool has_simple_body(const hlo_computation_t *body) {
  const hlo_instr_t *root = body->root;
  if (root->op == HLO_PARAMETER) return hlo_parameter_number(root) == 1;
  return root->operand_count == 2 && hlo_op_is(root->op, OP_ELEMENTWISE) && root->attr_count == 0 &&
         root->operands[0]->op == HLO_PARAMETER && root->operands[1]->op == HLO_PARAMETER;
}

/* Has the scatter one index and one scalar update per batch element? */
static bool updates_one_per_row(const hlo_instr_t *scatter) {
  const hlo_shape_t *shape = scatter->operands[0]->shape, *indices = scatter->operands[1]->shape;
  hr_ints_t scatter_dim = hlo_attr_ints(scatter, HLO_ATTR_SCATTER_DIMS_TO_OPERAND_DIMS);
  hr_ints_t inserted = hlo_attr_ints(scatter, HLO_ATTR_INSERTED_WINDOW_DIMS);
  hr_ints_t batch = hlo_attr_ints(scatter, HLO_ATTR_INPUT_BATCHING_DIMS);
  if (scatter_dim.count != 1 || inserted.count != 1 || inserted.data[0] != scatter_dim.data[0])
    return false;
  if (batch.count + 1 != shape->rank || hlo_attr_ints(scatter, HLO_ATTR_UPDATE_WINDOW_DIMS).count)
    return false;
  if (!is_strictly_increasing(batch) ||
      !is_strictly_increasing(hlo_attr_ints(scatter, HLO_ATTR_SCATTER_INDICES_BATCHING_DIMS)))
    return false;
  int64_t rows = 1;
  for (int64_t i = 0; i < batch.count; i++) rows *= shape->dims[batch.data[i]];
  return rows > 0 && hlo_shape_elements(indices) == rows &&
         hlo_shape_elements(scatter->operands[2]->shape) == rows;
}

static bool has_short_rows(const hlo_instr_t *scatter) {
  hr_ints_t scatter_dim = hlo_attr_ints(scatter, HLO_ATTR_SCATTER_DIMS_TO_OPERAND_DIMS);
  return scatter->shape->dims[scatter_dim.data[0]] <= SHORT_ROW;
}

static bool is_row_scatter(const hlo_instr_t *instr) {
  if (instr->op != HLO_SCATTER || instr->operand_count != 3 || !hlo_shape_is_array(instr->shape))
    return false;
  for (int k = 0; k < 3; k++)
    if (hlo_shape_is_dynamic(instr->operands[k]->shape)) return false;
  return updates_one_per_row(instr) && has_simple_body(instr->called[0]) &&
         (find_fill_scalar(instr->operands[0]) || has_short_rows(instr));
}

static hlo_instr_t *reshape_to_batch(scatter_rows_t *rows, hlo_instr_t *x, hr_dtype_t dtype) {
  const hlo_shape_t *shape = rows->sizes;
  hlo_builder_t *builder = rows->builder;
  hr_arena_t *arena = &builder->computation->module->arena;
  if (!builder->status) builder->status = hlo_shape_with_dtype(arena, rows->sizes, dtype, &shape);
  return builder->status ? NULL : hlo_build_reshape(builder, x, shape);
}

/* The start values as an array of this shape. */
static hlo_instr_t *spread_start(scatter_rows_t *rows, const hlo_shape_t *shape) {
  if (!hlo_shape_is_scalar(rows->start->shape)) return rows->start;
  return hlo_build_broadcast(rows->builder, rows->start, shape, (hr_ints_t){NULL, 0});
}

/* The new values: the body applied to the start values and the updates; per row if the start is
 * one value. */
static hlo_instr_t *build_new_values(scatter_rows_t *rows) {
  const hlo_instr_t *root = rows->scatter->called[0]->root;
  const hlo_shape_t *shape = rows->scatter->shape;
  hlo_instr_t *update = reshape_to_batch(rows, rows->scatter->operands[2], rows->sizes->dtype);
  bool by_row = hlo_shape_is_scalar(rows->start->shape);
  if (!by_row) update = hlo_build_broadcast(rows->builder, update, shape, rows->batch);
  if (root->op != HLO_PARAMETER) {
    hlo_instr_t *operands[] = {spread_start(rows, rows->sizes), update};
    update =
        hlo_build_binary(rows->builder, root->op, operands[hlo_parameter_number(root->operands[0])],
                         operands[hlo_parameter_number(root->operands[1])]);
  }
  return by_row ? hlo_build_broadcast(rows->builder, update, shape, rows->batch) : update;
}

/* iota == index along the rows. Compared in s32 or s64: narrow types cannot hold all positions. */
static hlo_instr_t *build_match_mask(scatter_rows_t *rows) {
  hlo_builder_t *builder = rows->builder;
  hlo_instr_t *indices = rows->scatter->operands[1];
  hr_dtype_t dtype = hr_dtype_bytes(indices->shape->dtype) < 8 ? HR_S64 : indices->shape->dtype;
  bool fits_s32 =
      indices->shape->dtype == HR_S32 && rows->scatter->shape->dims[rows->scatter_dim] <= INT32_MAX;
  if (fits_s32) dtype = HR_S32;
  const hlo_shape_t *shape = NULL;
  hr_arena_t *arena = &builder->computation->module->arena;
  if (!builder->status)
    builder->status = hlo_shape_with_dtype(arena, rows->scatter->shape, dtype, &shape);
  if (builder->status) return NULL;
  if (dtype != indices->shape->dtype) indices = hlo_build_convert(builder, indices, dtype);
  if (!indices) return NULL;
  hlo_instr_t *target_index =
      hlo_build_broadcast(builder, reshape_to_batch(rows, indices, dtype), shape, rows->batch);
  hlo_attr_t along = hlo_attr_of_int(HLO_ATTR_IOTA_DIMENSION, rows->scatter_dim);
  hlo_instr_t *column = hlo_build(builder, HLO_IOTA, shape, 0, NULL, 1, &along, 0, NULL);
  return hlo_build_compare(builder, HLO_DIRECTION_EQ, column, target_index);
}

static hr_status_t rewrite_scatter(pass_rewrite_t *rewrite, hlo_instr_t *scatter) {
  const hlo_shape_t *shape = scatter->shape;
  hlo_instr_t *fill = find_fill_scalar(scatter->operands[0]);
  scatter_rows_t rows = {
      .builder = &rewrite->builder,
      .scatter = scatter,
      .start = fill ? fill : scatter->operands[0],
      .batch = hlo_attr_ints(scatter, HLO_ATTR_INPUT_BATCHING_DIMS),
      .scatter_dim = hlo_attr_ints(scatter, HLO_ATTR_SCATTER_DIMS_TO_OPERAND_DIMS).data[0]};
  int64_t dims[HLO_MAX_RANK];
  for (int64_t i = 0; i < rows.batch.count; i++) dims[i] = shape->dims[rows.batch.data[i]];
  HR_TRY(hlo_shape_array(rewrite->arena, shape->dtype, (int)rows.batch.count, dims, &rows.sizes));
  hlo_instr_t *values = build_new_values(&rows), *start = spread_start(&rows, shape);
  return pass_replace(rewrite, scatter,
                      hlo_build_select(rows.builder, build_match_mask(&rows), values, start));
}

static hr_status_t visit(pass_rewrite_t *rewrite, hlo_instr_t *instr, void *context) {
  (void)context;
  return is_row_scatter(instr) ? rewrite_scatter(rewrite, instr) : NULL;
}

static bool has_candidates(const hlo_computation_t *computation) {
  for (size_t i = 0; i < computation->instrs.count; i++)
    if (is_row_scatter(computation->instrs.data[i])) return true;
  return false;
}

hr_status_t pass_scatter_to_select(hlo_module_t *module, bool *out_changed) {
  for (size_t c = 0; c < module->computations.count; c++)
    if (has_candidates(module->computations.data[c]))
      HR_TRY(pass_rewrite_each(module->computations.data[c], visit, NULL, out_changed));
  return NULL;
}
