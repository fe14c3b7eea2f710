/* Division of vectors of integers, for which processors have no instruction.
 *
 *     32 bits, constant d   s = ceil(log2 d), m = floor(2^32 (2^s - d) / d) + 1
 *                           t = floor(v m / 2^32)
 *                           v / d = floor((t + floor((v - t) / 2)) / 2^(s - 1))
 *     32 bits, else         as f64: a quotient of such integers never rounds up to an integer
 *     64 bits               lane by lane
 *
 * The first form is exact for every v below 2^32 (Granlund and Montgomery 1994); it multiplies
 * two lanes at a time, each in 64 bits. */
#include "jit/kir/kir.h"

static kir_value_t *all(kir_type_t *type, uint64_t lane) { return kir_splat_constant(type, lane); }

static kir_value_t *build(kir_builder_t *b, kir_op_t op, kir_value_t *x, kir_value_t *y) {
  return kir_build(b, op, x->type, 0, (kir_value_t *[]){x, y}, 2);
}

/* --- by a constant ---------------------------------------------------------------------------- */

/* 64-bit lanes below 2^32. */
static kir_value_t *divide_lanes(kir_builder_t *b, kir_type_t *type, kir_value_t *v,
                                 uint64_t divisor) {
  unsigned shift = 1;
  while (shift < 32 && (UINT64_C(1) << shift) < divisor) shift++;
  uint64_t factor = (((UINT64_C(1) << shift) - divisor) << 32) / divisor + 1;
  kir_value_t *t = build(b, KIR_LSHR, build(b, KIR_MUL, v, all(type, factor)), all(type, 32));
  kir_value_t *rest = build(b, KIR_LSHR, build(b, KIR_SUB, v, t), all(type, 1));
  return build(b, KIR_LSHR, build(b, KIR_ADD, t, rest), all(type, shift - 1));
}

/* Without signs. */
static kir_value_t *by_constant(kir_builder_t *b, kir_value_t *x, uint64_t divisor) {
  kir_type_t *type = x->type, *wide = kir_int_type(type->module, 64);
  if (!(divisor & (divisor - 1)))
    return build(b, KIR_LSHR, x, all(type, (uint64_t)__builtin_ctzll(divisor)));
  kir_type_t *pairs = kir_vector_type(wide, type->lanes / 2);
  kir_value_t *both = kir_bitcast(b, x, pairs), *half = all(pairs, 32);
  kir_value_t *low = build(b, KIR_AND, both, all(pairs, UINT32_MAX)),
              *high = build(b, KIR_LSHR, both, half);
  low = divide_lanes(b, pairs, low, divisor);
  high = divide_lanes(b, pairs, high, divisor);
  return kir_bitcast(b, build(b, KIR_OR, low, build(b, KIR_SHL, high, half)), type);
}

/* What is below zero is divided as if it were above. */
static kir_value_t *by_signed_constant(kir_builder_t *b, kir_value_t *x, int32_t divisor) {
  kir_type_t *type = x->type;
  kir_value_t *sign = build(b, KIR_ASHR, x, all(type, 31));
  kir_value_t *size = build(b, KIR_SUB, build(b, KIR_XOR, x, sign), sign);
  if (divisor < 0) sign = build(b, KIR_XOR, sign, all(type, UINT32_MAX));
  kir_value_t *quotient =
      by_constant(b, size, divisor < 0 ? -(uint32_t)divisor : (uint32_t)divisor);
  return build(b, KIR_SUB, build(b, KIR_XOR, quotient, sign), sign);
}

static bool is_known(const kir_value_t *divisor) {
  return kir_is_constant(divisor) && kir_is_splat(divisor) && divisor->lanes[0];
}

/* --- by what is not known --------------------------------------------------------------------- */

static kir_value_t *as_f64(kir_builder_t *b, kir_value_t *x, kir_value_t *y, bool is_signed) {
  kir_type_t *f64 = kir_type_like(x->type, kir_double_type(x->type->module));
  x = (is_signed ? kir_sitofp : kir_uitofp)(b, x, f64);
  kir_value_t *quotient = build(b, KIR_FDIV, x, (is_signed ? kir_sitofp : kir_uitofp)(b, y, f64));
  return (is_signed ? kir_fptosi : kir_fptoui)(b, quotient, y->type);
}

static kir_value_t *one_by_one(kir_builder_t *b, kir_op_t op, kir_value_t *x, kir_value_t *y) {
  kir_type_t *type = x->type, *i32 = kir_int_type(type->module, 32);
  kir_value_t *made = kir_poison(type);
  for (unsigned i = 0; i < type->lanes; i++) {
    kir_value_t *lane = all(i32, i), *one = kir_extract(b, x, lane);
    one = build(b, op, one, kir_extract(b, y, lane));
    made = kir_insert(b, made, one, lane);
  }
  return made;
}

static kir_value_t *quotient_of(kir_builder_t *b, kir_value_t *x, kir_value_t *y, bool is_signed) {
  const kir_value_t *divisor = y;
  if (!is_known(divisor) || x->type->lanes < 4 || x->type->lanes % 2)
    return as_f64(b, x, y, is_signed);
  return is_signed ? by_signed_constant(b, x, (int32_t)divisor->lanes[0])
                   : by_constant(b, x, divisor->lanes[0]);
}

kir_value_t *kir_divide_vectors(kir_builder_t *b, kir_op_t op, kir_value_t *x, kir_value_t *y) {
  kir_type_t *type = x->type;
  bool is_signed = op == KIR_SDIV || op == KIR_SREM, is_rest = op == KIR_UREM || op == KIR_SREM;
  if (type->kind != KIR_TYPE_VECTOR) return build(b, op, x, y);
  if (type->bits == 64) return one_by_one(b, op, x, y);
  kir_type_t *wide = kir_type_like(type, kir_int_type(type->module, 32));
  x = kir_int_cast(b, x, wide, is_signed);
  y = kir_int_cast(b, y, wide, is_signed);
  kir_value_t *result = quotient_of(b, x, y, is_signed);
  if (is_rest) result = build(b, KIR_SUB, x, build(b, KIR_MUL, result, y));
  return kir_int_cast(b, result, type, false);
}
