/* --data-parallel for training steps whose gradients have no mean over the replicas: the graph is
 * compiled for the examples of all replicas, and its inputs are cut by the partitioner, which makes
 * every process compute what one process with all examples would.
 * Thread: one per module. */
#ifndef TF_GLOBAL_BATCH_H
#define TF_GLOBAL_BATCH_H

#include "tf/file/tf_select.h"

/* Whether the first size of every input is open in the graph, the number of examples. */
bool tf_batch_is_unknown(const tf_selection_t *selection);
/* The feeds get the examples of so many replicas. Errors: USAGE: too many. */
hr_status_t tf_batch_enlarge(tf_selection_t *selection, int64_t replicas);
/* The module becomes a global program of so many partitions, whose feeds are cut. */
hr_status_t tf_batch_shard(const tf_selection_t *selection, const xla_compilation_result_t *result,
                           int64_t partitions, hlo_module_t *module);

#endif
