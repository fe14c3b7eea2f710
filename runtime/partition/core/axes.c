/* Lists of mesh axes. An axis reference covers the range [pre, pre * size) of the factors of its
 * axis, so that overlaps, continuations and beginnings are comparisons of ranges. Lists are built
 * in a growing buffer that merges each new reference with the last one, which makes them canonical.
 * Cost: linear in the lists, quadratic only where axes are subtracted; lists have few members.
 * Not handled: two sub-axes of one axis whose sizes do not nest ((1)2 and (3)2 of 6). */
#include "partition/core/axes.h"

hr_status_t spmd_mesh_axes(hr_arena_t *arena, const spmd_mesh_t *mesh, spmd_axes_t *out_axes) {
  spmd_axis_t *items;
  int count = mesh ? mesh->axis_count : 0;
  HR_TRY(HR_NEW_ARRAY(arena, count + 1, &items));
  for (int a = 0; a < count; a++) items[a] = spmd_whole_axis(mesh, a);
  *out_axes = (spmd_axes_t){count, items};
  return NULL;
}

bool spmd_axis_equal(spmd_axis_t a, spmd_axis_t b) {
  return a.axis == b.axis && a.pre == b.pre && a.size == b.size;
}

/* True if the ranges [pre, pre * size) meet: x:(1)4 and x:(2)2 do, x:(1)2 and x:(2)2 do not. */
bool spmd_axis_overlaps(spmd_axis_t a, spmd_axis_t b) {
  return a.axis == b.axis && a.pre < b.pre * b.size && b.pre < a.pre * a.size;
}

/* True if `a` is b or a major part of it. */
static bool is_major_part(spmd_axis_t a, spmd_axis_t b) {
  return a.axis == b.axis && a.pre == b.pre && b.size % a.size == 0;
}

/* {"a", "b":(1)2} on ["a"=3, "b"=4] makes 6 parts. */
int64_t spmd_axes_parts(spmd_axes_t axes) {
  int64_t parts = 1;
  for (int i = 0; i < axes.count; i++) parts *= axes.items[i].size;
  return parts;
}

bool spmd_axes_equal(spmd_axes_t a, spmd_axes_t b) {
  if (a.count != b.count) return false;
  if (a.items == b.items) return true;
  for (int i = 0; i < a.count; i++)
    if (!spmd_axis_equal(a.items[i], b.items[i])) return false;
  return true;
}

bool spmd_axes_overlap(spmd_axes_t a, spmd_axes_t b) {
  for (int i = 0; i < a.count; i++)
    for (int k = 0; k < b.count; k++)
      if (spmd_axis_overlaps(a.items[i], b.items[k])) return true;
  return false;
}

/* Only the last member of a prefix may be a part of an axis: in a canonical list the rest of that
 * axis would have to follow, and be merged with it. */
bool spmd_axes_is_prefix(spmd_axes_t prefix, spmd_axes_t axes) {
  int last = prefix.count - 1;
  if (last < 0) return true;
  if (prefix.count > axes.count) return false;
  for (int i = 0; i < last; i++)
    if (!spmd_axis_equal(prefix.items[i], axes.items[i])) return false;
  return is_major_part(prefix.items[last], axes.items[last]);
}

/* --- building --- */

typedef struct axes_builder {
  hr_arena_t *arena;
  spmd_axis_t *items;
  int count, capacity;
} axes_builder_t;

static hr_status_t grow(axes_builder_t *builder) {
  int capacity = builder->capacity ? 2 * builder->capacity : 4;
  spmd_axis_t *items;
  HR_TRY(HR_NEW_ARRAY(builder->arena, capacity, &items));
  for (int i = 0; i < builder->count; i++) items[i] = builder->items[i];
  builder->items = items;
  builder->capacity = capacity;
  return NULL;
}

/* Appends an axis and makes the list canonical: "x":(1)2 followed by "x":(2)2 becomes "x":(1)4. The
 * builder's members are copies, so that merging changes no other sharding's list. */
static hr_status_t append(axes_builder_t *builder, spmd_axis_t axis) {
  if (axis.size == 1) return NULL;
  spmd_axis_t *last = builder->count ? &builder->items[builder->count - 1] : NULL;
  if (last && last->axis == axis.axis && last->pre * last->size == axis.pre) {
    last->size *= axis.size;
    return NULL;
  }
  if (builder->count == builder->capacity) HR_TRY(grow(builder));
  builder->items[builder->count++] = axis;
  return NULL;
}

/* Members of `axes` may continue the builder's last one, or each other. */
static hr_status_t append_all(axes_builder_t *builder, spmd_axes_t axes) {
  for (int i = 0; i < axes.count; i++) HR_TRY(append(builder, axes.items[i]));
  return NULL;
}

static spmd_axes_t built(const axes_builder_t *builder) {
  return (spmd_axes_t){builder->count, builder->items};
}

hr_status_t spmd_axes_concat(hr_arena_t *arena, spmd_axes_t a, spmd_axes_t b,
                             spmd_axes_t *out_axes) {
  axes_builder_t builder = {.arena = arena};
  if (!a.count || !b.count) {
    *out_axes = a.count ? a : b;
    return NULL;
  }
  HR_TRY(append_all(&builder, a));
  HR_TRY(append_all(&builder, b));
  *out_axes = built(&builder);
  return NULL;
}

/* The rest of `axis` after its major part `major`. */
static spmd_axis_t minor_rest(spmd_axis_t axis, spmd_axis_t major) {
  return (spmd_axis_t){axis.axis, axis.pre * major.size, axis.size / major.size};
}

hr_status_t spmd_axes_drop_prefix(hr_arena_t *arena, spmd_axes_t axes, spmd_axes_t prefix,
                                  spmd_axes_t *out_axes) {
  axes_builder_t builder = {.arena = arena};
  int last = prefix.count - 1;
  if (last < 0) {
    *out_axes = axes;
    return NULL;
  }
  HR_TRY(append(&builder, minor_rest(axes.items[last], prefix.items[last])));
  for (int i = prefix.count; i < axes.count; i++) HR_TRY(append(&builder, axes.items[i]));
  *out_axes = built(&builder);
  return NULL;
}

/* Appends the parts of `axis` in front of and after the first removed reference that overlaps it;
 * a part whose size does not divide is left out.
 *
 *   axis   [pre ............................ end)      e.g. x, of size 8
 *   hole           [pre ... hole_end)                  x:(2)2
 *   left   [front)                   [back .... )      x:(1)2, x:(4)2
 *
 * The rest is tried against the removed references that follow. */
static hr_status_t append_rest(axes_builder_t *builder, spmd_axis_t axis, spmd_axes_t removed) {
  int i = 0;
  while (i < removed.count && !spmd_axis_overlaps(axis, removed.items[i])) i++;
  if (i == removed.count) return append(builder, axis);
  spmd_axis_t hole = removed.items[i];
  spmd_axes_t others = {removed.count - i - 1, removed.items + i + 1};
  int64_t end = axis.pre * axis.size, hole_end = hole.pre * hole.size;
  if (hole.pre > axis.pre && hole.pre % axis.pre == 0) {
    spmd_axis_t front = {axis.axis, axis.pre, hole.pre / axis.pre};
    HR_TRY(append_rest(builder, front, others));
  }
  if (hole_end < end && end % hole_end == 0) {
    spmd_axis_t back = {axis.axis, hole_end, end / hole_end};
    HR_TRY(append_rest(builder, back, others));
  }
  return NULL;
}

hr_status_t spmd_axes_subtract(hr_arena_t *arena, spmd_axes_t axes, spmd_axes_t removed,
                               spmd_axes_t *out_axes) {
  axes_builder_t builder = {.arena = arena};
  if (!spmd_axes_overlap(axes, removed)) {
    *out_axes = axes;
    return NULL;
  }
  for (int i = 0; i < axes.count; i++) HR_TRY(append_rest(&builder, axes.items[i], removed));
  *out_axes = built(&builder);
  return NULL;
}

/* By axis, then the major parts of an axis first. */
static bool comes_before(spmd_axis_t a, spmd_axis_t b) {
  return a.axis != b.axis ? a.axis < b.axis : a.pre < b.pre;
}

hr_status_t spmd_axes_sort(hr_arena_t *arena, spmd_axes_t axes, spmd_axes_t *out_axes) {
  axes_builder_t builder = {.arena = arena};
  spmd_axis_t *sorted;
  HR_TRY(HR_NEW_ARRAY(arena, axes.count + 1, &sorted));
  for (int i = 0; i < axes.count; i++) {
    int at = i;
    for (; at > 0 && comes_before(axes.items[i], sorted[at - 1]); at--) sorted[at] = sorted[at - 1];
    sorted[at] = axes.items[i];
  }
  HR_TRY(append_all(&builder, (spmd_axes_t){axes.count, sorted}));
  *out_axes = built(&builder);
  return NULL;
}

/* --- devices --- */

/* Distance of positions whose coordinates along the reference differ by 1: the product of the sizes
 * of all less significant parts. */
static int64_t axis_stride(const spmd_mesh_t *mesh, spmd_axis_t axis) {
  int64_t stride = mesh->axis_sizes[axis.axis] / (axis.pre * axis.size);
  for (int a = axis.axis + 1; a < mesh->axis_count; a++) stride *= mesh->axis_sizes[a];
  return stride;
}

/* The coordinate is a mixed-radix number whose most significant digit is the first axis: along
 * {"b", "a"} of ["a"=2, "b"=4] position 6, which is a = 1, b = 2, has coordinate 2 * 2 + 1 = 5. */
int64_t spmd_axes_coordinate(const spmd_mesh_t *mesh, spmd_axes_t axes, int64_t position) {
  int64_t coordinate = 0;
  for (int i = 0; i < axes.count; i++) {
    spmd_axis_t axis = axes.items[i];
    coordinate = coordinate * axis.size + position / axis_stride(mesh, axis) % axis.size;
  }
  return coordinate;
}

/* The position with all coordinates of the list set to 0. */
static int64_t group_base(const spmd_mesh_t *mesh, spmd_axes_t axes, int64_t position) {
  int64_t base = position;
  for (int i = 0; i < axes.count; i++) {
    int64_t stride = axis_stride(mesh, axes.items[i]);
    base -= position / stride % axes.items[i].size * stride;
  }
  return base;
}

/* Groups are in the order of their smallest positions. */
hr_status_t spmd_axes_groups(hr_arena_t *arena, const spmd_mesh_t *mesh, spmd_axes_t axes,
                             int64_t **out_positions) {
  int64_t *positions, *group_of, parts = spmd_axes_parts(axes), groups = 0;
  HR_TRY(HR_NEW_ARRAY(arena, mesh->device_count, &positions));
  HR_TRY(HR_NEW_ARRAY(arena, mesh->device_count, &group_of));
  for (int64_t p = 0; p < mesh->device_count; p++) {
    int64_t base = group_base(mesh, axes, p); /* at most p: its group is known */
    if (base == p) group_of[p] = groups++;
    positions[group_of[base] * parts + spmd_axes_coordinate(mesh, axes, p)] = p;
  }
  *out_positions = positions;
  return NULL;
}

int64_t spmd_mesh_device(const spmd_mesh_t *mesh, int64_t position) {
  return mesh->device_ids ? mesh->device_ids[position] : position;
}

/* A linear search: device lists are rare, and so are such queries. */
int64_t spmd_mesh_position(const spmd_mesh_t *mesh, int64_t device) {
  if (device < 0 || device >= mesh->device_count) return -1;
  if (!mesh->device_ids) return device;
  for (int64_t p = 0; p < mesh->device_count; p++)
    if (mesh->device_ids[p] == device) return p;
  return -1;
}

bool spmd_mesh_equal(const spmd_mesh_t *a, const spmd_mesh_t *b) {
  if (a == b) return true;
  if (a->axis_count != b->axis_count || a->device_count != b->device_count) return false;
  for (int k = 0; k < a->axis_count; k++)
    if (a->axis_sizes[k] != b->axis_sizes[k] || !hr_str_equal(a->axis_names[k], b->axis_names[k]))
      return false;
  for (int64_t p = 0; p < a->device_count && (a->device_ids || b->device_ids); p++)
    if (spmd_mesh_device(a, p) != spmd_mesh_device(b, p)) return false;
  return true;
}
