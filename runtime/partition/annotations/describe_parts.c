/* Options for programs that XLA has partitioned. The text of such a program has shardings of its
 * parameters, but none of its results. --mesh and --sharding give them, so that results can be
 * gathered into global arrays. Cost: one sharding for each array that is named. */
#include <string.h>

#include "partition/annotations/shardings.h"

typedef struct parts {
  hlo_module_t *module;           /* gets the shardings */
  spmd_meshes_t meshes;           /* the one of --mesh */
  bool *params;                   /* by parameter; true: named */
  const hlo_sharding_t **results; /* by leaf; NULL: not named */
  int result_count, named_count;
} parts_t;

/* "data,model" as the sharding of a value of this shape. */
static hr_status_t read_list(parts_t *parts, const spmd_option_t *option, const hlo_shape_t *shape,
                             const hlo_sharding_t **out_sharding) {
  const spmd_sharding_t *sharding;
  HR_TRY(spmd_read_option_sharding(&parts->meshes, option, shape->rank, &sharding));
  return spmd_sharding_to_hlo(&parts->module->arena, sharding, out_sharding);
}

/* Parameters of XLA's partitioned programs are arrays. */
static hr_status_t describe_param(parts_t *parts, const spmd_option_t *option) {
  const hlo_computation_t *entry = parts->module->entry;
  if (option->number >= (int64_t)entry->params.count)
    return spmd_option_error_absent(option, (int64_t)entry->params.count);
  if (parts->params[option->number]) return spmd_option_error_twice(option);
  parts->params[option->number] = true;
  hlo_instr_t *param = entry->params.data[option->number];
  hlo_extra_t *extra;
  HR_TRY(HR_NEW(&parts->module->arena, &extra));
  if (param->extra) *extra = *param->extra;
  HR_TRY(read_list(parts, option, param->shape, &extra->sharding));
  param->extra = extra;
  return NULL;
}

/* Results are leaves of the root. */
static hr_status_t describe_result(parts_t *parts, const spmd_option_t *option) {
  const hlo_shape_t *shape = parts->module->entry->root->shape;
  if (option->number >= parts->result_count)
    return spmd_option_error_absent(option, parts->result_count);
  const hlo_sharding_t **slot = &parts->results[option->number];
  if (*slot) return spmd_option_error_twice(option);
  parts->named_count++;
  return read_list(parts, option, hlo_shape_leaf(shape, (int)option->number), slot);
}

static hr_status_t describe_all(parts_t *parts, const spmd_options_t *options) {
  hr_str_t text = hr_str_from(options->sharding ? options->sharding : "");
  HR_TRY(HR_NEW_ARRAY(&parts->module->arena, parts->result_count + 1, &parts->results));
  HR_TRY(
      HR_NEW_ARRAY(&parts->module->arena, parts->module->entry->params.count + 1, &parts->params));
  while (text.size) {
    spmd_option_t option;
    HR_TRY(spmd_next_option(&text, &option));
    HR_TRY((option.is_input ? describe_param : describe_result)(parts, &option));
  }
  for (int i = 0; parts->named_count && i < parts->result_count; i++)
    if (!parts->results[i])
      return hr_error(HR_USAGE,
                      "option --sharding: nothing about out%d of a program that is partitioned "
                      "already: name all results, or none; out%d=- is whole",
                      i, i);
  return NULL;
}

hr_status_t spmd_describe_parts(hlo_module_t *module, const spmd_options_t *options) {
  parts_t parts = {.module = module,
                   .meshes = {.arena = &module->arena},
                   .result_count = hlo_shape_leaf_count(module->entry->root->shape)};
  if (!options->mesh)
    return hr_error(HR_USAGE,
                    "option --sharding: the program is partitioned already, and its mesh is not in "
                    "it: give --mesh, such as data=4,model=2");
  hr_status_t st = spmd_meshes_read_option(&parts.meshes, options->mesh);
  if (!st) st = spmd_meshes_join(&parts.meshes, module->num_partitions, true);
  if (!st) st = describe_all(&parts, options);
  spmd_meshes_deinit(&parts.meshes);
  HR_TRY(st);
  if (parts.named_count == 0) return NULL;
  module->result_shardings = parts.results;
  module->was_global = true;
  return NULL;
}
