/* Floats of 8 bits and fewer: conversion between their bits and f32 by integer arithmetic on
 * vectors, as base/dtype.c does it for single numbers.
 *
 * Widening shifts sign, exponent and mantissa into place and corrects the bias; denormals and the
 * format's special patterns (hr_float_format_t.specials) are selected at the end. Narrowing
 * rounds to nearest even on the bits; overflow gives infinity, NaN or the largest number, as the
 * format has them. */
#include <math.h>

#include "jit/element/element.h"

bool jit_is_narrow_float(hr_dtype_t dtype) {
  return hr_dtype_is_float(dtype) && hr_dtype_bytes(dtype) == 1;
}

static kir_type_t *like(kir_type_t *element, kir_value_t *value) {
  return jit_type_like(element, kir_type_of(value));
}

static kir_value_t *number(kir_value_t *like_value, uint64_t value) {
  return jit_int(kir_type_of(like_value), (int64_t)value);
}
static kir_value_t *bits_and(jit_code_t *c, kir_value_t *a, uint64_t b) {
  return kir_and(c->builder, a, number(a, b));
}
static kir_value_t *left(jit_code_t *c, kir_value_t *a, int by) {
  return kir_shl(c->builder, a, number(a, (uint64_t)by));
}
static kir_value_t *right(jit_code_t *c, kir_value_t *a, int by) {
  return kir_lshr(c->builder, a, number(a, (uint64_t)by));
}
static kir_value_t *is_above(jit_code_t *c, kir_value_t *a, uint64_t b) {
  return kir_icmp(c->builder, KIR_ICMP_UGT, a, number(a, b));
}
static kir_value_t *is_number(jit_code_t *c, kir_value_t *a, uint64_t b) {
  return kir_icmp(c->builder, KIR_ICMP_EQ, a, number(a, b));
}
static kir_value_t *choose(jit_code_t *c, kir_value_t *condition, kir_value_t *a, kir_value_t *b) {
  return kir_select(c->builder, condition, a, b);
}

/* --- to f32 ----------------------------------------------------------------------------------- */

/* Powers of two: the exponent is f32's, except for the least value and for NaN. */
static kir_value_t *decode_power(jit_code_t *c, kir_value_t *word) {
  kir_value_t *bits = choose(c, is_number(c, word, 0), number(word, 0x00400000), left(c, word, 23));
  return choose(c, is_number(c, word, 0xff), number(word, 0x7fc00000), bits);
}

/* Decodes the special patterns of a format. In formats without -0, NaN is negative: it comes first
 * in the total order. */
static kir_value_t *decode_specials(jit_code_t *c, const hr_float_format_t *f, uint64_t largest,
                                    kir_value_t *word, kir_value_t *size, kir_value_t *bits) {
  uint64_t sign = UINT64_C(1) << (f->bits - 1);
  switch (f->specials) {
    case HR_SPECIALS_IEEE: {
      kir_value_t *special =
          kir_or(c->builder, left(c, size, 23 - f->mantissa_bits), number(size, 0x7f800000));
      return choose(c, is_above(c, size, largest), special, bits);
    }
    case HR_SPECIALS_FN:
      return choose(c, is_above(c, size, largest), number(size, 0x7fc00000), bits);
    case HR_SPECIALS_FNUZ:
      return choose(c, is_number(c, word, sign), number(size, 0x7fc00000), bits);
    default:
      return bits;
  }
}

static kir_value_t *decode_number(jit_code_t *c, hr_dtype_t dtype, kir_value_t *word) {
  const hr_float_format_t *f = hr_float_format(dtype);
  kir_builder_t *b = c->builder;
  kir_type_t *type = kir_type_of(word), *f32 = like(kir_float_type(c->module), word);
  uint64_t sign = UINT64_C(1) << (f->bits - 1);
  kir_value_t *size = bits_and(c, word, sign - 1);
  kir_value_t *normal = left(c, size, 23 - f->mantissa_bits);
  normal = kir_add(b, normal, number(word, (uint64_t)(127 - f->bias) << 23));
  kir_value_t *units = kir_sitofp(b, size, f32);
  kir_value_t *denormal =
      kir_fmul(b, units, jit_real(f32, ldexp(1, 1 - f->bias - f->mantissa_bits)));
  denormal = kir_bitcast(b, denormal, type);
  kir_value_t *bits =
      choose(c, is_above(c, size, (UINT64_C(1) << f->mantissa_bits) - 1), normal, denormal);
  bits = decode_specials(c, f, hr_float_largest(dtype), word, size, bits);
  return kir_or(b, bits, left(c, bits_and(c, word, sign), 32 - f->bits));
}

kir_value_t *jit_narrow_decode(jit_code_t *c, hr_dtype_t dtype, kir_value_t *bits) {
  kir_value_t *word = kir_zext(c->builder, bits, like(kir_int_type(c->module, 32), bits));
  bool is_power = hr_float_format(dtype)->specials == HR_SPECIALS_E8M0;
  kir_value_t *whole = is_power ? decode_power(c, word) : decode_number(c, dtype, word);
  return kir_bitcast(c->builder, whole, like(kir_float_type(c->module), bits));
}

/* --- from f32 --------------------------------------------------------------------------------- */

/* Rounds to the nearest power of two, ties up. Other values, also zero, give NaN. */
static kir_value_t *encode_power(jit_code_t *c, kir_value_t *word) {
  kir_value_t *half = number(word, 0x400000),
              *rounded = right(c, kir_add(c->builder, word, half), 23);
  kir_value_t *is_tiny = kir_not(c->builder, is_above(c, word, 0x7fffff));
  kir_value_t *of_tiny = choose(c, is_above(c, word, 0x5fffff), number(word, 1), number(word, 0));
  kir_value_t *result = choose(c, is_tiny, of_tiny, rounded);
  /* Negative numbers, infinity and NaN have patterns above the largest finite one, zero the
   * lowest. */
  kir_value_t *none = kir_or(c->builder, is_above(c, word, 0x7f7fffff), is_number(c, word, 0));
  return choose(c, none, number(word, 0xff), result);
}

/* Rounded magnitudes. Denormals are rounded by adding a constant whose low bits have the denormals'
 * unit. */
static kir_value_t *encode_size(jit_code_t *c, const hr_float_format_t *f, kir_value_t *size) {
  kir_builder_t *b = c->builder;
  kir_type_t *f32 = like(kir_float_type(c->module), size);
  kir_value_t *shifter = jit_real(f32, ldexp(1.5, 24 - f->bias - f->mantissa_bits));
  kir_value_t *sum = kir_fadd(b, kir_bitcast(b, size, f32), shifter);
  kir_value_t *shifter_bits = kir_bitcast(b, shifter, kir_type_of(size));
  kir_value_t *small = kir_sub(b, kir_bitcast(b, sum, kir_type_of(size)), shifter_bits);
  int dropped = 23 - f->mantissa_bits;
  kir_value_t *based = kir_sub(b, size, number(size, (uint64_t)(127 - f->bias) << 23));
  kir_value_t *odd = bits_and(c, right(c, based, dropped), 1);
  kir_value_t *up = kir_add(b, odd, number(size, (UINT64_C(1) << (dropped - 1)) - 1));
  kir_value_t *normal = right(c, kir_add(b, based, up), dropped);
  return choose(c, is_above(c, size, ((uint64_t)(128 - f->bias) << 23) - 1), normal, small);
}

static kir_value_t *encode_number(jit_code_t *c, hr_dtype_t dtype, kir_value_t *word) {
  const hr_float_format_t *f = hr_float_format(dtype);
  uint64_t minus = UINT64_C(1) << (f->bits - 1),
           nan = hr_float_encode(dtype, NAN) | (f->specials == HR_SPECIALS_FINITE) * minus;
  kir_value_t *size = bits_and(c, word, 0x7fffffff), *bits = encode_size(c, f, size);
  bits = choose(c, is_above(c, bits, hr_float_largest(dtype)),
                number(bits, hr_float_encode(dtype, INFINITY)), bits);
  bits = choose(c, is_above(c, size, 0x7f800000), number(bits, nan), bits);
  kir_value_t *sign = bits_and(c, right(c, word, 32 - f->bits), minus),
              *with_sign = kir_or(c->builder, bits, sign);
  if (f->specials != HR_SPECIALS_FNUZ) return with_sign;
  kir_value_t *has_none = kir_or(c->builder, is_number(c, bits, 0), is_number(c, bits, minus));
  return choose(c, has_none, bits, with_sign);
}

kir_value_t *jit_narrow_encode(jit_code_t *c, hr_dtype_t dtype, kir_value_t *value) {
  kir_value_t *word = kir_bitcast(c->builder, value, jit_integer_like(kir_type_of(value)));
  bool is_power = hr_float_format(dtype)->specials == HR_SPECIALS_E8M0;
  kir_value_t *bits = is_power ? encode_power(c, word) : encode_number(c, dtype, word);
  return kir_trunc(c->builder, bits, like(kir_int_type(c->module, 8), bits));
}
