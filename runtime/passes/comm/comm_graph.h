/* The collectives of a computation that may be moved and joined, what each needs, and how long that
 * takes: what the passes "combine" and "overlap" decide by. Nothing here depends on a process's
 * place, so all processes that run the program decide alike. */
#ifndef PASS_COMM_GRAPH_H
#define PASS_COMM_GRAPH_H

#include "ir/module.h"

typedef struct comm_node {
  hlo_instr_t *instr;
  uint32_t segment; /* things that stay in their order (effects, other communication) lie between
                       segments */
  int level; /* 1 + the highest level of those that it needs: two of one level never need each other
              */
  double work_ns; /* of all that must be computed before it */
} comm_node_t;

typedef struct comm_graph {
  const hlo_computation_t *computation;
  comm_node_t *nodes; /* as they become ready: by segment, then work, then place */
  int count;
  int *node_of;      /* by instruction id; -1: it is none */
  bool *is_fence;    /* by instruction id: between two segments */
  uint32_t *segment; /* by instruction id; a fence ends its own */
  double *cost_ns;   /* by instruction id */
} comm_graph_t;

/* Finds nothing (count 0) in computations whose order somebody has chosen already: those with
 * control predecessors or with halves of asynchronous collectives, and bodies of fusions and of
 * asynchronous wrappers. Cost: the collectives times the instructions; nothing is found where that
 * is too much. */
hr_status_t comm_graph_find(hr_arena_t *arena, hlo_computation_t *computation,
                            comm_graph_t *out_graph);

/* Nanoseconds on one core, roughly. */
double comm_instr_ns(const hlo_instr_t *instr);

#endif
