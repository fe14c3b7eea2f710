/* The IR: a module of computations of instructions. The module's arena owns everything. A verified
 * module is immutable and may be read from any thread. */
#ifndef HLO_IR_MODULE_H
#define HLO_IR_MODULE_H

#include "base/map.h"
#include "base/vec.h"
#include "ir/attr.h"

typedef struct hlo_module hlo_module_t;
typedef struct hlo_computation hlo_computation_t;
typedef struct hlo_sharding hlo_sharding_t; /* ir/sharding.h */
typedef struct hlo_origin hlo_origin_t;     /* ir/origin.h */

/* A frontend attribute. */
typedef struct hlo_name_value {
  hr_str_t name, value;
  bool raw; /* the value is a brace dictionary, written without quotes */
} hlo_name_value_t;
typedef struct hlo_name_values {
  int count;
  const hlo_name_value_t *items;
} hlo_name_values_t;

/* Location of an instruction in the user's source; empty strings and zeros are absent. */
typedef struct hlo_metadata {
  hr_str_t op_type, op_name, source_file;
  int64_t source_line, source_end_line, source_column, source_end_column, stack_frame_id;
  hr_ints_t profile_type;
  hr_str_t deduplicated_name, scheduling_name;
} hlo_metadata_t;

/* Named numbers that profilers attach; printed back, not used. */
typedef struct hlo_statistics {
  int64_t visualizing_index;
  int count;
  const struct hlo_statistic {
    hr_str_t name;
    double value;
  } * items;
} hlo_statistics_t;

/* Attributes that every op may have, beside those of its row in ops.def. NULL or empty: absent. */
typedef struct hlo_extra {
  const hlo_sharding_t *sharding;
  hlo_name_values_t frontend_attributes; /* sorted by name */
  hlo_instr_t **control_predecessors;
  int control_count;
  const hlo_statistics_t *statistics;
  int replication_count; /* parameter_replication */
  const bool *replication;
  const hlo_origin_t *origin;
  const hlo_metadata_t *metadata;
  hr_str_t backend_config;
} hlo_extra_t;

struct hlo_instr {
  hlo_opcode_t op;
  uint32_t id;   /* position in the computation's list */
  hr_str_t name; /* without '%'; unique in its computation */
  const hlo_shape_t *shape;
  int operand_count;
  int attr_count;
  int called_count;
  bool async_sugar; /* async-start/-update/-done that was written, and prints, as OP-start etc. */
  hlo_instr_t **operands;
  const hlo_attr_t *attrs;
  hlo_computation_t **called; /* in the order of their attributes; while: condition, body */
  hlo_value_t *literal;       /* CONSTANT: its value; NULL if it was elided ("{...}") */
  const hlo_extra_t *extra;   /* NULL: nothing */
  hlo_computation_t *parent;
  uint32_t line, column; /* position of the name in the source; 0: none */
};

struct hlo_computation {
  hr_str_t name;
  uint32_t id; /* position in the module's list */
  hlo_module_t *module;
  HR_VEC(hlo_instr_t *) instrs; /* operands before users; the schedule if the module is scheduled */
  HR_VEC(hlo_instr_t *) params; /* by number, without gaps once verified */
  hlo_instr_t *root;
  hr_str_t execution_thread; /* empty: main */
  bool is_fusion;            /* body of a fusion */
  bool is_async_wrapper;     /* hidden body of an OP-start */
  uint8_t purity;            /* cache of passes/: effects of the computation; 0: not known yet */
  uint32_t line, column;
};

/* Call-stack tables of the header. Positions in the lists count from 1; 0 is "none". */
typedef struct hlo_file_location {
  int64_t file_name_id, function_name_id, line, end_line, column, end_column;
} hlo_file_location_t;
typedef struct hlo_stack_frame {
  int64_t file_location_id, parent_frame_id; /* parent 0: none; printed plus one */
} hlo_stack_frame_t;
typedef struct hlo_stack_frames {
  int file_count, function_count, location_count, frame_count;
  const hr_str_t *files, *functions;
  const hlo_file_location_t *locations;
  const hlo_stack_frame_t *frames;
} hlo_stack_frames_t;

struct hlo_module {
  hr_arena_t arena;
  hr_source_t source;         /* text of the program, for positions in messages */
  hr_buffer_t *source_buffer; /* owns the bytes of `source` */
  hr_str_t name;
  HR_VEC(hlo_computation_t *) computations; /* callees before callers */
  hlo_computation_t *entry;
  HR_VEC(hlo_value_t *) values; /* literals that instructions borrow */
  int parameter_value_count;
  hlo_value_t **parameter_values; /* default arguments from a checkpoint; listed in `values` */
  hr_str_t *parameter_names;      /* names of these values in the checkpoint; empty: no variable */
  const char *checkpoint_prefix;  /* path prefix of the TensorFlow checkpoint; NULL: none */

  bool is_scheduled;
  bool alias_passthrough_params;
  hlo_aliasing_t input_output_alias;
  hlo_aliasing_t buffer_donor; /* operand and operand_index only */
  bool has_entry_layout;       /* entry_computation_layout was given */
  hlo_shapes_t entry_params;   /* entry_computation_layout: parameters, then result */
  const hlo_shape_t *entry_result;
  int propagate_params_count; /* allow_spmd_sharding_propagation_to_parameters; 0: absent */
  int propagate_output_count; /* ..._to_output; 0: absent */
  const bool *propagate_params;
  const bool *propagate_output;
  int64_t replica_count, num_partitions; /* 1 when not given */
  hlo_name_values_t frontend_attributes;
  /* Sharding per flattened result, set by the partitioner; NULL: results are whole. */
  const hlo_sharding_t *const *result_shardings;
  bool was_global; /* made by the partitioner: parameters and results are parts of global arrays */
  bool asks_platform; /* exported for several platforms, which the format does not name */
  const hlo_stack_frames_t *stack_frames; /* NULL: none */
  hr_str_t origin_recovery_table;         /* text between the braces, as written */
  hr_str_t debug_attributes;
};

/* An empty module of one replica and one partition. Errors: NO_MEMORY. */
hr_status_t hlo_module_create(hr_str_t name, hlo_module_t **out_module);
void hlo_module_destroy(hlo_module_t *module); /* accepts NULL */
/* Transfers a reference to the module, which releases it when destroyed; on failure, at once. */
hr_status_t hlo_module_adopt_value(hlo_module_t *module, hlo_value_t *value);

/* A new computation at the end of the module's list. */
hr_status_t hlo_computation_add(hlo_module_t *module, hr_str_t name,
                                hlo_computation_t **out_computation);
/* Leaves of all parameters. */
int hlo_computation_param_leaf_count(const hlo_computation_t *computation);

/* Description of a new instruction; the lists are copied into the module's arena. */
typedef struct hlo_instr_def {
  hlo_opcode_t op;
  hr_str_t name;
  const hlo_shape_t *shape; /* NULL: hlo_instr_add (ops/rules/builder.h) infers it */
  int operand_count, attr_count, called_count;
  hlo_instr_t *const *operands;
  const hlo_attr_t *attrs;
  hlo_computation_t *const *called;
  hlo_value_t *literal; /* already owned by the module */
  const hlo_extra_t *extra;
  uint32_t line, column;
} hlo_instr_def_t;
/* The description of a copy with these operands, without `extra`, which refers to instructions of
 * the original's computation. */
hlo_instr_def_t hlo_instr_def_of(const hlo_instr_t *from, hlo_instr_t *const *operands);
/* Creates an instruction of the computation, with the description's shape, but does not add it to
 * the lists. Errors: NO_MEMORY. */
hr_status_t hlo_instr_create(hlo_computation_t *computation, const hlo_instr_def_t *def,
                             hlo_instr_t **out_instr);
/* Appends an instruction to its computation's list, a parameter also to `params`. Errors: INVALID
 * if the parameter's number is taken or out of range; the verifier checks the rest. */
hr_status_t hlo_instr_append(hlo_instr_t *instr);

static inline hr_pos_t hlo_instr_pos(const hlo_instr_t *instr) {
  return (hr_pos_t){&instr->parent->module->source, instr->line, instr->column};
}
static inline int64_t hlo_parameter_number(const hlo_instr_t *instr) {
  return hlo_attr_int(instr, HLO_ATTR_PARAMETER_NUMBER);
}
/* Frontend attribute by name; empty if absent. */
hr_str_t hlo_frontend_attribute(const hlo_instr_t *instr, const char *name);
/* Shapes of the entry's parameter k and of its result. */
static inline const hlo_shape_t *hlo_entry_param_shape(const hlo_module_t *module, int k) {
  return module->entry->params.data[k]->shape;
}
static inline const hlo_shape_t *hlo_entry_result_shape(const hlo_module_t *module) {
  return module->entry->root->shape;
}

/* An INVALID error with the instruction's position and name; `label` is the specification's label
 * ("reduce C3") or NULL. The message tells what was found and wanted. */
#define hlo_error(instr, label, ...) \
  hlo_error_from(__FILE__, __LINE__, HR_INVALID, (instr), (label), __VA_ARGS__)
#define hlo_unsupported(instr, ...) \
  hlo_error_from(__FILE__, __LINE__, HR_UNSUPPORTED, (instr), NULL, __VA_ARGS__)
hr_status_t hlo_error_from(const char *file, int line, hr_code_t code, const hlo_instr_t *instr,
                           const char *label, const char *format, ...)
    __attribute__((format(printf, 6, 7), returns_nonnull));

/* Lists the shapes of the operands in the arena. */
hr_status_t hlo_operand_shapes(hr_arena_t *arena, const hlo_instr_t *instr,
                               const hlo_shape_t *const **out_shapes);

#endif
