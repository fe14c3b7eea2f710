/* Instructions chosen for own code: what the parts of x64_select share. Values are read into
 * registers, scratch ones if they are constants or on the stack; results are computed in the
 * register of their interval, or in a scratch one and then put on the stack. */
#ifndef JIT_X64_ISEL_H
#define JIT_X64_ISEL_H

#include "jit/x64/x64_code.h"

/* --- operands (x64_operands.c) ---------------------------------------------------------------- */

/* The register that has the value; `scratch` if it has to be loaded. */
int x64_gpr(x64_code_t *code, kir_value_t *value, int scratch);
int x64_vector(x64_code_t *code, kir_value_t *value, int scratch);
int x64_mask(x64_code_t *code, kir_value_t *value, int scratch);
/* Where the result of an instruction goes; then x64_define. */
int x64_destination(x64_code_t *code, const kir_value_t *instr, int scratch);
void x64_define(x64_code_t *code, const kir_value_t *instr, int reg);
/* The address that a pointer is, with ax and cx as scratch. */
x86_mem_t x64_address(x64_code_t *code, kir_value_t *pointer);
/* 0, 1, 2: registers of 128, 256, 512 bits. What is wider has no code. */
int x64_vector_length(x64_code_t *code, const kir_type_t *type);
void x64_unsupported(x64_code_t *code, const char *what);

/* What is in registers that a call changes goes to the stack, and comes back. */
void x64_save_live(x64_code_t *code, const kir_value_t *call);
void x64_restore_live(x64_code_t *code, const kir_value_t *call);

void x64_move_vector(x64_code_t *code, int to, int from);
void x64_move_mask(x64_code_t *code, int to, int from);
/* to = op(from, last): the last operand from memory if it is a constant or was loaded for this
 * alone. */
void x64_emit(x64_code_t *code, x86_opcode_t opcode, const kir_type_t *type, int to, int from,
              kir_value_t *last, int scratch);
/* `behind` more bytes of the instruction follow: its constant. */
void x64_emit_with_imm(x64_code_t *code, x86_opcode_t opcode, const kir_type_t *type, int to,
                       int from, kir_value_t *last, int scratch, int behind);
/* The register that the whole function has the constant in; NULL: there is none. */
pinned_const_t *x64_pinned(x64_code_t *code, const kir_value_t *value);
/* With registers alone; from: X86_NONE if there is none. */
void x64_emit_registers(x64_code_t *code, x86_opcode_t opcode, int width, int to, int from,
                        int last);
void x64_emit_masked(x64_code_t *code, x86_opcode_t opcode, int width, int mask, bool zeroes,
                     int to, int from, int last);
void x64_load_constant(x64_code_t *code, kir_value_t *value, int to);
/* Every lane or bit of the type, in a mask or vector register. */
void x64_load_mask(x64_code_t *code, uint64_t bits, int to);

/* log2 of the bytes of an element; of i1: 0. */
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

/* Values from places to places as if all at once: what phis take over. */
typedef struct parallel_move {
  int to;             /* number of the interval */
  kir_value_t *value; /* NULL: what is in register `from` of its class */
  int from;
} parallel_move_t;
void x64_move_parallel(x64_code_t *code, parallel_move_t *moves, int count);

/* --- instructions: false if another part has them --------------------------------------------- */

void x64_select_gpr(x64_code_t *code, kir_value_t *instr);     /* results in general registers */
void x64_select_vector(x64_code_t *code, kir_value_t *instr);  /* the others */
bool x64_select_memory(x64_code_t *code, kir_value_t *instr);  /* x64_isel_memory.c */
bool x64_select_cast(x64_code_t *code, kir_value_t *instr);    /* x64_isel_cast.c */
bool x64_select_shuffle(x64_code_t *code, kir_value_t *instr); /* x64_isel_shuffle.c */
/* Sets the flags as the condition, a comparison or a value, says; gives the condition of jumps.
 * Changes cx and dx. */
int x64_set_flags(x64_code_t *code, kir_value_t *condition);
/* Compares into a mask register. */
void x64_compare(x64_code_t *code, kir_value_t *compare, int to);

#endif
