/* Instruction selection of memory accesses of vectors, masks and scalar floats: loads, stores,
 * masked and nontemporal ones, gathers, scatters, prefetches.
 *
 * Masked instructions do not fault on lanes whose mask bit is 0; the emitters rely on that. Gathers
 * and scatters clear their mask register as they proceed, so it is copied to the scratch mask
 * first. Nontemporal stores need aligned addresses; others use the unaligned form, which costs
 * nothing on aligned data. Masked accesses of AVX2 are in x64_isel_avx2.c. */
#include "jit/x64/x64_isel.h"

#define NONE 0

static const x86_opcode_t masked_loads[] = {X86_OP(3, 1, 0, 0x6f), X86_OP(3, 1, 1, 0x6f),
                                            X86_OP(2, 1, 0, 0x6f), X86_OP(2, 1, 1, 0x6f)};

/* The load or store of the type's size; 0: none. */
static x86_opcode_t move_opcode(const kir_type_t *type, bool is_store) {
  unsigned bits = kir_width(type);
  if (bits >= 128) return X86_OP(0, 1, 0, 0x10 + is_store);
  if (bits == 64) return X86_OP(3, 1, 1, 0x10 + is_store);
  return bits == 32 ? X86_OP(2, 1, 0, 0x10 + is_store) : NONE;
}

static void select_load(x64_code_t *code, kir_value_t *instr) {
  int to = x64_destination(code, instr, SCRATCH + 2);
  x86_mem_t from = x64_address(code, instr->args[0]);
  x86_opcode_t opcode = move_opcode(instr->type, false);
  if (kir_is_i1(instr->type)) x64_unsupported(code, "bits in memory");
  if (opcode) {
    x86_vector_memory(&code->x,
                      (x86_vector_t){.opcode = opcode,
                                     .width = x64_vector_length(code, instr->type),
                                     .to = to,
                                     .from = X86_NONE,
                                     .unit = (int)kir_width(instr->type) / 8},
                      from);
  } else {
    x86_load(&code->x, X86_DX, from, kir_width(instr->type));
    x64_emit_registers(code, X86_OP(1, 1, 0, 0x6e), 0, to, X86_NONE, X86_DX);
  }
  x64_define(code, instr, to);
}

static void store_vector(x64_code_t *code, const kir_value_t *instr, kir_value_t *value,
                         x86_mem_t address) {
  const kir_type_t *type = value->type;
  int from = x64_vector(code, value, SCRATCH);
  x86_opcode_t opcode = move_opcode(type, true);
  if (instr->is_nontemporal && kir_width(type) >= 128) opcode = X86_OP(0, 1, 0, 0x2b);
  if (!opcode) {
    x64_emit_registers(code, X86_OP(1, 1, 0, 0x7e), 0, from, X86_NONE, X86_DX);
    x86_store(&code->x, address, X86_DX, kir_width(type));
    return;
  }
  x86_vector_memory(&code->x,
                    (x86_vector_t){.opcode = opcode,
                                   .width = x64_vector_length(code, type),
                                   .to = from,
                                   .from = X86_NONE,
                                   .unit = (int)kir_width(type) / 8},
                    address);
}

static void select_store(x64_code_t *code, kir_value_t *instr) {
  kir_value_t *value = instr->args[0];
  x64_class_t kind = x64_class_of(value->type);
  x86_mem_t address = x64_address(code, instr->args[1]);
  if (kind == X64_MASK) x64_unsupported(code, "bits in memory");
  if (kind == X64_GPR)
    x86_store(&code->x, address, x64_gpr(code, value, X86_DX),
              value->type->bits < 8 ? 8 : value->type->bits);
  else if (code->unsupported)
    return;
  else
    store_vector(code, instr, value, address);
}

/* LLVM numbers localities from 0, no cache, to 3, the nearest cache. */
static void select_prefetch(x64_code_t *code, kir_value_t *instr) {
  int nearness = (int)(instr->args[2]->lanes[0] & 3);
  x86_prefetch(&code->x, x64_address(code, instr->args[0]), nearness ? 4 - nearness : 0);
}

/* The mask without the bits above the type's lanes: types narrower than 128 bits use a 128-bit
 * access. */
static int mask_of_lanes(x64_code_t *code, kir_value_t *value, const kir_type_t *type) {
  int mask = x64_mask(code, value, X64_SCRATCH_MASK);
  if (kir_width(type) >= 128 || kir_is_constant(value)) return mask;
  x86_mask_shift(&code->x, true, X64_SCRATCH_MASK, mask, 64 - (int)type->lanes);
  x86_mask_shift(&code->x, false, X64_SCRATCH_MASK, X64_SCRATCH_MASK, 64 - (int)type->lanes);
  return X64_SCRATCH_MASK;
}

static void select_masked_load(x64_code_t *code, kir_value_t *instr) {
  if (!code->isa->has_evex) {
    x64_load_under_mask(code, instr);
    return;
  }
  int to = x64_destination(code, instr, SCRATCH + 2),
      mask = mask_of_lanes(code, instr->args[2], instr->type);
  x86_mem_t from = x64_address(code, instr->args[0]);
  x86_vector_memory(&code->x,
                    (x86_vector_t){.opcode = masked_loads[x64_log_bytes(instr->type)],
                                   .width = x64_vector_length(code, instr->type),
                                   .to = to,
                                   .from = X86_NONE,
                                   .mask = mask,
                                   .zeroes = true},
                    from);
  x64_define(code, instr, to);
}

static void select_masked_store(x64_code_t *code, kir_value_t *instr) {
  if (!code->isa->has_evex) {
    x64_store_under_mask(code, instr);
    return;
  }
  const kir_type_t *type = instr->args[0]->type;
  int from = x64_vector(code, instr->args[0], SCRATCH),
      mask = mask_of_lanes(code, instr->args[3], type);
  x86_mem_t to = x64_address(code, instr->args[1]);
  x86_opcode_t opcode = masked_loads[x64_log_bytes(type)] + 0x10;
  x86_vector_memory(&code->x,
                    (x86_vector_t){.opcode = opcode,
                                   .width = x64_vector_length(code, type),
                                   .to = from,
                                   .from = X86_NONE,
                                   .mask = mask},
                    to);
}

bool x64_select_memory(x64_code_t *code, kir_value_t *instr) {
  switch (instr->op) {
    case KIR_LOAD:
      select_load(code, instr);
      return true;
    case KIR_STORE:
      select_store(code, instr);
      return true;
    case KIR_SCATTER:
      x64_select_scatter(code, instr);
      return true;
    case KIR_PREFETCH:
      select_prefetch(code, instr);
      return true;
    case KIR_MASKED_LOAD:
      select_masked_load(code, instr);
      return true;
    case KIR_MASKED_STORE:
      select_masked_store(code, instr);
      return true;
    case KIR_GATHER:
      x64_select_gather(code, instr);
      return true;
    default:
      return false;
  }
}
