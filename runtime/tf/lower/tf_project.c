/* ImageProjectiveTransform: each of the images [batch, height, width, channels] has a projection
 * that maps pixels of the result to positions in the source. The fill mode gives positions beyond
 * the border another position, or the fill value. Pixels are gathered from lines of height * width
 * pixels. Weights are f32, as in TensorFlow. */
#include <string.h>

#include "tf/compile/tf_lower.h"

typedef struct projection {
  hr_str_t mode; /* CONSTANT, REFLECT, WRAP, NEAREST */
  bool bilinear;
  int64_t height, width; /* sizes of the source */
  int64_t dims[4];       /* sizes of the result */
  expr_t lines;          /* [batch, height * width, channels] */
  expr_t fill;           /* f32 scalar */
} projection_t;

/* --- positions: arrays [batch, height, width] of f32 --- */

static expr_t number(hlo_builder_t *b, double value, expr_t like) {
  return like ? f_number(b, value, like) : NULL;
}

static expr_t clip(hlo_builder_t *b, expr_t x, int64_t size) {
  return f_min(b, f_max(b, x, number(b, 0, x)), number(b, (double)(size - 1), x));
}

/* x - step * floor(x / period), for x of 0 or more. */
static expr_t reduce_by(hlo_builder_t *b, expr_t x, double step, double period) {
  expr_t times = f_floor(b, f_div(b, x, number(b, period, x)));
  return f_sub(b, x, f_mul(b, times, number(b, step, x)));
}

/* [dcba|abcd|dcba] */
static expr_t reflected(hlo_builder_t *b, expr_t x, int64_t size) {
  double twice = 2 * (double)size;
  expr_t last = number(b, (double)(size - 1), x), zero = number(b, 0, x), one = number(b, 1, x);
  expr_t mirrored = f_neg(b, reduce_by(b, f_neg(b, x), twice, twice)); /* (-twice, 0] */
  expr_t below =
      f_select(b, f_lt(b, mirrored, number(b, -(double)size, x)),
               f_add(b, mirrored, number(b, twice, x)), f_sub(b, f_neg(b, mirrored), one));
  expr_t rest = reduce_by(b, x, twice, twice);
  expr_t above = f_select(b, f_ge(b, rest, number(b, (double)size, x)),
                          f_sub(b, f_sub(b, number(b, twice, x), rest), one), rest);
  return f_select(b, f_lt(b, x, zero), below, f_select(b, f_gt(b, x, last), above, x));
}

/* [abcd|abcd|abcd] */
static expr_t wrapped(hlo_builder_t *b, expr_t x, int64_t size) {
  double all = (double)size, period = all - 1;
  expr_t last = number(b, period, x), zero = number(b, 0, x);
  expr_t times = f_floor(b, f_div(b, f_neg(b, x), number(b, period, x)));
  expr_t below = f_add(b, x, f_mul(b, number(b, all, x), f_add(b, times, number(b, 1, x))));
  expr_t above = reduce_by(b, x, all, period);
  return f_select(b, f_lt(b, x, zero), below, f_select(b, f_gt(b, x, last), above, x));
}

/* The position that replaces one beyond the border. */
static expr_t inside(hlo_builder_t *b, const projection_t *p, expr_t x, int64_t size) {
  if (hr_str_is(p->mode, "CONSTANT")) return x;
  if (size > 1 && hr_str_is(p->mode, "REFLECT")) x = reflected(b, x, size);
  if (size > 1 && hr_str_is(p->mode, "WRAP")) x = wrapped(b, x, size);
  return clip(b, x, size);
}

/* Coefficient k of each projection, over all pixels. */
static expr_t coefficient(hlo_builder_t *b, const projection_t *p, expr_t transforms, int64_t k) {
  expr_t column = tf_slice_dim(b, transforms, 1, k, k + 1);
  if (!column) return NULL;
  int64_t dims[] = {column->shape->dims[0], 1, 1};
  return tf_broadcast(b, tf_reshape(b, column, 3, dims), 3, p->dims);
}

/* (t[k] x + t[k + 1] y + t[k + 2]) / projection */
static expr_t source_of(hlo_builder_t *b, const projection_t *p, expr_t transforms, int64_t k,
                        expr_t x, expr_t y, expr_t scale) {
  expr_t sum = f_add(b, f_mul(b, coefficient(b, p, transforms, k), x),
                     f_mul(b, coefficient(b, p, transforms, k + 1), y));
  return f_div(b, f_add(b, sum, coefficient(b, p, transforms, k + 2)), scale);
}

/* --- pixels --- */

/* The f32 pixels [batch, height, width, channels] at whole positions; the fill value outside. */
static expr_t pixels_at(hlo_builder_t *b, const projection_t *p, expr_t y, expr_t x) {
  int64_t flat[] = {p->dims[0], p->dims[1] * p->dims[2]};
  expr_t bottom = number(b, (double)(p->height - 1), y),
         right = number(b, (double)(p->width - 1), x);
  expr_t valid = f_and(b, f_and(b, f_ge(b, y, number(b, 0, y)), f_le(b, y, bottom)),
                       f_and(b, f_ge(b, x, number(b, 0, x)), f_le(b, x, right)));
  expr_t row = clip(b, y, p->height), column = clip(b, x, p->width);
  if (!row || !column || !valid) return NULL;
  row = hlo_build_convert(b, row, HR_S32);
  column = hlo_build_convert(b, column, HR_S32);
  expr_t place = f_add(b, f_mul(b, row, number(b, (double)p->width, row)), column);
  expr_t found = tf_gather_rows(b, p->lines, tf_reshape(b, place, 2, flat), 1, 1);
  found = tf_reshape(b, found, 4, p->dims);
  if (found && found->shape->dtype != HR_F32) found = hlo_build_convert(b, found, HR_F32);
  int64_t wide[] = {p->dims[0], p->dims[1], p->dims[2], 1};
  expr_t mask = tf_broadcast(b, tf_reshape(b, valid, 4, wide), 4, p->dims);
  return f_select(b, mask, found, tf_broadcast(b, p->fill, 4, p->dims));
}

/* low + (high - low) * share, as two products. */
static expr_t mix(hlo_builder_t *b, const projection_t *p, expr_t low, expr_t high, expr_t share) {
  int64_t wide[] = {p->dims[0], p->dims[1], p->dims[2], 1};
  share = tf_broadcast(b, tf_reshape(b, share, 4, wide), 4, p->dims);
  expr_t rest = f_sub(b, number(b, 1, share), share);
  return f_add(b, f_mul(b, rest, low), f_mul(b, share, high));
}

static expr_t bilinear(hlo_builder_t *b, const projection_t *p, expr_t y, expr_t x) {
  expr_t top = f_floor(b, y), left = f_floor(b, x);
  expr_t bottom = f_add(b, top, number(b, 1, top)), right = f_add(b, left, number(b, 1, left));
  expr_t across = f_sub(b, x, left);
  expr_t upper = mix(b, p, pixels_at(b, p, top, left), pixels_at(b, p, top, right), across);
  expr_t lower = mix(b, p, pixels_at(b, p, bottom, left), pixels_at(b, p, bottom, right), across);
  return mix(b, p, upper, lower, f_sub(b, y, top));
}

/* The result in f32. Where a projection sends a pixel to infinity it has the fill value. */
static expr_t project(hlo_builder_t *b, const projection_t *p, expr_t transforms) {
  expr_t x = tf_iota(b, HR_F32, 3, p->dims, 2), y = tf_iota(b, HR_F32, 3, p->dims, 1);
  expr_t scale = f_add(b, f_mul(b, coefficient(b, p, transforms, 6), x),
                       f_mul(b, coefficient(b, p, transforms, 7), y));
  scale = f_add(b, scale, number(b, 1, scale));
  expr_t infinite = f_eq(b, scale, number(b, 0, scale));
  expr_t from_x = inside(b, p, source_of(b, p, transforms, 0, x, y, scale), p->width);
  expr_t from_y = inside(b, p, source_of(b, p, transforms, 3, x, y, scale), p->height);
  if (!from_x || !from_y) return NULL;
  expr_t found = p->bilinear ? bilinear(b, p, from_y, from_x)
                             : pixels_at(b, p, hlo_build_unary(b, HLO_ROUND_NEAREST_AFZ, from_y),
                                         hlo_build_unary(b, HLO_ROUND_NEAREST_AFZ, from_x));
  int64_t wide[] = {p->dims[0], p->dims[1], p->dims[2], 1};
  expr_t mask = tf_broadcast(b, tf_reshape(b, infinite, 4, wide), 4, p->dims);
  return f_select(b, mask, tf_broadcast(b, p->fill, 4, p->dims), found);
}

/* Inputs: images, projections [batch or 1, 8], height and width of the result and, of variant 3,
 * the fill value. */
hr_status_t tf_lower_projective_transform(tf_op_t *op) {
  hlo_builder_t *b = op->b;
  projection_t p = {0};
  hr_str_t interpolation;
  hr_ints_t sizes;
  expr_t images = tf_in(op, 0), transforms = tf_in(op, 1);
  HR_TRY(tf_attr_str(op->arena, op->node, "fill_mode", "CONSTANT", &p.mode));
  HR_TRY(tf_attr_str(op->arena, op->node, "interpolation", "", &interpolation));
  HR_TRY(tf_const_ints(op, 2, &sizes));
  if (!images || !transforms) return hlo_builder_finish(b);
  const int64_t *from = images->shape->dims;
  if (images->shape->rank != 4 || transforms->shape->rank != 2 || transforms->shape->dims[1] != 8 ||
      (transforms->shape->dims[0] != 1 && transforms->shape->dims[0] != from[0]))
    return tf_error(op, "want images of four dimensions and eight numbers for each or for all");
  if (sizes.count != 2 || sizes.data[0] < 1 || sizes.data[1] < 1 || from[1] < 1 || from[2] < 1)
    return tf_error(op, "an empty image");
  p.bilinear = hr_str_is(interpolation, "BILINEAR");
  p.height = from[1];
  p.width = from[2];
  memcpy(p.dims, (int64_t[]){from[0], sizes.data[0], sizes.data[1], from[3]}, sizeof p.dims);
  int64_t lines[] = {from[0], p.height * p.width, from[3]};
  p.lines = tf_reshape(b, images, 3, lines);
  p.fill = op->row->variant == 3 ? tf_in(op, 3) : tf_scalar(b, 0, HR_F32);
  expr_t out = project(b, &p, transforms);
  if (out && images->shape->dtype != HR_F32) out = hlo_build_convert(b, out, images->shape->dtype);
  return tf_out(op, 0, out);
}
