/* Ops on floats; jit_math.h has the functions. */
#include <math.h>
#include <stdio.h>

#include "jit/element.h"
#include "jit/jit_math.h"

/* Exact results of numbers of a type are numbers of the type. */
static bool is_exact(hlo_opcode_t op) {
  switch (op) {
    case HLO_NEGATE: case HLO_ABS: case HLO_MAXIMUM: case HLO_MINIMUM: case HLO_SIGN: case HLO_FLOOR: case HLO_CEIL:
    case HLO_ROUND_NEAREST_AFZ:
    case HLO_ROUND_NEAREST_EVEN:
    case HLO_REAL:
    case HLO_IMAG:
    case HLO_IS_FINITE: return true;
    default: return false;
  }
}

/* To `mantissa` bits, to nearest even, then to the exponents of a format of `exponent` bits; see scalar.h. */
static LLVMValueRef reduce_precision(jit_code_t *code, LLVMValueRef a, int exponent, int mantissa) {
  LLVMBuilderRef b = code->builder;
  LLVMTypeRef type = llvm()->TypeOf(a), word = jit_integer_like(type);
  int width = jit_element_bits(word), M = width == 32 ? 23 : 52, E = width == 32 ? 8 : 11;
  int64_t infinity = (int64_t)((((uint64_t)1 << E) - 1) << M);
  LLVMValueRef whole = llvm()->BuildBitCast(b, a, word, "");
  LLVMValueRef sign = llvm()->BuildAnd(b, whole, jit_int(word, (int64_t)((uint64_t)1 << (M + E))), "");
  LLVMValueRef size = llvm()->BuildXor(b, whole, sign, ""), bits = size;
  if (mantissa < M) {
    int64_t unit = (int64_t)1 << (M - mantissa);
    LLVMValueRef odd =
        llvm()->BuildAnd(b, llvm()->BuildLShr(b, bits, jit_int(word, M - mantissa), ""), jit_int(word, 1), "");
    bits = llvm()->BuildAdd(b, bits, llvm()->BuildAdd(b, odd, jit_int(word, (unit >> 1) - 1), ""), "");
    bits = llvm()->BuildAnd(b, bits, jit_int(word, ~(unit - 1)), "");
  }
  if (exponent < E) {
    int64_t bias = ((int64_t)1 << (E - 1)) - 1, reduced = ((int64_t)1 << (exponent - 1)) - 1;
    LLVMValueRef place = llvm()->BuildLShr(b, bits, jit_int(word, M), "");
    LLVMValueRef over = llvm()->BuildICmp(b, LLVMIntUGT, place, jit_int(word, bias + reduced), "");
    bits = llvm()->BuildSelect(b, over, jit_int(word, infinity), bits, "");
    place = llvm()->BuildLShr(b, bits, jit_int(word, M), "");
    LLVMValueRef under = llvm()->BuildICmp(b, LLVMIntULE, place, jit_int(word, bias - reduced), "");
    bits = llvm()->BuildSelect(b, under, jit_int(word, 0), bits, "");
  }
  LLVMValueRef is_nan = llvm()->BuildICmp(b, LLVMIntUGT, size, jit_int(word, infinity), "");
  LLVMValueRef result = llvm()->BuildBitCast(b, llvm()->BuildOr(b, sign, bits, ""), type, "");
  return llvm()->BuildSelect(b, is_nan, a, result, "");
}

/* The denormals of a narrow type are normal in f32: rounded first to the unit that the mantissa leaves them. */
static LLVMValueRef reduce_narrow(jit_code_t *code, hr_dtype_t dtype, LLVMValueRef a, int exponent, int mantissa) {
  LLVMBuilderRef b = code->builder;
  LLVMTypeRef type = llvm()->TypeOf(a);
  const hr_float_format_t *format = hr_float_format(dtype);
  double least = ldexp(1, 1 - format->bias), shifter = (float)(least * ldexp(1.5, 23 - mantissa));
  if (mantissa >= 23) return reduce_precision(code, a, exponent, mantissa);
  LLVMValueRef size = jit_intrinsic(code, "llvm.fabs", type, &a, 1);
  LLVMValueRef shifted = llvm()->BuildFAdd(b, size, jit_real(type, shifter), "");
  LLVMValueRef rounded = llvm()->BuildFSub(b, shifted, jit_real(type, shifter), "");
  rounded = jit_intrinsic(code, "llvm.copysign", type, (LLVMValueRef[]){rounded, a}, 2);
  LLVMValueRef is_small = llvm()->BuildFCmp(b, LLVMRealOLT, size, jit_real(type, least), "");
  return reduce_precision(code, llvm()->BuildSelect(b, is_small, rounded, a, ""), exponent, mantissa);
}

static LLVMValueRef reduced(jit_code_t *code, const jit_element_op_t *op, LLVMValueRef a) {
  int exponent = (int)(op->detail / 128), mantissa = (int)(op->detail % 128);
  const hr_float_format_t *format = hr_float_format(op->from);
  if (exponent >= format->exponent_bits) exponent = 64;
  return op->from == HR_F32 || op->from == HR_F64 ? reduce_precision(code, a, exponent, mantissa)
                                                  : reduce_narrow(code, op->from, a, exponent, mantissa);
}

static LLVMValueRef compute(jit_code_t *code, const jit_element_op_t *op, LLVMValueRef *args) {
  LLVMBuilderRef b = code->builder;
  LLVMTypeRef type = llvm()->TypeOf(args[0]);
  switch (op->op) {
    case HLO_ADD: return llvm()->BuildFAdd(b, args[0], args[1], "");
    case HLO_SUBTRACT: return llvm()->BuildFSub(b, args[0], args[1], "");
    case HLO_MULTIPLY: return llvm()->BuildFMul(b, args[0], args[1], "");
    case HLO_DIVIDE: return llvm()->BuildFDiv(b, args[0], args[1], "");
    case HLO_NEGATE: return llvm()->BuildFNeg(b, args[0], "");
    case HLO_ABS: return jit_intrinsic(code, "llvm.fabs", type, args, 1);
    case HLO_REAL: return args[0];
    case HLO_IMAG: return llvm()->ConstNull(type);
    case HLO_REDUCE_PRECISION: return reduced(code, op, args[0]);
    case HLO_REMAINDER: case HLO_POWER: case HLO_ATAN2: case HLO_MAXIMUM: case HLO_MINIMUM:
      return jit_math_emit(code, op->op, args[0], args[1]);
    default: return jit_math_emit(code, op->op, args[0], NULL);
  }
}

/* --- functions that are called --------------------------------------------------------------------------------- */

#define LONG_COST 12.0 /* of what is shorter in a call than written out */

static LLVMValueRef find_function(jit_code_t *code, hlo_opcode_t op, LLVMTypeRef type, int count,
                                  LLVMTypeRef *out_type) {
  char name[96];
  LLVMBuilderRef b = code->builder;
  snprintf(name, sizeof name, "math.%s.%d.%d", hlo_op_name(op), jit_element_bits(type), jit_lanes(type));
  *out_type = llvm()->FunctionType(type, (LLVMTypeRef[]){type, type}, (unsigned)count, false);
  LLVMValueRef function = llvm()->GetNamedFunction(code->module, name);
  if (function) return function;
  LLVMBasicBlockRef back = llvm()->GetInsertBlock(b);
  LLVMValueRef next = llvm()->GetBasicBlockTerminator(back);
  function = llvm()->AddFunction(code->module, name, *out_type);
  llvm()->SetLinkage(function, LLVMInternalLinkage);
  llvm()->PositionBuilderAtEnd(b, llvm()->AppendBasicBlockInContext(code->context, function, ""));
  LLVMValueRef y = count > 1 ? llvm()->GetParam(function, 1) : NULL;
  llvm()->BuildRet(b, jit_math_emit(code, op, llvm()->GetParam(function, 0), y));
  if (next)
    llvm()->PositionBuilderBefore(b, next);
  else
    llvm()->PositionBuilderAtEnd(b, back);
  return function;
}

static bool is_called(const jit_element_op_t *op) {
  return op->shared && op->op != HLO_IS_FINITE && jit_math_knows(op->op) &&
         jit_math_cost(op->op, op->from == HR_F64) >= LONG_COST;
}

static LLVMValueRef call(jit_code_t *code, const void *context, LLVMValueRef *args) {
  const jit_element_op_t *op = context;
  LLVMTypeRef type;
  int count = hlo_op_table[op->op].operands;
  LLVMValueRef function = find_function(code, op->op, llvm()->TypeOf(args[0]), count, &type);
  return llvm()->BuildCall2(code->builder, type, function, args, (unsigned)count, "");
}

LLVMValueRef jit_float_emit(jit_code_t *code, const jit_element_op_t *op, LLVMValueRef *args) {
  int count = hlo_op_table[op->op].operands;
  LLVMValueRef result = is_called(op) ? jit_by_vectors(code, call, op, args, count) : compute(code, op, args);
  /* The narrowest types lack some zeros and all that is infinite. */
  bool is_held = is_exact(op->op) && !jit_is_narrow_float(op->to);
  return is_held ? result : jit_round(code, op->to, result);
}
