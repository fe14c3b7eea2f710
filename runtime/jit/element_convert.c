/* Conversions between element types. */
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

static LLVMValueRef float_to_integer(jit_code_t *code, hr_dtype_t to, LLVMValueRef x) {
  bool is_signed = hr_dtype_class(to) == HR_CLASS_SIGNED;
  LLVMTypeRef type = like(jit_memory_type(code, to), x), overloads[] = {type, llvm()->TypeOf(x)};
  LLVMValueRef whole = jit_intrinsic_of(code, is_signed ? "llvm.fptosi.sat" : "llvm.fptoui.sat", overloads, 2, &x, 1);
  int bits = hr_dtype_table[to].bits;
  if (bits == jit_element_bits(type)) return whole;
  int64_t most = ((int64_t)1 << (bits - (is_signed ? 1 : 0))) - 1;
  LLVMValueRef at_most[] = {whole, jit_int(type, most)};
  whole = jit_intrinsic(code, is_signed ? "llvm.smin" : "llvm.umin", type, at_most, 2);
  return is_signed ? jit_intrinsic(code, "llvm.smax", type, (LLVMValueRef[]){whole, jit_int(type, -most - 1)}, 2) : whole;
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
  if (from == HR_PRED)
    return jit_round(code, to, hr_dtype_is_float(to) ? integer_to_float(code, x, type, false)
                                                     : llvm()->BuildZExt(code->builder, x, type, ""));
  if (!hr_dtype_is_float(to)) return integer_to_integer(code, from, to, x);
  if (is_narrow(to)) return jit_round(code, to, integer_to_odd(code, from, x));
  return integer_to_float(code, x, type, hr_dtype_class(from) == HR_CLASS_SIGNED);
}
