/* Assembler for x86-64 with AVX-512 or AVX2. All vector instructions use the EVEX form, which
 * supports all widths, masks and 32 registers, or all use the VEX form of AVX2.
 * Errors:  NO_MEMORY is kept in x86_t.status until x86_finish.
 * Thread:  one at a time. */
#ifndef JIT_X64_ENCODE_H
#define JIT_X64_ENCODE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"

enum { X86_AX, X86_CX, X86_DX, X86_BX, X86_SP, X86_BP, X86_SI, X86_DI, X86_R8, X86_R11 = 11 };
#define X86_NONE (-1)

/* Memory operand: base + index * scale + disp, or RIP-relative: `disp` bytes into the constant
 * pool. */
typedef struct x86_mem {
  int base, index; /* registers; X86_NONE */
  int scale;
  int64_t disp;
  bool is_pool;
  int broadcast;       /* element size of a broadcast, bytes; 0: full vector */
  int immediate_bytes; /* bytes of immediate operands after the displacement; RIP counts from their
                          end */
} x86_mem_t;

/* A reference to a label or to the constant pool, to be resolved. */
typedef struct x86_fix {
  size_t at;    /* offset of the 4-byte distance */
  int label;    /* X86_NONE: the constant pool */
  int64_t disp; /* offset in the pool, bytes */
} x86_fix_t;

typedef struct x86 {
  hr_status_t status; /* first failure */
  bool has_evex;      /* AVX-512; else AVX2 */
  bool is_illegal;    /* an instruction was written that AVX2 lacks */
  HR_VEC(unsigned char) code;
  HR_VEC(unsigned char) pool;
  HR_VEC(x86_fix_t) fixes;
  HR_VEC(int64_t) labels;  /* offsets; -1: unknown */
  HR_VEC(x86_fix_t) calls; /* calls to relocate; label: number of the function */
} x86_t;

void x86_deinit(x86_t *x);
int x86_label(x86_t *x);
void x86_here(x86_t *x, int label);
/* Pads with NOPs to a multiple of `bytes`. */
void x86_align(x86_t *x, size_t bytes);
/* Offset of a constant in the pool; equal constants share it. */
int64_t x86_constant(x86_t *x, const void *bytes, size_t size_bytes);
/* Appends the constant pool to the code, aligned to 64 bytes, and resolves all distances. */
hr_status_t x86_finish(x86_t *x);

/* --- general registers ------------------------------------------------------------------------ */

enum x86_alu { X86_ADD = 0, X86_OR = 1, X86_AND = 4, X86_SUB = 5, X86_XOR = 6, X86_CMP = 7 };
enum x86_shift { X86_SHL = 4, X86_SHR = 5, X86_SAR = 7 };
/* Condition codes of jcc, setcc and cmovcc. */
enum {
  X86_B = 2,
  X86_AE,
  X86_E,
  X86_NE,
  X86_BE,
  X86_A,
  X86_P = 10,
  X86_NP,
  X86_L,
  X86_GE,
  X86_LE,
  X86_G
};

void x86_byte(x86_t *x, unsigned byte);
void x86_mov(x86_t *x, int to, int from);                       /* 64 bits */
void x86_mov_constant(x86_t *x, int to, uint64_t value);        /* preserves the flags */
void x86_load(x86_t *x, int to, x86_mem_t from, unsigned bits); /* zero-extended */
void x86_store(x86_t *x, x86_mem_t to, int from, unsigned bits);
void x86_lea(x86_t *x, int to, x86_mem_t from);
void x86_prefetch(
    x86_t *x, x86_mem_t from,
    int level); /* prefetches into the cache of this level and the levels above; 0: nontemporal */
/* is_wide: 64 bits, else 32. */
void x86_alu(x86_t *x, enum x86_alu op, bool is_wide, int to, int from);
void x86_alu_constant(x86_t *x, enum x86_alu op, bool is_wide, int to, int32_t value);
void x86_multiply(x86_t *x, bool is_wide, int to, int from);
void x86_multiply_constant(x86_t *x, bool is_wide, int to, int from, int32_t value);
void x86_divide(x86_t *x, bool is_wide, bool is_signed,
                int by); /* dx:ax / by: quotient in ax, remainder in dx */
void x86_multiply_high(x86_t *x, bool is_signed,
                       int by); /* 64-bit ax * by; the upper half is in dx */
void x86_sign_to_dx(x86_t *x, bool is_wide);
void x86_shift(x86_t *x, enum x86_shift op, bool is_wide, int to); /* by cl */
void x86_shift_constant(x86_t *x, enum x86_shift op, bool is_wide, int to, int by);
void x86_extend(x86_t *x, bool is_signed, int to, int from,
                unsigned bits);                          /* from 8, 16 or 32 bits to 64 */
void x86_ones(x86_t *x, bool is_wide, int to, int from); /* popcnt */
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
    x86_t *x); /* clears all vectors above 128 bits, before code without AVX-512 */

/* --- vectors ---------------------------------------------------------------------------------- */

/* A vector opcode: byte, map (0F: 1, 0F38: 2, 0F3A: 3), prefix (none, 66, F3, F2: 0 to 3), bit W.
 */
typedef uint32_t x86_opcode_t;
#define X86_OP(prefix, map, wide, byte) \
  ((x86_opcode_t)((prefix) << 16 | (map) << 12 | (wide) << 8 | (byte)))

typedef struct x86_vector {
  x86_opcode_t opcode;
  int width;    /* 0, 1, 2: 128, 256, 512 bits; 0 for scalars */
  int to, from; /* registers: reg and vvvv; from: X86_NONE */
  int mask;     /* write mask register; 0: no mask */
  bool zeroes;  /* zeroes masked-off lanes, else merges */
  int unit;     /* scale N of disp8 * N in bytes; 0: always disp32 */
} x86_vector_t;

/* Writes a VEX prefix and the opcode's byte; x_bit, b_bit: the high bits of the last operand
 * (x64_vex.c). */
void x86_vex(x86_t *x, const x86_vector_t *how, bool x_bit, bool b_bit);
/* The last operand is in a register, or in memory. The caller appends immediate operands. */
void x86_vector(x86_t *x, x86_vector_t how, int last);
void x86_vector_memory(x86_t *x, x86_vector_t how, x86_mem_t last);
/* The memory operand has a vector of indices (VSIB). */
void x86_gather(x86_t *x, x86_vector_t how, x86_mem_t from);
/* Instruction on mask registers, VEX-encoded. */
typedef struct x86_mask_op {
  int map, prefix; /* as in X86_OP */
  bool is_wide;    /* VEX.W; with the prefix it selects the form for 8, 16, 32 or 64 lanes */
  bool has_two;    /* two sources */
  int opcode;
} x86_mask_op_t;
#define X86_KAND ((x86_mask_op_t){1, 0, true, true, 0x41})
#define X86_KNOT ((x86_mask_op_t){1, 0, true, false, 0x44})
#define X86_KOR ((x86_mask_op_t){1, 0, true, true, 0x45})
#define X86_KXOR ((x86_mask_op_t){1, 0, true, true, 0x47})
#define X86_KMOV ((x86_mask_op_t){1, 0, true, false, 0x90})
#define X86_KMOV_FROM_GPR ((x86_mask_op_t){1, 3, true, false, 0x92})
#define X86_KMOV_TO_GPR ((x86_mask_op_t){1, 3, true, false, 0x93})
#define X86_KORTEST ((x86_mask_op_t){1, 0, true, false, 0x98})
/* to, from, last: registers; from: X86_NONE if the instruction has one source. */
void x86_mask(x86_t *x, x86_mask_op_t op, int to, int from, int last);
void x86_mask_shift(x86_t *x, bool is_up, int to, int from, int by); /* shifts a mask of 64 lanes */

#endif
