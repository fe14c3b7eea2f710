/* Shardings of the program's parameters and results: of returned tuples, of a parameter that is a
 * tuple, and from --sharding, which replaces annotations. */
#include <string.h>

#include "partition/annotations/reader.h"

/* The instruction that is leaf number `leaf` of the tuple that `root` builds. */
static const hlo_instr_t *leaf_of(const hlo_instr_t *root, int leaf) {
  for (int k = 0; root->op == HLO_TUPLE && k < root->operand_count; k++) {
    int count = hlo_shape_leaf_count(root->operands[k]->shape);
    if (leaf < count) return leaf_of(root->operands[k], leaf);
    leaf -= count;
  }
  return root;
}

hr_status_t spmd_pass_results_on(spmd_reader_t *reader) {
  const hlo_instr_t *root = reader->module->entry->root;
  spmd_value_t **values = reader->program->computations[root->parent->id].values;
  int count = hlo_shape_leaf_count(root->shape);
  for (int leaf = 0; leaf < count && root->op == HLO_TUPLE; leaf++) {
    const hlo_instr_t *marker = leaf_of(root, leaf);
    const spmd_sharding_t *sharding = values[root->id][leaf].sharding;
    if (spmd_marker_of(marker) == SPMD_RESULT && sharding && !values[marker->id][0].sharding)
      HR_TRY(spmd_set_value(reader, marker, 0, sharding, SPMD_FROM_PROGRAM));
    values[root->id][leaf].sharding = NULL;
  }
  return NULL;
}

static const spmd_mesh_t *placement_of(const spmd_reader_t *reader, const hlo_instr_t *instr,
                                       int leaf) {
  const spmd_computation_t *entry = &reader->program->computations[reader->module->entry->id];
  bool any = entry->placements && entry->placements[instr->id];
  return any ? entry->placements[instr->id][leaf] : NULL;
}

hr_status_t spmd_note_entry_placements(spmd_reader_t *reader) {
  spmd_program_t *program = reader->program;
  const hlo_computation_t *entry = reader->module->entry;
  int count = hlo_computation_param_leaf_count(entry);
  int results = hlo_shape_leaf_count(entry->root->shape);
  const spmd_mesh_t **of_params, **of_results;
  HR_TRY(HR_NEW_ARRAY(program->arena, count + 1, &of_params));
  HR_TRY(HR_NEW_ARRAY(program->arena, results + 1, &of_results));
  count = 0;
  for (size_t k = 0; k < entry->params.count; k++)
    for (int leaf = 0; leaf < hlo_shape_leaf_count(entry->params.data[k]->shape); leaf++)
      of_params[count++] = placement_of(reader, entry->params.data[k], leaf);
  for (int leaf = 0; leaf < results; leaf++) {
    const hlo_instr_t *marker = leaf_of(entry->root, leaf);
    if (spmd_marker_of(marker) == SPMD_RESULT) of_results[leaf] = placement_of(reader, marker, 0);
  }
  program->param_placements = of_params;
  program->result_placements = of_results;
  return NULL;
}

/* Reads xla.sdy.tuple_args_shardings. */
hr_status_t spmd_read_tuple_args(spmd_reader_t *reader) {
  hr_str_t text = spmd_module_attribute(reader->module, "xla.sdy.tuple_args_shardings");
  const hlo_computation_t *entry = reader->module->entry;
  if (!text.size || entry->params.count != 1 || !reader->sdy || reader->ignored) return NULL;
  const hlo_instr_t *param = entry->params.data[0];
  int count = hlo_shape_leaf_count(param->shape);
  const spmd_sharding_t **shardings;
  HR_TRY(HR_NEW_ARRAY(reader->program->arena, count + 1, &shardings));
  HR_TRY(spmd_read_shardings(&reader->meshes, text, count, shardings));
  for (int leaf = 0; leaf < count; leaf++)
    HR_TRY(spmd_set_value(reader, param, leaf, shardings[leaf], SPMD_FROM_PROGRAM));
  return NULL;
}

/* Inputs are numbered by leaf, across the parameters. */
static hr_status_t find_input(const spmd_reader_t *reader, const spmd_option_t *option,
                              const hlo_instr_t **out_instr, int *out_leaf) {
  const hlo_computation_t *entry = reader->module->entry;
  int64_t left = option->number;
  for (size_t k = 0; k < entry->params.count; k++) {
    int count = hlo_shape_leaf_count(entry->params.data[k]->shape);
    *out_instr = entry->params.data[k];
    *out_leaf = (int)left;
    if (left < count) return NULL;
    left -= count;
  }
  return spmd_option_error_absent(option, option->number - left);
}

/* The marker of the flattened result. */
static hr_status_t find_output(const spmd_reader_t *reader, const spmd_option_t *option,
                               const hlo_instr_t **out_instr, int *out_leaf) {
  const hlo_instr_t *root = reader->module->entry->root;
  int count = hlo_shape_leaf_count(root->shape);
  if (option->number >= count) return spmd_option_error_absent(option, count);
  *out_instr = leaf_of(root, (int)option->number);
  *out_leaf = 0;
  return NULL;
}

/* Errors are USAGE, not INVALID: a sharding that does not fit is the user's mistake. */
static hr_status_t read_assignment(spmd_reader_t *reader, const spmd_option_t *option) {
  const hlo_instr_t *instr;
  const spmd_sharding_t *sharding;
  int leaf;
  HR_TRY((option->is_input ? find_input : find_output)(reader, option, &instr, &leaf));
  const spmd_value_t *value =
      &reader->program->computations[instr->parent->id].values[instr->id][leaf];
  if (value->origin == SPMD_FROM_USER) return spmd_option_error_twice(option);
  int rank = hlo_shape_leaf(instr->shape, leaf)->rank;
  HR_TRY(spmd_read_option_sharding(&reader->meshes, option, rank, &sharding));
  hr_status_t st = spmd_set_value(reader, instr, leaf, sharding, SPMD_FROM_USER);
  if (hr_status_code(st) != HR_INVALID) return st;
  hr_status_t usage = spmd_option_error(option, "%s", hr_status_message(st));
  hr_status_release(st);
  return usage;
}

hr_status_t spmd_read_options(spmd_reader_t *reader) {
  hr_str_t text = hr_str_from(reader->options->sharding);
  while (text.size) {
    spmd_option_t option;
    HR_TRY(spmd_next_option(&text, &option));
    HR_TRY(read_assignment(reader, &option));
  }
  return NULL;
}
