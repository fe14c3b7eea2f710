/* Functions and the module. The entry function is imported first, callees at their first call, so
 * that HLO lists callees before callers; recursion is refused, as HLO has none. Blocks and ops are
 * in import_block.c, verification of functions that nothing calls in verify_functions.c. */
#include <ctype.h>
#include <string.h>

#include "base/mem.h"
#include "ir/sharding.h"
#include "ops/rules/verify.h"
#include "stablehlo/import/import.h"

/* --- functions --- */

/* Types are not uniqued: two types are compared by their shapes. */
static hr_status_t check_same_type(import_scope_t *scope, const mlir_op_t *op, const char *what,
                                   int index, const mlir_type_t *declared,
                                   const mlir_type_t *given) {
  const hlo_shape_t *shapes[2];
  char text[2][HLO_SHAPE_TEXT];
  if (declared == given || declared->kind == MLIR_TYPE_OPAQUE) return NULL;
  if ((declared->kind == MLIR_TYPE_FUTURE) != (given->kind == MLIR_TYPE_FUTURE))
    return import_error(scope, op, "%s %d is %s future, and the function's type says otherwise",
                        what, index, given->kind == MLIR_TYPE_FUTURE ? "a" : "no");
  HR_TRY(import_shape(scope->importer, declared, &shapes[0]));
  HR_TRY(import_shape(scope->importer, given, &shapes[1]));
  if (hlo_shape_equal(shapes[0], shapes[1])) return NULL;
  return import_error(scope, op, "%s %d is %s, and the function's type says %s", what, index,
                      hlo_shape_text(shapes[1], text[0]), hlo_shape_text(shapes[0], text[1]));
}

/* The function's type; NULL if it has none. */
static const mlir_type_t *function_type(const mlir_op_t *function) {
  const mlir_attr_t *attr = mlir_op_attr(function, "function_type");
  return attr && attr->type && attr->type->kind == MLIR_TYPE_FUNCTION ? attr->type : NULL;
}

/* The generic form has a function's arguments twice: in its type and on its block. */
static hr_status_t check_arguments(import_scope_t *scope, const mlir_op_t *function,
                                   const mlir_block_t *block) {
  const mlir_type_t *type = function_type(function);
  if (!type) return NULL;
  if (type->input_count != block->arg_count)
    return import_error(scope, function, "its block has %d arguments, and its type %d",
                        block->arg_count, type->input_count);
  for (int i = 0; i < type->input_count; i++)
    HR_TRY(check_same_type(scope, function, "block argument", i, type->inputs[i],
                           block->args[i].type));
  return NULL;
}

/* Compares what a function returns with its type. */
static hr_status_t check_returned(import_scope_t *scope, const mlir_op_t *function,
                                  const mlir_op_t *terminator) {
  const mlir_type_t *type = function_type(function);
  if (!type) return NULL;
  if (type->result_count != terminator->operand_count)
    return import_error(scope, terminator, "%d values are returned, want %d",
                        terminator->operand_count, type->result_count);
  for (int i = 0; i < type->result_count; i++)
    HR_TRY(check_same_type(scope, terminator, "value", i, type->results[i],
                           terminator->operands[i]->type));
  return NULL;
}

/* mhlo.sharding of the results is set on the root: on a tuple of results, with "replicated" for
 * results without one, or on the only result, unless it has a sharding already. */
static hr_status_t import_result_shardings(importer_t *importer, const mlir_op_t *function,
                                           int count, hlo_instr_t *root) {
  static const hlo_sharding_t replicated = {.kind = HLO_TILE_KIND_REPLICATED};
  const hlo_sharding_t **each;
  hlo_sharding_t *tuple;
  hlo_extra_t *extra;
  bool any = false;
  if (!root || !count || (root->extra && root->extra->sharding)) return NULL;
  HR_TRY(HR_NEW_ARRAY(importer->arena, count, &each));
  for (int i = 0; i < count; i++) {
    HR_TRY(import_sharding(importer, function,
                           import_value_attr(function, "res_attrs", i, "mhlo.sharding"), &each[i]));
    any |= each[i] != NULL;
    if (!each[i]) each[i] = &replicated;
  }
  if (!any) return NULL;
  HR_TRY(import_op_extra(importer, root, &extra));
  extra->sharding = each[0];
  if (count == 1) return NULL;
  HR_TRY(HR_NEW(importer->arena, &tuple));
  *tuple = (hlo_sharding_t){.kind = HLO_TILE_KIND_TUPLE, .element_count = count, .elements = each};
  extra->sharding = tuple;
  return NULL;
}

/* True for the hidden argument of jax.export's programs for several platforms, which selects the
 * platform. */
bool import_is_platform_index(const mlir_op_t *function, int index) {
  const mlir_attr_t *constant =
      import_value_attr(function, "arg_attrs", index, "jax.global_constant");
  return constant && constant->kind == MLIR_ATTR_STRING &&
         hr_str_is(constant->text, "_platform_index");
}

/* Number of hidden arguments of the entry before `index`; they do not become parameters. */
static int hidden_before(const mlir_op_t *entry, int index) {
  int count = 0;
  for (int i = 0; i < index; i++) count += import_is_platform_index(entry, i);
  return count;
}

/* Names a parameter after its location: "params['w']" gives params__w__.1, with the number chosen
 * by the builder. The full text becomes its op_name. */
static hr_status_t name_parameter(importer_t *importer, const mlir_attr_t *location,
                                  hlo_instr_t *param) {
  const hlo_metadata_t *metadata;
  hlo_extra_t *extra;
  const char *name;
  HR_TRY(import_location(importer, location, &metadata));
  if (!param || !metadata || !metadata->op_name.size) return NULL;
  HR_TRY(import_op_extra(importer, param, &extra));
  extra->metadata = metadata;
  const char *dot = memrchr(param->name.data, '.', param->name.size);
  size_t tail = dot ? (size_t)(param->name.data + param->name.size - dot) : 0;
  HR_TRY(hr_arena_printf(importer->arena, &name, "%.*s%.*s", HR_STR_ARGS(metadata->op_name),
                         (int)tail, dot ? dot : ""));
  for (size_t i = 0; i < metadata->op_name.size; i++) {
    bool is_word = isalnum((unsigned char)name[i]) || name[i] == '_';
    if (!is_word || (!i && isdigit((unsigned char)name[i]))) ((char *)name)[i] = '_';
  }
  param->name = (hr_str_t){name, metadata->op_name.size + tail};
  return NULL;
}

/* A platform index becomes the number of hlorun's platform (cpu), and is no parameter of the
 * program; private functions keep it as an unused parameter. */
static hr_status_t import_arguments(importer_t *importer, const mlir_op_t *function,
                                    mlir_block_t *block, import_scope_t *scope) {
  bool is_entry = function == importer->entry;
  int number = 0;
  for (int i = 0; i < block->arg_count; i++) {
    const hlo_shape_t *shape;
    hlo_instr_t *param;
    HR_TRY(import_shape(importer, block->args[i].type, &shape));
    bool is_platform = import_is_platform_index(function, i);
    param = is_entry && is_platform ? NULL : hlo_build_parameter(&scope->builder, number++, shape);
    block->args[i].mapped = param;
    if (is_platform) {
      int platform = importer->from->platform_index;
      importer->module->asks_platform = !importer->from->platform_is_named;
      block->args[i].mapped =
          hlo_build_number(&scope->builder, platform < 0 ? 0 : platform, shape->dtype);
    }
    if (!param) continue;
    HR_TRY(import_argument_extra(importer, function, i, param));
    if (is_entry && block->arg_locations)
      HR_TRY(name_parameter(importer, block->arg_locations[i], param));
  }
  return NULL;
}

/* The only result. If it is a parameter with another sharding, a copy carries the result's
 * sharding. */
static hlo_instr_t *bare_result(import_scope_t *scope, const mlir_op_t *function,
                                hlo_instr_t *value) {
  bool is_cut = value->op == HLO_PARAMETER && value->extra && value->extra->sharding;
  if (!is_cut || !import_value_attr(function, "res_attrs", 0, "mhlo.sharding")) return value;
  scope->builder.extra = NULL; /* belongs to the last op */
  return hlo_build_unary(&scope->builder, HLO_COPY, value);
}

/* Like import_returned with `bare`; results with shardings of sdy are marked. */
static hlo_instr_t *function_returned(import_scope_t *scope, const mlir_op_t *function,
                                      const mlir_op_t *terminator) {
  hlo_instr_t **values;
  hr_status_t st = scope->builder.status;
  if (!st) st = import_operands(scope, terminator, &values);
  if (!st) st = import_result_marks(scope, function, terminator->operand_count, values);
  scope->builder.status = st;
  if (st) return NULL;
  if (terminator->operand_count == 1) return bare_result(scope, function, values[0]);
  scope->builder.extra = NULL; /* belongs to the last op */
  return hlo_build_tuple(&scope->builder, terminator->operand_count, values);
}

/* Arguments become parameters; the body and its terminator follow. */
static hr_status_t import_function(importer_t *importer, import_function_t *function,
                                   hr_str_t name) {
  mlir_block_t *block = import_block_of(function->op, 0);
  import_scope_t scope;
  mlir_op_t *terminator;
  if (function->is_importing)
    return mlir_error(importer->from, function->op, "%.*s calls itself", HR_STR_ARGS(name));
  if (!block)
    return mlir_error(importer->from, function->op, "%.*s has no body", HR_STR_ARGS(name));
  function->is_importing = true;
  importer->at = function->op;
  HR_TRY(sdy_verify_function(importer->sdy, function->op));
  HR_TRY(import_scope_new(importer, name, function->op, &scope));
  HR_TRY(check_arguments(&scope, function->op, block));
  HR_TRY(import_arguments(importer, function->op, block, &scope));
  HR_TRY(import_block(&scope, block, &terminator));
  HR_TRY(check_returned(&scope, function->op, terminator));
  HR_TRY(import_scope_close(&scope, function_returned(&scope, function->op, terminator)));
  HR_TRY(import_result_shardings(importer, function->op, terminator->operand_count,
                                 scope.builder.computation->root));
  function->computation = scope.builder.computation;
  function->is_importing = false;
  return NULL;
}

/* Imports the callee at its first call. A function that is still being imported is recursive,
 * which import_function refuses. */
hr_status_t import_function_named(import_scope_t *scope, const mlir_op_t *op, hr_str_t name,
                                  hlo_computation_t **out_computation) {
  import_function_t *function = hr_map_get(&scope->importer->functions, name);
  if (!function) return import_error(scope, op, "there is no function @%.*s", HR_STR_ARGS(name));
  if (!function->computation) HR_TRY(import_function(scope->importer, function, name));
  *out_computation = function->computation;
  return NULL;
}

/* --- the module --- */

bool import_is_function(const mlir_op_t *op) {
  return hr_str_is(op->name, "func.func") && import_block_of(op, 0);
}

/* Symbols of the module; duplicates are errors. */
static hr_status_t list_functions(importer_t *importer, const mlir_block_t *block) {
  for (size_t i = 0; i < block->ops.count; i++) {
    const mlir_op_t *op = block->ops.data[i];
    if (!hr_str_is(op->name, "func.func")) continue;
    import_function_t *function;
    void *taken;
    HR_TRY(HR_NEW(importer->arena, &function));
    function->op = op;
    HR_TRY(hr_map_put(&importer->functions, import_str(op, "sym_name"), function, &taken));
    if (taken)
      return mlir_error(importer->from, op, "@%.*s is defined twice",
                        HR_STR_ARGS(import_str(op, "sym_name")));
  }
  return NULL;
}

/* The first of equals. */
const mlir_op_t *import_find_entry(const mlir_module_t *from) {
  const mlir_block_t *block = import_block_of(from->op, 0);
  const mlir_op_t *only = NULL, *first_public = NULL;
  int count = 0;
  for (size_t i = 0; block && i < block->ops.count; i++) {
    const mlir_op_t *op = block->ops.data[i];
    if (!import_is_function(op)) continue;
    if (hr_str_is(import_str(op, "sym_name"), "main")) return op;
    if (!first_public && !hr_str_is(import_str(op, "sym_visibility"), "private")) first_public = op;
    only = op;
    count++;
  }
  return count == 1 ? only : first_public;
}

/* Donated arguments: tf.aliasing_output names the result that takes over the buffer,
 * jax.buffer_donor leaves the choice open. Numbers are those of parameters, without hidden
 * arguments. */
static hr_status_t import_donations(importer_t *importer, const mlir_op_t *entry) {
  const mlir_attr_t *args = mlir_op_attr(entry, "arg_attrs");
  const mlir_type_t *type =
      mlir_op_attr(entry, "function_type") ? mlir_op_attr(entry, "function_type")->type : NULL;
  if (!args || args->kind != MLIR_ATTR_ARRAY || !type) return NULL;
  hlo_alias_t *aliases, *donors;
  int64_t *indices;
  HR_TRY(HR_NEW_ARRAY(importer->arena, args->count, &aliases));
  HR_TRY(HR_NEW_ARRAY(importer->arena, args->count, &donors));
  HR_TRY(HR_NEW_ARRAY(importer->arena, args->count, &indices));
  int alias_count = 0, donor_count = 0;
  for (int i = 0; i < args->count; i++) {
    const mlir_attr_t *result = mlir_attr_field(args->items[i], "tf.aliasing_output");
    int operand = i - hidden_before(entry, i);
    if (mlir_attr_field(args->items[i], "jax.buffer_donor"))
      donors[donor_count++].operand = operand;
    if (!result) continue;
    indices[i] = result->integer;
    aliases[alias_count] = (hlo_alias_t){.operand = operand};
    if (type->result_count != 1) aliases[alias_count].output_index = (hr_ints_t){&indices[i], 1};
    alias_count++;
  }
  importer->module->input_output_alias = (hlo_aliasing_t){alias_count, aliases};
  importer->module->buffer_donor = (hlo_aliasing_t){donor_count, donors};
  return NULL;
}

/* Name, frontend attributes and the sizes of the grid. */
static hr_status_t import_header(importer_t *importer, const mlir_op_t *op) {
  hlo_module_t *module = importer->module;
  hr_str_t name = import_str(op, "sym_name");
  const hlo_extra_t *extra;
  import_frontend_attrs_t note;
  if (name.size) HR_TRY(hr_arena_str(importer->arena, name, &module->name));
  HR_TRY(import_extra(&(import_scope_t){.importer = importer}, op, &extra, &note));
  if (extra && extra->frontend_attributes.count)
    module->frontend_attributes = extra->frontend_attributes;
  module->num_partitions = import_int(op, "mhlo.num_partitions", 1);
  module->replica_count = import_int(op, "mhlo.num_replicas", 1);
  return NULL;
}

/* The entry by its name; it may have been imported already, as a callee. */
static hr_status_t import_named(importer_t *importer, const mlir_op_t *op,
                                hlo_computation_t **out_computation) {
  hr_str_t name = import_str(op, "sym_name");
  import_function_t *function = hr_map_get(&importer->functions, name);
  if (!function->computation) HR_TRY(import_function(importer, function, name));
  *out_computation = function->computation;
  return NULL;
}

/* Attributes of the module, functions, entry, aliasing. */
static hr_status_t import_module(importer_t *importer, const mlir_op_t *entry) {
  const mlir_op_t *op = importer->from->op;
  mlir_block_t *block = import_block_of(op, 0);
  hlo_module_t *module = importer->module;
  if (block) HR_TRY(sdy_verifier_create(importer->from, block, importer->arena, &importer->sdy));
  if (!entry)
    return mlir_error(importer->from, op,
                      "no function to run: want @main, one public function, or only one; a library "
                      "of functions can be checked, and converted to MLIR");
  importer->entry = entry;
  importer->is_interpreted = import_has_checks(block);
  HR_TRY(import_list_rows(importer));
  HR_TRY(list_functions(importer, block));
  HR_TRY(import_meshes(importer, block));
  HR_TRY(import_header(importer, op));
  HR_TRY(import_named(importer, entry, &module->entry));
  HR_TRY(import_donations(importer, entry));
  HR_TRY(import_module_frontend_attrs(importer, op));
  return import_places(importer, entry);
}

/* True if the function was reached and imported. */
static bool is_imported(const importer_t *importer, const mlir_op_t *function) {
  const import_function_t *known =
      hr_map_get(&importer->functions, import_str(function, "sym_name"));
  return known && known->computation;
}

/* Imports the functions of the range with bodies that nothing imported so far calls. */
static hr_status_t import_uncalled(importer_t *importer, const mlir_block_t *block,
                                   import_range_t range) {
  for (size_t i = range.first; i < range.end; i++) {
    const mlir_op_t *op = block->ops.data[i];
    hlo_computation_t *computation;
    if (import_is_function(op) && !is_imported(importer, op))
      HR_TRY(import_named(importer, op, &computation));
  }
  return NULL;
}

hr_status_t import_from(const mlir_module_t *from, const mlir_op_t *entry,
                        const stablehlo_readers_t *readers, hlo_module_t *module,
                        import_range_t range, bool *out_reached) {
  const mlir_block_t *block = import_block_of(from->op, 0);
  importer_t importer = {
      .from = from, .readers = readers, .module = module, .arena = &module->arena};
  hr_status_t st = import_module(&importer, entry);
  if (!st) st = import_uncalled(&importer, block, range);
  for (size_t i = 0; out_reached && block && i < block->ops.count; i++)
    if (is_imported(&importer, block->ops.data[i])) out_reached[i] = true;
  sdy_verifier_deinit(importer.sdy);
  hr_map_deinit(&importer.functions);
  hr_map_deinit(&importer.names);
  hr_map_deinit(&importer.awaited);
  return st;
}

hr_status_t stablehlo_import(const mlir_module_t *from, const stablehlo_readers_t *readers,
                             hlo_module_t *module) {
  return import_from(from, import_find_entry(from), readers, module, (import_range_t){0, 0}, NULL);
}
