/* Complex powers with f64 parts (math_complex.c). */
#ifndef JIT_MATH_COMPLEX_POWER_H
#define JIT_MATH_COMPLEX_POWER_H

#include "jit/element/element_complex.h"

/* z^w within 2 ulp of |z^w|, at the insertion point; unspecified in the lanes of *out_rare. */
jit_pair_t math_complex_power(jit_code_t *code, jit_pair_t z, jit_pair_t w, kir_value_t **out_rare);

#endif
