/* Instruction selection of gathers and scatters.
 *
 * A gather whose active lanes are known loads and inserts one lane at a time, which on many
 * processors is twice as fast as the gather instruction. Indices of the form scalar + constant
 * become part of the load addresses. Other indices are moved to general registers, 64 bits at a
 * time: stores of the vector and loads of its lanes take half as long again. */
#include "jit/x64/x64_isel.h"

static bool has_gather(const x64_code_t *code, const kir_value_t *address, const kir_type_t *type) {
  return x64_node(code, address)->is_folded && address->args[1]->type->lanes > 1 &&
         address->args[1]->type->bits >= 32 && type->bits >= 32 && kir_width(type) >= 128;
}

/* The instruction clears its mask register, so the mask is copied: to SCRATCH + 1 if it is a
 * vector. */
static void gather_by_instruction(x64_code_t *code, kir_value_t *instr) {
  const kir_value_t *address = instr->args[0];
  const kir_type_t *index = address->args[1]->type;
  bool is_far = index->bits == 64, is_wide = instr->type->bits == 64;
  int to = SCRATCH + 2, width = x64_vector_length(
                            code, kir_width(index) > kir_width(instr->type) ? index : instr->type);
  bool has_evex = code->isa->has_evex;
  if (has_evex)
    x64_move_mask(code, X64_SCRATCH_MASK, x64_mask(code, instr->args[2], X64_SCRATCH_MASK));
  else
    x64_move_vector(code, SCRATCH + 1, x64_vector(code, instr->args[2], SCRATCH + 1));
  x64_emit_registers(code, X86_OP(1, 1, 0, 0xef), code->isa->full_width, to, to, to);
  x86_gather(&code->x,
             (x86_vector_t){.opcode = X86_OP(1, 2, is_wide, 0x90 + is_far),
                            .width = width,
                            .to = to,
                            .from = has_evex ? X86_NONE : SCRATCH + 1,
                            .mask = has_evex ? X64_SCRATCH_MASK : 0},
             x64_address(code, instr->args[0]));
  x64_define(code, instr, to);
}

/* --- lane by lane ----------------------------------------------------------------------------- */

bool x64_gathers_by_lane(const kir_type_t *type, const kir_value_t *pointers,
                         const kir_value_t *mask) {
  const kir_type_t *index = pointers->op == KIR_GEP ? pointers->args[1]->type : NULL;
  return index && index->lanes == type->lanes && (index->bits == 32 || index->bits == 64) &&
         type->bits >= 8 && type->bits <= 64 && !(type->lanes & (type->lanes - 1)) &&
         kir_is_constant(mask);
}

/* The scalar that all lanes of the vector have; NULL: the vector is no splat. */
static kir_value_t *splat_number(const kir_value_t *vector) {
  if (vector->op != KIR_SHUFFLE || !kir_is_null(vector->args[2])) return NULL;
  const kir_value_t *first = vector->args[0];
  bool is_first =
      first->op == KIR_INSERT && kir_is_constant(first->args[2]) && !first->args[2]->lanes[0];
  return is_first ? first->args[1] : NULL;
}

kir_value_t *x64_number_of_indices(const kir_value_t *indices) {
  if (indices->op != KIR_ADD || !kir_is_constant(indices->args[1])) return NULL;
  return splat_number(indices->args[0]);
}

/* Addresses of a gather's lanes. Constant indices are displacements; others are taken from the
 * vector in ascending order, 64 bits at a time. */
typedef struct lane_addresses {
  x86_mem_t from;
  const kir_value_t *constant; /* NULL: indices are not constant */
  kir_value_t *indices;
  int part; /* number of the 128 bits of the indices that are in `reg`; -1: none */
  int reg;  /* vector register */
  int word; /* number of the 64 bits of the indices that are in dx; -1: none */
} lane_addresses_t;

/* Moves 64 bits of the indices to dx. */
static void load_word(x64_code_t *code, lane_addresses_t *at, int word) {
  if (at->part != word / 2) {
    at->part = word / 2;
    at->reg = x64_vector(code, at->indices, SCRATCH);
    if (at->part) {
      x64_emit_registers(code, X86_OP(1, 3, 0, 0x39), x64_vector_length(code, at->indices->type),
                         at->reg, X86_NONE, SCRATCH);
      x86_byte(&code->x, (unsigned)at->part);
      at->reg = SCRATCH;
    }
  }
  at->word = word;
  x64_emit_registers(code, word % 2 ? X86_OP(1, 3, 1, 0x16) : X86_OP(1, 1, 1, 0x7e), 0, at->reg,
                     X86_NONE, X86_DX);
  if (word % 2) x86_byte(&code->x, 1);
}

/* Two indices of 32 bits are in dx: the lower one is extended into cx, the upper one in place. */
static x86_mem_t lane_address(x64_code_t *code, lane_addresses_t *at, unsigned lane) {
  x86_mem_t from = at->from;
  unsigned bits = at->indices->type->bits;
  if (at->constant) {
    from.disp += kir_sign_extend(at->constant->lanes[lane], bits) * from.scale;
    return from;
  }
  int word = (int)(lane * bits / 64);
  if (at->word != word) load_word(code, at, word);
  from.index = bits == 32 && lane % 2 == 0 ? X86_CX : X86_DX;
  if (from.index == X86_CX)
    x86_extend(&code->x, true, X86_CX, X86_DX, 32);
  else if (bits == 32)
    x86_shift_constant(&code->x, X86_SAR, true, X86_DX, 32);
  return from;
}

/* Loads the scalar of scalar + constant indices into dx, extended to 64 bits. */
static void find_number(x64_code_t *code, kir_value_t *number, lane_addresses_t *at) {
  int reg = x64_gpr(code, number, X86_DX);
  if (number->type->bits < 64)
    x86_extend(&code->x, true, X86_DX, reg, number->type->bits);
  else if (reg != X86_DX)
    x86_mov(&code->x, X86_DX, reg);
  at->from.index = X86_DX;
}

static lane_addresses_t find_addresses(x64_code_t *code, kir_value_t *address) {
  kir_value_t *indices = address->args[1];
  lane_addresses_t at = {.indices = indices, .part = -1, .word = -1};
  bool is_constant = kir_is_constant(indices), is_sum = x64_node(code, indices)->is_folded;
  at.from = x64_address(code, address->args[0]);
  at.from.scale = address->detail;
  if (is_constant) {
    at.constant = indices;
  } else if (is_sum) {
    at.constant = indices->args[1];
    find_number(code, x64_number_of_indices(indices), &at);
  }
  return at;
}

/* Loads the lanes from `first` on that belong to one 128-bit part; masked-off lanes are zero. The
 * load of a first lane of 32 or 64 bits clears the others. */
static void load_part(x64_code_t *code, const kir_value_t *instr, lane_addresses_t *at,
                      unsigned first, int to) {
  static const x86_opcode_t insertions[] = {X86_OP(1, 3, 0, 0x20), X86_OP(1, 1, 0, 0xc4),
                                            X86_OP(1, 3, 0, 0x22), X86_OP(1, 3, 1, 0x22)};
  const kir_type_t *type = instr->type;
  unsigned lanes = 128 / type->bits;
  bool is_clear = type->bits >= 32 && instr->args[2]->lanes[first];
  if (!is_clear) x64_emit_registers(code, X86_OP(1, 1, 0, 0xef), 0, to, to, to);
  for (unsigned i = 0; i < lanes && first + i < type->lanes; i++) {
    if (!instr->args[2]->lanes[first + i]) continue;
    x86_mem_t from = lane_address(code, at, first + i);
    bool is_load = is_clear && i == 0;
    x86_opcode_t load = X86_OP(1, 1, type->bits == 64, 0x6e);
    x86_vector_memory(&code->x,
                      (x86_vector_t){.opcode = is_load ? load : insertions[x64_log_bytes(type)],
                                     .to = to,
                                     .from = is_load ? X86_NONE : to,
                                     .unit = (int)type->bits / 8},
                      from);
    if (!is_load) x86_byte(&code->x, i);
  }
}

static void gather_by_lane(x64_code_t *code, kir_value_t *instr) {
  const kir_type_t *type = instr->type;
  int width = x64_vector_length(code, type);
  unsigned per_part = 128 / type->bits;
  lane_addresses_t at = find_addresses(code, instr->args[0]);
  int to = x64_destination(code, instr, SCRATCH + 2);
  if (!at.constant && to == x64_destination(code, at.indices, SCRATCH)) to = SCRATCH + 2;
  load_part(code, instr, &at, 0, to);
  for (unsigned part = 1; part * per_part < type->lanes; part++) {
    load_part(code, instr, &at, part * per_part, SCRATCH + 1);
    x64_emit_registers(code, X86_OP(1, 3, 0, 0x38), width, to, to, SCRATCH + 1);
    x86_byte(&code->x, part);
  }
  x64_define(code, instr, to);
}

void x64_select_gather(x64_code_t *code, kir_value_t *instr) {
  const kir_value_t *address = instr->args[0];
  bool is_folded = x64_node(code, address)->is_folded;
  if (is_folded && x64_gathers_by_lane(instr->type, address, instr->args[2]))
    gather_by_lane(code, instr);
  else if (has_gather(code, address, instr->type))
    gather_by_instruction(code, instr);
  else
    x64_unsupported(code, "such a gather");
}

/* --- scatters --------------------------------------------------------------------------------- */

void x64_select_scatter(x64_code_t *code, kir_value_t *instr) {
  const kir_value_t *address = instr->args[1];
  const kir_type_t *type = instr->args[0]->type;
  if (!has_gather(code, address, type) || !code->isa->has_evex) {
    x64_unsupported(code, "such a scatter");
    return;
  }
  const kir_type_t *index = address->args[1]->type;
  int width = x64_vector_length(code, kir_width(index) > kir_width(type) ? index : type);
  int from = x64_vector(code, instr->args[0], SCRATCH + 1);
  x64_move_mask(code, X64_SCRATCH_MASK, x64_mask(code, instr->args[3], X64_SCRATCH_MASK));
  x86_opcode_t opcode = X86_OP(1, 2, type->bits == 64, 0xa0 + (index->bits == 64));
  x86_gather(
      &code->x,
      (x86_vector_t){
          .opcode = opcode, .width = width, .to = from, .from = X86_NONE, .mask = X64_SCRATCH_MASK},
      x64_address(code, instr->args[1]));
}
