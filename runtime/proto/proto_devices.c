/* Meshes, replica groups and shardings between xla_data.proto and the IR, reading and writing. A
 * few bytes of iota notation or mesh axes can name many devices: equal messages are expanded once
 * per module, and the total is limited (HLO_MAX_MODULE_DEVICES). Indices of axes and tiles are
 * checked here, as printers and passes rely on them. */
#include "proto/proto_parts.h"

/* Permutations --------------------------------------------------------------------------------- */

/* Reads the dimensions of an iota and their permutation. XLA writes the permutation {0} for a
 * single dimension; the IR omits it. */
static hr_status_t read_iota(proto_reader_t *p, proto_list_t dims, proto_list_t permutation,
                             hlo_iota_t *out_iota) {
  HR_TRY(proto_ints(p->arena, dims, &out_iota->dims));
  HR_TRY(proto_ints(p->arena, permutation, &out_iota->permutation));
  if (out_iota->dims.count < 2 && out_iota->permutation.count == 1) out_iota->permutation.count = 0;
  bool whole = out_iota->dims.count < 2 || out_iota->dims.count == out_iota->permutation.count;
  if (!whole || !hlo_is_permutation(out_iota->permutation) ||
      (out_iota->dims.count < 2 && out_iota->permutation.count))
    return PROTO_ERROR(
        "the transposition of a list of devices is no permutation of its dimensions");
  return NULL;
}

/* Writes {0} for one dimension, as XLA does. */
static void write_permutation(hr_strbuf_t *out, uint32_t number, hr_ints_t dims,
                              hr_ints_t permutation) {
  static const int64_t zero[1];
  bool identity = dims.count == 1 && !permutation.count;
  proto_put_ints(out, number, identity ? (hr_ints_t){zero, 1} : permutation);
}

/* Meshes --------------------------------------------------------------------------------------- */

/* Reads names and sizes of axes; an axis has at least one device. */
static hr_status_t read_mesh_axes(proto_reader_t *p, proto_list_t list, hlo_mesh_t *mesh) {
  hlo_mesh_axis_t *axes;
  HR_TRY(HR_NEW_ARRAY(p->arena, list.count, &axes));
  for (int64_t i = 0; i < list.count; i++) {
    proto_mesh_axis_t in;
    HR_TRY(PROTO_DECODE(&p->scratch, mesh_axis, proto_piece(&list.items[i]), &in));
    if (in.size < 1) return PROTO_ERROR("a mesh axis of size %ld, want 1 or more", (long)in.size);
    axes[i] = (hlo_mesh_axis_t){in.name, in.size};
  }
  mesh->axis_count = (int)list.count;
  mesh->axes = axes;
  return NULL;
}

/* A mesh without axes and with one device id is maximal. */
static hr_status_t read_mesh(proto_reader_t *p, proto_list_t pieces, hlo_mesh_t *out_mesh) {
  proto_mesh_t in;
  *out_mesh = (hlo_mesh_t){0};
  HR_TRY(PROTO_DECODE(&p->scratch, mesh, pieces, &in));
  HR_TRY(read_mesh_axes(p, in.axes, out_mesh));
  HR_TRY(proto_ints(p->arena, in.device_ids, &out_mesh->device_ids));
  out_mesh->maximal = !out_mesh->axis_count && out_mesh->device_ids.count == 1;
  if (!in.iota_transform.count) return NULL;
  proto_iota_transform_t transform;
  hlo_iota_t iota;
  HR_TRY(PROTO_DECODE(&p->scratch, iota_transform, in.iota_transform, &transform));
  HR_TRY(read_iota(p, transform.reshape_dims, transform.transpose_perm, &iota));
  out_mesh->iota_dims = iota.dims;
  out_mesh->iota_permutation = iota.permutation;
  return NULL;
}

/* MeshProto: axes in order, then the order of devices, as explicit ids or as a transposed iota. */
static void write_mesh(hr_strbuf_t *out, uint32_t number, const hlo_mesh_t *mesh) {
  size_t opened = proto_open(out, number);
  for (int a = 0; a < mesh->axis_count; a++) {
    size_t axis = proto_open(out, PROTO_mesh_axes);
    proto_put_bytes(out, PROTO_mesh_axis_name, mesh->axes[a].name);
    proto_put_int(out, PROTO_mesh_axis_size, mesh->axes[a].size);
    proto_close(out, axis);
  }
  proto_put_ints(out, PROTO_mesh_device_ids, mesh->device_ids);
  if (mesh->iota_dims.count) {
    size_t transform = proto_open(out, PROTO_mesh_iota_transform);
    proto_put_ints(out, PROTO_iota_transform_reshape_dims, mesh->iota_dims);
    write_permutation(out, PROTO_iota_transform_transpose_perm, mesh->iota_dims,
                      mesh->iota_permutation);
    proto_close(out, transform);
  }
  proto_close(out, opened);
}

/* Reads a reference to a whole axis or to its part (pre_size)size; both sizes must divide the
 * axis. */
static hr_status_t read_axis(proto_reader_t *p, const hr_str_t *bytes, const hlo_mesh_t *mesh,
                             hlo_axis_ref_t *out_ref) {
  proto_axis_ref_t in;
  proto_sub_axis_t part;
  HR_TRY(PROTO_DECODE(&p->scratch, axis_ref, proto_piece(bytes), &in));
  HR_TRY(PROTO_DECODE(&p->scratch, sub_axis, in.sub_axis_info, &part));
  if (in.mesh_axis_index < 0 || in.mesh_axis_index >= mesh->axis_count)
    return PROTO_ERROR("axis %ld of a mesh of %d", (long)in.mesh_axis_index, mesh->axis_count);
  *out_ref = (hlo_axis_ref_t){(int)in.mesh_axis_index, part.pre_size, part.size};
  int64_t whole = mesh->axes[in.mesh_axis_index].size;
  bool divides = part.pre_size >= 1 && part.size >= 1 && part.pre_size <= whole &&
                 part.size <= whole / part.pre_size && whole % (part.pre_size * part.size) == 0;
  if (!in.sub_axis_info.count || divides) return NULL;
  return PROTO_ERROR("part (%ld)%ld of an axis of size %ld, want one that divides it",
                     (long)part.pre_size, (long)part.size, (long)whole);
}

/* References to axes of a mesh, whole or in part. */
static hr_status_t read_axes(proto_reader_t *p, proto_list_t list, const hlo_mesh_t *mesh,
                             hlo_axes_t *out_axes) {
  hlo_axis_ref_t *refs;
  HR_TRY(HR_NEW_ARRAY(p->arena, list.count, &refs));
  for (int64_t i = 0; i < list.count; i++) HR_TRY(read_axis(p, &list.items[i], mesh, &refs[i]));
  *out_axes = (hlo_axes_t){(int)list.count, refs};
  return NULL;
}

/* AxisRefProto: the axis by its index in the mesh, not by name. A size of 0 in the IR means the
 * whole axis, which has no sub_axis_info. */
static void write_axis(hr_strbuf_t *out, uint32_t number, const hlo_axis_ref_t *ref) {
  size_t opened = proto_open(out, number);
  proto_put_int(out, PROTO_axis_ref_mesh_axis_index, ref->axis);
  if (ref->size) {
    size_t part = proto_open(out, PROTO_axis_ref_sub_axis_info);
    proto_put_int(out, PROTO_sub_axis_pre_size, ref->pre_size);
    proto_put_int(out, PROTO_sub_axis_size, ref->size);
    proto_close(out, part);
  }
  proto_close(out, opened);
}

static void write_axes(hr_strbuf_t *out, uint32_t number, hlo_axes_t axes) {
  for (int i = 0; i < axes.count; i++) write_axis(out, number, &axes.refs[i]);
}

/* Replica groups ------------------------------------------------------------------------------- */

/* Reads groups as lists of ids. */
static hr_status_t read_group_lists(proto_reader_t *p, proto_list_t list, hlo_groups_t *groups) {
  hr_ints_t *lists;
  HR_TRY(HR_NEW_ARRAY(p->arena, list.count, &lists));
  for (int64_t i = 0; i < list.count; i++) {
    proto_replica_group_t in;
    HR_TRY(PROTO_DECODE(&p->scratch, replica_group, proto_piece(&list.items[i]), &in));
    HR_TRY(proto_ints(p->arena, in.replica_ids, &lists[i]));
  }
  groups->groups = (hlo_int_lists_t){list.count, lists};
  return NULL;
}

/* [groups, size]<=[dims]T(permutation): the list is expanded later. */
static hr_status_t read_iota_groups(proto_reader_t *p, proto_list_t pieces, hlo_groups_t *groups) {
  proto_iota_device_list_t in;
  hlo_iota_t iota;
  groups->form = HLO_GROUPS_IOTA;
  HR_TRY(PROTO_DECODE(&p->scratch, iota_device_list, pieces, &in));
  HR_TRY(read_iota(p, in.iota_reshape_dims, in.iota_transpose_perm, &iota));
  const int64_t tile[] = {in.num_replica_groups, in.num_devices_per_group};
  groups->iota_dims = iota.dims;
  groups->iota_permutation = iota.permutation;
  return hr_arena_ints(p->arena, tile, 2, &groups->iota_tile);
}

/* Refuses maximal meshes, which have no axes. */
static hr_status_t read_mesh_groups(proto_reader_t *p, proto_list_t pieces, hlo_groups_t *groups) {
  proto_mesh_device_list_t in;
  hlo_axes_t axes;
  groups->form = HLO_GROUPS_MESH;
  HR_TRY(PROTO_DECODE(&p->scratch, mesh_device_list, pieces, &in));
  HR_TRY(read_mesh(p, in.mesh, &groups->mesh));
  if (groups->mesh.maximal) return PROTO_ERROR("replica groups over a mesh of one device");
  HR_TRY(read_axes(p, in.axes, &groups->mesh, &axes));
  groups->axis_count = axes.count;
  groups->axes = axes.refs;
  return NULL;
}

/* Expands groups, or finds equal ones in the cache. The total of all expansions of a module is
 * limited. */
static hr_status_t expand_groups(proto_reader_t *p, proto_list_t pieces, hlo_groups_t *groups,
                                 const hlo_groups_t **out_groups) {
  hr_str_t key = pieces.items[0];
  *out_groups = pieces.count == 1 ? hr_map_get(&p->groups, key) : NULL;
  if (*out_groups) return NULL;
  int64_t size = hlo_groups_size(groups);
  p->devices_made += size > 0 ? size : 0;
  if (size < 0 || p->devices_made > HLO_MAX_MODULE_DEVICES + (int64_t)p->module->source.size_bytes)
    return PROTO_ERROR("replica groups of too many devices, want at most %ld in one list",
                       (long)HLO_MAX_DEVICES);
  HR_TRY(hlo_groups_expand(p->arena, groups));
  *out_groups = groups;
  return pieces.count == 1 ? hr_map_put(&p->groups, key, groups, NULL) : NULL;
}

/* Current files have one of three messages; old files have a list of groups in the instruction. */
hr_status_t proto_read_groups(proto_reader_t *p, const proto_instr_t *in,
                              const hlo_groups_t **out_groups) {
  proto_device_list_t list;
  hlo_groups_t *groups;
  HR_TRY(HR_NEW(p->arena, &groups));
  HR_TRY(PROTO_DECODE(&p->scratch, device_list, in->device_list, &list));
  proto_list_t iota = in->iota_device_list.count ? in->iota_device_list : list.iota;
  *out_groups = groups;
  if (in->mesh_device_list.count) {
    HR_TRY(read_mesh_groups(p, in->mesh_device_list, groups));
    return expand_groups(p, in->mesh_device_list, groups, out_groups);
  }
  if (iota.count) {
    HR_TRY(read_iota_groups(p, iota, groups));
    return expand_groups(p, iota, groups, out_groups);
  }
  return read_group_lists(p, in->device_list.count ? list.replica_groups : in->replica_groups,
                          groups);
}

/* IotaReplicaGroupListProto: groups x size, and the transposed iota that lists the members. */
static void write_iota_groups(hr_strbuf_t *out, const hlo_groups_t *groups) {
  size_t opened = proto_open(out, PROTO_instr_iota_device_list);
  proto_put_int(out, PROTO_iota_device_list_num_replica_groups, groups->iota_tile.data[0]);
  proto_put_int(out, PROTO_iota_device_list_num_devices_per_group, groups->iota_tile.data[1]);
  proto_put_ints(out, PROTO_iota_device_list_iota_reshape_dims, groups->iota_dims);
  write_permutation(out, PROTO_iota_device_list_iota_transpose_perm, groups->iota_dims,
                    groups->iota_permutation);
  proto_close(out, opened);
}

/* Writes the current field of each form, so that the text printed after a round trip has the same
 * notation. The older repeated field replica_groups is only read. */
void proto_write_groups(hr_strbuf_t *out, const hlo_groups_t *groups) {
  if (groups->form == HLO_GROUPS_IOTA) {
    write_iota_groups(out, groups);
    return;
  }
  bool mesh = groups->form == HLO_GROUPS_MESH;
  size_t opened = proto_open(out, mesh ? PROTO_instr_mesh_device_list : PROTO_instr_device_list);
  if (mesh) {
    write_mesh(out, PROTO_mesh_device_list_mesh, &groups->mesh);
    write_axes(out, PROTO_mesh_device_list_axes, (hlo_axes_t){groups->axis_count, groups->axes});
  }
  for (int64_t i = 0; !mesh && i < groups->groups.count; i++) {
    size_t group = proto_open(out, PROTO_device_list_replica_groups);
    proto_put_ints(out, PROTO_replica_group_replica_ids, groups->groups.lists[i]);
    proto_close(out, group);
  }
  proto_close(out, opened);
}

/* Shardings ------------------------------------------------------------------------------------ */

/* Reads the OpMetadata of a sharding: one for each op from which it was merged. */
static hr_status_t read_metadata_list(proto_reader_t *p, proto_list_t list, hlo_sharding_t *s) {
  hlo_metadata_t *metadata;
  HR_TRY(HR_NEW_ARRAY(p->arena, list.count, &metadata));
  for (int64_t i = 0; i < list.count; i++)
    HR_TRY(proto_read_metadata(p, proto_piece(&list.items[i]), &metadata[i]));
  s->metadata_count = (int)list.count;
  s->metadata = metadata;
  return NULL;
}

/* The number of tiles must equal the number of devices, which are a list or an iota. */
static hr_status_t read_tiles(proto_reader_t *p, const proto_sharding_t *in, hlo_sharding_t *s) {
  HR_TRY(proto_ints(p->arena, in->tile_assignment_dimensions, &s->tile_dims));
  HR_TRY(proto_ints(p->arena, in->tile_assignment_devices, &s->devices));
  HR_TRY(proto_ints(p->arena, in->last_tile_dims, &s->last_tile_kinds));
  if (!s->devices.count)
    HR_TRY(read_iota(p, in->iota_reshape_dims, in->iota_transpose_perm, &s->iota));
  s->replicate_last_dim = in->replicate_on_last_tile_dim;
  int64_t tiles = hlo_device_count(s->tile_dims);
  int64_t devices = s->devices.count ? s->devices.count : hlo_device_count(s->iota.dims);
  if (tiles < 1 || tiles != devices)
    return PROTO_ERROR("a sharding of %ld devices for %ld tiles, want as many, and at most %ld",
                       (long)devices, (long)tiles, (long)HLO_MAX_DEVICES);
  for (int64_t i = 0; i < s->last_tile_kinds.count; i++) {
    int64_t kind = s->last_tile_kinds.data[i];
    if (kind < 0 || kind >= HLO_TILE_KIND_COUNT || !*hlo_enum_table[HLO_ENUM_TILE_KIND].texts[kind])
      return PROTO_ERROR("tile dimension of kind %ld, which is none", (long)kind);
  }
  if (s->replicate_last_dim + s->last_tile_kinds.count <= s->tile_dims.count) return NULL;
  return PROTO_ERROR(
      "a sharding of %ld tile dimensions, want at least those that its last ones name",
      (long)s->tile_dims.count);
}

/* True if the list has all axes of the mesh, whole and in order: the encoding of "manual" and
 * "unreduced" without a list. */
static bool lists_all_axes(hlo_axes_t axes, const hlo_mesh_t *mesh) {
  if (axes.count != mesh->axis_count || !axes.count) return false;
  for (int i = 0; i < axes.count; i++)
    if (axes.refs[i].axis != i || axes.refs[i].size) return false;
  return true;
}

/* Reads the axes that shard each dimension, and whether propagation may add more. */
static hr_status_t read_named_dims(proto_reader_t *p, proto_list_t list, hlo_sharding_t *s) {
  hlo_sharding_dim_t *dims;
  HR_TRY(HR_NEW_ARRAY(p->arena, list.count, &dims));
  for (int64_t i = 0; i < list.count; i++) {
    proto_dim_sharding_t in;
    HR_TRY(PROTO_DECODE(&p->scratch, dim_sharding, proto_piece(&list.items[i]), &in));
    HR_TRY(read_axes(p, in.axes, &s->mesh, &dims[i].axes));
    dims[i].open = !in.is_closed;
  }
  s->dim_count = (int)list.count;
  s->dims = dims;
  return NULL;
}

/* Derives the kind of a named sharding without dimensions from its axes, as the proto does not
 * store it. */
static void classify_named(hlo_sharding_t *s) {
  hlo_axes_t none = {0};
  s->kind = HLO_TILE_KIND_OTHER;
  if (s->mesh.maximal) {
    s->kind = HLO_TILE_KIND_MAXIMAL;
    s->device = s->mesh.device_ids.data[0];
  } else if (!s->dim_count && lists_all_axes(s->manual_axes, &s->mesh)) {
    s->kind = HLO_TILE_KIND_MANUAL;
    s->manual_axes = none;
  } else if (!s->dim_count && !s->unreduced_kind.size &&
             lists_all_axes(s->unreduced_axes, &s->mesh)) {
    s->kind = HLO_TILE_KIND_UNREDUCED;
    s->unreduced_axes = none;
  } else if (!s->dim_count && !s->manual_axes.count && !s->unreduced_axes.count &&
             !s->replicated_axes.count) {
    s->kind = HLO_TILE_KIND_REPLICATED;
  }
}

/* The kind is not in the proto; see classify_named. */
static hr_status_t read_named(proto_reader_t *p, proto_list_t pieces, hlo_sharding_t *s) {
  proto_named_sharding_t in;
  s->named = true;
  HR_TRY(PROTO_DECODE(&p->scratch, named_sharding, pieces, &in));
  HR_TRY(read_mesh(p, in.mesh, &s->mesh));
  HR_TRY(read_named_dims(p, in.dim_shardings, s));
  HR_TRY(read_axes(p, in.replicated_axes, &s->mesh, &s->replicated_axes));
  HR_TRY(read_axes(p, in.unreduced_axes, &s->mesh, &s->unreduced_axes));
  HR_TRY(read_axes(p, in.manual_axes, &s->mesh, &s->manual_axes));
  s->unreduced_kind = in.unreduced_kind;
  classify_named(s);
  return read_metadata_list(p, in.metadata, s);
}

/* A maximal sharding has its device as its only tile. */
static hr_status_t read_maximal(proto_reader_t *p, const proto_sharding_t *in, hlo_sharding_t *s) {
  hr_ints_t devices;
  HR_TRY(proto_ints(&p->scratch, in->tile_assignment_devices, &devices));
  if (devices.count != 1)
    return PROTO_ERROR("a maximal sharding of %ld devices, want one", (long)devices.count);
  s->device = devices.data[0];
  return NULL;
}

/* Reads a sharding that is not a tuple. */
static hr_status_t read_leaf(proto_reader_t *p, const proto_sharding_t *in, hlo_sharding_t *s) {
  if (in->named_sharding.count) return read_named(p, in->named_sharding, s);
  if (in->type < 0 || in->type >= HLO_TILE_KIND_COUNT || in->type == HLO_TILE_KIND_TUPLE)
    return PROTO_ERROR("sharding of kind %ld, which is none of a leaf", (long)in->type);
  s->kind = (hlo_enum_TILE_KIND_t)in->type;
  if (s->kind == HLO_TILE_KIND_MAXIMAL) HR_TRY(read_maximal(p, in, s));
  if (s->kind == HLO_TILE_KIND_OTHER) HR_TRY(read_tiles(p, in, s));
  if (in->is_shard_group)
    s->group = in->shard_group_type == 1 ? HLO_SHARD_GROUP_LIKE : HLO_SHARD_GROUP_AS;
  s->group_id = in->shard_group_id;
  return read_metadata_list(p, in->metadata, s);
}

/* A tuple sharding lists its leaves in the order of the flattened shape; read_leaf refuses a leaf
 * that is a tuple, which bounds the recursion. */
static hr_status_t read_tuple(proto_reader_t *p, proto_list_t list, hlo_sharding_t *tuple) {
  const hlo_sharding_t **elements;
  HR_TRY(HR_NEW_ARRAY(p->arena, list.count, &elements));
  for (int64_t i = 0; i < list.count; i++) {
    proto_sharding_t in;
    hlo_sharding_t *leaf;
    HR_TRY(HR_NEW(p->arena, &leaf));
    HR_TRY(PROTO_DECODE(&p->scratch, sharding, proto_piece(&list.items[i]), &in));
    HR_TRY(read_leaf(p, &in, leaf));
    elements[i] = leaf;
  }
  tuple->kind = HLO_TILE_KIND_TUPLE;
  tuple->element_count = (int)list.count;
  tuple->elements = elements;
  return NULL;
}

/* The type field of a named sharding is ignored. */
hr_status_t proto_read_sharding(proto_reader_t *p, proto_list_t pieces,
                                const hlo_sharding_t **out_sharding) {
  proto_sharding_t in;
  hlo_sharding_t *s;
  HR_TRY(HR_NEW(p->arena, &s));
  HR_TRY(PROTO_DECODE(&p->scratch, sharding, pieces, &in));
  bool tuple = in.type == HLO_TILE_KIND_TUPLE && !in.named_sharding.count;
  HR_TRY(tuple ? read_tuple(p, in.tuple_shardings, s) : read_leaf(p, &in, s));
  *out_sharding = s;
  return NULL;
}

static void write_metadata_list(hr_strbuf_t *out, uint32_t number, const hlo_sharding_t *s) {
  for (int i = 0; i < s->metadata_count; i++) proto_write_metadata(out, number, &s->metadata[i]);
}

/* Writes every axis of the mesh as a whole; see lists_all_axes. */
static void write_all_axes(hr_strbuf_t *out, uint32_t number, const hlo_mesh_t *mesh) {
  for (int a = 0; a < mesh->axis_count; a++) write_axis(out, number, &(hlo_axis_ref_t){.axis = a});
}

/* Kinds "manual" and "unreduced" are written as lists of all axes. */
static void write_named(hr_strbuf_t *out, const hlo_sharding_t *s) {
  size_t opened = proto_open(out, PROTO_sharding_named_sharding);
  write_mesh(out, PROTO_named_sharding_mesh, &s->mesh);
  for (int i = 0; i < s->dim_count; i++) {
    size_t dim = proto_open(out, PROTO_named_sharding_dim_shardings);
    write_axes(out, PROTO_dim_sharding_axes, s->dims[i].axes);
    proto_put_int(out, PROTO_dim_sharding_is_closed, !s->dims[i].open);
    proto_close(out, dim);
  }
  write_axes(out, PROTO_named_sharding_replicated_axes, s->replicated_axes);
  write_axes(out, PROTO_named_sharding_unreduced_axes, s->unreduced_axes);
  if (s->kind == HLO_TILE_KIND_UNREDUCED)
    write_all_axes(out, PROTO_named_sharding_unreduced_axes, &s->mesh);
  write_metadata_list(out, PROTO_named_sharding_metadata, s);
  write_axes(out, PROTO_named_sharding_manual_axes, s->manual_axes);
  if (s->kind == HLO_TILE_KIND_MANUAL)
    write_all_axes(out, PROTO_named_sharding_manual_axes, &s->mesh);
  proto_put_bytes(out, PROTO_named_sharding_unreduced_kind, s->unreduced_kind);
  proto_close(out, opened);
}

/* A maximal sharding is written as one tile on its device. */
static void write_tiles(hr_strbuf_t *out, const hlo_sharding_t *s) {
  static const int64_t one[] = {1};
  if (s->kind == HLO_TILE_KIND_MAXIMAL) {
    proto_put_ints(out, PROTO_sharding_tile_assignment_dimensions, (hr_ints_t){one, 1});
    proto_put_ints(out, PROTO_sharding_tile_assignment_devices, (hr_ints_t){&s->device, 1});
    return;
  }
  proto_put_ints(out, PROTO_sharding_tile_assignment_dimensions, s->tile_dims);
  proto_put_ints(out, PROTO_sharding_tile_assignment_devices, s->devices);
  proto_put_int(out, PROTO_sharding_replicate_on_last_tile_dim, s->replicate_last_dim);
  proto_put_ints(out, PROTO_sharding_last_tile_dims, s->last_tile_kinds);
  if (s->devices.count || s->kind != HLO_TILE_KIND_OTHER) return;
  proto_put_ints(out, PROTO_sharding_iota_reshape_dims, s->iota.dims);
  write_permutation(out, PROTO_sharding_iota_transpose_perm, s->iota.dims, s->iota.permutation);
}

/* OpSharding. A named sharding has no type; both forms have shard group fields. */
void proto_write_sharding(hr_strbuf_t *out, uint32_t number, const hlo_sharding_t *s) {
  size_t opened = proto_open(out, number);
  if (s->named) {
    write_named(out, s);
  } else {
    proto_put_int(out, PROTO_sharding_type, s->kind);
    write_tiles(out, s);
    for (int i = 0; i < s->element_count; i++)
      proto_write_sharding(out, PROTO_sharding_tuple_shardings, s->elements[i]);
    write_metadata_list(out, PROTO_sharding_metadata, s);
  }
  proto_put_int(out, PROTO_sharding_is_shard_group, s->group != HLO_SHARD_GROUP_NONE);
  proto_put_int(out, PROTO_sharding_shard_group_id, s->group_id);
  proto_put_int(out, PROTO_sharding_shard_group_type, s->group == HLO_SHARD_GROUP_LIKE);
  proto_close(out, opened);
}
