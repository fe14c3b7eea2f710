/* Value ranges of signed integers. Index computations often contain comparisons that always hold,
 * such as the select with which JAX makes negative indices count from the end. */
#ifndef PASS_RANGE_H
#define PASS_RANGE_H

#include "ir/module.h"

/* A closed, non-empty interval. A bound of PASS_RANGE_FAR or more is infinite. */
typedef struct pass_range {
  int64_t low, high;
} pass_range_t;
#define PASS_RANGE_FAR (INT64_C(1) << 60)

/* Callback: the caller's knowledge of an instruction's range; false: none. */
typedef bool (*pass_range_fn)(const void *context, const hlo_instr_t *instr,
                              pass_range_t *out_range);

/* Range of the elements of an array of signed integers; false: only the type's range is known. */
bool pass_range_of(const hlo_instr_t *instr, pass_range_fn known, const void *context,
                   pass_range_t *out_range);

/* The result of a comparison of signed integers if it is always the same: 1 or 0; -1: unknown.
 * `known` may be NULL. */
int pass_range_compare(const hlo_instr_t *compare, pass_range_fn known, const void *context);
#endif
