/* Preparation of a function for the x86-64 back end: order of blocks, legalisation, CSE and LICM,
 * sinking, and operand folding.
 *
 * Folding decides which instructions become part of their users and get no register: addresses in
 * a memory operand, comparisons in the flags or a mask, loads as the last operand of one vector
 * instruction, shifts in a rotation. A load is folded only if nothing writes memory between it
 * and its user. A folded address must be usable by all of its users, else it is unfolded again.
 * Finally every instruction gets its position, in steps of two: reads at 2i, writes at 2i + 1. All
 * parts of a call's result are written at once. */
#include "jit/x64/x64_code.h"

/* --- folding into users ----------------------------------------------------------------------- */

static bool is_address(const kir_value_t *value) { return value->op == KIR_GEP; }

static bool is_constant_offset(const kir_value_t *index) {
  return kir_is_constant(index) && index->type->lanes == 1;
}

static bool has_dynamic_index(const kir_value_t *gep) {
  if (!is_constant_offset(gep->args[1])) return true;
  return is_address(gep->args[0]) && has_dynamic_index(gep->args[0]);
}

static bool fits_operand(const kir_value_t *gep) {
  const kir_value_t *index = gep->args[1];
  int size = gep->detail;
  if (is_constant_offset(index)) {
    int64_t distance = kir_sign_extend(index->lanes[0], index->type->bits) * size;
    return distance > -(1 << 30) && distance < 1 << 30;
  }
  bool is_scale = size == 1 || size == 2 || size == 4 || size == 8;
  return is_scale && (index->type->bits == 64 || index->type->lanes > 1);
}

static bool is_vector_of_addresses(const kir_value_t *gep) { return gep->args[1]->type->lanes > 1; }

/* Can the instruction use the address as its argument k? In another block, folding would extend the
 * live ranges of the address's operands. Vectors of addresses are folded only into gathers and
 * scatters. */
static bool accepts_address(const kir_value_t *user, int k, const kir_value_t *gep) {
  bool is_near =
      !has_dynamic_index(gep) || user->block == gep->block || is_vector_of_addresses(gep);
  switch (user->op) {
    case KIR_LOAD:
    case KIR_GATHER:
    case KIR_PREFETCH:
    case KIR_MASKED_LOAD:
      return k == 0 && is_near;
    case KIR_STORE:
    case KIR_SCATTER:
    case KIR_MASKED_STORE:
      return k == 1 && is_near;
    case KIR_GEP:
      return k == 0 && is_near && (is_constant_offset(user->args[1]) || !has_dynamic_index(gep));
    default:
      return false;
  }
}

/* Is the comparison next to its only user, so that its result can stay in the flags? */
static bool is_fused_condition(const x64_code_t *code, const kir_value_t *compare) {
  const kir_value_t *user = code->uses[compare->id].user;
  if (code->uses[compare->id].count != 1 || user->block != compare->block ||
      user->args[0] != compare)
    return false;
  if (user->op == KIR_SELECT && x64_is_min_max(user)) return true;
  if (compare->type->kind == KIR_TYPE_VECTOR)
    return !code->isa->has_evex && user->op == KIR_SELECT && x64_compares_inverted(compare) &&
           user->args[1] != compare && user->args[2] != compare;
  unsigned least_lanes = code->isa->has_evex ? 8 : 1;
  if (compare->op == KIR_REDUCE_OR &&
      (compare->args[0]->type->lanes < least_lanes || user->op != KIR_CONDBR))
    return false;
  return user->op == KIR_CONDBR ||
         (user->op == KIR_SELECT && user->args[1] != compare && user->args[2] != compare);
}

static bool writes_memory(const kir_value_t *instr) {
  return instr->op == KIR_STORE || instr->op == KIR_MASKED_STORE || instr->op == KIR_SCATTER ||
         instr->op == KIR_CALL;
}

/* Is the loaded value only the last operand of one instruction, with no write to memory between? */
static bool is_memory_operand(const x64_code_t *code, const kir_value_t *load) {
  const kir_value_t *user = code->uses[load->id].user, *between = load->next;
  if (code->uses[load->id].count != 1 || user->block != load->block || user->op < KIR_ADD ||
      user->op > KIR_FDIV)
    return false;
  if (load->type->kind != KIR_TYPE_VECTOR || kir_width(load->type) < 128 || kir_is_i1(user->type))
    return false;
  bool is_last = user->args[1] == load || kir_op_flags[user->op] & KIR_COMMUTES,
       is_division = user->op >= KIR_UDIV && user->op <= KIR_SREM;
  const kir_value_t *other = user->args[user->args[1] == load ? 0 : 1];
  if (!is_last || is_division || kir_is_constant(other) ||
      (other->op == KIR_LOAD && x64_node(code, other)->is_folded))
    return false;
  while (between != user && !writes_memory(between)) between = between->next;
  return between == user;
}

/* Is the loaded value only widened? Load and extension are then one instruction. */
static bool is_extending_load(const x64_code_t *code, const kir_value_t *load) {
  const kir_value_t *user = code->uses[load->id].user, *between = load->next;
  bool widens = code->uses[load->id].count == 1 && user->block == load->block &&
                (user->op == KIR_ZEXT || user->op == KIR_SEXT);
  if (!widens || x64_class_of(user->type) != X64_VECTOR || kir_width(user->type) < 128)
    return false;
  while (between != user && !writes_memory(between)) between = between->next;
  return between == user;
}

static kir_value_t *only_user(const x64_code_t *code, const kir_value_t *instr) {
  const kir_use_t *use = &code->uses[instr->id];
  return use->count == 1 ? use->user : NULL;
}

static bool are_near(const kir_value_t *constant, int size) {
  for (unsigned i = 0; i < constant->type->lanes; i++) {
    int64_t lane = kir_sign_extend(constant->lanes[i], constant->type->bits);
    if (lane < -(1 << 20) || lane > 1 << 20) return false;
  }
  return size <= 8;
}

/* Is the sum the index of one gather only, in the form scalar + constant? It is then part of the
 * gather's addresses. */
static bool is_sum_in_gather(const x64_code_t *code, const kir_value_t *sum) {
  const kir_value_t *gep = only_user(code, sum), *gather = gep ? only_user(code, gep) : NULL;
  return gather && gep->op == KIR_GEP && gep->args[1] == sum && gather->op == KIR_GATHER &&
         x64_number_of_indices(sum) && fits_operand(gep) && are_near(sum->args[1], gep->detail) &&
         x64_gathers_by_lane(gather->type, gep, gather->args[2]);
}

/* The scalar itself is read, so its splat is folded, too, if it has no other use. */
static void fold_sum(x64_code_t *code, const kir_value_t *sum) {
  const kir_value_t *splat = sum->args[0];
  x64_node(code, sum)->is_folded = true;
  if (!only_user(code, splat)) return;
  x64_node(code, splat)->is_folded = true;
  if (only_user(code, splat->args[0])) x64_node(code, splat->args[0])->is_folded = true;
}

/* Is the sum of a number and a constant only the index of one address? The constant is then part of
 * its displacement. */
static bool is_sum_in_address(const x64_code_t *code, const kir_value_t *sum) {
  const kir_value_t *gep = only_user(code, sum);
  return gep && gep->op == KIR_GEP && gep->args[1] == sum && gep->block == sum->block &&
         sum->type->lanes == 1 && sum->type->bits == 64 && kir_is_constant(sum->args[1]) &&
         !kir_is_constant(sum->args[0]) && fits_operand(gep) && are_near(sum->args[1], gep->detail);
}

/* Is the scaling only chosen or else zero? Its mask then has the choice. */
static bool is_masked_scaling(const x64_code_t *code, const kir_value_t *select) {
  const kir_value_t *scaling = select->op == KIR_SELECT ? select->args[1] : NULL;
  return scaling && code->isa->has_evex && x64_is_scaling(scaling) &&
         only_user(code, scaling) == select && scaling->block == select->block &&
         kir_is_constant(select->args[2]) && kir_is_splat(select->args[2]) &&
         !select->args[2]->lanes[0];
}

static void fold_into_users(x64_code_t *code, const kir_value_t *instr) {
  bool *is_folded = &x64_node(code, instr)->is_folded;
  if (x64_is_rotate(code, instr))
    for (int k = 0; k < 2; k++) x64_node(code, instr->args[k])->is_folded = true;
  if (is_masked_scaling(code, instr)) x64_node(code, instr->args[1])->is_folded = true;
  if (instr->op == KIR_LOAD)
    *is_folded = is_memory_operand(code, instr) || is_extending_load(code, instr);
  if (instr->op == KIR_GEP) *is_folded = fits_operand(instr);
  if (instr->op == KIR_ADD && is_sum_in_gather(code, instr)) fold_sum(code, instr);
  if (instr->op == KIR_ADD && is_sum_in_address(code, instr)) *is_folded = true;
  if (instr->op == KIR_ICMP || instr->op == KIR_FCMP || instr->op == KIR_REDUCE_OR)
    *is_folded = is_fused_condition(code, instr);
}

static void unfold_addresses(x64_code_t *code, const kir_value_t *user) {
  for (int k = 0; k < user->arg_count; k++)
    if (is_address(user->args[k]) && !accepts_address(user, k, user->args[k])) {
      const kir_value_t *index = user->args[k]->args[1];
      x64_node(code, user->args[k])->is_folded = false;
      if (index->op == KIR_ADD && index->type->lanes == 1) x64_node(code, index)->is_folded = false;
    }
}

/* --- positions -------------------------------------------------------------------------------- */

static void number_block(x64_code_t *code, const kir_block_t *block, int *position) {
  block_range_t *range = &code->ranges[block->index];
  range->from = *position;
  *position += 2;
  for (const kir_value_t *instr = block->first; instr; instr = instr->next) {
    x64_node_t *node = x64_node(code, instr);
    node->interval = X86_NONE;
    if (node->is_folded) continue;
    if (kir_has_result(instr)) node->interval = code->interval_count++;
    if (instr->op != KIR_PHI && instr->op != KIR_RESULT) *position += 2;
    node->position = *position - 2;
  }
  range->to = *position;
}

static hr_status_t number_values(x64_code_t *code) {
  int position = 2;
  HR_TRY(HR_NEW_ARRAY(code->arena, code->cfg.block_count + 1, &code->ranges));
  for (int k = 0; k < code->function->param_count; k++)
    x64_node(code, &code->function->params[k])->interval = code->interval_count++;
  for (int b = 0; b < code->cfg.block_count; b++) number_block(code, code->cfg.order[b], &position);
  return NULL;
}

/* --- the phase -------------------------------------------------------------------------------- */

static void fold(x64_code_t *code) {
  for (int b = 0; b < code->cfg.block_count; b++)
    for (kir_value_t *instr = code->cfg.order[b]->first; instr; instr = instr->next)
      fold_into_users(code, instr);
  for (int b = 0; b < code->cfg.block_count; b++)
    for (kir_value_t *instr = code->cfg.order[b]->first; instr; instr = instr->next)
      unfold_addresses(code, instr);
}

static int class_number(const kir_type_t *type) { return (int)x64_class_of(type); }

/* Most hoisted values that loops keep in registers besides their own. */
#define HOISTED_GPRS_MAX 16
#define HOISTED_MASKS_MAX 5

hr_status_t x64_prepare(x64_code_t *code) {
  const int hoisted_max[X64_CLASS_COUNT] = {HOISTED_GPRS_MAX, code->isa->hoisted_max,
                                            HOISTED_MASKS_MAX};
  const kir_register_classes_t classes = {
      .class_of = class_number, .hoisted_max = hoisted_max, .sunk_class = X64_GPR};
  HR_TRY(kir_cfg_find(code->arena, code->function, &code->cfg));
  HR_TRY(HR_NEW_ARRAY(code->arena, code->cfg.block_count + 1, &code->labels));
  if (code->cfg.is_malformed) code->unsupported = "a block without a terminator";
  if (!code->unsupported && !code->isa->has_evex) HR_TRY(x64_remove_masks(code));
  if (!code->unsupported) HR_TRY(x64_legalize(code));
  if (code->unsupported) return NULL;
  HR_TRY(kir_cse_licm(&code->cfg, &classes));
  HR_TRY(kir_find_uses(&code->cfg, &code->uses));
  HR_TRY(kir_sink(&code->cfg, &classes, code->uses));
  if (!code->isa->has_evex) HR_TRY(x64_schedule(code));
  HR_TRY(HR_NEW_ARRAY(code->arena, code->function->value_count + 1, &code->nodes));
  fold(code);
  return number_values(code);
}

void x64_each_operand(x64_code_t *code, kir_value_t *instr, x64_operand_fn each, void *context) {
  if (instr->op == KIR_PHI || instr->op == KIR_RESULT) return;
  for (int k = 0; k < instr->arg_count; k++) {
    kir_value_t *read = instr->args[k];
    bool is_sum = x64_node(code, read)->is_folded && read->op == KIR_ADD;
    if (is_sum) read = read->type->lanes > 1 ? x64_number_of_indices(read) : read->args[0];
    if (kir_is_constant(read) || read->op == KIR_FUNCTION) continue;
    if (x64_node(code, read)->is_folded)
      x64_each_operand(code, read, each, context);
    else
      each(code, read, context);
  }
}
