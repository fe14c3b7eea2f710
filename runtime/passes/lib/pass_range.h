/* What is known of the values of signed integers: what indices are made from is often compared with
 * their bounds, such as by what makes negative ones count from the end. */
#ifndef PASS_RANGE_H
#define PASS_RANGE_H

#include "ir/module.h"

/* Both ends included; empty never. Those of 64 bits that reach PASS_RANGE_FAR have no end. */
typedef struct pass_range {
  int64_t low, high;
} pass_range_t;
#define PASS_RANGE_FAR (INT64_C(1) << 60)

/* Whether the caller knows more of an instruction than it says itself, and then what. */
typedef bool (*pass_range_fn)(const void *context, const hlo_instr_t *instr,
                              pass_range_t *out_range);

/* All that is known of the values of an array of signed integers; false: no more than its type
 * says. */
bool pass_range_of(const hlo_instr_t *instr, pass_range_fn known, const void *context,
                   pass_range_t *out_range);

/* Of two arrays of signed integers, what a comparison of them always gives: 1, 0, or -1: that
 * depends. `known` may be NULL. */
int pass_range_compare(const hlo_instr_t *compare, pass_range_fn known, const void *context);
#endif
