/* Shardy's marks on values as XLA's custom calls: constraints, barriers, groups, results; and
 * sharding attributes of any op as frontend attributes. Sdy's own collectives only change the
 * sharding of their operand, so they become constraints to their result's sharding. The texts are
 * unchanged: the partitioner reads them. */
#include <string.h>

#include "stablehlo/import/import.h"

/* Text between the first `open` and the last `close` (by default angle brackets) of an opaque
 * attribute; a string attribute is returned whole. Empty: absent. */
hr_str_t import_sdy_text(const mlir_op_t *op, const char *name, char open, char close) {
  const mlir_attr_t *attr = mlir_op_attr(op, name);
  if (!attr || attr->kind != MLIR_ATTR_OPAQUE) return import_str(op, name);
  char first = '<', last = '>';
  if (open) {
    first = open;
    last = close;
  }
  const char *start = memchr(attr->text.data, first, attr->text.size);
  const char *end = memrchr(attr->text.data, last, attr->text.size);
  if (!start || !end || end <= start) return (hr_str_t){"", 0};
  return (hr_str_t){start + 1, (size_t)(end - start - 1)};
}

/* Frontend attributes with one entry, and the metadata of the current op. */
static hr_status_t mark_extra(import_scope_t *scope, const char *name, hr_str_t value,
                              hlo_extra_t **out_extra) {
  hlo_extra_t *extra;
  hlo_name_value_t *item;
  HR_TRY(HR_NEW(scope->importer->arena, &extra));
  HR_TRY(HR_NEW(scope->importer->arena, &item));
  if (scope->builder.extra) extra->metadata = scope->builder.extra->metadata;
  *item = (hlo_name_value_t){.name = hr_str_from(name), .value = value};
  extra->frontend_attributes = (hlo_name_values_t){1, item};
  *out_extra = extra;
  return NULL;
}

/* A custom call over one value, with one frontend attribute; a token needs no sharding, and gets
 * none. */
static hr_status_t build_mark(import_scope_t *scope, const char *target, const char *name,
                              hr_str_t value, hlo_instr_t *x, hlo_instr_t **out_mark) {
  const hlo_extra_t *own = scope->builder.extra;
  hlo_extra_t *extra;
  bool has_cuts = x && (hlo_shape_is_array(x->shape) || hlo_shape_is_tuple(x->shape));
  *out_mark = x;
  if (!has_cuts) return NULL;
  HR_TRY(mark_extra(scope, name, value, &extra));
  scope->builder.extra = extra;
  hlo_attr_t attr = hlo_attr_of_str(HLO_ATTR_CUSTOM_CALL_TARGET, hr_str_from(target));
  *out_mark = hlo_build(&scope->builder, HLO_CUSTOM_CALL, x->shape, 1, &x, 1, &attr, 0, NULL);
  scope->builder.extra = own;
  return NULL;
}

/* sdy.sharding_constraint: custom call "Sharding" with the sharding as a frontend attribute. */
hr_status_t import_sharding_constraint(import_scope_t *scope, mlir_op_t *op,
                                       const import_row_t *row) {
  (void)row;
  const char *value;
  hlo_instr_t *mark;
  hr_str_t text = import_sdy_text(op, "sharding", 0, 0);
  if (!text.size) text = import_sdy_text(op, "out_sharding", 0, 0);
  HR_TRY(hr_arena_printf(scope->importer->arena, &value, "#sdy.sharding_per_value<[<%.*s>]>",
                         HR_STR_ARGS(text)));
  HR_TRY(build_mark(scope, "Sharding", "xla.sdy.sharding", hr_str_from(value),
                    import_operand(op, 0), &mark));
  scope->builder.extra = NULL;
  return import_set_results(scope, op, mark);
}

/* The directions have HLO's numbers: NONE, FORWARD, BACKWARD, BOTH. */
hr_status_t import_propagation_barrier(import_scope_t *scope, mlir_op_t *op,
                                       const import_row_t *row) {
  (void)row;
  const char *value;
  hlo_instr_t *mark;
  HR_TRY(hr_arena_printf(scope->importer->arena, &value, "%ld : i32",
                         (long)import_int(op, "allowed_direction", 0)));
  HR_TRY(build_mark(scope, "xla.sdy.PropagationBarrier", "xla.sdy.allowed_direction",
                    hr_str_from(value), import_operand(op, 0), &mark));
  return import_set_results(scope, op, mark);
}

/* The custom call has no result; its side effect keeps it alive. */
hr_status_t import_sharding_group(import_scope_t *scope, mlir_op_t *op, const import_row_t *row) {
  const hlo_shape_t *nothing;
  const char *value;
  hlo_extra_t *extra;
  hlo_instr_t *x = import_operand(op, 0);
  HR_TRY(hr_arena_printf(scope->importer->arena, &value, "%ld : i64",
                         (long)import_int(op, "group_id", 0)));
  HR_TRY(mark_extra(scope, "xla.sdy.sharding_group_id", hr_str_from(value), &extra));
  HR_TRY(hlo_shape_tuple(scope->importer->arena, 0, NULL, &nothing));
  hlo_attr_t attrs[] = {
      hlo_attr_of_str(HLO_ATTR_CUSTOM_CALL_TARGET, HR_STR("xla.sdy.ShardingGroup")),
      hlo_attr_of_bool(HLO_ATTR_CUSTOM_CALL_HAS_SIDE_EFFECT, true)};
  scope->builder.extra = extra;
  if (x) hlo_build(&scope->builder, row->op, nothing, 1, &x, 2, attrs, 0, NULL);
  scope->builder.extra = NULL;
  return hlo_builder_finish(&scope->builder);
}

/* Propagation finds the edges itself; one that has a sharding says it of the value. */
hr_status_t import_data_flow_edge(import_scope_t *scope, mlir_op_t *op, const import_row_t *row) {
  if (mlir_op_attr(op, "sharding")) return import_sharding_constraint(scope, op, row);
  return import_set_results(scope, op, import_operand(op, 0));
}

/* Sharding number `index` of "<@mesh, [..]>, <@mesh, [..]>"; empty: there are fewer. */
static hr_str_t nth_sharding(hr_str_t text, int index) {
  const char *start = text.data;
  int depth = 0;
  for (size_t i = 0; i < text.size; i++) {
    depth += (text.data[i] == '<') - (text.data[i] == '>');
    if (text.data[i] == '<' && depth == 1) start = text.data + i;
    if (text.data[i] == '>' && depth == 0 && !index--)
      return (hr_str_t){start, (size_t)(text.data + i + 1 - start)};
  }
  return (hr_str_t){"", 0};
}

/* Marks values with the shardings of an attribute, if the op has it. */
static hr_status_t mark_all(import_scope_t *scope, const mlir_op_t *op, const char *name, int count,
                            hlo_instr_t **values) {
  hr_str_t text = import_sdy_text(op, name, '[', ']');
  for (int k = 0; k < count && text.size; k++) {
    const char *value;
    hr_str_t one = nth_sharding(text, k);
    if (!one.size) return import_error(scope, op, "%s has %d shardings, want %d", name, k, count);
    HR_TRY(hr_arena_printf(scope->importer->arena, &value, "#sdy.sharding_per_value<[%.*s]>",
                           HR_STR_ARGS(one)));
    HR_TRY(build_mark(scope, "Sharding", "xla.sdy.sharding", hr_str_from(value), values[k],
                      &values[k]));
  }
  return NULL;
}

/* A named computation is inlined; its shardings are those of its arguments and results. */
hr_status_t import_named_computation(import_scope_t *scope, mlir_op_t *op,
                                     const import_row_t *row) {
  hlo_computation_t *body;
  hlo_instr_t **operands, **results;
  HR_TRY(import_body(scope, op, 0, &body));
  if ((int)body->params.count != op->operand_count)
    return import_error(scope, op, "its body has %zu arguments", body->params.count);
  HR_TRY(import_operands(scope, op, &operands));
  HR_TRY(mark_all(scope, op, "in_shardings", op->operand_count, operands));
  hlo_attr_t apply = hlo_attr_of_called(HLO_ATTR_TO_APPLY, 1);
  hlo_instr_t *call = hlo_build(&scope->builder, row->op, body->root->shape, op->operand_count,
                                operands, 1, &apply, 1, &body);
  HR_TRY(HR_NEW_ARRAY(scope->importer->arena, op->result_count + 1, &results));
  for (int i = 0; i < op->result_count; i++)
    results[i] = op->result_count == 1 ? call : hlo_build_element(&scope->builder, call, i);
  HR_TRY(mark_all(scope, op, "out_shardings", op->result_count, results));
  for (int i = 0; i < op->result_count; i++) op->results[i].mapped = results[i];
  return hlo_builder_finish(&scope->builder);
}

/* Shardings of a function's results become custom calls on the results. */
hr_status_t import_result_marks(import_scope_t *scope, const mlir_op_t *function, int count,
                                hlo_instr_t **values) {
  for (int i = 0; i < count; i++) {
    const mlir_attr_t *sdy = import_value_attr(function, "res_attrs", i, "sdy.sharding");
    hr_str_t text;
    if (!sdy || sdy->kind != MLIR_ATTR_OPAQUE) continue;
    HR_TRY(hr_arena_str(scope->importer->arena, sdy->text, &text));
    scope->builder.extra = NULL;
    HR_TRY(build_mark(scope, "xla.sdy.FuncResultSharding", "xla.sdy.sharding", text, values[i],
                      &values[i]));
  }
  return NULL;
}

/* --- attributes of any op --- */

/* Lists are shared and constant: a copy with one more entry is made. */
hr_status_t import_sdy_attr(importer_t *importer, const char *name, hr_str_t text,
                            hlo_name_values_t *list) {
  hlo_name_value_t *items;
  HR_TRY(HR_NEW_ARRAY(importer->arena, list->count + 1, &items));
  for (int i = 0; i < list->count; i++) items[i] = list->items[i];
  /* the list stays sorted: other names begin with an underscore or with "hlo" */
  items[list->count].name = hr_str_from(name);
  HR_TRY(hr_arena_str(importer->arena, text, &items[list->count].value));
  *list = (hlo_name_values_t){list->count + 1, items};
  return NULL;
}

static const char *const names[][2] = {{"sdy.sharding", "xla.sdy.sharding"},
                                       {"sdy.sharding_rule", "xla.sdy.sharding_rule"}};

/* Only opaque attributes: functions have shardings per argument and result, constraints and manual
 * computations keep the text themselves. */
static const mlir_attr_t *sdy_attr(const mlir_op_t *op, int i) {
  const mlir_attr_t *attr = mlir_op_attr(op, names[i][0]);
  return attr && attr->kind == MLIR_ATTR_OPAQUE ? attr : NULL;
}

bool import_has_sdy(const mlir_op_t *op) { return sdy_attr(op, 0) || sdy_attr(op, 1); }

hr_status_t import_sdy_attrs(importer_t *importer, const mlir_op_t *op, hlo_name_values_t *list) {
  for (int i = 0; i < 2; i++)
    if (sdy_attr(op, i))
      HR_TRY(import_sdy_attr(importer, names[i][1], sdy_attr(op, i)->text, list));
  return NULL;
}

/* The list without the shardings. */
static hr_status_t without_shardings(importer_t *importer, hlo_name_values_t *list) {
  hlo_name_value_t *items;
  int count = 0;
  HR_TRY(HR_NEW_ARRAY(importer->arena, list->count + 1, &items));
  for (int i = 0; i < list->count; i++)
    if (!hr_str_is(list->items[i].name, names[0][1])) items[count++] = list->items[i];
  *list = (hlo_name_values_t){count, items};
  return NULL;
}

/* The instruction that has all results of the op and no other values: a tuple of which they are the
 * elements, else itself the only one. NULL: the op has no results. */
static const hlo_instr_t *instr_of_results(const mlir_op_t *op) {
  const hlo_instr_t *first = op->result_count ? op->results[0].mapped : NULL;
  bool is_element = first && first->op == HLO_GET_TUPLE_ELEMENT &&
                    hlo_shape_leaf_count(first->operands[0]->shape) == op->result_count;
  return is_element ? first->operands[0] : first;
}

/* Removes shardings from the instructions of an op that do not give its results (initial values,
 * captured values, elements of a tuple), and from one of other values besides, as a loop with
 * captured ones has; propagation derives them. */
hr_status_t import_sdy_of_results(import_scope_t *scope, const mlir_op_t *op, size_t first) {
  const hlo_computation_t *computation = scope->builder.computation;
  const hlo_instr_t *owner = instr_of_results(op);
  if (!sdy_attr(op, 0) || !op->result_count) return NULL;
  for (size_t i = first; i < computation->instrs.count; i++) {
    hlo_instr_t *instr = computation->instrs.data[i];
    hlo_extra_t *extra;
    bool fits = instr == owner && hlo_shape_leaf_count(instr->shape) == op->result_count;
    if (!instr->extra || fits) continue;
    HR_TRY(import_op_extra(scope->importer, instr, &extra));
    HR_TRY(without_shardings(scope->importer, &extra->frontend_attributes));
  }
  return NULL;
}
