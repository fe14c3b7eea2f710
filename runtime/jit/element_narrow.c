/* Floats of 8 bits and fewer: between their bits and f32 by arithmetic on integers, as base/dtype.c does it. */
#include <math.h>

#include "jit/element.h"

bool jit_is_narrow_float(hr_dtype_t dtype) { return hr_dtype_is_float(dtype) && hr_dtype_bytes(dtype) == 1; }

static LLVMTypeRef like(LLVMTypeRef element, LLVMValueRef value) {
  return jit_type_like(element, llvm()->TypeOf(value));
}

static LLVMValueRef number(LLVMValueRef like_value, uint64_t value) {
  return jit_int(llvm()->TypeOf(like_value), (int64_t)value);
}
static LLVMValueRef bits_and(jit_code_t *c, LLVMValueRef a, uint64_t b) {
  return llvm()->BuildAnd(c->builder, a, number(a, b), "");
}
static LLVMValueRef left(jit_code_t *c, LLVMValueRef a, int by) {
  return llvm()->BuildShl(c->builder, a, number(a, (uint64_t)by), "");
}
static LLVMValueRef right(jit_code_t *c, LLVMValueRef a, int by) {
  return llvm()->BuildLShr(c->builder, a, number(a, (uint64_t)by), "");
}
static LLVMValueRef is_above(jit_code_t *c, LLVMValueRef a, uint64_t b) {
  return llvm()->BuildICmp(c->builder, LLVMIntUGT, a, number(a, b), "");
}
static LLVMValueRef is_number(jit_code_t *c, LLVMValueRef a, uint64_t b) {
  return llvm()->BuildICmp(c->builder, LLVMIntEQ, a, number(a, b), "");
}
static LLVMValueRef choose(jit_code_t *c, LLVMValueRef condition, LLVMValueRef a, LLVMValueRef b) {
  return llvm()->BuildSelect(c->builder, condition, a, b, "");
}

/* --- to f32 ---------------------------------------------------------------------------------------------------- */

/* Powers of two: the exponent is that of f32, but for the least and for NaN. */
static LLVMValueRef decode_power(jit_code_t *c, LLVMValueRef word) {
  LLVMValueRef bits = choose(c, is_number(c, word, 0), number(word, 0x00400000), left(c, word, 23));
  return choose(c, is_number(c, word, 0xff), number(word, 0x7fc00000), bits);
}

/* What the format's largest patterns mean instead of numbers. NaN where there is no -0 is negative: it comes first in the
 * total order. */
static LLVMValueRef decode_specials(jit_code_t *c, const hr_float_format_t *f, uint64_t largest, LLVMValueRef word,
                                    LLVMValueRef size, LLVMValueRef bits) {
  uint64_t sign = UINT64_C(1) << (f->bits - 1);
  switch (f->specials) {
    case HR_SPECIALS_IEEE: {
      LLVMValueRef special = llvm()->BuildOr(c->builder, left(c, size, 23 - f->mantissa_bits), number(size, 0x7f800000), "");
      return choose(c, is_above(c, size, largest), special, bits);
    }
    case HR_SPECIALS_FN: return choose(c, is_above(c, size, largest), number(size, 0x7fc00000), bits);
    case HR_SPECIALS_FNUZ: return choose(c, is_number(c, word, sign), number(size, 0x7fc00000), bits);
    default: return bits;
  }
}

static LLVMValueRef decode_number(jit_code_t *c, hr_dtype_t dtype, LLVMValueRef word) {
  const hr_float_format_t *f = hr_float_format(dtype);
  LLVMBuilderRef b = c->builder;
  LLVMTypeRef type = llvm()->TypeOf(word), f32 = like(llvm()->FloatTypeInContext(c->context), word);
  uint64_t sign = UINT64_C(1) << (f->bits - 1);
  LLVMValueRef size = bits_and(c, word, sign - 1);
  LLVMValueRef normal = left(c, size, 23 - f->mantissa_bits);
  normal = llvm()->BuildAdd(b, normal, number(word, (uint64_t)(127 - f->bias) << 23), "");
  LLVMValueRef units = llvm()->BuildSIToFP(b, size, f32, "");
  LLVMValueRef denormal = llvm()->BuildFMul(b, units, jit_real(f32, ldexp(1, 1 - f->bias - f->mantissa_bits)), "");
  denormal = llvm()->BuildBitCast(b, denormal, type, "");
  LLVMValueRef bits = choose(c, is_above(c, size, (UINT64_C(1) << f->mantissa_bits) - 1), normal, denormal);
  bits = decode_specials(c, f, hr_float_largest(dtype), word, size, bits);
  return llvm()->BuildOr(b, bits, left(c, bits_and(c, word, sign), 32 - f->bits), "");
}

LLVMValueRef jit_narrow_decode(jit_code_t *c, hr_dtype_t dtype, LLVMValueRef bits) {
  LLVMValueRef word = llvm()->BuildZExt(c->builder, bits, like(llvm()->Int32TypeInContext(c->context), bits), "");
  bool is_power = hr_float_format(dtype)->specials == HR_SPECIALS_E8M0;
  LLVMValueRef whole = is_power ? decode_power(c, word) : decode_number(c, dtype, word);
  return llvm()->BuildBitCast(c->builder, whole, like(llvm()->FloatTypeInContext(c->context), bits), "");
}

/* --- from f32 -------------------------------------------------------------------------------------------------- */

/* To the nearer power of two; a tie goes up. What has none, zero too, is NaN. */
static LLVMValueRef encode_power(jit_code_t *c, LLVMValueRef word) {
  LLVMValueRef half = number(word, 0x400000), rounded = right(c, llvm()->BuildAdd(c->builder, word, half, ""), 23);
  LLVMValueRef is_tiny = llvm()->BuildNot(c->builder, is_above(c, word, 0x7fffff), "");
  LLVMValueRef of_tiny = choose(c, is_above(c, word, 0x5fffff), number(word, 1), number(word, 0));
  LLVMValueRef result = choose(c, is_tiny, of_tiny, rounded);
  /* Negative numbers, infinity and NaN are all above the largest finite one; zero is below all. */
  LLVMValueRef none = llvm()->BuildOr(c->builder, is_above(c, word, 0x7f7fffff), is_number(c, word, 0), "");
  return choose(c, none, number(word, 0xff), result);
}

/* Magnitudes, rounded: adding to a denormal what has its unit in the low bits rounds it. */
static LLVMValueRef encode_size(jit_code_t *c, const hr_float_format_t *f, LLVMValueRef size) {
  LLVMBuilderRef b = c->builder;
  LLVMTypeRef f32 = like(llvm()->FloatTypeInContext(c->context), size);
  LLVMValueRef shifter = jit_real(f32, ldexp(1.5, 24 - f->bias - f->mantissa_bits));
  LLVMValueRef sum = llvm()->BuildFAdd(b, llvm()->BuildBitCast(b, size, f32, ""), shifter, "");
  LLVMValueRef shifter_bits = llvm()->BuildBitCast(b, shifter, llvm()->TypeOf(size), "");
  LLVMValueRef small = llvm()->BuildSub(b, llvm()->BuildBitCast(b, sum, llvm()->TypeOf(size), ""), shifter_bits, "");
  int dropped = 23 - f->mantissa_bits;
  LLVMValueRef based = llvm()->BuildSub(b, size, number(size, (uint64_t)(127 - f->bias) << 23), "");
  LLVMValueRef odd = bits_and(c, right(c, based, dropped), 1);
  LLVMValueRef up = llvm()->BuildAdd(b, odd, number(size, (UINT64_C(1) << (dropped - 1)) - 1), "");
  LLVMValueRef normal = right(c, llvm()->BuildAdd(b, based, up, ""), dropped);
  return choose(c, is_above(c, size, ((uint64_t)(128 - f->bias) << 23) - 1), normal, small);
}

static LLVMValueRef encode_number(jit_code_t *c, hr_dtype_t dtype, LLVMValueRef word) {
  const hr_float_format_t *f = hr_float_format(dtype);
  uint64_t minus = UINT64_C(1) << (f->bits - 1), nan = hr_float_encode(dtype, NAN) | (f->specials == HR_SPECIALS_FINITE) * minus;
  LLVMValueRef size = bits_and(c, word, 0x7fffffff), bits = encode_size(c, f, size);
  bits = choose(c, is_above(c, bits, hr_float_largest(dtype)), number(bits, hr_float_encode(dtype, INFINITY)), bits);
  bits = choose(c, is_above(c, size, 0x7f800000), number(bits, nan), bits);
  LLVMValueRef sign = bits_and(c, right(c, word, 32 - f->bits), minus), with_sign = llvm()->BuildOr(c->builder, bits, sign, "");
  if (f->specials != HR_SPECIALS_FNUZ) return with_sign;
  LLVMValueRef has_none = llvm()->BuildOr(c->builder, is_number(c, bits, 0), is_number(c, bits, minus), "");
  return choose(c, has_none, bits, with_sign);
}

LLVMValueRef jit_narrow_encode(jit_code_t *c, hr_dtype_t dtype, LLVMValueRef value) {
  LLVMValueRef word = llvm()->BuildBitCast(c->builder, value, jit_integer_like(llvm()->TypeOf(value)), "");
  bool is_power = hr_float_format(dtype)->specials == HR_SPECIALS_E8M0;
  LLVMValueRef bits = is_power ? encode_power(c, word) : encode_number(c, dtype, word);
  return llvm()->BuildTrunc(c->builder, bits, like(llvm()->Int8TypeInContext(c->context), bits), "");
}
