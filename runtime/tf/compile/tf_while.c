/* While loops, also those that tf_frames.c finds in graphs of TensorFlow 1. The body returns the
 * next values and those of all resources, as XlaCompiler's XlaWhile(input; cond, body) does: the
 * state has one shape before and after each iteration. */
#include "tf/compile/tf_while.h"

#include <string.h>

#include "tf/compile/tf_call.h"
#include "tf/compile/tf_packing.h"
#include "tf/compile/tf_trips.h"

/* Whether the body returns argument k unchanged, through identities.
 * Argument k is node k of the body. The number of steps is bounded by the number of nodes, so
 * that a cycle of identities ends the walk. */
static bool is_invariant(const tf_body_t *body, int k) {
  tf_input_t at = body->rets[k];
  for (int steps = 0; steps < body->node_count; steps++) {
    const tf_node_t *node = &body->nodes[at.node];
    if (at.node == k) return true;
    if (!hr_str_is(node->op, "Identity") || node->input_count != 1) return false;
    at = node->inputs[0];
  }
  return false;
}

/* New loop state from the body's results; resources by their copies inside.
 * The invariant of HLO's while: the state has one shape before and after each iteration. Slots
 * of constants that no iteration changes do not exist. */
static hr_status_t next_state(tf_op_t *op, hlo_builder_t *b, const tf_packing_t *packing,
                              const tf_value_t *inside, tf_value_t *results, expr_t *out_state) {
  for (int i = 0; i < packing->count; i++) {
    int slot = packing->slots[i];
    if (slot < 0) continue;
    expr_t next = packing->values[i].kind == TF_VALUE_RESOURCE
                      ? tf_packed_resource(packing, i, inside)
                      : tf_value_instr(op->scope->compiler, b, &results[i]);
    char before[HLO_SHAPE_TEXT], after[HLO_SHAPE_TEXT];
    if (next && !hlo_shape_equal(next->shape, packing->instrs[slot]->shape))
      return tf_error(op, "loop variable %d is %s before and %s after an iteration", i,
                      hlo_shape_text(packing->instrs[slot]->shape, before),
                      hlo_shape_text(next->shape, after));
    out_state[slot] = next;
    if (packing->counts[i] >= 0) out_state[packing->counts[i]] = results[i].count;
    if (packing->element_counts[i] >= 0)
      out_state[packing->element_counts[i]] = results[i].element_counts;
  }
  return NULL;
}

/* Computation (state) -> state, a tuple of all slots. */
static hr_status_t build_loop_body(tf_op_t *op, const tf_loop_t *loop, const tf_packing_t *packing,
                                   const hlo_shape_t *shape, hlo_computation_t **out_computation) {
  hlo_builder_t b;
  tf_value_t *inside, *results;
  expr_t *state;
  HR_TRY(HR_NEW_ARRAY(op->arena, packing->count, &inside));
  HR_TRY(HR_NEW_ARRAY(op->arena, packing->count, &results));
  HR_TRY(HR_NEW_ARRAY(op->arena, packing->slot_count, &state));
  HR_TRY(tf_computation_begin(op->scope->compiler, "loop_body", &b));
  HR_TRY(tf_unpack_values(op, &b, packing, hlo_build_parameter(&b, 0, shape), inside));
  HR_TRY(tf_states_enter(op, packing->count, inside));
  HR_TRY(loop->body(loop->context, op, &b, inside, results));
  HR_TRY(next_state(op, &b, packing, inside, results, state));
  *out_computation = b.computation;
  return tf_computation_end(op->scope->compiler, &b,
                            hlo_build_tuple(&b, packing->slot_count, state));
}

/* Computation (state) -> pred. It sees copies of the resources; its writes to them are lost. */
static hr_status_t build_loop_condition(tf_op_t *op, const tf_loop_t *loop,
                                        const tf_packing_t *packing, const hlo_shape_t *shape,
                                        hlo_computation_t **out_computation) {
  hlo_builder_t b;
  tf_value_t *inside, result;
  HR_TRY(HR_NEW_ARRAY(op->arena, packing->count, &inside));
  HR_TRY(tf_computation_begin(op->scope->compiler, "loop_condition", &b));
  HR_TRY(tf_unpack_values(op, &b, packing, hlo_build_parameter(&b, 0, shape), inside));
  HR_TRY(loop->condition(loop->context, op, &b, inside, &result));
  expr_t pred = tf_value_instr(op->scope->compiler, &b, &result);
  if (pred && pred->shape->dtype != HR_PRED)
    pred = f_ne(&b, pred, hlo_build_number_like(&b, 0, pred));
  *out_computation = b.computation;
  return tf_computation_end(op->scope->compiler, &b, pred);
}

/* Values after the loop: elements of the state, or the constants that never changed.
 * Resources of the caller get the values that the last iteration gave to their copies. */
static hr_status_t set_loop_results(const tf_packing_t *packing, expr_t state, hlo_builder_t *b,
                                    tf_value_t *out_values) {
  for (int i = 0; i < packing->count; i++) {
    int slot = packing->slots[i];
    out_values[i] = packing->values[i];
    if (slot < 0) continue;
    bool is_resource = packing->values[i].kind == TF_VALUE_RESOURCE;
    if (is_resource && !packing->written[i]) continue;
    expr_t element = hlo_build_element(b, state, slot);
    if (is_resource) {
      packing->values[i].resource->value = element;
    } else {
      out_values[i].instr = element;
      if (out_values[i].kind == TF_VALUE_ARRAY) out_values[i].constant = NULL;
      tf_unpack_counts(b, packing, i, state, &out_values[i]);
    }
  }
  return hlo_builder_finish(b);
}

/* Stacks and lists without a bound have room for all iterations, and keep their size inside. */
static void set_unbounded(int count, tf_value_t *values, const bool *unbounded) {
  for (int i = 0; i < count; i++) {
    if (values[i].kind == TF_VALUE_LIST) values[i].list_unbounded = unbounded && unbounded[i];
    if (values[i].kind == TF_VALUE_RESOURCE)
      values[i].resource->unbounded = unbounded && unbounded[i];
  }
}

static hr_status_t find_unbounded(tf_op_t *op, int count, const tf_value_t *values,
                                  bool **out_grows) {
  HR_TRY(HR_NEW_ARRAY(op->arena, count, out_grows));
  for (int i = 0; i < count; i++)
    (*out_grows)[i] = values[i].kind == TF_VALUE_RESOURCE ? values[i].resource->unbounded
                                                          : values[i].list_unbounded;
  return NULL;
}

/* A list that the loop has filled loses its count, so that its size is static again. */
static hr_status_t drop_full_counts(tf_op_t *op, int count, tf_value_t *values) {
  hlo_value_t *known;
  for (int i = 0; i < count; i++) {
    if (values[i].kind != TF_VALUE_LIST || !values[i].count || !values[i].list_grown_by_write)
      continue;
    HR_TRY(tf_loop_result(op->scope->compiler, values[i].count, &known));
    if (known && hlo_value_int_at(known, 0) == values[i].list_size) values[i].count = NULL;
  }
  return NULL;
}

/* Condition and body are built after packing, as they need the final shape of the state. */
static hr_status_t build_loop(tf_op_t *op, const tf_loop_t *loop, tf_value_t *values,
                              tf_value_t *out_values) {
  tf_packing_t packing;
  const hlo_shape_t *shape;
  hlo_computation_t *called[2];
  bool *unbounded;
  HR_TRY(tf_loop_dry_run(op, loop, values));
  HR_TRY(find_unbounded(op, loop->count, values, &unbounded));
  set_unbounded(loop->count, values, NULL);
  HR_TRY(tf_pack_values(op, loop->count, values, loop->keep, &packing));
  HR_TRY(tf_packing_shape(op, &packing, &shape));
  HR_TRY(build_loop_condition(op, loop, &packing, shape, &called[0]));
  HR_TRY(build_loop_body(op, loop, &packing, shape, &called[1]));
  expr_t init = hlo_build_tuple(op->b, packing.slot_count, packing.instrs);
  hlo_attr_t attrs[] = {hlo_attr_of_called(HLO_ATTR_CONDITION, 1),
                        hlo_attr_of_called(HLO_ATTR_BODY, 1)};
  expr_t state = hlo_build(op->b, HLO_WHILE, shape, 1, &init, 2, attrs, 2, called);
  HR_TRY(set_loop_results(&packing, state, op->b, out_values));
  HR_TRY(drop_full_counts(op, loop->count, out_values));
  set_unbounded(loop->count, out_values, unbounded);
  return NULL;
}

hr_status_t tf_states_enter(tf_op_t *op, int count, const tf_value_t *inside) {
  tf_states_t *states = op->scope->compiler->states;
  HR_TRY(HR_NEW_ARRAY(op->arena, count, &states->inside));
  for (int i = 0; i < count; i++)
    if (inside[i].kind == TF_VALUE_ARRAY) states->inside[i] = inside[i].instr;
  return NULL;
}

/* Builds the loop again, with its states known, from the values before the first attempt. */
static hr_status_t build_with_states(tf_op_t *op, const tf_loop_t *loop, const tf_value_t *before,
                                     const bool *unbounded, tf_value_t *values,
                                     tf_value_t *out_values) {
  memcpy(values, before, (size_t)loop->count * sizeof *values);
  set_unbounded(loop->count, values, unbounded);
  HR_TRY(tf_loop_enumerate_states(op, loop, values));
  return build_loop(op, loop, values, out_values);
}

/* The bound of an inner loop may follow only from the states of this loop: then the first attempt
 * fails. */
hr_status_t tf_build_loop(tf_op_t *op, const tf_loop_t *loop, tf_value_t *values,
                          tf_value_t *out_values) {
  tf_value_t *before;
  bool *unbounded;
  tf_compiler_t *compiler = op->scope->compiler;
  tf_states_t states = {.up = compiler->states, .is_loop = true, .count = loop->count};
  int depth = compiler->depth;
  HR_TRY(tf_keep_constants(op, loop->count, values, loop->keep));
  HR_TRY(HR_NEW_ARRAY(op->arena, loop->count, &before));
  memcpy(before, values, (size_t)loop->count * sizeof *values);
  HR_TRY(find_unbounded(op, loop->count, values, &unbounded));
  compiler->states = &states;
  hr_status_t st = build_loop(op, loop, values, out_values);
  if (st && states.is_needed && !compiler->is_state_enumeration) {
    hr_status_release(st);
    compiler->depth = depth;
    compiler->states = &states;
    st = build_with_states(op, loop, before, unbounded, values, out_values);
  }
  compiler->states = states.up;
  HR_VEC_FREE(&states.all);
  return st;
}

/* Functions of a While operation. */
typedef struct while_functions {
  const tf_body_t *cond, *body;
} while_functions_t;

static hr_status_t run_condition(void *context, tf_op_t *op, hlo_builder_t *b,
                                 const tf_value_t *inside, tf_value_t *out_pred) {
  /* All loop values are arguments of the condition; its one result is the predicate. */
  const while_functions_t *functions = context;
  return tf_execute_function(op->scope->compiler, b, functions->cond, functions->cond->arg_count,
                             inside, out_pred);
}

static hr_status_t run_body(void *context, tf_op_t *op, hlo_builder_t *b, const tf_value_t *inside,
                            tf_value_t *out_results) {
  const while_functions_t *functions = context;
  return tf_execute_function(op->scope->compiler, b, functions->body, functions->body->arg_count,
                             inside, out_results);
}

/* Attributes cond and body are functions of the same arguments; outputs are the values after the
 * loop. A constant that the body hands through stays a constant inside, as shapes may depend on
 * it. */
hr_status_t tf_lower_while(tf_op_t *op) {
  while_functions_t functions;
  tf_value_t *values;
  bool *keep;
  int count;
  HR_TRY(tf_attr_body(op, "cond", &functions.cond));
  HR_TRY(tf_attr_body(op, "body", &functions.body));
  HR_TRY(tf_input_values(op, 0, &count, &values));
  if (functions.cond->ret_count != 1)
    return tf_error(op, "the condition has %d results", functions.cond->ret_count);
  if (functions.body->ret_count != count || functions.body->arg_count != count ||
      functions.cond->arg_count != count)
    return tf_error(op, "condition and body do not take %d values", count);
  HR_TRY(HR_NEW_ARRAY(op->arena, count, &keep));
  for (int i = 0; i < count; i++) keep[i] = is_invariant(functions.body, i);
  tf_loop_t loop = {.count = count,
                    .keep = keep,
                    .context = &functions,
                    .condition = run_condition,
                    .body = run_body};
  HR_TRY(tf_need_outputs(op, count));
  return tf_build_loop(op, &loop, values, op->outputs);
}
