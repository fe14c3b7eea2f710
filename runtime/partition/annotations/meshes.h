/* The meshes of a program and the common mesh that replaces them. Each mesh of the program is a
 * source; the image of each of its axes is a list of axes of the common mesh. A tile grid of a
 * GSPMD sharding is a source, too: its axes are the tile dimensions.
 *
 *   @a = ["x"=8], @b = ["y"=4, "z"=2]   ->   mesh of [4, 2]; x is (y, z)
 *
 * A foreign mesh has the same devices, but its axes are no ranges of the common mesh. Its images
 * are stand-ins: axes of the common mesh with the same sizes. They give the right number of parts;
 * `placement` tells which device holds which part:
 *
 *   @a = ["x"=2, "y"=3], @b = ["p"=3, "q"=2]       mesh of [2, 3]; p stands for y, q for x
 *   position (x=0, y=1) is device 1; as (q=0, p=1) of @b it is device 2: placement lists
 *   0, 2, 4, 1, 3, 5
 *
 * A world of fewer processes than the mesh keeps some axes, or parts of them; the others have no
 * image. */
#ifndef HR_PARTITION_MESHES_H
#define HR_PARTITION_MESHES_H

#include "base/scan_text.h"
#include "partition/program.h"

typedef struct spmd_mesh_source {
  hr_str_t name; /* name, or text of an inline mesh; empty: a tile grid */
  int axis_count;
  const hr_str_t *axis_names; /* NULL: a tile grid */
  const int64_t *axis_sizes;
  const int64_t *device_ids; /* by position; NULL: the position */
  int64_t device_count;
  int64_t device;               /* the device of a maximal mesh; -1: not maximal */
  bool is_used;                 /* a sharding names one of its axes, or a manual computation it */
  bool is_foreign;              /* does not fit beside the others: images are stand-ins */
  const spmd_mesh_t *placement; /* foreign mesh: common axes with its devices; NULL: not foreign */
  const spmd_axes_t *images;    /* by axis; pieces of axis -1 were dropped */
} spmd_mesh_source_t;

typedef struct spmd_meshes {
  hr_arena_t *arena;
  HR_VEC(spmd_mesh_source_t) sources;
  const spmd_mesh_t *mesh; /* NULL: no source has several devices */
} spmd_meshes_t;

/* Reads {mesh = #sdy.mesh<["a"=2, "b"=4], device_ids=[...]>, ...}; `source` is the program's text,
 * for places in messages. Errors: INVALID. */
hr_status_t spmd_meshes_read(spmd_meshes_t *meshes, hr_str_t text, const hr_source_t *source);
/* Reads ["a"=2] with its device_ids, without brackets around. Errors: INVALID. */
hr_status_t spmd_meshes_read_one(spmd_meshes_t *meshes, hr_scan_t *scan, hr_str_t name);
/* Reads data=4,model=2 of --mesh. Errors: USAGE. */
hr_status_t spmd_meshes_read_option(spmd_meshes_t *meshes, const char *text);
/* Gives all used meshes the axes of `like`, which have other sizes. False, without a change, if no
 * mesh is used, or if `like` lacks one of their axes. */
bool spmd_meshes_resize(spmd_meshes_t *meshes, const spmd_mesh_source_t *like);
/* The first axis of a used mesh that `like` lacks; NULL: it has all. */
const hr_str_t *spmd_meshes_missing_axis(const spmd_meshes_t *meshes,
                                         const spmd_mesh_source_t *like);
/* The source for the grid of a tiled sharding or the mesh of a named one, added if it is new; -1:
 * the sharding cuts nothing. Errors: NO_MEMORY; INVALID for device lists that are no permutation.
 */
hr_status_t spmd_meshes_add_hlo(spmd_meshes_t *meshes, const hlo_sharding_t *sharding,
                                int *out_source);
/* Index of a source by name; -1. */
int spmd_meshes_find(const spmd_meshes_t *meshes, hr_str_t name);
/* Index of an axis by name; -1: the source has none of that name, or no names at all. */
int spmd_source_axis(const spmd_mesh_source_t *source, hr_str_t name);

/* Makes the common mesh for a world of `device_count` processes (0: the number of the meshes).
 * Errors: USAGE if the meshes do not fit the world, or may not be reduced to it (`is_fixed`);
 * UNSUPPORTED for meshes of different numbers of devices. */
hr_status_t spmd_meshes_join(spmd_meshes_t *meshes, int64_t device_count, bool is_fixed);

/* Axis k of the source, or its sub-axis (pre)size, on the common mesh. Errors: UNSUPPORTED if its
 * cut is not one of the common mesh. */
hr_status_t spmd_meshes_image(const spmd_meshes_t *meshes, const spmd_mesh_source_t *source, int k,
                              int64_t pre, int64_t size, spmd_axes_t *out_axes);
void spmd_meshes_deinit(spmd_meshes_t *meshes);

#endif
