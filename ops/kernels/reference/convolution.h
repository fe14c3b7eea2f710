/* Convolution as matrix products, for the reference and the compiled engine. Input, kernel and
 * result are reordered to
 *
 *   input  [batch][spatial...][feature]
 *   kernel [window...][input feature][output feature]
 *   result [batch][spatial...][feature]
 *
 * and each group of features (or of the batch) is the product of its im2col matrix, one row per
 * result position, with its columns of the kernel. Units are reals: a complex number is two.
 * Thread: a view is used by one thread at a time. */
#ifndef HLO_OPS_CONVOLUTION_H
#define HLO_OPS_CONVOLUTION_H

#include "ops/kernels/gemm/matmul.h"

typedef struct conv_plan {
  matmul_types_t types;
  matmul_order_t lhs_order, rhs_order; /* from the program's order to the one above */
  matmul_order_t out_order;            /* from the order above to the program's */
  int64_t lhs_count, rhs_count;
  int spatial_rank;
  hlo_window_dim_t window[HLO_MAX_RANK];
  int64_t in_dims[HLO_MAX_RANK], out_dims[HLO_MAX_RANK]; /* spatial sizes */
  int64_t in_strides[HLO_MAX_RANK];               /* spatial strides of the ordered input, reals */
  int64_t in_batch_stride, in_batch, in_features; /* stride in reals; features in elements */
  int64_t group_features;                         /* input features per group */
  int64_t out_batch, out_features;                /* sizes of the result */
  int64_t feature_groups, batch_groups;
  int64_t positions;    /* result positions per batch entry */
  int64_t window_count; /* elements of the window */
} conv_plan_t;

/* Errors: INVALID for labels, groups and windows that do not fit (StableHLO spec, convolution
 * C1-C27); UNSUPPORTED for sparse operands. */
hr_status_t conv_plan_init(const op_step_t *step, conv_plan_t *out_plan);

/* The input under the window of one result position: per dimension and window element, the offset
 * of the input element, or -1 for padding and dilation holes. */
typedef struct conv_view {
  const conv_plan_t *plan;
  int64_t *offsets[HLO_MAX_RANK]; /* in reals */
  const char *input;              /* first batch entry and feature of the group */
  int64_t unit;                   /* reals per window element: the features of a group */
  int real_bytes;
  bool rows_merge;         /* the innermost window dimension is a contiguous run of the input */
  bool multiplies_padding; /* sums include 0 * weight at padding and holes (depthwise, lines) */
} conv_view_t;

/* The number of offsets of a view, and a view that stores them in the caller's memory. */
int64_t conv_view_offsets(const conv_plan_t *plan);
void conv_view_init(const conv_plan_t *plan, int64_t *offsets, conv_view_t *out_view);

/* The im2col matrix that the view (`context`) defines: reals [first, first + count) of rows
 * [row, row + rows), row-major. Row i is position i % positions of batch entry i / positions,
 * counted from the view's input. */
void conv_patches_fill(const void *context, int64_t row, int64_t rows, int64_t first, int64_t count,
                       void *to);

/* Depthwise convolutions, with one input feature per group: instead of products of tiny patches,
 * rows of the result are accumulated directly, all features of a position at once. lhs, rhs and out
 * are the whole ordered arrays. Not for complex numbers. */
static inline bool conv_is_depthwise(const conv_plan_t *plan) {
  return plan->feature_groups > 1 && plan->group_features == 1 && !plan->types.is_complex;
}
void conv_depthwise_rows(const conv_view_t *view, int64_t row, int64_t rows, const char *lhs,
                         const char *rhs, char *out);

/* One feature on both sides (filters of signals and images): lines of the result along the last
 * dimension are sums of shifted input lines. Computes positions [begin, end) of line number `line`;
 * lhs, rhs and out are the whole ordered arrays. */
bool conv_is_line(const conv_plan_t *plan);
void conv_line_run(const conv_view_t *view, int64_t line, int64_t begin, int64_t end,
                   const char *lhs, const char *rhs, char *out);

#endif
