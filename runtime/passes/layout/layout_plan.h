/* Which arrays of a computation are best kept in another order of their dimensions.
 *
 * Convolutions read and write arrays with channels innermost, and bring others into that order in
 * every run. Layouts propagate from convolutions through layout-agnostic ops; each instruction
 * there, each result of a convolution and each operand of one is then in the program's order or in
 * its own ("turned"). Bytes that are moved because two neighbours differ, or because a convolution
 * must do it, are the cost, and the cheapest assignment is a minimum cut. Copies are counted once
 * for all users that need them. */
#ifndef PASS_LAYOUT_PLAN_H
#define PASS_LAYOUT_PLAN_H

#include "ops/query/conv_problem.h"
#include "passes/layout/layout_propagate.h"
#include "passes/layout/min_cut.h"
#include "passes/lib/pass_rewrite.h"

typedef struct layout_choice { /* of an instruction */
  bool is_decided;             /* it has an order of its own ... */
  bool transposed;             /* ... and is to be computed in it */
  bool is_conv;                /* that knows which orders it likes */
  bool operand_transposed[2];  /* a convolution's operand is to come as it likes it */
  layout_t layout;             /* of layout_propagate.h; a convolution's is that of its result */
} layout_choice_t;

typedef struct layout_plan {
  layout_choice_t *choices; /* by instruction id; NULL: nothing is gained by turning anything */
  cut_cost_t before, after; /* bytes, and arrays, that are moved for the sake of order in a run */
} layout_plan_t;

/* Cost: linear in the computation but for the cut; nothing where there is no convolution. Errors:
 * NO_MEMORY. */
hr_status_t layout_plan_find(hr_arena_t *arena, const hlo_computation_t *computation,
                             layout_plan_t *out_plan);

#endif
