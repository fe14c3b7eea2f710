/* A scatter of one number into each row of an array of equal numbers, as the gradient of picking
 * one element of each row is written (the loss of a classifier), becomes a choice by position:
 *
 *   scatter(zeros[B,K], index[B], v[B])   ->   select(iota == index, 0 + v, zeros)
 *
 * which is computed where it is used, and the array of zeros is never written. An index outside of
 * the row equals no position, as it is dropped by the scatter. The same to the bit. */
#include "passes/lib/pass_rewrite.h"
#include "passes/passes.h"

typedef struct scatter_rows {
  hlo_builder_t *builder;
  const hlo_instr_t *scatter;
  hlo_instr_t *start;       /* the scalar that fills the operand */
  hr_ints_t batch;          /* dimensions of the operand: all but one */
  int64_t picked;           /* that one */
  const hlo_shape_t *sizes; /* of the batch, in the type of the operand */
} scatter_rows_t;

static bool ascends(hr_ints_t ints) {
  for (int64_t i = 1; i < ints.count; i++)
    if (ints.data[i] <= ints.data[i - 1]) return false;
  return true;
}

static int64_t count_of(const hlo_shape_t *shape) {
  int64_t count = 1;
  for (int d = 0; d < shape->rank; d++) count *= shape->dims[d];
  return count;
}

/* The scalar that an array is a broadcast of. */
static hlo_instr_t *scalar_through(hlo_instr_t *instr) {
  while ((instr->op == HLO_BROADCAST || instr->op == HLO_RESHAPE) && instr->shape->rank)
    instr = instr->operands[0];
  return instr->op == HLO_CONSTANT && hlo_shape_is_scalar(instr->shape) ? instr : NULL;
}

/* The body is one operation on what is there and what comes, or the latter. */
static bool has_simple_body(const hlo_computation_t *body) {
  const hlo_instr_t *root = body->root;
  if (root->op == HLO_PARAMETER) return hlo_parameter_number(root) == 1;
  return root->operand_count == 2 && hlo_op_is(root->op, OP_ELEMENTWISE) && root->attr_count == 0 &&
         root->operands[0]->op == HLO_PARAMETER && root->operands[1]->op == HLO_PARAMETER;
}

/* One index, and one number without a window, for each place of the batch. */
static bool is_one_per_row(const hlo_instr_t *scatter) {
  const hlo_shape_t *shape = scatter->operands[0]->shape, *indices = scatter->operands[1]->shape;
  hr_ints_t picked = hlo_attr_ints(scatter, HLO_ATTR_SCATTER_DIMS_TO_OPERAND_DIMS);
  hr_ints_t inserted = hlo_attr_ints(scatter, HLO_ATTR_INSERTED_WINDOW_DIMS);
  hr_ints_t batch = hlo_attr_ints(scatter, HLO_ATTR_INPUT_BATCHING_DIMS);
  if (picked.count != 1 || inserted.count != 1 || inserted.data[0] != picked.data[0]) return false;
  if (batch.count + 1 != shape->rank || hlo_attr_ints(scatter, HLO_ATTR_UPDATE_WINDOW_DIMS).count)
    return false;
  if (!ascends(batch) || !ascends(hlo_attr_ints(scatter, HLO_ATTR_SCATTER_INDICES_BATCHING_DIMS)))
    return false;
  int64_t rows = 1;
  for (int64_t i = 0; i < batch.count; i++) rows *= shape->dims[batch.data[i]];
  return rows > 0 && count_of(indices) == rows && count_of(scatter->operands[2]->shape) == rows;
}

static bool is_wanted(const hlo_instr_t *instr) {
  if (instr->op != HLO_SCATTER || instr->operand_count != 3 || !hlo_shape_is_array(instr->shape))
    return false;
  for (int k = 0; k < 3; k++)
    if (hlo_shape_is_dynamic(instr->operands[k]->shape)) return false;
  return scalar_through(instr->operands[0]) && is_one_per_row(instr) &&
         has_simple_body(instr->called[0]);
}

static hlo_instr_t *to_batch(scatter_rows_t *rows, hlo_instr_t *x, hr_dtype_t dtype) {
  const hlo_shape_t *shape = rows->sizes;
  hlo_builder_t *builder = rows->builder;
  hr_arena_t *arena = &builder->computation->module->arena;
  if (!builder->status) builder->status = hlo_shape_with_dtype(arena, rows->sizes, dtype, &shape);
  return builder->status ? NULL : hlo_build_reshape(builder, x, shape);
}

/* The number for each row, after the body has been applied to it. */
static hlo_instr_t *build_numbers(scatter_rows_t *rows) {
  const hlo_instr_t *root = rows->scatter->called[0]->root;
  hlo_instr_t *given = to_batch(rows, rows->scatter->operands[2], rows->sizes->dtype);
  if (root->op == HLO_PARAMETER) return given;
  hlo_instr_t *start =
      hlo_build_broadcast(rows->builder, rows->start, rows->sizes, (hr_ints_t){NULL, 0});
  hlo_instr_t *sides[] = {start, given};
  return hlo_build_binary(rows->builder, root->op, sides[hlo_parameter_number(root->operands[0])],
                          sides[hlo_parameter_number(root->operands[1])]);
}

/* Where the position along the rows is the row's index. Narrow types cannot count that far. */
static hlo_instr_t *build_positions(scatter_rows_t *rows) {
  hlo_builder_t *builder = rows->builder;
  hlo_instr_t *indices = rows->scatter->operands[1];
  hr_dtype_t dtype = hr_dtype_bytes(indices->shape->dtype) < 8 ? HR_S64 : indices->shape->dtype;
  bool plain =
      indices->shape->dtype == HR_S32 && rows->scatter->shape->dims[rows->picked] <= INT32_MAX;
  if (plain) dtype = HR_S32;
  const hlo_shape_t *shape = NULL;
  hr_arena_t *arena = &builder->computation->module->arena;
  if (!builder->status)
    builder->status = hlo_shape_with_dtype(arena, rows->scatter->shape, dtype, &shape);
  if (builder->status) return NULL;
  if (dtype != indices->shape->dtype) indices = hlo_build_convert(builder, indices, dtype);
  if (!indices) return NULL;
  hlo_instr_t *wanted =
      hlo_build_broadcast(builder, to_batch(rows, indices, dtype), shape, rows->batch);
  hlo_attr_t along = hlo_attr_of_int(HLO_ATTR_IOTA_DIMENSION, rows->picked);
  hlo_instr_t *position = hlo_build(builder, HLO_IOTA, shape, 0, NULL, 1, &along, 0, NULL);
  return hlo_build_compare(builder, HLO_DIRECTION_EQ, position, wanted);
}

static hr_status_t rewrite_scatter(pass_rewrite_t *rewrite, hlo_instr_t *scatter) {
  const hlo_shape_t *shape = scatter->shape;
  scatter_rows_t rows = {
      .builder = &rewrite->builder,
      .scatter = scatter,
      .start = scalar_through(scatter->operands[0]),
      .batch = hlo_attr_ints(scatter, HLO_ATTR_INPUT_BATCHING_DIMS),
      .picked = hlo_attr_ints(scatter, HLO_ATTR_SCATTER_DIMS_TO_OPERAND_DIMS).data[0]};
  int64_t dims[HLO_MAX_RANK];
  for (int64_t i = 0; i < rows.batch.count; i++) dims[i] = shape->dims[rows.batch.data[i]];
  HR_TRY(hlo_shape_array(rewrite->arena, shape->dtype, (int)rows.batch.count, dims, &rows.sizes));
  hlo_instr_t *numbers = hlo_build_broadcast(rows.builder, build_numbers(&rows), shape, rows.batch);
  hlo_instr_t *rest = hlo_build_broadcast(rows.builder, rows.start, shape, (hr_ints_t){NULL, 0});
  return pass_replace(rewrite, scatter,
                      hlo_build_select(rows.builder, build_positions(&rows), numbers, rest));
}

static bool has_any(const hlo_computation_t *computation) {
  for (size_t i = 0; i < computation->instrs.count; i++)
    if (is_wanted(computation->instrs.data[i])) return true;
  return false;
}

hr_status_t pass_scatter_to_select(hlo_module_t *module, bool *out_changed) {
  for (size_t c = 0; c < module->computations.count; c++) {
    pass_rewrite_t rewrite;
    hr_status_t st = NULL;
    if (!has_any(module->computations.data[c])) continue;
    HR_TRY(pass_rewrite_begin(&rewrite, module->computations.data[c]));
    for (uint32_t i = 0; i < rewrite.old_count && !st; i++) {
      hlo_instr_t *instr = pass_rewrite_visit(&rewrite, i);
      if (instr && is_wanted(instr)) st = rewrite_scatter(&rewrite, instr);
    }
    *out_changed |= rewrite.changed;
    HR_TRY(pass_rewrite_end(&rewrite, st));
  }
  return NULL;
}
