/* Calls, loops, branches, feeds, channels and custom calls. Regions become computations; values
 * that they use from outside are passed in, as HLO computations see nothing but their parameters.
 * A function that is only declared becomes a custom call of its name with the '@', which no target
 * has. */
#include <string.h>

#include "mlir/text/mlir_print.h"
#include "stablehlo/import/import.h"

/* A function that is only declared: a custom call of its name with the '@', which no target has. */
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

/* A call, or a custom call for a function that is only declared. */
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

hr_status_t import_call(import_scope_t *scope, mlir_op_t *op, const import_row_t *row) {
  (void)row;
  return build_call(scope, op, import_str(op, "callee"), false);
}

static bool comes_before(hr_str_t a, hr_str_t b) {
  int order = memcmp(a.data, b.data, a.size < b.size ? a.size : b.size);
  return order ? order < 0 : a.size < b.size;
}

/* An attribute as the text that HLO keeps: a string is bare, anything else is written out again. */
static hr_status_t attribute_text(import_scope_t *scope, const mlir_attr_t *attr,
                                  hr_str_t *out_text) {
  hr_strbuf_t text;
  if (attr->kind == MLIR_ATTR_STRING)
    return hr_arena_str(scope->importer->arena, attr->text, out_text);
  hr_strbuf_init(&text);
  mlir_print_attr(&text, attr);
  hr_status_t st = hr_strbuf_finish(&text);
  if (!st) st = hr_arena_str(scope->importer->arena, (hr_str_t){text.data, text.size}, out_text);
  hr_strbuf_deinit(&text);
  return st;
}

/* HLO keeps what a composite says of itself as frontend attributes, sorted with the others. */
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
  if (dict) HR_TRY(attribute_text(scope, dict, &own[0].value));
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
    for (; index > 0 && comes_before(item->name, items[index - 1].name); index--)
      items[index] = items[index - 1];
    items[index] = *item;
  }
  if (given) *extra = *given;
  extra->frontend_attributes = (hlo_name_values_t){at, items};
  scope->builder.extra = extra;
  return NULL;
}

hr_status_t import_composite(import_scope_t *scope, mlir_op_t *op, const import_row_t *row) {
  (void)row;
  HR_TRY(add_composite_names(scope, op));
  return build_call(scope, op, import_str(op, "decomposition"), true);
}

/* operands and captured values as one tuple. */
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

/* Shapes of the results, which may leave sizes open that the operands do not, and of captured
 * values, as a tuple. */
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

/* Values from outside that condition or body use ride along in the state. */
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

hr_status_t import_while(import_scope_t *scope, mlir_op_t *op, const import_row_t *row) {
  (void)row;
  import_values_t captured = {0};
  hr_status_t st = import_while_with(scope, op, &captured);
  import_values_deinit(&captured);
  return st;
}

/* Each branch gets the captured values as its one parameter. */
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

static hr_status_t import_choice(import_scope_t *scope, mlir_op_t *op, bool is_pred) {
  import_values_t captured = {0};
  hr_status_t st = import_branches(scope, op, is_pred, &captured);
  import_values_deinit(&captured);
  return st;
}

/* HLO's conditional is both ops, by the type of its first operand. */
static hr_status_t check_selector(import_scope_t *scope, const mlir_op_t *op, hr_dtype_t dtype,
                                  const char *label) {
  char text[HLO_SHAPE_TEXT];
  const hlo_shape_t *shape = import_operand(op, 0)->shape;
  if (shape->rank == 0 && shape->dtype == dtype) return NULL;
  return import_error(scope, op, "operand 0 is %s, want %s[] (%s I1)", hlo_shape_text(shape, text),
                      hr_dtype_name(dtype), label);
}

hr_status_t import_if(import_scope_t *scope, mlir_op_t *op, const import_row_t *row) {
  (void)row;
  HR_TRY(check_selector(scope, op, HR_PRED, "if"));
  return import_choice(scope, op, true);
}

hr_status_t import_case(import_scope_t *scope, mlir_op_t *op, const import_row_t *row) {
  (void)row;
  HR_TRY(check_selector(scope, op, HR_S32, "case"));
  return import_choice(scope, op, false);
}

/* --- feeds and channels: StableHLO lists data and token side by side, HLO pairs them --- */

/* Data of results [0, count - 1), the last being the token. One datum is bare, several are a tuple.
 */
static hr_status_t data_shape(import_scope_t *scope, const mlir_op_t *op,
                              const hlo_shape_t **out_shape) {
  int count = op->result_count - 1;
  const hlo_shape_t **shapes;
  bool is_infeed = hr_str_is(op->name, "stablehlo.infeed");
  if (count < 0)
    return import_error(scope, op, "no results, want a token (%s)",
                        is_infeed ? "infeed C1" : "recv C2");
  if (op->results[count].type->kind != MLIR_TYPE_TOKEN)
    return import_error(scope, op, "the last result is no token (%s)",
                        is_infeed ? "infeed C3" : "recv C4");
  if (count == 1) return import_result_shape(scope, op, 0, out_shape);
  HR_TRY(HR_NEW_ARRAY(scope->importer->arena, count, &shapes));
  for (int i = 0; i < count; i++) HR_TRY(import_result_shape(scope, op, i, &shapes[i]));
  return hlo_shape_tuple(scope->importer->arena, count, shapes, out_shape);
}

/* (data, token) to the op's results. */
static hr_status_t unpack_data(import_scope_t *scope, mlir_op_t *op, hlo_instr_t *pair) {
  hlo_instr_t *data = hlo_build_element(&scope->builder, pair, 0);
  int count = op->result_count - 1;
  for (int i = 0; i < count; i++)
    op->results[i].mapped = count == 1 ? data : hlo_build_element(&scope->builder, data, i);
  op->results[count].mapped = hlo_build_element(&scope->builder, pair, 1);
  return hlo_builder_finish(&scope->builder);
}

static hr_status_t pair_shape(import_scope_t *scope, const hlo_shape_t *data, bool with_context,
                              const hlo_shape_t **out_shape) {
  const hlo_shape_t *parts[3] = {
      data, with_context ? hlo_shape_scalar(HR_U32) : hlo_shape_scalar(HR_TOKEN),
      hlo_shape_scalar(HR_TOKEN)};
  return hlo_shape_tuple(scope->importer->arena, with_context ? 3 : 2, parts, out_shape);
}

/* Tokens are explicit in both dialects. */
hr_status_t import_infeed(import_scope_t *scope, mlir_op_t *op, const import_row_t *row) {
  const hlo_shape_t *data, *shape;
  hlo_instr_t *token = import_operand(op, 0);
  hlo_attr_t config = hlo_attr_of_str(HLO_ATTR_INFEED_CONFIG, import_str(op, "infeed_config"));
  HR_TRY(data_shape(scope, op, &data));
  HR_TRY(pair_shape(scope, data, false, &shape));
  return unpack_data(scope, op,
                     hlo_build(&scope->builder, row->op, shape, 1, &token, config.text.size != 0,
                               &config, 0, NULL));
}

/* Operands but the last as one value. */
static hr_status_t pack_data(import_scope_t *scope, const mlir_op_t *op, hlo_instr_t **out_data,
                             hlo_instr_t **out_token) {
  hlo_instr_t **operands;
  int count = op->operand_count - 1;
  if (count < 0) return import_error(scope, op, "want a token as the last operand");
  HR_TRY(import_operands(scope, op, &operands));
  *out_token = operands[count];
  *out_data = count == 1 ? operands[0] : hlo_build_tuple(&scope->builder, count, operands);
  return NULL;
}

/* Operands as one tuple. */
hr_status_t import_outfeed(import_scope_t *scope, mlir_op_t *op, const import_row_t *row) {
  hlo_instr_t *pair[2];
  import_attrs_t attrs = {.count = 0};
  HR_TRY(pack_data(scope, op, &pair[0], &pair[1]));
  if (op->result_count != 1)
    return import_error(scope, op, "%d results, want a token", op->result_count);
  if (pair[0])
    import_add(&attrs, (hlo_attr_t){.key = HLO_ATTR_OUTFEED_SHAPE, .shape = pair[0]->shape});
  if (import_str(op, "outfeed_config").size)
    import_add(&attrs, hlo_attr_of_str(HLO_ATTR_OUTFEED_CONFIG, import_str(op, "outfeed_config")));
  op->results[0].mapped = hlo_build(&scope->builder, row->op, hlo_shape_scalar(HR_TOKEN), 2, pair,
                                    attrs.count, attrs.items, 0, NULL);
  return hlo_builder_finish(&scope->builder);
}

static void add_channel(import_attrs_t *attrs, const mlir_op_t *op) {
  int64_t channel = import_field_int(op, "channel_handle", "handle");
  if (channel > 0) import_add(attrs, hlo_attr_of_int(HLO_ATTR_CHANNEL_ID, channel));
  if (import_bool(op, "is_host_transfer", false))
    import_add(attrs, hlo_attr_of_bool(HLO_ATTR_IS_HOST_TRANSFER, true));
}

#define PAIRS_NAME "_xla_send_recv_source_target_pairs"

/* HLO keeps the pairs of a channel as a frontend attribute; those are sorted by name. */
static hr_status_t add_channel_pairs(import_scope_t *scope, const mlir_op_t *op) {
  const mlir_attr_t *pairs = mlir_op_attr(op, "source_target_pairs");
  hr_ints_t ids;
  hr_strbuf_t text;
  hr_str_t value;
  if (!pairs || pairs->kind != MLIR_ATTR_DENSE || pairs->type->rank != 2 || !pairs->type->dims[0])
    return NULL;
  if (pairs->type->dims[1] != 2)
    return import_error(scope, op, "source_target_pairs of %ld columns, want 2",
                        (long)pairs->type->dims[1]);
  HR_TRY(import_ints_of(scope, pairs, &ids));
  hr_strbuf_init(&text);
  for (int64_t i = 0; i + 1 < ids.count; i += 2)
    hr_strbuf_printf(&text, "%s{%ld,%ld}", i ? "," : "{", (long)ids.data[i], (long)ids.data[i + 1]);
  hr_strbuf_add_char(&text, '}');
  hr_status_t st = hr_strbuf_finish(&text);
  if (!st) st = hr_arena_str(scope->importer->arena, (hr_str_t){text.data, text.size}, &value);
  hr_strbuf_deinit(&text);
  HR_TRY(st);
  const hlo_extra_t *given = scope->builder.extra;
  int count = given ? given->frontend_attributes.count : 0;
  int at = 0;
  hlo_name_value_t *items;
  hlo_name_value_t own = {HR_STR(PAIRS_NAME), value, true};
  hlo_extra_t *extra;
  HR_TRY(HR_NEW(scope->importer->arena, &extra));
  HR_TRY(HR_NEW_ARRAY(scope->importer->arena, count + 1, &items));
  while (at < count && comes_before(given->frontend_attributes.items[at].name, own.name)) {
    items[at] = given->frontend_attributes.items[at];
    at++;
  }
  for (int i = count; i > at; i--) items[i] = given->frontend_attributes.items[i - 1];
  items[at] = own;
  if (given) *extra = *given;
  extra->frontend_attributes = (hlo_name_values_t){count + 1, items};
  scope->builder.extra = extra;
  return NULL;
}

/* send is a start and a done at once. */
hr_status_t import_send(import_scope_t *scope, mlir_op_t *op, const import_row_t *row) {
  hlo_instr_t *pair[2];
  const hlo_shape_t *shape;
  import_attrs_t attrs = {.count = 0};
  add_channel(&attrs, op);
  HR_TRY(add_channel_pairs(scope, op));
  HR_TRY(pack_data(scope, op, &pair[0], &pair[1]));
  if (op->result_count != 1)
    return import_error(scope, op, "%d results, want a token", op->result_count);
  if (!pair[0]) return hlo_builder_finish(&scope->builder);
  HR_TRY(pair_shape(scope, pair[0]->shape, true, &shape));
  hlo_instr_t *start =
      hlo_build(&scope->builder, row->op, shape, 2, pair, attrs.count, attrs.items, 0, NULL);
  op->results[0].mapped = hlo_build(&scope->builder, HLO_SEND_DONE, hlo_shape_scalar(HR_TOKEN), 1,
                                    &start, attrs.count, attrs.items, 0, NULL);
  return hlo_builder_finish(&scope->builder);
}

/* recv and recv-done; the host flag and channel come from the handle. */
hr_status_t import_recv(import_scope_t *scope, mlir_op_t *op, const import_row_t *row) {
  const hlo_shape_t *data, *started, *done;
  hlo_instr_t *token = import_operand(op, 0);
  import_attrs_t attrs = {.count = 0};
  add_channel(&attrs, op);
  HR_TRY(add_channel_pairs(scope, op));
  HR_TRY(data_shape(scope, op, &data));
  HR_TRY(pair_shape(scope, data, true, &started));
  HR_TRY(pair_shape(scope, data, false, &done));
  hlo_instr_t *start =
      hlo_build(&scope->builder, row->op, started, 1, &token, attrs.count, attrs.items, 0, NULL);
  return unpack_data(scope, op,
                     hlo_build(&scope->builder, HLO_RECV_DONE, done, 1, &start, attrs.count,
                               attrs.items, 0, NULL));
}

/* --- custom calls --- */

/* Whether the list is a permutation of 0..count-1. */
static bool is_permutation(hr_ints_t order) {
  uint64_t taken = 0;
  for (int64_t i = 0; i < order.count; i++) {
    if (order.data[i] < 0 || order.data[i] >= order.count || taken >> order.data[i] & 1)
      return false;
    taken |= UINT64_C(1) << order.data[i];
  }
  return true;
}

/* Gives each array shape the layout of its list, a permutation of its dimensions. */
static hr_status_t layout_shapes(import_scope_t *scope, const mlir_op_t *op,
                                 const mlir_attr_t *layouts, int count,
                                 const hlo_shape_t *const *from, const hlo_shape_t **to) {
  if (layouts->kind != MLIR_ATTR_ARRAY || layouts->count != count)
    return import_error(scope, op, "%d layouts, want %d", layouts->count, count);
  for (int i = 0; i < count; i++) {
    hlo_layout_t *layout;
    to[i] = from[i];
    if (!hlo_shape_is_array(from[i])) continue;
    HR_TRY(HR_NEW(scope->importer->arena, &layout));
    HR_TRY(import_ints_of(scope, layouts->items[i], &layout->minor_to_major));
    if (layout->minor_to_major.count != from[i]->rank)
      return import_error(scope, op, "a layout of %ld dimensions for rank %d",
                          (long)layout->minor_to_major.count, from[i]->rank);
    if (!is_permutation(layout->minor_to_major))
      return import_error(scope, op, "layout %d is no permutation of its dimensions", i);
    HR_TRY(hlo_shape_with_layout(scope->importer->arena, from[i], layout, &to[i]));
  }
  return NULL;
}

/* operand_layouts become shapes with layouts; they constrain the call. */
static hr_status_t add_operand_layouts(import_scope_t *scope, import_attrs_t *attrs,
                                       const mlir_op_t *op) {
  const mlir_attr_t *layouts = mlir_op_attr(op, "operand_layouts");
  const hlo_shape_t **shapes;
  hlo_shapes_t *list;
  if (!layouts) return NULL;
  HR_TRY(HR_NEW(scope->importer->arena, &list));
  HR_TRY(HR_NEW_ARRAY(scope->importer->arena, op->operand_count, &shapes));
  for (int k = 0; k < op->operand_count; k++) shapes[k] = import_operand(op, k)->shape;
  HR_TRY(layout_shapes(scope, op, layouts, op->operand_count, shapes, shapes));
  *list = (hlo_shapes_t){op->operand_count, shapes};
  import_add(attrs, (hlo_attr_t){.key = HLO_ATTR_OPERAND_LAYOUT_CONSTRAINTS, .shapes = list});
  return NULL;
}

/* A layout for each result, or for each element of a result that is a tuple. */
static hr_status_t result_shape_with_layouts(import_scope_t *scope, const mlir_op_t *op,
                                             const hlo_shape_t **out_shape) {
  const mlir_attr_t *layouts = mlir_op_attr(op, "result_layouts");
  const hlo_shape_t **shapes, *result;
  HR_TRY(import_results_shape(scope, op, &result));
  *out_shape = result;
  if (!layouts) return NULL;
  bool is_tuple = hlo_shape_is_tuple(result);
  int count = is_tuple ? result->element_count : 1;
  HR_TRY(HR_NEW_ARRAY(scope->importer->arena, count, &shapes));
  HR_TRY(layout_shapes(scope, op, layouts, count, is_tuple ? result->elements : &result, shapes));
  if (is_tuple) return hlo_shape_tuple(scope->importer->arena, count, shapes, out_shape);
  *out_shape = shapes[0];
  return NULL;
}

#define CALLED "called_computations"

/* Has the program a body for each function that a custom call names? MLIR does not ask for one. */
static bool calls_known_functions(const import_scope_t *scope, const mlir_op_t *op) {
  const mlir_attr_t *list = mlir_op_attr(op, CALLED);
  for (int i = 0; list && i < list->count; i++) {
    const import_function_t *function =
        hr_map_get(&scope->importer->functions, list->items[i]->text);
    if (!function || !import_block_of(function->op, 0)) return false;
  }
  return true;
}

/* Attributes that some targets read and HLO's custom calls have no field for: they become frontend
 * attributes, and so do names of functions that are not there. */
static hr_status_t add_target_attributes(import_scope_t *scope, const mlir_op_t *op,
                                         hlo_name_values_t *list) {
  static const char *const names[] = {CALLED, "error_message", "indices_of_shape_operands",
                                      "mhlo.attributes", "rng_algorithm"};
  const int name_count = sizeof names / sizeof *names;
  hlo_name_value_t *items;
  int count = 0, from = 0;
  HR_TRY(HR_NEW_ARRAY(scope->importer->arena, list->count + name_count, &items));
  for (int i = 0; i < name_count; i++) {
    const mlir_attr_t *attr = mlir_op_attr(op, names[i]);
    bool is_field = !strcmp(names[i], CALLED) && calls_known_functions(scope, op);
    if (!attr || is_field) continue;
    hr_str_t name = hr_str_from(names[i]);
    while (from < list->count &&
           strncmp(list->items[from].name.data, names[i], list->items[from].name.size) < 0)
      items[count++] = list->items[from++];
    items[count].name = name;
    HR_TRY(attribute_text(scope, attr, &items[count++].value));
  }
  while (from < list->count) items[count++] = list->items[from++];
  *list = (hlo_name_values_t){count, items};
  return NULL;
}

/* backend_config, and the attributes of the target. */
static hr_status_t add_config(import_scope_t *scope, const mlir_op_t *op) {
  const mlir_attr_t *config = mlir_op_attr(op, "mhlo.backend_config");
  hlo_extra_t *extra;
  if (!config) config = mlir_op_attr(op, "backend_config");
  HR_TRY(HR_NEW(scope->importer->arena, &extra));
  if (scope->builder.extra) *extra = *scope->builder.extra;
  if (config) HR_TRY(attribute_text(scope, config, &extra->backend_config));
  HR_TRY(add_target_attributes(scope, op, &extra->frontend_attributes));
  scope->builder.extra = extra;
  return NULL;
}

/* output_operand_aliases = [#stablehlo.output_operand_alias<...>] */
static hr_status_t add_aliases(import_scope_t *scope, import_attrs_t *attrs, const mlir_op_t *op) {
  const mlir_attr_t *list = mlir_op_attr(op, "output_operand_aliases");
  if (!list || list->kind != MLIR_ATTR_ARRAY || !list->count) return NULL;
  hlo_aliasing_t *aliasing;
  hlo_alias_t *aliases;
  HR_TRY(HR_NEW(scope->importer->arena, &aliasing));
  HR_TRY(HR_NEW_ARRAY(scope->importer->arena, list->count, &aliases));
  for (int i = 0; i < list->count; i++) {
    const mlir_attr_t *output = mlir_attr_field(list->items[i], "output_tuple_indices");
    const mlir_attr_t *operand = mlir_attr_field(list->items[i], "operand_index");
    const mlir_attr_t *inside = mlir_attr_field(list->items[i], "operand_tuple_indices");
    if (!output || !operand || !inside) return import_error(scope, op, "an alias lacks a field");
    HR_TRY(import_ints_of(scope, output, &aliases[i].output_index));
    HR_TRY(import_ints_of(scope, inside, &aliases[i].operand_index));
    aliases[i].operand = operand->integer;
  }
  *aliasing = (hlo_aliasing_t){list->count, aliases};
  import_add(attrs, (hlo_attr_t){.key = HLO_ATTR_OUTPUT_TO_OPERAND_ALIASING, .aliasing = aliasing});
  return NULL;
}

/* Called computations are functions of the module. */
static hr_status_t import_called(import_scope_t *scope, const mlir_op_t *op, import_attrs_t *attrs,
                                 hlo_computation_t ***out_called, int *out_count) {
  const mlir_attr_t *list = mlir_op_attr(op, CALLED);
  *out_count = list && calls_known_functions(scope, op) ? list->count : 0;
  HR_TRY(HR_NEW_ARRAY(scope->importer->arena, *out_count, out_called));
  for (int i = 0; i < *out_count; i++)
    HR_TRY(import_function_named(scope, op, list->items[i]->text, &(*out_called)[i]));
  if (*out_count) import_add(attrs, hlo_attr_of_called(HLO_ATTR_CALLED_COMPUTATIONS, *out_count));
  return NULL;
}

/* Known targets of JAX and XLA are expanded; others keep configuration, aliasing and schedule. */
hr_status_t import_custom_call(import_scope_t *scope, mlir_op_t *op, const import_row_t *row) {
  hlo_instr_t **operands;
  hlo_computation_t **called;
  int called_count;
  const hlo_shape_t *shape;
  import_attrs_t attrs = {.count = 0};
  bool done;
  HR_TRY(import_mhlo_call(scope, op, &done));
  if (done) return NULL;
  if (import_is_ragged_all_to_all(op)) return import_ragged_all_to_all(scope, op);
  HR_TRY(import_operands(scope, op, &operands));
  HR_TRY(result_shape_with_layouts(scope, op, &shape));
  HR_TRY(add_config(scope, op));
  import_add(&attrs,
             hlo_attr_of_str(HLO_ATTR_CUSTOM_CALL_TARGET, import_str(op, "call_target_name")));
  HR_TRY(add_operand_layouts(scope, &attrs, op));
  if (import_bool(op, "has_side_effect", false))
    import_add(&attrs, hlo_attr_of_bool(HLO_ATTR_CUSTOM_CALL_HAS_SIDE_EFFECT, true));
  HR_TRY(add_aliases(scope, &attrs, op));
  int64_t version = import_int(op, "api_version", HLO_API_VERSION_ORIGINAL);
  if (version < 0 || version >= HLO_API_VERSION_COUNT)
    return import_error(scope, op, "api_version %ld", (long)version);
  if (version > HLO_API_VERSION_ORIGINAL)
    import_add(&attrs, hlo_attr_of_int(HLO_ATTR_CUSTOM_CALL_API_VERSION, version));
  HR_TRY(import_called(scope, op, &attrs, &called, &called_count));
  return import_set_results(scope, op,
                            hlo_build(&scope->builder, row->op, shape, op->operand_count, operands,
                                      attrs.count, attrs.items, called_count, called));
}
