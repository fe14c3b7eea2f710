#include "passes/order_plan.h"

#include "passes/pass_match.h"

#define LEAST_GAIN 0.01 /* of the bytes moved before: smaller changes are not worth their copies in the arena */

typedef struct order_node { /* in the graph of prices; 0: none yet */
  int self;      /* with the source: turned */
  int copy;      /* with the source: somebody needs it turned */
  int plain;     /* with the sink: somebody needs it as it is in the program */
  int operands[2];
} order_node_t;

typedef struct order_finder {
  hr_arena_t *arena;
  const hlo_computation_t *computation;
  order_choice_t *choices;
  order_node_t *nodes;
  pass_users_t users;
  hlo_instr_t **stack; /* whose orders are to be spread */
  size_t stack_count;
  bool idle_too; /* orders that are the program's own are spread as well */
  cut_graph_t graph;
  cut_bill_t before;
} order_finder_t;

static double bytes_of(const hlo_instr_t *instr) {
  return (double)pass_count(instr->shape) * (double)hr_dtype_bytes(instr->shape->dtype);
}

/* ---- orders ---- */

static void give_order(order_finder_t *finder, hlo_instr_t *instr, const order_t *order) {
  order_choice_t *choice = &finder->choices[instr->id];
  choice->known = true;
  choice->order = *order;
  finder->stack[finder->stack_count++] = instr;
}

/* Operand or result k of `instr` is best in this order: then the instruction is in the one from which it follows. */
static void propose(order_finder_t *finder, hlo_instr_t *instr, int k, const order_t *order) {
  order_t own;
  const hlo_shape_t *shape = k == ORDER_RESULT ? instr->shape : instr->operands[k]->shape;
  if (finder->choices[instr->id].known || !order_is_carried(instr) || order->rank < 2) return;
  if (!finder->idle_too && order_is_idle(order, shape)) return;
  if (order_above(instr, k, order, &own) && order_fits(instr, &own)) give_order(finder, instr, &own);
}

/* The order of its result. */
static order_t result_order(const order_finder_t *finder, const hlo_instr_t *instr) {
  const order_choice_t *choice = &finder->choices[instr->id];
  order_t order = choice->order;
  if (!choice->is_conv) order_below(instr, ORDER_RESULT, &choice->order, &order);
  return order;
}

static void spread(order_finder_t *finder, hlo_instr_t *instr) {
  order_choice_t *choice = &finder->choices[instr->id];
  order_t result = result_order(finder, instr), operand;
  for (int k = 0; k < instr->operand_count && !choice->is_conv; k++)
    if (order_below(instr, k, &choice->order, &operand)) propose(finder, instr->operands[k], ORDER_RESULT, &operand);
  for (uint32_t u = finder->users.first[instr->id]; u < finder->users.first[instr->id + 1]; u++) {
    hlo_instr_t *user = finder->users.users[u];
    for (int k = 0; k < user->operand_count; k++)
      if (user->operands[k] == instr) propose(finder, user, k, &result);
  }
}

static void spread_all(order_finder_t *finder) {
  while (finder->stack_count) spread(finder, finder->stack[--finder->stack_count]);
}

static order_t liked_order(const hlo_instr_t *conv, int k) {
  conv_orders_t orders;
  order_t none = {.rank = 0};
  if (!conv_orders_find(conv, &orders) || !orders.matters[k]) return none;
  return order_of_dims(k == 2 ? conv->shape->rank : conv->operands[k]->shape->rank, orders.dims[k]);
}

static bool is_conv_with_orders(const hlo_instr_t *instr) {
  conv_orders_t orders;
  if (instr->op != HLO_CONVOLUTION || (instr->extra && instr->extra->control_count)) return false;
  for (int k = 0; k < 2; k++)
    if (hlo_shape_is_dynamic(instr->operands[k]->shape)) return false;
  return !hlo_shape_is_dynamic(instr->shape) && conv_orders_find(instr, &orders);
}

/* Convolutions have the orders that they like from the start. */
static void find_convolutions(order_finder_t *finder) {
  for (size_t i = 0; i < finder->computation->instrs.count; i++) {
    hlo_instr_t *conv = finder->computation->instrs.data[i];
    finder->choices[i].is_conv = is_conv_with_orders(conv);
    order_t liked = finder->choices[i].is_conv ? liked_order(conv, 2) : (order_t){.rank = 0};
    if (liked.rank) give_order(finder, conv, &liked);
  }
}

static void spread_from_operands(order_finder_t *finder) {
  for (size_t i = 0; i < finder->computation->instrs.count; i++)
    for (int k = 0; k < 2 && finder->choices[i].is_conv; k++) {
      hlo_instr_t *conv = finder->computation->instrs.data[i];
      order_t liked = liked_order(conv, k);
      propose(finder, conv->operands[k], ORDER_RESULT, &liked);
      spread_all(finder);
    }
}

/* First the orders that are none of the program's, then the others: behind a transpose they may become such. */
static void find_orders(order_finder_t *finder) {
  find_convolutions(finder);
  spread_all(finder);
  spread_from_operands(finder);
  finder->idle_too = true;
  for (size_t i = 0; i < finder->computation->instrs.count; i++)
    if (finder->choices[i].known) finder->stack[finder->stack_count++] = finder->computation->instrs.data[i];
  spread_all(finder);
  spread_from_operands(finder);
}

static bool is_anything_turned(const order_finder_t *finder) {
  for (size_t i = 0; i < finder->computation->instrs.count; i++) {
    const hlo_instr_t *instr = finder->computation->instrs.data[i];
    for (int k = 0; k < 2 && finder->choices[i].is_conv; k++) {
      order_t liked = liked_order(instr, k);
      if (liked.rank && !order_is_idle(&liked, instr->operands[k]->shape)) return true;
    }
    if (!finder->choices[i].known) continue;
    order_t result = result_order(finder, instr);
    if (!order_is_idle(&result, instr->shape)) return true;
  }
  return false;
}

/* ---- prices ---- */

static hr_status_t node_of(order_finder_t *finder, int *node) {
  return *node ? NULL : cut_node_add(&finder->graph, node);
}

static hr_status_t price(order_finder_t *finder, int from, int to, double bytes) {
  return cut_price_add(&finder->graph, from, to, bytes);
}

/* Bytes that are moved if a node is not turned. */
static hr_status_t price_plain(order_finder_t *finder, int node, double bytes) {
  finder->before.paid += bytes, finder->before.count++;
  return price(finder, CUT_SOURCE, node, bytes);
}

/* A user that is turned with the source needs the turned copy; that is made if the array itself is not turned. */
static hr_status_t price_copy(order_finder_t *finder, int user, const hlo_instr_t *x) {
  order_node_t *node = &finder->nodes[x->id];
  int self = finder->choices[x->id].known ? node->self : CUT_SINK;
  if (!node->copy) {
    HR_TRY(node_of(finder, &node->copy));
    HR_TRY(price(finder, node->copy, self, bytes_of(x)));
  }
  return price(finder, user, node->copy, CUT_NEVER);
}

/* And one that is not turned needs the array as it is in the program. */
static hr_status_t price_way_back(order_finder_t *finder, int user, const hlo_instr_t *x) {
  order_node_t *node = &finder->nodes[x->id];
  if (!node->plain) {
    HR_TRY(node_of(finder, &node->plain));
    HR_TRY(price(finder, node->self, node->plain, bytes_of(x)));
  }
  return price(finder, node->plain, user, CUT_NEVER);
}

/* `user` reads x: in order `wanted` if it is turned, and as it is in the program if not. */
static hr_status_t price_use(order_finder_t *finder, int user, const hlo_instr_t *x, const order_t *wanted) {
  if (!wanted->rank || order_is_free(x)) return NULL;
  bool turns = !order_is_idle(wanted, x->shape), known = finder->choices[x->id].known;
  order_t own = known ? result_order(finder, x) : *wanted;
  bool x_turns = known && !order_is_idle(&own, x->shape);
  if (!turns) return x_turns ? price_way_back(finder, CUT_SINK, x) : NULL;
  if (!x_turns) return known ? price(finder, user, CUT_SINK, bytes_of(x)) : price_copy(finder, user, x);
  if (order_same(wanted, &own, x->shape)) {
    HR_TRY(price_copy(finder, user, x));
    return price_way_back(finder, user, x);
  }
  HR_TRY(price(finder, user, CUT_SINK, bytes_of(x)));
  return price_way_back(finder, user, x);
}

/* Moves nothing if what it reads and what it makes lie in memory alike. */
static hr_status_t price_transpose(order_finder_t *finder, const hlo_instr_t *transpose) {
  const order_choice_t *choice = &finder->choices[transpose->id];
  const hlo_instr_t *x = transpose->operands[0];
  int self = finder->nodes[transpose->id].self;
  order_t wanted, plain = order_of_dims(x->shape->rank, hlo_attr_ints(transpose, HLO_ATTR_DIMENSIONS).data);
  if (order_is_idle(&plain, x->shape)) return NULL;
  order_below(transpose, 0, &choice->order, &wanted);
  bool turns = !order_is_idle(&wanted, x->shape), known = finder->choices[x->id].known;
  order_t own = known ? result_order(finder, x) : wanted;
  if (!turns) return price_plain(finder, self, bytes_of(x));
  if (!known || !order_same(&own, &wanted, x->shape)) return NULL;
  if (order_is_idle(&choice->order, transpose->shape))
    return price_plain(finder, finder->nodes[x->id].self, bytes_of(x));
  HR_TRY(price_plain(finder, self, bytes_of(x)));
  return price(finder, self, finder->nodes[x->id].self, bytes_of(x));
}

static hr_status_t price_conv(order_finder_t *finder, const hlo_instr_t *conv) {
  order_node_t *node = &finder->nodes[conv->id];
  if (finder->choices[conv->id].known && !order_is_idle(&finder->choices[conv->id].order, conv->shape))
    HR_TRY(price_plain(finder, node->self, bytes_of(conv)));
  for (int k = 0; k < 2; k++) {
    order_t liked = liked_order(conv, k);
    if (!liked.rank) continue;
    HR_TRY(node_of(finder, &node->operands[k]));
    if (!order_is_idle(&liked, conv->operands[k]->shape))
      HR_TRY(price_plain(finder, node->operands[k], bytes_of(conv->operands[k])));
    HR_TRY(price_use(finder, node->operands[k], conv->operands[k], &liked));
  }
  return NULL;
}

/* A product reads its operand in any order that leaves the dimensions of its result as they are. */
static bool dot_takes(const hlo_instr_t *dot, int k, const order_t *order) {
  hr_ints_t batch = hlo_attr_ints(dot, k ? HLO_ATTR_RHS_BATCH_DIMS : HLO_ATTR_LHS_BATCH_DIMS);
  hr_ints_t summed = hlo_attr_ints(dot, k ? HLO_ATTR_RHS_CONTRACTING_DIMS : HLO_ATTR_LHS_CONTRACTING_DIMS);
  bool is_free[HLO_MAX_RANK];
  int last = -1;
  for (int d = 0; d < order->rank; d++) is_free[d] = true;
  for (int64_t i = 0; i < batch.count; i++) is_free[batch.data[i]] = false;
  for (int64_t i = 0; i < summed.count; i++) is_free[summed.data[i]] = false;
  for (int d = 0; d < order->rank; d++) {
    if (!is_free[order->dims[d]]) continue;
    if (order->dims[d] < last) return false;
    last = order->dims[d];
  }
  return true;
}

/* Users without an order. */
static hr_status_t price_other_use(order_finder_t *finder, const hlo_instr_t *user, int k) {
  const hlo_instr_t *x = user->operands[k];
  if (!finder->choices[x->id].known) return NULL;
  order_t own = result_order(finder, x);
  if (order_is_idle(&own, x->shape) || (user->op == HLO_DOT && k < 2 && dot_takes(user, k, &own))) return NULL;
  return price_way_back(finder, CUT_SINK, x);
}

static hr_status_t price_instr(order_finder_t *finder, const hlo_instr_t *instr) {
  const order_choice_t *choice = &finder->choices[instr->id];
  order_t wanted;
  if (choice->is_conv) return price_conv(finder, instr);
  if (choice->known && instr->op == HLO_TRANSPOSE) return price_transpose(finder, instr);
  for (int k = 0; k < instr->operand_count; k++) {
    if (!choice->known) {
      HR_TRY(price_other_use(finder, instr, k));
      continue;
    }
    order_below(instr, k, &choice->order, &wanted);
    HR_TRY(price_use(finder, finder->nodes[instr->id].self, instr->operands[k], &wanted));
  }
  return NULL;
}

static hr_status_t price_all(order_finder_t *finder) {
  const hlo_computation_t *computation = finder->computation;
  for (size_t i = 0; i < computation->instrs.count; i++)
    if (finder->choices[i].known) HR_TRY(node_of(finder, &finder->nodes[i].self));
  for (size_t i = 0; i < computation->instrs.count; i++) HR_TRY(price_instr(finder, computation->instrs.data[i]));
  const hlo_instr_t *root = computation->root;
  if (!finder->choices[root->id].known) return NULL;
  order_t own = result_order(finder, root);
  return order_is_idle(&own, root->shape) ? NULL : price_way_back(finder, CUT_SINK, root);
}

/* ---- the choice ---- */

static void choose(const order_finder_t *finder, const bool *sides) {
  for (size_t i = 0; i < finder->computation->instrs.count; i++) {
    order_choice_t *choice = &finder->choices[i];
    choice->turned = choice->known && sides[finder->nodes[i].self];
    for (int k = 0; k < 2; k++) {
      int node = finder->nodes[i].operands[k];
      choice->operand_turned[k] = node && sides[node];
    }
  }
}

static hr_status_t cut(order_finder_t *finder, order_plan_t *plan) {
  bool *sides;
  HR_TRY(price_all(finder));
  HR_TRY(cut_solve(finder->arena, &finder->graph, &sides, &plan->after));
  plan->before = finder->before;
  if (plan->after.paid > (1 - LEAST_GAIN) * plan->before.paid || !plan->before.count) return NULL;
  choose(finder, sides);
  plan->choices = finder->choices;
  return NULL;
}

static bool has_convolution(const hlo_computation_t *computation) {
  for (size_t i = 0; i < computation->instrs.count; i++)
    if (computation->instrs.data[i]->op == HLO_CONVOLUTION) return true;
  return false;
}

hr_status_t order_plan_find(hr_arena_t *arena, const hlo_computation_t *computation, order_plan_t *out_plan) {
  order_finder_t finder = {.arena = arena, .computation = computation};
  size_t count = computation->instrs.count;
  *out_plan = (order_plan_t){.choices = NULL};
  if (!has_convolution(computation)) return NULL;
  HR_TRY(HR_NEW_ARRAY(arena, count, &finder.choices));
  HR_TRY(HR_NEW_ARRAY(arena, count, &finder.nodes));
  HR_TRY(HR_NEW_ARRAY(arena, count, &finder.stack));
  HR_TRY(pass_users_find(arena, computation, &finder.users));
  find_orders(&finder);
  if (!is_anything_turned(&finder)) return NULL;
  hr_status_t st = cut_init(&finder.graph);
  if (!st) st = cut(&finder, out_plan);
  cut_deinit(&finder.graph);
  return st;
}
