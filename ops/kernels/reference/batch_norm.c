/* batch-norm-training, -inference and -grad. The operand is viewed as [outer][features][inner];
 * values are computed in double precision per feature and rounded once. Variances are population
 * variances. Source: StableHLO spec, batch_norm_training, batch_norm_inference, batch_norm_grad. */
#include <math.h>

#include "ops/kernels/gemm/matmul.h"

typedef struct norm_plan {
  matmul_types_t types; /* conversion to double and back */
  int64_t outer, features, inner, count;
  double epsilon;
} norm_plan_t;

/* Checks operands `first` to `last`, and results from number 1 on: one float per feature. */
static hr_status_t check_features(const op_step_t *step, const norm_plan_t *plan, int first,
                                  int last) {
  for (int k = first; k <= last; k++) {
    const hlo_shape_t *shape = step->in_shapes[k];
    if (!hr_dtype_is_float(shape->dtype) || shape->rank != 1 || shape->dims[0] != plan->features)
      return hlo_error(step->instr, "batch_norm C3", "operand %d must be %ld floats", k,
                       (long)plan->features);
  }
  if (!hlo_shape_is_tuple(step->out_shape)) return NULL;
  for (int k = 1; k < step->out_shape->element_count; k++) {
    const hlo_shape_t *shape = step->out_shape->elements[k];
    if (!hr_dtype_is_float(shape->dtype) || shape->rank != 1 || shape->dims[0] != plan->features)
      return hlo_error(step->instr, "batch_norm C5", "result %d must be %ld floats", k,
                       (long)plan->features);
  }
  return NULL;
}

/* Checks operand and result and computes the [outer][features][inner] view. result_count > 1:
 * the result is a tuple. */
static hr_status_t plan_norm(hr_arena_t *arena, const op_step_t *step, int result_count,
                             norm_plan_t **out_plan) {
  const hlo_shape_t *x = step->in_shapes[0], *out = step->out_shape;
  int64_t feature = hlo_attr_int(step->instr, HLO_ATTR_FEATURE_INDEX);
  norm_plan_t *plan;
  HR_TRY(HR_NEW(arena, &plan));
  if (feature < 0 || feature >= x->rank || !hr_dtype_is_float(x->dtype))
    return hlo_error(step->instr, "batch_norm C1", "feature_index %ld of an operand of rank %d",
                     (long)feature, x->rank);
  if (result_count > 1) {
    if (!hlo_shape_is_tuple(out) || out->element_count != result_count)
      return hlo_error(step->instr, NULL, "the result must be a tuple of %d", result_count);
    out = out->elements[0];
  }
  if (!hlo_shape_same_dims(x, out) || !hr_dtype_is_float(out->dtype))
    return hlo_error(step->instr, "batch_norm C7", "the result has another shape");
  plan->types = (matmul_types_t){.lhs = x->dtype,
                                 .rhs = x->dtype,
                                 .out = x->dtype,
                                 .real = HR_F64,
                                 .parts = 1,
                                 .element_bytes = sizeof(double)};
  plan->epsilon = (float)hlo_attr_float(step->instr,
                                        HLO_ATTR_EPSILON); /* an f32, whatever the operand's type */
  HR_TRY(hlo_shape_count(x, &plan->count));
  plan->outer = 1;
  plan->inner = 1;
  for (int d = 0; d < feature && plan->count; d++) plan->outer *= x->dims[d];
  for (int d = (int)feature + 1; d < x->rank && plan->count; d++) plan->inner *= x->dims[d];
  plan->features = x->dims[feature];
  *out_plan = plan;
  return NULL;
}

/* The value's elements as doubles. */
static hr_status_t widen_to_doubles(op_env_t *env, const norm_plan_t *plan,
                                    const hlo_value_t *value, const double **out_data) {
  return matmul_widen(env->scratch, &plan->types, value->dtype, value->data, value->count,
                      (const void **)out_data);
}

static hr_status_t new_doubles(op_env_t *env, int64_t count, double **out_data) {
  return hr_arena_array(env->scratch, (size_t)count, sizeof(double), (void **)out_data);
}

/* A result array, rounded from doubles. */
static hr_status_t round_result(const norm_plan_t *plan, const hlo_shape_t *shape, hr_dtype_t dtype,
                                double *from, hlo_value_t **out_value) {
  matmul_types_t types = plan->types;
  types.out = dtype;
  HR_TRY(hlo_value_array(dtype, shape->rank, shape->dims, out_value));
  matmul_narrow(&types, from, (*out_value)->data, (*out_value)->count);
  return NULL;
}

/* The result tuple: the first element has the operand's shape, the others one number per
 * feature. */
static hr_status_t round_results(const op_step_t *step, const norm_plan_t *plan,
                                 double *const *from, hlo_value_t **out_value) {
  hlo_value_t *elements[3] = {NULL};
  const hlo_shape_t *const *out = step->out_shape->elements;
  hr_status_t st = round_result(plan, step->in_shapes[0], out[0]->dtype, from[0], &elements[0]);
  for (int k = 1; k < 3 && !st; k++)
    st = round_result(plan, step->in_shapes[1], out[k]->dtype, from[k], &elements[k]);
  if (!st) st = hlo_value_tuple(3, elements, out_value);
  for (int k = 0; k < 3; k++) hlo_value_release(elements[k]);
  return st;
}

/* out = (x - mean) / sqrt(variance + epsilon) * scale + offset */
static void normalize(const norm_plan_t *plan, const double *x, const double *scale,
                      const double *offset, const double *mean, const double *variance,
                      double *out) {
  int64_t at = 0;
  if (plan->count == 0) return;
  for (int64_t o = 0; o < plan->outer; o++)
    for (int64_t f = 0; f < plan->features; f++) {
      double deviation = sqrt(variance[f] + plan->epsilon);
      for (int64_t i = 0; i < plan->inner; i++, at++)
        out[at] = (x[at] - mean[f]) / deviation * scale[f] + offset[f];
    }
}

/* sums[f] = sum of (x - a[f]) * (y - b[f]) over the elements of feature f. A NULL y makes the
 * second factor 1; a NULL a or b counts as 0. */
static void sum_products(const norm_plan_t *plan, const double *x, const double *a, const double *y,
                         const double *b, double *sums) {
  int64_t at = 0;
  for (int64_t f = 0; f < plan->features; f++) sums[f] = 0;
  if (plan->count == 0) return;
  for (int64_t o = 0; o < plan->outer; o++)
    for (int64_t f = 0; f < plan->features; f++)
      for (int64_t i = 0; i < plan->inner; i++, at++) {
        double centre = b ? b[f] : 0;
        double factor = y ? y[at] - centre : 1;
        sums[f] += (x[at] - (a ? a[f] : 0)) * factor;
      }
}

/* Operands: x, scale, offset. Results: normalised x, mean, variance. */
static hr_status_t prepare_training(hr_arena_t *arena, const op_step_t *step,
                                    const void **out_plan) {
  norm_plan_t *plan;
  HR_TRY(plan_norm(arena, step, 3, &plan));
  *out_plan = plan;
  return check_features(step, plan, 1, 2);
}

/* mean = sum(x) / n and variance = sum((x - mean)^2) / n per feature, in two passes over x: the
 * second one on centred values, so that nothing cancels. Without elements both are NaN, 0 / 0. */
static hr_status_t run_training(op_env_t *env, const op_step_t *step, hlo_value_t *const *in,
                                hlo_value_t **out_value) {
  const norm_plan_t *plan = step->plan;
  const double *x, *scale, *offset;
  double *mean, *variance, *out, per_feature = (double)(plan->outer * plan->inner);
  if (plan->count == 0) per_feature = 0;
  HR_TRY(widen_to_doubles(env, plan, in[0], &x));
  HR_TRY(widen_to_doubles(env, plan, in[1], &scale));
  HR_TRY(widen_to_doubles(env, plan, in[2], &offset));
  HR_TRY(new_doubles(env, plan->features, &mean));
  HR_TRY(new_doubles(env, plan->features, &variance));
  HR_TRY(new_doubles(env, plan->count, &out));
  sum_products(plan, x, NULL, NULL, NULL, mean);
  for (int64_t f = 0; f < plan->features; f++) mean[f] /= per_feature;
  sum_products(plan, x, mean, x, mean, variance);
  for (int64_t f = 0; f < plan->features; f++) variance[f] /= per_feature;
  normalize(plan, x, scale, offset, mean, variance, out);
  return round_results(step, plan, (double *const[]){out, mean, variance}, out_value);
}

const op_kernel_t kernel_batch_norm_training = {prepare_training, run_training};

/* Operands: x, scale, offset, mean, variance. */
static hr_status_t prepare_inference(hr_arena_t *arena, const op_step_t *step,
                                     const void **out_plan) {
  norm_plan_t *plan;
  HR_TRY(plan_norm(arena, step, 1, &plan));
  *out_plan = plan;
  return check_features(step, plan, 1, 4);
}

static hr_status_t run_inference(op_env_t *env, const op_step_t *step, hlo_value_t *const *in,
                                 hlo_value_t **out_value) {
  const norm_plan_t *plan = step->plan;
  const double *v[5];
  double *out;
  for (int k = 0; k < 5; k++) HR_TRY(widen_to_doubles(env, plan, in[k], &v[k]));
  HR_TRY(new_doubles(env, plan->count, &out));
  normalize(plan, v[0], v[1], v[2], v[3], v[4], out);
  return round_result(plan, step->in_shapes[0], step->out_shape->dtype, out, out_value);
}

const op_kernel_t kernel_batch_norm_inference = {prepare_inference, run_inference};

/* Operands: x, scale, mean, variance, grad_output. */
static hr_status_t prepare_grad(hr_arena_t *arena, const op_step_t *step, const void **out_plan) {
  norm_plan_t *plan;
  HR_TRY(plan_norm(arena, step, 3, &plan));
  if (!hlo_shape_same_dims(step->in_shapes[0], step->in_shapes[4]) ||
      !hr_dtype_is_float(step->in_shapes[4]->dtype))
    return hlo_error(step->instr, "batch_norm_grad C3",
                     "operand and grad_output have different shapes");
  *out_plan = plan;
  return check_features(step, plan, 1, 3);
}

/* With g = grad_output, d = x - mean, v = variance + epsilon, N elements per feature:
 *   grad_operand = scale / sqrt(v) * (g - sum(g) / N - d * sum(g d) / v / N)
 *   grad_scale = sum(g d) / sqrt(v), grad_offset = sum(g) */
static hr_status_t run_grad(op_env_t *env, const op_step_t *step, hlo_value_t *const *in,
                            hlo_value_t **out_value) {
  const norm_plan_t *plan = step->plan;
  const double *v[5];
  double *products, *sums, *out, per_feature = (double)(plan->outer * plan->inner);
  for (int k = 0; k < 5; k++) HR_TRY(widen_to_doubles(env, plan, in[k], &v[k]));
  const double *x = v[0], *scale = v[1], *mean = v[2], *variance = v[3], *g = v[4];
  HR_TRY(new_doubles(env, plan->features, &products));
  HR_TRY(new_doubles(env, plan->features, &sums));
  HR_TRY(new_doubles(env, plan->count, &out));
  sum_products(plan, x, mean, g, NULL, products);
  sum_products(plan, g, NULL, NULL, NULL, sums);
  int64_t at = 0;
  for (int64_t o = 0; o < plan->outer && plan->count; o++)
    for (int64_t f = 0; f < plan->features; f++) {
      double variance_eps = variance[f] + plan->epsilon;
      double slope =
          products[f] / variance_eps / per_feature; /* in range even if d * products[f] is not */
      for (int64_t i = 0; i < plan->inner; i++, at++)
        out[at] = scale[f] / sqrt(variance_eps) *
                  (g[at] - sums[f] / per_feature - (x[at] - mean[f]) * slope);
    }
  for (int64_t f = 0; f < plan->features; f++) products[f] /= sqrt(variance[f] + plan->epsilon);
  return round_results(step, plan, (double *const[]){out, products, sums}, out_value);
}

const op_kernel_t kernel_batch_norm_grad = {prepare_grad, run_grad};
