/* CHLO: ops written by clients, which are expanded here or are ops of HLO with another name.
 * Operands of binary and ternary ops broadcast as in NumPy. The special functions are formulas of
 * import_chlo_erf.c and _gamma.c. Source: the CHLO dialect of StableHLO. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "stablehlo/import/import_formula.h"

/* --- broadcasting --- */

/* The common shape of operands that broadcast. */
typedef struct joint {
  int rank;
  int64_t dims[HLO_MAX_RANK];
  bool dynamic[HLO_MAX_RANK];
  hlo_instr_t *sizes; /* sizes at run time; NULL: all are static */
} joint_t;

/* Dimension of the common shape for dimension d of an operand: given by broadcast_dimensions for
 * an operand of lower rank, else aligned to the right. */
static int64_t position_of(const hlo_shape_t *shape, int rank, hr_ints_t map, int d) {
  return map.count == shape->rank && shape->rank < rank ? map.data[d] : rank - shape->rank + d;
}

/* Merges one operand's shape into the common one: a size of 1 is replaced by any other, other
 * sizes must agree; sizes known only at run time are not checked. */
static hr_status_t join_broadcast_shapes(import_scope_t *scope, const mlir_op_t *op,
                                         const hlo_shape_t *shape, hr_ints_t map, joint_t *joint) {
  char text[HLO_SHAPE_TEXT];
  for (int d = 0; d < shape->rank; d++) {
    int64_t to = position_of(shape, joint->rank, map, d);
    int64_t size = shape->dims[d];
    if (to < 0 || to >= joint->rank)
      return import_error(scope, op, "broadcast_dimensions has %ld, want less than %d", (long)to,
                          joint->rank);
    bool dynamic = shape->dynamic && shape->dynamic[d];
    if (size == 1 && !dynamic) continue;
    if (joint->dims[to] != 1 && joint->dims[to] != size && !dynamic && !joint->dynamic[to])
      return import_error(scope, op, "%s does not broadcast: dimension %d meets a size of %ld",
                          hlo_shape_text(shape, text), d, (long)joint->dims[to]);
    if (joint->dims[to] != 1 && !joint->dynamic[to]) continue;
    joint->dims[to] = size;
    joint->dynamic[to] = dynamic;
  }
  return NULL;
}

/* Broadcasts one operand to the common shape, static or dynamic. */
static hr_status_t broadcast_one(import_scope_t *scope, const mlir_op_t *op, const joint_t *joint,
                                 hr_ints_t map, hlo_instr_t **x) {
  int64_t positions[HLO_MAX_RANK];
  const hlo_shape_t *from = (*x)->shape;
  const hlo_shape_t *to;
  HR_TRY(hlo_shape_array_dynamic(scope->importer->arena, from->dtype, joint->rank, joint->dims,
                                 joint->dynamic, &to));
  if (!joint->sizes && hlo_shape_equal(from, to)) return NULL;
  for (int d = 0; d < from->rank; d++) positions[d] = position_of(from, joint->rank, map, d);
  if (joint->sizes) {
    hlo_attr_t attr = hlo_attr_of_ints(&scope->builder, HLO_ATTR_DIMENSIONS, from->rank, positions);
    *x = hlo_build(&scope->builder, HLO_DYNAMIC_BROADCAST, to, 2,
                   (hlo_instr_t *[]){*x, joint->sizes}, 1, &attr, 0, NULL);
    return hlo_builder_finish(&scope->builder);
  }
  return import_broadcast_to(scope, op, *x, to, (hr_ints_t){positions, from->rank}, x);
}

/* Dynamic sizes may be 1: then the common sizes are computed at run time. */
static hr_status_t join_actual(import_scope_t *scope, const mlir_op_t *op,
                               hlo_instr_t *const *operands, hr_ints_t map, joint_t *joint) {
  int64_t positions[HLO_MAX_RANK];
  if (op->operand_count < 2 || !memchr(joint->dynamic, true, (size_t)joint->rank)) return NULL;
  for (int k = 0; k < op->operand_count; k++) {
    const hlo_shape_t *shape = operands[k]->shape;
    for (int d = 0; d < shape->rank; d++) positions[d] = position_of(shape, joint->rank, map, d);
    hlo_instr_t *sizes = import_sizes_at(scope, operands[k], joint->rank, positions);
    joint->sizes = k ? import_join_sizes(scope, joint->sizes, sizes) : sizes;
  }
  return hlo_builder_finish(&scope->builder);
}

/* The operands, all broadcast to the common shape. */
static hr_status_t broadcast_operands(import_scope_t *scope, const mlir_op_t *op,
                                      hlo_instr_t ***out_operands) {
  hlo_instr_t **operands;
  hr_ints_t map;
  joint_t joint = {.rank = 0};
  HR_TRY(import_operands(scope, op, &operands));
  HR_TRY(import_ints(scope, op, "broadcast_dimensions", 0, 0, &map));
  for (int k = 0; k < op->operand_count; k++) {
    if (!hlo_shape_is_array(operands[k]->shape))
      return import_error(scope, op, "operand %d is no tensor", k);
    if (operands[k]->shape->rank > joint.rank) joint.rank = operands[k]->shape->rank;
  }
  for (int d = 0; d < joint.rank; d++) joint.dims[d] = 1;
  for (int k = 0; k < op->operand_count; k++)
    HR_TRY(join_broadcast_shapes(scope, op, operands[k]->shape, map, &joint));
  HR_TRY(join_actual(scope, op, operands, map, &joint));
  for (int k = 0; k < op->operand_count; k++)
    HR_TRY(broadcast_one(scope, op, &joint, map, &operands[k]));
  *out_operands = operands;
  return NULL;
}

/* A binary or ternary op with broadcast operands; the HLO op is the row's. */
hr_status_t import_chlo_elementwise(import_scope_t *scope, mlir_op_t *op, const import_row_t *row) {
  hlo_instr_t **operands;
  HR_TRY(broadcast_operands(scope, op, &operands));
  return import_set_results(
      scope, op,
      hlo_build(&scope->builder, row->op, NULL, op->operand_count, operands, 0, NULL, 0, NULL));
}

/* Operands broadcast before they are compared. */
hr_status_t import_chlo_compare(import_scope_t *scope, mlir_op_t *op, const import_row_t *row) {
  hlo_instr_t **operands;
  import_attrs_t attrs = {.count = 0};
  HR_TRY(broadcast_operands(scope, op, &operands));
  HR_TRY(import_add_compare(scope, &attrs, op));
  return import_set_results(
      scope, op,
      hlo_build(&scope->builder, row->op, NULL, 2, operands, attrs.count, attrs.items, 0, NULL));
}

/* --- special functions --- */

/* A special function by its formula; types narrower than f32 are computed in f32. */
static hr_status_t import_special(import_scope_t *scope, mlir_op_t *op, formula_fn formula) {
  hlo_instr_t **operands;
  HR_TRY(broadcast_operands(scope, op, &operands));
  for (int k = 0; k < op->operand_count; k++)
    if (!hr_dtype_is_float(operands[k]->shape->dtype))
      return import_error(scope, op, "operand %d is no tensor of floats", k);
  return import_set_results(scope, op,
                            f_in_wide_type(&scope->builder, formula, op->operand_count, operands));
}

#define SPECIAL(name)                                                                        \
  hr_status_t import_##name(import_scope_t *scope, mlir_op_t *op, const import_row_t *row) { \
    (void)row;                                                                               \
    return import_special(scope, op, formula_##name);                                        \
  }
SPECIAL(bessel_i1e)
SPECIAL(digamma)
SPECIAL(erf_inv)
SPECIAL(erfc)
SPECIAL(lgamma)
SPECIAL(polygamma)
SPECIAL(zeta)
#undef SPECIAL

/* --- small expansions --- */

/* exp(x) / 2, halved in the exponent, so that only results beyond the range overflow. */
static expr_t half_exp(hlo_builder_t *f, expr_t x) {
  return f_exp(f, f_add_number(f, x, log(0.5)));
}

/* cosh x = (exp x + exp -x) / 2, with half_exp for each term. */
static expr_t formula_cosh(hlo_builder_t *f, expr_t const *x) {
  return f_add(f, half_exp(f, x[0]), half_exp(f, f_neg(f, x[0])));
}

/* sinh x in two ranges: below 1, where exp x - exp -x would cancel, (e + e / (e + 1)) / 2 with e =
 * expm1 x; else the difference of halved exponentials. */
static expr_t formula_sinh(hlo_builder_t *f, expr_t const *x) {
  expr_t e = hlo_build_unary(f, HLO_EXPONENTIAL_MINUS_ONE, x[0]);
  expr_t small = f_mul_number(f, f_add(f, e, f_div(f, e, f_add_number(f, e, 1))), 0.5);
  expr_t large = f_sub(f, half_exp(f, x[0]), half_exp(f, f_neg(f, x[0])));
  return f_select(f, f_lt(f, f_abs(f, x[0]), f_number(f, 1, x[0])), small, large);
}

/* Real types by formula; complex types are expanded by separate rules. */
hr_status_t import_hyperbolic(import_scope_t *scope, mlir_op_t *op, const import_row_t *row) {
  bool is_real = hr_dtype_is_float(import_operand(op, 0)->shape->dtype);
  if (!is_real) return import_chlo_elementwise(scope, op, row);
  return import_special(scope, op, row->op == HLO_COSH ? formula_cosh : formula_sinh);
}

/* Conjugate; a real number is its own conjugate. */
hr_status_t import_conj(import_scope_t *scope, mlir_op_t *op, const import_row_t *row) {
  (void)row;
  hlo_builder_t *f = &scope->builder;
  hlo_instr_t *z = import_operand(op, 0);
  bool is_complex = hr_dtype_is_complex(z->shape->dtype);
  return import_set_results(scope, op,
                            is_complex ? f_complex(f, f_real(f, z), f_neg(f, f_imag(f, z))) : z);
}

/* For z = x + iy: (x - y)(x + y) + 2xyi. Where |x| = |y| the real part is 0 even if x + y
 * overflows. */
hr_status_t import_square(import_scope_t *scope, mlir_op_t *op, const import_row_t *row) {
  (void)row;
  hlo_builder_t *f = &scope->builder;
  hlo_instr_t *z = import_operand(op, 0);
  if (!hr_dtype_is_complex(z->shape->dtype)) return import_set_results(scope, op, f_mul(f, z, z));
  expr_t x = f_real(f, z);
  expr_t y = f_imag(f, z);
  expr_t product = f_mul(f, x, y);
  if (!x) return hlo_builder_finish(f);
  expr_t alike = f_and(f, f_finite(f, x), f_eq(f, f_abs(f, x), f_abs(f, y)));
  expr_t real = f_select(f, alike, f_number(f, 0, x), f_mul(f, f_sub(f, x, y), f_add(f, x, y)));
  return import_set_results(scope, op, f_complex(f, real, f_mul_number(f, product, 2)));
}

/* is_inf compares the absolute value, is_pos_inf and is_neg_inf the value itself. */
hr_status_t import_is_inf(import_scope_t *scope, mlir_op_t *op, const import_row_t *row) {
  hlo_builder_t *f = &scope->builder;
  hlo_instr_t *x = import_operand(op, 0);
  bool negative = strstr(row->name, "is_neg_inf") != NULL;
  bool either = strstr(row->name, "is_inf") != NULL;
  expr_t limit = f_number(f, negative ? -INFINITY : INFINITY, x);
  return import_set_results(scope, op, f_eq(f, either ? f_abs(f, x) : x, limit));
}

/* The kernel that asin and acos of complex numbers share: sqrt(a^2 - x^2) + i log(a + sqrt(a^2 -
 * 1)), where 2a is the sum of the distances from 1 and -1. With asin(z) = u + iv that is cos u cosh
 * v + i |v|. */
hr_status_t import_asin_acos_kernel(import_scope_t *scope, mlir_op_t *op, const import_row_t *row) {
  (void)row;
  hlo_builder_t *f = &scope->builder;
  expr_t arc = hlo_build_unary(f, HLO_ASIN, import_operand(op, 0));
  expr_t height = f_abs(f, f_imag(f, arc));
  expr_t real = f_mul(f, f_cos(f, f_real(f, arc)), hlo_build_unary(f, HLO_COSH, height));
  return import_set_results(scope, op, f_complex(f, real, height));
}

/* --- next_after: a step of one in the bits, which are ordered for each sign --- */

/* The bits of x as another type of equal width; NULL after a failure, which stays in f->status. */
static expr_t as_type(hlo_builder_t *f, expr_t x, hr_dtype_t dtype) {
  const hlo_shape_t *shape;
  if (!x || f->status) return NULL;
  f->status = hlo_shape_with_dtype(&f->computation->module->arena, x->shape, dtype, &shape);
  return hlo_build(f, HLO_BITCAST_CONVERT, shape, 1, &x, 0, NULL, 0, NULL);
}

/* Numbers of one sign have the order of their bits: away from 0 the next one has bits + 1, towards
 * 0 bits - 1. From 0 the step is to the smallest number with the sign of y; equal numbers give y;
 * NaN gives NaN. */
static expr_t next_after(hlo_builder_t *f, expr_t x, expr_t y, hr_dtype_t bits_type) {
  expr_t x_bits = as_type(f, x, bits_type);
  expr_t y_bits = as_type(f, y, bits_type);
  if (!x_bits) return NULL;
  expr_t one = f_number(f, 1, x_bits);
  expr_t zero = f_number(f, 0, x);
  expr_t top = hlo_build_binary(f, HLO_SHIFT_LEFT, one,
                                f_number(f, hr_dtype_table[bits_type].bits - 1, x_bits));
  /* away from 0 if y is beyond x on the same side of 0 */
  expr_t away = f_eq(f, f_lt(f, x, y), f_gt(f, x, zero));
  expr_t step = f_select(f, away, f_add(f, x_bits, one), f_sub(f, x_bits, one));
  expr_t least = f_or(f, f_and(f, y_bits, top), one);
  step = f_select(f, f_eq(f, x, zero), least, step);
  expr_t moved = f_select(f, f_eq(f, x, y), y, as_type(f, step, x->shape->dtype));
  return f_select(f, f_or(f, f_ne(f, x, x), f_ne(f, y, y)), f_number(f, NAN, x), moved);
}

/* Bits are processed as an unsigned integer of the same width; types below 8 bits have none. */
hr_status_t import_next_after(import_scope_t *scope, mlir_op_t *op, const import_row_t *row) {
  (void)row;
  hlo_instr_t **operands;
  HR_TRY(broadcast_operands(scope, op, &operands));
  hr_dtype_t dtype = operands[0]->shape->dtype;
  if (!hr_dtype_is_float(dtype)) return import_error(scope, op, "its operands are no floats");
  int bits = hr_dtype_table[dtype].bits;
  static const hr_dtype_t unsigned_types[] = {HR_U8, HR_U16, HR_U32, HR_U64};
  hr_dtype_t bits_type = unsigned_types[bits == 64 ? 3 : bits / 16];
  if (bits < 8) return import_error(scope, op, "numbers of fewer than 8 bits");
  return import_set_results(scope, op,
                            next_after(&scope->builder, operands[0], operands[1], bits_type));
}

/* --- constants --- */

/* "complex.number<:f32 1.0, 2.0>" */
static bool complex_number(hr_str_t text, double *re, double *im) {
  char copy[160];
  snprintf(copy, sizeof copy, "%.*s", HR_STR_ARGS(text));
  const char *at = strchr(copy, '<');
  return at && sscanf(at, "< : %*s %lf , %lf", re, im) == 2;
}

/* A number of any spelling as a scalar constant; 64-bit integers stay exact. */
static hlo_instr_t *parse_scalar(import_scope_t *scope, const mlir_attr_t *attr, hr_dtype_t dtype) {
  hlo_builder_t *f = &scope->builder;
  double re = 0, im = 0;
  if (attr->kind == MLIR_ATTR_OPAQUE && complex_number(attr->text, &re, &im))
    return hlo_build_binary(f, HLO_COMPLEX, hlo_build_number(f, re, hr_dtype_real(dtype)),
                            hlo_build_number(f, im, hr_dtype_real(dtype)));
  if (attr->kind == MLIR_ATTR_FLOAT) return hlo_build_number(f, attr->number, dtype);
  if (attr->kind == MLIR_ATTR_BOOL || attr->kind == MLIR_ATTR_INTEGER) {
    /* a double would not hold all 64 bits */
    hlo_value_t *value;
    if (!hr_dtype_is_integer(dtype) || hr_dtype_bytes(dtype) < 8)
      return hlo_build_number(f, (double)attr->integer, dtype);
    if ((f->status = hlo_value_array(dtype, 0, NULL, &value))) return NULL;
    memcpy(value->data, &attr->integer, 8);
    return hlo_build_constant(f, value);
  }
  if (!f->status) f->status = import_error(scope, NULL, "want a number");
  return NULL;
}

/* A constant of the operand's shape, which may be dynamic. */
hr_status_t import_constant_like(import_scope_t *scope, mlir_op_t *op, const import_row_t *row) {
  (void)row;
  const mlir_attr_t *attr = mlir_op_attr(op, "value");
  const hlo_shape_t *like = import_operand(op, 0)->shape;
  const hlo_shape_t *shape;
  hr_dtype_t dtype;
  const mlir_type_t *type = op->result_count ? op->results[0].type : NULL;
  if (!attr || !type) return import_error(scope, op, "it has no value");
  HR_TRY(import_dtype(scope->importer, type->element ? type->element : type, &dtype));
  HR_TRY(hlo_shape_with_dtype(scope->importer->arena, like, dtype, &shape));
  hlo_instr_t *scalar = parse_scalar(scope, attr, dtype);
  return import_set_results(
      scope, op,
      shape->rank ? hlo_build_broadcast(&scope->builder, scalar, shape, (hr_ints_t){NULL, 0})
                  : scalar);
}

/* --- ops with another form in HLO --- */

/* Attributes are in the op's structure, group sizes are the third operand. */
hr_status_t import_ragged_dot(import_scope_t *scope, mlir_op_t *op, const import_row_t *row) {
  static const struct {
    hlo_attr_key_t key;
    const char *field;
  } lists[] = {{HLO_ATTR_LHS_BATCH_DIMS, "lhs_batching_dimensions"},
               {HLO_ATTR_LHS_CONTRACTING_DIMS, "lhs_contracting_dimensions"},
               {HLO_ATTR_RHS_BATCH_DIMS, "rhs_batching_dimensions"},
               {HLO_ATTR_RHS_CONTRACTING_DIMS, "rhs_contracting_dimensions"},
               {HLO_ATTR_LHS_RAGGED_DIMS, "lhs_ragged_dimensions"},
               {HLO_ATTR_RHS_GROUP_DIMS, "rhs_group_dimensions"}};
  hlo_instr_t **operands;
  const hlo_shape_t *shape;
  import_attrs_t attrs = {.count = 0};
  HR_TRY(import_operands(scope, op, &operands));
  HR_TRY(import_result_shape(scope, op, 0, &shape));
  for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
    HR_TRY(import_add_field_ints(scope, &attrs, lists[i].key, op, "ragged_dot_dimension_numbers",
                                 lists[i].field));
  HR_TRY(import_add_precision(scope, &attrs, op));
  return import_set_results(
      scope, op,
      hlo_build(&scope->builder, row->op, shape, 3, operands, attrs.count, attrs.items, 0, NULL));
}

/* chlo.scan (inputs) inits (carries) has the same bodies and order as HLO's scan. */
hr_status_t import_scan(import_scope_t *scope, mlir_op_t *op, const import_row_t *row) {
  hlo_instr_t **operands;
  hlo_computation_t *body;
  hr_ints_t segments;
  int64_t dimension = import_int(op, "dimension", 0);
  import_attrs_t attrs = {.count = 0};
  HR_TRY(import_operands(scope, op, &operands));
  HR_TRY(import_ints(scope, op, "operandSegmentSizes", -1, 0, &segments));
  if (segments.count != 2 || segments.data[0] + segments.data[1] != op->operand_count)
    return import_error(scope, op, "operandSegmentSizes do not count its inputs and carries");
  HR_TRY(import_body(scope, op, 0, &body));
  import_add(&attrs, hlo_attr_of_ints(&scope->builder, HLO_ATTR_DIMENSIONS, 1, &dimension));
  import_add(&attrs, hlo_attr_of_int(HLO_ATTR_NUM_CARRIES, segments.data[1]));
  if (import_bool(op, "is_reverse", false))
    import_add(&attrs, hlo_attr_of_bool(HLO_ATTR_IS_REVERSE, true));
  if (import_bool(op, "is_associative", false))
    import_add(&attrs, hlo_attr_of_bool(HLO_ATTR_IS_ASSOCIATIVE, true));
  import_add(&attrs, hlo_attr_of_called(HLO_ATTR_TO_APPLY, 1));
  return import_set_results(scope, op,
                            hlo_build(&scope->builder, row->op, NULL, op->operand_count, operands,
                                      attrs.count, attrs.items, 1, &body));
}
