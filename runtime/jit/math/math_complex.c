/* Functions of complex numbers in generated code: each is a function of the module, whose arguments
 * are the parts as scalars or vectors. A short formula covers finite numbers of moderate size. If
 * any lane holds another number, ops/kernels/elementwise/complex_math.h computes all lanes and the
 * exceptional ones are taken from there, so that zeros, infinities and branch cuts are the
 * reference engine's. Functions without a formula always call it. */
#include <math.h>
#include <stdio.h>

#include "jit/element/element_complex.h"
#include "jit/math/jit_math.h"
#include "jit/math/math_complex_power.h"
#include "jit/math/math_parts.h"

typedef jit_pair_t pair_t;

/* Emits a formula. *out_rare: lanes that it does not cover; NULL: none. */
typedef pair_t (*formula_fn)(jit_code_t *c, pair_t z, pair_t w, math_value_t *out_rare);

typedef struct complex_op {
  const char *name;        /* c128_lanes_<name> is the library's function; NULL: no such function */
  formula_fn narrow, wide; /* formulas for f32 and f64 parts; NULL: none */
  bool is_done_in_f64;     /* the narrow formula computes in f64 and rounds at the end */
  double cost;
} complex_op_t;

/* --- pieces ----------------------------------------------------------------------------------- */

static math_value_t call_1(jit_code_t *c, hlo_opcode_t op, math_value_t x) {
  return jit_math_emit(c, op, x, NULL);
}
static math_value_t negated(jit_code_t *c, math_value_t condition) {
  return kir_not(c->builder, condition);
}

/* Is |x| at or above the limit, or NaN? */
static math_value_t is_beyond(jit_code_t *c, math_value_t x, double limit_value) {
  return negated(c, is_less_k(c, magnitude(c, x), limit_value));
}
static math_value_t is_not_finite(jit_code_t *c, math_value_t x) {
  return is_beyond(c, x, INFINITY);
}

/* Sum of squares. *out_rare: lanes where it, or its root, loses accuracy. */
static math_value_t square_sum(jit_code_t *c, pair_t z, math_value_t *out_rare) {
  math_value_t squares = multiply_add(c, z.re, z.re, mul(c, z.im, z.im));
  *out_rare = negated(c, both(c, is_more_k(c, squares, 0x1p-960), is_less_k(c, squares, 0x1p960)));
  return squares;
}

/* Limit of |x| for which e^x does not overflow and e^-x is not denormal. */
static double exp_limit(math_value_t like) { return is_f64(like) ? 708 : 87; }

/* --- exponentials and functions based on them ------------------------------------------------- */

static pair_t exponential(jit_code_t *c, pair_t z, pair_t w, math_value_t *out_rare) {
  math_value_t size = call_1(c, HLO_EXPONENTIAL, z.re);
  (void)w;
  *out_rare = either(c, is_beyond(c, z.re, exp_limit(z.re)), is_not_finite(c, z.im));
  return (pair_t){mul(c, size, call_1(c, HLO_COSINE, z.im)),
                  mul(c, size, call_1(c, HLO_SINE, z.im))};
}

/* (e^x - 1) cos y - 2 sin(y/2)^2, which does not cancel near 0. */
static pair_t exponential_minus_one(jit_code_t *c, pair_t z, pair_t w, math_value_t *out_rare) {
  pair_t e = exponential(c, z, w, out_rare);
  math_value_t half = call_1(c, HLO_SINE, mul_k(c, z.im, 0.5));
  math_value_t less_one =
      mul(c, call_1(c, HLO_EXPONENTIAL_MINUS_ONE, z.re), call_1(c, HLO_COSINE, z.im));
  return (pair_t){sub(c, less_one, mul(c, mul_k(c, half, 2), half)), e.im};
}

/* Lanes that formulas with trigonometric `angle` and hyperbolic `size` do not cover. */
static math_value_t trigonometric_rare(jit_code_t *c, math_value_t angle, math_value_t size) {
  return either(c, is_beyond(c, size, exp_limit(size)), is_not_finite(c, angle));
}

static pair_t sine(jit_code_t *c, pair_t z, pair_t w, math_value_t *out_rare) {
  (void)w;
  *out_rare = trigonometric_rare(c, z.re, z.im);
  return (pair_t){mul(c, call_1(c, HLO_SINE, z.re), call_1(c, HLO_COSH, z.im)),
                  mul(c, call_1(c, HLO_COSINE, z.re), call_1(c, HLO_SINH, z.im))};
}

static pair_t cosine(jit_code_t *c, pair_t z, pair_t w, math_value_t *out_rare) {
  (void)w;
  *out_rare = trigonometric_rare(c, z.re, z.im);
  return (pair_t){mul(c, call_1(c, HLO_COSINE, z.re), call_1(c, HLO_COSH, z.im)),
                  negate(c, mul(c, call_1(c, HLO_SINE, z.re), call_1(c, HLO_SINH, z.im)))};
}

static pair_t sinh_(jit_code_t *c, pair_t z, pair_t w, math_value_t *out_rare) {
  (void)w;
  *out_rare = trigonometric_rare(c, z.im, z.re);
  return (pair_t){mul(c, call_1(c, HLO_SINH, z.re), call_1(c, HLO_COSINE, z.im)),
                  mul(c, call_1(c, HLO_COSH, z.re), call_1(c, HLO_SINE, z.im))};
}

static pair_t cosh_(jit_code_t *c, pair_t z, pair_t w, math_value_t *out_rare) {
  (void)w;
  *out_rare = trigonometric_rare(c, z.im, z.re);
  return (pair_t){mul(c, call_1(c, HLO_COSH, z.re), call_1(c, HLO_COSINE, z.im)),
                  mul(c, call_1(c, HLO_SINH, z.re), call_1(c, HLO_SINE, z.im))};
}

/* Kahan's formula, with s = sinh x and t = tan y, without cancellation. */
static pair_t tanh_(jit_code_t *c, pair_t z, pair_t w, math_value_t *out_rare) {
  math_value_t s = call_1(c, HLO_SINH, z.re), t = call_1(c, HLO_TAN, z.im);
  math_value_t beta = add_k(c, mul(c, t, t), 1), rho = square_root(c, add_k(c, mul(c, s, s), 1));
  math_value_t below = add_k(c, mul(c, beta, mul(c, s, s)), 1);
  (void)w;
  *out_rare = either(c, is_beyond(c, z.re, 300), is_not_finite(c, z.im));
  return (pair_t){divide(c, mul(c, beta, mul(c, rho, s)), below), divide(c, t, below)};
}

/* tan z = -i tanh iz */
static pair_t tan_(jit_code_t *c, pair_t z, pair_t w, math_value_t *out_rare) {
  pair_t turned = tanh_(c, (pair_t){negate(c, z.im), z.re}, w, out_rare);
  return (pair_t){turned.im, negate(c, turned.re)};
}

/* --- logarithms and powers -------------------------------------------------------------------- */

/* Logarithm of parts converted from f32: their squares are accurate enough in f64. */
static pair_t log_of_f32(jit_code_t *c, pair_t z, pair_t w, math_value_t *out_rare) {
  math_value_t squares = square_sum(c, z, out_rare);
  (void)w;
  return (pair_t){mul_k(c, call_1(c, HLO_LOG, squares), 0.5),
                  jit_math_emit(c, HLO_ATAN2, z.im, z.re)};
}

/* x^2 + y^2 - 1 for numbers near the unit circle, where the terms nearly cancel. */
static math_value_t squares_less_one(jit_code_t *c, pair_t z) {
  math_value_t lost_1, lost_2, xx = mul(c, z.re, z.re), yy = mul(c, z.im, z.im);
  math_value_t low =
      add(c, fused(c, z.re, z.re, negate(c, xx)), fused(c, z.im, z.im, negate(c, yy)));
  math_value_t x_larger = is_less(c, yy, xx), larger = choose(c, x_larger, xx, yy),
               smaller = choose(c, x_larger, yy, xx);
  math_value_t sum = math_exact_sum(c, larger, real(larger, -1), &lost_1);
  sum = math_exact_sum(c, sum, smaller, &lost_2);
  return add(c, sum, add(c, low, add(c, lost_1, lost_2)));
}

static pair_t log_(jit_code_t *c, pair_t z, pair_t w, math_value_t *out_rare) {
  math_value_t squares = square_sum(c, z, out_rare);
  (void)w;
  math_value_t is_near = both(c, is_more_k(c, squares, 0.5), is_less_k(c, squares, 2));
  math_value_t near = call_1(c, HLO_LOG_PLUS_ONE, squares_less_one(c, z));
  math_value_t twice = choose(c, is_near, near, call_1(c, HLO_LOG, squares));
  return (pair_t){mul_k(c, twice, 0.5), jit_math_emit(c, HLO_ATAN2, z.im, z.re)};
}

/* One part is t, the root of the mean of |x| and |z|; the other is y / 2t. */
static pair_t root(jit_code_t *c, pair_t z, math_value_t size) {
  math_value_t t = square_root(c, mul_k(c, add(c, magnitude(c, z.re), size), 0.5));
  math_value_t other = divide(c, z.im, mul_k(c, t, 2));
  math_value_t is_left = is_less_k(c, z.re, 0);
  return (pair_t){choose(c, is_left, magnitude(c, other), t),
                  choose(c, is_left, with_sign_of(c, t, z.im), other)};
}

static pair_t sqrt_(jit_code_t *c, pair_t z, pair_t w, math_value_t *out_rare) {
  (void)w;
  return root(c, z, square_root(c, square_sum(c, z, out_rare)));
}

static pair_t rsqrt(jit_code_t *c, pair_t z, pair_t w, math_value_t *out_rare) {
  math_value_t size = square_root(c, square_sum(c, z, out_rare));
  pair_t r = root(c, z, size);
  (void)w;
  return (pair_t){divide(c, r.re, size), negate(c, divide(c, r.im, size))};
}

static pair_t sign(jit_code_t *c, pair_t z, pair_t w, math_value_t *out_rare) {
  math_value_t size = square_root(c, square_sum(c, z, out_rare));
  (void)w;
  return (pair_t){divide(c, z.re, size), divide(c, z.im, size)};
}

/* The root of the sum of squares, scaled by the power of two below the larger part to avoid
 * overflow and underflow. */
static math_value_t modulus(jit_code_t *c, pair_t z) {
  math_value_t a = magnitude(c, z.re), b = magnitude(c, z.im),
               larger = choose(c, is_less(c, a, b), b, a);
  math_value_t power = bits_of(c, larger);
  int mantissa = mantissa_bits(a);
  int64_t unit = (int64_t)1 << mantissa, shift_range = 2 * exponent_bias(a);
  kir_type_t *type = type_of(power);
  power = jit_intrinsic(c, KIR_SMAX, type,
                        (math_value_t[]){bits_and_k(c, power, -unit), bits_k(power, unit)}, 2);
  power = jit_intrinsic(c, KIR_SMIN, type,
                        (math_value_t[]){power, bits_k(power, (shift_range - 1) * unit)}, 2);
  math_value_t down = from_bits(c, bits_sub(c, bits_k(power, shift_range * unit), power), a);
  math_value_t x = mul(c, z.re, down), y = mul(c, z.im, down);
  return mul(c, square_root(c, multiply_add(c, x, x, mul(c, y, y))), from_bits(c, power, a));
}

static pair_t abs_(jit_code_t *c, pair_t z, pair_t w, math_value_t *out_rare) {
  math_value_t size = modulus(c, z);
  (void)w;
  *out_rare = NULL;
  return (pair_t){size, size};
}

/* e^(w log z) for f32 results. In f64 the product may magnify the logarithm's error, except for
 * large angles. */
static pair_t power_of_f32(jit_code_t *c, pair_t z, pair_t w, math_value_t *out_rare) {
  math_value_t rare_exp;
  pair_t log = log_of_f32(c, z, w, out_rare);
  pair_t product = {sub(c, mul(c, w.re, log.re), mul(c, w.im, log.im)),
                    add(c, mul(c, w.re, log.im), mul(c, w.im, log.re))};
  pair_t result = exponential(c, product, w, &rare_exp);
  math_value_t is_real = both(c, is_equal_k(c, z.im, 0), is_equal_k(c, w.im, 0));
  result.im = choose_k(c, both(c, is_real, is_more_k(c, z.re, 0)), 0, result.im);
  *out_rare = either(c, either(c, *out_rare, rare_exp), is_beyond(c, product.im, 0x1p20));
  return result;
}

/* --- quotients -------------------------------------------------------------------------------- */

/* Products of f32 numbers are exact in f64. */
static pair_t divide_f32(jit_code_t *c, pair_t x, pair_t y, math_value_t *out_rare) {
  math_value_t squares = add(c, mul(c, y.re, y.re), mul(c, y.im, y.im));
  math_value_t usual = both(c, is_more_k(c, squares, 0), is_less_k(c, squares, INFINITY));
  *out_rare =
      either(c, negated(c, usual), either(c, is_not_finite(c, x.re), is_not_finite(c, x.im)));
  math_value_t re = add(c, mul(c, x.re, y.re), mul(c, x.im, y.im)),
               im = sub(c, mul(c, x.im, y.re), mul(c, x.re, y.im));
  return (pair_t){divide(c, re, squares), divide(c, im, squares)};
}

/* Smith's method: scales by the larger part of the divisor. */
static pair_t divide_f64(jit_code_t *c, pair_t x, pair_t y, math_value_t *out_rare) {
  math_value_t size = add(c, magnitude(c, y.re), magnitude(c, y.im));
  math_value_t usual = both(c, is_more_k(c, size, 0), is_less_k(c, size, INFINITY));
  *out_rare =
      either(c, negated(c, usual), either(c, is_not_finite(c, x.re), is_not_finite(c, x.im)));
  math_value_t turned = is_less(c, magnitude(c, y.re), magnitude(c, y.im));
  math_value_t large = choose(c, turned, y.im, y.re), small = choose(c, turned, y.re, y.im);
  math_value_t u = choose(c, turned, x.re, x.im), v = choose(c, turned, x.im, x.re);
  math_value_t ratio = divide(c, small, large), below = add(c, large, mul(c, small, ratio));
  math_value_t re = add(c, mul(c, u, ratio), v), product = mul(c, v, ratio);
  math_value_t im = choose(c, turned, sub(c, product, u), sub(c, u, product));
  return (pair_t){divide(c, re, below), divide(c, im, below)};
}

/* Divisors whose imaginary part is +0, which come from real numbers. A single f32 division equals
 * an f64 division rounded to f32. Zeros get the signs of the formulas above. */
static math_value_t rare_by_real(jit_code_t *c, pair_t x, pair_t y) {
  math_value_t size = magnitude(c, y.re);
  math_value_t usual = both(c, is_more_k(c, size, 0), is_less_k(c, size, INFINITY));
  return either(c, negated(c, usual), either(c, is_not_finite(c, x.re), is_not_finite(c, x.im)));
}

static pair_t divide_f32_by_real(jit_code_t *c, pair_t x, pair_t y, math_value_t *out_rare) {
  math_value_t re_zero = add(c, mul(c, x.re, y.re), mul(c, x.im, y.im)),
               im_zero = sub(c, mul(c, x.im, y.re), mul(c, x.re, y.im));
  *out_rare = rare_by_real(c, x, y);
  return (pair_t){choose(c, is_equal_k(c, x.re, 0), re_zero, divide(c, x.re, y.re)),
                  choose(c, is_equal_k(c, x.im, 0), im_zero, divide(c, x.im, y.re))};
}

static pair_t divide_f64_by_real(jit_code_t *c, pair_t x, pair_t y, math_value_t *out_rare) {
  math_value_t ratio = mul(c, y.im, y.re); /* zero with the sign of y.re */
  math_value_t re = add(c, mul(c, x.im, ratio), x.re), im = sub(c, x.im, mul(c, x.re, ratio));
  *out_rare = rare_by_real(c, x, y);
  return (pair_t){divide(c, re, y.re), divide(c, im, y.re)};
}

/* --- the table -------------------------------------------------------------------------------- */

/* Costs in additions of vectors of the parts' type. */
static const complex_op_t complex_ops[HLO_OPCODE_COUNT] = {
    [HLO_ABS] = {"abs", abs_, abs_, false, 15},
    [HLO_ACOS] = {.name = "acos", .cost = 300},
    [HLO_ACOSH] = {.name = "acosh", .cost = 300},
    [HLO_ASIN] = {.name = "asin", .cost = 300},
    [HLO_ASINH] = {.name = "asinh", .cost = 300},
    [HLO_ATAN] = {.name = "atan", .cost = 300},
    [HLO_ATAN2] = {.name = "atan2", .cost = 800},
    [HLO_ATANH] = {.name = "atanh", .cost = 300},
    [HLO_CBRT] = {.name = "cbrt", .cost = 800},
    [HLO_COSINE] = {"cosine", cosine, cosine, false, 90},
    [HLO_COSH] = {"cosh", cosh_, cosh_, false, 90},
    [HLO_DIVIDE] = {"divide", divide_f32, divide_f64, true, 30},
    [HLO_EXPONENTIAL] = {"exponential", exponential, exponential, false, 60},
    [HLO_EXPONENTIAL_MINUS_ONE] = {"exponential_minus_one", exponential_minus_one,
                                   exponential_minus_one, true, 150},
    [HLO_LOG] = {"log", log_of_f32, log_, true, 90},
    [HLO_LOG_PLUS_ONE] = {.name = "log_plus_one", .cost = 300},
    [HLO_LOGISTIC] = {.name = "logistic", .cost = 300},
    [HLO_POWER] = {"power", power_of_f32, math_complex_power, true, 250},
    [HLO_RSQRT] = {"rsqrt", rsqrt, rsqrt, true, 50},
    [HLO_SIGN] = {"sign", sign, sign, true, 25},
    [HLO_SINE] = {"sine", sine, sine, false, 90},
    [HLO_SINH] = {"sinh", sinh_, sinh_, false, 90},
    [HLO_SQRT] = {"sqrt", sqrt_, sqrt_, true, 40},
    [HLO_TAN] = {"tan", tan_, tan_, true, 100},
    [HLO_TANH] = {"tanh", tanh_, tanh_, true, 100},
};

/* Quotients by converted real numbers. */
static const complex_op_t by_real_op = {"divide", divide_f32_by_real, divide_f64_by_real, false,
                                        20};

bool jit_complex_is_function(hlo_opcode_t op) { return complex_ops[op].name != NULL; }

double jit_complex_cost(hlo_opcode_t op) {
  if (complex_ops[op].name) return complex_ops[op].cost;
  if (op == HLO_MULTIPLY) return 6;
  return op == HLO_REAL || op == HLO_IMAG || op == HLO_COMPLEX ? 1 : 2;
}

/* --- functions -------------------------------------------------------------------------------- */

static pair_t widened(jit_code_t *c, pair_t z) {
  return (pair_t){math_widen(c, z.re), math_widen(c, z.im)};
}
static pair_t narrowed(jit_code_t *c, pair_t z) {
  return (pair_t){math_narrow(c, z.re), math_narrow(c, z.im)};
}

/* Calls the library function on all f64 lanes as arrays; it overwrites x with the results. */
static pair_t by_library(jit_code_t *c, const complex_op_t *op, pair_t x, pair_t y, int operands) {
  kir_type_t *i64 = kir_int_type(c->module, 64), *pointer = kir_pointer_type(c->module);
  kir_type_t *types[] = {i64, pointer, pointer, pointer, pointer};
  kir_type_t *signature =
      kir_function_type(kir_void_type(c->module), types, (unsigned)(1 + 2 * operands));
  char name[64];
  snprintf(name, sizeof name, "c128_lanes_%s", op->name);
  kir_value_t *function = kir_find_function(c->module, name), *in[5];
  if (!function) function = kir_add_function(c->module, name, signature);
  in[0] = jit_int(i64, jit_lanes(type_of(x.re)));
  in[1] = math_put_on_stack(c, x.re);
  in[2] = math_put_on_stack(c, x.im);
  if (operands > 1) {
    in[3] = math_put_on_stack(c, y.re);
    in[4] = math_put_on_stack(c, y.im);
  }
  kir_call(c->builder, signature, function, in, (unsigned)(1 + 2 * operands));
  return (pair_t){math_take_from_stack(c, type_of(x.re), in[1]),
                  math_take_from_stack(c, type_of(x.im), in[2])};
}

/* The formula in the lanes that it covers, the library elsewhere, in the type of x. */
static pair_t write_parts(jit_code_t *c, const complex_op_t *op, pair_t x, pair_t y, int operands) {
  bool is_f32 = !is_f64(x.re);
  formula_fn graph = is_f32 ? op->narrow : op->wide;
  pair_t wide_x = x, wide_y = y, usual, rare;
  math_value_t condition;
  if (is_f32 && (!graph || op->is_done_in_f64)) {
    wide_x = widened(c, x);
    wide_y = widened(c, y);
  }
  if (!graph) {
    usual = by_library(c, op, wide_x, wide_y, operands);
    return is_f32 ? narrowed(c, usual) : usual;
  }
  usual = graph(c, wide_x, wide_y, &condition);
  if (is_f32 && op->is_done_in_f64) usual = narrowed(c, usual);
  if (!condition) return usual;
  math_branch_t branch = math_branch_if_any(c, condition);
  if (is_f32 && !op->is_done_in_f64) {
    wide_x = widened(c, x);
    wide_y = widened(c, y);
  }
  rare = by_library(c, op, wide_x, wide_y, operands);
  if (is_f32) rare = narrowed(c, rare);
  math_value_t parts[] = {usual.re, usual.im};
  math_branch_end_all(c, branch, parts, (math_value_t[]){rare.re, rare.im}, 2);
  return (pair_t){parts[0], parts[1]};
}

/* Calling convention of a function: in registers, except for results wider than a register, whose
 * parts the function stores at two additional pointer parameters. */
typedef struct convention {
  kir_type_t *signature;
  int operands;
  bool is_real, is_by_pointers;
} convention_t;

static convention_t convention_of(const jit_code_t *c, hlo_opcode_t op, kir_type_t *part) {
  kir_type_t *pointer = kir_pointer_type(c->module), *types[6] = {part, part, part, part};
  unsigned lanes = (unsigned)(2 * jit_lanes(part));
  convention_t by = {.operands = hlo_op_table[op].operands, .is_real = op == HLO_ABS};
  unsigned count = (unsigned)(2 * by.operands);
  by.is_by_pointers =
      !by.is_real && jit_element_bits(part) / 8 * (int)lanes > c->target->vector_bytes;
  kir_type_t *result = by.is_real ? part : kir_vector_type(jit_scalar_type(part), lanes);
  if (by.is_by_pointers) {
    result = kir_void_type(c->module);
    types[count++] = pointer;
    types[count++] = pointer;
  }
  by.signature = kir_function_type(result, types, count);
  return by;
}

static void write_result(jit_code_t *c, const convention_t *by, kir_value_t *function,
                         pair_t result) {
  if (!by->is_by_pointers) {
    kir_ret(c->builder, by->is_real ? result.re : jit_complex_join(c, result));
    return;
  }
  math_put_into(c, kir_param(function, 2 * by->operands), result.re);
  math_put_into(c, kir_param(function, 2 * by->operands + 1), result.im);
  kir_ret_void(c->builder);
}

static kir_value_t *write_function(jit_code_t *code, const complex_op_t *op, const convention_t *by,
                                   const char *name) {
  jit_code_t inner;
  kir_value_t *function = jit_inner_function(code, name, by->signature, &inner);
  pair_t x = {kir_param(function, 0), kir_param(function, 1)}, y = x;
  if (by->operands > 1) y = (pair_t){kir_param(function, 2), kir_param(function, 3)};
  write_result(&inner, by, function, write_parts(&inner, op, x, y, by->operands));
  return function;
}

static kir_value_t *call_by_pointers(jit_code_t *code, const convention_t *by,
                                     kir_value_t *function, kir_value_t *in[6]) {
  kir_type_t *part = type_of(in[0]);
  kir_value_t **out = in + 2 * by->operands;
  for (int k = 0; k < 2; k++) out[k] = math_stack_slot(code, part);
  kir_call(code->builder, by->signature, function, in, (unsigned)(2 * by->operands + 2));
  return jit_complex_join(code, (pair_t){math_take_from_stack(code, part, out[0]),
                                         math_take_from_stack(code, part, out[1])});
}

kir_value_t *jit_complex_call(jit_code_t *code, hlo_opcode_t op, jit_pair_t x, jit_pair_t y) {
  kir_type_t *part = type_of(x.re);
  char name[64];
  bool by_real = op == HLO_DIVIDE && kir_is_null(y.im);
  const complex_op_t *row = by_real ? &by_real_op : &complex_ops[op];
  const convention_t by = convention_of(code, op, part);
  snprintf(name, sizeof name, "complex.%s%s.%dxf%d", row->name, by_real ? "_by_real" : "",
           jit_lanes(part), jit_element_bits(part));
  kir_value_t *function = kir_find_function(code->module, name), *in[6] = {x.re, x.im, y.re, y.im};
  if (!function) function = write_function(code, row, &by, name);
  if (by.is_by_pointers) return call_by_pointers(code, &by, function, in);
  return kir_call(code->builder, by.signature, function, in, (unsigned)(2 * by.operands));
}
