/* Emission of clusters as fusion instructions. */
#ifndef PASS_FUSE_EMIT_H
#define PASS_FUSE_EMIT_H

#include "passes/fuse/fuse_graph.h"

/* Builds the fusion of each cluster with more than one instruction, and replaces its roots in the
 * rewrite. Errors: NO_MEMORY. */
hr_status_t fuse_emit(fuse_graph_t *graph);

#endif
