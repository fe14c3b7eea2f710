/* Lanes of vectors: one of them, all the same, in another order. */
#include "jit/x64/x64_isel.h"

#define SCRATCH X64_SCRATCH_VECTOR

static bool is_general(const kir_type_t *type) { return x64_class_of(type) == X64_GPR; }

/* Lanes by so many further down, those of the other end after them: of at least 32 bits, or as the same number of
 * those. */
static void turn(x64_code_t *code, const kir_type_t *type, int to, int from, unsigned by) {
  x64_emit_registers(code, X86_OP(1, 3, type->bits == 64, 0x03), x64_vector_length(code, type), to, from, from);
  x86_byte(&code->x, type->bits < 32 ? by * type->bits / 32 : by);
}

/* Of up to 128 bits: lanes by so many further down, and zeros after them. */
static void shift_down(x64_code_t *code, const kir_type_t *type, int to, int from, unsigned by) {
  x64_emit_registers(code, X86_OP(1, 1, 0, 0x73), 0, 3, to, from);
  x86_byte(&code->x, by * type->bits / 8);
}

/* The lanes from one on come first; what follows the last one is anything. */
static void lower(x64_code_t *code, const kir_type_t *type, int to, int from, unsigned by) {
  if (kir_width(type) <= 128)
    shift_down(code, type, to, from, by);
  else if (by * type->bits % 32 == 0)
    turn(code, type, to, from, by);
  else
    x64_unsupported(code, "such a lane");
}

/* --- one lane ---------------------------------------------------------------------------------------------------- */

static void select_bit(x64_code_t *code, kir_value_t *instr) {
  int to = x64_destination(code, instr, X86_AX), lane = (int)instr->args[1]->lanes[0];
  x86_mask(&code->x, 3, true, false, 0x93, to, X86_NONE, x64_mask(code, instr->args[0], X64_SCRATCH_MASK));
  if (lane) x86_shift_constant(&code->x, X86_SHR, true, to, lane);
  x86_alu_constant(&code->x, X86_AND, false, to, 1);
  x64_define(code, instr, to);
}

static void select_lane_of_vector(x64_code_t *code, kir_value_t *instr) {
  const kir_type_t *type = instr->args[0]->type;
  unsigned lane = (unsigned)instr->args[1]->lanes[0];
  int from = x64_vector(code, instr->args[0], SCRATCH);
  if (lane) lower(code, type, SCRATCH + 2, from, lane), from = SCRATCH + 2;
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

/* Into the first lane of what is nothing else yet: the others may be anything. */
static void select_first(x64_code_t *code, kir_value_t *instr) {
  kir_value_t *value = instr->args[1];
  int to;
  if (kir_is_i1(instr->type)) {
    to = x64_destination(code, instr, X64_SCRATCH_MASK);
    x86_mask(&code->x, 3, true, false, 0x92, to, X86_NONE, x64_gpr(code, value, X86_AX));
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

/* --- orders ------------------------------------------------------------------------------------------------------ */

static bool is_run(const kir_value_t *shuffle, uint64_t first, uint64_t period) {
  for (unsigned i = 0; i < shuffle->type->lanes; i++)
    if (shuffle->lanes[i] != (first + i) % period) return false;
  return true;
}

static bool is_all_first(const kir_value_t *shuffle) {
  for (unsigned i = 0; i < shuffle->type->lanes; i++)
    if (shuffle->lanes[i]) return false;
  return true;
}

static void select_splat(x64_code_t *code, kir_value_t *instr) {
  static const unsigned char opcodes[] = {0x78, 0x79, 0x58, 0x59};
  unsigned bits = instr->type->bits;
  int index = bits == 64 ? 3 : bits == 32 ? 2 : bits == 16, to;
  if (kir_is_i1(instr->type)) {
    to = x64_destination(code, instr, X64_SCRATCH_MASK);
    x86_mask(&code->x, 3, true, false, 0x93, X86_AX, X86_NONE, x64_mask(code, instr->args[0], X64_SCRATCH_MASK));
    x86_shift_constant(&code->x, X86_SHL, true, X86_AX, 63);
    x86_shift_constant(&code->x, X86_SAR, true, X86_AX, 63);
    x86_mask(&code->x, 3, true, false, 0x92, to, X86_NONE, X86_AX);
  } else {
    to = x64_destination(code, instr, SCRATCH + 2);
    x64_emit_registers(code, X86_OP(1, 2, bits == 64, opcodes[index]), x64_vector_length(code, instr->type), to, X86_NONE,
                       x64_vector(code, instr->args[0], SCRATCH));
  }
  x64_define(code, instr, to);
}

/* Does the shuffle move elements of so many of its lanes whole? */
static bool moves_whole(const kir_value_t *shuffle, unsigned together) {
  unsigned lanes = shuffle->type->lanes;
  if (lanes % together || shuffle->args[0]->type->lanes % together) return false;
  for (unsigned i = 0; i < lanes; i++)
    if (shuffle->lanes[i] != shuffle->lanes[i / together * together] + i % together ||
        (i % together == 0 && shuffle->lanes[i] % together))
      return false;
  return true;
}

/* Lanes that move as one, so that an order of bytes is one of something wider, which costs less. */
static unsigned lanes_together(const kir_value_t *shuffle) {
  unsigned together = shuffle->type->bits == 8 ? 8 : 1;
  while (together > 1 && !moves_whole(shuffle, together)) together /= 2;
  return together;
}

/* Is there one instruction for the order? There is none for bits. */
static bool is_one_order(const kir_value_t *shuffle) {
  if (shuffle->type->bits < 8) return false;
  return shuffle->type->bits > 8 || lanes_together(shuffle) > 1 || x64_permutes_bytes();
}

/* Lanes that an order is written with: those of the wider side or of the narrowest registers, whose others may be
 * anything. */
static unsigned lanes_ordered(const kir_value_t *shuffle) {
  unsigned from = shuffle->args[0]->type->lanes, to = shuffle->type->lanes, least = 128 / shuffle->type->bits;
  unsigned lanes = from > to ? from : to;
  return lanes > least ? lanes : least;
}

/* The order as a constant of elements as wide as those that it orders. */
static kir_value_t *order_of(const kir_value_t *shuffle) {
  unsigned together = lanes_together(shuffle), bits = shuffle->type->bits * together;
  kir_type_t *element = kir_int_type(shuffle->type->module, bits);
  unsigned from = shuffle->args[0]->type->lanes, count = lanes_ordered(shuffle);
  uint64_t lanes[64] = {0};
  for (unsigned i = 0; i < shuffle->type->lanes; i += together)
    lanes[i / together] = (shuffle->lanes[i] < from ? shuffle->lanes[i] : shuffle->lanes[i] - from + count) / together;
  return kir_constant(kir_vector_type(element, count / together), lanes);
}

/* As a constant for pshufb: where bytes of this source go, zeros elsewhere. */
static kir_value_t *bytes_of(const kir_value_t *shuffle, uint64_t source) {
  uint64_t lanes[16], from = shuffle->args[0]->type->lanes;
  for (unsigned i = 0; i < 16; i++) {
    bool is_here = i < shuffle->type->lanes && shuffle->lanes[i] / from == source;
    lanes[i] = is_here ? shuffle->lanes[i] % from : 0x80;
  }
  return kir_constant(kir_vector_type(shuffle->type->element, 16), lanes);
}

static void select_order_of_bytes(x64_code_t *code, kir_value_t *instr) {
  const x86_opcode_t pshufb = X86_OP(1, 2, 0, 0x00), por = X86_OP(1, 1, 0, 0xeb);
  for (int k = 2; k-- > 0;) {
    kir_value_t *bytes = bytes_of(instr, (uint64_t)k);
    int from = x64_vector(code, instr->args[k], SCRATCH);
    x64_emit(code, pshufb, bytes->type, SCRATCH + 2 * !k, from, bytes, SCRATCH + 1);
  }
  x64_emit_registers(code, por, 0, SCRATCH + 2, SCRATCH + 2, SCRATCH);
  x64_define(code, instr, SCRATCH + 2);
}

/* The instruction writes where the first vector is: in the result's place, unless that is read, too. */
static void select_order_of_two(x64_code_t *code, kir_value_t *instr, unsigned bits, int width, int order) {
  const kir_value_t *second = instr->args[1];
  int to = x64_destination(code, instr, SCRATCH + 2);
  if (to == order || (!kir_is_constant(second) && x64_interval(code, second)->reg == to)) to = SCRATCH + 2;
  x64_move_vector(code, to, x64_vector(code, instr->args[0], SCRATCH));
  x64_emit_registers(code, X86_OP(1, 2, bits == 64 || bits == 16, bits <= 16 ? 0x7d : 0x7e), width, to, order,
                     x64_vector(code, instr->args[1], SCRATCH));
  x64_define(code, instr, to);
}

static void select_order_in_one(x64_code_t *code, kir_value_t *instr, const kir_type_t *type) {
  kir_value_t *order = order_of(instr);
  int width = x64_vector_length(code, type), by = x64_vector(code, order, SCRATCH + 1);
  unsigned bits = order->type->bits;
  bool is_one = kir_is_constant(instr->args[1]) && instr->args[1]->is_poison;
  if (!is_one || !width || bits < 32) {
    select_order_of_two(code, instr, bits, width, by);
    return;
  }
  int to = x64_destination(code, instr, SCRATCH + 2);
  x64_emit_registers(code, X86_OP(1, 2, bits == 64, 0x16), width, to, by, x64_vector(code, instr->args[0], SCRATCH));
  x64_define(code, instr, to);
}

static void select_order(x64_code_t *code, kir_value_t *instr) {
  const kir_type_t *type = instr->args[0]->type->lanes > instr->type->lanes ? instr->args[0]->type : instr->type;
  bool is_one = is_one_order(instr);
  if (kir_width(type) > (is_one ? 512 : 128))
    x64_unsupported(code, "such an order");
  else if (is_one)
    select_order_in_one(code, instr, type);
  else
    select_order_of_bytes(code, instr);
}

/* Lanes of two in turn, of the lower or the upper half of each 128 bits. */
static x86_opcode_t weaving(unsigned bits, bool is_upper) {
  unsigned byte = bits == 64 ? 0x6c + is_upper : (bits == 32 ? 0x62 : bits == 16 ? 0x61 : 0x60) + 8 * is_upper;
  return X86_OP(1, 1, bits == 64, byte);
}

/* Two vectors one behind the other. */
static void select_join(x64_code_t *code, kir_value_t *instr) {
  const kir_type_t *half = instr->args[0]->type;
  int to = x64_destination(code, instr, SCRATCH + 2), low = x64_vector(code, instr->args[0], SCRATCH);
  int high = x64_vector(code, instr->args[1], SCRATCH + 1), width = x64_vector_length(code, instr->type);
  unsigned bits = kir_width(half);
  if (bits <= 64) { /* halves in turn, of which there is one */
    x64_emit_registers(code, weaving(bits, false), 0, to, low, high);
  } else {
    x64_emit_registers(code, X86_OP(1, 3, bits == 256, bits == 256 ? 0x1a : 0x18), width, to, low, high);
    x86_byte(&code->x, 1);
  }
  x64_define(code, instr, to);
}

/* --- whole runs of 128 bits, and within them --------------------------------------------------------------------- */

static unsigned lanes_of_run(const kir_value_t *shuffle) { return 128 / shuffle->type->bits; }

static bool has_runs(const kir_value_t *shuffle, unsigned least_bits) {
  const kir_type_t *type = shuffle->type;
  return type->lanes == shuffle->args[0]->type->lanes && kir_width(type) >= least_bits && type->bits <= 64 &&
         kir_width(type) <= 512;
}

/* In each run, are they the lower (half 0) or upper (1) half's lanes of both in turn? */
static bool weaves(const kir_value_t *shuffle, unsigned half) {
  unsigned run = lanes_of_run(shuffle), lanes = shuffle->type->lanes;
  for (unsigned i = 0; i < lanes; i++) {
    unsigned from = i / run * run + i % run / 2 + half * run / 2;
    if (shuffle->lanes[i] != from + (i & 1 ? lanes : 0)) return false;
  }
  return true;
}

static bool is_woven(const kir_value_t *shuffle) {
  return has_runs(shuffle, 128) && (weaves(shuffle, 0) || weaves(shuffle, 1));
}

/* The lower half runs of the first vector, the upper half of the second. */
static bool is_of_runs(const kir_value_t *shuffle) {
  if (!has_runs(shuffle, 256) || !moves_whole(shuffle, lanes_of_run(shuffle))) return false;
  for (unsigned i = 0; i < shuffle->type->lanes; i++)
    if ((shuffle->lanes[i] >= shuffle->type->lanes) != (i >= shuffle->type->lanes / 2)) return false;
  return true;
}

static void select_in_three(x64_code_t *code, kir_value_t *instr, x86_opcode_t opcode) {
  int to = x64_destination(code, instr, SCRATCH + 2), low = x64_vector(code, instr->args[0], SCRATCH);
  x64_emit_registers(code, opcode, x64_vector_length(code, instr->type), to, low,
                     x64_vector(code, instr->args[1], SCRATCH + 1));
  x64_define(code, instr, to);
}

static void select_runs(x64_code_t *code, kir_value_t *instr) {
  unsigned run = lanes_of_run(instr), count = instr->type->lanes / run, order = 0;
  for (unsigned q = 0; q < count; q++)
    order |= (unsigned)(instr->lanes[q * run] / run % count) << (count == 4 ? 2 : 1) * q;
  int to = x64_destination(code, instr, SCRATCH + 2), low = x64_vector(code, instr->args[0], SCRATCH);
  int high = x64_vector(code, instr->args[1], SCRATCH + 1);
  x64_emit_registers(code, X86_OP(1, 3, 0, 0x43), x64_vector_length(code, instr->type), to, low, high);
  x86_byte(&code->x, order);
  x64_define(code, instr, to);
}

typedef enum shuffle { IS_SPLAT, IS_PART, IS_JOIN, IS_WOVEN, IS_OF_RUNS, IS_ORDER } shuffle_t;

/* Can lanes that a shuffle takes from one of its first argument on be lowered? */
static bool can_lower(const kir_value_t *instr) {
  const kir_type_t *from = instr->args[0]->type;
  uint64_t first = instr->lanes[0];
  bool turns = first + instr->type->lanes > from->lanes;
  if (!first || kir_is_i1(from) || (kir_width(from) <= 128 && !turns)) return true;
  return kir_width(from) >= 128 && first * from->bits % 32 == 0;
}

static shuffle_t kind_of(const kir_value_t *instr) {
  const kir_type_t *from = instr->args[0]->type;
  unsigned lanes = instr->type->lanes;
  if (is_all_first(instr)) return IS_SPLAT;
  if (lanes <= from->lanes && is_run(instr, instr->lanes[0], from->lanes) && can_lower(instr)) return IS_PART;
  if (lanes == 2 * from->lanes && is_run(instr, 0, lanes)) return IS_JOIN;
  if (kir_is_i1(from)) return IS_ORDER;
  return is_woven(instr) ? IS_WOVEN : is_of_runs(instr) ? IS_OF_RUNS : IS_ORDER;
}

static void select_part(x64_code_t *code, kir_value_t *instr) {
  const kir_type_t *from = instr->args[0]->type;
  int value = x64_vector(code, instr->args[0], SCRATCH);
  unsigned first = (unsigned)instr->lanes[0];
  bool turns = first + instr->type->lanes > from->lanes;
  if (first) (turns ? turn : lower)(code, from, SCRATCH + 2, value, first), value = SCRATCH + 2;
  x64_define(code, instr, value);
}

/* Bits from one on, those before it after them. */
static void select_part_of_bits(x64_code_t *code, kir_value_t *instr) {
  unsigned all = instr->args[0]->type->lanes, first = (unsigned)instr->lanes[0];
  int from = x64_mask(code, instr->args[0], X64_SCRATCH_MASK);
  if (first) {
    x86_mask_shift(&code->x, true, 0, from, (int)(all - first));
    x86_mask_shift(&code->x, false, X64_SCRATCH_MASK, from, (int)first);
    if (first + instr->type->lanes > all)
      x86_mask(&code->x, 0, true, true, 0x45, X64_SCRATCH_MASK, X64_SCRATCH_MASK, 0);
    from = X64_SCRATCH_MASK;
  }
  x64_define(code, instr, from);
}

static void select_join_of_bits(x64_code_t *code, kir_value_t *instr) {
  unsigned half = instr->args[0]->type->lanes;
  int up = 64 - (int)half;
  x86_mask_shift(&code->x, true, 0, x64_mask(code, instr->args[0], 0), up);
  x86_mask_shift(&code->x, false, 0, 0, up);
  x86_mask_shift(&code->x, true, X64_SCRATCH_MASK, x64_mask(code, instr->args[1], X64_SCRATCH_MASK), (int)half);
  x86_mask(&code->x, 0, true, true, 0x45, X64_SCRATCH_MASK, X64_SCRATCH_MASK, 0);
  x64_define(code, instr, X64_SCRATCH_MASK);
}

static void select_shuffle_of_bits(x64_code_t *code, kir_value_t *instr) {
  switch (kind_of(instr)) {
    case IS_SPLAT: select_splat(code, instr); return;
    case IS_PART: select_part_of_bits(code, instr); return;
    case IS_JOIN: select_join_of_bits(code, instr); return;
    default: x64_unsupported(code, "an order of bits");
  }
}

static void select_shuffle(x64_code_t *code, kir_value_t *instr) {
  switch (kind_of(instr)) {
    case IS_SPLAT: select_splat(code, instr); return;
    case IS_PART: select_part(code, instr); return;
    case IS_JOIN: select_join(code, instr); return;
    case IS_WOVEN: select_in_three(code, instr, weaving(instr->type->bits, weaves(instr, 1))); return;
    case IS_OF_RUNS: select_runs(code, instr); return;
    default: select_order(code, instr);
  }
}

kir_value_t *x64_constant_operand(const kir_value_t *instr, int k) {
  kir_value_t *value = instr->args[k];
  if (instr->op == KIR_SHUFFLE && k == 2)
    return kind_of(instr) == IS_ORDER && is_one_order(instr) ? order_of(instr) : NULL;
  if (!kir_is_constant(value) || value->is_poison || x64_class_of(value->type) != X64_VECTOR) return NULL;
  bool is_filler = (instr->op == KIR_MASKED_LOAD || instr->op == KIR_GATHER) && k == 3;
  bool is_rest =
      (instr->op >= KIR_RANGE_PS && instr->op <= KIR_SCALEF_PD && k > 1) || (instr->op >= KIR_RSQRT14_PS && k > 0);
  return instr->op == KIR_PHI || instr->op == KIR_CALL || is_filler || is_rest || kir_width(value->type) > 512 ? NULL
                                                                                                               : value;
}

bool x64_select_shuffle(x64_code_t *code, kir_value_t *instr) {
  switch (instr->op) {
    case KIR_EXTRACT: select_lane(code, instr); return true;
    case KIR_INSERT: select_insertion(code, instr); return true;
    case KIR_SHUFFLE: (kir_is_i1(instr->type) ? select_shuffle_of_bits : select_shuffle)(code, instr); return true;
    default: return false;
  }
}
