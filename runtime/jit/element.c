#include "jit/element.h"

#include <string.h>

#include "jit/element_complex.h"
#include "jit/jit_math.h"
#include "ops/emit.h"

/* --- types ----------------------------------------------------------------------------------------------------- */

static LLVMTypeRef integer_type(jit_code_t *code, size_t bytes) {
  return llvm()->IntTypeInContext(code->context, (unsigned)(8 * bytes));
}

LLVMTypeRef jit_memory_type(jit_code_t *code, hr_dtype_t dtype) {
  switch (dtype) {
    case HR_F32: return llvm()->FloatTypeInContext(code->context);
    case HR_F64: return llvm()->DoubleTypeInContext(code->context);
    default: return integer_type(code, hr_dtype_bytes(dtype));
  }
}

LLVMTypeRef jit_register_type(jit_code_t *code, hr_dtype_t dtype) {
  if (dtype == HR_PRED) return llvm()->Int1TypeInContext(code->context);
  if (hr_dtype_is_complex(dtype)) return llvm()->VectorType(jit_memory_type(code, hr_dtype_real(dtype)), 2);
  return jit_memory_type(code, hr_dtype_table[dtype].compute);
}

/* --- memory ---------------------------------------------------------------------------------------------------- */

static LLVMTypeRef like(LLVMTypeRef element, LLVMValueRef value) {
  return jit_type_like(element, llvm()->TypeOf(value));
}

static LLVMValueRef bf16_bits_to_float(jit_code_t *code, LLVMValueRef bits) {
  LLVMTypeRef wide = like(llvm()->Int32TypeInContext(code->context), bits);
  LLVMValueRef word = llvm()->BuildZExt(code->builder, bits, wide, "");
  word = llvm()->BuildShl(code->builder, word, jit_int(wide, 16), "");
  return llvm()->BuildBitCast(code->builder, word, like(llvm()->FloatTypeInContext(code->context), bits), "");
}

/* The parts of complex numbers side by side, of which memory has the pairs as integers. */
static LLVMValueRef complex_from_memory(jit_code_t *code, hr_dtype_t dtype, LLVMValueRef value) {
  LLVMTypeRef part = jit_memory_type(code, hr_dtype_real(dtype));
  unsigned count = 2 * (unsigned)jit_lanes(llvm()->TypeOf(value));
  return llvm()->BuildBitCast(code->builder, value, llvm()->VectorType(part, count), "");
}

static LLVMValueRef complex_to_memory(jit_code_t *code, hr_dtype_t dtype, LLVMValueRef value) {
  LLVMTypeRef type = jit_vector_type(jit_memory_type(code, dtype), jit_element_lanes(dtype, value));
  return llvm()->BuildBitCast(code->builder, value, type, "");
}

LLVMValueRef jit_from_memory(jit_code_t *code, hr_dtype_t dtype, LLVMValueRef value) {
  LLVMTypeRef type = llvm()->TypeOf(value);
  if (jit_is_narrow_float(dtype)) return jit_narrow_decode(code, dtype, value);
  if (hr_dtype_is_complex(dtype)) return complex_from_memory(code, dtype, value);
  switch (dtype) {
    case HR_PRED: return llvm()->BuildICmp(code->builder, LLVMIntNE, value, llvm()->ConstNull(type), "");
    case HR_BF16: return bf16_bits_to_float(code, value);
    case HR_F16: {
      LLVMTypeRef half = like(llvm()->HalfTypeInContext(code->context), value);
      LLVMValueRef narrow = llvm()->BuildBitCast(code->builder, value, half, "");
      return llvm()->BuildFPExt(code->builder, narrow, like(llvm()->FloatTypeInContext(code->context), value), "");
    }
    default: return value;
  }
}

LLVMValueRef jit_to_memory(jit_code_t *code, hr_dtype_t dtype, LLVMValueRef value) {
  if (jit_is_narrow_float(dtype)) return jit_narrow_encode(code, dtype, value);
  if (hr_dtype_is_complex(dtype)) return complex_to_memory(code, dtype, value);
  LLVMTypeRef memory = like(jit_memory_type(code, dtype), value);
  switch (dtype) {
    case HR_PRED: return llvm()->BuildZExt(code->builder, value, memory, "");
    case HR_BF16: {
      LLVMValueRef word = llvm()->BuildBitCast(code->builder, value, jit_integer_like(llvm()->TypeOf(value)), "");
      word = llvm()->BuildLShr(code->builder, word, jit_int(llvm()->TypeOf(word), 16), "");
      return llvm()->BuildTrunc(code->builder, word, memory, "");
    }
    case HR_F16: {
      LLVMTypeRef half = like(llvm()->HalfTypeInContext(code->context), value);
      LLVMValueRef narrow = llvm()->BuildFPTrunc(code->builder, value, half, "");
      return llvm()->BuildBitCast(code->builder, narrow, memory, "");
    }
    default: return value;
  }
}

static LLVMValueRef complex_constant(jit_code_t *code, hr_dtype_t dtype, const void *bytes) {
  hr_dtype_t part = hr_dtype_real(dtype);
  LLVMValueRef parts[] = {jit_element_constant(code, part, bytes),
                          jit_element_constant(code, part, (const char *)bytes + hr_dtype_bytes(part))};
  return llvm()->ConstVector(parts, 2);
}

LLVMValueRef jit_element_constant(jit_code_t *code, hr_dtype_t dtype, const void *bytes) {
  if (hr_dtype_is_complex(dtype)) return complex_constant(code, dtype, bytes);
  LLVMTypeRef type = jit_register_type(code, dtype);
  uint64_t bits = 0;
  memcpy(&bits, bytes, hr_dtype_bytes(dtype));
  if (dtype == HR_PRED) return llvm()->ConstInt(type, bits != 0, false);
  if (!hr_dtype_is_float(dtype)) return llvm()->ConstInt(type, bits, false);
  if (hr_dtype_table[dtype].compute != dtype) {
    float wide;
    hr_floats_to_f32(dtype, bytes, &wide, 1);
    bits = 0;
    memcpy(&bits, &wide, sizeof wide);
  }
  return llvm()->ConstBitCast(llvm()->ConstInt(jit_integer_like(type), bits, false), type);
}

/* To nearest even in the upper half of the word; NaN keeps its sign only. */
static LLVMValueRef round_bf16(jit_code_t *code, LLVMValueRef value) {
  LLVMBuilderRef b = code->builder;
  LLVMTypeRef type = llvm()->TypeOf(value), word = jit_integer_like(type);
  LLVMValueRef bits = llvm()->BuildBitCast(b, value, word, "");
  LLVMValueRef odd = llvm()->BuildAnd(b, llvm()->BuildLShr(b, bits, jit_int(word, 16), ""), jit_int(word, 1), "");
  LLVMValueRef up = llvm()->BuildAdd(b, llvm()->BuildAdd(b, bits, jit_int(word, 0x7fff), ""), odd, "");
  LLVMValueRef rounded = llvm()->BuildAnd(b, up, jit_int(word, (int32_t)0xffff0000), "");
  LLVMValueRef sign = llvm()->BuildAnd(b, bits, jit_int(word, (int32_t)0x80000000), "");
  LLVMValueRef nan = llvm()->BuildOr(b, sign, jit_int(word, 0x7fc00000), "");
  LLVMValueRef is_nan = llvm()->BuildFCmp(b, LLVMRealUNO, value, value, "");
  return llvm()->BuildBitCast(b, llvm()->BuildSelect(b, is_nan, nan, rounded, ""), type, "");
}

/* The low bits of an integer that is held in a wider one, extended. */
static LLVMValueRef wrap(jit_code_t *code, hr_dtype_t dtype, LLVMValueRef value) {
  LLVMTypeRef type = llvm()->TypeOf(value);
  int unused = jit_element_bits(type) - hr_dtype_table[dtype].bits;
  if (hr_dtype_class(dtype) == HR_CLASS_UNSIGNED)
    return llvm()->BuildAnd(code->builder, value, jit_int(type, (1 << hr_dtype_table[dtype].bits) - 1), "");
  LLVMValueRef high = llvm()->BuildShl(code->builder, value, jit_int(type, unused), "");
  return llvm()->BuildAShr(code->builder, high, jit_int(type, unused), "");
}

LLVMValueRef jit_round(jit_code_t *code, hr_dtype_t dtype, LLVMValueRef value) {
  if (hr_dtype_table[dtype].compute == dtype) return value;
  if (hr_dtype_is_integer(dtype)) return wrap(code, dtype, value);
  if (dtype == HR_BF16) return round_bf16(code, value);
  if (dtype != HR_F16) return jit_narrow_decode(code, dtype, jit_narrow_encode(code, dtype, value));
  LLVMTypeRef half = like(llvm()->HalfTypeInContext(code->context), value);
  LLVMValueRef narrow = llvm()->BuildFPTrunc(code->builder, value, half, "");
  return llvm()->BuildFPExt(code->builder, narrow, llvm()->TypeOf(value), "");
}

/* --- ops ------------------------------------------------------------------------------------------------------- */

static LLVMValueRef total_order_key(jit_code_t *code, LLVMValueRef value) {
  LLVMTypeRef word = jit_integer_like(llvm()->TypeOf(value));
  int bits = jit_element_bits(word);
  LLVMValueRef plain = llvm()->BuildBitCast(code->builder, value, word, "");
  LLVMValueRef sign = llvm()->BuildAShr(code->builder, plain, jit_int(word, bits - 1), "");
  LLVMValueRef flip = llvm()->BuildLShr(code->builder, sign, jit_int(word, 1), "");
  return llvm()->BuildXor(code->builder, plain, flip, "");
}

/* That of the numbers, -0 being +0, and NaNs above all. */
static LLVMValueRef weak_order_key(jit_code_t *code, LLVMValueRef value) {
  LLVMTypeRef type = llvm()->TypeOf(value), word = jit_integer_like(type);
  LLVMValueRef key = total_order_key(code, llvm()->BuildFAdd(code->builder, value, jit_real(type, 0), ""));
  LLVMValueRef most = jit_int(word, (int64_t)(~(uint64_t)0 >> (65 - jit_element_bits(word))));
  LLVMValueRef is_nan = llvm()->BuildFCmp(code->builder, LLVMRealUNO, value, value, "");
  return llvm()->BuildSelect(code->builder, is_nan, most, key, "");
}

static LLVMValueRef compare(jit_code_t *code, const jit_element_op_t *op, LLVMValueRef a, LLVMValueRef b) {
  /* In the order of hlo_enum_DIRECTION_t: EQ NE GE GT LE LT. */
  static const LLVMRealPredicate reals[] = {LLVMRealOEQ, LLVMRealUNE, LLVMRealOGE,
                                            LLVMRealOGT, LLVMRealOLE, LLVMRealOLT};
  static const LLVMIntPredicate signeds[] = {LLVMIntEQ, LLVMIntNE, LLVMIntSGE, LLVMIntSGT, LLVMIntSLE, LLVMIntSLT};
  static const LLVMIntPredicate unsigneds[] = {LLVMIntEQ, LLVMIntNE, LLVMIntUGE, LLVMIntUGT, LLVMIntULE, LLVMIntULT};
  hlo_enum_DIRECTION_t direction = JIT_DETAIL_DIRECTION(op->detail);
  hlo_enum_COMPARISON_t order = JIT_DETAIL_ORDER(op->detail);
  bool is_signed = hr_dtype_class(op->from) == HR_CLASS_SIGNED;
  if (hr_dtype_is_float(op->from)) {
    bool is_weak = order == HLO_COMPARISON_WEAKORDER;
    if (order != HLO_COMPARISON_TOTALORDER && !is_weak)
      return llvm()->BuildFCmp(code->builder, reals[direction], a, b, "");
    a = is_weak ? weak_order_key(code, a) : total_order_key(code, a);
    b = is_weak ? weak_order_key(code, b) : total_order_key(code, b);
    is_signed = true;
  }
  return llvm()->BuildICmp(code->builder, (is_signed ? signeds : unsigneds)[direction], a, b, "");
}

static LLVMValueRef bitcast_convert(jit_code_t *code, const jit_element_op_t *op, LLVMValueRef value) {
  LLVMValueRef memory = jit_to_memory(code, op->from, value);
  LLVMTypeRef type = like(jit_memory_type(code, op->to), memory);
  value = jit_from_memory(code, op->to, llvm()->BuildBitCast(code->builder, memory, type, ""));
  return hr_dtype_is_integer(op->to) ? jit_round(code, op->to, value) : value; /* extended as its type is */
}

static LLVMValueRef clamp(jit_code_t *code, const jit_element_op_t *op, LLVMValueRef *args) {
  jit_element_op_t step = *op;
  step.op = HLO_MAXIMUM;
  LLVMValueRef above = jit_element_emit(code, &step, (LLVMValueRef[]){args[0], args[1]});
  step.op = HLO_MINIMUM;
  return jit_element_emit(code, &step, (LLVMValueRef[]){above, args[2]});
}

static LLVMValueRef pred_op(jit_code_t *code, hlo_opcode_t op, LLVMValueRef *args) {
  switch (op) {
    case HLO_NOT: return llvm()->BuildNot(code->builder, args[0], "");
    case HLO_ADD:
    case HLO_MAXIMUM:
    case HLO_OR: return llvm()->BuildOr(code->builder, args[0], args[1], "");
    case HLO_XOR: return llvm()->BuildXor(code->builder, args[0], args[1], "");
    default: return llvm()->BuildAnd(code->builder, args[0], args[1], "");
  }
}

static bool is_complex(hr_dtype_t from, hr_dtype_t to) { return hr_dtype_is_complex(from) || hr_dtype_is_complex(to); }

LLVMValueRef jit_element_emit(jit_code_t *code, const jit_element_op_t *op, LLVMValueRef *args) {
  if (op->op == HLO_SELECT) return jit_element_choose(code, op->from, args[0], args[1], args[2]);
  if (op->op == HLO_CLAMP) return clamp(code, op, args);
  if (is_complex(op->from, op->to)) return jit_complex_emit(code, op, args);
  switch (op->op) {
    case HLO_COMPARE: return compare(code, op, args[0], args[1]);
    case HLO_CONVERT: return jit_convert_emit(code, op->from, op->to, args[0]);
    case HLO_BITCAST_CONVERT: return bitcast_convert(code, op, args[0]);
    default: break;
  }
  if (op->from == HR_PRED) return pred_op(code, op->op, args);
  return hr_dtype_is_float(op->from) ? jit_float_emit(code, op, args) : jit_integer_emit(code, op, args);
}

/* --- what there is --------------------------------------------------------------------------------------------- */

static bool knows_type(const jit_target_t *target, hr_dtype_t dtype) {
  return op_can_emit_dtype(dtype) && (dtype != HR_F16 || target->has_f16);
}

static bool knows_pred_op(hlo_opcode_t op) {
  switch (op) {
    case HLO_NOT: case HLO_ADD: case HLO_MAXIMUM: case HLO_OR: case HLO_XOR: case HLO_MULTIPLY: case HLO_MINIMUM:
    case HLO_AND: case HLO_CLAMP: return true;
    default: return false;
  }
}

static bool knows_integer_op(hlo_opcode_t op) {
  switch (op) {
    case HLO_NEGATE: case HLO_ABS: case HLO_SIGN: case HLO_NOT: case HLO_POPCNT: case HLO_COUNT_LEADING_ZEROS:
    case HLO_ADD: case HLO_SUBTRACT: case HLO_MULTIPLY: case HLO_MAXIMUM: case HLO_MINIMUM: case HLO_AND: case HLO_OR:
    case HLO_XOR: case HLO_DIVIDE: case HLO_REMAINDER: case HLO_POWER: case HLO_SHIFT_LEFT:
    case HLO_SHIFT_RIGHT_ARITHMETIC: case HLO_SHIFT_RIGHT_LOGICAL: case HLO_MULHI: case HLO_CLAMP: return true;
    default: return false;
  }
}

static bool knows_float_op(hlo_opcode_t op) {
  switch (op) {
    case HLO_NEGATE: case HLO_ABS: case HLO_ADD: case HLO_SUBTRACT: case HLO_MULTIPLY: case HLO_DIVIDE:
    case HLO_REDUCE_PRECISION: case HLO_REAL: case HLO_IMAG: case HLO_CLAMP: return true;
    default: return jit_math_knows(op);
  }
}

bool jit_element_knows(const jit_target_t *target, hlo_opcode_t op, hr_dtype_t from, hr_dtype_t to) {
  if (!knows_type(target, from) || !knows_type(target, to)) return false;
  if (is_complex(from, to)) return jit_complex_knows(op, from, to);
  switch (op) {
    case HLO_COMPARE: case HLO_SELECT: case HLO_CONVERT: case HLO_BITCAST_CONVERT: return true;
    default: break;
  }
  if (from == HR_PRED) return knows_pred_op(op);
  return hr_dtype_is_float(from) ? knows_float_op(op) : knows_integer_op(op);
}
