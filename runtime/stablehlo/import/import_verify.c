/* Constraints of StableHLO that HLO lacks. They are checked on the op before it is imported; HLO's
 * verifier checks all others. */
#include "stablehlo/import/import.h"

static const mlir_type_t *operand_type(const mlir_op_t *op, int k) { return op->operands[k]->type; }

static bool is_scalar(const mlir_type_t *type) {
  return type->kind != MLIR_TYPE_TENSOR || type->rank == 0;
}

/* Start indices must be scalars; HLO also accepts its older form, one vector. */
static hr_status_t verify_starts(import_scope_t *scope, const mlir_op_t *op, int first,
                                 const char *label) {
  for (int k = first; k < op->operand_count; k++)
    if (!is_scalar(operand_type(op, k)))
      return import_error(scope, op, "start index %d is a tensor of rank %d, want a scalar (%s)",
                          k - first, operand_type(op, k)->rank, label);
  return NULL;
}

/* "I2" and the like below: numbers of constraints in the StableHLO specification. */
static hr_status_t verify_dynamic_slice(import_scope_t *scope, const mlir_op_t *op) {
  return verify_starts(scope, op, 1, "dynamic_slice I2");
}

static hr_status_t verify_dynamic_update_slice(import_scope_t *scope, const mlir_op_t *op) {
  return verify_starts(scope, op, 2, "dynamic_update_slice I3");
}

/* Ops that StableHLO defines for signed types only. */
static hr_status_t verify_signed(import_scope_t *scope, const mlir_op_t *op, const char *label) {
  const mlir_type_t *element = operand_type(op, 0)->element;
  bool is_unsigned =
      element && element->kind == MLIR_TYPE_INTEGER && element->signedness == MLIR_UNSIGNED;
  if (!is_unsigned) return NULL;
  return import_error(
      scope, op,
      "operand 0 has elements of type ui%d, want signed integers, floats or complex numbers (%s)",
      element->width, label);
}

static hr_status_t verify_abs(import_scope_t *scope, const mlir_op_t *op) {
  return verify_signed(scope, op, "abs I1");
}
static hr_status_t verify_sign(import_scope_t *scope, const mlir_op_t *op) {
  return verify_signed(scope, op, "sign I1");
}

/* Only the dynamic forms of these ops have results with unbounded sizes. */
static hr_status_t verify_sized(import_scope_t *scope, const mlir_op_t *op) {
  const hlo_shape_t *shape;
  HR_TRY(import_result_shape(scope, op, 0, &shape));
  for (int d = 0; d < shape->rank; d++)
    if (shape->dims[d] == HLO_UNBOUNDED)
      return import_error(scope, op, "the result's dimension %d has no size, want a static shape",
                          d);
  return NULL;
}

/* Checks that layout has one list of integers for each result except the token. */
static hr_status_t verify_infeed(import_scope_t *scope, const mlir_op_t *op) {
  const mlir_attr_t *layout = mlir_op_attr(op, "layout");
  if (!layout) return NULL;
  if (layout->kind != MLIR_ATTR_ARRAY) return import_error(scope, op, "layout is no list");
  if (layout->count != op->result_count - 1)
    return import_error(scope, op,
                        "layout has %d lists, want %d, one for each result but the token",
                        layout->count, op->result_count - 1);
  for (int i = 0; i < layout->count; i++) {
    const mlir_attr_t *order = layout->items[i];
    if (order->kind != MLIR_ATTR_ARRAY) return import_error(scope, op, "layout %d is no list", i);
    for (int k = 0; k < order->count; k++)
      if (order->items[k]->kind != MLIR_ATTR_INTEGER)
        return import_error(scope, op, "layout %d is no list of integers", i);
  }
  return NULL;
}

/* rng(a, b, shape): the shape must be the result's. */
static hr_status_t verify_rng(import_scope_t *scope, const mlir_op_t *op) {
  const hlo_shape_t *shape;
  const mlir_type_t *type = operand_type(op, 2);
  const hlo_instr_t *sizes = import_operand(op, 2);
  HR_TRY(import_result_shape(scope, op, 0, &shape));
  bool is_list =
      type->kind == MLIR_TYPE_TENSOR && type->rank == 1 && hr_dtype_is_integer(sizes->shape->dtype);
  if (!is_list) return import_error(scope, op, "operand 2 is no list of integers (rng I3)");
  if (type->dims[0] >= 0 && type->dims[0] != shape->rank)
    return import_error(scope, op, "%ld sizes for a result of rank %d (rng C3)",
                        (long)type->dims[0], shape->rank);
  for (int d = 0; sizes->op == HLO_CONSTANT && d < shape->rank; d++) {
    int64_t size = hlo_value_int_at(sizes->literal, d);
    if (!(shape->dynamic && shape->dynamic[d]) && size != shape->dims[d])
      return import_error(scope, op, "the result's dimension %d has size %ld, want %ld (rng C3)", d,
                          (long)shape->dims[d], (long)size);
  }
  return NULL;
}

static const struct verifier {
  const char *name;
  hr_status_t (*verify)(import_scope_t *scope, const mlir_op_t *op);
} verifiers[] = {{"stablehlo.abs", verify_abs},
                 {"stablehlo.broadcast_in_dim", verify_sized},
                 {"stablehlo.dynamic_slice", verify_dynamic_slice},
                 {"stablehlo.dynamic_update_slice", verify_dynamic_update_slice},
                 {"stablehlo.infeed", verify_infeed},
                 {"stablehlo.iota", verify_sized},
                 {"stablehlo.reshape", verify_sized},
                 {"stablehlo.rng", verify_rng},
                 {"stablehlo.sign", verify_sign}};

/* Ops without a row have no constraint beyond HLO's verifier. Cost: a scan of the table. */
hr_status_t import_verify(import_scope_t *scope, const mlir_op_t *op) {
  for (size_t i = 0; i < sizeof verifiers / sizeof *verifiers; i++)
    if (hr_str_is(op->name, verifiers[i].name)) return verifiers[i].verify(scope, op);
  return NULL;
}
