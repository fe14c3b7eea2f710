/* Convolutions of one channel, or of f64 with one filter per channel, with a small window
 * (stencils, filters of images and signals):
 *
 *   conv(x, w)   ->   w[0] * pad(x)[0:n] + w[1] * pad(x)[1:n + 1] + ...
 *
 * Kernels of convolutions gain from many channels that meet; else the sum of slices is as fast, and
 * fuses with its neighbours. For f32 there is a kernel of one filter per channel. Sums are added in
 * the order of the window. */
#include "passes/simplify/simplify_dots.h"

enum {
  TAPS_MAX = 32,      /* most elements of the window: each is a slice */
  PADDED_TAPS = 16,   /* the same with padding, which slices have to mask, and one channel */
  RESULTS_MIN = 1024, /* least results: fewer take less time than generating their code */
  ROW_MIN = 16        /* least results along the last spatial dimension */
};

/* Are batch and spatial dimensions of the result in the order of those of the input? */
static bool keeps_order(const hlo_dim_labels_t *labels) {
  for (int s = 0; s < labels->spatial_rank; s++) {
    bool before = labels->lhs_batch < labels->lhs_spatial[s];
    if (before != (labels->out_batch < labels->out_spatial[s])) return false;
    for (int t = 0; t < s; t++) {
      before = labels->lhs_spatial[t] < labels->lhs_spatial[s];
      if (before != (labels->out_spatial[t] < labels->out_spatial[s])) return false;
    }
  }
  return true;
}

/* Has each channel one filter, whose result is a channel at the same place? */
static bool keeps_channels(const hlo_instr_t *conv, const hlo_dim_labels_t *labels) {
  const int64_t *kernel = conv->operands[1]->shape->dims;
  int64_t channels = conv->operands[0]->shape->dims[labels->lhs_feature];
  if (kernel[labels->rhs_input_feature] != 1 || kernel[labels->rhs_output_feature] != channels ||
      hlo_attr_int(conv, HLO_ATTR_BATCH_GROUP_COUNT) > 1)
    return false;
  return channels == 1 ||
         (conv->shape->dtype == HR_F64 && labels->lhs_feature == labels->out_feature);
}

/* padded_max: most elements of a window with padding. */
static bool has_small_window(const hlo_window_t *window, int64_t padded_max) {
  int64_t taps = 1;
  bool pads = false, strides = false;
  for (int s = 0; s < window->rank; s++) {
    const hlo_window_dim_t *w = &window->dims[s];
    pads |= w->pad_low || w->pad_high;
    strides |= w->stride > 1;
    if (w->size > TAPS_MAX || w->base_dilation != 1 || w->pad_low < 0 || w->pad_high < 0)
      return false;
    taps *= w->size;
    if (taps > TAPS_MAX) return false;
  }
  return taps > 1 && (taps <= padded_max || !pads || strides);
}

static bool is_stencil(const hlo_instr_t *conv) {
  const hlo_dim_labels_t *labels = hlo_attr_labels(conv);
  const hlo_window_t *window = hlo_attr_window(conv);
  const hlo_shape_t *shape = conv->shape;
  if (!window || !window->rank || window->rank != labels->spatial_rank) return false;
  if (shape->dtype != HR_F32 && shape->dtype != HR_F64) return false;
  for (int k = 0; k < 2; k++)
    if (conv->operands[k]->shape->dtype != shape->dtype) return false;
  int64_t channels = conv->operands[0]->shape->dims[labels->lhs_feature];
  return has_small_window(window, channels == 1 ? PADDED_TAPS : TAPS_MAX) &&
         keeps_channels(conv, labels) && keeps_order(labels) &&
         hlo_shape_elements(shape) >= RESULTS_MIN &&
         shape->dims[labels->out_spatial[window->rank - 1]] >= ROW_MIN;
}

static hlo_instr_t *build_padded_input(pass_rewrite_t *rewrite, const hlo_instr_t *conv) {
  const hlo_dim_labels_t *labels = hlo_attr_labels(conv);
  const hlo_window_t *window = hlo_attr_window(conv);
  hlo_instr_t *x = conv->operands[0];
  hlo_padding_dim_t dims[HLO_MAX_RANK] = {{0, 0, 0}};
  bool pads = false;
  for (int s = 0; s < window->rank; s++) {
    const hlo_window_dim_t *w = &window->dims[s];
    dims[labels->lhs_spatial[s]] = (hlo_padding_dim_t){w->pad_low, w->pad_high, 0};
    pads |= w->pad_low || w->pad_high;
  }
  if (!pads) return x;
  hlo_instr_t *zero = hlo_build_number(&rewrite->builder, 0, x->shape->dtype);
  return pass_build_pad(rewrite, x, zero, dims);
}

/* Element `tap` of the window times the part of the input that lies under it. */
static hlo_instr_t *build_term(pass_rewrite_t *rewrite, const hlo_instr_t *conv, hlo_instr_t *x,
                               int64_t tap) {
  const hlo_dim_labels_t *labels = hlo_attr_labels(conv);
  const hlo_window_t *window = hlo_attr_window(conv);
  hlo_slice_dim_t part[HLO_MAX_RANK], element[HLO_MAX_RANK];
  for (int d = 0; d < x->shape->rank; d++) {
    part[d] = (hlo_slice_dim_t){0, x->shape->dims[d], 1};
    element[d] = (hlo_slice_dim_t){0, conv->operands[1]->shape->dims[d], 1};
  }
  for (int s = window->rank; s-- > 0; tap /= window->dims[s].size) {
    const hlo_window_dim_t *w = &window->dims[s];
    int64_t at = tap % w->size, start = at * w->window_dilation;
    int64_t count = conv->shape->dims[labels->out_spatial[s]];
    int64_t weight = w->reversal ? w->size - 1 - at : at;
    part[labels->lhs_spatial[s]] =
        (hlo_slice_dim_t){start, start + (count - 1) * w->stride + 1, w->stride};
    element[labels->rhs_spatial[s]] = (hlo_slice_dim_t){weight, weight + 1, 1};
  }
  hlo_instr_t *slice = pass_build_slice(rewrite, x, part);
  hlo_instr_t *weight = pass_build_slice(rewrite, conv->operands[1], element);
  const int64_t channels = x->shape->dims[labels->lhs_feature], feature = labels->lhs_feature;
  const int rank = channels > 1;
  hlo_instr_t *filter = hlo_build_reshape(&rewrite->builder, weight,
                                          pass_shape(rewrite, x->shape->dtype, rank, &channels));
  if (!slice || !filter) return NULL;
  hlo_instr_t *factor =
      hlo_build_broadcast(&rewrite->builder, filter, slice->shape, (hr_ints_t){&feature, rank});
  return hlo_build_binary(&rewrite->builder, HLO_MULTIPLY, slice, factor);
}

hlo_instr_t *simplify_conv_taps(pass_rewrite_t *rewrite, hlo_instr_t *conv) {
  const hlo_window_t *window = hlo_attr_window(conv);
  if (!is_stencil(conv)) return NULL;
  int64_t taps = 1;
  for (int s = 0; s < window->rank; s++) taps *= window->dims[s].size;
  hlo_instr_t *x = build_padded_input(rewrite, conv), *sum = NULL;
  for (int64_t tap = 0; tap < taps && x; tap++) {
    hlo_instr_t *term = build_term(rewrite, conv, x, tap);
    sum = tap ? hlo_build_binary(&rewrite->builder, HLO_ADD, sum, term) : term;
  }
  return sum ? hlo_build_reshape(&rewrite->builder, sum, conv->shape) : NULL;
}
