/* Instruction selection for results in vector and mask registers: arithmetic, comparisons, selects,
 * of vectors and of scalar floats.
 *
 * Every operation is one row of vector_selectors; operations whose encodings differ only by element
 * size have a row of opcodes. The last operand of an instruction is read from memory where it is a
 * constant or a load that was folded (x64_prepare.c), so operands are swapped where the operation
 * commutes. Floats have the EVEX encoding too, with the scalar form of the opcode. Products and
 * shifts of i8 are not selected: x64_expand.c rewrites them. */
#include "jit/x64/x64_expand.h"
#include "jit/x64/x64_isel.h"

static bool is_scalar(const kir_type_t *type) { return type->kind != KIR_TYPE_VECTOR; }
/* --- arithmetic ------------------------------------------------------------------------------- */

#define NONE 0

/* Opcodes by element bits: 8, 16, 32, 64. X86_OP(prefix, map, W, opcode byte); W is set for 64-bit
 * elements. */
static const x86_opcode_t integer_opcodes[KIR_OP_COUNT][4] = {
    [KIR_ADD] = {X86_OP(1, 1, 0, 0xfc), X86_OP(1, 1, 0, 0xfd), X86_OP(1, 1, 0, 0xfe),
                 X86_OP(1, 1, 1, 0xd4)},
    [KIR_SUB] = {X86_OP(1, 1, 0, 0xf8), X86_OP(1, 1, 0, 0xf9), X86_OP(1, 1, 0, 0xfa),
                 X86_OP(1, 1, 1, 0xfb)},
    [KIR_MUL] = {NONE, X86_OP(1, 1, 0, 0xd5), X86_OP(1, 2, 0, 0x40), X86_OP(1, 2, 1, 0x40)},
    [KIR_AND] = {X86_OP(1, 1, 0, 0xdb), X86_OP(1, 1, 0, 0xdb), X86_OP(1, 1, 0, 0xdb),
                 X86_OP(1, 1, 1, 0xdb)},
    [KIR_OR] = {X86_OP(1, 1, 0, 0xeb), X86_OP(1, 1, 0, 0xeb), X86_OP(1, 1, 0, 0xeb),
                X86_OP(1, 1, 1, 0xeb)},
    [KIR_XOR] = {X86_OP(1, 1, 0, 0xef), X86_OP(1, 1, 0, 0xef), X86_OP(1, 1, 0, 0xef),
                 X86_OP(1, 1, 1, 0xef)},
    [KIR_SHL] = {NONE, X86_OP(1, 2, 1, 0x12), X86_OP(1, 2, 0, 0x47), X86_OP(1, 2, 1, 0x47)},
    [KIR_LSHR] = {NONE, X86_OP(1, 2, 1, 0x10), X86_OP(1, 2, 0, 0x45), X86_OP(1, 2, 1, 0x45)},
    [KIR_ASHR] = {NONE, X86_OP(1, 2, 1, 0x11), X86_OP(1, 2, 0, 0x46), X86_OP(1, 2, 1, 0x46)},
    [KIR_SMIN] = {X86_OP(1, 2, 0, 0x38), X86_OP(1, 1, 0, 0xea), X86_OP(1, 2, 0, 0x39),
                  X86_OP(1, 2, 1, 0x39)},
    [KIR_SMAX] = {X86_OP(1, 2, 0, 0x3c), X86_OP(1, 1, 0, 0xee), X86_OP(1, 2, 0, 0x3d),
                  X86_OP(1, 2, 1, 0x3d)},
    [KIR_UMIN] = {X86_OP(1, 1, 0, 0xda), X86_OP(1, 2, 0, 0x3a), X86_OP(1, 2, 0, 0x3b),
                  X86_OP(1, 2, 1, 0x3b)},
    [KIR_UMAX] = {X86_OP(1, 1, 0, 0xde), X86_OP(1, 2, 0, 0x3e), X86_OP(1, 2, 0, 0x3f),
                  X86_OP(1, 2, 1, 0x3f)},
};

#define COMPARE_BYTE 0xc2 /* VCMP */
static const unsigned char float_opcodes[KIR_OP_COUNT] = {
    [KIR_FADD] = 0x58, [KIR_FMUL] = 0x59, [KIR_FSUB] = 0x5c, [KIR_FDIV] = 0x5e, [KIR_SQRT] = 0x51};

/* Packed floats have no prefix or 66, scalar floats F3 or F2. Vectors of f16 have a map of their
 * own. */
x86_opcode_t x64_float_opcode(x64_code_t *code, const kir_type_t *type, unsigned byte) {
  bool wide = type->bits == 64, is_half = type->bits == 16;
  if (is_half && (is_scalar(type) || !code->isa->has_evex))
    x64_unsupported(code, "arithmetic in f16");
  if (is_half) return X86_OP(0, byte == COMPARE_BYTE ? 3 : 5, 0, byte);
  return X86_OP(is_scalar(type) ? 2 + wide : wide, 1, wide, byte);
}

/* to = op(a, b). x86 may read only the last operand from memory, so a constant or folded load is
 * swapped there. */
static void select_binary(x64_code_t *code, kir_value_t *instr, x86_opcode_t opcode) {
  kir_value_t *a = instr->args[0], *b = instr->args[1];
  int to = x64_destination(code, instr, SCRATCH + 2);
  if (!opcode) x64_unsupported(code, "arithmetic of narrow integers");
  bool is_swapped = kir_is_constant(a) || (a->op == KIR_LOAD && x64_node(code, a)->is_folded);
  if (kir_op_flags[instr->op] & KIR_COMMUTES && is_swapped) {
    a = instr->args[1];
    b = instr->args[0];
  }
  int from = x64_vector(code, a, SCRATCH);
  x64_emit(code, opcode, instr->type, to, from, b, SCRATCH + 1);
  x64_define(code, instr, to);
}

/* Is it a shift by a constant with no other user? It is folded into the rotation. */
static bool is_shift(const x64_code_t *code, const kir_value_t *value, kir_op_t op,
                     const kir_value_t *user) {
  return value->op == op && code->uses[value->id].count == 1 && value->block == user->block &&
         kir_is_constant(value->args[1]) && kir_is_splat(value->args[1]);
}

/* (a << n) | (a >> bits - n) is VPROL with n, for the element sizes that have it. */
bool x64_is_rotate(const x64_code_t *code, const kir_value_t *either) {
  if (either->op != KIR_OR || !code->isa->has_evex) return false;
  const kir_value_t *up = either->args[0], *down = either->args[1];
  const kir_type_t *type = either->type;
  if (up->op == KIR_LSHR) {
    up = either->args[1];
    down = either->args[0];
  }
  return type->kind == KIR_TYPE_VECTOR && (type->bits == 32 || type->bits == 64) &&
         is_shift(code, up, KIR_SHL, either) && is_shift(code, down, KIR_LSHR, either) &&
         up->args[0] == down->args[0] && !kir_is_constant(up->args[0]) &&
         up->args[1]->lanes[0] + down->args[1]->lanes[0] == type->bits;
}

/* The immediate is the left shift's amount. */
static void select_rotation(x64_code_t *code, kir_value_t *instr) {
  kir_value_t *up = instr->args[instr->args[0]->op == KIR_SHL ? 0 : 1];
  int to = x64_destination(code, instr, SCRATCH + 2), from = x64_vector(code, up->args[0], SCRATCH);
  x64_emit_registers(code, X86_OP(1, 1, instr->type->bits == 64, 0x72),
                     x64_vector_length(code, instr->type), 1, to, from);
  x86_byte(&code->x, (unsigned)up->args[1]->lanes[0]);
  x64_define(code, instr, to);
}

/* KAND, KOR, KXOR on 64 bits; XOR with all ones is KNOT. */
static void select_mask_binary(x64_code_t *code, kir_value_t *instr) {
  x86_mask_op_t op = instr->op == KIR_OR ? X86_KOR : X86_KXOR;
  if (instr->op == KIR_AND) op = X86_KAND;
  int to = x64_destination(code, instr, X64_SCRATCH_MASK);
  if (instr->op == KIR_XOR && kir_is_constant(instr->args[1]) && kir_is_splat(instr->args[1]) &&
      instr->args[1]->lanes[0]) {
    x86_mask(&code->x, X86_KNOT, to, X86_NONE, x64_mask(code, instr->args[0], X64_SCRATCH_MASK));
    x64_define(code, instr, to);
    return;
  }
  int a = x64_mask(code, instr->args[0], 0), b = x64_mask(code, instr->args[1], X64_SCRATCH_MASK);
  if (instr->op != KIR_AND && instr->op != KIR_OR && instr->op != KIR_XOR)
    x64_unsupported(code, "arithmetic of bits");
  x86_mask(&code->x, op, to, a, b);
  x64_define(code, instr, to);
}

/* The scalar form has a second source, from which it copies the upper lanes: the operand itself. */
static void select_sqrt(x64_code_t *code, kir_value_t *instr) {
  int to = x64_destination(code, instr, SCRATCH + 2),
      from = x64_vector(code, instr->args[0], SCRATCH);
  x86_opcode_t opcode = x64_float_opcode(code, instr->type, float_opcodes[KIR_SQRT]);
  x64_emit_registers(code, opcode, x64_vector_length(code, instr->type), to,
                     is_scalar(instr->type) ? from : X86_NONE, from);
  x64_define(code, instr, to);
}

/* VPLZCNT, or VPOPCNT of the element's size (BITALG and VPOPCNTDQ). */
static void select_count(x64_code_t *code, kir_value_t *instr) {
  const kir_type_t *type = instr->type;
  bool is_wide = type->bits == 64 || type->bits == 16;
  int to = x64_destination(code, instr, SCRATCH + 2),
      from = x64_vector(code, instr->args[0], SCRATCH);
  int byte = instr->op == KIR_CTLZ ? 0x44 : 0x54 + (type->bits >= 32);
  x64_emit_registers(code, X86_OP(1, 2, is_wide, byte), x64_vector_length(code, type), to, X86_NONE,
                     from);
  x64_define(code, instr, to);
}

/* Chooses the form of VFMADD (213 or 231) whose destination register holds one of the operands;
 * otherwise one operand is moved there. */
static void select_fma(x64_code_t *code, kir_value_t *instr) {
  kir_value_t *a = instr->args[0], *b = instr->args[1], *c = instr->args[2];
  const kir_type_t *type = instr->type;
  bool single = is_scalar(type);
  x86_opcode_t with_c = X86_OP(1, 2, type->bits == 64, 0xa8 + single); /* to = from * to + last */
  x86_opcode_t onto_c = X86_OP(1, 2, type->bits == 64, 0xb8 + single); /* to = from * last + to */
  int to = x64_destination(code, instr, SCRATCH + 2);
  if (kir_is_constant(a)) {
    a = instr->args[1];
    b = instr->args[0];
  }
  int first = x64_vector(code, a, SCRATCH);
  bool has_c = !kir_is_constant(c) && x64_interval(code, c)->reg == to && to != SCRATCH + 2;
  bool has_b = !kir_is_constant(b) && x64_interval(code, b)->reg == to && to != SCRATCH + 2;
  if (type->bits < 32) x64_unsupported(code, "arithmetic in f16");
  if (has_c) {
    x64_emit(code, onto_c, type, to, first, b, SCRATCH + 1);
  } else if (has_b) {
    x64_emit(code, with_c, type, to, first, c, SCRATCH + 1);
  } else if (kir_is_constant(b) && kir_is_constant(c) && first != to && !x64_pinned(code, b)) {
    x64_load_constant(code, b, to);
    x64_emit(code, with_c, type, to, first, c, SCRATCH + 1);
  } else if (first == to || kir_is_constant(c)) {
    x64_move_vector(code, to, first);
    x64_emit(code, with_c, type, to, x64_vector(code, b, SCRATCH), c, SCRATCH + 1);
  } else {
    x64_move_vector(code, to, x64_vector(code, c, SCRATCH + 1));
    x64_emit(code, onto_c, type, to, first, b, SCRATCH + 1);
  }
  x64_define(code, instr, to);
}

/* --- bits of floats --------------------------------------------------------------------------- */

/* The sign bit of each element, or (`but`) all other bits. */
static kir_value_t *sign_mask(const kir_type_t *type, bool but) {
  uint64_t sign = 1ull << (type->bits - 1);
  return kir_splat_constant((kir_type_t *)type, but ? ~sign : sign);
}

/* Bitwise op on a float and a constant. Scalars use the whole register, since bitwise instructions
 * have no scalar form. */
static void emit_bitwise(x64_code_t *code, kir_op_t op, const kir_type_t *type, int to, int from,
                         kir_value_t *constant) {
  x86_opcode_t opcode = integer_opcodes[op][x64_log_bytes(type)];
  if (is_scalar(type))
    x64_emit_registers(code, opcode, 0, to, from, x64_vector(code, constant, SCRATCH + 1));
  else
    x64_emit(code, opcode, type, to, from, constant, SCRATCH + 1);
}

/* Negation flips the sign bit, the absolute value clears it; both work on NaN. */
static void select_sign(x64_code_t *code, kir_value_t *instr) {
  int to = x64_destination(code, instr, SCRATCH + 2),
      from = x64_vector(code, instr->args[0], SCRATCH);
  bool is_negation = instr->op == KIR_FNEG;
  emit_bitwise(code, is_negation ? KIR_XOR : KIR_AND, instr->type, to, from,
               sign_mask(instr->type, !is_negation));
  x64_define(code, instr, to);
}

/* VPTERNLOG with the truth table 0xe4: bits of the second operand where the constant has ones, else
 * of the first. */
static void select_copysign(x64_code_t *code, kir_value_t *instr) {
  const kir_type_t *type = instr->type;
  const x86_opcode_t ternary_logic = X86_OP(1, 3, type->bits == 64, 0x25);
  int to = SCRATCH + 2, from = x64_vector(code, instr->args[0], SCRATCH);
  kir_value_t *sign = sign_mask(type, false);
  if (type->bits < 32) x64_unsupported(code, "arithmetic in f16");
  if (!code->isa->has_evex) {
    x64_copy_sign(code, instr, sign);
    return;
  }
  x64_move_vector(code, to, x64_vector(code, instr->args[1], to));
  if (is_scalar(type))
    x64_emit_registers(code, ternary_logic, 0, to, from, x64_vector(code, sign, SCRATCH + 1));
  else
    x64_emit_with_imm(code, ternary_logic, type, to, from, sign, SCRATCH + 1, 1);
  x86_byte(&code->x, 0xe4);
  x64_define(code, instr, to);
}

/* Immediate operands of VRNDSCALE: to nearest even under MXCSR, then down, up and towards zero
 * without the inexact exception. */
static const unsigned char rounding_modes[KIR_OP_COUNT] = {
    [KIR_RINT] = 4, [KIR_FLOOR] = 9, [KIR_CEIL] = 10, [KIR_FTRUNC] = 11};

static void select_rounding(x64_code_t *code, kir_value_t *instr) {
  bool wide = instr->type->bits == 64, single = is_scalar(instr->type);
  int to = x64_destination(code, instr, SCRATCH + 2);
  int from = x64_vector(code, instr->args[0], SCRATCH);
  if (instr->type->bits < 32) x64_unsupported(code, "arithmetic in f16");
  x64_emit_registers(code, X86_OP(1, 3, wide, 0x08 + wide + 2 * single),
                     x64_vector_length(code, instr->type), to, single ? from : X86_NONE, from);
  x86_byte(&code->x, rounding_modes[instr->op]);
  x64_define(code, instr, to);
}

/* VSCALEF: a times two to the power of floor(b); zero in lanes that a mask leaves out (0: none). */
static void emit_scaling(x64_code_t *code, kir_value_t *scaling, int mask, int to) {
  bool wide = scaling->op == KIR_SCALEF_PD;
  int from = x64_vector(code, scaling->args[0], SCRATCH);
  int exponent = x64_vector(code, scaling->args[1], SCRATCH + 1);
  x64_emit_masked(code, X86_OP(1, 2, wide, 0x2c), 2, mask, mask != 0, to, from, exponent);
}

static void select_scalef(x64_code_t *code, kir_value_t *instr) {
  int to = x64_destination(code, instr, SCRATCH + 2);
  emit_scaling(code, instr, 0, to);
  x64_define(code, instr, to);
}

/* VRSQRT14: an estimate with a relative error below 2^-14. */
static void select_estimate(x64_code_t *code, kir_value_t *instr) {
  bool wide = instr->op == KIR_RSQRT14_PD;
  int to = x64_destination(code, instr, SCRATCH + 2);
  int from = x64_vector(code, instr->args[0], SCRATCH);
  x64_emit_registers(code, X86_OP(1, 2, wide, 0x4e), 2, to, X86_NONE, from);
  x64_define(code, instr, to);
}

/* VRANGE: minimum or maximum of magnitudes, as the immediate operand says. */
static void select_range(x64_code_t *code, kir_value_t *instr) {
  bool wide = instr->op == KIR_RANGE_PD;
  int to = x64_destination(code, instr, SCRATCH + 2),
      from = x64_vector(code, instr->args[0], SCRATCH);
  int last = x64_vector(code, instr->args[1], SCRATCH + 1);
  x64_emit_registers(code, X86_OP(1, 3, wide, 0x50), 2, to, from, last);
  x86_byte(&code->x, (unsigned)instr->args[2]->lanes[0]);
  x64_define(code, instr, to);
}

/* --- comparisons and choices ------------------------------------------------------------------ */

int x64_float_condition(int predicate) {
  static const unsigned char conditions[16] = {0x0b, 0x00, 0x1e, 0x1d, 0x11, 0x12, 0x0c, 0x07,
                                               0x03, 0x08, 0x16, 0x15, 0x19, 0x1a, 0x04, 0x0f};
  return conditions[predicate & 15];
}

static int integer_condition(int predicate) {
  switch (predicate) {
    case KIR_ICMP_EQ:
      return 0;
    case KIR_ICMP_ULT:
    case KIR_ICMP_SLT:
      return 1;
    case KIR_ICMP_ULE:
    case KIR_ICMP_SLE:
      return 2;
    case KIR_ICMP_NE:
      return 4;
    case KIR_ICMP_UGE:
    case KIR_ICMP_SGE:
      return 5;
    default:
      return 6;
  }
}

void x64_compare(x64_code_t *code, kir_value_t *compare, int to) {
  if (!code->isa->has_evex) {
    x64_compare_to_vector(code, compare, to);
    return;
  }
  const kir_type_t *type = compare->args[0]->type;
  int index = x64_log_bytes(type), a = x64_vector(code, compare->args[0], SCRATCH);
  x86_opcode_t opcode = compare->op == KIR_FCMP ? x64_float_opcode(code, type, COMPARE_BYTE) : 0;
  if (compare->op == KIR_ICMP) {
    unsigned byte = index < 2 ? 0x3f : 0x1f; /* the opcode of the unsigned comparison is one less */
    if (compare->detail >= KIR_ICMP_UGT && compare->detail <= KIR_ICMP_ULE) byte--;
    opcode = X86_OP(1, 3, index == 1 || index == 3, byte);
  }
  bool may_broadcast = index > 1; /* EVEX broadcasts elements of 32 and 64 bits only */
  if (may_broadcast)
    x64_emit_with_imm(code, opcode, type, to, a, compare->args[1], SCRATCH + 1, 1);
  else
    x64_emit_registers(code, opcode, x64_vector_length(code, type), to, a,
                       x64_vector(code, compare->args[1], SCRATCH + 1));
  x86_byte(&code->x, (unsigned)(compare->op == KIR_ICMP ? integer_condition(compare->detail)
                                                        : x64_float_condition(compare->detail)));
}

static void select_compare(x64_code_t *code, kir_value_t *instr) {
  int scratch = code->isa->has_evex ? X64_SCRATCH_MASK : SCRATCH + 2;
  int to = x64_destination(code, instr, scratch);
  x64_compare(code, instr, to);
  x64_define(code, instr, to);
}

/* Mask of the lanes in which a select takes its first value. A scalar condition is extended to all
 * ones or zeros by shifts. */
static int mask_of_condition(x64_code_t *code, kir_value_t *instr) {
  kir_value_t *condition = instr->args[0];
  if (!is_scalar(condition->type)) return x64_mask(code, condition, X64_SCRATCH_MASK);
  if (condition->op == KIR_FCMP && x64_node(code, condition)->is_folded && is_scalar(instr->type)) {
    x64_compare(code, condition, X64_SCRATCH_MASK);
    return X64_SCRATCH_MASK;
  }
  x86_set(&code->x, x64_set_flags(code, condition), X86_AX);
  x86_shift_constant(&code->x, X86_SHL, true, X86_AX, 63);
  x86_shift_constant(&code->x, X86_SAR, true, X86_AX, 63);
  x86_mask(&code->x, X86_KMOV_FROM_GPR, X64_SCRATCH_MASK, X86_NONE, X86_AX);
  return X64_SCRATCH_MASK;
}

/* a > b ? a : b and its variants are VMAX and VMIN exactly: those return the second operand if
 * either is NaN, or if both are zero. */
bool x64_is_min_max(const kir_value_t *choice) {
  const kir_value_t *compare = choice->args[0];
  bool is_order = compare->detail == KIR_FCMP_OGT || compare->detail == KIR_FCMP_OLT;
  if (compare->op != KIR_FCMP || !is_order) return false;
  return (compare->args[0] == choice->args[1] && compare->args[1] == choice->args[2]) ||
         (compare->args[0] == choice->args[2] && compare->args[1] == choice->args[1]);
}

static void select_min_max(x64_code_t *code, kir_value_t *instr) {
  const kir_value_t *compare = instr->args[0];
  bool is_most = (compare->detail == KIR_FCMP_OGT) == (compare->args[0] == instr->args[1]);
  int to = x64_destination(code, instr, SCRATCH + 2),
      from = x64_vector(code, instr->args[1], SCRATCH);
  x64_emit(code, x64_float_opcode(code, instr->type, is_most ? 0x5f : 0x5d), instr->type, to, from,
           instr->args[2], SCRATCH + 1);
  x64_define(code, instr, to);
}

static void select_select(x64_code_t *code, kir_value_t *instr) {
  if (x64_node(code, instr->args[0])->is_folded && x64_is_min_max(instr)) {
    select_min_max(code, instr);
    return;
  }
  if (!code->isa->has_evex) {
    x64_select_choice(code, instr);
    return;
  }
  static const x86_opcode_t blends[] = {X86_OP(1, 2, 0, 0x66), X86_OP(1, 2, 1, 0x66),
                                        X86_OP(1, 2, 0, 0x64), X86_OP(1, 2, 1, 0x64)};
  int mask = mask_of_condition(code, instr), to = x64_destination(code, instr, SCRATCH + 2);
  if (x64_is_scaling(instr->args[1]) && x64_node(code, instr->args[1])->is_folded) {
    emit_scaling(code, instr->args[1], mask, to);
    x64_define(code, instr, to);
    return;
  }
  int chosen = x64_vector(code, instr->args[1], SCRATCH),
      other = x64_vector(code, instr->args[2], SCRATCH + 1);
  x64_emit_masked(code, blends[x64_log_bytes(instr->type)], x64_vector_length(code, instr->type),
                  mask, false, to, other, chosen);
  x64_define(code, instr, to);
}

/* --- dispatch --------------------------------------------------------------------------------- */

bool x64_is_low_half(const kir_value_t *value) {
  if (kir_is_constant(value)) {
    for (unsigned i = 0; i < value->type->lanes; i++)
      if (value->lanes[i] >> 32) return false;
    return true;
  }
  if (value->op == KIR_ZEXT) return value->args[0]->type->bits <= 32;
  if (value->op == KIR_AND)
    return x64_is_low_half(value->args[0]) || x64_is_low_half(value->args[1]);
  return value->op == KIR_LSHR && kir_is_constant(value->args[1]) && kir_is_splat(value->args[1]) &&
         value->args[1]->lanes[0] >= 32;
}

/* VPMULUDQ, which multiplies lower halves, is three times as fast as VPMULLQ. */
static bool is_product_of_halves(const kir_value_t *instr) {
  return instr->op == KIR_MUL && instr->type->bits == 64 && x64_is_low_half(instr->args[0]) &&
         x64_is_low_half(instr->args[1]);
}

/* All lanes are shifted by one constant: an immediate needs no register. */
static bool is_shift_by_immediate(const x64_code_t *code, const kir_value_t *instr) {
  bool shifts = instr->op == KIR_SHL || instr->op == KIR_LSHR || instr->op == KIR_ASHR;
  return shifts && !code->isa->has_evex && kir_is_constant(instr->args[1]) &&
         kir_is_splat(instr->args[1]);
}

static void select_shift_by_immediate(x64_code_t *code, kir_value_t *instr) {
  const kir_type_t *type = instr->type;
  int to = x64_destination(code, instr, SCRATCH + 2), extension = instr->op == KIR_SHL ? 6 : 2;
  if (instr->op == KIR_ASHR) extension = 4;
  if (type->bits < 16 || (type->bits == 64 && instr->op == KIR_ASHR))
    x64_unsupported(code, "such a shift");
  x64_emit_registers(code, X86_OP(1, 1, 0, 0x70 + x64_log_bytes(type)),
                     x64_vector_length(code, type), extension, to,
                     x64_vector(code, instr->args[0], SCRATCH));
  x86_byte(&code->x, (unsigned)instr->args[1]->lanes[0]);
  x64_define(code, instr, to);
}

static void select_integers(x64_code_t *code, kir_value_t *instr) {
  if (kir_is_i1(instr->type))
    select_mask_binary(code, instr);
  else if (is_shift_by_immediate(code, instr))
    select_shift_by_immediate(code, instr);
  else if (is_product_of_halves(instr))
    select_binary(code, instr, X86_OP(1, 1, 1, 0xf4));
  else if (x64_node(code, instr->args[0])->is_folded && x64_is_rotate(code, instr))
    select_rotation(code, instr);
  else
    select_binary(code, instr, integer_opcodes[instr->op][x64_log_bytes(instr->type)]);
}

static void select_float_binary(x64_code_t *code, kir_value_t *instr) {
  select_binary(code, instr, x64_float_opcode(code, instr->type, float_opcodes[instr->op]));
}

typedef void (*select_fn)(x64_code_t *code, kir_value_t *instr);

/* Selector of each operation with a vector, mask or scalar float result. NULL: the operation is
 * one of memory, a cast or a shuffle, which have files of their own, or has no code. */
static const select_fn vector_selectors[KIR_OP_COUNT] = {
    [KIR_ADD] = select_integers,        [KIR_SUB] = select_integers,
    [KIR_MUL] = select_integers,        [KIR_AND] = select_integers,
    [KIR_OR] = select_integers,         [KIR_XOR] = select_integers,
    [KIR_SHL] = select_integers,        [KIR_LSHR] = select_integers,
    [KIR_ASHR] = select_integers,       [KIR_SMIN] = select_integers,
    [KIR_SMAX] = select_integers,       [KIR_UMIN] = select_integers,
    [KIR_UMAX] = select_integers,       [KIR_CTPOP] = select_count,
    [KIR_CTLZ] = select_count,          [KIR_FADD] = select_float_binary,
    [KIR_FSUB] = select_float_binary,   [KIR_FMUL] = select_float_binary,
    [KIR_FDIV] = select_float_binary,   [KIR_FMA] = select_fma,
    [KIR_FNEG] = select_sign,           [KIR_FABS] = select_sign,
    [KIR_COPYSIGN] = select_copysign,   [KIR_SQRT] = select_sqrt,
    [KIR_RINT] = select_rounding,       [KIR_FLOOR] = select_rounding,
    [KIR_CEIL] = select_rounding,       [KIR_FTRUNC] = select_rounding,
    [KIR_RANGE_PS] = select_range,      [KIR_RANGE_PD] = select_range,
    [KIR_SCALEF_PS] = select_scalef,    [KIR_SCALEF_PD] = select_scalef,
    [KIR_RSQRT14_PS] = select_estimate, [KIR_RSQRT14_PD] = select_estimate,
    [KIR_ICMP] = select_compare,        [KIR_FCMP] = select_compare,
    [KIR_SELECT] = select_select};

void x64_select_vector(x64_code_t *code, kir_value_t *instr) {
  select_fn select = vector_selectors[instr->op];
  if (select)
    select(code, instr);
  else if (!x64_select_memory(code, instr) && !x64_select_cast(code, instr) &&
           !x64_select_shuffle(code, instr))
    x64_unsupported(code, kir_op_names[instr->op]);
}
