/* The producer under consideration, and the clusters that use it: the elements at which they need
 * it, and whether they may absorb it. */
#ifndef PASS_FUSE_CANDIDATE_H
#define PASS_FUSE_CANDIDATE_H

#include "passes/fuse/fuse_graph.h"

/* A cluster that uses the producer. */
typedef struct fuse_candidate {
  fuse_cluster_t *cluster;
  uint8_t need;                /* fusion_role_t bits: elements at which the cluster needs it */
  bool good;                   /* the cluster may absorb it */
  const fusion_space_t *space; /* iteration space that a loop cluster changes to; NULL: unchanged */
  uint32_t at;     /* index at which the producer is read as a SOURCE, see fuse_member_t.at */
  uint32_t places; /* number of different indices, see fuse_member_t.places */
  double evals;    /* elements evaluated as a SOURCE */
  int dilations;   /* dilating pads above the producer, see fuse_member_t.dilations */
  double wasted;   /* ns already wasted by users, see fuse_member_t.wasted */
} fuse_candidate_t;

typedef struct fuse_producer {
  fuse_graph_t *graph;
  hlo_instr_t *instr;
  HR_VEC(fuse_candidate_t) list;
  bool outside;     /* some user is in no cluster */
  bool transparent; /* a view of its operand, free everywhere */
} fuse_producer_t;

/* Can generated code compute the instruction within a fusion? */
bool fuse_is_fusible(const fuse_graph_t *graph, const hlo_instr_t *instr);
/* Lists the clusters that use producer->instr and decides which of them may absorb it.
 * Errors: NO_MEMORY. */
hr_status_t fuse_producer_examine(fuse_producer_t *producer);
/* Number of elements of the producer that a candidate would evaluate. */
double fuse_candidate_evals(const fuse_producer_t *producer, const fuse_candidate_t *candidate);
/* Bytes of an operand in memory; for a broadcast, of its operand. */
double fuse_producer_bytes(const fuse_graph_t *graph, const hlo_instr_t *instr);

#endif
