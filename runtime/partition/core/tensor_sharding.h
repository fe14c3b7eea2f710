/* The partitioner's form of the sharding of one array: a list of mesh axes for each dimension.
 * A dimension of size D cut by axes of n parts has parts of ceil(D / n) elements; the last ones may
 * be short or empty. Every form in which programs write shardings (sdy, GSPMD V1, V2, V3) is turned
 * into this one on entry.
 * Shardings are immutable and live in the program's arena; NULL stands for "nothing said": all
 * dimensions open, on no mesh.
 * Source: Shardy's dialect, TensorShardingAttr.
 *
 *   f32[10, 8] on ["d"=4, "m"=2], cut as [{"d"}, {"m"}]      local shape f32[3, 4]
 *   rows   d = 0: 0 1 2   d = 1: 3 4 5   d = 2: 6 7 8   d = 3: 9 . .
 *
 * The places marked by points are padding with undefined contents. An operation that would let them
 * reach a valid element masks them first. */
#ifndef HR_PARTITION_TENSOR_SHARDING_H
#define HR_PARTITION_TENSOR_SHARDING_H

#include "ir/sharding.h"
#include "partition/core/axes.h"

#define SPMD_NO_PRIORITY (-1) /* no priority given: treated as 0, not printed */

typedef struct spmd_dim {
  spmd_axes_t axes;
  bool open;    /* propagation may append axes */
  int priority; /* 0 or more, propagated in ascending order; or SPMD_NO_PRIORITY */
} spmd_dim_t;

typedef enum spmd_reduction { SPMD_SUM, SPMD_MAX, SPMD_MIN } spmd_reduction_t;

typedef struct spmd_sharding {
  const spmd_mesh_t *mesh;
  int64_t device; /* the one device of a maximal sharding; -1: tiled */
  int rank;
  const spmd_dim_t *dims;
  spmd_axes_t replicated;     /* in mesh order; not available to propagation */
  spmd_axes_t unreduced;      /* in mesh order; the value is the reduction over these parts */
  spmd_reduction_t reduction; /* reduction over the unreduced axes */
  /* Set by the reader: the axes of `mesh` with other devices, if the sharding's own mesh does not
   * fit beside the program's and puts parts on other devices than `mesh` does; else NULL. */
  const spmd_mesh_t *placement;
} spmd_sharding_t;

/* Closed and cut nowhere. Errors: NO_MEMORY. */
hr_status_t spmd_sharding_replicated(hr_arena_t *arena, const spmd_mesh_t *mesh, int rank,
                                     const spmd_sharding_t **out_sharding);
/* A copy with other axes for dimension d. Errors: NO_MEMORY. */
hr_status_t spmd_sharding_with_dim(hr_arena_t *arena, const spmd_sharding_t *sharding, int d,
                                   spmd_axes_t axes, const spmd_sharding_t **out_sharding);
/* True if cuts and unreduced axes are equal; openness, priorities and replicated axes may differ.
 */
bool spmd_sharding_same_layout(const spmd_sharding_t *a, const spmd_sharding_t *b);
bool spmd_sharding_equal(const spmd_sharding_t *a, const spmd_sharding_t *b);
/* True if every device holds the whole, reduced value; true for NULL. */
bool spmd_sharding_is_replicated(const spmd_sharding_t *sharding);

/* Number of parts of dimension d; 1 for NULL. */
int64_t spmd_sharding_parts(const spmd_sharding_t *sharding, int d);
/* Size of dimension d on one device: ceil(size / parts). */
int64_t spmd_local_size(const spmd_sharding_t *sharding, int d, int64_t size);
/* Bytes on one device. */
double spmd_local_bytes(const spmd_sharding_t *sharding, const hlo_shape_t *shape);
/* Shape on one device; dtype and layout order are kept. Errors: NO_MEMORY. */
hr_status_t spmd_local_shape(hr_arena_t *arena, const spmd_sharding_t *sharding,
                             const hlo_shape_t *shape, const hlo_shape_t **out_shape);
/* All axes that cut a dimension or are unreduced, in mesh order. Errors: NO_MEMORY. */
hr_status_t spmd_sharding_used_axes(hr_arena_t *arena, const spmd_sharding_t *sharding,
                                    spmd_axes_t *out_axes);

/* Checks a sharding against a shape: same rank; axes known and used once; sizes of sub-axes divide
 * their axis. Errors: INVALID with what was found and wanted. */
hr_status_t spmd_sharding_check(const spmd_sharding_t *sharding, const hlo_shape_t *shape);
/* The error for a sharding of `found` dimensions where the value has `rank`. */
hr_status_t spmd_wrong_rank(int found, int rank);

/* Converts a sharding to the named form of the IR (ir/sharding.h). */
hr_status_t spmd_sharding_to_hlo(hr_arena_t *arena, const spmd_sharding_t *sharding,
                                 const hlo_sharding_t **out_sharding);
/* Prints a sharding as Shardy does: "<@mesh, [{"a"}, {?}], replicated={"b"}>". */
void spmd_sharding_print(hr_strbuf_t *text, const spmd_sharding_t *sharding);

#endif
