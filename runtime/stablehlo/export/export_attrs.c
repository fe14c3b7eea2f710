/* Functions that make attributes. Failures are sticky: after the first one all return NULL, which
 * export_add ignores, so that callers need no checks. Also attributes common to several ops:
 * precision, sharding, frontend attributes, and the rows of export.def. */
#include <ctype.h>
#include <string.h>

#include "stablehlo/export/export.h"

/* Omits an attribute that is NULL. */
void export_add(exporter_t *exporter, export_attrs_t *attrs, const char *name,
                const mlir_attr_t *value) {
  if (!exporter->status && value)
    attrs->items[attrs->count++] = (mlir_named_attr_t){hr_str_from(name), value};
}

/* Calls a maker whose last argument is its output. */
#define MAKE(exporter, maker, ...)                                            \
  ({                                                                          \
    const mlir_attr_t *made_ = NULL;                                          \
    if (!(exporter)->status)                                                  \
      export_keep((exporter), maker((exporter)->arena, __VA_ARGS__, &made_)); \
    (exporter)->status ? NULL : made_;                                        \
  })

/* A signless integer attribute of `width` bits. NULL after a failure, as for all functions here:
 * callers check exporter->status once. */
const mlir_attr_t *export_integer(exporter_t *exporter, int64_t value, int width) {
  const mlir_type_t *type = NULL;
  if (exporter->status ||
      export_keep(exporter, mlir_make_integer_type(exporter->arena, width, MLIR_SIGNLESS, &type)))
    return NULL;
  return MAKE(exporter, mlir_make_integer, value, type);
}

/* DenseI64ArrayAttr, in text array<i64: ...>. */
const mlir_attr_t *export_ints(exporter_t *exporter, int64_t count, const int64_t *values) {
  return MAKE(exporter, mlir_make_ints, count, values);
}

/* The text is copied: the tree may outlive the HLO module. */
const mlir_attr_t *export_string(exporter_t *exporter, hr_str_t text) {
  return MAKE(exporter, mlir_make_string, export_text(exporter, text));
}

/* FlatSymbolRefAttr @name; the name is copied. */
const mlir_attr_t *export_symbol(exporter_t *exporter, hr_str_t name) {
  return MAKE(exporter, mlir_make_symbol, export_text(exporter, name));
}

const mlir_attr_t *export_array(exporter_t *exporter, int count, const mlir_attr_t *const *items) {
  return MAKE(exporter, mlir_make_array, count, items);
}

/* An attribute of a dialect with named fields, #dialect.mnemonic<field = value, ...>. Fields that
 * were not added are omitted. */
const mlir_attr_t *export_struct(exporter_t *exporter, const char *dialect, const char *mnemonic,
                                 const export_attrs_t *fields) {
  return MAKE(exporter, mlir_make_struct, hr_str_from(dialect), hr_str_from(mnemonic),
              fields->count, fields->items);
}

/* An enumeration by its word, as #stablehlo<precision HIGH>. */
static const mlir_attr_t *enum_of(exporter_t *exporter, const char *dialect, const char *enum_name,
                                  hr_str_t word) {
  return MAKE(exporter, mlir_make_enum, dialect, enum_name, word);
}

const mlir_attr_t *export_enum(exporter_t *exporter, const char *enum_name, hr_str_t word) {
  return enum_of(exporter, "stablehlo", enum_name, word);
}

static const mlir_attr_t *make_bool(exporter_t *exporter, bool value) {
  return MAKE(exporter, mlir_make_bool, value);
}

/* UnitAttr: presence is its value. */
static const mlir_attr_t *make_unit(exporter_t *exporter) {
  const mlir_attr_t *attr = NULL;
  if (!exporter->status) export_keep(exporter, mlir_make_unit(exporter->arena, &attr));
  return attr;
}

/* The number is rounded to f32, so that value and bits match. */
static const mlir_attr_t *make_f32(exporter_t *exporter, double value) {
  static const mlir_type_t f32 = {.kind = MLIR_TYPE_FLOAT, .name = {"f32", 3}};
  mlir_attr_t *attr = export_alloc(exporter, 1, sizeof *attr);
  if (!attr) return NULL;
  attr->kind = MLIR_ATTR_FLOAT;
  attr->type = &f32;
  attr->bits = hr_float_encode(HR_F32, value);
  attr->number = hr_float_decode(HR_F32, attr->bits);
  return attr;
}

/* --- elements --- */

/* True if all elements are equal: compares each with its successor. */
static bool all_alike(const char *data, int64_t count, size_t each) {
  return count > 1 && memcmp(data, data + each, (size_t)(count - 1) * each) == 0;
}

/* The elements are not copied: the tree retains their buffer. */
const mlir_attr_t *export_elements(exporter_t *exporter, const hlo_value_t *value) {
  const mlir_type_t *type = export_tensor(exporter, value->dtype, value->rank, value->dims);
  mlir_attr_t *attr = export_alloc(exporter, 1, sizeof *attr);
  if (!attr || export_keep(exporter,
                           HR_VEC_RESERVE(&exporter->to->buffers, exporter->to->buffers.count + 1)))
    return NULL;
  if (value->buffer)
    exporter->to->buffers.data[exporter->to->buffers.count++] = hr_buffer_retain(value->buffer);
  attr->kind = MLIR_ATTR_DENSE;
  attr->type = type;
  attr->data = value->data ? value->data : "";
  attr->splat = all_alike(attr->data, value->count, hr_dtype_bytes(value->dtype));
  attr->element_count = attr->splat ? 1 : value->count;
  return attr;
}

/* A dense matrix of i64, row-major. */
const mlir_attr_t *export_matrix(exporter_t *exporter, int64_t rows, int64_t columns,
                                 const int64_t *values) {
  int64_t dims[2] = {rows, columns};
  const mlir_type_t *type = export_tensor(exporter, HR_S64, 2, dims);
  mlir_attr_t *attr = export_alloc(exporter, 1, sizeof *attr);
  void *copy = NULL;
  if (!attr ||
      export_keep(exporter, hr_arena_copy(exporter->arena, values,
                                          (size_t)(rows * columns) * sizeof *values, &copy)))
    return NULL;
  attr->kind = MLIR_ATTR_DENSE;
  attr->type = type;
  attr->data = copy ? copy : "";
  attr->splat = all_alike(attr->data, rows * columns, sizeof *values);
  attr->element_count = attr->splat ? 1 : rows * columns;
  return attr;
}

/* --- attributes in text form --- */

/* Parses a text as an attribute. NULL without a failure if the text is not exactly one
 * attribute. */
const mlir_attr_t *export_parsed(exporter_t *exporter, hr_str_t text) {
  if (exporter->status) return NULL;
  text = export_text(exporter, text);
  hr_source_t source = {"backend_config", text.data, text.size};
  mlir_parser_t parser = {.module = exporter->to, .arena = exporter->arena};
  const mlir_attr_t *attr = NULL;
  mlir_lexer_init(&parser.lexer, &source, exporter->arena);
  hr_status_t st = mlir_lexer_next(&parser.lexer);
  if (!st) st = mlir_parse_attr(&parser, &attr);
  bool whole = !st && mlir_peek(&parser)->kind == MLIR_TOKEN_END && !parser.unresolved.count;
  hr_status_release(st);
  HR_VEC_FREE(&parser.unresolved);
  hr_map_deinit(&parser.attr_aliases);
  hr_map_deinit(&parser.type_aliases);
  hr_map_deinit(&parser.resources);
  return whole ? attr : NULL;
}

/* --- attributes of rows --- */

/* The word of an enumeration's value: upper case, without HLO's prefix "rng_"; "" if StableHLO has
 * none. */
static hr_str_t export_word(exporter_t *exporter, hlo_enum_id_t id, int64_t value) {
  const char *text =
      value >= 0 && value < hlo_enum_table[id].count ? hlo_enum_table[id].texts[value] : "";
  if (!strncmp(text, "rng_", 4)) text += 4;
  hr_str_t word = export_text(exporter, hr_str_from(text));
  for (size_t i = 0; i < word.size; i++)
    ((char *)word.data)[i] = (char)toupper((unsigned char)word.data[i]);
  return word;
}

/* NULL (omitted) if StableHLO has no word. */
static const mlir_attr_t *enum_of_row(exporter_t *exporter, const hlo_instr_t *instr,
                                      const export_attr_row_t *row) {
  hr_str_t word =
      export_word(exporter, hlo_attr_table[row->key].enum_id, hlo_attr_enum(instr, row->key));
  return word.size ? export_enum(exporter, row->enum_name, word) : NULL;
}

/* Only entry of `dimensions`. */
static const mlir_attr_t *dimension_of(exporter_t *exporter, const hlo_instr_t *instr) {
  hr_ints_t dims = hlo_attr_ints(instr, HLO_ATTR_DIMENSIONS);
  if (dims.count == 1) return export_integer(exporter, dims.data[0], 64);
  export_keep(exporter, hlo_error(instr, NULL, "%ld dimensions, want one", (long)dims.count));
  return NULL;
}

/* The attribute of a row, from the instruction's attribute with the row's key; NULL: omitted. */
static const mlir_attr_t *attr_of_row(exporter_t *exporter, const hlo_instr_t *instr,
                                      const export_attr_row_t *row) {
  hr_ints_t ints;
  switch (row->kind) {
    case EXPORT_END:
      break;
    case EXPORT_I64:
    case EXPORT_I32: {
      bool is_enum = hlo_attr_table[row->key].kind == HLO_KIND_ENUM;
      return export_integer(
          exporter, is_enum ? hlo_attr_enum(instr, row->key) : hlo_attr_int(instr, row->key),
          row->kind == EXPORT_I64 ? 64 : 32);
    }
    case EXPORT_F32:
      return make_f32(exporter, hlo_attr_float(instr, row->key));
    case EXPORT_STR:
      return export_string(exporter, hlo_attr_str(instr, row->key));
    case EXPORT_INTS:
      ints = hlo_attr_ints(instr, row->key);
      return export_ints(exporter, ints.count, ints.data);
    case EXPORT_BOOL:
      return make_bool(exporter, hlo_attr_bool(instr, row->key));
    case EXPORT_UNIT:
      return hlo_attr_bool(instr, row->key) ? make_unit(exporter) : NULL;
    case EXPORT_ENUM:
      return enum_of_row(exporter, instr, row);
    case EXPORT_DIM:
      return dimension_of(exporter, instr);
  }
  return NULL;
}

/* Adds the attributes of the op's row in export.def, in the row's order. Absent attributes with a
 * default are NULL and omitted by export_add. */
void export_row_attrs(exporter_t *exporter, const hlo_instr_t *instr, const export_row_t *row,
                      export_attrs_t *attrs) {
  for (const export_attr_row_t *attr = row->attrs; attr->kind != EXPORT_END; attr++)
    export_add(exporter, attrs, attr->name, attr_of_row(exporter, instr, attr));
}

/* Adds precisions, in the enumeration of the operation's dialect. */
void export_add_precision(exporter_t *exporter, const hlo_instr_t *instr, export_attrs_t *attrs) {
  hr_ints_t precision = hlo_attr_ints(instr, HLO_ATTR_OPERAND_PRECISION);
  const mlir_attr_t **items = export_alloc(exporter, (size_t)precision.count, sizeof *items);
  if (!items || !precision.count) return;
  for (int64_t i = 0; i < precision.count; i++)
    items[i] = enum_of(exporter, instr->op == HLO_RAGGED_DOT ? "chlo" : "stablehlo", "precision",
                       export_word(exporter, HLO_ENUM_PRECISION, precision.data[i]));
  export_add(exporter, attrs, "precision_config",
             export_array(exporter, (int)precision.count, items));
}

/* --- attributes of any instruction --- */

/* HLO text for mhlo.sharding. */
const mlir_attr_t *export_sharding(exporter_t *exporter, const hlo_sharding_t *sharding) {
  hr_strbuf_t text;
  hr_strbuf_init(&text);
  hlo_sharding_print(&text, sharding);
  export_keep(exporter, hr_strbuf_finish(&text));
  const mlir_attr_t *attr = export_string(exporter, (hr_str_t){text.data, text.size});
  hr_strbuf_deinit(&text);
  return attr;
}

/* True for frontend attributes of composites and custom calls, which are attributes of StableHLO's
 * ops. */
static bool has_custom_form(hr_str_t name) {
  if (name.size > 10 && !memcmp(name.data, "composite.", 10)) return true;
  for (size_t i = 0; i < export_target_attr_count; i++)
    if (hr_str_is(name, export_target_attrs[i])) return true;
  return false;
}

/* A dictionary of names and texts, sorted by name. */
void export_frontend(exporter_t *exporter, const hlo_name_values_t *list,
                     const export_attrs_t *notes, export_attrs_t *attrs) {
  mlir_named_attr_t *fields =
      export_alloc(exporter, (size_t)(list->count + notes->count), sizeof *fields);
  int count = 0;
  for (int i = 0; fields && i < list->count; i++)
    if (!has_custom_form(list->items[i].name))
      fields[count++] = (mlir_named_attr_t){export_text(exporter, list->items[i].name),
                                            export_string(exporter, list->items[i].value)};
  for (int i = 0; fields && i < notes->count; i++) fields[count++] = notes->items[i];
  if (count)
    export_add(exporter, attrs, "mhlo.frontend_attributes",
               MAKE(exporter, mlir_make_dict, count, fields));
}

/* Discardable attributes mhlo.*. */
void export_extra(exporter_t *exporter, const hlo_instr_t *instr, bool is_awaited,
                  export_attrs_t *attrs) {
  static const hlo_extra_t nothing;
  const hlo_extra_t *extra = instr->extra ? instr->extra : &nothing;
  export_attrs_t notes = {.count = 0};
  export_frontend_attrs(exporter, instr, is_awaited, &notes);
  export_frontend(exporter, &extra->frontend_attributes, &notes, attrs);
  if (extra->sharding)
    export_add(exporter, attrs, "mhlo.sharding", export_sharding(exporter, extra->sharding));
}
