/* Ops on floats; jit_math.h has the functions. */
#include <math.h>
#include <stdio.h>

#include "jit/element/element.h"
#include "jit/math/jit_math.h"

/* Is the op's result on values of a narrow type exactly representable in the type? */
static bool is_exact(hlo_opcode_t op) {
  switch (op) {
    case HLO_NEGATE:
    case HLO_ABS:
    case HLO_MAXIMUM:
    case HLO_MINIMUM:
    case HLO_SIGN:
    case HLO_FLOOR:
    case HLO_CEIL:
    case HLO_ROUND_NEAREST_AFZ:
    case HLO_ROUND_NEAREST_EVEN:
    case HLO_REAL:
    case HLO_IMAG:
    case HLO_IS_FINITE:
      return true;
    default:
      return false;
  }
}

/* Rounds to `mantissa` bits, to nearest even, then to the range of `exponent` bits; see
 * scalar.h. */
static kir_value_t *reduce_precision(jit_code_t *code, kir_value_t *a, int exponent, int mantissa) {
  kir_builder_t *b = code->builder;
  kir_type_t *type = kir_type_of(a), *word = jit_integer_like(type);
  int width = jit_element_bits(word);
  int M = width == 32 ? 23 : 52;
  int E = width == 32 ? 8 : 11;
  int64_t infinity = (int64_t)((((uint64_t)1 << E) - 1) << M);
  kir_value_t *whole = kir_bitcast(b, a, word);
  kir_value_t *sign = kir_and(b, whole, jit_int(word, (int64_t)((uint64_t)1 << (M + E))));
  kir_value_t *size = kir_xor(b, whole, sign), *bits = size;
  if (mantissa < M) {
    int64_t unit = (int64_t)1 << (M - mantissa);
    kir_value_t *odd = kir_and(b, kir_lshr(b, bits, jit_int(word, M - mantissa)), jit_int(word, 1));
    bits = kir_add(b, bits, kir_add(b, odd, jit_int(word, (unit >> 1) - 1)));
    bits = kir_and(b, bits, jit_int(word, ~(unit - 1)));
  }
  if (exponent < E) {
    int64_t bias = ((int64_t)1 << (E - 1)) - 1, reduced = ((int64_t)1 << (exponent - 1)) - 1;
    kir_value_t *biased_exponent = kir_lshr(b, bits, jit_int(word, M));
    kir_value_t *over = kir_icmp(b, KIR_ICMP_UGT, biased_exponent, jit_int(word, bias + reduced));
    bits = kir_select(b, over, jit_int(word, infinity), bits);
    biased_exponent = kir_lshr(b, bits, jit_int(word, M));
    kir_value_t *under = kir_icmp(b, KIR_ICMP_ULE, biased_exponent, jit_int(word, bias - reduced));
    bits = kir_select(b, under, jit_int(word, 0), bits);
  }
  kir_value_t *is_nan = kir_icmp(b, KIR_ICMP_UGT, size, jit_int(word, infinity));
  kir_value_t *result = kir_bitcast(b, kir_or(b, sign, bits), type);
  return kir_select(b, is_nan, a, result);
}

/* Denormals of a narrow type are normal in f32, so they are first rounded to the type's smallest
 * unit. */
static kir_value_t *reduce_narrow(jit_code_t *code, hr_dtype_t dtype, kir_value_t *a, int exponent,
                                  int mantissa) {
  kir_builder_t *b = code->builder;
  kir_type_t *type = kir_type_of(a);
  const hr_float_format_t *format = hr_float_format(dtype);
  double least = ldexp(1, 1 - format->bias), shifter = (float)(least * ldexp(1.5, 23 - mantissa));
  if (mantissa >= 23) return reduce_precision(code, a, exponent, mantissa);
  kir_value_t *size = jit_intrinsic(code, KIR_FABS, type, &a, 1);
  kir_value_t *shifted = kir_fadd(b, size, jit_real(type, shifter));
  kir_value_t *rounded = kir_fsub(b, shifted, jit_real(type, shifter));
  rounded = jit_intrinsic(code, KIR_COPYSIGN, type, (kir_value_t *[]){rounded, a}, 2);
  kir_value_t *is_small = kir_fcmp(b, KIR_FCMP_OLT, size, jit_real(type, least));
  return reduce_precision(code, kir_select(b, is_small, rounded, a), exponent, mantissa);
}

static kir_value_t *reduced(jit_code_t *code, const jit_element_op_t *op, kir_value_t *a) {
  int exponent = (int)(op->detail / 128), mantissa = (int)(op->detail % 128);
  const hr_float_format_t *format = hr_float_format(op->from);
  if (exponent >= format->exponent_bits) exponent = 64;
  return op->from == HR_F32 || op->from == HR_F64
             ? reduce_precision(code, a, exponent, mantissa)
             : reduce_narrow(code, op->from, a, exponent, mantissa);
}

/* Is it rounded to fewer bits than those of its arithmetic? */
static bool is_narrow(hr_dtype_t dtype) { return hr_dtype_table[dtype].compute != dtype; }

kir_value_t *jit_float_compute(jit_code_t *code, const jit_element_op_t *op, kir_value_t **args) {
  kir_builder_t *b = code->builder;
  kir_type_t *type = kir_type_of(args[0]);
  switch (op->op) {
    case HLO_ADD:
      return kir_fadd(b, args[0], args[1]);
    case HLO_SUBTRACT:
      return kir_fsub(b, args[0], args[1]);
    case HLO_MULTIPLY:
      return kir_fmul(b, args[0], args[1]);
    case HLO_DIVIDE: {
      kir_value_t *quotient = jit_divide_bytes(code, args[0], args[1]);
      return quotient ? quotient : kir_fdiv(b, args[0], args[1]);
    }
    case HLO_NEGATE:
      return kir_fneg(b, args[0]);
    case HLO_ABS:
      return jit_intrinsic(code, KIR_FABS, type, args, 1);
    case HLO_REAL:
      return args[0];
    case HLO_IMAG:
      return kir_null(type);
    case HLO_REDUCE_PRECISION:
      return reduced(code, op, args[0]);
    case HLO_LOG_PLUS_ONE:
      return op->from_unit ? jit_math_log1p_of_unit(code, args[0])
                           : jit_math_emit(code, op->op, args[0], NULL);
    case HLO_TANH:
      return is_narrow(op->to) ? jit_math_tanh_for_narrow(code, args[0])
                               : jit_math_emit(code, op->op, args[0], NULL);
    case HLO_REMAINDER:
    case HLO_POWER:
    case HLO_ATAN2:
    case HLO_MAXIMUM:
    case HLO_MINIMUM:
      return jit_math_emit(code, op->op, args[0], args[1]);
    default:
      return jit_math_emit(code, op->op, args[0], NULL);
  }
}

/* --- functions in the module ------------------------------------------------------------------ */

#define LONG_COST 12.0 /* cost above which an op becomes a function */

static kir_value_t *find_function(jit_code_t *code, hlo_opcode_t op, kir_type_t *type, int count,
                                  kir_type_t **out_type) {
  char name[96];
  kir_builder_t *b = code->builder;
  snprintf(name, sizeof name, "math.%s.%d.%d", hlo_op_name(op), jit_element_bits(type),
           jit_lanes(type));
  *out_type = kir_function_type(type, (kir_type_t *[]){type, type}, (unsigned)count);
  kir_value_t *function = kir_find_function(code->module, name);
  if (function) return function;
  kir_block_t *back = kir_insert_block(b);
  kir_value_t *next = kir_terminator(back);
  function = kir_add_function(code->module, name, *out_type);
  kir_add_attributes(function, KIR_INTERNAL);
  kir_position_at_end(b, kir_append_block(function, ""));
  kir_value_t *y = count > 1 ? kir_param(function, 1) : NULL;
  kir_ret(b, jit_math_emit(code, op, kir_param(function, 0), y));
  if (next)
    kir_position_before(b, next);
  else
    kir_position_at_end(b, back);
  return function;
}

static bool is_called(const jit_element_op_t *op, kir_value_t *const *args) {
  return op->shared && !op->from_unit && !(op->op == HLO_TANH && is_narrow(op->to)) &&
         jit_math_supports(op->op) &&
         jit_math_is_called(op->op, hlo_op_table[op->op].operands > 1 ? args[1] : NULL) &&
         jit_math_cost(op->op, op->from == HR_F64) >= LONG_COST;
}

static kir_value_t *call(jit_code_t *code, const void *context, kir_value_t **args) {
  const jit_element_op_t *op = context;
  kir_type_t *type;
  int count = hlo_op_table[op->op].operands;
  kir_value_t *function = find_function(code, op->op, kir_type_of(args[0]), count, &type);
  return kir_call(code->builder, type, function, args, (unsigned)count);
}

kir_value_t *jit_float_emit(jit_code_t *code, const jit_element_op_t *op, kir_value_t **args) {
  int count = hlo_op_table[op->op].operands;
  kir_value_t *result =
      is_called(op, args)
          ? jit_by_vectors(code, call, op, args, count,
                           jit_math_vectors(code->target, op->op, op->from == HR_F64))
          : jit_float_compute(code, op, args);
  /* The narrowest types lack some zeros and infinities. */
  bool is_held = is_exact(op->op) && !jit_is_narrow_float(op->to);
  if (is_held) return result;
  return op->from == op->to ? jit_round_result(code, op->to, result)
                            : jit_round(code, op->to, result);
}
