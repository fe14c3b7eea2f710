/* Gradients of convolutions and of average pooling, each as a convolution or a window sum.
 *
 *   input:  dy with holes of the stride, convolved with the reversed kernel
 *   kernel: the input convolved with dy as kernel; the sum is over examples
 *
 * A depthwise kernel [h, w, c, m] is one of c groups, [h, w, 1, c m]. */
#include <string.h>

#include "tf/lower/tf_window.h"

typedef struct conv_grad {
  tf_layout_t layout;
  int count;                    /* spatial dimensions */
  int64_t input[HLO_MAX_RANK];  /* sizes of the input */
  int64_t kernel[HLO_MAX_RANK]; /* sizes of the kernel, of the grouped form */
  int64_t groups;
  hlo_window_dim_t window[HLO_MAX_RANK]; /* window of the forward convolution */
} conv_grad_t;

/* variant 1: depthwise. `dims`: sizes of the kernel as the operation has it.
 * Checks that the groups divide both the channels and the results, and finds the forward window. */
static hr_status_t begin(tf_op_t *op, int rank, const int64_t *input, const int64_t *dims,
                         conv_grad_t *g) {
  HR_TRY(tf_window_layout(op, rank, &g->layout));
  g->count = g->layout.spatial_count;
  for (int d = 0; d < rank; d++) {
    g->input[d] = input[d];
    g->kernel[d] = dims[d];
  }
  int64_t features = input[g->layout.feature];
  if (op->row->variant) {
    g->kernel[g->count + 1] *= g->kernel[g->count];
    g->kernel[g->count] = 1;
  }
  int64_t in = g->kernel[g->count];
  if (in < 1 || features % in || g->kernel[g->count + 1] % (features / in))
    return tf_error(op, "%ld features in groups of %ld", (long)features, (long)in);
  g->groups = features / in;
  return tf_window_make(op, &g->layout, g->input, g->kernel, g->window);
}

/* `dims` is by spatial dimension; `groups_key` is a feature or a batch group count. */
static hr_status_t convolve(tf_op_t *op, const conv_grad_t *g, expr_t x, expr_t y,
                            const hlo_window_dim_t *dims, const hlo_dim_labels_t *labels,
                            hlo_attr_key_t groups_key, expr_t *out) {
  hlo_window_t *window;
  hlo_dim_labels_t *kept;
  void *copy;
  HR_TRY(HR_NEW(op->arena, &window));
  HR_TRY(HR_NEW(op->arena, &kept));
  HR_TRY(hr_arena_copy(op->arena, dims, (size_t)g->count * sizeof *dims, &copy));
  *window = (hlo_window_t){g->count, copy};
  *kept = *labels;
  hlo_attr_t attrs[] = {{.key = HLO_ATTR_WINDOW, .window = window},
                        {.key = HLO_ATTR_DIM_LABELS, .labels = kept},
                        hlo_attr_of_int(groups_key, g->groups)};
  expr_t operands[] = {x, y};
  *out = hlo_build(op->b, HLO_CONVOLUTION, NULL, 2, operands, 3, attrs, 0, NULL);
  return NULL;
}

/* Spatial dimensions of arrays and of kernels, whose come first. */
static hr_status_t spatial_lists(tf_op_t *op, const conv_grad_t *g, const int64_t **out_array,
                                 const int64_t **out_kernel) {
  int64_t places[HLO_MAX_RANK];
  hr_ints_t array, kernel;
  for (int s = 0; s < g->count; s++) places[s] = s;
  HR_TRY(hr_arena_ints(op->arena, g->layout.spatial, g->count, &array));
  HR_TRY(hr_arena_ints(op->arena, places, g->count, &kernel));
  *out_array = array.data;
  *out_kernel = kernel.data;
  return NULL;
}

/* [k.., in/g, g, out/g] -> [k.., in, out/g]: the summed dimensions become the result's, by
 * group. */
static expr_t exchange_groups(hlo_builder_t *b, const conv_grad_t *g, expr_t kernel) {
  int64_t split[HLO_MAX_RANK], joined[HLO_MAX_RANK], order[HLO_MAX_RANK];
  int n = g->count;
  int64_t in = g->kernel[n], out = g->kernel[n + 1] / g->groups;
  for (int s = 0; s < n; s++) {
    split[s] = g->kernel[s];
    joined[s] = g->kernel[s];
    order[s] = s;
  }
  split[n] = in;
  split[n + 1] = g->groups;
  split[n + 2] = out;
  order[n] = n + 1;
  order[n + 1] = n;
  order[n + 2] = n + 2;
  joined[n] = in * g->groups;
  joined[n + 1] = out;
  return tf_reshape(b, tf_transpose(b, tf_reshape(b, kernel, n + 3, split), order), n + 2, joined);
}

static bool is_dynamic(expr_t x, int d) { return x->shape->dynamic && x->shape->dynamic[d]; }

/* An array with dynamic spatial dimensions becomes a static one: zeros after its elements change
 * no gradient. */
static expr_t fill_spatial(hlo_builder_t *b, const tf_layout_t *layout, expr_t x) {
  for (int s = 0; x && s < layout->spatial_count; s++)
    if (is_dynamic(x, (int)layout->spatial[s]))
      x = tf_fill_all(b, x, tf_scalar(b, 0, x->shape->dtype));
  return x;
}

/* Finds where the windows lie on an input of these sizes; moved dimensions get their new sizes. */
static hr_status_t place_windows(tf_op_t *op, conv_grad_t *g, const tf_sizes_t *sizes,
                                 tf_placement_t *place) {
  HR_TRY(tf_placement_begin(op, sizes, place));
  for (int s = 0; s < g->count; s++) {
    int d = (int)g->layout.spatial[s];
    tf_place_window(op->b, place, d, &g->window[s]);
    if (place->low[d]) g->input[d] = place->length[d];
  }
  return hlo_builder_finish(op->b);
}

/* The sizes of the input, if filling has made them static. */
expr_t tf_cut_to_sizes(hlo_builder_t *b, expr_t x, const tf_sizes_t *sizes) {
  for (int d = 0; x && d < x->shape->rank && sizes->rank == x->shape->rank; d++)
    if (sizes->exprs[d] && !is_dynamic(x, d)) x = tf_set_size(b, x, d, sizes->exprs[d]);
  return x;
}

/* The window of the transposed convolution: with reach = (size - 1) dilation, the padding in front
 * is reach - pad_low. The base dilation is the forward stride, and the padding after makes the
 * result as long as the input. The last field says that the kernel is reversed. */
static void input_grad_window(const conv_grad_t *g, const hlo_shape_t *dy,
                              hlo_window_dim_t *out_window) {
  for (int s = 0; s < g->count; s++) {
    hlo_window_dim_t w = g->window[s];
    int64_t reach = (w.size - 1) * w.window_dilation;
    int64_t wide = (dy->dims[g->layout.spatial[s]] - 1) * w.stride + 1;
    int64_t low = reach - w.pad_low;
    int64_t high = g->input[g->layout.spatial[s]] + reach - wide - low;
    out_window[s] = (hlo_window_dim_t){w.size, 1, low, high, w.stride, w.window_dilation, true};
  }
}

/* dy's dimensions as the left side, those of the transposed kernel as the right one. */
static hr_status_t input_grad_labels(tf_op_t *op, const conv_grad_t *g, int rank,
                                     hlo_dim_labels_t *out_labels) {
  *out_labels = (hlo_dim_labels_t){.spatial_rank = g->count,
                                   .lhs_rank = rank,
                                   .rhs_rank = rank,
                                   .out_rank = rank,
                                   .lhs_batch = g->layout.batch,
                                   .lhs_feature = g->layout.feature,
                                   .rhs_input_feature = g->count + 1,
                                   .rhs_output_feature = g->count,
                                   .out_batch = g->layout.batch,
                                   .out_feature = g->layout.feature};
  HR_TRY(spatial_lists(op, g, &out_labels->lhs_spatial, &out_labels->rhs_spatial));
  out_labels->out_spatial = out_labels->lhs_spatial;
  return NULL;
}

/* Conv2DBackpropInput and its like. Inputs: sizes of the input, kernel, dy. Input 0 is the whole
 * shape, or its spatial sizes only. */
hr_status_t tf_lower_conv_input_grad(tf_op_t *op) {
  conv_grad_t g;
  tf_sizes_t sizes;
  tf_placement_t place;
  int64_t dims[HLO_MAX_RANK];
  hlo_window_dim_t window[HLO_MAX_RANK];
  hlo_dim_labels_t labels;
  int at = 0;
  expr_t kernel = tf_in(op, 1), dy = tf_in(op, 2), dx;
  HR_TRY(tf_sizes_in(op, 0, &sizes));
  if (!kernel || !dy) return hlo_builder_finish(op->b);
  int rank = dy->shape->rank;
  if (kernel->shape->rank != rank) return tf_error(op, "a kernel of another rank");
  HR_TRY(tf_window_layout(op, rank, &g.layout));
  if (sizes.rank != rank && sizes.rank != rank - 2)
    return tf_error(op, "%ld sizes of the input", (long)sizes.rank);
  memcpy(dims, dy->shape->dims, (size_t)rank * sizeof *dims);
  if (sizes.rank == rank) memcpy(dims, sizes.dims, (size_t)rank * sizeof *dims);
  for (int s = 0; sizes.rank != rank && s < rank - 2; s++)
    dims[g.layout.spatial[s]] = sizes.dims[at++];
  if (sizes.rank != rank) dims[g.layout.feature] = kernel->shape->dims[rank - 2];
  HR_TRY(begin(op, rank, dims, kernel->shape->dims, &g));
  HR_TRY(place_windows(op, &g, &sizes, &place));
  dy = fill_spatial(op->b, &g.layout, dy);
  if (!dy) return hlo_builder_finish(op->b);
  input_grad_window(&g, dy->shape, window);
  HR_TRY(input_grad_labels(op, &g, rank, &labels));
  kernel = exchange_groups(op->b, &g, tf_reshape(op->b, kernel, rank, g.kernel));
  HR_TRY(convolve(op, &g, dy, kernel, window, &labels, HLO_ATTR_FEATURE_GROUP_COUNT, &dx));
  return tf_out(op, 0, tf_cut_to_sizes(op->b, tf_place_back(op->b, &place, dx), &sizes));
}

/* Stride and dilation change roles: dy is the kernel, dilated by the stride. */
static void filter_grad_window(const conv_grad_t *g, const hlo_shape_t *x, const hlo_shape_t *dy,
                               hlo_window_dim_t *out_window) {
  for (int s = 0; s < g->count; s++) {
    hlo_window_dim_t w = g->window[s];
    int64_t d = g->layout.spatial[s];
    int64_t needed = (dy->dims[d] - 1) * w.stride + 1 + (w.size - 1) * w.window_dilation;
    out_window[s] = (hlo_window_dim_t){.size = dy->dims[d],
                                       .stride = w.window_dilation,
                                       .pad_low = w.pad_low,
                                       .pad_high = needed - x->dims[d] - w.pad_low,
                                       .base_dilation = 1,
                                       .window_dilation = w.stride};
  }
}

/* Channels of x act as batch, and the batch is contracted. */
static hr_status_t filter_grad_labels(tf_op_t *op, const conv_grad_t *g, int rank,
                                      hlo_dim_labels_t *out_labels) {
  *out_labels = (hlo_dim_labels_t){.spatial_rank = g->count,
                                   .lhs_rank = rank,
                                   .rhs_rank = rank,
                                   .out_rank = rank,
                                   .lhs_batch = g->layout.feature,
                                   .lhs_feature = g->layout.batch,
                                   .rhs_input_feature = g->layout.batch,
                                   .rhs_output_feature = g->layout.feature,
                                   .out_batch = g->count,
                                   .out_feature = g->count + 1};
  HR_TRY(spatial_lists(op, g, &out_labels->lhs_spatial, &out_labels->out_spatial));
  out_labels->rhs_spatial = out_labels->lhs_spatial;
  return NULL;
}

/* Conv2DBackpropFilter and its like. Inputs: input, sizes of the kernel, dy. The batch group
 * count keeps the groups apart. */
hr_status_t tf_lower_conv_filter_grad(tf_op_t *op) {
  conv_grad_t g;
  tf_placement_t place;
  hr_ints_t sizes;
  hlo_window_dim_t window[HLO_MAX_RANK];
  hlo_dim_labels_t labels;
  expr_t x = tf_in(op, 0), dy = tf_in(op, 2), dw;
  HR_TRY(tf_const_ints(op, 1, &sizes));
  if (!x || !dy) return hlo_builder_finish(op->b);
  int rank = x->shape->rank;
  if (dy->shape->rank != rank || sizes.count != rank)
    return tf_error(op, "the sizes of the kernel do not fit %d dimensions", rank);
  HR_TRY(begin(op, rank, x->shape->dims, sizes.data, &g));
  tf_sizes_t input = tf_sizes_of(op->b, x);
  HR_TRY(place_windows(op, &g, &input, &place));
  x = tf_place(op->b, &place, fill_spatial(op->b, &g.layout, x),
               tf_scalar(op->b, 0, x->shape->dtype));
  dy = fill_spatial(op->b, &g.layout, dy);
  if (!x || !dy) return hlo_builder_finish(op->b);
  filter_grad_window(&g, x->shape, dy->shape, window);
  HR_TRY(filter_grad_labels(op, &g, rank, &labels));
  HR_TRY(convolve(op, &g, x, dy, window, &labels, HLO_ATTR_BATCH_GROUP_COUNT, &dw));
  return tf_out(op, 0, tf_reshape(op->b, dw, rank, sizes.data));
}

/* AvgPoolGrad: dy over the counts, spread out by the stride, then summed over windows of stride 1.
 * Inputs: sizes of the input, dy. Each element of dy is divided among the averaged elements inside
 * the array. */
hr_status_t tf_lower_avg_pool_grad(tf_op_t *op) {
  hlo_builder_t *b = op->b;
  tf_layout_t layout;
  tf_sizes_t sizes;
  tf_placement_t place;
  hlo_window_dim_t dims[HLO_MAX_RANK];
  int64_t low[HLO_MAX_RANK], high[HLO_MAX_RANK], gaps[HLO_MAX_RANK];
  expr_t dy = tf_in(op, 1);
  HR_TRY(tf_sizes_in(op, 0, &sizes));
  if (!dy) return hlo_builder_finish(b);
  int rank = dy->shape->rank;
  hr_dtype_t dtype = dy->shape->dtype;
  if (sizes.rank != rank) return tf_error(op, "%ld sizes", (long)sizes.rank);
  HR_TRY(tf_window_layout(op, rank, &layout));
  HR_TRY(tf_window_pool(op, &layout, sizes.dims, -1, dims));
  HR_TRY(tf_placement_begin(op, &sizes, &place));
  for (int d = 0; d < rank; d++) tf_place_window(b, &place, d, &dims[d]);
  expr_t zero = tf_scalar(b, 0, dtype);
  expr_t ones = tf_broadcast_sized(b, tf_scalar(b, 1, dtype), &sizes);
  ones = tf_place(b, &place, fill_spatial(b, &layout, ones), zero);
  dy = fill_spatial(b, &layout, dy);
  expr_t counts = ones ? tf_reduce_window(op, HLO_ADD, ones, zero, dims) : NULL;
  if (!counts || !dy) return hlo_builder_finish(b);
  expr_t shared = f_div(b, dy, f_max(b, counts, f_number(b, 1, counts)));
  for (int d = 0; d < rank; d++) {
    int64_t wide = (dy->shape->dims[d] - 1) * dims[d].stride + 1;
    int64_t size = place.low[d] ? place.length[d] : sizes.dims[d];
    low[d] = dims[d].size - 1 - dims[d].pad_low;
    high[d] = size + dims[d].size - 1 - wide - low[d];
    gaps[d] = dims[d].stride - 1;
    dims[d] = (hlo_window_dim_t){
        .size = dims[d].size, .stride = 1, .base_dilation = 1, .window_dilation = 1};
  }
  expr_t spread = tf_pad(b, shared, zero, low, high, gaps);
  expr_t dx = tf_place_back(b, &place, tf_reduce_window(op, HLO_ADD, spread, zero, dims));
  return tf_out(op, 0, tf_cut_to_sizes(b, dx, &sizes));
}
