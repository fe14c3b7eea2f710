/* Products and reductions over dimensions that are cut: every partition reduces its part, and the
 * results stay partial until they are used. Elements beyond the end of an uneven dimension are
 * replaced by the identity. The initial value is applied once. Reductions of several arrays that
 * select among their elements (argmax) gather the partial selections and reduce these again, in the
 * order of the parts. */
#include "ops/query/selection_eval.h"
#include "partition/lower/lower_ops.h"
#include "passes/lib/pass_match.h"

/* Example: 10 elements in 4 parts of 3. Part 3 has element 9 and two places beyond the end, where
 * coordinate * 3 + i is not below 10. */
hlo_instr_t *spmd_mask_padding(spmd_lower_t *lower, hlo_instr_t *x, int d, spmd_axes_t axes,
                               int64_t size, hlo_instr_t *fill) {
  spmd_emit_t *emit = &lower->emit;
  if (!x || !fill || size == x->shape->dims[d] * spmd_axes_parts(axes)) return x;
  hlo_instr_t *offset = hlo_build_binary(&emit->b, HLO_MULTIPLY, spmd_emit_coordinate(emit, axes),
                                         spmd_emit_index(emit, x->shape->dims[d]));
  return spmd_emit_mask(emit, x, d, offset, INT64_MIN, size, fill);
}

/* Pass-through dimensions need no mask: their padding becomes padding of the result. */
hlo_instr_t *spmd_masked_operand(spmd_lower_t *lower, const spmd_choice_t *choice, int k,
                                 hlo_opcode_t op, hlo_instr_t *init) {
  const spmd_tensor_factors_t *factors = &choice->rule->tensors[k];
  const hlo_shape_t *shape = choice->instr->operands[k]->shape;
  hlo_instr_t *x = spmd_chosen_operand(lower, choice, k), *fill = init;
  for (int d = 0; d < factors->rank && x; d++) {
    int64_t parts = spmd_chosen_parts(choice, k, d);
    if (shape->dims[d] % parts == 0 || factors->dims[d].count != 1) continue;
    if (choice->rule->factors[factors->dims[d].factors[0]].kind != SPMD_REDUCTION) continue;
    if (!fill) fill = spmd_emit_identity(&lower->emit, op, shape->dtype);
    x = spmd_mask_padding(lower, x, d, choice->tensors[k]->dims[d].axes, shape->dims[d], fill);
  }
  return x;
}

/* Example: the sum of 16 ones over 8 parts with initial value 5 is 5 + 2 on the first part and 2 on
 * the others, together 21. */
hlo_instr_t *spmd_only_first(spmd_lower_t *lower, hlo_instr_t *scalar, hlo_opcode_t op,
                             spmd_axes_t axes) {
  spmd_emit_t *emit = &lower->emit;
  if (!scalar || !axes.count || spmd_is_idempotent(op)) return scalar;
  hlo_instr_t *first = hlo_build_compare(
      &emit->b, HLO_DIRECTION_EQ, spmd_emit_coordinate(emit, axes), spmd_emit_index(emit, 0));
  return hlo_build_select(&emit->b, first, scalar,
                          spmd_emit_identity(emit, op, scalar->shape->dtype));
}

hlo_instr_t *spmd_part_start(spmd_lower_t *lower, const spmd_choice_t *choice, int tensor, int d,
                             int64_t size) {
  const spmd_sharding_t *sharding = choice->tensors[tensor];
  int64_t chunk = spmd_local_size(sharding, d, size);
  return hlo_build_binary(&lower->emit.b, HLO_MULTIPLY,
                          spmd_emit_coordinate(&lower->emit, sharding->dims[d].axes),
                          spmd_emit_index(&lower->emit, chunk));
}

/* Both operands are masked, as 0 times infinity is not 0. */
hlo_instr_t *spmd_lower_dot(spmd_lower_t *lower, const spmd_choice_t *choice) {
  hlo_instr_t *zero[2], *operands[2];
  for (int k = 0; k < 2; k++) {
    zero[k] = hlo_build_number(&lower->emit.b, 0, choice->instr->operands[k]->shape->dtype);
    operands[k] = spmd_masked_operand(lower, choice, k, HLO_ADD, zero[k]);
  }
  return spmd_emit_like(&lower->emit, choice->instr, operands, spmd_chosen_shape(lower, choice, 0));
}

/* True if every result of the function is one of its inputs, selected by comparisons: then it can
 * be applied to parts and again to the parts' results. The selection may depend on the order of the
 * elements (the first NaN), so only the major one of the reduced dimensions is cut. */
static bool only_chooses(const hlo_computation_t *body) {
  for (size_t i = 0; i < body->instrs.count; i++) switch (body->instrs.data[i]->op) {
      case HLO_PARAMETER:
      case HLO_COMPARE:
      case HLO_SELECT:
      case HLO_AND:
      case HLO_OR:
      case HLO_NOT:
      case HLO_TUPLE:
        break;
      default:
        return false;
    }
  return true;
}

#define MAX_CHOSEN 4 /* most arrays that are reduced together */
#define MAX_STEPS 32 /* most instructions of a selecting function */

/* True if the function selects `want` from a and b; each has `count` numbers. */
static bool chooses(const hlo_computation_t *body, int count, const double *a, const double *b,
                    const double *want) {
  double params[2 * MAX_CHOSEN], values[MAX_STEPS];
  for (int k = 0; k < count; k++) {
    params[k] = a[k];
    params[count + k] = b[k];
  }
  for (size_t i = 0; i < body->instrs.count; i++) {
    const hlo_instr_t *instr = body->instrs.data[i];
    bool compares = instr->op == HLO_COMPARE;
    int direction = compares ? hlo_attr_enum(instr, HLO_ATTR_DIRECTION) : 0;
    if (instr != body->root) values[instr->id] = selection_eval(instr, direction, params, values);
  }
  for (int k = 0; k < count; k++)
    if (values[body->root->operands[k]->id] != want[k]) return false;
  return true;
}

/* True if initial values may be inserted before and after any element without changing the result.
 * They must lose against other values; among equals the first must win, or always the same side (if
 * the last one won, an initial value after the elements would replace them). Tested with numbers:
 * `end` is the end of all values, others are 0 and -end; the accompanying value is 0 for the
 * initial value and -1 or 1 for an element. */
static bool may_stand_anywhere(const hlo_computation_t *body, int count, double end) {
  double init[MAX_CHOSEN] = {end}, element[MAX_CHOSEN];
  for (double place = -1; place <= 1; place += 2) {
    for (int k = 1; k < count; k++) element[k] = place;
    for (double value = -1; value <= 1; value++) {
      element[0] = value;
      bool loses_before = chooses(body, count, init, element, element);
      bool loses_after = chooses(body, count, element, init, element);
      if (value != end && !(loses_before && loses_after)) return false;
      if (value == end && loses_before && !loses_after) return false;
    }
  }
  return true;
}

/* True if the initial value is an end of the value range, so that each part may begin with it. */
static bool begins_at_an_end(const hlo_instr_t *instr) {
  int count = instr->operand_count / 2;
  const hlo_instr_t *init = instr->operands[count];
  const hlo_computation_t *body = instr->called[0];
  if (count > MAX_CHOSEN || body->instrs.count > MAX_STEPS || body->root->op != HLO_TUPLE)
    return false;
  if (pass_is_lowest(init)) return may_stand_anywhere(body, count, -1);
  return pass_is_highest(init) && may_stand_anywhere(body, count, 1);
}

bool spmd_can_cut_reduce(const hlo_instr_t *instr, const spmd_rule_t *rule, int factor) {
  hr_ints_t dims = hlo_attr_ints(instr, HLO_ATTR_DIMENSIONS);
  hlo_opcode_t op;
  int64_t major = HLO_MAX_RANK;
  if (instr->operand_count == 2) return pass_body_is_binary(instr->called[0], &op);
  for (int64_t i = 0; i < dims.count; i++)
    if (dims.data[i] < major) major = dims.data[i];
  bool keeps_order = major < rule->tensors[0].rank && rule->tensors[0].dims[major].count == 1 &&
                     rule->tensors[0].dims[major].factors[0] == factor;
  return keeps_order && only_chooses(instr->called[0]) && begins_at_an_end(instr);
}

/* True if the initial value is the identity of `op`, so that every part may begin with it. */
static bool begins_anywhere(const spmd_local_t *init, hlo_opcode_t op) {
  return init->recipe && pass_is_neutral(op, init->recipe);
}

/* Padding of float sums is -0.0, as 0.0 would turn a sum of -0.0 alone into 0.0. */
static hlo_instr_t *reduce_one(spmd_lower_t *lower, const spmd_choice_t *choice) {
  hlo_opcode_t op = HLO_ADD;
  hlo_instr_t *init = spmd_chosen_operand(lower, choice, 1), *operands[2];
  if (!pass_body_is_binary(choice->instr->called[0], &op)) op = HLO_ADD;
  operands[0] = spmd_masked_operand(lower, choice, 0, op, spmd_is_idempotent(op) ? init : NULL);
  operands[1] = begins_anywhere(spmd_operand(lower, choice->instr, 1), op)
                    ? init
                    : spmd_only_first(lower, init, op, choice->reduced);
  return spmd_emit_like(&lower->emit, choice->instr, operands, spmd_chosen_shape(lower, choice, 0));
}

/* Gathers the selections of all parts as a new first dimension. */
static hlo_instr_t *gather_choices(spmd_lower_t *lower, hlo_instr_t *x, spmd_axes_t axes) {
  int64_t dims[HLO_MAX_RANK];
  if (!x) return NULL;
  dims[0] = 1;
  for (int d = 0; d < x->shape->rank; d++) dims[d + 1] = x->shape->dims[d];
  x = spmd_emit_reshape(&lower->emit, x, x->shape->rank + 1, dims);
  return spmd_emit_all_gather(&lower->emit, x, 0, axes);
}

/* Padding is the initial value, which is never selected: begins_at_an_end holds. */
static hlo_instr_t *reduce_several(spmd_lower_t *lower, const spmd_choice_t *choice) {
  const hlo_instr_t *instr = choice->instr;
  int count = instr->operand_count / 2;
  hlo_instr_t **operands, **partial, **next;
  if (spmd_emit_failed(&lower->emit, HR_NEW_ARRAY(lower->arena, 2 * count, &operands)) ||
      spmd_emit_failed(&lower->emit, HR_NEW_ARRAY(lower->arena, count, &partial)))
    return NULL;
  for (int k = 0; k < count; k++) {
    operands[count + k] = spmd_chosen_operand(lower, choice, count + k);
    operands[k] = spmd_masked_operand(lower, choice, k, HLO_ADD, operands[count + k]);
  }
  hlo_instr_t *local = spmd_emit_like(&lower->emit, instr, operands, NULL);
  if (!choice->reduced.count || !local) return local;
  next = partial;
  spmd_unpack(lower, local, &next);
  for (int k = 0; k < count; k++) operands[k] = gather_choices(lower, partial[k], choice->reduced);
  int64_t first = 0;
  hlo_attr_t dims = hlo_attr_of_ints(&lower->emit.b, HLO_ATTR_DIMENSIONS, 1, &first);
  return spmd_emit_with(&lower->emit, instr, operands, local->shape, &dims);
}

hlo_instr_t *spmd_lower_reduce(spmd_lower_t *lower, const spmd_choice_t *choice) {
  return choice->instr->operand_count == 2 ? reduce_one(lower, choice)
                                           : reduce_several(lower, choice);
}
