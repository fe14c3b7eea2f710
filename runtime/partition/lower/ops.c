/* Tables of operations: lowering functions, reducers of partial results, and wider rules. */
#include "partition/lower/lower_ops.h"
#include "passes/lib/pass_match.h"

/* True for every factor: the lowering masks, moves or reduces elements as needed. */
static bool always(const hlo_instr_t *instr, const spmd_rule_t *rule, int factor) {
  (void)instr;
  (void)rule;
  (void)factor;
  return true;
}

/* Lowering of operations that need more than to run on local shapes. */
spmd_op_t spmd_op_of(const hlo_instr_t *instr) {
  switch (instr->op) {
    case HLO_DOT:
      return (spmd_op_t){spmd_lower_dot, always};
    case HLO_REDUCE:
      return (spmd_op_t){spmd_lower_reduce, spmd_can_cut_reduce};
    case HLO_SLICE:
      return (spmd_op_t){spmd_lower_slice, always};
    case HLO_PAD:
      return (spmd_op_t){spmd_lower_pad, always};
    case HLO_REVERSE:
      return (spmd_op_t){spmd_lower_reverse, always};
    case HLO_CONCATENATE:
      return (spmd_op_t){spmd_lower_concatenate, always};
    case HLO_REDUCE_WINDOW:
      return (spmd_op_t){spmd_lower_reduce_window, spmd_can_cut_window};
    case HLO_SELECT_AND_SCATTER:
      return (spmd_op_t){spmd_lower_select_and_scatter, always};
    case HLO_RNG:
      return (spmd_op_t){spmd_lower_rng, NULL};
    case HLO_RNG_BIT_GENERATOR:
      return (spmd_op_t){spmd_lower_random_bits, NULL};
    case HLO_CONVOLUTION:
      return (spmd_op_t){spmd_lower_convolution, always};
    case HLO_SORT:
      return (spmd_op_t){spmd_lower_sort, spmd_can_cut_sort};
    case HLO_TOPK:
      return (spmd_op_t){spmd_lower_top_k, always};
    case HLO_DYNAMIC_SLICE:
      return (spmd_op_t){spmd_lower_dynamic_slice, always};
    case HLO_DYNAMIC_UPDATE_SLICE:
      return (spmd_op_t){spmd_lower_dynamic_update, always};
    case HLO_GATHER:
      return (spmd_op_t){spmd_lower_gather, always};
    case HLO_SCATTER:
      return (spmd_op_t){spmd_lower_scatter, always};
    default:
      return (spmd_op_t){NULL, NULL};
  }
}

/* False for selections (argmax, top-k, sorts), which no later reduction op could merge. */
bool spmd_leaves_partial(const hlo_instr_t *instr) {
  if (instr->op == HLO_REDUCE) return instr->operand_count == 2;
  return instr->op != HLO_TOPK && instr->op != HLO_SORT;
}

/* Sums of booleans are disjunctions: dots and gathers of pred. Types without zero have no sums that
 * leave an element as it is. */
hlo_opcode_t spmd_reducer_of(const hlo_instr_t *instr) {
  hlo_opcode_t op;
  bool has_body = instr->op == HLO_REDUCE || instr->op == HLO_SCATTER;
  if (has_body && pass_body_is_binary(instr->called[0], &op)) return op;
  bool selects = instr->op == HLO_GATHER || instr->op == HLO_DYNAMIC_SLICE;
  if (!hlo_shape_is_array(instr->shape)) return HLO_ADD;
  if (instr->shape->dtype == HR_PRED) return HLO_OR;
  return selects && spmd_lacks_zero(instr->shape->dtype) ? HLO_MAXIMUM : HLO_ADD;
}

/* The concatenated dimension may be cut: every part of the result fetches its pieces. */
static hr_status_t rule_concatenate(spmd_lower_t *lower, const hlo_instr_t *instr,
                                    const spmd_rule_t **out_rule) {
  spmd_rule_maker_t maker;
  int64_t along = hlo_attr_ints(instr, HLO_ATTR_DIMENSIONS).data[0];
  HR_TRY(spmd_rule_begin(lower->arena, instr, instr->shape->rank, &maker));
  for (int d = 0; d < instr->shape->rank; d++) {
    spmd_factor_kind_t kind = d == along ? SPMD_PERMUTATION : SPMD_PASS_THROUGH;
    int factor = spmd_rule_factor(&maker, instr->shape->dims[d], kind);
    for (int t = 0; t <= instr->operand_count; t++) HR_TRY(spmd_rule_place(&maker, t, d, factor));
  }
  *out_rule = maker.rule;
  return NULL;
}

/* A slice that is wanted whole along a dimension is a sum, to which each part contributes what it
 * has of it. So is a single element, but not a piece of a concatenation: other pieces may need the
 * array anyway. */
static bool is_sum_along(spmd_lower_t *lower, const hlo_instr_t *slice, int d) {
  const spmd_sharding_t *wanted = spmd_wanted_result(lower, slice, 0);
  const hlo_instr_t *user = lower->users[slice->id];
  if (slice->shape->dims[d] == 1) return true;
  return wanted && !wanted->dims[d].axes.count && user && user->op != HLO_CONCATENATE;
}

static spmd_factor_kind_t kind_along(spmd_lower_t *lower, const hlo_instr_t *slice, int d,
                                     bool sums) {
  if (slice->shape->dims[d] == slice->operands[0]->shape->dims[d]) return SPMD_PASS_THROUGH;
  bool is_sum = slice->shape->dims[d] == 1 || (sums && is_sum_along(lower, slice, d));
  return is_sum ? SPMD_REDUCTION : SPMD_PERMUTATION;
}

/* Without `sums`, only single elements are sums. */
static hr_status_t make_slice_rule(spmd_lower_t *lower, const hlo_instr_t *instr, bool sums,
                                   const spmd_rule_t *alternative, const spmd_rule_t **out_rule) {
  spmd_rule_maker_t maker;
  const hlo_shape_t *shape = instr->operands[0]->shape;
  HR_TRY(spmd_rule_begin(lower->arena, instr, 2 * shape->rank, &maker));
  for (int d = 0; d < shape->rank; d++) {
    spmd_factor_kind_t kind = kind_along(lower, instr, d, sums);
    int64_t left = instr->shape->dims[d];
    int factor = spmd_rule_factor(&maker, shape->dims[d], kind);
    HR_TRY(spmd_rule_place(&maker, 0, d, factor));
    if (kind == SPMD_REDUCTION) factor = spmd_rule_factor(&maker, left, SPMD_NEED_REPLICATION);
    HR_TRY(spmd_rule_place(&maker, 1, d, factor));
  }
  maker.rule->alternative = alternative;
  *out_rule = maker.rule;
  return NULL;
}

/* Parts that have the same number of its elements may keep these, to be gathered later. */
static hr_status_t rule_slice(spmd_lower_t *lower, const hlo_instr_t *instr,
                              const spmd_rule_t **out_rule) {
  const spmd_rule_t *kept = NULL;
  bool differs = false;
  for (int d = 0; d < instr->shape->rank; d++)
    differs |= kind_along(lower, instr, d, true) != kind_along(lower, instr, d, false);
  if (differs) HR_TRY(make_slice_rule(lower, instr, false, NULL, &kept));
  return make_slice_rule(lower, instr, true, kept, out_rule);
}

/* The last dimension may be cut: the top-k of every part are merged. */
static hr_status_t rule_top_k(spmd_lower_t *lower, const hlo_instr_t *instr,
                              const spmd_rule_t **out_rule) {
  spmd_rule_maker_t maker;
  const hlo_shape_t *shape = instr->operands[0]->shape;
  int last = shape->rank - 1;
  HR_TRY(spmd_rule_begin(lower->arena, instr, shape->rank + 1, &maker));
  for (int d = 0; d < last; d++) {
    int factor = spmd_rule_factor(&maker, shape->dims[d], SPMD_PASS_THROUGH);
    for (int t = 0; t < 3; t++) HR_TRY(spmd_rule_place(&maker, t, d, factor));
  }
  int chosen = spmd_rule_factor(&maker, shape->dims[last], SPMD_REDUCTION);
  int best = spmd_rule_factor(&maker, hlo_attr_int(instr, HLO_ATTR_K), SPMD_NEED_REPLICATION);
  HR_TRY(spmd_rule_place(&maker, 0, last, chosen));
  for (int t = 1; t < 3; t++) HR_TRY(spmd_rule_place(&maker, t, last, best));
  *out_rule = maker.rule;
  return NULL;
}

/* Propagation uses Shardy's rules; here an operation may be cut wherever it can be done in parts.
 */
hr_status_t spmd_lowering_rule(spmd_lower_t *lower, const hlo_instr_t *instr,
                               const spmd_rule_t **out_rule) {
  const spmd_rule_t *other;
  if (instr->op == HLO_RNG_GET_AND_UPDATE_STATE) return NULL; /* one counter for all */
  if (instr->op == HLO_RNG_BIT_GENERATOR) return spmd_rule_random_bits(lower, instr, out_rule);
  if (instr->op == HLO_SELECT_AND_SCATTER)
    return spmd_rule_select_and_scatter(lower, instr, out_rule);
  if (instr->op == HLO_DYNAMIC_SLICE) return spmd_rule_dynamic_slice(lower, instr, out_rule);
  if (instr->op == HLO_GATHER) return spmd_rule_indexed(lower, instr, out_rule);
  if (instr->op == HLO_SCATTER) {
    HR_TRY(spmd_rule_indexed(lower, instr, &other));
    return spmd_rule_placed(lower, instr, other, out_rule);
  }
  if (instr->op == HLO_DYNAMIC_UPDATE_SLICE) {
    HR_TRY(spmd_rule_create(lower->arena, instr, &other));
    return spmd_rule_placed(lower, instr, other, out_rule);
  }
  if (instr->op == HLO_SLICE) return rule_slice(lower, instr, out_rule);
  if (instr->op == HLO_SORT) return spmd_rule_sort(lower, instr, out_rule);
  if (instr->op == HLO_TOPK) return rule_top_k(lower, instr, out_rule);
  if (instr->op == HLO_CONVOLUTION) return spmd_rule_convolution(lower, instr, out_rule);
  if (instr->op == HLO_CONCATENATE) return rule_concatenate(lower, instr, out_rule);
  return spmd_rule_create(lower->arena, instr, out_rule);
}
