/* The functions of the rows of math_ops.def: each emits its op on x (and y) at the insertion
 * point. */
#ifndef JIT_MATH_EMIT_H
#define JIT_MATH_EMIT_H

#include "jit/element/code_builder.h"

#define MATH_1(op, name, ...) kir_value_t *jit_emit_##name(jit_code_t *code, kir_value_t *x);
#define MATH_2(op, name, ...) \
  kir_value_t *jit_emit_##name(jit_code_t *code, kir_value_t *x, kir_value_t *y);
#include "jit/math/math_ops.def"
#undef MATH_1
#undef MATH_2

/* Is a power with this exponent a few multiplications and a root? Then it is emitted in place, as a
 * function would not see the constant. */
bool jit_power_is_short(kir_value_t *y);

#endif
