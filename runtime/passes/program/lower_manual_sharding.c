/* Lowers shard_map (manual computations of the Shardy dialect) to a per-partition program:
 *
 *   l = GlobalToLocalShape(x: f32[8]); ..l.. ; g = LocalToGlobalShape(r: f32[2])
 *     ->   x: f32[2], and both markers are identities
 *
 * Parameters and results get the shape of their shard, as the markers that use them state. Calls
 * that contain markers are inlined first. Between parameters, markers and results values may only
 * be passed on (tuples, calls); anything computed on a global value needs a partitioner and is
 * refused. */
#include "passes/program/lower_manual_sharding.h"

#include <string.h>

#include "ir/shard.h"
#include "ops/rules/verify.h"
#include "passes/cleanup/inline_calls.h"

typedef struct localiser {
  hlo_module_t *module;
  hr_arena_t *arena;
  hlo_named_mesh_t *meshes;
  int mesh_count;
  const hlo_sharding_t *const **
      shardings; /* shardings of each instruction of the entry, per leaf; NULL: global everywhere */
} localiser_t;

static hr_str_t target_of(const hlo_instr_t *instr) {
  return instr->op == HLO_CUSTOM_CALL ? hlo_attr_str(instr, HLO_ATTR_CUSTOM_CALL_TARGET)
                                      : (hr_str_t){"", 0};
}

static bool enters(const hlo_instr_t *instr) {
  return hr_str_is(target_of(instr), "xla.sdy.GlobalToLocalShape");
}
static bool leaves(const hlo_instr_t *instr) {
  return hr_str_is(target_of(instr), "xla.sdy.LocalToGlobalShape");
}

/* Does the sharding divide any dimension? */
static bool cuts_anything(const hlo_sharding_t *sharding) {
  for (int d = 0; sharding && d < sharding->dim_count; d++)
    if (hlo_shard_parts(sharding, d) > 1) return true;
  return false;
}

/* Equal axes in equal order, dimensions that are not divided apart. */
static bool same_cut(const hlo_sharding_t *a, const hlo_sharding_t *b) {
  int dims = b ? b->dim_count : 0;
  if (a) dims = a->dim_count;
  for (int d = 0; d < dims; d++) {
    hlo_axes_t left = a && d < a->dim_count ? a->dims[d].axes : (hlo_axes_t){0, NULL};
    hlo_axes_t right = b && d < b->dim_count ? b->dims[d].axes : (hlo_axes_t){0, NULL};
    if (hlo_shard_parts(a, d) == 1 && hlo_shard_parts(b, d) == 1) continue;
    if (left.count != right.count ||
        memcmp(left.refs, right.refs, (size_t)left.count * sizeof *left.refs))
      return false;
  }
  return true;
}

/* The shape of one shard. */
static hr_status_t local_shape(localiser_t *pass, const hlo_shape_t *shape,
                               const hlo_sharding_t *sharding, const hlo_shape_t **out_shape) {
  int64_t starts[HLO_MAX_RANK], sizes[HLO_MAX_RANK];
  *out_shape = shape;
  if (!cuts_anything(sharding) || !hlo_shape_is_array(shape)) return NULL;
  HR_TRY(hlo_shard_of(sharding, shape->rank, shape->dims, 0, starts, sizes));
  return hlo_shape_array(pass->arena, shape->dtype, shape->rank, sizes, out_shape);
}

static hr_status_t needs_partitioner(const hlo_instr_t *instr, const char *why) {
  return hlo_unsupported(
      instr,
      "%s: the program is not partitioned yet, and only a partitioner could do it; take the "
      "per-partition program, which XLA prints with compiled.as_text()",
      why);
}

/* The shardings that a marker states, one per operand. */
static hr_status_t stated_shardings(localiser_t *pass, const hlo_instr_t *instr,
                                    const char *attribute,
                                    const hlo_sharding_t *const **out_shardings) {
  int count;
  HR_TRY(hlo_sdy_shardings(pass->arena, hlo_frontend_attribute(instr, attribute), pass->meshes,
                           pass->mesh_count, out_shardings, &count));
  if (count != instr->operand_count)
    return hlo_error(instr, NULL, "%d shardings for %d values", count, instr->operand_count);
  return NULL;
}

/* Writes a parameter's sharding down; the marker that cuts it decides. */
static hr_status_t cut_parameter(localiser_t *pass, hlo_instr_t *param,
                                 const hlo_sharding_t *sharding) {
  const hlo_sharding_t *const *known = pass->shardings[param->id];
  if (known && !same_cut(known[0], sharding))
    return needs_partitioner(param, "it is cut in two different ways");
  if (known) return NULL;
  const hlo_sharding_t **list;
  hlo_extra_t *extra;
  HR_TRY(HR_NEW(pass->arena, &list));
  HR_TRY(HR_NEW(pass->arena, &extra));
  if (param->extra) *extra = *param->extra;
  list[0] = sharding;
  extra->sharding = sharding;
  param->extra = extra;
  pass->shardings[param->id] = list;
  return NULL;
}

static hr_status_t enter(localiser_t *pass, hlo_instr_t *instr) {
  const hlo_sharding_t *const *shardings;
  HR_TRY(stated_shardings(pass, instr, "xla.sdy.in_shardings", &shardings));
  for (int k = 0; k < instr->operand_count; k++) {
    hlo_instr_t *operand = instr->operands[k];
    if (operand->op == HLO_PARAMETER)
      HR_TRY(cut_parameter(pass, operand, shardings[k]));
    else if (!same_cut(pass->shardings[operand->id] ? pass->shardings[operand->id][0] : NULL,
                       shardings[k]))
      return needs_partitioner(operand, "it is computed on global values and then cut");
  }
  return NULL;
}

/* A marker passes its operands on: as they are, or as a tuple of them. */
static void become_pass_through(hlo_instr_t *instr) {
  bool tuple = instr->operand_count != 1 || hlo_shape_is_tuple(instr->shape);
  instr->op = tuple ? HLO_TUPLE : HLO_COPY;
  instr->attr_count = 0;
}

static hr_status_t retype(localiser_t *pass, hlo_instr_t *instr) {
  const hlo_shape_t *const *in;
  HR_TRY(hlo_operand_shapes(pass->arena, instr, &in));
  return hlo_infer_shape(pass->arena, instr, in, &instr->shape);
}

/* Shardings of what tuples and their elements pass on. */
static hr_status_t pass_on(localiser_t *pass, hlo_instr_t *instr) {
  const hlo_sharding_t **list;
  int count = instr->op == HLO_TUPLE ? instr->operand_count : 1;
  HR_TRY(HR_NEW_ARRAY(pass->arena, count, &list));
  for (int k = 0; k < instr->operand_count; k++) {
    const hlo_sharding_t *const *from = pass->shardings[instr->operands[k]->id];
    int64_t index = instr->op == HLO_GET_TUPLE_ELEMENT ? hlo_attr_int(instr, HLO_ATTR_INDEX) : 0;
    if (from) list[k] = from[index];
  }
  pass->shardings[instr->id] = list;
  return retype(pass, instr);
}

static bool is_cut(const localiser_t *pass, const hlo_instr_t *instr) {
  const hlo_sharding_t *const *list = pass->shardings[instr->id];
  int count = hlo_shape_is_tuple(instr->shape) ? instr->shape->element_count : 1;
  for (int i = 0; list && i < count; i++)
    if (cuts_anything(list[i])) return true;
  return false;
}

static bool passes_on(const hlo_instr_t *instr) {
  return instr->op == HLO_TUPLE || instr->op == HLO_GET_TUPLE_ELEMENT || instr->op == HLO_COPY;
}

/* The note of a result's sharding, as pmap has it, that says what the value is cut by already. */
static bool is_same_result(localiser_t *pass, const hlo_instr_t *instr) {
  const hlo_sharding_t *const *stated;
  if (!hr_str_is(target_of(instr), "xla.sdy.FuncResultSharding") || instr->operand_count != 1)
    return false;
  const hlo_sharding_t *const *known = pass->shardings[instr->operands[0]->id];
  hr_status_t st = stated_shardings(pass, instr, "xla.sdy.sharding", &stated);
  bool same = !st && same_cut(known ? known[0] : NULL, stated[0]);
  hr_status_release(st);
  return same;
}

/* One instruction of the entry, in order. Inside a manual computation values are local and carry no
 * sharding here. */
static hr_status_t localise_instr(localiser_t *pass, hlo_instr_t *instr) {
  if (instr->op == HLO_PARAMETER) {
    const hlo_sharding_t *const *known = pass->shardings[instr->id];
    return known ? local_shape(pass, instr->shape, known[0], &instr->shape) : NULL;
  }
  if (enters(instr)) {
    HR_TRY(enter(pass, instr));
    become_pass_through(instr);
    return retype(pass, instr);
  }
  if (leaves(instr)) {
    const hlo_sharding_t *const *shardings;
    HR_TRY(stated_shardings(pass, instr, "xla.sdy.out_shardings", &shardings));
    become_pass_through(instr);
    pass->shardings[instr->id] = shardings;
    return retype(pass, instr);
  }
  if (passes_on(instr)) return pass_on(pass, instr);
  if (is_same_result(pass, instr)) {
    become_pass_through(instr);
    return pass_on(pass, instr);
  }
  for (int k = 0; k < instr->operand_count; k++)
    if (is_cut(pass, instr->operands[k]))
      return needs_partitioner(instr, "it computes on a value that is cut");
  return NULL;
}

/* Assigns shardings to parameters ahead of the sweep: the markers that use them come later. */
static hr_status_t cut_parameters(localiser_t *pass) {
  const hlo_computation_t *entry = pass->module->entry;
  for (size_t i = 0; i < entry->instrs.count; i++) {
    hlo_instr_t *instr = entry->instrs.data[i];
    const hlo_sharding_t *const *shardings;
    if (!enters(instr)) continue;
    HR_TRY(stated_shardings(pass, instr, "xla.sdy.in_shardings", &shardings));
    for (int k = 0; k < instr->operand_count; k++)
      if (instr->operands[k]->op == HLO_PARAMETER)
        HR_TRY(cut_parameter(pass, instr->operands[k], shardings[k]));
  }
  return NULL;
}

/* A program that is sharded over several devices but has no manual computation. */
static hr_status_t refuse_unpartitioned(localiser_t *pass) {
  const hlo_computation_t *entry = pass->module->entry;
  for (size_t i = 0; i < entry->instrs.count; i++) {
    const hlo_instr_t *instr = entry->instrs.data[i];
    hr_str_t text = hlo_frontend_attribute(instr, "xla.sdy.sharding");
    bool sharded = text.size && memmem(text.data, text.size, "{\"", 2);
    bool marked = hr_str_is(target_of(instr), "Sharding") ||
                  hr_str_is(target_of(instr), "xla.sdy.FuncResultSharding");
    if (sharded || marked) return needs_partitioner(instr, "it is sharded");
  }
  return NULL;
}

static bool has_manual_computation(const hlo_computation_t *computation) {
  for (size_t i = 0; i < computation->instrs.count; i++)
    if (enters(computation->instrs.data[i]) || leaves(computation->instrs.data[i])) return true;
  return false;
}

/* By computation id: it contains markers, itself or in called computations. */
static hr_status_t find_markers(localiser_t *pass, bool **out_marked) {
  bool *marked;
  HR_TRY(HR_NEW_ARRAY(pass->arena, pass->module->computations.count, &marked));
  for (size_t c = 0; c < pass->module->computations.count; c++) {
    const hlo_computation_t *computation = pass->module->computations.data[c];
    marked[c] = has_manual_computation(computation);
    for (size_t i = 0; i < computation->instrs.count && !marked[c]; i++)
      for (int k = 0; k < computation->instrs.data[i]->called_count; k++)
        marked[c] |= marked[computation->instrs.data[i]->called[k]->id];
  }
  *out_marked = marked;
  return NULL;
}

static bool is_marked(const hlo_instr_t *call, const void *context) {
  return call->op == HLO_CALL && ((const bool *)context)[call->called[0]->id] &&
         !hlo_attr_bool(call, HLO_ATTR_IS_COMPOSITE);
}

static int64_t largest_mesh(const localiser_t *pass) {
  int64_t largest = 1;
  for (int i = 0; i < pass->mesh_count; i++) {
    int64_t devices = 1;
    for (int a = 0; a < pass->meshes[i].mesh.axis_count; a++)
      devices *= pass->meshes[i].mesh.axes[a].size;
    if (devices > largest) largest = devices;
  }
  return largest;
}

static hr_str_t meshes_of(const hlo_module_t *module) {
  for (int i = 0; i < module->frontend_attributes.count; i++)
    if (hr_str_is(module->frontend_attributes.items[i].name, "xla.sdy.meshes"))
      return module->frontend_attributes.items[i].value;
  return (hr_str_t){"", 0};
}

hr_status_t pass_lower_manual_sharding(hlo_module_t *module) {
  localiser_t pass = {.module = module, .arena = &module->arena};
  hr_str_t meshes = meshes_of(module);
  if (!meshes.size) return NULL;
  HR_TRY(hlo_sdy_meshes(pass.arena, meshes, &pass.meshes, &pass.mesh_count));
  int64_t devices = largest_mesh(&pass);
  bool *marked;
  HR_TRY(find_markers(&pass, &marked));
  HR_TRY(pass_inline(module->entry, is_marked, marked));
  if (!has_manual_computation(module->entry))
    return devices > 1 ? refuse_unpartitioned(&pass) : NULL;
  HR_TRY(HR_NEW_ARRAY(pass.arena, module->entry->instrs.count, &pass.shardings));
  HR_TRY(cut_parameters(&pass));
  for (size_t i = 0; i < module->entry->instrs.count; i++)
    HR_TRY(localise_instr(&pass, module->entry->instrs.data[i]));
  if (module->replica_count == 1 && module->num_partitions == 1) module->num_partitions = devices;
  module->result_shardings = pass.shardings[module->entry->root->id];
  return NULL;
}
