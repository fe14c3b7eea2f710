/* Convolutions that are products: a 1x1 or a full window becomes a dot, of a slice of the input
 * where the window strides or does not reach all of it. Sums may be added in another order. */
#include "passes/simplify/simplify_dots.h"

/* Window along a dimension: one element that slides over the input (pointwise), or the whole input
 * without sliding (full). */
typedef enum conv_along { CONV_OTHER, CONV_POINTWISE, CONV_FULL } conv_along_t;

/* *out_read: range of the input elements that are read. */
static conv_along_t along_dim(const hlo_window_dim_t *window, int64_t in, int64_t out,
                              hlo_slice_dim_t *out_read) {
  bool is_pointwise = window->size == 1;
  int64_t start = -window->pad_low, count = is_pointwise ? out : window->size,
          step = is_pointwise ? window->stride : window->window_dilation, last;
  if (window->base_dilation != 1 || start < 0 || count < 1) return CONV_OTHER;
  if (!is_pointwise && (out != 1 || window->reversal)) return CONV_OTHER;
  if (__builtin_mul_overflow(count - 1, step, &last) ||
      __builtin_add_overflow(last, start, &last) || last >= in)
    return CONV_OTHER;
  *out_read = (hlo_slice_dim_t){start, last + 1, step};
  return is_pointwise ? CONV_POINTWISE : CONV_FULL;
}

/* Is the output in order: batch and pointwise dimensions of the left side first, in the left side's
 * order, and the feature last? */
static bool output_is_in_order(const hlo_dim_labels_t *labels, const conv_along_t *along) {
  int64_t to[HLO_MAX_RANK], last = -1;
  for (int d = 0; d < labels->lhs_rank; d++) to[d] = -1;
  to[labels->lhs_batch] = labels->out_batch;
  for (int s = 0; s < labels->spatial_rank; s++)
    if (along[s] == CONV_POINTWISE) to[labels->lhs_spatial[s]] = labels->out_spatial[s];
  for (int d = 0; d < labels->lhs_rank; d++) {
    if (to[d] < 0) continue;
    if (to[d] < last) return false;
    last = to[d];
  }
  return labels->out_feature > last;
}

/* The dimensions contracted on both sides: features, and full spatial dimensions. */
static int contracted_dims(const hlo_dim_labels_t *labels, const conv_along_t *along, int64_t *left,
                           int64_t *right) {
  int count = 0;
  left[count] = labels->lhs_feature;
  right[count++] = labels->rhs_input_feature;
  for (int s = 0; s < labels->spatial_rank; s++) {
    if (along[s] != CONV_FULL) continue;
    left[count] = labels->lhs_spatial[s];
    right[count++] = labels->rhs_spatial[s];
  }
  return count;
}

/* Classifies all dimensions; also finds the range of the input elements that are read. */
static bool classify(const hlo_instr_t *conv, const hlo_dim_labels_t *labels, conv_along_t *along,
                     hlo_slice_dim_t *read) {
  const hlo_window_t *window = hlo_attr_window(conv);
  const hlo_shape_t *in = conv->operands[0]->shape;
  if (labels->spatial_rank && (!window || window->rank != labels->spatial_rank)) return false;
  for (int d = 0; d < in->rank; d++) read[d] = (hlo_slice_dim_t){0, in->dims[d], 1};
  for (int s = 0; s < labels->spatial_rank; s++) {
    int64_t d = labels->lhs_spatial[s];
    along[s] = along_dim(&window->dims[s], in->dims[d], conv->shape->dims[labels->out_spatial[s]],
                         &read[d]);
    if (along[s] == CONV_OTHER) return false;
  }
  return output_is_in_order(labels, along);
}

static hlo_instr_t *read_part(pass_rewrite_t *rewrite, hlo_instr_t *x,
                              const hlo_slice_dim_t *read) {
  bool is_whole = true;
  for (int d = 0; d < x->shape->rank; d++)
    is_whole &= read[d].start == 0 && read[d].limit == x->shape->dims[d] && read[d].stride == 1;
  return is_whole ? x : pass_build_slice(rewrite, x, read);
}

/* The kernel's pointwise dimensions, all of size 1, become free dimensions of the product. A
 * reshape drops them from the result and restores full dimensions with size 1. */
hlo_instr_t *dot_of_convolution(pass_rewrite_t *rewrite, hlo_instr_t *conv) {
  const hlo_dim_labels_t *labels = hlo_attr_labels(conv);
  conv_along_t along[HLO_MAX_RANK];
  hlo_slice_dim_t read[HLO_MAX_RANK];
  int64_t left[HLO_MAX_RANK], right[HLO_MAX_RANK], sizes[HLO_MAX_RANK];
  int rank = 0;
  if (hlo_attr_int(conv, HLO_ATTR_FEATURE_GROUP_COUNT) > 1 ||
      hlo_attr_int(conv, HLO_ATTR_BATCH_GROUP_COUNT) > 1)
    return NULL;
  if (labels->lhs_unused || labels->rhs_unused || labels->out_unused ||
      hlo_attr_has(conv, HLO_ATTR_SPARSITY_CONFIG) || !hlo_shape_elements(conv->shape) ||
      !classify(conv, labels, along, read))
    return NULL;
  hlo_instr_t *input = read_part(rewrite, conv->operands[0], read);
  if (!input) return NULL;
  int count = contracted_dims(labels, along, left, right);
  dot_side_t sides[2] = {{input, {NULL, 0}, {left, count}},
                         {conv->operands[1], {NULL, 0}, {right, count}}};
  for (int s = 0; s < 2; s++)
    for (int d = 0; d < sides[s].x->shape->rank; d++)
      if (dot_dim_role(&sides[s], d) == FREE) sizes[rank++] = sides[s].x->shape->dims[d];
  hlo_instr_t *dot =
      dot_build(rewrite, conv, sides, pass_shape(rewrite, conv->shape->dtype, rank, sizes));
  return dot ? hlo_build_reshape(&rewrite->builder, dot, conv->shape) : NULL;
}
