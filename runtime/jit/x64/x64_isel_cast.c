/* Instruction selection of casts: conversions between integer and float types, widening,
 * narrowing, and bitcasts, which move a value between register classes.
 *
 * Where the processor has a conversion (VCVT*, VPMOV*), it is one instruction; narrow cases are
 * rewritten before, in x64_expand.c. A bitcast within one class is at most a move. */
#include "jit/x64/x64_isel.h"

static bool is_scalar(const kir_type_t *type) { return type->kind != KIR_TYPE_VECTOR; }

/* --- between vectors of integers -------------------------------------------------------------- */

/* Opcode offset of a conversion: 8 to 16, 8 to 32, 8 to 64, 16 to 32, 16 to 64, 32 to 64 are
 * consecutive. */
static unsigned step_of(const kir_type_t *narrow, const kir_type_t *wide) {
  static const unsigned firsts[] = {0, 3, 5};
  return firsts[x64_log_bytes(narrow)] +
         (unsigned)(x64_log_bytes(wide) - x64_log_bytes(narrow) - 1);
}

static void select_widening(x64_code_t *code, kir_value_t *instr) {
  kir_value_t *narrow = instr->args[0];
  int to = x64_destination(code, instr, SCRATCH + 2), width = x64_vector_length(code, instr->type);
  unsigned byte = (instr->op == KIR_SEXT ? 0x20 : 0x30) + step_of(narrow->type, instr->type);
  x86_opcode_t opcode = X86_OP(1, 2, 0, byte);
  if (narrow->op == KIR_LOAD && x64_node(code, narrow)->is_folded) {
    x86_vector_t how = {.opcode = opcode, .width = width, .to = to, .from = X86_NONE};
    x86_vector_memory(&code->x, how, x64_address(code, narrow->args[0]));
  } else {
    x64_emit_registers(code, opcode, width, to, X86_NONE, x64_vector(code, narrow, SCRATCH));
  }
  x64_define(code, instr, to);
}

static void select_narrowing(x64_code_t *code, kir_value_t *instr) {
  if (!code->isa->has_evex) {
    x64_narrow(code, instr);
    return;
  }
  const kir_type_t *from_type = instr->args[0]->type;
  int to = x64_destination(code, instr, SCRATCH + 2),
      from = x64_vector(code, instr->args[0], SCRATCH);
  unsigned byte = 0x30 + step_of(instr->type, from_type);
  x64_emit_registers(code, X86_OP(2, 2, 0, byte), x64_vector_length(code, from_type), from,
                     X86_NONE, to);
  x64_define(code, instr, to);
}

/* Extends a mask to lanes: to all bits (sext) or to the lowest bit (zext). */
static void select_from_mask(x64_code_t *code, kir_value_t *instr) {
  const kir_type_t *type = instr->type;
  int size = x64_log_bytes(type), width = x64_vector_length(code, type);
  int to = x64_destination(code, instr, SCRATCH + 2),
      from = x64_mask(code, instr->args[0], X64_SCRATCH_MASK);
  x64_emit_registers(code, X86_OP(2, 2, size & 1, size < 2 ? 0x28 : 0x38), width, to, X86_NONE,
                     from);
  if (instr->op == KIR_ZEXT) {
    int one = x64_vector(code, kir_splat_constant((kir_type_t *)type, 1), SCRATCH);
    x64_emit_registers(code, X86_OP(1, 1, 0, 0xdb), width, to, to, one);
  }
  x64_define(code, instr, to);
}

/* Mask of the lowest bit of each lane. */
static void select_to_mask(x64_code_t *code, kir_value_t *instr) {
  kir_value_t *value = instr->args[0];
  int size = x64_log_bytes(value->type), to = x64_destination(code, instr, X64_SCRATCH_MASK);
  int from = x64_vector(code, value, SCRATCH),
      one = x64_vector(code, kir_splat_constant(value->type, 1), SCRATCH + 1);
  x64_emit_registers(code, X86_OP(1, 2, size & 1, size < 2 ? 0x26 : 0x27),
                     x64_vector_length(code, value->type), to, from, one);
  x64_define(code, instr, to);
}

/* --- between integers and floats -------------------------------------------------------------- */

/* Opcodes for vectors, by the integer's and the float's bits (32, 64) and by sign. */
static const x86_opcode_t to_float[2][2][2] = {{{X86_OP(3, 1, 0, 0x7a), X86_OP(0, 1, 0, 0x5b)},
                                                {X86_OP(2, 1, 0, 0x7a), X86_OP(2, 1, 0, 0xe6)}},
                                               {{X86_OP(3, 1, 1, 0x7a), X86_OP(0, 1, 1, 0x5b)},
                                                {X86_OP(2, 1, 1, 0x7a), X86_OP(2, 1, 1, 0xe6)}}};
static const x86_opcode_t to_integer[2][2][2] = {{{X86_OP(0, 1, 0, 0x78), X86_OP(2, 1, 0, 0x5b)},
                                                  {X86_OP(0, 1, 1, 0x78), X86_OP(1, 1, 1, 0xe6)}},
                                                 {{X86_OP(1, 1, 0, 0x78), X86_OP(1, 1, 0, 0x7a)},
                                                  {X86_OP(1, 1, 1, 0x78), X86_OP(1, 1, 1, 0x7a)}}};

static void select_conversion(x64_code_t *code, kir_value_t *instr, bool is_signed,
                              bool into_float) {
  const kir_type_t *from_type = instr->args[0]->type,
                   *integer = into_float ? from_type : instr->type;
  const kir_type_t *real = into_float ? instr->type : from_type;
  if (integer->bits < 32 || real->bits < 32 || (integer->bits == 64 && !code->isa->has_evex)) {
    x64_unsupported(code, "such a conversion");
    return;
  }
  int to = x64_destination(code, instr, SCRATCH + 2),
      from = x64_vector(code, instr->args[0], SCRATCH);
  x86_opcode_t opcode =
      (into_float ? to_float : to_integer)[integer->bits == 64][real->bits == 64][is_signed];
  x64_emit_registers(code, opcode,
                     x64_vector_length(code, integer->bits > real->bits ? integer : real), to,
                     X86_NONE, from);
  x64_define(code, instr, to);
}

static void select_scalar_to_float(x64_code_t *code, kir_value_t *instr, bool is_signed) {
  unsigned bits = instr->args[0]->type->bits;
  int to = x64_destination(code, instr, SCRATCH + 2), from = x64_gpr(code, instr->args[0], X86_AX);
  if (instr->type->bits < 32) x64_unsupported(code, "such a conversion");
  if (bits < 32 && bits > 1) x86_extend(&code->x, is_signed, X86_AX, from, bits), from = X86_AX;
  x64_emit_registers(code, X86_OP(1, 1, 0, 0xef), 0, to, to, to);
  x64_emit_registers(
      code,
      X86_OP(2 + (instr->type->bits == 64), 1, bits == 64, is_signed || bits < 32 ? 0x2a : 0x7b), 0,
      to, to, from);
  x64_define(code, instr, to);
}

static void select_scalar_to_integer(x64_code_t *code, kir_value_t *instr, bool is_signed) {
  const kir_type_t *from_type = instr->args[0]->type;
  int to = x64_destination(code, instr, X86_AX), from = x64_vector(code, instr->args[0], SCRATCH);
  bool wide = instr->type->bits == 64;
  if (from_type->bits < 32 || instr->type->bits < 32) x64_unsupported(code, "such a conversion");
  x64_emit_registers(code, X86_OP(2 + (from_type->bits == 64), 1, wide, is_signed ? 0x2c : 0x78), 0,
                     to, X86_NONE, from);
  x64_define(code, instr, to);
}

/* --- between floats --------------------------------------------------------------------------- */

static void select_of_half(x64_code_t *code, kir_value_t *instr) {
  const kir_type_t *wide = instr->op == KIR_FPEXT ? instr->type : instr->args[0]->type;
  int to = x64_destination(code, instr, SCRATCH + 2),
      from = x64_vector(code, instr->args[0], SCRATCH);
  int width = x64_vector_length(code, wide);
  if (wide->bits != 32) x64_unsupported(code, "f64 to f16");
  if (instr->op == KIR_FPEXT) {
    x64_emit_registers(code, X86_OP(1, 2, 0, 0x13), width, to, X86_NONE, from);
  } else {
    x64_emit_registers(code, X86_OP(1, 3, 0, 0x1d), width, from, X86_NONE, to);
    x86_byte(&code->x, 4);
  }
  x64_define(code, instr, to);
}

static void select_between_floats(x64_code_t *code, kir_value_t *instr) {
  bool widens = instr->op == KIR_FPEXT, single = is_scalar(instr->type);
  const kir_type_t *wide = widens ? instr->type : instr->args[0]->type;
  if (instr->type->bits == 16 || instr->args[0]->type->bits == 16) {
    select_of_half(code, instr);
    return;
  }
  int to = x64_destination(code, instr, SCRATCH + 2),
      from = x64_vector(code, instr->args[0], SCRATCH);
  x86_opcode_t opcode = X86_OP(single ? 2 + !widens : !widens, 1, !widens, 0x5a);
  x64_emit_registers(code, opcode, x64_vector_length(code, wide), to, single ? from : X86_NONE,
                     from);
  x64_define(code, instr, to);
}

/* --- bitcasts --------------------------------------------------------------------------------- */

static void select_bits(x64_code_t *code, kir_value_t *instr) {
  const kir_type_t *from_type = instr->args[0]->type, *type = instr->type;
  x64_class_t from_kind = x64_class_of(from_type), kind = x64_class_of(type);
  bool wide = kir_width(from_type) == 64;
  int from, to;
  if (from_kind == kind) {
    from = kind == X64_VECTOR ? x64_vector(code, instr->args[0], SCRATCH)
                              : x64_gpr(code, instr->args[0], X86_AX);
    x64_define(code, instr, from);
    return;
  }
  if (from_kind == X64_MASK || kind == X64_MASK || kir_width(type) > 64) {
    x64_unsupported(code, "masks as integers");
    return;
  }
  if (kind == X64_VECTOR) {
    to = x64_destination(code, instr, SCRATCH + 2);
    from = x64_gpr(code, instr->args[0], X86_AX);
    x64_emit_registers(code, X86_OP(1, 1, wide, 0x6e), 0, to, X86_NONE, from);
  } else {
    to = x64_destination(code, instr, X86_AX);
    from = x64_vector(code, instr->args[0], SCRATCH);
    x64_emit_registers(code, X86_OP(1, 1, wide, 0x7e), 0, from, X86_NONE, to);
  }
  x64_define(code, instr, to);
}

bool x64_select_cast(x64_code_t *code, kir_value_t *instr) {
  bool single = is_scalar(instr->type);
  switch (instr->op) {
    case KIR_ZEXT:
    case KIR_SEXT:
      (kir_is_i1(instr->args[0]->type) ? select_from_mask : select_widening)(code, instr);
      return true;
    case KIR_TRUNC:
      (kir_is_i1(instr->type) ? select_to_mask : select_narrowing)(code, instr);
      return true;
    case KIR_FPEXT:
    case KIR_FPTRUNC:
      select_between_floats(code, instr);
      return true;
    case KIR_SITOFP:
    case KIR_UITOFP:
      if (single)
        select_scalar_to_float(code, instr, instr->op == KIR_SITOFP);
      else
        select_conversion(code, instr, instr->op == KIR_SITOFP, true);
      return true;
    case KIR_FPTOSI:
    case KIR_FPTOUI:
      if (single)
        select_scalar_to_integer(code, instr, instr->op == KIR_FPTOSI);
      else
        select_conversion(code, instr, instr->op == KIR_FPTOSI, false);
      return true;
    case KIR_BITCAST:
      select_bits(code, instr);
      return true;
    default:
      return false;
  }
}
