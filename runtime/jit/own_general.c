/* Results in general registers: indices, conditions, integers one at a time. */
#include "jit/own_select.h"

static bool is_wide(const own_type_t *type) { return type->bits == 64; }

static bool is_int32(const own_value_t *value, int64_t *out) {
  if (!own_is_constant(value)) return false;
  *out = own_signed(value->lanes[0], value->type->bits == 1 ? 64 : value->type->bits);
  return *out == (int32_t)*out;
}

static int power_of(uint64_t value) { return value && !(value & (value - 1)) ? __builtin_ctzll(value) : -1; }

/* The value with all of the register's upper bits as its type says: in `to`, or where it is if it has no upper bits. */
static int extended(own_code_t *code, own_value_t *value, bool is_signed, int to) {
  unsigned bits = value->type->bits;
  if (own_is_constant(value)) {
    x86_mov_constant(&code->x, to, is_signed ? (uint64_t)own_signed(value->lanes[0], bits) : value->lanes[0]);
    return to;
  }
  int reg = own_general(code, value, to);
  if (bits >= 32 || bits == 1) return reg;
  x86_extend(&code->x, is_signed, to, reg, bits);
  return to;
}

/* --- conditions -------------------------------------------------------------------------------------------------- */

static int condition_of(int predicate) {
  switch (predicate) {
    case LLVMIntEQ: return X86_E;
    case LLVMIntNE: return X86_NE;
    case LLVMIntUGT: return X86_A;
    case LLVMIntUGE: return X86_AE;
    case LLVMIntULT: return X86_B;
    case LLVMIntULE: return X86_BE;
    case LLVMIntSGT: return X86_G;
    case LLVMIntSGE: return X86_GE;
    case LLVMIntSLT: return X86_L;
    default: return X86_LE;
  }
}

/* Constants of narrow types are the wider ones that the comparison means. */
static int integer_flags(own_code_t *code, own_value_t *compare) {
  own_value_t *b = compare->args[1];
  bool is_signed = compare->predicate >= LLVMIntSGT, wide = is_wide(b->type);
  int64_t value;
  int x = extended(code, compare->args[0], is_signed, X86_CX);
  if (is_int32(b, &value) && (is_signed || value >= 0 || b->type->bits >= 32)) {
    x86_alu_constant(&code->x, X86_CMP, wide, x, (int32_t)value);
  } else if (own_is_constant(b)) {
    x86_mov_constant(&code->x, X86_DX, is_signed ? (uint64_t)own_signed(b->lanes[0], b->type->bits) : b->lanes[0]);
    x86_alu(&code->x, X86_CMP, wide, x, X86_DX);
  } else {
    x86_alu(&code->x, X86_CMP, wide, x, extended(code, b, is_signed, X86_DX));
  }
  return condition_of(compare->predicate);
}

/* Is a lane's bit set? The test has forms for 8, 16, 32 and 64 lanes. */
static int any_flags(own_code_t *code, own_value_t *any) {
  unsigned lanes = any->args[0]->type->lanes;
  int mask = own_mask(code, any->args[0], OWN_SCRATCH_MASK);
  x86_mask(&code->x, lanes == 8 || lanes == 32, lanes >= 32, false, 0x98, mask, X86_NONE, mask);
  return X86_NE;
}

int own_flags(own_code_t *code, own_value_t *condition) {
  if (condition->op == OWN_ICMP && condition->is_folded) return integer_flags(code, condition);
  if (condition->op == OWN_FCMP && condition->is_folded) {
    own_compare(code, condition, OWN_SCRATCH_MASK);
    x86_mask(&code->x, 0, true, false, 0x98, OWN_SCRATCH_MASK, X86_NONE, OWN_SCRATCH_MASK);
    return X86_NE;
  }
  if (condition->op == OWN_REDUCE_OR && condition->is_folded) return any_flags(code, condition);
  int reg = own_general(code, condition, X86_CX);
  x86_test(&code->x, reg, reg);
  return X86_NE;
}

static void select_compare(own_code_t *code, own_value_t *instr) {
  int to = own_result(code, instr, X86_AX);
  if (instr->op == OWN_ICMP) {
    x86_set(&code->x, integer_flags(code, instr), to);
  } else {
    own_compare(code, instr, OWN_SCRATCH_MASK);
    x86_mask(&code->x, 3, true, false, 0x93, to, X86_NONE, OWN_SCRATCH_MASK);
  }
  own_done(code, instr, to);
}

static void select_either(own_code_t *code, own_value_t *instr) {
  int other = own_general(code, instr->args[2], X86_AX);
  x86_mov(&code->x, X86_AX, other);
  int condition = own_flags(code, instr->args[0]);
  int value = own_general(code, instr->args[1], X86_DX);
  x86_cmov(&code->x, condition, X86_AX, value);
  own_done(code, instr, X86_AX);
}

/* --- arithmetic -------------------------------------------------------------------------------------------------- */

static void alu(own_code_t *code, own_op_t op, bool wide, int to, own_value_t *last) {
  static const enum x86_alu alus[OWN_OP_COUNT] = {[OWN_ADD] = X86_ADD, [OWN_SUB] = X86_SUB, [OWN_AND] = X86_AND,
                                                  [OWN_OR] = X86_OR, [OWN_XOR] = X86_XOR};
  int64_t value;
  if (op == OWN_MUL) {
    x86_multiply(&code->x, wide, to, own_general(code, last, X86_DX));
  } else if (is_int32(last, &value)) {
    x86_alu_constant(&code->x, alus[op], wide, to, (int32_t)value);
  } else {
    x86_alu(&code->x, alus[op], wide, to, own_general(code, last, X86_DX));
  }
}

/* to = a op b, where b may be in `to`. */
static void select_alu(own_code_t *code, own_value_t *instr) {
  own_value_t *a = instr->args[0], *b = instr->args[1];
  bool wide = is_wide(instr->type), commutes = own_op_flags[instr->op] & OWN_COMMUTES;
  int to = own_result(code, instr, X86_AX);
  bool takes_b = !own_is_constant(b) && code->homes[b->number].reg == to;
  if (commutes && (takes_b || own_is_constant(a))) {
    own_value_t *first = b;
    b = a, a = first, takes_b = !own_is_constant(b) && code->homes[b->number].reg == to && a != b;
  }
  int into = takes_b ? X86_AX : to;
  x86_mov(&code->x, into, own_general(code, a, into));
  alu(code, instr->op, wide, into, b);
  own_done(code, instr, into);
}

static void select_product(own_code_t *code, own_value_t *instr) {
  int64_t value;
  bool wide = is_wide(instr->type);
  if (!is_int32(instr->args[1], &value)) {
    select_alu(code, instr);
    return;
  }
  int to = own_result(code, instr, X86_AX), from = own_general(code, instr->args[0], X86_AX),
      shift = power_of((uint64_t)value);
  if (shift >= 0) {
    x86_mov(&code->x, to, from);
    x86_shift_constant(&code->x, X86_SHL, wide, to, shift);
  } else {
    x86_multiply_constant(&code->x, wide, to, from, (int32_t)value);
  }
  own_done(code, instr, to);
}

/* By a power of two, if it is without signs. */
static bool select_short_division(own_code_t *code, own_value_t *instr) {
  const own_value_t *by = instr->args[1];
  bool is_rest = instr->op == OWN_UREM;
  if (!own_is_constant(by) || (instr->op != OWN_UDIV && !is_rest)) return false;
  int shift = power_of(by->lanes[0]);
  if (shift < 0 || shift > 31 || instr->type->bits < 32) return false;
  int to = own_result(code, instr, X86_AX);
  x86_mov(&code->x, to, own_general(code, instr->args[0], X86_AX));
  if (is_rest && shift == 31)
    x86_shift_constant(&code->x, X86_SHL, false, to, 1), x86_shift_constant(&code->x, X86_SHR, false, to, 1);
  else if (is_rest)
    x86_alu_constant(&code->x, X86_AND, is_wide(instr->type), to, (int32_t)((1u << shift) - 1));
  else
    x86_shift_constant(&code->x, X86_SHR, is_wide(instr->type), to, shift);
  own_done(code, instr, to);
  return true;
}

/* By a constant d of up to 32 bits: the upper half of the product with 2^64 / d, rounded up, which is too large by less
 * than 2^-32 of a divisor. What is below zero was rounded down. */
static bool select_constant_division(own_code_t *code, own_value_t *instr) {
  bool is_signed = instr->op == OWN_SDIV || instr->op == OWN_SREM;
  unsigned bits = instr->type->bits;
  int64_t by;
  if (bits < 8 || bits > 32 || !is_int32(instr->args[1], &by) || by < 3) return false;
  x86_extend(&code->x, is_signed, X86_CX, own_general(code, instr->args[0], X86_CX), bits);
  x86_mov_constant(&code->x, X86_AX, UINT64_MAX / (uint64_t)by + 1);
  x86_multiply_high(&code->x, is_signed, X86_CX);
  if (is_signed) {
    x86_mov(&code->x, X86_AX, X86_CX);
    x86_shift_constant(&code->x, X86_SAR, true, X86_AX, 63);
    x86_alu(&code->x, X86_SUB, false, X86_DX, X86_AX);
  }
  if (instr->op == OWN_UREM || instr->op == OWN_SREM) {
    x86_multiply_constant(&code->x, false, X86_DX, X86_DX, (int32_t)by);
    x86_alu(&code->x, X86_SUB, false, X86_CX, X86_DX);
    x86_mov(&code->x, X86_DX, X86_CX);
  }
  own_done(code, instr, X86_DX);
  return true;
}

static void select_division(own_code_t *code, own_value_t *instr) {
  bool is_signed = instr->op == OWN_SDIV || instr->op == OWN_SREM, wide = is_wide(instr->type);
  bool is_rest = instr->op == OWN_UREM || instr->op == OWN_SREM;
  if (select_short_division(code, instr) || select_constant_division(code, instr)) return;
  x86_mov(&code->x, X86_AX, extended(code, instr->args[0], is_signed, X86_AX));
  int by = extended(code, instr->args[1], is_signed, X86_CX);
  if (is_signed)
    x86_sign_to_dx(&code->x, wide);
  else
    x86_mov_constant(&code->x, X86_DX, 0);
  x86_divide(&code->x, wide, is_signed, by);
  own_done(code, instr, is_rest ? X86_DX : X86_AX);
}

static void select_shift(own_code_t *code, own_value_t *instr) {
  enum x86_shift op = instr->op == OWN_SHL ? X86_SHL : instr->op == OWN_LSHR ? X86_SHR : X86_SAR;
  bool wide = is_wide(instr->type);
  x86_mov(&code->x, X86_AX, extended(code, instr->args[0], instr->op == OWN_ASHR, X86_AX));
  if (own_is_constant(instr->args[1])) {
    x86_shift_constant(&code->x, op, wide, X86_AX, (int)(instr->args[1]->lanes[0] & 63));
  } else {
    x86_mov(&code->x, X86_CX, own_general(code, instr->args[1], X86_CX));
    x86_shift(&code->x, op, wide, X86_AX);
  }
  own_done(code, instr, X86_AX);
}

static void select_extreme(own_code_t *code, own_value_t *instr) {
  static const int conditions[OWN_OP_COUNT] = {[OWN_SMIN] = X86_L, [OWN_SMAX] = X86_G, [OWN_UMIN] = X86_B,
                                               [OWN_UMAX] = X86_A};
  bool is_signed = instr->op == OWN_SMIN || instr->op == OWN_SMAX;
  x86_mov(&code->x, X86_AX, extended(code, instr->args[1], is_signed, X86_AX));
  int other = extended(code, instr->args[0], is_signed, X86_DX);
  x86_alu(&code->x, X86_CMP, is_wide(instr->type), other, X86_AX);
  x86_cmov(&code->x, conditions[instr->op], X86_AX, other);
  own_done(code, instr, X86_AX);
}

/* --- casts, memory, lanes ---------------------------------------------------------------------------------------- */

static void select_narrowing(own_code_t *code, own_value_t *instr) {
  int to = own_result(code, instr, X86_AX);
  x86_mov(&code->x, to, own_general(code, instr->args[0], X86_AX));
  if (own_is_truth(instr->type)) x86_alu_constant(&code->x, X86_AND, false, to, 1);
  own_done(code, instr, to);
}

static void select_widening(own_code_t *code, own_value_t *instr) {
  unsigned bits = instr->args[0]->type->bits;
  int from = own_general(code, instr->args[0], X86_AX), to = own_result(code, instr, X86_AX);
  if (bits > 1) {
    x86_extend(&code->x, instr->op == OWN_SEXT, to, from, bits);
  } else {
    x86_mov(&code->x, X86_AX, from);
    if (instr->op == OWN_SEXT) x86_shift_constant(&code->x, X86_SHL, true, X86_AX, 63);
    if (instr->op == OWN_SEXT) x86_shift_constant(&code->x, X86_SAR, true, X86_AX, 63);
    to = X86_AX;
  }
  own_done(code, instr, to);
}

static void select_count(own_code_t *code, own_value_t *instr) {
  int to = own_result(code, instr, X86_AX), from = own_general(code, instr->args[0], X86_AX);
  (instr->op == OWN_CTLZ ? x86_leading_zeros : x86_ones)(&code->x, is_wide(instr->type), to, from);
  own_done(code, instr, to);
}

static void select_load(own_code_t *code, own_value_t *instr) {
  int to = own_result(code, instr, X86_DX);
  x86_load(&code->x, to, own_address(code, instr->args[0]), instr->type->bits < 8 ? 8 : instr->type->bits);
  own_done(code, instr, to);
}

/* An address that is wanted as a number. */
static void select_address(own_code_t *code, own_value_t *instr) {
  own_value_t *index = instr->args[1];
  int to = own_result(code, instr, X86_DX);
  x86_mem_t place = own_address(code, instr->args[0]);
  if (instr->type->lanes > 1) own_lacks(code, "addresses of lanes");
  if (own_is_constant(index)) {
    place.disp += own_signed(index->lanes[0], index->type->bits) * instr->predicate;
  } else {
    int reg = own_general(code, index, X86_DX), size = instr->predicate;
    if (index->type->bits < 64) x86_extend(&code->x, true, X86_DX, reg, index->type->bits), reg = X86_DX;
    if (place.index != X86_NONE) x86_lea(&code->x, X86_AX, place), place = (x86_mem_t){.base = X86_AX};
    if (size > 8 || power_of((uint64_t)size) < 0) {
      x86_multiply_constant(&code->x, true, X86_DX, reg, size);
      reg = X86_DX, size = 1;
    }
    place.index = reg, place.scale = size;
  }
  if (place.disp != (int32_t)place.disp) own_lacks(code, "distant memory");
  x86_lea(&code->x, to, place);
  own_done(code, instr, to);
}

static void select_room(own_code_t *code, own_value_t *instr) {
  int to = own_result(code, instr, X86_AX);
  x86_lea(&code->x, to, (x86_mem_t){.base = X86_SP, .index = X86_NONE, .scale = 1,
                                    .disp = code->frame_bytes - (int64_t)instr->lanes[0]});
  own_done(code, instr, to);
}

/* Is any lane's bit set? */
static void select_any(own_code_t *code, own_value_t *instr) {
  const own_type_t *type = instr->args[0]->type;
  int to = own_result(code, instr, X86_AX), from = own_mask(code, instr->args[0], OWN_SCRATCH_MASK);
  if (!own_is_truth(type)) own_lacks(code, "an or of integers");
  x86_mask(&code->x, 3, true, false, 0x93, X86_AX, X86_NONE, from);
  if (type->lanes < 64) x86_shift_constant(&code->x, X86_SHL, true, X86_AX, (int)(64 - type->lanes));
  x86_alu_constant(&code->x, X86_CMP, true, X86_AX, 0);
  x86_set(&code->x, X86_NE, to);
  own_done(code, instr, to);
}

void own_select_general(own_code_t *code, own_value_t *instr) {
  if (instr->type->kind == LLVMIntegerTypeKind && instr->type->bits > 64) own_lacks(code, "wide integers");
  switch (instr->op) {
    case OWN_ADD:
    case OWN_SUB:
    case OWN_AND:
    case OWN_OR:
    case OWN_XOR: select_alu(code, instr); return;
    case OWN_MUL: select_product(code, instr); return;
    case OWN_UDIV:
    case OWN_SDIV:
    case OWN_UREM:
    case OWN_SREM: select_division(code, instr); return;
    case OWN_SHL:
    case OWN_LSHR:
    case OWN_ASHR: select_shift(code, instr); return;
    case OWN_SMIN:
    case OWN_SMAX:
    case OWN_UMIN:
    case OWN_UMAX: select_extreme(code, instr); return;
    case OWN_ICMP:
    case OWN_FCMP: select_compare(code, instr); return;
    case OWN_SELECT: select_either(code, instr); return;
    case OWN_TRUNC: select_narrowing(code, instr); return;
    case OWN_ZEXT:
    case OWN_SEXT: select_widening(code, instr); return;
    case OWN_CTPOP:
    case OWN_CTLZ: select_count(code, instr); return;
    case OWN_LOAD: select_load(code, instr); return;
    case OWN_GEP: select_address(code, instr); return;
    case OWN_ALLOCA: select_room(code, instr); return;
    case OWN_REDUCE_OR: select_any(code, instr); return;
    default:
      if (!own_select_cast(code, instr) && !own_select_lanes(code, instr)) own_lacks(code, "an instruction");
  }
}
