/* The graph on which propagation works: nodes are arrays with a sharding; ops tie nodes by a rule.
 * A tuple has no node of its own: its leaves are the nodes of its operands. An array of a loop's
 * state is one node, shared by the loop's result and the parameters of condition and body. Edges
 * are ops with an identity's rule: loop states, branch results, barriers, boundaries of manual
 * computations. */
#ifndef HR_PARTITION_GRAPH_H
#define HR_PARTITION_GRAPH_H

#include "base/vec.h"
#include "partition/annotations/normalize.h"
#include "partition/rule.h"

typedef struct prop_node {
  const hlo_shape_t *shape;
  const spmd_sharding_t *sharding; /* sharding found so far; NULL: none */
  const spmd_sharding_t *said;     /* the annotation */
  spmd_axes_t reserved;            /* axes that are replicated, unreduced, or of a later priority */
  const hlo_instr_t *instr;        /* instruction that computes the array */
  spmd_origin_kind_t origin;
  const hlo_instr_t *source;
  int *ops; /* ops of which the node is a tensor: the producer first, then users in program order */
  int op_count, use_count;
  int hidden_uses; /* number of uses by instructions without a rule, which are no ops */
  int group; /* next member of its sharding group, a circular list; the node itself if alone */
} prop_node_t;

typedef enum prop_class {
  PROP_ELEMENTWISE, /* includes constraints, reshapes, transposes */
  PROP_DYNAMIC,     /* dynamic-slice, dynamic-update-slice */
  PROP_BROADCAST,
  PROP_OTHER,
  PROP_EDGE,
  PROP_RESULT /* ties a returned value to the entry's result; never in the worklist */
} prop_class_t;

/* A use: the value that an op takes, and the place of the use. A node may stand for several values:
 * a loop's state is one node, but its result and the parameters of its body and condition are three
 * values. */
typedef struct prop_use {
  const hlo_instr_t *definer; /* looked up through tuples, elements and forwarding parameters */
  int leaf;
  const hlo_computation_t *block; /* computation of the user */
  uint32_t at;                    /* id of the user there; UINT32_MAX: the block returns it */
} prop_use_t;

typedef struct prop_op {
  const hlo_instr_t *instr;
  const spmd_rule_t *rule;
  int *tensors;     /* nodes of operands, then of results; -1: scalars */
  prop_use_t *uses; /* by operand; NULL: an op that no instruction of the program stands for */
  prop_class_t kind;
  bool is_pointwise;            /* factors of more parts have precedence */
  bool has_single_uses;         /* no array operand is used elsewhere */
  bool forward, backward;       /* directions that a barrier lets through; other ops: both */
  int outer;                    /* index of the tensor outside of a manual computation; -1: none */
  const spmd_axes_t *manual;    /* manual axes of the outer tensor, by dimension */
  spmd_axes_t own_manual;       /* all manual axes of the computation inside */
  const spmd_sharding_t *said;  /* annotation of the outer tensor at the border; NULL: none */
  spmd_axes_t manual_unreduced; /* manual axes over which the outer tensor is unreduced */
} prop_op_t;

typedef struct prop_graph {
  spmd_program_t *program;
  hr_arena_t *arena; /* the program's */
  HR_VEC(prop_node_t) nodes;
  HR_VEC(prop_op_t) ops;       /* in program order */
  int ***map;                  /* node by computation, instruction, leaf; -1: scalars, tokens */
  const hlo_instr_t **callers; /* by computation; NULL: the entry */
} prop_graph_t;

/* Errors: NO_MEMORY; INVALID for rules of the program. Cost: linear in the program. */
hr_status_t prop_graph_build(spmd_program_t *program, prop_graph_t *graph);
void prop_graph_deinit(prop_graph_t *graph);
/* Builds the lists of ops by node again, after tensors have changed. Errors: NO_MEMORY. */
hr_status_t prop_graph_index(prop_graph_t *graph);
/* Applies the shardings of constraints and of entries of manual computations to their operands
 * (constraints.c). Errors: NO_MEMORY. */
hr_status_t prop_apply_constraints(prop_graph_t *graph);
/* Takes members whose annotation is closed out of their groups: a constraint after them, with the
 * annotation of the group, is the member, and all users take it. Errors: NO_MEMORY. */
hr_status_t prop_split_members(prop_graph_t *graph);
/* Ties results to the parameters that they become in the next step. */
void prop_join_carried(prop_graph_t *graph);

static inline int prop_tensor_count(const prop_op_t *op) {
  return op->rule->operand_count + op->rule->result_count;
}

#endif
