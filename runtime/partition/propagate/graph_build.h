/* Declarations shared by the files that build the graph. */
#ifndef HR_PARTITION_GRAPH_BUILD_H
#define HR_PARTITION_GRAPH_BUILD_H

#include "partition/propagate/graph.h"

/* Values and nodes of an instruction, by leaf. */
spmd_value_t *prop_values_of(const prop_graph_t *graph, const hlo_instr_t *instr);
int *prop_nodes_of(const prop_graph_t *graph, const hlo_instr_t *instr);
/* Errors of all: NO_MEMORY. */
hr_status_t prop_add_op(prop_graph_t *graph, prop_op_t op);
/* New nodes for all leaves of the instruction. */
hr_status_t prop_add_leaves(prop_graph_t *graph, const hlo_instr_t *instr);
/* The use of leaf `leaf` of `value` by instruction `user`; NULL: `block` returns the leaf. */
prop_use_t prop_use_of(const prop_graph_t *graph, const hlo_instr_t *value, int leaf,
                       const hlo_instr_t *user, const hlo_computation_t *block);
/* The rule of an identity with several sources: all tensors alike. */
hr_status_t prop_identity_rule(hr_arena_t *arena, const hlo_shape_t *shape, int sources,
                               const spmd_rule_t **out_rule);
/* Ties the members of sharding groups. Errors: INVALID for groups of different ranks. */
hr_status_t prop_find_groups(prop_graph_t *graph);
/* Adds the edges of a marker at the entry or exit of a manual computation. Errors: INVALID if its
 * shardings do not turn the global shapes into the local ones. */
hr_status_t prop_build_boundary(prop_graph_t *graph, const hlo_instr_t *marker, bool enters);

#endif
