/* Values that must have the same sharding: members of a sharding group, shard_as and shard_like of
 * GSPMD strings, results that are carried to parameters of the next step. Members form a circular
 * list; two lists that share a value are merged. Cost: linear in the program. */
#include "partition/propagate/graph_build.h"

/* Merges two circular lists by exchanging the successors of a and b. If both are in one list, the
 * exchange would split it, so the list is searched first. */
static void join_groups(prop_graph_t *graph, int a, int b) {
  prop_node_t *nodes = graph->nodes.data;
  for (int n = nodes[a].group; n != a; n = nodes[n].group)
    if (n == b) return;
  int next = nodes[a].group;
  if (a == b) return;
  nodes[a].group = nodes[b].group;
  nodes[b].group = next;
}

/* The group of an instruction's value: a sharding group's id, or shard_as of a GSPMD string. */
static bool group_of(const hlo_instr_t *instr, hr_str_t *out_id, int64_t *out_number) {
  const hlo_sharding_t *sharding = instr->extra ? instr->extra->sharding : NULL;
  *out_id = (hr_str_t){"", 0};
  *out_number = -1;
  if (spmd_marker_of(instr) == SPMD_GROUP)
    *out_id = hlo_frontend_attribute(instr, "xla.sdy.sharding_group_id");
  else if (sharding && sharding->group != HLO_SHARD_GROUP_NONE)
    *out_number = sharding->group_id;
  return out_id->size || *out_number >= 0;
}

/* The first member of a group in program order; later ones join its list. */
typedef struct group_head {
  hr_str_t id;
  int64_t number;
  int node;
} group_head_t;
typedef HR_VEC(group_head_t) group_heads_t;

/* Groups hold values of one rank, as their members get one sharding. */
static hr_status_t enter_group(prop_graph_t *graph, group_heads_t *heads,
                               const hlo_instr_t *instr) {
  hr_str_t id;
  int64_t number;
  if (!group_of(instr, &id, &number)) return NULL;
  const hlo_instr_t *member = number < 0 ? instr->operands[0] : instr;
  int node = prop_nodes_of(graph, member)[0];
  if (node < 0) return NULL;
  for (size_t h = 0; h < heads->count; h++)
    if (heads->data[h].number == number && hr_str_equal(heads->data[h].id, id)) {
      const prop_node_t *head = &graph->nodes.data[heads->data[h].node];
      if (head->shape->rank != graph->nodes.data[node].shape->rank)
        return hlo_error(instr, NULL, "a sharding group of values of ranks %d and %d",
                         head->shape->rank, graph->nodes.data[node].shape->rank);
      join_groups(graph, heads->data[h].node, node);
      return NULL;
    }
  group_head_t head = {id, number, node};
  HR_VEC_PUSH(heads, head);
  return NULL;
}

hr_status_t prop_find_groups(prop_graph_t *graph) {
  group_heads_t heads = {0};
  hr_status_t st = NULL;
  const hlo_module_t *module = graph->program->module;
  for (size_t c = 0; c < module->computations.count && !st; c++) {
    const hlo_computation_t *computation = module->computations.data[c];
    for (size_t i = 0; i < computation->instrs.count && graph->map[c] && !st; i++)
      st = enter_group(graph, &heads, computation->instrs.data[i]);
  }
  HR_VEC_FREE(&heads);
  return st;
}

/* The parameter that has flattened number `number`, and its leaf; NULL: there are fewer. */
static const hlo_instr_t *find_param(const hlo_computation_t *entry, int number, int *out_leaf) {
  for (size_t k = 0; k < entry->params.count; k++) {
    int count = hlo_shape_leaf_count(entry->params.data[k]->shape);
    *out_leaf = number;
    if (number < count) return entry->params.data[k];
    number -= count;
  }
  return NULL;
}

/* Groups results with the parameters that they become in the next step, unless the program
 * annotates the two differently. */
void prop_join_carried(prop_graph_t *graph) {
  const hlo_computation_t *entry = graph->program->module->entry;
  int results = hlo_shape_leaf_count(entry->root->shape), leaf;
  for (int i = 0; i < graph->program->carried_count; i++) {
    const int *pair = graph->program->carried[i];
    const hlo_instr_t *param = find_param(entry, pair[1], &leaf);
    if (!param || pair[0] >= results) continue;
    int from = prop_nodes_of(graph, entry->root)[pair[0]], to = prop_nodes_of(graph, param)[leaf];
    if (from < 0 || to < 0) continue;
    const prop_node_t *result = &graph->nodes.data[from], *next = &graph->nodes.data[to];
    bool differs = result->said && next->said && !spmd_sharding_equal(result->said, next->said);
    if (!differs && hlo_shape_equal(result->shape, next->shape)) join_groups(graph, from, to);
  }
}
