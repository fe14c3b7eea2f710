/* Horizontal fusion: merging clusters that do not depend on each other. */
#ifndef PASS_FUSE_SIBLINGS_H
#define PASS_FUSE_SIBLINGS_H

#include "passes/fuse/fuse_graph.h"

/* Merges two clusters if they have a common form and neither depends on the other. *out_one: the
 * merged cluster, or NULL. */
hr_status_t fuse_merge_pair(fuse_graph_t *graph, fuse_cluster_t *a, fuse_cluster_t *b,
                            fuse_cluster_t **out_one);
/* Merges clusters of equal sizes that read the same large array. Errors: NO_MEMORY. */
hr_status_t fuse_siblings(fuse_graph_t *graph);
/* Merges loops over little data, of any sizes, into one step. Errors: NO_MEMORY. */
hr_status_t fuse_groups(fuse_graph_t *graph);

#endif
