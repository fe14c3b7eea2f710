/* Ops that are the same in StableHLO or differ only in the form of their attributes, and ops that
 * disappear (tuples, get-tuple-element, bitcasts). */
#include "ops/rules/constraint.h"
#include "stablehlo/export/export.h"

/* Ops fully described by operands, result and row. */
void export_simple(export_frame_t *frame, const hlo_instr_t *instr, const export_row_t *row) {
  export_plain_op(frame, instr, row, NULL);
}

/* Ops that have at most one dimension with a bound in StableHLO. */
void export_one_bound(export_frame_t *frame, const hlo_instr_t *instr, const export_row_t *row) {
  const hlo_shape_t *shape = instr->shape;
  int bounds = 0;
  for (int d = 0; d < shape->rank; d++) bounds += shape->dynamic && shape->dynamic[d];
  if (bounds > 1 && export_error(frame, instr, "StableHLO's %s has no result of %d bounds",
                                 hlo_op_name(instr->op), bounds))
    return;
  export_plain_op(frame, instr, row, NULL);
}

/* --- tuples and ops that forward an operand --- */

/* A tuple makes no op, since values are flattened in StableHLO. */
void export_tuple(export_frame_t *frame, const hlo_instr_t *instr, const export_row_t *row) {
  (void)row;
  export_set(frame, instr, export_operands(frame, instr));
}

/* The leaves of one element. Elements of an asynchronous start without a form in StableHLO are
 * refused. */
void export_get_tuple_element(export_frame_t *frame, const hlo_instr_t *instr,
                              const export_row_t *row) {
  (void)row;
  const hlo_shape_t *tuple = instr->operands[0]->shape;
  export_values_t leaves = export_leaves(frame, instr, 0);
  int64_t index = hlo_attr_int(instr, HLO_ATTR_INDEX);
  if (export_failed(frame)) return;
  if (leaves.count != hlo_shape_leaf_count(tuple)) {
    export_error(frame, instr, "it takes %s apart, which only its done may",
                 hlo_op_name(instr->operands[0]->op));
    return;
  }
  export_set(frame, instr,
             (export_values_t){hlo_shape_leaf_count(instr->shape),
                               leaves.items + hlo_shape_leaf_start(tuple, index)});
}

/* The instruction is replaced by its first operand. */
void export_identity(export_frame_t *frame, const hlo_instr_t *instr, const export_row_t *row) {
  (void)row;
  export_set(frame, instr, export_leaves(frame, instr, 0));
}

/* The value after an optimization_barrier on value and token. */
void export_add_dependency(export_frame_t *frame, const hlo_instr_t *instr,
                           const export_row_t *row) {
  (void)row;
  export_values_t operands = export_operands(frame, instr);
  export_values_t own = export_leaves(frame, instr, 0);
  const mlir_type_t **types = export_alloc(frame->exporter, (size_t)operands.count, sizeof *types);
  for (int i = 0; types && i < operands.count; i++) types[i] = operands.items[i]->type;
  mlir_op_t *op = export_op(frame, "stablehlo.optimization_barrier", operands.count, operands.items,
                            operands.count, types, NULL);
  export_set_results(frame, instr, op);
  if (!export_failed(frame)) frame->values[instr->id].count = own.count;
}

/* StableHLO has a separate op for a token without operands. */
void export_after_all(export_frame_t *frame, const hlo_instr_t *instr, const export_row_t *row) {
  export_row_t creation = *row;
  if (!instr->operand_count) creation.name = "stablehlo.create_token";
  export_plain_op(frame, instr, &creation, NULL);
}

/* --- constants --- */

/* A constant for one leaf; a token is made by an op. */
static mlir_value_t *export_leaf_constant(export_frame_t *frame, const hlo_instr_t *instr,
                                          const hlo_value_t *leaf) {
  if (leaf->dtype == HR_TOKEN)
    return export_value(frame, "stablehlo.create_token", 0, NULL,
                        export_type(frame->exporter, hlo_shape_scalar(HR_TOKEN)), NULL);
  exporter_t *exporter = frame->exporter;
  exporter->instr = instr;
  return export_constant_of(frame, export_elements(exporter, leaf));
}

/* One constant for each leaf. An elided literal ("...") has no elements to write. */
void export_constant(export_frame_t *frame, const hlo_instr_t *instr, const export_row_t *row) {
  (void)row;
  if (!instr->literal) {
    export_error(frame, instr, "its elements are left out");
    return;
  }
  int count = hlo_value_leaf_count(instr->literal);
  mlir_value_t **items = export_alloc(frame->exporter, (size_t)count, sizeof *items);
  for (int i = 0; items && i < count; i++)
    items[i] = export_leaf_constant(frame, instr, hlo_value_leaf(instr->literal, i));
  export_set(frame, instr, (export_values_t){count, items});
}

/* --- bitcast: the bytes in memory, with other sizes or another type --- */

/* The dimensions in memory order, the slowest first; row-major without a layout. */
static void memory_order(const hlo_shape_t *shape, int64_t *order) {
  bool given = shape->layout && shape->layout->minor_to_major.count == shape->rank;
  for (int d = 0; d < shape->rank; d++)
    order[d] = given ? shape->layout->minor_to_major.data[shape->rank - 1 - d] : d;
}

/* A transpose, or x itself for the identity; NULL for NULL. */
static mlir_value_t *export_transposed(export_frame_t *frame, mlir_value_t *x, hr_dtype_t dtype,
                                       int rank, const int64_t *permutation) {
  int64_t dims[HLO_MAX_RANK];
  bool moves = false;
  export_attrs_t attrs = {.count = 0};
  if (!x) return NULL;
  for (int d = 0; d < rank; d++) {
    dims[d] = x->type->dims[permutation[d]];
    moves |= permutation[d] != d;
  }
  if (!moves) return x;
  export_add(frame->exporter, &attrs, "permutation",
             export_ints(frame->exporter, rank, permutation));
  return export_value(frame, "stablehlo.transpose", 1, &x,
                      export_tensor(frame->exporter, dtype, rank, dims), &attrs);
}

/* Reinterprets a flat array as another element type by bitcast_convert: the narrower type gets a
 * dimension for the pieces of an element. */
static mlir_value_t *export_recast(export_frame_t *frame, mlir_value_t *x, hr_dtype_t from,
                                   hr_dtype_t to, int64_t count) {
  int64_t from_bits = hr_dtype_table[from].bits;
  int64_t to_bits = hr_dtype_table[to].bits;
  int64_t pieces = from_bits > to_bits ? from_bits / to_bits : to_bits / from_bits;
  int64_t many[2] = {from_bits > to_bits ? count : count / pieces, pieces};
  int rank = from_bits > to_bits ? 2 : 1;
  if (from_bits < to_bits) x = export_reshape(frame, x, 2, many);
  const mlir_type_t *type = export_tensor(frame->exporter, to, from_bits == to_bits ? 1 : rank,
                                          from_bits == to_bits ? &count : many);
  return x ? export_value(frame, "stablehlo.bitcast_convert", 1, &x, type, NULL) : NULL;
}

/* Like export_recast; next to types of 8 bits and more a pred is a byte, converted by u8. */
static mlir_value_t *export_recast_any(export_frame_t *frame, mlir_value_t *x,
                                       const hlo_shape_t *from_shape, const hlo_shape_t *to_shape,
                                       int64_t count) {
  hr_dtype_t from = from_shape->dtype;
  hr_dtype_t to = to_shape->dtype;
  int64_t preds;
  bool from_bytes = from == HR_PRED && op_bits_beside(from, to) == 8;
  bool to_bytes = to == HR_PRED && op_bits_beside(to, from) == 8;
  if (from_bytes) {
    x = export_value(frame, "stablehlo.convert", 1, &x,
                     export_tensor(frame->exporter, HR_U8, 1, &count), NULL);
    from = HR_U8;
  }
  if (to_bytes) to = HR_U8;
  if (from != to) x = export_recast(frame, x, from, to, count);
  if (!to_bytes || !x || export_keep(frame->exporter, hlo_shape_count(to_shape, &preds))) return x;
  x = export_reshape(frame, x, 1, &preds);
  return export_value(frame, "stablehlo.convert", 1, &x,
                      export_tensor(frame->exporter, HR_PRED, 1, &preds), NULL);
}

/* Reinterprets the bytes in memory: transpose to memory order, change type and shape, transpose
 * back. */
void export_bitcast(export_frame_t *frame, const hlo_instr_t *instr, const export_row_t *row) {
  (void)row;
  const hlo_shape_t *from = instr->operands[0]->shape;
  const hlo_shape_t *to = instr->shape;
  int64_t order[HLO_MAX_RANK], back[HLO_MAX_RANK], dims[HLO_MAX_RANK], count;
  if (!hlo_shape_is_array(from) || !hlo_shape_is_array(to) || hlo_shape_is_dynamic(from) ||
      hlo_shape_is_dynamic(to)) {
    export_error(frame, instr, "StableHLO has no bitcast of tuples or dynamic arrays");
    return;
  }
  if (export_keep(frame->exporter, hlo_shape_count(from, &count))) return;
  memory_order(from, order);
  mlir_value_t *x =
      export_transposed(frame, export_operand(frame, instr, 0), from->dtype, from->rank, order);
  if (from->dtype != to->dtype)
    x = export_recast_any(frame, export_reshape(frame, x, 1, &count), from, to, count);
  memory_order(to, order);
  for (int d = 0; d < to->rank; d++) {
    dims[d] = to->dims[order[d]];
    back[order[d]] = d;
  }
  x = export_reshape(frame, x, to->rank, dims);
  export_set_value(frame, instr, export_transposed(frame, x, to->dtype, to->rank, back));
}

/* --- slices and pads --- */

/* StableHLO has a list for each field of HLO's triples. */
void export_slice(export_frame_t *frame, const hlo_instr_t *instr, const export_row_t *row) {
  const hlo_slice_t *slice = hlo_attr_slice(instr);
  int64_t starts[HLO_MAX_RANK], limits[HLO_MAX_RANK], strides[HLO_MAX_RANK];
  export_attrs_t attrs = {.count = 0};
  for (int d = 0; d < slice->rank; d++) {
    starts[d] = slice->dims[d].start;
    limits[d] = slice->dims[d].limit;
    strides[d] = slice->dims[d].stride;
  }
  export_add(frame->exporter, &attrs, "start_indices",
             export_ints(frame->exporter, slice->rank, starts));
  export_add(frame->exporter, &attrs, "limit_indices",
             export_ints(frame->exporter, slice->rank, limits));
  export_add(frame->exporter, &attrs, "strides",
             export_ints(frame->exporter, slice->rank, strides));
  export_plain_op(frame, instr, row, &attrs);
}

/* One list per field. */
void export_pad(export_frame_t *frame, const hlo_instr_t *instr, const export_row_t *row) {
  const hlo_padding_t *padding = hlo_attr_padding(instr);
  int64_t low[HLO_MAX_RANK], high[HLO_MAX_RANK], interior[HLO_MAX_RANK];
  export_attrs_t attrs = {.count = 0};
  for (int d = 0; d < padding->rank; d++) {
    low[d] = padding->dims[d].low;
    high[d] = padding->dims[d].high;
    interior[d] = padding->dims[d].interior;
  }
  export_add(frame->exporter, &attrs, "edge_padding_low",
             export_ints(frame->exporter, padding->rank, low));
  export_add(frame->exporter, &attrs, "edge_padding_high",
             export_ints(frame->exporter, padding->rank, high));
  export_add(frame->exporter, &attrs, "interior_padding",
             export_ints(frame->exporter, padding->rank, interior));
  export_plain_op(frame, instr, row, &attrs);
}

/* HLO's sizes, scalars or a vector, become a vector. */
void export_dynamic_reshape(export_frame_t *frame, const hlo_instr_t *instr,
                            const export_row_t *row) {
  if (instr->operand_count == 2 && instr->operands[1]->shape->rank == 1) {
    export_plain_op(frame, instr, row, NULL);
    return;
  }
  exporter_t *exporter = frame->exporter;
  int rank = instr->operand_count - 1;
  const int64_t one = 1;
  const int64_t size = rank;
  hr_dtype_t dtype = rank ? instr->operands[1]->shape->dtype : HR_S32;
  mlir_value_t *parts[HLO_MAX_RANK];
  mlir_value_t *operands[2] = {export_operand(frame, instr, 0), NULL};
  export_attrs_t attrs = {.count = 0};
  if (rank > HLO_MAX_RANK || !rank) {
    export_error(frame, instr, "%d sizes, want 1 to %d", rank, HLO_MAX_RANK);
    return;
  }
  for (int d = 0; d < rank; d++)
    parts[d] = export_reshape(frame, export_operand(frame, instr, d + 1), 1, &one);
  export_add(exporter, &attrs, "dimension", export_integer(exporter, 0, 64));
  operands[1] = export_value(frame, "stablehlo.concatenate", rank, parts,
                             export_tensor(exporter, dtype, 1, &size), &attrs);
  export_set_value(
      frame, instr,
      export_value(frame, row->name, 2, operands, export_type(exporter, instr->shape), NULL));
}

/* --- accuracy, random numbers, top-k --- */

/* An f64 attribute, for tolerances. */
static const mlir_attr_t *number(exporter_t *exporter, double value) {
  static const mlir_type_t f64 = {.kind = MLIR_TYPE_FLOAT, .name = {"f64", 3}};
  mlir_attr_t *attr = export_alloc(exporter, 1, sizeof *attr);
  if (attr)
    *attr = (mlir_attr_t){.kind = MLIR_ATTR_FLOAT,
                          .type = &f64,
                          .number = value,
                          .bits = hr_float_encode(HR_F64, value)};
  return attr;
}

/* Unary functions with an optional result accuracy. */
void export_accurate(export_frame_t *frame, const hlo_instr_t *instr, const export_row_t *row) {
  exporter_t *exporter = frame->exporter;
  const hlo_attr_t *found = hlo_attr_find(instr, HLO_ATTR_RESULT_ACCURACY);
  export_attrs_t attrs = {.count = 0};
  export_attrs_t fields = {.count = 0};
  if (found && found->accuracy) {
    const hlo_result_accuracy_t *accuracy = found->accuracy;
    hr_str_t mode = accuracy->has_tolerance ? HR_STR("TOLERANCE") : HR_STR("HIGHEST");
    export_add(exporter, &fields, "atol",
               number(exporter, accuracy->has_tolerance ? accuracy->atol : 0));
    export_add(exporter, &fields, "rtol",
               number(exporter, accuracy->has_tolerance ? accuracy->rtol : 0));
    export_add(exporter, &fields, "ulps",
               export_integer(exporter, accuracy->has_tolerance ? accuracy->ulps : 0, 64));
    export_add(exporter, &fields, "mode", export_enum(exporter, "result_accuracy_mode", mode));
    export_add(exporter, &attrs, "result_accuracy",
               export_struct(exporter, "stablehlo", "result_accuracy", &fields));
  }
  export_plain_op(frame, instr, row, &attrs);
}

/* The sizes of the result become a constant operand. */
void export_rng(export_frame_t *frame, const hlo_instr_t *instr, const export_row_t *row) {
  exporter_t *exporter = frame->exporter;
  const int64_t rank = instr->shape->rank;
  hlo_value_t *sizes = NULL;
  export_attrs_t attrs = {.count = 0};
  if (export_keep(exporter, hlo_value_array(HR_S64, 1, &rank, &sizes))) return;
  for (int d = 0; d < instr->shape->rank; d++) ((int64_t *)sizes->data)[d] = instr->shape->dims[d];
  mlir_value_t *operands[3] = {export_operand(frame, instr, 0), export_operand(frame, instr, 1),
                               export_constant_of(frame, export_elements(exporter, sizes))};
  hlo_value_release(sizes);
  export_row_attrs(exporter, instr, row, &attrs);
  export_set_value(
      frame, instr,
      export_value(frame, row->name, 3, operands, export_type(exporter, instr->shape), &attrs));
}

/* chlo.top_k gives the largest elements; the smallest need a custom call, as in XLA. */
void export_topk(export_frame_t *frame, const hlo_instr_t *instr, const export_row_t *row) {
  exporter_t *exporter = frame->exporter;
  const char *text;
  if (hlo_attr_bool(instr, HLO_ATTR_LARGEST)) {
    export_plain_op(frame, instr, row, NULL);
    return;
  }
  static const export_attr_row_t none = {.kind = EXPORT_END};
  export_row_t call = {"stablehlo.custom_call", NULL, &none};
  export_attrs_t attrs = {.count = 0};
  if (export_keep(exporter,
                  hr_arena_printf(exporter->arena, &text, "{k = %ld : i64, largest = false}",
                                  (long)hlo_attr_int(instr, HLO_ATTR_K))))
    return;
  export_add(exporter, &attrs, "call_target_name", export_string(exporter, HR_STR("mhlo.topk")));
  export_add(exporter, &attrs, "mhlo.attributes", export_parsed(exporter, hr_str_from(text)));
  export_add(exporter, &attrs, "mhlo.version", export_integer(exporter, 1, 64));
  export_plain_op(frame, instr, &call, &attrs);
}
