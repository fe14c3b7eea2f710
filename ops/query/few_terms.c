#include "ops/query/few_terms.h"

enum { FEW = 1024 };

/* Has an array of this shape so few elements, each of which is a sum of so many terms? */
static bool is_few(const hlo_shape_t *out, int64_t terms) {
  for (int d = 0; d < out->rank; d++)
    if (__builtin_mul_overflow(terms, out->dims[d], &terms)) return false;
  return terms <= FEW;
}

static bool is_few_windows(const op_step_t *step) {
  const hlo_window_t *window = hlo_attr_window(step->instr);
  int64_t terms = 1;
  for (int d = 0; window && d < window->rank; d++)
    if (__builtin_mul_overflow(terms, window->dims[d].size, &terms)) return false;
  return is_few(step->out_shape, terms);
}

static bool is_few_products(const op_step_t *step) {
  hr_ints_t contracting = hlo_attr_ints(step->instr, HLO_ATTR_LHS_CONTRACTING_DIMS);
  int64_t terms = 1;
  for (int64_t i = 0; i < contracting.count; i++)
    if (__builtin_mul_overflow(terms, step->in_shapes[0]->dims[contracting.data[i]], &terms))
      return false;
  return is_few(step->out_shape, terms);
}

/* Terms of a result: the elements of the kernel that belong to its feature. */
static bool is_few_convolved(const op_step_t *step) {
  const hlo_dim_labels_t *labels = hlo_attr_labels(step->instr);
  const hlo_shape_t *kernel = step->in_shapes[1];
  int64_t terms = 1;
  for (int d = 0; labels && d < kernel->rank; d++)
    if (d != labels->rhs_output_feature && __builtin_mul_overflow(terms, kernel->dims[d], &terms))
      return false;
  return labels && is_few(step->out_shape, terms);
}

bool op_has_few_terms(const op_step_t *step) {
  const hlo_shape_t *out = step->out_shape;
  if (!hlo_shape_is_array(out)) return false;
  bool is_complex = hr_dtype_is_complex(out->dtype), is_real = hr_dtype_is_float(out->dtype);
  switch (step->instr->op) {
    case HLO_REDUCE_WINDOW:
      return (is_complex || is_real) && is_few_windows(step);
    case HLO_DOT:
      return is_complex && is_few_products(step);
    case HLO_CONVOLUTION:
      return is_real && is_few_convolved(step);
    default:
      return false;
  }
}
