#include "jit/own_select.h"

#include "jit/own.h"

#define FRAME_ALIGNMENT 64
#define LOOP_ALIGNMENT 32
#define SAVED_MOST 5

/* What a caller finds as it left it. */
static const int saved[SAVED_MOST] = {X86_BX, 12, 13, 14, 15};

/* --- the frame --------------------------------------------------------------------------------------------------- */

static void place_rooms(own_code_t *code) {
  for (int b = 0; b < code->block_count; b++)
    for (own_value_t *instr = code->order[b]->first; instr; instr = instr->after) {
      if (instr->op != OWN_ALLOCA) continue;
      code->frame_bytes += (int64_t)(instr->lanes[0] + FRAME_ALIGNMENT - 1) / FRAME_ALIGNMENT * FRAME_ALIGNMENT;
      instr->lanes[0] = (uint64_t)code->frame_bytes;
    }
}

/* --- calls ------------------------------------------------------------------------------------------------------- */

/* Where the next argument is: general registers and vectors have an order each. */
typedef struct arguments {
  int general, vectors;
} arguments_t;

static int next_argument(own_code_t *code, arguments_t *so_far, const own_type_t *type) {
  static const int general[] = {X86_DI, X86_SI, X86_DX, X86_CX, X86_R8, 9};
  own_class_t kind = own_class_of(type);
  if (kind == OWN_VECTORS) own_width_of(code, type);
  if (kind == OWN_MASKS || so_far->general == 6 || so_far->vectors == OWN_ARGUMENTS) own_lacks(code, "such arguments");
  if (code->lacks) return 0;
  return kind == OWN_GENERAL ? general[so_far->general++] : so_far->vectors++;
}

static void take_parameters(own_code_t *code) {
  own_move_t moves[OWN_ARGUMENTS];
  arguments_t so_far = {0};
  int count = code->function->param_count;
  if (count > OWN_ARGUMENTS) own_lacks(code, "many parameters");
  for (int k = 0; k < count && !code->lacks; k++)
    moves[k] = (own_move_t){k, NULL, next_argument(code, &so_far, code->function->params[k].type)};
  if (!code->lacks) own_move_all(code, moves, count);
}

/* What is called through a pointer has its address in a register that no argument is in. */
static void select_call(own_code_t *code, own_value_t *instr) {
  own_move_t moves[OWN_ARGUMENTS];
  arguments_t so_far = {0};
  own_value_t *called = instr->args[instr->arg_count - 1];
  int count = 0;
  for (int k = 0; k < instr->arg_count && !code->lacks; k++) {
    if (instr->args[k]->op == OWN_FUNCTION) continue;
    int reg = instr->args[k] == called && k == instr->arg_count - 1
                  ? X86_R11
                  : next_argument(code, &so_far, instr->args[k]->type);
    own_home_t *home = &code->homes[code->home_count + count];
    *home = (own_home_t){.kind = own_class_of(instr->args[k]->type), .reg = reg};
    moves[count] = (own_move_t){code->home_count + count, instr->args[k], 0}, count++;
  }
  own_save_all(code, instr);
  own_move_all(code, moves, code->lacks ? 0 : count);
  if (own_calls_elsewhere(instr)) x86_clear_uppers(&code->x);
  if (called->op == OWN_FUNCTION)
    x86_call(&code->x, called->function->symbol);
  else
    x86_call_register(&code->x, X86_R11);
  if (own_has_result(instr)) own_done(code, instr, own_class_of(instr->type) == OWN_GENERAL ? X86_AX : 0);
  own_restore_all(code, instr);
}

static void enter(own_code_t *code) {
  x86_push(&code->x, X86_BP);
  x86_mov(&code->x, X86_BP, X86_SP);
  for (int i = 0; i < SAVED_MOST; i++)
    if (code->used[OWN_GENERAL] >> saved[i] & 1) x86_push(&code->x, saved[i]);
  if (code->frame_bytes) {
    x86_alu_constant(&code->x, X86_SUB, true, X86_SP, (int32_t)code->frame_bytes);
    x86_alu_constant(&code->x, X86_AND, true, X86_SP, -FRAME_ALIGNMENT);
  }
  take_parameters(code);
  for (int i = 0; i < code->kept_count; i++)
    if (code->kept[i].reg != X86_NONE) own_constant_to(code, code->kept[i].value, code->kept[i].reg);
}

static void leave(own_code_t *code, bool clears) {
  int count = 0;
  for (int i = 0; i < SAVED_MOST; i++) count += code->used[OWN_GENERAL] >> saved[i] & 1;
  if (code->frame_bytes)
    x86_lea(&code->x, X86_SP, (x86_mem_t){.base = X86_BP, .index = X86_NONE, .scale = 1, .disp = -8 * count});
  for (int i = SAVED_MOST; i-- > 0;)
    if (code->used[OWN_GENERAL] >> saved[i] & 1) x86_pop(&code->x, saved[i]);
  x86_pop(&code->x, X86_BP);
  if (clears) x86_clear_uppers(&code->x);
  x86_return(&code->x);
}

/* --- from block to block ----------------------------------------------------------------------------------------- */

#define MOVES_MOST 512

/* What the phis of the next block take over. */
static int find_moves(own_code_t *code, const own_block_t *from, const own_block_t *to, own_move_t *moves) {
  int count = 0;
  for (own_value_t *phi = to->first; phi && phi->op == OWN_PHI; phi = phi->after)
    for (int a = 0; a < phi->arg_count && phi->is_wanted; a++)
      if (phi->blocks[a] == from && !phi->args[a]->is_poison) {
        if (count == MOVES_MOST) own_lacks(code, "so many phis");
        moves[count++ % MOVES_MOST] = (own_move_t){phi->number, phi->args[a], 0};
      }
  return count < MOVES_MOST ? count : 0;
}

static bool is_at_home(const own_code_t *code, const own_move_t *move) {
  if (own_is_constant(move->value)) return false;
  const own_home_t *to = &code->homes[move->to], *from = &code->homes[move->value->number];
  return to == from || (to->reg != X86_NONE && to->reg == from->reg);
}

static bool needs_moves(own_code_t *code, const own_block_t *from, const own_block_t *to) {
  own_move_t moves[MOVES_MOST];
  int count = find_moves(code, from, to, moves);
  for (int i = 0; i < count; i++)
    if (!is_at_home(code, &moves[i])) return true;
  return false;
}

static void go(own_code_t *code, const own_block_t *from, const own_block_t *to, bool is_next) {
  own_move_t moves[MOVES_MOST];
  own_move_all(code, moves, find_moves(code, from, to, moves));
  if (!is_next) x86_jump(&code->x, code->labels[to->index]);
}

static void select_branch(own_code_t *code, own_value_t *branch) {
  own_block_t *here = branch->block, *yes = branch->blocks[0], *no = branch->blocks[1];
  int condition = own_flags(code, branch->args[0]), next = here->index + 1;
  if (needs_moves(code, here, yes)) {
    int otherwise = x86_label(&code->x);
    x86_jump_if(&code->x, condition ^ 1, otherwise);
    go(code, here, yes, false);
    x86_here(&code->x, otherwise);
  } else {
    x86_jump_if(&code->x, condition, code->labels[yes->index]);
  }
  go(code, here, no, no->index == next);
}

static void select_return(own_code_t *code, own_value_t *instr) {
  own_class_t kind = instr->arg_count ? own_class_of(instr->args[0]->type) : OWN_GENERAL;
  if (kind == OWN_MASKS) own_lacks(code, "bits as a result");
  if (kind == OWN_VECTORS)
    own_move_vector(code, 0, own_vector(code, instr->args[0], OWN_SCRATCH_VECTOR));
  else if (instr->arg_count)
    x86_mov(&code->x, X86_AX, own_general(code, instr->args[0], X86_AX));
  leave(code, !own_keeps_vectors(code->function));
}

static void select_one(own_code_t *code, own_value_t *instr) {
  switch (instr->op) {
    case OWN_PHI: return;
    case OWN_RET: select_return(code, instr); return;
    case OWN_BR: go(code, instr->block, instr->blocks[0], instr->blocks[0]->index == instr->block->index + 1); return;
    case OWN_CONDBR: select_branch(code, instr); return;
    case OWN_CALL: select_call(code, instr); return;
    default:
      if (own_has_result(instr) && own_class_of(instr->type) == OWN_VECTORS) own_width_of(code, instr->type);
      if (own_has_result(instr) && own_class_of(instr->type) == OWN_GENERAL)
        own_select_general(code, instr);
      else
        own_select_vector(code, instr);
  }
}

hr_status_t own_select(own_code_t *code) {
  place_rooms(code);
  if (code->calls && !code->frame_bytes) code->frame_bytes = FRAME_ALIGNMENT;
  for (int b = 0; b < code->block_count; b++) code->labels[b] = x86_label(&code->x);
  enter(code);
  for (int b = 0; b < code->block_count && !code->lacks; b++) {
    if (b && code->order[b]->depth > code->order[b - 1]->depth) x86_align(&code->x, LOOP_ALIGNMENT);
    x86_here(&code->x, code->labels[b]);
    for (own_value_t *instr = code->order[b]->first; instr && !code->lacks; instr = instr->after)
      if (instr->is_wanted && !instr->is_folded) select_one(code, instr);
  }
  if (code->x.status) {
    hr_status_t st = code->x.status;
    code->x.status = NULL;
    return st;
  }
  return code->lacks ? NULL : x86_finish(&code->x);
}
