/* Operations, blocks and regions as bytes; the grammar is in bytecode_ir.c. mlir_value_t.mapped
 * holds a value's number plus 1 while its region is written. All values of a region are numbered
 * at its beginning, so that uses before definitions need no special care. Operands of VHLO's ops
 * have types of VHLO, those of foreign ops types of builtin; casts connect them (vhlo_casts.c). */
#include <string.h>

#include "mlir/bytecode/bytecode_writer.h"
#include "mlir/mlir_ops.h"
#include "mlir/mlir_sdy.h"
#include "mlir/text/mlir_print.h"

/* The encoded form of an op, with attributes divided into property blob and dictionary. */
typedef struct op_form {
  const vhlo_row_t *vhlo;       /* NULL: not an op of VHLO */
  const bytecode_op_row_t *row; /* NULL: no properties are known */
  uint32_t name;
  bool has_dict, has_properties;
  uint32_t dict, properties;
} op_form_t;

static hr_status_t write_regions(bytecode_writer_t *writer, hr_strbuf_t *text, const mlir_op_t *op,
                                 size_t next, bool in_vhlo);

/* --- names --- */

/* First row of the op's properties; NULL: none are known. */
static const bytecode_op_row_t *find_row(hr_str_t name) {
  for (int i = 0; i < bytecode_op_row_count; i++)
    if (hr_str_is(name, bytecode_op_rows[i].name)) return &bytecode_op_rows[i];
  return NULL;
}

/* Whether the row has a slot for the attribute. */
static bool lists_attr(const bytecode_op_row_t *row, hr_str_t name) {
  const char *list = row->attrs;
  hr_str_t listed;
  bool optional;
  while (bytecode_next_attr(&list, &listed, &optional))
    if (hr_str_equal(listed, name)) return true;
  return (row->operand_segments && hr_str_is(name, "operandSegmentSizes")) ||
         (row->result_segments && hr_str_is(name, "resultSegmentSizes"));
}

/* The first row of the op that lists all its attributes; if none does, the op's first row. */
static const bytecode_op_row_t *choose_row(const mlir_op_t *op) {
  const bytecode_op_row_t *first = find_row(op->name);
  const bytecode_op_row_t *end = bytecode_op_rows + bytecode_op_row_count;
  for (const bytecode_op_row_t *row = first; row && row < end && hr_str_is(op->name, row->name);
       row++) {
    bool fits = true;
    for (int i = 0; i < op->attr_count; i++) fits &= lists_attr(row, op->attrs[i].name);
    if (fits) return row;
  }
  return first;
}

/* The number of the op's name. A name is registered if a row can decode its properties, or if it
 * has none. */
static hr_status_t number_op(bytecode_writer_t *writer, const mlir_op_t *op, op_form_t *form) {
  const char *key;
  bytecode_name_t name;
  void *known = hr_map_get(&writer->op_numbers, op->name);
  if (known) {
    form->name = (uint32_t)((uintptr_t)known - 1);
    return NULL;
  }
  const char *dot = memchr(op->name.data, '.', op->name.size);
  hr_str_t dialect = {op->name.data, dot ? (size_t)(dot - op->name.data) : 0};
  hr_str_t rest = {op->name.data + dialect.size + (dot != NULL),
                   op->name.size - dialect.size - (dot != NULL)};
  if (form->vhlo) {
    dialect = HR_STR("vhlo");
    rest = hr_str_from(form->vhlo->wire_name);
  }
  bool own =
      hr_str_is(dialect, "stablehlo") || hr_str_is(dialect, "chlo") || hr_str_is(dialect, "func");
  name.registered = form->vhlo || form->row || own || !op->attr_count;
  HR_TRY(bytecode_number_dialect(writer, dialect, &name.dialect));
  HR_TRY(bytecode_number_string(writer, rest, &name.string));
  form->name = (uint32_t)writer->op_names.count;
  HR_VEC_PUSH(&writer->op_names, name);
  HR_TRY(hr_arena_cstr(&writer->arena, op->name, &key));
  return hr_map_put(&writer->op_numbers, hr_str_from(key), (void *)((uintptr_t)form->name + 1),
                    NULL);
}

/* --- attributes --- */

/* All attributes of the row, defaults included. */
static hr_status_t put_vhlo_properties(bytecode_writer_t *writer, const mlir_op_t *op,
                                       const vhlo_row_t *row,
                                       uint32_t numbers[BYTECODE_ATTRS_MAX]) {
  const mlir_attr_t *given[BYTECODE_ATTRS_MAX];
  HR_TRY(vhlo_downgrade_attrs(writer->module, &writer->arena, writer->vhlo, row, op, given));
  for (int i = 0; i < row->attr_count; i++)
    HR_TRY(row->attrs[i].how == VHLO_API
               ? bytecode_number_api(writer, given[i], &numbers[i])
               : bytecode_number_attr(writer, given[i], true, &numbers[i]));
  return NULL;
}

/* Restores the kind name of inherent attributes of sdy ops, which reading has removed. */
static hr_status_t name_sdy(bytecode_writer_t *writer, const mlir_op_t *op, mlir_named_attr_t entry,
                            const mlir_attr_t **out_attr) {
  mlir_sdy_kind_t kind;
  mlir_attr_t *attr;
  const char *text;
  *out_attr = entry.value;
  if (!mlir_sdy_kind_of(op, &entry, &kind)) return NULL;
  HR_TRY(hr_arena_printf(&writer->arena, &text, "%s%.*s%s", kind.prefix,
                         HR_STR_ARGS(entry.value->text), kind.suffix));
  HR_TRY(HR_NEW(&writer->arena, &attr));
  attr->kind = MLIR_ATTR_OPAQUE;
  attr->text = hr_str_from(text);
  *out_attr = attr;
  return NULL;
}

/* Writes all sizes, not the sparse encoding that readers accept if most are 0. */
static hr_status_t put_segments(hr_strbuf_t *text, const mlir_op_t *op, const char *name,
                                int count) {
  const mlir_attr_t *sizes = mlir_op_attr(op, name);
  bool fits = sizes && sizes->kind == MLIR_ATTR_DENSE_ARRAY && sizes->element_count == count &&
              mlir_element_bytes(sizes->type) == 4;
  if (!fits)
    return hr_error(HR_INVALID, "%.*s: %s does not list %d sizes", HR_STR_ARGS(op->name), name,
                    count);
  bytecode_put_var(text, (uint64_t)count << 1);
  for (int i = 0; i < count; i++)
    bytecode_put_var(text, (uint64_t)((const int32_t *)sizes->data)[i]);
  return NULL;
}

/* Attributes in the order of the row, optional ones with a presence bit, then the segments. */
static hr_status_t put_row_properties(bytecode_writer_t *writer, hr_strbuf_t *blob,
                                      const mlir_op_t *op, const bytecode_op_row_t *row) {
  const char *list = row->attrs;
  hr_str_t name;
  bool optional;
  while (bytecode_next_attr(&list, &name, &optional)) {
    char key[64];
    uint32_t number;
    snprintf(key, sizeof key, "%.*s", HR_STR_ARGS(name));
    const mlir_attr_t *value = mlir_op_attr(op, key);
    if (!value && !optional)
      return hr_error(HR_INVALID, "%.*s without its attribute %s", HR_STR_ARGS(op->name), key);
    if (value) HR_TRY(name_sdy(writer, op, (mlir_named_attr_t){name, value}, &value));
    if (value) HR_TRY(bytecode_number_attr(writer, value, false, &number));
    uint64_t index = optional ? (uint64_t)number << 1 | 1 : number;
    bytecode_put_var(blob, value ? index : 0);
  }
  if (row->operand_segments)
    HR_TRY(put_segments(blob, op, "operandSegmentSizes", row->operand_segments));
  return row->result_segments ? put_segments(blob, op, "resultSegmentSizes", row->result_segments)
                              : NULL;
}

/* The properties of an op without a row: a dictionary, as for unregistered ops. */
static hr_status_t put_dict_properties(bytecode_writer_t *writer, hr_strbuf_t *blob,
                                       const mlir_op_t *op) {
  const mlir_attr_t *dict;
  HR_TRY(mlir_make_dict(&writer->arena, op->attr_count, op->attrs, &dict));
  return bytecode_put_attr(writer, blob, dict, false);
}

/* Equal property blobs share a number. */
static hr_status_t number_blob(bytecode_writer_t *writer, const mlir_op_t *op, op_form_t *form) {
  hr_strbuf_t blob;
  hr_status_t st = NULL;
  uint32_t numbers[BYTECODE_ATTRS_MAX];
  hr_strbuf_init(&blob);
  if (form->vhlo) {
    st = put_vhlo_properties(writer, op, form->vhlo, numbers);
    for (int i = 0; !st && i < form->vhlo->attr_count; i++) bytecode_put_var(&blob, numbers[i]);
  } else {
    st = form->row ? put_row_properties(writer, &blob, op, form->row)
                   : put_dict_properties(writer, &blob, op);
  }
  if (!st) st = bytecode_number_bytes(writer, &writer->blobs, 0, true, &blob, &form->properties);
  hr_strbuf_deinit(&blob);
  return st;
}

/* Before version 5 the attributes of VHLO are in the dictionary by their names. */
static hr_status_t number_old_dict(bytecode_writer_t *writer, const mlir_op_t *op,
                                   op_form_t *form) {
  mlir_named_attr_t *fields;
  const mlir_attr_t *given[BYTECODE_ATTRS_MAX], *dict;
  int count = form->vhlo->attr_count;
  HR_TRY(vhlo_downgrade_attrs(writer->module, &writer->arena, writer->vhlo, form->vhlo, op, given));
  HR_TRY(HR_NEW_ARRAY(&writer->arena, count + op->extra_count, &fields));
  for (int i = 0; i < count; i++)
    fields[i] = (mlir_named_attr_t){hr_str_from(form->vhlo->attrs[i].name), given[i]};
  for (int i = 0; i < op->extra_count; i++) fields[count++] = op->extras[i];
  for (int i = 0; i < form->vhlo->attr_count; i++) {
    if (form->vhlo->attrs[i].how != VHLO_API) continue;
    uint32_t number;
    HR_TRY(bytecode_number_api(writer, given[i], &number));
    HR_TRY(bytecode_cache_number(writer, &writer->attrs, given[i], true, number));
  }
  HR_TRY(mlir_make_dict(&writer->arena, count, fields, &dict));
  form->has_dict = count > 0;
  return count ? bytecode_number_mixed_dict(writer, count, dict->fields, &form->dict) : NULL;
}

/* Discardable attributes; before version 5 the inherent ones as well. */
static hr_status_t number_plain_dict(bytecode_writer_t *writer, const mlir_op_t *op,
                                     op_form_t *form) {
  bool all = writer->version < 5;
  int inherent = all ? op->attr_count : 0;
  int count = inherent + op->extra_count;
  mlir_named_attr_t *fields;
  const mlir_attr_t *dict;
  form->has_dict = count > 0;
  if (!count) return NULL;
  HR_TRY(HR_NEW_ARRAY(&writer->arena, count, &fields));
  for (int i = 0; i < inherent; i++) fields[i] = op->attrs[i];
  for (int i = 0; i < op->extra_count; i++) fields[inherent + i] = op->extras[i];
  HR_TRY(mlir_make_dict(&writer->arena, count, fields, &dict));
  return form->vhlo ? bytecode_number_mixed_dict(writer, count, dict->fields, &form->dict)
                    : bytecode_number_attr(writer, dict, false, &form->dict);
}

/* UNSUPPORTED: the op was added in a later version of VHLO. */
static hr_status_t refuse_op(const bytecode_writer_t *writer, const mlir_op_t *op) {
  return hr_error(HR_UNSUPPORTED, "%.*s has no form in version %d.%d of VHLO",
                  HR_STR_ARGS(op->name), writer->vhlo / 100, writer->vhlo % 100);
}

/* Chooses the op's form: its row of VHLO, or the op unchanged. Foreign ops are allowed in
 * artifacts since FOREIGN_OPS. An op of VHLO without attributes is checked for attributes missing
 * in its version. */
static hr_status_t find_form(bytecode_writer_t *writer, const mlir_op_t *op, op_form_t *form) {
  *form = (op_form_t){0};
  if (writer->vhlo && !hr_str_is(op->name, "builtin.module")) {
    form->vhlo = vhlo_find_for(op->name, writer->vhlo);
    bool foreign = writer->vhlo >= VHLO_SINCE_FOREIGN_OPS &&
                   (vhlo_is_foreign(op) || hr_str_is(op->name, VHLO_CAST));
    if (!form->vhlo && !foreign) return refuse_op(writer, op);
  }
  if (!form->vhlo) form->row = choose_row(op);
  if (form->vhlo && !form->vhlo->attr_count)
    HR_TRY(
        vhlo_downgrade_attrs(writer->module, &writer->arena, writer->vhlo, form->vhlo, op, NULL));
  HR_TRY(number_op(writer, op, form));
  if (writer->version < 5)
    return form->vhlo ? number_old_dict(writer, op, form) : number_plain_dict(writer, op, form);
  form->has_properties = form->vhlo  ? form->vhlo->attr_count > 0
                         : form->row ? true
                                     : op->attr_count > 0;
  if (form->has_properties) HR_TRY(number_blob(writer, op, form));
  return number_plain_dict(writer, op, form);
}

/* --- locations --- */

/* Locations are written as text of builtin attributes; without one: unknown. */
static hr_status_t put_location(bytecode_writer_t *writer, hr_strbuf_t *text,
                                const mlir_attr_t *location) {
  static const mlir_attr_t unknown = {.kind = MLIR_ATTR_LOCATION, .text = {"unknown", 7}};
  bool usable = location && location->kind == MLIR_ATTR_LOCATION;
  return bytecode_put_attr(writer, text, usable ? location : &unknown, false);
}

/* --- operations --- */

/* Numbers of the values in their region. */
static hr_status_t put_operands(hr_strbuf_t *text, const mlir_op_t *op) {
  bytecode_put_var(text, (uint64_t)op->operand_count);
  for (int i = 0; i < op->operand_count; i++) {
    uintptr_t number = (uintptr_t)op->operands[i]->mapped;
    if (!number)
      return hr_error(HR_INVALID, "%.*s: operand %d is not visible here", HR_STR_ARGS(op->name), i);
    bytecode_put_var(text, number - 1);
  }
  return NULL;
}

/* The types of the results; their numbers follow from their order. */
static hr_status_t put_results(bytecode_writer_t *writer, hr_strbuf_t *text, const mlir_op_t *op,
                               bool in_vhlo) {
  bytecode_put_var(text, (uint64_t)op->result_count);
  for (int i = 0; i < op->result_count; i++)
    HR_TRY(bytecode_put_type(writer, text, op->results[i].type, in_vhlo));
  return NULL;
}

/* Positions of blocks in the region. */
static hr_status_t put_successors(hr_strbuf_t *text, const mlir_op_t *op) {
  const mlir_region_t *region = op->parent->parent;
  bytecode_put_var(text, (uint64_t)op->successor_count);
  for (int i = 0; i < op->successor_count; i++)
    for (size_t b = 0; b < region->blocks.count; b++)
      if (region->blocks.data[b] == op->successors[i]) bytecode_put_var(text, b);
  return NULL;
}

/* Name, location, mask, then the parts selected by the mask. */
static hr_status_t write_op(bytecode_writer_t *writer, hr_strbuf_t *text, const mlir_op_t *op,
                            size_t next) {
  op_form_t form;
  hr_status_t st = find_form(writer, op, &form);
  if (st) return hr_status_note(st, "while writing %.*s", HR_STR_ARGS(op->name));
  bool in_vhlo = form.vhlo != NULL || (writer->vhlo && vhlo_casts_to_vhlo(op));
  bytecode_put_var(text, form.name);
  bytecode_put_byte(text, (uint8_t)((form.has_dict ? BYTECODE_OP_ATTRS : 0) |
                                    (op->result_count ? BYTECODE_OP_RESULTS : 0) |
                                    (op->operand_count ? BYTECODE_OP_OPERANDS : 0) |
                                    (op->successor_count ? BYTECODE_OP_SUCCESSORS : 0) |
                                    (op->region_count ? BYTECODE_OP_REGIONS : 0) |
                                    (form.has_properties ? BYTECODE_OP_PROPERTIES : 0)));
  HR_TRY(put_location(writer, text, op->location));
  if (form.has_dict) bytecode_put_var(text, form.dict);
  if (form.has_properties) bytecode_put_var(text, form.properties);
  if (op->result_count) HR_TRY(put_results(writer, text, op, in_vhlo));
  if (op->operand_count) HR_TRY(put_operands(text, op));
  if (op->successor_count) HR_TRY(put_successors(text, op));
  return op->region_count ? write_regions(writer, text, op, next, in_vhlo) : NULL;
}

/* --- regions --- */

/* Numbers all values of the region from `first` on; gives the next number. */
static size_t number_values(mlir_region_t *region, size_t first) {
  size_t next = first;
  for (size_t b = 0; b < region->blocks.count; b++) {
    mlir_block_t *block = region->blocks.data[b];
    for (int i = 0; i < block->arg_count; i++) block->args[i].mapped = (void *)(uintptr_t)++next;
    for (size_t k = 0; k < block->ops.count; k++)
      for (int i = 0; i < block->ops.data[k]->result_count; i++)
        block->ops.data[k]->results[i].mapped = (void *)(uintptr_t)++next;
  }
  return next;
}

/* Type and, before version 4, location of each argument; no orders of uses. */
static hr_status_t put_args(bytecode_writer_t *writer, hr_strbuf_t *text, const mlir_block_t *block,
                            bool in_vhlo) {
  bytecode_put_var(text, (uint64_t)block->arg_count);
  for (int i = 0; i < block->arg_count; i++) {
    uint32_t type;
    HR_TRY(bytecode_number_type(writer, block->args[i].type, in_vhlo, &type));
    bytecode_put_var(text, writer->version >= 4 ? (uint64_t)type << 1 : type);
    if (writer->version < 4) HR_TRY(put_location(writer, text, NULL));
  }
  if (writer->version >= 3) bytecode_put_byte(text, 0);
  return NULL;
}

/* The numbers of a nested region continue after those around it; isolated regions start at 0. */
static hr_status_t write_region(bytecode_writer_t *writer, hr_strbuf_t *text, mlir_region_t *region,
                                size_t first, bool in_vhlo) {
  bytecode_put_var(text, region->blocks.count);
  if (!region->blocks.count) return NULL;
  size_t next = number_values(region, first);
  bytecode_put_var(text, next - first);
  for (size_t b = 0; b < region->blocks.count; b++) {
    const mlir_block_t *block = region->blocks.data[b];
    bytecode_put_var(text, block->ops.count << 1 | (block->arg_count > 0));
    if (block->arg_count) HR_TRY(put_args(writer, text, block, in_vhlo));
    for (size_t k = 0; k < block->ops.count; k++)
      HR_TRY(write_op(writer, text, block->ops.data[k], next));
  }
  return NULL;
}

/* All regions of an op begin with the same number. */
static hr_status_t write_all_regions(bytecode_writer_t *writer, hr_strbuf_t *text,
                                     const mlir_op_t *op, size_t next, bool in_vhlo) {
  for (int i = 0; i < op->region_count; i++)
    HR_TRY(write_region(writer, text, op->regions[i], next, in_vhlo));
  return NULL;
}

/* From version 2 on, the regions of isolated ops are in a nested section. */
static hr_status_t write_regions(bytecode_writer_t *writer, hr_strbuf_t *text, const mlir_op_t *op,
                                 size_t next, bool in_vhlo) {
  bool isolated = mlir_op_is_isolated(op->name);
  if (++writer->depth > BYTECODE_WRITE_MAX_DEPTH)
    return hr_error(HR_UNSUPPORTED, "regions nested more than %d levels deep",
                    BYTECODE_WRITE_MAX_DEPTH);
  bytecode_put_var(text, (uint64_t)op->region_count << 1 | isolated);
  hr_status_t st;
  if (!isolated || writer->version < 2) {
    st = write_all_regions(writer, text, op, isolated ? 0 : next, in_vhlo);
  } else {
    hr_strbuf_t section;
    hr_strbuf_init(&section);
    st = write_all_regions(writer, &section, op, 0, in_vhlo);
    bytecode_put_byte(text, BYTECODE_IR);
    bytecode_put_var(text, section.size);
    hr_strbuf_add(text, section.data ? section.data : "", section.size);
    if (!st) st = hr_strbuf_finish(&section);
    hr_strbuf_deinit(&section);
  }
  writer->depth--;
  return st;
}

/* The header of a block with one op and no arguments. */
hr_status_t bytecode_write_ir(bytecode_writer_t *writer, hr_strbuf_t *text) {
  bytecode_put_var(text, 2); /* one op, no arguments */
  return write_op(writer, text, writer->module->op, 0);
}
