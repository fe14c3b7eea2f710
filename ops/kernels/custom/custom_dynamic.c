/* Custom calls that JAX uses for ops with sizes as operands (stablehlo.dynamic_*), and TensorFlow
 * for a convolution of dynamic sizes. */
#include <string.h>

#include "ops/kernels/common/lower_dynamic.h"
#include "ops/kernels/custom/custom_call.h"
#include "ops/query/index_values.h"
#include "ops/rules/dynamic_shape.h"

/* dynamic_reduce_window: n inputs, n initial values, then sizes, strides, base dilations, window
 * dilations (a list each) and padding (pairs). */
#define WINDOW_LISTS 5

/* Sizes, strides, base dilations, window dilations, then (low, high) paddings of each dimension. */
static hr_status_t check_window_lists(const op_step_t *step, hlo_value_t *const *in) {
  const hlo_instr_t *instr = step->instr;
  int first = instr->operand_count - WINDOW_LISTS;
  if (first < 2 || first % 2 || instr->called_count != 1 || in[0]->dtype == HR_TUPLE)
    return hlo_error(
        instr, NULL,
        "want inputs, as many initial values, five lists of a window's sizes, and one body");
  for (int k = 0; k < WINDOW_LISTS; k++) {
    const hlo_value_t *list = in[first + k];
    int64_t wanted = (k == WINDOW_LISTS - 1 ? 2 : 1) * in[0]->rank;
    if (!hr_dtype_is_integer(list->dtype) || list->count != wanted)
      return hlo_error(instr, NULL, "operand %d has %ld elements, want %ld integers", first + k,
                       (long)list->count, (long)wanted);
  }
  return NULL;
}

/* Makes a static window of the lists, and runs the kernel of reduce-window. */
static hr_status_t run_dynamic_reduce_window(op_env_t *env, const op_step_t *step,
                                             hlo_value_t *const *in, hlo_value_t **out_value) {
  hlo_window_dim_t dims[HLO_MAX_RANK];
  HR_TRY(check_window_lists(step, in));
  int first = step->instr->operand_count - WINDOW_LISTS;
  hlo_value_t *const *lists = in + first;
  for (int d = 0; d < in[0]->rank; d++)
    dims[d] = (hlo_window_dim_t){.size = op_index_at(lists[0], d),
                                 .stride = op_index_at(lists[1], d),
                                 .base_dilation = op_index_at(lists[2], d),
                                 .window_dilation = op_index_at(lists[3], d),
                                 .pad_low = op_index_at(lists[4], 2 * d),
                                 .pad_high = op_index_at(lists[4], 2 * d + 1)};
  hlo_window_t window = {in[0]->rank, dims};
  hlo_attr_t attrs[] = {{.key = HLO_ATTR_WINDOW, .window = &window},
                        {.key = HLO_ATTR_TO_APPLY, .called_count = 1}};
  return op_lower_dynamic(env, step, &(op_lowered_form_t){HLO_REDUCE_WINDOW, first, 2, attrs, NULL},
                          in, out_value);
}
const op_kernel_t custom_dynamic_reduce_window = {NULL, run_dynamic_reduce_window};

/* dynamic_rng_bit_generator: state, sizes -> new state, bits. */
static int algorithm_of(const hlo_instr_t *instr) {
  static const char *const words[] = {"THREE_FRY", "PHILOX"};
  static const int values[] = {HLO_RNG_ALGORITHM_THREE_FRY, HLO_RNG_ALGORITHM_PHILOX};
  hr_str_t text = hlo_frontend_attribute(instr, "rng_algorithm");
  for (int i = 0; i < 2; i++)
    if (text.size && memmem(text.data, text.size, words[i], strlen(words[i]))) return values[i];
  return HLO_RNG_ALGORITHM_DEFAULT;
}

/* Operands: state and sizes. The result's second array gets those sizes. */
static hr_status_t run_dynamic_rng(op_env_t *env, const op_step_t *step, hlo_value_t *const *in,
                                   hlo_value_t **out_value) {
  const hlo_shape_t *declared = step->instr->shape, *shapes[2], *shape;
  const int64_t *sizes;
  if (step->instr->operand_count != 2 || !hlo_shape_is_tuple(declared) ||
      declared->element_count != 2 || !hlo_shape_is_array(declared->elements[1]) ||
      in[1]->rank != 1 || in[1]->count != declared->elements[1]->rank ||
      !hr_dtype_is_integer(in[1]->dtype))
    return hlo_error(step->instr, NULL,
                     "want a state and the sizes of the result, and two results");
  HR_TRY(op_indices_load(env->scratch, in[1], &sizes));
  for (int64_t d = 0; d < in[1]->count; d++)
    if (sizes[d] < 0)
      return hlo_error(step->instr, NULL, "size %ld in dimension %ld", (long)sizes[d], (long)d);
  shapes[0] = step->in_shapes[0];
  HR_TRY(hlo_shape_array(env->scratch, declared->elements[1]->dtype, (int)in[1]->count, sizes,
                         &shapes[1]));
  HR_TRY(hlo_shape_tuple(env->scratch, 2, shapes, &shape));
  hlo_attr_t attr = {.key = HLO_ATTR_RNG_ALGORITHM, .integer = algorithm_of(step->instr)};
  return op_lower_dynamic(
      env, step, &(op_lowered_form_t){HLO_RNG_BIT_GENERATOR, 1, 1, &attr, shape}, in, out_value);
}
const op_kernel_t custom_dynamic_rng = {NULL, run_dynamic_rng};

/* dynamic_top_k: x, k -> values, indices. */
static hr_status_t run_dynamic_top_k(op_env_t *env, const op_step_t *step, hlo_value_t *const *in,
                                     hlo_value_t **out_value) {
  if (step->instr->operand_count != 2 || in[1]->count != 1 || !hr_dtype_is_integer(in[1]->dtype))
    return hlo_error(step->instr, NULL, "want an array and how many elements to keep");
  hlo_attr_t attrs[] = {{.key = HLO_ATTR_K, .integer = op_index_at(in[1], 0)},
                        {.key = HLO_ATTR_LARGEST, .flag = true}};
  return op_lower_dynamic(env, step, &(op_lowered_form_t){HLO_TOPK, 1, 2, attrs, NULL}, in,
                          out_value);
}
const op_kernel_t custom_dynamic_top_k = {NULL, run_dynamic_top_k};

/* dynamic_approx_top_k: n arrays, n initial values, k -> n arrays, as ApproxTopK makes them. */
extern const op_kernel_t custom_approx_top_k;

/* Shapes of the results: k instead of the size of reduction_dim, which may count from the end. */
static hr_status_t kept_shape(hr_arena_t *arena, const op_step_t *step, int64_t k, int arrays,
                              const hlo_shape_t **out_shape) {
  const dict_value_t *config;
  const hlo_shape_t **shapes;
  HR_TRY(custom_config(arena, step->instr, &config));
  int64_t dim = mlir_dict_int(config, "reduction_dim", -1), dims[HLO_MAX_RANK];
  HR_TRY(HR_NEW_ARRAY(arena, arrays, &shapes));
  for (int a = 0; a < arrays; a++) {
    const hlo_shape_t *x = step->in_shapes[a];
    if (dim < 0) dim += x->rank;
    if (dim < 0 || dim >= x->rank || k < 0 || k > x->dims[dim])
      return hlo_error(step->instr, NULL, "%ld elements of dimension %ld of operand %d", (long)k,
                       (long)dim, a);
    for (int d = 0; d < x->rank; d++) dims[d] = d == dim ? k : x->dims[d];
    HR_TRY(hlo_shape_array(arena, x->dtype, x->rank, dims, &shapes[a]));
  }
  return hlo_shape_tuple(arena, arrays, shapes, out_shape);
}

/* The last operand is k. */
static hr_status_t run_dynamic_approx_top_k(op_env_t *env, const op_step_t *step,
                                            hlo_value_t *const *in, hlo_value_t **out_value) {
  int arrays = step->instr->operand_count / 2, last = 2 * arrays;
  op_step_t inner = *step;
  if (!arrays || step->instr->operand_count != last + 1 || in[last]->count != 1 ||
      !hr_dtype_is_integer(in[last]->dtype))
    return hlo_error(step->instr, NULL,
                     "want arrays, as many initial values, and how many elements to keep");
  HR_TRY(kept_shape(env->scratch, step, op_index_at(in[last], 0), arrays, &inner.out_shape));
  HR_TRY(custom_approx_top_k.prepare(env->scratch, &inner, &inner.plan));
  return custom_approx_top_k.run(env, &inner, in, out_value);
}
const op_kernel_t custom_dynamic_approx_top_k = {NULL, run_dynamic_approx_top_k};

/* DynamicConvolutionForward: input, kernel. The padding depends on the actual sizes of the input,
 * and missing features are zeros. */
static bool names_dims(const hlo_dim_labels_t *labels) {
  bool names = labels->lhs_feature >= 0 && labels->lhs_feature < labels->lhs_rank &&
               labels->rhs_input_feature >= 0 && labels->rhs_input_feature < labels->rhs_rank;
  for (int s = 0; s < labels->spatial_rank; s++)
    names &= labels->lhs_spatial[s] >= 0 && labels->lhs_spatial[s] < labels->lhs_rank &&
             labels->rhs_spatial[s] >= 0 && labels->rhs_spatial[s] < labels->rhs_rank;
  return names;
}

/* Strides and dilations from 1 to 2^31 - 1. */
static bool has_positive_steps(const hlo_window_t *window) {
  for (int s = 0; s < window->rank; s++) {
    const hlo_window_dim_t *w = &window->dims[s];
    if (w->stride < 1 || w->base_dilation < 1 || w->window_dilation < 1 || w->stride > INT32_MAX ||
        w->base_dilation > INT32_MAX || w->window_dilation > INT32_MAX)
      return false;
  }
  return true;
}

/* Operands are known only at run time, so the verifier's checks are made here. */
static hr_status_t check_convolution(const op_step_t *step, hlo_value_t *const *in) {
  const hlo_dim_labels_t *labels = hlo_attr_labels(step->instr);
  const hlo_window_t *window = hlo_attr_window(step->instr);
  bool arrays =
      step->instr->operand_count == 2 && in[0]->dtype != HR_TUPLE && in[1]->dtype != HR_TUPLE;
  bool fits = arrays && labels && window && window->rank == labels->spatial_rank &&
              in[0]->rank == labels->lhs_rank && in[1]->rank == labels->rhs_rank &&
              names_dims(labels) && has_positive_steps(window);
  return fits ? NULL
              : hlo_error(step->instr, NULL,
                          "want an input and a kernel, dim_labels of their ranks, and a window of "
                          "positive strides");
}

/* Pads so that the result has ceil(size / stride) elements: half on each side, the larger half at
 * the end. */
static void pad_same(hlo_window_dim_t *window, int64_t size) {
  int64_t dilated = size ? (size - 1) * window->base_dilation + 1 : 0;
  int64_t covered = (window->size - 1) * window->window_dilation + 1;
  int64_t results = (dilated + window->stride - 1) / window->stride;
  int64_t total = (results - 1) * window->stride + covered - dilated;
  if (total < 0) total = 0;
  window->pad_low = total / 2;
  window->pad_high = total - window->pad_low;
}

/* The window gets the kernel's sizes; VALID or SAME determines the padding. */
static void pad_window(const hlo_instr_t *instr, hlo_value_t *const *in, hlo_window_dim_t *dims) {
  const hlo_dim_labels_t *labels = hlo_attr_labels(instr);
  const hlo_window_t *window = hlo_attr_window(instr);
  int type = hlo_attr_enum(instr, HLO_ATTR_PADDING_TYPE);
  for (int s = 0; s < window->rank; s++) {
    dims[s] = window->dims[s];
    dims[s].size = in[1]->dims[labels->rhs_spatial[s]];
    if (type == HLO_PADDING_TYPE_VALID) {
      dims[s].pad_low = 0;
      dims[s].pad_high = 0;
    }
    if (type == HLO_PADDING_TYPE_SAME) pad_same(&dims[s], in[0]->dims[labels->lhs_spatial[s]]);
  }
}

/* The input with as many features as the kernel needs; *out_filled is NULL if it has them. */
static hr_status_t fill_features(op_env_t *env, const op_step_t *step, hlo_value_t *const *in,
                                 int64_t features, op_step_t *inner, hlo_value_t **out_filled) {
  const hlo_shape_t **shapes;
  int feature = (int)hlo_attr_labels(step->instr)->lhs_feature;
  *inner = *step;
  *out_filled = NULL;
  if (in[0]->dims[feature] >= features) return NULL;
  HR_TRY(HR_NEW_ARRAY(env->scratch, 2, &shapes));
  HR_TRY(op_resize_dimension(in[0], feature, features, out_filled));
  hr_status_t st =
      hlo_shape_array(env->scratch, in[0]->dtype, in[0]->rank, (*out_filled)->dims, &shapes[0]);
  shapes[1] = step->in_shapes[1];
  inner->in_shapes = shapes;
  if (st) hlo_value_release(*out_filled);
  return st;
}

/* An input with fewer features than the kernel needs is filled with zeros (fill_features). */
static hr_status_t run_dynamic_convolution_forward(op_env_t *env, const op_step_t *step,
                                                   hlo_value_t *const *in,
                                                   hlo_value_t **out_value) {
  hlo_window_dim_t dims[HLO_MAX_RANK];
  hlo_value_t *operands[2], *filled;
  op_step_t inner;
  HR_TRY(check_convolution(step, in));
  const hlo_dim_labels_t *labels = hlo_attr_labels(step->instr);
  hlo_window_t window = {labels->spatial_rank, dims};
  int64_t groups = hlo_attr_int(step->instr, HLO_ATTR_FEATURE_GROUP_COUNT);
  int64_t features;
  if (groups < 1 ||
      __builtin_mul_overflow(in[1]->dims[labels->rhs_input_feature], groups, &features))
    return hlo_error(step->instr, NULL, "feature_group_count %ld, want 1 or more", (long)groups);
  pad_window(step->instr, in, dims);
  HR_TRY(fill_features(env, step, in, features, &inner, &filled));
  operands[0] = filled ? filled : in[0];
  operands[1] = in[1];
  const hlo_attr_t attrs[] = {{.key = HLO_ATTR_WINDOW, .window = &window},
                              {.key = HLO_ATTR_DIM_LABELS, .labels = labels},
                              {.key = HLO_ATTR_FEATURE_GROUP_COUNT, .integer = groups},
                              {.key = HLO_ATTR_BATCH_GROUP_COUNT,
                               .integer = hlo_attr_int(step->instr, HLO_ATTR_BATCH_GROUP_COUNT)}};
  hr_status_t st = op_lower_dynamic(
      env, &inner, &(op_lowered_form_t){HLO_CONVOLUTION, 2, 4, attrs, NULL}, operands, out_value);
  hlo_value_release(filled);
  return st;
}
const op_kernel_t custom_dynamic_convolution_forward = {NULL, run_dynamic_convolution_forward};
