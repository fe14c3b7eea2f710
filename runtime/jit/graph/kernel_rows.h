/* Writing kInput kernels whose last dimension is reduced (kernel_rows.c): one pass over a row, or
 * over one block of it (kernel_rows_pass.c). */
#ifndef JIT_KERNEL_ROWS_H
#define JIT_KERNEL_ROWS_H

#include "jit/graph/kernel_reduce.h"

#define JIT_ROWS_UNROLL_MAX 4

typedef struct jit_rows {
  jit_kernel_t *kernel;
  jit_reduce_t *reduce;
  int lanes; /* lanes of the current pass */
  int unroll;
  int first_carry[JIT_MAX_REDUCTIONS]; /* first carry of each reduction of the current pass */
  bool is_split;                       /* results of reductions are in memory */
  kir_value_t *number;                 /* number of the row in its group; NULL: there is no group */
  kir_value_t *block_from; /* first value of the block in the cut dimension; NULL: whole rows */
  kir_value_t *is_first;   /* is the iteration the first of its block? NULL: whole rows */
  kir_value_t *cleanups[JIT_MAX_REDUCTIONS][JIT_ROWS_UNROLL_MAX]
                       [JIT_MAX_RESULTS]; /* ascending order: elements of an iteration */
} jit_rows_t;

/* Provides results of reductions, and values saved by an earlier pass. */
kir_value_t *jit_rows_provide(jit_emit_t *emit, jit_node_t *node);
/* Address at which a result of a reduction is kept for later passes. */
kir_value_t *jit_rows_result_address(jit_emit_t *emit, const jit_rows_t *rows, int leaf);
/* Address of result `leaf` in shared memory: of a block, or, where `block` is NULL, of the row. */
kir_value_t *jit_rows_shared_address(jit_emit_t *emit, const jit_rows_t *rows, kir_value_t *block,
                                     int leaf);
/* One sweep over the row, or over one block of it. */
void jit_rows_emit_pass(jit_emit_t *emit, jit_rows_t *rows, int pass, kir_value_t *block);
/* Folds all sets and lanes of a reduction to one value, without its initial values. */
void jit_rows_fold(jit_emit_t *emit, jit_rows_t *rows, int i, kir_value_t **out_values);
/* Combines with the initial value and makes the result available to later passes. */
void jit_rows_finish(jit_emit_t *emit, jit_reduction_t *reduction, kir_value_t **values);
/* Stores the results that have one value for a row. All are computed before the first store, which
 * may overwrite another root's operand. */
void jit_rows_store_results(jit_emit_t *emit, jit_kernel_t *kernel);
/* Forgets the results of reductions of the row before. */
void jit_rows_clear(jit_reduce_t *reduce);

#endif
