/* The MLIR tree: generic operations with attributes, types and regions. MLIR text, bytecode and
 * portable artifacts (VHLO) are read into this tree, which has no knowledge of dialects such as
 * StableHLO, CHLO or check beyond their names. The importer (stablehlo/import/import.h) converts it
 * to the IR, the exporter (stablehlo/export/export.h) makes it from the IR, and the writers print
 * it. Everything lives in one arena. Attributes and types are immutable and may be shared. Source:
 * MLIR language reference; bytecode format; StableHLO's VHLO dialect. */
#ifndef MLIR_MLIR_H
#define MLIR_MLIR_H

#include "base/arena.h"
#include "base/buffer.h"
#include "base/dtype.h"
#include "base/text.h"
#include "base/vec.h"

typedef struct mlir_type mlir_type_t;
typedef struct mlir_attr mlir_attr_t;
typedef struct mlir_value mlir_value_t;
typedef struct mlir_op mlir_op_t;
typedef struct mlir_block mlir_block_t;
typedef struct mlir_region mlir_region_t;

/* --- types --- */
typedef enum mlir_type_kind {
  MLIR_TYPE_INTEGER, /* i8, si8, ui8 */
  MLIR_TYPE_FLOAT,   /* bf16 ... f128, tf32, f8*, f6*, f4* */
  MLIR_TYPE_INDEX,
  MLIR_TYPE_NONE,
  MLIR_TYPE_COMPLEX,
  MLIR_TYPE_TENSOR,
  MLIR_TYPE_UNRANKED_TENSOR,
  MLIR_TYPE_MEMREF,
  MLIR_TYPE_VECTOR,
  MLIR_TYPE_TUPLE,
  MLIR_TYPE_FUNCTION,
  MLIR_TYPE_TOKEN,  /* !stablehlo.token, !mhlo.token */
  MLIR_TYPE_FUTURE, /* !stablehlo.future<...> */
  MLIR_TYPE_QUANT,  /* !quant.uniform<...>, !quant.any<...>, !quant.calibrated<...> */
  MLIR_TYPE_OPAQUE  /* any other dialect type, as text */
} mlir_type_kind_t;

typedef enum mlir_signedness { MLIR_SIGNLESS, MLIR_SIGNED, MLIR_UNSIGNED } mlir_signedness_t;

/* Parameters of a quantised type: value = scale * (stored - zero_point). One scale for the tensor
 * (axis -1), one for each index of a dimension (axis >= 0), or one for each block of several
 * dimensions (sub-channel: block_count > 0). Source: MLIR, quant dialect. */
typedef struct mlir_quant {
  enum { MLIR_QUANT_UNIFORM, MLIR_QUANT_ANY, MLIR_QUANT_CALIBRATED } form;
  const mlir_type_t *storage;
  bool storage_signed;
  const mlir_type_t *expressed; /* may be NULL for "any" */
  int64_t min, max;             /* storage range */
  double calibrated_min, calibrated_max;
  int64_t axis; /* -1: per tensor */
  int scale_count;
  const double *scales;
  const int64_t *zero_points;
  int block_count; /* sub-channel: dimensions with a block size */
  const int64_t *block_axes, *block_sizes;
  int scale_rank; /* nesting of the scale lists */
  const int64_t *scale_dims;
} mlir_quant_t;

struct mlir_type {
  mlir_type_kind_t kind;
  int width;                     /* INTEGER: bits */
  mlir_signedness_t signedness;  /* INTEGER */
  hr_str_t name;                 /* FLOAT: "f8E4M3FN"; OPAQUE: the text without '!' */
  const mlir_type_t *element;    /* COMPLEX, TENSOR, UNRANKED_TENSOR, MEMREF, VECTOR */
  int rank;                      /* TENSOR, MEMREF, VECTOR */
  const int64_t *dims;           /* HR_UNBOUNDED for '?' */
  const bool *scalable;          /* VECTOR; NULL: none */
  const mlir_attr_t *encoding;   /* TENSOR: bounds and others; MEMREF: layout; NULL: none */
  const mlir_attr_t *space;      /* MEMREF: memory space */
  int input_count, result_count; /* FUNCTION; TUPLE and FUTURE use results only */
  const mlir_type_t *const *inputs, *const *results;
  int64_t part_count; /* FUNCTION, TUPLE, FUTURE: types in it at any depth; mlir_type_count_parts */
  const mlir_quant_t *quant; /* QUANT */
};

/* Types may share parts, so that few lines give one of 2^40 parts. Sets part_count; false if there
 * are more than MLIR_MOST_PARTS. */
#define MLIR_MOST_PARTS (1 << 20)
bool mlir_type_count_parts(mlir_type_t *type);

bool mlir_type_equal(const mlir_type_t *a, const mlir_type_t *b); /* NULL equals NULL */
/* Bytes of one element in `data` of a dense attribute; 0: the type has no elements. */
size_t mlir_element_bytes(const mlir_type_t *element);
/* Bits of the float type with this name; 0: there is none. */
int mlir_float_bits(hr_str_t name);

/* --- attributes --- */
typedef enum mlir_attr_kind {
  MLIR_ATTR_UNIT,
  MLIR_ATTR_BOOL,
  MLIR_ATTR_INTEGER,
  MLIR_ATTR_FLOAT,
  MLIR_ATTR_STRING,
  MLIR_ATTR_ARRAY,
  MLIR_ATTR_DICT,
  MLIR_ATTR_SYMBOL, /* @a, @a::@b */
  MLIR_ATTR_TYPE,
  MLIR_ATTR_DENSE_ARRAY, /* array<i64: ...> */
  MLIR_ATTR_DENSE,       /* dense<...> : T, also from resources */
  MLIR_ATTR_SPARSE,
  MLIR_ATTR_ENUM,   /* #stablehlo<precision HIGH> */
  MLIR_ATTR_STRUCT, /* #stablehlo.dot<...> and the like: named fields */
  MLIR_ATTR_LOCATION,
  MLIR_ATTR_OPAQUE /* any other dialect attribute, as text */
} mlir_attr_kind_t;

typedef struct mlir_named_attr {
  hr_str_t name;
  const mlir_attr_t *value;
} mlir_named_attr_t;

struct mlir_attr {
  mlir_attr_kind_t kind;
  /* INTEGER, FLOAT, STRING (may be NULL), DENSE, SPARSE; DENSE_ARRAY: element; TYPE: itself */
  const mlir_type_t *type;
  int64_t integer;  /* BOOL, INTEGER (sign-extended, or zero-extended for unsigned types) */
  double number;    /* FLOAT, exact for types up to f64 */
  uint64_t bits;    /* FLOAT: its pattern */
  hr_str_t text;    /* STRING; SYMBOL: root name; OPAQUE: text without '#'; ENUM: the value's word;
                       STRUCT: mnemonic */
  hr_str_t dialect; /* ENUM, STRUCT: "stablehlo", "chlo", "sdy", ... */
  hr_str_t enum_name;              /* ENUM: "precision" */
  int count;                       /* ARRAY; DICT and STRUCT: fields; SYMBOL: nested names */
  const mlir_attr_t *const *items; /* ARRAY */
  const mlir_named_attr_t *fields; /* DICT (sorted by name), STRUCT (in printing order) */
  const hr_str_t *nested;          /* SYMBOL: names after the root */
  /* DENSE, DENSE_ARRAY: row-major elements as in the IR (one byte for types below a byte,
   * i1 as 0/1 bytes, complex as pairs). A splat of more than one element has element_count 1 and
   * splat set. */
  const void *data;
  int64_t element_count;
  bool splat;
  hr_buffer_t *buffer; /* owner of data that is not in the arena; released by the module */
  hr_str_t resource;   /* DENSE written as dense_resource<key>; data NULL if no blob was given */
  const mlir_attr_t *indices, *values; /* SPARSE */
  int64_t part_count;                  /* ARRAY, DICT, STRUCT: attributes in it at any depth */
};

/* Attributes may share parts as types do: most parts of one, and of all that aliases stand for. */
#define MLIR_MOST_ATTR_PARTS (1 << 22)

/* Field of a DICT or STRUCT, by linear search; NULL if absent. */
const mlir_attr_t *mlir_attr_field(const mlir_attr_t *dict, const char *name);
/* Structural equality, types included; NULL equals NULL. */
bool mlir_attr_equal(const mlir_attr_t *a, const mlir_attr_t *b);

/* --- operations --- */
struct mlir_value {
  const mlir_type_t *type;
  mlir_op_t *owner;    /* op that defines it; NULL for block arguments */
  mlir_block_t *block; /* block that has this argument; NULL for results */
  int index;           /* result or argument number */
  hr_str_t name;       /* as written, without '%'; may be empty */
  void *mapped;        /* scratch pointer of the importer, printer or writer */
};

struct mlir_region {
  HR_VEC(mlir_block_t *) blocks;
  mlir_op_t *parent;
};

struct mlir_block {
  hr_str_t label;
  int arg_count;
  mlir_value_t *args;
  const mlir_attr_t **arg_locations; /* NULL, or of each argument; NULL: unknown */
  HR_VEC(mlir_op_t *) ops;
  mlir_region_t *parent;
};

struct mlir_op {
  hr_str_t name; /* with its dialect: "stablehlo.add" */
  int operand_count, result_count, region_count, successor_count;
  mlir_value_t **operands;
  mlir_value_t *results;
  mlir_region_t **regions;
  mlir_block_t **successors;
  int attr_count; /* inherent attributes (properties), by name; readers put both spellings here */
  const mlir_named_attr_t *attrs; /* sorted by name */
  int extra_count;                /* discardable attributes */
  const mlir_named_attr_t *extras;
  const mlir_attr_t *location; /* NULL: unknown */
  mlir_block_t *parent;
  uint32_t line, column; /* in text; 0 in bytecode */
};

/* Inherent or discardable attribute; NULL if absent. */
const mlir_attr_t *mlir_op_attr(const mlir_op_t *op, const char *name);
const mlir_attr_t *mlir_op_attr_named(const mlir_op_t *op, hr_str_t name);

typedef struct mlir_module {
  hr_arena_t arena;
  hr_source_t source; /* input, for positions in messages */
  hr_buffer_t *source_buffer;
  mlir_op_t *op;                       /* the builtin.module */
  HR_VEC(hr_buffer_t *) buffers;       /* blobs that attributes point into */
  int64_t vhlo_version[3];             /* version of a portable artifact; 0 0 0 otherwise */
  int platform_index;                  /* the one to take in a program for several platforms; -1:
                                          the first */
  bool platform_is_named;              /* its form names the platforms, and this is cpu's number */
  HR_VEC(mlir_block_t *) all_blocks;   /* owners of lists that are not in the arena */
  HR_VEC(mlir_region_t *) all_regions; /* the same, of blocks */
} mlir_module_t;

/* An empty module, which mlir_module_destroy frees. Errors: NO_MEMORY. */
hr_status_t mlir_module_create(mlir_module_t **out_module);
void mlir_module_destroy(mlir_module_t *module); /* accepts NULL */
/* A new block at the end of a region, an op at the end of a block. */
hr_status_t mlir_region_add_block(mlir_module_t *module, mlir_region_t *region,
                                  mlir_block_t **out_block);
hr_status_t mlir_block_add_op(mlir_block_t *block, mlir_op_t *op);

/* Failure about an op, with its name and position; `op` may be NULL. Code: INVALID. */
#define mlir_error(module, op, ...) mlir_error_from(__FILE__, __LINE__, (module), (op), __VA_ARGS__)
hr_status_t mlir_error_from(const char *file, int line, const mlir_module_t *module,
                            const mlir_op_t *op, const char *format, ...)
    __attribute__((format(printf, 5, 6), returns_nonnull));

#endif
