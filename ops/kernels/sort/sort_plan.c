/* Planning of the native sort: recognition of the comparator's keys (sort_keys_recognise), their
 * encodings, packing of keys into radix items, and the division of lines among the workers.
 *
 *   RADIX_KEY_32/64   only a key; one operand, decoded from it
 *   RADIX_INDEXED     key of up to 32 bits above a 32-bit index
 *   RADIX_PAIR        64-bit key and index; several groups of keys, if they exceed 64 bits */
#include "ops/kernels/sort/sort_plan.h"

#include <string.h>

#include "base/arith.h"
#include "base/mem.h"
#include "ops/kernels/sort/sort_network.h"

enum {
  LONG_LINE = 1 << 15,     /* elements from which all workers share a line */
  BLOCK_LINES = 16,        /* adjacent lines copied together: a cache line of f32 */
  BLOCK_ELEMENTS = 1 << 20 /* approximate elements per block of lines */
};

/* --- key expressions -------------------------------------------------------------------- */

static bool is_parameter(const hlo_instr_t *instr, int *out_operand) {
  if (instr->op != HLO_PARAMETER) return false;
  *out_operand = (int)hlo_parameter_number(instr) / 2;
  return true;
}

static uint64_t constant_bits(const hlo_instr_t *instr) {
  uint64_t bits = 0;
  memcpy(&bits, instr->literal->data, hr_dtype_bytes(instr->shape->dtype));
  return bits;
}

static bool is_scalar_constant(const hlo_instr_t *instr) {
  return instr->op == HLO_CONSTANT && instr->literal && instr->literal->count == 1;
}

/* Matches select(compare(x, y), constant, rest) for the parameter x of `operand`; y is x itself if
 * `itself`, else zero. */
static bool matches_choice(const hlo_instr_t *select, int direction, bool itself, int operand,
                           const hlo_instr_t **out_constant, const hlo_instr_t **out_rest) {
  int compared;
  if (select->op != HLO_SELECT || !is_scalar_constant(select->operands[1])) return false;
  const hlo_instr_t *compare = select->operands[0];
  if (compare->op != HLO_COMPARE || hlo_attr_enum(compare, HLO_ATTR_DIRECTION) != direction)
    return false;
  int order = hlo_attr_enum(compare, HLO_ATTR_TYPE);
  if (order == HLO_COMPARISON_TOTALORDER || order == HLO_COMPARISON_WEAKORDER) return false;
  if (!is_parameter(compare->operands[0], &compared) || compared != operand) return false;
  const hlo_instr_t *other = compare->operands[1];
  if (itself ? other != compare->operands[0]
             : !is_scalar_constant(other) || constant_bits(other) != 0)
    return false;
  *out_constant = select->operands[1];
  *out_rest = select->operands[2];
  return true;
}

/* Matches x with all NaNs replaced by one and -0 by +0, as in JAX:
 *   select(x != x, nan, select(x == 0, 0, x)) */
static bool is_canonical(const hlo_instr_t *key, int *out_operand, uint64_t *out_nan) {
  const hlo_instr_t *nan, *zero, *rest;
  if (key->op != HLO_SELECT || key->operands[0]->op != HLO_COMPARE) return false;
  if (!is_parameter(key->operands[0]->operands[0], out_operand)) return false;
  if (!matches_choice(key, HLO_DIRECTION_NE, true, *out_operand, &nan, &rest)) return false;
  if (!matches_choice(rest, HLO_DIRECTION_EQ, false, *out_operand, &zero, &rest)) return false;
  int operand;
  *out_nan = constant_bits(nan);
  return constant_bits(zero) == 0 && is_parameter(rest, &operand) && operand == *out_operand;
}

static bool has_ieee_nans(hr_dtype_t dtype) {
  return dtype == HR_F16 || dtype == HR_BF16 || dtype == HR_F32 || dtype == HR_F64;
}

/* *out_possible is false if the key needs calls of its body. */
static hr_status_t plan_key(hr_arena_t *arena, const sort_key_t *key, sort_line_key_t *to,
                            bool *out_possible) {
  sort_nans_t nans = key->total ? SORT_NANS_ORDERED : SORT_NANS_LAST;
  bool zeros_tie = !key->total;
  uint64_t nan = 0;
  *out_possible = true;
  if (is_parameter(key->expression, &to->operand)) {
    to->body = NULL;
  } else if (has_ieee_nans(key->dtype) && is_canonical(key->expression, &to->operand, &nan)) {
    if (key->total) nans = SORT_NANS_AS_ONE;
    zeros_tie = true;
  } else {
    to->operand = -1;
    to->body = key->body;
    to->key_bytes = (int)hr_dtype_bytes(key->dtype);
    *out_possible = op_body_is_flat(key->body);
  }
  return sort_encoding_init(arena, key->dtype, key->descending, nans, zeros_tie, nan,
                            &to->encoding);
}

/* --- kinds of items --------------------------------------------------------------------------- */

/* Packs consecutive keys into groups of at most 64 bits. */
static void pack_keys(native_sort_plan_t *plan) {
  int bits = 0;
  plan->group_count = 0;
  for (int k = 0; k < plan->key_count; k++) {
    int more = plan->keys[k].encoding.bits;
    if (plan->group_count == 0 || bits + more > 64) {
      plan->groups[plan->group_count++] = (sort_group_t){k, 0};
      bits = 0;
    }
    plan->groups[plan->group_count - 1].count++;
    bits += more;
  }
  plan->kind = plan->group_count == 1 && bits <= 32 ? RADIX_INDEXED : RADIX_PAIR;
}

static void plan_items(native_sort_plan_t *plan) {
  const sort_encoding_t *encoding = &plan->keys[0].encoding;
  pack_keys(plan);
  plan->decodes = plan->operands == 1 && plan->key_count == 1 && plan->keys[0].operand == 0 &&
                  !encoding->table && (plan->stable || !encoding->ties);
  if (plan->decodes) plan->kind = encoding->bits <= 32 ? RADIX_KEY_32 : RADIX_KEY_64;
}

static size_t reserve_scratch(native_sort_plan_t *plan, size_t bytes) {
  size_t at = plan->worker_bytes;
  plan->worker_bytes += (bytes + HR_ALIGNMENT - 1) / HR_ALIGNMENT * HR_ALIGNMENT;
  return at;
}

/* Several short lines are sorted at once if their order is that of their items: keys only, or keys
 * above different indices. */
static void plan_network(native_sort_plan_t *plan) {
  int64_t lanes = SORT_NETWORK_BYTES / (int64_t)radix_item_bytes(plan->kind);
  bool has_order = plan->kind != RADIX_PAIR && (plan->stable || plan->decodes);
  plan->together = 1;
  if (!has_order || plan->count < 2 || plan->count > SORT_NETWORK_MOST) return;
  if (plan->inner == 1) plan->block = hr_min(lanes, plan->outer);
  if (plan->block > 1) plan->together = hr_min(lanes, plan->block);
}

/* Scratch of one worker: two arrays of items between which radix passes alternate, of which the
 * second has the lanes of a network, one operand's line during its permutation if its elements are
 * larger than items, and copies of `block` lines of all operands if lines are not contiguous. */
static void plan_sort_scratch(native_sort_plan_t *plan) {
  size_t count = (size_t)(plan->together * plan->count), item_bytes = radix_item_bytes(plan->kind);
  size_t line_bytes = 0, most = 0;
  for (int k = 0; k < plan->operands; k++) {
    line_bytes += ((size_t)(plan->block * plan->count * plan->bytes[k]) + HR_ALIGNMENT) /
                  HR_ALIGNMENT * HR_ALIGNMENT;
    if ((size_t)plan->bytes[k] > most) most = (size_t)plan->bytes[k];
  }
  plan->items = reserve_scratch(plan, count * item_bytes);
  plan->spare = reserve_scratch(
      plan, plan->together > 1 ? (size_t)plan->count * SORT_NETWORK_BYTES : count * item_bytes);
  plan->has_temporary = most > item_bytes;
  plan->temporary = reserve_scratch(plan, plan->has_temporary ? count * most : 0);
  plan->group_keys = reserve_scratch(plan, plan->group_count > 1 ? count * sizeof(uint64_t) : 0);
  plan->ties =
      reserve_scratch(plan, plan->stable || plan->decodes ? 0 : 2 * count * sizeof(sort_item_t));
  plan->radix = reserve_scratch(plan, plan->shared_line ? radix_long_scratch_bytes(plan->workers)
                                                        : radix_scratch_bytes(plan->count));
  plan->lines = reserve_scratch(plan, plan->inner > 1 ? line_bytes : 0);
}

/* --- sizes ------------------------------------------------------------------------------------ */

/* The array is outer x count x inner, with lines along count. Lines with stride inner are copied in
 * blocks of up to BLOCK_LINES neighbours, so that whole cache lines are used. */
static hr_status_t plan_lines(const op_native_target_t *target, const op_step_t *step,
                              native_sort_plan_t *plan) {
  const hlo_shape_t *shape = step->in_shapes[0];
  int64_t d = hlo_attr_ints(step->instr, HLO_ATTR_DIMENSIONS).data[0], *bytes;
  plan->operands = step->instr->operand_count;
  HR_TRY(HR_NEW_ARRAY(target->arena, plan->operands, &bytes));
  for (int k = 0; k < plan->operands; k++)
    bytes[k] = (int64_t)hr_dtype_bytes(step->in_shapes[k]->dtype);
  plan->bytes = bytes;
  plan->count = shape->dims[d];
  plan->inner = 1;
  plan->outer = 1;
  for (int i = 0; i < shape->rank; i++)
    if (i < d)
      plan->outer *= shape->dims[i];
    else if (i > d)
      plan->inner *= shape->dims[i];
  plan->workers = target->workers;
  plan->shared_line =
      plan->workers > 1 && plan->count >= LONG_LINE && plan->inner * plan->outer < plan->workers;
  plan->block = plan->inner > 1 && plan->count ? BLOCK_ELEMENTS / plan->count + 1 : 1;
  if (plan->block > BLOCK_LINES) plan->block = BLOCK_LINES;
  if (plan->block > plan->inner) plan->block = plan->inner ? plan->inner : 1;
  return NULL;
}

/* *out_plan is NULL if the comparator is not recognised, and for unstable sorts by several groups
 * of keys, which the tie handling does not cover. */
hr_status_t sort_plan_make(const op_native_target_t *target, const op_step_t *step,
                           const native_sort_plan_t **out_plan) {
  native_sort_plan_t *plan;
  sort_keys_t keys;
  bool possible;
  *out_plan = NULL;
  if (step->in_shapes[0]->rank == 0) return NULL;
  HR_TRY(sort_keys_recognise(target->arena, step->instr->called[0], &keys, &possible));
  if (!possible) return NULL;
  HR_TRY(HR_NEW(target->arena, &plan));
  HR_TRY(plan_lines(target, step, plan));
  plan->stable = hlo_attr_bool(step->instr, HLO_ATTR_IS_STABLE);
  plan->key_count = keys.count;
  for (int k = 0; k < keys.count && possible; k++)
    HR_TRY(plan_key(target->arena, &keys.keys[k], &plan->keys[k], &possible));
  if (!possible || plan->count > RADIX_MAX_COUNT) return NULL;
  plan_items(plan);
  if (!plan->stable && plan->group_count > 1) return NULL;
  plan_network(plan);
  plan_sort_scratch(plan);
  *out_plan = plan;
  return NULL;
}
