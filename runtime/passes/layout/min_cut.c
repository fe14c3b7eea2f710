/* Maximum flow by Dinic's algorithm; the minimum cut follows from the residual graph.
 *
 * Each phase builds the level graph (breadth-first distances from the source over edges with
 * residual capacity) and saturates it with a blocking flow: depth-first augmenting paths on which
 * levels rise by one. Every node remembers its next untried edge, so that a phase looks at an edge
 * once per path that it is part of. The sink's level rises from phase to phase, hence at most |V|
 * phases of O(|V| |E|) each; the graphs of layout_plan.c are shallow and need a handful.
 *
 * When the sink is no longer reachable, the nodes that still are form the source side of the
 * minimum cut, the smallest one of all minimum cuts. Capacities are bytes kept as double: values
 * below MIN_CAPACITY count as zero, which keeps rounding from creating further phases.
 *
 * Source: E. A. Dinic, "Algorithm for solution of a problem of maximum flow in networks with power
 * estimation", Soviet Math. Doklady 11 (1970). */
#include "passes/layout/min_cut.h"

#define MIN_CAPACITY 0.5 /* bytes; a smaller residual capacity counts as none */

hr_status_t cut_init(cut_graph_t *graph) {
  int node;
  *graph = (cut_graph_t){.edges = {0}};
  HR_TRY(cut_node_add(graph, &node));
  return cut_node_add(graph, &node);
}

void cut_deinit(cut_graph_t *graph) {
  HR_VEC_FREE(&graph->edges);
  HR_VEC_FREE(&graph->first);
}

hr_status_t cut_node_add(cut_graph_t *graph, int *out_node) {
  HR_VEC_PUSH(&graph->first, -1);
  *out_node = (int)graph->first.count - 1;
  return NULL;
}

/* A directed edge; cut_edge_add pairs it with its reverse at index ^ 1. */
static hr_status_t add_arc(cut_graph_t *graph, int from, int to, double capacity) {
  HR_VEC_PUSH(&graph->edges, (cut_edge_t){to, graph->first.data[from], capacity});
  graph->first.data[from] = (int)graph->edges.count - 1;
  return NULL;
}

hr_status_t cut_edge_add(cut_graph_t *graph, int from, int to, double capacity) {
  if (from == to || capacity < MIN_CAPACITY) return NULL;
  HR_TRY(add_arc(graph, from, to, capacity));
  return add_arc(graph, to, from, 0);
}

typedef struct cut_flow {
  cut_graph_t *graph;
  int *levels; /* per node its distance from the source in edges; -1: not reached */
  int *next;   /* per node the next edge to try in this phase */
  int *queue;  /* nodes of the breadth-first search; then the edges of the current path */
} cut_flow_t;

/* Breadth-first search over residual edges. False: the sink is cut off, the flow is maximal. */
static bool build_level_graph(cut_flow_t *flow) {
  const cut_graph_t *graph = flow->graph;
  int count = 1;
  for (size_t n = 0; n < graph->first.count; n++) {
    flow->levels[n] = -1;
    flow->next[n] = graph->first.data[n];
  }
  flow->levels[CUT_SOURCE] = 0;
  flow->queue[0] = CUT_SOURCE;
  for (int i = 0; i < count; i++)
    for (int e = graph->first.data[flow->queue[i]]; e >= 0; e = graph->edges.data[e].next) {
      const cut_edge_t *edge = &graph->edges.data[e];
      if (edge->residual < MIN_CAPACITY || flow->levels[edge->to] >= 0) continue;
      flow->levels[edge->to] = flow->levels[flow->queue[i]] + 1;
      flow->queue[count++] = edge->to;
    }
  return flow->levels[CUT_SINK] >= 0;
}

/* Last node of the path whose edges are in the queue. */
static int path_end(const cut_flow_t *flow, int length) {
  return length ? flow->graph->edges.data[flow->queue[length - 1]].to : CUT_SOURCE;
}

/* Finds a path along rising levels to the sink and leaves its edges in the queue. Returns the
 * number of edges; 0: the flow of this phase is blocking. A dead end is removed from the level
 * graph. */
static int find_augmenting_path(cut_flow_t *flow) {
  const cut_edge_t *edges = flow->graph->edges.data;
  int length = 0, node = CUT_SOURCE;
  while (node != CUT_SINK) {
    int *e = &flow->next[node];
    while (*e >= 0 && (edges[*e].residual < MIN_CAPACITY ||
                       flow->levels[edges[*e].to] != flow->levels[node] + 1))
      *e = edges[*e].next;
    if (*e >= 0) {
      flow->queue[length++] = *e;
    } else {
      if (!length) return 0;
      flow->levels[node] = -1;
      length--;
    }
    node = path_end(flow, length);
  }
  return length;
}

/* Adds the bottleneck capacity of the path to the flow. */
static double augment_path(cut_flow_t *flow, int length) {
  cut_edge_t *edges = flow->graph->edges.data;
  double bottleneck = CUT_NEVER;
  for (int i = 0; i < length; i++)
    if (edges[flow->queue[i]].residual < bottleneck) bottleneck = edges[flow->queue[i]].residual;
  for (int i = 0; i < length; i++) {
    edges[flow->queue[i]].residual -= bottleneck;
    edges[flow->queue[i] ^ 1].residual += bottleneck;
  }
  return bottleneck;
}

static int count_cut_edges(const cut_graph_t *graph, const bool *sides) {
  int count = 0;
  for (size_t e = 0; e < graph->edges.count; e += 2)
    count += sides[graph->edges.data[e + 1].to] && !sides[graph->edges.data[e].to];
  return count;
}

hr_status_t cut_solve(hr_arena_t *arena, cut_graph_t *graph, bool **out_sides,
                      cut_cost_t *out_cost) {
  cut_flow_t flow = {.graph = graph};
  size_t count = graph->first.count;
  bool *sides;
  *out_cost = (cut_cost_t){.total = 0};
  HR_TRY(HR_NEW_ARRAY(arena, count, &flow.levels));
  HR_TRY(HR_NEW_ARRAY(arena, count, &flow.next));
  HR_TRY(HR_NEW_ARRAY(arena, count, &flow.queue));
  HR_TRY(HR_NEW_ARRAY(arena, count, &sides));
  while (build_level_graph(&flow))
    for (int length = find_augmenting_path(&flow); length; length = find_augmenting_path(&flow))
      out_cost->total += augment_path(&flow, length);
  for (size_t n = 0; n < count; n++) sides[n] = flow.levels[n] >= 0;
  out_cost->count = count_cut_edges(graph, sides);
  *out_sides = sides;
  return NULL;
}
