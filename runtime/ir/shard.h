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

/* Meshes of a module, from its frontend attribute xla.sdy.meshes: {mesh = #sdy.mesh<["a"=2,
 * "b"=4]>}. */
typedef struct hlo_named_mesh {
  hr_str_t name;
  hlo_mesh_t mesh;
} hlo_named_mesh_t;
hr_status_t hlo_sdy_meshes(hr_arena_t *arena, hr_str_t text, hlo_named_mesh_t **out_meshes,
                           int *out_count);
/* "#sdy.sharding_per_value<[<@mesh, [{"a"}, {}]>, ...]>": one sharding per value. Errors: INVALID.
 */
hr_status_t hlo_sdy_shardings(hr_arena_t *arena, hr_str_t text, const hlo_named_mesh_t *meshes,
                              int mesh_count, const hlo_sharding_t *const **out_shardings,
                              int *out_count);

#endif
