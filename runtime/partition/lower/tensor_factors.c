/* Projection between dimensions and factors. A dimension's axes are given to its factors from the
 * left: a factor takes axes as long as they divide the rest of its size; the last factor takes all
 * others. In the other direction, a later factor of a dimension can be cut only if the earlier ones
 * are cut into single elements, and only a dimension of one factor may be cut unevenly. */
#include "partition/lower/lower.h"

#include "base/arith.h"

/* Appends one axis; false on failure. */
static bool append(spmd_lower_t *lower, spmd_axes_t *axes, spmd_axis_t axis) {
  return !spmd_emit_failed(&lower->emit, spmd_axes_append(lower->arena, *axes, axis, axes));
}

/* Distributes the axes of one dimension over its factors. */
static bool project_dim(spmd_lower_t *lower, const spmd_rule_t *rule, const spmd_dim_factors_t *dim,
                        spmd_axes_t axes, spmd_axes_t *out_axes) {
  int at = 0;
  int64_t left = dim->count ? rule->factors[dim->factors[0]].size : 1;
  for (int i = 0; i < axes.count; i++) {
    spmd_axis_t axis = axes.items[i];
    while (axis.size > 1) {
      while (left == 1 && at + 1 < dim->count) left = rule->factors[dim->factors[++at]].size;
      bool is_last = at + 1 >= dim->count;
      int64_t part = is_last ? axis.size : hr_gcd(left, axis.size);
      if (part == 1 || (is_last && dim->count > 1 && left % part) || !dim->count) return false;
      spmd_axis_t taken = {axis.axis, axis.pre, part};
      if (!append(lower, &out_axes[dim->factors[at]], taken)) return false;
      left = left % part ? 0 : left / part;
      axis = (spmd_axis_t){axis.axis, axis.pre * part, axis.size / part};
    }
  }
  return true;
}

/* Projects all dimensions, even if one of them fails: the axes that fit are still a hint. */
bool spmd_project(spmd_lower_t *lower, const spmd_rule_t *rule, int tensor,
                  const spmd_sharding_t *sharding, spmd_axes_t *out_axes) {
  const spmd_tensor_factors_t *factors = &rule->tensors[tensor];
  bool all = true;
  for (int d = 0; d < factors->rank && d < sharding->rank; d++)
    all &= project_dim(lower, rule, &factors->dims[d], sharding->dims[d].axes, out_axes);
  return all;
}

int spmd_dim_of_factor(const spmd_rule_t *rule, int tensor, int factor) {
  for (int d = 0; d < rule->tensors[tensor].rank; d++)
    for (int i = 0; i < rule->tensors[tensor].dims[d].count; i++)
      if (rule->tensors[tensor].dims[d].factors[i] == factor) return d;
  return -1;
}

bool spmd_cuts_all(const spmd_rule_t *rule, int factor) {
  for (int t = 0; t < rule->operand_count + rule->result_count; t++) {
    const spmd_tensor_factors_t *tensor = &rule->tensors[t];
    bool found = tensor->rank == 0;
    for (int d = 0; d < tensor->rank; d++)
      found |= tensor->dims[d].count == 1 && tensor->dims[d].factors[0] == factor;
    if (!found) return false;
  }
  return true;
}

bool spmd_can_cut_factor(const hlo_instr_t *instr, const spmd_rule_t *rule, int factor) {
  bool makes_elements =
      instr->op == HLO_BROADCAST || instr->op == HLO_RNG || instr->op == HLO_RNG_BIT_GENERATOR;
  bool in_operand = makes_elements, in_result = false;
  if (rule->factors[factor].kind == SPMD_REDUCTION) return true;
  for (int t = 0; t < rule->operand_count + rule->result_count; t++) {
    if (spmd_dim_of_factor(rule, t, factor) < 0) continue;
    in_operand |= t < rule->operand_count;
    in_result |= t >= rule->operand_count;
  }
  return in_operand && in_result;
}

/* The axes of a dimension by those of its factors; false if it cannot be cut like that. */
static bool dim_axes(spmd_lower_t *lower, const spmd_rule_t *rule, const spmd_dim_factors_t *dim,
                     const spmd_axes_t *axes, spmd_axes_t *out_axes) {
  bool full = true;
  *out_axes = (spmd_axes_t){0};
  for (int i = 0; i < dim->count; i++) {
    int f = dim->factors[i];
    int64_t parts = spmd_axes_parts(axes[f]), size = rule->factors[f].size;
    bool even = dim->count > 1 || rule->factors[f].even;
    if (parts > 1 && (!full || (even && size % parts))) return false;
    full &= parts == size;
    if (parts > 1 && spmd_emit_failed(&lower->emit,
                                      spmd_axes_concat(lower->arena, *out_axes, axes[f], out_axes)))
      return false;
  }
  return true;
}

/* The result is closed and has no replicated axes. */
const spmd_sharding_t *spmd_tensor_sharding(spmd_lower_t *lower, const spmd_rule_t *rule,
                                            int tensor, const spmd_axes_t *axes,
                                            spmd_axes_t unreduced) {
  const spmd_tensor_factors_t *factors = &rule->tensors[tensor];
  const spmd_sharding_t *made = NULL;
  spmd_axes_t dims[HLO_MAX_RANK];
  for (int d = 0; d < factors->rank; d++)
    if (!dim_axes(lower, rule, &factors->dims[d], axes, &dims[d])) return NULL;
  if (spmd_emit_failed(&lower->emit, spmd_sharding_make(lower->arena, lower->mesh, factors->rank,
                                                        dims, unreduced, &made)))
    return NULL;
  return made;
}
