/* Vector math in generated code: the elementwise ops of floats as instructions on f32 and f64,
 * scalars or vectors of any width. The C library is called only for remainders of numbers of very
 * different size, for sine, cosine and tangent of huge numbers (f32: from 2^18, f64: from 2^30),
 * and for fma and rounding on processors that have no such instruction.
 *
 * Accuracy: sqrt, ceil, floor, rounding, sign, remainder, is-finite, minimum and maximum are exact,
 * as ops/kernels/elementwise/scalar.h defines them. The others are within 2 ulp of the exact result
 * on all of f32 and f64, huge arguments of sine and denormal results included;
 * tests/accuracy/compiled_ulp.md has the measured figures. Denormals, signed zeros, infinities and
 * NaNs are as the C library has them.
 * Cost: tests/bench/bench_math.c measures it. */
#ifndef JIT_MATH_H
#define JIT_MATH_H

#include "jit/element/code_builder.h"
#include "ops/table/opcode.h"

/* Does jit_math_emit know this op? (ACOS ACOSH ASIN ASINH ATAN ATAN2 ATANH CBRT CEIL COSINE COSH
 * ERF EXPONENTIAL EXPONENTIAL_MINUS_ONE FLOOR IS_FINITE LOG LOG_PLUS_ONE LOGISTIC MAXIMUM MINIMUM
 * POWER REMAINDER ROUND_NEAREST_AFZ ROUND_NEAREST_EVEN RSQRT SIGN SINE SINH SQRT TAN TANH) */
bool jit_math_supports(hlo_opcode_t op);

/* The result of `op` on x (and on y, for ops of two operands; else NULL), at the insertion point.
 * Operands are float or double, or vectors of them, and equal in type; the result has the same
 * type, except for IS_FINITE: i1 or a vector of i1. Ops are written in place or as calls of
 * functions added to the module, whichever measured faster; the builder stays in its block. */
kir_value_t *jit_math_emit(jit_code_t *code, hlo_opcode_t op, kir_value_t *x, kir_value_t *y);

/* log(1 + x) for x from 0 to 1, or NaN, as jit_math_emit; in f32 about twice as fast. */
kir_value_t *jit_math_log1p_of_unit(jit_code_t *code, kir_value_t *x);

/* The hyperbolic tangent within 2.6 ulp, for results that are rounded to f16 or less; in f32 by a
 * third faster. */
kir_value_t *jit_math_tanh_for_narrow(jit_code_t *code, kir_value_t *x);

/* Does jit_math_emit call a function for this op, not write it in place? y as there. */
bool jit_math_is_called(hlo_opcode_t op, kir_value_t *y);

/* The larger (`most`) or smaller of two numbers, with -0 below +0; unspecified if one is NaN. */
kir_value_t *jit_math_minmax_number(jit_code_t *code, kir_value_t *x, kir_value_t *y, bool most);

/* Cost of `op` per element, in additions of the same type. The planner uses it to choose between
 * recomputing and saving, and between one worker and all. */
double jit_math_cost(hlo_opcode_t op, bool is_f64);

/* Most vectors for which `op` is computed together, at least 1 (jit_target_t.interleave_count). */
int jit_math_vectors(const jit_target_t *target, hlo_opcode_t op, bool is_f64);

#endif
