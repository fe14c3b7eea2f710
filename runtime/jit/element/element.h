/* Elements in generated code: their types in memory and in registers, and ops on them, defined by
 * ops/kernels/elementwise/scalar.h. In registers pred is i1; other types have the type of their
 * arithmetic (each op's result rounded or wrapped to the type): narrow floats are float, integers
 * are iN of at least 8 bits. Complex numbers are vectors of their parts, see element_complex.h.
 * Values are scalars or vectors of any width. */
#ifndef JIT_ELEMENT_H
#define JIT_ELEMENT_H

#include "base/dtype.h"
#include "jit/element/code_builder.h"
#include "ops/table/opcode.h"

kir_type_t *jit_memory_type(jit_code_t *code, hr_dtype_t dtype); /* type of one element in memory */
kir_type_t *jit_register_type(jit_code_t *code,
                              hr_dtype_t dtype); /* type of one element in registers */
/* Conversions of values between their forms in memory and in registers. */
kir_value_t *jit_from_memory(jit_code_t *code, hr_dtype_t dtype, kir_value_t *value);
kir_value_t *jit_to_memory(jit_code_t *code, hr_dtype_t dtype, kir_value_t *value);
/* The element at `bytes`, as a scalar in a register. */
kir_value_t *jit_element_constant(jit_code_t *code, hr_dtype_t dtype, const void *bytes);
/* Rounds or wraps a value in a register to the type, if the type is narrower than the register. */
kir_value_t *jit_round(jit_code_t *code, hr_dtype_t dtype, kir_value_t *value);
/* The same for the result of arithmetic on numbers of this type: its NaNs are those of an operand,
 * or the processor's, whose bits are within the type's. */
kir_value_t *jit_round_result(jit_code_t *code, hr_dtype_t dtype, kir_value_t *value);

/* Floats of 8 bits or fewer (element_narrow.c): conversions of their bits in i8 to and from float,
 * rounding to nearest even. */
bool jit_is_narrow_float(hr_dtype_t dtype);
kir_value_t *jit_narrow_decode(jit_code_t *code, hr_dtype_t dtype, kir_value_t *bits);
kir_value_t *jit_narrow_encode(jit_code_t *code, hr_dtype_t dtype, kir_value_t *value);

/* --- lanes of any type (element_complex.c) --- */

/* Number of elements of a value in registers. */
int jit_element_lanes(hr_dtype_t dtype, kir_value_t *value);
/* Broadcasts one element to `lanes` lanes; unchanged for one lane. */
kir_value_t *jit_element_splat(jit_code_t *code, hr_dtype_t dtype, int lanes, kir_value_t *scalar);
/* Elements first .. first + lanes - 1 of a vector, as a vector. */
kir_value_t *jit_element_take(jit_code_t *code, hr_dtype_t dtype, kir_value_t *value, int first,
                              int lanes);
/* a where the condition holds, else b. The condition is a scalar or has one lane per element. */
kir_value_t *jit_element_choose(jit_code_t *code, hr_dtype_t dtype, kir_value_t *condition,
                                kir_value_t *a, kir_value_t *b);

/* Attributes of ops on elements, encoded as one number. */
#define JIT_COMPARE_DETAIL(direction, order) ((direction)*8 + (order))
#define JIT_DETAIL_DIRECTION(detail) ((hlo_enum_DIRECTION_t)((detail) / 8))
#define JIT_DETAIL_ORDER(detail) ((hlo_enum_COMPARISON_t)((detail) % 8))
#define JIT_PRECISION_DETAIL(exponent, mantissa) ((exponent)*128 + (mantissa))

/* An op on elements. */
typedef struct jit_element_op {
  hlo_opcode_t op;
  int64_t detail;      /* attributes, as in jit_node_t */
  hr_dtype_t from, to; /* types of the first operand (of select: of the second) and of the result */
  bool safe_divisor;   /* integer division by a constant that is neither 0 nor -1 */
  bool from_unit;      /* operand from 0 to 1, or NaN */
  bool shared;         /* frequent: if long, it becomes a function of the module */
} jit_element_op_t;

kir_value_t *jit_element_emit(jit_code_t *code, const jit_element_op_t *op, kir_value_t **args);
/* Parts of jit_element_emit, by family of ops. */
kir_value_t *jit_convert_emit(jit_code_t *code, hr_dtype_t from, hr_dtype_t to, kir_value_t *value);
kir_value_t *jit_integer_emit(jit_code_t *code, const jit_element_op_t *op, kir_value_t **args);
kir_value_t *jit_float_emit(jit_code_t *code, const jit_element_op_t *op, kir_value_t **args);
/* The same without the rounding of the result. */
kir_value_t *jit_float_compute(jit_code_t *code, const jit_element_op_t *op, kir_value_t **args);
/* By arithmetic on f16 (element_half.c); NULL: not faster, or the processor has none. */
bool jit_half_supports(const jit_target_t *target, hlo_opcode_t op);
kir_value_t *jit_half_emit(jit_code_t *code, const jit_element_op_t *op, kir_value_t **args);
/* x divided by the same constant in all lanes, if x was converted from bytes; else NULL. */
kir_value_t *jit_divide_bytes(jit_code_t *code, kir_value_t *x, const kir_value_t *divisor);
/* A comparison that is false, or true for NE, if an operand is NaN. */
kir_value_t *jit_compare_reals(jit_code_t *code, const jit_element_op_t *op, kir_value_t *a,
                               kir_value_t *b);

/* Is there code for this op on these types, on this target? */
bool jit_element_supports(const jit_target_t *target, hlo_opcode_t op, hr_dtype_t from,
                          hr_dtype_t to);

#endif
