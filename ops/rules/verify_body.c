/* Constraints of ops that apply a computation to elements, windows or slices: parameters and
 * results of the body against the operands. Inference has checked the operands' ranks, sizes and
 * counts. Reducers may work on wider types than the operands have (is_promotable in the
 * specification). */
#include "ops/rules/constraint.h"

/* Conditions, comparators and selections return pred[]. */
static hr_status_t want_pred_result(const hlo_instr_t *instr, const char *rule,
                                    const hlo_computation_t *body) {
  const hlo_shape_t *result = body->root->shape;
  OP_WANT(instr, hlo_shape_is_scalar(result) && result->dtype == HR_PRED, rule,
          "%%%.*s returns %s, want pred[]", HR_STR_ARGS(body->name), OP_TEXT(result));
  return NULL;
}

/* C4: one scalar parameter per operand, of its element type; the result's type follows from the
 * body. */
hr_status_t verify_map(const hlo_instr_t *instr) {
  const hlo_computation_t *body = op_body_of(instr);
  HR_TRY(op_check_param_count(instr, "C4", body, instr->operand_count));
  for (int k = 0; k < instr->operand_count; k++)
    HR_TRY(op_check_scalar_param(instr, "C4", body, k, op_operand_shape(instr, k)->dtype));
  return NULL;
}

/* Checks the body of an op whose first `count` operands are reduced. */
static hr_status_t check_reducer_of(const hlo_instr_t *instr, const char *rule, int count) {
  const hlo_computation_t *body = op_body_of(instr);
  hr_arena_t arena;
  const hlo_shape_t **in;
  hr_arena_init(&arena);
  hr_status_t st = op_operand_shapes(&arena, instr, &in);
  if (!st) st = op_check_reducer(instr, rule, body, count, in);
  hr_arena_deinit(&arena);
  return st;
}

hr_status_t verify_reduce(const hlo_instr_t *instr) {
  return check_reducer_of(instr, "C6", instr->operand_count / 2);
}

hr_status_t verify_reduce_window(const hlo_instr_t *instr) {
  return check_reducer_of(instr, "C13", instr->operand_count / 2);
}

hr_status_t verify_scatter(const hlo_instr_t *instr) {
  return check_reducer_of(instr, "C23", instr->operand_count / 2);
}

/* Checks that the sizes of `source` are the numbers of windows. */
static hr_status_t check_source(const hlo_instr_t *instr, const hlo_shape_t *operand,
                                const hlo_shape_t *source) {
  const hlo_window_t *window = hlo_attr_window(instr);
  for (int d = 0; d < operand->rank; d++) {
    int64_t windows;
    OP_WANT(instr, op_window_count(&window->dims[d], operand->dims[d], &windows), "C2",
            "window sizes overflow");
    OP_WANT(instr,
            source->dims[d] == windows || op_is_dynamic(operand, d) || op_is_dynamic(source, d),
            "C2", "the source is %s, want size %ld in dimension %d, the number of windows",
            OP_TEXT(source), (long)windows, d);
  }
  return NULL;
}

/* The source has one element per window of the operand; select compares two elements of the
 * operand, scatter combines source elements. */
hr_status_t verify_select_and_scatter(const hlo_instr_t *instr) {
  static const op_window_rules_t rules = {"C4", "C5", "C7", NULL, NULL, false};
  const hlo_shape_t *operand = op_operand_shape(instr, 0), *source = op_operand_shape(instr, 1);
  const hlo_shape_t *init = op_operand_shape(instr, 2);
  const hlo_computation_t *select = op_called(instr, HLO_ATTR_SELECT),
                          *scatter = op_called(instr, HLO_ATTR_SCATTER);
  HR_TRY(op_want_array(instr, source, 1, "I2"));
  HR_TRY(op_want_scalar(instr, init, "the initial value", "I3"));
  OP_WANT(instr, source->dtype == operand->dtype, "C1",
          "the source has elements of type %s, want %s", hr_dtype_name(source->dtype),
          hr_dtype_name(operand->dtype));
  OP_WANT(instr, init->dtype == operand->dtype, "C3", "the initial value has type %s, want %s",
          hr_dtype_name(init->dtype), hr_dtype_name(operand->dtype));
  HR_TRY(op_check_window(instr, &rules, operand->rank));
  OP_WANT(instr, source->rank == operand->rank, "C2", "the source is %s, want %d dimensions",
          OP_TEXT(source), operand->rank);
  HR_TRY(check_source(instr, operand, source));
  HR_TRY(op_check_param_count(instr, "C9", select, 2));
  for (int k = 0; k < 2; k++) HR_TRY(op_check_scalar_param(instr, "C9", select, k, operand->dtype));
  HR_TRY(want_pred_result(instr, "C9", select));
  return op_check_reducer(instr, "C10", scatter, 1, &operand);
}

/* C5: the comparator has two parameters per operand, side by side. */
hr_status_t verify_sort(const hlo_instr_t *instr) {
  const hlo_computation_t *comparator = op_body_of(instr);
  HR_TRY(op_check_param_count(instr, "C5", comparator, 2 * instr->operand_count));
  for (int k = 0; k < 2 * instr->operand_count; k++)
    HR_TRY(
        op_check_scalar_param(instr, "C5", comparator, k, op_operand_shape(instr, k / 2)->dtype));
  return want_pred_result(instr, "C5", comparator);
}

/* True if `slice` is the shape of `whole` without a dimension. */
static bool is_slice_of(const hlo_shape_t *slice, const hlo_shape_t *whole, int64_t dimension) {
  if (slice->dtype != whole->dtype || slice->rank != whole->rank - 1) return false;
  for (int d = 0; d < slice->rank; d++)
    if (!op_dims_agree(slice, d, whole, d < dimension ? d : d + 1)) return false;
  return true;
}

/* XLA's scan: inputs are sliced along the dimension, carries keep their shape through every
 * step, and are the last results of the body. */
hr_status_t verify_scan(const hlo_instr_t *instr) {
  const hlo_computation_t *body = op_body_of(instr);
  int carries = (int)hlo_attr_int(instr, HLO_ATTR_NUM_CARRIES),
      inputs = instr->operand_count - carries;
  int64_t dimension = hlo_attr_ints(instr, HLO_ATTR_DIMENSIONS).data[0];
  const hlo_shape_t *root = body->root->shape;
  int results = hlo_shape_is_tuple(root) ? root->element_count : 1;
  HR_TRY(op_check_param_count(instr, NULL, body, instr->operand_count));
  for (int k = 0; k < instr->operand_count; k++) {
    const hlo_shape_t *param = body->params.data[k]->shape, *operand = op_operand_shape(instr, k);
    bool fits =
        k < inputs ? is_slice_of(param, operand, dimension) : hlo_shape_compatible(param, operand);
    OP_WANT(instr, fits, NULL, "parameter %d of %%%.*s is %s, want %s %s", k,
            HR_STR_ARGS(body->name), OP_TEXT(param), k < inputs ? "a slice of" : "the carry",
            OP_TEXT(operand));
    OP_WANT(instr,
            k >= inputs || op_dims_agree(operand, dimension, op_operand_shape(instr, 0), dimension),
            NULL, "input %d is %s, want as many steps as %s", k, OP_TEXT(operand),
            OP_TEXT(op_operand_shape(instr, 0)));
  }
  for (int c = 0; c < carries; c++) {
    const hlo_shape_t *carry = op_operand_shape(instr, inputs + c);
    const hlo_shape_t *result =
        hlo_shape_is_tuple(root) ? root->elements[results - carries + c] : root;
    OP_WANT(instr, hlo_shape_compatible(result, carry), NULL,
            "%%%.*s returns carry %d as %s, want %s", HR_STR_ARGS(body->name), c, OP_TEXT(result),
            OP_TEXT(carry));
  }
  return NULL;
}
