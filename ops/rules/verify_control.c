/* Constraints of calls, control flow and generic asynchronous ops: arguments against parameters,
 * results against roots, and the chain from async-start over async-update to async-done, which must
 * name one computation. */
#include "ops/query/custom_call_table.h"
#include "ops/rules/constraint.h"

static hr_status_t want_root(const hlo_instr_t *instr, const char *rule,
                             const hlo_computation_t *body, const hlo_shape_t *wanted) {
  OP_WANT(instr, hlo_shape_compatible(body->root->shape, wanted), rule,
          "%%%.*s returns %s, want %s", HR_STR_ARGS(body->name), OP_TEXT(body->root->shape),
          OP_TEXT(wanted));
  return NULL;
}

static hr_status_t check_operands_call(const hlo_instr_t *instr, const hlo_computation_t *body) {
  HR_TRY(op_check_param_count(instr, NULL, body, instr->operand_count));
  for (int k = 0; k < instr->operand_count; k++) {
    const hlo_shape_t *param = body->params.data[k]->shape, *operand = op_operand_shape(instr, k);
    OP_WANT(instr, hlo_shape_compatible(param, operand), NULL,
            "parameter %d of %%%.*s is %s, want %s", k, HR_STR_ARGS(body->name), OP_TEXT(param),
            OP_TEXT(operand));
  }
  return NULL;
}

/* output_to_operand_aliasing: parts of the result that share memory with parts of operands. */
static hr_status_t check_aliasing(const hlo_instr_t *instr) {
  const hlo_attr_t *attr = hlo_attr_find(instr, HLO_ATTR_OUTPUT_TO_OPERAND_ALIASING);
  for (int k = 0; attr && k < attr->aliasing->count; k++) {
    const hlo_alias_t *alias = &attr->aliasing->aliases[k];
    OP_WANT(instr, alias->operand >= 0 && alias->operand < instr->operand_count, NULL,
            "output_to_operand_aliasing names operand %ld, want a value from 0 to below %d",
            (long)alias->operand, instr->operand_count);
    const hlo_shape_t *in =
        hlo_shape_at_path(op_operand_shape(instr, (int)alias->operand), alias->operand_index);
    const hlo_shape_t *out = hlo_shape_at_path(instr->shape, alias->output_index);
    OP_WANT(instr, in && out, NULL,
            "output_to_operand_aliasing %d names an element that the %s does not have", k,
            in ? "result" : "operand");
    OP_WANT(instr, hlo_shape_compatible(hlo_shape_contents(in), hlo_shape_contents(out)), NULL,
            "output_to_operand_aliasing %d puts %s where operand %ld has %s, want equal shapes", k,
            OP_TEXT(out), (long)alias->operand, OP_TEXT(in));
  }
  return NULL;
}

/* call and fusion */
hr_status_t verify_call(const hlo_instr_t *instr) {
  HR_TRY(check_operands_call(instr, op_body_of(instr)));
  HR_TRY(check_aliasing(instr));
  return want_root(instr, NULL, op_body_of(instr), instr->shape);
}

/* The meaning of a custom call is up to its target; its attributes about the operands must be
 * correct. */
hr_status_t verify_custom_call(const hlo_instr_t *instr) {
  const hlo_attr_t *layouts = hlo_attr_find(instr, HLO_ATTR_OPERAND_LAYOUT_CONSTRAINTS);
  HR_TRY(check_aliasing(instr));
  if (op_custom_call_is_marker(instr)) HR_TRY(op_custom_call_check_marker(instr));
  if (!layouts) return NULL;
  OP_WANT(instr, layouts->shapes->count == instr->operand_count, NULL,
          "operand_layout_constraints lists %d shapes, want %d", layouts->shapes->count,
          instr->operand_count);
  for (int k = 0; k < instr->operand_count; k++)
    OP_WANT(instr, hlo_shape_compatible(layouts->shapes->shapes[k], op_operand_shape(instr, k)),
            NULL, "operand_layout_constraints has %s for operand %d, want %s",
            OP_TEXT(layouts->shapes->shapes[k]), k, OP_TEXT(op_operand_shape(instr, k)));
  return NULL;
}

hr_status_t verify_while(const hlo_instr_t *instr) {
  const hlo_computation_t *condition = op_called(instr, HLO_ATTR_CONDITION),
                          *body = op_called(instr, HLO_ATTR_BODY);
  const hlo_shape_t *state = op_operand_shape(instr, 0);
  HR_TRY(op_check_call(instr, "C1", condition, 1, &state));
  HR_TRY(want_root(instr, "C1", condition, hlo_shape_scalar(HR_PRED)));
  HR_TRY(op_check_call(instr, "C2", body, 1, &state));
  return want_root(instr, "C2", body, state);
}

static hr_status_t check_branch_index(const hlo_instr_t *instr) {
  const hlo_shape_t *index = op_operand_shape(instr, 0);
  bool is_pred = index->dtype == HR_PRED;
  bool listed = hlo_attr_has(instr, HLO_ATTR_BRANCH_COMPUTATIONS);
  OP_WANT(instr, hlo_shape_is_scalar(index) && (is_pred || index->dtype == HR_S32), "I1",
          "operand 0 is %s, want pred[] or s32[]", OP_TEXT(index));
  OP_WANT(instr, listed != is_pred, NULL, "operand 0 is %s, want %s", OP_TEXT(index),
          listed ? "s32[] for branch_computations"
                 : "pred[] for true_computation and false_computation");
  OP_WANT(
      instr,
      listed || (hlo_attr_has(instr, HLO_ATTR_TRUE_COMPUTATION) &&
                 hlo_attr_has(instr, HLO_ATTR_FALSE_COMPUTATION)),
      NULL, "%s is missing",
      hlo_attr_has(instr, HLO_ATTR_TRUE_COMPUTATION) ? "false_computation" : "true_computation");
  return NULL;
}

hr_status_t verify_conditional(const hlo_instr_t *instr) {
  HR_TRY(check_branch_index(instr));
  OP_WANT(instr, instr->operand_count == instr->called_count + 1, NULL,
          "%d operands for %d branches, want the index and one for each branch",
          instr->operand_count, instr->called_count);
  for (int b = 0; b < instr->called_count; b++) {
    const hlo_shape_t *argument = op_operand_shape(instr, b + 1);
    HR_TRY(op_check_call(instr, op_is_if(instr) ? "C1" : "C2", instr->called[b], 1, &argument));
    HR_TRY(want_root(instr, op_is_if(instr) ? "C2" : "C3", instr->called[b], instr->shape));
  }
  return NULL;
}

/* ---- asynchronous ops ---- */

hr_status_t verify_async_start(const hlo_instr_t *instr) {
  const hlo_shape_t *shape = instr->shape;
  HR_TRY(check_operands_call(instr, op_body_of(instr)));
  OP_WANT(instr,
          hlo_shape_is_tuple(shape) && shape->element_count >= 2 &&
              hlo_shape_is_tuple(shape->elements[0]),
          NULL, "declared as %s, want ((operands), result, ...)", OP_TEXT(shape));
  const hlo_shape_t *operands = shape->elements[0];
  bool fits = operands->element_count == instr->operand_count;
  for (int k = 0; fits && k < instr->operand_count; k++)
    fits = hlo_shape_compatible(operands->elements[k], op_operand_shape(instr, k));
  OP_WANT(instr, fits, NULL, "declared with operands %s, want the shapes of the operands",
          OP_TEXT(operands));
  return want_root(instr, NULL, op_body_of(instr), shape->elements[1]);
}

hr_status_t verify_async_update(const hlo_instr_t *instr) {
  const hlo_instr_t *previous = instr->operands[0];
  OP_WANT(instr, previous->op == HLO_ASYNC_START || previous->op == HLO_ASYNC_UPDATE, NULL,
          "operand 0 is the %s %%%.*s, want an async-start or async-update",
          hlo_op_name(previous->op), HR_STR_ARGS(previous->name));
  const hlo_computation_t *calls = op_called(instr, HLO_ATTR_CALLS),
                          *started = op_called(previous, HLO_ATTR_CALLS);
  OP_WANT(instr, !calls || !started || calls == started, NULL,
          "calls %%%.*s, want %%%.*s as %%%.*s does", HR_STR_ARGS(calls->name),
          HR_STR_ARGS(started->name), HR_STR_ARGS(previous->name));
  hr_str_t thread = hlo_attr_str(instr, HLO_ATTR_ASYNC_EXECUTION_THREAD);
  hr_str_t wanted = hlo_attr_str(previous, HLO_ATTR_ASYNC_EXECUTION_THREAD);
  OP_WANT(instr, !thread.size || !wanted.size || hr_str_equal(thread, wanted), NULL,
          "async_execution_thread \"%.*s\", want \"%.*s\"", HR_STR_ARGS(thread),
          HR_STR_ARGS(wanted));
  return NULL;
}

hr_status_t verify_async_done(const hlo_instr_t *instr) { return verify_async_update(instr); }
