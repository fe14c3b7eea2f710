/* Device meshes and lists of their axes: the coordinates in which shardings are written.
 * A mesh is a row-major box of named axes; position q of the box holds device device_ids[q], or q.
 * An axis reference is a whole axis or a sub-axis: axis x of size N seen as [pre, size, N / (pre *
 * size)], of which it is the middle. Lists are immutable, live in an arena and are canonical: no
 * reference of size 1, no two adjacent sub-axes that continue each other. Equal lists are therefore
 * equal member by member.
 * Source: Shardy's dialect, MeshAttr and AxisRefAttr.
 *
 *   mesh ["a"=2, "b"=4]          b = 0  1  2  3
 *                        a = 0      0  1  2  3      position q = 4 * a + b
 *                        a = 1      4  5  6  7
 *
 *   groups along "b":(1)2        {0, 2} {1, 3} {4, 6} {5, 7}
 *   groups along "b", "a"        {0, 4, 1, 5, 2, 6, 3, 7}: a is the less significant one */
#ifndef HR_PARTITION_AXES_H
#define HR_PARTITION_AXES_H

#include "base/arena.h"
#include "base/status.h"
#include "base/text.h"

#define SPMD_MAX_AXES 32 /* in one mesh */

typedef struct spmd_mesh {
  hr_str_t name;
  int axis_count;
  const hr_str_t *axis_names;
  const int64_t *axis_sizes; /* each at least 2: axes of size 1 are removed on entry */
  int64_t device_count;      /* product of the sizes; 1 for the empty mesh */
  const int64_t *device_ids; /* by position; NULL: the position itself */
} spmd_mesh_t;

/* A range of the factors of one axis. Reference {x, 2, 2} to an axis "x" of size 8 is written
 * "x":(2)2 and is the middle of the box [2, 2, 2]: a device with x = 6, in binary 110, has
 * coordinate 1 along it. */
typedef struct spmd_axis {
  int axis;     /* index in the mesh */
  int64_t pre;  /* product of the sizes of this axis's more significant parts; 1: none */
  int64_t size; /* at least 2 */
} spmd_axis_t;

typedef struct spmd_axes {
  int count;
  const spmd_axis_t *items; /* the most significant first */
} spmd_axes_t;

/* Whole axis k of the mesh. */
static inline spmd_axis_t spmd_whole_axis(const spmd_mesh_t *mesh, int k) {
  return (spmd_axis_t){k, 1, mesh->axis_sizes[k]};
}
/* All axes of the mesh; none for NULL. Errors: NO_MEMORY. */
hr_status_t spmd_mesh_axes(hr_arena_t *arena, const spmd_mesh_t *mesh, spmd_axes_t *out_axes);
bool spmd_axis_equal(spmd_axis_t a, spmd_axis_t b);
/* True if some device coordinate belongs to both. */
bool spmd_axis_overlaps(spmd_axis_t a, spmd_axis_t b);

/* Number of parts that the list makes: the product of the sizes. */
int64_t spmd_axes_parts(spmd_axes_t axes);
bool spmd_axes_equal(spmd_axes_t a, spmd_axes_t b);
bool spmd_axes_overlap(spmd_axes_t a, spmd_axes_t b);
/* True if `prefix` is the beginning of `axes`; a major sub-axis counts as the beginning of its
 * axis. */
bool spmd_axes_is_prefix(spmd_axes_t prefix, spmd_axes_t axes);
/* a followed by b, merged into canonical form. Errors: NO_MEMORY. */
hr_status_t spmd_axes_concat(hr_arena_t *arena, spmd_axes_t a, spmd_axes_t b,
                             spmd_axes_t *out_axes);
/* `axes` without its beginning `prefix` (spmd_axes_is_prefix holds). Errors: NO_MEMORY. */
hr_status_t spmd_axes_drop_prefix(hr_arena_t *arena, spmd_axes_t axes, spmd_axes_t prefix,
                                  spmd_axes_t *out_axes);
/* The parts of `axes` that overlap no member of `removed`, in their order. Errors: NO_MEMORY. */
hr_status_t spmd_axes_subtract(hr_arena_t *arena, spmd_axes_t axes, spmd_axes_t removed,
                               spmd_axes_t *out_axes);
/* Sorts the axes in mesh order and merges them: the form of replicated and unreduced axes.
 * Errors: NO_MEMORY. */
hr_status_t spmd_axes_sort(hr_arena_t *arena, spmd_axes_t axes, spmd_axes_t *out_axes);

/* Coordinate along the list, 0 .. parts - 1, of the device at `position` of the mesh. */
int64_t spmd_axes_coordinate(const spmd_mesh_t *mesh, spmd_axes_t axes, int64_t position);
/* Groups of devices that differ only along the list, as positions: `position[g * parts + i]` is
 * member i (in order of the list) of group g. Errors: NO_MEMORY. Cost: one entry per device. */
hr_status_t spmd_axes_groups(hr_arena_t *arena, const spmd_mesh_t *mesh, spmd_axes_t axes,
                             int64_t **out_positions);

/* Device at a position, and back (-1: not in the mesh). */
int64_t spmd_mesh_device(const spmd_mesh_t *mesh, int64_t position);
int64_t spmd_mesh_position(const spmd_mesh_t *mesh, int64_t device);
bool spmd_mesh_equal(const spmd_mesh_t *a, const spmd_mesh_t *b); /* names apart */

#endif
