/* Maxima and minima of bf16 and f16 that are in memory, as those of 16-bit keys.
 *
 * A vector holds twice as many 16-bit integers as widened numbers, and a step is one instruction.
 * The bits of a number, those of a negative one with all but the sign inverted, are ordered as the
 * numbers are, -0 before +0:
 *
 *     -NaN ... -inf ... -0 +0 ... +inf ... +NaN        -32768 ... 32767
 *
 * NaNs are at both ends, which are neighbours modulo 2^16. Subtracting the number of NaNs of one
 * sign moves all NaNs to the end that a maximum propagates; adding it, to that of a minimum. The
 * infinity of the other end is then the least key, or the largest. */
#include <math.h>

#include "jit/element/element.h"
#include "jit/expr/reducer.h"

#define SIGN_SHIFT 15
#define ALL_BUT_SIGN 0x7fff

/* Number of NaNs of one sign. */
#define NANS_BF16 0x7f
#define NANS_F16 0x3ff

/* What is added to the ordered bits, by type and for minimum and maximum. */
static const int16_t bf16_offsets[] = {NANS_BF16, -NANS_BF16};
static const int16_t f16_offsets[] = {NANS_F16, -NANS_F16};

static const int16_t *key_offset(const jit_reducer_t *reducer) {
  bool is_most = reducer->ops[0] == HLO_MAXIMUM;
  return &(reducer->key_of == HR_BF16 ? bf16_offsets : f16_offsets)[is_most];
}

/* --- keys of elements ------------------------------------------------------------------------- */

static jit_node_t *with_number(jit_graph_t *graph, hlo_opcode_t op, jit_node_t *x,
                               const int16_t *number) {
  jit_node_t constant = {.kind = JIT_CONSTANT, .dtype = HR_S16, .bytes = number};
  jit_node_t *args[] = {x, jit_node_make(graph, &constant)};
  return jit_node_op(graph, op, HR_S16, 0, 2, args);
}

jit_node_t *jit_reducer_key(jit_graph_t *graph, const jit_reducer_t *reducer, jit_node_t *bits) {
  static const int16_t sign_shift = SIGN_SHIFT, all_but_sign = ALL_BUT_SIGN;
  jit_node_t *sign = with_number(graph, HLO_SHIFT_RIGHT_ARITHMETIC, bits, &sign_shift);
  jit_node_t *args[] = {bits, with_number(graph, HLO_AND, sign, &all_but_sign)};
  jit_node_t *ordered = jit_node_op(graph, HLO_XOR, HR_S16, 0, 2, args);
  return with_number(graph, HLO_ADD, ordered, key_offset(reducer));
}

bool jit_reducer_use_keys(jit_reducer_t *reducer) {
  bool is_extreme = reducer->ops[0] == HLO_MAXIMUM || reducer->ops[0] == HLO_MINIMUM;
  bool is_half = reducer->dtypes[0] == HR_BF16 || reducer->dtypes[0] == HR_F16;
  if (!reducer->is_plain || reducer->count != 1 || !is_extreme || !is_half) return false;
  reducer->has_keys = true;
  reducer->key_of = reducer->dtypes[0];
  reducer->dtypes[0] = HR_S16;
  return true;
}

/* --- results ---------------------------------------------------------------------------------- */

kir_value_t *jit_reducer_decode(jit_code_t *code, const jit_reducer_t *reducer, kir_value_t *key) {
  kir_builder_t *b = code->builder;
  kir_type_t *type = kir_type_of(key);
  bool is_most = reducer->ops[0] == HLO_MAXIMUM;
  int64_t offset = *key_offset(reducer),
          infinity = (int64_t)hr_float_encode(reducer->key_of, INFINITY),
          last = (is_most ? infinity : ~infinity) + offset;
  kir_value_t *is_nan =
      kir_icmp(b, is_most ? KIR_ICMP_SGT : KIR_ICMP_SLT, key, jit_int(type, last));
  kir_value_t *bits = kir_sub(b, key, jit_int(type, offset));
  kir_value_t *inverted =
      kir_and(b, kir_ashr(b, bits, jit_int(type, SIGN_SHIFT)), jit_int(type, ALL_BUT_SIGN));
  bits = kir_xor(b, bits, inverted);
  jit_element_op_t cast = {.op = HLO_BITCAST_CONVERT, .from = HR_S16, .to = reducer->key_of};
  kir_value_t *value = jit_element_emit(code, &cast, &bits);
  return kir_select(b, is_nan, jit_real(kir_type_of(value), NAN), value);
}
