/* The bytecode format, for reader and writer: numbers of sections and masks, codes of entries, and
 * the tables of attributes, types and operations.
 *   file     ::= "ML\xEFR" version:var producer:cstring section*
 *   section  ::= id:byte (bit 7: alignment) length:var (alignment:var padding)? bytes
 *   var      ::= 1 to 9 bytes; n zeros below the lowest one of the first byte mean n bytes more
 *   svar     ::= var of the number in zigzag: 0, -1, 1, -2, ... are 0, 1, 2, 3, ...
 *   entry    ::= code:var fields, in the encoding of the entry's dialect; or text with a NUL
 * Versions: 1 versions of dialects, 2 isolated regions as sections, 3 orders of uses, 4 locations
 * of block arguments may be left out, 5 properties, 6 segment sizes among the properties. Source:
 * MLIR bytecode format; StableHLO, bytecode.md. */
#ifndef MLIR_BYTECODE_FORMAT_H
#define MLIR_BYTECODE_FORMAT_H

#include "mlir/mlir.h"

#define BYTECODE_VERSION 6    /* newest known version */
#define BYTECODE_ATTRS_MAX 32 /* attributes of one operation */

/* Numbers of the sections. Tables have one section for offsets and one for the data. */
typedef enum bytecode_section {
  BYTECODE_STRINGS,
  BYTECODE_DIALECTS,
  BYTECODE_ATTR_TYPES,
  BYTECODE_ATTR_OFFSETS,
  BYTECODE_IR,
  BYTECODE_RESOURCES,
  BYTECODE_RESOURCE_OFFSETS,
  BYTECODE_DIALECT_VERSIONS,
  BYTECODE_PROPERTIES,
  BYTECODE_SECTION_COUNT
} bytecode_section_t;

/* Mask byte of an operation: parts that follow its name. */
enum {
  BYTECODE_OP_ATTRS = 0x01,
  BYTECODE_OP_RESULTS = 0x02,
  BYTECODE_OP_OPERANDS = 0x04,
  BYTECODE_OP_SUCCESSORS = 0x08,
  BYTECODE_OP_REGIONS = 0x10,
  BYTECODE_OP_USE_ORDERS = 0x20,
  BYTECODE_OP_PROPERTIES = 0x40
};

/* --- codes of entries: the first varint of an attribute or a type, by its dialect --- */

/* Attributes of builtin. Source: BuiltinDialectBytecode.td; the writer has no locations but as
 * text. */
enum {
  BUILTIN_ATTR_ARRAY = 0,
  BUILTIN_ATTR_DICT = 1,
  BUILTIN_ATTR_STRING = 2,
  BUILTIN_ATTR_TYPED_STRING = 3,
  BUILTIN_ATTR_SYMBOL = 4,
  BUILTIN_ATTR_NESTED_SYMBOL = 5,
  BUILTIN_ATTR_TYPE = 6,
  BUILTIN_ATTR_UNIT = 7,
  BUILTIN_ATTR_INTEGER = 8,
  BUILTIN_ATTR_FLOAT = 9,
  BUILTIN_ATTR_CALL_SITE_LOC = 10,
  BUILTIN_ATTR_FILE_LOC = 11,
  BUILTIN_ATTR_FUSED_LOC = 12,
  BUILTIN_ATTR_FUSED_METADATA_LOC = 13,
  BUILTIN_ATTR_NAME_LOC = 14,
  BUILTIN_ATTR_UNKNOWN_LOC = 15,
  BUILTIN_ATTR_RESOURCE = 16,
  BUILTIN_ATTR_DENSE_ARRAY = 17,
  BUILTIN_ATTR_DENSE = 18,
  BUILTIN_ATTR_DENSE_STRINGS = 19,
  BUILTIN_ATTR_SPARSE = 20,
  BUILTIN_ATTR_DISTINCT = 21,
  BUILTIN_ATTR_FILE_RANGE_LOC = 22
};

/* Types of builtin; 3 to 8 and 21 on are floats (bytecode_attrs.def). Source: as above. */
enum {
  BUILTIN_TYPE_INTEGER = 0,
  BUILTIN_TYPE_INDEX = 1,
  BUILTIN_TYPE_FUNCTION = 2,
  BUILTIN_TYPE_COMPLEX = 9,
  BUILTIN_TYPE_MEMREF = 10,
  BUILTIN_TYPE_MEMREF_SPACE = 11,
  BUILTIN_TYPE_NONE = 12,
  BUILTIN_TYPE_TENSOR = 13,
  BUILTIN_TYPE_TENSOR_ENCODED = 14,
  BUILTIN_TYPE_TUPLE = 15,
  BUILTIN_TYPE_UNRANKED_MEMREF = 16,
  BUILTIN_TYPE_UNRANKED_MEMREF_SPACE = 17,
  BUILTIN_TYPE_UNRANKED_TENSOR = 18,
  BUILTIN_TYPE_VECTOR = 19,
  BUILTIN_TYPE_SCALABLE_VECTOR = 20
};

/* Types of quant. Source: QuantDialectBytecode.td. */
enum {
  QUANT_TYPE_ANY = 1,
  QUANT_TYPE_ANY_EXPRESSED = 2,
  QUANT_TYPE_CALIBRATED = 3,
  QUANT_TYPE_UNIFORM = 4,
  QUANT_TYPE_UNIFORM_AXIS = 5,
  QUANT_TYPE_UNIFORM_BLOCKS = 6
};

/* Types of StableHLO. Source: StablehloBytecode.cpp. */
enum { STABLEHLO_TYPE_TOKEN = 0, STABLEHLO_TYPE_FUTURE = 1 };

/* The last code of attributes that is the same in MHLO and StableHLO. */
enum { MHLO_ATTR_SHARED = 13 };

/* --- enumerations and structures (bytecode_attrs.def) --- */
typedef struct bytecode_enum {
  const char *name;
  int stablehlo_code, vhlo_code, chlo_code, mhlo_code; /* -1: none */
  const char *words[8];                                /* by number; NULL: the number is not used */
} bytecode_enum_t;

/* How a field is encoded; see the file's head for var and svar. */
typedef enum bytecode_field_kind {
  BYTECODE_INT,      /* svar */
  BYTECODE_INTS,     /* list of svar */
  BYTECODE_NEW_INTS, /* list of svar; absent in files of old writers */
  BYTECODE_TYPE,
  BYTECODE_BOOL, /* byte */
  BYTECODE_F64,  /* svar of the bits */
  BYTECODE_ATTR,
  BYTECODE_ATTRS,  /* list */
  BYTECODE_STRING, /* var string */
  BYTECODE_MAYBE   /* var 0, or 1 and an attribute */
} bytecode_field_kind_t;

typedef struct bytecode_field {
  const char *name;
  bytecode_field_kind_t kind;
} bytecode_field_t;

/* A row of STRUCT: a structure's fields in wire order, without names on the wire. */
typedef struct bytecode_struct {
  const char *dialect; /* whose encoding this is: "stablehlo" or "vhlo" */
  int code;
  const char *mnemonic;
  bytecode_field_t fields[10]; /* ends with name NULL */
} bytecode_struct_t;

extern const bytecode_enum_t bytecode_enums[];
extern const int bytecode_enum_count;
extern const bytecode_struct_t bytecode_structs[];
extern const int bytecode_struct_count;

const bytecode_enum_t *bytecode_enum_named(hr_str_t name);
const bytecode_struct_t *bytecode_struct_named(const char *dialect, hr_str_t mnemonic);

/* Float types by their codes among builtin's and VHLO's types. */
typedef struct bytecode_float {
  const char *name;
  int builtin_code, vhlo_code; /* -1: none */
  int since;                   /* version of VHLO, as in vhlo.def */
} bytecode_float_t;
extern const bytecode_float_t bytecode_floats[];
extern const int bytecode_float_count;

/* --- properties of operations (bytecode_ops.def) --- */
typedef struct bytecode_op_row {
  const char *name;
  int operand_segments,
      result_segments; /* lengths of operandSegmentSizes and resultSegmentSizes; 0: none */
  const char *attrs;   /* names in wire order, separated by blanks; optional ones end with '?' */
} bytecode_op_row_t;

extern const bytecode_op_row_t bytecode_op_rows[]; /* rows of one op follow each other */
extern const int bytecode_op_row_count;

/* Next name of a row's list; false at its end. */
bool bytecode_next_attr(const char **list, hr_str_t *out_name, bool *out_optional);

#endif
