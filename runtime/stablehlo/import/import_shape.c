/* Ops of the shape, tensor and arith dialects, with which programs of dynamic sizes compute sizes:
 * a shape is a vector of s64, a size (index) an s64 scalar, a witness a checked pred. */
#include "stablehlo/import/import.h"

static hr_status_t vector_shape(import_scope_t *scope, hr_dtype_t dtype, int64_t size,
                                const hlo_shape_t **out_shape) {
  return hlo_shape_array(scope->importer->arena, dtype, 1, &size, out_shape);
}

/* A failed allocation in the helpers below is recorded in the builder, like the builder's own. */
static hlo_instr_t *as_vector(import_scope_t *scope, hlo_instr_t *scalar, hr_dtype_t dtype) {
  const hlo_shape_t *shape;
  hlo_builder_t *b = &scope->builder;
  if (!b->status) b->status = vector_shape(scope, dtype, 1, &shape);
  return b->status ? NULL : hlo_build_reshape(b, hlo_build_convert(b, scalar, dtype), shape);
}

/* Vector of s64 from scalars. */
static hlo_instr_t *vector_of(import_scope_t *scope, const int64_t *values, int64_t count,
                              hr_dtype_t dtype) {
  hlo_builder_t *b = &scope->builder;
  hlo_value_t *value;
  if (!b->status) b->status = hlo_value_array(HR_S64, 1, &count, &value);
  if (b->status) return NULL;
  for (int64_t i = 0; i < count; i++) ((int64_t *)value->data)[i] = values[i];
  return hlo_build_convert(b, hlo_build_constant(b, value), dtype);
}

/* Concatenates vectors; a single one is returned. */
static hlo_instr_t *concatenate(import_scope_t *scope, int count, hlo_instr_t *const *vectors) {
  int64_t zero = 0;
  hlo_attr_t attr = hlo_attr_of_ints(&scope->builder, HLO_ATTR_DIMENSIONS, 1, &zero);
  return count == 1
             ? vectors[0]
             : hlo_build(&scope->builder, HLO_CONCATENATE, NULL, count, vectors, 1, &attr, 0, NULL);
}

/* Size of dimension d at run time, an s32 scalar. */
static hlo_instr_t *size_of(import_scope_t *scope, hlo_instr_t *x, int64_t d) {
  hlo_attr_t attr = hlo_attr_of_ints(&scope->builder, HLO_ATTR_DIMENSIONS, 1, &d);
  return hlo_build(&scope->builder, HLO_GET_DIMENSION_SIZE, NULL, 1, &x, 1, &attr, 0, NULL);
}

/* All sizes as a vector: a constant for static shapes, else one size after another. */
static hlo_instr_t *shape_of(import_scope_t *scope, hlo_instr_t *x, hr_dtype_t dtype) {
  hlo_instr_t *sizes[HLO_MAX_RANK];
  if (!hlo_shape_is_dynamic(x->shape))
    return vector_of(scope, x->shape->dims, x->shape->rank, dtype);
  for (int d = 0; d < x->shape->rank; d++) sizes[d] = as_vector(scope, size_of(scope, x, d), dtype);
  return concatenate(scope, x->shape->rank, sizes);
}

/* Element i of a vector, as a scalar. */
static hlo_instr_t *element_of(import_scope_t *scope, hlo_instr_t *vector, int64_t i) {
  hlo_slice_dim_t *dim;
  hlo_slice_t *slice;
  hlo_builder_t *b = &scope->builder;
  if (!b->status) b->status = HR_NEW(scope->importer->arena, &dim);
  if (!b->status) b->status = HR_NEW(scope->importer->arena, &slice);
  if (b->status || !vector) return NULL;
  *dim = (hlo_slice_dim_t){i, i + 1, 1};
  *slice = (hlo_slice_t){1, dim};
  hlo_attr_t attr = {.key = HLO_ATTR_SLICE, .slice = slice};
  hlo_instr_t *one = hlo_build(b, HLO_SLICE, NULL, 1, &vector, 1, &attr, 0, NULL);
  return hlo_build_reshape(b, one, hlo_shape_scalar(vector->shape->dtype));
}

/* Dimensions without an operand dimension have size 1. */
hlo_instr_t *import_sizes_at(import_scope_t *scope, hlo_instr_t *x, int rank,
                             const int64_t *places) {
  static const int64_t one = 1;
  hlo_instr_t *sizes[HLO_MAX_RANK];
  for (int d = 0; d < rank; d++) sizes[d] = NULL;
  for (int d = 0; d < x->shape->rank; d++)
    sizes[places[d]] = as_vector(scope, size_of(scope, x, d), HR_S32);
  for (int d = 0; d < rank; d++)
    if (!sizes[d]) sizes[d] = vector_of(scope, &one, 1, HR_S32);
  return concatenate(scope, rank, sizes);
}

/* The size of two dimensions after broadcasting: b if a is 1, else a. Whether they agree is
 * checked elsewhere. */
hlo_instr_t *import_join_sizes(import_scope_t *scope, hlo_instr_t *a, hlo_instr_t *b) {
  hlo_builder_t *builder = &scope->builder;
  hlo_instr_t *is_one =
      hlo_build_compare(builder, HLO_DIRECTION_EQ, a, hlo_build_number_like(builder, 1, a));
  return hlo_build_select(builder, is_one, b, a);
}

/* Operands must be shapes: static vectors of integers. */
static hr_status_t want_shapes(import_scope_t *scope, const mlir_op_t *op) {
  for (int k = 0; k < op->operand_count; k++) {
    const hlo_shape_t *shape = import_operand(op, k)->shape;
    if (shape->rank != 1 || shape->dynamic || !hr_dtype_is_integer(shape->dtype))
      return import_error(scope, op, "operand %d is not a shape of known rank", k);
  }
  return NULL;
}

/* Integer type of the result; index, which HLO lacks, is s64. */
static hr_dtype_t result_dtype(import_scope_t *scope, const mlir_op_t *op) {
  const hlo_shape_t *shape = NULL;
  hr_status_t st = import_result_shape(scope, op, 0, &shape);
  hr_status_release(st);
  return !st && hr_dtype_is_integer(shape->dtype) ? shape->dtype : HR_S64;
}

hr_status_t import_shape_of(import_scope_t *scope, mlir_op_t *op, const import_row_t *row) {
  (void)row;
  return import_set_results(scope, op,
                            shape_of(scope, import_operand(op, 0), result_dtype(scope, op)));
}

hr_status_t import_const_shape(import_scope_t *scope, mlir_op_t *op, const import_row_t *row) {
  (void)row;
  hr_ints_t dims;
  HR_TRY(import_ints(scope, op, "shape", -1, 0, &dims));
  return import_set_results(scope, op,
                            vector_of(scope, dims.data, dims.count, result_dtype(scope, op)));
}

/* A shape padded with leading ones to `rank` entries. */
static hlo_instr_t *widened(import_scope_t *scope, hlo_instr_t *shape, int64_t rank,
                            hr_dtype_t dtype) {
  static const int64_t ones[HLO_MAX_RANK] = {[0 ... HLO_MAX_RANK - 1] = 1};
  hlo_instr_t *own = hlo_build_convert(&scope->builder, shape, dtype);
  int64_t more = rank - shape->shape->dims[0];
  if (!more) return own;
  return concatenate(scope, 2, (hlo_instr_t *[]){vector_of(scope, ones, more, dtype), own});
}

/* Largest rank of the operands. */
static hr_status_t joint_rank(import_scope_t *scope, const mlir_op_t *op, int64_t *out_rank) {
  HR_TRY(want_shapes(scope, op));
  *out_rank = 0;
  for (int k = 0; k < op->operand_count; k++) {
    int64_t rank = import_operand(op, k)->shape->dims[0];
    if (rank > *out_rank) *out_rank = rank;
  }
  return *out_rank <= HLO_MAX_RANK
             ? NULL
             : import_error(scope, op, "a shape of %ld dimensions", (long)*out_rank);
}

/* A size of 1 is replaced by the other shape's. */
hr_status_t import_shape_broadcast(import_scope_t *scope, mlir_op_t *op, const import_row_t *row) {
  (void)row;
  hr_dtype_t dtype = result_dtype(scope, op);
  int64_t rank;
  HR_TRY(joint_rank(scope, op, &rank));
  hlo_instr_t *joint = widened(scope, import_operand(op, 0), rank, dtype);
  for (int k = 1; k < op->operand_count; k++)
    joint = import_join_sizes(scope, joint, widened(scope, import_operand(op, k), rank, dtype));
  return import_set_results(scope, op, joint);
}

/* Product of the sizes. */
hr_status_t import_num_elements(import_scope_t *scope, mlir_op_t *op, const import_row_t *row) {
  (void)row;
  hlo_builder_t *b = &scope->builder;
  int64_t rank;
  HR_TRY(joint_rank(scope, op, &rank));
  hlo_instr_t *product = hlo_build_number(b, 1, import_operand(op, 0)->shape->dtype);
  for (int64_t d = 0; d < rank; d++)
    product =
        hlo_build_binary(b, HLO_MULTIPLY, product, element_of(scope, import_operand(op, 0), d));
  return import_set_results(scope, op, hlo_build_convert(b, product, result_dtype(scope, op)));
}

/* --- assertions --- */

/* A custom call checks the condition at run time; the message is a frontend attribute. */
static hr_status_t set_witness(import_scope_t *scope, mlir_op_t *op, hlo_instr_t *holds,
                               const char *message) {
  hlo_extra_t *extra;
  hlo_name_value_t *item;
  const hlo_shape_t *nothing;
  hlo_attr_t attrs[] = {hlo_attr_of_str(HLO_ATTR_CUSTOM_CALL_TARGET, HR_STR("shape_assertion")),
                        hlo_attr_of_bool(HLO_ATTR_CUSTOM_CALL_HAS_SIDE_EFFECT, true)};
  HR_TRY(HR_NEW(scope->importer->arena, &extra));
  HR_TRY(HR_NEW(scope->importer->arena, &item));
  HR_TRY(hlo_shape_tuple(scope->importer->arena, 0, NULL, &nothing));
  *item = (hlo_name_value_t){HR_STR("error_message"), hr_str_from(message), false};
  extra->frontend_attributes = (hlo_name_values_t){1, item};
  scope->builder.extra = extra;
  hlo_build(&scope->builder, HLO_CUSTOM_CALL, nothing, 1, &holds, 2, attrs, 0, NULL);
  scope->builder.extra = NULL;
  return import_set_results(scope, op, holds);
}

static bool have_equal_ranks(const mlir_op_t *op) {
  for (int k = 1; k < op->operand_count; k++)
    if (import_operand(op, k)->shape->dims[0] != import_operand(op, 0)->shape->dims[0])
      return false;
  return true;
}

/* cstr_eq: ranks and sizes must be equal; cstr_broadcastable: sizes equal, or one of them 1. */
hr_status_t import_cstr_broadcastable(import_scope_t *scope, mlir_op_t *op,
                                      const import_row_t *row) {
  bool exact = hr_str_is(op->name, "shape.cstr_eq");
  hlo_builder_t *b = &scope->builder;
  int64_t rank;
  (void)row;
  HR_TRY(joint_rank(scope, op, &rank));
  hlo_instr_t *first = widened(scope, import_operand(op, 0), rank, HR_S64);
  hlo_instr_t *holds = hlo_build_number(b, !exact || have_equal_ranks(op), HR_PRED);
  for (int k = 1; k < op->operand_count; k++) {
    hlo_instr_t *other = widened(scope, import_operand(op, k), rank, HR_S64);
    hlo_instr_t *one = hlo_build_number_like(b, 1, first);
    hlo_instr_t *equal = hlo_build_compare(b, HLO_DIRECTION_EQ, first, other);
    hlo_instr_t *first_is_one = hlo_build_compare(b, HLO_DIRECTION_EQ, first, one);
    hlo_instr_t *free = hlo_build_binary(b, HLO_OR, first_is_one,
                                         hlo_build_compare(b, HLO_DIRECTION_EQ, other, one));
    hlo_instr_t *fits = exact ? equal : hlo_build_binary(b, HLO_OR, equal, free);
    for (int64_t d = 0; d < rank; d++)
      holds = hlo_build_binary(b, HLO_AND, holds, element_of(scope, fits, d));
    if (!exact) first = hlo_build_select(b, first_is_one, other, first);
  }
  return set_witness(scope, op, holds,
                     exact ? "the shapes are not equal" : "the shapes do not go together");
}

/* A condition with the program's message, checked at run time by a custom call. */
hr_status_t import_cstr_require(import_scope_t *scope, mlir_op_t *op, const import_row_t *row) {
  (void)row;
  hr_str_t text = import_str(op, "msg");
  const char *message;
  HR_TRY(hr_arena_cstr(scope->importer->arena, text, &message));
  return set_witness(scope, op, import_operand(op, 0), message);
}

hr_status_t import_const_witness(import_scope_t *scope, mlir_op_t *op, const import_row_t *row) {
  (void)row;
  return set_witness(scope, op,
                     hlo_build_number(&scope->builder, import_bool(op, "passing", true), HR_PRED),
                     "the program's own condition is false");
}

/* The witness is checked where it is made, so that the body is inlined. */
hr_status_t import_assuming(import_scope_t *scope, mlir_op_t *op, const import_row_t *row) {
  (void)row;
  mlir_op_t *yield;
  if (op->region_count != 1 || op->regions[0]->blocks.count != 1)
    return import_error(scope, op, "want one body");
  HR_TRY(import_block(scope, op->regions[0]->blocks.data[0], &yield));
  if (yield->operand_count != op->result_count)
    return import_error(scope, op, "its body yields %d values, want %d", yield->operand_count,
                        op->result_count);
  for (int i = 0; i < op->result_count; i++) op->results[i].mapped = import_operand(yield, i);
  return NULL;
}

/* --- tensor and arith --- */

/* Element of a vector at a constant or computed index. */
static hr_status_t set_element(import_scope_t *scope, mlir_op_t *op, hlo_instr_t *x,
                               hlo_instr_t *const *indices) {
  hlo_builder_t *b = &scope->builder;
  int rank = x->shape->rank;
  int64_t ones[HLO_MAX_RANK];
  hlo_instr_t *operands[HLO_MAX_RANK + 1] = {x};
  for (int d = 0; d < rank; d++) {
    ones[d] = 1;
    operands[d + 1] = indices[d];
  }
  hlo_attr_t attr = hlo_attr_of_ints(b, HLO_ATTR_DYNAMIC_SLICE_SIZES, rank, ones);
  hlo_instr_t *one = hlo_build(b, HLO_DYNAMIC_SLICE, NULL, rank + 1, operands, 1, &attr, 0, NULL);
  return import_set_results(scope, op,
                            hlo_build_reshape(b, one, hlo_shape_scalar(x->shape->dtype)));
}

/* dynamic-slice of one element. */
hr_status_t import_tensor_extract(import_scope_t *scope, mlir_op_t *op, const import_row_t *row) {
  (void)row;
  hlo_instr_t **operands;
  HR_TRY(import_operands(scope, op, &operands));
  if (op->operand_count - 1 != operands[0]->shape->rank)
    return import_error(scope, op, "%d indices, want %d", op->operand_count - 1,
                        operands[0]->shape->rank);
  return set_element(scope, op, operands[0], operands + 1);
}

/* One element of the vector of sizes, at an index that is an operand. */
hr_status_t import_tensor_dim(import_scope_t *scope, mlir_op_t *op, const import_row_t *row) {
  (void)row;
  hlo_instr_t *x = import_operand(op, 0);
  hlo_instr_t *index = import_operand(op, 1);
  if (!x->shape->rank) return import_error(scope, op, "a scalar has no dimensions");
  return set_element(scope, op, shape_of(scope, x, HR_S64), &index);
}

/* Concatenation of scalars. */
hr_status_t import_from_elements(import_scope_t *scope, mlir_op_t *op, const import_row_t *row) {
  (void)row;
  const hlo_shape_t *shape;
  hlo_instr_t **operands;
  HR_TRY(import_result_shape(scope, op, 0, &shape));
  HR_TRY(import_operands(scope, op, &operands));
  if (!op->operand_count)
    return import_set_results(scope, op, vector_of(scope, NULL, 0, shape->dtype));
  for (int k = 0; k < op->operand_count; k++)
    operands[k] = as_vector(scope, operands[k], shape->dtype);
  return import_set_results(
      scope, op,
      hlo_build_reshape(&scope->builder, concatenate(scope, op->operand_count, operands), shape));
}

/* arith.constant: a number, or dense elements for tensors. */
hr_status_t import_arith_constant(import_scope_t *scope, mlir_op_t *op, const import_row_t *row) {
  const mlir_attr_t *attr = mlir_op_attr(op, "value");
  const hlo_shape_t *shape;
  HR_TRY(import_result_shape(scope, op, 0, &shape));
  if (!attr || attr->kind == MLIR_ATTR_DENSE) return import_constant(scope, op, row);
  bool is_float = attr->kind == MLIR_ATTR_FLOAT;
  if (!is_float && attr->kind != MLIR_ATTR_INTEGER && attr->kind != MLIR_ATTR_BOOL)
    return import_error(scope, op, "want a number");
  if (is_float)
    return import_set_results(scope, op,
                              hlo_build_number(&scope->builder, attr->number, shape->dtype));
  hlo_instr_t *value = vector_of(scope, &attr->integer, 1, shape->dtype);
  return import_set_results(scope, op, hlo_build_reshape(&scope->builder, value, shape));
}
