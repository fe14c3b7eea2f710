/* Clusters: the future fusions of one computation.
 *
 *   instruction   a step by itself, or a member of one or more clusters (cloned into each), and
 *                 perhaps a root of one of them, whose result others read from memory
 *   node          an unfused instruction, or a cluster, identified by its first instruction
 *
 * Invariant: nodes are in topological order; merging two nodes that can become adjacent keeps it.
 */
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
  bool root;    /* written to memory by this cluster */
  double evals; /* as a SOURCE: elements evaluated per run */
  uint32_t at;  /* as a SOURCE: number of its index; members with equal numbers are evaluated at the
                   same elements; 0: the loop's own index */
  uint32_t places; /* as a SOURCE: number of different indices at which it is evaluated; 0: one */
  int dilations;   /* as a SOURCE: most dilating pads above it on a path */
  double wasted;   /* ns spent on evaluating it and its users more than once per element */
  fuse_member_t *next;  /* next member of the cluster; users before operands */
  fuse_member_t *other; /* membership of the same instruction in another cluster */
};

struct fuse_cluster {
  uint32_t id;
  const fusion_space_t *space; /* iteration space; fuse_loop_space: nothing is reduced */
  const hlo_shape_t *shape;    /* shape of the first root */
  fuse_member_t *first, **last;
  uint32_t member_count, root_count, update_count, tries;
  uint32_t input_count; /* upper bound of different arrays read */
  bool transposes;      /* reads a large array across rows */
  bool is_dead;         /* merged into another */
  uint32_t seen;        /* 1 + index in the list of the current producer; 0: not listed */
};

typedef struct fuse_node { /* by instruction id */
  fuse_member_t *members;
  fuse_cluster_t *cluster; /* cluster identified by this id, or NULL */
  fuse_cluster_t
      *home; /* cluster of which it is a root; NULL: a step by itself, or never in memory */
  uint32_t position;
  bool outside; /* must remain a step by itself */
  bool free;    /* needs no memory: a scalar constant, an iota, a broadcast of a constant */
} fuse_node_t;

typedef struct fuse_graph {
  pass_rewrite_t *rewrite;
  hr_arena_t *arena;
  pass_users_t users;
  double step_ns; /* cost of one more step */
  uint32_t count;
  fuse_node_t *nodes;
  uint32_t *order;  /* nodes by position; dead nodes are skipped */
  uint32_t *marks;  /* by node: number of the last search that reached it */
  uint32_t *inside; /* by instruction: number of the last derivation with it as a member */
  uint8_t *roles;   /* by instruction: result of the last derivation */
  uint32_t *awaits; /* by instruction: 1 + id of the last collective it depends on; 0: none */
  uint32_t search, derivation;
  int64_t budget; /* operands that searches may still visit, which bounds the pass to n log n */
  int64_t copies_left; /* instructions that may still be cloned into another function, which bounds
                          the size of the code */
  HR_VEC(fuse_cluster_t *) clusters;
} fuse_graph_t;

extern const fusion_space_t fuse_loop_space;

/* Values of fuse_member_t.at: operand k of `user` is read at a computed index; an instruction is
 * read at several indices. */
static inline uint32_t fuse_operand_index(const hlo_instr_t *user, int k) {
  return user->id * 8 + (k < 6 ? k : 6) + 1;
}
static inline uint32_t fuse_mixed_index(const hlo_instr_t *instr) { return instr->id * 8 + 8; }

/* Builds the graph of a computation on which a rewrite is open. step_ns: cost of one more step in
 * that computation. Errors: NO_MEMORY. */
hr_status_t fuse_graph_init(fuse_graph_t *graph, pass_rewrite_t *rewrite, double step_ns);
void fuse_graph_deinit(fuse_graph_t *graph);

static inline bool fuse_is_input(const fuse_cluster_t *cluster) {
  return cluster->space->kind != FUSION_LOOP;
}
/* Membership of an instruction in a cluster; NULL: it is no member. */
fuse_member_t *fuse_member_of(const fuse_graph_t *graph, const hlo_instr_t *instr,
                              const fuse_cluster_t *cluster);
/* Creates a cluster of one instruction, its root. */
hr_status_t fuse_cluster_new(fuse_graph_t *graph, hlo_instr_t *root, fuse_cluster_t **out_cluster);
/* Makes an instruction a member. Requires: its id is below those of all members. */
hr_status_t fuse_cluster_add(fuse_graph_t *graph, fuse_cluster_t *cluster, hlo_instr_t *instr,
                             uint8_t role, bool root);

/* Derives the roles of all members into graph->roles, and of `extra` (an instruction with a lower
 * id; NULL: none), for a cluster that runs over `space`. False: no fusion form covers the cluster.
 * Cost: the size of the cluster. */
bool fuse_derive(fuse_graph_t *graph, const fuse_cluster_t *cluster, const hlo_instr_t *extra,
                 const fusion_space_t *space);
/* Stores the roles of the last derivation, and the space, in the cluster. */
void fuse_store_roles(fuse_graph_t *graph, fuse_cluster_t *cluster, const fusion_space_t *space);

/* Can node `from` be merged with the later node `to`: does no node between them depend on `from`
 * and feed `to`? `direct`: `to` itself may use `from`. If true, moves both to adjacent
 * positions. */
bool fuse_move_adjacent(fuse_graph_t *graph, uint32_t from, uint32_t to, bool direct);
/* Moves all members of `from` to `to`; the caller derives roles. Requires: fuse_move_adjacent. */
void fuse_cluster_merge(fuse_graph_t *graph, fuse_cluster_t *from, fuse_cluster_t *to);

/* The origin of a chain of reshapes and copies, which has the same bytes. */
const hlo_instr_t *fuse_find_storage(const hlo_instr_t *instr);
/* Does an in-place update in the cluster overwrite an array that `instr`, evaluated at `role`,
 * reads, other than as ops/query/codegen_support.h allows? */
bool fuse_overwrites_input(const fuse_cluster_t *cluster, const hlo_instr_t *instr, uint8_t role);

#endif
