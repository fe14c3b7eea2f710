/* The importer of MLIR trees (StableHLO, CHLO, func, check, shape, sdy): its state, and the parts
 * that its files share. Each op of a block becomes instructions of a builder; mlir_value_t.mapped
 * holds the instruction of a value. A row of stablehlo.def gives each op name its function.
 * Errors: INVALID or UNSUPPORTED with the op's name and position. Failures of the builder stick and
 *         are reported by import_set_results, with which every import function ends.
 * Owner:  everything lives in the module's arena.
 * Source: StableHLO spec; the labels in messages are its constraints. */
#ifndef STABLEHLO_IMPORT_H
#define STABLEHLO_IMPORT_H

#include "mlir/mlir.h"
#include "mlir/sdy/sdy.h"
#include "ops/rules/builder.h"
#include "stablehlo/stablehlo.h"

typedef struct import_function {
  const mlir_op_t *op;
  hlo_computation_t *computation; /* NULL until imported */
  bool is_importing;              /* being imported: a call of it now is recursion */
} import_function_t;

#define IMPORT_SOURCE_LOCS 4096
typedef struct import_source_loc import_source_loc_t;

typedef struct importer {
  const mlir_module_t *from;
  const stablehlo_readers_t *readers;
  hlo_module_t *module;
  hr_arena_t *arena;    /* arena of the module */
  hr_map_t functions;   /* import_function_t by name */
  const hr_map_t *rows; /* import_row_t by op name */
  const char *
      *attrs; /* attribute names of each row's op, from bytecode_ops.def; NULL: not looked up yet */
  hr_map_t names;      /* computation names in use */
  int body_count;      /* for names of region bodies */
  int depth;           /* nesting of the block being imported */
  int64_t tuple_parts; /* elements of all tuple shapes so far */
  bool is_interpreted; /* has check ops: choices of the spec are those of its interpreter */
  hr_map_t awaited;    /* control predecessors, by "computation/name" */
  import_source_loc_t *source_locs[IMPORT_SOURCE_LOCS]; /* cache, see import_location.c */
  sdy_verifier_t *sdy;    /* verifier of the functions that are imported */
  const mlir_op_t *entry; /* function whose arguments are the parameters */
  const mlir_op_t *at;    /* the op being imported, for messages about its types and attributes */
} importer_t;

/* Where ops of one block go. */
typedef struct import_scope {
  importer_t *importer;
  hlo_builder_t builder;
} import_scope_t;

/* How an op is imported. `op` is the HLO op of the same meaning, for rows whose function needs it.
 */
typedef struct import_row {
  const char *name;
  hlo_opcode_t op;
  int operands; /* as in hlo_op_info_t */
  hr_status_t (*import)(import_scope_t *scope, mlir_op_t *op, const struct import_row *row);
} import_row_t;

#define import_error(scope, op, ...) \
  hlo_builder_or(&(scope)->builder, mlir_error((scope)->importer->from, (op), __VA_ARGS__))

/* Whether any op in functions of the block is a check. */
bool import_has_checks(const mlir_block_t *block);

/* --- frontend attributes hlo.* and locations (import_frontend_attrs.c, import_location.c) --- */
/* Metadata from the location of an op; NULL: the location has none. */
hr_status_t import_location(importer_t *importer, const mlir_attr_t *location,
                            const hlo_metadata_t **out_metadata);
/* HLO attributes that the exporter stored in frontend attributes hlo.*. */
typedef struct import_frontend_attrs {
  hlo_opcode_t op; /* HLO_OPCODE_COUNT: not of an op */
  stablehlo_frontend_attrs_t parsed;
  const hlo_shape_t *shape;
  hr_str_t name, after;
} import_frontend_attrs_t;
/* Splits a dictionary into the program's own entries, which stay sorted, and those of the exporter.
 */
hr_status_t import_sort_frontend_attrs(importer_t *importer, const mlir_attr_t *dict,
                                       hlo_name_values_t *out_own,
                                       import_frontend_attrs_t *out_note);
/* Adds the exporter's attributes to those of every instruction of the op. */
hr_status_t import_frontend_attrs_extra(importer_t *importer, const import_frontend_attrs_t *note,
                                        hlo_extra_t *extra);
/* Adds the rest to the op's instruction: the last one of its kind made from number `first` on. */
hr_status_t import_frontend_attrs_instr(import_scope_t *scope, const import_frontend_attrs_t *note,
                                        size_t first);
hr_status_t import_module_frontend_attrs(importer_t *importer, const mlir_op_t *op);

/* --- types and values (import_types.c) --- */
hr_status_t import_shape(importer_t *importer, const mlir_type_t *type,
                         const hlo_shape_t **out_shape);
hr_status_t import_dtype(importer_t *importer, const mlir_type_t *type, hr_dtype_t *out_dtype);
/* Elements of a DENSE attribute as a new value (splats expanded). */
hr_status_t import_literal(importer_t *importer, const mlir_attr_t *attr, hlo_value_t **out_value);
/* Instruction of an operand; NULL only after a failure. */
static inline hlo_instr_t *import_operand(const mlir_op_t *op, int k) {
  return op->operands[k]->mapped;
}
hr_status_t import_operands(import_scope_t *scope, const mlir_op_t *op,
                            hlo_instr_t ***out_operands);
hr_status_t import_result_shape(import_scope_t *scope, const mlir_op_t *op, int index,
                                const hlo_shape_t **out_shape);
/* Shapes of all results as one: the shape itself for one result, a tuple otherwise. */
hr_status_t import_results_shape(import_scope_t *scope, const mlir_op_t *op,
                                 const hlo_shape_t **out_shape);
/* Maps the results to `instr`: itself for one result, the elements of its tuple otherwise. Reports
 * the builder's failure, if any: every import function ends with it. */
hr_status_t import_set_results(import_scope_t *scope, mlir_op_t *op, hlo_instr_t *instr);
/* Ops that always give a tuple in HLO, even for one result. */
hr_status_t import_set_tuple_results(import_scope_t *scope, mlir_op_t *op, hlo_instr_t *tuple);

/* Rules of StableHLO that HLO does not have (import_verify.c). Errors: INVALID with the rule's
 * label. */
hr_status_t import_verify(import_scope_t *scope, const mlir_op_t *op);

/* --- attributes (import_attrs.c) --- */
int64_t import_int(const mlir_op_t *op, const char *name, int64_t fallback);
bool import_bool(const mlir_op_t *op, const char *name, bool fallback);
double import_float(const mlir_op_t *op, const char *name, double fallback);
hr_str_t import_str(const mlir_op_t *op, const char *name);
/* array<i64>, dense i64 (old spelling, splats too) or an array of integers; `count` elements of
 * `fallback` if absent (count -1: none). */
hr_status_t import_ints(import_scope_t *scope, const mlir_op_t *op, const char *name, int64_t count,
                        int64_t fallback, hr_ints_t *out_ints);
hr_status_t import_ints_of(import_scope_t *scope, const mlir_attr_t *attr, hr_ints_t *out_ints);
/* import_ints of an attribute that must not be a matrix. */
hr_status_t import_list(import_scope_t *scope, const mlir_op_t *op, const char *name, int64_t count,
                        int64_t fallback, hr_ints_t *out_ints);
/* Field of a structure attribute, as integers; empty if absent. */
hr_status_t import_field_ints(import_scope_t *scope, const mlir_op_t *op, const char *attr,
                              const char *field, hr_ints_t *out_ints);
int64_t import_field_int(const mlir_op_t *op, const char *attr, const char *field);
/* Value of an enumerated attribute whose words are those of ops/table/enums.def, perhaps with a
 * prefix; -1: absent. */
hr_status_t import_enum(import_scope_t *scope, const mlir_op_t *op, const char *name,
                        hlo_enum_id_t id, const char *prefix, int *out_value);
/* An attribute as the text that HLO keeps, in the module's arena. */
hr_status_t import_attr_text(import_scope_t *scope, const mlir_attr_t *attr, hr_str_t *out_text);
/* A growing list of HLO attributes for one instruction. */
typedef struct import_attrs {
  hlo_attr_t items[24];
  int count;
} import_attrs_t;
static inline void import_add(import_attrs_t *attrs, hlo_attr_t attr) {
  attrs->items[attrs->count++] = attr;
}
hr_status_t import_add_ints(import_scope_t *scope, import_attrs_t *attrs, hlo_attr_key_t key,
                            const mlir_op_t *op, const char *name);
hr_status_t import_add_field_ints(import_scope_t *scope, import_attrs_t *attrs, hlo_attr_key_t key,
                                  const mlir_op_t *op, const char *attr, const char *field);
hr_status_t import_add_precision(import_scope_t *scope, import_attrs_t *attrs, const mlir_op_t *op);
/* comparison_direction and compare_type. */
hr_status_t import_add_compare(import_scope_t *scope, import_attrs_t *attrs, const mlir_op_t *op);
/* dimension_numbers and further attributes of gathers and convolutions, static or dynamic; padding
 * NULL: the op's attribute. */
hr_status_t import_gather_numbers(import_scope_t *scope, import_attrs_t *attrs,
                                  const mlir_op_t *op);
hr_status_t import_convolution_numbers(import_scope_t *scope, import_attrs_t *attrs,
                                       const mlir_op_t *op, const hr_ints_t *padding);
/* Attributes that every op may have (mhlo.sharding, mhlo.frontend_attributes, ...); NULL: none. */
hr_status_t import_extra(import_scope_t *scope, const mlir_op_t *op, const hlo_extra_t **out_extra,
                         import_frontend_attrs_t *out_note);
/* An mhlo.sharding of `op`, or of one of its arguments or results; NULL if there is none. */
hr_status_t import_sharding(importer_t *importer, const mlir_op_t *op, const mlir_attr_t *attr,
                            const hlo_sharding_t **out_sharding);
/* Field `name` of the dictionary of argument or result `index` (`list`: arg_attrs or res_attrs);
 * NULL: none. */
const mlir_attr_t *import_value_attr(const mlir_op_t *function, const char *list, int index,
                                     const char *name);

/* mhlo.layout_mode and mhlo.memory_kind of the entry's arguments and results, as attributes of the
 * module where they are not the default (import_places.c). Errors: NO_MEMORY. */
hr_status_t import_places(importer_t *importer, const mlir_op_t *entry);
/* An argument by which programs for several platforms choose; it becomes no parameter. */
bool import_is_platform_index(const mlir_op_t *function, int index);

/* Imports a custom call that stands for an op of mhlo (import_mhlo.c); *out_done is false for other
 * targets. */
hr_status_t import_mhlo_call(import_scope_t *scope, mlir_op_t *op, bool *out_done);

/* An array in one chunk per member of a collective along `dimension`, each as large as `part`. */
typedef struct member_chunks {
  const hlo_shape_t *part;
  int64_t dimension;
  bool by_partition; /* ordered by partition, then replica: to be by replica, then partition; or the
                        inverse */
} member_chunks_t;
/* Puts the chunks of *x into the other order where the mode of `attrs` is
 * cross_replica_and_partition (import_differences.c). */
hr_status_t import_order_members(import_scope_t *scope, const import_attrs_t *attrs,
                                 const member_chunks_t *chunks, hlo_instr_t **x);

/* The ragged_all_to_all of JAX, a custom call whose configuration lists the groups
 * (import_collective.c). */
bool import_is_ragged_all_to_all(const mlir_op_t *op);
hr_status_t import_ragged_all_to_all(import_scope_t *scope, mlir_op_t *op);

/* --- blocks and ops (import_block.c) --- */
hr_status_t import_list_rows(importer_t *importer);
/* An op as that of another row, for ops that stand for others: the row's checks and its function.
 * */
hr_status_t import_by_row(import_scope_t *scope, mlir_op_t *op, const import_row_t *row);

/* --- functions and regions (import_module.c) --- */
/* A function with a body; declarations without one are never imported. */
bool import_is_function(const mlir_op_t *op);
/* @main; else the only function; else the first public one. NULL: none. */
const mlir_op_t *import_find_entry(const mlir_module_t *from);
/* Ops of the module's block by position. */
typedef struct import_range {
  size_t first, end;
} import_range_t;
/* Imports `entry` and its callees, then all other functions of the range. out_reached may be NULL;
 * else out_reached[i] is set for each of these functions, i being its position in the module's
 * block. */
hr_status_t import_from(const mlir_module_t *from, const mlir_op_t *entry,
                        const stablehlo_readers_t *readers, hlo_module_t *module,
                        import_range_t range, bool *out_reached);
hr_status_t import_function_named(import_scope_t *scope, const mlir_op_t *op, hr_str_t name,
                                  hlo_computation_t **out_computation);
/* A region whose arguments are the parameters, one each (bodies of reduce, sort, ...). Values from
 * outside must be constants, which are made again inside. */
hr_status_t import_body(import_scope_t *scope, const mlir_op_t *op, int region,
                        hlo_computation_t **out_computation);
/* Values that a region uses and that are defined outside of it, each once; adds to `values`. */
typedef struct import_values {
  mlir_value_t **data;
  size_t count, capacity;
  hr_map_t known; /* by address */
} import_values_t;
void import_values_deinit(import_values_t *values);
hr_status_t import_captures(const mlir_region_t *region, import_values_t *values);
/* A region as a computation of one tuple parameter: (args..., captured...). Its result is the tuple
 * of the returned values, followed by the captured ones if pass_captured; or, if `bare`, the single
 * returned value. */
typedef struct import_region_form {
  const import_values_t *captured;
  bool pass_captured, bare;
} import_region_form_t;
hr_status_t import_region(import_scope_t *scope, const mlir_op_t *op, int region,
                          const import_region_form_t *form, hlo_computation_t **out_computation);
hr_status_t import_block(import_scope_t *scope, mlir_block_t *block, mlir_op_t **out_terminator);
/* The only block of a region; NULL: it has none, or several. */
mlir_block_t *import_block_of(const mlir_op_t *op, int region);
/* A computation for what `op` has inside, of a name like the wanted one, and its end once all of it
 * is imported. */
hr_status_t import_scope_new(importer_t *importer, hr_str_t wanted, const mlir_op_t *op,
                             import_scope_t *scope);
hr_status_t import_scope_close(import_scope_t *scope, hlo_instr_t *root);
/* Values of a terminator as a tuple; `bare`: a single one unwrapped. NULL only after a failure. */
hlo_instr_t *import_returned(import_scope_t *scope, const mlir_op_t *terminator, bool bare);

/* --- helpers of expansions --- */
/* Broadcasts x to `shape`: dimension d becomes dimension map[d], repeated where its size is 1. */
hr_status_t import_broadcast_to(import_scope_t *scope, const mlir_op_t *op, hlo_instr_t *x,
                                const hlo_shape_t *shape, hr_ints_t map, hlo_instr_t **out_x);

/* Attributes of an instruction that every op may have, as a copy that may be changed. */
hr_status_t import_op_extra(importer_t *importer, hlo_instr_t *instr, hlo_extra_t **out_extra);

/* --- Shardy (import_sdy.c) --- */
/* Text of an sdy attribute without what is around it: in an op's pretty form the text alone, in its
 * generic form #sdy.sharding<...>. `open`, if not 0, is the bracket that a list has around it. */
hr_str_t import_sdy_text(const mlir_op_t *op, const char *name, char open, char close);
/* Appends a frontend attribute whose name comes after all that there are. */
hr_status_t import_sdy_attr(importer_t *importer, const char *name, hr_str_t text,
                            hlo_name_values_t *list);
/* sdy.sharding and sdy.sharding_rule of any op, as the frontend attributes that HLO has for them.
 */
bool import_has_sdy(const mlir_op_t *op);
hr_status_t import_sdy_attrs(importer_t *importer, const mlir_op_t *op, hlo_name_values_t *list);
/* Takes the shardings of the op's results from those instructions made from number `first` on that
 * do not give the results. */
hr_status_t import_sdy_of_results(import_scope_t *scope, const mlir_op_t *op, size_t first);
/* Marks the returned values whose results have shardings; `values` are replaced. */
hr_status_t import_result_marks(import_scope_t *scope, const mlir_op_t *function, int count,
                                hlo_instr_t **values);
hr_status_t import_meshes(importer_t *importer, const mlir_block_t *block);
/* Sets sharding, frontend attributes and layout of an argument. */
hr_status_t import_argument_extra(importer_t *importer, const mlir_op_t *function, int index,
                                  hlo_instr_t *param);

/* Sizes that are known only at run time, as a vector (import_shape.c): the
 * sizes of x at the given positions of an array of this rank, 1 elsewhere; and the broadcast of two
 * such vectors, in which a size of 1 yields. */
hlo_instr_t *import_sizes_at(import_scope_t *scope, hlo_instr_t *x, int rank,
                             const int64_t *places);
hlo_instr_t *import_join_sizes(import_scope_t *scope, hlo_instr_t *a, hlo_instr_t *b);

/* Replaces operands that are futures of an async-start by what it gives, except for async_done
 * (import_legacy.c). */
hr_status_t import_await_operands(import_scope_t *scope, const mlir_op_t *op);

/* Function of a row by op name; declared for the table. */
#define IMPORT(name, op, operands, function) \
  hr_status_t function(import_scope_t *, mlir_op_t *, const import_row_t *);
#include "stablehlo/stablehlo.def"
#undef IMPORT

#endif
