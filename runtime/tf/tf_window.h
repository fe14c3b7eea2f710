/* Layouts and windows of convolutions and pooling, for them and their gradients. */
#ifndef TF_WINDOW_H
#define TF_WINDOW_H

#include "tf/tf_lower.h"

/* Dimensions of an array by role. */
typedef struct tf_layout {
  int rank;
  int batch;
  int feature;
  int spatial_count;
  int64_t spatial[HLO_MAX_RANK];
} tf_layout_t;

/* By the attribute data_format. */
hr_status_t tf_window_layout(tf_op_t *op, int rank, tf_layout_t *out);
/* One window dimension per spatial dimension, from strides, dilations and padding. `sizes`: sizes
 * of the window, spatial dimensions first. */
hr_status_t tf_window_make(tf_op_t *op, const tf_layout_t *layout, const int64_t *input_dims,
                           const int64_t *sizes, hlo_window_dim_t *out);
/* One per dimension of a pooled array. `sizes_input`: number of the input with the sizes of the
 * window, which that with the strides follows; -1: both are attributes. */
hr_status_t tf_window_pool(tf_op_t *op, const tf_layout_t *layout, const int64_t *input_dims,
                           int sizes_input, hlo_window_dim_t *out);

/* The integer convolution of a UniformQuantizedConvolution, and its feature dimension. */
hr_status_t tf_quantized_convolution(tf_op_t *op, expr_t x, expr_t kernel, expr_t *out_product,
                                     int64_t *out_feature);

#endif
