/* An array of all-to-all is packed as a matrix: its first dimension, and all others together. One
 * of a permute is packed as a vector. */
#include "passes/comm/comm_pack.h"

#include <string.h>

#include "passes/lib/pass_match.h"

bool comm_can_pack(const hlo_instr_t *collective) {
  const hlo_shape_t *shape = collective->shape;
  if (collective->operand_count != 1 || !hlo_shape_is_array(shape)) return false;
  if (collective->op == HLO_COLLECTIVE_PERMUTE)
    return hlo_shape_equal(shape, collective->operands[0]->shape);
  if (collective->op != HLO_ALL_TO_ALL) return false;
  hr_ints_t dims = hlo_attr_ints(collective, HLO_ATTR_DIMENSIONS);
  return dims.count == 1 && dims.data[0] == 0 && shape->dims[0] > 0;
}

static bool has_same_pairs(const hlo_instr_t *x, const hlo_instr_t *y) {
  const hlo_int_lists_t *a = hlo_attr_lists(x, HLO_ATTR_SOURCE_TARGET_PAIRS);
  const hlo_int_lists_t *b = hlo_attr_lists(y, HLO_ATTR_SOURCE_TARGET_PAIRS);
  if (a->count != b->count) return false;
  for (int64_t i = 0; i < a->count; i++)
    if (memcmp(a->lists[i].data, b->lists[i].data, 2 * sizeof(int64_t))) return false;
  return true;
}

bool comm_packs_with(const hlo_instr_t *x, const hlo_instr_t *y) {
  if (x->op != y->op || !comm_can_pack(x) || !comm_can_pack(y)) return false;
  if (x->shape->dtype != y->shape->dtype) return false;
  return x->op == HLO_ALL_TO_ALL ? x->shape->dims[0] == y->shape->dims[0] : has_same_pairs(x, y);
}

/* The packed shape of an array of `elements` elements. */
static const hlo_shape_t *packed_shape(pass_rewrite_t *rewrite, const hlo_instr_t *like,
                                       int64_t elements) {
  hr_dtype_t dtype = like->shape->dtype;
  if (like->op == HLO_COLLECTIVE_PERMUTE) return pass_shape(rewrite, dtype, 1, &elements);
  int64_t rows = like->shape->dims[0], matrix[] = {rows, elements / rows};
  return pass_shape(rewrite, dtype, 2, matrix);
}

static hlo_instr_t *reshaped(pass_rewrite_t *rewrite, hlo_instr_t *x, const hlo_shape_t *shape) {
  if (!x || !shape || hlo_shape_equal(x->shape, shape)) return shape ? x : NULL;
  return hlo_build_reshape(&rewrite->builder, x, shape);
}

hlo_instr_t *comm_build_packed(pass_rewrite_t *rewrite, hlo_instr_t *const *members, int count) {
  hlo_builder_t *b = &rewrite->builder;
  int64_t elements = 0;
  hlo_instr_t **parts;
  hr_status_t st = HR_NEW_ARRAY(&rewrite->scratch, count, &parts);
  if (st) {
    b->status = hr_status_join(b->status, st);
    return NULL;
  }
  for (int i = 0; i < count; i++) {
    int64_t own = hlo_shape_elements(members[i]->shape);
    parts[i] = reshaped(rewrite, pass_resolve(rewrite, members[i]->operands[0]),
                        packed_shape(rewrite, members[i], own));
    if (!parts[i]) return NULL;
    elements += own;
  }
  const hlo_shape_t *whole = packed_shape(rewrite, members[0], elements);
  if (!whole) return NULL;
  hlo_attr_t along = hlo_attr_of_ints(b, HLO_ATTR_DIMENSIONS, 1, &(int64_t){whole->rank - 1});
  hlo_instr_t *all = hlo_build(b, HLO_CONCATENATE, whole, count, parts, 1, &along, 0, NULL);
  return all ? pass_build_like(rewrite, members[0], &all, whole) : NULL;
}

hlo_instr_t *comm_unpack(pass_rewrite_t *rewrite, const hlo_instr_t *member, hlo_instr_t *packed,
                         int64_t *offset) {
  const hlo_shape_t *shape = packed_shape(rewrite, member, hlo_shape_elements(member->shape));
  hlo_slice_dim_t dims[2];
  if (!packed || !shape) return NULL;
  for (int d = 0; d < shape->rank; d++) dims[d] = (hlo_slice_dim_t){0, shape->dims[d], 1};
  hlo_slice_dim_t *last = &dims[shape->rank - 1];
  last->start = *offset;
  last->limit += *offset;
  *offset = last->limit;
  return reshaped(rewrite, pass_build_slice(rewrite, packed, dims), member->shape);
}
