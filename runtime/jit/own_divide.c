/* Vectors of whole numbers of 32 bits divided by a constant, for which processors have no instruction: indices of lanes
 * that are not known while code is made. Two numbers at a time, each in 64 bits: with s the least that 2^s >= d,
 *   m = 2^32 (2^s - d) / d + 1,   t = v m / 2^32,   v / d = (t + (v - t) / 2) / 2^(s - 1),
 * all rounded down, is exact for every v below 2^32. */
#include "jit/own_ir.h"

static LLVMValueRef all(own_type_t *type, uint64_t lane) { return (LLVMValueRef)own_constant_of_all(type, lane); }

/* 64-bit lanes below 2^32. */
static LLVMValueRef divide_lanes(LLVMBuilderRef b, own_type_t *type, LLVMValueRef v, uint64_t divisor) {
  unsigned shift = 1;
  while (shift < 32 && (UINT64_C(1) << shift) < divisor) shift++;
  uint64_t factor = (((UINT64_C(1) << shift) - divisor) << 32) / divisor + 1;
  LLVMValueRef t = own_api.BuildLShr(b, own_api.BuildMul(b, v, all(type, factor), ""), all(type, 32), "");
  LLVMValueRef rest = own_api.BuildLShr(b, own_api.BuildSub(b, v, t, ""), all(type, 1), "");
  return own_api.BuildLShr(b, own_api.BuildAdd(b, t, rest, ""), all(type, shift - 1), "");
}

LLVMValueRef own_divide(LLVMBuilderRef b, LLVMValueRef x, LLVMValueRef divisor) {
  const own_value_t *d = (own_value_t *)divisor;
  own_type_t *type = ((own_value_t *)x)->type;
  bool is_known = own_is_constant(d) && own_is_splat(d) && !own_is_constant((own_value_t *)x) && d->lanes[0] > 1;
  if (!is_known || type->kind != LLVMVectorTypeKind || type->bits != 32 || type->lanes < 4) return NULL;
  own_type_t *pairs = own_vector_of(own_type_of(type->context, LLVMIntegerTypeKind, 64), type->lanes / 2);
  LLVMValueRef both = own_api.BuildBitCast(b, x, (LLVMTypeRef)pairs, ""), half = all(pairs, 32);
  LLVMValueRef low = own_api.BuildAnd(b, both, all(pairs, UINT32_MAX), ""), high = own_api.BuildLShr(b, both, half, "");
  low = divide_lanes(b, pairs, low, d->lanes[0]), high = divide_lanes(b, pairs, high, d->lanes[0]);
  LLVMValueRef joined = own_api.BuildOr(b, low, own_api.BuildShl(b, high, half, ""), "");
  return own_api.BuildBitCast(b, joined, (LLVMTypeRef)type, "");
}
