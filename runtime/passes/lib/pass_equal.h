/* Are two instructions, or two computations, the same but for their names? */
#ifndef PASS_EQUAL_H
#define PASS_EQUAL_H

#include "ir/module.h"

/* Same op, shape with layout, operands (the very same ones), attributes, called computations (the
 * very same ones) and literal. Whether one can stand for the other is another question:
 * pass_is_pure. */
bool pass_instr_equal(const hlo_instr_t *a, const hlo_instr_t *b);
/* The same, but for the number of the channel. */
bool pass_collective_equal(const hlo_instr_t *a, const hlo_instr_t *b);
uint64_t pass_instr_hash(const hlo_instr_t *instr); /* equal ones, by either, have equal hashes */
/* Same but for operands: those are numbers of instructions in two lists here. */
bool pass_computation_equal(const hlo_computation_t *a, const hlo_computation_t *b);
uint64_t pass_computation_hash(const hlo_computation_t *computation);

#endif
