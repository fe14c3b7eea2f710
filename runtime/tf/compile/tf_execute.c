/* Symbolic execution of bodies: nodes in topological order, found by a depth-first walk from the
 * wanted outputs. Functions are executed in the computation of their caller, so that constants and
 * resources pass through calls. Cost: every node once per call of its body. */
#include <string.h>

#include "base/mem.h"
#include "tf/compile/xla_compilation.h"

/* The depth of inlined calls is bounded, as recursion in a graph would never end. That of
 * evaluation is bounded, as it recurses on the C stack. */
#define CALL_DEPTH_MAX 200

#define CALLS_MAX 100000 /* bodies are inlined: calls that double at each level would not end */

/* --- compile-time values --- */

/* --- computations --- */

/* The number of computations makes the name unique. */
hr_status_t tf_computation_begin(tf_compiler_t *compiler, const char *name,
                                 hlo_builder_t *out_builder) {
  const char *unique;
  hlo_computation_t *computation;
  HR_TRY(hr_arena_printf(compiler->arena, &unique, "%s.%zu", name,
                         compiler->module->computations.count));
  HR_TRY(hlo_computation_add(compiler->module, hr_str_from(unique), &computation));
  *out_builder = hlo_builder_at(computation, 0, 0);
  return NULL;
}

/* The order of these calls is the order in which order_computations() lists the computations. */
hr_status_t tf_computation_end(tf_compiler_t *compiler, hlo_builder_t *builder, expr_t root) {
  HR_TRY(hlo_builder_finish(builder));
  builder->computation->root = root;
  HR_VEC_PUSH(&compiler->completed, builder->computation);
  return NULL;
}

/* A constant becomes an instruction on first use. The builder must be that of the computation in
 * which the value lives: an instruction of another computation cannot be an operand. */
expr_t tf_value_instr(tf_compiler_t *compiler, hlo_builder_t *b, tf_value_t *value) {
  (void)compiler;
  if (value->kind == TF_VALUE_RESOURCE) return value->resource->value;
  if (value->kind == TF_VALUE_ARRAY && !value->instr && value->constant)
    value->instr = hlo_build_constant(b, hlo_value_retain(value->constant));
  return value->instr;
}

/* --- inputs and outputs of an op --- */

/* --- nodes --- */

#define SPARE_INPUTS 4

/* `nothing` stands for an input that was not set and `dead` for one that cannot exist. Both are
 * shared and are never written: lowerings write to their outputs only. A few inputs of kind
 * `nothing` follow the node's own, as lowerings read the first ones by number. */
static hr_status_t gather_inputs(tf_scope_t *scope, tf_op_t *op) {
  static tf_value_t nothing, dead = {.live = &tf_dead};
  const tf_node_t *node = op->node;
  op->input_count = node->input_count;
  HR_TRY(HR_NEW_ARRAY(op->arena, node->input_count + SPARE_INPUTS, &op->inputs));
  for (int k = 0; k < SPARE_INPUTS; k++) op->inputs[node->input_count + k] = &nothing;
  for (int k = 0; k < node->input_count; k++) {
    tf_input_t input = node->inputs[k];
    op->inputs[k] = &nothing;
    if (scope->live[input.node] == &tf_dead) {
      op->inputs[k] = &dead;
      continue;
    }
    if (input.index >= scope->output_counts[input.node])
      return tf_error(op, "input %d is output %d of %.*s, which has %d", k, input.index,
                      HR_STR_ARGS(scope->body->nodes[input.node].name),
                      scope->output_counts[input.node]);
    op->inputs[k] = &scope->outputs[input.node][input.index];
  }
  return NULL;
}

/* A call of a function by its name as op.
 * Graphs of TensorFlow 1 call a function of the library by a node whose op is its name. */
static hr_status_t call_by_name(tf_op_t *op, const tf_body_t *function) {
  tf_value_t *args;
  HR_TRY(HR_NEW_ARRAY(op->arena, op->input_count, &args));
  for (int k = 0; k < op->input_count; k++) args[k] = *op->inputs[k];
  HR_TRY(tf_need_outputs(op, function->ret_count));
  return tf_execute_function(op->scope->compiler, op->b, function, op->input_count, args,
                             op->outputs);
}

/* A function of the library hides an operation of the same name, as in TensorFlow. */
static hr_status_t lower_node(tf_op_t *op) {
  const tf_body_t *function = tf_graph_function(op->scope->compiler->graph, op->node->op);
  op->row = tf_op_find(op->node->op);
  if (function) return call_by_name(op, function);
  if (!op->row) return tf_unsupported(op, "the operation is not supported");
  if (op->row->inputs != TF_LIST && op->node->input_count != op->row->inputs)
    return tf_error(op, "%d inputs, want %d", op->node->input_count, op->row->inputs);
  HR_TRY(op->row->lower(op));
  return hlo_builder_finish(op->b);
}

/* The node exists if all its inputs do, of data and control; a Merge needs one of them.
 * The conjunction of the inputs' conditions is the node's own. A node with a dead input is dead,
 * too, and is not lowered at all. */
static hr_status_t find_live(tf_op_t *op) {
  const tf_node_t *node = op->node;
  if (hr_str_is(node->op, "Merge") || hr_str_is(node->op, "RefMerge")) return NULL;
  for (int k = 0; k < op->input_count; k++)
    HR_TRY(tf_live_both(op->arena, op->live, op->inputs[k]->live, &op->live));
  for (int k = node->input_count; k < node->input_count + node->control_count; k++)
    HR_TRY(tf_live_both(op->arena, op->live, op->scope->live[node->inputs[k].node], &op->live));
  return NULL;
}

/* Switch and Merge set their outputs' conditions themselves. */
static void set_live(tf_op_t *op) {
  bool own = op->row && (op->row->lower == tf_lower_switch || op->row->lower == tf_lower_merge);
  for (int k = 0; k < op->output_count && !own; k++) op->outputs[k].live = op->live;
}

/* --- the order of transfers --- */

/* Adds a token of this computation to the joined ones, unless it is among them. */
static void add_token(const tf_scope_t *scope, expr_t token, expr_t *tokens, int *count) {
  if (!token || token->parent != scope->builder->computation) return;
  for (int i = 0; i < *count; i++)
    if (tokens[i] == token) return;
  tokens[(*count)++] = token;
}

static expr_t join_tokens(const tf_scope_t *scope, int count, expr_t const *tokens) {
  if (count < 2) return count ? tokens[0] : NULL;
  return hlo_build(scope->builder, HLO_AFTER_ALL, hlo_shape_scalar(HR_TOKEN), count, tokens, 0,
                   NULL, 0, NULL);
}

/* A node waits for the transfers that its inputs wait for; without any, for those before the call
 * of the body. */
static hr_status_t token_of_inputs(tf_op_t *op) {
  const tf_scope_t *scope = op->scope;
  const tf_node_t *node = op->node;
  int count = 0, most = node->input_count + node->control_count;
  expr_t few[16], *tokens = few;
  if (most + 1 > (int)(sizeof few / sizeof *few))
    HR_TRY(HR_NEW_ARRAY(op->arena, most + 1, &tokens));
  for (int k = 0; k < most; k++)
    add_token(scope, scope->tokens[node->inputs[k].node], tokens, &count);
  if (!count) add_token(scope, scope->start, tokens, &count);
  op->token = join_tokens(scope, count, tokens);
  return NULL;
}

/* Nodes that wait for a body wait for all of its results. */
static hr_status_t token_of_results(const tf_scope_t *scope, const tf_execution_t *execution,
                                    expr_t *out_token) {
  int count = 0;
  expr_t *tokens;
  HR_TRY(HR_NEW_ARRAY(scope->compiler->arena, execution->target_count + execution->wanted_count + 1,
                      &tokens));
  for (int i = 0; i < execution->target_count; i++)
    add_token(scope, scope->tokens[execution->targets[i]], tokens, &count);
  for (int i = 0; i < execution->wanted_count; i++)
    add_token(scope, scope->tokens[execution->wanted[i].node], tokens, &count);
  if (!count) add_token(scope, scope->start, tokens, &count);
  *out_token = join_tokens(scope, count, tokens);
  return NULL;
}

/* Lowers the node; a body that it calls starts with its token and leaves another one. */
static hr_status_t lower_in_order(tf_op_t *op) {
  tf_compiler_t *compiler = op->scope->compiler;
  expr_t outer = compiler->call_token;
  const hlo_extra_t *extra = op->b->extra;
  HR_TRY(xla_extra(op->arena, -1, op->node->op, op->node->name, &op->b->extra));
  HR_TRY(token_of_inputs(op));
  compiler->call_token = op->token;
  expr_t before = op->token;
  HR_TRY(lower_node(op));
  if (compiler->call_token != before && op->token == before) op->token = compiler->call_token;
  compiler->call_token = outer;
  op->b->extra = extra;
  return NULL;
}

/* All Exit nodes of a frame get their values when the first of them is executed, which builds
 * the loop. Exit does not gather inputs: they lie inside the loop. */
static hr_status_t execute_node(tf_scope_t *scope, int index) {
  const tf_node_t *node = &scope->body->nodes[index];
  tf_op_t op = {.scope = scope, .b = scope->builder, .arena = scope->compiler->arena, .node = node};
  bool leaves = hr_str_is(node->op, "Exit") || hr_str_is(node->op, "RefExit");
  if (leaves && scope->outputs[index]) return NULL; /* with another Exit of its frame */
  hr_status_t st = leaves ? NULL : gather_inputs(scope, &op);
  if (!st && !leaves) st = find_live(&op);
  if (!st && op.live != &tf_dead) st = leaves ? lower_node(&op) : lower_in_order(&op);
  if (!st) st = hlo_builder_finish(op.b);
  if (!st && !op.outputs) st = HR_NEW(op.arena, &op.outputs);
  scope->live[index] = op.live;
  scope->tokens[index] = op.token;
  if (!st) set_live(&op);
  if (st)
    return hr_status_note(st, "in node %.*s (%.*s)", HR_STR_ARGS(node->name),
                          HR_STR_ARGS(node->op));
  scope->outputs[index] = op.outputs;
  scope->output_counts[index] = op.output_count;
  return NULL;
}

/* A node on the stack of the walk, with the next input to look at. */
typedef struct walk_entry {
  int node;
  int next;
} walk_entry_t;

/* Executes a node after its inputs. `state` by node: 0 new, 1 on the stack, 2 done. */
static hr_status_t execute_from(tf_scope_t *scope, int root, uint8_t *state, walk_entry_t *stack) {
  int height = 0;
  if (state[root]) return NULL;
  stack[height++] = (walk_entry_t){root, 0};
  state[root] = 1;
  while (height) {
    walk_entry_t *top = &stack[height - 1];
    const int *nodes;
    int count;
    HR_TRY(tf_dependencies(scope, top->node, &count, &nodes));
    if (top->next < count) {
      int input = nodes[top->next++];
      if (state[input] == 1)
        return hr_error(HR_UNSUPPORTED, "a cycle of nodes through %.*s",
                        HR_STR_ARGS(scope->body->nodes[input].name));
      if (state[input]) continue;
      state[input] = 1;
      stack[height++] = (walk_entry_t){input, 0};
      continue;
    }
    HR_TRY(execute_node(scope, top->node));
    state[top->node] = 2;
    height--;
  }
  return NULL;
}

/* A fed output: the node counts as executed. A node may be fed at several outputs, so that the list
 * grows. Its inputs are never visited, which cuts off the nodes that only they need. */
static hr_status_t feed_output(tf_scope_t *scope, tf_input_t output, const tf_value_t *value,
                               uint8_t *state) {
  int count = output.index + 1;
  tf_value_t *outputs;
  if (count > scope->output_counts[output.node]) {
    HR_TRY(HR_NEW_ARRAY(scope->compiler->arena, count, &outputs));
    for (int i = 0; i < scope->output_counts[output.node]; i++)
      outputs[i] = scope->outputs[output.node][i];
    scope->outputs[output.node] = outputs;
    scope->output_counts[output.node] = count;
  }
  scope->outputs[output.node][output.index] = *value;
  state[output.node] = 2;
  return NULL;
}

/* A fetch of an output that the node does not have is an error of the request: INVALID. */
static hr_status_t take_wanted(const tf_scope_t *scope, const tf_execution_t *execution,
                               tf_value_t *out_values) {
  for (int i = 0; i < execution->wanted_count; i++) {
    tf_input_t wanted = execution->wanted[i];
    if (wanted.index < 0 || wanted.index >= scope->output_counts[wanted.node])
      return hr_error(HR_INVALID, "node %.*s has %d outputs, output %d is wanted",
                      HR_STR_ARGS(scope->body->nodes[wanted.node].name),
                      scope->output_counts[wanted.node], wanted.index);
    out_values[i] = scope->outputs[wanted.node][wanted.index];
  }
  return NULL;
}

/* Arguments are nodes 0 to arg_count - 1. Targets run before the wanted outputs, as they may write
 * variables that results read. After a failure `depth` is restored by the loop that is built again;
 * any other failure ends the compilation. */
hr_status_t tf_execute(tf_compiler_t *compiler, hlo_builder_t *builder,
                       const tf_execution_t *execution, tf_value_t *out_values) {
  const tf_body_t *body = execution->body;
  tf_scope_t scope = {
      .compiler = compiler, .builder = builder, .body = body, .args = execution->args};
  uint8_t *state;
  walk_entry_t *stack;
  if (compiler->depth >= CALL_DEPTH_MAX)
    return hr_error(HR_UNSUPPORTED, "functions that call each other %d deep", CALL_DEPTH_MAX);
  if (++compiler->calls > CALLS_MAX)
    return hr_error(HR_UNSUPPORTED, "more than %d calls of functions", CALLS_MAX);
  compiler->depth++;
  HR_TRY(HR_NEW_ARRAY(compiler->arena, body->node_count + 1, &state));
  HR_TRY(HR_NEW_ARRAY(compiler->arena, body->node_count + 1, &stack));
  HR_TRY(HR_NEW_ARRAY(compiler->arena, body->node_count, &scope.outputs));
  HR_TRY(HR_NEW_ARRAY(compiler->arena, body->node_count, &scope.output_counts));
  HR_TRY(HR_NEW_ARRAY(compiler->arena, body->node_count, &scope.live));
  HR_TRY(HR_NEW_ARRAY(compiler->arena, body->node_count, &scope.tokens));
  scope.start = compiler->call_token;
  for (int i = 0; i < execution->arg_count; i++)
    HR_TRY(feed_output(&scope, (tf_input_t){i, 0}, &execution->args[i], state));
  for (int i = 0; i < execution->fed_count; i++)
    HR_TRY(feed_output(&scope, execution->fed[i], &execution->fed_values[i], state));
  for (int i = 0; i < execution->target_count; i++)
    HR_TRY(execute_from(&scope, execution->targets[i], state, stack));
  for (int i = 0; i < execution->wanted_count; i++)
    HR_TRY(execute_from(&scope, execution->wanted[i].node, state, stack));
  compiler->depth--;
  HR_TRY(token_of_results(&scope, execution, &compiler->call_token));
  return take_wanted(&scope, execution, out_values);
}

/* control_ret of a FunctionDef names nodes with effects, which must run although no result needs
 * them. */
hr_status_t tf_execute_function(tf_compiler_t *compiler, hlo_builder_t *builder,
                                const tf_body_t *function, int arg_count, const tf_value_t *args,
                                tf_value_t *out_values) {
  if (arg_count != function->arg_count)
    return hr_error(HR_INVALID, "function %.*s takes %d arguments, %d are given",
                    HR_STR_ARGS(function->name), function->arg_count, arg_count);
  tf_execution_t execution = {.body = function,
                              .arg_count = arg_count,
                              .args = args,
                              .wanted_count = function->ret_count,
                              .wanted = function->rets,
                              .target_count = function->control_ret_count,
                              .targets = function->control_rets};
  hr_status_t st = tf_execute(compiler, builder, &execution, out_values);
  return hr_status_note(st, "in function %.*s", HR_STR_ARGS(function->name));
}
