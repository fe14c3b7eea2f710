/* Complex numbers in generated code. In registers and in memory alike, they are vectors of their
 * parts, two per number: re, im, re, im, ...; so sums need no other form. Ops that treat the parts
 * differently split the value and join the results; splitting a value just joined costs nothing. */
#ifndef JIT_ELEMENT_COMPLEX_H
#define JIT_ELEMENT_COMPLEX_H

#include "jit/element/element.h"

typedef struct jit_pair {
  kir_value_t *re, *im; /* scalars or vectors of floats or doubles */
} jit_pair_t;

jit_pair_t jit_complex_split(jit_code_t *code, kir_value_t *value);
kir_value_t *jit_complex_join(jit_code_t *code, jit_pair_t parts);

/* An op with complex operands or a complex result, except select. */
kir_value_t *jit_complex_emit(jit_code_t *code, const jit_element_op_t *op, kir_value_t **args);
bool jit_complex_supports(hlo_opcode_t op, hr_dtype_t from, hr_dtype_t to);
/* Cost of an op per element, in additions of the parts' type. */
double jit_complex_cost(hlo_opcode_t op);

/* --- functions (math_complex.c) --- */

bool jit_complex_is_function(hlo_opcode_t op);
/* The function of x (and of y, for power and divide): a joined value, for ABS a real one. The
 * builder stays in its block. */
kir_value_t *jit_complex_call(jit_code_t *code, hlo_opcode_t op, jit_pair_t x, jit_pair_t y);

#endif
