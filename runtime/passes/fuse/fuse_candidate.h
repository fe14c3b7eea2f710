/* A producer that fusion looks at, and the clusters that use it: where they need it, whether they
 * may take it. */
#ifndef PASS_FUSE_CANDIDATE_H
#define PASS_FUSE_CANDIDATE_H

#include "passes/fuse/fuse_graph.h"

/* A cluster that uses the producer. */
typedef struct fuse_candidate {
  fuse_cluster_t *cluster;
  uint8_t need; /* where it needs it */
  bool good;    /* it may take it */
  const fusion_space_t
      *space;    /* what the cluster, a loop until now, runs over then; NULL: no change */
  uint32_t at;   /* at which index it is read as a SOURCE */
  double evals;  /* and how often */
  double wasted; /* by users */
} fuse_candidate_t;

typedef struct fuse_producer {
  fuse_graph_t *graph;
  hlo_instr_t *instr;
  HR_VEC(fuse_candidate_t) list;
  bool outside;     /* some user is no member of a cluster */
  bool transparent; /* only another view of its operand: costs nothing wherever it is */
} fuse_producer_t;

/* May it be a member of a cluster? */
bool fuse_is_fusible(const fuse_graph_t *graph, const hlo_instr_t *instr);
/* Lists the clusters that use producer->instr, and says which of them may take it. Errors:
 * NO_MEMORY. */
hr_status_t fuse_producer_examine(fuse_producer_t *producer);
/* How many elements of it a candidate would evaluate. */
double fuse_evals_of(const fuse_producer_t *producer, const fuse_candidate_t *candidate);
/* Bytes of memory behind an operand: of a broadcast those of what is broadcast. */
double fuse_producer_bytes(const fuse_graph_t *graph, const hlo_instr_t *instr);

#endif
