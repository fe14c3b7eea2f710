/* Instruction selection for results in general registers: indices, addresses, conditions, scalar
 * integers.
 *
 * Every operation is one row of gpr_selectors. x86 instructions overwrite their first operand, so
 * it is moved to the destination unless both have the same register. Integers of 8 and 16 bits are
 * computed in 32; bits above a value's width are unspecified, so that divisions, right shifts and
 * comparisons extend their operands first. ax, cx and dx are never allocated: divisions, shifts by
 * a variable and conditions use them. */
#include "jit/x64/x64_isel.h"

static bool is_wide(const kir_type_t *type) { return type->bits == 64; }

/* Does the constant fit a sign-extended immediate operand? */
static bool is_int32(const kir_value_t *value, int64_t *out) {
  if (!kir_is_constant(value)) return false;
  *out = kir_sign_extend(value->lanes[0], value->type->bits == 1 ? 64 : value->type->bits);
  return *out == (int32_t)*out;
}

/* Exponent of a power of two; -1: not a power of two. */
static int power_of(uint64_t value) {
  return value && !(value & (value - 1)) ? __builtin_ctzll(value) : -1;
}

/* The value with the upper bits of the register extended according to its type and signedness:
 * copied to `to`, or in its own register if the type fills it. */
static int extended(x64_code_t *code, kir_value_t *value, bool is_signed, int to) {
  unsigned bits = value->type->bits;
  if (kir_is_constant(value)) {
    x86_mov_constant(
        &code->x, to,
        is_signed ? (uint64_t)kir_sign_extend(value->lanes[0], bits) : value->lanes[0]);
    return to;
  }
  int reg = x64_gpr(code, value, to);
  if (bits >= 32 || bits == 1) return reg;
  x86_extend(&code->x, is_signed, to, reg, bits);
  return to;
}

/* --- conditions ------------------------------------------------------------------------------- */

/* x86's condition code after CMP; the last case is signed less or equal. */
static int condition_of(int predicate) {
  switch (predicate) {
    case KIR_ICMP_EQ:
      return X86_E;
    case KIR_ICMP_NE:
      return X86_NE;
    case KIR_ICMP_UGT:
      return X86_A;
    case KIR_ICMP_UGE:
      return X86_AE;
    case KIR_ICMP_ULT:
      return X86_B;
    case KIR_ICMP_ULE:
      return X86_BE;
    case KIR_ICMP_SGT:
      return X86_G;
    case KIR_ICMP_SGE:
      return X86_GE;
    case KIR_ICMP_SLT:
      return X86_L;
    default:
      return X86_LE;
  }
}

/* Sets the flags by CMP and returns the condition code that means true. Narrow operands, including
 * constants, are extended first. */
static int integer_flags(x64_code_t *code, kir_value_t *compare) {
  kir_value_t *b = compare->args[1];
  bool is_signed = compare->detail >= KIR_ICMP_SGT, wide = is_wide(b->type);
  int64_t value;
  int x = extended(code, compare->args[0], is_signed, X86_CX);
  if (is_int32(b, &value) && (is_signed || value >= 0 || b->type->bits >= 32)) {
    x86_alu_constant(&code->x, X86_CMP, wide, x, (int32_t)value);
  } else if (kir_is_constant(b)) {
    x86_mov_constant(
        &code->x, X86_DX,
        is_signed ? (uint64_t)kir_sign_extend(b->lanes[0], b->type->bits) : b->lanes[0]);
    x86_alu(&code->x, X86_CMP, wide, x, X86_DX);
  } else {
    x86_alu(&code->x, X86_CMP, wide, x, extended(code, b, is_signed, X86_DX));
  }
  return condition_of(compare->detail);
}

/* Tests whether any lane's bit is set. The test has forms for 8, 16, 32 and 64 lanes. */
static int any_flags(x64_code_t *code, kir_value_t *any) {
  if (!code->isa->has_evex) return x64_any_flags(code, any->args[0]);
  unsigned lanes = any->args[0]->type->lanes;
  int mask = x64_mask(code, any->args[0], X64_SCRATCH_MASK);
  x86_mask_op_t test = X86_KORTEST;
  test.prefix = lanes == 8 || lanes == 32;
  test.is_wide = lanes >= 32;
  x86_mask(&code->x, test, mask, X86_NONE, mask);
  return X86_NE;
}

/* A comparison folded into its only user leaves its result in the flags; other conditions are
 * tested as a byte. Returns the condition code that means true. */
int x64_set_flags(x64_code_t *code, kir_value_t *condition) {
  if (condition->op == KIR_ICMP && x64_node(code, condition)->is_folded)
    return integer_flags(code, condition);
  bool is_float = condition->op == KIR_FCMP && x64_node(code, condition)->is_folded;
  if (is_float && !code->isa->has_evex) return x64_float_flags(code, condition);
  if (is_float) {
    x64_compare(code, condition, X64_SCRATCH_MASK);
    x86_mask(&code->x, X86_KORTEST, X64_SCRATCH_MASK, X86_NONE, X64_SCRATCH_MASK);
    return X86_NE;
  }
  if (condition->op == KIR_REDUCE_OR && x64_node(code, condition)->is_folded)
    return any_flags(code, condition);
  int reg = x64_gpr(code, condition, X86_CX);
  x86_test(&code->x, reg, reg);
  return X86_NE;
}

/* A comparison whose result is needed as a value: SETcc, or KMOV from a mask register. */
static void select_compare(x64_code_t *code, kir_value_t *instr) {
  int to = x64_destination(code, instr, X86_AX);
  if (instr->op == KIR_ICMP) {
    x86_set(&code->x, integer_flags(code, instr), to);
  } else if (!code->isa->has_evex) {
    x86_set(&code->x, x64_float_flags(code, instr), to);
  } else {
    x64_compare(code, instr, X64_SCRATCH_MASK);
    x86_mask(&code->x, X86_KMOV_TO_GPR, to, X86_NONE, X64_SCRATCH_MASK);
  }
  x64_define(code, instr, to);
}

/* CMOV; both values are computed, the false one into ax before the flags are set. */
static void select_select(x64_code_t *code, kir_value_t *instr) {
  int other = x64_gpr(code, instr->args[2], X86_AX);
  x86_mov(&code->x, X86_AX, other);
  int condition = x64_set_flags(code, instr->args[0]);
  int value = x64_gpr(code, instr->args[1], X86_DX);
  x86_cmov(&code->x, condition, X86_AX, value);
  x64_define(code, instr, X86_AX);
}

/* --- arithmetic ------------------------------------------------------------------------------- */

/* to = to op last, with an immediate where the constant fits. */
static void alu(x64_code_t *code, kir_op_t op, bool wide, int to, kir_value_t *last) {
  static const enum x86_alu alus[KIR_OP_COUNT] = {[KIR_ADD] = X86_ADD,
                                                  [KIR_SUB] = X86_SUB,
                                                  [KIR_AND] = X86_AND,
                                                  [KIR_OR] = X86_OR,
                                                  [KIR_XOR] = X86_XOR};
  int64_t value;
  if (op == KIR_MUL) {
    x86_multiply(&code->x, wide, to, x64_gpr(code, last, X86_DX));
  } else if (is_int32(last, &value)) {
    x86_alu_constant(&code->x, alus[op], wide, to, (int32_t)value);
  } else {
    x86_alu(&code->x, alus[op], wide, to, x64_gpr(code, last, X86_DX));
  }
}

/* to = a op b. If b is in `to`, the operands of a commutative op are swapped; for other ops the
 * result is computed in ax. */
static void select_alu(x64_code_t *code, kir_value_t *instr) {
  kir_value_t *a = instr->args[0], *b = instr->args[1];
  bool wide = is_wide(instr->type), commutes = kir_op_flags[instr->op] & KIR_COMMUTES;
  int to = x64_destination(code, instr, X86_AX);
  bool takes_b = !kir_is_constant(b) && x64_interval(code, b)->reg == to;
  if (commutes && (takes_b || kir_is_constant(a))) {
    kir_value_t *first = b;
    b = a;
    a = first;
    takes_b = !kir_is_constant(b) && x64_interval(code, b)->reg == to && a != b;
  }
  int into = takes_b ? X86_AX : to;
  x86_mov(&code->x, into, x64_gpr(code, a, into));
  alu(code, instr->op, wide, into, b);
  x64_define(code, instr, into);
}

/* Multiplication: by a power of two a shift, by another constant IMUL with an immediate. */
static void select_product(x64_code_t *code, kir_value_t *instr) {
  int64_t value;
  bool wide = is_wide(instr->type);
  if (!is_int32(instr->args[1], &value)) {
    select_alu(code, instr);
    return;
  }
  int to = x64_destination(code, instr, X86_AX), from = x64_gpr(code, instr->args[0], X86_AX),
      shift = power_of((uint64_t)value);
  if (shift >= 0) {
    x86_mov(&code->x, to, from);
    x86_shift_constant(&code->x, X86_SHL, wide, to, shift);
  } else {
    x86_multiply_constant(&code->x, wide, to, from, (int32_t)value);
  }
  x64_define(code, instr, to);
}

/* Unsigned division by a power of two: a shift, or for the remainder a mask. */
static bool select_short_division(x64_code_t *code, kir_value_t *instr) {
  const kir_value_t *by = instr->args[1];
  bool is_rest = instr->op == KIR_UREM;
  if (!kir_is_constant(by) || (instr->op != KIR_UDIV && !is_rest)) return false;
  int shift = power_of(by->lanes[0]);
  if (shift < 0 || shift > 31 || instr->type->bits < 32) return false;
  int to = x64_destination(code, instr, X86_AX);
  x86_mov(&code->x, to, x64_gpr(code, instr->args[0], X86_AX));
  if (is_rest && shift == 31) {
    x86_shift_constant(&code->x, X86_SHL, false, to, 1);
    x86_shift_constant(&code->x, X86_SHR, false, to, 1);
  } else if (is_rest) {
    x86_alu_constant(&code->x, X86_AND, is_wide(instr->type), to, (int32_t)((1u << shift) - 1));
  } else {
    x86_shift_constant(&code->x, X86_SHR, is_wide(instr->type), to, shift);
  }
  x64_define(code, instr, to);
  return true;
}

/* Division by a constant d from 3 to 2^31 - 1 of types up to 32 bits, without DIV: the upper half
 * of the product with floor(2^64 / d) + 1, whose error is above 0 and less than 2^-32 of a divisor.
 * For negative dividends the quotient is rounded down, also for multiples of d, so 1 is added. The
 * remainder is x - d * quotient. False: not of this form. */
static bool select_constant_division(x64_code_t *code, kir_value_t *instr) {
  bool is_signed = instr->op == KIR_SDIV || instr->op == KIR_SREM;
  unsigned bits = instr->type->bits;
  int64_t by;
  if (bits < 8 || bits > 32 || !is_int32(instr->args[1], &by) || by < 3) return false;
  x86_extend(&code->x, is_signed, X86_CX, x64_gpr(code, instr->args[0], X86_CX), bits);
  x86_mov_constant(&code->x, X86_AX, (uint64_t)(((unsigned __int128)1 << 64) / (uint64_t)by) + 1);
  x86_multiply_high(&code->x, is_signed, X86_CX);
  if (is_signed) {
    x86_mov(&code->x, X86_AX, X86_CX);
    x86_shift_constant(&code->x, X86_SAR, true, X86_AX, 63);
    x86_alu(&code->x, X86_SUB, false, X86_DX, X86_AX);
  }
  if (instr->op == KIR_UREM || instr->op == KIR_SREM) {
    x86_multiply_constant(&code->x, false, X86_DX, X86_DX, (int32_t)by);
    x86_alu(&code->x, X86_SUB, false, X86_CX, X86_DX);
    x86_mov(&code->x, X86_DX, X86_CX);
  }
  x64_define(code, instr, X86_DX);
  return true;
}

/* Negates `to` if x is negative: the magnitude of x, or the inverse operation. */
static void apply_sign(x64_code_t *code, kir_value_t *x, int to) {
  x86_mov(&code->x, X86_AX, x64_gpr(code, x, X86_AX));
  x86_shift_constant(&code->x, X86_SAR, true, X86_AX, 63);
  x86_alu(&code->x, X86_XOR, true, to, X86_AX);
  x86_alu(&code->x, X86_SUB, true, to, X86_AX);
}

/* dx = cx / by for unsigned 64 bits, by the method of kir_divide.c; clobbers ax. */
static void divide_wide(x64_code_t *code, uint64_t by) {
  int shift = 64 - __builtin_clzll(by - 1);
  uint64_t above = (shift < 64 ? UINT64_C(1) << shift : 0) - by;
  x86_mov_constant(&code->x, X86_AX, (uint64_t)(((unsigned __int128)above << 64) / by) + 1);
  x86_multiply_high(&code->x, false, X86_CX);
  x86_mov(&code->x, X86_AX, X86_CX);
  x86_alu(&code->x, X86_SUB, true, X86_AX, X86_DX);
  x86_shift_constant(&code->x, X86_SHR, true, X86_AX, 1);
  x86_alu(&code->x, X86_ADD, true, X86_DX, X86_AX);
  x86_shift_constant(&code->x, X86_SHR, true, X86_DX, shift - 1);
}

/* Division of 64 bits by a constant, since DIV takes up to a hundred cycles there. */
static bool select_wide_constant_division(x64_code_t *code, kir_value_t *instr) {
  bool is_signed = instr->op == KIR_SDIV || instr->op == KIR_SREM;
  int64_t by;
  if (instr->type->bits != 64 || !is_int32(instr->args[1], &by) || by < 3) return false;
  x86_mov(&code->x, X86_CX, x64_gpr(code, instr->args[0], X86_CX));
  if (is_signed) apply_sign(code, instr->args[0], X86_CX);
  divide_wide(code, (uint64_t)by);
  if (instr->op == KIR_UREM || instr->op == KIR_SREM) {
    x86_multiply_constant(&code->x, true, X86_DX, X86_DX, (int32_t)by);
    x86_alu(&code->x, X86_SUB, true, X86_CX, X86_DX);
    x86_mov(&code->x, X86_DX, X86_CX);
  }
  if (is_signed) apply_sign(code, instr->args[0], X86_DX);
  x64_define(code, instr, X86_DX);
  return true;
}

/* DIV and IDIV divide dx:ax; 8- and 16-bit operands were extended to 32. */
static void select_division(x64_code_t *code, kir_value_t *instr) {
  bool is_signed = instr->op == KIR_SDIV || instr->op == KIR_SREM, wide = is_wide(instr->type);
  bool is_rest = instr->op == KIR_UREM || instr->op == KIR_SREM;
  if (select_short_division(code, instr) || select_constant_division(code, instr) ||
      select_wide_constant_division(code, instr))
    return;
  x86_mov(&code->x, X86_AX, extended(code, instr->args[0], is_signed, X86_AX));
  int by = extended(code, instr->args[1], is_signed, X86_CX);
  if (is_signed)
    x86_sign_to_dx(&code->x, wide);
  else
    x86_mov_constant(&code->x, X86_DX, 0);
  x86_divide(&code->x, wide, is_signed, by);
  x64_define(code, instr, is_rest ? X86_DX : X86_AX);
}

/* Shift counts are less than the width: the emitter guards them (element_integer.c). */
static void select_shift(x64_code_t *code, kir_value_t *instr) {
  enum x86_shift op = instr->op == KIR_LSHR ? X86_SHR : X86_SAR;
  if (instr->op == KIR_SHL) op = X86_SHL;
  bool wide = is_wide(instr->type);
  x86_mov(&code->x, X86_AX, extended(code, instr->args[0], instr->op == KIR_ASHR, X86_AX));
  if (kir_is_constant(instr->args[1])) {
    x86_shift_constant(&code->x, op, wide, X86_AX, (int)(instr->args[1]->lanes[0] & 63));
  } else {
    x86_mov(&code->x, X86_CX, x64_gpr(code, instr->args[1], X86_CX));
    x86_shift(&code->x, op, wide, X86_AX);
  }
  x64_define(code, instr, X86_AX);
}

/* CMP and CMOV on extended operands. */
static void select_min_max(x64_code_t *code, kir_value_t *instr) {
  static const int conditions[KIR_OP_COUNT] = {
      [KIR_SMIN] = X86_L, [KIR_SMAX] = X86_G, [KIR_UMIN] = X86_B, [KIR_UMAX] = X86_A};
  bool is_signed = instr->op == KIR_SMIN || instr->op == KIR_SMAX;
  x86_mov(&code->x, X86_AX, extended(code, instr->args[1], is_signed, X86_AX));
  int other = extended(code, instr->args[0], is_signed, X86_DX);
  x86_alu(&code->x, X86_CMP, is_wide(instr->type), other, X86_AX);
  x86_cmov(&code->x, conditions[instr->op], X86_AX, other);
  x64_define(code, instr, X86_AX);
}

/* --- casts, memory, lanes --------------------------------------------------------------------- */

/* Upper bits are unspecified, so narrowing is a move; for i1 only the lowest bit is kept. */
static void select_narrowing(x64_code_t *code, kir_value_t *instr) {
  int to = x64_destination(code, instr, X86_AX);
  x86_mov(&code->x, to, x64_gpr(code, instr->args[0], X86_AX));
  if (kir_is_i1(instr->type)) x86_alu_constant(&code->x, X86_AND, false, to, 1);
  x64_define(code, instr, to);
}

/* i1 is sign-extended by SHL and SAR by 63, or zero-extended as it is. */
static void select_widening(x64_code_t *code, kir_value_t *instr) {
  unsigned bits = instr->args[0]->type->bits;
  int from = x64_gpr(code, instr->args[0], X86_AX), to = x64_destination(code, instr, X86_AX);
  if (bits > 1) {
    x86_extend(&code->x, instr->op == KIR_SEXT, to, from, bits);
  } else {
    x86_mov(&code->x, X86_AX, from);
    if (instr->op == KIR_SEXT) x86_shift_constant(&code->x, X86_SHL, true, X86_AX, 63);
    if (instr->op == KIR_SEXT) x86_shift_constant(&code->x, X86_SAR, true, X86_AX, 63);
    to = X86_AX;
  }
  x64_define(code, instr, to);
}

static void select_count(x64_code_t *code, kir_value_t *instr) {
  int to = x64_destination(code, instr, X86_AX), from = x64_gpr(code, instr->args[0], X86_AX);
  (instr->op == KIR_CTLZ ? x86_leading_zeros : x86_ones)(&code->x, is_wide(instr->type), to, from);
  x64_define(code, instr, to);
}

/* An i1 in memory is a byte. */
static void select_load(x64_code_t *code, kir_value_t *instr) {
  int to = x64_destination(code, instr, X86_DX);
  x86_load(&code->x, to, x64_address(code, instr->args[0]),
           instr->type->bits < 8 ? 8 : instr->type->bits);
  x64_define(code, instr, to);
}

/* An address needed as a value: base + index * size + displacement by LEA. A second index, or an
 * element size that LEA cannot scale by, is first computed in dx. */
static void select_address(x64_code_t *code, kir_value_t *instr) {
  kir_value_t *index = instr->args[1];
  int to = x64_destination(code, instr, X86_DX);
  x86_mem_t address = x64_address(code, instr->args[0]);
  if (instr->type->lanes > 1) x64_unsupported(code, "addresses of lanes");
  if (kir_is_constant(index)) {
    address.disp += kir_sign_extend(index->lanes[0], index->type->bits) * instr->detail;
  } else {
    int reg = x64_gpr(code, index, X86_DX), size = instr->detail;
    if (index->type->bits < 64) {
      x86_extend(&code->x, true, X86_DX, reg, index->type->bits);
      reg = X86_DX;
    }
    if (address.index != X86_NONE) {
      x86_lea(&code->x, X86_AX, address);
      address = (x86_mem_t){.base = X86_AX};
    }
    if (size > 8 || power_of((uint64_t)size) < 0) {
      x86_multiply_constant(&code->x, true, X86_DX, reg, size);
      reg = X86_DX;
      size = 1;
    }
    address.index = reg;
    address.scale = size;
  }
  if (address.disp != (int32_t)address.disp) x64_unsupported(code, "distant memory");
  x86_lea(&code->x, to, address);
  x64_define(code, instr, to);
}

/* An address in the frame, relative to its top. */
static void select_alloca(x64_code_t *code, kir_value_t *instr) {
  int to = x64_destination(code, instr, X86_AX);
  x86_lea(&code->x, to,
          (x86_mem_t){.base = X86_SP,
                      .index = X86_NONE,
                      .scale = 1,
                      .disp = code->frame_bytes - x64_node(code, instr)->frame_offset});
  x64_define(code, instr, to);
}

/* Or of a mask's lanes: KMOV to ax, bits above the lanes shifted out, compared with 0. */
static void select_reduce_or(x64_code_t *code, kir_value_t *instr) {
  const kir_type_t *type = instr->args[0]->type;
  int to = x64_destination(code, instr, X86_AX);
  if (!kir_is_i1(instr->type)) x64_unsupported(code, "an or of integers");
  if (!code->isa->has_evex) {
    x86_set(&code->x, x64_any_flags(code, instr->args[0]), to);
    x64_define(code, instr, to);
    return;
  }
  int from = x64_mask(code, instr->args[0], X64_SCRATCH_MASK);
  x86_mask(&code->x, X86_KMOV_TO_GPR, X86_AX, X86_NONE, from);
  if (type->lanes < 64)
    x86_shift_constant(&code->x, X86_SHL, true, X86_AX, (int)(64 - type->lanes));
  x86_alu_constant(&code->x, X86_CMP, true, X86_AX, 0);
  x86_set(&code->x, X86_NE, to);
  x64_define(code, instr, to);
}

typedef void (*select_fn)(x64_code_t *code, kir_value_t *instr);

/* Selector of each operation with a result in a general register. NULL: a cast, an element of a
 * vector, or no code. */
static const select_fn gpr_selectors[KIR_OP_COUNT] = {[KIR_ADD] = select_alu,
                                                      [KIR_SUB] = select_alu,
                                                      [KIR_AND] = select_alu,
                                                      [KIR_OR] = select_alu,
                                                      [KIR_XOR] = select_alu,
                                                      [KIR_MUL] = select_product,
                                                      [KIR_UDIV] = select_division,
                                                      [KIR_SDIV] = select_division,
                                                      [KIR_UREM] = select_division,
                                                      [KIR_SREM] = select_division,
                                                      [KIR_SHL] = select_shift,
                                                      [KIR_LSHR] = select_shift,
                                                      [KIR_ASHR] = select_shift,
                                                      [KIR_SMIN] = select_min_max,
                                                      [KIR_SMAX] = select_min_max,
                                                      [KIR_UMIN] = select_min_max,
                                                      [KIR_UMAX] = select_min_max,
                                                      [KIR_ICMP] = select_compare,
                                                      [KIR_FCMP] = select_compare,
                                                      [KIR_SELECT] = select_select,
                                                      [KIR_TRUNC] = select_narrowing,
                                                      [KIR_ZEXT] = select_widening,
                                                      [KIR_SEXT] = select_widening,
                                                      [KIR_CTPOP] = select_count,
                                                      [KIR_CTLZ] = select_count,
                                                      [KIR_LOAD] = select_load,
                                                      [KIR_GEP] = select_address,
                                                      [KIR_ALLOCA] = select_alloca,
                                                      [KIR_REDUCE_OR] = select_reduce_or};

void x64_select_gpr(x64_code_t *code, kir_value_t *instr) {
  select_fn select = gpr_selectors[instr->op];
  if (instr->type->kind == KIR_TYPE_INT && instr->type->bits > 64)
    x64_unsupported(code, "wide integers");
  if (select)
    select(code, instr);
  else if (!x64_select_cast(code, instr) && !x64_select_shuffle(code, instr))
    x64_unsupported(code, kir_op_names[instr->op]);
}
