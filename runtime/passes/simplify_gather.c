/* A gather of one slice is a dynamic slice: both move starts that are out of range to the nearest place. */
#include "passes/simplify.h"

static hr_ints_t ints(const hlo_instr_t *instr, hlo_attr_key_t key) { return hlo_attr_ints(instr, key); }

/* Element j of the only index vector, as a scalar. */
static hlo_instr_t *index_at(pass_rewrite_t *rewrite, hlo_instr_t *flat, int64_t j) {
  hlo_slice_dim_t part = {j, j + 1, 1};
  hlo_instr_t *one = pass_count(flat->shape) == 1 ? flat : pass_build_slice(rewrite, flat, &part);
  return one ? hlo_build_reshape(&rewrite->builder, one, hlo_shape_scalar(flat->shape->dtype)) : NULL;
}

static hlo_instr_t *flat_indices(pass_rewrite_t *rewrite, hlo_instr_t *indices) {
  int64_t count = pass_count(indices->shape);
  const hlo_shape_t *shape = pass_shape(rewrite, indices->shape->dtype, 1, &count);
  return shape ? hlo_build_reshape(&rewrite->builder, indices, shape) : NULL;
}

hlo_instr_t *simplify_gather(pass_rewrite_t *rewrite, hlo_instr_t *instr) {
  if (instr->op != HLO_GATHER || ints(instr, HLO_ATTR_OPERAND_BATCHING_DIMS).count) return NULL;
  hlo_instr_t *operands[1 + HLO_MAX_RANK] = {instr->operands[0]}, *indices = instr->operands[1];
  hr_ints_t map = ints(instr, HLO_ATTR_START_INDEX_MAP), sizes = ints(instr, HLO_ATTR_SLICE_SIZES);
  int rank = operands[0]->shape->rank;
  if (pass_count(indices->shape) != map.count || !map.count || rank == 0) return NULL;
  hlo_instr_t *flat = flat_indices(rewrite, indices);
  for (int d = 0; d < rank; d++) operands[1 + d] = hlo_build_number(&rewrite->builder, 0, indices->shape->dtype);
  for (int64_t j = 0; j < map.count && flat; j++) operands[1 + map.data[j]] = index_at(rewrite, flat, j);
  const hlo_shape_t *shape = pass_shape(rewrite, instr->shape->dtype, rank, sizes.data);
  hlo_attr_t attr = hlo_attr_of_ints(&rewrite->builder, HLO_ATTR_DYNAMIC_SLICE_SIZES, sizes.count, sizes.data);
  if (!shape || !flat) return NULL;
  hlo_instr_t *part = hlo_build(&rewrite->builder, HLO_DYNAMIC_SLICE, shape, 1 + rank, operands, 1, &attr, 0, NULL);
  return part ? hlo_build_reshape(&rewrite->builder, part, instr->shape) : NULL;
}
