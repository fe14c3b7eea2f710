/* Top-k along a dimension that is cut: the top-k of every part with global indices are gathered in
 * the order of the parts, and the top-k of these are taken. Among equal elements the lower index
 * comes first in every part and in the gathered list, and so in the result. An uneven dimension, or
 * one whose parts have fewer than k elements, is gathered whole. */
#include "partition/lower/lower_ops.h"

/* x[..., at[..., i]] for all i. */
static hlo_instr_t *take(spmd_lower_t *lower, hlo_instr_t *x, hlo_instr_t *at) {
  spmd_emit_t *emit = &lower->emit;
  int64_t dims[HLO_MAX_RANK], sizes[HLO_MAX_RANK], batch[HLO_MAX_RANK], last;
  if (!x || !at) return NULL;
  int rank = x->shape->rank;
  last = rank - 1;
  for (int d = 0; d < rank; d++) {
    dims[d] = at->shape->dims[d];
    sizes[d] = 1;
    batch[d] = d;
  }
  dims[rank] = 1;
  at = spmd_emit_reshape(emit, at, rank + 1, dims);
  hlo_attr_t attrs[] = {
      hlo_attr_of_ints(&emit->b, HLO_ATTR_OFFSET_DIMS, 0, NULL),
      hlo_attr_of_ints(&emit->b, HLO_ATTR_COLLAPSED_SLICE_DIMS, 1, &last),
      hlo_attr_of_ints(&emit->b, HLO_ATTR_START_INDEX_MAP, 1, &last),
      hlo_attr_of_ints(&emit->b, HLO_ATTR_OPERAND_BATCHING_DIMS, last, batch),
      hlo_attr_of_ints(&emit->b, HLO_ATTR_START_INDICES_BATCHING_DIMS, last, batch),
      hlo_attr_of_int(HLO_ATTR_INDEX_VECTOR_DIM, rank),
      hlo_attr_of_ints(&emit->b, HLO_ATTR_SLICE_SIZES, rank, sizes)};
  return hlo_build(&emit->b, HLO_GATHER, NULL, 2, (hlo_instr_t *[]){x, at},
                   sizeof attrs / sizeof *attrs, attrs, 0, NULL);
}

/* The operand with its last dimension whole, the others as chosen. */
static hlo_instr_t *gathered_operand(spmd_lower_t *lower, const spmd_choice_t *choice, int last) {
  const spmd_sharding_t *sharding = choice->tensors[0];
  if (spmd_emit_failed(&lower->emit, spmd_sharding_with_dim(lower->arena, sharding, last,
                                                            (spmd_axes_t){0}, &sharding)))
    return NULL;
  return spmd_use(lower, spmd_operand(lower, choice->instr, 0), sharding);
}

/* k = 2 of {5, 1, 7, | 2, 9, 7}: the parts give (7, 5) at 2, 0 and (9, 7) at 4, 5; of 7 5 9 7 the
 * best are 9 at 4 and the 7 that comes first, at 2. */
static hlo_instr_t *best_of_parts(spmd_lower_t *lower, const spmd_choice_t *choice, hlo_instr_t *x,
                                  int last) {
  spmd_emit_t *emit = &lower->emit;
  const hlo_instr_t *instr = choice->instr;
  spmd_axes_t axes = choice->tensors[0]->dims[last].axes;
  hlo_instr_t *local = spmd_emit_like(emit, instr, &x, NULL);
  hlo_instr_t *values = hlo_build_element(&emit->b, local, 0);
  hlo_instr_t *indices = hlo_build_element(&emit->b, local, 1);
  hlo_instr_t *start =
      spmd_part_start(lower, choice, 0, last, instr->operands[0]->shape->dims[last]);
  if (!indices) return NULL;
  start = hlo_build_convert(&emit->b, start, indices->shape->dtype);
  indices = hlo_build_binary(&emit->b, HLO_ADD, indices, spmd_emit_fill_like(emit, start, indices));
  values = spmd_emit_all_gather(emit, values, last, axes);
  indices = spmd_emit_all_gather(emit, indices, last, axes);
  hlo_instr_t *best = spmd_emit_like(emit, instr, &values, NULL);
  hlo_instr_t *both[] = {hlo_build_element(&emit->b, best, 0),
                         take(lower, indices, hlo_build_element(&emit->b, best, 1))};
  return hlo_build_tuple(&emit->b, 2, both);
}

/* An uneven dimension is gathered, as its padding could win. */
hlo_instr_t *spmd_lower_top_k(spmd_lower_t *lower, const spmd_choice_t *choice) {
  const hlo_instr_t *instr = choice->instr;
  int last = instr->operands[0]->shape->rank - 1;
  int64_t size = instr->operands[0]->shape->dims[last];
  int64_t parts = spmd_chosen_parts(choice, 0, last), k = hlo_attr_int(instr, HLO_ATTR_K);
  bool cut = parts > 1 && size % parts == 0 && size / parts >= k;
  hlo_instr_t *x =
      cut ? spmd_chosen_operand(lower, choice, 0) : gathered_operand(lower, choice, last);
  if (!x) return NULL;
  return cut ? best_of_parts(lower, choice, x, last)
             : spmd_emit_like(&lower->emit, instr, &x, NULL);
}
