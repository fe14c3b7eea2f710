/* Moves an array from one sharding to another: the plan for two shardings, its cost, and its
 * instructions. */
#ifndef HR_PARTITION_LOWER_RESHARD_H
#define HR_PARTITION_LOWER_RESHARD_H

#include "partition/lower/emit.h"
#include "partition/lower/reshard_plan.h"

/* A plan's problem, with what its numbers stand for. */
typedef struct spmd_reshard_case {
  spmd_reshard_t problem;
  int dims[SPMD_PLAN_RANK]; /* of the array */
  spmd_axis_t atoms[SPMD_MAX_ATOMS];
} spmd_reshard_case_t;

/* False if it is too large for one plan, or some sub-axes do not nest: it then takes several. */
bool spmd_reshard_case(const hlo_shape_t *shape, const spmd_sharding_t *from,
                       const spmd_sharding_t *to, spmd_reshard_case_t *out_case);
/* Time of the resharding of an array of global `shape`, in microseconds as in comm_cost.h. */
double spmd_reshard_cost(const hlo_shape_t *shape, const spmd_sharding_t *from,
                         const spmd_sharding_t *to);
/* x, of global `shape` cut as `from`, cut as `to`. Unreduced axes that go are reduced by `reducer`.
 */
hlo_instr_t *spmd_emit_reshard(spmd_emit_t *emit, hlo_instr_t *x, const hlo_shape_t *shape,
                               const spmd_sharding_t *from, const spmd_sharding_t *to,
                               hlo_opcode_t reducer);

/* `axes` and one more, merged; unlike with spmd_axes_concat the axis need not stay. Errors:
 * NO_MEMORY. */
hr_status_t spmd_axes_append(hr_arena_t *arena, spmd_axes_t axes, spmd_axis_t axis,
                             spmd_axes_t *out_axes);
/* A closed sharding of these dimensions' axes; those beyond `rank` are ignored. */
hr_status_t spmd_sharding_make(hr_arena_t *arena, const spmd_mesh_t *mesh, int rank,
                               const spmd_axes_t *dims, spmd_axes_t unreduced,
                               const spmd_sharding_t **out_sharding);

#endif
