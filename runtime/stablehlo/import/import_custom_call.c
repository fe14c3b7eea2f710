/* Custom calls: targets of JAX and XLA that stand for ops are expanded (import_chlo.c,
 * import_collective.c); all others keep their operands, layouts, aliases, configuration and called
 * computations. Attributes without a field in HLO become frontend attributes, which are sorted by
 * name. */
#include <string.h>

#include "stablehlo/import/import.h"

/* True for a permutation of 0 to count - 1; at most 64 entries, as ranks are smaller. */
static bool is_permutation(hr_ints_t order) {
  uint64_t taken = 0;
  for (int64_t i = 0; i < order.count; i++) {
    if (order.data[i] < 0 || order.data[i] >= order.count || taken >> order.data[i] & 1)
      return false;
    taken |= UINT64_C(1) << order.data[i];
  }
  return true;
}

/* Gives each array shape the layout of its list, minor to major; other shapes stay as they are. */
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

/* operand_layouts become operand_layout_constraints. */
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

/* A layout for each result, or for each element of a tuple result. */
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

/* True if the module has a body for each function that the call names; MLIR does not require
 * one. */
static bool calls_known_functions(const import_scope_t *scope, const mlir_op_t *op) {
  const mlir_attr_t *list = mlir_op_attr(op, CALLED);
  for (int i = 0; list && i < list->count; i++) {
    const import_function_t *function =
        hr_map_get(&scope->importer->functions, list->items[i]->text);
    if (!function || !import_block_of(function->op, 0)) return false;
  }
  return true;
}

/* Adds frontend attributes for attributes of some targets that HLO's custom calls have no field
 * for, and for names of functions that the module lacks. Both lists are sorted and merged. */
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
    HR_TRY(import_attr_text(scope, attr, &items[count++].value));
  }
  while (from < list->count) items[count++] = list->items[from++];
  *list = (hlo_name_values_t){count, items};
  return NULL;
}

/* Adds backend_config as text (mhlo's first) and the attributes of the target. */
static hr_status_t add_config(import_scope_t *scope, const mlir_op_t *op) {
  const mlir_attr_t *config = mlir_op_attr(op, "mhlo.backend_config");
  hlo_extra_t *extra;
  if (!config) config = mlir_op_attr(op, "backend_config");
  HR_TRY(HR_NEW(scope->importer->arena, &extra));
  if (scope->builder.extra) *extra = *scope->builder.extra;
  if (config) HR_TRY(import_attr_text(scope, config, &extra->backend_config));
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

/* Functions of the module that the call may run. */
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

/* Targets that stand for ops are expanded first; the others become HLO's custom-call. */
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
