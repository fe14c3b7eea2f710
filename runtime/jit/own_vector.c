/* Results in vectors and masks, floats one at a time among them, and what is stored. */
#include "jit/own_select.h"

#define SCRATCH OWN_SCRATCH_VECTOR

static bool is_scalar(const own_type_t *type) { return type->kind != LLVMVectorTypeKind; }
static int size_index(const own_type_t *type) { return type->bits == 64 ? 3 : type->bits == 32 ? 2 : type->bits == 16; }

/* --- arithmetic -------------------------------------------------------------------------------------------------- */

#define NONE 0

/* By the bits of elements: 8, 16, 32, 64. */
static const x86_opcode_t integer_opcodes[OWN_OP_COUNT][4] = {
    [OWN_ADD] = {X86_OP(1, 1, 0, 0xfc), X86_OP(1, 1, 0, 0xfd), X86_OP(1, 1, 0, 0xfe), X86_OP(1, 1, 1, 0xd4)},
    [OWN_SUB] = {X86_OP(1, 1, 0, 0xf8), X86_OP(1, 1, 0, 0xf9), X86_OP(1, 1, 0, 0xfa), X86_OP(1, 1, 1, 0xfb)},
    [OWN_MUL] = {NONE, X86_OP(1, 1, 0, 0xd5), X86_OP(1, 2, 0, 0x40), X86_OP(1, 2, 1, 0x40)},
    [OWN_AND] = {X86_OP(1, 1, 0, 0xdb), X86_OP(1, 1, 0, 0xdb), X86_OP(1, 1, 0, 0xdb), X86_OP(1, 1, 1, 0xdb)},
    [OWN_OR] = {X86_OP(1, 1, 0, 0xeb), X86_OP(1, 1, 0, 0xeb), X86_OP(1, 1, 0, 0xeb), X86_OP(1, 1, 1, 0xeb)},
    [OWN_XOR] = {X86_OP(1, 1, 0, 0xef), X86_OP(1, 1, 0, 0xef), X86_OP(1, 1, 0, 0xef), X86_OP(1, 1, 1, 0xef)},
    [OWN_SHL] = {NONE, X86_OP(1, 2, 1, 0x12), X86_OP(1, 2, 0, 0x47), X86_OP(1, 2, 1, 0x47)},
    [OWN_LSHR] = {NONE, X86_OP(1, 2, 1, 0x10), X86_OP(1, 2, 0, 0x45), X86_OP(1, 2, 1, 0x45)},
    [OWN_ASHR] = {NONE, X86_OP(1, 2, 1, 0x11), X86_OP(1, 2, 0, 0x46), X86_OP(1, 2, 1, 0x46)},
    [OWN_SMIN] = {X86_OP(1, 2, 0, 0x38), X86_OP(1, 1, 0, 0xea), X86_OP(1, 2, 0, 0x39), X86_OP(1, 2, 1, 0x39)},
    [OWN_SMAX] = {X86_OP(1, 2, 0, 0x3c), X86_OP(1, 1, 0, 0xee), X86_OP(1, 2, 0, 0x3d), X86_OP(1, 2, 1, 0x3d)},
    [OWN_UMIN] = {X86_OP(1, 1, 0, 0xda), X86_OP(1, 2, 0, 0x3a), X86_OP(1, 2, 0, 0x3b), X86_OP(1, 2, 1, 0x3b)},
    [OWN_UMAX] = {X86_OP(1, 1, 0, 0xde), X86_OP(1, 2, 0, 0x3e), X86_OP(1, 2, 0, 0x3f), X86_OP(1, 2, 1, 0x3f)},
};

static const unsigned char float_opcodes[OWN_OP_COUNT] = {[OWN_FADD] = 0x58, [OWN_FMUL] = 0x59, [OWN_FSUB] = 0x5c,
                                                          [OWN_FDIV] = 0x5e, [OWN_SQRT] = 0x51};

/* Packed floats have prefix none or 66, single ones F3 or F2. */
static x86_opcode_t float_opcode(own_code_t *code, const own_type_t *type, unsigned byte) {
  bool wide = type->bits == 64;
  if (type->bits < 32) own_lacks(code, "arithmetic in f16");
  return X86_OP(is_scalar(type) ? 2 + wide : wide, 1, wide, byte);
}

/* to = op(a, b) */
static void select_binary(own_code_t *code, own_value_t *instr, x86_opcode_t opcode) {
  own_value_t *a = instr->args[0], *b = instr->args[1];
  int to = own_result(code, instr, SCRATCH + 2);
  if (!opcode) own_lacks(code, "arithmetic of narrow integers");
  bool is_turned = own_is_constant(a) || (a->op == OWN_LOAD && a->is_folded);
  if (own_op_flags[instr->op] & OWN_COMMUTES && is_turned) a = instr->args[1], b = instr->args[0];
  int from = own_vector(code, a, SCRATCH);
  own_emit(code, opcode, instr->type, to, from, b, SCRATCH + 1);
  own_done(code, instr, to);
}

static bool is_shift(const own_value_t *value, own_op_t op, const own_value_t *user) {
  return value->op == op && value->uses == 1 && value->block == user->block && own_is_constant(value->args[1]) &&
         own_is_splat(value->args[1]);
}

bool own_is_rotation(const own_value_t *either) {
  if (either->op != OWN_OR) return false;
  const own_value_t *up = either->args[0], *down = either->args[1];
  const own_type_t *type = either->type;
  if (up->op == OWN_LSHR) up = either->args[1], down = either->args[0];
  return type->kind == LLVMVectorTypeKind && (type->bits == 32 || type->bits == 64) &&
         is_shift(up, OWN_SHL, either) && is_shift(down, OWN_LSHR, either) && up->args[0] == down->args[0] &&
         !own_is_constant(up->args[0]) && up->args[1]->lanes[0] + down->args[1]->lanes[0] == type->bits;
}

static void select_rotation(own_code_t *code, own_value_t *instr) {
  own_value_t *up = instr->args[instr->args[0]->op == OWN_SHL ? 0 : 1];
  int to = own_result(code, instr, SCRATCH + 2), from = own_vector(code, up->args[0], SCRATCH);
  own_emit_registers(code, X86_OP(1, 1, instr->type->bits == 64, 0x72), own_width_of(code, instr->type), 1, to, from);
  x86_byte(&code->x, (unsigned)up->args[1]->lanes[0]);
  own_done(code, instr, to);
}

static void select_mask_binary(own_code_t *code, own_value_t *instr) {
  int opcode = instr->op == OWN_AND ? 0x41 : instr->op == OWN_OR ? 0x45 : 0x47;
  int to = own_result(code, instr, OWN_SCRATCH_MASK);
  if (instr->op == OWN_XOR && own_is_constant(instr->args[1]) && own_is_splat(instr->args[1]) &&
      instr->args[1]->lanes[0]) {
    x86_mask(&code->x, 0, true, false, 0x44, to, X86_NONE, own_mask(code, instr->args[0], OWN_SCRATCH_MASK));
    own_done(code, instr, to);
    return;
  }
  int a = own_mask(code, instr->args[0], 0), b = own_mask(code, instr->args[1], OWN_SCRATCH_MASK);
  if (instr->op != OWN_AND && instr->op != OWN_OR && instr->op != OWN_XOR) own_lacks(code, "arithmetic of bits");
  x86_mask(&code->x, 0, true, true, opcode, to, a, b);
  own_done(code, instr, to);
}

static void select_root(own_code_t *code, own_value_t *instr) {
  int to = own_result(code, instr, SCRATCH + 2), from = own_vector(code, instr->args[0], SCRATCH);
  x86_opcode_t opcode = float_opcode(code, instr->type, float_opcodes[OWN_SQRT]);
  own_emit_registers(code, opcode, own_width_of(code, instr->type), to, is_scalar(instr->type) ? from : X86_NONE, from);
  own_done(code, instr, to);
}

static void select_count(own_code_t *code, own_value_t *instr) {
  const own_type_t *type = instr->type;
  bool is_wide = type->bits == 64 || type->bits == 16;
  int to = own_result(code, instr, SCRATCH + 2), from = own_vector(code, instr->args[0], SCRATCH);
  int byte = instr->op == OWN_CTLZ ? 0x44 : 0x54 + (type->bits >= 32);
  own_emit_registers(code, X86_OP(1, 2, is_wide, byte), own_width_of(code, type), to, X86_NONE, from);
  own_done(code, instr, to);
}

/* Of the three forms the one that has its result where one of its operands is. */
static void select_fma(own_code_t *code, own_value_t *instr) {
  own_value_t *a = instr->args[0], *b = instr->args[1], *c = instr->args[2];
  const own_type_t *type = instr->type;
  bool single = is_scalar(type);
  x86_opcode_t with_c = X86_OP(1, 2, type->bits == 64, 0xa8 + single); /* to = from * to + last */
  x86_opcode_t onto_c = X86_OP(1, 2, type->bits == 64, 0xb8 + single); /* to = from * last + to */
  int to = own_result(code, instr, SCRATCH + 2);
  if (own_is_constant(a)) a = instr->args[1], b = instr->args[0];
  int first = own_vector(code, a, SCRATCH);
  bool has_c = !own_is_constant(c) && code->homes[c->number].reg == to && to != SCRATCH + 2;
  bool has_b = !own_is_constant(b) && code->homes[b->number].reg == to && to != SCRATCH + 2;
  if (type->bits < 32) own_lacks(code, "arithmetic in f16");
  if (has_c) {
    own_emit(code, onto_c, type, to, first, b, SCRATCH + 1);
  } else if (has_b) {
    own_emit(code, with_c, type, to, first, c, SCRATCH + 1);
  } else if (own_is_constant(b) && own_is_constant(c) && first != to && !own_kept_of(code, b)) {
    own_constant_to(code, b, to);
    own_emit(code, with_c, type, to, first, c, SCRATCH + 1);
  } else if (first == to || own_is_constant(c)) {
    own_move_vector(code, to, first);
    own_emit(code, with_c, type, to, own_vector(code, b, SCRATCH), c, SCRATCH + 1);
  } else {
    own_move_vector(code, to, own_vector(code, c, SCRATCH + 1));
    own_emit(code, onto_c, type, to, first, b, SCRATCH + 1);
  }
  own_done(code, instr, to);
}

/* --- bits of floats ---------------------------------------------------------------------------------------------- */

static own_value_t *sign_of(const own_type_t *type, bool but) {
  uint64_t sign = 1ull << (type->bits - 1);
  return own_constant_of_all((own_type_t *)type, but ? ~sign : sign);
}

/* As whole registers, so that a scalar's constant is one, too. */
static void bits_with(own_code_t *code, own_op_t op, const own_type_t *type, int to, int from, own_value_t *constant) {
  x86_opcode_t opcode = integer_opcodes[op][size_index(type)];
  if (is_scalar(type))
    own_emit_registers(code, opcode, 0, to, from, own_vector(code, constant, SCRATCH + 1));
  else
    own_emit(code, opcode, type, to, from, constant, SCRATCH + 1);
}

static void select_sign(own_code_t *code, own_value_t *instr) {
  int to = own_result(code, instr, SCRATCH + 2), from = own_vector(code, instr->args[0], SCRATCH);
  bool is_negation = instr->op == OWN_FNEG;
  if (instr->type->bits < 32) own_lacks(code, "arithmetic in f16");
  bits_with(code, is_negation ? OWN_XOR : OWN_AND, instr->type, to, from, sign_of(instr->type, !is_negation));
  own_done(code, instr, to);
}

/* Bits of the second where the constant has ones, else of the first: the processor's choice by three operands. */
static void select_copysign(own_code_t *code, own_value_t *instr) {
  const own_type_t *type = instr->type;
  const x86_opcode_t choose = X86_OP(1, 3, type->bits == 64, 0x25);
  int to = SCRATCH + 2, from = own_vector(code, instr->args[0], SCRATCH);
  own_value_t *sign = sign_of(type, false);
  if (type->bits < 32) own_lacks(code, "arithmetic in f16");
  own_move_vector(code, to, own_vector(code, instr->args[1], to));
  if (is_scalar(type))
    own_emit_registers(code, choose, 0, to, from, own_vector(code, sign, SCRATCH + 1));
  else
    own_emit_before(code, choose, type, to, from, sign, SCRATCH + 1, 1);
  x86_byte(&code->x, 0xe4);
  own_done(code, instr, to);
}

/* how: LLVM's and the processor's nearest even, down, up, towards zero. */
static void select_rounding(own_code_t *code, own_value_t *instr, unsigned how) {
  bool wide = instr->type->bits == 64, single = is_scalar(instr->type);
  int to = own_result(code, instr, SCRATCH + 2), from = own_vector(code, instr->args[0], SCRATCH);
  if (instr->type->bits < 32) own_lacks(code, "arithmetic in f16");
  own_emit_registers(code, X86_OP(1, 3, wide, 0x08 + wide + 2 * single), own_width_of(code, instr->type), to,
                     single ? from : X86_NONE, from);
  x86_byte(&code->x, how);
  own_done(code, instr, to);
}

static void select_special(own_code_t *code, own_value_t *instr, x86_opcode_t opcode, bool has_two) {
  int to = own_result(code, instr, SCRATCH + 2), from = own_vector(code, instr->args[0], SCRATCH);
  int last = has_two ? own_vector(code, instr->args[1], SCRATCH + 1) : from;
  own_emit_registers(code, opcode, 2, to, has_two ? from : X86_NONE, last);
  own_done(code, instr, to);
}

static void select_range(own_code_t *code, own_value_t *instr) {
  bool wide = instr->op == OWN_RANGE_PD;
  int to = own_result(code, instr, SCRATCH + 2), from = own_vector(code, instr->args[0], SCRATCH);
  int last = own_vector(code, instr->args[1], SCRATCH + 1);
  own_emit_registers(code, X86_OP(1, 3, wide, 0x50), 2, to, from, last);
  x86_byte(&code->x, (unsigned)instr->args[2]->lanes[0]);
  own_done(code, instr, to);
}

/* --- comparisons and choices ------------------------------------------------------------------------------------- */

static int float_condition(int predicate) {
  static const unsigned char conditions[16] = {0x0b, 0x00, 0x1e, 0x1d, 0x11, 0x12, 0x0c, 0x07,
                                               0x03, 0x08, 0x16, 0x15, 0x19, 0x1a, 0x04, 0x0f};
  return conditions[predicate & 15];
}

static int integer_condition(int predicate) {
  switch (predicate) {
    case LLVMIntEQ: return 0;
    case LLVMIntULT:
    case LLVMIntSLT: return 1;
    case LLVMIntULE:
    case LLVMIntSLE: return 2;
    case LLVMIntNE: return 4;
    case LLVMIntUGE:
    case LLVMIntSGE: return 5;
    default: return 6;
  }
}

void own_compare(own_code_t *code, own_value_t *compare, int to) {
  const own_type_t *type = compare->args[0]->type;
  int index = size_index(type), a = own_vector(code, compare->args[0], SCRATCH);
  x86_opcode_t opcode = compare->op == OWN_FCMP ? float_opcode(code, type, 0xc2) : 0;
  if (compare->op == OWN_ICMP) {
    unsigned byte = index < 2 ? 0x3f : 0x1f; /* those without signs have the byte below */
    if (compare->predicate >= LLVMIntUGT && compare->predicate <= LLVMIntULE) byte--;
    opcode = X86_OP(1, 3, index == 1 || index == 3, byte);
  }
  bool may_broadcast = index > 1; /* not bytes, nor pairs of them */
  if (may_broadcast)
    own_emit_before(code, opcode, type, to, a, compare->args[1], SCRATCH + 1, 1);
  else
    own_emit_registers(code, opcode, own_width_of(code, type), to, a, own_vector(code, compare->args[1], SCRATCH + 1));
  x86_byte(&code->x, (unsigned)(compare->op == OWN_ICMP ? integer_condition(compare->predicate)
                                                        : float_condition(compare->predicate)));
}

static void select_compare(own_code_t *code, own_value_t *instr) {
  int to = own_result(code, instr, OWN_SCRATCH_MASK);
  own_compare(code, instr, to);
  own_done(code, instr, to);
}

/* A mask of the lanes in which the choice is the first. */
static int mask_of_choice(own_code_t *code, own_value_t *instr) {
  own_value_t *condition = instr->args[0];
  if (!is_scalar(condition->type)) return own_mask(code, condition, OWN_SCRATCH_MASK);
  if (condition->op == OWN_FCMP && condition->is_folded && is_scalar(instr->type)) {
    own_compare(code, condition, OWN_SCRATCH_MASK);
    return OWN_SCRATCH_MASK;
  }
  x86_set(&code->x, own_flags(code, condition), X86_AX);
  x86_shift_constant(&code->x, X86_SHL, true, X86_AX, 63);
  x86_shift_constant(&code->x, X86_SAR, true, X86_AX, 63);
  x86_mask(&code->x, 3, true, false, 0x92, OWN_SCRATCH_MASK, X86_NONE, X86_AX);
  return OWN_SCRATCH_MASK;
}

/* Is the larger (smaller) of a and b chosen, b if either is NaN? So does the processor's own instruction. */
bool own_is_extreme(const own_value_t *choice) {
  const own_value_t *compare = choice->args[0];
  bool is_order = compare->predicate == LLVMRealOGT || compare->predicate == LLVMRealOLT;
  if (compare->op != OWN_FCMP || !is_order || choice->type->bits < 32) return false;
  return (compare->args[0] == choice->args[1] && compare->args[1] == choice->args[2]) ||
         (compare->args[0] == choice->args[2] && compare->args[1] == choice->args[1]);
}

static void select_extreme(own_code_t *code, own_value_t *instr) {
  const own_value_t *compare = instr->args[0];
  bool is_most = (compare->predicate == LLVMRealOGT) == (compare->args[0] == instr->args[1]);
  int to = own_result(code, instr, SCRATCH + 2), from = own_vector(code, instr->args[1], SCRATCH);
  own_emit(code, float_opcode(code, instr->type, is_most ? 0x5f : 0x5d), instr->type, to, from, instr->args[2],
           SCRATCH + 1);
  own_done(code, instr, to);
}

static void select_choice(own_code_t *code, own_value_t *instr) {
  if (instr->args[0]->is_folded && own_is_extreme(instr)) {
    select_extreme(code, instr);
    return;
  }
  static const x86_opcode_t blends[] = {X86_OP(1, 2, 0, 0x66), X86_OP(1, 2, 1, 0x66), X86_OP(1, 2, 0, 0x64),
                                        X86_OP(1, 2, 1, 0x64)};
  int mask = mask_of_choice(code, instr), to = own_result(code, instr, SCRATCH + 2);
  int one = own_vector(code, instr->args[1], SCRATCH), other = own_vector(code, instr->args[2], SCRATCH + 1);
  own_emit_masked(code, blends[size_index(instr->type)], own_width_of(code, instr->type), mask, false, to, other, one);
  own_done(code, instr, to);
}

/* --- memory ------------------------------------------------------------------------------------------------------ */

static const x86_opcode_t masked_loads[] = {X86_OP(3, 1, 0, 0x6f), X86_OP(3, 1, 1, 0x6f),
                                            X86_OP(2, 1, 0, 0x6f), X86_OP(2, 1, 1, 0x6f)};

/* The instruction that moves as many bytes as the type has. 0: there is none. */
static x86_opcode_t move_opcode(const own_type_t *type, bool is_store) {
  unsigned bits = own_width(type);
  if (bits >= 128) return X86_OP(0, 1, 0, 0x10 + is_store);
  if (bits == 64) return X86_OP(3, 1, 1, 0x10 + is_store);
  return bits == 32 ? X86_OP(2, 1, 0, 0x10 + is_store) : NONE;
}

static void select_load(own_code_t *code, own_value_t *instr) {
  int to = own_result(code, instr, SCRATCH + 2);
  x86_mem_t from = own_address(code, instr->args[0]);
  x86_opcode_t opcode = move_opcode(instr->type, false);
  if (own_is_truth(instr->type)) own_lacks(code, "bits in memory");
  if (opcode) {
    x86_vector_memory(&code->x, (x86_vector_t){.opcode = opcode, .width = own_width_of(code, instr->type), .to = to,
                                               .from = X86_NONE, .unit = (int)own_width(instr->type) / 8}, from);
  } else {
    x86_load(&code->x, X86_DX, from, own_width(instr->type));
    own_emit_registers(code, X86_OP(1, 1, 0, 0x6e), 0, to, X86_NONE, X86_DX);
  }
  own_done(code, instr, to);
}

static void store_vector(own_code_t *code, const own_value_t *instr, own_value_t *value, x86_mem_t place) {
  const own_type_t *type = value->type;
  int from = own_vector(code, value, SCRATCH);
  x86_opcode_t opcode = move_opcode(type, true);
  if (instr->streams && own_width(type) >= 128) opcode = X86_OP(0, 1, 0, 0x2b);
  if (!opcode) {
    own_emit_registers(code, X86_OP(1, 1, 0, 0x7e), 0, from, X86_NONE, X86_DX);
    x86_store(&code->x, place, X86_DX, own_width(type));
    return;
  }
  x86_vector_memory(&code->x, (x86_vector_t){.opcode = opcode, .width = own_width_of(code, type), .to = from,
                                             .from = X86_NONE, .unit = (int)own_width(type) / 8}, place);
}

static void select_store(own_code_t *code, own_value_t *instr) {
  own_value_t *value = instr->args[0];
  own_class_t kind = own_class_of(value->type);
  x86_mem_t place = own_address(code, instr->args[1]);
  if (kind == OWN_MASKS) own_lacks(code, "bits in memory");
  if (kind == OWN_GENERAL)
    x86_store(&code->x, place, own_general(code, value, X86_DX), value->type->bits < 8 ? 8 : value->type->bits);
  else if (code->lacks)
    return;
  else
    store_vector(code, instr, value, place);
}

/* LLVM counts from 0, no cache, to 3, the nearest one. */
static void select_prefetch(own_code_t *code, own_value_t *instr) {
  int nearness = (int)(instr->args[2]->lanes[0] & 3);
  x86_prefetch(&code->x, own_address(code, instr->args[0]), nearness ? 4 - nearness : 0);
}

/* Lanes that the type lacks would be touched, too. */
static int mask_of_lanes(own_code_t *code, own_value_t *value, const own_type_t *type) {
  int mask = own_mask(code, value, OWN_SCRATCH_MASK);
  if (own_width(type) >= 128 || own_is_constant(value)) return mask;
  x86_mask_shift(&code->x, true, OWN_SCRATCH_MASK, mask, 64 - (int)type->lanes);
  x86_mask_shift(&code->x, false, OWN_SCRATCH_MASK, OWN_SCRATCH_MASK, 64 - (int)type->lanes);
  return OWN_SCRATCH_MASK;
}

static void select_masked_load(own_code_t *code, own_value_t *instr) {
  int to = own_result(code, instr, SCRATCH + 2), mask = mask_of_lanes(code, instr->args[2], instr->type);
  x86_mem_t from = own_address(code, instr->args[0]);
  x86_vector_memory(&code->x, (x86_vector_t){.opcode = masked_loads[size_index(instr->type)],
                                             .width = own_width_of(code, instr->type), .to = to, .from = X86_NONE,
                                             .mask = mask, .zeroes = true}, from);
  own_done(code, instr, to);
}

static void select_masked_store(own_code_t *code, own_value_t *instr) {
  const own_type_t *type = instr->args[0]->type;
  int from = own_vector(code, instr->args[0], SCRATCH), mask = mask_of_lanes(code, instr->args[3], type);
  x86_mem_t to = own_address(code, instr->args[1]);
  x86_opcode_t opcode = masked_loads[size_index(type)] + 0x10;
  x86_vector_memory(&code->x, (x86_vector_t){.opcode = opcode, .width = own_width_of(code, type), .to = from,
                                             .from = X86_NONE, .mask = mask}, to);
}

static bool can_spread(const own_value_t *address, const own_type_t *type) {
  return address->is_folded && address->args[1]->type->lanes > 1 && address->args[1]->type->bits >= 32 &&
         type->bits >= 32 && own_width(type) >= 128;
}

/* The mask is used up. */
static void select_gather(own_code_t *code, own_value_t *instr) {
  const own_value_t *address = instr->args[0];
  if (!can_spread(address, instr->type)) {
    own_lacks(code, "such a gather");
    return;
  }
  const own_type_t *index = address->args[1]->type;
  bool is_far = index->bits == 64, is_wide = instr->type->bits == 64;
  int to = SCRATCH + 2, width = own_width_of(code, own_width(index) > own_width(instr->type) ? index : instr->type);
  own_move_mask(code, OWN_SCRATCH_MASK, own_mask(code, instr->args[2], OWN_SCRATCH_MASK));
  own_emit_registers(code, integer_opcodes[OWN_XOR][2], 2, to, to, to);
  x86_gather(&code->x, (x86_vector_t){.opcode = X86_OP(1, 2, is_wide, 0x90 + is_far), .width = width, .to = to,
                                      .from = X86_NONE, .mask = OWN_SCRATCH_MASK}, own_address(code, instr->args[0]));
  own_done(code, instr, to);
}

static void select_scatter(own_code_t *code, own_value_t *instr) {
  const own_value_t *address = instr->args[1];
  const own_type_t *type = instr->args[0]->type;
  if (!can_spread(address, type)) {
    own_lacks(code, "such a scatter");
    return;
  }
  const own_type_t *index = address->args[1]->type;
  int width = own_width_of(code, own_width(index) > own_width(type) ? index : type);
  int from = own_vector(code, instr->args[0], SCRATCH + 1);
  own_move_mask(code, OWN_SCRATCH_MASK, own_mask(code, instr->args[3], OWN_SCRATCH_MASK));
  x86_opcode_t opcode = X86_OP(1, 2, type->bits == 64, 0xa0 + (index->bits == 64));
  x86_gather(&code->x, (x86_vector_t){.opcode = opcode, .width = width, .to = from, .from = X86_NONE,
                                      .mask = OWN_SCRATCH_MASK}, own_address(code, instr->args[1]));
}

/* --- one by one -------------------------------------------------------------------------------------------------- */

static void select_integers(own_code_t *code, own_value_t *instr) {
  if (own_is_truth(instr->type))
    select_mask_binary(code, instr);
  else if (instr->args[0]->is_folded && own_is_rotation(instr))
    select_rotation(code, instr);
  else
    select_binary(code, instr, integer_opcodes[instr->op][size_index(instr->type)]);
}

void own_select_vector(own_code_t *code, own_value_t *instr) {
  switch (instr->op) {
    case OWN_ADD:
    case OWN_SUB:
    case OWN_MUL:
    case OWN_AND:
    case OWN_OR:
    case OWN_XOR:
    case OWN_SHL:
    case OWN_LSHR:
    case OWN_ASHR:
    case OWN_SMIN:
    case OWN_SMAX:
    case OWN_UMIN:
    case OWN_UMAX: select_integers(code, instr); return;
    case OWN_FADD:
    case OWN_FSUB:
    case OWN_FMUL:
    case OWN_FDIV: select_binary(code, instr, float_opcode(code, instr->type, float_opcodes[instr->op])); return;
    case OWN_FMA: select_fma(code, instr); return;
    case OWN_FNEG:
    case OWN_FABS: select_sign(code, instr); return;
    case OWN_COPYSIGN: select_copysign(code, instr); return;
    case OWN_CTPOP:
    case OWN_CTLZ: select_count(code, instr); return;
    case OWN_SQRT: select_root(code, instr); return;
    case OWN_RINT: select_rounding(code, instr, 4); return;
    case OWN_FLOOR: select_rounding(code, instr, 9); return;
    case OWN_CEIL: select_rounding(code, instr, 10); return;
    case OWN_FTRUNC: select_rounding(code, instr, 11); return;
    case OWN_RANGE_PS:
    case OWN_RANGE_PD: select_range(code, instr); return;
    case OWN_SCALEF_PS: select_special(code, instr, X86_OP(1, 2, 0, 0x2c), true); return;
    case OWN_SCALEF_PD: select_special(code, instr, X86_OP(1, 2, 1, 0x2c), true); return;
    case OWN_RSQRT14_PS: select_special(code, instr, X86_OP(1, 2, 0, 0x4e), false); return;
    case OWN_RCP14_PS: select_special(code, instr, X86_OP(1, 2, 0, 0x4c), false); return;
    case OWN_RCP14_PD: select_special(code, instr, X86_OP(1, 2, 1, 0x4c), false); return;
    case OWN_RSQRT14_PD: select_special(code, instr, X86_OP(1, 2, 1, 0x4e), false); return;
    case OWN_ICMP:
    case OWN_FCMP: select_compare(code, instr); return;
    case OWN_SELECT: select_choice(code, instr); return;
    case OWN_LOAD: select_load(code, instr); return;
    case OWN_STORE: select_store(code, instr); return;
    case OWN_SCATTER: select_scatter(code, instr); return;
    case OWN_PREFETCH: select_prefetch(code, instr); return;
    case OWN_MASKED_LOAD: select_masked_load(code, instr); return;
    case OWN_MASKED_STORE: select_masked_store(code, instr); return;
    case OWN_GATHER: select_gather(code, instr); return;
    default:
      if (!own_select_cast(code, instr) && !own_select_lanes(code, instr)) own_lacks(code, "an instruction");
  }
}
