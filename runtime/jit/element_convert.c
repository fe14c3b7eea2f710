/* Conversions between element types. */
#include <math.h>

#include "jit/element_complex.h"

static LLVMTypeRef like(LLVMTypeRef element, LLVMValueRef value) {
  return jit_type_like(element, llvm()->TypeOf(value));
}

/* A float that is held in a wider one. */
static bool is_narrow(hr_dtype_t dtype) {
  return hr_dtype_is_float(dtype) && hr_dtype_table[dtype].compute != dtype;
}

/* f64 to f32, rounded to odd: what is inexact gets an odd mantissa, so that rounding it once more is right. */
static LLVMValueRef f64_to_odd(jit_code_t *code, LLVMValueRef x) {
  LLVMBuilderRef b = code->builder;
  LLVMTypeRef f64 = llvm()->TypeOf(x), f32 = like(llvm()->FloatTypeInContext(code->context), x);
  LLVMTypeRef word = jit_integer_like(f32);
  LLVMValueRef nearest = llvm()->BuildFPTrunc(b, x, f32, ""), back = llvm()->BuildFPExt(b, nearest, f64, "");
  LLVMValueRef bits = llvm()->BuildBitCast(b, nearest, word, "");
  /* Outward if |x| is above |nearest|; an infinity from a finite number is one step too far as well. */
  LLVMValueRef size = jit_intrinsic(code, "llvm.fabs", f64, &x, 1);
  LLVMValueRef back_size = jit_intrinsic(code, "llvm.fabs", f64, &back, 1);
  LLVMValueRef outward = llvm()->BuildFCmp(b, LLVMRealOGT, size, back_size, "");
  LLVMValueRef inexact = llvm()->BuildFCmp(b, LLVMRealONE, x, back, "");
  LLVMValueRef step = llvm()->BuildSelect(b, outward, jit_int(word, 1), jit_int(word, -1), "");
  LLVMValueRef odd =
      llvm()->BuildICmp(b, LLVMIntNE, llvm()->BuildAnd(b, bits, jit_int(word, 1), ""), jit_int(word, 0), "");
  LLVMValueRef moved = llvm()->BuildSelect(b, odd, bits, llvm()->BuildAdd(b, bits, step, ""), "");
  return llvm()->BuildBitCast(b, llvm()->BuildSelect(b, inexact, moved, bits, ""), f32, "");
}

static LLVMValueRef integer_to_float(jit_code_t *code, LLVMValueRef x, LLVMTypeRef type, bool is_signed) {
  return is_signed ? llvm()->BuildSIToFP(code->builder, x, type, "") : llvm()->BuildUIToFP(code->builder, x, type, "");
}

/* Unsigned 64 bits to f32, rounded to odd: bits beyond the 24 of a mantissa are cut off and leave a mark. */
static LLVMValueRef u64_to_odd(jit_code_t *code, LLVMValueRef x) {
  LLVMBuilderRef b = code->builder;
  LLVMTypeRef type = llvm()->TypeOf(x);
  LLVMValueRef no = llvm()->ConstInt(llvm()->Int1TypeInContext(code->context), 0, false);
  LLVMValueRef zeros = jit_intrinsic(code, "llvm.ctlz", type, (LLVMValueRef[]){x, no}, 2);
  LLVMValueRef has_more = llvm()->BuildICmp(b, LLVMIntULT, zeros, jit_int(type, 40), "");
  LLVMValueRef more = llvm()->BuildSub(b, jit_int(type, 40), zeros, "");
  more = llvm()->BuildSelect(b, has_more, more, jit_int(type, 0), "");
  LLVMValueRef kept = llvm()->BuildShl(b, llvm()->BuildLShr(b, x, more, ""), more, "");
  LLVMValueRef mark = llvm()->BuildShl(b, jit_int(type, 1), more, "");
  LLVMValueRef lost = llvm()->BuildICmp(b, LLVMIntNE, kept, x, "");
  LLVMValueRef marked = llvm()->BuildSelect(b, lost, llvm()->BuildOr(b, kept, mark, ""), kept, "");
  return integer_to_float(code, marked, like(llvm()->FloatTypeInContext(code->context), x), false);
}

static LLVMValueRef s64_to_odd(jit_code_t *code, LLVMValueRef x) {
  LLVMBuilderRef b = code->builder;
  LLVMTypeRef type = llvm()->TypeOf(x);
  LLVMValueRef negative = llvm()->BuildICmp(b, LLVMIntSLT, x, jit_int(type, 0), "");
  LLVMValueRef size = llvm()->BuildSelect(b, negative, llvm()->BuildNeg(b, x, ""), x, "");
  LLVMValueRef odd = u64_to_odd(code, size);
  return llvm()->BuildSelect(b, negative, llvm()->BuildFNeg(b, odd, ""), odd, "");
}

/* To a float that is then rounded to a narrower one without rounding twice. */
static LLVMValueRef integer_to_odd(jit_code_t *code, hr_dtype_t from, LLVMValueRef x) {
  LLVMTypeRef f32 = like(llvm()->FloatTypeInContext(code->context), x);
  bool is_signed = hr_dtype_class(from) == HR_CLASS_SIGNED;
  if (hr_dtype_bytes(from) < 4) return integer_to_float(code, x, f32, is_signed);
  if (hr_dtype_bytes(from) == 8) return is_signed ? s64_to_odd(code, x) : u64_to_odd(code, x);
  LLVMTypeRef f64 = like(llvm()->DoubleTypeInContext(code->context), x);
  return f64_to_odd(code, integer_to_float(code, x, f64, is_signed));
}

/* The number of a float type that is nearest to an integer type's largest, and not above it; `above`: the next integer. */
static double largest_within(LLVMTypeRef type, int value_bits, double *out_above) {
  int mantissa = jit_element_bits(type) == 64 ? 53 : 24;
  *out_above = ldexp(1, value_bits);
  return *out_above - ldexp(1, value_bits > mantissa ? value_bits - mantissa : 0);
}

static LLVMValueRef limited(jit_code_t *code, LLVMValueRef x, double low, double high) {
  LLVMTypeRef type = llvm()->TypeOf(x);
  LLVMValueRef least = jit_real(type, low), most = jit_real(type, high);
  x = llvm()->BuildSelect(code->builder, llvm()->BuildFCmp(code->builder, LLVMRealOLT, x, least, ""), least, x, "");
  return llvm()->BuildSelect(code->builder, llvm()->BuildFCmp(code->builder, LLVMRealOGT, x, most, ""), most, x, "");
}

/* To the nearest integer that there is, and 0 from what is no number. LLVM's own saturating conversion takes lane by
 * lane. */
static LLVMValueRef float_to_integer(jit_code_t *code, hr_dtype_t to, LLVMValueRef x) {
  LLVMBuilderRef b = code->builder;
  LLVMTypeRef type = llvm()->TypeOf(x), result = like(jit_memory_type(code, to), x), computed = result;
  bool is_signed = hr_dtype_class(to) == HR_CLASS_SIGNED, is_narrow_integer = hr_dtype_bytes(to) < 4;
  int value_bits = hr_dtype_table[to].bits - is_signed;
  double above, top = largest_within(type, value_bits, &above);
  LLVMValueRef inside = limited(code, x, is_signed ? -above : 0, top);
  if (is_narrow_integer) computed = like(llvm()->Int32TypeInContext(code->context), x);
  LLVMValueRef value = is_signed || is_narrow_integer ? llvm()->BuildFPToSI(b, inside, computed, "")
                                                      : llvm()->BuildFPToUI(b, inside, computed, "");
  if (is_narrow_integer) value = llvm()->BuildTrunc(b, value, result, "");
  if (top != above - 1) {
    LLVMValueRef is_above = llvm()->BuildFCmp(b, LLVMRealOGE, x, jit_real(type, above), "");
    LLVMValueRef most = jit_int(result, (int64_t)(~(uint64_t)0 >> (64 - value_bits)));
    value = llvm()->BuildSelect(b, is_above, most, value, "");
  }
  LLVMValueRef is_none = llvm()->BuildFCmp(b, LLVMRealUNO, x, x, "");
  return llvm()->BuildSelect(b, is_none, llvm()->ConstNull(result), value, "");
}

static LLVMValueRef float_to_float(jit_code_t *code, hr_dtype_t from, hr_dtype_t to, LLVMValueRef x) {
  if (from == HR_F64 && is_narrow(to)) return jit_round(code, to, f64_to_odd(code, x));
  if (from == HR_F64)
    return llvm()->BuildFPTrunc(code->builder, x, like(llvm()->FloatTypeInContext(code->context), x), "");
  if (to == HR_F64)
    return llvm()->BuildFPExt(code->builder, x, like(llvm()->DoubleTypeInContext(code->context), x), "");
  return jit_round(code, to, x);
}

static LLVMValueRef integer_to_integer(jit_code_t *code, hr_dtype_t from, hr_dtype_t to, LLVMValueRef x) {
  LLVMTypeRef type = like(jit_memory_type(code, to), x);
  if (hr_dtype_bytes(to) == hr_dtype_bytes(from)) return jit_round(code, to, x);
  if (hr_dtype_bytes(to) < hr_dtype_bytes(from))
    return jit_round(code, to, llvm()->BuildTrunc(code->builder, x, type, ""));
  return hr_dtype_class(from) == HR_CLASS_SIGNED ? llvm()->BuildSExt(code->builder, x, type, "")
                                                 : llvm()->BuildZExt(code->builder, x, type, "");
}

static LLVMValueRef to_pred(jit_code_t *code, hr_dtype_t from, LLVMValueRef x) {
  LLVMValueRef zero = llvm()->ConstNull(llvm()->TypeOf(x));
  return hr_dtype_is_float(from) ? llvm()->BuildFCmp(code->builder, LLVMRealUNE, x, zero, "")
                                 : llvm()->BuildICmp(code->builder, LLVMIntNE, x, zero, "");
}

/* bf16 has all integers of eight bits, and f16 more: nothing is rounded. */
static bool is_exact(hr_dtype_t from, hr_dtype_t to) {
  return hr_dtype_is_float(to) && hr_dtype_bytes(to) == 2 && hr_dtype_table[from].bits <= 8;
}

LLVMValueRef jit_convert_emit(jit_code_t *code, hr_dtype_t from, hr_dtype_t to, LLVMValueRef x) {
  if (from == to) return x;
  if (hr_dtype_is_complex(from) || hr_dtype_is_complex(to)) {
    jit_element_op_t op = {.op = HLO_CONVERT, .from = from, .to = to};
    return jit_complex_emit(code, &op, &x);
  }
  if (to == HR_PRED) return to_pred(code, from, x);
  LLVMTypeRef type = like(jit_register_type(code, to), x);
  if (hr_dtype_is_float(from))
    return hr_dtype_is_float(to) ? float_to_float(code, from, to, x) : float_to_integer(code, to, x);
  if (is_exact(from, to)) return integer_to_float(code, x, type, hr_dtype_class(from) == HR_CLASS_SIGNED);
  if (from == HR_PRED)
    return jit_round(code, to, hr_dtype_is_float(to) ? integer_to_float(code, x, type, false)
                                                     : llvm()->BuildZExt(code->builder, x, type, ""));
  if (!hr_dtype_is_float(to)) return integer_to_integer(code, from, to, x);
  if (is_narrow(to)) return jit_round(code, to, integer_to_odd(code, from, x));
  return integer_to_float(code, x, type, hr_dtype_class(from) == HR_CLASS_SIGNED);
}
