/* Reads a program's annotations into shardings of its values.
 *
 * In a module with sdy meshes only xla.sdy attributes are read, as its GSPMD strings say less; in
 * other modules, the GSPMD strings. Options are read last and replace annotations. Cost: linear in
 * the program and the texts. */
#include <string.h>

#include "base/log.h"
#include "ir/sharding.h"
#include "partition/annotations/reader.h"

/* --- meshes --- */

typedef hr_status_t (*instr_fn)(spmd_reader_t *reader, hlo_instr_t *instr);

/* Calls `read` for each instruction whose values have shardings, with its place for messages. */
static hr_status_t for_each(spmd_reader_t *reader, instr_fn read) {
  hr_status_t st = NULL;
  for (size_t c = reader->module->computations.count; c-- > 0 && !st;) {
    hlo_computation_t *computation = reader->module->computations.data[c];
    for (size_t i = 0; i < computation->instrs.count && reader->control[c] && !st; i++) {
      hlo_instr_t *instr = computation->instrs.data[i];
      const char *name, *parent;
      HR_TRY(hr_arena_cstr(&reader->module->arena, instr->name, &name));
      HR_TRY(hr_arena_cstr(&reader->module->arena, computation->name, &parent));
      hr_where_t where = {.computation = parent, .instruction = name, .pos = hlo_instr_pos(instr)};
      hr_where_push(&where);
      st = read(reader, instr);
      if (st && !instr->line) st = hr_status_note(st, "in the sharding of %%%s", name);
      hr_where_pop(&where);
    }
  }
  return st;
}

static hr_status_t inline_meshes_of(spmd_reader_t *reader, hlo_instr_t *instr) {
  static const char *const names[] = {"xla.sdy.sharding", "xla.sdy.in_shardings",
                                      "xla.sdy.out_shardings"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    HR_TRY(spmd_read_inline_meshes(&reader->meshes, hlo_frontend_attribute(instr, names[i])));
  return NULL;
}

static hr_status_t uses_of(spmd_reader_t *reader, hlo_instr_t *instr) {
  spmd_note_used(&reader->meshes, hlo_frontend_attribute(instr, "xla.sdy.sharding"), false);
  spmd_note_used(&reader->meshes, hlo_frontend_attribute(instr, "xla.sdy.in_shardings"), true);
  spmd_note_used(&reader->meshes, hlo_frontend_attribute(instr, "xla.sdy.out_shardings"), true);
  return NULL;
}

/* Drops meshes of which no sharding names an axis, whatever their size, as Shardy does. A sharding
 * that cuts nothing fits any mesh. */
static hr_status_t drop_unused(spmd_reader_t *reader) {
  bool any = false;
  HR_TRY(for_each(reader, uses_of));
  spmd_note_used(&reader->meshes,
                 spmd_module_attribute(reader->module, "xla.sdy.tuple_args_shardings"), false);
  for (size_t i = 0; i < reader->meshes.sources.count; i++)
    any |= reader->meshes.sources.data[i].is_used;
  for (size_t i = 0; i < reader->meshes.sources.count && any; i++) {
    spmd_mesh_source_t *source = &reader->meshes.sources.data[i];
    if (!source->is_used && source->axis_count) source->device_count = 1;
  }
  return NULL;
}

/* Adds the tile grid or named mesh of a sharding, or those of a tuple sharding's elements. */
static hr_status_t add_grids(spmd_reader_t *reader, const hlo_sharding_t *sharding) {
  int source;
  for (int i = 0; i < sharding->element_count; i++)
    HR_TRY(add_grids(reader, sharding->elements[i]));
  return spmd_meshes_add_hlo(&reader->meshes, sharding, &source);
}

static hr_status_t grids_of(spmd_reader_t *reader, hlo_instr_t *instr) {
  return instr->extra && instr->extra->sharding ? add_grids(reader, instr->extra->sharding) : NULL;
}

/* Adds a mesh of all partitions, for manual parts without any tile grid. */
static hr_status_t add_world(spmd_reader_t *reader) {
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

/* Number of devices of the largest mesh. */
static int64_t largest_mesh(const spmd_reader_t *reader) {
  int64_t count = 1;
  for (size_t i = 0; i < reader->meshes.sources.count; i++)
    if (reader->meshes.sources.data[i].device_count > count)
      count = reader->meshes.sources.data[i].device_count;
  return count;
}

/* Checks that the mesh of --mesh has as many devices as there are processes, if these are several.
 */
static hr_status_t check_option(const spmd_reader_t *reader) {
  int64_t devices = largest_mesh(reader), processes = reader->options->device_count;
  if (processes < 2 || devices < 2 || devices == processes) return NULL;
  return hr_error(HR_USAGE,
                  "option --mesh: %s has %ld devices, which do not fit %ld processes: start them "
                  "with hlorun -n %ld",
                  reader->options->mesh, (long)devices, (long)processes, (long)devices);
}

static hr_status_t read_sdy_meshes(spmd_reader_t *reader) {
  hr_str_t text = spmd_module_attribute(reader->module, "xla.sdy.meshes");
  if (text.size) HR_TRY(spmd_meshes_read(&reader->meshes, text, &reader->module->source));
  HR_TRY(for_each(reader, inline_meshes_of));
  return drop_unused(reader);
}

/* Warns that the program's shardings are left out, where no option gives others. */
static void warn_missing(const spmd_reader_t *reader, const spmd_mesh_source_t *given) {
  const hr_str_t *axis = spmd_meshes_missing_axis(&reader->meshes, given);
  if (axis && !reader->options->sharding)
    hr_log(HR_LOG_PLAN, HR_LOG_WARN,
           "--mesh: %s has no axis \"%.*s\", which the program's shardings name: they are left out",
           reader->options->mesh, HR_STR_ARGS(*axis));
}

/* If the mesh of --mesh has all axes of the program's meshes, it gives them its sizes; else it
 * replaces the annotations. */
static hr_status_t apply_option(spmd_reader_t *reader, spmd_meshes_t *given) {
  HR_TRY(spmd_meshes_read_option(given, reader->options->mesh));
  if (reader->sdy) HR_TRY(read_sdy_meshes(reader));
  reader->ignored = !reader->sdy || !spmd_meshes_resize(&reader->meshes, &given->sources.data[0]);
  if (!reader->ignored) return NULL;
  warn_missing(reader, &given->sources.data[0]);
  spmd_meshes_t own = reader->meshes;
  reader->meshes = *given;
  *given = own;
  return NULL;
}

static hr_status_t read_option_mesh(spmd_reader_t *reader) {
  spmd_meshes_t given = {.arena = reader->meshes.arena};
  hr_status_t st = apply_option(reader, &given);
  spmd_meshes_deinit(&given);
  return st ? st : check_option(reader);
}

/* All meshes must be known before the first sharding is read: they are joined into one. */
static hr_status_t read_meshes(spmd_reader_t *reader, bool is_fixed) {
  if (reader->options->mesh) {
    HR_TRY(read_option_mesh(reader));
  } else if (reader->sdy) {
    HR_TRY(read_sdy_meshes(reader));
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
static hr_status_t drop_empty_dims(spmd_reader_t *reader, const hlo_shape_t *shape,
                                   const spmd_sharding_t **sharding) {
  for (int d = 0; d < (*sharding)->rank; d++)
    if (shape->dims[d] == 0 && (*sharding)->dims[d].axes.count)
      HR_TRY(spmd_sharding_with_dim(reader->program->arena, *sharding, d, (spmd_axes_t){0, NULL},
                                    sharding));
  return NULL;
}

/* Shape of the array that element `leaf` of the instruction's sharding describes: the global
 * operand for a marker at the entry of a manual computation. */
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

/* True where it matters which device holds which part: at the borders of manual computations, and
 * for parameters and results of the program. */
static bool is_placed(const spmd_reader_t *reader, const hlo_instr_t *instr) {
  bool is_end = instr->op == HLO_PARAMETER || spmd_marker_of(instr) == SPMD_RESULT;
  return is_border(instr) || (is_end && instr->parent == reader->module->entry);
}

/* Records the placement of a value. */
static hr_status_t place_value(spmd_reader_t *reader, const hlo_instr_t *instr, int leaf,
                               const spmd_sharding_t *sharding) {
  spmd_computation_t *here = &reader->program->computations[instr->parent->id];
  const spmd_mesh_t ***of_instr;
  if (!here->placements)
    HR_TRY(HR_NEW_ARRAY(reader->program->arena, instr->parent->instrs.count, &here->placements));
  of_instr = (const spmd_mesh_t ***)&here->placements[instr->id];
  if (!*of_instr)
    HR_TRY(HR_NEW_ARRAY(reader->program->arena, annotated_count(instr) + 1, of_instr));
  (*of_instr)[leaf] = sharding->placement;
  return NULL;
}

hr_status_t spmd_set_value(spmd_reader_t *reader, const hlo_instr_t *instr, int leaf,
                           const spmd_sharding_t *sharding, spmd_origin_kind_t origin) {
  const hlo_shape_t *shape = annotated_shape(instr, leaf);
  if (!hlo_shape_is_array(shape) || !sharding) return NULL;
  if (sharding->device >= largest_mesh(reader) && sharding->mesh)
    return hlo_error(instr, NULL, "a sharding on device %ld, want one below %ld",
                     (long)sharding->device, (long)largest_mesh(reader));
  if (sharding->device < 0) {
    HR_TRY(spmd_sharding_check(sharding, shape));
    HR_TRY(drop_empty_dims(reader, shape, &sharding));
  }
  spmd_value_t *value = &reader->program->computations[instr->parent->id].values[instr->id][leaf];
  *value = (spmd_value_t){sharding, origin, NULL};
  return sharding->placement && is_placed(reader, instr)
             ? place_value(reader, instr, leaf, sharding)
             : NULL;
}

/* Reads the device that makes a custom call without results; stored as device + 1, 0: all. */
static hr_status_t read_caller(spmd_reader_t *reader, const hlo_instr_t *instr, hr_str_t text) {
  const spmd_sharding_t *sharding;
  if (hr_str_is(text, "[]") || hr_str_is(text, "#sdy.sharding_per_value<[]>")) return NULL;
  HR_TRY(spmd_read_shardings(&reader->meshes, text, 1, &sharding));
  reader->program->computations[instr->parent->id].callers[instr->id] = sharding->device + 1;
  return NULL;
}

/* True if the text of a tuple's element is a copy of that of the call that makes the tuple. */
static bool repeats_operand(const hlo_instr_t *instr, hr_str_t text) {
  if (instr->op != HLO_GET_TUPLE_ELEMENT || instr->operands[0]->op != HLO_CUSTOM_CALL) return false;
  return hr_str_equal(text, hlo_frontend_attribute(instr->operands[0], "xla.sdy.sharding"));
}

static hr_status_t read_sdy(spmd_reader_t *reader, const hlo_instr_t *instr) {
  spmd_marker_t marker = spmd_marker_of(instr);
  const char *name = "xla.sdy.sharding";
  if (marker == SPMD_ENTER_MANUAL) name = "xla.sdy.in_shardings";
  if (marker == SPMD_LEAVE_MANUAL) name = "xla.sdy.out_shardings";
  hr_str_t text = hlo_frontend_attribute(instr, name);
  int count = annotated_count(instr);
  const spmd_sharding_t **shardings;
  if (!text.size || marker == SPMD_GROUP) return NULL;
  if (repeats_operand(instr, text)) return NULL;
  if (!count) return spmd_is_host_call(instr) ? read_caller(reader, instr, text) : NULL;
  HR_TRY(HR_NEW_ARRAY(reader->program->arena, count + 1, &shardings));
  HR_TRY(spmd_read_shardings(&reader->meshes, text, count, shardings));
  if (spmd_is_host_call(instr))
    reader->program->computations[instr->parent->id].callers[instr->id] = shardings[0]->device + 1;
  for (int leaf = 0; leaf < count; leaf++)
    HR_TRY(spmd_set_value(reader, instr, leaf, shardings[leaf], SPMD_FROM_PROGRAM));
  return NULL;
}

static hr_status_t all_dims(spmd_reader_t *reader, hr_ints_t *out_dims) {
  int64_t *dims;
  HR_TRY(HR_NEW_ARRAY(reader->program->arena, HLO_MAX_RANK, &dims));
  for (int d = 0; d < HLO_MAX_RANK; d++) dims[d] = d;
  *out_dims = (hr_ints_t){dims, HLO_MAX_RANK};
  return NULL;
}

/* The open dimensions: "unspecified_dims=[0,1]" of a constraint's backend_config, or all dimensions
 * of a border if only some axes are manual. */
static hr_status_t open_dims_of(spmd_reader_t *reader, const hlo_instr_t *instr,
                                hr_ints_t *out_dims) {
  int64_t *dims, count = 0;
  *out_dims = (hr_ints_t){NULL, 0};
  hr_str_t text = instr->extra ? instr->extra->backend_config : (hr_str_t){"", 0};
  if (is_border(instr)) return text.size ? all_dims(reader, out_dims) : NULL;
  const char *at = text.size ? memmem(text.data, text.size, "unspecified_dims=[", 18) : NULL;
  if (spmd_marker_of(instr) != SPMD_CONSTRAINT || !at) return NULL;
  hr_scan_t scan = {at + 18, text.data + text.size, "backend_config"};
  HR_TRY(HR_NEW_ARRAY(reader->program->arena, HLO_MAX_RANK, &dims));
  for (bool more = !hr_scan_take(&scan, "]"); more && count < HLO_MAX_RANK; count++) {
    HR_TRY(hr_scan_number(&scan, &dims[count]));
    HR_TRY(hr_scan_more(&scan, "]", &more));
  }
  *out_dims = (hr_ints_t){dims, count};
  return NULL;
}

/* Reads the device of a feed: {maximal device=2}, or a list that begins with it. */
static void read_feeding_device(spmd_reader_t *reader, const hlo_instr_t *instr,
                                const hlo_sharding_t *sharding) {
  if (instr->op != HLO_INFEED && instr->op != HLO_OUTFEED) return;
  if (sharding && sharding->kind == HLO_TILE_KIND_TUPLE && sharding->element_count)
    sharding = sharding->elements[0];
  if (!sharding || sharding->kind != HLO_TILE_KIND_MAXIMAL) return;
  reader->program->computations[instr->parent->id].callers[instr->id] = sharding->device + 1;
}

/* One sharding stands for all leaves unless it is a tuple of as many. */
static hr_status_t read_gspmd(spmd_reader_t *reader, const hlo_instr_t *instr) {
  const hlo_sharding_t *all = instr->extra ? instr->extra->sharding : NULL;
  int count = annotated_count(instr);
  hr_ints_t open;
  read_feeding_device(reader, instr, all);
  if (instr->op == HLO_CALL) return NULL; /* a manual part: its sharding lists the manual axes */
  bool is_other = all && all->kind == HLO_TILE_KIND_TUPLE && all->element_count != count;
  if (is_other && all->element_count && hlo_shape_is_array(instr->shape))
    return hr_error(HR_INVALID, "a list of %d shardings for one array", all->element_count);
  if (!all || is_other) return NULL;
  HR_TRY(open_dims_of(reader, instr, &open));
  for (int leaf = 0; leaf < count; leaf++) {
    const hlo_shape_t *shape = annotated_shape(instr, leaf);
    const hlo_sharding_t *one = all->kind == HLO_TILE_KIND_TUPLE ? all->elements[leaf] : all;
    const spmd_sharding_t *sharding;
    spmd_axes_t manual = {0, NULL};
    if (!hlo_shape_is_array(shape)) continue;
    HR_TRY(spmd_read_hlo_sharding(&reader->meshes, one, shape->rank, open, &sharding, &manual));
    HR_TRY(spmd_set_value(reader, instr, leaf, sharding, SPMD_FROM_PROGRAM));
  }
  return NULL;
}

/* --- all of it --- */

static hr_status_t read_instr(spmd_reader_t *reader, hlo_instr_t *instr) {
  HR_TRY(spmd_read_manual_call(reader, instr));
  if (reader->ignored) return NULL;
  return reader->sdy ? read_sdy(reader, instr) : read_gspmd(reader, instr);
}

/* Allocates a value for each leaf of each instruction in computations whose values have shardings.
 * A marker at the entry of a manual part has one for each operand. */
static hr_status_t make_values(spmd_reader_t *reader) {
  hlo_module_t *module = reader->module;
  spmd_computation_t *computations;
  HR_TRY(HR_NEW_ARRAY(&module->arena, module->computations.count, &computations));
  for (size_t c = 0; c < module->computations.count; c++) {
    const hlo_computation_t *computation = module->computations.data[c];
    if (!reader->control[c]) continue;
    HR_TRY(HR_NEW_ARRAY(&module->arena, computation->instrs.count, &computations[c].values));
    HR_TRY(HR_NEW_ARRAY(&module->arena, computation->instrs.count, &computations[c].callers));
    HR_TRY(spmd_find_borders(&module->arena, computation, &computations[c].borders));
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

static hr_status_t read_all(spmd_reader_t *reader) {
  spmd_findings_t found = spmd_look_at_all(reader->module);
  reader->sdy = spmd_is_sdy(reader->module, &found);
  if (reader->options->mesh && found.manual)
    return hr_error(HR_USAGE,
                    "option --mesh: the program has manual computations, which fix its "
                    "mesh");
  HR_TRY(spmd_normalize(reader->module));
  HR_TRY(spmd_find_control(&reader->module->arena, reader->module, &reader->control));
  HR_TRY(make_values(reader));
  HR_TRY(read_meshes(reader, found.manual));
  HR_TRY(for_each(reader, read_instr));
  HR_TRY(for_each(reader, spmd_check_placements));
  HR_TRY(spmd_pass_results_on(reader));
  HR_TRY(spmd_read_tuple_args(reader));
  HR_TRY(spmd_read_options(reader));
  return spmd_note_entry_placements(reader);
}

hr_status_t spmd_read_annotations(hlo_module_t *module, const spmd_options_t *options,
                                  spmd_program_t *out_program) {
  *out_program = (spmd_program_t){
      .module = module,
      .arena = &module->arena,
      .carried = options->carried,
      .carried_count = options->carried_count,
      .keep_unreduced = options->keep_unreduced,
      .whole_axes = options->whole_axes,
      .gather_limit = options->gather_limit ? options->gather_limit : SPMD_GATHER_LIMIT};
  spmd_reader_t reader = {.module = module,
                          .options = options,
                          .program = out_program,
                          .meshes = {.arena = &module->arena}};
  hr_status_t st = read_all(&reader);
  spmd_meshes_deinit(&reader.meshes);
  return st;
}
