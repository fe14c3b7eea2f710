/* Replica groups by the axes of a mesh, read from StableHLO's attribute:
 *   #stablehlo.replica_group_mesh_axes<
 *     mesh = #stablehlo.mesh<axes = [#stablehlo.mesh_axis<name = "x", size = 2>, ...],
 *                            device_ids = dense<...>>,
 *     axes = [#stablehlo.axis_ref<name = "x">]>
 * The mesh may be a symbol: an op of that name carries it as an attribute. Groups are expanded
 * into lists of devices; groups of one device each, which HLO cannot write as axes, are lists
 * alone. Cost: linear in the number of devices, at most HLO_MAX_DEVICES. */
#include <string.h>

#include "base/scan_text.h"
#include "ir/sharding.h"
#include "mlir/text/mlir_parser.h"
#include "stablehlo/import/mesh_groups.h"

/* The op of the module with symbol name `name`; NULL if there is none. */
static const mlir_op_t *find_symbol(const mlir_module_t *module, hr_str_t name) {
  const mlir_region_t *region = module->op->region_count ? module->op->regions[0] : NULL;
  const mlir_block_t *block = region && region->blocks.count ? region->blocks.data[0] : NULL;
  for (size_t i = 0; block && i < block->ops.count; i++) {
    const mlir_attr_t *symbol = mlir_op_attr(block->ops.data[i], "sym_name");
    if (symbol && hr_str_equal(symbol->text, name)) return block->ops.data[i];
  }
  return NULL;
}

/* Meshes of sdy are kept as text. */
static bool is_text(const mlir_attr_t *mesh) {
  return mesh && (mesh->kind == MLIR_ATTR_STRING || mesh->kind == MLIR_ATTR_OPAQUE);
}

/* Resolves a mesh attribute, or the symbol of an op that carries one, to an attribute that has a
 * list of axes, or is the text of a mesh. */
static hr_status_t find_mesh(const mlir_module_t *module, const mlir_attr_t *mesh,
                             const mlir_attr_t **out_mesh) {
  if (mesh && mesh->kind == MLIR_ATTR_SYMBOL) {
    const mlir_op_t *holder = find_symbol(module, mesh->text);
    const mlir_attr_t *named = holder ? mlir_op_attr(holder, "stablehlo.mesh") : NULL;
    if (!named && holder) named = mlir_op_attr(holder, "mesh");
    if (!named) return hr_error(HR_INVALID, "there is no mesh @%.*s", HR_STR_ARGS(mesh->text));
    mesh = named;
  }
  const mlir_attr_t *axes = mlir_attr_field(mesh, "axes");
  bool has_axes = is_text(mesh) || (axes && axes->kind == MLIR_ATTR_ARRAY);
  if (!has_axes) return hr_error(HR_INVALID, "its mesh lists no axes");
  *out_mesh = mesh;
  return NULL;
}

/* Reads ["x"=2, "y"=4], device_ids=[...] of an sdy.mesh, which the verifier of sdy has checked. */
static hr_status_t read_text_mesh(hr_arena_t *arena, hr_str_t text, hlo_mesh_t *mesh) {
  hr_scan_t scan = hr_scan(text, "mesh");
  hlo_mesh_axis_t *list;
  int64_t *ids;
  hr_scan_take(&scan, "#sdy.mesh<");
  HR_TRY(HR_NEW_ARRAY(arena, text.size, &list));
  HR_TRY(HR_NEW_ARRAY(arena, text.size, &ids));
  HR_TRY(hr_scan_want(&scan, "["));
  for (bool more = !hr_scan_take(&scan, "]"); more; mesh->axis_count++) {
    HR_TRY(hr_scan_quoted(&scan, &list[mesh->axis_count].name));
    HR_TRY(hr_scan_want(&scan, "="));
    HR_TRY(hr_scan_number(&scan, &list[mesh->axis_count].size));
    HR_TRY(hr_arena_str(arena, list[mesh->axis_count].name, &list[mesh->axis_count].name));
    HR_TRY(hr_scan_more(&scan, "]", &more));
  }
  mesh->axes = list;
  if (!hr_scan_take(&scan, ", device_ids=[")) return NULL;
  mesh->device_ids = (hr_ints_t){ids, 0};
  for (bool more = !hr_scan_take(&scan, "]"); more;) {
    HR_TRY(hr_scan_number(&scan, &ids[mesh->device_ids.count++]));
    HR_TRY(hr_scan_more(&scan, "]", &more));
  }
  return NULL;
}

/* Reads device_ids, a dense array of i64; a splat is expanded, to at most HLO_MAX_DEVICES. */
static hr_status_t read_device_ids(hr_arena_t *arena, const mlir_attr_t *ids, hr_ints_t *out_ids) {
  const mlir_type_t *element = ids->kind == MLIR_ATTR_DENSE ? ids->type->element : ids->type;
  bool dense = ids->kind == MLIR_ATTR_DENSE || ids->kind == MLIR_ATTR_DENSE_ARRAY;
  if (!dense || element->kind != MLIR_TYPE_INTEGER || element->width != 64)
    return hr_error(HR_INVALID, "device_ids of its mesh are no list of i64");
  int64_t count = ids->element_count;
  int64_t *values;
  for (int d = 0; ids->splat && count && d < ids->type->rank; d++) {
    if (ids->type->dims[d] > HLO_MAX_DEVICES / count)
      return hr_error(HR_INVALID, "more than %ld device_ids", (long)HLO_MAX_DEVICES);
    count *= ids->type->dims[d];
  }
  HR_TRY(HR_NEW_ARRAY(arena, count, &values));
  for (int64_t i = 0; i < count; i++)
    memcpy(&values[i], (const char *)ids->data + (ids->splat ? 0 : i * 8), 8);
  *out_ids = (hr_ints_t){values, count};
  return NULL;
}

/* Reads axes (name and size, at least 1) and device_ids of a mesh; absent device_ids mean 0, 1,
 * 2, ... */
static hr_status_t read_mesh(hr_arena_t *arena, const mlir_attr_t *from, hlo_mesh_t *mesh) {
  const mlir_attr_t *axes = mlir_attr_field(from, "axes");
  const mlir_attr_t *ids = mlir_attr_field(from, "device_ids");
  hlo_mesh_axis_t *list;
  if (is_text(from)) return read_text_mesh(arena, from->text, mesh);
  HR_TRY(HR_NEW_ARRAY(arena, axes->count, &list));
  for (int a = 0; a < axes->count; a++) {
    const mlir_attr_t *name = mlir_attr_field(axes->items[a], "name");
    const mlir_attr_t *size = mlir_attr_field(axes->items[a], "size");
    if (!name || !size || size->integer < 1)
      return hr_error(HR_INVALID, "axis %d of its mesh has no name or no size", a);
    HR_TRY(hr_arena_str(arena, name->text, &list[a].name));
    list[a].size = size->integer;
  }
  mesh->axis_count = axes->count;
  mesh->axes = list;
  return ids ? read_device_ids(arena, ids, &mesh->device_ids) : NULL;
}

/* Reads an axis reference: a whole axis "x", or the sub-axis "x":(pre_size)size, whose sizes
 * must divide the axis. */
static hr_status_t read_axis(const mlir_attr_t *from, const hlo_mesh_t *mesh,
                             hlo_axis_ref_t *axis) {
  const mlir_attr_t *name = mlir_attr_field(from, "name");
  const mlir_attr_t *sub_axis = mlir_attr_field(from, "sub_axis_info");
  axis->axis = -1;
  for (int a = 0; name && a < mesh->axis_count; a++)
    if (hr_str_equal(mesh->axes[a].name, name->text)) axis->axis = a;
  if (axis->axis < 0) return hr_error(HR_INVALID, "it names an axis that its mesh does not have");
  if (!sub_axis) return NULL;
  const mlir_attr_t *pre_size = mlir_attr_field(sub_axis, "pre_size");
  const mlir_attr_t *size = mlir_attr_field(sub_axis, "size");
  int64_t axis_size = mesh->axes[axis->axis].size;
  bool fits = pre_size && size && pre_size->integer >= 1 && size->integer >= 1 &&
              pre_size->integer <= axis_size && size->integer <= axis_size / pre_size->integer &&
              axis_size % (pre_size->integer * size->integer) == 0;
  if (!fits) return hr_error(HR_INVALID, "a part of an axis that does not divide it");
  axis->pre_size = pre_size->integer;
  axis->size = size->integer;
  return NULL;
}

/* True if all referenced axes have size 1, or there are none: each device is then a group. */
static bool groups_are_singletons(const hlo_groups_t *groups) {
  for (int a = 0; a < groups->axis_count; a++) {
    const hlo_axis_ref_t *axis = &groups->axes[a];
    if ((axis->size ? axis->size : groups->mesh.axes[axis->axis].size) != 1) return false;
  }
  return true;
}

/* Replaces the axes by lists of one device each, since HLO cannot express such groups by axes. */
static hr_status_t make_singleton_groups(hr_arena_t *arena, hlo_groups_t *groups) {
  int64_t total = 1, *ids;
  hr_ints_t *lists;
  for (int a = 0; a < groups->mesh.axis_count; a++) {
    if (groups->mesh.axes[a].size > HLO_MAX_DEVICES / total)
      return hr_error(HR_INVALID, "a mesh of more than %ld devices", (long)HLO_MAX_DEVICES);
    total *= groups->mesh.axes[a].size;
  }
  hr_ints_t device_ids = groups->mesh.device_ids;
  if (device_ids.count && device_ids.count != total)
    return hr_error(HR_INVALID, "%ld device_ids of a mesh of %ld devices", (long)device_ids.count,
                    (long)total);
  HR_TRY(HR_NEW_ARRAY(arena, total, &ids));
  HR_TRY(HR_NEW_ARRAY(arena, total, &lists));
  for (int64_t i = 0; i < total; i++) {
    ids[i] = device_ids.count ? device_ids.data[i] : i;
    lists[i] = (hr_ints_t){&ids[i], 1};
  }
  *groups = (hlo_groups_t){.groups = {total, lists}};
  return NULL;
}

/* Groups of devices that differ only in the given axes of the mesh. `arena` owns the result. */
hr_status_t stablehlo_mesh_groups(const mlir_module_t *module, hr_arena_t *arena,
                                  const mlir_attr_t *attr, hlo_groups_t *groups) {
  const mlir_attr_t *mesh;
  const mlir_attr_t *axes = mlir_attr_field(attr, "axes");
  hlo_axis_ref_t *list;
  HR_TRY(find_mesh(module, mlir_attr_field(attr, "mesh"), &mesh));
  if (!axes || axes->kind != MLIR_ATTR_ARRAY)
    return hr_error(HR_INVALID, "replica_groups list no axes");
  HR_TRY(read_mesh(arena, mesh, &groups->mesh));
  HR_TRY(HR_NEW_ARRAY(arena, axes->count, &list));
  for (int a = 0; a < axes->count; a++) HR_TRY(read_axis(axes->items[a], &groups->mesh, &list[a]));
  groups->form = HLO_GROUPS_MESH;
  groups->axis_count = axes->count;
  groups->axes = list;
  return groups_are_singletons(groups) ? make_singleton_groups(arena, groups)
                                       : hlo_groups_expand(arena, groups);
}

/* --- as lists ----------------------------------------------------------------------------------
 */

/* tensor<groups x members x i64>; all groups of a mesh have the same size. */
static hr_status_t make_dense_groups(hr_arena_t *arena, const hlo_int_lists_t *groups,
                                     const mlir_attr_t **out_attr) {
  static const mlir_type_t i64 = {.kind = MLIR_TYPE_INTEGER, .width = 64};
  const int64_t members = groups->count ? groups->lists[0].count : 0;
  const int64_t dims[2] = {groups->count, members};
  mlir_attr_t *attr;
  int64_t *values;
  HR_TRY(HR_NEW(arena, &attr));
  HR_TRY(HR_NEW_ARRAY(arena, dims[0] * dims[1], &values));
  for (int64_t g = 0; g < dims[0]; g++)
    memcpy(values + g * members, groups->lists[g].data, (size_t)members * sizeof *values);
  HR_TRY(mlir_make_tensor_type(arena, &i64, 2, dims, &attr->type));
  attr->kind = MLIR_ATTR_DENSE;
  attr->data = values;
  attr->element_count = dims[0] * dims[1];
  attr->splat = attr->element_count == 1;
  *out_attr = attr;
  return NULL;
}

/* Replaces replica_groups over a mesh by explicit lists, in a copy of the attributes, which ops
 * may share. */
static hr_status_t expand_in_list(mlir_module_t *module, int count,
                                  const mlir_named_attr_t **attrs) {
  hlo_groups_t groups = {.form = HLO_GROUPS_LIST};
  mlir_named_attr_t *copy;
  int k = 0;
  while (k < count && !(hr_str_is((*attrs)[k].name, "replica_groups") &&
                        (*attrs)[k].value->kind == MLIR_ATTR_STRUCT))
    k++;
  if (k == count) return NULL;
  HR_TRY(HR_NEW_ARRAY(&module->arena, count, &copy));
  memcpy(copy, *attrs, (size_t)count * sizeof *copy);
  HR_TRY(stablehlo_mesh_groups(module, &module->arena, copy[k].value, &groups));
  HR_TRY(make_dense_groups(&module->arena, &groups.groups, &copy[k].value));
  *attrs = copy;
  return NULL;
}

/* Walks all blocks; inherent and discardable attributes. */
hr_status_t stablehlo_expand_mesh_groups(mlir_module_t *module) {
  for (size_t b = 0; b < module->all_blocks.count; b++)
    for (size_t i = 0; i < module->all_blocks.data[b]->ops.count; i++) {
      mlir_op_t *op = module->all_blocks.data[b]->ops.data[i];
      HR_TRY(expand_in_list(module, op->attr_count, &op->attrs));
      HR_TRY(expand_in_list(module, op->extra_count, &op->extras));
    }
  return NULL;
}
