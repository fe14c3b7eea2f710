/* HLO instructions that XLA and StableHLO define differently under the same name. They are
 * expanded into operations with the same definition in both; import_differences.c, which lists
 * them, does the same in the opposite direction. */
#include "ops/rules/constraint.h"
#include "stablehlo/export/export.h"

/* An op on one value; its result has the shape of `like` with another element type. */
static mlir_value_t *export_as(export_frame_t *frame, const char *name, mlir_value_t *x,
                               const hlo_shape_t *like, hr_dtype_t dtype) {
  const hlo_shape_t *shape;
  exporter_t *exporter = frame->exporter;
  if (!x || export_keep(exporter, hlo_shape_with_dtype(exporter->arena, like, dtype, &shape)))
    return NULL;
  return export_value(frame, name, 1, &x, export_type(exporter, shape), NULL);
}

/* Complex to pred: true if either part is nonzero. */
void export_convert(export_frame_t *frame, const hlo_instr_t *instr, const export_row_t *row) {
  hr_dtype_t from = instr->operands[0]->shape->dtype;
  if (instr->shape->dtype != HR_PRED || !hr_dtype_is_complex(from)) {
    export_simple(frame, instr, row);
    return;
  }
  static const char *const parts[] = {"stablehlo.real", "stablehlo.imag"};
  mlir_value_t *differs[2];
  mlir_value_t *x = export_operand(frame, instr, 0);
  for (int k = 0; k < 2; k++) {
    mlir_value_t *part = export_as(frame, parts[k], x, instr->shape, hr_dtype_real(from));
    differs[k] = export_as(frame, row->name, part, instr->shape, HR_PRED);
  }
  if (export_failed(frame)) return;
  export_set_value(frame, instr,
                   export_value(frame, "stablehlo.or", 2, differs, differs[0]->type, NULL));
}

/* Converts preds to u8 with values 0 and 1. */
static mlir_value_t *bytes_of_preds(export_frame_t *frame, mlir_value_t *x,
                                    const hlo_shape_t *preds) {
  return export_as(frame, "stablehlo.convert", x, preds, HR_U8);
}

/* Next to types of 8 bits and more, a pred is a byte in HLO: it is converted to or from u8. */
void export_bitcast_convert(export_frame_t *frame, const hlo_instr_t *instr,
                            const export_row_t *row) {
  const hlo_shape_t *from = instr->operands[0]->shape;
  const hlo_shape_t *to = instr->shape;
  bool of_bytes =
      op_bits_beside(from->dtype, to->dtype) >= 8 && op_bits_beside(to->dtype, from->dtype) >= 8;
  bool has_preds = (from->dtype == HR_PRED) != (to->dtype == HR_PRED);
  if (!of_bytes || !has_preds) {
    export_simple(frame, instr, row);
    return;
  }
  mlir_value_t *x = export_operand(frame, instr, 0);
  if (from->dtype == HR_PRED) {
    x = bytes_of_preds(frame, x, from);
    if (to->dtype != HR_U8) x = export_as(frame, row->name, x, to, to->dtype);
  } else {
    if (from->dtype != HR_U8) x = export_as(frame, row->name, x, to, HR_U8);
    x = export_as(frame, "stablehlo.convert", x, to, HR_PRED);
  }
  export_set_value(frame, instr, x);
}

/* Without mantissa bits StableHLO makes a NaN infinite; a select keeps it NaN, as in HLO. */
void export_reduce_precision(export_frame_t *frame, const hlo_instr_t *instr,
                             const export_row_t *row) {
  exporter_t *exporter = frame->exporter;
  export_attrs_t attrs = {.count = 0};
  mlir_op_t *reduced = export_plain_op(frame, instr, row, NULL);
  if (hlo_attr_int(instr, HLO_ATTR_MANTISSA_BITS) || !reduced) return;
  const hlo_shape_t *preds;
  if (export_keep(exporter, hlo_shape_with_dtype(exporter->arena, instr->shape, HR_PRED, &preds)))
    return;
  mlir_value_t *x = export_operand(frame, instr, 0);
  mlir_value_t *both[] = {x, x};
  export_add(exporter, &attrs, "comparison_direction",
             export_enum(exporter, "comparison_direction", HR_STR("NE")));
  mlir_value_t *is_nan =
      export_value(frame, "stablehlo.compare", 2, both, export_type(exporter, preds), &attrs);
  mlir_value_t *operands[] = {is_nan, x, reduced->results};
  if (!export_failed(frame))
    export_set_value(
        frame, instr,
        export_value(frame, "stablehlo.select", 3, operands, reduced->results->type, NULL));
}

/* --- order of a collective's members --- */

/* Reorders the outer x inner chunks of x along a dimension as inner x outer chunks. */
static mlir_value_t *swap_chunks(export_frame_t *frame, mlir_value_t *x, const hlo_shape_t *shape,
                                 int64_t dimension, int64_t outer, int64_t inner) {
  exporter_t *exporter = frame->exporter;
  int64_t dims[HLO_MAX_RANK], order[HLO_MAX_RANK], swapped[HLO_MAX_RANK];
  int rank = 0;
  export_attrs_t attrs = {.count = 0};
  for (int d = 0; d < shape->rank; d++) {
    if (d == dimension) dims[rank++] = outer;
    if (d == dimension) dims[rank++] = inner;
    dims[rank++] = d == dimension ? shape->dims[d] / (outer * inner) : shape->dims[d];
  }
  for (int d = 0; d < rank; d++) order[d] = d;
  order[dimension] = dimension + 1;
  order[dimension + 1] = dimension;
  for (int d = 0; d < rank; d++) swapped[d] = dims[order[d]];
  export_add(exporter, &attrs, "permutation", export_ints(exporter, rank, order));
  x = export_reshape(frame, x, rank, dims);
  if (!x) return NULL;
  x = export_value(frame, "stablehlo.transpose", 1, &x,
                   export_tensor(exporter, shape->dtype, rank, swapped), &attrs);
  return export_reshape(frame, x, shape->rank, shape->dims);
}

/* Number of partitions for `members` participants in the mode cross_replica_and_partition; 1 in
 * other modes. */
static int64_t partitions_of(const hlo_instr_t *instr, int64_t members) {
  const hlo_groups_t *groups = hlo_attr_groups(instr);
  int64_t partitions = instr->parent->module->num_partitions;
  bool both = hlo_attr_int(instr, HLO_ATTR_CHANNEL_ID) > 0 &&
              !hlo_attr_bool(instr, HLO_ATTR_USE_GLOBAL_DEVICE_IDS);
  if (!both || members < 1) return 1;
  if (groups && groups->groups.count && groups->groups.lists[0].count)
    partitions = members / groups->groups.lists[0].count;
  return partitions > 0 && members % partitions == 0 ? partitions : 1;
}

/* Reorders a collective's chunks; inverse of import_order_members. */
mlir_value_t *export_order_members(export_frame_t *frame, const hlo_instr_t *instr,
                                   const export_chunks_t *chunks, mlir_value_t *x) {
  hr_ints_t dimensions = hlo_attr_ints(instr, HLO_ATTR_DIMENSIONS);
  const hlo_shape_t *whole = chunks->whole;
  int64_t d = dimensions.count ? dimensions.data[0] : whole->rank;
  if (!x || d >= whole->rank || chunks->part->dims[d] < 1) return x;
  int64_t members = whole->dims[d] / chunks->part->dims[d];
  int64_t partitions = partitions_of(instr, members);
  int64_t replicas = members / partitions;
  if (partitions == 1 || replicas == 1) return x;
  if (hlo_shape_is_dynamic(whole) || whole->rank + 2 > HLO_MAX_RANK) {
    export_error(frame, instr,
                 "StableHLO orders its members otherwise, and its sizes are not static");
    return NULL;
  }
  return swap_chunks(frame, x, whole, d, chunks->by_partition ? partitions : replicas,
                     chunks->by_partition ? replicas : partitions);
}
