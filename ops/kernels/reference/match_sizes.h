/* Elementwise ops on arrays whose bounded dynamic dimensions have different actual sizes. XLA gives
 * them TensorFlow's meaning: size 1 is broadcast, otherwise all are truncated to the smallest size.
 * So are operands of static size, that of the bound. Unbounded sizes must agree. */
#ifndef HLO_OPS_MATCH_SIZES_H
#define HLO_OPS_MATCH_SIZES_H

#include "ops/kernels/kernel.h"

/* If sizes differ and may differ, sets *out_needed, and matched[k] to operand k at the common
 * sizes, or to NULL if it has them.
 * Owner:   the caller releases them.
 * Errors:  out of memory; `matched` is then empty. */
hr_status_t op_match_sizes(const hlo_instr_t *instr, hlo_value_t *const *in, hlo_value_t **matched,
                           bool *out_needed);

#endif
