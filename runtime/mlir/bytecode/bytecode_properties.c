/* Attributes of operations. Since version 5 inherent attributes are in property blobs, without
 * names: the op's row gives the order (vhlo.def, bytecode_ops.def). An op whose properties have
 * changed over time has several rows, distinguished by the number of entries. Before version 5 all
 * attributes are in the dictionary. */
#include <string.h>

#include "mlir/bytecode/bytecode_reader.h"
#include "mlir/mlir_ops.h"

/* --- VHLO: all attributes are present --- */

/* VHLO writes every attribute of the row. */
static hr_status_t decode_vhlo(bytecode_reader_t *reader, bytecode_cursor_t *cursor,
                               const vhlo_row_t *row, bytecode_attrs_t *attrs) {
  const mlir_attr_t *given[BYTECODE_ATTRS_MAX];
  for (int i = 0; i < row->attr_count; i++) HR_TRY(bytecode_take_attr(reader, cursor, &given[i]));
  return vhlo_upgrade_attrs(reader->module, reader->arena, row, given, &attrs->count,
                            &attrs->attrs);
}

/* --- the operations of bytecode_ops.def --- */

/* Number of names in a row's list. */
static int list_length(const char *list) {
  int count = 0;
  hr_str_t name;
  bool optional;
  while (bytecode_next_attr(&list, &name, &optional)) count++;
  return count;
}

/* Counts the entries of a blob without segments: each is one number. */
static hr_status_t count_numbers(bytecode_reader_t *reader, bytecode_cursor_t cursor,
                                 int *out_count) {
  uint64_t number;
  for (*out_count = 0; bytecode_left(&cursor); ++*out_count)
    HR_TRY(bytecode_take_var(reader, &cursor, &number));
  return NULL;
}

/* The row of this op with as many attributes as the blob has entries; ops with segments have one
 * row. */
static hr_status_t choose_row(bytecode_reader_t *reader, const bytecode_cursor_t *cursor,
                              const bytecode_op_name_t *name, const bytecode_op_row_t **out_row) {
  int count;
  const bytecode_op_row_t *end = bytecode_op_rows + bytecode_op_row_count;
  *out_row = name->row;
  if (name->row->operand_segments || name->row->result_segments) return NULL;
  HR_TRY(count_numbers(reader, *cursor, &count));
  for (const bytecode_op_row_t *row = name->row; row < end && !strcmp(row->name, name->row->name);
       row++) {
    *out_row = row;
    if (list_length(row->attrs) == count) return NULL;
  }
  return bytecode_error(reader, cursor, "%.*s with %d properties, which no version of it has",
                        HR_STR_ARGS(name->name), count);
}

/* Reads the index of an attribute; the lowest bit of an optional one tells whether it is
 * present. */
static hr_status_t take_row_attr(bytecode_reader_t *reader, bytecode_cursor_t *cursor,
                                 bool optional, const mlir_attr_t **out_attr) {
  uint64_t index;
  *out_attr = NULL;
  HR_TRY(bytecode_take_var(reader, cursor, &index));
  if (optional && !(index & 1)) return NULL;
  return bytecode_attr_at(reader, cursor, optional ? index >> 1 : index, out_attr);
}

/* Reads a segment sizes attribute: either one size each, or, if most sizes are 0, numbers with the
 * index in the lowest `bits` bits and the size above. */
static hr_status_t take_segments(bytecode_reader_t *reader, bytecode_cursor_t *cursor, int count,
                                 const mlir_attr_t **out_attr) {
  static const mlir_type_t i32 = {.kind = MLIR_TYPE_INTEGER, .width = 32};
  int32_t *sizes;
  mlir_attr_t *attr;
  uint64_t header, bits = 0;
  HR_TRY(bytecode_take_var(reader, cursor, &header));
  HR_TRY(HR_NEW_ARRAY(reader->arena, count, &sizes));
  uint64_t given = header >> 1;
  if (given > (uint64_t)count)
    return bytecode_error(reader, cursor, "%lu segments, want %d", (unsigned long)given, count);
  if (header & 1) HR_TRY(bytecode_take_var(reader, cursor, &bits));
  if (bits > 8)
    return bytecode_error(reader, cursor, "segments numbered by %lu bits", (unsigned long)bits);
  for (uint64_t i = 0; i < given; i++) {
    uint64_t number;
    HR_TRY(bytecode_take_var(reader, cursor, &number));
    uint64_t slot = header & 1 ? number & ((UINT64_C(1) << bits) - 1) : i;
    if (slot >= (uint64_t)count || number >> bits > INT32_MAX)
      return bytecode_error(reader, cursor, "a segment that cannot be");
    sizes[slot] = (int32_t)(number >> bits);
  }
  HR_TRY(HR_NEW(reader->arena, &attr));
  *attr = (mlir_attr_t){
      .kind = MLIR_ATTR_DENSE_ARRAY, .type = &i32, .data = sizes, .element_count = count};
  *out_attr = attr;
  return NULL;
}

/* Attributes in the order of the row, then the segments. */
static hr_status_t decode_row(bytecode_reader_t *reader, bytecode_cursor_t *cursor,
                              const bytecode_op_row_t *row, bytecode_attrs_t *attrs) {
  mlir_named_attr_t fields[BYTECODE_ATTRS_MAX];
  const char *list = row->attrs;
  hr_str_t name;
  bool optional;
  int count = 0;
  while (bytecode_next_attr(&list, &name, &optional)) {
    const mlir_attr_t *value;
    HR_TRY(take_row_attr(reader, cursor, optional, &value));
    if (value) fields[count++] = (mlir_named_attr_t){name, value};
  }
  if (row->operand_segments) {
    fields[count].name = HR_STR("operandSegmentSizes");
    HR_TRY(take_segments(reader, cursor, row->operand_segments, &fields[count++].value));
  }
  if (row->result_segments) {
    fields[count].name = HR_STR("resultSegmentSizes");
    HR_TRY(take_segments(reader, cursor, row->result_segments, &fields[count++].value));
  }
  const mlir_attr_t *sorted;
  HR_TRY(mlir_make_dict(reader->arena, count, fields, &sorted));
  attrs->attrs = sorted->fields;
  attrs->count = count;
  return NULL;
}

/* An op unknown to its writer has one entry: a dictionary. */
static hr_status_t decode_unregistered(bytecode_reader_t *reader, bytecode_cursor_t *cursor,
                                       bytecode_attrs_t *attrs) {
  const mlir_attr_t *dict;
  HR_TRY(bytecode_take_attr(reader, cursor, &dict));
  if (dict->kind != MLIR_ATTR_DICT)
    return bytecode_error(reader, cursor, "want a dictionary of properties");
  attrs->attrs = dict->fields;
  attrs->count = dict->count;
  return NULL;
}

/* Decodes by the kind of op: VHLO, unregistered, or a row of bytecode_ops.def. */
static hr_status_t decode_blob(bytecode_reader_t *reader, bytecode_cursor_t *cursor,
                               const bytecode_op_name_t *name, bytecode_attrs_t *attrs) {
  const bytecode_op_row_t *row;
  if (name->vhlo) return decode_vhlo(reader, cursor, name->vhlo, attrs);
  if (!name->registered) return decode_unregistered(reader, cursor, attrs);
  if (!name->row)
    return bytecode_error(reader, cursor, "the properties of %.*s are not known",
                          HR_STR_ARGS(name->name));
  HR_TRY(choose_row(reader, cursor, name, &row));
  return decode_row(reader, cursor, row, attrs);
}

/* A blob shared by ops is decoded once; the cache holds the result for the last op name. Each
 * decoding is charged to the budget, as ops of different names could alternate. */
hr_status_t bytecode_take_properties(bytecode_reader_t *reader, bytecode_cursor_t *cursor,
                                     const bytecode_op_name_t *name, mlir_op_t *op) {
  uint64_t index;
  HR_TRY(bytecode_take_var(reader, cursor, &index));
  if (index >= reader->blob_count)
    return bytecode_error(reader, cursor, "properties %lu of %zu", (unsigned long)index,
                          reader->blob_count);
  bytecode_blob_t *blob = &reader->blobs[index];
  if (blob->decoded.of != name) {
    bytecode_cursor_t bytes = blob->bytes;
    HR_TRY(bytecode_charge(reader, BYTECODE_ATTRS_MAX / 2));
    blob->decoded = (bytecode_attrs_t){.of = NULL};
    HR_TRY(decode_blob(reader, &bytes, name, &blob->decoded));
    if (bytecode_left(&bytes))
      return bytecode_error(reader, &bytes, "properties of %.*s that are too long",
                            HR_STR_ARGS(name->name));
    blob->decoded.of = name;
  }
  op->attrs = blob->decoded.attrs;
  op->attr_count = blob->decoded.count;
  return NULL;
}

/* --- dictionaries --- */

/* Entries named by the row are inherent, all others discardable. */
static hr_status_t add_vhlo_dict(bytecode_reader_t *reader, const vhlo_row_t *row,
                                 const mlir_attr_t *dict, mlir_op_t *op) {
  const mlir_attr_t *given[BYTECODE_ATTRS_MAX];
  mlir_named_attr_t *extras;
  HR_TRY(HR_NEW_ARRAY(reader->arena, dict->count, &extras));
  for (int i = 0; i < row->attr_count; i++) given[i] = mlir_attr_field(dict, row->attrs[i].name);
  for (int k = 0; k < dict->count; k++) {
    bool own = false;
    for (int i = 0; i < row->attr_count; i++)
      own |=
          given[i] == dict->fields[k].value && hr_str_is(dict->fields[k].name, row->attrs[i].name);
    if (!own) extras[op->extra_count++] = dict->fields[k];
  }
  op->extras = extras;
  return vhlo_upgrade_attrs(reader->module, reader->arena, row, given, &op->attr_count, &op->attrs);
}

/* True if any name has no dot. */
static bool has_plain_names(const mlir_attr_t *dict) {
  for (int i = 0; i < dict->count; i++)
    if (!memchr(dict->fields[i].name.data, '.', dict->fields[i].name.size)) return true;
  return false;
}

/* Names with a dot belong to other dialects and are discardable. For ops of other dialects than
 * VHLO, names without a dot are inherent. */
hr_status_t bytecode_add_dict(bytecode_reader_t *reader, const bytecode_cursor_t *cursor,
                              const bytecode_op_name_t *name, const mlir_attr_t *dict,
                              mlir_op_t *op) {
  if (dict->kind != MLIR_ATTR_DICT)
    return bytecode_error(reader, cursor, "want a dictionary of attributes");
  if (name->vhlo && reader->version < 5) {
    HR_TRY(bytecode_charge(reader, (uint64_t)dict->count + BYTECODE_ATTRS_MAX / 2));
    return add_vhlo_dict(reader, name->vhlo, dict, op);
  }
  if (name->vhlo || !has_plain_names(dict)) {
    op->extras = dict->fields;
    op->extra_count = dict->count;
    return NULL;
  }
  mlir_parser_t parser = {.module = reader->module, .arena = reader->arena};
  const mlir_attr_t given = {.kind = MLIR_ATTR_DICT, .count = op->attr_count, .fields = op->attrs};
  HR_TRY(bytecode_charge(reader, (uint64_t)dict->count + (uint64_t)op->attr_count));
  op->extra_count = 0;
  return mlir_set_attrs(&parser, op, &given, dict);
}
