/* The producer under consideration, and the clusters that use it: at which elements they need it,
 * and whether they may absorb it. */
#ifndef PASS_FUSE_CANDIDATE_H
#define PASS_FUSE_CANDIDATE_H

#include "passes/fuse/fuse_graph.h"

/* A cluster that uses the producer. */
typedef struct fuse_candidate {
  fuse_cluster_t *cluster;
  uint8_t need;                /* fusion_role_t bits: elements at which the cluster needs it */
  bool good;                   /* the cluster may absorb it */
  const fusion_space_t *space; /* iteration space that a loop cluster changes to; NULL: no change */
  uint32_t at;                 /* index at which it is read as a SOURCE, as fuse_member_t.at */
  uint32_t places;             /* different indices among these, as fuse_member_t.places */
  double evals;                /* elements evaluated there */
  int dilations;               /* dilating pads above it, as fuse_member_t.dilations */
  double wasted;               /* ns that users waste already, as fuse_member_t.wasted */
} fuse_candidate_t;

typedef struct fuse_producer {
  fuse_graph_t *graph;
  hlo_instr_t *instr;
  HR_VEC(fuse_candidate_t) list;
  bool outside;     /* some user is in no cluster */
  bool transparent; /* a view of its operand, which costs nothing anywhere */
} fuse_producer_t;

/* Can generated code compute the instruction within a fusion? */
bool fuse_is_fusible(const fuse_graph_t *graph, const hlo_instr_t *instr);
/* Lists the clusters that use producer->instr and decides which of them may absorb it.
 * Errors: NO_MEMORY. */
hr_status_t fuse_producer_examine(fuse_producer_t *producer);
/* How many elements of it a candidate would evaluate. */
double fuse_candidate_evals(const fuse_producer_t *producer, const fuse_candidate_t *candidate);
/* Bytes in memory of an operand; for a broadcast, of its operand. */
double fuse_producer_bytes(const fuse_graph_t *graph, const hlo_instr_t *instr);

#endif
