/* Who uses what in a computation, and what users want. Uses are found from the end, so that uses by
 * dead instructions do not count: they would hide that a value has one user, or that nobody reads
 * all of it. */
#include "partition/lower/lower_ops.h"
#include "passes/lib/pass_rewrite.h"

/* Elements of a tuple that the instruction reads; those beyond the 64th count as read. */
static uint64_t wanted_by(const hlo_instr_t *instr) {
  int64_t index = instr->op == HLO_GET_TUPLE_ELEMENT ? hlo_attr_int(instr, HLO_ATTR_INDEX) : 64;
  return index < 64 ? UINT64_C(1) << index : UINT64_MAX;
}

static void count_operands(spmd_lower_t *lower, const hlo_instr_t *instr) {
  for (int k = 0; k < instr->operand_count; k++) {
    uint32_t id = instr->operands[k]->id;
    lower->uses[id]++;
    if (!lower->users[id]) lower->users[id] = instr;
    if (instr->op == HLO_SLICE) lower->sliced[id] += hlo_shape_elements(instr->shape);
  }
  if (instr->op == HLO_REDUCE_WINDOW) lower->scans[instr->operands[0]->id]++;
  spmd_note_sort_reads(lower, instr);
}

/* The root has an additional use, by the caller. */
static void count_uses(spmd_lower_t *lower) {
  lower->uses[lower->from->root->id]++;
  for (size_t i = lower->from->instrs.count; i-- > 0;) {
    const hlo_instr_t *instr = lower->from->instrs.data[i];
    if (lower->uses[instr->id] || !pass_is_pure(instr)) count_operands(lower, instr);
  }
}

/* Visits users first, so that elements that are read but not used do not count. */
static void find_wanted(spmd_lower_t *lower) {
  lower->wanted[lower->from->root->id] = UINT64_MAX;
  for (size_t i = lower->from->instrs.count; i-- > 0;) {
    const hlo_instr_t *instr = lower->from->instrs.data[i];
    bool is_idle = instr->op == HLO_GET_TUPLE_ELEMENT && !lower->wanted[instr->id];
    for (int k = 0; k < instr->operand_count && !is_idle; k++)
      lower->wanted[instr->operands[k]->id] |= wanted_by(instr);
  }
}

bool spmd_result_is_wanted(const spmd_lower_t *lower, const hlo_instr_t *instr, int r) {
  return !hlo_shape_is_tuple(instr->shape) || r >= 64 || lower->wanted[instr->id] >> r & 1;
}

void spmd_find_uses(spmd_lower_t *lower) {
  count_uses(lower);
  find_wanted(lower);
}

/* The instruction, or the last of the markers that alone use it: what follows takes the sharding of
 * that. */
static const hlo_instr_t *last_marker(const spmd_lower_t *lower, const hlo_instr_t *instr) {
  const hlo_instr_t *user = lower->users[instr->id];
  while (lower->uses[instr->id] == 1 && user && spmd_is_marker(user) &&
         hlo_shape_equal(user->shape, instr->shape)) {
    instr = user;
    user = lower->users[instr->id];
  }
  return instr;
}

/* A concatenation along d whose only user is a dynamic slice of at least half of it (a roll by a
 * dynamic amount) gets no axes along d, as the slice would gather it. */
const spmd_sharding_t *spmd_wanted_result(spmd_lower_t *lower, const hlo_instr_t *instr, int r) {
  const hlo_instr_t *user = lower->users[instr->id];
  const spmd_sharding_t *sought = lower->sought[instr->id];
  if (sought && lower->shared->strategy == SPMD_BATCH_EARLY) return sought;
  const spmd_sharding_t *preferred = spmd_preferred(lower, last_marker(lower, instr), r), *whole;
  if (instr->op != HLO_CONCATENATE || lower->uses[instr->id] != 1) return preferred;
  if (!user || user->op != HLO_DYNAMIC_SLICE) return preferred;
  int d = (int)hlo_attr_ints(instr, HLO_ATTR_DIMENSIONS).data[0];
  int64_t size = instr->shape->dims[d], taken = user->shape->dims[d];
  if (taken == size || 2 * taken < size) return preferred;
  hr_status_t st = spmd_sharding_with_dim(lower->arena, preferred, d, (spmd_axes_t){0}, &whole);
  return spmd_emit_failed(&lower->emit, st) ? preferred : whole;
}
