/* What kernels with reductions share: kernel_rows.c and kernel_columns.c. */
#ifndef JIT_KERNEL_REDUCE_H
#define JIT_KERNEL_REDUCE_H

#include "jit/expr/reducer.h"
#include "jit/graph/jit_kernel.h"

#define JIT_MAX_REDUCTIONS 32

typedef struct jit_reduction {
  const hlo_instr_t *instr;
  jit_reducer_t reducer;
  jit_node_t *inputs[JIT_MAX_RESULTS], *inits[JIT_MAX_RESULTS];
  int pass;                             /* over the row, in which it is computed */
  int first_leaf;                       /* number of its first result among all reductions' */
  kir_value_t *values[JIT_MAX_RESULTS]; /* while code is written */
} jit_reduction_t;

typedef struct jit_reduce {
  int reduction_count, leaf_count, pass_count;
  jit_reduction_t reductions[JIT_MAX_REDUCTIONS];
  const jit_expr_t *full, *outer; /* the place of an element, and of its result */
  const jit_expr_t *within;       /* its number among those that make one result */
  int64_t outer_count, within_count;
  /* What a block has of a loop: of rows, of loop `cut` of a row; of columns, of the first reduced
   * loop. */
  int64_t block, block_count;
  int cut;
  int64_t columns; /* columns: so many values of the last loop in a unit */
  int unroll;      /* columns: rows that are taken at once, by the last variable within; 0: none */
  int saved_count; /* nodes kept from pass to pass, in memory of the worker */
  size_t saved_bytes;    /* of each, rounded */
  size_t row_bytes;      /* rows: of a row of a group, in memory of the worker */
  int64_t group;         /* rows: so many together in each pass; 1: one after the other */
  int64_t element_bytes; /* of the widest type in memory of the kernel's own */
} jit_reduce_t;

/* Builds the formula over the nests: reductions in their order, roots, passes. Errors: UNSUPPORTED.
 */
hr_status_t jit_reduce_build(jit_kernel_t *kernel);
/* Nests as the form's space has them; builds, and splits loops as long as that straightens indices.
 */
hr_status_t jit_reduce_plan(jit_kernel_t *kernel);
jit_reduction_t *jit_reduction_of(jit_reduce_t *reduce, const hlo_instr_t *instr);
static inline uint32_t jit_within_vars(const jit_kernel_t *kernel) {
  return ((1u << kernel->loops.within.rank) - 1) << kernel->loops.nest.rank;
}
/* The initial values, as scalars. */
void jit_reduction_inits(jit_emit_t *emit, jit_reduction_t *reduction, kir_value_t **out_inits);
/* Variables of a unit out of its number: all of the outer nest's but the last `kept` ones. Opens
 * their levels. */
void jit_unit_enter(jit_emit_t *emit, const jit_kernel_t *kernel, kir_value_t *unit, int rank);

hr_status_t jit_rows_plan(jit_kernel_t *kernel);
hr_status_t jit_rows_write(jit_kernel_t *kernel, jit_code_t *code);
hr_status_t jit_columns_plan(jit_kernel_t *kernel);
hr_status_t jit_columns_write(jit_kernel_t *kernel, jit_code_t *code);

#endif
