/* Minimum s-t cut. Models a choice between two options per node, where an edge's capacity is the
 * cost that is paid if its two ends choose differently: nodes on the source's side take one option,
 * nodes on the sink's side the other. An edge from the source, or to the sink, is the cost of one
 * option of one node.
 *
 *   CUT_SOURCE --cost if v is on the sink's side--> v --cost if v, w are cut--> w --> CUT_SINK */
#ifndef PASS_MIN_CUT_H
#define PASS_MIN_CUT_H

#include "base/arena.h"
#include "base/vec.h"

enum { CUT_SOURCE, CUT_SINK, CUT_FIRST }; /* the two terminals, and the first other node */
#define CUT_NEVER 1e30                    /* capacity of an edge that no minimum cut contains */

typedef struct cut_edge {
  int to;          /* head */
  int next;        /* next edge with the same tail; -1: none */
  double residual; /* capacity left, in bytes */
} cut_edge_t;

typedef struct cut_graph {
  HR_VEC(cut_edge_t) edges; /* edges i and i ^ 1 are each other's reverse */
  HR_VEC(int) first;        /* per node its first edge; -1: none */
} cut_graph_t;

/* A graph of the two terminals. Errors: NO_MEMORY, as for all functions here. */
hr_status_t cut_init(cut_graph_t *graph);
void cut_deinit(cut_graph_t *graph);
hr_status_t cut_node_add(cut_graph_t *graph, int *out_node);
/* Adds an edge whose `capacity` (bytes) is paid if `from` is on the source's side and `to` on the
 * sink's. Capacities below half a byte are ignored. */
hr_status_t cut_edge_add(cut_graph_t *graph, int from, int to, double capacity);

typedef struct cut_cost {
  double total; /* bytes: the value of the cut */
  int count;    /* edges in the cut */
} cut_cost_t;

/* Solves the cut. (*out_sides)[node]: the node is on the source's side; of all minimum cuts, the
 * one with the fewest such nodes. Consumes the graph.
 * Cost:  O(|V|^2 |E|), in practice a few times |E|.
 * Owner: out_sides lives in `arena`. */
hr_status_t cut_solve(hr_arena_t *arena, cut_graph_t *graph, bool **out_sides,
                      cut_cost_t *out_cost);

#endif
