/* Replica groups by the axes of a mesh:
 *   #stablehlo.replica_group_mesh_axes<mesh = #stablehlo.mesh<axes = [#stablehlo.mesh_axis<name = "x", size = 2>, ...],
 *                                              device_ids = dense<...>>, axes = [#stablehlo.axis_ref<name = "x">]>
 * The mesh may be a symbol: an op of that name, which carries the mesh as an attribute. */
#include "ir/sharding.h"
#include "stablehlo/import.h"

/* The op of the module that is called so; NULL if there is none. */
static const mlir_op_t *find_symbol(const importer_t *importer, hr_str_t name) {
  const mlir_region_t *region = importer->from->op->region_count ? importer->from->op->regions[0] : NULL;
  const mlir_block_t *block = region && region->blocks.count ? region->blocks.data[0] : NULL;
  for (size_t i = 0; block && i < block->ops.count; i++)
    if (hr_str_equal(import_str(block->ops.data[i], "sym_name"), name)) return block->ops.data[i];
  return NULL;
}

static hr_status_t find_mesh(import_scope_t *scope, const mlir_op_t *op, const mlir_attr_t *mesh,
                             const mlir_attr_t **out_mesh) {
  if (mesh && mesh->kind == MLIR_ATTR_SYMBOL) {
    const mlir_op_t *holder = find_symbol(scope->importer, mesh->text);
    const mlir_attr_t *named = holder ? mlir_op_attr(holder, "stablehlo.mesh") : NULL;
    if (!named && holder) named = mlir_op_attr(holder, "mesh");
    if (!named) return import_error(scope, op, "there is no mesh @%.*s", HR_STR_ARGS(mesh->text));
    mesh = named;
  }
  const mlir_attr_t *axes = mlir_attr_field(mesh, "axes");
  if (!axes || axes->kind != MLIR_ATTR_ARRAY) return import_error(scope, op, "its mesh lists no axes");
  *out_mesh = mesh;
  return NULL;
}

static hr_status_t read_mesh(import_scope_t *scope, const mlir_op_t *op, const mlir_attr_t *from, hlo_mesh_t *mesh) {
  const mlir_attr_t *axes = mlir_attr_field(from, "axes"), *ids = mlir_attr_field(from, "device_ids");
  hlo_mesh_axis_t *list;
  HR_TRY(HR_NEW_ARRAY(scope->importer->arena, axes->count, &list));
  for (int a = 0; a < axes->count; a++) {
    const mlir_attr_t *name = mlir_attr_field(axes->items[a], "name"), *size = mlir_attr_field(axes->items[a], "size");
    if (!name || !size || size->integer < 1)
      return import_error(scope, op, "axis %d of its mesh has no name or no size", a);
    HR_TRY(hr_arena_str(scope->importer->arena, name->text, &list[a].name));
    list[a].size = size->integer;
  }
  mesh->axis_count = axes->count;
  mesh->axes = list;
  return ids ? import_ints_of(scope, ids, &mesh->device_ids) : NULL;
}

/* "x", or a part of it: (pre)size */
static hr_status_t read_axis(import_scope_t *scope, const mlir_op_t *op, const mlir_attr_t *from,
                             const hlo_mesh_t *mesh, hlo_axis_ref_t *axis) {
  const mlir_attr_t *name = mlir_attr_field(from, "name"), *part = mlir_attr_field(from, "sub_axis_info");
  axis->axis = -1;
  for (int a = 0; name && a < mesh->axis_count; a++)
    if (hr_str_equal(mesh->axes[a].name, name->text)) axis->axis = a;
  if (axis->axis < 0) return import_error(scope, op, "it names an axis that its mesh does not have");
  if (!part) return NULL;
  const mlir_attr_t *before = mlir_attr_field(part, "pre_size"), *size = mlir_attr_field(part, "size");
  int64_t whole = mesh->axes[axis->axis].size;
  bool fits = before && size && before->integer >= 1 && size->integer >= 1 && before->integer <= whole &&
              size->integer <= whole / before->integer && whole % (before->integer * size->integer) == 0;
  if (!fits) return import_error(scope, op, "a part of an axis that does not divide it");
  axis->pre_size = before->integer;
  axis->size = size->integer;
  return NULL;
}

hr_status_t import_mesh_groups(import_scope_t *scope, const mlir_op_t *op, const mlir_attr_t *attr,
                               hlo_groups_t *groups) {
  const mlir_attr_t *mesh, *axes = mlir_attr_field(attr, "axes");
  hlo_axis_ref_t *list;
  HR_TRY(find_mesh(scope, op, mlir_attr_field(attr, "mesh"), &mesh));
  if (!axes || axes->kind != MLIR_ATTR_ARRAY) return import_error(scope, op, "replica_groups list no axes");
  HR_TRY(read_mesh(scope, op, mesh, &groups->mesh));
  HR_TRY(HR_NEW_ARRAY(scope->importer->arena, axes->count, &list));
  for (int a = 0; a < axes->count; a++) HR_TRY(read_axis(scope, op, axes->items[a], &groups->mesh, &list[a]));
  groups->form = HLO_GROUPS_MESH;
  groups->axis_count = axes->count;
  groups->axes = list;
  hr_status_t st = hlo_groups_expand(scope->importer->arena, groups);
  if (!st || hr_status_code(st) != HR_INVALID) return st;
  hr_status_t placed = import_error(scope, op, "%s", hr_status_message(st));
  hr_status_release(st);
  return placed;
}
