/* The report of --explain-sharding=json, one object:
 *
 *   {"values": [{"file": "train.mlir", "line": 12, "column": 10, "name": "dot.4", "leaf": 0,
 *                "shape": "f32[16,8]", "sharding": "<@mesh, [...]>", "origin": "operand",
 *                "from": "add.3"}, ...],
 *    "collectives": [{..., "op": "dot", "collective": "all-reduce", "shape": "f32[8,8]",
 *                     "group": 4, "bytes": 384, "times": 1, "in_loop": false}, ...],
 *    "bytes": 384,
 *    "whole": [{..., "op": "sort", "shape": "f32[64]", "bytes": 256, "advice": "..."}, ...]}
 *
 * A value without a sharding has null; values of one device have "device 3". Shapes of collectives
 * are those of a process, all others global. */
#include "partition/explain_sharding.h"
#include "partition/lower/report.h"

static void add_string(hr_strbuf_t *text, const char *key, hr_str_t value) {
  hr_strbuf_printf(text, "\"%s\": \"", key);
  for (size_t i = 0; i < value.size; i++) {
    unsigned char c = (unsigned char)value.data[i];
    if (c == '"' || c == '\\') hr_strbuf_add_char(text, '\\');
    if (c < ' ')
      hr_strbuf_printf(text, "\\u%04x", c);
    else
      hr_strbuf_add_char(text, value.data[i]);
  }
  hr_strbuf_add_char(text, '"');
}

/* Place and name: the beginning of each object. */
static void begin(hr_strbuf_t *text, const hlo_instr_t *instr, const char *name_key) {
  const hr_source_t *source = instr ? &instr->parent->module->source : NULL;
  hr_strbuf_add_str(text, "{");
  if (!instr) return;
  add_string(text, "file", hr_str_from(source->path ? source->path : "-"));
  hr_strbuf_printf(text, ", \"line\": %u, \"column\": %u, ", instr->line, instr->column);
  add_string(text, name_key, instr->name);
  hr_strbuf_add_str(text, ", ");
}

static void add_shape(hr_strbuf_t *text, const hlo_shape_t *shape) {
  hr_strbuf_add_str(text, "\"shape\": \"");
  hlo_shape_print(text, shape, false);
  hr_strbuf_add_str(text, "\"");
}

/* --- values --- */

static void add_sharding(hr_strbuf_t *text, const spmd_sharding_t *sharding) {
  hr_strbuf_t words;
  if (!sharding) {
    hr_strbuf_add_str(text, ", \"sharding\": null");
    return;
  }
  hr_strbuf_init(&words);
  if (sharding->device >= 0)
    hr_strbuf_printf(&words, "device %ld", (long)sharding->device);
  else
    spmd_sharding_print(&words, sharding);
  hr_strbuf_add_str(text, ", ");
  add_string(text, "sharding", (hr_str_t){words.data, words.size});
  text->failed |= words.failed;
  hr_strbuf_deinit(&words);
}

static void add_value(hr_strbuf_t *text, const spmd_value_t *value, const hlo_instr_t *instr,
                      int leaf) {
  static const char *const origins[] = {
      [SPMD_FROM_NOTHING] = "none",    [SPMD_FROM_PROGRAM] = "program", [SPMD_FROM_USER] = "option",
      [SPMD_FROM_OPERAND] = "operand", [SPMD_FROM_USE] = "use",         [SPMD_FROM_EDGE] = "edge"};
  begin(text, instr, "name");
  hr_strbuf_printf(text, "\"leaf\": %d, ", leaf);
  add_shape(text, hlo_shape_leaf(instr->shape, leaf));
  add_sharding(text, value->sharding);
  hr_strbuf_printf(text, ", \"origin\": \"%s\"", origins[value->origin]);
  if (value->source && value->origin > SPMD_FROM_USER) {
    hr_strbuf_add_str(text, ", ");
    add_string(text, "from", value->source->name);
  }
  hr_strbuf_add_str(text, "}");
}

static void add_values_of(hr_strbuf_t *text, const spmd_program_t *program,
                          const hlo_instr_t *instr, bool *any) {
  const spmd_value_t *values = program->computations[instr->parent->id].values[instr->id];
  bool has_own = instr->op != HLO_TUPLE && instr->op != HLO_GET_TUPLE_ELEMENT;
  for (int leaf = 0; leaf < hlo_shape_leaf_count(instr->shape) && has_own; leaf++) {
    if (!hlo_shape_is_array(hlo_shape_leaf(instr->shape, leaf))) continue;
    hr_strbuf_add_str(text, *any ? ",\n  " : "\n  ");
    add_value(text, &values[leaf], instr, leaf);
    *any = true;
  }
}

void spmd_explain_values_json(hr_strbuf_t *text, const spmd_program_t *program) {
  const hlo_module_t *module = program->module;
  bool any = false;
  hr_strbuf_add_str(text, "{\"values\": [");
  for (size_t c = module->computations.count; c-- > 0;) {
    const hlo_computation_t *computation = module->computations.data[c];
    for (size_t i = 0; i < computation->instrs.count && program->computations[c].values; i++)
      add_values_of(text, program, computation->instrs.data[i], &any);
  }
  hr_strbuf_add_str(text, "]");
}

/* --- costs --- */

static void add_op(hr_strbuf_t *text, const char *key, hlo_opcode_t op) {
  hr_strbuf_printf(text, "\"%s\": \"%s\", ", key, hlo_op_name(op));
}

static void add_collective(hr_strbuf_t *text, const spmd_report_item_t *item) {
  begin(text, item->cause, "name");
  if (item->cause) add_op(text, "op", item->cause->op);
  add_op(text, "collective", item->collective->op);
  add_shape(text, item->collective->shape);
  hr_strbuf_printf(text, ", \"group\": %ld, \"bytes\": %.0f, \"times\": %ld, \"in_loop\": %s}",
                   (long)item->group, item->bytes, (long)item->times,
                   item->in_loop ? "true" : "false");
}

static void add_replication(hr_strbuf_t *text, const spmd_replication_t *replication) {
  begin(text, replication->instr, "name");
  add_op(text, "op", replication->instr->op);
  add_shape(text, replication->shape);
  hr_strbuf_printf(text, ", \"bytes\": %.0f, \"advice\": \"%s\"}",
                   spmd_explain_bytes(replication->shape),
                   spmd_explain_advice(replication->instr->op));
}

static hr_status_t add_report(hr_strbuf_t *text, const spmd_program_t *program) {
  const spmd_report_t *report = program->report;
  const spmd_replication_t **sorted;
  double bytes = 0;
  HR_TRY(spmd_explain_rank(program, &sorted));
  hr_strbuf_add_str(text, ",\n\"collectives\": [");
  for (size_t i = 0; i < report->item_count; i++) {
    hr_strbuf_add_str(text, i ? ",\n  " : "\n  ");
    add_collective(text, &report->items[i]);
    bytes += report->items[i].bytes * (double)report->items[i].times;
  }
  hr_strbuf_printf(text, "],\n\"bytes\": %.0f,\n\"whole\": [", bytes);
  for (size_t i = 0; i < report->replication_count; i++) {
    hr_strbuf_add_str(text, i ? ",\n  " : "\n  ");
    add_replication(text, sorted[i]);
  }
  hr_strbuf_add_str(text, "]");
  return NULL;
}

hr_status_t spmd_explain_report_json(hr_strbuf_t *text, const spmd_program_t *program) {
  if (program->report) HR_TRY(add_report(text, program));
  hr_strbuf_add_str(text, "}\n");
  return NULL;
}
