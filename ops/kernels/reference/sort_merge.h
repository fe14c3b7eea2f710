/* Stable merge sort by any comparator, with many comparisons per call. Merges of different lines,
 * and of different runs of one line, are independent: each round gathers the two head elements of
 * every pending merge, compares all pairs in one call of the body, and advances every merge by one
 * element. Cost: count * log2(count) comparisons per line; calls of the body: that divided by the
 * number of pending merges. */
#ifndef HLO_OPS_SORT_MERGE_H
#define HLO_OPS_SORT_MERGE_H

#include "ops/kernels/elementwise/body.h"

typedef struct sort_merge_plan {
  const op_body_t *comparator;
  int operands;
  const bool *reads; /* per operand: true if the comparator reads it */
} sort_merge_plan_t;

hr_status_t sort_merge_prepare(hr_arena_t *arena, const hlo_computation_t *comparator, int operands,
                               sort_merge_plan_t *plan);

typedef struct sort_pending sort_pending_t;

typedef struct sort_merge {
  op_env_t *env;
  const sort_merge_plan_t *plan;
  hlo_value_t *const *in;
  int64_t count, stride;       /* length and stride of a line, elements */
  int64_t *order, *next_order; /* permutations of all lines of the batch; those of the next level */
  sort_pending_t *pending;     /* merges in progress */
  void **pairs;                /* gathered elements, per parameter of the comparator */
  int64_t *strides;
  uint8_t *answers; /* results of the comparator */
} sort_merge_t;

/* For batches of up to max_lines lines. Storage comes from env->scratch. */
hr_status_t sort_merge_init(sort_merge_t *merge, op_env_t *env, const sort_merge_plan_t *plan,
                            hlo_value_t *const *in, int64_t count, int64_t stride,
                            int64_t max_lines);
/* Sorts the lines that start at the given elements. *out_order: `count` indices per line, valid
 * until the next run. */
hr_status_t sort_merge_run(sort_merge_t *merge, const int64_t *lines, int64_t line_count,
                           const int64_t **out_order);

#endif
