/* Application of constraints before anything is propagated. The operand of a closed constraint, or
 * of an entry of a manual computation, gets the sharding wanted there, if no other use wants
 * another one:
 *
 *   x = f(..)                     x has no sharding: it gets s
 *   y = constraint(x, s)
 *
 * If the operand is a loop's state or a branch's result, s would also bind the initial value of the
 * loop and the next values. Then x stays free and the other users of x take y:
 *
 *   body(x):  y = constraint(x, s); z = g(x)       ->       z = g(y)
 *
 * A chain of constraints, each the only user of the one before, moves a value on purpose; users of
 * the first value that come after the chain take the last:
 *
 *   y = constraint(x, s); z = constraint(y, t); w = g(x)       ->       w = g(z)
 *
 * A member of a group whose sharding is closed by then keeps it. A constraint after it is the
 * member, which users take.
 *
 * Only the graph of propagation changes: both values of such a pair have the same elements.
 * Cost: linear in the uses, and in the program for each value that gets another user.
 * Source: Shardy's pass that applies sharding constraints. */
#include "partition/propagate/graph_build.h"

/* --- values --- */

/* The operand of a tuple that leaf *leaf belongs to; *leaf becomes the operand's leaf. */
static const hlo_instr_t *operand_with(const hlo_instr_t *tuple, int *leaf) {
  int k = 0;
  while (*leaf >= hlo_shape_leaf_count(tuple->operands[k]->shape))
    *leaf -= hlo_shape_leaf_count(tuple->operands[k++]->shape);
  return tuple->operands[k];
}

/* The argument that a parameter of a branch or manual body stands for; NULL: the parameter is a
 * loop's state, which is a value of its own. */
static const hlo_instr_t *argument_of(const prop_graph_t *graph, const hlo_instr_t *param) {
  const hlo_instr_t *caller = graph->callers[param->parent->id];
  int number = (int)hlo_parameter_number(param), branch = 0;
  if (!caller || caller->op == HLO_WHILE) return NULL;
  if (caller->op == HLO_CALL) return caller->operands[number];
  while (caller->called[branch] != param->parent) branch++;
  return caller->operands[branch + 1];
}

prop_use_t prop_use_of(const prop_graph_t *graph, const hlo_instr_t *value, int leaf,
                       const hlo_instr_t *user, const hlo_computation_t *block) {
  const hlo_instr_t *next = value;
  while (next) {
    value = next;
    next = NULL;
    if (value->op == HLO_TUPLE) next = operand_with(value, &leaf);
    if (value->op == HLO_CALL) next = value->called[0]->root;
    if (value->op == HLO_PARAMETER) next = argument_of(graph, value);
    if (value->op != HLO_GET_TUPLE_ELEMENT) continue;
    next = value->operands[0];
    leaf += hlo_shape_leaf_start(next->shape, hlo_attr_int(value, HLO_ATTR_INDEX));
  }
  return (prop_use_t){value, leaf, block, user ? user->id : UINT32_MAX};
}

static bool same_value(const prop_use_t *a, const prop_use_t *b) {
  return a->definer == b->definer && a->leaf == b->leaf;
}

/* True if edges give the value its sharding: a loop's state, or the result of a branch or barrier.
 */
static bool is_edge_target(const prop_graph_t *graph, const prop_use_t *value) {
  const hlo_instr_t *definer = value->definer;
  const hlo_instr_t *caller =
      definer->op == HLO_PARAMETER ? graph->callers[definer->parent->id] : NULL;
  return definer->op == HLO_WHILE || definer->op == HLO_CONDITIONAL ||
         definer->op == HLO_OPT_BARRIER || (caller && caller->op == HLO_WHILE);
}

/* --- wanted shardings --- */

static bool is_constraint(const prop_op_t *op) {
  return op->uses && spmd_marker_of(op->instr) == SPMD_CONSTRAINT;
}

/* The sharding that a constraint, or an entry of a manual computation, wants of its operand; NULL:
 * none. */
static const spmd_sharding_t *wanted_by(const prop_graph_t *graph, const prop_op_t *op) {
  if (!op->uses) return NULL;
  if (op->outer == 0) return op->said;
  return is_constraint(op) ? graph->nodes.data[op->tensors[1]].said : NULL;
}

static bool is_closed(const spmd_sharding_t *sharding) {
  for (int d = 0; d < sharding->rank; d++)
    if (sharding->dims[d].open) return false;
  return true;
}

/* The next op that takes the value, searched from index *at of its node's list; NULL: none. */
static prop_op_t *next_user(const prop_graph_t *graph, int node, const prop_use_t *value, int *at,
                            int *out_operand) {
  const prop_node_t *of = &graph->nodes.data[node];
  for (; *at < of->op_count; (*at)++) {
    prop_op_t *op = &graph->ops.data[of->ops[*at]];
    for (int k = 0; op->uses && k < op->rule->operand_count; k++) {
      if (op->tensors[k] != node || !same_value(&op->uses[k], value)) continue;
      (*at)++;
      *out_operand = k;
      return op;
    }
  }
  return NULL;
}

/* True if a constraint or manual computation other than `except` takes the value and wants a
 * sharding that differs from `other_than` (NULL: any sharding). */
static bool is_wanted(const prop_graph_t *graph, int node, const prop_use_t *value,
                      const prop_op_t *except, const spmd_sharding_t *other_than) {
  int at = 0, k;
  for (prop_op_t *op; (op = next_user(graph, node, value, &at, &k));) {
    const spmd_sharding_t *said = wanted_by(graph, op);
    bool counts = op != except && (said || is_constraint(op) || op->outer == 0);
    if (counts && (!other_than || (said && !spmd_sharding_equal(said, other_than)))) return true;
  }
  return false;
}

/* --- other users take another value --- */

typedef struct rewiring {
  int from, to; /* nodes */
  prop_use_t old, made;
  const prop_op_t *except;
  const hlo_instr_t *after; /* only later users in the block of this one; NULL: all users */
} rewiring_t;

static bool is_after(const rewiring_t *rewiring, const prop_op_t *op, const prop_use_t *use) {
  const hlo_instr_t *tail = rewiring->after;
  if (!tail) return true;
  return op->kind != PROP_RESULT && use->block == tail->parent && use->at > tail->id;
}

static hr_status_t rewire(prop_graph_t *graph, const rewiring_t *rewiring) {
  bool changed = false;
  int at = 0, k;
  for (prop_op_t *op; (op = next_user(graph, rewiring->from, &rewiring->old, &at, &k));)
    for (; k < op->rule->operand_count && op != rewiring->except; k++) {
      prop_use_t *use = &op->uses[k];
      if (op->tensors[k] != rewiring->from || !same_value(use, &rewiring->old) ||
          !is_after(rewiring, op, use))
        continue;
      op->tensors[k] = rewiring->to;
      use->definer = rewiring->made.definer;
      use->leaf = rewiring->made.leaf;
      changed = true;
    }
  return changed ? prop_graph_index(graph) : NULL;
}

/* --- chains --- */

/* The value that a constraint gives. */
static prop_use_t result_of(const prop_op_t *op) { return (prop_use_t){op->instr, 0, NULL, 0}; }

/* The constraint that is the only user of what `op` gives; NULL: there is none. */
static const prop_op_t *only_constraint(const prop_graph_t *graph, const prop_op_t *op) {
  prop_use_t value = result_of(op);
  const prop_node_t *node = &graph->nodes.data[op->tensors[1]];
  int at = 0, k;
  const prop_op_t *user = next_user(graph, op->tensors[1], &value, &at, &k);
  if (!user || node->hidden_uses || !is_constraint(user)) return NULL;
  return next_user(graph, op->tensors[1], &value, &at, &k) ? NULL : user;
}

static hr_status_t follow_chain(prop_graph_t *graph, const prop_op_t *head) {
  const prop_op_t *tail = head;
  int node = head->tensors[0];
  if (spmd_marker_of(head->uses[0].definer) == SPMD_CONSTRAINT || graph->nodes.data[node].said)
    return NULL;
  if (is_wanted(graph, node, &head->uses[0], head, NULL)) return NULL;
  for (const prop_op_t *next = head; next; next = only_constraint(graph, next)) tail = next;
  prop_use_t last = result_of(tail);
  if (tail == head || is_wanted(graph, tail->tensors[1], &last, NULL, NULL)) return NULL;
  rewiring_t rewiring = {.from = node,
                         .to = tail->tensors[1],
                         .old = head->uses[0],
                         .made = last,
                         .except = head,
                         .after = tail->instr};
  return rewire(graph, &rewiring);
}

/* --- application --- */

/* Adds a constraint after a value, whose users shall take it: that of an edge that enters a manual
 * computation, or of a member of a group. */
static hr_status_t constrain(prop_graph_t *graph, const hlo_instr_t *instr,
                             const spmd_sharding_t *wanted, rewiring_t *rewiring) {
  prop_node_t node = graph->nodes.data[rewiring->from];
  prop_op_t op = {.instr = instr,
                  .kind = PROP_ELEMENTWISE,
                  .is_pointwise = true,
                  .forward = true,
                  .backward = true,
                  .outer = -1};
  rewiring->to = (int)graph->nodes.count;
  rewiring->made = (prop_use_t){instr, -1 - rewiring->from, NULL, 0};
  rewiring->except = NULL;
  node.said = wanted;
  node.hidden_uses = 0;
  node.group = rewiring->to;
  HR_VEC_PUSH(&graph->nodes, node);
  HR_TRY(HR_NEW_ARRAY(graph->arena, 2, &op.tensors));
  op.tensors[0] = rewiring->from;
  op.tensors[1] = rewiring->to;
  HR_TRY(prop_identity_rule(graph->arena, node.shape, 1, &op.rule));
  return prop_add_op(graph, op);
}

static hr_status_t apply(prop_graph_t *graph, size_t i) {
  const prop_op_t *op = &graph->ops.data[i];
  const spmd_sharding_t *wanted = wanted_by(graph, op);
  prop_node_t *operand = &graph->nodes.data[op->tensors[0]];
  if (operand->said || !wanted || wanted->device >= 0 || !is_closed(wanted)) return NULL;
  if (is_wanted(graph, op->tensors[0], &op->uses[0], NULL, wanted)) return NULL;
  if (!is_edge_target(graph, &op->uses[0])) {
    operand->said = wanted;
    operand->origin = SPMD_FROM_USE;
    operand->source = op->instr;
    return NULL;
  }
  rewiring_t rewiring = {
      .from = op->tensors[0], .to = op->tensors[1], .old = op->uses[0], .except = op};
  rewiring.made = result_of(op);
  if (op->outer == 0) HR_TRY(constrain(graph, op->instr, wanted, &rewiring));
  return rewire(graph, &rewiring);
}

hr_status_t prop_apply_constraints(prop_graph_t *graph) {
  for (size_t i = 0; i < graph->ops.count; i++) {
    const prop_op_t *op = &graph->ops.data[i];
    if (!op->uses || !prop_tensor_count(op) || op->tensors[0] < 0) continue;
    if (is_constraint(op)) HR_TRY(follow_chain(graph, op));
    HR_TRY(apply(graph, i));
  }
  return NULL;
}

/* True if all users take one value of the node. */
static bool has_one_value(const prop_graph_t *graph, int number, prop_use_t *out_value) {
  const prop_node_t *node = &graph->nodes.data[number];
  bool found = false;
  for (int i = 0; i < node->op_count; i++) {
    const prop_op_t *op = &graph->ops.data[node->ops[i]];
    for (int k = 0; k < op->rule->operand_count; k++) {
      if (op->tensors[k] != number) continue;
      if (!op->uses || (found && !same_value(out_value, &op->uses[k]))) return false;
      *out_value = op->uses[k];
      found = true;
    }
  }
  return found;
}

/* The annotation of the first annotated member of a group, in program order. */
static const spmd_sharding_t *group_annotation(const prop_graph_t *graph, int number) {
  const prop_node_t *nodes = graph->nodes.data;
  int first = number;
  for (int m = nodes[number].group; m != number; m = nodes[m].group)
    if (nodes[m].said && m < first) first = m;
  return nodes[first].said;
}

/* Puts the value after member n in its place in the group. */
static void take_place(prop_graph_t *graph, int n, int after) {
  prop_node_t *nodes = graph->nodes.data;
  int last = n;
  while (nodes[last].group != n) last = nodes[last].group;
  nodes[last].group = after;
  nodes[after].group = nodes[n].group;
  nodes[after].sharding = NULL;
  nodes[n].group = n;
}

static hr_status_t split_member(prop_graph_t *graph, int n, const spmd_sharding_t *annotation) {
  const prop_node_t *node = &graph->nodes.data[n];
  rewiring_t rewiring = {.from = n};
  if (node->group == n || !node->said || !is_closed(node->said)) return NULL;
  if (!has_one_value(graph, n, &rewiring.old) || is_edge_target(graph, &rewiring.old)) return NULL;
  HR_TRY(constrain(graph, node->instr, annotation, &rewiring));
  take_place(graph, n, rewiring.to);
  HR_TRY(rewire(graph, &rewiring));
  return prop_graph_index(graph);
}

hr_status_t prop_split_members(prop_graph_t *graph) {
  size_t count = graph->nodes.count;
  const spmd_sharding_t **annotations;
  HR_TRY(HR_NEW_ARRAY(graph->arena, count, &annotations));
  for (size_t n = 0; n < count; n++) annotations[n] = group_annotation(graph, (int)n);
  for (size_t n = 0; n < count; n++) HR_TRY(split_member(graph, (int)n, annotations[n]));
  return NULL;
}
