/* Ops on complex numbers, as ops/complex_math.h means them. */
#include "jit/element_complex.h"

/* --- parts ----------------------------------------------------------------------------------------------------- */

static LLVMValueRef number(jit_code_t *code, int value) {
  return llvm()->ConstInt(llvm()->Int32TypeInContext(code->context), (uint64_t)value, false);
}

/* The lanes first, first + step, ... of a, followed by b. */
static LLVMValueRef take(jit_code_t *code, LLVMValueRef a, LLVMValueRef b, int first, int step, int count) {
  LLVMValueRef order[1024];
  for (int i = 0; i < count; i++) order[i] = number(code, first + i * step);
  return llvm()->BuildShuffleVector(code->builder, a, b, llvm()->ConstVector(order, (unsigned)count), "");
}

/* Is it what jit_complex_join wrote of vectors: a0 b0 a1 b1 ...? */
static bool is_joined_vector(LLVMValueRef value) {
  if (!llvm()->IsAShuffleVectorInst(value)) return false;
  int count = (int)llvm()->GetNumMaskElements(value);
  for (int i = 0; i < count; i++)
    if (llvm()->GetMaskValue(value, (unsigned)i) != i / 2 + i % 2 * (count / 2)) return false;
  return count == 2 * jit_lanes(llvm()->TypeOf(llvm()->GetOperand(value, 0)));
}

static bool is_joined_scalar(LLVMValueRef value) {
  return llvm()->IsAInsertElementInst(value) && llvm()->IsAInsertElementInst(llvm()->GetOperand(value, 0));
}

static bool is_joined(LLVMValueRef value) {
  return llvm()->IsConstant(value) || is_joined_vector(value) || is_joined_scalar(value);
}

jit_pair_t jit_complex_split(jit_code_t *code, LLVMValueRef value) {
  LLVMBuilderRef b = code->builder;
  int lanes = jit_lanes(llvm()->TypeOf(value)) / 2;
  if (is_joined_vector(value)) return (jit_pair_t){llvm()->GetOperand(value, 0), llvm()->GetOperand(value, 1)};
  if (is_joined_scalar(value))
    return (jit_pair_t){llvm()->GetOperand(llvm()->GetOperand(value, 0), 1), llvm()->GetOperand(value, 1)};
  if (lanes == 1)
    return (jit_pair_t){llvm()->BuildExtractElement(b, value, number(code, 0), ""),
                        llvm()->BuildExtractElement(b, value, number(code, 1), "")};
  return (jit_pair_t){take(code, value, value, 0, 2, lanes), take(code, value, value, 1, 2, lanes)};
}

LLVMValueRef jit_complex_join(jit_code_t *code, jit_pair_t parts) {
  LLVMTypeRef type = llvm()->TypeOf(parts.re);
  int lanes = jit_lanes(type);
  if (lanes == 1) {
    LLVMValueRef none = llvm()->GetPoison(llvm()->VectorType(type, 2));
    LLVMValueRef first = llvm()->BuildInsertElement(code->builder, none, parts.re, number(code, 0), "");
    return llvm()->BuildInsertElement(code->builder, first, parts.im, number(code, 1), "");
  }
  LLVMValueRef order[1024];
  for (int i = 0; i < 2 * lanes; i++) order[i] = number(code, i / 2 + i % 2 * lanes);
  LLVMValueRef places = llvm()->ConstVector(order, (unsigned)(2 * lanes));
  return llvm()->BuildShuffleVector(code->builder, parts.re, parts.im, places, "");
}

/* --- lanes ----------------------------------------------------------------------------------------------------- */

int jit_element_lanes(hr_dtype_t dtype, LLVMValueRef value) {
  return jit_lanes(llvm()->TypeOf(value)) / (hr_dtype_is_complex(dtype) ? 2 : 1);
}

LLVMValueRef jit_element_splat(jit_code_t *code, hr_dtype_t dtype, int lanes, LLVMValueRef scalar) {
  if (lanes == 1) return scalar;
  if (!hr_dtype_is_complex(dtype))
    return jit_splat(code, llvm()->VectorType(llvm()->TypeOf(scalar), (unsigned)lanes), scalar);
  jit_pair_t parts = jit_complex_split(code, scalar);
  LLVMTypeRef type = llvm()->VectorType(llvm()->TypeOf(parts.re), (unsigned)lanes);
  return jit_complex_join(code, (jit_pair_t){jit_splat(code, type, parts.re), jit_splat(code, type, parts.im)});
}

LLVMValueRef jit_element_take(jit_code_t *code, hr_dtype_t dtype, LLVMValueRef value, int first, int lanes) {
  int each = hr_dtype_is_complex(dtype) ? 2 : 1;
  return take(code, value, value, first * each, 1, lanes * each);
}

LLVMValueRef jit_element_choose(jit_code_t *code, hr_dtype_t dtype, LLVMValueRef condition, LLVMValueRef a,
                                LLVMValueRef b) {
  LLVMBuilderRef builder = code->builder;
  int lanes = jit_lanes(llvm()->TypeOf(condition));
  if (!hr_dtype_is_complex(dtype) || lanes == 1) return llvm()->BuildSelect(builder, condition, a, b, "");
  if (dtype == HR_C64 && !is_joined(a) && !is_joined(b)) {
    LLVMTypeRef type = llvm()->TypeOf(a);
    LLVMTypeRef whole = llvm()->VectorType(llvm()->Int64TypeInContext(code->context), (unsigned)lanes);
    a = llvm()->BuildBitCast(builder, a, whole, ""), b = llvm()->BuildBitCast(builder, b, whole, "");
    return llvm()->BuildBitCast(builder, llvm()->BuildSelect(builder, condition, a, b, ""), type, "");
  }
  jit_pair_t x = jit_complex_split(code, a), y = jit_complex_split(code, b);
  jit_pair_t chosen = {llvm()->BuildSelect(builder, condition, x.re, y.re, ""),
                       llvm()->BuildSelect(builder, condition, x.im, y.im, "")};
  return jit_complex_join(code, chosen);
}

/* --- ops ------------------------------------------------------------------------------------------------------- */

/* What does the same to both parts, on the vector of all. */
static LLVMValueRef by_parts(jit_code_t *code, hlo_opcode_t op, LLVMValueRef *args) {
  switch (op) {
    case HLO_ADD: return llvm()->BuildFAdd(code->builder, args[0], args[1], "");
    case HLO_SUBTRACT: return llvm()->BuildFSub(code->builder, args[0], args[1], "");
    default: return llvm()->BuildFNeg(code->builder, args[0], "");
  }
}

static LLVMValueRef both_parts(jit_code_t *code, hlo_opcode_t op, LLVMValueRef *args, int count) {
  bool joined = is_joined(args[0]) || (count > 1 && is_joined(args[1]));
  if (!joined) return by_parts(code, op, args);
  jit_pair_t x = jit_complex_split(code, args[0]), y = count > 1 ? jit_complex_split(code, args[1]) : x;
  jit_pair_t result = {by_parts(code, op, (LLVMValueRef[]){x.re, y.re}), by_parts(code, op, (LLVMValueRef[]){x.im, y.im})};
  return jit_complex_join(code, result);
}

static LLVMValueRef multiply(jit_code_t *code, jit_pair_t a, jit_pair_t b) {
  LLVMBuilderRef builder = code->builder;
  LLVMValueRef rr = llvm()->BuildFMul(builder, a.re, b.re, ""), ii = llvm()->BuildFMul(builder, a.im, b.im, "");
  LLVMValueRef ri = llvm()->BuildFMul(builder, a.re, b.im, ""), ir = llvm()->BuildFMul(builder, a.im, b.re, "");
  return jit_complex_join(code, (jit_pair_t){llvm()->BuildFSub(builder, rr, ii, ""), llvm()->BuildFAdd(builder, ri, ir, "")});
}

/* A condition on the real parts joined with one on the imaginary parts. */
static LLVMValueRef test(jit_code_t *code, LLVMRealPredicate is, LLVMValueRef a, LLVMValueRef b) {
  return llvm()->BuildFCmp(code->builder, is, a, b, "");
}
static LLVMValueRef either(jit_code_t *code, LLVMValueRef a, LLVMValueRef b) {
  return llvm()->BuildOr(code->builder, a, b, "");
}
static LLVMValueRef both(jit_code_t *code, LLVMValueRef a, LLVMValueRef b) {
  return llvm()->BuildAnd(code->builder, a, b, "");
}
static LLVMValueRef has_nan(jit_code_t *code, jit_pair_t a) { return test(code, LLVMRealUNO, a.re, a.im); }

/* In the order of real parts, then of imaginary ones; an operand with a NaN wins, the first before the second. */
static LLVMValueRef extreme(jit_code_t *code, hlo_opcode_t op, jit_pair_t a, jit_pair_t b) {
  LLVMRealPredicate order = op == HLO_MAXIMUM ? LLVMRealOGT : LLVMRealOLT;
  LLVMValueRef tie = both(code, test(code, LLVMRealOEQ, a.re, b.re), test(code, order, a.im, b.im));
  LLVMValueRef first = either(code, test(code, order, a.re, b.re), tie);
  LLVMValueRef known = llvm()->BuildNot(code->builder, has_nan(code, b), "");
  LLVMValueRef takes_a = either(code, has_nan(code, a), both(code, known, first));
  return jit_complex_join(code, (jit_pair_t){llvm()->BuildSelect(code->builder, takes_a, a.re, b.re, ""),
                                             llvm()->BuildSelect(code->builder, takes_a, a.im, b.im, "")});
}

/* Equal or not: there is no order of them. */
static LLVMValueRef compare(jit_code_t *code, const jit_element_op_t *op, jit_pair_t a, jit_pair_t b) {
  bool equal = JIT_DETAIL_DIRECTION(op->detail) == HLO_DIRECTION_EQ;
  LLVMRealPredicate is = equal ? LLVMRealOEQ : LLVMRealUNE;
  LLVMValueRef re = test(code, is, a.re, b.re), im = test(code, is, a.im, b.im);
  return equal ? both(code, re, im) : either(code, re, im);
}

/* --- conversions ----------------------------------------------------------------------------------------------- */

static LLVMValueRef from_complex(jit_code_t *code, hr_dtype_t from, hr_dtype_t to, LLVMValueRef value) {
  hr_dtype_t part = hr_dtype_real(from);
  jit_pair_t z = jit_complex_split(code, value);
  if (to == HR_PRED) {
    LLVMValueRef zero = llvm()->ConstNull(llvm()->TypeOf(z.re));
    return either(code, test(code, LLVMRealUNE, z.re, zero), test(code, LLVMRealUNE, z.im, zero));
  }
  if (!hr_dtype_is_complex(to)) return jit_convert_emit(code, part, to, z.re);
  return jit_complex_join(code, (jit_pair_t){jit_convert_emit(code, part, hr_dtype_real(to), z.re),
                                             jit_convert_emit(code, part, hr_dtype_real(to), z.im)});
}

static LLVMValueRef convert(jit_code_t *code, hr_dtype_t from, hr_dtype_t to, LLVMValueRef value) {
  if (from == to) return value;
  if (hr_dtype_is_complex(from)) return from_complex(code, from, to, value);
  LLVMValueRef re = jit_convert_emit(code, from, hr_dtype_real(to), value);
  return jit_complex_join(code, (jit_pair_t){re, llvm()->ConstNull(llvm()->TypeOf(re))});
}

LLVMValueRef jit_complex_emit(jit_code_t *code, const jit_element_op_t *op, LLVMValueRef *args) {
  int count = op->op == HLO_CONVERT ? 1 : hlo_op_table[op->op].operands;
  switch (op->op) {
    case HLO_CONVERT: return convert(code, op->from, op->to, args[0]);
    case HLO_COMPLEX: return jit_complex_join(code, (jit_pair_t){args[0], args[1]});
    case HLO_ADD: case HLO_SUBTRACT: case HLO_NEGATE: return both_parts(code, op->op, args, count);
    default: break;
  }
  jit_pair_t x = jit_complex_split(code, args[0]), y = count > 1 ? jit_complex_split(code, args[1]) : x;
  switch (op->op) {
    case HLO_REAL: return x.re;
    case HLO_IMAG: return x.im;
    case HLO_COMPARE: return compare(code, op, x, y);
    case HLO_MULTIPLY: return multiply(code, x, y);
    case HLO_MAXIMUM: case HLO_MINIMUM: return extreme(code, op->op, x, y);
    default: return jit_complex_call(code, op->op, x, y);
  }
}

bool jit_complex_knows(hlo_opcode_t op, hr_dtype_t from, hr_dtype_t to) {
  switch (op) {
    case HLO_COMPLEX: return from == hr_dtype_real(to);
    case HLO_SELECT: case HLO_CONVERT: case HLO_COMPARE: case HLO_REAL: case HLO_IMAG: case HLO_ADD: case HLO_SUBTRACT:
    case HLO_MULTIPLY: case HLO_NEGATE: case HLO_MAXIMUM: case HLO_MINIMUM: case HLO_CLAMP: return true;
    default: return jit_complex_is_function(op);
  }
}
