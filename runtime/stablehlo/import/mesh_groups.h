/* Replica groups by the axes of a mesh. */
#ifndef STABLEHLO_MESH_GROUPS_H
#define STABLEHLO_MESH_GROUPS_H

#include "ir/attr.h"
#include "mlir/mlir.h"

/* Reads #stablehlo.replica_group_mesh_axes<...> as lists of devices, and as axes where HLO has a
 * form for them.
 * Errors: INVALID if the mesh is missing, or axes, sizes and device_ids contradict each other.
 * Owner:  lists and names live in `arena`; `module` is only needed to resolve a mesh's symbol.
 * Source: StableHLO spec, all_reduce and replica_group_mesh_axes. */
hr_status_t stablehlo_mesh_groups(const mlir_module_t *module, hr_arena_t *arena,
                                  const mlir_attr_t *attr, hlo_groups_t *groups);

/* Replaces such attributes of all ops by dense<...> lists of devices, for versions of VHLO before
 * 1.16, which have no other form. */
hr_status_t stablehlo_expand_mesh_groups(mlir_module_t *module);

#endif
