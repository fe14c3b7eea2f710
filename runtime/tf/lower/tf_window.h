/* Layouts and windows of convolutions and pooling, for them and their gradients. */
#ifndef TF_WINDOW_H
#define TF_WINDOW_H

#include "tf/compile/tf_lower.h"

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

/* --- tf_dynamic_padding.c --- */
/* Where windows of SAME padding lie along dimensions whose sizes depend on data. */
typedef struct tf_placement {
  tf_sizes_t sizes; /* sizes of the array under the windows */
  bool is_same;
  bool has_moved;                  /* some dimension has a padding that depends on its size */
  expr_t low[HLO_MAX_RANK];        /* that padding in front, s32; NULL: a constant one will do */
  expr_t results[HLO_MAX_RANK];    /* number of windows, s32 */
  int64_t low_bound[HLO_MAX_RANK]; /* largest padding in front */
  int64_t length[HLO_MAX_RANK];    /* size of the moved array */
} tf_placement_t;
hr_status_t tf_placement_begin(tf_op_t *op, const tf_sizes_t *sizes, tf_placement_t *out);
/* Finds the placement along dimension d of the array; if it depends on data, the window loses its
 * padding. */
void tf_place_window(hlo_builder_t *b, tf_placement_t *p, int d, hlo_window_dim_t *window);
/* The array under the windows, which is static if any dimension is moved; x itself otherwise. */
expr_t tf_place(hlo_builder_t *b, const tf_placement_t *p, expr_t x, expr_t fill);
/* The reverse, for gradients: a static array of the bounds of x. */
expr_t tf_place_back(hlo_builder_t *b, const tf_placement_t *p, expr_t x);
/* Gives the results of the windows over a moved array their sizes. */
expr_t tf_place_results(hlo_builder_t *b, const tf_placement_t *p, expr_t y);

/* x with these sizes along dimensions that have become static. */
expr_t tf_cut_to_sizes(hlo_builder_t *b, expr_t x, const tf_sizes_t *sizes);

/* The integer convolution of a UniformQuantizedConvolution, and its feature dimension. */
hr_status_t tf_quantized_convolution(tf_op_t *op, expr_t x, expr_t kernel, expr_t *out_product,
                                     int64_t *out_feature);

#endif
