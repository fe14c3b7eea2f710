/* Declarations shared by the two files that outline manual parts. */
#ifndef HR_PARTITION_OUTLINE_PART_H
#define HR_PARTITION_OUTLINE_PART_H

#include "partition/annotations/normalize.h"
#include "passes/lib/pass_rewrite.h"

typedef struct spmd_outliner {
  hlo_module_t *module;
  hlo_computation_t *computation;
  hr_arena_t scratch;
  uint32_t count; /* instructions before outlining */
  pass_users_t users;
  int *depth;           /* by id: number of manual parts around the instruction's result */
  bool *forced;         /* by id: leaves a part, but depends on no value that entered */
  bool *free;           /* by id: depends on no value outside, nor on parameters */
  uint32_t *parent;     /* by id: union-find over the members of parts */
  int *input;           /* by id: number among the inputs of the current part, from 1; 0: none */
  hlo_instr_t **copies; /* by id: copies of members and inputs in the current part's body */
  hlo_instr_t **by;     /* by id: replacement of a marker at the exit of a part */
} spmd_outliner_t;

/* True for markers at the entry and exit of a part of this computation, and for a part's members.
 */
static inline bool spmd_outline_enters(const spmd_outliner_t *o, const hlo_instr_t *instr) {
  return spmd_marker_of(instr) == SPMD_FULL_TO_SHARD && o->depth[instr->id] == 1;
}
static inline bool spmd_outline_leaves(const spmd_outliner_t *o, const hlo_instr_t *instr) {
  return spmd_marker_of(instr) == SPMD_SHARD_TO_FULL && o->depth[instr->id] == 0;
}
static inline bool spmd_outline_is_member(const spmd_outliner_t *o, const hlo_instr_t *instr) {
  return o->depth[instr->id] > 0 && !spmd_outline_enters(o, instr);
}

/* Number of the part that a member belongs to. */
uint32_t spmd_outline_part_of(spmd_outliner_t *o, uint32_t id);
/* Adds the body of part number `root`, its call and the markers around it. The results replace the
 * old markers at the exit (o->by). Errors: UNSUPPORTED, NO_MEMORY. */
hr_status_t spmd_outline_part(spmd_outliner_t *o, uint32_t root);

#endif
