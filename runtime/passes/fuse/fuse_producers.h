/* Producer-consumer fusion. */
#ifndef PASS_FUSE_PRODUCERS_H
#define PASS_FUSE_PRODUCERS_H

#include "passes/fuse/fuse_graph.h"

/* Processes all instructions in reverse program order: each becomes a member of the clusters that
 * use it, or starts one.
 * Cost:   linear in operands, plus fuse_move_adjacent.
 * Errors: NO_MEMORY. */
hr_status_t fuse_producers(fuse_graph_t *graph);

#endif
