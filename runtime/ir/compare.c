#include "ir/compare.h"

#include <math.h>
#include <string.h>

#include "ir/print.h"

hlo_tolerance_t hlo_tolerance_default(void) { return (hlo_tolerance_t){-1, -1, -1, 0}; }

/* Half a step of the narrow types: two of them next to each other pass by the ulp rule in any case.
 */
static double default_rtol(hr_dtype_t part) {
  switch (part) {
    case HR_F64:
      return 1e-9;
    case HR_F32:
      return 1e-4;
    case HR_F16:
      return 2e-3;
    case HR_BF16:
      return 1.6e-2;
    default:
      break;
  }
  const hr_float_format_t *format = hr_float_format(part);
  return format && format->mantissa_bits ? ldexp(1, -format->mantissa_bits - 1) : 0;
}

static bool is_narrow(hr_dtype_t part) {
  return hr_dtype_is_float(part) && hr_dtype_table[part].bits <= 8;
}

static uint64_t raw_bits(hr_dtype_t part, const void *parts, int64_t i) {
  uint64_t bits = 0;
  size_t bytes = hr_dtype_bytes(part);
  memcpy(&bits, (const char *)parts + (size_t)i * bytes, bytes);
  return bits;
}

static double number_at(hr_dtype_t part, const void *parts, int64_t i) {
  switch (part) {
    case HR_F64:
      return ((const double *)parts)[i];
    case HR_F32:
      return ((const float *)parts)[i];
    case HR_BF16:
      return hr_bf16_to_f32(((const uint16_t *)parts)[i]);
    case HR_F16:
      return hr_f16_to_f32(((const uint16_t *)parts)[i]);
    default:
      return hr_float_decode(part, raw_bits(part, parts, i));
  }
}

/* Place of a number in the order of all numbers of its format; both zeros have the same. */
static uint64_t order_key(const hr_float_format_t *format, uint64_t bits) {
  if (format->specials == HR_SPECIALS_E8M0) return bits;
  uint64_t sign = UINT64_C(1) << (format->bits - 1), magnitude = bits & (sign - 1);
  return bits & sign ? sign - magnitude : sign + magnitude;
}

static uint64_t ulp_distance(hr_dtype_t part, uint64_t a, uint64_t b) {
  const hr_float_format_t *format = hr_float_format(part);
  uint64_t x = order_key(format, a), y = order_key(format, b);
  return x > y ? x - y : y - x;
}

double hlo_largest_magnitude(const hlo_value_t *value) {
  hr_dtype_t part = hr_dtype_real(value->dtype);
  int64_t count =
      hr_dtype_is_float(part) ? value->count * (hr_dtype_is_complex(value->dtype) ? 2 : 1) : 0;
  double largest = 0;
  for (int64_t i = 0; i < count; i++) {
    double magnitude = fabs(number_at(part, value->data, i));
    if (magnitude > largest && isfinite(magnitude)) largest = magnitude;
  }
  return largest;
}

/* What one element says: how far it is beyond its tolerance (1: just within), 0 for equal, INFINITY
 * for hopeless. */
typedef struct judgement {
  double excess;
  uint64_t ulp;
} judgement_t;

static judgement_t judge_float(hr_dtype_t part, const hlo_value_t *got, const hlo_value_t *want,
                               int64_t i, const hlo_tolerance_t *tolerance,
                               const hlo_difference_t *applied) {
  double g = number_at(part, got->data, i), w = number_at(part, want->data, i);
  if (g == w || (isnan(g) && isnan(w))) return (judgement_t){0, 0};
  if (isnan(g) || isnan(w)) return (judgement_t){INFINITY, UINT64_MAX};
  uint64_t ulp = ulp_distance(part, raw_bits(part, got->data, i), raw_bits(part, want->data, i));
  if (tolerance->ulp >= 0)
    return (judgement_t){
        ulp <= (uint64_t)tolerance->ulp ? 0.5 : (double)ulp / fmax(1, (double)tolerance->ulp), ulp};
  if (!isfinite(g) || !isfinite(w)) return (judgement_t){INFINITY, ulp};
  double error = fabs(g - w), allowed = applied->atol + applied->rtol * fabs(w);
  double excess = allowed > 0 ? error / allowed : INFINITY;
  bool one_step = is_narrow(part) && tolerance->rtol < 0 && tolerance->atol < 0 && ulp <= 1;
  return (judgement_t){one_step ? fmin(excess, 1) : excess, ulp};
}

static judgement_t judge_int(const hlo_value_t *got, const hlo_value_t *want, int64_t i,
                             double atol) {
  int64_t g = hlo_value_int_at(got, i), w = hlo_value_int_at(want, i);
  if (g == w) return (judgement_t){0, 0};
  bool less = hr_dtype_class(got->dtype) == HR_CLASS_UNSIGNED ? (uint64_t)g < (uint64_t)w : g < w;
  uint64_t distance = less ? (uint64_t)w - (uint64_t)g : (uint64_t)g - (uint64_t)w;
  return (judgement_t){atol > 0 ? (double)distance / atol : 2 * (double)distance, UINT64_MAX};
}

void hlo_compare(const hlo_value_t *got, const hlo_value_t *want, const hlo_tolerance_t *tolerance,
                 hlo_difference_t *out_difference) {
  hr_dtype_t part = hr_dtype_real(got->dtype);
  int parts = hr_dtype_is_complex(got->dtype) ? 2 : 1;
  bool floats = hr_dtype_is_float(part);
  hlo_difference_t result = {
      .worst = -1, .rtol = fmax(tolerance->rtol, 0), .atol = fmax(tolerance->atol, 0)};
  if (floats && tolerance->ulp < 0) {
    if (tolerance->rtol < 0) result.rtol = default_rtol(part);
    if (tolerance->atol < 0)
      result.atol = result.rtol * fmax(hlo_largest_magnitude(want), tolerance->terms);
  }
  double worst = 0;
  for (int64_t e = 0; e < got->count; e++) {
    double excess = 0;
    for (int p = 0; p < parts; p++) {
      judgement_t judgement = floats
                                  ? judge_float(part, got, want, e * parts + p, tolerance, &result)
                                  : judge_int(got, want, e, tolerance->atol);
      excess = fmax(excess, judgement.excess);
      if (judgement.excess <= worst) continue;
      worst = judgement.excess;
      result.worst = e;
      result.worst_ulp = judgement.ulp;
    }
    if (excess > 1) result.bad_count++;
  }
  *out_difference = result;
}

static void print_index(hr_strbuf_t *text, const hlo_value_t *value, int64_t flat) {
  int64_t index[HLO_MAX_RANK];
  for (int d = value->rank - 1; d >= 0; d--) {
    index[d] = flat % value->dims[d];
    flat /= value->dims[d];
  }
  hr_strbuf_add_char(text, '[');
  for (int d = 0; d < value->rank; d++)
    hr_strbuf_printf(text, "%s%lld", d ? "," : "", (long long)index[d]);
  hr_strbuf_add_char(text, ']');
}

static void print_element(hr_strbuf_t *text, const hlo_value_t *value, int64_t i) {
  hlo_print_number(text, value->dtype,
                   (const char *)value->data + (size_t)i * hr_dtype_bytes(value->dtype));
}

void hlo_pair_print(hr_strbuf_t *text, const hlo_value_t *got, const hlo_value_t *want,
                    int64_t flat, uint64_t ulp) {
  hr_strbuf_add_str(text, "element ");
  print_index(text, got, flat);
  hr_strbuf_add_str(text, ": got ");
  print_element(text, got, flat);
  hr_strbuf_add_str(text, ", want ");
  print_element(text, want, flat);
  if (ulp != UINT64_MAX) hr_strbuf_printf(text, " (%llu ulp)", (unsigned long long)ulp);
}

void hlo_difference_print(hr_strbuf_t *text, const hlo_value_t *got, const hlo_value_t *want,
                          const hlo_difference_t *difference) {
  if (difference->worst < 0) {
    hr_strbuf_add_str(text, "equal");
    return;
  }
  hlo_pair_print(text, got, want, difference->worst, difference->worst_ulp);
  hr_strbuf_printf(text, "; %lld of %lld elements out of tolerance",
                   (long long)difference->bad_count, (long long)got->count);
  if (difference->rtol > 0 || difference->atol > 0)
    hr_strbuf_printf(text, " (rtol %.3g, atol %.3g)", difference->rtol, difference->atol);
}

bool hlo_value_same_dims(const hlo_value_t *a, const hlo_value_t *b) {
  if (a->rank != b->rank) return false;
  for (int d = 0; d < a->rank; d++)
    if (a->dims[d] != b->dims[d]) return false;
  return true;
}
