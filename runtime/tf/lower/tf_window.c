/* Convolutions and pooling over two or three spatial dimensions, with data formats NHWC, NCHW,
 * NDHWC and NCDHW. Padding is VALID, SAME (TensorFlow's: the odd element goes to the end) or
 * EXPLICIT. Gradients are in tf_window_grad.c. */
#include "tf/lower/tf_window.h"

#include <math.h>

typedef tf_layout_t layout_t;

/* The batch is always first. NHWC and NDHWC have the channels last, NCHW and NCDHW right after the
 * batch. */
hr_status_t tf_window_layout(tf_op_t *op, int rank, layout_t *out) {
  hr_str_t format;
  HR_TRY(tf_attr_str(op->arena, op->node, "data_format", rank == 5 ? "NDHWC" : "NHWC", &format));
  bool first = (format.size > 1 && format.data[1] == 'C') || hr_str_is(format, "CHANNELS_FIRST");
  if (rank != 4 && rank != 5) return tf_unsupported(op, "an array of %d dimensions", rank);
  *out = (layout_t){.rank = rank, .feature = first ? 1 : rank - 1, .spatial_count = rank - 2};
  for (int s = 0; s < rank - 2; s++) out->spatial[s] = first ? s + 2 : s + 1;
  return NULL;
}

/* Window along one dimension: padding of SAME makes ceil(size / stride) results.
 * SAME: total = (results - 1) stride + (window - 1) dilation + 1 - size elements of padding, of
 * which the lower half comes in front. VALID pads nothing. */
static hlo_window_dim_t window_dim(int64_t size, int64_t window, int64_t stride, int64_t dilation,
                                   bool same) {
  hlo_window_dim_t dim = {
      .size = window, .stride = stride, .base_dilation = 1, .window_dilation = dilation};
  if (!same) return dim;
  int64_t results = (size + stride - 1) / stride;
  int64_t total = (results - 1) * stride + (window - 1) * dilation + 1 - size;
  if (total < 0) total = 0;
  dim.pad_low = total / 2;
  dim.pad_high = total - total / 2;
  return dim;
}

/* Lists such as strides have one entry per dimension of the array; an absent one means all 1. */
static hr_status_t attr_list(tf_op_t *op, const char *name, int rank, int64_t out[HLO_MAX_RANK]) {
  hr_ints_t list;
  HR_TRY(tf_attr_ints(op->arena, op->node, name, &list));
  if (list.count && list.count != rank)
    return tf_error(op, "attribute %s has %ld entries, want %d", name, (long)list.count, rank);
  for (int d = 0; d < rank; d++) {
    out[d] = list.count ? list.data[d] : 1;
    if (out[d] < 1) return tf_error(op, "attribute %s has the entry %ld", name, (long)out[d]);
  }
  return NULL;
}

/* Padding of one spatial dimension, EXPLICIT ones from explicit_paddings.
 * explicit_paddings has two entries per dimension of the array, in its own order. `sizes` are
 * those of the window by spatial dimension, `strides` are by dimension of the array. */
static hr_status_t make_window(tf_op_t *op, const layout_t *layout, const int64_t *input_dims,
                               const int64_t *sizes, const int64_t *strides,
                               hlo_window_dim_t *out) {
  int64_t dilations[HLO_MAX_RANK];
  hr_str_t padding;
  hr_ints_t explicit;
  HR_TRY(attr_list(op, "dilations", layout->rank, dilations));
  HR_TRY(tf_attr_str(op->arena, op->node, "padding", "VALID", &padding));
  HR_TRY(tf_attr_ints(op->arena, op->node, "explicit_paddings", &explicit));
  bool is_explicit = hr_str_is(padding, "EXPLICIT");
  if (is_explicit && explicit.count != 2 * layout->rank)
    return tf_error(op, "%ld explicit paddings", (long)explicit.count);
  for (int s = 0; s < layout->spatial_count; s++) {
    int64_t d = layout->spatial[s];
    out[s] =
        window_dim(input_dims[d], sizes[s], strides[d], dilations[d], hr_str_is(padding, "SAME"));
    if (!is_explicit) continue;
    out[s].pad_low = explicit.data[2 * d];
    out[s].pad_high = explicit.data[2 * d + 1];
  }
  return NULL;
}

hr_status_t tf_window_make(tf_op_t *op, const layout_t *layout, const int64_t *input_dims,
                           const int64_t *sizes, hlo_window_dim_t *out) {
  int64_t strides[HLO_MAX_RANK];
  HR_TRY(attr_list(op, "strides", layout->rank, strides));
  return make_window(op, layout, input_dims, sizes, strides, out);
}

/* The kernel is [spatial.., in / groups, out] in every data format; `groups` cuts the channels. */
static hr_status_t build_convolution(tf_op_t *op, const layout_t *layout, expr_t x, expr_t kernel,
                                     const hlo_window_dim_t *dims, int64_t groups, expr_t *out) {
  hlo_window_t *window;
  hlo_dim_labels_t *labels;
  void *copy;
  hr_ints_t spatial, kernel_spatial;
  int count = layout->spatial_count;
  int64_t places[HLO_MAX_RANK];
  for (int s = 0; s < count; s++) places[s] = s;
  HR_TRY(HR_NEW(op->arena, &window));
  HR_TRY(HR_NEW(op->arena, &labels));
  HR_TRY(hr_arena_copy(op->arena, dims, (size_t)count * sizeof *dims, &copy));
  HR_TRY(hr_arena_ints(op->arena, layout->spatial, count, &spatial));
  HR_TRY(hr_arena_ints(op->arena, places, count, &kernel_spatial));
  *window = (hlo_window_t){count, copy};
  *labels = (hlo_dim_labels_t){.spatial_rank = count,
                               .lhs_rank = layout->rank,
                               .rhs_rank = layout->rank,
                               .out_rank = layout->rank,
                               .lhs_batch = layout->batch,
                               .lhs_feature = layout->feature,
                               .rhs_input_feature = count,
                               .rhs_output_feature = count + 1,
                               .out_batch = layout->batch,
                               .out_feature = layout->feature,
                               .lhs_spatial = spatial.data,
                               .rhs_spatial = kernel_spatial.data,
                               .out_spatial = spatial.data};
  hlo_attr_t attrs[] = {{.key = HLO_ATTR_WINDOW, .window = window},
                        {.key = HLO_ATTR_DIM_LABELS, .labels = labels},
                        hlo_attr_of_int(HLO_ATTR_FEATURE_GROUP_COUNT, groups)};
  expr_t operands[] = {x, kernel};
  *out = hlo_build(op->b, HLO_CONVOLUTION, NULL, 2, operands, 3, attrs, 0, NULL);
  return NULL;
}

/* Conv2D, Conv3D and DepthwiseConv2dNative(input, filter). Variant 1: depthwise; the kernel [h, w,
 * c, m] becomes [h, w, 1, c m] with c groups. Kernels with fewer input channels than the array mean
 * grouped convolution. */
hr_status_t tf_lower_convolution(tf_op_t *op) {
  layout_t layout;
  tf_placement_t place;
  hlo_window_dim_t dims[HLO_MAX_RANK];
  expr_t x = tf_in(op, 0), kernel = tf_in(op, 1), y;
  if (!x || !kernel) return hlo_builder_finish(op->b);
  tf_sizes_t size = tf_sizes_of(op->b, x);
  HR_TRY(tf_window_layout(op, x->shape->rank, &layout));
  if (kernel->shape->rank != layout.rank) return tf_error(op, "a kernel of another rank");
  HR_TRY(tf_window_make(op, &layout, x->shape->dims, kernel->shape->dims, dims));
  int count = layout.spatial_count;
  int64_t features = x->shape->dims[layout.feature];
  int64_t in = kernel->shape->dims[count], groups = in ? features / in : 0;
  if (op->row->variant) {
    int64_t sizes[HLO_MAX_RANK];
    for (int s = 0; s < count; s++) sizes[s] = kernel->shape->dims[s];
    sizes[count] = 1;
    sizes[count + 1] = in * kernel->shape->dims[count + 1];
    kernel = tf_reshape(op->b, kernel, layout.rank, sizes);
    groups = features;
  } else if (!in || features % in) {
    return tf_error(op, "%ld features in groups of %ld", (long)features, (long)in);
  }
  HR_TRY(tf_placement_begin(op, &size, &place));
  for (int s = 0; s < count; s++) tf_place_window(op->b, &place, (int)layout.spatial[s], &dims[s]);
  x = tf_place(op->b, &place, x, tf_scalar(op->b, 0, x->shape->dtype));
  HR_TRY(build_convolution(op, &layout, x, kernel, dims, groups, &y));
  place.sizes.exprs[layout.feature] = NULL;
  return tf_out(op, 0, tf_place_results(op->b, &place, y));
}

/* --- pooling --- */

/* Entries of a list that is an attribute, or an input of the V2 forms. */
static hr_status_t pool_list(tf_op_t *op, const char *name, int input, int rank,
                             int64_t out[HLO_MAX_RANK]) {
  hr_ints_t list;
  if (input < 0) return attr_list(op, name, rank, out);
  HR_TRY(tf_const_ints(op, input, &list));
  if (list.count != rank) return tf_error(op, "%s has %ld entries", name, (long)list.count);
  for (int d = 0; d < rank; d++) {
    out[d] = list.data[d];
    if (out[d] < 1) return tf_error(op, "%s has the entry %ld", name, (long)out[d]);
  }
  return NULL;
}

/* ksize and strides have one entry per dimension of the array. MaxPoolV2 takes both as inputs. */
hr_status_t tf_window_pool(tf_op_t *op, const layout_t *layout, const int64_t *input_dims,
                           int sizes_input, hlo_window_dim_t *out) {
  int64_t sizes[HLO_MAX_RANK], strides[HLO_MAX_RANK], window[HLO_MAX_RANK];
  hlo_window_dim_t spatial[HLO_MAX_RANK];
  int strides_input = sizes_input < 0 ? -1 : sizes_input + 1;
  HR_TRY(pool_list(op, "ksize", sizes_input, layout->rank, sizes));
  HR_TRY(pool_list(op, "strides", strides_input, layout->rank, strides));
  if (sizes[layout->batch] != 1 || sizes[layout->feature] != 1)
    return tf_unsupported(op, "pooling over examples or channels");
  for (int s = 0; s < layout->spatial_count; s++) window[s] = sizes[layout->spatial[s]];
  HR_TRY(make_window(op, layout, input_dims, window, strides, spatial));
  for (int d = 0; d < layout->rank; d++)
    out[d] = (hlo_window_dim_t){.size = 1, .stride = 1, .base_dilation = 1, .window_dilation = 1};
  for (int s = 0; s < layout->spatial_count; s++) out[layout->spatial[s]] = spatial[s];
  return NULL;
}

/* MaxPool, AvgPool and their 3D forms. Variant: MAXIMUM, or ADD for the average over elements
 * inside the array. The divisor of the average counts the elements of each window inside the array,
 * by a window sum of ones. */
hr_status_t tf_lower_pool(tf_op_t *op) {
  hlo_builder_t *b = op->b;
  layout_t layout;
  tf_placement_t place;
  hlo_window_dim_t dims[HLO_MAX_RANK];
  expr_t x = tf_in(op, 0);
  if (!x) return hlo_builder_finish(b);
  tf_sizes_t sizes = tf_sizes_of(b, x);
  HR_TRY(tf_window_layout(op, x->shape->rank, &layout));
  HR_TRY(tf_window_pool(op, &layout, x->shape->dims, op->input_count > 1 ? 1 : -1, dims));
  HR_TRY(tf_placement_begin(op, &sizes, &place));
  for (int d = 0; d < layout.rank; d++) tf_place_window(b, &place, d, &dims[d]);
  hlo_opcode_t scalar_op = (hlo_opcode_t)op->row->variant;
  hr_dtype_t dtype = x->shape->dtype;
  expr_t start = tf_identity_value(b, scalar_op, dtype), ones = hlo_build_number_like(b, 1, x);
  expr_t result = tf_reduce_window(op, scalar_op, tf_place(b, &place, x, start), start, dims);
  result = tf_place_results(b, &place, result);
  if (scalar_op == HLO_MAXIMUM || !result) return tf_out(op, 0, result);
  ones = tf_place(b, &place, ones, tf_scalar(b, 0, dtype));
  expr_t counts = tf_reduce_window(op, HLO_ADD, ones, tf_scalar(b, 0, dtype), dims);
  return tf_out(op, 0, f_div(b, result, tf_place_results(b, &place, counts)));
}

/* MaxPoolGrad. Gradient of max pooling: the first maximum of each window gets its gradient. Inputs:
 * x, y, dy. HLO's select-and-scatter keeps the element that is selected by >=, the first of equals,
 * and adds the gradients of overlapping windows. y is not needed. */
hr_status_t tf_lower_max_pool_grad(tf_op_t *op) {
  layout_t layout;
  tf_placement_t place;
  hlo_window_dim_t dims[HLO_MAX_RANK];
  hlo_window_t *window;
  void *copy;
  hlo_builder_t select;
  expr_t x = tf_in(op, 0), dy = tf_in(op, 2);
  if (!x || !dy) return hlo_builder_finish(op->b);
  hr_dtype_t dtype = x->shape->dtype;
  tf_sizes_t sizes = tf_sizes_of(op->b, x);
  HR_TRY(tf_window_layout(op, x->shape->rank, &layout));
  HR_TRY(tf_window_pool(op, &layout, x->shape->dims, op->input_count > 3 ? 3 : -1, dims));
  HR_TRY(tf_placement_begin(op, &sizes, &place));
  for (int d = 0; d < layout.rank; d++) tf_place_window(op->b, &place, d, &dims[d]);
  expr_t zero = tf_scalar(op->b, 0, dtype);
  x = tf_place(op->b, &place, x, tf_identity_value(op->b, HLO_MAXIMUM, dtype));
  if (place.has_moved) dy = tf_fill_all(op->b, dy, zero);
  if (!x || !dy) return hlo_builder_finish(op->b);
  HR_TRY(HR_NEW(op->arena, &window));
  HR_TRY(hr_arena_copy(op->arena, dims, (size_t)layout.rank * sizeof *dims, &copy));
  *window = (hlo_window_t){layout.rank, copy};
  HR_TRY(tf_computation_begin(op->scope->compiler, "select_ge", &select));
  expr_t p = hlo_build_parameter(&select, 0, hlo_shape_scalar(dtype));
  expr_t q = hlo_build_parameter(&select, 1, hlo_shape_scalar(dtype));
  HR_TRY(tf_computation_end(op->scope->compiler, &select, f_ge(&select, p, q)));
  hlo_computation_t *called[] = {select.computation, tf_reducer(op, HLO_ADD, dtype)};
  hlo_attr_t attrs[] = {{.key = HLO_ATTR_WINDOW, .window = window},
                        hlo_attr_of_called(HLO_ATTR_SELECT, 1),
                        hlo_attr_of_called(HLO_ATTR_SCATTER, 1)};
  expr_t operands[] = {x, dy, zero};
  if (!called[1]) return hlo_builder_finish(op->b);
  expr_t dx = hlo_build(op->b, HLO_SELECT_AND_SCATTER, NULL, 3, operands, 3, attrs, 2, called);
  if (!place.has_moved) return tf_out(op, 0, dx);
  return tf_out(op, 0, tf_cut_to_sizes(op->b, tf_place_back(op->b, &place, dx), &sizes));
}
