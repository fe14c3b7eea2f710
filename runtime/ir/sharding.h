/* Shardings of values over devices, and the device lists that shardings and replica groups share.
 * Source: xla_data.proto OpSharding and NamedSharding. */
#ifndef HLO_IR_SHARDING_H
#define HLO_IR_SHARDING_H

#include "ir/module.h"

#define HLO_MAX_DEVICES (INT64_C(1) << 20) /* in one mesh, tile grid or replica group list */
/* Limit over all replica groups of a module, on top of one device per byte of its text. */
#define HLO_MAX_MODULE_DEVICES (4 * HLO_MAX_DEVICES)

/* 0..N-1 laid out as `dims`, transposed by `permutation` (empty: not transposed). */
typedef struct hlo_iota {
  hr_ints_t dims, permutation;
} hlo_iota_t;

typedef struct hlo_axes {
  int count;
  const hlo_axis_ref_t *refs;
} hlo_axes_t;

/* One dimension of a named sharding: the axes that split it, major first. */
typedef struct hlo_sharding_dim {
  hlo_axes_t axes;
  bool open; /* '?': may be split further */
} hlo_sharding_dim_t;

typedef enum hlo_shard_group {
  HLO_SHARD_GROUP_NONE,
  HLO_SHARD_GROUP_AS,
  HLO_SHARD_GROUP_LIKE
} hlo_shard_group_t;

struct hlo_sharding {
  hlo_enum_TILE_KIND_t kind; /* OTHER: tiled, or named with dimensions */
  bool named;                /* mesh[...]: uses the fields from `mesh` on; else those before it */

  /* TUPLE: one entry per leaf of the value's shape. */
  int element_count;
  const hlo_sharding_t *const *elements;

  int64_t device; /* MAXIMAL */

  /* OTHER. tile_dims has one entry per dimension of the value, then one per entry of
   * last_tile_kinds; the devices are listed row-major over it, explicitly or as an iota. */
  hr_ints_t tile_dims;
  hr_ints_t devices; /* empty: iota */
  hlo_iota_t iota;
  bool replicate_last_dim;   /* one extra tile dimension, whose devices hold the same tile */
  hr_ints_t last_tile_kinds; /* hlo_enum_TILE_KIND_t of the extra tile dimensions */

  hlo_mesh_t mesh;
  int dim_count;
  const hlo_sharding_dim_t *dims;
  hlo_axes_t replicated_axes, unreduced_axes, manual_axes;
  hr_str_t unreduced_kind; /* "max" of unreduced=max{...}; empty: sum */

  hlo_shard_group_t group; /* ties values to the same sharding */
  int64_t group_id;
  int metadata_count;
  const hlo_metadata_t *metadata;
};

/* Number of devices in the product; -1 if it is more than HLO_MAX_DEVICES or some factor is not
 * positive. */
int64_t hlo_device_count(hr_ints_t dims);
/* Fills `devices` (as many as the product of the dims) in row-major order of the transposed array.
 * `permutation` must be a permutation. */
void hlo_iota_fill(const hlo_iota_t *iota, int64_t *devices);
/* True if `permutation` holds 0..count-1, each once. */
bool hlo_is_permutation(hr_ints_t permutation);

/* Number of devices that an IOTA or MESH form names; -1 as for hlo_device_count. */
int64_t hlo_groups_size(const hlo_groups_t *groups);
/* Fills in groups->groups of an IOTA or MESH form.
 * Errors: INVALID when the numbers do not fit together. Cost: as many entries as devices. */
hr_status_t hlo_groups_expand(hr_arena_t *arena, hlo_groups_t *groups);

void hlo_sharding_print(hr_strbuf_t *text, const hlo_sharding_t *sharding);
void hlo_mesh_print(hr_strbuf_t *text, const hlo_mesh_t *mesh);
/* Both without braces. */
void hlo_axes_print(hr_strbuf_t *text, const hlo_mesh_t *mesh, hlo_axes_t axes);
void hlo_metadata_print(hr_strbuf_t *text, const hlo_metadata_t *metadata);
/* 1,2,3 */
void hlo_ints_print(hr_strbuf_t *text, hr_ints_t ints);

#endif
