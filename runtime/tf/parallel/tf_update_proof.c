/* Proof that the new value of a variable may be computed from means over the replicas. It may not
 * if two different leaves are multiplied by the optimizer, or if a parameter itself goes into an
 * operation that is not linear: the mean of such values is not the value that one process with all
 * examples would compute. A product of leaves that no variable takes part in is a gradient, and a
 * leaf itself. */
#include "tf/parallel/tf_update_proof.h"

/* Form of a value of the optimizer: fixed, linear in the leaves, or neither; and which leaf it
 * depends on (-1: several). */
typedef struct linearity {
  bool local, linear;
  int64_t leaf;
  bool raw; /* a leaf is a parameter or a random number */
} linearity_t;

static linearity_t join_linearity(linearity_t x, linearity_t y) {
  if (!x.local) return y;
  if (!y.local) return x;
  return (linearity_t){true, x.linear && y.linear, x.leaf == y.leaf ? x.leaf : -1, x.raw || y.raw};
}

/* Linear operations keep forms; a product or quotient with something fixed does, too. */
static bool keeps_linear(const hlo_instr_t *instr, const linearity_t *forms) {
  bool first = forms[instr->operands[0]->id].local;
  bool second = instr->operand_count > 1 && forms[instr->operands[1]->id].local;
  switch (instr->op) {
    case HLO_ADD:
    case HLO_SUBTRACT:
    case HLO_NEGATE:
      return true;
    case HLO_MULTIPLY:
      return !(first && second);
    case HLO_DIVIDE:
      return !second;
    case HLO_SELECT:
      return !first;
    case HLO_REDUCE:
      return instr->called[0]->root->op == HLO_ADD;
    default:
      return tf_is_shape_change(instr->op);
  }
}

/* Two different leaves in one product. A product with a value of several leaves together is the
 * scaling of gradients by their norm. */
static bool mixes_leaves(const hlo_instr_t *instr, const linearity_t *forms) {
  if (instr->op != HLO_MULTIPLY && instr->op != HLO_DIVIDE && instr->op != HLO_POWER) return false;
  linearity_t x = forms[instr->operands[0]->id], y = forms[instr->operands[1]->id];
  return x.local && y.local && x.leaf >= 0 && y.leaf >= 0 && x.leaf != y.leaf;
}

hr_status_t tf_merge_leaf_products(tf_parallel_t *p) {
  const hlo_computation_t *entry = p->module->entry;
  linearity_t *forms;
  bool *pure;
  HR_TRY(HR_NEW_ARRAY(p->r.arena, p->r.count, &forms));
  HR_TRY(HR_NEW_ARRAY(p->r.arena, p->r.count, &pure));
  for (size_t i = 0; i < p->r.count; i++) {
    const hlo_instr_t *instr = entry->instrs.data[i];
    pure[i] = p->r.leaf[i] || instr->op != HLO_PARAMETER;
    if (p->r.leaf[i])
      forms[i] = (linearity_t){true, true, (int64_t)tf_gradient_of(&p->r, i), false};
    if (p->r.leaf[i] && tf_is_row_sum(instr)) pure[i] = pure[instr->operands[0]->id];
    if (p->r.leaf[i]) continue;
    for (int k = 0; k < instr->operand_count; k++) pure[i] &= pure[instr->operands[k]->id];
    if (!p->r.region[i]) continue;
    for (int k = 0; k < instr->operand_count; k++)
      forms[i] = join_linearity(forms[i], forms[instr->operands[k]->id]);
    if (!pure[i] || !mixes_leaves(instr, forms)) continue;
    p->r.region[i] = false;
    p->r.leaf[i] = true;
    forms[i] = (linearity_t){true, true, (int64_t)i, false};
  }
  return NULL;
}

/* A leaf must not be a result of a branch or a call, where an optimizer may hide. */
static bool hides_optimizer(const hlo_instr_t *instr) {
  while (instr->op == HLO_GET_TUPLE_ELEMENT) instr = instr->operands[0];
  return instr->op == HLO_CONDITIONAL || instr->op == HLO_CALL;
}

/* Operations of both the backward pass and optimizers: rows that are added may be clipped before,
 * and gradients sorted or factored. */
static bool may_hide_optimizer(const hlo_instr_t *instr) {
  while (instr->op == HLO_GET_TUPLE_ELEMENT) instr = instr->operands[0];
  switch (instr->op) {
    case HLO_SCATTER:
    case HLO_SORT:
    case HLO_TOPK:
    case HLO_FFT:
    case HLO_CHOLESKY:
    case HLO_TRIANGULAR_SOLVE:
    case HLO_CUSTOM_CALL:
      return true;
    default:
      return false;
  }
}

/* The update itself is a result of a loop: the training loop is in the program. */
static bool is_loop_result(const tf_parallel_t *p, const hlo_instr_t *root) {
  if (!p->r.leaf[root->id]) return false;
  while (root->op == HLO_GET_TUPLE_ELEMENT) root = root->operands[0];
  return root->op == HLO_WHILE;
}

hr_status_t tf_check_update(tf_parallel_t *p, expr_t root, bool *out_good) {
  const hlo_computation_t *entry = p->module->entry;
  linearity_t *forms;
  bool *bad;
  HR_TRY(HR_NEW_ARRAY(p->r.arena, p->r.count, &forms));
  HR_TRY(HR_NEW_ARRAY(p->r.arena, p->r.count, &bad));
  for (size_t i = 0; i <= root->id; i++) {
    const hlo_instr_t *instr = entry->instrs.data[i];
    bool raw = tf_is_replica_source(instr) || instr->op == HLO_PARAMETER;
    if (p->r.leaf[i]) forms[i] = (linearity_t){true, true, (int64_t)tf_gradient_of(&p->r, i), raw};
    if (p->r.leaf[i]) HR_TRY(tf_scales_by_norm(p, instr, &bad[i]));
    bad[i] |= p->bad[i] || (p->r.leaf[i] && hides_optimizer(instr));
    bad[i] |= p->r.leaf[i] && p->is_strict && may_hide_optimizer(instr);
    if (p->r.leaf[i] && tf_is_row_sum(instr)) {
      const uint32_t base = instr->operands[0]->id;
      forms[i] = join_linearity(forms[base], forms[i]);
      bad[i] |= bad[base] || bad[instr->operands[2]->id];
    }
    if (!p->r.region[i]) continue;
    for (int k = 0; k < instr->operand_count; k++) {
      forms[i] = join_linearity(forms[i], forms[instr->operands[k]->id]);
      bad[i] |= bad[instr->operands[k]->id];
    }
    forms[i].linear = forms[i].linear && keeps_linear(instr, forms);
    bad[i] |= mixes_leaves(instr, forms) || (forms[i].raw && !forms[i].linear);
  }
  *out_good = !bad[root->id] && !is_loop_result(p, root);
  return NULL;
}
