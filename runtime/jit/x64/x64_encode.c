/* x86-64 assembler: instructions as bytes, labels and the constant pool.
 *
 *     general   [66|F3|F2] [REX] opcode ModRM [SIB] [disp8|disp32] [imm]
 *     masks     VEX
 *     vectors   EVEX (62 P0 P1 P2) opcode ModRM [SIB] [disp8 * N|disp32] [imm8]
 *               VEX (x64_vex.c)    opcode ModRM [SIB] [disp8|disp32] [imm8]
 *
 * With AVX-512 vectors always use EVEX, which reaches 32 registers, masks, zeroing and broadcasts
 * at any width, so that one path encodes all of them; else VEX. Short displacements of EVEX count
 * in units of the memory operand. Jumps have 32-bit distances, filled in by x86_finish, which also
 * appends the constant pool and resolves RIP-relative references to it. Source: Intel SDM volume 2,
 * chapters 2 and 2.7. */
#include "jit/x64/x64_encode.h"

#include <string.h>

void x86_deinit(x86_t *x) {
  HR_VEC_FREE(&x->code);
  HR_VEC_FREE(&x->pool);
  HR_VEC_FREE(&x->fixes);
  HR_VEC_FREE(&x->labels);
  HR_VEC_FREE(&x->calls);
}

/* Pushes to a vector of x; a failure is kept for x86_finish. */
#define PUSH(x, vector, ...)                                                             \
  do {                                                                                   \
    if (!(x)->status) (x)->status = HR_VEC_RESERVE(&(x)->vector, (x)->vector.count + 1); \
    if (!(x)->status) (x)->vector.data[(x)->vector.count++] = (__VA_ARGS__);             \
  } while (0)

void x86_byte(x86_t *x, unsigned byte) { PUSH(x, code, (unsigned char)byte); }

static void number(x86_t *x, uint64_t value, int bytes) {
  for (int i = 0; i < bytes; i++) x86_byte(x, value >> 8 * i & 255);
}

int x86_label(x86_t *x) {
  PUSH(x, labels, -1);
  return (int)x->labels.count - 1;
}

void x86_here(x86_t *x, int label) {
  if (!x->status) x->labels.data[label] = (int64_t)x->code.count;
}

void x86_align(x86_t *x, size_t bytes) {
  static const unsigned char nothing[] = {0x66, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0};
  size_t left = -x->code.count % bytes;
  for (; left >= sizeof nothing; left -= sizeof nothing)
    for (size_t i = 0; i < sizeof nothing; i++) x86_byte(x, nothing[i]);
  while (left--) x86_byte(x, 0x90);
}

/* Reserves the next 4 bytes for the distance to a label or constant; `immediate_bytes` more bytes
 * of the instruction follow. */
static void distance(x86_t *x, int label, int64_t disp, int immediate_bytes) {
  PUSH(x, fixes, (x86_fix_t){x->code.count, label, disp});
  number(x, (uint64_t)immediate_bytes, 4);
}

int64_t x86_constant(x86_t *x, const void *bytes, size_t size_bytes) {
  for (size_t at = 0; at + size_bytes <= x->pool.count; at += size_bytes)
    if (memcmp(x->pool.data + at, bytes, size_bytes) == 0) return (int64_t)at;
  while (x->pool.count % size_bytes && !x->status) PUSH(x, pool, 0);
  size_t at = x->pool.count;
  for (size_t i = 0; i < size_bytes; i++) PUSH(x, pool, ((const unsigned char *)bytes)[i]);
  return (int64_t)at;
}

/* Appends the constant pool, aligned to 64 bytes (padded by int3), and resolves distances.
 * RIP-relative distances count from the end of the instruction, which is `immediate_bytes` bytes
 * (immediates) after the distance. */
hr_status_t x86_finish(x86_t *x) {
  while (x->code.count % 64 && !x->status) x86_byte(x, 0xcc);
  size_t pool = x->code.count;
  for (size_t i = 0; i < x->pool.count; i++) x86_byte(x, x->pool.data[i]);
  for (size_t i = 0; i < x->fixes.count && !x->status; i++) {
    x86_fix_t fix = x->fixes.data[i];
    int32_t immediate_bytes = 0; /* stored in the place of the distance */
    memcpy(&immediate_bytes, x->code.data + fix.at, 4);
    int64_t target = fix.label == X86_NONE ? (int64_t)pool + fix.disp : x->labels.data[fix.label];
    int32_t value = (int32_t)(target - (int64_t)fix.at - 4 - immediate_bytes);
    memcpy(x->code.data + fix.at, &value, 4);
  }
  hr_status_t st = x->status;
  x->status = NULL;
  return st;
}

/* --- operands --------------------------------------------------------------------------------- */

static void modrm(x86_t *x, int mod, int reg, int rm) {
  x86_byte(x, (unsigned)(mod << 6 | (reg & 7) << 3 | (rm & 7)));
}

static int scale_bits(int scale) { return scale > 1 ? __builtin_ctz((unsigned)scale) : 0; }

/* unit: scale of a short displacement in bytes; 0: none. */
static void memory(x86_t *x, int reg, x86_mem_t m, int unit) {
  if (m.is_pool) {
    modrm(x, 0, reg, 5);
    distance(x, X86_NONE, m.disp, m.immediate_bytes);
    return;
  }
  bool has_sib = m.index != X86_NONE || (m.base & 7) == X86_SP;
  bool is_short = unit && m.disp % unit == 0 && m.disp / unit >= -128 && m.disp / unit <= 127;
  int mod = is_short ? 1 : 2;
  if (m.disp == 0 && (m.base & 7) != X86_BP) mod = 0;
  modrm(x, mod, reg, has_sib ? 4 : m.base);
  if (has_sib) modrm(x, scale_bits(m.scale), m.index == X86_NONE ? 4 : m.index, m.base);
  if (mod == 1) x86_byte(x, (unsigned)(m.disp / unit) & 255);
  if (mod == 2) number(x, (uint64_t)m.disp, 4);
}

static int high(int reg) { return reg != X86_NONE && reg >> 3 & 1; }

static void rex(x86_t *x, bool wide, int reg, int index, int base, bool is_needed) {
  int bits = 0x40 | wide << 3 | high(reg) << 2 | high(index) << 1 | high(base);
  if (bits != 0x40 || is_needed) x86_byte(x, (unsigned)bits);
}

/* opcode: a byte, or 0F and a byte (0x0fXX). */
static void opcode(x86_t *x, int op) {
  if (op >> 8) x86_byte(x, (unsigned)op >> 8);
  x86_byte(x, op & 255);
}

static void with_register(x86_t *x, bool wide, int op, int reg, int rm) {
  rex(x, wide, reg, X86_NONE, rm, false);
  opcode(x, op);
  modrm(x, 3, reg, rm);
}

static void with_memory(x86_t *x, bool wide, int op, int reg, x86_mem_t m, bool is_byte) {
  if (m.is_pool)
    rex(x, wide, reg, X86_NONE, X86_NONE, is_byte);
  else
    rex(x, wide, reg, m.index, m.base, is_byte);
  opcode(x, op);
  memory(x, reg, m, 1);
}

/* --- general registers ------------------------------------------------------------------------ */

void x86_mov(x86_t *x, int to, int from) {
  if (to != from) with_register(x, true, 0x8b, to, from);
}

/* Writes the shortest of mov r64, imm32 (sign extended, 7 bytes), mov r32, imm32 (5 or 6 bytes,
 * clears the upper half) and mov r64, imm64 (10 bytes). */
void x86_mov_constant(x86_t *x, int to, uint64_t value) {
  bool is_signed = (int64_t)value == (int32_t)value && (int64_t)value < 0;
  if (is_signed) {
    with_register(x, true, 0xc7, 0, to);
    number(x, value, 4);
    return;
  }
  bool wide = value >> 32;
  rex(x, wide, X86_NONE, X86_NONE, to, false);
  x86_byte(x, 0xb8u | (unsigned)(to & 7));
  number(x, value, wide ? 8 : 4);
}

void x86_load(x86_t *x, int to, x86_mem_t from, unsigned bits) {
  if (bits == 8 || bits == 16)
    with_memory(x, false, bits == 8 ? 0x0fb6 : 0x0fb7, to, from, false);
  else
    with_memory(x, bits == 64, 0x8b, to, from, false);
}

void x86_store(x86_t *x, x86_mem_t to, int from, unsigned bits) {
  if (bits == 16) x86_byte(x, 0x66);
  with_memory(x, bits == 64, bits == 8 ? 0x88 : 0x89, from, to, bits == 8);
}

void x86_lea(x86_t *x, int to, x86_mem_t from) { with_memory(x, true, 0x8d, to, from, false); }

void x86_prefetch(x86_t *x, x86_mem_t from, int level) {
  with_memory(x, false, 0x0f18, level, from, false);
}

void x86_alu(x86_t *x, enum x86_alu op, bool is_wide, int to, int from) {
  with_register(x, is_wide, (int)op * 8 + 3, to, from);
}

void x86_alu_constant(x86_t *x, enum x86_alu op, bool is_wide, int to, int32_t value) {
  bool is_short = value >= -128 && value <= 127;
  with_register(x, is_wide, is_short ? 0x83 : 0x81, (int)op, to);
  number(x, (uint64_t)(int64_t)value, is_short ? 1 : 4);
}

void x86_multiply(x86_t *x, bool is_wide, int to, int from) {
  with_register(x, is_wide, 0x0faf, to, from);
}

void x86_multiply_constant(x86_t *x, bool is_wide, int to, int from, int32_t value) {
  with_register(x, is_wide, 0x69, to, from);
  number(x, (uint64_t)(int64_t)value, 4);
}

void x86_divide(x86_t *x, bool is_wide, bool is_signed, int by) {
  with_register(x, is_wide, 0xf7, is_signed ? 7 : 6, by);
}

void x86_multiply_high(x86_t *x, bool is_signed, int by) {
  with_register(x, true, 0xf7, is_signed ? 5 : 4, by);
}

void x86_sign_to_dx(x86_t *x, bool is_wide) {
  if (is_wide) x86_byte(x, 0x48);
  x86_byte(x, 0x99);
}

void x86_shift(x86_t *x, enum x86_shift op, bool is_wide, int to) {
  with_register(x, is_wide, 0xd3, (int)op, to);
}

void x86_shift_constant(x86_t *x, enum x86_shift op, bool is_wide, int to, int by) {
  with_register(x, is_wide, 0xc1, (int)op, to);
  x86_byte(x, (unsigned)by);
}

/* movsxd for 32 bits with sign, mov without; movzx and movsx for 8 and 16 bits, whose opcodes
 * 0fb6, 0fb7, 0fbe, 0fbf follow from the two conditions. */
void x86_extend(x86_t *x, bool is_signed, int to, int from, unsigned bits) {
  if (bits == 32 && !is_signed) {
    with_register(x, false, 0x8b, to, from);
  } else if (bits == 32) {
    with_register(x, true, 0x63, to, from);
  } else {
    rex(x, is_signed, to, X86_NONE, from, bits == 8);
    opcode(x, 0x0fb6 + (bits == 16) + 8 * is_signed);
    modrm(x, 3, to, from);
  }
}

static void count(x86_t *x, int op, bool is_wide, int to, int from) {
  x86_byte(x, 0xf3);
  with_register(x, is_wide, op, to, from);
}

void x86_ones(x86_t *x, bool is_wide, int to, int from) { count(x, 0x0fb8, is_wide, to, from); }
void x86_leading_zeros(x86_t *x, bool is_wide, int to, int from) {
  count(x, 0x0fbd, is_wide, to, from);
}

void x86_set(x86_t *x, int condition, int to) {
  rex(x, false, X86_NONE, X86_NONE, to, true);
  opcode(x, 0x0f90 + condition);
  modrm(x, 3, 0, to);
  x86_extend(x, false, to, to, 8);
}

void x86_cmov(x86_t *x, int condition, int to, int from) {
  with_register(x, true, 0x0f40 + condition, to, from);
}
void x86_test(x86_t *x, int a, int b) { with_register(x, false, 0x85, a, b); }

void x86_jump(x86_t *x, int label) {
  x86_byte(x, 0xe9);
  distance(x, label, 0, 0);
}

void x86_jump_if(x86_t *x, int condition, int label) {
  opcode(x, 0x0f80 + condition);
  distance(x, label, 0, 0);
}

void x86_call(x86_t *x, int function) {
  x86_byte(x, 0xe8);
  PUSH(x, calls, (x86_fix_t){x->code.count, function, 0});
  number(x, 0, 4);
}

void x86_call_register(x86_t *x, int reg) { with_register(x, false, 0xff, 2, reg); }

void x86_push(x86_t *x, int reg) {
  rex(x, false, X86_NONE, X86_NONE, reg, false);
  x86_byte(x, 0x50u | (unsigned)(reg & 7));
}

void x86_pop(x86_t *x, int reg) {
  rex(x, false, X86_NONE, X86_NONE, reg, false);
  x86_byte(x, 0x58u | (unsigned)(reg & 7));
}

void x86_return(x86_t *x) { x86_byte(x, 0xc3); }

void x86_clear_uppers(x86_t *x) { x86_byte(x, 0xc5), x86_byte(x, 0xf8), x86_byte(x, 0x77); }

/* --- vectors ---------------------------------------------------------------------------------- */

static int bit(int reg, int b) { return reg != X86_NONE && reg >> b & 1; }

/* The prefix and the opcode's byte. x_bit, b_bit: the high bits of the last operand, not inverted
 * (the prefix has them inverted). */
static void prefix(x86_t *x, const x86_vector_t *how, int x_bit, int b_bit, int v_high,
                   bool broadcast) {
  if (!x->has_evex) {
    x->is_illegal |= v_high || broadcast;
    x86_vex(x, how, x_bit, b_bit);
    return;
  }
  int map = how->opcode >> 12 & 15, pp = how->opcode >> 16 & 3, wide = how->opcode >> 8 & 1;
  int from = how->from == X86_NONE ? 0 : how->from;
  x86_byte(x, 0x62);
  x86_byte(x, (unsigned)(!bit(how->to, 3) << 7 | !x_bit << 6 | !b_bit << 5 | !bit(how->to, 4) << 4 |
                         map));
  x86_byte(x, (unsigned)(wide << 7 | (~from & 15) << 3 | 1 << 2 | pp));
  x86_byte(x, (unsigned)(how->zeroes << 7 | how->width << 5 | broadcast << 4 | !v_high << 3 |
                         how->mask));
  x86_byte(x, how->opcode & 255);
}

/* Unit of short displacements, which VEX counts in bytes. */
static int unit_of(const x86_t *x, int unit) { return x->has_evex ? unit : 1; }

void x86_vector(x86_t *x, x86_vector_t how, int last) {
  x->is_illegal |= !x->has_evex && last > 15;
  prefix(x, &how, bit(last, 4), bit(last, 3), bit(how.from, 4), false);
  modrm(x, 3, how.to, last);
}

void x86_vector_memory(x86_t *x, x86_vector_t how, x86_mem_t last) {
  int index = last.is_pool ? X86_NONE : last.index;
  int base = last.is_pool ? X86_NONE : last.base;
  prefix(x, &how, high(index), high(base), bit(how.from, 4), last.broadcast != 0);
  memory(x, how.to, last, unit_of(x, last.broadcast ? last.broadcast : how.unit));
}

void x86_gather(x86_t *x, x86_vector_t how, x86_mem_t from) {
  prefix(x, &how, bit(from.index, 3), bit(from.base, 3), bit(from.index, 4), false);
  memory(x, how.to, from, unit_of(x, how.unit));
}

/* The VEX form of three bytes: c4, then ~R 1 ~B map, then W ~vvvv L pp. L marks instructions with
 * two sources; a missing first source is written as 1111. */
void x86_mask(x86_t *x, x86_mask_op_t op, int to, int from, int last) {
  x->is_illegal |= !x->has_evex;
  x86_byte(x, 0xc4);
  x86_byte(x, (unsigned)(!high(to) << 7 | 1 << 6 | !high(last) << 5 | op.map));
  x86_byte(x, (unsigned)(op.is_wide << 7 | (~(from == X86_NONE ? 0 : from) & 15) << 3 |
                         op.has_two << 2 | op.prefix));
  x86_byte(x, (unsigned)op.opcode);
  modrm(x, 3, to, last);
}

void x86_mask_shift(x86_t *x, bool is_up, int to, int from, int by) {
  const x86_mask_op_t shift = {3, 1, true, false, is_up ? 0x33 : 0x31}; /* KSHIFTLQ, KSHIFTRQ */
  x86_mask(x, shift, to, X86_NONE, from);
  x86_byte(x, (unsigned)by);
}
