/* What the two files that outline manual parts share. */
#ifndef HR_PARTITION_OUTLINE_PART_H
#define HR_PARTITION_OUTLINE_PART_H

#include "partition/annotations/normalize.h"
#include "passes/lib/pass_rewrite.h"

typedef struct spmd_outliner {
  hlo_module_t *module;
  hlo_computation_t *computation;
  hr_arena_t scratch;
  uint32_t count; /* instructions at the beginning */
  pass_users_t users;
  int *depth;           /* by id: manual parts around the instruction's result */
  bool *forced;         /* by id: leaves a part without depending on anything that entered */
  bool *free;           /* by id: depends on nothing outside, not even parameters */
  uint32_t *parent;     /* by id: union-find over the members of parts */
  int *input;           /* by id: number among the inputs of the current part, from 1; 0: none */
  hlo_instr_t **copies; /* by id: of members and inputs in the current part's body */
  hlo_instr_t **by;     /* by id: replacement of a marker out of a part */
} spmd_outliner_t;

/* Is it a marker at the border of a part of this computation, or inside of one? */
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
/* Adds the body of part number `root`, its call and the markers around it, which replace those that
 * leave (o->by). Errors: UNSUPPORTED, NO_MEMORY. */
hr_status_t spmd_outline_part(spmd_outliner_t *o, uint32_t root);

#endif
