/* Convolution as products of matrices, as the reference and the compiled engine do it. Input,
 * kernel and result are brought into the orders input [batch][spatial...][feature]   kernel
 * [window...][input feature][output feature]   result [batch][spatial...][feature] and each group
 * of features (or of the batch) is the product of the matrix of patches, one row per place of the
 * result, with its columns of the kernel. Thread: a view is used by one thread at a time. */
#ifndef HLO_OPS_CONVOLUTION_H
#define HLO_OPS_CONVOLUTION_H

#include "ops/kernels/gemm/matmul.h"

typedef struct conv_plan {
  matmul_types_t types;
  matmul_order_t lhs_order, rhs_order,
      out_order; /* out_order: from the order above to the program's */
  int64_t lhs_count, rhs_count;
  int spatial_rank;
  hlo_window_dim_t window[HLO_MAX_RANK];
  int64_t in_dims[HLO_MAX_RANK], out_dims[HLO_MAX_RANK]; /* spatial */
  int64_t in_strides[HLO_MAX_RANK];                      /* of the ordered input, in reals */
  int64_t in_batch_stride, in_batch, in_features;        /* features in elements */
  int64_t group_features, out_batch,
      out_features; /* input features of a group; all output features */
  int64_t feature_groups, batch_groups;
  int64_t positions, window_count; /* result places of one batch entry; elements of the window */
} conv_plan_t;

/* Errors: INVALID for labels, groups and windows that do not fit; UNSUPPORTED for sparse operands.
 */
hr_status_t conv_plan_init(const op_step_t *step, conv_plan_t *out_plan);

/* What the window sees from one place of the result: for each dimension and window element, the
 * offset of the input element below it, or -1 for padding and holes. */
typedef struct conv_view {
  const conv_plan_t *plan;
  int64_t *offsets[HLO_MAX_RANK]; /* in reals */
  const char *input;              /* first batch entry and feature of the group */
  int64_t unit;                   /* reals per window element: the group's features */
  int real_bytes;
  bool rows_merge; /* the innermost window dimension is one run of the input */
} conv_view_t;

/* How many offsets a view needs, and a view that keeps them in the caller's memory. */
int64_t conv_view_offsets(const conv_plan_t *plan);
void conv_view_init(const conv_plan_t *plan, int64_t *offsets, conv_view_t *out_view);

/* Rows of the matrix of patches that the view (`context`) sees: reals [first, first + count) of
 * rows [row, row + rows), row-major. Row i is place i % places of batch entry i / places, counted
 * from the view's input. */
void conv_patches_fill(const void *context, int64_t row, int64_t rows, int64_t first, int64_t count,
                       void *to);

/* Where every group has one input feature (depthwise) patches would be tiny: the same rows of the
 * result are summed directly, all features of a place at once. lhs, rhs, out: the whole ordered
 * arrays. Not for complex numbers. */
static inline bool conv_is_depthwise(const conv_plan_t *plan) {
  return plan->feature_groups > 1 && plan->group_features == 1 && !plan->types.is_complex;
}
void conv_depthwise_rows(const conv_view_t *view, int64_t row, int64_t rows, const char *lhs,
                         const char *rhs, char *out);

/* With one feature on both sides (a filter of a signal or of an image) patches would be copies for
 * one product each: lines of the result along the last dimension are sums of shifted lines of the
 * input instead. Places [begin, end) of line number `line` of all; lhs, rhs, out: the whole ordered
 * arrays. */
bool conv_is_line(const conv_plan_t *plan);
void conv_line_run(const conv_view_t *view, int64_t line, int64_t begin, int64_t end,
                   const char *lhs, const char *rhs, char *out);

#endif
