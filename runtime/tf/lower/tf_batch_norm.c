/* Biases and batch normalisation: vectors by channel over arrays of images. */
#include "tf/compile/tf_lower.h"

/* Attribute data_format: NCHW and NCDHW have the channels second, others last. */
static hr_status_t channel_dim(tf_op_t *op, int rank, int *out_dim) {
  hr_str_t format;
  HR_TRY(tf_attr_str(op->arena, op->node, "data_format", "NHWC", &format));
  if (rank < 2) return tf_error(op, "an array of %d dimensions", rank);
  *out_dim = format.size > 1 && format.data[0] == 'N' && format.data[1] == 'C' ? 1 : rank - 1;
  return NULL;
}

/* A vector of channels over the shape of x. */
static expr_t spread_channels(hlo_builder_t *b, expr_t vector, expr_t x, int channel) {
  int64_t dims[HLO_MAX_RANK];
  if (!vector || !x) return NULL;
  for (int d = 0; d < x->shape->rank; d++) dims[d] = d == channel ? x->shape->dims[d] : 1;
  return tf_broadcast_like(b, tf_reshape(b, vector, x->shape->rank, dims), x);
}

/* All dimensions but that of the channels, for sums by channel. */
static int other_dims(expr_t x, int channel, int64_t *dims) {
  int count = 0;
  for (int d = 0; d < x->shape->rank; d++)
    if (d != channel) dims[count++] = d;
  return count;
}

/* BiasAdd(value, bias): the bias is a vector by channel. */
hr_status_t tf_lower_bias_add(tf_op_t *op) {
  int channel;
  expr_t x = tf_in(op, 0);
  if (!x) return hlo_builder_finish(op->b);
  HR_TRY(channel_dim(op, x->shape->rank, &channel));
  return tf_out(op, 0, f_add(op->b, x, spread_channels(op->b, tf_in(op, 1), x, channel)));
}

/* BiasAddGrad: the sum over everything but the channels. */
hr_status_t tf_lower_bias_add_grad(tf_op_t *op) {
  int64_t dims[HLO_MAX_RANK];
  int channel;
  expr_t x = tf_in(op, 0);
  if (!x) return hlo_builder_finish(op->b);
  HR_TRY(channel_dim(op, x->shape->rank, &channel));
  return tf_out(op, 0, tf_reduce(op, HLO_ADD, x, other_dims(x, channel, dims), dims, false));
}

/* Elements of each channel of x, as numbers like `like`. */
static expr_t count_by_channel(hlo_builder_t *b, expr_t x, int channel, expr_t like) {
  double fixed = (double)hlo_shape_elements(x->shape) / (double)x->shape->dims[channel];
  if (!like || !hlo_shape_is_dynamic(x->shape)) return f_number(b, fixed, like);
  expr_t count = f_div(b, tf_element_count(b, x), tf_size_of(b, x, channel));
  return tf_broadcast_like(b, hlo_build_convert(b, count, like->shape->dtype), like);
}

/* n / (n - 1), and 1 for a single element. */
static expr_t unbiased_factor(hlo_builder_t *b, expr_t n) {
  expr_t one = f_number(b, 1, n);
  return n ? f_div(b, n, f_max(b, f_sub(b, n, one), one)) : NULL;
}

/* Scale, offset and statistics are bf16 or f32 and computed with in f32. */
static expr_t wide_input(tf_op_t *op, int k) {
  expr_t x = tf_in(op, k);
  return x ? hlo_build_convert(op->b, x, HR_F32) : NULL;
}

/* Attributes and inputs of a batch normalisation. */
typedef struct batch_norm {
  double epsilon, factor; /* factor: exponential_avg_factor, part of the new statistics */
  bool is_training;
  int channel;
  int count;                  /* number of dims */
  int64_t dims[HLO_MAX_RANK]; /* dimensions that statistics are summed over */
  expr_t x, scale, mean, variance;
} batch_norm_t;

static hr_status_t read_attrs(tf_op_t *op, int rank, batch_norm_t *out) {
  HR_TRY(tf_attr_float(op->arena, op->node, "epsilon", 1e-4, &out->epsilon));
  HR_TRY(tf_attr_float(op->arena, op->node, "exponential_avg_factor", 1, &out->factor));
  HR_TRY(tf_attr_bool(op->arena, op->node, "is_training", true, &out->is_training));
  return channel_dim(op, rank, &out->channel);
}

/* (1 - f) old + f new. */
static expr_t moving_average(hlo_builder_t *b, double f, expr_t old, expr_t new) {
  if (!new || f == 1) return new;
  return f_add(b, f_mul(b, f_number(b, 1 - f, new), old), f_mul(b, f_number(b, f, new), new));
}

/* Statistics of this batch. n->mean and n->variance become the moving averages that are returned,
 * the variance unbiased; *out_mean and *out_variance those that normalise. */
static void batch_statistics(tf_op_t *op, batch_norm_t *n, expr_t *out_mean, expr_t *out_variance) {
  hlo_builder_t *b = op->b;
  expr_t sum = tf_reduce(op, HLO_ADD, n->x, n->count, n->dims, false);
  expr_t elements = count_by_channel(b, n->x, n->channel, sum);
  *out_mean = f_div(b, sum, elements);
  expr_t difference = f_sub(b, n->x, spread_channels(b, *out_mean, n->x, n->channel));
  expr_t squares =
      tf_reduce(op, HLO_ADD, f_mul(b, difference, difference), n->count, n->dims, false);
  *out_variance = f_div(b, squares, elements);
  expr_t unbiased = f_mul(b, *out_variance, unbiased_factor(b, elements));
  n->mean = moving_average(b, n->factor, n->mean, *out_mean);
  n->variance = moving_average(b, n->factor, n->variance, unbiased);
}

/* FusedBatchNorm to V3: y = (x - mean) scale / sqrt(variance + epsilon) + offset by channel, in
 * f32. Without is_training, inputs 3 and 4 are used. With exponential_avg_factor f below 1, the
 * returned mean and variance are (1 - f) old + f new. Inputs: x, scale, offset, mean, variance.
 * Outputs: y, mean, variance, and the two for the gradient. In training the returned variance is
 * unbiased, the one for the gradient is not. */
hr_status_t tf_lower_batch_norm(tf_op_t *op) {
  hlo_builder_t *b = op->b;
  expr_t in = tf_in(op, 0), offset = wide_input(op, 2);
  batch_norm_t n = {
      .scale = wide_input(op, 1), .mean = wide_input(op, 3), .variance = wide_input(op, 4)};
  if (!in || !n.variance) return hlo_builder_finish(b);
  HR_TRY(read_attrs(op, in->shape->rank, &n));
  n.x = in->shape->dtype == HR_F32 ? in : hlo_build_convert(b, in, HR_F32);
  if (!n.x) return hlo_builder_finish(b);
  n.count = other_dims(n.x, n.channel, n.dims);
  expr_t mean = n.mean, variance = n.variance;
  if (n.is_training) batch_statistics(op, &n, &mean, &variance);
  if (!variance) return hlo_builder_finish(b);
  expr_t inverse = f_rsqrt(b, f_add(b, variance, f_number(b, n.epsilon, variance)));
  expr_t slope = f_mul(b, inverse, n.scale);
  expr_t centred = f_sub(b, n.x, spread_channels(b, mean, n.x, n.channel));
  expr_t y = f_add(b, f_mul(b, centred, spread_channels(b, slope, n.x, n.channel)),
                   spread_channels(b, offset, n.x, n.channel));
  if (y && in->shape->dtype != HR_F32) y = hlo_build_convert(b, y, in->shape->dtype);
  HR_TRY(tf_out(op, 0, y));
  expr_t statistics[] = {n.mean, n.variance, mean, variance};
  for (int k = 0; k < 4; k++)
    HR_TRY(tf_out(op, k + 1, hlo_build_convert(b, statistics[k], tf_in_dtype(op, 1))));
  int64_t reserve_size = 0; /* only GPUs use the reserve space */
  return tf_out(op, 5, tf_fill(b, 0, tf_in_dtype(op, 1), 1, &reserve_size));
}

/* With d = x - mean, r = 1 / sqrt(variance + epsilon) and means over all but the channels:
 *   dx = scale r (dy - mean(dy) - d r^2 mean(dy d))   in training, else scale r dy
 * `sum_dy` and `sum_dy_d` are the sums of dy and of dy d. */
static expr_t input_gradient(hlo_builder_t *b, const batch_norm_t *n, expr_t dy, expr_t centred,
                             expr_t inverse, expr_t sum_dy, expr_t sum_dy_d) {
  expr_t dx = dy;
  expr_t slope = f_mul(b, n->scale, inverse);
  if (n->is_training && sum_dy && sum_dy_d) {
    expr_t size = count_by_channel(b, n->x, n->channel, sum_dy);
    expr_t mean_dy = f_div(b, sum_dy, size);
    expr_t along = f_mul(b, f_div(b, sum_dy_d, size), f_mul(b, inverse, inverse));
    dx = f_sub(b, f_sub(b, dy, spread_channels(b, mean_dy, n->x, n->channel)),
               f_mul(b, centred, spread_channels(b, along, n->x, n->channel)));
  }
  return f_mul(b, dx, spread_channels(b, slope, n->x, n->channel));
}

/* FusedBatchNormGrad to V3. Inputs: dy, x, scale, mean, variance, the last two from the reserve
 * spaces of FusedBatchNorm. Outputs: dx as input_gradient, dscale = r sum(dy d),
 * doffset = sum(dy); outputs 3 and 4 are reserved and empty. */
hr_status_t tf_lower_batch_norm_grad(tf_op_t *op) {
  hlo_builder_t *b = op->b;
  expr_t dy = tf_in(op, 0);
  batch_norm_t n = {.x = tf_in(op, 1),
                    .scale = tf_in(op, 2),
                    .mean = wide_input(op, 3),
                    .variance = wide_input(op, 4)};
  if (!dy || !n.x || !n.scale || !n.variance) return hlo_builder_finish(b);
  hr_dtype_t dtype = n.x->shape->dtype, wide = n.scale->shape->dtype; /* f16 and bf16 with f32 */
  dy = hlo_build_convert(b, dy, wide);
  n.x = hlo_build_convert(b, n.x, wide);
  if (!dy || !n.x) return hlo_builder_finish(b);
  HR_TRY(read_attrs(op, n.x->shape->rank, &n));
  n.count = other_dims(n.x, n.channel, n.dims);
  expr_t inverse = f_rsqrt(b, f_add(b, n.variance, f_number(b, n.epsilon, n.variance)));
  expr_t centred = f_sub(b, n.x, spread_channels(b, n.mean, n.x, n.channel));
  expr_t sum_dy = tf_reduce(op, HLO_ADD, dy, n.count, n.dims, false);
  expr_t sum_dy_d = tf_reduce(op, HLO_ADD, f_mul(b, dy, centred), n.count, n.dims, false);
  expr_t dx = input_gradient(b, &n, dy, centred, inverse, sum_dy, sum_dy_d);
  HR_TRY(tf_out(op, 0, dx ? hlo_build_convert(b, dx, dtype) : NULL));
  expr_t d_scale = f_mul(b, sum_dy_d, inverse);
  if (!d_scale || !sum_dy) return hlo_builder_finish(b);
  HR_TRY(tf_out(op, 1, hlo_build_convert(b, d_scale, tf_in_dtype(op, 3))));
  HR_TRY(tf_out(op, 2, hlo_build_convert(b, sum_dy, tf_in_dtype(op, 3))));
  int64_t reserve_size = 0;
  HR_TRY(tf_out(op, 3, tf_fill(b, 0, HR_F32, 1, &reserve_size)));
  return tf_out(op, 4, tf_fill(b, 0, HR_F32, 1, &reserve_size));
}
