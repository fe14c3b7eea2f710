/* Shardings for the strategy SPMD_BATCH_EARLY. Axes of a dimension that an operation needs whole,
 * such as the rows of a matrix that is factored, cut a dimension of batches instead. This holds for
 * the operand and what it is computed from elementwise, up to the product that makes it: the
 * product is computed by batches, and its smaller operands move. */
#include "partition/lower/lower_ops.h"

/* True if the operation needs dimensions whole and may cut others. */
static bool may_need_whole(const hlo_instr_t *instr) {
  switch (instr->op) {
    case HLO_CHOLESKY:
    case HLO_TRIANGULAR_SOLVE:
    case HLO_CUSTOM_CALL:
    case HLO_FFT:
    case HLO_SORT:
      return !spmd_is_marker(instr);
    default:
      return false;
  }
}

static bool is_followed(const hlo_instr_t *instr) {
  return hlo_op_is(instr->op, OP_ELEMENTWISE) || instr->op == HLO_TRANSPOSE;
}

static bool is_product(const hlo_instr_t *instr) {
  return instr->op == HLO_DOT || instr->op == HLO_CONVOLUTION;
}

/* The first factor of all arrays that the axes `more` divide beside its own; -1: none. */
static int batch_for(const spmd_rule_t *rule, const spmd_axes_t *axes, spmd_axes_t more) {
  for (int f = 0; f < rule->factor_count; f++) {
    const spmd_factor_t *factor = &rule->factors[f];
    int64_t parts = spmd_axes_parts(axes[f]) * spmd_axes_parts(more);
    if (factor->kind == SPMD_PASS_THROUGH && factor->size % parts == 0 && spmd_cuts_all(rule, f))
      return f;
  }
  return -1;
}

static bool must_be_whole(const hlo_instr_t *instr, const spmd_rule_t *rule, int f) {
  return rule->factors[f].kind == SPMD_NEED_REPLICATION || !spmd_can_cut_factor(instr, rule, f);
}

/* Moves axes of factors that must be whole to others; false if there are none. */
static bool move_axes(spmd_lower_t *lower, const hlo_instr_t *instr, const spmd_rule_t *rule,
                      spmd_axes_t *axes) {
  bool any = false;
  for (int f = 0; f < rule->factor_count; f++) {
    int to = -1;
    if (axes[f].count && must_be_whole(instr, rule, f)) to = batch_for(rule, axes, axes[f]);
    if (to < 0) continue;
    hr_status_t st = spmd_axes_concat(lower->arena, axes[to], axes[f], &axes[to]);
    if (spmd_emit_failed(&lower->emit, st)) return false;
    axes[f] = (spmd_axes_t){0};
    any = true;
  }
  return any;
}

/* Sets the sharding of an operand that has none yet. */
static void seek(spmd_lower_t *lower, const spmd_rule_t *rule, const hlo_instr_t *instr, int k,
                 const spmd_axes_t *axes) {
  const hlo_instr_t *operand = instr->operands[k];
  if (!operand->shape->rank || lower->sought[operand->id]) return;
  lower->sought[operand->id] = spmd_tensor_sharding(lower, rule, k, axes, (spmd_axes_t){0});
  if (is_product(operand)) lower->shared->changes[SPMD_BATCH_EARLY]++;
}

static hr_status_t visit(spmd_lower_t *lower, const hlo_instr_t *instr) {
  const spmd_sharding_t *sought = lower->sought[instr->id];
  bool follows = sought && is_followed(instr);
  const spmd_rule_t *rule = NULL;
  spmd_axes_t *axes;
  if (!follows && !may_need_whole(instr)) return NULL;
  HR_TRY(spmd_rule_create(lower->arena, instr, &rule));
  if (!rule) return NULL;
  for (int k = 0; k < instr->operand_count; k++) {
    HR_TRY(HR_NEW_ARRAY(lower->arena, rule->factor_count, &axes));
    const spmd_sharding_t *from = sought;
    if (!follows) from = spmd_preferred(lower, instr->operands[k], 0);
    if (!from || !instr->operands[k]->shape->rank) continue;
    spmd_project(lower, rule, follows ? rule->operand_count : k, from, axes);
    if (follows || move_axes(lower, instr, rule, axes)) seek(lower, rule, instr, k, axes);
  }
  return NULL;
}

hr_status_t spmd_find_sought(spmd_lower_t *lower) {
  for (size_t i = lower->from->instrs.count; i-- > 0;) {
    const hlo_instr_t *instr = lower->from->instrs.data[i];
    if (lower->uses[instr->id]) HR_TRY(visit(lower, instr));
  }
  return NULL;
}
