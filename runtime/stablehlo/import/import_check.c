/* The test dialects: check ops, which compare values, and ops of StableHLO's interpreter. They
 * become custom calls of the same names, with their attributes in backend_config;
 * ops/kernels/custom has kernels for them. In programs with checks, implementation-defined results
 * are those of StableHLO's interpreter. */
#include <math.h>
#include <string.h>

#include "ir/print.h"
#include "stablehlo/import/import_formula.h"

/* Searches bodies of functions, not the regions of ops inside them. */
bool import_has_checks(const mlir_block_t *block) {
  static const char prefix[] = "check.";
  for (size_t i = 0; i < block->ops.count; i++) {
    const mlir_op_t *op = block->ops.data[i];
    const mlir_region_t *body =
        hr_str_is(op->name, "func.func") && op->region_count ? op->regions[0] : NULL;
    if (body && body->blocks.count && import_has_checks(body->blocks.data[0])) return true;
    if (op->name.size > strlen(prefix) && !memcmp(op->name.data, prefix, strlen(prefix)))
      return true;
  }
  return false;
}

/* Integer division by zero, and of the smallest number by -1, are implementation-defined: with
 * checks 0, as in StableHLO's interpreter, else XLA's result. */
hr_status_t import_divide(import_scope_t *scope, mlir_op_t *op, const import_row_t *row) {
  hlo_builder_t *f = &scope->builder;
  hlo_instr_t *x = import_operand(op, 0);
  hlo_instr_t *y = import_operand(op, 1);
  bool is_integer = hlo_shape_is_array(x->shape) && hr_dtype_is_integer(x->shape->dtype);
  if (!scope->importer->is_interpreted || !is_integer) return import_plain(scope, op, row);
  const hr_dtype_info_t *info = &hr_dtype_table[x->shape->dtype];
  expr_t undefined = f_eq(f, y, f_number(f, 0, y));
  if (hr_dtype_class(x->shape->dtype) == HR_CLASS_SIGNED) {
    expr_t least = f_eq(f, x, f_number(f, -ldexp(1, info->bits - 1), x));
    undefined = f_or(f, undefined, f_and(f, least, f_eq(f, y, f_number(f, -1, y))));
  }
  expr_t result = hlo_build_binary(f, row->op, x, y);
  return import_set_results(scope, op, f_select(f, undefined, f_number(f, 0, x), result));
}

/* A custom call with a side effect. */
typedef struct effect_call {
  const char *target;
  const char *config;       /* backend_config; NULL: none */
  const hlo_shape_t *shape; /* NULL: an empty tuple */
  int operand_count;
  hlo_instr_t *const *operands;
  int called_count;
  hlo_computation_t *const *called;
} effect_call_t;

/* Builds a call with the extra attributes of the op. */
static hr_status_t build_call(import_scope_t *scope, const effect_call_t *spec,
                              hlo_instr_t **out_call) {
  hlo_builder_t builder = scope->builder;
  hlo_extra_t *extra;
  const hlo_shape_t *shape = spec->shape;
  import_attrs_t attrs = {.count = 0};
  HR_TRY(HR_NEW(scope->importer->arena, &extra));
  if (builder.extra) *extra = *builder.extra;
  if (spec->config) extra->backend_config = hr_str_from(spec->config);
  builder.extra = extra;
  if (!shape) HR_TRY(hlo_shape_tuple(scope->importer->arena, 0, NULL, &shape));
  import_add(&attrs, hlo_attr_of_str(HLO_ATTR_CUSTOM_CALL_TARGET, hr_str_from(spec->target)));
  import_add(&attrs, hlo_attr_of_bool(HLO_ATTR_CUSTOM_CALL_HAS_SIDE_EFFECT, true));
  if (spec->called_count)
    import_add(&attrs, hlo_attr_of_called(HLO_ATTR_CALLED_COMPUTATIONS, spec->called_count));
  *out_call = hlo_build(&builder, HLO_CUSTOM_CALL, shape, spec->operand_count, spec->operands,
                        attrs.count, attrs.items, spec->called_count, spec->called);
  return hlo_builder_finish(&builder);
}

/* A float attribute, which may be an integer in the text. */
static double number_of(const mlir_op_t *op, const char *name, double fallback) {
  const mlir_attr_t *attr = mlir_op_attr(op, name);
  if (!attr) return fallback;
  return attr->kind == MLIR_ATTR_INTEGER ? (double)attr->integer : attr->number;
}

/* check.expect_X(got, want), or check.expect_X_const(got) with the constant as an attribute. */
hr_status_t import_check(import_scope_t *scope, mlir_op_t *op, const import_row_t *row) {
  hlo_instr_t *operands[2] = {import_operand(op, 0),
                              op->operand_count == 2 ? import_operand(op, 1) : NULL};
  hlo_instr_t *call;
  const mlir_attr_t *constant = mlir_op_attr(op, "value");
  hlo_value_t *value;
  const char *config, *target;
  hr_str_t name = hr_str_from(row->name);
  bool is_const = strstr(row->name, "_const") != NULL;
  if (is_const && !constant) return import_error(scope, op, "it has no value");
  if (is_const) {
    HR_TRY(import_literal(scope->importer, constant, &value));
    operands[1] = hlo_build_constant(&scope->builder, value);
    name.size -= strlen("_const");
  }
  HR_TRY(hr_arena_cstr(scope->importer->arena, name, &target));
  HR_TRY(hr_arena_printf(
      scope->importer->arena, &config,
      "{tolerance = %.17g : f64, max_ulp_difference = %ld : i64, min_ulp_difference = %ld : i64}",
      number_of(op, "tolerance", 1e-4), (long)import_int(op, "max_ulp_difference", 1),
      (long)import_int(op, "min_ulp_difference", 0)));
  effect_call_t spec = {.target = target, .operand_count = 2, .operands = operands};
  if (!strstr(target, "expect_eq")) spec.config = config;
  return build_call(scope, &spec, &call);
}

/* check.expect_serialized_eq and interpreter.probe: id of a probe, and number of its execution. */
hr_status_t import_probe(import_scope_t *scope, mlir_op_t *op, const import_row_t *row) {
  hlo_instr_t *x = import_operand(op, 0);
  hlo_instr_t *call;
  hr_strbuf_t text;
  const char *config;
  hr_strbuf_init(&text);
  hr_strbuf_add_str(&text, "{probe_id = ");
  hlo_print_string(&text, import_str(op, "probe_id"));
  hr_strbuf_printf(&text, ", iter = %ld : i64}", (long)import_int(op, "iter", 0));
  hr_status_t st = hr_strbuf_finish(&text);
  if (!st) st = hr_arena_cstr(scope->importer->arena, (hr_str_t){text.data, text.size}, &config);
  hr_strbuf_deinit(&text);
  HR_TRY(st);
  effect_call_t spec = {.target = row->name,
                        .config = config,
                        .shape = op->result_count ? x->shape : NULL,
                        .operand_count = 1,
                        .operands = &x};
  HR_TRY(build_call(scope, &spec, &call));
  if (op->result_count) op->results[0].mapped = call;
  return NULL;
}

/* interpreter.print: a call that only reads its operand. */
hr_status_t import_print(import_scope_t *scope, mlir_op_t *op, const import_row_t *row) {
  hlo_instr_t *x = import_operand(op, 0);
  hlo_instr_t *call;
  effect_call_t spec = {.target = row->name, .operand_count = 1, .operands = &x};
  return build_call(scope, &spec, &call);
}

/* --- interpreter.run_parallel {programs = [[@a, @b], [@c, @d]], infeed = [@f]} --- */

/* A grid of programs in row-major order, then the functions of the infeed. */
typedef struct parallel {
  int replicas, partitions, called_count;
  int program_count; /* called functions that are no infeed */
  hlo_computation_t **called;
} parallel_t;

/* Functions of one list, in order. */
static hr_status_t add_called(import_scope_t *scope, const mlir_op_t *op, const mlir_attr_t *list,
                              parallel_t *parallel) {
  for (int i = 0; i < list->count; i++) {
    if (list->items[i]->kind != MLIR_ATTR_SYMBOL)
      return import_error(scope, op, "want names of functions such as @main");
    HR_TRY(import_function_named(scope, op, list->items[i]->text,
                                 &parallel->called[parallel->called_count++]));
  }
  return NULL;
}

/* Rows of the grid are replicas, its columns partitions; all rows have the same length. */
static hr_status_t read_parallel(import_scope_t *scope, const mlir_op_t *op, parallel_t *parallel) {
  const mlir_attr_t *programs = mlir_op_attr(op, "programs");
  const mlir_attr_t *infeed = mlir_op_attr(op, "infeed");
  bool is_grid = programs && programs->kind == MLIR_ATTR_ARRAY && programs->count;
  for (int r = 0; is_grid && r < programs->count; r++)
    is_grid = programs->items[r]->kind == MLIR_ATTR_ARRAY &&
              programs->items[r]->count == programs->items[0]->count && programs->items[r]->count;
  if (!is_grid) return import_error(scope, op, "programs is no grid of functions");
  if (infeed && infeed->kind != MLIR_ATTR_ARRAY)
    return import_error(scope, op, "infeed is no list of functions");
  if (infeed && !infeed->count) return import_error(scope, op, "infeed names no function");
  parallel->replicas = programs->count;
  parallel->partitions = programs->items[0]->count;
  int count = parallel->replicas * parallel->partitions + (infeed ? infeed->count : 0);
  HR_TRY(HR_NEW_ARRAY(scope->importer->arena, count, &parallel->called));
  for (int r = 0; r < parallel->replicas; r++)
    HR_TRY(add_called(scope, op, programs->items[r], parallel));
  parallel->program_count = parallel->called_count;
  return infeed ? add_called(scope, op, infeed, parallel) : NULL;
}

/* Each function of the infeed returns a tensor. */
static hr_status_t check_infeed(import_scope_t *scope, const mlir_op_t *op,
                                const parallel_t *parallel) {
  char text[HLO_SHAPE_TEXT];
  for (int f = parallel->program_count; f < parallel->called_count; f++) {
    const hlo_computation_t *feed = parallel->called[f];
    if (!hlo_shape_is_array(feed->root->shape))
      return import_error(scope, op, "%.*s of infeed returns %s, want one tensor",
                          HR_STR_ARGS(feed->name), hlo_shape_text(feed->root->shape, text));
  }
  return NULL;
}

/* The operands are those of all programs, the results theirs. */
static hr_status_t check_parallel(import_scope_t *scope, const mlir_op_t *op,
                                  const parallel_t *parallel, const hlo_shape_t *shape) {
  int64_t params = 0, results = 0;
  for (int p = 0; p < parallel->program_count; p++) {
    params += (int64_t)parallel->called[p]->params.count;
    results += hlo_shape_leaf_count(parallel->called[p]->root->shape);
  }
  if (op->operand_count != params)
    return import_error(scope, op, "%d operands, want %ld, as the programs take in all",
                        op->operand_count, (long)params);
  if (hlo_shape_leaf_count(shape) != results)
    return import_error(scope, op, "%d results, want %ld, as the programs return in all",
                        hlo_shape_leaf_count(shape), (long)results);
  return check_infeed(scope, op, parallel);
}

/* A custom call with the grid's functions as called computations. */
hr_status_t import_run_parallel(import_scope_t *scope, mlir_op_t *op, const import_row_t *row) {
  parallel_t parallel = {0};
  hlo_instr_t **operands, *call;
  const hlo_shape_t *shape;
  const char *config;
  HR_TRY(read_parallel(scope, op, &parallel));
  HR_TRY(import_operands(scope, op, &operands));
  HR_TRY(import_results_shape(scope, op, &shape));
  HR_TRY(check_parallel(scope, op, &parallel, shape));
  HR_TRY(hr_arena_printf(scope->importer->arena, &config,
                         "{replicas = %d : i64, partitions = %d : i64}", parallel.replicas,
                         parallel.partitions));
  effect_call_t spec = {row->name,         config,   shape,
                        op->operand_count, operands, parallel.called_count,
                        parallel.called};
  HR_TRY(build_call(scope, &spec, &call));
  return import_set_results(scope, op, call);
}
