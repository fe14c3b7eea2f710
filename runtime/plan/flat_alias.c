/* Ops whose result is a view of operand 0: the same bytes, from some offset on. They need no step.
 *
 *   reshape, convert to the same type         always
 *   bitcast, bitcast-convert                  types of equal width, of whole bytes
 *   transpose, broadcast, reverse             only dimensions of size 1 change
 *   slice                                     contiguous: full in all dimensions after the first
 *                                             one that is longer than 1
 *
 * Arrays are dense and row-major. Cost: O(rank). */
#include "ops/query/custom_call_table.h"
#include "plan/flat_build.h"

static bool has_default_layouts(const hlo_instr_t *instr) {
  return hlo_layout_is_default(instr->shape->layout) &&
         hlo_layout_is_default(instr->operands[0]->shape->layout);
}

static bool has_equal_element_count(const hlo_instr_t *instr) {
  return hlo_shape_elements(instr->shape) == hlo_shape_elements(instr->operands[0]->shape);
}

/* Types below a byte, and predicates, have padding bits, which differ. */
static bool has_equal_bits(const hlo_instr_t *instr) {
  hr_dtype_t from = instr->operands[0]->shape->dtype, to = instr->shape->dtype;
  if (from == to) return true;
  return from != HR_PRED && to != HR_PRED && hr_dtype_table[from].bits == hr_dtype_table[to].bits &&
         hr_dtype_table[from].bits >= 8;
}

/* Do only dimensions of size 1 change their positions? */
static bool keeps_order(const hlo_instr_t *instr) {
  hr_ints_t dims = hlo_attr_ints(instr, HLO_ATTR_DIMENSIONS);
  int64_t last = -1;
  for (int64_t d = 0; d < dims.count; d++) {
    if (instr->operands[0]->shape->dims[dims.data[d]] == 1) continue;
    if (dims.data[d] < last) return false;
    last = dims.data[d];
  }
  return true;
}

/* Is it a broadcast that only adds dimensions of size 1? */
static bool adds_only_unit_dims(const hlo_instr_t *instr) {
  hr_ints_t dims = hlo_attr_ints(instr, HLO_ATTR_DIMENSIONS);
  const hlo_shape_t *in = instr->operands[0]->shape;
  int64_t last = -1;
  if (!has_equal_element_count(instr)) return false;
  for (int d = 0; d < in->rank && d < dims.count; d++) {
    if (in->dims[d] == 1) continue;
    if (dims.data[d] < last) return false;
    last = dims.data[d];
  }
  return true;
}

static bool reverses_only_unit_dims(const hlo_instr_t *instr) {
  hr_ints_t dims = hlo_attr_ints(instr, HLO_ATTR_DIMENSIONS);
  for (int64_t d = 0; d < dims.count; d++)
    if (instr->shape->dims[dims.data[d]] != 1) return false;
  return true;
}

/* A slice is contiguous if it is full in all dimensions after the first one that is longer than 1.
 */
static bool is_contiguous(const hlo_instr_t *instr, size_t *out_offset_bytes) {
  const hlo_shape_t *in = instr->operands[0]->shape, *out = instr->shape;
  const hlo_slice_t *slice = hlo_attr_slice(instr);
  int64_t offset = 0;
  bool has_outer_extent = false; /* more than one element so far */
  for (int d = 0; d < in->rank; d++) {
    bool is_whole = out->dims[d] == in->dims[d];
    if ((has_outer_extent && !is_whole) || (slice->dims[d].stride != 1 && out->dims[d] > 1))
      return false;
    if (out->dims[d] > 1) has_outer_extent = true;
    offset = offset * in->dims[d] + slice->dims[d].start;
  }
  *out_offset_bytes = (size_t)offset * hr_dtype_bytes(in->dtype);
  return true;
}

static bool is_empty(const hlo_shape_t *shape) {
  for (int d = 0; d < shape->rank; d++)
    if (!shape->dims[d]) return true;
  return false;
}

bool flat_is_alias(const hlo_instr_t *instr, size_t *out_offset_bytes) {
  *out_offset_bytes = 0;
  if (!instr->operand_count || !hlo_shape_is_array(instr->shape) ||
      !hlo_shape_is_array(instr->operands[0]->shape) || is_empty(instr->shape))
    return false;
  switch (instr->op) {
    case HLO_RESHAPE:
      return true;
    case HLO_BITCAST:
      return has_default_layouts(instr) && has_equal_element_count(instr) && has_equal_bits(instr);
    case HLO_BITCAST_CONVERT:
      return has_equal_bits(instr) && has_equal_element_count(instr);
    case HLO_CONVERT:
      return instr->shape->dtype == instr->operands[0]->shape->dtype;
    case HLO_TRANSPOSE:
      return keeps_order(instr);
    case HLO_BROADCAST:
      return adds_only_unit_dims(instr);
    case HLO_REVERSE:
      return reverses_only_unit_dims(instr);
    case HLO_CONCATENATE:
      return instr->operand_count == 1;
    case HLO_SLICE:
      return is_contiguous(instr, out_offset_bytes);
    case HLO_CUSTOM_CALL:
      return op_custom_call_is_identity(instr) && has_default_layouts(instr) &&
             hlo_shape_equal(instr->shape, instr->operands[0]->shape);
    default:
      return false;
  }
}

static bool may_update_operand(const hlo_instr_t *instr, int k) {
  switch (instr->op) {
    case HLO_DYNAMIC_UPDATE_SLICE:
      return k == 0;
    case HLO_SCATTER:
      return k < instr->operand_count / 2;
    case HLO_WHILE:
    case HLO_CONDITIONAL:
    case HLO_CALL:
    case HLO_FUSION:
    case HLO_TUPLE:
    case HLO_SORT:
      return true;
    default:
      return false;
  }
}

hr_status_t flat_find_updated(flat_builder_t *builder, const plan_body_t *body,
                              const bool **out_updated) {
  bool *updated;
  HR_TRY(HR_NEW_ARRAY(&builder->scratch, body->computation->instrs.count, &updated));
  for (int s = 0; s < body->step_count; s++) {
    const hlo_instr_t *instr = body->steps[s].op.instr;
    for (int k = 0; k < instr->operand_count; k++)
      if (may_update_operand(instr, k)) updated[instr->operands[k]->id] = true;
  }
  *out_updated = updated;
  return NULL;
}
