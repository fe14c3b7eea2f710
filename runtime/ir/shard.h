/* Shards: the part of an array that a device holds under a sharding. */
#ifndef HLO_IR_SHARD_H
#define HLO_IR_SHARD_H

#include "ir/sharding.h"

/* Number of shards of dimension d under a named or tiled sharding; 1 for other shardings and
 * dimensions. */
int64_t hlo_shard_parts(const hlo_sharding_t *sharding, int d);
/* The part of an array of `dims` that `device` holds: starts and sizes per dimension. Shardings
 * that are neither named nor tiled hold everything. Errors: INVALID if a dimension does not divide
 * evenly. */
hr_status_t hlo_shard_of(const hlo_sharding_t *sharding, int rank, const int64_t *dims,
                         int64_t device, int64_t *out_starts, int64_t *out_sizes);

#endif
