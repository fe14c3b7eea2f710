/* Takes producers into the clusters of their users. */
#ifndef PASS_FUSE_PRODUCERS_H
#define PASS_FUSE_PRODUCERS_H

#include "passes/fuse/fuse_graph.h"

/* All instructions, users before producers: each becomes a member of the clusters that use it, or
 * begins one. Cost: the operands, and what fuse_move_adjacent costs. Errors: NO_MEMORY. */
hr_status_t fuse_producers(fuse_graph_t *graph);

#endif
