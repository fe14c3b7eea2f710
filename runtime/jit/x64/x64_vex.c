/* VEX prefixes, the encoding of vector instructions before AVX-512, and the list of opcodes that
 * the back end may use with it.
 *
 *     c5  ~R ~vvvv L pp                    map 0F, W 0, low registers in the memory operand
 *     c4  ~R ~X ~B map  W ~vvvv L pp
 *
 * EVEX has a W for the element size of instructions where VEX ignores it or demands 0, so that it
 * is passed on only for the opcodes whose VEX form needs it. An opcode that is not listed, a
 * register above 15, a write mask, a broadcast or 512 bits mark the function (x86_t.is_illegal):
 * none of it may reach a processor without AVX-512. Source: Intel SDM volume 2, chapter 2.3 and
 * the opcode tables. */
#include "jit/x64/x64_encode.h"

/* Prefixes with which an opcode has a VEX form: none, 66, F3, F2. */
enum { P0 = 1, P1 = 2, P2 = 4, P3 = 8, PACKED = P0 | P1, FLOATS = P0 | P1 | P2 | P3 };
enum {
  WITH_W = 16, /* W is part of the opcode */
  ONLY_W0 = 32 /* W 1 is another instruction, which only EVEX has */
};

/* By map (0F, 0F38, 0F3A) and byte; 0: there is no VEX form, or the back end does not use it. */
static const unsigned char vex_forms[4][256] = {
    [1] = {[0x10] = FLOATS,
           [0x11] = FLOATS,
           [0x2a] = P2 | P3 | WITH_W,
           [0x2b] = P0,
           [0x2c] = P2 | P3 | WITH_W,
           [0x2e] = PACKED,
           [0x50] = PACKED,
           [0x51] = FLOATS,
           [0x58] = FLOATS,
           [0x59] = FLOATS,
           [0x5a] = FLOATS,
           [0x5b] = P0 | P2 | ONLY_W0,
           [0x5c] = FLOATS,
           [0x5d] = FLOATS,
           [0x5e] = FLOATS,
           [0x5f] = FLOATS,
           [0x60] = P1,
           [0x61] = P1,
           [0x62] = P1,
           [0x63] = P1,
           [0x64] = P1,
           [0x65] = P1,
           [0x66] = P1,
           [0x68] = P1,
           [0x69] = P1,
           [0x6a] = P1,
           [0x6b] = P1,
           [0x6c] = P1,
           [0x6d] = P1,
           [0x6e] = P1 | WITH_W,
           [0x70] = P1,
           [0x71] = P1,
           [0x72] = P1,
           [0x73] = P1,
           [0x74] = P1,
           [0x75] = P1,
           [0x76] = P1,
           [0x7e] = P1 | P2 | WITH_W,
           [0xc2] = FLOATS,
           [0xc4] = P1,
           [0xc6] = PACKED,
           [0xd4] = P1,
           [0xd5] = P1,
           [0xd7] = P1,
           [0xda] = P1,
           [0xdb] = P1,
           [0xde] = P1,
           [0xdf] = P1,
           [0xe6] = P1 | P2,
           [0xea] = P1,
           [0xeb] = P1,
           [0xee] = P1,
           [0xef] = P1,
           [0xf4] = P1,
           [0xf8] = P1,
           [0xf9] = P1,
           [0xfa] = P1,
           [0xfb] = P1,
           [0xfc] = P1,
           [0xfd] = P1,
           [0xfe] = P1},
    [2] = {[0x00] = P1,           [0x13] = P1,           [0x16] = P1 | ONLY_W0,
           [0x17] = P1,           [0x18] = P1,           [0x19] = P1,
           [0x20] = P1,           [0x21] = P1,           [0x22] = P1,
           [0x23] = P1,           [0x24] = P1,           [0x25] = P1,
           [0x29] = P1,           [0x2b] = P1,           [0x30] = P1,
           [0x31] = P1,           [0x32] = P1,           [0x33] = P1,
           [0x34] = P1,           [0x35] = P1,           [0x36] = P1 | ONLY_W0,
           [0x37] = P1,           [0x38] = P1,           [0x39] = P1 | ONLY_W0,
           [0x3a] = P1,           [0x3b] = P1 | ONLY_W0, [0x3c] = P1,
           [0x3d] = P1 | ONLY_W0, [0x3e] = P1,           [0x3f] = P1 | ONLY_W0,
           [0x40] = P1 | ONLY_W0, [0x45] = P1 | WITH_W,  [0x46] = P1 | ONLY_W0,
           [0x47] = P1 | WITH_W,  [0x58] = P1,           [0x59] = P1,
           [0x78] = P1,           [0x79] = P1,           [0x8c] = P1 | WITH_W,
           [0x8e] = P1 | WITH_W,  [0x90] = P1 | WITH_W,  [0x91] = P1 | WITH_W,
           [0xa8] = P1 | WITH_W,  [0xa9] = P1 | WITH_W,  [0xb8] = P1 | WITH_W,
           [0xb9] = P1 | WITH_W},
    [3] = {
        [0x00] = P1 | WITH_W, [0x02] = P1,          [0x08] = P1,          [0x09] = P1, [0x0a] = P1,
        [0x0b] = P1,          [0x0c] = P1,          [0x0d] = P1,          [0x0e] = P1, [0x0f] = P1,
        [0x14] = P1,          [0x15] = P1,          [0x16] = P1 | WITH_W, [0x18] = P1, [0x1d] = P1,
        [0x20] = P1,          [0x22] = P1 | WITH_W, [0x38] = P1,          [0x39] = P1, [0x46] = P1,
        [0x4a] = P1,          [0x4b] = P1,          [0x4c] = P1}};

void x86_vex(x86_t *x, const x86_vector_t *how, bool x_bit, bool b_bit) {
  int map = how->opcode >> 12 & 15, prefix = how->opcode >> 16 & 3;
  int from = how->from == X86_NONE ? 0 : how->from;
  bool is_w = how->opcode >> 8 & 1;
  unsigned form = vex_forms[map & 3][how->opcode & 255];
  if (!(form >> prefix & 1) || (is_w && form & ONLY_W0) || how->mask || how->width > 1 ||
      how->to > 15 || from > 15)
    x->is_illegal = true;
  is_w &= (form & WITH_W) != 0;
  unsigned last = (unsigned)((~from & 15) << 3 | how->width << 2 | prefix);
  bool r_bit = how->to >> 3 & 1;
  if (map == 1 && !x_bit && !b_bit && !is_w) {
    x86_byte(x, 0xc5);
    x86_byte(x, (unsigned)!r_bit << 7 | last);
  } else {
    x86_byte(x, 0xc4);
    x86_byte(x, (unsigned)(!r_bit << 7 | !x_bit << 6 | !b_bit << 5 | map));
    x86_byte(x, (unsigned)is_w << 7 | last);
  }
  x86_byte(x, how->opcode & 255);
}
