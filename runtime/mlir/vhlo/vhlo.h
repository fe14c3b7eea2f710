/* VHLO, the versioned dialect of portable artifacts: operations, codes, and their counterparts in
 * StableHLO. Versions are numbers 100 * major + minor, as in vhlo.def.
 * Source: StableHLO, vhlo.md. */
#ifndef MLIR_VHLO_H
#define MLIR_VHLO_H

#include "mlir/mlir.h"

/* Versions: VHLO_FIRST_m and VHLO_LAST_m for each major number m, VHLO_SINCE_x for each feature x.
 * The rows are in vhlo.def, in ascending order, so that the last enumerator is the newest. */
enum {
#define VHLO_MINORS(major, first, last) \
  VHLO_FIRST_##major = 100 * (major) + (first), VHLO_LAST_##major = 100 * (major) + (last),
#include "mlir/vhlo/vhlo.def"
#undef VHLO_MINORS
  VHLO_AFTER_NEWEST,
  VHLO_NEWEST = VHLO_AFTER_NEWEST - 1,
  VHLO_OLDEST = VHLO_FIRST_0
};
enum {
#define VHLO_FEATURE(name, since) VHLO_SINCE_##name = since,
#include "mlir/vhlo/vhlo.def"
#undef VHLO_FEATURE
};
bool vhlo_is_version(int64_t major, int64_t minor);

#define VHLO_CAST "builtin.unrealized_conversion_cast"

/* The StableHLO form of a VHLO attribute; see vhlo.def. */
typedef enum vhlo_how {
  VHLO_SAME,
  VHLO_INTS,
  VHLO_INTS_NONE,
  VHLO_INTS_ONES,
  VHLO_BOOLS_FALSE,
  VHLO_DENSE,
  VHLO_DENSE_ZERO,
  VHLO_DENSE_NONE,
  VHLO_FLAG,
  VHLO_BOOL_FALSE,
  VHLO_ZERO,
  VHLO_MINUS_ONE,
  VHLO_TEXT,
  VHLO_TEXT_NONE,
  VHLO_SYMBOL,
  VHLO_SYMBOLS,
  VHLO_LIST_NONE,
  VHLO_DICT_NONE,
  VHLO_CONFIG,
  VHLO_PRECISION,
  VHLO_ACCURACY,
  VHLO_NOTYPE,
  VHLO_API,
  VHLO_LAYOUTS,
  VHLO_IGNORED,
  VHLO_CHANNEL,
  VHLO_CHANNEL_ALWAYS,
  VHLO_CHANNEL_TYPE,
  VHLO_DOT, /* the first of the fields of structures */
  VHLO_GATHER,
  VHLO_SCATTER,
  VHLO_CONV,
  VHLO_ALGORITHM
} vhlo_how_t;

/* A column entry of vhlo.def: an attribute of a VHLO op in wire order. */
typedef struct vhlo_attr {
  const char *name; /* NULL ends a list */
  vhlo_how_t how;
} vhlo_attr_t;

/* A form of an op: its rows differ in version, and `since` to `until` do not overlap. */
typedef struct vhlo_row {
  const char *wire_name;      /* "add_v1" */
  const char *stablehlo_name; /* "stablehlo.add" */
  int version, since, until;
  int attr_count;
  const vhlo_attr_t *attrs;
} vhlo_row_t;

/* Codes of attributes; enumerations and structures are in bytecode_attrs.def. */
enum {
  VHLO_ATTR_ARRAY = 1,
  VHLO_ATTR_BOOL = 2,
  VHLO_ATTR_API_VERSION = 5,
  VHLO_ATTR_DICT = 6,
  VHLO_ATTR_FLOAT = 8,
  VHLO_ATTR_INTEGER = 9,
  VHLO_ATTR_STRING = 14,
  VHLO_ATTR_TENSOR = 15,
  VHLO_ATTR_TYPE = 17
};

/* Codes of types; floats are in bytecode_attrs.def, integers are asked for by functions. */
enum {
  VHLO_TYPE_COMPLEX = 1,
  VHLO_TYPE_FUNCTION = 8,
  VHLO_TYPE_INDEX = 9,
  VHLO_TYPE_TENSOR = 20,
  VHLO_TYPE_TENSOR_ENCODED = 21,
  VHLO_TYPE_TOKEN = 22,
  VHLO_TYPE_TUPLE = 23,
  VHLO_TYPE_QUANT = 24,
  VHLO_TYPE_UNRANKED = 25,
  VHLO_TYPE_WITNESS = 26,
  VHLO_TYPE_QUANT_AXIS = 30,
  VHLO_TYPE_SI2 = 31,
  VHLO_TYPE_UI2 = 32,
  VHLO_TYPE_NONE = 33,
  VHLO_TYPE_BUFFER = 41,
  VHLO_TYPE_FUTURE = 42
};
bool vhlo_integer_type(uint64_t code, int *out_width, bool *out_unsigned);
int vhlo_integer_code(int width, bool is_unsigned); /* -1: there is none */
int vhlo_type_since(int code); /* first version that has the type; not for floats */

extern const vhlo_row_t vhlo_rows[];
extern const int vhlo_row_count;
const vhlo_row_t *vhlo_find(hr_str_t wire_name); /* NULL: not known */
/* The form that an op of StableHLO or func has in a version of the format; NULL: none. */
const vhlo_row_t *vhlo_find_for(hr_str_t name, int version);

/* Portable artifacts cannot contain CHLO. vhlo_replace_chlo replaces some CHLO ops by custom calls
 * that JAX and XLA know; vhlo_find_chlo returns the first other one, which must be expanded through
 * the IR; NULL: none. */
hr_status_t vhlo_replace_chlo(mlir_module_t *module);
const mlir_op_t *vhlo_find_chlo(const mlir_module_t *module);

/* Inserts casts between ops of VHLO and of other dialects, which keep their types. */
hr_status_t vhlo_add_casts(mlir_module_t *module);
bool vhlo_is_foreign(const mlir_op_t *op);    /* op of a dialect that artifacts store unchanged */
bool vhlo_casts_to_vhlo(const mlir_op_t *op); /* a cast whose result has a type of VHLO */

/* The structure that fields of this kind belong to: its attribute in StableHLO, e.g.
 * "dot_dimension_numbers". */
const char *vhlo_struct_attr(vhlo_how_t how, hr_str_t op_name);
const char *vhlo_struct_mnemonic(vhlo_how_t how);

/* Attributes of an op as StableHLO has them: `given[i]` is the value of row->attrs[i]. Sorted by
 * name. */
hr_status_t vhlo_upgrade_attrs(const mlir_module_t *module, hr_arena_t *arena,
                               const vhlo_row_t *row, const mlir_attr_t *const *given,
                               int *out_count, const mlir_named_attr_t **out_attrs);
/* The inverse: values for row->attrs[i] from an op of the tree in StableHLO's form. Absent ones get
 * defaults. `version` as in vhlo.def. Errors: UNSUPPORTED if the op uses a feature that this
 * version lacks. */
hr_status_t vhlo_downgrade_attrs(const mlir_module_t *module, hr_arena_t *arena, int version,
                                 const vhlo_row_t *row, const mlir_op_t *op,
                                 const mlir_attr_t **out_given);
/* The name of the op in the tree; `parent` is the op that holds it, already renamed. */
hr_str_t vhlo_upgrade_name(const vhlo_row_t *row, const mlir_op_t *parent);

#endif
