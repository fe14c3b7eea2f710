/* The bytecode format, for reader and writer: numbers of sections and masks, and the tables of
 * attributes, types and operations. Source: MLIR bytecode format. */
#ifndef MLIR_BYTECODE_FORMAT_H
#define MLIR_BYTECODE_FORMAT_H

#include "mlir/mlir.h"

#define BYTECODE_VERSION 6 /* the newest that is known */

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

/* --- enumerations and structures (bytecode_attrs.def) --- */
typedef struct bytecode_enum {
  const char *name;
  int stablehlo_code, vhlo_code, chlo_code; /* -1: none */
  const char *words[8];                     /* by number; NULL: the number is not used */
} bytecode_enum_t;

typedef enum bytecode_field_kind {
  BYTECODE_INT,      /* svar */
  BYTECODE_INTS,     /* list of svar */
  BYTECODE_NEW_INTS, /* the same; old writers do not have it */
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
