/* Slices, concatenations, pads, and their dynamic forms with known indices:
 *
 *   slice(slice(x)), slice(concatenate(x, y)), slice(pad(x)), slice(broadcast(x))   ->   one slice
 *   concatenate(x[0:2], x[2:4])              ->   x[0:4]
 *   dynamic-slice(x, constant)               ->   slice
 *   dynamic-update-slice(x, u) of all of x   ->   u
 *
 * Exact. Dynamic starts are clamped as the spec says. */
#include "base/arith.h"
#include <string.h>

#include "passes/simplify/simplify.h"

/* ---- slice ---- */

static bool is_full_slice(const hlo_instr_t *instr) {
  return hlo_shape_same_dims(instr->shape, instr->operands[0]->shape);
}

/* Composes two slices of one dimension. An empty slice may start after the end of the inner one's
 * operand; the stride of a single element is irrelevant. */
static hlo_slice_dim_t compose_slice_dims(const hlo_slice_dim_t *inner,
                                          const hlo_slice_dim_t *outer, int64_t size) {
  hlo_slice_dim_t dim = {0, 0, 1};
  if (!size) return dim;
  dim.start = inner->start + outer->start * inner->stride;
  if (size > 1) dim.stride = inner->stride * outer->stride;
  dim.limit = dim.start + (size - 1) * dim.stride + 1;
  return dim;
}

static hlo_instr_t *slice_of_slice(pass_rewrite_t *rewrite, hlo_instr_t *instr) {
  const hlo_slice_t *outer = hlo_attr_slice(instr), *inner = hlo_attr_slice(instr->operands[0]);
  hlo_slice_dim_t dims[HLO_MAX_RANK];
  for (int d = 0; d < outer->rank; d++)
    dims[d] = compose_slice_dims(&inner->dims[d], &outer->dims[d], instr->shape->dims[d]);
  return pass_build_slice(rewrite, instr->operands[0]->operands[0], dims);
}

/* Is the slice within one operand of the concatenation? */
static hlo_instr_t *slice_of_concatenation(pass_rewrite_t *rewrite, hlo_instr_t *instr) {
  const hlo_instr_t *whole = instr->operands[0];
  const hlo_slice_t *slice = hlo_attr_slice(instr);
  int64_t along = hlo_attr_ints(whole, HLO_ATTR_DIMENSIONS).data[0], start = 0;
  hlo_slice_dim_t dims[HLO_MAX_RANK];
  memcpy(dims, slice->dims, (size_t)slice->rank * sizeof *dims);
  for (int k = 0; k < whole->operand_count; k++) {
    hlo_instr_t *part = whole->operands[k];
    int64_t end = start + part->shape->dims[along];
    if (dims[along].start >= start && dims[along].limit <= end &&
        dims[along].limit > dims[along].start) {
      dims[along].start -= start;
      dims[along].limit -= start;
      return pass_build_slice(rewrite, part, dims);
    }
    start = end;
  }
  return NULL;
}

/* Slices the operand of the broadcast instead. */
static hlo_instr_t *slice_of_broadcast(pass_rewrite_t *rewrite, hlo_instr_t *instr) {
  hlo_instr_t *broadcast = instr->operands[0], *x = broadcast->operands[0];
  hr_ints_t from = hlo_attr_ints(broadcast, HLO_ATTR_DIMENSIONS);
  hlo_slice_dim_t dims[HLO_MAX_RANK];
  for (int d = 0; d < x->shape->rank; d++) dims[d] = hlo_attr_slice(instr)->dims[from.data[d]];
  hlo_instr_t *part = x->shape->rank ? pass_build_slice(rewrite, x, dims) : x;
  return part ? hlo_build_broadcast(&rewrite->builder, part, instr->shape, from) : NULL;
}

/* Is the slice within the unpadded array? */
static hlo_instr_t *slice_of_pad(pass_rewrite_t *rewrite, hlo_instr_t *instr) {
  const hlo_instr_t *pad = instr->operands[0];
  hlo_instr_t *x = pad->operands[0];
  hlo_slice_dim_t dims[HLO_MAX_RANK];
  for (int d = 0; d < x->shape->rank; d++) {
    const hlo_padding_dim_t *edge = &hlo_attr_padding(pad)->dims[d];
    dims[d] = hlo_attr_slice(instr)->dims[d];
    dims[d].start -= edge->low;
    dims[d].limit -= edge->low;
    if (edge->interior || dims[d].start < 0 || dims[d].limit > x->shape->dims[d]) return NULL;
  }
  return pass_build_slice(rewrite, x, dims);
}

/* Slices before the transpose. */
static hlo_instr_t *slice_of_transpose(pass_rewrite_t *rewrite, hlo_instr_t *instr) {
  const hlo_instr_t *transpose = instr->operands[0];
  hr_ints_t permutation = hlo_attr_ints(transpose, HLO_ATTR_DIMENSIONS);
  hlo_slice_dim_t dims[HLO_MAX_RANK];
  if (!pass_keeps_order(permutation, instr->shape)) return NULL;
  for (int64_t d = 0; d < permutation.count; d++)
    dims[permutation.data[d]] = hlo_attr_slice(instr)->dims[d];
  hlo_instr_t *part = pass_build_slice(rewrite, transpose->operands[0], dims);
  return part ? hlo_build_reshape(&rewrite->builder, part, instr->shape) : NULL;
}

static hlo_instr_t *simplify_slice(pass_rewrite_t *rewrite, hlo_instr_t *instr) {
  hlo_instr_t *x = instr->operands[0];
  if (is_full_slice(instr)) return x;
  switch (x->op) {
    case HLO_SLICE:
      return slice_of_slice(rewrite, instr);
    case HLO_CONCATENATE:
      return slice_of_concatenation(rewrite, instr);
    case HLO_BROADCAST:
      return slice_of_broadcast(rewrite, instr);
    case HLO_PAD:
      return slice_of_pad(rewrite, instr);
    case HLO_TRANSPOSE:
      return slice_of_transpose(rewrite, instr);
    default:
      return NULL;
  }
}

/* ---- concatenate ---- */

/* Operands of a concatenation, with inner concatenations expanded and empty operands dropped; -1:
 * too many. */
static int flatten(hlo_instr_t *instr, int64_t along, hlo_instr_t **out_parts, int max_parts) {
  int count = 0;
  for (int k = 0; k < instr->operand_count; k++) {
    hlo_instr_t *part = instr->operands[k];
    bool nested =
        part->op == HLO_CONCATENATE && hlo_attr_ints(part, HLO_ATTR_DIMENSIONS).data[0] == along;
    for (int i = 0; i < (nested ? part->operand_count : 1); i++) {
      hlo_instr_t *leaf = nested ? part->operands[i] : part;
      if (!leaf->shape->dims[along]) continue;
      if (count == max_parts) return -1;
      out_parts[count++] = leaf;
    }
  }
  return count;
}

/* Is b the slice that follows a in the same array? */
static bool is_next_slice(const hlo_instr_t *a, const hlo_instr_t *b, int64_t along) {
  if (a->op != HLO_SLICE || b->op != HLO_SLICE || a->operands[0] != b->operands[0]) return false;
  const hlo_slice_t *x = hlo_attr_slice(a), *y = hlo_attr_slice(b);
  for (int d = 0; d < x->rank; d++) {
    if (x->dims[d].stride != 1 || y->dims[d].stride != 1) return false;
    bool same = x->dims[d].start == y->dims[d].start && x->dims[d].limit == y->dims[d].limit;
    if (d == along ? x->dims[d].limit != y->dims[d].start : !same) return false;
  }
  return true;
}

static hlo_instr_t *join_slices(pass_rewrite_t *rewrite, hlo_instr_t *a, const hlo_instr_t *b,
                                int64_t along) {
  hlo_slice_dim_t dims[HLO_MAX_RANK];
  memcpy(dims, hlo_attr_slice(a)->dims, (size_t)a->shape->rank * sizeof *dims);
  dims[along].limit = hlo_attr_slice(b)->dims[along].limit;
  return pass_build_slice(rewrite, a->operands[0], dims);
}

/* Joins adjacent slices of one array. */
static int join_neighbours(pass_rewrite_t *rewrite, hlo_instr_t **parts, int count, int64_t along) {
  int kept = 0;
  for (int k = 0; k < count; k++) {
    if (kept && parts[kept - 1] && is_next_slice(parts[kept - 1], parts[k], along))
      parts[kept - 1] = join_slices(rewrite, parts[kept - 1], parts[k], along);
    else
      parts[kept++] = parts[k];
  }
  return kept;
}

static bool all_of_one_scalar(hlo_instr_t *const *parts, int count) {
  for (int k = 0; k < count; k++)
    if (parts[k]->op != HLO_BROADCAST || parts[k]->operands[0]->shape->rank ||
        parts[k]->operands[0] != parts[0]->operands[0])
      return false;
  return count > 0;
}

static hlo_instr_t *simplify_concatenate(pass_rewrite_t *rewrite, hlo_instr_t *instr) {
  enum { MOST = 64 };
  hlo_instr_t *parts[MOST];
  int64_t along = hlo_attr_ints(instr, HLO_ATTR_DIMENSIONS).data[0];
  if (instr->operand_count == 1) return instr->operands[0];
  int count = flatten(instr, along, parts, MOST);
  if (count < 1) return NULL;
  if (all_of_one_scalar(parts, count))
    return pass_build_fill(rewrite, parts[0]->operands[0], instr->shape);
  count = join_neighbours(rewrite, parts, count, along);
  if (count == 1) return parts[0];
  bool same = count == instr->operand_count;
  for (int k = 0; same && k < count; k++) same = parts[k] == instr->operands[k];
  if (same) return NULL;
  return hlo_build(&rewrite->builder, HLO_CONCATENATE, instr->shape, count, parts, 1, instr->attrs,
                   0, NULL);
}

/* ---- pad ---- */

/* A pad with only negative edges is a slice. */
static hlo_instr_t *pad_as_slice(pass_rewrite_t *rewrite, hlo_instr_t *instr) {
  hlo_slice_dim_t dims[HLO_MAX_RANK];
  hlo_instr_t *x = instr->operands[0];
  for (int d = 0; d < x->shape->rank; d++) {
    const hlo_padding_dim_t *edge = &hlo_attr_padding(instr)->dims[d];
    if (edge->low > 0 || edge->high > 0 || (edge->interior && x->shape->dims[d] > 1)) return NULL;
    dims[d] = (hlo_slice_dim_t){-edge->low, x->shape->dims[d] + edge->high, 1};
    if (dims[d].start > dims[d].limit) return NULL;
  }
  return pass_build_slice(rewrite, x, dims);
}

static hlo_instr_t *simplify_pad(pass_rewrite_t *rewrite, hlo_instr_t *instr) {
  hlo_instr_t *x = instr->operands[0], *value = instr->operands[1];
  bool same = x->op == HLO_BROADCAST && x->operands[0] == value;
  if (same || !hlo_shape_elements(x->shape)) return pass_build_fill(rewrite, value, instr->shape);
  return pad_as_slice(rewrite, instr);
}

/* ---- dynamic slices ---- */

static hlo_instr_t *dynamic_slice_at(pass_rewrite_t *rewrite, hlo_instr_t *instr) {
  hlo_instr_t *x = instr->operands[0];
  hlo_slice_dim_t dims[HLO_MAX_RANK];
  if (instr->operand_count != 1 + x->shape->rank) return NULL;
  for (int d = 0; d < x->shape->rank; d++) {
    int64_t start = 0, size = instr->shape->dims[d], last = x->shape->dims[d] - size;
    if (last > 0 && !pass_splat_int(instr->operands[1 + d], &start)) return NULL;
    start = hr_max(0, hr_min(start, last));
    dims[d] = (hlo_slice_dim_t){start, start + size, 1};
  }
  return pass_build_slice(rewrite, x, dims);
}

/* Starts that can only be zero become constants, so that their computation is dead. */
static hlo_instr_t *fold_zero_starts(pass_rewrite_t *rewrite, hlo_instr_t *instr, int first,
                                     const int64_t *sizes) {
  hlo_instr_t *operands[2 + HLO_MAX_RANK], *x = instr->operands[0];
  bool changed = false;
  if (instr->operand_count != first + x->shape->rank) return NULL;
  for (int k = 0; k < instr->operand_count; k++) operands[k] = instr->operands[k];
  for (int d = 0; d < x->shape->rank; d++) {
    hlo_instr_t *start = operands[first + d];
    if (sizes[d] != x->shape->dims[d] || pass_is_scalar_constant(start)) continue;
    operands[first + d] = hlo_build_number(&rewrite->builder, 0, start->shape->dtype);
    changed = true;
  }
  return changed ? pass_build_like(rewrite, instr, operands, instr->shape) : NULL;
}

static hlo_instr_t *simplify_dynamic_slice(pass_rewrite_t *rewrite, hlo_instr_t *instr) {
  if (is_full_slice(instr)) return instr->operands[0];
  hlo_instr_t *slice = dynamic_slice_at(rewrite, instr);
  return slice ? slice : fold_zero_starts(rewrite, instr, 1, instr->shape->dims);
}

/* An update of the whole array is the update, since its start can only be zero. */
static hlo_instr_t *simplify_update(pass_rewrite_t *rewrite, hlo_instr_t *instr) {
  hlo_instr_t *x = instr->operands[0], *update = instr->operands[1];
  if (hlo_shape_same_dims(x->shape, update->shape)) return update;
  if (!hlo_shape_elements(update->shape)) return x;
  return fold_zero_starts(rewrite, instr, 2, update->shape->dims);
}

hlo_instr_t *simplify_parts(pass_rewrite_t *rewrite, hlo_instr_t *instr) {
  switch (instr->op) {
    case HLO_SLICE:
      return simplify_slice(rewrite, instr);
    case HLO_CONCATENATE:
      return simplify_concatenate(rewrite, instr);
    case HLO_PAD:
      return simplify_pad(rewrite, instr);
    case HLO_DYNAMIC_SLICE:
      return simplify_dynamic_slice(rewrite, instr);
    case HLO_DYNAMIC_UPDATE_SLICE:
      return simplify_update(rewrite, instr);
    default:
      return NULL;
  }
}
