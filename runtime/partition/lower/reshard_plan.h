/* The plan of a resharding: collectives and local slices that lead from one cut of an array to
 * another. Pure arithmetic on lists of axes; reshard.h makes instructions of it.
 * The axes of both cuts are split into atoms that are equal or disjoint. A dimension of size D in n
 * parts has chunks of ceil(D / n) elements. Steps that do not preserve this chunk size are not
 * taken, so that every element is in the right part. The problem leaves out dimensions that both
 * cuts treat alike. */
#ifndef HR_PARTITION_LOWER_RESHARD_PLAN_H
#define HR_PARTITION_LOWER_RESHARD_PLAN_H

#include "base/status.h"

#define SPMD_MAX_ATOMS 32
#define SPMD_PLAN_LIST 16 /* most atoms of one dimension */
#define SPMD_PLAN_RANK 6  /* most dimensions that differ */
#define SPMD_PLAN_STEPS 32

typedef struct spmd_list {
  int count;
  uint8_t atoms[SPMD_PLAN_LIST]; /* the most significant first */
} spmd_list_t;

/* The cut of an array at one point of the plan. */
typedef struct spmd_layout {
  int64_t chunk[SPMD_PLAN_RANK]; /* local size per dimension */
  spmd_list_t dims[SPMD_PLAN_RANK];
  uint32_t unreduced; /* set of atoms */
} spmd_layout_t;

typedef struct spmd_reshard {
  int atom_count;
  int64_t atom_sizes[SPMD_MAX_ATOMS];
  int rank;
  int64_t sizes[SPMD_PLAN_RANK];
  int64_t
      outer[SPMD_PLAN_RANK]; /* parts by the common prefix of both cuts, which divides the size */
  spmd_list_t from[SPMD_PLAN_RANK], to[SPMD_PLAN_RANK];
  uint32_t unreduced_from, unreduced_to;
  bool shares_gathers; /* gathered arrays lie at one place for all processes of a machine */
  double other_bytes; /* local bytes per element of these dimensions: the other dimensions' share */
} spmd_reshard_t;

typedef enum spmd_step_kind {
  SPMD_SLICE,          /* dims[to] gets `atoms` at its end */
  SPMD_ALL_GATHER,     /* dims[from] loses `atoms` at its end */
  SPMD_ALL_TO_ALL,     /* `atoms` move from the end of dims[from] to the end of dims[to] */
  SPMD_PERMUTE,        /* parts change places */
  SPMD_ALL_REDUCE,     /* `atoms` are reduced */
  SPMD_REDUCE_SCATTER, /* `atoms` are reduced and appended to dims[to] */
  SPMD_MAKE_PARTIAL,   /* `atoms` become unreduced: all parts but the first are the identity */
  SPMD_SPREAD          /* `atoms` leave the end of dims[from] and become unreduced: each part is
                          padded with identities to the whole */
} spmd_step_kind_t;
/* True for the kinds that communicate. */
static inline bool spmd_step_is_collective(spmd_step_kind_t kind) {
  return kind != SPMD_SLICE && kind != SPMD_MAKE_PARTIAL && kind != SPMD_SPREAD;
}

typedef struct spmd_step {
  spmd_step_kind_t kind;
  int from, to;
  spmd_list_t atoms;
  spmd_layout_t before, after;
  double
      bytes; /* bytes that a partition sends in a ring; permute: those that change their device */
  double us; /* cost in microseconds, as spmd_step_us */
} spmd_step_t;

typedef struct spmd_plan {
  int count;
  spmd_step_t steps[SPMD_PLAN_STEPS];
  double us, bytes; /* sums of the steps */
  int collectives;
} spmd_plan_t;

/* Finds the cheapest plan by a search over layouts; with too many layouts, gathers everything and
 * slices, which reaches every layout. Cost: some thousand steps at most. */
void spmd_reshard_plan(const spmd_reshard_t *problem, spmd_plan_t *out_plan);
/* Initial and final layout of a problem. */
spmd_layout_t spmd_reshard_begin(const spmd_reshard_t *problem);
spmd_layout_t spmd_reshard_end(const spmd_reshard_t *problem);

#endif
