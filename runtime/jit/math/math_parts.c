#include "jit/math/math_parts.h"

#include <math.h>
#include <stdio.h>

math_value_t math_polynomial(jit_code_t *c, math_value_t x, const double *coefficients, int count) {
  math_value_t sum = real(x, coefficients[count - 1]);
  for (int i = count - 2; i >= 0; i--) sum = multiply_add(c, sum, x, real(x, coefficients[i]));
  return sum;
}

math_value_t math_widen(jit_code_t *c, math_value_t x) {
  kir_type_t *wide = jit_type_like(kir_double_type(c->module), type_of(x));
  return kir_fpext(c->builder, x, wide);
}

math_value_t math_narrow(jit_code_t *c, math_value_t x) {
  kir_type_t *narrow = jit_type_like(kir_float_type(c->module), type_of(x));
  return kir_fptrunc(c->builder, x, narrow);
}

/* --- instructions of AVX-512 ------------------------------------------------------------------ */

/* Does x fill whole registers? AVX-512 then has instructions for x * 2^n and for 14-bit estimates
 * of 1 / sqrt(x). */
static bool fills_registers(const jit_code_t *c, math_value_t x) {
  kir_type_t *type = type_of(x);
  int lanes = jit_lanes(type), bits = jit_element_bits(type);
  return c->target->vector_bytes == 64 && bits >= 32 && lanes * bits % 512 == 0 &&
         !(lanes & (lanes - 1));
}

/* Lanes first, first + 1, ... of a followed by b. */
static math_value_t take_lanes(jit_code_t *c, math_value_t a, math_value_t b, int first,
                               int count) {
  kir_type_t *i32 = kir_int_type(c->module, 32);
  kir_value_t *lanes[1024];
  hr_assert(count <= 1024);
  for (int i = 0; i < count; i++) lanes[i] = jit_int(i32, first + i);
  return kir_shuffle(c->builder, a, b, kir_const_vector(lanes, (unsigned)count));
}

#define NO_CHOICE (-1)
/* Choice operands of VRANGE: minimum or maximum of values, with the sign of the result. */
#define RANGE_LESS 4
#define RANGE_MORE 5

/* AVX-512 instructions by float type: f32, f64. */
static const kir_op_t range[2] = {KIR_RANGE_PS, KIR_RANGE_PD};
static const kir_op_t scalef[2] = {KIR_SCALEF_PS, KIR_SCALEF_PD};
static const kir_op_t rsqrt14[2] = {KIR_RSQRT14_PS, KIR_RSQRT14_PD};

/* One instruction on one register; `in` has one or two vectors. Some instructions have a choice
 * operand; scalef and range have a rounding mode as last operand. */
static math_value_t instruction_512(jit_code_t *c, const kir_op_t ops[2], const math_value_t *in,
                                    int count, int choice) {
  kir_type_t *type = type_of(in[0]), *i32 = kir_int_type(c->module, 32);
  math_value_t arguments[6] = {in[0], in[count - 1]};
  int next = count;
  if (choice != NO_CHOICE) arguments[next++] = kir_const_int(i32, (unsigned)choice);
  arguments[next++] = kir_null(type);
  arguments[next++] = kir_all_ones(kir_int_type(c->module, (unsigned)jit_lanes(type)));
  if (count == 2) arguments[next++] = kir_const_int(i32, 4); /* current rounding mode */
  return jit_intrinsic(c, ops[is_f64(in[0])], type, arguments, next);
}

/* The same on vectors of several registers, split into halves. */
static math_value_t on_registers(jit_code_t *c, const kir_op_t ops[2], const math_value_t *in,
                                 int count, int choice) {
  int lanes = jit_lanes(type_of(in[0]));
  if (lanes * jit_element_bits(type_of(in[0])) == 512)
    return instruction_512(c, ops, in, count, choice);
  math_value_t low[2], high[2];
  for (int i = 0; i < count; i++) {
    low[i] = take_lanes(c, in[i], in[i], 0, lanes / 2);
    high[i] = take_lanes(c, in[i], in[i], lanes / 2, lanes / 2);
  }
  return take_lanes(c, on_registers(c, ops, low, count, choice),
                    on_registers(c, ops, high, count, choice), 0, lanes);
}

math_value_t math_minmax(jit_code_t *c, math_value_t x, math_value_t y, bool most) {
  if (!fills_registers(c, x)) return NULL;
  return on_registers(c, range, (math_value_t[]){x, y}, 2, most ? RANGE_MORE : RANGE_LESS);
}

math_value_t math_guess_rsqrt(jit_code_t *c, math_value_t x) {
  return fills_registers(c, x) ? on_registers(c, rsqrt14, &x, 1, NO_CHOICE) : NULL;
}

math_value_t math_quotient_of_sums(jit_code_t *c, math_value_t a, math_value_t a_low,
                                   math_value_t b, math_value_t b_low) {
  math_value_t inverse = k_divide(c, 1, b), first = mul(c, a, inverse);
  math_value_t left = add(c, fused(c, negate(c, b), first, a), sub(c, a_low, mul(c, first, b_low)));
  return multiply_add(c, inverse, left, first);
}

/* --- exponentials ----------------------------------------------------------------------------- */

/* Adding 1.5 * 2^23 (2^52) leaves the nearest integer in the low bits of the mantissa. */
math_nearest_t math_nearest(jit_code_t *c, math_value_t x, double factor) {
  double shifter = is_f64(x) ? 0x1.8p52 : 0x1.8p23;
  math_value_t shifted = multiply_add_k(c, x, factor, real(x, shifter));
  return (math_nearest_t){.real = add_k(c, shifted, -shifter), .bits = bits_of(c, shifted)};
}

math_value_t math_power_of_two(jit_code_t *c, math_value_t n, math_value_t like) {
  math_value_t biased = bits_add(c, n, bits_k(n, exponent_bias(like)));
  return from_bits(c, bits_left(c, biased, mantissa_bits(like)), like);
}

/* r = x - n ln 2, and its rounding error. */
static math_nearest_t reduce_exp(jit_code_t *c, math_value_t x, math_value_t *out_r,
                                 math_value_t *out_low) {
  math_nearest_t n = math_nearest(c, x, 0x1.71547652b82fep0);
  /* The first part of ln 2 has few bits, so its product with n is exact. */
  double first = is_f64(x) ? 0x1.62e42fefa38p-1 : 0x1.62e4p-1,
         rest = is_f64(x) ? 0x1.ef35793c7673p-45 : 0x1.7f7d1cp-20;
  math_value_t exact = multiply_add_k(c, n.real, -first, x);
  *out_r = multiply_add_k(c, n.real, -rest, exact);
  if (out_low) *out_low = multiply_add_k(c, n.real, -rest, sub(c, exact, *out_r));
  return n;
}

math_exp_parts_t math_exp_parts(jit_code_t *c, math_value_t x, bool fast) {
  math_value_t r;
  math_nearest_t n = reduce_exp(c, x, &r, NULL);
  math_value_t p = fast        ? POLYNOMIAL(c, r, math_exp_fast)
                   : is_f64(x) ? POLYNOMIAL(c, r, math_exp_f64)
                               : POLYNOMIAL(c, r, math_exp_f32);
  return (math_exp_parts_t){.n = n, .q = multiply_add(c, mul(c, r, r), p, r)};
}

math_exp_parts_t math_expm1_parts(jit_code_t *c, math_value_t x, bool fast) {
  bool with_low = is_f64(x) && !fast;
  math_value_t r, low;
  math_nearest_t n = reduce_exp(c, x, &r, with_low ? &low : NULL);
  math_value_t p = fast        ? POLYNOMIAL(c, r, math_expm1_fast)
                   : is_f64(x) ? POLYNOMIAL(c, r, math_expm1_f64)
                               : POLYNOMIAL(c, r, math_expm1_f32);
  math_exp_parts_t parts = {.n = n, .q = multiply_add(c, mul(c, r, r), p, r)};
  if (!with_low) return parts;
  math_value_t tail = multiply_add(c, mul(c, r, r), p, multiply_add(c, r, low, low));
  parts.q = add(c, r, tail);
  parts.q_low = add(c, sub(c, r, parts.q), tail);
  return parts;
}

math_value_t math_scale(jit_code_t *c, math_value_t x, math_nearest_t n) {
  if (fills_registers(c, x))
    return on_registers(c, scalef, (math_value_t[]){x, n.real}, 2, NO_CHOICE);
  /* Two factors 2^(n/2), both in range: only the last product rounds. The bits above n are even,
   * and math_power_of_two ignores them. */
  math_value_t half = bits_right_unsigned(c, n.bits, 1);
  math_value_t scaled = mul(c, x, math_power_of_two(c, half, x));
  return mul(c, scaled, math_power_of_two(c, bits_sub(c, n.bits, half), x));
}

static double exp_zero_below(math_value_t like) { return is_f64(like) ? -746 : -104; }

math_value_t math_is_exp_zero(jit_code_t *c, math_value_t x) {
  return is_less_k(c, x, exp_zero_below(x));
}

/* Zeros are lanes that the scaling leaves out by a mask: what is computed for them is not read. */
static math_value_t masked_exp(jit_code_t *c, math_value_t x, bool fast) {
  double high = is_f64(x) ? 710 : 89;
  math_value_t limited = choose_k(c, is_more_k(c, x, high), high, x);
  math_exp_parts_t parts = math_exp_parts(c, limited, fast);
  math_value_t scaled = math_scale(c, add_k(c, parts.q, 1), parts.n);
  return choose(c, is_not_less_k(c, x, exp_zero_below(x)), scaled, real(x, 0));
}

math_value_t math_exp(jit_code_t *c, math_value_t x, bool fast) {
  if (fills_registers(c, x)) return masked_exp(c, x, fast);
  math_value_t is_zero = math_is_exp_zero(c, x), kept = choose_k(c, is_zero, 0, x);
  double high = is_f64(x) ? 710 : 89;
  math_value_t limited = choose_k(c, is_more_k(c, kept, high), high, kept);
  math_exp_parts_t parts = math_exp_parts(c, limited, fast);
  return choose_k(c, is_zero, 0, math_scale(c, add_k(c, parts.q, 1), parts.n));
}

/* --- branches --------------------------------------------------------------------------------- */

static math_value_t any_lane(jit_code_t *c, math_value_t condition) {
  if (type_of(condition)->kind != KIR_TYPE_VECTOR) return condition;
  return jit_intrinsic(c, KIR_REDUCE_OR, type_of(condition), &condition, 1);
}

math_branch_t math_branch_if_any(jit_code_t *c, math_value_t condition) {
  math_branch_t branch = {.condition = condition, .from = kir_insert_block(c->builder)};
  kir_value_t *function = kir_block_function(branch.from);
  kir_block_t *rare = kir_append_block(function, "");
  branch.done = kir_append_block(function, "");
  kir_cond_br(c->builder, any_lane(c, condition), rare, branch.done);
  kir_position_at_end(c->builder, rare);
  return branch;
}

void math_branch_end_all(jit_code_t *c, math_branch_t branch, math_value_t *values,
                         const math_value_t *rare, int count) {
  math_value_t chosen[8];
  for (int i = 0; i < count; i++) chosen[i] = choose(c, branch.condition, rare[i], values[i]);
  kir_block_t *blocks[2] = {branch.from, kir_insert_block(c->builder)};
  kir_br(c->builder, branch.done);
  kir_position_at_end(c->builder, branch.done);
  for (int i = 0; i < count; i++) {
    math_value_t result = kir_phi(c->builder, type_of(values[i]));
    kir_add_incoming(result, (math_value_t[]){values[i], chosen[i]}, blocks, 2);
    values[i] = result;
  }
}

math_value_t math_branch_end(jit_code_t *c, math_branch_t branch, math_value_t usual,
                             math_value_t rare) {
  math_branch_end_all(c, branch, &usual, &rare, 1);
  return usual;
}

/* Allocates in the function's entry block. */
math_value_t math_stack_slot(jit_code_t *c, kir_type_t *vector) {
  kir_block_t *here = kir_insert_block(c->builder);
  kir_block_t *entry = kir_entry_block(kir_block_function(here));
  kir_value_t *first = entry->first;
  kir_position(c->builder, entry, first);
  kir_type_t *type = kir_array_type(jit_scalar_type(vector), (unsigned)jit_lanes(vector));
  math_value_t stack_slot = kir_alloca(c->builder, type);
  kir_position_at_end(c->builder, here);
  return stack_slot;
}

void math_put_into(jit_code_t *c, math_value_t stack_slot, math_value_t x) {
  math_value_t store = kir_store(c->builder, x, stack_slot);
  kir_set_align(store, (unsigned)jit_element_bits(type_of(x)) / 8);
}

math_value_t math_put_on_stack(jit_code_t *c, math_value_t x) {
  math_value_t stack_slot = math_stack_slot(c, type_of(x));
  math_put_into(c, stack_slot, x);
  return stack_slot;
}

math_value_t math_take_from_stack(jit_code_t *c, kir_type_t *type, math_value_t stack_slot) {
  math_value_t all = kir_load(c->builder, type, stack_slot);
  kir_set_align(all, (unsigned)jit_element_bits(type) / 8);
  return all;
}

static math_value_t lane_address(jit_code_t *c, kir_type_t *element, math_value_t stack_slot,
                                 math_value_t i) {
  return kir_inbounds_gep(c->builder, element, stack_slot, i);
}

math_value_t math_call_by_lane(jit_code_t *c, const char *name, math_value_t x, math_value_t y) {
  kir_type_t *element = jit_scalar_type(type_of(x)), *types[2] = {element, element};
  kir_type_t *signature = kir_function_type(element, types, y ? 2 : 1);
  kir_value_t *function = kir_find_function(c->module, name);
  if (!function) function = kir_add_function(c->module, name, signature);
  kir_type_t *i32 = kir_int_type(c->module, 32);
  math_value_t stack_slots[2] = {math_put_on_stack(c, x), y ? math_put_on_stack(c, y) : NULL},
               in[2];
  kir_block_t *from = kir_insert_block(c->builder);
  kir_value_t *owner = kir_block_function(from);
  kir_block_t *loop = kir_append_block(owner, "");
  kir_block_t *end = kir_append_block(owner, "");
  kir_br(c->builder, loop);
  kir_position_at_end(c->builder, loop);
  math_value_t i = kir_phi(c->builder, i32), next = kir_add(c->builder, i, jit_int(i32, 1));
  kir_add_incoming(i, (math_value_t[]){jit_int(i32, 0), next}, (kir_block_t *[]){from, loop}, 2);
  for (int k = 0; k < (y ? 2 : 1); k++)
    in[k] = kir_load(c->builder, element, lane_address(c, element, stack_slots[k], i));
  math_value_t result = kir_call(c->builder, signature, function, in, y ? 2 : 1);
  kir_store(c->builder, result, lane_address(c, element, stack_slots[0], i));
  math_value_t count = jit_int(i32, jit_lanes(type_of(x)));
  kir_cond_br(c->builder, kir_icmp(c->builder, KIR_ICMP_ULT, next, count), loop, end);
  kir_position_at_end(c->builder, end);
  return math_take_from_stack(c, type_of(x), stack_slots[0]);
}

/* --- logarithms ------------------------------------------------------------------------------- */

static math_log_parts_t normal_log_parts(jit_code_t *c, math_value_t x) {
  int mantissa = mantissa_bits(x);
  math_value_t bits = bits_of(c, x);
  math_value_t over =
      bits_sub(c, bits, bits_k(bits, is_f64(x) ? 0x3fe6a09e667f3bcd : 0x3f3504f3)); /* sqrt(1/2) */
  math_value_t k = bits_right(c, over, mantissa);
  math_log_parts_t parts = {.k_bits = k,
                            .m = from_bits(c, bits_sub(c, bits, bits_left(c, k, mantissa)), x)};
  if (is_f64(x)) { /* there is no conversion of 64-bit integers before AVX-512: uses the mantissa of
                      2^52 + 2^51 */
    math_value_t shifted = bits_add(c, k, bits_k(k, 0x4338000000000000));
    parts.k = add_k(c, from_bits(c, shifted, x), -0x1.8p52);
  } else
    parts.k = kir_sitofp(c->builder, k, type_of(x));
  return parts;
}

/* Is it an f32 in f64, or its magnitude? Those have no denormal numbers. */
static bool is_widened(math_value_t x) {
  return x->op == KIR_FPEXT || (x->op == KIR_FABS && x->args[0]->op == KIR_FPEXT);
}

math_log_parts_t math_log_parts(jit_code_t *c, math_value_t x) {
  if (is_widened(x)) return normal_log_parts(c, x);
  math_value_t is_tiny = is_less_k(c, x, is_f64(x) ? 0x1p-1022 : 0x1p-126);
  double up = is_f64(x) ? 0x1p54 : 0x1p24;
  double lost = is_f64(x) ? -54 : -24;
  math_log_parts_t parts = normal_log_parts(c, choose(c, is_tiny, mul_k(c, x, up), x));
  parts.k = choose(c, is_tiny, add_k(c, parts.k, lost), parts.k);
  return parts;
}

/* k ln 2 + log(1 + f) */
static math_value_t log_sum(jit_code_t *c, math_value_t k, math_value_t f, bool fast) {
  bool wide = is_f64(f);
  double first = wide ? 0x1.62e42fefa38p-1 : 0x1.62e4p-1,
         rest = wide ? 0x1.ef35793c7673p-45 : 0x1.7f7d1cp-20;
  math_value_t square = mul(c, f, f), low = mul_k(c, k, rest);
  if (!wide) {
    math_value_t p = POLYNOMIAL(c, f, math_log_f32);
    math_value_t tail = multiply_add(c, mul(c, square, f), p, low);
    tail = multiply_add_k(c, square, -0.5, tail);
    return multiply_add_k(c, k, first, add(c, f, tail));
  }
  math_value_t s = divide(c, f, add_k(c, f, 2)), z = mul(c, s, s), half = mul_k(c, square, 0.5);
  math_value_t p = fast ? POLYNOMIAL(c, z, math_log_fast) : POLYNOMIAL(c, z, math_log_f64);
  math_value_t tail = multiply_add(c, s, multiply_add(c, z, p, half), low);
  return multiply_add_k(c, k, first, sub(c, f, sub(c, half, tail)));
}

/* `result` if x is positive and finite, else the special values. */
static math_value_t log_specials(jit_code_t *c, math_value_t x, math_value_t result) {
  math_value_t special =
      choose_k(c, is_less_k(c, x, 0), NAN, choose_k(c, is_equal_k(c, x, 0), -INFINITY, x));
  return choose(c, both(c, is_more_k(c, x, 0), is_less_k(c, x, INFINITY)), result, special);
}

math_value_t math_log(jit_code_t *c, math_value_t x, bool fast) {
  math_log_parts_t parts = math_log_parts(c, x);
  return log_specials(c, x, log_sum(c, parts.k, add_k(c, parts.m, -1), fast));
}

/* Adds the rounding error of 1 + high, scaled like the mantissa. */
math_value_t math_log1p(jit_code_t *c, math_value_t high, math_value_t low, bool fast) {
  math_value_t sum = add_k(c, high, 1), part = add_k(c, sum, -1);
  math_value_t lost = add(c, sub(c, real(high, 1), sub(c, sum, part)), sub(c, high, part));
  if (low) lost = add(c, lost, low);
  math_log_parts_t parts = normal_log_parts(c, sum);
  math_value_t largest = bits_k(parts.k_bits, exponent_bias(high) - 1);
  math_value_t is_small = kir_icmp(c->builder, KIR_ICMP_SLT, parts.k_bits, largest);
  math_value_t k = choose(c, is_small, parts.k_bits, largest);
  math_value_t down = math_power_of_two(c, bits_sub(c, bits_k(k, 0), k), high);
  math_value_t f = multiply_add(c, lost, down, add_k(c, parts.m, -1));
  math_value_t result = log_specials(c, sum, log_sum(c, parts.k, f, fast));
  return choose(c, is_less_k(c, magnitude(c, high), is_f64(high) ? 0x1p-54 : 0x1p-25), high,
                result);
}
