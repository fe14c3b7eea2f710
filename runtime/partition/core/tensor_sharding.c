/* Shardings of arrays: constructors, comparisons, local sizes, the check against a shape, and the
 * two written forms. The named form of the IR has no priorities; the text has. Cost: linear in rank
 * and axes; the check compares every pair of references of a sharding. */
#include "partition/core/tensor_sharding.h"

/* All dimensions closed and without axes. */
hr_status_t spmd_sharding_replicated(hr_arena_t *arena, const spmd_mesh_t *mesh, int rank,
                                     const spmd_sharding_t **out_sharding) {
  spmd_sharding_t *sharding;
  spmd_dim_t *dims;
  HR_TRY(HR_NEW(arena, &sharding));
  HR_TRY(HR_NEW_ARRAY(arena, rank, &dims));
  for (int d = 0; d < rank; d++) dims[d].priority = SPMD_NO_PRIORITY;
  *sharding = (spmd_sharding_t){.mesh = mesh, .device = -1, .rank = rank, .dims = dims};
  *out_sharding = sharding;
  return NULL;
}

/* The dimension keeps its openness and priority. */
hr_status_t spmd_sharding_with_dim(hr_arena_t *arena, const spmd_sharding_t *sharding, int d,
                                   spmd_axes_t axes, const spmd_sharding_t **out_sharding) {
  spmd_sharding_t *copy;
  spmd_dim_t *dims;
  HR_TRY(HR_NEW(arena, &copy));
  HR_TRY(HR_NEW_ARRAY(arena, sharding->rank, &dims));
  for (int k = 0; k < sharding->rank; k++) dims[k] = sharding->dims[k];
  dims[d].axes = axes;
  *copy = *sharding;
  copy->dims = dims;
  *out_sharding = copy;
  return NULL;
}

/* The axes of dimension d; none for NULL and for dimensions beyond the rank, so that values of rank
 * 0 can be compared. */
static spmd_axes_t dim_axes(const spmd_sharding_t *sharding, int d) {
  return sharding && d < sharding->rank ? sharding->dims[d].axes : (spmd_axes_t){0, NULL};
}
static spmd_axes_t unreduced_axes(const spmd_sharding_t *sharding) {
  return sharding ? sharding->unreduced : (spmd_axes_t){0, NULL};
}
/* The device of a maximal sharding; -1: not maximal. */
static int64_t only_device(const spmd_sharding_t *sharding) {
  return sharding ? sharding->device : -1;
}
static int rank_of(const spmd_sharding_t *sharding) { return sharding ? sharding->rank : 0; }

/* True if the meshes are equal; the meshes of replicated values do not matter. */
static bool same_mesh(const spmd_sharding_t *a, const spmd_sharding_t *b) {
  if (spmd_sharding_is_replicated(a) && spmd_sharding_is_replicated(b)) return true;
  return a && b && a->mesh && b->mesh && spmd_mesh_equal(a->mesh, b->mesh);
}

bool spmd_sharding_same_layout(const spmd_sharding_t *a, const spmd_sharding_t *b) {
  int rank = rank_of(a) > rank_of(b) ? rank_of(a) : rank_of(b);
  if (a == b) return true;
  if (only_device(a) != only_device(b)) return false;
  if (only_device(a) >= 0) return true;
  for (int d = 0; d < rank; d++)
    if (!spmd_axes_equal(dim_axes(a, d), dim_axes(b, d))) return false;
  if (!spmd_axes_equal(unreduced_axes(a), unreduced_axes(b))) return false;
  if (unreduced_axes(a).count && a->reduction != b->reduction) return false;
  return same_mesh(a, b);
}

/* Compares layout, openness and priorities; names of meshes may differ. */
bool spmd_sharding_equal(const spmd_sharding_t *a, const spmd_sharding_t *b) {
  if (a == b) return true;
  if (!a || !b || a->rank != b->rank || !spmd_sharding_same_layout(a, b)) return false;
  for (int d = 0; d < a->rank; d++)
    if (a->dims[d].open != b->dims[d].open || a->dims[d].priority != b->dims[d].priority)
      return false;
  return spmd_axes_equal(a->replicated, b->replicated);
}

bool spmd_sharding_is_replicated(const spmd_sharding_t *sharding) {
  if (!sharding) return true;
  if (sharding->device >= 0 || sharding->unreduced.count) return false;
  for (int d = 0; d < sharding->rank; d++)
    if (sharding->dims[d].axes.count) return false;
  return true;
}

int64_t spmd_sharding_parts(const spmd_sharding_t *sharding, int d) {
  return spmd_axes_parts(dim_axes(sharding, d));
}

/* ceil(size / parts): 10 in 4 parts is 3, 3, 3 and 1, each held as 3; 9 in 8 parts is 2 for four
 * parts, 1 for one, and nothing for three. */
int64_t spmd_local_size(const spmd_sharding_t *sharding, int d, int64_t size) {
  int64_t parts = spmd_sharding_parts(sharding, d);
  return size / parts + (size % parts != 0);
}

double spmd_local_bytes(const spmd_sharding_t *sharding, const hlo_shape_t *shape) {
  double bytes = (double)hr_dtype_bytes(shape->dtype);
  for (int d = 0; d < shape->rank; d++)
    bytes *= (double)spmd_local_size(sharding, d, shape->dims[d]);
  return bytes;
}

/* Returns `shape` itself if nothing is cut. */
hr_status_t spmd_local_shape(hr_arena_t *arena, const spmd_sharding_t *sharding,
                             const hlo_shape_t *shape, const hlo_shape_t **out_shape) {
  hlo_shape_t *local;
  int64_t *dims;
  if (!hlo_shape_is_array(shape) || spmd_sharding_is_replicated(sharding)) {
    *out_shape = shape;
    return NULL;
  }
  HR_TRY(HR_NEW(arena, &local));
  HR_TRY(HR_NEW_ARRAY(arena, shape->rank, &dims));
  for (int d = 0; d < shape->rank; d++) dims[d] = spmd_local_size(sharding, d, shape->dims[d]);
  *local = *shape;
  local->dims = dims;
  *out_shape = local;
  return NULL;
}

/* Members are copied into one list, which is then sorted and merged. */
hr_status_t spmd_sharding_used_axes(hr_arena_t *arena, const spmd_sharding_t *sharding,
                                    spmd_axes_t *out_axes) {
  int count = unreduced_axes(sharding).count;
  spmd_axis_t *items;
  for (int d = 0; d < rank_of(sharding); d++) count += sharding->dims[d].axes.count;
  HR_TRY(HR_NEW_ARRAY(arena, count + 1, &items));
  count = 0;
  for (int d = 0; d < rank_of(sharding); d++)
    for (int i = 0; i < sharding->dims[d].axes.count; i++)
      items[count++] = sharding->dims[d].axes.items[i];
  for (int i = 0; i < unreduced_axes(sharding).count; i++)
    items[count++] = sharding->unreduced.items[i];
  return spmd_axes_sort(arena, (spmd_axes_t){count, items}, out_axes);
}

/* --- check --- */

/* A whole axis by its name, a sub-axis as "x":(2)4. */
static void print_axis(hr_strbuf_t *text, const spmd_mesh_t *mesh, spmd_axis_t axis) {
  hr_strbuf_printf(text, "\"%.*s\"", HR_STR_ARGS(mesh->axis_names[axis.axis]));
  if (axis.size != mesh->axis_sizes[axis.axis])
    hr_strbuf_printf(text, ":(%ld)%ld", (long)axis.pre, (long)axis.size);
}

/* Names the axis as the program writes it. */
static hr_status_t bad_axis(const spmd_sharding_t *sharding, spmd_axis_t axis, const char *what) {
  hr_strbuf_t text;
  hr_strbuf_init(&text);
  print_axis(&text, sharding->mesh, axis);
  hr_status_t st = hr_strbuf_finish(&text);
  if (!st) st = hr_error(HR_INVALID, "axis %s %s", text.data, what);
  hr_strbuf_deinit(&text);
  return st;
}

/* Checks that pre * size divides the size of the axis. Division comes before multiplication, as
 * sizes read from a file may be of any magnitude. */
static hr_status_t check_axis(const spmd_sharding_t *sharding, spmd_axis_t axis) {
  const spmd_mesh_t *mesh = sharding->mesh;
  if (!mesh || axis.axis < 0 || axis.axis >= mesh->axis_count)
    return hr_error(HR_INVALID, "axis %d of a mesh of %d axes", axis.axis,
                    mesh ? mesh->axis_count : 0);
  int64_t size = mesh->axis_sizes[axis.axis];
  if (axis.pre < 1 || axis.size < 2 || axis.pre > size / axis.size || size % (axis.pre * axis.size))
    return hr_error(HR_INVALID, "sub-axis (%ld)%ld of axis \"%.*s\", want one that divides %ld",
                    (long)axis.pre, (long)axis.size, HR_STR_ARGS(mesh->axis_names[axis.axis]),
                    (long)size);
  return NULL;
}

/* All references of the sharding in one list: dimensions, replicated, unreduced. */
static int list_axes(const spmd_sharding_t *sharding, spmd_axis_t *items, int capacity) {
  int count = 0;
  for (int d = 0; d < sharding->rank + 2; d++) {
    spmd_axes_t axes = d == sharding->rank ? sharding->replicated : sharding->unreduced;
    if (d < sharding->rank) axes = sharding->dims[d].axes;
    for (int i = 0; i < axes.count && count < capacity; i++) items[count++] = axes.items[i];
  }
  return count;
}

/* Most references that can be disjoint: an axis of int64 size has at most 62 prime factors. */
#define MAX_REFERENCES (SPMD_MAX_AXES * 62)

hr_status_t spmd_wrong_rank(int found, int rank) {
  return hr_error(HR_INVALID, "a sharding of %d dimension%s for a value of rank %d", found,
                  found == 1 ? "" : "s", rank);
}

/* Each reference by itself, then against those before it. */
hr_status_t spmd_sharding_check(const spmd_sharding_t *sharding, const hlo_shape_t *shape) {
  spmd_axis_t items[MAX_REFERENCES + 1];
  int rank = hlo_shape_is_array(shape) ? shape->rank : 0;
  if (sharding->device >= 0) return NULL;
  if (sharding->rank != rank) return spmd_wrong_rank(sharding->rank, rank);
  int count = list_axes(sharding, items, MAX_REFERENCES + 1);
  for (int i = 0; i < count; i++) {
    HR_TRY(check_axis(sharding, items[i]));
    for (int k = 0; k < i; k++)
      if (spmd_axis_overlaps(items[i], items[k]))
        return bad_axis(sharding, items[i], "is used twice in one sharding");
  }
  return NULL;
}

/* --- written forms --- */

/* In the IR's form a whole axis has size 0; a sub-axis has its own size, and pre_size in front of
 * it. */
static hr_status_t axes_to_hlo(hr_arena_t *arena, const spmd_mesh_t *mesh, spmd_axes_t axes,
                               hlo_axes_t *out_axes) {
  hlo_axis_ref_t *refs;
  HR_TRY(HR_NEW_ARRAY(arena, axes.count, &refs));
  for (int i = 0; i < axes.count; i++) {
    spmd_axis_t axis = axes.items[i];
    refs[i] = (hlo_axis_ref_t){.axis = axis.axis};
    if (axis.size == mesh->axis_sizes[axis.axis]) continue;
    refs[i].pre_size = axis.pre;
    refs[i].size = axis.size;
  }
  *out_axes = (hlo_axes_t){axes.count, refs};
  return NULL;
}

/* The form of the IR lists devices only where they are not in order. */
static hr_status_t mesh_to_hlo(hr_arena_t *arena, const spmd_mesh_t *mesh, hlo_mesh_t *out_mesh) {
  hlo_mesh_axis_t *axes;
  HR_TRY(HR_NEW_ARRAY(arena, mesh->axis_count, &axes));
  for (int a = 0; a < mesh->axis_count; a++)
    axes[a] = (hlo_mesh_axis_t){mesh->axis_names[a], mesh->axis_sizes[a]};
  *out_mesh = (hlo_mesh_t){.axis_count = mesh->axis_count, .axes = axes};
  if (mesh->device_ids) out_mesh->device_ids = (hr_ints_t){mesh->device_ids, mesh->device_count};
  return NULL;
}

/* The IR's named form has meshes and axes, too, but no priorities. */
static hr_status_t tiled_to_hlo(hr_arena_t *arena, const spmd_sharding_t *from,
                                hlo_sharding_t *to) {
  hlo_sharding_dim_t *dims;
  HR_TRY(HR_NEW_ARRAY(arena, from->rank, &dims));
  to->kind = HLO_TILE_KIND_OTHER;
  to->named = true;
  to->dim_count = from->rank;
  to->dims = dims;
  const spmd_mesh_t *mesh = from->placement ? from->placement : from->mesh;
  if (mesh) HR_TRY(mesh_to_hlo(arena, mesh, &to->mesh));
  for (int d = 0; d < from->rank; d++) {
    HR_TRY(axes_to_hlo(arena, from->mesh, from->dims[d].axes, &dims[d].axes));
    dims[d].open = from->dims[d].open;
  }
  HR_TRY(axes_to_hlo(arena, from->mesh, from->replicated, &to->replicated_axes));
  if (from->reduction == SPMD_MAX) to->unreduced_kind = HR_STR("max");
  if (from->reduction == SPMD_MIN) to->unreduced_kind = HR_STR("min");
  return axes_to_hlo(arena, from->mesh, from->unreduced, &to->unreduced_axes);
}

/* NULL is replicated in the IR's form, too. */
hr_status_t spmd_sharding_to_hlo(hr_arena_t *arena, const spmd_sharding_t *sharding,
                                 const hlo_sharding_t **out_sharding) {
  hlo_sharding_t *copy;
  HR_TRY(HR_NEW(arena, &copy));
  copy->kind = HLO_TILE_KIND_REPLICATED;
  *out_sharding = copy;
  if (!sharding) return NULL;
  if (sharding->device < 0) return tiled_to_hlo(arena, sharding, copy);
  copy->kind = HLO_TILE_KIND_MAXIMAL;
  copy->device = sharding->device;
  return NULL;
}

/* "a", "b":(1)2 */
static void print_axes(hr_strbuf_t *text, const spmd_mesh_t *mesh, spmd_axes_t axes) {
  for (int i = 0; i < axes.count; i++) {
    if (i) hr_strbuf_add_str(text, ", ");
    print_axis(text, mesh, axes.items[i]);
  }
}

/* {"x", ?}p1 */
static void print_dim(hr_strbuf_t *text, const spmd_mesh_t *mesh, const spmd_dim_t *dim) {
  hr_strbuf_add_char(text, '{');
  print_axes(text, mesh, dim->axes);
  if (dim->open) hr_strbuf_add_str(text, dim->axes.count ? ", ?" : "?");
  hr_strbuf_add_char(text, '}');
  if (dim->priority != SPMD_NO_PRIORITY) hr_strbuf_printf(text, "p%d", dim->priority);
}

/* Empty lists are left out; sums are the unreduced kind without a name. */
void spmd_sharding_print(hr_strbuf_t *text, const spmd_sharding_t *sharding) {
  static const char *const kinds[] = {"", "max", "min"};
  hr_str_t name = sharding->mesh ? sharding->mesh->name : HR_STR("mesh");
  hr_strbuf_printf(text, "<@%.*s, [", HR_STR_ARGS(name));
  for (int d = 0; d < sharding->rank; d++) {
    if (d) hr_strbuf_add_str(text, ", ");
    print_dim(text, sharding->mesh, &sharding->dims[d]);
  }
  hr_strbuf_add_char(text, ']');
  if (sharding->replicated.count) {
    hr_strbuf_add_str(text, ", replicated={");
    print_axes(text, sharding->mesh, sharding->replicated);
    hr_strbuf_add_char(text, '}');
  }
  if (sharding->unreduced.count) {
    hr_strbuf_printf(text, ", unreduced=%s{", kinds[sharding->reduction]);
    print_axes(text, sharding->mesh, sharding->unreduced);
    hr_strbuf_add_char(text, '}');
  }
  hr_strbuf_add_char(text, '>');
}
