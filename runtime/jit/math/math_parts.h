/* Shorthands and shared pieces of math_*.c. Values are floats or doubles, scalars or vectors; those
 * called `bits` are integers of the same width. Constants take the type of the other operand. */
#ifndef JIT_MATH_PARTS_H
#define JIT_MATH_PARTS_H

#include "jit/element/code_builder.h"
#include "jit/math/math_tables.h"

typedef kir_value_t *math_value_t;

static inline kir_type_t *type_of(math_value_t x) { return kir_type_of(x); }
static inline bool is_f64(math_value_t x) { return jit_element_bits(type_of(x)) == 64; }
static inline math_value_t real(math_value_t like, double value) {
  return jit_real(type_of(like), value);
}

static inline math_value_t add(jit_code_t *c, math_value_t a, math_value_t b) {
  return kir_fadd(c->builder, a, b);
}
static inline math_value_t sub(jit_code_t *c, math_value_t a, math_value_t b) {
  return kir_fsub(c->builder, a, b);
}
static inline math_value_t mul(jit_code_t *c, math_value_t a, math_value_t b) {
  return kir_fmul(c->builder, a, b);
}
static inline math_value_t divide(jit_code_t *c, math_value_t a, math_value_t b) {
  return kir_fdiv(c->builder, a, b);
}
static inline math_value_t negate(jit_code_t *c, math_value_t a) { return kir_fneg(c->builder, a); }
static inline math_value_t add_k(jit_code_t *c, math_value_t a, double k) {
  return add(c, a, real(a, k));
}
static inline math_value_t mul_k(jit_code_t *c, math_value_t a, double k) {
  return mul(c, a, real(a, k));
}
static inline math_value_t k_sub(jit_code_t *c, double k, math_value_t a) {
  return sub(c, real(a, k), a);
}
static inline math_value_t k_divide(jit_code_t *c, double k, math_value_t a) {
  return divide(c, real(a, k), a);
}

static inline math_value_t intrinsic_1(jit_code_t *c, kir_op_t op, math_value_t a) {
  return jit_intrinsic(c, op, type_of(a), &a, 1);
}
static inline math_value_t magnitude(jit_code_t *c, math_value_t a) {
  return intrinsic_1(c, KIR_FABS, a);
}
static inline math_value_t square_root(jit_code_t *c, math_value_t a) {
  return intrinsic_1(c, KIR_SQRT, a);
}
static inline math_value_t with_sign_of(jit_code_t *c, math_value_t a, math_value_t sign) {
  math_value_t in[2] = {a, sign};
  return jit_intrinsic(c, KIR_COPYSIGN, type_of(a), in, 2);
}
/* a * b + d, rounded once, on any processor. */
static inline math_value_t fused(jit_code_t *c, math_value_t a, math_value_t b, math_value_t d) {
  math_value_t in[3] = {a, b, d};
  return jit_intrinsic(c, KIR_FMA, type_of(a), in, 3);
}
/* The same where that is one instruction, else rounded twice: for sums that tolerate either. */
static inline math_value_t multiply_add(jit_code_t *c, math_value_t a, math_value_t b,
                                        math_value_t d) {
  return c->target->has_fma ? fused(c, a, b, d) : add(c, mul(c, a, b), d);
}
static inline math_value_t multiply_add_k(jit_code_t *c, math_value_t a, double k, math_value_t d) {
  return multiply_add(c, a, real(a, k), d);
}

/* Comparisons are false if either side is NaN. */
static inline math_value_t compare(jit_code_t *c, kir_fcmp_t is, math_value_t a, math_value_t b) {
  return kir_fcmp(c->builder, is, a, b);
}
static inline math_value_t is_less(jit_code_t *c, math_value_t a, math_value_t b) {
  return compare(c, KIR_FCMP_OLT, a, b);
}
static inline math_value_t is_less_k(jit_code_t *c, math_value_t a, double k) {
  return is_less(c, a, real(a, k));
}
/* True for NaN, too. */
static inline math_value_t is_not_less_k(jit_code_t *c, math_value_t a, double k) {
  return compare(c, KIR_FCMP_UGE, a, real(a, k));
}
static inline math_value_t is_more_k(jit_code_t *c, math_value_t a, double k) {
  return compare(c, KIR_FCMP_OGT, a, real(a, k));
}
static inline math_value_t is_equal_k(jit_code_t *c, math_value_t a, double k) {
  return compare(c, KIR_FCMP_OEQ, a, real(a, k));
}
static inline math_value_t is_nan(jit_code_t *c, math_value_t a) {
  return compare(c, KIR_FCMP_UNO, a, a);
}
static inline math_value_t both(jit_code_t *c, math_value_t a, math_value_t b) {
  return kir_and(c->builder, a, b);
}
static inline math_value_t either(jit_code_t *c, math_value_t a, math_value_t b) {
  return kir_or(c->builder, a, b);
}
static inline math_value_t choose(jit_code_t *c, math_value_t condition, math_value_t a,
                                  math_value_t b) {
  return kir_select(c->builder, condition, a, b);
}
static inline math_value_t choose_k(jit_code_t *c, math_value_t condition, double k,
                                    math_value_t b) {
  return choose(c, condition, real(b, k), b);
}
/* Clamps x to [low, high]; NaN stays. */
static inline math_value_t limit(jit_code_t *c, math_value_t x, double low, double high) {
  math_value_t above = choose_k(c, is_less_k(c, x, low), low, x);
  return choose_k(c, is_more_k(c, above, high), high, above);
}

/* a + b and its rounding error. */
static inline math_value_t math_exact_sum(jit_code_t *c, math_value_t a, math_value_t b,
                                          math_value_t *out_lost) {
  math_value_t sum = add(c, a, b), part = sub(c, sum, a);
  *out_lost = add(c, sub(c, a, sub(c, sum, part)), sub(c, b, part));
  return sum;
}

/* --- bits ------------------------------------------------------------------------------------- */

static inline math_value_t bits_of(jit_code_t *c, math_value_t x) {
  return kir_bitcast(c->builder, x, jit_integer_like(type_of(x)));
}
static inline math_value_t from_bits(jit_code_t *c, math_value_t bits, math_value_t like) {
  return kir_bitcast(c->builder, bits, type_of(like));
}
static inline math_value_t bits_k(math_value_t like, int64_t value) {
  return jit_int(type_of(like), value);
}
static inline math_value_t bits_add(jit_code_t *c, math_value_t a, math_value_t b) {
  return kir_add(c->builder, a, b);
}
static inline math_value_t bits_sub(jit_code_t *c, math_value_t a, math_value_t b) {
  return kir_sub(c->builder, a, b);
}
static inline math_value_t bits_xor(jit_code_t *c, math_value_t a, math_value_t b) {
  return kir_xor(c->builder, a, b);
}
static inline math_value_t bits_and_k(jit_code_t *c, math_value_t a, int64_t k) {
  return kir_and(c->builder, a, bits_k(a, k));
}
static inline math_value_t bits_left(jit_code_t *c, math_value_t a, int by) {
  return kir_shl(c->builder, a, bits_k(a, by));
}
static inline math_value_t bits_right(jit_code_t *c, math_value_t a, int by) { /* keeps the sign */
  return kir_ashr(c->builder, a, bits_k(a, by));
}
static inline math_value_t bits_right_unsigned(jit_code_t *c, math_value_t a, int by) {
  return kir_lshr(c->builder, a, bits_k(a, by));
}
static inline int mantissa_bits(math_value_t x) { return is_f64(x) ? 52 : 23; }
static inline int exponent_bias(math_value_t x) { return is_f64(x) ? 1023 : 127; }

/* --- shared pieces ---------------------------------------------------------------------------- */

/* Polynomial with these coefficients, lowest power first, at x. */
math_value_t math_polynomial(jit_code_t *c, math_value_t x, const double *coefficients, int count);
#define POLYNOMIAL(c, x, table) \
  math_polynomial((c), (x), (table), (int)(sizeof(table) / sizeof *(table)))

/* (a + a_low) / (b + b_low), where a_low and b_low are within the rounding of a and b. */
math_value_t math_quotient_of_sums(jit_code_t *c, math_value_t a, math_value_t a_low,
                                   math_value_t b, math_value_t b_low);

/* An estimate of 1 / sqrt(x) with 14 correct bits; NULL if the processor has no such instruction
 * for this type. */
math_value_t math_guess_rsqrt(jit_code_t *c, math_value_t x);
/* The larger or smaller of numbers in whole registers, with -0 below +0; NULL: no such
 * instruction. */
math_value_t math_minmax(jit_code_t *c, math_value_t x, math_value_t y, bool most);

/* A branch for rare cases: the code emitted between these two calls runs if any lane meets the
 * condition, and provides the results of those lanes. The builder ends in another block. */
typedef struct math_branch {
  math_value_t condition;
  kir_block_t *from, *done;
} math_branch_t;
math_branch_t math_branch_if_any(jit_code_t *c, math_value_t condition);
math_value_t math_branch_end(jit_code_t *c, math_branch_t branch, math_value_t usual,
                             math_value_t rare);
/* The same for several values. `values`: the usual values on entry, the results on return. */
void math_branch_end_all(jit_code_t *c, math_branch_t branch, math_value_t *values,
                         const math_value_t *rare, int count);

/* Calls a C library function listed in externals.def for each lane, with one argument (y NULL) or
 * two, in a loop, which keeps the code small. The builder ends in another block. */
math_value_t math_call_by_lane(jit_code_t *c, const char *name, math_value_t x, math_value_t y);

/* A number or a vector as an array of elements on the function's stack: its address, and its
 * contents. */
math_value_t math_stack_slot(jit_code_t *c, kir_type_t *vector);
void math_put_into(jit_code_t *c, math_value_t stack_slot, math_value_t x);
math_value_t math_put_on_stack(jit_code_t *c, math_value_t x);
math_value_t math_take_from_stack(jit_code_t *c, kir_type_t *type, math_value_t stack_slot);

/* Conversions of f32 vectors to f64 and back: f32 math done in f64 is nearly always correctly
 * rounded. */
math_value_t math_widen(jit_code_t *c, math_value_t x);
math_value_t math_narrow(jit_code_t *c, math_value_t x);

/* The integer nearest to x * factor, for |x * factor| < 2^21 (f64: 2^50): as a float, and in the
 * low bits of `bits`. */
typedef struct math_nearest {
  math_value_t real;
  math_value_t bits;
} math_nearest_t;
math_nearest_t math_nearest(jit_code_t *c, math_value_t x, double factor);

/* 2^n, where n is in the low bits of `n`; higher bits are ignored. -126 <= n <= 128 (f64: -1022 <=
 * n <= 1024); the largest n gives infinity. */
math_value_t math_power_of_two(jit_code_t *c, math_value_t n, math_value_t like);

/* e^x for |x| < 2^20 as 2^n (1 + q). `fast`: computed in f64 for an f32 result. */
typedef struct math_exp_parts {
  math_nearest_t n;
  math_value_t q;
  math_value_t q_low; /* rounding error of q in math_expm1_parts in f64; else NULL */
} math_exp_parts_t;
math_exp_parts_t math_exp_parts(jit_code_t *c, math_value_t x, bool fast);
math_exp_parts_t math_expm1_parts(jit_code_t *c, math_value_t x,
                                  bool fast); /* the error is relative to q */
/* x * 2^n, rounded once, for |n| < 2^12 and 1/4 < |x| < 4. */
math_value_t math_scale(jit_code_t *c, math_value_t x, math_nearest_t n);
/* Is e^x below half the least denormal? It is not computed then: products that round to zero take
 * processors ten times as long. */
math_value_t math_is_exp_zero(jit_code_t *c, math_value_t x);
/* e^x for any x. */
math_value_t math_exp(jit_code_t *c, math_value_t x, bool fast);

/* x = 2^k m with m between sqrt(1/2) and sqrt(2), for positive finite x, including denormals. */
typedef struct math_log_parts {
  math_value_t k;      /* as a float */
  math_value_t k_bits; /* as an integer; unspecified if x is denormal */
  math_value_t m;
} math_log_parts_t;
math_log_parts_t math_log_parts(jit_code_t *c, math_value_t x);
/* log(1 + high + low), where low is small relative to high. */
math_value_t math_log1p(jit_code_t *c, math_value_t high, math_value_t low, bool fast);
math_value_t math_log(jit_code_t *c, math_value_t x, bool fast);

/* --- extended f64 ----------------------------------------------------------------------------- */

/* A number as the sum of two; the second is within the rounding of the first. */
typedef struct math_sum {
  math_value_t high, low;
} math_sum_t;

math_sum_t math_times_sum(jit_code_t *c, math_value_t a, math_sum_t b);
/* log(a) with relative error 2^-65, for positive finite a. */
math_sum_t math_long_log(jit_code_t *c, math_value_t a);
/* The angle of the point (x, y) with error 2^-61, for finite parts. */
math_sum_t math_long_angle(jit_code_t *c, math_value_t y, math_value_t x);
/* e^exponent, rounded once except on underflow. */
math_value_t math_exp_of_sum(jit_code_t *c, math_sum_t exponent);

#endif
