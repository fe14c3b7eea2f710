/* Arguments of a compilation become parameters, and resources are returned where they were changed:
 * the first and the last step of XlaCompiler.
 *
 *   argument            parameter (none if a resource has no value yet)
 *   kParameter          its shape, in the representation of the entry computation
 *   kVariable           shape of the value, in the same representation
 *   kTensorArray        [size, entry...], or a tuple of it and its gradients
 *   kStack              ([size, entry...], s32[] count)
 *   kConstant           none
 *
 * With use_tuple_arg all of these are elements of one parameter. Arguments with a named core have a
 * sharding that places them there. */
#include <ctype.h>
#include <string.h>

#include "ir/name.h"
#include "ir/sharding.h"
#include "tf/compile/xla_compilation.h"

/* --- cores --- */

int xla_core_of_device(hr_str_t device) {
  static const char mark[] = "device:TPU_REPLICATED_CORE:";
  const char *at = device.size ? memmem(device.data, device.size, mark, sizeof mark - 1) : NULL;
  int core = 0;
  if (!at) return -1;
  at += sizeof mark - 1;
  if (at >= device.data + device.size || !isdigit((unsigned char)*at)) return -1;
  for (; at < device.data + device.size && isdigit((unsigned char)*at) && core < 10000; at++)
    core = 10 * core + *at - '0';
  return core;
}

/* The whole value on one device. */
static hr_status_t sharding_on(hr_arena_t *arena, int core, const hlo_sharding_t **out) {
  hlo_sharding_t *sharding;
  HR_TRY(HR_NEW(arena, &sharding));
  sharding->kind = HLO_TILE_KIND_MAXIMAL;
  sharding->device = core;
  *out = sharding;
  return NULL;
}

hr_status_t xla_extra(hr_arena_t *arena, int core, hr_str_t op_type, hr_str_t op_name,
                      const hlo_extra_t **out_extra) {
  hlo_extra_t *extra;
  hlo_metadata_t *metadata;
  HR_TRY(HR_NEW(arena, &extra));
  HR_TRY(HR_NEW(arena, &metadata));
  metadata->op_type = op_type;
  metadata->op_name = op_name;
  extra->metadata = metadata;
  if (core >= 0) HR_TRY(sharding_on(arena, core, &extra->sharding));
  *out_extra = extra;
  return NULL;
}

static int core_of(const xla_argument_t *argument) {
  return argument->has_core ? argument->core : -1;
}

/* Cores are partitions: there are as many as the largest number says. */
static void count_cores(xla_compilation_t *c) {
  for (int i = 0; i < c->argument_count; i++) {
    int core = core_of(&c->arguments[i]);
    if (core >= c->compiler.module->num_partitions) c->compiler.module->num_partitions = core + 1;
  }
}

/* --- parameters --- */

/* Constants and resources that are not initialised take no run-time parameter. */
static bool takes_parameter(const xla_argument_t *argument, bool resources) {
  if (resources) return argument->kind == XLA_ARGUMENT_RESOURCE && argument->initialized;
  return argument->kind == XLA_ARGUMENT_PARAMETER;
}

/* input_mapping: parameters first, then initialised resources, each in the order of arguments. */
static hr_status_t map_parameters(xla_compilation_t *c) {
  HR_TRY(HR_NEW_ARRAY(c->compiler.arena, c->argument_count, &c->result.input_mapping));
  for (int block = 0; block < 2; block++)
    for (int i = 0; i < c->argument_count; i++)
      if (takes_parameter(&c->arguments[i], block == 1))
        c->result.input_mapping[c->result.parameter_count++] = i;
  return NULL;
}

/* [size, entry...] of a TensorArray or stack. */
static hr_status_t stacked_shape(hr_arena_t *arena, const xla_argument_t *argument,
                                 const hlo_shape_t **out) {
  const hlo_shape_t *entry = argument->shape;
  int64_t dims[HLO_MAX_RANK] = {argument->tensor_array_size};
  if (argument->tensor_array_size < 0)
    return hr_error(HR_INVALID, "Negative tensor_array_size in XLAShapeForArgument");
  if (entry->rank >= HLO_MAX_RANK) return hr_error(HR_INVALID, "an entry of too many dimensions");
  for (int d = 0; d < entry->rank; d++) dims[d + 1] = entry->dims[d];
  return hlo_shape_array(arena, entry->dtype, entry->rank + 1, dims, out);
}

/* Parameters and variables of the entry computation have the representation that the options give
 * their shape. */
static hr_status_t represent(const xla_compile_options_t *options, hr_arena_t *arena,
                             const hlo_shape_t *shape, const hlo_shape_t **out) {
  *out = shape;
  if (!options->represent || !options->is_entry_computation) return NULL;
  HR_TRY(options->represent(options->represent_context, arena, shape, out));
  if (hlo_shape_elements(*out) == hlo_shape_elements(shape) && (*out)->dtype == shape->dtype)
    return NULL;
  return hr_error(HR_INVALID, "the representation of a shape has other elements");
}

/* XLAShapeForArgument. */
static hr_status_t parameter_shape(xla_compilation_t *c, const xla_argument_t *argument,
                                   const hlo_shape_t **out) {
  hr_arena_t *arena = c->compiler.arena;
  const hlo_shape_t *array, **parts;
  bool is_variable = argument->resource_kind == XLA_RESOURCE_VARIABLE;
  if (argument->kind == XLA_ARGUMENT_PARAMETER || is_variable)
    return represent(c->options, arena, argument->shape, out);
  HR_TRY(stacked_shape(arena, argument, &array));
  bool is_stack = argument->resource_kind == XLA_RESOURCE_STACK;
  int more = is_stack ? 1 : argument->gradient_count;
  *out = array;
  if (!more) return NULL;
  HR_TRY(HR_NEW_ARRAY(arena, more + 1, &parts));
  for (int i = 0; i <= more; i++) parts[i] = array;
  if (is_stack) parts[1] = hlo_shape_scalar(HR_S32);
  return hlo_shape_tuple(arena, more + 1, parts, out);
}

/* Shardings of the elements of a tuple parameter. Elements without a named core are on the
 * first. */
static hr_status_t tuple_sharding(xla_compilation_t *c, const hlo_sharding_t **out) {
  hlo_sharding_t *sharding;
  const hlo_sharding_t **elements;
  int count = c->result.parameter_count;
  bool any = false;
  *out = NULL;
  for (int p = 0; p < count; p++) any |= core_of(&c->arguments[c->result.input_mapping[p]]) >= 0;
  if (!any) return NULL;
  HR_TRY(HR_NEW(c->compiler.arena, &sharding));
  HR_TRY(HR_NEW_ARRAY(c->compiler.arena, count, &elements));
  for (int p = 0; p < count; p++) {
    int core = core_of(&c->arguments[c->result.input_mapping[p]]);
    HR_TRY(sharding_on(c->compiler.arena, core < 0 ? 0 : core, &elements[p]));
  }
  *sharding =
      (hlo_sharding_t){.kind = HLO_TILE_KIND_TUPLE, .element_count = count, .elements = elements};
  *out = sharding;
  return NULL;
}

/* One tuple parameter; its elements stand for the parameters. */
static hr_status_t make_tuple_parameter(xla_compilation_t *c, const hlo_shape_t *const *shapes,
                                        expr_t *out_params) {
  const hlo_shape_t *tuple;
  const hlo_extra_t *extra;
  hlo_extra_t *sharded;
  int count = c->result.parameter_count;
  HR_TRY(hlo_shape_tuple(c->compiler.arena, count, shapes, &tuple));
  HR_TRY(xla_extra(c->compiler.arena, -1, (hr_str_t){0}, HR_STR("XLA_Args"), &extra));
  HR_TRY(HR_NEW(c->compiler.arena, &sharded));
  *sharded = *extra;
  HR_TRY(tuple_sharding(c, &sharded->sharding));
  c->builder.extra = sharded;
  expr_t whole = hlo_build_parameter(&c->builder, 0, tuple);
  c->builder.extra = extra;
  for (int p = 0; p < count; p++) out_params[p] = hlo_build_element(&c->builder, whole, p);
  c->builder.extra = NULL;
  return hlo_builder_finish(&c->builder);
}

/* Names a parameter like its argument, with the suffix that makes names of instructions unique. */
static hr_status_t name_parameter(xla_compilation_t *c, hlo_instr_t *param,
                                  const xla_argument_t *argument) {
  hr_arena_t *arena = &param->parent->module->arena;
  hr_str_t base;
  const char *name;
  if (!argument->name.size) return NULL;
  HR_TRY(hlo_name_make_valid(c->compiler.arena, argument->name, &base));
  HR_TRY(hr_arena_printf(arena, &name, "%.*s.%u", HR_STR_ARGS(base), param->id));
  param->name = hr_str_from(name);
  return NULL;
}

/* One parameter each, or elements of one tuple parameter, which has the same order. */
static hr_status_t make_parameters(xla_compilation_t *c, expr_t *out_params) {
  int count = c->result.parameter_count;
  const hlo_shape_t **shapes;
  HR_TRY(HR_NEW_ARRAY(c->compiler.arena, count, &shapes));
  count_cores(c);
  for (int p = 0; p < count; p++)
    HR_TRY(parameter_shape(c, &c->arguments[c->result.input_mapping[p]], &shapes[p]));
  if (c->options->use_tuple_arg) return make_tuple_parameter(c, shapes, out_params);
  for (int p = 0; p < count; p++) {
    const xla_argument_t *argument = &c->arguments[c->result.input_mapping[p]];
    HR_TRY(xla_extra(c->compiler.arena, core_of(argument), (hr_str_t){0}, HR_STR("XLA_Args"),
                     &c->builder.extra));
    out_params[p] = hlo_build_parameter(&c->builder, p, shapes[p]);
    if (out_params[p]) HR_TRY(name_parameter(c, out_params[p], argument));
  }
  c->builder.extra = NULL;
  return hlo_builder_finish(&c->builder);
}

/* --- resources --- */

/* Its value is set by xla_build_arguments() if it has a parameter, and stays NULL otherwise. */
static hr_status_t make_resource(xla_compilation_t *c, int index) {
  const xla_argument_t *argument = &c->arguments[index];
  tf_resource_t *resource;
  HR_TRY(HR_NEW(c->compiler.arena, &resource));
  resource->kind = argument->resource_kind;
  resource->name = argument->name;
  resource->argument = index;
  resource->size = argument->tensor_array_size;
  if (argument->shape) resource->dtype = argument->shape->dtype;
  c->values[index] = (tf_value_t){.kind = TF_VALUE_RESOURCE, .resource = resource};
  HR_VEC_PUSH(&c->compiler.resources, resource);
  return NULL;
}

/* Gradients of a TensorArray that its parameter brings along, in the order of the set. */
static hr_status_t take_gradients(xla_compilation_t *c, tf_resource_t *array, expr_t whole) {
  const xla_argument_t *argument = &c->arguments[array->argument];
  tf_resource_t **next = &array->gradients;
  array->value = hlo_build_element(&c->builder, whole, 0);
  for (int g = 0; g < argument->gradient_count; g++) {
    HR_TRY(HR_NEW(c->compiler.arena, next));
    **next = *array;
    (*next)->name = argument->gradients[g];
    (*next)->gradients = NULL;
    (*next)->value = hlo_build_element(&c->builder, whole, g + 1);
    (*next)->initial = (*next)->value;
    next = &(*next)->gradients;
  }
  return NULL;
}

/* The value of a resource on entry, out of its parameter. */
static hr_status_t set_initial(xla_compilation_t *c, tf_resource_t *resource, expr_t param) {
  const xla_argument_t *argument = &c->arguments[resource->argument];
  resource->value = param;
  if (resource->kind == XLA_RESOURCE_VARIABLE)
    resource->value = tf_reshape(&c->builder, param, argument->shape->rank, argument->shape->dims);
  if (resource->kind == XLA_RESOURCE_TENSOR_ARRAY && argument->gradient_count)
    HR_TRY(take_gradients(c, resource, param));
  resource->initial = resource->value;
  return NULL;
}

hr_status_t xla_build_arguments(xla_compilation_t *c) {
  expr_t *params;
  HR_TRY(HR_NEW_ARRAY(c->compiler.arena, c->argument_count, &c->values));
  HR_TRY(HR_NEW_ARRAY(c->compiler.arena, c->argument_count, &params));
  HR_TRY(map_parameters(c));
  HR_TRY(HR_NEW_ARRAY(c->compiler.arena, c->result.parameter_count, &c->result.initial_values));
  HR_TRY(HR_NEW_ARRAY(c->compiler.arena, c->result.parameter_count, &c->result.initial_names));
  HR_TRY(make_parameters(c, params));
  for (int i = 0; i < c->argument_count; i++) {
    const xla_argument_t *argument = &c->arguments[i];
    if (argument->kind == XLA_ARGUMENT_RESOURCE) HR_TRY(make_resource(c, i));
    if (argument->kind == XLA_ARGUMENT_CONSTANT)
      c->values[i] = (tf_value_t){.kind = TF_VALUE_ARRAY, .constant = argument->constant};
  }
  for (int p = 0; p < c->result.parameter_count; p++) {
    int index = c->result.input_mapping[p];
    tf_value_t *value = &c->values[index];
    const hlo_shape_t *shape = c->arguments[index].shape;
    if (value->kind == TF_VALUE_RESOURCE) {
      HR_TRY(set_initial(c, value->resource, params[p]));
    } else {
      expr_t x = tf_reshape(&c->builder, params[p], shape->rank, shape->dims);
      *value = (tf_value_t){.kind = TF_VALUE_ARRAY, .instr = x};
    }
  }
  return hlo_builder_finish(&c->builder);
}

/* --- updates --- */

/* Names of a TensorArray's gradients after the computation, and whether one of them is new or has
 * another value. `out_parts`: the array, then its gradients. */
static hr_status_t list_gradients(xla_compilation_t *c, const tf_resource_t *array,
                                  xla_resource_update_t *update, xla_exprs_t *out_parts) {
  int count = 0;
  for (tf_resource_t *g = array->gradients; g; g = g->gradients) count++;
  HR_TRY(HR_NEW_ARRAY(c->compiler.arena, count, &update->gradients));
  HR_VEC_PUSH(out_parts, array->value);
  for (tf_resource_t *g = array->gradients; g; g = g->gradients) {
    update->gradients[update->gradient_count++] = g->name;
    update->modified |= g->value != g->initial;
    HR_VEC_PUSH(out_parts, g->value);
  }
  return NULL;
}

/* The value that is returned: in the packed form of the parameter. */
static hr_status_t packed_value(xla_compilation_t *c, const tf_resource_t *resource,
                                xla_resource_update_t *update, expr_t *out) {
  const hlo_shape_t *shape;
  xla_exprs_t parts = {0};
  *out = resource->value;
  if (resource->kind == XLA_RESOURCE_VARIABLE) {
    HR_TRY(represent(c->options, c->compiler.arena, resource->value->shape, &shape));
    *out = tf_reshape(&c->builder, resource->value, shape->rank, shape->dims);
  }
  if (resource->kind != XLA_RESOURCE_TENSOR_ARRAY || !resource->gradients) return NULL;
  hr_status_t st = list_gradients(c, resource, update, &parts);
  if (!st) *out = hlo_build_tuple(&c->builder, (int)parts.count, parts.data);
  HR_VEC_FREE(&parts);
  return st;
}

/* Updated resources in the order of their arguments.
 * A resource is returned iff its value is no longer the initial one, or if all are asked for, as
 * loop bodies need. One without a value has nothing to return. */
hr_status_t xla_add_updates(xla_compilation_t *c, xla_exprs_t *results) {
  HR_TRY(HR_NEW_ARRAY(c->compiler.arena, c->argument_count, &c->result.updates));
  for (int i = 0; i < c->argument_count; i++) {
    if (c->arguments[i].kind != XLA_ARGUMENT_RESOURCE) continue;
    const tf_resource_t *resource = c->values[i].resource;
    if (!resource->value) continue;
    xla_resource_update_t update = {.input_index = i,
                                    .shape = resource->value->shape,
                                    .modified = resource->value != resource->initial};
    expr_t value;
    HR_TRY(packed_value(c, resource, &update, &value));
    if (!value) return hlo_builder_finish(&c->builder);
    if (!update.modified && !c->options->return_updated_values_for_all_resources) continue;
    c->result.updates[c->result.update_count++] = update;
    HR_VEC_PUSH(results, value);
  }
  return NULL;
}
