/* Instructions chosen for own code: what the parts of own_select share. Values are read into registers, scratch ones if
 * they are constants or on the stack; results are computed in the register of their home, or in a scratch one and then
 * put on the stack. */
#ifndef JIT_OWN_SELECT_H
#define JIT_OWN_SELECT_H

#include "jit/own_code.h"

/* --- operands (own_place.c) -------------------------------------------------------------------------------------- */

/* The register that has the value; `scratch` if it has to be loaded. */
int own_general(own_code_t *code, own_value_t *value, int scratch);
int own_vector(own_code_t *code, own_value_t *value, int scratch);
int own_mask(own_code_t *code, own_value_t *value, int scratch);
/* Where the result of an instruction goes; then own_done. */
int own_result(own_code_t *code, const own_value_t *instr, int scratch);
void own_done(own_code_t *code, const own_value_t *instr, int reg);
/* The address that a pointer is, with ax and cx as scratch. */
x86_mem_t own_address(own_code_t *code, own_value_t *pointer);
/* 0, 1, 2: registers of 128, 256, 512 bits. What is wider has no code. */
int own_width_of(own_code_t *code, const own_type_t *type);
void own_lacks(own_code_t *code, const char *what);

/* What is in registers that a call changes goes to the stack, and comes back. */
void own_save_all(own_code_t *code, const own_value_t *call);
void own_restore_all(own_code_t *code, const own_value_t *call);

void own_move_vector(own_code_t *code, int to, int from);
void own_move_mask(own_code_t *code, int to, int from);
/* to = op(from, last): the last operand from memory if it is a constant or was loaded for this alone. */
void own_emit(own_code_t *code, x86_opcode_t opcode, const own_type_t *type, int to, int from, own_value_t *last,
              int scratch);
/* `behind` more bytes of the instruction follow: its constant. */
void own_emit_before(own_code_t *code, x86_opcode_t opcode, const own_type_t *type, int to, int from,
                     own_value_t *last, int scratch, int behind);
/* The register that the whole function has the constant in; NULL: there is none. */
own_kept_t *own_kept_of(own_code_t *code, const own_value_t *value);
/* With registers alone; from: X86_NONE if there is none. */
void own_emit_registers(own_code_t *code, x86_opcode_t opcode, int width, int to, int from, int last);
void own_emit_masked(own_code_t *code, x86_opcode_t opcode, int width, int mask, bool zeroes, int to, int from,
                     int last);
void own_constant_to(own_code_t *code, own_value_t *value, int to);
/* Every lane or bit of the type, in a mask or vector register. */
void own_mask_of(own_code_t *code, uint64_t bits, int to);

/* Values from places to places as if all at once: what phis take over. */
typedef struct own_move {
  int to;             /* number of the home */
  own_value_t *value; /* NULL: what is in register `from` of its class */
  int from;
} own_move_t;
void own_move_all(own_code_t *code, own_move_t *moves, int count);

/* --- instructions: false if another part has them ---------------------------------------------------------------- */

void own_select_general(own_code_t *code, own_value_t *instr); /* own_general.c: results in general registers */
void own_select_vector(own_code_t *code, own_value_t *instr);  /* own_vector.c: in vectors and masks, and stores */
bool own_select_cast(own_code_t *code, own_value_t *instr);    /* own_cast.c */
bool own_select_lanes(own_code_t *code, own_value_t *instr);   /* own_lanes.c: shuffles */
/* Sets the flags as the condition, a comparison or a value, says; gives the condition of jumps. Changes cx and dx. */
int own_flags(own_code_t *code, own_value_t *condition);
/* Compares into a mask register. */
void own_compare(own_code_t *code, own_value_t *compare, int to);

#define OWN_SCALAR_OPCODE(type, single, twice) ((type)->bits == 64 ? (twice) : (single))

#endif
