/* Printer of modules, computations and instructions as HLO text. The order of attributes and the
 * spacing are those of XLA's printer, so that texts can be compared:
 *
 *   [ROOT] name = shape op(operands), op attributes, parameter_replication, sharding,
 *     frontend_attributes, control-predecessors, statistics, result_accuracy, origin, metadata,
 *     backend_config
 *
 * An asynchronous op that was written as OP-start, OP-update, OP-done prints so again: its
 * attributes are those of the instruction in the hidden body. */
#include <string.h>

#include "ir/origin.h"
#include "ir/print_parts.h"
#include "ir/sharding.h"

/* Strings and names ---------------------------------------------------------------------------- */

/* Escape of a control or non-ASCII byte, as C has it: a letter, or three octal digits. */
static void print_escaped(hr_strbuf_t *text, unsigned char c) {
  static const char escapes[] = "\nn\rr\tt\"\"''\\\\";
  for (const char *pair = escapes; *pair; pair += 2) {
    if (c != (unsigned char)*pair) continue;
    char escape[2] = {'\\', pair[1]};
    hr_strbuf_add(text, escape, 2);
    return;
  }
  hr_strbuf_printf(text, "\\%03o", c);
}

/* Quotes the string; runs of plain characters are copied as a whole. */
void hlo_print_string(hr_strbuf_t *text, hr_str_t string) {
  size_t from = 0;
  hr_strbuf_add_char(text, '"');
  for (size_t i = 0; i < string.size; i++) {
    unsigned char c = (unsigned char)string.data[i];
    if (c >= ' ' && c < 127 && c != '"' && c != '\'' && c != '\\') continue;
    hr_strbuf_add(text, string.data + from, i - from);
    print_escaped(text, c);
    from = i + 1;
  }
  hr_strbuf_add(text, string.data + from, string.size - from);
  hr_strbuf_add_char(text, '"');
}

/* Whether the string is one brace dictionary from its first byte to its last; quoted braces do
 * not count. */
static bool is_braces(hr_str_t s) {
  size_t depth = 0;
  bool quoted = false;
  if (!s.size || s.data[0] != '{') return false;
  for (size_t i = 0; i < s.size; i++) {
    char c = s.data[i];
    if (c == '"')
      quoted = !quoted;
    else if (c == '\\' && quoted)
      i++;
    else if (c == '{' && !quoted)
      depth++;
    else if (c == '}' && !quoted && --depth == 0)
      return i == s.size - 1;
  }
  return false;
}

/* A string, or as it is if it is a whole brace dictionary. */
static void hlo_print_string_or_braces(hr_strbuf_t *text, hr_str_t string) {
  if (is_braces(string))
    hr_strbuf_add(text, string.data, string.size);
  else
    hlo_print_string(text, string);
}

void hlo_print_name(hr_strbuf_t *text, hr_str_t name, hlo_print_style_t style) {
  if (style == HLO_PRINT_LONG) hr_strbuf_add_char(text, '%');
  hr_strbuf_add(text, name.data, name.size);
}

/* name="value", ... without braces. */
static void hlo_print_pairs(hr_strbuf_t *text, const hlo_name_values_t *pairs) {
  for (int i = 0; i < pairs->count; i++) {
    hr_strbuf_printf(text, "%s%.*s=", i ? "," : "", HR_STR_ARGS(pairs->items[i].name));
    hlo_print_string_or_braces(text, pairs->items[i].value);
  }
}

/* Instructions --------------------------------------------------------------------------------- */

/* The op inside the computation of an async-start, found from any part of the chain; NULL if there
 * is none. */
static const hlo_instr_t *wrapped_instr(const hlo_instr_t *instr) {
  while ((instr->op == HLO_ASYNC_UPDATE || instr->op == HLO_ASYNC_DONE) && instr->operand_count)
    instr = instr->operands[0];
  return instr->op == HLO_ASYNC_START && instr->called_count ? instr->called[0]->root : NULL;
}

static void print_opcode(hr_strbuf_t *text, const hlo_instr_t *instr, const hlo_instr_t *wrapped) {
  if (!wrapped) {
    hr_strbuf_add_str(text, hlo_op_name(instr->op));
    return;
  }
  hr_strbuf_add_str(text, hlo_op_name(wrapped->op));
  if (instr->op == HLO_ASYNC_START)
    hr_strbuf_add_str(text, "-start");
  else
    hr_strbuf_add_str(text, instr->op == HLO_ASYNC_UPDATE ? "-update" : "-done");
}

static void print_operands(hr_strbuf_t *text, const hlo_instr_t *instr, hlo_print_style_t style) {
  for (int i = 0; i < instr->operand_count; i++) {
    if (i) hr_strbuf_add_str(text, ", ");
    if (i && i % 5 == 0 && style == HLO_PRINT_LONG) hr_strbuf_printf(text, "/*index=%d*/", i);
    hlo_print_name(text, instr->operands[i]->name, style);
  }
}

/* Operands, or the number of a parameter, or the literal of a constant ("{...}" if it was
 * elided). */
static void print_parentheses(hr_strbuf_t *text, const hlo_instr_t *instr, hlo_print_style_t style,
                              hr_text_sink_t *sink) {
  hr_strbuf_add_char(text, '(');
  if (instr->op == HLO_PARAMETER)
    hr_strbuf_add_int(text, hlo_parameter_number(instr));
  else if (instr->op == HLO_CONSTANT && instr->literal)
    hlo_print_literal_to(text, instr->literal, sink);
  else if (instr->op == HLO_CONSTANT)
    hr_strbuf_add_str(text, "{...}");
  else
    print_operands(text, instr, style);
  hr_strbuf_add_char(text, ')');
}

/* Op attributes. Those of an asynchronous op written as OP-start are the wrapped op's. */
static void print_op_attrs(hr_strbuf_t *text, const hlo_instr_t *instr, const hlo_instr_t *wrapped,
                           hlo_print_style_t style) {
  if (!wrapped) {
    hlo_print_attrs(text, instr, style);
    return;
  }
  const hlo_attr_t *thread = hlo_attr_find(instr, HLO_ATTR_ASYNC_EXECUTION_THREAD);
  if (thread && thread->text.size) {
    hr_strbuf_add_str(text, ", async_execution_thread=");
    hlo_print_string(text, thread->text);
  }
  if (instr->op == HLO_ASYNC_START) hlo_print_attrs(text, wrapped, style);
}

static void print_bools(hr_strbuf_t *text, int count, const bool *flags) {
  hr_strbuf_add_char(text, '{');
  for (int i = 0; i < count; i++) {
    if (i) hr_strbuf_add_char(text, ',');
    hr_strbuf_add_str(text, flags[i] ? "true" : "false");
  }
  hr_strbuf_add_char(text, '}');
}

static void print_statistics(hr_strbuf_t *text, const hlo_statistics_t *s) {
  hr_strbuf_printf(text, ", statistics={visualizing_index=%ld", (long)s->visualizing_index);
  for (int i = 0; i < s->count; i++) {
    hr_strbuf_printf(text, ",%.*s=", HR_STR_ARGS(s->items[i].name));
    hlo_print_double(text, s->items[i].value);
  }
  hr_strbuf_add_char(text, '}');
}

static void print_control(hr_strbuf_t *text, const hlo_extra_t *extra, hlo_print_style_t style) {
  hr_strbuf_add_str(text, ", control-predecessors={");
  for (int i = 0; i < extra->control_count; i++) {
    if (i) hr_strbuf_add_str(text, ", ");
    hlo_print_name(text, extra->control_predecessors[i]->name, style);
  }
  hr_strbuf_add_char(text, '}');
}

/* Attributes that any instruction may have and that stand before result_accuracy. */
static void print_early_extra(hr_strbuf_t *text, const hlo_extra_t *extra,
                              hlo_print_style_t style) {
  if (extra->sharding) {
    hr_strbuf_add_str(text, ", sharding=");
    hlo_sharding_print(text, extra->sharding);
  }
  if (extra->frontend_attributes.count) {
    hr_strbuf_add_str(text, ", frontend_attributes={");
    hlo_print_pairs(text, &extra->frontend_attributes);
    hr_strbuf_add_char(text, '}');
  }
  if (extra->control_count) print_control(text, extra, style);
  if (extra->statistics) print_statistics(text, extra->statistics);
}

/* Metadata prints only if it names an origin of the instruction. */
static bool metadata_is_printed(const hlo_metadata_t *m) {
  return m && (m->op_type.size || m->op_name.size || m->source_file.size ||
               m->scheduling_name.size || m->stack_frame_id);
}

/* Attributes of any op that stand after result_accuracy. */
static void print_late_extra(hr_strbuf_t *text, const hlo_extra_t *extra, hlo_print_style_t style) {
  if (extra->origin) {
    hr_strbuf_add_str(text, ", origin={");
    hlo_origin_print(text, extra->origin);
    hr_strbuf_add_char(text, '}');
  }
  if (style == HLO_PRINT_LONG && metadata_is_printed(extra->metadata)) {
    hr_strbuf_add_str(text, ", metadata={");
    hlo_metadata_print(text, extra->metadata);
    hr_strbuf_add_char(text, '}');
  }
  if (extra->backend_config.size) {
    hr_strbuf_add_str(text, ", backend_config=");
    hlo_print_string_or_braces(text, extra->backend_config);
  }
}

void hlo_print_frontend_attrs(hr_strbuf_t *text, const hlo_extra_t *extra) {
  if (extra->replication_count) {
    hr_strbuf_add_str(text, ", parameter_replication=");
    print_bools(text, extra->replication_count, extra->replication);
  }
  if (extra->statistics) print_statistics(text, extra->statistics);
  print_late_extra(text, extra, HLO_PRINT_LONG);
}

static void print_instr(hr_strbuf_t *text, const hlo_instr_t *instr, hlo_print_style_t style,
                        hr_text_sink_t *sink) {
  static const hlo_extra_t nothing;
  const hlo_extra_t *extra = instr->extra ? instr->extra : &nothing;
  const hlo_instr_t *wrapped = instr->async_sugar ? wrapped_instr(instr) : NULL;
  if (instr == instr->parent->root) hr_strbuf_add_str(text, "ROOT ");
  hlo_print_name(text, instr->name, style);
  hr_strbuf_add_str(text, " = ");
  hlo_shape_print(text, instr->shape, true);
  hr_strbuf_add_char(text, ' ');
  print_opcode(text, instr, wrapped);
  print_parentheses(text, instr, style, sink);
  print_op_attrs(text, instr, wrapped, style);
  if (extra->replication_count) {
    hr_strbuf_add_str(text, ", parameter_replication=");
    print_bools(text, extra->replication_count, extra->replication);
  }
  print_early_extra(text, extra, style);
  hlo_print_accuracy(text, wrapped && instr->op == HLO_ASYNC_START ? wrapped : instr);
  print_late_extra(text, extra, style);
}

void hlo_print_instr(hr_strbuf_t *text, const hlo_instr_t *instr, hlo_print_style_t style) {
  print_instr(text, instr, style, NULL);
}

/* Computations --------------------------------------------------------------------------------- */

/* Hidden computations print with the instruction that starts them. */
static bool is_hidden(const hlo_computation_t *computation) {
  return computation->is_async_wrapper;
}

/* " (name: shape, ...) -> shape" of the long style. */
static void print_signature(hr_strbuf_t *text, const hlo_computation_t *computation) {
  hr_strbuf_add_str(text, " (");
  for (size_t i = 0; i < computation->params.count; i++) {
    const hlo_instr_t *param = computation->params.data[i];
    hr_strbuf_printf(text, "%s%.*s: ", i ? ", " : "", HR_STR_ARGS(param->name));
    hlo_shape_print(text, param->shape, false);
  }
  hr_strbuf_add_str(text, ") -> ");
  hlo_shape_print(text, computation->root->shape, false);
}

static void print_computation(hr_strbuf_t *text, const hlo_computation_t *computation,
                              hlo_print_style_t style, hr_text_sink_t *sink) {
  if (computation == computation->module->entry) hr_strbuf_add_str(text, "ENTRY ");
  hlo_print_name(text, computation->name, style);
  if (style == HLO_PRINT_LONG) print_signature(text, computation);
  hr_strbuf_add_str(text, " {\n");
  for (size_t i = 0; i < computation->instrs.count; i++) {
    hr_strbuf_add_str(text, "  ");
    print_instr(text, computation->instrs.data[i], style, sink);
    hr_strbuf_add_char(text, '\n');
    hr_text_drain(text, sink);
  }
  hr_strbuf_add_char(text, '}');
  if (computation->execution_thread.size && !hr_str_is(computation->execution_thread, "main")) {
    hr_strbuf_add_str(text, ", execution_thread=");
    hlo_print_string(text, computation->execution_thread);
  }
  hr_strbuf_add_str(text, "\n\n");
}

/* Modules -------------------------------------------------------------------------------------- */

/* entry_computation_layout: as the program gave it, else from the entry's parameters and root. */
static void print_entry_layout(hr_strbuf_t *text, const hlo_module_t *module) {
  hlo_shape_t params = {.dtype = HR_TUPLE};
  hr_strbuf_add_str(text, ", entry_computation_layout={");
  if (module->has_entry_layout) {
    params.element_count = module->entry_params.count;
    params.elements = module->entry_params.shapes;
    hlo_shape_print(text, &params, true); /* a list of shapes prints as a tuple does */
    hr_strbuf_add_str(text, "->");
    hlo_shape_print(text, module->entry_result, true);
  } else {
    hr_strbuf_add_char(text, '(');
    for (size_t i = 0; i < module->entry->params.count; i++) {
      if (i) hr_strbuf_add_str(text, ", ");
      if (i && i % 5 == 0) hr_strbuf_printf(text, "/*index=%zu*/", i);
      hlo_shape_print(text, module->entry->params.data[i]->shape, true);
    }
    hr_strbuf_add_str(text, ")->");
    hlo_shape_print(text, module->entry->root->shape, true);
  }
  hr_strbuf_add_char(text, '}');
}

/* buffer_donor={ (parameter, {index}), ... } */
static void print_donors(hr_strbuf_t *text, const hlo_aliasing_t *donors) {
  hr_strbuf_add_str(text, ", buffer_donor={ ");
  for (int i = 0; i < donors->count; i++) {
    hr_strbuf_printf(text, "%s(%ld, {", i ? ", " : "", (long)donors->aliases[i].operand);
    hlo_ints_print(text, donors->aliases[i].operand_index);
    hr_strbuf_add_str(text, "})");
  }
  hr_strbuf_add_str(text, " }");
}

/* allow_spmd_sharding_propagation_to_*; a single false is the default and left out. */
static void print_propagation(hr_strbuf_t *text, const char *name, int count, const bool *flags) {
  if (!count || (count == 1 && !flags[0])) return;
  hr_strbuf_printf(text, ", allow_spmd_sharding_propagation_to_%s=", name);
  print_bools(text, count, flags);
}

/* Module attributes that XLA prints before entry_computation_layout. */
static void print_early_header(hr_strbuf_t *text, const hlo_module_t *m) {
  if (m->is_scheduled) hr_strbuf_add_str(text, ", is_scheduled=true");
  if (m->input_output_alias.count) {
    hr_strbuf_add_str(text, ", input_output_alias={ ");
    hlo_print_aliasing(text, &m->input_output_alias, true);
    hr_strbuf_add_str(text, " }");
  }
  if (m->buffer_donor.count) print_donors(text, &m->buffer_donor);
  if (m->alias_passthrough_params) hr_strbuf_add_str(text, ", alias_passthrough_params=true");
}

static void print_propagations(hr_strbuf_t *text, const hlo_module_t *m) {
  print_propagation(text, "parameters", m->propagate_params_count, m->propagate_params);
  print_propagation(text, "output", m->propagate_output_count, m->propagate_output);
}

static void print_late_header(hr_strbuf_t *text, const hlo_module_t *m) {
  if (m->origin_recovery_table.size)
    hr_strbuf_printf(text, ", origin_recovery_table={%.*s}\n",
                     HR_STR_ARGS(m->origin_recovery_table));
  if (m->debug_attributes.size)
    hr_strbuf_printf(text, ",\ndebug_attributes={%.*s}", HR_STR_ARGS(m->debug_attributes));
}

/* Printed into a buffer of its own first, as each part begins with ", ". */
void hlo_print_module_frontend_attrs(hr_strbuf_t *text, const hlo_module_t *m) {
  hr_strbuf_t all;
  hr_strbuf_init(&all);
  print_early_header(&all, m);
  if (m->has_entry_layout) print_entry_layout(&all, m);
  print_propagations(&all, m);
  print_late_header(&all, m);
  if (all.size > 2) hr_strbuf_add(text, all.data + 2, all.size - 2); /* without the first ", " */
  hr_strbuf_deinit(&all);
}

static void print_header(hr_strbuf_t *text, const hlo_module_t *m) {
  hr_strbuf_printf(text, "HloModule %.*s", HR_STR_ARGS(m->name));
  print_early_header(text, m);
  print_entry_layout(text, m);
  print_propagations(text, m);
  if (m->replica_count != 1) hr_strbuf_printf(text, ", replica_count=%ld", (long)m->replica_count);
  if (m->num_partitions != 1)
    hr_strbuf_printf(text, ", num_partitions=%ld", (long)m->num_partitions);
  if (m->frontend_attributes.count) {
    hr_strbuf_add_str(text, ", frontend_attributes={");
    hlo_print_pairs(text, &m->frontend_attributes);
    hr_strbuf_add_char(text, '}');
  }
  print_late_header(text, m);
  hr_strbuf_add_str(text, "\n\n");
}

static void print_name_table(hr_strbuf_t *text, const char *title, int count,
                             const hr_str_t *names) {
  hr_strbuf_printf(text, "%s\n", title);
  for (int i = 0; i < count; i++) {
    hr_strbuf_printf(text, "%d ", i + 1);
    hlo_print_string(text, names[i]);
    hr_strbuf_add_char(text, '\n');
  }
  hr_strbuf_add_char(text, '\n');
}

/* Tables count from 1. parent_frame_id prints one more than it is, as XLA does. */
void hlo_print_stack_frames(hr_strbuf_t *text, const hlo_stack_frames_t *f) {
  print_name_table(text, "FileNames", f->file_count, f->files);
  print_name_table(text, "FunctionNames", f->function_count, f->functions);
  hr_strbuf_add_str(text, "FileLocations\n");
  for (int i = 0; i < f->location_count; i++) {
    const hlo_file_location_t *l = &f->locations[i];
    hr_strbuf_printf(text,
                     "%d {file_name_id=%ld function_name_id=%ld line=%ld end_line=%ld column=%ld "
                     "end_column=%ld}\n",
                     i + 1, (long)l->file_name_id, (long)l->function_name_id, (long)l->line,
                     (long)l->end_line, (long)l->column, (long)l->end_column);
  }
  hr_strbuf_add_str(text, "\nStackFrames\n");
  for (int i = 0; i < f->frame_count; i++)
    hr_strbuf_printf(text, "%d {file_location_id=%ld parent_frame_id=%ld}\n", i + 1,
                     (long)f->frames[i].file_location_id,
                     (long)((uint64_t)f->frames[i].parent_frame_id + 1));
  hr_strbuf_add_str(text, "\n\n");
}

static void print_module(hr_strbuf_t *text, const hlo_module_t *module, hlo_print_style_t style,
                         hr_text_sink_t *sink) {
  print_header(text, module);
  if (style == HLO_PRINT_LONG && module->stack_frames)
    hlo_print_stack_frames(text, module->stack_frames);
  for (size_t i = 0; i < module->computations.count; i++) {
    if (!is_hidden(module->computations.data[i]))
      print_computation(text, module->computations.data[i], style, sink);
  }
}

void hlo_print_module(hr_strbuf_t *text, const hlo_module_t *module, hlo_print_style_t style) {
  print_module(text, module, style, NULL);
}

/* Pieces --------------------------------------------------------------------------------------- */

hr_status_t hlo_print_module_to(hr_text_sink_t *sink, const hlo_module_t *module,
                                hlo_print_style_t style) {
  hr_strbuf_t text;
  hr_strbuf_init(&text);
  print_module(&text, module, style, sink);
  hr_status_t st = hr_text_finish(&text, sink);
  hr_strbuf_deinit(&text);
  return st;
}
