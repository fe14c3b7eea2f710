/* Layout assignment by minimum s-t cut.
 *
 * 1. Propagation. Convolutions start with the layouts that they prefer; a worklist carries each to
 *    operands and users as long as ops are layout-agnostic. The first layout to arrive is kept.
 * 2. Graph. A node on the source's side is transposed, a node on the sink's side is row-major:
 *
 *      SOURCE --bytes--> v    v row-major costs `bytes` (a convolution transposes by itself)
 *      v --bytes--> SINK      v transposed costs `bytes` (an operand has no such layout)
 *      user --never--> x.transposed --bytes--> x    transposed user, row-major x: one copy of x
 *      x --bytes--> x.row_major --never--> user     row-major user, transposed x: one copy of x
 *
 *    The two auxiliary nodes of x make all its users share one copy.
 * 3. Cut. Accepted if it moves at least MIN_GAIN fewer bytes than the program as it is.
 *
 * Arrays whose layout permutes only dimensions of size 1 cost nothing in either layout. */
#include "passes/layout/layout_plan.h"

#include "passes/lib/pass_match.h"

/* Least fraction of the transposed bytes to be saved: a smaller gain does not pay for the copies'
 * memory. */
#define MIN_GAIN 0.01

typedef struct layout_node { /* graph nodes of one instruction; 0: none yet */
  int self;                  /* the instruction: on the source's side it is transposed */
  int transposed;            /* its transposed copy: on the source's side some user needs it */
  int row_major;             /* its row-major copy: on the sink's side some user needs it */
  int operands[2];           /* layouts of a convolution's operands */
} layout_node_t;

typedef struct layout_solver {
  hr_arena_t *arena;
  const hlo_computation_t *computation;
  layout_choice_t *choices;
  layout_node_t *nodes;
  pass_users_t users;
  hlo_instr_t **stack; /* worklist of propagation */
  size_t stack_count;
  bool include_row_major; /* propagate layouts that leave the elements in row-major order too */
  cut_graph_t graph;
  cut_cost_t before;
} layout_solver_t;

static double array_bytes(const hlo_instr_t *instr) {
  return (double)hlo_shape_elements(instr->shape) * (double)hr_dtype_bytes(instr->shape->dtype);
}

/* ---- propagation ---- */

static void set_layout(layout_solver_t *solver, hlo_instr_t *instr, const layout_t *layout) {
  layout_choice_t *choice = &solver->choices[instr->id];
  choice->is_decided = true;
  choice->layout = *layout;
  solver->stack[solver->stack_count++] = instr;
}

/* Gives `instr` the layout in which its operand or result k has `layout`, unless it already has one
 * or is not layout-agnostic. */
static void propagate_to(layout_solver_t *solver, hlo_instr_t *instr, int k,
                         const layout_t *layout) {
  layout_t current;
  const hlo_shape_t *shape = k == LAYOUT_RESULT ? instr->shape : instr->operands[k]->shape;
  if (solver->choices[instr->id].is_decided || !layout_is_agnostic(instr) || layout->rank < 2)
    return;
  if (!solver->include_row_major && layout_is_row_major(layout, shape)) return;
  if (layout_from_array(instr, k, layout, &current) && layout_can_apply(instr, &current))
    set_layout(solver, instr, &current);
}

/* Layout of the instruction's result; for reductions it differs from the instruction's. */
static layout_t result_layout(const layout_solver_t *solver, const hlo_instr_t *instr) {
  const layout_choice_t *choice = &solver->choices[instr->id];
  layout_t layout = choice->layout;
  if (!choice->is_conv) layout_of_array(instr, LAYOUT_RESULT, &choice->layout, &layout);
  return layout;
}

static void propagate_from(layout_solver_t *solver, hlo_instr_t *instr) {
  layout_choice_t *choice = &solver->choices[instr->id];
  layout_t result = result_layout(solver, instr), operand;
  for (int k = 0; k < instr->operand_count && !choice->is_conv; k++)
    if (layout_of_array(instr, k, &choice->layout, &operand))
      propagate_to(solver, instr->operands[k], LAYOUT_RESULT, &operand);
  for (uint32_t u = solver->users.first[instr->id]; u < solver->users.first[instr->id + 1]; u++) {
    hlo_instr_t *user = solver->users.users[u];
    for (int k = 0; k < user->operand_count; k++)
      if (user->operands[k] == instr) propagate_to(solver, user, k, &result);
  }
}

static void propagate_all(layout_solver_t *solver) {
  while (solver->stack_count) propagate_from(solver, solver->stack[--solver->stack_count]);
}

static layout_t preferred_layout(const hlo_instr_t *conv, int k) {
  conv_orders_t orders;
  layout_t none = {.rank = 0};
  if (!conv_orders_find(conv, &orders) || !orders.matters[k]) return none;
  return layout_of_dims(k == 2 ? conv->shape->rank : conv->operands[k]->shape->rank,
                        orders.dims[k]);
}

static bool has_preferred_layouts(const hlo_instr_t *instr) {
  conv_orders_t orders;
  if (instr->op != HLO_CONVOLUTION || (instr->extra && instr->extra->control_count)) return false;
  for (int k = 0; k < 2; k++)
    if (hlo_shape_is_dynamic(instr->operands[k]->shape)) return false;
  return !hlo_shape_is_dynamic(instr->shape) && conv_orders_find(instr, &orders);
}

/* Seeds the worklist with the preferred result layouts of convolutions. */
static void find_convolutions(layout_solver_t *solver) {
  for (size_t i = 0; i < solver->computation->instrs.count; i++) {
    hlo_instr_t *conv = solver->computation->instrs.data[i];
    solver->choices[i].is_conv = has_preferred_layouts(conv);
    layout_t preferred =
        solver->choices[i].is_conv ? preferred_layout(conv, 2) : (layout_t){.rank = 0};
    if (preferred.rank) set_layout(solver, conv, &preferred);
  }
}

static void propagate_from_operands(layout_solver_t *solver) {
  for (size_t i = 0; i < solver->computation->instrs.count; i++)
    for (int k = 0; k < 2 && solver->choices[i].is_conv; k++) {
      hlo_instr_t *conv = solver->computation->instrs.data[i];
      layout_t preferred = preferred_layout(conv, k);
      propagate_to(solver, conv->operands[k], LAYOUT_RESULT, &preferred);
      propagate_all(solver);
    }
}

/* Propagates first the layouts that move elements, then those that do not: after a transpose of the
 * program the latter may become the former. */
static void propagate_layouts(layout_solver_t *solver) {
  find_convolutions(solver);
  propagate_all(solver);
  propagate_from_operands(solver);
  solver->include_row_major = true;
  for (size_t i = 0; i < solver->computation->instrs.count; i++)
    if (solver->choices[i].is_decided)
      solver->stack[solver->stack_count++] = solver->computation->instrs.data[i];
  propagate_all(solver);
  propagate_from_operands(solver);
}

static bool any_layout_transposes(const layout_solver_t *solver) {
  for (size_t i = 0; i < solver->computation->instrs.count; i++) {
    const hlo_instr_t *instr = solver->computation->instrs.data[i];
    for (int k = 0; k < 2 && solver->choices[i].is_conv; k++) {
      layout_t preferred = preferred_layout(instr, k);
      if (preferred.rank && !layout_is_row_major(&preferred, instr->operands[k]->shape))
        return true;
    }
    if (!solver->choices[i].is_decided) continue;
    layout_t result = result_layout(solver, instr);
    if (!layout_is_row_major(&result, instr->shape)) return true;
  }
  return false;
}

/* ---- costs ---- */

static hr_status_t ensure_node(layout_solver_t *solver, int *node) {
  return *node ? NULL : cut_node_add(&solver->graph, node);
}

/* Adds `bytes` to the cost of the row-major choice, and to the cost of the original program. */
static hr_status_t add_node_cost(layout_solver_t *solver, int node, double bytes) {
  solver->before.total += bytes;
  solver->before.count++;
  return cut_edge_add(&solver->graph, CUT_SOURCE, node, bytes);
}

/* A transposed `user` (on the source's side) needs x transposed; a row-major x is copied for it. */
static hr_status_t require_transposed(layout_solver_t *solver, int user, const hlo_instr_t *x) {
  layout_node_t *node = &solver->nodes[x->id];
  int self = solver->choices[x->id].is_decided ? node->self : CUT_SINK;
  if (!node->transposed) {
    HR_TRY(ensure_node(solver, &node->transposed));
    HR_TRY(cut_edge_add(&solver->graph, node->transposed, self, array_bytes(x)));
  }
  return cut_edge_add(&solver->graph, user, node->transposed, CUT_NEVER);
}

/* A row-major `user` needs x row-major; a transposed x is copied for it. */
static hr_status_t require_row_major(layout_solver_t *solver, int user, const hlo_instr_t *x) {
  layout_node_t *node = &solver->nodes[x->id];
  if (!node->row_major) {
    HR_TRY(ensure_node(solver, &node->row_major));
    HR_TRY(cut_edge_add(&solver->graph, node->self, node->row_major, array_bytes(x)));
  }
  return cut_edge_add(&solver->graph, node->row_major, user, CUT_NEVER);
}

/* `user` reads x in layout `wanted` if it is transposed, and row-major if not. */
static hr_status_t add_use_costs(layout_solver_t *solver, int user, const hlo_instr_t *x,
                                 const layout_t *wanted) {
  if (!wanted->rank || layout_is_free(x)) return NULL;
  bool transposes = !layout_is_row_major(wanted, x->shape);
  bool known = solver->choices[x->id].is_decided;
  layout_t current = known ? result_layout(solver, x) : *wanted;
  bool x_transposes = known && !layout_is_row_major(&current, x->shape);
  if (!transposes) return x_transposes ? require_row_major(solver, CUT_SINK, x) : NULL;
  if (!x_transposes)
    return known ? cut_edge_add(&solver->graph, user, CUT_SINK, array_bytes(x))
                 : require_transposed(solver, user, x);
  if (layout_equal(wanted, &current, x->shape)) {
    HR_TRY(require_transposed(solver, user, x));
    return require_row_major(solver, user, x);
  }
  HR_TRY(cut_edge_add(&solver->graph, user, CUT_SINK, array_bytes(x)));
  return require_row_major(solver, user, x);
}

/* A transpose of the program moves nothing if its operand and its result have equal bytes in memory
 * under the chosen layouts. */
static hr_status_t add_transpose_costs(layout_solver_t *solver, const hlo_instr_t *transpose) {
  const layout_choice_t *choice = &solver->choices[transpose->id];
  const hlo_instr_t *x = transpose->operands[0];
  int self = solver->nodes[transpose->id].self;
  layout_t wanted,
      plain = layout_of_dims(x->shape->rank, hlo_attr_ints(transpose, HLO_ATTR_DIMENSIONS).data);
  if (layout_is_row_major(&plain, x->shape)) return NULL;
  layout_of_array(transpose, 0, &choice->layout, &wanted);
  bool transposes = !layout_is_row_major(&wanted, x->shape);
  bool known = solver->choices[x->id].is_decided;
  layout_t current = known ? result_layout(solver, x) : wanted;
  if (!transposes) return add_node_cost(solver, self, array_bytes(x));
  if (!known || !layout_equal(&current, &wanted, x->shape)) return NULL;
  if (layout_is_row_major(&choice->layout, transpose->shape))
    return add_node_cost(solver, solver->nodes[x->id].self, array_bytes(x));
  HR_TRY(add_node_cost(solver, self, array_bytes(x)));
  return cut_edge_add(&solver->graph, self, solver->nodes[x->id].self, array_bytes(x));
}

static hr_status_t add_conv_costs(layout_solver_t *solver, const hlo_instr_t *conv) {
  layout_node_t *node = &solver->nodes[conv->id];
  if (solver->choices[conv->id].is_decided &&
      !layout_is_row_major(&solver->choices[conv->id].layout, conv->shape))
    HR_TRY(add_node_cost(solver, node->self, array_bytes(conv)));
  for (int k = 0; k < 2; k++) {
    layout_t preferred = preferred_layout(conv, k);
    if (!preferred.rank) continue;
    HR_TRY(ensure_node(solver, &node->operands[k]));
    if (!layout_is_row_major(&preferred, conv->operands[k]->shape))
      HR_TRY(add_node_cost(solver, node->operands[k], array_bytes(conv->operands[k])));
    HR_TRY(add_use_costs(solver, node->operands[k], conv->operands[k], &preferred));
  }
  return NULL;
}

/* A dot reads its operand in any layout that keeps the order of the free dimensions, which are
 * dimensions of its result. */
static bool dot_accepts_layout(const hlo_instr_t *dot, int k, const layout_t *layout) {
  hr_ints_t batch = hlo_attr_ints(dot, k ? HLO_ATTR_RHS_BATCH_DIMS : HLO_ATTR_LHS_BATCH_DIMS);
  hr_ints_t summed =
      hlo_attr_ints(dot, k ? HLO_ATTR_RHS_CONTRACTING_DIMS : HLO_ATTR_LHS_CONTRACTING_DIMS);
  bool is_free[HLO_MAX_RANK];
  int last = -1;
  for (int d = 0; d < layout->rank; d++) is_free[d] = true;
  for (int64_t i = 0; i < batch.count; i++) is_free[batch.data[i]] = false;
  for (int64_t i = 0; i < summed.count; i++) is_free[summed.data[i]] = false;
  for (int d = 0; d < layout->rank; d++) {
    if (!is_free[layout->dims[d]]) continue;
    if (layout->dims[d] < last) return false;
    last = layout->dims[d];
  }
  return true;
}

/* Cost of a use by an instruction without layouts, which stays row-major. */
static hr_status_t add_fixed_use_cost(layout_solver_t *solver, const hlo_instr_t *user, int k) {
  const hlo_instr_t *x = user->operands[k];
  if (!solver->choices[x->id].is_decided) return NULL;
  layout_t current = result_layout(solver, x);
  if (layout_is_row_major(&current, x->shape) ||
      (user->op == HLO_DOT && k < 2 && dot_accepts_layout(user, k, &current)))
    return NULL;
  return require_row_major(solver, CUT_SINK, x);
}

static hr_status_t add_instr_costs(layout_solver_t *solver, const hlo_instr_t *instr) {
  const layout_choice_t *choice = &solver->choices[instr->id];
  layout_t wanted;
  if (choice->is_conv) return add_conv_costs(solver, instr);
  if (choice->is_decided && instr->op == HLO_TRANSPOSE) return add_transpose_costs(solver, instr);
  for (int k = 0; k < instr->operand_count; k++) {
    if (!choice->is_decided) {
      HR_TRY(add_fixed_use_cost(solver, instr, k));
      continue;
    }
    layout_of_array(instr, k, &choice->layout, &wanted);
    HR_TRY(add_use_costs(solver, solver->nodes[instr->id].self, instr->operands[k], &wanted));
  }
  return NULL;
}

static hr_status_t build_graph(layout_solver_t *solver) {
  const hlo_computation_t *computation = solver->computation;
  for (size_t i = 0; i < computation->instrs.count; i++)
    if (solver->choices[i].is_decided) HR_TRY(ensure_node(solver, &solver->nodes[i].self));
  for (size_t i = 0; i < computation->instrs.count; i++)
    HR_TRY(add_instr_costs(solver, computation->instrs.data[i]));
  const hlo_instr_t *root = computation->root;
  if (!solver->choices[root->id].is_decided) return NULL;
  layout_t current = result_layout(solver, root);
  return layout_is_row_major(&current, root->shape) ? NULL
                                                    : require_row_major(solver, CUT_SINK, root);
}

/* ---- the cut ---- */

static void store_assignment(const layout_solver_t *solver, const bool *sides) {
  for (size_t i = 0; i < solver->computation->instrs.count; i++) {
    layout_choice_t *choice = &solver->choices[i];
    choice->transposed = choice->is_decided && sides[solver->nodes[i].self];
    for (int k = 0; k < 2; k++) {
      int node = solver->nodes[i].operands[k];
      choice->operand_transposed[k] = node && sides[node];
    }
  }
}

static hr_status_t solve_cut(layout_solver_t *solver, layout_plan_t *plan) {
  bool *sides;
  HR_TRY(build_graph(solver));
  HR_TRY(cut_solve(solver->arena, &solver->graph, &sides, &plan->after));
  plan->before = solver->before;
  if (plan->after.total > (1 - MIN_GAIN) * plan->before.total || !plan->before.count) return NULL;
  store_assignment(solver, sides);
  plan->choices = solver->choices;
  return NULL;
}

static bool has_convolution(const hlo_computation_t *computation) {
  for (size_t i = 0; i < computation->instrs.count; i++)
    if (computation->instrs.data[i]->op == HLO_CONVOLUTION) return true;
  return false;
}

hr_status_t layout_plan_find(hr_arena_t *arena, const hlo_computation_t *computation,
                             layout_plan_t *out_plan) {
  layout_solver_t solver = {.arena = arena, .computation = computation};
  size_t count = computation->instrs.count;
  *out_plan = (layout_plan_t){.choices = NULL};
  if (!has_convolution(computation)) return NULL;
  HR_TRY(HR_NEW_ARRAY(arena, count, &solver.choices));
  HR_TRY(HR_NEW_ARRAY(arena, count, &solver.nodes));
  HR_TRY(HR_NEW_ARRAY(arena, count, &solver.stack));
  HR_TRY(pass_users_find(arena, computation, &solver.users));
  propagate_layouts(&solver);
  if (!any_layout_transposes(&solver)) return NULL;
  hr_status_t st = cut_init(&solver.graph);
  if (!st) st = solve_cut(&solver, out_plan);
  cut_deinit(&solver.graph);
  return st;
}
