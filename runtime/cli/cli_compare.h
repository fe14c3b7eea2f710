/* Comparing results with what was expected. */
#ifndef CLI_COMPARE_H
#define CLI_COMPARE_H

#include "base/options.h"
#include "base/text.h"
#include "ir/value.h"

/* Negative: the default. */
typedef struct cli_tolerance {
  double rtol, atol;
  int64_t ulp; /* the only criterion if given */
} cli_tolerance_t;
cli_tolerance_t cli_tolerance_default(void);
cli_tolerance_t cli_tolerance_from_options(const hr_options_t *options);

typedef struct cli_difference {
  int64_t bad_count;  /* elements out of tolerance */
  int64_t worst;      /* flat index of the worst element that differs at all; -1: all are equal */
  uint64_t worst_ulp; /* distance in representable numbers; UINT64_MAX: has none */
  double rtol, atol;  /* as applied */
} cli_difference_t;

/* Compares two arrays of one type and of the same sizes. NaN equals NaN, infinities equal themselves. Each part of a
 * complex number is compared by itself. Default tolerances: see design; types of 8 bits and fewer may be one step off.
 */
void cli_compare(const hlo_value_t *got, const hlo_value_t *want, const cli_tolerance_t *tolerance,
                 cli_difference_t *out_difference);
/* "element [1,2]: got 1.5, want 1.25 (12 ulp); 5 of 60 elements out of tolerance (rtol 0.0001, atol 0.002)" */
void cli_difference_print(hr_text_t *text, const hlo_value_t *got, const hlo_value_t *want,
                          const cli_difference_t *difference);
bool cli_same_dims(const hlo_value_t *a, const hlo_value_t *b);

#endif
