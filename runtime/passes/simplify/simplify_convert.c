/* Chains of conversions, and parts of complex numbers:
 *
 *   convert(convert(x: s8 -> s32) -> f32)   ->   convert(x -> f32)
 *   convert(iota: s32 -> s64)               ->   iota: s64
 *   real(complex(a, b))                     ->   a
 *
 * An intermediate type is dropped only if it holds every value of the first type. Exact. Factors
 * and solutions of narrow floats, which are rounded once, are those of f32, which has kernels:
 *
 *   cholesky(x: bf16)   ->   convert(cholesky(convert(x -> f32)) -> bf16) */
#include "passes/simplify/simplify.h"

/* Number of bits of the integers that the type represents without gaps; for floats, of the
 * significand. */
static int exact_bits(hr_dtype_t dtype) {
  const hr_float_format_t *format = hr_float_format(dtype);
  if (format) return format->mantissa_bits + 1;
  return hr_dtype_table[dtype].bits - (hr_dtype_class(dtype) == HR_CLASS_SIGNED);
}

static bool float_can_represent(hr_dtype_t wide, hr_dtype_t narrow) {
  const hr_float_format_t *w = hr_float_format(wide), *n = hr_float_format(narrow);
  return pass_is_plain_float(wide) && pass_is_plain_float(narrow) &&
         w->exponent_bits >= n->exponent_bits && w->mantissa_bits >= n->mantissa_bits;
}

/* Has every value of `narrow` an equal one in `wide`? */
static bool can_represent(hr_dtype_t wide, hr_dtype_t narrow) {
  hr_dtype_class_t w = hr_dtype_class(wide), n = hr_dtype_class(narrow);
  if (wide == narrow) return true;
  if (n == HR_CLASS_PRED)
    return w == HR_CLASS_SIGNED || w == HR_CLASS_UNSIGNED || pass_is_plain_float(wide);
  if (n == HR_CLASS_FLOAT) return float_can_represent(wide, narrow);
  if (n != HR_CLASS_SIGNED && n != HR_CLASS_UNSIGNED) return false;
  if (w == HR_CLASS_UNSIGNED && n == HR_CLASS_SIGNED) return false;
  if (w == HR_CLASS_FLOAT && wide == HR_F16)
    return false; /* its range ends before its integers do */
  return (w == HR_CLASS_SIGNED || w == HR_CLASS_UNSIGNED || pass_is_plain_float(wide)) &&
         exact_bits(wide) >= exact_bits(narrow);
}

/* Skips a widening conversion if the second conversion gives the same result from the first
 * type. */
static hlo_instr_t *simplify_chain(pass_rewrite_t *rewrite, hlo_instr_t *instr) {
  hlo_instr_t *middle = instr->operands[0],
              *x = middle->op == HLO_CONVERT ? middle->operands[0] : NULL;
  if (!x || !can_represent(middle->shape->dtype, x->shape->dtype)) return NULL;
  if (x->shape->dtype == instr->shape->dtype) return x;
  bool to_pred = instr->shape->dtype == HR_PRED,
       is_complex = hr_dtype_is_complex(instr->shape->dtype);
  bool known = hr_dtype_is_integer(instr->shape->dtype) || pass_is_plain_float(instr->shape->dtype);
  /* Integers wrap on conversion to narrower integers, while floats saturate, so a detour through
   * floats differs. */
  bool wraps = hr_dtype_is_integer(instr->shape->dtype) && !hr_dtype_is_float(x->shape->dtype) &&
               hr_dtype_is_float(middle->shape->dtype);
  if (to_pred || is_complex || !known ||
      (wraps && !can_represent(instr->shape->dtype, x->shape->dtype)))
    return NULL;
  return hlo_build_convert(&rewrite->builder, x, instr->shape->dtype);
}

/* An iota in another type, if both types represent all its numbers. */
static hlo_instr_t *convert_of_iota(pass_rewrite_t *rewrite, hlo_instr_t *instr) {
  hlo_instr_t *iota = instr->operands[0];
  hr_dtype_t from = iota->shape->dtype, to = instr->shape->dtype;
  int64_t size = iota->shape->dims[hlo_attr_int(iota, HLO_ATTR_IOTA_DIMENSION)];
  bool known =
      hr_dtype_is_integer(from) && (hr_dtype_is_integer(to) || to == HR_F32 || to == HR_F64);
  int bits = exact_bits(from) < exact_bits(to) ? exact_bits(from) : exact_bits(to);
  if (!known || (bits < 62 && size > INT64_C(1) << bits)) return NULL;
  return hlo_build(&rewrite->builder, HLO_IOTA, instr->shape, 0, NULL, iota->attr_count,
                   iota->attrs, 0, NULL);
}

static hlo_instr_t *simplify_bitcast_convert(pass_rewrite_t *rewrite, hlo_instr_t *instr) {
  hlo_instr_t *x = instr->operands[0];
  if (hlo_shape_equal(x->shape, instr->shape)) return x;
  /* Bits are lost in bitcasts of bytes to pred. */
  if (x->op != HLO_BITCAST_CONVERT || x->shape->dtype == HR_PRED) return NULL;
  return pass_build_like(rewrite, instr, x->operands, instr->shape);
}

static hlo_instr_t *simplify_reduce_precision(hlo_instr_t *instr) {
  const hr_float_format_t *format = hr_float_format(instr->shape->dtype);
  if (!pass_is_plain_float(instr->shape->dtype)) return NULL;
  bool wide = hlo_attr_int(instr, HLO_ATTR_EXPONENT_BITS) >= format->exponent_bits &&
              hlo_attr_int(instr, HLO_ATTR_MANTISSA_BITS) >= format->mantissa_bits;
  return wide ? instr->operands[0] : NULL;
}

/* ---- complex numbers ---- */

static hlo_instr_t *simplify_part(hlo_instr_t *instr) {
  hlo_instr_t *x = instr->operands[0];
  bool made = x->op == HLO_COMPLEX, is_real = instr->op == HLO_REAL;
  if (is_real && x->shape->dtype == instr->shape->dtype) return x;
  return made ? x->operands[!is_real] : NULL;
}

static hlo_instr_t *simplify_complex(hlo_instr_t *instr) {
  hlo_instr_t *re = instr->operands[0], *im = instr->operands[1];
  if (re->op != HLO_REAL || im->op != HLO_IMAG || re->operands[0] != im->operands[0]) return NULL;
  return re->operands[0]->shape->dtype == instr->shape->dtype ? re->operands[0] : NULL;
}

static hlo_instr_t *widen_factor(pass_rewrite_t *rewrite, hlo_instr_t *instr) {
  hlo_builder_t *b = &rewrite->builder;
  hlo_instr_t *wide[2];
  hr_dtype_t dtype = instr->shape->dtype;
  if (dtype != HR_BF16 && dtype != HR_F16) return NULL;
  for (int k = 0; k < instr->operand_count; k++)
    wide[k] = hlo_build_convert(b, instr->operands[k], HR_F32);
  const hlo_shape_t *shape = pass_shape(rewrite, HR_F32, instr->shape->rank, instr->shape->dims);
  hlo_instr_t *result = shape ? pass_build_like(rewrite, instr, wide, shape) : NULL;
  return result ? hlo_build_convert(b, result, dtype) : NULL;
}

hlo_instr_t *simplify_convert(pass_rewrite_t *rewrite, hlo_instr_t *instr) {
  switch (instr->op) {
    case HLO_CONVERT:
      if (instr->operands[0]->shape->dtype == instr->shape->dtype) return instr->operands[0];
      if (instr->operands[0]->op == HLO_IOTA) return convert_of_iota(rewrite, instr);
      return simplify_chain(rewrite, instr);
    case HLO_BITCAST_CONVERT:
      return simplify_bitcast_convert(rewrite, instr);
    case HLO_REDUCE_PRECISION:
      return simplify_reduce_precision(instr);
    case HLO_REAL:
    case HLO_IMAG:
      return simplify_part(instr);
    case HLO_COMPLEX:
      return simplify_complex(instr);
    case HLO_CHOLESKY:
    case HLO_TRIANGULAR_SOLVE:
      return widen_factor(rewrite, instr);
    default:
      return NULL;
  }
}
