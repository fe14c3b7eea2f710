/* Ops of the tree and the values of instructions. An instruction corresponds to a list of values,
 * one per leaf of its shape. */
#include <string.h>

#include "stablehlo/export/export.h"

/* Attributes of a dialect ("mhlo.sharding") are discardable, plain names inherent. */
void export_add_to_op(exporter_t *exporter, mlir_op_t *op, const export_attrs_t *attrs) {
  mlir_named_attr_t lists[2][2 * EXPORT_MAX_ATTRS];
  int counts[2] = {0, 0};
  const mlir_attr_t *sorted[2];
  for (int i = 0; i < op->attr_count; i++) lists[0][counts[0]++] = op->attrs[i];
  for (int i = 0; i < op->extra_count; i++) lists[1][counts[1]++] = op->extras[i];
  for (int i = 0; i < attrs->count; i++) {
    bool discardable = memchr(attrs->items[i].name.data, '.', attrs->items[i].name.size) != NULL;
    lists[discardable][counts[discardable]++] = attrs->items[i];
  }
  for (int i = 0; i < 2; i++)
    if (export_keep(exporter, mlir_make_dict(exporter->arena, counts[i], lists[i], &sorted[i])))
      return;
  op->attrs = sorted[0]->fields;
  op->attr_count = sorted[0]->count;
  op->extras = sorted[1]->fields;
  op->extra_count = sorted[1]->count;
}

/* Appends a new op with operands, results and attributes to the block. */
mlir_op_t *export_op(export_frame_t *frame, const char *name, int operand_count,
                     mlir_value_t *const *operands, int result_count,
                     const mlir_type_t *const *types, const export_attrs_t *attrs) {
  exporter_t *exporter = frame->exporter;
  mlir_op_t *op = export_alloc(exporter, 1, sizeof *op);
  mlir_value_t **uses = export_alloc(exporter, (size_t)operand_count, sizeof *uses);
  mlir_value_t *results = export_alloc(exporter, (size_t)result_count, sizeof *results);
  if (exporter->status) return NULL;
  if (++exporter->op_count > exporter->most_ops && exporter->instr &&
      export_error(frame, exporter->instr,
                   "the program is too large with what it calls written out"))
    return NULL;
  for (int k = 0; k < operand_count; k++) {
    uses[k] = operands[k];
    if (!uses[k] && exporter->instr &&
        export_error(frame, exporter->instr, "it uses a part of a start that only its done gives"))
      return NULL;
  }
  for (int i = 0; i < result_count; i++)
    results[i] = (mlir_value_t){.type = types[i], .owner = op, .index = i};
  *op = (mlir_op_t){.name = hr_str_from(name),
                    .operand_count = operand_count,
                    .result_count = result_count,
                    .operands = uses,
                    .results = results,
                    .location = export_location(exporter, exporter->instr),
                    .line = exporter->instr ? exporter->instr->line : 0,
                    .column = exporter->instr ? exporter->instr->column : 0};
  if (attrs && attrs->count) export_add_to_op(exporter, op, attrs);
  return export_keep(exporter, mlir_block_add_op(frame->block, op)) ? NULL : op;
}

/* Appends an op with one result, which it returns; NULL after a failure. */
mlir_value_t *export_value(export_frame_t *frame, const char *name, int operand_count,
                           mlir_value_t *const *operands, const mlir_type_t *type,
                           const export_attrs_t *attrs) {
  mlir_op_t *op = export_op(frame, name, operand_count, operands, 1, &type, attrs);
  return op ? op->results : NULL;
}

/* Reshapes, or returns x if nothing changes. */
mlir_value_t *export_reshape(export_frame_t *frame, mlir_value_t *x, int rank,
                             const int64_t *dims) {
  mlir_type_t *type = export_alloc(frame->exporter, 1, sizeof *type);
  int64_t *copy = export_alloc(frame->exporter, (size_t)rank, sizeof *copy);
  if (export_failed(frame) || !x) return NULL;
  for (int d = 0; d < rank; d++) copy[d] = dims[d];
  *type = (mlir_type_t){
      .kind = MLIR_TYPE_TENSOR, .element = x->type->element, .rank = rank, .dims = copy};
  return mlir_type_equal(type, x->type)
             ? x
             : export_value(frame, "stablehlo.reshape", 1, &x, type, NULL);
}

mlir_value_t *export_constant_of(export_frame_t *frame, const mlir_attr_t *value) {
  export_attrs_t attrs = {.count = 0};
  export_add(frame->exporter, &attrs, "value", value);
  return value ? export_value(frame, "stablehlo.constant", 0, NULL, value->type, &attrs) : NULL;
}

/* Values of an operand's leaves. The arrays are in the arena and may be shared between
 * instructions, so they must not be modified. */
export_values_t export_leaves(export_frame_t *frame, const hlo_instr_t *instr, int k) {
  if (export_failed(frame)) return (export_values_t){0, NULL};
  return frame->values[instr->operands[k]->id];
}

/* Values of all operands. */
export_values_t export_operands(export_frame_t *frame, const hlo_instr_t *instr) {
  export_values_t all = {0, NULL};
  for (int k = 0; k < instr->operand_count; k++) all.count += export_leaves(frame, instr, k).count;
  all.items = export_alloc(frame->exporter, (size_t)all.count, sizeof *all.items);
  if (!all.items) return (export_values_t){0, NULL};
  for (int k = 0, at = 0; k < instr->operand_count; k++) {
    export_values_t leaves = export_leaves(frame, instr, k);
    for (int i = 0; i < leaves.count; i++) all.items[at++] = leaves.items[i];
  }
  return all;
}

/* The only value of an operand; another number of leaves is an error in the op's export
 * function. */
mlir_value_t *export_operand(export_frame_t *frame, const hlo_instr_t *instr, int k) {
  export_values_t leaves = export_leaves(frame, instr, k);
  if (leaves.count == 1) return leaves.items[0];
  if (!export_failed(frame)) export_error(frame, instr, "operand %d is a tuple", k);
  return NULL;
}

/* Binds the values to the instruction, for its users. Each instruction is bound once. */
void export_set(export_frame_t *frame, const hlo_instr_t *instr, export_values_t values) {
  if (!export_failed(frame)) frame->values[instr->id] = values;
}

/* Like export_set, for a result that is not a tuple. */
void export_set_value(export_frame_t *frame, const hlo_instr_t *instr, mlir_value_t *value) {
  mlir_value_t **items = export_alloc(frame->exporter, 1, sizeof *items);
  if (!items) return;
  items[0] = value;
  export_set(frame, instr, (export_values_t){1, items});
}

/* Like export_set: the results of the op are the leaves, in order. */
void export_set_results(export_frame_t *frame, const hlo_instr_t *instr, mlir_op_t *op) {
  mlir_value_t **items =
      op ? export_alloc(frame->exporter, (size_t)op->result_count, sizeof *items) : NULL;
  if (!items) return;
  for (int i = 0; i < op->result_count; i++) items[i] = &op->results[i];
  export_set(frame, instr, (export_values_t){op->result_count, items});
}

/* For rows of export.def: an op with the same operands, and attributes by the row. */
mlir_op_t *export_plain_op(export_frame_t *frame, const hlo_instr_t *instr, const export_row_t *row,
                           const export_attrs_t *attrs) {
  export_attrs_t all = {.count = 0};
  if (attrs) all = *attrs;
  export_row_attrs(frame->exporter, instr, row, &all);
  export_values_t operands = export_operands(frame, instr);
  export_types_t types = export_leaf_types(frame->exporter, instr->shape);
  mlir_op_t *op =
      export_op(frame, row->name, operands.count, operands.items, types.count, types.items, &all);
  export_set_results(frame, instr, op);
  return op;
}
