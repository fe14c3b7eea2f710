/* Convolutions that are products: a 1x1 or a full window, or one that strides by its own size
 * (patches), becomes a dot, of a slice of the input where the window strides or does not reach all
 * of it. Sums may be added in another order. */
#include "passes/simplify/simplify_dots.h"

/* Window along a dimension: one element that slides over the input (pointwise), the whole input
 * without sliding (full), or parts side by side (patches). */
typedef enum conv_along { CONV_OTHER, CONV_POINTWISE, CONV_FULL, CONV_PATCHES } conv_along_t;

enum {
  PATCH_TERMS = 64, /* least terms of a product of patches */
  PATCH_RUN = 8     /* least elements of a patch in line */
};

/* *out_read: range of the input elements that are read. */
static conv_along_t along_dim(const hlo_window_dim_t *window, int64_t in, int64_t out,
                              hlo_slice_dim_t *out_read) {
  if (window->size > 1 && out > 1 && window->stride == window->size && !window->pad_low &&
      window->pad_high <= 0 && window->window_dilation == 1 && window->base_dilation == 1 &&
      !window->reversal && out <= in / window->size) {
    *out_read = (hlo_slice_dim_t){0, out * window->size, 1};
    return CONV_PATCHES;
  }
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

/* The output dimension of each dimension of the product: batch and those that are not full, in the
 * left side's order, then the feature. *out_in_order: the output has this order. */
static int product_dims(const hlo_dim_labels_t *labels, const conv_along_t *along, int64_t *out,
                        bool *out_in_order) {
  int count = 0;
  for (int d = 0; d < labels->lhs_rank; d++) {
    if (d == labels->lhs_batch) out[count++] = labels->out_batch;
    for (int s = 0; s < labels->spatial_rank; s++)
      if (labels->lhs_spatial[s] == d && along[s] != CONV_FULL)
        out[count++] = labels->out_spatial[s];
  }
  out[count++] = labels->out_feature;
  *out_in_order = true;
  for (int i = 1; i < count; i++) *out_in_order &= out[i - 1] < out[i];
  return count;
}

/* Brings the product's dimensions into the order of the output, without those of size 1 that are
 * the kernel's. */
static hlo_instr_t *order_results(pass_rewrite_t *rewrite, const hlo_instr_t *conv,
                                  const conv_along_t *along, hlo_instr_t *product) {
  int64_t to[HLO_MAX_RANK], order[HLO_MAX_RANK], sizes[HLO_MAX_RANK];
  bool in_order;
  int count = product_dims(hlo_attr_labels(conv), along, to, &in_order);
  if (in_order || !product) return product;
  for (int i = 0; i < count; i++) {
    int place = 0;
    for (int j = 0; j < count; j++) place += to[j] < to[i];
    order[place] = i;
    sizes[i] = conv->shape->dims[to[i]];
  }
  if (product->shape->rank != count)
    product = hlo_build_reshape(&rewrite->builder, product,
                                pass_shape(rewrite, product->shape->dtype, count, sizes));
  return product ? pass_build_transpose(rewrite, product, order) : NULL;
}

/* Position of each dimension of the left side after the dimensions of patches have been split in
 * two: patches, and elements of a patch. */
static int split_positions(const hlo_dim_labels_t *labels, const conv_along_t *along, int64_t *at) {
  int rank = 0;
  for (int d = 0; d < labels->lhs_rank; d++) {
    at[d] = rank++;
    for (int s = 0; s < labels->spatial_rank; s++)
      if (labels->lhs_spatial[s] == d) rank += along[s] == CONV_PATCHES;
  }
  return rank;
}

/* The dimensions contracted on both sides: features, full spatial dimensions, and elements of
 * patches. */
static int contracted_dims(const hlo_dim_labels_t *labels, const conv_along_t *along,
                           const int64_t *at, int64_t *left, int64_t *right) {
  int count = 0;
  left[count] = at[labels->lhs_feature];
  right[count++] = labels->rhs_input_feature;
  for (int s = 0; s < labels->spatial_rank; s++) {
    if (along[s] != CONV_FULL && along[s] != CONV_PATCHES) continue;
    left[count] = at[labels->lhs_spatial[s]] + (along[s] == CONV_PATCHES);
    right[count++] = labels->rhs_spatial[s];
  }
  return count;
}

/* Elements in line that a product reads: the product of the last dimensions as far as they are
 * contracted. */
static int64_t run_of_terms(const hlo_instr_t *conv, const hlo_dim_labels_t *labels,
                            const conv_along_t *along) {
  const int64_t *kernel = conv->operands[1]->shape->dims;
  int64_t run = 1;
  for (int d = labels->lhs_rank; d-- > 0;) {
    int s = 0;
    while (s < labels->spatial_rank && labels->lhs_spatial[s] != d) s++;
    bool is_spatial = s < labels->spatial_rank;
    if (d == labels->lhs_batch || (is_spatial && along[s] == CONV_POINTWISE)) break;
    run *= is_spatial ? kernel[labels->rhs_spatial[s]] : kernel[labels->rhs_input_feature];
    if (is_spatial && along[s] == CONV_PATCHES) break;
  }
  return run;
}

/* Without patches: is the output in the order of a product? Else: do products have many terms, in
 * long runs? Kernels of convolutions have more work with channels that are not innermost. */
static bool suits_products(const hlo_instr_t *conv, const hlo_dim_labels_t *labels,
                           const conv_along_t *along) {
  const int64_t *kernel = conv->operands[1]->shape->dims;
  int64_t dims[HLO_MAX_RANK];
  bool in_order, is_plain = labels->lhs_feature == labels->lhs_rank - 1;
  product_dims(labels, along, dims, &in_order);
  int64_t terms = kernel[labels->rhs_input_feature];
  bool has_patches = false;
  for (int s = 0; s < labels->spatial_rank; s++) {
    terms *= kernel[labels->rhs_spatial[s]];
    has_patches |= along[s] == CONV_PATCHES;
  }
  if (!has_patches) return in_order;
  return terms >= (is_plain ? PATCH_TERMS : PATCH_TERMS / 2) &&
         run_of_terms(conv, labels, along) >= (is_plain ? PATCH_RUN : PATCH_RUN / 2);
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
  return suits_products(conv, labels, along);
}

/* The input with the dimensions of patches split in two. */
static hlo_instr_t *split_patches(pass_rewrite_t *rewrite, const hlo_instr_t *conv, hlo_instr_t *x,
                                  const conv_along_t *along, const int64_t *at, int rank) {
  const hlo_dim_labels_t *labels = hlo_attr_labels(conv);
  int64_t sizes[HLO_MAX_RANK];
  if (rank == labels->lhs_rank || !x) return x;
  for (int d = 0; d < labels->lhs_rank; d++) sizes[at[d]] = x->shape->dims[d];
  for (int s = 0; s < labels->spatial_rank; s++) {
    if (along[s] != CONV_PATCHES) continue;
    int64_t size = hlo_attr_window(conv)->dims[s].size, d = at[labels->lhs_spatial[s]];
    sizes[d] /= size;
    sizes[d + 1] = size;
  }
  return hlo_build_reshape(&rewrite->builder, x, pass_shape(rewrite, x->shape->dtype, rank, sizes));
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
  conv_along_t along[HLO_MAX_RANK] = {CONV_OTHER};
  hlo_slice_dim_t read[HLO_MAX_RANK];
  int64_t left[HLO_MAX_RANK], right[HLO_MAX_RANK], sizes[HLO_MAX_RANK], at[HLO_MAX_RANK];
  int rank = 0;
  if (hlo_attr_int(conv, HLO_ATTR_FEATURE_GROUP_COUNT) > 1 ||
      hlo_attr_int(conv, HLO_ATTR_BATCH_GROUP_COUNT) > 1)
    return NULL;
  if (labels->lhs_unused || labels->rhs_unused || labels->out_unused ||
      hlo_attr_has(conv, HLO_ATTR_SPARSITY_CONFIG) || !hlo_shape_elements(conv->shape) ||
      !classify(conv, labels, along, read))
    return NULL;
  int split = split_positions(labels, along, at);
  if (split > HLO_MAX_RANK) return NULL;
  hlo_instr_t *input =
      split_patches(rewrite, conv, read_part(rewrite, conv->operands[0], read), along, at, split);
  if (!input) return NULL;
  int count = contracted_dims(labels, along, at, left, right);
  dot_side_t sides[2] = {{input, {NULL, 0}, {left, count}},
                         {conv->operands[1], {NULL, 0}, {right, count}}};
  for (int s = 0; s < 2; s++)
    for (int d = 0; d < sides[s].x->shape->rank; d++)
      if (dot_dim_role(&sides[s], d) == FREE) sizes[rank++] = sides[s].x->shape->dims[d];
  hlo_instr_t *dot =
      dot_build(rewrite, conv, sides, pass_shape(rewrite, conv->shape->dtype, rank, sizes));
  dot = order_results(rewrite, conv, along, dot);
  return dot ? hlo_build_reshape(&rewrite->builder, dot, conv->shape) : NULL;
}
