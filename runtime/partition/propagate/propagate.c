/* Propagation: user priorities, each with five rounds, each a worklist of ops to a fixpoint.
 *
 *   round 1   elementwise ops, reshapes and transposes whose operands are used once
 *   round 2   the same with other uses; dynamic slices forward in both
 *   round 3   pass-through factors of every op, broadcasts only backward
 *   round 4   all factors that are not blocked
 *   round 5   broadcasts forward, too
 *
 * The worklist is a stack: ops touched by a change come before later ops of the program. This order
 * decides some conflicts. Returned values and results are made to agree before and after each
 * round.
 * Cost: each change of a node pushes its ops; a node changes at most once per axis.
 * Source: Shardy's propagation passes; compared with its dumps by tests/scripts/run_propagation.sh.
 */
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "partition/propagate/factors.h"
#include "partition/propagate/step.h"

#define ROUNDS 5

typedef struct propagation {
  prop_graph_t graph;
  hr_arena_t scratch;
  HR_VEC(int) stack;
  bool *waiting;       /* by op: on the stack */
  uint8_t *directions; /* by factor of the op at hand */
  int *changed;        /* nodes that a step changed */
  int largest;         /* factors or tensors of an op */
} propagation_t;

/* --- before the rounds --- */

/* True if the value is on one device. It has no axes; ops that touch it are not propagated. */
static bool is_maximal(const spmd_sharding_t *sharding) {
  return sharding && sharding->device >= 0;
}

/* Members of a group without a sharding take one that another member has. */
static void share_groups(prop_graph_t *graph) {
  for (size_t n = 0; n < graph->nodes.count; n++) {
    prop_node_t *node = &graph->nodes.data[n];
    if (node->said) continue;
    for (int m = node->group; m != (int)n; m = graph->nodes.data[m].group)
      if (graph->nodes.data[m].said && graph->nodes.data[m].said->rank == node->shape->rank) {
        node->said = graph->nodes.data[m].said;
        node->origin = SPMD_FROM_EDGE;
        break;
      }
  }
}

/* --- priorities --- */

static int priority_of(const spmd_dim_t *dim) {
  return dim->priority == SPMD_NO_PRIORITY ? 0 : dim->priority;
}

/* The next priority above `last`; -1: none. */
static int next_priority(const prop_graph_t *graph, int last) {
  int next = -1;
  for (size_t n = 0; n < graph->nodes.count; n++) {
    const spmd_sharding_t *said = graph->nodes.data[n].said;
    for (int d = 0; said && d < said->rank; d++) {
      int priority = priority_of(&said->dims[d]);
      if (priority > last && (next < 0 || priority < next)) next = priority;
    }
  }
  return next;
}

/* Gives dimensions of this priority their annotation. Dimensions of a later priority are empty and
 * closed; their axes are reserved. */
static hr_status_t unlock(prop_graph_t *graph, prop_node_t *node, int priority) {
  spmd_sharding_t *sharding;
  spmd_dim_t *dims;
  const spmd_sharding_t *said = node->said, *old = node->sharding;
  if (!said || is_maximal(said)) return NULL;
  HR_TRY(HR_NEW(graph->arena, &sharding));
  HR_TRY(HR_NEW_ARRAY(graph->arena, said->rank, &dims));
  *sharding = *said;
  sharding->dims = dims;
  HR_TRY(spmd_axes_concat(graph->arena, said->replicated, said->unreduced, &node->reserved));
  for (int d = 0; d < said->rank; d++) {
    int own = priority_of(&said->dims[d]);
    dims[d] = own == priority || !old ? said->dims[d] : old->dims[d];
    if (own <= priority) continue;
    HR_TRY(spmd_axes_concat(graph->arena, node->reserved, said->dims[d].axes, &node->reserved));
    dims[d] = (spmd_dim_t){.priority = own};
  }
  node->sharding = sharding;
  return NULL;
}

static hr_status_t unlock_all(prop_graph_t *graph, int priority) {
  for (size_t n = 0; n < graph->nodes.count; n++)
    HR_TRY(unlock(graph, &graph->nodes.data[n], priority));
  return NULL;
}

/* --- one round --- */

/* The directions in which a factor may carry axes, by the table of rounds above. */
static int direction_of(const prop_op_t *op, const spmd_factor_t *factor, int round) {
  int direction = PROP_NONE;
  if (op->kind == PROP_EDGE || op->kind == PROP_RESULT) return PROP_BOTH;
  if (factor->blocked) return PROP_NONE;
  if (op->kind == PROP_ELEMENTWISE && (round > 1 || op->has_single_uses)) direction = PROP_BOTH;
  if (op->kind == PROP_DYNAMIC) direction = PROP_FORWARD;
  bool joins = round >= 4 || (round == 3 && factor->kind == SPMD_PASS_THROUGH);
  if (joins) direction |= op->kind == PROP_BROADCAST ? PROP_BACKWARD : PROP_BOTH;
  if (round == ROUNDS) direction = PROP_BOTH;
  if (!op->forward) direction &= PROP_BACKWARD;
  if (!op->backward) direction &= PROP_FORWARD;
  return direction;
}

/* Pushes an op; one that is on the stack already keeps its place. */
static hr_status_t push(propagation_t *p, int op) {
  if (p->waiting[op] || p->graph.ops.data[op].kind == PROP_RESULT) return NULL;
  p->waiting[op] = true;
  HR_VEC_PUSH(&p->stack, op);
  return NULL;
}

static bool computes(const prop_op_t *op, int node) {
  for (int t = op->rule->operand_count; t < prop_tensor_count(op); t++)
    if (op->tensors[t] == node) return true;
  return false;
}

/* Pushes the ops of a node so that the first user in the program is popped first. */
static hr_status_t push_ops_of(propagation_t *p, int number) {
  const prop_node_t *node = &p->graph.nodes.data[number];
  for (int i = 0; i < node->op_count; i++)
    if (computes(&p->graph.ops.data[node->ops[i]], number)) HR_TRY(push(p, node->ops[i]));
  for (int i = node->op_count; i-- > 0;) HR_TRY(push(p, node->ops[i]));
  return NULL;
}

/* Copies the node's axes to the other members of its group. */
static hr_status_t update_group(propagation_t *p, int number) {
  const prop_node_t *node = &p->graph.nodes.data[number];
  spmd_axes_t axes[HLO_MAX_RANK];
  for (int m = node->group; m != number; m = p->graph.nodes.data[m].group) {
    if (is_maximal(p->graph.nodes.data[m].said)) continue;
    for (int d = 0; d < node->shape->rank; d++) axes[d] = node->sharding->dims[d].axes;
    HR_TRY(prop_set_axes(&p->graph, m, axes));
    HR_TRY(push_ops_of(p, m));
  }
  return NULL;
}

static bool has_maximal(const prop_graph_t *graph, const prop_op_t *op) {
  for (int t = 0; t < prop_tensor_count(op); t++)
    if (op->tensors[t] >= 0 && is_maximal(graph->nodes.data[op->tensors[t]].said)) return true;
  return false;
}

/* One step of one op. `notify`: push the ops that touch changed nodes. */
static hr_status_t visit(propagation_t *p, int number, int round, bool notify) {
  const prop_op_t *op = &p->graph.ops.data[number];
  int count;
  if (has_maximal(&p->graph, op)) return NULL;
  for (int f = 0; f < op->rule->factor_count; f++)
    p->directions[f] = (uint8_t)direction_of(op, &op->rule->factors[f], round);
  hr_arena_reset(&p->scratch);
  HR_TRY(prop_step(&p->graph, &p->scratch, op, p->directions, p->changed, &count));
  for (int i = 0; i < count; i++) {
    if (notify) HR_TRY(push_ops_of(p, p->changed[i]));
    HR_TRY(update_group(p, p->changed[i]));
  }
  return NULL;
}

static hr_status_t visit_results(propagation_t *p) {
  for (size_t i = 0; i < p->graph.ops.count; i++)
    if (p->graph.ops.data[i].kind == PROP_RESULT) HR_TRY(visit(p, (int)i, 1, false));
  return NULL;
}

/* The first op of the program lies on top of the stack. */
static hr_status_t run_round(propagation_t *p, int round) {
  HR_TRY(visit_results(p));
  for (size_t i = p->graph.ops.count; i-- > 0;) HR_TRY(push(p, (int)i));
  while (p->stack.count) {
    int op = p->stack.data[--p->stack.count];
    p->waiting[op] = false;
    HR_TRY(visit(p, op, round, true));
  }
  HR_TRY(visit_results(p));
  while (p->stack.count) p->waiting[p->stack.data[--p->stack.count]] = false;
  return NULL;
}

/* --- after the rounds --- */

/* Warns that --sharding asked for a cut that does not divide the dimension. */
static void warn_uneven(const char *end, int number, int d, int64_t size, spmd_axes_t wanted,
                        spmd_axes_t given) {
  char parts[40];
  snprintf(parts, sizeof parts, "is cut into %ld", (long)spmd_axes_parts(given));
  hr_log(HR_LOG_PLAN, HR_LOG_WARN,
         "--sharding: dimension %d of %s%d has a size of %ld, which %ld parts do not divide: it %s",
         d, end, number, (long)size, (long)spmd_axes_parts(wanted),
         given.count ? parts : "stays whole");
}

/* Makes an input or output of the program evenly cut: keeps the axes that divide the dimension. */
static hr_status_t make_even(prop_graph_t *graph, prop_node_t *node, const char *end, int number) {
  for (int d = 0; node->sharding && d < node->shape->rank; d++) {
    spmd_axes_t wanted = node->sharding->dims[d].axes, axes;
    HR_TRY(prop_cut_to_divide(graph->arena, wanted, node->shape->dims[d], &axes));
    if (spmd_axes_equal(axes, wanted)) continue;
    if (node->origin == SPMD_FROM_USER)
      warn_uneven(end, number, d, node->shape->dims[d], wanted, axes);
    HR_TRY(spmd_sharding_with_dim(graph->arena, node->sharding, d, axes, &node->sharding));
  }
  return NULL;
}

/* The prefix of whole axes: all members before the first sub-axis. */
static spmd_axes_t whole_axes(const spmd_mesh_t *mesh, spmd_axes_t axes) {
  int count = 0;
  while (count < axes.count && axes.items[count].size == mesh->axis_sizes[axes.items[count].axis])
    count++;
  return (spmd_axes_t){count, axes.items};
}

/* Drops sub-axes, except from dimensions that an annotation closes: these may be cut by whole axes
 * of another mesh. */
static hr_status_t drop_parts_of_axes(prop_graph_t *graph, prop_node_t *node) {
  if (is_maximal(node->said)) return NULL;
  for (int d = 0; node->sharding && d < node->shape->rank; d++) {
    if (node->said && !node->said->dims[d].open) continue;
    spmd_axes_t axes = node->sharding->dims[d].axes, whole = whole_axes(node->sharding->mesh, axes);
    if (whole.count < axes.count)
      HR_TRY(spmd_sharding_with_dim(graph->arena, node->sharding, d, whole, &node->sharding));
  }
  return NULL;
}

/* Makes a closed sharding without priorities and reserved axes. The manual axes of a boundary
 * (NULL: none) are prepended to each dimension and added to the unreduced axes. */
static hr_status_t close_sharding(prop_graph_t *graph, const spmd_sharding_t *from,
                                  const prop_op_t *boundary, const spmd_sharding_t **out) {
  spmd_sharding_t *sharding;
  spmd_dim_t *dims;
  *out = from;
  if (!from || from->device >= 0) return NULL;
  HR_TRY(HR_NEW(graph->arena, &sharding));
  HR_TRY(HR_NEW_ARRAY(graph->arena, from->rank, &dims));
  *sharding = *from;
  sharding->dims = dims;
  sharding->replicated = (spmd_axes_t){0, NULL};
  for (int d = 0; d < from->rank; d++) {
    dims[d] = (spmd_dim_t){.axes = from->dims[d].axes, .priority = SPMD_NO_PRIORITY};
    if (boundary)
      HR_TRY(spmd_axes_concat(graph->arena, boundary->manual[d], dims[d].axes, &dims[d].axes));
  }
  if (boundary && boundary->manual_unreduced.count) {
    HR_TRY(spmd_axes_concat(graph->arena, from->unreduced, boundary->manual_unreduced,
                            &sharding->unreduced));
    HR_TRY(spmd_axes_sort(graph->arena, sharding->unreduced, &sharding->unreduced));
  }
  *out = sharding;
  return NULL;
}

/* Stores the nodes' shardings in the values that they stand for. */
static hr_status_t store_values(prop_graph_t *graph, const hlo_instr_t *instr) {
  spmd_value_t *values = graph->program->computations[instr->parent->id].values[instr->id];
  const int *nodes = graph->map[instr->parent->id][instr->id];
  for (int leaf = 0; leaf < hlo_shape_leaf_count(instr->shape); leaf++) {
    if (nodes[leaf] < 0) continue;
    const prop_node_t *node = &graph->nodes.data[nodes[leaf]];
    const spmd_sharding_t *sharding = is_maximal(node->said) ? node->said : node->sharding;
    values[leaf] = (spmd_value_t){.origin = node->origin, .source = node->source};
    HR_TRY(close_sharding(graph, sharding, NULL, &values[leaf].sharding));
  }
  return NULL;
}

/* Stores the values of border markers: the outer shardings, with the manual axes. */
static hr_status_t store_boundaries(prop_graph_t *graph) {
  for (size_t i = 0; i < graph->ops.count; i++) {
    const prop_op_t *op = &graph->ops.data[i];
    if (op->outer != 0) continue;
    const hlo_instr_t *marker = op->instr;
    const int *nodes = graph->map[marker->parent->id][marker->id];
    spmd_value_t *values = graph->program->computations[marker->parent->id].values[marker->id];
    const spmd_sharding_t *inner = graph->nodes.data[op->tensors[1]].sharding;
    int rank = graph->nodes.data[op->tensors[1]].shape->rank;
    if (!inner) HR_TRY(spmd_sharding_replicated(graph->arena, graph->program->mesh, rank, &inner));
    for (int leaf = 0; leaf < marker->operand_count; leaf++)
      if (nodes[leaf] == op->tensors[1])
        HR_TRY(close_sharding(graph, inner, op, &values[leaf].sharding));
  }
  return NULL;
}

/* Gives each carried result the sharding of the parameter that it becomes. */
static void match_carried(const spmd_program_t *program, int param_count, int result_count,
                          const spmd_sharding_t *const *params, const spmd_sharding_t **results) {
  for (int i = 0; i < program->carried_count; i++) {
    const int *pair = program->carried[i];
    if (pair[0] < result_count && pair[1] < param_count) results[pair[0]] = params[pair[1]];
  }
}

static hr_status_t store_entry(prop_graph_t *graph) {
  spmd_program_t *program = graph->program;
  const hlo_computation_t *entry = program->module->entry;
  const spmd_sharding_t **params, **results;
  int leaves = hlo_shape_leaf_count(entry->root->shape);
  int count = hlo_computation_param_leaf_count(entry);
  HR_TRY(HR_NEW_ARRAY(graph->arena, count + 1, &params));
  HR_TRY(HR_NEW_ARRAY(graph->arena, leaves + 1, &results));
  spmd_value_t **values = program->computations[entry->id].values;
  count = 0;
  for (size_t k = 0; k < entry->params.count; k++)
    for (int leaf = 0; leaf < hlo_shape_leaf_count(entry->params.data[k]->shape); leaf++)
      params[count++] = values[entry->params.data[k]->id][leaf].sharding;
  for (int leaf = 0; leaf < leaves; leaf++) results[leaf] = values[entry->root->id][leaf].sharding;
  match_carried(program, count, leaves, params, results);
  program->param_shardings = params;
  program->result_shardings = results;
  return NULL;
}

/* The root of the entry stands for the results. Inputs are numbered across the parameters. */
static hr_status_t trim_ends(prop_graph_t *graph) {
  const hlo_computation_t *entry = graph->program->module->entry;
  int **map = graph->map[entry->id], number = 0;
  for (size_t k = 0; k <= entry->params.count; k++) {
    bool is_input = k < entry->params.count;
    const hlo_instr_t *end = is_input ? entry->params.data[k] : entry->root;
    if (!is_input) number = 0;
    for (int leaf = 0; leaf < hlo_shape_leaf_count(end->shape); leaf++, number++) {
      int node = map[end->id][leaf];
      if (node < 0) continue;
      HR_TRY(make_even(graph, &graph->nodes.data[node], is_input ? "in" : "out", number));
      if (graph->program->whole_axes) HR_TRY(drop_parts_of_axes(graph, &graph->nodes.data[node]));
    }
  }
  return NULL;
}

static hr_status_t store_all(prop_graph_t *graph) {
  const hlo_module_t *module = graph->program->module;
  HR_TRY(trim_ends(graph));
  for (size_t c = 0; c < module->computations.count; c++)
    for (size_t i = 0; i < module->computations.data[c]->instrs.count && graph->map[c]; i++)
      HR_TRY(store_values(graph, module->computations.data[c]->instrs.data[i]));
  HR_TRY(store_boundaries(graph));
  return store_entry(graph);
}

/* --- all of it --- */

/* The steps before the rounds may add ops, so that arrays by op are made last. */
static hr_status_t prepare(propagation_t *p) {
  HR_TRY(prop_apply_constraints(&p->graph));
  HR_TRY(prop_split_members(&p->graph));
  prop_join_carried(&p->graph);
  share_groups(&p->graph);
  for (size_t i = 0; i < p->graph.ops.count; i++) {
    const prop_op_t *op = &p->graph.ops.data[i];
    if (prop_tensor_count(op) > p->largest) p->largest = prop_tensor_count(op);
    if (op->rule->factor_count > p->largest) p->largest = op->rule->factor_count;
  }
  HR_TRY(HR_NEW_ARRAY(p->graph.arena, p->graph.ops.count + 1, &p->waiting));
  HR_TRY(HR_NEW_ARRAY(p->graph.arena, p->largest + 1, &p->directions));
  return HR_NEW_ARRAY(p->graph.arena, p->largest + 1, &p->changed);
}

/* Runs the priorities in ascending order; unannotated programs have the one priority 0. */
static hr_status_t propagate(propagation_t *p) {
  HR_TRY(prepare(p));
  for (int priority = next_priority(&p->graph, -1); priority >= 0;
       priority = next_priority(&p->graph, priority)) {
    HR_TRY(unlock_all(&p->graph, priority));
    for (int round = 1; round <= ROUNDS; round++) HR_TRY(run_round(p, round));
  }
  return store_all(&p->graph);
}

hr_status_t spmd_propagate(spmd_program_t *program) {
  propagation_t p = {.largest = 0};
  hr_arena_init(&p.scratch);
  hr_status_t st = prop_graph_build(program, &p.graph);
  if (!st) st = propagate(&p);
  HR_VEC_FREE(&p.stack);
  prop_graph_deinit(&p.graph);
  hr_arena_deinit(&p.scratch);
  return st;
}
