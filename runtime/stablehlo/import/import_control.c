/* Calls, composites, loops and branches. Regions become computations of one tuple parameter;
 * captured values, which regions use from outside, are further elements of it, as HLO computations
 * see only their parameters:
 *
 *   while(%i = %a) cond {.. %n ..}     while(tuple(%a, %n)), condition=(s32, s32) -> pred, ...
 *   if %p {.. %n ..} else {..}         conditional(%p, tuple(%n), tuple(%n))
 *
 * A function without a body becomes a custom call of its name with the '@', which is not a name of
 * any target. Feeds and channels are in import_channel.c, custom calls in import_custom_call.c. */
#include <string.h>

#include "ir/frontend_attributes.h"
#include "stablehlo/import/import.h"

/* A call of a function without a body: a custom call of its name with the '@', which is not a name
 * of any target. */
static hr_status_t build_external_call(import_scope_t *scope, mlir_op_t *op, hr_str_t callee) {
  const char *target;
  hlo_instr_t **operands;
  const hlo_shape_t *shape;
  import_attrs_t attrs = {.count = 0};
  HR_TRY(hr_arena_printf(scope->importer->arena, &target, "@%.*s", HR_STR_ARGS(callee)));
  HR_TRY(import_operands(scope, op, &operands));
  HR_TRY(import_results_shape(scope, op, &shape));
  import_add(&attrs, hlo_attr_of_str(HLO_ATTR_CUSTOM_CALL_TARGET, hr_str_from(target)));
  import_add(&attrs, hlo_attr_of_bool(HLO_ATTR_CUSTOM_CALL_HAS_SIDE_EFFECT, true));
  return import_set_results(scope, op,
                            hlo_build(&scope->builder, HLO_CUSTOM_CALL, shape, op->operand_count,
                                      operands, attrs.count, attrs.items, 0, NULL));
}

/* A call, or a custom call for a function without a body. */
static hr_status_t build_call(import_scope_t *scope, mlir_op_t *op, hr_str_t callee,
                              bool composite) {
  hlo_computation_t *called;
  hlo_instr_t **operands;
  const hlo_shape_t *shape;
  import_attrs_t attrs = {.count = 0};
  const import_function_t *function = hr_map_get(&scope->importer->functions, callee);
  if (function && !import_block_of(function->op, 0)) return build_external_call(scope, op, callee);
  HR_TRY(import_function_named(scope, op, callee, &called));
  HR_TRY(import_operands(scope, op, &operands));
  HR_TRY(import_results_shape(scope, op, &shape));
  import_add(&attrs, hlo_attr_of_called(HLO_ATTR_TO_APPLY, 1));
  if (composite) import_add(&attrs, hlo_attr_of_bool(HLO_ATTR_IS_COMPOSITE, true));
  return import_set_results(scope, op,
                            hlo_build(&scope->builder, HLO_CALL, shape, op->operand_count, operands,
                                      attrs.count, attrs.items, 1, &called));
}

/* func.call: HLO's call of a computation. */
hr_status_t import_call(import_scope_t *scope, mlir_op_t *op, const import_row_t *row) {
  (void)row;
  return build_call(scope, op, import_str(op, "callee"), false);
}

/* Adds name, attributes and version of a composite as frontend attributes, in sorted order. */
static hr_status_t add_composite_names(import_scope_t *scope, const mlir_op_t *op) {
  const hlo_extra_t *given = scope->builder.extra;
  int count = given ? given->frontend_attributes.count : 0;
  int at = 0;
  const char *version;
  hlo_name_value_t *items;
  hlo_name_value_t own[3] = {{HR_STR("composite.attributes"), HR_STR("{}"), true},
                             {HR_STR("composite.name"), import_str(op, "name"), false},
                             {HR_STR("composite.version"), {0}, false}};
  hlo_extra_t *extra;
  const mlir_attr_t *dict = mlir_op_attr(op, "composite_attributes");
  if (dict) HR_TRY(import_attr_text(scope, dict, &own[0].value));
  HR_TRY(hr_arena_str(scope->importer->arena, own[1].value, &own[1].value));
  HR_TRY(
      hr_arena_printf(scope->importer->arena, &version, "%ld", (long)import_int(op, "version", 0)));
  own[2].value = hr_str_from(version);
  HR_TRY(HR_NEW(scope->importer->arena, &extra));
  HR_TRY(HR_NEW_ARRAY(scope->importer->arena, count + 3, &items));
  for (int i = 0; i < 3; i++) items[at++] = own[i];
  for (int i = 0; i < count; i++) {
    const hlo_name_value_t *item = &given->frontend_attributes.items[i];
    int index = at++;
    for (; index > 0 && hlo_name_comes_before(item->name, items[index - 1].name); index--)
      items[index] = items[index - 1];
    items[index] = *item;
  }
  if (given) *extra = *given;
  extra->frontend_attributes = (hlo_name_values_t){at, items};
  scope->builder.extra = extra;
  return NULL;
}

/* A composite is a call of its decomposition; its name and attributes are kept on the call. */
hr_status_t import_composite(import_scope_t *scope, mlir_op_t *op, const import_row_t *row) {
  (void)row;
  HR_TRY(add_composite_names(scope, op));
  return build_call(scope, op, import_str(op, "decomposition"), true);
}

/* The tuple of a loop or branch: operands from `first` on, then captured values. */
static hr_status_t pack_state(import_scope_t *scope, const mlir_op_t *op, int first,
                              const import_values_t *captured, hlo_instr_t **out_tuple) {
  int state_count = op->operand_count - first;
  int count = state_count + (int)captured->count;
  hlo_instr_t **elements;
  HR_TRY(HR_NEW_ARRAY(scope->importer->arena, count, &elements));
  for (int k = 0; k < state_count; k++) elements[k] = import_operand(op, first + k);
  for (size_t i = 0; i < captured->count; i++)
    elements[state_count + (int)i] = captured->data[i]->mapped;
  for (int k = 0; k < count; k++)
    if (!elements[k])
      return import_error(scope, op, "it uses a value that is not defined before it");
  *out_tuple = hlo_build_tuple(&scope->builder, count, elements);
  return NULL;
}

/* Shapes of results and captured values as a tuple. Sizes may be dynamic in the results and static
 * in the operands, so that the operands' shapes cannot be used. */
static hr_status_t packed_shape(import_scope_t *scope, const mlir_op_t *op,
                                const import_values_t *captured, const hlo_shape_t **out_shape) {
  int count = op->result_count + (captured ? (int)captured->count : 0);
  const hlo_shape_t **shapes;
  HR_TRY(HR_NEW_ARRAY(scope->importer->arena, count, &shapes));
  for (int i = 0; i < op->result_count; i++) HR_TRY(import_result_shape(scope, op, i, &shapes[i]));
  for (int i = op->result_count; i < count; i++)
    shapes[i] = ((hlo_instr_t *)captured->data[i - op->result_count]->mapped)->shape;
  return hlo_shape_tuple(scope->importer->arena, count, shapes, out_shape);
}

/* Captured values of condition and body are elements of the state, each once. */
static hr_status_t import_while_with(import_scope_t *scope, mlir_op_t *op,
                                     import_values_t *captured) {
  hlo_computation_t *called[2];
  hlo_instr_t *state;
  const hlo_shape_t *shape;
  import_attrs_t attrs = {.count = 0};
  if (op->region_count != 2) return import_error(scope, op, "want a condition and a body");
  HR_TRY(import_captures(op->regions[0], captured));
  HR_TRY(import_captures(op->regions[1], captured));
  HR_TRY(pack_state(scope, op, 0, captured, &state));
  HR_TRY(packed_shape(scope, op, captured, &shape));
  HR_TRY(import_region(scope, op, 0, &(import_region_form_t){captured, false, true}, &called[0]));
  HR_TRY(import_region(scope, op, 1, &(import_region_form_t){captured, true, false}, &called[1]));
  import_add(&attrs, hlo_attr_of_called(HLO_ATTR_CONDITION, 1));
  import_add(&attrs, hlo_attr_of_called(HLO_ATTR_BODY, 1));
  return import_set_tuple_results(
      scope, op,
      hlo_build(&scope->builder, HLO_WHILE, shape, 1, &state, attrs.count, attrs.items, 2, called));
}

/* Captured values of the regions become further elements of the state; `captured` collects them. */
hr_status_t import_while(import_scope_t *scope, mlir_op_t *op, const import_row_t *row) {
  (void)row;
  import_values_t captured = {0};
  hr_status_t st = import_while_with(scope, op, &captured);
  import_values_deinit(&captured);
  return st;
}

/* Each branch has the captured values as its only parameter; StableHLO's branches have no
 * arguments. */
static hr_status_t import_branches(import_scope_t *scope, mlir_op_t *op, bool is_pred,
                                   import_values_t *captured) {
  hlo_computation_t **called;
  hlo_instr_t **operands, *state;
  const hlo_shape_t *shape;
  import_attrs_t attrs = {.count = 0};
  int count = op->region_count;
  if (count < 1 || (is_pred && count != 2)) return import_error(scope, op, "%d branches", count);
  HR_TRY(HR_NEW_ARRAY(scope->importer->arena, count, &called));
  HR_TRY(HR_NEW_ARRAY(scope->importer->arena, count + 1, &operands));
  for (int r = 0; r < count; r++) HR_TRY(import_captures(op->regions[r], captured));
  HR_TRY(pack_state(scope, op, 1, captured, &state));
  HR_TRY(packed_shape(scope, op, NULL, &shape));
  operands[0] = import_operand(op, 0);
  for (int r = 0; r < count; r++) {
    HR_TRY(
        import_region(scope, op, r, &(import_region_form_t){captured, false, false}, &called[r]));
    operands[r + 1] = state;
  }
  if (is_pred) {
    import_add(&attrs, hlo_attr_of_called(HLO_ATTR_TRUE_COMPUTATION, 1));
    import_add(&attrs, hlo_attr_of_called(HLO_ATTR_FALSE_COMPUTATION, 1));
  } else {
    import_add(&attrs, hlo_attr_of_called(HLO_ATTR_BRANCH_COMPUTATIONS, count));
  }
  return import_set_tuple_results(scope, op,
                                  hlo_build(&scope->builder, HLO_CONDITIONAL, shape, count + 1,
                                            operands, attrs.count, attrs.items, count, called));
}

/* The list of captured values is freed here, after errors too. */
static hr_status_t import_choice(import_scope_t *scope, mlir_op_t *op, bool is_pred) {
  import_values_t captured = {0};
  hr_status_t st = import_branches(scope, op, is_pred, &captured);
  import_values_deinit(&captured);
  return st;
}

/* HLO's conditional is both `if` and `case`, distinguished by the type of its first operand. */
static hr_status_t check_selector(import_scope_t *scope, const mlir_op_t *op, hr_dtype_t dtype,
                                  const char *label) {
  char text[HLO_SHAPE_TEXT];
  const hlo_shape_t *shape = import_operand(op, 0)->shape;
  if (shape->rank == 0 && shape->dtype == dtype) return NULL;
  return import_error(scope, op, "operand 0 is %s, want %s[] (%s I1)", hlo_shape_text(shape, text),
                      hr_dtype_name(dtype), label);
}

/* HLO's conditional by pred: the true branch is the first region on both sides. */
hr_status_t import_if(import_scope_t *scope, mlir_op_t *op, const import_row_t *row) {
  (void)row;
  HR_TRY(check_selector(scope, op, HR_PRED, "if"));
  return import_choice(scope, op, true);
}

/* HLO's conditional by index: an index out of range takes the last branch on both sides. */
hr_status_t import_case(import_scope_t *scope, mlir_op_t *op, const import_row_t *row) {
  (void)row;
  HR_TRY(check_selector(scope, op, HR_S32, "case"));
  return import_choice(scope, op, false);
}
