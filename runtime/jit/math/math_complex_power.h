/* The formula behind powers of complex numbers with parts of f64 (math_complex.c). */
#ifndef JIT_MATH_COMPLEX_POWER_H
#define JIT_MATH_COMPLEX_POWER_H

#include "jit/element/element_complex.h"

/* z^w within 2 units in the last place of |z^w|, at the builder's place; in the lanes of *out_rare
 * the result is none. */
jit_pair_t math_complex_power(jit_code_t *code, jit_pair_t z, jit_pair_t w, kir_value_t **out_rare);

#endif
