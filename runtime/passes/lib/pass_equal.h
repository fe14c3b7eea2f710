/* Structural equality of instructions and computations, apart from names. */
#ifndef PASS_EQUAL_H
#define PASS_EQUAL_H

#include "ir/module.h"

/* Equal op, shape with layout, operands (identical), attributes, called computations (identical)
 * and literal. Whether one may replace the other is a separate question: pass_is_pure. */
bool pass_instr_equal(const hlo_instr_t *a, const hlo_instr_t *b);
/* The same, apart from the channel id. */
bool pass_collective_equal(const hlo_instr_t *a, const hlo_instr_t *b);
uint64_t pass_instr_hash(const hlo_instr_t *instr); /* instructions that are equal by either
                                                       function have equal hashes */
/* The same for computations, with operands compared by their numbers in the two lists. */
bool pass_computation_equal(const hlo_computation_t *a, const hlo_computation_t *b);
uint64_t pass_computation_hash(const hlo_computation_t *computation);

#endif
