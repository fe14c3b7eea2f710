/* The dependence graph of a computation's collectives, with the cost of the work that each waits
 * for: the basis of the passes "combine" and "overlap". Nothing depends on the rank, so all
 * processes that run the program decide alike. */
#ifndef PASS_COMM_GRAPH_H
#define PASS_COMM_GRAPH_H

#include "ir/module.h"

typedef struct comm_node {
  hlo_instr_t *instr;
  uint32_t segment; /* number of fences (effects, other communication) before it; fences keep their
                       order */
  int level;      /* 1 + the highest level among the collectives that it depends on; collectives of
                     one level are independent */
  double work_ns; /* cost of all instructions that it depends on */
} comm_node_t;

typedef struct comm_graph {
  const hlo_computation_t *computation;
  bool crosses;       /* loops and branches whose only effects are collectives are no fences */
  comm_node_t *nodes; /* in order of readiness: by segment, work, position */
  int count;
  int *node_of;      /* by instruction id; -1: not a collective */
  bool *is_fence;    /* by instruction id: separates two segments */
  uint32_t *segment; /* by instruction id; a fence belongs to the segment that it ends */
  double *cost_ns;   /* by instruction id */
} comm_graph_t;

/* Builds the graph. `crosses`: collectives may move across loops and branches whose only effects
 * are collectives: all processes must run this program. The graph is empty (count 0) for
 * computations whose order was chosen before: those with control predecessors or asynchronous
 * collectives, bodies of fusions and of asynchronous wrappers. Cost:   collectives times
 * instructions; empty as well if that exceeds a budget. Errors: NO_MEMORY. */
hr_status_t comm_graph_find(hr_arena_t *arena, hlo_computation_t *computation, bool crosses,
                            comm_graph_t *out_graph);

/* Estimated nanoseconds on one core. */
double comm_instr_ns(const hlo_instr_t *instr);

#endif
