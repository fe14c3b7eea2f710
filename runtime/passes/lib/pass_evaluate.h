/* Compile-time evaluation of instructions with the reference engine's kernels. */
#ifndef PASS_EVALUATE_H
#define PASS_EVALUATE_H

#include "ir/module.h"

/* Is the kernel pure: no peers, RNG or calls except scalar bodies, static shapes, an array
 * result? */
bool pass_can_evaluate(const hlo_instr_t *instr);
/* The result for these operands. *out_value: a new reference, or NULL if the kernel refuses.
 * Errors: NO_MEMORY. */
hr_status_t pass_evaluate(const hlo_instr_t *instr, hlo_value_t *const *in,
                          hlo_value_t **out_value);

#endif
