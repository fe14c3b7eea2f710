/* What is done to the operands of a convolution becomes part of it: transposes in its dimension labels, padding and a
 * reversed kernel in its window (so gradients of convolutions say in one instruction what they are). Exact. */
#include <string.h>

#include "passes/simplify.h"

/* A copy whose lists can be changed. */
typedef struct conv_labels {
  hlo_dim_labels_t labels;
  int64_t lhs[HLO_MAX_RANK], rhs[HLO_MAX_RANK], out[HLO_MAX_RANK];
} conv_labels_t;

static void copy_labels(const hlo_instr_t *conv, conv_labels_t *copy) {
  copy->labels = *hlo_attr_labels(conv);
  size_t bytes = (size_t)copy->labels.spatial_rank * sizeof(int64_t);
  if (!bytes) return;
  memcpy(copy->lhs, copy->labels.lhs_spatial, bytes);
  memcpy(copy->rhs, copy->labels.rhs_spatial, bytes);
  memcpy(copy->out, copy->labels.out_spatial, bytes);
}

/* Labels with these lists, in the module's arena. */
static hr_status_t keep_labels(hr_arena_t *arena, const conv_labels_t *copy, const hlo_dim_labels_t **out_labels) {
  hlo_dim_labels_t *labels;
  hr_ints_t lhs, rhs, out;
  HR_TRY(HR_NEW(arena, &labels));
  HR_TRY(hr_arena_ints(arena, copy->lhs, copy->labels.spatial_rank, &lhs));
  HR_TRY(hr_arena_ints(arena, copy->rhs, copy->labels.spatial_rank, &rhs));
  HR_TRY(hr_arena_ints(arena, copy->out, copy->labels.spatial_rank, &out));
  *labels = copy->labels;
  labels->lhs_spatial = lhs.data;
  labels->rhs_spatial = rhs.data;
  labels->out_spatial = out.data;
  *out_labels = labels;
  return NULL;
}

/* The same convolution with another attribute. */
static hlo_instr_t *build_with(pass_rewrite_t *rewrite, const hlo_instr_t *conv, hlo_instr_t *const *operands,
                               const hlo_shape_t *shape, const hlo_attr_t *changed) {
  enum { ATTRS_MOST = 16 };
  hlo_attr_t attrs[ATTRS_MOST];
  int count = 0;
  if (conv->attr_count >= ATTRS_MOST) return NULL;
  for (int i = 0; i < conv->attr_count; i++)
    if (conv->attrs[i].key != changed->key) attrs[count++] = conv->attrs[i];
  attrs[count++] = *changed;
  return hlo_build(&rewrite->builder, conv->op, shape, 2, operands, count, attrs, 0, NULL);
}

static hlo_instr_t *build_with_labels(pass_rewrite_t *rewrite, const hlo_instr_t *conv, hlo_instr_t *const *operands,
                                      const hlo_shape_t *shape, const conv_labels_t *labels) {
  hlo_attr_t attr = {.key = HLO_ATTR_DIM_LABELS};
  if (rewrite->builder.status) return NULL;
  rewrite->builder.status = keep_labels(rewrite->arena, labels, &attr.labels);
  return rewrite->builder.status ? NULL : build_with(rewrite, conv, operands, shape, &attr);
}

hlo_instr_t *simplify_build_windowed(pass_rewrite_t *rewrite, const hlo_instr_t *conv, hlo_instr_t *const *operands,
                                     const hlo_window_dim_t *dims, int rank) {
  hlo_window_t *window;
  void *copy;
  hlo_builder_t *builder = &rewrite->builder;
  if (builder->status) return NULL;
  builder->status = hr_arena_copy(rewrite->arena, dims, (size_t)rank * sizeof *dims, &copy);
  if (!builder->status) builder->status = HR_NEW(rewrite->arena, &window);
  if (builder->status) return NULL;
  *window = (hlo_window_t){rank, copy};
  hlo_attr_t attr = {.key = HLO_ATTR_WINDOW, .window = window};
  return build_with(rewrite, conv, operands, conv->shape, &attr);
}

/* ---- transposes ---- */

static bool is_plain(const hlo_instr_t *conv) {
  const hlo_dim_labels_t *labels = hlo_attr_labels(conv);
  bool unused = labels->lhs_unused || labels->rhs_unused || labels->out_unused;
  return !unused && !hlo_attr_has(conv, HLO_ATTR_SPARSITY_CONFIG);
}

static void map_dims(int64_t *dims, int count, const int64_t *permutation) {
  for (int i = 0; i < count; i++) dims[i] = permutation[dims[i]];
}

static hlo_instr_t *of_transposes(pass_rewrite_t *rewrite, hlo_instr_t *conv) {
  hlo_instr_t *operands[] = {conv->operands[0], conv->operands[1]};
  conv_labels_t copy;
  bool turned[2];
  for (int k = 0; k < 2; k++) turned[k] = operands[k]->op == HLO_TRANSPOSE;
  if (!turned[0] && !turned[1]) return NULL;
  copy_labels(conv, &copy);
  if (turned[0]) {
    const int64_t *permutation = hlo_attr_ints(operands[0], HLO_ATTR_DIMENSIONS).data;
    map_dims(&copy.labels.lhs_batch, 1, permutation);
    map_dims(&copy.labels.lhs_feature, 1, permutation);
    map_dims(copy.lhs, copy.labels.spatial_rank, permutation);
    operands[0] = operands[0]->operands[0];
  }
  if (turned[1]) {
    const int64_t *permutation = hlo_attr_ints(operands[1], HLO_ATTR_DIMENSIONS).data;
    map_dims(&copy.labels.rhs_input_feature, 1, permutation);
    map_dims(&copy.labels.rhs_output_feature, 1, permutation);
    map_dims(copy.rhs, copy.labels.spatial_rank, permutation);
    operands[1] = operands[1]->operands[0];
  }
  return build_with_labels(rewrite, conv, operands, conv->shape, &copy);
}

/* A convolution that is transposed afterwards writes its result so at once. */
static hlo_instr_t *transpose_of_conv(pass_rewrite_t *rewrite, hlo_instr_t *transpose) {
  hlo_instr_t *conv = transpose->operands[0];
  hr_ints_t permutation = hlo_attr_ints(transpose, HLO_ATTR_DIMENSIONS);
  int64_t inverse[HLO_MAX_RANK];
  conv_labels_t copy;
  if (!is_plain(conv) || pass_use_count(rewrite, conv) > 1) return NULL;
  for (int64_t d = 0; d < permutation.count; d++) inverse[permutation.data[d]] = d;
  copy_labels(conv, &copy);
  map_dims(&copy.labels.out_batch, 1, inverse);
  map_dims(&copy.labels.out_feature, 1, inverse);
  map_dims(copy.out, copy.labels.spatial_rank, inverse);
  return build_with_labels(rewrite, conv, conv->operands, transpose->shape, &copy);
}

/* ---- windows ---- */

/* The kernel's spatial dimensions that are reversed, as bits; -1: others are reversed too. */
static int reversed_spatial(const hlo_instr_t *reverse, const hlo_dim_labels_t *labels) {
  hr_ints_t dims = hlo_attr_ints(reverse, HLO_ATTR_DIMENSIONS);
  int bits = 0;
  for (int64_t i = 0; i < dims.count; i++) {
    int s = 0;
    while (s < labels->spatial_rank && labels->rhs_spatial[s] != dims.data[i]) s++;
    if (s == labels->spatial_rank) return -1;
    bits |= 1 << s;
  }
  return bits;
}

static hlo_instr_t *of_reverse(pass_rewrite_t *rewrite, hlo_instr_t *conv) {
  hlo_instr_t *kernel = conv->operands[1];
  const hlo_window_t *window = hlo_attr_window(conv);
  hlo_window_dim_t dims[HLO_MAX_RANK];
  int bits = kernel->op == HLO_REVERSE && window ? reversed_spatial(kernel, hlo_attr_labels(conv)) : -1;
  if (bits < 0) return NULL;
  for (int s = 0; s < window->rank; s++) {
    dims[s] = window->dims[s];
    dims[s].reversal ^= bits >> s & 1;
  }
  return simplify_build_windowed(rewrite, conv, (hlo_instr_t *[]){conv->operands[0], kernel->operands[0]}, dims,
                                 window->rank);
}

/* Zeros around the input, and between its elements. */
static hlo_instr_t *of_pad(pass_rewrite_t *rewrite, hlo_instr_t *conv) {
  hlo_instr_t *pad = conv->operands[0];
  const hlo_dim_labels_t *labels = hlo_attr_labels(conv);
  const hlo_window_t *window = hlo_attr_window(conv);
  hlo_window_dim_t dims[HLO_MAX_RANK];
  if (pad->op != HLO_PAD || !window || !pass_is_number(pad->operands[1], 0)) return NULL;
  const hlo_padding_dim_t *edges = hlo_attr_padding(pad)->dims, none = {0, 0, 0};
  if (memcmp(&edges[labels->lhs_batch], &none, sizeof none) || memcmp(&edges[labels->lhs_feature], &none, sizeof none))
    return NULL;
  for (int s = 0; s < window->rank; s++) {
    const hlo_padding_dim_t *edge = &edges[labels->lhs_spatial[s]];
    dims[s] = window->dims[s];
    if (dims[s].base_dilation != 1 && (edge->low || edge->high || edge->interior)) return NULL;
    if (edge->low < 0 || edge->high < 0) return NULL;
    dims[s].pad_low += edge->low;
    dims[s].pad_high += edge->high;
    dims[s].base_dilation *= 1 + edge->interior;
  }
  return simplify_build_windowed(rewrite, conv, (hlo_instr_t *[]){pad->operands[0], conv->operands[1]}, dims,
                                 window->rank);
}

hlo_instr_t *simplify_conv(pass_rewrite_t *rewrite, hlo_instr_t *instr) {
  if (instr->op == HLO_TRANSPOSE && instr->operands[0]->op == HLO_CONVOLUTION) return transpose_of_conv(rewrite, instr);
  if (instr->op != HLO_CONVOLUTION || !is_plain(instr)) return NULL;
  hlo_instr_t *better = of_transposes(rewrite, instr);
  if (!better) better = of_reverse(rewrite, instr);
  return better ? better : of_pad(rewrite, instr);
}
