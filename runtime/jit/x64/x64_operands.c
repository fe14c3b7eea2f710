/* Operands of the instruction selector: registers, spill slots, constants, addresses, parallel
 * copies.
 *
 * A spilled value is read into a scratch register and written back from one; three vector
 * registers, one mask register and ax, cx, dx are reserved for that. Constants are, in this order,
 * an immediate, a register of their own for the whole function (pinned_const_t), a broadcast
 * element, or a full vector in the constant pool after the code.
 *
 * Parallel copies are sequentialised by moving into locations that no pending move reads; when none
 * is left, the remaining moves are cycles, which are broken through a scratch register. */
#include <string.h>

#include "jit/x64/x64_isel.h"

void x64_unsupported(x64_code_t *code, const char *what) {
  if (!code->unsupported) code->unsupported = what;
}

int x64_vector_length(x64_code_t *code, const kir_type_t *type) {
  unsigned bits = kir_width(type);
  if (bits > (unsigned)code->isa->vector_bits || (type->lanes & (type->lanes - 1)))
    x64_unsupported(code, "vectors of odd sizes");
  if (bits > 256) return 2;
  return bits > 128;
}

/* --- registers and the stack ------------------------------------------------------------------ */

static x86_mem_t slot_of(const x64_code_t *code, const live_interval_t *interval) {
  return (x86_mem_t){
      .base = X86_SP, .index = X86_NONE, .scale = 1, .disp = code->frame_bytes - interval->slot};
}

static const x86_opcode_t load_opcode = X86_OP(0, 1, 0, 0x10), store_opcode = X86_OP(0, 1, 0, 0x11);

void x64_emit_masked(x64_code_t *code, x86_opcode_t opcode, int width, int mask, bool zeroes,
                     int to, int from, int last) {
  x86_vector(
      &code->x,
      (x86_vector_t){
          .opcode = opcode, .width = width, .to = to, .from = from, .mask = mask, .zeroes = zeroes},
      last);
}

void x64_emit_registers(x64_code_t *code, x86_opcode_t opcode, int width, int to, int from,
                        int last) {
  x64_emit_masked(code, opcode, width, 0, false, to, from, last);
}

void x64_move_vector(x64_code_t *code, int to, int from) {
  if (to != from) x64_emit_registers(code, load_opcode, code->isa->full_width, to, X86_NONE, from);
}

static void mask_from_gpr(x64_code_t *code, int to, int from) {
  x86_mask(&code->x, X86_KMOV_FROM_GPR, to, X86_NONE, from);
}

static void gpr_from_mask(x64_code_t *code, int to, int from) {
  x86_mask(&code->x, X86_KMOV_TO_GPR, to, X86_NONE, from);
}

void x64_move_mask(x64_code_t *code, int to, int from) {
  if (to != from) x86_mask(&code->x, X86_KMOV, to, X86_NONE, from);
}

void x64_load_mask(x64_code_t *code, uint64_t bits, int to) {
  x86_mov_constant(&code->x, X86_CX, bits);
  mask_from_gpr(code, to, X86_CX);
}

static void load_interval(x64_code_t *code, const live_interval_t *interval, int to) {
  x86_mem_t slot = slot_of(code, interval);
  if (interval->kind == X64_GPR) {
    x86_load(&code->x, to, slot, 64);
  } else if (interval->kind == X64_VECTOR) {
    x86_vector_memory(&code->x,
                      (x86_vector_t){.opcode = load_opcode,
                                     .width = code->isa->full_width,
                                     .to = to,
                                     .from = X86_NONE,
                                     .unit = code->isa->vector_bits / 8},
                      slot);
  } else {
    x86_load(&code->x, X86_CX, slot, 64);
    mask_from_gpr(code, to, X86_CX);
  }
}

static void store_interval(x64_code_t *code, const live_interval_t *interval, int from) {
  x86_mem_t slot = slot_of(code, interval);
  if (interval->kind == X64_GPR) {
    x86_store(&code->x, slot, from, 64);
  } else if (interval->kind == X64_VECTOR) {
    x86_vector_memory(&code->x,
                      (x86_vector_t){.opcode = store_opcode,
                                     .width = code->isa->full_width,
                                     .to = from,
                                     .from = X86_NONE,
                                     .unit = code->isa->vector_bits / 8},
                      slot);
  } else {
    gpr_from_mask(code, X86_CX, from);
    x86_store(&code->x, slot, X86_CX, 64);
  }
}

static bool is_saved_at(const live_interval_t *interval, int position) {
  return interval->is_saved && interval->reg != X86_NONE && interval->from < position &&
         interval->to > position;
}

/* A register that no value occupies, as an interval. */
static live_interval_t scratch_interval(const x64_code_t *code, x64_class_t kind, int reg) {
  int index = kind == X64_VECTOR ? reg : 32 + reg;
  return (live_interval_t){
      .kind = kind, .reg = reg, .slot = code->preserved_at - (int64_t)index * X64_SLOT_BYTES};
}

static void move_unallocated(x64_code_t *code,
                             void (*move)(x64_code_t *, const live_interval_t *, int)) {
  x64_class_t end = code->isa->has_evex ? X64_CLASS_COUNT : X64_MASK;
  for (x64_class_t kind = X64_VECTOR; kind < end && code->preserves_all; kind++)
    for (int reg = kind == X64_MASK; reg < (kind == X64_VECTOR ? SCRATCH : X64_SCRATCH_MASK);
         reg++) {
      live_interval_t interval = scratch_interval(code, kind, reg);
      if (!(code->used[kind] >> reg & 1)) move(code, &interval, reg);
    }
}

void x64_save_live(x64_code_t *code, const kir_value_t *call) {
  if (!x64_calls_external(code, call)) return;
  for (int n = 0; n < code->interval_count; n++)
    if (is_saved_at(&code->intervals[n], x64_node(code, call)->position))
      store_interval(code, &code->intervals[n], code->intervals[n].reg);
  move_unallocated(code, store_interval);
}

void x64_restore_live(x64_code_t *code, const kir_value_t *call) {
  if (!x64_calls_external(code, call)) return;
  for (int n = 0; n < code->interval_count; n++)
    if (is_saved_at(&code->intervals[n], x64_node(code, call)->position))
      load_interval(code, &code->intervals[n], code->intervals[n].reg);
  move_unallocated(code, load_interval);
}

static int in_register(x64_code_t *code, const kir_value_t *value, int scratch) {
  const live_interval_t *interval = x64_interval(code, value);
  if (interval->reg != X86_NONE) return interval->reg;
  load_interval(code, interval, scratch);
  return scratch;
}

int x64_destination(x64_code_t *code, const kir_value_t *instr, int scratch) {
  int reg = x64_interval(code, instr)->reg;
  return reg == X86_NONE ? scratch : reg;
}

static void store_result(x64_code_t *code, const live_interval_t *interval, int reg) {
  if (interval->reg == X86_NONE)
    store_interval(code, interval, reg);
  else if (interval->reg != reg && interval->kind == X64_GPR)
    x86_mov(&code->x, interval->reg, reg);
  else if (interval->reg != reg && interval->kind == X64_VECTOR)
    x64_move_vector(code, interval->reg, reg);
  else
    x64_move_mask(code, interval->reg, reg);
}

void x64_define(x64_code_t *code, const kir_value_t *instr, int reg) {
  store_result(code, x64_interval(code, instr), reg);
}

/* --- constants -------------------------------------------------------------------------------- */

static void store_lane(unsigned char *bytes, unsigned at, uint64_t lane, unsigned bits) {
  memcpy(bytes + at * bits / 8, &lane, bits / 8);
}

/* Operand in the constant pool: one element to broadcast where the instruction allows, else the
 * vector. */
static x86_mem_t constant_memory(x64_code_t *code, const kir_value_t *value, bool may_broadcast) {
  const kir_type_t *type = value->type;
  unsigned char bytes[64] = {0};
  bool is_one = type->lanes == 1 && type->kind != KIR_TYPE_VECTOR;
  bool broadcast = may_broadcast && !is_one && type->bits >= 32 && kir_is_splat(value);
  size_t size = is_one || broadcast      ? type->bits / 8
                : kir_width(type) <= 128 ? 16
                                         : kir_width(type) / 8;
  if (kir_width(type) > (unsigned)code->isa->vector_bits || type->bits > 64) {
    x64_unsupported(code, "wide constants");
    return (x86_mem_t){.is_pool = true};
  }
  for (unsigned i = 0; i < (broadcast ? 1 : type->lanes); i++)
    store_lane(bytes, i, value->lanes[i], type->bits);
  return (x86_mem_t){.is_pool = true,
                     .base = X86_NONE,
                     .index = X86_NONE,
                     .disp = x86_constant(&code->x, bytes, size),
                     .broadcast = broadcast ? (int)type->bits / 8 : 0};
}

static bool is_zero(const kir_value_t *value) {
  return kir_is_splat(value) && value->lanes[0] == 0;
}

void x64_load_constant(x64_code_t *code, kir_value_t *value, int to) {
  static const x86_opcode_t scalars[] = {X86_OP(2, 1, 0, 0x10), X86_OP(3, 1, 1, 0x10)};
  static const x86_opcode_t splats[] = {X86_OP(1, 2, 0, 0x18), X86_OP(1, 2, 1, 0x19)};
  const kir_type_t *type = value->type;
  if (is_zero(value)) {
    x64_emit_registers(code, X86_OP(1, 1, 0, 0xef), 0, to, to, to);
    return;
  }
  x86_mem_t from = constant_memory(code, value, kir_width(type) > 64);
  bool is_one = type->kind != KIR_TYPE_VECTOR, is_wide = type->bits == 64;
  x86_vector_t how = {
      .opcode = load_opcode, .width = x64_vector_length(code, type), .to = to, .from = X86_NONE};
  if (is_one && type->bits < 32) x64_unsupported(code, "narrow constants");
  if (is_one) how.opcode = scalars[is_wide];
  if (from.broadcast) {
    how.opcode = splats[is_wide];
    how.width = is_wide && !how.width ? 1 : how.width;
  }
  from.broadcast = 0; /* the load itself broadcasts */
  x86_vector_memory(&code->x, how, from);
}

pinned_const_t *x64_pinned(x64_code_t *code, const kir_value_t *value) {
  for (int i = 0; i < code->pinned_count; i++)
    if (code->pinned[i].value == value && code->pinned[i].reg != X86_NONE) return &code->pinned[i];
  return NULL;
}

/* --- operands of instructions ----------------------------------------------------------------- */

int x64_gpr(x64_code_t *code, kir_value_t *value, int scratch) {
  if (!kir_is_constant(value)) return in_register(code, value, scratch);
  x86_mov_constant(
      &code->x, scratch,
      (uint64_t)kir_sign_extend(value->lanes[0], value->type->bits == 1 ? 64 : value->type->bits));
  return scratch;
}

int x64_vector(x64_code_t *code, kir_value_t *value, int scratch) {
  if (!kir_is_constant(value)) return in_register(code, value, scratch);
  const pinned_const_t *kept = x64_pinned(code, value);
  if (kept) return kept->reg;
  x64_load_constant(code, value, scratch);
  return scratch;
}

int x64_mask(x64_code_t *code, kir_value_t *value, int scratch) {
  uint64_t bits = 0;
  if (!kir_is_constant(value)) return in_register(code, value, scratch);
  for (unsigned i = 0; i < value->type->lanes && i < 64; i++) bits |= value->lanes[i] << i;
  x64_load_mask(code, bits, scratch);
  return scratch;
}

/* A constant operand is in memory, with the size of the instruction's element type. */
void x64_emit_with_imm(x64_code_t *code, x86_opcode_t opcode, const kir_type_t *type, int to,
                       int from, kir_value_t *last, int scratch, int immediate_bytes) {
  int width = x64_vector_length(code, type);
  bool is_constant = kir_is_constant(last) && !x64_pinned(code, last);
  if (last->op == KIR_LOAD && x64_node(code, last)->is_folded) {
    x86_vector_t how = {
        .opcode = opcode, .width = width, .to = to, .from = from, .unit = (int)kir_width(type) / 8};
    x86_vector_memory(&code->x, how, x64_address(code, last->args[0]));
    return;
  }
  if (!is_constant || kir_width(type) < 128) {
    int reg = x64_vector(code, last, scratch);
    x64_emit_registers(code, opcode, width, to, from, reg);
    return;
  }
  x86_mem_t memory = constant_memory(code, last, code->isa->has_evex);
  memory.immediate_bytes = immediate_bytes;
  x86_vector_memory(
      &code->x, (x86_vector_t){.opcode = opcode, .width = width, .to = to, .from = from}, memory);
}

void x64_emit(x64_code_t *code, x86_opcode_t opcode, const kir_type_t *type, int to, int from,
              kir_value_t *last, int scratch) {
  x64_emit_with_imm(code, opcode, type, to, from, last, scratch, 0);
}

/* --- addresses -------------------------------------------------------------------------------- */

static void add_index(x64_code_t *code, kir_value_t *gep, x86_mem_t *address) {
  kir_value_t *index = gep->args[1];
  if (kir_is_constant(index) && index->type->lanes == 1) {
    address->disp += kir_sign_extend(index->lanes[0], index->type->bits) * gep->detail;
    return;
  }
  if (index->op == KIR_ADD && index->type->lanes == 1 && x64_node(code, index)->is_folded) {
    address->disp +=
        kir_sign_extend(index->args[1]->lanes[0], index->args[1]->type->bits) * gep->detail;
    index = index->args[0];
  }
  address->index =
      index->type->lanes > 1 ? x64_vector(code, index, SCRATCH) : x64_gpr(code, index, X86_CX);
  address->scale = gep->detail;
}

x86_mem_t x64_address(x64_code_t *code, kir_value_t *pointer) {
  x86_mem_t address = {.base = X86_NONE, .index = X86_NONE, .scale = 1};
  while (!kir_is_constant(pointer) && x64_node(code, pointer)->is_folded) {
    add_index(code, pointer, &address);
    pointer = pointer->args[0];
  }
  address.base = x64_gpr(code, pointer, X86_AX);
  if (address.disp != (int32_t)address.disp) x64_unsupported(code, "distant memory");
  return address;
}

/* --- parallel moves --------------------------------------------------------------------------- */

/* Number of the location that a move reads or writes: a register by class, or an interval's stack
 * slot. */
static int location_of(const x64_code_t *code, int number) {
  const live_interval_t *interval = &code->intervals[number];
  return interval->reg != X86_NONE ? interval->reg + 64 * (int)interval->kind : 1024 + number;
}

static int source_of(const x64_code_t *code, const parallel_move_t *move) {
  if (!move->value) return move->from + 64 * (int)code->intervals[move->to].kind;
  return kir_is_constant(move->value) ? X86_NONE
                                      : location_of(code, x64_node(code, move->value)->interval);
}

static void move_one(x64_code_t *code, const parallel_move_t *move) {
  const live_interval_t *interval = &code->intervals[move->to];
  int reg;
  if (!move->value) {
    reg = move->from;
  } else if (kir_is_constant(move->value) && interval->kind == X64_VECTOR &&
             interval->reg != X86_NONE && !x64_pinned(code, move->value)) {
    reg = interval->reg;
    x64_load_constant(code, move->value, reg);
  } else if (interval->kind == X64_GPR) {
    reg = x64_gpr(code, move->value, interval->reg == X86_NONE ? X86_DX : interval->reg);
  } else if (interval->kind == X64_VECTOR) {
    reg = x64_vector(code, move->value, SCRATCH);
  } else {
    reg = x64_mask(code, move->value, X64_SCRATCH_MASK);
  }
  store_result(code, interval, reg);
}

static bool is_read(const x64_code_t *code, const parallel_move_t *moves, int count, int location,
                    int but) {
  for (int i = 0; i < count; i++)
    if (i != but && source_of(code, &moves[i]) == location) return true;
  return false;
}

/* Breaks a cycle of moves: saves the first destination's value in a scratch register, from which it
 * is then read. */
static void break_cycle(x64_code_t *code, parallel_move_t *moves, int count) {
  const int spares[] = {X86_AX, SCRATCH + 2, 0};
  const live_interval_t *interval = &code->intervals[moves[0].to];
  int location = location_of(code, moves[0].to), spare = spares[interval->kind];
  if (interval->reg == X86_NONE)
    load_interval(code, interval, spare);
  else if (interval->kind == X64_GPR)
    x86_mov(&code->x, spare, interval->reg);
  else if (interval->kind == X64_VECTOR)
    x64_move_vector(code, spare, interval->reg);
  else
    x64_move_mask(code, spare, interval->reg);
  for (int i = 0; i < count; i++)
    if (source_of(code, &moves[i]) == location) {
      moves[i].value = NULL;
      moves[i].from = spare;
    }
}

void x64_move_parallel(x64_code_t *code, parallel_move_t *moves, int count) {
  while (count) {
    int next = 0;
    while (next < count && is_read(code, moves, count, location_of(code, moves[next].to), next))
      next++;
    if (next == count) {
      break_cycle(code, moves, count);
      continue;
    }
    if (source_of(code, &moves[next]) != location_of(code, moves[next].to))
      move_one(code, &moves[next]);
    moves[next] = moves[--count];
  }
}
