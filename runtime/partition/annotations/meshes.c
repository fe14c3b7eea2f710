/* Reads meshes. Axes of size 1 stay in the sources, with empty images. Cost: linear in the text;
 * a tile grid is compared with all known ones, which are few. */
#include "partition/annotations/meshes.h"

#include <string.h>

#include "ir/sharding.h"

void spmd_meshes_deinit(spmd_meshes_t *meshes) { HR_VEC_FREE(&meshes->sources); }

int spmd_meshes_find(const spmd_meshes_t *meshes, hr_str_t name) {
  for (size_t i = 0; i < meshes->sources.count; i++)
    if (hr_str_equal(meshes->sources.data[i].name, name)) return (int)i;
  return -1;
}

int spmd_source_axis(const spmd_mesh_source_t *source, hr_str_t name) {
  for (int a = 0; a < source->axis_count && source->axis_names; a++)
    if (hr_str_equal(source->axis_names[a], name)) return a;
  return -1;
}

/* The product of the sizes, checked before each multiplication. */
static hr_status_t count_devices(spmd_mesh_source_t *source) {
  source->device_count = 1;
  for (int a = 0; a < source->axis_count; a++)
    if (source->axis_sizes[a] > HLO_MAX_DEVICES / source->device_count)
      return hr_error(HR_INVALID, "mesh @%.*s has more than %ld devices", HR_STR_ARGS(source->name),
                      (long)HLO_MAX_DEVICES);
    else
      source->device_count *= source->axis_sizes[a];
  return NULL;
}

/* Checks that each device is listed once. */
static hr_status_t check_ids(spmd_meshes_t *meshes, const spmd_mesh_source_t *source,
                             int64_t count) {
  bool *seen;
  if (count != source->device_count)
    return hr_error(HR_INVALID, "mesh @%.*s lists %ld devices, want %ld", HR_STR_ARGS(source->name),
                    (long)count, (long)source->device_count);
  HR_TRY(HR_NEW_ARRAY(meshes->arena, count, &seen));
  for (int64_t p = 0; p < count; p++) {
    int64_t id = source->device_ids[p];
    if (id < 0 || id >= count || seen[id])
      return hr_error(HR_INVALID, "%s%.*s lists device %ld, want 0 to %ld, each once",
                      source->name.size ? "mesh @" : "the sharding", HR_STR_ARGS(source->name),
                      (long)id, (long)count - 1);
    seen[id] = true;
  }
  return NULL;
}

/* Appends a source. The order matters: the first sources name the axes of the common mesh. */
static hr_status_t push(spmd_meshes_t *meshes, spmd_mesh_source_t source) {
  HR_VEC_PUSH(&meshes->sources, source);
  return NULL;
}

/* --- text --- */

/* A mesh while it is read. */
typedef struct axis_list {
  HR_VEC(hr_str_t) names; /* slices of the text */
  HR_VEC(int64_t) sizes;  /* by axis */
  HR_VEC(int64_t) ids;    /* device_ids as listed; empty: not given */
} axis_list_t;

static void axis_list_deinit(axis_list_t *list) {
  HR_VEC_FREE(&list->names);
  HR_VEC_FREE(&list->sizes);
  HR_VEC_FREE(&list->ids);
}

/* ["a"=2, "b"=4] */
static hr_status_t read_axes(hr_scan_t *scan, axis_list_t *list) {
  HR_TRY(hr_scan_want(scan, "["));
  for (bool more = !hr_scan_take(scan, "]"); more;) {
    hr_str_t name;
    int64_t size;
    HR_TRY(hr_scan_quoted(scan, &name));
    HR_TRY(hr_scan_want(scan, "="));
    HR_TRY(hr_scan_number(scan, &size));
    if (size < 1) return hr_error(HR_INVALID, "mesh axis \"%.*s\" of size 0", HR_STR_ARGS(name));
    for (size_t i = 0; i < list->names.count; i++)
      if (hr_str_equal(list->names.data[i], name))
        return hr_error(HR_INVALID, "a mesh with two axes \"%.*s\"", HR_STR_ARGS(name));
    HR_VEC_PUSH(&list->names, name);
    HR_VEC_PUSH(&list->sizes, size);
    HR_TRY(hr_scan_more(scan, "]", &more));
  }
  return NULL;
}

/* Reads an optional ", device_ids=[3, 2, 1, 0]". */
static hr_status_t read_ids(hr_scan_t *scan, axis_list_t *list) {
  if (!hr_scan_take(scan, ",")) return NULL;
  HR_TRY(hr_scan_want(scan, "device_ids"));
  HR_TRY(hr_scan_want(scan, "="));
  HR_TRY(hr_scan_want(scan, "["));
  for (bool more = !hr_scan_take(scan, "]"); more;) {
    int64_t id;
    HR_TRY(hr_scan_number(scan, &id));
    HR_VEC_PUSH(&list->ids, id);
    HR_TRY(hr_scan_more(scan, "]", &more));
  }
  return NULL;
}

/* Refuses equal names of axes in meshes of options, which read_axes does not read. */
static hr_status_t check_names(hr_str_t name, const axis_list_t *list) {
  for (size_t a = 0; a < list->names.count; a++)
    for (size_t b = 0; b < a; b++)
      if (hr_str_equal(list->names.data[a], list->names.data[b]))
        return hr_error(HR_INVALID, "mesh @%.*s has two axes \"%.*s\"", HR_STR_ARGS(name),
                        HR_STR_ARGS(list->names.data[a]));
  return NULL;
}

/* A mesh without axes but with one device is maximal: its shardings keep a value on that device. */
static hr_status_t add_list(spmd_meshes_t *meshes, hr_str_t name, const axis_list_t *list) {
  spmd_mesh_source_t source = {.name = name, .axis_count = (int)list->names.count, .device = -1};
  void *names, *sizes, *ids;
  size_t count = list->names.count;
  if (count > SPMD_MAX_AXES)
    return hr_error(HR_INVALID, "mesh @%.*s has %zu axes, want at most %d", HR_STR_ARGS(name),
                    count, SPMD_MAX_AXES);
  HR_TRY(check_names(name, list));
  HR_TRY(hr_arena_copy(meshes->arena, list->names.data, count * sizeof(hr_str_t), &names));
  HR_TRY(hr_arena_copy(meshes->arena, list->sizes.data, count * sizeof(int64_t), &sizes));
  source.axis_names = names;
  source.axis_sizes = sizes;
  HR_TRY(count_devices(&source));
  if (!count && list->ids.count == 1) source.device = list->ids.data[0];
  if (count && list->ids.count) {
    HR_TRY(hr_arena_copy(meshes->arena, list->ids.data, list->ids.count * sizeof(int64_t), &ids));
    source.device_ids = ids;
    HR_TRY(check_ids(meshes, &source, (int64_t)list->ids.count));
  }
  return push(meshes, source);
}

hr_status_t spmd_meshes_read_one(spmd_meshes_t *meshes, hr_scan_t *scan, hr_str_t name) {
  axis_list_t list = {0};
  hr_status_t st = read_axes(scan, &list);
  if (!st) st = read_ids(scan, &list);
  if (!st) st = add_list(meshes, name, &list);
  axis_list_deinit(&list);
  return st;
}

/* " = #sdy.mesh<...>" */
static hr_status_t read_entry(spmd_meshes_t *meshes, hr_scan_t *scan, hr_str_t name) {
  if (spmd_meshes_find(meshes, name) >= 0)
    return hr_error(HR_INVALID, "there are two meshes @%.*s", HR_STR_ARGS(name));
  HR_TRY(hr_scan_want(scan, "="));
  HR_TRY(hr_scan_want(scan, "#sdy.mesh<"));
  HR_TRY(spmd_meshes_read_one(meshes, scan, name));
  return hr_scan_want(scan, ">");
}

/* Place of "sdy.mesh @name" in the program's text, else of its first list of meshes. */
static hr_pos_t place_of(const hr_source_t *source, hr_str_t name) {
  hr_pos_t pos = {source, 0, 0};
  const char *text = source->text, *end = text + source->size_bytes, *found = NULL;
  for (const char *at = text; at && at < end && !found;) {
    at = memmem(at, (size_t)(end - at), "sdy.mesh @", 10);
    if (!at) break;
    at += 10;
    bool same = (size_t)(end - at) > name.size && !memcmp(at, name.data, name.size);
    if (same && at[name.size] == ' ') found = at - 10;
  }
  if (!found && text) found = memmem(text, source->size_bytes, "xla.sdy.meshes", 14);
  if (!found) return pos;
  pos.line = pos.column = 1;
  for (const char *at = text; at < found; at++) {
    pos.column = *at == '\n' ? 1 : pos.column + 1;
    pos.line += *at == '\n';
  }
  return pos;
}

hr_status_t spmd_meshes_read(spmd_meshes_t *meshes, hr_str_t text, const hr_source_t *source) {
  hr_scan_t scan = hr_scan(text, "list of meshes");
  HR_TRY(hr_scan_want(&scan, "{"));
  for (bool more = !hr_scan_take(&scan, "}"); more;) {
    hr_str_t name = hr_scan_name(&scan);
    hr_where_t where = {.pos = place_of(source, name)};
    hr_where_push(&where);
    hr_status_t st = read_entry(meshes, &scan, name);
    hr_where_pop(&where);
    HR_TRY(st);
    HR_TRY(hr_scan_more(&scan, "}", &more));
  }
  return NULL;
}

/* data=4,model=2 */
static hr_status_t read_option(hr_scan_t *scan, axis_list_t *list) {
  int64_t devices = 1;
  for (bool more = true; more;) {
    hr_str_t name = hr_scan_name(scan);
    int64_t size;
    if (!name.size) return hr_scan_unexpected(scan, "the name of an axis");
    if (hr_str_is(name, "-"))
      return hr_error(HR_INVALID, "an axis \"-\", which means none in --sharding");
    HR_TRY(hr_scan_want(scan, "="));
    HR_TRY(hr_scan_number(scan, &size));
    if (size < 1) return hr_error(HR_INVALID, "axis %.*s has a size of 0", HR_STR_ARGS(name));
    devices *= size;
    if (devices > INT16_MAX)
      return hr_error(HR_INVALID, "%ld devices or more, want at most %d", (long)devices, INT16_MAX);
    HR_VEC_PUSH(&list->names, name);
    HR_VEC_PUSH(&list->sizes, size);
    more = hr_scan_take(scan, ",");
  }
  return hr_scan_is_done(scan) ? NULL : hr_scan_want(scan, ",");
}

hr_status_t spmd_meshes_read_option(spmd_meshes_t *meshes, const char *text) {
  hr_scan_t scan = hr_scan(hr_str_from(text), "list");
  axis_list_t list = {0};
  hr_status_t st = read_option(&scan, &list);
  if (!st) st = add_list(meshes, HR_STR("mesh"), &list);
  axis_list_deinit(&list);
  if (hr_status_code(st) != HR_INVALID) return st;
  hr_status_t usage =
      hr_error(HR_USAGE, "option --mesh: \"%s\": %s; write axes and sizes as in data=4,model=2",
               text, hr_status_message(st));
  hr_status_release(st);
  return usage;
}

/* The first axis of `of` that the mesh lacks; NULL: it has all. */
static const hr_str_t *missing_axis(const spmd_mesh_source_t *mesh, const spmd_mesh_source_t *of) {
  for (int a = 0; a < of->axis_count; a++)
    if (spmd_source_axis(mesh, of->axis_names[a]) < 0) return &of->axis_names[a];
  return NULL;
}

const hr_str_t *spmd_meshes_missing_axis(const spmd_meshes_t *meshes,
                                         const spmd_mesh_source_t *like) {
  const hr_str_t *missing = NULL;
  for (size_t i = 0; i < meshes->sources.count && !missing; i++)
    if (meshes->sources.data[i].is_used) missing = missing_axis(like, &meshes->sources.data[i]);
  return missing;
}

bool spmd_meshes_resize(spmd_meshes_t *meshes, const spmd_mesh_source_t *like) {
  bool any = false;
  if (spmd_meshes_missing_axis(meshes, like)) return false;
  for (size_t i = 0; i < meshes->sources.count; i++) {
    spmd_mesh_source_t *source = &meshes->sources.data[i];
    if (!source->is_used) continue;
    any = true;
    source->axis_count = like->axis_count;
    source->axis_names = like->axis_names;
    source->axis_sizes = like->axis_sizes;
    source->device_count = like->device_count;
    source->device_ids = NULL;
  }
  return any;
}

/* --- shardings of HLO --- */

/* Compares grids by sizes and devices, as they have no names. */
static bool same_grid(const spmd_mesh_source_t *source, const int64_t *sizes, int count,
                      const int64_t *ids) {
  if (source->name.size || source->axis_count != count) return false;
  if (memcmp(source->axis_sizes, sizes, (size_t)count * sizeof *sizes)) return false;
  return !memcmp(source->device_ids, ids, (size_t)source->device_count * sizeof *ids);
}

static hr_status_t find_or_add(spmd_meshes_t *meshes, const int64_t *sizes, int count,
                               const int64_t *ids, int *out_source) {
  spmd_mesh_source_t source = {
      .axis_count = count, .axis_sizes = sizes, .device_ids = ids, .device = -1};
  HR_TRY(count_devices(&source));
  for (size_t i = 0; i < meshes->sources.count; i++) {
    *out_source = (int)i;
    if (meshes->sources.data[i].device_count == source.device_count &&
        same_grid(&meshes->sources.data[i], sizes, count, ids))
      return NULL;
  }
  HR_TRY(check_ids(meshes, &source, source.device_count));
  *out_source = (int)meshes->sources.count;
  return push(meshes, source);
}

/* The mesh of a named sharding of HLO text, mesh['a'=2,'b'=4]: its axes are known by number. */
static hr_status_t add_named(spmd_meshes_t *meshes, const hlo_mesh_t *mesh, int *out_source) {
  int64_t *sizes, *ids, count = 1;
  HR_TRY(HR_NEW_ARRAY(meshes->arena, mesh->axis_count, &sizes));
  for (int a = 0; a < mesh->axis_count; a++) {
    sizes[a] = mesh->axes[a].size;
    count *= sizes[a];
  }
  HR_TRY(HR_NEW_ARRAY(meshes->arena, count, &ids));
  hlo_iota_t order = {mesh->iota_dims, mesh->iota_permutation};
  for (int64_t p = 0; p < count; p++)
    ids[p] = mesh->device_ids.count ? mesh->device_ids.data[p] : p;
  if (mesh->iota_dims.count) hlo_iota_fill(&order, ids);
  return find_or_add(meshes, sizes, mesh->axis_count, ids, out_source);
}

static hr_status_t add_tiled(spmd_meshes_t *meshes, const hlo_sharding_t *sharding,
                             int *out_source) {
  int64_t count = hlo_device_count(sharding->tile_dims), *ids;
  if (count < 1) return hr_error(HR_INVALID, "a sharding over no devices, or too many");
  if (sharding->devices.count && sharding->devices.count != count)
    return hr_error(HR_INVALID, "a sharding lists %ld devices, want %ld",
                    (long)sharding->devices.count, (long)count);
  HR_TRY(HR_NEW_ARRAY(meshes->arena, count, &ids));
  if (sharding->devices.count)
    memcpy(ids, sharding->devices.data, (size_t)count * sizeof *ids);
  else if (hlo_device_count(sharding->iota.dims) == count)
    hlo_iota_fill(&sharding->iota, ids);
  else
    return hr_error(HR_INVALID, "a sharding of %ld tiles over another number of devices",
                    (long)count);
  return find_or_add(meshes, sharding->tile_dims.data, (int)sharding->tile_dims.count, ids,
                     out_source);
}

/* The list of devices of a mesh that is known is given back: shardings of a million devices may be
 * as many as instructions. */
hr_status_t spmd_meshes_add_hlo(spmd_meshes_t *meshes, const hlo_sharding_t *sharding,
                                int *out_source) {
  size_t known = meshes->sources.count;
  hr_arena_mark_t mark = hr_arena_mark(meshes->arena);
  *out_source = -1;
  if (sharding->kind != HLO_TILE_KIND_OTHER) return NULL;
  HR_TRY(sharding->named ? add_named(meshes, &sharding->mesh, out_source)
                         : add_tiled(meshes, sharding, out_source));
  if (meshes->sources.count == known) hr_arena_rewind(meshes->arena, mark);
  return NULL;
}
