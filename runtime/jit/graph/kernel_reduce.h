/* Types and functions shared by the kernels with reductions, kernel_rows.c and kernel_columns.c. */
#ifndef JIT_KERNEL_REDUCE_H
#define JIT_KERNEL_REDUCE_H

#include "jit/expr/reducer.h"
#include "jit/graph/jit_kernel.h"

#define JIT_MAX_REDUCTIONS 32

typedef struct jit_reduction {
  const hlo_instr_t *instr;
  const jit_expr_t *outer; /* index of its results */
  jit_reducer_t reducer;
  jit_node_t *inputs[JIT_MAX_RESULTS], *inits[JIT_MAX_RESULTS];
  int pass;       /* pass over the row that computes the reduction */
  int first_leaf; /* index of its first result among the results of all reductions */
  kir_value_t *values[JIT_MAX_RESULTS]; /* folded results, during emission; NULL: in memory or not
                                           computed yet */
} jit_reduction_t;

typedef struct jit_reduce {
  int reduction_count, leaf_count, pass_count;
  jit_reduction_t reductions[JIT_MAX_REDUCTIONS];
  /* Linear index of an element, and of its result: by value of the unrolled last dimension, if
   * loops.unrolled is set; else one of each. */
  int index_count;
  const jit_expr_t *full[JIT_MAX_SHORT], *outer[JIT_MAX_SHORT];
  const jit_expr_t *unit;   /* linear index among the kept dimensions that are not unrolled */
  const jit_expr_t *within; /* index of an element among the terms of its result */
  int64_t outer_count;      /* number of values of `unit` */
  int64_t within_count;     /* number of values of `within` */
  /* Blocks of the reduced dimensions, for few long reductions. Rows are cut at loop `cut`, columns
   * at the first reduced loop. */
  int64_t block, block_count;
  int cut;
  int64_t columns;    /* columns: values of the last kept loop per unit */
  int64_t groups;     /* columns: values of the next outer kept loop per unit, inside the loops over
                         rows; 0: a unit fixes that loop's variable */
  int unroll;         /* columns: trip count of the last reduced loop, fully unrolled; 0: none */
  int chunk;          /* columns: trip count of the last reduced loop, which is inside the loop over
                         columns, with accumulators in registers; 0: none */
  int saved_count;    /* nodes saved between passes in the worker's memory */
  size_t saved_bytes; /* bytes of each saved node, rounded up to HR_ALIGNMENT */
  size_t row_bytes;   /* rows: bytes of the worker's memory for a row of a group */
  int64_t group;      /* rows: number of rows that each pass processes together; 1: no groups */
  int64_t element_bytes; /* bytes of the widest type in scratch memory */
} jit_reduce_t;

/* Builds the graph over the nests: reductions in their order, roots, passes. Errors: UNSUPPORTED,
 * NO_MEMORY. */
hr_status_t jit_reduce_build(jit_kernel_t *kernel);
/* Derives the nests from the space of the form and builds the graph. Splits loops as long as that
 * makes indices affine. Errors: as jit_reduce_build. */
hr_status_t jit_reduce_plan(jit_kernel_t *kernel);
/* Must all elements of some reduction go into one accumulator one by one (OP_REDUCE_LEFT)? */
bool jit_reduce_is_from_left(const jit_reduce_t *reduce);
/* The reduction whose result the LEAF is. */
jit_reduction_t *jit_reduction_of(jit_reduce_t *reduce, const jit_node_t *leaf);
static inline uint32_t jit_within_vars(const jit_kernel_t *kernel) {
  return ((1u << kernel->loops.within.rank) - 1) << kernel->loops.nest.rank;
}
/* Initial values of a reduction, as scalars. */
void jit_reduction_inits(jit_emit_t *emit, jit_reduction_t *reduction, kir_value_t **out_inits);
/* Computes the variables of a unit from its number, and opens their levels: the first `rank`
 * variables of the outer nest. */
void jit_unit_enter(jit_emit_t *emit, const jit_kernel_t *kernel, kir_value_t *unit, int rank);

#define JIT_COLUMNS_UNROLL 4 /* columns: most rows of an iteration */
/* Columns: number of outer variables that a unit fixes. */
int jit_columns_fixed_rank(const jit_kernel_t *kernel);
/* Columns: number of values of the groups' variable (1: there is none), and of blocks of them. */
int64_t jit_columns_group_count(const jit_kernel_t *kernel);
int64_t jit_columns_group_blocks(const jit_kernel_t *kernel);
/* Bytes of the accumulators of one result in a block of rows. True if they are padded to whole
 * vectors: no accumulators of other outer variables follow the last column. */
int64_t jit_columns_acc_bytes(const jit_kernel_t *kernel);
bool jit_columns_pads(const jit_kernel_t *kernel);

hr_status_t jit_rows_plan(jit_kernel_t *kernel);
hr_status_t jit_rows_write(jit_kernel_t *kernel, jit_code_t *code);
hr_status_t jit_columns_plan(jit_kernel_t *kernel);
hr_status_t jit_columns_write(jit_kernel_t *kernel, jit_code_t *code);

#endif
