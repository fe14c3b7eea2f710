#include "jit/own_code.h"

/* --- what is wanted ---------------------------------------------------------------------------------------------- */

static void want(own_value_t *value) {
  if (value->is_wanted || own_is_constant(value)) return;
  value->is_wanted = true;
  for (int k = 0; k < value->arg_count; k++) want(value->args[k]);
}

static void count_uses(own_value_t *instr) {
  for (int k = 0; k < instr->arg_count; k++) instr->args[k]->uses++, instr->args[k]->user = instr;
}

static void find_wanted(own_function_t *function) {
  for (own_block_t *block = function->first; block; block = block->next)
    for (own_value_t *instr = block->first; instr; instr = instr->after)
      if (!(own_op_flags[instr->op] & OWN_PURE)) want(instr);
  for (own_block_t *block = function->first; block; block = block->next)
    for (own_value_t *instr = block->first; instr; instr = instr->after)
      if (instr->is_wanted) count_uses(instr);
}

/* --- blocks ------------------------------------------------------------------------------------------------------ */

/* From the last to the first, so that each comes before what it leads to, and a loop's body before what follows it. */
static void visit(own_code_t *code, own_block_t *block, int *next) {
  if (block->index) return;
  block->index = -1;
  const own_value_t *last = block->last;
  if (last && last->op == OWN_CONDBR) visit(code, last->blocks[1], next);
  if (last && last->op != OWN_RET && last->blocks) visit(code, last->blocks[0], next);
  code->order[--*next] = block;
}

static void set_depths(own_code_t *code) {
  for (int b = 0; b < code->block_count; b++) {
    const own_value_t *last = code->order[b]->last;
    for (int k = 0; k < (last->op == OWN_CONDBR ? 2 : last->op == OWN_BR); k++)
      for (int i = last->blocks[k]->index; i <= b; i++) code->order[i]->depth++;
  }
}

static hr_status_t order_blocks(own_code_t *code) {
  int count = 0;
  for (own_block_t *block = code->function->first; block; block = block->next) count++;
  HR_TRY(HR_NEW_ARRAY(code->arena, count + 1, &code->order));
  HR_TRY(HR_NEW_ARRAY(code->arena, count + 1, &code->labels));
  int next = count;
  visit(code, code->function->first, &next);
  code->order += next, code->block_count = count - next;
  for (int b = 0; b < code->block_count; b++) {
    const own_value_t *last = code->order[b]->last;
    code->order[b]->index = b;
    if (!last || !(own_op_flags[last->op] & OWN_ENDS)) code->lacks = "a block without an end";
  }
  if (!code->lacks) set_depths(code);
  return NULL;
}

/* --- what becomes a part of its users ---------------------------------------------------------------------------- */

static bool is_address(const own_value_t *value) { return value->op == OWN_GEP; }

static bool is_distance(const own_value_t *index) { return own_is_constant(index) && index->type->lanes == 1; }

static bool has_index(const own_value_t *gep) {
  if (!is_distance(gep->args[1])) return true;
  return is_address(gep->args[0]) && has_index(gep->args[0]);
}

static bool fits_operand(const own_value_t *gep) {
  const own_value_t *index = gep->args[1];
  int size = gep->predicate;
  if (is_distance(index)) {
    int64_t distance = own_signed(index->lanes[0], index->type->bits) * size;
    return distance > -(1 << 30) && distance < 1 << 30;
  }
  bool is_scale = size == 1 || size == 2 || size == 4 || size == 8;
  return is_scale && (index->type->bits == 64 || index->type->lanes > 1);
}

/* May the address be computed by the instruction that has it as argument k? */
static bool takes_address(const own_value_t *user, int k, const own_value_t *gep) {
  bool is_near = !has_index(gep) || user->block == gep->block;
  switch (user->op) {
    case OWN_LOAD:
    case OWN_GATHER:
    case OWN_PREFETCH:
    case OWN_MASKED_LOAD: return k == 0 && is_near;
    case OWN_STORE:
    case OWN_SCATTER:
    case OWN_MASKED_STORE: return k == 1 && is_near;
    case OWN_GEP: return k == 0 && is_near && (is_distance(user->args[1]) || !has_index(gep));
    default: return false;
  }
}

/* Is a comparison computed where it decides, so that it stays in the flags? */
static bool decides_alone(const own_value_t *compare) {
  const own_value_t *user = compare->user;
  if (compare->uses != 1 || user->block != compare->block || user->args[0] != compare) return false;
  if (user->op == OWN_SELECT && own_is_extreme(user)) return true;
  if (compare->type->kind == LLVMVectorTypeKind) return false;
  if (compare->op == OWN_REDUCE_OR && (compare->args[0]->type->lanes < 8 || user->op != OWN_CONDBR)) return false;
  return user->op == OWN_CONDBR || (user->op == OWN_SELECT && user->args[1] != compare && user->args[2] != compare);
}

static bool changes_memory(const own_value_t *instr) {
  return instr->op == OWN_STORE || instr->op == OWN_MASKED_STORE || instr->op == OWN_SCATTER || instr->op == OWN_CALL;
}

/* Is what is loaded the last operand of one instruction alone, before memory changes? */
static bool is_operand(const own_value_t *load) {
  const own_value_t *user = load->user, *between = load->after;
  if (load->uses != 1 || user->block != load->block || user->op < OWN_ADD || user->op > OWN_FDIV) return false;
  if (load->type->kind != LLVMVectorTypeKind || own_width(load->type) < 128 || own_is_truth(user->type)) return false;
  bool is_last = user->args[1] == load || own_op_flags[user->op] & OWN_COMMUTES,
       is_division = user->op >= OWN_UDIV && user->op <= OWN_SREM;
  const own_value_t *other = user->args[user->args[1] == load ? 0 : 1];
  if (!is_last || is_division || own_is_constant(other) || (other->op == OWN_LOAD && other->is_folded)) return false;
  while (between != user && !changes_memory(between)) between = between->after;
  return between == user;
}

/* A load that is widened is read as it is widened. */
static bool is_widened(const own_value_t *load) {
  const own_value_t *user = load->user, *between = load->after;
  bool widens = load->uses == 1 && user->block == load->block && (user->op == OWN_ZEXT || user->op == OWN_SEXT);
  if (!widens || own_class_of(user->type) != OWN_VECTORS || own_width(user->type) < 128) return false;
  while (between != user && !changes_memory(between)) between = between->after;
  return between == user;
}

static void fold_into_users(own_value_t *instr) {
  if (own_is_rotation(instr)) instr->args[0]->is_folded = instr->args[1]->is_folded = true;
  if (instr->op == OWN_LOAD) instr->is_folded = is_operand(instr) || is_widened(instr);
  if (instr->op == OWN_GEP) instr->is_folded = fits_operand(instr);
  if (instr->op == OWN_ICMP || instr->op == OWN_FCMP || instr->op == OWN_REDUCE_OR)
    instr->is_folded = decides_alone(instr);
}

static void refuse_addresses(own_value_t *user) {
  for (int k = 0; k < user->arg_count; k++)
    if (is_address(user->args[k]) && !takes_address(user, k, user->args[k])) user->args[k]->is_folded = false;
}

/* --- positions --------------------------------------------------------------------------------------------------- */

static void number_values(own_code_t *code) {
  int position = 2;
  for (int k = 0; k < code->function->param_count; k++) code->function->params[k].number = code->home_count++;
  for (int b = 0; b < code->block_count; b++) {
    own_block_t *block = code->order[b];
    block->from = position, position += 2;
    for (own_value_t *instr = block->first; instr; instr = instr->after) {
      instr->number = X86_NONE;
      if (!instr->is_wanted || instr->is_folded) continue;
      if (own_has_result(instr)) instr->number = code->home_count++;
      if (instr->op != OWN_PHI) position += 2;
      instr->position = position - 2;
    }
    block->to = position;
  }
}

hr_status_t own_order(own_code_t *code) {
  HR_TRY(order_blocks(code));
  if (!code->lacks) HR_TRY(own_split(code));
  if (!code->lacks) HR_TRY(own_common(code));
  if (code->lacks) return NULL;
  find_wanted(code->function);
  own_late(code);
  for (int b = 0; b < code->block_count; b++)
    for (own_value_t *instr = code->order[b]->first; instr; instr = instr->after)
      if (instr->is_wanted) fold_into_users(instr);
  for (int b = 0; b < code->block_count; b++)
    for (own_value_t *instr = code->order[b]->first; instr; instr = instr->after)
      if (instr->is_wanted) refuse_addresses(instr);
  number_values(code);
  return NULL;
}

void own_each_read(own_code_t *code, own_value_t *instr, own_read_fn each, void *context) {
  if (instr->op == OWN_PHI) return;
  for (int k = 0; k < instr->arg_count; k++) {
    own_value_t *read = instr->args[k];
    if (own_is_constant(read) || read->op == OWN_FUNCTION) continue;
    if (read->is_folded)
      own_each_read(code, read, each, context);
    else
      each(code, read, context);
  }
}
