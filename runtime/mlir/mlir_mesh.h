/* Replica groups by the axes of a mesh. */
#ifndef HLORUN_MLIR_MESH_H
#define HLORUN_MLIR_MESH_H

#include "ir/attr.h"
#include "mlir/mlir.h"

/* Reads #stablehlo.replica_group_mesh_axes<...> as lists of devices, and as axes where HLO has a
 * form for them.
 * Errors: INVALID if the mesh is missing, or axes, sizes and device_ids contradict each other.
 * Owner:  lists and names live in `arena`; `module` is only needed to resolve a mesh's symbol.
 * Source: StableHLO spec, all_reduce and replica_group_mesh_axes. */
hr_status_t mlir_mesh_groups(const mlir_module_t *module, hr_arena_t *arena,
                             const mlir_attr_t *attr, hlo_groups_t *groups);

#endif
