/* Builds the graph in one recursive walk from the entry through the bodies of control flow, each
 * of which has one caller. Edges are added after the bodies that they tie. Cost: linear. */
#include "partition/propagate/graph_build.h"

#include <string.h>

/* The annotations, which the end of propagation overwrites with its results. */
spmd_value_t *prop_values_of(const prop_graph_t *graph, const hlo_instr_t *instr) {
  return graph->program->computations[instr->parent->id].values[instr->id];
}

/* *out_node is -1 for scalars and tokens, which have no dimensions to cut. */
static hr_status_t add_node(prop_graph_t *graph, const hlo_instr_t *instr, int leaf,
                            const hlo_shape_t *shape, int *out_node) {
  spmd_value_t *value = &prop_values_of(graph, instr)[leaf];
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

/* An op's number is its index in the list: ops of a body come before its caller. */
hr_status_t prop_add_op(prop_graph_t *graph, prop_op_t op) {
  HR_VEC_PUSH(&graph->ops, op);
  return NULL;
}

/* By leaf; filled when the instruction is visited, operands first. */
int *prop_nodes_of(const prop_graph_t *graph, const hlo_instr_t *instr) {
  return graph->map[instr->parent->id][instr->id];
}

/* New nodes for all leaves of the instruction. */
hr_status_t prop_add_leaves(prop_graph_t *graph, const hlo_instr_t *instr) {
  int *nodes = prop_nodes_of(graph, instr);
  for (int leaf = 0; leaf < hlo_shape_leaf_count(instr->shape); leaf++)
    HR_TRY(add_node(graph, instr, leaf, hlo_shape_leaf(instr->shape, leaf), &nodes[leaf]));
  return NULL;
}

/* The rule of an identity with several sources: all tensors alike. */
hr_status_t prop_identity_rule(hr_arena_t *arena, const hlo_shape_t *shape, int sources,
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
    factors[d] = (spmd_factor_t){.size = shape->dims[d], .kind = SPMD_PASS_THROUGH};
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
                            const int *sources, prop_use_t *uses, int target) {
  int *tensors;
  if (target < 0) return NULL;
  prop_op_t op = {.instr = instr,
                  .kind = PROP_EDGE,
                  .uses = uses,
                  .is_pointwise = true,
                  .forward = true,
                  .backward = true,
                  .outer = -1};
  HR_TRY(HR_NEW_ARRAY(graph->arena, source_count + 1, &tensors));
  memcpy(tensors, sources, (size_t)source_count * sizeof *tensors);
  tensors[source_count] = target;
  op.tensors = tensors;
  HR_TRY(prop_identity_rule(graph->arena, graph->nodes.data[target].shape, source_count, &op.rule));
  return prop_add_op(graph, op);
}

/* --- instructions --- */

static hr_status_t build_body(prop_graph_t *graph, const hlo_instr_t *caller, int number,
                              const int *const *args);

/* The leaves of a tuple are those of its operands, in order. */
static void alias_tuple(prop_graph_t *graph, const hlo_instr_t *instr) {
  int *nodes = prop_nodes_of(graph, instr), next = 0;
  for (int k = 0; k < instr->operand_count; k++) {
    const int *from = prop_nodes_of(graph, instr->operands[k]);
    int count = hlo_shape_leaf_count(instr->operands[k]->shape);
    for (int leaf = 0; leaf < count; leaf++) nodes[next++] = from[leaf];
  }
}

/* The leaves of an element are those of the tuple from the element's first leaf on. */
static void alias_element(prop_graph_t *graph, const hlo_instr_t *instr) {
  const hlo_instr_t *tuple = instr->operands[0];
  int first = hlo_shape_leaf_start(tuple->shape, hlo_attr_int(instr, HLO_ATTR_INDEX));
  memcpy(prop_nodes_of(graph, instr), prop_nodes_of(graph, tuple) + first,
         (size_t)hlo_shape_leaf_count(instr->shape) * sizeof(int));
}

/* True if the body returns element k of the state as it is. */
static bool is_invariant(const hlo_instr_t *loop, int k) {
  const hlo_instr_t *root = loop->called[1]->root;
  if (root->op != HLO_TUPLE) return false;
  const hlo_instr_t *next = root->operands[k];
  return next->op == HLO_GET_TUPLE_ELEMENT && next->operands[0]->op == HLO_PARAMETER &&
         hlo_attr_int(next, HLO_ATTR_INDEX) == k;
}

/* Elements of the state that the body returns as they are have the nodes of their initial values:
 * XLA shows Shardy a body that reads these. */
static void share_invariants(prop_graph_t *graph, const hlo_instr_t *loop) {
  int *nodes = prop_nodes_of(graph, loop);
  const int *init = prop_nodes_of(graph, loop->operands[0]);
  for (int k = 0; k < loop->shape->element_count; k++) {
    int first = hlo_shape_leaf_start(loop->shape, k);
    int count = hlo_shape_leaf_count(loop->shape->elements[k]);
    if (is_invariant(loop, k)) memcpy(nodes + first, init + first, (size_t)count * sizeof(int));
  }
}

/* Each other array of the state is one node, shared by the result and the parameters of both
 * computations; an edge ties the initial and the next value to it. */
static hr_status_t build_while(prop_graph_t *graph, const hlo_instr_t *instr) {
  const int *args[] = {prop_nodes_of(graph, instr)};
  HR_TRY(prop_add_leaves(graph, instr));
  share_invariants(graph, instr);
  for (int k = 0; k < instr->called_count; k++) HR_TRY(build_body(graph, instr, k, args));
  const int *init = prop_nodes_of(graph, instr->operands[0]),
            *next = prop_nodes_of(graph, instr->called[1]->root);
  for (int leaf = 0; leaf < hlo_shape_leaf_count(instr->shape); leaf++) {
    prop_use_t *uses;
    if (args[0][leaf] == init[leaf]) continue;
    HR_TRY(HR_NEW_ARRAY(graph->arena, 2, &uses));
    uses[0] = prop_use_of(graph, instr->operands[0], leaf, instr, instr->parent);
    uses[1] = prop_use_of(graph, instr->called[1]->root, leaf, NULL, instr->called[1]);
    HR_TRY(add_edge(graph, instr, 2, (int[]){init[leaf], next[leaf]}, uses, args[0][leaf]));
  }
  return NULL;
}

/* The parameters of branches are the nodes of their operands; an edge ties the branches' results.
 */
static hr_status_t build_conditional(prop_graph_t *graph, const hlo_instr_t *instr) {
  int *sources;
  HR_TRY(HR_NEW_ARRAY(graph->arena, instr->called_count + 1, &sources));
  HR_TRY(prop_add_leaves(graph, instr));
  for (int k = 0; k < instr->called_count; k++) {
    const int *args[] = {prop_nodes_of(graph, instr->operands[k + 1])};
    HR_TRY(build_body(graph, instr, k, args));
  }
  for (int leaf = 0; leaf < hlo_shape_leaf_count(instr->shape); leaf++) {
    prop_use_t *uses;
    HR_TRY(HR_NEW_ARRAY(graph->arena, instr->called_count + 1, &uses));
    for (int k = 0; k < instr->called_count; k++) {
      sources[k] = prop_nodes_of(graph, instr->called[k]->root)[leaf];
      uses[k] = prop_use_of(graph, instr->called[k]->root, leaf, NULL, instr->called[k]);
    }
    HR_TRY(add_edge(graph, instr, instr->called_count, sources, uses,
                    prop_nodes_of(graph, instr)[leaf]));
  }
  return NULL;
}

/* The results of a call of a manual body are the nodes of the body's root. */
static hr_status_t build_call(prop_graph_t *graph, const hlo_instr_t *instr) {
  const int **args;
  HR_TRY(HR_NEW_ARRAY(graph->arena, instr->operand_count + 1, &args));
  for (int k = 0; k < instr->operand_count; k++) args[k] = prop_nodes_of(graph, instr->operands[k]);
  HR_TRY(build_body(graph, instr, 0, args));
  memcpy(prop_nodes_of(graph, instr), prop_nodes_of(graph, instr->called[0]->root),
         (size_t)hlo_shape_leaf_count(instr->shape) * sizeof(int));
  return NULL;
}

/* Optimization barriers: one identity per leaf. */
static hr_status_t build_identities(prop_graph_t *graph, const hlo_instr_t *instr) {
  HR_TRY(prop_add_leaves(graph, instr));
  for (int leaf = 0; leaf < hlo_shape_leaf_count(instr->shape); leaf++) {
    prop_use_t *use;
    HR_TRY(HR_NEW(graph->arena, &use));
    *use = prop_use_of(graph, instr->operands[0], leaf, instr, instr->parent);
    HR_TRY(add_edge(graph, instr, 1, &prop_nodes_of(graph, instr->operands[0])[leaf], use,
                    prop_nodes_of(graph, instr)[leaf]));
  }
  return NULL;
}

/* True if the broadcast only adds dimensions of one element. XLA makes such a broadcast a reshape
 * before Shardy sees it. */
static bool adds_ones(const hlo_instr_t *broadcast) {
  const hlo_shape_t *from = broadcast->operands[0]->shape, *to = broadcast->shape;
  return from->rank < to->rank && hlo_shape_elements(from) == hlo_shape_elements(to);
}

/* Which rounds an op takes part in (propagate.c). */
static prop_class_t class_of(const hlo_instr_t *instr) {
  switch (instr->op) {
    case HLO_DYNAMIC_SLICE:
    case HLO_DYNAMIC_UPDATE_SLICE:
      return PROP_DYNAMIC;
    case HLO_BROADCAST:
      return adds_ones(instr) ? PROP_ELEMENTWISE : PROP_BROADCAST;
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

/* The directions that a barrier lets through, a prop_direction_t. */
static int barrier_directions(const hlo_instr_t *instr) {
  hr_str_t text = hlo_frontend_attribute(instr, "xla.sdy.allowed_direction");
  if (spmd_marker_of(instr) != SPMD_BARRIER || !text.size) return 3;
  if (text.data[0] >= '0' && text.data[0] <= '3') return text.data[0] - '0';
  if (text.data[0] == 'F') return 1;
  return text.data[0] == 'B' && text.size > 2 && text.data[1] == 'A' ? 2 : 0;
}

/* Counts the uses by an instruction that is no op: they matter where a value must have one user. */
static void hide_uses(prop_graph_t *graph, const hlo_instr_t *instr) {
  for (int k = 0; k < instr->operand_count; k++)
    for (int leaf = 0; leaf < hlo_shape_leaf_count(instr->operands[k]->shape); leaf++) {
      int node = prop_nodes_of(graph, instr->operands[k])[leaf];
      if (node >= 0) graph->nodes.data[node].hidden_uses++;
    }
}

/* An op without a rule gives its value a node, and ties it to nothing. */
static hr_status_t build_op(prop_graph_t *graph, const hlo_instr_t *instr) {
  prop_op_t op = {.instr = instr, .outer = -1};
  int *tensors, count = instr->operand_count, directions = barrier_directions(instr);
  HR_TRY(prop_add_leaves(graph, instr));
  HR_TRY(spmd_rule_create(graph->arena, instr, &op.rule));
  if (!op.rule) {
    hide_uses(graph, instr);
    return NULL;
  }
  op.kind = class_of(instr);
  op.forward = directions & 1;
  op.backward = directions & 2;
  op.is_pointwise = op.kind == PROP_ELEMENTWISE && instr->op != HLO_RESHAPE &&
                    instr->op != HLO_TRANSPOSE && instr->op != HLO_BROADCAST;
  HR_TRY(HR_NEW_ARRAY(graph->arena, prop_tensor_count(&op), &tensors));
  HR_TRY(HR_NEW_ARRAY(graph->arena, count + 1, &op.uses));
  for (int k = 0; k < count; k++) {
    tensors[k] = prop_nodes_of(graph, instr->operands[k])[0];
    op.uses[k] = prop_use_of(graph, instr->operands[k], 0, instr, instr->parent);
  }
  for (int leaf = 0; leaf < op.rule->result_count; leaf++)
    tensors[count + leaf] = prop_nodes_of(graph, instr)[leaf];
  op.tensors = tensors;
  return prop_add_op(graph, op);
}

/* Tuples and what only passes values on make no ops. */
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
  if (marker == SPMD_ENTER_MANUAL) return prop_build_boundary(graph, instr, true);
  if (marker == SPMD_LEAVE_MANUAL) return prop_build_boundary(graph, instr, false);
  return build_op(graph, instr);
}

/* Computation `number` that the caller calls; the entry, if it is NULL. `args`: nodes of the leaves
 * of each parameter; NULL for the entry. */
static hr_status_t build_body(prop_graph_t *graph, const hlo_instr_t *caller, int number,
                              const int *const *args) {
  const hlo_computation_t *body = caller ? caller->called[number] : graph->program->module->entry;
  int **map;
  graph->callers[body->id] = caller;
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

/* --- uses and groups --- */

/* Makes the lists of ops by node: each op once, in order of the ops. Two passes, count and fill. */
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

/* True if operand t of the op has no other use. Of a loop's state, the result and the parameters
 * are used by themselves; a value with two uses is seen at the second. */
static bool is_used_once(const prop_graph_t *graph, const prop_op_t *op, int t) {
  const prop_node_t *node = &graph->nodes.data[op->tensors[t]];
  int count = 0;
  if (node->use_count < 2) return true;
  if (node->instr->op != HLO_WHILE || !op->uses) return false;
  for (int i = 0; i < node->op_count && count < 2; i++) {
    const prop_op_t *user = &graph->ops.data[node->ops[i]];
    for (int k = 0; k < user->rule->operand_count; k++)
      count += user->tensors[k] == op->tensors[t] &&
               (!user->uses || (user->uses[k].definer == op->uses[t].definer &&
                                user->uses[k].leaf == op->uses[t].leaf));
  }
  return count < 2;
}

/* Finds the ops of round 1: those whose operands have no other users. */
static void find_single_uses(prop_graph_t *graph) {
  for (size_t i = 0; i < graph->ops.count; i++) {
    prop_op_t *op = &graph->ops.data[i];
    op->has_single_uses = true;
    for (int t = 0; t < op->rule->operand_count; t++)
      if (op->tensors[t] >= 0 && !is_used_once(graph, op, t)) op->has_single_uses = false;
  }
}

/* Depends on the tensors of the ops alone, so that it can be called at any time. */
hr_status_t prop_graph_index(prop_graph_t *graph) {
  for (size_t n = 0; n < graph->nodes.count; n++)
    graph->nodes.data[n].op_count = graph->nodes.data[n].use_count = 0;
  HR_TRY(find_uses(graph));
  find_single_uses(graph);
  return NULL;
}

/* Constraints are applied later (constraints.c), when all uses are known. */
hr_status_t prop_graph_build(spmd_program_t *program, prop_graph_t *graph) {
  *graph = (prop_graph_t){.program = program, .arena = program->arena};
  HR_TRY(HR_NEW_ARRAY(graph->arena, program->module->computations.count, &graph->map));
  HR_TRY(HR_NEW_ARRAY(graph->arena, program->module->computations.count, &graph->callers));
  HR_TRY(build_body(graph, NULL, 0, NULL));
  HR_TRY(prop_graph_index(graph));
  return prop_find_groups(graph);
}

/* Only the vectors of nodes and ops are outside of the arena. */
void prop_graph_deinit(prop_graph_t *graph) {
  HR_VEC_FREE(&graph->nodes);
  HR_VEC_FREE(&graph->ops);
}
