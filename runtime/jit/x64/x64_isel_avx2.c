/* Instruction selection of what AVX2 does without mask registers: comparisons, choices, tests of
 * masks, masked memory accesses, gathers.
 *
 * A mask is a vector whose lanes are all ones or all zeros (x64_masks.c). The scalar forms leave
 * theirs in lane 0. Integers have the comparisons = and > of signed numbers only; the others swap
 * the operands, invert the result, or compare with the minimum or maximum. */
#include "jit/x64/x64_isel.h"

#define NONE 0
#define VPXOR X86_OP(1, 1, 0, 0xef)
#define VMOVQ X86_OP(2, 1, 0, 0x7e)

static bool is_scalar(const kir_type_t *type) { return type->kind != KIR_TYPE_VECTOR; }

/* --- comparisons ------------------------------------------------------------------------------ */

/* Opcodes by element bits: 8, 16, 32, 64. */
static const x86_opcode_t equal[] = {X86_OP(1, 1, 0, 0x74), X86_OP(1, 1, 0, 0x75),
                                     X86_OP(1, 1, 0, 0x76), X86_OP(1, 2, 0, 0x29)};
static const x86_opcode_t greater[] = {X86_OP(1, 1, 0, 0x64), X86_OP(1, 1, 0, 0x65),
                                       X86_OP(1, 1, 0, 0x66), X86_OP(1, 2, 0, 0x37)};
static const x86_opcode_t minimum[] = {X86_OP(1, 1, 0, 0xda), X86_OP(1, 2, 0, 0x3a),
                                       X86_OP(1, 2, 0, 0x3b), NONE};
static const x86_opcode_t maximum[] = {X86_OP(1, 1, 0, 0xde), X86_OP(1, 2, 0, 0x3e),
                                       X86_OP(1, 2, 0, 0x3f), NONE};

bool x64_compares_inverted(const kir_value_t *compare) {
  switch (compare->detail) {
    case KIR_ICMP_NE:
    case KIR_ICMP_SGE:
    case KIR_ICMP_SLE:
    case KIR_ICMP_UGT:
    case KIR_ICMP_ULT:
      return compare->op == KIR_ICMP;
    default:
      return false;
  }
}

/* a >= b as max(a, b) = a, for unsigned numbers; a <= b with the minimum. */
static void compare_unsigned(x64_code_t *code, kir_value_t *compare, int to) {
  const kir_type_t *type = compare->args[0]->type;
  int index = x64_log_bytes(type), a = x64_vector(code, compare->args[0], SCRATCH);
  bool is_least = compare->detail == KIR_ICMP_ULE || compare->detail == KIR_ICMP_UGT;
  x86_opcode_t extreme = (is_least ? minimum : maximum)[index];
  if (!extreme) x64_unsupported(code, "unsigned comparisons of 64 bits");
  x64_emit(code, extreme, type, SCRATCH + 1, a, compare->args[1], SCRATCH + 1);
  x64_emit_registers(code, equal[index], x64_vector_length(code, type), to, a, SCRATCH + 1);
}

static void compare_integers(x64_code_t *code, kir_value_t *compare, int to) {
  kir_value_t *a = compare->args[0], *b = compare->args[1];
  int index = x64_log_bytes(a->type);
  switch (compare->detail) {
    case KIR_ICMP_EQ:
    case KIR_ICMP_NE:
      x64_emit(code, equal[index], a->type, to, x64_vector(code, a, SCRATCH), b, SCRATCH + 1);
      return;
    case KIR_ICMP_SGT:
    case KIR_ICMP_SLE:
      x64_emit(code, greater[index], a->type, to, x64_vector(code, a, SCRATCH), b, SCRATCH + 1);
      return;
    case KIR_ICMP_SLT:
    case KIR_ICMP_SGE:
      x64_emit(code, greater[index], a->type, to, x64_vector(code, b, SCRATCH), a, SCRATCH + 1);
      return;
    default:
      compare_unsigned(code, compare, to);
  }
}

/* to = ~to */
static void invert(x64_code_t *code, int to) {
  int width = code->isa->full_width;
  x64_emit_registers(code, equal[2], width, SCRATCH, SCRATCH, SCRATCH);
  x64_emit_registers(code, VPXOR, width, to, to, SCRATCH);
}

/* Compares into `to`; the result is the complement where x64_compares_inverted. */
static void compare_or_complement(x64_code_t *code, kir_value_t *compare, int to) {
  const kir_type_t *type = compare->args[0]->type;
  if (compare->op == KIR_ICMP) {
    compare_integers(code, compare, to);
    return;
  }
  int a = x64_vector(code, compare->args[0], SCRATCH);
  x64_emit_with_imm(code, x64_float_opcode(code, type, 0xc2), type, to, a, compare->args[1],
                    SCRATCH + 1, 1);
  x86_byte(&code->x, (unsigned)x64_float_condition(compare->detail));
}

void x64_compare_to_vector(x64_code_t *code, kir_value_t *compare, int to) {
  compare_or_complement(code, compare, to);
  if (x64_compares_inverted(compare)) invert(code, to);
}

/* Conditions after VUCOMIS of a and b, or of b and a; 0: none, as equality is not told from
 * unordered operands. */
static const struct {
  unsigned char condition;
  bool is_swapped;
} orders[16] = {[KIR_FCMP_OGT] = {X86_A, false},  [KIR_FCMP_OGE] = {X86_AE, false},
                [KIR_FCMP_OLT] = {X86_A, true},   [KIR_FCMP_OLE] = {X86_AE, true},
                [KIR_FCMP_ULT] = {X86_B, false},  [KIR_FCMP_ULE] = {X86_BE, false},
                [KIR_FCMP_UGT] = {X86_B, true},   [KIR_FCMP_UGE] = {X86_BE, true},
                [KIR_FCMP_ONE] = {X86_NE, false}, [KIR_FCMP_UEQ] = {X86_E, false},
                [KIR_FCMP_UNO] = {X86_P, false},  [KIR_FCMP_ORD] = {X86_NP, false}};

int x64_float_flags(x64_code_t *code, kir_value_t *compare) {
  const kir_type_t *type = compare->args[0]->type;
  int condition = orders[compare->detail & 15].condition;
  bool is_swapped = orders[compare->detail & 15].is_swapped;
  if (!condition) {
    x64_compare_to_vector(code, compare, SCRATCH + 2);
    x64_emit_registers(code, X86_OP(1, 1, 0, 0x7e), 0, SCRATCH + 2, X86_NONE, X86_CX);
    x86_test(&code->x, X86_CX, X86_CX);
    return X86_NE;
  }
  int a = x64_vector(code, compare->args[is_swapped ? 1 : 0], SCRATCH);
  int b = x64_vector(code, compare->args[is_swapped ? 0 : 1], SCRATCH + 1);
  if (type->bits < 32) x64_unsupported(code, "comparisons in f16");
  x64_emit_registers(code, X86_OP(type->bits == 64, 1, 0, 0x2e), 0, a, X86_NONE, b);
  return condition;
}

/* VPTEST of the whole register; lanes beyond the type are cut off first. */
int x64_any_flags(x64_code_t *code, kir_value_t *mask) {
  unsigned bits = kir_width(mask->type);
  int reg = x64_vector(code, mask, SCRATCH);
  if (bits < 64) {
    x64_emit_registers(code, X86_OP(1, 1, 0, 0x7e), 0, reg, X86_NONE, X86_CX);
    if (bits < 32) x86_shift_constant(&code->x, X86_SHL, false, X86_CX, (int)(32 - bits));
    x86_test(&code->x, X86_CX, X86_CX);
    return X86_NE;
  }
  if (bits == 64) {
    x64_emit_registers(code, VMOVQ, 0, SCRATCH, X86_NONE, reg);
    reg = SCRATCH;
  }
  x64_emit_registers(code, X86_OP(1, 2, 0, 0x17), x64_vector_length(code, mask->type), reg,
                     X86_NONE, reg);
  return X86_NE;
}

/* --- choices ---------------------------------------------------------------------------------- */

/* The mask of a scalar condition, in SCRATCH + 2. */
static void spread_condition(x64_code_t *code, kir_value_t *instr) {
  kir_value_t *condition = instr->args[0];
  const kir_type_t *type = instr->type;
  int to = SCRATCH + 2;
  if (condition->op == KIR_FCMP && x64_node(code, condition)->is_folded && is_scalar(type)) {
    x64_compare_to_vector(code, condition, to);
    if (condition->args[0]->type->bits < type->bits) /* VPMOVSXDQ */
      x64_emit_registers(code, X86_OP(1, 2, 0, 0x25), 0, to, X86_NONE, to);
    return;
  }
  x86_set(&code->x, x64_set_flags(code, condition), X86_AX);
  x86_shift_constant(&code->x, X86_SHL, true, X86_AX, 63);
  x86_shift_constant(&code->x, X86_SAR, true, X86_AX, 63);
  x64_emit_registers(code, X86_OP(1, 1, 1, 0x6e), 0, to, X86_NONE, X86_AX);
  if (!is_scalar(type) && kir_width(type) > 64)
    x64_emit_registers(code, X86_OP(1, 2, 0, 0x59), code->isa->full_width, to, X86_NONE, to);
}

/* The mask of a select, and whether it is inverted: a folded comparison saves the inversion. */
static int mask_of_choice(x64_code_t *code, kir_value_t *instr, bool *out_is_inverted) {
  kir_value_t *condition = instr->args[0];
  *out_is_inverted = false;
  if (is_scalar(condition->type)) {
    spread_condition(code, instr);
    return SCRATCH + 2;
  }
  if (kir_is_constant(condition) || !x64_node(code, condition)->is_folded)
    return x64_vector(code, condition, SCRATCH + 2);
  compare_or_complement(code, condition, SCRATCH + 2);
  *out_is_inverted = x64_compares_inverted(condition);
  return SCRATCH + 2;
}

static bool is_zero(const kir_value_t *value) {
  return kir_is_constant(value) && kir_is_splat(value) && !value->lanes[0];
}

/* Choices between a value and zero are VPAND and VPANDN. */
void x64_select_choice(x64_code_t *code, kir_value_t *instr) {
  static const x86_opcode_t blends[] = {X86_OP(1, 3, 0, 0x4c), X86_OP(1, 3, 0, 0x4c),
                                        X86_OP(1, 3, 0, 0x4a), X86_OP(1, 3, 0, 0x4b)};
  const x86_opcode_t vpand = X86_OP(1, 1, 0, 0xdb), vpandn = X86_OP(1, 1, 0, 0xdf);
  bool is_inverted;
  int mask = mask_of_choice(code, instr, &is_inverted);
  int to = x64_destination(code, instr, SCRATCH + 2), width = x64_vector_length(code, instr->type);
  kir_value_t *yes = instr->args[is_inverted ? 2 : 1];
  kir_value_t *no = instr->args[is_inverted ? 1 : 2];
  if (is_zero(no)) {
    x64_emit_registers(code, vpand, width, to, mask, x64_vector(code, yes, SCRATCH));
  } else if (is_zero(yes)) {
    x64_emit_registers(code, vpandn, width, to, mask, x64_vector(code, no, SCRATCH));
  } else {
    int chosen = x64_vector(code, yes, SCRATCH), other = x64_vector(code, no, SCRATCH + 1);
    x64_emit_registers(code, blends[x64_log_bytes(instr->type)], width, to, other, chosen);
    x86_byte(&code->x, (unsigned)mask << 4);
  }
  x64_define(code, instr, to);
}

/* (b & sign) | (a & ~sign) */
void x64_copy_sign(x64_code_t *code, kir_value_t *instr, kir_value_t *sign) {
  int width = x64_vector_length(code, instr->type), sign_reg = x64_vector(code, sign, SCRATCH + 1);
  int to = SCRATCH + 2, from = x64_vector(code, instr->args[1], SCRATCH);
  x64_emit_registers(code, X86_OP(1, 1, 0, 0xdb), width, to, from, sign_reg);
  from = x64_vector(code, instr->args[0], SCRATCH);
  x64_emit_registers(code, X86_OP(1, 1, 0, 0xdf), width, SCRATCH + 1, sign_reg, from);
  x64_emit_registers(code, X86_OP(1, 1, 0, 0xeb), width, to, to, SCRATCH + 1);
  x64_define(code, instr, to);
}

/* --- memory under a mask ---------------------------------------------------------------------- */

/* Bytes moved at once for lanes of a constant mask from byte `at` on: 8, 4, 2 or 1, all in lanes
 * that are set; -1: the lane is not set. */
static int run_of_bytes(const kir_value_t *mask, unsigned at) {
  unsigned size = mask->type->bits / 8, all = mask->type->lanes * size;
  if (!mask->lanes[at / size]) return -1;
  for (unsigned bytes = 8; bytes > size; bytes /= 2) {
    bool is_set = at % bytes == 0 && at + bytes <= all;
    for (unsigned i = at; is_set && i < at + bytes; i++) is_set = mask->lanes[i / size] != 0;
    if (is_set) return (int)bytes;
  }
  return (int)size;
}

/* Loads or stores `1 << log` bytes of `reg` at byte `at`, by VPINSR and VPEXTR. */
static void move_bytes(x64_code_t *code, unsigned at, int log, int reg, x86_mem_t memory,
                       bool is_store) {
  static const unsigned char insertions[] = {0x20, 0xc4, 0x22, 0x22};
  static const unsigned char extractions[] = {0x14, 0x15, 0x16, 0x16};
  int map = !is_store && log == 1 ? 1 : 3;
  int from = is_store ? X86_NONE : reg;
  x86_opcode_t opcode = X86_OP(1, map, log == 3, (is_store ? extractions : insertions)[log]);
  memory.disp += at;
  x86_vector_memory(&code->x, (x86_vector_t){.opcode = opcode, .to = reg, .from = from}, memory);
  x86_byte(&code->x, at % 16 >> log);
}

/* The same for one lane if its mask, whose upper bit is next in dx, is set. */
static void move_lane_if_set(x64_code_t *code, unsigned at, int log, int reg, x86_mem_t memory,
                             bool is_store) {
  int after = x86_label(&code->x);
  x86_shift_constant(&code->x, X86_SHR, false, X86_DX, 1 << log);
  x86_jump_if(&code->x, X86_AE, after);
  move_bytes(code, at, log, reg, memory, is_store);
  x86_here(&code->x, after);
}

/* Number of lanes of a 128-bit part of a constant mask that are set. */
static unsigned lanes_of_part(const kir_value_t *mask, unsigned part) {
  unsigned lanes = 128 / mask->type->bits, count = 0;
  for (unsigned i = part * lanes; i < (part + 1) * lanes && i < mask->type->lanes; i++)
    count += mask->lanes[i] != 0;
  return count;
}

static bool is_whole_part(const kir_value_t *mask, unsigned part) {
  return kir_is_constant(mask) && lanes_of_part(mask, part) == 128 / mask->type->bits;
}

/* Loads or stores the lanes of one 128-bit part of `reg`. */
static void move_part(x64_code_t *code, const kir_value_t *mask, unsigned part, int reg,
                      x86_mem_t memory, bool is_store) {
  unsigned end = kir_width(mask->type) / 8, size = mask->type->bits / 8;
  if (end > 16 * part + 16) end = 16 * part + 16;
  if (is_whole_part(mask, part)) { /* VMOVUPS */
    memory.disp += 16 * (int)part;
    x86_vector_memory(
        &code->x,
        (x86_vector_t){
            .opcode = X86_OP(0, 1, 0, is_store ? 0x11 : 0x10), .to = reg, .from = X86_NONE},
        memory);
    return;
  }
  for (unsigned at = 16 * part; at < end;) {
    int bytes = kir_is_constant(mask) ? run_of_bytes(mask, at) : 0;
    if (bytes > 0)
      move_bytes(code, at, __builtin_ctz((unsigned)bytes), reg, memory, is_store);
    else if (!bytes)
      move_lane_if_set(code, at, x64_log_bytes(mask->type), reg, memory, is_store);
    at += bytes > 0 ? (unsigned)bytes : size;
  }
}

/* An unknown mask is moved to dx, one bit a byte. */
static void take_mask(x64_code_t *code, kir_value_t *mask) {
  if (kir_is_constant(mask)) return;
  int reg = x64_vector(code, mask, SCRATCH + 1);
  x64_emit_registers(code, X86_OP(1, 1, 0, 0xd7), x64_vector_length(code, mask->type), X86_DX,
                     X86_NONE, reg);
}

static void load_lanes(x64_code_t *code, kir_value_t *mask, int to, x86_mem_t from) {
  take_mask(code, mask);
  x64_emit_registers(code, VPXOR, 0, to, to, to);
  move_part(code, mask, 0, to, from, false);
  if (kir_width(mask->type) <= 128) return;
  x64_emit_registers(code, VPXOR, 0, SCRATCH, SCRATCH, SCRATCH);
  move_part(code, mask, 1, SCRATCH, from, false);
  x64_emit_registers(code, X86_OP(1, 3, 0, 0x38), 1, to, to, SCRATCH);
  x86_byte(&code->x, 1);
}

static void store_lanes(x64_code_t *code, kir_value_t *mask, int from, x86_mem_t to) {
  take_mask(code, mask);
  move_part(code, mask, 0, from, to, true);
  if (kir_width(mask->type) <= 128 || (kir_is_constant(mask) && !lanes_of_part(mask, 1))) return;
  x64_emit_registers(code, X86_OP(1, 3, 0, 0x39), 1, from, X86_NONE, SCRATCH + 1);
  x86_byte(&code->x, 1);
  move_part(code, mask, 1, SCRATCH + 1, to, true);
}

/* Are the lanes moved one by one, as VPMASKMOV has none of their width? Stores of known lanes are,
 * too: some processors take more than ten cycles for VPMASKMOV to memory. */
static bool moves_by_lane(const kir_value_t *mask) {
  return mask->type->bits < 32 || kir_width(mask->type) < 64;
}

/* A mask of 64 bits is cut off there, as the access has 128. */
static int mask_of_access(x64_code_t *code, kir_value_t *mask) {
  int reg = x64_vector(code, mask, SCRATCH + 1);
  if (kir_width(mask->type) > 64) return reg;
  x64_emit_registers(code, VMOVQ, 0, SCRATCH + 1, X86_NONE, reg);
  return SCRATCH + 1;
}

void x64_load_under_mask(x64_code_t *code, kir_value_t *instr) {
  kir_value_t *mask = instr->args[2];
  int to = x64_destination(code, instr, SCRATCH + 2);
  x86_mem_t from = x64_address(code, instr->args[0]);
  if (moves_by_lane(mask)) {
    load_lanes(code, mask, to, from);
  } else {
    x86_vector_t how = {.opcode = X86_OP(1, 2, instr->type->bits == 64, 0x8c),
                        .width = x64_vector_length(code, instr->type),
                        .to = to,
                        .from = mask_of_access(code, mask)};
    x86_vector_memory(&code->x, how, from);
  }
  x64_define(code, instr, to);
}

void x64_store_under_mask(x64_code_t *code, kir_value_t *instr) {
  const kir_type_t *type = instr->args[0]->type;
  kir_value_t *mask = instr->args[3];
  int from = x64_vector(code, instr->args[0], SCRATCH);
  x86_mem_t to = x64_address(code, instr->args[1]);
  if (kir_is_constant(mask) || moves_by_lane(mask)) {
    store_lanes(code, mask, from, to);
    return;
  }
  x86_vector_t how = {.opcode = X86_OP(1, 2, type->bits == 64, 0x8e),
                      .width = x64_vector_length(code, type),
                      .to = from,
                      .from = mask_of_access(code, mask)};
  x86_vector_memory(&code->x, how, to);
}
