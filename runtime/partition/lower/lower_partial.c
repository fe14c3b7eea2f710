/* Sums that stay partial. Operations that are linear in a partial value can be applied to its
 * parts, so that it is reduced later and once: after adding several partial values, or after a
 * reduction or a slice to fewer elements. Values with several users are reduced first, as each user
 * would reduce them otherwise. */
#include "partition/lower/lower_ops.h"
#include "passes/lib/pass_match.h"

static bool is_partial(const spmd_local_t *value) {
  const spmd_form_t *form = value->forms;
  if (!form || value->reducer != HLO_ADD || !form->sharding->unreduced.count) return false;
  return value->preferred->unreduced.count || (value->uses == 1 && !form->next);
}

/* True for operations other than reductions that commute with a sum. */
static bool is_linear(const hlo_instr_t *instr) {
  switch (instr->op) {
    case HLO_NEGATE:
    case HLO_TRANSPOSE:
    case HLO_RESHAPE:
    case HLO_MULTIPLY:
    case HLO_DIVIDE:
    case HLO_CONVERT:
      return true;
    default:
      return false;
  }
}

/* True if the operand of a sum may be partial, too. */
static bool may_be_partial(const spmd_lower_t *lower, const hlo_instr_t *instr) {
  while (lower->uses[instr->id] == 1 && is_linear(instr)) instr = instr->operands[0];
  bool reduces = instr->op == HLO_DOT || instr->op == HLO_CONVOLUTION || instr->op == HLO_REDUCE ||
                 instr->op == HLO_ADD || instr->op == HLO_SUBTRACT;
  return lower->uses[instr->id] == 1 && reduces;
}

/* True if the result is added to another partial value, or reduced to fewer elements, before a user
 * needs it whole. Otherwise scaling is better done after the reduction, where it has no more
 * elements and can be fused with its users. */
bool spmd_is_merged_later(const spmd_lower_t *lower, const hlo_instr_t *instr) {
  const hlo_instr_t *user = lower->users[instr->id];
  while (user && lower->uses[instr->id] == 1 && is_linear(user)) {
    instr = user;
    user = lower->users[instr->id];
  }
  if (!user || lower->uses[instr->id] != 1) return false;
  if (user->op == HLO_REDUCE) return true;
  if (user->op != HLO_ADD && user->op != HLO_SUBTRACT) return false;
  return may_be_partial(lower, user->operands[user->operands[0] == instr]);
}

static bool only_scales(const hlo_instr_t *instr) {
  return is_linear(instr) && hlo_op_is(instr->op, OP_ELEMENTWISE);
}

/* True if f(sum of parts) = sum of f(parts) for replicated other operands. False for conversions to
 * another width, which round each part. */
static bool keeps_sums(const hlo_instr_t *instr) {
  hr_dtype_t from = instr->operands[0]->shape->dtype;
  hlo_opcode_t op;
  switch (instr->op) {
    case HLO_NEGATE:
    case HLO_TRANSPOSE:
    case HLO_RESHAPE:
    case HLO_SLICE:
    case HLO_MULTIPLY:
      return true;
    case HLO_DIVIDE:
      return hr_dtype_is_float(from) || hr_dtype_is_complex(from);
    case HLO_CONVERT:
      return hr_dtype_is_float(from) && hr_dtype_is_float(instr->shape->dtype) &&
             hr_dtype_bytes(from) == hr_dtype_bytes(instr->shape->dtype);
    case HLO_REDUCE:
      return instr->operand_count == 2 && pass_body_is_binary(instr->called[0], &op) &&
             op == HLO_ADD;
    default:
      return false;
  }
}

/* The partial operand if the operation is linear in it, else -1. All operands of a sum must be
 * partial. */
static int partial_operand(spmd_lower_t *lower, const hlo_instr_t *instr) {
  int count = 0, found = -1;
  for (int k = 0; k < instr->operand_count; k++) {
    const spmd_local_t *value = spmd_operand(lower, instr, k);
    if (!hlo_shape_is_array(value->shape) || !is_partial(value)) continue;
    found = k;
    count++;
  }
  if (instr->op == HLO_ADD || instr->op == HLO_SUBTRACT) return count == 2 ? 0 : -1;
  if (count != 1 || !keeps_sums(instr)) return -1;
  return found == 1 && instr->op != HLO_MULTIPLY ? -1 : found;
}

/* True if the instruction is no reduction, or one with initial value zero. */
static bool begins_with_zero(spmd_lower_t *lower, const hlo_instr_t *instr) {
  if (instr->op != HLO_REDUCE) return true;
  const spmd_local_t *init = spmd_operand(lower, instr, 1);
  return init->recipe && pass_is_number(init->recipe, 0);
}

bool spmd_passes(const hlo_instr_t *instr, const spmd_rule_t *rule, int factor) {
  return rule->factors[factor].kind == SPMD_PASS_THROUGH &&
         spmd_can_cut_factor(instr, rule, factor);
}

static bool reduces_cut(const hlo_instr_t *instr, const spmd_rule_t *rule,
                        const spmd_axes_t *axes) {
  for (int f = 0; f < rule->factor_count; f++)
    if (axes[f].count && !spmd_passes(instr, rule, f)) return true;
  return false;
}

/* Finds the tensors' shardings by the factors; false if an operand would have to be moved. */
static bool find_tensors(spmd_lower_t *lower, const hlo_instr_t *instr, const spmd_rule_t *rule,
                         const spmd_axes_t *axes, spmd_axes_t unreduced,
                         const spmd_sharding_t **tensors) {
  for (int t = 0; t < rule->operand_count + rule->result_count; t++) {
    bool is_result = t >= rule->operand_count;
    const spmd_local_t *value = is_result ? NULL : spmd_operand(lower, instr, t);
    bool partial = is_result || is_partial(value);
    tensors[t] = spmd_tensor_sharding(lower, rule, t, axes, partial ? unreduced : (spmd_axes_t){0});
    if (!tensors[t]) return false;
    if (!partial && (!value->recipe || !pass_splat_of(value->recipe))) return false;
  }
  return true;
}

bool spmd_lower_partial(spmd_lower_t *lower, const hlo_instr_t *instr, const spmd_rule_t *rule) {
  int k = instr->operand_count ? partial_operand(lower, instr) : -1;
  spmd_axes_t *axes;
  const spmd_sharding_t **tensors;
  size_t count = (size_t)(rule->operand_count + rule->result_count);
  if (k < 0 || !begins_with_zero(lower, instr)) return false;
  bool wanted = spmd_preferred(lower, instr, 0)->unreduced.count > 0;
  if (only_scales(instr) && !wanted && !spmd_is_merged_later(lower, instr)) return false;
  if (spmd_emit_failed(&lower->emit, HR_NEW_ARRAY(lower->arena, rule->factor_count, &axes)) ||
      spmd_emit_failed(&lower->emit, HR_NEW_ARRAY(lower->arena, count, &tensors)))
    return false;
  const spmd_sharding_t *from = spmd_operand(lower, instr, k)->forms->sharding;
  if (!spmd_project(lower, rule, k, from, axes) || reduces_cut(instr, rule, axes) ||
      !find_tensors(lower, instr, rule, axes, from->unreduced, tensors))
    return false;
  spmd_choice_t choice = {.instr = instr, .rule = rule, .axes = axes, .tensors = tensors};
  hlo_instr_t *result =
      instr->op == HLO_SLICE ? spmd_lower_slice(lower, &choice) : spmd_emit_local(lower, &choice);
  spmd_define_results(lower, instr, result, tensors + rule->operand_count);
  lower->values[instr->id][0]->reducer = HLO_ADD;
  return true;
}
