/* Fields of a module other than its computations: entry layout, aliasing, donors, grid of devices,
 * stack frames, frontend attributes, recovery table, configuration. The grid (replicas and
 * partitions) comes from the device assignment of a bare module, or from HloModuleConfigProto in
 * wrappers, which overrides it. Fields of HLO text without a field in HloModuleProto are written
 * to field numbers that XLA ignores (hlo_proto.def). */
#include "ir/print.h"
#include "proto/proto_read.h"

/* Aliasing ------------------------------------------------------------------------------------- */

/* Kind of an alias, from hlo.proto. */
enum { KIND_MAY_ALIAS = 1, KIND_MUST_ALIAS = 2 };

/* input_output_alias: results that take over the buffer of a parameter. */
static hr_status_t read_aliases(proto_reader_t *p, proto_list_t pieces,
                                hlo_aliasing_t *out_aliasing) {
  proto_module_aliases_t in;
  hlo_alias_t *aliases;
  HR_TRY(PROTO_DECODE(&p->scratch, module_aliases, pieces, &in));
  HR_TRY(HR_NEW_ARRAY(p->arena, in.entries.count, &aliases));
  for (int64_t i = 0; i < in.entries.count; i++) {
    proto_module_alias_t alias;
    HR_TRY(PROTO_DECODE(&p->scratch, module_alias, proto_piece(&in.entries.items[i]), &alias));
    aliases[i].operand = alias.parameter_number;
    aliases[i].must = alias.kind == KIND_MUST_ALIAS;
    HR_TRY(proto_ints(p->arena, alias.output_shape_index, &aliases[i].output_index));
    HR_TRY(proto_ints(p->arena, alias.parameter_shape_index, &aliases[i].operand_index));
  }
  *out_aliasing = (hlo_aliasing_t){(int)in.entries.count, aliases};
  return NULL;
}

/* buffer_donor: parameters whose buffers results may use; the message is encoded like the
 * aliases'. */
static hr_status_t read_donors(proto_reader_t *p, proto_list_t pieces, hlo_aliasing_t *out_donors) {
  proto_module_aliases_t in;
  hlo_alias_t *donors;
  HR_TRY(PROTO_DECODE(&p->scratch, module_aliases, pieces, &in));
  HR_TRY(HR_NEW_ARRAY(p->arena, in.entries.count, &donors));
  for (int64_t i = 0; i < in.entries.count; i++) {
    proto_donor_t donor;
    HR_TRY(PROTO_DECODE(&p->scratch, donor, proto_piece(&in.entries.items[i]), &donor));
    donors[i].operand = donor.parameter_number;
    HR_TRY(proto_ints(p->arena, donor.parameter_shape_index, &donors[i].operand_index));
  }
  *out_donors = (hlo_aliasing_t){(int)in.entries.count, donors};
  return NULL;
}

/* HloInputOutputAliasProto: outputs that share memory with a parameter, each side by parameter
 * number and shape index. */
static void write_aliases(hr_strbuf_t *out, const hlo_aliasing_t *aliasing) {
  if (!aliasing->count) return;
  size_t opened = proto_open(out, PROTO_module_input_output_alias);
  for (int i = 0; i < aliasing->count; i++) {
    const hlo_alias_t *alias = &aliasing->aliases[i];
    size_t entry = proto_open(out, PROTO_module_aliases_entries);
    proto_put_ints(out, PROTO_module_alias_output_shape_index, alias->output_index);
    proto_put_int(out, PROTO_module_alias_parameter_number, alias->operand);
    proto_put_ints(out, PROTO_module_alias_parameter_shape_index, alias->operand_index);
    proto_put_int(out, PROTO_module_alias_kind, alias->must ? KIND_MUST_ALIAS : KIND_MAY_ALIAS);
    proto_close(out, entry);
  }
  proto_close(out, opened);
}

/* HloBufferDonorProto: parameters whose memory the program may reuse, without a specific output.
 * The field of entries has the same number as in the aliases' message. */
static void write_donors(hr_strbuf_t *out, const hlo_aliasing_t *donors) {
  if (!donors->count) return;
  size_t opened = proto_open(out, PROTO_module_buffer_donor);
  for (int i = 0; i < donors->count; i++) {
    size_t entry = proto_open(out, PROTO_module_aliases_entries);
    proto_put_int(out, PROTO_donor_parameter_number, donors->aliases[i].operand);
    proto_put_ints(out, PROTO_donor_parameter_shape_index, donors->aliases[i].operand_index);
    proto_close(out, entry);
  }
  proto_close(out, opened);
}

/* Stack frames --------------------------------------------------------------------------------- */

/* File and function are 1-based indices into the tables of names; 0 means none. */
static hr_status_t read_locations(proto_reader_t *p, proto_list_t list,
                                  hlo_stack_frames_t *frames) {
  hlo_file_location_t *locations;
  HR_TRY(HR_NEW_ARRAY(p->arena, list.count, &locations));
  for (int64_t i = 0; i < list.count; i++) {
    proto_file_location_t in;
    HR_TRY(PROTO_DECODE(&p->scratch, file_location, proto_piece(&list.items[i]), &in));
    locations[i] = (hlo_file_location_t){in.file_name_id, in.function_name_id, in.line,
                                         in.end_line,     in.column,           in.end_column};
  }
  frames->location_count = (int)list.count;
  frames->locations = locations;
  return NULL;
}

/* Frames refer to locations and to caller frames by 1-based number. */
static hr_status_t read_frames(proto_reader_t *p, proto_list_t list, hlo_stack_frames_t *frames) {
  hlo_stack_frame_t *copies;
  HR_TRY(HR_NEW_ARRAY(p->arena, list.count, &copies));
  for (int64_t i = 0; i < list.count; i++) {
    proto_stack_frame_t in;
    HR_TRY(PROTO_DECODE(&p->scratch, stack_frame, proto_piece(&list.items[i]), &in));
    copies[i] = (hlo_stack_frame_t){in.file_location_id, (int32_t)in.parent_frame_id};
  }
  frames->frame_count = (int)list.count;
  frames->frames = copies;
  return NULL;
}

/* Copies a list of names to the arena, since decoded lists are in scratch memory. */
static hr_status_t copy_names(proto_reader_t *p, proto_list_t list, int *out_count,
                              const hr_str_t **out_names) {
  void *copy;
  HR_TRY(hr_arena_copy(p->arena, list.items, (size_t)list.count * sizeof *list.items, &copy));
  *out_count = (int)list.count;
  *out_names = copy;
  return NULL;
}

/* An empty message means no stack frames. */
static hr_status_t read_stack_frames(proto_reader_t *p, proto_list_t pieces) {
  proto_stack_frames_t in;
  hlo_stack_frames_t *frames;
  HR_TRY(PROTO_DECODE(&p->scratch, stack_frames, pieces, &in));
  if (!in.file_names.count && !in.function_names.count && !in.file_locations.count &&
      !in.frames.count)
    return NULL;
  HR_TRY(HR_NEW(p->arena, &frames));
  HR_TRY(copy_names(p, in.file_names, &frames->file_count, &frames->files));
  HR_TRY(copy_names(p, in.function_names, &frames->function_count, &frames->functions));
  HR_TRY(read_locations(p, in.file_locations, frames));
  HR_TRY(read_frames(p, in.frames, frames));
  p->module->stack_frames = frames;
  return NULL;
}

static void write_location(hr_strbuf_t *out, const hlo_file_location_t *l) {
  size_t opened = proto_open(out, PROTO_stack_frames_file_locations);
  proto_put_int(out, PROTO_file_location_file_name_id, l->file_name_id);
  proto_put_int(out, PROTO_file_location_function_name_id, l->function_name_id);
  proto_put_int(out, PROTO_file_location_line, l->line);
  proto_put_int(out, PROTO_file_location_column, l->column);
  proto_put_int(out, PROTO_file_location_end_line, l->end_line);
  proto_put_int(out, PROTO_file_location_end_column, l->end_column);
  proto_close(out, opened);
}

/* StackFrameIndexProto: tables that refer to each other by 1-based ids. Empty names are written,
 * too, since ids are positions. */
static void write_stack_frames(hr_strbuf_t *out, const hlo_stack_frames_t *f) {
  size_t opened = proto_open(out, PROTO_module_stack_frame_index);
  for (int i = 0; i < f->file_count; i++)
    proto_put_item(out, PROTO_stack_frames_file_names, f->files[i]);
  for (int i = 0; i < f->function_count; i++)
    proto_put_item(out, PROTO_stack_frames_function_names, f->functions[i]);
  for (int i = 0; i < f->location_count; i++) write_location(out, &f->locations[i]);
  for (int i = 0; i < f->frame_count; i++) {
    size_t frame = proto_open(out, PROTO_stack_frames_frames);
    proto_put_int(out, PROTO_stack_frame_file_location_id, f->frames[i].file_location_id);
    proto_put_int(out, PROTO_stack_frame_parent_frame_id, f->frames[i].parent_frame_id);
    proto_close(out, frame);
  }
  proto_close(out, opened);
}

/* The grid ------------------------------------------------------------------------------------- */

/* Sets the counts of replicas and partitions; 0 means absent. */
static hr_status_t set_grid(hlo_module_t *module, int64_t replicas, int64_t partitions) {
  if (replicas < 0 || replicas > HLO_MAX_DEVICES || partitions < 0 || partitions > HLO_MAX_DEVICES)
    return PROTO_ERROR("%ld replicas and %ld partitions, want 1 to %ld", (long)replicas,
                       (long)partitions, (long)HLO_MAX_DEVICES);
  if (replicas) module->replica_count = replicas;
  if (partitions) module->num_partitions = partitions;
  return NULL;
}

/* In a bare HloModuleProto, only the device assignment has the grid. */
static hr_status_t read_assignment(proto_reader_t *p, proto_list_t pieces) {
  proto_device_assignment_t in;
  HR_TRY(PROTO_DECODE(&p->scratch, device_assignment, pieces, &in));
  return set_grid(p->module, in.replica_count, in.computation_count);
}

/* Writes the device assignment: device replica * partitions + partition. Above HLO_MAX_DEVICES
 * only the counts are written. */
static void write_assignment(hr_strbuf_t *out, const hlo_module_t *module) {
  int64_t replicas = module->replica_count;
  int64_t partitions = module->num_partitions;
  if (replicas == 1 && partitions == 1) return;
  size_t opened = proto_open(out, PROTO_module_device_assignment);
  proto_put_int(out, PROTO_device_assignment_replica_count, replicas);
  proto_put_int(out, PROTO_device_assignment_computation_count, partitions);
  for (int64_t k = 0; replicas <= HLO_MAX_DEVICES / partitions && k < partitions; k++) {
    size_t devices = proto_open(out, PROTO_device_assignment_computation_devices);
    size_t ids = proto_open(out, PROTO_computation_devices_replica_device_ids);
    for (int64_t r = 0; r < replicas; r++) proto_put_varint(out, (uint64_t)(r * partitions + k));
    proto_close(out, ids);
    proto_close(out, devices);
  }
  proto_close(out, opened);
}

/* Configuration -------------------------------------------------------------------------------- */

/* Reads the entry's layout; ignored without a result. */
static hr_status_t read_program_shape(proto_reader_t *p, proto_list_t pieces) {
  proto_program_shape_t in;
  hlo_module_t *module = p->module;
  if (!pieces.count) return NULL;
  HR_TRY(PROTO_DECODE(&p->scratch, program_shape, pieces, &in));
  if (!in.result.count) return NULL;
  HR_TRY(proto_read_shapes(p, in.parameters, &module->entry_params));
  HR_TRY(proto_read_shape(p, in.result, &module->entry_result));
  module->has_entry_layout = true;
  return NULL;
}

/* Flags and counts, if present, override those of the module. */
hr_status_t proto_read_config(proto_reader_t *p, proto_list_t pieces) {
  proto_config_t in;
  hlo_module_t *m = p->module;
  if (!pieces.count) return NULL;
  HR_TRY(PROTO_DECODE(&p->scratch, config, pieces, &in));
  HR_TRY(read_program_shape(p, in.entry_computation_layout));
  HR_TRY(read_assignment(p, in.device_assignment));
  HR_TRY(set_grid(m, in.replica_count, in.num_partitions));
  m->alias_passthrough_params |= in.alias_passthrough_params;
  if (in.propagate_params.count)
    HR_TRY(proto_bools(p->arena, in.propagate_params, &m->propagate_params_count,
                       &m->propagate_params));
  if (in.propagate_output.count)
    HR_TRY(proto_bools(p->arena, in.propagate_output, &m->propagate_output_count,
                       &m->propagate_output));
  return NULL;
}

/* hlorun's own field: flags of the text's header that HloModuleProto lacks. */
static void write_config(hr_strbuf_t *out, const hlo_module_t *m) {
  if (!m->alias_passthrough_params && !m->propagate_params_count && !m->propagate_output_count)
    return;
  size_t opened = proto_open(out, PROTO_module_config);
  proto_put_int(out, PROTO_config_alias_passthrough_params, m->alias_passthrough_params);
  proto_put_bools(out, PROTO_config_propagate_output, m->propagate_output_count,
                  m->propagate_output);
  proto_put_bools(out, PROTO_config_propagate_params, m->propagate_params_count,
                  m->propagate_params);
  proto_close(out, opened);
}

/* Recovery table of lost values -----------------------------------------------------------------
 */

/* {"instruction" {path}}, or {} for none. */
static hr_status_t print_original_array(proto_reader_t *p, proto_list_t pieces, hr_strbuf_t *text) {
  proto_original_array_t in;
  hr_ints_t index;
  HR_TRY(PROTO_DECODE(&p->scratch, original_array, pieces, &in));
  HR_TRY(proto_ints(&p->scratch, in.shape_index, &index));
  hr_strbuf_add_char(text, '{');
  if (pieces.count) hlo_print_string(text, in.instruction_name);
  if (index.count) {
    hr_strbuf_add_str(text, " {");
    hlo_ints_print(text, index);
    hr_strbuf_add_char(text, '}');
  }
  hr_strbuf_add_char(text, '}');
  return NULL;
}

/* Prints the table as the text between its braces, which is its form in the IR. The module that
 * recomputes a lost value is omitted, as it is never executed. */
static hr_status_t print_recovery(proto_reader_t *p, proto_list_t entries, hr_strbuf_t *text) {
  for (int64_t i = 0; i < entries.count; i++) {
    proto_recovery_entry_t in;
    HR_TRY(PROTO_DECODE(&p->scratch, recovery_entry, proto_piece(&entries.items[i]), &in));
    hr_strbuf_add_str(text, "\n  ");
    HR_TRY(print_original_array(p, in.old_original_array, text));
    hr_strbuf_add_str(text, " : ");
    HR_TRY(print_original_array(p, in.new_original_array, text));
  }
  if (entries.count) hr_strbuf_add_char(text, '\n');
  return hr_strbuf_finish(text);
}

/* The table is kept in HLO text's form, as no pass reads its parts. */
static hr_status_t read_recovery(proto_reader_t *p, proto_list_t pieces) {
  proto_recovery_table_t in;
  hr_strbuf_t text;
  HR_TRY(PROTO_DECODE(&p->scratch, recovery_table, pieces, &in));
  hr_strbuf_init(&text);
  hr_status_t st = print_recovery(p, in.entries, &text);
  if (!st)
    st = hr_arena_str(p->arena, (hr_str_t){text.data ? text.data : "", text.size},
                      &p->module->origin_recovery_table);
  hr_strbuf_deinit(&text);
  return st;
}

/* ---------------------------------------------------------------------------------------------- */

/* The configuration is read last, as it overrides other fields. */
hr_status_t proto_read_header(proto_reader_t *p, const proto_module_t *in) {
  hlo_module_t *m = p->module;
  HR_TRY(read_program_shape(p, in->host_program_shape));
  HR_TRY(read_aliases(p, in->input_output_alias, &m->input_output_alias));
  HR_TRY(read_donors(p, in->buffer_donor, &m->buffer_donor));
  HR_TRY(read_assignment(p, in->device_assignment));
  HR_TRY(read_stack_frames(p, in->stack_frame_index));
  HR_TRY(proto_read_pairs(p, in->frontend_attributes, &m->frontend_attributes));
  HR_TRY(read_recovery(p, in->recovery_table));
  if (in->recovery_text.size) m->origin_recovery_table = in->recovery_text;
  m->debug_attributes = in->debug_text;
  m->is_scheduled = in->schedule.count > 0;
  return proto_read_config(p, in->config);
}

/* Parameters, result and names, without layouts of the entry. */
void proto_write_program_shape(hr_strbuf_t *out, const hlo_computation_t *computation) {
  size_t opened = proto_open(out, PROTO_computation_program_shape);
  for (size_t i = 0; i < computation->params.count; i++)
    proto_write_shape(out, PROTO_program_shape_parameters, computation->params.data[i]->shape);
  proto_write_shape(out, PROTO_program_shape_result, computation->root->shape);
  for (size_t i = 0; i < computation->params.count; i++)
    proto_put_item(out, PROTO_program_shape_parameter_names, computation->params.data[i]->name);
  proto_close(out, opened);
}

/* Program shape of the entry with its layouts. XLA names the parameters p0, p1, ... here. */
static void write_entry_shape(hr_strbuf_t *out, uint32_t field, const hlo_module_t *module) {
  size_t opened = proto_open(out, field);
  bool explicit_layout = module->has_entry_layout;
  int count = explicit_layout ? module->entry_params.count : (int)module->entry->params.count;
  for (int i = 0; i < count; i++)
    proto_write_shape(
        out, PROTO_program_shape_parameters,
        explicit_layout ? module->entry_params.shapes[i] : hlo_entry_param_shape(module, i));
  proto_write_shape(out, PROTO_program_shape_result,
                    explicit_layout ? module->entry_result : hlo_entry_result_shape(module));
  for (int i = 0; i < count; i++) {
    char name[24];
    snprintf(name, sizeof name, "p%d", i);
    proto_put_item(out, PROTO_program_shape_parameter_names, hr_str_from(name));
  }
  proto_close(out, opened);
}

void proto_write_header(hr_strbuf_t *out, const hlo_module_t *module) {
  write_entry_shape(out, PROTO_module_host_program_shape, module);
  proto_put_present_int(out, PROTO_module_entry_computation_id, module->entry->id);
  write_aliases(out, &module->input_output_alias);
  write_assignment(out, module);
  if (module->stack_frames) write_stack_frames(out, module->stack_frames);
  write_donors(out, &module->buffer_donor);
  if (module->frontend_attributes.count)
    proto_write_pairs(out, PROTO_module_frontend_attributes, &module->frontend_attributes);
  write_config(out, module);
  proto_put_bytes(out, PROTO_module_recovery_text, module->origin_recovery_table);
  proto_put_bytes(out, PROTO_module_debug_text, module->debug_attributes);
}

void proto_write_run_config(hr_strbuf_t *out, const hlo_module_t *module) {
  size_t opened = proto_open(out, PROTO_wrapper_config);
  write_entry_shape(out, PROTO_config_entry_computation_layout, module);
  proto_put_int(out, PROTO_config_replica_count, module->replica_count);
  proto_put_int(out, PROTO_config_num_partitions, module->num_partitions);
  proto_close(out, opened);
}
