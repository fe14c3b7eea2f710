#include <string.h>

#include "jit/own_select.h"

void own_lacks(own_code_t *code, const char *what) {
  if (!code->lacks) code->lacks = what;
}

int own_width_of(own_code_t *code, const own_type_t *type) {
  unsigned bits = own_width(type);
  if (bits > 512 || (type->lanes & (type->lanes - 1))) own_lacks(code, "vectors of odd sizes");
  return bits > 256 ? 2 : bits > 128 ? 1 : 0;
}

/* --- registers and the stack ------------------------------------------------------------------------------------- */

static x86_mem_t slot_of(const own_code_t *code, const own_home_t *home) {
  return (x86_mem_t){.base = X86_SP, .index = X86_NONE, .scale = 1, .disp = code->frame_bytes - home->slot};
}

static const x86_opcode_t move_to = X86_OP(0, 1, 0, 0x10), move_from = X86_OP(0, 1, 0, 0x11);

void own_emit_masked(own_code_t *code, x86_opcode_t opcode, int width, int mask, bool zeroes, int to, int from,
                     int last) {
  x86_vector(&code->x, (x86_vector_t){.opcode = opcode, .width = width, .to = to, .from = from, .mask = mask,
                                      .zeroes = zeroes}, last);
}

void own_emit_registers(own_code_t *code, x86_opcode_t opcode, int width, int to, int from, int last) {
  own_emit_masked(code, opcode, width, 0, false, to, from, last);
}

void own_move_vector(own_code_t *code, int to, int from) {
  if (to != from) own_emit_registers(code, move_to, 2, to, X86_NONE, from);
}

static void mask_from_general(own_code_t *code, int to, int from) {
  x86_mask(&code->x, 3, true, false, 0x92, to, X86_NONE, from);
}

static void general_from_mask(own_code_t *code, int to, int from) {
  x86_mask(&code->x, 3, true, false, 0x93, to, X86_NONE, from);
}

void own_move_mask(own_code_t *code, int to, int from) {
  if (to != from) x86_mask(&code->x, 0, true, false, 0x90, to, X86_NONE, from);
}

void own_mask_of(own_code_t *code, uint64_t bits, int to) {
  x86_mov_constant(&code->x, X86_CX, bits);
  mask_from_general(code, to, X86_CX);
}

static void load_home(own_code_t *code, const own_home_t *home, int to) {
  x86_mem_t slot = slot_of(code, home);
  if (home->kind == OWN_GENERAL) {
    x86_load(&code->x, to, slot, 64);
  } else if (home->kind == OWN_VECTORS) {
    x86_vector_memory(&code->x, (x86_vector_t){.opcode = move_to, .width = 2, .to = to, .from = X86_NONE, .unit = 64},
                      slot);
  } else {
    x86_load(&code->x, X86_CX, slot, 64);
    mask_from_general(code, to, X86_CX);
  }
}

static void store_home(own_code_t *code, const own_home_t *home, int from) {
  x86_mem_t slot = slot_of(code, home);
  if (home->kind == OWN_GENERAL) {
    x86_store(&code->x, slot, from, 64);
  } else if (home->kind == OWN_VECTORS) {
    x86_vector_memory(&code->x,
                      (x86_vector_t){.opcode = move_from, .width = 2, .to = from, .from = X86_NONE, .unit = 64}, slot);
  } else {
    general_from_mask(code, X86_CX, from);
    x86_store(&code->x, slot, X86_CX, 64);
  }
}

static bool is_saved_at(const own_home_t *home, const own_value_t *call) {
  return home->is_saved && home->reg != X86_NONE && home->from < call->position && home->to > call->position;
}

/* A register as a home of its own. */
static own_home_t unused_home(const own_code_t *code, own_class_t kind, int reg) {
  int index = kind == OWN_VECTORS ? reg : 32 + reg;
  return (own_home_t){.kind = kind, .reg = reg, .slot = code->kept_at - (int64_t)index * OWN_SLOT_BYTES};
}

static void move_unused(own_code_t *code, void (*move)(own_code_t *, const own_home_t *, int)) {
  for (own_class_t kind = OWN_VECTORS; kind < OWN_CLASSES && code->keeps_all; kind++)
    for (int reg = kind == OWN_MASKS; reg < (kind == OWN_VECTORS ? OWN_SCRATCH_VECTOR : OWN_SCRATCH_MASK); reg++) {
      own_home_t home = unused_home(code, kind, reg);
      if (!(code->used[kind] >> reg & 1)) move(code, &home, reg);
    }
}

void own_save_all(own_code_t *code, const own_value_t *call) {
  if (!own_calls_elsewhere(call)) return;
  for (int n = 0; n < code->home_count; n++)
    if (is_saved_at(&code->homes[n], call)) store_home(code, &code->homes[n], code->homes[n].reg);
  move_unused(code, store_home);
}

void own_restore_all(own_code_t *code, const own_value_t *call) {
  if (!own_calls_elsewhere(call)) return;
  for (int n = 0; n < code->home_count; n++)
    if (is_saved_at(&code->homes[n], call)) load_home(code, &code->homes[n], code->homes[n].reg);
  move_unused(code, load_home);
}

static int in_register(own_code_t *code, const own_value_t *value, int scratch) {
  const own_home_t *home = &code->homes[value->number];
  if (home->reg != X86_NONE) return home->reg;
  load_home(code, home, scratch);
  return scratch;
}

int own_result(own_code_t *code, const own_value_t *instr, int scratch) {
  int reg = code->homes[instr->number].reg;
  return reg == X86_NONE ? scratch : reg;
}

static void put(own_code_t *code, const own_home_t *home, int reg) {
  if (home->reg == X86_NONE)
    store_home(code, home, reg);
  else if (home->reg != reg && home->kind == OWN_GENERAL)
    x86_mov(&code->x, home->reg, reg);
  else if (home->reg != reg && home->kind == OWN_VECTORS)
    own_move_vector(code, home->reg, reg);
  else
    own_move_mask(code, home->reg, reg);
}

void own_done(own_code_t *code, const own_value_t *instr, int reg) { put(code, &code->homes[instr->number], reg); }

/* --- constants --------------------------------------------------------------------------------------------------- */

static void put_lane(unsigned char *bytes, unsigned at, uint64_t lane, unsigned bits) {
  memcpy(bytes + at * bits / 8, &lane, bits / 8);
}

/* Among the constants of the code: one element for all lanes where instructions can have it so. */
static x86_mem_t constant_memory(own_code_t *code, const own_value_t *value, bool may_broadcast) {
  const own_type_t *type = value->type;
  unsigned char bytes[64] = {0};
  bool is_one = type->lanes == 1 && type->kind != LLVMVectorTypeKind;
  bool broadcast = may_broadcast && !is_one && type->bits >= 32 && own_is_splat(value);
  size_t size = is_one || broadcast ? type->bits / 8 : own_width(type) <= 128 ? 16 : own_width(type) / 8;
  if (own_width(type) > 512 || type->bits > 64) {
    own_lacks(code, "wide constants");
    return (x86_mem_t){.is_pool = true};
  }
  for (unsigned i = 0; i < (broadcast ? 1 : type->lanes); i++) put_lane(bytes, i, value->lanes[i], type->bits);
  return (x86_mem_t){.is_pool = true, .base = X86_NONE, .index = X86_NONE, .disp = x86_constant(&code->x, bytes, size),
                     .broadcast = broadcast ? (int)type->bits / 8 : 0};
}

static bool is_zero(const own_value_t *value) { return own_is_splat(value) && value->lanes[0] == 0; }

void own_constant_to(own_code_t *code, own_value_t *value, int to) {
  static const x86_opcode_t scalars[] = {X86_OP(2, 1, 0, 0x10), X86_OP(3, 1, 1, 0x10)};
  static const x86_opcode_t splats[] = {X86_OP(1, 2, 0, 0x18), X86_OP(1, 2, 1, 0x19)};
  const own_type_t *type = value->type;
  if (is_zero(value)) {
    own_emit_registers(code, X86_OP(1, 1, 0, 0xef), 0, to, to, to);
    return;
  }
  x86_mem_t from = constant_memory(code, value, own_width(type) > 64);
  bool is_one = type->kind != LLVMVectorTypeKind, is_wide = type->bits == 64;
  x86_vector_t how = {.opcode = move_to, .width = own_width_of(code, type), .to = to, .from = X86_NONE};
  if (is_one && type->bits < 32) own_lacks(code, "narrow constants");
  if (is_one) how.opcode = scalars[is_wide];
  if (from.broadcast) how.opcode = splats[is_wide], how.width = is_wide && !how.width ? 1 : how.width;
  from.broadcast = 0; /* the instruction does nothing else */
  x86_vector_memory(&code->x, how, from);
}

static own_kept_t *kept_of(own_code_t *code, const own_value_t *value) {
  for (int i = 0; i < code->kept_count; i++)
    if (code->kept[i].value == value && code->kept[i].reg != X86_NONE) return &code->kept[i];
  return NULL;
}

/* --- reading ----------------------------------------------------------------------------------------------------- */

int own_general(own_code_t *code, own_value_t *value, int scratch) {
  if (!own_is_constant(value)) return in_register(code, value, scratch);
  x86_mov_constant(&code->x, scratch,
                   (uint64_t)own_signed(value->lanes[0], value->type->bits == 1 ? 64 : value->type->bits));
  return scratch;
}

int own_vector(own_code_t *code, own_value_t *value, int scratch) {
  if (!own_is_constant(value)) return in_register(code, value, scratch);
  const own_kept_t *kept = kept_of(code, value);
  if (kept) return kept->reg;
  own_constant_to(code, value, scratch);
  return scratch;
}

int own_mask(own_code_t *code, own_value_t *value, int scratch) {
  uint64_t bits = 0;
  if (!own_is_constant(value)) return in_register(code, value, scratch);
  for (unsigned i = 0; i < value->type->lanes && i < 64; i++) bits |= value->lanes[i] << i;
  own_mask_of(code, bits, scratch);
  return scratch;
}

/* Where the constant is, as an operand: in memory, by the size of what the instruction computes with. */
void own_emit(own_code_t *code, x86_opcode_t opcode, const own_type_t *type, int to, int from, own_value_t *last,
              int scratch) {
  int width = own_width_of(code, type);
  bool is_constant = own_is_constant(last) && !kept_of(code, last);
  if (last->op == OWN_LOAD && last->is_folded) {
    x86_vector_t how = {.opcode = opcode, .width = width, .to = to, .from = from, .unit = (int)own_width(type) / 8};
    x86_vector_memory(&code->x, how, own_address(code, last->args[0]));
    return;
  }
  if (!is_constant || own_width(type) < 128) {
    int reg = own_vector(code, last, scratch);
    own_emit_registers(code, opcode, width, to, from, reg);
    return;
  }
  x86_mem_t memory = constant_memory(code, last, true);
  x86_vector_memory(&code->x, (x86_vector_t){.opcode = opcode, .width = width, .to = to, .from = from}, memory);
}

/* --- addresses --------------------------------------------------------------------------------------------------- */

static void add_index(own_code_t *code, own_value_t *gep, x86_mem_t *address) {
  own_value_t *index = gep->args[1];
  if (own_is_constant(index) && index->type->lanes == 1) {
    address->disp += own_signed(index->lanes[0], index->type->bits) * gep->predicate;
    return;
  }
  address->index =
      index->type->lanes > 1 ? own_vector(code, index, OWN_SCRATCH_VECTOR) : own_general(code, index, X86_CX);
  address->scale = gep->predicate;
}

x86_mem_t own_address(own_code_t *code, own_value_t *pointer) {
  x86_mem_t address = {.base = X86_NONE, .index = X86_NONE, .scale = 1};
  while (!own_is_constant(pointer) && pointer->is_folded) {
    add_index(code, pointer, &address);
    pointer = pointer->args[0];
  }
  address.base = own_general(code, pointer, X86_AX);
  if (address.disp != (int32_t)address.disp) own_lacks(code, "distant memory");
  return address;
}

/* --- all at once ------------------------------------------------------------------------------------------------- */

/* A place that moves read or write: registers of a class, or the stack's part of a home. */
static int place_of_home(const own_code_t *code, int number) {
  const own_home_t *home = &code->homes[number];
  return home->reg != X86_NONE ? home->reg + 64 * (int)home->kind : 1024 + number;
}

static int place_read(const own_code_t *code, const own_move_t *move) {
  if (!move->value) return move->from + 64 * (int)code->homes[move->to].kind;
  return own_is_constant(move->value) ? X86_NONE : place_of_home(code, move->value->number);
}

static void move_one(own_code_t *code, const own_move_t *move) {
  const own_home_t *home = &code->homes[move->to];
  int reg;
  if (!move->value) {
    reg = move->from;
  } else if (own_is_constant(move->value) && home->kind == OWN_VECTORS && home->reg != X86_NONE &&
             !kept_of(code, move->value)) {
    reg = home->reg;
    own_constant_to(code, move->value, reg);
  } else {
    reg = home->kind == OWN_GENERAL   ? own_general(code, move->value, home->reg == X86_NONE ? X86_DX : home->reg)
          : home->kind == OWN_VECTORS ? own_vector(code, move->value, OWN_SCRATCH_VECTOR)
                                      : own_mask(code, move->value, OWN_SCRATCH_MASK);
  }
  put(code, home, reg);
}

static bool is_read(const own_code_t *code, const own_move_t *moves, int count, int place, int but) {
  for (int i = 0; i < count; i++)
    if (i != but && place_read(code, &moves[i]) == place) return true;
  return false;
}

/* What is read in a circle: one value that would be overwritten waits in a register of its own, and is read there. */
static void break_circle(own_code_t *code, own_move_t *moves, int count) {
  static const int spares[] = {X86_AX, OWN_SCRATCH_VECTOR + 2, 0};
  const own_home_t *home = &code->homes[moves[0].to];
  int place = place_of_home(code, moves[0].to), spare = spares[home->kind];
  if (home->reg == X86_NONE)
    load_home(code, home, spare);
  else if (home->kind == OWN_GENERAL)
    x86_mov(&code->x, spare, home->reg);
  else if (home->kind == OWN_VECTORS)
    own_move_vector(code, spare, home->reg);
  else
    own_move_mask(code, spare, home->reg);
  for (int i = 0; i < count; i++)
    if (place_read(code, &moves[i]) == place) moves[i].value = NULL, moves[i].from = spare;
}

void own_move_all(own_code_t *code, own_move_t *moves, int count) {
  while (count) {
    int next = 0;
    while (next < count && is_read(code, moves, count, place_of_home(code, moves[next].to), next)) next++;
    if (next == count) {
      break_circle(code, moves, count);
      continue;
    }
    if (place_read(code, &moves[next]) != place_of_home(code, moves[next].to)) move_one(code, &moves[next]);
    moves[next] = moves[--count];
  }
}
