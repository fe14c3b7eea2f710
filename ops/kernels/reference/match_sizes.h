/* Elementwise ops on arrays whose bounded dimensions turn out to have different sizes. XLA gives
 * them TensorFlow's meaning: an array of size 1 is broadcast, otherwise all are cut to the
 * smallest. Arrays of static or unbounded sizes must agree. */
#ifndef HLO_OPS_MATCH_SIZES_H
#define HLO_OPS_MATCH_SIZES_H

#include "ops/kernels/kernel.h"

/* Sizes that differ and may: then *out_needed, and matched[k] is operand k of the common sizes, or
 * NULL where it has them. The caller releases them. Errors: of memory; nothing is left in `matched`
 * then. */
hr_status_t op_match_sizes(const hlo_instr_t *instr, hlo_value_t *const *in, hlo_value_t **matched,
                           bool *out_needed);

#endif
