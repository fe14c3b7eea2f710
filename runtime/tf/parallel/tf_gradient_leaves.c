/* Leaves: the values that a data-parallel program replaces by their means. The walk goes back from
 * the new value of every variable over elementwise operations and changes of shape; where it meets
 * another local operation (a product, a sum over examples, a loop) it has found a leaf. A leaf that
 * is computed from other leaves alone, such as the norm of all gradients, belongs to the optimizer.
 * Cost: linear in the instructions of the entry computation, once per leaf that is moved. */
#include "tf/parallel/tf_gradient_leaves.h"

bool tf_is_replica_source(const hlo_instr_t *instr) {
  switch (instr->op) {
    case HLO_REPLICA_ID:
    case HLO_PARTITION_ID:
    case HLO_RNG:
    case HLO_INFEED:
    case HLO_RECV:
      return true;
    default:
      return false;
  }
}

/* Computations are few and shallow; loops of calls do not exist in HLO. */
static bool has_source(const hlo_computation_t *computation) {
  for (size_t i = 0; i < computation->instrs.count; i++) {
    const hlo_instr_t *instr = computation->instrs.data[i];
    if (tf_is_replica_source(instr)) return true;
    for (int k = 0; k < instr->called_count; k++)
      if (has_source(instr->called[k])) return true;
  }
  return false;
}

/* A collective gives all replicas the same. */
static bool is_reduced(const hlo_instr_t *instr) {
  const hlo_groups_t *groups = hlo_attr_groups(instr);
  bool of_all = instr->op == HLO_ALL_REDUCE || instr->op == HLO_ALL_GATHER;
  return of_all && (!groups || groups->groups.count <= 1);
}

void tf_mark_local(tf_parallel_t *p, int parameter_count, const bool *is_variable) {
  const hlo_computation_t *entry = p->module->entry;
  for (size_t i = 0; i < p->r.count; i++) {
    const hlo_instr_t *instr = entry->instrs.data[i];
    int64_t number = instr->op == HLO_PARAMETER ? hlo_parameter_number(instr) : -1;
    bool local = tf_is_replica_source(instr);
    if (number >= 0) local = number >= parameter_count || !is_variable[number];
    for (int k = 0; k < instr->operand_count; k++) local |= p->r.local[instr->operands[k]->id];
    for (int k = 0; k < instr->called_count; k++) local |= has_source(instr->called[k]);
    p->r.local[i] = local && !is_reduced(instr);
  }
}

bool tf_is_shape_change(hlo_opcode_t op) {
  switch (op) {
    case HLO_RESHAPE:
    case HLO_TRANSPOSE:
    case HLO_BROADCAST:
    case HLO_CONVERT:
    case HLO_SLICE:
    case HLO_PAD:
    case HLO_COPY:
    case HLO_REVERSE:
    case HLO_CONCATENATE:
      return true;
    default:
      return false;
  }
}

static bool is_elementwise(hlo_opcode_t op) {
  return hlo_op_is(op, OP_ELEMENTWISE) && !hlo_op_is(op, OP_RANDOM);
}

hr_status_t tf_find_leaves(tf_parallel_t *p, expr_t from) {
  expr_t *stack;
  size_t height = 0;
  HR_TRY(HR_NEW_ARRAY(p->r.arena, p->r.count + 1, &stack));
  if (!p->r.local[from->id] || p->r.region[from->id] || p->r.leaf[from->id]) return NULL;
  stack[height++] = from;
  while (height) {
    expr_t instr = stack[--height];
    if (p->r.region[instr->id] || p->r.leaf[instr->id]) continue;
    bool passes = is_elementwise(instr->op) || tf_is_shape_change(instr->op);
    int count = passes ? instr->operand_count : tf_is_row_sum(instr);
    p->r.region[instr->id] = passes;
    p->r.leaf[instr->id] = !passes;
    for (int k = 0; k < count; k++) {
      expr_t operand = instr->operands[k];
      bool seen = p->r.region[operand->id] || p->r.leaf[operand->id];
      if (p->r.local[operand->id] && !seen && height < p->r.count) stack[height++] = operand;
    }
  }
  return NULL;
}

/* Whether all local values that a leaf is computed from come through other leaves. */
static hr_status_t is_covered(tf_parallel_t *p, expr_t leaf, bool *out_covered) {
  expr_t *stack;
  bool *seen;
  size_t height = 0;
  HR_TRY(HR_NEW_ARRAY(p->r.arena, p->r.count + 1, &stack));
  HR_TRY(HR_NEW_ARRAY(p->r.arena, p->r.count, &seen));
  *out_covered = leaf->op == HLO_REDUCE || leaf->op == HLO_DOT;
  stack[height++] = leaf;
  while (height && *out_covered) {
    expr_t instr = stack[--height];
    if (tf_is_replica_source(instr) || instr->op == HLO_PARAMETER || instr->called_count > 1)
      *out_covered = false;
    for (int k = 0; k < instr->operand_count; k++) {
      expr_t operand = instr->operands[k];
      if (!p->r.local[operand->id] || seen[operand->id]) continue;
      seen[operand->id] = true;
      p->r.leaf[operand->id] |= tf_is_sum_of_squares(&p->r, operand);
      if (!p->r.leaf[operand->id] && height < p->r.count) stack[height++] = operand;
    }
  }
  return NULL;
}

hr_status_t tf_move_covered_leaves(tf_parallel_t *p) {
  const hlo_computation_t *entry = p->module->entry;
  bool moved = true;
  for (int round = 0; moved && round < 8; round++) {
    moved = false;
    for (size_t i = 0; i < p->r.count; i++) {
      bool covered = false;
      expr_t leaf = entry->instrs.data[i];
      if (p->r.leaf[i]) HR_TRY(is_covered(p, leaf, &covered));
      if (!covered) continue;
      moved = true;
      p->r.leaf[i] = false;
      p->r.region[i] = true;
      for (int k = 0; k < leaf->operand_count; k++) HR_TRY(tf_find_leaves(p, leaf->operands[k]));
    }
  }
  return NULL;
}

/* Instructions between other leaves and the updates of a sum of rows are built again, too. */
static hr_status_t find_scaled(tf_parallel_t *p, expr_t sum) {
  const hlo_computation_t *entry = p->module->entry;
  bool *depends, *needed;
  HR_TRY(HR_NEW_ARRAY(p->r.arena, p->r.count, &depends));
  HR_TRY(HR_NEW_ARRAY(p->r.arena, p->r.count, &needed));
  for (size_t i = 0; i < sum->id; i++) {
    const hlo_instr_t *instr = entry->instrs.data[i];
    depends[i] = p->r.leaf[i];
    for (int k = 0; k < instr->operand_count; k++) depends[i] |= depends[instr->operands[k]->id];
  }
  needed[sum->operands[1]->id] = needed[sum->operands[2]->id] = true;
  for (size_t i = sum->id; i-- > 0;) {
    const hlo_instr_t *instr = entry->instrs.data[i];
    if (!needed[i] || !depends[i] || p->r.leaf[i]) continue;
    p->r.region[i] = true;
    for (int k = 0; k < instr->operand_count; k++) needed[instr->operands[k]->id] = true;
  }
  return NULL;
}

hr_status_t tf_find_scaled_rows(tf_parallel_t *p) {
  const hlo_computation_t *entry = p->module->entry;
  for (size_t i = 0; i < p->r.count; i++)
    if (p->r.leaf[i] && tf_is_row_sum(entry->instrs.data[i]))
      HR_TRY(find_scaled(p, entry->instrs.data[i]));
  for (size_t i = 0; i < p->r.count; i++)
    if (p->r.leaf[i] && entry->instrs.data[i]->op == HLO_SCATTER)
      HR_TRY(tf_check_rows(&p->r, entry->instrs.data[i], &p->bad[i]));
  return NULL;
}

/* Whether `from` is computed from `what`. */
static hr_status_t depends_on(const tf_parallel_t *p, expr_t from, expr_t what, bool *out_depends) {
  expr_t *stack;
  bool *seen;
  size_t height = 0;
  HR_TRY(HR_NEW_ARRAY(p->r.arena, p->r.count, &stack));
  HR_TRY(HR_NEW_ARRAY(p->r.arena, p->r.count, &seen));
  stack[height++] = from;
  while (height) {
    expr_t instr = stack[--height];
    for (int k = 0; k < instr->operand_count; k++) {
      expr_t operand = instr->operands[k];
      if (!seen[operand->id]) stack[height++] = operand;
      seen[operand->id] = true;
    }
  }
  *out_depends = seen[what->id];
  return NULL;
}

hr_status_t tf_scales_by_norm(const tf_parallel_t *p, const hlo_instr_t *leaf, bool *out_scales) {
  expr_t at = tf_is_row_sum(leaf) ? tf_without_reshape(leaf->operands[2]) : NULL;
  *out_scales = false;
  while (at && !*out_scales && is_elementwise(at->op)) {
    expr_t next = at->operands[0];
    for (int k = 0; k < 2 && at->operand_count == 2; k++) {
      expr_t scale = at->operands[k], rows = at->operands[1 - k];
      if (scale->op != HLO_BROADCAST || scale->operands[0]->shape->rank) continue;
      next = rows;
      if (p->r.local[scale->id]) HR_TRY(depends_on(p, scale, rows, out_scales));
    }
    at = tf_without_reshape(next);
  }
  return NULL;
}
