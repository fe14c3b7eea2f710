/* Code of regions. The function's first block has all addresses, and ends in a jump to where the steps begin; registers
 * are values that are known where code is written: loops and conditionals join what their blocks left in them. */
#include <string.h>

#include "jit/element.h"
#include "jit/region.h"

#define COPY_MOST 512 /* bytes that are copied without a call */

typedef struct writer {
  jit_kernel_t *kernel;
  jit_region_t *region;
  jit_code_t *code;
  LLVMBuilderRef b;
  LLVMTypeRef i8, i32, i64, pointer;
  LLVMValueRef function, table, run, run_step, status, nowhere;
  LLVMBasicBlockRef entry, at; /* at: where code goes on */
  LLVMTypeRef run_step_type;
  int literals; /* that have been met */
} writer_t;

static LLVMValueRef number(const writer_t *w, int64_t value) {
  return llvm()->ConstInt(w->i64, (uint64_t)value, true);
}

static LLVMBasicBlockRef new_block(const writer_t *w) {
  return llvm()->AppendBasicBlockInContext(w->code->context, w->function, "");
}

static void go_on(writer_t *w, LLVMBasicBlockRef block) {
  w->at = block;
  llvm()->PositionBuilderAtEnd(w->b, block);
}

static void jump(writer_t *w, LLVMBasicBlockRef to) {
  llvm()->PositionBuilderAtEnd(w->b, w->at);
  llvm()->BuildBr(w->b, to);
}

static LLVMValueRef entry_of_list(writer_t *w, LLVMValueRef list, int k) {
  LLVMValueRef index = number(w, k);
  LLVMValueRef place = llvm()->BuildInBoundsGEP2(w->b, w->pointer, list, &index, 1, "");
  return llvm()->BuildLoad2(w->b, w->pointer, place, "");
}

static LLVMValueRef moved_by(writer_t *w, LLVMValueRef address, int64_t bytes) {
  LLVMValueRef offset = number(w, bytes);
  return bytes ? llvm()->BuildInBoundsGEP2(w->b, w->i8, address, &offset, 1, "") : address;
}

static LLVMValueRef address_of(writer_t *w, flat_ref_t ref) {
  return moved_by(w, region_buffer_of(w->region, ref)->address, (int64_t)ref.offset_bytes);
}

/* --- registers ------------------------------------------------------------------------------------------------- */

static LLVMTypeRef register_type(const writer_t *w, const jit_register_t *reg) {
  return jit_vector_type(jit_memory_type(w->code, reg->dtype), reg->count);
}

static LLVMValueRef load_as(writer_t *w, const jit_register_t *reg, LLVMValueRef address) {
  LLVMValueRef value = llvm()->BuildLoad2(w->b, register_type(w, reg), address, "");
  llvm()->SetAlignment(value, (unsigned)hr_dtype_bytes(reg->dtype));
  return value;
}

static void store_value(writer_t *w, const jit_register_t *reg, LLVMValueRef value, LLVMValueRef address) {
  LLVMValueRef store = llvm()->BuildStore(w->b, value, address);
  llvm()->SetAlignment(store, (unsigned)hr_dtype_bytes(reg->dtype));
}

static LLVMValueRef read_scalar(writer_t *w, flat_ref_t ref, hr_dtype_t dtype) {
  const region_buffer_t *buffer = region_buffer_of(w->region, ref);
  const jit_register_t scalar = {.dtype = dtype, .count = 1};
  return buffer->is_register ? buffer->reg.value : load_as(w, &scalar, address_of(w, ref));
}

/* Does a step of the range leave something in the buffer? */
static bool is_written(const jit_region_t *region, const region_buffer_t *buffer, int begin, int end) {
  for (int s = begin; s < end; s++) {
    const flat_step_t *step = region_step(region, s);
    for (int i = 0; i < step->out_count; i++)
      if (region_buffer_of(region, step->out[i]) == buffer) return true;
  }
  return false;
}

/* Is its value from before the step, or one turn's, wanted after a range behind it that writes it? */
static bool is_kept(const jit_region_t *region, const region_buffer_t *buffer, int step, int begin, int end) {
  const flat_buffer_t *flat = &region->flat->buffers[buffer->buffer];
  return buffer->is_register && is_written(region, buffer, begin, end) && (flat->start <= step || flat->end >= end);
}

static void start_registers(writer_t *w) {
  const jit_region_t *region = w->region;
  for (int b = 0; b < region->buffer_count; b++) {
    region_buffer_t *buffer = &region->buffers[b];
    if (!buffer->is_register) continue;
    bool has_value = region->flat->buffers[buffer->buffer].start < region->step;
    buffer->reg.value = has_value ? load_as(w, &buffer->reg, buffer->address)
                                  : llvm()->ConstNull(register_type(w, &buffer->reg));
  }
}

static void store_registers(writer_t *w) {
  const jit_region_t *region = w->region;
  for (int b = 0; b < region->buffer_count; b++) {
    const region_buffer_t *buffer = &region->buffers[b];
    bool is_wanted = region->flat->buffers[buffer->buffer].end >= region->end;
    if (buffer->is_register && is_wanted && is_written(region, buffer, region->step, region->end))
      store_value(w, &buffer->reg, buffer->reg.value, buffer->address);
  }
}

/* --- what is called -------------------------------------------------------------------------------------------- */

/* A step by the machine; with rounds, it looks around. */
static void call_step(writer_t *w, int step, int64_t rounds) {
  LLVMValueRef arguments[] = {w->run, llvm()->ConstInt(w->i32, (uint64_t)step, true), number(w, rounds)};
  LLVMBasicBlockRef after = new_block(w), bad = new_block(w);
  LLVMValueRef status = llvm()->BuildCall2(w->b, w->run_step_type, w->run_step, arguments, 3, "");
  LLVMValueRef fine = llvm()->BuildICmp(w->b, LLVMIntEQ, status, llvm()->ConstNull(w->pointer), "");
  llvm()->BuildCondBr(w->b, fine, after, bad);
  go_on(w, bad);
  llvm()->BuildStore(w->b, status, w->status);
  llvm()->BuildRetVoid(w->b);
  go_on(w, after);
}

/* --- copies ---------------------------------------------------------------------------------------------------- */

static void copy_piece(writer_t *w, LLVMTypeRef type, int64_t at, LLVMValueRef from, LLVMValueRef to) {
  LLVMValueRef value = llvm()->BuildLoad2(w->b, type, moved_by(w, from, at), "");
  llvm()->SetAlignment(value, 1);
  LLVMValueRef store = llvm()->BuildStore(w->b, value, moved_by(w, to, at));
  llvm()->SetAlignment(store, 1);
}

static void copy_bytes(writer_t *w, LLVMValueRef from, LLVMValueRef to, int64_t count) {
  LLVMTypeRef vector = llvm()->VectorType(w->i8, (unsigned)w->kernel->target->vector_bytes);
  int64_t at = 0, step = w->kernel->target->vector_bytes;
  for (; at + step <= count; at += step) copy_piece(w, vector, at, from, to);
  for (step = 8; step; step /= 2)
    for (; at + step <= count; at += step)
      copy_piece(w, llvm()->IntTypeInContext(w->code->context, (unsigned)(8 * step)), at, from, to);
}

static void copy_long(writer_t *w, LLVMValueRef from, LLVMValueRef to, int64_t count) {
  LLVMTypeRef overloads[] = {w->pointer, w->pointer, w->i64};
  LLVMValueRef is_volatile = llvm()->ConstInt(llvm()->Int1TypeInContext(w->code->context), 0, false);
  LLVMValueRef arguments[] = {to, from, number(w, count), is_volatile};
  jit_intrinsic_of(w->code, "llvm.memmove", overloads, 3, arguments, 4);
}

static void write_copy(writer_t *w, flat_ref_t in, flat_ref_t out, int64_t bytes) {
  region_buffer_t *from = region_buffer_of(w->region, in), *to = region_buffer_of(w->region, out);
  if (from->is_register && to->is_register)
    to->reg.value = from->reg.value;
  else if (from->is_register)
    store_value(w, &from->reg, from->reg.value, address_of(w, out));
  else if (to->is_register)
    to->reg.value = load_as(w, &to->reg, address_of(w, in));
  else if (from != to || in.offset_bytes != out.offset_bytes)
    (bytes <= COPY_MOST && from != to ? copy_bytes : copy_long)(w, address_of(w, in), address_of(w, out), bytes);
}

/* --- kernels --------------------------------------------------------------------------------------------------- */

typedef struct place_lists {
  LLVMValueRef *ins, *outs;
  jit_register_t **in_registers, **out_registers;
} place_lists_t;

static hr_status_t new_lists(hr_arena_t *arena, const jit_kernel_t *kernel, place_lists_t *out_lists) {
  int in_count = kernel->buffer_count + 1, out_count = kernel->root_count + 1;
  HR_TRY(HR_NEW_ARRAY(arena, in_count, &out_lists->ins));
  HR_TRY(HR_NEW_ARRAY(arena, in_count, &out_lists->in_registers));
  HR_TRY(HR_NEW_ARRAY(arena, out_count, &out_lists->outs));
  return HR_NEW_ARRAY(arena, out_count, &out_lists->out_registers);
}

static void place_array(writer_t *w, flat_ref_t ref, LLVMValueRef *out_address, jit_register_t **out_register) {
  region_buffer_t *buffer = region_buffer_of(w->region, ref);
  *out_register = buffer->is_register ? &buffer->reg : NULL;
  *out_address = buffer->is_register ? NULL : address_of(w, ref);
}

static LLVMValueRef next_literal(writer_t *w) {
  llvm()->PositionBuilderBefore(w->b, llvm()->GetBasicBlockTerminator(w->entry));
  LLVMValueRef address = entry_of_list(w, w->table, w->region->buffer_count + w->literals++);
  llvm()->PositionBuilderAtEnd(w->b, w->at);
  return address;
}

static void fill_lists(writer_t *w, const flat_step_t *step, const jit_call_t *call, place_lists_t *lists) {
  for (int k = 0; k < call->kernel->buffer_count; k++) {
    if (call->in[k] >= 0)
      place_array(w, step->in[call->in[k]], &lists->ins[k], &lists->in_registers[k]);
    else
      lists->ins[k] = next_literal(w);
  }
  for (int r = 0; r < call->kernel->root_count; r++)
    place_array(w, step->out[call->out[r]], &lists->outs[r], &lists->out_registers[r]);
  if (step->scratch.buffer >= 0)
    lists->outs[call->kernel->root_count] = moved_by(w, address_of(w, step->scratch), (int64_t)call->shared_at);
}

/* Kernels without loops compute all at once: vectors are as long as their arrays. */
static void straighten(jit_kernel_t *kernel) {
  int lanes = region_lanes_of(kernel);
  if (!lanes) return;
  kernel->lanes = lanes, kernel->vectors = 1, kernel->block = 0, kernel->unit_rank = 0, kernel->phases[0].units = 1;
}

static hr_status_t write_call(writer_t *w, const flat_step_t *step, const jit_call_t *call) {
  jit_kernel_t *kernel = call->kernel, as_it_was = *kernel;
  int64_t units[JIT_MAX_PHASES];
  place_lists_t lists;
  HR_TRY(new_lists(&w->kernel->arena, kernel, &lists));
  fill_lists(w, step, call, &lists);
  straighten(kernel);
  for (int p = 0; p < kernel->phase_count; p++) units[p] = kernel->phases[p].units;
  jit_place_t place = {.function = w->function, .block = w->at, .ins = lists.ins, .outs = lists.outs, .units = units,
                       .in_registers = lists.in_registers, .out_registers = lists.out_registers,
                       .nowhere = w->nowhere};
  if (step->scratch.buffer >= 0) place.scratch = moved_by(w, address_of(w, step->scratch), (int64_t)call->own_at);
  w->code->place = &place;
  hr_status_t st = jit_kernel_write(kernel, w->code);
  w->code->place = NULL;
  kernel->lanes = as_it_was.lanes, kernel->vectors = as_it_was.vectors, kernel->block = as_it_was.block;
  kernel->unit_rank = as_it_was.unit_rank, kernel->phases[0] = as_it_was.phases[0];
  w->nowhere = place.nowhere;
  go_on(w, place.block);
  return st;
}

static hr_status_t write_kernels(writer_t *w, const flat_step_t *step) {
  const jit_plan_t *plan = step->plan;
  for (int c = 0; c < plan->copy_count; c++) {
    const jit_copy_t *copy = &plan->copies[c];
    write_copy(w, step->in[copy->in], step->out[copy->out], (int64_t)copy->bytes);
  }
  for (int c = 0; c < plan->call_count; c++) HR_TRY(write_call(w, step, &plan->calls[c]));
  return NULL;
}

/* --- loops ----------------------------------------------------------------------------------------------------- */

static hr_status_t write_range(writer_t *w, int begin, int end);

/* Values that come from the blocks before, then from where the loop's last step is. */
typedef struct phis {
  LLVMValueRef turn, *registers; /* by buffer; NULL: it has none */
} phis_t;

static hr_status_t open_phis(writer_t *w, int s, LLVMBasicBlockRef before, phis_t *out_phis) {
  const jit_region_t *region = w->region;
  LLVMValueRef zero = number(w, 0);
  HR_TRY(HR_NEW_ARRAY(&w->kernel->arena, region->buffer_count + 1, &out_phis->registers));
  out_phis->turn = llvm()->BuildPhi(w->b, w->i64, "");
  llvm()->AddIncoming(out_phis->turn, &zero, &before, 1);
  for (int b = 0; b < region->buffer_count; b++) {
    region_buffer_t *buffer = &region->buffers[b];
    if (!is_kept(region, buffer, s, s + 1, region_step(region, s)->end)) continue;
    LLVMValueRef phi = llvm()->BuildPhi(w->b, register_type(w, &buffer->reg), "");
    llvm()->AddIncoming(phi, &buffer->reg.value, &before, 1);
    out_phis->registers[b] = buffer->reg.value = phi;
  }
  return NULL;
}

static void close_phis(writer_t *w, const phis_t *phis) {
  LLVMValueRef next = llvm()->BuildAdd(w->b, phis->turn, number(w, 1), "");
  llvm()->AddIncoming(phis->turn, &next, &w->at, 1);
  for (int b = 0; b < w->region->buffer_count; b++)
    if (phis->registers[b]) llvm()->AddIncoming(phis->registers[b], &w->region->buffers[b].reg.value, &w->at, 1);
}

static void keep_values(const jit_region_t *region, LLVMValueRef *out_values) {
  for (int b = 0; b < region->buffer_count; b++) out_values[b] = region->buffers[b].reg.value;
}

static void return_to_values(jit_region_t *region, const LLVMValueRef *values) {
  for (int b = 0; b < region->buffer_count; b++) region->buffers[b].reg.value = values[b];
}

/* Every so many turns of a loop the machine looks whether it is to stop. */
static void write_look(writer_t *w, int s, LLVMValueRef turn) {
  int64_t turns = w->region->turns[s - w->region->step];
  if (!turns) return;
  LLVMBasicBlockRef looks = new_block(w), after = new_block(w);
  LLVMValueRef last = number(w, turns - 1), rest = llvm()->BuildAnd(w->b, turn, last, "");
  llvm()->BuildCondBr(w->b, llvm()->BuildICmp(w->b, LLVMIntEQ, rest, last, ""), looks, after);
  go_on(w, looks);
  call_step(w, s, turns);
  jump(w, after);
  go_on(w, after);
}

static hr_status_t write_condition(writer_t *w, const flat_step_t *step, LLVMValueRef turn, LLVMValueRef *out_goes_on) {
  if (step->turns >= 0) {
    *out_goes_on = llvm()->BuildICmp(w->b, LLVMIntULT, turn, number(w, step->turns), "");
    return NULL;
  }
  HR_TRY(write_range(w, step->starts[0], step->starts[1]));
  LLVMValueRef met = read_scalar(w, step->in[0], HR_PRED);
  *out_goes_on = llvm()->BuildICmp(w->b, LLVMIntNE, met, llvm()->ConstNull(w->i8), "");
  return NULL;
}

static hr_status_t write_while(writer_t *w, int s) {
  const flat_step_t *step = region_step(w->region, s);
  LLVMBasicBlockRef header = new_block(w), body = new_block(w), leave = new_block(w), before = w->at;
  LLVMValueRef goes_on, *values;
  phis_t phis;
  HR_TRY(HR_NEW_ARRAY(&w->kernel->arena, w->region->buffer_count + 1, &values));
  jump(w, header);
  go_on(w, header);
  HR_TRY(open_phis(w, s, before, &phis));
  HR_TRY(write_condition(w, step, phis.turn, &goes_on));
  keep_values(w->region, values);
  llvm()->BuildCondBr(w->b, goes_on, body, leave);
  go_on(w, body);
  write_look(w, s, phis.turn);
  HR_TRY(write_range(w, step->starts[1], step->end));
  close_phis(w, &phis);
  jump(w, header);
  return_to_values(w->region, values);
  go_on(w, leave);
  return NULL;
}

/* --- conditionals ---------------------------------------------------------------------------------------------- */

typedef struct branch_end {
  LLVMBasicBlockRef block;
  LLVMValueRef *values;
} branch_end_t;

/* Whether branch k is taken, if none before it is. Predicates: true is branch 0. */
static LLVMValueRef is_branch(writer_t *w, const flat_step_t *step, LLVMValueRef choice, int k) {
  LLVMTypeRef type = llvm()->TypeOf(choice);
  if (step->source->op.in_shapes[0]->dtype == HR_PRED)
    return llvm()->BuildICmp(w->b, LLVMIntNE, choice, llvm()->ConstNull(type), "");
  return llvm()->BuildICmp(w->b, LLVMIntEQ, choice, llvm()->ConstInt(type, (uint64_t)k, false), "");
}

static void join_branches(writer_t *w, int s, const branch_end_t *ends) {
  const flat_step_t *step = region_step(w->region, s);
  for (int b = 0; b < w->region->buffer_count; b++) {
    region_buffer_t *buffer = &w->region->buffers[b];
    if (!is_kept(w->region, buffer, s, s + 1, step->end)) continue;
    LLVMValueRef phi = llvm()->BuildPhi(w->b, register_type(w, &buffer->reg), "");
    for (int k = 0; k < step->start_count; k++)
      llvm()->AddIncoming(phi, &ends[k].values[b], (LLVMBasicBlockRef *)&ends[k].block, 1);
    buffer->reg.value = phi;
  }
}

static hr_status_t write_branch(writer_t *w, const flat_step_t *step, int k, LLVMBasicBlockRef after,
                                branch_end_t *out_end) {
  int end = k + 1 < step->start_count ? step->starts[k + 1] : step->end;
  HR_TRY(HR_NEW_ARRAY(&w->kernel->arena, w->region->buffer_count + 1, &out_end->values));
  HR_TRY(write_range(w, step->starts[k], end));
  out_end->block = w->at;
  keep_values(w->region, out_end->values);
  jump(w, after);
  return NULL;
}

static hr_status_t write_conditional(writer_t *w, int s) {
  const flat_step_t *step = region_step(w->region, s);
  bool is_pred = step->source->op.in_shapes[0]->dtype == HR_PRED;
  LLVMValueRef choice = read_scalar(w, step->in[0], is_pred ? HR_PRED : HR_S32), *values;
  LLVMBasicBlockRef after = new_block(w);
  branch_end_t *ends;
  HR_TRY(HR_NEW_ARRAY(&w->kernel->arena, step->start_count, &ends));
  HR_TRY(HR_NEW_ARRAY(&w->kernel->arena, w->region->buffer_count + 1, &values));
  keep_values(w->region, values);
  for (int k = 0; k < step->start_count; k++) {
    LLVMBasicBlockRef branch = new_block(w), others = k + 1 < step->start_count ? new_block(w) : branch;
    if (others == branch)
      llvm()->BuildBr(w->b, branch);
    else
      llvm()->BuildCondBr(w->b, is_branch(w, step, choice, k), branch, others);
    go_on(w, branch);
    HR_TRY(write_branch(w, step, k, after, &ends[k]));
    return_to_values(w->region, values);
    if (others != branch) go_on(w, others);
  }
  go_on(w, after);
  join_branches(w, s, ends);
  return NULL;
}

/* --- all of it ------------------------------------------------------------------------------------------------- */

static hr_status_t write_step(writer_t *w, int s) {
  const flat_step_t *step = region_step(w->region, s);
  switch (step->kind) {
    case FLAT_WHILE: return write_while(w, s);
    case FLAT_CONDITIONAL: return write_conditional(w, s);
    case FLAT_COPY: write_copy(w, step->in[0], step->out[0], (int64_t)step->copy_bytes); return NULL;
    default: break;
  }
  if (w->region->is_written_out[s - w->region->step]) return write_kernels(w, step);
  call_step(w, s, 0);
  return NULL;
}

static hr_status_t write_range(writer_t *w, int begin, int end) {
  for (int s = begin; s < end; s = region_step(w->region, s)->end) HR_TRY(write_step(w, s));
  return NULL;
}

static void open_function(writer_t *w) {
  char name[64];
  LLVMTypeRef arguments[] = {w->pointer, w->pointer, w->pointer, w->i64, w->i64};
  LLVMTypeRef type = llvm()->FunctionType(llvm()->VoidTypeInContext(w->code->context), arguments, 5, false);
  jit_kernel_phase_name(w->kernel, 0, name);
  w->function = llvm()->AddFunction(w->code->module, name, type);
  jit_function_attribute(w->code, w->function, LLVMAttributeFunctionIndex, "nounwind", 0);
  w->table = llvm()->GetParam(w->function, 0), w->status = llvm()->GetParam(w->function, 2);
  w->run_step_type = llvm()->FunctionType(w->pointer, (LLVMTypeRef[]){w->pointer, w->i32, w->i64}, 3, false);
  go_on(w, w->entry = new_block(w));
  w->run = entry_of_list(w, llvm()->GetParam(w->function, 1), 0);
  w->run_step = entry_of_list(w, llvm()->GetParam(w->function, 1), 1);
  for (int b = 0; b < w->region->buffer_count; b++)
    w->region->buffers[b].address = entry_of_list(w, w->table, b);
  LLVMBasicBlockRef first = new_block(w);
  jump(w, first);
  go_on(w, first);
}

hr_status_t jit_region_write(jit_kernel_t *kernel, jit_code_t *code) {
  LLVMContextRef context = code->context;
  writer_t w = {.kernel = kernel, .region = kernel->region, .code = code, .b = code->builder,
                .i8 = llvm()->Int8TypeInContext(context), .i32 = llvm()->Int32TypeInContext(context),
                .i64 = llvm()->Int64TypeInContext(context), .pointer = llvm()->PointerTypeInContext(context, 0)};
  open_function(&w);
  start_registers(&w);
  HR_TRY(write_while(&w, kernel->region->step));
  store_registers(&w);
  llvm()->BuildRetVoid(w.b);
  return NULL;
}
