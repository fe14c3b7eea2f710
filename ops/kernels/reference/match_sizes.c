/* Common sizes of elementwise operands with bounded dynamic dimensions, and the resized copies. */
#include "ops/kernels/reference/match_sizes.h"

#include "ops/kernels/common/strided_loops.h"

static bool is_bounded(const hlo_shape_t *shape, int d) {
  return shape->dynamic && shape->dynamic[d] && shape->dims[d] != HLO_UNBOUNDED;
}

/* Scalars are compatible with all sizes. */
static bool has_sizes(const hlo_value_t *value, int rank) {
  return value->dtype != HR_TUPLE && value->rank == rank;
}

/* The common size along dimension d; false if sizes that must agree differ. Static sizes are those
 * of the bound beside bounded ones. */
static bool common_size(const hlo_instr_t *instr, hlo_value_t *const *in, int rank, int d,
                        int64_t *out_size) {
  int64_t size = -1, fixed = -1;
  bool differ = false, has_unbounded = false;
  for (int k = 0; k < instr->operand_count; k++) {
    const hlo_shape_t *shape = instr->operands[k]->shape;
    if (!has_sizes(in[k], rank)) continue;
    int64_t actual = in[k]->dims[d];
    if (is_bounded(shape, d)) {
      differ |= size >= 0 && size != actual;
      if (size < 0 || size == 1 || (actual != 1 && actual < size)) size = actual;
    } else {
      if (fixed >= 0 && fixed != actual) return false;
      has_unbounded |= shape->dynamic && shape->dynamic[d];
      fixed = actual;
    }
  }
  *out_size = size < 0 ? fixed : size;
  return size < 0 || !has_unbounded || (!differ && size == fixed);
}

/* The common part of the elements, repeated along dimensions of size 1. */
static hr_status_t resize(const hlo_value_t *value, const int64_t *dims, hlo_value_t **out_value) {
  int bytes = (int)hr_dtype_bytes(value->dtype);
  int64_t to[HLO_MAX_RANK], from[HLO_MAX_RANK];
  loop_copy_t copy;
  HR_TRY(hlo_value_array(value->dtype, value->rank, dims, out_value));
  loop_dense_strides(value->rank, dims, bytes, to);
  loop_dense_strides(value->rank, value->dims, bytes, from);
  for (int d = 0; d < value->rank; d++)
    if (value->dims[d] == 1) from[d] = 0;
  loop_copy_init(&copy, bytes, value->rank, dims, to, from);
  if (!copy.nest.empty) loop_copy_run(&copy, (*out_value)->data, value->data);
  return NULL;
}

/* Copies of the operands whose sizes differ, truncated to `dims`, or repeated along dimensions of
 * size 1; NULL for operands that fit. None remains after a failure. */
static hr_status_t resize_all(const hlo_instr_t *instr, hlo_value_t *const *in, int rank,
                              const int64_t *dims, hlo_value_t **matched) {
  hr_status_t st = NULL;
  for (int k = 0; k < instr->operand_count; k++) matched[k] = NULL;
  for (int k = 0; k < instr->operand_count && !st; k++) {
    bool same = true;
    for (int d = 0; d < rank && has_sizes(in[k], rank); d++) same &= in[k]->dims[d] == dims[d];
    if (!same) st = resize(in[k], dims, &matched[k]);
  }
  for (int k = 0; k < instr->operand_count && st; k++) {
    hlo_value_release(matched[k]);
    matched[k] = NULL;
  }
  return st;
}

/* Dynamic operands of an elementwise op may have different actual sizes: all are brought to a
 * common size. Nothing is done for scalars, and if there is no common size. */
hr_status_t op_match_sizes(const hlo_instr_t *instr, hlo_value_t *const *in, hlo_value_t **matched,
                           bool *out_needed) {
  int64_t dims[HLO_MAX_RANK];
  *out_needed = false;
  if (!hlo_op_is(instr->op, OP_ELEMENTWISE) || instr->operand_count < 2 ||
      !hlo_shape_is_array(instr->shape))
    return NULL;
  int rank = instr->shape->rank;
  for (int d = 0; d < rank; d++)
    if (!common_size(instr, in, rank, d, &dims[d])) return NULL;
  for (int k = 0; k < instr->operand_count; k++)
    for (int d = 0; d < rank && has_sizes(in[k], rank); d++)
      *out_needed |= in[k]->dims[d] != dims[d];
  return *out_needed ? resize_all(instr, in, rank, dims, matched) : NULL;
}
