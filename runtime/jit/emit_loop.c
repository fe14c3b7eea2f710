/* Loops of kernels. */
#include "jit/emit_kernel.h"

static LLVMBasicBlockRef new_block(jit_emit_t *emit) {
  return llvm()->AppendBasicBlockInContext(emit->code->context, emit->function, "");
}

void jit_level_enter(jit_emit_t *emit, int var, LLVMValueRef value) {
  LLVMBasicBlockRef block = emit->levels[emit->level].block;
  emit->level++;
  emit->levels[emit->level].block = block;
  emit->levels[emit->level].epoch = ++emit->last_epoch;
  emit->variables[var] = value;
  emit->depths[var] = emit->level;
}

void jit_level_leave(jit_emit_t *emit) {
  LLVMBasicBlockRef block = emit->levels[emit->level].block;
  emit->level--;
  emit->levels[emit->level].block = block;
}

void jit_loop_begin(jit_emit_t *emit, int var, LLVMValueRef from, jit_loop_t *out_loop) {
  LLVMBuilderRef b = emit->code->builder;
  jit_loop_t loop = {.before = emit->levels[emit->level].block, .header = new_block(emit), .level = emit->level + 1};
  jit_emit_at(emit, emit->level);
  llvm()->BuildBr(b, loop.header);
  llvm()->PositionBuilderAtEnd(b, loop.header);
  loop.variable = llvm()->BuildPhi(b, llvm()->TypeOf(from), "");
  llvm()->AddIncoming(loop.variable, &from, &loop.before, 1);
  jit_level_enter(emit, var, loop.variable);
  emit->levels[emit->level].block = loop.header;
  *out_loop = loop;
}

void jit_loop_end(jit_emit_t *emit, const jit_loop_t *loop, LLVMValueRef to, int64_t step) {
  LLVMBuilderRef b = emit->code->builder;
  LLVMBasicBlockRef last = emit->levels[emit->level].block, after = new_block(emit);
  jit_emit_at(emit, emit->level);
  LLVMValueRef next = llvm()->BuildNSWAdd(b, loop->variable, jit_emit_i64(emit, step), "");
  LLVMValueRef more = llvm()->BuildICmp(b, LLVMIntSLT, next, to, "");
  llvm()->BuildCondBr(b, more, loop->header, after);
  llvm()->AddIncoming(loop->variable, &next, &last, 1);
  emit->level--;
  emit->levels[emit->level].block = after;
}

void jit_if_begin(jit_emit_t *emit, LLVMValueRef condition, jit_if_t *out_if) {
  LLVMBasicBlockRef inside = new_block(emit);
  out_if->after = new_block(emit);
  jit_emit_at(emit, emit->level);
  llvm()->BuildCondBr(emit->code->builder, condition, inside, out_if->after);
  emit->levels[emit->level].block = inside;
}

void jit_if_end(jit_emit_t *emit, const jit_if_t *taken) {
  jit_emit_at(emit, emit->level);
  llvm()->BuildBr(emit->code->builder, taken->after);
  emit->levels[emit->level].block = taken->after;
}

/* --- lanes ----------------------------------------------------------------------------------------------------- */

typedef struct lane_loop {
  int var, lanes;
  LLVMValueRef from, to;
  int64_t count;
  void (*body)(jit_emit_t *emit, void *context);
  void *context;
} lane_loop_t;

static void write_body(jit_emit_t *emit, const lane_loop_t *lane_loop, int lanes, LLVMValueRef mask) {
  emit->lane_var = lane_loop->var, emit->lanes = lanes, emit->mask = mask;
  lane_loop->body(emit, lane_loop->context);
  emit->lanes = 1, emit->mask = NULL, emit->lane_var = -1;
}

/* Whole vectors. Outer values have been written before the loop, whatever was asked for inside. */
static void write_loop(jit_emit_t *emit, const lane_loop_t *lane_loop, LLVMValueRef from, LLVMValueRef to, int lanes,
                       bool is_once) {
  jit_loop_t loop;
  if (is_once) {
    jit_level_enter(emit, lane_loop->var, from);
    write_body(emit, lane_loop, lanes, NULL);
    jit_level_leave(emit);
    return;
  }
  jit_loop_begin(emit, lane_loop->var, from, &loop);
  write_body(emit, lane_loop, lanes, NULL);
  jit_loop_end(emit, &loop, to, lanes);
}

/* What is left, `left` lanes, at once. */
static void write_masked(jit_emit_t *emit, const lane_loop_t *lane_loop, LLVMValueRef from, LLVMValueRef left) {
  LLVMTypeRef i32 = llvm()->Int32TypeInContext(emit->code->context);
  jit_level_enter(emit, lane_loop->var, from);
  jit_emit_at(emit, emit->level);
  emit->lanes = lane_loop->lanes;
  LLVMTypeRef type = llvm()->VectorType(i32, (unsigned)lane_loop->lanes);
  LLVMValueRef bound = jit_splat(emit->code, type, llvm()->BuildIntCast2(emit->code->builder, left, i32, true, ""));
  LLVMValueRef mask = llvm()->BuildICmp(emit->code->builder, LLVMIntSLT, jit_emit_lane_numbers(emit, i32), bound, "");
  write_body(emit, lane_loop, lane_loop->lanes, mask);
  jit_level_leave(emit);
}

static void write_rest(jit_emit_t *emit, const lane_loop_t *lane_loop, LLVMValueRef from) {
  LLVMValueRef left;
  if (!emit->code->target->has_masks) {
    write_loop(emit, lane_loop, from, lane_loop->to, 1, false);
    return;
  }
  jit_emit_at(emit, emit->level);
  left = llvm()->BuildSub(emit->code->builder, lane_loop->to, from, "");
  write_masked(emit, lane_loop, from, left);
}

static void write_known(jit_emit_t *emit, const lane_loop_t *lane_loop) {
  int64_t whole = lane_loop->count / lane_loop->lanes * lane_loop->lanes;
  jit_emit_at(emit, emit->level);
  LLVMValueRef middle = llvm()->BuildAdd(emit->code->builder, lane_loop->from, jit_emit_i64(emit, whole), "");
  if (whole) write_loop(emit, lane_loop, lane_loop->from, middle, lane_loop->lanes, whole == lane_loop->lanes);
  if (whole < lane_loop->count) write_rest(emit, lane_loop, middle);
}

static void write_unknown(jit_emit_t *emit, const lane_loop_t *lane_loop) {
  LLVMBuilderRef b = emit->code->builder;
  jit_if_t taken;
  jit_emit_at(emit, emit->level);
  LLVMValueRef count = llvm()->BuildSub(b, lane_loop->to, lane_loop->from, "");
  LLVMValueRef whole = llvm()->BuildAnd(b, count, jit_emit_i64(emit, -(int64_t)lane_loop->lanes), "");
  LLVMValueRef middle = llvm()->BuildAdd(b, lane_loop->from, whole, "");
  LLVMValueRef any = llvm()->BuildICmp(b, LLVMIntSGT, whole, jit_emit_i64(emit, 0), "");
  LLVMValueRef some = llvm()->BuildICmp(b, LLVMIntSLT, middle, lane_loop->to, "");
  jit_if_begin(emit, any, &taken);
  emit->levels[emit->level].epoch = ++emit->last_epoch;
  write_loop(emit, lane_loop, lane_loop->from, middle, lane_loop->lanes, false);
  jit_if_end(emit, &taken);
  jit_if_begin(emit, some, &taken);
  emit->levels[emit->level].epoch = ++emit->last_epoch;
  write_rest(emit, lane_loop, middle);
  jit_if_end(emit, &taken);
  emit->levels[emit->level].epoch = ++emit->last_epoch;
}

void jit_loop_lanes(jit_emit_t *emit, int var, LLVMValueRef from, LLVMValueRef to, int64_t count, int lanes,
                    void (*body)(jit_emit_t *emit, void *context), void *context) {
  lane_loop_t lane_loop = {var, lanes, from, to, count, body, context};
  if (lanes == 1)
    write_loop(emit, &lane_loop, from, to, 1, count == 1);
  else if (count >= 0)
    write_known(emit, &lane_loop);
  else
    write_unknown(emit, &lane_loop);
}
