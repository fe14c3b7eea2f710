/* Comparison of two arrays with tolerances, for tests, --compare and the self checks.
 * An element passes if |got - want| <= atol + rtol |want|, or, when a tolerance in ulp is given,
 * if at most so many representable numbers lie between the two. The measure of an element is its
 * excess, error divided by tolerance: elements with an excess above 1 fail, and the largest
 * excess names the worst element. The default atol is relative to the largest number of the
 * array, as sums that cancel lose digits in proportion to their terms.
 * Cost: one pass, plus one over `want` for the default atol. Tuples are compared leaf by leaf by
 * the callers. */
#include "ir/compare.h"

#include <math.h>
#include <string.h>

#include "ir/print.h"

/* -1: the type's default tolerance; `terms` is unknown. */
hlo_tolerance_t hlo_tolerance_default(void) { return (hlo_tolerance_t){-1, -1, -1, 0}; }

/* Default relative tolerance of a type. Types of at most 8 bits get half an ulp: neighbouring
 * values pass by the rule on narrow types of compare_floats in any case. */
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

/* True for types of at most 8 bits, whose neighbouring values are far apart. */
static bool is_narrow(hr_dtype_t part) {
  return hr_dtype_is_float(part) && hr_dtype_table[part].bits <= 8;
}

/* Bits of number i of the array, zero-extended. */
static uint64_t raw_bits(hr_dtype_t part, const void *parts, int64_t i) {
  uint64_t bits = 0;
  size_t bytes = hr_dtype_bytes(part);
  memcpy(&bits, (const char *)parts + (size_t)i * bytes, bytes);
  return bits;
}

/* Number i of an array of floats; exact, as no type is wider than f64. */
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

/* Position of a number in the order of all numbers of its format; both zeros have the same one.
 * Neighbours differ by 1, which makes a difference of positions a distance in ulp. */
static uint64_t order_key(const hr_float_format_t *format, uint64_t bits) {
  if (format->specials == HR_SPECIALS_E8M0) return bits;
  uint64_t sign = UINT64_C(1) << (format->bits - 1);
  uint64_t magnitude = bits & (sign - 1);
  return bits & sign ? sign - magnitude : sign + magnitude;
}

/* Number of steps between two numbers given by their bits. */
static uint64_t ulp_distance(hr_dtype_t part, uint64_t a, uint64_t b) {
  const hr_float_format_t *format = hr_float_format(part);
  uint64_t x = order_key(format, a);
  uint64_t y = order_key(format, b);
  return x > y ? x - y : y - x;
}

/* Largest finite magnitude among the numbers of `value`; 0 for integers. */
double hlo_largest_magnitude(const hlo_value_t *value) {
  hr_dtype_t part = hr_dtype_real(value->dtype);
  int64_t parts = hr_dtype_is_complex(value->dtype) ? 2 : 1;
  int64_t count = hr_dtype_is_float(part) ? value->count * parts : 0;
  double largest = 0;
  for (int64_t i = 0; i < count; i++) {
    double magnitude = fabs(number_at(part, value->data, i));
    if (magnitude > largest && isfinite(magnitude)) largest = magnitude;
  }
  return largest;
}

/* Difference of one element. */
typedef struct element_error {
  double excess; /* error / tolerance: 0 equal, 1 just within, INFINITY no tolerance suffices */
  uint64_t ulp;  /* distance in representable numbers; UINT64_MAX: has none */
} element_error_t;

/* Excess of a distance in ulp over the allowed one; 0.5 for any that is allowed. */
static double ulp_excess(uint64_t ulp, uint64_t allowed) {
  return ulp <= allowed ? 0.5 : (double)ulp / fmax(1, (double)allowed);
}

/* Compares number i. NaN equals NaN; an infinity equals itself only, unless ulp decide. */
static element_error_t compare_floats(hr_dtype_t part, const hlo_value_t *got,
                                      const hlo_value_t *want, int64_t i,
                                      const hlo_tolerance_t *tolerance,
                                      const hlo_difference_t *applied) {
  double g = number_at(part, got->data, i);
  double w = number_at(part, want->data, i);
  if (g == w || (isnan(g) && isnan(w))) return (element_error_t){0, 0};
  if (isnan(g) || isnan(w)) return (element_error_t){INFINITY, UINT64_MAX};
  uint64_t ulp = ulp_distance(part, raw_bits(part, got->data, i), raw_bits(part, want->data, i));
  if (tolerance->ulp >= 0) return (element_error_t){ulp_excess(ulp, (uint64_t)tolerance->ulp), ulp};
  if (!isfinite(g) || !isfinite(w)) return (element_error_t){INFINITY, ulp};
  double distance = fabs(g - w);
  double allowed = applied->atol + applied->rtol * fabs(w);
  double excess = allowed > 0 ? distance / allowed : INFINITY;
  bool one_ulp_off = is_narrow(part) && tolerance->rtol < 0 && tolerance->atol < 0 && ulp <= 1;
  return (element_error_t){one_ulp_off ? fmin(excess, 1) : excess, ulp};
}

/* Compares integers exactly, or within atol. The distance is computed unsigned, which cannot
 * overflow. */
static element_error_t compare_integers(const hlo_value_t *got, const hlo_value_t *want, int64_t i,
                                        double atol) {
  int64_t g = hlo_value_int_at(got, i);
  int64_t w = hlo_value_int_at(want, i);
  if (g == w) return (element_error_t){0, 0};
  bool less = hr_dtype_class(got->dtype) == HR_CLASS_UNSIGNED ? (uint64_t)g < (uint64_t)w : g < w;
  uint64_t distance = less ? (uint64_t)w - (uint64_t)g : (uint64_t)g - (uint64_t)w;
  return (element_error_t){atol > 0 ? (double)distance / atol : 2 * (double)distance, UINT64_MAX};
}

/* Counts the elements out of tolerance and finds the worst. The two parts of a complex element
 * are compared one by one; the larger excess is the element's. */
void hlo_compare(const hlo_value_t *got, const hlo_value_t *want, const hlo_tolerance_t *tolerance,
                 hlo_difference_t *out_difference) {
  hr_dtype_t part = hr_dtype_real(got->dtype);
  int parts = hr_dtype_is_complex(got->dtype) ? 2 : 1;
  bool is_float = hr_dtype_is_float(part);
  hlo_difference_t result = {
      .worst = -1, .rtol = fmax(tolerance->rtol, 0), .atol = fmax(tolerance->atol, 0)};
  if (is_float && tolerance->ulp < 0) {
    if (tolerance->rtol < 0) result.rtol = default_rtol(part);
    if (tolerance->atol < 0)
      result.atol = result.rtol * fmax(hlo_largest_magnitude(want), tolerance->terms);
  }
  double worst = 0;
  for (int64_t e = 0; e < got->count; e++) {
    double excess = 0;
    for (int p = 0; p < parts; p++) {
      element_error_t error =
          is_float ? compare_floats(part, got, want, e * parts + p, tolerance, &result)
                   : compare_integers(got, want, e, tolerance->atol);
      excess = fmax(excess, error.excess);
      if (error.excess <= worst) continue;
      worst = error.excess;
      result.worst = e;
      result.worst_ulp = error.ulp;
    }
    if (excess > 1) result.bad_count++;
  }
  *out_difference = result;
}

/* Prints the multi-index of a flat row-major index: [1,2]. */
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

/* One element as a literal writes it. */
static void print_element(hr_strbuf_t *text, const hlo_value_t *value, int64_t i) {
  hlo_print_number(text, value->dtype,
                   (const char *)value->data + (size_t)i * hr_dtype_bytes(value->dtype));
}

/* "element [1,2]: got 3, want 4 (5 ulp)"; UINT64_MAX: a distance in ulp has no meaning. */
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

/* The worst pair, how many are out of tolerance, and the tolerances that were applied. */
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

/* Same rank and sizes; the element types may differ. */
bool hlo_value_same_dims(const hlo_value_t *a, const hlo_value_t *b) {
  if (a->rank != b->rank) return false;
  for (int d = 0; d < a->rank; d++)
    if (a->dims[d] != b->dims[d]) return false;
  return true;
}
