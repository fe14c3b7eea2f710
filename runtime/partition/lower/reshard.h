/* Moves an array from one sharding to another: the plan for two shardings, its cost, and its
 * instructions. */
#ifndef HR_PARTITION_LOWER_RESHARD_H
#define HR_PARTITION_LOWER_RESHARD_H

#include "partition/lower/emit.h"
#include "partition/lower/reshard_plan.h"

/* A problem of reshard_plan.h with the dimensions and axes that its numbers stand for. */
typedef struct spmd_reshard_case {
  spmd_reshard_t problem;
  int dims[SPMD_PLAN_RANK]; /* dimensions of the array */
  spmd_axis_t atoms[SPMD_MAX_ATOMS];
} spmd_reshard_case_t;

/* Makes the problem of a resharding. False if it is too large for one plan, or if sub-axes do not
 * nest: then several plans are needed. */
bool spmd_reshard_case(const hlo_shape_t *shape, const spmd_sharding_t *from,
                       const spmd_sharding_t *to, spmd_reshard_case_t *out_case);
/* Cost of resharding an array of global `shape`, in microseconds (comm_cost.h). */
double spmd_reshard_cost(const spmd_emit_t *emit, const hlo_shape_t *shape,
                         const spmd_sharding_t *from, const spmd_sharding_t *to);
/* Reshards x, of global shape `shape`, from `from` to `to`. Unreduced axes that `to` lacks are
 * reduced by `reducer`. */
hlo_instr_t *spmd_emit_reshard(spmd_emit_t *emit, hlo_instr_t *x, const hlo_shape_t *shape,
                               const spmd_sharding_t *from, const spmd_sharding_t *to,
                               hlo_opcode_t reducer);

/* `axes` followed by `axis`, merged; unlike in spmd_axes_concat, `axis` is copied. Errors:
 * NO_MEMORY. */
hr_status_t spmd_axes_append(hr_arena_t *arena, spmd_axes_t axes, spmd_axis_t axis,
                             spmd_axes_t *out_axes);
/* Makes a closed sharding from `rank` lists of axes. */
hr_status_t spmd_sharding_make(hr_arena_t *arena, const spmd_mesh_t *mesh, int rank,
                               const spmd_axes_t *dims, spmd_axes_t unreduced,
                               const spmd_sharding_t **out_sharding);

#endif
