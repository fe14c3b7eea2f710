/* An order of a computation's instructions in which collectives begin as soon as they can, the
 * least work before the first one, and end as late as they can. */
#ifndef PASS_COMM_ORDER_H
#define PASS_COMM_ORDER_H

#include "base/vec.h"
#include "passes/comm/comm_graph.h"

typedef struct comm_entry {
  hlo_instr_t *instr;
  bool is_end; /* of a collective whose beginning is earlier in the list */
} comm_entry_t;
typedef HR_VEC(comm_entry_t) comm_list_t;

/* Every instruction once, collectives twice; operands before users. The caller frees the list. */
hr_status_t comm_order_find(hr_arena_t *arena, const comm_graph_t *graph, comm_list_t *out_list);
/* Puts the computation's instructions into this order, collectives where they begin. The graph is
 * out of date then. */
void comm_order_apply(hlo_computation_t *computation, const comm_list_t *list);

#endif
