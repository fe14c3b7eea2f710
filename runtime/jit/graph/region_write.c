/* Code of regions: the steps of a loop body as one function.
 *
 * The entry block loads all addresses. Arrays in registers (region_scalar_replacement.c) are SSA
 * values, loaded on entry and stored on exit if something later reads them. The writer keeps the
 * current value of each, and while loops and conditionals join the values of their predecessors
 * by phis: direct SSA construction over structured control flow. Steps that are called through
 * the executor never touch an array in a register.
 *
 *     entry -> while { steps; phis of the registers; poll for cancellation } -> exit */
#include <string.h>

#include "jit/element/element.h"
#include "jit/graph/region.h"

#define INLINE_COPY_BYTES 512 /* most bytes of a copy without a call */

typedef struct writer {
  jit_kernel_t *kernel;
  jit_region_t *region;
  jit_code_t *code;
  kir_builder_t *b;
  kir_type_t *i8, *i32, *i64, *pointer;
  kir_value_t *function, *table, *run, *run_step, *status, *nowhere;
  kir_block_t *entry, *at; /* at: current block */
  kir_type_t *run_step_type;
  int literals; /* number of literals used so far */
} writer_t;

static kir_value_t *const_i64(const writer_t *w, int64_t value) {
  return kir_const_int(w->i64, (uint64_t)value);
}

static kir_block_t *new_block(const writer_t *w) { return kir_append_block(w->function, ""); }

static void set_block(writer_t *w, kir_block_t *block) {
  w->at = block;
  kir_position_at_end(w->b, block);
}

static void emit_jump(writer_t *w, kir_block_t *to) {
  kir_position_at_end(w->b, w->at);
  kir_br(w->b, to);
}

static kir_value_t *entry_of_list(writer_t *w, kir_value_t *list, int k) {
  kir_value_t *index = const_i64(w, k);
  kir_value_t *slot_address = kir_inbounds_gep(w->b, w->pointer, list, index);
  return kir_load(w->b, w->pointer, slot_address);
}

static kir_value_t *offset_address(writer_t *w, kir_value_t *address, int64_t bytes) {
  kir_value_t *offset = const_i64(w, bytes);
  return bytes ? kir_inbounds_gep(w->b, w->i8, address, offset) : address;
}

static kir_value_t *address_of(writer_t *w, flat_ref_t ref) {
  return offset_address(w, region_buffer_of(w->region, ref)->address, (int64_t)ref.offset_bytes);
}

/* --- registers -------------------------------------------------------------------------------- */

static kir_type_t *register_type(const writer_t *w, const jit_register_t *reg) {
  return jit_vector_type(jit_memory_type(w->code, reg->dtype), reg->count);
}

static kir_value_t *load_as(writer_t *w, const jit_register_t *reg, kir_value_t *address) {
  kir_value_t *value = kir_load(w->b, register_type(w, reg), address);
  kir_set_align(value, (unsigned)hr_dtype_bytes(reg->dtype));
  return value;
}

static void store_value(writer_t *w, const jit_register_t *reg, kir_value_t *value,
                        kir_value_t *address) {
  kir_value_t *store = kir_store(w->b, value, address);
  kir_set_align(store, (unsigned)hr_dtype_bytes(reg->dtype));
}

static kir_value_t *read_scalar(writer_t *w, flat_ref_t ref, hr_dtype_t dtype) {
  const region_buffer_t *buffer = region_buffer_of(w->region, ref);
  const jit_register_t scalar = {.dtype = dtype, .count = 1};
  return buffer->is_register ? buffer->reg.value : load_as(w, &scalar, address_of(w, ref));
}

/* Does a step in [begin, end) write the buffer? */
static bool is_written(const jit_region_t *region, const region_buffer_t *buffer, int begin,
                       int end) {
  for (int s = begin; s < end; s++) {
    const flat_step_t *step = region_step(region, s);
    for (int i = 0; i < step->out_count; i++)
      if (region_buffer_of(region, step->out[i]) == buffer) return true;
  }
  return false;
}

/* Is the register written in [begin, end) and live across it: defined before `step`, or used after
 * the range or in the next iteration? */
static bool is_live_across(const jit_region_t *region, const region_buffer_t *buffer, int step,
                           int begin, int end) {
  const flat_buffer_t *flat = &region->flat->buffers[buffer->buffer];
  return buffer->is_register && is_written(region, buffer, begin, end) &&
         (flat->start <= step || flat->end >= end);
}

static void start_registers(writer_t *w) {
  const jit_region_t *region = w->region;
  for (int b = 0; b < region->buffer_count; b++) {
    region_buffer_t *buffer = &region->buffers[b];
    if (!buffer->is_register) continue;
    bool has_value = region->flat->buffers[buffer->buffer].start < region->step;
    buffer->reg.value = has_value ? load_as(w, &buffer->reg, buffer->address)
                                  : kir_null(register_type(w, &buffer->reg));
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

/* --- calls ------------------------------------------------------------------------------------ */

/* Calls step `step` in the executor. `rounds` > 0: polls for cancellation after that many
 * iterations. */
static void call_step(writer_t *w, int step, int64_t rounds) {
  kir_value_t *arguments[] = {w->run, kir_const_int(w->i32, (uint64_t)step), const_i64(w, rounds)};
  kir_block_t *after = new_block(w), *bad = new_block(w);
  kir_value_t *status = kir_call(w->b, w->run_step_type, w->run_step, arguments, 3);
  kir_value_t *fine = kir_icmp(w->b, KIR_ICMP_EQ, status, kir_null(w->pointer));
  kir_cond_br(w->b, fine, after, bad);
  set_block(w, bad);
  kir_store(w->b, status, w->status);
  kir_ret_void(w->b);
  set_block(w, after);
}

/* --- copies ----------------------------------------------------------------------------------- */

static void copy_piece(writer_t *w, kir_type_t *type, int64_t at, kir_value_t *from,
                       kir_value_t *to) {
  kir_value_t *value = kir_load(w->b, type, offset_address(w, from, at));
  kir_set_align(value, 1);
  kir_value_t *store = kir_store(w->b, value, offset_address(w, to, at));
  kir_set_align(store, 1);
}

static void copy_bytes(writer_t *w, kir_value_t *from, kir_value_t *to, int64_t count) {
  kir_type_t *vector = kir_vector_type(w->i8, (unsigned)w->kernel->target->vector_bytes);
  int64_t at = 0, step = w->kernel->target->vector_bytes;
  for (; at + step <= count; at += step) copy_piece(w, vector, at, from, to);
  for (step = 8; step; step /= 2)
    for (; at + step <= count; at += step)
      copy_piece(w, kir_int_type(w->code->module, (unsigned)(8 * step)), at, from, to);
}

static void copy_long(writer_t *w, kir_value_t *from, kir_value_t *to, int64_t count) {
  kir_value_t *is_volatile = kir_const_int(kir_int_type(w->code->module, 1), 0);
  kir_value_t *arguments[] = {to, from, const_i64(w, count), is_volatile};
  jit_intrinsic(w->code, KIR_MEMMOVE, kir_void_type(w->code->module), arguments, 4);
}

static void emit_copy(writer_t *w, flat_ref_t in, flat_ref_t out, int64_t bytes) {
  region_buffer_t *from = region_buffer_of(w->region, in), *to = region_buffer_of(w->region, out);
  if (from->is_register && to->is_register)
    to->reg.value = from->reg.value;
  else if (from->is_register)
    store_value(w, &from->reg, from->reg.value, address_of(w, out));
  else if (to->is_register)
    to->reg.value = load_as(w, &to->reg, address_of(w, in));
  else if (from != to || in.offset_bytes != out.offset_bytes)
    (bytes <= INLINE_COPY_BYTES && from != to ? copy_bytes : copy_long)(w, address_of(w, in),
                                                                        address_of(w, out), bytes);
}

/* --- kernels ---------------------------------------------------------------------------------- */

typedef struct buffer_lists {
  kir_value_t **ins, **outs;
  jit_register_t **in_registers, **out_registers;
} buffer_lists_t;

static hr_status_t new_lists(hr_arena_t *arena, const jit_kernel_t *kernel,
                             buffer_lists_t *out_lists) {
  int in_count = kernel->arrays.count + 1, out_count = kernel->root_count + 1;
  HR_TRY(HR_NEW_ARRAY(arena, in_count, &out_lists->ins));
  HR_TRY(HR_NEW_ARRAY(arena, in_count, &out_lists->in_registers));
  HR_TRY(HR_NEW_ARRAY(arena, out_count, &out_lists->outs));
  return HR_NEW_ARRAY(arena, out_count, &out_lists->out_registers);
}

static void set_array(writer_t *w, flat_ref_t ref, kir_value_t **out_address,
                      jit_register_t **out_register) {
  region_buffer_t *buffer = region_buffer_of(w->region, ref);
  *out_register = buffer->is_register ? &buffer->reg : NULL;
  *out_address = buffer->is_register ? NULL : address_of(w, ref);
}

static kir_value_t *next_literal(writer_t *w) {
  kir_position_before(w->b, kir_terminator(w->entry));
  kir_value_t *address = entry_of_list(w, w->table, w->region->buffer_count + w->literals++);
  kir_position_at_end(w->b, w->at);
  return address;
}

static void fill_lists(writer_t *w, const flat_step_t *step, const jit_call_t *call,
                       buffer_lists_t *lists) {
  for (int k = 0; k < call->kernel->arrays.count; k++) {
    if (call->in[k] >= 0)
      set_array(w, step->in[call->in[k]], &lists->ins[k], &lists->in_registers[k]);
    else
      lists->ins[k] = next_literal(w);
  }
  for (int r = 0; r < call->kernel->root_count; r++)
    set_array(w, step->out[call->out[r]], &lists->outs[r], &lists->out_registers[r]);
  if (step->scratch.buffer >= 0)
    lists->outs[call->kernel->root_count] =
        offset_address(w, address_of(w, step->scratch), (int64_t)call->shared_at);
}

/* Kernels without loops compute all elements at once: vectors have the length of their arrays. */
static void use_full_vectors(jit_kernel_t *kernel) {
  int lanes = region_lanes_of(kernel);
  if (!lanes) return;
  kernel->loops.lanes = lanes;
  kernel->loops.vectors = 1;
  kernel->loops.block = 0;
  kernel->loops.unit_rank = 0;
  kernel->schedule.phases[0].units = 1;
}

static hr_status_t emit_kernel_call(writer_t *w, const flat_step_t *step, const jit_call_t *call) {
  jit_kernel_t *kernel = call->kernel, as_it_was = *kernel;
  int64_t units[JIT_MAX_PHASES];
  buffer_lists_t lists;
  HR_TRY(new_lists(&w->kernel->arena, kernel, &lists));
  fill_lists(w, step, call, &lists);
  use_full_vectors(kernel);
  for (int p = 0; p < kernel->schedule.phase_count; p++)
    units[p] = kernel->schedule.phases[p].units;
  jit_function_part_t slot_address = {.function = w->function,
                                      .block = w->at,
                                      .ins = lists.ins,
                                      .outs = lists.outs,
                                      .units = units,
                                      .in_registers = lists.in_registers,
                                      .out_registers = lists.out_registers,
                                      .nowhere = w->nowhere};
  if (step->scratch.buffer >= 0)
    slot_address.scratch =
        offset_address(w, address_of(w, step->scratch), (int64_t)call->private_at);
  w->code->function_part = &slot_address;
  hr_status_t st = jit_kernel_write(kernel, w->code);
  w->code->function_part = NULL;
  kernel->loops.lanes = as_it_was.loops.lanes;
  kernel->loops.vectors = as_it_was.loops.vectors;
  kernel->loops.block = as_it_was.loops.block;
  kernel->loops.unit_rank = as_it_was.loops.unit_rank;
  kernel->schedule.phases[0] = as_it_was.schedule.phases[0];
  w->nowhere = slot_address.nowhere;
  set_block(w, slot_address.block);
  return st;
}

static hr_status_t emit_kernels(writer_t *w, const flat_step_t *step) {
  const jit_plan_t *plan = step->native.plan;
  for (int c = 0; c < plan->copy_count; c++) {
    const jit_copy_t *copy = &plan->copies[c];
    emit_copy(w, step->in[copy->in], step->out[copy->out], (int64_t)copy->bytes);
  }
  for (int c = 0; c < plan->call_count; c++) HR_TRY(emit_kernel_call(w, step, &plan->calls[c]));
  return NULL;
}

/* --- loops ------------------------------------------------------------------------------------ */

static hr_status_t emit_steps(writer_t *w, int begin, int end);

/* Phis of a loop: incoming values from the preheader, then from the loop's last block. */
typedef struct phis {
  kir_value_t *iteration, **registers; /* by buffer; NULL: none */
} phis_t;

static hr_status_t open_phis(writer_t *w, int s, kir_block_t *before, phis_t *out_phis) {
  const jit_region_t *region = w->region;
  kir_value_t *zero = const_i64(w, 0);
  HR_TRY(HR_NEW_ARRAY(&w->kernel->arena, region->buffer_count + 1, &out_phis->registers));
  out_phis->iteration = kir_phi(w->b, w->i64);
  kir_add_incoming(out_phis->iteration, &zero, &before, 1);
  for (int b = 0; b < region->buffer_count; b++) {
    region_buffer_t *buffer = &region->buffers[b];
    if (!is_live_across(region, buffer, s, s + 1, region_step(region, s)->end)) continue;
    kir_value_t *phi = kir_phi(w->b, register_type(w, &buffer->reg));
    kir_add_incoming(phi, &buffer->reg.value, &before, 1);
    out_phis->registers[b] = phi;
    buffer->reg.value = phi;
  }
  return NULL;
}

static void close_phis(writer_t *w, const phis_t *phis) {
  kir_value_t *next = kir_add(w->b, phis->iteration, const_i64(w, 1));
  kir_add_incoming(phis->iteration, &next, &w->at, 1);
  for (int b = 0; b < w->region->buffer_count; b++)
    if (phis->registers[b])
      kir_add_incoming(phis->registers[b], &w->region->buffers[b].reg.value, &w->at, 1);
}

static void save_register_values(const jit_region_t *region, kir_value_t **out_values) {
  for (int b = 0; b < region->buffer_count; b++) out_values[b] = region->buffers[b].reg.value;
}

static void restore_register_values(jit_region_t *region, kir_value_t *const *values) {
  for (int b = 0; b < region->buffer_count; b++) region->buffers[b].reg.value = values[b];
}

/* Polls for cancellation every poll_intervals iterations of a loop. */
static void emit_poll(writer_t *w, int s, kir_value_t *iteration) {
  int64_t interval = w->region->poll_intervals[s - w->region->step];
  if (!interval) return;
  kir_block_t *looks = new_block(w), *after = new_block(w);
  kir_value_t *last = const_i64(w, interval - 1), *rest = kir_and(w->b, iteration, last);
  kir_cond_br(w->b, kir_icmp(w->b, KIR_ICMP_EQ, rest, last), looks, after);
  set_block(w, looks);
  call_step(w, s, interval);
  emit_jump(w, after);
  set_block(w, after);
}

static hr_status_t emit_condition(writer_t *w, const flat_step_t *step, kir_value_t *iteration,
                                  kir_value_t **out_continues) {
  if (step->control.trip_count >= 0) {
    *out_continues =
        kir_icmp(w->b, KIR_ICMP_ULT, iteration, const_i64(w, step->control.trip_count));
    return NULL;
  }
  HR_TRY(emit_steps(w, step->control.starts[0], step->control.starts[1]));
  kir_value_t *met = read_scalar(w, step->in[0], HR_PRED);
  *out_continues = kir_icmp(w->b, KIR_ICMP_NE, met, kir_null(w->i8));
  return NULL;
}

static hr_status_t emit_while(writer_t *w, int s) {
  const flat_step_t *step = region_step(w->region, s);
  kir_block_t *header = new_block(w), *body = new_block(w), *leave = new_block(w), *before = w->at;
  kir_value_t *continues, **values;
  phis_t phis;
  HR_TRY(HR_NEW_ARRAY(&w->kernel->arena, w->region->buffer_count + 1, &values));
  emit_jump(w, header);
  set_block(w, header);
  HR_TRY(open_phis(w, s, before, &phis));
  HR_TRY(emit_condition(w, step, phis.iteration, &continues));
  save_register_values(w->region, values);
  kir_cond_br(w->b, continues, body, leave);
  set_block(w, body);
  emit_poll(w, s, phis.iteration);
  HR_TRY(emit_steps(w, step->control.starts[1], step->end));
  close_phis(w, &phis);
  emit_jump(w, header);
  restore_register_values(w->region, values);
  set_block(w, leave);
  return NULL;
}

/* --- conditionals ----------------------------------------------------------------------------- */

typedef struct branch_end {
  kir_block_t *block;
  kir_value_t **values;
} branch_end_t;

/* Is branch k taken, provided no earlier one is? Predicates: true is branch 0. */
static kir_value_t *is_branch(writer_t *w, const flat_step_t *step, kir_value_t *choice, int k) {
  kir_type_t *type = kir_type_of(choice);
  if (step->source->op.in_shapes[0]->dtype == HR_PRED)
    return kir_icmp(w->b, KIR_ICMP_NE, choice, kir_null(type));
  return kir_icmp(w->b, KIR_ICMP_EQ, choice, kir_const_int(type, (uint64_t)k));
}

static void join_branches(writer_t *w, int s, const branch_end_t *ends) {
  const flat_step_t *step = region_step(w->region, s);
  for (int b = 0; b < w->region->buffer_count; b++) {
    region_buffer_t *buffer = &w->region->buffers[b];
    if (!is_live_across(w->region, buffer, s, s + 1, step->end)) continue;
    kir_value_t *phi = kir_phi(w->b, register_type(w, &buffer->reg));
    for (int k = 0; k < step->control.start_count; k++)
      kir_add_incoming(phi, &ends[k].values[b], (kir_block_t **)&ends[k].block, 1);
    buffer->reg.value = phi;
  }
}

static hr_status_t emit_branch(writer_t *w, const flat_step_t *step, int k, kir_block_t *after,
                               branch_end_t *out_end) {
  int end = k + 1 < step->control.start_count ? step->control.starts[k + 1] : step->end;
  HR_TRY(HR_NEW_ARRAY(&w->kernel->arena, w->region->buffer_count + 1, &out_end->values));
  HR_TRY(emit_steps(w, step->control.starts[k], end));
  out_end->block = w->at;
  save_register_values(w->region, out_end->values);
  emit_jump(w, after);
  return NULL;
}

static hr_status_t emit_conditional(writer_t *w, int s) {
  const flat_step_t *step = region_step(w->region, s);
  bool is_pred = step->source->op.in_shapes[0]->dtype == HR_PRED;
  kir_value_t *choice = read_scalar(w, step->in[0], is_pred ? HR_PRED : HR_S32), **values;
  kir_block_t *after = new_block(w);
  branch_end_t *ends;
  HR_TRY(HR_NEW_ARRAY(&w->kernel->arena, step->control.start_count, &ends));
  HR_TRY(HR_NEW_ARRAY(&w->kernel->arena, w->region->buffer_count + 1, &values));
  save_register_values(w->region, values);
  for (int k = 0; k < step->control.start_count; k++) {
    kir_block_t *branch = new_block(w),
                *others = k + 1 < step->control.start_count ? new_block(w) : branch;
    if (others == branch)
      kir_br(w->b, branch);
    else
      kir_cond_br(w->b, is_branch(w, step, choice, k), branch, others);
    set_block(w, branch);
    HR_TRY(emit_branch(w, step, k, after, &ends[k]));
    restore_register_values(w->region, values);
    if (others != branch) set_block(w, others);
  }
  set_block(w, after);
  join_branches(w, s, ends);
  return NULL;
}

/* --- the function ----------------------------------------------------------------------------- */

static hr_status_t emit_step(writer_t *w, int s) {
  const flat_step_t *step = region_step(w->region, s);
  switch (step->kind) {
    case FLAT_WHILE:
      return emit_while(w, s);
    case FLAT_CONDITIONAL:
      return emit_conditional(w, s);
    case FLAT_COPY:
      emit_copy(w, step->in[0], step->out[0], (int64_t)step->copy.size_bytes);
      return NULL;
    default:
      break;
  }
  if (w->region->is_inlined[s - w->region->step]) return emit_kernels(w, step);
  call_step(w, s, 0);
  return NULL;
}

static hr_status_t emit_steps(writer_t *w, int begin, int end) {
  for (int s = begin; s < end; s = region_step(w->region, s)->end) HR_TRY(emit_step(w, s));
  return NULL;
}

static void open_function(writer_t *w) {
  char name[64];
  kir_type_t *arguments[] = {w->pointer, w->pointer, w->pointer, w->i64, w->i64};
  kir_type_t *type = kir_function_type(kir_void_type(w->code->module), arguments, 5);
  jit_kernel_phase_name(w->kernel, 0, name);
  w->function = kir_add_function(w->code->module, name, type);
  kir_add_attributes(w->function, KIR_NOUNWIND);
  w->table = kir_param(w->function, 0);
  w->status = kir_param(w->function, 2);
  w->run_step_type = kir_function_type(w->pointer, (kir_type_t *[]){w->pointer, w->i32, w->i64}, 3);
  set_block(w, w->entry = new_block(w));
  w->run = entry_of_list(w, kir_param(w->function, 1), 0);
  w->run_step = entry_of_list(w, kir_param(w->function, 1), 1);
  for (int b = 0; b < w->region->buffer_count; b++)
    w->region->buffers[b].address = entry_of_list(w, w->table, b);
  kir_block_t *first = new_block(w);
  emit_jump(w, first);
  set_block(w, first);
}

hr_status_t jit_region_write(jit_kernel_t *kernel, jit_code_t *code) {
  kir_module_t *module = code->module;
  writer_t w = {.kernel = kernel,
                .region = kernel->region,
                .code = code,
                .b = code->builder,
                .i8 = kir_int_type(module, 8),
                .i32 = kir_int_type(module, 32),
                .i64 = kir_int_type(module, 64),
                .pointer = kir_pointer_type(module)};
  open_function(&w);
  start_registers(&w);
  HR_TRY(emit_while(&w, kernel->region->step));
  store_registers(&w);
  kir_ret_void(w.b);
  return NULL;
}
