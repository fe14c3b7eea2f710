/* Puts clusters together that do not use each other. */
#ifndef PASS_FUSE_SIBLINGS_H
#define PASS_FUSE_SIBLINGS_H

#include "passes/fuse/fuse_graph.h"

/* Makes two clusters one, if they have a common form and neither needs the other; *out_one: it, or
 * NULL. */
hr_status_t fuse_join_pair(fuse_graph_t *graph, fuse_cluster_t *a, fuse_cluster_t *b,
                           fuse_cluster_t **out_one);
/* Clusters of equal sizes that read the same big array: it is read once. Errors: NO_MEMORY. */
hr_status_t fuse_siblings(fuse_graph_t *graph);
/* Loops over little data, of any sizes: one step for many. Errors: NO_MEMORY. */
hr_status_t fuse_groups(fuse_graph_t *graph);

#endif
