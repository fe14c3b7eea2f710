/* Ops that pass whole values: tuples, calls, loops, branches, asynchronous wrappers. Values are
 * reference counted: operands at their last use move into calls, so that callees can update arrays
 * in place. */
#include "ops/kernels/common/transfer_list.h"
#include "ops/query/async_collective.h"

static hr_status_t run_identity(op_env_t *env, const op_step_t *step, hlo_value_t *const *in,
                                hlo_value_t **out_value) {
  (void)env, (void)step;
  *out_value = hlo_value_retain(in[0]);
  return NULL;
}
const op_kernel_t kernel_identity = {NULL, run_identity};

static hr_status_t run_tuple(op_env_t *env, const op_step_t *step, hlo_value_t *const *in,
                             hlo_value_t **out_value) {
  (void)env;
  return hlo_value_tuple(step->instr->operand_count, in, out_value);
}
const op_kernel_t kernel_tuple = {NULL, run_tuple};

static hr_status_t run_get_tuple_element(op_env_t *env, const op_step_t *step,
                                         hlo_value_t *const *in, hlo_value_t **out_value) {
  (void)env;
  *out_value = hlo_value_retain(in[0]->elements[hlo_attr_int(step->instr, HLO_ATTR_INDEX)]);
  return NULL;
}
const op_kernel_t kernel_get_tuple_element = {NULL, run_get_tuple_element};

static hr_status_t run_token(op_env_t *env, const op_step_t *step, hlo_value_t *const *in,
                             hlo_value_t **out_value) {
  (void)env, (void)step, (void)in;
  return hlo_value_token(out_value);
}
const op_kernel_t kernel_token = {NULL, run_token};

/* Calls a computation with operands [first, first + count) as its parameters. */
static hr_status_t call_with_operands(op_env_t *env, const op_step_t *step, hlo_value_t *const *in,
                                      int first, int count, const hlo_computation_t *computation,
                                      hlo_value_t **out_value) {
  hlo_value_t **args;
  HR_TRY(HR_NEW_ARRAY(env->scratch, count, &args));
  for (int k = 0; k < count; k++) args[k] = op_take(step, in, first + k);
  return env->engine_ops->call(env, computation, args, count, out_value);
}

/* call and fusion: a fusion's body is ordinary HLO. */
static hr_status_t run_call(op_env_t *env, const op_step_t *step, hlo_value_t *const *in,
                            hlo_value_t **out_value) {
  return call_with_operands(env, step, in, 0, step->instr->operand_count, step->instr->called[0],
                            out_value);
}
const op_kernel_t kernel_call = {NULL, run_call};

/* The state is retained during the call, as the body needs it afterwards. */
static hr_status_t evaluate_condition(op_env_t *env, const hlo_computation_t *condition,
                                      hlo_value_t *state, bool *out_met) {
  hlo_value_t *arg = hlo_value_retain(state), *met;
  HR_TRY(env->engine_ops->call(env, condition, &arg, 1, &met));
  *out_met = *(const uint8_t *)met->data != 0;
  hlo_value_release(met);
  return NULL;
}

/* The state's reference moves into each iteration, so that the body may update its arrays in
 * place. */
static hr_status_t run_while(op_env_t *env, const op_step_t *step, hlo_value_t *const *in,
                             hlo_value_t **out_value) {
  const hlo_computation_t *condition = step->instr->called[0], *body = step->instr->called[1];
  hlo_value_t *state = op_take(step, in, 0);
  hr_status_t st = NULL;
  for (bool more; !(st = evaluate_condition(env, condition, state, &more)) && more;) {
    hlo_value_t *next = NULL;
    st = env->engine_ops->call(env, body, &state, 1, &next);
    state = next;
    if (st) break;
  }
  if (st)
    hlo_value_release(state);
  else
    *out_value = state;
  return st;
}
const op_kernel_t kernel_while = {NULL, run_while};

/* pred true is branch 0; an index out of range selects the last branch. */
static int select_branch(const hlo_value_t *selector, int branch_count) {
  int64_t index = hlo_value_int_at(selector, 0);
  if (selector->dtype == HR_PRED) return index ? 0 : 1;
  return index < 0 || index >= branch_count ? branch_count - 1 : (int)index;
}

static hr_status_t run_conditional(op_env_t *env, const op_step_t *step, hlo_value_t *const *in,
                                   hlo_value_t **out_value) {
  int branch = select_branch(in[0], step->instr->called_count);
  return call_with_operands(env, step, in, 1 + branch, 1, step->instr->called[branch], out_value);
}
const op_kernel_t kernel_conditional = {NULL, run_conditional};

/* (operands, result, contexts): the state of an asynchronous pair. Takes ownership of both
 * values; contexts are zeros. */
static hr_status_t make_start_value(op_env_t *env, const op_step_t *step, hlo_value_t *operands,
                                    hlo_value_t *result, hlo_value_t **out_value) {
  const hlo_shape_t *shape = step->instr->shape;
  hlo_value_t **elements;
  int made = 2;
  hr_status_t st = HR_NEW_ARRAY(env->scratch, shape->element_count + 2, &elements);
  if (!st) {
    elements[0] = operands;
    elements[1] = result;
    for (; made < shape->element_count && !st; made++)
      st = hlo_value_zeros(shape->elements[made], &elements[made]);
    if (!st) st = hlo_value_tuple(shape->element_count, elements, out_value);
    for (int i = 2; i < made; i++) hlo_value_release(elements[i]);
  }
  hlo_value_release(operands);
  hlo_value_release(result);
  return st;
}

/* The wrapped computation runs at the start, and the done op returns its result; only a collective
 * is just started and completes later. */
static hr_status_t run_async_start(op_env_t *env, const op_step_t *step, hlo_value_t *const *in,
                                   hlo_value_t **out_value) {
  hlo_value_t *operands, *result;
  HR_TRY(hlo_value_tuple(step->instr->operand_count, in, &operands));
  env->hints.starting = op_wrapped_collective(step->instr) ? step->instr : NULL;
  hr_status_t st = call_with_operands(env, step, in, 0, step->instr->operand_count,
                                      step->instr->called[0], &result);
  env->hints.starting = NULL;
  if (st) {
    hlo_value_release(operands);
    return st;
  }
  return make_start_value(env, step, operands, result, out_value);
}
const op_kernel_t kernel_async_start = {NULL, run_async_start};

/* A collective that is the computation's root is the value itself; other roots were computed from
 * it. */
static hr_status_t run_async_done(op_env_t *env, const op_step_t *step, hlo_value_t *const *in,
                                  hlo_value_t **out_value) {
  const hlo_instr_t *start = step->instr->operands[0];
  hlo_value_t *value;
  while (start->op == HLO_ASYNC_UPDATE) start = start->operands[0];
  HR_TRY(op_transfer_done(env, start, &value));
  if (value && op_wrapped_collective(start) == start->called[0]->root) {
    *out_value = value;
    return NULL;
  }
  hlo_value_release(value);
  *out_value = hlo_value_retain(in[0]->elements[1]);
  return NULL;
}
const op_kernel_t kernel_async_done = {NULL, run_async_done};

/* (destination, source, context): destination first, unlike other starts. */
static hr_status_t run_copy_start(op_env_t *env, const op_step_t *step, hlo_value_t *const *in,
                                  hlo_value_t **out_value) {
  return make_start_value(env, step, hlo_value_retain(in[0]), hlo_value_retain(in[0]), out_value);
}
const op_kernel_t kernel_copy_start = {NULL, run_copy_start};

/* A copy is synchronous here: its state is (result, source, context). */
static hr_status_t run_copy_done(op_env_t *env, const op_step_t *step, hlo_value_t *const *in,
                                 hlo_value_t **out_value) {
  (void)env, (void)step;
  *out_value = hlo_value_retain(in[0]->elements[0]);
  return NULL;
}
const op_kernel_t kernel_copy_done = {NULL, run_copy_done};
