/* XlaCompiler: arguments become parameters and resources, the graph is executed, and results and
 * resource updates become the root tuple. See xla_compiler.h for the order of both. */
#include "tf/compile/xla_compiler.h"

#include <string.h>

#include "tf/compile/xla_compilation.h"

/* --- results --- */

/* With resolve_compile_time_constants a constant _Retval is described in the result and is no
 * element of the tuple. */
static hr_status_t add_output(xla_compilation_t *c, tf_value_t *value, int index,
                              xla_exprs_t *results) {
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
static hr_status_t finish(xla_compilation_t *c, int count, tf_value_t *values,
                          xla_exprs_t *results) {
  c->result.output_count = count;
  HR_TRY(HR_NEW_ARRAY(c->compiler.arena, count, &c->result.outputs));
  for (int i = 0; i < count; i++) HR_TRY(add_output(c, &values[i], i, results));
  HR_TRY(xla_add_updates(c, results));
  HR_TRY(xla_extra(c->compiler.arena, -1, (hr_str_t){0}, HR_STR("XLA_Retvals"), &c->builder.extra));
  expr_t root = hlo_build_tuple(&c->builder, (int)results->count, results->data);
  HR_TRY(tf_computation_end(&c->compiler, &c->builder, root));
  c->result.computation = c->builder.computation;
  c->compiler.module->entry = c->builder.computation;
  drop_unfinished(&c->compiler);
  order_computations(&c->compiler);
  return NULL;
}

/* Everything else lives in the module's arena. */
static void free_compiler(xla_compilation_t *c) {
  tf_compiler_t *compiler = &c->compiler;
  xla_channels_deinit(&c->channels);
  hr_map_deinit(&compiler->reducers);
  hr_map_deinit(&compiler->evaluated);
  hr_map_deinit(&compiler->waits);
  hr_map_deinit(&compiler->restored);
  hr_map_deinit(&compiler->host_tokens);
  HR_VEC_FREE(&compiler->completed);
  HR_VEC_FREE(&compiler->resources);
}

/* Variables that the restore operation gave no value get it by the object graph. */
static hr_status_t restore_bound(xla_compilation_t *c, const tf_graph_t *graph,
                                 const xla_restore_t *restore) {
  for (int i = 0; i < restore->binding_count; i++) {
    const tf_node_t *node = &graph->main.nodes[restore->bindings[i].node];
    tf_resource_t *resource;
    HR_TRY(tf_variable(&c->compiler, node, &resource));
    if (resource->value != resource->initial) continue;
    HR_TRY(tf_restore_variable(&c->compiler, &c->builder, resource, restore->bindings[i].key));
  }
  return NULL;
}

/* Executes the restore operation. Variables that are no arguments keep the checkpoint's values; for
 * arguments they are the parameters' initial values. */
static hr_status_t restore_variables(xla_compilation_t *c, const tf_graph_t *graph,
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
  HR_TRY(restore_bound(c, graph, restore));
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
    const hlo_value_t *found = c->result.initial_values[p];
    const hr_str_t *name =
        hr_map_get(&compiler->restored, (hr_str_t){(const char *)&found, sizeof found});
    if (found && name) c->result.initial_names[p] = *name;
    resource->value = resource->initial;
  }
  return NULL;
}

/* Restored variables that are written although they are no arguments. */
static hr_status_t list_written(xla_compilation_t *c) {
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
static hr_status_t run(xla_compilation_t *c, const tf_execution_t *execution,
                       xla_compilation_result_t *out_result) {
  tf_value_t *values;
  xla_exprs_t results = {0};
  hr_status_t st = HR_NEW_ARRAY(c->compiler.arena, execution->wanted_count, &values);
  if (!st) st = tf_execute(&c->compiler, &c->builder, execution, values);
  if (!st) st = finish(c, execution->wanted_count, values, &results);
  if (!st) st = list_written(c);
  HR_VEC_FREE(&results);
  if (!st) *out_result = c->result;
  return st;
}

/* The entry computation is begun first and ends last. */
static hr_status_t begin(xla_compilation_t *c, const tf_graph_t *graph, const char *name,
                         hlo_module_t *module) {
  c->compiler.graph = graph;
  c->compiler.module = module;
  c->compiler.arena = &module->arena;
  hr_map_init(&c->compiler.reducers);
  hr_map_init(&c->compiler.evaluated);
  hr_map_init(&c->compiler.waits);
  hr_map_init(&c->compiler.restored);
  hr_map_init(&c->compiler.host_tokens);
  xla_channels_init(&c->channels);
  c->compiler.channels = c->options->channels ? c->options->channels : &c->channels;
  c->compiler.import = c->options->import;
  HR_TRY(tf_computation_begin(&c->compiler, name, &c->builder));
  return xla_build_arguments(c);
}

/* Argument k of the function is argument k of the compilation. */
hr_status_t xla_compile_function(const tf_graph_t *graph, const tf_body_t *function,
                                 int argument_count, const xla_argument_t *arguments,
                                 const xla_compile_options_t *options, hlo_module_t *module,
                                 xla_compilation_result_t *out_result) {
  xla_compilation_t c = {
      .argument_count = argument_count, .arguments = arguments, .options = options};
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
  free_compiler(&c);
  return st;
}

/* A body of _Arg nodes and the node, whose inputs they are. */
static hr_status_t body_of_op(hr_arena_t *arena, const tf_node_t *node, int argument_count,
                              int output_count, tf_body_t *out) {
  *out = (tf_body_t){.name = node->name,
                     .node_count = argument_count + 1,
                     .arg_count = argument_count,
                     .ret_count = output_count};
  HR_TRY(HR_NEW_ARRAY(arena, argument_count + 1, &out->nodes));
  HR_TRY(HR_NEW_ARRAY(arena, output_count, &out->rets));
  tf_node_t *own = &out->nodes[argument_count];
  *own = *node;
  own->input_count = argument_count;
  own->control_count = 0;
  HR_TRY(HR_NEW_ARRAY(arena, argument_count, &own->inputs));
  HR_TRY(HR_NEW_ARRAY(arena, argument_count, &own->waits_for));
  for (int k = 0; k < argument_count; k++) {
    out->nodes[k] = (tf_node_t){.name = HR_STR("_arg"), .op = HR_STR("_Arg")};
    own->inputs[k] = (tf_input_t){k, 0};
    own->waits_for[k] = k;
  }
  for (int k = 0; k < output_count; k++) out->rets[k] = (tf_input_t){argument_count, k};
  return NULL;
}

hr_status_t xla_compile_single_op(const tf_graph_t *graph, const tf_node_t *node,
                                  int argument_count, const xla_argument_t *arguments,
                                  int output_count, const xla_compile_options_t *options,
                                  hlo_module_t *module, xla_compilation_result_t *out_result) {
  tf_body_t body;
  HR_TRY(body_of_op(&module->arena, node, argument_count, output_count, &body));
  return xla_compile_function(graph, &body, argument_count, arguments, options, module, out_result);
}

/* Cores that devices of the graph's nodes name: of a feed its own, of a variable the lowest of its
 * handles. */
static hr_status_t find_cores(hr_arena_t *arena, const tf_graph_t *graph,
                              const xla_graph_signature_t *signature, int count,
                              const xla_argument_t *arguments, xla_argument_t **out_arguments) {
  void *copy;
  HR_TRY(hr_arena_copy(arena, arguments, (size_t)count * sizeof *arguments, &copy));
  *out_arguments = copy;
  for (int i = 0; i < signature->feed_count && i < count; i++) {
    int core = xla_core_of_device(graph->main.nodes[signature->feeds[i].node].device);
    if (core >= 0) (*out_arguments)[i].core = core;
    (*out_arguments)[i].has_core |= core >= 0;
  }
  for (int n = 0; n < graph->main.node_count; n++) {
    const tf_node_t *node = &graph->main.nodes[n];
    int core = xla_core_of_device(node->device);
    if (core < 0 || !hr_str_is(node->op, "VarHandleOp")) continue;
    for (int i = signature->feed_count; i < count; i++) {
      xla_argument_t *argument = &(*out_arguments)[i];
      hr_str_t name;
      HR_TRY(tf_attr_str(arena, node, "shared_name", "", &name));
      if (!hr_str_equal(argument->name, name.size ? name : node->name)) continue;
      if (!argument->has_core || core < argument->core) argument->core = core;
      argument->has_core = true;
    }
  }
  return NULL;
}

/* Feeds take the values of the first arguments; variables are found by name when their nodes
 * run. */
hr_status_t xla_compile_graph(const tf_graph_t *graph, const xla_graph_signature_t *signature,
                              int argument_count, const xla_argument_t *arguments,
                              const xla_compile_options_t *options, hlo_module_t *module,
                              xla_compilation_result_t *out_result) {
  xla_compilation_t c = {
      .argument_count = argument_count, .arguments = arguments, .options = options};
  bool *is_fed;
  HR_TRY(HR_NEW_ARRAY(&module->arena, graph->main.node_count, &is_fed));
  xla_argument_t *placed;
  for (int i = 0; i < signature->feed_count; i++) is_fed[signature->feeds[i].node] = true;
  HR_TRY(xla_validate(graph, &graph->main, signature->fetch_count, signature->fetches, is_fed));
  HR_TRY(find_cores(&module->arena, graph, signature, argument_count, arguments, &placed));
  c.arguments = placed;
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
  free_compiler(&c);
  return st;
}
