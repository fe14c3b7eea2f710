/* Mesh axes as ranges of device numbers, and the bounds of those ranges, from which the common mesh
 * is made. */
#ifndef HR_PARTITION_AXIS_RANGES_H
#define HR_PARTITION_AXIS_RANGES_H

#include "partition/annotations/meshes.h"

#define SPMD_MAX_PIECES 64 /* most prime factors of all axes of one mesh; sizes are below 2^20 */

/* A part of an axis and its stride in device numbers. */
typedef struct spmd_axis_piece {
  int axis;
  int64_t stride, size;
} spmd_axis_piece_t;

typedef struct spmd_axis_pieces {
  int count;
  spmd_axis_piece_t items[SPMD_MAX_PIECES]; /* the major first */
} spmd_axis_pieces_t;

/* Bounds of ranges. Each two neighbours bound an axis of the common mesh. */
typedef struct spmd_cuts {
  int count;
  int64_t items[SPMD_MAX_PIECES + 2]; /* ascending, each divides the next */
} spmd_cuts_t;

int64_t spmd_smallest_prime(int64_t n);
/* Device at a position of the source. */
int64_t spmd_source_device(const spmd_mesh_source_t *source, int64_t position);
/* The axes of a source as ranges of places, the major first. `places`: by device, its position in
 * the common order; NULL: the device number. False if some axis has no constant stride. */
bool spmd_axis_pieces_of(const spmd_mesh_source_t *source, const int64_t *places,
                         spmd_axis_pieces_t *out_pieces);
/* Collects the cuts of all sources that fit together; marks the others as foreign and returns their
 * number. */
int spmd_collect_cuts(const spmd_meshes_t *meshes, int64_t devices, const int64_t *places,
                      spmd_cuts_t *out_cuts);
/* Finds the order of devices that leaves the fewest sources foreign, and its inverse; NULL: the
 * order of device numbers. Errors: NO_MEMORY. */
hr_status_t spmd_choose_order(const spmd_meshes_t *meshes, int64_t devices, const int64_t **out_ids,
                              const int64_t **out_places);

#endif
