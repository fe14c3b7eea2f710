/* Attributes and types of the file's tables: found by index and decoded once, by the function of
 * their dialect or by the parser of text.
 * An entry may refer to others, and to the same one several times. The tree shares decoded
 * entries, but printers and comparisons walk it, so that a small file could describe a walk of
 * exponential length: (a a), with a = (b b), b = (c c), ... Hence each entry has a weight, the
 * number of its nodes with shared ones counted each time; the weight is bounded by the size of the
 * file. An entry that contains itself is refused. */
#include <string.h>

#include "mlir/bytecode/bytecode_reader.h"
#include "mlir/text/mlir_parser.h"

static const struct {
  const char *name;
  bytecode_attr_fn attr;
  bytecode_type_fn type;
} decoders[] = {
    {"builtin", bytecode_builtin_attr, bytecode_builtin_type},
    {"vhlo", bytecode_vhlo_attr, bytecode_vhlo_type},
    {"stablehlo", bytecode_stablehlo_attr, bytecode_stablehlo_type},
    {"mhlo", bytecode_mhlo_attr, bytecode_stablehlo_type},
    {"chlo", bytecode_chlo_attr, NULL},
    {"sdy", bytecode_sdy_attr, NULL},
    {"quant", NULL, bytecode_quant_type},
};

/* --- entries as text --- */

/* The whole text must have been parsed. Attributes that name a resource get its elements here. */
static hr_status_t finish_text(bytecode_reader_t *reader, mlir_parser_t *parser) {
  if (mlir_peek(parser)->kind != MLIR_TOKEN_END)
    return mlir_expected(parser, "the end of the text");
  for (size_t i = 0; i < parser->unresolved.count; i++) {
    mlir_attr_t *attr = parser->unresolved.data[i];
    for (size_t k = 0; k < reader->resources.count; k++) {
      const bytecode_resource_t *resource = &reader->resources.data[k];
      if (resource->bytes && hr_str_equal(resource->key, attr->resource))
        return mlir_dense_from_bytes(reader->arena, attr->type, resource->bytes, resource->size,
                                     attr);
    }
  }
  return NULL;
}

/* An entry in MLIR text, which writers use for dialects without an encoding. */
static hr_status_t parse_text(bytecode_reader_t *reader, const bytecode_entry_t *entry,
                              bool is_type, const void **out_value) {
  mlir_parser_t parser = {.module = reader->module, .arena = reader->arena};
  hr_source_t *source;
  size_t size = entry->size && !entry->bytes[entry->size - 1] ? entry->size - 1 : entry->size;
  const mlir_type_t *type = NULL;
  const mlir_attr_t *attr = NULL;
  HR_TRY(HR_NEW(reader->arena, &source));
  *source = (hr_source_t){reader->module->source.path, (const char *)entry->bytes, size};
  mlir_lexer_init(&parser.lexer, source, reader->arena);
  hr_status_t st = mlir_lexer_next(&parser.lexer);
  if (!st) st = is_type ? mlir_parse_type(&parser, &type) : mlir_parse_attr(&parser, &attr);
  if (!st) st = finish_text(reader, &parser);
  HR_VEC_FREE(&parser.unresolved);
  hr_map_deinit(&parser.attr_aliases);
  hr_map_deinit(&parser.type_aliases);
  HR_VEC_FREE(&parser.location_aliases);
  hr_map_deinit(&parser.resources);
  *out_value = is_type ? (const void *)type : (const void *)attr;
  return hr_status_note(st, "in an %s that the bytecode keeps as text",
                        is_type ? "type" : "attribute");
}

/* --- entries as bytes --- */

/* Decodes by the dialect's function, which must use up all bytes of the entry. */
static hr_status_t decode_binary(bytecode_reader_t *reader, const bytecode_entry_t *entry,
                                 bool is_type, const void **out_value) {
  bytecode_cursor_t cursor = {entry->bytes, entry->bytes + entry->size};
  hr_str_t dialect = reader->dialects[entry->dialect];
  uint64_t code;
  HR_TRY(bytecode_take_var(reader, &cursor, &code));
  for (size_t i = 0; i < sizeof decoders / sizeof *decoders; i++) {
    if (!hr_str_is(dialect, decoders[i].name)) continue;
    if (is_type ? !decoders[i].type : !decoders[i].attr) break;
    const mlir_type_t *type = NULL;
    const mlir_attr_t *attr = NULL;
    HR_TRY(is_type ? decoders[i].type(reader, &cursor, code, &type)
                   : decoders[i].attr(reader, &cursor, code, &attr));
    *out_value = is_type ? (const void *)type : (const void *)attr;
    if (bytecode_left(&cursor))
      return bytecode_error(reader, &cursor, "%zu bytes too many", bytecode_left(&cursor));
    return NULL;
  }
  return bytecode_error(reader, &cursor, "the encoding of dialect %.*s is not known",
                        HR_STR_ARGS(dialect));
}

/* Decodes an entry and computes its weight: entries used by it add their weights to
 * reader->weight. */
static hr_status_t decode(bytecode_reader_t *reader, bytecode_entry_t *entry, bool is_type) {
  const bytecode_cursor_t cursor = {entry->bytes, entry->bytes + entry->size};
  uint32_t outer = reader->weight;
  HR_TRY(bytecode_enter(reader, &cursor));
  entry->is_decoding = true;
  reader->weight = 1;
  reader->decoding++;
  hr_status_t st = entry->binary ? decode_binary(reader, entry, is_type, &entry->value)
                                 : parse_text(reader, entry, is_type, &entry->value);
  entry->weight = reader->weight;
  entry->is_decoding = false;
  reader->decoding--;
  reader->weight = outer;
  bytecode_leave(reader);
  return st;
}

/* True if an entry has more nodes than the file has bytes, plus some slack for small files. */
static bool too_heavy(const bytecode_reader_t *reader, uint64_t weight) {
  return weight > (1 << 16) + (uint64_t)(reader->end - reader->start) || weight > 1u << 30;
}

/* An entry by its index, decoded on first use. Its weight is added to that of the entry being
 * decoded, if any. */
static hr_status_t entry_at(bytecode_reader_t *reader, const bytecode_table_t *table, bool is_type,
                            const bytecode_cursor_t *cursor, uint64_t index,
                            const void **out_value) {
  if (index >= table->count)
    return bytecode_error(reader, cursor, "%s %lu of %zu", is_type ? "type" : "attribute",
                          (unsigned long)index, table->count);
  bytecode_entry_t *entry = &table->entries[index];
  if (entry->is_decoding)
    return bytecode_error(reader, cursor, "%s %lu holds itself", is_type ? "type" : "attribute",
                          (unsigned long)index);
  if (!entry->value) {
    hr_status_t st = decode(reader, entry, is_type);
    if (st)
      return hr_status_note(st, "in %s %lu", is_type ? "type" : "attribute", (unsigned long)index);
  }
  if (too_heavy(reader, (reader->decoding ? (uint64_t)reader->weight : 0) + entry->weight))
    return bytecode_error(reader, cursor, "%s %lu is too large", is_type ? "type" : "attribute",
                          (unsigned long)index);
  if (reader->decoding) reader->weight += entry->weight;
  *out_value = entry->value;
  return NULL;
}

/* Decodes on first use; cost after that O(1). An entry that contains itself is refused. */
hr_status_t bytecode_attr_at(bytecode_reader_t *reader, const bytecode_cursor_t *cursor,
                             uint64_t index, const mlir_attr_t **out_attr) {
  return entry_at(reader, &reader->attrs, false, cursor, index, (const void **)out_attr);
}

/* As bytecode_attr_at, for the table of types. */
hr_status_t bytecode_type_at(bytecode_reader_t *reader, const bytecode_cursor_t *cursor,
                             uint64_t index, const mlir_type_t **out_type) {
  return entry_at(reader, &reader->types, true, cursor, index, (const void **)out_type);
}

hr_status_t bytecode_take_attr(bytecode_reader_t *reader, bytecode_cursor_t *cursor,
                               const mlir_attr_t **out_attr) {
  uint64_t index;
  HR_TRY(bytecode_take_var(reader, cursor, &index));
  return bytecode_attr_at(reader, cursor, index, out_attr);
}

hr_status_t bytecode_take_type(bytecode_reader_t *reader, bytecode_cursor_t *cursor,
                               const mlir_type_t **out_type) {
  uint64_t index;
  HR_TRY(bytecode_take_var(reader, cursor, &index));
  return bytecode_type_at(reader, cursor, index, out_type);
}

/* attributes := var count, var index... */
hr_status_t bytecode_take_attrs(bytecode_reader_t *reader, bytecode_cursor_t *cursor,
                                int *out_count, const mlir_attr_t ***out_attrs) {
  HR_TRY(bytecode_take_count(reader, cursor, out_count));
  HR_TRY(HR_NEW_ARRAY(reader->arena, *out_count, out_attrs));
  for (int i = 0; i < *out_count; i++) HR_TRY(bytecode_take_attr(reader, cursor, &(*out_attrs)[i]));
  return NULL;
}

/* types := var count, var index... */
hr_status_t bytecode_take_types(bytecode_reader_t *reader, bytecode_cursor_t *cursor,
                                int *out_count, const mlir_type_t *const **out_types) {
  const mlir_type_t **types;
  HR_TRY(bytecode_take_count(reader, cursor, out_count));
  HR_TRY(HR_NEW_ARRAY(reader->arena, *out_count, &types));
  for (int i = 0; i < *out_count; i++) HR_TRY(bytecode_take_type(reader, cursor, &types[i]));
  *out_types = types;
  return NULL;
}
