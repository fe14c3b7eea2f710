/* Ops on complex numbers, as ops/kernels/elementwise/complex_math.h defines them.
 *
 *   joined value   lanes re0 im0 re1 im1 ...       pair   re0 re1 ... and im0 im1 ...
 *
 * Ops on parts work on pairs. Splitting a value that was just joined returns its parts, so chains
 * of ops shuffle only at their ends. */
#include "jit/element/element_complex.h"

/* --- parts ------------------------------------------------------------------------------------ */

static kir_value_t *number(jit_code_t *code, int value) {
  return kir_const_int(kir_int_type(code->module, 32), (uint64_t)value);
}

/* Lanes first, first + step, ... of a followed by b. */
static kir_value_t *take(jit_code_t *code, kir_value_t *a, kir_value_t *b, int first, int step,
                         int count) {
  kir_value_t *order[1024];
  for (int i = 0; i < count; i++) order[i] = number(code, first + i * step);
  return kir_shuffle(code->builder, a, b, kir_const_vector(order, (unsigned)count));
}

/* Was the value made by jit_complex_join from vectors: a0 b0 a1 b1 ...? */
static bool is_joined_vector(kir_value_t *value) {
  if (!(value->op == KIR_SHUFFLE)) return false;
  int count = (int)value->type->lanes;
  for (int i = 0; i < count; i++)
    if ((int)value->lanes[(unsigned)i] != i / 2 + i % 2 * (count / 2)) return false;
  return count == 2 * jit_lanes(kir_type_of(value->args[0]));
}

static bool is_joined_scalar(kir_value_t *value) {
  return (value->op == KIR_INSERT) && (value->args[0]->op == KIR_INSERT);
}

static bool is_joined(kir_value_t *value) {
  return kir_is_constant(value) || is_joined_vector(value) || is_joined_scalar(value);
}

/* Even lanes and odd lanes, unless the value was just joined. */
jit_pair_t jit_complex_split(jit_code_t *code, kir_value_t *value) {
  kir_builder_t *b = code->builder;
  int lanes = jit_lanes(kir_type_of(value)) / 2;
  if (is_joined_vector(value)) return (jit_pair_t){value->args[0], value->args[1]};
  if (is_joined_scalar(value)) return (jit_pair_t){value->args[0]->args[1], value->args[1]};
  if (lanes == 1)
    return (jit_pair_t){kir_extract(b, value, number(code, 0)),
                        kir_extract(b, value, number(code, 1))};
  return (jit_pair_t){take(code, value, value, 0, 2, lanes), take(code, value, value, 1, 2, lanes)};
}

/* Interleaves the parts by one shuffle. */
kir_value_t *jit_complex_join(jit_code_t *code, jit_pair_t parts) {
  kir_type_t *type = kir_type_of(parts.re);
  int lanes = jit_lanes(type);
  if (lanes == 1) {
    kir_value_t *none = kir_poison(kir_vector_type(type, 2));
    kir_value_t *first = kir_insert(code->builder, none, parts.re, number(code, 0));
    return kir_insert(code->builder, first, parts.im, number(code, 1));
  }
  kir_value_t *order[1024];
  for (int i = 0; i < 2 * lanes; i++) order[i] = number(code, i / 2 + i % 2 * lanes);
  kir_value_t *shuffle_mask = kir_const_vector(order, (unsigned)(2 * lanes));
  return kir_shuffle(code->builder, parts.re, parts.im, shuffle_mask);
}

/* --- lanes ------------------------------------------------------------------------------------ */

int jit_element_lanes(hr_dtype_t dtype, kir_value_t *value) {
  return jit_lanes(kir_type_of(value)) / (hr_dtype_is_complex(dtype) ? 2 : 1);
}

/* Broadcasts one number to all lanes. */
kir_value_t *jit_element_splat(jit_code_t *code, hr_dtype_t dtype, int lanes, kir_value_t *scalar) {
  if (lanes == 1) return scalar;
  if (!hr_dtype_is_complex(dtype))
    return jit_splat(code, kir_vector_type(kir_type_of(scalar), (unsigned)lanes), scalar);
  jit_pair_t parts = jit_complex_split(code, scalar);
  kir_type_t *type = kir_vector_type(kir_type_of(parts.re), (unsigned)lanes);
  return jit_complex_join(
      code, (jit_pair_t){jit_splat(code, type, parts.re), jit_splat(code, type, parts.im)});
}

/* Lanes [first, first + lanes) of a value; a complex number takes two lanes of the vector. */
kir_value_t *jit_element_take(jit_code_t *code, hr_dtype_t dtype, kir_value_t *value, int first,
                              int lanes) {
  int each = hr_dtype_is_complex(dtype) ? 2 : 1;
  return take(code, value, value, first * each, 1, lanes * each);
}

/* A mask has one lane per number. c64 is selected as 64-bit integers, so that nothing is split. */
kir_value_t *jit_element_choose(jit_code_t *code, hr_dtype_t dtype, kir_value_t *condition,
                                kir_value_t *a, kir_value_t *b) {
  kir_builder_t *builder = code->builder;
  int lanes = jit_lanes(kir_type_of(condition));
  if (!hr_dtype_is_complex(dtype) || lanes == 1) return kir_select(builder, condition, a, b);
  if (dtype == HR_C64 && !is_joined(a) && !is_joined(b)) {
    kir_type_t *type = kir_type_of(a);
    kir_type_t *whole = kir_vector_type(kir_int_type(code->module, 64), (unsigned)lanes);
    a = kir_bitcast(builder, a, whole);
    b = kir_bitcast(builder, b, whole);
    return kir_bitcast(builder, kir_select(builder, condition, a, b), type);
  }
  jit_pair_t x = jit_complex_split(code, a), y = jit_complex_split(code, b);
  jit_pair_t chosen = {kir_select(builder, condition, x.re, y.re),
                       kir_select(builder, condition, x.im, y.im)};
  return jit_complex_join(code, chosen);
}

/* --- ops -------------------------------------------------------------------------------------- */

/* An op that treats both parts alike, on the vector of all parts. */
static kir_value_t *by_parts(jit_code_t *code, hlo_opcode_t op, kir_value_t **args) {
  switch (op) {
    case HLO_ADD:
      return kir_fadd(code->builder, args[0], args[1]);
    case HLO_SUBTRACT:
      return kir_fsub(code->builder, args[0], args[1]);
    default:
      return kir_fneg(code->builder, args[0]);
  }
}

/* Ops that treat both parts alike: on the parts if an operand was just joined, else on the
 * vectors. */
static kir_value_t *both_parts(jit_code_t *code, hlo_opcode_t op, kir_value_t **args, int count) {
  bool joined = is_joined(args[0]) || (count > 1 && is_joined(args[1]));
  if (!joined) return by_parts(code, op, args);
  jit_pair_t x = jit_complex_split(code, args[0]),
             y = count > 1 ? jit_complex_split(code, args[1]) : x;
  jit_pair_t result = {by_parts(code, op, (kir_value_t *[]){x.re, y.re}),
                       by_parts(code, op, (kir_value_t *[]){x.im, y.im})};
  return jit_complex_join(code, result);
}

/* The textbook formula, as the reference engine has it. */
static kir_value_t *multiply(jit_code_t *code, jit_pair_t a, jit_pair_t b) {
  kir_builder_t *builder = code->builder;
  kir_value_t *rr = kir_fmul(builder, a.re, b.re), *ii = kir_fmul(builder, a.im, b.im);
  kir_value_t *ri = kir_fmul(builder, a.re, b.im), *ir = kir_fmul(builder, a.im, b.re);
  return jit_complex_join(code, (jit_pair_t){kir_fsub(builder, rr, ii), kir_fadd(builder, ri, ir)});
}

/* Conditions on parts, and their combinations. */
static kir_value_t *test(jit_code_t *code, kir_fcmp_t is, kir_value_t *a, kir_value_t *b) {
  return kir_fcmp(code->builder, is, a, b);
}
static kir_value_t *either(jit_code_t *code, kir_value_t *a, kir_value_t *b) {
  return kir_or(code->builder, a, b);
}
static kir_value_t *both(jit_code_t *code, kir_value_t *a, kir_value_t *b) {
  return kir_and(code->builder, a, b);
}
static kir_value_t *has_nan(jit_code_t *code, jit_pair_t a) {
  return test(code, KIR_FCMP_UNO, a.re, a.im);
}

/* Ordered by real parts, then by imaginary parts. An operand with a NaN wins, the first before the
 * second. */
static kir_value_t *extreme(jit_code_t *code, hlo_opcode_t op, jit_pair_t a, jit_pair_t b) {
  kir_fcmp_t order = op == HLO_MAXIMUM ? KIR_FCMP_OGT : KIR_FCMP_OLT;
  kir_value_t *tie =
      both(code, test(code, KIR_FCMP_OEQ, a.re, b.re), test(code, order, a.im, b.im));
  kir_value_t *first = either(code, test(code, order, a.re, b.re), tie);
  kir_value_t *known = kir_not(code->builder, has_nan(code, b));
  kir_value_t *takes_a = either(code, has_nan(code, a), both(code, known, first));
  return jit_complex_join(code, (jit_pair_t){kir_select(code->builder, takes_a, a.re, b.re),
                                             kir_select(code->builder, takes_a, a.im, b.im)});
}

/* Equality only: complex numbers are not ordered. */
static kir_value_t *compare(jit_code_t *code, const jit_element_op_t *op, jit_pair_t a,
                            jit_pair_t b) {
  bool equal = JIT_DETAIL_DIRECTION(op->detail) == HLO_DIRECTION_EQ;
  kir_fcmp_t is = equal ? KIR_FCMP_OEQ : KIR_FCMP_UNE;
  kir_value_t *re = test(code, is, a.re, b.re), *im = test(code, is, a.im, b.im);
  return equal ? both(code, re, im) : either(code, re, im);
}

/* --- conversions ------------------------------------------------------------------------------ */

/* To pred: any part differs from 0. To real types: the real part. */
static kir_value_t *from_complex(jit_code_t *code, hr_dtype_t from, hr_dtype_t to,
                                 kir_value_t *value) {
  hr_dtype_t part = hr_dtype_real(from);
  jit_pair_t z = jit_complex_split(code, value);
  if (to == HR_PRED) {
    kir_value_t *zero = kir_null(kir_type_of(z.re));
    return either(code, test(code, KIR_FCMP_UNE, z.re, zero), test(code, KIR_FCMP_UNE, z.im, zero));
  }
  if (!hr_dtype_is_complex(to)) return jit_convert_emit(code, part, to, z.re);
  return jit_complex_join(code,
                          (jit_pair_t){jit_convert_emit(code, part, hr_dtype_real(to), z.re),
                                       jit_convert_emit(code, part, hr_dtype_real(to), z.im)});
}

/* Real numbers get a zero imaginary part. */
static kir_value_t *convert(jit_code_t *code, hr_dtype_t from, hr_dtype_t to, kir_value_t *value) {
  if (from == to) return value;
  if (hr_dtype_is_complex(from)) return from_complex(code, from, to, value);
  kir_value_t *re = jit_convert_emit(code, from, hr_dtype_real(to), value);
  return jit_complex_join(code, (jit_pair_t){re, kir_null(kir_type_of(re))});
}

kir_value_t *jit_complex_emit(jit_code_t *code, const jit_element_op_t *op, kir_value_t **args) {
  int count = op->op == HLO_CONVERT ? 1 : hlo_op_table[op->op].operands;
  switch (op->op) {
    case HLO_CONVERT:
      return convert(code, op->from, op->to, args[0]);
    case HLO_COMPLEX:
      return jit_complex_join(code, (jit_pair_t){args[0], args[1]});
    case HLO_ADD:
    case HLO_SUBTRACT:
    case HLO_NEGATE:
      return both_parts(code, op->op, args, count);
    default:
      break;
  }
  jit_pair_t x = jit_complex_split(code, args[0]),
             y = count > 1 ? jit_complex_split(code, args[1]) : x;
  switch (op->op) {
    case HLO_REAL:
      return x.re;
    case HLO_IMAG:
      return x.im;
    case HLO_COMPARE:
      return compare(code, op, x, y);
    case HLO_MULTIPLY:
      return multiply(code, x, y);
    case HLO_MAXIMUM:
    case HLO_MINIMUM:
      return extreme(code, op->op, x, y);
    default:
      return jit_complex_call(code, op->op, x, y);
  }
}

bool jit_complex_supports(hlo_opcode_t op, hr_dtype_t from, hr_dtype_t to) {
  switch (op) {
    case HLO_COMPLEX:
      return from == hr_dtype_real(to);
    case HLO_SELECT:
    case HLO_CONVERT:
    case HLO_COMPARE:
    case HLO_REAL:
    case HLO_IMAG:
    case HLO_ADD:
    case HLO_SUBTRACT:
    case HLO_MULTIPLY:
    case HLO_NEGATE:
    case HLO_MAXIMUM:
    case HLO_MINIMUM:
    case HLO_CLAMP:
      return true;
    default:
      return jit_complex_is_function(op);
  }
}
