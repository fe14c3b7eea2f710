/* The tables of a file: strings, dialects and names of operations, and the positions of
 * attributes, types, resources and properties. Nothing is decoded here: entries keep a pointer and
 * a size.
 *   strings    ::= count, (size)* of the last string first, (bytes NUL)*
 *   dialects   ::= count, (name version-section?)*, ops:var, (dialect, count, (op name)*)*
 *   offsets    ::= attributes:var types:var, (dialect, count, (size << 1 | is_binary)*)*
 *   resources  ::= externals:var, (key group)*, (dialect group)*
 *   group      ::= count, (key size kind)*
 *   properties ::= count, (size bytes)* */
#include <string.h>

#include "mlir/mlir_mhlo.h"
#include "mlir/bytecode/bytecode_reader.h"

#define NAME_MAX_BYTES 200 /* name of a dialect or an operation; full names are copied */

/* Sizes include the NUL and are listed in reverse order of the strings. */
hr_status_t bytecode_read_strings(bytecode_reader_t *reader) {
  bytecode_cursor_t *cursor = &reader->sections[BYTECODE_STRINGS];
  bytecode_cursor_t text;
  int count;
  HR_TRY(bytecode_take_count(reader, cursor, &count));
  HR_TRY(HR_NEW_ARRAY(reader->arena, count, &reader->strings));
  for (int i = count; i-- > 0;) {
    uint64_t size;
    HR_TRY(bytecode_take_var(reader, cursor, &size));
    if (!size || size > bytecode_left(cursor))
      return bytecode_error(reader, cursor, "a string of %lu bytes", (unsigned long)size);
    reader->strings[i].size = (size_t)size - 1;
  }
  for (int i = 0; i < count; i++) {
    HR_TRY(bytecode_take_bytes(reader, cursor, reader->strings[i].size + 1, &text));
    if (text.end[-1]) return bytecode_error(reader, cursor, "a string without its NUL");
    reader->strings[i].data = (const char *)text.at;
  }
  reader->string_count = (size_t)count;
  return NULL;
}

/* --- dialects --- */

/* Index of a dialect, checked. */
static hr_status_t take_dialect_index(bytecode_reader_t *reader, bytecode_cursor_t *cursor,
                                      uint64_t *out_index) {
  HR_TRY(bytecode_take_var(reader, cursor, out_index));
  if (*out_index >= reader->dialect_count)
    return bytecode_error(reader, cursor, "dialect %lu of %zu", (unsigned long)*out_index,
                          reader->dialect_count);
  return NULL;
}

/* A string's index, with a flag in its lowest bit if `flagged`. Long names are refused, since full
 * names ("dialect.name") are copied. */
static hr_status_t take_name(bytecode_reader_t *reader, bytecode_cursor_t *cursor, bool flagged,
                             bool *out_flag, hr_str_t *out_name) {
  uint64_t index;
  HR_TRY(bytecode_take_var(reader, cursor, &index));
  *out_flag = flagged && (index & 1);
  if (flagged) index >>= 1;
  if (index >= reader->string_count || reader->strings[index].size > NAME_MAX_BYTES)
    return bytecode_error(reader, cursor, "a name of a dialect or operation that cannot be");
  *out_name = reader->strings[index];
  return NULL;
}

/* First row of an op's properties; NULL: none are known. */
static const bytecode_op_row_t *find_row(hr_str_t name) {
  for (int i = 0; i < bytecode_op_row_count; i++)
    if (hr_str_is(name, bytecode_op_rows[i].name)) return &bytecode_op_rows[i];
  return NULL;
}

/* "dialect.name"; since version 5 a flag tells whether the writer had the op registered. An op of
 * VHLO gets its row of vhlo.def, any other its first row of bytecode_ops.def. */
static hr_status_t read_op_name(bytecode_reader_t *reader, bytecode_cursor_t *cursor,
                                hr_str_t dialect) {
  bytecode_op_name_t op = {.registered = true};
  hr_str_t name;
  const char *full;
  bool flag;
  HR_TRY(take_name(reader, cursor, reader->version >= 5, &flag, &name));
  if (reader->version >= 5) op.registered = flag;
  HR_TRY(hr_arena_printf(reader->arena, &full, "%.*s%s%.*s", HR_STR_ARGS(dialect),
                         dialect.size ? "." : "", HR_STR_ARGS(name)));
  HR_TRY(mlir_mhlo_name(reader->arena, hr_str_from(full), &op.name));
  if (hr_str_is(dialect, "vhlo"))
    op.vhlo = vhlo_find(name);
  else
    op.row = find_row(hr_str_from(full));
  if (!op.vhlo && !op.row) op.row = find_row(op.name); /* an mhlo op with the row of StableHLO's */
  HR_VEC_PUSH(&reader->op_names, op);
  return NULL;
}

/* Since version 1 a flag says that a section with the dialect's version follows; it is skipped. */
static hr_status_t read_dialect(bytecode_reader_t *reader, bytecode_cursor_t *cursor,
                                hr_str_t *out_name) {
  bool has_version;
  int id;
  bytecode_cursor_t section;
  HR_TRY(take_name(reader, cursor, reader->version >= 1, &has_version, out_name));
  if (!has_version) return NULL;
  HR_TRY(bytecode_take_section(reader, cursor, &id, &section));
  return id == BYTECODE_DIALECT_VERSIONS
             ? NULL
             : bytecode_error(reader, cursor, "want the version of a dialect");
}

/* Dialects, then names of ops in groups of one dialect, to the end of the section. */
hr_status_t bytecode_read_dialects(bytecode_reader_t *reader) {
  bytecode_cursor_t *cursor = &reader->sections[BYTECODE_DIALECTS];
  int count;
  uint64_t total;
  HR_TRY(bytecode_take_count(reader, cursor, &count));
  HR_TRY(HR_NEW_ARRAY(reader->arena, count, &reader->dialects));
  for (int i = 0; i < count; i++) HR_TRY(read_dialect(reader, cursor, &reader->dialects[i]));
  reader->dialect_count = (size_t)count;
  if (reader->version >= 4) HR_TRY(bytecode_take_var(reader, cursor, &total));
  while (bytecode_left(cursor)) {
    uint64_t dialect;
    HR_TRY(take_dialect_index(reader, cursor, &dialect));
    HR_TRY(bytecode_take_count(reader, cursor, &count));
    for (int i = 0; i < count; i++) HR_TRY(read_op_name(reader, cursor, reader->dialects[dialect]));
  }
  return NULL;
}

/* --- attributes and types --- */

/* Groups of one dialect until the table is full. The entries' bytes are consecutive in another
 * section; its cursor continues from attributes to types. */
static hr_status_t read_table(bytecode_reader_t *reader, bytecode_cursor_t *cursor,
                              bytecode_table_t *table) {
  bytecode_cursor_t *data = &reader->sections[BYTECODE_ATTR_TYPES];
  bytecode_cursor_t bytes;
  for (size_t next = 0; next < table->count;) {
    uint64_t dialect, size;
    int count;
    HR_TRY(take_dialect_index(reader, cursor, &dialect));
    HR_TRY(bytecode_take_count(reader, cursor, &count));
    if ((size_t)count > table->count - next)
      return bytecode_error(reader, cursor, "more entries than announced");
    for (int i = 0; i < count; i++) {
      HR_TRY(bytecode_take_var(reader, cursor, &size));
      HR_TRY(bytecode_take_bytes(reader, data, size >> 1, &bytes));
      table->entries[next++] = (bytecode_entry_t){.bytes = bytes.at,
                                                  .size = (size_t)(size >> 1),
                                                  .dialect = (uint32_t)dialect,
                                                  .binary = size & 1};
    }
  }
  return NULL;
}

/* Numbers of attributes and types, then sizes of entries; offsets are prefix sums of the sizes. */
hr_status_t bytecode_read_offsets(bytecode_reader_t *reader) {
  bytecode_cursor_t *cursor = &reader->sections[BYTECODE_ATTR_OFFSETS];
  int attrs, types;
  HR_TRY(bytecode_take_count(reader, cursor, &attrs));
  HR_TRY(bytecode_take_count(reader, cursor, &types));
  reader->attrs.count = (size_t)attrs;
  reader->types.count = (size_t)types;
  HR_TRY(HR_NEW_ARRAY(reader->arena, attrs, &reader->attrs.entries));
  HR_TRY(HR_NEW_ARRAY(reader->arena, types, &reader->types.entries));
  HR_TRY(read_table(reader, cursor, &reader->attrs));
  return read_table(reader, cursor, &reader->types);
}

/* --- resources --- */

/* Alignment and size, padding, then the bytes, which are used in place. */
static hr_status_t take_resource_blob(bytecode_reader_t *reader, bytecode_cursor_t data,
                                      bytecode_resource_t *resource) {
  uint64_t alignment, size;
  bytecode_cursor_t bytes;
  HR_TRY(bytecode_take_var(reader, &data, &alignment));
  HR_TRY(bytecode_take_var(reader, &data, &size));
  HR_TRY(bytecode_take_padding(reader, &data, alignment));
  HR_TRY(bytecode_take_bytes(reader, &data, size, &bytes));
  resource->bytes = bytes.at;
  resource->size = (size_t)size;
  return NULL;
}

/* A group of resources: key, size and kind (0: a blob). All are consumed in the section of the
 * bytes; with `keep` (dialects) they are stored, as dense_resource attributes refer to them by
 * number. */
static hr_status_t read_resource_group(bytecode_reader_t *reader, bytecode_cursor_t *cursor,
                                       bool keep) {
  bytecode_cursor_t *data = &reader->sections[BYTECODE_RESOURCES];
  bytecode_cursor_t bytes;
  int count;
  HR_TRY(bytecode_take_count(reader, cursor, &count));
  for (int i = 0; i < count; i++) {
    bytecode_resource_t resource = {0};
    uint64_t size;
    uint8_t kind;
    HR_TRY(bytecode_take_string(reader, cursor, &resource.key));
    HR_TRY(bytecode_take_var(reader, cursor, &size));
    HR_TRY(bytecode_take_byte(reader, cursor, &kind));
    HR_TRY(bytecode_take_bytes(reader, data, size, &bytes));
    if (keep && kind == 0 && size) HR_TRY(take_resource_blob(reader, bytes, &resource));
    if (keep) HR_VEC_PUSH(&reader->resources, resource);
  }
  return NULL;
}

/* External groups come first and are skipped, as no attribute refers to them; groups of dialects
 * follow. */
hr_status_t bytecode_read_resources(bytecode_reader_t *reader) {
  bytecode_cursor_t *cursor = &reader->sections[BYTECODE_RESOURCE_OFFSETS];
  int externals;
  if (!cursor->at) return NULL;
  HR_TRY(bytecode_take_count(reader, cursor, &externals));
  for (int i = 0; i < externals; i++) {
    hr_str_t key;
    HR_TRY(bytecode_take_string(reader, cursor, &key));
    HR_TRY(read_resource_group(reader, cursor, false));
  }
  while (bytecode_left(cursor)) {
    uint64_t dialect;
    HR_TRY(take_dialect_index(reader, cursor, &dialect));
    HR_TRY(read_resource_group(reader, cursor, true));
  }
  return NULL;
}

/* --- properties --- */

/* Property blobs stay encoded until an op asks for them (bytecode_properties.c). */
hr_status_t bytecode_read_blobs(bytecode_reader_t *reader) {
  bytecode_cursor_t *cursor = &reader->sections[BYTECODE_PROPERTIES];
  int count;
  if (!cursor->at) return NULL;
  HR_TRY(bytecode_take_count(reader, cursor, &count));
  HR_TRY(HR_NEW_ARRAY(reader->arena, count, &reader->blobs));
  for (int i = 0; i < count; i++)
    HR_TRY(bytecode_take_blob(reader, cursor, &reader->blobs[i].bytes));
  reader->blob_count = (size_t)count;
  return NULL;
}
