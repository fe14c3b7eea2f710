/* Compile-time evaluation of instructions with the reference engine's kernels. */
#ifndef PASS_EVALUATE_H
#define PASS_EVALUATE_H

#include "ir/module.h"

/* True if the kernel is pure: no peers, RNG or calls other than scalar bodies; static shapes; array
 * result. */
bool pass_can_evaluate(const hlo_instr_t *instr);
/* Its result for these operands; *out_value is a new reference, or NULL if the kernel refuses.
 * Errors: NO_MEMORY. */
hr_status_t pass_evaluate(const hlo_instr_t *instr, hlo_value_t *const *in,
                          hlo_value_t **out_value);

#endif
