/* Enumerations and structures, by the rows of bytecode_attrs.def, and the attributes of VHLO,
 * which become their StableHLO counterparts (vhlo_upgrade.c converts names and defaults). */
#include <string.h>

#include "mlir/bytecode/bytecode_reader.h"
#include "mlir/text/mlir_parser.h"

/* Word of an enumeration's number; a number without a word is an error. */
static hr_status_t bytecode_take_enum(bytecode_reader_t *reader, bytecode_cursor_t *cursor,
                                      const char *dialect, const bytecode_enum_t *row,
                                      const mlir_attr_t **out_attr) {
  uint64_t number;
  HR_TRY(bytecode_take_var(reader, cursor, &number));
  if (number >= sizeof row->words / sizeof *row->words || !row->words[number])
    return bytecode_error(reader, cursor, "%s %lu does not exist", row->name,
                          (unsigned long)number);
  return mlir_make_enum(reader->arena, dialect, row->name, hr_str_from(row->words[number]),
                        out_attr);
}

/* A double by its bits. */
static hr_status_t take_f64_attr(bytecode_reader_t *reader, bytecode_cursor_t *cursor,
                                 const mlir_attr_t **out_attr) {
  static const mlir_type_t f64 = {.kind = MLIR_TYPE_FLOAT, .name = {"f64", 3}};
  mlir_attr_t *attr;
  HR_TRY(HR_NEW(reader->arena, &attr));
  attr->kind = MLIR_ATTR_FLOAT;
  HR_TRY(bytecode_take_f64(reader, cursor, &attr->number));
  attr->type = &f64;
  memcpy(&attr->bits, &attr->number, sizeof attr->bits);
  *out_attr = attr;
  return NULL;
}

/* A signed number as an i64 attribute. */
static hr_status_t take_int_field(bytecode_reader_t *reader, bytecode_cursor_t *cursor,
                                  const mlir_attr_t **out_attr) {
  int64_t value;
  HR_TRY(bytecode_take_svar(reader, cursor, &value));
  return mlir_make_i64(reader->arena, value, out_attr);
}

/* A byte; nonzero is true. */
static hr_status_t take_bool_field(bytecode_reader_t *reader, bytecode_cursor_t *cursor,
                                   const mlir_attr_t **out_attr) {
  uint8_t byte;
  HR_TRY(bytecode_take_byte(reader, cursor, &byte));
  return mlir_make_bool(reader->arena, byte != 0, out_attr);
}

/* A list of signed numbers as array<i64>. */
static hr_status_t take_ints_field(bytecode_reader_t *reader, bytecode_cursor_t *cursor,
                                   const mlir_attr_t **out_attr) {
  hr_ints_t ints;
  HR_TRY(bytecode_take_ints(reader, cursor, &ints));
  return mlir_make_ints(reader->arena, ints.count, ints.data, out_attr);
}

/* 0, or 1 and an attribute; *out_attr is NULL if it is 0. */
static hr_status_t take_maybe_field(bytecode_reader_t *reader, bytecode_cursor_t *cursor,
                                    const mlir_attr_t **out_attr) {
  uint64_t present;
  *out_attr = NULL;
  HR_TRY(bytecode_take_var(reader, cursor, &present));
  return present ? bytecode_take_attr(reader, cursor, out_attr) : NULL;
}

/* Reads a field of any kind. */
static hr_status_t take_field(bytecode_reader_t *reader, bytecode_cursor_t *cursor,
                              bytecode_field_kind_t kind, const mlir_attr_t **out_attr) {
  switch (kind) {
    case BYTECODE_INT:
      return take_int_field(reader, cursor, out_attr);
    case BYTECODE_INTS:
    case BYTECODE_NEW_INTS:
      return take_ints_field(reader, cursor, out_attr);
    case BYTECODE_TYPE:
      return bytecode_take_type_attr(reader, cursor, out_attr);
    case BYTECODE_BOOL:
      return take_bool_field(reader, cursor, out_attr);
    case BYTECODE_F64:
      return take_f64_attr(reader, cursor, out_attr);
    case BYTECODE_ATTR:
      return bytecode_take_attr(reader, cursor, out_attr);
    case BYTECODE_ATTRS:
      return bytecode_take_array(reader, cursor, out_attr);
    case BYTECODE_STRING:
      return bytecode_take_string_attr(reader, cursor, false, out_attr);
    case BYTECODE_MAYBE:
      return take_maybe_field(reader, cursor, out_attr);
  }
  return NULL;
}

/* Fields in wire order. A newer field (NEW_INTS) is absent in files of old writers and omitted if
 * empty, so that all versions give the same attribute. The entry must end after the last field. */
static hr_status_t take_fields(bytecode_reader_t *reader, bytecode_cursor_t *cursor,
                               const bytecode_struct_t *row, bool with_new,
                               const mlir_attr_t **out_attr) {
  mlir_named_attr_t fields[sizeof row->fields / sizeof *row->fields];
  int count = 0;
  for (const bytecode_field_t *field = row->fields; field->name; field++) {
    const mlir_attr_t *value;
    if (field->kind == BYTECODE_NEW_INTS && !with_new) continue;
    HR_TRY(take_field(reader, cursor, field->kind, &value));
    if (field->kind == BYTECODE_NEW_INTS && !value->element_count) continue;
    if (value) fields[count++] = (mlir_named_attr_t){hr_str_from(field->name), value};
  }
  HR_TRY(mlir_make_struct(reader->arena, HR_STR("stablehlo"), hr_str_from(row->mnemonic), count,
                          fields, out_attr));
  return bytecode_left(cursor) ? bytecode_error(reader, cursor, "bytes after the last field")
                               : NULL;
}

/* True if older writers of this structure had fewer fields. */
static bool has_new_fields(const bytecode_struct_t *row) {
  for (const bytecode_field_t *field = row->fields; field->name; field++)
    if (field->kind == BYTECODE_NEW_INTS) return true;
  return false;
}

/* Files do not tell whether the writer had the new fields: they are tried first; if the size of
 * the entry does not fit, it is read without them. */
static hr_status_t bytecode_take_struct(bytecode_reader_t *reader, bytecode_cursor_t *cursor,
                                        const bytecode_struct_t *row,
                                        const mlir_attr_t **out_attr) {
  bytecode_cursor_t start = *cursor;
  hr_status_t st = take_fields(reader, cursor, row, true, out_attr);
  if (!st || !has_new_fields(row)) return st;
  hr_status_release(st);
  *cursor = start;
  return take_fields(reader, cursor, row, false, out_attr);
}

/* Finds the row by dialect and code. */
static hr_status_t take_struct_of(bytecode_reader_t *reader, bytecode_cursor_t *cursor,
                                  const char *dialect, uint64_t code,
                                  const mlir_attr_t **out_attr) {
  for (int i = 0; i < bytecode_struct_count; i++)
    if ((uint64_t)bytecode_structs[i].code == code && !strcmp(bytecode_structs[i].dialect, dialect))
      return bytecode_take_struct(reader, cursor, &bytecode_structs[i], out_attr);
  return bytecode_unknown_attr(reader, cursor, code);
}

/* Enumerations and structures of a dialect share one series of codes. */
hr_status_t bytecode_stablehlo_attr(bytecode_reader_t *reader, bytecode_cursor_t *cursor,
                                    uint64_t code, const mlir_attr_t **out_attr) {
  for (int i = 0; i < bytecode_enum_count; i++)
    if ((int64_t)code == bytecode_enums[i].stablehlo_code)
      return bytecode_take_enum(reader, cursor, "stablehlo", &bytecode_enums[i], out_attr);
  return take_struct_of(reader, cursor, "stablehlo", code, out_attr);
}

/* Codes of mhlo equal StableHLO's, except for the last few. Common attributes become
 * StableHLO's. */
hr_status_t bytecode_mhlo_attr(bytecode_reader_t *reader, bytecode_cursor_t *cursor, uint64_t code,
                               const mlir_attr_t **out_attr) {
  for (int i = 0; i < bytecode_enum_count; i++) {
    const bytecode_enum_t *row = &bytecode_enums[i];
    if ((int64_t)code == row->mhlo_code)
      return bytecode_take_enum(reader, cursor, row->stablehlo_code < 0 ? "mhlo" : "stablehlo", row,
                                out_attr);
  }
  return take_struct_of(reader, cursor, code > MHLO_ATTR_SHARED ? "mhlo" : "stablehlo", code,
                        out_attr);
}

/* CHLO's structures have no encoding here; writers use text for them. */
hr_status_t bytecode_chlo_attr(bytecode_reader_t *reader, bytecode_cursor_t *cursor, uint64_t code,
                               const mlir_attr_t **out_attr) {
  for (int i = 0; i < bytecode_enum_count; i++)
    if ((int64_t)code == bytecode_enums[i].chlo_code)
      return bytecode_take_enum(reader, cursor, "chlo", &bytecode_enums[i], out_attr);
  return bytecode_unknown_attr(reader, cursor, code);
}

/* --- VHLO --- */

/* VHLO has a bool of its own, where builtin has an i1. */
static hr_status_t take_vhlo_bool(bytecode_reader_t *reader, bytecode_cursor_t *cursor,
                                  const mlir_attr_t **out_attr) {
  uint64_t value;
  HR_TRY(bytecode_take_var(reader, cursor, &value));
  return mlir_make_bool(reader->arena, value != 0, out_attr);
}

/* The API version of a custom call: an enumeration in VHLO, an i32 in StableHLO. */
static hr_status_t take_api_version(bytecode_reader_t *reader, bytecode_cursor_t *cursor,
                                    const mlir_attr_t **out_attr) {
  static const mlir_type_t i32 = {.kind = MLIR_TYPE_INTEGER, .width = 32};
  uint64_t value;
  HR_TRY(bytecode_take_var(reader, cursor, &value));
  if (value > 4)
    return bytecode_error(reader, cursor, "the interface %lu of custom calls",
                          (unsigned long)value);
  return mlir_make_integer(reader->arena, (int64_t)value, &i32, out_attr);
}

/* VHLO's own codes: enumerations, counterparts of builtin's attributes, then structures. */
hr_status_t bytecode_vhlo_attr(bytecode_reader_t *reader, bytecode_cursor_t *cursor, uint64_t code,
                               const mlir_attr_t **out_attr) {
  for (int i = 0; i < bytecode_enum_count; i++)
    if ((int64_t)code == bytecode_enums[i].vhlo_code)
      return bytecode_take_enum(reader, cursor, "stablehlo", &bytecode_enums[i], out_attr);
  switch (code) {
    case VHLO_ATTR_ARRAY:
      return bytecode_take_array(reader, cursor, out_attr);
    case VHLO_ATTR_BOOL:
      return take_vhlo_bool(reader, cursor, out_attr);
    case VHLO_ATTR_API_VERSION:
      return take_api_version(reader, cursor, out_attr);
    case VHLO_ATTR_DICT:
      return bytecode_take_dict(reader, cursor, out_attr);
    case VHLO_ATTR_FLOAT:
      return bytecode_take_float(reader, cursor, out_attr);
    case VHLO_ATTR_INTEGER:
      return bytecode_take_integer(reader, cursor, out_attr);
    case VHLO_ATTR_STRING:
      return bytecode_take_string_attr(reader, cursor, false, out_attr);
    case VHLO_ATTR_TENSOR:
      return bytecode_take_dense(reader, cursor, out_attr);
    case VHLO_ATTR_TYPE:
      return bytecode_take_type_attr(reader, cursor, out_attr);
    default:
      return take_struct_of(reader, cursor, "vhlo", code, out_attr);
  }
}
