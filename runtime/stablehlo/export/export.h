/* The exporter from the IR to an MLIR tree of StableHLO: declarations shared by its files. Tuples
 * are dissolved: an instruction corresponds to the list of its leaves, and only custom calls have
 * tuples.
 * Errors: exporter_t.status keeps the first failure; later results are NULL, and all functions
 * accept NULL, so that calls can be nested.
 * Owner:  everything lives in the arena of the tree. */
#ifndef STABLEHLO_EXPORT_H
#define STABLEHLO_EXPORT_H

#include "ir/sharding.h"
#include "mlir/text/mlir_parser.h"
#include "stablehlo/stablehlo.h"

#define EXPORT_MAX_DEPTH 500      /* most levels of nested regions */
#define EXPORT_FREE_OPS (1 << 20) /* ops that a program of any size may have */

typedef struct export_values {
  int count;
  mlir_value_t **items; /* an item is NULL where the leaf has no form (what a start alone gives) */
} export_values_t;

typedef struct exporter {
  const hlo_module_t *from;
  mlir_module_t *to;
  hr_arena_t *arena; /* arena of the tree */
  mlir_block_t *top; /* block of the module */
  hr_status_t status;
  const hlo_instr_t *instr; /* instruction being exported, for positions of failures */
  int depth;                /* nesting of inlined computations */
  int64_t op_count;
  int64_t most_ops; /* as inlining repeats computations: 2^n times in n levels of two branches */
  hr_map_t symbols; /* names of functions that are taken */
  int *argument_starts; /* by parameter of the entry: number of the argument of its first leaf */
  hr_str_t *names;      /* function of each computation by id; empty: it is none (yet) */
  HR_VEC(const hlo_computation_t *) pending; /* have a name but no function yet */
  const hlo_metadata_t *last_metadata;       /* metadata of last_location */
  const mlir_attr_t *last_location;
  int lost_orders;               /* control dependencies on instructions without an op */
  const hlo_instr_t *first_lost; /* the first such instruction */
} exporter_t;

/* One computation while it is exported into a block; each inlining has its own frame. */
typedef struct export_frame {
  exporter_t *exporter;
  mlir_block_t *block;
  export_values_t *values; /* by instruction id */
  bool *awaited;           /* by instruction id: is a control predecessor; NULL: none is */
} export_frame_t;

/* --- rows of export.def --- */
typedef enum export_attr_kind {
  EXPORT_END, /* 0 */
  EXPORT_I64,
  EXPORT_I32,
  EXPORT_F32,
  EXPORT_STR,
  EXPORT_INTS,
  EXPORT_BOOL,
  EXPORT_UNIT,
  EXPORT_ENUM,
  EXPORT_DIM
} export_attr_kind_t;

typedef struct export_attr_row {
  export_attr_kind_t kind;
  const char *name;
  hlo_attr_key_t key;
  const char *enum_name; /* ENUM */
} export_attr_row_t;

typedef struct export_row {
  const char *name; /* op name with its dialect */
  void (*export)(export_frame_t *frame, const hlo_instr_t *instr, const struct export_row *row);
  const export_attr_row_t *attrs; /* up to one of kind END */
} export_row_t;

typedef void export_fn(export_frame_t *frame, const hlo_instr_t *instr, const export_row_t *row);

/* --- failures --- */
static inline bool export_failed(const export_frame_t *frame) {
  return frame->exporter->status != NULL;
}
/* Stores the first failure, releases later ones; true if there is any. */
static inline bool export_keep(exporter_t *exporter, hr_status_t status) {
  if (status && exporter->status) hr_status_release(status);
  if (status && !exporter->status) exporter->status = status;
  return exporter->status != NULL;
}
#define export_error(frame, instr, ...) \
  export_keep((frame)->exporter, hlo_unsupported((instr), __VA_ARGS__))

/* --- types (export_types.c) --- */
const mlir_type_t *export_type(exporter_t *exporter,
                               const hlo_shape_t *shape); /* tuples: tuple<...> */
const mlir_type_t *export_tensor(exporter_t *exporter, hr_dtype_t dtype, int rank,
                                 const int64_t *dims);
typedef struct export_types {
  int count;
  const mlir_type_t **items;
} export_types_t;
export_types_t export_leaf_types(exporter_t *exporter, const hlo_shape_t *shape);
void *export_alloc(exporter_t *exporter, size_t count,
                   size_t each);                           /* cleared; NULL after a failure */
hr_str_t export_text(exporter_t *exporter, hr_str_t from); /* a copy in the tree's arena */

/* --- attributes (export_attrs.c) --- */
#define EXPORT_MAX_ATTRS 20
typedef struct export_attrs {
  mlir_named_attr_t items[EXPORT_MAX_ATTRS];
  int count;
} export_attrs_t;
void export_add(exporter_t *exporter, export_attrs_t *attrs, const char *name,
                const mlir_attr_t *value);
const mlir_attr_t *export_integer(exporter_t *exporter, int64_t value, int width);
const mlir_attr_t *export_ints(exporter_t *exporter, int64_t count, const int64_t *values);
const mlir_attr_t *export_string(exporter_t *exporter, hr_str_t text);
const mlir_attr_t *export_symbol(exporter_t *exporter, hr_str_t name);
const mlir_attr_t *export_array(exporter_t *exporter, int count, const mlir_attr_t *const *items);
/* dense<...> : tensor<rows x columns x i64> */
const mlir_attr_t *export_matrix(exporter_t *exporter, int64_t rows, int64_t columns,
                                 const int64_t *values);
const mlir_attr_t *export_elements(exporter_t *exporter, const hlo_value_t *value);
const mlir_attr_t *export_struct(exporter_t *exporter, const char *dialect, const char *mnemonic,
                                 const export_attrs_t *fields);
const mlir_attr_t *export_enum(exporter_t *exporter, const char *enum_name, hr_str_t word);
/* Parses an MLIR attribute such as "{a = 1 : i64}"; NULL, without a failure, if the text is none.
 */
const mlir_attr_t *export_parsed(exporter_t *exporter, hr_str_t text);
void export_row_attrs(exporter_t *exporter, const hlo_instr_t *instr, const export_row_t *row,
                      export_attrs_t *attrs);
/* True if a dot has an algorithm; StableHLO then allows no precisions. */
bool export_dot_algorithm(const hlo_instr_t *instr);
void export_add_precision(exporter_t *exporter, const hlo_instr_t *instr, export_attrs_t *attrs);
/* Attributes that any instruction may have (sharding, frontend attributes), as discardable ones. */
void export_extra(exporter_t *exporter, const hlo_instr_t *instr, bool is_awaited,
                  export_attrs_t *attrs);
/* The frontend attributes, and `notes` among them, as mhlo.frontend_attributes. */
void export_frontend(exporter_t *exporter, const hlo_name_values_t *list,
                     const export_attrs_t *notes, export_attrs_t *attrs);
const mlir_attr_t *export_sharding(exporter_t *exporter, const hlo_sharding_t *sharding);

/* --- locations and attributes hlo.* (export_frontend_attrs.c) --- */
/* Location from the metadata of an instruction; NULL: it has none. */
const mlir_attr_t *export_location(exporter_t *exporter, const hlo_instr_t *instr);
/* HLO attributes that the op cannot express, as frontend attributes. */
void export_frontend_attrs(exporter_t *exporter, const hlo_instr_t *instr, bool is_awaited,
                           export_attrs_t *attrs);
void export_module_frontend_attrs(exporter_t *exporter, export_attrs_t *attrs);
/* By id: true for control predecessors; NULL: none. */
hr_status_t export_find_awaited(exporter_t *exporter, const hlo_computation_t *computation,
                                bool **out_awaited);

/* Attributes of custom calls that HLO keeps as frontend attributes, for it has no field for them.
 */
extern const char *const export_target_attrs[];
extern const size_t export_target_attr_count;

/* --- ops (export_ops.c) --- */
/* Appends an op; its results are op->results. NULL after a failure. */
mlir_op_t *export_op(export_frame_t *frame, const char *name, int operand_count,
                     mlir_value_t *const *operands, int result_count,
                     const mlir_type_t *const *types, const export_attrs_t *attrs);
/* Adds attributes to an op, sorted into its own and discardable ones. */
void export_add_to_op(exporter_t *exporter, mlir_op_t *op, const export_attrs_t *attrs);
/* One result of type `type`. */
mlir_value_t *export_value(export_frame_t *frame, const char *name, int operand_count,
                           mlir_value_t *const *operands, const mlir_type_t *type,
                           const export_attrs_t *attrs);
mlir_value_t *export_reshape(export_frame_t *frame, mlir_value_t *x, int rank, const int64_t *dims);
mlir_value_t *export_constant_of(export_frame_t *frame, const mlir_attr_t *value);
/* The leaves of operand k, and of all operands. */
export_values_t export_leaves(export_frame_t *frame, const hlo_instr_t *instr, int k);
export_values_t export_operands(export_frame_t *frame, const hlo_instr_t *instr);
/* The one leaf of operand k. */
mlir_value_t *export_operand(export_frame_t *frame, const hlo_instr_t *instr, int k);
/* Sets the values that the instruction stands for. */
void export_set(export_frame_t *frame, const hlo_instr_t *instr, export_values_t values);
void export_set_value(export_frame_t *frame, const hlo_instr_t *instr, mlir_value_t *value);
void export_set_results(export_frame_t *frame, const hlo_instr_t *instr, mlir_op_t *op);
/* Operands, the row's attributes, results of the instruction's leaf types. */
mlir_op_t *export_plain_op(export_frame_t *frame, const hlo_instr_t *instr, const export_row_t *row,
                           const export_attrs_t *attrs);

/* --- differences of meaning (export_differences.c) --- */
/* An array in chunks, one per member of a collective, each as large as `part`. */
typedef struct export_chunks {
  const hlo_shape_t *whole, *part;
  bool by_partition; /* ordered by partition, then replica: to be by replica, then partition; or the
                        inverse */
} export_chunks_t;
/* x with its chunks in the other order where the mode is cross_replica_and_partition. */
mlir_value_t *export_order_members(export_frame_t *frame, const hlo_instr_t *instr,
                                   const export_chunks_t *chunks, mlir_value_t *x);

/* --- computations (export_module.c) --- */
/* Exports the computation into a block, with `args` as the leaves of its parameters; returns the
 * root's leaves. */
export_values_t export_computation(exporter_t *exporter, const hlo_computation_t *computation,
                                   mlir_block_t *block, const export_values_t *args);
/* A new region of `op` with the computation in it. args NULL: its parameters' leaves are the
 * region's arguments. */
void export_region(export_frame_t *frame, mlir_op_t *op, int index,
                   const hlo_computation_t *computation, const export_values_t *args);
void export_alloc_regions(export_frame_t *frame, mlir_op_t *op, int count);
/* Which argument of the entry an alias means; -1: there is none. */
int export_argument_of(const exporter_t *exporter, const hlo_alias_t *alias);
/* The function that the computation becomes. */
hr_str_t export_function_name(exporter_t *exporter, const hlo_computation_t *computation);

/* Functions of rows; declared for the table. */
#define EXPORT(op, name, function, ...) export_fn export_##function;
#include "stablehlo/export/export.def"
#undef EXPORT

#endif
