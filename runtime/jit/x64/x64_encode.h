/* Instructions of x86-64 with AVX-512 as bytes: everything on vectors in the EVEX form, which has
 * all widths, masks and 32 registers. Thread: one at a time. */
#ifndef JIT_X64_ENCODE_H
#define JIT_X64_ENCODE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"

enum { X86_AX, X86_CX, X86_DX, X86_BX, X86_SP, X86_BP, X86_SI, X86_DI, X86_R8, X86_R11 = 11 };
#define X86_NONE (-1)

/* A place in memory: base + index * scale + disp; or constant bytes of the function's own, `disp`
 * behind its code. */
typedef struct x86_mem {
  int base, index; /* registers; X86_NONE */
  int scale;
  int64_t disp;
  bool is_pool;
  int broadcast; /* one element of so many bytes for all lanes; 0: as it is */
  int behind;    /* bytes that the instruction has after this: its constant */
} x86_mem_t;

/* A label is a place in the code that jumps name before it is known. */
typedef struct x86_fix {
  size_t at;    /* of 4 bytes that become the distance */
  int label;    /* X86_NONE: of the constants, */
  int64_t disp; /* so far in them */
} x86_fix_t;

typedef struct x86 {
  hr_status_t status; /* NO_MEMORY, once it was */
  HR_VEC(unsigned char) code;
  HR_VEC(unsigned char) pool;
  HR_VEC(x86_fix_t) fixes;
  HR_VEC(int64_t) labels;  /* offsets; -1: not known yet */
  HR_VEC(x86_fix_t) calls; /* of functions elsewhere, whose number is the label */
} x86_t;

void x86_deinit(x86_t *x);
int x86_label(x86_t *x);
void x86_here(x86_t *x, int label);
/* Instructions that do nothing, up to a multiple of so many bytes. */
void x86_align(x86_t *x, size_t bytes);
/* The offset of these bytes among the constants; equal ones share it. */
int64_t x86_constant(x86_t *x, const void *bytes, size_t size_bytes);
/* Puts the constants behind the code, aligned to 64 bytes, and fills in all distances. */
hr_status_t x86_finish(x86_t *x);

/* --- general registers ------------------------------------------------------------------------ */

enum x86_alu { X86_ADD = 0, X86_OR = 1, X86_AND = 4, X86_SUB = 5, X86_XOR = 6, X86_CMP = 7 };
enum x86_shift { X86_SHL = 4, X86_SHR = 5, X86_SAR = 7 };
/* Conditions, as jumps, set and cmov number them. */
enum { X86_B = 2, X86_AE, X86_E, X86_NE, X86_BE, X86_A, X86_L = 12, X86_GE, X86_LE, X86_G };

void x86_byte(x86_t *x, unsigned byte);
void x86_mov(x86_t *x, int to, int from);                       /* 64 bits */
void x86_mov_constant(x86_t *x, int to, uint64_t value);        /* leaves the flags as they are */
void x86_load(x86_t *x, int to, x86_mem_t from, unsigned bits); /* zero-extended */
void x86_store(x86_t *x, x86_mem_t to, int from, unsigned bits);
void x86_lea(x86_t *x, int to, x86_mem_t from);
void x86_prefetch(x86_t *x, x86_mem_t from,
                  int level); /* into the cache of this level and those above; 0: past them */
/* is_wide: 64 bits, else 32. */
void x86_alu(x86_t *x, enum x86_alu op, bool is_wide, int to, int from);
void x86_alu_constant(x86_t *x, enum x86_alu op, bool is_wide, int to, int32_t value);
void x86_multiply(x86_t *x, bool is_wide, int to, int from);
void x86_multiply_constant(x86_t *x, bool is_wide, int to, int from, int32_t value);
void x86_divide(x86_t *x, bool is_wide, bool is_signed,
                int by); /* dx:ax / by: quotient in ax, rest in dx */
void x86_multiply_high(x86_t *x, bool is_signed,
                       int by); /* ax * by, of 64 bits: the upper half in dx */
void x86_sign_to_dx(x86_t *x, bool is_wide);
void x86_shift(x86_t *x, enum x86_shift op, bool is_wide, int to); /* by cl */
void x86_shift_constant(x86_t *x, enum x86_shift op, bool is_wide, int to, int by);
void x86_extend(x86_t *x, bool is_signed, int to, int from,
                unsigned bits);                          /* from 8, 16 or 32 bits to 64 */
void x86_ones(x86_t *x, bool is_wide, int to, int from); /* how many bits are set */
void x86_leading_zeros(x86_t *x, bool is_wide, int to, int from);
void x86_set(x86_t *x, int condition, int to); /* 0 or 1 */
void x86_cmov(x86_t *x, int condition, int to, int from);
void x86_test(x86_t *x, int a, int b); /* 32 bits */
void x86_jump(x86_t *x, int label);
void x86_jump_if(x86_t *x, int condition, int label);
void x86_call(x86_t *x, int function);
void x86_call_register(x86_t *x, int reg);
void x86_push(x86_t *x, int reg);
void x86_pop(x86_t *x, int reg);
void x86_return(x86_t *x);
void x86_clear_uppers(
    x86_t *x); /* of all vectors, but for 128 bits: before code that knows no wider ones */

/* --- vectors ---------------------------------------------------------------------------------- */

/* An opcode: its byte, its map (0F: 1, 0F38: 2, 0F3A: 3), its prefix (none, 66, F3, F2: 0 to 3),
 * and whether it is of the wide kind (W). */
typedef uint32_t x86_opcode_t;
#define X86_OP(prefix, map, wide, byte) \
  ((x86_opcode_t)((prefix) << 16 | (map) << 12 | (wide) << 8 | (byte)))

typedef struct x86_vector {
  x86_opcode_t opcode;
  int width;    /* 0, 1, 2: 128, 256, 512 bits; of one element: 0 */
  int to, from; /* registers: reg and vvvv; from: X86_NONE */
  int mask;     /* of the lanes that are written; 0: all */
  bool zeroes;  /* the others */
  int unit;     /* bytes of memory that a short displacement counts in; 0: it is never short */
} x86_vector_t;

/* With a register as last operand, or memory; an instruction with a constant has it as a byte that
 * follows. */
void x86_vector(x86_t *x, x86_vector_t how, int last);
void x86_vector_memory(x86_t *x, x86_vector_t how, x86_mem_t last);
/* The index is a vector. */
void x86_gather(x86_t *x, x86_vector_t how, x86_mem_t from);
/* Instructions on masks, as wide as 64 lanes (VEX.L1.W1.0F), or as prefix and width say. */
void x86_mask(x86_t *x, int prefix, bool wide, bool has_two, int opcode, int to, int from,
              int last);
void x86_mask_shift(x86_t *x, bool is_up, int to, int from, int by); /* of 64 lanes */

#endif
