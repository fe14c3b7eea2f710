/* Operations with several results, such as sorts, of which users want different shardings. If each
 * result can be computed as it is wanted without moving an operand, the operation is done once for
 * each of these shardings. Together the parts are at most as much work as the whole. */
#include "partition/lower/lower.h"
#include "passes/lib/pass_rewrite.h"

/* The choice by which result r is computed as it is wanted, or as an array of which that is a part;
 * false: an operand would have to move. */
static bool choose_for(spmd_lower_t *lower, const hlo_instr_t *instr, const spmd_rule_t *rule,
                       int r, spmd_choice_t *out_choice) {
  spmd_axes_t *axes;
  const spmd_sharding_t **tensors, *wanted = spmd_wanted_result(lower, instr, r);
  int count = rule->operand_count + rule->result_count;
  if (spmd_emit_failed(&lower->emit, HR_NEW_ARRAY(lower->arena, rule->factor_count, &axes)) ||
      spmd_emit_failed(&lower->emit, HR_NEW_ARRAY(lower->arena, count, &tensors)) || !wanted ||
      !spmd_project(lower, rule, rule->operand_count + r, wanted, axes))
    return false;
  for (int f = 0; f < rule->factor_count; f++)
    if (!spmd_passes(instr, rule, f)) axes[f] = (spmd_axes_t){0};
  for (int t = 0; t < count; t++) {
    tensors[t] = spmd_tensor_sharding(lower, rule, t, axes, (spmd_axes_t){0});
    bool is_operand = t < rule->operand_count;
    if (!tensors[t] ||
        (is_operand && spmd_use_cost(lower, spmd_operand(lower, instr, t), tensors[t]) > 0))
      return false;
  }
  *out_choice = (spmd_choice_t){.instr = instr, .rule = rule, .axes = axes, .tensors = tensors};
  return spmd_move_us(lower, hlo_shape_leaf(instr->shape, r), tensors[rule->operand_count + r],
                      wanted) == 0;
}

/* The share of the operation's work that a choice leaves to a partition. */
static double share_of_work(const spmd_choice_t *choice) {
  double share = 1;
  for (int f = 0; f < choice->rule->factor_count; f++)
    share /= (double)spmd_axes_parts(choice->axes[f]);
  return share;
}

/* The first of `count` choices that cuts result r as choice `own` does; `own` if none does. */
static int same_choice(const spmd_choice_t *choices, int count, int own, int r) {
  int tensor = choices[own].rule->operand_count + r;
  for (int i = 0; i < count; i++)
    if (choices[i].rule &&
        spmd_sharding_same_layout(choices[i].tensors[tensor], choices[own].tensors[tensor]))
      return i;
  return own;
}

/* Emits the operation and defines, of its results, r and all later ones that want the same or are
 * not defined otherwise. */
static void emit_choice(spmd_lower_t *lower, const spmd_choice_t *choices, int own,
                        const int *sources) {
  const spmd_choice_t *choice = &choices[own];
  int count = choice->rule->result_count;
  spmd_lower_fn emit = spmd_op_of(choice->instr).emit;
  hlo_instr_t *result = emit ? emit(lower, choice) : spmd_emit_local(lower, choice), **leaves;
  if (!result || spmd_emit_failed(&lower->emit, HR_NEW_ARRAY(lower->arena, count, &leaves))) return;
  hlo_instr_t **next = leaves;
  spmd_unpack(lower, result, &next);
  for (int r = 0; r < count; r++)
    if (sources[r] == own)
      spmd_define(lower, choice->instr, r, leaves[r],
                  choice->tensors[choice->rule->operand_count + r]);
}

/* Finds the choice for each result that is used, and the number of the one that computes it. False:
 * some result has none, all have the same, or the work would be more than the whole. */
static bool find_choices(spmd_lower_t *lower, const hlo_instr_t *instr, const spmd_rule_t *rule,
                         spmd_choice_t *choices, int *sources) {
  double work = 0;
  int first = -1, different = 0;
  for (int r = 0; r < rule->result_count; r++) {
    sources[r] = -1;
    if (!spmd_result_is_wanted(lower, instr, r)) continue;
    if (!choose_for(lower, instr, rule, r, &choices[r])) return false;
    sources[r] = same_choice(choices, r, r, r);
    if (first < 0) first = r;
    if (sources[r] != r) continue;
    work += share_of_work(&choices[r]);
    different++;
  }
  for (int r = 0; r < rule->result_count; r++)
    if (sources[r] < 0) sources[r] = first;
  return different > 1 && work <= 1;
}

bool spmd_lower_apart(spmd_lower_t *lower, const hlo_instr_t *instr, const spmd_rule_t *rule) {
  spmd_choice_t *choices;
  int *sources;
  if (rule->result_count < 2 || !pass_is_pure(instr) ||
      spmd_emit_failed(&lower->emit, HR_NEW_ARRAY(lower->arena, rule->result_count, &choices)) ||
      spmd_emit_failed(&lower->emit, HR_NEW_ARRAY(lower->arena, rule->result_count, &sources)) ||
      !find_choices(lower, instr, rule, choices, sources))
    return false;
  for (int r = 0; r < rule->result_count; r++)
    if (sources[r] == r) emit_choice(lower, choices, r, sources);
  return true;
}
