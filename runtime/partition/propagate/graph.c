/* Building of the graph: one recursive walk from the entry through the bodies of control flow, each
 * of which has one caller. Edges come behind the bodies that they are about. Cost: linear. */
#include "partition/propagate/graph.h"

#include <string.h>

static spmd_value_t *values_of(const prop_graph_t *graph, const hlo_instr_t *instr) {
  return graph->program->computations[instr->parent->id].values[instr->id];
}

static hr_status_t add_node(prop_graph_t *graph, const hlo_instr_t *instr, int leaf,
                            const hlo_shape_t *shape, int *out_node) {
  spmd_value_t *value = &values_of(graph, instr)[leaf];
  *out_node = -1;
  if (!hlo_shape_is_array(shape) || !shape->rank) return NULL;
  *out_node = (int)graph->nodes.count;
  prop_node_t node = {.shape = shape,
                      .said = value->sharding,
                      .instr = instr,
                      .origin = value->origin,
                      .group = *out_node};
  HR_VEC_PUSH(&graph->nodes, node);
  return NULL;
}

static hr_status_t add_op(prop_graph_t *graph, prop_op_t op) {
  HR_VEC_PUSH(&graph->ops, op);
  return NULL;
}

static int *nodes_of(const prop_graph_t *graph, const hlo_instr_t *instr) {
  return graph->map[instr->parent->id][instr->id];
}

/* New nodes for all leaves of the instruction. */
static hr_status_t add_leaves(prop_graph_t *graph, const hlo_instr_t *instr) {
  int *nodes = nodes_of(graph, instr);
  for (int leaf = 0; leaf < hlo_shape_leaf_count(instr->shape); leaf++)
    HR_TRY(add_node(graph, instr, leaf, hlo_shape_leaf(instr->shape, leaf), &nodes[leaf]));
  return NULL;
}

/* The rule of an identity with several sources: all tensors alike. */
static hr_status_t identity_rule(hr_arena_t *arena, const hlo_shape_t *shape, int sources,
                                 const spmd_rule_t **out_rule) {
  spmd_rule_t *rule;
  spmd_factor_t *factors;
  spmd_dim_factors_t *dims;
  spmd_tensor_factors_t *tensors;
  int *numbers;
  HR_TRY(HR_NEW(arena, &rule));
  HR_TRY(HR_NEW_ARRAY(arena, shape->rank, &factors));
  HR_TRY(HR_NEW_ARRAY(arena, shape->rank, &dims));
  HR_TRY(HR_NEW_ARRAY(arena, shape->rank, &numbers));
  HR_TRY(HR_NEW_ARRAY(arena, sources + 1, &tensors));
  for (int d = 0; d < shape->rank; d++) {
    factors[d] = (spmd_factor_t){shape->dims[d], SPMD_PASS_THROUGH, false};
    numbers[d] = d;
    dims[d] = (spmd_dim_factors_t){1, &numbers[d]};
  }
  for (int t = 0; t <= sources; t++) tensors[t] = (spmd_tensor_factors_t){shape->rank, dims};
  *rule = (spmd_rule_t){.factor_count = shape->rank,
                        .factors = factors,
                        .operand_count = sources,
                        .result_count = 1,
                        .tensors = tensors};
  *out_rule = rule;
  return NULL;
}

/* An identity from each source to the target. */
static hr_status_t add_edge(prop_graph_t *graph, const hlo_instr_t *instr, int source_count,
                            const int *sources, int target, prop_class_t kind) {
  int *tensors;
  if (target < 0) return NULL;
  prop_op_t op = {.instr = instr,
                  .kind = kind,
                  .is_pointwise = true,
                  .forward = true,
                  .backward = true,
                  .outer = -1};
  HR_TRY(HR_NEW_ARRAY(graph->arena, source_count + 1, &tensors));
  memcpy(tensors, sources, (size_t)source_count * sizeof *tensors);
  tensors[source_count] = target;
  op.tensors = tensors;
  HR_TRY(identity_rule(graph->arena, graph->nodes.data[target].shape, source_count, &op.rule));
  return add_op(graph, op);
}

/* --- instructions --- */

static hr_status_t build_body(prop_graph_t *graph, const hlo_computation_t *body,
                              const int *const *args);

/* Leaf at which element `index` of a tuple begins. */
static int first_leaf(const hlo_shape_t *tuple, int64_t index) {
  int leaf = 0;
  for (int64_t i = 0; i < index; i++) leaf += hlo_shape_leaf_count(tuple->elements[i]);
  return leaf;
}

static void alias_tuple(prop_graph_t *graph, const hlo_instr_t *instr) {
  int *nodes = nodes_of(graph, instr), next = 0;
  for (int k = 0; k < instr->operand_count; k++) {
    const int *from = nodes_of(graph, instr->operands[k]);
    int count = hlo_shape_leaf_count(instr->operands[k]->shape);
    for (int leaf = 0; leaf < count; leaf++) nodes[next++] = from[leaf];
  }
}

static void alias_element(prop_graph_t *graph, const hlo_instr_t *instr) {
  const hlo_instr_t *tuple = instr->operands[0];
  int first = first_leaf(tuple->shape, hlo_attr_int(instr, HLO_ATTR_INDEX));
  memcpy(nodes_of(graph, instr), nodes_of(graph, tuple) + first,
         (size_t)hlo_shape_leaf_count(instr->shape) * sizeof(int));
}

static hr_status_t build_while(prop_graph_t *graph, const hlo_instr_t *instr) {
  const int *args[] = {nodes_of(graph, instr)};
  HR_TRY(add_leaves(graph, instr));
  for (int k = 0; k < instr->called_count; k++) HR_TRY(build_body(graph, instr->called[k], args));
  const int *init = nodes_of(graph, instr->operands[0]),
            *next = nodes_of(graph, instr->called[1]->root);
  for (int leaf = 0; leaf < hlo_shape_leaf_count(instr->shape); leaf++)
    HR_TRY(add_edge(graph, instr, 2, (int[]){init[leaf], next[leaf]}, args[0][leaf], PROP_EDGE));
  return NULL;
}

static hr_status_t build_conditional(prop_graph_t *graph, const hlo_instr_t *instr) {
  int *sources;
  HR_TRY(HR_NEW_ARRAY(graph->arena, instr->called_count + 1, &sources));
  HR_TRY(add_leaves(graph, instr));
  for (int k = 0; k < instr->called_count; k++) {
    const int *args[] = {nodes_of(graph, instr->operands[k + 1])};
    HR_TRY(build_body(graph, instr->called[k], args));
  }
  for (int leaf = 0; leaf < hlo_shape_leaf_count(instr->shape); leaf++) {
    for (int k = 0; k < instr->called_count; k++)
      sources[k] = nodes_of(graph, instr->called[k]->root)[leaf];
    HR_TRY(add_edge(graph, instr, instr->called_count, sources, nodes_of(graph, instr)[leaf],
                    PROP_EDGE));
  }
  return NULL;
}

/* The results of a manual body's call are those of its body. */
static hr_status_t build_call(prop_graph_t *graph, const hlo_instr_t *instr) {
  const int **args;
  HR_TRY(HR_NEW_ARRAY(graph->arena, instr->operand_count + 1, &args));
  for (int k = 0; k < instr->operand_count; k++) args[k] = nodes_of(graph, instr->operands[k]);
  HR_TRY(build_body(graph, instr->called[0], args));
  memcpy(nodes_of(graph, instr), nodes_of(graph, instr->called[0]->root),
         (size_t)hlo_shape_leaf_count(instr->shape) * sizeof(int));
  return NULL;
}

/* Each leaf by itself: optimization barriers. */
static hr_status_t build_identities(prop_graph_t *graph, const hlo_instr_t *instr) {
  HR_TRY(add_leaves(graph, instr));
  for (int leaf = 0; leaf < hlo_shape_leaf_count(instr->shape); leaf++)
    HR_TRY(add_edge(graph, instr, 1, &nodes_of(graph, instr->operands[0])[leaf],
                    nodes_of(graph, instr)[leaf], PROP_EDGE));
  return NULL;
}

/* Splits the shardings at the boundary: the manual axes come first in each dimension. Inside, a
 * value that is unreduced over manual axes is just what the device has. */
static hr_status_t split_manual(prop_graph_t *graph, const spmd_sharding_t *outer,
                                spmd_axes_t manual, const spmd_sharding_t **out_inner,
                                spmd_axes_t **out_manual) {
  spmd_sharding_t *inner;
  spmd_dim_t *dims;
  HR_TRY(HR_NEW(graph->arena, &inner));
  HR_TRY(HR_NEW_ARRAY(graph->arena, outer->rank, &dims));
  HR_TRY(HR_NEW_ARRAY(graph->arena, outer->rank, out_manual));
  *inner = *outer;
  inner->dims = dims;
  for (int d = 0; d < outer->rank; d++) {
    dims[d] = outer->dims[d];
    HR_TRY(spmd_axes_subtract(graph->arena, outer->dims[d].axes, manual, &dims[d].axes));
    HR_TRY(spmd_axes_subtract(graph->arena, outer->dims[d].axes, dims[d].axes, &(*out_manual)[d]));
  }
  HR_TRY(spmd_axes_subtract(graph->arena, outer->replicated, manual, &inner->replicated));
  HR_TRY(spmd_axes_subtract(graph->arena, outer->unreduced, manual, &inner->unreduced));
  *out_inner = inner;
  return NULL;
}

/* The manual axes must come first in each dimension, and divide what is outside into what is
 * inside. */
static hr_status_t check_border(const hlo_instr_t *marker, int k, bool enters,
                                const spmd_sharding_t *said, const spmd_axes_t *manual) {
  const hlo_shape_t *global =
      enters ? marker->operands[k]->shape : hlo_shape_leaf(marker->shape, k);
  const hlo_shape_t *local = enters ? hlo_shape_leaf(marker->shape, k) : marker->operands[k]->shape;
  const char *name = enters ? "operand" : "result";
  if (said->rank != global->rank || local->rank != global->rank)
    return hlo_error(marker, NULL, "%s %d has rank %d outside and %d inside", name, k, global->rank,
                     local->rank);
  for (int d = 0; d < said->rank; d++) {
    int64_t parts = spmd_axes_parts(manual[d]);
    if (!spmd_axes_is_prefix(manual[d], said->dims[d].axes))
      return hlo_error(marker, NULL,
                       "dimension %d of %s %d is divided by a free axis before a manual one, want "
                       "manual axes first",
                       d, name, k);
    if (parts * local->dims[d] != global->dims[d])
      return hlo_error(marker, NULL,
                       "dimension %d of %s %d is %ld outside and %ld inside, want %ld manual parts "
                       "of equal size",
                       d, name, k, (long)global->dims[d], (long)local->dims[d], (long)parts);
  }
  return NULL;
}

static hr_status_t own_manual_axes(const prop_graph_t *graph, const hlo_instr_t *marker,
                                   spmd_axes_t *out_axes);

/* The boundary op of one value: outside -> inside, or inside -> outside. */
static hr_status_t add_boundary(prop_graph_t *graph, const hlo_instr_t *marker, int from, int to,
                                bool enters, const spmd_sharding_t *said, const spmd_axes_t *manual,
                                spmd_axes_t manual_unreduced) {
  int inner = enters ? to : from;
  int *tensors;
  if (from < 0 || to < 0) return NULL;
  prop_op_t op = {.instr = marker,
                  .kind = PROP_EDGE,
                  .is_pointwise = true,
                  .forward = true,
                  .backward = true,
                  .outer = enters ? 0 : 1,
                  .manual = manual,
                  .said = said,
                  .manual_unreduced = manual_unreduced};
  HR_TRY(HR_NEW_ARRAY(graph->arena, 2, &tensors));
  tensors[0] = from;
  tensors[1] = to;
  op.tensors = tensors;
  HR_TRY(identity_rule(graph->arena, graph->nodes.data[inner].shape, 1, &op.rule));
  return add_op(graph, op);
}

static hr_status_t build_boundary(prop_graph_t *graph, const hlo_instr_t *marker, bool enters) {
  spmd_axes_t axes;
  HR_TRY(own_manual_axes(graph, marker, &axes));
  HR_TRY(add_leaves(graph, marker));
  for (int k = 0; k < marker->operand_count; k++) {
    const spmd_sharding_t *said = values_of(graph, marker)[k].sharding, *inner = NULL;
    int from = nodes_of(graph, marker->operands[k])[0], to = nodes_of(graph, marker)[k];
    spmd_axes_t *manual, unreduced;
    if (to < 0) continue;
    if (!said)
      HR_TRY(spmd_sharding_replicated(graph->arena, graph->program->mesh,
                                      marker->operands[k]->shape->rank, &said));
    HR_TRY(split_manual(graph, said, axes, &inner, &manual));
    HR_TRY(check_border(marker, k, enters, said, manual));
    if (enters) graph->nodes.data[to].said = inner;
    HR_TRY(spmd_axes_subtract(graph->arena, said->unreduced, inner->unreduced, &unreduced));
    HR_TRY(add_boundary(graph, marker, from, to, enters, said, manual, unreduced));
  }
  return NULL;
}

static prop_class_t class_of(const hlo_instr_t *instr) {
  switch (instr->op) {
    case HLO_DYNAMIC_SLICE:
    case HLO_DYNAMIC_UPDATE_SLICE:
      return PROP_DYNAMIC;
    case HLO_BROADCAST:
      return PROP_BROADCAST;
    case HLO_RESHAPE:
    case HLO_TRANSPOSE:
    case HLO_COPY:
    case HLO_DOMAIN:
      return PROP_ELEMENTWISE;
    case HLO_CUSTOM_CALL:
      break;
    default:
      return hlo_op_is(instr->op, OP_ELEMENTWISE) ? PROP_ELEMENTWISE : PROP_OTHER;
  }
  spmd_marker_t marker = spmd_marker_of(instr);
  if (marker == SPMD_RESULT) return PROP_RESULT;
  return marker == SPMD_CONSTRAINT || marker == SPMD_BARRIER ? PROP_ELEMENTWISE : PROP_OTHER;
}

/* 0: none, 1: forward, 2: backward, 3: both. */
static int barrier_directions(const hlo_instr_t *instr) {
  hr_str_t text = hlo_frontend_attribute(instr, "xla.sdy.allowed_direction");
  if (spmd_marker_of(instr) != SPMD_BARRIER || !text.size) return 3;
  if (text.data[0] >= '0' && text.data[0] <= '3') return text.data[0] - '0';
  if (text.data[0] == 'F') return 1;
  return text.data[0] == 'B' && text.size > 2 && text.data[1] == 'A' ? 2 : 0;
}

static hr_status_t build_op(prop_graph_t *graph, const hlo_instr_t *instr) {
  prop_op_t op = {.instr = instr, .outer = -1};
  int *tensors, count = instr->operand_count, directions = barrier_directions(instr);
  HR_TRY(add_leaves(graph, instr));
  HR_TRY(spmd_rule_create(graph->arena, instr, &op.rule));
  if (!op.rule) return NULL;
  op.kind = class_of(instr);
  op.forward = directions & 1;
  op.backward = directions & 2;
  op.is_pointwise =
      op.kind == PROP_ELEMENTWISE && instr->op != HLO_RESHAPE && instr->op != HLO_TRANSPOSE;
  HR_TRY(HR_NEW_ARRAY(graph->arena, prop_tensor_count(&op), &tensors));
  for (int k = 0; k < count; k++) tensors[k] = nodes_of(graph, instr->operands[k])[0];
  for (int leaf = 0; leaf < op.rule->result_count; leaf++)
    tensors[count + leaf] = nodes_of(graph, instr)[leaf];
  op.tensors = tensors;
  return add_op(graph, op);
}

static hr_status_t build_instr(prop_graph_t *graph, const hlo_instr_t *instr) {
  spmd_marker_t marker = spmd_marker_of(instr);
  switch (instr->op) {
    case HLO_TUPLE:
      alias_tuple(graph, instr);
      return NULL;
    case HLO_GET_TUPLE_ELEMENT:
      alias_element(graph, instr);
      return NULL;
    case HLO_WHILE:
      return build_while(graph, instr);
    case HLO_CONDITIONAL:
      return build_conditional(graph, instr);
    case HLO_CALL:
      return build_call(graph, instr);
    case HLO_OPT_BARRIER:
      return build_identities(graph, instr);
    default:
      break;
  }
  if (marker == SPMD_ENTER_MANUAL) return build_boundary(graph, instr, true);
  if (marker == SPMD_LEAVE_MANUAL) return build_boundary(graph, instr, false);
  return build_op(graph, instr);
}

/* `args`: nodes of the leaves of each parameter; NULL for the entry. */
static hr_status_t build_body(prop_graph_t *graph, const hlo_computation_t *body,
                              const int *const *args) {
  int **map;
  HR_TRY(HR_NEW_ARRAY(graph->arena, body->instrs.count, &map));
  graph->map[body->id] = map;
  for (size_t i = 0; i < body->instrs.count; i++) {
    const hlo_instr_t *instr = body->instrs.data[i];
    int count = hlo_shape_leaf_count(instr->shape);
    HR_TRY(HR_NEW_ARRAY(graph->arena, count + 1, &map[i]));
    memset(map[i], -1, (size_t)count * sizeof(int));
    if (instr->op != HLO_PARAMETER || !args)
      HR_TRY(build_instr(graph, instr));
    else
      memcpy(map[i], args[hlo_parameter_number(instr)], (size_t)count * sizeof(int));
  }
  return NULL;
}

/* The manual axes of a marker: those of the body next to it that its surroundings do not have. */
static hr_status_t own_manual_axes(const prop_graph_t *graph, const hlo_instr_t *marker,
                                   spmd_axes_t *out_axes) {
  const hlo_computation_t *around = marker->parent;
  const spmd_computation_t *computations = graph->program->computations;
  for (size_t i = 0; i < around->instrs.count; i++) {
    const hlo_instr_t *call = around->instrs.data[i];
    bool is_next = false;
    if (call->op != HLO_CALL) continue;
    for (int k = 0; k < call->operand_count; k++) {
      const hlo_instr_t *operand = call->operands[k];
      is_next |= operand == marker || (operand->operand_count && operand->operands[0] == marker);
    }
    for (int k = 0; k < marker->operand_count; k++) {
      const hlo_instr_t *operand = marker->operands[k];
      is_next |= operand == call || (operand->operand_count && operand->operands[0] == call);
    }
    if (is_next)
      return spmd_axes_subtract(graph->arena, computations[call->called[0]->id].manual_axes,
                                computations[around->id].manual_axes, out_axes);
  }
  *out_axes = (spmd_axes_t){0, NULL};
  return NULL;
}

/* --- uses and groups --- */

static hr_status_t find_uses(prop_graph_t *graph) {
  for (size_t i = 0; i < graph->ops.count; i++)
    for (int t = 0; t < prop_tensor_count(&graph->ops.data[i]); t++)
      if (graph->ops.data[i].tensors[t] >= 0)
        graph->nodes.data[graph->ops.data[i].tensors[t]].op_count++;
  for (size_t n = 0; n < graph->nodes.count; n++) {
    HR_TRY(HR_NEW_ARRAY(graph->arena, graph->nodes.data[n].op_count, &graph->nodes.data[n].ops));
    graph->nodes.data[n].op_count = 0;
  }
  for (size_t i = 0; i < graph->ops.count; i++) {
    const prop_op_t *op = &graph->ops.data[i];
    for (int t = 0; t < prop_tensor_count(op); t++) {
      if (op->tensors[t] < 0) continue;
      prop_node_t *node = &graph->nodes.data[op->tensors[t]];
      node->use_count += t < op->rule->operand_count;
      if (!node->op_count || node->ops[node->op_count - 1] != (int)i)
        node->ops[node->op_count++] = (int)i;
    }
  }
  return NULL;
}

static void find_single_uses(prop_graph_t *graph) {
  for (size_t i = 0; i < graph->ops.count; i++) {
    prop_op_t *op = &graph->ops.data[i];
    op->has_single_uses = true;
    for (int t = 0; t < op->rule->operand_count; t++)
      if (op->tensors[t] >= 0 && graph->nodes.data[op->tensors[t]].use_count > 1)
        op->has_single_uses = false;
  }
}

static void join_groups(prop_graph_t *graph, int a, int b) {
  prop_node_t *nodes = graph->nodes.data;
  for (int n = nodes[a].group; n != a; n = nodes[n].group)
    if (n == b) return;
  int next = nodes[a].group;
  if (a == b) return;
  nodes[a].group = nodes[b].group;
  nodes[b].group = next;
}

/* What ties an instruction's value to others: a group's text, or shard_as of a GSPMD string. */
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

typedef struct group_head {
  hr_str_t id;
  int64_t number;
  int node;
} group_head_t;
typedef HR_VEC(group_head_t) group_heads_t;

static hr_status_t enter_group(prop_graph_t *graph, group_heads_t *heads,
                               const hlo_instr_t *instr) {
  hr_str_t id;
  int64_t number;
  if (!group_of(instr, &id, &number)) return NULL;
  const hlo_instr_t *member = number < 0 ? instr->operands[0] : instr;
  int node = nodes_of(graph, member)[0];
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

static hr_status_t find_groups(prop_graph_t *graph) {
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

/* Results that become parameters of the next step are in a group with them, unless the program
 * wants different shardings of both. */
static void join_carried(prop_graph_t *graph) {
  const hlo_computation_t *entry = graph->program->module->entry;
  int results = hlo_shape_leaf_count(entry->root->shape), leaf;
  for (int i = 0; i < graph->program->carried_count; i++) {
    const int *pair = graph->program->carried[i];
    const hlo_instr_t *param = find_param(entry, pair[1], &leaf);
    if (!param || pair[0] >= results) continue;
    int from = nodes_of(graph, entry->root)[pair[0]], to = nodes_of(graph, param)[leaf];
    if (from < 0 || to < 0) continue;
    const prop_node_t *result = &graph->nodes.data[from], *next = &graph->nodes.data[to];
    bool differs = result->said && next->said && !spmd_sharding_equal(result->said, next->said);
    if (!differs && hlo_shape_equal(result->shape, next->shape)) join_groups(graph, from, to);
  }
}

hr_status_t prop_graph_build(spmd_program_t *program, prop_graph_t *graph) {
  *graph = (prop_graph_t){.program = program, .arena = program->arena};
  HR_TRY(HR_NEW_ARRAY(graph->arena, program->module->computations.count, &graph->map));
  HR_TRY(build_body(graph, program->module->entry, NULL));
  HR_TRY(find_uses(graph));
  find_single_uses(graph);
  HR_TRY(find_groups(graph));
  join_carried(graph);
  return NULL;
}

void prop_graph_deinit(prop_graph_t *graph) {
  HR_VEC_FREE(&graph->nodes);
  HR_VEC_FREE(&graph->ops);
}
