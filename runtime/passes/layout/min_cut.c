/* Dinic's way: as long as there is one, all shortest ways from source to sink are filled at once;
 * what can still be reached from the source then is its side. */
#include "passes/layout/min_cut.h"

#define LEAST 0.5 /* bytes: less is nothing */

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

static hr_status_t add_half(cut_graph_t *graph, int from, int to, double capacity) {
  HR_VEC_PUSH(&graph->edges, (cut_edge_t){to, graph->first.data[from], capacity});
  graph->first.data[from] = (int)graph->edges.count - 1;
  return NULL;
}

hr_status_t cut_edge_add(cut_graph_t *graph, int from, int to, double capacity) {
  if (from == to || capacity < LEAST) return NULL;
  HR_TRY(add_half(graph, from, to, capacity));
  return add_half(graph, to, from, 0);
}

typedef struct cut_flow {
  cut_graph_t *graph;
  int *levels; /* steps from the source; -1: not reached */
  int *next;   /* the edge of each node that is tried next */
  int *queue;  /* nodes; then edges of the way */
} cut_flow_t;

static bool find_levels(cut_flow_t *flow) {
  const cut_graph_t *graph = flow->graph;
  int count = 1;
  for (size_t n = 0; n < graph->first.count; n++)
    flow->levels[n] = -1, flow->next[n] = graph->first.data[n];
  flow->levels[CUT_SOURCE] = 0;
  flow->queue[0] = CUT_SOURCE;
  for (int i = 0; i < count; i++)
    for (int e = graph->first.data[flow->queue[i]]; e >= 0; e = graph->edges.data[e].next) {
      const cut_edge_t *edge = &graph->edges.data[e];
      if (edge->left < LEAST || flow->levels[edge->to] >= 0) continue;
      flow->levels[edge->to] = flow->levels[flow->queue[i]] + 1;
      flow->queue[count++] = edge->to;
    }
  return flow->levels[CUT_SINK] >= 0;
}

/* The node that the way in the queue has come to. */
static int end_of_path(const cut_flow_t *flow, int length) {
  return length ? flow->graph->edges.data[flow->queue[length - 1]].to : CUT_SOURCE;
}

/* A way of rising levels to the sink, as edges in the queue; its length, or 0: there is none any
 * more. */
static int find_path(cut_flow_t *flow) {
  const cut_edge_t *edges = flow->graph->edges.data;
  int length = 0, node = CUT_SOURCE;
  while (node != CUT_SINK) {
    int *e = &flow->next[node];
    while (*e >= 0 &&
           (edges[*e].left < LEAST || flow->levels[edges[*e].to] != flow->levels[node] + 1))
      *e = edges[*e].next;
    if (*e >= 0) {
      flow->queue[length++] = *e;
    } else {
      if (!length) return 0;
      flow->levels[node] = -1;
      length--;
    }
    node = end_of_path(flow, length);
  }
  return length;
}

static double augment_path(cut_flow_t *flow, int length) {
  cut_edge_t *edges = flow->graph->edges.data;
  double most = CUT_NEVER;
  for (int i = 0; i < length; i++)
    if (edges[flow->queue[i]].left < most) most = edges[flow->queue[i]].left;
  for (int i = 0; i < length; i++)
    edges[flow->queue[i]].left -= most, edges[flow->queue[i] ^ 1].left += most;
  return most;
}

static int count_paid(const cut_graph_t *graph, const bool *sides) {
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
  while (find_levels(&flow))
    for (int length = find_path(&flow); length; length = find_path(&flow))
      out_cost->total += augment_path(&flow, length);
  for (size_t n = 0; n < count; n++) sides[n] = flow.levels[n] >= 0;
  out_cost->count = count_paid(graph, sides);
  *out_sides = sides;
  return NULL;
}
