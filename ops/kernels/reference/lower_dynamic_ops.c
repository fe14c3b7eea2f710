/* Ops with paddings, limits or slice sizes as operands: at run time, each is lowered to its static
 * counterpart with these values as attributes (lower_dynamic.h). */
#include "ops/kernels/common/lower_dynamic.h"
#include "ops/query/index_values.h"

/* Operands 2 to 4: low, high and interior padding. */
static hr_status_t run_dynamic_pad(op_env_t *env, const op_step_t *step, hlo_value_t *const *in,
                                   hlo_value_t **out_value) {
  int rank = in[0]->rank;
  hlo_padding_dim_t dims[HLO_MAX_RANK];
  hlo_padding_t padding = {rank, dims};
  for (int d = 0; d < rank; d++) {
    dims[d] =
        (hlo_padding_dim_t){op_index_at(in[2], d), op_index_at(in[3], d), op_index_at(in[4], d)};
    if (dims[d].interior < 0)
      return hlo_error(step->instr, "dynamic_pad C3",
                       "interior padding %ld in dimension %d, want 0 or more",
                       (long)dims[d].interior, d);
  }
  hlo_attr_t attr = {.key = HLO_ATTR_PADDING, .padding = &padding};
  return op_lower_dynamic(env, step, &(op_lowered_form_t){HLO_PAD, 2, 1, &attr, NULL}, in,
                          out_value);
}
const op_kernel_t kernel_dynamic_pad = {NULL, run_dynamic_pad};

/* Operands 1 to 3: start, limit and stride. */
static hr_status_t run_real_dynamic_slice(op_env_t *env, const op_step_t *step,
                                          hlo_value_t *const *in, hlo_value_t **out_value) {
  int rank = in[0]->rank;
  hlo_slice_dim_t dims[HLO_MAX_RANK];
  hlo_slice_t slice = {rank, dims};
  for (int d = 0; d < rank; d++)
    dims[d] =
        (hlo_slice_dim_t){op_index_at(in[1], d), op_index_at(in[2], d), op_index_at(in[3], d)};
  hlo_attr_t attr = {.key = HLO_ATTR_SLICE, .slice = &slice};
  return op_lower_dynamic(env, step, &(op_lowered_form_t){HLO_SLICE, 1, 1, &attr, NULL}, in,
                          out_value);
}
const op_kernel_t kernel_real_dynamic_slice = {NULL, run_real_dynamic_slice};

/* The instruction's attributes, with one replaced or added. */
static hr_status_t attrs_with(op_env_t *env, const hlo_instr_t *instr, hlo_attr_t more,
                              hlo_attr_t **out_attrs, int *out_count) {
  int count = 0;
  HR_TRY(HR_NEW_ARRAY(env->scratch, instr->attr_count + 1, out_attrs));
  for (int i = 0; i < instr->attr_count; i++)
    if (instr->attrs[i].key != more.key) (*out_attrs)[count++] = instr->attrs[i];
  (*out_attrs)[count++] = more;
  *out_count = count;
  return NULL;
}

/* Operand 2: slice sizes. */
static hr_status_t run_dynamic_gather(op_env_t *env, const op_step_t *step, hlo_value_t *const *in,
                                      hlo_value_t **out_value) {
  const int64_t *sizes;
  hlo_attr_t *attrs;
  int count;
  HR_TRY(op_indices_load(env->scratch, in[2], &sizes));
  hlo_attr_t attr = {.key = HLO_ATTR_SLICE_SIZES, .ints = {sizes, in[2]->count}};
  HR_TRY(attrs_with(env, step->instr, attr, &attrs, &count));
  return op_lower_dynamic(env, step, &(op_lowered_form_t){HLO_GATHER, 2, count, attrs, NULL}, in,
                          out_value);
}
const op_kernel_t kernel_dynamic_gather = {NULL, run_dynamic_gather};

/* Operand 2: low and high padding per spatial dimension. Window sizes are the kernel's. */
static hr_status_t run_dynamic_convolution(op_env_t *env, const op_step_t *step,
                                           hlo_value_t *const *in, hlo_value_t **out_value) {
  const hlo_window_t *window = hlo_attr_window(step->instr);
  const hlo_dim_labels_t *labels = hlo_attr_labels(step->instr);
  hlo_window_dim_t dims[HLO_MAX_RANK];
  hlo_window_t padded = {labels->spatial_rank, dims};
  hlo_attr_t *attrs;
  int count;
  for (int d = 0; d < padded.rank; d++) {
    dims[d] = window->dims[d];
    dims[d].size = in[1]->dims[labels->rhs_spatial[d]];
    dims[d].pad_low = op_index_at(in[2], 2 * d);
    dims[d].pad_high = op_index_at(in[2], 2 * d + 1);
  }
  hlo_attr_t attr = {.key = HLO_ATTR_WINDOW, .window = &padded};
  HR_TRY(attrs_with(env, step->instr, attr, &attrs, &count));
  return op_lower_dynamic(env, step, &(op_lowered_form_t){HLO_CONVOLUTION, 2, count, attrs, NULL},
                          in, out_value);
}
const op_kernel_t kernel_dynamic_convolution = {NULL, run_dynamic_convolution};
