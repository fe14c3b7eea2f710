/* Images [batch, height, width, channels]: resizing and colours.
 * Resizing is separable: a matrix of weights for each of height and width; its gradient multiplies
 * by the transposes. Nearest neighbours are gathers. */
#include <math.h>

#include "tf/compile/tf_lower.h"

/* --- resizing --- */

/* How positions of result and source correspond. align_corners: the centres of the corner pixels
 * coincide. half_pixel_centers: pixel i covers [i, i + 1) and its centre is i + 0.5. Neither:
 * position i of the result is i times the scale. */
typedef struct resize {
  bool align_corners;
  bool half_pixels;
} resize_t;

static hr_status_t read_resize(tf_op_t *op, resize_t *out) {
  HR_TRY(tf_attr_bool(op->arena, op->node, "align_corners", false, &out->align_corners));
  return tf_attr_bool(op->arena, op->node, "half_pixel_centers", false, &out->half_pixels);
}

/* The distance in the source between neighbouring pixels of the result. The type f32 and the order
 * of operations are TensorFlow's, as another rounding moves a neighbour by one pixel. */
static float scale_of(const resize_t *resize, int64_t from, int64_t to) {
  bool aligned = resize->align_corners && to > 1;
  return aligned ? (float)(from - 1) / (float)(to - 1) : (float)from / (float)to;
}

/* Position in the source of result i. */
static float source_of(const resize_t *resize, float scale, int64_t i) {
  return resize->half_pixels ? ((float)i + 0.5f) * scale - 0.5f : (float)i * scale;
}

/* Pixels beyond the border are those of the border. */
static int64_t within(int64_t i, int64_t size) {
  if (i < 0) return 0;
  return i < size ? i : size - 1;
}

/* With aligned corners the position is rounded to the nearest pixel; otherwise the pixel is the one
 * that the position lies in. */
static int64_t nearest_of(const resize_t *resize, float scale, int64_t i, int64_t size) {
  float at = resize->half_pixels ? ((float)i + 0.5f) * scale : (float)i * scale;
  return within((int64_t)(resize->align_corners ? roundf(at) : floorf(at)), size);
}

/* Adds the weights of the source's pixels for pixel i of the result to row i of the matrix, which
 * holds zeros before. */
typedef void (*row_fn)(const resize_t *resize, float scale, int64_t i, int64_t from, float *row);

static void nearest_row(const resize_t *resize, float scale, int64_t i, int64_t from, float *row) {
  row[nearest_of(resize, scale, i, from)] = 1;
}

/* Both neighbours are the same pixel where the position is whole or clamped. */
static void bilinear_row(const resize_t *resize, float scale, int64_t i, int64_t from, float *row) {
  float at = source_of(resize, scale, i);
  float share = at - floorf(at);
  row[within((int64_t)floorf(at), from)] += 1 - share;
  row[within((int64_t)ceilf(at), from)] += share;
}

/* Keys' cubic kernel with parameter a, at a distance x below 1 and at one from 1 to 2. */
static double cubic_near(double a, double x) { return ((a + 2) * x - (a + 3)) * x * x + 1; }
static double cubic_far(double a, double x) { return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a; }

/* TensorFlow rounds the position to 1 / 1024. With half pixel centres the kernel's a is -1/2, and
 * pixels beyond the border have no weight; otherwise a is -3/4, and pixels beyond the border are
 * those of the border. */
static void bicubic_row(const resize_t *resize, float scale, int64_t i, int64_t from, float *row) {
  float at = source_of(resize, scale, i);
  int64_t first = (int64_t)floorf(at);
  double x = (double)lrintf((at - (float)first) * 1024) / 1024, sum = 0;
  double a = resize->half_pixels ? -0.5 : -0.75;
  double weights[] = {cubic_far(a, x + 1), cubic_near(a, x), cubic_near(a, 1 - x),
                      cubic_far(a, 2 - x)};
  for (int64_t k = 0; k < 4; k++) {
    int64_t pixel = first - 1 + k;
    if (resize->half_pixels && pixel != within(pixel, from)) weights[k] = 0;
    sum += weights[k];
  }
  for (int64_t k = 0; k < 4; k++)
    row[within(first - 1 + k, from)] +=
        (float)(resize->half_pixels ? weights[k] / sum : weights[k]);
}

/* The weights are those of the mean over the part of the source that the pixel covers. */
static void area_row(const resize_t *resize, float scale, int64_t i, int64_t from, float *row) {
  float start = (float)i * scale, end = (float)(i + 1) * scale;
  (void)resize;
  for (int64_t pixel = (int64_t)floorf(start); pixel < (int64_t)ceilf(end); pixel++) {
    float left = fmaxf(start, (float)pixel), right = fminf(end, (float)(pixel + 1));
    row[within(pixel, from)] += (right - left) / scale;
  }
}

/* Indexed by the variant in tf_ops.def. */
static const row_fn row_functions[] = {bilinear_row, nearest_row, bicubic_row, area_row};
enum { NEAREST = 1 };

/* The matrix of weights [to, from] that samples one dimension. */
static hr_status_t make_weights(tf_op_t *op, const resize_t *resize, int64_t from, int64_t to,
                                expr_t *out) {
  hlo_value_t *value;
  int64_t dims[] = {to, from};
  HR_TRY(hlo_value_array(HR_F32, 2, dims, &value));
  hlo_value_clear(value);
  float *weights = value->data;
  float scale = scale_of(resize, from, to);
  for (int64_t i = 0; i < to; i++)
    row_functions[op->row->variant](resize, scale, i, from, weights + i * from);
  *out = hlo_build_constant(op->b, value);
  return NULL;
}

/* The product has the free dimension of the weights in front; `back` moves it to dimension d. */
expr_t tf_multiply_along(hlo_builder_t *b, expr_t x, int d, expr_t weights, bool transposed) {
  static const int64_t back[2][4] = {{1, 0, 2, 3}, {1, 2, 0, 3}};
  int64_t of_weights = transposed ? 0 : 1, of_image = d;
  tf_dot_dims_t dims = {.x_contract = {&of_weights, 1}, .y_contract = {&of_image, 1}};
  expr_t y = tf_dot(b, weights, x, &dims);
  return tf_transpose(b, y, back[d - 1]);
}

/* Images are NHWC here; ResizeBilinear and its like have no attribute data_format. */
static hr_status_t check_image(tf_op_t *op, expr_t x) {
  if (x && x->shape->rank != 4) return tf_error(op, "an image of %d dimensions", x->shape->rank);
  return hlo_builder_finish(op->b);
}

/* Input 1, the height and width of the result, must be known at compile time. */
static hr_status_t new_sizes(tf_op_t *op, hr_ints_t *out) {
  HR_TRY(tf_const_ints(op, 1, out));
  if (out->count != 2 || out->data[0] < 1 || out->data[1] < 1)
    return tf_error(op, "the new sizes are not two positive numbers");
  return NULL;
}

/* Images that have pixels, attributes, and the new height and width. */
static hr_status_t read_operands(tf_op_t *op, resize_t *resize, expr_t *out_x,
                                 hr_ints_t *out_sizes) {
  expr_t x = tf_in(op, 0);
  HR_TRY(check_image(op, x));
  HR_TRY(read_resize(op, resize));
  HR_TRY(new_sizes(op, out_sizes));
  if (x->shape->dims[1] < 1 || x->shape->dims[2] < 1) return tf_error(op, "an empty image");
  *out_x = x;
  return NULL;
}

/* Inputs: images, the new height and width. The result is f32. variant: index into row_functions.
 */
hr_status_t tf_lower_resize(tf_op_t *op) {
  resize_t resize;
  hr_ints_t sizes;
  expr_t x;
  HR_TRY(read_operands(op, &resize, &x, &sizes));
  if (x->shape->dtype != HR_F32) x = hlo_build_convert(op->b, x, HR_F32);
  /* A dimension of equal size needs no product: its weights would be the identity matrix. */
  for (int d = 1; d <= 2 && x; d++) {
    expr_t weights;
    if (x->shape->dims[d] == sizes.data[d - 1]) continue;
    HR_TRY(make_weights(op, &resize, x->shape->dims[d], sizes.data[d - 1], &weights));
    x = tf_multiply_along(op->b, x, d, weights, false);
  }
  return tf_out(op, 0, x);
}

/* Inputs: gradient, original image or (variant 1, nearest) its height and width.
 * ResizeBilinearGrad and ResizeBicubicGrad have the original image as input 1,
 * ResizeNearestNeighborGrad its sizes. The result has the type of the original image. */
hr_status_t tf_lower_resize_grad(tf_op_t *op) {
  resize_t resize;
  hr_ints_t sizes;
  int64_t original[2];
  bool nearest = op->row->variant == NEAREST;
  expr_t dy = tf_in(op, 0);
  HR_TRY(check_image(op, dy));
  HR_TRY(read_resize(op, &resize));
  if (nearest) HR_TRY(new_sizes(op, &sizes));
  const hlo_shape_t *shape = nearest ? NULL : tf_in_shape(op, 1);
  HR_TRY(hlo_builder_finish(op->b));
  if (shape && shape->rank != 4) return tf_error(op, "an image of %d dimensions", shape->rank);
  hr_dtype_t dtype = dy->shape->dtype;
  if (dtype != HR_F32) dy = hlo_build_convert(op->b, dy, HR_F32);
  for (int d = 1; d <= 2 && dy; d++) {
    expr_t weights;
    original[d - 1] = nearest ? sizes.data[d - 1] : shape->dims[d];
    if (original[d - 1] < 1) return tf_error(op, "an empty image");
    HR_TRY(make_weights(op, &resize, original[d - 1], dy->shape->dims[d], &weights));
    dy = tf_multiply_along(op->b, dy, d, weights, true);
  }
  if (shape) dtype = shape->dtype;
  return tf_out(op, 0, dy && dtype != HR_F32 ? hlo_build_convert(op->b, dy, dtype) : dy);
}

/* ResizeNearestNeighbor: rows of pixels are gathered by constant indices, for any type. */
hr_status_t tf_lower_resize_nearest(tf_op_t *op) {
  resize_t resize;
  hr_ints_t sizes;
  expr_t x;
  HR_TRY(read_operands(op, &resize, &x, &sizes));
  for (int d = 1; d <= 2 && x; d++) {
    hlo_value_t *value;
    int64_t from = x->shape->dims[d], to = sizes.data[d - 1];
    float scale = scale_of(&resize, from, to);
    if (from == to) continue;
    HR_TRY(hlo_value_array(HR_S32, 1, &to, &value));
    for (int64_t i = 0; i < to; i++)
      ((int32_t *)value->data)[i] = (int32_t)nearest_of(&resize, scale, i, from);
    x = tf_gather_rows(op->b, x, hlo_build_constant(op->b, value), d, 0);
  }
  return tf_out(op, 0, x);
}

/* --- colours --- */

/* The channels of an image, whose last dimension is 1. */
typedef struct colour {
  expr_t c[3];
} colour_t;

/* The channels, RGB or HSV, are the last dimension. */
static hr_status_t take_colour(tf_op_t *op, expr_t x, colour_t *out) {
  if (!x) return hlo_builder_finish(op->b);
  int last = x->shape->rank - 1;
  if (last < 0 || x->shape->dims[last] != 3) return tf_error(op, "the last dimension is not 3");
  for (int i = 0; i < 3; i++) out->c[i] = tf_slice_dim(op->b, x, last, i, i + 1);
  return hlo_builder_finish(op->b);
}

static expr_t join_colour(hlo_builder_t *b, colour_t *colour) {
  if (!colour->c[0] || !colour->c[1] || !colour->c[2]) return NULL;
  return tf_concat(b, 3, colour->c, colour->c[0]->shape->rank - 1);
}

/* min(max(x, 0), 1) */
static expr_t clip_unit(hlo_builder_t *b, expr_t x) {
  return f_min(b, f_max(b, x, f_number(b, 0, x)), f_number(b, 1, x));
}

/* value = max, saturation = (max - min) / max. The hue, within [0, 1), is the position on the
 * circle of colours, with red at 0, green at 1/3 and blue at 2/3; the largest channel says in which
 * third. Grey has hue 0. */
static colour_t to_hsv(hlo_builder_t *b, const colour_t *rgb) {
  expr_t red = rgb->c[0], green = rgb->c[1], blue = rgb->c[2];
  expr_t zero = f_number(b, 0, red);
  expr_t value = f_max(b, red, f_max(b, green, blue));
  expr_t range = f_sub(b, value, f_min(b, red, f_min(b, green, blue)));
  expr_t some = f_gt(b, value, zero);
  expr_t saturation = f_select(b, some, f_div(b, range, value), zero);
  expr_t norm = f_div(b, f_number(b, 1.0 / 6, red), range);
  expr_t by_red = f_mul(b, norm, f_sub(b, green, blue));
  expr_t by_green = f_add(b, f_mul(b, norm, f_sub(b, blue, red)), f_number(b, 2.0 / 6, red));
  expr_t by_blue = f_add(b, f_mul(b, norm, f_sub(b, red, green)), f_number(b, 4.0 / 6, red));
  expr_t hue = f_select(b, f_eq(b, green, value), by_green, by_blue);
  hue = f_select(b, f_eq(b, red, value), by_red, hue);
  hue = f_select(b, f_gt(b, range, zero), hue, zero);
  hue = f_select(b, f_lt(b, hue, zero), f_add(b, hue, f_number(b, 1, hue)), hue);
  return (colour_t){{hue, saturation, value}};
}

/* 2 - |hue - at|, clipped to [0, 1]. */
static expr_t hue_ramp(hlo_builder_t *b, expr_t hue, double at) {
  expr_t distance = f_abs(b, f_sub(b, hue, f_number(b, at, hue)));
  return clip_unit(b, f_sub(b, f_number(b, 2, hue), distance));
}

/* A channel is value (1 - saturation + saturation ramp), where the ramp of red is |6 h - 3| - 1,
 * that of green 2 - |6 h - 2| and that of blue 2 - |6 h - 4|, clipped to [0, 1]. */
static colour_t to_rgb(hlo_builder_t *b, const colour_t *hsv) {
  expr_t hue = f_mul(b, hsv->c[0], f_number(b, 6, hsv->c[0]));
  expr_t one = f_number(b, 1, hue);
  expr_t away = f_sub(b, f_abs(b, f_sub(b, hue, f_number(b, 3, hue))), one);
  expr_t ramps[] = {clip_unit(b, away), hue_ramp(b, hue, 2), hue_ramp(b, hue, 4)};
  colour_t rgb;
  expr_t rest = f_sub(b, one, hsv->c[1]);
  for (int i = 0; i < 3; i++)
    rgb.c[i] = f_mul(b, f_add(b, rest, f_mul(b, hsv->c[1], ramps[i])), hsv->c[2]);
  return rgb;
}

/* RGBToHSV (variant 0) and HSVToRGB (variant 1), of floats within [0, 1]. */
hr_status_t tf_lower_colour(tf_op_t *op) {
  colour_t in, out;
  HR_TRY(take_colour(op, tf_in(op, 0), &in));
  out = op->row->variant ? to_rgb(op->b, &in) : to_hsv(op->b, &in);
  return tf_out(op, 0, join_colour(op->b, &out));
}

/* Input k, a scalar, broadcast to the shape of x and converted to its type. */
static expr_t scalar_like(tf_op_t *op, int k, expr_t x) {
  expr_t s = tf_in(op, k);
  if (!s || !x) return NULL;
  if (s->shape->dtype != x->shape->dtype) s = hlo_build_convert(op->b, s, x->shape->dtype);
  return tf_broadcast_like(op->b, s, x);
}

/* AdjustSaturation (variant 0) multiplies the saturation by input 1, a scalar. AdjustHue (variant
 * 1) adds it to the hue, modulo 1. The other two channels of HSV are kept. */
hr_status_t tf_lower_adjust_colour(tf_op_t *op) {
  hlo_builder_t *b = op->b;
  colour_t in, hsv, out;
  expr_t x = tf_in(op, 0);
  HR_TRY(take_colour(op, x, &in));
  hsv = to_hsv(b, &in);
  int which = op->row->variant ? 0 : 1;
  expr_t amount = scalar_like(op, 1, hsv.c[which]);
  if (op->row->variant) {
    expr_t hue = f_add(b, hsv.c[0], amount);
    hsv.c[0] = f_sub(b, hue, f_floor(b, hue));
  } else {
    hsv.c[1] = clip_unit(b, f_mul(b, hsv.c[1], amount));
  }
  out = to_rgb(b, &hsv);
  return tf_out(op, 0, join_colour(b, &out));
}

/* AdjustContrastv2: (x - mean) factor + mean, with the mean over height and width of each image and
 * channel. */
hr_status_t tf_lower_adjust_contrast(tf_op_t *op) {
  hlo_builder_t *b = op->b;
  expr_t x = tf_in(op, 0);
  if (!x) return hlo_builder_finish(b);
  int rank = x->shape->rank;
  if (rank < 3) return tf_error(op, "an image of %d dimensions", rank);
  int64_t dims[] = {rank - 3, rank - 2};
  double count = (double)(x->shape->dims[rank - 3] * x->shape->dims[rank - 2]);
  expr_t sum = tf_reduce(op, HLO_ADD, x, 2, dims, true);
  if (!sum) return hlo_builder_finish(b);
  expr_t mean = tf_broadcast_like(b, f_div(b, sum, f_number(b, count, sum)), x);
  expr_t away = f_mul(b, f_sub(b, x, mean), scalar_like(op, 1, x));
  return tf_out(op, 0, f_add(b, away, mean));
}
