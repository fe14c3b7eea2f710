/* The new first dimension counts the parts; a part has the sizes of the smaller side. */
#include "passes/comm/comm_front.h"

#include "passes/lib/pass_match.h"

static int dim_of(const hlo_instr_t *collective) {
  return (int)hlo_attr_ints(collective, HLO_ATTR_DIMENSIONS).data[0];
}

bool comm_can_front(const hlo_instr_t *collective) {
  bool has_parts = collective->op == HLO_ALL_GATHER || collective->op == HLO_REDUCE_SCATTER;
  return has_parts && hlo_attr_ints(collective, HLO_ATTR_DIMENSIONS).count == 1 &&
         collective->shape->rank < HLO_MAX_RANK;
}

/* The shape of a part, with a dimension `parts` inserted before dimension d. */
static const hlo_shape_t *shape_with(pass_rewrite_t *rewrite, const hlo_shape_t *part, int d,
                                     int64_t parts) {
  int64_t dims[HLO_MAX_RANK];
  for (int i = 0; i < part->rank; i++) dims[i + (i >= d)] = part->dims[i];
  dims[d] = parts;
  return pass_shape(rewrite, part->dtype, part->rank + 1, dims);
}

/* Number of parts; 1 if both sides have no elements. */
static int64_t quotient(const hlo_shape_t *whole, const hlo_shape_t *part, int d) {
  return part->dims[d] ? whole->dims[d] / part->dims[d] : 1;
}

/* Moves dimension `from` to position `to`. */
static hlo_instr_t *move_dim(pass_rewrite_t *rewrite, hlo_instr_t *x, int from, int to) {
  int64_t permutation[HLO_MAX_RANK];
  int next = 0;
  if (!x || from == to) return x;
  for (int i = 0; i < x->shape->rank; i++) {
    if (i == to) {
      permutation[i] = from;
      continue;
    }
    next += next == from;
    permutation[i] = next++;
  }
  return pass_build_transpose(rewrite, x, permutation);
}

hlo_instr_t *comm_front_operand(pass_rewrite_t *rewrite, const hlo_instr_t *collective,
                                hlo_instr_t *x) {
  bool gathers = collective->op == HLO_ALL_GATHER;
  const hlo_shape_t *part = gathers ? x->shape : collective->shape;
  int d = gathers ? 0 : dim_of(collective);
  int64_t parts = gathers ? 1 : quotient(x->shape, part, d);
  const hlo_shape_t *shape = shape_with(rewrite, part, d, parts);
  if (!shape) return NULL;
  return move_dim(rewrite, hlo_build_reshape(&rewrite->builder, x, shape), d, 0);
}

const hlo_shape_t *comm_front_shape(pass_rewrite_t *rewrite, const hlo_instr_t *collective) {
  const hlo_shape_t *operand = collective->operands[0]->shape;
  if (collective->op == HLO_REDUCE_SCATTER) return shape_with(rewrite, collective->shape, 0, 1);
  int64_t parts = quotient(collective->shape, operand, dim_of(collective));
  return shape_with(rewrite, operand, 0, parts);
}

hlo_instr_t *comm_front_result(pass_rewrite_t *rewrite, const hlo_instr_t *collective,
                               hlo_instr_t *x) {
  if (collective->op == HLO_ALL_GATHER) x = move_dim(rewrite, x, 0, dim_of(collective));
  return x ? hlo_build_reshape(&rewrite->builder, x, collective->shape) : NULL;
}
