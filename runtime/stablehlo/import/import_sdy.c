/* Import of Shardy ops and attributes (sdy dialect), in XLA's form in HLO text.
 * sdy.manual_computation becomes a call between two markers, custom calls that keep the value's
 * bytes and change its shape:
 *
 *   xla.sdy.GlobalToLocalShape -> call of the body -> xla.sdy.LocalToGlobalShape
 *
 * sdy.sharding_constraint becomes the custom call "Sharding". Other ops are identities with the
 * sharding as a frontend attribute (names begin with xla.sdy.). Meshes become the module's
 * frontend attribute xla.sdy.meshes. Nothing is partitioned here. */
#include "stablehlo/import/import.h"

/* Prints `text` into `format`, which has one %.*s, as a string of the module's arena. */
static hr_status_t format_attr_value(import_scope_t *scope, const char *format, hr_str_t text,
                                     hr_str_t *out_value) {
  const char *value;
  HR_TRY(hr_arena_printf(scope->importer->arena, &value, format, HR_STR_ARGS(text)));
  *out_value = hr_str_from(value);
  return NULL;
}

/* Frontend attributes of a marker: its shardings (attribute `name`) and the manual axes. */
static hr_status_t make_marker_extra(import_scope_t *scope, const char *name, hr_str_t shardings,
                                     hr_str_t axes, hlo_extra_t **out_extra) {
  hlo_name_value_t *items;
  HR_TRY(HR_NEW(scope->importer->arena, out_extra));
  HR_TRY(HR_NEW_ARRAY(scope->importer->arena, 2, &items));
  /* Frontend attributes are sorted: "in_shardings" < "manual_axes" < "out_shardings". */
  bool is_input = hr_str_is(hr_str_from(name), "xla.sdy.in_shardings");
  hlo_name_value_t *sharding = is_input ? &items[0] : &items[1];
  hlo_name_value_t *manual = is_input ? &items[1] : &items[0];
  sharding->name = hr_str_from(name);
  manual->name = HR_STR("xla.sdy.manual_axes");
  HR_TRY(format_attr_value(scope, "#sdy.sharding_per_value<[%.*s]>", shardings, &sharding->value));
  HR_TRY(format_attr_value(scope, "#sdy<manual_axes{%.*s}>", axes, &manual->value));
  (*out_extra)->frontend_attributes = (hlo_name_values_t){2, items};
  return NULL;
}

typedef struct marker {
  const char *target;    /* custom call target */
  const char *attribute; /* name of the frontend attribute with the shardings */
  hr_str_t shardings;    /* text of a list of shardings, one per value */
  hr_str_t axes;         /* text of the list of manual axes */
} marker_t;

/* Builds a marker over `count` values and replaces them by its results. `shape` is the marker's
 * shape: a tuple unless count is 1. */
static hr_status_t build_marker(import_scope_t *scope, const marker_t *marker, int count,
                                hlo_instr_t **values, const hlo_shape_t *shape) {
  hlo_extra_t *extra;
  hlo_attr_t attrs[2] = {hlo_attr_of_str(HLO_ATTR_CUSTOM_CALL_TARGET, hr_str_from(marker->target)),
                         hlo_attr_of_bool(HLO_ATTR_CUSTOM_CALL_HAS_SIDE_EFFECT, true)};
  if (!count) return NULL;
  HR_TRY(make_marker_extra(scope, marker->attribute, marker->shardings, marker->axes, &extra));
  scope->builder.extra = extra;
  hlo_instr_t *instr =
      hlo_build(&scope->builder, HLO_CUSTOM_CALL, shape, count, values, 2, attrs, 0, NULL);
  scope->builder.extra = NULL;
  for (int i = 0; i < count; i++)
    values[i] = hlo_shape_is_tuple(shape) ? hlo_build_element(&scope->builder, instr, i) : instr;
  return NULL;
}

/* Shape of the body's parameters as one value: a tuple, unless there is exactly one. */
static hr_status_t body_parameters_shape(import_scope_t *scope, const hlo_computation_t *body,
                                         const hlo_shape_t **out_shape) {
  int count = (int)body->params.count;
  const hlo_shape_t **shapes;
  if (count == 1) {
    *out_shape = body->params.data[0]->shape;
    return NULL;
  }
  HR_TRY(HR_NEW_ARRAY(scope->importer->arena, count, &shapes));
  for (int i = 0; i < count; i++) shapes[i] = body->params.data[i]->shape;
  return hlo_shape_tuple(scope->importer->arena, count, shapes, out_shape);
}

/* sdy.manual_computation: input marker, call of the body with local shapes, output marker. */
hr_status_t import_manual_computation(import_scope_t *scope, mlir_op_t *op,
                                      const import_row_t *row) {
  (void)row;
  hlo_computation_t *body;
  hlo_instr_t **operands, **results;
  const hlo_shape_t *local, *global;
  hr_str_t axes = import_sdy_text(op, "manual_axes", '{', '}');
  HR_TRY(import_body(scope, op, 0, &body));
  if ((int)body->params.count != op->operand_count)
    return import_error(scope, op, "its body has %zu arguments", body->params.count);
  HR_TRY(import_operands(scope, op, &operands));
  HR_TRY(body_parameters_shape(scope, body, &local));
  HR_TRY(import_results_shape(scope, op, &global));
  marker_t in = {"xla.sdy.GlobalToLocalShape", "xla.sdy.in_shardings",
                 import_sdy_text(op, "in_shardings", '[', ']'), axes};
  HR_TRY(build_marker(scope, &in, op->operand_count, operands, local));
  hlo_attr_t apply = hlo_attr_of_called(HLO_ATTR_TO_APPLY, 1);
  hlo_instr_t *call = hlo_build(&scope->builder, HLO_CALL, body->root->shape, op->operand_count,
                                operands, 1, &apply, 1, &body);
  HR_TRY(HR_NEW_ARRAY(scope->importer->arena, op->result_count, &results));
  for (int i = 0; i < op->result_count; i++)
    results[i] = op->result_count == 1 ? call : hlo_build_element(&scope->builder, call, i);
  marker_t out = {"xla.sdy.LocalToGlobalShape", "xla.sdy.out_shardings",
                  import_sdy_text(op, "out_shardings", '[', ']'), axes};
  HR_TRY(build_marker(scope, &out, op->result_count, results, global));
  for (int i = 0; i < op->result_count; i++) op->results[i].mapped = results[i];
  return hlo_builder_finish(&scope->builder);
}

/* Collects the sdy.mesh ops of the module as its frontend attribute xla.sdy.meshes: {mesh =
 * #sdy.mesh<...>, ...}. A module without them gets none. */
hr_status_t import_meshes(importer_t *importer, const mlir_block_t *block) {
  hr_strbuf_t text;
  hr_strbuf_init(&text);
  for (size_t i = 0; i < block->ops.count; i++) {
    const mlir_op_t *op = block->ops.data[i];
    if (!hr_str_is(op->name, "sdy.mesh")) continue;
    const char *separator = text.size ? ", " : "{";
    hr_strbuf_printf(&text, "%s%.*s = #sdy.mesh<%.*s>", separator,
                     HR_STR_ARGS(import_str(op, "sym_name")),
                     HR_STR_ARGS(import_sdy_text(op, "mesh", 0, 0)));
  }
  hlo_name_value_t *item;
  hr_status_t st = NULL;
  if (!text.size) return NULL;
  hr_strbuf_add_char(&text, '}');
  HR_TRY_GOTO(done, st, hr_strbuf_finish(&text));
  HR_TRY_GOTO(done, st, HR_NEW(importer->arena, &item));
  item->name = HR_STR("xla.sdy.meshes");
  item->raw = true;
  HR_TRY_GOTO(done, st,
              hr_arena_str(importer->arena, (hr_str_t){text.data, text.size}, &item->value));
  importer->module->frontend_attributes = (hlo_name_values_t){1, item};
done:
  hr_strbuf_deinit(&text);
  return st;
}

/* Sets the replication of a parameter from mhlo.parameter_replication = [flag]: all replicas
 * give the argument the same value. */
static hr_status_t set_parameter_replication(importer_t *importer, const mlir_attr_t *flags,
                                             hlo_extra_t *extra) {
  bool *values;
  if (!flags || flags->kind != MLIR_ATTR_ARRAY || flags->count != 1) return NULL;
  HR_TRY(HR_NEW(importer->arena, &values));
  *values = flags->items[0]->integer != 0;
  extra->replication = values;
  extra->replication_count = 1;
  return NULL;
}

/* Sets sharding, replication and frontend attributes of a parameter from the argument attributes
 * of its func.func. `param` is NULL for an argument that nothing uses. */
hr_status_t import_argument_extra(importer_t *importer, const mlir_op_t *function, int index,
                                  hlo_instr_t *param) {
  const mlir_attr_t *sdy = import_value_attr(function, "arg_attrs", index, "sdy.sharding");
  const mlir_attr_t *frontend =
      import_value_attr(function, "arg_attrs", index, "mhlo.frontend_attributes");
  const mlir_attr_t *replication =
      import_value_attr(function, "arg_attrs", index, "mhlo.parameter_replication");
  const hlo_sharding_t *sharding;
  hlo_extra_t *extra;
  import_frontend_attrs_t attrs = {.op = HLO_OPCODE_COUNT};
  HR_TRY(import_sharding(importer, function,
                         import_value_attr(function, "arg_attrs", index, "mhlo.sharding"),
                         &sharding));
  bool has_sharding = sdy && sdy->kind == MLIR_ATTR_OPAQUE;
  bool has_frontend = frontend && frontend->kind == MLIR_ATTR_DICT;
  if (!param || (!sharding && !has_sharding && !has_frontend && !replication)) return NULL;
  HR_TRY(import_op_extra(importer, param, &extra));
  extra->sharding = sharding;
  HR_TRY(set_parameter_replication(importer, replication, extra));
  if (has_frontend)
    HR_TRY(import_sort_frontend_attrs(importer, frontend, &extra->frontend_attributes, &attrs));
  HR_TRY(import_frontend_attrs_extra(importer, &attrs, extra));
  if (attrs.shape && hlo_shape_compatible(attrs.shape, param->shape)) param->shape = attrs.shape;
  return has_sharding
             ? import_sdy_attr(importer, "xla.sdy.sharding", sdy->text, &extra->frontend_attributes)
             : NULL;
}
