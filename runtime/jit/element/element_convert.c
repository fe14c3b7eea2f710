/* Conversions between element types. */
#include <math.h>

#include "jit/element/element_complex.h"

static kir_type_t *like(kir_type_t *element, kir_value_t *value) {
  return jit_type_like(element, kir_type_of(value));
}

/* Is it a float type held in a wider one? */
static bool is_narrow(hr_dtype_t dtype) {
  return hr_dtype_is_float(dtype) && hr_dtype_table[dtype].compute != dtype;
}

/* f64 to f32, rounded to odd: an inexact result gets an odd mantissa, so that rounding it once more
 * is correct. */
static kir_value_t *f64_to_odd(jit_code_t *code, kir_value_t *x) {
  kir_builder_t *b = code->builder;
  kir_type_t *f64 = kir_type_of(x), *f32 = like(kir_float_type(code->module), x);
  kir_type_t *word = jit_integer_like(f32);
  kir_value_t *nearest = kir_fptrunc(b, x, f32), *back = kir_fpext(b, nearest, f64);
  kir_value_t *bits = kir_bitcast(b, nearest, word);
  /* An inexact, even result moves by one ulp: outward if |x| exceeds |nearest|, else inward, also
   * from infinity. */
  kir_value_t *size = jit_intrinsic(code, KIR_FABS, f64, &x, 1);
  kir_value_t *back_size = jit_intrinsic(code, KIR_FABS, f64, &back, 1);
  kir_value_t *outward = kir_fcmp(b, KIR_FCMP_OGT, size, back_size);
  kir_value_t *inexact = kir_fcmp(b, KIR_FCMP_ONE, x, back);
  kir_value_t *step = kir_select(b, outward, jit_int(word, 1), jit_int(word, -1));
  kir_value_t *odd = kir_icmp(b, KIR_ICMP_NE, kir_and(b, bits, jit_int(word, 1)), jit_int(word, 0));
  kir_value_t *moved = kir_select(b, odd, bits, kir_add(b, bits, step));
  return kir_bitcast(b, kir_select(b, inexact, moved, bits), f32);
}

static kir_value_t *integer_to_float(jit_code_t *code, kir_value_t *x, kir_type_t *type,
                                     bool is_signed) {
  return is_signed ? kir_sitofp(code->builder, x, type) : kir_uitofp(code->builder, x, type);
}

/* u64 to f32, rounded to odd: bits beyond the 24 mantissa bits are cut off; if any was set, the
 * lowest remaining bit is set. */
static kir_value_t *u64_to_odd(jit_code_t *code, kir_value_t *x) {
  kir_builder_t *b = code->builder;
  kir_type_t *type = kir_type_of(x);
  kir_value_t *no = kir_const_int(kir_int_type(code->module, 1), 0);
  kir_value_t *zeros = jit_intrinsic(code, KIR_CTLZ, type, (kir_value_t *[]){x, no}, 2);
  kir_value_t *has_more = kir_icmp(b, KIR_ICMP_ULT, zeros, jit_int(type, 40));
  kir_value_t *more = kir_sub(b, jit_int(type, 40), zeros);
  more = kir_select(b, has_more, more, jit_int(type, 0));
  kir_value_t *kept = kir_shl(b, kir_lshr(b, x, more), more);
  kir_value_t *mark = kir_shl(b, jit_int(type, 1), more);
  kir_value_t *lost = kir_icmp(b, KIR_ICMP_NE, kept, x);
  kir_value_t *marked = kir_select(b, lost, kir_or(b, kept, mark), kept);
  return integer_to_float(code, marked, like(kir_float_type(code->module), x), false);
}

static kir_value_t *s64_to_odd(jit_code_t *code, kir_value_t *x) {
  kir_builder_t *b = code->builder;
  kir_type_t *type = kir_type_of(x);
  kir_value_t *negative = kir_icmp(b, KIR_ICMP_SLT, x, jit_int(type, 0));
  kir_value_t *size = kir_select(b, negative, kir_neg(b, x), x);
  kir_value_t *odd = u64_to_odd(code, size);
  return kir_select(b, negative, kir_fneg(b, odd), odd);
}

/* Integer to f32, rounded to odd, so that rounding to a narrower float afterwards is correct. */
static kir_value_t *integer_to_odd(jit_code_t *code, hr_dtype_t from, kir_value_t *x) {
  kir_type_t *f32 = like(kir_float_type(code->module), x);
  bool is_signed = hr_dtype_class(from) == HR_CLASS_SIGNED;
  if (hr_dtype_bytes(from) < 4) return integer_to_float(code, x, f32, is_signed);
  if (hr_dtype_bytes(from) == 8) return is_signed ? s64_to_odd(code, x) : u64_to_odd(code, x);
  kir_type_t *f64 = like(kir_double_type(code->module), x);
  return f64_to_odd(code, integer_to_float(code, x, f64, is_signed));
}

/* The largest value of a float type that does not exceed an integer type's maximum. `above`: that
 * maximum + 1. */
static double largest_within(kir_type_t *type, int value_bits, double *out_above) {
  int mantissa = jit_element_bits(type) == 64 ? 53 : 24;
  *out_above = ldexp(1, value_bits);
  return *out_above - ldexp(1, value_bits > mantissa ? value_bits - mantissa : 0);
}

static kir_value_t *limited(jit_code_t *code, kir_value_t *x, double low, double high) {
  kir_type_t *type = kir_type_of(x);
  kir_value_t *least = jit_real(type, low), *most = jit_real(type, high);
  x = kir_select(code->builder, kir_fcmp(code->builder, KIR_FCMP_OLT, x, least), least, x);
  return kir_select(code->builder, kir_fcmp(code->builder, KIR_FCMP_OGT, x, most), most, x);
}

/* Saturates to the integer type; NaN gives 0. LLVM's own saturating conversion works lane by
 * lane. */
static kir_value_t *float_to_integer(jit_code_t *code, hr_dtype_t to, kir_value_t *x) {
  kir_builder_t *b = code->builder;
  kir_type_t *type = kir_type_of(x), *result = like(jit_memory_type(code, to), x),
             *computed = result;
  bool is_signed = hr_dtype_class(to) == HR_CLASS_SIGNED,
       is_narrow_integer = hr_dtype_bytes(to) < 4;
  int value_bits = hr_dtype_table[to].bits - is_signed;
  double above, top = largest_within(type, value_bits, &above);
  kir_value_t *inside = limited(code, x, is_signed ? -above : 0, top);
  if (is_narrow_integer) computed = like(kir_int_type(code->module, 32), x);
  kir_value_t *value = is_signed || is_narrow_integer ? kir_fptosi(b, inside, computed)
                                                      : kir_fptoui(b, inside, computed);
  if (is_narrow_integer) value = kir_trunc(b, value, result);
  if (top != above - 1) {
    kir_value_t *is_above = kir_fcmp(b, KIR_FCMP_OGE, x, jit_real(type, above));
    kir_value_t *most = jit_int(result, (int64_t)(~(uint64_t)0 >> (64 - value_bits)));
    value = kir_select(b, is_above, most, value);
  }
  kir_value_t *is_none = kir_fcmp(b, KIR_FCMP_UNO, x, x);
  return kir_select(b, is_none, kir_null(result), value);
}

static kir_value_t *float_to_float(jit_code_t *code, hr_dtype_t from, hr_dtype_t to,
                                   kir_value_t *x) {
  if (from == HR_F64 && is_narrow(to)) return jit_round(code, to, f64_to_odd(code, x));
  if (from == HR_F64) return kir_fptrunc(code->builder, x, like(kir_float_type(code->module), x));
  if (to == HR_F64) return kir_fpext(code->builder, x, like(kir_double_type(code->module), x));
  return jit_round(code, to, x);
}

static kir_value_t *integer_to_integer(jit_code_t *code, hr_dtype_t from, hr_dtype_t to,
                                       kir_value_t *x) {
  kir_type_t *type = like(jit_memory_type(code, to), x);
  if (hr_dtype_bytes(to) == hr_dtype_bytes(from)) return jit_round(code, to, x);
  if (hr_dtype_bytes(to) < hr_dtype_bytes(from))
    return jit_round(code, to, kir_trunc(code->builder, x, type));
  return hr_dtype_class(from) == HR_CLASS_SIGNED ? kir_sext(code->builder, x, type)
                                                 : kir_zext(code->builder, x, type);
}

static kir_value_t *to_pred(jit_code_t *code, hr_dtype_t from, kir_value_t *x) {
  kir_value_t *zero = kir_null(kir_type_of(x));
  return hr_dtype_is_float(from) ? kir_fcmp(code->builder, KIR_FCMP_UNE, x, zero)
                                 : kir_icmp(code->builder, KIR_ICMP_NE, x, zero);
}

/* Is the conversion exact? bf16 represents all 8-bit integers, and f16 more. */
static bool is_exact(hr_dtype_t from, hr_dtype_t to) {
  return hr_dtype_is_float(to) && hr_dtype_bytes(to) == 2 && hr_dtype_table[from].bits <= 8;
}

kir_value_t *jit_convert_emit(jit_code_t *code, hr_dtype_t from, hr_dtype_t to, kir_value_t *x) {
  if (from == to) return x;
  if (hr_dtype_is_complex(from) || hr_dtype_is_complex(to)) {
    jit_element_op_t op = {.op = HLO_CONVERT, .from = from, .to = to};
    return jit_complex_emit(code, &op, &x);
  }
  if (to == HR_PRED) return to_pred(code, from, x);
  kir_type_t *type = like(jit_register_type(code, to), x);
  if (hr_dtype_is_float(from))
    return hr_dtype_is_float(to) ? float_to_float(code, from, to, x)
                                 : float_to_integer(code, to, x);
  if (is_exact(from, to))
    return integer_to_float(code, x, type, hr_dtype_class(from) == HR_CLASS_SIGNED);
  if (from == HR_PRED)
    return jit_round(code, to,
                     hr_dtype_is_float(to) ? integer_to_float(code, x, type, false)
                                           : kir_zext(code->builder, x, type));
  if (!hr_dtype_is_float(to)) return integer_to_integer(code, from, to, x);
  if (is_narrow(to)) return jit_round(code, to, integer_to_odd(code, from, x));
  return integer_to_float(code, x, type, hr_dtype_class(from) == HR_CLASS_SIGNED);
}
