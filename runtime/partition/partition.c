/* The way of a program through the partitioner, and which programs go it. Programs of manual
 * computations alone go it, too: nothing is left to do for them but to cut what enters. */
#include "partition/annotations/number_streams.h"
#include "partition/annotations/outline_manual.h"
#include "partition/explain_sharding.h"
#include "passes/cleanup/inline_calls.h"

static void explain_values(const spmd_options_t *options, const spmd_program_t *program) {
  if (options->explain && options->explain_json)
    spmd_explain_values_json(options->explain, program);
  else if (options->explain)
    spmd_explain_values(options->explain, program);
}

static hr_status_t explain_report(const spmd_options_t *options, const spmd_program_t *program) {
  if (!options->explain) return NULL;
  return (options->explain_json ? spmd_explain_report_json : spmd_explain_report)(options->explain,
                                                                                  program);
}

/* Such a program runs on any number of processes. Its arrays are global, and none is cut. */
static hr_status_t keep_whole(hlo_module_t *module, int64_t device_count) {
  int count = hlo_shape_leaf_count(module->entry->root->shape);
  const hlo_sharding_t **shardings;
  hlo_sharding_t *whole;
  HR_TRY(HR_NEW(&module->arena, &whole));
  HR_TRY(HR_NEW_ARRAY(&module->arena, count + 1, &shardings));
  whole->kind = HLO_TILE_KIND_REPLICATED;
  for (int i = 0; i < count; i++) shardings[i] = whole;
  module->result_shardings = shardings;
  module->was_global = true;
  if (device_count) module->num_partitions = device_count;
  return NULL;
}

hr_status_t spmd_run(hlo_module_t *module, const spmd_options_t *options) {
  spmd_program_t program;
  bool says = options->mesh || options->sharding;
  bool is_partitioned = module->num_partitions > 1 && spmd_is_partitioned(module);
  HR_TRY(spmd_number_streams(module));
  if (says && is_partitioned) return spmd_describe_parts(module, options);
  if (!spmd_is_global(module, options)) {
    if (spmd_is_whole(module)) return keep_whole(module, options->device_count);
    if (options->device_count == 1) module->num_partitions = 1;
    bool is_told = module->result_shardings || module->num_partitions == 1;
    return is_partitioned && !is_told ? spmd_infer_results(module) : NULL;
  }
  if (options->replica_count) module->replica_count = options->replica_count;
  HR_TRY(spmd_outline_manual(module));
  HR_TRY(spmd_read_annotations(module, options, &program));
  HR_TRY(spmd_propagate(&program));
  explain_values(options, &program);
  if (options->stop_after_propagate) {
    if (options->explain_json) HR_TRY(spmd_explain_report_json(options->explain, &program));
    if (program.mesh) module->num_partitions = program.mesh->device_count;
    return spmd_write_shardings(&program);
  }
  module->was_global = true;
  HR_TRY(spmd_partition(&program));
  return explain_report(options, &program);
}
