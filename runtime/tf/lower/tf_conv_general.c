/* Convolutions whose dimensions have any order, as XLA and the uniformly quantised operations write
 * them, and the second gradient of max pooling, which picks one element per window. */
#include <string.h>

#include "proto/hlo_proto.h"
#include "tf/lower/tf_window.h"

/* Attributes of a convolution that has its own dimension numbers. */
typedef struct general_conv {
  hlo_dim_labels_t labels;
  hr_ints_t strides, paddings, base_dilations, window_dilations; /* empty: 1, or 0 */
  bool same;                                                     /* paddings are those of SAME */
  int64_t feature_groups, batch_groups;
} general_conv_t;

/* Sets the spatial dimensions of the three arrays, whose numbers must agree. */
static hr_status_t set_spatial(tf_op_t *op, hr_ints_t lhs, hr_ints_t rhs, hr_ints_t out,
                               hlo_dim_labels_t *labels) {
  if (lhs.count != rhs.count || lhs.count != out.count || lhs.count > HLO_MAX_RANK - 2)
    return tf_error(op, "%ld, %ld and %ld spatial dimensions", (long)lhs.count, (long)rhs.count,
                    (long)out.count);
  labels->spatial_rank = (int)lhs.count;
  labels->lhs_rank = labels->spatial_rank + 2;
  labels->rhs_rank = labels->lhs_rank;
  labels->out_rank = labels->lhs_rank;
  labels->lhs_spatial = lhs.data;
  labels->rhs_spatial = rhs.data;
  labels->out_spatial = out.data;
  return NULL;
}

/* Whether each dimension of an array is named once. */
static bool names_all(int rank, int64_t first, int64_t second, const int64_t *spatial) {
  uint64_t seen = 0;
  for (int i = 0; i < rank; i++) {
    int64_t d = i == 0 ? first : second;
    if (i > 1) d = spatial[i - 2];
    if (d < 0 || d >= rank || (seen >> d & 1)) return false;
    seen |= UINT64_C(1) << d;
  }
  return true;
}

static hr_status_t check_labels(tf_op_t *op, const hlo_dim_labels_t *l, expr_t x, expr_t y) {
  bool good = x->shape->rank == l->lhs_rank && y->shape->rank == l->rhs_rank &&
              names_all(l->lhs_rank, l->lhs_batch, l->lhs_feature, l->lhs_spatial) &&
              names_all(l->rhs_rank, l->rhs_input_feature, l->rhs_output_feature, l->rhs_spatial) &&
              names_all(l->out_rank, l->out_batch, l->out_feature, l->out_spatial);
  return good ? NULL : tf_error(op, "the dimension numbers do not fit the arrays");
}

static int64_t entry(hr_ints_t list, int64_t i, int64_t otherwise) {
  return list.count > i ? list.data[i] : otherwise;
}

/* One window dimension; SAME pads so that ceil(size / stride) results come out. */
static hlo_window_dim_t window_of(const general_conv_t *c, int s, int64_t input, int64_t kernel) {
  hlo_window_dim_t w = {.size = kernel,
                        .stride = entry(c->strides, s, 1),
                        .base_dilation = entry(c->base_dilations, s, 1),
                        .window_dilation = entry(c->window_dilations, s, 1),
                        .pad_low = entry(c->paddings, 2 * s, 0),
                        .pad_high = entry(c->paddings, 2 * s + 1, 0)};
  if (!c->same || w.stride < 1 || w.window_dilation < 1) return w;
  int64_t wide = input ? (input - 1) * w.base_dilation + 1 : 0;
  int64_t results = (wide + w.stride - 1) / w.stride;
  int64_t total = (results - 1) * w.stride + (kernel - 1) * w.window_dilation + 1 - wide;
  if (total < 0) total = 0;
  w.pad_low = total / 2;
  w.pad_high = total - w.pad_low;
  return w;
}

/* Builds the convolution; its shape is inferred. */
static hr_status_t build(tf_op_t *op, const general_conv_t *c, expr_t x, expr_t y, expr_t *out) {
  int count = c->labels.spatial_rank;
  hlo_window_t *window;
  hlo_dim_labels_t *labels;
  hlo_window_dim_t *dims;
  HR_TRY(check_labels(op, &c->labels, x, y));
  HR_TRY(HR_NEW(op->arena, &window));
  HR_TRY(HR_NEW(op->arena, &labels));
  HR_TRY(HR_NEW_ARRAY(op->arena, count, &dims));
  for (int s = 0; s < count; s++) {
    dims[s] = window_of(c, s, x->shape->dims[c->labels.lhs_spatial[s]],
                        y->shape->dims[c->labels.rhs_spatial[s]]);
    if (dims[s].stride < 1 || dims[s].base_dilation < 1 || dims[s].window_dilation < 1)
      return tf_error(op, "a stride or dilation below 1");
  }
  *window = (hlo_window_t){count, dims};
  *labels = c->labels;
  hlo_attr_t attrs[] = {{.key = HLO_ATTR_WINDOW, .window = window},
                        {.key = HLO_ATTR_DIM_LABELS, .labels = labels},
                        hlo_attr_of_int(HLO_ATTR_FEATURE_GROUP_COUNT, c->feature_groups),
                        hlo_attr_of_int(HLO_ATTR_BATCH_GROUP_COUNT, c->batch_groups)};
  expr_t operands[] = {x, y};
  *out = hlo_build(op->b, HLO_CONVOLUTION, NULL, 2, operands, 4, attrs, 0, NULL);
  return NULL;
}

/* Inputs: x, kernel, strides, padding [n, 2], dilations of both, groups. XlaConv, and XlaConvV2
 * with a type of the result and batch groups. */
hr_status_t tf_lower_xla_conv(tf_op_t *op) {
  general_conv_t c = {.feature_groups = 1};
  proto_convolution_t p;
  hr_str_t *bytes;
  hr_ints_t lhs, rhs, result;
  hr_dtype_t dtype;
  expr_t in[2] = {tf_in(op, 0), tf_in(op, 1)}, y;
  HR_TRY(HR_NEW(op->arena, &bytes));
  HR_TRY(tf_attr_str(op->arena, op->node, "dimension_numbers", "", bytes));
  HR_TRY(PROTO_DECODE(op->arena, convolution, proto_piece(bytes), &p));
  HR_TRY(proto_ints(op->arena, p.input_spatial_dimensions, &lhs));
  HR_TRY(proto_ints(op->arena, p.kernel_spatial_dimensions, &rhs));
  HR_TRY(proto_ints(op->arena, p.output_spatial_dimensions, &result));
  c.labels = (hlo_dim_labels_t){.lhs_batch = p.input_batch_dimension,
                                .lhs_feature = p.input_feature_dimension,
                                .rhs_input_feature = p.kernel_input_feature_dimension,
                                .rhs_output_feature = p.kernel_output_feature_dimension,
                                .out_batch = p.output_batch_dimension,
                                .out_feature = p.output_feature_dimension};
  HR_TRY(set_spatial(op, lhs, rhs, result, &c.labels));
  HR_TRY(tf_const_ints(op, 2, &c.strides));
  HR_TRY(tf_const_ints(op, 3, &c.paddings));
  HR_TRY(tf_const_ints(op, 4, &c.base_dilations));
  HR_TRY(tf_const_ints(op, 5, &c.window_dilations));
  HR_TRY(tf_const_int(op, 6, &c.feature_groups));
  HR_TRY(tf_attr_int(op->arena, op->node, "batch_group_count", 1, &c.batch_groups));
  HR_TRY(tf_attr_dtype(op->arena, op->node, "preferred_element_type", &dtype));
  for (int i = 0; i < 2 && dtype != HR_TUPLE; i++)
    if (in[i] && in[i]->shape->dtype != dtype) in[i] = hlo_build_convert(op->b, in[i], dtype);
  if (!in[0] || !in[1]) return hlo_builder_finish(op->b);
  HR_TRY(build(op, &c, in[0], in[1], &y));
  return tf_out(op, 0, y);
}

/* Dimension numbers of a quantised convolution: those of its proto, or batch, features, spatial
 * dimensions and output features, input features, spatial dimensions. */
static hr_status_t quantised_labels(tf_op_t *op, int rank, hlo_dim_labels_t *out) {
  hr_str_t *bytes;
  tf_conv_dims_proto_t p;
  hr_ints_t lhs, rhs, result;
  int64_t places[HLO_MAX_RANK];
  HR_TRY(HR_NEW(op->arena, &bytes));
  HR_TRY(tf_attr_str(op->arena, op->node, "dimension_numbers", "", bytes));
  if (!bytes->size) {
    for (int s = 0; s < rank - 2; s++) places[s] = s + 2;
    *out = (hlo_dim_labels_t){.lhs_feature = 1, .rhs_input_feature = 1, .out_feature = 1};
    HR_TRY(hr_arena_ints(op->arena, places, rank > 2 ? rank - 2 : 0, &lhs));
    return set_spatial(op, lhs, lhs, lhs, out);
  }
  HR_TRY(TF_DECODE(op->arena, conv_dims, proto_piece(bytes), &p));
  HR_TRY(proto_ints(op->arena, p.input_spatial, &lhs));
  HR_TRY(proto_ints(op->arena, p.kernel_spatial, &rhs));
  HR_TRY(proto_ints(op->arena, p.output_spatial, &result));
  *out = (hlo_dim_labels_t){.lhs_batch = p.input_batch,
                            .lhs_feature = p.input_feature,
                            .rhs_input_feature = p.kernel_input_feature,
                            .rhs_output_feature = p.kernel_output_feature,
                            .out_batch = p.output_batch,
                            .out_feature = p.output_feature};
  return set_spatial(op, lhs, rhs, result, out);
}

hr_status_t tf_quantized_convolution(tf_op_t *op, expr_t x, expr_t kernel, expr_t *out_product,
                                     int64_t *out_feature) {
  general_conv_t c = {.feature_groups = 1};
  hr_str_t padding;
  HR_TRY(quantised_labels(op, x->shape->rank, &c.labels));
  HR_TRY(tf_attr_str(op->arena, op->node, "padding", "VALID", &padding));
  HR_TRY(tf_attr_ints(op->arena, op->node, "window_strides", &c.strides));
  HR_TRY(tf_attr_ints(op->arena, op->node, "explicit_padding", &c.paddings));
  HR_TRY(tf_attr_ints(op->arena, op->node, "lhs_dilation", &c.base_dilations));
  HR_TRY(tf_attr_ints(op->arena, op->node, "rhs_dilation", &c.window_dilations));
  HR_TRY(tf_attr_int(op->arena, op->node, "feature_group_count", 1, &c.feature_groups));
  HR_TRY(tf_attr_int(op->arena, op->node, "batch_group_count", 1, &c.batch_groups));
  c.same = hr_str_is(padding, "SAME");
  if (!hr_str_is(padding, "EXPLICIT")) c.paddings = (hr_ints_t){0};
  HR_TRY(build(op, &c, x, kernel, out_product));
  *out_feature = c.labels.out_feature;
  return NULL;
}

/* --- the second gradient of max pooling --- */

/* (x, g), (y, h) -> the pair whose first number is greater; the earlier one of equals. */
static hr_status_t greater_pair(tf_op_t *op, hr_dtype_t dtype, hlo_computation_t **out) {
  hlo_builder_t b;
  expr_t in[4];
  HR_TRY(tf_computation_begin(op->scope->compiler, "greater_pair", &b));
  for (int i = 0; i < 4; i++) in[i] = hlo_build_parameter(&b, i, hlo_shape_scalar(dtype));
  expr_t keeps = f_ge(&b, in[0], in[2]);
  expr_t pair[] = {f_select(&b, keeps, in[0], in[2]), f_select(&b, keeps, in[1], in[3])};
  *out = b.computation;
  return tf_computation_end(op->scope->compiler, &b, hlo_build_tuple(&b, 2, pair));
}

/* MaxPoolGradGrad(x, y, gradient) and its V2 and 3D forms: of each window the element of the
 * gradient at the place of the first maximum. */
hr_status_t tf_lower_max_pool_grad_grad(tf_op_t *op) {
  tf_layout_t layout;
  hlo_window_dim_t dims[HLO_MAX_RANK];
  hlo_window_t *window;
  hlo_computation_t *pick;
  void *copy;
  expr_t x = tf_in(op, 0), gradient = tf_in(op, 2);
  if (!x || !gradient) return hlo_builder_finish(op->b);
  hr_dtype_t dtype = x->shape->dtype;
  HR_TRY(tf_window_layout(op, x->shape->rank, &layout));
  HR_TRY(tf_window_pool(op, &layout, x->shape->dims, op->input_count > 3 ? 3 : -1, dims));
  HR_TRY(HR_NEW(op->arena, &window));
  HR_TRY(hr_arena_copy(op->arena, dims, (size_t)layout.rank * sizeof *dims, &copy));
  *window = (hlo_window_t){layout.rank, copy};
  HR_TRY(greater_pair(op, dtype, &pick));
  hlo_attr_t attrs[] = {{.key = HLO_ATTR_WINDOW, .window = window},
                        hlo_attr_of_called(HLO_ATTR_TO_APPLY, 1)};
  expr_t operands[] = {x, gradient, tf_identity_value(op->b, HLO_MAXIMUM, dtype),
                       tf_scalar(op->b, 0, dtype)};
  expr_t pair = hlo_build(op->b, HLO_REDUCE_WINDOW, NULL, 4, operands, 2, attrs, 1, &pick);
  return tf_out(op, 0, hlo_build_element(op->b, pair, 1));
}
