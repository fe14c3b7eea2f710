/* Reading of a program's annotations into shardings of its values.
 *
 * A module with sdy meshes is read by its xla.sdy attributes alone, as the GSPMD strings beside
 * them say less; any other by its GSPMD strings. A program that XLA has partitioned already keeps
 * the strings of its parameters: it is known by its schedule, its name or its collectives. Options
 * come last and replace what the program says. Cost: linear in the program and the texts. */
#include <string.h>

#include "ir/sharding.h"
#include "partition/annotations/normalize.h"
#include "partition/annotations/shardings.h"

/* --- is it global? --- */

static hr_str_t module_attribute(const hlo_module_t *module, const char *name) {
  for (int i = 0; i < module->frontend_attributes.count; i++)
    if (hr_str_is(module->frontend_attributes.items[i].name, name))
      return module->frontend_attributes.items[i].value;
  return (hr_str_t){"", 0};
}

static bool text_has(hr_str_t text, const char *word) {
  return text.size && memmem(text.data, text.size, word, strlen(word));
}

static bool hlo_cuts(const hlo_sharding_t *sharding) {
  if (!sharding) return false;
  for (int i = 0; i < sharding->element_count; i++)
    if (hlo_cuts(sharding->elements[i])) return true;
  if (sharding->kind != HLO_TILE_KIND_OTHER) return false;
  for (int d = 0; d < sharding->dim_count && sharding->named; d++)
    if (sharding->dims[d].axes.count) return true;
  int64_t extra = sharding->last_tile_kinds.count + sharding->replicate_last_dim;
  for (int64_t d = 0; d + extra < sharding->tile_dims.count; d++)
    if (sharding->tile_dims.data[d] > 1) return true;
  return false;
}

typedef struct findings {
  bool manual, sdy_cut, hlo_cut, collective;
} findings_t;

/* Does Shardy's text of shardings name an axis? Text that is none counts, and is refused when it is
 * read. */
static bool names_axis(hr_str_t text) {
  bool listed = !text.size;
  for (size_t i = 0; i + 1 < text.size; i++) {
    listed |= text.data[i] == '[';
    if (text.data[i] == '{' && text.data[i + 1] != '}' && text.data[i + 1] != '?') return true;
  }
  return !listed;
}

/* A call that is made on one device has a sharding even if it has no result. */
static bool is_call_of_host(const hlo_instr_t *instr) {
  return instr->op == HLO_CUSTOM_CALL && spmd_marker_of(instr) == SPMD_NO_MARKER;
}

static void look_at(const hlo_instr_t *instr, findings_t *found) {
  spmd_marker_t marker = spmd_marker_of(instr);
  found->manual |= marker >= SPMD_ENTER_MANUAL;
  hr_str_t sharding = hlo_frontend_attribute(instr, "xla.sdy.sharding");
  found->sdy_cut |= names_axis(sharding) || (is_call_of_host(instr) && sharding.size);
  found->hlo_cut |= instr->extra && hlo_cuts(instr->extra->sharding);
  found->collective |= hlo_op_is(instr->op, OP_COLLECTIVE) || instr->op == HLO_PARTITION_ID;
}

static findings_t look_at_all(const hlo_module_t *module) {
  findings_t found = {false};
  for (size_t c = 0; c < module->computations.count; c++)
    for (size_t i = 0; i < module->computations.data[c]->instrs.count; i++)
      look_at(module->computations.data[c]->instrs.data[i], &found);
  return found;
}

bool spmd_is_partitioned(const hlo_module_t *module) {
  static const char suffix[] = "_spmd";
  hr_str_t name = module->entry->name;
  size_t size = sizeof suffix - 1;
  return module->is_scheduled ||
         (name.size > size && !memcmp(name.data + name.size - size, suffix, size));
}

static bool is_sdy(const hlo_module_t *module, const findings_t *found) {
  return text_has(module_attribute(module, "xla.sdy.meshes"), "mesh<") || found->sdy_cut;
}

bool spmd_is_global(const hlo_module_t *module, const spmd_options_t *options) {
  findings_t found = look_at_all(module);
  if (found.manual) return true;
  if (options->mesh || options->sharding) return true;
  if (options->device_count == 1) return false;
  if (spmd_is_partitioned(module)) return false;
  if (is_sdy(module, &found))
    return found.sdy_cut ||
           text_has(module_attribute(module, "xla.sdy.tuple_args_shardings"), "{\"");
  return found.hlo_cut && !found.collective;
}

/* --- meshes --- */

typedef struct reader {
  hlo_module_t *module;
  const spmd_options_t *options;
  spmd_program_t *program;
  spmd_meshes_t meshes;
  bool *control;     /* by computation id: its values have shardings */
  bool sdy, ignored; /* ignored: --mesh replaces the annotations */
} reader_t;

typedef hr_status_t (*instr_fn)(reader_t *reader, hlo_instr_t *instr);

/* Calls `read` for each instruction whose values have shardings, with its place for messages. */
static hr_status_t for_each(reader_t *reader, instr_fn read) {
  hr_status_t st = NULL;
  for (size_t c = reader->module->computations.count; c-- > 0 && !st;) {
    hlo_computation_t *computation = reader->module->computations.data[c];
    for (size_t i = 0; i < computation->instrs.count && reader->control[c] && !st; i++) {
      hlo_instr_t *instr = computation->instrs.data[i];
      const char *name;
      st = hr_arena_cstr(&reader->module->arena, instr->name, &name);
      if (st) return st;
      hr_where_t where = {.instruction = name, .pos = hlo_instr_pos(instr)};
      hr_where_push(&where);
      st = read(reader, instr);
      hr_where_pop(&where);
    }
  }
  return st;
}

static hr_status_t inline_meshes_of(reader_t *reader, hlo_instr_t *instr) {
  static const char *const names[] = {"xla.sdy.sharding", "xla.sdy.in_shardings",
                                      "xla.sdy.out_shardings"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    HR_TRY(spmd_read_inline_meshes(&reader->meshes, hlo_frontend_attribute(instr, names[i])));
  return NULL;
}

static hr_status_t add_grids(reader_t *reader, const hlo_sharding_t *sharding) {
  int source;
  for (int i = 0; i < sharding->element_count; i++)
    HR_TRY(add_grids(reader, sharding->elements[i]));
  return spmd_meshes_add_hlo(&reader->meshes, sharding, &source);
}

static hr_status_t grids_of(reader_t *reader, hlo_instr_t *instr) {
  return instr->extra && instr->extra->sharding ? add_grids(reader, instr->extra->sharding) : NULL;
}

/* Manual parts without any tile grid are over all partitions. */
static hr_status_t add_world(reader_t *reader) {
  static const hr_str_t axis = {"partition", 9};
  static const int64_t whole = 1;
  spmd_mesh_source_t source = {.name = HR_STR("partitions"), .axis_count = 1, .device = -1};
  int64_t *size;
  for (size_t i = 0; i < reader->meshes.sources.count; i++)
    if (reader->meshes.sources.data[i].device_count > 1) return NULL;
  HR_TRY(HR_NEW(reader->meshes.arena, &size));
  *size = reader->module->num_partitions > 1 ? reader->module->num_partitions : whole;
  source.axis_names = &axis;
  source.axis_sizes = size;
  source.device_count = *size;
  HR_VEC_PUSH(&reader->meshes.sources, source);
  return NULL;
}

static hr_status_t read_meshes(reader_t *reader, bool is_fixed) {
  hr_str_t text = module_attribute(reader->module, "xla.sdy.meshes");
  if (reader->ignored) {
    HR_TRY(spmd_meshes_read_option(&reader->meshes, reader->options->mesh));
  } else if (reader->sdy) {
    if (text.size) HR_TRY(spmd_meshes_read(&reader->meshes, text, &reader->module->source));
    HR_TRY(for_each(reader, inline_meshes_of));
  } else {
    HR_TRY(for_each(reader, grids_of));
    if (is_fixed) HR_TRY(add_world(reader));
  }
  HR_TRY(spmd_meshes_join(&reader->meshes, reader->options->device_count, is_fixed));
  reader->program->mesh = reader->meshes.mesh;
  return NULL;
}

/* --- shardings of values --- */

/* A dimension without elements stays whole. */
static hr_status_t drop_empty_dims(reader_t *reader, const hlo_shape_t *shape,
                                   const spmd_sharding_t **sharding) {
  for (int d = 0; d < (*sharding)->rank; d++)
    if (shape->dims[d] == 0 && (*sharding)->dims[d].axes.count)
      HR_TRY(spmd_sharding_with_dim(reader->program->arena, *sharding, d, (spmd_axes_t){0, NULL},
                                    sharding));
  return NULL;
}

/* The array that leaf number `leaf` of the instruction's sharding is about: what enters a manual
 * computation is cut as a global value. */
static const hlo_shape_t *annotated_shape(const hlo_instr_t *instr, int leaf) {
  return spmd_marker_of(instr) == SPMD_ENTER_MANUAL ? instr->operands[leaf]->shape
                                                    : hlo_shape_leaf(instr->shape, leaf);
}
static int annotated_count(const hlo_instr_t *instr) {
  return spmd_marker_of(instr) == SPMD_ENTER_MANUAL ? instr->operand_count
                                                    : hlo_shape_leaf_count(instr->shape);
}

static bool is_border(const hlo_instr_t *instr) {
  spmd_marker_t marker = spmd_marker_of(instr);
  return marker == SPMD_ENTER_MANUAL || marker == SPMD_LEAVE_MANUAL;
}

/* Devices of the program's meshes, of which a smaller world keeps a part. */
static int64_t largest_mesh(const reader_t *reader) {
  int64_t count = 1;
  for (size_t i = 0; i < reader->meshes.sources.count; i++)
    if (reader->meshes.sources.data[i].device_count > count)
      count = reader->meshes.sources.data[i].device_count;
  return count;
}

static hr_status_t set_value(reader_t *reader, const hlo_instr_t *instr, int leaf,
                             const spmd_sharding_t *sharding, spmd_origin_kind_t origin) {
  const hlo_shape_t *shape = annotated_shape(instr, leaf);
  if (!hlo_shape_is_array(shape) || !sharding) return NULL;
  if (sharding->is_foreign && is_border(instr))
    return hlo_unsupported(instr,
                           "a manual computation on a mesh whose axes interleave with those of "
                           "another, or whose devices are in another order: want one mesh");
  if (sharding->device >= largest_mesh(reader) && sharding->mesh)
    return hlo_error(instr, NULL, "a sharding on device %ld, want one below %ld",
                     (long)sharding->device, (long)largest_mesh(reader));
  if (sharding->device < 0) {
    HR_TRY(spmd_sharding_check(sharding, shape));
    HR_TRY(drop_empty_dims(reader, shape, &sharding));
  }
  spmd_value_t *value = &reader->program->computations[instr->parent->id].values[instr->id][leaf];
  *value = (spmd_value_t){sharding, origin, NULL};
  return NULL;
}

static hr_status_t read_caller(reader_t *reader, const hlo_instr_t *instr, hr_str_t text) {
  const spmd_sharding_t *sharding;
  if (hr_str_is(text, "[]") || hr_str_is(text, "#sdy.sharding_per_value<[]>")) return NULL;
  HR_TRY(spmd_read_shardings(&reader->meshes, text, 1, &sharding));
  reader->program->computations[instr->parent->id].callers[instr->id] = sharding->device + 1;
  return NULL;
}

/* Elements of a tuple carry the attribute of the call that makes it. */
static bool repeats_operand(const hlo_instr_t *instr, hr_str_t text) {
  if (instr->op != HLO_GET_TUPLE_ELEMENT || instr->operands[0]->op != HLO_CUSTOM_CALL) return false;
  return hr_str_equal(text, hlo_frontend_attribute(instr->operands[0], "xla.sdy.sharding"));
}

static hr_status_t read_sdy(reader_t *reader, const hlo_instr_t *instr) {
  spmd_marker_t marker = spmd_marker_of(instr);
  const char *name = "xla.sdy.sharding";
  if (marker == SPMD_ENTER_MANUAL) name = "xla.sdy.in_shardings";
  if (marker == SPMD_LEAVE_MANUAL) name = "xla.sdy.out_shardings";
  hr_str_t text = hlo_frontend_attribute(instr, name);
  int count = annotated_count(instr);
  const spmd_sharding_t **shardings;
  if (!text.size || marker == SPMD_GROUP) return NULL;
  if (repeats_operand(instr, text)) return NULL;
  if (!count) return is_call_of_host(instr) ? read_caller(reader, instr, text) : NULL;
  HR_TRY(HR_NEW_ARRAY(reader->program->arena, count + 1, &shardings));
  HR_TRY(spmd_read_shardings(&reader->meshes, text, count, shardings));
  if (is_call_of_host(instr))
    reader->program->computations[instr->parent->id].callers[instr->id] = shardings[0]->device + 1;
  for (int leaf = 0; leaf < count; leaf++)
    HR_TRY(set_value(reader, instr, leaf, shardings[leaf], SPMD_FROM_PROGRAM));
  return NULL;
}

static hr_status_t all_dims(reader_t *reader, hr_ints_t *out_dims) {
  int64_t *dims;
  HR_TRY(HR_NEW_ARRAY(reader->program->arena, HLO_MAX_RANK, &dims));
  for (int d = 0; d < HLO_MAX_RANK; d++) dims[d] = d;
  *out_dims = (hr_ints_t){dims, HLO_MAX_RANK};
  return NULL;
}

/* "unspecified_dims=[0,1]" of a constraint's configuration; all of a border where only some axes
 * are manual. */
static hr_status_t open_dims_of(reader_t *reader, const hlo_instr_t *instr, hr_ints_t *out_dims) {
  int64_t *dims, count = 0;
  *out_dims = (hr_ints_t){NULL, 0};
  hr_str_t text = instr->extra ? instr->extra->backend_config : (hr_str_t){"", 0};
  if (is_border(instr)) return text.size ? all_dims(reader, out_dims) : NULL;
  const char *at = text.size ? memmem(text.data, text.size, "unspecified_dims=[", 18) : NULL;
  if (spmd_marker_of(instr) != SPMD_CONSTRAINT || !at) return NULL;
  spmd_scan_t scan = {at + 18, text.data + text.size, "backend_config"};
  HR_TRY(HR_NEW_ARRAY(reader->program->arena, HLO_MAX_RANK, &dims));
  for (bool more = !spmd_scan_take(&scan, "]"); more && count < HLO_MAX_RANK; count++) {
    HR_TRY(spmd_scan_number(&scan, &dims[count]));
    HR_TRY(spmd_scan_more(&scan, "]", &more));
  }
  *out_dims = (hr_ints_t){dims, count};
  return NULL;
}

static hr_status_t read_gspmd(reader_t *reader, const hlo_instr_t *instr) {
  const hlo_sharding_t *all = instr->extra ? instr->extra->sharding : NULL;
  int count = annotated_count(instr);
  hr_ints_t open;
  if (instr->op == HLO_CALL) return NULL; /* a manual part, whose sharding says which axes */
  if (!all || (all->kind == HLO_TILE_KIND_TUPLE && all->element_count != count)) return NULL;
  HR_TRY(open_dims_of(reader, instr, &open));
  for (int leaf = 0; leaf < count; leaf++) {
    const hlo_shape_t *shape = annotated_shape(instr, leaf);
    const hlo_sharding_t *one = all->kind == HLO_TILE_KIND_TUPLE ? all->elements[leaf] : all;
    const spmd_sharding_t *sharding;
    spmd_axes_t manual = {0, NULL};
    if (!hlo_shape_is_array(shape)) continue;
    HR_TRY(spmd_read_hlo_sharding(&reader->meshes, one, shape->rank, open, &sharding, &manual));
    HR_TRY(set_value(reader, instr, leaf, sharding, SPMD_FROM_PROGRAM));
  }
  return NULL;
}

/* --- manual computations --- */

/* The marker in front of a manual call, or behind it if it has no operands. */
static const hlo_instr_t *marker_of_call(const hlo_instr_t *call) {
  const hlo_computation_t *computation = call->parent;
  for (int k = 0; k < call->operand_count; k++) {
    const hlo_instr_t *operand = call->operands[k];
    if (operand->op == HLO_GET_TUPLE_ELEMENT) operand = operand->operands[0];
    if (spmd_marker_of(operand) == SPMD_ENTER_MANUAL) return operand;
  }
  for (size_t i = call->id + 1; i < computation->instrs.count; i++) {
    const hlo_instr_t *user = computation->instrs.data[i];
    if (spmd_marker_of(user) != SPMD_LEAVE_MANUAL) continue;
    for (int k = 0; k < user->operand_count; k++)
      if (user->operands[k] == call || user->operands[k]->operands[0] == call) return user;
  }
  return NULL;
}

/* Of a GSPMD part: all axes, or those of the tile dimensions that are manual; without those around
 * it. */
static hr_status_t gspmd_manual_axes(reader_t *reader, const hlo_instr_t *call, spmd_axes_t around,
                                     spmd_axes_t *out_axes) {
  const hlo_sharding_t *sharding = call->extra ? call->extra->sharding : NULL;
  spmd_axes_t axes = {0, NULL};
  if (sharding && sharding->kind == HLO_TILE_KIND_OTHER)
    HR_TRY(spmd_read_manual_tiles(&reader->meshes, sharding, &axes));
  else
    HR_TRY(spmd_mesh_axes(reader->program->arena, reader->meshes.mesh, &axes));
  return spmd_axes_subtract(reader->program->arena, axes, around, out_axes);
}

/* Bodies of control flow have the manual axes around them; a manual body has its own, too. */
static hr_status_t pass_manual_axes(reader_t *reader, const hlo_instr_t *instr) {
  spmd_computation_t *computations = reader->program->computations;
  spmd_axes_t axes = computations[instr->parent->id].manual_axes, own = {0, NULL};
  const hlo_instr_t *marker = instr->op == HLO_CALL ? marker_of_call(instr) : NULL;
  if (instr->op != HLO_CALL && instr->op != HLO_WHILE && instr->op != HLO_CONDITIONAL) return NULL;
  if (marker && reader->sdy)
    HR_TRY(spmd_read_manual_axes(&reader->meshes,
                                 hlo_frontend_attribute(marker, "xla.sdy.manual_axes"), &own));
  if (instr->op == HLO_CALL && !reader->sdy) HR_TRY(gspmd_manual_axes(reader, instr, axes, &own));
  if (spmd_axes_overlap(axes, own))
    return hr_error(HR_INVALID, "a manual computation inside another one of the same axes");
  HR_TRY(spmd_axes_concat(reader->program->arena, axes, own, &axes));
  HR_TRY(spmd_axes_sort(reader->program->arena, axes, &axes));
  for (int k = 0; k < instr->called_count; k++)
    computations[instr->called[k]->id].manual_axes = axes;
  return NULL;
}

static hr_status_t read_instr(reader_t *reader, hlo_instr_t *instr) {
  HR_TRY(pass_manual_axes(reader, instr));
  if (reader->ignored) return NULL;
  return reader->sdy ? read_sdy(reader, instr) : read_gspmd(reader, instr);
}

/* --- parameters and results of the entry --- */

/* The instruction that is leaf number `leaf` of the tuple that `root` builds. */
static const hlo_instr_t *leaf_of(const hlo_instr_t *root, int leaf) {
  for (int k = 0; root->op == HLO_TUPLE && k < root->operand_count; k++) {
    int count = hlo_shape_leaf_count(root->operands[k]->shape);
    if (leaf < count) return leaf_of(root->operands[k], leaf);
    leaf -= count;
  }
  return root;
}

/* The shardings of the tuple that the entry returns are those of its markers. */
static hr_status_t pass_results_on(reader_t *reader) {
  const hlo_instr_t *root = reader->module->entry->root;
  spmd_value_t **values = reader->program->computations[root->parent->id].values;
  int count = hlo_shape_leaf_count(root->shape);
  for (int leaf = 0; leaf < count && root->op == HLO_TUPLE; leaf++) {
    const hlo_instr_t *marker = leaf_of(root, leaf);
    const spmd_sharding_t *sharding = values[root->id][leaf].sharding;
    if (spmd_marker_of(marker) == SPMD_RESULT && sharding && !values[marker->id][0].sharding)
      HR_TRY(set_value(reader, marker, 0, sharding, SPMD_FROM_PROGRAM));
    values[root->id][leaf].sharding = NULL;
  }
  return NULL;
}

/* xla.sdy.tuple_args_shardings: of the one parameter, a tuple. */
static hr_status_t read_tuple_args(reader_t *reader) {
  hr_str_t text = module_attribute(reader->module, "xla.sdy.tuple_args_shardings");
  const hlo_computation_t *entry = reader->module->entry;
  if (!text.size || entry->params.count != 1 || !reader->sdy || reader->ignored) return NULL;
  const hlo_instr_t *param = entry->params.data[0];
  int count = hlo_shape_leaf_count(param->shape);
  const spmd_sharding_t **shardings;
  HR_TRY(HR_NEW_ARRAY(reader->program->arena, count + 1, &shardings));
  HR_TRY(spmd_read_shardings(&reader->meshes, text, count, shardings));
  for (int leaf = 0; leaf < count; leaf++)
    HR_TRY(set_value(reader, param, leaf, shardings[leaf], SPMD_FROM_PROGRAM));
  return NULL;
}

static hr_status_t find_input(const reader_t *reader, int64_t number, const hlo_instr_t **out_instr,
                              int *out_leaf) {
  const hlo_computation_t *entry = reader->module->entry;
  int64_t left = number;
  for (size_t k = 0; k < entry->params.count; k++) {
    int count = hlo_shape_leaf_count(entry->params.data[k]->shape);
    *out_instr = entry->params.data[k];
    *out_leaf = (int)left;
    if (left < count) return NULL;
    left -= count;
  }
  return hr_error(HR_USAGE, "option --sharding: in%ld of a program of %ld inputs", (long)number,
                  (long)(number - left));
}

static hr_status_t find_output(const reader_t *reader, int64_t number,
                               const hlo_instr_t **out_instr, int *out_leaf) {
  const hlo_instr_t *root = reader->module->entry->root;
  int count = hlo_shape_leaf_count(root->shape);
  if (number >= count)
    return hr_error(HR_USAGE, "option --sharding: out%ld of a program of %d outputs", (long)number,
                    count);
  *out_instr = leaf_of(root, (int)number);
  *out_leaf = 0;
  return NULL;
}

static hr_status_t read_assignment(reader_t *reader, const spmd_option_t *option) {
  const hlo_instr_t *instr;
  const spmd_sharding_t *sharding;
  int leaf;
  HR_TRY((option->is_input ? find_input : find_output)(reader, option->number, &instr, &leaf));
  int rank = hlo_shape_leaf(instr->shape, leaf)->rank;
  HR_TRY(spmd_read_option_sharding(&reader->meshes, option->list, rank, &sharding));
  hr_status_t st = set_value(reader, instr, leaf, sharding, SPMD_FROM_USER);
  if (hr_status_code(st) != HR_INVALID) return st;
  hr_status_t usage = hr_error(HR_USAGE, "option --sharding: \"%s%ld=%.*s\": %s",
                               option->is_input ? "in" : "out", (long)option->number,
                               HR_STR_ARGS(option->list), hr_status_message(st));
  hr_status_release(st);
  return usage;
}

static hr_status_t read_options(reader_t *reader) {
  hr_str_t text = hr_str_from(reader->options->sharding);
  while (text.size) {
    spmd_option_t option;
    HR_TRY(spmd_next_option(&text, &option));
    HR_TRY(read_assignment(reader, &option));
  }
  return NULL;
}

/* --- all of it --- */

static hr_status_t make_values(reader_t *reader) {
  hlo_module_t *module = reader->module;
  spmd_computation_t *computations;
  HR_TRY(HR_NEW_ARRAY(&module->arena, module->computations.count, &computations));
  for (size_t c = 0; c < module->computations.count; c++) {
    const hlo_computation_t *computation = module->computations.data[c];
    if (!reader->control[c]) continue;
    HR_TRY(HR_NEW_ARRAY(&module->arena, computation->instrs.count, &computations[c].values));
    HR_TRY(HR_NEW_ARRAY(&module->arena, computation->instrs.count, &computations[c].callers));
    for (size_t i = 0; i < computation->instrs.count; i++) {
      const hlo_instr_t *instr = computation->instrs.data[i];
      int leaves = hlo_shape_leaf_count(instr->shape), count = annotated_count(instr);
      HR_TRY(HR_NEW_ARRAY(&module->arena, (leaves > count ? leaves : count) + 1,
                          &computations[c].values[i]));
    }
  }
  reader->program->computations = computations;
  return NULL;
}

static hr_status_t read_all(reader_t *reader) {
  findings_t found = look_at_all(reader->module);
  reader->ignored = reader->options->mesh != NULL;
  reader->sdy = is_sdy(reader->module, &found);
  if (reader->ignored && found.manual)
    return hr_error(HR_USAGE,
                    "option --mesh: the program has manual computations, which fix its "
                    "mesh");
  HR_TRY(spmd_normalize(reader->module));
  HR_TRY(spmd_find_control(&reader->module->arena, reader->module, &reader->control));
  HR_TRY(make_values(reader));
  HR_TRY(read_meshes(reader, found.manual));
  HR_TRY(for_each(reader, read_instr));
  HR_TRY(pass_results_on(reader));
  HR_TRY(read_tuple_args(reader));
  return read_options(reader);
}

hr_status_t spmd_read_annotations(hlo_module_t *module, const spmd_options_t *options,
                                  spmd_program_t *out_program) {
  *out_program = (spmd_program_t){.module = module,
                                  .arena = &module->arena,
                                  .carried = options->carried,
                                  .carried_count = options->carried_count};
  reader_t reader = {.module = module,
                     .options = options,
                     .program = out_program,
                     .meshes = {.arena = &module->arena}};
  hr_status_t st = read_all(&reader);
  spmd_meshes_deinit(&reader.meshes);
  return st;
}
