/* Ops on integers: total, as scalar.h says. */
#include <stdio.h>

#include "jit/element.h"

static LLVMValueRef is_less(jit_code_t *code, bool is_signed, LLVMValueRef a, LLVMValueRef b) {
  return llvm()->BuildICmp(code->builder, is_signed ? LLVMIntSLT : LLVMIntULT, a, b, "");
}

static LLVMValueRef is_equal(jit_code_t *code, LLVMValueRef a, int64_t b) {
  return llvm()->BuildICmp(code->builder, LLVMIntEQ, a, jit_int(llvm()->TypeOf(a), b), "");
}

/* Quotients of vectors of up to 32 bits are exact when computed in floats of twice as many bits and cut off. */
static LLVMValueRef divide_as_floats(jit_code_t *code, bool is_signed, LLVMValueRef a, LLVMValueRef b) {
  LLVMTypeRef type = llvm()->TypeOf(a);
  LLVMTypeRef real = jit_element_bits(type) > 16 ? llvm()->DoubleTypeInContext(code->context)
                                                 : llvm()->FloatTypeInContext(code->context);
  real = jit_type_like(real, type);
  if (!is_signed) {
    LLVMValueRef x = llvm()->BuildUIToFP(code->builder, a, real, ""),
                 y = llvm()->BuildUIToFP(code->builder, b, real, "");
    return llvm()->BuildFPToUI(code->builder, llvm()->BuildFDiv(code->builder, x, y, ""), type, "");
  }
  LLVMValueRef x = llvm()->BuildSIToFP(code->builder, a, real, ""), y = llvm()->BuildSIToFP(code->builder, b, real, "");
  return llvm()->BuildFPToSI(code->builder, llvm()->BuildFDiv(code->builder, x, y, ""), type, "");
}

static LLVMValueRef plain_divide(jit_code_t *code, bool is_signed, bool is_constant, LLVMValueRef a, LLVMValueRef b) {
  LLVMTypeRef type = llvm()->TypeOf(a);
  if (!is_constant && jit_lanes(type) > 1 && jit_element_bits(type) <= 32)
    return divide_as_floats(code, is_signed, a, b);
  return is_signed ? llvm()->BuildSDiv(code->builder, a, b, "") : llvm()->BuildUDiv(code->builder, a, b, "");
}

/* a / b and a % b, where 1 stands in for divisors with a rule of their own. */
static LLVMValueRef divide(jit_code_t *code, const jit_element_op_t *op, LLVMValueRef a, LLVMValueRef b) {
  bool is_signed = hr_dtype_class(op->from) == HR_CLASS_SIGNED, remainder = op->op == HLO_REMAINDER;
  LLVMBuilderRef builder = code->builder;
  LLVMTypeRef type = llvm()->TypeOf(a);
  LLVMValueRef is_zero = is_equal(code, b, 0), is_minus = is_signed ? is_equal(code, b, -1) : NULL, safe = b;
  if (!op->safe_divisor) {
    LLVMValueRef special = is_signed ? llvm()->BuildOr(builder, is_zero, is_minus, "") : is_zero;
    safe = llvm()->BuildSelect(builder, special, jit_int(type, 1), b, "");
  }
  LLVMValueRef result = plain_divide(code, is_signed, op->safe_divisor, a, safe);
  if (remainder) result = llvm()->BuildSub(builder, a, llvm()->BuildMul(builder, result, safe, ""), "");
  if (op->safe_divisor) return result;
  LLVMValueRef by_minus = remainder ? jit_int(type, 0) : llvm()->BuildNeg(builder, a, "");
  LLVMValueRef by_zero = remainder ? a : jit_int(type, -1);
  if (is_signed) result = llvm()->BuildSelect(builder, is_minus, by_minus, result, "");
  return llvm()->BuildSelect(builder, is_zero, by_zero, result, "");
}

/* The bits that a type of fewer has, without the extension of its sign. */
static LLVMValueRef low_bits(jit_code_t *code, hr_dtype_t dtype, LLVMValueRef a) {
  LLVMTypeRef type = llvm()->TypeOf(a);
  int bits = hr_dtype_table[dtype].bits;
  if (bits == jit_element_bits(type)) return a;
  return llvm()->BuildAnd(code->builder, a, jit_int(type, ((int64_t)1 << bits) - 1), "");
}

/* The same bits as the signed type of as many has them. */
static LLVMValueRef with_sign(jit_code_t *code, hr_dtype_t dtype, LLVMValueRef a) {
  LLVMTypeRef type = llvm()->TypeOf(a);
  int unused = jit_element_bits(type) - hr_dtype_table[dtype].bits;
  if (!unused) return a;
  LLVMValueRef high = llvm()->BuildShl(code->builder, a, jit_int(type, unused), "");
  return llvm()->BuildAShr(code->builder, high, jit_int(type, unused), "");
}

static LLVMValueRef shift(jit_code_t *code, hlo_opcode_t op, hr_dtype_t dtype, LLVMValueRef a, LLVMValueRef b) {
  LLVMBuilderRef builder = code->builder;
  LLVMTypeRef type = llvm()->TypeOf(a);
  int bits = hr_dtype_table[dtype].bits;
  if (op == HLO_SHIFT_RIGHT_LOGICAL) a = low_bits(code, dtype, a);
  if (op == HLO_SHIFT_RIGHT_ARITHMETIC) a = with_sign(code, dtype, a);
  LLVMValueRef fits = is_less(code, false, b, jit_int(type, bits));
  LLVMValueRef most = jit_int(type, op == HLO_SHIFT_RIGHT_ARITHMETIC ? bits - 1 : 0);
  LLVMValueRef amount = llvm()->BuildSelect(builder, fits, b, most, "");
  if (op == HLO_SHIFT_RIGHT_ARITHMETIC) return llvm()->BuildAShr(builder, a, amount, "");
  LLVMValueRef moved = op == HLO_SHIFT_LEFT ? llvm()->BuildShl(builder, a, amount, "")
                                            : llvm()->BuildLShr(builder, a, amount, "");
  return llvm()->BuildSelect(builder, fits, moved, jit_int(type, 0), "");
}

static LLVMValueRef multiply_high(jit_code_t *code, hr_dtype_t dtype, LLVMValueRef a, LLVMValueRef b) {
  LLVMBuilderRef builder = code->builder;
  LLVMTypeRef type = llvm()->TypeOf(a);
  bool is_signed = hr_dtype_class(dtype) == HR_CLASS_SIGNED;
  int bits = hr_dtype_table[dtype].bits;
  LLVMTypeRef double_width = llvm()->IntTypeInContext(code->context, (unsigned)(2 * jit_element_bits(type)));
  LLVMTypeRef wide = jit_type_like(double_width, type);
  LLVMValueRef x = is_signed ? llvm()->BuildSExt(builder, a, wide, "") : llvm()->BuildZExt(builder, a, wide, "");
  LLVMValueRef y = is_signed ? llvm()->BuildSExt(builder, b, wide, "") : llvm()->BuildZExt(builder, b, wide, "");
  LLVMValueRef product = llvm()->BuildLShr(builder, llvm()->BuildMul(builder, x, y, ""), jit_int(wide, bits), "");
  return llvm()->BuildTrunc(builder, product, type, "");
}

static LLVMValueRef extreme(jit_code_t *code, const jit_element_op_t *op, LLVMValueRef a, LLVMValueRef b) {
  bool is_signed = hr_dtype_class(op->from) == HR_CLASS_SIGNED;
  LLVMValueRef less = is_less(code, is_signed, a, b);
  return op->op == HLO_MAXIMUM ? llvm()->BuildSelect(code->builder, less, b, a, "")
                               : llvm()->BuildSelect(code->builder, less, a, b, "");
}

static LLVMValueRef sign(jit_code_t *code, bool is_signed, LLVMValueRef a) {
  LLVMTypeRef type = llvm()->TypeOf(a);
  LLVMValueRef zero = jit_int(type, 0);
  LLVMValueRef is_zero = llvm()->BuildICmp(code->builder, LLVMIntEQ, a, zero, "");
  LLVMValueRef sized = jit_int(type, 1);
  if (is_signed) sized = llvm()->BuildSelect(code->builder, is_less(code, true, a, zero), jit_int(type, -1), sized, "");
  return llvm()->BuildSelect(code->builder, is_zero, zero, sized, "");
}

static LLVMValueRef absolute(jit_code_t *code, bool is_signed, LLVMValueRef a) {
  if (!is_signed) return a;
  LLVMValueRef negative = is_less(code, true, a, jit_int(llvm()->TypeOf(a), 0));
  return llvm()->BuildSelect(code->builder, negative, llvm()->BuildNeg(code->builder, a, ""), a, "");
}

/* --- powers ---------------------------------------------------------------------------------------------------- */

static LLVMValueRef any_lane(jit_code_t *code, LLVMValueRef condition) {
  LLVMTypeRef type = llvm()->TypeOf(condition);
  return jit_lanes(type) == 1 ? condition : jit_intrinsic(code, "llvm.vector.reduce.or", type, &condition, 1);
}

/* One bit of the exponents a turn, until all are 0:  loop: (result, square, left). */
static void write_power_loop(jit_code_t *code, LLVMValueRef function) {
  LLVMBuilderRef b = code->builder;
  LLVMValueRef base = llvm()->GetParam(function, 0), exponent = llvm()->GetParam(function, 1);
  LLVMTypeRef type = llvm()->TypeOf(base);
  LLVMBasicBlockRef entry = llvm()->AppendBasicBlockInContext(code->context, function, "entry");
  LLVMBasicBlockRef loop = llvm()->AppendBasicBlockInContext(code->context, function, "loop");
  LLVMBasicBlockRef done = llvm()->AppendBasicBlockInContext(code->context, function, "done");
  llvm()->PositionBuilderAtEnd(b, entry);
  llvm()->BuildBr(b, loop);
  llvm()->PositionBuilderAtEnd(b, loop);
  LLVMValueRef result = llvm()->BuildPhi(b, type, ""), square = llvm()->BuildPhi(b, type, ""),
               left = llvm()->BuildPhi(b, type, "");
  LLVMValueRef one = jit_int(type, 1), zero = jit_int(type, 0);
  LLVMValueRef odd = llvm()->BuildICmp(b, LLVMIntNE, llvm()->BuildAnd(b, left, one, ""), zero, "");
  LLVMValueRef factor = llvm()->BuildSelect(b, odd, square, one, "");
  LLVMValueRef next[] = {llvm()->BuildMul(b, result, factor, ""), llvm()->BuildMul(b, square, square, ""),
                         llvm()->BuildLShr(b, left, one, "")};
  LLVMValueRef more = any_lane(code, llvm()->BuildICmp(b, LLVMIntNE, next[2], zero, ""));
  llvm()->BuildCondBr(b, more, loop, done);
  LLVMBasicBlockRef from[] = {entry, loop};
  llvm()->AddIncoming(result, (LLVMValueRef[]){one, next[0]}, from, 2);
  llvm()->AddIncoming(square, (LLVMValueRef[]){base, next[1]}, from, 2);
  llvm()->AddIncoming(left, (LLVMValueRef[]){exponent, next[2]}, from, 2);
  llvm()->PositionBuilderAtEnd(b, done);
  llvm()->BuildRet(b, next[0]);
}

static LLVMValueRef power_function(jit_code_t *code, LLVMTypeRef type, LLVMTypeRef *out_type) {
  char name[64];
  snprintf(name, sizeof name, "power.i%d.%d", jit_element_bits(type), jit_lanes(type));
  *out_type = llvm()->FunctionType(type, (LLVMTypeRef[]){type, type}, 2, false);
  LLVMValueRef function = llvm()->GetNamedFunction(code->module, name);
  if (function) return function;
  LLVMBasicBlockRef back = llvm()->GetInsertBlock(code->builder);
  LLVMValueRef next = llvm()->GetBasicBlockTerminator(back);
  function = llvm()->AddFunction(code->module, name, *out_type);
  llvm()->SetLinkage(function, LLVMInternalLinkage);
  write_power_loop(code, function);
  if (next)
    llvm()->PositionBuilderBefore(code->builder, next);
  else
    llvm()->PositionBuilderAtEnd(code->builder, back);
  return function;
}

static LLVMValueRef power(jit_code_t *code, bool is_signed, LLVMValueRef base, LLVMValueRef exponent) {
  LLVMBuilderRef b = code->builder;
  LLVMTypeRef type = llvm()->TypeOf(base), function_type;
  LLVMValueRef function = power_function(code, type, &function_type);
  LLVMValueRef result = llvm()->BuildCall2(b, function_type, function, (LLVMValueRef[]){base, exponent}, 2, "");
  if (!is_signed) return result;
  LLVMValueRef odd = is_equal(code, llvm()->BuildAnd(b, exponent, jit_int(type, 1), ""), 1);
  LLVMValueRef of_minus = llvm()->BuildSelect(b, odd, jit_int(type, -1), jit_int(type, 1), "");
  LLVMValueRef fraction = llvm()->BuildSelect(b, is_equal(code, base, -1), of_minus, jit_int(type, 0), "");
  fraction = llvm()->BuildSelect(b, is_equal(code, base, 1), jit_int(type, 1), fraction, "");
  return llvm()->BuildSelect(b, is_less(code, true, exponent, jit_int(type, 0)), fraction, result, "");
}

static LLVMValueRef leading_zeros(jit_code_t *code, hr_dtype_t dtype, LLVMValueRef a) {
  LLVMTypeRef type = llvm()->TypeOf(a);
  LLVMValueRef no = llvm()->ConstInt(llvm()->Int1TypeInContext(code->context), 0, false);
  LLVMValueRef zeros = jit_intrinsic(code, "llvm.ctlz", type, (LLVMValueRef[]){low_bits(code, dtype, a), no}, 2);
  int unused = jit_element_bits(type) - hr_dtype_table[dtype].bits;
  return unused ? llvm()->BuildSub(code->builder, zeros, jit_int(type, unused), "") : zeros;
}

static LLVMValueRef compute(jit_code_t *code, const jit_element_op_t *op, LLVMValueRef *args) {
  LLVMBuilderRef b = code->builder;
  LLVMTypeRef type = llvm()->TypeOf(args[0]);
  bool is_signed = hr_dtype_class(op->from) == HR_CLASS_SIGNED;
  switch (op->op) {
    case HLO_ADD: return llvm()->BuildAdd(b, args[0], args[1], "");
    case HLO_SUBTRACT: return llvm()->BuildSub(b, args[0], args[1], "");
    case HLO_MULTIPLY: return llvm()->BuildMul(b, args[0], args[1], "");
    case HLO_AND: return llvm()->BuildAnd(b, args[0], args[1], "");
    case HLO_OR: return llvm()->BuildOr(b, args[0], args[1], "");
    case HLO_XOR: return llvm()->BuildXor(b, args[0], args[1], "");
    case HLO_NOT: return llvm()->BuildNot(b, args[0], "");
    case HLO_NEGATE: return llvm()->BuildNeg(b, args[0], "");
    case HLO_ABS: return absolute(code, is_signed, args[0]);
    case HLO_SIGN: return sign(code, is_signed, args[0]);
    case HLO_POPCNT: {
      LLVMValueRef low = low_bits(code, op->from, args[0]);
      return jit_intrinsic(code, "llvm.ctpop", type, &low, 1);
    }
    case HLO_COUNT_LEADING_ZEROS: return leading_zeros(code, op->from, args[0]);
    case HLO_DIVIDE:
    case HLO_REMAINDER: return divide(code, op, args[0], args[1]);
    case HLO_POWER: return power(code, is_signed, args[0], args[1]);
    case HLO_MULHI: return multiply_high(code, op->from, args[0], args[1]);
    case HLO_MAXIMUM:
    case HLO_MINIMUM: return extreme(code, op, args[0], args[1]);
    default: return shift(code, op->op, op->from, args[0], args[1]);
  }
}

LLVMValueRef jit_integer_emit(jit_code_t *code, const jit_element_op_t *op, LLVMValueRef *args) {
  return jit_round(code, op->to, compute(code, op, args));
}
