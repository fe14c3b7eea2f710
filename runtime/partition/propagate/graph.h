/* The program as propagation sees it: nodes, which are arrays with a sharding, and ops, which tie
 * nodes by a rule. Tuples and their elements are the nodes of what they hold; the state of a loop
 * is one node for its result and the parameters of condition and body. Edges are ops with the rule
 * of an identity: loop states, branch results, barriers, boundaries of manual computations. */
#ifndef HR_PARTITION_GRAPH_H
#define HR_PARTITION_GRAPH_H

#include "base/vec.h"
#include "partition/annotations/normalize.h"
#include "partition/rule.h"

typedef struct prop_node {
  const hlo_shape_t *shape;
  const spmd_sharding_t *sharding; /* what is known so far; NULL: nothing */
  const spmd_sharding_t *said;     /* the annotation */
  spmd_axes_t reserved;            /* replicated, unreduced, or of a later priority */
  const hlo_instr_t *instr;        /* where it is computed */
  spmd_origin_kind_t origin;
  const hlo_instr_t *source;
  int *ops; /* that have it as a tensor: the producer first, then users in program order */
  int op_count, use_count;
  int hidden_uses; /* by instructions without a rule, which are no ops */
  int group;       /* next member of its sharding group, in a ring; itself if it is alone */
} prop_node_t;

typedef enum prop_class {
  PROP_ELEMENTWISE, /* with constraints, reshapes, transposes */
  PROP_DYNAMIC,     /* slices and updates at run-time places */
  PROP_BROADCAST,
  PROP_OTHER,
  PROP_EDGE,
  PROP_RESULT /* a returned value and the result: outside of the worklist */
} prop_class_t;

/* Which value an op takes, and where. A node may be several values: the state of a loop is one, but
 * its result, the parameter of its body and that of its condition are three. */
typedef struct prop_use {
  const hlo_instr_t *definer; /* no tuple, element or parameter that only passes it on */
  int leaf;
  const hlo_computation_t *block; /* where it is used */
  uint32_t at;                    /* id of the user there; UINT32_MAX: what the block returns */
} prop_use_t;

typedef struct prop_op {
  const hlo_instr_t *instr;
  const spmd_rule_t *rule;
  int *tensors;     /* nodes of operands, then of results; -1: scalars */
  prop_use_t *uses; /* by operand; NULL: of what no instruction of the program does */
  prop_class_t kind;
  bool is_pointwise;            /* factors of more parts go first */
  bool has_single_uses;         /* no array operand is used elsewhere */
  bool forward, backward;       /* a barrier lets through; both are set for other ops */
  int outer;                    /* tensor outside of a manual computation; -1: none */
  const spmd_axes_t *manual;    /* its manual axes per dimension */
  spmd_axes_t own_manual;       /* all manual axes of the computation inside */
  const spmd_sharding_t *said;  /* annotation of the outer value there; NULL: not said */
  spmd_axes_t manual_unreduced; /* manual axes over which the outer value is still to be reduced */
} prop_op_t;

typedef struct prop_graph {
  spmd_program_t *program;
  hr_arena_t *arena; /* of the program */
  HR_VEC(prop_node_t) nodes;
  HR_VEC(prop_op_t) ops;       /* in program order */
  int ***map;                  /* node by computation, instruction, leaf; -1: scalars, tokens */
  const hlo_instr_t **callers; /* by computation; NULL: the entry */
} prop_graph_t;

/* Errors: NO_MEMORY; INVALID for rules of the program. Cost: linear in the program. */
hr_status_t prop_graph_build(spmd_program_t *program, prop_graph_t *graph);
void prop_graph_deinit(prop_graph_t *graph);
/* The lists of ops by node, anew after tensors have changed. Errors: NO_MEMORY. */
hr_status_t prop_graph_index(prop_graph_t *graph);
/* Lets constraints and ways into manual computations say how their operands are cut: constraints.c.
 * Errors: NO_MEMORY. */
hr_status_t prop_apply_constraints(prop_graph_t *graph);

static inline int prop_tensor_count(const prop_op_t *op) {
  return op->rule->operand_count + op->rule->result_count;
}

#endif
