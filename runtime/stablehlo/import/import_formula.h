/* Formulas for expanded ops: short names for instructions of a builder, and common parts of
 * expansions. Like the builder's, all functions accept and return NULL after a failure. */
#ifndef STABLEHLO_IMPORT_FORMULA_H
#define STABLEHLO_IMPORT_FORMULA_H

#include "stablehlo/import/import.h"

typedef hlo_instr_t *expr_t;
typedef hlo_builder_t formula_t;

#define FORMULA_UNARY(name, op) \
  static inline expr_t name(formula_t *f, expr_t x) { return hlo_build_unary(f, HLO_##op, x); }
#define FORMULA_BINARY(name, op)                                \
  static inline expr_t name(formula_t *f, expr_t x, expr_t y) { \
    return hlo_build_binary(f, HLO_##op, x, y);                 \
  }
#define FORMULA_COMPARE(name, direction)                          \
  static inline expr_t name(formula_t *f, expr_t x, expr_t y) {   \
    return hlo_build_compare(f, HLO_DIRECTION_##direction, x, y); \
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
FORMULA_UNARY(f_sign, SIGN)
FORMULA_UNARY(f_sin, SINE)
FORMULA_UNARY(f_sqrt, SQRT)
FORMULA_BINARY(f_add, ADD)
FORMULA_BINARY(f_and, AND)
FORMULA_BINARY(f_complex, COMPLEX)
FORMULA_BINARY(f_div, DIVIDE)
FORMULA_BINARY(f_mul, MULTIPLY)
FORMULA_BINARY(f_or, OR)
FORMULA_BINARY(f_pow, POWER)
FORMULA_BINARY(f_rem, REMAINDER)
FORMULA_BINARY(f_sub, SUBTRACT)
FORMULA_COMPARE(f_eq, EQ)
FORMULA_COMPARE(f_ge, GE)
FORMULA_COMPARE(f_gt, GT)
FORMULA_COMPARE(f_le, LE)
FORMULA_COMPARE(f_lt, LT)
FORMULA_COMPARE(f_ne, NE)
#undef FORMULA_UNARY
#undef FORMULA_BINARY
#undef FORMULA_COMPARE

static inline expr_t f_select(formula_t *f, expr_t pred, expr_t x, expr_t y) {
  return hlo_build_select(f, pred, x, y);
}
/* A number broadcast to the type and sizes of `like`. */
static inline expr_t f_number(formula_t *f, double number, expr_t like) {
  return hlo_build_number_like(f, number, like);
}
static inline expr_t f_add_number(formula_t *f, expr_t x, double number) {
  return f_add(f, x, f_number(f, number, x));
}
static inline expr_t f_sub_number(formula_t *f, expr_t x, double number) {
  return f_sub(f, x, f_number(f, number, x));
}
static inline expr_t f_mul_number(formula_t *f, expr_t x, double number) {
  return f_mul(f, x, f_number(f, number, x));
}

/* A polynomial by Horner's rule: highest coefficient first. */
static inline expr_t f_polynomial(formula_t *f, expr_t x, int count, const double *coefficients) {
  expr_t sum = f_number(f, coefficients[0], x);
  for (int i = 1; i < count; i++) sum = f_add_number(f, f_mul(f, sum, x), coefficients[i]);
  return sum;
}
#define F_POLYNOMIAL(f, x, table) f_polynomial(f, x, (int)(sizeof(table) / sizeof *(table)), table)

/* Runs a formula in a type of at least 32 bits and rounds its result back to that of the operands.
 */
typedef expr_t (*formula_fn)(formula_t *f, expr_t const *x);
static inline expr_t f_in_wide_type(formula_t *f, formula_fn formula, int count,
                                    hlo_instr_t *const *operands) {
  hr_dtype_t dtype = operands[0]->shape->dtype;
  bool narrow = hr_dtype_is_float(dtype) && hr_dtype_table[dtype].bits < 32;
  expr_t wide[2] = {NULL, NULL};
  for (int k = 0; k < count; k++)
    wide[k] = narrow ? hlo_build_convert(f, operands[k], HR_F32) : operands[k];
  expr_t result = formula(f, wide);
  return narrow ? hlo_build_convert(f, result, dtype) : result;
}

/* The special functions, one or two operands of f32 or f64 (import_chlo_*.c). */
expr_t formula_bessel_i1e(formula_t *f, expr_t const *x);
expr_t formula_digamma(formula_t *f, expr_t const *x);
expr_t formula_erf_inv(formula_t *f, expr_t const *x);
expr_t formula_erfc(formula_t *f, expr_t const *x);
expr_t formula_lgamma(formula_t *f, expr_t const *x);
expr_t formula_polygamma(formula_t *f, expr_t const *x); /* n, x */
expr_t formula_zeta(formula_t *f, expr_t const *x);      /* x, q */

#endif
