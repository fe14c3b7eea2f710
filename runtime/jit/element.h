/* Elements in generated code: how they lie in memory and in registers, and the ops on them, as ops/scalar.h means them.
 * In registers pred is i1, f16 and bf16 are float (each op's result rounded to the type), integers are iN.
 * Values are scalars or vectors of any width. */
#ifndef JIT_ELEMENT_H
#define JIT_ELEMENT_H

#include "base/dtype.h"
#include "jit/code.h"
#include "ops/opcode.h"

LLVMTypeRef jit_memory_type(jit_code_t *code, hr_dtype_t dtype);   /* of one element */
LLVMTypeRef jit_register_type(jit_code_t *code, hr_dtype_t dtype); /* of one element */
/* Values as memory has them, to and from registers. */
LLVMValueRef jit_from_memory(jit_code_t *code, hr_dtype_t dtype, LLVMValueRef value);
LLVMValueRef jit_to_memory(jit_code_t *code, hr_dtype_t dtype, LLVMValueRef value);
/* The element at `bytes`, as a scalar in a register. */
LLVMValueRef jit_element_constant(jit_code_t *code, hr_dtype_t dtype, const void *bytes);
/* Rounds a register to what the type can hold: f16 and bf16; others are as they are. */
LLVMValueRef jit_round(jit_code_t *code, hr_dtype_t dtype, LLVMValueRef value);

/* An op on elements. */
typedef struct jit_element_op {
  hlo_opcode_t op;
  int64_t detail;         /* as jit_node_t has it */
  hr_dtype_t from, to;    /* of the first operand (of select: the second), of the result */
  bool safe_divisor;      /* integer division by a constant that is neither 0 nor -1 */
  bool shared;            /* needed often: a function of the module that is called, where it is long */
} jit_element_op_t;

LLVMValueRef jit_element_emit(jit_code_t *code, const jit_element_op_t *op, LLVMValueRef *args);
/* Of one family each. */
LLVMValueRef jit_convert_emit(jit_code_t *code, hr_dtype_t from, hr_dtype_t to, LLVMValueRef value);
LLVMValueRef jit_integer_emit(jit_code_t *code, const jit_element_op_t *op, LLVMValueRef *args);
LLVMValueRef jit_float_emit(jit_code_t *code, const jit_element_op_t *op, LLVMValueRef *args);

/* Is there code for this op on these types, on this target? */
bool jit_element_knows(const jit_target_t *target, hlo_opcode_t op, hr_dtype_t from, hr_dtype_t to);

#endif
