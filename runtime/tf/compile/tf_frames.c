/* Control flow of TensorFlow 1.
 *
 * Switch and Merge: both sides are computed, each value knows the conditions under which it exists,
 * and Merge selects. A condition that is known at compile time leaves one side out.
 *
 * Loops: the nodes of a frame are those between its Enter and Exit nodes.
 *
 *   Enter --> Merge --> Switch --(true)--> body --> NextIteration --+
 *               ^   \-> condition -> LoopCond -> Switch             |
 *               |              Switch --(false)--> Exit             |
 *               +---------------------------------------------------+
 *
 * The first Exit that is reached builds the whole loop; Merge, the true sides of Switch and Enter
 * nodes of invariants are the values that go round. Inner loops are found when the body of the
 * outer one is executed. Cost: each body is executed once, and once more if it has empty lists. */
#include <string.h>

#include "tf/lower/tf_list.h"
#include "tf/compile/tf_while.h"

const tf_live_t tf_dead;

/* --- conditions --- */

/* Conditions are a list without order; a predicate occurs in it once at most. Predicates are
 * compared by identity of their instruction. */
static const tf_live_t *find_pred(const tf_live_t *live, expr_t pred) {
  for (; live; live = live->rest)
    if (live->pred == pred) return live;
  return NULL;
}

/* Adds a condition to a list. If one predicate is wanted both as true and as false, the value is
 * dead. Lists are shared between values and never changed; a new condition goes in front. */
static hr_status_t add_condition(hr_arena_t *arena, const tf_live_t *live, expr_t pred, bool wanted,
                                 const tf_live_t **out_live) {
  tf_live_t *more;
  const tf_live_t *known = find_pred(live, pred);
  *out_live = live;
  if (known && known->wanted != wanted) *out_live = &tf_dead;
  if (known) return NULL;
  HR_TRY(HR_NEW(arena, &more));
  *more = (tf_live_t){live, pred, wanted};
  *out_live = more;
  return NULL;
}

/* y's own conditions are added to x's until the shared tail of both lists is reached. */
hr_status_t tf_live_both(hr_arena_t *arena, const tf_live_t *x, const tf_live_t *y,
                         const tf_live_t **out_live) {
  *out_live = x;
  if (x == &tf_dead || y == &tf_dead) *out_live = &tf_dead;
  for (; y && *out_live != &tf_dead && x != y; y = y->rest)
    HR_TRY(add_condition(arena, *out_live, y->pred, y->wanted, out_live));
  return NULL;
}

/* The instructions are built anew at each call; passes join equal ones later. */
expr_t tf_live_pred(hlo_builder_t *b, const tf_live_t *live) {
  expr_t all = NULL;
  for (; live; live = live->rest) {
    expr_t one = live->wanted ? live->pred : hlo_build_unary(b, HLO_NOT, live->pred);
    all = all ? f_and(b, all, one) : one;
  }
  return all;
}

/* Switch(data, pred) -> (output_false, output_true). Inputs: data, condition. Outputs: the data if
 * it is false, if it is true. Both outputs are the data itself; only their conditions differ. The
 * side that a known condition does not take is dead and never lowered. */
hr_status_t tf_lower_switch(tf_op_t *op) {
  hlo_value_t *known;
  HR_TRY(tf_const_if_known(op, 1, &known));
  HR_TRY(tf_need_outputs(op, 2));
  expr_t pred = known ? NULL : tf_in(op, 1);
  if (!known && !pred) return hlo_builder_finish(op->b);
  if (pred && pred->shape->rank) return tf_error(op, "the condition is no scalar");
  for (int side = 0; side < 2; side++) {
    tf_value_t *out = &op->outputs[side];
    *out = *op->inputs[0];
    out->live = op->live;
    if (known && (hlo_value_int_at(known, 0) != 0) != (side == 1)) out->live = &tf_dead;
    if (!known) HR_TRY(add_condition(op->arena, op->live, pred, side == 1, &out->live));
  }
  return NULL;
}

/* Conditions of both; *out_split is the condition of x that distinguishes them. Two values of one
 * Merge exist under contrary conditions: exactly one predicate is wanted as true by one and as
 * false by the other. Common conditions remain as those of the merged value. */
static hr_status_t common_conditions(hr_arena_t *arena, const tf_live_t *x, const tf_live_t *y,
                                     const tf_live_t **out_common, const tf_live_t **out_split) {
  *out_common = NULL;
  *out_split = NULL;
  for (; x; x = x->rest) {
    const tf_live_t *other = find_pred(y, x->pred);
    if (other && other->wanted == x->wanted)
      HR_TRY(add_condition(arena, *out_common, x->pred, x->wanted, out_common));
    if (other && other->wanted != x->wanted) *out_split = x;
  }
  return NULL;
}

/* HLO's select wants a predicate of the full shape. */
static expr_t select_whole(hlo_builder_t *b, expr_t pred, expr_t x, expr_t y) {
  if (!pred || !x || !y || x == y) return x;
  return f_select(b, tf_broadcast_like(b, pred, x), x, y);
}

/* A flow of a TensorArray may be a list on one side and the number 0 on the other. */
static void merge_flows(hlo_builder_t *b, tf_value_t *merged, expr_t *x, tf_value_t *next,
                        expr_t *y) {
  bool is_list = merged->kind == TF_VALUE_LIST;
  if (!*x || !*y || is_list == (next->kind == TF_VALUE_LIST)) return;
  if (is_list) {
    if (!(*y)->shape->rank) *y = hlo_build_number_like(b, 0, *x);
    return;
  }
  if ((*x)->shape->rank) return;
  const tf_live_t *live = merged->live;
  *x = hlo_build_number_like(b, 0, *y);
  *merged = *next;
  merged->live = live;
}

/* Merges input k with the inputs before it. Neither side can be left out at run time, as both have
 * been computed. The index of the side is selected in the same way as its value. */
static hr_status_t merge_input(tf_op_t *op, int k, tf_value_t *merged, expr_t *index) {
  hlo_builder_t *b = op->b;
  const tf_live_t *common, *split;
  tf_value_t *next = op->inputs[k];
  HR_TRY(common_conditions(op->arena, merged->live, next->live, &common, &split));
  if (!split) return tf_unsupported(op, "inputs that no condition tells apart");
  expr_t x = tf_value_instr(op->scope->compiler, b, merged);
  expr_t y = tf_value_instr(op->scope->compiler, b, next);
  merge_flows(b, merged, &x, next, &y);
  if (!x || !y || merged->kind == TF_VALUE_RESOURCE)
    return b->status ? hlo_builder_finish(b)
                     : tf_unsupported(op, "a choice between values without arrays");
  if (!hlo_shape_equal(x->shape, y->shape))
    return tf_error(op, "the two sides have different shapes");
  expr_t pred = split->pred;
  merged->instr = split->wanted ? select_whole(b, pred, x, y) : select_whole(b, pred, y, x);
  merged->constant = NULL;
  merged->list_pushed = false;
  HR_TRY(tf_forget_lists(op->arena, merged));
  merged->live = common;
  expr_t own = tf_scalar_int(b, k, HR_S32);
  *index = split->wanted ? select_whole(b, pred, *index, own) : select_whole(b, pred, own, *index);
  return hlo_builder_finish(b);
}

/* Merge(inputs...) -> (output, value_index). Outputs: the value of the side that exists, and its
 * number. Dead inputs are passed over; if all are dead, the Merge is dead as well. */
hr_status_t tf_lower_merge(tf_op_t *op) {
  tf_value_t merged = {.live = &tf_dead};
  expr_t index = NULL;
  for (int k = 0; k < op->input_count; k++) {
    if (op->inputs[k]->live == &tf_dead) continue;
    if (merged.live == &tf_dead) {
      merged = *op->inputs[k];
      index = tf_scalar_int(op->b, k, HR_S32);
      continue;
    }
    HR_TRY(merge_input(op, k, &merged, &index));
  }
  op->live = merged.live;
  if (merged.live == &tf_dead) return NULL;
  HR_TRY(tf_out(op, 1, index));
  op->outputs[0] = merged;
  op->outputs[1].live = merged.live;
  return NULL;
}

/* --- frames --- */

/* The nodes of one while loop of TensorFlow 1, found from one of its Exit nodes. All Enter nodes
 * of the frame have the same attribute frame_name. Numbers are those of nodes in the body. */
typedef struct frame {
  hr_str_t name;
  int condition; /* LoopCond node */
  int variable_count;
  int *merges; /* by loop variable */
  int *enters;
  int *nexts;
  int invariant_count;
  int *invariants; /* Enter nodes of values that do not change */
  bool has_pred;   /* the last value of the state says whether the loop runs at all */
} frame_t;

/* Reference forms (RefSwitch, RefEnter and others) mean the same here. */
static bool is_op(const tf_body_t *body, int node, const char *op) {
  hr_str_t name = body->nodes[node].op;
  if (hr_str_is(name, op)) return true;
  bool ref = name.size > 3 && !memcmp(name.data, "Ref", 3);
  return ref && hr_str_is((hr_str_t){name.data + 3, name.size - 3}, op);
}

/* The input of a node that is of this op; -1: none. The op of the input distinguishes the roles in
 * a frame: Merge has an Enter and a NextIteration. */
static int input_of(const tf_body_t *body, int node, const char *op) {
  const tf_node_t *n = &body->nodes[node];
  for (int k = 0; k < n->input_count; k++)
    if (is_op(body, n->inputs[k].node, op)) return n->inputs[k].node;
  return -1;
}

/* The attribute frame_name of an Enter node. */
static hr_status_t frame_name(hr_arena_t *arena, const tf_body_t *body, int enter,
                              hr_str_t *out_name) {
  return tf_attr_str(arena, &body->nodes[enter], "frame_name", "", out_name);
}

/* Name of the frame of an Exit node, and its LoopCond.
 * The way back is Exit <- Switch <- Merge <- Enter; the Switch's second input is the LoopCond. */
static hr_status_t name_frame(hr_arena_t *arena, const tf_body_t *body, int exit, frame_t *f) {
  int gate = input_of(body, exit, "Switch");
  int merge = gate < 0 ? -1 : input_of(body, gate, "Merge");
  int enter = merge < 0 ? -1 : input_of(body, merge, "Enter");
  f->condition = gate < 0 ? -1 : input_of(body, gate, "LoopCond");
  if (enter < 0 || f->condition < 0)
    return hr_error(HR_INVALID, "node %.*s does not leave a loop of Enter, Merge and Switch",
                    HR_STR_ARGS(body->nodes[exit].name));
  return frame_name(arena, body, enter, &f->name);
}

/* Nested loops have frames of other names. */
static hr_status_t is_of_frame(hr_arena_t *arena, const tf_body_t *body, int enter,
                               const frame_t *f, bool *out_is) {
  hr_str_t name;
  HR_TRY(frame_name(arena, body, enter, &name));
  *out_is = hr_str_equal(name, f->name);
  return NULL;
}

/* A loop variable is a Merge of the frame with both inputs. An Enter node that no such Merge
 * takes (attribute is_constant) brings a value in that no iteration changes. */
static hr_status_t find_frame(hr_arena_t *arena, const tf_body_t *body, int exit, frame_t *f) {
  bool *taken, is_own;
  HR_TRY(name_frame(arena, body, exit, f));
  HR_TRY(HR_NEW_ARRAY(arena, body->node_count, &taken));
  HR_TRY(HR_NEW_ARRAY(arena, body->node_count, &f->merges));
  HR_TRY(HR_NEW_ARRAY(arena, body->node_count, &f->enters));
  HR_TRY(HR_NEW_ARRAY(arena, body->node_count, &f->nexts));
  HR_TRY(HR_NEW_ARRAY(arena, body->node_count, &f->invariants));
  for (int i = 0; i < body->node_count; i++) {
    if (!is_op(body, i, "Merge")) continue;
    int enter = input_of(body, i, "Enter"), next = input_of(body, i, "NextIteration");
    if (enter < 0 || next < 0) continue;
    HR_TRY(is_of_frame(arena, body, enter, f, &is_own));
    if (!is_own) continue;
    f->merges[f->variable_count] = i;
    f->enters[f->variable_count] = enter;
    f->nexts[f->variable_count++] = next;
    taken[enter] = true;
  }
  for (int i = 0; i < body->node_count; i++) {
    if (taken[i] || !is_op(body, i, "Enter")) continue;
    HR_TRY(is_of_frame(arena, body, i, f, &is_own));
    if (is_own) f->invariants[f->invariant_count++] = i;
  }
  return NULL;
}

/* A list of nodes that an Exit waits for; the count is the first entry.
 * The list is kept by the address of the node, as the walk asks for it once per input. */
static hr_status_t exit_waits(tf_scope_t *scope, int index, const int **out_list) {
  hr_arena_t *arena = scope->compiler->arena;
  const tf_node_t **key;
  frame_t f = {.variable_count = 0};
  int *list;
  HR_TRY(find_frame(arena, scope->body, index, &f));
  HR_TRY(HR_NEW_ARRAY(arena, f.variable_count + f.invariant_count + 1, &list));
  list[0] = f.variable_count + f.invariant_count;
  for (int i = 0; i < f.variable_count; i++) list[1 + i] = f.enters[i];
  for (int i = 0; i < f.invariant_count; i++) list[1 + f.variable_count + i] = f.invariants[i];
  HR_TRY(HR_NEW(arena, &key));
  *key = &scope->body->nodes[index];
  *out_list = list;
  return hr_map_put(&scope->compiler->waits, (hr_str_t){(const char *)key, sizeof *key}, list,
                    NULL);
}

/* An ordinary node waits for its inputs. An Exit must not: its inputs form a cycle through
 * NextIteration. It waits for the values that enter the loop instead, so that the walk sees no
 * cycle. */
hr_status_t tf_dependencies(tf_scope_t *scope, int index, int *out_count, const int **out_nodes) {
  const tf_node_t *node = &scope->body->nodes[index];
  *out_count = node->input_count + node->control_count;
  *out_nodes = node->waits_for;
  if (!is_op(scope->body, index, "Exit")) return NULL;
  const int *list =
      hr_map_get(&scope->compiler->waits, (hr_str_t){(const char *)&node, sizeof node});
  if (!list) HR_TRY(exit_waits(scope, index, &list));
  *out_count = list[0];
  *out_nodes = list + 1;
  return NULL;
}

/* --- the loop --- */

/* Context of the callbacks of tf_build_loop: the frame, and the scope that it lies in. */
typedef struct frame_run {
  const frame_t *frame;
  tf_scope_t *scope;
} frame_run_t;

/* Arrays are large enough for every node of the body. */
static hr_status_t add_fed(tf_execution_t *e, tf_input_t *fed, tf_value_t *values, tf_input_t at,
                           const tf_value_t *value) {
  fed[e->fed_count] = at;
  values[e->fed_count++] = *value;
  return NULL;
}

/* Executes nodes of the frame on the state: Merge nodes, the true sides of their Switch nodes, and
 * invariants have its values. `inside` is indexed as the state: loop variables, then invariants.
 * The feeds cut the cycle open: all nodes between them and the wanted outputs are executed in the
 * computation of `b`. Only the true sides of Switch nodes (output 1) go on inside the loop. */
static hr_status_t run_frame(const frame_run_t *run, tf_op_t *op, hlo_builder_t *b,
                             const tf_value_t *inside, const tf_execution_t *what,
                             tf_value_t *out_values) {
  const frame_t *f = run->frame;
  const tf_body_t *body = run->scope->body;
  tf_execution_t e = *what;
  tf_input_t *fed;
  tf_value_t *values;
  HR_TRY(HR_NEW_ARRAY(op->arena, body->node_count + f->variable_count, &fed));
  HR_TRY(HR_NEW_ARRAY(op->arena, body->node_count + f->variable_count, &values));
  for (int v = 0; v < f->variable_count; v++)
    HR_TRY(add_fed(&e, fed, values, (tf_input_t){f->merges[v], 0}, &inside[v]));
  for (int v = 0; v < f->invariant_count; v++)
    HR_TRY(add_fed(&e, fed, values, (tf_input_t){f->invariants[v], 0},
                   &inside[f->variable_count + v]));
  for (int i = 0; i < body->node_count; i++) {
    const tf_node_t *node = &body->nodes[i];
    if (!is_op(body, i, "Switch") || node->input_count < 2) continue;
    if (node->inputs[1].node != f->condition) continue;
    for (int v = 0; v < f->variable_count; v++)
      if (node->inputs[0].node == f->merges[v])
        HR_TRY(add_fed(&e, fed, values, (tf_input_t){i, 1}, &inside[v]));
  }
  e.fed = fed;
  e.fed_values = values;
  return tf_execute(op->scope->compiler, b, &e, out_values);
}

/* If the loop stands in a branch, its predicate is and-ed to the condition, so that a loop that
 * should not exist makes no iteration. The last value of the state carries it. */
static hr_status_t run_condition(void *context, tf_op_t *op, hlo_builder_t *b,
                                 const tf_value_t *inside, tf_value_t *out_pred) {
  const frame_run_t *run = context;
  const frame_t *f = run->frame;
  const tf_node_t *node = &run->scope->body->nodes[f->condition];
  if (node->input_count != 1) return tf_error(op, "LoopCond has %d inputs", node->input_count);
  tf_execution_t e = {.body = run->scope->body, .wanted_count = 1, .wanted = node->inputs};
  HR_TRY(run_frame(run, op, b, inside, &e, out_pred));
  if (!f->has_pred) return NULL;
  tf_value_t runs = inside[f->variable_count + f->invariant_count];
  expr_t pred = tf_value_instr(op->scope->compiler, b, out_pred);
  *out_pred = (tf_value_t){.kind = TF_VALUE_ARRAY,
                           .instr = f_and(b, pred, tf_value_instr(op->scope->compiler, b, &runs))};
  return hlo_builder_finish(b);
}

/* The next value of variable v is the input of its NextIteration, whose control inputs run, too:
 * pushes on stacks are among them. Invariants and the branch's
 * predicate come back unchanged, as the state must keep its shape. */
static hr_status_t run_body(void *context, tf_op_t *op, hlo_builder_t *b, const tf_value_t *inside,
                            tf_value_t *out_results) {
  const frame_run_t *run = context;
  const frame_t *f = run->frame;
  tf_execution_t e = {.body = run->scope->body, .wanted_count = f->variable_count};
  tf_input_t *wanted;
  int *targets, controls = 0;
  for (int v = 0; v < f->variable_count; v++)
    controls += run->scope->body->nodes[f->nexts[v]].control_count;
  HR_TRY(HR_NEW_ARRAY(op->arena, f->variable_count, &wanted));
  HR_TRY(HR_NEW_ARRAY(op->arena, controls, &targets));
  e.wanted = wanted;
  e.targets = targets;
  for (int v = 0; v < f->variable_count; v++) {
    const tf_node_t *next = &run->scope->body->nodes[f->nexts[v]];
    if (next->input_count < 1) return tf_error(op, "a NextIteration without input");
    wanted[v] = next->inputs[0];
    for (int k = 0; k < next->control_count; k++)
      targets[e.target_count++] = next->inputs[next->input_count + k].node;
  }
  HR_TRY(run_frame(run, op, b, inside, &e, out_results));
  for (int i = f->variable_count; i < f->variable_count + f->invariant_count + f->has_pred; i++)
    out_results[i] = inside[i];
  return NULL;
}

/* State before the loop: loop variables, invariants, whether it runs.
 * The loop exists if all values that enter it do. A constant invariant needs no place in the
 * state. */
static hr_status_t initial_state(tf_op_t *op, frame_t *f, tf_value_t *values, bool *keep,
                                 const tf_live_t **out_live) {
  tf_scope_t *scope = op->scope;
  int count = f->variable_count + f->invariant_count;
  for (int i = 0; i < count; i++) {
    bool varies = i < f->variable_count;
    int enter = varies ? f->enters[i] : f->invariants[i - f->variable_count];
    if (scope->live[enter] == &tf_dead || !scope->output_counts[enter]) {
      *out_live = &tf_dead;
      return NULL;
    }
    values[i] = scope->outputs[enter][0];
    keep[i] = !varies;
    HR_TRY(tf_live_both(op->arena, *out_live, values[i].live, out_live));
  }
  if (*out_live == &tf_dead) return NULL;
  expr_t pred = tf_live_pred(op->b, *out_live);
  f->has_pred = pred != NULL;
  if (pred) values[count] = (tf_value_t){.kind = TF_VALUE_ARRAY, .instr = pred};
  return NULL;
}

/* Gives all Exit nodes of the frame their values.
 * All Exit nodes are set at once, since the loop is one instruction. `own` is the number of the
 * node that is being executed; its outputs also go to the operation itself. */
static hr_status_t leave_frame(tf_op_t *op, const frame_t *f, const tf_value_t *state,
                               const tf_live_t *live, int own) {
  tf_scope_t *scope = op->scope;
  const tf_body_t *body = scope->body;
  for (int i = 0; i < body->node_count; i++) {
    tf_value_t *output;
    int gate = is_op(body, i, "Exit") ? input_of(body, i, "Switch") : -1;
    int merge = gate < 0 ? -1 : input_of(body, gate, "Merge");
    for (int v = 0; v < f->variable_count; v++) {
      if (merge != f->merges[v]) continue;
      HR_TRY(HR_NEW(op->arena, &output));
      *output = state[v];
      output->live = live;
      scope->outputs[i] = output;
      scope->output_counts[i] = 1;
      scope->live[i] = live;
      if (i != own) continue;
      op->outputs = output;
      op->output_count = 1;
    }
  }
  return NULL;
}

/* This is XlaCompiler's functionalisation of control flow: frames become XlaWhile(input; cond,
 * body). */
hr_status_t tf_lower_exit(tf_op_t *op) {
  frame_t f = {.variable_count = 0};
  frame_run_t run = {&f, op->scope};
  tf_value_t *values, *after;
  const tf_live_t *live = NULL;
  bool *keep;
  int own = (int)(op->node - op->scope->body->nodes);
  HR_TRY(find_frame(op->arena, op->scope->body, own, &f));
  int count = f.variable_count + f.invariant_count + 1;
  HR_TRY(HR_NEW_ARRAY(op->arena, count, &values));
  HR_TRY(HR_NEW_ARRAY(op->arena, count, &after));
  HR_TRY(HR_NEW_ARRAY(op->arena, count, &keep));
  HR_TRY(initial_state(op, &f, values, keep, &live));
  op->live = live;
  if (live == &tf_dead) return NULL;
  tf_loop_t loop = {.count = count - 1 + f.has_pred,
                    .keep = keep,
                    .context = &run,
                    .condition = run_condition,
                    .body = run_body};
  HR_TRY(tf_build_loop(op, &loop, values, after));
  return leave_frame(op, &f, after, live, own);
}
