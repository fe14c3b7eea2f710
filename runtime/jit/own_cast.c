/* Values as other types, and between registers of different classes. */
#include "jit/own_select.h"

#define SCRATCH OWN_SCRATCH_VECTOR

static bool is_scalar(const own_type_t *type) { return type->kind != LLVMVectorTypeKind; }

/* --- between integers of vectors --------------------------------------------------------------------------------- */

static int log_bytes(const own_type_t *type) { return type->bits == 64 ? 3 : type->bits == 32 ? 2 : type->bits == 16; }

/* Opcodes of 8 to 16, 8 to 32, 8 to 64, 16 to 32, 16 to 64, 32 to 64 follow one another. */
static unsigned step_of(const own_type_t *narrow, const own_type_t *wide) {
  static const unsigned firsts[] = {0, 3, 5};
  return firsts[log_bytes(narrow)] + (unsigned)(log_bytes(wide) - log_bytes(narrow) - 1);
}

static void select_widening(own_code_t *code, own_value_t *instr) {
  own_value_t *narrow = instr->args[0];
  int to = own_result(code, instr, SCRATCH + 2), width = own_width_of(code, instr->type);
  unsigned byte = (instr->op == OWN_SEXT ? 0x20 : 0x30) + step_of(narrow->type, instr->type);
  x86_opcode_t opcode = X86_OP(1, 2, 0, byte);
  if (narrow->op == OWN_LOAD && narrow->is_folded) {
    x86_vector_t how = {.opcode = opcode, .width = width, .to = to, .from = X86_NONE};
    x86_vector_memory(&code->x, how, own_address(code, narrow->args[0]));
  } else {
    own_emit_registers(code, opcode, width, to, X86_NONE, own_vector(code, narrow, SCRATCH));
  }
  own_done(code, instr, to);
}

static void select_narrowing(own_code_t *code, own_value_t *instr) {
  const own_type_t *from_type = instr->args[0]->type;
  int to = own_result(code, instr, SCRATCH + 2), from = own_vector(code, instr->args[0], SCRATCH);
  unsigned byte = 0x30 + step_of(instr->type, from_type);
  own_emit_registers(code, X86_OP(2, 2, 0, byte), own_width_of(code, from_type), from, X86_NONE, to);
  own_done(code, instr, to);
}

/* All bits of a lane, or its lowest one. */
static void select_from_mask(own_code_t *code, own_value_t *instr) {
  const own_type_t *type = instr->type;
  int size = log_bytes(type), width = own_width_of(code, type);
  int to = own_result(code, instr, SCRATCH + 2), from = own_mask(code, instr->args[0], OWN_SCRATCH_MASK);
  own_emit_registers(code, X86_OP(2, 2, size & 1, size < 2 ? 0x28 : 0x38), width, to, X86_NONE, from);
  if (instr->op == OWN_ZEXT) {
    int one = own_vector(code, own_constant_of_all((own_type_t *)type, 1), SCRATCH);
    own_emit_registers(code, X86_OP(1, 1, 0, 0xdb), width, to, to, one);
  }
  own_done(code, instr, to);
}

/* The lowest bit of each lane. */
static void select_to_mask(own_code_t *code, own_value_t *instr) {
  own_value_t *value = instr->args[0];
  int size = log_bytes(value->type), to = own_result(code, instr, OWN_SCRATCH_MASK);
  int from = own_vector(code, value, SCRATCH), one = own_vector(code, own_constant_of_all(value->type, 1), SCRATCH + 1);
  own_emit_registers(code, X86_OP(1, 2, size & 1, size < 2 ? 0x26 : 0x27), own_width_of(code, value->type), to, from,
                     one);
  own_done(code, instr, to);
}

/* --- between integers and floats --------------------------------------------------------------------------------- */

/* Of vectors: by the bits of the integer and of the float (32, 64), signed or not. */
static const x86_opcode_t to_float[2][2][2] = {
    {{X86_OP(3, 1, 0, 0x7a), X86_OP(0, 1, 0, 0x5b)}, {X86_OP(2, 1, 0, 0x7a), X86_OP(2, 1, 0, 0xe6)}},
    {{X86_OP(3, 1, 1, 0x7a), X86_OP(0, 1, 1, 0x5b)}, {X86_OP(2, 1, 1, 0x7a), X86_OP(2, 1, 1, 0xe6)}}};
static const x86_opcode_t to_integer[2][2][2] = {
    {{X86_OP(0, 1, 0, 0x78), X86_OP(2, 1, 0, 0x5b)}, {X86_OP(0, 1, 1, 0x78), X86_OP(1, 1, 1, 0xe6)}},
    {{X86_OP(1, 1, 0, 0x78), X86_OP(1, 1, 0, 0x7a)}, {X86_OP(1, 1, 1, 0x78), X86_OP(1, 1, 1, 0x7a)}}};

static void select_conversion(own_code_t *code, own_value_t *instr, bool is_signed, bool into_float) {
  const own_type_t *from_type = instr->args[0]->type, *integer = into_float ? from_type : instr->type;
  const own_type_t *real = into_float ? instr->type : from_type;
  if (integer->bits < 32 || real->bits < 32) {
    own_lacks(code, "such a conversion");
    return;
  }
  int to = own_result(code, instr, SCRATCH + 2), from = own_vector(code, instr->args[0], SCRATCH);
  x86_opcode_t opcode = (into_float ? to_float : to_integer)[integer->bits == 64][real->bits == 64][is_signed];
  own_emit_registers(code, opcode, own_width_of(code, integer->bits > real->bits ? integer : real), to, X86_NONE, from);
  own_done(code, instr, to);
}

static void select_scalar_to_float(own_code_t *code, own_value_t *instr, bool is_signed) {
  unsigned bits = instr->args[0]->type->bits;
  int to = own_result(code, instr, SCRATCH + 2), from = own_general(code, instr->args[0], X86_AX);
  if (instr->type->bits < 32) own_lacks(code, "such a conversion");
  if (bits < 32 && bits > 1) x86_extend(&code->x, is_signed, X86_AX, from, bits), from = X86_AX;
  own_emit_registers(code, X86_OP(1, 1, 0, 0xef), 0, to, to, to);
  own_emit_registers(code, X86_OP(2 + (instr->type->bits == 64), 1, bits == 64, is_signed || bits < 32 ? 0x2a : 0x7b),
                     0, to, to, from);
  own_done(code, instr, to);
}

static void select_scalar_to_integer(own_code_t *code, own_value_t *instr, bool is_signed) {
  const own_type_t *from_type = instr->args[0]->type;
  int to = own_result(code, instr, X86_AX), from = own_vector(code, instr->args[0], SCRATCH);
  bool wide = instr->type->bits == 64;
  if (from_type->bits < 32 || instr->type->bits < 32) own_lacks(code, "such a conversion");
  own_emit_registers(code, X86_OP(2 + (from_type->bits == 64), 1, wide, is_signed ? 0x2c : 0x78), 0, to, X86_NONE,
                     from);
  own_done(code, instr, to);
}

/* --- between floats ---------------------------------------------------------------------------------------------- */

static void select_of_half(own_code_t *code, own_value_t *instr) {
  const own_type_t *wide = instr->op == OWN_FPEXT ? instr->type : instr->args[0]->type;
  int to = own_result(code, instr, SCRATCH + 2), from = own_vector(code, instr->args[0], SCRATCH);
  int width = own_width_of(code, wide);
  if (wide->bits != 32) own_lacks(code, "f64 to f16");
  if (instr->op == OWN_FPEXT) {
    own_emit_registers(code, X86_OP(1, 2, 0, 0x13), width, to, X86_NONE, from);
  } else {
    own_emit_registers(code, X86_OP(1, 3, 0, 0x1d), width, from, X86_NONE, to);
    x86_byte(&code->x, 4);
  }
  own_done(code, instr, to);
}

static void select_between_floats(own_code_t *code, own_value_t *instr) {
  bool widens = instr->op == OWN_FPEXT, single = is_scalar(instr->type);
  const own_type_t *wide = widens ? instr->type : instr->args[0]->type;
  if (instr->type->bits == 16 || instr->args[0]->type->bits == 16) {
    select_of_half(code, instr);
    return;
  }
  int to = own_result(code, instr, SCRATCH + 2), from = own_vector(code, instr->args[0], SCRATCH);
  x86_opcode_t opcode = X86_OP(single ? 2 + !widens : !widens, 1, !widens, 0x5a);
  own_emit_registers(code, opcode, own_width_of(code, wide), to, single ? from : X86_NONE, from);
  own_done(code, instr, to);
}

/* --- the same bits ----------------------------------------------------------------------------------------------- */

static void select_bits(own_code_t *code, own_value_t *instr) {
  const own_type_t *from_type = instr->args[0]->type, *type = instr->type;
  own_class_t from_kind = own_class_of(from_type), kind = own_class_of(type);
  bool wide = own_width(from_type) == 64;
  int from, to;
  if (from_kind == kind) {
    from = kind == OWN_VECTORS ? own_vector(code, instr->args[0], SCRATCH) : own_general(code, instr->args[0], X86_AX);
    own_done(code, instr, from);
    return;
  }
  if (from_kind == OWN_MASKS || kind == OWN_MASKS || own_width(type) > 64) {
    own_lacks(code, "masks as integers");
    return;
  }
  if (kind == OWN_VECTORS) {
    to = own_result(code, instr, SCRATCH + 2), from = own_general(code, instr->args[0], X86_AX);
    own_emit_registers(code, X86_OP(1, 1, wide, 0x6e), 0, to, X86_NONE, from);
  } else {
    to = own_result(code, instr, X86_AX), from = own_vector(code, instr->args[0], SCRATCH);
    own_emit_registers(code, X86_OP(1, 1, wide, 0x7e), 0, from, X86_NONE, to);
  }
  own_done(code, instr, to);
}

bool own_select_cast(own_code_t *code, own_value_t *instr) {
  bool single = is_scalar(instr->type);
  switch (instr->op) {
    case OWN_ZEXT:
    case OWN_SEXT: (own_is_truth(instr->args[0]->type) ? select_from_mask : select_widening)(code, instr); return true;
    case OWN_TRUNC: (own_is_truth(instr->type) ? select_to_mask : select_narrowing)(code, instr); return true;
    case OWN_FPEXT:
    case OWN_FPTRUNC: select_between_floats(code, instr); return true;
    case OWN_SITOFP:
    case OWN_UITOFP:
      if (single)
        select_scalar_to_float(code, instr, instr->op == OWN_SITOFP);
      else
        select_conversion(code, instr, instr->op == OWN_SITOFP, true);
      return true;
    case OWN_FPTOSI:
    case OWN_FPTOUI:
      if (single)
        select_scalar_to_integer(code, instr, instr->op == OWN_FPTOSI);
      else
        select_conversion(code, instr, instr->op == OWN_FPTOSI, false);
      return true;
    case OWN_BITCAST: select_bits(code, instr); return true;
    default: return false;
  }
}
