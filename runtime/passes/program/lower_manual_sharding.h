/* Makes a shard_map program per-partition: its parameters and results become the shards that manual
 * computations work on. No partitioner: every value between parameters, manual computations and
 * results must only be passed on. */
#ifndef PASS_LOWER_MANUAL_SHARDING_H
#define PASS_LOWER_MANUAL_SHARDING_H

#include "ir/module.h"

/* Changes the entry of a module with xla.sdy.GlobalToLocalShape and LocalToGlobalShape custom calls
 * in place; notes the shardings of parameters (hlo_extra_t.sharding) and results
 * (result_shardings), and the number of partitions. Leaves modules without meshes alone. Errors:
 * UNSUPPORTED, naming the value that only a partitioner could cut. */
hr_status_t pass_lower_manual_sharding(hlo_module_t *module);

#endif
