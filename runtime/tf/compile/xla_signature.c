/* _Arg and _Retval nodes of a graph: the feeds and fetches that XlaCompiler's CompileGraph takes,
 * in the order of their attribute index. */
#include "tf/compile/xla_compiler.h"

/* Index of a node; -1: it has another operation. Errors: INVALID for an index that no node of the
 * graph can have. */
static hr_status_t index_of(hr_arena_t *arena, const tf_graph_t *graph, const tf_node_t *node,
                            const char *op, int64_t *out_index) {
  *out_index = -1;
  if (!hr_str_is(node->op, op)) return NULL;
  HR_TRY(tf_attr_int(arena, node, "index", -1, out_index));
  if (*out_index >= 0 && *out_index < graph->main.node_count) return NULL;
  return hr_error(HR_INVALID, "the index of %s node %.*s is %ld", op, HR_STR_ARGS(node->name),
                  (long)*out_index);
}

/* Outputs 0 of all nodes of an operation. Each index from 0 on occurs once. */
static hr_status_t list_by_index(hr_arena_t *arena, const tf_graph_t *graph, const char *op,
                                 int *out_count, tf_input_t **out_list) {
  int count = 0;
  int *node_at;
  HR_TRY(HR_NEW_ARRAY(arena, graph->main.node_count, &node_at));
  for (int n = 0; n < graph->main.node_count; n++) {
    int64_t index;
    HR_TRY(index_of(arena, graph, &graph->main.nodes[n], op, &index));
    if (index < 0) continue;
    if (node_at[index])
      return hr_error(HR_INVALID, "Multiple %s nodes with index %ld", op, (long)index);
    node_at[index] = n + 1;
    count++;
  }
  HR_TRY(HR_NEW_ARRAY(arena, count, out_list));
  for (int i = 0; i < count; i++) {
    if (!node_at[i]) return hr_error(HR_INVALID, "Expected %s node with index %d", op, i);
    (*out_list)[i] = (tf_input_t){node_at[i] - 1, 0};
  }
  *out_count = count;
  return NULL;
}

hr_status_t xla_graph_signature(hr_arena_t *arena, const tf_graph_t *graph,
                                xla_graph_signature_t *out_signature) {
  tf_input_t *feeds, *fetches;
  xla_graph_signature_t signature = {0};
  HR_TRY(list_by_index(arena, graph, "_Arg", &signature.feed_count, &feeds));
  HR_TRY(list_by_index(arena, graph, "_Retval", &signature.fetch_count, &fetches));
  signature.feeds = feeds;
  signature.fetches = fetches;
  *out_signature = signature;
  return NULL;
}
