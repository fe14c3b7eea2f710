/* Products, convolutions, gather, scatter and windowed reductions. StableHLO's structures
 * (dimension numbers) become separate attributes of HLO; default window attributes are filled in,
 * as HLO has all of them. */
#include "stablehlo/import/import.h"

/* One instruction with all operands, attributes and called computations. */
static hr_status_t build_from_operands(import_scope_t *scope, mlir_op_t *op, hlo_opcode_t hlo_op,
                                       const import_attrs_t *attrs, int called_count,
                                       hlo_computation_t **called) {
  hlo_instr_t **operands;
  const hlo_shape_t *shape;
  HR_TRY(import_operands(scope, op, &operands));
  HR_TRY(import_results_shape(scope, op, &shape));
  return import_set_results(scope, op,
                            hlo_build(&scope->builder, hlo_op, shape, op->operand_count, operands,
                                      attrs->count, attrs->items, called_count, called));
}

/* dot_general C21 to C24: each side has one component, there are products, and precisions beside an
 * algorithm are DEFAULT. */
static hr_status_t check_algorithm(import_scope_t *scope, const mlir_op_t *op,
                                   const mlir_attr_t *algorithm) {
  static const struct {
    const char *name, *label;
    int64_t most;
  } counts[] = {{"lhs_component_count", "C22", 1},
                {"rhs_component_count", "C23", 1},
                {"num_primitive_operations", "C24", INT64_MAX}};
  for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
    const mlir_attr_t *count = mlir_attr_field(algorithm, counts[i].name);
    int64_t given = count && count->kind == MLIR_ATTR_INTEGER ? count->integer : 0;
    if (given < 1 || given > counts[i].most)
      return import_error(scope, op, "%s is %ld, want 1%s (dot_general %s)", counts[i].name,
                          (long)given, counts[i].most > 1 ? " or more" : "", counts[i].label);
  }
  const mlir_attr_t *precisions = mlir_op_attr(op, "precision_config");
  for (int i = 0; precisions && precisions->kind == MLIR_ATTR_ARRAY && i < precisions->count; i++)
    if (!hr_str_is(precisions->items[i]->text, "DEFAULT"))
      return import_error(scope, op,
                          "precision %d beside an algorithm is no DEFAULT (dot_general C21)", i);
  return NULL;
}

static bool is_f8(hr_str_t type) {
  return type.size > 2 && type.data[0] == 'f' && type.data[1] == '8';
}

/* HLO's name of the algorithm, made from its types: dot_bf16_bf16_f32_x3. Only those that HLO has
 * names for are known. */
static hr_status_t add_algorithm(import_scope_t *scope, import_attrs_t *attrs,
                                 const mlir_op_t *op) {
  const mlir_attr_t *algorithm = mlir_op_attr(op, "algorithm");
  if (!algorithm) return NULL;
  const mlir_attr_t *lhs = mlir_attr_field(algorithm, "lhs_precision_type");
  const mlir_attr_t *rhs = mlir_attr_field(algorithm, "rhs_precision_type");
  const mlir_attr_t *acc = mlir_attr_field(algorithm, "accumulation_type");
  const mlir_attr_t *products = mlir_attr_field(algorithm, "num_primitive_operations");
  bool typed = lhs && rhs && acc && lhs->type && rhs->type && acc->type && products;
  if (!typed) return import_error(scope, op, "the algorithm names no types");
  HR_TRY(check_algorithm(scope, op, algorithm));
  const char *word;
  hr_str_t left = lhs->type->name, right = rhs->type->name, sum = acc->type->name;
  HR_TRY(hr_arena_printf(scope->importer->arena, &word, "dot_%.*s_%.*s_%.*s", HR_STR_ARGS(left),
                         HR_STR_ARGS(right), HR_STR_ARGS(sum)));
  if (is_f8(left) && is_f8(right) && hr_str_is(sum, "f32")) word = "dot_any_f8_any_f8_f32";
  if (products->integer != 1)
    HR_TRY(
        hr_arena_printf(scope->importer->arena, &word, "%s_x%ld", word, (long)products->integer));
  const mlir_attr_t *imprecise = mlir_attr_field(algorithm, "allow_imprecise_accumulation");
  if (imprecise && imprecise->integer)
    HR_TRY(hr_arena_printf(scope->importer->arena, &word, "%s_fast_accum", word));
  int value = hlo_enum_find(HLO_ENUM_DOT_ALGORITHM, hr_str_from(word));
  if (value < 0)
    return import_error(scope, op, "no algorithm %s is known (dot_general C22-C24)", word);
  import_add(attrs, hlo_attr_of_int(HLO_ATTR_ALGORITHM, value));
  return NULL;
}

/* Converts integer operands to floats: JAX's programs for TPUs multiply floats with integers. */
static void make_floats(hlo_builder_t *builder, hlo_instr_t **operands) {
  for (int k = 0; k < 2; k++) {
    hr_dtype_t dtype = operands[k]->shape->dtype, other = operands[1 - k]->shape->dtype;
    if (hr_dtype_is_integer(dtype) && hr_dtype_is_float(other))
      operands[k] = hlo_build_convert(builder, operands[k], other);
  }
}

/* Precisions, algorithm and dimension numbers. */
hr_status_t import_dot_general(import_scope_t *scope, mlir_op_t *op, const import_row_t *row) {
  static const char *const numbers = "dot_dimension_numbers";
  hlo_instr_t **operands;
  const hlo_shape_t *shape;
  import_attrs_t attrs = {.count = 0};
  HR_TRY(import_add_field_ints(scope, &attrs, HLO_ATTR_LHS_BATCH_DIMS, op, numbers,
                               "lhs_batching_dimensions"));
  HR_TRY(import_add_field_ints(scope, &attrs, HLO_ATTR_LHS_CONTRACTING_DIMS, op, numbers,
                               "lhs_contracting_dimensions"));
  HR_TRY(import_add_field_ints(scope, &attrs, HLO_ATTR_RHS_BATCH_DIMS, op, numbers,
                               "rhs_batching_dimensions"));
  HR_TRY(import_add_field_ints(scope, &attrs, HLO_ATTR_RHS_CONTRACTING_DIMS, op, numbers,
                               "rhs_contracting_dimensions"));
  HR_TRY(import_add_precision(scope, &attrs, op));
  HR_TRY(add_algorithm(scope, &attrs, op));
  HR_TRY(import_operands(scope, op, &operands));
  HR_TRY(import_results_shape(scope, op, &shape));
  make_floats(&scope->builder, operands);
  return import_set_results(scope, op,
                            hlo_build(&scope->builder, row->op, shape, op->operand_count, operands,
                                      attrs.count, attrs.items, 0, NULL));
}

/* dot contracts the last dimension of the left operand with the first of the right one. */
hr_status_t import_dot(import_scope_t *scope, mlir_op_t *op, const import_row_t *row) {
  int64_t last = import_operand(op, 0)->shape->rank - 1;
  int64_t first = 0;
  import_attrs_t attrs = {.count = 0};
  if (last < 0 || !import_operand(op, 1)->shape->rank)
    return import_error(scope, op, "want vectors or matrices");
  import_add(&attrs, hlo_attr_of_ints(&scope->builder, HLO_ATTR_LHS_CONTRACTING_DIMS, 1, &last));
  import_add(&attrs, hlo_attr_of_ints(&scope->builder, HLO_ATTR_RHS_CONTRACTING_DIMS, 1, &first));
  HR_TRY(import_add_precision(scope, &attrs, op));
  return build_from_operands(scope, op, row->op, &attrs, 0, NULL);
}

/* --- windows --- */

typedef struct window_fields {
  hr_ints_t size, stride, padding, base_dilation, window_dilation, reversal; /* padding: pairs */
} window_fields_t;

/* HLO's window; all lists have the rank of the window, padding has twice that length. */
static hr_status_t make_window(import_scope_t *scope, const mlir_op_t *op,
                               const window_fields_t *fields, hlo_attr_t *out_attr) {
  int64_t rank = fields->size.count;
  hlo_window_t *window;
  hlo_window_dim_t *dims;
  if (fields->stride.count != rank || fields->padding.count != 2 * rank ||
      fields->base_dilation.count != rank || fields->window_dilation.count != rank ||
      fields->reversal.count != rank)
    return import_error(scope, op, "the parts of its window differ in length");
  HR_TRY(HR_NEW(scope->importer->arena, &window));
  HR_TRY(HR_NEW_ARRAY(scope->importer->arena, rank, &dims));
  for (int64_t d = 0; d < rank; d++)
    dims[d] = (hlo_window_dim_t){.size = fields->size.data[d],
                                 .stride = fields->stride.data[d],
                                 .pad_low = fields->padding.data[2 * d],
                                 .pad_high = fields->padding.data[2 * d + 1],
                                 .base_dilation = fields->base_dilation.data[d],
                                 .window_dilation = fields->window_dilation.data[d],
                                 .reversal = fields->reversal.data[d] != 0};
  *window = (hlo_window_t){(int)rank, dims};
  *out_attr = (hlo_attr_t){.key = HLO_ATTR_WINDOW, .window = window};
  return NULL;
}

/* StableHLO's verifier takes an empty list of a window as absent: `count` copies of the fallback
 * replace it. */
static hr_status_t fill_empty(import_scope_t *scope, int64_t count, int64_t fallback,
                              hr_ints_t *ints) {
  int64_t *values;
  if (ints->count) return NULL;
  HR_TRY(HR_NEW_ARRAY(scope->importer->arena, count, &values));
  for (int64_t i = 0; i < count; i++) values[i] = fallback;
  *ints = (hr_ints_t){values, count};
  return NULL;
}

static hr_status_t window_list(import_scope_t *scope, const mlir_op_t *op, const char *name,
                               int64_t count, int64_t fallback, hr_ints_t *out_ints) {
  HR_TRY(import_list(scope, op, name, count, fallback, out_ints));
  return fill_empty(scope, count, fallback, out_ints);
}

/* A low and a high padding for each dimension. */
static hr_status_t window_padding(import_scope_t *scope, const mlir_op_t *op, int64_t rank,
                                  hr_ints_t *out_ints) {
  HR_TRY(import_ints(scope, op, "padding", 2 * rank, 0, out_ints));
  return fill_empty(scope, 2 * rank, 0, out_ints);
}

/* Positions of batch, features and spatial dimensions from #stablehlo.conv<...>. */
static hr_status_t dim_labels(import_scope_t *scope, const mlir_op_t *op,
                              hlo_dim_labels_t **out_labels) {
  static const char *const numbers = "dimension_numbers";
  hr_ints_t lhs, rhs, out;
  HR_TRY(import_field_ints(scope, op, numbers, "input_spatial_dimensions", &lhs));
  HR_TRY(import_field_ints(scope, op, numbers, "kernel_spatial_dimensions", &rhs));
  HR_TRY(import_field_ints(scope, op, numbers, "output_spatial_dimensions", &out));
  if (lhs.count != rhs.count || lhs.count != out.count)
    return import_error(scope, op, "its operands differ in spatial dimensions (convolution C19)");
  HR_TRY(HR_NEW(scope->importer->arena, out_labels));
  **out_labels = (hlo_dim_labels_t){
      .spatial_rank = (int)lhs.count,
      .lhs_rank = (int)lhs.count + 2,
      .rhs_rank = (int)lhs.count + 2,
      .out_rank = (int)lhs.count + 2,
      .lhs_batch = import_field_int(op, numbers, "input_batch_dimension"),
      .lhs_feature = import_field_int(op, numbers, "input_feature_dimension"),
      .rhs_input_feature = import_field_int(op, numbers, "kernel_input_feature_dimension"),
      .rhs_output_feature = import_field_int(op, numbers, "kernel_output_feature_dimension"),
      .out_batch = import_field_int(op, numbers, "output_batch_dimension"),
      .out_feature = import_field_int(op, numbers, "output_feature_dimension"),
      .lhs_spatial = lhs.data,
      .rhs_spatial = rhs.data,
      .out_spatial = out.data};
  return NULL;
}

/* A convolution's window has the sizes of the kernel's spatial dimensions; an unknown size counts
 * as 1 until it is known (import_dynamic.c). */
static hr_status_t kernel_window(import_scope_t *scope, const mlir_op_t *op,
                                 const hlo_dim_labels_t *labels, const hr_ints_t *padding,
                                 hlo_attr_t *out_attr) {
  const hlo_shape_t *kernel = import_operand(op, 1)->shape;
  int64_t rank = labels->spatial_rank;
  int64_t *sizes;
  window_fields_t fields;
  HR_TRY(HR_NEW_ARRAY(scope->importer->arena, rank, &sizes));
  for (int64_t d = 0; d < rank; d++) {
    int64_t at = labels->rhs_spatial[d];
    if (at < 0 || at >= kernel->rank)
      return import_error(scope, op, "the kernel has no dimension %ld (convolution C16)", (long)at);
    sizes[d] = kernel->dims[at] == HLO_UNBOUNDED ? 1 : kernel->dims[at];
  }
  fields.size = (hr_ints_t){sizes, rank};
  HR_TRY(window_list(scope, op, "window_strides", rank, 1, &fields.stride));
  if (padding)
    fields.padding = *padding;
  else
    HR_TRY(window_padding(scope, op, rank, &fields.padding));
  HR_TRY(window_list(scope, op, "lhs_dilation", rank, 1, &fields.base_dilation));
  HR_TRY(window_list(scope, op, "rhs_dilation", rank, 1, &fields.window_dilation));
  HR_TRY(window_list(scope, op, "window_reversal", rank, 0, &fields.reversal));
  return make_window(scope, op, &fields, out_attr);
}

/* Window, labels, group counts and precision; also for the dynamic op, whose padding is an
 * operand. */
hr_status_t import_convolution_numbers(import_scope_t *scope, import_attrs_t *attrs,
                                       const mlir_op_t *op, const hr_ints_t *padding) {
  hlo_dim_labels_t *labels;
  hlo_attr_t window;
  HR_TRY(dim_labels(scope, op, &labels));
  HR_TRY(kernel_window(scope, op, labels, padding, &window));
  import_add(attrs, window);
  import_add(attrs, (hlo_attr_t){.key = HLO_ATTR_DIM_LABELS, .labels = labels});
  import_add(attrs, hlo_attr_of_int(HLO_ATTR_FEATURE_GROUP_COUNT,
                                    import_int(op, "feature_group_count", 1)));
  import_add(attrs,
             hlo_attr_of_int(HLO_ATTR_BATCH_GROUP_COUNT, import_int(op, "batch_group_count", 1)));
  return import_add_precision(scope, attrs, op);
}

/* Window, dimension numbers and group counts are attributes on both sides. */
hr_status_t import_convolution(import_scope_t *scope, mlir_op_t *op, const import_row_t *row) {
  import_attrs_t attrs = {.count = 0};
  HR_TRY(import_convolution_numbers(scope, &attrs, op, NULL));
  return build_from_operands(scope, op, row->op, &attrs, 0, NULL);
}

/* Window of reduce_window and select_and_scatter, with one size per dimension of the operand. */
static hr_status_t named_window(import_scope_t *scope, const mlir_op_t *op, hlo_attr_t *out_attr) {
  int64_t rank = import_operand(op, 0)->shape->rank;
  window_fields_t fields;
  HR_TRY(import_list(scope, op, "window_dimensions", rank, 1, &fields.size));
  HR_TRY(window_list(scope, op, "window_strides", rank, 1, &fields.stride));
  HR_TRY(window_padding(scope, op, rank, &fields.padding));
  HR_TRY(window_list(scope, op, "base_dilations", rank, 1, &fields.base_dilation));
  HR_TRY(window_list(scope, op, "window_dilations", rank, 1, &fields.window_dilation));
  HR_TRY(window_list(scope, op, "window_reversal", rank, 0, &fields.reversal));
  return make_window(scope, op, &fields, out_attr);
}

/* Window and computation. */
hr_status_t import_reduce_window(import_scope_t *scope, mlir_op_t *op, const import_row_t *row) {
  hlo_computation_t *body;
  import_attrs_t attrs = {.count = 1};
  HR_TRY(named_window(scope, op, &attrs.items[0]));
  HR_TRY(import_body(scope, op, 0, &body));
  import_add(&attrs, hlo_attr_of_called(HLO_ATTR_TO_APPLY, 1));
  return build_from_operands(scope, op, row->op, &attrs, 1, &body);
}

/* The first region is select, the second scatter. */
hr_status_t import_select_and_scatter(import_scope_t *scope, mlir_op_t *op,
                                      const import_row_t *row) {
  hlo_computation_t *bodies[2];
  import_attrs_t attrs = {.count = 1};
  HR_TRY(named_window(scope, op, &attrs.items[0]));
  HR_TRY(import_body(scope, op, 0, &bodies[0]));
  HR_TRY(import_body(scope, op, 1, &bodies[1]));
  import_add(&attrs, hlo_attr_of_called(HLO_ATTR_SELECT, 1));
  import_add(&attrs, hlo_attr_of_called(HLO_ATTR_SCATTER, 1));
  return build_from_operands(scope, op, row->op, &attrs, 2, bodies);
}

/* --- bodies over elements --- */

/* Init values are operands after the inputs. */
hr_status_t import_reduce(import_scope_t *scope, mlir_op_t *op, const import_row_t *row) {
  hlo_computation_t *body;
  import_attrs_t attrs = {.count = 0};
  HR_TRY(import_add_ints(scope, &attrs, HLO_ATTR_DIMENSIONS, op, "dimensions"));
  HR_TRY(import_body(scope, op, 0, &body));
  import_add(&attrs, hlo_attr_of_called(HLO_ATTR_TO_APPLY, 1));
  return build_from_operands(scope, op, row->op, &attrs, 1, &body);
}

/* The attributes of a map are those of a reduce. */
hr_status_t import_map(import_scope_t *scope, mlir_op_t *op, const import_row_t *row) {
  return import_reduce(scope, op, row);
}

/* Dimension -1 is the last one. */
hr_status_t import_sort(import_scope_t *scope, mlir_op_t *op, const import_row_t *row) {
  hlo_computation_t *body;
  int64_t dimension = import_int(op, "dimension", -1);
  import_attrs_t attrs = {.count = 0};
  if (dimension < 0 && op->operand_count) dimension += import_operand(op, 0)->shape->rank;
  HR_TRY(import_body(scope, op, 0, &body));
  import_add(&attrs, hlo_attr_of_ints(&scope->builder, HLO_ATTR_DIMENSIONS, 1, &dimension));
  import_add(&attrs, hlo_attr_of_bool(HLO_ATTR_IS_STABLE, import_bool(op, "is_stable", false)));
  import_add(&attrs, hlo_attr_of_called(HLO_ATTR_TO_APPLY, 1));
  return build_from_operands(scope, op, row->op, &attrs, 1, &body);
}

/* Lists of the structure, index_vector_dim and the flag; slice sizes are an attribute or an
 * operand. */
hr_status_t import_gather_numbers(import_scope_t *scope, import_attrs_t *attrs,
                                  const mlir_op_t *op) {
  static const char *const numbers = "dimension_numbers";
  HR_TRY(import_add_field_ints(scope, attrs, HLO_ATTR_OFFSET_DIMS, op, numbers, "offset_dims"));
  HR_TRY(import_add_field_ints(scope, attrs, HLO_ATTR_COLLAPSED_SLICE_DIMS, op, numbers,
                               "collapsed_slice_dims"));
  HR_TRY(import_add_field_ints(scope, attrs, HLO_ATTR_START_INDEX_MAP, op, numbers,
                               "start_index_map"));
  HR_TRY(import_add_field_ints(scope, attrs, HLO_ATTR_OPERAND_BATCHING_DIMS, op, numbers,
                               "operand_batching_dims"));
  HR_TRY(import_add_field_ints(scope, attrs, HLO_ATTR_START_INDICES_BATCHING_DIMS, op, numbers,
                               "start_indices_batching_dims"));
  import_add(attrs, hlo_attr_of_int(HLO_ATTR_INDEX_VECTOR_DIM,
                                    import_field_int(op, numbers, "index_vector_dim")));
  import_add(attrs, hlo_attr_of_bool(HLO_ATTR_INDICES_ARE_SORTED,
                                     import_bool(op, "indices_are_sorted", false)));
  return NULL;
}

/* Dimension numbers and slice sizes have the same meaning in HLO. */
hr_status_t import_gather(import_scope_t *scope, mlir_op_t *op, const import_row_t *row) {
  import_attrs_t attrs = {.count = 0};
  HR_TRY(import_gather_numbers(scope, &attrs, op));
  HR_TRY(import_add_ints(scope, &attrs, HLO_ATTR_SLICE_SIZES, op, "slice_sizes"));
  return build_from_operands(scope, op, row->op, &attrs, 0, NULL);
}

/* Update computation and dimension numbers; several operands give a tuple. */
hr_status_t import_scatter(import_scope_t *scope, mlir_op_t *op, const import_row_t *row) {
  static const char *const numbers = "scatter_dimension_numbers";
  hlo_computation_t *body;
  import_attrs_t attrs = {.count = 0};
  HR_TRY(import_add_field_ints(scope, &attrs, HLO_ATTR_UPDATE_WINDOW_DIMS, op, numbers,
                               "update_window_dims"));
  HR_TRY(import_add_field_ints(scope, &attrs, HLO_ATTR_INSERTED_WINDOW_DIMS, op, numbers,
                               "inserted_window_dims"));
  HR_TRY(import_add_field_ints(scope, &attrs, HLO_ATTR_SCATTER_DIMS_TO_OPERAND_DIMS, op, numbers,
                               "scatter_dims_to_operand_dims"));
  HR_TRY(import_add_field_ints(scope, &attrs, HLO_ATTR_INPUT_BATCHING_DIMS, op, numbers,
                               "input_batching_dims"));
  HR_TRY(import_add_field_ints(scope, &attrs, HLO_ATTR_SCATTER_INDICES_BATCHING_DIMS, op, numbers,
                               "scatter_indices_batching_dims"));
  import_add(&attrs, hlo_attr_of_int(HLO_ATTR_INDEX_VECTOR_DIM,
                                     import_field_int(op, numbers, "index_vector_dim")));
  import_add(&attrs, hlo_attr_of_bool(HLO_ATTR_INDICES_ARE_SORTED,
                                      import_bool(op, "indices_are_sorted", false)));
  import_add(&attrs,
             hlo_attr_of_bool(HLO_ATTR_UNIQUE_INDICES, import_bool(op, "unique_indices", false)));
  HR_TRY(import_body(scope, op, 0, &body));
  import_add(&attrs, hlo_attr_of_called(HLO_ATTR_TO_APPLY, 1));
  return build_from_operands(scope, op, row->op, &attrs, 1, &body);
}
