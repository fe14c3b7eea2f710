/* Ops that are the same in HLO, and ops that differ only in the form of their attributes: HLO has
 * pairs or triples for each dimension where StableHLO has several lists, and lists where StableHLO
 * has one number. */
#include <string.h>

#include "stablehlo/import/import.h"

/* One instruction with the op's operands, the given attributes and the declared result. */
static hr_status_t import_with(import_scope_t *scope, mlir_op_t *op, const import_row_t *row,
                               const import_attrs_t *attrs) {
  hlo_instr_t **operands;
  const hlo_shape_t *shape;
  HR_TRY(import_operands(scope, op, &operands));
  HR_TRY(import_results_shape(scope, op, &shape));
  return import_set_results(scope, op,
                            hlo_build(&scope->builder, row->op, shape, op->operand_count, operands,
                                      attrs->count, attrs->items, 0, NULL));
}

/* A float field of a dictionary; 0 if it is absent or of another kind. */
static double number_of(const mlir_attr_t *dict, const char *name) {
  const mlir_attr_t *attr = mlir_attr_field(dict, name);
  return attr && attr->kind == MLIR_ATTR_FLOAT ? attr->number : 0;
}

/* result_accuracy, unless its mode is the default. */
static hr_status_t add_accuracy(import_scope_t *scope, import_attrs_t *attrs, const mlir_op_t *op) {
  const mlir_attr_t *given = mlir_op_attr(op, "result_accuracy");
  const mlir_attr_t *mode = mlir_attr_field(given, "mode");
  const mlir_attr_t *ulps = mlir_attr_field(given, "ulps");
  hlo_result_accuracy_t *accuracy;
  if (!mode || hr_str_is(mode->text, "DEFAULT")) return NULL;
  HR_TRY(HR_NEW(scope->importer->arena, &accuracy));
  accuracy->has_tolerance = hr_str_is(mode->text, "TOLERANCE");
  accuracy->atol = number_of(given, "atol");
  accuracy->rtol = number_of(given, "rtol");
  accuracy->ulps = ulps && ulps->kind == MLIR_ATTR_INTEGER ? ulps->integer : 0;
  if (!accuracy->has_tolerance && (accuracy->atol != 0 || accuracy->rtol != 0 || accuracy->ulps))
    return import_error(scope, op, "its result_accuracy has tolerances, and no mode TOLERANCE");
  import_add(attrs, (hlo_attr_t){.key = HLO_ATTR_RESULT_ACCURACY, .accuracy = accuracy});
  return NULL;
}

/* Ops that differ only in name, with an optional result accuracy. */
hr_status_t import_plain(import_scope_t *scope, mlir_op_t *op, const import_row_t *row) {
  import_attrs_t attrs = {.count = 0};
  HR_TRY(add_accuracy(scope, &attrs, op));
  return import_with(scope, op, row, &attrs);
}

/* True if one of the types is unsigned and the other signed. Signless literals fit both. */
static bool is_other_sign(const mlir_type_t *given, const mlir_type_t *wanted) {
  if (!given || given->kind != MLIR_TYPE_INTEGER || wanted->kind != MLIR_TYPE_INTEGER) return false;
  return given->signedness == MLIR_UNSIGNED && wanted->signedness != MLIR_UNSIGNED;
}

#define SPLAT_BYTES_MAX (1 << 16) /* size up to which a splat is a constant of its shape */

/* Is it a splat that takes much memory as an array? */
static hr_status_t find_large_splat(const mlir_attr_t *attr, const hlo_shape_t *shape,
                                    bool *out_found) {
  size_t bytes;
  *out_found = attr->kind == MLIR_ATTR_DENSE && attr->type && attr->splat && attr->data;
  if (!*out_found) return NULL;
  HR_TRY(hlo_shape_bytes(shape, &bytes));
  *out_found = shape->rank && bytes > SPLAT_BYTES_MAX;
  return NULL;
}

/* A broadcast of the element, as XLA has splats. The element has no sharding. */
static hr_status_t import_splat(import_scope_t *scope, mlir_op_t *op, const mlir_attr_t *attr,
                                const hlo_shape_t *shape) {
  const hlo_extra_t *extra = scope->builder.extra;
  hlo_value_t *value;
  HR_TRY(hlo_value_array(shape->dtype, 0, NULL, &value));
  memcpy(value->data, attr->data, hr_dtype_bytes(shape->dtype));
  scope->builder.extra = NULL;
  hlo_instr_t *element = hlo_build_constant(&scope->builder, value);
  scope->builder.extra = extra;
  return import_set_results(scope, op,
                            hlo_build_broadcast(&scope->builder, element, shape, (hr_ints_t){0}));
}

/* A constant of a quantised type has elements of the storage type, which the attribute may have as
 * signless if it is unsigned; other differences of sign are errors (constant C1). */
hr_status_t import_constant(import_scope_t *scope, mlir_op_t *op, const import_row_t *row) {
  (void)row;
  hlo_value_t *value;
  const hlo_shape_t *shape;
  const mlir_attr_t *attr = mlir_op_attr(op, "value");
  if (!attr) return import_error(scope, op, "it has no value");
  HR_TRY(import_result_shape(scope, op, 0, &shape));
  const mlir_type_t *element = op->result_count ? op->results[0].type->element : NULL;
  bool quantised = element && element->kind == MLIR_TYPE_QUANT;
  const mlir_type_t *storage = quantised ? element->quant->storage : element;
  bool is_typed = attr->kind == MLIR_ATTR_DENSE && attr->type;
  if (is_typed && storage && is_other_sign(attr->type->element, storage))
    return import_error(scope, op,
                        "the elements are signed otherwise than the result's (constant C1)");
  bool is_large = false;
  if (!quantised) HR_TRY(find_large_splat(attr, shape, &is_large));
  if (is_large) return import_splat(scope, op, attr, shape);
  HR_TRY(import_literal(scope->importer, attr, &value));
  if (quantised && hr_dtype_is_integer(value->dtype) &&
      hr_dtype_bytes(value->dtype) == hr_dtype_bytes(shape->dtype))
    value->dtype = shape->dtype; /* the attribute may have an unsigned storage type as signless */
  return import_set_results(scope, op, hlo_build_constant(&scope->builder, value));
}

hr_status_t import_iota(import_scope_t *scope, mlir_op_t *op, const import_row_t *row) {
  import_attrs_t attrs = {.count = 0};
  import_add(&attrs, hlo_attr_of_int(HLO_ATTR_IOTA_DIMENSION, import_int(op, "iota_dimension", 0)));
  return import_with(scope, op, row, &attrs);
}

hr_status_t import_transpose(import_scope_t *scope, mlir_op_t *op, const import_row_t *row) {
  import_attrs_t attrs = {.count = 0};
  HR_TRY(import_add_ints(scope, &attrs, HLO_ATTR_DIMENSIONS, op, "permutation"));
  return import_with(scope, op, row, &attrs);
}

hr_status_t import_reverse(import_scope_t *scope, mlir_op_t *op, const import_row_t *row) {
  import_attrs_t attrs = {.count = 0};
  HR_TRY(import_add_ints(scope, &attrs, HLO_ATTR_DIMENSIONS, op, "dimensions"));
  return import_with(scope, op, row, &attrs);
}

/* One dimension as a list, HLO's form. */
static hlo_attr_t dimension_list(import_scope_t *scope, int64_t dimension) {
  return hlo_attr_of_ints(&scope->builder, HLO_ATTR_DIMENSIONS, 1, &dimension);
}

hr_status_t import_concatenate(import_scope_t *scope, mlir_op_t *op, const import_row_t *row) {
  import_attrs_t attrs = {.count = 0};
  import_add(&attrs, dimension_list(scope, import_int(op, "dimension", 0)));
  return import_with(scope, op, row, &attrs);
}

/* For ops with one dimension in an attribute of the same name, such as concatenate. */
hr_status_t import_dimension(import_scope_t *scope, mlir_op_t *op, const import_row_t *row) {
  return import_concatenate(scope, op, row);
}

/* StableHLO has lists of starts, limits and strides, HLO a triple for each dimension. */
hr_status_t import_slice(import_scope_t *scope, mlir_op_t *op, const import_row_t *row) {
  hr_ints_t starts, limits, strides;
  hlo_slice_dim_t *dims;
  hlo_slice_t *slice;
  import_attrs_t attrs = {.count = 1};
  HR_TRY(import_list(scope, op, "start_indices", -1, 0, &starts));
  HR_TRY(import_list(scope, op, "limit_indices", -1, 0, &limits));
  HR_TRY(import_list(scope, op, "strides", starts.count, 1, &strides));
  if (starts.count != limits.count || starts.count != strides.count)
    return import_error(scope, op,
                        "start_indices, limit_indices and strides differ in length (slice C2)");
  HR_TRY(HR_NEW_ARRAY(scope->importer->arena, starts.count, &dims));
  HR_TRY(HR_NEW(scope->importer->arena, &slice));
  for (int64_t d = 0; d < starts.count; d++)
    dims[d] = (hlo_slice_dim_t){starts.data[d], limits.data[d], strides.data[d]};
  *slice = (hlo_slice_t){(int)starts.count, dims};
  attrs.items[0] = (hlo_attr_t){.key = HLO_ATTR_SLICE, .slice = slice};
  return import_with(scope, op, row, &attrs);
}

/* StableHLO has lists of low, high and interior padding, HLO a triple for each dimension. */
hr_status_t import_pad(import_scope_t *scope, mlir_op_t *op, const import_row_t *row) {
  hr_ints_t low, high, interior;
  hlo_padding_dim_t *dims;
  hlo_padding_t *padding;
  import_attrs_t attrs = {.count = 1};
  HR_TRY(import_list(scope, op, "edge_padding_low", -1, 0, &low));
  HR_TRY(import_list(scope, op, "edge_padding_high", -1, 0, &high));
  HR_TRY(import_list(scope, op, "interior_padding", low.count, 0, &interior));
  if (low.count != high.count || low.count != interior.count)
    return import_error(scope, op, "the paddings differ in length (pad C2)");
  HR_TRY(HR_NEW_ARRAY(scope->importer->arena, low.count, &dims));
  HR_TRY(HR_NEW(scope->importer->arena, &padding));
  for (int64_t d = 0; d < low.count; d++)
    dims[d] = (hlo_padding_dim_t){low.data[d], high.data[d], interior.data[d]};
  *padding = (hlo_padding_t){(int)low.count, dims};
  attrs.items[0] = (hlo_attr_t){.key = HLO_ATTR_PADDING, .padding = padding};
  return import_with(scope, op, row, &attrs);
}

hr_status_t import_dynamic_slice(import_scope_t *scope, mlir_op_t *op, const import_row_t *row) {
  import_attrs_t attrs = {.count = 0};
  HR_TRY(import_add_ints(scope, &attrs, HLO_ATTR_DYNAMIC_SLICE_SIZES, op, "slice_sizes"));
  return import_with(scope, op, row, &attrs);
}

/* Broadcasts x to `shape`; dimension d of x becomes dimension map[d]. HLO does not expand
 * dimensions of size 1, which StableHLO allows: they are removed by a reshape before. */
hr_status_t import_broadcast_to(import_scope_t *scope, const mlir_op_t *op, hlo_instr_t *x,
                                const hlo_shape_t *shape, hr_ints_t map, hlo_instr_t **out_x) {
  const hlo_shape_t *squeezed;
  if (map.count != x->shape->rank)
    return import_error(scope, op, "%ld broadcast_dimensions for rank %d (broadcast_in_dim C2)",
                        (long)map.count, x->shape->rank);
  int64_t dims[HLO_MAX_RANK], mapped_dims[HLO_MAX_RANK];
  bool dynamic[HLO_MAX_RANK];
  int count = 0;
  uint64_t taken = 0;
  for (int d = 0; d < x->shape->rank; d++) {
    int64_t to = map.data[d];
    bool is_dynamic = x->shape->dynamic && x->shape->dynamic[d];
    /* dimensions of size 1 are removed below, where the verifier cannot check them */
    if (to >= 0 && to < shape->rank && taken >> to & 1)
      return import_error(
          scope, op,
          "broadcast_dimensions lists %ld twice, want each at most once (broadcast_in_dim C4)",
          (long)to);
    if (to >= 0 && to < shape->rank) taken |= UINT64_C(1) << to;
    bool stretched = x->shape->dims[d] == 1 && !is_dynamic && to >= 0 && to < shape->rank &&
                     shape->dims[to] != 1;
    if (stretched) continue;
    dims[count] = x->shape->dims[d];
    dynamic[count] = is_dynamic;
    mapped_dims[count++] = to;
  }
  if (count < x->shape->rank) {
    HR_TRY(hlo_shape_array_dynamic(scope->importer->arena, x->shape->dtype, count, dims, dynamic,
                                   &squeezed));
    x = hlo_build_reshape(&scope->builder, x, squeezed);
  }
  *out_x = hlo_build_broadcast(&scope->builder, x, shape, (hr_ints_t){mapped_dims, count});
  return scope->builder.status ? hlo_builder_finish(&scope->builder) : NULL;
}

/* broadcast_dimensions maps operand dimensions. */
hr_status_t import_broadcast_in_dim(import_scope_t *scope, mlir_op_t *op, const import_row_t *row) {
  (void)row;
  const hlo_shape_t *shape;
  hlo_instr_t *x;
  hr_ints_t map;
  HR_TRY(import_result_shape(scope, op, 0, &shape));
  HR_TRY(import_list(scope, op, "broadcast_dimensions", -1, 0, &map));
  HR_TRY(import_broadcast_to(scope, op, import_operand(op, 0), shape, map, &x));
  return import_set_results(scope, op, x);
}

/* broadcast adds leading dimensions; broadcast_sizes must be those of the result. */
hr_status_t import_broadcast(import_scope_t *scope, mlir_op_t *op, const import_row_t *row) {
  (void)row;
  hlo_instr_t *x = import_operand(op, 0);
  const hlo_shape_t *shape;
  hr_ints_t sizes;
  int64_t map[HLO_MAX_RANK];
  HR_TRY(import_result_shape(scope, op, 0, &shape));
  HR_TRY(import_list(scope, op, "broadcast_sizes", -1, 0, &sizes));
  if (shape->rank != sizes.count + x->shape->rank)
    return import_error(
        scope, op, "the result has rank %d, want %ld, that of the operand and the broadcast_sizes",
        shape->rank, (long)sizes.count + x->shape->rank);
  for (int64_t d = 0; d < sizes.count; d++)
    if (sizes.data[d] < 0 || sizes.data[d] != shape->dims[d])
      return import_error(scope, op,
                          "the result's dimension %ld has size %ld, and broadcast_sizes says %ld",
                          (long)d, (long)shape->dims[d], (long)sizes.data[d]);
  for (int d = 0; d < x->shape->rank; d++) map[d] = sizes.count + d;
  return import_set_results(
      scope, op, hlo_build_broadcast(&scope->builder, x, shape, (hr_ints_t){map, x->shape->rank}));
}

/* Adds the direction, and the type unless it is NOTYPE. */
hr_status_t import_add_compare(import_scope_t *scope, import_attrs_t *attrs, const mlir_op_t *op) {
  int direction, type;
  HR_TRY(import_enum(scope, op, "comparison_direction", HLO_ENUM_DIRECTION, "", &direction));
  if (direction < 0) return import_error(scope, op, "it has no comparison_direction");
  import_add(attrs, hlo_attr_of_int(HLO_ATTR_DIRECTION, direction));
  const mlir_attr_t *named = mlir_op_attr(op, "compare_type");
  if (named && !hr_str_is(named->text, "NOTYPE")) {
    HR_TRY(import_enum(scope, op, "compare_type", HLO_ENUM_COMPARISON, "", &type));
    import_add(attrs, hlo_attr_of_int(HLO_ATTR_TYPE, type));
  }
  return NULL;
}

hr_status_t import_compare(import_scope_t *scope, mlir_op_t *op, const import_row_t *row) {
  import_attrs_t attrs = {.count = 0};
  HR_TRY(import_add_compare(scope, &attrs, op));
  return import_with(scope, op, row, &attrs);
}

/* index is the element's number. */
hr_status_t import_get_tuple_element(import_scope_t *scope, mlir_op_t *op,
                                     const import_row_t *row) {
  import_attrs_t attrs = {.count = 0};
  import_add(&attrs, hlo_attr_of_int(HLO_ATTR_INDEX, import_int(op, "index", 0)));
  return import_with(scope, op, row, &attrs);
}

/* Several operands pass the barrier as a tuple. */
hr_status_t import_optimization_barrier(import_scope_t *scope, mlir_op_t *op,
                                        const import_row_t *row) {
  if (op->operand_count == 1) return import_plain(scope, op, row);
  hlo_instr_t **operands;
  HR_TRY(import_operands(scope, op, &operands));
  hlo_instr_t *tuple = hlo_build_tuple(&scope->builder, op->operand_count, operands);
  return import_set_tuple_results(scope, op,
                                  hlo_build_unary(&scope->builder, HLO_OPT_BARRIER, tuple));
}

/* fft_type and fft_length. */
hr_status_t import_fft(import_scope_t *scope, mlir_op_t *op, const import_row_t *row) {
  int type;
  import_attrs_t attrs = {.count = 0};
  HR_TRY(import_enum(scope, op, "fft_type", HLO_ENUM_FFT_TYPE, "", &type));
  if (type < 0) return import_error(scope, op, "it has no fft_type");
  import_add(&attrs, hlo_attr_of_int(HLO_ATTR_FFT_TYPE, type));
  HR_TRY(import_add_ints(scope, &attrs, HLO_ATTR_FFT_LENGTH, op, "fft_length"));
  return import_with(scope, op, row, &attrs);
}

hr_status_t import_cholesky(import_scope_t *scope, mlir_op_t *op, const import_row_t *row) {
  import_attrs_t attrs = {.count = 0};
  import_add(&attrs, hlo_attr_of_bool(HLO_ATTR_LOWER, import_bool(op, "lower", false)));
  return import_with(scope, op, row, &attrs);
}

/* An absent transpose_a means no transpose. */
hr_status_t import_triangular_solve(import_scope_t *scope, mlir_op_t *op, const import_row_t *row) {
  int transpose;
  import_attrs_t attrs = {.count = 0};
  HR_TRY(import_enum(scope, op, "transpose_a", HLO_ENUM_TRANSPOSE, "", &transpose));
  import_add(&attrs, hlo_attr_of_bool(HLO_ATTR_LEFT_SIDE, import_bool(op, "left_side", false)));
  import_add(&attrs, hlo_attr_of_bool(HLO_ATTR_LOWER, import_bool(op, "lower", false)));
  import_add(&attrs,
             hlo_attr_of_bool(HLO_ATTR_UNIT_DIAGONAL, import_bool(op, "unit_diagonal", false)));
  import_add(&attrs, hlo_attr_of_int(HLO_ATTR_TRANSPOSE_A,
                                     transpose < 0 ? HLO_TRANSPOSE_NO_TRANSPOSE : transpose));
  return import_with(scope, op, row, &attrs);
}

/* epsilon and feature_index, for training, inference and gradient. */
hr_status_t import_batch_norm(import_scope_t *scope, mlir_op_t *op, const import_row_t *row) {
  import_attrs_t attrs = {.count = 0};
  import_add(&attrs, hlo_attr_of_float(HLO_ATTR_EPSILON, import_float(op, "epsilon", 0)));
  import_add(&attrs, hlo_attr_of_int(HLO_ATTR_FEATURE_INDEX, import_int(op, "feature_index", 0)));
  return import_with(scope, op, row, &attrs);
}

/* rng(a, b, shape): the sizes are those of the result, so that the shape operand is not needed. */
hr_status_t import_rng(import_scope_t *scope, mlir_op_t *op, const import_row_t *row) {
  int distribution;
  const hlo_shape_t *shape;
  hlo_instr_t **operands;
  import_attrs_t attrs = {.count = 0};
  HR_TRY(import_operands(scope, op, &operands));
  HR_TRY(import_result_shape(scope, op, 0, &shape));
  const mlir_attr_t *word = mlir_op_attr(op, "rng_distribution");
  if (op->operand_count < 2 || !word)
    return import_error(scope, op, "want two bounds and a distribution");
  HR_TRY(import_enum(scope, op, "rng_distribution", HLO_ENUM_DISTRIBUTION, "rng_", &distribution));
  import_add(&attrs, hlo_attr_of_int(HLO_ATTR_DISTRIBUTION, distribution));
  return import_set_results(
      scope, op,
      hlo_build(&scope->builder, row->op, shape, 2, operands, attrs.count, attrs.items, 0, NULL));
}

/* The two results, state and bits, are a tuple in HLO. */
hr_status_t import_rng_bit_generator(import_scope_t *scope, mlir_op_t *op,
                                     const import_row_t *row) {
  int algorithm;
  import_attrs_t attrs = {.count = 0};
  HR_TRY(import_enum(scope, op, "rng_algorithm", HLO_ENUM_RNG_ALGORITHM, "rng_", &algorithm));
  import_add(&attrs, hlo_attr_of_int(HLO_ATTR_RNG_ALGORITHM,
                                     algorithm < 0 ? HLO_RNG_ALGORITHM_DEFAULT : algorithm));
  return import_with(scope, op, row, &attrs);
}
