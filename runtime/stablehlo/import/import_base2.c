/* exp2 and log2, which are not ops of HLO: 2^x is power(2, x) for real numbers and exp(x ln 2) for
 * complex ones, log2(x) is log(x) / ln 2. Real numbers narrower than f64 are computed in f64 and
 * rounded once, so that powers of two are exact. */
#include <math.h>

#include "stablehlo/import/import_formula.h"

#define LN_2 0.69314718055994530942
#define LOG2_E 1.4426950408889634074

/* A real number times a complex or real one. */
static expr_t scale(hlo_builder_t *f, expr_t z, double factor) {
  if (!z || !hr_dtype_is_complex(z->shape->dtype)) return z ? f_mul_number(f, z, factor) : NULL;
  return f_complex(f, f_mul_number(f, f_real(f, z), factor), f_mul_number(f, f_imag(f, z), factor));
}

/* pow is exact where the result is a power of two; exp(x ln 2) would not be. */
static expr_t formula_exp2(hlo_builder_t *f, expr_t x) {
  if (hr_dtype_is_complex(x->shape->dtype)) return f_exp(f, scale(f, x, LN_2));
  return f_pow(f, f_number(f, 2, x), x);
}

static expr_t formula_log2(hlo_builder_t *f, expr_t x) { return scale(f, f_log(f, x), LOG2_E); }

/* Applies the formula in f64 for real operands, in their own type for complex ones. */
static hr_status_t import_base2(import_scope_t *scope, mlir_op_t *op,
                                expr_t (*formula)(hlo_builder_t *f, expr_t x)) {
  hlo_builder_t *f = &scope->builder;
  hlo_instr_t *x = import_operand(op, 0);
  if (!hlo_shape_is_array(x->shape)) return import_error(scope, op, "the operand is no tensor");
  hr_dtype_t dtype = x->shape->dtype;
  if (!hr_dtype_is_float(dtype) && !hr_dtype_is_complex(dtype))
    return import_error(scope, op, "the operand is %s, want floats or complex numbers",
                        hr_dtype_name(dtype));
  bool is_narrow = hr_dtype_is_float(dtype) && dtype != HR_F64;
  expr_t result = formula(f, is_narrow ? hlo_build_convert(f, x, HR_F64) : x);
  return import_set_results(scope, op, is_narrow ? hlo_build_convert(f, result, dtype) : result);
}

hr_status_t import_exp2(import_scope_t *scope, mlir_op_t *op, const import_row_t *row) {
  (void)row;
  return import_base2(scope, op, formula_exp2);
}

hr_status_t import_log2(import_scope_t *scope, mlir_op_t *op, const import_row_t *row) {
  (void)row;
  return import_base2(scope, op, formula_log2);
}
