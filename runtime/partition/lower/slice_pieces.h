/* Slices of padded arrays as pieces of the arrays themselves. */
#ifndef HR_PARTITION_LOWER_SLICE_PIECES_H
#define HR_PARTITION_LOWER_SLICE_PIECES_H

#include "partition/program.h"

/* Replaces slices of concatenations that put little at the ends of an array, and have no other
 * users, by concatenations of slices. Their shardings are those of the slices. Cost: linear in the
 * program, for each of a few rounds. Errors: NO_MEMORY. */
hr_status_t spmd_slice_pieces(spmd_program_t *program);

#endif
