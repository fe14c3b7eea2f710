/* Shards of named and tiled shardings. A device's axis_coordinate on an axis is (device / product
 * of later axis sizes) mod axis size; a sub-axis (pre)size divides it once more. The shard index of
 * a dimension is the mixed-radix number of the coordinates on its axes, major first. */
#include "ir/shard.h"

/* Distance of neighbouring devices on an axis: the product of the sizes of later axes. */
static int64_t axis_stride(const hlo_mesh_t *mesh, int axis) {
  int64_t stride = 1;
  for (int a = axis + 1; a < mesh->axis_count; a++) stride *= mesh->axes[a].size;
  return stride;
}

/* Shards that an axis or sub-axis makes; a size of 0 stands for the whole axis. */
static int64_t axis_ref_size(const hlo_mesh_t *mesh, const hlo_axis_ref_t *ref) {
  return ref->size ? ref->size : mesh->axes[ref->axis].size;
}

/* Coordinate of a device on an axis, or on its sub-axis (pre)size. */
static int64_t axis_coordinate(const hlo_mesh_t *mesh, const hlo_axis_ref_t *ref, int64_t device) {
  int64_t axis_size = mesh->axes[ref->axis].size;
  int64_t coordinate = device / axis_stride(mesh, ref->axis) % axis_size;
  if (!ref->size) return coordinate;
  int64_t post_size = axis_size / (ref->pre_size * ref->size);
  return coordinate / (post_size ? post_size : 1) % ref->size;
}

/* --- tiled shardings: devices=[2,1,4]<=[8] --- */

/* True for GSPMD's form (tile sizes and devices), false for Shardy's (names of axes). */
static bool is_tiled(const hlo_sharding_t *sharding) {
  return sharding && !sharding->named && sharding->kind == HLO_TILE_KIND_OTHER;
}

/* Position of a device in a transposed iota of `dims`: its coordinates in the order of the
 * permutation. */
static int64_t position_in_iota(const hlo_iota_t *iota, int64_t device) {
  int64_t coordinates[HLO_MAX_RANK], position = 0;
  int rank = (int)iota->dims.count;
  if (!iota->permutation.count || rank > HLO_MAX_RANK) return device;
  for (int d = rank - 1; d >= 0; d--) {
    coordinates[d] = device % iota->dims.data[d];
    device /= iota->dims.data[d];
  }
  for (int d = 0; d < rank; d++) {
    int64_t from = iota->permutation.data[d];
    position = position * iota->dims.data[from] + coordinates[from];
  }
  return position;
}

/* Position of a device in the row-major list of tiles; -1: it is not listed. */
static int64_t position_of_device(const hlo_sharding_t *sharding, int64_t device) {
  if (!sharding->devices.count) return position_in_iota(&sharding->iota, device);
  for (int64_t i = 0; i < sharding->devices.count; i++)
    if (sharding->devices.data[i] == device) return i;
  return -1;
}

/* Trailing extra tile dimensions divide nothing: their devices hold the same tile. */
static hr_status_t shard_of_tiled(const hlo_sharding_t *sharding, int rank, const int64_t *dims,
                                  int64_t device, int64_t *out_starts, int64_t *out_sizes) {
  int64_t position = position_of_device(sharding, device);
  const hr_ints_t *tiles = &sharding->tile_dims;
  if (position < 0 || tiles->count < rank)
    return hr_error(HR_INVALID, "device %ld has no tile of %d dimensions", (long)device, rank);
  for (int d = (int)tiles->count - 1; d >= 0; d--) {
    int64_t parts = tiles->data[d], index = parts > 0 ? position % parts : 0;
    if (parts < 1 || (d < rank && dims[d] % parts))
      return hr_error(HR_INVALID, "dimension %d does not divide into %ld shards", d, (long)parts);
    position /= parts;
    if (d >= rank) continue;
    out_sizes[d] = dims[d] / parts;
    out_starts[d] = index * out_sizes[d];
  }
  return NULL;
}

/* --- named shardings --- */

/* Shards of dimension d: the tile count, or the product of its axes' sizes; 1: not divided. */
int64_t hlo_shard_parts(const hlo_sharding_t *sharding, int d) {
  int64_t parts = 1;
  if (is_tiled(sharding)) return d < sharding->tile_dims.count ? sharding->tile_dims.data[d] : 1;
  if (!sharding || !sharding->named || d >= sharding->dim_count) return 1;
  for (int i = 0; i < sharding->dims[d].axes.count; i++)
    parts *= axis_ref_size(&sharding->mesh, &sharding->dims[d].axes.refs[i]);
  return parts;
}

/* Position of a device in the mesh: meshes may list their devices in another order. */
static int64_t position_of(const hlo_mesh_t *mesh, int64_t device) {
  for (int64_t p = 0; p < mesh->device_ids.count; p++)
    if (mesh->device_ids.data[p] == device) return p;
  return device;
}

/* Each dimension is divided evenly; axes are digits of the shard index, major first. */
hr_status_t hlo_shard_of(const hlo_sharding_t *sharding, int rank, const int64_t *dims,
                         int64_t device, int64_t *out_starts, int64_t *out_sizes) {
  if (is_tiled(sharding))
    return shard_of_tiled(sharding, rank, dims, device, out_starts, out_sizes);
  if (sharding->named) device = position_of(&sharding->mesh, device);
  for (int d = 0; d < rank; d++) {
    int64_t parts = hlo_shard_parts(sharding, d);
    int64_t index = 0;
    if (parts < 1 || dims[d] % parts)
      return hr_error(HR_INVALID, "dimension %d of size %ld does not divide into %ld shards", d,
                      (long)dims[d], (long)parts);
    for (int i = 0; parts > 1 && i < sharding->dims[d].axes.count; i++) {
      const hlo_axis_ref_t *ref = &sharding->dims[d].axes.refs[i];
      index = index * axis_ref_size(&sharding->mesh, ref) +
              axis_coordinate(&sharding->mesh, ref, device);
    }
    out_sizes[d] = dims[d] / parts;
    out_starts[d] = index * out_sizes[d];
  }
  return NULL;
}
