/* The common mesh. A single mesh is kept. Several are compared by device numbers: each axis, split
 * into prime parts, must have a constant stride in device numbers, so that it covers a range
 * [stride, stride * size) of the factors of the device number. If each bound of all ranges divides
 * the next, the bounds cut the device number into the axes of the common mesh. Device numbers are
 * positions in the order in which most meshes are regular: that of the numbers themselves, or that
 * of one mesh.
 * A mesh that does not fit beside those before it (2 x 3 beside 3 x 2, or another order) is
 * foreign: its axes are replaced by axes of the common mesh of the same sizes. Its shardings then
 * give the right number of parts, but on other devices. This makes no difference for global values;
 * at the borders of manual computations the parts are sent to the devices of the mesh itself (its
 * placement).
 *
 *   @a = ["x"=8]            x covers [1, 8)
 *   @b = ["y"=4, "z"=2]     y covers [2, 8), z covers [1, 2)
 *   cuts 1, 2, 8            common mesh ["y"=4, "z"=2]; x is (y, z)
 *
 * A smaller world keeps of each axis, in order, the gcd of its size and the processes left over.
 * Cost: devices times sources. */
#include <string.h>

#include "base/arith.h"
#include "partition/annotations/axis_ranges.h"

/* Name of the first axis that covers exactly [low, high). */
static hr_status_t name_of(const spmd_meshes_t *meshes, const int64_t *places, int64_t low,
                           int64_t high, int number, hr_str_t *out_name) {
  spmd_axis_pieces_t pieces;
  const char *text;
  for (size_t i = 0; i < meshes->sources.count; i++) {
    const spmd_mesh_source_t *source = &meshes->sources.data[i];
    if (source->device_count < 2 || !source->axis_names || source->is_foreign) continue;
    spmd_axis_pieces_of(source, places, &pieces);
    for (int k = 0; k < pieces.count; k++) {
      spmd_axis_piece_t piece = pieces.items[k];
      if (piece.stride == low && piece.stride * piece.size == high &&
          source->axis_sizes[piece.axis] == piece.size) {
        *out_name = source->axis_names[piece.axis];
        return NULL;
      }
    }
  }
  HR_TRY(hr_arena_printf(meshes->arena, &text, "axis_%d", number));
  *out_name = hr_str_from(text);
  return NULL;
}

/* Two sources may use one name for different ranges: the second range gets a number instead. */
static bool is_taken(const hr_str_t *names, int count, hr_str_t name) {
  for (int i = 0; i < count; i++)
    if (hr_str_equal(names[i], name)) return true;
  return false;
}

/* The axes between neighbouring cuts, the major first. */
static hr_status_t make_mesh(const spmd_meshes_t *meshes, const int64_t *ids, const int64_t *places,
                             const spmd_cuts_t *cuts, spmd_mesh_t **out_mesh) {
  spmd_mesh_t *mesh;
  hr_str_t *names;
  int64_t *sizes;
  int count = cuts->count - 1;
  HR_TRY(HR_NEW(meshes->arena, &mesh));
  HR_TRY(HR_NEW_ARRAY(meshes->arena, count, &names));
  HR_TRY(HR_NEW_ARRAY(meshes->arena, count, &sizes));
  if (count > SPMD_MAX_AXES)
    return hr_error(HR_UNSUPPORTED, "the meshes together have %d axes, want at most %d", count,
                    SPMD_MAX_AXES);
  for (int a = 0; a < count; a++) {
    int64_t low = cuts->items[count - 1 - a], high = cuts->items[count - a];
    const char *text;
    sizes[a] = high / low;
    HR_TRY(name_of(meshes, places, low, high, a, &names[a]));
    if (!is_taken(names, a, names[a])) continue;
    HR_TRY(hr_arena_printf(meshes->arena, &text, "axis_%d", a));
    names[a] = hr_str_from(text);
  }
  *mesh = (spmd_mesh_t){.name = HR_STR("mesh"),
                        .axis_count = count,
                        .axis_names = names,
                        .axis_sizes = sizes,
                        .device_count = cuts->items[count],
                        .device_ids = ids};
  *out_mesh = mesh;
  return NULL;
}

/* The axes of the mesh that a piece covers, the major first. */
static hr_status_t image_of_piece(hr_arena_t *arena, const spmd_cuts_t *cuts,
                                  spmd_axis_piece_t piece, spmd_axes_t *image) {
  for (int i = cuts->count - 1; i > 0; i--) {
    int64_t low = cuts->items[i - 1], high = cuts->items[i];
    spmd_axis_t *axis;
    if (low < piece.stride || high > piece.stride * piece.size) continue;
    HR_TRY(HR_NEW(arena, &axis));
    *axis = (spmd_axis_t){cuts->count - 1 - i, 1, high / low};
    HR_TRY(spmd_axes_concat(arena, *image, (spmd_axes_t){1, axis}, image));
  }
  return NULL;
}

/* Finds the stand-in of a foreign axis: a whole axis of this size, or parts of any axes, prime by
 * prime. `taken`: by axis of the mesh, the product of the parts in use, the major first. */
static hr_status_t image_of_foreign(hr_arena_t *arena, const spmd_mesh_t *mesh, int64_t size,
                                    int64_t *taken, spmd_axes_t *image) {
  for (int64_t part = size; size > 1; part = spmd_smallest_prime(size)) {
    spmd_axis_t *axis;
    int a = 0;
    while (a < mesh->axis_count && (mesh->axis_sizes[a] / taken[a]) % part) a++;
    for (int k = 0; k < mesh->axis_count; k++)
      if (taken[k] == 1 && mesh->axis_sizes[k] == size) a = k;
    if (a == mesh->axis_count && part == size && part != spmd_smallest_prime(size)) continue;
    if (a == mesh->axis_count) return hr_error(HR_INTERNAL, "an axis that the mesh cannot hold");
    HR_TRY(HR_NEW(arena, &axis));
    *axis = (spmd_axis_t){a, taken[a], part};
    taken[a] *= part;
    size /= part;
    HR_TRY(spmd_axes_concat(arena, *image, (spmd_axes_t){1, axis}, image));
  }
  return NULL;
}

/* The images of all axes of one source. */
static hr_status_t find_image(const spmd_meshes_t *meshes, const spmd_mesh_t *mesh,
                              const int64_t *places, const spmd_cuts_t *cuts,
                              const spmd_mesh_source_t *source, spmd_axes_t *images) {
  int64_t taken[SPMD_MAX_AXES];
  spmd_axis_pieces_t pieces;
  for (int a = 0; a < mesh->axis_count; a++) taken[a] = 1;
  for (int a = 0; a < source->axis_count && source->is_foreign; a++)
    HR_TRY(image_of_foreign(meshes->arena, mesh, source->axis_sizes[a], taken, &images[a]));
  if (source->is_foreign) return NULL;
  spmd_axis_pieces_of(source, places, &pieces);
  for (int k = 0; k < pieces.count; k++)
    HR_TRY(image_of_piece(meshes->arena, cuts, pieces.items[k], &images[pieces.items[k].axis]));
  return NULL;
}

/* Makes the placement of a foreign mesh: the common mesh with the source's devices. Position p of
 * the source maps to the position with the same coordinates along the stand-ins. Each position gets
 * a device, as the stand-ins of all axes together are the whole mesh. */
static hr_status_t place_foreign(const spmd_meshes_t *meshes, const spmd_mesh_t *mesh,
                                 spmd_mesh_source_t *source) {
  spmd_mesh_t *placement;
  int64_t *ids;
  HR_TRY(HR_NEW(meshes->arena, &placement));
  HR_TRY(HR_NEW_ARRAY(meshes->arena, mesh->device_count, &ids));
  for (int64_t q = 0; q < mesh->device_count; q++) {
    int64_t position = 0;
    for (int a = 0; a < source->axis_count; a++)
      position =
          position * source->axis_sizes[a] + spmd_axes_coordinate(mesh, source->images[a], q);
    ids[q] = spmd_source_device(source, position);
  }
  *placement = *mesh;
  placement->device_ids = ids;
  source->placement = placement;
  return NULL;
}

static hr_status_t find_images(const spmd_meshes_t *meshes, const spmd_mesh_t *mesh,
                               const int64_t *places, const spmd_cuts_t *cuts) {
  for (size_t i = 0; i < meshes->sources.count; i++) {
    spmd_mesh_source_t *source = &meshes->sources.data[i];
    spmd_axes_t *images;
    HR_TRY(HR_NEW_ARRAY(meshes->arena, source->axis_count, &images));
    source->images = images;
    if (source->device_count > 1) HR_TRY(find_image(meshes, mesh, places, cuts, source, images));
    if (source->is_foreign) HR_TRY(place_foreign(meshes, mesh, source));
  }
  return NULL;
}

/* --- one mesh --- */

/* True for the same axes over the same devices; names of meshes may differ. */
static bool same_source(const spmd_mesh_source_t *a, const spmd_mesh_source_t *b) {
  if (a->axis_count != b->axis_count || !a->axis_names || !b->axis_names) return false;
  for (int k = 0; k < a->axis_count; k++)
    if (a->axis_sizes[k] != b->axis_sizes[k] || !hr_str_equal(a->axis_names[k], b->axis_names[k]))
      return false;
  for (int64_t p = 0; p < a->device_count; p++)
    if (spmd_source_device(a, p) != spmd_source_device(b, p)) return false;
  return true;
}

/* The first mesh with several devices, if it has axis names and all others equal it; else NULL. */
static const spmd_mesh_source_t *only_mesh(const spmd_meshes_t *meshes) {
  const spmd_mesh_source_t *only = NULL;
  for (size_t i = 0; i < meshes->sources.count; i++) {
    const spmd_mesh_source_t *source = &meshes->sources.data[i];
    if (source->device_count < 2) continue;
    if (!source->axis_names || (only && !same_source(only, source))) return NULL;
    if (!only) only = source;
  }
  return only;
}

/* Makes the program's only mesh the common one, so that messages and reports use its names. Drops
 * axes of size 1: they cut nothing. */
static hr_status_t keep_mesh(spmd_meshes_t *meshes, const spmd_mesh_source_t *only,
                             spmd_mesh_t **out_mesh) {
  spmd_mesh_t *mesh;
  hr_str_t *names;
  int64_t *sizes;
  spmd_axis_t *whole;
  int count = 0;
  HR_TRY(HR_NEW(meshes->arena, &mesh));
  HR_TRY(HR_NEW_ARRAY(meshes->arena, only->axis_count, &names));
  HR_TRY(HR_NEW_ARRAY(meshes->arena, only->axis_count, &sizes));
  HR_TRY(HR_NEW_ARRAY(meshes->arena, only->axis_count, &whole));
  spmd_axes_t *images;
  HR_TRY(HR_NEW_ARRAY(meshes->arena, only->axis_count, &images));
  for (int a = 0; a < only->axis_count; a++) {
    if (only->axis_sizes[a] == 1) continue;
    names[count] = only->axis_names[a];
    sizes[count] = only->axis_sizes[a];
    whole[a] = (spmd_axis_t){count++, 1, only->axis_sizes[a]};
    images[a] = (spmd_axes_t){1, &whole[a]};
  }
  *mesh = (spmd_mesh_t){.name = only->name,
                        .axis_count = count,
                        .axis_names = names,
                        .axis_sizes = sizes,
                        .device_count = only->device_count,
                        .device_ids = only->device_ids};
  for (size_t i = 0; i < meshes->sources.count; i++)
    if (meshes->sources.data[i].device_count > 1) meshes->sources.data[i].images = images;
  *out_mesh = mesh;
  return NULL;
}

/* --- a smaller world --- */

/* Replaces the axes in an image by their kept parts; dropped parts get axis -1. */
static hr_status_t shrink_image(hr_arena_t *arena, const int *kept_axis, const int64_t *kept,
                                spmd_axes_t *image) {
  spmd_axis_t *items;
  int count = 0;
  HR_TRY(HR_NEW_ARRAY(arena, 2 * image->count, &items));
  for (int i = 0; i < image->count; i++) {
    spmd_axis_t axis =
        image->items[i]; /* an axis of the full mesh, or a part of one if it is foreign */
    int64_t left = kept[axis.axis], part = 1;
    if (left > axis.pre && left % axis.pre == 0) part = hr_gcd(left / axis.pre, axis.size);
    if (part > 1) items[count++] = (spmd_axis_t){kept_axis[axis.axis], axis.pre, part};
    if (part < axis.size) items[count++] = (spmd_axis_t){-1, 1, axis.size / part};
  }
  *image = (spmd_axes_t){count, items};
  return NULL;
}

/* True if an earlier source shares the array of images. */
static bool shares_images(const spmd_meshes_t *meshes, size_t i) {
  for (size_t k = 0; k < i; k++)
    if (meshes->sources.data[k].images == meshes->sources.data[i].images) return true;
  return false;
}

static hr_status_t shrink(spmd_meshes_t *meshes, spmd_mesh_t *mesh, int64_t device_count) {
  int kept_axis[SPMD_MAX_AXES], count = 0;
  int64_t kept[SPMD_MAX_AXES], left = device_count;
  hr_str_t *names = (hr_str_t *)mesh->axis_names;
  int64_t *sizes = (int64_t *)mesh->axis_sizes;
  for (int a = 0; a < mesh->axis_count; a++) {
    kept[a] = hr_gcd(sizes[a], left);
    left /= kept[a];
    kept_axis[a] = count;
    if (kept[a] == 1) continue;
    names[count] = names[a];
    sizes[count++] = kept[a];
  }
  if (left > 1) return hr_error(HR_INTERNAL, "a world that does not divide the mesh");
  mesh->axis_count = count;
  mesh->device_count = device_count;
  mesh->device_ids = NULL;
  for (size_t i = 0; i < meshes->sources.count; i++) {
    spmd_mesh_source_t *source = &meshes->sources.data[i];
    spmd_axes_t *images = (spmd_axes_t *)source->images;
    source->placement = NULL; /* only manual computations use it, and they forbid a smaller world */
    if (shares_images(meshes, i)) continue;
    for (int a = 0; a < source->axis_count && images; a++)
      HR_TRY(shrink_image(meshes->arena, kept_axis, kept, &images[a]));
  }
  return NULL;
}

/* --- all of it --- */

static void print_source(hr_strbuf_t *text, const spmd_mesh_source_t *source) {
  for (int a = 0; a < source->axis_count; a++) {
    if (a) hr_strbuf_add_str(text, " x ");
    if (source->axis_names) hr_strbuf_printf(text, "%.*s=", HR_STR_ARGS(source->axis_names[a]));
    hr_strbuf_add_int(text, source->axis_sizes[a]);
  }
}

static hr_status_t misfit(const spmd_mesh_source_t *source, int64_t device_count, bool is_fixed) {
  hr_strbuf_t text;
  hr_strbuf_init(&text);
  print_source(&text, source);
  hr_status_t st = hr_strbuf_finish(&text);
  const char *why = is_fixed ? "; its manual computations fix the number" : "";
  const char *others =
      is_fixed ? "" : ", a divisor of that, or give the axes other sizes by --mesh";
  if (!st)
    st =
        hr_error(HR_USAGE,
                 "the program's mesh (%s) has %ld devices, which do not fit %ld processes%s: start "
                 "them with hlorun -n %ld%s",
                 text.data, (long)source->device_count, (long)device_count, why,
                 (long)source->device_count, others);
  hr_strbuf_deinit(&text);
  return st;
}

/* "6 (@b)"; a grid of tiles has no name: "6 (3 x 2)". */
static void print_devices(hr_strbuf_t *text, const spmd_mesh_source_t *source) {
  hr_strbuf_printf(text, "%ld (", (long)source->device_count);
  if (source->name.size)
    hr_strbuf_printf(text, "@%.*s", HR_STR_ARGS(source->name));
  else
    print_source(text, source);
  hr_strbuf_add_char(text, ')');
}

static hr_status_t two_sizes(const spmd_mesh_source_t *one, const spmd_mesh_source_t *other) {
  hr_strbuf_t text;
  hr_strbuf_init(&text);
  print_devices(&text, one);
  hr_strbuf_add_str(&text, " and ");
  print_devices(&text, other);
  hr_status_t st = hr_strbuf_finish(&text);
  if (!st)
    st = hr_error(HR_UNSUPPORTED,
                  "meshes of %s devices in one program, want one set of devices: a reordered or "
                  "reshaped mesh has the same number",
                  text.data);
  hr_strbuf_deinit(&text);
  return st;
}

/* Checks that all meshes have the same number of devices; meshes of one device are maximal. */
static hr_status_t check_devices(const spmd_meshes_t *meshes,
                                 const spmd_mesh_source_t **out_largest) {
  const spmd_mesh_source_t *largest = NULL;
  for (size_t i = 0; i < meshes->sources.count; i++) {
    const spmd_mesh_source_t *source = &meshes->sources.data[i];
    if (source->device_count < 2) continue;
    if (largest && largest->device_count != source->device_count) return two_sizes(largest, source);
    largest = source;
  }
  *out_largest = largest;
  return NULL;
}

/* Makes a mesh of one device: manual computations need a mesh, even if it divides nothing. */
static hr_status_t empty_mesh(spmd_meshes_t *meshes) {
  spmd_mesh_t *mesh;
  HR_TRY(HR_NEW(meshes->arena, &mesh));
  *mesh = (spmd_mesh_t){.name = HR_STR("mesh"), .device_count = 1};
  meshes->mesh = mesh;
  return NULL;
}

/* A single mesh is kept; several are joined by the cuts of their axes. The result is shrunk to the
 * world last, together with the images of all sources. */
hr_status_t spmd_meshes_join(spmd_meshes_t *meshes, int64_t device_count, bool is_fixed) {
  const spmd_mesh_source_t *largest, *only = only_mesh(meshes);
  spmd_mesh_t *mesh = NULL;
  spmd_cuts_t cuts = {0};
  const int64_t *ids, *places;
  HR_TRY(check_devices(meshes, &largest));
  if (!largest) return is_fixed ? empty_mesh(meshes) : NULL;
  int64_t devices = largest->device_count;
  bool shrinks = device_count && device_count != devices;
  if (shrinks && (is_fixed || devices % device_count))
    return misfit(largest, device_count, is_fixed);
  if (only) {
    HR_TRY(keep_mesh(meshes, only, &mesh));
  } else {
    HR_TRY(spmd_choose_order(meshes, devices, &ids, &places));
    spmd_collect_cuts(meshes, devices, places, &cuts);
    HR_TRY(make_mesh(meshes, ids, places, &cuts, &mesh));
    HR_TRY(find_images(meshes, mesh, places, &cuts));
  }
  if (shrinks) HR_TRY(shrink(meshes, mesh, device_count));
  meshes->mesh = mesh;
  return NULL;
}

/* Walks over the pieces of the axis, the major first. `covered` is the product of the sizes so far:
 * a piece covers the factors [covered, covered * size) of the axis. */
hr_status_t spmd_meshes_image(const spmd_meshes_t *meshes, const spmd_mesh_source_t *source, int k,
                              int64_t pre, int64_t size, spmd_axes_t *out_axes) {
  int64_t end = pre * size, covered = 1;
  *out_axes = (spmd_axes_t){0, NULL};
  for (int i = 0; source->images && i < source->images[k].count; i++) {
    spmd_axis_t part = source->images[k].items[i], *axis;
    int64_t low = covered > pre ? covered : pre, high = covered * part.size;
    if (high > end) high = end;
    if (low < high) {
      if (low % covered || high % low)
        return hr_error(HR_UNSUPPORTED, "sub-axis (%ld)%ld is not a part of the common mesh",
                        (long)pre, (long)size);
      HR_TRY(HR_NEW(meshes->arena, &axis));
      *axis = (spmd_axis_t){part.axis, part.pre * (low / covered), high / low};
      if (part.axis >= 0)
        HR_TRY(spmd_axes_concat(meshes->arena, *out_axes, (spmd_axes_t){1, axis}, out_axes));
    }
    covered *= part.size;
  }
  return NULL;
}
