/* Functional control flow: calls, If, Case, While (and their Stateless forms).
 * Values that cross into a computation are packed: arrays, lists and the values of resources get a
 * slot of one tuple; inside, each slot is an element of the tuple parameter. Constants are not
 * packed where they stay the same, so that shapes and axes remain known at compile time inside.
 *
 *   values:  [array a] [constant 3] [variable v] [list l]
 *   tuple:   (a,                     v,           l)
 *
 * A branch or body returns its results and the slots of all resources. */
#include <string.h>

/* XlaCompiler's XlaIf(cond, inputs) and XlaWhile(input; cond, body) have this meaning: branches
 * and bodies return the updated values of all resources, so that input and output signatures
 * agree. */
#include "tf/tf_control.h"
#include "tf/tf_optional.h"
#include "tf/tf_trips.h"

/* --- packing --- */

/* A resource that appears several times among the values has one slot only: two slots would let
 * its copies drift apart inside. Strings and values without content have none. */
typedef struct packing {
  int count;
  const tf_value_t *values;
  int *slots;          /* by value; -1: not packed */
  int *counts;         /* slot of a list's count; -1: it has none */
  int *element_counts; /* the same of a list of lists for its element_counts */
  bool *written;       /* by value: a resource that a computation gives another value */
  int slot_count;
  expr_t *instrs; /* by slot */
} packing_t;

/* Slot of a resource that an earlier value packed already; -1: none. Resources are compared by
 * identity, as VarHandleOp gives one object per name. */
static int resource_slot(const packing_t *packing, int index) {
  for (int i = 0; i < index; i++)
    if (packing->values[i].kind == TF_VALUE_RESOURCE &&
        packing->values[i].resource == packing->values[index].resource)
      return packing->slots[i];
  return -1;
}

/* A new slot for an array; -1 if there is none. */
static int add_slot(packing_t *packing, expr_t instr) {
  if (!instr) return -1;
  packing->instrs[packing->slot_count] = instr;
  return packing->slot_count++;
}

/* `keep[i]`: value i is a constant that needs no slot.
 * A list has up to three slots, its array, its count and the counts of its elements. A variable
 * that is not initialised has no slot and stays so inside. */
static hr_status_t pack_values(tf_op_t *op, int count, const tf_value_t *values, const bool *keep,
                               packing_t *packing) {
  *packing = (packing_t){.count = count, .values = values};
  HR_TRY(HR_NEW_ARRAY(op->arena, count, &packing->slots));
  HR_TRY(HR_NEW_ARRAY(op->arena, count, &packing->counts));
  HR_TRY(HR_NEW_ARRAY(op->arena, count, &packing->element_counts));
  HR_TRY(HR_NEW_ARRAY(op->arena, count, &packing->written));
  HR_TRY(HR_NEW_ARRAY(op->arena, 3 * count, &packing->instrs));
  for (int i = 0; i < count; i++) {
    tf_value_t value = values[i];
    packing->slots[i] = -1;
    packing->counts[i] = packing->element_counts[i] = -1;
    if (value.kind == TF_VALUE_NONE || value.kind == TF_VALUE_STRINGS || keep[i]) continue;
    if (value.kind == TF_VALUE_RESOURCE && value.resource->gradients)
      return tf_unsupported(op, "a TensorArray with gradients that crosses into a loop or branch");
    if (value.kind == TF_VALUE_RESOURCE) packing->slots[i] = resource_slot(packing, i);
    if (packing->slots[i] >= 0) continue;
    expr_t instr = tf_value_instr(op->scope->compiler, op->b, &value);
    if (!instr && value.kind == TF_VALUE_RESOURCE) continue;
    if (!instr)
      return op->b->status ? hlo_builder_finish(op->b)
                           : tf_unsupported(op, "a list without elements or sizes");
    packing->slots[i] = add_slot(packing, instr);
    if (value.kind != TF_VALUE_LIST) continue;
    packing->counts[i] = add_slot(packing, value.count);
    packing->element_counts[i] = add_slot(packing, value.element_counts);
  }
  return NULL;
}

/* The counts of list i out of a tuple of all slots. */
static void take_counts(hlo_builder_t *b, const packing_t *packing, int i, expr_t tuple,
                        tf_value_t *out_list) {
  int count = packing->counts[i], elements = packing->element_counts[i];
  if (count >= 0) out_list->count = hlo_build_element(b, tuple, count);
  if (elements >= 0) out_list->element_counts = hlo_build_element(b, tuple, elements);
}

/* The values inside a computation whose tuple parameter is `tuple`. Resources are copies, which the
 * computation may change.
 * `initial` of a copy is the value on entry. The copy is shared by all values that named the
 * same resource outside. Conditions of existence (`live`) end at the border: the caller of the
 * computation applies them. */
static hr_status_t unpack_values(tf_op_t *op, hlo_builder_t *b, const packing_t *packing,
                                 expr_t tuple, tf_value_t *out_values) {
  for (int i = 0; i < packing->count; i++) {
    int slot = packing->slots[i];
    out_values[i] = packing->values[i];
    out_values[i].live = NULL;
    out_values[i].instr = slot < 0 ? NULL : hlo_build_element(b, tuple, slot);
    if (slot >= 0 && out_values[i].kind == TF_VALUE_ARRAY) out_values[i].constant = NULL;
    take_counts(b, packing, i, tuple, &out_values[i]);
    if (packing->values[i].kind != TF_VALUE_RESOURCE) continue;
    int first = i;
    for (int k = 0; k < i; k++)
      if (packing->values[k].resource == packing->values[i].resource) first = k;
    if (first < i) {
      out_values[i].resource = out_values[first].resource;
      continue;
    }
    tf_resource_t *copy;
    HR_TRY(HR_NEW(op->arena, &copy));
    *copy = *packing->values[i].resource;
    copy->value = out_values[i].instr;
    copy->initial = copy->value;
    out_values[i].resource = copy;
    out_values[i].instr = NULL;
  }
  return hlo_builder_finish(b);
}

/* The value of resource i at the end of a computation. One that was only read keeps the value that
 * it has outside, and is not returned as an update. */
static expr_t take_written(const packing_t *packing, int i, const tf_value_t *inside) {
  packing->written[i] |= inside[i].resource->value != inside[i].resource->initial;
  return inside[i].resource->value;
}

#define KEPT_ELEMENTS_MAX 64

/* Marks invariant values that are constants. Small lists of integers may be sizes, computed from
 * others. */
static hr_status_t keep_constants(tf_op_t *op, int count, tf_value_t *values, bool *keep) {
  for (int i = 0; i < count; i++) {
    tf_value_t *value = &values[i];
    keep[i] &= value->kind == TF_VALUE_ARRAY;
    if (!keep[i]) continue;
    const hlo_shape_t *shape = value->instr ? value->instr->shape : NULL;
    if (!value->constant && shape && hr_dtype_is_integer(shape->dtype) &&
        hlo_shape_elements(shape) <= KEPT_ELEMENTS_MAX)
      HR_TRY(tf_evaluate(op->scope->compiler, value->instr, &value->constant));
    keep[i] = value->constant != NULL;
  }
  return NULL;
}

/* Parameter shape of all branches, or of condition and body: the slots in order. */
static hr_status_t tuple_shape(tf_op_t *op, const packing_t *packing,
                               const hlo_shape_t **out_shape) {
  const hlo_shape_t **shapes;
  HR_TRY(HR_NEW_ARRAY(op->arena, packing->slot_count, &shapes));
  for (int i = 0; i < packing->slot_count; i++) shapes[i] = packing->instrs[i]->shape;
  return hlo_shape_tuple(op->arena, packing->slot_count, shapes, out_shape);
}

/* Functions come from the graph's library; a name that is not there is an error of the graph. */
static hr_status_t find_function(tf_op_t *op, hr_str_t name, const tf_body_t **out_function) {
  *out_function = tf_graph_function(op->scope->compiler->graph, name);
  if (*out_function) return NULL;
  return tf_error(op, "there is no function %.*s", HR_STR_ARGS(name));
}

/* The function that an attribute of the node names, such as then_branch or body. */
static hr_status_t function_of_attr(tf_op_t *op, const char *attr, const tf_body_t **out_function) {
  hr_str_t name;
  HR_TRY(tf_attr_function(op->arena, op->node, attr, &name));
  return find_function(op, name, out_function);
}

/* Values of the inputs from `first` on.
 * These are copies: packing and trials may change them without touching the edges of the graph. */
static hr_status_t input_values(tf_op_t *op, int first, int *out_count, tf_value_t **out_values) {
  if (first > op->input_count) return tf_error(op, "there is no input %d", first - 1);
  *out_count = op->input_count - first;
  HR_TRY(HR_NEW_ARRAY(op->arena, *out_count, out_values));
  for (int k = 0; k < *out_count; k++) (*out_values)[k] = *op->inputs[first + k];
  return NULL;
}

/* --- calls --- */

/* The body is executed in the current computation, inlined, so that constants stay constants. */
static hr_status_t call_function(tf_op_t *op, const tf_body_t *function, int count,
                                 const tf_value_t *values) {
  HR_TRY(tf_need_outputs(op, function->ret_count));
  return tf_execute_function(op->scope->compiler, op->b, function, count, values, op->outputs);
}

/* PartitionedCall and StatefulPartitionedCall: attribute f is the function, all inputs its
 * arguments. */
hr_status_t tf_lower_call(tf_op_t *op) {
  const tf_body_t *function;
  tf_value_t *values;
  int count;
  HR_TRY(function_of_attr(op, "f", &function));
  HR_TRY(input_values(op, 0, &count, &values));
  return call_function(op, function, count, values);
}

/* --- branches --- */

/* A branch in execution: its computation, and its results by number. */
typedef struct branch {
  hlo_builder_t b;
  tf_value_t *inside, *results;
} branch_t;

/* One result, over all branches. */
typedef struct outcome {
  tf_value_t like;          /* the result in a branch that has it; kind NONE: no branch has */
  bool has_count;           /* a list with a count of its own */
  const hlo_shape_t *shape; /* shape of an array, with room for that of each branch */
  hlo_value_t *constant;    /* integers that all branches give, such as sizes; NULL: none */
} outcome_t;

/* The states of the loop around the branch, by the branch's own values. */
static hr_status_t enter_branch(tf_op_t *op, const packing_t *packing, const tf_value_t *inside,
                                tf_states_t *out) {
  expr_t *instrs;
  hlo_value_t ***all;
  tf_compiler_t *compiler = op->scope->compiler;
  const tf_states_t *up = out->up;
  HR_TRY(HR_NEW_ARRAY(op->arena, packing->count, &instrs));
  for (int i = 0; i < packing->count; i++)
    if (packing->slots[i] >= 0) instrs[i] = packing->instrs[packing->slots[i]];
  out->is_known = up->is_known;
  compiler->states = out;
  HR_TRY(tf_states_enter(op, packing->count, inside));
  if (!up->is_known) return NULL;
  HR_TRY(tf_evaluate_in(compiler, up, packing->count, instrs, &all));
  for (size_t n = 0; n < up->all.count; n++) HR_VEC_PUSH(&out->all, all[n]);
  return NULL;
}

/* Parameters of all branches are the packed values, so that the slots of resources agree. */
static hr_status_t open_branch(tf_op_t *op, const tf_body_t *function, const packing_t *packing,
                               const hlo_shape_t *shape, branch_t *out) {
  HR_TRY(HR_NEW_ARRAY(op->arena, packing->count, &out->inside));
  HR_TRY(HR_NEW_ARRAY(op->arena, function->ret_count, &out->results));
  HR_TRY(tf_computation_begin(op->scope->compiler, "branch", &out->b));
  expr_t parameter = hlo_build_parameter(&out->b, 0, shape);
  HR_TRY(unpack_values(op, &out->b, packing, parameter, out->inside));
  tf_compiler_t *compiler = op->scope->compiler;
  tf_states_t states = {.up = compiler->states, .count = packing->count};
  hr_status_t st = states.up ? enter_branch(op, packing, out->inside, &states) : NULL;
  if (!st)
    st =
        tf_execute_function(compiler, &out->b, function, packing->count, out->inside, out->results);
  compiler->states = states.up;
  HR_VEC_FREE(&states.all);
  return st;
}

static hr_status_t add_constant(tf_op_t *op, const tf_value_t *result, bool is_first,
                                outcome_t *out) {
  hlo_value_t *known = NULL;
  bool is_array = result->kind == TF_VALUE_ARRAY && !result->alternatives;
  if (is_array && hr_dtype_is_integer(result->instr->shape->dtype))
    HR_TRY(tf_evaluate(op->scope->compiler, result->instr, &known));
  bool is_same = known && (is_first || (out->constant && hlo_value_equal(known, out->constant)));
  out->constant = is_same ? known : NULL;
  return NULL;
}

/* Constants among the results become instructions, as another branch may return another value. An
 * optional without value takes the shape that another branch returns. */
static hr_status_t add_outcome(tf_op_t *op, branch_t *branch, tf_value_t *result, outcome_t *out) {
  const tf_alternatives_t *all = out->like.alternatives;
  if (result->kind == TF_VALUE_NONE) return NULL;
  result->instr = tf_value_instr(op->scope->compiler, &branch->b, result);
  HR_TRY(hlo_builder_finish(&branch->b));
  if (!result->instr) return tf_unsupported(op, "a result of a branch is no array");
  for (const tf_alternatives_t *at = result->alternatives; at; at = at->rest)
    HR_TRY(tf_alternatives_add(op->arena, at->shape, &all));
  out->has_count |= result->kind == TF_VALUE_LIST && result->count;
  const tf_value_t before = out->like;
  HR_TRY(add_constant(op, result, before.kind == TF_VALUE_NONE, out));
  if (result->kind == TF_VALUE_ARRAY)
    HR_TRY(tf_shape_join(op->arena, out->shape ? out->shape : result->instr->shape,
                         result->instr->shape, &out->shape));
  out->like = *result;
  out->like.alternatives = all;
  if (result->kind != TF_VALUE_LIST || before.kind != TF_VALUE_LIST) return NULL;
  out->like.list_jumps |= before.list_jumps;
  if (before.list_size <= result->list_size) return NULL;
  out->like.list_size = before.list_size;
  out->like.instr = before.instr;
  return NULL;
}

static hr_status_t find_outcomes(tf_op_t *op, const tf_body_t *function, int branch_count,
                                 branch_t *branches, outcome_t *out) {
  hr_status_t st = NULL;
  for (int i = 0; i < function->ret_count && !st; i++) {
    for (int k = 0; k < branch_count && !st; k++)
      st = add_outcome(op, &branches[k], &branches[k].results[i], &out[i]);
    if (st)
      return hr_status_note(st, "in result %d of branch %.*s", i, HR_STR_ARGS(function->name));
  }
  return NULL;
}

/* The result of one branch, in the form that all of them have. */
static expr_t common_form(hlo_builder_t *b, const tf_value_t *result, const outcome_t *outcome) {
  const tf_alternatives_t *all = outcome->like.alternatives;
  bool is_none = result->kind == TF_VALUE_NONE;
  if (all && all->rest) return tf_optional_encode(b, is_none ? NULL : result->instr, all);
  const hlo_shape_t *shape = outcome->like.instr->shape;
  bool is_shorter = result->kind == TF_VALUE_LIST && result->list_size < outcome->like.list_size;
  if (is_shorter) return tf_grow(b, result->instr, outcome->like.list_size - result->list_size);
  if (is_none) return tf_fill(b, 0, shape->dtype, shape->rank, shape->dims);
  return outcome->shape ? tf_widen(b, result->instr, outcome->shape) : result->instr;
}

/* The root: results, each list's count after it, then resources in the order of their slots. */
static hr_status_t close_branch(tf_op_t *op, branch_t *branch, const packing_t *packing,
                                int ret_count, const outcome_t *outcomes) {
  hlo_builder_t *b = &branch->b;
  expr_t *roots;
  int count = 0;
  HR_TRY(HR_NEW_ARRAY(op->arena, 2 * ret_count + packing->count, &roots));
  for (int i = 0; i < ret_count; i++) {
    tf_value_t *result = &branch->results[i];
    if (outcomes[i].like.kind == TF_VALUE_NONE) continue;
    roots[count++] = common_form(b, result, &outcomes[i]);
    if (!outcomes[i].has_count) continue;
    roots[count++] = result->count ? result->count : tf_scalar_int(b, result->list_size, HR_S32);
  }
  for (int i = 0; i < packing->count; i++)
    if (packing->values[i].kind == TF_VALUE_RESOURCE && packing->slots[i] >= 0)
      roots[count++] = take_written(packing, i, branch->inside);
  return tf_computation_end(op->scope->compiler, b, hlo_build_tuple(b, count, roots));
}

/* Results and new values of resources from the conditional's tuple. Facts about the results of one
 * branch do not hold for the others and are dropped. */
static hr_status_t set_branch_results(tf_op_t *op, const packing_t *packing, expr_t result,
                                      const outcome_t *outcomes, int ret_count) {
  int count = 0;
  HR_TRY(tf_need_outputs(op, ret_count));
  for (int i = 0; i < ret_count; i++) {
    if (outcomes[i].like.kind == TF_VALUE_NONE) continue;
    op->outputs[i] = outcomes[i].like;
    op->outputs[i].constant = outcomes[i].constant;
    op->outputs[i].list_pushed = false;
    HR_TRY(tf_forget_lists(op->arena, &op->outputs[i]));
    expr_t element = hlo_build_element(op->b, result, count++);
    op->outputs[i].instr = outcomes[i].constant ? NULL : element;
    op->outputs[i].count = outcomes[i].has_count ? hlo_build_element(op->b, result, count++) : NULL;
  }
  for (int i = 0; i < packing->count; i++) {
    if (packing->values[i].kind != TF_VALUE_RESOURCE || packing->slots[i] < 0) continue;
    if (packing->written[i])
      packing->values[i].resource->value = hlo_build_element(op->b, result, count);
    count++;
  }
  return hlo_builder_finish(op->b);
}

/* Computations of all branches, and their results. */
static hr_status_t build_branches(tf_op_t *op, int branch_count, const tf_body_t *const *functions,
                                  const packing_t *packing, hlo_computation_t **called,
                                  outcome_t *outcomes) {
  const hlo_shape_t *shape;
  branch_t *branches;
  int ret_count = functions[0]->ret_count;
  HR_TRY(tuple_shape(op, packing, &shape));
  HR_TRY(HR_NEW_ARRAY(op->arena, branch_count, &branches));
  for (int i = 0; i < branch_count; i++) {
    if (functions[i]->ret_count != ret_count)
      return tf_error(op, "branches with %d and %d results", ret_count, functions[i]->ret_count);
    HR_TRY(open_branch(op, functions[i], packing, shape, &branches[i]));
    called[i] = branches[i].b.computation;
  }
  HR_TRY(find_outcomes(op, functions[0], branch_count, branches, outcomes));
  for (int i = 0; i < branch_count; i++)
    HR_TRY(close_branch(op, &branches[i], packing, ret_count, outcomes));
  return NULL;
}

/* Input 0 is the condition or index, the others are passed to every branch. Constants among
 * these are the same in all branches and need no slot. A pred selects by true and false
 * computation; an s32 index by a list of branches, where HLO takes the last branch for an index
 * outside. */
static hr_status_t build_conditional(tf_op_t *op, expr_t index, int branch_count,
                                     const tf_body_t *const *functions) {
  packing_t packing;
  tf_value_t *values;
  bool *keep;
  hlo_computation_t **called;
  outcome_t *outcomes;
  expr_t *operands;
  int count;
  HR_TRY(input_values(op, 1, &count, &values));
  HR_TRY(HR_NEW_ARRAY(op->arena, count, &keep));
  for (int i = 0; i < count; i++) keep[i] = true;
  HR_TRY(keep_constants(op, count, values, keep));
  HR_TRY(pack_values(op, count, values, keep, &packing));
  HR_TRY(HR_NEW_ARRAY(op->arena, branch_count, &called));
  HR_TRY(HR_NEW_ARRAY(op->arena, branch_count + 1, &operands));
  HR_TRY(HR_NEW_ARRAY(op->arena, functions[0]->ret_count, &outcomes));
  HR_TRY(build_branches(op, branch_count, functions, &packing, called, outcomes));
  expr_t tuple = hlo_build_tuple(op->b, packing.slot_count, packing.instrs);
  operands[0] = index;
  for (int i = 0; i < branch_count; i++) operands[i + 1] = tuple;
  hlo_attr_t two[] = {hlo_attr_of_called(HLO_ATTR_TRUE_COMPUTATION, 1),
                      hlo_attr_of_called(HLO_ATTR_FALSE_COMPUTATION, 1)};
  hlo_attr_t many = hlo_attr_of_called(HLO_ATTR_BRANCH_COMPUTATIONS, branch_count);
  bool is_pred = index && index->shape->dtype == HR_PRED;
  expr_t result = hlo_build(op->b, HLO_CONDITIONAL, called[0]->root->shape, branch_count + 1,
                            operands, is_pred ? 2 : 1, is_pred ? two : &many, branch_count, called);
  return set_branch_results(op, &packing, result, outcomes, functions[0]->ret_count);
}

/* TensorFlow's truth of a scalar: numbers are true unless 0.
 * If of TensorFlow accepts any scalar type; HLO's conditional wants a pred. */
static expr_t truth(tf_op_t *op, expr_t x) {
  if (!x || x->shape->dtype == HR_PRED) return x;
  return e_ne(op->b, x, e_number(op->b, 0, x));
}

/* A branch of a known condition is executed inline.
 * Attributes then_branch and else_branch; input 0 is cond. Inlining keeps shapes static that
 * differ between the branches. A float constant goes the general way, as its truth is not that
 * of an integer. */
hr_status_t tf_lower_if(tf_op_t *op) {
  const tf_body_t *functions[2];
  hlo_value_t *known;
  tf_value_t *values;
  int count;
  HR_TRY(function_of_attr(op, "then_branch", &functions[0]));
  HR_TRY(function_of_attr(op, "else_branch", &functions[1]));
  HR_TRY(tf_const_if_known(op, 0, &known));
  if (!known || hr_dtype_is_float(known->dtype))
    return build_conditional(op, truth(op, tf_in(op, 0)), 2, functions);
  HR_TRY(input_values(op, 1, &count, &values));
  return call_function(op, functions[hlo_value_int_at(known, 0) ? 0 : 1], count, values);
}

/* Input 0 is branch_index, an s32 scalar. An index outside [0, n) selects the last branch. */
hr_status_t tf_lower_case(tf_op_t *op) {
  hr_str_t *names;
  const tf_body_t **functions;
  hlo_value_t *known;
  tf_value_t *values;
  int branch_count, count;
  HR_TRY(tf_attr_functions(op->arena, op->node, "branches", &branch_count, &names));
  if (branch_count < 1) return tf_error(op, "there are no branches");
  HR_TRY(HR_NEW_ARRAY(op->arena, branch_count, &functions));
  for (int i = 0; i < branch_count; i++) HR_TRY(find_function(op, names[i], &functions[i]));
  HR_TRY(tf_const_if_known(op, 0, &known));
  if (!known) return build_conditional(op, tf_in(op, 0), branch_count, functions);
  int64_t index = hlo_value_int_at(known, 0);
  if (index < 0 || index >= branch_count) index = branch_count - 1;
  HR_TRY(input_values(op, 1, &count, &values));
  return call_function(op, functions[index], count, values);
}

/* --- loops --- */

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
static hr_status_t next_state(tf_op_t *op, hlo_builder_t *b, const packing_t *packing,
                              const tf_value_t *inside, tf_value_t *results, expr_t *out_state) {
  for (int i = 0; i < packing->count; i++) {
    int slot = packing->slots[i];
    if (slot < 0) continue;
    expr_t next = packing->values[i].kind == TF_VALUE_RESOURCE
                      ? take_written(packing, i, inside)
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
static hr_status_t build_loop_body(tf_op_t *op, const tf_loop_t *loop, const packing_t *packing,
                                   const hlo_shape_t *shape, hlo_computation_t **out_computation) {
  hlo_builder_t b;
  tf_value_t *inside, *results;
  expr_t *state;
  HR_TRY(HR_NEW_ARRAY(op->arena, packing->count, &inside));
  HR_TRY(HR_NEW_ARRAY(op->arena, packing->count, &results));
  HR_TRY(HR_NEW_ARRAY(op->arena, packing->slot_count, &state));
  HR_TRY(tf_computation_begin(op->scope->compiler, "loop_body", &b));
  HR_TRY(unpack_values(op, &b, packing, hlo_build_parameter(&b, 0, shape), inside));
  HR_TRY(tf_states_enter(op, packing->count, inside));
  HR_TRY(loop->body(loop->context, op, &b, inside, results));
  HR_TRY(next_state(op, &b, packing, inside, results, state));
  *out_computation = b.computation;
  return tf_computation_end(op->scope->compiler, &b,
                            hlo_build_tuple(&b, packing->slot_count, state));
}

/* Computation (state) -> pred. It sees copies of the resources; its writes to them are lost. */
static hr_status_t build_loop_condition(tf_op_t *op, const tf_loop_t *loop,
                                        const packing_t *packing, const hlo_shape_t *shape,
                                        hlo_computation_t **out_computation) {
  hlo_builder_t b;
  tf_value_t *inside, result;
  HR_TRY(HR_NEW_ARRAY(op->arena, packing->count, &inside));
  HR_TRY(tf_computation_begin(op->scope->compiler, "loop_condition", &b));
  HR_TRY(unpack_values(op, &b, packing, hlo_build_parameter(&b, 0, shape), inside));
  HR_TRY(loop->condition(loop->context, op, &b, inside, &result));
  expr_t pred = tf_value_instr(op->scope->compiler, &b, &result);
  if (pred && pred->shape->dtype != HR_PRED)
    pred = e_ne(&b, pred, hlo_build_number_like(&b, 0, pred));
  *out_computation = b.computation;
  return tf_computation_end(op->scope->compiler, &b, pred);
}

/* Values after the loop: elements of the state, or the constants that never changed.
 * Resources of the caller get the values that the last iteration gave to their copies. */
static hr_status_t set_loop_results(const packing_t *packing, expr_t state, hlo_builder_t *b,
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
      take_counts(b, packing, i, state, &out_values[i]);
    }
  }
  return hlo_builder_finish(b);
}

/* Stacks and lists without a bound have room for all iterations, and keep their size inside. */
static void set_grows(int count, tf_value_t *values, const bool *grows) {
  for (int i = 0; i < count; i++) {
    if (values[i].kind == TF_VALUE_LIST) values[i].list_grows = grows && grows[i];
    if (values[i].kind == TF_VALUE_RESOURCE) values[i].resource->grows = grows && grows[i];
  }
}

static hr_status_t find_grows(tf_op_t *op, int count, const tf_value_t *values, bool **out_grows) {
  HR_TRY(HR_NEW_ARRAY(op->arena, count, out_grows));
  for (int i = 0; i < count; i++)
    (*out_grows)[i] =
        values[i].kind == TF_VALUE_RESOURCE ? values[i].resource->grows : values[i].list_grows;
  return NULL;
}

/* A list that the loop has filled loses its count, so that its size is static again. */
static hr_status_t settle_counts(tf_op_t *op, int count, tf_value_t *values) {
  hlo_value_t *known;
  for (int i = 0; i < count; i++) {
    if (values[i].kind != TF_VALUE_LIST || !values[i].count || !values[i].list_writes) continue;
    HR_TRY(tf_loop_result(op->scope->compiler, values[i].count, &known));
    if (known && hlo_value_int_at(known, 0) == values[i].list_size) values[i].count = NULL;
  }
  return NULL;
}

/* Condition and body are built after packing, as they need the final shape of the state. */
static hr_status_t build_loop(tf_op_t *op, const tf_loop_t *loop, tf_value_t *values,
                              tf_value_t *out_values) {
  packing_t packing;
  const hlo_shape_t *shape;
  hlo_computation_t *called[2];
  bool *grows;
  HR_TRY(tf_try_loop(op, loop, values));
  HR_TRY(find_grows(op, loop->count, values, &grows));
  set_grows(loop->count, values, NULL);
  HR_TRY(pack_values(op, loop->count, values, loop->keep, &packing));
  HR_TRY(tuple_shape(op, &packing, &shape));
  HR_TRY(build_loop_condition(op, loop, &packing, shape, &called[0]));
  HR_TRY(build_loop_body(op, loop, &packing, shape, &called[1]));
  expr_t init = hlo_build_tuple(op->b, packing.slot_count, packing.instrs);
  hlo_attr_t attrs[] = {hlo_attr_of_called(HLO_ATTR_CONDITION, 1),
                        hlo_attr_of_called(HLO_ATTR_BODY, 1)};
  expr_t state = hlo_build(op->b, HLO_WHILE, shape, 1, &init, 2, attrs, 2, called);
  HR_TRY(set_loop_results(&packing, state, op->b, out_values));
  HR_TRY(settle_counts(op, loop->count, out_values));
  set_grows(loop->count, out_values, grows);
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
static hr_status_t build_surveyed(tf_op_t *op, const tf_loop_t *loop, const tf_value_t *before,
                                  const bool *grows, tf_value_t *values, tf_value_t *out_values) {
  memcpy(values, before, (size_t)loop->count * sizeof *values);
  set_grows(loop->count, values, grows);
  HR_TRY(tf_survey_loop(op, loop, values));
  return build_loop(op, loop, values, out_values);
}

/* The bound of an inner loop may follow only from the states of this loop: then the first attempt
 * fails. */
hr_status_t tf_build_loop(tf_op_t *op, const tf_loop_t *loop, tf_value_t *values,
                          tf_value_t *out_values) {
  tf_value_t *before;
  bool *grows;
  tf_compiler_t *compiler = op->scope->compiler;
  tf_states_t states = {.up = compiler->states, .is_loop = true, .count = loop->count};
  int depth = compiler->depth;
  HR_TRY(keep_constants(op, loop->count, values, loop->keep));
  HR_TRY(HR_NEW_ARRAY(op->arena, loop->count, &before));
  memcpy(before, values, (size_t)loop->count * sizeof *values);
  HR_TRY(find_grows(op, loop->count, values, &grows));
  compiler->states = &states;
  hr_status_t st = build_loop(op, loop, values, out_values);
  if (st && states.is_wanted && !compiler->is_survey) {
    hr_status_release(st);
    compiler->depth = depth;
    compiler->states = &states;
    st = build_surveyed(op, loop, before, grows, values, out_values);
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
  HR_TRY(function_of_attr(op, "cond", &functions.cond));
  HR_TRY(function_of_attr(op, "body", &functions.body));
  HR_TRY(input_values(op, 0, &count, &values));
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
