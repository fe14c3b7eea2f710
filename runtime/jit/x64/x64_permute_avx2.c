/* Permutations of one or two vectors for AVX2, which has none of arbitrary lanes of two vectors.
 *
 * A permutation is seen as the order of its bytes. The first of these that implements it is taken:
 *
 *     VPERM2I128, VEXTRACTI128    whole 128-bit parts
 *     VPERMQ, VPSHUFD, VPERMPS    64- or 32-bit lanes of one vector
 *     VPBLENDD                    32-bit lanes of two vectors, after one of these for each
 *     VPSHUFB, VPOR               bytes: of each vector, those that stay in their 128-bit part, and
 *                                 those that change it, after the parts are exchanged */
#include "jit/x64/x64_isel.h"

#define BYTES_MAX 32

/* Source of every byte of the result: of the first vector from 0 on, of the second from 32 on. */
typedef struct byte_order {
  unsigned char from[BYTES_MAX];
  unsigned count;
  unsigned together; /* bytes that move as a unit: 16, 8, 4, 2 or 1 */
} byte_order_t;

/* --- orders ----------------------------------------------------------------------------------- */

static bool moves_together(const byte_order_t *order, unsigned together) {
  if (order->count % together) return false;
  for (unsigned i = 0; i < order->count; i++) {
    unsigned first = order->from[i / together * together];
    if (first % together || order->from[i] != first + i % together) return false;
  }
  return true;
}

static void find_together(byte_order_t *order) {
  order->together = 16;
  while (!moves_together(order, order->together)) order->together /= 2;
}

static byte_order_t order_of(const kir_value_t *shuffle) {
  const kir_type_t *source = shuffle->args[0]->type;
  unsigned size = shuffle->type->bits / 8;
  byte_order_t order = {.count = kir_width(shuffle->type) / 8};
  for (unsigned i = 0; i < order.count && i < BYTES_MAX; i++) {
    uint64_t lane = shuffle->lanes[i / size];
    bool is_second = lane >= source->lanes;
    lane -= is_second ? source->lanes : 0;
    order.from[i] = (unsigned char)(32 * is_second + lane * size + i % size);
  }
  find_together(&order);
  return order;
}

static bool reads(const byte_order_t *order, unsigned source) {
  for (unsigned i = 0; i < order->count; i++)
    if (order->from[i] / 32 == source) return true;
  return false;
}

/* Lane `i` of `size` bytes as a lane of its source. */
static unsigned lane_at(const byte_order_t *order, unsigned i, unsigned size) {
  return order->from[i * size] % 32 / size;
}

/* Are the 32-bit lanes that come from this source in their places? */
static bool is_in_place(const byte_order_t *order, unsigned source) {
  for (unsigned i = 0; i < order->count; i++)
    if (order->from[i] / 32 == source && order->from[i] % 32 != i) return false;
  return true;
}

/* Do the 32-bit lanes of this source stay within 128 bits, in the same order in both? */
static bool is_same_in_halves(const byte_order_t *order, unsigned source, unsigned *out_lanes) {
  int lanes[4] = {-1, -1, -1, -1};
  *out_lanes = 0;
  for (unsigned i = 0; i < order->count / 4; i++) {
    unsigned lane = lane_at(order, i, 4);
    if (order->from[4 * i] / 32 != source) continue;
    if (lane / 4 != i / 4 || (lanes[i % 4] >= 0 && lanes[i % 4] != (int)(lane % 4))) return false;
    lanes[i % 4] = (int)(lane % 4);
  }
  for (unsigned i = 0; i < 4; i++) *out_lanes |= (lanes[i] < 0 ? 0 : (unsigned)lanes[i]) << 2 * i;
  return true;
}

/* --- lanes of 32 bits and more ---------------------------------------------------------------- */

static void permute_64(x64_code_t *code, const byte_order_t *order, int to, int from) {
  unsigned lanes = 0;
  for (unsigned i = 0; i < order->count / 8; i++) lanes |= lane_at(order, i, 8) << 2 * i;
  x64_emit_registers(code, X86_OP(1, 3, 1, 0x00), 1, to, X86_NONE, from);
  x86_byte(&code->x, lanes);
}

static kir_value_t *indices_of(const byte_order_t *order, unsigned source, kir_module_t *module) {
  uint64_t lanes[8] = {0};
  for (unsigned i = 0; i < order->count / 4; i++)
    lanes[i] = order->from[4 * i] / 32 == source ? lane_at(order, i, 4) : i;
  return kir_constant(kir_vector_type(kir_int_type(module, 32), 8), lanes);
}

/* Moves the 32-bit lanes of one source to their places; other lanes are unspecified. Clobbers `to`
 * only. */
static void place_lanes(x64_code_t *code, const byte_order_t *order, unsigned source, int to,
                        int from) {
  unsigned lanes;
  bool is_whole = order->together >= 8 && reads(order, source) && !reads(order, !source);
  if (is_same_in_halves(order, source, &lanes)) {
    x64_emit_registers(code, X86_OP(1, 1, 0, 0x70), order->count > 16, to, X86_NONE, from);
    x86_byte(&code->x, lanes);
  } else if (is_whole && order->count >= 8) {
    permute_64(code, order, to, from);
  } else {
    kir_value_t *indices = indices_of(order, source, code->function->module);
    int by = x64_vector(code, indices, to == from ? SCRATCH + 1 : to);
    x64_emit_registers(code, X86_OP(1, 2, 0, 0x16), 1, to, by, from);
  }
}

/* The source's register, or SCRATCH + 2 with its lanes in their places. */
static int placed(x64_code_t *code, const byte_order_t *order, unsigned source, kir_value_t *value,
                  int scratch) {
  int from = x64_vector(code, value, scratch);
  if (is_in_place(order, source)) return from;
  place_lanes(code, order, source, scratch, from);
  return scratch;
}

/* VPBLENDD takes the lanes of the second source. */
static void blend_lanes(x64_code_t *code, const byte_order_t *order, kir_value_t *instr) {
  int to = x64_destination(code, instr, SCRATCH + 2);
  int low = placed(code, order, 0, instr->args[0], SCRATCH + 2);
  int high = placed(code, order, 1, instr->args[1], SCRATCH);
  unsigned from_second = 0;
  for (unsigned i = 0; i < order->count / 4; i++) from_second |= order->from[4 * i] / 32u << i;
  x64_emit_registers(code, X86_OP(1, 3, 0, 0x02), order->count > 16, to, low, high);
  x86_byte(&code->x, from_second);
  x64_define(code, instr, to);
}

static void permute_parts(x64_code_t *code, const byte_order_t *order, kir_value_t *instr) {
  int to = x64_destination(code, instr, SCRATCH + 2);
  int low = x64_vector(code, instr->args[0], SCRATCH);
  int high = reads(order, 1) ? x64_vector(code, instr->args[1], SCRATCH + 1) : low;
  unsigned parts[2] = {order->from[0] / 16u, order->from[order->count - 1] / 16u};
  x64_emit_registers(code, X86_OP(1, 3, 0, 0x46), 1, to, low, high);
  x86_byte(&code->x, parts[0] | parts[1] << 4);
  x64_define(code, instr, to);
}

/* --- bytes ------------------------------------------------------------------------------------ */

/* Control bytes of VPSHUFB for the bytes of a source that stay in their 128-bit part, or change it;
 * NULL: there are none. */
static kir_value_t *controls_of(const byte_order_t *order, unsigned source, bool changes,
                                kir_module_t *module) {
  uint64_t lanes[BYTES_MAX];
  bool is_any = false;
  for (unsigned i = 0; i < BYTES_MAX; i++) {
    unsigned from = i < order->count ? order->from[i] : 255;
    bool is_here = from / 32 == source && (from % 32 / 16 != i / 16) == changes;
    lanes[i] = is_here ? from % 16 : 0x80;
    is_any |= is_here;
  }
  unsigned count = order->count > 16 ? 32 : 16;
  return is_any ? kir_constant(kir_vector_type(kir_int_type(module, 8), count), lanes) : NULL;
}

/* The register with the 128-bit parts exchanged; in 128 bits only the upper one is needed. */
static int exchange_parts(x64_code_t *code, const byte_order_t *order, int to, int from) {
  if (order->count <= 16) {
    x64_emit_registers(code, X86_OP(1, 3, 0, 0x39), 1, from, X86_NONE, to);
    x86_byte(&code->x, 1);
  } else {
    x64_emit_registers(code, X86_OP(1, 3, 1, 0x00), 1, to, X86_NONE, from);
    x86_byte(&code->x, 0x4e);
  }
  return to;
}

/* Ors the bytes of a source into `to`. Clobbers SCRATCH + 1. */
static bool add_bytes(x64_code_t *code, const byte_order_t *order, unsigned source, int to,
                      int from, bool is_begun) {
  for (int changes = 0; changes < 2; changes++) {
    kir_value_t *bytes = controls_of(order, source, changes, code->function->module);
    if (!bytes) continue;
    int in = changes ? exchange_parts(code, order, SCRATCH + 1, from) : from;
    int into = is_begun ? SCRATCH + 1 : to;
    x64_emit(code, X86_OP(1, 2, 0, 0x00), bytes->type, into, in, bytes, SCRATCH + 1);
    if (is_begun) x64_emit_registers(code, X86_OP(1, 1, 0, 0xeb), order->count > 16, to, to, into);
    is_begun = true;
  }
  return is_begun;
}

static void permute_bytes(x64_code_t *code, const byte_order_t *order, const kir_value_t *instr) {
  bool is_begun = false;
  for (unsigned k = 0; k < 2; k++)
    if (reads(order, k))
      is_begun = add_bytes(code, order, k, SCRATCH + 2, x64_vector(code, instr->args[k], SCRATCH),
                           is_begun);
  x64_define(code, instr, SCRATCH + 2);
}

/* --- selection -------------------------------------------------------------------------------- */

void x64_permute(x64_code_t *code, kir_value_t *instr) {
  if (kir_width(instr->type) > 256 || kir_width(instr->args[0]->type) > 256 ||
      instr->type->bits < 8) {
    x64_unsupported(code, "such a permutation");
    return;
  }
  const byte_order_t order = order_of(instr);
  if (order.together == 16 && order.count == 32) {
    permute_parts(code, &order, instr);
  } else if (order.together >= 4 && reads(&order, 0) && reads(&order, 1)) {
    blend_lanes(code, &order, instr);
  } else if (order.together >= 4) {
    unsigned source = reads(&order, 1);
    int from = x64_vector(code, instr->args[source], SCRATCH);
    int to = x64_destination(code, instr, SCRATCH + 2);
    place_lanes(code, &order, source, to, from);
    x64_define(code, instr, to);
  } else {
    permute_bytes(code, &order, instr);
  }
}

/* Keeps the lower part of each lane: as the permutation of the narrow lanes at even places. */
void x64_narrow(x64_code_t *code, kir_value_t *instr) {
  const kir_type_t *from = instr->args[0]->type, *type = instr->type;
  unsigned size = type->bits / 8, step = from->bits / 8;
  byte_order_t order = {.count = kir_width(type) / 8};
  for (unsigned i = 0; i < order.count && i < BYTES_MAX; i++)
    order.from[i] = (unsigned char)(i / size * step + i % size);
  find_together(&order);
  int source = x64_vector(code, instr->args[0], SCRATCH);
  int to = x64_destination(code, instr, SCRATCH + 2);
  if (order.together >= 4) {
    place_lanes(code, &order, 0, to, source);
  } else {
    add_bytes(code, &order, 0, SCRATCH + 2, source, false);
    to = SCRATCH + 2;
  }
  x64_define(code, instr, to);
}
