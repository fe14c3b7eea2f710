/* Relabelling of convolutions: the same convolution of operands, or into a result, whose dimensions
 * were permuted. Only dimension labels change; kernel, window and groups stay. */
#include "passes/lib/pass_conv.h"

bool pass_conv_is_plain(const hlo_instr_t *conv) {
  const hlo_dim_labels_t *labels = hlo_attr_labels(conv);
  bool unused = labels->lhs_unused || labels->rhs_unused || labels->out_unused;
  return !unused && !hlo_attr_has(conv, HLO_ATTR_SPARSITY_CONFIG);
}

/* positions[d] is the new position of dimension d; NULL: unchanged. */
static hr_status_t move_side(hr_arena_t *arena, int spatial_rank, const int64_t *positions,
                             int64_t *one, int64_t *other, const int64_t **spatial) {
  hr_ints_t kept;
  int64_t moved[HLO_MAX_RANK];
  if (!positions) return NULL;
  *one = positions[*one];
  *other = positions[*other];
  for (int s = 0; s < spatial_rank; s++) moved[s] = positions[(*spatial)[s]];
  HR_TRY(hr_arena_ints(arena, moved, spatial_rank, &kept));
  *spatial = kept.data;
  return NULL;
}

/* Relabels the three sides. */
static hr_status_t move_labels(hr_arena_t *arena, const hlo_dim_labels_t *from,
                               const int64_t *const positions[PASS_CONV_SIDES],
                               const hlo_dim_labels_t **out_labels) {
  hlo_dim_labels_t *to;
  HR_TRY(HR_NEW(arena, &to));
  *to = *from;
  int rank = from->spatial_rank;
  HR_TRY(move_side(arena, rank, positions[PASS_CONV_LHS], &to->lhs_batch, &to->lhs_feature,
                   &to->lhs_spatial));
  HR_TRY(move_side(arena, rank, positions[PASS_CONV_RHS], &to->rhs_input_feature,
                   &to->rhs_output_feature, &to->rhs_spatial));
  HR_TRY(move_side(arena, rank, positions[PASS_CONV_OUT], &to->out_batch, &to->out_feature,
                   &to->out_spatial));
  *out_labels = to;
  return NULL;
}

/* The convolution of permuted operands, or with a permuted result. */
hlo_instr_t *pass_conv_relabel(pass_rewrite_t *rewrite, const hlo_instr_t *conv,
                               hlo_instr_t *const *operands, const hlo_shape_t *shape,
                               const int64_t *const positions[PASS_CONV_SIDES]) {
  hlo_attr_t attr = {.key = HLO_ATTR_DIM_LABELS};
  hlo_builder_t *builder = &rewrite->builder;
  if (!builder->status)
    builder->status = move_labels(rewrite->arena, hlo_attr_labels(conv), positions, &attr.labels);
  return builder->status ? NULL : pass_build_with(rewrite, conv, operands, shape, &attr);
}
