/* Formulas: short names for instructions that a builder makes, for code that writes out what an op
 * means (expansions of CHLO, operations of TensorFlow). Like the builder's, all functions accept
 * and return NULL after a failure. Shape: operands have equal sizes and types, which are the
 * result's; comparisons give pred. */
#ifndef OPS_RULES_FORMULA_H
#define OPS_RULES_FORMULA_H

#include "ops/rules/builder.h"

typedef hlo_instr_t *expr_t; /* NULL: a failure that the builder has */

#define FORMULA_UNARY(name, op) \
  static inline expr_t name(hlo_builder_t *b, expr_t x) { return hlo_build_unary(b, HLO_##op, x); }
#define FORMULA_BINARY(name, op)                                    \
  static inline expr_t name(hlo_builder_t *b, expr_t x, expr_t y) { \
    return hlo_build_binary(b, HLO_##op, x, y);                     \
  }
#define FORMULA_COMPARE(name, direction)                            \
  static inline expr_t name(hlo_builder_t *b, expr_t x, expr_t y) { \
    return hlo_build_compare(b, HLO_DIRECTION_##direction, x, y);   \
  }
FORMULA_UNARY(f_abs, ABS)
FORMULA_UNARY(f_cos, COSINE)
FORMULA_UNARY(f_exp, EXPONENTIAL)
FORMULA_UNARY(f_finite, IS_FINITE)
FORMULA_UNARY(f_floor, FLOOR)
FORMULA_UNARY(f_imag, IMAG)
FORMULA_UNARY(f_log, LOG)
FORMULA_UNARY(f_log1p, LOG_PLUS_ONE)
FORMULA_UNARY(f_neg, NEGATE)
FORMULA_UNARY(f_not, NOT)
FORMULA_UNARY(f_real, REAL)
FORMULA_UNARY(f_rsqrt, RSQRT)
FORMULA_UNARY(f_sign, SIGN)
FORMULA_UNARY(f_sin, SINE)
FORMULA_UNARY(f_sqrt, SQRT)
FORMULA_UNARY(f_tanh, TANH)
FORMULA_BINARY(f_add, ADD)
FORMULA_BINARY(f_and, AND)
FORMULA_BINARY(f_complex, COMPLEX)
FORMULA_BINARY(f_div, DIVIDE)
FORMULA_BINARY(f_max, MAXIMUM)
FORMULA_BINARY(f_min, MINIMUM)
FORMULA_BINARY(f_mul, MULTIPLY)
FORMULA_BINARY(f_or, OR)
FORMULA_BINARY(f_pow, POWER)
FORMULA_BINARY(f_rem, REMAINDER)
FORMULA_BINARY(f_sub, SUBTRACT)
FORMULA_BINARY(f_xor, XOR)
FORMULA_COMPARE(f_eq, EQ)
FORMULA_COMPARE(f_ge, GE)
FORMULA_COMPARE(f_gt, GT)
FORMULA_COMPARE(f_le, LE)
FORMULA_COMPARE(f_lt, LT)
FORMULA_COMPARE(f_ne, NE)
#undef FORMULA_UNARY
#undef FORMULA_BINARY
#undef FORMULA_COMPARE

static inline expr_t f_select(hlo_builder_t *b, expr_t pred, expr_t x, expr_t y) {
  return hlo_build_select(b, pred, x, y);
}
/* A number broadcast to the type and sizes of `like`. */
static inline expr_t f_number(hlo_builder_t *b, double number, expr_t like) {
  return hlo_build_number_like(b, number, like);
}

#endif
