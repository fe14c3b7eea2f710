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
  for (int c = 0; c < emit->carry_count; c++) {
    loop.carries[c] = llvm()->BuildPhi(b, llvm()->TypeOf(emit->carried[c]), "");
    llvm()->AddIncoming(loop.carries[c], &emit->carried[c], &loop.before, 1);
    emit->carried[c] = loop.carries[c];
  }
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
  for (int c = 0; c < emit->carry_count; c++) llvm()->AddIncoming(loop->carries[c], &emit->carried[c], &last, 1);
  emit->level--;
  emit->levels[emit->level].block = after;
}

void jit_units_begin(jit_emit_t *emit, jit_loop_t *out_loop) {
  if (emit->end != jit_emit_i64(emit, 1) || emit->begin != jit_emit_i64(emit, 0)) {
    jit_loop_begin(emit, JIT_UNIT_LOOP, emit->begin, out_loop);
    return;
  }
  *out_loop = (jit_loop_t){.variable = emit->begin};
  jit_level_enter(emit, JIT_UNIT_LOOP, emit->begin);
}

void jit_units_end(jit_emit_t *emit, const jit_loop_t *loop) {
  if (loop->header)
    jit_loop_end(emit, loop, emit->end, 1);
  else
    jit_level_leave(emit);
}

void jit_if_begin(jit_emit_t *emit, LLVMValueRef condition, jit_if_t *out_if) {
  LLVMBasicBlockRef inside = new_block(emit);
  out_if->before = emit->levels[emit->level].block;
  out_if->after = new_block(emit);
  for (int c = 0; c < emit->carry_count; c++) out_if->carried[c] = emit->carried[c];
  jit_emit_at(emit, emit->level);
  llvm()->BuildCondBr(emit->code->builder, condition, inside, out_if->after);
  emit->levels[emit->level].block = inside;
}

void jit_if_end(jit_emit_t *emit, const jit_if_t *taken) {
  LLVMBasicBlockRef last = emit->levels[emit->level].block;
  jit_emit_at(emit, emit->level);
  llvm()->BuildBr(emit->code->builder, taken->after);
  emit->levels[emit->level].block = taken->after;
  llvm()->PositionBuilderAtEnd(emit->code->builder, taken->after);
  for (int c = 0; c < emit->carry_count; c++) {
    LLVMValueRef either = llvm()->BuildPhi(emit->code->builder, llvm()->TypeOf(emit->carried[c]), "");
    llvm()->AddIncoming(either, &emit->carried[c], &last, 1);
    llvm()->AddIncoming(either, (LLVMValueRef *)&taken->carried[c], (LLVMBasicBlockRef *)&taken->before, 1);
    emit->carried[c] = either;
  }
}

/* --- lanes ----------------------------------------------------------------------------------------------------- */

static void write_body(jit_emit_t *emit, const jit_lanes_t *how, int lanes, LLVMValueRef mask, int copy) {
  emit->lane_var = how->var, emit->lanes = lanes, emit->mask = mask;
  emit->lane_from = how->from, emit->lane_to = how->to;
  emit->lane_period = how->is_phased && !mask && lanes == how->lanes ? lanes * how->unroll : 0;
  emit->lane_phase = copy * lanes;
  how->body(emit, how->context, copy);
  emit->lanes = 1, emit->mask = NULL, emit->lane_var = -1;
}

/* Whole vectors, or one by one. */
static void write_loop(jit_emit_t *emit, const jit_lanes_t *how, LLVMValueRef from, LLVMValueRef to, int lanes,
                       int unroll, bool is_once) {
  jit_loop_t loop = {.variable = from};
  if (is_once)
    jit_level_enter(emit, how->var, from);
  else
    jit_loop_begin(emit, how->var, from, &loop);
  write_body(emit, how, lanes, NULL, 0);
  for (int copy = 1; copy < unroll; copy++) {
    jit_emit_at(emit, emit->level);
    LLVMValueRef next = llvm()->BuildNSWAdd(emit->code->builder, loop.variable, jit_emit_i64(emit, copy * lanes), "");
    emit->variables[how->var] = next;
    emit->levels[emit->level].epoch = ++emit->last_epoch;
    write_body(emit, how, lanes, NULL, copy);
  }
  if (is_once)
    jit_level_leave(emit);
  else
    jit_loop_end(emit, &loop, to, unroll * lanes);
}

/* What is left, `left` lanes, at once. */
static void write_masked(jit_emit_t *emit, const jit_lanes_t *how, LLVMValueRef left) {
  LLVMTypeRef i32 = llvm()->Int32TypeInContext(emit->code->context);
  jit_emit_at(emit, emit->level);
  emit->lanes = how->lanes;
  LLVMTypeRef type = llvm()->VectorType(i32, (unsigned)how->lanes);
  LLVMValueRef bound = jit_splat(emit->code, type, llvm()->BuildIntCast2(emit->code->builder, left, i32, true, ""));
  LLVMValueRef mask = llvm()->BuildICmp(emit->code->builder, LLVMIntSLT, jit_emit_lane_numbers(emit, i32), bound, "");
  write_body(emit, how, how->lanes, mask, 0);
}

/* Fewer than unroll * lanes: by whole vectors under a mask that is full but for the last, or one by one. */
static void write_rest(jit_emit_t *emit, const jit_lanes_t *how, LLVMValueRef from, LLVMValueRef to, int64_t left) {
  LLVMBuilderRef b = emit->code->builder;
  jit_loop_t loop = {.variable = from};
  if (!emit->code->target->has_masks && !emit->carry_count) {
    write_loop(emit, how, from, to, 1, 1, false);
    return;
  }
  bool is_once = how->unroll == 1 || (left >= 0 && left <= how->lanes);
  if (is_once)
    jit_level_enter(emit, how->var, from);
  else
    jit_loop_begin(emit, how->var, from, &loop);
  jit_emit_at(emit, emit->level);
  write_masked(emit, how, llvm()->BuildSub(b, to, loop.variable, ""));
  if (is_once)
    jit_level_leave(emit);
  else
    jit_loop_end(emit, &loop, to, how->lanes);
}

static void write_known(jit_emit_t *emit, const jit_lanes_t *how, LLVMValueRef from, LLVMValueRef to) {
  int64_t step = (int64_t)how->lanes * how->unroll, whole = how->count / step * step;
  jit_emit_at(emit, emit->level);
  LLVMValueRef middle = llvm()->BuildAdd(emit->code->builder, from, jit_emit_i64(emit, whole), "");
  if (whole) write_loop(emit, how, from, middle, how->lanes, how->unroll, whole == step);
  if (whole < how->count) write_rest(emit, how, middle, to, how->count - whole);
}

static void write_unknown(jit_emit_t *emit, const jit_lanes_t *how, LLVMValueRef from, LLVMValueRef to) {
  LLVMBuilderRef b = emit->code->builder;
  jit_if_t taken;
  jit_emit_at(emit, emit->level);
  LLVMValueRef step = jit_emit_i64(emit, (int64_t)how->lanes * how->unroll), count = llvm()->BuildSub(b, to, from, "");
  LLVMValueRef whole = llvm()->BuildSub(b, count, llvm()->BuildURem(b, count, step, ""), "");
  LLVMValueRef middle = llvm()->BuildAdd(b, from, whole, "");
  LLVMValueRef any = llvm()->BuildICmp(b, LLVMIntSGT, whole, jit_emit_i64(emit, 0), "");
  LLVMValueRef some = llvm()->BuildICmp(b, LLVMIntSLT, middle, to, "");
  jit_if_begin(emit, any, &taken);
  emit->levels[emit->level].epoch = ++emit->last_epoch;
  write_loop(emit, how, from, middle, how->lanes, how->unroll, false);
  jit_if_end(emit, &taken);
  emit->levels[emit->level].epoch = ++emit->last_epoch;
  if (how->is_whole) return;
  jit_if_begin(emit, some, &taken);
  emit->levels[emit->level].epoch = ++emit->last_epoch;
  write_rest(emit, how, middle, to, -1);
  jit_if_end(emit, &taken);
  emit->levels[emit->level].epoch = ++emit->last_epoch;
}

void jit_loop_lanes(jit_emit_t *emit, const jit_lanes_t *how, LLVMValueRef from, LLVMValueRef to) {
  if (how->lanes == 1 && !emit->carry_count)
    write_loop(emit, how, from, to, 1, 1, how->count == 1);
  else if (how->count >= 0)
    write_known(emit, how, from, to);
  else
    write_unknown(emit, how, from, to);
}
