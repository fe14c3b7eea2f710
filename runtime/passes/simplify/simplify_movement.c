/* Reshapes, transposes, broadcasts, reverses and iotas:
 *
 *   reshape(reshape(x)), transpose(transpose(x)), broadcast(broadcast(x))   ->   one of them
 *   transpose that moves only dimensions of size 1                          ->   reshape
 *   transpose(reshape(dot)), a reshape that adds dimensions of size 1       ->   reshape(transpose)
 *   reshape(broadcast(x))                                                   ->   broadcast(x)
 *
 * Reshapes cost nothing, as arrays are dense and row-major. Exact. */
#include "passes/simplify/simplify.h"

#define MAX_STACKED 16

static hr_ints_t dims_of(const hlo_instr_t *instr) {
  return hlo_attr_ints(instr, HLO_ATTR_DIMENSIONS);
}

static bool is_increasing(hr_ints_t dims) {
  for (int64_t i = 1; i < dims.count; i++)
    if (dims.data[i] <= dims.data[i - 1]) return false;
  return true;
}

/* For each dimension of `from` its number in `to`, which has the same sizes apart from 1; -1 for
 * dimensions of size 1. */
static void match_dims(const hlo_shape_t *from, const hlo_shape_t *to, int64_t *out_dims) {
  for (int d = 0, t = 0; d < from->rank; d++) {
    out_dims[d] = -1;
    if (from->dims[d] == 1) continue;
    while (to->dims[t] == 1) t++;
    out_dims[d] = t++;
  }
}

/* x without the dimensions whose `keep` is false, which must have size 1. */
static hlo_instr_t *drop_ones(pass_rewrite_t *rewrite, hlo_instr_t *x, const bool *keep) {
  int64_t sizes[HLO_MAX_RANK];
  int rank = 0;
  for (int d = 0; d < x->shape->rank; d++)
    if (keep[d]) sizes[rank++] = x->shape->dims[d];
  if (rank == x->shape->rank) return x;
  const hlo_shape_t *shape = pass_shape(rewrite, x->shape->dtype, rank, sizes);
  return shape ? hlo_build_reshape(&rewrite->builder, x, shape) : NULL;
}

/* ---- reshape ---- */

/* A reshape of a broadcast that moves no elements across dimensions becomes a broadcast to the new
 * shape. */
static hlo_instr_t *reshape_of_broadcast(pass_rewrite_t *rewrite, hlo_instr_t *instr) {
  hlo_instr_t *broadcast = instr->operands[0], *x = broadcast->operands[0];
  int64_t to[HLO_MAX_RANK], dims[HLO_MAX_RANK];
  bool keep[HLO_MAX_RANK];
  int rank = 0;
  if (x->shape->rank == 0) return pass_build_fill(rewrite, x, instr->shape);
  if (!pass_same_without_ones(broadcast->shape, instr->shape) || !is_increasing(dims_of(broadcast)))
    return NULL;
  match_dims(broadcast->shape, instr->shape, to);
  for (int d = 0; d < x->shape->rank; d++) {
    int64_t target = to[dims_of(broadcast).data[d]];
    keep[d] = target >= 0;
    if (keep[d]) dims[rank++] = target;
  }
  return hlo_build_broadcast(&rewrite->builder, drop_ones(rewrite, x, keep), instr->shape,
                             (hr_ints_t){dims, rank});
}

/* If only dimensions of size 1 are added or dropped, the result is an iota along the same
 * dimension. */
static hlo_instr_t *reshape_of_iota(pass_rewrite_t *rewrite, hlo_instr_t *instr) {
  const hlo_instr_t *iota = instr->operands[0];
  int64_t to[HLO_MAX_RANK], dim = hlo_attr_int(iota, HLO_ATTR_IOTA_DIMENSION);
  if (!pass_same_without_ones(iota->shape, instr->shape)) return NULL;
  match_dims(iota->shape, instr->shape, to);
  if (to[dim] < 0) return NULL;
  hlo_attr_t attr = hlo_attr_of_int(HLO_ATTR_IOTA_DIMENSION, to[dim]);
  return hlo_build(&rewrite->builder, HLO_IOTA, instr->shape, 0, NULL, 1, &attr, 0, NULL);
}

/* Drops dimensions of size 1 before the transpose, so that products see the transpose. */
static hlo_instr_t *reshape_of_transpose(pass_rewrite_t *rewrite, hlo_instr_t *instr) {
  hlo_instr_t *transpose = instr->operands[0], *x = transpose->operands[0];
  hr_ints_t permutation = dims_of(transpose);
  int64_t to[HLO_MAX_RANK], order[HLO_MAX_RANK];
  bool keep[HLO_MAX_RANK];
  int rank = 0;
  for (int d = 0; d < x->shape->rank; d++) {
    keep[d] = x->shape->dims[d] != 1;
    to[d] = keep[d] ? rank++ : -1;
  }
  if (rank != instr->shape->rank || !pass_same_without_ones(transpose->shape, instr->shape))
    return NULL;
  for (int64_t d = 0, next = 0; d < permutation.count; d++)
    if (keep[permutation.data[d]]) order[next++] = to[permutation.data[d]];
  return pass_build_transpose(rewrite, drop_ones(rewrite, x, keep), order);
}

static hlo_instr_t *simplify_reshape(pass_rewrite_t *rewrite, hlo_instr_t *instr) {
  hlo_instr_t *x = instr->operands[0];
  if (hlo_shape_equal(x->shape, instr->shape)) return x;
  if (x->op == HLO_RESHAPE)
    return hlo_build_reshape(&rewrite->builder, x->operands[0], instr->shape);
  if (x->op == HLO_IOTA) return reshape_of_iota(rewrite, instr);
  if (x->op == HLO_TRANSPOSE) return reshape_of_transpose(rewrite, instr);
  return x->op == HLO_BROADCAST ? reshape_of_broadcast(rewrite, instr) : NULL;
}

/* ---- transpose ---- */

static hlo_instr_t *transpose_of_transpose(pass_rewrite_t *rewrite, hlo_instr_t *instr) {
  hr_ints_t outer = dims_of(instr), inner = dims_of(instr->operands[0]);
  int64_t both[HLO_MAX_RANK];
  for (int64_t i = 0; i < outer.count; i++) both[i] = inner.data[outer.data[i]];
  return pass_build_transpose(rewrite, instr->operands[0]->operands[0], both);
}

/* The transposed piece, if the transpose is a reshape. */
static hlo_instr_t *transposed_slice(pass_rewrite_t *rewrite, hlo_instr_t *piece,
                                     hr_ints_t permutation) {
  int64_t sizes[HLO_MAX_RANK];
  for (int64_t d = 0; d < permutation.count; d++)
    sizes[d] = piece->shape->dims[permutation.data[d]];
  const hlo_shape_t *shape =
      pass_shape(rewrite, piece->shape->dtype, (int)permutation.count, sizes);
  if (!shape || !pass_keeps_order(permutation, shape)) return NULL;
  return hlo_build_reshape(&rewrite->builder, piece, shape);
}

/* Stacks the vectors along the other dimension instead. */
static hlo_instr_t *transpose_of_concatenation(pass_rewrite_t *rewrite, hlo_instr_t *instr) {
  hlo_instr_t *whole = instr->operands[0], *pieces[MAX_STACKED];
  hr_ints_t permutation = dims_of(instr);
  int64_t along = 0;
  if (whole->operand_count > MAX_STACKED || pass_use_count(rewrite, whole) > 1) return NULL;
  while (permutation.data[along] != dims_of(whole).data[0]) along++;
  for (int k = 0; k < whole->operand_count; k++) {
    pieces[k] = transposed_slice(rewrite, whole->operands[k], permutation);
    if (!pieces[k]) return NULL;
  }
  hlo_attr_t attr = hlo_attr_of_ints(&rewrite->builder, HLO_ATTR_DIMENSIONS, 1, &along);
  return hlo_build(&rewrite->builder, HLO_CONCATENATE, instr->shape, whole->operand_count, pieces,
                   1, &attr, 0, NULL);
}

/* Adds dimensions of size 1 to a product after the transpose, which the product then sees. */
static hlo_instr_t *transpose_of_widened_dot(pass_rewrite_t *rewrite, hlo_instr_t *instr) {
  hlo_instr_t *reshape = instr->operands[0], *x = reshape->operands[0];
  hr_ints_t permutation = dims_of(instr);
  int64_t to[HLO_MAX_RANK], order[HLO_MAX_RANK];
  int rank = 0;
  if (x->op != HLO_DOT || pass_use_count(rewrite, reshape) > 1 ||
      !pass_same_without_ones(reshape->shape, x->shape))
    return NULL;
  match_dims(reshape->shape, x->shape, to);
  for (int64_t d = 0; d < permutation.count; d++)
    if (to[permutation.data[d]] >= 0) order[rank++] = to[permutation.data[d]];
  if (rank < x->shape->rank) return NULL;
  hlo_instr_t *transposed = pass_build_transpose(rewrite, x, order);
  return transposed ? hlo_build_reshape(&rewrite->builder, transposed, instr->shape) : NULL;
}

static hlo_instr_t *simplify_transpose(pass_rewrite_t *rewrite, hlo_instr_t *instr) {
  hlo_instr_t *x = instr->operands[0];
  if (pass_keeps_order(dims_of(instr), instr->shape))
    return hlo_shape_equal(x->shape, instr->shape)
               ? x
               : hlo_build_reshape(&rewrite->builder, x, instr->shape);
  switch (x->op) {
    case HLO_TRANSPOSE:
      return transpose_of_transpose(rewrite, instr);
    case HLO_CONCATENATE:
      return transpose_of_concatenation(rewrite, instr);
    case HLO_RESHAPE:
      return transpose_of_widened_dot(rewrite, instr);
    case HLO_BROADCAST:
    case HLO_IOTA:
      return pass_build_transposed(rewrite, x, dims_of(instr));
    default:
      return pass_transpose_is_free(rewrite, x, dims_of(instr))
                 ? pass_build_transposed(rewrite, x, dims_of(instr))
                 : NULL;
  }
}

/* ---- broadcast ---- */

static hlo_instr_t *broadcast_of_broadcast(pass_rewrite_t *rewrite, hlo_instr_t *instr) {
  hlo_instr_t *inner = instr->operands[0];
  hr_ints_t outer = dims_of(instr), dims = dims_of(inner);
  int64_t both[HLO_MAX_RANK];
  for (int64_t i = 0; i < dims.count; i++) both[i] = outer.data[dims.data[i]];
  return hlo_build_broadcast(&rewrite->builder, inner->operands[0], instr->shape,
                             (hr_ints_t){both, dims.count});
}

/* A reshape that only adds dimensions of size 1 is merged into the broadcast. */
static hlo_instr_t *broadcast_of_reshape(pass_rewrite_t *rewrite, hlo_instr_t *instr) {
  hlo_instr_t *reshape = instr->operands[0], *x = reshape->operands[0];
  int64_t to[HLO_MAX_RANK], dims[HLO_MAX_RANK];
  if (!pass_same_without_ones(x->shape, reshape->shape)) return NULL;
  match_dims(x->shape, reshape->shape, to);
  for (int d = 0; d < x->shape->rank; d++) {
    if (to[d] < 0) return NULL;
    dims[d] = dims_of(instr).data[to[d]];
  }
  return hlo_build_broadcast(&rewrite->builder, x, instr->shape, (hr_ints_t){dims, x->shape->rank});
}

/* An iota along one dimension of the result. */
static hlo_instr_t *broadcast_of_iota(pass_rewrite_t *rewrite, hlo_instr_t *instr) {
  int64_t dim = dims_of(instr).data[hlo_attr_int(instr->operands[0], HLO_ATTR_IOTA_DIMENSION)];
  hlo_attr_t attr = hlo_attr_of_int(HLO_ATTR_IOTA_DIMENSION, dim);
  return hlo_build(&rewrite->builder, HLO_IOTA, instr->shape, 0, NULL, 1, &attr, 0, NULL);
}

static hlo_instr_t *simplify_broadcast(pass_rewrite_t *rewrite, hlo_instr_t *instr) {
  hlo_instr_t *x = instr->operands[0];
  bool in_order = is_increasing(dims_of(instr));
  if (in_order && hlo_shape_equal(x->shape, instr->shape)) return x;
  if (x->op == HLO_BROADCAST) return broadcast_of_broadcast(rewrite, instr);
  if (x->op == HLO_IOTA) return broadcast_of_iota(rewrite, instr);
  if (in_order && pass_same_without_ones(x->shape, instr->shape) && x->shape->rank)
    return hlo_build_reshape(&rewrite->builder, x, instr->shape);
  return x->op == HLO_RESHAPE && in_order ? broadcast_of_reshape(rewrite, instr) : NULL;
}

/* ---- reverse ---- */

static hlo_instr_t *simplify_reverse(pass_rewrite_t *rewrite, hlo_instr_t *instr) {
  hlo_instr_t *x = instr->operands[0];
  hr_ints_t dims = dims_of(instr);
  uint64_t turned = 0;
  int64_t left[HLO_MAX_RANK];
  int count = 0;
  bool twice = x->op == HLO_REVERSE, shorter = false;
  for (int64_t i = 0; i < dims.count; i++) turned ^= UINT64_C(1) << dims.data[i];
  for (int64_t i = 0; twice && i < dims_of(x).count; i++)
    turned ^= UINT64_C(1) << dims_of(x).data[i];
  for (int64_t d = 0; d < x->shape->rank; d++) {
    bool is_transposed = turned >> d & 1;
    if (is_transposed && x->shape->dims[d] > 1) left[count++] = d;
    shorter |= is_transposed && x->shape->dims[d] <= 1;
  }
  hlo_instr_t *from = twice ? x->operands[0] : x;
  if (!count || pass_splat_of(x)) return from;
  if (!twice && !shorter) return NULL;
  hlo_attr_t attr = hlo_attr_of_ints(&rewrite->builder, HLO_ATTR_DIMENSIONS, count, left);
  return hlo_build(&rewrite->builder, HLO_REVERSE, instr->shape, 1, &from, 1, &attr, 0, NULL);
}

/* An iota of one element is zero. */
static hlo_instr_t *simplify_iota(pass_rewrite_t *rewrite, hlo_instr_t *instr) {
  if (instr->shape->dims[hlo_attr_int(instr, HLO_ATTR_IOTA_DIMENSION)] != 1) return NULL;
  return pass_build_fill(rewrite, hlo_build_number(&rewrite->builder, 0, instr->shape->dtype),
                         instr->shape);
}

hlo_instr_t *simplify_movement(pass_rewrite_t *rewrite, hlo_instr_t *instr) {
  switch (instr->op) {
    case HLO_RESHAPE:
      return simplify_reshape(rewrite, instr);
    case HLO_TRANSPOSE:
      return simplify_transpose(rewrite, instr);
    case HLO_BROADCAST:
      return simplify_broadcast(rewrite, instr);
    case HLO_REVERSE:
      return simplify_reverse(rewrite, instr);
    case HLO_IOTA:
      return simplify_iota(rewrite, instr);
    default:
      return NULL;
  }
}
