/* Ops with sizes as operands. If the sizes are constants, or the declared result is static, the
 * static op is made instead. */
#include "stablehlo/import/import.h"

/* Elements of an integer constant; count -1: not a constant. */
static hr_status_t constant_ints(import_scope_t *scope, const hlo_instr_t *instr,
                                 hr_ints_t *out_ints) {
  const hlo_value_t *value = instr->op == HLO_CONSTANT ? instr->literal : NULL;
  int64_t *ints;
  *out_ints = (hr_ints_t){NULL, -1};
  if (!value || !hr_dtype_is_integer(value->dtype)) return NULL;
  HR_TRY(HR_NEW_ARRAY(scope->importer->arena, value->count, &ints));
  for (int64_t i = 0; i < value->count; i++) ints[i] = hlo_value_int_at(value, i);
  *out_ints = (hr_ints_t){ints, value->count};
  return NULL;
}

/* One instruction with the op's operands. */
static hr_status_t build(import_scope_t *scope, mlir_op_t *op, hlo_opcode_t hlo_op,
                         int operand_count, const import_attrs_t *attrs) {
  hlo_instr_t **operands;
  const hlo_shape_t *shape;
  HR_TRY(import_operands(scope, op, &operands));
  HR_TRY(import_result_shape(scope, op, 0, &shape));
  return import_set_results(scope, op,
                            hlo_build(&scope->builder, hlo_op, shape, operand_count, operands,
                                      attrs->count, attrs->items, 0, NULL));
}

/* True if the result type has no dynamic sizes; operands with sizes are then redundant, and the
 * static op is built without them. */
static hr_status_t is_static_result(import_scope_t *scope, const mlir_op_t *op, bool *out_static) {
  const hlo_shape_t *shape;
  HR_TRY(import_result_shape(scope, op, 0, &shape));
  *out_static = !hlo_shape_is_dynamic(shape);
  return NULL;
}

/* Static if the shape operand is constant or the result is static. */
hr_status_t import_dynamic_broadcast(import_scope_t *scope, mlir_op_t *op,
                                     const import_row_t *row) {
  bool is_static;
  import_attrs_t attrs = {.count = 0};
  HR_TRY(is_static_result(scope, op, &is_static));
  if (is_static) return import_broadcast_in_dim(scope, op, row);
  HR_TRY(import_add_ints(scope, &attrs, HLO_ATTR_DIMENSIONS, op, "broadcast_dimensions"));
  return build(scope, op, row->op, 2, &attrs);
}

/* iota, or a dynamic iota with the vector of sizes as its operand. */
hr_status_t import_dynamic_iota(import_scope_t *scope, mlir_op_t *op, const import_row_t *row) {
  bool is_static;
  import_attrs_t attrs = {.count = 0};
  HR_TRY(is_static_result(scope, op, &is_static));
  import_add(&attrs, hlo_attr_of_int(HLO_ATTR_IOTA_DIMENSION, import_int(op, "iota_dimension", 0)));
  return is_static ? build(scope, op, HLO_IOTA, 0, &attrs) : build(scope, op, row->op, 1, &attrs);
}

/* reshape, or dynamic-reshape of the array and the vector of sizes. */
hr_status_t import_dynamic_reshape(import_scope_t *scope, mlir_op_t *op, const import_row_t *row) {
  bool is_static;
  import_attrs_t attrs = {.count = 0};
  HR_TRY(is_static_result(scope, op, &is_static));
  return is_static ? build(scope, op, HLO_RESHAPE, 1, &attrs)
                   : build(scope, op, row->op, 2, &attrs);
}

/* Three lists of the same length, from operands `first` and following; count -1 if not all are
 * constant. */
static hr_status_t constant_lists(import_scope_t *scope, const mlir_op_t *op, int first,
                                  hr_ints_t lists[3]) {
  for (int i = 0; i < 3; i++) {
    HR_TRY(constant_ints(scope, import_operand(op, first + i), &lists[i]));
    if (lists[i].count != lists[0].count || lists[0].count > HLO_MAX_RANK) lists[0].count = -1;
  }
  return NULL;
}

/* Padding as operands. */
hr_status_t import_dynamic_pad(import_scope_t *scope, mlir_op_t *op, const import_row_t *row) {
  hr_ints_t lists[3];
  hlo_padding_dim_t *dims;
  hlo_padding_t *padding;
  import_attrs_t attrs = {.count = 0};
  HR_TRY(constant_lists(scope, op, 2, lists));
  if (lists[0].count < 0) return build(scope, op, row->op, 5, &attrs);
  HR_TRY(HR_NEW_ARRAY(scope->importer->arena, lists[0].count, &dims));
  HR_TRY(HR_NEW(scope->importer->arena, &padding));
  for (int64_t d = 0; d < lists[0].count; d++)
    dims[d] = (hlo_padding_dim_t){lists[0].data[d], lists[1].data[d], lists[2].data[d]};
  *padding = (hlo_padding_t){(int)lists[0].count, dims};
  import_add(&attrs, (hlo_attr_t){.key = HLO_ATTR_PADDING, .padding = padding});
  return build(scope, op, HLO_PAD, 2, &attrs);
}

/* A static slice if start, limit and strides are constants. */
hr_status_t import_real_dynamic_slice(import_scope_t *scope, mlir_op_t *op,
                                      const import_row_t *row) {
  hr_ints_t lists[3];
  hlo_slice_dim_t *dims;
  hlo_slice_t *slice;
  import_attrs_t attrs = {.count = 0};
  HR_TRY(constant_lists(scope, op, 1, lists));
  if (lists[0].count < 0) return build(scope, op, row->op, 4, &attrs);
  HR_TRY(HR_NEW_ARRAY(scope->importer->arena, lists[0].count, &dims));
  HR_TRY(HR_NEW(scope->importer->arena, &slice));
  for (int64_t d = 0; d < lists[0].count; d++)
    dims[d] = (hlo_slice_dim_t){lists[0].data[d], lists[1].data[d], lists[2].data[d]};
  *slice = (hlo_slice_t){(int)lists[0].count, dims};
  import_add(&attrs, (hlo_attr_t){.key = HLO_ATTR_SLICE, .slice = slice});
  return build(scope, op, HLO_SLICE, 1, &attrs);
}

/* Slice sizes as an operand. */
hr_status_t import_dynamic_gather(import_scope_t *scope, mlir_op_t *op, const import_row_t *row) {
  hr_ints_t sizes;
  import_attrs_t attrs = {.count = 0};
  HR_TRY(import_gather_numbers(scope, &attrs, op));
  HR_TRY(constant_ints(scope, import_operand(op, 2), &sizes));
  if (sizes.count < 0) return build(scope, op, row->op, 3, &attrs);
  import_add(&attrs, (hlo_attr_t){.key = HLO_ATTR_SLICE_SIZES, .ints = sizes});
  return build(scope, op, HLO_GATHER, 2, &attrs);
}

/* Padding as an operand. */
hr_status_t import_dynamic_convolution(import_scope_t *scope, mlir_op_t *op,
                                       const import_row_t *row) {
  hr_ints_t padding;
  import_attrs_t attrs = {.count = 0};
  HR_TRY(constant_ints(scope, import_operand(op, 2), &padding));
  bool fold = padding.count >= 0 && !hlo_shape_is_dynamic(import_operand(op, 1)->shape);
  HR_TRY(import_convolution_numbers(scope, &attrs, op, fold ? &padding : NULL));
  return fold ? build(scope, op, HLO_CONVOLUTION, 2, &attrs) : build(scope, op, row->op, 3, &attrs);
}
