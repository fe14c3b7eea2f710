/* Division of bytes by a constant, as of the pixels of images by 255, without the divider: by the
 * reciprocal in two parts, x high + x low. That is the quotient, to the bit, if it is for each of
 * the 256 values, which is tried. */
#include <math.h>

#include "jit/element/element.h"

/* The integers of 8 bits that a float was converted from; NULL: it has other values. */
static const kir_value_t *bytes_of(const kir_value_t *x, bool *out_signed) {
  if (x->op != KIR_SITOFP && x->op != KIR_UITOFP) return NULL;
  const kir_value_t *from = x->args[0];
  bool widens = from->op == KIR_SEXT || from->op == KIR_ZEXT;
  *out_signed = widens ? from->op == KIR_SEXT : x->op == KIR_SITOFP;
  if (widens) from = from->args[0];
  return jit_element_bits(kir_type_of(from)) == 8 ? from : NULL;
}

typedef struct reciprocal {
  double high, low;
} reciprocal_t;

static bool is_right_f32(reciprocal_t r, float x, float divisor) {
  float quotient = fmaf(x, (float)r.high, x * (float)r.low), want = x / divisor;
  return quotient == want && !signbit(quotient) == !signbit(want);
}

static bool is_right_f64(reciprocal_t r, double x, double divisor) {
  double quotient = fma(x, r.high, x * r.low), want = x / divisor;
  return quotient == want && !signbit(quotient) == !signbit(want);
}

/* high: 1 / divisor; low: what that lacks. False: the quotient of some byte is another one. */
static bool find_reciprocal(double divisor, bool is_double, bool is_signed,
                            reciprocal_t *out_reciprocal) {
  reciprocal_t r = {.high = is_double ? 1 / divisor : (float)(1 / divisor)};
  r.low = fma(-divisor, r.high, 1) / divisor;
  int first = is_signed ? -128 : 0;
  if (!(fabs(divisor) > 0x1p-60 && fabs(divisor) < 0x1p60)) return false;
  for (int x = first; x < first + 256; x++)
    if (!(is_double ? is_right_f64(r, x, divisor) : is_right_f32(r, (float)x, (float)divisor)))
      return false;
  *out_reciprocal = r;
  return true;
}

kir_value_t *jit_divide_bytes(jit_code_t *code, kir_value_t *x, const kir_value_t *divisor) {
  kir_type_t *type = kir_type_of(x);
  int bits = jit_element_bits(type);
  bool is_signed, is_constant = kir_is_constant(divisor) && kir_is_splat(divisor);
  reciprocal_t r;
  if (!code->target->has_fma || !is_constant || bits < 32 || !bytes_of(x, &is_signed)) return NULL;
  double number = kir_decode_float(divisor->lanes[0], (unsigned)bits);
  if (!find_reciprocal(number, bits == 64, is_signed, &r)) return NULL;
  kir_value_t *rest = kir_fmul(code->builder, x, jit_real(type, r.low));
  return jit_intrinsic(code, KIR_FMA, type, (kir_value_t *[]){x, jit_real(type, r.high), rest}, 3);
}
