/* Frontend attributes "hlo.*": HLO attributes that StableHLO lacks, stored by the exporter
 * (export_frontend_attrs.c). Values are HLO text, read by the caller's readers. Values that
 * contradict the program, which another tool may have changed since, are ignored.
 *   hlo.instruction = "all-reduce, constrain_layout=true"     hlo.shape = "f32[2,3]{0,1}"
 *   hlo.name = "add.7", hlo.after = "add.5,add.6"             names for control dependencies
 *   hlo.module, hlo.stack_frames                              of the module */
#include <string.h>

#include "stablehlo/import/import.h"

/* "opcode, attributes": the opcode selects one of the op's instructions. */
static hr_status_t read_instruction(importer_t *importer, hr_str_t text,
                                    import_frontend_attrs_t *note) {
  const char *comma = text.size ? memchr(text.data, ',', text.size) : NULL;
  size_t size = comma ? (size_t)(comma - text.data) : text.size;
  hlo_opcode_t op = HLO_OPCODE_COUNT;
  for (int i = 0; i < HLO_OPCODE_COUNT; i++)
    if (hr_str_is((hr_str_t){text.data, size}, hlo_op_name((hlo_opcode_t)i))) op = (hlo_opcode_t)i;
  if (op == HLO_OPCODE_COUNT || !comma) return NULL;
  HR_TRY(importer->readers->note(importer->module, op, (hr_str_t){comma, text.size - size},
                                 &note->parsed));
  note->op = op;
  return NULL;
}

/* Reads one attribute into `note`; *out_taken is false for names of other origin than the
 * exporter. */
static hr_status_t take_note(importer_t *importer, hr_str_t name, hr_str_t text,
                             import_frontend_attrs_t *note, bool *out_taken) {
  *out_taken = true;
  if (hr_str_is(name, "hlo.instruction")) return read_instruction(importer, text, note);
  if (hr_str_is(name, "hlo.shape"))
    return importer->readers->shape(importer->module, text, &note->shape);
  if (hr_str_is(name, "hlo.name")) return hr_arena_str(importer->arena, text, &note->name);
  if (hr_str_is(name, "hlo.after")) return hr_arena_str(importer->arena, text, &note->after);
  *out_taken = hr_str_is(name, "hlo.module") || hr_str_is(name, "hlo.stack_frames");
  return NULL;
}

/* Divides attributes: names with "hlo." are the exporter's, all others the program's. */
hr_status_t import_sort_frontend_attrs(importer_t *importer, const mlir_attr_t *dict,
                                       hlo_name_values_t *out_own,
                                       import_frontend_attrs_t *out_note) {
  hlo_name_value_t *items;
  int count = 0;
  HR_TRY(HR_NEW_ARRAY(importer->arena, dict->count, &items));
  for (int i = 0; i < dict->count; i++) {
    hr_str_t name = dict->fields[i].name;
    hr_str_t value = dict->fields[i].value->text;
    bool taken = false;
    hr_status_t st = NULL;
    if (name.size > 4 && !memcmp(name.data, "hlo.", 4))
      st = take_note(importer, name, value, out_note, &taken);
    if (st)
      return hr_status_note(st, "while reading the frontend attribute %.*s", HR_STR_ARGS(name));
    if (taken) continue;
    HR_TRY(hr_arena_str(importer->arena, name, &items[count].name));
    HR_TRY(hr_arena_str(importer->arena, value, &items[count].value));
    count++;
  }
  *out_own = (hlo_name_values_t){count, items};
  return NULL;
}

/* Metadata of the note overrides metadata from the location. */
static void merge_metadata(const hlo_metadata_t *noted, hlo_metadata_t *into) {
  if (noted->op_type.size) into->op_type = noted->op_type;
  if (noted->op_name.size) into->op_name = noted->op_name;
  if (noted->source_file.size) into->source_file = noted->source_file;
  if (noted->source_line) into->source_line = noted->source_line;
  if (noted->source_column) into->source_column = noted->source_column;
  if (noted->source_end_line) into->source_end_line = noted->source_end_line;
  if (noted->source_end_column) into->source_end_column = noted->source_end_column;
  into->stack_frame_id = noted->stack_frame_id;
  into->profile_type = noted->profile_type;
  into->deduplicated_name = noted->deduplicated_name;
  into->scheduling_name = noted->scheduling_name;
}

/* Statistics, origin and configuration of the note replace the op's; metadata is merged into a
 * copy. */
hr_status_t import_frontend_attrs_extra(importer_t *importer, const import_frontend_attrs_t *note,
                                        hlo_extra_t *extra) {
  const hlo_extra_t *said = &note->parsed.extra;
  if (said->statistics) extra->statistics = said->statistics;
  if (said->origin) extra->origin = said->origin;
  if (said->backend_config.size) extra->backend_config = said->backend_config;
  if (!said->metadata) return NULL;
  hlo_metadata_t *metadata;
  HR_TRY(HR_NEW(importer->arena, &metadata));
  if (extra->metadata) *metadata = *extra->metadata;
  merge_metadata(said->metadata, metadata);
  extra->metadata = metadata;
  return NULL;
}

/* --- the op's instruction --- */

/* The last instruction of this opcode from number `first` on; without an opcode the last one that
 * is not a get-tuple-element. */
static hlo_instr_t *find_instr(const hlo_computation_t *computation, hlo_opcode_t op,
                               size_t first) {
  for (size_t i = computation->instrs.count; i-- > first;) {
    hlo_instr_t *instr = computation->instrs.data[i];
    bool fits = op == HLO_OPCODE_COUNT ? instr->op != HLO_GET_TUPLE_ELEMENT : instr->op == op;
    if (fits) return instr;
  }
  return NULL;
}

/* True if two lists of replica groups are equal; the note's may have a shorter notation. */
static bool same_groups(const hlo_groups_t *a, const hlo_groups_t *b) {
  bool same = a->groups.count == b->groups.count;
  for (int64_t g = 0; same && g < a->groups.count; g++) {
    hr_ints_t x = a->groups.lists[g];
    hr_ints_t y = b->groups.lists[g];
    same = x.count == y.count &&
           (!x.count || !memcmp(x.data, y.data, (size_t)x.count * sizeof *x.data));
  }
  return same;
}

/* Replaces replica groups by the note's notation if both are equal. */
static void replace_groups(const hlo_attr_t *noted, hlo_attr_t *own) {
  if (noted->key == HLO_ATTR_REPLICA_GROUPS && own->key == HLO_ATTR_REPLICA_GROUPS &&
      same_groups(noted->groups, own->groups))
    own->groups = noted->groups;
}

/* Adds the note's attributes that the instruction lacks. */
static hr_status_t add_attrs(importer_t *importer, const stablehlo_frontend_attrs_t *said,
                             hlo_instr_t *instr) {
  hlo_attr_t *attrs;
  int count = instr->attr_count;
  HR_TRY(HR_NEW_ARRAY(importer->arena, count + said->attr_count, &attrs));
  for (int i = 0; i < count; i++) attrs[i] = instr->attrs[i];
  for (int i = 0; i < said->attr_count; i++) {
    for (int k = 0; k < instr->attr_count; k++) replace_groups(&said->attrs[i], &attrs[k]);
    if (!hlo_attr_has(instr, (hlo_attr_key_t)said->attrs[i].key)) attrs[count++] = said->attrs[i];
  }
  instr->attrs = attrs;
  instr->attr_count = count;
  return NULL;
}

/* Key of an instruction by computation and exported name. */
static hr_status_t source_loc_key(const import_scope_t *scope, hr_str_t name, hr_str_t *out_key) {
  const char *key;
  HR_TRY(hr_arena_printf(scope->importer->arena, &key, "%p/%.*s",
                         (void *)scope->builder.computation, HR_STR_ARGS(name)));
  *out_key = hr_str_from(key);
  return NULL;
}

/* Adds control predecessors by name; only instructions defined before are accepted, others are
 * ignored. */
static hr_status_t add_predecessors(import_scope_t *scope, hr_str_t names, hlo_instr_t *instr) {
  hlo_extra_t *extra;
  int count = 1;
  HR_TRY(import_op_extra(scope->importer, instr, &extra));
  for (size_t i = 0; i < names.size; i++) count += names.data[i] == ',';
  HR_TRY(HR_NEW_ARRAY(scope->importer->arena, count, &extra->control_predecessors));
  while (names.size) {
    const char *comma = memchr(names.data, ',', names.size);
    hr_str_t name = {names.data, comma ? (size_t)(comma - names.data) : names.size};
    hr_str_t key;
    HR_TRY(source_loc_key(scope, name, &key));
    hlo_instr_t *before = hr_map_get(&scope->importer->awaited, key);
    if (before) extra->control_predecessors[extra->control_count++] = before;
    size_t taken = name.size + (comma != NULL);
    names = (hr_str_t){names.data + taken, names.size - taken};
  }
  return NULL;
}

/* Attributes, layout and control dependencies of the op's instruction. */
hr_status_t import_frontend_attrs_instr(import_scope_t *scope, const import_frontend_attrs_t *note,
                                        size_t first) {
  hr_str_t key;
  hlo_instr_t *instr = find_instr(scope->builder.computation, note->op, first);
  if (!instr) return NULL;
  if (note->parsed.attr_count) HR_TRY(add_attrs(scope->importer, &note->parsed, instr));
  if (note->shape && hlo_shape_compatible(note->shape, instr->shape)) instr->shape = note->shape;
  if (note->after.size) HR_TRY(add_predecessors(scope, note->after, instr));
  if (!note->name.size) return NULL;
  HR_TRY(source_loc_key(scope, note->name, &key));
  return hr_map_put(&scope->importer->awaited, key, instr, NULL);
}

/* --- the module --- */

/* The layout of the entry is dropped unless it fits parameters and result. */
static hr_status_t check_entry_layout(hlo_module_t *module) {
  bool fits = module->entry_params.count == (int)module->entry->params.count &&
              hlo_shape_compatible(module->entry_result, module->entry->root->shape);
  for (int i = 0; fits && i < module->entry_params.count; i++)
    fits =
        hlo_shape_compatible(module->entry_params.shapes[i], module->entry->params.data[i]->shape);
  module->has_entry_layout = fits;
  return NULL;
}

/* Reads one attribute of the module if it is a string. */
static hr_status_t read_module_note(importer_t *importer, const mlir_attr_t *note,
                                    hr_status_t (*read)(hlo_module_t *module, hr_str_t text)) {
  if (!note || note->kind != MLIR_ATTR_STRING) return NULL;
  return hr_status_note(read(importer->module, note->text), "while reading the module's notes");
}

/* hlo.module and hlo.stack_frames. */
hr_status_t import_module_frontend_attrs(importer_t *importer, const mlir_op_t *op) {
  const mlir_attr_t *frontend = mlir_op_attr(op, "mhlo.frontend_attributes");
  HR_TRY(read_module_note(importer, mlir_attr_field(frontend, "hlo.module"),
                          importer->readers->header));
  HR_TRY(read_module_note(importer, mlir_attr_field(frontend, "hlo.stack_frames"),
                          importer->readers->stack_frames));
  return importer->module->has_entry_layout ? check_entry_layout(importer->module) : NULL;
}
