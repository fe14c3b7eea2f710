/* Result shapes of steps whose operands have actual sizes, for three kinds of ops:
 *
 *   inferred   the shape follows from the operands: inference runs again on actual shapes
 *   listed     an operand lists the sizes (dynamic-iota, shape operands of custom calls)
 *   declared   each dynamic dimension has the size of the operand dimension it comes from
 *
 * Sizes are checked against the declared shape, as readers of the result rely on it. Kernels that
 * determine sizes while they run (dynamic-reshape, dynamic-pad) get the declared shape. */
#include "ops/rules/dynamic_shape.h"

#include <string.h>

#include "ops/query/custom_call_table.h"
#include "ops/query/reshape_groups.h"
#include "ops/query/index_values.h"
#include "ops/rules/constraint.h"

static bool is_open(const hlo_shape_t *shape, int d) { return shape->dynamic && shape->dynamic[d]; }

/* The sizes in a list of integers, for dimensions that `declared` leaves open. */
static hr_status_t listed_shape(hr_arena_t *arena, const hlo_instr_t *instr,
                                const hlo_shape_t *declared, const hlo_value_t *list,
                                const hlo_shape_t **out_shape) {
  int64_t dims[HLO_MAX_RANK];
  if (list->rank != 1 || list->count != declared->rank || !hr_dtype_is_integer(list->dtype))
    return hlo_error(instr, NULL, "%ld sizes for a result of %d dimensions", (long)list->count,
                     declared->rank);
  for (int d = 0; d < declared->rank; d++) {
    dims[d] = op_index_at(list, d);
    bool fits = is_open(declared, d) ? dims[d] >= 0 && (declared->dims[d] == HLO_UNBOUNDED ||
                                                        dims[d] <= declared->dims[d])
                                     : dims[d] == declared->dims[d];
    if (!fits)
      return hlo_error(instr, NULL, "size %ld in dimension %d, which the program does not allow",
                       (long)dims[d], d);
  }
  return hlo_shape_array(arena, declared->dtype, declared->rank, dims, out_shape);
}

/* --- ops whose result the program declares --- */

/* True if the collective leaves dimension d as it is: all but those that it gathers or scatters. */
static bool keeps_dim(const hlo_instr_t *instr, int d) {
  hr_ints_t changed = hlo_attr_ints(instr, HLO_ATTR_DIMENSIONS);
  switch (instr->op) {
    case HLO_ALL_TO_ALL:
    case HLO_COLLECTIVE_BROADCAST:
      return true;
    case HLO_ALL_GATHER:
    case HLO_REDUCE_SCATTER:
      return changed.count == 1 && changed.data[0] != d;
    default:
      return false;
  }
}

/* Operand dimension that becomes dimension d of the result; -1: none. */
static int source_dim(const hlo_instr_t *instr, const hlo_shape_t *in, const hlo_shape_t *declared,
                      int d) {
  hr_ints_t map = hlo_attr_ints(instr, HLO_ATTR_DIMENSIONS);
  if (instr->op == HLO_BROADCAST) {
    for (int64_t i = 0; i < map.count; i++)
      if (map.data[i] == d) return (int)i;
    return -1;
  }
  if (instr->op == HLO_BITCAST_CONVERT) return d < in->rank ? d : -1;
  bool alike =
      in && in->rank == declared->rank &&
      (hlo_op_is(instr->op, OP_ELEMENTWISE) || instr->op == HLO_CUSTOM_CALL || keeps_dim(instr, d));
  return alike ? d : -1;
}

/* For several open dimensions of a reshape: the only open dimension of a group of dimensions gets
 * the quotient of the group's operand size by its known sizes. */
static void fill_by_groups(const hlo_shape_t *bounds, const hlo_shape_t *in,
                           const hlo_shape_t *declared, int64_t *dims) {
  for (op_reshape_group_t group = {{0, 0}, {0, 0}}; op_reshape_next(bounds, declared, &group);) {
    int64_t count = 1, known = 1;
    int open = -1, open_count = 0;
    for (int d = group.from[0]; d < group.from[1]; d++) count *= in->dims[d];
    for (int d = group.to[0]; d < group.to[1]; d++) {
      if (!is_open(declared, d)) {
        known *= dims[d];
        continue;
      }
      open = d;
      open_count++;
    }
    if (open_count == 1 && known) dims[open] = count / known;
  }
}

/* A dynamic dimension has the operand's size if the op keeps dimensions, the remaining factor of
 * the number of elements if the op reshapes, and its bound otherwise. */
static hr_status_t declared_array(hr_arena_t *arena, const op_step_t *step,
                                  const hlo_shape_t *declared, const hlo_shape_t **out_shape) {
  const hlo_instr_t *instr = step->instr;
  const hlo_shape_t *in = instr->operand_count ? step->in_shapes[0] : NULL;
  int64_t dims[HLO_MAX_RANK], known = 1, count;
  int open = -1, open_count = 0;
  for (int d = 0; d < declared->rank; d++) {
    dims[d] = declared->dims[d];
    int from = is_open(declared, d) ? source_dim(instr, in, declared, d) : -1;
    if (from >= 0) dims[d] = in->dims[from];
    if (is_open(declared, d)) {
      open = d;
      open_count++;
    } else if (__builtin_mul_overflow(known, dims[d], &known)) {
      return hlo_error(instr, NULL, "its result has too many elements");
    }
  }
  if (instr->op == HLO_RESHAPE && open_count == 1 && known && !hlo_shape_count(in, &count))
    dims[open] = count / known;
  if (instr->op == HLO_RESHAPE && open_count > 1)
    fill_by_groups(instr->operands[0]->shape, in, declared, dims);
  for (int d = 0; d < declared->rank; d++)
    if (dims[d] < 0)
      return hlo_unsupported(instr, "the size of dimension %d does not follow from the operands",
                             d);
  return hlo_shape_array(arena, declared->dtype, declared->rank, dims, out_shape);
}

/* --- custom calls --- */

/* Counts the numbers in the attribute's text: as many trailing operands are shapes. */
int op_shape_operands_start(const hlo_instr_t *instr) {
  hr_str_t text = hlo_frontend_attribute(instr, "indices_of_shape_operands");
  int numbers = 0;
  bool inside = false;
  for (size_t i = 0; i < text.size && text.data[i] != ':';
       i++) { /* dense<[2, 3]> : tensor<2xi64> */
    bool digit = text.data[i] >= '0' && text.data[i] <= '9';
    numbers += digit && !inside;
    inside = digit;
  }
  return numbers <= instr->operand_count ? instr->operand_count - numbers : instr->operand_count;
}

/* A result without a shape operand has the operand's actual sizes, unless the kernel determines
 * them. */
static hr_status_t custom_array(hr_arena_t *arena, const op_step_t *step,
                                const hlo_shape_t *declared, int result, hlo_value_t *const *in,
                                const hlo_shape_t **out_shape) {
  int start = op_shape_operands_start(step->instr);
  *out_shape = declared;
  if (start + result < step->instr->operand_count)
    return listed_shape(arena, step->instr, declared, in[start + result], out_shape);
  const op_custom_call_t *call = op_custom_call_find(op_custom_call_target(step->instr));
  if (!hlo_shape_is_dynamic(declared) || !hlo_shape_is_array(declared) || !call ||
      call->traits & CUSTOM_SHAPED_BY_KERNEL)
    return NULL;
  return declared_array(arena, step, declared, out_shape);
}

/* Result i of a tuple has shape operand i. */
static hr_status_t custom_shape(hr_arena_t *arena, const op_step_t *step, hlo_value_t *const *in,
                                const hlo_shape_t **out_shape) {
  const hlo_shape_t *declared = step->instr->shape, **elements;
  if (!hlo_shape_is_tuple(declared)) return custom_array(arena, step, declared, 0, in, out_shape);
  HR_TRY(HR_NEW_ARRAY(arena, declared->element_count, &elements));
  for (int i = 0; i < declared->element_count; i++)
    HR_TRY(custom_array(arena, step, declared->elements[i], i, in, &elements[i]));
  return hlo_shape_tuple(arena, declared->element_count, elements, out_shape);
}

/* --- checks --- */

/* Checks the op's rules for the instruction with the actual shapes, which are static. */
static hr_status_t verify_actual(hr_arena_t *arena, const op_step_t *step,
                                 const hlo_shape_t *shape) {
  hlo_instr_t actual = *step->instr, *operands;
  HR_TRY(HR_NEW_ARRAY(arena, actual.operand_count, &operands));
  HR_TRY(HR_NEW_ARRAY(arena, actual.operand_count, &actual.operands));
  for (int k = 0; k < actual.operand_count; k++) {
    operands[k] = *step->instr->operands[k];
    operands[k].shape = step->in_shapes[k];
    actual.operands[k] = &operands[k];
  }
  actual.shape = shape;
  return op_verifiers[actual.op](&actual);
}

/* The shape of this execution; it fits the declared shape. */
hr_status_t op_actual_shape(hr_arena_t *arena, const op_step_t *step, hlo_value_t *const *in,
                            const hlo_shape_t **out_shape) {
  const hlo_instr_t *instr = step->instr;
  if (op_has_inference(instr->op)) {
    HR_TRY(hlo_infer_shape(arena, instr, step->in_shapes, out_shape));
    return op_check_declared(instr,
                             *out_shape); /* readers of the result may rely on its declared sizes */
  }
  switch (instr->op) {
    case HLO_DYNAMIC_RESHAPE:
    case HLO_DYNAMIC_PAD:
    case HLO_DYNAMIC_GATHER:
    case HLO_DYNAMIC_CONVOLUTION:
    case HLO_REAL_DYNAMIC_SLICE:
      *out_shape = instr->shape;
      return NULL;
    case HLO_CUSTOM_CALL:
      return custom_shape(arena, step, in, out_shape);
    case HLO_DYNAMIC_IOTA:
    case HLO_DYNAMIC_BROADCAST:
      HR_TRY(listed_shape(arena, instr, instr->shape, in[instr->operand_count - 1], out_shape));
      break;
    default:
      *out_shape = instr->shape;
      if (!hlo_shape_is_array(instr->shape)) return NULL;
      HR_TRY(declared_array(arena, step, instr->shape, out_shape));
  }
  return verify_actual(arena, step, *out_shape);
}
