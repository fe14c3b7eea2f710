/* Elements in generated code: how they lie in memory and in registers, and the ops on them, as
 * ops/kernels/elementwise/scalar.h means them. In registers pred is i1, and other types are the
 * type that their arithmetic is done in (each op's result rounded or wrapped to the type): narrow
 * floats are float, integers iN of at least 8 bits. Complex numbers are vectors of their parts, see
 * element_complex.h. Values are scalars or vectors of any width. */
#ifndef JIT_ELEMENT_H
#define JIT_ELEMENT_H

#include "base/dtype.h"
#include "jit/element/code_builder.h"
#include "ops/table/opcode.h"

kir_type_t *jit_memory_type(jit_code_t *code, hr_dtype_t dtype); /* type of one element in memory */
kir_type_t *jit_register_type(jit_code_t *code,
                              hr_dtype_t dtype); /* type of one element in registers */
/* Values as memory has them, to and from registers. */
kir_value_t *jit_from_memory(jit_code_t *code, hr_dtype_t dtype, kir_value_t *value);
kir_value_t *jit_to_memory(jit_code_t *code, hr_dtype_t dtype, kir_value_t *value);
/* The element at `bytes`, as a scalar in a register. */
kir_value_t *jit_element_constant(jit_code_t *code, hr_dtype_t dtype, const void *bytes);
/* Rounds or wraps a register to what the type can hold, where that is less than the register. */
kir_value_t *jit_round(jit_code_t *code, hr_dtype_t dtype, kir_value_t *value);

/* Floats of 8 bits and fewer (element_narrow.c): their bits in i8 to and from float, rounded to
 * nearest even. */
bool jit_is_narrow_float(hr_dtype_t dtype);
kir_value_t *jit_narrow_decode(jit_code_t *code, hr_dtype_t dtype, kir_value_t *bits);
kir_value_t *jit_narrow_encode(jit_code_t *code, hr_dtype_t dtype, kir_value_t *value);

/* --- lanes of any type (element_complex.c) --- */

/* How many elements a value in registers has. */
int jit_element_lanes(hr_dtype_t dtype, kir_value_t *value);
/* One element in so many lanes; as it is for one lane. */
kir_value_t *jit_element_splat(jit_code_t *code, hr_dtype_t dtype, int lanes, kir_value_t *scalar);
/* Elements first .. first + lanes - 1 of a vector, as a vector. */
kir_value_t *jit_element_take(jit_code_t *code, hr_dtype_t dtype, kir_value_t *value, int first,
                              int lanes);
/* a where the condition holds, else b; the condition is one for all, or one for each lane. */
kir_value_t *jit_element_choose(jit_code_t *code, hr_dtype_t dtype, kir_value_t *condition,
                                kir_value_t *a, kir_value_t *b);

/* Attributes of ops on elements, as one number. */
#define JIT_COMPARE_DETAIL(direction, order) ((direction)*8 + (order))
#define JIT_DETAIL_DIRECTION(detail) ((hlo_enum_DIRECTION_t)((detail) / 8))
#define JIT_DETAIL_ORDER(detail) ((hlo_enum_COMPARISON_t)((detail) % 8))
#define JIT_PRECISION_DETAIL(exponent, mantissa) ((exponent)*128 + (mantissa))

/* An op on elements. */
typedef struct jit_element_op {
  hlo_opcode_t op;
  int64_t detail;      /* as jit_node_t has it */
  hr_dtype_t from, to; /* types of the first operand (of select: the second) and of the result */
  bool safe_divisor;   /* integer division by a constant that is neither 0 nor -1 */
  bool shared;         /* needed often: a function of the module that is called, where it is long */
} jit_element_op_t;

kir_value_t *jit_element_emit(jit_code_t *code, const jit_element_op_t *op, kir_value_t **args);
/* Parts of jit_element_emit, one family of ops each. */
kir_value_t *jit_convert_emit(jit_code_t *code, hr_dtype_t from, hr_dtype_t to, kir_value_t *value);
kir_value_t *jit_integer_emit(jit_code_t *code, const jit_element_op_t *op, kir_value_t **args);
kir_value_t *jit_float_emit(jit_code_t *code, const jit_element_op_t *op, kir_value_t **args);

/* Is there code for this op on these types, on this target? */
bool jit_element_supports(const jit_target_t *target, hlo_opcode_t op, hr_dtype_t from,
                          hr_dtype_t to);

#endif
