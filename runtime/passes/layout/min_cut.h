/* Minimum s-t cut (Dinic). Models any choice between two options whose costs are bytes per node and
 * bytes between neighbours that choose differently. */
#ifndef PASS_MIN_CUT_H
#define PASS_MIN_CUT_H

#include "base/arena.h"
#include "base/vec.h"

enum { CUT_SOURCE, CUT_SINK, CUT_FIRST }; /* nodes: the two ends, and the first other one */
#define CUT_NEVER 1e30                    /* a cost that is not paid */

typedef struct cut_edge {
  int to, next; /* of the next edge from the same node; -1: none */
  double left;
} cut_edge_t;

typedef struct cut_graph {
  HR_VEC(cut_edge_t) edges; /* edge i and edge i ^ 1 are each other's other direction */
  HR_VEC(int) first;        /* by node */
} cut_graph_t;

hr_status_t cut_init(cut_graph_t *graph);
void cut_deinit(cut_graph_t *graph);
hr_status_t cut_node_add(cut_graph_t *graph, int *out_node);
/* To be paid if `from` ends with the source and `to` with the sink. */
hr_status_t cut_edge_add(cut_graph_t *graph, int from, int to, double capacity);
typedef struct cut_cost {
  double total;
  int count; /* of costs that it is made of */
} cut_cost_t;
/* (*out_sides)[node]: does it end with the source? As few as possible do. Once per graph.
 * Cost: about the edges times the number of different lengths of ways between the ends. */
hr_status_t cut_solve(hr_arena_t *arena, cut_graph_t *graph, bool **out_sides,
                      cut_cost_t *out_cost);

#endif
