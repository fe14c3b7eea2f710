/* Vectors of whole numbers divided, for which processors have no instruction. By a constant of 32 bits: two numbers at
 * a time, each in 64 bits: with s the least that 2^s >= d,
 *   m = 2^32 (2^s - d) / d + 1,   t = v m / 2^32,   v / d = (t + (v - t) / 2) / 2^(s - 1),
 * all rounded down, is exact for every v below 2^32. By others of 32 bits: as f64, whose quotient of such numbers never
 * rounds up to a whole one. Of 64 bits: one by one. */
#include "jit/own_ir.h"

#define TYPE(value) (((own_value_t *)(value))->type)
#define TYPE_REF(type) ((LLVMTypeRef)(type))

static LLVMValueRef all(own_type_t *type, uint64_t lane) { return (LLVMValueRef)own_constant_of_all(type, lane); }

static own_type_t *lanes_of(const own_type_t *like, LLVMTypeKind kind, unsigned bits) {
  return own_vector_of(own_type_of(like->context, kind, bits), like->lanes);
}

static LLVMValueRef build(LLVMBuilderRef b, own_op_t op, LLVMValueRef x, LLVMValueRef y) {
  return (LLVMValueRef)own_build(b, op, TYPE(x), 0, (own_value_t *[]){(own_value_t *)x, (own_value_t *)y}, 2);
}

/* --- by a constant ----------------------------------------------------------------------------------------------- */

/* 64-bit lanes below 2^32. */
static LLVMValueRef divide_lanes(LLVMBuilderRef b, own_type_t *type, LLVMValueRef v, uint64_t divisor) {
  unsigned shift = 1;
  while (shift < 32 && (UINT64_C(1) << shift) < divisor) shift++;
  uint64_t factor = (((UINT64_C(1) << shift) - divisor) << 32) / divisor + 1;
  LLVMValueRef t = build(b, OWN_LSHR, build(b, OWN_MUL, v, all(type, factor)), all(type, 32));
  LLVMValueRef rest = build(b, OWN_LSHR, build(b, OWN_SUB, v, t), all(type, 1));
  return build(b, OWN_LSHR, build(b, OWN_ADD, t, rest), all(type, shift - 1));
}

/* Without signs. */
static LLVMValueRef by_constant(LLVMBuilderRef b, LLVMValueRef x, uint64_t divisor) {
  own_type_t *type = TYPE(x), *wide = own_type_of(type->context, LLVMIntegerTypeKind, 64);
  if (!(divisor & (divisor - 1))) return build(b, OWN_LSHR, x, all(type, (uint64_t)__builtin_ctzll(divisor)));
  own_type_t *pairs = own_vector_of(wide, type->lanes / 2);
  LLVMValueRef both = own_api.BuildBitCast(b, x, TYPE_REF(pairs), ""), half = all(pairs, 32);
  LLVMValueRef low = build(b, OWN_AND, both, all(pairs, UINT32_MAX)), high = build(b, OWN_LSHR, both, half);
  low = divide_lanes(b, pairs, low, divisor), high = divide_lanes(b, pairs, high, divisor);
  return own_api.BuildBitCast(b, build(b, OWN_OR, low, build(b, OWN_SHL, high, half)), TYPE_REF(type), "");
}

/* What is below zero is divided as if it were above. */
static LLVMValueRef by_signed_constant(LLVMBuilderRef b, LLVMValueRef x, int32_t divisor) {
  own_type_t *type = TYPE(x);
  LLVMValueRef sign = build(b, OWN_ASHR, x, all(type, 31));
  LLVMValueRef size = build(b, OWN_SUB, build(b, OWN_XOR, x, sign), sign);
  if (divisor < 0) sign = build(b, OWN_XOR, sign, all(type, UINT32_MAX));
  LLVMValueRef quotient = by_constant(b, size, divisor < 0 ? -(uint32_t)divisor : (uint32_t)divisor);
  return build(b, OWN_SUB, build(b, OWN_XOR, quotient, sign), sign);
}

static bool is_known(const own_value_t *divisor) {
  return own_is_constant(divisor) && own_is_splat(divisor) && divisor->lanes[0];
}

/* --- by what is not known ---------------------------------------------------------------------------------------- */

static LLVMValueRef as_f64(LLVMBuilderRef b, LLVMValueRef x, LLVMValueRef y, bool is_signed) {
  LLVMTypeRef f64 = TYPE_REF(lanes_of(TYPE(x), LLVMDoubleTypeKind, 64));
  x = (is_signed ? own_api.BuildSIToFP : own_api.BuildUIToFP)(b, x, f64, "");
  LLVMValueRef quotient =
      build(b, OWN_FDIV, x, (is_signed ? own_api.BuildSIToFP : own_api.BuildUIToFP)(b, y, f64, ""));
  return (is_signed ? own_api.BuildFPToSI : own_api.BuildFPToUI)(b, quotient, TYPE_REF(TYPE(y)), "");
}

static LLVMValueRef one_by_one(LLVMBuilderRef b, own_op_t op, LLVMValueRef x, LLVMValueRef y) {
  own_type_t *type = TYPE(x), *i32 = own_type_of(type->context, LLVMIntegerTypeKind, 32);
  LLVMValueRef made = own_api.GetPoison(TYPE_REF(type));
  for (unsigned i = 0; i < type->lanes; i++) {
    LLVMValueRef lane = all(i32, i), one = own_api.BuildExtractElement(b, x, lane, "");
    one = build(b, op, one, own_api.BuildExtractElement(b, y, lane, ""));
    made = own_api.BuildInsertElement(b, made, one, lane, "");
  }
  return made;
}

static LLVMValueRef quotient_of(LLVMBuilderRef b, LLVMValueRef x, LLVMValueRef y, bool is_signed) {
  const own_value_t *divisor = (own_value_t *)y;
  if (!is_known(divisor) || TYPE(x)->lanes < 4 || TYPE(x)->lanes % 2) return as_f64(b, x, y, is_signed);
  return is_signed ? by_signed_constant(b, x, (int32_t)divisor->lanes[0]) : by_constant(b, x, divisor->lanes[0]);
}

LLVMValueRef own_divide(LLVMBuilderRef b, own_op_t op, LLVMValueRef x, LLVMValueRef y) {
  own_type_t *type = TYPE(x);
  bool is_signed = op == OWN_SDIV || op == OWN_SREM, is_rest = op == OWN_UREM || op == OWN_SREM;
  if (type->kind != LLVMVectorTypeKind) return build(b, op, x, y);
  if (type->bits == 64) return one_by_one(b, op, x, y);
  LLVMTypeRef wide = TYPE_REF(lanes_of(type, LLVMIntegerTypeKind, 32));
  x = own_api.BuildIntCast2(b, x, wide, is_signed, ""), y = own_api.BuildIntCast2(b, y, wide, is_signed, "");
  LLVMValueRef result = quotient_of(b, x, y, is_signed);
  if (is_rest) result = build(b, OWN_SUB, x, build(b, OWN_MUL, result, y));
  return own_api.BuildIntCast2(b, result, TYPE_REF(type), false, "");
}
