/* Layout assignment: which arrays of a computation are computed with permuted dimensions.
 *
 * Native convolutions read and write arrays with channels innermost and transpose all others on
 * every run. From each convolution its preferred layouts propagate through layout-agnostic ops.
 * Each reached instruction has two options: the program's row-major layout, or its propagated
 * layout ("transposed"). The same holds for each operand of a convolution. The cost is the number
 * of bytes that transposes move: between neighbours with different layouts, or inside a
 * convolution. A copy that several users need counts once. The cheapest assignment is a minimum s-t
 * cut. */
#ifndef PASS_LAYOUT_PLAN_H
#define PASS_LAYOUT_PLAN_H

#include "ops/query/conv_problem.h"
#include "passes/layout/layout_propagate.h"
#include "passes/layout/min_cut.h"
#include "passes/lib/pass_rewrite.h"

typedef struct layout_choice { /* for one instruction */
  bool is_decided;             /* has a layout been propagated to it? */
  bool transposed;             /* result of the cut: computed in `layout` */
  bool is_conv;                /* a convolution with preferred layouts */
  bool operand_transposed[2];  /* the operand arrives in its preferred layout */
  layout_t layout; /* propagated layout (layout_propagate.h); for a convolution, of its result */
} layout_choice_t;

typedef struct layout_plan {
  layout_choice_t *choices; /* by instruction id; NULL: no assignment is cheaper than row-major */
  cut_cost_t before, after; /* bytes and arrays transposed per run: row-major, and as assigned */
} layout_plan_t;

/* Finds the assignment of one computation; changes nothing.
 * Cost:   linear in the computation, plus the cut; constant where there is no convolution.
 * Errors: NO_MEMORY.
 * Owner:  the plan lives in `arena`. */
hr_status_t layout_plan_find(hr_arena_t *arena, const hlo_computation_t *computation,
                             layout_plan_t *out_plan);

#endif
