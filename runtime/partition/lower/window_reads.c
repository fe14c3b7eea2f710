/* The operand elements that results read, by operation. */
#include "partition/lower/fetch_window.h"

/* A convolution without a window attribute has one of the kernel's sizes. */
hlo_window_dim_t spmd_spatial_window(const hlo_instr_t *instr, int i) {
  const hlo_window_t *window = hlo_attr_window(instr);
  const hlo_dim_labels_t *labels = hlo_attr_labels(instr);
  if (window && i < window->rank) return window->dims[i];
  return (hlo_window_dim_t){.size = instr->operands[1]->shape->dims[labels->rhs_spatial[i]],
                            .stride = 1,
                            .base_dilation = 1,
                            .window_dilation = 1};
}

/* Taps 0, 2, 4 of a window of 3, dilated by 2, are a footprint of 5. */
spmd_reads_t spmd_reads_of_window(const hlo_window_dim_t *dim) {
  return (spmd_reads_t){.offset = -dim->pad_low,
                        .step = dim->stride,
                        .footprint = (dim->size - 1) * dim->window_dilation + 1,
                        .dilation = dim->base_dilation};
}

/* d is a dimension of the input. */
static bool reads_of_convolution(const hlo_instr_t *instr, int d, spmd_reads_t *out_reads) {
  const hlo_dim_labels_t *labels = hlo_attr_labels(instr);
  for (int i = 0; i < labels->spatial_rank; i++) {
    hlo_window_dim_t dim = spmd_spatial_window(instr, i);
    if (labels->lhs_spatial[i] != d) continue;
    *out_reads = spmd_reads_of_window(&dim);
    return true;
  }
  return false;
}

static spmd_reads_t reads_of_slice(const hlo_slice_dim_t *dim) {
  return (spmd_reads_t){dim->start, dim->stride, 1, 1};
}

/* Example: with a low padding of -1, result 0 is element 1. */
static spmd_reads_t reads_of_padding(const hlo_padding_dim_t *dim) {
  return (spmd_reads_t){-dim->low, 1, 1, dim->interior + 1};
}

bool spmd_reads_along(const hlo_instr_t *instr, int d, spmd_reads_t *out_reads) {
  switch (instr->op) {
    case HLO_SLICE:
      *out_reads = reads_of_slice(&hlo_attr_slice(instr)->dims[d]);
      return true;
    case HLO_PAD:
      *out_reads = reads_of_padding(&hlo_attr_padding(instr)->dims[d]);
      return true;
    case HLO_REVERSE:
      *out_reads = (spmd_reads_t){instr->operands[0]->shape->dims[d] - 1, -1, 1, 1};
      return true;
    case HLO_REDUCE_WINDOW:
      *out_reads = spmd_reads_of_window(&hlo_attr_window(instr)->dims[d]);
      return true;
    case HLO_CONVOLUTION:
      return reads_of_convolution(instr, d, out_reads);
    default:
      return false;
  }
}
