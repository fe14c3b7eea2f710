/* What the choice of axes for an operation is made from: the shardings of its arrays, and the mesh
 * axes in them, with the factors that each may cut. */
#ifndef HR_PARTITION_LOWER_CHOOSE_H
#define HR_PARTITION_LOWER_CHOOSE_H

#include "partition/lower/lower_ops.h"

#define MAX_ATOMS 24
#define MAX_SOURCES 24
#define MAX_CANDIDATES 6

typedef struct spmd_source { /* a sharding that some tensor has or should get */
  double bytes;
  spmd_axes_t *axes; /* by factor */
} spmd_source_t;

/* Atoms are mesh axes, split where some array's sharding or some factor splits them. */
typedef struct spmd_chooser {
  spmd_lower_t *lower;
  const hlo_instr_t *instr;
  const spmd_rule_t *rule;
  spmd_op_t op;
  int source_count, atom_count;
  spmd_source_t sources[MAX_SOURCES];
  spmd_axis_t atoms[MAX_ATOMS];
  int candidate_count[MAX_ATOMS];
  int candidates[MAX_ATOMS][MAX_CANDIDATES]; /* factors */
  int own_count[MAX_ATOMS]; /* candidates that the atom cuts in some source; others follow */
  int assigned[MAX_ATOMS];  /* factor of the current trial; -1: none */
  hr_arena_mark_t mark;
} spmd_chooser_t;

/* Finds the shardings of operands and results. Errors: NO_MEMORY. */
hr_status_t spmd_find_sources(spmd_chooser_t *chooser);
/* Splits their axes into atoms, and finds the factors that each atom may cut. */
void spmd_find_atoms(spmd_chooser_t *chooser);

#endif
