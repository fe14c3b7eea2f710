/* Products, convolutions, windows, gather and scatter: separate HLO attributes become the
 * structures of StableHLO. Window attributes with default values are left out. */
#include <string.h>

#include "stablehlo/export/export.h"

/* Adds an attribute of the instruction as a field of a structure. */
static void add_ints(exporter_t *exporter, export_attrs_t *fields, const char *name,
                     const hlo_instr_t *instr, hlo_attr_key_t key) {
  hr_ints_t ints = hlo_attr_ints(instr, key);
  export_add(exporter, fields, name, export_ints(exporter, ints.count, ints.data));
}

/* An i64 field of a struct such as #stablehlo.conv. */
static void add_int(exporter_t *exporter, export_attrs_t *fields, const char *name, int64_t value) {
  export_add(exporter, fields, name, export_integer(exporter, value, 64));
}

/* --- products --- */

/* Batching and contracting dimensions of both operands. */
static void add_product_dims(exporter_t *exporter, export_attrs_t *fields,
                             const hlo_instr_t *instr) {
  add_ints(exporter, fields, "lhs_batching_dimensions", instr, HLO_ATTR_LHS_BATCH_DIMS);
  add_ints(exporter, fields, "rhs_batching_dimensions", instr, HLO_ATTR_RHS_BATCH_DIMS);
  add_ints(exporter, fields, "lhs_contracting_dimensions", instr, HLO_ATTR_LHS_CONTRACTING_DIMS);
  add_ints(exporter, fields, "rhs_contracting_dimensions", instr, HLO_ATTR_RHS_CONTRACTING_DIMS);
}

/* A float type as a field of the algorithm. */
static void add_type(exporter_t *exporter, export_attrs_t *fields, const char *name,
                     hr_str_t word) {
  mlir_type_t *type = export_alloc(exporter, 1, sizeof *type);
  const mlir_attr_t *attr = NULL;
  if (!type) return;
  *type = (mlir_type_t){.kind = MLIR_TYPE_FLOAT, .name = export_text(exporter, word)};
  if (!exporter->status) export_keep(exporter, mlir_make_type_attr(exporter->arena, type, &attr));
  export_add(exporter, fields, name, attr);
}

/* The word after the '_' at *at, which moves to the next '_': "dot_tf32_tf32_f32_x3". */
static hr_str_t next_word(const char **at) {
  const char *start = *at + 1;
  const char *stop = strchr(start, '_');
  if (!stop) stop = start + strlen(start);
  *at = stop;
  return (hr_str_t){start, (size_t)(stop - start)};
}

/* HLO's name of an algorithm is "dot_LHS_RHS_SUM[_xPRODUCTS | _fast_accum]"; for
 * "dot_any_f8_any_f8_f32" the types are the operands'. */
static const mlir_attr_t *algorithm_of(exporter_t *exporter, const hlo_instr_t *instr) {
  const char *text =
      hlo_enum_table[HLO_ENUM_DOT_ALGORITHM].texts[hlo_attr_enum(instr, HLO_ATTR_ALGORITHM)];
  const char *at = text + 3;
  export_attrs_t fields = {.count = 0};
  bool any = !strncmp(text, "dot_any_f8", 10);
  if (any) at = text + strlen("dot_any_f8_any_f8");
  hr_str_t lhs = any ? hr_str_from(hr_dtype_table[instr->operands[0]->shape->dtype].mlir_name)
                     : next_word(&at);
  hr_str_t rhs = any ? hr_str_from(hr_dtype_table[instr->operands[1]->shape->dtype].mlir_name)
                     : next_word(&at);
  add_type(exporter, &fields, "lhs_precision_type", lhs);
  add_type(exporter, &fields, "rhs_precision_type", rhs);
  add_type(exporter, &fields, "accumulation_type", next_word(&at));
  add_int(exporter, &fields, "lhs_component_count", 1);
  add_int(exporter, &fields, "rhs_component_count", 1);
  add_int(exporter, &fields, "num_primitive_operations",
          at[0] == '_' && at[1] == 'x' ? at[2] - '0' : 1);
  const mlir_attr_t *imprecise = NULL;
  if (!exporter->status)
    export_keep(exporter, mlir_make_bool(exporter->arena, !strcmp(at, "_fast_accum"), &imprecise));
  export_add(exporter, &fields, "allow_imprecise_accumulation", imprecise);
  return export_struct(exporter, "stablehlo", "dot_algorithm", &fields);
}

/* True if a dot has an algorithm, which replaces precisions. */
bool export_dot_algorithm(const hlo_instr_t *instr) {
  return instr->op == HLO_DOT &&
         hlo_attr_enum(instr, HLO_ATTR_ALGORITHM) != HLO_DOT_ALGORITHM_UNSET;
}

/* Dimension numbers, and an algorithm or precisions. */
void export_dot(export_frame_t *frame, const hlo_instr_t *instr, const export_row_t *row) {
  export_attrs_t attrs = {.count = 0};
  export_attrs_t dims = {.count = 0};
  add_product_dims(frame->exporter, &dims, instr);
  export_add(frame->exporter, &attrs, "dot_dimension_numbers",
             export_struct(frame->exporter, "stablehlo", "dot", &dims));
  if (export_dot_algorithm(instr))
    export_add(frame->exporter, &attrs, "algorithm", algorithm_of(frame->exporter, instr));
  else
    export_add_precision(frame->exporter, instr, &attrs);
  export_plain_op(frame, instr, row, &attrs);
}

/* Dimension numbers of chlo.ragged_dot: those of a dot, the ragged dimension, and the group
 * dimensions of the right operand. */
void export_ragged_dot(export_frame_t *frame, const hlo_instr_t *instr, const export_row_t *row) {
  export_attrs_t attrs = {.count = 0};
  export_attrs_t dims = {.count = 0};
  add_product_dims(frame->exporter, &dims, instr);
  add_ints(frame->exporter, &dims, "lhs_ragged_dimensions", instr, HLO_ATTR_LHS_RAGGED_DIMS);
  add_ints(frame->exporter, &dims, "rhs_group_dimensions", instr, HLO_ATTR_RHS_GROUP_DIMS);
  export_add(frame->exporter, &attrs, "ragged_dot_dimension_numbers",
             export_struct(frame->exporter, "chlo", "ragged_dot", &dims));
  export_add_precision(frame->exporter, instr, &attrs);
  export_plain_op(frame, instr, row, &attrs);
}

/* --- windows --- */

/* Names of a window's parts; NULL: the op lacks this part, so that its value must be the
 * default. */
typedef struct window_names {
  const char *size, *stride, *base_dilation, *window_dilation, *reversal;
} window_names_t;

typedef enum window_part {
  WINDOW_SIZE,
  WINDOW_STRIDE,
  WINDOW_BASE_DILATION,
  WINDOW_DILATION,
  WINDOW_REVERSAL
} window_part_t;

/* One part of one dimension's window. */
static int64_t window_value(const hlo_window_dim_t *dim, window_part_t part) {
  switch (part) {
    case WINDOW_SIZE:
      return dim->size;
    case WINDOW_STRIDE:
      return dim->stride;
    case WINDOW_BASE_DILATION:
      return dim->base_dilation;
    case WINDOW_DILATION:
      return dim->window_dilation;
    case WINDOW_REVERSAL:
      return dim->reversal;
  }
  return 0;
}

/* A list of booleans as array<i1>. */
static const mlir_attr_t *flags_of(exporter_t *exporter, int count, const int64_t *values) {
  static const mlir_type_t i1 = {.kind = MLIR_TYPE_INTEGER, .width = 1};
  mlir_attr_t *attr = export_alloc(exporter, 1, sizeof *attr);
  uint8_t *flags = export_alloc(exporter, (size_t)count, 1);
  if (exporter->status) return NULL;
  for (int i = 0; i < count; i++) flags[i] = values[i] != 0;
  *attr = (mlir_attr_t){
      .kind = MLIR_ATTR_DENSE_ARRAY, .type = &i1, .data = flags, .element_count = count};
  return attr;
}

/* Adds a part of the window as a list. If the op has no name for the part, its value must be the
 * default. */
static void add_window_part(export_frame_t *frame, const hlo_instr_t *instr, export_attrs_t *attrs,
                            const hlo_window_t *window, window_part_t part, const char *name) {
  int64_t values[HLO_MAX_RANK];
  int64_t usual = part != WINDOW_REVERSAL;
  for (int d = 0; d < window->rank; d++) {
    values[d] = window_value(&window->dims[d], part);
    if (!name && part != WINDOW_SIZE && values[d] != usual)
      export_error(frame, instr, "StableHLO's %s has no window with %s", hlo_op_name(instr->op),
                   part == WINDOW_REVERSAL ? "reversal" : "dilation");
  }
  if (!name) return;
  export_add(frame->exporter, attrs, name,
             part == WINDOW_REVERSAL ? flags_of(frame->exporter, window->rank, values)
                                     : export_ints(frame->exporter, window->rank, values));
}

/* Adds all parts of the window, the padding as pairs; a missing window has rank 0. */
static void add_window(export_frame_t *frame, const hlo_instr_t *instr, export_attrs_t *attrs,
                       const window_names_t *names) {
  static const hlo_window_t none = {0, NULL};
  const hlo_window_t *window = hlo_attr_window(instr) ? hlo_attr_window(instr) : &none;
  int64_t padding[2 * HLO_MAX_RANK];
  add_window_part(frame, instr, attrs, window, WINDOW_SIZE, names->size);
  add_window_part(frame, instr, attrs, window, WINDOW_STRIDE, names->stride);
  add_window_part(frame, instr, attrs, window, WINDOW_BASE_DILATION, names->base_dilation);
  add_window_part(frame, instr, attrs, window, WINDOW_DILATION, names->window_dilation);
  add_window_part(frame, instr, attrs, window, WINDOW_REVERSAL, names->reversal);
  if (instr->op == HLO_DYNAMIC_CONVOLUTION) return; /* the padding is an operand */
  for (int d = 0; d < window->rank; d++) {
    padding[2 * d] = window->dims[d].pad_low;
    padding[2 * d + 1] = window->dims[d].pad_high;
  }
  export_add(frame->exporter, attrs, "padding",
             export_matrix(frame->exporter, window->rank, 2, padding));
}

/* #stablehlo.conv<...> from the dimension labels. */
static const mlir_attr_t *conv_dims(exporter_t *exporter, const hlo_dim_labels_t *labels) {
  export_attrs_t fields = {.count = 0};
  add_int(exporter, &fields, "input_batch_dimension", labels->lhs_batch);
  add_int(exporter, &fields, "input_feature_dimension", labels->lhs_feature);
  export_add(exporter, &fields, "input_spatial_dimensions",
             export_ints(exporter, labels->spatial_rank, labels->lhs_spatial));
  add_int(exporter, &fields, "kernel_input_feature_dimension", labels->rhs_input_feature);
  add_int(exporter, &fields, "kernel_output_feature_dimension", labels->rhs_output_feature);
  export_add(exporter, &fields, "kernel_spatial_dimensions",
             export_ints(exporter, labels->spatial_rank, labels->rhs_spatial));
  add_int(exporter, &fields, "output_batch_dimension", labels->out_batch);
  add_int(exporter, &fields, "output_feature_dimension", labels->out_feature);
  export_add(exporter, &fields, "output_spatial_dimensions",
             export_ints(exporter, labels->spatial_rank, labels->out_spatial));
  return export_struct(exporter, "stablehlo", "conv", &fields);
}

/* True if the labels have a role for every dimension, as StableHLO's convolutions require. */
static bool names_all(const hlo_dim_labels_t *labels) {
  return !labels->lhs_unused && !labels->rhs_unused && !labels->out_unused &&
         labels->lhs_batch >= 0 && labels->lhs_feature >= 0 && labels->rhs_input_feature >= 0 &&
         labels->rhs_output_feature >= 0 && labels->out_batch >= 0 && labels->out_feature >= 0;
}

/* Window, dimension numbers, group counts (by the row) and precision. */
void export_convolution(export_frame_t *frame, const hlo_instr_t *instr, const export_row_t *row) {
  static const window_names_t names = {NULL, "window_strides", "lhs_dilation", "rhs_dilation",
                                       "window_reversal"};
  const hlo_dim_labels_t *labels = hlo_attr_labels(instr);
  export_attrs_t attrs = {.count = 0};
  if (!labels || !names_all(labels)) {
    export_error(frame, instr, "dim_labels that leave dimensions out have no form in StableHLO");
    return;
  }
  if (hlo_attr_has(instr, HLO_ATTR_SPARSITY_CONFIG) &&
      export_error(frame, instr, "StableHLO has no sparse convolutions"))
    return;
  add_window(frame, instr, &attrs, &names);
  export_add(frame->exporter, &attrs, "dimension_numbers", conv_dims(frame->exporter, labels));
  export_add_precision(frame->exporter, instr, &attrs);
  export_plain_op(frame, instr, row, &attrs);
}

/* reduce_window and select_and_scatter: window and a region for each computation. */
static void export_windowed(export_frame_t *frame, const hlo_instr_t *instr,
                            const export_row_t *row, const window_names_t *names) {
  export_attrs_t attrs = {.count = 0};
  add_window(frame, instr, &attrs, names);
  mlir_op_t *op = export_plain_op(frame, instr, row, &attrs);
  export_alloc_regions(frame, op, instr->called_count);
  for (int r = 0; r < instr->called_count; r++) export_region(frame, op, r, instr->called[r], NULL);
}

/* reduce_window has all window attributes except the reversal. */
void export_reduce_window(export_frame_t *frame, const hlo_instr_t *instr,
                          const export_row_t *row) {
  static const window_names_t names = {"window_dimensions", "window_strides", "base_dilations",
                                       "window_dilations", NULL};
  export_windowed(frame, instr, row, &names);
}

/* select_and_scatter has no dilations; windows with dilations are refused. */
void export_select_and_scatter(export_frame_t *frame, const hlo_instr_t *instr,
                               const export_row_t *row) {
  static const window_names_t names = {"window_dimensions", "window_strides", NULL, NULL, NULL};
  export_windowed(frame, instr, row, &names);
}

/* --- gather and scatter --- */

/* Dimension numbers are a structure; slice sizes and the flag are in the row. */
void export_gather(export_frame_t *frame, const hlo_instr_t *instr, const export_row_t *row) {
  exporter_t *exporter = frame->exporter;
  export_attrs_t attrs = {.count = 0};
  export_attrs_t dims = {.count = 0};
  add_ints(exporter, &dims, "offset_dims", instr, HLO_ATTR_OFFSET_DIMS);
  add_ints(exporter, &dims, "collapsed_slice_dims", instr, HLO_ATTR_COLLAPSED_SLICE_DIMS);
  add_ints(exporter, &dims, "operand_batching_dims", instr, HLO_ATTR_OPERAND_BATCHING_DIMS);
  add_ints(exporter, &dims, "start_indices_batching_dims", instr,
           HLO_ATTR_START_INDICES_BATCHING_DIMS);
  add_ints(exporter, &dims, "start_index_map", instr, HLO_ATTR_START_INDEX_MAP);
  add_int(exporter, &dims, "index_vector_dim", hlo_attr_int(instr, HLO_ATTR_INDEX_VECTOR_DIM));
  export_add(exporter, &attrs, "dimension_numbers",
             export_struct(exporter, "stablehlo", "gather", &dims));
  export_plain_op(frame, instr, row, &attrs);
}

/* Like export_gather, with a region that combines updates. */
void export_scatter(export_frame_t *frame, const hlo_instr_t *instr, const export_row_t *row) {
  exporter_t *exporter = frame->exporter;
  export_attrs_t attrs = {.count = 0};
  export_attrs_t dims = {.count = 0};
  add_ints(exporter, &dims, "update_window_dims", instr, HLO_ATTR_UPDATE_WINDOW_DIMS);
  add_ints(exporter, &dims, "inserted_window_dims", instr, HLO_ATTR_INSERTED_WINDOW_DIMS);
  add_ints(exporter, &dims, "input_batching_dims", instr, HLO_ATTR_INPUT_BATCHING_DIMS);
  add_ints(exporter, &dims, "scatter_indices_batching_dims", instr,
           HLO_ATTR_SCATTER_INDICES_BATCHING_DIMS);
  add_ints(exporter, &dims, "scatter_dims_to_operand_dims", instr,
           HLO_ATTR_SCATTER_DIMS_TO_OPERAND_DIMS);
  add_int(exporter, &dims, "index_vector_dim", hlo_attr_int(instr, HLO_ATTR_INDEX_VECTOR_DIM));
  export_add(exporter, &attrs, "scatter_dimension_numbers",
             export_struct(exporter, "stablehlo", "scatter", &dims));
  mlir_op_t *op = export_plain_op(frame, instr, row, &attrs);
  export_alloc_regions(frame, op, 1);
  export_region(frame, op, 0, instr->called[0], NULL);
}
