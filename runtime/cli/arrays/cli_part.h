/* Parts of global arrays: the box of the global array that a process has, and copies between boxes.
 */
#ifndef CLI_PART_H
#define CLI_PART_H

#include "cli/arrays/cli_signature.h"
#include "ir/value.h"

/* A box of a global array. For programs that were not partitioned, the whole, with starts of 0. */
typedef struct cli_part {
  bool is_cut; /* the program was partitioned from a global one; the part may still be the whole */
  int rank;
  int64_t whole[HLO_MAX_RANK], starts[HLO_MAX_RANK], sizes[HLO_MAX_RANK];
} cli_part_t;

/* The part of an array parameter or result that `process` has. Its sizes are the program's. */
void cli_part_of(const cli_arg_t *slot, int process, cli_part_t *out_part);

/* One side of a copy: a row-major array of sizes `dims`, and where the box begins in it. */
typedef struct cli_box_side {
  const int64_t *dims, *at;
} cli_box_side_t;

/* Copies a box of `sizes` elements of `each` bytes. Cost: one memcpy for each run of elements that
 * lie together on both sides. */
void cli_box_copy(int rank, const int64_t *sizes, size_t each, void *to, cli_box_side_t to_side,
                  const void *from, cli_box_side_t from_side);

/* A new value that is the part of `whole`.
 * Owner:   the caller.
 * Errors:  NO_MEMORY. */
hr_status_t cli_part_cut(const cli_part_t *part, const hlo_value_t *whole, hlo_value_t **out_value);

#endif
