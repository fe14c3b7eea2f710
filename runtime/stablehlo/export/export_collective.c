/* Collectives. Groups become dense matrices of ids, short rows padded with -1; no groups mean one
 * group of all. The mode follows from channel and use_global_device_ids, as in XLA. Results whose
 * order XLA and StableHLO define differently are reordered (export_differences.c). */
#include "stablehlo/export/export.h"

/* A matrix with a row for each list, short rows padded with -1. */
static const mlir_attr_t *matrix_of(exporter_t *exporter, const hlo_int_lists_t *lists) {
  int64_t width = 0, *values;
  for (int64_t g = 0; g < lists->count; g++)
    if (lists->lists[g].count > width) width = lists->lists[g].count;
  values = export_alloc(exporter, (size_t)(lists->count * width), sizeof *values);
  if (!values) return NULL;
  for (int64_t g = 0; g < lists->count; g++)
    for (int64_t i = 0; i < width; i++)
      values[g * width + i] = i < lists->lists[g].count ? lists->lists[g].data[i] : -1;
  return export_matrix(exporter, lists->count, width, values);
}

/* channel_handle of type 1 (device to device), for channels above 0. */
static void add_channel(exporter_t *exporter, const hlo_instr_t *instr, export_attrs_t *attrs) {
  int64_t channel = hlo_attr_int(instr, HLO_ATTR_CHANNEL_ID);
  export_attrs_t fields = {.count = 0};
  if (channel <= 0) return;
  export_add(exporter, &fields, "handle", export_integer(exporter, channel, 64));
  export_add(exporter, &fields, "type", export_integer(exporter, 1, 64));
  export_add(exporter, attrs, "channel_handle",
             export_struct(exporter, "stablehlo", "channel_handle", &fields));
}

/* Adds channel, groups and use_global_device_ids, which determine the participants. */
static void add_listed_groups(exporter_t *exporter, const hlo_instr_t *instr,
                              const hlo_int_lists_t *groups, export_attrs_t *attrs) {
  const mlir_attr_t *unit = NULL;
  add_channel(exporter, instr, attrs);
  export_add(exporter, attrs, "replica_groups", matrix_of(exporter, groups));
  if (exporter->status || !hlo_attr_bool(instr, HLO_ATTR_USE_GLOBAL_DEVICE_IDS)) return;
  export_keep(exporter, mlir_make_unit(exporter->arena, &unit));
  export_add(exporter, attrs, "use_global_device_ids", unit);
}

/* The same with replica_groups as they are; none: all processes are one group. */
static void add_groups(exporter_t *exporter, const hlo_instr_t *instr, export_attrs_t *attrs) {
  static const hlo_int_lists_t none = {0, NULL};
  const hlo_groups_t *groups = hlo_attr_groups(instr);
  add_listed_groups(exporter, instr, groups ? &groups->groups : &none, attrs);
}

/* Shape of the completed collective: async starts of two kinds include their operands in the
 * shape. */
static const hlo_shape_t *result_shape(const hlo_instr_t *instr) {
  bool pairs = instr->op == HLO_ALL_GATHER_START || instr->op == HLO_COLLECTIVE_PERMUTE_START;
  return pairs && hlo_shape_is_tuple(instr->shape) && instr->shape->element_count > 1
             ? instr->shape->elements[1]
             : instr->shape;
}

/* Shape of leaf k as the op gives it: of a reduction in StableHLO it has the type of the region,
 * in HLO also the one of the operands. NULL after a failure. */
static const hlo_shape_t *given_shape(exporter_t *exporter, const hlo_instr_t *instr, int k) {
  const hlo_shape_t *leaf = hlo_shape_leaf(result_shape(instr), k), *given = leaf;
  hr_dtype_t dtype = instr->called_count ? instr->called[0]->root->shape->dtype : leaf->dtype;
  if (dtype != leaf->dtype)
    export_keep(exporter, hlo_shape_with_dtype(exporter->arena, leaf, dtype, &given));
  return exporter->status ? NULL : given;
}

/* Types of the leaves as the op gives them. */
static export_types_t given_types(exporter_t *exporter, const hlo_instr_t *instr) {
  export_types_t types = export_leaf_types(exporter, result_shape(instr));
  for (int k = 0; k < types.count && !exporter->status; k++) {
    const hlo_shape_t *leaf = hlo_shape_leaf(result_shape(instr), k);
    const hlo_shape_t *given = given_shape(exporter, instr, k);
    if (given && given != leaf) types.items[k] = export_type(exporter, given);
  }
  return types;
}

/* Converts results to the types of the instruction, where the op gives others. */
static void convert_results(export_frame_t *frame, const hlo_instr_t *instr) {
  exporter_t *exporter = frame->exporter;
  if (export_failed(frame)) return;
  export_values_t results = frame->values[instr->id];
  for (int k = 0; k < results.count && !export_failed(frame); k++) {
    const hlo_shape_t *leaf = hlo_shape_leaf(result_shape(instr), k);
    if (given_shape(exporter, instr, k) == leaf) continue;
    results.items[k] = export_value(frame, "stablehlo.convert", 1, &results.items[k],
                                    export_type(exporter, leaf), NULL);
  }
}

/* The region of a reduction, if the op has one. */
static void add_body(export_frame_t *frame, const hlo_instr_t *instr, mlir_op_t *op) {
  if (!instr->called_count) return;
  export_alloc_regions(frame, op, 1);
  export_region(frame, op, 0, instr->called[0], NULL);
}

/* One op for all operands; its results are the leaves of the result. */
void export_collective(export_frame_t *frame, const hlo_instr_t *instr, const export_row_t *row) {
  exporter_t *exporter = frame->exporter;
  export_attrs_t attrs = {.count = 0};
  add_groups(exporter, instr, &attrs);
  export_row_attrs(exporter, instr, row, &attrs);
  export_values_t operands = export_operands(frame, instr);
  export_types_t types = given_types(exporter, instr);
  mlir_op_t *op =
      export_op(frame, row->name, operands.count, operands.items, types.count, types.items, &attrs);
  export_set_results(frame, instr, op);
  add_body(frame, instr, op);
  convert_results(frame, instr);
}

/* Shape of result k. */
static const hlo_shape_t *leaf_shape(const hlo_shape_t *shape, int k) {
  return hlo_shape_is_tuple(shape) ? shape->elements[k] : shape;
}

/* Reorders the members' chunks to HLO's order. */
static void order_gathered(export_frame_t *frame, const hlo_instr_t *instr) {
  export_values_t results = frame->values[instr->id];
  const hlo_shape_t *shape = result_shape(instr);
  for (int i = 0; i < results.count && i < instr->operand_count && !export_failed(frame); i++) {
    export_chunks_t chunks = {leaf_shape(shape, i), instr->operands[i]->shape, true};
    results.items[i] = export_order_members(frame, instr, &chunks, results.items[i]);
  }
}

/* The op of the row, then a reordering of the members' chunks to HLO's order. */
void export_all_gather(export_frame_t *frame, const hlo_instr_t *instr, const export_row_t *row) {
  export_collective(frame, instr, row);
  if (!export_failed(frame)) order_gathered(frame, instr);
}

/* StableHLO's op has one operand: several operands make one op each. */
static void export_each(export_frame_t *frame, const hlo_instr_t *instr, const export_row_t *row,
                        const export_attrs_t *attrs) {
  export_values_t operands = export_operands(frame, instr);
  export_types_t types = given_types(frame->exporter, instr);
  mlir_value_t **results = export_alloc(frame->exporter, (size_t)types.count, sizeof *results);
  if (export_failed(frame)) return;
  if (operands.count != types.count &&
      export_error(frame, instr, "%d operands for %d results have no form in StableHLO",
                   operands.count, types.count))
    return;
  for (int i = 0; i < types.count && !export_failed(frame); i++) {
    mlir_value_t *x = operands.items[i];
    if (instr->op == HLO_REDUCE_SCATTER) {
      export_chunks_t chunks = {instr->operands[i]->shape, leaf_shape(instr->shape, i), false};
      x = export_order_members(frame, instr, &chunks, x);
    }
    mlir_op_t *op = x ? export_op(frame, row->name, 1, &x, 1, &types.items[i], attrs) : NULL;
    if (!op) return;
    results[i] = op->results;
    add_body(frame, instr, op);
  }
  export_set(frame, instr, (export_values_t){types.count, results});
  convert_results(frame, instr);
}

/* One op per operand: StableHLO's reduce_scatter has one operand, HLO's may have several. */
void export_reduce_scatter(export_frame_t *frame, const hlo_instr_t *instr,
                           const export_row_t *row) {
  export_attrs_t attrs = {.count = 0};
  add_groups(frame->exporter, instr, &attrs);
  export_row_attrs(frame->exporter, instr, row, &attrs);
  export_each(frame, instr, row, &attrs);
}

/* source_target_pairs as a matrix. */
void export_collective_permute(export_frame_t *frame, const hlo_instr_t *instr,
                               const export_row_t *row) {
  const hlo_int_lists_t *pairs = hlo_attr_lists(instr, HLO_ATTR_SOURCE_TARGET_PAIRS);
  bool is_empty = !pairs || !pairs->count;
  int64_t no_values = 0;
  export_attrs_t attrs = {.count = 0};
  if (hlo_attr_has(instr, HLO_ATTR_PERMUTE_SLICE_SIZES) &&
      export_error(frame, instr, "StableHLO has no collective_permute of slices in place"))
    return;
  add_channel(frame->exporter, instr, &attrs);
  export_add(frame->exporter, &attrs, "source_target_pairs",
             is_empty ? export_matrix(frame->exporter, 0, 2, &no_values)
                      : matrix_of(frame->exporter, pairs));
  export_each(frame, instr, row, &attrs);
}

/* --- all_to_all --- */

/* Slice k of the first dimension of x, with this dimension removed. */
static mlir_value_t *take_slice(export_frame_t *frame, mlir_value_t *x, hr_dtype_t dtype,
                                int64_t k) {
  exporter_t *exporter = frame->exporter;
  int rank = x->type->rank;
  int64_t starts[HLO_MAX_RANK] = {k};
  int64_t limits[HLO_MAX_RANK];
  int64_t strides[HLO_MAX_RANK];
  int64_t dims[HLO_MAX_RANK];
  export_attrs_t attrs = {.count = 0};
  for (int d = 0; d < rank; d++) {
    limits[d] = d ? x->type->dims[d] : k + 1;
    dims[d] = d ? x->type->dims[d] : 1;
    strides[d] = 1;
  }
  export_add(exporter, &attrs, "start_indices", export_ints(exporter, rank, starts));
  export_add(exporter, &attrs, "limit_indices", export_ints(exporter, rank, limits));
  export_add(exporter, &attrs, "strides", export_ints(exporter, rank, strides));
  const mlir_type_t *type = export_tensor(exporter, dtype, rank, dims);
  return export_reshape(frame, export_value(frame, "stablehlo.slice", 1, &x, type, &attrs),
                        rank - 1, dims + 1);
}

/* Stacks the operands, which have the same shape, in a new first dimension. */
static mlir_value_t *join_operands(export_frame_t *frame, const hlo_instr_t *instr) {
  exporter_t *exporter = frame->exporter;
  const hlo_shape_t *part = instr->operands[0]->shape;
  int64_t dims[HLO_MAX_RANK + 1] = {1};
  mlir_value_t **parts = export_alloc(exporter, (size_t)instr->operand_count, sizeof *parts);
  export_attrs_t attrs = {.count = 0};
  for (int d = 0; d < part->rank; d++) dims[d + 1] = part->dims[d];
  for (int k = 0; parts && k < instr->operand_count; k++)
    parts[k] = export_reshape(frame, export_operand(frame, instr, k), part->rank + 1, dims);
  dims[0] = instr->operand_count;
  export_add(exporter, &attrs, "dimension", export_integer(exporter, 0, 64));
  return export_value(frame, "stablehlo.concatenate", instr->operand_count, parts,
                      export_tensor(exporter, part->dtype, part->rank + 1, dims), &attrs);
}

/* HLO's form with a list: operand i is sent to member i. The operands become one array, which is
 * exchanged along its first dimension and split again. */
static void export_listed_all_to_all(export_frame_t *frame, const hlo_instr_t *instr,
                                     const export_row_t *row, export_attrs_t *attrs) {
  exporter_t *exporter = frame->exporter;
  const hlo_shape_t *part = instr->operands[0]->shape;
  int count = instr->operand_count;
  if (part->rank >= HLO_MAX_RANK &&
      export_error(frame, instr, "%d dimensions are too many", part->rank))
    return;
  mlir_value_t *x = join_operands(frame, instr);
  mlir_value_t **results = export_alloc(exporter, (size_t)count, sizeof *results);
  export_add(exporter, attrs, "split_dimension", export_integer(exporter, 0, 64));
  export_add(exporter, attrs, "concat_dimension", export_integer(exporter, 0, 64));
  export_add(exporter, attrs, "split_count", export_integer(exporter, count, 64));
  x = x ? export_value(frame, row->name, 1, &x, x->type, attrs) : NULL;
  for (int k = 0; x && results && k < count; k++) results[k] = take_slice(frame, x, part->dtype, k);
  export_set(frame, instr, (export_values_t){count, results});
}

/* Size of the first listed group; without groups, number of all processes in the mode. */
static int64_t group_size(const exporter_t *exporter, const hlo_instr_t *instr) {
  const hlo_groups_t *groups = hlo_attr_groups(instr);
  if (groups && groups->groups.count) return groups->groups.lists[0].count;
  return hlo_attr_int(instr, HLO_ATTR_CHANNEL_ID) > 0 ? exporter->from->num_partitions
                                                      : exporter->from->replica_count;
}

/* Adds the groups; all processes are listed as one group, as StableHLO wants. */
static void add_exchange_groups(export_frame_t *frame, const hlo_instr_t *instr, int64_t count,
                                export_attrs_t *attrs) {
  exporter_t *exporter = frame->exporter;
  const hlo_groups_t *groups = hlo_attr_groups(instr);
  if (groups && groups->groups.count) {
    add_groups(exporter, instr, attrs);
    return;
  }
  int64_t *ids = export_alloc(exporter, (size_t)count, sizeof *ids);
  for (int64_t i = 0; ids && i < count; i++) ids[i] = i;
  hr_ints_t all = {ids, count};
  if (ids) add_listed_groups(exporter, instr, &(hlo_int_lists_t){1, &all}, attrs);
}

/* HLO splits and concatenates along one dimension; without a dimension it exchanges a list of
 * operands. A program that names one process runs on any number, which StableHLO cannot say. */
void export_all_to_all(export_frame_t *frame, const hlo_instr_t *instr, const export_row_t *row) {
  exporter_t *exporter = frame->exporter;
  hr_ints_t dims = hlo_attr_ints(instr, HLO_ATTR_DIMENSIONS);
  export_attrs_t attrs = {.count = 0};
  int64_t count = dims.count == 1 ? group_size(exporter, instr) : instr->operand_count;
  const hlo_groups_t *groups = hlo_attr_groups(instr);
  bool is_known = count > 1 || dims.count != 1 || (groups && groups->groups.count);
  if (!is_known &&
      export_error(frame, instr, "StableHLO's all_to_all wants the processes of each group"))
    return;
  add_exchange_groups(frame, instr, count, &attrs);
  if (dims.count != 1) {
    export_listed_all_to_all(frame, instr, row, &attrs);
    return;
  }
  export_add(exporter, &attrs, "split_dimension", export_integer(exporter, dims.data[0], 64));
  export_add(exporter, &attrs, "concat_dimension", export_integer(exporter, dims.data[0], 64));
  export_add(exporter, &attrs, "split_count", export_integer(exporter, count, 64));
  export_plain_op(frame, instr, row, &attrs);
}

/* A custom call whose configuration has the groups, as in JAX. */
void export_ragged_all_to_all(export_frame_t *frame, const hlo_instr_t *instr,
                              const export_row_t *row) {
  static const hlo_int_lists_t none = {0, NULL};
  exporter_t *exporter = frame->exporter;
  const hlo_groups_t *groups = hlo_attr_groups(instr);
  export_attrs_t attrs = {.count = 0};
  export_attrs_t config = {.count = 0};
  const mlir_attr_t *dict = NULL;
  int64_t channel = hlo_attr_int(instr, HLO_ATTR_CHANNEL_ID);
  export_add(exporter, &config, "replica_groups",
             matrix_of(exporter, groups ? &groups->groups : &none));
  if (channel > 0)
    export_add(exporter, &config, "channel_id", export_integer(exporter, channel, 64));
  if (!exporter->status)
    export_keep(exporter, mlir_make_dict(exporter->arena, config.count, config.items, &dict));
  export_add(exporter, &attrs, "call_target_name",
             export_string(exporter, HR_STR("ragged_all_to_all")));
  export_add(exporter, &attrs, "api_version",
             export_integer(exporter, HLO_API_VERSION_TYPED_FFI, 32));
  export_add(exporter, &attrs, "backend_config", dict);
  export_plain_op(frame, instr, row, &attrs);
}
