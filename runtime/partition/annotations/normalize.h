/* Brings a global program into the form that propagation needs, before annotations are read. */
#ifndef HR_PARTITION_NORMALIZE_H
#define HR_PARTITION_NORMALIZE_H

#include "ir/module.h"

/* Custom calls that are addressed to a partitioner. */
typedef enum spmd_marker {
  SPMD_NO_MARKER,
  SPMD_CONSTRAINT,    /* Sharding */
  SPMD_RESULT,        /* xla.sdy.FuncResultSharding */
  SPMD_BARRIER,       /* xla.sdy.PropagationBarrier */
  SPMD_GROUP,         /* xla.sdy.ShardingGroup: no result */
  SPMD_INSPECT,       /* InspectSharding: calls the host's `inspect` */
  SPMD_ENTER_MANUAL,  /* xla.sdy.GlobalToLocalShape */
  SPMD_LEAVE_MANUAL,  /* xla.sdy.LocalToGlobalShape */
  SPMD_FULL_TO_SHARD, /* SPMDFullToShardShape */
  SPMD_SHARD_TO_FULL  /* SPMDShardToFullShape */
} spmd_marker_t;
spmd_marker_t spmd_marker_of(const hlo_instr_t *instr);

/* True if the call is that of a manual body: its operands come from a marker that made them local,
 * or its results go to a marker that makes them global. */
bool spmd_is_manual_call(const hlo_instr_t *instr);

/* Inlines calls, but not bodies of manual computations; gives every loop, branch and manual body a
 * computation of its own; removes markers from reducers; puts a result marker in front of each
 * array that the entry returns; gives each use of a constant expression a copy of its own.
 * Cost: linear, plus the copies. Errors: NO_MEMORY; UNSUPPORTED if copies are too many. */
hr_status_t spmd_normalize(hlo_module_t *module);

/* UNSUPPORTED if the copies that normalisation makes of called computations would be more than a
 * machine can hold. expanded_size.c */
hr_status_t spmd_check_expanded_size(hr_arena_t *scratch, const hlo_module_t *module);

/* Replaces ApproxTopK by sorts whose first elements are taken. Errors: NO_MEMORY, and INVALID if a
 * call cannot be read. approx_top_k.c */
hr_status_t spmd_expand_approx_top_k(hlo_module_t *module);

/* By computation id: true if its values have shardings: the entry and bodies of control flow. */
hr_status_t spmd_find_control(hr_arena_t *arena, const hlo_module_t *module, bool **out_control);

#endif
