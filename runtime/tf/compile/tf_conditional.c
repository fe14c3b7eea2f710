/* If and Case, and their stateless forms, as HLO's conditional. A branch returns its results and
 * the values of all resources, as XlaCompiler's XlaIf(cond, inputs) does, so that the signatures of
 * all branches agree. A branch of a condition that is known at compile time is executed inline. */
#include "tf/compile/tf_call.h"
#include "tf/lower/tf_list.h"
#include "tf/lower/tf_optional.h"
#include "tf/compile/tf_packing.h"
#include "tf/compile/tf_trips.h"
#include "tf/compile/tf_while.h"

/* A branch in execution: its computation, and its results by number. */
typedef struct branch {
  hlo_builder_t b;
  tf_value_t *inside, *results;
} branch_t;

/* One result, over all branches. */
typedef struct branch_result {
  tf_value_t like;          /* the result in a branch that has it; kind NONE: no branch has */
  bool has_count;           /* a list with a count of its own */
  const hlo_shape_t *shape; /* shape of an array, with room for that of each branch */
  hlo_value_t *constant;    /* integers that all branches give, such as sizes; NULL: none */
} branch_result_t;

/* The states of the loop around the branch, by the branch's own values. */
static hr_status_t enter_branch(tf_op_t *op, const tf_packing_t *packing, const tf_value_t *inside,
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
static hr_status_t open_branch(tf_op_t *op, const tf_body_t *function, const tf_packing_t *packing,
                               const hlo_shape_t *shape, branch_t *out) {
  HR_TRY(HR_NEW_ARRAY(op->arena, packing->count, &out->inside));
  HR_TRY(HR_NEW_ARRAY(op->arena, function->ret_count, &out->results));
  HR_TRY(tf_computation_begin(op->scope->compiler, "branch", &out->b));
  expr_t parameter = hlo_build_parameter(&out->b, 0, shape);
  HR_TRY(tf_unpack_values(op, &out->b, packing, parameter, out->inside));
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

static hr_status_t merge_constant(tf_op_t *op, const tf_value_t *result, bool is_first,
                                  branch_result_t *out) {
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
static hr_status_t merge_result(tf_op_t *op, branch_t *branch, tf_value_t *result,
                                branch_result_t *out) {
  const tf_alternatives_t *all = out->like.alternatives;
  if (result->kind == TF_VALUE_NONE) return NULL;
  result->instr = tf_value_instr(op->scope->compiler, &branch->b, result);
  HR_TRY(hlo_builder_finish(&branch->b));
  if (!result->instr) return tf_unsupported(op, "a result of a branch is no array");
  for (const tf_alternatives_t *at = result->alternatives; at; at = at->rest)
    HR_TRY(tf_alternatives_add(op->arena, at->shape, &all));
  out->has_count |= result->kind == TF_VALUE_LIST && result->count;
  const tf_value_t before = out->like;
  HR_TRY(merge_constant(op, result, before.kind == TF_VALUE_NONE, out));
  if (result->kind == TF_VALUE_ARRAY)
    HR_TRY(tf_shape_join(op->arena, out->shape ? out->shape : result->instr->shape,
                         result->instr->shape, &out->shape));
  out->like = *result;
  out->like.alternatives = all;
  if (result->kind != TF_VALUE_LIST || before.kind != TF_VALUE_LIST) return NULL;
  out->like.list_sparse_write |= before.list_sparse_write;
  if (before.list_size <= result->list_size) return NULL;
  out->like.list_size = before.list_size;
  out->like.instr = before.instr;
  return NULL;
}

/* The common form of each result over all branches. */
static hr_status_t merge_results(tf_op_t *op, const tf_body_t *function, int branch_count,
                                 branch_t *branches, branch_result_t *out) {
  hr_status_t st = NULL;
  for (int i = 0; i < function->ret_count && !st; i++) {
    for (int k = 0; k < branch_count && !st; k++)
      st = merge_result(op, &branches[k], &branches[k].results[i], &out[i]);
    if (st)
      return hr_status_note(st, "in result %d of branch %.*s", i, HR_STR_ARGS(function->name));
  }
  return NULL;
}

/* The result of one branch, in the form that all of them have. */
static expr_t common_form(hlo_builder_t *b, const tf_value_t *result,
                          const branch_result_t *merged) {
  const tf_alternatives_t *all = merged->like.alternatives;
  bool is_none = result->kind == TF_VALUE_NONE;
  if (all && all->rest) return tf_optional_encode(b, is_none ? NULL : result->instr, all);
  const hlo_shape_t *shape = merged->like.instr->shape;
  bool is_shorter = result->kind == TF_VALUE_LIST && result->list_size < merged->like.list_size;
  if (is_shorter) return tf_grow(b, result->instr, merged->like.list_size - result->list_size);
  if (is_none) return tf_fill(b, 0, shape->dtype, shape->rank, shape->dims);
  return merged->shape ? tf_widen(b, result->instr, merged->shape) : result->instr;
}

/* The root: results, each list's count after it, then resources in the order of their slots. */
static hr_status_t close_branch(tf_op_t *op, branch_t *branch, const tf_packing_t *packing,
                                int ret_count, const branch_result_t *merged) {
  hlo_builder_t *b = &branch->b;
  expr_t *roots;
  int count = 0;
  HR_TRY(HR_NEW_ARRAY(op->arena, 2 * ret_count + packing->count, &roots));
  for (int i = 0; i < ret_count; i++) {
    tf_value_t *result = &branch->results[i];
    if (merged[i].like.kind == TF_VALUE_NONE) continue;
    roots[count++] = common_form(b, result, &merged[i]);
    if (!merged[i].has_count) continue;
    roots[count++] = result->count ? result->count : tf_scalar_int(b, result->list_size, HR_S32);
  }
  for (int i = 0; i < packing->count; i++)
    if (packing->values[i].kind == TF_VALUE_RESOURCE && packing->slots[i] >= 0)
      roots[count++] = tf_packed_resource(packing, i, branch->inside);
  return tf_computation_end(op->scope->compiler, b, hlo_build_tuple(b, count, roots));
}

/* Results and new values of resources from the conditional's tuple. Facts about the results of one
 * branch do not hold for the others and are dropped. */
static hr_status_t set_branch_results(tf_op_t *op, const tf_packing_t *packing, expr_t result,
                                      const branch_result_t *merged, int ret_count) {
  int count = 0;
  HR_TRY(tf_need_outputs(op, ret_count));
  for (int i = 0; i < ret_count; i++) {
    if (merged[i].like.kind == TF_VALUE_NONE) continue;
    op->outputs[i] = merged[i].like;
    op->outputs[i].constant = merged[i].constant;
    op->outputs[i].list_pushed = false;
    HR_TRY(tf_forget_lists(op->arena, &op->outputs[i]));
    expr_t element = hlo_build_element(op->b, result, count++);
    op->outputs[i].instr = merged[i].constant ? NULL : element;
    op->outputs[i].count = merged[i].has_count ? hlo_build_element(op->b, result, count++) : NULL;
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
                                  const tf_packing_t *packing, hlo_computation_t **called,
                                  branch_result_t *merged) {
  const hlo_shape_t *shape;
  branch_t *branches;
  int ret_count = functions[0]->ret_count;
  HR_TRY(tf_packing_shape(op, packing, &shape));
  HR_TRY(HR_NEW_ARRAY(op->arena, branch_count, &branches));
  for (int i = 0; i < branch_count; i++) {
    if (functions[i]->ret_count != ret_count)
      return tf_error(op, "branches with %d and %d results", ret_count, functions[i]->ret_count);
    HR_TRY(open_branch(op, functions[i], packing, shape, &branches[i]));
    called[i] = branches[i].b.computation;
  }
  HR_TRY(merge_results(op, functions[0], branch_count, branches, merged));
  for (int i = 0; i < branch_count; i++)
    HR_TRY(close_branch(op, &branches[i], packing, ret_count, merged));
  return NULL;
}

/* Input 0 is the condition or index, the others are passed to every branch. Constants among
 * these are the same in all branches and need no slot. A pred selects by true and false
 * computation; an s32 index by a list of branches, where HLO takes the last branch for an index
 * outside. */
static hr_status_t build_conditional(tf_op_t *op, expr_t index, int branch_count,
                                     const tf_body_t *const *functions) {
  tf_packing_t packing;
  tf_value_t *values;
  bool *keep;
  hlo_computation_t **called;
  branch_result_t *merged;
  expr_t *operands;
  int count;
  HR_TRY(tf_input_values(op, 1, &count, &values));
  HR_TRY(HR_NEW_ARRAY(op->arena, count, &keep));
  for (int i = 0; i < count; i++) keep[i] = true;
  HR_TRY(tf_keep_constants(op, count, values, keep));
  HR_TRY(tf_pack_values(op, count, values, keep, &packing));
  HR_TRY(HR_NEW_ARRAY(op->arena, branch_count, &called));
  HR_TRY(HR_NEW_ARRAY(op->arena, branch_count + 1, &operands));
  HR_TRY(HR_NEW_ARRAY(op->arena, functions[0]->ret_count, &merged));
  HR_TRY(build_branches(op, branch_count, functions, &packing, called, merged));
  expr_t tuple = hlo_build_tuple(op->b, packing.slot_count, packing.instrs);
  operands[0] = index;
  for (int i = 0; i < branch_count; i++) operands[i + 1] = tuple;
  hlo_attr_t two[] = {hlo_attr_of_called(HLO_ATTR_TRUE_COMPUTATION, 1),
                      hlo_attr_of_called(HLO_ATTR_FALSE_COMPUTATION, 1)};
  hlo_attr_t many = hlo_attr_of_called(HLO_ATTR_BRANCH_COMPUTATIONS, branch_count);
  bool is_pred = index && index->shape->dtype == HR_PRED;
  const hlo_attr_t *attrs = is_pred ? two : &many;
  expr_t result = hlo_build(op->b, HLO_CONDITIONAL, called[0]->root->shape, branch_count + 1,
                            operands, is_pred ? 2 : 1, attrs, branch_count, called);
  return set_branch_results(op, &packing, result, merged, functions[0]->ret_count);
}

/* TensorFlow's truth of a scalar: numbers are true unless 0.
 * If of TensorFlow accepts any scalar type; HLO's conditional wants a pred. */
static expr_t truth(tf_op_t *op, expr_t x) {
  if (!x || x->shape->dtype == HR_PRED) return x;
  return f_ne(op->b, x, f_number(op->b, 0, x));
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
  HR_TRY(tf_attr_body(op, "then_branch", &functions[0]));
  HR_TRY(tf_attr_body(op, "else_branch", &functions[1]));
  HR_TRY(tf_const_if_known(op, 0, &known));
  if (!known || hr_dtype_is_float(known->dtype))
    return build_conditional(op, truth(op, tf_in(op, 0)), 2, functions);
  HR_TRY(tf_input_values(op, 1, &count, &values));
  return tf_call_function(op, functions[hlo_value_int_at(known, 0) ? 0 : 1], count, values);
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
  for (int i = 0; i < branch_count; i++) HR_TRY(tf_find_function(op, names[i], &functions[i]));
  HR_TRY(tf_const_if_known(op, 0, &known));
  if (!known) return build_conditional(op, tf_in(op, 0), branch_count, functions);
  int64_t index = hlo_value_int_at(known, 0);
  if (index < 0 || index >= branch_count) index = branch_count - 1;
  HR_TRY(tf_input_values(op, 1, &count, &values));
  return tf_call_function(op, functions[index], count, values);
}
