/* What the partitioner decided, as a table for people:
 *
 *   train.mlir:12:10 dot_general.4 f32[16,8] <@mesh, [{"d"}, {"m"}]> from operand add.3
 *
 * One line for each array of the program, parameters first; loops and branches follow where they
 * are called. Cost: linear. */
#include "partition/explain_sharding.h"

static void print_place(hr_strbuf_t *text, const hlo_instr_t *instr) {
  const hr_source_t *source = &instr->parent->module->source;
  const char *path = source->path ? source->path : "-";
  if (instr->line)
    hr_strbuf_printf(text, "%s:%u:%u ", path, instr->line, instr->column);
  else
    hr_strbuf_printf(text, "%s ", path);
}

static void print_origin(hr_strbuf_t *text, const spmd_value_t *value) {
  static const char *const words[] = {[SPMD_FROM_NOTHING] = "",
                                      [SPMD_FROM_PROGRAM] = " annotated",
                                      [SPMD_FROM_USER] = " by --sharding",
                                      [SPMD_FROM_OPERAND] = " forward by",
                                      [SPMD_FROM_USE] = " backward by",
                                      [SPMD_FROM_EDGE] = " along"};
  hr_strbuf_add_str(text, words[value->origin]);
  if (value->source && value->origin > SPMD_FROM_USER)
    hr_strbuf_printf(text, " %.*s", HR_STR_ARGS(value->source->name));
}

static void print_value(hr_strbuf_t *text, const spmd_value_t *value, const hlo_shape_t *shape) {
  hr_strbuf_add_char(text, ' ');
  hlo_shape_print(text, shape, false);
  hr_strbuf_add_char(text, ' ');
  if (!value->sharding)
    hr_strbuf_add_str(text, "replicated");
  else if (value->sharding->device >= 0)
    hr_strbuf_printf(text, "on device %ld", (long)value->sharding->device);
  else
    spmd_sharding_print(text, value->sharding);
  print_origin(text, value);
}

static bool has_own_values(const hlo_instr_t *instr) {
  return instr->op != HLO_TUPLE && instr->op != HLO_GET_TUPLE_ELEMENT;
}

static void explain_instr(hr_strbuf_t *text, const spmd_program_t *program,
                          const hlo_instr_t *instr) {
  const spmd_value_t *values = program->computations[instr->parent->id].values[instr->id];
  int count = hlo_shape_leaf_count(instr->shape);
  for (int leaf = 0; leaf < count && has_own_values(instr); leaf++) {
    const hlo_shape_t *shape = hlo_shape_leaf(instr->shape, leaf);
    if (!hlo_shape_is_array(shape)) continue;
    print_place(text, instr);
    hr_strbuf_printf(text, "%.*s", HR_STR_ARGS(instr->name));
    if (count > 1) hr_strbuf_printf(text, "#%d", leaf);
    print_value(text, &values[leaf], shape);
    hr_strbuf_add_char(text, '\n');
  }
}

void spmd_explain_values(hr_strbuf_t *text, const spmd_program_t *program) {
  const hlo_module_t *module = program->module;
  for (size_t c = module->computations.count; c-- > 0;) {
    const hlo_computation_t *computation = module->computations.data[c];
    for (size_t i = 0; i < computation->instrs.count && program->computations[c].values; i++)
      explain_instr(text, program, computation->instrs.data[i]);
  }
}
