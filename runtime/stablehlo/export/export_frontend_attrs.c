/* HLO attributes that StableHLO cannot express. The origin of an instruction becomes its location,
 * as in XLA and JAX; other attributes become frontend attributes with names "hlo.*" and HLO text
 * as values, which the importer reads back:
 *
 *   hlo.instruction = "all-reduce, constrain_layout=true, ..."   attributes, after the opcode
 *   hlo.shape       = "f32[2,3]{0,1}"        shape with a layout that is not the default
 *   hlo.after       = "a,b"                  control predecessors, which have an hlo.name
 *   hlo.module      = "is_scheduled=true, ..."   module attributes; hlo.stack_frames: its tables
 *
 * Other readers keep them like any frontend attribute. */
#include <string.h>

#include "ir/print.h"
#include "mlir/text/mlir_print.h"
#include "stablehlo/export/export.h"

/* The text as a string attribute; NULL if it is empty. Frees the text. */
static const mlir_attr_t *finish_text(exporter_t *exporter, hr_strbuf_t *text) {
  const mlir_attr_t *attr = NULL;
  export_keep(exporter, hr_strbuf_finish(text));
  if (text->size && !exporter->status)
    attr = export_string(exporter, (hr_str_t){text->data, text->size});
  hr_strbuf_deinit(text);
  return attr;
}

/* --- locations --- */

/* Prints a string with MLIR's quotes and escapes. */
static void print_quoted(hr_strbuf_t *text, hr_str_t string) {
  const mlir_attr_t attr = {.kind = MLIR_ATTR_STRING, .text = string};
  mlir_print_attr(text, &attr);
}

/* MLIR has 32 bits for a line or column. */
static bool is_number(int64_t number) { return number >= 0 && number <= INT32_MAX; }

/* True if MLIR can express the place: a file and numbers that fit. */
static bool has_source_loc(const hlo_metadata_t *m) {
  bool numbers = is_number(m->source_line) && is_number(m->source_column) &&
                 is_number(m->source_end_line) && is_number(m->source_end_column);
  return m->source_file.size && numbers;
}

/* "file":3:4, with " to 5:6" if the place has an end. */
static void print_source_loc(hr_strbuf_t *text, const hlo_metadata_t *m) {
  print_quoted(text, m->source_file);
  hr_strbuf_printf(text, ":%ld:%ld", (long)m->source_line, (long)m->source_column);
  if (!m->source_end_line && !m->source_end_column) return;
  if (m->source_end_line == m->source_line)
    hr_strbuf_printf(text, " to :%ld", (long)m->source_end_column);
  else
    hr_strbuf_printf(text, " to %ld:%ld", (long)m->source_end_line, (long)m->source_end_column);
}

/* A name that ends with ':' would be read as a type. */
static bool is_plain_name(hr_str_t name) { return name.size && name.data[name.size - 1] != ':'; }

/* "name"("file":3:4), or one of the two. */
static void print_name_and_source_loc(hr_strbuf_t *text, const hlo_metadata_t *m) {
  bool named = is_plain_name(m->op_name);
  bool placed = has_source_loc(m);
  if (named) print_quoted(text, m->op_name);
  if (named && placed) hr_strbuf_add_char(text, '(');
  if (placed) print_source_loc(text, m);
  if (named && placed) hr_strbuf_add_char(text, ')');
}

/* Like the above, but with the op's type, which comes first as a name that ends with ':' and makes
 * the location a fused one. */
static void print_location(exporter_t *exporter, hr_strbuf_t *text, const hlo_metadata_t *m) {
  const char *type = NULL;
  if (!m->op_type.size) {
    print_name_and_source_loc(text, m);
    return;
  }
  if (export_keep(exporter,
                  hr_arena_printf(exporter->arena, &type, "%.*s:", HR_STR_ARGS(m->op_type))))
    return;
  hr_strbuf_add_str(text, "fused[");
  print_quoted(text, hr_str_from(type));
  if (is_plain_name(m->op_name) || has_source_loc(m)) hr_strbuf_add_str(text, ", ");
  print_name_and_source_loc(text, m);
  hr_strbuf_add_char(text, ']');
}

/* The location of an instruction from its metadata; NULL: none. The last location is cached, as
 * neighbours often share their metadata. */
const mlir_attr_t *export_location(exporter_t *exporter, const hlo_instr_t *instr) {
  const hlo_metadata_t *metadata = instr && instr->extra ? instr->extra->metadata : NULL;
  hr_strbuf_t text;
  if (!metadata || exporter->status) return NULL;
  if (exporter->last_metadata == metadata) return exporter->last_location;
  hr_strbuf_init(&text);
  print_location(exporter, &text, metadata);
  mlir_attr_t *attr = (mlir_attr_t *)finish_text(exporter, &text);
  if (attr) attr->kind = MLIR_ATTR_LOCATION;
  exporter->last_metadata = metadata;
  exporter->last_location = attr;
  return attr;
}

/* The metadata without the parts that print_location prints. */
static hlo_metadata_t unsaid_metadata(const hlo_metadata_t *m) {
  hlo_metadata_t left = *m;
  left.op_type = (hr_str_t){"", 0};
  if (is_plain_name(m->op_name)) left.op_name = (hr_str_t){"", 0};
  if (has_source_loc(m)) {
    left.source_file = (hr_str_t){"", 0};
    left.source_line = 0;
    left.source_column = 0;
    left.source_end_line = 0;
    left.source_end_column = 0;
  }
  return left;
}

/* --- instructions --- */

/* True if StableHLO's op cannot express this attribute. */
static bool needs_frontend_attr(const hlo_instr_t *instr, hlo_attr_key_t key) {
  const hlo_groups_t *groups = hlo_attr_groups(instr);
  switch (key) {
    case HLO_ATTR_REPLICA_GROUPS:
      return groups && groups->form != HLO_GROUPS_LIST; /* the op lists them */
    case HLO_ATTR_CONSTRAIN_LAYOUT:
    case HLO_ATTR_CONVOLUTION_KIND:
    case HLO_ATTR_CUSTOM_CALL_SCHEDULE:
    case HLO_ATTR_INFERRED_DIMENSION:
    case HLO_ATTR_LITERAL:
    case HLO_ATTR_MASKED:
    case HLO_ATTR_PADDING_TYPE:
    case HLO_ATTR_PERMUTE_SLICE_SIZES:
    case HLO_ATTR_SPARSITY_CONFIG:
      return true;
    case HLO_ATTR_BATCH_GROUP_COUNT:
    case HLO_ATTR_DIM_LABELS:
    case HLO_ATTR_FEATURE_GROUP_COUNT:
    case HLO_ATTR_WINDOW:
      return instr->op == HLO_CUSTOM_CALL;
    case HLO_ATTR_OPERAND_PRECISION:
      return instr->op == HLO_CUSTOM_CALL || export_dot_algorithm(instr);
    case HLO_ATTR_IS_STABLE:
      return instr->op == HLO_TOPK;
    default:
      return false;
  }
}

/* ", name=value" for each attribute that the op cannot express. */
static void print_unsaid(hr_strbuf_t *text, const hlo_instr_t *instr) {
  for (int i = 0; i < instr->attr_count; i++)
    if (needs_frontend_attr(instr, (hlo_attr_key_t)instr->attrs[i].key))
      hlo_print_attr(text, instr, (hlo_attr_key_t)instr->attrs[i].key);
  if (!instr->extra) return;
  hlo_extra_t extra = *instr->extra;
  hlo_metadata_t metadata = {0};
  if (extra.metadata) metadata = unsaid_metadata(extra.metadata);
  if (extra.metadata && instr->op != HLO_PARAMETER) extra.metadata = &metadata;
  if (instr->op == HLO_CUSTOM_CALL) extra.backend_config = (hr_str_t){"", 0};
  hlo_print_frontend_attrs(text, &extra);
}

/* Adds hlo.instruction, unless it would be only the opcode. */
static void add_instruction(exporter_t *exporter, const hlo_instr_t *instr, export_attrs_t *attrs) {
  hr_strbuf_t text;
  size_t opcode = strlen(hlo_op_name(instr->op));
  hr_strbuf_init(&text);
  hr_strbuf_add_str(&text, hlo_op_name(instr->op));
  print_unsaid(&text, instr);
  if (text.size == opcode) text.size = 0;
  export_add(exporter, attrs, "hlo.instruction", finish_text(exporter, &text));
}

/* True if any array in the shape has a layout that is not the default. */
static bool has_layout(const hlo_shape_t *shape) {
  if (!hlo_shape_is_tuple(shape)) return !hlo_layout_is_default(shape->layout);
  for (int i = 0; i < shape->element_count; i++)
    if (has_layout(shape->elements[i])) return true;
  return false;
}

/* Adds hlo.shape if the layout is not the default. */
static void add_shape(exporter_t *exporter, const hlo_instr_t *instr, export_attrs_t *attrs) {
  hr_strbuf_t text;
  if (!has_layout(instr->shape)) return;
  hr_strbuf_init(&text);
  hlo_shape_print(&text, instr->shape, true);
  export_add(exporter, attrs, "hlo.shape", finish_text(exporter, &text));
}

/* Adds hlo.name to instructions that others must follow, and hlo.after to those that must follow
 * others. */
static void add_order(exporter_t *exporter, const hlo_instr_t *instr, bool is_awaited,
                      export_attrs_t *attrs) {
  hr_strbuf_t text;
  if (is_awaited) export_add(exporter, attrs, "hlo.name", export_string(exporter, instr->name));
  if (!instr->extra || !instr->extra->control_count) return;
  hr_strbuf_init(&text);
  for (int i = 0; i < instr->extra->control_count; i++)
    hr_strbuf_printf(&text, "%s%.*s", i ? "," : "",
                     HR_STR_ARGS(instr->extra->control_predecessors[i]->name));
  export_add(exporter, attrs, "hlo.after", finish_text(exporter, &text));
}

/* Adds the instruction's attributes listed at the head of this file. is_awaited: the instruction
 * is a control predecessor of another one. */
void export_frontend_attrs(exporter_t *exporter, const hlo_instr_t *instr, bool is_awaited,
                           export_attrs_t *attrs) {
  if (exporter->status) return;
  add_instruction(exporter, instr, attrs);
  add_shape(exporter, instr, attrs);
  add_order(exporter, instr, is_awaited, attrs);
}

/* Marks the control predecessors of a computation's instructions; NULL: there are none. */
hr_status_t export_find_awaited(exporter_t *exporter, const hlo_computation_t *computation,
                                bool **out_awaited) {
  *out_awaited = NULL;
  for (size_t i = 0; i < computation->instrs.count; i++) {
    const hlo_extra_t *extra = computation->instrs.data[i]->extra;
    if (!extra || !extra->control_count) continue;
    if (!*out_awaited)
      HR_TRY(HR_NEW_ARRAY(exporter->arena, computation->instrs.count, out_awaited));
    for (int k = 0; k < extra->control_count; k++)
      (*out_awaited)[extra->control_predecessors[k]->id] = true;
  }
  return NULL;
}

/* --- the module --- */

/* Aliases between leaves: numbers of parameters and results become those of arguments and
 * results. */
static void flatten_aliases(exporter_t *exporter, const hlo_module_t *from,
                            hlo_aliasing_t *aliasing) {
  hlo_alias_t *list = export_alloc(exporter, (size_t)aliasing->count, sizeof *list);
  bool one = hlo_shape_leaf_count(from->entry->root->shape) == 1;
  for (int i = 0; list && i < aliasing->count; i++) {
    int64_t *leaf = export_alloc(exporter, 1, sizeof *leaf);
    if (!leaf) return;
    list[i] = (hlo_alias_t){.must = aliasing->aliases[i].must};
    list[i].operand = export_argument_of(exporter, &aliasing->aliases[i]);
    *leaf = hlo_shape_leaf_at(from->entry->root->shape, aliasing->aliases[i].output_index);
    if (!one) list[i].output_index = (hr_ints_t){leaf, 1};
  }
  aliasing->aliases = list;
}

/* True if aliases need more than tf.aliasing_output, which means may-alias. */
static bool needs_aliases(const hlo_module_t *from) {
  for (int i = 0; i < from->input_output_alias.count; i++)
    if (from->input_output_alias.aliases[i].must) return true;
  return false;
}

/* Lists the shape's leaves; returns their number. */
static int add_leaves(const hlo_shape_t *shape, const hlo_shape_t **leaves) {
  int count = 0;
  if (!hlo_shape_is_tuple(shape)) {
    leaves[0] = shape;
    return 1;
  }
  for (int i = 0; i < shape->element_count; i++)
    count += add_leaves(shape->elements[i], leaves + count);
  return count;
}

/* The entry's layout with one shape per leaf. */
static void flatten_layouts(exporter_t *exporter, const hlo_module_t *from, hlo_module_t *to) {
  int count = 0;
  int results = hlo_shape_leaf_count(from->entry_result);
  for (int i = 0; i < from->entry_params.count; i++)
    count += hlo_shape_leaf_count(from->entry_params.shapes[i]);
  const hlo_shape_t **params = export_alloc(exporter, (size_t)count, sizeof *params);
  const hlo_shape_t **leaves = export_alloc(exporter, (size_t)results, sizeof *leaves);
  if (exporter->status) return;
  for (int i = 0, at = 0; i < from->entry_params.count; i++)
    at += add_leaves(from->entry_params.shapes[i], params + at);
  add_leaves(from->entry_result, leaves);
  to->entry_params = (hlo_shapes_t){count, params};
  to->entry_result = leaves[0];
  if (results != 1)
    export_keep(exporter, hlo_shape_tuple(exporter->arena, results, leaves, &to->entry_result));
}

/* Whether the entry's layout is not the default. */
static bool needs_layouts(const hlo_module_t *from) {
  bool needs = from->has_entry_layout && has_layout(from->entry_result);
  for (int i = 0; from->has_entry_layout && i < from->entry_params.count; i++)
    needs |= has_layout(from->entry_params.shapes[i]);
  return needs;
}

/* Adds hlo.module, with all header attributes that are not default, for the flattened tuples. */
void export_module_frontend_attrs(exporter_t *exporter, export_attrs_t *attrs) {
  const hlo_module_t *from = exporter->from;
  hlo_module_t said = *from; /* not destroyed: the printer reads only the fields set here */
  hr_strbuf_t text;
  said.has_entry_layout = needs_layouts(from);
  if (!needs_aliases(from)) said.input_output_alias = (hlo_aliasing_t){0, NULL};
  said.buffer_donor = (hlo_aliasing_t){0, NULL};
  flatten_aliases(exporter, from, &said.input_output_alias);
  if (said.has_entry_layout) flatten_layouts(exporter, from, &said);
  if (exporter->status) return;
  hr_strbuf_init(&text);
  hlo_print_module_frontend_attrs(&text, &said);
  export_add(exporter, attrs, "hlo.module", finish_text(exporter, &text));
  hr_strbuf_init(&text);
  if (from->stack_frames) hlo_print_stack_frames(&text, from->stack_frames);
  export_add(exporter, attrs, "hlo.stack_frames", finish_text(exporter, &text));
}
