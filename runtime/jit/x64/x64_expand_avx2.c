/* Expansion of arithmetic that AVX-512 has and AVX2 lacks, while the kernel IR is built: products,
 * orders and right shifts of 64-bit integers, shifts of 16-bit ones, conversions of unsigned and
 * 64-bit integers, leading zeros.
 *
 * Results are the same bits: conversions to floats round once, as one instruction does. What has no
 * short sequence of vector instructions is done lane by lane. */
#include "jit/x64/x64_code.h"
#include "jit/x64/x64_expand.h"

static kir_type_t *int_like(const kir_type_t *like, unsigned bits) {
  return kir_type_like(like, kir_int_type(like->module, bits));
}

static kir_value_t *build(kir_builder_t *b, kir_op_t op, kir_value_t *x, kir_value_t *y) {
  return kir_build(b, op, x->type, 0, (kir_value_t *[]){x, y}, 2);
}

static kir_value_t *splat(const kir_value_t *like, uint64_t lane) {
  return kir_splat_constant(like->type, lane);
}

static kir_value_t *sign_of(const kir_type_t *type) {
  return kir_splat_constant((kir_type_t *)type, UINT64_C(1) << (type->bits - 1));
}

/* --- integers --------------------------------------------------------------------------------- */

/* Schoolbook multiplication of halves; the selector multiplies those by VPMULUDQ. */
static kir_value_t *multiply_wide(kir_builder_t *b, kir_value_t *x, kir_value_t *y) {
  if (x64_is_low_half(x) && x64_is_low_half(y)) return build(b, KIR_MUL, x, y);
  kir_value_t *low = splat(x, UINT32_MAX), *half = splat(x, 32);
  kir_value_t *x_low = kir_and(b, x, low), *y_low = kir_and(b, y, low);
  kir_value_t *x_high = kir_lshr(b, x, half), *y_high = kir_lshr(b, y, half);
  kir_value_t *cross =
      kir_add(b, build(b, KIR_MUL, x_low, y_high), build(b, KIR_MUL, x_high, y_low));
  return kir_add(b, build(b, KIR_MUL, x_low, y_low), kir_shl(b, cross, half));
}

/* All ones in negative lanes. */
static kir_value_t *sign_of_lanes(kir_builder_t *b, kir_value_t *x) {
  return kir_sext(b, kir_icmp(b, KIR_ICMP_SLT, x, kir_null(x->type)), x->type);
}

/* The sign bit is shifted down with the others, and restored from there by ^ and -. */
static kir_value_t *shift_wide(kir_builder_t *b, kir_value_t *x, kir_value_t *by) {
  if (kir_is_constant(by) && kir_is_splat(by) && by->lanes[0] == 63) return sign_of_lanes(b, x);
  kir_value_t *sign = kir_lshr(b, sign_of(x->type), by);
  return kir_sub(b, kir_xor(b, kir_lshr(b, x, by), sign), sign);
}

/* 16-bit lanes are shifted by immediates only; others in 32 bits. */
static kir_value_t *shift_words(kir_builder_t *b, kir_op_t op, kir_value_t *x, kir_value_t *by) {
  if (kir_is_constant(by) && kir_is_splat(by)) return NULL;
  kir_type_t *type = x->type, *wide = int_like(type, 32);
  x = op == KIR_ASHR ? kir_sext(b, x, wide) : kir_zext(b, x, wide);
  return kir_trunc(b, build(b, op, x, kir_zext(b, by, wide)), type);
}

static kir_value_t *expand_shift(kir_builder_t *b, kir_op_t op, kir_value_t *const *args) {
  if (args[0]->type->bits == 16) return shift_words(b, op, args[0], args[1]);
  bool is_wide = args[0]->type->bits == 64 && op == KIR_ASHR;
  return is_wide ? shift_wide(b, args[0], args[1]) : NULL;
}

/* Unsigned orders of 64 bits are signed ones with the sign bits flipped. */
static kir_value_t *compare_unsigned(kir_builder_t *b, int predicate, kir_value_t *x,
                                     kir_value_t *y) {
  bool is_unsigned = predicate >= KIR_ICMP_UGT && predicate <= KIR_ICMP_ULE;
  if (x->type->bits != 64 || !is_unsigned || x->type->element->kind == KIR_TYPE_POINTER)
    return NULL;
  kir_value_t *sign = sign_of(x->type);
  kir_icmp_t order = (kir_icmp_t)(predicate - KIR_ICMP_UGT + KIR_ICMP_SGT);
  return kir_icmp(b, order, kir_xor(b, x, sign), kir_xor(b, y, sign));
}

static kir_value_t *min_max_wide(kir_builder_t *b, kir_op_t op, kir_value_t *x, kir_value_t *y) {
  static const kir_icmp_t orders[KIR_OP_COUNT] = {[KIR_SMIN] = KIR_ICMP_SLT,
                                                  [KIR_SMAX] = KIR_ICMP_SGT,
                                                  [KIR_UMIN] = KIR_ICMP_ULT,
                                                  [KIR_UMAX] = KIR_ICMP_UGT};
  return x->type->bits == 64 ? kir_select(b, kir_icmp(b, orders[op], x, y), x, y) : NULL;
}

/* Sets all bits below the highest one, and counts the others. */
static kir_value_t *count_leading_zeros(kir_builder_t *b, kir_value_t *x) {
  if (x->type->bits < 32) return NULL;
  for (unsigned by = 1; by < x->type->bits; by *= 2) x = kir_or(b, x, kir_lshr(b, x, splat(x, by)));
  x = kir_not(b, x);
  return kir_intrinsic(b, KIR_CTPOP, x->type, &x, 1);
}

/* --- conversions ------------------------------------------------------------------------------ */

/* Converts through the stack, one scalar after the other. */
static kir_value_t *convert_by_lane(kir_builder_t *b, kir_op_t op, kir_value_t *x,
                                    kir_type_t *type) {
  kir_value_t *from = kir_alloca(b, x->type), *to = kir_alloca(b, type);
  const kir_type_t *in = x->type;
  kir_store(b, x, from);
  for (unsigned i = 0; i < type->lanes; i++) {
    kir_value_t *lane = kir_const_int(kir_int_type(b->module, 64), i);
    kir_value_t *one = kir_load(b, in->element, kir_gep(b, in->element, from, lane));
    one = kir_expand_or_build(b, op, type->element, 0, &one, 1);
    kir_store(b, one, kir_gep(b, type->element, to, lane));
  }
  return kir_load(b, type, to);
}

/* A float constant from its bits. */
static kir_value_t *float_of_bits(kir_builder_t *b, kir_type_t *type, uint64_t bits) {
  return kir_bitcast(b, kir_splat_constant(int_like(type, type->bits), bits), type);
}

/* high * 2^half + low, where both halves of x are the mantissas of floats with the exponents of
 * `low_bits` and `high_bits`; `offset` is what both exponents add. Only the last sum rounds. */
static kir_value_t *join_halves(kir_builder_t *b, kir_value_t *x, kir_type_t *type,
                                const uint64_t bits[3]) {
  unsigned half = x->type->bits / 2;
  kir_value_t *low = kir_and(b, x, splat(x, (UINT64_C(1) << half) - 1));
  low = kir_bitcast(b, kir_or(b, low, splat(x, bits[0])), type);
  kir_value_t *high = kir_lshr(b, x, splat(x, half));
  high = kir_bitcast(b, kir_xor(b, high, splat(x, bits[1])), type);
  return kir_fadd(b, kir_fsub(b, high, float_of_bits(b, type, bits[2])), low);
}

/* u32 to f32: 2^23 + low, 2^39 + high * 2^16; u64 to f64: 2^52 + low, 2^84 + high * 2^32. For i64
 * the sign bit of the upper half is flipped: 2^84 + 2^63 + high * 2^32. */
static const uint64_t halves_of_u32[] = {0x4b000000, 0x53000000, 0x53000080};
static const uint64_t halves_of_u64[] = {0x4330000000000000, 0x4530000000000000,
                                         0x4530000000100000};
static const uint64_t halves_of_i64[] = {0x4330000000000000, 0x4530000080000000,
                                         0x4530000080100000};

/* i64 to f32 by f64, which holds 53 bits: of more, the lowest 11 are replaced by an odd bit, so
 * that the second rounding is that of the integer. */
static kir_value_t *wide_to_float(kir_builder_t *b, kir_op_t op, kir_value_t *x, kir_type_t *type) {
  kir_type_t *f64 = kir_type_like(type, kir_double_type(type->module));
  kir_value_t *cut = splat(x, 0x7ff);
  kir_value_t *odd = kir_and(b, kir_add(b, kir_and(b, x, cut), cut), splat(x, 0x800));
  kir_value_t *high = kir_or(b, kir_and(b, x, splat(x, ~UINT64_C(0x7ff))), odd);
  bool is_signed = op == KIR_SITOFP;
  kir_value_t *above = is_signed ? kir_add(b, x, splat(x, UINT64_C(1) << 53)) : x;
  above = kir_lshr(b, above, splat(x, is_signed ? 54 : 53));
  kir_value_t *is_exact = kir_icmp(b, KIR_ICMP_EQ, above, kir_null(x->type));
  x = kir_select(b, is_exact, x, high);
  return kir_fptrunc(b, kir_expand_or_build(b, op, f64, 0, &x, 1), type);
}

static kir_value_t *vector_to_float(kir_builder_t *b, kir_op_t op, kir_value_t *x,
                                    kir_type_t *type) {
  bool is_signed = op == KIR_SITOFP;
  if (x->type->bits == 64 && type->bits == 64)
    return join_halves(b, x, type, is_signed ? halves_of_i64 : halves_of_u64);
  if (x->type->bits == 64) return wide_to_float(b, op, x, type);
  if (is_signed) return NULL;
  if (type->bits == 32) return join_halves(b, x, type, halves_of_u32);
  return kir_uitofp(b, kir_zext(b, x, int_like(x->type, 64)), type);
}

/* Values from 2^63 on are halved, with the lost bit kept for rounding, and doubled again. */
static kir_value_t *scalar_to_float(kir_builder_t *b, kir_value_t *x, kir_type_t *type) {
  kir_type_t *i64 = kir_int_type(b->module, 64);
  if (x->type->bits < 64) return kir_sitofp(b, kir_zext(b, x, i64), type);
  kir_value_t *one = splat(x, 1), *is_large = kir_icmp(b, KIR_ICMP_SLT, x, kir_null(x->type));
  kir_value_t *half = kir_or(b, kir_lshr(b, x, one), kir_and(b, x, one));
  kir_value_t *value = kir_sitofp(b, kir_select(b, is_large, half, x), type);
  return kir_select(b, is_large, kir_fadd(b, value, value), value);
}

static kir_value_t *expand_to_float(kir_builder_t *b, kir_op_t op, kir_value_t *x,
                                    kir_type_t *type) {
  if (x->type->bits < 32 || type->bits < 32) return NULL; /* x64_expand.c widens these first */
  if (kir_is_vector(type)) return vector_to_float(b, op, x, type);
  return op == KIR_UITOFP ? scalar_to_float(b, x, type) : NULL;
}

/* Values from half the range on are reduced by it, which is exact, and get the sign bit back. */
static kir_value_t *to_unsigned(kir_builder_t *b, kir_value_t *x, kir_type_t *type) {
  double half = type->bits == 64 ? 0x1p63 : 0x1p31;
  kir_value_t *limit = kir_splat_constant(x->type, kir_encode_float(half, x->type->bits));
  kir_value_t *is_large = kir_fcmp(b, KIR_FCMP_OGE, x, limit);
  x = kir_select(b, is_large, kir_fsub(b, x, limit), x);
  kir_value_t *value = kir_fptosi(b, x, type);
  kir_value_t *sign = kir_select(b, is_large, sign_of(type), kir_null(type));
  return kir_xor(b, value, sign);
}

/* The mantissa of f64, moved to its place by the exponent, one of both shifts gives 0 as its count
 * is 64 or more. */
static kir_value_t *truncate_to_wide(kir_builder_t *b, kir_op_t op, kir_value_t *x,
                                     kir_type_t *type) {
  if (x->type->bits == 32) x = kir_fpext(b, x, kir_type_like(type, kir_double_type(type->module)));
  kir_value_t *bits = kir_bitcast(b, x, type), *mantissa_bits = splat(bits, 52);
  kir_value_t *exponent = kir_and(b, kir_lshr(b, bits, mantissa_bits), splat(bits, 0x7ff));
  kir_value_t *mantissa = kir_and(b, bits, splat(bits, (UINT64_C(1) << 52) - 1));
  mantissa = kir_or(b, mantissa, splat(bits, UINT64_C(1) << 52));
  kir_value_t *up = kir_shl(b, mantissa, kir_sub(b, exponent, splat(bits, 1075)));
  kir_value_t *down = kir_lshr(b, mantissa, kir_sub(b, splat(bits, 1075), exponent));
  kir_value_t *size = kir_or(b, up, down);
  if (op == KIR_FPTOUI) return size;
  kir_value_t *sign = sign_of_lanes(b, bits);
  return kir_sub(b, kir_xor(b, size, sign), sign);
}

static kir_value_t *expand_to_integer(kir_builder_t *b, kir_op_t op, kir_value_t *x,
                                      kir_type_t *type) {
  kir_type_t *i64 = kir_int_type(b->module, 64);
  if (x->type->bits < 32 || type->bits < 32) return NULL;
  if (kir_is_vector(type) && type->bits == 64)
    return kir_is_constant(x) ? convert_by_lane(b, op, x, type) : truncate_to_wide(b, op, x, type);
  if (op == KIR_FPTOSI) return NULL;
  if (type == kir_int_type(b->module, 32)) return kir_trunc(b, kir_fptosi(b, x, i64), type);
  return to_unsigned(b, x, type);
}

/* --- dispatch --------------------------------------------------------------------------------- */

static kir_value_t *expand_vector(kir_builder_t *b, kir_op_t op, int detail,
                                  kir_value_t *const *args) {
  switch (op) {
    case KIR_MUL:
      return args[0]->type->bits == 64 ? multiply_wide(b, args[0], args[1]) : NULL;
    case KIR_SHL:
    case KIR_LSHR:
    case KIR_ASHR:
      return expand_shift(b, op, args);
    case KIR_ICMP:
      return compare_unsigned(b, detail, args[0], args[1]);
    case KIR_SMIN:
    case KIR_SMAX:
    case KIR_UMIN:
    case KIR_UMAX:
      return min_max_wide(b, op, args[0], args[1]);
    case KIR_CTLZ:
      return count_leading_zeros(b, args[0]);
    default:
      return NULL;
  }
}

kir_value_t *x64_expand_avx2(kir_builder_t *b, kir_op_t op, kir_type_t *type, int detail,
                             kir_value_t *const *args, int count) {
  kir_value_t *expanded = NULL;
  bool is_vector = count && kir_is_vector(args[0]->type) && !kir_is_i1(args[0]->type);
  if (op == KIR_SITOFP || op == KIR_UITOFP)
    expanded = expand_to_float(b, op, args[0], type);
  else if (op == KIR_FPTOSI || op == KIR_FPTOUI)
    expanded = expand_to_integer(b, op, args[0], type);
  else if (is_vector)
    expanded = expand_vector(b, op, detail, args);
  return expanded ? expanded : x64_expand(b, op, type, detail, args, count);
}
