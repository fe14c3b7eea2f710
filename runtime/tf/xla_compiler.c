/* XlaCompiler: arguments become parameters and resources, the graph is executed, and results and
 * resource updates become the root tuple. See xla_compiler.h for the order of both. */
#include "tf/xla_compiler.h"

#include <string.h>

#include "tf/tf_lower.h"

typedef struct compilation {
  tf_compiler_t compiler;
  hlo_builder_t builder;
  int argument_count;
  const xla_argument_t *arguments;
  const xla_compile_options_t *options;
  tf_value_t *values; /* by argument */
  xla_compilation_result_t result;
} compilation_t;

/* Constants and variables that are not initialised take no run-time parameter. */
static bool takes_parameter(const xla_argument_t *argument, bool resources) {
  if (resources) return argument->kind == XLA_ARGUMENT_RESOURCE && argument->initialized;
  return argument->kind == XLA_ARGUMENT_PARAMETER;
}

/* input_mapping: parameters first, then initialised resources, each in the order of arguments. */
static hr_status_t map_parameters(compilation_t *c) {
  HR_TRY(HR_NEW_ARRAY(c->compiler.arena, c->argument_count, &c->result.input_mapping));
  for (int block = 0; block < 2; block++)
    for (int i = 0; i < c->argument_count; i++)
      if (takes_parameter(&c->arguments[i], block == 1))
        c->result.input_mapping[c->result.parameter_count++] = i;
  return NULL;
}

/* One parameter each, or elements of one tuple parameter.
 * The shapes are those of the arguments. A tuple parameter has the same order. */
static hr_status_t make_parameters(compilation_t *c, expr_t *out_params) {
  int count = c->result.parameter_count;
  const hlo_shape_t **shapes;
  const hlo_shape_t *tuple;
  HR_TRY(HR_NEW_ARRAY(c->compiler.arena, count, &shapes));
  for (int p = 0; p < count; p++) shapes[p] = c->arguments[c->result.input_mapping[p]].shape;
  if (!c->options->use_tuple_arg) {
    for (int p = 0; p < count; p++) out_params[p] = hlo_build_parameter(&c->builder, p, shapes[p]);
    return NULL;
  }
  HR_TRY(hlo_shape_tuple(c->compiler.arena, count, shapes, &tuple));
  expr_t whole = hlo_build_parameter(&c->builder, 0, tuple);
  for (int p = 0; p < count; p++) out_params[p] = hlo_build_element(&c->builder, whole, p);
  return NULL;
}

/* Its value is set by build_arguments() if it has a parameter, and stays NULL otherwise. */
static hr_status_t make_resource(compilation_t *c, int argument) {
  tf_resource_t *resource;
  HR_TRY(HR_NEW(c->compiler.arena, &resource));
  resource->name = c->arguments[argument].name;
  resource->argument = argument;
  c->values[argument] = (tf_value_t){.kind = TF_VALUE_RESOURCE, .resource = resource};
  HR_VEC_PUSH(&c->compiler.resources, resource);
  return NULL;
}

/* BuildArguments of XlaCompiler: `values` are what _Arg nodes give. */
static hr_status_t build_arguments(compilation_t *c) {
  expr_t *params;
  HR_TRY(HR_NEW_ARRAY(c->compiler.arena, c->argument_count, &c->values));
  HR_TRY(HR_NEW_ARRAY(c->compiler.arena, c->argument_count, &params));
  HR_TRY(map_parameters(c));
  HR_TRY(HR_NEW_ARRAY(c->compiler.arena, c->result.parameter_count, &c->result.initial_values));
  HR_TRY(make_parameters(c, params));
  for (int i = 0; i < c->argument_count; i++) {
    const xla_argument_t *argument = &c->arguments[i];
    if (argument->kind == XLA_ARGUMENT_RESOURCE) HR_TRY(make_resource(c, i));
    if (argument->kind == XLA_ARGUMENT_CONSTANT)
      c->values[i] = (tf_value_t){.kind = TF_VALUE_ARRAY, .constant = argument->constant};
  }
  for (int p = 0; p < c->result.parameter_count; p++) {
    tf_value_t *value = &c->values[c->result.input_mapping[p]];
    if (value->kind == TF_VALUE_RESOURCE) {
      value->resource->value = params[p];
      value->resource->initial = params[p];
    } else {
      *value = (tf_value_t){.kind = TF_VALUE_ARRAY, .instr = params[p]};
    }
  }
  return hlo_builder_finish(&c->builder);
}

/* --- results --- */

typedef HR_VEC(expr_t) exprs_t;

/* With resolve_compile_time_constants a constant _Retval is described in the result and is no
 * element of the tuple. */
static hr_status_t add_output(compilation_t *c, tf_value_t *value, int index, exprs_t *results) {
  xla_output_t *output = &c->result.outputs[index];
  hlo_value_t *constant = value->constant;
  if (value->kind == TF_VALUE_NONE || value->kind == TF_VALUE_STRINGS)
    return hr_error(HR_UNSUPPORTED, "result %d is no array", index);
  expr_t instr = tf_value_instr(&c->compiler, &c->builder, value);
  if (!instr)
    return c->builder.status ? hlo_builder_finish(&c->builder)
                             : hr_error(HR_INVALID, "result %d has no value", index);
  output->shape = instr->shape;
  if (c->options->resolve_compile_time_constants && !constant)
    HR_TRY(tf_evaluate(&c->compiler, instr, &constant));
  output->is_constant = c->options->resolve_compile_time_constants && constant;
  output->constant = constant;
  if (!output->is_constant) HR_VEC_PUSH(results, instr);
  return NULL;
}

/* Updated resources in the order of their arguments.
 * A resource is returned iff its value is no longer the initial one, or if all are asked for, as
 * loop bodies need. One without a value has nothing to return. */
static hr_status_t add_updates(compilation_t *c, exprs_t *results) {
  HR_TRY(HR_NEW_ARRAY(c->compiler.arena, c->argument_count, &c->result.updates));
  for (int i = 0; i < c->argument_count; i++) {
    if (c->arguments[i].kind != XLA_ARGUMENT_RESOURCE) continue;
    const tf_resource_t *resource = c->values[i].resource;
    bool modified = resource->value != resource->initial;
    if (!resource->value) continue;
    if (!modified && !c->options->return_updated_values_for_all_resources) continue;
    c->result.updates[c->result.update_count++] =
        (xla_resource_update_t){i, resource->value->shape, modified};
    HR_VEC_PUSH(results, resource->value);
  }
  return NULL;
}

/* Computations were added when they began; they are listed callees first.
 * Ids are positions in this order. */
static void order_computations(tf_compiler_t *compiler) {
  hlo_module_t *module = compiler->module;
  module->computations.count = 0;
  for (size_t i = 0; i < compiler->completed.count; i++) {
    hlo_computation_t *computation = compiler->completed.data[i];
    computation->id = (uint32_t)i;
    module->computations.data[module->computations.count++] = computation;
  }
}

/* Computations that a failed attempt left unfinished hold lists outside the arena. */
static void drop_unfinished(tf_compiler_t *compiler) {
  hlo_module_t *module = compiler->module;
  for (size_t i = 0; i < module->computations.count; i++) {
    hlo_computation_t *computation = module->computations.data[i];
    if (computation->root) continue;
    HR_VEC_FREE(&computation->instrs);
    HR_VEC_FREE(&computation->params);
    memset(&computation->instrs, 0, sizeof computation->instrs);
    memset(&computation->params, 0, sizeof computation->params);
  }
}

/* Root: results that are not constant, then updates. The result is a tuple even with one
 * element. */
static hr_status_t finish(compilation_t *c, int count, tf_value_t *values, exprs_t *results) {
  c->result.output_count = count;
  HR_TRY(HR_NEW_ARRAY(c->compiler.arena, count, &c->result.outputs));
  for (int i = 0; i < count; i++) HR_TRY(add_output(c, &values[i], i, results));
  HR_TRY(add_updates(c, results));
  expr_t root = hlo_build_tuple(&c->builder, (int)results->count, results->data);
  HR_TRY(tf_computation_end(&c->compiler, &c->builder, root));
  c->result.computation = c->builder.computation;
  c->compiler.module->entry = c->builder.computation;
  drop_unfinished(&c->compiler);
  order_computations(&c->compiler);
  return NULL;
}

/* Everything else lives in the module's arena. */
static void free_compiler(tf_compiler_t *compiler) {
  hr_map_deinit(&compiler->reducers);
  hr_map_deinit(&compiler->evaluated);
  hr_map_deinit(&compiler->waits);
  HR_VEC_FREE(&compiler->completed);
  HR_VEC_FREE(&compiler->resources);
}

/* Executes the restore operation. Variables that are no arguments keep the checkpoint's values; for
 * arguments they are the parameters' initial values. */
static hr_status_t restore_variables(compilation_t *c, const tf_graph_t *graph,
                                     const xla_restore_t *restore) {
  tf_compiler_t *compiler = &c->compiler;
  tf_value_t name = {.kind = TF_VALUE_STRINGS};
  compiler->bundle = restore->bundle;
  tf_execution_t execution = {.body = &graph->main,
                              .fed_count = 1,
                              .fed = &restore->filename,
                              .fed_values = &name,
                              .target_count = 1,
                              .targets = &restore->node};
  HR_TRY(tf_execute(compiler, &c->builder, &execution, NULL));
  for (size_t i = 0; i < compiler->resources.count; i++) {
    tf_resource_t *resource = compiler->resources.data[i];
    if (resource->argument < 0) resource->initial = resource->value;
  }
  for (int p = 0; p < c->result.parameter_count; p++) {
    tf_value_t *value = &c->values[c->result.input_mapping[p]];
    if (value->kind != TF_VALUE_RESOURCE) continue;
    tf_resource_t *resource = value->resource;
    if (resource->value != resource->initial)
      HR_TRY(tf_evaluate(compiler, resource->value, &c->result.initial_values[p]));
    resource->value = resource->initial;
  }
  return NULL;
}

/* Restored variables that are written although they are no arguments. */
static hr_status_t list_written(compilation_t *c) {
  tf_compiler_t *compiler = &c->compiler;
  HR_TRY(HR_NEW_ARRAY(compiler->arena, compiler->resources.count, &c->result.written));
  for (size_t i = 0; i < compiler->resources.count; i++) {
    const tf_resource_t *resource = compiler->resources.data[i];
    if (resource->argument >= 0 || !resource->initial || resource->value == resource->initial)
      continue;
    c->result.written[c->result.written_count++] =
        (xla_written_variable_t){resource->name, resource->initial->shape};
  }
  return NULL;
}

/* `results` is a list outside the arena. */
static hr_status_t run(compilation_t *c, const tf_execution_t *execution,
                       xla_compilation_result_t *out_result) {
  tf_value_t *values;
  exprs_t results = {0};
  hr_status_t st = HR_NEW_ARRAY(c->compiler.arena, execution->wanted_count, &values);
  if (!st) st = tf_execute(&c->compiler, &c->builder, execution, values);
  if (!st) st = finish(c, execution->wanted_count, values, &results);
  if (!st) st = list_written(c);
  HR_VEC_FREE(&results);
  if (!st) *out_result = c->result;
  return st;
}

/* The entry computation is begun first and ends last. */
static hr_status_t begin(compilation_t *c, const tf_graph_t *graph, const char *name,
                         hlo_module_t *module) {
  c->compiler.graph = graph;
  c->compiler.module = module;
  c->compiler.arena = &module->arena;
  hr_map_init(&c->compiler.reducers);
  hr_map_init(&c->compiler.evaluated);
  hr_map_init(&c->compiler.waits);
  HR_TRY(tf_computation_begin(&c->compiler, name, &c->builder));
  return build_arguments(c);
}

/* Argument k of the function is argument k of the compilation. */
hr_status_t xla_compile_function(const tf_graph_t *graph, const tf_body_t *function,
                                 int argument_count, const xla_argument_t *arguments,
                                 const xla_compile_options_t *options, hlo_module_t *module,
                                 xla_compilation_result_t *out_result) {
  compilation_t c = {.argument_count = argument_count, .arguments = arguments, .options = options};
  if (argument_count != function->arg_count)
    return hr_error(HR_INVALID, "function %.*s takes %d arguments, %d are given",
                    HR_STR_ARGS(function->name), function->arg_count, argument_count);
  HR_TRY(xla_validate(graph, function, function->ret_count, function->rets, NULL));
  hr_status_t st = begin(&c, graph, "main", module);
  tf_execution_t execution = {.body = function,
                              .arg_count = argument_count,
                              .args = c.values,
                              .wanted_count = function->ret_count,
                              .wanted = function->rets,
                              .target_count = function->control_ret_count,
                              .targets = function->control_rets};
  if (!st) st = run(&c, &execution, out_result);
  free_compiler(&c.compiler);
  return st;
}

/* Feeds take the values of the first arguments; variables are found by name when their nodes
 * run. */
hr_status_t xla_compile_graph(const tf_graph_t *graph, const xla_graph_signature_t *signature,
                              int argument_count, const xla_argument_t *arguments,
                              const xla_compile_options_t *options, hlo_module_t *module,
                              xla_compilation_result_t *out_result) {
  compilation_t c = {.argument_count = argument_count, .arguments = arguments, .options = options};
  bool *is_fed;
  HR_TRY(HR_NEW_ARRAY(&module->arena, graph->main.node_count, &is_fed));
  for (int i = 0; i < signature->feed_count; i++) is_fed[signature->feeds[i].node] = true;
  HR_TRY(xla_validate(graph, &graph->main, signature->fetch_count, signature->fetches, is_fed));
  hr_status_t st = begin(&c, graph, "main", module);
  tf_execution_t execution = {.body = &graph->main,
                              .fed_count = signature->feed_count,
                              .fed = signature->feeds,
                              .fed_values = c.values,
                              .wanted_count = signature->fetch_count,
                              .wanted = signature->fetches,
                              .target_count = signature->target_count,
                              .targets = signature->targets};
  if (!st && signature->restore) st = restore_variables(&c, graph, signature->restore);
  if (!st) st = run(&c, &execution, out_result);
  free_compiler(&c.compiler);
  return st;
}
