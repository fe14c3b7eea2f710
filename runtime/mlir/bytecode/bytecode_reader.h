/* The reader of bytecode: declarations shared by its files. A cursor is a range of bytes that is
 * consumed from its beginning; every reading function checks the range and fails with the byte's
 * offset. Names and elements point into the file, all else lives in the module's arena. Attributes
 * and types are decoded on first use and cached in their table.
 * Errors: INVALID with the offset; NO_MEMORY. Outputs are set only on success. */
#ifndef MLIR_BYTECODE_READER_H
#define MLIR_BYTECODE_READER_H

#include "base/map.h"
#include "mlir/bytecode/bytecode_format.h"
#include "mlir/vhlo/vhlo.h"

#define BYTECODE_MAX_DEPTH 500 /* nesting of attributes, types and regions */

/* The unread bytes of a section or an entry. */
typedef struct bytecode_cursor {
  const uint8_t *at, *end; /* next byte, and the byte after the last */
} bytecode_cursor_t;

/* An attribute or a type of the file's tables. */
typedef struct bytecode_entry {
  const uint8_t *bytes; /* encoded form, in the file */
  size_t size;          /* length of the encoded form in bytes */
  const void *value;    /* mlir_attr_t or mlir_type_t; NULL until it is decoded */
  uint32_t dialect;     /* number in the reader's dialects */
  uint32_t weight;      /* nodes in it, counting shared ones each time */
  bool binary, is_decoding;
} bytecode_entry_t;

/* All attributes or all types of the file, by their numbers. */
typedef struct bytecode_table {
  bytecode_entry_t *entries; /* indexed by the numbers that the file uses */
  size_t count;
} bytecode_table_t;

/* An entry of the table of op names, with the tables that decode its attributes. */
typedef struct bytecode_op_name {
  hr_str_t name; /* with its dialect */
  bool registered;
  const vhlo_row_t *vhlo;       /* NULL: not an op of VHLO */
  const bytecode_op_row_t *row; /* first row of its properties; NULL: not known */
} bytecode_op_name_t;

/* A blob outside of the attributes; dense_resource attributes refer to it by its number. */
typedef struct bytecode_resource {
  hr_str_t key;         /* name by which the text form refers to it */
  const uint8_t *bytes; /* NULL: no blob in the file */
  size_t size;
} bytecode_resource_t;

/* The attributes of an op, decoded: ops share blobs and dictionaries. */
typedef struct bytecode_attrs {
  const bytecode_op_name_t *of;
  int count, extra_count;
  const mlir_named_attr_t *attrs, *extras;
} bytecode_attrs_t;

/* The properties of one or several ops. */
typedef struct bytecode_blob {
  bytecode_cursor_t bytes;
  bytecode_attrs_t decoded; /* for the op that asked last */
} bytecode_blob_t;

/* State of reading one file; it lives on the stack of mlir_read_bytecode. */
typedef struct bytecode_reader {
  mlir_module_t *module;
  hr_arena_t *arena;          /* arena of the module */
  const uint8_t *start, *end; /* the whole file */
  uint64_t version;           /* version of the bytecode, not of a dialect */
  bytecode_cursor_t sections[BYTECODE_SECTION_COUNT]; /* contents by section id */
  hr_str_t *strings;                                  /* string table; texts point into the file */
  size_t string_count;
  hr_str_t *dialects; /* names of dialects by number */
  size_t dialect_count;
  HR_VEC(bytecode_op_name_t) op_names;
  bytecode_table_t attrs, types;
  HR_VEC(bytecode_resource_t) resources;
  bytecode_blob_t *blobs; /* properties of ops */
  size_t blob_count;
  int depth;
  int decoding;    /* entries that are being decoded, each within the one before */
  uint32_t weight; /* nodes of the innermost entry so far */
  uint64_t budget; /* bytes that may still be copied: memory stays in proportion to the file */
} bytecode_reader_t;

/* --- bytes (bytecode_cursor.c) --- */
#define bytecode_error(reader, cursor, ...) \
  bytecode_error_from(__FILE__, __LINE__, (reader), (cursor)->at, __VA_ARGS__)
/* INVALID with the offset of `at` in the file. */
hr_status_t bytecode_error_from(const char *file, int line, const bytecode_reader_t *reader,
                                const uint8_t *at, const char *format, ...)
    __attribute__((format(printf, 5, 6), returns_nonnull));
static inline size_t bytecode_left(const bytecode_cursor_t *cursor) {
  return (size_t)(cursor->end - cursor->at);
}
/* Functions bytecode_take_* read what they are named after and move the cursor after it. */
hr_status_t bytecode_take_byte(bytecode_reader_t *reader, bytecode_cursor_t *cursor,
                               uint8_t *out_byte);
/* A number of 1 to 9 bytes, whose first byte has the length. */
hr_status_t bytecode_take_var(bytecode_reader_t *reader, bytecode_cursor_t *cursor,
                              uint64_t *out_value);
/* A signed number: zigzag encoding in a var. */
hr_status_t bytecode_take_svar(bytecode_reader_t *reader, bytecode_cursor_t *cursor,
                               int64_t *out_value);
/* The bits of a float as a svar. */
hr_status_t bytecode_take_f64(bytecode_reader_t *reader, bytecode_cursor_t *cursor,
                              double *out_value);
/* Reads a number of items. Each takes at least one byte, so it is limited by the bytes left. */
hr_status_t bytecode_take_count(bytecode_reader_t *reader, bytecode_cursor_t *cursor,
                                int *out_count);
/* Reads `size` bytes as a new cursor. */
hr_status_t bytecode_take_bytes(bytecode_reader_t *reader, bytecode_cursor_t *cursor, uint64_t size,
                                bytecode_cursor_t *out_bytes);
/* var length and as many bytes. */
hr_status_t bytecode_take_blob(bytecode_reader_t *reader, bytecode_cursor_t *cursor,
                               bytecode_cursor_t *out_bytes);
/* Skips to the next offset in the file that is a multiple of `alignment`, a power of two. */
hr_status_t bytecode_take_padding(bytecode_reader_t *reader, bytecode_cursor_t *cursor,
                                  uint64_t alignment);
/* Id, length and contents of a section. */
hr_status_t bytecode_take_section(bytecode_reader_t *reader, bytecode_cursor_t *cursor, int *out_id,
                                  bytecode_cursor_t *out_section);
/* var index into the string table. */
hr_status_t bytecode_take_string(bytecode_reader_t *reader, bytecode_cursor_t *cursor,
                                 hr_str_t *out_string);
/* var length and as many svars; the list lives in the arena. */
hr_status_t bytecode_take_ints(bytecode_reader_t *reader, bytecode_cursor_t *cursor,
                               hr_ints_t *out_ints);
/* Takes `amount` from the budget. Errors: INVALID when it is used up. */
hr_status_t bytecode_charge(bytecode_reader_t *reader, uint64_t amount);
/* Enters a nesting level; every successful call is followed by a call of bytecode_leave. */
hr_status_t bytecode_enter(bytecode_reader_t *reader, const bytecode_cursor_t *cursor);
void bytecode_leave(bytecode_reader_t *reader);

/* --- tables (bytecode_tables.c) --- */
/* Each reads one section into the tables of the reader. Sections that a file may leave out make
 * empty tables. */
hr_status_t bytecode_read_strings(bytecode_reader_t *reader);
hr_status_t bytecode_read_dialects(bytecode_reader_t *reader);
hr_status_t bytecode_read_offsets(bytecode_reader_t *reader);
hr_status_t bytecode_read_resources(bytecode_reader_t *reader);
hr_status_t bytecode_read_blobs(bytecode_reader_t *reader);

/* --- attributes and types (bytecode_values.c) --- */
/* Attribute or type number `index`, decoded; INVALID if there is none, or if it contains itself.
 * `cursor` says where the number stood. */
hr_status_t bytecode_attr_at(bytecode_reader_t *reader, const bytecode_cursor_t *cursor,
                             uint64_t index, const mlir_attr_t **out_attr);
hr_status_t bytecode_type_at(bytecode_reader_t *reader, const bytecode_cursor_t *cursor,
                             uint64_t index, const mlir_type_t **out_type);
/* var index of an attribute or type, decoded. */
hr_status_t bytecode_take_attr(bytecode_reader_t *reader, bytecode_cursor_t *cursor,
                               const mlir_attr_t **out_attr);
hr_status_t bytecode_take_type(bytecode_reader_t *reader, bytecode_cursor_t *cursor,
                               const mlir_type_t **out_type);
/* var length and as many attributes or types; the list lives in the arena. */
hr_status_t bytecode_take_attrs(bytecode_reader_t *reader, bytecode_cursor_t *cursor,
                                int *out_count, const mlir_attr_t ***out_attrs);
hr_status_t bytecode_take_types(bytecode_reader_t *reader, bytecode_cursor_t *cursor,
                                int *out_count, const mlir_type_t *const **out_types);

/* How a dialect decodes: `code` is taken, the fields follow. */
typedef hr_status_t (*bytecode_attr_fn)(bytecode_reader_t *reader, bytecode_cursor_t *cursor,
                                        uint64_t code, const mlir_attr_t **out_attr);
typedef hr_status_t (*bytecode_type_fn)(bytecode_reader_t *reader, bytecode_cursor_t *cursor,
                                        uint64_t code, const mlir_type_t **out_type);
hr_status_t bytecode_builtin_attr(bytecode_reader_t *, bytecode_cursor_t *, uint64_t,
                                  const mlir_attr_t **);
hr_status_t bytecode_stablehlo_attr(bytecode_reader_t *, bytecode_cursor_t *, uint64_t,
                                    const mlir_attr_t **);
hr_status_t bytecode_mhlo_attr(bytecode_reader_t *, bytecode_cursor_t *, uint64_t,
                               const mlir_attr_t **);
hr_status_t bytecode_chlo_attr(bytecode_reader_t *, bytecode_cursor_t *, uint64_t,
                               const mlir_attr_t **);
hr_status_t bytecode_vhlo_attr(bytecode_reader_t *, bytecode_cursor_t *, uint64_t,
                               const mlir_attr_t **);
hr_status_t bytecode_sdy_attr(bytecode_reader_t *, bytecode_cursor_t *, uint64_t,
                              const mlir_attr_t **);
hr_status_t bytecode_builtin_type(bytecode_reader_t *, bytecode_cursor_t *, uint64_t,
                                  const mlir_type_t **);
/* A new type in the arena, of which only the kind is set. Errors: NO_MEMORY. */
hr_status_t bytecode_new_type(bytecode_reader_t *reader, mlir_type_kind_t kind,
                              mlir_type_t **out_type);
/* INVALID: the type of this code is not known. */
hr_status_t bytecode_unknown_type(bytecode_reader_t *reader, bytecode_cursor_t *cursor,
                                  uint64_t code);
/* A quantised type with one scale, or with scales along an axis (bytecode_quant.c). */
hr_status_t bytecode_take_uniform(bytecode_reader_t *reader, bytecode_cursor_t *cursor,
                                  bool per_axis, const mlir_type_t **out_type);
hr_status_t bytecode_quant_type(bytecode_reader_t *, bytecode_cursor_t *, uint64_t,
                                const mlir_type_t **);
hr_status_t bytecode_stablehlo_type(bytecode_reader_t *, bytecode_cursor_t *, uint64_t,
                                    const mlir_type_t **);
hr_status_t bytecode_vhlo_type(bytecode_reader_t *, bytecode_cursor_t *, uint64_t,
                               const mlir_type_t **);

/* type and number of an integer or float attribute */
hr_status_t bytecode_take_integer(bytecode_reader_t *reader, bytecode_cursor_t *cursor,
                                  const mlir_attr_t **out_attr);
hr_status_t bytecode_take_float(bytecode_reader_t *reader, bytecode_cursor_t *cursor,
                                const mlir_attr_t **out_attr);
/* type and blob of elements */
hr_status_t bytecode_take_dense(bytecode_reader_t *reader, bytecode_cursor_t *cursor,
                                const mlir_attr_t **out_attr);
/* list of names and values; names are string attributes. */
hr_status_t bytecode_take_dict(bytecode_reader_t *reader, bytecode_cursor_t *cursor,
                               const mlir_attr_t **out_attr);
/* list of attributes */
hr_status_t bytecode_take_array(bytecode_reader_t *reader, bytecode_cursor_t *cursor,
                                const mlir_attr_t **out_attr);
/* var index of a type, as an attribute */
hr_status_t bytecode_take_type_attr(bytecode_reader_t *reader, bytecode_cursor_t *cursor,
                                    const mlir_attr_t **out_attr);
/* var index of a string; `typed`: and of its type */
hr_status_t bytecode_take_string_attr(bytecode_reader_t *reader, bytecode_cursor_t *cursor,
                                      bool typed, const mlir_attr_t **out_attr);
/* An attribute that must be a string. */
hr_status_t bytecode_take_text(bytecode_reader_t *reader, bytecode_cursor_t *cursor,
                               hr_str_t *out_text);
/* A location of the form `code`. */
hr_status_t bytecode_take_location(bytecode_reader_t *reader, bytecode_cursor_t *cursor,
                                   uint64_t code, const mlir_attr_t **out_attr);
/* INVALID: the attribute of this code is not known. */
hr_status_t bytecode_unknown_attr(bytecode_reader_t *reader, bytecode_cursor_t *cursor,
                                  uint64_t code);

/* --- operations --- */
/* Attributes of an op from its property blob (bytecode_properties.c). */
hr_status_t bytecode_take_properties(bytecode_reader_t *reader, bytecode_cursor_t *cursor,
                                     const bytecode_op_name_t *name, mlir_op_t *op);
/* Adds the dictionary's attributes; those with a dot and those unknown to the op are discardable.
 */
hr_status_t bytecode_add_dict(bytecode_reader_t *reader, const bytecode_cursor_t *cursor,
                              const bytecode_op_name_t *name, const mlir_attr_t *dict,
                              mlir_op_t *op);
/* Reads the section of operations into the module. */
hr_status_t bytecode_read_ir(bytecode_reader_t *reader); /* bytecode_ir.c */

#endif
