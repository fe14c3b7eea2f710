/* List scheduling of a computation around its collectives: each starts as early as possible, in
 * order of the work that it waits for, and ends as late as possible. */
#ifndef PASS_COMM_ORDER_H
#define PASS_COMM_ORDER_H

#include "base/vec.h"
#include "passes/comm/comm_graph.h"

typedef struct comm_entry {
  hlo_instr_t *instr;
  bool is_end; /* the done of a collective whose start is earlier in the list */
} comm_entry_t;
typedef HR_VEC(comm_entry_t) comm_list_t;

/* Every instruction once, collectives as start and done; operands before users. The caller frees
 * the list. */
hr_status_t comm_order_find(hr_arena_t *arena, const comm_graph_t *graph, comm_list_t *out_list);
/* Reorders the computation's instructions, collectives at their starts. Invalidates the graph. */
void comm_order_apply(hlo_computation_t *computation, const comm_list_t *list);

#endif
