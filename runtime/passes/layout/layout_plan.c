#include "passes/layout/layout_plan.h"

#include "passes/lib/pass_match.h"

#define LEAST_GAIN \
  0.01 /* of the bytes moved before: smaller changes are not worth their copies in the arena */

typedef struct order_node { /* in the graph of costs; 0: none yet */
  int self;                 /* with the source: turned */
  int copy;                 /* with the source: somebody needs it turned */
  int plain;                /* with the sink: somebody needs it as it is in the program */
  int operands[2];
} order_node_t;

typedef struct layout_finder {
  hr_arena_t *arena;
  const hlo_computation_t *computation;
  layout_choice_t *choices;
  order_node_t *nodes;
  pass_users_t users;
  hlo_instr_t **stack; /* whose orders are to be spread */
  size_t stack_count;
  bool idle_too; /* orders that are the program's own are spread as well */
  cut_graph_t graph;
  cut_cost_t before;
} layout_finder_t;

static double bytes_of(const hlo_instr_t *instr) {
  return (double)pass_count(instr->shape) * (double)hr_dtype_bytes(instr->shape->dtype);
}

/* ---- orders ---- */

static void give_order(layout_finder_t *finder, hlo_instr_t *instr, const layout_t *layout) {
  layout_choice_t *choice = &finder->choices[instr->id];
  choice->is_decided = true;
  choice->layout = *layout;
  finder->stack[finder->stack_count++] = instr;
}

/* Operand or result k of `instr` is best in this order: then the instruction is in the one from
 * which it follows. */
static void propose(layout_finder_t *finder, hlo_instr_t *instr, int k, const layout_t *layout) {
  layout_t current;
  const hlo_shape_t *shape = k == LAYOUT_RESULT ? instr->shape : instr->operands[k]->shape;
  if (finder->choices[instr->id].is_decided || !layout_is_carried(instr) || layout->rank < 2)
    return;
  if (!finder->idle_too && layout_is_idle(layout, shape)) return;
  if (layout_above(instr, k, layout, &current) && layout_fits(instr, &current))
    give_order(finder, instr, &current);
}

/* The order of its result. */
static layout_t result_order(const layout_finder_t *finder, const hlo_instr_t *instr) {
  const layout_choice_t *choice = &finder->choices[instr->id];
  layout_t layout = choice->layout;
  if (!choice->is_conv) layout_below(instr, LAYOUT_RESULT, &choice->layout, &layout);
  return layout;
}

static void spread(layout_finder_t *finder, hlo_instr_t *instr) {
  layout_choice_t *choice = &finder->choices[instr->id];
  layout_t result = result_order(finder, instr), operand;
  for (int k = 0; k < instr->operand_count && !choice->is_conv; k++)
    if (layout_below(instr, k, &choice->layout, &operand))
      propose(finder, instr->operands[k], LAYOUT_RESULT, &operand);
  for (uint32_t u = finder->users.first[instr->id]; u < finder->users.first[instr->id + 1]; u++) {
    hlo_instr_t *user = finder->users.users[u];
    for (int k = 0; k < user->operand_count; k++)
      if (user->operands[k] == instr) propose(finder, user, k, &result);
  }
}

static void propagate_all(layout_finder_t *finder) {
  while (finder->stack_count) spread(finder, finder->stack[--finder->stack_count]);
}

static layout_t preferred_layout(const hlo_instr_t *conv, int k) {
  conv_orders_t orders;
  layout_t none = {.rank = 0};
  if (!conv_orders_find(conv, &orders) || !orders.matters[k]) return none;
  return layout_of_dims(k == 2 ? conv->shape->rank : conv->operands[k]->shape->rank,
                        orders.dims[k]);
}

static bool is_conv_with_orders(const hlo_instr_t *instr) {
  conv_orders_t orders;
  if (instr->op != HLO_CONVOLUTION || (instr->extra && instr->extra->control_count)) return false;
  for (int k = 0; k < 2; k++)
    if (hlo_shape_is_dynamic(instr->operands[k]->shape)) return false;
  return !hlo_shape_is_dynamic(instr->shape) && conv_orders_find(instr, &orders);
}

/* Convolutions have the orders that they like from the start. */
static void find_convolutions(layout_finder_t *finder) {
  for (size_t i = 0; i < finder->computation->instrs.count; i++) {
    hlo_instr_t *conv = finder->computation->instrs.data[i];
    finder->choices[i].is_conv = is_conv_with_orders(conv);
    layout_t preferred =
        finder->choices[i].is_conv ? preferred_layout(conv, 2) : (layout_t){.rank = 0};
    if (preferred.rank) give_order(finder, conv, &preferred);
  }
}

static void propagate_from_operands(layout_finder_t *finder) {
  for (size_t i = 0; i < finder->computation->instrs.count; i++)
    for (int k = 0; k < 2 && finder->choices[i].is_conv; k++) {
      hlo_instr_t *conv = finder->computation->instrs.data[i];
      layout_t preferred = preferred_layout(conv, k);
      propose(finder, conv->operands[k], LAYOUT_RESULT, &preferred);
      propagate_all(finder);
    }
}

/* First the orders that are none of the program's, then the others: behind a transpose they may
 * become such. */
static void find_orders(layout_finder_t *finder) {
  find_convolutions(finder);
  propagate_all(finder);
  propagate_from_operands(finder);
  finder->idle_too = true;
  for (size_t i = 0; i < finder->computation->instrs.count; i++)
    if (finder->choices[i].is_decided)
      finder->stack[finder->stack_count++] = finder->computation->instrs.data[i];
  propagate_all(finder);
  propagate_from_operands(finder);
}

static bool is_anything_transposed(const layout_finder_t *finder) {
  for (size_t i = 0; i < finder->computation->instrs.count; i++) {
    const hlo_instr_t *instr = finder->computation->instrs.data[i];
    for (int k = 0; k < 2 && finder->choices[i].is_conv; k++) {
      layout_t preferred = preferred_layout(instr, k);
      if (preferred.rank && !layout_is_idle(&preferred, instr->operands[k]->shape)) return true;
    }
    if (!finder->choices[i].is_decided) continue;
    layout_t result = result_order(finder, instr);
    if (!layout_is_idle(&result, instr->shape)) return true;
  }
  return false;
}

/* ---- costs ---- */

static hr_status_t node_of(layout_finder_t *finder, int *node) {
  return *node ? NULL : cut_node_add(&finder->graph, node);
}

static hr_status_t cost_entry(layout_finder_t *finder, int from, int to, double bytes) {
  return cut_edge_add(&finder->graph, from, to, bytes);
}

/* Bytes that are moved if a node is not turned. */
static hr_status_t cost_plain(layout_finder_t *finder, int node, double bytes) {
  finder->before.total += bytes, finder->before.count++;
  return cost_entry(finder, CUT_SOURCE, node, bytes);
}

/* A user that is turned with the source needs the turned copy; that is made if the array itself is
 * not turned. */
static hr_status_t cost_copy(layout_finder_t *finder, int user, const hlo_instr_t *x) {
  order_node_t *node = &finder->nodes[x->id];
  int self = finder->choices[x->id].is_decided ? node->self : CUT_SINK;
  if (!node->copy) {
    HR_TRY(node_of(finder, &node->copy));
    HR_TRY(cost_entry(finder, node->copy, self, bytes_of(x)));
  }
  return cost_entry(finder, user, node->copy, CUT_NEVER);
}

/* And one that is not turned needs the array as it is in the program. */
static hr_status_t cost_of_restoring(layout_finder_t *finder, int user, const hlo_instr_t *x) {
  order_node_t *node = &finder->nodes[x->id];
  if (!node->plain) {
    HR_TRY(node_of(finder, &node->plain));
    HR_TRY(cost_entry(finder, node->self, node->plain, bytes_of(x)));
  }
  return cost_entry(finder, node->plain, user, CUT_NEVER);
}

/* `user` reads x: in order `wanted` if it is turned, and as it is in the program if not. */
static hr_status_t cost_use(layout_finder_t *finder, int user, const hlo_instr_t *x,
                            const layout_t *wanted) {
  if (!wanted->rank || layout_is_free(x)) return NULL;
  bool transposes = !layout_is_idle(wanted, x->shape), known = finder->choices[x->id].is_decided;
  layout_t current = known ? result_order(finder, x) : *wanted;
  bool x_transposes = known && !layout_is_idle(&current, x->shape);
  if (!transposes) return x_transposes ? cost_of_restoring(finder, CUT_SINK, x) : NULL;
  if (!x_transposes)
    return known ? cost_entry(finder, user, CUT_SINK, bytes_of(x)) : cost_copy(finder, user, x);
  if (layout_same(wanted, &current, x->shape)) {
    HR_TRY(cost_copy(finder, user, x));
    return cost_of_restoring(finder, user, x);
  }
  HR_TRY(cost_entry(finder, user, CUT_SINK, bytes_of(x)));
  return cost_of_restoring(finder, user, x);
}

/* Moves nothing if what it reads and what it makes lie in memory alike. */
static hr_status_t cost_transpose(layout_finder_t *finder, const hlo_instr_t *transpose) {
  const layout_choice_t *choice = &finder->choices[transpose->id];
  const hlo_instr_t *x = transpose->operands[0];
  int self = finder->nodes[transpose->id].self;
  layout_t wanted,
      plain = layout_of_dims(x->shape->rank, hlo_attr_ints(transpose, HLO_ATTR_DIMENSIONS).data);
  if (layout_is_idle(&plain, x->shape)) return NULL;
  layout_below(transpose, 0, &choice->layout, &wanted);
  bool transposes = !layout_is_idle(&wanted, x->shape), known = finder->choices[x->id].is_decided;
  layout_t current = known ? result_order(finder, x) : wanted;
  if (!transposes) return cost_plain(finder, self, bytes_of(x));
  if (!known || !layout_same(&current, &wanted, x->shape)) return NULL;
  if (layout_is_idle(&choice->layout, transpose->shape))
    return cost_plain(finder, finder->nodes[x->id].self, bytes_of(x));
  HR_TRY(cost_plain(finder, self, bytes_of(x)));
  return cost_entry(finder, self, finder->nodes[x->id].self, bytes_of(x));
}

static hr_status_t cost_conv(layout_finder_t *finder, const hlo_instr_t *conv) {
  order_node_t *node = &finder->nodes[conv->id];
  if (finder->choices[conv->id].is_decided &&
      !layout_is_idle(&finder->choices[conv->id].layout, conv->shape))
    HR_TRY(cost_plain(finder, node->self, bytes_of(conv)));
  for (int k = 0; k < 2; k++) {
    layout_t preferred = preferred_layout(conv, k);
    if (!preferred.rank) continue;
    HR_TRY(node_of(finder, &node->operands[k]));
    if (!layout_is_idle(&preferred, conv->operands[k]->shape))
      HR_TRY(cost_plain(finder, node->operands[k], bytes_of(conv->operands[k])));
    HR_TRY(cost_use(finder, node->operands[k], conv->operands[k], &preferred));
  }
  return NULL;
}

/* A product reads its operand in any order that leaves the dimensions of its result as they are. */
static bool dot_takes(const hlo_instr_t *dot, int k, const layout_t *layout) {
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

/* Users without an order. */
static hr_status_t cost_other_use(layout_finder_t *finder, const hlo_instr_t *user, int k) {
  const hlo_instr_t *x = user->operands[k];
  if (!finder->choices[x->id].is_decided) return NULL;
  layout_t current = result_order(finder, x);
  if (layout_is_idle(&current, x->shape) ||
      (user->op == HLO_DOT && k < 2 && dot_takes(user, k, &current)))
    return NULL;
  return cost_of_restoring(finder, CUT_SINK, x);
}

static hr_status_t cost_instr(layout_finder_t *finder, const hlo_instr_t *instr) {
  const layout_choice_t *choice = &finder->choices[instr->id];
  layout_t wanted;
  if (choice->is_conv) return cost_conv(finder, instr);
  if (choice->is_decided && instr->op == HLO_TRANSPOSE) return cost_transpose(finder, instr);
  for (int k = 0; k < instr->operand_count; k++) {
    if (!choice->is_decided) {
      HR_TRY(cost_other_use(finder, instr, k));
      continue;
    }
    layout_below(instr, k, &choice->layout, &wanted);
    HR_TRY(cost_use(finder, finder->nodes[instr->id].self, instr->operands[k], &wanted));
  }
  return NULL;
}

static hr_status_t cost_all(layout_finder_t *finder) {
  const hlo_computation_t *computation = finder->computation;
  for (size_t i = 0; i < computation->instrs.count; i++)
    if (finder->choices[i].is_decided) HR_TRY(node_of(finder, &finder->nodes[i].self));
  for (size_t i = 0; i < computation->instrs.count; i++)
    HR_TRY(cost_instr(finder, computation->instrs.data[i]));
  const hlo_instr_t *root = computation->root;
  if (!finder->choices[root->id].is_decided) return NULL;
  layout_t current = result_order(finder, root);
  return layout_is_idle(&current, root->shape) ? NULL : cost_of_restoring(finder, CUT_SINK, root);
}

/* ---- the choice ---- */

static void choose(const layout_finder_t *finder, const bool *sides) {
  for (size_t i = 0; i < finder->computation->instrs.count; i++) {
    layout_choice_t *choice = &finder->choices[i];
    choice->transposed = choice->is_decided && sides[finder->nodes[i].self];
    for (int k = 0; k < 2; k++) {
      int node = finder->nodes[i].operands[k];
      choice->operand_transposed[k] = node && sides[node];
    }
  }
}

static hr_status_t cut(layout_finder_t *finder, layout_plan_t *plan) {
  bool *sides;
  HR_TRY(cost_all(finder));
  HR_TRY(cut_solve(finder->arena, &finder->graph, &sides, &plan->after));
  plan->before = finder->before;
  if (plan->after.total > (1 - LEAST_GAIN) * plan->before.total || !plan->before.count) return NULL;
  choose(finder, sides);
  plan->choices = finder->choices;
  return NULL;
}

static bool has_convolution(const hlo_computation_t *computation) {
  for (size_t i = 0; i < computation->instrs.count; i++)
    if (computation->instrs.data[i]->op == HLO_CONVOLUTION) return true;
  return false;
}

hr_status_t layout_plan_find(hr_arena_t *arena, const hlo_computation_t *computation,
                             layout_plan_t *out_plan) {
  layout_finder_t finder = {.arena = arena, .computation = computation};
  size_t count = computation->instrs.count;
  *out_plan = (layout_plan_t){.choices = NULL};
  if (!has_convolution(computation)) return NULL;
  HR_TRY(HR_NEW_ARRAY(arena, count, &finder.choices));
  HR_TRY(HR_NEW_ARRAY(arena, count, &finder.nodes));
  HR_TRY(HR_NEW_ARRAY(arena, count, &finder.stack));
  HR_TRY(pass_users_find(arena, computation, &finder.users));
  find_orders(&finder);
  if (!is_anything_transposed(&finder)) return NULL;
  hr_status_t st = cut_init(&finder.graph);
  if (!st) st = cut(&finder, out_plan);
  cut_deinit(&finder.graph);
  return st;
}
