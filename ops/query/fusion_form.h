/* The forms of fusions that ops/query/codegen_support.h promises, found in a body: which
 * instruction is evaluated at which index. The passes form fusions by these rules and the code
 * generator reads bodies by them.
 *
 * Every array is seen as a sequence of elements in row-major order. A reshape, a bitcast, a copy,
 * or a broadcast or transpose that moves only dimensions of size 1 leaves each element at its
 * linear index, so [8,64,512] and [512,512] are the same sequence. An instruction is evaluated
 *
 *   FULL     at element i of the iteration space: of a root's part (kLoop), or of the reductions'
 *            operands (kInput)
 *   OUTER    at an index of the kept dimensions (kInput)
 *   SOURCE   at an index that its user computes; also once (a broadcast scalar), or at several
 *
 * A value that depends on a reduction is never a SOURCE; every other value is an expression of the
 * parameters. */
#ifndef HLO_OPS_FUSION_FORM_H
#define HLO_OPS_FUSION_FORM_H

#include "ir/module.h"

typedef enum fusion_kind {
  FUSION_NONE, /* none of the forms */
  FUSION_LOOP, /* kLoop: formulas, one loop nest for each part */
  FUSION_ROWS, /* kInput: the last dimensions are reduced: element i belongs to row i / row_count */
  FUSION_COLUMNS /* kInput: other dimensions are reduced */
} fusion_kind_t;

typedef enum fusion_role {
  FUSION_FULL = 1,
  FUSION_OUTER = 2,
  FUSION_SOURCE = 4
} fusion_role_t; /* bits */

/* Iteration space of reductions: kept and reduced sizes alternate, as sizes of 1 are dropped and
 * neighbours of one kind merged. [8,64,512] over its last dimension is [512,512] with 1 reduced;
 * [32,56,56,64] over 0, 1, 2 is [100352,64] with 0 reduced. Rows have at most one kept size,
 * followed by at most one reduced size. */
typedef struct fusion_space {
  fusion_kind_t kind;
  int rank;
  int64_t sizes[HLO_MAX_RANK];
  uint32_t reduced;   /* bit d: sizes[d] is reduced */
  int64_t full_count; /* elements of an operand */
  int64_t
      outer_count; /* elements of a result, each a reduction of full_count / outer_count elements */
} fusion_space_t;

typedef struct fusion_form {
  fusion_space_t space; /* kLoop: only its kind is set */
  int root_count;       /* elements of a tuple, or 1 */
  hlo_instr_t *const *roots;
  /* kLoop: roots of one part have equal sizes (except for sizes of 1) and are computed side by side
   * in one loop. Parts share parameters, scalars and cheap instructions only, so that each may be a
   * function of its own, shared with equal parts of other fusions. kInput: one part. */
  int part_count;
  const int *part_of_root;
  const uint8_t *roles; /* by instruction id: fusion_role_t bits; 0: not used */
  const bool *reduced;  /* by instruction id: is or depends on a reduction */
} fusion_form_t;

/* Number of elements of an array of static sizes. */
int64_t fusion_count(const hlo_shape_t *shape);
/* Iteration space of one reduction. False: no code is generated for it, e.g. for empty arrays. */
bool fusion_space_of(const hlo_instr_t *reduce, fusion_space_t *out_space);
bool fusion_space_equal(const fusion_space_t *a, const fusion_space_t *b);
/* Sizes of a root's loop: its own, or for an UPDATE the sizes of the update operand. */
const hlo_shape_t *fusion_root_shape(const hlo_instr_t *root);
/* True for a slice of exactly the window that the update writes. Evaluated at FULL it reads an
 * element just before that is written. */
bool fusion_reads_updated(const hlo_instr_t *update, const hlo_instr_t *instr);
/* True if sizes are equal, sizes of 1 left out. */
bool fusion_sizes_equal(const hlo_shape_t *a, const hlo_shape_t *b);
/* True if the instruction keeps the linear index of every element. */
bool fusion_keeps_order(const hlo_instr_t *instr);
/* The role at which a root of a fusion with reductions is evaluated; for an update only if it
 * writes as many elements as are reduced. False: no such fusion has this root. */
bool fusion_root_role(const fusion_space_t *space, const hlo_instr_t *root, uint8_t *out_role);
/* The roles (bits) at which `user`, evaluated at `role` (bits), needs its operand k. 0: not as a
 * formula (the operand that an UPDATE overwrites). */
uint8_t fusion_need(const fusion_space_t *space, const hlo_instr_t *user, uint8_t role, int k);
/* Finds the form of a fusion's body, without checking types: out_form->space.kind is FUSION_NONE
 * if it has none. Lists live in the arena.
 * Cost:    linear.
 * Errors:  NO_MEMORY. */
hr_status_t fusion_form_find(hr_arena_t *arena, const hlo_computation_t *body,
                             fusion_form_t *out_form);

#endif
