/* Compares elements of the result times terms per element with a limit, without overflow. */
#include "ops/query/few_terms.h"

enum { FEW = 1024 }; /* most elements times terms */

/* True if elements times terms do not exceed FEW. */
static bool within_limit(const hlo_shape_t *out, int64_t terms) {
  for (int d = 0; d < out->rank; d++)
    if (__builtin_mul_overflow(terms, out->dims[d], &terms)) return false;
  return terms <= FEW;
}

static bool is_small_window_sum(const op_step_t *step) {
  const hlo_window_t *window = hlo_attr_window(step->instr);
  int64_t terms = 1;
  for (int d = 0; window && d < window->rank; d++)
    if (__builtin_mul_overflow(terms, window->dims[d].size, &terms)) return false;
  return within_limit(step->out_shape, terms);
}

/* The terms of a result element are the kernel's elements for one output feature. */
static bool is_small_convolution(const op_step_t *step) {
  const hlo_dim_labels_t *labels = hlo_attr_labels(step->instr);
  const hlo_shape_t *kernel = step->in_shapes[1];
  int64_t terms = 1;
  for (int d = 0; labels && d < kernel->rank; d++)
    if (d != labels->rhs_output_feature && __builtin_mul_overflow(terms, kernel->dims[d], &terms))
      return false;
  return labels && within_limit(step->out_shape, terms);
}

bool op_has_few_terms(const op_step_t *step) {
  const hlo_shape_t *out = step->out_shape;
  if (!hlo_shape_is_array(out)) return false;
  bool is_real = hr_dtype_is_float(out->dtype);
  switch (step->instr->op) {
    case HLO_REDUCE_WINDOW:
      return (hr_dtype_is_complex(out->dtype) || is_real) && is_small_window_sum(step);
    case HLO_CONVOLUTION:
      return is_real && is_small_convolution(step);
    default:
      return false;
  }
}
