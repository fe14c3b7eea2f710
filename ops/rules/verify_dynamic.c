/* Constraints of ops with sizes as operands that hold for all values of the sizes. The values are
 * checked when the step runs, by the rules of the static op that it becomes
 * (kernels/common/lower_dynamic.c). */
#include "ops/rules/constraint.h"

hr_status_t verify_broadcast(const hlo_instr_t *instr);
hr_status_t verify_iota(const hlo_instr_t *instr);

/* Operand k is a list of `count` integers. */
static hr_status_t want_list(const hlo_instr_t *instr, const char *rule, int k, int64_t count) {
  const hlo_shape_t *shape = op_operand_shape(instr, k);
  OP_WANT(instr,
          shape->rank == 1 && hr_dtype_is_integer(shape->dtype) &&
              (op_is_dynamic(shape, 0) || shape->dims[0] == count),
          rule, "operand %d is %s, want %ld integers", k, OP_TEXT(shape), (long)count);
  return NULL;
}

/* Checks the declared element type. */
static hr_status_t want_type(const hlo_instr_t *instr, const char *rule, hr_dtype_t dtype) {
  OP_WANT(instr, instr->shape->dtype == dtype, rule, "declared as %s, want elements of type %s",
          OP_TEXT(instr->shape), hr_dtype_name(dtype));
  return NULL;
}

/* Operand 1 lists the sizes of the result, which broadcast_in_dim's rules then check. */
hr_status_t verify_dynamic_broadcast(const hlo_instr_t *instr) {
  HR_TRY(want_list(instr, "C7", 1, instr->shape->rank));
  return verify_broadcast(instr);
}

/* Operand 0 lists the sizes of the result. */
hr_status_t verify_dynamic_iota(const hlo_instr_t *instr) {
  HR_TRY(want_list(instr, "C2", 0, instr->shape->rank));
  return verify_iota(instr);
}

/* Checks type and rank of operand 0; its sizes change at run time. */
static hr_status_t want_operand_like_result(const hlo_instr_t *instr) {
  const hlo_shape_t *x = op_operand_shape(instr, 0);
  HR_TRY(op_want_array(instr, x, 0, "I1"));
  HR_TRY(want_type(instr, "C1", x->dtype));
  OP_WANT(instr, instr->shape->rank == x->rank, "C4", "declared as %s, want %d dimensions",
          OP_TEXT(instr->shape), x->rank);
  return NULL;
}

/* Three lists of one number per dimension: low, high and interior padding. */
hr_status_t verify_dynamic_pad(const hlo_instr_t *instr) {
  const hlo_shape_t *x = op_operand_shape(instr, 0), *value = op_operand_shape(instr, 1);
  HR_TRY(want_operand_like_result(instr));
  HR_TRY(op_want_scalar(instr, value, "the padding value", "I2"));
  OP_WANT(instr, value->dtype == x->dtype, "C1", "the padding value has type %s, want %s",
          hr_dtype_name(value->dtype), hr_dtype_name(x->dtype));
  for (int k = 2; k < 5; k++) HR_TRY(want_list(instr, "C2", k, x->rank));
  return NULL;
}

/* Three lists of one number per dimension: starts, limits, strides. */
hr_status_t verify_real_dynamic_slice(const hlo_instr_t *instr) {
  HR_TRY(want_operand_like_result(instr));
  for (int k = 1; k < 4; k++) HR_TRY(want_list(instr, "C2", k, op_operand_shape(instr, 0)->rank));
  return NULL;
}

/* Like gather, with slice_sizes in operand 2. */
hr_status_t verify_dynamic_gather(const hlo_instr_t *instr) {
  const hlo_shape_t *x = op_operand_shape(instr, 0), *indices = op_operand_shape(instr, 1);
  HR_TRY(op_want_array(instr, x, 0, "I1"));
  OP_WANT(instr, hr_dtype_is_integer(indices->dtype), "I2", "the indices are %s, want integers",
          OP_TEXT(indices));
  HR_TRY(want_list(instr, "C20", 2, x->rank));
  HR_TRY(want_type(instr, "C23", x->dtype));
  return op_check_gather_result(instr, (const hlo_shape_t *const[]){x, indices}, instr->shape);
}

/* Like convolution, with the paddings in operand 2 as pairs; sizes are checked when it runs. */
hr_status_t verify_dynamic_convolution(const hlo_instr_t *instr) {
  const hlo_window_t *window = hlo_attr_window(instr);
  const hlo_dim_labels_t *labels = hlo_attr_labels(instr);
  const hlo_shape_t *padding = op_operand_shape(instr, 2), *kernel = op_operand_shape(instr, 1);
  OP_WANT(instr, window && window->rank == labels->spatial_rank, "C2",
          "the window has %d dimensions, want %d", window ? window->rank : 0, labels->spatial_rank);
  OP_WANT(instr, hlo_shape_is_array(kernel) && kernel->rank == labels->rhs_rank, "C17",
          "dim_labels names %d dimensions of operand 1, which is %s", labels->rhs_rank,
          OP_TEXT(kernel));
  HR_TRY(op_check_range(instr, "C18", "dim_labels of the kernel",
                        (hr_ints_t){labels->rhs_spatial, labels->spatial_rank}, kernel->rank));
  OP_WANT(
      instr,
      padding->rank == 2 && hr_dtype_is_integer(padding->dtype) &&
          padding->dims[0] == labels->spatial_rank && padding->dims[1] == 2 && !padding->dynamic,
      "C4", "the padding is %s, want %d pairs of integers", OP_TEXT(padding), labels->spatial_rank);
  OP_WANT(instr, instr->shape->rank == labels->out_rank, "C26",
          "declared as %s, want %d dimensions", OP_TEXT(instr->shape), labels->out_rank);
  return NULL;
}
