/* Custom calls without their functions: the table of targets, their traits, and the attributes that
 * passes and the planner read. The functions are in ops/kernels/custom. Thread: any. */
#ifndef HLO_OPS_CUSTOM_CALL_TABLE_H
#define HLO_OPS_CUSTOM_CALL_TABLE_H

#include "ir/module.h"
#include "mlir/mlir_dict.h"

typedef enum op_custom_trait {
  CUSTOM_IDENTITY = 1,         /* a marker: the result is operand 0, or a tuple of all operands */
  CUSTOM_SHAPED_BY_KERNEL = 2, /* the kernel determines dynamic sizes of results while it runs */
  CUSTOM_UNLESS_HANDLED = 4,   /* a handler that the process registered has precedence */
  CUSTOM_OR_NOTHING = 8        /* a marker, or a call without result */
} op_custom_trait_t;

typedef struct op_custom_call {
  const char *target; /* '?' stands for any one character; "_ffi" may follow */
  int row;            /* in custom_calls.def, or OP_CUSTOM_HOST */
  int traits;         /* bits of op_custom_trait_t */
  const char *note;   /* for targets that are refused or skipped: the reason, and the remedy */
} op_custom_call_t;

enum { /* rows of functions that the user registered, after those of the table */
#define CUSTOM_CALL(target, kernel, native, traits, note) +1
       OP_CUSTOM_HOST = 0
#include "ops/query/custom_calls.def"
#undef CUSTOM_CALL
       ,
       OP_CUSTOM_FFI
};

/* The row of a target: of the table, else OP_CUSTOM_FFI if a handler of that name is registered,
 * else OP_CUSTOM_HOST if a function of that name is registered or in a plugin, else NULL. */
const op_custom_call_t *op_custom_call_find(hr_str_t target);
/* The target of the table whose name differs least, for messages; NULL if more than half of the
 * characters differ. */
const char *op_custom_call_nearest(hr_str_t target);
static inline hr_str_t op_custom_call_target(const hlo_instr_t *instr) {
  return hlo_attr_str(instr, HLO_ATTR_CUSTOM_CALL_TARGET);
}
/* True for interpreter.run_parallel; gives its grid, or 0 x 0 if the grid is missing or its
 * computations do not fill it. */
bool op_parallel_grid(const hlo_instr_t *instr, int *out_replicas, int *out_partitions);
/* True for markers whose result is operand 0. */
bool op_custom_call_is_identity(const hlo_instr_t *instr);
/* True for calls of a handler that is instantiated: it may keep a state between executions. */
bool op_custom_call_keeps_state(const hlo_instr_t *instr);
/* True for calls that must return all their operands unchanged. */
bool op_custom_call_is_marker(const hlo_instr_t *instr);
/* Checks that the result is the only operand, or a tuple with an element for each operand. Errors:
 * INVALID with the shapes. */
hr_status_t op_custom_call_check_marker(const hlo_instr_t *instr);

/* backend_config as a dictionary in the arena; empty if there is none. Errors: INVALID. */
hr_status_t custom_config(hr_arena_t *arena, const hlo_instr_t *instr,
                          const dict_value_t **out_dict);
/* The order of ApproxTopK: its dimension, and true if the greatest element is first. Errors:
 * INVALID if the configuration cannot be read. */
hr_status_t custom_approx_order(hr_arena_t *arena, const hlo_instr_t *instr, int rank,
                                int64_t *out_dim, bool *out_descends);

#endif
