/* Formulas of expanded ops: common parts, and the special functions. Like the builder's, all
 * functions accept and return NULL after a failure. */
#ifndef STABLEHLO_IMPORT_FORMULA_H
#define STABLEHLO_IMPORT_FORMULA_H

#include "ops/rules/formula.h"
#include "stablehlo/import/import.h"

static inline expr_t f_add_number(hlo_builder_t *f, expr_t x, double number) {
  return f_add(f, x, f_number(f, number, x));
}
static inline expr_t f_sub_number(hlo_builder_t *f, expr_t x, double number) {
  return f_sub(f, x, f_number(f, number, x));
}
static inline expr_t f_mul_number(hlo_builder_t *f, expr_t x, double number) {
  return f_mul(f, x, f_number(f, number, x));
}

/* A polynomial by Horner's rule: highest coefficient first. */
static inline expr_t f_polynomial(hlo_builder_t *f, expr_t x, int count,
                                  const double *coefficients) {
  expr_t sum = f_number(f, coefficients[0], x);
  for (int i = 1; i < count; i++) sum = f_add_number(f, f_mul(f, sum, x), coefficients[i]);
  return sum;
}
#define F_POLYNOMIAL(f, x, table) f_polynomial(f, x, (int)(sizeof(table) / sizeof *(table)), table)

/* Runs a formula in a type of at least 32 bits and rounds its result back to that of the operands.
 */
typedef expr_t (*formula_fn)(hlo_builder_t *f, expr_t const *x);
static inline expr_t f_in_wide_type(hlo_builder_t *f, formula_fn formula, int count,
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
expr_t formula_bessel_i1e(hlo_builder_t *f, expr_t const *x);
expr_t formula_digamma(hlo_builder_t *f, expr_t const *x);
expr_t formula_erf_inv(hlo_builder_t *f, expr_t const *x);
expr_t formula_erfc(hlo_builder_t *f, expr_t const *x);
expr_t formula_lgamma(hlo_builder_t *f, expr_t const *x);
expr_t formula_polygamma(hlo_builder_t *f, expr_t const *x); /* n, x */
expr_t formula_zeta(hlo_builder_t *f, expr_t const *x);      /* x, q */

#endif
