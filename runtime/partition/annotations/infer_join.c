/* Joins corresponding dimensions of operands and results: by the sharding rules of operations, by
 * position for tuples, calls, loops and branches. A collective keeps all dimensions but the one
 * that it gathers, scatters or exchanges; other operations that move parts between devices join
 * nothing. */
#include <string.h>

#include "partition/annotations/infer.h"

/* Joins all dimensions of two values of one shape. */
static void join_values(infer_t *x, const hlo_instr_t *a, const hlo_instr_t *b) {
  int count = infer_dim_count(a->shape);
  if (count != infer_dim_count(b->shape)) return;
  for (int i = 0; i < count; i++) infer_join(x, infer_first(x, a) + i, infer_first(x, b) + i);
}

/* The concatenated leaves of the operands are the leaves of the result. */
static void join_leaves(infer_t *x, const hlo_instr_t *instr) {
  int at = infer_first(x, instr), end = at + infer_dim_count(instr->shape);
  for (int k = 0; k < instr->operand_count; k++) {
    int count = infer_dim_count(instr->operands[k]->shape);
    for (int i = 0; i < count && at + i < end; i++)
      infer_join(x, infer_first(x, instr->operands[k]) + i, at + i);
    at += count;
  }
}

static void join_element(infer_t *x, const hlo_instr_t *element) {
  const hlo_instr_t *tuple = element->operands[0];
  int at = infer_first(x, tuple), count = infer_dim_count(element->shape);
  for (int64_t i = 0; i < hlo_attr_int(element, HLO_ATTR_INDEX); i++)
    at += infer_dim_count(tuple->shape->elements[i]);
  for (int i = 0; i < count; i++) infer_join(x, at + i, infer_first(x, element) + i);
}

static void join_call(infer_t *x, const hlo_instr_t *instr, const hlo_computation_t *called) {
  for (int k = 0; k < instr->operand_count && k < (int)called->params.count; k++)
    join_values(x, instr->operands[k], called->params.data[k]);
  join_values(x, called->root, instr);
}

/* The state is cut alike before, in and after the loop. */
static void join_while(infer_t *x, const hlo_instr_t *instr) {
  const hlo_computation_t *condition = instr->called[0], *body = instr->called[1];
  join_values(x, instr->operands[0], instr);
  join_values(x, instr, body->params.data[0]);
  join_values(x, instr, body->root);
  join_values(x, instr, condition->params.data[0]);
}

static void join_branches(infer_t *x, const hlo_instr_t *instr) {
  for (int b = 0; b < instr->called_count; b++) {
    join_values(x, instr->operands[b + 1], instr->called[b]->params.data[0]);
    join_values(x, instr->called[b]->root, instr);
  }
}

/* A bitcast keeps the bytes: dimensions of one size correspond if the products of the dimensions
 * before them are equal. */
static void join_bitcast(infer_t *x, const hlo_instr_t *instr) {
  const hlo_shape_t *from = instr->operands[0]->shape, *to = instr->shape;
  int64_t before_from = 1, before_to = 1;
  int i = 0, j = 0;
  while (i < from->rank && j < to->rank) {
    int a = infer_physical_dim(from, i), b = infer_physical_dim(to, j);
    if (before_from == before_to && from->dims[a] == to->dims[b]) {
      infer_join(x, infer_first(x, instr->operands[0]) + a, infer_first(x, instr) + b);
      before_from *= from->dims[a];
      before_to *= to->dims[b];
      i++;
      j++;
    } else if (before_from * from->dims[a] <= before_to * to->dims[b]) {
      before_from *= from->dims[a];
      i++;
    } else {
      before_to *= to->dims[b];
      j++;
    }
  }
}

/* Joins all dimensions but `special`, that of a collective. */
static void join_but(infer_t *x, const hlo_instr_t *instr, int64_t special) {
  int at = infer_first(x, instr);
  for (int k = 0; k < instr->operand_count; k++) {
    const hlo_shape_t *shape = instr->operands[k]->shape;
    for (int d = 0; d < shape->rank; d++)
      if (d != special) infer_join(x, infer_first(x, instr->operands[k]) + d, at + d);
    at += shape->rank;
  }
}

/* Joins the dimensions that consist of the same single factor and have its size. */
static hr_status_t join_by_rule(infer_t *x, const hlo_instr_t *instr) {
  const spmd_rule_t *rule;
  int *nodes, at = infer_first(x, instr);
  HR_TRY(spmd_rule_create(x->arena, instr, &rule));
  if (!rule || rule->operand_count != instr->operand_count) return NULL;
  HR_TRY(HR_NEW_ARRAY(x->arena, rule->factor_count + 1, &nodes));
  memset(nodes, -1, (size_t)rule->factor_count * sizeof *nodes);
  for (int t = 0; t < rule->operand_count + rule->result_count; t++) {
    const spmd_tensor_factors_t *tensor = &rule->tensors[t];
    bool is_operand = t < rule->operand_count;
    const hlo_shape_t *shape = is_operand ? instr->operands[t]->shape
                                          : hlo_shape_leaf(instr->shape, t - rule->operand_count);
    int node = is_operand ? infer_first(x, instr->operands[t]) : at;
    for (int d = 0; d < tensor->rank && d < shape->rank; d++) {
      int factor = tensor->dims[d].count == 1 ? tensor->dims[d].factors[0] : -1;
      if (factor < 0 || rule->factors[factor].size != shape->dims[d]) continue;
      if (nodes[factor] >= 0) infer_join(x, nodes[factor], node + d);
      nodes[factor] = node + d;
    }
    if (!is_operand) at += shape->rank;
  }
  return NULL;
}

hr_status_t infer_join_instr(infer_t *x, const hlo_instr_t *instr) {
  switch (instr->op) {
    case HLO_TUPLE:
    case HLO_ALL_REDUCE:
    case HLO_ALL_REDUCE_START:
    case HLO_ALL_REDUCE_DONE:
    case HLO_OPT_BARRIER:
    case HLO_COPY:
      join_leaves(x, instr);
      return NULL;
    case HLO_GET_TUPLE_ELEMENT:
      join_element(x, instr);
      return NULL;
    case HLO_CALL:
    case HLO_FUSION:
      join_call(x, instr, instr->called[0]);
      return NULL;
    case HLO_WHILE:
      join_while(x, instr);
      return NULL;
    case HLO_CONDITIONAL:
      join_branches(x, instr);
      return NULL;
    case HLO_BITCAST:
      join_bitcast(x, instr);
      return NULL;
    case HLO_ALL_GATHER:
    case HLO_REDUCE_SCATTER:
      join_but(x, instr, infer_dimension(instr));
      return NULL;
    case HLO_ALL_TO_ALL:
      if (infer_dimension(instr) >= 0) join_but(x, instr, infer_dimension(instr));
      return NULL;
    default: /* other communication moves parts between devices */
      return hlo_op_is(instr->op, OP_COMM) ? NULL : join_by_rule(x, instr);
  }
}
