/* Instruction selection of lane operations: extract, insert, splat, and shuffles of one or two
 * vectors.
 *
 * The mask of a shuffle is constant, so the cheapest instruction that implements it is chosen: a
 * move, a broadcast, an unpack, shuffles within 128-bit lanes, VALIGN for rotations, a blend under
 * a constant mask, and last VPERM or VPERMT2 with the indices from the constant pool. Unspecified
 * lanes match anything. Of these AVX2 has broadcasts and unpacks; what it has for permutations is
 * in x64_permute_avx2.c. */
#include "jit/x64/x64_isel.h"

static bool is_general(const kir_type_t *type) { return x64_class_of(type) == X64_GPR; }

/* Rotates lanes down by `by`: lanes of at least 32 bits, or a multiple of 32 bits. */
static void rotate_lanes(x64_code_t *code, const kir_type_t *type, int to, int from, unsigned by) {
  x64_emit_registers(code, X86_OP(1, 3, type->bits == 64, 0x03), x64_vector_length(code, type), to,
                     from, from);
  x86_byte(&code->x, type->bits < 32 ? by * type->bits / 32 : by);
}

/* Shifts lanes down by `by` and fills with zeros, in up to 128 bits. */
static void shift_lanes(x64_code_t *code, const kir_type_t *type, int to, int from, unsigned by) {
  x64_emit_registers(code, X86_OP(1, 1, 0, 0x73), 0, 3, to, from);
  x86_byte(&code->x, by * type->bits / 8);
}

/* Moves lanes `by` and up to lane 0; the lanes above are unspecified. */
static void move_lanes_down(x64_code_t *code, const kir_type_t *type, int to, int from,
                            unsigned by) {
  unsigned per_part = 128 / type->bits;
  if (!code->isa->has_evex && by >= per_part) { /* VEXTRACTI128 */
    x64_emit_registers(code, X86_OP(1, 3, 0, 0x39), 1, from, X86_NONE, to);
    x86_byte(&code->x, 1);
    if (by > per_part) shift_lanes(code, type, to, to, by - per_part);
    return;
  }
  if (kir_width(type) <= 128 || !code->isa->has_evex)
    shift_lanes(code, type, to, from, by);
  else if (by * type->bits % 32 == 0)
    rotate_lanes(code, type, to, from, by);
  else
    x64_unsupported(code, "such a lane");
}

/* --- one lane --------------------------------------------------------------------------------- */

static void select_bit(x64_code_t *code, kir_value_t *instr) {
  int to = x64_destination(code, instr, X86_AX), lane = (int)instr->args[1]->lanes[0];
  x86_mask(&code->x, X86_KMOV_TO_GPR, to, X86_NONE,
           x64_mask(code, instr->args[0], X64_SCRATCH_MASK));
  if (lane) x86_shift_constant(&code->x, X86_SHR, true, to, lane);
  x86_alu_constant(&code->x, X86_AND, false, to, 1);
  x64_define(code, instr, to);
}

static void select_lane_of_vector(x64_code_t *code, kir_value_t *instr) {
  const kir_type_t *type = instr->args[0]->type;
  unsigned lane = (unsigned)instr->args[1]->lanes[0];
  int from = x64_vector(code, instr->args[0], SCRATCH);
  if (lane) move_lanes_down(code, type, SCRATCH + 2, from, lane), from = SCRATCH + 2;
  if (is_general(instr->type)) {
    int to = x64_destination(code, instr, X86_AX);
    x64_emit_registers(code, X86_OP(1, 1, type->bits == 64, 0x7e), 0, from, X86_NONE, to);
    from = to;
  }
  x64_define(code, instr, from);
}

static void select_lane(x64_code_t *code, kir_value_t *instr) {
  if (!kir_is_constant(instr->args[1]))
    x64_unsupported(code, "such a lane");
  else
    (kir_is_i1(instr->type) ? select_bit : select_lane_of_vector)(code, instr);
}

/* Inserts into lane 0 of a poison vector; the other lanes are unspecified. */
static void select_first(x64_code_t *code, kir_value_t *instr) {
  kir_value_t *value = instr->args[1];
  int to;
  if (kir_is_i1(instr->type)) {
    to = x64_destination(code, instr, X64_SCRATCH_MASK);
    x86_mask(&code->x, X86_KMOV_FROM_GPR, to, X86_NONE, x64_gpr(code, value, X86_AX));
  } else if (is_general(value->type)) {
    to = x64_destination(code, instr, SCRATCH + 2);
    x64_emit_registers(code, X86_OP(1, 1, value->type->bits == 64, 0x6e), 0, to, X86_NONE,
                       x64_gpr(code, value, X86_AX));
  } else {
    to = x64_vector(code, value, SCRATCH);
  }
  x64_define(code, instr, to);
}

static void select_insertion(x64_code_t *code, kir_value_t *instr) {
  const kir_value_t *into = instr->args[0], *lane = instr->args[2];
  if (kir_is_constant(lane) && kir_is_constant(into) && into->is_poison && !lane->lanes[0])
    select_first(code, instr);
  else
    x64_unsupported(code, "such an insertion");
}

/* --- permutations ----------------------------------------------------------------------------- */

static bool is_sequence(const kir_value_t *shuffle, uint64_t first, uint64_t period) {
  for (unsigned i = 0; i < shuffle->type->lanes; i++)
    if (shuffle->lanes[i] != (first + i) % period) return false;
  return true;
}

static bool is_broadcast(const kir_value_t *shuffle) {
  for (unsigned i = 0; i < shuffle->type->lanes; i++)
    if (shuffle->lanes[i]) return false;
  return true;
}

static void select_broadcast(x64_code_t *code, kir_value_t *instr) {
  static const unsigned char opcodes[] = {0x78, 0x79, 0x58, 0x59};
  unsigned bits = instr->type->bits;
  int index = x64_log_bytes(instr->type), to;
  if (kir_is_i1(instr->type)) {
    to = x64_destination(code, instr, X64_SCRATCH_MASK);
    x86_mask(&code->x, X86_KMOV_TO_GPR, X86_AX, X86_NONE,
             x64_mask(code, instr->args[0], X64_SCRATCH_MASK));
    x86_shift_constant(&code->x, X86_SHL, true, X86_AX, 63);
    x86_shift_constant(&code->x, X86_SAR, true, X86_AX, 63);
    x86_mask(&code->x, X86_KMOV_FROM_GPR, to, X86_NONE, X86_AX);
  } else {
    to = x64_destination(code, instr, SCRATCH + 2);
    x64_emit_registers(code, X86_OP(1, 2, bits == 64, opcodes[index]),
                       x64_vector_length(code, instr->type), to, X86_NONE,
                       x64_vector(code, instr->args[0], SCRATCH));
  }
  x64_define(code, instr, to);
}

/* Does the shuffle move groups of `together` lanes as units? */
static bool moves_whole(const kir_value_t *shuffle, unsigned together) {
  unsigned lanes = shuffle->type->lanes;
  if (lanes % together || shuffle->args[0]->type->lanes % together) return false;
  for (unsigned i = 0; i < lanes; i++)
    if (shuffle->lanes[i] != shuffle->lanes[i / together * together] + i % together ||
        (i % together == 0 && shuffle->lanes[i] % together))
      return false;
  return true;
}

/* Number of lanes that move as a unit: permuting bytes as wider elements is cheaper. */
static unsigned lanes_together(const kir_value_t *shuffle) {
  unsigned together = shuffle->type->bits == 8 ? 8 : 1;
  while (together > 1 && !moves_whole(shuffle, together)) together /= 2;
  return together;
}

/* Can one instruction do the permutation? For bits there is none. */
static bool has_permute(const kir_value_t *shuffle) {
  if (shuffle->type->bits < 8) return false;
  return shuffle->type->bits > 8 || lanes_together(shuffle) > 1 ||
         x64_isa(shuffle->type->module)->permutes_bytes;
}

/* Lanes of the index vector: those of the longer of operand and result, at least those of the
 * narrowest register; extra lanes are unspecified. */
static unsigned permuted_lanes(const kir_value_t *shuffle) {
  unsigned from = shuffle->args[0]->type->lanes, to = shuffle->type->lanes,
           least = 128 / shuffle->type->bits;
  unsigned lanes = from > to ? from : to;
  return lanes > least ? lanes : least;
}

/* The permutation's indices, as a constant with elements as wide as the permuted ones. */
static kir_value_t *permute_indices(const kir_value_t *shuffle) {
  unsigned together = lanes_together(shuffle), bits = shuffle->type->bits * together;
  kir_type_t *element = kir_int_type(shuffle->type->module, bits);
  unsigned from = shuffle->args[0]->type->lanes, count = permuted_lanes(shuffle);
  uint64_t lanes[64] = {0};
  for (unsigned i = 0; i < shuffle->type->lanes; i += together)
    lanes[i / together] =
        (shuffle->lanes[i] < from ? shuffle->lanes[i] : shuffle->lanes[i] - from + count) /
        together;
  return kir_constant(kir_vector_type(element, count / together), lanes);
}

/* The PSHUFB control for bytes taken from this source; zeros elsewhere. */
static kir_value_t *pshufb_indices(const kir_value_t *shuffle, uint64_t source) {
  uint64_t lanes[16], from = shuffle->args[0]->type->lanes;
  for (unsigned i = 0; i < 16; i++) {
    bool is_here = i < shuffle->type->lanes && shuffle->lanes[i] / from == source;
    lanes[i] = is_here ? shuffle->lanes[i] % from : 0x80;
  }
  return kir_constant(kir_vector_type(shuffle->type->element, 16), lanes);
}

static void select_permute_of_bytes(x64_code_t *code, kir_value_t *instr) {
  const x86_opcode_t pshufb = X86_OP(1, 2, 0, 0x00), por = X86_OP(1, 1, 0, 0xeb);
  for (int k = 2; k-- > 0;) {
    kir_value_t *bytes = pshufb_indices(instr, (uint64_t)k);
    int from = x64_vector(code, instr->args[k], SCRATCH);
    x64_emit(code, pshufb, bytes->type, SCRATCH + 2 * k, from, bytes, SCRATCH + 1);
  }
  x64_emit_registers(code, por, 0, SCRATCH + 2, SCRATCH + 2, SCRATCH);
  x64_define(code, instr, SCRATCH + 2);
}

/* The instruction overwrites the first vector: it is moved to the result's register, unless that
 * register is also read. */
static void select_permute_of_two(x64_code_t *code, kir_value_t *instr, unsigned bits, int width,
                                  int indices) {
  const kir_value_t *second = instr->args[1];
  int to = x64_destination(code, instr, SCRATCH + 2);
  if (to == indices || (!kir_is_constant(second) && x64_interval(code, second)->reg == to))
    to = SCRATCH + 2;
  x64_move_vector(code, to, x64_vector(code, instr->args[0], SCRATCH));
  x64_emit_registers(code, X86_OP(1, 2, bits == 64 || bits == 16, bits <= 16 ? 0x7d : 0x7e), width,
                     to, indices, x64_vector(code, instr->args[1], SCRATCH));
  x64_define(code, instr, to);
}

static void select_permute_in_one(x64_code_t *code, kir_value_t *instr, const kir_type_t *type) {
  kir_value_t *indices = permute_indices(instr);
  int width = x64_vector_length(code, type), by = x64_vector(code, indices, SCRATCH + 1);
  unsigned bits = indices->type->bits;
  bool is_one = kir_is_constant(instr->args[1]) && instr->args[1]->is_poison;
  if (!is_one || !width || bits < 32) {
    select_permute_of_two(code, instr, bits, width, by);
    return;
  }
  int to = x64_destination(code, instr, SCRATCH + 2);
  x64_emit_registers(code, X86_OP(1, 2, bits == 64, 0x16), width, to, by,
                     x64_vector(code, instr->args[0], SCRATCH));
  x64_define(code, instr, to);
}

static void select_permute(x64_code_t *code, kir_value_t *instr) {
  if (!code->isa->has_evex) {
    x64_permute(code, instr);
    return;
  }
  const kir_type_t *type =
      instr->args[0]->type->lanes > instr->type->lanes ? instr->args[0]->type : instr->type;
  bool is_one = has_permute(instr);
  if (kir_width(type) > (is_one ? 512 : 128))
    x64_unsupported(code, "such a permutation");
  else if (is_one)
    select_permute_in_one(code, instr, type);
  else
    select_permute_of_bytes(code, instr);
}

/* PUNPCKL, PUNPCKH: interleave lanes from the lower or upper half of each 128 bits of two
 * vectors. */
static x86_opcode_t unpack_opcode(unsigned bits, bool is_upper) {
  unsigned byte = bits == 64 ? 0x6c + is_upper
                             : (bits == 32   ? 0x62
                                : bits == 16 ? 0x61
                                             : 0x60) +
                                   8 * is_upper;
  return X86_OP(1, 1, bits == 64, byte);
}

/* Concatenates two vectors. */
static void select_concat(x64_code_t *code, kir_value_t *instr) {
  const kir_type_t *half = instr->args[0]->type;
  int to = x64_destination(code, instr, SCRATCH + 2),
      low = x64_vector(code, instr->args[0], SCRATCH);
  int high = x64_vector(code, instr->args[1], SCRATCH + 1),
      width = x64_vector_length(code, instr->type);
  unsigned bits = kir_width(half);
  if (bits <= 64) { /* halves of at most 64 bits are interleaved */
    x64_emit_registers(code, unpack_opcode(bits, false), 0, to, low, high);
  } else {
    x64_emit_registers(code, X86_OP(1, 3, bits == 256, bits == 256 ? 0x1a : 0x18), width, to, low,
                       high);
    x86_byte(&code->x, 1);
  }
  x64_define(code, instr, to);
}

/* --- parts of 128 bits ------------------------------------------------------------------------ */

static unsigned lanes_of_128_bits(const kir_value_t *shuffle) { return 128 / shuffle->type->bits; }

static bool has_128_bit_parts(const kir_value_t *shuffle, unsigned least_bits) {
  const kir_type_t *type = shuffle->type;
  return type->lanes == shuffle->args[0]->type->lanes && kir_width(type) >= least_bits &&
         type->bits <= 64 && kir_width(type) <= 512;
}

/* Are the lower (half 0) or upper (half 1) lanes of both operands interleaved within each 128
 * bits? */
static bool unpacks(const kir_value_t *shuffle, unsigned half) {
  unsigned part = lanes_of_128_bits(shuffle), lanes = shuffle->type->lanes;
  for (unsigned i = 0; i < lanes; i++) {
    unsigned from = i / part * part + i % part / 2 + half * part / 2;
    if (shuffle->lanes[i] != from + (i & 1 ? lanes : 0)) return false;
  }
  return true;
}

static bool is_unpack(const kir_value_t *shuffle) {
  return has_128_bit_parts(shuffle, 128) && (unpacks(shuffle, 0) || unpacks(shuffle, 1));
}

/* Are 128-bit parts moved as units, from the first vector to the lower half and from the second to
 * the upper half? */
static bool is_shuffle_128(const kir_value_t *shuffle) {
  if (!has_128_bit_parts(shuffle, 256) || !moves_whole(shuffle, lanes_of_128_bits(shuffle)))
    return false;
  for (unsigned i = 0; i < shuffle->type->lanes; i++)
    if ((shuffle->lanes[i] >= shuffle->type->lanes) != (i >= shuffle->type->lanes / 2))
      return false;
  return true;
}

static void select_two_sources(x64_code_t *code, kir_value_t *instr, x86_opcode_t opcode) {
  int to = x64_destination(code, instr, SCRATCH + 2),
      low = x64_vector(code, instr->args[0], SCRATCH);
  x64_emit_registers(code, opcode, x64_vector_length(code, instr->type), to, low,
                     x64_vector(code, instr->args[1], SCRATCH + 1));
  x64_define(code, instr, to);
}

static void select_shuffle_128(x64_code_t *code, kir_value_t *instr) {
  unsigned part = lanes_of_128_bits(instr), count = instr->type->lanes / part, indices = 0;
  for (unsigned q = 0; q < count; q++)
    indices |= (unsigned)(instr->lanes[q * part] / part % count) << (count == 4 ? 2 : 1) * q;
  int to = x64_destination(code, instr, SCRATCH + 2),
      low = x64_vector(code, instr->args[0], SCRATCH);
  int high = x64_vector(code, instr->args[1], SCRATCH + 1);
  x64_emit_registers(code, X86_OP(1, 3, 0, 0x43), x64_vector_length(code, instr->type), to, low,
                     high);
  x86_byte(&code->x, indices);
  x64_define(code, instr, to);
}

typedef enum shuffle {
  IS_BROADCAST,
  IS_SUBVECTOR,
  IS_CONCAT,
  IS_UNPACK,
  IS_SHUFFLE_128,
  IS_PERMUTE
} shuffle_t;

/* Can the shuffle's subvector be moved down to lane 0? */
static bool can_move_down(const kir_value_t *instr) {
  const kir_type_t *from = instr->args[0]->type;
  uint64_t first = instr->lanes[0];
  bool wraps = first + instr->type->lanes > from->lanes;
  if (!first || kir_is_i1(from) || (kir_width(from) <= 128 && !wraps)) return true;
  if (!x64_isa(from->module)->has_evex) return first * from->bits == 128 && !wraps;
  return kir_width(from) >= 128 && first * from->bits % 32 == 0;
}

static shuffle_t kind_of(const kir_value_t *instr) {
  const kir_type_t *from = instr->args[0]->type;
  unsigned lanes = instr->type->lanes;
  if (is_broadcast(instr)) return IS_BROADCAST;
  if (lanes <= from->lanes && is_sequence(instr, instr->lanes[0], from->lanes) &&
      can_move_down(instr))
    return IS_SUBVECTOR;
  if (lanes == 2 * from->lanes && is_sequence(instr, 0, lanes)) return IS_CONCAT;
  if (kir_is_i1(from)) return IS_PERMUTE;
  if (is_unpack(instr)) return IS_UNPACK;
  return x64_isa(from->module)->has_evex && is_shuffle_128(instr) ? IS_SHUFFLE_128 : IS_PERMUTE;
}

bool x64_has_shuffle(kir_value_t *x, kir_value_t *y, const kir_value_t *mask) {
  kir_value_t *args[] = {x, y};
  const kir_value_t shuffle = {.op = KIR_SHUFFLE,
                               .type = kir_vector_type(x->type->element, mask->type->lanes),
                               .args = args,
                               .lanes = mask->lanes};
  bool is_short = kir_width(x->type) <= 128 && kir_width(shuffle.type) <= 128;
  return is_short || kind_of(&shuffle) != IS_PERMUTE || has_permute(&shuffle);
}

static void select_subvector(x64_code_t *code, kir_value_t *instr) {
  const kir_type_t *from = instr->args[0]->type;
  int value = x64_vector(code, instr->args[0], SCRATCH);
  unsigned first = (unsigned)instr->lanes[0];
  bool wraps = first + instr->type->lanes > from->lanes;
  if (first)
    (wraps ? rotate_lanes : move_lanes_down)(code, from, SCRATCH + 2, value, first),
        value = SCRATCH + 2;
  x64_define(code, instr, value);
}

/* Mask bits from lane `first` up, rotated if they extend beyond the last lane. */
static void select_subvector_of_bits(x64_code_t *code, kir_value_t *instr) {
  unsigned all = instr->args[0]->type->lanes, first = (unsigned)instr->lanes[0];
  int from = x64_mask(code, instr->args[0], X64_SCRATCH_MASK);
  if (first) {
    x86_mask_shift(&code->x, true, 0, from, (int)(all - first));
    x86_mask_shift(&code->x, false, X64_SCRATCH_MASK, from, (int)first);
    if (first + instr->type->lanes > all)
      x86_mask(&code->x, X86_KOR, X64_SCRATCH_MASK, X64_SCRATCH_MASK, 0);
    from = X64_SCRATCH_MASK;
  }
  x64_define(code, instr, from);
}

static void select_concat_of_bits(x64_code_t *code, kir_value_t *instr) {
  unsigned half = instr->args[0]->type->lanes;
  int up = 64 - (int)half;
  x86_mask_shift(&code->x, true, 0, x64_mask(code, instr->args[0], 0), up);
  x86_mask_shift(&code->x, false, 0, 0, up);
  x86_mask_shift(&code->x, true, X64_SCRATCH_MASK, x64_mask(code, instr->args[1], X64_SCRATCH_MASK),
                 (int)half);
  x86_mask(&code->x, X86_KOR, X64_SCRATCH_MASK, X64_SCRATCH_MASK, 0);
  x64_define(code, instr, X64_SCRATCH_MASK);
}

static void select_shuffle_of_bits(x64_code_t *code, kir_value_t *instr) {
  switch (kind_of(instr)) {
    case IS_BROADCAST:
      select_broadcast(code, instr);
      return;
    case IS_SUBVECTOR:
      select_subvector_of_bits(code, instr);
      return;
    case IS_CONCAT:
      select_concat_of_bits(code, instr);
      return;
    default:
      x64_unsupported(code, "a permutation of bits");
  }
}

static void select_shuffle(x64_code_t *code, kir_value_t *instr) {
  switch (kind_of(instr)) {
    case IS_BROADCAST:
      select_broadcast(code, instr);
      return;
    case IS_SUBVECTOR:
      select_subvector(code, instr);
      return;
    case IS_CONCAT:
      select_concat(code, instr);
      return;
    case IS_UNPACK:
      select_two_sources(code, instr, unpack_opcode(instr->type->bits, unpacks(instr, 1)));
      return;
    case IS_SHUFFLE_128:
      select_shuffle_128(code, instr);
      return;
    default:
      select_permute(code, instr);
  }
}

kir_value_t *x64_constant_operand(const kir_value_t *instr, int k) {
  kir_value_t *value = instr->args[k];
  if (instr->op == KIR_SHUFFLE && k == 2)
    return x64_isa(value->type->module)->has_evex && kind_of(instr) == IS_PERMUTE &&
                   has_permute(instr)
               ? permute_indices(instr)
               : NULL;
  if (!kir_is_constant(value) || value->is_poison || x64_class_of(value->type) != X64_VECTOR)
    return NULL;
  bool is_filler = (instr->op == KIR_MASKED_LOAD || instr->op == KIR_GATHER) && k == 3;
  bool is_rest = (instr->op >= KIR_RANGE_PS && instr->op <= KIR_SCALEF_PD && k > 1) ||
                 (instr->op >= KIR_RSQRT14_PS && k > 0);
  return instr->op == KIR_PHI || instr->op == KIR_CALL || is_filler || is_rest ||
                 kir_width(value->type) > (unsigned)x64_isa(value->type->module)->vector_bits
             ? NULL
             : value;
}

bool x64_select_shuffle(x64_code_t *code, kir_value_t *instr) {
  switch (instr->op) {
    case KIR_EXTRACT:
      select_lane(code, instr);
      return true;
    case KIR_INSERT:
      select_insertion(code, instr);
      return true;
    case KIR_SHUFFLE:
      (kir_is_i1(instr->type) ? select_shuffle_of_bits : select_shuffle)(code, instr);
      return true;
    default:
      return false;
  }
}
