/* Device lists of replica groups: expansion of iota notation and of mesh axes.
 * Mesh axes are cut into atoms, pieces of an axis with a size and a stride, at the sub-axes that
 * the list names:
 *
 *   axis of size 8, sub-axis (2)2 listed:  [2, not listed] [2, listed] [2, not listed]
 *
 * Atoms that are not listed, in mesh order, number the groups; listed ones, in listed order,
 * number the members. Enumerating the ordered atoms like an odometer gives the devices group after
 * group. Cost: linear in devices. */
#include "ir/sharding.h"

int64_t hlo_device_count(hr_ints_t dims) {
  int64_t count = 1;
  for (int64_t i = 0; i < dims.count; i++) {
    if (dims.data[i] <= 0 || dims.data[i] > HLO_MAX_DEVICES / count) return -1;
    count *= dims.data[i];
  }
  return count;
}

/* A bit set of seen entries; no shape has more than 64 dimensions. */
bool hlo_is_permutation(hr_ints_t permutation) {
  uint64_t seen = 0;
  if (permutation.count > 64) return false;
  for (int64_t i = 0; i < permutation.count; i++) {
    int64_t p = permutation.data[i];
    if (p < 0 || p >= permutation.count || (seen >> p & 1)) return false;
    seen |= UINT64_C(1) << p;
  }
  return true;
}

/* Enumerates the transposed array in row-major order: the last new axis varies fastest, and a
 * carry moves to the axis before it. */
void hlo_iota_fill(const hlo_iota_t *iota, int64_t *devices) {
  int64_t count = hlo_device_count(iota->dims);
  int64_t rank = iota->permutation.count;
  if (rank < 2 || rank > 64) {
    for (int64_t i = 0; i < count; i++) devices[i] = i;
    return;
  }
  int64_t strides[64], sizes[64], steps[64], at[64] = {0}, device = 0;
  strides[rank - 1] = 1;
  for (int64_t d = rank - 1; d > 0; d--) strides[d - 1] = strides[d] * iota->dims.data[d];
  for (int64_t d = 0; d < rank; d++) {
    sizes[d] = iota->dims.data[iota->permutation.data[d]];
    steps[d] = strides[iota->permutation.data[d]];
  }
  for (int64_t i = 0; i < count; i++) {
    devices[i] = device;
    int64_t d = rank - 1;
    for (; d >= 0 && ++at[d] == sizes[d]; d--) {
      device -= (sizes[d] - 1) * steps[d];
      at[d] = 0;
    }
    if (d >= 0) device += steps[d];
  }
}

/* Cuts a flat device list into groups of equal size. */
static hr_status_t split_into_groups(hr_arena_t *arena, const int64_t *devices, int64_t group_count,
                                     int64_t group_size, hlo_int_lists_t *out_groups) {
  hr_ints_t *lists;
  HR_TRY(HR_NEW_ARRAY(arena, group_count, &lists));
  for (int64_t g = 0; g < group_count; g++)
    lists[g] = (hr_ints_t){devices + g * group_size, group_size};
  *out_groups = (hlo_int_lists_t){group_count, lists};
  return NULL;
}

/* Checks sizes and permutation; one dimension needs no permutation. */
static hr_status_t check_iota(const hlo_iota_t *iota) {
  if (hlo_device_count(iota->dims) < 0)
    return hr_error(
        HR_INVALID,
        "device numbers of an iota, want positive sizes of at most %ld devices together",
        (long)HLO_MAX_DEVICES);
  bool fits = iota->dims.count < 2 ? iota->permutation.count <= iota->dims.count
                                   : iota->permutation.count == iota->dims.count;
  if (fits && hlo_is_permutation(iota->permutation)) return NULL;
  return hr_error(HR_INVALID, "found %ld dimensions to transpose of %ld, want a permutation of all",
                  (long)iota->permutation.count, (long)iota->dims.count);
}

/* [groups,members]<=[dims]T(permutation): the transposed iota, cut into rows. */
static hr_status_t expand_iota(hr_arena_t *arena, hlo_groups_t *groups) {
  hlo_iota_t iota = {groups->iota_dims, groups->iota_permutation};
  HR_TRY(check_iota(&iota));
  int64_t count = hlo_device_count(iota.dims);
  int64_t *devices;
  if (groups->iota_tile.count != 2 || hlo_device_count(groups->iota_tile) != count)
    return hr_error(HR_INVALID,
                    "replica groups of %ld devices, want [groups,members] of that product",
                    (long)count);
  HR_TRY(HR_NEW_ARRAY(arena, count, &devices));
  hlo_iota_fill(&iota, devices);
  return split_into_groups(arena, devices, groups->iota_tile.data[0], groups->iota_tile.data[1],
                           &groups->groups);
}

/* A piece of a mesh axis. */
typedef struct atom {
  int64_t stride; /* distance of its devices */
  int64_t size;   /* number of devices */
  int listed;     /* position in the list of axes; -1: not listed */
} atom_t;

static int64_t axis_ref_pre_size(const hlo_axis_ref_t *ref) {
  return ref->size ? ref->pre_size : 1;
}

/* The listed part of `axis` not yet used that is most major; -1 if there is none. */
static int next_listed_part(const hlo_groups_t *groups, int axis, const bool *used) {
  int best = -1;
  for (int i = 0; i < groups->axis_count; i++)
    if (groups->axes[i].axis == axis && !used[i] &&
        (best < 0 || axis_ref_pre_size(&groups->axes[i]) < axis_ref_pre_size(&groups->axes[best])))
      best = i;
  return best;
}

/* Cuts one axis into atoms at its listed sub-axes, major first. `done` is the product of the sizes
 * cut so far; gaps between sub-axes become atoms that are not listed. */
static hr_status_t cut_axis_into_atoms(const hlo_groups_t *groups, int axis, int64_t stride,
                                       bool *used, atom_t *atoms, int *count) {
  const hlo_mesh_axis_t *info = &groups->mesh.axes[axis];
  int64_t done = 1;
  for (int part; (part = next_listed_part(groups, axis, used)) >= 0;) {
    const hlo_axis_ref_t *ref = &groups->axes[part];
    int64_t pre = axis_ref_pre_size(ref);
    int64_t size = ref->size ? ref->size : info->size;
    used[part] = true;
    if (pre < done || pre % done || pre > info->size || size > info->size / pre ||
        info->size % (pre * size))
      return hr_error(
          HR_INVALID,
          "the listed parts of mesh axis '%.*s' (size %ld) overlap, or do not divide it",
          HR_STR_ARGS(info->name), (long)info->size);
    if (pre > done) atoms[(*count)++] = (atom_t){stride * (info->size / pre), pre / done, -1};
    done = pre * size;
    atoms[(*count)++] = (atom_t){stride * (info->size / done), size, part};
  }
  if (done < info->size) atoms[(*count)++] = (atom_t){stride, info->size / done, -1};
  return NULL;
}

/* Enumerates the atoms, the last one fastest, and writes the device of each position. */
static void enumerate_atoms(const atom_t *atoms, int count, const int64_t *ids, int64_t total,
                            int64_t *at, int64_t *devices) {
  int64_t device = 0;
  for (int64_t i = 0; i < total; i++) {
    devices[i] = ids ? ids[device] : device;
    int k = count - 1;
    for (; k >= 0 && ++at[k] == atoms[k].size; k--) {
      device -= (atoms[k].size - 1) * atoms[k].stride;
      at[k] = 0;
    }
    if (k >= 0) device += atoms[k].stride;
  }
}

/* Explicit device ids of a mesh, or its iota expanded; NULL: devices are numbered in order. */
static hr_status_t mesh_device_ids(hr_arena_t *arena, const hlo_mesh_t *mesh, int64_t total,
                                   const int64_t **out_ids) {
  *out_ids = NULL;
  if (mesh->device_ids.count) {
    if (mesh->device_ids.count != total)
      return hr_error(HR_INVALID, "found %ld device ids, want %ld as the mesh has",
                      (long)mesh->device_ids.count, (long)total);
    for (int64_t i = 0; i < total; i++)
      if (mesh->device_ids.data[i] < 0 || mesh->device_ids.data[i] >= HLO_MAX_DEVICES)
        return hr_error(HR_INVALID, "found device %ld, want 0 to %ld",
                        (long)mesh->device_ids.data[i], (long)HLO_MAX_DEVICES - 1);
    *out_ids = mesh->device_ids.data;
  } else if (mesh->iota_dims.count) {
    hlo_iota_t iota = {mesh->iota_dims, mesh->iota_permutation};
    int64_t *ids;
    HR_TRY(check_iota(&iota));
    if (hlo_device_count(iota.dims) != total)
      return hr_error(HR_INVALID, "device ids of %ld devices, want %ld as the mesh has",
                      (long)hlo_device_count(iota.dims), (long)total);
    HR_TRY(HR_NEW_ARRAY(arena, total, &ids));
    hlo_iota_fill(&iota, ids);
    *out_ids = ids;
  }
  return NULL;
}

/* Product of the axis sizes; -1 if one is not positive or the product exceeds HLO_MAX_DEVICES. */
static int64_t mesh_size(const hlo_mesh_t *mesh) {
  int64_t total = 1;
  for (int a = 0; a < mesh->axis_count; a++) {
    if (mesh->axes[a].size <= 0 || mesh->axes[a].size > HLO_MAX_DEVICES / total) return -1;
    total *= mesh->axes[a].size;
  }
  return total;
}

int64_t hlo_groups_size(const hlo_groups_t *groups) {
  return groups->form == HLO_GROUPS_IOTA ? hlo_device_count(groups->iota_dims)
                                         : mesh_size(&groups->mesh);
}

/* The atoms in the order in which devices are written: those not listed, in mesh order, then the
 * listed ones as listed. *out_members is the size of a group. */
static hr_status_t order_atoms(hr_arena_t *arena, const hlo_groups_t *groups, int64_t total,
                               atom_t **out_order, int *out_count, int64_t *out_members) {
  int max_count = 2 * groups->axis_count + groups->mesh.axis_count + 1;
  int count = 0;
  int ordered = 0;
  int64_t stride = total;
  int64_t members = 1;
  atom_t *atoms, *order;
  bool *used;
  HR_TRY(HR_NEW_ARRAY(arena, groups->axis_count + 1, &used));
  HR_TRY(HR_NEW_ARRAY(arena, max_count, &atoms));
  HR_TRY(HR_NEW_ARRAY(arena, max_count, &order));
  for (int a = 0; a < groups->mesh.axis_count; a++) {
    stride /= groups->mesh.axes[a].size;
    HR_TRY(cut_axis_into_atoms(groups, a, stride, used, atoms, &count));
  }
  for (int i = 0; i < count; i++)
    if (atoms[i].listed < 0) order[ordered++] = atoms[i];
  for (int k = 0; k < groups->axis_count; k++)
    for (int i = 0; i < count; i++)
      if (atoms[i].listed == k) {
        order[ordered++] = atoms[i];
        members *= atoms[i].size;
      }
  *out_order = order;
  *out_count = ordered;
  *out_members = members;
  return NULL;
}

/* All devices that agree on the axes not listed form a group. Groups are numbered over those axes
 * in mesh order, and members over the listed ones, in the order listed. */
static hr_status_t expand_mesh(hr_arena_t *arena, hlo_groups_t *groups) {
  int64_t total = mesh_size(&groups->mesh);
  int64_t *devices;
  int64_t *at;
  int64_t members;
  if (total < 0)
    return hr_error(HR_INVALID, "mesh axes, want positive sizes of at most %ld devices together",
                    (long)HLO_MAX_DEVICES);
  atom_t *atoms;
  int count;
  const int64_t *ids;
  HR_TRY(order_atoms(arena, groups, total, &atoms, &count, &members));
  if (members < 2)
    return hr_error(HR_INVALID, "mesh axes of one device per group, want more than one");
  HR_TRY(mesh_device_ids(arena, &groups->mesh, total, &ids));
  HR_TRY(HR_NEW_ARRAY(arena, total, &devices));
  HR_TRY(HR_NEW_ARRAY(arena, count, &at));
  enumerate_atoms(atoms, count, ids, total, at, devices);
  return split_into_groups(arena, devices, total / members, members, &groups->groups);
}

hr_status_t hlo_groups_expand(hr_arena_t *arena, hlo_groups_t *groups) {
  if (groups->form == HLO_GROUPS_IOTA) return expand_iota(arena, groups);
  return groups->form == HLO_GROUPS_MESH ? expand_mesh(arena, groups) : NULL;
}
