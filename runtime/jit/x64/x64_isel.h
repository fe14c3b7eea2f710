/* Instruction selection: declarations shared by x64_isel*.c. Values are read from their registers,
 * or loaded into scratch registers if they are constants or spilled. Results are computed in the
 * register of their interval, or in a scratch register that x64_define spills. */
#ifndef JIT_X64_ISEL_H
#define JIT_X64_ISEL_H

#include "jit/x64/x64_code.h"

/* Scratch vector registers: SCRATCH, SCRATCH + 1 and SCRATCH + 2. */
#define SCRATCH (code->isa->scratch_vector)

/* --- operands (x64_operands.c) ---------------------------------------------------------------- */

/* Register of a value; `scratch` if the value must be loaded. */
int x64_gpr(x64_code_t *code, kir_value_t *value, int scratch);
int x64_vector(x64_code_t *code, kir_value_t *value, int scratch);
int x64_mask(x64_code_t *code, kir_value_t *value, int scratch);
/* Register in which to compute a result; x64_define must follow. */
int x64_destination(x64_code_t *code, const kir_value_t *instr, int scratch);
void x64_define(x64_code_t *code, const kir_value_t *instr, int reg);
/* Memory operand for a pointer, folded addresses included. Clobbers ax and cx. */
x86_mem_t x64_address(x64_code_t *code, kir_value_t *pointer);
/* Vector length of a type: 0, 1, 2 for 128, 256, 512 bits. Wider types are unsupported. */
int x64_vector_length(x64_code_t *code, const kir_type_t *type);
void x64_unsupported(x64_code_t *code, const char *what);

/* Saves and restores the live registers that a call clobbers. */
void x64_save_live(x64_code_t *code, const kir_value_t *call);
void x64_restore_live(x64_code_t *code, const kir_value_t *call);

void x64_move_vector(x64_code_t *code, int to, int from);
void x64_move_mask(x64_code_t *code, int to, int from);
/* to = op(from, last); `last` is a memory operand if it is a constant or a folded load. */
void x64_emit(x64_code_t *code, x86_opcode_t opcode, const kir_type_t *type, int to, int from,
              kir_value_t *last, int scratch);
/* x64_emit for instructions with so many bytes of immediate operand, which the caller appends. */
void x64_emit_with_imm(x64_code_t *code, x86_opcode_t opcode, const kir_type_t *type, int to,
                       int from, kir_value_t *last, int scratch, int immediate_bytes);
/* Entry of a constant that has a register throughout the function; NULL: none. */
pinned_const_t *x64_pinned(x64_code_t *code, const kir_value_t *value);
/* Register form. width: vector length; from: X86_NONE for unary instructions. */
void x64_emit_registers(x64_code_t *code, x86_opcode_t opcode, int width, int to, int from,
                        int last);
void x64_emit_masked(x64_code_t *code, x86_opcode_t opcode, int width, int mask, bool zeroes,
                     int to, int from, int last);
void x64_load_constant(x64_code_t *code, kir_value_t *value, int to);
/* Loads the bits into mask register `to`. */
void x64_load_mask(x64_code_t *code, uint64_t bits, int to);

/* log2 of the bytes of an element; 0 for i1. */
static inline int x64_log_bytes(const kir_type_t *type) {
  switch (type->bits) {
    case 64:
      return 3;
    case 32:
      return 2;
    case 16:
      return 1;
    default:
      return 0;
  }
}

/* One move of a parallel copy: all sources are read before any destination is written. */
typedef struct parallel_move {
  int to;             /* index of the destination interval */
  kir_value_t *value; /* source; NULL: register `from` of the class */
  int from;
} parallel_move_t;
void x64_move_parallel(x64_code_t *code, parallel_move_t *moves, int count);

/* --- instructions; false: another file selects the operation ---------------------------------- */

void x64_select_gpr(x64_code_t *code, kir_value_t *instr);    /* results in general registers */
void x64_select_vector(x64_code_t *code, kir_value_t *instr); /* all other results */
bool x64_select_memory(x64_code_t *code, kir_value_t *instr); /* x64_isel_memory.c */
void x64_select_gather(x64_code_t *code, kir_value_t *instr); /* x64_isel_gather.c */
void x64_select_scatter(x64_code_t *code, kir_value_t *instr);
bool x64_select_cast(x64_code_t *code, kir_value_t *instr);    /* x64_isel_cast.c */
bool x64_select_shuffle(x64_code_t *code, kir_value_t *instr); /* x64_isel_shuffle.c */
/* Sets the flags by a condition: a folded comparison or a value. Returns the condition code for
 * jcc, setcc and cmovcc. Clobbers cx and dx. */
int x64_set_flags(x64_code_t *code, kir_value_t *condition);
/* Compares into mask register `to`; with AVX2 into vector register `to`. */
void x64_compare(x64_code_t *code, kir_value_t *compare, int to);
/* The opcode of an operation on floats, by its byte, and the immediate operand of VCMP. */
x86_opcode_t x64_float_opcode(x64_code_t *code, const kir_type_t *type, unsigned byte);
int x64_float_condition(int predicate);

/* --- AVX2 (x64_isel_avx2.c, x64_permute_avx2.c) ----------------------------------------------- */

void x64_compare_to_vector(x64_code_t *code, kir_value_t *compare, int to);
/* Set the flags by a comparison of scalar floats, or by whether any lane of a mask is set. Return
 * the condition code. Clobber cx. */
int x64_float_flags(x64_code_t *code, kir_value_t *compare);
int x64_any_flags(x64_code_t *code, kir_value_t *mask);
void x64_select_choice(x64_code_t *code, kir_value_t *instr);
/* `sign`: a constant of the sign bits. */
void x64_copy_sign(x64_code_t *code, kir_value_t *instr, kir_value_t *sign);
void x64_load_under_mask(x64_code_t *code, kir_value_t *instr);
void x64_store_under_mask(x64_code_t *code, kir_value_t *instr);
void x64_permute(x64_code_t *code, kir_value_t *instr);
void x64_narrow(x64_code_t *code, kir_value_t *instr);

#endif
