/* Images that are scaled and translated through a kernel, as tf.image.resize does with antialiasing
 * or Lanczos kernels: a matrix of weights for each of height and width.
 * Source: TensorFlow's ScaleAndTranslate; in f32 and in its order, as a span ends where the rounded
 * position says. */
#include <float.h>
#include <math.h>

#include "tf/compile/tf_lower.h"

#define PI 3.14159265358979323846f

/* --- kernels, by the distance in pixels --- */

static float lanczos(float radius, float x) {
  if (x > radius) return 0;
  if (x <= 1e-3f) return 1;
  return radius * sinf(PI * x) * sinf(PI * x / radius) / (PI * PI * x * x);
}

static float gaussian(float radius, float x) {
  float sigma = radius / 3;
  return x >= radius ? 0 : expf(-x * x / (2 * sigma * sigma));
}

static float box(float radius, float x) {
  (void)radius;
  if (x == 0.5f) return 0.5f;
  return x < 0.5f ? 1 : 0;
}

static float triangle(float radius, float x) { return x < radius ? 1 - x : 0; }

static float keys_cubic(float radius, float x) {
  if (x >= radius) return 0;
  if (x >= 1) return ((-0.5f * x + 2.5f) * x - 4) * x + 2;
  return (1.5f * x - 2.5f) * x * x + 1;
}

static float mitchell_cubic(float radius, float x) {
  if (x >= radius) return 0;
  if (x >= 1) return ((-7.0f / 18 * x + 2) * x - 10.0f / 3) * x + 16.0f / 9;
  return (7.0f / 6 * x - 2) * x * x + 8.0f / 9;
}

typedef struct kernel {
  const char *name;
  float radius; /* pixels */
  float (*at)(float radius, float x);
} kernel_t;

static const kernel_t kernels[] = {
    {"lanczos1", 1, lanczos},
    {"lanczos3", 3, lanczos},
    {"lanczos5", 5, lanczos},
    {"gaussian", 1.5f, gaussian},
    {"box", 1, box},
    {"triangle", 1, triangle},
    {"keyscubic", 2, keys_cubic},
    {"mitchellcubic", 2, mitchell_cubic},
};

/* --- weights --- */

typedef struct resampling {
  const kernel_t *kernel;
  bool antialias;
  const float *scale, *translation; /* two each: for height and width */
} resampling_t;

static int64_t within(double i, int64_t size) {
  if (!(i > 0)) return 0;
  return i < (double)size ? (int64_t)i : size - 1;
}

/* Weights of the source's pixels for pixel i of the result. One that lies outside of the source is
 * 0. */
static void fill_row(const resampling_t *r, int d, int64_t i, int64_t from, float *row) {
  float inverse = 1 / r->scale[d];
  float stretch = r->antialias ? fmaxf(inverse, 1) : 1, sum = 0;
  float at = ((float)i + 0.5f) * inverse + -inverse * r->translation[d];
  float reach = r->kernel->radius * stretch;
  if (!(at >= 0 && at <= (float)from)) return;
  int64_t begin = within(ceilf(at - reach - 0.5f), from);
  int64_t end = within(floorf(at + reach - 0.5f), from) + 1;
  for (int64_t k = begin; k < end; k++) {
    row[k] = r->kernel->at(r->kernel->radius, fabsf(((float)k + 0.5f - at) * (1 / stretch)));
    sum += row[k];
  }
  float share = fabsf(sum) >= 1000 * FLT_MIN ? 1 / sum : 0;
  for (int64_t k = begin; k < end; k++) row[k] *= share;
}

static hr_status_t make_weights(tf_op_t *op, const resampling_t *r, int d, int64_t from, int64_t to,
                                expr_t *out) {
  hlo_value_t *value;
  HR_TRY(hlo_value_array(HR_F32, 2, (int64_t[]){to, from}, &value));
  hlo_value_clear(value);
  for (int64_t i = 0; i < to; i++) fill_row(r, d, i, from, (float *)value->data + i * from);
  *out = hlo_build_constant(op->b, value);
  return hlo_builder_finish(op->b);
}

/* --- the operations --- */

/* Two positive numbers, or two of any sign. */
static hr_status_t read_pair(tf_op_t *op, int k, bool is_positive, const float **out) {
  hlo_value_t *value;
  HR_TRY(tf_const(op, k, &value));
  if (value->dtype != HR_F32 || value->rank != 1 || value->dims[0] != 2)
    return tf_error(op, "input %d is not two numbers", k);
  *out = value->data;
  for (int i = 0; i < 2; i++)
    if (!isfinite((*out)[i]) || (is_positive && (*out)[i] <= 0))
      return tf_error(op, "input %d has %g, want a%s number", k, (double)(*out)[i],
                      is_positive ? " positive" : "");
  return NULL;
}

/* `first`: the input with the scale, before that with the translation. */
static hr_status_t read_resampling(tf_op_t *op, int first, resampling_t *out) {
  hr_str_t name;
  *out = (resampling_t){.kernel = NULL};
  HR_TRY(tf_attr_str(op->arena, op->node, "kernel_type", "lanczos3", &name));
  HR_TRY(tf_attr_bool(op->arena, op->node, "antialias", true, &out->antialias));
  for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++)
    if (hr_str_is(name, kernels[i].name)) out->kernel = &kernels[i];
  if (!out->kernel) return tf_error(op, "there is no kernel %.*s", HR_STR_ARGS(name));
  HR_TRY(read_pair(op, first, true, &out->scale));
  return read_pair(op, first + 1, false, &out->translation);
}

static hr_status_t check_image(tf_op_t *op, const hlo_shape_t *shape) {
  HR_TRY(hlo_builder_finish(op->b));
  if (shape->rank != 4) return tf_error(op, "an image of %d dimensions", shape->rank);
  return shape->dims[1] < 1 || shape->dims[2] < 1 ? tf_error(op, "an empty image") : NULL;
}

/* Inputs: images, the new height and width, scale, translation. The result is f32. */
hr_status_t tf_lower_scale_and_translate(tf_op_t *op) {
  resampling_t r;
  hr_ints_t sizes;
  expr_t x = tf_in(op, 0), weights;
  HR_TRY(check_image(op, tf_in_shape(op, 0)));
  HR_TRY(tf_const_ints(op, 1, &sizes));
  if (sizes.count != 2 || sizes.data[0] < 1 || sizes.data[1] < 1)
    return tf_error(op, "the new sizes are not two positive numbers");
  HR_TRY(read_resampling(op, 2, &r));
  if (x->shape->dtype != HR_F32) x = hlo_build_convert(op->b, x, HR_F32);
  for (int d = 1; d <= 2 && x; d++) {
    HR_TRY(make_weights(op, &r, d - 1, x->shape->dims[d], sizes.data[d - 1], &weights));
    x = tf_multiply_along(op->b, x, d, weights, false);
  }
  return tf_out(op, 0, x);
}

/* Inputs: gradient, the original images, scale, translation. */
hr_status_t tf_lower_scale_and_translate_grad(tf_op_t *op) {
  resampling_t r;
  const hlo_shape_t *shape = tf_in_shape(op, 1);
  expr_t dy = tf_in(op, 0), weights;
  HR_TRY(check_image(op, tf_in_shape(op, 0)));
  HR_TRY(check_image(op, shape));
  HR_TRY(read_resampling(op, 2, &r));
  for (int d = 1; d <= 2 && dy; d++) {
    HR_TRY(make_weights(op, &r, d - 1, shape->dims[d], dy->shape->dims[d], &weights));
    dy = tf_multiply_along(op->b, dy, d, weights, true);
  }
  return tf_out(op, 0, dy);
}
