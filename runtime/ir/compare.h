/* Comparison of values with expected ones.
 * Units:  rtol relative to |want|; atol absolute; ulp in representable numbers of the type.
 * Thread: any; nothing is shared. */
#ifndef HLO_IR_COMPARE_H
#define HLO_IR_COMPARE_H

#include "base/text.h"
#include "ir/value.h"

/* Tolerances; negative members mean the default of the type. */
typedef struct hlo_tolerance {
  double rtol, atol;
  int64_t ulp; /* the only criterion if given */
  /* Largest term of the sums whose results are compared; 0: unknown. The default atol is relative
   * to it if it exceeds all results, as errors after cancellation are proportional to the terms. */
  double terms;
} hlo_tolerance_t;
hlo_tolerance_t hlo_tolerance_default(void);

typedef struct hlo_difference {
  int64_t bad_count;  /* elements out of tolerance */
  int64_t worst;      /* flat index of the worst element that differs at all; -1: all are equal */
  uint64_t worst_ulp; /* distance in representable numbers; UINT64_MAX: undefined */
  double rtol, atol;  /* tolerances that were applied */
} hlo_difference_t;

/* Compares two arrays of one type and of the same sizes. NaN equals NaN, infinities equal
 * themselves. Each part of a complex number is compared by itself. Default tolerances: see
 * hlorun-design(7); types of 8 bits and fewer may differ by one representable number. */
void hlo_compare(const hlo_value_t *got, const hlo_value_t *want, const hlo_tolerance_t *tolerance,
                 hlo_difference_t *out_difference);
/* The largest finite magnitude in an array of floats, or of real and imaginary parts; 0 for other
 * types. */
double hlo_largest_magnitude(const hlo_value_t *value);
/* Prints "element [1,2]: got 1.5, want 1.25 (12 ulp)" for the element of row-major index `flat`;
 * `ulp` UINT64_MAX: without ulp. */
void hlo_pair_print(hr_strbuf_t *text, const hlo_value_t *got, const hlo_value_t *want,
                    int64_t flat, uint64_t ulp);
/* Prints "element [1,2]: got 1.5, want 1.25 (12 ulp); 5 of 60 elements out of tolerance (rtol
 * 0.0001, atol 0.002)". */
void hlo_difference_print(hr_strbuf_t *text, const hlo_value_t *got, const hlo_value_t *want,
                          const hlo_difference_t *difference);
bool hlo_value_same_dims(const hlo_value_t *a, const hlo_value_t *b);

#endif
