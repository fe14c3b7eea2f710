/* Clusters: the fusions to be, of one computation. An instruction is a step of its own (a node), or
 * a member of one or several clusters (copied into each), and perhaps a root of one of them: then
 * others read what it writes. Nodes (clusters by the number of their first instruction) are kept in
 * an order in which each may run after all that it needs; joining two keeps it so. */
#ifndef PASS_FUSE_GRAPH_H
#define PASS_FUSE_GRAPH_H

#include "ops/query/fusion_form.h"
#include "passes/lib/pass_rewrite.h"

typedef struct fuse_cluster fuse_cluster_t;

typedef struct fuse_member fuse_member_t;
struct fuse_member {
  hlo_instr_t *instr;
  fuse_cluster_t *cluster;
  uint8_t role; /* fusion_role_t bits */
  bool root;    /* it is written to memory here */
  double evals; /* as a SOURCE: how many elements of it are evaluated in a run */
  uint32_t
      at; /* and at which index: members with equal numbers are evaluated at the same elements */
  double wasted;        /* ns of evaluating it, and what uses it, more often than needed */
  fuse_member_t *next;  /* of the cluster; users before operands */
  fuse_member_t *other; /* of the same instruction */
};

struct fuse_cluster {
  uint32_t id;
  const fusion_space_t *space; /* what is reduced; fuse_loop_space: nothing */
  const hlo_shape_t *shape;    /* sizes of the first root */
  fuse_member_t *first, **last;
  uint32_t member_count, root_count, update_count, tries;
  uint32_t input_count; /* at most so many different arrays are read */
  bool transposes;      /* reads something big across its rows */
  bool is_dead;         /* it was joined to another */
  uint32_t seen;        /* 1 + its number among the users of the producer that is being looked at */
};

typedef struct fuse_node { /* by instruction id */
  fuse_member_t *members;
  fuse_cluster_t *cluster; /* whose number is this id; or NULL */
  fuse_cluster_t *home;    /* it is a root there; NULL: a step of its own, or not written at all */
  uint32_t position;
  bool outside; /* someone needs it as a step of its own */
  bool free;    /* no array behind it: a scalar constant, an iota, a broadcast of a constant */
} fuse_node_t;

typedef struct fuse_graph {
  pass_rewrite_t *rewrite;
  hr_arena_t *arena;
  pass_users_t users;
  double step_ns; /* what a step more costs */
  uint32_t count;
  fuse_node_t *nodes;
  uint32_t *order;  /* nodes by position; what has gone elsewhere is skipped */
  uint32_t *marks;  /* by node: reached in search number... */
  uint32_t *inside; /* by instruction: a member in derivation number... */
  uint8_t *roles;   /* by instruction: found by the last derivation */
  uint32_t search, derivation;
  int64_t budget;      /* operands that searches may still look at: keeps the whole n log n */
  int64_t copies_left; /* instructions that may still be in one function more: keeps the code in
                          proportion */
  HR_VEC(fuse_cluster_t *) clusters;
} fuse_graph_t;

extern const fusion_space_t fuse_loop_space;

/* The `at` of what stands below an operand that is read at an index of its own; of several mixed
 * ones; 0 is in line. */
static inline uint32_t fuse_index_below(const hlo_instr_t *user, int k) {
  return user->id * 8 + (k < 6 ? k : 6) + 1;
}
static inline uint32_t fuse_index_mixed(const hlo_instr_t *instr) { return instr->id * 8 + 8; }

/* Over a computation that a rewrite is open on; step_ns is what a step more costs there. Errors:
 * NO_MEMORY. */
hr_status_t fuse_graph_init(fuse_graph_t *graph, pass_rewrite_t *rewrite, double step_ns);
void fuse_graph_deinit(fuse_graph_t *graph);

static inline bool fuse_is_input(const fuse_cluster_t *cluster) {
  return cluster->space->kind != FUSION_LOOP;
}
/* Membership of an instruction in a cluster, or NULL. */
fuse_member_t *fuse_member_of(const fuse_graph_t *graph, const hlo_instr_t *instr,
                              const fuse_cluster_t *cluster);
/* A new cluster of one instruction, its root. */
hr_status_t fuse_cluster_new(fuse_graph_t *graph, hlo_instr_t *root, fuse_cluster_t **out_cluster);
/* Makes an instruction, whose id is below those of all members, a member. */
hr_status_t fuse_cluster_add(fuse_graph_t *graph, fuse_cluster_t *cluster, hlo_instr_t *instr,
                             uint8_t role, bool root);

/* Finds the roles of all members, and of `extra` (may be NULL), an instruction with a lower id, if
 * the cluster ran over `space`: into graph->roles. False: then it would have no form. Cost: the
 * size of the cluster. */
bool fuse_derive(fuse_graph_t *graph, const fuse_cluster_t *cluster, const hlo_instr_t *extra,
                 const fusion_space_t *space);
/* Makes what was derived so. */
void fuse_take_roles(fuse_graph_t *graph, fuse_cluster_t *cluster, const fusion_space_t *space);

/* Can node `from` become one with the later node `to`: does nothing between them depend on the one
 * and feed the other? `direct`: may `to` itself use `from`? If so, puts them together in the order,
 * at one place. */
bool fuse_move_adjacent(fuse_graph_t *graph, uint32_t from, uint32_t to, bool direct);
/* Makes all members of `from` members of `to` as well; the caller derives roles. Both have been
 * brought together. */
void fuse_cluster_join(fuse_graph_t *graph, fuse_cluster_t *from, fuse_cluster_t *to);

/* Does an update in the cluster write over what `instr`, evaluated at `role`, reads, otherwise than
 * ops/query/codegen_support.h allows?
 */
bool fuse_clobbers(const fuse_cluster_t *cluster, const hlo_instr_t *instr, uint8_t role);

#endif
