/* Instruction selection of whole functions: prologue and epilogue, calls, branches, phis.
 *
 * Selection is one pass over the instructions in block order, without a DAG: operands that were
 * folded are matched on the way by x64_address, x64_emit and x64_set_flags. Phis become parallel
 * copies at the end of the predecessor; those of a conditional branch's taken edge are separate
 * code after an inverted jump. Functions follow the System V ABI for general registers. Inner
 * functions preserve all vector and mask registers around their own external calls: those are rare
 * (special cases of math functions), and their callers would otherwise spill everything around each
 * call.
 *
 *     frame:  return address | saved registers | spill slots of 64 bytes, allocas | aligned to
 * 64 */
#include "jit/x64/x64_isel.h"

#include "jit/x64/x64.h"

#define FRAME_ALIGNMENT 64
#define LOOP_ALIGNMENT 32
#define CALLEE_SAVED_COUNT 5

/* Registers that a function preserves for its caller. */
static const int callee_saved[CALLEE_SAVED_COUNT] = {X86_BX, 12, 13, 14, 15};

/* --- the frame -------------------------------------------------------------------------------- */

/* Frame offsets are distances below the top of the frame, aligned for the widest vector. */
static void assign_frame_offsets(x64_code_t *code) {
  for (int b = 0; b < code->cfg.block_count; b++)
    for (kir_value_t *instr = code->cfg.order[b]->first; instr; instr = instr->next) {
      if (instr->op != KIR_ALLOCA) continue;
      code->frame_bytes += (int64_t)(kir_type_bytes(instr->memory_type) + FRAME_ALIGNMENT - 1) /
                           FRAME_ALIGNMENT * FRAME_ALIGNMENT;
      x64_node(code, instr)->frame_offset = code->frame_bytes;
    }
}

/* --- calls ------------------------------------------------------------------------------------ */

/* Number of registers assigned to arguments; general and vector registers count separately. */
typedef struct arguments {
  int general, vectors;
} arguments_t;

/* Returns the register of the next argument: System V's six general ones (9 is r9), or zmm0
 * upward. */
static int next_argument(x64_code_t *code, arguments_t *assigned, const kir_type_t *type) {
  static const int general[] = {X86_DI, X86_SI, X86_DX, X86_CX, X86_R8, 9};
  x64_class_t kind = x64_class_of(type);
  if (kind == X64_VECTOR) x64_vector_length(code, type);
  if (kind == X64_MASK || assigned->general == 6 || assigned->vectors == X64_ARGUMENTS_MAX)
    x64_unsupported(code, "such arguments");
  if (code->unsupported) return 0;
  return kind == X64_GPR ? general[assigned->general++] : assigned->vectors++;
}

static void move_parameters(x64_code_t *code) {
  parallel_move_t moves[X64_ARGUMENTS_MAX];
  arguments_t assigned = {0};
  int count = code->function->param_count;
  if (count > X64_ARGUMENTS_MAX) x64_unsupported(code, "many parameters");
  for (int k = 0; k < count && !code->unsupported; k++)
    moves[k] =
        (parallel_move_t){k, NULL, next_argument(code, &assigned, code->function->params[k].type)};
  if (!code->unsupported) x64_move_parallel(code, moves, count);
}

/* The parts of a result are in zmm0 upward. */
static void take_results(x64_code_t *code, kir_value_t *call) {
  parallel_move_t moves[X64_ARGUMENTS_MAX];
  int count = 0;
  moves[count++] = (parallel_move_t){x64_node(code, call)->interval, NULL, 0};
  for (kir_value_t *part = call->next; part && part->op == KIR_RESULT; part = part->next)
    moves[count++] = (parallel_move_t){x64_node(code, part)->interval, NULL, part->detail};
  x64_move_parallel(code, moves, count);
}

/* A register that no value of the function has, as interval `number` after those. */
static int spare_interval(x64_code_t *code, int number, x64_class_t kind, int reg) {
  code->intervals[code->interval_count + number] = (live_interval_t){.kind = kind, .reg = reg};
  return code->interval_count + number;
}

/* A called pointer is moved to r11, which holds no argument. */
static void select_call(x64_code_t *code, kir_value_t *instr) {
  parallel_move_t moves[X64_ARGUMENTS_MAX];
  arguments_t assigned = {0};
  kir_value_t *callee = instr->args[instr->arg_count - 1];
  int count = 0;
  for (int k = 0; k < instr->arg_count && !code->unsupported; k++) {
    if (instr->args[k]->op == KIR_FUNCTION) continue;
    int reg = instr->args[k] == callee && k == instr->arg_count - 1
                  ? X86_R11
                  : next_argument(code, &assigned, instr->args[k]->type);
    int to = spare_interval(code, count, x64_class_of(instr->args[k]->type), reg);
    moves[count++] = (parallel_move_t){to, instr->args[k], 0};
  }
  x64_save_live(code, instr);
  x64_move_parallel(code, moves, code->unsupported ? 0 : count);
  if (x64_calls_external(code, instr)) x86_clear_uppers(&code->x);
  if (callee->op == KIR_FUNCTION)
    x86_call(&code->x, code->functions[callee->function->index].symbol);
  else
    x86_call_register(&code->x, X86_R11);
  if (kir_has_result(instr) && x64_class_of(instr->type) == X64_GPR)
    x64_define(code, instr, X86_AX);
  else if (kir_has_result(instr))
    take_results(code, instr);
  x64_restore_live(code, instr);
}

/* The frame after the prologue. frame_bytes includes the spill slots.
 *
 *    rbp ->  caller's rbp
 *            callee-saved registers in use
 *            (padding to a multiple of 64 bytes)
 *            allocas and spill slots
 *    rsp ->  (aligned) */
static void write_prologue(x64_code_t *code) {
  x86_push(&code->x, X86_BP);
  x86_mov(&code->x, X86_BP, X86_SP);
  for (int i = 0; i < CALLEE_SAVED_COUNT; i++)
    if (code->used[X64_GPR] >> callee_saved[i] & 1) x86_push(&code->x, callee_saved[i]);
  if (code->frame_bytes) {
    x86_alu_constant(&code->x, X86_SUB, true, X86_SP, (int32_t)code->frame_bytes);
    x86_alu_constant(&code->x, X86_AND, true, X86_SP, -FRAME_ALIGNMENT);
  }
  move_parameters(code);
  for (int i = 0; i < code->pinned_count; i++)
    if (code->pinned[i].reg != X86_NONE)
      x64_load_constant(code, code->pinned[i].value, code->pinned[i].reg);
}

/* The padding is unknown at compile time, so rsp is computed from rbp. */
static void write_epilogue(x64_code_t *code, bool clears) {
  int count = 0;
  for (int i = 0; i < CALLEE_SAVED_COUNT; i++) count += code->used[X64_GPR] >> callee_saved[i] & 1;
  if (code->frame_bytes)
    x86_lea(&code->x, X86_SP,
            (x86_mem_t){.base = X86_BP, .index = X86_NONE, .scale = 1, .disp = -8 * count});
  for (int i = CALLEE_SAVED_COUNT; i-- > 0;)
    if (code->used[X64_GPR] >> callee_saved[i] & 1) x86_pop(&code->x, callee_saved[i]);
  x86_pop(&code->x, X86_BP);
  if (clears) x86_clear_uppers(&code->x);
  x86_return(&code->x);
}

/* --- branches --------------------------------------------------------------------------------- */

#define MOVES_MAX 512

/* Moves for the phis of a successor. */
static int find_moves(x64_code_t *code, const kir_block_t *from, const kir_block_t *to,
                      parallel_move_t *moves) {
  int count = 0;
  for (kir_value_t *phi = to->first; phi && phi->op == KIR_PHI; phi = phi->next)
    for (int a = 0; a < phi->arg_count; a++)
      if (phi->blocks[a] == from && !phi->args[a]->is_poison) {
        if (count == MOVES_MAX) x64_unsupported(code, "so many phis");
        moves[count++ % MOVES_MAX] =
            (parallel_move_t){x64_node(code, phi)->interval, phi->args[a], 0};
      }
  return count < MOVES_MAX ? count : 0;
}

static bool is_in_place(const x64_code_t *code, const parallel_move_t *move) {
  if (kir_is_constant(move->value)) return false;
  const live_interval_t *to = &code->intervals[move->to], *from = x64_interval(code, move->value);
  return to == from || (to->reg != X86_NONE && to->reg == from->reg);
}

static bool needs_moves(x64_code_t *code, const kir_block_t *from, const kir_block_t *to) {
  parallel_move_t moves[MOVES_MAX];
  int count = find_moves(code, from, to, moves);
  for (int i = 0; i < count; i++)
    if (!is_in_place(code, &moves[i])) return true;
  return false;
}

static void jump_to(x64_code_t *code, const kir_block_t *from, const kir_block_t *to,
                    bool is_next) {
  parallel_move_t moves[MOVES_MAX];
  x64_move_parallel(code, moves, find_moves(code, from, to, moves));
  if (!is_next) x86_jump(&code->x, code->labels[to->index]);
}

/* Where the taken edge needs moves for phis, the jump is inverted (condition ^ 1 in x86's codes)
 * around those moves and an unconditional jump. Moves of the other edge follow without a jump
 * when its target is the next block. */
static void select_branch(x64_code_t *code, kir_value_t *branch) {
  kir_block_t *here = branch->block, *yes = branch->blocks[0], *no = branch->blocks[1];
  int condition = x64_set_flags(code, branch->args[0]), next = here->index + 1;
  if (needs_moves(code, here, yes)) {
    int otherwise = x86_label(&code->x);
    x86_jump_if(&code->x, condition ^ 1, otherwise);
    jump_to(code, here, yes, false);
    x86_here(&code->x, otherwise);
  } else {
    x86_jump_if(&code->x, condition, code->labels[yes->index]);
  }
  jump_to(code, here, no, no->index == next);
}

static void move_results(x64_code_t *code, kir_value_t *instr) {
  parallel_move_t moves[X64_ARGUMENTS_MAX];
  for (int k = 0; k < instr->arg_count; k++)
    moves[k] = (parallel_move_t){spare_interval(code, k, X64_VECTOR, k), instr->args[k], 0};
  x64_move_parallel(code, moves, instr->arg_count);
}

static void select_return(x64_code_t *code, kir_value_t *instr) {
  x64_class_t kind = instr->arg_count ? x64_class_of(instr->args[0]->type) : X64_GPR;
  if (kind == X64_MASK) x64_unsupported(code, "bits as a result");
  if (kind == X64_VECTOR)
    move_results(code, instr);
  else if (instr->arg_count)
    x86_mov(&code->x, X86_AX, x64_gpr(code, instr->args[0], X86_AX));
  write_epilogue(code, !x64_preserves_vectors(code->function));
}

static void select_one(x64_code_t *code, kir_value_t *instr) {
  switch (instr->op) {
    case KIR_PHI:
    case KIR_RESULT: /* select_call */
      return;
    case KIR_RET:
      select_return(code, instr);
      return;
    case KIR_BR:
      jump_to(code, instr->block, instr->blocks[0],
              instr->blocks[0]->index == instr->block->index + 1);
      return;
    case KIR_CONDBR:
      select_branch(code, instr);
      return;
    case KIR_CALL:
      select_call(code, instr);
      return;
    default:
      if (kir_has_result(instr) && x64_class_of(instr->type) == X64_VECTOR)
        x64_vector_length(code, instr->type);
      if (kir_has_result(instr) && x64_class_of(instr->type) == X64_GPR)
        x64_select_gpr(code, instr);
      else
        x64_select_vector(code, instr);
  }
}

hr_status_t x64_select(x64_code_t *code) {
  assign_frame_offsets(code);
  if (code->calls && !code->frame_bytes) code->frame_bytes = FRAME_ALIGNMENT;
  for (int b = 0; b < code->cfg.block_count; b++) code->labels[b] = x86_label(&code->x);
  write_prologue(code);
  for (int b = 0; b < code->cfg.block_count && !code->unsupported; b++) {
    if (b && code->cfg.depth[b] > code->cfg.depth[b - 1]) x86_align(&code->x, LOOP_ALIGNMENT);
    x86_here(&code->x, code->labels[b]);
    for (kir_value_t *instr = code->cfg.order[b]->first; instr && !code->unsupported;
         instr = instr->next)
      if (!x64_node(code, instr)->is_folded) select_one(code, instr);
  }
  if (code->x.status) {
    hr_status_t st = code->x.status;
    code->x.status = NULL;
    return st;
  }
  if (code->x.is_illegal) x64_unsupported(code, "an instruction of AVX-512");
  return code->unsupported ? NULL : x86_finish(&code->x);
}
